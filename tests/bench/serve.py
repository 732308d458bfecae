#!/usr/bin/env python3
"""serve -- the cost of `hutch serve`: one action over loopback, a start, many sandboxes.

One server, and clients with connections that stay open:

    execute     POST execute_action of `echo hi`, beside the same action through the SDK
    start       POST start, and GET alive behind it
    many        sandboxes behind one server: its memory, and actions a second of all

    serve.py [HUTCH]	alone, as text
"""

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../sdk/python"))

import hutch

ROUNDS, STARTS, MANY, LANES, SECONDS = 500, 40, 200, 32, 5
COMMAND = ["python", "-m", "openhands.runtime.action_execution_server", "60000",
           "--working-dir", "/workspace", "--no-enable-browser"]
ACTION = {"action": "run", "args": {"command": "echo hi"}}


class Server:
    """`hutch serve` on a port of its own, with a key of its own."""

    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory()
        key = os.path.join(self.folder.name, "key")
        self.process = subprocess.Popen(
            [path, "serve", "-q", "--listen", "127.0.0.1:0", "--name", f"bench-{os.getpid()}",
             "--key-file", key], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        url = self.process.stdout.readline().strip()
        self.address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        with open(key, encoding="utf-8") as f:
            self.key = f.read().strip()

    def kib(self):
        """Private memory of both processes."""
        found = 0
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True,
                                  check=True).stdout.split()
        for pid in [str(self.process.pid), *children]:
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                found += sum(int(line.split()[1]) for line in f if line.startswith("RssAnon"))
        return found

    def end(self):
        self.process.terminate()
        self.process.wait()


class Client:
    def __init__(self, server):
        self.server = server
        self.socket = socket.create_connection(server.address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.got = b""

    def send(self, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {self.server.key}\r\n"
                f"Content-Length: {len(data)}\r\n\r\n")
        self.socket.sendall(head.encode() + data)

    def take(self):
        """An answer that is there: its status and body; None: a part of it is missing."""
        self.got += self.socket.recv(65536)
        head, found, rest = self.got.partition(b"\r\n\r\n")
        if not found:
            return None
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(rest) < length:
            return None
        self.got = rest[length:]
        return int(head.split()[1]), rest[:length]

    def call(self, method, path, body=None):
        self.send(method, path, body)
        while (answer := self.take()) is None:
            pass
        assert answer[0] == 200, answer
        return json.loads(answer[1])


def start(client, number):
    session = f"bench-{os.getpid()}-{number}"
    begun = time.perf_counter()
    runtime = client.call("POST", "/start", {"image": "", "session_id": session, "command": COMMAND,
                                             "environment": {}})["runtime_id"]
    client.call("GET", f"/{runtime}/alive")
    return runtime, time.perf_counter() - begun


def middle(times):
    return sorted(times)[len(times) // 2] * 1000


def act_ms(client, runtime, path):
    """The middle of an action's time by the server, and by the SDK, in turn."""
    found = {"serve": [], "sdk": []}
    with hutch.Sandbox(program=path) as box:
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            client.call("POST", f"/{runtime}/execute_action", {"action": ACTION})
            between = time.perf_counter()
            box.act(ACTION)
            found["serve"].append(between - begun)
            found["sdk"].append(time.perf_counter() - between)
    return {name: middle(times) for name, times in found.items()}


def actions_a_second(server, runtimes):
    clients = {}
    for i in range(LANES):
        client = Client(server)
        clients[client.socket] = client, i
    done, begun = 0, time.perf_counter()

    def send(client, i):
        client.send("POST", f"/{runtimes[i % len(runtimes)]}/execute_action", {"action": ACTION})

    for client, i in clients.values():
        send(client, i)
    while time.perf_counter() - begun < SECONDS:
        for ready in select.select(list(clients), [], [])[0]:
            client, i = clients[ready]
            answer = client.take()
            if answer is None:
                continue
            assert answer[0] == 200, answer
            done += 1
            clients[ready] = client, i + LANES
            send(client, i + LANES)
    return done / (time.perf_counter() - begun)


def measure_serve(path):
    server = Server(path)
    runtimes = []
    try:
        client = Client(server)
        empty = server.kib()
        times = []
        for i in range(STARTS):
            runtime, seconds = start(client, i)
            runtimes.append(runtime)
            times.append(seconds)
        acts = act_ms(client, runtimes[0], path)
        for i in range(STARTS, MANY):
            runtimes.append(start(client, i)[0])
        for runtime in runtimes:
            client.call("POST", f"/{runtime}/execute_action", {"action": ACTION})
        full = server.kib()
        rate = actions_a_second(server, runtimes)
        return {"start_ms": middle(times), "execute_ms": acts["serve"], "sdk_ms": acts["sdk"],
                "sandboxes": MANY, "empty_kib": empty, "kib_each": (full - empty) / MANY,
                "actions_s": rate}
    finally:
        for runtime in runtimes:
            client.call("POST", "/stop", {"runtime_id": runtime})
        server.end()


def lines(result):
    yield (f"hutch serve: execute_action of echo {result['execute_ms']:.2f} ms (the SDK "
           f"{result['sdk_ms']:.2f}), start to alive {result['start_ms']:.1f} ms")
    yield (f"  {result['sandboxes']} sandboxes: {result['actions_s']:.0f} actions/s, "
           f"{result['empty_kib'] / 1024:.1f} MiB and {result['kib_each']:.0f} KiB each")


if __name__ == "__main__":
    print(*lines(measure_serve(sys.argv[1] if sys.argv[1:] else "hutch")), sep="\n")
