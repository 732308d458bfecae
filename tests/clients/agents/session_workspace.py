"""session_workspace.py: a session with APIRemoteWorkspace of OpenHands V1's SDK, with hutch serve; prints TAP.

Needs openhands-workspace and openhands-agent-server in the Python that runs it, HUTCH, PATIENCE and IMAGE.  The
sandbox's main process is the stock agent-server of this Python's venv."""
import os
import pathlib
import sys

from session import BEGUN, BUILD, FILE, IS_LONG, LONG, PATIENCE, RIGHT, TEST, WRONG, Repository, Server, Session

from openhands.workspace import APIRemoteWorkspace


def connect(server, session_id):
    return APIRemoteWorkspace(
        runtime_api_url=server.url, runtime_api_key=server.key, server_image=os.environ["IMAGE"] + "-server",
        session_id=session_id, keep_alive=True, init_timeout=PATIENCE, startup_wait_timeout=PATIENCE)


def read(workspace):
    workspace.file_download(FILE, "got")
    return pathlib.Path("got").read_text(encoding="utf-8")


def edit(workspace):
    pathlib.Path("edited").write_text(read(workspace).replace(WRONG, RIGHT), encoding="utf-8")
    workspace.file_upload("edited", FILE)


def work(session, server, repository):
    workspace = connect(server, "session")

    def run(command):
        return workspace.execute_command(command).stdout
    session.cloned(run(repository.clone))
    session.wrong(run(TEST))
    edit(workspace)
    session.built(run(BUILD))
    session.tested(run(TEST))
    changed = [(str(one.path), one.status.value) for one in workspace.git_changes("/workspace/project")]
    session.say(changed == [("sums.py", "UPDATED")], "git's changes are told", changed)
    long = workspace.start_command(LONG, timeout=3600)
    run(BEGUN)
    workspace.stop_command(long)
    session.stopped(run(IS_LONG))
    workspace.start_command(LONG, timeout=3600)
    run(BEGUN)
    workspace.pause()
    state = server.runtime("session")
    session.say(state["status"] == "paused", "it is paused", state)
    workspace.resume()
    session.say(run(IS_LONG) == "there\n", "it goes on with its processes")
    server.restart()
    again = connect(server, "session")
    session.read(read(again))
    name, again.keep_alive = server.runtime("session")["runtime_id"], False
    session.say(name == state["runtime_id"], "the session has the same sandbox", name)
    again.cleanup()
    session.ended(name)


repository = Repository()
served = Server(*repository.options, "-v", f"{sys.prefix}:{sys.prefix}:ro", "-e", f"VENV={sys.prefix}")
Session("APIRemoteWorkspace").run(work, served, repository)
served.end()
