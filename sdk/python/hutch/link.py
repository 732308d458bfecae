"""A Channel over a socket, for threads.

The link starts no thread.  Of the threads that wait, one leads: it polls the socket and puts
everything that comes where it belongs; the others sleep until something has come for them.  The
leader leaves when it has what it waited for, and hands the lead to a thread that still waits.
So a single thread reads its answer itself, without a switch between threads.

`_lock` guards the state of the link, and no thread blocks while holding it: the socket is
non-blocking, and polled without the lock.  Bytes that cannot be sent at once are sent by the
leader, which may have to be woken for that: with four MiB of answers unread a supervisor reads
no more, so a thread must read while others send.

A signal's handler may raise at any instant (Ctrl-C does).  If a thread is interrupted while it
sends or reads, it ends the connection, since half of a line may be out, or half of a piece
stored.  If it is interrupted while it waits, it leaves, and still hands the lead on.
"""
from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

from . import calls
from .calls import Call
from .errors import BusyError, DisconnectedError, HutchError, ProtocolError
from .outgoing import Outgoing
from .program import Program, connect, reap
from .protocol import Channel, Rest, Running, Waiter, again

T = TypeVar("T")
Awaited = Union[Waiter, Running, Rest]

log = logging.getLogger("hutch")
READ_AT_ONCE = 1 << 18


class _Turn:
    """The turn of a waiting thread: it leads, or sleeps until it is called."""

    __slots__ = ("what", "thread", "word", "is_taken")

    def __init__(self, what: Awaited) -> None:
        self.what, self.thread = what, threading.get_ident()
        self.word: Optional[threading.Lock] = None
        self.is_taken = False

    def sleep(self, left: Optional[float]) -> None:
        assert self.word is not None
        self.word.acquire(True, -1 if left is None else min(left, threading.TIMEOUT_MAX))

    def call(self) -> None:
        if self.word is not None and self.word.locked():
            self.word.release()


class Bell(_Turn):
    """The turn of a thread that polls descriptors of its own: one of `fds` is readable whenever
    something may have come for it.  It never leads for long, and is not asked to."""

    __slots__ = ("fds", "_rope")

    def __init__(self, what: Awaited, fd: int) -> None:
        super().__init__(what)
        heard, self._rope = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.fds = (fd, heard)

    def call(self) -> None:
        if self._rope >= 0:
            with contextlib.suppress(BlockingIOError):
                os.write(self._rope, b"w")

    def hush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self.fds[1], 64)

    def close(self) -> None:
        rope, self._rope = self._rope, -1
        os.close(rope)
        os.close(self.fds[1])


