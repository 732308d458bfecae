#!/usr/bin/env -S python3 -SE
"""cow.py CASE: makes changes inside, and checks how they are listed, for cow.bats."""
import json
import os
import socket
import sys

# --- inside: in a copy of the project --------------------------------------------------


def socket_beside():
    with open("a", "a") as file:
        file.write("more")
    socket.socket(socket.AF_UNIX).bind("s")


def deep():
    for _ in range(4100):
        os.mkdir("d")
        os.chdir("d")
    with open("/workspace/z", "w") as file:
        file.write("z")


# --- outside ---------------------------------------------------------------------------


def diff():
    """Reads `hutch diff --json` on stdin."""
    x = json.load(sys.stdin)
    assert [set(o) for o in x] == [{"kind", "type", "path", "size", "mode", "link"}] * 12, x
    assert x[0] == {"kind": "M", "type": "file", "path": "/workspace/a", "size": 11,
                    "mode": "0644", "link": None}, x[0]
    assert x[2]["link"] == "a" and x[2]["type"] == "link" and x[1]["kind"] == "D"


def kept():
    """Reads `hutch ps -a --json` on stdin."""
    x = json.load(sys.stdin)
    assert len(x) == 2, x
    assert {o["state"] for o in x} == {"ended"}, x
    assert all(o["workspace"].endswith("/project") for o in x), x


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
