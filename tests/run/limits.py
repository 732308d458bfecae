"""limits.py CASE [ARG...]: the operations of limits.bats, mostly inside, where
this file comes on stdin."""
import array
import json
import os
import signal
import socket
import sys
import time


def fork_bomb(most):
    count = 0
    try:
        while count < 1000:
            if os.fork() == 0:
                signal.pause()
            count += 1
    except BlockingIOError:
        print("refused after", count < int(most))


def fill_memory(size):
    filled = bytearray(int(size))
    time.sleep(1000)
    del filled


def hold():
    """On the host: keeps more than 64 descriptors in flight while stdin is open."""
    ours = socket.socketpair()
    for count in 60, 10:
        fds = array.array("i", [0] * count)
        ours[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    print("ready", flush=True)
    sys.stdin.read()


def hang_up(path):
    """On the host: a socket that accepts connections and closes them."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        listener.accept()[0].close()


def same_remedy(doctor, *runs):
    """On the host: the hint of each run is the doctor's remedy for this host."""
    with open(doctor) as file:
        checks = json.load(file)["checks"]
    remedy = next(check["remedy"] for check in checks if check["name"] == "cgroup")
    assert remedy
    for run in runs:
        with open(run) as file:
            hint = json.load(file)["error"]["remedy"]
        assert hint == remedy + "; or add --best-effort, for limits that are weaker", hint


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
