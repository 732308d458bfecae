"""ports_more.py CASE [ARG...]: further checks of ports.bats."""
import array
import fcntl
import json
import os
import random
import signal
import socket
import sys
import threading


def free_port():
    """Returns a port without a listener, from those that `auto` and clients do
    not use."""
    while True:
        port = random.randrange(20000, 30000)
        try:
            socket.socket().bind(("127.0.0.1", port))
        except OSError:
            continue
        print(port)
        return


def hosts():
    """Reads `hutch port ls --json` on stdin."""
    for port in json.load(sys.stdin):
        print(port["host"], port["guest"])


def hold_many(port, count, patience):
    """Makes that many connections at once; the first ones end, so that the last
    ones get in."""
    held = []
    for _ in range(int(count)):
        connection = socket.create_connection(("127.0.0.1", int(port)), int(patience))
        connection.sendall(b"e?")
        held.append(connection)
    for n, connection in enumerate(held):
        assert connection.recv(1) == b"?", n
        connection.close()


def stay(port):
    """A connection that sends something, and something else when stdin has a line."""
    connection = socket.create_connection(("127.0.0.1", int(port)))
    for said in b"e1", b"2":
        connection.sendall(said)
        assert connection.recv(1) == said[-1:]
        print("heard", flush=True)
        sys.stdin.readline()


def say_and_end(count, length):
    """Inside: accepts that many clients, sends that many bytes to each when /go
    exists, and ends."""
    server = socket.create_server(("127.0.0.1", 8000), backlog=128)
    print("ready", flush=True)
    connections = [server.accept()[0] for _ in range(int(count))]
    print("accepted", flush=True)
    with open("/go/on") as go:
        go.readline()
    said = [threading.Thread(target=c.sendall, args=[b"x" * int(length)]) for c in connections]
    for thread in said:
        thread.start()
    for thread in said:
        thread.join()


def host_is_out_of_reach(port):
    """Inside: /proc/net lists no socket, and nothing listens."""
    with open("/proc/net/tcp") as sockets:
        for line in sockets.readlines()[1:]:
            print(line)
    try:
        socket.create_connection(("127.0.0.1", int(port)))
    except ConnectionRefusedError:
        print("refused")


class Control:
    """A client of the control socket at `path`."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r")
        self.call("hello", {})

    def call(self, method, params, fds=()):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([json.dumps(request).encode() + b"\n"], beside)
        return json.loads(self.lines.readline())


def add_sockets(path):
    """port.add accepts a listening socket and nothing else; prints the port of
    one."""
    def call(*args):
        return Control(path).call(*args)

    def is_wrong(code, *args):
        got = call(*args)
        assert got.get("error", {}).get("code") == code, got

    listener = socket.create_server(("127.0.0.1", 0))
    silent = socket.socket()
    datagrams = socket.socket(type=socket.SOCK_DGRAM)
    is_wrong(-32602, "port.add", {"guest": 80})
    is_wrong(-32602, "port.add", {}, [listener.fileno()])
    is_wrong(-32602, "port.add", {"guest": 0}, [listener.fileno()])
    is_wrong(-32602, "port.add", {"guest": 65536}, [listener.fileno()])
    is_wrong(-32602, "port.add", {"guest": 80, "host": 1}, [listener.fileno()])
    is_wrong(-32602, "port.add", {"guest": 80}, [listener.fileno()] * 2)
    for wrong in silent, datagrams, sys.stderr:
        is_wrong(-32602, "port.add", {"guest": 80}, [wrong.fileno()])
    is_wrong(-32602, "port.remove", {})
    is_wrong(-32000, "port.remove", {"host": "127.0.0.1:1"})
    assert call("port.list", {})["result"] == []
    got = call("port.add", {"guest": 8000}, [listener.fileno()])
    host = f"127.0.0.1:{listener.getsockname()[1]}"
    assert got["result"] == {"host": host, "guest": 8000}, got
    listener.close()
    for _ in range(63):
        one = socket.create_server(("127.0.0.1", 0))
        assert "result" in call("port.add", {"guest": 8000}, [one.fileno()])
    one = socket.create_server(("127.0.0.1", 0))
    got = call("port.add", {"guest": 8000}, [one.fileno()])
    assert got["error"]["data"]["kind"] == "limit", got
    print(host.rpartition(":")[2])


def block_again(path, visits, patience):
    """A client makes its listener blocking again, at any instant.  It shares
    the open file description with the supervisor, and with it O_NONBLOCK."""
    control = Control(path)
    control.socket.settimeout(int(patience))
    listener = socket.create_server(("127.0.0.1", 0))
    flags = fcntl.fcntl(listener, fcntl.F_GETFL)

    def visit():
        with socket.create_connection(listener.getsockname(), int(patience)) as connection:
            connection.sendall(b"e?")
            assert connection.recv(1) == b"?"

    assert "result" in control.call("port.add", {"guest": 8000}, [listener.fileno()])
    assert fcntl.fcntl(listener, fcntl.F_GETFL) & os.O_NONBLOCK
    listener.settimeout(None)
    visit()
    assert "result" in control.call("port.list", {})
    again = os.fork()
    while again == 0:
        fcntl.fcntl(listener, fcntl.F_SETFL, flags)
    try:
        for _ in range(int(visits)):
            visit()
        assert "result" in control.call("port.list", {})
    finally:
        os.kill(again, signal.SIGKILL)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
