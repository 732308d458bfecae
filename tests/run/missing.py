"""Makes names inside, by each call that can, and prints the results.

    missing.py NAME...

Prints a line for each call and name, "CALL NAME ERRNO", with "done" for
success; removes the files that it made.
"""
import ctypes
import errno
import os
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
AT = {"x86_64": {"openat2": 437, "renameat2": 316, "mknodat": 259, "linkat": 265},
      "aarch64": {"openat2": 437, "renameat2": 276, "mknodat": 33,
                  "linkat": 37}}[os.uname().machine]
HERE = -100


def call(name, *args):
    if libc.syscall(AT[name], *args) < 0:
        raise OSError(ctypes.get_errno(), name)


def descriptor():
    return os.open(".", os.O_RDONLY)


def below(name):
    """Returns the folder as a descriptor, and the name in it."""
    folder, _, last = name.rpartition("/")
    return os.open(folder or ".", os.O_RDONLY), last


def by_tmpfile(name):
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=descriptor(), follow_symlinks=True)


def by_dangling(name):
    os.symlink(name, "dangling")
    os.close(os.open("dangling", os.O_CREAT | os.O_WRONLY))


def by_descriptor(name):
    fd, last = below(name)
    os.close(os.open(last, os.O_CREAT | os.O_WRONLY, dir_fd=fd))


def by_root(name):
    os.close(os.open("/proc/self/root" + os.path.abspath(name), os.O_CREAT | os.O_WRONLY))


def by_thread(name):
    os.close(os.open("/proc/thread-self/cwd/" + name, os.O_CREAT | os.O_WRONLY))


def exchanged(name):
    os.symlink("nowhere", "other")
    call("renameat2", HERE, b"other", HERE, name.encode(), 2)


def bound(name):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(name)
        one.listen()
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(name)


CALLS = {
    "open": lambda n: os.close(os.open(n, os.O_CREAT | os.O_WRONLY)),
    "open_new": lambda n: os.close(os.open(n, os.O_CREAT | os.O_EXCL | os.O_RDWR)),
    "open_absolute": lambda n: os.close(os.open(os.path.abspath(n), os.O_CREAT)),
    "open_at": by_descriptor,
    "open_dangling": by_dangling,
    "open_root": by_root,
    "open_thread": by_thread,
    "mknod": lambda n: os.mknod(n, 0o100644),
    "mkfifo": os.mkfifo,
    "symlink": lambda n: os.symlink("file", n),
    "link": lambda n: os.link("file", n),
    "link_at": lambda n: call("linkat", HERE, b"file", HERE, n.encode(), 0),
    "link_tmpfile": by_tmpfile,
    "rename": lambda n: os.rename("spare", n),
    "rename_folder": lambda n: os.rename("tree", n),
    "rename_quietly": lambda n: call("renameat2", HERE, b"spare", HERE, n.encode(), 1),
    "exchange": exchanged,
    "mkdir": os.mkdir,
    "bind": bound,
}


def scene():
    for name, make in {"file": None, "spare": None}.items():
        if not os.path.exists(name):
            open(name, "w").close()
    if not os.path.isdir("tree"):
        os.makedirs("tree/hooks")


def tidy(name):
    for one in (name, "dangling", "other"):
        if os.path.isdir(one) and not os.path.islink(one):
            os.rename(one,
                      "tree") if one == name and os.path.isdir(one + "/hooks") else os.rmdir(one)
        elif os.path.lexists(one):
            os.unlink(one)


for name in sys.argv[1:]:
    for what, make in CALLS.items():
        scene()
        try:
            make(name)
            came = "done"
        except OSError as e:
            came = errno.errorcode[e.errno]
        print(what, name, came)
        tidy(name)
