"""runner -- runs suites, which are programs that print TAP, and adds up their
results.

A suite that failed runs once more, alone, when all others have ended.  If it
passes then, the run passes and prints `flaky: NAME`: a bug of the code or of
the test, which has to be fixed.
"""
import contextlib
import fcntl
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

# The terminal, or the reader of CI's output, sees at least this often that
# tests go on.
SILENCE_S = 8
# A suite that takes longer has hung.
SUITE_S = 3600
# The time that long suites have to clean up after Ctrl-C: CI kills a job soon
# after it has asked it to end.
GRACE_S = 5
# If more suites than these failed, something is broken that a second run would
# only show again.
AGAIN_MAX = 10
LONGEST = 15


class Suite:
    """A program that prints TAP.  `alone`: it watches a real clock, or uses the
    whole machine.  `bound`: the number of seconds after which it counts as
    hung."""

    def __init__(self, name, argv, alone=False, bound=SUITE_S):
        self.name, self.argv = name, [str(word) for word in argv]
        self.alone, self.bound = alone, bound


class Ended:
    """The end of one run of a suite: its lines, its code, and its cost."""

    def __init__(self, suite, lines, code, seconds, cpu):
        self.suite, self.seconds, self.cpu = suite, seconds, cpu
        self.lines = [self._named(line) for line in lines]
        if not self.failed():
            self.lines += [f"not ok - {suite.name}: {wrong}" for wrong in self._wrong(code)]

    def _wrong(self, code):
        """Returns the error of a run in which no test failed.  A program that
        ends in the middle, with any code, has printed its number of tests in
        its plan, 1..N."""
        told = [line for line in self.lines if re.match(r"(not )?ok \d", line)]
        plans = [int(line[3:].split("#")[0]) for line in self.lines
                 if re.fullmatch(r"1\.\.\d+ *(#.*)?", line)]
        if code != 0:
            yield f"ended with code {code}"
        elif plans and sum(plans) != len(told):
            yield f"planned {sum(plans)} tests and told of {len(told)}"
        elif any(line.startswith("Bail out!") for line in self.lines):
            yield "bailed out"
        elif not any(line.startswith("ok ") for line in self.lines):
            yield "ran no test"

    def _named(self, line):
        # cmocka marks a test that it skips as "not ok N # SKIP test".
        line = re.sub(r"^not (ok \d+) # SKIP (.*)", r"\1 - \2 # SKIP", line)
        return re.sub(r"^((?:not )?ok \d+)(?: - | |$)", rf"\1 - {self.suite.name}: ", line)

    def failed(self):
        return [line for line in self.lines if line.startswith("not ok")]

    def passed(self):
        return [line for line in self.lines if line.startswith("ok ") and not _skips(line)]

    def skipped(self):
        return [line for line in self.lines if line.startswith("ok ") and _skips(line)]

    def proves(self, first):
        """Returns whether this run passed the tests that failed at first.  Not
        all programs give a failed test the same name, so numbers decide about
        the rest."""
        failed = {_key(line) for line in first.failed()}
        did_fail = any(re.match(r"not ok [1-9]", line) for line in first.failed())
        return len(self.passed()) >= len(first.passed()) + did_fail and \
            not any(_key(line) in failed for line in self.skipped())

    def failures_in_full(self):
        """Returns each failed test with the first lines of its output."""
        shown, left = [], 0
        for line in self.lines:
            left = 30 if line.startswith("not ok") else 0 if re.match(r"ok |1\.\.", line) else left
            if left:
                shown.append(line[:300])
                left -= 1
        return shown


def _skips(line):
    return re.search(r"# skip", line, re.IGNORECASE)


