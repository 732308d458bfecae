#!/usr/bin/env -S python3 -SE
"""control_hostile.py CASE SOCKET: one hostile client, or many.

CASE is a function below.  Each ends with look(): a well-behaved client is
answered, its process runs, and the supervisor holds about as much memory, and
as many descriptors, as before.  The exit code is 0, or an assertion fails on
stderr.  The case warm_up comes before all others, once for a supervisor.  ROUNDS (40) is the
number of clients that are killed during a request, VISITS (2000) that of connections that come and
go, SIGNALS (5) that of thousands of signals, and LINE_MIB (256) is the size of the longest line.
"""
import array
import contextlib
import json
import os
import pathlib
import resource
import select
import signal
import socket
import sys

from at_rest import is_at_rest
from shadows import has_shadows

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE, wait_until  # noqa: E402

SOCKET, PID = sys.argv[2], 0
MIB = 1 << 20
ROUNDS = int(os.environ.get("ROUNDS", "40"))
VISITS = int(os.environ.get("VISITS", "2000"))
SIGNALS = int(os.environ.get("SIGNALS", "5"))
LINE_MIB = int(os.environ.get("LINE_MIB", "256"))
KINDS = {"not_found", "exists", "busy", "invalid", "refused", "unsupported", "timeout",
         "disconnected", "limit", "no_space", "internal"}


class Gone(Exception):
    pass


