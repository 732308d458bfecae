"""Observations, the answers to an agent's actions, with types: docs/actions.md.

`raw` of each is the JSON object as it came.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

from . import fields, microagents as agents
from .errors import ActionError, CommandError, ERROR_IDS, FileMissingError
from .fields import Object

T = TypeVar("T")


@dataclass
class Refusal:
    """A refusal by hutch: the layer that refused, and the change that would allow the action."""

    what: str
    path: Optional[str]
    layer: str
    rule: Optional[str]
    remedy: Optional[str]
    count: Optional[int] = None


@dataclass
class Stat:
    """The type, size, mode, owner and time of a path."""

    type: str
    size: int
    mode: int
    uid: int
    gid: int
    mtime: float
    target: Optional[str]


@dataclass
class Repository:
    """The state of a repository: its branch, its commit, and how many commits that is ahead of
    its upstream and behind it.  None: there is none."""

    branch: Optional[str]
    commit: Optional[str]
    upstream: Optional[str]
    ahead: Optional[int]
    behind: Optional[int]

    @property
    def has_diverged(self) -> bool:
        return bool(self.ahead and self.behind)


@dataclass(frozen=True)
class GitChange:
    """`status`: A added, M modified, D deleted, U unmerged."""

    status: str
    path: str


@dataclass
class GitDiff:
    """A file as it is and as it was; None: it does not exist."""

    modified: Optional[str]
    original: Optional[str]


@dataclass
class Hutch:
    """The part of an observation that only hutch has."""

    log: Optional[str]
    truncated_chars: int
    restarted: bool
    previous: Optional[str]
    refused: List[Refusal]
    took_ms: float
    stat: Optional[Stat] = None
    git: Optional[Repository] = None
    changes: Optional[List[GitChange]] = None
    diff: Optional[GitDiff] = None
    microagents: Optional[List[agents.Microagent]] = None
    data: Dict[str, str] = field(default_factory=dict)
    note: Optional[str] = None


@dataclass
class Observation:
    """Any observation.  `observation` is its kind, `content` the text for the agent."""

    observation: str
    message: str
    content: str
    cause: Optional[int]
    hutch: Hutch
    extras: Object
    raw: Object = field(repr=False)

    @property
    def refused(self) -> List[Refusal]:
        return self.hutch.refused


@dataclass
class RunObservation(Observation):
    """The observation of a command, or of input to one.  `exit_code` is -1 while the command
    runs."""

    command: str
    exit_code: int
    pid: int
    working_dir: Optional[str]
    prefix: str
    suffix: str

    @property
    def is_running(self) -> bool:
        """Whether the command still runs: it had no output for a while, or its time is over."""
        return self.exit_code == -1

    @property
    def text(self) -> str:
        """The content with the lines before and behind it, as agents get it."""
        return self.prefix + self.content + self.suffix

    def check(self) -> RunObservation:
        """Returns the observation, or raises CommandError if the exit code is not 0."""
        if self.exit_code:
            error = CommandError(f"`{self.command[:80]}`: " + (
                "it goes on" if self.is_running else f"exit code {self.exit_code}")
                + (f": {self.content.strip()[-400:]}" if self.content.strip() else ""))
            error.exit_code = self.exit_code
            raise error
        return self


@dataclass
class IPythonObservation(Observation):
    """The observation of a cell.  `image_urls` are its pictures, as `data:` URLs; SVG, HTML and
    others are texts in `hutch.data`."""

    code: str
    image_urls: List[str]


@dataclass
class BrowserObservation(Observation):
    """The observation of browse and browse_interactive.  `screenshot` and `set_of_marks` are
    `data:` URLs, or empty; `error` says that the last browser action failed, and
    `last_browser_action_error` how."""

    url: str
    error: bool
    screenshot: str
    set_of_marks: str
    open_pages_urls: List[str]
    active_page_index: int
    last_browser_action_error: str


@dataclass
class PathObservation(Observation):
    """The observation of write, mkdir and remove."""

    path: str


@dataclass
class ReadObservation(PathObservation):
    """`content` is the file's text."""


@dataclass
class EditObservation(PathObservation):
    """`diff` is what the edit has changed."""

    diff: str


@dataclass
class MoveObservation(PathObservation):
    """The observation of a move."""

    to: str


@dataclass
class StatObservation(PathObservation):
    """The observation of a stat; `stat` is for programs."""

    stat: Stat


