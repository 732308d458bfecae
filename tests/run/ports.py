#!/usr/bin/env python3
"""ports.py ROLE: both ends of connections through published ports (ports.bats).

serve PORT [FAMILY]	inside: does what each connection's first byte asks for
echo|up|down|both|half|reset|reset_me|refused|slow|crowd|killed|goodbyes|unread WHERE ...
			outside: WHERE is a port of 127.0.0.1, IP:PORT, or a path; each fails
			with the error
"""
import hashlib
import pathlib
import signal
import socket
import struct
import sys
import threading

PIECE = 1 << 16
if sys.argv[1] != "serve":  # inside there is no other file of the tests
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
    from patience import PATIENCE


def pieces(total, seed=b"hutch"):
    """The same bytes on both sides; no two pieces are alike."""
    block = hashlib.sha256(seed).digest() * (PIECE // 32)
    for n in range(0, total, PIECE):
        yield struct.pack("!Q", n) + block[8:min(PIECE, total - n)]


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def digest_of(connection):
    """Reads to the end; returns the hash of the bytes and their number."""
    digest, size = hashlib.sha256(), 0
    while True:
        data = connection.recv(PIECE)
        if not data:
            return digest.hexdigest(), size
        digest.update(data)
        size += len(data)


def expected(total):
    digest = hashlib.sha256()
    for piece in pieces(total):
        digest.update(piece)
    return digest.hexdigest(), total


# --- inside ---------------------------------------------------------------------

def send_all(connection, total):
    for piece in pieces(total):
        connection.sendall(piece)


def answer(connection):
    """Reads one letter, and for some a number of bytes and a newline."""
    verb = connection.recv(1)
    if verb == b"e":  # echo until the client has finished
        while data := connection.recv(PIECE):
            connection.sendall(data)
    elif verb == b"u":  # upload: what came
        digest, size = digest_of(connection)
        connection.sendall(f"{digest} {size}".encode())
    elif verb == b"d":  # download, the size behind it
        size = b""
        while not size.endswith(b"\n"):
            size += connection.recv(1)
        send_all(connection, int(size))
    elif verb == b"h":  # half: says its part, finishes, and hears the rest
        connection.sendall(b"mine")
        connection.shutdown(socket.SHUT_WR)
        digest, size = digest_of(connection)
        print("heard", size, flush=True)
    elif verb == b"r":  # an answer, and a reset behind it
        connection.sendall(b"no")
        reset(connection)
        return
    elif verb == b"w":  # takes 1000 bytes, says so, and waits to be reset
        size = 0
        while size < 1000:
            size += len(connection.recv(PIECE))
        connection.sendall(b"k")
        try:
            while connection.recv(PIECE):
                pass
            print("ended", flush=True)
        except ConnectionResetError:
            print("reset", flush=True)
    elif verb == b"n":  # never reads
        while True:
            signal.pause()
    connection.close()


def serve(port, family="4"):
    six = family == "6"
    server = socket.socket(socket.AF_INET6 if six else socket.AF_INET)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("::1" if six else "127.0.0.1", int(port)))
    server.listen(1024)
    print("ready", flush=True)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


# --- outside ----------------------------------------------------------------------

def connect(where):
    if where.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(where)
        return connection
    host, _, port = where.rpartition(":")
    connection = socket.create_connection((host.strip("[]") or "127.0.0.1", int(port)), PATIENCE)
    connection.settimeout(PATIENCE)
    return connection


def ask(where, verb):
    connection = connect(where)
    connection.sendall(verb)
    return connection


def echo(where, text="hello"):
    connection = ask(where, b"e")
    for _ in range(3):
        connection.sendall(text.encode())
        got = b""
        while len(got) < len(text):
            data = connection.recv(PIECE)
            assert data, "it ended"
            got += data
        assert got == text.encode(), got
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b"", "there is more"
    connection.close()


def up(where, size):
    connection = ask(where, b"u")
    send_all(connection, int(size))
    connection.shutdown(socket.SHUT_WR)
    got = connection.recv(1000).decode().split()
    assert (got[0], int(got[1])) == expected(int(size)), got