class Client:
    def __init__(self, hello=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(SOCKET)  # without a time-out it waits for a place
        self.socket.settimeout(PATIENCE)
        self.buffer, self.number, self.notes = b"", 0, []
        if hello:
            self.ok("hello", {"protocol": 1})

    def raw(self, data, fds=()):
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.socket.sendmsg([data], passed)
        if sent < len(data):
            self.socket.sendall(data[sent:])

    def send(self, method, params=None, fds=()):
        self.number += 1
        self.raw(request(self.number, method, params), fds)
        return self.number

    def line(self):
        while b"\n" not in self.buffer:
            try:
                more = self.socket.recv(1 << 20)
            except (ConnectionResetError, BrokenPipeError):
                more = b""
            if not more:
                raise Gone()
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return check(json.loads(line.decode()))

    def answer(self, number):
        for message in self.notes:
            if message.get("id") == number:
                self.notes.remove(message)
                return message
        while True:
            message = self.line()
            if message.get("id") == number:
                return message
            self.notes.append(message)

    def call(self, method, params=None, fds=()):
        return self.answer(self.send(method, params, fds))

    def ok(self, method, params=None, fds=()):
        answer = self.call(method, params, fds)
        assert "result" in answer, (method, answer)
        return answer["result"]

    def fails(self, code, kind, method, params=None, fds=()):
        return expect(self.call(method, params, fds), code, kind)

    def run(self, *argv, **more):
        return self.ok("exec.start", {"argv": list(argv), **more})["process"]

    def wait(self, process):
        return self.ok("exec.wait", {"process": process})

    def act(self, number=None, **action):
        params = {"action": action}
        return self.call("act", params)

    def close(self):
        self.socket.close()

    def is_closed(self):
        try:
            while True:
                self.line()
        except Gone:
            return True


def request(number, method, params=None):
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


def check(message):
    """Checks that an error has the form of docs/control.md."""
    assert message["jsonrpc"] == "2.0", message
    if "method" in message:
        assert set(message) == {"jsonrpc", "method", "params"}, message
    elif "error" in message:
        error = message["error"]
        assert set(message) == {"jsonrpc", "id", "error"}, message
        assert error["code"] in (-32700, -32600, -32601, -32602, -32000), message
        assert error["message"] and error["data"]["kind"] in KINDS, message
        assert "remedy" in error["data"], message
    else:
        assert set(message) == {"jsonrpc", "id", "result"}, message
    return message


def expect(answer, code, kind):
    assert "error" in answer, answer
    got = answer["error"]
    assert got["code"] == code and (kind is None or got["data"]["kind"] == kind), answer
    return answer


def status(key, pid=None):
    with open(f"/proc/{pid or PID}/status") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * (1024 if line.endswith("kB\n") else 1)
    raise KeyError(key)


def is_sanitized():
    return has_shadows(PID)


def busy_seconds(pid=None):
    """Processor time of a process, which other load does not change."""
    with open(f"/proc/{pid or PID}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def is_below(key, most):
    assert is_sanitized() or status(key) < most, f"{key}: {status(key)}, not below {most}"


def place_of(fd):
    try:
        return os.readlink(fd.path)
    except FileNotFoundError:  # closed just now
        return ""


def open_files():
    """Counts descriptors, except for the supervisor's log, which is opened at
    its first message."""
    folder = f"/proc/{PID}/fd"
    try:
        return sum("/log" not in place for place in map(place_of, os.scandir(folder)))
    except PermissionError:  # it was root's once; an ordinary user's is looked at
        return 0


class Before:
    """State of the supervisor before a case, to compare with afterwards."""

    def __init__(self):
        self.memory, self.files = status("RssAnon"), open_files()

    def look(self, spare=2 * MIB):
        client = Client()
        assert client.wait(client.run("/bin/true"))["exit_code"] == 0
        client.close()
        wait_until(self.has_the_descriptors_of, self.files)
        wait_until(self.has_the_memory_of, self.memory + spare)

    @staticmethod
    def has_the_descriptors_of(most):
        return open_files() <= most

    @staticmethod
    def has_the_memory_of(most):
        return is_sanitized() or status("RssAnon") <= most


def warm_up():
    """Fills the stores of 1024 events and 256 processes, and opens the log."""
    client = Client()
    client.wait(client.run("cat", "/etc/hosts"))
    for _ in range(6):
        for _ in range(100):
            client.send("exec.start", {"argv": ["/bin/true"]})
        last = [client.answer(client.number - 99 + i) for i in range(100)]
        for answer in last:
            if "error" in answer:
                expect(answer, -32000, "limit")
            else:
                client.wait(answer["result"]["process"])
    client.close()


def pipe():
    return os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)


# --- lines -------------------------------------------------------------------------

BAD_LINES = [
    (b"\x00\xff\xfe garbage", -32700),
    (b"{", -32700),
    (b"GET / HTTP/1.1", -32700),
    (b"{}{}", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"info\xc3"}', -32700),
    (b"[" * 100 + b"]" * 100, -32700),
    (b"[" * 10_000_000, -32700),
    (b"[" + b"0," * 300_000 + b"0]", -32700),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"info"}', -32700),
    (b'{"jsonrpc":"2.0","id":1e999,"method":"info"}', -32700),
    (b"[]", -32600),
    (b"null", -32600),
    (b'"info"', -32600),
    (b"17", -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"info"}]', -32600),
    (b"{}", -32600),
    (b'{"jsonrpc":"2.0","method":"info"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"info"}', -32600),
    (b'{"jsonrpc":"2.0","id":-1,"method":"info"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"info"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"info"}', -32600),
    (b'{"jsonrpc":"2.0","id":[1],"method":"info"}', -32600),
    (b'{"jsonrpc":"2.0","id":"' + b"x" * 65 + b'","method":"info"}', -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"info"}', -32600),
    (b'{"id":1,"method":"info"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"info","more":1}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"info","params":[]}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"info","params":{"x":1}}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"' + "é".encode() * 10_000 + b'"}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"a' + "é".encode() * 10_000 + b'"}', -32601),
]


def garbage():
    before = Before()
    client = Client()
    for line, code in BAD_LINES:
        client.raw(line + b"\n")
        answer = client.line()
        expect(answer, code, None)
        if code in (-32601, -32602):
            assert answer["id"] == 1, answer
    assert client.ok("info")["state"] == "ready"
    client.close()
    for line, code in BAD_LINES:
        client = Client(hello=False)
        client.raw(line + b"\n")
        assert client.line()["error"]["code"] in (code, -32600)
        client.close()
    before.look()


