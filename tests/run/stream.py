#!/usr/bin/env -S python3 -SE
"""stream.py HUTCH HOW: a client that asks for streamed output, and does not
read it.

HOW is the kind of connection:

	act		stdin and stdout of `hutch act --stream`
	named		the same with the name of a sandbox
	socket		act.stream of the control socket
	many		one that does not read beside one that does, on the control socket

A command prints TOTAL numbered lines.  First nothing is read: the command must
block after printing a bounded part, with bounded memory on both sides.  Then
all is read: every byte must come, in order, and then the observation.
"""
import json
import os
import pathlib
import re
import select
import subprocess
import sys

from at_rest import is_at_rest
from control import Client
from shadows import has_shadows

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE, wait_until  # noqa: E402


TOTAL, WIDTH = 40000, 1000
COMMAND = (f"x=$(printf '%{WIDTH - 8}s'); for ((i = 0; i < {TOTAL}; i++)); do "
           "printf '%06d%s\\n' $i \"$x\"; done")
ACTION = {"action": "run", "id": 7, "timeout": 86400,
          "args": {"command": COMMAND, "blocking": True}}


def children(pid):
    out = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout
    return [int(x) for x in out.split()]


def below(pid):
    return [pid] + [p for c in children(pid) for p in below(c)]


def value(pid, name, key):
    with open(f"/proc/{pid}/{name}") as f:
        return int(re.search(rf"^{key}:\s+(\d+)", f.read(), re.M).group(1))


def kind(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f.read().strip()


def printed(pid):
    """Returns the bytes that the shell has written."""
    shells = [p for p in below(pid) if kind(p) == "bash"]
    return sum(value(p, "io", "wchar") for p in shells)


def stands_still(who):
    """The shell has printed something and sleeps, as do all processes that
    carry its output."""
    return printed(who.pid) > 100000 and is_at_rest(*who.carriers)


def check_memory(pid):
    for p in below(pid):
        if kind(p) != "bash" and not has_shadows(p):
            peak = value(p, "status", "VmHWM")
            assert peak < 40 << 10, f"{kind(p)}: {peak} KiB"


class Pipe:
    def __init__(self, argv, pid=None):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.fd, self.pid = self.process.stdout.fileno(), pid or self.process.pid
        self.carriers = {self.pid, self.process.pid}

    def send(self, action):
        self.process.stdin.write(json.dumps(action).encode() + b"\n")
        self.process.stdin.flush()

    def lines(self):
        rest = b""
        while True:
            assert select.select([self.fd], [], [], PATIENCE)[0], "nothing came"
            more = os.read(self.fd, 1 << 18)
            assert more, "it has ended"
            *some, rest = (rest + more).split(b"\n")
            yield from map(json.loads, some)


class Socket:
    def __init__(self, pid):
        self.client, self.pid, self.carriers = Client(), pid, {pid}
        self.client.call("act.stream", stream=True)

    def send(self, action):
        self.client.raw(json.dumps(action).encode() + b"\n")

    def lines(self):
        while True:
            yield self.client.receive()


def event(line):
    """Returns the output in a line, or None."""
    o = line.get("params", line)
    assert "dropped" not in o, o
    return o.get("data")


def read_all(who, cause):
    text = []
    for line in who.lines():
        data = event(line)
        if data is None:
            break
        text.append(data)
    assert line["observation"] == "run" and line["cause"] == cause, line
    assert line["extras"]["metadata"]["exit_code"] == 0, line["extras"]["metadata"]
    return "".join(text)


def expected():
    return "".join("%06d%s\r\n" % (i, " " * (WIDTH - 8)) for i in range(TOTAL))


def play(who):
    who.send(ACTION)
    wait_until(stands_still, who)
    done = printed(who.pid)
    print(f"still when {done} bytes were printed")
    assert done < 8 << 20, done
    check_memory(who.pid)
    got = read_all(who, 7)
    assert got == expected(), (len(got), len(expected()))
    check_memory(who.pid)


def supervisor(hutch):
    subprocess.run([hutch, "create", "box"], check=True, stdout=subprocess.DEVNULL)
    info = json.loads(subprocess.check_output([hutch, "inspect", "box"]))
    with open(f"/proc/{info[0]['pid']}/status") as f:
        return int(re.search(r"^PPid:\s+(\d+)", f.read(), re.M).group(1))


def many(pid):
    """One client that does not read delays no other."""
    lazy, busy = Socket(pid), Socket(pid)
    lazy.send(ACTION)
    wait_until(stands_still, lazy)
    assert printed(pid) < 8 << 20
    busy.send({"action": "run", "id": 8, "session": "b", "args": {"command": "seq 1 200000"}})
    assert read_all(busy, 8).split() == [str(i) for i in range(1, 200001)]
    assert printed(pid) < 16 << 20
    assert read_all(lazy, 7) == expected()


def main():
    hutch, how = sys.argv[1:]
    if how == "act":
        play(Pipe([hutch, "act", "--stream"]))
        return
    pid = supervisor(hutch)
    if how == "many":
        many(pid)
    elif how == "socket":
        play(Socket(pid))
    else:
        play(Pipe([hutch, "act", "--stream", "box"], pid))


main()
