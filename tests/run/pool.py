#!/usr/bin/env -S python3 -SE
"""pool.py CODE: sends requests to the socket of the pool `p` (docs/control.md,
"Pools") that no verb sends."""
import array
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE, wait_until  # noqa: E402

HUTCH = os.environ.get("HUTCH") or os.path.realpath(
    os.path.dirname(__file__) + "/../../build/hutch")
STATE = os.environ["XDG_RUNTIME_DIR"] + "/hutch"


class Client:
    """A connection: its lines, and the descriptors that came with them."""

    def __init__(self, s):
        self.socket, self.rest, self.fds, self.id = s, b"", [], 0
        s.settimeout(PATIENCE)

    def send(self, method, **params):
        self.id += 1
        line = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.socket.sendall(json.dumps(line).encode() + b"\n")

    def receive(self):
        """Returns the next line; None at the end."""
        while b"\n" not in self.rest:
            try:
                more, ancillary, _, _ = self.socket.recvmsg(1, socket.CMSG_SPACE(4))
            except ConnectionResetError:
                return None
            if not more:
                return None
            for _, _, part in ancillary:
                self.fds += array.array("i", part)
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.send(method, **params)
        return self.receive()

    def close(self):
        self.socket.close()


def connect(hello=True, name="p"):
    s = socket.socket(socket.AF_UNIX)
    s.connect(f"{STATE}/.pools/{name}/pool.sock")
    c = Client(s)
    if hello:
        assert c.call("hello")["result"]["pool"] == name
    return c


def take(c, **params):
    """Takes a sandbox; returns its name, and a connection that holds the lease."""
    answer = c.call("take", **params)
    assert len(c.fds) == 1, answer
    return answer["result"]["sandbox"], Client(socket.socket(fileno=c.fds.pop()))


def kind(answer):
    return answer["error"]["data"]["kind"]


def live():
    return subprocess.run([HUTCH, "ps", "-aq"], check=True,
                          stdout=subprocess.PIPE).stdout.decode().split()


def pools():
    return subprocess.run([HUTCH, "pool", "ls", "-q"], check=True, stdout=subprocess.PIPE).stdout


def takers(count):
    names, lock = [], threading.Lock()

    def run():
        c = connect()
        name, box = take(c)
        assert box.call("hello")["result"]["name"] == name
        assert box.call("info")["result"]["lease"] == "held"
        with lock:
            names.append(name)
        box.close()
        c.close()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(names)) == len(names) == count, names


def patience():
    # After a take the next sandbox is still being made, so a take with a time-out of 0 fails; it
    # is repeated in case the next one was ready already.
    c = connect()
    name, box = take(c)
    pid = c.call("info")["result"]["pid"]
    answer = connect().call("take", timeout=0)
    while "result" in answer: # the next one was quick
        answer = connect().call("take", timeout=0)
    assert kind(answer) == "timeout" and "being made" in answer["error"]["message"], answer
    assert answer["error"]["data"]["remedy"], answer
    # When two takes wait, the first one is served first, and both are served.
    first, second = connect(), connect()
    first.send("take")
    assert c.call("info")["result"]["waiting"] in (0, 1)
    second.send("take")
    for waits in first, second:
        assert "sandbox" in waits.receive()["result"]
    # A time-out of a day and a second, a negative one, and a word are refused.
    for wrong in 86401, -1, "soon":
        assert c.call("take", timeout=wrong)["error"]["code"] == -32602
    os.kill(pid, 0)
    box.close()


def pipelined():
    # The client sends more requests at once than the keeper handles before it polls again, and no
    # other client wakes the keeper.
    c = connect()
    asked = 1000
    c.socket.sendall(b'{"jsonrpc":"2.0","id":2,"method":"info"}\n' * asked)
    for _ in range(asked):
        assert c.receive()["result"]["name"] == "p"


def leased():
    """Passes a descriptor of a socket, and one of a pipe."""
    for theirs, ours in [s.detach() for s in socket.socketpair()], os.pipe():
        words = [HUTCH, "pool", "create", "p", "--size", "2", "--lease", str(theirs)]
        subprocess.run(words, check=True, pass_fds=[theirs], stdout=subprocess.DEVNULL)
        os.close(theirs)
        os.write(ours, b"which is no end")
        name, box = take(connect())
        assert box.call("hello")["result"]["name"] == name
        os.close(ours)
        wait_until(lambda: not pools())
        # the list has ended sandboxes by their ids, so only the live one has a name of the pool
        wait_until(lambda: [n for n in live() if n.startswith("p-")] == [name])
        assert box.call("info")["result"]["lease"] == "held"
        box.close()


