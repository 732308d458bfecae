"""process -- the processes of Playwright and Chromium, whose process groups are not this one's."""
import os
import signal


def descendants(depth_min):
    """Yields the process ids of descendants; Playwright's is at depth 1, Chromium's below it."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rsplit(b")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended meanwhile
        children.setdefault(parent, []).append(int(name))
    waiting = [(os.getpid(), 0)]
    while waiting:
        pid, depth = waiting.pop()
        if depth >= depth_min:
            yield pid
        waiting += [(child, depth + 1) for child in children.get(pid, [])]


def kill(depth_min):
    for pid in descendants(depth_min):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