class Link:
    """A connection, which any number of threads may use at once."""

    def __init__(self, name: str, program: Program,
                 opened: Optional[socket.socket] = None) -> None:
        self._socket, self._helper = (opened, None) if opened else connect(name, program)
        self._program, self._said = program, (0, b"")
        self.passes_descriptors = self._helper is None
        self._lock = threading.Lock()
        self._channel = Channel(name)
        self._out = Outgoing(self._socket, self._channel)
        self._leader: Optional[_Turn] = None
        self._sleepers: List[_Turn] = []
        self._closer: Optional[threading.Event] = None
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
        """Sends a request.  The descriptors stay the caller's and must be open until the
        answer.  `running` is the process of an exec.wait."""
        self._channel.check_process()
        with self._lock:
            waiter, line = self._channel.request(call.method, call.params)
            waiter.running = running
            self._say(lambda: self._out.add(line, fds, waiter))
        return waiter

    def result(self, waiter: Waiter, patience: Optional[float]) -> Any:
        """Waits for the answer; notices that come meanwhile stay in the waiter."""
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
        """The caller gives up: the request's action or process is ended, if there is a call for
        that."""
        if self.is_usable:
            with self._lock:
                self._say(lambda: self._out.forget(waiter))

    def wait(self, is_so: Callable[[], bool], what: Awaited, patience: Optional[float]) -> bool:
        """Waits until `is_so` is true; it is called again whenever something has come for
        `what`.  False: not within that time; everything that came until then was read."""
        self._channel.check_process()
        self._check_handler()
        deadline = None if patience is None else time.monotonic() + patience
        has_looked = False
        while True:
            mine, raised = _Turn(what), None
            try:
                with self._lock:
                    if is_so():
                        return True
                    left = None if deadline is None else max(0.0, deadline - time.monotonic())
                    if left == 0 and (has_looked or self._leader is not None):
                        return False
                    if self._channel.failure is not None:
                        raise again(self._channel.failure)
                    self._take(mine)
                if self._leader is mine:
                    self._lead(left)
                else:
                    mine.sleep(left)
                has_looked = True
            finally:
                while mine.is_taken:
                    try:
                        with self._lock:
                            self._leave(mine)
                    except BaseException as e:
                        raised = e
                if raised is not None:
                    raise raised

    def _check_handler(self) -> None:
        """Refuses to wait in a signal's handler for something that its own thread is reading:
        that would never end."""
        leader = self._leader
        if leader is not None and leader.thread == threading.get_ident():
            raise BusyError(f"sandbox {self._channel.name}: this thread waits for it already, "
                            "below the signal's handler", remedy="note the signal, and return")

    def taking(self, take: Callable[[], T]) -> T:
        """Calls `take` while no other thread changes what it takes."""
        with self._lock:
            return take()

    @contextlib.contextmanager
    def noticing(self, what: Awaited) -> Iterator[Bell]:
        """Gives a Bell.  It rings at first and whenever something may have come for `what`;
        wait() with a patience of 0 then checks."""
        bell = Bell(what, self._fd)
        try:
            with self._lock:
                self._sleepers.append(bell)
                what.wake = lambda: self._rouse(what)
            bell.call()
            yield bell
        finally:
            with self._lock:
                if bell in self._sleepers:
                    self._sleepers.remove(bell)
            bell.close()

    def rest(self) -> Rest:
        """Collects all notifications from now on, for a connection without another use."""
        self._channel.rest = Rest()
        return self._channel.rest

    def drop(self, running: Running) -> None:
        """Drops a process.  In a child of the process that opened the link, the lock is not
        used, since another thread may have held it."""
        if os.getpid() == self._channel.pid:
            with self._lock:
                running.drop()

    # --- waiting threads; with the lock ---

    def _take(self, mine: _Turn) -> None:
        mine.is_taken = True
        if self._leader is None:
            self._leader = mine
            if self._out:
                self._poll.modify(self._fd, select.POLLIN | select.POLLOUT)
        else:
            mine.word = threading.Lock()
            mine.word.acquire()
            self._sleepers.append(mine)
            mine.what.wake = lambda: self._rouse(mine.what)

    def _leave(self, mine: _Turn) -> None:
        """Leaves; can be repeated if it was interrupted."""
        if self._leader is None or self._leader is mine:
            for other in self._sleepers:  # `mine` may have been called to lead
                if other is not mine and not isinstance(other, Bell):
                    other.call()
                    break
        if self._leader is mine:
            if self._is_closed:
                self._release()
            self._leader = None
        elif mine in self._sleepers:
            self._sleepers.remove(mine)
        mine.is_taken = False

    def _rouse(self, what: object) -> None:
        for one in self._sleepers:
            if one.what is what:
                one.call()

    # --- the leader; with the lock but for the first ---

    def _lead(self, left: Optional[float]) -> None:
        ready = self._poll.poll(None if left is None else left and left * 1e3 + 1)
        if ready:
            with self._lock:
                self._serve(ready)

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
            self._fail(self._interrupted("reading", e))
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

    def _say(self, put: Callable[[], None]) -> None:
        """Sends everything that put() adds, at once or by the leader.  If it is interrupted,
        the connection ends."""
        try:
            put()
            self._out.push()
            self._out.keep()
        except HutchError as e:
            self._fail(e)
        except BaseException as e:
            self._fail(self._interrupted("sending", e))
            raise
        if self._out and self._leader is not None:
            self._wake()

    def _interrupted(self, what: str, by: BaseException) -> HutchError:
        return DisconnectedError(f"sandbox {self._channel.name}: {what} was interrupted by "
                                 f"{type(by).__name__}")

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_in, b"w")

    def _fail(self, error: HutchError) -> None:
        self._out.clear()
        if self._channel.failure is None and not self._is_closed:
            level = logging.ERROR if isinstance(error, ProtocolError) else logging.INFO
            log.log(level, "%s", error)
        self._channel.end(error)
        for one in self._sleepers:
            one.call()

    # --- the end ---

    @property
    def is_usable(self) -> bool:
        """Whether it has not ended, is not closed, and belongs to this process."""
        return self._channel.failure is None and self._channel.pid == os.getpid()

    @property
    def is_lost(self) -> bool:
        """Whether it has ended in this process without a close()."""
        return (self._channel.failure is not None and not self._is_closed
                and self._channel.pid == os.getpid())

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Closes the connection; every waiting call ends with DisconnectedError.  In a child of
        the process that opened it, only the child's descriptors are closed.  In a signal's
        handler, they are closed when the interrupted code goes on."""
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
            if self._leader is None:
                self._release()
            elif self._leader.thread != threading.get_ident():
                self._closer = threading.Event()
                self._wake()
        if self._closer is not None:
            self._closer.wait()  # no thread may poll the descriptors then
        self._reap()

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            self.close()

    def _release(self) -> None:
        self._out.clear()
        self._socket.close()
        ends, self._wake_out, self._wake_in = (self._wake_out, self._wake_in), -1, -1
        for fd in ends:
            if fd >= 0:
                os.close(fd)
        if self._closer is not None:
            self._closer.set()

    def _reap(self) -> None:
        """Waits for the program that carried the bytes, and gives its exit code and stderr."""
        if self._helper is None:
            return
        helper, self._helper = self._helper, None
        self._said = reap(helper)

    def _explained(self, error: HutchError) -> HutchError:
        code, said = self._said
        if not said:
            return error
        return self._program.failure("connect", code, said, DisconnectedError)
