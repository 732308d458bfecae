"""editor -- the socket at which code in a cell asks for an edit.

HUTCH_EDITOR in the kernel's environment is its path.  A client writes one line of JSON, the
members of `edit` in docs/plugins.md, and reads one line: {"text": "...", "error": false}.  The
socket is in a folder that only this user can enter.
"""
import json
import os
import select
import socket

from . import wire

REQUEST_MAX = 4 << 20
CLIENTS_MAX = 16
TEXTS = ("command", "path", "file_text", "old_str", "new_str")
NUMBER_MAX = 1 << 31


class Client:
    def __init__(self, connection):
        self.connection = connection
        self.parts, self.size = [], 0

    def receive(self):
        """Returns the line if it is whole, b"" if the client is gone, and else None."""
        try:
            data = self.connection.recv(1 << 16)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        if not data:
            return b""
        self.parts.append(data)
        self.size += len(data)
        if b"\n" in data or self.size > REQUEST_MAX:
            return b"".join(self.parts)
        return None


def request_of(line):
    """Returns the `edit` of a line, or raises ValueError: the executor ends a program whose line
    is no message of the contract."""
    if len(line) > REQUEST_MAX:
        raise ValueError(f"an edit has more than {REQUEST_MAX} bytes")
    try:
        edit = json.loads(line.split(b"\n")[0])
    except RecursionError:
        edit = None
    if not isinstance(edit, dict):
        raise ValueError("an edit is an object")
    edit = {name: value for name, value in edit.items() if value is not None}
    for name, value in edit.items():
        if not is_member(name, value):
            raise ValueError(f"an edit has no {name[:64]} such as {repr(value)[:64]}")
    if "command" not in edit:
        raise ValueError("an edit has a command")
    return edit


def is_member(name, value):
    if name in TEXTS:
        return isinstance(value, str) and "\0" not in value and is_utf8(value)
    if name == "insert_line":
        return is_number(value)
    return name == "view_range" and isinstance(value, list) and len(value) == 2 and all(map(is_number, value))


def is_utf8(text):
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False


def is_number(value):
    return type(value) is int and abs(value) < NUMBER_MAX


class Editor:
    """`ask` sends a line to the executor, which answers one ask at a time."""

    def __init__(self, folder, ask):
        self.path = os.path.join(folder, "editor")
        self.ask = ask
        self.number = 0
        self.clients = {}
        self.waiting = []
        self.asking = None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.setblocking(False)
        self.socket.bind(self.path)
        os.chmod(self.path, 0o600)
        self.socket.listen(CLIENTS_MAX)

    def register(self, poller):
        if len(self.clients) < CLIENTS_MAX:
            poller.register(self.socket.fileno(), select.POLLIN)
        for number, client in self.clients.items():
            if client not in self.waiting and client is not self.asking:
                poller.register(number, select.POLLIN)

    def serve(self, ready, is_call_under_way):
        if self.socket.fileno() in ready:
            try:
                connection = self.socket.accept()[0]
                connection.setblocking(False)
                self.clients[connection.fileno()] = Client(connection)
            except OSError:
                pass  # the client is gone again
        for number in [number for number in self.clients if number in ready]:
            client = self.clients[number]
            line = client.receive()
            if line is not None:
                client.parts = [line]
                self.waiting.append(client)
        self.ask_next(is_call_under_way)

    def ask_next(self, is_call_under_way):
        while self.waiting and self.asking is None:
            client = self.waiting.pop(0)
            line = client.parts.pop()
            if not line:
                self.close(client)
                continue
            try:
                edit = request_of(line)
                if not is_call_under_way:
                    raise ValueError("an edit is made while a cell runs")
            except ValueError as e:
                self.reply(client, f"ERROR:\n{e}", True)
                continue
            self.number += 1
            self.asking = client
            self.ask({"ask": self.number, "edit": edit})

    def answered(self, line, is_call_under_way):
        """Takes the executor's answer."""
        client, self.asking = self.asking, None
        if client is not None:
            self.reply(client, line.get("text", ""), bool(line.get("error")))
        self.ask_next(is_call_under_way)

    def reply(self, client, text, is_error):
        """Writes the answer.  A client that does not read has its socket's buffer and no more of
        our time than a second."""
        try:
            client.connection.settimeout(1)
            client.connection.sendall(wire.packed({"text": text, "error": is_error}) + b"\n")
        except OSError:
            pass
        self.close(client)

    def close(self, client):
        self.clients.pop(client.connection.fileno(), None)
        client.connection.close()
