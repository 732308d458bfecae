"""frames -- how the interpreter's messages stand among what its programs print.

The interpreter writes on one pipe: text of sys.stdout and of programs as it is, everything else
in frames, so that all is in its order.  A frame is the token (16 bytes that its driver has drawn),
a byte for the kind, one for FIRST and LAST, two for the length, and the payload.  No frame is
longer than PIPE_BUF, so none is torn by another writer (pipe(7)); a long message is several.
"""
import os

TOKEN_BYTES = 16
HEADER = TOKEN_BYTES + 4
PAYLOAD_MAX = 4096 - HEADER
FIRST, LAST = 1, 2

STDERR, FLUSH, BUNDLE, RESULT, ERROR, DONE, LEAVE, LEFT_OUT = (bytes([c]) for c in b"efdvxrql")


def new_token():
    """Text in UTF-8 has no byte 255, so text seldom looks like the beginning of a token."""
    return b"\xff" + os.urandom(TOKEN_BYTES - 1)


def pieces(token, kind, payload):
    """Yields the frames of a message."""
    view = memoryview(payload)
    for at in range(0, max(len(view), 1), PAYLOAD_MAX):
        part = view[at:at + PAYLOAD_MAX]
        flags = (0 if at else FIRST) | (LAST if at + len(part) >= len(view) else 0)
        yield b"".join((token, kind, bytes([flags]), len(part).to_bytes(2, "big"), part))


class Reader:
    """Takes what was read of the pipe apart again."""

    def __init__(self, token, message_max):
        self.token = token
        self.message_max = message_max
        self.rest = b""
        self.message, self.size = [], 0

    def feed(self, data):
        """Yields (None, text's bytes) and (kind, payload, its size); a payload above
        message_max is None."""
        data = self.rest + data
        at = 0
        while True:
            found = data.find(self.token, at)
            if found < 0:
                break
            if found > at:
                yield None, data[at:found], found - at
            at = found
            length = int.from_bytes(data[found + HEADER - 2:found + HEADER], "big")
            if length > PAYLOAD_MAX:
                # No frame of ours: a cell has written the token.
                yield None, self.token, TOKEN_BYTES
                at = found + TOKEN_BYTES
                continue
            end = found + HEADER + length
            if len(data) < found + HEADER or len(data) < end:
                self.rest = data[at:]
                return
            yield from self.take(data[found + TOKEN_BYTES:end])
            at = end
        data = data[at:]
        keep = self.beginning(data)
        self.rest = data[len(data) - keep:]
        if len(data) > keep:
            yield None, data[:len(data) - keep], len(data) - keep

    def take(self, frame):
        kind, flags, payload = frame[:1], frame[1], frame[4:]
        if flags & FIRST:
            self.message, self.size = [], 0
        self.size += len(payload)
        if self.size <= self.message_max:
            self.message.append(payload)
        if not flags & LAST:
            return
        message, self.message = self.message, []
        yield kind, b"".join(message) if self.size <= self.message_max else None, self.size

    def beginning(self, data):
        """Returns how many of the last bytes may be the beginning of a token."""
        for length in range(min(TOKEN_BYTES - 1, len(data)), 0, -1):
            if data.endswith(self.token[:length]):
                return length
        return 0
