#!/usr/bin/env -S python3 -SE
"""landlock_root.py CASE: attempts from inside, for landlock_root.bats."""
import ctypes
import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import termios

# landlock(7): the numbers are the same on all architectures.
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF = 444, 446


def above():
    """Tries each way to change files above the folder that descriptor 9 refers to."""
    up = "/proc/self/fd/9/../"
    tries = {
        "write": lambda: os.open(up + "secret", os.O_WRONLY),
        "truncate": lambda: os.open(up + "secret", os.O_WRONLY | os.O_TRUNC),
        "execute": lambda: os.execv(up + "program", ["program"]),
        "make": lambda: os.open(up + "new", os.O_WRONLY | os.O_CREAT),
        "folder": lambda: os.mkdir(up + "folder"),
        "symlink": lambda: os.symlink("x", up + "symlink"),
        "fifo": lambda: os.mkfifo(up + "fifo"),
        "remove": lambda: os.unlink(up + "secret"),
        "rmdir": lambda: os.rmdir(up + "other"),
        "tmpfile": lambda: os.open(up, os.O_TMPFILE | os.O_RDWR),
        "rename": lambda: os.rename(up + "secret", up + "renamed"),
        "link": lambda: os.link(up + "secret", up + "linked"),
        "out": lambda: os.rename("/proc/self/fd/9/under", up + "under"),
        "in": lambda: os.rename(up + "secret", "/proc/self/fd/9/secret"),
    }
    for name, attempt in tries.items():
        try:
            attempt()
            print(name, "done")
        except OSError as e:
            print(name, errno.errorcode[e.errno])


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def files_below(top):
    os.makedirs(top + "/a/deep", exist_ok=True)
    os.makedirs(top + "/b", exist_ok=True)
    put(top + "/a/deep/f", "text")
    os.rename(top + "/a/deep/f", top + "/b/f")
    os.rename(top + "/a/deep", top + "/b/deep")
    os.link(top + "/b/f", top + "/a/linked")
    os.truncate(top + "/b/f", 2)
    fd = os.open(top + "/a", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(fd, b"unnamed")
    os.link(f"/proc/self/fd/{fd}", top + "/b/named", src_dir_fd=fd, follow_symlinks=True)
    for path in (top + "/b/named", f"/proc/self/fd/{fd}"):
        with open(path) as file:
            assert file.read() == "unnamed"
    os.mkfifo(top + "/fifo")
    socket.socket(socket.AF_UNIX).bind(top + "/socket")
    shutil.copy("/usr/bin/true", top + "/true")
    if top != "/more" and not os.statvfs(top).f_flag & os.ST_NOEXEC:
        subprocess.run([top + "/true"], check=True)
    held = os.open(top + "/b", os.O_RDONLY)
    gone = os.open(top + "/b/f", os.O_RDWR)
    os.unlink(top + "/b/f")
    put(f"/proc/self/fd/{gone}", "still")
    assert os.listdir(f"/proc/self/fd/{held}")


def files():
    for top in ("/shown", "/more", "/tmp", "/workspace", "/dev/shm"):
        files_below(top)
    _, slave = os.openpty()
    name = os.ttyname(slave)
    put(name, "x")
    fcntl.ioctl(os.open(name, os.O_RDWR | os.O_NOCTTY), termios.TIOCGWINSZ, b"8" * 8)
    put(f"/proc/self/fd/{os.memfd_create('m')}", "memory")
    put("/proc/self/comm", "named")
    for path in ("/proc/self/ns/mnt", "/proc/self/exe"):
        os.close(os.open(path, os.O_RDONLY))
    assert os.listdir("/proc/self/root/")
    child = subprocess.Popen(["sleep", "1000"])
    assert "usr" in os.listdir(f"/proc/{child.pid}/root/")
    assert "0" in os.listdir(f"/proc/{child.pid}/fd/")
    child.kill()
    print("all")


def ipc():
    from multiprocessing import Lock, shared_memory
    c = ctypes.CDLL(None, use_errno=True)
    made = c.mq_open(b"/queue", os.O_RDWR | os.O_CREAT, 0o600, None)
    again = c.mq_open(b"/queue", os.O_RDWR)
    sent = c.mq_send(made, b"said", 4, 1)
    text = ctypes.create_string_buffer(8192)
    print(made >= 0, again >= 0, sent, c.mq_receive(again, text, 8192, None), text.value)
    print(c.mq_unlink(b"/queue"), os.strerror(ctypes.get_errno()))
    with Lock():
        memory = shared_memory.SharedMemory(create=True, size=10)
        shared_memory.SharedMemory(memory.name).close()
        memory.unlink()


def confine():
    """Counts how often a domain can be made within the last one."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    attr = struct.pack("Q", 1 << 12)
    count = 0
    while True:
        ruleset = call(LANDLOCK_CREATE_RULESET, attr, len(attr), 0)
        assert ruleset >= 0
        if call(LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0:
            break
        count += 1
    print(count)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
