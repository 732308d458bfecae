#!/usr/bin/env -S python3 -SE
"""sleeps.py: no test takes a nap, and none reads a clock.

A test that waits for some time fails, or passes for no reason, on a busy machine: order comes
from a line read, a descriptor closed or an event, and PATIENCE (tests/patience.h) bounds what
never comes.  Refused are, in tests/ and in the tests of the Python client:

- naps: a sleep of less than 100 seconds, whatever calls it; in Python and C also one of a time
  that is computed.  `sleep 1000` is a command that is there to be killed or looked at.  A select
  or poll of nothing is a nap, too.
- `read -t` with a time of its own, and other bounds of less than 100 seconds on a wait for
  what comes: timeout(1), alarm(2), poll(2), and the calls of Python that have one; also a part of PATIENCE,
  and a constant beside it.
- a clock that is read, but for those of processor time.

`timeout 0.1 sleep 1000` and assertRaises() around a bound show that it ends: nothing comes.
A sleep of a shell's variable is judged by what the same file sets that to.  Python's
asyncio.sleep(0) only lets others run, and is none.  Whole-line comments are not read.
"""
import re
import sys

from report import files, tell, text_of

ENDINGS = (".bats", ".bash", ".sh", ".py", ".c", ".h", ".jsonl", ".json")
SHELL = (".bats", ".bash", ".sh")
C = (".c", ".h")
FOLDERS = ("tests", "sdk/python/tests")

# Exempt from all rules: folders that measure time, the lints, which contain bad
# samples, and the runner, which reports each suite's time.
EXEMPT = ("tests/bench/", "tests/clock/", "tests/fuzz/corpus/", "tests/lint/", "tests/patience.",
          "tests/runner.py")
# Exempt from the rule about clocks: the endurance tests run for a given time and log
# it, registries.py signs with the date, and silence.py reports how long a command was
# silent.  measure.sh and starts.py test nothing: they print figures.
EXEMPT_CLOCKS = ("tests/endure/", "tests/run/registries.py", "tests/fresh/silence.py",
                 "tests/engines/kubernetes/measure.sh", "tests/engines/kubernetes/starts.py")
# Exempt functions: the one polling loop in each language, and the pauses of the random clients.
EXEMPT_FUNCTIONS = {"tests/run/helpers.bash": r"until_true\(\) \{",
                    "tests/vm/tap.sh": r"until_true\(\) \{",
                    "tests/engines/expect.sh": r"until_true\(\) \{",
                    "tests/endure/pace.py": r"async def (?:pause|is_so)\("}

NAP = "wait for a line, an event or wait_until, until_true or patience_wait; "
NAP += "a command that is there to be killed is `sleep 1000`"
READ = "read without -t, or with -t \"$PATIENCE\", from what says that it is so"
BOUND = "let PATIENCE bound what never comes (tests/patience.h)"
CLOCK = "assert order, or a cost that is counted, or give `now` to a table; "
CLOCK += "tests/clock is for what must watch a clock"

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
NUMBER = r"\d+(?:_\d+)*(?:\.\d*)?|\.\d+"

# A command, followed by blanks or, in a list of words, by quotes and a comma.
COMMAND = re.compile(r"(?<![\w.$@{-])sleep(?:[ \t]+|[\"']\)?,[ \t]*(?:TEXT\()?)[\"'\\]*"
                     rf"(?:(?P<number>{NUMBER})(?P<unit>[smhd]?)(?![\w.]))")
CALL = re.compile(r"(?<![\w.])(?P<name>(?:time\.|asyncio\.|libc\.)?sleep|usleep|"
                  r"(?:clock_)?nanosleep)"
                  r"\((?P<what>[^)]*)\)?")
VARIABLE = re.compile(r"(?<![\w.$@{-])sleep[ \t]+[\"'\\]*\$(?:\{?(?P<name>[A-Za-z_]\w*)\}?|"
                      rf"\{{\w+:?-(?P<number>{NUMBER})|\(\()")
