#!/usr/bin/env -S python3 -SE
"""route.py CASE HUTCH: what route.bats sends to hutch route that curl cannot.

The pods are sockets of this program.  A case ends with 0, or with the line that failed.
"""
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import patience  # noqa: E402

ID = "hutch-0-r0123456789abcdef"
OTHER = "hutch-1-r0123456789abcdef"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


class Pod:
    """A pod that this program plays."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(patience.PATIENCE)
        self.port = self.listener.getsockname()[1]

    def accept(self):
        s, _ = self.listener.accept()
        s.settimeout(patience.PATIENCE)
        return s

    def is_untouched(self):
        self.listener.settimeout(0)
        try:
            self.listener.accept()
        except BlockingIOError:
            return True
        return False


@contextlib.contextmanager
def router(hutch, pods, *options):
    words = [f"--pod=hutch-{i}=127.0.0.1:{pod.port}" for i, pod in enumerate(pods)]
    process = subprocess.Popen([hutch, "route", "--listen", "127.0.0.1:0", *words, *options], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, []))
    try:
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        yield ("127.0.0.1", port), process
    finally:
        process.kill()
        process.communicate()


def head(line, *fields):
    return "\r\n".join([line + " HTTP/1.1", "Host: localhost", *fields, "", ""]).encode()


def connect(at):
    return socket.create_connection(at, timeout=patience.PATIENCE)


def read_all(s):
    parts = []
    while part := s.recv(65536):
        parts.append(part)
    return b"".join(parts)


def read_head(s):
    text = b""
    while b"\r\n\r\n" not in text:
        part = s.recv(65536)
        assert part, text
        text += part
    return text


def status(text):
    return int(re.match(rb"HTTP/1\.1 (\d\d\d) ", text).group(1))


def ambiguous(hutch):
    """Heads that two readers could take for different requests are answered 400, and no pod sees them."""
    pod = Pod()
    heads = [
        head(f"POST /{ID}/x", "Content-Length: 1", "Content-Length: 1"),
        head(f"POST /{ID}/x", "Content-Length: 1", "Transfer-Encoding: chunked"),
        head(f"POST /{ID}/x", "Transfer-Encoding: xchunked"),
        head(f"POST /{ID}/x", "Content-Length: +1"),
        head(f"POST /{ID}/x", "Content_Length: 1"),
        head(f"POST /{ID}/x", "Content-Length : 1"),
        head(f"GET /{ID}/x", "Host: other"),
        head(f"GET http://localhost/{ID}/x"),
        head(f"GET /{ID}/x", "a: b", " c: d"),
        head(f"GET /{ID}/x").replace(b"\r\n", b"\n"),
        head(f"GET /{ID}/x", "a: \0"),
        head(f"GET /{ID}/x", "a: " + 17000 * "x"),
        head(f"GET /{ID}/x", *["a: b"] * 200),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    ]
    with router(hutch, [pod]) as (at, _):
        for text in heads:
            with connect(at) as s:
                s.sendall(text)
                assert status(read_all(s)) == 400, text
    assert pod.is_untouched()


def pipelined(hutch):
    """Bytes behind a request's body reach no pod."""
    pod = Pod()
    second = head(f"GET /{OTHER}/secret")
    forms = [
        (head(f"GET /{ID}/x"), b""),
        (head(f"POST /{ID}/x", "Content-Length: 3"), b"abc"),
        (head(f"POST /{ID}/x", "Transfer-Encoding: chunked"), b"3\r\nabc\r\n0\r\n\r\n"),
        (head("POST /pause", "Content-Length: 44"), b'{"runtime_id": "' + ID.encode() + b'"} '),
    ]
    with router(hutch, [pod, Pod()]) as (at, _):
        for text, body in forms:
            with connect(at) as s:
                s.sendall(text + body + second + second)
                got = pod.accept()
                seen = read_head(got)
                while len(seen.split(b"\r\n\r\n", 1)[1]) < len(body):
                    seen += got.recv(65536)
                assert seen.endswith(b"\r\nConnection: close\r\n\r\n" + body), seen
                got.sendall(ANSWER)
                got.shutdown(socket.SHUT_WR)
                assert read_all(got) == b"", "bytes behind the request"
                got.close()
                assert read_all(s).endswith(b"ok")


