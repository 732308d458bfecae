"""sessions -- the speed of output and files out of a sandbox and of files into
it, and the cost of many sessions.

Output is a file of lines that is bound into the sandbox.  The same reader times
each way out, in turn with the ones it is compared with: `cat` through a pipe,
and `cat` on a terminal that only the reader uses.
"""

import filecmp
import json
import os
import pty
import shlex
import shutil
import statistics
import subprocess
import time

import actions
import measure

BYTES = 64 << 20
LINE = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ and some more\n"
TIMES = 8  # that often, where it is fast
ROUNDS = 7
COPIED = 100 << 20
FILES = 100000
FILES_ROUNDS = 3
SESSIONS = 64
SECONDS = 10
AT_ONCE = 1 << 18


def drain(fd):
    """Reads to the end; at the end of a terminal read(2) fails."""
    into = bytearray(AT_ONCE)
    count = 0
    while True:
        try:
            more = os.readv(fd, [into])
        except OSError:
            return count
        if not more:
            return count
        count += more


def through_pipe(argv):
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        start = time.perf_counter()
        count = drain(process.stdout.fileno())
    if count != BYTES * TIMES:
        raise RuntimeError(f"{argv[0]}: {count} bytes came")
    return time.perf_counter() - start


def through_terminal(path):
    ours, theirs = pty.openpty()
    start = time.perf_counter()
    process = subprocess.Popen(["cat", path], stdin=subprocess.DEVNULL, stdout=theirs)
    os.close(theirs)
    count = drain(ours)
    took = time.perf_counter() - start
    process.wait()
    os.close(ours)
    if count < BYTES:
        raise RuntimeError(f"{count} bytes came through a terminal")
    return took


class Session:
    """`hutch act` with the file at /lines."""

    def __init__(self, hutch, path, *options):
        self.client = actions.Client([hutch, "act", "-v", f"{path}:/lines:ro", *options])
        self.client.ask_all(b"true")

    def time(self):
        start = time.perf_counter()
        answer = self.client.ask_all(b"cat /lines")
        if answer["extras"]["metadata"]["exit_code"] != 0:
            raise RuntimeError(f"not what was asked for: {answer}")
        return time.perf_counter() - start


def measure_output(hutch, path):
    ways = {"cat through a pipe": lambda: through_pipe(["cat"] + [path] * TIMES),
            "cat | cat": lambda: through_pipe(["sh", "-c", 'cat "$@" | cat', "sh"] +
                                              [path] * TIMES),
            "hutch exec": lambda: through_pipe([hutch, "exec", "bench", "cat"] +
                                               ["/lines"] * TIMES),
            "cat on a terminal": lambda: through_terminal(path)}
    subprocess.run([hutch, "create", "-v", f"{path}:/lines:ro", "bench"], check=True,
                   stdout=subprocess.DEVNULL)
    sessions = {"hutch act": Session(hutch, path),
                "hutch act --stream": Session(hutch, path, "--stream")}
    for name, session in sessions.items():
        ways[name] = session.time
    samples = {name: [] for name in ways}
    try:
        for _ in range(ROUNDS):
            for name, way in ways.items():
                samples[name].append(way())
    finally:
        for session in sessions.values():
            session.client.close()
        subprocess.run([hutch, "rm", "-f", "bench"], check=True, stdout=subprocess.DEVNULL)
    return {name: round(bytes_of(name) / statistics.median(some) / 1e6, 1)
            for name, some in samples.items()}


def bytes_of(way):
    return BYTES * (TIMES if way in ("cat through a pipe", "cat | cat", "hutch exec") else 1)


def measure_copy(hutch, work):
    """Returns the ms for one file by `hutch cp`, including its start, into
    memory inside and to a folder outside.  Each copy makes the file anew."""
    there, here = os.path.join(work, "there"), os.path.join(work, "here")
    with open(there, "wb") as file:
        for _ in range(COPIED >> 20):
            file.write(os.urandom(1 << 20))
    ways = {"in": [there, "bench:/tmp/copy"], "out": ["bench:/tmp/copy", here]}
    samples = {name: [] for name in ways}
    subprocess.run([hutch, "create", "bench"], check=True, stdout=subprocess.DEVNULL)
    try:
        for _ in range(ROUNDS):
            subprocess.run([hutch, "exec", "bench", "rm", "-f", "/tmp/copy"], check=True)
            for name, words in ways.items():
                start = time.perf_counter()
                subprocess.run([hutch, "cp", *words], check=True)
                samples[name].append((time.perf_counter() - start) * 1e3)
            if not filecmp.cmp(there, here, shallow=False):
                raise RuntimeError("what came out is not what went in")
            os.remove(here)
    finally:
        subprocess.run([hutch, "rm", "-f", "bench"], check=True, stdout=subprocess.DEVNULL)
        os.remove(there)
    return {name: round(statistics.median(some), 1) for name, some in samples.items()}


