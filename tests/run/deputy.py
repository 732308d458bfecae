#!/usr/bin/env -S python3 -SE
"""deputy.py CASE: what is asked of a deputy from inside, for deputy.bats."""
import os
import socket
import sys


def netlink():
    bound = [socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) for _ in range(3)]
    for one in bound:
        one.bind((0, 0))
    ports = [one.getsockname()[0] for one in bound]
    assert ports[0] == os.getpid(), (ports, os.getpid())
    assert len(set(ports)) == 3 and all(port > 1 << 31 for port in ports[1:]), ports
    print("ok")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
