"""What is to be sent: lines of requests, and descriptors beside their first bytes.

The descriptors stay whose they are, and he closes them when his call is over.  So a line
that has not been sent when its caller leaves is taken out: the numbers of its descriptors
may be those of other files by the time that there is room for it.
"""
from __future__ import annotations

import errno
import socket
from collections import deque
from typing import Deque, Optional, Sequence, Tuple

from .errors import DisconnectedError, HutchError, InternalError, LimitError
from .program import send
from .protocol import Channel, Waiter


class Outgoing:
    """Who carries the bytes guards it, and calls push() while there is room."""

    def __init__(self, s: socket.socket, channel: Channel) -> None:
        self._socket, self._channel = s, channel
        self._lines: Deque[Tuple[memoryview, Sequence[int], Optional[Waiter]]] = deque()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, line: bytes, fds: Sequence[int] = (), waiter: Optional[Waiter] = None) -> None:
        self._lines.append((memoryview(line), fds, waiter))

    def clear(self) -> None:
        self._lines.clear()

    def forget(self, waiter: Waiter) -> None:
        """Nobody waits for it any more: what was not sent is not sent, and what it does is
        ended, where that can be asked."""
        for at, (_, _, whose) in enumerate(self._lines):
            if whose is waiter:
                del self._lines[at]
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
            line, fds, waiter = self._lines[0]
            try:
                sent = send(self._socket, line, fds)
            except BlockingIOError:
                return
            except ConnectionError:  # who has closed may have said why: that is read first
                return self.clear()
            except OSError as e:  # such as too many descriptors on their way
                self._lines.popleft()
                self._refuse(waiter, e)
                continue
            if sent == len(line):
                self._lines.popleft()
            else:
                self._lines[0] = (line[sent:], (), None)

    def _refuse(self, waiter: Optional[Waiter], e: OSError) -> None:
        name, words = self._channel.name, f"could not be sent: {e.strerror}"
        if waiter is None:
            raise DisconnectedError(f"sandbox {name}: the rest of a request {words}")
        made = LimitError if e.errno == errno.ETOOMANYREFS else InternalError
        error: HutchError = made(f"sandbox {name}: {waiter.method} {words}")
        if self._channel.withdraw(waiter):
            waiter.finish(None, error)