def down(where, size):
    connection = ask(where, b"d%d\n" % int(size))
    got = digest_of(connection)
    assert got == expected(int(size)), got


def both(where, size):
    """Sends in both directions at once through one connection."""
    connection = ask(where, b"e")
    sender = threading.Thread(target=lambda: (send_all(connection, int(size)),
                                              connection.shutdown(socket.SHUT_WR)))
    sender.start()
    got = digest_of(connection)
    sender.join()
    assert got == expected(int(size)), got


def half(where):
    connection = ask(where, b"h")
    assert connection.recv(4) == b"mine"
    assert connection.recv(1) == b"", "its half has not ended"
    connection.sendall(b"x" * 100000)
    connection.close()


def reset_inside(where):
    connection = ask(where, b"r")
    got = b""
    try:
        while data := connection.recv(100):
            got += data
    except ConnectionResetError:
        assert got == b"no", got
        return
    assert where.startswith("/"), "an end in order"  # a unix socket knows no other


def reset_me(where):
    connection = ask(where, b"w")
    connection.sendall(b"x" * 1000)
    assert connection.recv(1) == b"k"  # a reset overtakes what nobody has taken yet
    reset(connection)


def refused(where):
    try:  # it may be reset before it is told that it is there
        connection = connect(where)
        got = connection.recv(1)
    except ConnectionResetError:
        return
    assert got == b"" and where.startswith("/"), got


def full(where, verb=b"n"):
    """Sends until no byte is accepted any more, in three tries.  Between the
    tries other connections are answered, so every process that carries the
    bytes has had its turn."""
    connection = ask(where, verb)
    connection.setblocking(False)
    sent = tries = 0
    while tries < 3:
        try:
            while True:
                sent += connection.send(b"x" * PIECE)
                assert sent < 256 << 20, "nothing bounds it"
                tries = 0
        except BlockingIOError:
            tries += 1
        echo(where)
    return connection


def slow(where):
    """One server does not read, inside; one client does not, outside; other
    connections do not suffer."""
    inside = full(where)
    outside = ask(where, b"d%d\n" % (1 << 30))
    for _ in range(20):
        echo(where)
    down(where, 20 << 20)
    inside.close()
    outside.close()


def crowd(where, count, size):
    """Many at once, each with different bytes."""
    wrong = []

    def one(n):
        try:
            connection = ask(where, b"e")
            barrier.wait()
            sender = threading.Thread(target=lambda: (
                [connection.sendall(p) for p in pieces(int(size), b"%d" % n)],
                connection.shutdown(socket.SHUT_WR)))
            sender.start()
            digest = hashlib.sha256()
            for piece in pieces(int(size), b"%d" % n):
                digest.update(piece)
            got = digest_of(connection)
            sender.join()
            assert got == (digest.hexdigest(), int(size)), got
        except Exception as error:
            wrong.append(f"{n}: {error!r}")

    count = int(count)
    barrier = threading.Barrier(count, timeout=PATIENCE)
    threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:5]


def killed(where):
    """The sandbox is ended meanwhile: a partial answer must not look complete."""
    connection = ask(where, b"d%d\n" % (1 << 40))
    connection.recv(PIECE)
    print("begun", flush=True)
    try:
        while connection.recv(PIECE):
            pass
    except ConnectionResetError:
        return
    raise AssertionError("a part passes for the whole")


def goodbyes(where, count, length):
    """Every client receives the server's last bytes."""
    for n, connection in enumerate([connect(where) for _ in range(int(count))]):
        _, size = digest_of(connection)
        assert size == int(length), (n, size)


def unread(where, others, length):
    """One client reads nothing until the sandbox has ended; a partial answer
    must not look complete."""
    silent = connect(where)
    goodbyes(where, others, length)
    sys.stdin.read()
    try:
        _, size = digest_of(silent)
    except ConnectionResetError:
        return
    assert size == int(length), size


def many(where, count):
    """Connections one after the other, each for one question."""
    for _ in range(int(count)):
        echo(where, "x")


def hold(where, count):
    """Holds that many silent connections, until the supervisor has ended."""
    held = [connect(where) for _ in range(int(count))]
    sys.stdin.read()
    for connection in held:
        connection.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
