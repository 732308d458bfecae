#!/usr/bin/env python3
"""owners.py ARCHIVE [NUMBER] -- makes an image as docker save writes one, with
files of several owners in three layers: busybox, setuid bits, hard links,
whiteouts, an opaque folder.  NUMBER makes that many more files in a separate
layer."""
import hashlib
import io
import json
import sys
import tarfile

BUSYBOX = "/bin/busybox"
APPLETS = ("sh", "ls", "cat", "echo", "stat", "id", "chown", "chmod", "touch", "rm", "mkdir",
           "find",
           "sleep", "true", "test", "readlink", "ln", "su")


class Layer:
    def __init__(self):
        self.out = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.out, mode="w", format=tarfile.PAX_FORMAT)

    def add(self, name, kind=tarfile.REGTYPE, data=b"", link="", mode=0o644, owner=(0, 0),
            **xattrs):
        info = tarfile.TarInfo(name)
        info.type, info.size, info.linkname, info.mode = kind, len(data), link, mode
        info.uid, info.gid = owner
        info.mtime = 1600000000
        info.pax_headers = {"SCHILY.xattr.user." + key: value for key, value in xattrs.items()}
        self.tar.addfile(info, io.BytesIO(data))

    def folder(self, name, mode=0o755, owner=(0, 0)):
        self.add(name, tarfile.DIRTYPE, mode=mode, owner=owner)

    def bytes(self):
        self.tar.close()
        return self.out.getvalue()


def first():
    t = Layer()
    for name in "bin", "etc", "home", "gone", "hidden":
        t.folder(name)
    with open(BUSYBOX, "rb") as f:
        t.add("bin/busybox", data=f.read(), mode=0o755)
    for name in APPLETS:
        t.add("bin/" + name, tarfile.SYMTYPE, link="busybox", mode=0o777)
    t.add("etc/passwd", data=b"root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n"
          b"www-data:x:33:33::/srv:/bin/sh\nbare:x:40:41::/:/bin/sh\n"
          b"far:x:42:70000::/:/bin/sh\nmember:x:43:43::/:/bin/sh\n"
          b"app:x:700:701:An app:/srv/app:/bin/sh\napp:x:800:800::/:/bin/sh\n")
    t.add("etc/group", data=b"root:x:0:\nwww-data:x:33:\napp:x:701:\nfirst:x:44:other,app\n"
          b"second:x:45:app\nnone:x:46:apple,ap\nhigh:x:70000:member\n"
          + b"".join(b"g%d:x:%d:bare\n" % (i, 1000 + i) for i in range(65)))
    t.folder("tmp", mode=0o1777)
    t.folder("srv", mode=0o2750, owner=(33, 34))
    t.add("srv/page", data=b"page\n", mode=0o600, owner=(33, 33), note="kept")
    t.add("srv/twin", tarfile.LNKTYPE, link="srv/page")
    t.folder("home/agent", mode=0o700, owner=(1000, 1000))
    t.add("home/agent/mine", data=b"mine\n", owner=(1000, 1000))
    t.add("bin/setuid", data=b"#!/bin/sh\n", mode=0o4755)
    t.add("bin/setgid", data=b"#!/bin/sh\n", mode=0o2755, owner=(0, 42))
    t.add("last", data=b"", owner=(65535, 65535))
    t.add("beyond", data=b"", owner=(65536, 2000000000))
    t.add("closed", data=b"closed\n", mode=0, owner=(7, 7))
    t.add("link", tarfile.SYMTYPE, link="srv/page", mode=0o777, owner=(33, 33))
    t.add("pipe", tarfile.FIFOTYPE, mode=0o640, owner=(33, 33))
    t.add("gone/x", data=b"x", owner=(5, 5))
    t.add("hidden/below", data=b"x", owner=(5, 5))
    return t.bytes()


def second():
    t = Layer()
    t.add("gone/.wh.x", data=b"")
    t.add(".wh.last", data=b"")
    t.folder("hidden", mode=0o700, owner=(9, 9))
    t.add("hidden/.wh..wh..opq")
    t.add("hidden/above", data=b"above\n", owner=(9, 9))
    return t.bytes()


def third():
    t = Layer()
    t.folder("hidden", mode=0o711, owner=(10, 10))
    t.add("hidden/again", data=b"again\n", owner=(10, 10))
    t.add("top", data=b"top\n", owner=(33, 0))
    return t.bytes()


def many(number):
    t = Layer()
    t.folder("many", owner=(8, 8))
    for i in range(number):
        t.add("many/%d" % i, data=b"%d" % i * 100, owner=(i % 60000, 8))
    return t.bytes()


def main():
    path, *number = sys.argv[1:]
    layers = [first(), second(), third()] + [many(int(n)) for n in number]
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Cmd": ["/bin/sh"]},
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + hashlib.sha256(l).hexdigest() for l in layers]},
        "history": [{"created_by": "by hand"}] * len(layers),
    }).encode()
    out = tarfile.open(path, "w")

    def put(name, data):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        out.addfile(info, io.BytesIO(data))

    hexes = [hashlib.sha256(layer).hexdigest() for layer in layers]
    for name, layer in zip(hexes, layers):
        put(name + "/layer.tar", layer)
    about = hashlib.sha256(config).hexdigest() + ".json"
    put(about, config)
    put("manifest.json", json.dumps([{
        "Config": about, "RepoTags": ["owners:1"],
        "Layers": [name + "/layer.tar" for name in hexes]}]).encode())
    out.close()


main()
