"""The supervisor's answers other than observations, with types: docs/control.md."""
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Optional, Tuple

from . import fields
from .fields import Object


class Status(str, enum.Enum):
    """The states of a sandbox.  `runtime_status` is OpenHands' name for it."""

    BUILDING = "building"
    STARTING = "starting"
    STARTED = "started"
    READY = "ready"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"
    ERROR = "error"
    DISCONNECTED = "disconnected"
    SETTING_UP_WORKSPACE = "setting_up_workspace"
    """While a call of ours is at it; the sandbox is ready."""
    SETTING_UP_GIT_HOOKS = "setting_up_git_hooks"

    @property
    def runtime_status(self) -> str:
        return _RUNTIME_STATUS[self]


_RUNTIME_STATUS = {
    Status.BUILDING: "STATUS$BUILDING_RUNTIME", Status.STARTING: "STATUS$STARTING_RUNTIME",
    Status.STARTED: "STATUS$RUNTIME_STARTED", Status.READY: "STATUS$READY",
    Status.PAUSED: "STATUS$STOPPED", Status.STOPPING: "STATUS$STOPPED",
    Status.ENDED: "STATUS$STOPPED", Status.ERROR: "STATUS$ERROR",
    Status.DISCONNECTED: "STATUS$ERROR_RUNTIME_DISCONNECTED",
    Status.SETTING_UP_WORKSPACE: "STATUS$SETTING_UP_WORKSPACE",
    Status.SETTING_UP_GIT_HOOKS: "STATUS$SETTING_UP_GIT_HOOKS",
}


@dataclass(frozen=True)
class Exit:
    """How a process ended."""

    process: int
    exit_code: int
    signal: Optional[int]
    timed_out: bool
    user_s: float
    sys_s: float
    error: Optional[str] = None
    """Of a copy: the kind of what went wrong."""

    @classmethod
    def parse(cls, o: Object) -> Exit:
        return cls(fields.whole(o, "process"), fields.whole(o, "exit_code"),
                   fields.whole_or_none(o, "signal"), fields.flag(o, "timed_out"),
                   fields.number(o, "user_s"), fields.number(o, "sys_s"),
                   fields.text_or_none(o, "error"))


@dataclass(frozen=True)
class Limits:
    """The limits of a sandbox; None: no limit was asked for."""

    memory: Optional[int]
    cpus: Optional[float]
    pids: Optional[int]
    disk: Optional[int]

    @classmethod
    def parse(cls, value: object) -> Limits:
        o = fields.an_object(value, "limits")
        return cls(fields.whole_or_none(o, "memory"), fields.number_or_none(o, "cpus"),
                   fields.whole_or_none(o, "pids"), fields.whole_or_none(o, "disk"))


@dataclass(frozen=True)
class Plugin:
    """A plugin of a sandbox (docs/plugins.md).  `state` is "waiting", "starting", "ready" or
    "failed", for the reason `error`; `url` is the address of its published port."""

    name: str
    state: str
    error: Optional[str]
    version: Optional[str]
    url: Optional[str]

    @classmethod
    def parse(cls, value: object) -> Plugin:
        o = fields.an_object(value, "plugin")
        return cls(fields.text(o, "name"), fields.text(o, "state"), fields.text_or_none(o, "error"),
                   fields.text_or_none(o, "version"), fields.text_or_none(o, "url"))


@dataclass(frozen=True)
class Info:
    """The properties of a sandbox."""

    name: str
    id: str
    image: str
    state: Status
    created: str
    isolation: str
    workspace: Optional[str]
    limits: Limits
    network: str
    pid: int
    version: str
    confined: str
    degraded: Tuple[str, ...]
    unprotected: Optional[str]
    network_form: Optional[str] = None
    plugins: Tuple[Plugin, ...] = ()

    @classmethod
    def parse(cls, value: object) -> Info:
        o = fields.an_object(value, "info")
        limits = Limits.parse(o.get("limits"))
        network = fields.an_object(o.get("network"), "info.network")
        return cls(fields.text(o, "name"), fields.text(o, "id"), fields.text(o, "image"),
                   status(o, "state"), fields.text(o, "created"), fields.text(o, "isolation"),
                   fields.text_or_none(o, "workspace"), limits, fields.text(network, "mode"),
                   fields.whole(o, "pid"), fields.text(o, "version"), fields.text(o, "confined"),
                   tuple(fields.texts(o, "degraded")), fields.text_or_none(o, "unprotected"),
                   fields.text_or_none(network, "form"),
                   tuple(Plugin.parse(one) for one in fields.a_list(o.get("plugins"), "plugins")))