def in_pieces(hutch):
    """A request and its answer pass byte by byte."""
    pod = Pod()
    text = head(f"POST /{ID}/x", "Content-Length: 4") + b"abcd"
    with router(hutch, [pod]) as (at, _), connect(at) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(text)):
            s.sendall(text[i:i + 1])
        got = pod.accept()
        seen = read_head(got)
        while not seen.endswith(b"abcd"):
            seen += got.recv(65536)
        for i in range(len(ANSWER)):
            got.sendall(ANSWER[i:i + 1])
        got.close()
        assert read_all(s) == ANSWER


def both_ways(hutch):
    """An answer begins before the request has ended, and is not waited for."""
    pod = Pod()
    with router(hutch, [pod]) as (at, _), connect(at) as s:
        s.sendall(head(f"POST /{ID}/x", "Content-Length: 2") + b"a")
        got = pod.accept()
        read_head(got)
        got.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfirst")
        assert read_head(s).endswith(b"first") or s.recv(5) == b"first"
        s.sendall(b"b")
        assert got.recv(2).endswith(b"b")
        got.sendall(b"second")
        got.close()
        assert read_all(s) == b"second"


def half_closed(hutch):
    """A client that half-closes half-closes the pod's connection, and still gets its answer."""
    pod = Pod()
    with router(hutch, [pod]) as (at, _), connect(at) as s:
        s.sendall(head(f"GET /{ID}/x"))
        got = pod.accept()
        read_head(got)
        s.shutdown(socket.SHUT_WR)
        assert got.recv(1) == b""
        got.sendall(ANSWER)
        got.close()
        assert read_all(s) == ANSWER


def gone_clients(hutch):
    """The pod's connection ends with that of a client that breaks off in the middle of its body."""
    pod = Pod()
    with router(hutch, [pod]) as (at, _):
        for reset in (False, True):
            s = connect(at)
            s.sendall(head(f"POST /{ID}/x", "Content-Length: 100") + b"part")
            got = pod.accept()
            read_head(got)
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
            with contextlib.suppress(ConnectionResetError):
                while got.recv(65536):
                    pass


def broken_pods(hutch):
    """A pod that breaks off: 502; and an answer that has begun is broken off, too."""
    pod = Pod()
    with router(hutch, [pod]) as (at, _):
        for line in (f"POST /{ID}/execute_action", f"GET /runtime/{ID}"):
            with connect(at) as s:
                s.sendall(head(line))
                got = pod.accept()
                read_head(got)
                got.close()
                answer = read_all(s)
                assert status(answer) == 502 and b"Pod hutch-0 has broken off" in answer, answer
        with connect(at) as s:
            s.sendall(head(f"GET /{ID}/x"))
            got = pod.accept()
            read_head(got)
            got.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf")
            assert read_head(s).endswith(b"half") or s.recv(4) == b"half"
            got.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            got.close()
            try:
                rest = s.recv(1)
            except ConnectionResetError:
                rest = None
            assert rest is None, rest


