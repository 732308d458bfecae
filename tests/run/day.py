#!/usr/bin/env -S python3 -SE
"""day.py HUTCH FILE: plays a day's work through `hutch act` and compares the
observations.

Each line of FILE is a row: {"do": an action, "see": its observation}. The
player does the rows in order, each when the one before it is answered; after a
row with "later": true it goes on at once, and the answer may come at any time.
An action's id is the number of its row, unless it has one.

A row has only values that do not follow from the action and from the rules of
docs/actions.md: `content`, `exit_code` if it is not 0, `working_dir` and `pid`
if they changed, and for a command that goes on which text tells so (`told`:
hard, soft, busy).  Any other key of an observation is compared, too, with the
value that follows from the rules.  A long text is given by its ends and a hash;
{"like": REGEX} matches a text that differs from run to run. {"times": [[TEXT,
N], ...]} in an action is a text too long to be written down.

A time-out is reported when it has passed, and on a busy machine some output may
not have been printed by then.  So if the content differs from the row's, and
the command goes on, the player waits until the sandbox is at rest (at_rest.py)
and asks for the rest with an empty command; the row is about both contents
together.  After a command that goes on the next row begins at rest, too.  The
soft time-out is too long to pass, however slow the machine is; session.py has
its rows.

With a third argument, the player writes FILE anew to it with the observations
that came; a developer has to read the result.
"""
import hashlib
import json
import os
import re
import select
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import session as rules  # noqa: E402
from at_rest import is_at_rest  # noqa: E402
from patience import PATIENCE, wait_until  # noqa: E402

SOFT = 1000
LONG = 1000


# --- what varies

def plain(text):
    """Replaces process ids that the shell prints, and times of day."""
    text = re.sub(r"^(\[\d+\]) \d+$", r"\1 PID", text, flags=re.M)
    return re.sub(r"\[\d\d/\w{3}/\d{4} \d\d:\d\d:\d\d\]", "[TIME]", text)


def brief(value):
    if isinstance(value, str):
        value = plain(value)
        if len(value) > LONG:
            return {"length": len(value), "begins": value[:60], "ends": value[-60:],
                    "sha256": hashlib.sha256(value.encode()).hexdigest()}
    return value


def flat(o):
    """Returns all keys of an observation on one level."""
    out = dict(o)
    extras = out.pop("extras", {})
    meta = extras.pop("metadata", {})
    ours = out.pop("hutch")
    ours.pop("took_ms")
    if meta.get("pid", -1) > 0:
        meta["pid"] = "PID"
    if meta.get("py_interpreter_path") is not None:
        meta["py_interpreter_path"] = "PATH"
    return {k: brief(v) for k, v in {**out, **extras, **meta, **ours}.items()}


# --- what follows from the rules

OURS = {"log": None, "truncated_chars": 0, "restarted": False, "previous": None, "refused": []}


def told(see, do):
    if see.get("told") == "busy":
        return rules.busy(do["args"]["command"].strip(), "")
    if see.get("told") == "soft":
        return rules.quiet(SOFT, "", see.get("prefix", ""))
    if see.get("told") == "hard":
        return rules.timed_out(float(do["timeout"]), "", see.get("prefix", ""))
    return None


def run_follows(do, see, place):
    args = do["args"]
    command = args["command"].strip()
    code = see.get("exit_code", 0)
    out = {"prefix": "", **OURS}
    goes_on = told(see, do)
    if goes_on:
        out.update(goes_on)
        code = -1
    else:
        key = re.fullmatch(r"C-(.)", command)
        note = f" CTRL+{key[1].upper()} was sent." if key else ""
        out.update(rules.ended("", code, note), py_interpreter_path="PATH", **place)
    if see.get("restarted"):
        out["suffix"] += ("\n[The shell had ended; this is a new one, in "
                          f"{place['working_dir']}.]")
    if see.get("log") and see.get("truncated_chars"):
        out["suffix"] += f"\n[The whole output is in {see['log']}.]"
    out.update(command=command, hidden=args.get("hidden", False),
               message=f"Command `{command}` executed with exit code {code}.")
    return out


def whole(do, place):
    path = do["args"]["path"]
    return path if path[0] == "/" else place["working_dir"] + "/" + path


def read_follows(do, see, place):
    impl = do["args"].get("impl_source", "default")
    path = whole(do, place) if impl == "default" else do["args"]["path"]
    return {"path": path, "impl_source": impl, "message": f"I read the file {path}.", **OURS}


def write_follows(do, see, place):
    path = whole(do, place)
    return {"path": path, "content": "", "message": f"I wrote to the file {path}.", **OURS}


def edit_follows(do, see, *_):
    args = do["args"]
    return {"path": args["path"], "impl_source": "oh_aci", "prev_exist": False, "diff": "",
            "old_content": args.get("old_str"), "new_content": args.get("new_str"),
            "_diff_cache": None, "message": f"I edited the file {args['path']}.", **OURS}


def error_follows(do, see, *_):
    return {"error_id": "", "message": see.get("content"), **OURS}


def null_follows(do, see, *_):
    return {"content": "", "message": "", **OURS}


FOLLOWS = {"run": run_follows, "read": read_follows, "write": write_follows,
           "edit": edit_follows, "error": error_follows, "null": null_follows}


def wanted(row, see, place):
    kind = see.get("observation", row["do"]["action"])
    out = {"observation": kind, "cause": row["do"]["id"]}
    out.update(FOLLOWS[kind](row["do"], see, place))
    out.update({k: v for k, v in see.items() if k != "told"})
    return {k: brief(v) for k, v in out.items()}


# --- the day

def equal(want, has):
    if isinstance(want, dict) and "like" in want:
        return isinstance(has, str) and re.fullmatch(want["like"], has, flags=re.S) is not None
    return want == has


