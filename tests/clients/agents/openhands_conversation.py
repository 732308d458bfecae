"""openhands_conversation.py: stock openhands-sdk and its agent-server with hutch.openhands; prints TAP.

Needs the packages openhands-sdk, -tools and -agent-server in the Python that runs it, tmux and git
on the host, and HUTCH.  The model is a script of model.py on this host, which the agent inside
reaches by the rule @host:PORT.  The folder to work in is the one that it is started in."""
import contextlib
import os
import pathlib
import subprocess
import sys
import traceback
import warnings

from model import Model
from openhands.sdk import LLM, Agent, Conversation
from openhands.sdk.tool import Tool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.grep import GrepTool
from openhands.tools.terminal import TerminalTool

import hutch
from hutch.openhands import HutchWorkspace

warnings.simplefilter("ignore", DeprecationWarning)
LINE = "    return a - b\n"
GIVEN = {"health_check_timeout": float(os.environ["PATIENCE"])}
SCRIPT = [
    [("terminal", {"command": "cd /workspace && cat sum.py && id -un && ls /root; export SEEN=yes"})],
    [("file_editor", {"command": "str_replace", "path": "/workspace/sum.py", "old_str": "a - b",
                      "new_str": "a + b"})],
    [("grep", {"pattern": "return a . b", "path": "/workspace"})],
    [("terminal", {"command": "echo $SEEN; curl -sS http://example.org"})],
    [("finish", {"message": "the sum is one now"})],
]


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


def agent(port):
    llm = LLM(model="openai/scripted", base_url=f"http://host.hutch.internal:{port}/v1", api_key="none",
              num_retries=0, usage_id="agent")
    return Agent(llm=llm, tools=[Tool(name=tool.name) for tool in (TerminalTool, FileEditorTool, GrepTool)])


def project(name):
    folder = pathlib.Path(name).absolute()
    folder.mkdir()
    (folder / "sum.py").write_text("def sum(a, b):\n" + LINE)
    # The server makes a repository of a folder that is none.
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def conversation():
    folder = project("conversation")
    with Model(SCRIPT) as model, HutchWorkspace(
            workspace=f"{folder}:cow", allow=[f"@host:{model.port}"], **GIVEN) as workspace:
        talk = Conversation(agent=agent(model.port), workspace=workspace, visualizer=None)
        talk.send_message("make the sum a sum")
        talk.run(timeout=float(os.environ["PATIENCE"]))
        results = model.results()
        say(str(talk.state.execution_status.value) == "finished" and len(model.asked) == len(SCRIPT),
            "openhands: an agent comes to its end", results)
        say(len(results) == 4 and LINE.strip() in results[0] and "agent" in results[0]
            and "No such file" in results[0] and "yes" in results[3] and "exit code 7" in results[3],
            "openhands: its terminal is a session inside, and reaches no other host", results)
        say(len(results) == 4 and "has been edited" in results[1] and "sum.py" in results[2],
            "openhands: its editor and grep work", results)
        changes = [f"{change.kind} {change.path}" for change in workspace.diff()]
        say(changes == ["M /workspace/sum.py"] and LINE in (folder / "sum.py").read_text(),
            "openhands: diff() has the agent's change alone, and the host's file is as it was", changes)
        applied = workspace.apply()
        say("a + b" in (folder / "sum.py").read_text(), "openhands: apply() brings it to the host", applied)
        talk.close()


def commands():
    folder = project("commands")
    with HutchWorkspace(workspace=str(folder), **GIVEN) as workspace:
        done = workspace.execute_command("echo out; echo err >&2; exit 3")
        say((done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n"), "openhands: a command", done)
        sent = workspace.file_upload(folder / "sum.py", "/workspace/copy/sum.py")
        got = workspace.file_download("/workspace/copy/sum.py", folder / "back.py")
        say(sent.success and got.success and (folder / "back.py").read_text().endswith(LINE),
            "openhands: a file goes in and comes out", (sent, got))
        workspace.pause()
        state = workspace.sandbox.info().state
        workspace.resume()
        say(state == hutch.Status.PAUSED and workspace.execute_command("echo on").stdout == "on\n",
            "openhands: it is paused, and goes on", state)
        answer = workspace.client.get("/api/tools/", headers={"X-Session-API-Key": "another"})
        say(answer.status_code == 401, "openhands: another key is refused", answer.text)
        name = workspace.sandbox.name
    say(name not in ps(), "openhands: nothing of it is left", ps())


def images():
    """$IMAGE-server is an image of the store whose ENTRYPOINT starts the server of the venv $VENV."""
    flags = {"volume": f"{sys.prefix}:{sys.prefix}:ro"}
    with HutchWorkspace(image=os.environ["IMAGE"] + "-server", env={"VENV": sys.prefix},
                        sandbox_flags=flags, **GIVEN) as first:
        first.execute_command("echo one >/srv/a")
        with first.fork() as second:
            seen = second.execute_command("cat /srv/a; echo two >/srv/a").stdout
            say(seen == "one\n" and first.execute_command("cat /srv/a").stdout == "one\n",
                "openhands: a fork has the files, and writes to its own", seen)
        name = first.take_snapshot()
    with HutchWorkspace(snapshot=name, venv=sys.prefix, **GIVEN) as third:
        seen = third.execute_command("cat /srv/a").stdout
        say(seen == "one\n", "openhands: a workspace begins as a snapshot", seen)


def errors():
    """Each is a sentence, and leaves no sandbox behind."""
    before = ps()
    for name, flags, words in [
            ("a server that ends at once", {"server": ["sh", "-c", "echo no such thing; exit 3", "sh"]},
             "code 3 before it listened: no such thing"),
            ("a server that is not there", {"server": ["/nowhere/server"]}, "/nowhere/server"),
            ("a folder that is no venv", {"venv": "/usr/share"}, "no virtual environment"),
            ("an image and a snapshot", {"image": "a", "snapshot": "b"}, "both given"),
            ("a server that does not listen", {"health_check_timeout": 1,
                                                "server": ["sh", "-c", "exec sleep 1000", "sh"]},
             "did not listen within 1 s")]:
        try:
            HutchWorkspace(**{**GIVEN, **flags}).cleanup()
            say(False, f"openhands: {name} is an error", "there was none")
        except (hutch.HutchError, ValueError) as e:  # pydantic makes a ValueError its own
            say(words in str(e), f"openhands: {name} is an error", e)
    say(ps() == before, "openhands: errors leave nothing behind", ps())


def ps():
    return subprocess.run([os.environ["HUTCH"], "ps", "--json"], stdout=subprocess.PIPE, text=True).stdout


for part in (errors, commands, conversation, *([images] if os.environ.get("IMAGE") else [])):
    with contextlib.suppress(SystemExit):
        try:
            part()
        except Exception:
            say(False, f"openhands: {part.__name__}", traceback.format_exc())
sys.stdout.flush()
