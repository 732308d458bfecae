"""plan -- makes floor's table from the output of `hutch run --dry-run`.

The floor must do the same as hutch and no more, so its steps are not written
down a second time: they are read from the plan when the bench starts.  An
unknown line is an error, and so is a difference between the results of the two:
their mounts as the kernel lists them, in order, their namespaces and their
filters.
"""

import os
import re
import stat
import struct
import subprocess

# In step with enum kind in floor.c.
KINDS = ["folder", "node", "link", "content", "bind", "clone", "instance", "seal"]
MAGIC = 0x726F6C66
HEADER = struct.Struct("=IIQIIIIIII")
STEP = struct.Struct("=IIIIII")
TABLE_MAX = 1 << 20

# mount_setattr(2), clone(2).
RDONLY, NOSUID, NODEV, NOEXEC = 1, 2, 4, 8
NAMESPACES = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000,
              "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000,
              "cgroup": 0x2000000}

# Mount options that hutch always uses, so that the printed plan does not have them.
DEVPTS = {"mode": "0620", "ptmxmode": "0666", "max": "128"}
PROC = {"hidepid": "ptraceable"}
CLOSED_FOLDER = "/proc/tty/driver"

# Lines about the command or about limits, which floor ignores.
OTHERS = ("network", "hostname", "limit", "sysctl", "caps", "user", "env", "run")

REPORT = ("/usr/bin/cat /proc/self/mountinfo; echo; "
          "/usr/bin/readlink /proc/self/ns/*; echo; "
          "/usr/bin/grep -E '^(NSpid|NoNewPrivs|Seccomp|Seccomp_filters):' "
          "/proc/self/status")


# The folder of prepared ones in the state folder (sandbox/root/etc_entry.h).
PREPARED = "/.prepared/"


class NotUnderstood(Exception):
    """The plan has a step that floor does not know."""


class Table:
    """Collects steps and their text, which become one file."""

    def __init__(self, executor):
        self.steps = []
        self.pool = bytearray(b"\0")
        self.folders = {"/"}
        self.mask = None
        self.namespaces = 0
        self.has_landlock_root = False
        self.ids = {}
        self.etc = None
        self.executor = self.keep(executor)

    def keep(self, text):
        at = len(self.pool)
        self.pool += text.encode() + b"\0"
        return at

    def options(self, pairs):
        return self.keep("".join(f"{key}\0{value}\0" for key, value in pairs.items()))

    def add(self, kind, target, source=0, data=0, attr=0, mode=0):
        # The path is relative to the descriptor of the new root.
        target = self.keep(target.lstrip("/") or ".")
        self.steps.append([KINDS.index(kind), attr, mode, source, target, data])

    def add_folder(self, target, mode=0o755):
        if target in self.folders:
            return
        self.add_parents(target)
        self.folders.add(target)
        self.add("folder", target, mode=mode)

    def add_parents(self, target):
        self.add_folder(os.path.dirname(target))

    def add_clone(self, source, target, attr=0):
        self.add("clone", target, source=self.keep(source.lstrip("/")), attr=attr)

    def is_in_etc(self, target):
        """Tells whether the prepared /etc stands for the step; adds its mount once."""
        if not self.etc or not target.startswith("/etc/"):
            return False
        if "/etc" not in self.folders:
            self.add_folder("/etc")
            self.add("bind", "/etc", source=self.keep(self.etc.folder),
                     attr=RDONLY | NOSUID | NODEV)
        return True

    def save(self, path):
        start = HEADER.size + len(self.steps) * STEP.size
        header = HEADER.pack(
            MAGIC, len(self.steps), self.namespaces, self.ids["uid"][0],
            self.ids["gid"][0], self.ids["uid"][1], self.ids["gid"][1],
            os.getuid() != self.ids["uid"][1], start + self.executor, self.has_landlock_root)
        steps = b"".join(STEP.pack(*step[:3], *(start + at for at in step[3:]))
                         for step in self.steps)
        content = header + steps + self.pool
        if len(content) > TABLE_MAX:
            raise NotUnderstood(f"a plan of {len(content)} bytes")
        with open(path, "wb") as file:
            file.write(content)


def take_new(table, found):
    for name in found["names"].split():
        table.namespaces |= NAMESPACES[name]


def take_id(table, found):
    table.ids[found["which"]] = int(found["inside"]), int(found["outside"])


def take_root(table, found):
    pairs = {"mode": "0755"}
    pairs.update(option.split("=") for option in found["options"].split(","))
    table.add("instance", "/", source=table.keep("tmpfs"), data=table.options(pairs),
              attr=NOSUID | NODEV)


def take_bind(table, found):
    words = found["flags"].split(",")
    attr = (NOSUID | (RDONLY if "ro" in words else 0)
            | (NODEV if "nodev" in words else 0) | (NOEXEC if "noexec" in words else 0))
    if table.is_in_etc(found["target"]):
        if found["target"] not in table.etc.mounts:
            return
    elif stat.S_ISDIR(os.stat(found["source"]).st_mode):
        table.add_folder(found["target"])
    else:
        table.add_parents(found["target"])
        table.add("node", found["target"])
    table.add("bind", found["target"], source=table.keep(found["source"]), attr=attr)


def take_link(table, found):
    if table.is_in_etc(found["target"]):
        return
    table.add_parents(found["target"])
    table.add("link", found["target"], data=table.keep(found["to"]))


def take_file(table, found):
    if table.is_in_etc(found["target"]):
        return
    table.add_parents(found["target"])
    table.add("content", found["target"], data=table.keep("x" * int(found["size"])),
              mode=int(found["mode"], 8))


def take_folder(table, found):
    table.add_folder(found["target"], int(found["mode"], 8))


