"""What the SDK's tests share.  They run against the hutch that HUTCH names, with XDG_RUNTIME_DIR
and HOME of their own (tests/run/sdk.bats), and are of the standard library alone."""
import asyncio
import contextlib
import os
import socket
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import hutch  # noqa: E402

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
HUTCH = os.environ.get("HUTCH") or os.path.join(TOP, "build/hutch")
os.environ["HUTCH"] = HUTCH
PATIENCE = 30


def run(coroutine):
    """asyncio.run(), with a bound."""
    async def bounded():
        return await asyncio.wait_for(coroutine, PATIENCE)
    return asyncio.run(bounded())


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


class Case(unittest.TestCase):
    """After each test there is no descriptor, thread or sandbox more than before."""

    def setUp(self):
        before = descriptors()
        self.addCleanup(lambda: self.assertEqual(descriptors(), before))
        self.addCleanup(self.see_no_thread)

    def see_no_thread(self):
        """One that waits for a child, as asyncio's do, ends by itself when that has ended."""
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(PATIENCE)
        self.assertEqual(threading.active_count(), 1)


def supervisor_of(box_info):
    """The parent of pid 1 inside."""
    with open(f"/proc/{box_info.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("PPid:"))


@contextlib.contextmanager
def played(play, link="hutch.link"):
    """Whoever connects meanwhile talks to play(SOCKET), in a thread of its own."""
    threads = []

    def connect(name, program):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)

        def run_it():
            with theirs, contextlib.suppress(OSError):
                play(theirs)
        threads.append(threading.Thread(target=run_it))
        threads[-1].start()
        return ours, None

    with mock.patch(link + ".connect", connect):
        yield
    for thread in threads:
        thread.join(PATIENCE)


__all__ = ["Case", "HUTCH", "PATIENCE", "TOP", "descriptors", "hutch", "played", "run",
           "supervisor_of"]
