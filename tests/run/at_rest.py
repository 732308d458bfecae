"""at_rest.py: whether processes have come to rest, all at once.

A command that waits for input does not tell that it has printed everything.
But when it, its shell and hutch's own processes all sleep at one moment, each
has finished its work, and no output comes until a client sends something or a
timer is due.
"""
import os
import re

WAITS = "STtZIX"


def look(*tops):
    """Returns for each thread of these processes and of all below them: its
    state, and how often it was switched to another."""
    seen, todo = {}, [str(top) for top in tops]
    while todo:
        pid = todo.pop()
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                folder = f"/proc/{pid}/task/{thread}"
                with open(folder + "/status", encoding="utf-8", errors="replace") as f:
                    text = f.read()
                with open(folder + "/children", encoding="ascii") as f:
                    todo += f.read().split()
                seen[thread] = (re.search(r"^State:\t(.)", text, re.M)[1],
                                re.findall(r"^\w*voluntary_ctxt_switches:\t(\d+)", text, re.M))
        except OSError:  # it has ended just now
            seen[pid] = None
    return seen


def is_at_rest(*tops):
    """A thread that slept at both looks, and was not switched in between, has
    slept throughout: so there is a moment between the looks at which all slept."""
    first = look(*tops)
    return all(one and one[0] in WAITS for one in first.values()) and look(*tops) == first
