#!/usr/bin/env -S python3 -SE
"""control.py HUTCH CODE [OPTION...]: makes a sandbox named `box` with these options and runs Python
code that talks to its control socket (docs/control.md).  The sandbox is killed at the end.

The code has these names, and os, json, time, socket, threading:

	c			a Client that has said hello
	connect()		another one; connect(hello=False) one that has said nothing
	call(METHOD, **PARAMS)	of c; so are send, answer, receive, refused, start, wait, output
	pid			of the supervisor
	folder			STATE/box
	memory()		of the supervisor, resident, in KiB; 0 in a sanitized build

It is a module too: `from control import Client, Refused`.
"""
import array
import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import traceback

from shadows import has_shadows

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE  # noqa: E402


def state():
    if "XDG_RUNTIME_DIR" in os.environ:
        return os.environ["XDG_RUNTIME_DIR"] + "/hutch"
    return f"/tmp/hutch-{os.getuid()}"


class Refused(Exception):
    """An error answer."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.code, self.message = error["code"], error["message"]
        self.data = error.get("data") or {}
        self.kind = self.data.get("kind")


class Client:
    def __init__(self, name="box", hello=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{state()}/{name}/control.sock")
        self.socket.settimeout(PATIENCE)
        self.rest, self.lines, self.id = b"", [], 0
        self.answers, self.notes = {}, []
        if hello:
            self.call("hello", protocol=1)

    # bytes and lines

    def raw(self, data, fds=()):
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.socket.sendmsg([data], ancillary)
        if sent < len(data): # of nothing, too, a send is one, to who may have gone by now
            self.socket.sendall(data[sent:])

    def receive(self):
        """Returns the next message of any kind; None when the connection has
        ended."""
        while not self.lines:
            try:
                more = self.socket.recv(1 << 18)
            except ConnectionResetError:
                return None
            if not more:
                return None
            *self.lines, self.rest = (self.rest + more).split(b"\n")
        return json.loads(self.lines.pop(0))

    # requests and answers

    def send(self, method, fds=(), **params):
        self.id += 1
        line = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.raw(json.dumps(line).encode() + b"\n", fds)
        return self.id

    def take(self):
        """Takes one message and stores it by its kind."""
        message = self.receive()
        if message is None:
            raise EOFError("the connection has ended")
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.notes.append(message)
        return message

    def answer(self, id):
        while id not in self.answers:
            self.take()
        message = self.answers.pop(id)
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def call(self, method, fds=(), **params):
        return self.answer(self.send(method, fds, **params))

    def refused(self, method, kind, fds=(), **params):
        """Makes a call that must be refused with this kind; returns the Refused."""
        try:
            result = self.call(method, fds, **params)
        except Refused as e:
            assert e.kind == kind, e
            return e
        raise AssertionError(f"{method} was not refused but answered {result}")

    # methods that start processes and collect their output

    def start(self, *argv, fds=(), **params):
        return self.call("exec.start", fds, argv=list(argv), **params)["process"]

    def wait(self, process):
        return self.call("exec.wait", process=process)

    def outputs(self, process=None):
        """Returns the params of all output notifications so far."""
        return [n["params"] for n in self.notes if n["method"] == "output" and
                process in (None, n["params"].get("process"))]

    def output(self, process, stream="stdout"):
        """Returns the bytes that have come so far."""
        return b"".join(bytes_of(o) for o in self.outputs(process) if o["stream"] == stream)

    def events(self, name=None):
        return [n["params"] for n in self.notes if n["method"] == "event" and
                name in (None, n["params"]["event"])]

    def until(self, holds):
        """Takes messages until holds() is true."""
        while not (got := holds()):
            self.take()
        return got

    def close(self):
        self.socket.close()


def bytes_of(params):
    if "base64" in params:
        return base64.b64decode(params["base64"])
    return params.get("data", "").encode()


class Sandbox:
    """A sandbox made by hutch-supervise; `hutch` is the path of the program hutch."""

    def __init__(self, hutch, options=(), name="box"):
        self.name, self.folder = name, f"{state()}/{name}"
        supervise = os.path.join(os.path.dirname(hutch), "libexec", "hutch-supervise")
        for _ in range(1000):
            made = subprocess.run([supervise, *options, name], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=PATIENCE)
            # tries again: tests that run at the same time have many descriptors in flight
            # (ETOOMANYREFS)
            if b"Too many references" not in made.stderr:
                break
        if made.returncode:
            raise RuntimeError(made.stderr.decode())
        with self.connect() as s:
            # SO_PEERCRED gives a struct ucred: pid, uid, gid.
            self.pid = array.array("i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.folder + "/control.sock")
        return s

    def memory(self):
        if has_shadows(self.pid):
            return 0
        with open(f"/proc/{self.pid}/status") as status:
            return int(next(l for l in status if l.startswith("VmRSS")).split()[1])

    def end(self):
        try:
            Client(self.name).call("kill")
        except (OSError, EOFError):
            pass  # it has ended


def main():
    box = Sandbox(os.path.abspath(sys.argv[1]), sys.argv[3:])
    c = Client()
    names = {"c": c, "box": box, "pid": box.pid, "folder": box.folder, "memory": box.memory,
             "Client": Client, "Refused": Refused, "connect": Client, "bytes_of": bytes_of,
             "os": os, "json": json, "time": time, "socket": socket,
             "base64": base64, "threading": threading}
    for name in ("call", "send", "answer", "receive", "refused", "start", "wait", "output",
                 "outputs", "events", "until", "take"):
        names[name] = getattr(c, name)
    try:
        exec(compile(sys.argv[2], "test", "exec"), names)
    except BaseException:
        lines = sys.argv[2].splitlines()
        frame = [f for f in traceback.extract_tb(sys.exc_info()[2]) if f.filename == "test"]
        at = lines[frame[-1].lineno - 1].strip() if frame else ""
        print(f"{at}\n{traceback.format_exc()}\nlast notes: {json.dumps(c.notes[-5:])[:1500]}")
        sys.exit(1)
    finally:
        box.end()


if __name__ == "__main__":
    main()
