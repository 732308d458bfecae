"""openhands_conversation.py: stock openhands-sdk and its agent-server with hutch.openhands; prints TAP.

Needs the packages openhands-sdk, -tools and -agent-server in the Python that runs it, tmux and git
on the host, and HUTCH.  The model is a script of model.py on this host, which the agent inside
reaches by the rule @host:PORT.  The folder to work in is the one that it is started in."""
import contextlib
import os
import subprocess
import sys
import traceback
import warnings

from model import Model
from talk import LINE, SCRIPT, project, say, talk_in

import hutch
from hutch.openhands import HutchPool, HutchWorkspace

warnings.simplefilter("ignore", DeprecationWarning)
GIVEN = {"health_check_timeout": float(os.environ["PATIENCE"])}


def conversation():
    folder = project("conversation")
    with Model(SCRIPT) as model, HutchWorkspace(
            workspace=f"{folder}:cow", allow=[f"@host:{model.port}"], **GIVEN) as workspace:
        talk = talk_in(workspace, model, "openhands")
        say("agent" in model.results()[1], "openhands: it is an ordinary user inside", model.results())
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


def pool():
    with HutchPool(1, env={"FROM": "pool"}, **GIVEN) as ready:
        with ready.take(env={"WORD": "said"}) as first:
            seen = first.execute_command("echo $FROM $WORD").stdout
            say(seen == "pool said\n", "openhands: a pool's server gets its variables when it is taken", seen)
        waits = ready._waiting[0].result().sandbox.name
        subprocess.run([os.environ["HUTCH"], "kill", waits], check=True, stdout=subprocess.DEVNULL)
        with ready.take() as second:
            seen = second.execute_command("echo $FROM $WORD").stdout
            say(second.sandbox.name != waits and seen == "pool\n",
                "openhands: what has ended in a pool is not handed out", seen)
    say(ps().strip() == "[]", "openhands: nothing of a pool is left", ps())


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


for part in (errors, commands, conversation, pool, *([images] if os.environ.get("IMAGE") else [])):
    with contextlib.suppress(SystemExit):
        try:
            part()
        except Exception:
            say(False, f"openhands: {part.__name__}", traceback.format_exc())
sys.stdout.flush()
