#!/usr/bin/env -S python3 -SE
"""net_attacks.py play GROUP HUTCH SECONDS [FLAG...]: ways past the rules of --network allow, tried in
a sandbox in the network of net_world.sh; each is a row of a table.

A row has the name of the try, what it must come to inside, and the try: a function that returns this
in a word or two.  Most rows also say what the same try comes to on the host, where no rule is asked:
one that reaches nothing there would prove nothing inside.  A try ends after SECONDS at the latest and
comes to "hangs" then.  Prints a line for each row that came to something else, and for each name that
was asked and each address that was reached in the internet which no rule allows.

A HUTCH in a folder "single" makes the form without veth devices, in which the gate listens in the
guest's own namespace; SINGLE has what comes out otherwise there.

`rows GROUP SECONDS FORM` is the part that runs in the sandbox, which reads this file from stdin.
"""
import contextlib
import ctypes
import errno
import itertools
import os
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading

GATE, PUBLIC = "10.0.2.2", "93.184.216.34"
PRIVATE = """private own own6 private192 private172 shared loop loop6 zero zero6 link link6 unique6 fake reserved
    many everyone metadata metadata6 azure alibaba oracle mapped6 compatible6 nat64 six2four teredo
    inward""".split()
ALLOWED = ["example.org", "example.org:7000", "example.org:8443", "other.org", "mixed.org", "outward.org",
           "rebinding.org", "own.org:7000", "loop.org:7000", "loop6.org:7000", "none.org", "*.wild.org",
           *(f"{name}.org" for name in PRIVATE)]
REACHABLE = {f"tcp {PUBLIC} {port}" for port in (80, 443, 7000, 8443)} | {
    "tcp 93.184.216.35 80", "tcp 93.184.216.35 443", "tcp 93.184.216.36 80"} | {
    f"host {name}" for name in "example.org EXAMPLE.ORG example.org:80 mixed.org outward.org a.wild.org".split()}
EVERY = {f"tcp {PUBLIC} {port}" for port in (22, 853)}  # by the rule of the group "every"
ROWS = []


def row(group, name, want, action, *args, host=None):
    """Adds a row; `want` and `host` are a word, or a tuple of those that are as good; None: not tried."""
    ROWS.append((group, name, want, host, action, args))


def come_to(action, *args):
    """The result of a try: its word, or one for the error that ended it."""
    words = {ConnectionRefusedError: "refused", ConnectionResetError: "reset", BrokenPipeError: "reset",
             PermissionError: "denied", TimeoutError: "hangs", socket.gaierror: "no name"}
    try:
        return action(*args)
    except ssl.SSLEOFError:
        return "reset"
    except ssl.SSLError as error:  # an OSError, whose number is one of OpenSSL's own
        return error.reason
    except OSError as error:
        return words.get(type(error)) or errno.errorcode.get(error.errno, str(error))


# --- connections ---------------------------------------------------------------------------

REQUEST = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"


def connect(host, port):
    return socket.create_connection((host, port))


def talk(sock, *pieces):
    """Sends the pieces, each in a segment of its own, and says whether a byte comes back."""
    with sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            sock.sendall(piece)
        return "reached" if sock.recv(1) else "closed"


def web(host, port=80):
    return talk(connect(host, port), REQUEST)


def over(kind, proto, host, port=80):
    """Like web(), with a socket of another protocol than TCP."""
    sock = socket.socket(socket.AF_INET, kind, proto)
    sock.connect((host, port))
    return talk(sock, REQUEST)


def from_device(device):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
    sock.connect((PUBLIC, 80))
    return talk(sock, REQUEST)


def fast_open():
    sock = socket.socket()
    patience = struct.pack("@ll", int(sock.gettimeout()), 0)
    sock.setblocking(True)
    for name in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, name, patience)
    sock.sendto(REQUEST, socket.MSG_FASTOPEN, (PUBLIC, 80))
    return talk(sock)


def reconnect():
    """A socket that was connected to an allowed name is connected to an address."""
    with socket.socket() as sock:
        sock.connect(("example.org", 80))
        disconnect(sock)
        sock.connect((PUBLIC, 80))
        return talk(sock.dup(), REQUEST)


def disconnect(sock):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(sock.fileno(), struct.pack("H", socket.AF_UNSPEC).ljust(16, b"\0"), 16) < 0:
        raise OSError(ctypes.get_errno(), "disconnect")


