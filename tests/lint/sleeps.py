#!/usr/bin/env -S python3 -SE
"""sleeps.py: no test takes a nap, and none reads a clock.

A test that waits for some time fails, or passes for no reason, on a busy machine: order comes
from a line read, a descriptor closed or an event, and PATIENCE (tests/patience.h) bounds what
never comes.  Refused are, in tests/ and in the tests of the Python client:

- naps: a sleep of less than 100 seconds, whatever calls it; in Python and C also one of a time
  that is computed.  `sleep 1000` is a command that is there to be killed or looked at.  A select
  or poll of nothing is a nap, too.
- `read -t` with a fraction.
- a clock that is read, but for those of processor time.

Python's asyncio.sleep(0) only lets others run, and is none.  Whole-line comments are not read.
"""
import re
import sys

from report import files, tell, text_of

ENDINGS = (".bats", ".bash", ".sh", ".py", ".c", ".h", ".jsonl", ".json")
SHELL = (".bats", ".bash", ".sh")
C = (".c", ".h")
FOLDERS = ("tests", "sdk/python/tests")

# Where a clock is what it is about, and these lints, which have samples.  The runner tells what
# each suite has cost.
EXEMPT = ("tests/bench/", "tests/clock/", "tests/fuzz/corpus/", "tests/lint/", "tests/patience.",
          "tests/runner.py")
# It runs for a given time, and writes beside what happens when that was.
EXEMPT_CLOCKS = ("tests/endure/",)
# The one loop of its language that looks again and again, and the pace of random clients.
EXEMPT_FUNCTIONS = {"tests/run/helpers.bash": r"until_true\(\) \{",
                    "tests/vm/tap.sh": r"until_true\(\) \{",
                    "tests/endure/pace.py": r"async def (?:pause|is_so)\("}

NAP = "wait for a line, an event or wait_until, until_true or patience_wait; "
NAP += "a command that is there to be killed is `sleep 1000`"
READ = "read without -t, or with -t \"$PATIENCE\", from what says that it is so"
CLOCK = "assert order, or a cost that is counted, or give `now` to a table; "
CLOCK += "tests/clock is for what must watch a clock"

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
NUMBER = r"\d+(?:_\d+)*(?:\.\d*)?|\.\d+"

# A command, with blanks or, as a list of words has it, with quotes between.
COMMAND = re.compile(r"(?<![\w.$@{-])sleep(?:[ \t]+|[\"']\)?,[ \t]*(?:TEXT\()?)[\"'\\]*"
                     rf"(?:(?P<number>{NUMBER})(?P<unit>[smhd]?)(?![\w.]))")
CALL = re.compile(r"(?<![\w.])(?P<name>(?:time\.|asyncio\.|libc\.)?sleep|usleep|"
                  r"(?:clock_)?nanosleep)"
                  r"\((?P<what>[^)]*)\)?")
NOTHING = re.compile(r"\bselect\.select\(\[\], *\[\], *\[\], *[^) ]|\bpoll\(NULL, *0, *[^-) ]|"
                     r"\bp?select\(0, *NULL, *NULL, *NULL, *[^N) ]|"
                     r"\bselect undef, *undef, *undef, *[^u ]")
READ_T = re.compile(r"\bread\b(?:[ \t]+-\w+)*?[ \t]+-\w*t[ \t]*[\"']?(?:\d*\.\d+)")
SHELL_CLOCK = re.compile(r"(?<![\w.])(?:SECONDS|EPOCHREALTIME|EPOCHSECONDS)\b(?!=)")
DATE = re.compile(r"\bdate\b[^|;&)\n]*?\+[\"']?[^ |;&)]*%[sN]")
PYTHON_CLOCK = re.compile(r"\btime\.(?:time|monotonic|perf_counter|clock_gettime)(?:_ns)?\b|"
                          r"(?<![\w.])(?:monotonic|perf_counter)(?:_ns)?\(")
C_CLOCK = re.compile(r"\b(?:clock_(?:ms|us|gettime)|gettimeofday)\s*\(")
CPU = re.compile(r"[\s(]*(?:time\.)?CLOCK_(?:PROCESS|THREAD)_CPUTIME_ID")


def is_short_command(match):
    return float(match["number"]) * UNITS[match["unit"]] < 100


def is_short_call(match):
    name, what = match["name"], match["what"].strip()
    if "nanosleep" in name:
        return True
    if name == "asyncio.sleep" and what == "0":
        return False
    if not re.fullmatch(NUMBER, what):
        # Of a function's own parameter in C, `unsigned sleep(unsigned)`, or a word of prose.
        return "." in name or name.startswith("u") or what[:1] in "*&"
    return float(what.replace("_", "")) / (1e6 if name.startswith("u") else 1) < 100


def is_of_time(match):
    """And not of a processor's."""
    return not CPU.match(match.string, match.end())


def always(_):
    return True


# Of each: in which files, what is seen, when it counts, and what is said.
RULES = [
    (ENDINGS, COMMAND, is_short_command, NAP),
    ((".py", ".c", ".h", ".bats", ".bash", ".sh", ".jsonl", ".json"), CALL, is_short_call, NAP),
    (ENDINGS, NOTHING, always, NAP),
    (ENDINGS, READ_T, always, READ),
    (SHELL + (".json", ".jsonl"), SHELL_CLOCK, always, CLOCK),
    (ENDINGS, DATE, always, CLOCK),
    ((".py", ".bats", ".bash", ".sh", ".json", ".jsonl"), PYTHON_CLOCK, is_of_time, CLOCK),
    (C, C_CLOCK, is_of_time, CLOCK),
]
SENTENCES = {NAP: "no test takes a nap", READ: "no test reads for a fraction of a second",
             CLOCK: "no test reads a clock"}


def blank(match):
    """As many lines."""
    return "\n" * match[0].count("\n")


def code_or_blank(match):
    """A string of C stays, whatever is in it."""
    return match[0] if match[0].startswith('"') else blank(match)


def without_comments(name, text):
    if name.endswith(C):
        return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', code_or_blank, text, flags=re.S)
    if name.endswith(SHELL + (".py",)):
        text = re.sub(r"^[ \t]*#.*", "", text, flags=re.M)
    if name.endswith(".py"):
        text = re.sub(r'^[ \t]*"""(?:[^"]|"(?!""))*"""', blank, text, flags=re.M)
    return text


def without_exempt_functions(name, text):
    for place, begin in EXEMPT_FUNCTIONS.items():
        if name.startswith(place):
            indented = r"(?:\n(?:[ \t]+\S.*|[ \t]*(?=\n[ \t]+\S)))*"
            text = re.sub(rf"^{begin}.*{indented}", blank, text, flags=re.M)
    return text


def findings(name, text):
    """Pairs of what is to be done instead and FILE:LINE with it."""
    if name.startswith(EXEMPT):
        return
    text = without_exempt_functions(name, without_comments(name, text))
    for endings, seen, counts, instead in RULES:
        if not name.endswith(endings) or (instead == CLOCK and name.startswith(EXEMPT_CLOCKS)):
            continue
        for match in seen.finditer(text):
            if counts(match):
                line = text.count("\n", 0, match.start()) + 1
                what = match[0].strip().splitlines()[0]
                yield instead, f"{name}:{line}: `{what}`: {instead}"


def main():
    found = {instead: [] for instead in SENTENCES}
    for name in files(FOLDERS, ENDINGS):
        for instead, line in findings(name, text_of(name)):
            found[instead].append(line)
    return tell((SENTENCES[instead], lines) for instead, lines in found.items())


if __name__ == "__main__":
    sys.exit(main())
