#!/usr/bin/env -S python3 -SE
"""net_death.py HUTCH FOLDER CASE: kills what a network of rules consists of, at random instants.

ROUNDS (10) rounds, SEED for the same ones again.  It runs in net_world.sh.

network: kills hutch-gate or hutch-egress while the inside makes connections
(net_death_inside.py).  Each of those is made, refused or reset; none that no
rule allows is made, and none at all once one of the two is dead.  In every
fourth round the kill comes while the sandbox is made, which may then fail.

starter: kills the launcher, or the supervisor of a sandbox with a name, or
ends that sandbox as a user does.  No process of it is left.
"""
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys

from killer import HUTCH, PATIENCE, below, insist, is_gone, look_on

ROUNDS = int(os.environ.get("ROUNDS", "10"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 32))))
NETWORK = ["hutch-gate", "hutch-egress"]
ALLOW = ["--allow", "example.org"]
INSIDE = pathlib.Path(__file__).with_name("net_death_inside.py").read_text()


def start():
    return subprocess.Popen([HUTCH, "run", "-i", *ALLOW, "python3", "-SE", "-c", INSIDE], bufsize=0,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def read_line(what, file):
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([file], [], [], PATIENCE)[0]:
            sys.exit(f"{what}: it says nothing")
        more = file.read(1)
        if not more:
            return line
        line += more
    return line


def find(top, names):
    """Returns the descendants of a process that have these names."""
    found = []
    for pid in below(top):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() in names:
                    found.append(pid)
        except OSError:
            continue
    return found


def end_of(what, run):
    try:
        out, err = run.communicate(b"dead\n", PATIENCE)
    except subprocess.TimeoutExpired:
        run.kill()
        sys.exit(f"{what}: a connection hangs")
    return out, err, run.returncode


def play_network(number, chance):
    victim, early = chance.choice(NETWORK), number % 4 == 3
    looks = chance.randrange(300 if early else 3000)
    what = f"round {number} (SEED={SEED}): {victim}{' at once' if early else ''}, after {looks} looks"
    run = start()
    if not early and (said := read_line(what, run.stdout)) != b"made\n":
        sys.exit(f"{what}: the first connection: {said!r}, {end_of(what, run)}")
    insist(f"{what}: it does not start", lambda: find(run.pid, [victim]))
    look_on(run.pid, looks)
    family = below(run.pid)
    for pid in find(run.pid, [victim]):
        os.kill(pid, signal.SIGKILL)
        insist(f"{what}: it lives", is_gone, pid)
    if not early:
        insist(f"{what}: the other one lives on", lambda: not find(run.pid, NETWORK) or
               all(map(is_gone, find(run.pid, NETWORK))))
    out, err, code = end_of(what, run)
    if code != 0 and not (early and code == 125 and err.startswith(b"hutch: ")):
        sys.exit(f"{what}: exit code {code}, {out!r}, {err.decode()}")
    insist(f"{what}: processes are left", lambda: all(map(is_gone, family)))


def play_launcher(what, chance):
    run = start()
    if chance.randrange(2):
        read_line(what, run.stdout)
    look_on(run.pid, chance.randrange(800))
    run.send_signal(signal.SIGSTOP)  # or it may have a child that we know nothing of
    family = below(run.pid)
    run.kill()
    run.communicate(timeout=PATIENCE)
    insist(f"{what}: processes are left", lambda: all(map(is_gone, family)))


def play_supervisor(what, chance, is_killed):
    subprocess.run([HUTCH, "create", *ALLOW, "box"], check=True, stdout=subprocess.DEVNULL)
    told = subprocess.run([HUTCH, "inspect", "box"], check=True, stdout=subprocess.PIPE).stdout
    with open(f"/proc/{json.loads(told)[0]['pid']}/stat") as f:
        supervisor = int(f.read().rsplit(")", 1)[1].split()[1])
    family = [supervisor, *below(supervisor)]
    if len(find(supervisor, NETWORK)) != 2:
        sys.exit(f"{what}: it has no network of rules")
    look_on(supervisor, chance.randrange(800))
    if is_killed:
        os.kill(supervisor, signal.SIGKILL)
    else:
        subprocess.run([HUTCH, "rm", "-f", "box"], check=True, stdout=subprocess.DEVNULL)
    insist(f"{what}: processes are left", lambda: all(map(is_gone, family)))


def play_starter(number, chance):
    victim = ("launcher", "supervisor", "nothing")[number % 3]
    what = f"round {number} (SEED={SEED}): {victim}"
    if victim == "launcher":
        play_launcher(what, chance)
    else:
        play_supervisor(what, chance, victim == "supervisor")


def main():
    chance = random.Random(SEED)
    for number in range(ROUNDS):
        (play_network if sys.argv[3] == "network" else play_starter)(number, chance)
    asked = pathlib.Path(os.environ["W"], "asked")
    if asked.exists() and "other.org" in asked.read_text().split():
        sys.exit(f"SEED={SEED}: the resolver outside was asked for a name that no rule allows")


main()
