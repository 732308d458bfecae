"""learn.py CASE [ARG...]: checks on the host, and operations inside (where this
file is shown by -v), for learn.bats."""
import json
import os
import select
import socket
import sys


def mounts(path):
    with open(path) as file:
        policy = json.load(file)
    print(*policy.get("mounts", []), *policy.get("tmpfs", []), sep="\n")


def check_flags(folder):
    """The policy of the test about flags, without its comments."""
    with open(folder + "/out/p.json") as file:
        policy = json.load(file)
    del policy["about"]
    assert policy == {
        "version": 1, "workspace": folder + "/work:ro", "tmpfs": ["/scratch:size=1048576"],
        "env": {"A": '"b'}, "secrets": ["TOKEN"], "workdir": "/tmp", "hostname": "box",
        "network": "none", "capabilities": {"drop": ["ALL"]},
        "limits": {"timeout": "90000ms", "ulimits": {"nofile": "100:200"}}}, policy


def listen(path):
    """Waits for a client, or the end of stdin."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("up", flush=True)
    if listener in select.select([listener, sys.stdin], [], [])[0]:
        print("reached", flush=True)


def reach(path, fifo):
    """Exits with 3 or 4 if there is a listener at the other end."""
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        sys.exit(3)
    except OSError:
        pass
    try:
        os.write(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK), b"got\n")
        sys.exit(4)
    except OSError:
        pass


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
