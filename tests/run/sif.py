#!/usr/bin/env -S python3 -SE
"""sif.py SQUASHFS SIF: writes an image of Apptainer's own form, with this file system in it.

The layout is that of github.com/apptainer/sif: a header, descriptors of a definition file and of the
partition with the root, and both of these."""
import struct
import sys

with open(sys.argv[1], "rb") as f:
    root = f.read()
definition = b"bootstrap: docker\nfrom: test\n"
DESCRIPTORS, COUNT, LEN = 4096, 48, 585
AT = 32768
ROOT_AT = AT + 4096


def descriptor(number, kind, at, data, extra=b""):
    fixed = struct.pack("<i?III7q", kind, True, number, 0xf0000001, 0, at, len(data), len(data), 0, 0, 0, 0)
    return (fixed + b"name".ljust(128, b"\0") + extra.ljust(384, b"\0")).ljust(LEN, b"\0")


head = (b"#!/usr/bin/env run-singularity\n\0" + b"SIF_MAGIC\0" + b"01\0" + b"02\0" + bytes(16) +
        struct.pack("<8q", 0, 0, COUNT - 2, COUNT, DESCRIPTORS, COUNT * LEN, AT, len(root)))
table = (descriptor(1, 0x4001, AT, definition) +
         descriptor(2, 0x4004, ROOT_AT, root, struct.pack("<ii3s", 1, 2, b"02\0")))
with open(sys.argv[2], "wb") as f:
    f.write(head)
    f.seek(DESCRIPTORS)
    f.write(table.ljust(COUNT * LEN, b"\0"))
    f.seek(AT)
    f.write(definition)
    f.seek(ROOT_AT)
    f.write(root)
