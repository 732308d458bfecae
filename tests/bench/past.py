"""past -- the cost of keeping the files that a sandbox has written, and of
continuing from them.

A snapshot of 1,000 files of 4 KiB that were written since the last one, with
the store on the disk, where fsync(2) is called, and in memory, and there one of
10,000, too; a fork of it, in turns with a sandbox that is made of the same image
without it.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time

FILES, MANY = 1000, 10000
ROUNDS = 9
# echo is a part of the shell, so that thousands of files take no thousands of processes.
SCRIPT = """
four=$(cat /four) i=0
while [ $i -lt %d ]; do i=$((i+1)); echo "$four" >/d/$i; done
"""


def call(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def took_ms(*argv):
    start = time.perf_counter()
    call(*argv)
    return (time.perf_counter() - start) * 1e3


def median(samples):
    return round(sorted(samples)[len(samples) // 2], 2)


def make_root(work):
    root = os.path.join(work, "past-root")
    os.makedirs(os.path.join(root, "bin"))
    os.makedirs(os.path.join(root, "d"))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin"))
    for name in ("sh", "cat"):
        os.symlink("busybox", os.path.join(root, "bin", name))
    with open(os.path.join(root, "four"), "wb") as file:
        file.write(b"4" * 4095)
    return root


def measure_snapshots(hutch, count):
    call(hutch, "create", "--image", "past:root", "past")
    samples = []
    try:
        for number in range(ROUNDS):
            call(hutch, "exec", "past", "--", "/bin/sh", "-c", SCRIPT % count)
            samples.append(took_ms(hutch, "snapshot", "past", f"past:{number}"))
    finally:
        call(hutch, "rm", "-f", "past")
    return median(samples)


def measure_forks(hutch):
    plain, forks = [], []
    for _ in range(3 * ROUNDS):
        for samples, words in ((plain, ("create", "--image", "past:root", "plain")),
                               (forks, ("fork", "past:0", "plain"))):
            samples.append(took_ms(hutch, *words))
            call(hutch, "rm", "-f", "plain")
    return {"plain_ms": median(plain), "fork_ms": median(forks)}


@contextlib.contextmanager
def store_in(place):
    """Uses another data folder for a while; None: the present one."""
    before = os.environ["XDG_DATA_HOME"]
    with tempfile.TemporaryDirectory(prefix="hutch-bench-store-", dir=place) as folder:
        if place:
            os.environ["XDG_DATA_HOME"] = folder
        try:
            yield
        finally:
            os.environ["XDG_DATA_HOME"] = before
            # A layer may have folders that are closed to their owner.
            subprocess.run(["chmod", "-R", "u+rwx", folder], check=True)


def measure_past(hutch, places, work):
    if os.getuid() == 0:
        return {"why_not": "root's sandboxes are somebody else's, and so are their images"}
    if not shutil.which("busybox"):
        return {"why_not": "busybox is not here"}
    root, snapshots, many = make_root(work), {}, None
    for name, place in places.items():
        with store_in(place):
            call(hutch, "image", "import", root, "--name", "past:root")
            snapshots[name] = measure_snapshots(hutch, FILES)
            forks = measure_forks(hutch)
            if name == "in memory":
                many = measure_snapshots(hutch, MANY)
    return {"files": FILES, "snapshot_ms": snapshots, "many_ms": many, **forks}
