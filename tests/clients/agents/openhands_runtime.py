"""openhands_runtime.py: stock OpenHands 0.62.0 with HutchRuntime, chosen by its dotted name; prints TAP.

Needs the package openhands-ai of that version in the Python that runs it, and HUTCH."""
import os
import pathlib
import traceback
import zipfile

from openhands.core.config import OpenHandsConfig
from openhands.core.config.mcp_config import MCPStdioServerConfig
from openhands.events import EventStream
from openhands.events.action import (BrowseURLAction, CmdRunAction, FileEditAction, FileReadAction, FileWriteAction,
                                     IPythonRunCellAction)
from openhands.events.action.mcp import MCPAction
from openhands.llm.llm_registry import LLMRegistry
from openhands.runtime import get_runtime_cls
from openhands.runtime.plugins import JupyterRequirement
from openhands.storage import get_file_store
from openhands.utils.async_utils import call_async_from_sync


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - openhands 0.62: {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


def begin(folder):
    config = OpenHandsConfig(runtime="hutch.openhands_runtime.HutchRuntime", workspace_mount_path=str(folder),
                             workspace_mount_path_in_sandbox="/workspace", file_store="memory",
                             enable_browser=False)
    events = EventStream("first", get_file_store("memory", ""))
    runtime = get_runtime_cls(config.runtime)(
        config=config, event_stream=events, llm_registry=LLMRegistry(config=config), sid="first",
        plugins=[JupyterRequirement()], env_vars={"STAGE": "test"}, headless_mode=True)
    call_async_from_sync(runtime.connect)
    return runtime


def checks(runtime, folder):
    def do(action):
        return runtime.run_action(action)
    o = do(CmdRunAction(command="cd /workspace && echo $STAGE; id -un; git config user.name"))
    say(o.exit_code == 0 and o.content.split() == ["test", "agent", "openhands"], "a command runs inside", o)
    o = do(IPythonRunCellAction(code="import os; x = 6; print(os.getcwd()); x * 7"))
    say(o.content.startswith("/workspace\n42\n[Jupyter current working directory: /workspace]\n"), "a cell runs", o)
    o = do(IPythonRunCellAction(code="x / 0"))
    say("ZeroDivisionError: division by zero" in o.content and "----> 1 x / 0" in o.content,
        "the next cell has its variables, and an error has its traceback", o)
    o = do(FileWriteAction(path="hello.sh", content="echo hello"))
    say(o.path == "/workspace/hello.sh" and (folder / "hello.sh").read_text() == "echo hello\n", "a file is written", o)
    o = do(FileReadAction(path="hello.sh"))
    say((o.content, o.path) == ("echo hello\n", "/workspace/hello.sh"), "a file is read", o)
    o = do(FileEditAction(path="/workspace/hello.sh", command="str_replace", old_str="hello", new_str="there"))
    say("has been edited" in o.content and (folder / "hello.sh").read_text() == "echo there\n", "a file is edited", o)
    o = do(BrowseURLAction(url="http://localhost:1"))
    say("Browser functionality is not supported or disabled." in o.content, "a browser that is off is told", o)
    say(runtime.list_files("/workspace") == ["hello.sh"], "the files are listed", runtime.list_files("/workspace"))
    zipped = runtime.copy_from("/workspace")
    say(zipped.stat().st_size > 0, "the workspace is copied out", zipped)
    zipped.unlink()


def check_links(runtime, folder):
    """The files in a zip archive are those inside, wherever a link leads on this host."""
    host = folder.parent / "host"
    host.mkdir()
    (host / "secret").write_text("of the host\n")
    runtime.run_action(CmdRunAction(command="mkdir /tmp/real; echo inside >/tmp/real/file; ln -s real /tmp/to; "
                                            f"ln -s {host} /tmp/out; ln -s {host} /tmp/real/out"))

    def names(path):
        try:
            zipped = runtime.copy_from(path)
        except Exception as e:
            return type(e).__name__
        with zipfile.ZipFile(zipped) as archive:
            zipped.unlink()
            return archive.namelist()
    got = [names(f"/tmp/{name}") for name in ("real", "to", "out", "real/out")]
    say(got[:2] == [["file"], ["file"]] and not any("secret" in one for one in got[2:]),
        "links lead to no file of this host", got)


def check_mcp(runtime, folder):
    """OpenHands starts the commands of stdio servers in its own process, and the microagents of a repository may
    name such servers."""
    made = [folder.parent / name for name in ("configured", "named")]
    configured, named = (MCPStdioServerConfig(name=path.name, command="touch", args=[str(path)]) for path in made)
    runtime.config.mcp.stdio_servers.append(configured)
    config = runtime.get_mcp_config([named])
    o = call_async_from_sync(runtime.call_tool_mcp, 60, MCPAction(name="any", arguments={}))
    say(not config.stdio_servers and not any(path.exists() for path in made) and "No MCP server" in o.content,
        "no stdio server is started on this host", (config, o))


def main():
    folder = pathlib.Path("of-runtime").absolute()  # the runtime folder of hutch is beside it
    folder.mkdir()
    runtime = begin(folder)
    try:
        checks(runtime, folder)
        check_links(runtime, folder)
        check_mcp(runtime, folder)
    finally:
        runtime.close()
    left = os.popen(f"{os.environ['HUTCH']} ps -q").read()
    say(left == "", "close() ends the sandbox", left)


try:
    main()
except Exception:
    say(False, "OpenHands works with HutchRuntime", traceback.format_exc())
