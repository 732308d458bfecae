#!/usr/bin/env -S python3 -SE
"""test_lints.py: each rule of the lints refuses its samples, and nothing that
is allowed."""
import sys

import layers
import libraries
import python
import report
import rooms
import sleeps
import words
from layers import patch

# Samples that the lint must refuse: a file's name and its content.
NAPS = [
    ("tests/run/x.bats", "sleep 0.3"),
    ("tests/run/x.bats", "\t(/bin/sleep .5; echo) &"),
    ("tests/run/x.bats", "box sh -c 'sleep 9; exit'"),
    ("tests/run/x.bats", "sleep 1m"),
    ("tests/run/x.bash", 'sleep "0.00$((i % 10))"'),
    ("tests/run/x.bats", 'start("sleep", "1.5")'),
    ("tests/run/x.bats", 'pause=0.3\nsleep "$pause"'),
    ("tests/run/x.bats", "pause=5 x; sleep ${pause}"),
    ("tests/run/x.bats", 'sleep "${1:-0.1}"'),
    ("tests/run/x.bats", "sleep $((n / 10))"),
    ("tests/run/x.bats", "usleep 1000"),
    ("tests/run/x.bats", "perl -e 'select(undef, undef, undef, 0.2)'"),
    ("tests/run/x.bats", "python3 -c 'import time; time.sleep(.2)'"),
    ("tests/run/x.py", "from time import process_time, sleep"),
    ("tests/run/x.py", "from asyncio import sleep as nap"),
    ("tests/run/x.py", "import time as t"),
    ("tests/run/x.py", "time.sleep(0.01)"),
    ("tests/run/x.py", "time.sleep(pace * 2)"),
    ("tests/run/x.py", "libc.sleep(3)"),
    ("tests/run/x.py", "await asyncio.sleep(0.05)"),
    ("tests/run/x.py", "select.select([], [], [], 0.1)"),
    ("tests/run/x.py", "perl -e 'select undef, undef, undef, 0.1'"),
    ("tests/unit/test_x.c", "\tusleep(50000);"),
    ("tests/unit/test_x.c", "\tsleep(1);"),
    ("tests/unit/test_x.c", "\t(void)nanosleep(&moment, NULL);"),
    ("tests/unit/test_x.c", "\t(void)poll(NULL, 0, 1);"),
    ("tests/unit/test_x.c", "\t(void)ppoll(0, 0, &moment, NULL);"),
    ("tests/unit/test_x.c", "\tthrd_sleep(&moment, NULL);"),
    ("tests/unit/test_x.c", 'ARGV(TEXT("/bin/sleep"), TEXT("0.3"))'),
    ("tests/unit/test_x.c", 'put("a/*b"); run("sleep 2");'),
    ("tests/unit/x.h", 'request("echo up; sleep 10")'),
    ("tests/run/golden/x.jsonl", '{"command": "sleep 0.2; echo slept"}'),
    ("tests/run/golden/x.json", '"command": "sleep 6"'),
    ("sdk/python/tests/test_x.py", 'box.popen(["sleep", "0.5"])'),
    ("tests/run/helpers.bash", "until_true() {\n\tread x\n}\n\nother() {\n\tsleep 1\n}"),
    ("tests/vm/init.sh", "until_true() {\n\tsleep 1\n}"),
    ("tests/endure/soak.py", "async def pause(seconds):\n    await asyncio.sleep(seconds)\n"),
    ("tests/endure/pace.py", "async def other():\n    await asyncio.sleep(1)\n"),
]
READS = [
    ("tests/run/x.bats", "read -r -t 0.02 <> <(:)"),
    ("tests/run/x.bats", "read -rt.5 line"),
    ("tests/run/x.bats", 'read -t "0.0$n" x'),
    ("tests/run/x.bats", "read -r -t 2 line <&3"),
    ("tests/run/x.bats", 'read -rt "$bound" line'),
    ("tests/run/golden/x.jsonl", '{"command": "while ! read -t 0.1 x; do :; done"}'),
]
BOUNDS = [
    ("tests/run/x.bats", "timeout 1 cat fifo"),
    ("tests/run/x.bats", "run timeout -k 1 0.5s cat fifo"),
    ("tests/run/x.bats", 'timeout --signal=KILL 3 "$HUTCH" run true'),
    ("tests/run/x.bats", "timeout 1 sleep 30000"),
    ("tests/run/x.bats", 'timeout $((PATIENCE * 2)) cat'),
    ("tests/run/x.bash", "readonly DEADLINE=5"),
    ("tests/run/x.py", "p.wait(PATIENCE / 10)"),
    ("tests/run/x.py", "TIMEOUT = 0.5"),
    ("tests/unit/test_x.c", "\tpoll(&w, 1, PATIENCE_MS + 100);"),
    ("tests/unit/x.h", "#define TIMEOUT_MS 5000"),
    ("tests/run/x.py", "await asyncio.wait_for(client.ask(a, b), 0.5)"),
    ("tests/run/x.py", "asyncio.wait_for(client.ask(), timeout=1)"),
    ("tests/run/x.py", "s.settimeout(0.2)"),
    ("tests/run/x.py", "p.communicate(ask(), timeout=1)"),
    ("tests/run/x.py", "subprocess.run(['true'], check=True, timeout=5)"),
    ("tests/run/x.bats", "done.wait(.5)"),
    ("tests/run/x.py", "threading.Timer(0.2, stop).start()"),
    ("tests/run/x.py", "loop.call_later(2, stop)"),
    ("tests/run/x.py", "signal.alarm(1)"),
    ("tests/run/x.py", "select.select([a, b], [], [], 5)"),
    ("tests/unit/test_x.c", "\t(void)alarm(5);"),
    ("tests/unit/test_x.c", "\tassert_int_equal(poll(&fds[at(2)], 1, 500), 1);"),
    ("tests/unit/test_x.c", "\tn = epoll_wait(epoll, &event, 1, 5000);"),
]
CLOCKS = [
    ("tests/run/x.bats", "local begun=$SECONDS"),
    ("tests/run/x.bats", "((SECONDS < deadline))"),
    ("tests/run/x.sh", "now=$EPOCHREALTIME"),
    ("tests/run/x.bats", "begun=$(date +%s%N)"),
    ("tests/run/x.bats", 'date -d now "+%s"'),
    ("tests/run/x.bats", "date -Ins"),
    ("tests/run/x.bats", "date --utc --iso-8601=ns"),
    ("tests/run/x.bats", "printf -v now '%(%s)T' -1"),
    ("tests/run/x.bats", "read -r up _ </proc/uptime"),
    ("tests/run/x.py", "open('/proc/uptime').read()"),
    ("tests/run/x.bats", "took=$({ time box true; } 2>&1)"),
    ("tests/run/x.bats", "/usr/bin/time -f %e true"),
    ("tests/run/x.py", "begun = datetime.datetime.now()"),
    ("tests/run/x.py", "begun = os.times().elapsed"),
    ("tests/run/x.py", "from time import time"),
    ("tests/run/x.py", "begun = time.monotonic()"),
    ("tests/run/x.py", "seed = time.time_ns()"),
    ("tests/run/x.py", "time.clock_gettime(time.CLOCK_MONOTONIC)"),
    ("tests/run/x.py", "begun = perf_counter()"),
    ("tests/unit/test_x.c", "\tint64_t begun = clock_ms();"),
    ("tests/unit/test_x.c", "\tclock_gettime(CLOCK_MONOTONIC, &now);"),
    ("tests/unit/test_x.c", "\tgettimeofday(&now, NULL);"),
    ("tests/unit/test_x.c", "\ttimespec_get(&now, TIME_UTC);"),
    ("tests/unit/test_x.c", "\tx->begun = time(NULL);"),
    ("tests/unit/test_x.c", "\tbegun = times(&x->used);"),
]
NEITHER = [
    ("tests/run/x.bats", "sleep 1000 &\nsleep infinity\nsleep 2m\nsleep 987.1\nexec sleep 100"),
    ("tests/run/x.bats", "pgrep -x sleep\n# sleep 1\nmade sleep readlink\nsleep \"$seconds\""),
    ("tests/run/x.bats", "NO_CHANGE_TIMEOUT_SECONDS=5 x\nread -t \"$PATIENCE\" x\nread -t 0"),
    ("tests/run/x.bats", "seconds=$((1000000 + $$))\nsleep \"$seconds\"\nread -rt \"${PATIENCE}\" x"),
    ("tests/run/x.bats", "timeout 0.1 sleep 1000\ntimeout \"$PATIENCE\" cat\nmake --timeout 1s x\n"
                         "reason two timeout 124 ttl"),
    ("tests/run/x.bats", "local time x; printf '%(%Y)T'; date -u -I"),
    ("tests/run/x.py", "o = box.run(a(), timeout=1)\nw.wait(0)\nselect.select([a], [], [], 0)"),
    ("tests/run/x.py", "with self.assertRaises(asyncio.TimeoutError):\n    asyncio.wait_for(x(), 0.05)"),
    ("tests/run/x.py", "os.times().user\nfrom time import process_time\np.wait(timeout=PATIENCE)"),
    ("tests/unit/test_x.c", "assert_int_equal(poll(&w, 1, PATIENCE_MS), 1); alarm(PATIENCE_S);\n"
                            "alarm(0); naps == PATIENCE_MS; epoll_wait(e, &x, 1, 0); clock(); x->time(NULL);"),
    ("tests/run/x.bats", "date +%Y\nread -r -t 120 line"),
    ("tests/run/x.py", "await asyncio.sleep(0)\ntime.sleep(1000)\n['sleep', '1000']"),
    ("tests/run/x.py", "time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)\ntime.process_time()"),
    ("tests/run/x.py", '"""A command that may sleep 5 seconds."""\nselect.select([a], [], [], PATIENCE)'),
    ("tests/unit/test_x.c", "/* It may sleep 5 s, or read clock_ms(). */\nint now = now_ms();"),
    ("tests/unit/test_x.c", "clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);\npoll(NULL, 0, -1);"),
    ("tests/unit/test_x.c", "static void put_sleep(struct buffer *b) { pause(); }"),
    ("tests/run/helpers.bash", "until_true() {\n\tlocal x=$SECONDS\n\n\tsleep 0.1\n}"),
    ("tests/vm/tap.sh", "until_true() {\n\tlocal x=$SECONDS\n\n\tsleep 0.1\n}"),
    ("tests/endure/pace.py", "async def pause(seconds):\n    await asyncio.sleep(seconds)\n"),
    ("tests/endure/pace.py", 'async def pause(seconds):\n    """Pauses.\n\n    A client does."""\n'
                             "    await asyncio.sleep(seconds)\n"),
    ("tests/endure/soak.py", "begun = time.monotonic()"),
    ("tests/runner.py", "begun = time.monotonic()"),
    ("tests/clock/x.bats", "sleep 1"),
    ("tests/bench/x.py", "time.monotonic()"),
    ("tests/patience.py", "time.sleep(0.001)"),
]

