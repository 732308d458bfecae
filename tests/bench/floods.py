"""floods -- a process beside forty terminals that are flooded with output that
is expensive to draw.

On the host a reader takes the output and ignores it; in a sandbox the terminals
belong to sessions, which draw them.  Each time is that of a process from its
start to its end: `true` beside the reader on the host, `hutch exec NAME true`
beside the sandbox, in turns.
"""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import actions

FLOODS = 40
ROUNDS = 5
LOOKS = 40
AGAIN = 's=$(printf "{}%.0s" {{1..500}}); while :; do printf %s "$s"; done'
KINDS = {"clears": AGAIN.format(r"\e[2J"),
         "inserts": r'printf "\e[1000;1Hx\e[H"; ' + AGAIN.format(r"\e[L\e[T")}


def read_all(masters):
    """Reads until it is killed."""
    poll, into = select.epoll(), bytearray(1 << 16)
    for master in masters:
        poll.register(master, select.EPOLLIN)
    while True:
        for master, _ in poll.poll():
            os.readv(master, [into])


class OnHost:
    def __init__(self, flood):
        self.pids, masters = [], []
        for _ in range(FLOODS):
            ours, theirs = pty.openpty()
            masters.append(ours)
            self.pids.append(self.start(lambda: os.execvp("bash", ["bash", "-c", flood]), theirs))
            os.close(theirs)
        self.pids.append(self.start(lambda: read_all(masters)))
        for master in masters:
            os.close(master)

    @staticmethod
    def start(work, out=None):
        child = os.fork()
        if child == 0:
            if out is not None:
                os.setsid()
                os.dup2(out, 1)
            try:
                work()
            finally:
                os._exit(127)
        return child

    def command(self):
        return ["true"]

    def end(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        for pid in self.pids:
            os.waitpid(pid, 0)


class InSandbox:
    def __init__(self, hutch, flood):
        self.hutch = hutch
        subprocess.run([hutch, "create", "bench"], check=True, stdout=subprocess.DEVNULL)
        self.client = actions.Client([hutch, "act", "bench"])
        for number in range(FLOODS):
            os.write(self.client.into, json.dumps(
                {"action": "run", "session": f"s{number}", "timeout": 0.1,
                 "args": {"command": flood}}).encode() + b"\n")
        rest = 0
        while rest < FLOODS:
            more = os.read(self.client.out, 1 << 16)
            if not more:
                raise RuntimeError("hutch act has ended")
            rest += more.count(b"\n")

    def command(self):
        return [self.hutch, "exec", "bench", "true"]

    def end(self):
        subprocess.run([self.hutch, "rm", "-f", "bench"], check=True, stdout=subprocess.DEVNULL)
        self.client.close()


def middle(samples):
    return sorted(samples)[len(samples) // 2]


def look(place):
    samples = []
    try:
        for _ in range(LOOKS):
            start = time.perf_counter()
            subprocess.run(place.command(), check=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL)
            samples.append((time.perf_counter() - start) * 1e3)
    finally:
        place.end()
    return middle(samples)


def measure_kind(hutch, flood):
    host, sandbox = [], []
    for _ in range(ROUNDS):
        host.append(look(OnHost(flood)))
        sandbox.append(look(InSandbox(hutch, flood)))
    return {"host_ms": round(middle(host), 2), "sandbox_ms": round(middle(sandbox), 2),
            "ratio": round(middle([b / a for a, b in zip(host, sandbox)]), 3)}


def measure_floods(hutch):
    return {kind: measure_kind(hutch, flood) for kind, flood in KINDS.items()}


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    found = measure_floods(sys.argv[1] if sys.argv[1:] else os.path.join(here, "../../build/hutch"))
    for key, value in found.items():
        print(key, value)
