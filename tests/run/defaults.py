#!/usr/bin/env -S python3 -SE
"""defaults.py CASE: checks the environment of a process inside, or starts one
with a special environment, for defaults.bats."""
import errno
import os
import signal
import socket
import sys

# --- inside ----------------------------------------------------------------------------


def loopback():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen()
    socket.create_connection(s.getsockname())
    print("connected")


def elsewhere():
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                socket.socket(family, kind).connect((address, 80))
                print("reached", address)
            except OSError as e:
                print(errno.errorcode[e.errno])
    try:
        socket.getaddrinfo("example.com", 80)
    except socket.gaierror:
        print("no such name")


def descriptors():
    print([int(f) for f in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + f)])


# --- outside ---------------------------------------------------------------------------


def deaf(*command):
    """Runs the command with SIGCHLD ignored and every signal blocked."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.execv(command[0], command)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
