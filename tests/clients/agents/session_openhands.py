"""session_openhands.py: a session with stock OpenHands 0.62.0 and its RemoteRuntime, with hutch serve; prints TAP.

Needs openhands-ai of that version in the Python that runs it, HUTCH and PATIENCE."""
from openhands.core.config import OpenHandsConfig
from openhands.events import EventStream
from openhands.events.action import CmdRunAction, FileEditAction, FileReadAction
from openhands.llm.llm_registry import LLMRegistry
from openhands.runtime import get_runtime_cls
from openhands.storage import get_file_store
from openhands.utils.async_utils import call_async_from_sync
from session import BEGUN, BUILD, FILE, IS_LONG, LONG, LONG_ALONE, RIGHT, TEST, WRONG, Repository, Server, Session


def connect(server, attach=False, keep=True):
    """A runtime of the one session; with `keep`, the client pauses the sandbox when it closes."""
    config = OpenHandsConfig(runtime="remote", file_store="memory", enable_browser=False,
                             workspace_mount_path_in_sandbox="/workspace")
    config.sandbox.api_key = server.key
    config.sandbox.remote_runtime_api_url = server.url
    config.sandbox.runtime_container_image = "host"
    # A command is told to be under way when it has printed nothing for so many seconds.
    config.sandbox.runtime_startup_env_vars = {"NO_CHANGE_TIMEOUT_SECONDS": "1"}
    config.sandbox.keep_runtime_alive = config.sandbox.pause_closed_runtimes = keep
    runtime = get_runtime_cls(config.runtime)(
        config=config, event_stream=EventStream("session", get_file_store("memory", "")),
        llm_registry=LLMRegistry(config=config), sid="session", plugins=[], attach_to_existing=attach,
        headless_mode=True)
    call_async_from_sync(runtime.connect)
    return runtime


def work(session, server, repository):
    runtime = connect(server)

    def run(command, **more):
        return runtime.run_action(CmdRunAction(command=command, **more))
    session.cloned(run(repository.clone).content)
    session.wrong(run(TEST).content)
    runtime.run_action(FileEditAction(path=FILE, command="str_replace", old_str=WRONG, new_str=RIGHT))
    session.built(run(BUILD).content)
    session.tested(run(TEST).content)
    o = run(LONG_ALONE)
    session.say(o.exit_code == -1, "a long command is told to be under way", o)
    o = run("C-c", is_input=True)
    session.say(o.exit_code == 130, "the long command ends by its signal", o)
    session.stopped(run(IS_LONG).content)
    run(f"{LONG} & {BEGUN}")
    runtime.close()
    state = server.runtime("session")
    session.say(state["status"] == "paused", "it is paused", state)
    runtime = connect(server, attach=True)
    o = run(IS_LONG)
    session.say(o.content.strip().endswith("there"), "it goes on with its processes", o)
    server.restart()
    again = connect(server, keep=False)
    session.read(again.run_action(FileReadAction(path=FILE)).content)
    again.close()
    session.ended(again.runtime_id)


repository = Repository()
served = Server(*repository.options)
Session("OpenHands 0.62").run(work, served, repository)
served.end()
