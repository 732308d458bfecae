"""conversation.py URL KEY KUBECTL...: a conversation of stock OpenHands 0.62.0 by its RemoteRuntime, with `hutch route`
at URL before pods of a cluster.  The model is a script; the pod that has the sandbox is deleted twice.  Prints TAP.

Needs the package openhands-ai of that version in the Python that runs it."""
import asyncio
import pathlib
import subprocess
import sys
import traceback

import httpx

sys.path.append(str(pathlib.Path(__file__).absolute().parents[2] / "clients/agents"))
from model import Model  # noqa: E402

from openhands.core.config import OpenHandsConfig  # noqa: E402
from openhands.core.config.llm_config import LLMConfig  # noqa: E402
from openhands.core.main import run_controller  # noqa: E402
from openhands.events.action import MessageAction  # noqa: E402

URL, KEY, KUBECTL = sys.argv[1], sys.argv[2], sys.argv[3:]
RISK = {"security_risk": "LOW"}
SCRIPT = [
    [("execute_bash", {"command": "cd /workspace && echo before >note && export SEEN=yes && id -un", **RISK})],
    [("execute_bash", {"command": "cat /workspace/note; echo seen=$SEEN", **RISK})],
    [("execute_ipython_cell", {"code": "print(6 * 7)", **RISK})],
    [("str_replace_editor", {"command": "str_replace", "path": "/workspace/note", "old_str": "before",
                             "new_str": "after", **RISK})],
    [("execute_bash", {"command": "cat /workspace/note", **RISK})],
    [("finish", {"message": "done"})],
]
# The pod is deleted before the model gives these answers: once as a drain does, once as where a node is lost.
DELETED = {1: ["--wait=false"], 4: ["--grace-period=0", "--force", "--wait=false"]}


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - openhands 0.62, cluster: {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


def runtimes():
    return httpx.get(f"{URL}/list", headers={"X-API-Key": KEY}).json()["runtimes"]


class Cluster(Model):
    """The model, in whose turns pods end."""
    lost = ()

    def answer(self, body):
        if body.get("tools") and len(self.asked) in DELETED:
            pod = "-".join(runtimes()[0]["runtime_id"].split("-")[:2])
            uid = self.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
            self.kubectl("delete", "pod", pod, *DELETED[len(self.asked)])
            self.lost = (*self.lost, (pod, uid))
        return super().answer(body)

    @staticmethod
    def kubectl(*words):
        return subprocess.run([*KUBECTL, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def settings(port):
    config = OpenHandsConfig(runtime="remote", file_store="memory", enable_browser=False, max_iterations=20,
                             workspace_mount_path_in_sandbox="/workspace")
    config.sandbox.api_key = KEY
    config.sandbox.remote_runtime_api_url = URL
    config.sandbox.runtime_container_image = "debian:12"
    config.sandbox.keep_runtime_alive = True
    config.set_llm_config(LLMConfig(model="openai/scripted", base_url=f"http://127.0.0.1:{port}/v1", api_key="none",
                                    num_retries=0, native_tool_calling=True))
    config.get_agent_config().enable_mcp = False
    return config


def main():
    with Cluster(SCRIPT) as model:
        state = asyncio.run(run_controller(
            config=settings(model.port), initial_user_action=MessageAction(content="change the note"), sid="talk",
            fake_user_response_fn=lambda state: "/exit"))
    results = model.results() + [""] * len(SCRIPT)
    told = f"{state and state.last_error}\n{results}"
    say(state.agent_state.value == "finished" and len(model.asked) == len(SCRIPT), "an agent comes to its end", told)
    say(len(set(model.lost)) == len(DELETED), "its pod was deleted twice in between", model.lost)
    say("exit code 0" in results[0], "a command runs", results[0])
    say("before\nseen=\n" in results[1], "after a drain its files are there, in a new shell", results[1])
    say("42" in results[2], "a cell runs", results[2])
    say("has been edited" in results[3], "the editor edits", results[3])
    say("after" in results[4], "after the loss of the pod its files are there", results[4])
    left = runtimes()
    httpx.post(f"{URL}/stop", headers={"X-API-Key": KEY}, json={"runtime_id": left[0]["runtime_id"]})
    say(len(left) == 1 and runtimes() == [], "one sandbox was there, and none is left", left)


try:
    main()
except Exception:
    say(False, "OpenHands works with the cluster", traceback.format_exc())
