#!/usr/bin/env -S python3 -SE
"""killer_pool.py HUTCH FOLDER: a pool with its takers, and kills at random
instants.

ROUNDS (24) rounds, SEED for the same ones again.  In each a pool is made,
takers of all kinds come at once, and then one of the processes in ENDS ends.
Whichever it was: no sandbox is handed out twice, sandboxes that were taken
live, a taker that gets none has an error, and afterwards no process, sandbox,
pool or file of the pool is left, and the name is free.
"""
import json
import os
import random
import signal
import subprocess
import sys

from killer import HUTCH, PATIENCE, below, insist, is_gone, look_on, processes_with

ROUNDS = int(os.environ.get("ROUNDS", "24"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 32))))
STATE = os.environ["XDG_RUNTIME_DIR"] + "/hutch"
NAME = f"pool{os.getpid()}"
MAKE = ["pool", "create", NAME, "--size", "3"]
TAKERS = 5

# For each process that is killed, whether every client that takes a sandbox still gets one.
ENDS = {"creator": False, "keeper": False, "maker": True, "waiting": True, "taker": True,
        "taken": True,
        "rm": False, "nobody": True}


def begin(*words):
    return subprocess.Popen([HUTCH, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(process):
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out.strip(), err.strip()


def hutch(*words):
    return end(begin(*words))


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def keeper():
    return next((pool["pid"] for pool in json.loads(hutch("pool", "ls", "--json")[1])
                 if pool["name"] == NAME), 0)


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return [b""]


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def supervisors():
    """The processes of sandboxes that are being made or wait, including makers
    and their children."""
    return [pid for pid in processes_with(NAME) if words_of(pid)[0].endswith(b"hutch-supervise")]


def alive():
    return [line for line in hutch("ps", "-a")[1].splitlines()[1:] if " ended (" not in line]


def begin_takers():
    ways = [["take", NAME], ["take", "--timeout", "1000", NAME], ["take", "--name", None, NAME],
            ["exec", NAME, "--", "/bin/echo", "done"]]
    chosen = [chance.choice(ways) for _ in range(TAKERS)]
    return [begin("pool", *(word or f"named{os.getpid()}-{i}" for word in way)) for i,
            way in enumerate(chosen)]


def choose(target, takers):
    if target == "keeper":
        return keeper()
    if target == "taker":
        return chance.choice(takers).pid
    top = keeper()
    # A process that makes a sandbox (maker) is a child of the keeper; the supervisor that it has
    # made gets another parent when the maker ends.
    there = [pid for pid in supervisors() if (parent_of(pid) == top) == (target == "maker")]
    return chance.choice(there) if there else 0


def create(what):
    code, out, err = hutch(*MAKE)
    if (code, out) != (0, NAME):
        sys.exit(f"{what}: the pool cannot be made: {err}")


def check_taker(what, got, all_get_one):
    code, out, err = got
    if code == 0:
        return
    if code == 125 and err.startswith("hutch: ") and not all_get_one:
        return
    sys.exit(f"{what}: a taker ended with {code}, {out!r}, {err!r}")


def has_got_the_dead(taker, got):
    """The chosen sandbox may be handed out before it is killed: exec then ends
    like its command, and take reports that the sandbox it was given has ended,
    perhaps after printing its name."""
    code, _, err = got
    if "exec" in taker.args:
        return True
    return code == 125 and err.startswith("hutch: ") and "has ended (killed)" in err


def play(what, target):
    create(what)
    takers = begin_takers()
    look_on(takers[-1].pid, chance.randrange(3000))
    victim, removal = 0, None
    if target == "rm":
        removal = begin("pool", "rm", NAME)
    elif target not in ("nobody", "taken"):
        victim = choose(target, takers)
    family = [victim, *below(victim)] if victim else []
    if victim:
        kill(victim)
    got = [(taker, end(taker)) for taker in takers]
    # the list includes the sandbox of a killed taker, if it had printed the name
    names = [out for _, (_, out, _) in got if out not in ("", "done")]
    for taker, answer in got:
        if taker.pid != victim and not (target == "waiting" and has_got_the_dead(taker, answer)):
            check_taker(what, answer, ENDS[target])
    if len(set(names)) != len(names):
        sys.exit(f"{what}: one was handed out twice: {names}")
    if target == "taken" and names:
        pid = json.loads(hutch("inspect", names[0])[1])[0]["pid"]
        kill(parent_of(pid))
        hutch("wait", names.pop(0))
    # a killed taker may have printed its sandbox before it released it, so that sandbox need not
    # live
    killed = {out for taker, (_, out, _) in got if taker.pid == victim}
    for name in names:
        if target != "waiting" and name not in killed and hutch("exec", name, "--", "/bin/echo",
                                                                "lives")[1] != "lives":
            sys.exit(f"{what}: {name} was taken, and does not live")
    if removal and end(removal)[0] != 0:
        sys.exit(f"{what}: pool rm failed")
    if names:
        hutch("rm", "-f", *names)
    if target in ("keeper", "waiting", "maker"):
        insist(what + ": who was killed lives", lambda: all(map(is_gone, family[:1])))


def play_making(what):
    """Kills, while the pool is made, the process that waits for it or one that
    it has started."""
    made = begin(*MAKE)
    look_on(made.pid, chance.randrange(3000))
    kill(chance.choice([made.pid, *below(made.pid)]))
    code, _, err = end(made)
    if code not in (0, 125, -signal.SIGKILL) or (code == 125 and not err.startswith("hutch: ")):
        sys.exit(f"{what}: it ended with {code}, {err!r}")


def look_after(what):
    """Nothing is left except a living pool, which ends when asked."""
    hutch("pool", "rm", NAME)
    insist(lambda: f"{what}: left are {alive()}", lambda: not processes_with(NAME))
    insist(lambda: f"{what}: left are {alive()}", lambda: not alive())
    if hutch("pool", "ls", "-q")[1]:
        sys.exit(f"{what}: the pool is left")


def main():
    for number in range(ROUNDS):
        target = list(ENDS)[number % len(ENDS)]
        what = f"round {number} (SEED={SEED}): {target}"
        if target == "creator":
            play_making(what)
        else:
            play(what, target)
        look_after(what)
    create("at the end")
    look_after("at the end")
    for folder in (".tmp", ".pools"):
        if os.listdir(f"{STATE}/{folder}"):
            sys.exit(f"SEED={SEED}: left in {folder}: {os.listdir(STATE + '/' + folder)}")
    print(f"{ROUNDS} rounds, nothing left")


print(f"# SEED={SEED}", flush=True)
chance = random.Random(SEED)
try:
    main()
finally:
    for left in processes_with(NAME):
        kill(left)
