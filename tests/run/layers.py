#!/usr/bin/env -S python3 -SE
"""layers.py CASE [TARGET] -- makes a layer by hand, as a tar on stdout.

Hostile layers try to change TARGET, a folder outside of the one that they are
unpacked into; it contains a file called "kept".
"""
import io
import struct
import sys
import tarfile
import zlib

TARGET = sys.argv[2] if len(sys.argv) > 2 else "/nowhere"
MTIME = 1234567890


class Tar:
    """Writes blocks as requested, valid or not."""

    def __init__(self):
        self.out = io.BytesIO()

    def add(self, name, kind="0", text=b"", link="", mode=0o644, uid=0, gid=0, dev=(0, 0),
            pax=None):
        info = tarfile.TarInfo(name)
        info.type = kind.encode()
        info.size = len(text)
        info.linkname = link
        info.mode, info.uid, info.gid, info.mtime = mode, uid, gid, MTIME
        info.devmajor, info.devminor = dev
        info.pax_headers = pax or {}
        data = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        # The header is written by hand, since tarfile would add a slash to the name of a folder.
        self.out.write(data)
        self.out.write(text + b"\0" * (-len(text) % 512))
        return self

    def folder(self, name, mode=0o755, **more):
        return self.add(name, "5", mode=mode, **more)

    def link(self, name, to):
        return self.add(name, "2", link=to, mode=0o777)

    def hard(self, name, to):
        return self.add(name, "1", link=to)

    def raw(self, block, text=b""):
        """Returns a header with the right checksum."""
        block = bytearray(block.ljust(512, b"\0"))
        block[148:156] = b" " * 8
        block[148:155] = b"%06o\0" % sum(block)
        self.out.write(bytes(block))
        self.out.write(text + b"\0" * (-len(text) % 512))
        return self

    def bytes(self):
        return self.out.getvalue() + b"\0" * 1024


def header(name, kind=b"0", size=b"00000000000\0", mode=b"0000644\0"):
    block = bytearray(512)
    block[0:len(name)] = name
    block[100:108] = mode
    block[108:116] = block[116:124] = b"0000000\0"
    block[124:136] = size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257:265] = b"ustar\00000"
    return bytes(block)


def xattrs(**values):
    return {"SCHILY.xattr." + name.replace("__", "."): value for name, value in values.items()}


