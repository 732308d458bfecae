"""wire -- the lines of JSON between the executor and this program (docs/plugins.md)."""
import fcntl
import json
import os

LINE_MAX = 8 << 20


def printable(text):
    """Returns the text without NUL, which the executor's reader refuses."""
    return text.replace("\0", "\ufffd")


def packed(value):
    """Returns the value as JSON in UTF-8.  A lone surrogate, which is no character, becomes ?"""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Wire:
    """Descriptors 0 and 1, which are moved away: neither a kernel nor a library that prints
    has them."""

    def __init__(self):
        self.reader = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 10)
        self.writer = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 10)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, 0)
        os.dup2(2, 1)
        self.parts = []
        self.has_ended = False

    def receive(self):
        """Reads once, which does not wait where poll(2) has said so, and returns the objects
        of the lines that have come to their end."""
        data = os.read(self.reader, 1 << 18)
        if not data:
            self.has_ended = True
            return []
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join(self.parts) + lines[0]
            self.parts = []
        self.parts.append(rest)
        return [json.loads(line) for line in lines if line]

    def send(self, value):
        """Writes a line.  The executor reads always, so the write waits for it."""
        line = memoryview(packed(value) + b"\n")
        while line:
            line = line[os.write(self.writer, line):]
