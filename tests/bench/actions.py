"""actions -- the cost of an action through `hutch act`, by a client's own
clock.

The client sends one line, waits for the whole answer, and sends the next.  For
comparison: the cost of a bare exchange of lines with a process on this machine
(`cat`), which is a lower bound for any action; and that of a program which a
bash on a pipe starts, in turn with the same program through `hutch act` and with
the same in an interactive bash on a terminal, which is what a session has.
"""

import fcntl
import json
import os
import pty
import subprocess
import termios
import time

import measure

ROUNDS = 2000
MANY = 100000  # actions after which memory is looked at again
WARM = 200
PAGE = "x" * 63 + "\n"


def line(kind, **args):
    return json.dumps({"action": kind, "args": args}).encode() + b"\n"


class Client:
    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.into, self.out = self.process.stdin.fileno(), self.process.stdout.fileno()

    def ask(self, text):
        """Returns the answer, and the microseconds that it took."""
        start = time.perf_counter_ns()
        os.write(self.into, text)
        answer = b""
        while not answer.endswith(b"\n"):
            more = os.read(self.out, 1 << 16)
            if not more:
                raise RuntimeError("hutch act has ended")
            answer += more
        return answer, (time.perf_counter_ns() - start) / 1e3

    def ask_all(self, command):
        """Runs a command, skipping the streamed output; returns the observation."""
        os.write(self.into, line("run", command=command.decode()))
        rest = b""
        while True:
            more = os.read(self.out, 1 << 18)
            if not more:
                raise RuntimeError("hutch act has ended")
            *whole, rest = (rest + more).split(b"\n")
            for one in whole:
                if not one.startswith(b'{"event"'):
                    return json.loads(one)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class InteractiveBash(Client):
    """A bash with job control on a terminal, outside any sandbox, that reads its lines
    from a pipe, as the shell of a session does.  A line is answered with a line on
    descriptor 3."""

    def __init__(self):
        ours, terminal = pty.openpty()
        self.out, answers = os.pipe()

        def take_terminal():
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            os.dup2(answers, 3)

        self.process = subprocess.Popen(
            ["bash", "--norc", "--noediting", "-i"], stdin=subprocess.PIPE, stdout=terminal,
            stderr=terminal, env=dict(os.environ, PS1="", PS2=""), start_new_session=True,
            close_fds=False, preexec_fn=take_terminal)
        self.into, self.terminal = self.process.stdin.fileno(), ours
        for fd in (terminal, answers):
            os.close(fd)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        for fd in (self.out, self.terminal):
            os.close(fd)


def percentiles(samples):
    samples = sorted(samples)
    return {"p50_ms": round(samples[len(samples) // 2] / 1e3, 4),
            "p99_ms": round(samples[len(samples) * 99 // 100] / 1e3, 4),
            "count": len(samples)}


def repeat(client, text, expected, count):
    for _ in range(WARM):
        client.ask(text)
    samples = []
    for _ in range(count):
        answer, took = client.ask(text)
        if expected not in answer:
            raise RuntimeError(f"not what was asked for: {answer[:200]}")
        samples.append(took)
    return percentiles(samples)


def repeat_in_turn(ways, count):
    """Asks each client its line, one after the other: a machine that grows busier
    does so for all alike."""
    samples = {name: [] for name in ways}
    for number in range(WARM + count):
        for name, (client, text) in ways.items():
            _, took = client.ask(text)
            if number >= WARM:
                samples[name].append(took)
    return {name: percentiles(some) for name, some in samples.items()}


def measure_program(hutch):
    clients = [Client([hutch, "act"]), Client(["bash", "--norc"]), InteractiveBash()]
    try:
        return repeat_in_turn({"run of /bin/true": (clients[0], line("run", command="/bin/true")),
                               "/bin/true in bash": (clients[1], b"/bin/true; echo\n"),
                               "  in bash -i": (clients[2], b"/bin/true; echo >&3\n")}, ROUNDS)
    finally:
        for client in clients:
            client.close()


def private_memory(client):
    """Memory of the supervisor and the executor in KiB, without the shell's."""
    pids = [client.process.pid] + measure.children_of(client.process.pid)
    return sum(measure.private_kib(pid) for pid in pids)


def measure_actions(hutch):
    echo = line("run", command="echo hi")
    client = Client([hutch, "act"])
    try:
        client.ask(line("write", path="page", content=PAGE * 64))
        result = {"run of echo hi": repeat(client, echo, b'"content":"hi"', ROUNDS),
                  "read of 4 KiB": repeat(client, line("read", path="page"), b"xxxx", ROUNDS)}
        before = private_memory(client)
        for _ in range(MANY):
            client.ask(echo)
        result["memory"] = {"idle_kib": before, "growth_kib": private_memory(client) - before,
                            "actions": MANY}
    finally:
        client.close()
    client = Client(["cat"])
    result["a line through cat"] = repeat(client, echo, b"echo hi", ROUNDS)
    client.close()
    return result | measure_program(hutch)
