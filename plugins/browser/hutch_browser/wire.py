"""wire -- the lines of JSON between the executor and this program (docs/plugins.md)."""
import fcntl
import json
import os
import threading

# The executor refuses a line of more, and texts and pictures of more.
LINE_MAX = 8 << 20


def printable(text):
    """Returns the text without NUL, which the executor's reader refuses."""
    return text.replace("\0", "\ufffd")


def packed(value):
    """Returns the value as JSON in UTF-8.  A lone surrogate, which is no character, becomes ?"""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Wire:
    """Descriptors 0 and 1, which are moved away: neither Chromium nor a library that prints has
    them."""

    def __init__(self):
        reader = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 10)
        self.reader = os.fdopen(reader, "rb")
        self.writer = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 10)
        self.lock = threading.Lock()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, 0)
        os.dup2(2, 1)

    def lines(self):
        """Yields the executor's lines, until it closes the pipe."""
        for line in self.reader:
            yield json.loads(line)

    def send(self, value):
        """Writes a line.  The executor reads always, so the write waits for it."""
        line = memoryview(packed(value) + b"\n")
        with self.lock:
            while line:
                line = line[os.write(self.writer, line):]
