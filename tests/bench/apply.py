#!/usr/bin/env python3
"""apply -- the cost of `hutch apply`, beside `cp -a` of the same files.

20,000 files of 4,000 bytes in 200 folders that a sandbox has written to a folder shown
with :cow: files that are new to the host, and, in other turns, files of the same size that
the host has with another content.  Copies are made right after, of the same files, into
the same file system.

    apply.py [HUTCH]	alone, as text
"""

import contextlib
import os
import shutil
import sys
import tempfile

import past

FILES, IN_FOLDER, SIZE = 20000, 100, 4000
ROUNDS = 3
NAME = "hutch-bench-apply"
WRITER = """
import os, sys
count, each, size, top, text = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
for n in range(count):
    folder = f"{top}/d{n // each}"
    if n % each == 0:
        os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/f{n}", "w") as file:
        file.write(text * size)
"""


def writer(top, text):
    return ["/usr/bin/python3", "-SEc", WRITER, *map(str, (FILES, IN_FOLDER, SIZE)), top, text]


def measure_once(hutch, work, has_old):
    """Returns the ms of the apply and of the copy."""
    shown, source, copy = (os.path.join(work, name) for name in ("shown", "source", "copy"))
    os.mkdir(shown)
    past.call(*writer(source, "x"))
    if has_old:
        past.call("cp", "-a", source + "/.", shown)
    past.call(hutch, "create", "--workspace", shown + ":cow", NAME)
    try:
        past.call(hutch, "exec", NAME, "--", *writer("/workspace", "y"))
        ours = past.took_ms(hutch, "apply", "--yes", NAME)
    finally:
        past.call(hutch, "rm", "-f", NAME)
    with open(os.path.join(shown, "d0", "f0"), "rb") as file:
        assert file.read() == b"y" * SIZE
    theirs = past.took_ms("cp", "-a", source, copy)
    for path in (shown, source, copy):
        shutil.rmtree(path)
    return ours, theirs


@contextlib.contextmanager
def folders_in(work):
    """Keeps hutch's own folders there for a while, so that what the sandbox wrote is on
    the same file system as the copies."""
    before = dict(os.environ)
    os.environ.update({f"XDG_{kind}_HOME": os.path.join(work, kind)
                       for kind in ("DATA", "STATE", "CACHE", "CONFIG")})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def measure_apply(hutch):
    if os.getuid() == 0:
        return {"why_not": "root's sandboxes write as another user"}
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    result = {}
    with tempfile.TemporaryDirectory(prefix="hutch-bench-", dir=shared) as work, \
            folders_in(work):
        for kind, has_old in (("new", False), ("changed", True)):
            samples = [measure_once(hutch, work, has_old) for _ in range(ROUNDS)]
            result[kind] = {"ms": past.median([ours for ours, _ in samples]),
                            "cp_ms": past.median([theirs for _, theirs in samples]),
                            "ratio": past.median([ours / theirs for ours, theirs in samples])}
    return result


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    found = measure_apply(sys.argv[1] if sys.argv[1:] else os.path.join(here, "../../build/hutch"))
    for key, value in found.items():
        print(key, value)
