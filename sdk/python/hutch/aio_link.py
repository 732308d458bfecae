"""A Channel over a socket, for asyncio; link.py is the same for threads."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import socket
import time
from typing import Any, Callable, List, Optional, Sequence, Tuple, TypeVar, Union

from . import calls
from .calls import Call
from .errors import DisconnectedError, HutchError, InvalidError, ProtocolError
from .outgoing import Outgoing
from .program import Program, connect, reap
from .protocol import Channel, Rest, Running, Waiter, again

T = TypeVar("T")
Awaited = Union[Waiter, Running, Rest]

log = logging.getLogger("hutch")
READ_AT_ONCE = 1 << 18
NOTICES_MAX = 1024
"""How many notifications wait for a follower of events or a log; beyond it, reading stops."""


class AsyncLink:
    """A connection that belongs to one event loop.  Any number of its tasks may use it at once."""

    def __init__(self, name: str, program: Program,
                 opened: Optional[socket.socket] = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket, self._helper = (opened, None) if opened else connect(name, program)
        self._program = program
        self.passes_descriptors = self._helper is None
        self._channel = Channel(name)
        self._out, self._is_writing = Outgoing(self._socket, self._channel), False
        self._turns: List[Tuple[object, "asyncio.Future[None]"]] = []
        self._is_closed = self._is_reading = False
        self._read_on()

    @classmethod
    async def open(cls, name: str, program: Program,
                   opened: Optional[socket.socket] = None) -> AsyncLink:
        link = cls(name, program, opened)
        try:
            await link.call(calls.hello())
        except DisconnectedError as e:
            code, said = await link.close()
            if said:
                raise program.failure("connect", code, said, DisconnectedError) from None
            raise e
        except BaseException:
            await link.close()
            raise
        return link

    # --- asking ---

    async def call(self, call: Call[T], fds: Sequence[int] = ()) -> T:
        waiter = self.send(call, fds)
        return call.parse(await self.result(waiter, call.patience))

    def send(self, call: Call[Any], fds: Sequence[int] = (),
             running: Optional[Running] = None) -> Waiter:
        """Sends a request.  The descriptors stay the caller's and must be open until the
        answer."""
        self._check()
        waiter, line = self._channel.request(call.method, call.params)
        waiter.running = running
        self._push(lambda: self._out.add(line, fds, waiter))
        return waiter

    async def result(self, waiter: Waiter, patience: Optional[float]) -> Any:
        """Waits for the answer; notices that come meanwhile stay in the waiter."""
        began = time.monotonic()
        try:
            if not await self.wait(lambda: waiter.is_done, waiter, patience):
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
            self._push(lambda: self._out.forget(waiter))

    async def wait(self, is_so: Callable[[], bool], what: Awaited, patience: Optional[float]) -> bool:
        """Waits until `is_so` is true; it is called again whenever something has come for
        `what`.  False: not within that time."""
        self._check()
        deadline = None if patience is None else time.monotonic() + patience
        while not is_so():
            if self._channel.failure is not None:
                raise again(self._channel.failure)
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            await self._turn(what, left)
        return True

    def rest(self) -> Rest:
        """Collects all notifications from now on, for a connection without another use."""
        self._channel.rest = Rest()
        return self._channel.rest

    def take(self, rest: Rest) -> Any:
        """The next notification, or None."""
        notice = rest.notices.popleft() if rest.notices else None
        if len(rest.notices) < NOTICES_MAX // 2:
            self._read_on()
        return notice

    def drop(self, running: Running) -> None:
        running.drop()

    # --- the loop ---

    async def _turn(self, what: Awaited, left: Optional[float]) -> None:
        mine = (what, self._loop.create_future())
        self._turns.append(mine)
        what.wake = functools.partial(self._rouse, what)
        try:
            if left is None:
                await mine[1]
            else:
                await asyncio.wait({mine[1]}, timeout=left)
        finally:
            self._turns.remove(mine)
            if all(waits_for is not what for waits_for, _ in self._turns):
                what.wake = None  # break the cycle of references

    def _rouse(self, what: Optional[object]) -> None:
        for waits_for, turn in self._turns:
            if (what is None or waits_for is what) and not turn.done():
                turn.set_result(None)

    def _check(self) -> None:
        self._channel.check_process()
        if asyncio.get_running_loop() is not self._loop:
            raise InvalidError(f"sandbox {self._channel.name}: this handle is of another event loop",
                               remedy="hutch.Sandbox is for threads; open one for each loop")

    def _read_on(self) -> None:
        if not self._is_reading and not self._is_closed and self._channel.failure is None:
            self._loop.add_reader(self._socket.fileno(), self._pull)
            self._is_reading = True

    def _read_no_more(self) -> None:
        if self._is_reading:
            self._loop.remove_reader(self._socket.fileno())
            self._is_reading = False

    def _pull(self) -> None:
        try:
            data = self._socket.recv(READ_AT_ONCE)
        except BlockingIOError:
            return
        except OSError as e:
            log.debug("%s: %s", self._channel.name, e.strerror)
            data = b""
        if not data:
            return self._fail(self._channel.ended())
        try:
            self._channel.feed(data)
        except HutchError as e:
            return self._fail(e)
        if self._channel.owed:
            self._push(self._out.add_owed)
        if self._channel.rest is not None and len(self._channel.rest.notices) > NOTICES_MAX:
            self._read_no_more()

    def _push(self, put: Callable[[], None] = lambda: None) -> None:
        """Sends everything that put() adds.  If a signal's handler raises meanwhile, the
        connection is closed."""
        try:
            put()
            self._out.push()
            self._out.keep()
        except HutchError as e:
            return self._fail(e)
        except BaseException as e:
            self._fail(DisconnectedError(f"sandbox {self._channel.name}: sending was interrupted "
                                         f"by {type(e).__name__}"))
            raise
        if bool(self._out) != self._is_writing:
            self._is_writing = not self._is_writing
            if self._is_writing:
                self._loop.add_writer(self._socket.fileno(), self._push)
            else:
                self._loop.remove_writer(self._socket.fileno())

    def _fail(self, error: HutchError) -> None:
        self._read_no_more()
        self._out.clear()
        if self._is_writing:
            self._loop.remove_writer(self._socket.fileno())
            self._is_writing = False
        if self._channel.failure is None and not self._is_closed:
            level = logging.ERROR if isinstance(error, ProtocolError) else logging.INFO
            log.log(level, "%s", error)
        self._channel.end(error)
        self._rouse(None)

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

    def shut(self) -> None:
        """The part of close() that does not wait.  In a child of the process that opened it,
        only the descriptor is closed, since the event loop belongs to the parent."""
        if self._is_closed:
            return
        self._is_closed = True
        if os.getpid() == self._channel.pid and not self._loop.is_closed():
            self._fail(DisconnectedError(f"sandbox {self._channel.name}: the handle was closed"))
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._out.clear()
        self._socket.close()

    async def close(self) -> Tuple[int, bytes]:
        """Closes the connection; every waiting call ends with DisconnectedError.  Gives the
        exit code and the stderr of the program that carried the bytes."""
        self.shut()
        helper, self._helper = self._helper, None
        if helper is None or os.getpid() != self._channel.pid:
            return 0, b""
        return await self._loop.run_in_executor(None, reap, helper)

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            self.shut()
