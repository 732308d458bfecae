#!/usr/bin/env -S python3 -SE
"""image_copied.py CASE: checks the files of an image, for image_copied.bats."""
import os
import socket
import sys


def odd():
    os.chdir("img/data")
    socket.socket(socket.AF_UNIX).bind("socket")
    with open("closed", "w") as file:
        file.write("closed")
    os.chmod("closed", 0)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
