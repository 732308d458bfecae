#!/usr/bin/env -S python3 -SE
"""Compares trees that hutch unpacks with those of umoci.

trees.py layers FOLDER three layers as tars: FOLDER/1.tar, 2.tar, 3.tar trees.py
blobs LAYOUT TAG the paths of an image's layers, the lowest one first trees.py
compare OURS UMOCIS two unpacked trees, file by file; differences are printed
"""
import hashlib
import io
import json
import os
import stat
import sys
import tarfile

T0 = 1600000000


class Layer:
    def __init__(self, path):
        self.tar = tarfile.open(path, "w", format=tarfile.PAX_FORMAT)
        self.time = T0

    def add(self, name, kind=tarfile.REGTYPE, data=b"", link="", mode=None, uid=0, gid=0, **xattrs):
        info = tarfile.TarInfo(name)
        self.time += 1
        info.type, info.size, info.linkname = kind, len(data), link
        info.mode = mode if mode is not None else 0o755 if kind == tarfile.DIRTYPE else 0o644
        info.uid, info.gid, info.mtime = uid, gid, self.time + 0.25
        info.pax_headers = {"SCHILY.xattr.user." + key: value for key, value in xattrs.items()}
        self.tar.addfile(info, io.BytesIO(data))

    def folder(self, name, **more):
        self.add(name, tarfile.DIRTYPE, **more)

    def link(self, name, to, **more):
        self.add(name, tarfile.SYMTYPE, link=to, mode=0o777, **more)

    def hard(self, name, to):
        self.add(name, tarfile.LNKTYPE, link=to)


def lowest(layer):
    layer.folder("./")
    for name in ("etc", "usr", "usr/bin", "var", "var/lib", "var/lib/opaque", "var/lib/gone",
                 "var/was_folder"):
        layer.folder(name)
    layer.folder("tmp", mode=0o1777)
    layer.folder("var/mail", mode=0o2775, gid=8)
    layer.folder("shut", mode=0o555)
    layer.add("shut/file", data=b"in a folder that is closed to writers")
    layer.folder("private", mode=0o700, uid=33, gid=33, note="of a folder")
    layer.add("private/key", mode=0o600, uid=33, gid=33)
    layer.add("etc/passwd", data=b"root:x:0:0::/root:/bin/sh\n")
    layer.add("etc/shadow", mode=0o640, gid=42)
    layer.add("usr/bin/su", mode=0o4755, data=b"\x7fELF" * 1000)
    layer.hard("usr/bin/su2", "usr/bin/su")
    layer.hard("usr/bin/su3", "./usr/bin/su2")
    layer.link("bin", "usr/bin")
    layer.link("etc/absolute", "/usr/bin/su", uid=5, gid=5)
    layer.link("etc/dangling", "../" * 3 + "nowhere")
    layer.add("usr/large", data=os.urandom(1 << 20) + bytes(1 << 20) + b"end")
    layer.add("usr/hole", data=bytes(3 << 20))
    layer.add("usr/empty")
    layer.add("usr/" + "n" * 200, data=b"long")
    for depth in range(1, 7):
        layer.folder("/".join(["usr"] + ["d" * 60] * depth))
    layer.add("/".join(["usr"] + ["d" * 60] * 6) + "/file", data=b"deep")
    layer.add("usr/n\u00e4me \u4e16\n", data=b"text")
    layer.add("usr/noted", data=b"1", one="value", two="\u00e4")
    layer.add("usr/pipe", tarfile.FIFOTYPE, mode=0o620)
    for name in ("var/lib/opaque/old", "var/lib/gone/old", "var/was_folder/old", "var/was_file",
                 "etc/deleted",
                 "usr/was_link_to"):
        layer.add(name, data=b"old")
    layer.link("usr/was_link", "was_link_to")


def middle(layer):
    layer.folder("etc")
    layer.add("etc/passwd", data=b"root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home:/bin/sh\n",
              mode=0o600)
    layer.add("etc/.wh.deleted")
    layer.folder("var")
    layer.folder("var/lib", mode=0o711)
    layer.add("var/lib/.wh.gone")
    layer.folder("var/lib/opaque")
    layer.add("var/lib/opaque/.wh..wh..opq")
    layer.add("var/lib/opaque/new", data=b"new")
    layer.add("var/was_folder", data=b"now a file")
    layer.folder("var/was_file")
    layer.add("var/was_file/new", data=b"in a folder now")
    layer.folder("usr")
    layer.add("usr/was_link", data=b"now a file")
    layer.link("usr/empty", "/etc/passwd")


