"""session_inspector.py: a session with the command line of MCP's inspector and hutch mcp; prints TAP.

Needs HUTCH, PATIENCE, and the inspector as $INSPECTOR, whose node is on PATH.  Each command starts a server, calls
one tool and ends it, so the sandbox outlives its server after each call, and no server is there to be killed.  There
is no pause."""
import json
import os
import subprocess
import sys

from session import BEGUN, BUILD, FILE, HUTCH, IS_LONG, LONG, RIGHT, TEST, WRONG, Repository, Session


def work(session, repository):
    # The inspector gives a server few of its variables.
    kept = [word for name in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME")
            for word in ("-e", f"{name}={os.environ[name]}")]

    def call(tool, **words):
        given = [word for name, value in words.items() for word in ("--tool-arg", f"{name}={value}")]
        done = subprocess.run([os.environ["INSPECTOR"], "--cli", *kept, HUTCH, "mcp", *repository.options, "--method",
                               "tools/call", "--tool-name", tool, *given],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert done.returncode == 0, done
        return json.loads(done.stdout)["structuredContent"]

    def run(command):
        return call("exec", command=command)["stdout"]
    session.cloned(run(repository.clone))
    session.wrong(run(TEST))
    call("edit_file", path=FILE, old_str=WRONG, new_str=RIGHT)
    session.built(run(BUILD))
    session.tested(run(TEST))
    long = call("exec", command=LONG, background=True)["exec_id"]
    run(BEGUN)
    call("exec_kill", exec_id=long)
    session.stopped(run(IS_LONG))
    session.read(call("read_file", path=FILE)["content"], "ended")
    session.ended(call("sandbox_end")["sandbox_id"])


Session("MCP's inspector").run(work, Repository())
sys.stdout.flush()