def run_suite(suite, begins=lambda _suite, process: None, ends=lambda _process: None):
    """Passes each started process to begins(), and to ends() while its pid is
    still its own."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out:
        # Text that _end_hung writes stays, whatever the suite writes after it.
        fcntl.fcntl(out, fcntl.F_SETFL, os.O_APPEND)
        # A background job of a shell may have SIGINT ignored; then no test of
        # Ctrl-C would work.
        process = subprocess.Popen(["env", "--default-signal", *suite.argv], stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        begins(suite, process.pid)
        bound = threading.Timer(suite.bound, _end_hung, (process.pid, out, suite.bound))
        bound.start()
        # The process stays a zombie until no thread signals it any more.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        bound.cancel()
        bound.join()
        ends(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        # str.splitlines() knows many line ends, TAP only one; machines send CR LF.
        lines = [line.rstrip("\r") for line in
                 out.read().decode(errors="backslashreplace").removesuffix("\n").split("\n")]
    return Ended(suite, lines, process.returncode, time.monotonic() - begun,
                 usage.ru_utime + usage.ru_stime)


def _end_hung(session, out, seconds):
    """Writes which processes a suite that hangs has, and kills them."""
    text = f"\nnot ok 0 - it did not end in {seconds} s\n"
    with contextlib.suppress(OSError):
        listed = subprocess.run(["ps", "-ww", "-o", "pid,ppid,sid,stat,wchan:20,etime,args",
                                 "--forest", "-p", ",".join(map(str, processes_of(session)))],
                                capture_output=True, check=False).stdout
        text += "".join(f"# {line}\n" for line in
                        listed.decode(errors="backslashreplace").splitlines())
    os.write(out.fileno(), text.encode())
    end_processes(session)


def processes_of(session):
    """Returns the session, the processes that left it by setsid(2), and their
    descendants.  A daemon in its own session whose parents have ended is not
    found."""
    parents, found = {}, set()
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            _, parent, _, of_session, *_ = stat.read_bytes().rpartition(b")")[2].split()
            parents[int(stat.parent.name)] = {int(parent), int(of_session)}
    more = {session}
    while more:
        found |= more
        more = {pid for pid, above in parents.items() if above & found} - found
    return found


def end_processes(session):
    """Stops them all first: a process that forks would otherwise leave a child
    that is in no list."""
    stopped = set()
    while more := processes_of(session) - stopped:
        _signal(more, signal.SIGSTOP)
        stopped |= more
    _signal(stopped, signal.SIGKILL)


def _signal(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


class Run:
    """Runs suites and keeps the end of each.  Leaving `with Run()` ends those
    that still run."""

    def __init__(self, silence_s=SILENCE_S, grace_s=GRACE_S):
        self.ends, self.flaky, self.silence_s, self.grace_s = [], [], silence_s, grace_s
        # Names by session; `changed` guards both.
        self.running, self.is_over, self.changed = {}, False, threading.Condition()
        self.begun = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Suites are in sessions of their own, which a terminal's Ctrl-C does
        not reach.  They get it from here, so that they clean up, and are killed
        soon after that."""
        with self.changed:
            self.is_over = True
            for session in self.running:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(session, signal.SIGINT)
            try:
                self.changed.wait_for(lambda: not self.running, self.grace_s)
            finally:
                for session in self.running:
                    end_processes(session)

    def suites(self, suites, places):
        """Runs `places` suites at a time; those that run alone come after all
        others."""
        self._batch([suite for suite in suites if not suite.alone], places)
        self._batch([suite for suite in suites if suite.alone], 1)

    def again(self):
        """Runs the failed suites once more; a suite that passes now is flaky."""
        failed = [end for end in self.ends if end.failed()]
        if len(failed) > AGAIN_MAX:
            _say(f"# {len(failed)} suites failed; none of them runs again")
            return
        for end in failed:
            _say(f"# {end.suite.name} runs again, alone")
            self.ends.remove(end)
            self._batch([end.suite], 1)
            second = self.ends[-1]
            if not second.failed() and not second.proves(end):
                second.lines.append(f"not ok - {end.suite.name}: failed at first, and the second "
                                    "run does not pass what failed")
                _say(second.lines[-1])
            if not second.failed():
                self.flaky.append(end)

    def _batch(self, suites, places):
        todo, done = queue.SimpleQueue(), queue.SimpleQueue()
        for suite in suites:
            todo.put(suite)
        for _ in range(min(places, len(suites))):
            threading.Thread(target=self._work, args=(todo, done), daemon=True).start()
        left = len(suites)
        while left:
            try:
                end = done.get(timeout=self.silence_s)
            except queue.Empty:
                self._say_where(left, len(suites))
                continue
            left -= 1
            self.ends.append(end)
            _say(f"# {end.suite.name}: {end.seconds:.1f} s, {end.cpu:.1f} s of CPU", *end.lines)

    def _work(self, todo, done):
        with contextlib.suppress(queue.Empty):
            while not self.is_over:
                suite = todo.get_nowait()
                try:
                    end = run_suite(suite, self._begins, self._ends)
                except Exception as error:  # whatever it is: the run waits for an end of each suite
                    end = Ended(suite, [f"not ok 0 - it could not run: {error!r}"], 1, 0, 0)
                done.put(end)

    def _begins(self, suite, session):
        with self.changed:
            self.running[session] = suite.name
            if self.is_over:
                end_processes(session)

    def _ends(self, session):
        with self.changed:
            if self.is_over:
                end_processes(session)
            del self.running[session]
            self.changed.notify_all()

    def _say_where(self, left, count):
        minutes, seconds = divmod(int(time.monotonic() - self.begun), 60)
        with self.changed:
            names = ", ".join(self.running.values())
        _say(f"# {minutes}:{seconds:02}: {count - left} of {count} suites have ended; running: {names}")

    # --- the sum ----------------------------------------------------------------------

    def skips(self):
        """Returns the tests that no pass ran: a test that one pass skips may
        run in another, as root."""
        did = {_key(line) for end in self.ends for line in end.passed()}
        return [line for end in self.ends for line in end.skipped() if _key(line) not in did]

    def sum_up(self, must_work, flaky_file):
        """Prints the sum, with the count in the last line; returns the exit code."""
        skips, failed = self.skips(), [line for end in self.ends for line in end.failed()]
        passed = sum(len(end.passed()) for end in self.ends)
        avoidable = [line for line in skips if "this host has no" not in line] if must_work else []
        self._say_costs()
        for title, lines in (
                ("skipped:", skips),
                ("skipped, which MUST_WORK=1 counts as failed:", avoidable),
                ("failed at first, and passed alone:",
                 [line for end in self.flaky for line in end.failures_in_full()]),
                ("failed:", [line for end in self.ends for line in end.failures_in_full()]),
                ("failed, by name:" if failed else "", [line[:300] for line in failed])):
            if lines:
                _say(f"# {title}", *(f"# {line}" for line in lines))
        names = [f"flaky: {end.suite.name}" for end in self.flaky]
        flaky_file.parent.mkdir(parents=True, exist_ok=True)
        flaky_file.write_text("".join(f"{name}\n" for name in names))
        bad, left = len(failed) + len(avoidable), len(skips) - len(avoidable)
        _say(*names, f"{passed} passed, {bad} failed" + (f", {left} skipped" if left else ""))
        return 1 if bad else 0

    def _say_costs(self):
        minutes, seconds = divmod(int(time.monotonic() - self.begun), 60)
        cpu = sum(end.cpu for end in self.ends)
        _say(f"# {len(self.ends)} suites took {minutes}:{seconds:02}, and {cpu:.0f} s of CPU; most:",
             *(f"# {end.cpu:7.1f} s of CPU, {end.seconds:6.1f} s: {end.suite.name}"
               for end in sorted(self.ends, key=lambda end: -end.cpu)[:LONGEST]))


def _key(line):
    """Returns the name of a test that is the same in each pass: as root,
    sanitized, or inside a sandbox."""
    line = re.sub(r"^(?:not )?ok \d* ?- | # skip.*", "", line, flags=re.IGNORECASE)
    return re.sub(r" \((root|sanitized|inside|gcc)[^)]*\)", "", line)


def _say(*lines):
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