def hostile():
    lines = [b"\x00\xff\xfe\n", b"{}\n", b"[]\n", b"null\n",
             b'{"jsonrpc":"2.0","id":1,"method":"take"}\n',
             b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":2}}\n',
             b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"x":1}}\n', b'{"a":1,"a":2}\n',
             b"[" * 4000 + b"\n"]
    for line in lines:
        c = connect(hello=False)
        c.socket.sendall(line)
        assert "error" in c.receive(), line
        c.close()
    c = connect(hello=False)
    c.socket.sendall(b"x" * 4097 + b"\n")
    answer = c.receive()
    assert answer["error"]["code"] == -32600 and "4096" in answer["error"]["message"], answer
    assert c.receive() is None
    # A client sends a line that never ends.
    c = connect(hello=False)
    try:
        for _ in range(64):
            c.socket.send(b"x" * 65536)
    except OSError:
        pass
    # A pool refuses descriptors.
    c = connect()
    c.socket.sendmsg([b'{"jsonrpc":"2.0","id":2,"method":"info"}\n'],
                     [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    assert "no descriptors" in c.receive()["error"]["message"]
    assert c.receive() is None
    assert connect().call("act")["error"]["code"] == -32601
    # A client sends its hello one byte at a time; other clients are served meanwhile.
    slow, line = connect(hello=False), b'{"jsonrpc":"2.0","id":1,"method":"hello"}\n'
    for byte in line:
        slow.socket.sendall(bytes([byte]))
        assert connect().call("info")["result"]["name"] == "p"
    assert slow.receive()["result"]["protocol"] == 1
    # A client that sends requests and never reads the answers delays no other client.
    deaf = connect()
    deaf.socket.setblocking(False)
    try:
        while True:
            deaf.socket.send(b'{"jsonrpc":"2.0","id":2,"method":"info"}\n' * 64)
    except BlockingIOError:
        pass
    assert connect().call("info")["result"]["name"] == "p"
    # The keeper serves at most 256 clients at a time; others get an error.
    crowd = []
    answer = None
    while answer is None or "result" in answer:
        assert len(crowd) <= 256, len(crowd)
        crowd.append(connect(hello=False))
        with contextlib.suppress(BrokenPipeError): # one too many is told so, and let go, at once
            crowd[-1].send("hello")
        answer = crowd[-1].receive()
    assert kind(answer) == "limit" and "256" in answer["error"]["message"], answer
    for c in crowd + [slow, deaf]:
        c.close()


def lease():
    def make(name, *words):
        ours, theirs = socket.socketpair()
        subprocess.run([HUTCH, "create", "--lease", str(theirs.fileno()), *words, name], check=True,
                       pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL)
        theirs.close()
        return Client(ours)

    # If the lease is closed before hello, the sandbox ends and leaves nothing, not even a record.
    make("a").close()
    wait_until(lambda: live() == [])
    # Held, and closed.
    c = make("b")
    assert c.call("hello")["result"]["name"] == "b"
    assert subprocess.run([HUTCH, "exec", "b", "true"]).returncode == 0
    other = socket.socket(socket.AF_UNIX)
    other.connect(f"{STATE}/b/control.sock")
    other = Client(other)
    other.call("hello")
    assert kind(other.call("release")) == "invalid"
    c.close()
    wait_until(lambda: other.receive() is None)
    wait_until(lambda: b'"limit": "lease"' in subprocess.run([HUTCH, "inspect", "b"],
                                                             stdout=subprocess.PIPE).stdout)
    # If the client shuts down its side of the lease, the sandbox ends, and the client sees the
    # end of file only then.
    c = make("c")
    c.socket.shutdown(socket.SHUT_WR)
    assert c.receive() is None
    assert "c" not in live()
    # A release with a name that another sandbox has is refused and leaves the lease as it is;
    # after a release that succeeds the sandbox lives on.
    c, d = make("c"), make("d")
    c.call("hello")
    assert kind(c.call("release", name="d")) == "exists"
    assert c.call("info")["result"]["lease"] == "held"
    assert c.call("release", name="free")["result"] == {"name": "free"}
    assert kind(c.call("release")) == "invalid"
    c.close()
    d.close()
    assert subprocess.run([HUTCH, "exec", "free", "true"]).returncode == 0
    for wrong in "2", "77", "x", str(os.open("/dev/null", os.O_RDONLY)):
        r = subprocess.run([HUTCH, "create", "--lease", wrong, "e"], stderr=subprocess.PIPE,
                           close_fds=False)
        assert r.returncode == 125 and b"--lease" in r.stderr, (wrong, r)
    # One descriptor for both --lease and --json is refused: the first use would close it, and the
    # second might find another file under its number.
    for verb in ["create"], ["pool", "create"]:
        ours, theirs = socket.socketpair()
        words = [HUTCH, *verb, f"--lease={theirs.fileno()}", f"--json={theirs.fileno()}", "e"]
        r = subprocess.run(words, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()])
        assert r.returncode == 125 and b"a descriptor each" in r.stderr, r


def wide():
    """More answers than are sent at once, to a socket with room for all of them."""
    SO_SNDBUFFORCE = 32
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 32 << 20)
    subprocess.run([HUTCH, "create", "--lease", str(theirs.fileno()), "wide"], check=True,
                   pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL)
    theirs.close()
    c = Client(ours)
    c.call("hello")
    command = "head -c 4500000 /dev/zero | tr '\\0' x >file"
    answer = c.call("act", action={"action": "run", "args": {"command": command}})
    assert answer["result"]["observation"] == "run"
    # The same action is requested three times while it runs, so its answer is sent three times at
    # one moment.
    read = {"action": "read", "id": 7, "timestamp": "now", "args": {"path": "file"}}
    request = '{"jsonrpc":"2.0","id":%d,"method":"act","params":{"action":%s}}\n'
    ours.sendall("".join(request % (n, json.dumps(read)) for n in (11, 12, 13)).encode())
    got = b""
    while got.count(b"\n") < 3:
        got += ours.recv(1 << 20)
    assert [json.loads(line)["id"] for line in got.splitlines()] == [11, 12, 13]
    assert min(map(len, got.splitlines())) > 4500000
    c.close()


