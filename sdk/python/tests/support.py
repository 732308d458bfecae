"""The common part of the SDK's tests.  They run the hutch that HUTCH names, with
XDG_RUNTIME_DIR and HOME of their own (tests/run/sdk.bats), and use only the standard library."""
import asyncio
import contextlib
import dataclasses
import os
import socket
import sys
import threading
import unittest
from unittest import mock

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.."))
sys.path[:0] = [os.path.join(TOP, "sdk/python"), os.path.join(TOP, "tests")]
import hutch  # noqa: E402
from hutch import calls
from patience import PATIENCE, wait_until

HUTCH = os.environ.get("HUTCH") or os.path.join(TOP, "build/hutch")
os.environ["HUTCH"] = HUTCH


def run(coroutine):
    """asyncio.run() with a time-out."""
    async def bounded():
        return await asyncio.wait_for(coroutine, PATIENCE)
    return asyncio.run(bounded())


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


class Case(unittest.TestCase):
    """A test case that checks after each test that no descriptor, thread or sandbox is left."""

    def setUp(self):
        before = descriptors()
        self.addCleanup(lambda: self.assertEqual(descriptors(), before))
        self.addCleanup(self.see_no_thread)

    def see_no_thread(self):
        """Checks that no thread is left.  A thread of asyncio that waits for a child ends after
        the child."""
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(PATIENCE)
        self.assertEqual(threading.active_count(), 1)


def supervisor_of(box_info):
    """The supervisor's pid: the parent of pid 1 inside."""
    with open(f"/proc/{box_info.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("PPid:"))


def wait_for_all(box):
    """Waits until no process that was started in `box` runs any more."""
    for one in box.processes():
        if one.exit_code is None:
            box._ask(dataclasses.replace(calls.wait(one.process), patience=PATIENCE))


async def wait_for_all_async(box):
    for one in await box.processes():
        if one.exit_code is None:
            await box._ask(calls.wait(one.process))


def wait_until_led(box, thread):
    """Waits until `thread` leads (link.py), which means that it polls the socket of `box`."""
    wait_until(lambda: box._link._leader is not None and box._link._leader.thread == thread)


@contextlib.contextmanager
def played(play, link="hutch.link"):
    """Lets play(SOCKET), in a thread of its own, be the peer of a connection that is made
    meanwhile."""
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
           "supervisor_of", "wait_for_all", "wait_for_all_async", "wait_until", "wait_until_led"]