# Bad samples of Python: the sample, and a part of the name of the check that must fail.
PYTHON = {
    "def f(:\n    pass\n": "compiles",
    "import os\n": "imports",
    "from a import b, c\nprint(b)\n": "imports",
    "def f():\n    x = 1\n    return 2\n": "assigns",
    f"x = '{'y' * 120}'\n": "columns",
}
CLEAN_PYTHON = ["import os\nprint(os.name)\n", "from a import b as b\n", "x = 1\n",
                "import a\n__all__ = ['a']\n", "from __future__ import annotations\n",
                "def f():\n    _ = 1\n    x = 1\n    return lambda: x\n",
                "def f():\n    global x\n    x = 1\n"]
BATS = ["python3 - <<-'END'\n\timport a\n\tprint(a)\nEND\n", "python3 -c 'import a; a.b(); a.c()'\n",
        "python3 -SE - x <<END\nfor x in y:\n    print(x)\nEND\n", 'python3 -c "\nimport a\na"\n']
CLEAN_BATS = ["python3 -c 'print(1)'\n", "python3 -c 'import a; a.b()'\n",
              "python3 x sh -c 'a; b'\n", "python3 - <<'END'\nprint(1)\nEND\n",
              "python3 here.py <<'END'\none\ntwo\nEND\n", "cat <<'END'\nimport a\nb\nEND\n"]

