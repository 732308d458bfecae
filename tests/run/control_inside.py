#!/usr/bin/env -S python3 -SE
"""control_inside.py CASE: trees of processes inside, for control.bats.  Each
process of a tree prints a dot and stays."""
import ctypes
import os
import signal
import sys

PR_SET_DUMPABLE = 4


def say():
    os.write(1, b".")
    while True:
        signal.pause()


def hidden():
    """Makes two processes whose /proc entries are closed to their own user."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
    if os.fork() == 0:
        os.setsid()
    say()


def many():
    for _ in range(200):
        if os.fork() == 0:
            os.setsid()
            say()
    signal.pause()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
