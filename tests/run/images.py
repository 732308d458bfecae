#!/usr/bin/env -S python3 -SE
"""images.py CASE: ways to write to an image, from inside, for images.bats."""
import fcntl
import mmap
import os
import sys

FICLONE = 0x40049409


def write():
    with open("/data/file", "w") as file:
        file.write("truncated")
    with open("/data/file") as file:
        print(file.read())
    with open("/data/other", "r+b") as file:
        m = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED)
        m[0:2] = b"OF"
        m.flush()
    with open("/data/other") as file:
        print(file.read(2))
    os.rename("/data/other", "/data/renamed")
    print(sorted(os.listdir("/data")))
    os.unlink("/data/file")
    print(sorted(os.listdir("/data")))
    os.mkdir("/data2")
    os.rename("/data/renamed", "/data2/renamed")
    os.rmdir("/data")
    os.mkdir("/data")
    print(os.listdir("/data"), os.listdir("/data2"))
    os.link("/data2/renamed", "/data/linked")
    os.symlink("x", "/data/sym")
    os.chmod("/data2/renamed", 0o600)
    os.utime("/data2/renamed", (1, 1))
    os.setxattr("/data2/renamed", "user.x", b"1")
    os.truncate("/data2/renamed", 1 << 20)
    if not os.listdir("/etc"):
        os.rmdir("/etc")


def clone():
    with open("/data/other", "rb") as source, open("/data/file", "r+b") as to:
        try:
            os.copy_file_range(source.fileno(), to.fileno(), 2)
        except OSError:
            pass
        try:
            fcntl.ioctl(to, FICLONE, source.fileno())
        except OSError:
            pass


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
