"""session_e2b.py: a session with E2B's SDK for Python, its code interpreter, and its SDK for JavaScript, with
hutch serve; prints TAP.

Needs e2b and e2b-code-interpreter in the Python that runs it, HUTCH, PATIENCE, and $NODE with the packages of
$MODULES.  E2B's clients find the server by their environment alone."""
import os
import pathlib
import subprocess

from session import (BEGUN, BUILD, EDITED, FILE, IS_LONG, LONG, RIGHT, TEST, WRONG, Repository, Server, Session)

from e2b import CommandExitException, Sandbox, SandboxQuery, SandboxState, TimeoutException
from e2b_code_interpreter import Sandbox as Interpreter


def begin(sandbox, session, repository):
    """Clones, edits, builds and tests."""
    def run(command):
        return sandbox.commands.run(command).stdout
    session.cloned(run(repository.clone))
    session.wrong(run(TEST))
    sandbox.files.write(FILE, sandbox.files.read(FILE).replace(WRONG, RIGHT))
    session.built(run(BUILD))
    session.tested(run(TEST))


def pause_and_go_on(kind, sandbox, session):
    """Returns the client of the sandbox that goes on; its process did not end."""
    sandbox.commands.run(LONG, background=True)
    sandbox.commands.run(BEGUN)
    sandbox.pause()
    paused = Sandbox.list(query=SandboxQuery(state=[SandboxState.PAUSED])).next_items()
    session.say([one.sandbox_id for one in paused] == [sandbox.sandbox_id], "it is paused", paused)
    again = kind.connect(sandbox.sandbox_id)
    there = again.commands.run(IS_LONG).stdout
    session.say(there == "there\n", "it goes on with its processes", there)
    return again


def commands(session, server, repository):
    sandbox = Sandbox.create(timeout=3600)
    begin(sandbox, session, repository)
    long = sandbox.commands.run(LONG, background=True)
    sandbox.commands.run(BEGUN)
    long.kill()
    try:
        long.wait()
    except CommandExitException:
        session.stopped(sandbox.commands.run(IS_LONG).stdout)
    sandbox = pause_and_go_on(Sandbox, sandbox, session)
    server.restart()
    again = Sandbox.connect(sandbox.sandbox_id)
    session.read(again.files.read(FILE))
    session.say(again.kill() and not again.is_running(), "it is ended")
    session.ended(sandbox.sandbox_id)


def cells(session, server, repository):
    sandbox = Interpreter.create(timeout=3600)
    begin(sandbox, session, repository)
    ran = sandbox.run_code("import sys\nsys.path.append('/workspace/project')\nimport sums\nx = sums.add(1, 2)\nx")
    session.say(ran.text == "3", "a cell uses the edited file", ran)
    try:
        sandbox.run_code("while True: pass", timeout=1)
    except TimeoutException:
        session.say(sandbox.run_code("x").text == "3", "a long cell is stopped, and its kernel goes on")
    sandbox = pause_and_go_on(Interpreter, sandbox, session)
    server.restart()
    again = Interpreter.connect(sandbox.sandbox_id)
    session.read(again.files.read(FILE))
    ran = again.run_code("x + 1")
    session.say(ran.text == "4", "the kernel has its variables when the server was killed", ran)
    session.say(again.kill() and not again.is_running(), "it is ended")
    session.ended(sandbox.sandbox_id)


def javascript(session, server, repository):
    """The program asks by a line for the server to be killed, and goes on when a line comes back."""
    words = dict(CLONE=repository.clone, TEST=TEST, BUILD=BUILD, LONG=LONG, BEGUN=BEGUN, IS_LONG=IS_LONG, FILE=FILE,
                 WRONG=WRONG, RIGHT=RIGHT, EDITED=EDITED)
    program = subprocess.Popen([os.environ["NODE"], pathlib.Path(__file__).with_suffix(".mjs")], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **words})
    name = ""
    for line in program.stdout:
        word, _, rest = line.partition(" ")
        if word == "restart":
            name = rest.strip()
            server.restart()
            print(file=program.stdin, flush=True)
        else:
            print(line, end="", flush=True)
    session.say(program.wait() == 0 and name != "", "the program has no errors", program.returncode)
    session.ended(name)


def main():
    repository = Repository()
    server = Server(*repository.options)
    os.environ.update(E2B_API_URL=server.url, E2B_SANDBOX_URL=server.url, E2B_API_KEY=server.key)
    for client, function in (("E2B's SDK for Python", commands), ("E2B's code interpreter for Python", cells),
                             ("E2B's SDK for JavaScript", javascript)):
        Session(client).run(function, server, repository)
    server.end()


main()