def datagram(host, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect((host, port))
        sock.send(b"x")
        return "reached" if sock.recv(100) else "empty"


def datagrams(host, family):
    """What 100 datagrams come to, which are more than the kernel's limits of errors let through."""
    return " ".join({come_to(datagram, host, 443, family) for _ in range(100)})


def old_address():
    """An address of a name is used after the guest has asked for 5,000 names that come and go."""
    kept = socket.gethostbyname("example.org")
    for i in range(5000):
        resolve(f"n{i}.wild.org")
    return web(kept)


LITERALS = """93.184.216.34 ::ffff:93.184.216.34 ::93.184.216.34 64:ff9b::5db8:d822 64:ff9b:1::5db8:d822
    2002:5db8:d822::1 2001:0:5db8:d822:0:0:a247:27dd 2606:2800:220:1::1 1572395042 0x5db8d822 0135.0270.0330.042
    0x5d.0xb8.0xd8.0x22 93.12113954 93.184.55330 10.9.0.2 169.254.169.254 100.100.100.200 168.63.129.16
    192.168.1.1 172.16.0.1 fd00:9::2 fd00:ec2::254 198.18.200.7 198.17.0.1 198.20.0.1 fd00:2:1::c612:c807
    10.9.0.1 fd00:9::1""".split()
for text in LITERALS:
    own = text in ("10.9.0.1", "fd00:9::1")
    odd = text.startswith(("::93", "64:", "2002:", "2001:"))
    row("addresses", f"address {text}", "reset", web, text, 7000 if own else 80, host=None if odd else "reached")
row("addresses", "an address on port 443", "reset", web, PUBLIC, 443, host=("reached", "reset", "closed"))
row("addresses", "an address on a port that a name's rule names", "reset", web, PUBLIC, 7000, host="reached")
row("addresses", "an address that stands for refused names", "denied", web, "198.19.200.7", host="reached")
row("addresses", "the gate", "reset", web, GATE, host="reached")
row("addresses", "the gate's other port", "reset", web, GATE, 7000, host="reached")
row("addresses", "the gate's address in IPv6", "reset", web, "fd00:2::2", host="reached")
row("addresses", "a neighbour of the gate", "reset", web, "10.0.2.99", host="reached")
row("addresses", "the host's loopback", "refused", web, "127.0.0.1", 7000, host="reached")
row("addresses", "the host's loopback, another address of it", "refused", web, "127.9.9.9", 7000, host="reached")
row("addresses", "the host's loopback in IPv6", "refused", web, "::1", 7000, host="reached")
row("addresses", "the host's loopback as 0.0.0.0", "refused", web, "0.0.0.0", 7000, host="reached")
row("addresses", "the host by the name for rules of @host", ("denied", "no name"), web, "host.hutch.internal", 7000)
row("addresses", "a multicast address", ("EINVAL", "ENETUNREACH"), web, "224.0.0.1")
row("addresses", "MPTCP", ("reset", "denied", "EPROTONOSUPPORT", "EAFNOSUPPORT"), over, socket.SOCK_STREAM, 262,
    PUBLIC)
row("addresses", "a device that is named", ("reset", "denied"), from_device, b"eth0")
row("addresses", "data in the SYN", ("reset", "denied"), fast_open, host="reached")
row("addresses", "a socket that was connected to a name before", "reset", reconnect, host="reached")
row("addresses", "an allowed name", "reached", web, "example.org", host="reached")
row("addresses", "an allowed name with a dot", "reached", web, "example.org.", host="reached")
row("addresses", "an allowed name in capitals", "reached", web, "EXAMPLE.org", host="reached")
row("addresses", "an allowed name's address after 5,000 names", ("reached", "reset"), old_address)

for name in PRIVATE:
    row("names", f"{name}.org", "403", lambda name: http(name, f"GET / HTTP/1.1\r\nHost: {name}\r\n\r\n"),
        f"{name}.org")
for name in ("own.org", "loop.org", "loop6.org"):
    row("names", f"{name} on a port of this host", "reset", web, name, 7000, host="reached")
for name in ("example.org", "mixed.org", "outward.org", "a.wild.org"):
    row("names", name, "200", lambda name: http(name, f"GET / HTTP/1.1\r\nHost: {name}\r\n\r\n"), name, host="200")
row("names", "a name that leads elsewhere at the second question", "403",
    lambda: http("rebinding.org", "GET / HTTP/1.1\r\nHost: rebinding.org\r\n\r\n"))
row("names", "a name without a rule", "denied", web, "stranger.org", host="reached")
row("names", "a name without a rule on another port", "denied", web, "stranger.org", 7000, host="reached")

# --- ports ---------------------------------------------------------------------------------


def scan(host):
    """The ports of the host that accept connections, if only to reset them."""
    found = []
    for port in range(1, 65536):
        with socket.socket() as sock:
            if sock.connect_ex((host, port)) in (0, errno.ECONNRESET):
                found.append(str(port))
    return " ".join(found)


row("ports", "every port of the gate", "53 80 443 7000 8443", scan, GATE)
for port in (22, 853, 7001, 8080, 65535):
    row("ports", f"port {port} of an allowed name", "refused", web, "example.org", port,
        host="reached" if port in (22, 853) else None)
row("ports", "port 0 of an allowed name", "refused", web, "example.org", 0)
row("ports", "a port that a rule for another name has", "reset", web, "other.org", 7000, host="reached")
row("ports", "a port that the rule names", "reached", web, "example.org", 7000, host="reached")
for port in (123, 443, 7000):
    row("ports", f"UDP to port {port} of an allowed name", "refused", datagram, "example.org", port, host="reached")
    row("ports", f"UDP to port {port} of an address", "refused", datagram, PUBLIC, port, host="reached")
row("ports", "100 datagrams to an allowed name", "refused", datagrams, "example.org", socket.AF_INET)
row("ports", "100 datagrams to an address of IPv6", "refused", datagrams, "2606:2800:220:1::1", socket.AF_INET6)
row("ports", "UDP to a name without a rule", "denied", datagram, "stranger.org", 443)
row("ports", "UDP to the gate", "refused", datagram, GATE, 54)
row("ports", "SCTP", ("refused", "denied", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT"), over,
    socket.SOCK_STREAM, 132, "example.org")
row("ports", "DCCP", ("refused", "denied", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ESOCKTNOSUPPORT"), over, 6, 33,
    "example.org")
row("ports", "UDP-Lite", ("refused", "denied", "EPROTONOSUPPORT", "EAFNOSUPPORT"), over, socket.SOCK_DGRAM, 136,
    "example.org")

# The rule "example.org:*" stands beside the others; the kernel leads each TCP port to the gate.
for port in (22, 853, 7000):
    row("every", f"port {port} of the host whose ports are all allowed", "reached", web, "example.org", port,
        host="reached")
row("every", "a port of it at which nothing listens", "reset", web, "example.org", 7001, host="refused")
row("every", "port 0 of it", "reset", web, "example.org", 0)
for port in (22, 853):
    row("every", f"port {port} of another host that is allowed", "reset", web, "other.org", port, host="reached")
    row("every", f"port {port} of a host without a rule", "denied", web, "stranger.org", port, host="reached")
    row("every", f"port {port} of its address", "reset", web, PUBLIC, port, host="reached")
    row("every", f"port {port} of its address in IPv6", "reset", web, "2606:2800:220:1::1", port, host="reached")
    row("every", f"port {port} of a name below it", "denied", web, "sub.example.org", port)
    row("every", f"UDP to port {port} of it", "refused", datagram, "example.org", port)
for name in "own.org", "loop.org", "loop6.org":
    row("every", f"{name} on a port of this host", "reset", web, name, 7000, host="reached")
for port in (22, 53, 7000, 40000):
    row("every", f"port {port} of the guest's own loopback", "refused", web, "127.0.0.1", port)
    row("every", f"port {port} of the guest's own address", "refused", web, "10.0.2.15", port)
row("every", "the gate on another port", "reset", web, GATE, 22, host="reached")
row("every", "the gate's address in IPv6 on another port", "reset", web, "fd00:2::2", 22, host="reached")
row("every", "metadata", "reset", web, "169.254.169.254", 22, host="reached")
row("every", "a metadata service by its name", "reset", web, "metadata.org", 7000)
for port in (123, 443, 7000):
    row("every", f"UDP to port {port} of it", "refused", datagram, "example.org", port, host="reached")
    row("every", f"UDP to port {port} of an address", "refused", datagram, PUBLIC, port, host="reached")

# --- DNS -----------------------------------------------------------------------------------

TYPES = dict(A=1, NS=2, CNAME=5, SOA=6, NULL=10, PTR=12, MX=15, TXT=16, AAAA=28, SRV=33, NAPTR=35, SVCB=64, HTTPS=65,
             IXFR=251, AXFR=252, ANY=255)
CODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"]
numbers = itertools.count(1)


def encode(name):
    """A name as it stands in a message; bytes are one already."""
    if isinstance(name, bytes):
        return name
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


def question(name, kind="A", flags=0x0100, count=1, family=1, more=b"", extra=0):
    body = encode(name) + struct.pack(">HH", TYPES[kind], family)
    return struct.pack(">HHHHHH", next(numbers), flags, count, 0, 0, extra) + body + more


def behind_name(message, at):
    """Where a name of the message ends."""
    while message[at] and message[at] < 0xc0:
        at += 1 + message[at]
    return at + (2 if message[at] else 1)


def summary(reply):
    """The code of an answer, and the first half of the address in it."""
    text, at = CODES[reply[3] & 15], 12
    if reply[6:8] == b"\0\0":
        return text
    at = behind_name(reply, behind_name(reply, at) + 4)
    kind, size = struct.unpack(">HxxxxxxH", reply[at:at + 10])
    return f"{text} {reply[at + 10]}.{reply[at + 11]}" if kind == 1 and size == 4 else f"{text} type {kind}"


def ask(message, server=GATE, port=53):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((server, port))
        sock.send(message)
        reply = sock.recv(4096)
        return summary(reply) if reply[:2] == message[:2] else "another's answer"


def ask_before(message):
    """Asks, and behind that asks for a name whose answer is there at once: "nothing" if this comes first."""
    second = question("example.org", "AAAA")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((GATE, 53))
        sock.send(message)
        sock.send(second)
        reply = sock.recv(4096)
        return "nothing" if reply[:2] == second[:2] else summary(reply)


def ask_stream(message, server=GATE, pieces=1):
    framed = len(message).to_bytes(2, "big") + message
    step = -(-len(framed) // pieces)
    with connect(server, 53) as sock, sock.makefile("rb") as file:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(framed), step):
            sock.sendall(framed[at:at + step])
        size = int.from_bytes(file.read(2), "big")
        return summary(file.read(size)) if size else "closed"


def spelled(name):
    """The name that the answer says it is for; resolvers look whether its letters are as they were asked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((GATE, 53))
        sock.send(question(name))
        reply = sock.recv(4096)
        return ".".join(re.findall(r"\w+", reply[12:behind_name(reply, 12)].decode()))


def resolve(name):
    return come_to(ask, question(name))


LONG = b"\x3f" + b"a" * 63
for name, want in {
    "stranger.org": "NOERROR 198.19", "secret-data.stranger.org": "NOERROR 198.19",
    "a.b.c.example.org": "NOERROR 198.19",
    "sub.example.org": "NOERROR 198.19", "example.org.evil.org": "NOERROR 198.19", "wild.org": "NOERROR 198.19",
    "example.org": "NOERROR 198.18", "EXAMPLE.ORG": "NOERROR 198.18", "none.org": "NXDOMAIN",
    "secret-data.wild.org": "NOERROR 198.18", "example": "NXDOMAIN", "secret.local": "NXDOMAIN",
    "secret.internal": "NXDOMAIN", "localhost": "NXDOMAIN", "metadata.google.internal": "NXDOMAIN",
}.items():
    row("dns", f"the name {name}", want, ask, question(name))
for name, text in {
    "a NUL": b"\x0bexample\0org\x03org\0", "a dot in a label": b"\x0bexample.org\0",
    "a blank": b"\x08exa mple\x03org\0",
    "UTF-8": b"\x08ex\xc3\xa4mple\x03org\0", "a star": b"\x01*\x04wild\x03org\0", "an @": b"\x06a@wild\x03org\0",
    "a percent sign": b"\x09wild%2eorg\x03org\0", "a line's end": b"\x08a\r\nb.org\x03org\0",
    "a slash": b"\x05x/org\x03org\0",
    "300 bytes": LONG * 4 + b"\x2a" + b"a" * 42 + b"\0", "the root": b"\0",
    "numbers only": b"\x0293\x03184\x03216\x0234\0", "a number": b"\x0a0x5db8d822\0",
}.items():
    row("dns", f"a name with {name}", ("FORMERR", "NXDOMAIN", "REFUSED", "nothing"), ask_before, question(text))
for name, text in {
    "a pointer to itself": b"\xc0\x0c", "a pointer beyond the end": b"\xc0\xff",
    "a label of 64 bytes": b"\x40" + b"a" * 64 + b"\0", "no end": b"\x3fabc",
}.items():
    row("dns", f"a name with {name}", ("FORMERR", "nothing"), ask_before, question(text))
for kind in TYPES:
    if kind not in ("A", "ANY", "PTR"):
        row("dns", f"{kind} of an allowed name", ("NOERROR", "NOTIMP", "REFUSED"), ask, question("example.org", kind))
        row("dns", f"{kind} of another name", ("NOERROR", "NXDOMAIN", "NOTIMP", "REFUSED"), ask,
            question("secret-data.stranger.org", kind))
row("dns", "ANY of an allowed name", ("NOERROR 198.18", "NOERROR"), ask, question("example.org", "ANY"))
row("dns", "ANY of another name", ("NOERROR 198.19", "NOERROR"), ask, question("stranger.org", "ANY"))
row("dns", "the pointer of a foreign address", "NXDOMAIN", ask, question("34.216.184.93.in-addr.arpa", "PTR"))
row("dns", "the pointer of a name with data", "NXDOMAIN", ask, question("secret-data.in-addr.arpa", "PTR"))
row("dns", "class CHAOS", ("NOTIMP", "REFUSED", "FORMERR", "NXDOMAIN"), ask, question("version.bind", "TXT", family=3))
row("dns", "two questions", ("FORMERR", "NOTIMP"), ask_before,
    question("example.org", count=2, more=encode("stranger.org") + struct.pack(">HH", 1, 1)))
row("dns", "no question", ("FORMERR", "nothing"), ask_before, question("example.org", count=0))
row("dns", "an answer in place of a question", "nothing", ask_before, question("stranger.org", flags=0x8180))
row("dns", "an update", ("NOTIMP", "FORMERR", "REFUSED", "nothing"), ask_before, question("stranger.org", flags=0x2800))
row("dns", "a header alone", ("FORMERR", "nothing"), ask_before, bytes(12))
row("dns", "one byte", "nothing", ask_before, b"x")
row("dns", "60,000 bytes", ("FORMERR", "nothing"), ask_before, question("stranger.org", more=bytes(60000)))
OPT = b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0)
row("dns", "EDNS", "NOERROR 198.18", ask, question("example.org", more=OPT, extra=1))
row("dns", "EDNS with data in an option", "NOERROR 198.19", ask,
    question("stranger.org", more=OPT[:-2] + struct.pack(">HHH", 14, 65001, 10) + b"secretdata", extra=1))
row("dns", "two EDNS records", ("FORMERR", "nothing"), ask_before, question("stranger.org", more=OPT + OPT, extra=2))
for server in ("8.8.8.8", PUBLIC, "10.9.0.2", "127.0.0.53"):
    local = server.startswith("127")
    want = "refused" if local else "NOERROR 198.19"
    row("dns", f"the server {server} by UDP", want, ask, question("stranger.org"), server,
        host={PUBLIC: "NOERROR 93.184", "10.9.0.2": "NOERROR 93.184"}.get(server))
    row("dns", f"the server {server} by TCP", want, ask_stream, question("stranger.org"), server,
        host=None if local else "NOERROR 93.184")
row("dns", "another port of the resolver", "refused", ask, question("stranger.org"), GATE, 5353)
row("dns", "DNS over TLS", "refused", web, "8.8.8.8", 853, host="reached")
row("dns", "a question in pieces by TCP", "NOERROR 198.19", ask_stream, question("stranger.org"), GATE, 20)
row("dns", "a question of no length by TCP", "closed", lambda: ask_stream(b""))
row("dns", "the name as it was written, in the answer", "eXaMpLe.OrG", spelled, "eXaMpLe.OrG")
row("dns", "an allowed name by TCP", "NOERROR 198.18", ask_stream, question("example.org"))

# --- TLS -----------------------------------------------------------------------------------

UNCHECKED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
UNCHECKED.check_hostname = False
UNCHECKED.verify_mode = ssl.CERT_NONE


class Client:
    """A client of TLS whose bytes the caller carries."""

    def __init__(self, name):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = UNCHECKED.wrap_bio(self.incoming, self.outgoing, server_hostname=name)

    def step(self, data=b""):
        """Takes the server's bytes, and returns the client's next ones."""
        if data:
            self.incoming.write(data)
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.outgoing.read()


def hello(name=None):
    return Client(name).step()


def sni(*names, kind=0):
    """The content of the extension that names the server."""
    text = b"".join(struct.pack(">BH", kind, len(name)) + name for name in names)
    return len(text).to_bytes(2, "big") + text


def with_extensions(*extra):
    """A hello without a name, with these extensions (type, content) before its own."""
    record = hello()
    message = record[9:]
    at = 34
    for size in (1, 2, 1):
        at += size + int.from_bytes(message[at:at + size], "big")
    added = b"".join(struct.pack(">HH", kind, len(body)) + body for kind, body in extra)
    rest = added + message[at + 2:]
    return handshake(message[:at] + len(rest).to_bytes(2, "big") + rest)


def handshake(body, size=16384):
    """The records of a ClientHello, each with `size` bytes at most."""
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part
                    for part in (message[at:at + size] for at in range(0, len(message), size)))


def say(data, host="example.org", port=443, size=1 << 20):
    return talk(connect(host, port), *(data[at:at + size] for at in range(0, len(data), size)))


def say_greeted(data, host="example.org", port=22):
    """Says whether a server that greets sends the data back."""
    with connect(host, port) as sock, sock.makefile("rb") as file:
        file.readline()
        sock.sendall(data)
        return "reached" if file.read(1) else "closed"


def tls_web(name, host="example.org", port=443):
    """Asks over TLS that names `name`, which is None for none."""
    with connect(host, port) as sock, UNCHECKED.wrap_socket(sock, server_hostname=name) as secure:
        secure.sendall(REQUEST)
        return "reached" if secure.recv(1) else "closed"


def retry(old, new):
    """The second hello, after a HelloRetryRequest, has another name."""
    client = Client("example.org")
    with connect("example.org", 8443) as sock:
        sock.sendall(client.step())
        second = client.step(sock.recv(4096))
        if old not in second:
            return "no second hello"
        return talk(sock.dup(), second.replace(old, new))


SSL2 = b"\x80\x2e\x01\x03\x03\x00\x15\x00\x00\x00\x10" + b"\x00\x00\x2f" * 7 + bytes(16)
row("tls", "the connection's name", "reached", tls_web, "example.org", host="reached")
row("tls", "the name with a dot", ("reached", "reset"), say, with_extensions((0, sni(b"example.org."))), host="reached")
row("tls", "the name in capitals", "reached", say, with_extensions((0, sni(b"EXAMPLE.org"))), host="reached")
row("tls", "another name", "reset", tls_web, "stranger.org", host="reached")
row("tls", "another name that is allowed, too", "reset", tls_web, "other.org", host="reached")
row("tls", "a name below", "reset", tls_web, "a.example.org", host="reached")
row("tls", "no name", "reset", tls_web, None, host="reached")
row("tls", "an address in place of a name", "reset", say, with_extensions((0, sni(PUBLIC.encode()))), host="reached")
row("tls", "two names", "reset", say, with_extensions((0, sni(b"example.org", b"other.org"))), host="reached")
row("tls", "two extensions with names", "reset", say,
    with_extensions((0, sni(b"example.org")), (0, sni(b"other.org"))), host="reached")
row("tls", "a name with a NUL", "reset", say, with_extensions((0, sni(b"example.org\0.other.org"))), host="reached")
row("tls", "a name of another kind", "reset", say, with_extensions((0, sni(b"example.org", kind=1))), host="reached")
row("tls", "an empty list of names", "reset", say, with_extensions((0, sni())), host="reached")
row("tls", "an empty extension", "reset", say, with_extensions((0, b"")), host="reached")
row("tls", "a byte behind the list", "reset", say, with_extensions((0, sni(b"example.org") + b"x")), host="reached")
row("tls", "a blank behind the name", "reset", say, with_extensions((0, sni(b"example.org "))), host="reached")
row("tls", "another name, split into segments", "reset", say, hello("other.org"), "example.org", 443, 7, host="reached")
row("tls", "the connection's name, split into segments", "reached", say, hello("example.org"), "example.org", 443,
    7, host="reached")
row("tls", "another name, split into records", "reset", say, handshake(hello("other.org")[9:], 40), host="reached")
row("tls", "the connection's name, split into records", "reached", say, handshake(hello("example.org")[9:], 40),
    host="reached")
row("tls", "a false encrypted hello with another name outside", "reset", say,
    with_extensions((0xfe0d, bytes(40)), (0, sni(b"other.org"))), host="reached")
row("tls", "a hello of SSLv2", "reset", say, SSL2)
row("tls", "an alert before the hello", "reset", say, b"\x15\x03\x01\x00\x02\x01\x00" + hello("other.org"))
row("tls", "a change of ciphers before the hello", "reset", say, b"\x14\x03\x01\x00\x01\x01" + hello("other.org"),
    host=("reached", "closed"))
row("tls", "an empty record before the hello", "reset", say, b"\x16\x03\x01\x00\x00" + hello("other.org"),
    host="reached")
row("tls", "a record of 65,535 bytes", "reset", say, b"\x16\x03\x01\xff\xff" + hello("other.org")[5:], host="reached")
row("tls", "a record of version 0", "reset", say, b"\x16\x00\x00" + hello("other.org")[3:],
    host=("reached", "closed", "reset"))
row("tls", "another name on a port that a rule names", "reset", tls_web, "other.org", "example.org", 8443,
    host="reached")
row("tls", "no name on a port that a rule names", "reset", tls_web, None, "example.org", 8443, host="reached")
row("tls", "the connection's name on a port that a rule names", "reached", tls_web, "example.org", "example.org", 8443,
    host="reached")
row("tls", "another name in the second hello", "reset", retry, b"example.org", b"example.net", host="reached")
row("tls", "the connection's name in the second hello", "reached", retry, b"example.org", b"example.org",
    host="reached")
row("every", "TLS with another name on a port that only the rule for each has", "reset", say_greeted,
    hello("other.org"), host="reached")
row("every", "TLS with the connection's name on that port", "reached", say_greeted, hello("example.org"),
    host="reached")
row("every", "TLS with another name at port 443", "reset", tls_web, "other.org", host="reached")
row("every", "HTTP for another host at port 80", "403",
    lambda: http("example.org", "GET / HTTP/1.1\r\nHost: other.org\r\n\r\n"))
for host_name in "example.org", PUBLIC:
    row("every", f"port 53 of {host_name}, which is the gate's resolver", "NOERROR 198.19", ask_stream,
        question("stranger.org"), host_name)
row("tls", "HTTP on the port of TLS", "reset", say, REQUEST, host="reached")
row("tls", "a line of the PROXY protocol before the hello", "reset", say,
    b"PROXY TCP4 93.184.216.35 93.184.216.35 1 443\r\n" + hello("other.org"), host="reached")
row("tls", "a blank line before the hello", "reset", say, b"\r\n" + hello("other.org"))
row("tls", "HTTP/2 without TLS", "reset", say, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", host="reached")
row("tls", "HTTP on a port that a rule names", "reached", say, REQUEST, "example.org", 8443, host="reached")
row("tls", "no rule for the name", "denied", tls_web, "stranger.org", "stranger.org", host="reached")
row("tls", "another name's address", "reset", tls_web, "example.org", "other.org", host="reached")

# --- HTTP ----------------------------------------------------------------------------------


def http(host, *requests):
    """Sends the requests, each after the last one's answer, and returns the answers' codes."""
    codes = []
    with connect(host, 80) as sock, sock.makefile("rb") as file:
        try:
            for request in requests:
                sock.sendall(request.encode("latin-1"))
                codes.append(read_code(file))
        except (ConnectionResetError, BrokenPipeError):
            codes.append("reset")
        return " ".join(codes)


def read_code(file):
    line, size = file.readline(), 0
    while (field := file.readline()).strip():
        if field.lower().startswith(b"content-length:"):
            size = int(field.split(b":")[1])
    file.read(size)
    return line.split()[1].decode() if line else "closed"


def websocket():
    """Lines of no HTTP go both ways once the server has made a websocket."""
    with connect("example.org", 80) as sock, sock.makefile("rb") as file:
        sock.sendall(f"GET /echo HTTP/1.1\r\n{HOST}{UPGRADE}\r\n".encode())
        code = read_code(file)
        sock.sendall(b"a line\n" + BAD.encode())
        return f"{code} {file.readline().decode().strip()} {file.readline().split()[0].decode()}"


def end_behind(request):
    """The guest sends its end behind the request, and the answer still comes."""
    with connect("example.org", 80) as sock, sock.makefile("rb") as file:
        sock.sendall(request.encode())
        sock.shutdown(socket.SHUT_WR)
        return read_code(file)


HOST = "Host: example.org\r\n"
UPGRADE = """Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"""
OTHER = "Host: other.org\r\n"
GOOD = f"GET / HTTP/1.1\r\n{HOST}\r\n"
BAD = f"GET / HTTP/1.1\r\n{OTHER}\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
for name, request, host in (
    ("another host", BAD, "200"),
    ("no host", "GET / HTTP/1.1\r\n\r\n", "200"),
    ("no host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "200"),
    ("two hosts", f"GET / HTTP/1.1\r\n{HOST}{OTHER}\r\n", "200"),
    ("two hosts, the other one first", f"GET / HTTP/1.1\r\n{OTHER}{HOST}\r\n", "200"),
    ("the host in small letters, and another", f"GET / HTTP/1.1\r\nhOST: other.org\r\n{HOST}\r\n", "200"),
    ("a blank before the colon", "GET / HTTP/1.1\r\nHost : other.org\r\n\r\n", None),
    ("a host that goes on in the next line", "GET / HTTP/1.1\r\nHost: example.org\r\n .evil.org\r\n\r\n", None),
    ("a user before the host", "GET / HTTP/1.1\r\nHost: example.org@other.org\r\n\r\n", "200"),
    ("a list of hosts", "GET / HTTP/1.1\r\nHost: example.org, other.org\r\n\r\n", "200"),
    ("a NUL in the host", "GET / HTTP/1.1\r\nHost: example.org\0.evil.org\r\n\r\n", None),
    ("another port in the host", "GET / HTTP/1.1\r\nHost: example.org:8080\r\n\r\n", "200"),
    ("a URL of another host", f"GET http://other.org/ HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("a URL of another scheme", f"GET ftp://example.org/ HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("a URL with a user", f"GET http://example.org@other.org/ HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("a URL of the same host, and another host", f"GET http://example.org/ HTTP/1.1\r\n{OTHER}\r\n", "200"),
    ("a URL of another port", f"GET http://example.org:81/ HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("a target that begins with a host", f"GET other.org/ HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("a target with an @", f"GET @other.org/ HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("a target with a NUL", f"GET /\0 HTTP/1.1\r\n{HOST}\r\n", None),
    ("a target with a tab", f"GET\t/\tHTTP/1.1\r\n{HOST}\r\n", None),
    ("a host behind a vertical tab", f"GET / HTTP/1.1\r\n\x0bHost: other.org\r\n{HOST}\r\n", None),
    ("a tab before the colon", f"GET / HTTP/1.1\r\nHost\t: other.org\r\n{HOST}\r\n", None),
    ("an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "200"),
    ("a field without a name", f"GET / HTTP/1.1\r\n: other.org\r\n{HOST}\r\n", None),
    ("the first field folded", f"GET / HTTP/1.1\r\n Host: other.org\r\n{HOST}\r\n", None),
    ("a host that is an address", f"GET / HTTP/1.1\r\nHost: {PUBLIC}\r\n\r\n", "200"),
    ("a host with a port of no number", "GET / HTTP/1.1\r\nHost: example.org:80x\r\n\r\n", "200"),
    ("CONNECT", f"CONNECT other.org:443 HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("CONNECT to the same host", f"CONNECT example.org:443 HTTP/1.1\r\n{HOST}\r\n", "200"),
    ("an upgrade to anything", f"GET / HTTP/1.1\r\n{HOST}Connection: upgrade\r\nUpgrade: foo\r\n\r\n", "200"),
    ("an upgrade to TLS", f"GET / HTTP/1.1\r\n{HOST}Connection: upgrade\r\nUpgrade: TLS/1.0\r\n\r\n", "200"),
    ("a length and chunks", f"POST / HTTP/1.1\r\n{HOST}Content-Length: 4\r\n{CHUNKED}\r\n0\r\n\r\n{BAD}", None),
    ("two lengths", f"POST / HTTP/1.1\r\n{HOST}Content-Length: 0\r\nContent-Length: 40\r\n\r\n{BAD}", None),
    ("a length with a sign", f"POST / HTTP/1.1\r\n{HOST}Content-Length: +0\r\n\r\n{BAD}", None),
    ("a list of lengths", f"POST / HTTP/1.1\r\n{HOST}Content-Length: 0, 0\r\n\r\n{BAD}", None),
    ("a length in octal", f"POST / HTTP/1.1\r\n{HOST}Content-Length: 0x0\r\n\r\n{BAD}", None),
    ("a length beyond 64 bits", f"POST / HTTP/1.1\r\n{HOST}Content-Length: {1 << 64}\r\n\r\n{BAD}", None),
    ("an empty length", f"POST / HTTP/1.1\r\n{HOST}Content-Length: \r\n\r\n{BAD}", None),
    ("a length that is negative", f"POST / HTTP/1.1\r\n{HOST}Content-Length: -1\r\n\r\n{BAD}", None),
    ("chunks and another coding behind",
     f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{BAD}", None),
    ("chunks with a tab", f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{BAD}", None),
    ("chunks in quotes", f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n{BAD}", None),
    ("a chunk beyond 64 bits", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n1{'0' * 16}\r\n\r\n{BAD}", None),
    ("a chunk with a sign", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n-0\r\n\r\n{BAD}", None),
    ("a chunk without a size", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n\r\n{BAD}", None),
    ("a chunk that is longer than its size", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n1\r\nxx\r\n0\r\n\r\n{BAD}", None),
    ("an unknown coding", f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{BAD}", None),
    ("chunks twice", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}{CHUNKED}\r\n0\r\n\r\n{BAD}", None),
    ("chunks in HTTP/1.0", f"POST / HTTP/1.0\r\n{HOST}{CHUNKED}\r\n0\r\n\r\n{BAD}", None),
    ("a chunk of size 0x0", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n0x0\r\n\r\n{BAD}", None),
    ("a chunk that ends with a line feed", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n1\nx\n0\n\n{BAD}", None),
    ("lines that end with a line feed", "GET / HTTP/1.1\nHost: example.org\n\n" + BAD, None),
    ("a carriage return alone", f"GET / HTTP/1.1\r\nX: a\rHost: other.org\r\n{HOST}\r\n", None),
    ("HTTP/0.9", "GET /\r\n\r\n", None),
    ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None),
    ("a version that is none", f"GET / HTTP/1.2\r\n{OTHER}\r\n", None),
    ("a second request for another host behind the first", GOOD + BAD, "200"),
    ("a second request behind blank lines", f"{GOOD}\r\n\r\n{BAD}", "200"),
    ("a thousand requests, and one for another host", GOOD * 1000 + BAD, "200"),
    ("a request for another host behind a body", f"POST / HTTP/1.1\r\n{HOST}Content-Length: 1\r\n\r\nx{BAD}", None),
    ("a request for another host behind chunks",
     f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n1\r\nx\r\n0\r\n\r\n{BAD}", None),
    ("a trailer with another host", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n0\r\n{OTHER}\r\n{BAD}", None),
    ("a method with a blank", f"GE T / HTTP/1.1\r\n{HOST}\r\n", None),
    ("TLS on the port of HTTP", hello("other.org").decode("latin-1"), None),
    ("other bytes on the port of HTTP", "\0\1\2\3\r\n\r\n", None),
    ("a head of 100,000 bytes", f"GET / HTTP/1.1\r\nX: {'x' * 100000}\r\n{OTHER}\r\n", None),
):
    row("http", name, ("403", "reset"), http, "example.org", request, host=host)
for name, requests, want, host in (
    ("the connection's host", [GOOD], "200", "200"),
    ("the host with its port", ["GET / HTTP/1.1\r\nHost: example.org:80\r\n\r\n"], "200", "200"),
    ("the host in capitals", ["GET / HTTP/1.1\r\nHOST: EXAMPLE.ORG\r\n\r\n"], "200", "200"),
    ("a URL of the same host", [f"GET http://example.org/ HTTP/1.1\r\n{HOST}\r\n"], "200", "200"),
    ("two requests on a connection", [GOOD, GOOD], "200 200", "200 200"),
    ("another host in the second request", [GOOD, BAD], "200 reset", "200 200"),
    ("no host in the second request", [GOOD, "GET / HTTP/1.1\r\n\r\n"], "200 reset", "200 200"),
    ("another host after an upgrade that the server has not made",
     [f"GET / HTTP/1.1\r\n{HOST}{UPGRADE}\r\n", BAD], "200 reset", "200 200"),
    ("another host after an upgrade to HTTP/2",
     [f"GET / HTTP/1.1\r\n{HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: AAMAAABk\r\n\r\n", BAD], "200 reset", "200 200"),
    ("an upgrade to anything in the second request",
     [GOOD, f"GET / HTTP/1.1\r\n{HOST}Connection: upgrade\r\nUpgrade: foo\r\n\r\n"],
     "200 reset", "200 200"),
):
    row("http", name, want, http, "example.org", *requests, host=host)

row("http", "a websocket", "101 a line GET", websocket, host="101 a line GET")
row("http", "an upgrade that the server has not made, with a request for another host behind it", ("200", "reset"),
    http, "example.org", f"GET / HTTP/1.1\r\n{HOST}{UPGRADE}\r\n{BAD}", host="200")
row("http", "the end behind a request", "200", end_behind, GOOD, host="200")
row("http", "the end behind a half of a request", "closed", end_behind, GOOD[:20])

# --- a second look -------------------------------------------------------------------------
# A reader of the gate, who had written neither it nor the groups above, has thought of these 74 ways.


def from_port(port):
    """Connects to an address from a port that stands for a service."""
    with socket.socket() as sock:
        sock.bind(("", port))
        sock.connect((PUBLIC, 80))
        return talk(sock.dup(), REQUEST)


def with_option(level, name, value, host=PUBLIC):
    with socket.socket() as sock:
        sock.setsockopt(level, name, value)
        sock.connect((host, 80))
        return talk(sock.dup(), REQUEST)


def urgent(*pieces):
    """Says what comes back for the pieces, each of which ends with a byte of urgent data."""
    with connect("example.org", 80) as sock:
        for piece in pieces:
            sock.send(piece, socket.MSG_OOB)
        sock.shutdown(socket.SHUT_WR)
        return sock.makefile("rb").read(12).decode()[9:] or "closed"


def in_name_order(*names):
    """A connection to the address that the last name has, after the others were asked for."""
    return web([socket.gethostbyname(name) for name in names][-1])


ADDED = "GET / HTTP/1.1\r\nHost: "
for name, text in {
    "a percent sign in the host": "example%2eorg", "an encoded NUL in the host": "example.org%00.other.org",
    "an address of IPv6 as the host": "[::ffff:93.184.216.35]", "a port with a zero before it": "example.org:080",
    "a colon without a port": "example.org:", "two dots behind the host": "example.org..",
    "a dot before the host": ".example.org", "a path in the host": "example.org/other.org",
    "a fragment in the host": "example.org#.other.org", "a question mark in the host": "example.org?.other.org",
    "a backslash in the host": "example.org\\.other.org", "a semicolon in the host": "example.org;other.org",
    "a tab behind the host": "example.org\tother.org", "a blank behind the host": "example.org other.org",
    "a wide letter in the host": "\xef\xbd\x85xample.org", "a scheme in the host": "http://example.org",
    "quotes around the host": '"example.org"', "a port beyond 16 bits": "example.org:65616",
}.items():
    row("second", name, ("403", "reset"), http, "example.org", f"{ADDED}{text}\r\n\r\n", host="200")
for name, target in {
    "a URL of TLS": "https://example.org/", "a URL without a host": "http:///other.org/",
    "a URL with one slash": "http:/other.org/", "a URL in capitals": "HTTP://OTHER.ORG/",
    "a URL with a port for a user": "http://example.org:80@other.org/",
    "a URL with a backslash": "http://other.org\\@example.org/",
    "a URL with a fragment for a host": "http://example.org#@other.org/",
    "a URL with a question mark for a path": "http://other.org?http://example.org/",
    "a URL of websockets": "ws://other.org/", "a target of no bytes": "",
    "a star": "*", "an authority": "example.org:80",
}.items():
    row("second", name, ("403", "reset"), http, "example.org", f"GET {target} HTTP/1.1\r\n{HOST}\r\n",
        host="200" if target else None)
for name, request, host in (
    ("a list of Connection that drops Host", f"GET / HTTP/1.1\r\n{HOST}Connection: close, Host\r\n\r\n", "200"),
    ("a list of Connection that drops the length",
     f"POST / HTTP/1.1\r\n{HOST}Content-Length: 40\r\nConnection: content-length\r\n\r\n{BAD}", None),
    ("underscores in a length", f"POST / HTTP/1.1\r\n{HOST}Content_Length: 40\r\n\r\n{BAD}", None),
    ("an underscore in the coding", f"POST / HTTP/1.1\r\n{HOST}Transfer_Encoding: chunked\r\n\r\n0\r\n\r\n{BAD}", None),
    ("a length twice", f"POST / HTTP/1.1\r\n{HOST}Content-Length: 0\r\nContent-Length: 0\r\n\r\n{BAD}", "204"),
    ("an extension of a chunk", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n0;a=b\r\n\r\n{BAD}", None),
    ("a chunk of nine digits", f"POST / HTTP/1.1\r\n{HOST}{CHUNKED}\r\n000000000\r\n\r\n{BAD}", None),
    ("a connect in small letters", f"connect other.org:443 HTTP/1.1\r\n{HOST}\r\n", "501"),
    ("OPTIONS of all, for another host", f"OPTIONS * HTTP/1.1\r\n{OTHER}\r\n", "501"),
    ("a line's end before the request", f"\r\n{BAD}", None),
    ("a version of three digits", f"GET / HTTP/1.10\r\n{OTHER}\r\n", "200"),
    ("a websocket with a body", f"GET /echo HTTP/1.1\r\n{HOST}{UPGRADE}Content-Length: 40\r\n\r\n{BAD}", "101"),
    ("a websocket or HTTP/2", f"GET / HTTP/1.1\r\n{HOST}Connection: upgrade\r\nUpgrade: websocket, h2c\r\n\r\n", "200"),
    ("a host in the second of two folded lines", f"GET / HTTP/1.1\r\nX: a\r\n\tHost: other.org\r\n{HOST}\r\n", "200"),
):
    row("second", name, ("403", "reset"), http, "example.org", request, host=host)
for name, text in {
    "a port": b"example.org:443", "a star": b"*.example.org", "a line's end": b"example.org\n",
    "a slash": b"example.org/",
    "256 bytes": b"example.org" + b"." * 245, "two dots": b"example.org..",
}.items():
    row("second", f"a name in TLS with {name}", "reset", say, with_extensions((0, sni(text))), host="reached")
SECOND = hello("example.org")
row("second", "a second hello in the record of the first", "reset", say,
    SECOND[:3] + (len(SECOND) - 5 + len(hello("other.org")) - 5).to_bytes(2, "big") + SECOND[5:]
    + hello("other.org")[5:], host="reached")
row("second", "a hello of DTLS", "reset", say, b"\x16\xfe\xff" + hello("other.org")[3:])
row("second", "a hello of SSLv3 for another name", "reset", say, b"\x16\x03\x00" + hello("other.org")[3:],
    host="reached")
row("second", "a hello of 20,000 bytes for another name", "reset", say,
    with_extensions((21, bytes(20000)), (0, sni(b"other.org"))), host="reached")
row("second", "application data before the hello", "reset", say, b"\x17\x03\x03\0\1x" + hello("other.org"),
    host="reached")
row("second", "urgent bytes amid a request", ("closed", "403"), urgent, b"GET / HTTP/1.1\r\nHost: x",
    b"other.org\r\n\r\n")
row("second", "an address from the port of DNS", ("reset", "denied"), from_port, 53)
row("second", "an address from the port of the web", ("reset", "denied"), from_port, 443)
row("second", "an address on the link alone", ("ENETUNREACH", "reset"), with_option, socket.SOL_SOCKET,
    socket.SO_DONTROUTE, 1)
row("second", "an address with the highest priority", ("reset", "denied"), with_option, socket.SOL_SOCKET,
    socket.SO_PRIORITY, 6, host="reached")
row("second", "an address of a refused name in IPv6's form", "denied", web, "::ffff:198.19.200.7", host="reached")
row("second", "an address of a refused name, as a name's in IPv6", "reset", web, "fd00:2:1::c613:c807", host="reached")
row("second", "an allowed name's address, after a refused name", "reached", in_name_order, "stranger.org",
    "example.org", host="reached")
row("second", "a refused name's address, after an allowed name", "denied", in_name_order, "example.org",
    "stranger.org", host="reached")
for kind in "TXT", "MX", "SRV", "NAPTR", "HTTPS", "NULL":
    row("second", f"{kind} below a wildcard", ("NOERROR", "NOTIMP", "REFUSED"), ask,
        question("secret-data.wild.org", kind))
for code, name in (1, "an inverse question"), (2, "a question for the state"), (4, "a notification"):
    row("second", name, ("NOTIMP", "FORMERR", "REFUSED", "nothing"), ask_before,
        question("secret-data.stranger.org", flags=code << 11))
row("second", "letters of an allowed name that carry bits", "NOERROR 198.18", ask, question("eXaMpLe.oRG"))

# --- the inside ----------------------------------------------------------------------------


def listeners():
    """The sockets that listen here, or receive datagrams, as the kernel lists them."""
    found = []
    for name in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/net/{name}") as file:
            found += file.read().splitlines()[1:]
    return "some" if found else "none"


def processes():
    names = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
            names.append(file.read().strip())
    return "some" if any(name in ("hutch-gate", "hutch-egress") for name in names) else "none"


def descriptors():
    kept = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")]
    return " ".join(f"{fd}: {os.readlink(f'/proc/self/fd/{fd}')}" for fd in kept) or "none"


def opened(*words):
    socket.socket(*words).close()
    return "opened"


def option(level, name, value=1):
    with socket.socket() as sock:
        sock.setsockopt(level, name, value)
        return "set"


def netlink(kind, body):
    """Asks the kernel to change addresses, routes or devices; 0x405 is a request to make one."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(struct.pack("=IHHII", 16 + len(body), kind, 0x405, 1, 0) + body)
        (code,) = struct.unpack("=i", sock.recv(4096)[16:20])
        if code:
            raise OSError(-code, "netlink")
        return "changed"


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data


def default_route(device):
    body = struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + attribute(4, struct.pack("=I", device))
    return netlink(24, body)


def own_address(device):
    address = socket.inet_aton(PUBLIC)
    return netlink(20, struct.pack("=BBBBI", 2, 32, 0, 0, device) + attribute(2, address) + attribute(1, address))


def drop_prohibit():
    body = struct.pack("=BBBBBBBBI", 2, 16, 0, 0, 254, 4, 0, 8, 0) + attribute(1, socket.inet_aton("198.19.0.0"))
    return netlink(25, body)


def call(number_of, *words):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, number_of)(*words) < 0:
        raise OSError(ctypes.get_errno(), number_of)
    return "done"


def enter(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return call("setns", fd, 0)
    finally:
        os.close(fd)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return "written"


def other_namespace():
    """A child that has made namespaces of its own tries an address from there."""
    code = subprocess.run([sys.executable, "-SEc", f"""
import ctypes, socket, sys
if ctypes.CDLL(None).unshare(0x50000000) < 0:
    sys.exit(3)
sys.exit(4 if socket.socket().connect_ex(("{PUBLIC}", 80)) else 0)"""]).returncode
    return {0: "reached", 3: "denied", 4: "alone"}[code]


def abstract():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\0hutch-net-attacks")
        return "reached" if sock.recv(1) else "closed"


def serve_here(port):
    """The guest's own port, which the gate has outside, is free."""
    with socket.create_server(("127.0.0.1", port)) as server, connect("127.0.0.1", port) as client:
        server.accept()[0].send(b"x")
        return "reached" if client.recv(1) else "closed"


def kill_all():
    """Kills every process that there is for this one; those of the network are not among them."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    return web("example.org")


for port in (22, 53, 7000):
    row("every", f"one's own port {port}", ("reached", "denied"), serve_here, port)
row("inside", "a listener of the gate in /proc/net", "none", listeners, host="some")
row("inside", "a process of the network in /proc", "none", processes)
row("inside", "a descriptor of the network", "none", descriptors)
DENIED = ("denied", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT")
row("inside", "a raw socket", DENIED, opened, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
row("inside", "a raw socket of IPv6", DENIED, opened, socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
row("inside", "a socket that pings", DENIED, opened, socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
row("inside", "a packet socket", DENIED, opened, socket.AF_PACKET, socket.SOCK_RAW, 0)
row("inside", "a packet socket without heads", DENIED, opened, socket.AF_PACKET, socket.SOCK_DGRAM, 0)
row("inside", "a vsock socket", DENIED, opened, socket.AF_VSOCK, socket.SOCK_STREAM)
row("inside", "a socket of Bluetooth", DENIED, opened, 31, socket.SOCK_RAW, 1)
row("inside", "a netfilter socket", DENIED, opened, socket.AF_NETLINK, socket.SOCK_RAW, 12)
row("inside", "a mark on packets", DENIED, option, socket.SOL_SOCKET, socket.SO_MARK)
row("inside", "a transparent socket", DENIED, option, socket.IPPROTO_IP, 19)
row("inside", "a socket in repair", DENIED, option, socket.IPPROTO_TCP, 19)
row("inside", "a default route", DENIED, default_route, 1)
row("inside", "no prohibited route", DENIED, drop_prohibit)
row("inside", "an address of one's own on lo", DENIED, own_address, 1)
row("inside", "an address of one's own on eth0", DENIED, own_address, 2)
row("inside", "forwarding", ("denied", "EROFS", "ENOENT"), write, "/proc/sys/net/ipv4/ip_forward", "1")
row("inside", "pings for everyone", ("denied", "EROFS", "ENOENT"), write, "/proc/sys/net/ipv4/ping_group_range", "0 9")
row("inside", "another resolver, which is the gate again", ("denied", "EROFS", "written"), write, "/etc/resolv.conf",
    "nameserver 8.8.8.8\n")
row("inside", "pid 1's network namespace", ("denied", "EINVAL", "ENOENT"), enter, "/proc/1/ns/net")
row("inside", "the parent's user namespace", ("denied", "EINVAL", "ENOENT"), enter, "/proc/1/ns/user")
row("inside", "a namespace of one's own", ("denied", "alone"), other_namespace)
row("inside", "an abstract socket of the host", "refused", abstract, host="reached")
for port in (7000, 8443, 1053):
    row("inside", f"one's own port {port}", "reached", serve_here, port)
row("inside", "the host's loopback", "refused", web, "127.0.0.1", 7000, host="reached")
row("inside", "the network after all processes here were killed", "reached", kill_all)

# --- more rights ---------------------------------------------------------------------------


def ping():
    """Says whether a ping of an address is answered before a datagram to a closed port is refused."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        message = struct.pack(">BBHHH", 8, 0, 0xf7fd, 1, 1)
        raw.sendto(message, (PUBLIC, 0))
        come_to(datagram, PUBLIC, 54)
        kind = raw.recv(100)[20]
        return {0: "answered", 3: "silent"}.get(kind, str(kind))


def link_route(address):
    """Has the device lead to an address itself, without the gate as the next hop; and tries it."""
    body = (struct.pack("=BBBBBBBBI", 2, 32, 0, 0, 254, 3, 253, 1, 0) + attribute(1, socket.inet_aton(address))
            + attribute(4, struct.pack("=I", socket.if_nametoindex("eth0"))))
    netlink(24, body)
    return web(address, 7000)


def without_prohibit():
    drop_prohibit()
    request = "GET / HTTP/1.1\r\nHost: stranger.org\r\n\r\n"
    return f"{come_to(web, '198.19.200.7')} {come_to(http, 'stranger.org', request)}"


def marked():
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 1)
        sock.connect((PUBLIC, 80))
        return talk(sock.dup(), REQUEST)


row("rights", "an allowed name", "reached", web, "example.org")
row("rights", "a ping", "silent", ping)
row("rights", "a route to the host, which is on the link", "reset", link_route, "10.9.0.1")
row("rights", "a route to an address that is on the link", "reset", link_route, PUBLIC)
row("rights", "no prohibited route", "reset 403", without_prohibit)
row("rights", "a mark on packets", "reset", marked)
row("rights", "a packet socket", DENIED, opened, socket.AF_PACKET, socket.SOCK_RAW, 0)
def broken_packets():
    """Packets of TCP and UDP that end amid their heads, most of them with options of IPv4."""
    for proto in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
        for options in range(0, 44, 4):
            for size in range(21):
                head = struct.pack(">BBHHHBBH4s4s", 0x45 + options // 4, 0, 20 + options + size, 0, 0, 64, proto, 0,
                                   socket.inet_aton("10.0.2.15"), socket.inet_aton(PUBLIC))
                body = struct.pack(">HHIIBBHHH", 1, 25, 0, 0, 0x50, 2, 0, 0, 0)[:size]
                with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
                    raw.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
                    with contextlib.suppress(OSError):
                        raw.sendto(head + b"\1" * options + body, (PUBLIC, 0))
    return web("example.org")


row("rights", "broken packets", "reached", broken_packets)
row("rights", "an allowed name at last", "reached", web, "example.org")

# --- floods --------------------------------------------------------------------------------


def half_open(count, port, then):
    """What `then` comes to beside so many connections that say nothing."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(connect("example.org", port))
        return come_to(*then)


def short_lived():
    """Connections that the guest resets at once, before or amid a request."""
    for i in range(5000):
        with connect("example.org", (80, 443)[i // 2 % 2]) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if i % 2:
                sock.send(REQUEST[:i % len(REQUEST)])
    return web("example.org")


def full_table():
    """The table is full of connections to the resolver, and is free again when they have ended."""
    known = socket.gethostbyname("example.org")
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(GATE, 53)) for _ in range(1024)]
        message = question("stranger.org")
        held[-1].sendall(len(message).to_bytes(2, "big") + message)
        held[-1].recv(4096)  # the gate has accepted all of them
        results = [come_to(web, known), come_to(ask, question("stranger.org"))]
        for sock in held:
            sock.shutdown(socket.SHUT_WR)
        for sock in held:
            if sock.recv(1):
                return "a byte"
    return ", ".join([*results, web("example.org")])


def held_connection():
    """A connection goes on beside 10,000 new ones, most of which are too many."""
    with connect("example.org", 7000) as sock, sock.makefile("rb") as file:
        file.readline()
        with contextlib.ExitStack() as stack:
            for i in range(10000):
                with contextlib.suppress(OSError):
                    held = connect(GATE, 53)
                    (stack.enter_context if i < 1100 else socket.socket.close)(held)
            sock.sendall(b"still here\n")
            return file.readline().decode().strip()


def many_names():
    """An allowed name keeps its address, and a refused one is refused, after 10,000 others."""
    before = socket.gethostbyname("example.org")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((GATE, 53))
        for i in range(10000):
            sock.send(question(f"n{i}.evil.org"))
            sock.recv(4096)
    return f"{before == socket.gethostbyname('example.org')} {come_to(web, 'stranger.org')}"


def unread_answers():
    """5,000 questions whose answers are not read; the resolver still answers others.  This one comes by
    TCP, since the kernel drops datagrams while the others fill their queue."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.connect((GATE, 53))
        for i in range(5000):
            deaf.send(question(f"n{i}.evil.org"))
        with connect(GATE, 53) as stream:
            stream.setblocking(False)
            message = question("stranger.org")
            with contextlib.suppress(OSError):
                for _ in range(20000):
                    stream.send(len(message).to_bytes(2, "big") + message)
        return ask_stream(question("example.org"))


def many_refused():
    """Datagrams and connections to as many ports, which the kernel refuses."""
    for port in range(20000, 30000):
        with socket.socket() as sock:
            sock.connect_ex((PUBLIC, port))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"x", (PUBLIC, port))
    return web("example.org")


# The table has to be empty at first.
row("floods", "a full table", "reset, NOERROR 198.19, reached", full_table)
row("floods", "1,000 connections to TLS that say nothing", "reached", half_open, 1000, 443, (web, "example.org"))
row("floods", "1,000 connections to HTTP that say nothing", "reached", half_open, 1000, 80, (web, "example.org"))
row("floods", "5,000 connections that end at once", "reached", short_lived)
row("floods", "200 connections that the server holds", "reached", half_open, 200, 7000, (web, "example.org"))
row("floods", "a connection beside a full table", "still here", held_connection)
row("floods", "10,000 names", "True denied", many_names)
row("floods", "20,000 packets that are refused", "reached", many_refused)
row("floods", "answers that nobody reads", "NOERROR 198.18", unread_answers)

def each_port_once():
    """A connection to each of 1,000 ports, and one to the resolver beside them."""
    with contextlib.ExitStack() as stack:
        for port in range(20000, 21000):
            stack.enter_context(connect("example.org", port))
        return ask_stream(question("example.org"))


row("every", "1,000 ports at once", ("NOERROR 198.18", "reset"), each_port_once)
row("every", "port 22 after them", "reached", web, "example.org", 22)

# --- all -----------------------------------------------------------------------------------


SINGLE = {
    "the host's loopback": "reset", "the host's loopback, another address of it": "reset",
    "the host's loopback in IPv6": "reset", "the host's loopback as 0.0.0.0": "reset",
    "a device that is named": "ENODEV", "a listener of the gate in /proc/net": "some",
    "the server 127.0.0.53 by UDP": "NOERROR 198.19", "the server 127.0.0.53 by TCP": "NOERROR 198.19",
    "an address from the port of DNS": "EADDRINUSE", "an address from the port of the web": "EADDRINUSE",
    "one's own port 7000": "EADDRINUSE", "one's own port 8443": "EADDRINUSE",
}


def judge(group, place, changed=()):
    """Tries the rows of a group, and returns how many it tried and a line for each that is wrong."""
    wrong, count = [], 0
    for name, want, action, args in ((r[1], r[2] if place == "inside" else r[3], *r[4:]) for r in ROWS
                                     if r[0] == group):
        if want is None:
            continue
        count += 1
        if name in changed:
            want = changed[name]
        found = come_to(action, *args)
        if found not in (want if isinstance(want, tuple) else (want,)):
            wrong.append(f"{place}: {name}: {found!r}, and not {want!r}")
    return count, wrong


def serve_host():
    """The host's own services: at every address of it, and at a name of no file."""
    def serve(server):
        while True:
            with contextlib.suppress(OSError), server.accept()[0] as sock:
                sock.sendall(b"greetings\n")
                sock.recv(4096)

    abstract_server = socket.socket(socket.AF_UNIX)
    abstract_server.bind("\0hutch-net-attacks")
    abstract_server.listen()
    for server in (socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True), abstract_server):
        threading.Thread(target=serve, args=(server,), daemon=True).start()


