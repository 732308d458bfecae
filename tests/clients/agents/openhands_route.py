"""openhands_route.py: stock OpenHands 0.62.0 with its RemoteRuntime, against three servers of `hutch serve --pod`
behind `hutch route`, of which one is lost with its sandboxes in between; prints TAP.

Needs the package openhands-ai of that version in the Python that runs it, and HUTCH.  The client is the one of PyPI,
without a change: all that it knows of hutch is an address and a key."""
import atexit
import os
import pathlib
import signal
import subprocess
import threading
import traceback

import httpx
from openhands.core.config import OpenHandsConfig
from openhands.core.exceptions import AgentRuntimeDisconnectedError
from openhands.events import EventStream
from openhands.events.action import CmdRunAction, FileReadAction, FileWriteAction, IPythonRunCellAction
from openhands.llm.llm_registry import LLMRegistry
from openhands.runtime import get_runtime_cls
from openhands.runtime.plugins import AgentSkillsRequirement, JupyterRequirement
from openhands.storage import get_file_store
from openhands.utils.async_utils import call_async_from_sync

HUTCH = os.environ["HUTCH"]


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - openhands 0.62, route: {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


def make_image(folder):
    """The host's /usr, in a root of its own, so that what is written to the root is kept."""
    for name in ("usr", "etc", "root", "workspace"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (folder / name).symlink_to(f"usr/{name}")


class Pod:
    """A server with a state of its own, as on a volume."""

    def __init__(self, folder, number):
        self.name, self.folder, self.listen = f"hutch-{number}", folder, "127.0.0.1:0"
        self.url = None  # under which clients know it
        self.own = folder / self.name
        (self.own / "run").mkdir(parents=True, mode=0o700)
        self.env = dict(os.environ, XDG_DATA_HOME=str(self.own), XDG_RUNTIME_DIR=str(self.own / "run"))
        self.log = open(self.own / "log", "w", encoding="utf-8")
        self.start()

    def start(self):
        options = ["--url", self.url] if self.url else []
        self.process = subprocess.Popen(
            [HUTCH, "serve", "--listen", self.listen, "--pod", self.name, "--key-file", str(self.folder / "key"),
             "--image", f"dir:{self.folder}/image", *options, "--", "-v", "/usr:/usr:ro", "-u", "root"],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline().split()[-1]
        self.listen = self.listen if self.url else line.removeprefix("http://")

    def hutch(self, *words):
        return subprocess.run([HUTCH, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True)

    def end(self):
        self.process.kill()
        self.process.communicate()

    def lose(self):
        """All processes of the pod are killed, as where its node is lost; its volume stays."""
        self.end()
        for name in self.hutch("ps", "-q").stdout.split():
            self.hutch("kill", name)


class Router:
    def __init__(self, folder, pods):
        self.process = subprocess.Popen(
            [HUTCH, "route", "--listen", "127.0.0.1:0", "--wait", f"{os.environ['PATIENCE']}s",
             *[f"--pod={pod.name}={pod.listen}" for pod in pods]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.key = (folder / "key").read_text(encoding="utf-8").strip()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        return self.process.returncode


def connect(router, sid, attach=False):
    config = OpenHandsConfig(runtime="remote", file_store="memory", enable_browser=False,
                             workspace_mount_path_in_sandbox="/workspace")
    config.sandbox.api_key = router.key
    config.sandbox.remote_runtime_api_url = router.url
    config.sandbox.runtime_container_image = "host"
    config.sandbox.keep_runtime_alive = True
    runtime = get_runtime_cls(config.runtime)(
        config=config, event_stream=EventStream(sid, get_file_store("memory", "")),
        llm_registry=LLMRegistry(config=config), sid=sid, plugins=[AgentSkillsRequirement(), JupyterRequirement()],
        env_vars={"STAGE": "test"}, attach_to_existing=attach, headless_mode=True)
    call_async_from_sync(runtime.connect)
    return runtime


def run(runtime, command):
    return runtime.run_action(CmdRunAction(command=command))


def pod_of(pods, runtime):
    return next(pod for pod in pods if runtime.runtime_id.startswith(pod.name + "-"))


def check_talk(runtime):
    o = run(runtime, "cd /workspace && echo $STAGE; false")
    say((o.exit_code, o.content.strip()) == (1, "test"), "a command runs inside", o)
    runtime.run_action(FileWriteAction(path="note.txt", content="written before"))
    o = runtime.run_action(IPythonRunCellAction(code="6 * 7"))
    say(o.content.startswith("42\n"), "a cell runs", o)


def check_lost(pods, runtime, other):
    pod = pod_of(pods, runtime)
    pod.lose()
    o = run(other, "echo still")
    say(o.content == "still", "a client of another pod notices nothing", o)
    back = threading.Thread(target=pod.start)
    back.start()
    o = runtime.run_action(FileReadAction(path="note.txt"))
    back.join()
    say(o.content.strip() == "written before", "the conversation goes on with its files when the pod is back", o)
    o = runtime.run_action(IPythonRunCellAction(code="7 * 7"))
    say(o.content.startswith("49\n"), "its plugins run again", o)


def check_amid(pods, runtime):
    """The pod is lost while an action runs: the client is told to try again, and the next action is done."""
    pod, told = pod_of(pods, runtime), []

    def act():
        try:
            told.append(run(runtime, "echo begun >/workspace/door; sleep 100000"))
        except AgentRuntimeDisconnectedError as error:
            told.append(error)

    run(runtime, "mkfifo /workspace/door")
    acting = threading.Thread(target=act)
    acting.start()
    pod.hutch("exec", runtime.runtime_id, "--", "cat", "/workspace/door")
    pod.lose()
    acting.join()
    say(isinstance(told[0], AgentRuntimeDisconnectedError), "an action that a pod's end has cut off is told as such",
        told)
    pod.start()
    o = run(runtime, "ls /workspace/door; echo on")
    say(o.content.split() == ["/workspace/door", "on"], "the next action is done when the pod is back", o)


def check_attach(router, runtime):
    again = connect(router, "talk", attach=True)
    o = run(again, "cat /workspace/note.txt")
    say(again.runtime_id == runtime.runtime_id and o.content.strip() == "written before",
        "another client attaches to the session", o)


def main():
    folder = pathlib.Path("route").absolute()
    folder.mkdir()
    make_image(folder / "image")
    pods = [Pod(folder, number) for number in range(3)]
    router = Router(folder, pods)
    for pod in pods:
        pod.end()
        pod.url = router.url
        pod.start()
    try:
        runtime, other = connect(router, "talk"), connect(router, "other")
        say(pod_of(pods, runtime) is not pod_of(pods, other), "two sessions are in two pods",
            (runtime.runtime_id, other.runtime_id))
        check_talk(runtime)
        check_lost(pods, runtime, other)
        check_amid(pods, runtime)
        check_attach(router, runtime)
        for session in (runtime, other):
            atexit.unregister(session.close)
            httpx.post(f"{router.url}/stop", headers={"X-API-Key": router.key},
                       json={"runtime_id": session.runtime_id})
        left = httpx.get(f"{router.url}/list", headers={"X-API-Key": router.key}).json()
        say(left == {"runtimes": []}, "nothing of them is left", left)
        say(router.end() == 0, "SIGTERM ends the router in order", router.process.returncode)
    finally:
        router.process.kill()
        for pod in pods:
            pod.end()
            for name in pod.hutch("ps", "-a", "-q").stdout.split():
                pod.hutch("rm", "-f", name)


try:
    main()
except Exception:
    say(False, "OpenHands works with hutch route", traceback.format_exc())
