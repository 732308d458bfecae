#!/usr/bin/env -S python3 -SE
"""serve_attacks.py HUTCH CASE: attacks `hutch serve` as a client with a key, as a stranger, and in
the place of its front (serve_front.c, in $BUILD)."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HUTCH, BUILD = sys.argv[1], os.environ["BUILD"]
COMMAND = ["python", "-m", "openhands.runtime.action_execution_server", "60000", "--working-dir", "/workspace",
           "--no-enable-browser"]


def hutch(*words):
    return subprocess.run([HUTCH, *words], capture_output=True, text=True, check=False).stdout


class Server:
    """`hutch serve`, and clients of it."""

    def __init__(self, *words, key=None):
        self.folder = tempfile.TemporaryDirectory()
        key = key or self.folder.name + "/key"
        self.process = subprocess.Popen(
            [HUTCH, "serve", "-q", "--listen", "127.0.0.1:0", "--key-file", key, *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.address = ("127.0.0.1", int(self.process.stdout.readline().rsplit(":", 1)[1]))
        with open(key, encoding="ascii") as f:
            self.key = f.read().strip()

    def head(self, method, path, length, fields):
        fields = {"Host": "localhost", "X-API-Key": self.key, "Content-Length": length, **fields}
        lines = [f"{name}: {value}\r\n" for name, value in fields.items() if value is not None]
        return f"{method} {path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode()

    def send(self, data):
        client = socket.create_connection(self.address)
        client.sendall(data)
        return client

    def take(self, client):
        """The status of an answer and its body; None: the server closed the connection without one."""
        with client, client.makefile("rb") as lines:
            words = lines.readline().split()
            length = 0
            for line in iter(lines.readline, b"\r\n"):
                if not line:
                    return None
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            body = lines.read(length)
        try:
            return int(words[1]), json.loads(body)
        except ValueError:
            return int(words[1]), body

    def begin(self, method, path, body=None, **fields):
        data = b"" if body is None else json.dumps(body).encode()
        return self.send(self.head(method, path, len(data), fields) + data)

    def call(self, method, path, body=None, **fields):
        return self.take(self.begin(method, path, body, **fields))

    def start(self, session, **members):
        status, got = self.call("POST", "/start", {"image": "host", "session_id": session, "command": COMMAND,
                                                   "environment": {}, **members})
        assert status == 200, (status, got)
        return got["runtime_id"], got["session_api_key"]

    def runtimes(self):
        return {r["session_id"]: r for r in self.call("GET", "/list")[1]["runtimes"]}

    def is_well(self):
        assert self.call("GET", "/health") == (200, {"status": "ok"})
        assert self.process.poll() is None

    def end(self):
        self.process.terminate()
        assert self.process.wait() == 0


class Front:
    """The spawner of a server, whose front is this program."""

    def __init__(self, *options):
        self.process = subprocess.Popen([BUILD + "/tests/run/serve_front", HUTCH, "front", *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0

    def ask(self, do, with_descriptor=False, with_file=False, **members):
        """The answer, and whether a descriptor came with it."""
        self.number += 1
        line = json.dumps({"id": self.number, "do": do, **members})
        self.process.stdin.write("+" * with_descriptor + "=" * with_file + line + "\n")
        self.process.stdin.flush()
        got = self.process.stdout.readline()
        return json.loads(got.removeprefix("+")), got.startswith("+")

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def refuses(self, do, kind, **members):
        got, _ = self.ask(do, **members)
        assert got.get("error", {}).get("kind") == kind, (do, members, got)

    def create(self, name, **members):
        got, has_descriptor = self.ask("create", name=name, image="host", **members)
        assert has_descriptor, got

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def name(digit):
    return "r" + digit * 16


def at_once(count, what):
    got = []
    threads = [threading.Thread(target=lambda: got.append(what())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


# --- heads ------------------------------------------------------------------------------


def ambiguous_heads(s):
    known = {"Host": "localhost", "X-API-Key": s.key}
    for odd in ("Host: evil.example", "Host: localhost", "Transfer-Encoding : chunked", "Transfer-Encoding: identity",
                "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: xchunked",
                "Content-Length: 2\r\nTransfer-Encoding: chunked", "Content-Length: 2\r\nContent-Length: 2",
                "Content-Length: -1", "Content-Length: +2", "Content-Length: 2, 2", "Content-Length: 0x2"):
        lines = [f"{name}: {value}\r\n" for name, value in known.items()]
        head = f"POST /start HTTP/1.1\r\n{''.join(lines)}{odd}\r\n\r\n"
        got = s.take(s.send(head.encode() + b"2\r\n{}\r\n0\r\n\r\n"))
        assert got[0] == 400, (odd, got)
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "evil.example:127.0.0.1", "[::1",
                 "0x7f000001", "a" * 5000):
        assert s.call("GET", "/health", Host=host)[0] == 403, host
    for origin in ("http://evil.example", "null", "http://localhost"):
        assert s.call("GET", "/health", Origin=origin)[0] == 403, origin


def odd_paths(s):
    for path in ("//list", "/list/", "/./list", "/x/../list", "/%2e%2e/list", "/list%00", "/list%00x", "/list;x",
                 "/list%2f", "/list%", "/list%zz", "*", "list", "http://localhost/list", "/runtime/%00", "/%ff%fe",
                 "/sessions/..%2flist", "/" + "a" * 30000):
        assert s.call("GET", path)[0] == 404, path
        assert s.call("GET", path, **{"X-API-Key": None})[0] == 403, path
    assert s.call("GET", "/%6cist") == (200, {"runtimes": []})
    for method in ("OPTIONS", "TRACE", "PUT", "CONNECT", "get"):
        assert s.call(method, "/list")[0] == 405, method


# --- clients with a key -----------------------------------------------------------------


def stop_at_once(s):
    for i in range(8):
        runtime, _ = s.start(f"session-{i}")
        got = at_once(6, lambda box=runtime: s.call("POST", "/stop", {"runtime_id": box})[0])
        assert set(got) <= {200, 404}, got
    s.is_well()


def body_outlives(s):
    runtime, key = s.start("session")
    body = json.dumps({"action": {"action": "run", "args": {"command": "true"}}}).encode()
    clients = [s.send(s.head("POST", f"/{runtime}/execute_action", len(body), {"X-Session-API-Key": key}))
               for _ in range(4)]
    assert s.call("DELETE", f"/v1/sandboxes/{runtime}")[0] == 200
    s.runtimes()  # the server has forgotten the sandbox by now, unless it is held
    for client in clients:
        client.sendall(body)
        assert s.take(client)[0] == 404
    s.is_well()


def stop_while_starting(s):
    starting = s.begin("POST", "/start", {"image": "host", "session_id": "session", "command": COMMAND})
    while "session" not in (found := s.runtimes()):
        pass
    runtime = found["session"]["runtime_id"]
    assert s.call("POST", "/stop", {"runtime_id": runtime})[0] == 200
    assert s.take(starting)
    s.start("another")  # the spawner answers the first one before this one
    while runtime in hutch("ps", "--all", "--quiet"):
        assert s.runtimes().get("session", {}).get("status") != "running"


def stop_amid_actions(s):
    for i in range(8):
        runtime, _ = s.start(f"session-{i}")
        action = {"action": {"action": "run", "args": {"command": "sleep 1000"}}}
        acting = [s.begin("POST", f"/{runtime}/execute_action", action) for _ in range(3)]
        s.call("POST", f"/v1/sandboxes/{runtime}/info", {})
        assert s.call("POST", "/stop", {"runtime_id": runtime})[0] == 200
        for client in acting:
            assert s.take(client)
    assert not s.runtimes() or set(r["status"] for r in s.runtimes().values()) == {"stopped"}


def form(*files):
    """A body of files, each a name and bytes, and the field that tells its form."""
    head = b'--limit\r\nContent-Disposition: form-data; name="file"; filename="'
    return b"".join(head + file + b'"\r\n\r\n' + data + b"\r\n" for file, data in files) + b"--limit--\r\n"


def upload(s, runtime, *files):
    body = form(*files)
    fields = {"Content-Type": "multipart/form-data; boundary=limit"}
    path = f"/{runtime}/upload_file?destination=/workspace/new"
    return s.take(s.send(s.head("POST", path, len(body), fields) + body))


def clients_gone(s):
    runtime, _ = s.start("session")
    path = f"/{runtime}/upload_file?destination=/workspace"
    kinds = ("multipart/form-data; boundary=limit", "multipart/form-data; boundary=", "multipart/form-data",
             "text/plain")
    for kind in kinds:
        data = s.head("POST", path, 99999, {"Content-Type": kind}) + form((b"a", b"x" * 5000))
        for _ in range(100):
            s.send(data).close()
    for kind in kinds[1:]:
        got = s.take(s.send(s.head("POST", path, 4, {"Content-Type": kind}) + b"text"))
        assert got[0] in (422, 500), got  # 500: the spawner is busy with those above
    s.is_well()


def odd_uploads(s):
    runtime, _ = s.start("session")
    # The tail of the first file would stand behind the content of the second one in the tar.
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/in", "w", encoding="ascii") as f:
            f.write("x")
        tar = subprocess.run(["tar", "-C", folder, "-c", "in"], capture_output=True, check=True).stdout
    got = upload(s, runtime, (b"a", b"\0" * 512 + tar), (b"b", b"b"))
    assert got[0] == 500, got
    assert hutch("exec", runtime, "ls", "/workspace") == ""
    for odd in (b"../x", b"..", b".", b"", b"/etc/passwd", b"a/b", b"x" * 300):
        assert upload(s, runtime, (odd, b"x"))[0] == 500, odd
    assert hutch("exec", runtime, "find", "/workspace", "-type", "f") == ""
    for odd in (b"-rf", b"a\\b", b"a%2fb", b"a\1b", b"\xff"):
        assert upload(s, runtime, (odd, b"x"))[0] == 200, odd
    s.is_well()


def odd_factors(s):
    for factor in (1e300, 1e-300, 0, -1, 17):
        got = s.call("POST", "/start", {"image": "host", "session_id": "session", "command": COMMAND,
                                        "resource_factor": factor})
        assert got[0] == 422, (factor, got)
    s.is_well()


def own_key(s):
    runtime, key = s.start("session")
    fields = {"X-API-Key": None, "X-Session-API-Key": key}
    path = f"/v1/sandboxes/{runtime}/"
    assert s.call("POST", path + "info", {}, **fields)[0] == 200
    for method in ("update", "net.set", "net.add", "net.remove", "net.answer"):
        got = s.call("POST", path + method, {}, **fields)
        assert got[0] == 403, (method, got)
        assert s.call("POST", path + method, {})[0] != 403, method


def operators_options(s):
    runtime, _ = s.start("session", image="registry.invalid/image:1")
    info = s.call("POST", f"/v1/sandboxes/{runtime}/info", {})[1]
    assert info["image"] == "host", info


def executor_killed(s):
    runtime, key = s.start("session")
    hutch("exec", runtime, "mkfifo", "/tmp/begun")
    action = {"action": {"action": "run", "args": {"command": "echo >/tmp/begun; sleep 1000"}}}
    acting = [s.begin("POST", f"/{runtime}/execute_action", action, **{"X-Session-API-Key": key}) for _ in range(3)]
    hutch("exec", runtime, "cat", "/tmp/begun")  # the first action runs
    os.kill(s.call("POST", f"/v1/sandboxes/{runtime}/info", {})[1]["pid"], signal.SIGKILL)
    for client in acting:
        got = s.take(client)
        assert got[0] == 404 or got[1]["extras"]["error_id"] == "HUTCH$SANDBOX_ENDED", got
    while s.call("GET", f"/runtime/{runtime}")[1]["status"] != "stopped":
        pass
    s.start("session")  # the session has room for another one
    s.is_well()


def idle_connections(s):
    """Ten thousand, most of which find no place; a process of this test has room for 500."""
    begun, hold = os.pipe(), os.pipe()
    for _ in range(20):
        if os.fork() == 0:
            os.close(hold[1])
            idle = [socket.socket() for _ in range(500)]
            for client in idle:
                client.setblocking(False)
                client.connect_ex(s.address)
            os.write(begun[1], b"x")
            os.read(hold[0], 1)
            os._exit(0)
    left = 20
    while left > 0:
        left -= len(os.read(begun[0], left))
    assert s.process.poll() is None
    os.close(hold[1])
    for _ in range(20):
        os.wait()
    s.is_well()


def answer_as(client, kind):
    """What a socket sends in a supervisor's place."""
    with client, contextlib.suppress(OSError), client.makefile("rb") as lines:
        while kind == "endless":
            client.sendall(b"x" * 65536)
        for line in lines:
            if kind == "wrong":
                client.sendall(b'{"jsonrpc":"2.0","id":1,"result":[]}\n\xff\n')
            elif kind == "false":
                number = json.loads(line)["id"]
                result = {"protocol": 1, "labels": {"hutch.serve": "default"}, "state": [], "ports": "x", "name": None}
                client.sendall(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n")
            else:
                return


def fake(path, kind):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve():
        while True:
            client = listener.accept()[0]
            threading.Thread(target=answer_as, args=(client, kind), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()


def fake_sockets():
    kinds = {name(digit): kind for digit, kind in zip("1234", ("endless", "wrong", "false", "closes"))}
    for box, kind in kinds.items():
        hutch("create", "--label", "hutch.serve=default", "--label", "hutch.serve.kind=actions", "--label",
              f"hutch.serve.session={kind}", box)
        path = f"{os.environ['XDG_RUNTIME_DIR']}/hutch/{box}/control.sock"
        os.rename(path, path + ".real")
        fake(path, kind)
    s = Server()
    try:
        for box in kinds:
            assert s.call("POST", f"/v1/sandboxes/{box}/info", {})
            assert s.call("POST", f"/{box}/execute_action", {"action": {"action": "run", "args": {"command": "id"}}})
            assert s.call("GET", f"/sessions/{kinds[box]}")
        s.start("another")
        s.is_well()
        s.end()
    finally:
        s.process.kill()
        for box in kinds:
            path = f"{os.environ['XDG_RUNTIME_DIR']}/hutch/{box}/control.sock"
            os.rename(path + ".real", path)


# --- another user of this machine -------------------------------------------------------

STRANGER = r"""
import os, socket, sys
pid, port, key, *sockets = sys.argv[1:]
def tries(what, *words):
    try:
        what(*words)
        print("a stranger can", what.__name__, *words)
    except OSError:
        pass
def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)
def read(path):
    open(path, "rb").read(1)
for path in sockets:
    tries(connect, path)
for path in key, f"/proc/{pid}/environ", f"/proc/{pid}/mem", f"/proc/{pid}/maps":
    tries(read, path)
tries(os.kill, int(pid), 0)
tries(os.listdir, f"/proc/{pid}/fd")
client = socket.create_connection(("127.0.0.1", int(port)))
client.sendall(b"POST /start HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
print(client.recv(100).split()[1].decode())
"""


def stranger():
    """All folders can be entered by each user, so that the file and the sockets themselves refuse."""
    shared = tempfile.TemporaryDirectory()
    state, room = os.environ["XDG_RUNTIME_DIR"], shared.name
    os.chown(room, 65534, 65534)  # the user that root's server becomes
    s = Server("--socket", room + "/socket", key=room + "/key")
    folders = [room]
    try:
        runtime, _ = s.start("session")
        folders += state, f"{state}/hutch", f"{state}/hutch/{runtime}"
        for folder in folders:
            os.chmod(folder, 0o711)
        sockets = [room + "/socket", f"{state}/hutch/{runtime}/control.sock"]
        front = subprocess.run(["pgrep", "-P", str(s.process.pid)], capture_output=True, text=True).stdout.split()[0]
        for pid in (str(s.process.pid), front):
            words = [sys.executable, "-SEc", STRANGER, pid, str(s.address[1]), room + "/key", *sockets]
            got = subprocess.run(["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups", *words],
                                 capture_output=True, text=True)
            assert (got.stdout, got.stderr) == ("403\n", ""), got
        s.is_well()
        s.end()
    finally:
        s.process.kill()
        for folder in folders:  # hutch finds no sandbox in a state folder that is open to others
            os.chmod(folder, 0o700)


# --- in the front's place ---------------------------------------------------------------


def others_sandboxes():
    front = Front()
    hutch("create", "--label", "hutch.serve=other", name("a"))
    for do in ("attach", "remove", "resumed"):
        front.refuses(do, "not_found", name=name("a"))
    assert name("a") in hutch("ps", "--quiet")
    front.create(name("b"))
    front.refuses("create", "exists", name=name("a"), image="host")
    front.refuses("remove", "not_found", name=name("a"))
    assert front.ask("resumed", name=name("b"))[0]["said"] == 1
    assert "error" not in front.ask("remove", name=name("b"))[0]


def more_than_allowed():
    front = Front("--env=KIND=operators")
    for image in ("dir:/", "/etc", "-x", "--volume=/:/x", "../x", "HOST", "docker.io/dir:/", "oci-archive:/etc/x"):
        got, _ = front.ask("create", name=name("c"), image=image)
        assert "error" in got, (image, got)
    there = os.path.abspath(os.path.join(os.path.dirname(__file__), "../plugins/echo"))
    assert os.path.exists(there + "/plugin.json")  # a plugin that hutch would take
    for plugin in (there, "/x", "../jupyter", "jupyter,vscode", "jupyter=1", "--privileged"):
        front.refuses("create", "not_found", name=name("c"), plugins=[plugin])
    for user in ("--privileged", "agent", "0", "x=1=2", "x=1\n", "../x=1"):
        front.refuses("create", "usage", name=name("c"), image="host", user=user)
    for odd in ({"name": "../x"}, {"name": "--all"}, {"name": "r1"}, {"workdir": "--volume=/:/x"}, {"env": ["=x"]},
                {"env": ["x"]}):
        front.refuses("create", "usage", **{"name": name("c"), **odd})
    for odd in ({"ports": list(range(1, 10))}, {"ports": [65536]}, {"factor": 17}, {"argv": ["x"] * 1025}):
        front.refuses("create", "limit", **{"name": name("c"), **odd})
    front.create(name("c"), env=["A=1\nLD_PRELOAD=/x", "#B=2", "KIND=clients"], argv=["--volume=/:/x"],
                 workdir="/proc/1/root")
    environment = hutch("exec", "--workdir", "/", name("c"), "env", "-0").split("\0")
    assert "A=1\nLD_PRELOAD=/x" in environment and "#B=2" in environment, environment
    assert "KIND=operators" in environment and not any(e.startswith("LD_PRELOAD") for e in environment), environment


def descriptors():
    front = Front()
    front.create(name("d"))
    before = front.descriptors()
    for _ in range(20):
        front.ask("create", with_descriptor=True, name=name("d"), image="host")
        front.ask("spool", with_descriptor=True)
        front.ask("attach", with_descriptor=True, name=name("d"))
        front.ask("build", with_descriptor=True, tags=["localhost/hutch/x"])
        front.ask("nothing", with_descriptor=True)
    assert front.descriptors() <= before + 1, (before, front.descriptors())


def builds():
    """A build takes a file alone, and no name that the operator uses."""
    front = Front()
    front.refuses("build", "usage", tags=["localhost/hutch/x"])
    got, _ = front.ask("build", with_descriptor=True, tags=["localhost/hutch/x"])  # stdin, a pipe
    assert got["error"]["kind"] == "usage", got
    for tags, kind in (([], "usage"), (["debian:12"], "refused"), (["localhost/hutch/x", "debian:12"], "refused"),
                       (["--network=host"], "refused"), (["localhost/hutch/"], "invalid"),
                       (["localhost/hutch/x y"], "invalid"), (["localhost/hutch/x"] * 17, "limit")):
        got, _ = front.ask("build", with_file=True, tags=tags)
        assert got["error"]["kind"] == kind, (tags, got)


def flood():
    front = Front()
    front.create(name("e"))
    before = front.descriptors()
    for _ in range(3):
        assert int(front.say("flood")) > 100
        assert json.loads(front.say("drain"))["error"]["kind"] == "protocol"
    assert front.descriptors() <= before + 1, before
    assert "error" not in front.ask("remove", name=name("e"))[0]
    front.say("flood")
    front.process.terminate()
    front.process.wait()  # it waits for its front no longer


def long_answers():
    front = Front()
    for digit in "01234567":
        front.create(name(digit), labels=["session=" + "x" * 30000])
    assert front.ask("list") == ({"id": 9}, True)
    assert "error" not in front.ask("remove", name=name("0"))[0]


def confined():
    got = subprocess.run([BUILD + "/tests/run/serve_front", "confined"], capture_output=True, text=True, check=True)
    assert got.stdout == "", got.stdout


CASES = {f.__name__: f for f in (others_sandboxes, more_than_allowed, descriptors, builds, flood, long_answers,
                                 confined, fake_sockets, stranger)}
SERVED = {f.__name__: f for f in (ambiguous_heads, odd_paths, stop_at_once, body_outlives, stop_while_starting,
                                  stop_amid_actions, clients_gone, odd_uploads, odd_factors, own_key,
                                  operators_options, executor_killed, idle_connections)}
OPTIONS = {"operators_options": ["--", "--image", "host"]}


def main(case):
    try:
        if case in CASES:
            CASES[case]()
            return
        server = Server(*OPTIONS.get(case, []))
        try:
            SERVED[case](server)
            server.end()
        finally:
            server.process.kill()
    finally:
        for box in hutch("ps", "--all", "--quiet").split():
            hutch("rm", "--force", box)


main(sys.argv[2])
