"""Rules about connections out of a sandbox: hutch-net(1).  `net` of a Sandbox, and of an
AsyncSandbox."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from . import calls
from .fields import Object
from .notices import AsyncNotices, Notices, QuestionKind
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


class Questions(QuestionKind, Notices[NetQuestion]):
    """The questions of a sandbox: iterate, or take next() one by one; close() it, or use `with`.
    It has a connection of its own."""


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


class AsyncQuestions(QuestionKind, AsyncNotices[NetQuestion]):
    """The questions of a sandbox: use `async for`, or await next() one by one; close() it, or
    use `async with`.  It has a connection of its own, which is made for the first question, or
    when the `async with` begins."""
