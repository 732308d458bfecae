"""Checks that answers have the form of docs/control.md, docs/actions.md and
docs/hutch-sandboxes.md.

Each check returns None, or a sentence about the error.
"""
import base64
import re

STATES = "building starting started ready paused stopping ended error disconnected".split()
KINDS = ("not_found exists busy invalid refused unsupported timeout disconnected limit no_space "
         "internal").split()
CODES = {-32700, -32600, -32601, -32602, -32000}
EXITED = {"process", "exit_code", "signal", "timed_out", "user_s", "sys_s"}

RESULTS = {
    "hello": {"protocol", "version", "name", "id", "state"},
    "info": {"name", "id", "image", "state", "created", "labels", "isolation", "workspace", "mounts", "ports", "env",
             "user", "limits", "network", "egress", "plugins", "main", "pid", "cgroup", "version", "confined",
             "degraded", "unprotected", "lease"},
    "stats": {"cpu_s", "memory_bytes", "memory_limit", "pids", "pids_limit", "by"},
    "exec.start": {"process", "pid"},
    "exec.wait": EXITED,
    "exec.attach": {"process", "kept", "lost"},
    "pause": {"by"},
    "unpause": {"by"},
    "update": {"memory", "cpus", "pids", "disk"},
    "events.subscribe": {"next"},
    **dict.fromkeys("exec.write exec.signal exec.resize cancel act.stream stop kill logs rename".split(), set()),
}
LISTED = {"process", "pid", "program", "tty", "started", "state", "exit_code", "detached"}
EVENTS = {
    "status": {"status"}, "started": {"process", "pid", "program"}, "exited": EXITED, "client": {"clients"},
    "log": None, "ended": {"record"}, "update": {"limits"},
}
RECORD = {"reason", "exit_code", "limit", "message", "remedy", "ended"}
PS = {"name", "id", "image", "state", "created", "cpu_s", "memory_bytes", "pids", "isolation", "workspace", "exit"}
OBSERVATION = {"observation", "message", "content", "extras", "hutch"}
HUTCH = {"log", "truncated_chars", "restarted", "previous", "refused", "took_ms"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def keys(what, value, wanted):
    if not isinstance(value, dict) or set(value) != wanted:
        return f"{what} is {str(value)[:300]}, not an object of {sorted(wanted)}"


def result(method, value):
    if method == "act":
        return observation(value)
    if method == "exec.list":
        return next(filter(None, (keys("a process", item, LISTED) for item in value)), None)
    return keys(f"the result of {method}", value, RESULTS[method])


def error(value):
    if not isinstance(value, dict) or value.get("code") not in CODES or not isinstance(value.get("message"), str):
        return f"an error without code and message: {value}"
    data = value.get("data")
    if value["code"] == -32000 and (not isinstance(data, dict) or data.get("kind") not in KINDS or
                                    "remedy" not in data):
        return f"an error without kind or remedy: {value}"


def observation(value):
    if not isinstance(value, dict) or not OBSERVATION <= set(value) or set(value["hutch"]) - {"stat"} != HUTCH:
        return f"no observation: {str(value)[:300]}"


def record(value):
    if wrong := keys("a record", value, RECORD):
        return wrong
    if not TIME.fullmatch(str(value["ended"])):
        return f"no time of its end: {value}"


def event(value):
    name = value.get("event")
    if name == "dropped":
        return keys("an event", value, {"event", "count"})
    if name not in EVENTS or not isinstance(value.get("n"), int) or not TIME.fullmatch(value.get("time", "")):
        return f"no event: {value}"
    if name == "exited" and "error" in value:  # of a copy
        value = {key: value[key] for key in value if key != "error"}
    if EVENTS[name] is not None:
        return keys("an event", value, EVENTS[name] | {"n", "time", "event"})


def output(value):
    what = set(value) - {"process", "stream", "time"}
    if len(what) != 1 or not what <= {"data", "base64", "dropped"}:
        return f"no output: {str(value)[:300]}"


def session_output(value):
    return keys("output of a session", value, {"session", "data"} | ({"cause"} & set(value)))


def bytes_of(value):
    """The output, or the number of bytes that are missing."""
    if "dropped" in value:
        return value["dropped"]
    return base64.b64decode(value["base64"]) if "base64" in value else value["data"].encode()


def said(text):
    """hutch's messages on stderr: sentences with its name before them, and a
    hint after them."""
    lines = text.splitlines()
    if not all(line.startswith("hutch: ") for line in lines):
        return f"stderr is {text[:500]!r}"
