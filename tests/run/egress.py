#!/usr/bin/env -S python3 -SE
"""egress.py HUTCH-EGRESS CASE: plays hutch-gate and the supervisor for hutch-egress, in a network of
the test's own.  Run it in namespaces of its own (unshare -Urnm).

This process is the host: h0 has 93.184.1.1 and 2600::1, and the default route leads to the
internet, a second network namespace in which every address is there.  Its addresses in 93.184.9.0/24
lead nowhere.  The internet answers on TCP: port 80 says the address that was reached, in a line, and
then sends back what it gets; port 81 resets at the first byte; others refuse.  Its DNS server is 93.184.1.53, with the
names in ZONE; each question is a line of the test.
"""
import array
import collections
import contextlib
import json
import os
import pathlib
import resource
import select
import signal
import socket
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from patience import PATIENCE  # noqa: E402

A, NS, CNAME, AAAA = 1, 2, 5, 28
ZONE = {
    "good.site.org": ["93.184.2.1"],
    "six.site.org": ["2600:2::1"],
    "both.site.org": ["93.184.2.1", "2600:2::1"],
    "private.site.org": ["10.1.1.1"],
    "local.site.org": ["127.0.0.1"],
    "mapped.site.org": ["::ffff:10.0.0.1"],
    "metadata.site.org": ["169.254.169.254"],
    "own.site.org": ["93.184.1.1"],
    "own6.site.org": ["2600::1"],
    "mixed.site.org": ["10.1.1.1", "93.184.2.1"],
    "alias.site.org": "good.site.org",
    "inward.site.org": "private.site.org",
    "many.site.org": [f"93.184.{16 + i // 250}.{1 + i % 250}" for i in range(1000)],
    "empty.site.org": [],
    "half.site.org": ["93.184.9.1", "93.184.2.2"],
    "good.other.org": ["93.184.2.3"],
}

HELLO, OPEN, OK, NO, CLOSE, CUT, RESOLVE, RESOLVED, SET, EVENT = range(1, 11)
FOUND, EMPTY, NXDOMAIN = range(3)
NO_RULE = 0xffffffff
REASONS = ("none no-rule denied not-answered port no-name name-invalid private-address metadata host-address "
           "sni-mismatch sni-missing tls-invalid host-mismatch http-invalid http-forbidden limit rule-removed "
           "upstream-failed egress-lost").split()
OPAQUE, TLS, HTTP = range(3)


# --- the internet -----------------------------------------------------------------------

def records(name, kind):
    """The answer's records (name, type, data), or None for a name that is not there."""
    if name.startswith("new") and name.endswith(".wild.org"):
        return [(name, A, socket.inet_aton("93.184.2.4"))] if kind == A else []
    entry = ZONE.get(name)
    if isinstance(entry, str):
        target = b"".join(bytes([len(label)]) + label.encode() for label in entry.split(".")) + b"\0"
        return [(name, CNAME, target), *(records(entry, kind) or [])]
    if entry is None:
        return None
    family = {A: socket.AF_INET, AAAA: socket.AF_INET6}.get(kind)
    return [(name, kind, socket.inet_pton(family, text)) for text in entry
            if family and (":" in text) == (kind == AAAA)]


