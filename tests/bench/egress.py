#!/usr/bin/env python3
"""egress -- the cost of the network of rules (hutch run --allow), beside plain loopback
and beside a bare relay by splice(2) with as many hops.

The server is on this host's loopback, which the rule @host:PORT opens; the same client runs
on the host, through the relay, and in a sandbox, in turns.

    egress.py [HUTCH]	alone, as text
"""

import json
import os
import re
import subprocess
import sys
import time

import ports

ROUNDS = 5
CONNECTS = 300
MANY = 1000
LAUNCHES = 60
NAME = "host.hutch.internal"

# Connects, then receives; prints a line of JSON.
CLIENT = f"""
import json, socket, sys, time
host, port = sys.argv[1], int(sys.argv[2])
def connect(verb):
    c = socket.create_connection((host, port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    c.sendall(verb)
    return c
times = []
for _ in range({CONNECTS}):
    begun = time.perf_counter()
    with connect(b"e") as c:
        c.sendall(b"x")
        c.recv(1)
    times.append((time.perf_counter() - begun) * 1e3)
room, got, begun = bytearray({ports.PIECE}), 0, time.perf_counter()
with connect(b"d") as c:
    while n := c.recv_into(room):
        got += n
assert got == {ports.TOTAL}, got
print(json.dumps({{"connect": sorted(times)[{CONNECTS} // 2],
                   "down": got / (time.perf_counter() - begun) / 1e9}}))
"""

# Holds many connections open until its stdin ends.
HOLDER = f"""
import socket, sys
all = [socket.create_connection((sys.argv[1], int(sys.argv[2]))) for _ in range({MANY})]
for c in all:
    c.sendall(b"e")
    c.sendall(b"x")
    c.recv(1)
print("ready", flush=True)
sys.stdin.read()
"""

# Relays each connection in a thread for each direction.
RELAY = """
import os, socket, sys, threading
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
def move(a, b):
    out, into = os.pipe()
    while n := os.splice(a.fileno(), into, 1 << 20):
        while n:
            n -= os.splice(out, b.fileno(), n)
    os.close(out)
    os.close(into)
    b.shutdown(socket.SHUT_WR)
def carry(a, b):
    there = threading.Thread(target=move, args=(a, b))
    there.start()
    move(b, a)
    there.join()
    a.close()
    b.close()
print("ready", flush=True)
while True:
    c, _ = server.accept()
    up = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    threading.Thread(target=carry, args=(c, up), daemon=True).start()
"""


def python(script, *words):
    return ["/usr/bin/python3", "-SEc", script, *map(str, words)]


def allowed(hutch, port):
    return [hutch, "run", "--allow", f"@host:{port}", "--"]


def client(before, host, port):
    done = subprocess.run([*before, *python(CLIENT, host, port)], check=True, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def ready(argv):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError(f"{argv}: it is not ready")
    return process


def anonymous_mib(launcher):
    """Returns the anonymous memory of hutch-gate and hutch-egress, children of the launcher."""
    total = 0
    with open(f"/proc/{launcher}/task/{launcher}/children", encoding="ascii") as children:
        pids = children.read().split()
    for pid in pids:
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            is_ours = words.read().startswith((b"hutch-gate", b"hutch-egress"))
        if not is_ours:
            continue
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            total += int(re.search(r"^RssAnon:\s+(\d+) kB$", status.read(), re.MULTILINE)[1])
    return total / 1024


def memory(hutch, port):
    """Returns MiB of both processes with one connection and with many."""
    sizes = []
    for script in (HOLDER.replace(f"range({MANY})", "range(1)"), HOLDER):
        holder = ready([*allowed(hutch, port), *python(script, NAME, port)])
        sizes.append(anonymous_mib(holder.pid))
        holder.communicate()
    return sizes


def launch_ms(argv):
    begun = time.perf_counter()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1e3


def measure_launch(hutch):
    with_rule = [hutch, "run", "--allow", "pypi.org", "--", "true"]
    pairs = [(launch_ms([hutch, "run", "--", "true"]), launch_ms(with_rule))
             for _ in range(LAUNCHES)]
    return ports.middle([b - a for a, b in pairs])


def measure_egress(hutch):
    server, relay = ports.free_port(), ports.free_port()
    processes, samples = [], []
    try:
        processes.append(ports.start(server, []))
        processes.append(ready(python(RELAY, relay, server)))
        for _ in range(ROUNDS):
            samples.append({"plain": client([], "127.0.0.1", server),
                            "relay": client([], "127.0.0.1", relay),
                            "allow": client(allowed(hutch, server), NAME, server)})
        idle, many = memory(hutch, server)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    result = {name: {kind: round(ports.middle([one[name][kind] for one in samples]), 4)
                     for kind in ("connect", "down")} for name in ("plain", "relay", "allow")}
    result["added_connect_ms"] = round(ports.middle(
        [one["allow"]["connect"] - one["plain"]["connect"] for one in samples]), 3)
    result["down_of_relay"] = round(ports.middle(
        [one["allow"]["down"] / one["relay"]["down"] for one in samples]), 3)
    result["added_launch_ms"] = round(measure_launch(hutch), 3)
    result["idle_mib"], result["many_mib"] = round(idle, 2), round(many, 2)
    return result


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    found = measure_egress(sys.argv[1] if sys.argv[1:] else os.path.join(here, "../../build/hutch"))
    for key, value in found.items():
        print(key, value)