# A Makefile with two rooms (folders of sources), each with one source; then changes of
# these, with a part of the name of the check that must fail.
MAKEFILE = "ROOMS := low high\nFILES_low := x\nUSES_low :=\nFILES_high := y\nUSES_high := \\\n  low\n"
SOURCES = {"low/x.c": '#include "low/x.h"\n', "high/y.c": '#include "low/x.h"\n'}
ROOMS = [
    (MAKEFILE, {**SOURCES, "low/x.c": '#include "high/y.h"\n'}, "each include"),
    (MAKEFILE.replace("USES_low :=", "USES_low := high"),
     {**SOURCES, "low/x.c": '#include "high/y.h"\n'}, "each room uses only"),
    (MAKEFILE, {**SOURCES, "high/y.c": "#include <x.h>\n"}, "each room that is named"),
    (MAKEFILE, {**SOURCES, "other/z.c": ""}, "each source"),
    (MAKEFILE.replace("FILES_low := x", "FILES_low := x z"), SOURCES, "each source"),
]
# Sources that include a library's header, the page that names the including file, and a
# part of the name of the check that must fail.
HEADERS = "HEADERS := \\\n  a/b.h\n"
LIBRARIES = [
    ({"x.c": "#include <a/b.h>\n", "y.c": "#include <a/b.h>\n"}, "`x.c` `y.c`", "each library"),
    ({"x.h": "#include <a/b.h>\n"}, "`x.h`", "each library"),
    ({"x.c": "#include <a/c.h>\n"}, "`x.c`", "each library"),
    ({"x.c": "#include <a/b.h>\n"}, "`y.c`", "docs/dependencies.md"),
]
WORDS = [("x.c", "/* x -- What is here. */"), ("x.h", "/* A list.\n * Of these one is it. */"),
         ("x.py", "# It runs.  Nobody\n# reads it."), ("x.md", "- One that ends\n"),
         ("x.md", "| a | Whoever asks |\n"), ("Makefile", "# so that somebody sees")]
