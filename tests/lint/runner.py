#!/usr/bin/env -S python3 -SE
"""The runner of tests (tests/runner.py), by suites that are made up.  Prints TAP."""
import contextlib
import io
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
# This file has the module's name: its own folder must not be searched for it.
sys.path = [path for path in sys.path if path != os.path.dirname(os.path.realpath(__file__))]
from runner import AGAIN_MAX, Run, Suite  # noqa: E402

PASSES = ["echo", "ok 1 - fine"]
FAILS = ["echo", "not ok 1 - bad"]


def shell(text):
    return ["sh", "-c", text]


def ran(suites, folder, must_work=False, places=2, **options):
    """Runs `suites`; returns the printed lines, the exit code, and the content
    of flaky.txt."""
    run, out, flaky = Run(**options), io.StringIO(), folder / "flaky.txt"
    with contextlib.redirect_stdout(out):
        run.suites(suites, places)
        run.again()
        code = run.sum_up(must_work, flaky)
    return out.getvalue().splitlines(), code, flaky.read_text()


def what_passes_is_counted(folder):
    lines, code, flaky = ran([Suite("a", PASSES), Suite("b", ["printf", "ok 1 - x\nok 2 - y\n"])],
                             folder)
    assert lines[-1] == "3 passed, 0 failed" and code == 0 and flaky == "", lines
    assert "ok 2 - b: y" in lines, lines


def a_suite_that_fails_twice_fails(folder):
    lines, code, flaky = ran([Suite("a", FAILS), Suite("b", PASSES)], folder)
    assert lines[-1] == "1 passed, 1 failed" and code == 1 and flaky == "", lines


def a_suite_that_passes_the_second_time_is_flaky(folder):
    """A suite that failed runs again when all others have ended, and the run
    passes if it then does."""
    first = folder / "first"
    flaky_suite = shell(f"mkdir {first} 2>/dev/null && echo not ok 1 - a || echo ok 1 - a")
    lines, code, flaky = ran([Suite("a", flaky_suite), Suite("b", PASSES)], folder)
    assert lines[-2:] == ["flaky: a", "2 passed, 0 failed"] and code == 0, lines
    assert flaky == "flaky: a\n", flaky
    assert lines.index("# a runs again, alone") > lines.index("ok 1 - b: fine"), lines
    assert "# not ok 1 - a: a" in lines, lines


def a_second_run_must_pass_what_failed(folder):
    """A second try that skips the failed test, or ends earlier, is no pass: the
    failure is not flaky."""
    for number, second in enumerate(("ok 1 - a # skip no luck; echo ok 2 - b; echo ok 3 - c",
                                     "ok 2 - b", "ok 1 - x # skip; echo ok 2 - y # skip")):
        first = folder / str(number)
        text = f"mkdir {first} 2>/dev/null && {{ echo not ok 1 - a; echo ok 2 - b; }} || echo "
        text += second.replace("#", "\\#")
        lines, code, flaky = ran([Suite("a", shell(text))], folder)
        assert code == 1 and flaky == "" and ", 1 failed" in lines[-1], lines
        assert lines[-1].startswith(f"{second.count('echo ok') + 1 - second.count('#')} passed"), lines


def the_file_of_flaky_suites_may_be_the_first_of_its_folder(folder):
    with contextlib.redirect_stdout(io.StringIO()):
        Run().sum_up(False, folder / "no" / "build" / "flaky.txt")
    assert (folder / "no/build/flaky.txt").exists()


def nothing_runs_again_where_much_fails(folder):
    suites = [Suite(str(i), FAILS) for i in range(AGAIN_MAX + 1)]
    lines, code, _ = ran(suites, folder)
    assert code == 1 and not any(line.endswith("runs again, alone") for line in lines), lines


def a_suite_fails_that_ends_badly_or_runs_nothing(folder):
    lines, code, _ = ran([Suite("a", shell("echo ok 1 - x; exit 3")), Suite("b", ["true"]),
                          Suite("c", ["/nowhere"])], folder)
    assert code == 1 and lines[-1] == "1 passed, 3 failed", lines
    assert "not ok - a: ended with code 3" in lines and "not ok - b: ran no test" in lines, lines


