#!/usr/bin/env -S python3 -SE
"""killer_kept.py HUTCH IMAGE: a sandbox that is kept, and somebody killed at a random instant.

ROUNDS (25) rounds, SEED for the same ones again.  Each starts the sandbox (makes it in the
first, and where a kill came before it was made), and kills `hutch start`, or whoever it has
begun, or the supervisor of the one that lives, or both it and its janitor.  After each it
is alive or it is kept, and whichever: what was written before is there when it lives again.
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
    """It is not done at once: who looks before sees one that lives."""
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
    """Kills the one that was begun, and with `who` what it has begun, at that instant."""
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
    """Appends a line once the sandbox lives; the answer says how many there are.  One whose
    maker was killed may be there for a moment yet, and end then: None."""
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
