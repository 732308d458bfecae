#!/usr/bin/env -S python3 -SE
"""net_join.py HUTCH CASE: sandboxes of a network, by their control sockets: `pg` has joined db-net, and
`app` too, with a rule for port 5432."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from control import Client, Sandbox  # noqa: E402

HUTCH = os.path.abspath(sys.argv[1])
FULL = "pg.db-net.hutch.internal"

# Answers each connection, from its first line on: with all that came, in upper case.  `hold` keeps the
# connection open behind one line.
SERVER = """import socket, sys, threading
def serve(c):
    with c, c.makefile("rb") as lines:
        first = lines.readline()
        c.sendall(first.upper())
        if first == b"hold\\n":
            lines.read()
        else:
            c.sendall(lines.read().upper())
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=256)
print("listens", flush=True)
while True:
    threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
"""
# A reset that comes before the client's end has shutdown(2) fail with ENOTCONN; reading tells it.
VISIT = """import contextlib, socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s, s.makefile("rb") as lines:
        s.sendall(sys.argv[3].encode() + b"\\n")
        if sys.argv[3] == "hold":
            print(lines.readline().decode().strip(), flush=True)
        else:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_WR)
        print(lines.read().decode().strip() or "end")
except OSError as e:
    print(type(e).__name__)
"""
MANY = """import socket, threading
def visit(i):
    with socket.create_connection(("pg", 5432)) as s, s.makefile("rb") as lines:
        s.sendall(b"%d\\n" % i + b"x" * 10000)
        s.shutdown(socket.SHUT_WR)
        good[i] = lines.read() == b"%d\\n" % i + b"X" * 10000