def make_files(folder):
    """Makes a folder of many small files, a hundred in each folder."""
    for number in range(FILES // 100):
        one = os.path.join(folder, str(number))
        os.makedirs(one)
        for name in range(100):
            with open(os.path.join(one, str(name)), "w", encoding="utf-8") as file:
                file.write("some text\n" * 10)


def piped(*commands):
    """Runs commands with pipes between them, as a shell does."""
    subprocess.run(["sh", "-c", " | ".join(map(shlex.join, commands))], check=True)


def measure_copy_files(hutch, work):
    """Returns the seconds for many files, by `hutch cp` and by a tar that is piped
    through `hutch exec`, into memory inside and out of it again."""
    here, back = os.path.join(work, "files"), os.path.join(work, "back")
    inside = [hutch, "exec", "bench"]
    ways = {
        "in, hutch cp": lambda: subprocess.run([hutch, "cp", here, "bench:/tmp/cp"], check=True),
        "in, tar": lambda: piped(["tar", "-C", work, "-cf", "-", "files"],
                                 [hutch, "exec", "-i", "bench", "tar", "-C", "/tmp", "-xf", "-"]),
        "out, hutch cp": lambda: subprocess.run([hutch, "cp", "bench:/tmp/cp", back + "/cp"],
                                                check=True),
        "out, tar": lambda: piped([*inside, "tar", "-C", "/tmp", "-cf", "-", "files"],
                                  ["tar", "-C", back, "-xf", "-"])}
    samples = {name: [] for name in ways}
    make_files(here)
    subprocess.run([hutch, "create", "bench"], check=True, stdout=subprocess.DEVNULL)
    try:
        for _ in range(FILES_ROUNDS):
            os.mkdir(back)
            for name, way in ways.items():
                start = time.perf_counter()
                way()
                samples[name].append(time.perf_counter() - start)
            shutil.rmtree(back)
            subprocess.run([*inside, "rm", "-r", "/tmp/cp", "/tmp/files"], check=True)
    finally:
        subprocess.run([hutch, "rm", "-f", "bench"], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(here)
    return {name: round(statistics.median(some), 3) for name, some in samples.items()}


def below(pid):
    return [pid] + [p for child in measure.children_of(pid) for p in below(child)]


def busy_ns(pids):
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            pass
    return total


def line_of(session):
    return json.dumps({"action": "run", "session": f"s{session}",
                       "args": {"command": "echo hi"}}).encode() + b"\n"


def run_each_second(client):
    """Sends commands one after the other, evenly spaced; returns the share of a
    core that all processes of the sandbox use, including hutch act."""
    pids = below(client.process.pid)
    before, start = busy_ns(pids), time.perf_counter()
    for number in range(SESSIONS * SECONDS):
        left = start + number / SESSIONS - time.perf_counter()
        if left > 0:
            time.sleep(left)
        client.ask(line_of(number % SESSIONS))
    return (busy_ns(pids) - before) / 1e9 / (time.perf_counter() - start)


def measure_many(hutch):
    client = actions.Client([hutch, "act"])
    try:
        client.ask(actions.line("read", path="/etc/hostname"))
        executor = measure.children_of(client.process.pid)[0]
        before = measure.private_kib(executor)
        for session in range(SESSIONS):
            client.ask(line_of(session))
        idle = measure.private_kib(executor)
        share = run_each_second(client)
        return {"sessions": SESSIONS, "before_kib": before,
                "kib_each": round((idle - before) / SESSIONS, 1),
                "busy_percent": round(share * 100, 2)}
    finally:
        client.close()


def measure_sessions(hutch, work):
    path = os.path.join(work, "lines")
    with open(path, "wb") as file:
        file.write((LINE * (BYTES // len(LINE) + 1))[:BYTES - 1] + b"\n")
    try:
        return {"output": measure_output(hutch, path), "copy": measure_copy(hutch, work),
                "copy of files": measure_copy_files(hutch, work),
                "many": measure_many(hutch)}
    finally:
        os.remove(path)
