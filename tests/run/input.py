#!/usr/bin/env -S python3 -SE
"""input.py CASE HUTCH: starts hutch with input that a shell cannot give it, for
input.bats."""
import os
import sys


def much(hutch):
    """Starts hutch with 5.5 MB of arguments; exits with 77 if the kernel does
    not permit as much."""
    try:
        os.execv(hutch, [hutch, "run", "--", "sh", "-c", "echo $#", "sh"] + ["x" * 100000] * 55)
    except OSError:
        sys.exit(77)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