USLEEP = re.compile(r"(?<![\w.$@{-])usleep[ \t]+[\"'$]*\w")
NOTHING = re.compile(r"\bselect\.select\(\[\], *\[\], *\[\], *[^) ]|\bpoll\((?:NULL|0), *0, *[^-) ]|"
                     r"\bppoll\((?:NULL|0), *0, *[^N) ]|\bthrd_sleep\(|"
                     r"\bp?select\(0, *NULL, *NULL, *NULL, *[^N) ]|"
                     r"\bselect[ (]+undef, *undef, *undef, *[^u ]")
# Imports of sleep under another name, which CALL would not find.
ALIAS = re.compile(r"^[ \t]*(?:from (?:time|asyncio) import [^#\n]*\b(?:sleep\b[ \t]+as\b|\*)|"
                   r"import (?:time|asyncio) as|from time import [^#\n]*\bsleep\b)", re.M)
READ_T = re.compile(r"\bread\b(?:[ \t]+-\w+)*?[ \t]+-\w*t[ \t]*[\"']?"
                    r"(?:\d*\.\d+|[1-9]\d?\b|\$(?!\{?PATIENCE))")
TIMEOUT = re.compile(r"(?<![\w.$@{/-])timeout(?:[ \t]+(?:-[ks][ \t]+|-{1,2}(?:kill-after|signal)[= \t])\w+|"
                     rf"[ \t]+-[\w=-]+)*[ \t]+[\"']?(?P<number>{NUMBER})(?P<unit>[smhd]?)(?![\w.])[\"']?"
                     r"[ \t]+(?!sleep (?:1000|infinity))[\"'$/\w]")
# Arguments, each of which may itself be a call.
ARGUMENTS = r"(?:[^()\n]|\([^()\n]*\))*?"
PYTHON_BOUND = re.compile(
    rf"(?:\.(?:settimeout|wait|join|alarm|Timer|call_later)\((?P<number>{NUMBER})[,)]|"
    r"(?:\.(?:wait|join|get|communicate|wait_for)|\bwait_for|subprocess\.\w+)"
    rf"\({ARGUMENTS}\btimeout=(?P<keyword>{NUMBER})|"
    rf"(?:\bwait_for\(|\bselect\.select\((?!\[\], *\[\], *\[\])){ARGUMENTS}, *(?P<last>{NUMBER})\))")
C_BOUND = re.compile(rf"\balarm\((?P<number>[1-9]\d*)\)|"
                     rf"\b(?:epoll_wait|poll)\((?!NULL|0\b){ARGUMENTS}, *(?P<ms>[1-9]\d*)\)")
SCALED = re.compile(r"\bPATIENCE(?:_M?S)?\b\}?[\"']? *(?:[*/%]|[+-] *[\d.]+\b)|[\d.)] *[*/] *\$?\{?PATIENCE|"
                    r"^[ \t]*(?:#define +|local +|readonly +)?[A-Z_]*(?:TIMEOUT|DEADLINE|PATIENCE)[A-Z_]*"
                    r"(?: *= *| +)[\d.]*[1-9][\d.]*$", re.M)
SHELL_CLOCK = re.compile(r"(?<![\w.])(?:SECONDS|EPOCHREALTIME|EPOCHSECONDS)\b(?!=)")
TIME_TAKEN = re.compile(r"(?:^|[{;(|&])[ \t]*time[ \t]+[\w\"$'{-]|/usr/bin/time\b|\bTIMEFORMAT=", re.M)
DATE = re.compile(r"\bdate\b[^|;&)\n]*?(?:\+[\"']?[^ |;&)]*%[sN]|-u?I(?:ns|s)|--iso-8601=[ns])|"
                  r"%\(%s\)T|(?:<|\bcat |\bopen\(|\bPath\()[ \"']*/proc/uptime")
PYTHON_CLOCK = re.compile(r"\bdatetime(?:\.datetime)?\.(?:utcnow|now|today)\(|"
                          r"\bos\.times\(\)(?:\.elapsed|\[4\])|"
                          r"^[ \t]*from time import [^#\n]*\b(?:time|monotonic|perf_counter)(?:_ns)?\b|"
                          r"\btime\.(?:time|monotonic|perf_counter|clock_gettime)(?:_ns)?\b|"
                          r"(?<![\w.])(?:monotonic|perf_counter)(?:_ns)?\(", re.M)
