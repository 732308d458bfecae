#!/usr/bin/env -S python3 -SE
"""clock.py: time is an argument (base/clock.h).  Prints TAP.

A function that reads the clock can be tested by waiting alone.  So a loop reads it, before
poll(2), when that has returned and behind a step that may block, and a start reads it once;
both hand `now` down, and nothing below them reads a clock.  This lint knows the loops and the
starts; a read of a clock anywhere else in the C sources of the product is refused, and so is a
name in these lists that reads none any more.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("actions", "archive", "base", "cli", "egress", "executor", "include", "lib", "mcp", "policy",
           "protocol", "rootfs-tools", "sandbox", "store", "supervisor")

# FILE: functions that may read the clock: the turn of a loop, or the one function that
# reads the clock for it.
LOOPS = """
base/await.c: await_ready
base/wait_line.c: tell
egress/gate/gate.c: gate_run wait_for
egress/launch/egress.c: egress_finish
egress/upstream.c: turn
executor/fileops/errand_grep.c: is_past
executor/executor.c: look_at_clock
executor/process/seize.c: seize_all wait_for_all
executor/process/tree.c: stop_all tree_end
lib/wait.c: wait_until
mcp/server.c: on_input turn
rootfs-tools/registry/pull_workers.c: supervise tell_at
actions/stream.c: look_at_clock
cli/cp.c: turn
cli/exec.c: turn
cli/stats_poll.c: collect
supervisor/supervisor.c: supervisor_look_at_clock
supervisor/pool/pool.c: turn
sandbox/launch/ports.c: ports_end
sandbox/landlock/landlock_run.c: turn
sandbox/launch/supervise.c: turn
sandbox/cgroup/scope_bus.c: wait_for
store/ledger.c: ledger_lock
"""

# FILE: functions that may read the clock at a start: of a loop, of a wait for an
# answer, or of an interval that is measured.
STARTS = """
base/wait_line.c: wait_line_start
executor/executor.c: executor_init
rootfs-tools/registry/fetch.c: fetch_layers
rootfs-tools/registry/credential_helper.c: credential_helper_get
cli/common/client.c: client_greet write_all
cli/cp.c: copy_one
cli/stats_poll.c: gather
cli/pool_client.c: ask pool_take
cli/rm.c: end_connected
cli/run.c: run_launch
mcp/server.c: server_init
supervisor/pool/pool.c: pool_run
sandbox/landlock/landlock_run.c: run run_all
sandbox/launch/supervise.c: supervise_run
"""

# FILE: functions that may read the date: they write it down, or read it once for a
# whole command of hutch and pass it on.
STAMPS = """
rootfs-tools/build/build.c: build_image
rootfs-tools/ls.c: print
rootfs-tools/snapshot.c: make_image
cli/audit_show.c: audit_show_main
cli/changes.c: changes_main
cli/net_main.c: list_rules
cli/ps.c: ps_main
egress/upstream.c: date_ms
supervisor/events.c: events_now
sandbox/plan/image.c: add_host_paths
sandbox/root/cow.c: cow_make
sandbox/state/saved_spec.c: time_now
sandbox/kernel/log_level.c: time_now
sandbox/monitor/denials.c: date_ms
sandbox/state/registry_end.c: end_us
store/ledger.c: print_time
"""

# The clock itself.
CLOCK = "base/clock.h: clock_ms clock_us"

ADVICE = "take now as an argument, see base/clock.h"

# The clock functions of hutch and libc match also without a bracket after the name:
# such a function may be called through a pointer.
READ = re.compile(r"\b(?:clock_(?:ms|us|gettime)|gettimeofday|timespec_get|ftime)\b|"
                  r"\b(?:SYS|__NR)_(?:clock_gettime|gettimeofday|time)\b|(?<![\w.>])times\s*\(|"
                  r"(?<![\w.>])time\s*\(\s*(?:NULL|0|&\s*[\w.>-]+)\s*\)")
# Removed before the search for a function's name: NAME would match `__attribute__`, too.
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)")
NAME = re.compile(r"(\w+)\s*\(")


def allowed():
    """Returns the pairs (file, function) that may read a clock."""
    lines = "\n".join((LOOPS, STARTS, STAMPS, CLOCK)).strip().splitlines()
    pairs = (line.split(":") for line in lines if line)
    return {(file.strip(), function) for file, functions in pairs
            for function in functions.split()}


def without_words(text):
    """Replaces comments and strings by blank lines, so that line numbers stay."""
    return re.sub(r"""/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])+'|"(?:\\.|[^"\\\n])*\"""",
                  lambda match: "\n" * match[0].count("\n"), text, flags=re.S)


def reads(text):
    """Yields each read: its line, and its function.  A function's body begins
    with a bracket in column 0; its name is on the last line before that which
    begins in column 0."""
    head = function = "no function"
    for number, line in enumerate(without_words(text).splitlines(), 1):
        if line.startswith("{"):
            name = NAME.search(ATTRIBUTE.sub("", head))
            function = name[1] if name else "no function"
        elif line.startswith("}"):
            function = "no function"
        elif re.match(r"[A-Za-z_]", line):
            head = line
            # The name of a clock function in a prototype or a type does not read the clock.
            before, _, body = line.replace("=", "{").partition("{")
            name = NAME.search(ATTRIBUTE.sub("", before))
            for _ in READ.finditer(body):
                yield number, name[1] if name else function
            continue
        for _ in READ.finditer(line):
            yield number, function


def sources():
    for folder in FOLDERS:
        yield from sorted(path for path in (TOP / folder).rglob("*.[ch]") if path.is_file())


def findings():
    may, found = allowed(), set()
    for path in sources():
        file = str(path.relative_to(TOP))
        for number, function in reads(path.read_text(encoding="utf-8", errors="replace")):
            found.add((file, function))
            if (file, function) not in may:
                yield f"{file}:{number}: {function}() reads the clock: {ADVICE}"
    for file, function in sorted(may - found):
        yield f"{file}: {function}() reads no clock: take it out of tests/lint/clock.py"


SAMPLE = '''/* clock_ms() in a comment */
__attribute__((noreturn)) static void below(struct x *x,
					    int64_t due)
{
	say("clock_ms()");
	x->due = clock_ms() + 1;
	x->time(NULL);
}

struct x global = {
	.time = now(),
};

int stamp(void)
{
	return (int)time(NULL);
}

int64_t clock_us(void);
static int64_t short_one(void) { return clock_us(); }
reader hidden = clock_ms;

static void more(void)
{
	mark('"'); (void)time(&x->at); mark('"');
	int64_t (*by)(void) = clock_ms;
	(void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &x->now);
}
'''


def main():
    print("1..2")
    seen = list(reads(SAMPLE))
    is_well = seen == [(6, "below"), (16, "stamp"), (20, "short_one"), (21, "no function"), (25, "more"),
                        (26, "more"), (27, "more")]
    print("ok 1 - reads of the clock are found" if is_well else f"not ok 1 - found: {seen}")
    refused = list(findings())
    print("not " * bool(refused) + "ok 2 - loops and starts alone read the clock")
    for line in refused:
        print(f"# {line}")
    return 0 if is_well and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