def told_by(has):
    suffix = has.get("suffix") or ""
    for name, text in (("busy", "is NOT executed"), ("soft", "has no new output after"),
                       ("hard", "timed out after")):
        if text in suffix:
            return {"told": name}
    return {}


def said(row, has, place):
    """Returns the row that would have matched the observation."""
    see = told_by(has)
    if has["observation"] != row["do"]["action"]:
        see["observation"] = has["observation"]
    if has.get("exit_code", 0) and not see.get("told"):
        see["exit_code"] = has["exit_code"]
    for key in ("content", "prefix", "restarted", "log", "truncated_chars"):
        if has.get(key):
            see[key] = has[key]
    want = wanted(row, see, place)
    see.update({k: has.get(k) for k in {**want, **has} if want.get(k) != has.get(k)})
    for key, old in row.get("see", {}).items():
        if isinstance(old, dict) and "like" in old:
            assert equal(old, see.get(key, "")), (row, see)
            see[key] = old
    return see


# How often the player asks for the rest of a row's output, since a program may paint a screen in
# as many parts.
TRIES = 10
# The soft time-out, in seconds, of a request for more output: when all processes are at rest no
# more output comes.
REST = 0.2


def joins(text, more):
    """Joins two contents: lines are appended, or, of a program that uses the
    whole screen, a repainted part replaces the old one.  A screen whose last
    row was empty has fewer lines than the repainted part."""
    old, new = text.split("\n"), more.split("\n")
    kept = old[:max(0, len(old) - len(new))]
    return ["\n".join(filter(None, [text, more])), "\n".join(kept + new)]


class Day:
    def __init__(self, hutch, rows, learn=False):
        self.rows, self.learn = rows, learn
        self.places, self.open, self.rest = {}, {}, b""
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [hutch, "act", "-e", f"NO_CHANGE_TIMEOUT_SECONDS={SOFT}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def ended(self):
        self.errors.seek(0)
        return "hutch act has ended: " + self.errors.read()

    def send(self, row):
        self.open[row["do"]["id"]] = row
        self.write(row["do"])

    def write(self, do):
        self.process.stdin.write(json.dumps(do).encode() + b"\n")
        self.process.stdin.flush()

    def line(self):
        while b"\n" not in self.rest:
            came = select.select([self.process.stdout], [], [], PATIENCE)[0]
            assert came, f"no observation came to {[r['do'] for r in self.open.values()]}"
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, self.ended()
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def hear(self):
        """Compares one observation with its row, and returns the row."""
        answer = json.loads(self.line())
        # The answer to a line that could not be parsed names no id: it belongs to the last row.
        row = self.open.pop(answer.get("cause", max(self.open)))
        if not self.learn:
            self.complete(row, answer)
        if rules.goes_on(answer):
            wait_until(is_at_rest, self.process.pid)
        has = flat(answer)
        name = row["do"].get("session", "main")
        place = self.places.get(name, {"working_dir": "/workspace", "pid": -1})
        if has.get("working_dir"):
            self.places[name] = {"working_dir": has["working_dir"], "pid": has["pid"]}
        if self.learn:
            row["see"] = said(row, has, place)
        want = wanted(row, row["see"], place)
        wrong = [f"{k}: {has.get(k)!r} and not {want.get(k)!r}" for k in {**want, **has}
                 if not equal(want.get(k), has.get(k))]
        assert not wrong, f"{json.dumps(row['do'])[:500]}\n" + "\n".join(wrong)
        return row

    def complete(self, row, answer):
        """Adds what the command prints before it rests, or as much as the row
        expects."""
        want = brief(row["see"].get("content", ""))
        texts = [answer.get("content")]
        for _ in range(TRIES):
            if not rules.goes_on(answer) or equal(want, brief(texts[-1])) or self.open:
                break
            wait_until(is_at_rest, self.process.pid)
            # This action is sent without an id: hutch would answer a repeated id from its memory,
            # and then refuse the smaller ids of later rows.
            self.write({"timeout": REST, **{k: v for k, v in row["do"].items() if k != "id"},
                        "args": {"command": ""}})
            more = json.loads(self.line())
            if not rules.goes_on(more) or not more["content"]:
                break
            texts = list({joined for text in texts for joined in joins(text, more["content"])})
            texts.sort(key=lambda text: equal(want, brief(text)))
            answer["content"] = texts[-1]
            answer["hutch"]["log"] = answer["hutch"]["log"] or more["hutch"]["log"]

    def play(self):
        try:
            for row in self.rows:
                self.send(row)
                while not row.get("later") and self.hear() is not row:
                    pass
            while self.open:
                self.hear()
            self.process.stdin.close()
            assert self.process.wait(PATIENCE) == 0, self.ended()
        finally:
            self.process.kill()
            self.process.wait()


def spelt(value):
    if isinstance(value, dict) and "times" in value:
        return "".join(text * n for text, n in value["times"])
    return value


def rows_of(path):
    rows = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            row = json.loads(line)
            row["line"] = json.loads(line)
            do = row["do"]
            do.setdefault("id", number)
            do["args"] = {k: spelt(v) for k, v in do.get("args", {}).items()}
            rows.append(row)
    return rows


def written(rows, path):
    with open(path, "w") as f:
        for row in rows:
            f.write(json.dumps({**row["line"], "see": row["see"]}, ensure_ascii=False) + "\n")


def main():
    rows = rows_of(sys.argv[2])
    if len(sys.argv) > 3:
        Day(sys.argv[1], rows, True).play()
        return written(rows, sys.argv[3])
    try:
        Day(sys.argv[1], rows).play()
    except AssertionError as e:
        sys.exit(str(e))
    print(len(rows), "actions")


if __name__ == "__main__":
    main()