def a_suite_fails_that_ends_before_its_plan_does(folder):
    """Too few results fail, whatever the exit code; of several plans (the
    machines print several) the sum counts."""
    suites = [Suite(str(i), ["printf", text]) for i, text in enumerate((
        "1..3\nok 1 - x\nok 2 - y\n", "1..1\nok 1 - x\nok 1 - y\n", "ok 1 - x\nBail out!  No disk\n",
        "1..2\nok 1 - x\nok 2 - y\n1..1\nok 1 - z\n"))]
    lines, code, _ = ran(suites, folder)
    for name in "012":
        assert any(line.startswith(f"not ok - {name}: ") for line in lines), lines
    assert not any(line.startswith("not ok - 3: ") for line in lines), lines
    assert "not ok - 0: planned 3 tests and told of 2" in lines and code == 1, lines


def a_suite_that_hangs_is_ended_and_shown(folder):
    lines, code, _ = ran([Suite("a", shell("echo ok 1 - x; exec sleep 1000"), bound=0)], folder)
    assert code == 1 and any("did not end in 0 s" in line for line in lines), lines
    assert any("sleep 1000" in line for line in lines), lines


def a_hung_suite_is_ended_where_it_cannot_be_shown(folder):
    """A machine may lack ps."""
    for name in ("env", "sh", "sleep"):
        (folder / name).symlink_to(shutil.which(name))
    path = os.environ["PATH"]
    os.environ["PATH"] = str(folder)
    try:
        lines, code, _ = ran([Suite("a", shell("exec sleep 1000"), bound=0)], folder)
    finally:
        os.environ["PATH"] = path
    assert code == 1 and any("did not end in 0 s" in line for line in lines), lines


def a_suite_that_cannot_run_fails(folder):
    """The run does not wait for ever for a suite that cannot be started."""
    lines, code, _ = ran([Suite("a", ["echo", "no argument has a \0"]), Suite("b", PASSES)], folder)
    assert code == 1 and lines[-1] == "1 passed, 1 failed", lines
    assert any(line.startswith("not ok 0 - a: it could not run: ") for line in lines), lines


def a_line_ends_with_lf_alone(folder):
    text = "ok 1 - x\r\n# half\rok 2 - y\n# \x0bok 3 - z\n\xff\0\nok 2 - last"
    lines, code, _ = ran([Suite("a", ["printf", text.replace("\0", "\\0")])], folder)
    assert code == 0 and lines[-1] == "2 passed, 0 failed" and "ok 1 - a: x" in lines, lines


class Interrupted(io.StringIO):
    """Standard output that raises KeyboardInterrupt once the suite has written
    a line to `fifo` and the run has reported the suite as running."""

    def __init__(self, fifo):
        super().__init__()
        self.fifo, self.up = fifo, None
        os.mkfifo(fifo)

    def write(self, text):
        if "running: a" in text and not self.up:
            self.up = open(self.fifo)
            assert self.up.readline() == "up\n"
            raise KeyboardInterrupt
        return super().write(text)


def interrupt(text, fifo, grace_s):
    """Interrupts the run of a suite; returns when no process has `fifo` open."""
    out = Interrupted(fifo)
    with contextlib.redirect_stdout(out), contextlib.suppress(KeyboardInterrupt), \
            Run(silence_s=0.01, grace_s=grace_s) as run:
        run.suites([Suite("a", shell(text)), Suite("next", shell(f"echo >{fifo}.next"))], 1)
    with out.up:
        assert out.up.read() == ""
    assert not os.path.exists(f"{fifo}.next")


def an_interrupted_run_lets_its_suites_clean_up(folder):
    interrupt(f"trap 'echo >{folder}/cleaned; exit' INT; exec 3>{folder}/fifo; echo up >&3; "
              "sleep 1000 & wait", folder / "fifo", 1000)
    assert (folder / "cleaned").exists()


