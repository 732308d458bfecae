#!/usr/bin/env python3
"""pool.py HUTCH [TAKES]: how long it takes to be handed a sandbox of a pool, beside making one, in one run.

Of each way the time from asking to a sandbox that has answered (p50 and p99, in ms):

	socket		hello and take in one piece, then hello and release on what came: two round trips
	socket, take	the first of these alone
	libhutch	hutch_take() and hutch_ready(), of the library beside HUTCH
	command		`hutch pool take`, a process of its own
	create		`hutch create`

A take waits until the pool is full again, so that no making is measured with it; `burst` is of takes one behind
the other, while the pool is refilled.
"""
import array
import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

HUTCH = os.path.realpath(sys.argv[1])
TAKES = int(sys.argv[2]) if len(sys.argv) > 2 else 100
SIZE = 32
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}\n'
TAKE = HELLO + b'{"jsonrpc":"2.0","id":2,"method":"take"}\n'
RELEASE = HELLO + b'{"jsonrpc":"2.0","id":2,"method":"release"}\n'


def hutch(*words):
    return subprocess.run([HUTCH, *words], check=True, stdout=subprocess.PIPE).stdout.decode()


def ask(s, text):
    """Returns the two answers, and the descriptor that came with them."""
    s.send(text)
    data, fd = b"", None
    while data.count(b"\n") < 2:
        more, ancillary, _, _ = s.recvmsg(4096, socket.CMSG_SPACE(4))
        assert more, data
        data += more
        for _, _, part in ancillary:
            fd = array.array("i", part)[0]
    return json.loads(data.splitlines()[1])["result"], fd


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["XDG_RUNTIME_DIR"] + "/hutch/.pools/bench/pool.sock")
    return s


def by_socket(times):
    begun = time.perf_counter()
    with connect() as s:
        _, fd = ask(s, TAKE)
    taken = time.perf_counter()
    with socket.socket(fileno=fd) as box:
        ask(box, RELEASE)
        times[0].append(taken - begun)
        times[1].append(time.perf_counter() - begun)
        box.send(b'{"jsonrpc":"2.0","id":3,"method":"kill"}\n')
        while box.recv(4096):
            pass


def load_library():
    library = ctypes.CDLL(os.path.dirname(HUTCH) + "/lib/libhutch.so.0")
    library.hutch_close.argtypes = [ctypes.c_void_p]
    library.hutch_close.restype = None
    library.hutch_ready.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    return library


LIBRARY = load_library()


def by_library(times):
    handle = ctypes.c_void_p()
    begun = time.perf_counter()
    took = LIBRARY.hutch_take(b"bench", None, ctypes.byref(handle), None)
    assert took == 0 and LIBRARY.hutch_ready(handle, -1, None) == 0
    times[0].append(time.perf_counter() - begun)
    LIBRARY.hutch_close(handle)


def wait_full():
    """Waits until no sandbox is being made."""
    with connect() as s:
        s.send(HELLO)
        s.recv(4096)
        while True:
            s.send(b'{"jsonrpc":"2.0","id":2,"method":"info"}\n')
            info = json.loads(s.recv(4096))["result"]
            if info["ready"] == info["size"]:
                return
            time.sleep(0.005)


def by_command(times):
    begun = time.perf_counter()
    name = hutch("pool", "take", "bench").strip()
    times[0].append(time.perf_counter() - begun)
    hutch("rm", "-f", name)


def by_create(times):
    begun = time.perf_counter()
    hutch("create", "made")
    times[0].append(time.perf_counter() - begun)
    hutch("rm", "-f", "made")


def measure(way, lists=1, rests=True, takes=TAKES):
    times = [[] for _ in range(lists)]
    for _ in range(takes):
        if rests:
            wait_full()
        way(times)
    return [sorted(t) for t in times]


def row(name, t):
    print(f"{name:24} p50 {t[len(t) // 2] * 1e3:7.3f}   p99 {t[min(len(t) - 1, len(t) * 99 // 100)] * 1e3:7.3f}")
    return t[len(t) // 2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        if os.getuid() == 0:
            os.chown(folder, 65534, 65534)
            sys.exit("pool.py measures an ordinary user's hutch: it asks the pool's socket itself")
        os.environ["XDG_RUNTIME_DIR"] = folder
        hutch("pool", "create", "bench", "--size", str(SIZE))
        try:
            take, used = measure(by_socket, 2)
            row("socket, take", take)
            row("socket", used)
            row("socket, burst", measure(by_socket, 2, rests=False)[1])
            row("libhutch", measure(by_library)[0])
            command = row("command", measure(by_command)[0])
            create = row("create", measure(by_create, takes=min(TAKES, 50))[0])
            print(f"create / command {create / command:.1f}, create / socket {create / used[len(used) // 2]:.1f}")
        finally:
            hutch("pool", "rm", "bench")


if __name__ == "__main__":
    main()
