"""measure -- runs the timer and turns its samples into figures."""

import contextlib
import os
import signal
import statistics
import subprocess


class Figures:
    """The cost of a list of starts, in milliseconds and KiB."""

    def __init__(self, samples):
        walls = sorted(sample["wall"] for sample in samples)
        self.count = len(walls)
        self.total = sum(walls)
        self.p50 = statistics.median(walls)
        self.p95 = walls[min(len(walls) - 1, int(len(walls) * 0.95))]
        self.slowest = walls[-1]
        self.cpu = statistics.median(sample["cpu"] for sample in samples)
        self.cpu_total = sum(sample["cpu"] for sample in samples)
        self.maxrss = max(sample["maxrss"] for sample in samples)
        self.failed = sum(sample["status"] != 0 for sample in samples)

    def as_dict(self):
        return {key: round(value, 3) for key, value in vars(self).items()}


def read_samples(text):
    by_command = {}
    for line in text.splitlines():
        command, _, wall, user, system, maxrss, status = line.split()
        by_command.setdefault(int(command), []).append({
            "wall": float(wall) / 1e3,
            "cpu": (float(user) + float(system)) / 1e3,
            "maxrss": int(maxrss),
            "status": int(status),
        })
    return by_command


class Timer:
    def __init__(self, build):
        self.program = os.path.join(build, "bench", "timer")

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], check=True, text=True,
                              stdout=subprocess.PIPE)
        return read_samples(done.stdout)

    def turns(self, rounds, rows):
        """Returns a list of Figures, one for each row.  One more round is run
        first and not counted."""
        argv = []
        for row in rows:
            argv += ["::", *row.argv]
        self.run("turns", "1", *argv[1:])
        samples = self.run("turns", str(rounds), *argv[1:])
        return [Figures(samples[index]) for index in range(len(rows))]

    def lanes(self, count, rounds, commands):
        """Runs the commands in turn, so many times in each of so many parallel
        lanes.  Returns the number of turns, the wall time and the CPU time of
        all, in ms."""
        argv = [word for command in commands for word in ("::", *command)]
        one, = self.run("lanes", str(count), str(rounds), *argv[1:])[0]
        if one["status"] != 0:
            raise RuntimeError(f"one of {commands} failed")
        return {"count": count * rounds, "wall": one["wall"], "cpu": one["cpu"]}

    def together(self, count, row):
        """Starts all before it waits for any; `slowest` is the time when all
        were done."""
        samples = self.run("together", str(count), *row.argv)
        figures = Figures(samples[0])
        figures.cpu_total += sum(orphan["cpu"] for orphan in samples.get(-1, []))
        return figures


def machine_cpu():
    """CPU time that the whole machine has used since its start, in ms,
    including the kernel's own threads: /proc/stat of proc(5), without idle,
    iowait and steal."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _idle, _wait, irq, softirq = map(
            int, file.readline().split()[1:8])
    ticks = user + nice + system + irq + softirq
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def kernel_threads_cpu():
    """CPU time that the kernel's own threads have used (/proc/PID/schedstat), in ms.
    Unlike machine_cpu() it has nothing of other processes."""
    total = 0
    for pid in children_of(2):
        with contextlib.suppress(FileNotFoundError), \
                open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total / 1e6


def host_state(state_folder):
    """Returns counts of everything that a launch could leave behind on the host."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts = len(file.readlines())
    with open("/proc/sys/fs/file-nr", encoding="utf-8") as file:
        files = int(file.read().split()[0])
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = dict(line.split(":") for line in file)
    left = sum(len(names) + len(folders)
               for _, folders, names in os.walk(state_folder))
    return {
        "mounts": mounts,
        "open files": files,
        "processes": sum(name.isdigit() for name in os.listdir("/proc")),
        "state folder entries": left,
        "unreclaimable slab MiB": int(memory["SUnreclaim"].split()[0]) / 1024,
    }


def children_of(pid):
    """Returns a process's children as the host sees them, whatever pid
    namespace they are in."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
            found += [int(child) for child in file.read().split()]
    return found


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        lines = [line.split() for line in file]
    return sum(int(line[1]) for line in lines
               if line[0] in ("Private_Clean:", "Private_Dirty:"))


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def look_at(pid, depth):
    """In hutch pid 1 is a child of the launcher, and the command is below pid
    1; the same holds for bwrap."""
    roles = ("launcher", "pid 1", "command")
    entry = {"name": name_of(pid), "role": roles[min(depth, 2)]}
    try:
        entry["private_kib"] = private_kib(pid)
    except PermissionError:
        entry["why_not"] = "its memory is not to be read by this user"
    return entry


def memory_of(argv):
    """Private memory of a launcher and all processes below it while a command
    sleeps.  The command reports when it runs, so the time of the measurement is
    not a guess.  All of them are killed: a command of bwrap's outlives its launcher,
    and would hold the caller's stderr.  The end of their stdout tells that they are
    gone."""
    script = "echo ready; exec sleep 1000"
    process = subprocess.Popen([*argv, "sh", "-c", script], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    found, held = [], []
    try:
        if process.stdout.readline() != "ready\n":
            return {"why_not": "the command did not start"}
        waiting = [(process.pid, 0)]
        while waiting:
            pid, depth = waiting.pop(0)
            held.append(os.pidfd_open(pid))
            found.append(look_at(pid, depth))
            waiting += [(child, depth + 1) for child in children_of(pid)]
        return {"processes": found}
    finally:
        process.terminate()
        process.wait()
        for pidfd in held:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)
        if held:
            process.stdout.read()
        process.stdout.close()
