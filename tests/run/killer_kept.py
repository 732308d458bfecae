#!/usr/bin/env -S python3 -SE
"""killer_kept.py HUTCH IMAGE: a sandbox that is kept, and kills at random
instants.

ROUNDS (25) rounds, SEED for the same ones again.  Each round starts the sandbox
(the first makes it, as does a round after a kill that prevented that).  Then it
kills `hutch start`, or a process that this has started, or the supervisor of
the living sandbox, or both the supervisor and its janitor.  After each round
the sandbox is alive or kept, and in either case files that were written before
are there when it lives again.
"""
import os
import random
import signal
import subprocess
import sys

from killer import HUTCH, PATIENCE, insist, is_gone, look_on

IMAGE = sys.argv[2]
ROUNDS = int(os.environ.get("ROUNDS", "25"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 32))))
NAME = f"kept{os.getpid()}"
MAKE = ["create", "--keep", "--image", "dir:" + IMAGE, "-v", "/usr:/usr:ro", NAME]


def hutch(*words):
    return subprocess.run([HUTCH, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE, check=False)


def is_there():
    rows = [line.split() for line in hutch("ps", "-a").stdout.splitlines()[1:]]
    return next((" ".join(row) for row in rows if row[0] == NAME), "")


def children(pid):
    out = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], capture_output=True, text=True,
                         check=True).stdout
    rows = [line.split(None, 2) for line in out.splitlines()]
    return [int(row[0]) for row in rows if int(row[1]) == pid]


def kill(*pids):
    """The processes do not end at once: a look before that sees a living sandbox."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    insist("a killed process lives", lambda: all(map(is_gone, pids)))


def supervisor():
    for line in hutch("inspect", NAME).stdout.splitlines():
        if '"pid":' in line:
            inner = int(line.split(":")[1].strip(" ,"))
            with open(f"/proc/{inner}/stat") as f:
                return int(f.read().rsplit(")", 1)[1].split()[1])
    return 0


def begin_and_kill(words, looks, who):
    """Starts a command and kills it at that instant, and with `who` the
    processes that it has started."""
    p = subprocess.Popen([HUTCH, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    look_on(p.pid, looks)
    below = [one for child in children(p.pid) for one in [child, *children(child)]]
    kill(*([p.pid] if who == "launcher" else below[:1] if who == "child" else [*below, p.pid]))
    p.wait()


def end_living(who):
    pid = supervisor()
    kill(pid, *(children(pid) if who == "all" else []))


def write_one(what, was_made):
    """Appends a line once the sandbox lives; returns the number of lines.  If
    its maker was killed, the sandbox may exist for a moment and then end: None."""
    answer = hutch("start", NAME)
    if answer.returncode != 0 and "no sandbox named" in answer.stderr and not was_made:
        answer = hutch(*MAKE)
    if answer.returncode != 0 and "is running" not in answer.stderr:
        sys.exit(f"{what}: {answer.stderr}")
    count = hutch("exec", NAME, "--", "sh", "-c",
                  "test -e /data/n || : >/data/n; echo x >>/data/n; wc -l </data/n")
    passes = ("which is building", "no sandbox named", "has ended (")
    return None if any(words in count.stderr for words in passes) else count


def play(rng, number, was_made):
    who = rng.choice(["launcher", "child", "all"])
    begin_and_kill(["start", NAME] if was_made else MAKE, rng.randrange(2000), who)
    seen = is_there()
    what = f"round {number}: killed {who} ({seen})"
    if was_made and not seen:
        sys.exit(f"{what}, and it is neither alive nor kept")
    tries = []

    def is_written():
        tries.append(write_one(what, was_made or tries))
        return tries[-1]

    insist(f"{what}, and it is not there", is_written)
    if tries[-1].stdout.strip() != str(number + 1):
        sys.exit(f"{what}: {number + 1} lines were written, and there are "
                 f"{tries[-1].stdout!r} {tries[-1].stderr!r}")
    end_living(rng.choice(["supervisor", "all"]))
    hutch("wait", NAME)


def main():
    print(f"# SEED={SEED}", flush=True)
    rng = random.Random(SEED)
    for number in range(ROUNDS):
        play(rng, number, number > 0)
    if hutch("rm", "-f", NAME).returncode != 0:
        sys.exit("it cannot be removed")


main()
