#!/usr/bin/env -S python3 -SE
"""input.py CASE HUTCH: starts hutch with what a shell cannot give it, for input.bats."""
import os
import sys


def much(hutch):
    """5.5 MB of arguments; 77 where the kernel does not start hutch itself with so much."""
    try:
        os.execv(hutch, [hutch, "run", "--", "sh", "-c", "echo $#", "sh"] + ["x" * 100000] * 55)
    except OSError:
        sys.exit(77)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
