#!/usr/bin/env -S python3 -SE
"""session.py HUTCH NAME [OPTION...]: plays the sequence of that name through a
new `hutch act OPTION...` and compares each observation with its row.

A row is an action and expected values: of a key of the observation, of extras,
or of its metadata.  A value that is a function is called.  Values that all
completed or all running commands have in common are supplied by the functions
below.

A time-out is reported when it has passed, and on a busy machine the command may
have printed nothing by then.  So if less came than the row expects, the player
waits until the sandbox is at rest and asks for the rest with an empty command;
the row is about both contents together.  The player does the same if a command
goes on that should have ended according to the row.  While a command goes on,
the next row begins when the sandbox is at rest: the command then waits for its
input.  A soft time-out passes only if the options set one.
"""
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from at_rest import is_at_rest  # noqa: E402
from patience import PATIENCE, wait_until  # noqa: E402

GO_ON = ("You may wait longer to see additional output by sending empty command '', send "
         "other commands to interact with the current process, send keys (\"C-c\", \"C-z\", "
         "\"C-d\") to interrupt/kill the previous command before sending your new command, or "
         "use the timeout parameter in execute_bash for future commands.")
BELOW = "[Below is the output of the previous command.]\n"
NOT_SENT = " The input was not sent: the command had ended."
UNKNOWN = {"username": None, "hostname": None, "working_dir": None,
           "py_interpreter_path": None, "pid": -1}


# --- what is sent

def act(kind, **args):
    action = {"action": kind}
    for key in ("timeout", "session"):
        if key in args:
            action[key] = args.pop(key)
    return {**action, "args": args}


def do(command, **more):
    return act("run", command=command, **more)


def type_(text, **more):
    return do(text, is_input=True, **more)


# --- what comes

def ended(content, code=0, note="", prefix="", **more):
    text = f"\n[The command completed with exit code {code}.{note}]"
    return {"observation": "run", "content": content, "exit_code": code, "prefix": prefix,
            "suffix": text, "success": code == 0, "username": "agent", "hostname": "hutch", **more}


def runs(suffix, content, prefix=""):
    return {"observation": "run", "content": content, "exit_code": -1, "prefix": prefix,
            "suffix": f"\n[{suffix}]", "success": False, **UNKNOWN}


def timed_out(seconds, content, prefix=""):
    return runs(f"The command timed out after {seconds} seconds. {GO_ON}", content, prefix)


def quiet(seconds, content, prefix=""):
    return runs(f"The command has no new output after {seconds} seconds. {GO_ON}", content,
                prefix)


def busy(command, content):
    return runs(f'Your command "{command}" is NOT executed. The previous command is still '
                "running - You CANNOT send new commands until the previous command is "
                "completed. By setting `is_input` to `true`, you can interact with the current "
                f"process: {GO_ON}", content, BELOW)


def idle(text):
    return {"observation": "run", "content": f"ERROR: {text}", "command": "", "hidden": False,
            "exit_code": -1, "prefix": "", "suffix": "", "success": False, **UNKNOWN}


def several(*commands):
    text = ("ERROR: Cannot execute multiple commands at once.\nPlease run each command "
            "separately OR chain them into a single command via && or ;\nProvided commands:")
    for i, command in enumerate(commands):
        text += f"\n({i + 1}) {command}"
    return {"observation": "error", "content": text, "message": text, "error_id": ""}


NOTHING_TO_SEE = idle("No previous running command to retrieve logs from.")
NOTHING_TO_TELL = idle("No previous running command to interact with.")

# A row that makes the player wait until all processes of the sandbox sleep.
REST = (None, None)


def later(action, want):
    """The next row does not wait for the answer, which may come at any time."""
    return action, want, "later"


def restless(action, want):
    """The command goes on and never sleeps."""
    return action, want, "restless"


# A command of the main session waits for a line, prints "rest" and ends with 3, while no action
# waits for it.  Session b lets it go on, and the player waits until the shell of the main session
# sleeps.
ENDS_UNSEEN = [
    (do("mkfifo /tmp/go"), ended("")),
    (do("bash -c 'read x; read x </tmp/go; echo rest; exit 3'", timeout=0.2),
     timed_out("0.2", "")),
    (type_("x", timeout=0.1), timed_out("0.1", "", BELOW)),
    (do("echo >/tmp/go", session="b"), ended("")),
    REST,
]


def key_reader(count):
    """Reads the bytes of one key as they come, and prints them and whether
    there are more."""
    return (f"stty -icanon -echo; echo ready; IFS= read -rsN{count} k; read -t 0 && echo more; "
            "stty icanon echo; printf '<%q>' \"$k\"")


def count_of(quoted):
    """The number of bytes that bash prints in this form."""
    text = re.fullmatch(r"\$'(.*)'|\\(.)", quoted)
    return len(re.sub(r"\\(E|t|[0-7]{3})", "x", text[1] or text[2]))


