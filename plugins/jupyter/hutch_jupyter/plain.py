"""plain -- the form without ipykernel: interpreter.py in a child.

A cell that ends its interpreter, or never ends, leaves the driver alone.  The child has a pipe
for what it says (frames.py), one for its descriptor 2, and one for cells; no other descriptor.
"""
import codecs
import json
import os
import select
import signal
import sys

from . import frames, process
from .wire import LINE_MAX, packed

# ipykernel holds text back for so long, stdout first and stderr behind it; so do we.
HOLD_S = 0.2
HELD_MAX = 1 << 20
CHUNK = 1 << 18
READS_MAX = 64


def decoder():
    return codecs.getincrementaldecoder("utf-8")("replace")


class Plain:
    is_python = True

    def __init__(self, note):
        self.note = note
        self.executable = sys.executable
        self.pid = None
        self.is_up = False
        self.is_busy = True
        self.unsent = b""
        self.held = {"out": [], "err": []}
        self.hold_until, self.held_size = None, 0
        self.words = ""

    def start(self, _now):
        token = frames.new_token()
        self.reader = frames.Reader(token, LINE_MAX)
        self.decoders = {"out": decoder(), "err": decoder()}
        self.output, output = os.pipe()
        self.errors, errors = os.pipe()
        commands, self.commands = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        script = os.path.join(os.path.dirname(__file__), "interpreter.py")
        environment = {**os.environ, "MPLBACKEND": os.environ.get("MPLBACKEND", "agg")}
        self.pid = process.spawn([sys.executable, "-B", script, token.hex()], environment,
                                 [null, output, errors, commands])
        for descriptor in (null, output, errors, commands):
            os.close(descriptor)
        for descriptor in (self.output, self.errors, self.commands):
            os.set_blocking(descriptor, False)

    def close(self):
        if self.pid:
            process.end(self.pid)
        for descriptor in (self.output, self.errors, self.commands):
            os.close(descriptor)

    def new_poller(self):
        return select.poll()

    def register(self, poller):
        poller.register(self.output, select.POLLIN)
        poller.register(self.errors, select.POLLIN)
        if self.unsent:
            poller.register(self.commands, select.POLLOUT)

    def due(self):
        return self.hold_until

    def last_words(self):
        """Returns the last line that an interpreter which did not begin has written."""
        text = self.words.strip()
        return ": " + text.split("\n")[-1][:500] if text else ""

    def begin(self, code, is_silent):
        self.is_busy = True
        self.held = {"out": [], "err": []}
        body = packed({"code": code, "silent": is_silent})
        self.unsent = len(body).to_bytes(4, "big") + body
        self.write()

    def write(self):
        try:
            self.unsent = self.unsent[os.write(self.commands, self.unsent):]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.unsent = b""
            self.why_killed = "because its pipe from the driver was closed"
            process.signal_group(self.pid, signal.SIGKILL)

    def interrupt(self):
        process.signal_group(self.pid, signal.SIGINT)

    def events(self, ready, now):
        if self.commands in ready and self.unsent:
            self.write()
        if self.errors in ready:
            self.hold("err", self.read_errors(), now)
        if self.output in ready:
            yield from self.read_output(1, now)
        if self.hold_until is not None and now >= self.hold_until:
            yield from self.flush()

    def last_events(self, now):
        """Everything that an ended interpreter has left in its pipes."""
        self.hold("err", self.read_errors(), now)
        yield from self.read_output(READS_MAX, now)
        yield from self.flush()

    def read_errors(self):
        return self.decoders["err"].decode(read_some(self.errors) or b"")

    def read_output(self, reads, now):
        for _ in range(reads):
            data = read_some(self.output)
            if data == b"" and self.pid:
                # The interpreter has closed its pipe, as a cell can: nothing can come any more.
                self.why_killed = "because its pipe to the driver was closed"
                process.signal_group(self.pid, signal.SIGKILL)
            if not data:
                return
            for kind, payload, size in self.reader.feed(data):
                yield from self.take(kind, payload, size, now)

    def take(self, kind, payload, size, now):
        if kind is None:
            self.hold("out", self.decoders["out"].decode(payload), now)
        elif payload is None:
            yield "left_out", ("display", size)
        elif kind == frames.STDERR:
            self.hold("err", payload.decode("utf-8", "replace"), now)
        elif kind == frames.DONE:
            self.hold("err", self.read_errors(), now)
            yield from self.flush()
            yield from self.done()
        elif kind == frames.LEAVE:
            yield "leaving", None
        elif kind == frames.LEFT_OUT:
            yield "left_out", (payload[8:].decode("utf-8", "replace"), int.from_bytes(payload[:8], "big"))
        else:
            yield from self.flush()
            if kind != frames.FLUSH:
                yield shown(kind, payload, size)

    def done(self):
        self.is_busy = False
        if not self.is_up:
            self.is_up = True
            yield "up", None
        yield "done", None

    def hold(self, stream, text, now):
        if not self.is_up:
            self.words = (self.words + text)[-2000:]
        if not text or not self.is_up:
            return
        if not self.is_busy:
            return  # a thread or program of an earlier cell prints between cells
        self.held[stream].append(text)
        self.held_size += len(text)
        if self.held_size > HELD_MAX:
            self.hold_until = now
        elif self.hold_until is None:
            self.hold_until = now + HOLD_S

    def flush(self):
        held, self.held = self.held, {"out": [], "err": []}
        self.hold_until, self.held_size = None, 0
        for stream, kind in (("out", "text"), ("err", "errors")):
            if held[stream]:
                yield kind, "".join(held[stream])


def shown(kind, payload, size):
    """Returns the event of a frame that shows something."""
    try:
        shown = json.loads(payload)
    except (ValueError, RecursionError):
        shown = None
    if not isinstance(shown, dict):
        return "left_out", ("broken display", size)
    return {frames.ERROR: "error", frames.RESULT: "result"}.get(kind, "bundle"), shown


def read_some(descriptor):
    """Returns what is there, b"" at the end, and None if nothing has come."""
    try:
        return os.read(descriptor, CHUNK)
    except BlockingIOError:
        return None
