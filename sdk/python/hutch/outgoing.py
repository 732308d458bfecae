"""Data that waits to be sent: lines of requests, and descriptors beside their first bytes.

A caller owns its descriptors and closes them when its call is over, however that ends.  So a
line that waits for room has copies of them: when there is room, the same numbers may belong to
other files.
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
    """A request, or the rest of one."""

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
    """The queue; the link that carries the bytes guards it, and calls push() while there is
    room."""

    def __init__(self, s: socket.socket, channel: Channel) -> None:
        self._socket, self._channel = s, channel
        self._lines: Deque[_Line] = deque()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, line: bytes, fds: Sequence[int] = (), waiter: Optional[Waiter] = None) -> None:
        """Adds a line.  The descriptors stay the caller's, who must call keep() or clear()
        before it closes them."""
        self._lines.append(_Line(line, fds, waiter))

    def keep(self) -> None:
        """Copies the descriptors of the lines that are still here, so that their callers may
        leave."""
        for line in list(self._lines):
            try:
                line.keep()
            except OSError as e:  # such as too many open files
                self._lines.remove(line)
                self._refuse(line, e)

    def clear(self) -> None:
        while self._lines:
            self._lines.pop().close()

    def forget(self, waiter: Waiter) -> None:
        """The caller gives up: an unsent request is dropped; otherwise its action or process is
        ended, if there is a call for that."""
        for line in self._lines:
            if line.waiter is waiter:
                self._lines.remove(line)
                line.close()
                self._channel.withdraw(waiter)
                return
        self._channel.forget(waiter)
        self.add_owed()

    def add_owed(self) -> None:
        """Adds the channel's own requests."""
        while self._channel.owed:
            self.add(self._channel.owed.popleft())

    def push(self) -> None:
        """Sends as much as there is room for.  An error that ends the connection is raised."""
        while self._lines:
            line = self._lines[0]
            try:
                sent = send(self._socket, line.left, line.fds)
            except BlockingIOError:
                return
            except ConnectionError:  # first read the peer's reason
                return self.clear()
            except OSError as e:  # such as too many descriptors under way
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