C_CLOCK = re.compile(r"\b(?:clock_(?:ms|us|gettime)|gettimeofday|timespec_get|ftime)\s*\(|"
                     r"(?<![\w.>\"])times?\s*\(\s*(?:NULL|0|&[\w.>-]+)\s*\)")
CPU = re.compile(r"[\s(]*(?:time\.)?CLOCK_(?:PROCESS|THREAD)_CPUTIME_ID")


def is_short_command(match):
    return float(match["number"]) * UNITS[match["unit"]] < 100


def is_short_variable(match):
    """A variable that the file sets to a short time, a short default, or a
    computed time."""
    if not match["name"]:
        return float(match["number"] or 0) < 100
    return re.search(rf"(?<![\w$]){match['name']}=[\"']?(?:\d{{1,2}}(?:[.s]\d*)?|\.\d+)(?![\w.])", match.string)


def is_short_bound(match):
    """C bounds are also in milliseconds; PATIENCE_MS is the only name for such
    bounds."""
    number = float(next(text for text in match.groupdict().values() if text))
    if match.re is C_BOUND:
        return match["number"] is None or number < 100
    above = match.string[:match.start()].rpartition("\n")[0].rpartition("\n")[2]
    return 0 < number < 100 and "assertRaises(" not in above


def is_short_call(match):
    name, what = match["name"], match["what"].strip()
    if "nanosleep" in name:
        return True
    if name == "asyncio.sleep" and what == "0":
        return False
    if not re.fullmatch(NUMBER, what):
        # The argument is no number.  It is harmless if this is no call: a parameter in
        # a prototype of C, such as `unsigned sleep(unsigned)`, or a word in a comment.
        return "." in name or name.startswith("u") or what[:1] in "*&"
    return float(what.replace("_", "")) / (1e6 if name.startswith("u") else 1) < 100


def is_of_time(match):
    """True unless the clock is one of processor time."""
    return not CPU.match(match.string, match.end())


def always(_):
    return True


# Each rule: the endings of the files that it applies to, the pattern, a function that
# tells whether a match counts, and the message.
RULES = [
    (ENDINGS, COMMAND, is_short_command, NAP),
    ((".py", ".c", ".h", ".bats", ".bash", ".sh", ".jsonl", ".json"), CALL, is_short_call, NAP),
    (ENDINGS, NOTHING, always, NAP),
    (SHELL + (".json", ".jsonl"), VARIABLE, is_short_variable, NAP),
    (SHELL, USLEEP, always, NAP),
    ((".py",), ALIAS, always, NAP),
    (SHELL + (".py",), TIMEOUT, is_short_command, BOUND),
    ((".py", ".bats"), PYTHON_BOUND, is_short_bound, BOUND),
    (C, C_BOUND, is_short_bound, BOUND),
    (SHELL + C + (".py",), SCALED, always, BOUND),
    (SHELL, TIME_TAKEN, always, CLOCK),
    (ENDINGS, READ_T, always, READ),
    (SHELL + (".json", ".jsonl"), SHELL_CLOCK, always, CLOCK),
    (ENDINGS, DATE, always, CLOCK),
    ((".py", ".bats", ".bash", ".sh", ".json", ".jsonl"), PYTHON_CLOCK, is_of_time, CLOCK),
    (C, C_CLOCK, is_of_time, CLOCK),
]
SENTENCES = {NAP: "no test takes a nap", READ: "no test reads for a time of its own",
             BOUND: "no test has a bound of its own",
             CLOCK: "no test reads a clock"}


def blank(match):
    """Returns as many empty lines as the match has."""
    return "\n" * match[0].count("\n")


def code_or_blank(match):
    """Keeps a C string, whatever is in it."""
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
            indented = r"(?:(?:\n[ \t]*)*\n[ \t]+\S.*)*"
            text = re.sub(rf"^{begin}.*{indented}", blank, text, flags=re.M)
    return text


def findings(name, text):
    """Yields pairs of the advice and the FILE:LINE that it is for."""
    if name.startswith(EXEMPT):
        return
    text = without_exempt_functions(name, without_comments(name, text))
    for endings, seen, counts, instead in RULES:
        if not name.endswith(endings) or (instead in (CLOCK, BOUND) and name.startswith(EXEMPT_CLOCKS)):
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
