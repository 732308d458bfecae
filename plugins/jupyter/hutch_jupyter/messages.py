"""messages -- Jupyter's wire protocol, as much of it as running cells needs.

https://jupyter-client.readthedocs.io/en/stable/messaging.html: a message is the frames
identities, <IDS|MSG>, signature, header, parent, metadata, content, buffers.
"""
import datetime
import hashlib
import hmac
import json
import os

DELIMITER = b"<IDS|MSG>"
# A content above this is not read as JSON, which would need several times its size.
READ_MAX = 16 << 20
SIDE = 1 << 20


def new_key():
    return os.urandom(16).hex()


class Packer:
    """Makes signed messages.  The kernel's own are not checked: they come from its sockets, in a
    folder or with a key that other users do not have."""

    def __init__(self, key):
        self.key = key.encode()
        self.session = os.urandom(8).hex()
        self.count = 0

    def pack(self, kind, content):
        """Returns the message's id and its frames."""
        self.count += 1
        number = f"{self.session}_{self.count}"
        date = datetime.datetime.now(datetime.timezone.utc).isoformat()
        header = {"msg_id": number, "session": self.session, "username": "hutch", "date": date, "msg_type": kind,
                  "version": "5.3"}
        parts = [json.dumps(header).encode(), b"{}", b"{}", json.dumps(content).encode()]
        signature = hmac.new(self.key, b"".join(parts), hashlib.sha256).hexdigest().encode()
        return number, [DELIMITER, signature, *parts]


def unpack(frames):
    """Returns (kind, id of the parent, content's bytes) of zmq's frames, or raises ValueError."""
    for at, frame in enumerate(frames):
        if frame.buffer == DELIMITER:
            break
    else:
        raise ValueError("no delimiter")
    header, parent = json.loads(frames[at + 2].bytes), json.loads(frames[at + 3].bytes)
    return header.get("msg_type"), parent.get("msg_id"), frames[at + 5].buffer


def long_stream(content):
    """Returns (beginning, bytes left out, end) of the text of a stream message that is too long
    to be read as JSON.  A cut may fall within an escape; that one is left out."""
    start = bytes(content[:4096]).find(b'"text"')
    start = bytes(content[:4096]).find(b'"', start + 6) + 1 if start >= 0 else 0
    head, tail = bytes(content[start:start + SIDE]), bytes(content[-SIDE:])
    # The end has the rest of the object, with or without further members, behind the text.
    tail = tail[:tail.rfind(b'"}')] if tail.endswith(b'"}') else tail
    return json_part(head), len(content) - len(head) - len(tail), json_part(tail)


def json_part(data):
    """Returns the text of a part of a JSON string."""
    text = data.decode("utf-8", "replace")
    for cut in range(6):
        for part in (text[cut:len(text)], text[cut:len(text) - 1], text[cut:len(text) - 5]):
            try:
                return json.loads(f'"{part}"', strict=False)
            except ValueError:
                continue
    return text