def before_hello():
    before = Before()
    client = Client(hello=False)
    for method in ("info", "kill", "stop", "exec.start", "act.stream"):
        client.fails(-32600, "invalid", method)
    client.ok("hello")
    client.ok("hello", {"protocol": 1})
    client.ok("info")
    client.close()
    for version in (0, 2, 1 << 31):
        client = Client(hello=False)
        client.fails(-32000, "unsupported", "hello", {"protocol": version})
        assert client.is_closed()
    client = Client(hello=False)
    client.fails(-32602, None, "hello", {"protocol": "1"})
    client.fails(-32602, None, "hello", {"protocol": -1})
    client.ok("hello")
    client.close()
    before.look()


def half_a_line():
    before = Before()
    whole = request(1, "info")
    for end in (1, 10, len(whole) - 2):
        for times in range(20):
            client = Client(hello=times % 2 == 0)
            client.raw(whole[:end], fds=[0] * (times % 4))
            client.close()
    before.look()


def long_line():
    """Sends one line, which is dropped as it comes."""
    before = Before()
    other = Client()
    client = Client()
    peak = status("VmHWM")
    part = b"x" * (4 * MIB)
    for i in range(LINE_MIB // 4):
        client.raw(part)
        if i % 32 == 0:
            assert other.ok("info")["state"] == "ready"
    client.raw(b"\n")
    expect(client.line(), -32600, "limit")
    client.ok("info")
    is_below("VmHWM", peak + 80 * MIB)
    client.close()
    other.close()
    before.look()


def large_requests():
    """Requests of the largest size are refused or done, and the next one is
    answered."""
    before = Before()
    client = Client()
    large = "x" * (31 * MIB)
    client.fails(-32000, "limit", "exec.start", {"argv": ["/bin/true", large]})
    client.fails(-32000, "limit", "exec.start", {"argv": ["/bin/true", "x" * (7 * MIB)]})
    client.fails(-32000, "limit", "exec.start", {"argv": ["/bin/true"] + ["x" * 20] * 260_000})
    client.fails(-32000, None, "exec.start", {"argv": [large]})
    client.fails(-32000, None, "exec.start", {"argv": ["/bin/true"], "cwd": "/" + large})
    many = {f"V{i}": "x" for i in range(130_000)}
    both = PID, client.ok("info")["pid"]
    begun = sum(map(busy_seconds, both))
    client.call("exec.start", {"argv": ["/bin/true"], "env": many})
    cost = sum(map(busy_seconds, both)) - begun
    assert cost < 10, f"variables cost a square: {cost} s"
    client.fails(-32602, None, "exec.start", {"argv": ["/bin/true"], "user": large})
    client.fails(-32000, None, "rename", {"name": large})
    client.call("act", {"action": {"action": "run", "args": {"command": "true " + large}}})
    client.call("act",
                {"action": {"action": "write", "args": {"path": "/tmp/x", "content": large}}})
    client.call("act", {"action": {"action": "read", "args": {"path": "/" + large}}})
    client.call("act", {"action": {"action": large}})
    assert client.ok("info")["state"] == "ready"
    client.close()
    before.look()


# --- requests -------------------------------------------------------------------

def thousand_at_once():
    before = Before()
    client = Client()
    count = 1000
    lines = [request(i, "exec.start" if i % 3 == 0 else "info",
                     {"argv": ["/bin/true"]} if i % 3 == 0 else None) for i in range(count)]
    feeder = os.fork()
    if feeder == 0:
        client.raw(b"".join(lines))
        os._exit(0)
    answers = {}
    while len(answers) < count:
        message = client.line()
        if "id" not in message:
            continue  # that one of its own processes has ended
        assert message["id"] not in answers, message
        answers[message["id"]] = message
    os.waitpid(feeder, 0)
    # The scheduler decides how many of these processes run at once, and so how many need
    # descriptors at the same time.
    for number, answer in answers.items():
        if number % 3 == 0 and "error" in answer:
            expect(answer, -32000, "limit")
        else:
            assert "result" in answer, answer
    client.close()
    before.look()


def does_not_read():
    before = Before()
    peak = status("VmHWM")
    clients = [Client() for _ in range(10)]
    lines = request(1, "exec.list") * 200
    for client in clients:
        client.socket.setblocking(False)
        client.ok_until_full = 0
        try:
            while client.ok_until_full < 100 * MIB:
                client.ok_until_full += client.socket.send(lines)
        except BlockingIOError:
            pass
    # The supervisor serves each client for 2 ms in turn, however much that client has asked for,
    # so another client is answered after a turn or two.  Without that bound it would wait here
    # for a second or more.
    other = Client(hello=False)
    for i in range(50):
        busy = busy_seconds()
        other.ok("info" if i else "hello", None if i else {"protocol": 1})
        assert busy_seconds() - busy < (1 if is_sanitized() else 0.3), (i, busy_seconds() - busy)
    # The supervisor has buffered up to the limit for each client, and no more.
    wait_until(is_at_rest, PID)
    is_below("VmHWM", peak + 10 * 12 * MIB)
    for client in clients + [other]:
        client.close()
    before.look()


def does_not_read_files():
    """The same with answers of many MiB each."""
    before = Before()
    client = Client()
    client.act(action="run", args={"command": "head -c 9000000 /dev/urandom >/tmp/f.png"})
    peak = status("VmHWM")
    clients = [Client() for _ in range(4)]
    for one in clients:
        for i in range(12):
            one.send("act", {"action": {"action": "read", "args": {"path": "/tmp/f.png"},
                                        "session": f"s{i}"}})
    wait_until(is_at_rest, PID)
    is_below("VmHWM", peak + 600 * MIB)
    for one in clients + [client]:
        one.close()
    before.look(spare=16 * MIB)  # the answers that are kept


def next_of(clients):
    """Returns the next message that one of the clients gets."""
    ready = [client for client in clients if b"\n" in client.buffer]
    if not ready:
        sockets, _, _ = select.select([client.socket for client in clients], [], [], PATIENCE)
        assert sockets, "no client gets an answer"
        ready = [client for client in clients if client.socket in sockets]
    return ready[0].line()


def full_desk():
    """Waiting actions do not delay other requests."""
    before = Before()
    clients = [Client() for _ in range(5)]
    for n, client in enumerate(clients):
        for i in range(256):
            client.send("act", {"action": {"action": "run", "session": f"full{n}", "timeout": 2000,
                                           "args": {"command": "sleep 1000", "blocking": True}}})
    # At most 1,024 actions wait in the queue; the others were refused.
    for _ in range(5 * 256 - 1024):
        expect(next_of(clients), -32000, "limit")
    other = Client()
    expect(other.act(action="run", session="other", args={"command": "true"}), -32000, "limit")
    assert other.ok("info")["state"] == "ready"
    assert other.wait(other.run("/bin/true"))["exit_code"] == 0
    # The clients close their connections, but their actions go on.  Whenever one is ended, the
    # next in the queue begins.
    for client in clients:
        client.close()
    wait_until(has_room_where_sleepers_end, other)
    other.close()
    before.look()


def has_room_where_sleepers_end(client):
    if "result" in client.act(action="read", session="other", args={"path": "/etc/passwd"}):
        return True
    client.wait(client.run("sh", "-c", "kill $(grep -lx sleep /proc/[0-9]*/comm | cut -d/ -f3)"))
    return False


def two_hundred_connections():
    before = Before()
    clients, refused = [], 0
    for _ in range(200):
        client = Client(hello=False)
        with contextlib.suppress(BrokenPipeError):  # it was told and left alone already
            client.send("hello")
        clients.append(client)
    for client in clients:
        answer = client.line()
        if answer["id"] is None:
            expect(answer, -32000, "limit")
            assert client.is_closed()
            refused += 1
    assert refused == 72, refused
    for client in clients:
        client.close()
    before.look()


def connect_and_leave():
    before = Before()
    for i in range(VISITS):
        client = socket.socket(socket.AF_UNIX)
        client.connect(SOCKET)
        if i % 3 == 0:
            client.send(request(1, "hello"))
        client.close()
    before.look()


def hundred_clients_act():
    """Actions one after the other, each with the same id."""
    before = Before()
    for _ in range(100):
        client = Client()
        answer = client.act(action="run", id=1, args={"command": "true"})
        assert answer["result"]["extras"]["metadata"]["exit_code"] == 0, answer
        client.close()
    before.look()


# --- descriptors --------------------------------------------------------------

def descriptors_everywhere():
    before = Before()
    client = Client()
    methods = ["info", "stats", "pause", "unpause", "rename", "events.subscribe", "exec.wait",
               "exec.signal", "exec.resize", "exec.list", "act", "cancel", "stop", "kill",
               "exec.attach", "exec.write", "update", "logs", "net.list", "net.add", "nothing"]
    for method in methods:
        for count in (1, 3):
            answer = client.call(method, {}, fds=[0] * count)
            expect(answer, -32601 if method == "nothing" else -32602, None)
    for count in (1, 2, 4, 100):
        client.fails(-32602, None, "exec.start", {"argv": ["/bin/true"]}, fds=[0] * count)
    # This passes descriptors beside a byte in the middle of a line, and beside two different
    # bytes of a line.
    line = request(4000, "exec.start", {"argv": ["/bin/true"]})
    client.raw(line[:5])
    client.raw(line[5:], fds=[0, 0, 0])
    expect(client.answer(4000), -32602, None)
    for byte in line:
        client.raw(bytes([byte]), fds=[0])
    expect(client.answer(4000), -32602, None)
    client.close()
    before.look()


def descriptors_with_their_request():
    """Of many requests at once, each gets its own descriptors."""
    before = Before()
    client = Client()
    ends = []
    for i in range(50):
        r, w = os.pipe()
        ends.append(r)
        client.raw(request(f"i{i}", "info"))
        client.send("exec.start", {"argv": ["echo", str(i)]}, fds=[w, w, w])
        os.close(w)
    for i, r in enumerate(ends):
        with os.fdopen(r) as f:
            assert f.read() == f"{i}\n", i
    client.close()
    before.look()


def descriptors_with_hello():
    """Descriptors belong to the request after them, and to no other."""
    before = Before()
    r, w = os.pipe()
    start = request(2, "exec.start", {"argv": ["echo", "hi"]})
    client = Client(hello=False)
    client.raw(request(1, "hello") + start, fds=[w, w, w])
    client.number = 2
    assert client.wait(client.answer(2)["result"]["process"])["exit_code"] == 0
    assert os.read(r, 100) == b"hi\n"
    client.ok("exec.start", {"argv": ["true"]})  # they have gone with the one before

    other = Client(hello=False)
    other.raw(request(1, "hello") + request(2, "info"), fds=[w, w, w])
    expect(other.answer(2), -32602, None)

    twice = Client(hello=False)
    twice.raw(request(1, "hello"), fds=[w, w, w])
    twice.answer(1)
    twice.raw(start, fds=[w, w, w])
    expect(twice.answer(2), -32602, None)

    # This client says hello three times, each time with a descriptor, and makes no request.
    thrice = Client(hello=False)
    for number in (1, 2, 3):
        thrice.raw(request(number, "hello"), fds=[w])
        thrice.answer(number)
    for one in (client, other, twice, thrice):
        one.close()
    os.close(w)
    os.close(r)
    before.look()


def other_descriptors():
    """Sockets, folders, the client's own connection, the supervisor's."""
    before = Before()
    client = Client()
    a, b = socket.socketpair()
    folder = os.open("/", os.O_PATH)
    for fds in ([client.socket.fileno()] * 3, [a.fileno()] * 3, [folder] * 3):
        answer = client.call("exec.start", {"argv": ["/bin/true"]}, fds=fds)
        if "result" in answer:
            client.wait(answer["result"]["process"])
    # Descriptors within passed descriptors.
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [b.fileno()]))])
    client.call("info", {}, fds=[b.fileno()])
    os.close(folder)
    a.close()
    b.close()
    client.close()
    before.look()


