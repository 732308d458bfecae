"""named -- the cost of sandboxes with a name: a process in a living one, a
thousand at once, and how many a second can be made and removed.

All by the command line, as a user or a script runs it, including its own start.
"""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import measure

ALIVE = 1000
COME_AND_GO = 1200
LOOKS = 20


class Command:
    """A row as the timer needs it."""

    def __init__(self, argv):
        self.argv = argv


def call(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def side_by_side(work, things, at_once=os.cpu_count()):
    """Runs so many at a time; returns the seconds that all took."""
    start = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        for _ in pool.map(work, things):
            pass
    return time.perf_counter() - start


def measure_exec(timer, hutch, rounds):
    call(hutch, "create", "bench")
    try:
        plain, inside = timer.turns(rounds, [Command(["/bin/true"]),
                                             Command([hutch, "exec", "bench", "/bin/true"])])
    finally:
        call(hutch, "rm", "-f", "bench")
    return {"on the host": plain.as_dict(), "in a sandbox": inside.as_dict()}


def rate(timer, *cycle):
    """Two at a time for each core: a launch waits for the kernel now and then."""
    lanes = 2 * os.cpu_count()
    cost = timer.lanes(lanes, COME_AND_GO // lanes, cycle)
    return {"count": cost["count"], "per_second": round(cost["count"] / cost["wall"] * 1e3, 1),
            "cpu_ms": round(cost["cpu"] / cost["count"], 2)}


def measure_rate(timer, hutch, bwrap):
    """For comparison with bwrap, which starts one process and ends with it."""
    known = rate(timer, [hutch, "create", "%"], [hutch, "rm", "-f", "%"])
    known["bwrap"] = None if bwrap.why_not else rate(timer, bwrap.argv)["per_second"]
    return known


def supervisors():
    """Finds the supervisors of this user by their arguments: pid 1 and the
    janitor are their children."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if os.stat(f"/proc/{name}").st_uid != os.geteuid():
                continue
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{name}/comm", encoding="utf-8") as file:
                is_one = file.read() == "hutch\n"
        except (OSError, NotADirectoryError):
            continue
        if is_one and (words[1:2] == [b"create"] or words[0].endswith(b"hutch-supervise")):
            found.append(int(name))
    return found


def memory_of_all():
    """Returns the KiB of all supervisors and their children, and the number of
    supervisors."""
    pids = supervisors()
    return sum(measure.private_kib(p) for one in pids
               for p in [one, *measure.children_of(one)]), len(pids)


def measure_list(hutch):
    """Returns the ms of the middle one of several looks, and of how many sandboxes
    the memory and the number of processes are told."""
    looks = []
    for _ in range(LOOKS):
        start = time.perf_counter()
        call(hutch, "ps")
        looks.append((time.perf_counter() - start) * 1e3)
    said = subprocess.run([hutch, "ps", "--json"], check=True, capture_output=True)
    told = sum(box["memory_bytes"] is not None and box["pids"] is not None
               for box in json.loads(said.stdout))
    return round(sorted(looks)[LOOKS // 2], 2), told


def measure_many(hutch):
    names = [f"m{n}" for n in range(ALIVE)]
    took = side_by_side(lambda name: call(hutch, "create", name), names)
    try:
        kib, count = memory_of_all()
        answered = side_by_side(lambda name: call(hutch, "exec", name, "/bin/true"), names)
        ps_ms, told = measure_list(hutch)
        side_by_side(lambda name: call(hutch, "exec", "-d", name, "/bin/sleep", "1000"), names)
        busy_ms, _ = measure_list(hutch)
    finally:
        ended = side_by_side(lambda name: call(hutch, "rm", "-f", name), names)
    return {"count": count, "create_s": round(took, 2), "exec_s": round(answered, 2),
            "remove_s": round(ended, 2), "kib_each": round(kib / count, 1),
            "ps_ms": ps_ms, "ps_told": told, "ps_busy_ms": busy_ms}


def measure_named(timer, hutch, bwrap, rounds):
    """`bwrap` is its row, which has been tried once."""
    return {"exec": measure_exec(timer, hutch, rounds), "rate": measure_rate(timer, hutch, bwrap),
            "many": measure_many(hutch)}
