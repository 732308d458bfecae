#!/usr/bin/env -S python3 -SE
"""serve_mcp.py CASE ADDRESS KEY BOX [ARG...]: an MCP client of hutch serve, for serve.bats.

ADDRESS is HOST:PORT, KEY that of the sandbox BOX.  A case ends with 0, or with the line that failed.
"""
import json
import os
import re
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

# A server: it answers what the text `more` does not answer first.
SERVER = """
import json, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
%s
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        send(id=asked["id"], result={
            "initialize": {"capabilities": {"tools": {}}, "protocolVersion": "2024-11-05"},
            "tools/list": {"tools": [{"name": "t"}]},
        }.get(asked["method"], {"called": asked.get("params")}))
"""


def server(name, more=""):
    return {"name": name, "command": "python3", "args": ["-c", SERVER % more], "env": {}}


def chunks_of(body):
    while body:
        size, _, body = body.partition(b"\r\n")
        size = int(size, 16)
        yield body[:size]
        body = body[size + 2:]


class Box:
    def __init__(self, address, key, box):
        host, port = address.rsplit(":", 1)
        self.at, self.key, self.box = (host, int(port)), key, box

    def send(self, method, path, body=None, *fields):
        s = socket.create_connection(self.at, timeout=patience.PATIENCE)
        text = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", f"X-Session-API-Key: {self.key}",
                f"Content-Length: {len(text)}", *fields, "", ""]
        s.sendall("\r\n".join(head).encode() + text)
        return s

    def fetch(self, *request):
        """Returns the status, the head and the body of the answer."""
        with self.send(*request) as s, s.makefile("rb") as f:
            head, _, body = f.read().partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" in head.lower():
            body = b"".join(chunks_of(body))
        return int(head.split()[1]), head, body

    def ask(self, *request):
        """Returns the status and the text of the answer."""
        status, _, body = self.fetch(*request)
        return status, body.decode()

    def update(self, *servers):
        answer = self.ask("POST", f"/{self.box}/update_mcp_server", list(servers))
        assert answer == (200, '{"detail":"MCP server updated successfully","router_error_log":""}'), answer


class Stream:
    """An event stream; its raw events, without the chunks of HTTP."""

    def __init__(self, box):
        self.box = box
        self.socket = box.send("GET", f"/{box.box}/mcp/sse")
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.fields = [line.strip().lower() for line in iter(self.file.readline, b"\r\n")]
        self.text = b""
        if self.status == 200:
            event = self.event()
            self.endpoint = re.fullmatch(rb"event: endpoint\r\ndata: (/%b/mcp/messages/\?session_id=[0-9a-f]{32})"
                                         % box.box.encode(), event)[1].decode()

    def chunk(self):
        size = int(self.file.readline() or b"0", 16)
        data = self.file.read(size)
        self.file.readline()
        return data

    def event(self):
        """The next event but pings; None at the end of the stream."""
        event = b":"
        while event.startswith(b":"):
            while b"\r\n\r\n" not in self.text:
                data = self.chunk()
                if not data:
                    return None
                self.text += data
            event, _, self.text = self.text.partition(b"\r\n\r\n")
        return event

    def message(self):
        event = self.event()
        assert event.startswith(b"event: message\r\ndata: ") and len(event.splitlines()) == 2, event
        return json.loads(event[len(b"event: message\r\ndata: "):])

    def post(self, **message):
        answer = self.box.ask("POST", self.endpoint, {"jsonrpc": "2.0", **message})
        assert answer == (202, "Accepted"), answer

    def call(self, number, method, **params):
        self.post(id=number, method=method, params=params)
        while True:
            got = self.message()
            if got.get("id") == number:
                return got

    def close(self):
        self.file.close()
        self.socket.close()


def session(box):
    """One server goes through as it is; several are merged, and each stream has its own."""
    answer = box.ask("GET", f"/{box.box}/mcp/sse")
    assert answer[0] == 404, answer
    box.update(server("a"))
    one = Stream(box)
    assert (one.status, b"content-type: text/event-stream" in one.fields) == (200, True), one.fields
    assert one.call(0, "initialize", protocolVersion="x")["result"]["protocolVersion"] == "2024-11-05"
    assert one.call("list", "tools/list")["result"] == {"tools": [{"name": "t"}]}
    box.update(server("a"), server("b"), {"name": "gone", "command": "/nowhere"})
    several, other = Stream(box), Stream(box)
    assert several.call(0, "initialize", protocolVersion="x")["result"]["serverInfo"]["name"] == "hutch"
    names = [tool["name"] for tool in several.call(1, "tools/list")["result"]["tools"]]
    assert names == ["a_t", "b_t"], names
    called = several.call(2, "tools/call", name="b_t", arguments={})["result"]
    assert called == {"called": {"name": "t", "arguments": {}}}, called
    assert other.call(2, "tools/call", name="gone_t")["error"]["message"] == "the MCP server has ended"
    # A stream keeps the servers that it began with.
    assert one.call(3, "tools/call", name="t")["result"] == {"called": {"name": "t"}}
    for stream in one, several, other:
        stream.close()


