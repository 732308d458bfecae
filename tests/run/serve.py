#!/usr/bin/env -S python3 -SE
"""serve.py CASE ADDRESS KEY [ARG...]: what serve.bats sends to hutch serve that curl cannot.

ADDRESS is HOST:PORT.  A case ends with 0, or with the line that failed.
"""
import json
import os
import re
import resource
import select
import signal
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402


CLOSE = "Connection: close"


class Server:
    def __init__(self, address, key):
        host, port = address.rsplit(":", 1)
        self.at, self.key = (host, int(port)), key

    def connect(self):
        return socket.create_connection(self.at, timeout=patience.PATIENCE)

    def head(self, line, *fields):
        return "\r\n".join([line + " HTTP/1.1", "Host: localhost", "X-API-Key: " + self.key, *fields, "", ""]).encode()

    def send(self, *parts):
        """Sends bytes on a connection of its own, and returns the statuses of all answers to them, up to
        the one behind which the server closes: it refuses the request, or has read CLOSE."""
        with self.connect() as s:
            try:
                for part in parts:
                    s.sendall(part)
            except OSError:
                pass  # the server has answered and closed already
            return statuses(read_all(s))

    def lives(self):
        return self.send(self.head("GET /health", CLOSE)) == [200]


def read_all(s):
    parts = []
    try:
        while part := s.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass  # behind the answer: bytes that the server did not read
    return b"".join(parts)


def statuses(text):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d\d\d) ", text)]