PLAIN = [("x.c", 'say("/* What */");'), ("x.md", "```\nWhat is it\n```\n"), ("x.md", "What is this?\n"),
         ("x.md", "The user `nobody` runs it.\n"), ("x.py", "#!/bin/What\n")]

# A row of layers.tsv and a source, and a part of the name of the check that must fail.
ROW, SOURCE = "x\tif (0)\tunit/y\n", "\tif (f()) /* layer: x */\n\t\treturn;\n"
LAYERS = [
    ("", SOURCE, "each marker"), (ROW, "", "each marker"), (ROW, SOURCE * 2, "each marker"),
    (ROW * 2, SOURCE, "each marker"), (ROW, SOURCE.replace("x", "z"), "each marker"),
    ("x\tif (f())\tunit/y\n", SOURCE, "each row's text"),
    (ROW, "\tif (f() || /* layer: x */\n\t    g())\n", "each row's text"),
    (ROW, "\tif (f())\n\t/* layer: x */", "each row's text"),
    ("x\tif (g())\tunit/y\n", SOURCE, "each row's text has the words"),
    ("x\t-\n", "f(); /* layer: x */", "each row names"),
    (ROW.replace("/y", "/z"), SOURCE, "each row names"),
    (ROW.replace("unit/y", "run/y:but a comment"), SOURCE, "each row names"),
]
FITS = [(ROW, SOURCE), (ROW, "\t/* layer: x */\n\tif (f())\n"), ("x\t-\trun/y:a case\n", SOURCE),
        ('x\t"b": {\troot:unit/y\n', '\t"comment": "layer: x",\n\t"a": {\n\t}\n'),
        ("# y\tz\nx\t-\tunit/y\n", "#define A \\\n\t(B | \\\n\t C | /* layer: x */ \\\n\t D)\n")]
