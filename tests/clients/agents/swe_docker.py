"""swe_docker.py: stock mini-swe-agent and SWE-ReX with hutch as the program `docker` on PATH; prints TAP.

Needs the packages mini-swe-agent and swe-rex in the Python that runs it, HUTCH, and $IMAGE, an image of the
store whose Python fits that of the venv."""
import asyncio
import contextlib
import logging
import os
import pathlib
import re
import subprocess
import sys
import traceback

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.docker import DockerEnvironment
from minisweagent.models.test_models import DeterministicModel, make_output
from swerex.deployment.docker import DockerDeployment
from swerex.runtime.abstract import (
    BashAction,
    CloseBashSessionRequest,
    Command,
    CreateBashSessionRequest,
    ReadFileRequest,
    WriteFileRequest,
)

logging.disable(logging.WARNING)
IMAGE = os.environ["IMAGE"]
PATIENCE = float(os.environ["PATIENCE"])
COMMANDS = [
    "pwd; echo $WORD; echo err >&2; exit 3",
    "printf 'one\\n' >file && sed -i s/one/two/ file",
    "cat file; getent hosts example.org || echo no network",
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat file",
]


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


def names():
    return subprocess.run(["docker", "ps", "-a", "-q"], stdout=subprocess.PIPE, text=True).stdout


def mini_swe_agent():
    box = DockerEnvironment(image=IMAGE, cwd="/tmp", env={"WORD": "here"}, timeout=int(PATIENCE))
    model = DeterministicModel(outputs=[make_output("", [{"command": command}]) for command in COMMANDS])
    agent = DefaultAgent(model, box, system_template="help", instance_template="{{task}}", cost_limit=0)
    end = agent.run("make two of one")
    said = "".join(str(message["content"]) for message in agent.messages)
    say(end["exit_status"] == "Submitted" and end["submission"] == "two\n", "mini-swe-agent: an agent comes to its end",
        end)
    say("<returncode>3</returncode>\n<output>\n/tmp\nhere\nerr" in said and "two\nno network" in said,
        "mini-swe-agent: its commands share files and have no network", said)
    # cleanup() stops the container in the background; this waits for the same end.
    box.cleanup()
    subprocess.run(["docker", "wait", box.container_id], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    say(names() == "", "mini-swe-agent: nothing of it is left", names())


async def calls(box):
    run = box.runtime
    await run.create_session(CreateBashSessionRequest())
    await run.run_in_session(BashAction(command="cd /tmp; export WORD=here", timeout=PATIENCE))
    done = await run.run_in_session(BashAction(command="pwd; echo $WORD; (exit 3)", check="silent", timeout=PATIENCE))
    say((done.output, done.exit_code) == ("/tmp\nhere\n", 3), "SWE-ReX: a session of bash", done)
    done = await run.execute(Command(command="echo err >&2; exit 4", shell=True, timeout=PATIENCE))
    say((done.stderr, done.exit_code) == ("err\n", 4), "SWE-ReX: a command", done)
    await run.write_file(WriteFileRequest(path="/tmp/new/file", content="text"))
    done = await run.read_file(ReadFileRequest(path="/tmp/new/file"))
    say(done.content == "text", "SWE-ReX: a file", done)
    await run.close_session(CloseBashSessionRequest())


async def rex_calls():
    """The image has no swe-rex: the container finds that of this venv on its PATH."""
    flags = ["-v", f"{sys.prefix}:{sys.prefix}:ro", "-e", f"PATH={sys.prefix}/bin:/usr/bin:/bin"]
    box = DockerDeployment(image=IMAGE, docker_args=flags, startup_timeout=PATIENCE)
    await box.start()
    try:
        await calls(box)
    finally:
        process = box._container_process
        await box.stop()
    say(process.returncode is not None and names() == "", "SWE-ReX: nothing of it is left", names())


def swe_rex():
    asyncio.run(rex_calls())


def pages():
    """Runs the programs of the recipes."""
    for name in "mini-swe-agent", "swe-rex":
        page = pathlib.Path(__file__).parents[3] / f"docs/recipes/{name}.md"
        code = re.search("```python\n(.*?)```", page.read_text(), re.DOTALL)[1]
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        say(done.returncode == 0 and re.search(r"^Python 3\..*\nagent$", done.stdout, re.MULTILINE),
            f"{name}: the program of its recipe", done.stdout)


for part in mini_swe_agent, swe_rex, pages:
    with contextlib.suppress(SystemExit):
        try:
            part()
        except Exception:
            say(False, f"by docker: {part.__name__}", traceback.format_exc())
sys.stdout.flush()
