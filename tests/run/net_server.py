"""net_server.py: the internet of net_world.sh, in which every address is there: resolvers at
10.9.0.2 and 93.184.216.34, web servers with and without TLS, one with TLS whose group no client
guesses (port 8443), and one that speaks first at port 7000.  Writes a line to descriptor 3 when all
of them listen.  Each question that comes is a line in $W/asked, and each connection or datagram, with
the address that it was sent to, is one in $W/reached."""
import http.server
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import threading

W = os.environ["W"]
A, CNAME, AAAA = 1, 5, 28
PUBLIC = "93.184.216.34"
ZONE = {
    "example.org": [PUBLIC], "other.org": ["93.184.216.35"], "stranger.org": ["93.184.216.36"],
    "a.wild.org": [PUBLIC], "private.org": ["10.9.0.2"], "own.org": ["10.9.0.1"], "own6.org": ["fd00:9::1"],
    "private192.org": ["192.168.1.1"], "private172.org": ["172.16.0.1"], "shared.org": ["100.64.0.1"],
    "loop.org": ["127.0.0.1"], "loop6.org": ["::1"], "zero.org": ["0.0.0.0"], "zero6.org": ["::"],
    "link.org": ["169.254.1.1"], "link6.org": ["fe80::2"], "unique6.org": ["fd00:9::2"],
    "fake.org": ["198.18.0.1"], "reserved.org": ["240.0.0.7"], "many.org": ["224.0.0.1"],
    "everyone.org": ["255.255.255.255"], "metadata.org": ["169.254.169.254"],
    "metadata6.org": ["fd00:ec2::254"], "azure.org": ["168.63.129.16"], "alibaba.org": ["100.100.100.200"],
    "oracle.org": ["192.0.0.192"], "mapped6.org": ["::ffff:10.9.0.2"], "compatible6.org": ["::10.9.0.2"],
    "nat64.org": ["64:ff9b::a09:2"], "six2four.org": ["2002:a09:2::1"],
    "teredo.org": ["2001:0:a09:2:0:0:f5f6:fffd"], "mixed.org": ["10.9.0.2", PUBLIC],
    "inward.org": "private.org", "outward.org": "stranger.org", "rebinding.org": [PUBLIC],
}


def note(file, *words, end="\n"):
    with open(f"{W}/{file}", "a") as log:
        print(*words, file=log, end=end)


def local(sock):
    """The address that a connection was made to, without the form of IPv4 in IPv6."""
    host, port = sock.getsockname()[:2]
    return host.removeprefix("::ffff:"), port


