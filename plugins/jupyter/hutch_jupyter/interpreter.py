"""interpreter -- the child of plain.py: reads cells on descriptor 3 and runs them.

Its argument is the token of frames.py.  It takes its descriptors away from 1 and 3, so that a
cell that closes or redirects the usual three still has its end told.
"""
import builtins
import fcntl
import functools
import io
import json
import os
import signal
import sys
import threading
import types

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(FOLDER)
from hutch_jupyter import frames, source  # noqa: E402  (the line above makes it findable)
sys.path[0] = ""

BROKEN = 70
# A part of a display above this would not have room in an answer.
VALUE_MAX = 4096
PART_MAX = 6 << 20


class StdinNotImplementedError(NotImplementedError):
    """As ipykernel raises it."""


def no_input(name):
    def ask(*_, **__):
        raise StdinNotImplementedError(f"{name} was called, but this frontend does not support input requests.")
    return ask


class Leave:
    """exit and quit, with or without a call: the interpreter ends behind the cell."""

    def __init__(self, interpreter):
        self.interpreter = interpreter

    def __call__(self, *_):
        self.interpreter.is_over = True


def moved(descriptor):
    """Returns a copy that is out of the way of loops over the first descriptors."""
    for least in (100, 10):
        try:
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)
        except OSError:
            continue  # RLIMIT_NOFILE is lower
    return os.dup(descriptor)


class Channel:
    """The pipe to the driver."""

    def __init__(self, descriptor, token):
        self.descriptor = descriptor
        self.token = token
        self.lock = threading.RLock()

    def send(self, kind, payload=b""):
        with self.lock:
            for piece in frames.pieces(self.token, kind, payload):
                self.write(piece)

    def write(self, data):
        try:
            os.write(self.descriptor, data)
        except OSError:
            # A cell has closed what it does not own; the driver starts another interpreter.
            os._exit(BROKEN)


