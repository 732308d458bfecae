"""openhands_docker.py: stock openhands-workspace, and an agent-server with a container for each
conversation, with hutch as the programs `docker` and `apptainer` on PATH; prints TAP.

Needs the packages openhands-sdk, -tools, -workspace and -agent-server in the Python that runs it, and
HUTCH.  $IMAGE-server is an image of the store whose ENTRYPOINT starts the server of the venv $VENV.
The policies docker.json and apptainer.json of the user say what each container has beside the client's
flags."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import traceback
import warnings

from model import Model
from openhands.sdk.workspace import RemoteWorkspace
from openhands.workspace import ApptainerWorkspace, DockerWorkspace
from talk import SCRIPT, project, say, talk_in

warnings.simplefilter("ignore", DeprecationWarning)
IMAGE = os.environ["IMAGE"] + "-server"
KEY = "a key of the test"


def write_policy(program, network):
    """The server's venv is the host's.  best_effort is for hosts without cgroups, or with a low limit of
    descriptors."""
    folder = pathlib.Path(os.environ["XDG_CONFIG_HOME"]) / "hutch"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{program}.json").write_text(json.dumps({
        "version": 1, "mounts": [f"{sys.prefix}:{sys.prefix}:ro"],
        "env": {"VENV": sys.prefix, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OH_ENABLE_BROWSER": "0"},
        "limits": {"best_effort": True}, **network}))


def write_docker_policy(port):
    """The containers may reach the model alone."""
    write_policy("docker", {"network": "allow", "egress": {"rules": [{"allow": f"@host:{port}"}]}})


def docker(*words):
    done = subprocess.run(["docker", *words], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def workspace():
    folder = project("docker-workspace")
    os.environ["OH_SESSION_API_KEYS_0"] = KEY  # DockerWorkspace hands it on
    with Model(SCRIPT) as model:
        write_docker_policy(model.port)
        with DockerWorkspace(server_image=IMAGE, volumes=[f"{folder}:/workspace"], detach_logs=False,
                             health_check_timeout=float(os.environ["PATIENCE"])) as box:
            talk = talk_in(box, model, "DockerWorkspace")
            say("a + b" in (folder / "sum.py").read_text(), "DockerWorkspace: the volume has the change")
            done = box.execute_command("echo out; echo err >&2; exit 3")
            say((done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n"), "DockerWorkspace: a command",
                done)
            name = docker("ps", "--format", "{{.Names}}").strip()
            logs = subprocess.run(["docker", "logs", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True).stdout
            say(name.startswith("agent-server-") and "Uvicorn running" in logs, "DockerWorkspace: its logs", logs)
            box.pause()
            state = docker("inspect", "-f", "{{.State.Status}}", name)
            box.resume()
            say(state == "paused\n" and box.execute_command("echo on").stdout == "on\n",
                "DockerWorkspace: it is paused, and goes on", state)
            talk.close()
        say(docker("ps", "-a", "-q") == "", "DockerWorkspace: nothing of it is left", docker("ps", "-a"))
    del os.environ["OH_SESSION_API_KEYS_0"]


def apptainer():
    """The client asks the server at a port of this host, which is therefore shared."""
    folder = project("apptainer-workspace")
    write_policy("apptainer", {"network": "host"})
    os.environ["OH_SESSION_API_KEYS_0"] = os.environ["SESSION_API_KEY"] = KEY
    with ApptainerWorkspace(server_image=IMAGE, mount_dir=str(folder), detach_logs=False, cache_dir="sifs",
                            health_check_timeout=float(os.environ["PATIENCE"])) as box:
        done = box.execute_command("cat /workspace/sum.py && echo made >/workspace/made; echo err >&2; exit 3")
        say((done.exit_code, done.stderr) == (3, "err\n") and "a - b" in done.stdout, "ApptainerWorkspace: a command",
            done)
        say((folder / "made").read_text() == "made\n", "ApptainerWorkspace: its folder has the change")
        (folder / "given").write_text("given")
        box.file_upload(str(folder / "given"), "/tmp/given")
        box.file_download("/tmp/given", str(folder / "back"))
        say((folder / "back").read_text() == "given", "ApptainerWorkspace: a file goes in and comes back")
    say(os.listdir("sifs") == [IMAGE + ".sif"], "ApptainerWorkspace: the image is a file", os.listdir("sifs"))
    del os.environ["OH_SESSION_API_KEYS_0"], os.environ["SESSION_API_KEY"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def outer_server():
    """An agent-server on the host that runs each conversation in a container; yields its address."""
    port, state = free_port(), pathlib.Path("outer").absolute()
    variables = {"OH_CONVERSATION_RUNTIME": "docker", "OH_CONVERSATION_IMAGE": IMAGE, "OH_SECRET_KEY": "secret" * 8,
                 "OH_SESSION_API_KEYS_0": KEY, "OH_CONVERSATIONS_PATH": str(state / "conversations"),
                 "OH_PERSISTENCE_DIR": str(state / "persistence"), "OH_ENABLE_BROWSER": "0", "LOG_LEVEL": "INFO",
                 "OH_CONVERSATION_CONTAINER_STARTUP_TIMEOUT": os.environ["PATIENCE"]}
    with open("outer.log", "wb+") as log, subprocess.Popen(
            [sys.executable, "-m", "openhands.agent_server", "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **variables}) as server:
        for line in server.stdout:
            log.write(line)
            if b"Uvicorn running" in line:
                break
        # The rest of its log goes to the file, so that the pipe never fills.
        with subprocess.Popen(["cat"], stdin=server.stdout, stdout=log):
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                server.terminate()
                server.wait()


def runtime():
    folder = project("docker-runtime")
    with Model(SCRIPT) as model:
        write_docker_policy(model.port)
        with outer_server() as address:
            box = RemoteWorkspace(host=address, api_key=KEY, working_dir=str(folder))
            talk = talk_in(box, model, "OH_CONVERSATION_RUNTIME", host="host.docker.internal")
            say("a + b" in (folder / "sum.py").read_text(), "OH_CONVERSATION_RUNTIME: the folder has the change")
            names = docker("ps", "--format", "{{.Names}} {{.Ports}}").split()
            say(len(names) == 2 and names[0].startswith("agent-server-conversation-")
                and names[1].startswith("127.0.0.1:") and names[1].endswith("->8000/tcp"),
                "OH_CONVERSATION_RUNTIME: the conversation has a container of its own", names)
            talk.close()  # deletes the conversation
            say(docker("ps", "-a", "-q") == "", "OH_CONVERSATION_RUNTIME: nothing of it is left", docker("ps", "-a"))


for part in workspace, apptainer, runtime:
    with contextlib.suppress(SystemExit):
        try:
            part()
        except Exception:
            say(False, f"openhands by docker or apptainer: {part.__name__}", traceback.format_exc())
sys.stdout.flush()