def take_scratch(table, found):
    take_folder(table, found)
    table.add_clone(found["target"], found["target"])


def take_devpts(table, found):
    table.add("instance", found["target"], source=table.keep("devpts"),
              data=table.options(DEVPTS), attr=NOSUID | NOEXEC)


def take_proc(table, found):
    table.add("instance", found["target"], source=table.keep("proc"),
              data=table.options(PROC), attr=NOSUID | NODEV | NOEXEC)


def take_mask(table, found):
    """The new /proc belongs to the same kernel as the one that we see."""
    target = found["target"]
    if not os.path.lexists(target):
        return
    if os.path.isdir(target):
        table.add_clone(CLOSED_FOLDER, target)
    elif table.mask:
        table.add_clone(table.mask, target)
    else:
        table.mask = target
        table.add("bind", target, source=table.keep("/dev/null"),
                  attr=RDONLY | NOSUID | NODEV)


def take_readonly(table, found):
    table.add_clone(found["target"], found["target"], attr=RDONLY)


def take_seal(table, found):
    table.add("seal", found["target"], attr=RDONLY)


def take_landlock_root(table, found):
    table.has_landlock_root = True


def take_nothing(table, found):
    pass


LINES = [(re.compile(pattern), take) for pattern, take in (
    (r"new +(?P<names>[a-z ]+)", take_new),
    (r"(?P<which>[ug]id) +(?P<inside>\d+) inside is (?P<outside>\d+) on this host",
     take_id),
    (r"root +/ (?P<options>\S+)", take_root),
    (r"bind +(?P<target>/\S+) <- (?P<source>/\S+) (?P<flags>[a-z,]+)( +\(.*\))?",
     take_bind),
    (r"link +(?P<target>/\S+) -> (?P<to>\S+)", take_link),
    (r"file +(?P<target>/\S+) (?P<size>\d+) bytes (?P<mode>\d+)", take_file),
    (r"folder +(?P<target>/\S+) (?P<mode>\d+)", take_folder),
    (r"scratch +(?P<target>/\S+) (?P<mode>\d+)", take_scratch),
    (r"devpts +(?P<target>/\S+)", take_devpts),
    (r"proc +(?P<target>/\S+)", take_proc),
    (r"mask +(?P<target>/\S+)", take_mask),
    (r"readonly +(?P<target>/\S+)", take_readonly),
    (r"seal +(?P<target>/)", take_seal),
    (r"landlock +nothing outside of the root can be opened", take_landlock_root),
    (r"landlock +(off|none .*)", take_nothing),
    (r"seccomp +the default profile", take_nothing),
    (r"folder +/workspace", take_nothing),
    (rf"({'|'.join(OTHERS)}) .*", take_nothing),
)]


def take_line(table, line):
    for pattern, take in LINES:
        found = pattern.fullmatch(line)
        if found:
            take(table, found)
            return
    raise NotUnderstood(f"floor has no step for this line of the plan: {line}")


class PreparedEtc:
    """The folder that a launch mounts as /etc (sandbox/root/etc_folder.h), and the mounts
    in /etc that the launch makes all the same."""

    def __init__(self, hutch):
        states = (f"{os.environ.get('XDG_RUNTIME_DIR', '')}/hutch",
                  f"/run/user/{os.geteuid()}/hutch", f"/tmp/hutch-{os.geteuid()}")
        for _ in range(2):  # the first launch makes the folder, for the second
            done = subprocess.run([*hutch[:-1], "/usr/bin/cat", "/proc/self/mountinfo"],
                                  capture_output=True, text=True, check=True)
        lines = [line.split() for line in done.stdout.splitlines()]
        self.mounts = [words[4] for words in lines]
        trees = [words[3].rpartition(PREPARED)[2] for words in lines if words[4] == "/etc"]
        paths = [state + PREPARED + trees[0] for state in states] if trees else []
        self.folder = next(filter(os.path.isdir, paths), None)


def write_table(hutch, floor, path):
    """`hutch` is a whole command line; raises NotUnderstood for a step that
    floor does not know."""
    argv = [*hutch[:2], "--dry-run", *hutch[2:]]
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotUnderstood(f"hutch has no plan: {done.stderr.strip()}")
    table = Table(floor)
    etc = PreparedEtc(hutch)
    table.etc = etc if etc.folder else None
    for line in done.stdout.splitlines():
        take_line(table, line)
    table.save(path)


def mounts_of(text):
    """Returns mountinfo without the numbers, which differ for all mounts
    (proc(5))."""
    for line in text.splitlines():
        words = line.split()
        split = words.index("-")
        yield " ".join(words[3:6] + words[split + 1:])


def world_of(argv):
    """Returns the report of a process that is started in this way."""
    done = subprocess.run([*argv, "/bin/sh", "-c", REPORT], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise NotUnderstood(f"{argv[0]}: {done.stderr.strip()}")
    mounts, spaces, status = done.stdout.split("\n\n")
    ours = {os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}
    new = sorted(name.split(":")[0] for name in spaces.split() if name not in ours)
    depth = [f"{line.split()[0]} {len(line.split()) - 1 if 'NSpid' in line else line}"
             for line in status.splitlines()]
    return {"mounts": list(mounts_of(mounts)), "namespaces": new, "status": depth}


def differences(hutch, floor):
    """Returns the differences between the two worlds, a line each; none if they
    are equal."""
    ours, theirs = world_of(hutch), world_of(floor)
    found = []
    for what, mine in ours.items():
        if mine == theirs[what]:
            continue
        only = [f"only hutch: {line}" for line in mine if line not in theirs[what]]
        only += [f"only floor: {line}" for line in theirs[what] if line not in mine]
        found += [f"{what}: {line}" for line in only or ["the order"]]
    return found