def status(o: Object, key: str) -> Status:
    word = fields.text(o, key)
    try:
        return Status(word)
    except ValueError:
        raise fields.wrong(key, word) from None


@dataclass(frozen=True)
class Stats:
    """The current use of resources by a sandbox."""

    cpu_s: Optional[float]
    memory_bytes: Optional[int]
    memory_limit: Optional[int]
    pids: Optional[int]
    pids_limit: Optional[int]
    by: str

    @classmethod
    def parse(cls, value: object) -> Stats:
        o = fields.an_object(value, "stats")
        return cls(fields.number_or_none(o, "cpu_s"), fields.whole_or_none(o, "memory_bytes"),
                   fields.whole_or_none(o, "memory_limit"), fields.whole_or_none(o, "pids"),
                   fields.whole_or_none(o, "pids_limit"), fields.text(o, "by"))


@dataclass(frozen=True)
class Port:
    """A port of the host, "IP:PORT" or the path of a unix socket, that leads to one inside."""

    host: str
    guest: int
    connections: int

    @classmethod
    def parse(cls, value: object) -> Port:
        o = fields.an_object(value, "port")
        return cls(fields.text(o, "host"), fields.whole(o, "guest"), fields.whole(o, "connections"))


@dataclass(frozen=True)
class NetRule:
    """A rule about connections.  `verdict` is "allow", "deny" or "ask"; `raw` has all members."""

    verdict: str
    target: str
    why: Optional[str]
    raw: Object

    @classmethod
    def parse(cls, value: object) -> NetRule:
        o = fields.an_object(value, "rule")
        for verdict in ("allow", "deny", "ask"):
            if verdict in o:
                return cls(verdict, fields.text(o, verdict), fields.text_or_none(o, "why"), o)
        raise fields.wrong("rule", value)


@dataclass(frozen=True)
class NetQuestion:
    """A connection to `name`, which may be an address, waits for an answer."""

    id: int
    name: str
    port: int

    @classmethod
    def parse(cls, value: object) -> NetQuestion:
        o = fields.an_object(value, "question")
        return cls(fields.whole(o, "id"), fields.text(o, "name"), fields.whole(o, "port"))


@dataclass(frozen=True)
class NetConnection:
    """An open connection.  `name` is None if a program has connected to an address, and `address`
    if it has connected to another sandbox; `up` and `down` are bytes to the server and from it."""

    id: int
    name: Optional[str]
    address: Optional[str]
    port: int
    since: str
    up: int
    down: int

    @classmethod
    def parse(cls, value: object) -> NetConnection:
        o = fields.an_object(value, "connection")
        return cls(fields.whole(o, "id"), fields.text_or_none(o, "name"),
                   fields.text_or_none(o, "address"), fields.whole(o, "port"),
                   fields.text(o, "since"), fields.whole(o, "up"), fields.whole(o, "down"))


@dataclass(frozen=True)
class NetRules:
    """The rules about connections, in their order, the questions that wait, the ports that have
    a listener (None: each port has one), and connections: `open` are there, of which the newest
    are listed, the newest first."""

    rules: Tuple[NetRule, ...]
    questions: Tuple[NetQuestion, ...]
    ports: Optional[Tuple[int, ...]]
    open: int
    connections: Tuple[NetConnection, ...]

    @classmethod
    def parse(cls, value: object) -> NetRules:
        o = fields.an_object(value, "rules")
        ports = None if o.get("ports") is None else fields.a_list(o.get("ports"), "ports")
        return cls(tuple(NetRule.parse(one) for one in fields.a_list(o.get("rules"), "rules")),
                   tuple(NetQuestion.parse(one)
                         for one in fields.a_list(o.get("questions"), "questions")),
                   None if ports is None else tuple(ports), fields.whole(o, "open"),
                   tuple(NetConnection.parse(one)
                         for one in fields.a_list(o.get("connections"), "connections")))


@dataclass(frozen=True)
class NetChange:
    """A rule that was added or removed, its number, and how many connections were closed."""

    index: int
    rule: NetRule
    cut: int

    @classmethod
    def parse(cls, value: object) -> NetChange:
        o = fields.an_object(value, "answer")
        return cls(fields.whole(o, "index"), NetRule.parse(o.get("rule")), fields.whole(o, "cut"))


