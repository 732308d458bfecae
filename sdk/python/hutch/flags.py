"""The flags of `hutch create` as keyword arguments, under their names with `_` for `-`.

FLAGS has the kind of value of each flag; the tests compare it with `hutch create --help`.
"""
from __future__ import annotations

import datetime
import json
import os
import re
from dataclasses import dataclass, field
from typing import (TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple,
                    Union)

from .errors import InvalidError

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    Path = Union[str, "os.PathLike[str]"]
    Texts = Union[str, Sequence[str]]
    Paths = Union[Path, Sequence[Path]]
    Duration = Union[str, int, float, datetime.timedelta]
    Variables = Union[str, Sequence[str], Mapping[str, Optional[str]]]

    class StartFlags(TypedDict, total=False):
        """The flags of `hutch start`."""

        env: Variables
        env_file: Paths
        secret: Variables
        secret_file: Paths

    class ForkFlags(TypedDict, total=False):
        """The flags of `hutch fork`."""

        policy: Union[Path, Mapping[str, Any], Sequence[Path]]
        main: Union[bool, Sequence[str]]
        restart: str
        stop_signal: Union[str, int]
        stop_timeout: int
        rm: bool
        entrypoint: str
        upper: Path
        keep_files: bool
        volume: Texts
        workspace: Path
        protect: Texts
        protect_missing: bool
        publish: Texts
        toolchain: Paths
        tmpfs: Texts
        read_only: bool
        env: Variables
        env_file: Paths
        secret: Variables
        secret_file: Paths
        workdir: Path
        user: Union[str, int]
        hostname: str
        label: Union[Texts, Mapping[str, str]]
        network: str
        allow: Texts
        deny: Texts
        ask: Texts
        add_host: Texts
        network_join: Texts
        isolation: str
        landlock: str
        idmap: str
        cap_add: Texts
        cap_drop: Texts
        nesting: bool
        seccomp: Path
        memory: Union[str, int]
        cpus: Union[str, int, float]
        pids_limit: Union[str, int]
        disk: Union[str, int]
        cgroup_parent: Path
        best_effort: bool
        ulimit: Union[Texts, Mapping[str, Union[str, int]]]
        timeout: Duration
        ttl: Duration
        idle_timeout: Duration
        sample: Duration
        audit: Path
        rule: Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]]]
        lint: bool
        plugin: Union[str, Sequence[str]]

    class Flags(ForkFlags, total=False):
        """The flags of `hutch create`."""

        image: str
        pull: str


# The kinds of arguments.  switch: True or False; one: one value; many: one value or several; any
# other kind is the name of a method of Words.
FLAGS: Dict[str, str] = {
    "policy": "policy", "image": "one", "pull": "one", "upper": "one", "keep_files": "switch", "volume": "many",
    "workspace": "one", "protect": "many", "protect_missing": "switch", "publish": "many",
    "toolchain": "many",
    "tmpfs": "many",
    "read_only": "switch", "env": "env", "env_file": "many", "secret": "secret",
    "secret_file": "many", "workdir": "one", "user": "one", "hostname": "one", "label": "pairs",
    "network": "one", "allow": "many", "deny": "many", "ask": "many", "add_host": "many",
    "network_join": "many",
    "isolation": "one", "landlock": "one", "idmap": "one",
    "cap_add": "many", "cap_drop": "many", "nesting": "switch", "seccomp": "one", "memory": "one", "cpus": "one",
    "pids_limit": "one", "disk": "one", "cgroup_parent": "one", "best_effort": "switch",
    "ulimit": "pairs", "timeout": "duration", "ttl": "duration", "idle_timeout": "duration",
    "sample": "duration",
    "audit": "one", "plugin": "many", "rule": "rule", "lint": "switch",
    "main": "main", "restart": "one", "stop_signal": "one", "stop_timeout": "one", "entrypoint": "one", "rm": "switch",
}
NOT_FORK = ("image", "pull")
# This flag has another name than in hutch, since the argument `keep` already decides whether the
# sandbox lives on after a `with` block.
RENAMED = {"keep_files": "keep"}
NOT_START = tuple(sorted(set(FLAGS) - {"env", "env_file", "secret", "secret_file"}))

# Variables that hutch itself or its C library reads.
TAKEN = re.compile(r"PATH|HOME|TMPDIR|(XDG|LD|SUDO|HUTCH|DBUS|LC|GLIBC|MALLOC)_.*|LANG|TZ")

# Keys of a policy whose values are paths; in a file they are relative to the file's folder.
_POLICY_PATHS = ("upper", "workspace", "seccomp", "audit", "extends", "mounts", "toolchains", "plugins",
                 "env_files", "secret_files")


