#!/usr/bin/env python3
"""egress -- the cost of the network of rules (hutch run --allow), beside plain loopback
and beside a bare relay by splice(2) with as many hops.

The server is on this host's loopback, which the rule @host:PORT opens; the same client runs
on the host, through the relay, and in a sandbox, in turns.  The form without veth devices
is measured, too, by a hutch-gate that is linked to find none (no_veth.c).

    egress.py [HUTCH]	alone, as text; beside HUTCH are bench/timer, bench/nothing and
			bench/single, which `make bench` builds
"""

import json
import os
import re
import subprocess
import sys

import measure
import ports
import rows

ROUNDS = 5
CONNECTS = 300
MANY = 1000
RULES = 200
LAUNCHES = 200
AT_ONCE, TRIES = 100, 3
NAME = "host.hutch.internal"
KINDS = ("connect", "down", "up")

# Connects, then receives and sends; prints a line of JSON.
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
found = {{"connect": sorted(times)[{CONNECTS} // 2]}}
room, got, begun = bytearray({ports.PIECE}), 0, time.perf_counter()
with connect(b"d") as c:
    while n := c.recv_into(room):
        got += n
assert got == {ports.TOTAL}, got
found["down"] = got / (time.perf_counter() - begun) / 1e9
begun = time.perf_counter()
with connect(b"u") as c:
    for _ in range({ports.TOTAL // ports.PIECE}):
        c.sendall(room)
    c.shutdown(socket.SHUT_WR)
    assert c.recv(1) == b"."
found["up"] = {ports.TOTAL} / (time.perf_counter() - begun) / 1e9
print(json.dumps(found))
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


def processes_of(launcher):
    """Returns the pids of hutch-gate and hutch-egress, children of the launcher."""
    found = []
    for pid in measure.children_of(launcher):
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            if words.read().startswith((b"hutch-gate", b"hutch-egress")):
                found.append(pid)
    return found


def memory_kib(pid):
    """Returns private memory where root asks, and else anonymous memory: the rest is the
    text of programs, and the two show their maps to no other user."""
    try:
        return measure.private_kib(pid)
    except PermissionError:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return int(re.search(r"^RssAnon:\s+(\d+) kB$", status.read(), re.MULTILINE)[1])


def memory(hutch, port):
    """Returns MiB of both processes with one connection and with many."""
    sizes = []
    for script in (HOLDER.replace(f"range({MANY})", "range(1)"), HOLDER):
        holder = ready([*allowed(hutch, port), *python(script, NAME, port)])
        sizes.append(sum(map(memory_kib, processes_of(holder.pid))) / 1024)
        holder.communicate()
    return sizes


# --- launches ------------------------------------------------------------------------


def rules(count):
    return [word for at in range(count) for word in ("--allow", f"host{at}.example.org")]


def launch(hutch, bench, words):
    volume = os.path.join(bench, "nothing") + ":/nothing:ro"
    return rows.Row("", [hutch, "run", *words, "-v", volume, "--", "/nothing"])


def launches(hutch, single, bench):
    kinds = {"none": launch(hutch, bench, []), "allow": launch(hutch, bench, rules(1)),
             "rules": launch(hutch, bench, rules(RULES))}
    if os.path.exists(single):
        kinds["single"] = launch(single, bench, rules(1))
    return kinds


def cpu_together(timer, row):
    """Returns the CPU time of one of many launches at once, in ms: of its processes, and of
    the kernel's threads, which take networks down after the processes have ended.  The
    first try is not counted; its end falls into the next, as theirs does into the next."""
    total, begun = 0, None
    for turn in range(TRIES + 1):
        if turn == 1:
            begun = measure.kernel_threads_cpu()
        cost = timer.together(AT_ONCE, row)
        if cost.failed:
            raise RuntimeError(f"{cost.failed} of {row.argv} failed")
        total += cost.cpu_total if turn else 0
    kernel = measure.kernel_threads_cpu() - begun
    return {"processes": total / TRIES / AT_ONCE, "kernel": kernel / TRIES / AT_ONCE}


def measure_launches(timer, kinds):
    result = {}
    for name, cost in zip(kinds, timer.turns(LAUNCHES, list(kinds.values()))):
        if cost.failed:
            raise RuntimeError(f"{cost.failed} of {kinds[name].argv} failed")
        together = cpu_together(timer, kinds[name])
        result[name] = {"p50": round(cost.p50, 3), "cpu": round(cost.cpu, 3),
                        **{part: round(ms, 3) for part, ms in together.items()}}
    return result


def added(known, name, other):
    """Returns the ms that a launch takes more, alone by the clock and together in CPU."""
    more = {key: known[name][key] - known[other][key] for key in known[name]}
    return {"ms": round(more["p50"], 3), "cpu_ms": round(more["cpu"], 3),
            "together_cpu_ms": round(more["processes"] + more["kernel"], 3)}


# --- connections ---------------------------------------------------------------------


def measure_connections(hutch, single, server, relay):
    """Returns the middle of the turns for each way, and ratios of neighbours in time."""
    ways = {"plain": ([], "127.0.0.1", server), "relay": ([], "127.0.0.1", relay),
            "allow": (allowed(hutch, server), NAME, server),
            "rules": ([hutch, "run", *rules(RULES), *allowed(hutch, server)[2:]], NAME, server)}
    if os.path.exists(single):
        ways["single"] = (allowed(single, server), NAME, server)
    turns = [{name: client(*way) for name, way in ways.items()} for _ in range(ROUNDS)]
    result = {name: {kind: round(ports.middle([one[name][kind] for one in turns]), 4)
                     for kind in KINDS} for name in ways}
    for name in result.keys() - {"plain", "relay"}:
        result[name]["added_connect_ms"] = round(ports.middle(
            [one[name]["connect"] - one["plain"]["connect"] for one in turns]), 3)
        for kind in ("down", "up"):
            result[name][kind + "_of_relay"] = round(ports.middle(
                [one[name][kind] / one["relay"][kind] for one in turns]), 3)
    return result


def measure_egress(hutch):
    bench = os.path.join(os.path.dirname(os.path.abspath(hutch)), "bench")
    single = os.path.join(bench, "single", "hutch")
    server, relay = ports.free_port(), ports.free_port()
    processes, result = [], {}
    try:
        processes.append(ports.start(server, []))
        processes.append(ready(python(RELAY, relay, server)))
        result["connections"] = measure_connections(hutch, single, server, relay)
        idle, many = memory(hutch, server)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    result["idle_mib"], result["many_mib"] = round(idle, 2), round(many, 2)
    known = measure_launches(measure.Timer(os.path.dirname(bench)), launches(hutch, single, bench))
    result["launches"] = known
    result["added"] = {name: added(known, name, "none") for name in known if name != "none"}
    result["added_rules"] = added(known, "rules", "allow")
    return result


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    found = measure_egress(sys.argv[1] if sys.argv[1:] else os.path.join(here, "../../build/hutch"))
    print(json.dumps(found, indent=1))
