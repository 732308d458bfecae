#!/usr/bin/env -S python3 -SE
"""Makes the trees and tars for the tests of `hutch cp`.

	cp.py tree DIR		makes a folder with all kinds of files
	cp.py describe DIR	prints all that a copy must keep, a line a file
	cp.py tar KIND		writes a hostile tar, see below
"""
import hashlib
import io
import os
import stat
import sys
import tarfile

LONG = "n" * 250


def write(name, content=b"", mode=0o644):
    with open(name, "wb") as file:
        file.write(content)
    os.chmod(name, mode)


def make_deep(top):
    """Makes a path of 5,000 bytes, which is too long for any single system call."""
    at = os.open(top, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(LONG, dir_fd=at)
        below = os.open(LONG, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("bottom", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at))
    os.close(at)


def make_tree(top):
    os.makedirs(top + "/sub/empty")
    write(top + "/plain", b"some text\n")
    write(top + "/nothing")
    write(top + "/program", b"#!/bin/sh\n", 0o755)
    write(top + "/private", b"x" * 100000, 0o400)
    write(top + "/two\nlines", b"1\n2\n")
    write(os.fsencode(top) + b"/no utf-8 \xff\xfe", b"bytes")
    write(top + "/-L", b"no flag")
    write(top + "/" + LONG, b"long")
    write(top + "/sub/twin", b"twins")
    os.link(top + "/sub/twin", top + "/the other")
    os.symlink("sub/twin", top + "/link")
    os.symlink("nowhere", top + "/dangling")
    os.symlink("l" * 3000, top + "/long link")
    with open(top + "/holes", "wb") as file:
        file.truncate(50 << 20)
        file.seek(20 << 20)
        file.write(b"island")
    make_deep(top + "/sub")
    os.chmod(top + "/sub/empty", 0o711)
    for time, name in enumerate(["plain", "link", "sub/empty", "sub", "."]):
        os.utime(f"{top}/{name}", ns=(10**18, 10**18 + time * 10**9 + 7), follow_symlinks=False)


def content_of(at, name, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(name, dir_fd=at)
    if not stat.S_ISREG(st.st_mode):
        return ""
    file = os.open(name, os.O_RDONLY, dir_fd=at)
    digest = hashlib.sha256()
    while block := os.read(file, 1 << 20):
        digest.update(block)
    os.close(file)
    return digest.hexdigest()


def describe(at, prefix, twins):
    for name in sorted(os.listdir(at)):
        st = os.lstat(name, dir_fd=at)
        path = prefix + "/" + name
        first = twins.setdefault(st.st_ino,
                                 path) if st.st_nlink > 1 and not stat.S_ISDIR(st.st_mode) else path
        size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
        print(repr((path if len(path) < 600 else path[-20:], oct(st.st_mode), size, st.st_mtime_ns,
                    first if first != path else "", content_of(at, name, st))))
        if stat.S_ISDIR(st.st_mode):
            below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=at)
            describe(below, path, twins)
            os.close(below)


def entry(name, kind=tarfile.REGTYPE, link="", content=b"", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(content)
    return info, content


def raw(name, size, content=b""):
    """A header that claims more bytes than there are."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT) + content


EVIL = b"evil\n"
TARS = {
    "dots": [entry("../evil", content=EVIL)],
    "dots-below": [entry("x", tarfile.DIRTYPE, mode=0o755), entry("x/../../evil", content=EVIL)],
    "absolute": [entry("/tmp/hutch-cp-evil", content=EVIL)],
    "through-link": [entry("l", tarfile.SYMTYPE, "/tmp"), entry("l/hutch-cp-evil", content=EVIL)],
    "through-dots": [entry("l", tarfile.SYMTYPE, ".."), entry("l/evil", content=EVIL)],
    "over-link": [entry("l", tarfile.SYMTYPE, "../victim"), entry("l", content=EVIL)],
    "hard-out": [entry("h", tarfile.LNKTYPE, "../victim"), entry("h", content=EVIL)],
    "hard-absolute": [entry("h", tarfile.LNKTYPE, "/etc/passwd")],
    "hard-through": [entry("l", tarfile.SYMTYPE, ".."), entry("h", tarfile.LNKTYPE, "l/victim")],
    "hard-old": [entry("h", tarfile.LNKTYPE, "old")],
    "devices": [entry("null", tarfile.CHRTYPE), entry("disk", tarfile.BLKTYPE),
                entry("fifo", tarfile.FIFOTYPE),
                entry("good", content=b"good\n")],
    "setuid": [entry("s", content=b"x", mode=0o6755), entry("d", tarfile.DIRTYPE, mode=0o7777)],
    "many": (entry(f"{n % 100}/{n}") for n in range(int(os.environ.get("MANY", "100000")))),
    "links-out": [entry("a", tarfile.SYMTYPE, "/etc/passwd"), entry("b", tarfile.SYMTYPE, "../x"),
                  entry("c", tarfile.SYMTYPE, "a"),
                  entry("d\n\x1b[2J", tarfile.SYMTYPE, "../../x")],
}


def write_tar(kind):
    out = sys.stdout.buffer
    if kind == "bomb":  # 8 EiB, of which nothing comes
        out.write(raw("bomb", 8 << 60))
    elif kind == "large":
        out.write(raw("large", 2 << 20, bytes(2 << 20)) + bytes(1024))
    elif kind == "cut":
        out.write(raw("cut", 100000, b"x" * 50000))
    elif kind == "noise":
        out.write(b"\xffno tar at all" * 100)
    elif kind == "empty":
        pass
    else:
        with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for info, content in TARS[kind]:
                tar.addfile(info, io.BytesIO(content))


def main(what, name):
    if what == "tree":
        make_tree(name)
    elif what == "describe":
        describe(os.open(name, os.O_RDONLY), ".", {})
    else:
        write_tar(name)


if __name__ == "__main__":
    os.umask(0o022)
    main(*sys.argv[1:])
