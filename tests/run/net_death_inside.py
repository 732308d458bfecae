"""net_death_inside.py: makes connections in a sandbox whose rules allow example.org, until a line
on stdin says that its network is dead; from then on none may be made.

Prints "made" or "refused", which the first connection was.  Exits with 1, and a
line that says why, if a connection was made that should not be, or ended
otherwise than by being refused or reset.
"""
import os
import socket
import sys
import threading

ALLOWED = ("example.org", 80)
OTHERS = [("other.org", 80), ("93.184.216.34", 80), ("example.org", 7000), ("93.184.216.34", 7000)]
# A name that no resolver answers any more is a connection that was refused.
REFUSED = (ConnectionRefusedError, ConnectionResetError, BrokenPipeError, PermissionError, socket.gaierror)

dead, wrong = threading.Event(), []


def speak(sock, host):
    """Sends a request, and returns whether the server answered it."""
    data = b""
    try:
        sock.sendall(f"GET /x HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        data = sock.recv(65536)
    except REFUSED:
        pass
    # hutch-gate answers HTTP that it refuses.
    return bool(data) and not data.startswith((b"HTTP/1.1 403", b"HTTP/1.1 502"))


def connect(target):
    try:
        return socket.create_connection(target)
    except REFUSED:
        return None


def is_made(target):
    sock = connect(target)
    if not sock:
        return False
    with sock:
        return speak(sock, target[0])


def insist_on_none(targets):
    for target in targets:
        if is_made(target):
            wrong.append(f"a connection to {target} was made")


def work(target):
    try:
        while not dead.is_set():
            if is_made(target) and target != ALLOWED:
                wrong.append(f"a connection to {target} was made")
                return
    except OSError as error:
        wrong.append(f"{target}: {error!r}")


def end_of_kept(kept):
    """A connection from before ends, too, whatever was still under way on it."""
    try:
        while kept.recv(65536):
            pass
    except REFUSED:
        pass


kept = connect(ALLOWED)
address = (kept.getpeername()[0], 80) if kept else ALLOWED
print("made" if kept and speak(kept, ALLOWED[0]) else "refused", flush=True)
# A resolver that died amid a question should not be asked again for long.  Each thread reads the
# variable with its first question; the one above may wait until a busy machine answers.
os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"
workers = [threading.Thread(target=work, args=(target,)) for target in [ALLOWED] * 3 + OTHERS]
for worker in workers:
    worker.start()
sys.stdin.readline()
dead.set()
for worker in workers:
    worker.join()
last = threading.Thread(target=insist_on_none, args=([address, ALLOWED, *OTHERS],))
last.start()
last.join()
if kept:
    end_of_kept(kept)
if wrong:
    print(*wrong, sep="\n")
    sys.exit(1)
