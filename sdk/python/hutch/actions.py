"""Actions as JSON objects: docs/actions.md."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

from .errors import InvalidError
from .fields import Object

CANCELLABLE = -2
"""Stands for an id: the request's own number is used, so that `cause` and cancel() know it."""


def action(kind: str, args: Mapping[str, Any], session: Optional[str] = None,
           timeout: Optional[float] = None) -> Object:
    """Makes an action; arguments that are None are left out."""
    return {**_without_id(kind, args, session, timeout), "id": CANCELLABLE}


def _without_id(kind: str, args: Mapping[str, Any], session: Optional[str] = None,
                timeout: Optional[float] = None) -> Object:
    """Makes an action without an id: for short ones that change nothing, so that the supervisor
    keeps no answer for repeats."""
    o: Object = {"action": kind, "args": {k: v for k, v in args.items() if v is not None}}
    if session is not None:
        o["session"] = session
    if timeout is not None:
        o["timeout"] = timeout
    return o


def run(command: str, *, session: Optional[str] = None, timeout: Optional[float] = None,
        is_input: bool = False, blocking: bool = False, hidden: bool = False,
        is_static: bool = False, cwd: Optional[str] = None) -> Object:
    if blocking and timeout is None:
        raise InvalidError("run: blocking needs a timeout")
    switches = {"is_input": is_input, "blocking": blocking, "hidden": hidden,
                "is_static": is_static}
    return action("run", {"command": command, "cwd": cwd,
                          **{k: True for k, is_on in switches.items() if is_on}}, session, timeout)


def ipython(code: str, *, session: Optional[str] = None,
            timeout: Optional[float] = None) -> Object:
    return action("run_ipython", {"code": code}, session, timeout)


def browse(url: str, *, session: Optional[str] = None, timeout: Optional[float] = None) -> Object:
    return action("browse", {"url": url}, session, timeout)


def browse_interactive(browser_actions: str, *, session: Optional[str] = None,
                       timeout: Optional[float] = None) -> Object:
    return action("browse_interactive", {"browser_actions": browser_actions}, session, timeout)


def confirm(ask: int, allow: bool) -> Object:
    return _without_id("confirm", {"ask": ask, "allow": allow})


def cancel(action: Mapping[str, Any]) -> Optional[Object]:
    """The action that cancels `action`, if its caller gave it an id."""
    id = action.get("id")
    if type(id) is not int or id < 0:
        return None
    return {"action": "cancel", "client": action["client"], "args": {"id": id}}


def _relative(path: object) -> Optional[bool]:
    """`relative`, for the actions that accept relative paths only with it."""
    return True if isinstance(path, str) and not path.startswith("/") else None


def read(path: str, start: Optional[int] = None, end: Optional[int] = None,
         session: Optional[str] = None) -> Object:
    return _without_id("read", {"path": path, "start": start, "end": end}, session)


def view(path: str, view_range: Optional[Sequence[int]] = None,
         session: Optional[str] = None) -> Object:
    return _without_id("read", {"path": path, "impl_source": "oh_aci", "view_range":
                                None if view_range is None else list(view_range),
                                "relative": _relative(path)}, session)


def write(path: str, content: str, start: Optional[int] = None, end: Optional[int] = None,
          session: Optional[str] = None) -> Object:
    return action("write", {"path": path, "content": content, "start": start, "end": end},
                  session)


def edit(path: str, command: str, *, old_str: Optional[str] = None,
         new_str: Optional[str] = None, file_text: Optional[str] = None,
         insert_line: Optional[int] = None, session: Optional[str] = None) -> Object:
    return action("edit", {"path": path, "command": command, "old_str": old_str,
                           "new_str": new_str, "file_text": file_text,
                           "insert_line": insert_line, "relative": _relative(path)}, session)


def env(set: Optional[Mapping[str, str]] = None, unset: Optional[Sequence[str]] = None,
        secret: Union[bool, Sequence[str], None] = None,
        session: Optional[str] = None) -> Object:
    return action("env", {"set": dict(set) if set else None,
                          "unset": list(unset) if unset else None,
                          "secret": secret if secret is None or isinstance(secret, bool)
                          else list(secret)}, session)
