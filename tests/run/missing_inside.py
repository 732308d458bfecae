"""missing_inside.py CASE [ARG...]: the operations of missing.bats inside, where
this file comes on stdin or by -v."""
import ctypes
import errno
import os
import signal
import socket
import sys
import threading


def open_in_all_ways():
    for flags in os.O_EXCL, os.O_NOFOLLOW, os.O_PATH, os.O_TRUNC, os.O_APPEND:
        for name in ("a", "f", "d", "none", "d/", "f/", "a/x", ".", "..", "/", "", "d/.", "dang/x",
                     "n" * 300, "z" * 5000):
            try:
                fd = os.open(name, os.O_CREAT | flags | os.O_WRONLY)
                print(name[:9], os.get_inheritable(fd))
            except OSError as e:
                print(flags, name[:9], e.errno)


def bound(family, address):
    with socket.socket(family) as one:
        try:
            one.bind(address)
        except OSError as e:
            return errno.errorcode[e.errno]
        name = one.getsockname()
    return name if family == socket.AF_UNIX else name[1] > 0


def bind():
    os.umask(0o077)
    for address in ("", "\0abstract", "sub/s", "sub/s", "sub", "/tmp/s", "none/s", "x" * 107,
                    "sub/.."):
        print(bound(socket.AF_UNIX, address))
    print(oct(os.stat("sub/s").st_mode), bound(socket.AF_INET, ("127.0.0.1", 0)),
          bound(socket.AF_INET6, ("::1", 0)), bound(socket.AF_INET, ("192.0.2.1", 0)),
          bound(socket.AF_INET, ("127.0.0.1", 80)))


def threads():
    def work(k):
        for i in range(100):
            os.close(os.open(f"sub/{k}.{i}", os.O_CREAT | os.O_EXCL))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(len(os.listdir("sub")))


def signals(count):
    """At most one signal for each call, at any point of it: with more, a slow
    machine would restart the call for ever."""
    hits = []
    signal.signal(signal.SIGALRM, lambda *_: hits.append(1))
    signal.siginterrupt(signal.SIGALRM, False)
    for i in range(int(count)):
        signal.setitimer(signal.ITIMER_REAL, 0.00005 * 2 ** (i % 8))
        os.mkdir(f"sub/{i}")
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(os.listdir("sub")), len(hits) > 0)


def make_by_descriptor():
    """Makes names below the folder that is descriptor 3."""
    for make in os.mkdir, os.mkfifo:
        try:
            make("x", dir_fd=3)
        except OSError as e:
            print(errno.errorcode[e.errno])


def give_up_capabilities():
    os.mkdir("sub/closed", 0o555)
    os.mkdir("sub/closed/by_right")
    header, none = (ctypes.c_uint * 2)(0x20080522, 0), (ctypes.c_uint * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0
    try:
        os.mkdir("sub/closed/by_nobody")
    except PermissionError:
        print("refused")


def calls_that_go_around():
    libc = ctypes.CDLL(None, use_errno=True)
    chroot = {"x86_64": 161, "aarch64": 51}
    ioctl = {"x86_64": 16, "aarch64": 29}
    machine = os.uname().machine
    btrfs = 0x5000940e
    for name, number, args in (
            ("openat2", 437, (-100, b"sub", b"\0" * 24, 24)),
            ("io_uring_setup", 425, (1, b"\0" * 120)),
            ("chroot", chroot[machine], (b"/",)),
            ("landlock_create_ruleset", 444, (0, 0, 1)),
            ("btrfs", ioctl[machine], (os.open(".", 0), btrfs, b"\0" * 4096))):
        libc.syscall(number, *args)
        print(name, errno.errorcode[ctypes.get_errno()])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
