"""net_server.py: the internet of net_world.sh: a resolver at 10.9.0.2, web servers with and
without TLS at 93.184.216.34, and one that speaks first at its port 7000.  Writes a line to
descriptor 3 when all of them listen.  Each question that comes is a line in $W/asked."""
import http.server
import os
import socket
import ssl
import struct
import subprocess
import threading

W = os.environ["W"]
ZONE = {
    "example.org": "93.184.216.34", "other.org": "93.184.216.35", "private.org": "10.9.0.2",
    "own.org": "10.9.0.1", "a.wild.org": "93.184.216.34", "metadata.org": "169.254.169.254",
}


def answer(message):
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode().lower())
        at += message[at] + 1
    (kind,) = struct.unpack(">H", message[at + 1:at + 3])
    name = ".".join(labels)
    with open(f"{W}/asked", "a") as file:
        print(name, file=file)
    address = ZONE.get(name)
    record = b""
    if address and kind == 1:
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(address)
    flags = 0x8180 if address else 0x8183
    return (message[:2] + struct.pack(">HHHHH", flags, 1, 1 if record else 0, 0, 0)
            + message[12:at + 5] + record)


def resolve():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("10.9.0.2", 53))
        listening.release()
        while True:
            message, peer = sock.recvfrom(2000)
            sock.sendto(answer(message), peer)


def greet(sock):
    with sock:
        sock.sendall(b"greetings\n")
        while data := sock.recv(65536):
            sock.sendall(data)


def speak_first():
    with socket.create_server(("93.184.216.34", 7000)) as server:
        listening.release()
        while True:
            threading.Thread(target=greet, args=(server.accept()[0],), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/big/"):
            body = b"0123456789abcdef" * (int(self.path[5:]) // 16)
        else:
            body = f"{self.headers['Host']} {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        left = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 1 << 16)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(port):
    server = http.server.ThreadingHTTPServer(("93.184.216.34", port), Handler)
    if port == 443:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{W}/cert.pem", f"{W}/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # of connections that a client resets
    listening.release()
    server.serve_forever()


subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", f"{W}/key.pem", "-out", f"{W}/cert.pem", "-days", "2", "-subj", "/CN=example.org",
                "-addext", "subjectAltName=DNS:example.org,DNS:a.wild.org"], check=True, capture_output=True)
listening = threading.Semaphore(0)
for work in (resolve, speak_first, lambda: serve(80), lambda: serve(443)):
    threading.Thread(target=work, daemon=True).start()
for _ in range(4):
    listening.acquire()
os.write(3, b"ready\n")
os.close(3)
threading.Event().wait()
