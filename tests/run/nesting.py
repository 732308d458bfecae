"""Cases of nesting.bats that run inside a sandbox."""
import ctypes
import os
import signal
import sys

NEWUSER = 0x10000000
KINDS = {"user": 0, "mount": 0x00020000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000,
         "pid": 0x20000000, "net": 0x40000000}


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


def bounded(kind):
    """Prints the error that ends the making of user namespaces, each with one of that kind, and how
    many there are then.  The kernel frees them some time after their processes have ended, so the
    next kind takes another sandbox."""
    children = []
    while len(children) < 200 and not (children and children[-1][1]):
        children.append(in_a_child(NEWUSER | KINDS[kind]))
    print(os.strerror(children[-1][1]), len(children) - 1)
    for pid, _ in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


globals()[sys.argv[1]](*sys.argv[2:])