def an_interrupted_run_ends_what_left_the_session(folder):
    interrupt(f"trap '' INT; exec 3>{folder}/fifo; setsid sh -c 'echo up >&3; exec sleep 1000' & "
              "wait; sleep 1000", folder / "fifo", 0)


def a_skip_counts_unless_another_pass_did_it(folder):
    skips = ["echo", "ok 1 - x # skip this machine is too old"]
    other = Suite("a (root)", ["echo", "ok 1 - x"])
    lines, code, _ = ran([Suite("a", skips), other], folder, must_work=True)
    assert lines[-1] == "1 passed, 0 failed" and code == 0, lines
    lines, code, _ = ran([Suite("a", skips)], folder, must_work=True)
    assert lines[-1] == "0 passed, 1 failed" and code == 1, lines
    lines, code, _ = ran([Suite("a", ["echo", "ok 1 x # skip this host has no y"])], folder,
                         must_work=True)
    assert lines[-1] == "0 passed, 0 failed, 1 skipped" and code == 0, lines


def a_skip_of_cmocka_is_none_that_failed(folder):
    lines, code, _ = ran([Suite("a", ["printf", "ok 1 - x\nnot ok 2 # SKIP y\n"])], folder)
    assert lines[-1] == "1 passed, 0 failed, 1 skipped" and code == 0, lines


def what_runs_alone_begins_when_all_others_have_ended(folder):
    """The suite beside it ends when the test has seen both of the others run."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    waits = shell(f"read -r word <{fifo}; echo ok 1 - $word; echo >{folder}/ended")
    alone = shell(f"test -e {folder}/ended && echo ok 1 - alone")
    lines, code, _ = ran([Suite("c", alone, alone=True), Suite("a", waits),
                          Suite("b", shell(f"echo hello >{fifo}; echo ok 1 - b"))], folder)
    assert code == 0 and lines[-1] == "3 passed, 0 failed", lines


def a_silent_run_says_where_it_is(folder):
    """The suite ends when the run has reported it as running."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)

    class Out(io.StringIO):
        def write(self, text):
            if "running: a" in text and not hasattr(self, "told"):
                self.told = True
                with open(fifo, "w") as out:
                    out.write("go\n")
            return super().write(text)

    run, out = Run(silence_s=0.01), Out()
    with contextlib.redirect_stdout(out):
        run.suites([Suite("a", shell(f"read -r word <{fifo}; echo ok 1 - $word"))], 1)
        assert run.sum_up(False, folder / "flaky.txt") == 0
    assert "0 of 1 suites have ended; running: a" in out.getvalue(), out.getvalue()


CASES = [what_passes_is_counted, a_suite_that_fails_twice_fails,
         a_suite_that_passes_the_second_time_is_flaky, a_second_run_must_pass_what_failed,
         the_file_of_flaky_suites_may_be_the_first_of_its_folder, nothing_runs_again_where_much_fails,
         a_suite_fails_that_ends_badly_or_runs_nothing,
         a_suite_fails_that_ends_before_its_plan_does, a_suite_that_hangs_is_ended_and_shown,
         a_hung_suite_is_ended_where_it_cannot_be_shown, a_suite_that_cannot_run_fails,
         a_line_ends_with_lf_alone, an_interrupted_run_lets_its_suites_clean_up,
         an_interrupted_run_ends_what_left_the_session,
         a_skip_counts_unless_another_pass_did_it, a_skip_of_cmocka_is_none_that_failed,
         what_runs_alone_begins_when_all_others_have_ended, a_silent_run_says_where_it_is]


def main():
    bad = 0
    for number, case in enumerate(CASES, 1):
        try:
            with tempfile.TemporaryDirectory() as folder:
                case(pathlib.Path(folder))
            print(f"ok {number} - {case.__name__}")
        except AssertionError as error:
            bad += 1
            print(f"not ok {number} - {case.__name__}")
            print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
