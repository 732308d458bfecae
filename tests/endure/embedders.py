"""Actions of programs that embed sandboxes: ports that lead inside, and the SDK
for Python."""
import asyncio
import contextlib
import os
import sys

import pace
from peers import Peer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../sdk/python"))
import hutch  # noqa: E402

# A server inside the sandbox that sends back twice all that a client sent, for a given
# number of clients.
SERVER = """
import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=32)
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    c = s.accept()[0]
    all_ = b""
    while data := c.recv(1 << 16):
        all_ += data
    c.sendall(all_ + all_)
    c.close()
"""


# --- ports ---------------------------------------------------------------------------


async def through_port(v):
    """Each client gets its bytes back completely, or a reset."""
    guest, clients = v.dice.randrange(2000, 60000), v.dice.randrange(1, 5)
    async with await Peer.connect(v.box) as peer:
        server = await peer.start(["/usr/bin/python3", "-SEc", SERVER, str(guest), str(clients)])
        await v.soak.until(lambda: peer.outputs[server, "stdout"] or peer.exit_of(server).done(),
                           "a server to listen", v.box)
        if not peer.outputs[server, "stdout"] and not v.look.may("ending", "gone"):
            return  # somebody else has that port
        added = await v.hutch("port", "add", v.box.name, f"auto:{guest}")
        if not v.judge(added, added.code == 0):
            return
        host = added.out.decode().strip()
        try:
            await asyncio.gather(*(converse(v, host) for _ in range(clients)))
        finally:
            await unpublish(v, host)


async def unpublish(v, host):
    """The sandbox may have been renamed meanwhile; if it ends, its ports end
    with it."""
    while not v.look.may("ending", "gone"):
        removed = await v.hutch("port", "rm", v.box.name, host)
        if removed.code == 0:
            return
        if not ("is not published" in removed.err and v.may_be_other):
            v.judge(removed, False)
        await pace.pause(0.05)


async def converse(v, host):
    address, _, port = host.rpartition(":")
    said = v.dice.randbytes(v.dice.choice([1, 100, 5000, 200000, 1500000]))
    got = b""
    try:
        reader, writer = await asyncio.open_connection(address, int(port))
    except OSError as e:
        return v.look.may("ending", "gone") or v.broken(f"{host} is not to be reached: {e}")
    try:
        writer.write(said)
        writer.write_eof()
        got = await v.soak.patiently(reader.read(), f"an answer from {host}", v.box)
    except OSError as e:
        if not v.may_be_other:
            v.broken(f"a connection to {host} broke: {e!r}")
        return
    finally:
        writer.transport.abort()
    # A killed server may look like an orderly end: the kernel closes the connections of
    # a process that is killed.
    if got != said * 2 and not v.look.may("ending", "gone"):
        v.broken(f"{host} said {len(got)} bytes to {len(said)}")


# --- the SDK -------------------------------------------------------------------------


def program(soak):
    return ["env", f"XDG_RUNTIME_DIR={soak.folder}/runtime", f"HOME={soak.folder}/home", soak.program]


@contextlib.contextmanager
def excused(v):
    """Catches errors of a call that other clients' actions can explain."""
    try:
        yield
    except hutch.HutchError as e:
        may_end = v.look.may("ending", "gone")
        if not (v.excuses(str(e)) or (may_end and isinstance(e, hutch.DisconnectedError))):
            v.broken(f"the SDK is told {type(e).__name__} ({e.kind}): {e}")


async def by_asyncio(v):
    with excused(v):
        box = await hutch.AsyncSandbox.attach(v.box.name, program=program(v.soak))
        async with box:
            if box.id != v.box.id and not v.may_be_other:
                v.broken(f"the SDK found {box.id}")
            if box.id == v.box.id:
                await asyncio.gather(*(ask(v, box) for _ in range(v.dice.randrange(1, 4))))


async def ask(v, box):
    what = v.dice.randrange(4)
    if what == 0:
        seen = await box.run(f"echo {v.tag}", session=f"sdk{v.dice.randrange(3)}")  # 64 are all that it has
        right = seen.content == v.tag and seen.exit_code == 0
    elif what == 1:
        data = v.dice.randbytes(v.dice.choice([0, 9, 70000]))
        done = await box.exec(["cat"], input=data)
        right, seen = done.stdout == data and done.exit_code == 0, done
    elif what == 2:
        path = f"/tmp/{v.tag}-{v.dice.randrange(1 << 32)}"
        await box.write_bytes(path, v.tag.encode())
        seen = await box.read_bytes(path)
        right = seen == v.tag.encode()
    else:
        seen = await box.info()
        right = seen.id == v.box.id
    if not right and not v.look.may("ending", "gone"):
        v.broken(f"the SDK got {str(seen)[:500]}")


async def by_threads(v):
    """Makes, uses and ends a sandbox by the blocking SDK."""
    with excused(v):
        seen = await v.soak.patiently(asyncio.to_thread(whole_life, v.soak, v.tag), "a life by the SDK", v.box)
        if seen != [v.tag, v.tag.encode(), 3, "stopped"]:
            v.broken(f"the SDK got {seen}")


def whole_life(soak, tag):
    with hutch.Sandbox(program=program(soak)) as box:
        seen = [box.run(f"echo {tag}").content, box.exec(["cat"], input=tag.encode()).stdout]
        with box.popen(["sh", "-c", "read code; exit $code"], stdin=True) as process:
            process.stdin.write(b"3\n")
            seen.append(process.wait().exit_code)
    return [*seen, box.end().reason]