def no_descriptor_left():
    """Without free descriptors a new client waits, and the supervisor sleeps;
    it does not retry all the time."""
    before = Before()
    client = Client()
    limits = resource.prlimit(PID, resource.RLIMIT_NOFILE)
    taken = {int(fd) for fd in os.listdir(f"/proc/{PID}/fd")}
    free = min(set(range(len(taken) + 1)) - taken)
    resource.prlimit(PID, resource.RLIMIT_NOFILE, (free, limits[1]))
    late = Client(hello=False)
    late.send("hello")
    begun = busy_seconds()
    for _ in range(20):
        client.ok("info")  # the others are served
        # The supervisor must sleep between answers; if it retried accept(2) all the time, it
        # would never be at rest.
        wait_until(is_at_rest, PID)
    used = busy_seconds() - begun
    assert used < 0.5, f"{used} s for 20 answers"
    resource.prlimit(PID, resource.RLIMIT_NOFILE, limits)
    assert "result" in late.answer(1)
    late.close()
    client.close()
    before.look()


# --- processes and their clients -----------------------------------------------

def start_child(body):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        client = Client()
        processes = body(client)
        os.write(w, json.dumps(processes).encode() + b"\n")
        signal.pause()
    os.close(w)
    with os.fdopen(r) as f:
        line = f.readline()
    assert line, "the child failed"
    return pid, json.loads(line)


