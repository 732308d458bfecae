"""at_rest.py: whether processes have come to rest, all at once.

A command that waits for input does not tell that it has printed everything.
But when it, its shell and hutch's own processes all sleep at one moment, each
has finished its work, and no output comes until a client sends something or a
timer is due.

A byte that is typed or printed at a terminal is carried on by a worker of the
kernel, while all processes may sleep.  Typed bytes are delivered here, between
two looks: poll(2) of a terminal that has no input waits for the worker
(n_tty_poll()).  Printed bytes need nothing: the executor calls poll(2) before
each answer, so an action that is sent at rest is answered with all that was
printed.
"""
import os
import re
import select

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


def terminal_of(pid):
    """Returns the number N of the process's terminal /dev/pts/N, or None."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        number = int(f.read().rpartition(")")[2].split()[4])
    is_pts = 136 <= os.major(number) <= 143  # UNIX98_PTY_SLAVE_MAJOR and the seven after it
    return (os.major(number) - 136) * 256 + os.minor(number) if is_pts else None


def deliver_typed(threads):
    """Waits until typed input has reached the terminals of these threads."""
    terminals = {}
    for thread in threads:
        terminals.setdefault(terminal_of(thread), thread)
    terminals.pop(None, None)
    terminals.pop(terminal_of("self"), None)  # nothing is typed at the test's own terminal
    for number, thread in terminals.items():
        fd = os.open(f"/proc/{thread}/root/dev/pts/{number}",
                     os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.poll(0)
        os.close(fd)


def is_at_rest(*tops):
    """A thread that slept at both looks, and was not switched in between, has
    slept throughout: so there is a moment between the looks at which all slept,
    and no typed input was on its way."""
    first = look(*tops)
    if not all(one and one[0] in WAITS for one in first.values()):
        return False
    try:
        deliver_typed(first)
    except (FileNotFoundError, ProcessLookupError):  # a process has ended just now
        return False
    return look(*tops) == first
