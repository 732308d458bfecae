#!/usr/bin/env python3
"""soak.py HUTCH: a dozen sandboxes, random clients at all of them at once, and each end accounted for.

Runs for ENDURE_SECONDS (300); SEED repeats a plan, but the order of events
depends on the machine.  Prints TAP.  An error is printed when it is seen, with
the last actions on that sandbox, and ends the soak.

model.py knows the possible states of a sandbox, peers.py is a client of the
control socket, visits.py and embedders.py have the actions of clients,
keepers.py makes and ends sandboxes, contract.py checks the form of answers.
"""
import asyncio
import collections
import contextlib
import ctypes
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import keepers
import model
import pace
import visits

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import PATIENCE

HUTCH = os.path.abspath(sys.argv[1])
SECONDS = float(os.environ.get("ENDURE_SECONDS", "300"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 32))))
SANDBOXES, LASTING, VISITORS = 12, 2, int(os.environ.get("ENDURE_VISITORS", "10"))
PR_SET_CHILD_SUBREAPER = 36


class Broken(Exception):
    """An error was found and printed."""


class Result:
    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err.decode(errors="replace")

    def __str__(self):
        return f"hutch {' '.join(self.words)} -> {self.code}, {self.out[:300]!r}, {self.err[:500]!r}"


class Soak:
    def __init__(self, folder):
        self.folder, self.state, self.program = folder, folder + "/runtime/hutch", HUTCH
        self.is_root = os.getuid() == 0
        self.begun, self.mounts = time.monotonic(), mounts()
        self.wrong = []
        self.is_over = asyncio.Event()
        self.answers = self.commands = self.outputs = 0
        self.ends = collections.Counter()
        self.quiet = 0  # sandboxes that wait for being idle
        self.boxes = []  # all that were ever made
        self.names = set()
        self.tasks = set()
        self.pace = float(os.environ.get("ENDURE_PACE", "0.05"))  # s between what one visitor does
        self.lag = 0.0  # when we were last late to read, by the clock
        self.done = collections.Counter()
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "SUDO_"))}
        self.env.update(HOME=folder + "/home", XDG_RUNTIME_DIR=folder + "/runtime", LC_ALL="C.UTF-8")

    def dice(self, who):
        return random.Random(f"{SEED} {who}")

    def fail(self, text, box=None):
        self.is_over.set()
        if len(self.wrong) < 3:  # what comes later follows from it
            past = [*box.past, *self.look_into(box)] if box else []
            self.wrong.append("\n".join([f"at {time.monotonic() - self.begun:.1f} s: {text}",
                                         *(f"   {line}" for line in past)]))

    def look_into(self, box):
        """Prints the present state, for a developer who has to find the reason."""
        if not box.supervisor:
            return
        for pid in [box.supervisor.pid, *model.below(box.supervisor.pid)]:
            with contextlib.suppress(OSError, TypeError), open(f"/proc/{pid}/cmdline") as f:
                words = f.read().replace("\0", " ")[:100]
                yield f"process {pid} {model.stat_of(pid)[0]} of {model.parent_of(pid)}: {words}"
        asked = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": method}) + "\n"
                        for i, method in enumerate(["hello", "info", "exec.list", "stats"]))
        with contextlib.suppress(subprocess.TimeoutExpired):
            told = subprocess.run([HUTCH, "connect", box.name], env=self.env, input=asked.encode(), timeout=2,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            yield from told.stdout.decode().splitlines()

    def broken(self, text, box=None):
        self.fail(text, box)
        raise Broken(text)

    def background(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.task_ended)
        return task

    def task_ended(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() and not isinstance(task.exception(), Broken):
            import traceback
            error = task.exception()
            self.fail("the soak itself: " + "".join(traceback.format_exception(error)))

    async def patiently(self, what, name, box=None):
        try:
            return await asyncio.wait_for(what, PATIENCE)
        except asyncio.TimeoutError:
            self.broken(f"waited in vain for {name}", box)

    async def until(self, is_so, what, box=None):
        """Waits for a state that no event reports."""
        await self.patiently(pace.is_so(is_so), what, box)

    async def watch_lag(self):
        """A client that reads late may be told of dropped events."""
        while True:
            before = time.monotonic()
            await pace.pause(0.05)
            if time.monotonic() - before > 0.4:
                self.lag = time.monotonic()

    async def reap_adopted(self):
        """Orphans become our children (we are a subreaper).  A process that
        this program waits for is gone by the second look."""
        before = set()
        while True:
            await pace.pause(5)
            dead = {(pid, stat[19]) for pid in model.children_of(os.getpid())
                    if (stat := model.stat_of(pid)) and stat[0] == "Z"}  # 19: when it was started
            for pid, _ in dead & before:
                os.waitpid(pid, os.WNOHANG)
            before = dead - before

    # the command line

    async def spawn(self, *words):
        self.commands += 1
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(HUTCH, *words, stdin=pipe, stdout=pipe, stderr=pipe, env=self.env,
                                                    cwd=self.folder, limit=1 << 20)

    async def hutch(self, *words, stdin=b"", box=None):
        program = await self.spawn(*words)
        out, err = await self.patiently(program.communicate(stdin), f"hutch {' '.join(words)}", box)
        return Result(words, program.returncode, out, err)

    # the end

    async def close(self):
        for task in self.tasks:
            task.remove_done_callback(self.task_ended)
        tasks = self.tasks
        while tasks:  # one may be done, but for being told so, and take no notice
            for task in tasks:
                task.cancel()
            _, tasks = await asyncio.wait(tasks, timeout=1)

    def reap_all(self):
        """After all commands have ended: returns True if there is no child any
        more."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        return False


def mounts():
    with open("/proc/self/mountinfo") as f:
        return f.readlines()


def room():
    """Uses memory if it has the attributes that a disk has: other programs may
    fill the disk."""
    with contextlib.suppress(OSError):
        folder = tempfile.mkdtemp(prefix="hutch-endure.", dir="/dev/shm")
        try:
            os.setxattr(folder, "user.probe", b"1")  # as overlayfs does; tmpfs from Linux 6.6 on
            if not os.statvfs(folder).f_flag & os.ST_NOEXEC:
                return folder
        except OSError:
            pass
        os.rmdir(folder)
    return tempfile.mkdtemp(prefix="hutch-endure.", dir="/tmp")


def make_folder():
    folder = room()
    os.chmod(folder, 0o755)
    who = os.getuid() or 65534
    for name, mode in (("home", 0o755), ("runtime", 0o700), ("w", 0o755)):
        os.mkdir(f"{folder}/{name}")
        os.chmod(f"{folder}/{name}", mode)
    for name in ("usr", "etc", "data"):
        os.makedirs(f"{folder}/img/{name}")
    for name in ("bin", "sbin", "lib", "lib64"):
        os.symlink("usr/" + name, f"{folder}/img/{name}")
    for at, folders, files in os.walk(folder):
        for name in folders + files if at != folder else folders:
            os.chown(os.path.join(at, name), who, who, follow_symlinks=False)
    return folder


# --- what is told ------------------------------------------------------------


async def ends(soak):
    """Removes all living sandboxes; only the records of others may be left."""
    live = json.loads((await soak.hutch("ps", "--json")).out)
    expected = {box.name: box.id for box in soak.boxes if not box.gone.done()}
    found = {item["name"]: item["id"] for item in live}
    for name in sorted(set(expected.items()) ^ set(found.items())):
        had = [box for box in soak.boxes if name[0] in box.names]
        soak.broken(f"{name} is in only one of what should be alive and hutch ps; the name had "
                    f"{', '.join(map(str, had))}", had[-1] if had else None)
    for box in soak.boxes:
        if not box.gone.done():
            box.cause("rm -f")
            box.is_forgotten = True
    if expected:
        removed = await soak.hutch("rm", "-f", *expected)
        if removed.code or removed.out.decode().split() != list(expected):
            soak.broken(str(removed))
    for box in soak.boxes:
        await soak.patiently(asyncio.shield(box.ended), f"the account of {box}", box)


async def names_are_free(soak):
    for name in sorted(soak.names):
        made = await soak.hutch("create", name)
        if made.code or made.out.decode() != name + "\n":
            soak.broken(f"name {name} cannot be used again: {made}")
    removed = await soak.hutch("rm", "-f", *sorted(soak.names))
    if removed.code:
        soak.broken(str(removed))
    listed = json.loads((await soak.hutch("ps", "-a", "--json")).out)
    for item in listed:
        if item["state"] != "ended" or not item["exit"]:
            soak.broken(f"hutch ps -a has {item}")
    for name in sorted({item["name"] for item in listed}):
        if (await soak.hutch("rm", name)).code:
            soak.broken(f"hutch rm {name} has failed")
    if (await soak.hutch("ps", "-a", "--json")).out != b"[]\n":
        soak.broken("hutch ps -a has something still")


async def nothing_left(soak):
    await soak.close()
    children = (" ".join(model.stat_of(p) or [])[:60] + " " + str(p) for p in model.children_of(os.getpid()))
    await soak.until(soak.reap_all, "processes are left: " + "; ".join(children))
    await soak.until(lambda: mounts() == soak.mounts, f"mounts are left: {set(mounts()) - set(soak.mounts)}")
    left = sorted(os.path.relpath(os.path.join(at, name), soak.state)
                  for at, folders, files in os.walk(soak.state) for name in folders + files
                  if os.path.relpath(at, soak.state).split("/")[0] != ".prepared")
    if left != [".ended", ".etc-names", ".prepared", ".tmp"]:
        soak.broken(f"in the state folder is left: {left}")
    for name in ("img/data", "w"):
        if os.listdir(f"{soak.folder}/{name}"):
            soak.broken(f"in {name} is left: {os.listdir(f'{soak.folder}/{name}')}")


async def play(soak):
    soak.background(soak.watch_lag())
    soak.background(soak.reap_adopted())
    slots = [keepers.Slot(soak, number, number < LASTING) for number in range(SANDBOXES)]
    lasting = slots[:LASTING]
    workers = []
    await asyncio.gather(*(slot.make_first() for slot in lasting))
    marks = [await keepers.measure(slot.box) for slot in lasting]
    workers += [soak.background(slot.keep()) for slot in slots]
    workers += [soak.background(visits.visitor(soak, slots, number)) for number in range(VISITORS)]
    try:
        await asyncio.wait_for(soak.is_over.wait(), SECONDS)
    except asyncio.TimeoutError:
        soak.is_over.set()
    if soak.wrong:
        return
    await soak.patiently(asyncio.gather(*workers), "clients to come to their end")
    for slot, mark in zip(lasting, marks):
        await keepers.compare(slot.box, mark)


PARTS = [
    ("every answer was one that could be, and all that was printed came", play),
    ("every sandbox is accounted for, with a reason for its end", ends),
    ("each name can be used again", names_are_free),
    ("no process, mount or file is left", nothing_left),
]


async def tell(soak):
    """Returns True if all parts are well.  After a failed part the others prove
    nothing."""
    for number, (text, part) in enumerate(PARTS, 1):
        try:
            await part(soak)
        except Broken:
            pass
        print(f"{'not ok' if soak.wrong else 'ok'} {number} - {text}")
        if soak.wrong:
            return print("".join(f"# {line[:1500]}\n" for text in soak.wrong for line in text.splitlines()), end="")


def handle(loop, context):
    """A program may end before it has read its input; that is no error."""
    if not isinstance(context.get("exception"), BrokenPipeError | ConnectionResetError):
        loop.default_exception_handler(context)


def is_alone(soak):
    """A failed run may have left processes, which are killed."""
    if soak.reap_all():
        return True
    for child in model.children_of(os.getpid()):
        keepers.kill(child)
    return False


async def main(folder):
    soak = Soak(folder)
    asyncio.get_running_loop().set_exception_handler(handle)
    print(f"# SEED={SEED}, {SECONDS:.0f} s")
    await tell(soak)
    usage = os.times()
    print(f"# {soak.answers} answers, {soak.commands} commands, {len(soak.boxes)} sandboxes, ended: "
          f"{dict(soak.ends)}; {usage.user + usage.system:.0f} s of CPU here and "
          f"{usage.children_user + usage.children_system:.0f} s in children")
    print(f"# {dict(soak.done)}")
    print(f"1..{len(PARTS)}")
    await soak.close()
    await pace.is_so(lambda: is_alone(soak))
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if sys.version_info < (3, 12):
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # which tells of what was killed above
    place = make_folder()
    try:
        code = asyncio.run(main(place))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    sys.exit(code)
