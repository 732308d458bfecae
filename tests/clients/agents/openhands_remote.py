"""openhands_remote.py: stock OpenHands 0.62.0 with its RemoteRuntime, against `hutch serve`; prints TAP.

Needs the package openhands-ai of that version in the Python that runs it, and HUTCH.  The client is the one of PyPI,
without a change: all that it knows of hutch is an address and a key."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import traceback
import zipfile

import httpx
from openhands.core.config import OpenHandsConfig
from openhands.core.config.mcp_config import MCPStdioServerConfig
from openhands.core.exceptions import AgentRuntimeDisconnectedError, AgentRuntimeNotFoundError
from openhands.events import EventStream
from openhands.events.action import (BrowseURLAction, CmdRunAction, FileEditAction, FileReadAction, FileWriteAction,
                                     IPythonRunCellAction)
from openhands.events.action.mcp import MCPAction
from openhands.llm.llm_registry import LLMRegistry
from openhands.runtime import get_runtime_cls
from openhands.runtime.plugins import AgentSkillsRequirement, JupyterRequirement
from openhands.storage import get_file_store
from openhands.utils.async_utils import call_async_from_sync


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - openhands 0.62, remote: {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


class Server:
    """`hutch serve`, which can be killed and started again with the same address, key and name."""

    def __init__(self, folder):
        self.key_file = folder / "key"
        self.log = open(folder / "serve.log", "w", encoding="utf-8")
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [os.environ["HUTCH"], "serve", "--listen", self.listen, "--key-file", str(self.key_file)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)
        # The line comes when the server accepts connections.
        self.url = self.process.stdout.readline().split()[-1]
        self.listen = self.url.removeprefix("http://")
        self.key = self.key_file.read_text(encoding="utf-8").strip()

    def end(self, signo):
        self.process.send_signal(signo)
        self.process.communicate()
        return self.process.returncode


def runtime_of(server, sid, attach=False, **sandbox):
    config = OpenHandsConfig(runtime="remote", file_store="memory", enable_browser=False,
                             workspace_mount_path_in_sandbox="/workspace")
    config.sandbox.api_key = server.key
    config.sandbox.remote_runtime_api_url = server.url
    config.sandbox.runtime_container_image = "host"
    config.sandbox.runtime_startup_env_vars = {"AT_START": "yes"}
    for name, value in sandbox.items():
        setattr(config.sandbox, name, value)
    return get_runtime_cls(config.runtime)(
        config=config, event_stream=EventStream(sid, get_file_store("memory", "")),
        llm_registry=LLMRegistry(config=config), sid=sid, plugins=[AgentSkillsRequirement(), JupyterRequirement()],
        env_vars={"STAGE": "test"}, attach_to_existing=attach, headless_mode=True)


def connect(*args, **kwargs):
    runtime = runtime_of(*args, **kwargs)
    call_async_from_sync(runtime.connect)
    return runtime


def run(runtime, command):
    return runtime.run_action(CmdRunAction(command=command))


def names():
    return subprocess.run([os.environ["HUTCH"], "ps", "-a", "-q"], stdout=subprocess.PIPE, text=True).stdout.split()


def check_actions(runtime):
    do = runtime.run_action
    o = run(runtime, "cd /workspace && echo $STAGE $AT_START; git config user.name; false")
    say((o.exit_code, o.content.split()) == (1, ["test", "yes", "openhands"]), "a command runs inside", o)
    o = do(IPythonRunCellAction(code="import os; x = 6; print(os.environ['STAGE']); x * 7"))
    say(o.content.startswith("test\n42\n[Jupyter current working directory: /workspace]\n"), "a cell runs", o)
    o = do(IPythonRunCellAction(code="print(x / 0)"))
    say("ZeroDivisionError" in o.content, "the next cell has its variables, and its errors are seen", o)
    o = do(IPythonRunCellAction(code="print(file_editor('create', '/tmp/skill', 'made by a skill'))"))
    say(run(runtime, "cat /tmp/skill").content == "made by a skill", "a cell has the agent's skills", o)
    o = do(FileWriteAction(path="hello.sh", content="echo hello"))
    say(o.path == "/workspace/hello.sh", "a file is written", o)
    o = do(FileReadAction(path="hello.sh"))
    say((o.content, o.path) == ("echo hello\n", "/workspace/hello.sh"), "a file is read", o)
    o = do(FileEditAction(path="/workspace/hello.sh", command="str_replace", old_str="hello", new_str="there"))
    say("has been edited" in o.content, "a file is edited", o)
    o = run(runtime, "bash hello.sh")
    say(o.content == "there", "the edited file runs", o)
    o = do(FileReadAction(path="/nowhere"))
    say(type(o).__name__ == "ErrorObservation" and "File not found" in o.content, "a missing file is an error", o)
    o = do(BrowseURLAction(url="http://localhost:1"))
    say("Browser functionality is not supported or disabled." in o.content, "a browser that is off is told", o)


def check_long(runtime):
    o = runtime.run_action(CmdRunAction(command="echo begun; read line; echo got $line"))
    say(o.exit_code == -1 and "begun" in o.content, "a command that waits comes back", o)
    o = runtime.run_action(CmdRunAction(command="words", is_input=True))
    say(o.exit_code == 0 and "got words" in o.content, "input goes to it", o)


def make_tree(folder):
    tree = folder / "tree"
    (tree / "deep" / "empty").mkdir(parents=True)
    (tree / "deep" / "grün.txt").write_text("green\n", encoding="utf-8")
    (tree / "large").write_bytes(os.urandom(3 << 20))
    (tree / "run.sh").write_text("echo ran\n", encoding="utf-8")
    (tree / "run.sh").chmod(0o755)
    return tree


def zipped(runtime, path):
    """The files of the zip that copy_from() gives, by their names."""
    file = runtime.copy_from(path)
    with zipfile.ZipFile(file) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    file.unlink()
    return found


def check_files(runtime, folder):
    tree = make_tree(folder)
    runtime.copy_to(str(tree), "/workspace", recursive=True)
    runtime.copy_to(str(tree / "run.sh"), "/workspace/made/for it")
    o = run(runtime, "cd /workspace && ./tree/run.sh; cat tree/deep/gr*; wc -c <tree/large; ls 'made/for it'")
    say(o.content.split() == ["ran", "green", str(3 << 20), "run.sh"], "a folder and a file are copied in", o)
    say(runtime.list_files("/workspace") == ["made/", "tree/", "hello.sh"], "files are listed, folders first",
        runtime.list_files("/workspace"))
    say(runtime.list_files("/nowhere") == [], "a folder that is not there has no files")
    expected = {str(file.relative_to(tree)): file.read_bytes() for file in tree.rglob("*") if file.is_file()}
    found = zipped(runtime, "/workspace/tree")
    say(found == expected, "a folder is copied out, its files by their names in it", (found.keys(), expected.keys()))
    run(runtime, "ln -s large tree/link; ln tree/run.sh tree/hard; ln -s /nowhere tree/dangling")
    found = zipped(runtime, "/workspace/tree")
    say(found.get("link") == expected["large"] and found.get("hard") == expected["run.sh"],
        "links to files are files in the copy", found.keys())
    shutil.rmtree(tree)


def check_mcp(runtime):
    """Stdio servers run inside; the client reaches all of them by one address."""
    def call(tool):
        o = call_async_from_sync(runtime.call_tool_mcp, 60, MCPAction(name=tool, arguments={"text": "hi"}))
        return o.content
    runtime.copy_to(str(pathlib.Path(__file__).with_name("mcp_echo.py")), "/tmp")
    servers = runtime.config.mcp.stdio_servers
    servers.append(MCPStdioServerConfig(name="one", command="python3", args=["/tmp/mcp_echo.py", "one"],
                                        env={"GIVEN": "too"}))
    answer = call("echo")
    say("one in hutch: hi too" in answer, "a tool of an MCP server inside is called", answer)
    servers += [MCPStdioServerConfig(name="two", command="python3", args=["/tmp/mcp_echo.py", "two"]),
                MCPStdioServerConfig(name="gone", command="/nowhere")]
    answers = [call("one_echo"), call("two_echo")]
    say("one in hutch: hi too" in answers[0] and "two in hutch: hi" in answers[1],
        "of several servers, each tool has its server's name in front, and a missing one does no harm", answers)


def check_pause(server):
    """A session that is closed with keep_runtime_alive is paused, and its next client finds all as it was."""
    kept = {"keep_runtime_alive": True, "pause_closed_runtimes": True}
    runtime = connect(server, "kept", **kept)
    run(runtime, "cd /tmp; y=still; sleep 1000 & echo $! >pid")
    runtime.close()
    state = httpx.get(f"{server.url}/sessions/kept", headers={"X-API-Key": server.key}).json()
    say(state["status"] == "paused", "close() pauses a runtime that is kept", state)
    again = connect(server, "kept", attach=True, **kept)
    o = run(again, "echo $PWD $y; ps -o comm= -p $(cat pid)")
    say(again.runtime_id == state["runtime_id"] and o.content.split() == ["/tmp", "still", "sleep"],
        "the next client resumes it, its shell and its processes", o)
    httpx.post(f"{server.url}/pause", headers={"X-API-Key": server.key}, json={"runtime_id": again.runtime_id})
    o = run(again, "echo $y")
    say(o.content == "still", "an action at a runtime that was paused meanwhile lets it go on", o)
    again.close()
    connect(server, "kept").close()
    answer = httpx.get(f"{server.url}/sessions/kept", headers={"X-API-Key": server.key})
    say(answer.status_code == 404, "close() without keep_runtime_alive ends it", answer.text)


def check_killed(server, runtime):
    """The server is killed, and another one finds the sandbox again."""
    run(runtime, "cd /tmp; z=kept")
    server.end(signal.SIGKILL)
    server.start()
    o = run(runtime, "echo $PWD $z")
    say(o.content == "/tmp kept", "a client goes on when the server was killed and started again", o)
    second = connect(server, "first", attach=True)
    o = second.run_action(IPythonRunCellAction(code="x + 1"))
    say(second.runtime_id == runtime.runtime_id and o.content.startswith("7\n"),
        "another client attaches to what an earlier server has made", o)
    second.close()


def check_wrong(server, runtime):
    with contextlib.suppress(AgentRuntimeNotFoundError):
        connect(server, "never", attach=True)
        say(False, "a session that was never begun is not found")
        return
    say(True, "a session that was never begun is not found")
    answers = [httpx.get(f"{server.url}{path}", headers=headers).status_code for path, headers in (
        ("/list", {}), ("/list", {"X-API-Key": "wrong"}), ("/list", {"X-API-Key": server.key}),
        (f"/{runtime.runtime_id}/server_info", {}), (f"/{runtime.runtime_id}/vscode/connection_token", {}),
        (f"/{runtime.runtime_id}/vscode/connection_token", {"X-Session-API-Key": runtime.session_api_key}),
        ("/list", {"X-API-Key": server.key, "Host": "elsewhere.example"}),
        ("/list", {"X-API-Key": server.key, "Origin": "https://elsewhere.example"}))]
    say(answers == [403, 403, 200, 200, 403, 200, 403, 403], "a wrong key, Host or Origin is refused", answers)


def check_end(server, runtime):
    runtime.close()
    say(runtime.runtime_id not in names(), "close() ends the sandbox", names())
    try:
        o = run(runtime, "true")
        say(False, "an action at an ended runtime is an error of the client's", o)
    except AgentRuntimeDisconnectedError:
        say(True, "an action at an ended runtime is an error of the client's")
    say(server.end(signal.SIGTERM) == 0, "SIGTERM ends the server in order", server.process.returncode)


def main():
    folder = pathlib.Path("remote").absolute()
    folder.mkdir()
    server = Server(folder)
    try:
        runtime = connect(server, "first")
        check_actions(runtime)
        check_long(runtime)
        check_files(runtime, folder)
        check_mcp(runtime)
        check_wrong(server, runtime)
        check_pause(server)
        check_killed(server, runtime)
        check_end(server, runtime)
    finally:
        if server.process.poll() is None:
            server.end(signal.SIGTERM)
        for name in names():
            subprocess.run([os.environ["HUTCH"], "rm", "-f", name], stdout=subprocess.DEVNULL)


try:
    main()
except Exception:
    say(False, "OpenHands works with hutch serve", traceback.format_exc())
