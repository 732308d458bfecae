#!/usr/bin/env -S python3 -SE
"""killer_named.py HUTCH FOLDER: sandboxes with a name, and kills at random
instants.

ROUNDS (40) rounds, SEED for the same ones again.  Each makes the same sandbox,
lets a client start processes and actions in it, and then kills one of the
processes that manage it, or requests its end.  After each round no process,
folder or cgroup of it is left, the name can be used again at once, and .ended
has a record of it with the right reason.
"""
import glob
import json
import os
import random
import signal
import socket
import subprocess
import sys

from killer import HUTCH, PATIENCE, below, insist, is_gone, look_on, processes_with

ROUNDS = int(os.environ.get("ROUNDS", "40"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 32))))
SUPERVISE = os.path.join(os.path.dirname(HUTCH), "libexec/hutch-supervise")
STATE = os.environ["XDG_RUNTIME_DIR"] + "/hutch"
NAME = f"box{os.getpid()}"
BOX = STATE + "/" + NAME

# For each process that is killed, the reasons that the record of the end may have.
ENDS = {
    "supervisor": {"killed"},
    "supervisor and janitor": {"killed", "host_gone"},
    "executor": {"killed"},
    "client": {"killed"},  # by us, afterwards
    "stop": {"stopped"},
    "kill": {"killed"},
    "SIGTERM": {"stopped"},
}


class Closed(Exception):
    pass


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(BOX + "/control.sock")
        self.socket.settimeout(PATIENCE)
        self.file, self.number = self.socket.makefile("rb"), 0
        self.call("hello")

    def send(self, method, **params):
        self.number += 1
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method,
                                        "params": params}).encode() + b"\n")
        return self.number

    def call(self, method, **params):
        number = self.send(method, **params)
        while True:
            line = self.file.readline()
            if not line:
                raise Closed()
            answer = json.loads(line)
            if answer.get("id") == number:
                return answer


def supervise(**more):
    return subprocess.Popen([SUPERVISE, NAME], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, **more)


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def work(mark, chance):
    """Requests of a client, until it is killed or the sandbox ends."""
    client = Client()
    while True:
        kind = chance.randrange(4)
        if kind == 0:
            client.send("exec.start", argv=["sleep", mark], detach=chance.random() < 0.3)
        elif kind == 1:
            client.send("exec.start", argv=["sh", "-c", f"trap '' TERM; sleep {mark} & sleep "
                                                        f"{mark}"])
        elif kind == 2:
            client.send("act", action={"action": "run", "session": str(chance.randrange(3)),
                                       "args": {"command": f"sleep {mark} &"}})
        else:
            client.call("exec.start", argv=["/bin/true"])


def start_client(mark, chance):
    pid = os.fork()
    if pid == 0:
        try:
            work(mark, chance)
        finally:
            os._exit(0)
    return pid


def records():
    return set(glob.glob(STATE + "/.ended/*/end"))


def cgroups():
    return set(glob.glob("/sys/fs/cgroup/**/hutch-*", recursive=True))


def create(what):
    made = supervise(stderr=subprocess.PIPE)
    said = made.communicate(timeout=PATIENCE)[1].decode()
    if made.returncode != 0:
        sys.exit(f"{what}: the name cannot be used: {said}")


def look_for(what, reasons, before):
    """There is one more record, with one of these reasons.  A request for the
    list also tidies up leftovers."""
    insist(f"{what}: the folder is left, or there is no record",
           lambda: not os.path.exists(BOX) and len(records() - before) >= 1)
    new = records() - before
    if len(new) != 1:
        sys.exit(f"{what}: {len(new)} records")
    with open(new.pop()) as f:
        record = json.loads(f.readline())
    if record["reason"] not in reasons:
        sys.exit(f"{what}: the record is {record}")


def end(target, client, family, supervisor, executor, worker):
    if target == "supervisor":
        kill(supervisor)
    elif target == "supervisor and janitor":
        # The supervisor is stopped first, so that it and the janitor die together: the janitor
        # would otherwise act when the supervisor has died, or the supervisor when the janitor
        # has.
        kill(supervisor, signal.SIGSTOP)
        for pid in family:
            if parent_of_or_none(pid) == supervisor and pid != executor:
                kill(pid)
        kill(supervisor)
    elif target == "executor":
        kill(executor)
    elif target == "SIGTERM":
        kill(supervisor, signal.SIGTERM)
    elif target == "client":
        kill(worker)
        if client.call("info")["result"]["state"] != "ready":
            sys.exit("a client that was killed took the sandbox with it")
        client.call("kill")
    else:
        client.call(target)


