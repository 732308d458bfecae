"""The requests of Sandbox and AsyncSandbox, each with the parser of its answer.

A Call does not depend on the way it travels; `parse` turns the answer's result into the value
for the caller.
"""
from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Callable, Generic, List, Mapping, Optional, Sequence, TypeVar, Union, cast

from . import fields
from .errors import InvalidError, TimeoutError
from .fields import Object
from .protocol import PROTOCOL
from .records import (Info, Limits, NetChange, NetRules, Port, ProcessInfo, Stats, Status,
                      status)

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds in which a live supervisor answers a request that need not wait for anything."""


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    params: Object
    parse: Callable[[object], T]
    patience: Optional[float] = PATIENCE


def _nothing(result: object) -> None:
    return None


def _by(result: object) -> str:
    return fields.text(fields.an_object(result, "answer"), "by")


def _state(result: object) -> Status:
    o = fields.an_object(result, "hello")
    if fields.whole(o, "protocol") != PROTOCOL:
        raise fields.wrong("protocol", o["protocol"])
    return status(o, "state")


def hello() -> Call[Status]:
    return Call("hello", {"protocol": PROTOCOL}, _state)


def info() -> Call[Info]:
    return Call("info", {}, Info.parse)


def stats() -> Call[Stats]:
    return Call("stats", {}, Stats.parse)


def update(memory: Union[int, str, None], cpus: Optional[float],
           pids_limit: Optional[int]) -> Call[Limits]:
    asked = {"memory": None if memory is None else size(memory), "cpus": cpus, "pids": pids_limit}
    return Call("update", {name: bound for name, bound in asked.items() if bound is not None},
                Limits.parse)


def size(value: Union[int, str]) -> int:
    """A size in bytes: a number, or one with k, m, g or t behind it, as in the flags."""
    parts = re.fullmatch(r"(\d+)(?:([kmgt])i?)?b?", str(value).lower())
    if parts is None or isinstance(value, bool):
        raise InvalidError(f"{value!r} is not a size", remedy='such as 512 << 20 or "512m"')
    return int(parts[1]) * 1024 ** " kmgt".index(parts[2] or " ")


def pause() -> Call[str]:
    return Call("pause", {}, _by)


def unpause(force: bool) -> Call[str]:
    return Call("unpause", {"force": True} if force else {}, _by)


def stop(grace: float) -> Call[None]:
    return Call("stop", {"grace": grace}, _nothing, grace + PATIENCE)


def kill() -> Call[None]:
    return Call("kill", {}, _nothing)


def rename(name: str) -> Call[None]:
    return Call("rename", {"name": name}, _nothing)


def release(name: Optional[str]) -> Call[str]:
    return Call("release", {} if name is None else {"name": name},
                lambda r: fields.text(fields.an_object(r, "answer"), "name"))


def cancel(id: int) -> Call[None]:
    return Call("cancel", {"id": id}, _nothing)


def processes() -> Call[List[ProcessInfo]]:
    return Call("exec.list", {}, lambda r: [ProcessInfo.parse(one)
                                            for one in fields.a_list(r, "processes")])


def ports() -> Call[List[Port]]:
    return Call("port.list", {}, lambda r: [Port.parse(one) for one in fields.a_list(r, "ports")])


def net_list() -> Call[NetRules]:
    return Call("net.list", {}, NetRules.parse)


def net_add(rule: Object, at: int) -> Call[NetChange]:
    return Call("net.add", {"rule": rule, "at": at}, NetChange.parse)


def net_remove(rule: Union[str, int]) -> Call[NetChange]:
    return Call("net.remove", {"rule": rule}, NetChange.parse)


def net_set(rules: List[Object]) -> Call[int]:
    return Call("net.set", {"rules": rules},
                lambda r: fields.whole(fields.an_object(r, "answer"), "cut"))


def net_answer(id: int, allow: bool, remember: bool) -> Call[None]:
    return Call("net.answer", {"id": id, "verdict": "allow" if allow else "deny",
                               "remember": remember}, _nothing)


def questions() -> Call[None]:
    """Subscribes to questions, and to no event that is kept."""
    return Call("events.subscribe", {"since": 1 << 53, "asks": True}, _nothing)


def act(action: Mapping[str, object], stream: bool, confirm: bool) -> Call[Object]:
    params: Object = {"action": action}
    if stream:
        params["stream"] = True
    if confirm:
        params["confirm"] = True
    return Call("act", params, lambda r: fields.an_object(r, "observation"), None)


def start(argv: Sequence[str], **params: object) -> Call[Object]:
    """Makes an exec.start; params that are None or False are defaults, and left out."""
    if isinstance(argv, (str, bytes)) or not argv:
        raise InvalidError(f"exec takes a list of words, not {argv!r}",
                           remedy='["sh", "-c", COMMAND] has a shell read it')
    said = {key: value for key, value in params.items() if value is not None and value is not False}
    if isinstance(said.get("env"), Mapping):  # os.environ is not a dict
        said["env"] = dict(cast("Mapping[str, str]", said["env"]))
    return Call("exec.start", {"argv": list(argv), **said},
                lambda r: fields.an_object(r, "process"))


def attach(process: int) -> Call[Object]:
    return Call("exec.attach", {"process": process}, lambda r: fields.an_object(r, "process"))


def wait(process: int) -> Call[Object]:
    return Call("exec.wait", {"process": process}, lambda r: fields.an_object(r, "exit"), None)


def write(process: int, data: bytes, eof: bool) -> Call[None]:
    params: Object = {"process": process, "base64": base64.b64encode(data).decode("ascii")}
    if eof:
        params["eof"] = True
    return Call("exec.write", params, _nothing, None)


def signal(process: int, name: Union[str, int]) -> Call[None]:
    return Call("exec.signal", {"process": process, "signal": name}, _nothing)


def resize(process: int, rows: int, cols: int) -> Call[None]:
    return Call("exec.resize", {"process": process, "rows": rows, "cols": cols}, _nothing)


def copy_out(path: str, follow: bool) -> Call[Object]:
    return Call("copy.out", {"path": path, **({"follow": True} if follow else {})},
                lambda r: fields.an_object(r, "process"))


def copy_in(path: str, name: Optional[str]) -> Call[Object]:
    return Call("copy.in", {"path": path, **({} if name is None else {"name": name})},
                lambda r: fields.an_object(r, "process"))


def write_file(path: str, name: str, parents: bool) -> Call[Object]:
    return Call("copy.in", {"path": path, "name": name, "file": True, "parents": parents},
                lambda r: fields.an_object(r, "process"))


def events(since: int) -> Call[int]:
    return Call("events.subscribe", {"since": since},
                lambda r: fields.whole(fields.an_object(r, "answer"), "next"))


def logs(follow: bool, tail: Optional[int]) -> Call[None]:
    return Call("logs", {"follow": follow, **({} if tail is None else {"tail": tail})}, _nothing,
                None)


def too_late(what: str, timeout: Optional[float]) -> TimeoutError:
    return TimeoutError(f"{what} has not come within {timeout or 0:g} s")


def unanswered(name: str, method: str, patience: Optional[float]) -> TimeoutError:
    return TimeoutError(f"sandbox {name}: {method} was not answered within {patience or 0:g} s",
                        remedy=f"hutch rm -f {name} ends one that is stuck")
