"""session_mcp.py: a session with MCP's client for Python, and its client for JavaScript, with hutch mcp; prints TAP.

Needs mcp in the Python that runs it, HUTCH, PATIENCE, and node, with the packages of $MODULES.  The protocol has
no call that pauses a sandbox, so no session does.  A client starts its server itself, so the killed server's
successor comes with the next client, which finds the same sandbox."""
import asyncio
import os
import pathlib
import signal
import subprocess
import sys

from session import BEGUN, BUILD, EDITED, FILE, HUTCH, IS_LONG, LONG, RIGHT, TEST, WRONG, Repository, Session

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


def children():
    return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()


async def tools(client):
    """A function that calls a tool, whose result is an object."""
    async def call(tool, **arguments):
        done = await client.call_tool(tool, arguments)
        assert not done.is_error, done
        return done.structured_content
    return call


async def work(session, client, repository):
    call = await tools(client)

    async def run(command):
        return (await call("exec", command=command))["stdout"]
    session.cloned(await run(repository.clone))
    session.wrong(await run(TEST))
    await call("edit_file", path=FILE, old_str=WRONG, new_str=RIGHT)
    session.built(await run(BUILD))
    session.tested(await run(TEST))
    long = (await call("exec", command=LONG, background=True))["exec_id"]
    await run(BEGUN)
    await call("exec_kill", exec_id=long, signal="INT")
    ended = await call("exec_output", exec_id=long, wait=float(os.environ["PATIENCE"]))
    session.stopped(await run(IS_LONG))
    session.say(ended["exit_code"] == 130, "the stopped command tells its signal", ended)


async def again(session, client):
    call = await tools(client)
    session.read((await call("read_file", path=FILE))["content"])
    return (await call("sandbox_end"))["sandbox_id"]


async def talk(session, mode, repository):
    server = StdioServerParameters(command=HUTCH, args=["mcp", *repository.options], env=dict(os.environ))
    before, is_killed = set(children()), False
    try:
        async with Client(stdio_client(server), mode=mode) as client:
            await work(session, client, repository)
            is_killed = True
            for pid in set(children()) - before:
                os.kill(int(pid), signal.SIGKILL)
    except Exception:
        if not is_killed:  # else the client may complain about its server's end
            raise
    async with Client(stdio_client(server), mode=mode) as client:
        name = await again(session, client)
    session.ended(name)


def python(session, mode, repository):
    asyncio.run(talk(session, mode, repository))


def javascript(session, repository):
    words = dict(OPTIONS="\n".join(repository.options), CLONE=repository.clone, TEST=TEST, BUILD=BUILD, LONG=LONG,
                 BEGUN=BEGUN, IS_LONG=IS_LONG, FILE=FILE, WRONG=WRONG, RIGHT=RIGHT, EDITED=EDITED)
    done = subprocess.run(["node", f"{os.environ['MODULES']}/session_mcp.mjs"], env={**os.environ, **words},
                          stdout=subprocess.PIPE, text=True)
    told, _, name = done.stdout.partition("sandbox ")
    print(told, end="", flush=True)
    session.say(done.returncode == 0, "the program has no errors", done)
    session.ended(name.strip())


def main():
    repository = Repository()
    for mode in "auto", "legacy":
        Session(f"MCP's client for Python, {mode}").run(python, mode, repository)
    Session("MCP's client for JavaScript").run(javascript, repository)
    sys.stdout.flush()


main()