LAYER_TESTS = {"tests/unit/test_y.c": "int y;\n", "tests/run/y.bats": '# but a comment\n@test "a case"\n'}
# A source, and the same after "z" has replaced the line of the layer "x".
LEFT = [("\ta; /* layer: x */\n\tb;\n", "\tz\n\tb;\n"),
        ("\t/* layer: x */\n\ta;\n\tb; /* layer: y */\n", "\t/* layer: x */\n\tz\n\tb; /* layer: y */\n")]


def red(found):
    return {instead for instead, _ in found}


def rows():
    """Yields a sentence for each sample, and whether it holds."""
    for instead, samples in ((sleeps.NAP, NAPS), (sleeps.READ, READS),
                             (sleeps.BOUND, BOUNDS), (sleeps.CLOCK, CLOCKS)):
        for name, text in samples:
            yield f"{name} with {text!r}: {instead}", \
                red(sleeps.findings(name, text)) == {instead}
    for name, text in NEITHER:
        yield f"{name} may have {text!r}", not red(sleeps.findings(name, text))
    for text, word in PYTHON.items():
        wrong = [sentence for sentence, found in python.checks({"x.py": text}, {}) if found]
        yield f"{text!r}: {word}", len(wrong) == 1 and word in wrong[0]
    for text in CLEAN_PYTHON:
        yield f"{text!r} is clean", not any(f for _, f in python.checks({"x.py": text}, {}))
    for text in BATS:
        yield f"no {text!r}", any(f for _, f in python.checks({}, {"x.bats": text}))
    for text in CLEAN_BATS:
        yield f"{text!r} may be", not any(f for _, f in python.checks({}, {"x.bats": text}))
    for makefile, sources, words_of in ROOMS:
        wrong = [sentence for sentence, found in rooms.checks(makefile, sources) if list(found)]
        yield f"{sources} with {makefile!r}: {words_of}", \
            len(wrong) == 1 and wrong[0].startswith(words_of)
    yield "the two rooms are as they should be", \
        not any(list(found) for _, found in rooms.checks(MAKEFILE, SOURCES))
    for sources, page, words_of in LIBRARIES:
        wrong = [sentence for sentence, found in libraries.checks(HEADERS, sources, page)
                 if list(found)]
        yield f"{sources} with {page!r}: {words_of}", \
            len(wrong) == 1 and wrong[0].startswith(words_of)
    yield "one library is as it should be", not any(
        list(found) for _, found in
        libraries.checks(HEADERS, {"x.c": "#include <stdio.h>\n#include <a/b.h>\n"}, "`x.c`"))
    for name, text in WORDS:
        yield f"{name} with {text!r} has no plain subject", len(list(words.refused(name, text))) == 1
    for name, text in PLAIN:
        yield f"{name} with {text!r} is plain", not list(words.refused(name, text))
    for table, source, words_of in LAYERS:
        wrong = [sentence for sentence, found in layers.checks(table, {"x.c": source}, LAYER_TESTS)
                 if list(found)]
        yield f"{source!r} with {table!r}: {words_of}", \
            len(wrong) == 1 and wrong[0].startswith(words_of)
    for table, source in FITS:
        yield f"{source!r} with {table!r} fits", \
            not any(list(f) for _, f in layers.checks(table, {"x.c": source}, LAYER_TESTS))
    for source, left in LEFT:
        yield f"{source!r} becomes {left!r}", patch.left_out(source, "x", "z") == left


if __name__ == "__main__":
    sys.exit(report.tell((sentence, [] if holds else [sentence]) for sentence, holds in rows()))