good = [False] * 100
threads = [threading.Thread(target=visit, args=[i]) for i in range(100)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(good))
"""
RESETS = {"ConnectionResetError", "BrokenPipeError"}


def visit(c, name="pg", port=5432, word="hello"):
    process = c.start("python3", "-SE", "-c", VISIT, name, str(port), word)
    c.wait(process)
    return c.output(process).decode().strip()


def hold(c, name="pg"):
    """Begins a visit that stays, and returns its process when the server has answered."""
    process = c.start("python3", "-SE", "-c", VISIT, name, "5432", "hold")
    c.until(lambda: c.output(process) == b"HOLD\n")
    return process


def ended(c, process):
    c.wait(process)
    return c.output(process).decode().split()[-1]


def serve(c, port=5432):
    process = c.start("python3", "-SE", "-c", SERVER, str(port))
    c.until(lambda: c.output(process) == b"listens\n")


@contextlib.contextmanager
def sandbox(name, *options):
    box = Sandbox(HUTCH, options, name)
    try:
        yield Client(name)
    finally:
        box.end()


def log_of(folder, *events):
    text = subprocess.run([HUTCH, "audit", "show", "--json", folder], stdout=subprocess.PIPE, check=True).stdout
    return [entry for entry in map(json.loads, text.splitlines()) if entry["event"] in (events or ("net",))]


def reach():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        with sandbox("pg", "--network-join", "db-net", "--audit", folder + "/pg") as pg, \
                sandbox("app", "--network-join", "db-net:5432", "--audit", folder + "/app") as app:
            serve(pg)
            serve(pg, 5433)
            assert [visit(app, name) for name in ("pg", FULL)] == ["HELLO", "HELLO"]
            assert visit(app, port=5433) == "ConnectionRefusedError"
            # pg has no rule, and reaches nothing, itself included.
            assert {visit(pg, name) for name in ("app", "pg")} == {"gaierror"}
            assert app.call("info")["network"]["joins"] == ["db-net"]
            assert app.call("info")["egress"] == [{"allow": "*.db-net.hutch.internal:5432"}]
            subprocess.run([HUTCH, "rename", "app", "later"], check=True)
            assert visit(app) == "HELLO"
            subprocess.run([HUTCH, "rename", "later", "app"], check=True)
        found = [(e["verdict"], e["network"], e["from"], e["port"]) for e in log_of(folder + "/pg")
                 if "network" in e]
        assert found == [("allow", "db-net", name, 5432) for name in ("app", "app", "later")], found
        found = [(e["verdict"], e["port"]) for e in log_of(folder + "/app") if e["verdict"] == "allow"]
        assert found == [("allow", 5432)] * 3, found


def any_bytes():
    """The ports of HTTP and TLS carry any bytes, since programs name a sandbox as they like."""
    with sandbox("pg", "-u", "root", "--cap-add", "NET_BIND_SERVICE", "--network-join", "db-net") as pg, \
            sandbox("app", "--network-join", "db-net:80", "--network-join", "db-net:443") as app:
        for port in 80, 443:
            serve(pg, port)
            assert [visit(app, name, port, "GET / HTTP/1.1") for name in ("pg", FULL)] == ["GET / HTTP/1.1"] * 2


def later():
    with sandbox("app", "--network-join", "db-net:5432") as app:
        assert visit(app) == "gaierror"
        for _ in range(2):
            with sandbox("pg", "--network-join", "db-net") as pg:
                serve(pg)
                assert visit(app) == "HELLO"
            assert visit(app) == "gaierror"


def strangers():
    with sandbox("pg", "--network-join", "db-net") as pg, sandbox("alone") as alone, \
            sandbox("app", "--network-join", "db-net:5432", "--allow", "*.other.hutch.internal:5432") as app, \
            sandbox("other", "--network-join", "other:5432", "--allow", FULL + ":5432") as other:
        serve(pg)
        serve(alone)
        serve(other)
        names = ("alone", "alone.db-net.hutch.internal", "other.db-net.hutch.internal", "other.other.hutch.internal",
                 "pg.other.hutch.internal", "x.pg.db-net.hutch.internal", "db-net.hutch.internal")
        assert {name: visit(app, name) for name in names} == dict.fromkeys(names, "gaierror")
        # other has a rule for the name, and has not joined the network.
        assert {visit(other, name) for name in ("pg", FULL)} == {"gaierror"}
        assert visit(app) == "HELLO"


def rules():
    with sandbox("pg", "--network-join", "db-net") as pg, sandbox("pg2", "--network-join", "db-net") as pg2, \
            sandbox("app", "--deny", "pg2.db-net.hutch.internal", "--network-join", "db-net:5432") as app:
        serve(pg)
        serve(pg2)
        assert [visit(app), visit(app, "pg2")] == ["HELLO", "gaierror"]
        process = hold(app)
        [row] = app.call("net.list")["connections"]
        assert (row["name"], row["address"], row["port"]) == (FULL, None, 5432), row
        assert app.call("net.add", rule={"deny": "a.org"})["cut"] == 0
        assert app.call("net.remove", rule="*.db-net.hutch.internal:5432")["cut"] == 1
        assert ended(app, process) in RESETS
        assert visit(app) == "gaierror"


def resets():
    with sandbox("app", "--network-join", "db-net:5432") as app:
        with sandbox("pg", "--network-join", "db-net") as pg:
            assert visit(app) in RESETS
            serve(pg)
            process = hold(app)
        assert ended(app, process) in RESETS


def many():
    with sandbox("pg", "--network-join", "db-net") as pg, sandbox("app", "--network-join", "db-net:5432") as app:
        serve(pg)
        process = app.start("python3", "-SE", "-c", MANY)
        app.wait(process)
        assert app.output(process) == b"100\n"


def target():
    listener = socket.create_server(("127.0.0.1", 0))
    unix = socket.socketpair()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.connect(listener.getsockname())
    alone_tcp = socket.socket()
    with sandbox("pg", "--network-join", "db-net") as pg, sandbox("alone", "--network", "allow") as alone:
        with socket.create_connection(listener.getsockname()) as tcp:
            def refused(c, kind, fds=(tcp.fileno(),), **params):
                return c.refused("net.connect", kind, fds, **params)
            assert "could reach the name 'P.g'" in str(pg.refused("rename", "invalid", name="P.g"))
            refused(pg, "refused", network="other", port=5432)
            refused(alone, "refused", network="db-net", port=5432)
            for params in ({}, {"network": "db-net"}, {"port": 1}, {"network": "db-net", "port": 0},
                           {"network": "db-net", "port": 65536}, {"network": 1, "port": 1},
                           {"network": "db-net", "port": 1, "from": "../x"}, {"network": "db-net", "port": 1, "x": 1}):
                refused(pg, "invalid", **params)
            for fds in ((), (listener.fileno(),), (unix[0].fileno(),), (tcp.fileno(), tcp.fileno()), (0,),
                        (udp.fileno(),), (alone_tcp.fileno(),)):
                refused(pg, "invalid", fds, network="db-net", port=5432)
        # A good one works, without a name of its sender.
        serve(pg)
        with socket.create_connection(listener.getsockname()) as theirs:
            listener.accept()
            ours = listener.accept()[0]
            assert pg.call("net.connect", [theirs.fileno()], network="db-net", port=5432) == {}
        with ours, ours.makefile("rb") as lines:
            ours.sendall(b"word\n")
            assert lines.readline() == b"WORD\n"


def flood():
    """The audit log has 100 entries a second about connections from others, and counts the rest."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as tcp:
        os.chmod(folder, 0o700)
        with sandbox("pg", "--network-join", "db-net", "--audit", folder) as pg:
            for _ in range(2000):
                pg.refused("net.connect", "refused", [tcp.fileno()], network="other", port=5432)
        found = log_of(folder, "net", "net-lost")
        assert sum(entry.get("count", 1) for entry in found) == 2000 and len(found) < 2000, len(found)


def child_of(pid, name):
    # /proc/PID/task/TID/children leaves out children while others of them end (proc(5)).
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and (folder / "comm").read_text().strip() == name:
                return int(folder.name)
    raise AssertionError(f"{pid} has no child {name}")


def lost():
    with sandbox("pg", "--network-join", "db-net") as pg:
        box = Sandbox(HUTCH, ("--network-join", "db-net:5432"), "app")
        app = Client("app")
        try:
            serve(pg)
            process = hold(app)
            os.kill(child_of(box.pid, "hutch-peers"), signal.SIGKILL)
            assert visit(app) == "gaierror"
            # A connection that is there goes on.
            app.call("exec.signal", process=process, signal="TERM")
            assert app.wait(process)["signal"] == signal.SIGTERM
        finally:
            box.end()


def single():
    with sandbox("pg", "--network-join", "db-net") as pg:
        serve(pg)
        for port in "5432", "*":
            done = subprocess.run([HUTCH, "run", "-q", "--network-join", f"db-net:{port}", "--", "python3", "-SE",
                                   "-c", VISIT, "pg", "5432", "hello"], stdout=subprocess.PIPE, check=True)
            assert done.stdout == b"HELLO\n"


if __name__ == "__main__":
    {f.__name__: f for f in (reach, any_bytes, later, strangers, rules, resets, many, target, flood, lost,
                                single)}[sys.argv[2]]()
    print("well")
