"""shadows -- tells whether a process was built with sanitizers, which use
memory of their own: shadow memory, and freed memory that is kept for a while.
"""


def has_shadows(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        size = next(line for line in status if line.startswith("VmSize"))
    return int(size.split()[1]) << 10 > 1 << 40
