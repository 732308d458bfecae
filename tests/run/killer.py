#!/usr/bin/env -S python3 -SE
"""killer.py HUTCH FOLDER: starts hutch and kills it at a random instant, again and again.

ROUNDS (50) rounds, SEED for the same ones again.  Each starts one of several
kinds of sandbox and sends one of four signals after 0 to 600 looks at it (0 to
3000 in every fourth round): a busy machine slows the looks and the sandbox
alike, so the same instants are met.  After each: no process of it is left and
the terminal is as it was.  At the end: mounts, and all that is below
$XDG_RUNTIME_DIR, where hutch keeps its state, and below FOLDER, are as they
were.  Folders that other tests share, such as /dev/shm, are not looked at.
FOLDER holds w, a workspace, and img, an image that needs -v /usr:/usr:ro.
"""
import json
import os
import pathlib
import pty
import random
import signal
import subprocess
import sys
import termios

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE, wait_until  # noqa: E402
HUTCH, FOLDER = sys.argv[1], sys.argv[2]
ROUNDS = int(os.environ.get("ROUNDS", "50"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 32))))
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]

KINDS = {
    "plain": [],
    "terminal": ["-i", "-t"],
    "workspace": ["--workspace", FOLDER + "/w", "-v", FOLDER + "/w:/m/a:ro"],
    "image": ["--image", "dir:" + FOLDER + "/img", "-v", "/usr:/usr:ro"],
    "actions": ["--workspace", FOLDER + "/w"],
    "actions in an image": ["--image", "dir:" + FOLDER + "/img", "-v", "/usr:/usr:ro"],
    "image on a terminal": ["-it", "--image", "dir:" + FOLDER + "/img", "-v", "/usr:/usr:ro"],
}


def processes_with(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if mark.encode() in f.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def below(top):
    """Returns all descendants whose parents are alive."""
    children = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(pid))
    found, todo = [], [top]
    while todo:
        more = children.get(todo.pop(), [])
        found += more
        todo += more
    return found


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def insist(what, claim, *args):
    """Waits until the claim is true, and exits with `what` (a text or a
    function) if it never is."""
    try:
        wait_until(claim, *args)
    except AssertionError as e:
        sys.exit(f"{what() if callable(what) else what} ({e})")


def look_on(pid, looks):
    """Waits until some instant of the process's life: a look takes about 10 us."""
    for _ in range(looks):
        is_gone(pid)


def state_of_host():
    with open("/proc/self/mountinfo") as f:
        # Other programs mount and unmount at any time.
        state = {"mounts": [line for line in f if FOLDER in line]}
    for top in (FOLDER, os.environ["XDG_RUNTIME_DIR"]):
        state[top] = sorted(os.path.join(d, n) for d, ds, fs in os.walk(top) for n in ds + fs)
    return state


def difference(before, now):
    return {key: (before[key], now[key]) for key in before if before[key] != now[key]}


def be_command(slave):
    os.setsid()
    if slave is not None:
        import fcntl
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    # Sets the default actions, since the caller of this test may have had these signals ignored.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def actions(mark):
    """A shell that waits for a command and has another one in the background; a
    file."""
    run = {"action": "run", "args": {"command": f"sleep {mark} & sleep {mark}"}}
    write = {"action": "write", "session": "b", "args": {"path": "/tmp/f", "content": "x"}}
    return "".join(json.dumps(x) + "\n" for x in (write, run)).encode()


def play(number, chance):
    kind = chance.choice(list(KINDS))
    number_sent = chance.choice(SIGNALS)
    looks = chance.randrange(3000 if number % 4 == 0 else 600)
    mark = f"1000.{os.getpid():07}{number:05}"
    # A shell may lose a signal while it starts another program (dash does), so the command is a
    # shell only if the signal is SIGKILL, which the inside does not receive.
    words = ["sleep", mark]
    if number_sent == signal.SIGKILL:
        words = ["sh", "-c", f"sleep {mark} & sleep {mark}"]
    what = f"round {number} (SEED={SEED}): {kind}, {number_sent.name} after {looks} looks"
    command = [HUTCH, "run", *KINDS[kind], *words]
    if kind.startswith("actions"):
        command = [HUTCH, "act", *KINDS[kind]]
    master, slave = pty.openpty() if "terminal" in kind else (None, None)
    modes = termios.tcgetattr(slave) if slave is not None else None
    stdio = slave if slave is not None else subprocess.DEVNULL
    lines = actions(mark) if kind.startswith("actions") else None
    child = subprocess.Popen(command, stdin=subprocess.PIPE if lines else stdio, stdout=stdio,
                             stderr=stdio, close_fds=True, preexec_fn=lambda: be_command(slave))
    if lines:
        child.stdin.write(lines)
        child.stdin.flush()
    look_on(child.pid, looks)
    family = below(child.pid) if number_sent == signal.SIGKILL else []
    child.send_signal(number_sent)
    try:
        code = child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        sys.exit(what + ": hutch did not end")
    insist(what + ": processes are left",
           lambda: all(map(is_gone, family)) and not processes_with(mark))
    if lines:
        child.stdin.close()
    if slave is not None:
        insist(what + ": the terminal is not restored",
               lambda: termios.tcgetattr(slave) == modes)
        os.close(slave)
        os.close(master)
    if code >= 0 and code != 128 + number_sent:
        sys.exit(f"{what}: exit code {code}")


def main():
    chance = random.Random(SEED)
    # This launch makes the state folder, which stays once it exists.  Kernels before 6.6 need it
    # for writes over an image, which are on disk there.
    subprocess.run([HUTCH, "run", *KINDS["image"], "true"], stdin=subprocess.DEVNULL, check=True)
    before = state_of_host()
    for number in range(ROUNDS):
        play(number, chance)
    # A janitor may live for a moment longer than its launcher, so this waits.
    insist(lambda: f"SEED={SEED}: something is left: {difference(before, state_of_host())}",
           lambda: state_of_host() == before)
    print(f"{ROUNDS} rounds, nothing left")


if __name__ == "__main__":
    main()