def encode(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def records(name, kind):
    """The records of an answer; rebinding.org has another address after the first question."""
    entry = ZONE.get(name)
    if isinstance(entry, str):
        return [(name, CNAME, encode(entry)), *records(entry, kind)]
    if name == "rebinding.org" and kind == A:
        ZONE[name] = ["10.9.0.2"]
    family = {A: socket.AF_INET, AAAA: socket.AF_INET6}.get(kind)
    return [(name, kind, socket.inet_pton(family, text)) for text in entry or []
            if family and (":" in text) == (kind == AAAA)]


def answer(message):
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1"))
        at += message[at] + 1
    (kind,) = struct.unpack(">H", message[at + 1:at + 3])
    asked = ".".join(labels)
    note("asked", asked)
    name = asked.lower()
    found = records(name, kind)
    seconds = 0 if name == "rebinding.org" else 60
    body = b"".join(encode(owner) + struct.pack(">HHIH", type_, 1, seconds, len(data)) + data
                    for owner, type_, data in found)
    return (message[:2] + struct.pack(">HHHHH", 0x8180 if name in ZONE else 0x8183, 1, len(found), 0, 0)
            + message[12:at + 5] + body)


def take_datagrams(address, port):
    """Answers datagrams: a resolver at port 53, and with one word elsewhere."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, port))
        listening.release()
        while True:
            message, peer = sock.recvfrom(2000)
            if address != "10.9.0.2":
                note("reached", "udp", address, port)
            sock.sendto(answer(message) if port == 53 else b"reached", peer)


class Greeter(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"greetings\n")
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Resolver(socketserver.StreamRequestHandler):
    def handle(self):
        while len(size := self.rfile.read(2)) == 2:
            reply = answer(self.rfile.read(int.from_bytes(size, "big")))
            self.wfile.write(len(reply).to_bytes(2, "big") + reply)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def parse_request(self):
        is_good = super().parse_request()
        note("reached", "host", self.headers["Host"] if is_good else "unknown")
        return is_good

    def echo(self):
        """A websocket, as far as the gate knows: sends back each line."""
        self.send_response(101)
        self.end_headers()
        for line in self.rfile:
            self.wfile.write(line)

    def do_GET(self):
        if self.path == "/settled":
            self.server.settle()
        if self.path == "/echo":
            self.echo()
            return
        if self.path.startswith("/big/"):
            body = b"0123456789abcdef" * (int(self.path[5:]) // 16)
        else:
            body = f"{self.headers['Host']} {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_CONNECT = do_GET

    def do_POST(self):
        left = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 1 << 16)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingTCPServer):
    """Listens at a port of every address, with TLS if it has a context and the client begins so."""
    daemon_threads = True
    address_family = socket.AF_INET6 if os.path.exists("/proc/net/if_inet6") else socket.AF_INET
    request_queue_size = 128

    def __init__(self, port, handler, context=None):
        super().__init__(("", port), handler)
        self.context = context
        self.open, self.changed = 0, threading.Condition()
        listening.release()

    def count(self, change):
        with self.changed:
            self.open += change
            self.changed.notify_all()

    def settle(self):
        """Waits for the end of each connection that came before the caller's."""
        with self.changed:
            self.changed.wait_for(lambda: self.open == 1)

    def process_request(self, request, client):
        self.count(1)
        super().process_request(request, client)

    def process_request_thread(self, request, client):
        super().process_request_thread(request, client)
        self.count(-1)

    def finish_request(self, request, client):
        note("reached", "tcp", *local(request))
        if self.context and request.recv(1, socket.MSG_PEEK) == b"\x16":
            with self.context.wrap_socket(request, server_side=True) as sock:
                super().finish_request(sock, client)
        else:
            super().finish_request(request, client)

    def handle_error(self, request, client):
        pass


def serve(*words):
    Server(*words).serve_forever()


def tls(group=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{W}/cert.pem", f"{W}/key.pem")
    if group:
        context.set_ecdh_curve(group)
    return context


def make_certificates():
    """Makes an authority (ca.pem), and the certificate that it vouches for."""
    def make(name, *words):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "2", "-keyout", f"{W}/{name}key.pem", *words],
                       check=True, capture_output=True)
    make("ca-", "-out", f"{W}/ca.pem", "-subj", "/CN=authority of the tests")
    make("", "-out", f"{W}/cert.pem", "-subj", "/CN=example.org", "-CA", f"{W}/ca.pem",
         "-CAkey", f"{W}/ca-key.pem", "-addext", "basicConstraints=critical,CA:FALSE",
         "-addext", "subjectAltName=DNS:example.org,DNS:a.wild.org")


def main(handler=Handler, more=()):
    """Serves until it is killed; `handler` answers HTTP, and `more` are further servers: a function
    that releases `listening` once it listens, and its arguments."""
    for file_name in "asked", "reached":
        note(file_name, end="")
    make_certificates()
    work = [
        (take_datagrams, "10.9.0.2", 53), *((take_datagrams, PUBLIC, port) for port in (53, 123, 443, 7000)),
        *((serve, *words) for words in (
            (53, Resolver), (80, handler), (443, handler, tls()), (853, Greeter), (7000, Greeter),
            (8443, handler, tls("secp521r1")))),
        *(more or [(serve, 22, Greeter)]),
    ]
    for one, *words in work:
        threading.Thread(target=one, args=words, daemon=True).start()
    for _ in work:
        listening.acquire()
    os.write(3, b"ready\n")
    os.close(3)
    threading.Event().wait()


listening = threading.Semaphore(0)
if __name__ == "__main__":
    main()