def parent_of_or_none(pid):
    try:
        return parent_of(pid)
    except OSError:
        return None


def tidy(target):
    """The leftovers of a killed supervisor and janitor are found by the next
    process that looks."""
    if target == "supervisor and janitor":
        create("after both were killed")
        client = Client()
        client.call("kill")


def play_ready(what, target, mark, chance):
    before = records()
    create(what)
    client = Client()
    executor = client.call("info")["result"]["pid"]
    supervisor = parent_of(executor)
    worker = start_client(mark, chance)
    look_on(worker, chance.randrange(3000))
    family = below(supervisor)
    end(target, client, family, supervisor, executor, worker)
    if target == "supervisor and janitor":
        insist(what + ": it lives", lambda: is_gone(supervisor))
        tidy(target)
        insist(what + ": the folder is left", lambda: not os.path.exists(BOX))
        if len(records() - before) != 2:
            sys.exit(f"{what}: {len(records() - before)} records")
    else:
        look_for(what, ENDS[target], before)
    kill(worker)
    os.waitpid(worker, 0)
    insist(what + ": processes are left",
           lambda: all(map(is_gone, family)) and not processes_with(mark) and
           not processes_with(NAME))


def play_making(what, chance):
    """Kills the process that waits for the sandbox, or the supervisor, while
    the sandbox is made."""
    before = records()
    made = supervise(stderr=subprocess.DEVNULL)
    look_on(made.pid, chance.randrange(800))
    kill(made.pid, signal.SIGSTOP)  # or it may have a child that we know nothing of
    family = below(made.pid)
    victim = chance.choice([made.pid] + family)
    kill(victim)
    kill(made.pid, signal.SIGCONT)
    made.wait(PATIENCE)
    if victim == made.pid:
        # After the kill of the client, the sandbox either exists or does not.  If it exists, it
        # works like any other.
        insist(what + ": neither ready nor gone", lambda: all(map(is_gone, family)) or is_ready())
    end_if_ready()
    insist(what + ": processes are left",
           lambda: all(map(is_gone, family)) and not processes_with(NAME))
    insist(what + ": it is not tidied up", lambda: not is_locked())
    # If the kill came before there was a janitor, files are left; the next process that makes a
    # sandbox of this name removes them.
    create(what)
    Client().call("kill")
    insist(what + ": the folder is left", lambda: not os.path.exists(BOX))
    if len(records() - before) > 2:
        sys.exit(what + ": more records than sandboxes")


def end_if_ready():
    """A sandbox whose maker has gone may be about to end by itself."""
    try:
        if is_ready():
            Client().call("kill")
    except (OSError, Closed):
        pass


def is_ready():
    try:
        return Client().call("info").get("result", {}).get("state") == "ready"  # or it has ended
    except (OSError, Closed):
        return False


def is_locked():
    import fcntl
    try:
        with open(BOX + "/lock") as f:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False


def main():
    chance = random.Random(SEED)
    before = cgroups()
    for number in range(ROUNDS):
        mark = f"1000.{os.getpid():07}{number:05}"
        targets = [*ENDS, "making"]
        target = targets[number % len(targets)]
        what = f"round {number} (SEED={SEED}): {target}"
        if target == "making":
            play_making(what, chance)
        else:
            play_ready(what, target, mark, chance)
    insist(f"SEED={SEED}: cgroups are left", lambda: cgroups() <= before)
    create("at the end")
    Client().call("kill")
    insist(f"SEED={SEED}: the folder is left", lambda: not os.path.exists(BOX))
    if os.listdir(STATE + "/.tmp"):
        sys.exit(f"SEED={SEED}: left in .tmp: {os.listdir(STATE + '/.tmp')}")
    print(f"{ROUNDS} rounds, nothing left")


try:
    main()
finally:
    for left in processes_with(NAME):
        kill(left)
