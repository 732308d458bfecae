#!/usr/bin/env python3
"""ports -- the cost of a connection through a published port, beside plain
loopback, and beside a bare relay by splice(2) with as many hops.

The same server on the host and in a sandbox (`hutch run -p`), the same client, in turns:
2 GiB in each direction through one connection, echoes of one byte, requests of 500 bytes with
answers of 50 KB, and new connections with one echo each.  The relay (relay.c) is two
processes with pipes between them, as a published port is; one process is measured, too.

    ports.py [HUTCH]	alone, as text; beside HUTCH is bench/relay, which `make bench` builds
"""

import codecs
import os
import socket
import subprocess
import sys
import time

# socket names hosts by this codec.  The bench has become another user when it connects, who may
# not read Python's folder.
codecs.lookup("idna")

ROUNDS = 5
TOTAL = 2 << 30
PIECE = 1 << 20
ECHOES, REQUESTS, CONNECTIONS = 3000, 1000, 500
REQUEST, ANSWER = 500, 50000
SIZES, TIMES = ("down", "up"), ("echo", "answer", "new")

# The first letter is the request: (e)cho, (a)nswers, (u)pload, (d)ownload.
SERVER = f"""
import socket, threading
server = socket.create_server(("127.0.0.1", PORT))
def answer(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    verb, room = c.recv(1), bytearray({PIECE})
    if verb == b"e":
        while data := c.recv(1):
            c.send(data)
    elif verb == b"a":
        while c.recv_into(room, {REQUEST}, socket.MSG_WAITALL):
            c.sendall(memoryview(room)[:{ANSWER}])
    elif verb == b"u":
        while c.recv_into(room):
            pass
        c.send(b".")
    elif verb == b"d":
        for _ in range({TOTAL // PIECE}):
            c.sendall(room)
    c.close()
print("ready", flush=True)
while True:
    c, _ = server.accept()
    threading.Thread(target=answer, args=(c,), daemon=True).start()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(port, before):
    # `before` puts the command into a sandbox, or is empty.
    argv = [*before, "/usr/bin/python3", "-SEc", SERVER.replace("PORT", str(port), 1)]
    server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if server.stdout.readline() != b"ready\n":
        raise RuntimeError(f"{before or 'the host'}: no server")
    return server


def connect(port, verb):
    c = socket.create_connection(("127.0.0.1", port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    c.sendall(verb)
    return c


def down_gbs(port):
    room, got, begun = bytearray(PIECE), 0, time.perf_counter()
    with connect(port, b"d") as c:
        while n := c.recv_into(room):
            got += n
    assert got == TOTAL, got
    return got / (time.perf_counter() - begun) / 1e9


def up_gbs(port):
    data, begun = bytes(PIECE), time.perf_counter()
    with connect(port, b"u") as c:
        for _ in range(TOTAL // PIECE):
            c.sendall(data)
        c.shutdown(socket.SHUT_WR)
        assert c.recv(1) == b"."
    return TOTAL / (time.perf_counter() - begun) / 1e9


def echo_ms(port):
    samples = []
    with connect(port, b"e") as c:
        for _ in range(ECHOES):
            begun = time.perf_counter()
            c.send(b"x")
            c.recv(1)
            samples.append((time.perf_counter() - begun) * 1e3)
    return middle(samples)


def answer_ms(port):
    samples, request, room = [], bytes(REQUEST), bytearray(ANSWER)
    with connect(port, b"a") as c:
        for _ in range(REQUESTS):
            begun = time.perf_counter()
            c.sendall(request)
            assert c.recv_into(room, ANSWER, socket.MSG_WAITALL) == ANSWER
            samples.append((time.perf_counter() - begun) * 1e3)
    return middle(samples)


def new_ms(port):
    samples = []
    for _ in range(CONNECTIONS):
        begun = time.perf_counter()
        with connect(port, b"e") as c:
            c.send(b"x")
            c.recv(1)
            samples.append((time.perf_counter() - begun) * 1e3)
    return middle(samples)


def middle(samples):
    return sorted(samples)[len(samples) // 2]


def start_relay(program, hops, port):
    relay = subprocess.Popen([program, str(hops), str(port)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
    return relay, int(relay.stdout.readline())


def measure_turns(ways, kinds):
    samples = {(name, kind): [] for name in ways for kind in kinds}
    for _ in range(ROUNDS):
        for kind, measure in kinds.items():
            for name, port in ways.items():
                samples[name, kind].append(measure(port))
    return samples


def ratios(samples, name):
    """Returns how many times as long a published port takes as another way.  The ratios are
    of samples taken one right after the other, so that the machine was equally busy for
    both."""
    pairs = {kind: list(zip(samples[name, kind], samples["port", kind])) for kind in SIZES + TIMES}
    return {kind: round(middle([a / b if kind in SIZES else b / a for a, b in pairs[kind]]), 3)
            for kind in pairs}


def measure_ports(hutch):
    plain, inside, outside = free_port(), 8000, free_port()
    relay = os.path.join(os.path.dirname(os.path.abspath(hutch)), "bench", "relay")
    ways, servers = {"plain": plain}, []
    try:
        servers.append(start(plain, []))
        for name, hops in (("single", 1), ("relay", 2)):
            process, ways[name] = start_relay(relay, hops, plain)
            servers.append(process)
        servers.append(start(inside, [hutch, "run", "-p", f"{outside}:{inside}", "--"]))
        ways["port"] = outside
        kinds = dict(zip(SIZES + TIMES, (down_gbs, up_gbs, echo_ms, answer_ms, new_ms)))
        samples = measure_turns(ways, kinds)
    finally:
        for server in servers:
            server.terminate()
            server.wait()
    result = {name: {kind: round(middle(samples[name, kind]), 4) for kind in kinds}
              for name in ways}
    result["ratio"] = ratios(samples, "plain")
    result["relay_ratio"] = ratios(samples, "relay")
    echoes = zip(samples["plain", "echo"], samples["port", "echo"])
    result["added_ms"] = round(middle([b - a for a, b in echoes]), 4)
    return result


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    found = measure_ports(sys.argv[1] if sys.argv[1:] else os.path.join(here, "../../build/hutch"))
    for key, value in found.items():
        print(key, value)
