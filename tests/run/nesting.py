"""Cases of nesting.bats that run inside a sandbox."""
import ctypes
import os
import signal
import sys

NEWNET, NEWUSER = 0x40000000, 0x10000000


def in_a_child(flags):
    """Makes namespaces in a child that stays in them; returns its pid and the errno, 0: none."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        libc = ctypes.CDLL(None, use_errno=True)
        os.write(theirs, str(ctypes.get_errno() if libc.unshare(flags) else 0).encode())
        signal.pause()
    os.close(theirs)
    with open(ours) as answer:
        return pid, int(os.read(answer.fileno(), 8))


def bounded():
    """Prints, for two kinds, the error that ends the making of namespaces, and their number."""
    for flags in NEWUSER, NEWUSER | NEWNET:
        children = []
        while len(children) < 200 and not (children and children[-1][1]):
            children.append(in_a_child(flags))
        print(os.strerror(children[-1][1]), len(children) - 1)
        for pid, _ in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


globals()[sys.argv[1]]()
