#!/usr/bin/env -S python3 -SE
"""killed_amid.py [--child] FOLDER CHANGES COMMAND...: runs the command and kills it once that
many changes were seen in the folder and below; with 0 changes never.  With --child, kills
instead the child that the command has started last, and waits for the command.

Prints how many changes it has seen.  The exit code is the command's, or 137.
In this way a test kills at a random step of the work.  A random time could be
over, on a busy machine, before any work has begun.
"""
import ctypes
import os
import select
import signal
import struct
import subprocess
import sys

ACCESSED_NOT, ISDIR = 0x3CE, 0x40000000  # inotify(7): all changes, but no opening and reading
CREATED = 0x100 | 0x80


class Watch:
    def __init__(self, folder):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        assert self.fd >= 0, os.strerror(ctypes.get_errno())
        self.paths = {}
        self.add(folder)

    def add(self, folder):
        number = self.libc.inotify_add_watch(self.fd, os.fsencode(folder), ACCESSED_NOT)
        if number < 0:
            return  # it has gone again, or is closed to us
        self.paths[number] = folder
        try:
            names = os.listdir(folder)
        except OSError:
            return  # the same, or it is closed to us
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                self.add(path)

    def changes(self):
        """Reads all pending events; returns their number."""
        data, at, count = os.read(self.fd, 1 << 16), 0, 0
        while at < len(data):
            number, mask, _, length = struct.unpack_from("iIII", data, at)
            name = os.fsdecode(data[at + 16:at + 16 + length].rstrip(b"\0"))
            if mask & CREATED and mask & ISDIR and number in self.paths:
                self.add(os.path.join(self.paths[number], name))
            at += 16 + length
            count += 1
        return count


def kill_last_child(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            pids = children.read().split()
        if pids:
            os.kill(int(pids[-1]), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass  # the command, or the child, has ended meanwhile


def main():
    is_child = sys.argv[1] == "--child"
    folder, limit, *command = sys.argv[1 + is_child:]
    limit, seen = int(limit), 0
    watch = Watch(folder)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    ended = os.pidfd_open(process.pid)
    while ended not in (ready := select.select([watch.fd, ended], [], [])[0]):
        seen += watch.changes()
        if 0 < limit <= seen:
            if not is_child:
                process.kill()
                break
            kill_last_child(process.pid)
            limit = 0
    if watch.fd in ready and ended in ready:
        seen += watch.changes()
    code = process.wait()
    print(seen)
    sys.exit(code if code >= 0 else 128 - code)


main()
