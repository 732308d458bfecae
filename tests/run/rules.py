"""rules.py CASE [ARG...]: what rules.bats asks in Python."""
import json
import socket
import subprocess
import sys


def said(path, code):
    """Evaluates CODE about the lines of a file: `lines`, those with an id,
    `by`[ID], and `asks`."""
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    by = {line["cause"]: line for line in lines if "cause" in line and "observation" in line}
    asks = [line for line in lines if line.get("event") == "ask"]
    exec(code, {"lines": lines, "by": by, "asks": asks, "json": json})  # noqa: S102


def talk(code, *command):
    """Runs CODE that talks to a command: send(ACTION, ID, **ARGS), next(),
    ended()."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          bufsize=1) as process:
        def send(action, number=None, timeout=9, **args):
            line = {"action": action, "args": args, "timeout": timeout}
            process.stdin.write(json.dumps(line | ({"id": number} if number else {})) + "\n")

        def next_line():
            return json.loads(process.stdout.readline())

        def error(o):
            return o["extras"].get("error_id")

        def ended():
            process.stdin.close()
            assert process.stdout.read() == "" and process.wait() == 0

        names = {"p": process, "send": send, "next": next_line, "error": error, "ended": ended}
        exec(code, names)  # noqa: S102


class Peer:
    """A client of the control socket at `path`."""

    def __init__(self, path, patience):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(patience)
        self.socket.connect(path)
        self.file = self.socket.makefile("rw")
        self.send(1, "hello", {"protocol": 1})
        assert "result" in self.next()

    def send(self, number, method, params):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.file.write(json.dumps(request) + "\n")
        self.file.flush()

    def next(self):
        return json.loads(self.file.readline())

    def close(self):
        self.file.close()
        self.socket.close()


def write(path):
    return {"action": "write", "args": {"path": path, "content": "x"}}


def asked_about(path):
    return {"action": write(path), "confirm": True}


def answer(ask, allow):
    return {"action": {"action": "confirm", "args": {"ask": ask, "allow": allow}}}


def ask_at_the_socket(path, patience):
    """The question is a notification, and only the client that was asked can
    answer."""
    a, b = Peer(path, int(patience)), Peer(path, int(patience))
    a.send(2, "act", asked_about("kept"))
    note = a.next()
    assert note["method"] == "event" and "id" not in note, note
    assert note["params"] == {"event": "ask", "ask": 1, "request": 2, "session": "main",
                              "action": "write", "about": "kept", "risk": "high",
                              "reason": "it is kept"}, note
    b.send(5, "act", answer(1, True))
    assert b.next()["result"]["extras"]["error_id"] == "HUTCH$NOT_FOUND"
    a.send(3, "act", answer(1, True))
    got = {m["id"]: m["result"]["observation"] for m in (a.next(), a.next())}
    assert got == {2: "write", 3: "null"}, got
    # If the client that was asked closes its connection, that counts as a no, and the next action
    # of the session begins.
    a.send(4, "act", {"action": write("kept")})
    assert a.next()["params"]["ask"] == 2
    b.send(6, "act", {"action": {"action": "run", "args": {"command": "echo next"}}})
    a.close()
    assert b.next()["result"]["content"] == "next"
    # A client that shuts down its side of the connection, or that has sent so much before its
    # answer that the supervisor stops reading, counts as a no, too.
    c = Peer(path, int(patience))
    c.send(2, "act", asked_about("kept"))
    c.send(3, "act", asked_about("kept"))
    c.socket.shutdown(socket.SHUT_WR)
    assert c.next()["params"]["ask"] == 3
    errors = [c.next()["result"]["extras"]["error_id"] for _ in range(2)]
    assert errors == ["HUTCH$REFUSED"] * 2, errors
    d = Peer(path, int(patience))
    for number in range(2, 302):
        d.send(number, "act", asked_about("kept" if number == 2 else "free"))
    d.send(302, "act", answer(4, True))
    got = {m["id"]: m["result"]["observation"] for m in (d.next() for _ in range(302))
           if "id" in m}
    assert len(got) == 301 and got[2] == got[302] == "error" and got[301] == "write", got


def judged(path):
    """Sends each text of the file as an action, with a file for "@"."""
    with open(path) as file:
        texts = list(file)
    for n, line in enumerate(texts):
        command = json.loads(line).replace("@", f"/workspace/m{n}")
        print(json.dumps({"action": "run", "id": n, "timeout": 9,
                          "args": {"command": command, "is_static": True}}))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
