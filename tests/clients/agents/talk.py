"""A conversation of OpenHands with a scripted model, and the checks of it, whatever the workspace is."""
import os
import pathlib
import subprocess

from openhands.sdk import LLM, Agent, Conversation
from openhands.sdk.tool import Tool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.grep import GrepTool
from openhands.tools.terminal import TerminalTool

LINE = "    return a - b\n"
# No check is of the first command: on a busy machine the tool may lose its output, since its tmux is new.
SCRIPT = [
    [("terminal", {"command": "export SEEN=yes"})],
    [("terminal", {"command": f"cd /workspace && cat sum.py; id -un; ls {pathlib.Path.cwd()}"})],
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


def project(name):
    folder = pathlib.Path(name).absolute()
    folder.mkdir()
    (folder / "sum.py").write_text("def sum(a, b):\n" + LINE)
    # The server makes a repository of a folder that is none.
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def agent(port, host):
    llm = LLM(model="openai/scripted", base_url=f"http://{host}:{port}/v1", api_key="none",
              num_retries=0, usage_id="agent")
    return Agent(llm=llm, tools=[Tool(name=tool.name) for tool in (TerminalTool, FileEditorTool, GrepTool)])


def talk_in(workspace, model, way, host="host.hutch.internal"):
    """Has the agent work in the workspace to the end of the script; `way` is in the names of the checks."""
    talk = Conversation(agent=agent(model.port, host), workspace=workspace, visualizer=None)
    talk.send_message("make the sum a sum")
    talk.run(timeout=float(os.environ["PATIENCE"]))
    results = model.results()
    say(str(talk.state.execution_status.value) == "finished" and len(model.asked) == len(SCRIPT),
        f"{way}: an agent comes to its end", results)
    results += [""] * (len(SCRIPT) - 1 - len(results))
    say(LINE.strip() in results[1] and "No such file" in results[1] and "yes" in results[4]
        and "exit code 7" in results[4], f"{way}: its terminal is a session inside, and reaches no other host", results)
    say("has been edited" in results[2] and "sum.py" in results[3], f"{way}: its editor and grep work", results)
    return talk