def odd_lists(hutch):
    """A pod whose answer is no list is missing in the whole list, which says so."""
    odd = [b"[1]", b"{\"runtimes\":[1]", b"{\"runtimes\":[1]}x", b"<html>", b""]
    pods = [Pod(), Pod()]
    with router(hutch, pods) as (at, _):
        for body in odd:
            with connect(at) as s:
                s.sendall(head("GET /list"))
                for pod, text in zip(pods, (body, b"{\"runtimes\":[{\"a\":1}]}")):
                    got = pod.accept()
                    read_head(got)
                    got.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
                    got.close()
                answer = read_all(s)
                assert answer.endswith(b"{\"runtimes\":[{\"a\":1}]}"), answer
                assert b"\r\nHutch-Missing: hutch-0\r\n" in answer, answer
        for text in (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[]", b"garbage", b""):
            with connect(at) as s:
                s.sendall(head("GET /list"))
                for pod in pods:
                    got = pod.accept()
                    read_head(got)
                    got.sendall(text)
                    got.close()
                assert status(read_all(s)) == 503


def reply(got, code, text=b""):
    got.sendall(b"HTTP/1.1 %d x\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (code, len(text)) + text)
    got.close()


def asked(pod, line, code, text=b""):
    """Takes a request of this pod, whose line begins so, and answers it."""
    got = pod.accept()
    seen = read_head(got)
    assert seen.startswith(line), (line, seen)
    reply(got, code, text)


def start_of(session):
    body = b'{"session_id": "%s"}' % session
    return head("POST /start", f"Content-Length: {len(body)}") + body


ROOM = b"hutch_sandboxes_alive 0\nhutch_sandboxes_max %d\n"


def placed(pods, session, rooms):
    """Lets a request for this session find that no pod has it; then each pod tells its room."""
    for pod in pods:
        asked(pod, b"GET /sessions/" + session, 404)
    for pod, room in zip(pods, rooms):
        asked(pod, b"GET /metrics ", 200, ROOM % room)


def turns(hutch):
    """Two requests that start one session take turns, in the order in which they came."""
    pods = [Pod(), Pod()]
    with router(hutch, pods) as (at, _), connect(at) as first, connect(at) as second, connect(at) as third:
        first.sendall(start_of(b"s"))
        placed(pods, b"%73", (2, 1))
        got = pods[0].accept()
        assert read_head(got).startswith(b"POST /start ")
        for s, session in ((second, b"s"), (third, b"\\u0073")):
            s.sendall(start_of(session))
            with connect(at) as probe:  # the router has read the request before by then
                probe.sendall(head("GET /health"))
                assert status(read_all(probe)) == 200
        assert pods[0].is_untouched() and pods[1].is_untouched()
        with connect(at) as other:  # a start of another session does not wait
            other.sendall(start_of(b"t"))
            for pod in pods:
                pod.listener.settimeout(patience.PATIENCE)
            placed(pods, b"%74", (0, 1))
            asked(pods[1], b"POST /start ", 200, b"{}")
            assert status(read_all(other)) == 200
        reply(got, 200, b"first")
        assert read_all(first).endswith(b"first")
        for s, word in ((second, b"second"), (third, b"third")):
            asked(pods[0], b"GET /sessions/%73", 200, b"{}")
            asked(pods[0], b"POST /start ", 409, word)
            assert read_all(s).endswith(word)
            with contextlib.closing(pods[1].accept()):  # it was asked, too, and not waited for
                pass


def turn_of_a_gone_client(hutch):
    """A client that breaks off gives its turn to the next one, and so does one that is refused.

    One that breaks off while it waits gets no turn.
    """
    pod = Pod()
    with router(hutch, [pod]) as (at, _), connect(at) as second, connect(at) as third:
        first = connect(at)
        first.sendall(start_of(b"s"))
        placed([pod], b"%73", (1,))
        with contextlib.closing(pod.accept()) as got:
            read_head(got)
            second.sendall(start_of(b"s"))
            with connect(at) as probe:
                probe.sendall(head("GET /health"))
                assert status(read_all(probe)) == 200
            with connect(at) as gone:
                gone.sendall(start_of(b"s"))
                gone.shutdown(socket.SHUT_WR)
                assert read_all(gone) == b""
            third.sendall(start_of(b"s"))
            first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            first.close()
            asked(pod, b"GET /sessions/%73", 404)
        asked(pod, b"GET /metrics ", 403)
        asked(pod, b"POST /start ", 403, b"wrong key")
        assert status(read_all(second)) == 403
        placed([pod], b"%73", (1,))
        asked(pod, b"POST /start ", 200, b"third")
        assert read_all(third).endswith(b"third")


def turn_that_does_not_come(hutch):
    """A client waits for its turn no longer than --wait says."""
    pod = Pod()
    with router(hutch, [pod], "--wait", "2s") as (at, _), connect(at) as first, connect(at) as second:
        first.sendall(start_of(b"s"))
        placed([pod], b"%73", (1,))
        with contextlib.closing(pod.accept()) as got:
            read_head(got)
            second.sendall(start_of(b"s"))
            answer = read_all(second)
            assert status(answer) == 503 and b"Another request starts this session still" in answer, answer
            got.sendall(ANSWER)
        assert read_all(first) == ANSWER
    assert pod.is_untouched()


def turn_without_a_question(hutch):
    """A client whose turn comes while too many questions are under way is refused once, for good."""
    pod = Pod()
    with router(hutch, [pod], "--metrics", "127.0.0.1:0") as (at, process), contextlib.ExitStack() as stack:
        inner = ("127.0.0.1", int(process.stdout.readline().rsplit(":", 1)[1]))
        first, second, third = (stack.enter_context(connect(at)) for _ in range(3))
        first.sendall(start_of(b"s"))
        placed([pod], b"%73", (1,))
        got = stack.enter_context(contextlib.closing(pod.accept()))
        read_head(got)
        for s in second, third:
            s.sendall(start_of(b"s"))
        for _ in range(64):
            s = stack.enter_context(connect(at))
            s.sendall(head("GET /list"))
            asking = stack.enter_context(contextlib.closing(pod.accept()))
            read_head(asking)
        reply(got, 200, b"first")
        assert read_all(first).endswith(b"first")
        for s in second, third:
            answer = read_all(s)
            assert status(answer) == 503 and b"too many questions" in answer, answer
        with connect(inner) as s:
            s.sendall(head("GET /metrics"))
            figures = read_all(s)
        assert b"\nhutch_route_refused_total 2\n" in figures, figures


def many(hutch):
    """As many connections as --connections says are taken, and further ones wait for their turn."""
    pod = Pod()
    with router(hutch, [pod], "--connections", "2") as (at, _):
        first, second, third = connect(at), connect(at), connect(at)
        first.sendall(head(f"GET /{ID}/x"))
        second.sendall(head(f"GET /{ID}/x"))
        taken = [pod.accept(), pod.accept()]
        third.sendall(head(f"GET /{ID}/x"))
        for got in taken:
            read_head(got)
        assert pod.is_untouched()
        pod.listener.settimeout(patience.PATIENCE)
        for got in taken:
            got.sendall(ANSWER)
            got.close()
        assert read_all(first) == ANSWER
        first.close()
        got = pod.accept()
        read_head(got)
        got.sendall(ANSWER)
        got.close()
        assert read_all(third) == ANSWER


def few_files(hutch):
    """A limit of open files that is too low for --connections is told; --quiet leaves that out."""
    low = ["prlimit", "--nofile=264:264", hutch, "route", "--pod=hutch-0=127.0.0.1:1", "--listen=127.0.0.1:0"]
    told = ("hutch: the router takes at most 100 connections at once, not 101: "
            "the limit of open files (ulimit -Hn) is 264\n")
    for options, text in (["101"], told), (["100"], ""), (["101", "--quiet"], ""):
        with subprocess.Popen([*low, "--connections", *options], text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, [])) as process:
            process.stdout.readline()  # it listens
            process.terminate()
            assert process.stderr.read() == text, options


def confined(hutch):
    """Both processes have a filter of system calls and no capability."""
    with router(hutch, [Pod()]) as (at, process):
        with connect(at) as s:  # an answer comes from a process that is confined
            s.sendall(head("GET /health"))
            assert status(read_all(s)) == 200
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as f:
            front = f.read().split()[0]
        for pid in front, process.pid:
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                fields = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
            assert fields["Seccomp"] == "2", (pid, fields["Seccomp"])
            assert fields["NoNewPrivs"] == "1"
            assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == 0


def by_name(hutch):
    """The connector looks a pod's name up, and connects to it."""
    pod = Pod()
    with router(hutch, [pod], "--pod", f"named=localhost:{pod.port}") as (at, _), connect(at) as s:
        s.sendall(head("GET /named-r0123456789abcdef/x"))
        got = pod.accept()
        read_head(got)
        got.sendall(ANSWER)
        got.close()
        assert read_all(s) == ANSWER


def main():
    globals()[sys.argv[1]](sys.argv[2])


main()