@dataclass(frozen=True)
class ProcessInfo:
    """A process of exec.list."""

    process: int
    pid: int
    program: str
    tty: bool
    started: str
    state: str
    exit_code: Optional[int]
    detached: bool

    @classmethod
    def parse(cls, value: object) -> ProcessInfo:
        o = fields.an_object(value, "process")
        return cls(fields.whole(o, "process"), fields.whole(o, "pid"), fields.text(o, "program"),
                   fields.flag(o, "tty"), fields.text(o, "started"), fields.text(o, "state"),
                   fields.whole_or_none(o, "exit_code"), fields.flag(o, "detached"))


@dataclass(frozen=True)
class End:
    """How a sandbox ended."""

    reason: str
    exit_code: int
    limit: Optional[str]
    message: Optional[str]
    remedy: Optional[str]
    ended: str

    @classmethod
    def parse(cls, value: object) -> End:
        o = fields.an_object(value, "record")
        return cls(fields.text(o, "reason"), fields.whole(o, "exit_code"),
                   fields.text_or_none(o, "limit"), fields.text_or_none(o, "message"),
                   fields.text_or_none(o, "remedy"), fields.text(o, "ended"))


@dataclass(frozen=True)
class Event:
    """An event in a sandbox; `raw` has the event's own members."""

    event: str
    n: Optional[int]
    time: Optional[str]
    raw: Object

    @classmethod
    def parse(cls, o: Object) -> Event:
        return cls(fields.text(o, "event"), fields.whole_or_none(o, "n"),
                   fields.text_or_none(o, "time"), o)

    @property
    def status(self) -> Optional[Status]:
        """The status of a `status` event."""
        return status(self.raw, "status") if self.event == "status" else None


@dataclass(frozen=True)
class LogEntry:
    """Output of a process that runs without descriptors.  An entry with `dropped` above 0 has
    no output: it stands for so many bytes that were not kept."""

    time: Optional[str]
    process: Optional[int]
    stream: Optional[str]
    data: bytes
    dropped: int = 0

    @classmethod
    def parse(cls, o: Object) -> LogEntry:
        from .protocol import bytes_of

        if "dropped" in o:
            return cls(None, None, None, b"", fields.whole(o, "dropped"))
        return cls(fields.text(o, "time"), fields.whole(o, "process"), fields.text(o, "stream"),
                   bytes_of(o))


@dataclass(frozen=True)
class Change:
    """A change by a sandbox: an object of `hutch diff --json`."""

    kind: str
    type: str
    path: str
    size: Optional[int]
    mode: Optional[str]
    link: Optional[str]

    @classmethod
    def parse(cls, value: object) -> Change:
        o = fields.an_object(value, "change")
        return cls(fields.text(o, "kind"), fields.text(o, "type"), fields.text(o, "path"),
                   fields.whole_or_none(o, "size"), fields.text_or_none(o, "mode"),
                   fields.text_or_none(o, "link"))


@dataclass(frozen=True)
class Ask:
    """A question whether an action may be done: docs/actions.md, *confirm*."""

    ask: int
    action: str
    session: str
    about: Optional[str]
    risk: str
    reason: Optional[str]

    @classmethod
    def parse(cls, o: Object) -> Ask:
        return cls(fields.whole(o, "ask"), fields.text(o, "action"), fields.text(o, "session"),
                   fields.text_or_none(o, "about"), fields.text(o, "risk"),
                   fields.text_or_none(o, "reason"))


@dataclass(frozen=True)
class Completed:
    """A process that exec() has waited for, and its output."""

    exit: Exit
    stdout: bytes
    stderr: bytes

    @property
    def exit_code(self) -> int:
        return self.exit.exit_code

    @property
    def timed_out(self) -> bool:
        return self.exit.timed_out

    @property
    def text(self) -> str:
        """stdout as text; U+FFFD stands for invalid UTF-8."""
        return self.stdout.decode("utf-8", "replace")

    def check(self) -> Completed:
        """Returns the process, or raises CommandError if its exit code is not 0."""
        from .errors import CommandError

        if self.exit_code:
            said = self.stderr.decode("utf-8", "replace").strip()
            error = CommandError(f"the process ended with code {self.exit_code}"
                                 + (f": {said[-400:]}" if said else ""))
            error.exit_code = self.exit_code
            raise error
        return self
