"""named.py CASE ARG...: checks of named.bats in Python."""
import json
import socket
import subprocess
import sys


def value(text, path):
    """Prints a value of the JSON, by a path in Python syntax."""
    print(json.dumps(eval("x" + path, {"x": json.loads(text)})))


def handed(hutch, name):
    """Prints the output of `connect --descriptor`, and uses the descriptor."""
    ours, theirs = socket.socketpair()
    code = subprocess.run([hutch, "connect", "-d", name], stdin=subprocess.DEVNULL, stdout=theirs,
                          stderr=subprocess.DEVNULL, check=False).returncode
    line, fds, _, _ = socket.recv_fds(ours, 4096, 2)
    print(code, (json.loads(line)["error"] or {}).get("kind"), len(fds))
    for fd in fds:
        box = socket.socket(fileno=fd)
        box.sendall(b'{"jsonrpc":"2.0","id":2,"method":"info","params":{}}\n')
        print(json.loads(box.makefile().readline())["result"]["name"])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