def lengths(server):
    """A body whose length is ambiguous, or no length, is refused."""
    post = "POST /pause"
    chunks = b"2\r\n{}\r\n0\r\n\r\n"
    refused = [
        server.head(post, "Content-Length: 2", "Content-Length: 2") + b"{}",
        server.head(post, "Content-Length: 2", "Content-Length: 3") + b"{}x",
        server.head(post, "Content-Length: 2", "Transfer-Encoding: chunked") + chunks,
        server.head(post, "Transfer-Encoding: chunked", "Content-Length: 2") + chunks,
        server.head(post, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + chunks,
        server.head(post, "Content-Length: -1") + b"{}",
        server.head(post, "Content-Length: 2x") + b"{}",
        server.head(post, "Content-Length: 99999999999999999999") + b"{}",
        server.head(post, "Transfer-Encoding: chunked") + b"zz\r\n{}\r\n0\r\n\r\n",
    ]
    for text in refused:
        got = server.send(text + server.head("GET /health", CLOSE))
        assert got[:1] and got[0] in (400, 413) and 200 not in got, (text, got)
    assert server.send(server.head(post, "Transfer-Encoding: chunked", CLOSE) + chunks) == [404]


def heads(server):
    """A head that is too large, or none, is refused, and nothing behind it is read as a request."""
    large = "X-Large: " + 200000 * "x"
    for text, codes in ((server.head("GET /health", large), (413, 431)),
                        (server.head("GET /" + 200000 * "x"), (414, 431)),
                        (server.head("GET /health", *(f"X-{i}: x" for i in range(20000))), (413, 431)),
                        (b"GET /health\r\n\r\n", (400, 403)),
                        (b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n", (505,)),
                        (b"GET /health HTTP/1.1\r\n\r\n", (400, 403)),
                        (b"GET /%00health HTTP/1.1\r\nHost: localhost\r\n\r\n", (403, 404))):
        got = server.send(text)
        assert got == [] or got[0] in codes, (text[:60], got)
    assert server.lives()


def pipelined(server):
    """Requests in one piece, and in bytes, are answered in order."""
    post = server.head("POST /pause", "Content-Length: 20") + b'{"runtime_id":"none"'
    requests = [server.head("GET /health"), server.head("GET /list"), post, server.head("GET /list", CLOSE)]
    assert server.send(b"".join(requests)) == [200, 200, 422, 200]
    assert server.send(*(bytes([b]) for b in b"".join(requests))) == [200, 200, 422, 200]


def many_uploads(server, box, spawner):
    """300 uploads that come while the spawner does nothing are all taken, or are told to come again."""
    def send(number):
        body = (b'--part\r\nContent-Disposition: form-data; name="file"; filename="f%d"\r\n\r\n'
                b"x\r\n--part--\r\n" % number)
        s = server.connect()
        s.sendall(server.head(f"POST /{box}/upload_file?destination=/tmp/up", f"Content-Length: {len(body)}", CLOSE,
                              "Content-Type: multipart/form-data; boundary=part") + body)
        return s

    left = list(range(300))
    while left:
        os.kill(int(spawner), signal.SIGSTOP)
        sent = [(number, send(number)) for number in left]
        assert server.lives()  # the front has read the heads before
        os.kill(int(spawner), signal.SIGCONT)
        said = [(number, s, read_all(s)) for number, s in sent]
        for _, s, _ in said:
            s.close()
        for number, _, text in said:
            assert statuses(text) in ([200], [503]), (number, text)
            assert statuses(text) == [200] or b"Retry-After: " in text, text
        left = [number for number, _, text in said if statuses(text) == [503]]
        print(len(left), "are to come again")


def much_memory(server, box):
    """Bodies that have no room together are not both taken: 38 MiB wait for their end, and 30 come."""
    path = f"POST /{box}/execute_action"
    with server.connect() as first:
        first.sendall(server.head(path, f"Content-Length: {39 << 20}", CLOSE) + b"x" * (38 << 20))
        said = server.send(server.head(path, f"Content-Length: {30 << 20}", CLOSE), b"x" * (30 << 20))
        first.sendall(b"x" * (1 << 20))
        text = read_all(first)
    both = said + statuses(text)
    assert len(both) == 2 and both.count(503) == 1, both
    assert statuses(text) != [503] or b"Retry-After: " in text, text
    # All of it has been given back.
    for _ in range(3):
        assert server.send(server.head(path, f"Content-Length: {30 << 20}", CLOSE), b"x" * (30 << 20)) != [503]


def gone_amid(server, box):
    """A client that goes amid an action gives its connection, the only one, to the next; the action goes on,
    and a retry gets its answer."""
    action = json.dumps({"action": {"action": "run", "id": 7, "timestamp": "then",
                                    "args": {"command": "cat /tmp/fifo"}}}).encode()
    path = f"POST /{box}/execute_action"
    with server.connect() as s:
        s.sendall(server.head(path, f"Content-Length: {len(action)}") + action)
    # The fifo is opened when the action has opened it, too.
    write = json.dumps({"argv": ["sh", "-c", "echo goes on >/tmp/fifo"]}).encode()
    head = server.head(f"POST /v1/sandboxes/{box}/exec", f"Content-Length: {len(write)}", CLOSE)
    assert server.send(head + write) == [200]
    with server.connect() as s:
        s.sendall(server.head(path, f"Content-Length: {len(action)}", CLOSE) + action)
        text = read_all(s)
    assert b'"content":"goes on"' in text, text


def builds_held(server):
    """Four uploads of contexts at once are taken, a fifth is not, and the end of one makes room."""
    def begin():
        s = server.connect()
        s.sendall(server.head("POST /build", "Content-Type: multipart/form-data; boundary=part", "Content-Length: 1000",
                              "Expect: 100-continue"))
        return s, s.recv(4096)

    held = []
    for _ in range(4):
        s, said = begin()
        assert statuses(said) == [100], said
        held.append(s)
    s, said = begin()
    assert statuses(said) == [429] and b"Retry-After: 30" in said, said
    s.close()
    held[0].sendall(b"--part--\r\n" + 990 * b"x")
    assert statuses(held[0].recv(4096)) == [400]  # a form without a part
    held[0].close()
    s, said = begin()
    assert statuses(said) == [100], said


def halves(server):
    """Requests that end in the middle keep nothing, and those that never end hold nobody up."""
    post = server.head("POST /v1/sandboxes", "Content-Length: 100") + b'{"env":{}'
    held = []
    for i in range(200):
        for text in (server.head("GET /health")[:20 + i % 20], post):
            s = server.connect()
            s.sendall(text)
            if i % 2:
                s.close()
            else:
                held.append(s)
    assert server.lives()
    for s in held:
        s.close()
    assert server.lives()


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def many(server, front, count):
    """So many connections, each with half a head, are open at once, and take bounded memory."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    before, held = resident(front), []
    for _ in range(int(count)):
        held.append(server.connect())
        held[-1].sendall(server.head("GET /health")[:-2])
    # Each of them is answered, so all were accepted and have what a connection has.
    for s in held:
        s.sendall(b"\r\n")
    for s in held:
        assert statuses(s.recv(4096)) == [200]
    grown = resident(front) - before
    print(f"{count} connections: {grown} KiB", file=sys.stderr)
    assert grown < int(count) * 48, grown


def beyond(server, count):
    """A connection beyond the most waits until one is closed."""
    held = []
    for _ in range(int(count)):
        held.append(server.connect())
        held[-1].sendall(server.head("GET /health"))
        assert statuses(held[-1].recv(4096)) == [200]
    further = server.connect()
    further.sendall(server.head("GET /health"))
    held.pop().close()
    assert statuses(further.recv(4096)) == [200]


def crowd(server, box, key, process):
    """Of 201 requests by a sandbox's key, which wait for a process, one is refused, and the others are answered
    at its end."""
    body = b'{"process":%s}' % process.encode()
    theirs = Server("{}:{}".format(*server.at), key)
    waiting = [theirs.connect() for _ in range(201)]
    for s in waiting:
        s.sendall(theirs.head(f"POST /v1/sandboxes/{box}/exec.wait", f"Content-Length: {len(body)}").replace(
            b"X-API-Key", b"X-Session-API-Key") + body)
    refused = select.select(waiting, [], [], patience.PATIENCE)[0]
    assert [statuses(s.recv(65536)) for s in refused] == [[503]]
    body = b'{"process":%s,"signal":"KILL"}' % process.encode()
    assert server.send(server.head(f"POST /v1/sandboxes/{box}/exec.signal", f"Content-Length: {len(body)}", CLOSE)
                       + body) == [200]
    for s in waiting:
        assert s in refused or statuses(s.recv(65536)) == [200]


def gone(server, box):
    """Clients that go in the middle of an action, a stream or an upload leave the sandbox unharmed."""
    def request(path, body, *fields):
        return server.head("POST " + path, f"Content-Length: {len(body)}", *fields) + body

    action = b'{"action":{"action":"run","args":{"command":"head -c 20000000 /dev/urandom | sha256sum"}}}'
    process = b'{"argv":["sleep","1000"]}'
    for text in (request(f"/{box}/execute_action", action), request(f"/v1/sandboxes/{box}/exec", process),
                 server.head(f"GET /v1/sandboxes/{box}/events")):
        for waits in (False, True) * 3:
            with server.connect() as s:
                s.sendall(text)
                if waits and b"execute_action" not in text:
                    assert s.recv(1)
    assert server.lives()


def main():
    case, address, key = sys.argv[1:4]
    globals()[case](Server(address, key), *sys.argv[4:])


main()
