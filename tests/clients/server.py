"""server.py: the internet of net_world.sh with servers for real clients: git over HTTPS and ssh,
websockets, and PostgreSQL.

$WORLD is a folder of the test: `git` has the repositories, `ssh` what sshd reads, and PostgreSQL's
socket lies in `postgres`.  $CLIENT_BOX starts a command in the image of the clients."""
import base64
import hashlib
import os
import pathlib
import shlex
import socket
import socketserver
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "run"))
import git_server  # noqa: E402
import net_server  # noqa: E402

WORLD, BOX = os.environ["WORLD"], shlex.split(os.environ["CLIENT_BOX"])
# RFC 6455, section 1.3
SOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(net_server.Handler):
    def do_GET(self):
        if self.path.startswith("/git/"):
            self.git()
        elif self.headers["Upgrade"] == "websocket":
            self.websocket()
        else:
            super().do_GET()

    def do_POST(self):
        if self.path.startswith("/git/"):
            self.git()
        else:
            super().do_POST()

    def websocket(self):
        """Sends one message back, which is shorter than 126 bytes, and ends with the client."""
        key = self.headers["Sec-WebSocket-Key"] + SOCKET_GUID
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept",
                         base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while len(head := self.rfile.read(2)) == 2:
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(head[1] & 0x7f)))
            # a close, opcode 8, is sent back as well
            self.wfile.write(bytes([head[0], len(data)]) + data)
            if head[0] & 0xf == 8:
                return

    def git(self):
        """Answers by git's own server."""
        path, _, query = self.path.removeprefix("/git").partition("?")
        self.server.folder = f"{WORLD}/git"
        git_server.Handler.backend(self, path, query)


class Ssh(socketserver.BaseRequestHandler):
    """Starts an sshd of the image for each connection, as inetd did."""
    def handle(self):
        subprocess.run([*BOX, "-v", f"{WORLD}/ssh:/ssh:ro", "-v", f"{WORLD}/git:/git:ro", "--",
                        "/usr/sbin/sshd", "-i", "-f", "/ssh/config"],
                       stdin=self.request, stdout=self.request, stderr=subprocess.DEVNULL)


class Postgres(socketserver.BaseRequestHandler):
    """Passes a connection on to PostgreSQL's socket."""
    def handle(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(f"{WORLD}/postgres/.s.PGSQL.5432")
            back = threading.Thread(target=copy, args=(server, self.request))
            back.start()
            copy(self.request, server)
            back.join()


def copy(source, target):
    while data := source.recv(1 << 16):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


net_server.main(Handler, [(net_server.serve, 22, Ssh), (net_server.serve, 5432, Postgres)])
