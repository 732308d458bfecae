#!/usr/bin/env -S python3 -SE
"""killer_store.py HUTCH ROUNDS ARCHIVE... -- kills processes that work with the
store.

In each round several of import, tag, rm and gc run side by side.  In two of
three rounds they are killed, all of one process group, after a random number of
looks at the first.  After each round `hutch image verify` must accept the
store, and every named image must be complete.  At the end the next tries
succeed, and when all names are removed nothing is left.
"""

import os
import random
import signal
import subprocess
import sys

hutch, rounds, archives = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
seed = int(os.environ.get("SEED", random.randrange(100000)))
random.seed(seed)
store = os.path.join(os.environ["HOME"], ".local/share/hutch/store")
kills = 0


def image(*words):
    return [hutch, "image", *words]


def errand():
    name = "x:%d" % random.randrange(4)
    return random.choice([
        image("import", random.choice(archives), "--name", name),
        image("import", random.choice(archives), "--name", name),
        image("tag", name, "y:%d" % random.randrange(4)),
        image("rm", "-f", name),
        image("gc"),
    ])


def start(words):
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


def end(child):
    global kills
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
            kills += 1
        except ProcessLookupError:
            pass
    child.wait()


def look_on(child, looks):
    """Waits until some instant of the process's life, or its end: a look takes
    about 10 us."""
    for _ in range(looks):
        with open(f"/proc/{child.pid}/stat", encoding="ascii") as f:
            if ") Z" in f.read():
                break


def verify(when):
    # verify waits for the lock of the killed process, which is released when the last of its
    # processes in jails has ended.
    out = subprocess.run(image("verify"), capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit("%s, seed %d: %s%s" % (when, seed, out.stdout, out.stderr))
    return out.stdout


def must(*words):
    out = subprocess.run(image(*words), capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit("%s, seed %d: %s" % (" ".join(words), seed, out.stderr))
    return out.stdout


def play(number):
    children = [start(errand()) for _ in range(random.randrange(1, 5))]
    if number % 3:
        look_on(children[0], int(random.random() ** 2 * 25000))
        for child in children:
            end(child)
    for child in children:
        child.wait()
    verify("round %d" % number)


for number in range(rounds):
    play(number)
for index, archive in enumerate(archives):
    must("import", archive, "--name", "last:%d" % index)
print(verify("the end"), end="")
subprocess.run(image("rm", "-f", *["%s:%d" % (n, i) for n in ("x", "y", "last")
                                   for i in range(max(4, len(archives)))]), check=True,
               stdout=subprocess.DEVNULL)
must("gc")
left = [os.path.join(at, name) for folder in ("blobs", "layers", "images", "names", "tmp")
        for at, folders, files in os.walk(os.path.join(store, folder))
        for name in folders + files]
if left:
    sys.exit("left, seed %d: %s" % (seed, left))
print("%d rounds, %d killed, seed %d" % (rounds, kills, seed))
