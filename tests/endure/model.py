"""A sandbox as the soak knows it: the states that are possible, and the ways it
may end.

A client that sends a request opens a Look.  States that are possible while it
is open (`ending`, `gone`, `paused`, `renaming`) are noted in it, so that an
answer can be judged by the states between its request and itself, whichever
client changed the sandbox in the meantime.
"""
import asyncio
import collections
import contextlib
import glob
import json
import os
import time

import contract

# How a sandbox may end, for each cause: (reason, exit code, limit).
STOPPED, KILLED, HOST_GONE = ("stopped", 0, None), ("killed", 137, None), ("host_gone", 125, None)
ENDS = {
    "stop": {STOPPED},
    "rm -f": {STOPPED},
    "SIGTERM": {STOPPED},
    "kill": {KILLED},
    "supervisor killed": {KILLED},
    "executor killed": {KILLED},
    "supervisor and janitor killed": {KILLED, HOST_GONE},
    "ttl": {("timeout", 124, "ttl")},
    "timeout": {("timeout", 124, "timeout")},
    "idle": {("idle", 0, "idle-timeout")},
    "memory": {("oom", 137, "memory")},
}
# Causes after which no supervisor is left to report the end to clients.
SUDDEN = {"supervisor killed", "supervisor and janitor killed"}


class Look:
    def __init__(self, box):
        self.box, self.seen, self.begun = box, set(box.held), time.monotonic()
        self.name, self.is_paused = box.name, box.is_paused  # is_paused: for sure, all the time

    def may(self, *conditions):
        self.box.look_at_clock()
        return bool(self.seen & set(conditions))


class Box:
    def __init__(self, soak, name, kind):
        self.soak, self.name, self.kind = soak, name, kind
        self.names = {name}
        self.id = None
        self.supervisor = self.executor = None
        self.janitors = []
        self.has_janitor = True
        self.begun = time.monotonic()
        self.last_asked = self.begun  # a question that was answered was asked then
        self.causes = {}  # what was done to it: when
        self.limit, self.due, self.seconds = None, 0, 0  # what may end it by itself from then on, and after how long
        self.held = collections.Counter()
        self.looks = set()
        self.is_paused = False
        self.steering = asyncio.Lock()  # pause, unpause, rename: one of them at a time
        self.processes = {}  # number: Process, of those that are kept account of
        self.sessions = collections.defaultdict(asyncio.Lock)
        self.ended = asyncio.get_running_loop().create_future()  # how it ended is known
        self.gone = asyncio.get_running_loop().create_future()  # its supervisor is
        self.is_forgotten = False  # somebody asks for its record to be removed
        self.record = self.told_record = None
        self.unanswered = []  # what a connection that ended had not answered
        self.past = collections.deque(maxlen=60)

    def __str__(self):
        return f"{self.name} ({self.id}, {self.kind})"

    def note(self, text):
        self.past.append(f"{time.monotonic() - self.soak.begun:8.3f} {text}")

    # possible states

    def begin(self, condition):
        self.held[condition] += 1
        for look in self.looks:
            look.seen.add(condition)

    def cease(self, condition):
        self.held[condition] -= 1
        self.held += collections.Counter()

    @contextlib.contextmanager
    def holding(self, condition):
        self.begin(condition)
        try:
            yield
        finally:
            self.cease(condition)

    @contextlib.contextmanager
    def look(self):
        look = Look(self)
        self.looks.add(look)
        try:
            yield look
        finally:
            self.looks.discard(look)

    def set_paused(self, is_paused):
        self.is_paused = is_paused
        if not is_paused:
            for look in self.looks:
                look.is_paused = False

    def cause(self, what):
        """Notes a cause that may end the sandbox from now on."""
        self.note(f"-- {what}")
        self.causes.setdefault(what, time.monotonic())
        self.begin("ending")

    def look_at_clock(self):
        """Returns whether the sandbox's own time limit has passed.  Its end may
        be reported before a timer of ours runs."""
        if self.limit and time.monotonic() >= self.due and self.limit not in self.causes:
            self.cause(self.limit)

    @property
    def may_end(self):
        self.look_at_clock()
        return self.held["ending"] > 0

    # its end

    def allowed(self):
        return set().union(*(ENDS[cause] for cause in self.causes))

    def find_record(self):
        # The record is written to the file "lock", which is at last renamed to "end".  If the
        # process that did so was killed, the file may still have its first name.
        found = glob.glob(f"{self.soak.state}/.ended/*-{self.id}-*/end") or \
            glob.glob(f"{self.soak.state}/.ended/*-{self.id}-*/lock")
        if len(found) > 1:
            self.soak.fail(f"{self} has {len(found)} records", self)
        try:
            with open(found[0]) as f:
                return json.loads(f.read())
        except (IndexError, FileNotFoundError):  # the latter: it is being removed
            return None

    def judge_record(self):
        """Waits until its supervisor and its janitor have ended."""
        record = self.record = self.find_record()
        if record is None and not self.is_forgotten:
            return f"{self} ended without a record; done to it: {list(self.causes)}"
        if record is None:
            record = self.told_record
        if record is None:
            return None
        if wrong := contract.record(record):
            return f"{self}: {wrong}"
        if self.told_record not in (None, record):
            return f"{self}: the event said {self.told_record}, the record says {record}"
        how = (record["reason"], record["exit_code"], record["limit"])
        if how not in self.allowed():
            return f"{self} ended as {how}; done to it: {list(self.causes)}"
        self.soak.ends[record["reason"]] += 1
        return None


def stat_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None


def parent_of(pid):
    stat = stat_of(pid)
    return int(stat[1]) if stat else None


def children_of(top):
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == top]


def below(top):
    found = children_of(top)
    return found + [pid for child in found for pid in below(child)]