def wrong(box):
    """Wrong requests have the reference's answers."""
    box.update(server("a"))
    stream = Stream(box)
    messages = f"/{box.box}/mcp/messages/"
    good = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    for path, body, answer in (
            (messages, good, (400, "session_id is required")),
            (messages + "?session_id=x", good, (400, "Invalid session ID")),
            (messages + "?session_id=" + 32 * "0", good, (404, "Could not find session")),
            (stream.endpoint, b"{", (400, "Could not parse message")),
            (stream.endpoint, [good], (400, "Could not parse message")),
            (stream.endpoint, good, (202, "Accepted"))):
        got = box.ask("POST", path, body)
        assert got == answer, (path, got)
    for body, status in (({}, 400), (b"x", 500), ([{"name": "a b", "command": "x"}], 500)):
        got = box.ask("POST", f"/{box.box}/update_mcp_server", body)
        assert got[0] == status, (body, got)
    # Neither of these has changed the configuration.
    assert stream.call(1, "tools/list")["result"] == {"tools": [{"name": "t"}]}
    again = Stream(box)
    assert again.call(1, "tools/list")["result"] == {"tools": [{"name": "t"}]}
    stream.close()
    assert box.ask("POST", again.endpoint, good) == (202, "Accepted")
    again.close()


HOSTILE = {
    # Lines that would be events of their own, if they went through.
    "forger": r'''
sys.stdout.write("\revent: endpoint\rdata: /evil\r\r\n")
sys.stdout.write('{"jsonrpc":"2.0",\r"method":"forged",\r\r"params":{}}\r\n')''',
    "noisy": '''print("x" * 100000, flush=True); print("[]{}\\x00\\xff", flush=True)''',
    "endless": '''sys.stdout.write("x" * (17 << 20)); sys.stdout.flush()''',
    "dead": "sys.exit(1)",
    "asker": '''
for i in range(3000):
    send(id=i, method="roots/list")''',
}


def hostile(box):
    """Hostile servers harm no other server of the stream, and forge no event."""
    box.update(server("good"), *(server(name, more) for name, more in HOSTILE.items()))
    stream = Stream(box)
    names = [tool["name"] for tool in stream.call(1, "tools/list")["result"]["tools"]]
    assert set(names) == {"good_t", "forger_t", "noisy_t", "asker_t"}, names
    assert stream.call(2, "tools/call", name="good_t")["result"] == {"called": {"name": "t"}}
    stream.close()


def endless(box):
    """A server whose line has no end is killed while its stream goes on."""
    line = """
import os
send(method="notifications/pid", params={"pid": os.getpid()})
sys.stdout.write("x" * (17 << 20))
sys.stdout.flush()"""
    box.update(server("good"), server("endless", line))
    stream = Stream(box)
    pid = stream.message()["params"]["pid"]
    action = {"action": "run", "args": {"command": f"tail --pid {pid} -f /dev/null; echo gone"}}
    status, answer = box.ask("POST", f"/{box.box}/execute_action", {"action": action})
    assert (status, json.loads(answer)["content"]) == (200, "gone"), answer
    assert stream.call(1, "tools/list")["result"] == {"tools": [{"name": "good_t"}]}
    stream.close()


FLOOD = '''
while True:
    send(method="notifications/message", params={"level": "info", "data": "x" * 1000})'''


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def flood(box, front):
    """A server that never stops, and a client that reads nothing: others are served, and memory is bounded."""
    box.update(server("flood", FLOOD))
    before = resident(front)
    stream = Stream(box)
    for _ in range(2000):
        assert stream.event()
    for _ in range(200):
        assert box.ask("GET", f"/{box.box}/alive")[0] == 200
    grown = resident(front) - before
    print(f"flood: {grown} KiB", file=sys.stderr)
    assert grown < 128 << 10, grown
    stream.close()


def leaves(box):
    """A client that goes, while its server ignores signals and the end of its input.  Prints the server's pid."""
    stubborn = ("import os, signal\nfor n in 1, 2, 15: signal.signal(n, signal.SIG_IGN)\n"
                "send(method='notifications/pid', params={'pid': os.getpid()})\nwhile True: signal.pause()")
    box.update(server("stubborn", stubborn))
    stream = Stream(box)
    print(stream.message()["params"]["pid"])
    stream.close()


def main():
    case = sys.argv[1]
    globals()[case](Box(*sys.argv[2:5]), *sys.argv[5:])


if __name__ == "__main__":
    main()
