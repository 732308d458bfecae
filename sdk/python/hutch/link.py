"""A Channel over a socket, for threads.

There is no thread of ours.  Of those that wait for something, one leads: it polls the
socket, and whatever comes it puts where it belongs; the others sleep until it is theirs.
Who has what it waited for leaves, and hands the lead to one that still waits.  So a
single thread reads its answer itself, and pays for no change of threads.

`_lock` guards all that is here, and nobody blocks while holding it: the socket is
non-blocking, and polled without the lock.  What cannot be sent at once is sent by whoever
leads, who may have to be woken for it: with four MiB of answers unread a supervisor
reads no more, so that somebody has to read while others send.
"""
from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from typing import Any, Callable, List, Optional, Sequence, Tuple, TypeVar, Union

from . import calls
from .calls import Call
from .errors import DisconnectedError, HutchError, ProtocolError
from .outgoing import Outgoing
from .program import Program, connect, reap
from .protocol import Channel, Rest, Running, Waiter, again

T = TypeVar("T")
Awaited = Union[Waiter, Running, Rest]

log = logging.getLogger("hutch")
READ_AT_ONCE = 1 << 18


class Link:
    """One connection.  Any number of threads may use it at once."""

    def __init__(self, name: str, program: Program,
                 opened: Optional[socket.socket] = None) -> None:
        self._socket, self._helper = (opened, None) if opened else connect(name, program)
        self._program, self._said = program, (0, b"")
        self.passes_descriptors = self._helper is None
        self._lock = threading.Lock()
        self._channel = Channel(name)
        self._out = Outgoing(self._socket, self._channel)
        self._leads = False
        self._sleepers: List[Tuple[object, threading.Condition]] = []
        self._wake_out, self._wake_in = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._wake_out, select.POLLIN)
        self._fd = self._socket.fileno()
        self._poll.register(self._fd, select.POLLIN)
        self._is_closed = False
        try:
            self.state = self.call(calls.hello())
        except DisconnectedError as e:
            self.close()
            raise self._explained(e) from None
        except BaseException:
            self.close()
            raise

    # --- asking ---

    def call(self, call: Call[T], fds: Sequence[int] = ()) -> T:
        waiter = self.send(call, fds)
        return call.parse(self.result(waiter, call.patience))

    def send(self, call: Call[Any], fds: Sequence[int] = (),
             running: Optional[Running] = None) -> Waiter:
        """The descriptors stay the caller's, who keeps them open until the answer.
        `running` is what an exec.wait is about."""
        self._channel.check_process()
        with self._lock:
            waiter, line = self._channel.request(call.method, call.params)
            waiter.running = running
            self._out.add(line, fds, waiter)
            self._say()
        return waiter

    def result(self, waiter: Waiter, patience: Optional[float]) -> Any:
        """Waits; what was noticed meanwhile stays in the waiter."""
        began = time.monotonic()
        try:
            if not self.wait(lambda: waiter.is_done, waiter, patience):
                raise calls.unanswered(self._channel.name, waiter.method, patience)
        except BaseException:
            self.forget(waiter)
            raise
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s: %s answered after %.2f ms%s", self._channel.name, waiter.method,
                      (time.monotonic() - began) * 1e3, f": {waiter.error}" if waiter.error else "")
        if waiter.error is not None:
            raise waiter.error
        return waiter.result

    def forget(self, waiter: Waiter) -> None:
        """Nobody waits for it any more: what it does is ended, where that can be asked."""
        if self.is_usable:
            with self._lock:
                self._out.forget(waiter)
                self._say()

    def wait(self, is_so: Callable[[], bool], what: Awaited, patience: Optional[float]) -> bool:
        """Waits until it is so, which is asked again whenever something has come for
        `what`.  False: not within that time."""
        self._channel.check_process()
        deadline = None if patience is None else time.monotonic() + patience
        with self._lock:
            while not is_so():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                if self._channel.failure is not None:
                    raise again(self._channel.failure)
                if self._leads:
                    self._sleep(what, left)
                else:
                    self._lead(left)
            return True

    def taking(self, take: Callable[[], T]) -> T:
        """Takes what has been put somewhere, while nothing is being put there."""
        with self._lock:
            return take()

    def rest(self) -> Rest:
        """From now on all notifications, for a connection that is for these alone."""
        self._channel.rest = Rest()
        return self._channel.rest

    def drop(self, running: Running) -> None:
        """In a child of who has opened this, another thread may have had the lock."""
        if os.getpid() == self._channel.pid:
            with self._lock:
                self._channel.drop(running)

    # --- one that leads, and others; all of these with the lock ---

    def _sleep(self, what: Awaited, left: Optional[float]) -> None:
        mine = (what, threading.Condition(self._lock))
        self._sleepers.append(mine)
        what.wake = lambda: self._rouse(what)
        try:
            mine[1].wait(left)
        finally:
            self._sleepers.remove(mine)
            self._hand_over()  # it may have been woken to lead, and leave

    def _rouse(self, what: object) -> None:
        for waits_for, condition in self._sleepers:
            if waits_for is what:
                condition.notify()

    def _hand_over(self) -> None:
        if not self._leads and self._sleepers:
            self._sleepers[0][1].notify()

    def _lead(self, left: Optional[float]) -> None:
        self._leads = True
        if self._out:
            self._poll.modify(self._fd, select.POLLIN | select.POLLOUT)
        try:
            self._lock.release()
            try:
                ready = self._poll.poll(None if left is None else max(0, left) * 1e3 + 1)
            finally:
                self._lock.acquire()
            if ready:
                self._serve(ready)
        finally:
            self._leads = False
            self._hand_over()

    def _serve(self, ready: List[Tuple[int, int]]) -> None:
        try:
            for fd, events in ready:
                if fd == self._wake_out:
                    os.read(fd, 64)
                    self._out.push()
                elif events & select.POLLOUT:
                    self._out.push()
                    if not self._out:
                        self._poll.modify(fd, select.POLLIN)
            self._pull()
        except HutchError as e:
            self._fail(e)
        except BaseException as e:
            # Half of a piece may be where it belongs.
            self._fail(DisconnectedError(f"sandbox {self._channel.name}: reading was interrupted "
                                         f"by {type(e).__name__}"))
            raise

    def _pull(self) -> None:
        try:
            data = self._socket.recv(READ_AT_ONCE)
        except BlockingIOError:
            return
        except OSError as e:
            data, reason = b"", e.strerror
            log.debug("%s: %s", self._channel.name, reason)
        if data:
            self._channel.feed(data)
            self._out.add_owed()
            self._out.push()
        else:
            self._fail(self._channel.ended())

    def _say(self) -> None:
        """At once, or by who leads."""
        try:
            self._out.push()
        except HutchError as e:
            self._fail(e)
        if self._out and self._leads:
            self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_in, b"w")

    def _fail(self, error: HutchError) -> None:
        self._out.clear()
        if self._channel.failure is None and not self._is_closed:
            level = logging.ERROR if isinstance(error, ProtocolError) else logging.INFO
            log.log(level, "%s", error)
        self._channel.end(error)
        for _, condition in self._sleepers:
            condition.notify()

    # --- the end ---

    @property
    def is_usable(self) -> bool:
        """Not ended, not closed, and of this process."""
        return self._channel.failure is None and self._channel.pid == os.getpid()

    @property
    def is_lost(self) -> bool:
        """It has ended, in this process, and nobody has closed it."""
        return (self._channel.failure is not None and not self._is_closed
                and self._channel.pid == os.getpid())

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Whatever waits ends with DisconnectedError.  In a child of the process that
        has opened it, only the child's descriptors are closed."""
        is_ours = os.getpid() == self._channel.pid
        if self._is_closed:
            return
        if not is_ours:
            self._is_closed = True
            return self._release()
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._fail(DisconnectedError(f"sandbox {self._channel.name}: the handle was closed"))
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            while self._leads:  # who polls the descriptors has to be gone
                self._wake()
                me = (self, threading.Condition(self._lock))
                self._sleepers.insert(0, me)
                me[1].wait()
                self._sleepers.remove(me)
            self._release()
        self._reap()

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            self.close()

    def _release(self) -> None:
        self._socket.close()
        os.close(self._wake_out)
        os.close(self._wake_in)

    def _reap(self) -> None:
        """The program that carried the bytes, and what it has said."""
        if self._helper is None:
            return
        helper, self._helper = self._helper, None
        self._said = reap(helper)

    def _explained(self, error: HutchError) -> HutchError:
        code, said = self._said
        if not said:
            return error
        return self._program.failure("connect", code, said, DisconnectedError)