def unread():
    c = connect()
    c.send("take")
    # the answer has arrived, and the client has not read it
    wait_until(lambda: select.select([c.socket], [], [], 0)[0])
    c.close()


def untold():
    """A taker is killed while it waits for room to print the name that it has
    taken."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writes, bytes(4096))
    os.set_blocking(writes, True)
    taker = subprocess.Popen([HUTCH, "pool", "take", "--name", "box", "p"], stdout=writes)
    wait_until(lambda: "box" in live())
    taker.kill()
    taker.wait()
    os.close(reads)


def deaf_stdouts():
    """Sockets that cannot pass a descriptor."""
    listener = socket.create_server(("127.0.0.1", 0))
    for stdout in socket.create_connection(listener.getsockname()), socket.socket(socket.AF_UNIX):
        r = subprocess.run([HUTCH, "pool", "take", "-d", "p"], stdout=stdout,
                           stderr=subprocess.PIPE)
        assert r.returncode == 125 and b"must be a unix socket" in r.stderr, r
        assert connect().call("info")["result"]["taken"] == 0
    ours, theirs = socket.socketpair()
    subprocess.run([HUTCH, "pool", "take", "-d", "p"], stdout=theirs, check=True)
    assert connect().call("info")["result"]["taken"] == 1


def frozen():
    """The keeper is stopped while a take waits at a pool that has none left, or
    before the take."""
    keeper = connect()
    pid = keeper.call("info")["result"]["pid"]
    _, box = take(keeper)

    def begin(seconds):
        words = [HUTCH, "pool", "take", "--timeout", str(seconds), "p"]
        return subprocess.Popen(words, stderr=subprocess.PIPE)

    def check_end(process):
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 125 and b"pool 'p' does not answer" in said, said

    waits = begin(2)
    wait_until(lambda: keeper.call("info")["result"]["waiting"] == 1)
    os.kill(pid, signal.SIGSTOP)
    try:
        for process in begin(0), begin(1), waits: # the keeper never answers them
            check_end(process)
    finally:
        os.kill(pid, signal.SIGCONT)
    box.close()


def pulls():
    """Checks what the keeper sees of a maker (supervisor/pool/pool_spawn.h) whose image
    never arrives."""
    registry = socket.create_server(("127.0.0.1", 0))
    registry.settimeout(PATIENCE)
    ours, theirs = socket.socketpair()
    reads, held = os.pipe()
    words = ["--lease", str(theirs.fileno()), "--image",
             "127.0.0.1:%d/x:1" % registry.getsockname()[1], "a"]
    maker = subprocess.Popen([HUTCH, "create", *words], pass_fds=[theirs.fileno(), held],
                             start_new_session=True)
    try:
        theirs.close()
        os.close(held)
        connection, _ = registry.accept()
        assert select.select([reads], [], [], PATIENCE)[0] and os.read(reads, 1) == b""
        assert maker.poll() is None
        connection.close()
    finally:
        os.killpg(maker.pid, signal.SIGKILL)
        maker.wait()
    ours.close()


if __name__ == "__main__":
    exec(sys.argv[1]) # what the test asks for
