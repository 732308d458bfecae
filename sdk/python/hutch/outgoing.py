"""What is to be sent: lines of requests, and descriptors beside their first bytes.

The descriptors are whose they are, and he closes them when his call is over, however that
ends.  So what has to wait for room has copies of its own: by the time that there is some, the
same numbers may be those of other files.
"""
from __future__ import annotations

import errno
import os
import socket
from collections import deque
from typing import Deque, List, Optional, Sequence

from .errors import DisconnectedError, HutchError, InternalError, LimitError
from .program import send
from .protocol import Channel, Waiter


class _Line:
    """A request, or what is left of it."""

    __slots__ = ("left", "fds", "waiter", "copies")

    def __init__(self, line: bytes, fds: Sequence[int], waiter: Optional[Waiter]) -> None:
        self.left, self.fds, self.waiter = memoryview(line), fds, waiter
        self.copies: List[int] = []

    def keep(self) -> None:
        if self.fds and not self.copies:
            for fd in self.fds:
                self.copies.append(os.dup(fd))
            self.fds = self.copies

    def close(self) -> None:
        self.fds = ()
        while self.copies:
            os.close(self.copies.pop())


class Outgoing:
    """Who carries the bytes guards it, and calls push() while there is room."""

    def __init__(self, s: socket.socket, channel: Channel) -> None:
        self._socket, self._channel = s, channel
        self._lines: Deque[_Line] = deque()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, line: bytes, fds: Sequence[int] = (), waiter: Optional[Waiter] = None) -> None:
        """Until keep() or clear() the descriptors are the caller's."""
        self._lines.append(_Line(line, fds, waiter))

    def keep(self) -> None:
        """What is still here goes without its callers."""
        for line in list(self._lines):
            try:
                line.keep()
            except OSError as e:  # too many open files
                self._lines.remove(line)
                self._refuse(line, e)

    def clear(self) -> None:
        while self._lines:
            self._lines.pop().close()

    def forget(self, waiter: Waiter) -> None:
        """Nobody waits for it any more: what was not sent is not sent, and what it does is
        ended, where that can be asked."""
        for line in self._lines:
            if line.waiter is waiter:
                self._lines.remove(line)
                line.close()
                self._channel.withdraw(waiter)
                return
        self._channel.forget(waiter)
        self.add_owed()

    def add_owed(self) -> None:
        """What the channel itself has to say."""
        while self._channel.owed:
            self.add(self._channel.owed.popleft())

    def push(self) -> None:
        """As much as there is room for.  Raises an error that is the connection's end."""
        while self._lines:
            line = self._lines[0]
            try:
                sent = send(self._socket, line.left, line.fds)
            except BlockingIOError:
                return
            except ConnectionError:  # who has closed may have said why: that is read first
                return self.clear()
            except OSError as e:  # such as too many descriptors on their way
                self._lines.popleft()
                self._refuse(line, e)
                continue
            line.left, line.waiter = line.left[sent:], None
            line.close()
            if not line.left:
                self._lines.popleft()

    def _refuse(self, line: _Line, e: OSError) -> None:
        line.close()
        name, words = self._channel.name, f"could not be sent: {e.strerror}"
        if line.waiter is None:
            raise DisconnectedError(f"sandbox {name}: the rest of a request {words}")
        made = LimitError if e.errno in (errno.ETOOMANYREFS, errno.EMFILE, errno.ENFILE) else InternalError
        error: HutchError = made(f"sandbox {name}: {line.waiter.method} {words}")
        if self._channel.withdraw(line.waiter):
            line.waiter.finish(None, error)
