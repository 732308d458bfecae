#!/usr/bin/env python3
"""listen.py -- listens for the file viewer (viewer.py), which begins with the first request.

Each sandbox with a browser has this process, and few browsers show a file.  So it imports next to
nothing: http.server takes six times the processor time and twice the memory of Python itself.

Python 3.9 and its standard library are enough.
"""
import os
import select
import sys

# The module below `socket`, which makes enumerations of all constants first.
import _socket

URL_FILE = "/tmp/oh-server-url"
WAITING_MAX = 16


def write_url(url):
    """Writes the address whole or not at all, and through no link that lies there."""
    path = f"{os.path.dirname(URL_FILE)}/.oh-server-url-{os.urandom(8).hex()}"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, url.encode())
        os.fchmod(file, 0o644)
        os.rename(path, URL_FILE)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(file)


def listen():
    """Returns the listening socket, whose address the file has."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    listener.bind(("127.0.0.1", 0))
    listener.listen(WAITING_MAX)
    write_url(f"http://localhost:{listener.getsockname()[1]}")
    return listener


def await_request(listener):
    """Returns False at the end of the standard input.  The executor sends lines about the
    environment there, and closes the descriptor at the end."""
    while True:
        ready, _, _ = select.select([0, listener.fileno()], [], [])
        if 0 in ready and not os.read(0, 1 << 16):
            return False
        if listener.fileno() in ready:
            return True


def main():
    try:
        listener = listen()
    except OSError as e:
        import json
        print(json.dumps({"failed": f"the server cannot begin: {e}"}), flush=True)
        return
    print('{"ready": true}', flush=True)
    if await_request(listener):
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # -I leaves it out
        import viewer
        viewer.serve(listener.detach())


if __name__ == "__main__":
    main()
