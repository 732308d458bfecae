"""bwrap.py CASE [ARG]: a step of tests/run/bwrap.bats that needs a system call of its own."""
import fcntl
import socket
import sys


def loopback():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname())
    print("connected")


def lock(path):
    """Tells whether another process holds a lock of fcntl(2) on the file."""
    with open(path, "a") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print("free")
        except BlockingIOError:
            print("held")


globals()[sys.argv[1]](*sys.argv[2:])