def killed_client():
    before = Before()
    other = Client()

    def body(client):
        started = [client.run("sleep", "1000"), client.run("sleep", "1000", detach=True),
                   client.run("sh", "-c", "trap '' HUP; echo deaf; while :; do sleep 1000; done")]
        while not any(n.get("method") == "output" for n in client.notes):
            client.notes.append(client.line())
        for process in started:
            client.send("exec.wait", {"process": process})
        client.send("exec.start", {"argv": ["sleep", "1000"]})
        client.raw(request(99, "info")[:10], fds=[0])
        return started

    pid, (plain, detached, stubborn) = start_child(body)
    waits = [other.send("exec.wait", {"process": process}) for process in (stubborn, plain)]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    # The answers come in the order in which the processes end: `plain` is ended by SIGHUP,
    # `stubborn` only by SIGKILL.
    ends = [other.line() for _ in waits]
    assert [end["id"] for end in ends] == waits[::-1], ends
    signals = [end["result"]["signal"] for end in ends]
    assert signals == [signal.SIGHUP, signal.SIGKILL], ends
    running = [p["process"] for p in other.ok("exec.list") if p["state"] == "running"]
    assert running == [detached], running
    other.ok("exec.signal", {"process": detached, "signal": 9})
    assert other.wait(detached)["signal"] == 9
    other.close()
    before.look()


