"""Reads a file of instructions for agents, of a repository or an organisation.

Between two lines `---` at its beginning there are lines `key: value`; a list is `[a, b]`, or
lines `- value` below its key.  Such files use no more of YAML; the parser ignores everything
else, and takes the default for a value of a wrong type.  The texts may be hostile."""
from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple, Union

Value = Union[str, List[str]]

_HEAD_MAX = 64 << 10
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?:\s+(.*))?$")
_ITEM = re.compile(r"\s*-\s+(.*)$")
# The pattern has `\s`, not `\s+`: with `\s+` a search in 64 KiB of blanks would begin again at
# each blank and take half a minute.
_COMMENT = re.compile(r"(?:^|\s)#")
_TYPES = ("repo", "knowledge", "task")


@dataclass(frozen=True)
class Microagent:
    """`text` is for the model; `content` is the whole file, or None if it was too large.  The
    `type` says when the model gets the text: `knowledge` when a message has one of `triggers`,
    `task` when it is asked for, `repo` always."""

    path: str
    name: str
    type: str
    triggers: Tuple[str, ...]
    text: str = field(repr=False)
    content: Optional[str] = field(repr=False)


def _plain(text: str) -> str:
    """A value without the quotes around it, or a comment behind it."""
    text = text.strip()
    end = text.find(text[0], 1) if text[:1] in ("'", '"') else -1
    if end > 0:
        return text[1:end]
    comment = _COMMENT.search(text)
    return text[:comment.start()].rstrip() if comment else text


def _value(text: str) -> Value:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [one for one in map(_plain, text[1:-1].split(",")) if one]
    return _plain(text)


def _head(lines: List[str]) -> Dict[str, Value]:
    found: Dict[str, Value] = {}
    key = ""
    for line in lines:
        item, pair = _ITEM.match(line), _KEY.match(line)
        if pair:
            key = pair.group(1)
            found[key] = _value(pair.group(2) or "")
        elif item and key:
            items = found[key]
            if not isinstance(items, list):
                items = []
                found[key] = items
            items.append(_plain(item.group(1)))
    return found


def _split(content: str) -> Tuple[Dict[str, Value], str]:
    """Splits a file into its head and the text behind that."""
    lines = content[:_HEAD_MAX].splitlines(keepends=True)
    if not lines or lines[0].strip() != "---":
        return {}, content
    for number, line in enumerate(lines[1:], 1):
        if line.strip() == "---":
            behind = sum(map(len, lines[:number + 1]))
            return _head([one.rstrip() for one in lines[1:number]]), content[behind:]
    return {}, content


def _default_name(path: str) -> str:
    base = posixpath.basename(path)
    return base[:-3] if base.endswith(".md") else base


def parse(path: str, content: Optional[str]) -> Microagent:
    head, text = _split(content or "")
    name, kind, triggers = head.get("name"), head.get("type"), head.get("triggers")
    is_list = isinstance(triggers, list)
    usual = "knowledge" if triggers and is_list else "repo"
    return Microagent(path, name if isinstance(name, str) and name else _default_name(path),
                      kind if isinstance(kind, str) and kind in _TYPES else usual,
                      tuple(triggers) if isinstance(triggers, list) else (), text.strip(), content)
