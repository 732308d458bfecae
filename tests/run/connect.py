#!/usr/bin/env -S python3 -SE
"""connect.py send JSON... | connect.py show: messages of a stream of the Connect protocol.

`send` writes each JSON as a message, and `show` prints each message of stdin as a line: its flags, a
blank, and its JSON, in which the bytes of commands are text.
"""
import base64
import json
import struct
import sys

BYTES = ("stdout", "stderr", "pty")


def texts(value):
    """Returns the value with the base64 of stdout, stderr and pty decoded."""
    if not isinstance(value, dict):
        return value
    return {key: base64.b64decode(item).decode("utf-8", "replace") if key in BYTES else texts(item)
            for key, item in value.items()}


def show(data):
    while data:
        flags, size = struct.unpack(">BI", data[:5])
        assert len(data) >= 5 + size, "the last message is not complete"
        print(flags, json.dumps(texts(json.loads(data[5:5 + size])), separators=(",", ":")))
        data = data[5 + size:]


if sys.argv[1] == "send":
    for text in sys.argv[2:]:
        sys.stdout.buffer.write(struct.pack(">BI", 0, len(text.encode())) + text.encode())
else:
    show(sys.stdin.buffer.read())