def keys(*pairs):
    rows = []
    for name, bytes_, more in pairs:
        note = f" CTRL+{name[2:].upper()} was sent." if name.startswith("C-") else ""
        rows += [(do(key_reader(count_of(bytes_)), timeout=0.2), timed_out("0.2", "ready")),
                 (do(name, **more), ended(f"<{bytes_}>", 0, note))]
    return rows


SEQUENCES = {
    "nothing runs": [
        (do(""), NOTHING_TO_SEE),
        (do("  \n\t "), NOTHING_TO_SEE),
        (do("", hidden=True), NOTHING_TO_SEE),
        (type_(""), NOTHING_TO_SEE),
        (type_("y"), NOTHING_TO_TELL),
        (type_("a\nb"), NOTHING_TO_TELL),
        (type_("C-c"), NOTHING_TO_TELL),
        (do("C-c"), NOTHING_TO_TELL),
        (do("C-z"), NOTHING_TO_TELL),
        (do("CTRL+c"), NOTHING_TO_TELL),
        (do("Up"), NOTHING_TO_TELL),
        (do("echo on"), ended("on")),
        (do(""), NOTHING_TO_SEE),
    ],
    "completed": [
        (do("echo hi"), ended("hi", command="echo hi", hidden=False, working_dir="/workspace",
                              message="Command `echo hi` executed with exit code 0.")),
        (do("  echo hi \n"), ended("hi", command="echo hi")),
        (do("false"), ended("", 1)),
        (do("exit_with() { return 42; }; exit_with"), ended("", 42)),
        (do("echo x", hidden=True), ended("x", hidden=True)),
        (do("cd /tmp"), ended("", working_dir="/tmp")),
        (do("alias git"), ended("alias git='git --no-pager'")),
        (do("nonesuch"), ended("bash: nonesuch: command not found", 127)),
    ],
    "several commands": [
        (do("ls\npwd"), several("ls", "pwd")),
        (do("# c\nls\npwd"), several("# c", "ls", "pwd")),
        (do("# c\necho one"), ended("one")),
        (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
        (do("ls\npwd"), several("ls", "pwd")),
        (do("C-c"), lambda o: o.exit_code == 130),
    ],
    "hard time-out": [
        (do("read x", timeout=1), timed_out("1.0", "")),
        (do("", timeout=0.5), timed_out("0.5", "", BELOW)),
        (do("", timeout=0.25), timed_out("0.25", "", BELOW)),
        (type_("y"), ended("")),
        (do("echo one; read x; echo two", timeout=0.3), timed_out("0.3", "one")),
        (do("", timeout=0.3), timed_out("0.3", "", BELOW)),
        (type_("y"), ended("two")),
    ],
    "soft time-out": [
        (do("echo one; read x; echo two; read y"), quiet("0.5", "one")),
        (do(""), quiet("0.5", "", BELOW)),
        (type_("y"), quiet("0.5", "two", BELOW)),
        (type_("y"), ended("")),
        # The blocking action has no soft time-out: it still waits after a later action of session
        # b has timed out.
        (do("mkfifo /tmp/go"), ended("")),
        later(do("read x </tmp/go; echo $x", blocking=True, timeout=1000), ended("on")),
        (do("read x", session="b"), quiet("0.5", "")),
        (do("echo on >/tmp/go", session="c"), ended("")),
        (do("true", blocking=True), lambda o: o.observation == "error" and
            o.content == "ERROR: Blocking command with no timeout set"),
    ],
    "one second": [
        (do("echo one; read x"), quiet("1", "one")),
    ],
    "the earlier time-out": [
        (do("read x", timeout=0.3), timed_out("0.3", "")),
        (do("", timeout=1), quiet("0.5", "", BELOW)),
        (do("", timeout=0.5), quiet("0.5", "", BELOW)),
        (type_("y"), ended("")),
    ],
    # The soft time-out counts from the last output, the hard one from the start of the command.
    "output without an end": [
        restless(do("while ! read -t 0; do echo .; done; read x", timeout=0.3),
                 lambda o: o.suffix.startswith(timed_out("0.3", "")["suffix"])),
        (type_("y"), lambda o: o.exit_code == 0),
    ],
    "busy": [
        (do("echo one; read x; echo two; read x; echo three", timeout=0.3),
         timed_out("0.3", "one")),
        (do("ls"), {**busy("ls", ""), "command": "ls", "hidden": False}),
        (do("ls -l", hidden=True), {**busy("ls -l", ""), "hidden": True}),
        (type_("y", timeout=0.3), timed_out("0.3", "two", BELOW)),
        (do("echo 'a\nb'"), busy("echo 'a\nb'", "")),
        (do("Alice"), busy("Alice", "")),
        (do("", timeout=0.3), timed_out("0.3", "", BELOW)),
        (type_("y"), ended("three")),
    ],
    "control keys": [
        (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
        (type_("C-c"), lambda o: o.suffix == ended("", 130, " CTRL+C was sent.")["suffix"]),
        (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
        (do("C-c"), lambda o: o.suffix == ended("", 130, " CTRL+C was sent.")["suffix"] and
            o.prefix == "" and o.command == "C-c"),
        (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
        (do(" C-C\n"), lambda o: o.suffix == ended("", 130, " CTRL+C was sent.")["suffix"]),
        (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
        (do("CTRL+c"), lambda o: o.suffix == ended("", 130, " CTRL+C was sent.")["suffix"]),
        (do("cat", timeout=0.2), timed_out("0.2", "")),
        (do("C-d"), ended("", 0, " CTRL+D was sent.")),
        (do("sleep 1000", timeout=0.2), timed_out("0.2", "")),
        (type_("C-z"), lambda o: o.suffix == ended("", 148, " CTRL+Z was sent.")["suffix"] and
            "Stopped" in o.content and "sleep 1000" in o.content),
        # The shell reports the end of a job once, at any time; `jobs` makes it report now.
        (do("kill -9 %1; while [ -n \"$(jobs -s)\" ]; do :; done; jobs"),
         lambda o: o.exit_code == 0),
        (do("true"), lambda o: o.exit_code == 0),
        # A command that handles SIGINT goes on after C-c.
        (do("trap 'echo no' INT; read x; trap - INT", timeout=0.2),
         lambda o: o.exit_code == -1),
        (do("C-c", timeout=0.3), lambda o: o.exit_code == -1 and "no" in o.content),
        (type_("y"), ended("")),
        (do("read x", timeout=0.2), timed_out("0.2", "")),
        (do("C-1"), idle("There is no key of this name.")),
        (type_("y"), ended("")),
    ],
    "named keys": keys(
        ("Up", r"$'\E[A'", {}), ("UP", r"$'\E[A'", {"is_input": True}),
        ("Left", r"$'\E[D'", {"is_input": True}), ("Tab", r"$'\t'", {}),
        ("TAB", r"$'\t'", {"is_input": True}), ("Space", r"\ ", {"is_input": True}),
        ("BSpace", r"$'\177'", {}), ("BS", r"$'\177'", {"is_input": True}),
        ("Escape", r"$'\E'", {}), ("ESC", r"$'\E'", {"is_input": True}),
        ("PgUp", r"$'\E[5~'", {}), ("PGDN", r"$'\E[6~'", {}), ("C-a", r"$'\001'", {}),
        ("F1", r"$'\EOP'", {"is_input": True}),
    ) + [
        (do("read x; echo \"<$x>\"", timeout=0.2), timed_out("0.2", "")),
        (do("Enter"), ended("<>")),
        (do("read x; echo \"<$x>\"", timeout=0.2), timed_out("0.2", "")),
        (type_("ENTER"), ended("<>")),
        # Text that is no name of a key is typed as it is, and Enter behind it.
        (do("read x; echo \"<$x>\"", timeout=0.2), timed_out("0.2", "")),
        (type_("up"), lambda o: o.exit_code == 0 and o.content.endswith("<up>")),
    ],
    # less, vim and other programs request application cursor keys (DECCKM) until they end.
    "application keys": [row for name, bytes_, mode in (
        ("Up", r"$'\EOA'", "h"), ("Left", r"$'\EOD'", "h"), ("Home", r"$'\E[1~'", "h"),
        ("Up", r"$'\E[A'", "h\\e[?1l"), ("Up", r"$'\E[A'", "h\\e[!p"), ("Up", r"$'\E[A'", "h\\ec"),
    ) for row in (
        (do(f"printf '\\e[?1{mode}'; {key_reader(count_of(bytes_))}", timeout=0.2),
         timed_out("0.2", "ready")),
        (do(name), ended(f"<{bytes_}>")),
    )] + keys(("Up", r"$'\E[A'", {})),
    "input": [
        (do("read x; read y; echo \"<$x,$y>\"", timeout=0.2), timed_out("0.2", "")),
        (type_("  a b  ", timeout=0.2), timed_out("0.2", "", BELOW)),
        (type_("c"), ended("<a b,c>")),
        (do("read x; read y; echo \"<$x,$y>\"", timeout=0.2), timed_out("0.2", "")),
        (type_("a\nb"), ended("<a,b>")),
        (do("read -s -n1 x; echo \"<$x>\"", timeout=0.2), timed_out("0.2", "")),
        (type_("y"), ended("<y>")),
    ],
    "ended unseen, then nothing": ENDS_UNSEEN + [
        (do(""), ended("rest", 3)),
        (do(""), NOTHING_TO_SEE),
    ],
    "ended unseen, then a command": ENDS_UNSEEN + [
        (do("echo own"), {**ended("own"), "hutch": lambda h: h["previous"] == "rest"}),
        (do("echo own"), {**ended("own"), "hutch": lambda h: h["previous"] is None}),
    ],
    "ended unseen, then input": ENDS_UNSEEN + [
        (type_("touch /tmp/typed"), ended("rest", 3, NOT_SENT)),
        (do("ls /tmp/typed"), lambda o: o.exit_code == 2),
    ],
    "ended unseen, then a key": ENDS_UNSEEN + [
        (do("C-c"), ended("rest", 3, NOT_SENT)),
        (do("C-c"), NOTHING_TO_TELL),
    ],
    "ended unseen, then several commands": ENDS_UNSEEN + [
        (do("ls\npwd"), several("ls", "pwd")),
        (do(""), ended("rest", 3)),
    ],
}


class Observation:
    """The keys of an observation, its extras and their metadata, as attributes."""

    def __init__(self, o):
        extras = o.get("extras", {})
        self.__dict__.update({**extras.get("metadata", {}), **extras, **o})


class Act:
    def __init__(self, hutch, options):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([hutch, "act", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.id, self.answers, self.rest_of_line = 0, {}, b""

    def send(self, action):
        self.id += 1
        line = json.dumps({**action, "id": self.id}).encode() + b"\n"
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return self.id

    def line(self):
        while b"\n" not in self.rest_of_line:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise TimeoutError("no observation came")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                self.errors.seek(0)
                raise EOFError("hutch act has ended: " + self.errors.read())
            self.rest_of_line += more
        line, self.rest_of_line = self.rest_of_line.split(b"\n", 1)
        return json.loads(line)

    def answer(self, number):
        while number not in self.answers:
            line = self.line()
            self.answers[line["cause"]] = line
        return self.answers.pop(number)

    def ask(self, action):
        return self.answer(self.send(action))

    def rest(self):
        wait_until(is_at_rest, self.process.pid)

    def whole(self, number, action, want, wants):
        """Returns the answer with all that its command prints before it rests
        or, if it is to end, ends; or as much as wants(content) asks for."""
        answer = self.answer(number)
        again = {**action, "args": {"command": ""}}
        is_end = " completed with exit code " in str((want or {}).get("suffix"))
        for _ in range(PATIENCE):
            if not goes_on(answer) or (wants(answer["content"]) and not is_end):
                break
            if not is_end:
                self.rest()
            more = self.ask(again)
            if not is_end and (not goes_on(more) or not more["content"]):
                break
            more["content"] = "\n".join(filter(None, [answer["content"], more["content"]]))
            answer = more if is_end else {**answer, "content": more["content"]}
        return answer

    def end(self):
        self.process.kill()
        self.process.wait()


def goes_on(answer):
    """Returns whether the answer reports a time-out."""
    metadata = answer.get("extras", {}).get("metadata", {})
    return re.match(r"\n\[The command (timed out|has no new output) after ",
                    metadata.get("suffix", "")) is not None


def differences(got, want):
    if callable(want):
        return [] if want(got) else ["it is not as the row says"]
    out = []
    for key, value in want.items():
        has = getattr(got, key, "(no such key)")
        if value(has) if callable(value) else has == value:
            continue
        out.append(f"{key}: {has!r} and not {value!r}")
    return out


def is_content_of(want):
    value = want.get("content") if isinstance(want, dict) else None
    if value is None:
        return lambda content: True
    return value if callable(value) else value.__eq__


def check(agent, number, row):
    action, want = row[:2]
    answer = agent.whole(number, action, want if isinstance(want, dict) else None,
                         is_content_of(want))
    wrong = differences(Observation(answer), want)
    if wrong:
        sys.exit(f"{json.dumps(action)}:\n" + "\n".join(wrong) +
                 f"\nin {json.dumps(answer)[:1500]}")
    if goes_on(answer) and "restless" not in row:
        agent.rest()


def main(sequences):
    options = sys.argv[3:]
    if "NO_CHANGE_TIMEOUT_SECONDS" not in " ".join(options) and "--env-file" not in options:
        options += ["-e", "NO_CHANGE_TIMEOUT_SECONDS=1000"]
    agent, open_ = Act(sys.argv[1], options), []
    try:
        for row in sequences[sys.argv[2]]:
            if row is REST:
                agent.rest()
                continue
            number = agent.send(row[0])
            if "later" in row:
                open_.append((number, row))
            else:
                check(agent, number, row)
        for number, row in open_:
            check(agent, number, row)
    finally:
        agent.end()


if __name__ == "__main__":
    main(SEQUENCES)