CASES = {
    # 90
    "up": lambda t: t.add("../escaped", text=b"x"),
    "up_deep": lambda t: t.folder("a").add("a/../../escaped", text=b"x"),
    "absolute": lambda t: t.add(TARGET + "/kept", text=b"changed"),
    "link_then_below": lambda t: t.link("link", TARGET).add("link/kept", text=b"changed"),
    "link_up_then_below": lambda t: t.link("link",
                                           "../../../../../../../../../../../../.." + TARGET)
    .add("link/kept", text=b"changed"),
    "link_then_folder": lambda t: t.link("link", TARGET).folder("link", mode=0o777),
    "link_then_file": lambda t: t.link("link", TARGET + "/kept").add("link", text=b"changed"),
    "links_in_a_row": lambda t: t.link("a", "b").link("b", TARGET).add("a/kept", text=b"changed"),
    "link_to_self": lambda t: t.link("a", "a").add("a/b", text=b"x"),
    "hard_outside": lambda t: t.hard("hard", TARGET + "/kept").add("hard", text=b"changed"),
    "hard_up": lambda t: t.hard("hard", "../" * 30 + TARGET + "/kept"),
    "hard_through_link": lambda t: t.link("link", TARGET).hard("hard", "link/kept"),
    "hard_to_link": lambda t: t.link("link", TARGET + "/kept").hard("hard", "link")
    .add("hard", text=b"changed"),
    "root_is_link": lambda t: t.link(".", TARGET).add("kept", text=b"changed"),
    "root_is_link_too": lambda t: t.link("/", TARGET).add("kept", text=b"changed"),
    "devices": lambda t: t.add("null", "3", dev=(1, 3)).add("disk", "4", dev=(8, 0))
    .add("whiteout", "3", dev=(0, 0)).add("file", text=b"1"),
    "bits": lambda t: t.add("su", mode=0o4755).add("sg", mode=0o2755).folder("tmp", mode=0o1777)
    .folder("mail", mode=0o2775, gid=8),
    "fifo": lambda t: t.add("pipe", "6", mode=0o620),
    # 91
    "whiteouts": lambda t: t.folder("etc").add("etc/.wh.passwd").add("etc/.wh...a")
    .add("dir/.wh..wh..opq").add("dir/new", text=b"1").add(".wh..wh.plnk/1.2", text=b"aufs"),
    "whiteout_of_nothing": lambda t: t.add("a/.wh."),
    "whiteout_of_here": lambda t: t.add("a/.wh.."),
    "whiteout_of_up": lambda t: t.add("a/.wh..."),
    "whiteout_of_root": lambda t: t.add(".wh.."),
    "whiteout_behind_link": lambda t: t.link("link", TARGET).add("link/.wh.kept"),
    "opaque_behind_link": lambda t: t.link("link", TARGET).add("link/.wh..wh..opq"),
    "whiteout_up": lambda t: t.add("../../.wh.outside"),
    "whiteout_with_content": lambda t: t.add(".wh.a/b"),
    # 92
    "files": lambda t: [t.add(str(i)) for i in range(3000)] and t,
    "deep_enough": lambda t: t.add("d/" * 4096 + "file", text=b"1"),
    "too_deep": lambda t: t.add("d/" * 4097 + "file", text=b"1"),
    "long_name": lambda t: t.add("n" * 65536),
    "long_path": lambda t: t.add(("n" * 200 + "/") * 320 + "file", text=b"1"),
    "pax_of_1g": lambda t: t.raw(header(b"pax", b"x", b"10000000000\0"), b"30 path=a\n"),
    "pax_wrong": lambda t: t.raw(header(b"pax", b"x", b"00000000012\0"), b"99 path=a\n"),
    "pax_in_a_row": lambda t: [t.raw(header(b"pax", b"x", b"00000000012\0"), b"10 path=a\n")
                               for _ in range(40)] and t,
    "sparse_old": lambda t: t.raw(header(b"file", b"S", b"00000000000\0"), b""),
    "sparse_pax": lambda t: t.add("file", text=b"1\n0\n512\n", pax={
        "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 60)}),
    "negative_size": lambda t: t.raw(header(b"file", b"0", b"\xff" * 12)),
    "negative_pax_size": lambda t: t.add("file", text=b"1", pax={"size": "-1"}),
    "size_of_2_63": lambda t: t.add("file", text=b"1", pax={"size": str(1 << 63)}),
    "size_of_1e": lambda t: t.raw(header(b"file", b"0", b"\x80\0\0\0\x10" + b"\0" * 7)),
    "odd_size": lambda t: t.raw(header(b"file", b"0", b"0000000009x\0")),
    "cut": lambda t: t.raw(header(b"file", b"0", b"00000010000\0"), b"x"),
    # 94
    "folder": lambda t: t.folder("a").add("a/kept", text=b"mine"),
    "folder_is_link": lambda t: t.link("a", TARGET),
    "below": lambda t: t.add("a/kept", text=b"changed"),
    "folder_then_link": lambda t: t.folder("a").add("a/x", text=b"1").link("a", TARGET)
    .add("a/kept", text=b"changed").add("a/.wh.gone").folder("a", mode=0o700),
    # 95
    "owners": lambda t: t.add("far", uid=1 << 40, gid=5).add("high", uid=4294967294, gid=4294967294)
    .add("agent", uid=1000, gid=1000, mode=0o640),
    "xattrs": lambda t: t.folder("d", pax=xattrs(trusted__overlay__opaque="y",
                                                 user__overlay__opaque="y"))
    .add("file", text=b"1", pax=xattrs(security__capability="\x01\0\0\x02", user__kept="1",
                                       user__overlay__redirect=TARGET, user__hutch__stat="0 0 4755",
                                       system__posix_acl_access="x")),
}


def head(size):
    """A file with a header for that many bytes, which are to follow; GNU's form
    of large numbers."""
    return Tar().raw(header(b"zeros", b"0", b"\x80\0\0\0" + struct.pack(">Q", size))).out.getvalue()


def gzip_bomb(size, said):
    """A header for a file of `said` bytes, followed by that many zeros.  The
    zeros are compressed once and repeated."""
    first = zlib.compressobj(9, zlib.DEFLATED, -15)
    begin = first.compress(head(said)) + first.flush(zlib.Z_FULL_FLUSH)
    again = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = again.compress(bytes(1 << 20)) + again.flush(zlib.Z_FULL_FLUSH)
    sys.stdout.buffer.write(b"\x1f\x8b\x08\0\0\0\0\0\0\3" + begin)
    for _ in range(size >> 20):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.write(b"\3\0" + struct.pack("<II", 0, size & 0xFFFFFFFF))


def main():
    case = sys.argv[1]
    if case == "list":
        print("\n".join(CASES))
    elif case == "gzip_bomb":
        gzip_bomb(int(sys.argv[2]), int(sys.argv[3]))
    elif case == "head":
        sys.stdout.buffer.write(head(int(sys.argv[2])))
    elif case == "wrong_sum":
        data = bytearray(CASES["folder"](Tar()).bytes())
        data[150] ^= 1
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.buffer.write(CASES[case](Tar()).bytes())


main()