def encode(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def answer(query, is_udp):
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
        at += 1 + query[at]
    name, kind = ".".join(labels), struct.unpack("!H", query[at + 1:at + 3])[0]
    print(json.dumps([name, {A: "A", AAAA: "AAAA"}.get(kind, kind)]), flush=True)
    found = records(name, kind)
    body = b"".join(encode(owner) + struct.pack("!HHIH", type_, 1, 60, len(data)) + data
                    for owner, type_, data in found or [])
    is_cut = is_udp and len(body) > 400
    flags = 0x8180 | (3 if found is None else 0) | (0x200 if is_cut else 0)
    return query[:2] + struct.pack("!HHHHH", flags, 1, 0 if is_cut else len(found or []), 0, 0) + \
        query[12:at + 5] + (b"" if is_cut else body)


class Internet:
    def __init__(self):
        self.poll = select.epoll()
        self.watched = {}
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("93.184.1.53", 53))
        self.watch(self.udp, self.question)
        self.listen(("93.184.1.53", 53), self.questions, socket.AF_INET)
        self.listen(("::", 80), self.greet)
        self.listen(("::", 81), self.reset_later)

    def watch(self, sock, react):
        self.watched[sock.fileno()] = (sock, react)
        self.poll.register(sock, select.EPOLLIN)

    def listen(self, place, react, family=socket.AF_INET6):
        sock = socket.socket(family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(place)
        sock.listen(4096)
        self.watch(sock, lambda listener: react(listener.accept()[0]))

    def question(self, sock):
        query, place = sock.recvfrom(4096)
        sock.sendto(answer(query, True), place)

    def questions(self, sock):
        self.watch(sock, self.question_by_tcp)

    def question_by_tcp(self, sock):
        head = sock.recv(2, socket.MSG_WAITALL)
        if len(head) < 2:
            self.forget(sock)
            return
        reply = answer(sock.recv(struct.unpack("!H", head)[0], socket.MSG_WAITALL), False)
        sock.sendall(struct.pack("!H", len(reply)) + reply)

    def greet(self, sock):
        sock.sendall(sock.getsockname()[0].removeprefix("::ffff:").encode() + b"\n")
        self.watch(sock, self.echo)

    def echo(self, sock):
        try:
            data = sock.recv(65536)
        except ConnectionResetError:
            data = b""
        if data:
            sock.sendall(data)
        else:
            self.forget(sock)

    def forget(self, sock):
        del self.watched[sock.fileno()]
        sock.close()

    def reset_later(self, sock):
        self.watch(sock, self.reset)

    def reset(self, sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.forget(sock)

    def serve(self):
        while True:
            for fd, _ in self.poll.poll():
                if fd in self.watched:
                    sock, react = self.watched[fd]
                    react(sock)


def ip(*lines):
    subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(lines), text=True, check=True)


def be_internet():
    print("here", flush=True)
    sys.stdin.readline()
    ip("link set lo up", "link set w0 up", "addr add 93.184.1.2/24 dev w0", "addr add 2600::2/64 dev w0 nodad",
       "route add local 93.0.0.0/8 dev lo table main", "route add blackhole 93.184.9.0/24",
       "route add local 2600::/16 dev lo table main", "addr add 93.184.1.53/32 dev lo")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    internet = Internet()
    print("ready", flush=True)
    internet.serve()


def make_world(folder):
    internet = subprocess.Popen(["unshare", "-n", sys.executable, "-SE", __file__, "--internet"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert internet.stdout.readline() == "here\n"
    ip(f"link add h0 type veth peer name w0 netns {internet.pid}", "link set lo up", "link set h0 up",
       "addr add 93.184.1.1/24 dev h0", "addr add 2600::1/64 dev h0 nodad",
       "route add default via 93.184.1.2", "route add default via 2600::2 dev h0")
    internet.stdin.write("\n")
    internet.stdin.flush()
    assert internet.stdout.readline() == "ready\n"
    for name, text in (("resolv.conf", "nameserver 93.184.1.53\n"),
                       ("hosts", "127.0.0.1 localhost\n93.184.2.9 hosts.site.org\n10.9.9.9 inhosts.site.org\n")):
        path = pathlib.Path(folder) / name
        path.write_text(text)
        subprocess.run(["mount", "--bind", path, f"/etc/{name}"], check=True)
    return internet


# --- frames -----------------------------------------------------------------------------

def u32(value):
    return b"u" + struct.pack("<I", value)


def u64(value):
    return b"q" + struct.pack("<Q", value)


def data(value):
    return b"b" + struct.pack("<I", len(value)) + value


def text(value):
    return b"s" + struct.pack("<I", len(value) + 1) + value.encode() + b"\0"


def frame(kind, number, *fields):
    body = b"".join(fields)
    return struct.pack("<IHHI", len(body), kind, 0, number) + body


def hello():
    return frame(HELLO, 0, u32(3))


def opening(number, goal, port=80, proto=OPAQUE, sni="", alpn=""):
    try:
        address = socket.inet_pton(socket.AF_INET6 if ":" in goal else socket.AF_INET, goal)
    except (OSError, ValueError):
        address = b""
    return frame(OPEN, number, text("" if address else goal), data(address), u32(port), u32(proto), u32(NO_RULE),
                 text(sni), text(alpn))


def closing(number, reason=0, up=0, down=0):
    return frame(CLOSE, number, u32(reason), u64(up), u64(down))


class Fields:
    def __init__(self, body):
        self.body = body

    def take(self, tag, form):
        assert self.body[:1] == tag, self.body
        size = struct.calcsize(form)
        value, = struct.unpack(form, self.body[1:1 + size])
        self.body = self.body[1 + size:]
        return value

    def u32(self):
        return self.take(b"u", "<I")

    def data(self, tag=b"b"):
        size = self.take(tag, "<I")
        value, self.body = self.body[:size], self.body[size:]
        return value

    def text(self):
        return self.data(b"s")[:-1].decode()


Reply = collections.namedtuple("Reply", "kind id fields fd")


class Egress:
    """A running hutch-egress, with both ends of its descriptors."""

    def __init__(self, rules=(), is_greeted=True, under=(), peers=None, **settings):
        self.gate, gate = socket.socketpair()
        self.supervisor, supervisor = socket.socketpair()
        for sock in (self.gate, self.supervisor):
            sock.settimeout(PATIENCE)

        def place():
            os.dup2(gate.fileno(), 250)
            os.dup2(supervisor.fileno(), 251)
            os.dup2(250, 3)
            os.dup2(251, 4)
            if peers:
                os.dup2(peers.fileno(), 252)
                os.dup2(252, 5)

        self.process = subprocess.Popen([*under, PROGRAM, *["peers"] * bool(peers)], preexec_fn=place, close_fds=False,
                                        stderr=subprocess.PIPE, text=True)
        gate.close()
        supervisor.close()
        if peers:
            peers.close()
        self.lines = self.supervisor.makefile("r", encoding="utf-8")
        self.buffer, self.fds, self.rules = b"", [], []
        self.say({"rules": list(rules), **settings})
        if not is_greeted:
            return
        assert self.reply().kind == HELLO
        self.send(hello())
        assert self.line("ready")["rules"] == len(rules)
        self.take_set()

    def say(self, value):
        self.supervisor.sendall(json.dumps(value).encode() + b"\n")

    def line(self, key=None):
        found = json.loads(self.lines.readline())
        assert key is None or key in found, (key, found)
        return found[key] if key else found

    def net(self, **expected):
        found = self.line("net")
        for key, value in expected.items():
            assert found[key] == value, (key, value, found)
        return found

    def send(self, *frames):
        self.gate.sendall(b"".join(frames))

    def reply(self):
        while True:
            if len(self.buffer) >= 12:
                size, kind, _, number = struct.unpack("<IHHI", self.buffer[:12])
                if len(self.buffer) >= 12 + size:
                    fields = Fields(self.buffer[12:12 + size])
                    self.buffer = self.buffer[12 + size:]
                    return Reply(kind, number, fields, self.fds.pop(0) if kind == OK else None)
            got, control, _, _ = self.gate.recvmsg(65536, 4096)
            assert got, "hutch-egress has closed its end: " + self.process.stderr.read()
            self.buffer += got
            for level, kind, numbers in control:
                assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
                self.fds += [socket.socket(fileno=fd) for fd in array.array("i", numbers)]

    def take_set(self):
        self.rules, count = [], 1
        while len(self.rules) < count:
            got = self.reply()
            assert got.kind == SET, got
            index, count = got.fields.u32(), got.fields.u32()
            verdict, has_any_tls = ("deny", "allow", "ask")[got.fields.u32()], got.fields.u32()
            target, name = got.fields.text(), got.fields.text()
            if not count:
                return
            assert index == len(self.rules)
            self.rules.append({verdict: target, **({"tls": "any"} if has_any_tls else {}),
                               **({"as": name} if name else {})})

    def opened(self, number):
        """The socket of a connection that must succeed, and the address that it has."""
        got = self.reply()
        assert (got.kind, got.id) == (OK, number), (got, self.reason(got))
        got.fd.settimeout(PATIENCE)
        address = got.fields.data()
        return got.fd, socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)

    def reason(self, got):
        return REASONS[got.fields.u32()] if got.kind in (NO, CUT) else None

    def refused(self, number, reason):
        got = self.reply()
        assert (got.kind, got.id) == (NO, number), got
        found = self.reason(got)
        assert found == reason, (found, reason)

    def resolve(self, number, name):
        self.send(frame(RESOLVE, number, text(name)))
        got = self.reply()
        assert (got.kind, got.id) == (RESOLVED, number), got
        return got.fields.u32()

    def ended(self, code=0):
        got = self.process.wait(PATIENCE)
        errors = self.process.stderr.read()
        assert got == code, (got, errors)
        return errors

    def stop(self):
        if self.process.poll() is None:
            self.gate.close()
            self.ended()


@contextlib.contextmanager
def egress(*rules, **settings):
    running = Egress([{"allow": rule} if isinstance(rule, str) else rule for rule in rules], **settings)
    yield running
    running.stop()


def greeting(sock):
    found = b""
    while not found.endswith(b"\n"):
        found += sock.recv(1)
    return found.decode().strip()


def asked(count):
    """The next questions that have come to the internet's DNS server."""
    return {tuple(json.loads(INTERNET.stdout.readline())) for _ in range(count)}


# --- cases ------------------------------------------------------------------------------

def allowed():
    with egress("good.site.org", "six.site.org", "alias.site.org", "hosts.site.org") as e:
        assert e.rules == [{"allow": name} for name in ("good.site.org", "six.site.org", "alias.site.org",
                                                        "hosts.site.org")], e.rules
        for number, (name, address) in enumerate((("good.site.org", "93.184.2.1"), ("six.site.org", "2600:2::1"),
                                                  ("alias.site.org", "93.184.2.1"),
                                                  ("hosts.site.org", "93.184.2.9")), 1):
            e.send(opening(number, name))
            sock, found = e.opened(number)
            assert found == address and greeting(sock) == address, found
            e.net(verdict="allow", rule=name, name=name, port=80, address=address, reason=None, id=number,
                  cname="good.site.org" if name == "alias.site.org" else None)
            sock.sendall(b"ping")
            assert sock.recv(4) == b"ping"
            e.send(closing(number, up=4, down=20))
            e.net(verdict="end", id=number, up=4, down=20, reason=None)
            # The copy in hutch-egress is closed by then, so that the end is seen.
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(1) == b""


def denied():
    with egress({"deny": "bad.site.org"}, "good.site.org", "1.1.1.1:80") as e:
        e.send(opening(1, "bad.site.org"), opening(2, "none.site.org"), opening(3, "good.site.org", 22),
               opening(4, "93.184.2.1"), opening(5, "site.org"), opening(6, "GOOD.site.org"),
               opening(7, "good.site.org."), opening(8, "127.1"))
        for number, reason in enumerate(("denied", "no-rule", "port", "no-name", "no-rule", "name-invalid",
                                         "name-invalid", "name-invalid"), 1):
            e.refused(number, reason)
            e.net(verdict="deny", reason=reason, id=number)
        # Nothing was looked up for any of these: the first question is the next one's.
        e.send(opening(9, "good.site.org"))
        e.opened(9)
        assert asked(2) == {("good.site.org", "A"), ("good.site.org", "AAAA")}


def addresses():
    names = {"private": "private-address", "local": "private-address", "mapped": "private-address",
             "metadata": "metadata", "own": "host-address", "own6": "host-address", "inward": "private-address",
             "inhosts": "private-address"}
    with egress(*(f"{name}.site.org" for name in names), "mixed.site.org", "many.site.org",
                "93.184.1.0/24:80") as e:
        for number, (name, reason) in enumerate(names.items(), 1):
            e.send(opening(number, f"{name}.site.org"))
            e.refused(number, reason)
            e.net(verdict="deny", reason=reason, name=f"{name}.site.org",
                  cname="private.site.org" if name == "inward" else None)
        e.send(opening(20, "mixed.site.org"))
        assert greeting(e.opened(20)[0]) == "93.184.2.1"
        e.send(opening(21, "many.site.org"))
        assert greeting(e.opened(21)[0]).startswith("93.184.")
        # An address of a network that a rule names is reached, but for the host's own.
        e.send(opening(22, "93.184.1.2"), opening(23, "93.184.1.1"))
        replies = {got.id: got for got in (e.reply(), e.reply())}
        assert replies[22].kind == OK and replies[23].kind == NO
        assert e.reason(replies[23]) == "host-address"


def questions():
    with egress("good.site.org", "empty.site.org", "none.site.org", "*.wild.org", {"ask": "ask.site.org"},
                "@host:8080") as e:
        assert e.resolve(1, "good.site.org") == FOUND
        assert e.resolve(2, "empty.site.org") == EMPTY
        assert e.resolve(3, "none.site.org") == NXDOMAIN
        assert e.resolve(4, "host.hutch.internal") == FOUND
        assert asked(6) == {(f"{name}.site.org", kind) for name in ("good", "empty", "none") for kind in ("A", "AAAA")}
        # No name that the guest has composed, or that waits for an answer, leaves for a question.
        for name in ("secret.wild.org", "ask.site.org", "other.org"):
            assert e.resolve(5, name) == EMPTY
        e.send(opening(1, "new1.wild.org"))
        e.opened(1)
        assert asked(2) == {("new1.wild.org", "A"), ("new1.wild.org", "AAAA")}


def wildcards():
    with egress("*.wild.org") as e:
        for number in range(1, 65):
            e.send(opening(number, f"new{number}.wild.org"))
            e.opened(number)
        e.send(opening(65, "new65.wild.org"))
        e.refused(65, "limit")
        e.send(opening(66, "new1.wild.org"))
        e.opened(66)


def upstream():
    with egress("good.site.org:81-82", "half.site.org", "empty.site.org", "none.site.org") as e:
        e.send(opening(8, "empty.site.org"))
        e.refused(8, "upstream-failed")
        e.send(opening(9, "none.site.org"))
        e.refused(9, "upstream-failed")
        e.send(opening(1, "good.site.org", 82))
        e.refused(1, "upstream-failed")
        e.send(opening(2, "good.site.org", 81))
        sock, _ = e.opened(2)
        sock.sendall(b"x")
        try:
            assert not sock.recv(1)
        except ConnectionResetError:
            pass
        e.send(closing(2, REASONS.index("upstream-failed")))
        # The first address does not answer, and the second one has its turn.
        e.send(opening(3, "half.site.org"))
        assert greeting(e.opened(3)[0]) == "93.184.2.2"


def tls():
    with egress("good.site.org", {"allow": "both.site.org", "tls": "any"}) as e:
        e.send(opening(1, "good.site.org", proto=TLS, sni="other.org", alpn="h2"),
               opening(2, "good.site.org", proto=TLS))
        e.refused(1, "sni-mismatch")
        e.net(tls={"sni": "other.org", "alpn": "h2"})
        e.refused(2, "sni-missing")
        e.net(reason="sni-missing")
        e.send(opening(3, "both.site.org", proto=TLS))
        e.opened(3)
        e.send(opening(4, "good.site.org", proto=TLS, sni="good.site.org"))
        e.opened(4)


def loopback():
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with egress(f"@host:{port}") as e:
        e.send(opening(1, "host.hutch.internal", port), opening(2, "host.hutch.internal", port ^ 1),
               opening(3, "127.0.0.1", port))
        replies = {}
        for _ in range(3):
            got = e.reply()
            replies[got.id] = got
        assert replies[1].kind == OK
        listener.accept()
        assert replies[2].kind == replies[3].kind == NO


def peers():
    """Plays the process that connects to other sandboxes (peer_frames.h), which answers what it likes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)

    def asked():
        ticket, port, sandbox, network = struct.unpack("=II64s64s", ours.recv(4096))
        return ticket, port, sandbox.rstrip(b"\0").decode(), network.rstrip(b"\0").decode()

    def say(ticket, has_found, *socks):
        ours.sendmsg([struct.pack("=II", ticket, has_found)],
                     [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno() for s in socks]))] if socks
                     else [])

    with egress("*.net.hutch.internal:80", peers=theirs) as e:
        # Malformed names, and those without a rule, are not asked for.
        for name in ("net.hutch.internal", "a.b.net.hutch.internal", "pg.other.hutch.internal"):
            e.send(opening(1, name))
            e.refused(1, "no-rule" if not name.endswith(".net.hutch.internal") else "upstream-failed")
        e.send(frame(RESOLVE, 9, text("pg.net.hutch.internal")))
        ticket, *rest = asked()
        assert rest == [0, "pg", "net"]
        say(ticket, 1)
        got = e.reply()
        assert (got.kind, got.id, got.fields.u32()) == (RESOLVED, 9, FOUND)
        # A reply to no request is dropped, with its descriptor; one of a connection that is refused is no socket.
        near, far = socket.socketpair()
        say(ticket, 1, far)
        far.close()
        assert near.recv(1) == b""
        e.send(opening(2, "pg.net.hutch.internal"))
        ticket, *rest = asked()
        assert rest == [80, "pg", "net"]
        say(ticket, 0)
        e.refused(2, "upstream-failed")
        # A connection that is judged anew meanwhile is asked for anew, and its first reply is dropped.
        e.send(opening(3, "pg.net.hutch.internal"))
        first, *_ = asked()
        e.say({"set": {"rules": [{"allow": "pg.net.hutch.internal:80"}]}})
        e.take_set()
        second, *_ = asked()
        near, far = socket.socketpair()
        say(first, 1, far)
        far.close()
        assert first != second and near.recv(1) == b""
        near, far = socket.socketpair()
        say(second, 1, far)
        sock, address = e.opened(3)
        far.close()
        near.sendall(b"x")
        assert (sock.recv(1), address) == (b"x", "::")
        # A second reply is dropped, with its descriptor.
        more, far = socket.socketpair()
        say(second, 1, far)
        far.close()
        assert more.recv(1) == b""
        # Each reply is of its own question.
        e.send(frame(RESOLVE, 7, text("pg.net.hutch.internal")), frame(RESOLVE, 8, text("pg.net.hutch.internal")))
        tickets = asked()[0], asked()[0]
        for ticket, number in zip(tickets[::-1], (8, 7)):
            say(ticket, number == 8)
            got = e.reply()
            assert (got.kind, got.id, got.fields.u32()) == (RESOLVED, number, FOUND if number == 8 else NXDOMAIN), got
        # A message of another length ends it all, but for the connection that is there.
        e.send(opening(4, "pg.net.hutch.internal"), frame(RESOLVE, 10, text("pg.net.hutch.internal")))
        asked(), asked()
        ours.send(b"x")
        replies = {got.id: got for got in (e.reply(), e.reply())}
        assert e.reason(replies[4]) == "upstream-failed" and replies[10].fields.u32() == NXDOMAIN
        e.send(opening(5, "pg.net.hutch.internal"))
        e.refused(5, "upstream-failed")
        near.sendall(b"y")
        assert sock.recv(1) == b"y"
    without_peers()
    with_dns()


def without_peers():
    """Names of sandboxes are never asked of a resolver, also where no process connects to sandboxes."""
    with egress("pg.net.hutch.internal:80", "*.hutch.internal:80", "good.site.org") as e:
        names = "pg.net.hutch.internal", "a.net.hutch.internal", "a.b.net.hutch.internal", "net.hutch.internal"
        for number, name in enumerate(names, 1):
            assert e.resolve(number, name) == NXDOMAIN
            e.send(opening(number, name))
            e.refused(number, "upstream-failed")
        e.send(opening(9, "good.site.org"))
        e.opened(9)
        assert asked(2) == {("good.site.org", "A"), ("good.site.org", "AAAA")}


def with_dns():
    """A reply without a ticket answers no question, such as one that DNS answers later."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)
    with egress("none.site.org", "*.net.hutch.internal:80", peers=theirs) as e:
        INTERNET.send_signal(signal.SIGSTOP)
        e.send(frame(RESOLVE, 1, text("none.site.org")), frame(RESOLVE, 2, text("pg.net.hutch.internal")))
        ticket, = struct.unpack("=I", ours.recv(4096)[:4])
        ours.send(struct.pack("=II", 0, 1))
        ours.send(struct.pack("=II", ticket, 1))
        got = e.reply()
        INTERNET.send_signal(signal.SIGCONT)
        assert (got.id, got.fields.u32()) == (2, FOUND), got
        got = e.reply()
        assert (got.id, got.fields.u32()) == (1, NXDOMAIN), got


def removed():
    with egress("good.site.org", "both.site.org") as e:
        e.send(opening(1, "good.site.org"))
        first, _ = e.opened(1)
        e.net(verdict="allow", id=1)
        e.send(opening(2, "both.site.org"))
        second, _ = e.opened(2)
        e.net(verdict="allow", id=2)
        e.say({"set": {"rules": [{"allow": "both.site.org"}]}})
        assert e.line("set") == {"rules": 1, "cut": 1}
        e.take_set()
        assert e.rules == [{"allow": "both.site.org"}]
        got = e.reply()
        assert (got.kind, got.id, e.reason(got)) == (CUT, 1, "rule-removed")
        # A gate that does not obey loses the connection as well.
        greeting(first)
        assert first.recv(1) == b""
        e.send(closing(1))
        e.net(verdict="end", id=1, reason="rule-removed")
        e.send(opening(3, "good.site.org"))
        e.refused(3, "no-rule")
        e.net(id=3)
        assert greeting(second)
        # Rules that make no sense change nothing.
        e.say({"set": {"rules": [{"allow": "a b"}]}})
        assert e.line("error")["text"]
        # A user who is to be asked now was not asked before.
        e.say({"set": {"rules": [{"ask": "*"}]}})
        assert e.line("set") == {"rules": 1, "cut": 1}
        e.say({"set": {"rules": []}})
        assert e.line("set") == {"rules": 0, "cut": 0}


def in_force():
    """When the supervisor is told that rules are in force, the gate has them."""
    # strace stops the process when it has sent this line, which is its second one.
    with egress("good.site.org", under=["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=sendto",
                                        "-e", "inject=sendto:signal=STOP:when=2"]) as e:
        e.say({"set": {"rules": [{"allow": "both.site.org"}]}})
        try:
            assert e.line("set") == {"rules": 1, "cut": 0}
            e.gate.settimeout(0)
            e.take_set()
        finally:
            subprocess.run(["pkill", "-CONT", "-P", str(e.process.pid)], check=True)
            e.gate.settimeout(PATIENCE)


def ask():
    with egress({"ask": "*"}) as e:
        def question(**expected):
            found = e.line("ask")
            assert {**found, **expected} == found, found
            return found["id"]

        e.send(opening(1, "good.site.org"), opening(2, "good.site.org"))
        number = question(name="good.site.org", port=80)
        e.say({"answer": {"id": number, "allow": True, "for": "once"}})
        assert e.line("answered") == {"id": number}
        assert {e.reply().id, e.reply().id} == {1, 2}
        assert {e.net(verdict="allow", asked=True)["id"], e.net(verdict="allow")["id"]} == {1, 2}
        e.send(opening(3, "good.site.org"))
        e.say({"answer": {"id": question(), "allow": False, "for": "sandbox"}})
        e.line("answered")
        e.refused(3, "not-answered")
        e.net(verdict="deny", reason="not-answered")
        e.send(opening(4, "good.site.org"))
        e.refused(4, "not-answered")
        e.net(verdict="deny")
        e.say({"answer": {"id": 99, "allow": True}})
        assert "error" in e.line()
        # A connection that was allowed stays, also under new rules that ask; one that waits goes on.
        e.send(opening(5, "both.site.org"))
        question(name="both.site.org")
        e.say({"set": {"rules": [{"allow": "both.site.org"}, {"ask": "*"}]}})
        assert e.line("set") == {"rules": 2, "cut": 0}
        e.take_set()
        e.opened(5)
        # Nothing has left for names that were refused.
        assert asked(4) == {(name, kind) for name in ("good.site.org", "both.site.org") for kind in ("A", "AAAA")}
    with egress({"ask": "*"}, ask_ms=1) as e:
        e.send(opening(1, "good.site.org"))
        e.refused(1, "not-answered")
        # Beyond 64 questions there is no room; these here are decided one by one.
    with egress({"ask": "*"}) as e:
        e.send(*(opening(number, f"n{number}.org") for number in range(1, 70)))
        for number in range(65, 70):
            e.refused(number, "limit")


def lazy():
    rules = [{"allow": "good.site.org"}]
    # Nothing has asked for rules, and so none were read.
    e = Egress(rules, is_greeted=False)
    assert e.reply().kind == HELLO
    e.gate.close()
    e.ended()
    assert e.lines.read() == ""
    # A further line of the supervisor needs them; the gate gets them then, and says hello later.
    e = Egress(rules, is_greeted=False)
    assert e.reply().kind == HELLO
    e.say({"list": "connections"})
    assert e.line("ready")["rules"] == 1
    assert e.line("connections")["open"] == 0
    e.take_set()
    e.send(hello(), opening(1, "good.site.org"))
    e.opened(1)
    e.stop()


def last_words():
    """What the gate has said before its end is told, however much it is."""
    e = Egress([{"allow": "good.site.org"}], is_greeted=False)
    event = frame(EVENT, 0, u32(REASONS.index("port")), u32(NO_RULE), text(""), data(b"\x01\2\3\4"), u32(22), text(""),
                  u32(1))
    e.send(hello(), *[event] * 500)
    e.gate.shutdown(socket.SHUT_WR)
    e.ended()
    assert e.line("ready")["rules"] == 1
    for _ in range(500):
        e.net(verdict="deny", reason="port", port=22)
    assert e.lines.read() == ""


def ends():
    for end in ("gate", "supervisor"):
        e = Egress([{"allow": "good.site.org"}])
        e.send(opening(1, "good.site.org"))
        sock, _ = e.opened(1)
        e.line()
        # shutdown, since makefile() has another reference
        getattr(e, end).shutdown(socket.SHUT_RDWR)
        e.ended()
        assert greeting(sock)
    e = Egress(is_greeted=False)
    e.supervisor.shutdown(socket.SHUT_RDWR)
    e.ended()


def malformed():
    valid = opening(1, "good.site.org")
    wrong = {
        "no hello": [valid],
        "hello twice": [hello(), hello()],
        "another version": [frame(HELLO, 0, u32(99))],
        "no such type": [hello(), frame(77, 1)],
        "a type of the other side": [hello(), frame(OK, 1, data(b"\1\2\3\4"), text(""), u32(0))],
        "a huge length": [hello(), struct.pack("<IHHI", 1 << 31, OPEN, 0, 1)],
        "a long frame": [hello(), struct.pack("<IHHI", 60000, OPEN, 0, 1) + bytes(60000)],
        "no body": [hello(), frame(OPEN, 1)],
        "a byte too many": [hello(), frame(OPEN, 1, valid[12:], b"\0")],
        "a NUL in the name": [hello(), opening(1, "good.site.org\0.evil.org")],
        "a blank in the name": [hello(), opening(1, "good.site.org evil.org")],
        "a line end in the name": [hello(), opening(1, "good.site.org\r\n")],
        "a long name": [hello(), opening(1, "a." * 200 + "org")],
        "neither name nor address": [hello(), opening(1, "")],
        "port 0": [hello(), opening(1, "good.site.org", 0)],
        "port 65616": [hello(), opening(1, "good.site.org", 65616)],
        "an unknown protocol": [hello(), opening(1, "good.site.org", proto=9)],
        "id 0": [hello(), opening(0, "good.site.org")],
        "an id twice": [hello(), opening(1, "half.site.org"), opening(1, "half.site.org")],
        "close of nothing": [hello(), closing(5)],
        "close before it is open": [hello(), opening(1, "half.site.org"), closing(1)],
        "an unknown reason": [hello(), opening(1, "half.site.org"), closing(1, 200)],
        "an event of no kind": [hello(), frame(EVENT, 0, u32(500), u32(0), text(""), data(b""), u32(0), text(""),
                                               u32(1))],
        "not a byte that makes sense": [hello(), bytes(range(256)) * 8],
    }
    for name, frames in wrong.items():
        e = Egress([{"allow": "good.site.org"}, {"allow": "half.site.org"}], is_greeted=False)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            e.send(*frames)
        errors = e.ended(1)
        assert errors.startswith("hutch-egress: ") and len(errors.splitlines()) == 1, (name, errors)
    e = Egress()
    with open("/dev/null") as null:
        socket.send_fds(e.gate, [opening(1, "a.org")], [null.fileno()])
    assert "descriptor" in e.ended(1)
    lines = (b"{}", b"[]", b"nonsense", b'{"rules":7}', b'{"set":{}}', b'{"answer":{"id":1}}',
             b'{"answer":{"allow":true}}', b'{"list":"rules"}', b'{"sync":0}',
             b'{"rules":[],"upstream":"http://x"}')
    for line in (*(line + b"\n" for line in lines), b"x" * (1 << 20)):
        e = Egress(is_greeted=False)  # its settings are valid, and a later line is refused
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            e.supervisor.sendall(line)
        if line.endswith(b"\n"):
            found = [e.line(), e.line()]
            assert "ready" in found[0] and "error" in found[1], (line, found)
            e.stop()
        else:
            e.ended(1)


def flood():
    count, most = 2000, min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 64)
    with egress("good.site.org", "*.wild.org") as e:
        e.send(*(opening(number, "good.site.org") for number in range(1, count + 1)))
        kinds = collections.Counter()
        for _ in range(count):
            got = e.reply()
            kinds[e.reason(got) if got.kind == NO else got.kind] += 1
            if got.fd:
                got.fd.close()  # the copy in hutch-egress stays
        assert kinds == {OK: most, "limit": count - most}, kinds
        # Those that are open go on, and an end makes room.
        ids = [number for number in range(1, most + 1)]
        e.send(closing(ids[0]), opening(5000, "good.site.org"))
        e.opened(5000)
        status = pathlib.Path(f"/proc/{e.process.pid}/status").read_text()
        rss = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        print(f"# {most} connections: {rss} KiB resident")
        assert is_sanitized() or rss < 16 << 10, rss


def few_descriptors():
    """With 128 descriptors there are 64 connections, and the others are refused.

    A socket that cannot be handed over yet needs a second descriptor, and its connection fails if
    there is none: the kernel bounds the sockets under way of all processes of a user."""
    def lower():
        return ["prlimit", "--nofile=128:128"]

    with egress("good.site.org", under=lower()) as e:
        e.send(*(opening(number, "good.site.org") for number in range(1, 101)))
        kinds = collections.Counter(e.reason(got) or got.kind for got in (e.reply() for _ in range(100)))
        assert kinds["limit"] == 36 and kinds[OK] + kinds["upstream-failed"] == 64 and kinds[OK], kinds


def unread():
    """A supervisor that does not read loses lines, and nothing else."""
    with egress("good.site.org") as e:
        for number in range(1, 6001):
            e.send(opening(number, "none.site.org"))
            e.refused(number, "no-rule")
        e.send(opening(1, "good.site.org"))
        e.opened(1)
        lines = 0
        while "dropped" not in (found := e.line()):
            lines += 1
            if lines > 100:  # where there is room, the next line tells of those that are lost
                e.send(opening(lines + 7000, "none.site.org"))
        assert found["dropped"] > 0, found


def listing():
    """Open connections are listed, the newest 256 of them, with what the kernel has carried."""
    with egress("good.site.org", "93.184.2.2") as e:
        e.send(opening(1, "good.site.org"))
        sock, _ = e.opened(1)
        sock.sendall(b"hello")
        assert sock.makefile("rb").read(16) == b"93.184.2.1\nhello"
        e.send(opening(2, "93.184.2.2"), opening(3, "none.site.org"))
        e.refused(3, "no-rule")
        e.opened(2)
        for _ in range(3):
            e.line("net")
        e.say({"list": "connections"})
        found = e.line("connections")
        second, first = found["newest"]
        assert (found["open"], first["name"], first["address"], first["port"], first["up"], first["down"]) == (
            2, "good.site.org", "93.184.2.1", 80, 5, 16), found
        assert (second["id"], second["name"], second["address"]) == (2, None, "93.184.2.2"), found
        assert second["since"] >= first["since"] > 1.7e12, found
        for number in range(3, 301):
            e.send(opening(number, "good.site.org"))
            e.opened(number)
            e.line("net")
        e.send(closing(300))
        e.line("net")
        e.say({"list": "connections"})
        found = e.line("connections")
        assert (found["open"], len(found["newest"])) == (299, 256), found
        times = [row["since"] for row in found["newest"]]
        assert times == sorted(times, reverse=True) and found["newest"][0]["id"] > 100, found
        # Where lines wait, the reply is as long as there is room.
        for number in range(1000, 7000):
            e.send(opening(number, "none.site.org"))
            e.refused(number, "no-rule")
        e.say({"list": "connections"})
        # The answer to the second of these comes from a later turn than the reply, so no line that is
        # read makes room for the reply.
        for number in 7000, 7001:
            e.send(opening(number, "none.site.org"))
            e.refused(number, "no-rule")
        while "connections" not in (found := e.line()):
            pass
        assert found["connections"]["open"] == 299 and 0 < len(found["connections"]["newest"]) < 256, found


def synced():
    """A question whether all is told is answered behind what the gate had sent."""
    with egress("good.site.org") as e:
        e.say({"sync": 1})
        assert e.line("synced") == 1
        for number in range(2, 22):
            # more frames than one turn handles, and more bytes than one read takes
            e.send(*(opening(1000 * number + i, "none.site.org") for i in range(500)))
            e.say({"sync": number})
            for i in range(500):
                e.net(name="none.site.org", verdict="deny")
            assert e.line("synced") == number
            for i in range(500):
                e.refused(1000 * number + i, "no-rule")


def confined():
    with egress("good.site.org") as e:
        folder = pathlib.Path(f"/proc/{e.process.pid}")
        status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines())
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        assert {status["Cap" + s] for s in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}


def calls():
    """Nothing that it does is missing from the list of its calls."""
    trace = pathlib.Path(sys.argv[3]) / "trace"
    with egress("good.site.org", "many.site.org", "half.site.org", {"ask": "ask.org"},
                under=["strace", "-f", "-o", str(trace)]) as e:
        e.send(opening(1, "good.site.org"), opening(2, "half.site.org"), opening(3, "many.site.org"))
        for _ in range(3):
            assert e.reply().kind == OK
        e.say({"set": {"rules": []}})
        e.take_set()
    made = trace.read_text().partition("seccomp(")[2]
    bad = [line for line in made.splitlines() if "ENOSYS" in line or "EACCES" in line]
    assert "connect(" in made and not bad, bad


def is_sanitized():
    return "/asan/" in PROGRAM or "/checked/" in PROGRAM


if sys.argv[1] == "--internet":
    be_internet()
PROGRAM = sys.argv[1]
INTERNET = make_world(sys.argv[3])
try:
    globals()[sys.argv[2]]()
finally:
    INTERNET.kill()