@dataclass
class NamesObservation(PathObservation):
    """The observation of list, glob and grep, with one result in each of `lines`.  If results
    are missing, the last line is a sentence in brackets."""

    @property
    def lines(self) -> List[str]:
        return self.content.split("\n") if self.content else []


@dataclass
class RepositoryObservation(PathObservation):
    """The observation of git_clone and git_branch."""

    repository: Repository


@dataclass
class ChangesObservation(PathObservation):
    """The observation of git_changes.  `is_cut`: `changes` does not have all of them."""

    changes: List[GitChange]

    @property
    def is_cut(self) -> bool:
        return self.hutch.truncated_chars > 0


@dataclass
class DiffObservation(PathObservation):
    """The observation of git_diff."""

    diff: GitDiff


@dataclass
class MicroagentsObservation(PathObservation):
    """The observation of microagents.  `is_cut`: they have more than 1 MiB."""

    microagents: List[agents.Microagent]

    @property
    def is_cut(self) -> bool:
        return self.hutch.truncated_chars > 0


@dataclass
class EnvObservation(Observation):
    """The observation of env, with the names of the changed variables, but no values."""

    set: List[str]
    unset: List[str]
    secret: List[str]


@dataclass
class ErrorObservation(Observation):
    """The action was not done; `content` tells the agent why."""

    error_id: str


@dataclass
class NullObservation(Observation):
    """The observation of a cancel and of confirm, without content."""


def _refusal(value: object) -> Refusal:
    o = fields.an_object(value, "refused")
    return Refusal(fields.text(o, "what"), fields.text_or_none(o, "path"),
                   fields.text(o, "layer"), fields.text_or_none(o, "rule"),
                   fields.text_or_none(o, "remedy"), fields.whole_or_none(o, "count"))


def _stat(value: object) -> Stat:
    o = fields.an_object(value, "stat")
    return Stat(fields.text(o, "type"), fields.whole(o, "size"), fields.whole(o, "mode"),
                fields.whole(o, "uid"), fields.whole(o, "gid"), fields.number(o, "mtime"),
                fields.text_or_none(o, "target"))


def _repository(value: object) -> Repository:
    o = fields.an_object(value, "git")
    return Repository(fields.text_or_none(o, "branch"), fields.text_or_none(o, "commit"),
                      fields.text_or_none(o, "upstream"), fields.whole_or_none(o, "ahead"),
                      fields.whole_or_none(o, "behind"))


def _change(value: object) -> GitChange:
    o = fields.an_object(value, "changes")
    return GitChange(fields.text(o, "status"), fields.text(o, "path"))


def _diff(value: object) -> GitDiff:
    o = fields.an_object(value, "diff")
    return GitDiff(fields.text_or_none(o, "modified"), fields.text_or_none(o, "original"))


def _microagent(value: object) -> agents.Microagent:
    o = fields.an_object(value, "microagents")
    return agents.parse(fields.text(o, "path"), fields.text_or_none(o, "content"))


def _list_of(o: Object, key: str, parse: Callable[[object], T]) -> Optional[List[T]]:
    return None if o.get(key) is None else [parse(one) for one in fields.a_list(o[key], key)]


def _hutch(value: object) -> Hutch:
    o = fields.an_object(value, "hutch")
    return Hutch(fields.text_or_none(o, "log"), fields.whole(o, "truncated_chars"),
                 fields.flag(o, "restarted"), fields.text_or_none(o, "previous"),
                 [_refusal(one) for one in fields.a_list(o.get("refused"), "refused")],
                 fields.number(o, "took_ms"), _stat(o["stat"]) if o.get("stat") else None,
                 _repository(o["git"]) if o.get("git") else None,
                 _list_of(o, "changes", _change), _diff(o["diff"]) if o.get("diff") else None,
                 _list_of(o, "microagents", _microagent), fields.text_map(o, "data"),
                 fields.text_or_none(o, "note"))


def _run(x: Object, hutch: Hutch) -> Tuple[Any, ...]:
    m = fields.an_object(x.get("metadata"), "metadata")
    return (fields.text(x, "command"), fields.whole(m, "exit_code"), fields.whole(m, "pid"),
            fields.text_or_none(m, "working_dir"), fields.text_or_none(m, "prefix") or "",
            fields.text_or_none(m, "suffix") or "")


def _ipython(x: Object, hutch: Hutch) -> Tuple[Any, ...]:
    urls = [] if x.get("image_urls") is None else fields.texts(x, "image_urls")
    return (fields.text(x, "code"), urls)


