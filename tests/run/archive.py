#!/usr/bin/env -S python3 -SE
"""archive.py CASE: what Python's tarfile does with a tree, for archive.bats."""
import sys
import tarfile


def pack(form):
    with tarfile.open("p.tar", "w", format=getattr(tarfile, form + "_FORMAT")) as tar:
        tar.add("tree")


def unpack():
    with tarfile.open("tree.tar") as tar:
        tar.extractall("out")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
