#!/usr/bin/env -S python3 -SE
"""hostile.py CASE ARG...: attacks on hutch from outside and from inside, for
hostile.bats."""
import ctypes
import os
import sys

AT_FDCWD, RENAME_EXCHANGE = -100, 2

# --- beside it: as fast as it can, until there is a file `stop` ------------------------


def begin():
    open("begun", "x").close()


def swap_target(folder):
    libc = ctypes.CDLL(None)
    os.chdir(folder)
    os.symlink("../victim", "link")
    begin()
    while not os.path.exists("stop"):
        libc.renameat2(AT_FDCWD, b"spot", AT_FDCWD, b"link", RENAME_EXCHANGE)


def swap_source(folder):
    os.chdir(folder)
    begin()
    while not os.path.exists("stop"):
        os.rename("source", "aside")
        os.symlink("../secret", "source")
        os.unlink("source")
        os.rename("aside", "source")


# --- inside ----------------------------------------------------------------------------


def write_programs():
    for path in ("/proc/1/exe", "/proc/self/exe", "/proc/1/map_files", "/proc/1/fd/3"):
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_PATH):
            try:
                fd = os.open(path, flags)
                if flags == os.O_PATH:
                    fd = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC)
                os.write(fd, b"#!/bin/sh")
                print("wrote", path)
            except OSError:
                pass


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
