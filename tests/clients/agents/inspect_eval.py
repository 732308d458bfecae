"""inspect_eval.py: evaluations by inspect_ai with sandbox="hutch"; prints TAP.

The model is inspect_ai's mock, whose outputs are given.  Needs HUTCH, and the entry point of the
package hutch."""
import asyncio
import os
import pathlib
import subprocess

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv

COMPOSE = """
services:
  default:
    image: IMAGE
    command: tail -f /dev/null
    working_dir: /tmp
    environment: {WORD: here}
    volumes: ["./data:/data:ro"]
    network_mode: none
  other: {image: IMAGE}
"""


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - inspect: {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


def names():
    return subprocess.run([os.environ["HUTCH"], "ps", "-q"], stdout=subprocess.PIPE, text=True).stdout


def run(command, sandbox):
    """Has the model run a command, and returns what its tool said."""
    outputs = [ModelOutput.for_tool_call("mockllm/model", "bash", {"command": command}),
               ModelOutput.from_content("mockllm/model", "done")]
    for output in outputs:  # else the mock counts tokens, with a table that it downloads
        output.usage = ModelUsage()
    model = get_model("mockllm/model", custom_outputs=outputs)
    task = Task(dataset=[Sample(input="go", target="done", files={"given.txt": "given"})],
                solver=[use_tools(bash(timeout=60)), generate()], scorer=includes(), sandbox=sandbox)
    log = eval(task, model=model, display="none")[0]
    if log.status != "success":
        return log.error.message
    return "".join(message.text for message in log.samples[0].messages if message.role == "tool")


def config_error(text):
    pathlib.Path("bad-compose.yaml").write_text(text)
    try:
        asyncio.run(registry_find_sandboxenv("hutch").sample_init("t", "bad-compose.yaml", {}))
    except ValueError as e:
        return str(e)
    return "there was none"


said = run("id -un; pwd; cat given.txt; curl -sS http://example.org", "hutch")
say("agent\n/workspace\ngiven" in said and "resolve host" in said, "a task runs in the host's /usr without a network",
    said)
pathlib.Path("data").mkdir()
pathlib.Path("data/a").write_text("of the host\n")
pathlib.Path("compose.yaml").write_text(COMPOSE.replace("IMAGE", os.environ["IMAGE"]))
said = run("pwd; echo $WORD; cat /data/a; touch /data/b || cat /etc/debian_version", ("hutch", "compose.yaml"))
say("/tmp\nhere\nof the host\n" in said and "Read-only" in said, "a compose file names image, folders, variables", said)
say(names() == "", "nothing is left of it", names())
for key, text in (("privileged", "privileged: true"), ("network_mode", "network_mode: bridge"),
                  ("ports", "ports: ['80:80']")):
    said = config_error("services: {default: {image: a, %s}}\n" % text)
    say(key in said, f"{key} of a compose file is an error", said)