def highest(layer):
    layer.folder("etc")
    layer.add("etc/deleted", data=b"again")
    layer.folder("var")
    layer.folder("var/lib")
    layer.folder("var/lib/gone")
    layer.add("var/lib/gone/fresh", data=b"fresh")
    layer.folder("usr")
    layer.add("usr/.wh.pipe")
    layer.add("usr/.wh.large")


def make_layers(folder):
    for name, fill in (("1", lowest), ("2", middle), ("3", highest)):
        layer = Layer(os.path.join(folder, name + ".tar"))
        fill(layer)
        layer.tar.close()


def blobs(layout, tag):
    def document(digest):
        with open(os.path.join(layout, "blobs", *digest.split(":"))) as file:
            return json.load(file)

    with open(os.path.join(layout, "index.json")) as file:
        index = json.load(file)
    for image in index["manifests"]:
        if image.get("annotations", {}).get("org.opencontainers.image.ref.name") == tag:
            manifest = document(image["digest"])
            diff_ids = document(manifest["config"]["digest"])["rootfs"]["diff_ids"]
            for layer, diff_id in zip(manifest["layers"], diff_ids):
                print(os.path.join(layout, "blobs", *layer["digest"].split(":")), diff_id)


def varints(data):
    """Returns the number fields of a protobuf message."""
    fields, at = {}, 0
    while at < len(data):
        key, value, shift = data[at] >> 3, 0, 0
        at += 1
        while True:
            value |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 0x80:
                break
        fields[key] = value
    return fields


def owner(path, names):
    """Returns (uid, gid, bits), in the form of either program; bits only if
    hutch's tree has any."""
    if "user.hutch.stat" in names:
        uid, gid, mode = os.getxattr(path, "user.hutch.stat", follow_symlinks=False).split()
        return int(uid), int(gid), int(mode, 8)
    if "user.rootlesscontainers" in names:
        fields = varints(os.getxattr(path, "user.rootlesscontainers", follow_symlinks=False))
        # The id 0xFFFFFFFF stands for the default, 0.
        return *(fields.get(i, 0) if fields.get(i, 0) != 0xFFFFFFFF else 0 for i in (1, 2)), None
    return 0, 0, None


def look(root, path):
    whole = os.path.join(root, path)
    st = os.lstat(whole)
    names = [n for n in os.listxattr(whole, follow_symlinks=False) if n.startswith("user.")]
    uid, gid, mode = owner(whole, names)
    if mode is not None and mode & 0o777 != st.st_mode & 0o777:
        print(f"{path}: its mode on the disk is another one than in the attribute")
    seen = {
        "kind": stat.S_IFMT(st.st_mode),
        "mode": mode if mode is not None else stat.S_IMODE(st.st_mode),
        "time": st.st_mtime_ns,
        "owner": (uid, gid),
        "xattrs": {n: os.getxattr(whole, n, follow_symlinks=False) for n in names
                   if not n.startswith(("user.hutch.", "user.overlay.",
                                        "user.rootlesscontainers"))},
    }
    if stat.S_ISLNK(st.st_mode):
        seen["link"] = os.readlink(whole)
        del seen["owner"]  # a link has no attributes to keep it in
    if not stat.S_ISDIR(st.st_mode):
        seen["names"] = st.st_nlink
    if stat.S_ISREG(st.st_mode):
        with open(whole, "rb") as file:
            seen["content"] = hashlib.sha256(file.read()).hexdigest()
    return seen


def walk(root):
    found = {".": look(root, ".")}
    # The time of the root folder is not compared: an overlay shows that of the highest layer,
    # which need not have an entry for its root.
    del found["."]["time"]
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.relpath(os.path.join(folder, name), root)
            found[path] = look(root, path)
    return found


def compare(ours, theirs):
    ours, theirs = walk(ours), walk(theirs)
    same = True
    for path in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(path), theirs.get(path)
        if a == b:
            continue
        same = False
        if not a or not b:
            print(f"{path!r}: only {'umoci' if not a else 'hutch'} has it")
            continue
        for key in a:
            if a[key] != b.get(key):
                print(f"{path!r}: {key}: hutch {a[key]!r}, umoci {b.get(key)!r}")
    print(f"{len(ours)} compared")
    return same


def main():
    sys.stdout.reconfigure(errors="backslashreplace")
    verb, *args = sys.argv[1:]
    if verb == "layers":
        make_layers(*args)
    elif verb == "blobs":
        blobs(*args)
    elif not compare(*args):
        sys.exit(1)


main()
