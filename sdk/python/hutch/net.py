"""Rules about connections out of a sandbox: hutch-net(1).  `net` of a Sandbox, and of an
AsyncSandbox."""
from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Tuple, Union

from . import calls
from .aio_link import AsyncLink
from .fields import Object
from .link import Link
from .program import Program
from .records import NetChange, NetQuestion, NetRule, NetRules

if TYPE_CHECKING:
    from .aio import AsyncSandbox
    from .sandbox import Sandbox

Rule = Union[NetRule, Mapping[str, Any]]


def _rule(verdict: str, target: str, why: Optional[str]) -> Object:
    return {verdict: target, **({} if why is None else {"why": why})}


def _object(rule: Rule) -> Object:
    return rule.raw if isinstance(rule, NetRule) else dict(rule)


def _id(question: Union[NetQuestion, int]) -> int:
    return question.id if isinstance(question, NetQuestion) else question


def _read(method: str, params: Object) -> Tuple[bool, Optional[NetQuestion]]:
    """Whether the sandbox has ended, and the question, if the notification is one."""
    if method == "net.ask":
        return False, NetQuestion.parse(params)
    return method == "event" and params.get("event") == "ended", None


class Net:
    """The rules of a Sandbox with `network="allow"`.  A change is in force when the call
    returns; connections that no rule allows any more are closed then."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box

    def list(self) -> NetRules:
        """The rules in their order, of which the first that matches decides, the questions that
        wait, and the connections that are open."""
        return self._box._ask(calls.net_list())

    def allow(self, target: str, *, why: Optional[str] = None) -> NetChange:
        """Allows connections to a target, such as "pypi.org" or "@npm": puts a rule before all
        others."""
        return self.add(_rule("allow", target, why))

    def deny(self, target: str, *, why: Optional[str] = None) -> NetChange:
        """Refuses connections to a target."""
        return self.add(_rule("deny", target, why))

    def ask(self, target: str, *, why: Optional[str] = None) -> NetChange:
        """Makes connections to a target wait for an answer: questions()."""
        return self.add(_rule("ask", target, why))

    def add(self, rule: Rule, at: int = 1) -> NetChange:
        """Adds a rule, an object as in a policy, with the number `at`."""
        return self._box._ask(calls.net_add(_object(rule), at))

    def remove(self, rule: Union[str, int]) -> NetChange:
        """Removes the first rule with this target, or the rule with this number."""
        return self._box._ask(calls.net_remove(rule))

    def set(self, rules: Sequence[Rule]) -> int:
        """Puts these rules in the place of all others, and gives the number of connections that
        were closed."""
        return self._box._ask(calls.net_set([_object(rule) for rule in rules]))

    def questions(self, timeout: Optional[float] = None) -> Questions:
        """The questions of rules that ask, those that wait and further ones, until the sandbox
        has ended.  While no client reads them, such connections are refused at once."""
        return Questions(self._box.name, self._box.program, timeout)

    def answer(self, question: Union[NetQuestion, int], allow: bool, *,
               remember: bool = False) -> None:
        """Answers a question.  With `remember` the answer is good for each later connection to
        that name and port, too."""
        self._box._ask(calls.net_answer(_id(question), allow, remember))


class Questions:
    """The questions of a sandbox: iterate, or take next() one by one; close() it, or use `with`.
    It has a connection of its own."""

    def __init__(self, name: str, program: Program, timeout: Optional[float] = None) -> None:
        self._link, self._timeout = Link(name, program), timeout
        try:
            self._rest = self._link.rest()
            self._link.call(calls.questions())
        except BaseException:
            self._link.close()
            raise

    def __iter__(self) -> Questions:
        return self

    def __next__(self) -> NetQuestion:
        question = self.next(self._timeout)
        if question is None:
            raise StopIteration
        return question

    def next(self, timeout: Optional[float] = None) -> Optional[NetQuestion]:
        """The next question; None: the sandbox has ended."""
        rest, has_ended = self._rest, self._link.is_closed
        while not has_ended:
            if not self._link.wait(lambda: bool(rest.notices), rest, timeout):
                raise calls.too_late("a question", timeout)
            has_ended, question = _read(*self._link.taking(rest.notices.popleft))
            if question is not None:
                return question
        self.close()
        return None

    def close(self) -> None:
        self._link.close()

    def __enter__(self) -> Questions:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class AsyncNet:
    """The rules of an AsyncSandbox; see Net."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._box = box

    async def list(self) -> NetRules:
        """The rules in their order, of which the first that matches decides, the questions that
        wait, and the connections that are open."""
        return await self._box._ask(calls.net_list())

    async def allow(self, target: str, *, why: Optional[str] = None) -> NetChange:
        """Allows connections to a target, such as "pypi.org" or "@npm": puts a rule before all
        others."""
        return await self.add(_rule("allow", target, why))

    async def deny(self, target: str, *, why: Optional[str] = None) -> NetChange:
        """Refuses connections to a target."""
        return await self.add(_rule("deny", target, why))

    async def ask(self, target: str, *, why: Optional[str] = None) -> NetChange:
        """Makes connections to a target wait for an answer: questions()."""
        return await self.add(_rule("ask", target, why))

    async def add(self, rule: Rule, at: int = 1) -> NetChange:
        """Adds a rule, an object as in a policy, with the number `at`."""
        return await self._box._ask(calls.net_add(_object(rule), at))

    async def remove(self, rule: Union[str, int]) -> NetChange:
        """Removes the first rule with this target, or the rule with this number."""
        return await self._box._ask(calls.net_remove(rule))

    async def set(self, rules: Sequence[Rule]) -> int:
        """Puts these rules in the place of all others, and gives the number of connections that
        were closed."""
        return await self._box._ask(calls.net_set([_object(rule) for rule in rules]))

    def questions(self, timeout: Optional[float] = None) -> AsyncQuestions:
        """The questions of rules that ask, those that wait and further ones, until the sandbox
        has ended.  While no client reads them, such connections are refused at once."""
        return AsyncQuestions(self._box.name, self._box.program, timeout)

    async def answer(self, question: Union[NetQuestion, int], allow: bool, *,
                     remember: bool = False) -> None:
        """Answers a question.  With `remember` the answer is good for each later connection to
        that name and port, too."""
        await self._box._ask(calls.net_answer(_id(question), allow, remember))


