"""Checks the types of values that came over a socket.

A wrong type raises ProtocolError.  Unknown keys are ignored, since a newer hutch may have more
of them.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional

from .errors import ProtocolError

Object = Dict[str, Any]


def wrong(what: str, value: object) -> ProtocolError:
    return ProtocolError(f"the supervisor's {what} is not as in docs/control.md: "
                         f"{repr(value)[:120]}")


def an_object(value: object, what: str) -> Object:
    if not isinstance(value, dict):
        raise wrong(what, value)
    return value


def a_list(value: object, what: str) -> List[Any]:
    if not isinstance(value, list):
        raise wrong(what, value)
    return value


def text(o: Object, key: str) -> str:
    value = o.get(key)
    if not isinstance(value, str):
        raise wrong(key, value)
    return value


def text_or_none(o: Object, key: str) -> Optional[str]:
    value = o.get(key)
    if value is not None and not isinstance(value, str):
        raise wrong(key, value)
    return value


def whole(o: Object, key: str) -> int:
    value = o.get(key)
    if type(value) is not int:  # bool is a subclass
        raise wrong(key, value)
    return value


def whole_or_none(o: Object, key: str) -> Optional[int]:
    return None if o.get(key) is None else whole(o, key)


def number(o: Object, key: str) -> float:
    value = o.get(key)
    if type(value) is not int and type(value) is not float:
        raise wrong(key, value)
    return float(value)


def number_or_none(o: Object, key: str) -> Optional[float]:
    return None if o.get(key) is None else number(o, key)


def flag(o: Object, key: str) -> bool:
    value = o.get(key)
    if not isinstance(value, bool):
        raise wrong(key, value)
    return value


def text_map(o: Object, key: str) -> Dict[str, str]:
    value = o.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise wrong(key, value)
    return value


def texts(o: Object, key: str) -> List[str]:
    value = a_list(o.get(key), key)
    if not all(isinstance(one, str) for one in value):
        raise wrong(key, value)
    return value
