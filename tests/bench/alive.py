"""alive -- a launch beside a thousand sandboxes that live, and the memory that each of
them takes of the machine, the kernel's included.

The rows run in turn, first beside none, then beside all of them.
"""

import named

COUNT = 1000
# Fields of /proc/meminfo, as the table names them.
PARTS = {"AnonPages": "anonymous pages", "PageTables": "page tables",
         "KernelStack": "kernel stacks", "SUnreclaim": "slab that is not reclaimable",
         "SReclaimable": "slab that is", "Shmem": "files in memory"}


def machine_memory():
    """Returns the fields of /proc/meminfo, in KiB."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        return {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in file)}


def launches(timer, rows, rounds):
    return {row.name: cost.as_dict() for row, cost in zip(rows, timer.turns(rounds, rows))}


def measure_alive(timer, hutch, rows, rounds):
    """`rows` have been tried once."""
    rows = [row for row in rows if not row.why_not]
    names = [f"a{n}" for n in range(COUNT)]
    known = {"count": COUNT, "none": launches(timer, rows, rounds)}
    before = machine_memory()
    try:
        named.side_by_side(lambda name: named.call(hutch, "create", name), names)
        after = machine_memory()
        known["all"] = launches(timer, rows, rounds)
    finally:
        named.side_by_side(lambda name: named.call(hutch, "rm", "-f", name), names)
    known["kib_each"] = round((before["MemAvailable"] - after["MemAvailable"]) / COUNT)
    known["parts"] = {words: round((after[field] - before[field]) / COUNT)
                      for field, words in PARTS.items()}
    return known