def asked_and_gone():
    """A process that is not detached is not started for a client that has left
    meanwhile."""
    before = Before()
    other = Client()
    known = [p["process"] for p in other.ok("exec.list")]

    def started():
        return [p for p in other.ok("exec.list") if p["process"] not in known]

    os.kill(PID, signal.SIGSTOP)
    for program in ("echo", "printf"):
        gone = Client(hello=False)
        start = {"argv": [program, ""], "detach": program == "printf"}
        gone.raw(request(1, "hello") + request(2, "exec.start", start))
        gone.close()
    os.kill(PID, signal.SIGCONT)
    wait_until(lambda: [p for p in started() if p["detached"]])
    programs = [p["program"] for p in started()]
    assert programs.count("echo") == 0 and programs.count("printf") == 1, programs
    other.close()
    before.look()


def none_runs(client):
    return not [p for p in client.ok("exec.list") if p["state"] == "running"]


def ask_and_tell(told):
    """Sends a byte after each two requests."""
    client = Client()
    for _ in range(50):
        r, w = pipe()
        client.send("exec.start", {"argv": ["sleep", "1000"]}, fds=[r, w, w])
        client.send("act", {"action": {"action": "read", "args": {"path": "/etc/hosts"}}})
        os.write(told, b".")


def killed_while_it_asks():
    """Kills a client after 0 to 19 requests, in the middle of the next."""
    before = Before()
    for i in range(ROUNDS):
        hears, tells = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                ask_and_tell(tells)
            finally:
                os._exit(0)
        os.close(tells)
        for _ in range(i % 20):
            os.read(hears, 1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(hears)
    client = Client()
    wait_until(none_runs, client)
    client.close()
    before.look()


def too_many_processes():
    before = Before()
    clients = [Client() for _ in range(3)]
    limit = 0
    for client in clients:
        for _ in range(200):
            answer = client.call("exec.start", {"argv": ["sleep", "1000"]})
            if "error" in answer:
                expect(answer, -32000, "limit")
                limit += 1
    # If the hard limit on open files is low, the supervisor runs out of descriptors before it
    # reaches its limit of processes.
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 4096:
        assert limit == 600 - 512, limit
    assert 600 - 512 <= limit < 600, limit
    for client in clients:
        client.close()
    client = Client()
    wait_until(none_runs, client)
    client.close()
    before.look()


def many_signals():
    before = Before()
    client = Client()
    process = client.run("sleep", "1000")
    lines = request(7, "exec.signal", {"process": process, "signal": 18}) * 1000
    pid = os.fork()
    if pid == 0:
        for _ in range(SIGNALS):
            client.raw(lines)
        os._exit(0)
    for _ in range(SIGNALS * 1000):
        assert "result" in client.line()
    os.waitpid(pid, 0)
    for signo in (0, 65, 1 << 40, -1, 1.5, "TERMX", None, []):
        client.fails(-32602, None, "exec.signal", {"process": process, "signal": signo})
    client.fails(-32000, "not_found", "exec.signal", {"process": 0, "signal": 9})
    client.fails(-32000, "not_found", "exec.signal", {"process": 1 << 40, "signal": 9})
    client.close()
    before.look()


# --- actions ---------------------------------------------------------------------

def two_in_one_session():
    before = Before()
    a, b = Client(), Client()
    for i in range(50):
        for client, name in ((a, "A"), (b, "B")):
            client.send("act", {"action": {"action": "run", "session": "shared", "args": {
                "command": f"{name}=$(({name} + 1)); echo ${name}"}}})
        for client in (a, b):
            answer = client.answer(client.number)
            assert answer["result"]["content"].strip() == str(i + 1), answer
    # The same action id from two clients counts as two actions; sent in the name of one client,
    # it counts as one.
    for client in (a, b):
        client.act(action="run", id=1, session="shared", args={"command": "echo x >>/tmp/twice"})
    for client in (a, b):
        client.act(action="run", id=1, client="c", session="shared",
                   args={"command": "echo x >>/tmp/once"})
    got = a.act(action="run", session="shared",
                args={"command": "wc -l </tmp/twice; wc -l </tmp/once"})
    assert got["result"]["content"].split() == ["2", "1"], got
    a.close()
    b.close()
    before.look()


def cancel_of_others():
    before = Before()
    a, b = Client(), Client()
    slow = a.send("act", {"action": {"action": "run", "id": 7, "session": "slow", "timeout": 2000,
                                     "args": {"command": "sleep 1000", "blocking": True}}})
    a.ok("info")
    b.fails(-32000, "not_found", "cancel", {"id": 7})
    b.fails(-32602, None, "cancel", {"id": "7"})
    b.fails(-32602, None, "cancel")
    a.ok("cancel", {"id": 7})
    assert "result" in a.answer(slow)
    a.fails(-32000, "not_found", "cancel", {"id": 7})
    a.close()
    b.close()
    before.look()


def stream_of_long_lines():
    before = Before()
    client = Client()
    client.ok("act.stream", {})
    part = b"x" * (4 * MIB)
    for _ in range(20):
        client.raw(part)
    client.raw(b"\n{}\nnothing\n" + json.dumps({"action": "run", "args": {
        "command": "echo ok"}}).encode() + b"\n")
    lines = []
    while b"\n" not in client.buffer or len(lines) < 4:
        while b"\n" in client.buffer:
            line, client.buffer = client.buffer.split(b"\n", 1)
            lines.append(json.loads(line))
        if len(lines) >= 4:
            break
        client.buffer += client.socket.recv(1 << 20)
    errors = [x for x in lines if "BAD_ACTION" in json.dumps(x)]
    assert len(errors) == 3 and len(lines) == 4, lines
    assert any(x.get("content", "").strip() == "ok" for x in lines), lines
    client.close()
    before.look()


# --- the sandbox itself ---------------------------------------------------------

def rename_races():
    """Renames to many names at once: each answer is valid, and one name holds."""
    before = Before()
    folder = os.path.dirname(os.path.dirname(SOCKET))
    own = os.path.basename(os.path.dirname(SOCKET))
    clients = [Client() for _ in range(8)]
    for name in ("", ".", "..", "../x", "a/b", "a\nb", "-rf", "x" * 64, "x" * 4096, ".ended"):
        clients[0].fails(-32000, "invalid", "rename", {"name": name})
    for i in range(200):
        clients[i % 8].send("rename", {"name": f"{own}-{i % 5}"})
    for client in clients:
        for number in range(client.number - 24, client.number + 1):
            answer = client.answer(number)
            assert "result" in answer or answer["error"]["data"]["kind"] == "exists", answer
    clients[0].ok("rename", {"name": own})
    live = [n for n in os.listdir(folder) if not n.startswith(".")]
    assert live == [own], live
    for client in clients:
        client.close()
    before.look()


def stop_while_it_runs():
    """All clients that wait are answered."""
    a, b, c = Client(), Client(), Client()
    process = a.run("sh", "-c", "trap '' TERM; while :; do sleep 1000; done")  # for a second
    a.send("exec.wait", {"process": process})
    waits = a.number
    acts = a.send("act", {"action": {"action": "run", "timeout": 2000,
                                     "args": {"command": "sleep 1000", "blocking": True}}})
    a.ok("info")
    first, second = b.send("stop", {"grace": 1}), c.send("stop", {"grace": 1})
    assert "result" in b.answer(first) and "result" in c.answer(second)
    ends = {number: a.answer(number) for number in (acts, waits)}
    assert "result" in ends[acts], ends
    answer = ends[waits]
    assert "result" in answer or answer["error"]["data"]["kind"] == "disconnected", answer
    assert a.is_closed() and b.is_closed() and c.is_closed()


def kill_while_it_runs():
    a, b = Client(), Client()
    process = a.run("sleep", "1000")
    waits = a.send("exec.wait", {"process": process})
    a.ok("info")
    assert "result" in b.answer(b.send("kill"))
    expect(a.answer(waits), -32000, "disconnected")
    assert a.is_closed() and b.is_closed()


def foreign():
    """A client of another user, or in a user namespace, is refused with an error."""
    client = Client(hello=False)
    expect(client.line(), -32000, "refused")
    assert client.is_closed()


def find_supervisor():
    client = Client()
    pid = status("PPid", client.ok("info")["pid"])
    client.close()
    return pid


if __name__ == "__main__":
    if sys.argv[1] != "foreign":
        PID = find_supervisor()
    globals()[sys.argv[1]]()
