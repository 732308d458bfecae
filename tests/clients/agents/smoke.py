"""smoke.py CLIENT: one stock client of other people's with hutch, each by as few commands as show that
they still fit each other.  run.sh has all that they do.

Needs HUTCH, a docker and an apptainer that are hutch on PATH, and the packages of smoke.txt in the
Python that runs it."""
import asyncio
import contextlib
import gc
import logging
import os
import pathlib
import subprocess
import sys

PATIENCE = float(os.environ["PATIENCE"])
KEY = "keys/key"  # the test has made the folder for the user that the server runs as
# The venv is not in the sandbox's root, nor is the Python that it was made of.
FOLDERS = sorted({sys.prefix, os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))} - {"/usr"})


def names():
    return subprocess.run(["docker", "ps", "-q"], stdout=subprocess.PIPE, text=True, check=True).stdout


def mini_swe_agent():
    from minisweagent.environments.docker import DockerEnvironment
    box = DockerEnvironment(image="host", cwd="/tmp", env={"WORD": "here"}, timeout=int(PATIENCE))
    done = box.execute({"command": "pwd; echo $WORD; echo err >&2; exit 3"})
    assert (done["returncode"], done["output"]) == (3, "/tmp\nhere\nerr\n"), done
    box.cleanup()
    # cleanup() stops the container in the background; this waits for the same end.
    subprocess.run(["docker", "wait", box.container_id], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def mini_swe_agent_bwrap():
    from minisweagent.environments.extra.bubblewrap import BubblewrapEnvironment
    box = BubblewrapEnvironment(env={"WORD": "here"}, timeout=int(PATIENCE))
    assert box.config.executable == os.environ["MSWEA_BUBBLEWRAP_EXECUTABLE"]
    done = box.execute({"command": "pwd; echo $WORD $HUTCH_MARK; touch made; touch /usr/made 2>/dev/null; exit 3"})
    assert (done["returncode"], done["output"]) == (3, f"{box.working_dir}\nhere outer\n"), done
    assert os.listdir(box.working_dir) == ["made"]
    box.cleanup()


def mini_swe_agent_apptainer():
    """The folder `root` has no programs: those of this host are shown."""
    from minisweagent.environments.singularity import SingularityEnvironment
    box = SingularityEnvironment(
        image="root", cwd="/data", env={"WORD": "here"}, timeout=int(PATIENCE),
        exec_args=["--contain", "--cleanenv", "--fakeroot", "--bind", "/usr:/usr:ro"])
    done = box.execute({"command": "pwd; echo $WORD; echo err >&2; echo made >made; exit 3"})
    assert (done["returncode"], done["output"]) == (3, "/data\nhere\nerr\n"), done
    done = box.execute({"command": "cat made file"})
    assert (done["returncode"], done["output"]) == (0, "made\nof the image\n"), done
    folder = box.sandbox_dir
    assert (folder / "data/made").read_text() == "made\n"
    box.cleanup()
    assert not folder.exists(), folder


async def rex():
    from swerex.deployment.docker import DockerDeployment
    from swerex.runtime.abstract import BashAction, CreateBashSessionRequest
    flags = ["-e", f"PATH={sys.prefix}/bin:/usr/bin:/bin"]
    for folder in FOLDERS:
        flags += ["-v", f"{folder}:{folder}:ro"]
    box = DockerDeployment(image="host", pull="never", docker_args=flags, startup_timeout=PATIENCE)
    await box.start()
    try:
        await box.runtime.create_session(CreateBashSessionRequest())
        done = await box.runtime.run_in_session(
            BashAction(command="cd /tmp; pwd; (exit 3)", check="silent", timeout=PATIENCE))
    finally:
        await box.stop()
    assert (done.output, done.exit_code) == ("/tmp\n", 3), done


def swe_rex():
    logging.disable(logging.WARNING)
    asyncio.run(rex())


async def sample():
    from inspect_ai.util._sandbox.registry import registry_find_sandboxenv
    provider = registry_find_sandboxenv("hutch")
    made = await provider.sample_init("smoke", None, {})
    try:
        box = made["default"]
        await box.write_file("given.txt", "given")
        done = await box.exec(["sh", "-c", "pwd; cat given.txt; exit 3"])
        assert (done.returncode, done.stdout) == (3, "/workspace\ngiven"), done
    finally:
        await provider.sample_cleanup("smoke", None, made, False)


def inspect_ai():
    asyncio.run(sample())


def command_in(workspace):
    done = workspace.execute_command("echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n"), done


def openhands():
    from hutch.openhands import HutchWorkspace
    from openhands.workspace import DockerWorkspace
    with DockerWorkspace(server_image="server", detach_logs=False, health_check_timeout=PATIENCE) as box:
        command_in(box)
    here = pathlib.Path(__file__).parent
    with HutchWorkspace(server=["python3", "-SE", f"{here}/stand_in.py"], health_check_timeout=PATIENCE,
                        sandbox_flags={"volume": [f"{here}:{here}:ro"]}) as box:
        command_in(box)


def openhands_apptainer():
    """The file `server_1.sif` is made of an image of the store, and made once."""
    from openhands.workspace import ApptainerWorkspace
    for _ in range(2):
        with ApptainerWorkspace(server_image="server:1", detach_logs=False, cache_dir="cache",
                                health_check_timeout=PATIENCE) as box:
            command_in(box)
    assert os.listdir("cache") == ["server_1.sif"], os.listdir("cache")


@contextlib.contextmanager
def served():
    """hutch serve, and the variables by which E2B's SDK finds it."""
    server = subprocess.Popen([os.environ["HUTCH"], "serve", "--listen", "127.0.0.1:0", "--key-file", KEY],
                              stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        assert url, "hutch serve printed no address"
        key = pathlib.Path(KEY).read_text(encoding="utf-8").strip()
        os.environ.update(E2B_API_URL=url, E2B_SANDBOX_URL=url, E2B_API_KEY=key)
        yield
    finally:
        server.terminate()
        server.wait()


def e2b():
    with served():
        from e2b import CommandExitException, Sandbox
        box = Sandbox.create(timeout=600)
        try:
            box.files.write("/tmp/given.txt", "given")
            done = box.commands.run("cd /tmp; pwd; cat given.txt")
            assert (done.exit_code, done.stdout) == (0, "/tmp\ngiven"), done
            try:
                box.commands.run("exit 3")
            except CommandExitException as e:
                assert e.exit_code == 3, e
            else:
                raise AssertionError("exit 3 is no error")
        finally:
            assert box.kill()


async def called():
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    server = StdioServerParameters(command=os.environ["HUTCH"], args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as (receives, sends), ClientSession(receives, sends) as client:
        await client.initialize()
        done = await client.call_tool("exec", {"command": "cd /tmp; pwd; exit 3"})
        assert done.structuredContent["stdout"] == "/tmp\n" and done.structuredContent["exit_code"] == 3, done
        ended = await client.call_tool("sandbox_end", {})
        assert not ended.isError, ended


def mcp():
    asyncio.run(called())


gc.disable()  # half of the time goes into imports, which make much and free nothing
CLIENTS = (mini_swe_agent, mini_swe_agent_bwrap, mini_swe_agent_apptainer, swe_rex, inspect_ai, openhands,
           openhands_apptainer, e2b, mcp)
{one.__name__: one for one in CLIENTS}[sys.argv[1]]()
assert names() == "", names()
