#!/usr/bin/env -S python3 -SE
"""broker.py CASE: requests to a broker from inside, for broker.bats."""
import ctypes
import os
import signal
import socket
import sys
import threading

SHARED = 0o1600  # IPC_CREAT, and for the user alone


def read(path, flags):
    """Returns the content of a file, or the number of the error."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    except OSError as e:
        return e.errno
    try:
        return os.read(fd, 1 << 16)
    except OSError as e:
        return e.errno
    finally:
        os.close(fd)


def files_of_proc():
    for folder, folders, files in os.walk("/proc"):
        if folder == "/proc":
            folders[:] = [one for one in folders if not one.isdigit()]
        yield from (f"{folder}/{file}" for file in files)
    yield from (f"/proc/self/{file}" for file in ("status", "stat", "comm", "cgroup", "mountinfo"))
    yield from (f"/proc/self/ns/{name}" for name in os.listdir("/proc/self/ns"))
    yield from ("/dev/null", "/proc/self/fd/8", "/proc/self/fd/9")


# The kernel's counts of open files in these files also change when the broker opens a file, so
# their text may differ.
COUNTS = {f"/proc/sys/fs/{name}" for name in ("file-nr", "inode-nr", "inode-state", "dentry-state")}
# How often a comparison is repeated, since other programs change the kernel's counts, even during
# one read.
TRIES = 20


def is_the_same(path):
    """Returns whether a file that does not change meanwhile reads the same with
    O_CREAT and without."""
    for _ in range(TRIES):
        plain, guarded = read(path, 0), read(path, os.O_CREAT)
        if plain == guarded:
            return True
        if plain != read(path, 0):
            return False
    print(path, guarded, plain)
    return False


def proc():
    libc = ctypes.CDLL(None)
    libc.shmat(libc.shmget(0, 4096, SHARED), None, 0)
    libc.msgsnd(libc.msgget(0, SHARED), (ctypes.c_long * 2)(1, 0), 8, 0)
    os.dup2(os.pipe()[0], 8)
    os.dup2(socket.socket(socket.AF_UNIX).detach(), 9)
    count = sum(is_the_same(path) for path in files_of_proc() if path not in COUNTS)
    own = read("/proc/sysvipc/shm", os.O_CREAT).split(b"\n")[1].split()
    print(int(own[4]) == os.getpid(), count > 100)


def netlink():
    bound = [socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) for _ in range(3)]
    for one in bound:
        one.bind((0, 0))
    ports = [one.getsockname()[0] for one in bound]
    assert ports[0] == os.getpid(), (ports, os.getpid())
    assert len(set(ports)) == 3 and all(port > 1 << 31 for port in ports[1:]), ports
    print("ok")


def stopped():
    """A thread stops the process that opens files for this one, as often as
    possible."""
    libc, is_over = ctypes.CDLL(None), threading.Event()

    def stop():
        while not is_over.is_set():
            libc.kill(-1, signal.SIGSTOP)
    stopper = threading.Thread(target=stop)
    stopper.start()
    for _ in range(int(os.environ.get("TRIES", "200"))):
        fd = libc.open(b"/proc/self/oom_score_adj", os.O_RDWR | os.O_CREAT, 0o600)
        if fd >= 0:
            os.close(fd)
    is_over.set()
    stopper.join()
    print("answered")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