class AsyncQuestions:
    """The questions of a sandbox: use `async for`, or await next() one by one; close() it, or
    use `async with`.  It has a connection of its own, which is made for the first question, or
    when the `async with` begins."""

    def __init__(self, name: str, program: Program, timeout: Optional[float] = None) -> None:
        self._name, self._program, self._timeout = name, program, timeout
        self._link: Optional[AsyncLink] = None

    async def open(self) -> AsyncQuestions:
        if self._link is None:
            self._link = await AsyncLink.open(self._name, self._program)
            try:
                self._rest = self._link.rest()
                await self._link.call(calls.questions())
            except BaseException:
                await self._link.close()
                raise
        return self

    def __aiter__(self) -> AsyncQuestions:
        return self

    async def __anext__(self) -> NetQuestion:
        question = await self.next(self._timeout)
        if question is None:
            raise StopAsyncIteration
        return question

    async def next(self, timeout: Optional[float] = None) -> Optional[NetQuestion]:
        """The next question; None: the sandbox has ended."""
        await self.open()
        assert self._link is not None
        rest, has_ended = self._rest, self._link.is_closed
        while not has_ended:
            if not await self._link.wait(lambda: bool(rest.notices), rest, timeout):
                raise calls.too_late("a question", timeout)
            has_ended, question = _read(*self._link.take(rest))
            if question is not None:
                return question
        await self.close()
        return None

    async def close(self) -> None:
        if self._link:
            await self._link.close()

    async def __aenter__(self) -> AsyncQuestions:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        """Closes the link, which the event loop would otherwise keep alive."""
        link = getattr(self, "_link", None)
        if link is not None and not link.is_closed and not sys.is_finalizing():
            link.shut()
            warn(f"questions of sandbox {self._name} were not closed", ResourceWarning, source=self)
