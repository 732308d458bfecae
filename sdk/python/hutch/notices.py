"""Notifications of a sandbox over a connection of their own: its events, and the questions of its
rules about connections.

A subclass says by `_ask` how it subscribes, by `_has_more` whether another one may come, and by
`_take` what a notification is for it: None, if it is nothing that is asked for."""
from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Generic, Optional, Tuple, TypeVar

from . import calls
from .aio_link import AsyncLink
from .calls import Call
from .fields import Object
from .link import Link
from .program import Program
from .records import Event, NetQuestion

T = TypeVar("T")
S = TypeVar("S", bound="Notices[Any]")
A = TypeVar("A", bound="AsyncNotices[Any]")


class _Kind(Generic[T]):
    """What is the same with and without an event loop."""

    ONE, ALL = "a notification", "notifications"  # in errors

    def _ask(self) -> Call[Any]:
        raise NotImplementedError

    def _begun(self, answer: Any) -> None:
        """Takes the answer to the subscription."""

    def _has_more(self) -> bool:
        raise NotImplementedError

    def _take(self, method: str, params: Object) -> Optional[T]:
        raise NotImplementedError


class EventKind(_Kind[Event]):
    """Events from number `since` on: those that are kept, and with `follow` further ones.  The
    end of the sandbox is an event, so DisconnectedError means that its supervisor is gone."""

    ONE, ALL = "an event", "events"
    _since: int
    _follows: bool
    _kept = 0

    def _ask(self) -> Call[int]:
        return calls.events(self._since)

    def _begun(self, answer: int) -> None:
        self._kept = answer if answer > self._since else 0

    def _has_more(self) -> bool:
        return self._follows or self._kept > 0

    def _take(self, method: str, params: Object) -> Optional[Event]:
        if method != "event":
            return None
        event = Event.parse(params)
        self._kept = 0 if event.n is not None and event.n + 1 >= self._kept else self._kept
        self._follows = self._follows and event.event != "ended"
        return event


class QuestionKind(_Kind[NetQuestion]):
    """Questions until the sandbox has ended."""

    ONE, ALL = "a question", "questions"
    _has_ended = False

    def _ask(self) -> Call[None]:
        return calls.questions()

    def _has_more(self) -> bool:
        return not self._has_ended

    def _take(self, method: str, params: Object) -> Optional[NetQuestion]:
        if method == "net.ask":
            return NetQuestion.parse(params)
        self._has_ended = method == "event" and params.get("event") == "ended"
        return None


class Notices(_Kind[T]):
    """Iterate, or take next() one by one; close() it, or use `with`."""

    def __init__(self, name: str, program: Program, timeout: Optional[float]) -> None:
        self._link, self._timeout = Link(name, program), timeout
        try:
            self._rest = self._link.rest()
            self._begun(self._link.call(self._ask()))
        except BaseException:
            self._link.close()
            raise

    def __iter__(self: S) -> S:
        return self

    def __next__(self) -> T:
        one = self.next(self._timeout)
        if one is None:
            raise StopIteration
        return one

    def next(self, timeout: Optional[float] = None) -> Optional[T]:
        """The next one; None: there are no more."""
        rest = self._rest
        while self._has_more():
            if not self._link.wait(lambda: bool(rest.notices), rest, timeout):
                raise calls.too_late(self.ONE, timeout)
            one = self._take(*self._link.taking(rest.notices.popleft))
            if one is not None:
                return one
        self.close()
        return None

    def close(self) -> None:
        self._link.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class AsyncNotices(_Kind[T]):
    """Use `async for`, or await next() one by one; close() it, or use `async with`.  The
    connection is made for the first one, or when the `async with` begins."""

    def __init__(self, name: str, program: Program, timeout: Optional[float]) -> None:
        self._name, self._program, self._timeout = name, program, timeout
        self._link: Optional[AsyncLink] = None

    async def open(self: A) -> A:
        if self._link is None:
            self._link = await AsyncLink.open(self._name, self._program)
            try:
                self._rest = self._link.rest()
                self._begun(await self._link.call(self._ask()))
            except BaseException:
                await self._link.close()
                raise
        return self

    def __aiter__(self: A) -> A:
        return self

    async def __anext__(self) -> T:
        one = await self.next(self._timeout)
        if one is None:
            raise StopAsyncIteration
        return one

    async def next(self, timeout: Optional[float] = None) -> Optional[T]:
        """The next one; None: there are no more."""
        await self.open()
        assert self._link is not None
        rest = self._rest
        while self._has_more():
            if not await self._link.wait(lambda: bool(rest.notices), rest, timeout):
                raise calls.too_late(self.ONE, timeout)
            notice: Tuple[str, Object] = self._link.take(rest)
            one = self._take(*notice)
            if one is not None:
                return one
        await self.close()
        return None

    async def close(self) -> None:
        if self._link:
            await self._link.close()

    def _shut(self) -> None:
        if self._link:
            self._link.shut()

    async def __aenter__(self: A) -> A:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        """Closes the link, which the event loop would otherwise keep alive."""
        link = getattr(self, "_link", None)
        if link is not None and not link.is_closed and not sys.is_finalizing():
            link.shut()
            warn(f"{self.ALL} of sandbox {self._name} were not closed", ResourceWarning, source=self)