@dataclass
class Words:
    """The arguments, additional environment and stdin of a program that is to be started.
    `command`: the words behind the name of the sandbox."""

    argv: List[str] = field(default_factory=list)
    command: List[str] = field(default_factory=list)
    environ: Dict[str, str] = field(default_factory=dict)
    stdin: Optional[bytes] = None

    def switch(self, flag: str, value: object) -> None:
        if not isinstance(value, bool):
            raise InvalidError(f"{_keyword(flag)} takes True or False, not {value!r}")
        if value:
            self.argv.append(flag)

    def one(self, flag: str, value: object) -> None:
        self.argv += [flag, _word(flag, value)]

    def main(self, flag: str, value: object) -> None:
        """The value is True, or the command."""
        if isinstance(value, bool):
            return self.switch(flag, value)
        self.switch(flag, True)
        self.command = ["--", *(_word(flag, one) for one in _each(value))]

    def many(self, flag: str, value: object) -> None:
        for one in _each(value):
            self.one(flag, one)

    def duration(self, flag: str, value: object) -> None:
        if isinstance(value, datetime.timedelta):
            value = value.total_seconds()
        if isinstance(value, float):  # hutch takes no exponent in a duration
            value = f"{value:.3f}s"
        self.one(flag, value)

    def env(self, flag: str, value: object) -> None:
        if not isinstance(value, Mapping):
            return self.many(flag, value)
        for name, text in value.items():
            self.one(flag, name if text is None else f"{name}={_word(flag, text)}")

    def secret(self, flag: str, value: object) -> None:
        """The value is passed in the environment, since every user can read the arguments of a
        process."""
        pairs: Iterable[Tuple[Any, Any]] = (value.items() if isinstance(value, Mapping) else
                                            (_pair(flag, one) for one in _each(value)))
        for name, text in pairs:
            if text is not None and TAKEN.fullmatch(name):
                raise InvalidError(f"secret: hutch itself reads the variable {name}",
                                   remedy="secret_file= can set it")
            self.one(flag, name)
            if text is not None:
                self.environ[name] = _word(flag, text)

    def pairs(self, flag: str, value: object) -> None:
        self.many(flag, [f"{name}={one}" for name, one in value.items()]
                  if isinstance(value, Mapping) else value)

    def rule(self, flag: str, value: object) -> None:
        for one in [value] if isinstance(value, Mapping) else _each(value):
            self.one(flag, json.dumps(one) if isinstance(one, Mapping) else one)

    def policy(self, flag: str, value: object) -> None:
        if not isinstance(value, Mapping):
            return self.many(flag, value)
        try:
            text = json.dumps({"version": 1, **absolute(value, os.getcwd())})
        except (TypeError, ValueError) as e:
            raise InvalidError(f"policy: it cannot be written as JSON: {e}") from e
        self.stdin = text.encode()
        self.one(flag, "/dev/stdin")


def words(flags: Mapping[str, Any], without: Sequence[str] = ()) -> Words:
    """Converts keyword arguments to words; None stands for a flag that is not given."""
    made = Words()
    for name, value in flags.items():
        if name not in FLAGS or name in without:
            raise TypeError(f"there is no flag {name!r}; those of hutch create are "
                            + ", ".join(sorted(set(FLAGS) - set(without))))
        if value is not None:
            getattr(made, FLAGS[name])("--" + RENAMED.get(name, name).replace("_", "-"), value)
    return made


def absolute(policy: Mapping[str, Any], base: str) -> Dict[str, Any]:
    """Makes the paths in a policy that is no file absolute, below `base`."""
    made = dict(policy)
    for key in _POLICY_PATHS:
        if key in made:
            made[key] = _below(base, key, made[key])
    limits = made.get("limits")
    if isinstance(limits, Mapping) and "cgroup_parent" in limits:
        made["limits"] = {**limits, "cgroup_parent": _below(base, "", limits["cgroup_parent"])}
    if str(made.get("image", "")).startswith("dir:"):
        made["image"] = "dir:" + os.path.join(base, made["image"][4:])
    return made


def _below(base: str, key: str, value: Any) -> Any:
    if isinstance(value, Mapping):  # {"replace": [...]}
        return {name: _below(base, key, one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_below(base, key, one) for one in value]
    if not isinstance(value, str) or value.startswith("~/"):
        return value
    if key == "extends" and "/" not in value and not value.endswith(".json"):
        return value  # the name of a profile in hutch
    if key in ("audit", "plugins") and "/" not in value:
        return value  # on, off, the name of a plugin
    return os.path.join(base, value)


def _each(value: object) -> List[Any]:
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _pair(flag: str, one: object) -> Tuple[str, Optional[str]]:
    name, equals, text = _word(flag, one).partition("=")
    return name, text if equals else None


def _word(flag: str, value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidError(f"{_keyword(flag)}: {value!r} is not a value of this flag")
    text = str(value)
    if "\0" in text:
        raise InvalidError(f"{_keyword(flag)}: there is a NUL in {text!r}")
    return text


def _keyword(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")