class Stderr(io.TextIOBase):
    """sys.stderr, whose text stays in its order with that of sys.stdout."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, channel):
        self.channel = channel

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        data = text.encode("utf-8", "replace")
        # Each frame is text of its own, so none ends within a character.
        while data:
            size = frames.PAYLOAD_MAX
            while size < len(data) and data[size] & 0xC0 == 0x80:
                size -= 1
            self.channel.send(frames.STDERR, data[:size])
            data = data[size:]
        return len(text)

    def flush(self):
        self.channel.send(frames.FLUSH)

    def fileno(self):
        return 2

    def writable(self):
        return True


class Interpreter:
    """One kernel's life."""

    def __init__(self, token):
        self.commands, output = moved(3), moved(1)
        os.close(3)
        self.channel = Channel(output, token)
        self.pid = os.getpid()
        self.loop = None
        self.is_over = False
        self.open_streams()
        self.main = types.ModuleType("__main__")
        self.main.__builtins__ = builtins
        sys.modules["__main__"] = self.main
        self.names = self.main.__dict__
        sys.argv = [""]
        sys.displayhook = self.show
        builtins.input = no_input("raw_input")
        builtins.get_ipython = lambda: self.shell
        builtins.display = self.display
        builtins.exit = builtins.quit = Leave(self)
        self.cells = source.Cells()

    @functools.cached_property
    def shell(self):
        """The object of get_ipython(), which has the magics."""
        from hutch_jupyter.magics import Shell
        return Shell(self)

    def open_streams(self):
        raw = io.FileIO(self.channel.descriptor, "w", closefd=False)
        raw.fileno = lambda: 1
        self.stdout = io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "replace", newline="\n", line_buffering=True)
        self.stderr = Stderr(self.channel)
        sys.stdout, sys.stderr = self.stdout, self.stderr

    def serve(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        source.watch_imports(self, no_input("getpass"))
        self.channel.send(frames.DONE)
        while not self.is_over:
            request = self.receive()
            if request is None:
                return
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                try:
                    self.run(request["code"], request["silent"])
                finally:
                    signal.signal(signal.SIGINT, signal.SIG_IGN)
            except KeyboardInterrupt:
                pass  # the interrupt came with the cell's end
            if os.getpid() != self.pid:
                os._exit(0)  # a process that the cell has forked
            self.end_cell()

    def receive(self):
        """Returns the next request, or None at the driver's end."""
        size = self.read(4)
        body = size and self.read(int.from_bytes(size, "big"))
        return json.loads(body) if body else None

    def read(self, size):
        parts = []
        while size:
            try:
                data = os.read(self.commands, size)
            except OSError:
                os._exit(BROKEN)
            if not data:
                return None
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def end_cell(self):
        """Tells that the cell is over, behind all that it has printed."""
        for stream in {id(stream): stream for stream in (sys.stdout, self.stdout)}.values():
            try:
                stream.flush()
            except Exception:
                pass  # a stream that a cell has put there, or has closed
        if self.stdout.closed:
            self.open_streams()
        if self.is_over:
            self.channel.send(frames.LEAVE)
        self.channel.send(frames.DONE)

    def run(self, code, is_silent):
        for step in (lambda: self.execute(*self.cells.parse(code, self.names)), self.show_figures):
            try:
                step()
            except BaseException as e:
                self.show_error(e)
            if is_silent:
                break

    def execute(self, tree, name):
        """Runs the statements; the value of a last expression is shown."""
        sys.displayhook(self.value_of(tree, name))

    def value_of(self, tree, name):
        """Runs the statements, and returns the value of a last expression, or None."""
        value = None
        for code, is_value in source.codes(tree, name):
            value = eval(code, self.names)
            if source.is_awaitable(code):
                value = self.wait_for(value)
            value = value if is_value else None
        if os.getpid() != self.pid:
            self.stdout.flush()
            os._exit(0)  # a process that the cell has forked
        return value

    def wait_for(self, coroutine):
        """Runs a coroutine on the loop that all cells share."""
        import asyncio
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            raise

    def display(self, *values, raw=False, **_):
        """IPython's display()."""
        for value in values:
            self.send_bundle(value if raw and isinstance(value, dict) else None, value)

    def show(self, value):
        if value is None:
            return
        if isinstance(value, Leave):
            value()
            return
        builtins._ = value
        self.send_bundle(None, value, frames.RESULT)

    def send_bundle(self, bundle, value, kind_of_frame=frames.BUNDLE):
        from hutch_jupyter import rich
        if bundle is None:
            own = rich.method(value, "_ipython_display_")
            if own:
                own()
                return
            bundle = rich.bundle_of(value)
        bundle = rich.strings(bundle)
        if len(str(bundle.get("text/plain", ""))) > PART_MAX:
            self.channel.send(frames.FLUSH)
            self.stdout.write(bundle.pop("text/plain"))
        self.stdout.flush()
        for kind in [kind for kind, data in bundle.items() if isinstance(data, str) and len(data) > PART_MAX]:
            size = len(bundle.pop(kind)).to_bytes(8, "big")
            self.channel.send(frames.LEFT_OUT, size + kind[:100].encode("utf-8", "replace"))
        self.channel.send(kind_of_frame, json.dumps(bundle, ensure_ascii=False).encode("utf-8", "replace"))

    def show_figures(self):
        if "matplotlib.pyplot" in sys.modules:
            from hutch_jupyter import figures
            figures.show_all(self)

    def show_error(self, error):
        from hutch_jupyter import tracebacks
        try:
            text = tracebacks.text_of(error, self.cells)
        except Exception as e:
            text = f"{type(error).__name__}: (its traceback cannot be shown: {e!r})"
        self.stdout.flush()
        told = {"name": type(error).__name__, "value": value_of(error), "traceback": text}
        self.channel.send(frames.ERROR, json.dumps(told).encode())


def value_of(error):
    """Returns str(error), which is the cell's own code where the class is."""
    try:
        return str(error)[:VALUE_MAX]
    except Exception as e:
        return f"(it has no text: {type(e).__name__})"


if __name__ == "__main__":
    Interpreter(bytes.fromhex(sys.argv[1])).serve()