def lines(name):
    with open(f"{os.environ['W']}/{name}") as file:
        return file.read().splitlines()


def settled():
    """Returns when the server has read each request of the connections before, and noted it."""
    if http("example.org", f"GET /settled HTTP/1.1\r\n{HOST}\r\n") != "200":
        raise AssertionError("the server does not answer")


def strayed(asked, reached, more):
    """What came to the internet and should not have."""
    settled()
    names = {"a.wild.org", *(rule for rule in ALLOWED if "*" not in rule and ":" not in rule)}
    for name in sorted(set(lines("asked")[asked:]) - names):
        yield f"the internet was asked for {name!r}"
    for place in sorted(set(lines("reached")[reached:]) - REACHABLE - more):
        yield f"the internet was reached at {place}"


def play(group, hutch, seconds, *flags):
    serve_host()
    count, wrong = judge(group, "host")
    settled()
    asked, reached = len(lines("asked")), len(lines("reached"))
    rules = [word for rule in ALLOWED for word in ("--allow", rule)]
    with open(__file__) as script:
        done = subprocess.run([hutch, "run", "-i", "--network", "allow", *rules, *flags, "python3", "-SE", "-", "rows",
                               group, seconds, os.path.basename(os.path.dirname(hutch))], stdin=script)
    for line in [*wrong, *strayed(asked, reached, EVERY if group == "every" else set())]:
        print(line)
    print(f"{count} tries on the host")
    sys.exit(done.returncode)


def rows(group, seconds, form):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count, wrong = judge(group, "inside", SINGLE if form == "single" else ())
    for line in wrong:
        print(line)
    print(f"{count} tries inside", flush=True)


if __name__ == "__main__":
    verb, group_name, *words = sys.argv[1:]
    socket.setdefaulttimeout(float(words[1 if verb == "play" else 0]))
    globals()[verb](group_name, *words)