def _browser(x: Object, hutch: Hutch) -> Tuple[Any, ...]:
    pages = [] if x.get("open_pages_urls") is None else fields.texts(x, "open_pages_urls")
    return (fields.text_or_none(x, "url") or "", bool(x.get("error")),
            fields.text_or_none(x, "screenshot") or "", fields.text_or_none(x, "set_of_marks") or "",
            pages, fields.whole_or_none(x, "active_page_index") or 0,
            fields.text_or_none(x, "last_browser_action_error") or "")


def _path(x: Object, hutch: Hutch) -> Tuple[Any, ...]:
    return (fields.text(x, "path"),)


def _stated(x: Object, hutch: Hutch) -> Tuple[Any, ...]:
    if hutch.stat is None:
        raise fields.wrong("stat", None)
    return (fields.text(x, "path"), hutch.stat)


def _of_hutch(key: str) -> Callable[[Object, Hutch], Tuple[Any, ...]]:
    """A parser for the path and the required fields of hutch's own part."""
    def parts(x: Object, hutch: Hutch) -> Tuple[Any, ...]:
        value = getattr(hutch, key)
        if value is None:
            raise fields.wrong(key, None)
        return (fields.text(x, "path"), value)
    return parts


_KINDS: Dict[str, Tuple[Type[Observation], Callable[[Object, Hutch], Tuple[Any, ...]]]] = {
    "run": (RunObservation, _run),
    "run_ipython": (IPythonObservation, _ipython),
    "browse": (BrowserObservation, _browser),
    "read": (ReadObservation, _path),
    "write": (PathObservation, _path),
    "remove": (PathObservation, _path),
    "mkdir": (PathObservation, _path),
    "list": (NamesObservation, _path),
    "glob": (NamesObservation, _path),
    "grep": (NamesObservation, _path),
    "edit": (EditObservation, lambda x, h: (fields.text(x, "path"), fields.text(x, "diff"))),
    "move": (MoveObservation, lambda x, h: (fields.text(x, "path"), fields.text(x, "to"))),
    "stat": (StatObservation, _stated),
    "git_clone": (RepositoryObservation, _of_hutch("git")),
    "git_branch": (RepositoryObservation, _of_hutch("git")),
    "git_changes": (ChangesObservation, _of_hutch("changes")),
    "git_diff": (DiffObservation, _of_hutch("diff")),
    "git_setup": (PathObservation, _path),
    "install_git_hooks": (PathObservation, _path),
    "microagents": (MicroagentsObservation, _of_hutch("microagents")),
    "env": (EnvObservation, lambda x, h: (fields.texts(x, "set"), fields.texts(x, "unset"),
                                          fields.texts(x, "secret"))),
    "error": (ErrorObservation, lambda x, h: (fields.text(x, "error_id"),)),
    "null": (NullObservation, lambda x, h: ()),
}


def observation(value: object) -> Observation:
    """Parses the object of an answer; an unknown kind gives an Observation."""
    o = fields.an_object(value, "observation")
    hutch = _hutch(o.get("hutch"))
    extras = fields.an_object(o.get("extras"), "extras")
    kind = fields.text(o, "observation")
    made, parts = _KINDS.get(kind, (Observation, lambda x, h: ()))
    parsed: Observation = made(kind, fields.text(o, "message"), fields.text(o, "content"),
                               fields.whole_or_none(o, "cause"), hutch, extras, o,
                               *parts(extras, hutch))
    return parsed


_EDITOR_MISSING = re.compile(
    r"ERROR:\nInvalid `path` parameter: (.*)\. The path \1 does not exist\. ", re.S)


def raise_if_not_done(o: Observation) -> None:
    """Raises an exception for an observation which says that the action was not done."""
    if isinstance(o, ErrorObservation):
        made = ERROR_IDS.get(o.error_id, ActionError)
        if made is ActionError and o.content.startswith("File not found: "):
            made = FileMissingError
    elif o.extras.get("impl_source") == "oh_aci" and o.content.startswith("ERROR:\n"):
        # The editor's errors begin with this text; the text of a file that it shows begins
        # otherwise.
        made = FileMissingError if _EDITOR_MISSING.match(o.content) else ActionError
    else:
        return
    remedy = next((one.remedy for one in o.refused if one.remedy), None)
    error = made(_sentence(o.content), remedy=remedy)
    error.observation = o
    raise error


def _sentence(content: str) -> str:
    for mark in ("ERROR:\n", "ERROR: "):
        if content.startswith(mark):
            return content[len(mark):]
    return content
