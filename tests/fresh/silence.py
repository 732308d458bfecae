#!/usr/bin/env -S python3 -SE
"""silence.py LOG: copies its input to LOG, and prints as comments how long no
input came."""
import os
import sys
import time


def longest_line(text):
    """Returns the line a user looked at meanwhile: the last one that was
    complete or begun by then."""
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:100] if lines else "the start"


def main():
    began = last = time.monotonic()
    first, silence, before, tail = None, 0.0, "the start", b""
    with open(sys.argv[1], "wb", buffering=0) as log:
        while part := os.read(0, 65536):
            now = time.monotonic()
            first = now - began if first is None else first
            if now - last > silence:
                silence, before = now - last, longest_line(tail)
            last, tail = now, (tail + part)[-1000:]
            log.write(part)
    if first is None:
        print("# it said nothing")
        return
    print(f"# the first output came after {first:.1f} s, the last after {last - began:.0f} s; "
          f"the longest silence was {silence:.0f} s, after: {before}")


main()
