"""kernel -- the form with a real kernel, which speaks Jupyter's messages over ZeroMQ.

A cell is over when iopub says `idle` for the same parent.  What an earlier cell's threads print
has another parent, and is left out, as a notebook's server does.
"""
import json
import os
import select
import socket
import sys

from . import messages, process

CHUNK = 1 << 16
MESSAGES_MAX = 100
# A request whose reply came, and whose idle did not, is followed by another: its idle tells that
# the first one's was lost, as where a subscription came too late.
PROBE_S = 0.05
LOST_S = 1.0
# The exceptions of a message that is not as it should be.
BROKEN = (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError)
ENDPOINTS = ("shell", "iopub", "stdin", "control", "hb")


def beginning():
    """Returns code that runs beginning.py and leaves no name behind."""
    with open(os.path.join(os.path.dirname(__file__), "beginning.py"), encoding="utf-8") as file:
        return f"exec({file.read()!r}, {{}})"


class Kernel:
    def __init__(self, spec, folder):
        self.spec = spec
        self.is_python = spec.get("language", "").lower() == "python"
        self.executable = spec["argv"][0]
        self.note = f"kernel {spec.get('name', 'of ipykernel')}"
        self.connection = os.path.join(folder, f"kernel-{os.urandom(4).hex()}")
        self.pid = None
        self.is_up = False
        self.is_busy = True
        self.words = b""
        self.current = self.probe = None
        self.probe_at = None
        self.is_beginning = False

    # Life

    def start(self, now):
        """Starts the program first, and reads zmq while it begins."""
        key = messages.new_key()
        config = {"key": key, "signature_scheme": "hmac-sha256", "kernel_name": self.spec.get("name", "")}
        config.update(self.addresses())
        with open(os.open(self.connection, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(config, file)
        self.output, output = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        self.pid = process.spawn(self.argv(), self.environment(), [null, output, output])
        os.close(null)
        os.close(output)
        os.set_blocking(self.output, False)
        self.connect(config, key)
        self.send_probe(now)

    def addresses(self):
        """ipykernel speaks over sockets in our folder; other kernels may know TCP alone."""
        if self.spec.get("transport") == "ipc":
            return {"transport": "ipc", "ip": self.connection,
                    **{f"{name}_port": number for number, name in enumerate(ENDPOINTS, 1)}}
        sockets = [socket.socket() for _ in ENDPOINTS]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = {f"{name}_port": one.getsockname()[1] for name, one in zip(ENDPOINTS, sockets)}
        for one in sockets:
            one.close()
        return {"transport": "tcp", "ip": "127.0.0.1", **ports}

    def argv(self):
        values = {"connection_file": self.connection, "resource_dir": self.spec.get("folder", ""),
                  "prefix": sys.prefix}
        argv = []
        for word in self.spec["argv"]:
            for name, value in values.items():
                word = word.replace("{" + name + "}", value)
            argv.append(word)
        if argv[0] in ("python", "python3") and self.is_python:
            argv[0] = sys.executable
        return argv

    def environment(self):
        more = {name: os.path.expandvars(value) for name, value in self.spec.get("env", {}).items()}
        return {**os.environ, "JPY_PARENT_PID": str(os.getpid()), **more}

    def connect(self, config, key):
        import zmq
        self.zmq = zmq
        self.context = zmq.Context()
        self.packer = messages.Packer(key)
        self.shell = self.connected(zmq.DEALER, config, "shell")
        self.control = self.connected(zmq.DEALER, config, "control")
        self.iopub = self.connected(zmq.SUB, config, "iopub")

    def connected(self, kind, config, name):
        made = self.context.socket(kind)
        made.linger = 0
        # Milliseconds between tries, while the kernel begins, and no bound on messages that wait.
        made.reconnect_ivl = 5
        made.set_hwm(0)
        if kind == self.zmq.SUB:
            made.subscribe(b"")
        port = config[f"{name}_port"]
        made.connect(f"{config['transport']}://{config['ip']}{'-' if config['transport'] == 'ipc' else ':'}{port}")
        return made

    def close(self):
        if self.pid:
            process.end(self.pid)
        os.close(self.output)
        for one in (self.shell, self.control, self.iopub):
            one.close()
        self.context.term()
        paths = [f"{self.connection}-{number}" for number in range(1, 1 + len(ENDPOINTS))]
        for path in [self.connection, *paths]:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass  # the kernel has removed it

    def last_words(self):
        text = self.words.decode("utf-8", "replace").strip()
        return ": " + text.split("\n")[-1][:500] if text else ""

    # Requests

    def send_probe(self, now):
        self.probe, frames = self.packer.pack("kernel_info_request", {})
        self.shell.send_multipart(frames)
        self.probe_at = now + 5

    def begin(self, code, is_silent):
        self.is_busy = True
        content = {"code": code, "silent": is_silent, "store_history": False, "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": True}
        self.current, frames = self.packer.pack("execute_request", content)
        self.shell.send_multipart(frames)

    def interrupt(self):
        if self.spec.get("interrupt_mode") == "message":
            self.control.send_multipart(self.packer.pack("interrupt_request", {})[1])
        else:
            process.signal_group(self.pid, process.signal.SIGINT)

    # Events

    def new_poller(self):
        return self.zmq.Poller()

    def register(self, poller):
        poller.register(self.iopub, select.POLLIN)
        poller.register(self.shell, select.POLLIN)
        poller.register(self.control, select.POLLIN)
        poller.register(self.output, select.POLLIN)

    def due(self):
        return self.probe_at

    def events(self, ready, now):
        if self.output in ready:
            self.read_words()
        # A few messages a turn, so that the executor's lines and deadlines are seen.
        for _ in range(MESSAGES_MAX if self.iopub in ready else 0):
            frames = self.receive(self.iopub)
            if frames is None:
                break
            yield from self.take_iopub(frames)
        for one in (self.shell, self.control):
            frames = self.receive(one) if one in ready else None
            if frames is not None:
                yield from self.take_reply(frames, now)
        if self.probe_at is not None and now >= self.probe_at:
            self.send_probe(now)

    def last_events(self, now):
        """Returns what is still on its way within zmq, behind the end of the kernel."""
        while self.iopub.poll(20):
            yield from self.events((self.iopub,), now)
        self.read_words()

    def receive(self, one):
        try:
            return one.recv_multipart(self.zmq.NOBLOCK, copy=False)
        except self.zmq.Again:
            return None

    def read_words(self):
        """Keeps the end of what the kernel writes to its descriptors 1 and 2."""
        try:
            data = os.read(self.output, CHUNK)
        except BlockingIOError:
            return
        self.words = (self.words + data)[-4096:]

    def take_reply(self, frames, now):
        try:
            kind, parent, content = messages.unpack(frames)
            reply = json.loads(bytes(content)) if len(content) < CHUNK else {}
            if kind == "kernel_info_reply" and not self.is_up:
                self.take_info(reply)
                if parent == self.probe:
                    self.probe_at = now + PROBE_S
            elif kind == "execute_reply":
                if parent == self.current and self.is_busy:
                    self.probe_at = now + LOST_S
                if is_leaving(reply):
                    yield "leaving", None
        except BROKEN:
            pass  # a reply that tells nothing; `idle` ends the cell

    def take_info(self, info):
        language = info.get("language_info", {})
        self.is_python = language.get("name", "").lower() == "python"
        self.note = (f"kernel {self.spec.get('name', 'of ipykernel')}: {info.get('implementation', '')} "
                     f"{info.get('implementation_version', '')}, {language.get('name', '')} "
                     f"{language.get('version', '')}")

    def take_iopub(self, frames):
        """Takes a message apart.  A cell can send what it likes, so a broken one is none."""
        try:
            kind, parent, content = messages.unpack(frames)
            if kind == "status":
                if json.loads(bytes(content)).get("execution_state") == "idle":
                    yield from self.idle(parent)
            elif parent == self.current and self.current:
                yield from self.shown(kind, content)
        except BROKEN:
            yield "left_out", ("broken message", sum(len(frame) for frame in frames))

    def idle(self, parent):
        """`idle` of the current request ends it; that of a probe behind it tells the same."""
        if not self.is_up and parent == self.probe and not self.is_beginning:
            self.probe_at = None
            if not self.is_python:
                yield from self.up()
                return
            self.is_beginning = True
            self.begin(beginning(), True)
        elif self.current and parent in (self.current, self.probe):
            self.current = self.probe_at = self.probe = None
            self.is_busy = False
            if not self.is_up:
                yield from self.up()
            else:
                yield "done", None

    def up(self):
        self.is_up, self.is_busy = True, False
        yield "up", None

    def shown(self, kind, content):
        if kind == "stream":
            if len(content) > messages.READ_MAX:
                head, left_out, tail = messages.long_stream(content)
                yield "text", head
                yield "gap", left_out
                yield "text", tail
                return
            content = json.loads(bytes(content))
            text = str(content.get("text", ""))
            if self.is_beginning and not self.is_up:
                self.executable = text.strip() or self.executable
            yield "errors" if content.get("name") == "stderr" else "text", text
        elif kind in ("execute_result", "display_data", "error"):
            if len(content) > messages.READ_MAX:
                yield "left_out", ("display", len(content))
                return
            content = json.loads(bytes(content))
            if kind == "error":
                yield "error", {"name": content.get("ename"), "value": content.get("evalue"),
                                "traceback": "\n".join(map(str, content.get("traceback") or ()))}
            else:
                yield "result" if kind == "execute_result" else "bundle", dict(content.get("data") or {})


def is_leaving(reply):
    """Returns whether the cell has called exit(): ipykernel ends a moment later."""
    return any(one.get("source") == "ask_exit" and not one.get("keepkernel") for one in reply.get("payload") or ())
