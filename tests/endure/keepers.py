"""Makes, renames and ends sandboxes, and watches their ends."""
import asyncio
import contextlib
import os
import re
import signal
import time

import model
import pace
import visits
from peers import Gone, Peer, Refused

# The options of a sandbox, the limit that may end it, and the seconds until then.
KINDS = {
    "plain": lambda soak, dice: ([], None),
    "image": lambda soak, dice: (["--image", f"dir:{soak.folder}/img", "-v", "/usr:/usr:ro"], None),
    "workspace": lambda soak, dice: (["--workspace", f"{soak.folder}/w"], None),
    "ttl": lambda soak, dice: (["--ttl", "{0}s"], ("ttl", round(dice.uniform(3, 6), 2))),
    "timeout": lambda soak, dice: (["--timeout", "{0}s"], ("timeout", round(dice.uniform(3, 6), 2))),
    "idle": lambda soak, dice: (["--idle-timeout", "{0}s"], ("idle", round(dice.uniform(1.5, 2.5), 2))),
    "memory": lambda soak, dice: (["--memory", "192M", "--best-effort"], None),
}
# Growth of a supervisor's memory that is permitted between begin and end.
GROWTH_KIB = 8192
WEIGHTS = {"plain": 8, "image": 2, "workspace": 2, "ttl": 2, "timeout": 1, "idle": 3, "memory": 1}


class Process:
    """A process that is another's child, and becomes ours when its parent has
    ended.  Its pid alone may be reused."""

    def __init__(self, pid):
        self.pid, self.fd = pid, os.pidfd_open(pid)

    async def end(self):
        """Returns its status, or None if another process reaped it.  Only once."""
        loop, ended = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
        loop.add_reader(self.fd, lambda: ended.done() or ended.set_result(None))
        try:
            await ended
            how = os.waitid(os.P_PIDFD, self.fd, os.WEXITED | os.WNOHANG)
            return how and (how.si_code, how.si_status)
        except ChildProcessError:
            return None
        finally:
            loop.remove_reader(self.fd)
            os.close(self.fd)
            self.fd = -1

    def kill(self, number=signal.SIGKILL):
        try:
            if self.fd >= 0:
                signal.pidfd_send_signal(self.fd, number)
        except ProcessLookupError:
            pass


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Slot:
    """A name, and the sandboxes that have it one after the other."""

    def __init__(self, soak, number, lasts):
        self.soak, self.lasts = soak, lasts
        self.base = f"soak{os.getpid()}-{number}"
        self.dice = soak.dice(f"slot {number}")
        self.box = None
        self.renames = 0
        self.is_quiet = False  # nobody is to come

    # --- making ---

    async def make_first(self):
        await self.make("plain")

    async def keep(self):
        while not self.soak.is_over.is_set():
            if self.box is None:
                await self.make(self.dice.choices(list(WEIGHTS), WEIGHTS.values())[0])
            if self.box is None:
                continue  # it was over before it was looked at
            await self.live()
            if not self.lasts and not self.soak.is_over.is_set():
                await self.end()
                self.box, self.is_quiet = None, False

    async def make(self, kind):
        soak, dice = self.soak, self.dice
        if dice.random() < 0.12 and not self.lasts:
            await self.make_and_be_killed()
        options, limit = KINDS[kind](soak, dice)
        box = model.Box(soak, self.base, kind)
        soak.names.add(box.name)
        words = ["create"] + [word.format(f"{limit[1]:.2f}" if limit else "") for word in options] + [box.name]
        early = soak.background(self.come_early(box)) if dice.random() < 0.3 and kind != "idle" else None
        rivals = 2 if dice.random() < 0.1 else 1
        made = await asyncio.gather(*(soak.hutch(*words) for _ in range(rivals)))
        good = [result for result in made if result.code == 0 and result.out.decode() == box.name + "\n"]
        bad = [result for result in made if result not in good]
        if len(good) != 1 or not all("is running" in result.err or "being tidied up" in result.err for result in bad):
            soak.broken(f"{rivals} made {box.name}: {'; '.join(map(str, made))}", box)
        box.note(f"made: {' '.join(words)}")
        if limit:
            box.limit, box.seconds, box.due = *limit, box.begun + limit[1] - 0.002
            asyncio.get_running_loop().call_at(box.due + 0.001, box.look_at_clock)
        if early:
            await early
        try:
            await self.adopt(box)
            self.box = box
        except (Gone, ProcessLookupError):
            if not box.may_end:
                soak.broken(f"{box} is not there when it was made", box)
            await self.account(box)

    async def account(self, box):
        """For a sandbox that ended by itself, on a busy machine, before its
        processes were known."""
        if not box.id:
            return  # nor anything else of it
        self.soak.boxes.append(box)
        box.gone.set_result(None)
        await self.soak.until(box.find_record, f"{box} to have a record", box)
        if wrong := box.judge_record():
            self.soak.broken(wrong, box)
        box.ended.set_result(None)

    async def adopt(self, box):
        soak = self.soak
        async with await Peer.connect(box) as peer:
            info = await peer.call("info")
        supervisor = model.parent_of(info["pid"])
        if not supervisor:
            raise ProcessLookupError
        family = model.children_of(supervisor)
        box.supervisor, box.executor = Process(supervisor), Process(info["pid"])
        box.janitors = [Process(pid) for pid in family if pid != info["pid"]]
        box.note(f"is {box.id}: supervisor {supervisor}, with {family}, executor {info['pid']}")
        soak.boxes.append(box)
        watched = box.kind != "idle" and not self.lasts and self.dice.random() < 0.6
        box.witness = soak.background(witness(box)) if watched else None
        box.mourner = soak.background(mourn(box))

    async def come_early(self, box):
        """A client that makes requests before the sandbox is ready."""
        path = f"{self.soak.state}/{box.name}/control.sock"
        await self.soak.until(lambda: box.id or box.may_end or os.path.exists(path), f"{box.name} to be there", box)
        early = model.Box(self.soak, box.name, box.kind)  # of its own: the one before may be there still
        early.begin("ending")
        early.causes["early"] = 0
        try:
            async with await Peer.connect(early) as peer, contextlib.AsyncExitStack() as stack:
                box.note("a client comes early")
                pauses = self.dice.random() < 0.5
                if pauses:  # the only one, and others may be told that the sandbox is paused
                    await stack.enter_async_context(box.steering)
                    stack.enter_context(box.holding("paused"))
                    paused = peer.send("pause")
                for answer in [peer.send("info"), peer.send("exec.start", argv=["true"]), peer.send("stats")]:
                    try:
                        await self.soak.patiently(answer, "an early answer", box)
                    except Refused as e:
                        if e.kind not in ("busy", "disconnected"):
                            self.soak.broken(f"{box}: an early client is told {e}", box)
                if pauses:
                    try:
                        await paused
                        await peer.call("unpause")
                    except Refused as e:
                        if e.kind not in ("busy", "disconnected"):
                            self.soak.broken(f"{box}: an early pause is told {e}", box)
        except Gone:
            pass

    async def make_and_be_killed(self):
        """Kills the maker or its supervisor meanwhile.  Afterwards the sandbox
        exists or not."""
        soak, name = self.soak, self.base
        soak.names.add(name)
        maker = await soak.spawn("create", name)
        await pace.pause(self.dice.uniform(0, 0.012))  # when: that is the point
        kill(maker.pid)
        await soak.patiently(maker.communicate(), "a killed hutch create")

        def supervisors():
            found = []
            for pid in model.children_of(os.getpid()):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as f:
                        if f.read().split(b"\0")[-2:-1] == [name.encode()] and model.stat_of(pid)[0] != "Z":
                            found.append(pid)
                except (OSError, TypeError):
                    pass
            return found

        def is_settled():
            if not supervisors():
                return True
            try:
                with open(f"{soak.state}/{name}/status") as f:
                    return f.read().strip() == "ready"
            except OSError:
                return False
        await soak.until(is_settled, f"{name}, whose maker was killed, to be ready or gone")
        # Ends the sandbox by `hutch kill`, since `hutch rm` would remove the records of
        # all sandboxes of that name.
        ended = await soak.hutch("kill", name)
        if ended.code and not visits.is_absence(ended.err):
            soak.broken(f"what is left of a killed maker: {ended}")
        await soak.until(lambda: not supervisors(), f"{name}, whose maker was killed, to end")

    # --- living ---

    async def live(self):
        box, dice, soak = self.box, self.dice, self.soak
        over = asyncio.ensure_future(soak.is_over.wait())
        try:
            for _ in range(dice.choice([1, 1, 2, 3, 5])):
                await asyncio.wait({over, box.gone}, timeout=dice.uniform(0.3, 2.5),
                                   return_when=asyncio.FIRST_COMPLETED)
                if box.gone.done() or over.done():
                    return
                await dice.choice([self.rename, self.be_wrong, self.kill_janitor, self.wait_for])()
        finally:
            over.cancel()

    async def rename(self):
        box, soak, old = self.box, self.soak, self.box.name
        async with box.steering:
            self.renames += 1
            new = self.base if old != self.base else f"{self.base}-r{self.renames % 3}"
            soak.names.add(new)
            with box.look() as look, box.holding("renaming"):
                box.note(f"rename {old} {new}")
                result = await soak.hutch("rename", old, new, box=box)
                if result.code == 0:
                    box.name = new
                    box.names.add(new)
                elif look.may("ending"):
                    # The sandbox may have got its new name before it ended, whether the
                    # rename was reported as successful or not.
                    return
                else:
                    soak.broken(f"{box}: {result}", box)
                if self.dice.random() < 0.5 and not self.lasts:
                    made = await soak.hutch("create", old)
                    gone = await soak.hutch("rm", "-f", old)
                    if made.code or gone.code:
                        soak.broken(f"{old}, which was renamed, is not free: {made}; {gone}", box)

    async def be_wrong(self):
        """Requests that must be refused while it lives."""
        box, soak = self.box, self.soak
        async with box.steering:
            with box.look() as look:
                words, kind = self.dice.choice([
                    (["create", box.name], "is running"),
                    (["rm", box.name], "has not ended"),
                    (["rename", box.name, box.name], "is running"),
                    (["rename", box.name, "../x"], "is no name"),
                ])
                if look.may("ending"):
                    return
                result = await soak.hutch(*words, box=box)
                if look.may("ending", "gone"):
                    box.is_forgotten = box.is_forgotten or words[0] == "rm"
                    if result.code == 0 and words[0] == "create":
                        await soak.hutch("rm", "-f", box.name)
                elif result.code != 125 or kind not in result.err:
                    soak.broken(f"{box}: {result}", box)

    async def kill_janitor(self):
        box = self.box
        if self.lasts or self.dice.random() < 0.5:
            return
        box.note("its janitor is killed")
        box.has_janitor = False
        for janitor in box.janitors:
            janitor.kill()

    async def wait_for(self):
        """Runs hutch wait until the sandbox has ended."""
        if not self.lasts and not hasattr(self.box, "waiter"):
            self.box.waiter = self.soak.background(self.wait_in_background(self.box))

    async def wait_in_background(self, box):
        with box.look() as look:
            program = await self.soak.spawn("wait", box.name)
            out, err = await program.communicate()
            return look, out, err.decode(), program.returncode

    # --- the end ---

    async def end(self):
        box, dice, soak = self.box, self.dice, self.soak
        by_itself = box.kind in ("ttl", "timeout", "idle") and dice.random() < 0.7
        if by_itself:
            self.is_quiet = True
            soak.quiet += 1
            await soak.patiently(asyncio.shield(box.gone), f"{box} to end by its {box.kind}", box)
            soak.quiet -= 1
        async with box.steering:
            ways = [] if by_itself else dice.sample(list(WAYS), dice.choice([1, 1, 1, 2, 3]))
            if box.kind == "memory" and dice.random() < 0.6:
                ways = ["memory"]
            for way in ways:
                box.cause(cause_of(box, way))
            works = [soak.background({**WAYS, "memory": use_memory}[way](box, dice, len(ways) == 1))
                     for way in ways]
            await soak.patiently(asyncio.shield(box.gone), f"{box} to end", box)
            # A request that reached hutch too late would end the next sandbox of this
            # name, so the pending requests are awaited first.
            if len(ways) > 1 or not set(ways) <= {"SIGTERM", "supervisor killed", "executor killed"}:
                await soak.patiently(asyncio.gather(*works), f"those who end {box}", box)
            if hasattr(box, "waiter"):
                await self.judge_waiter(box)
            if dice.random() < 0.5:
                await soak.patiently(asyncio.shield(box.ended), f"the account of {box}", box)

    async def judge_waiter(self, box):
        look, out, err, code = await self.soak.patiently(box.waiter, f"hutch wait {box.name}", box)
        await self.soak.patiently(asyncio.shield(box.ended), f"the account of {box}", box)
        if code == 0 and out.decode() == f"{box.record['exit_code'] if box.record else out.decode().strip()}\n":
            return
        if code == 125 and "no sandbox" in err and (look.may("renaming") or box.is_forgotten):
            return
        # A wait that begins when `rm -f` has forgotten the sandbox finds the record of an earlier
        # one of that name.
        if code == 0 and out.strip().isdigit() and box.is_forgotten:
            return
        self.soak.broken(f"hutch wait {box.name} printed {out!r} and {err!r}; its record is {box.record}", box)


# --- ways to end ----------------------------------------------------------------


def cause_of(box, way):
    if way == "supervisor killed" and not box.has_janitor:
        return "supervisor and janitor killed"
    if way in ("rm -f",):
        box.is_forgotten = True
    return way


async def by_command(box, alone, *words):
    with box.look() as look:
        result = await box.soak.hutch(*words, box.name, box=box)
        if result.code == 0 and result.out.decode() == box.name + "\n":
            return
        if result.code == 125 and visits.is_absence(result.err) and (not alone or look.may("gone", "ending")):
            if alone and box.kind not in ("ttl", "timeout", "idle"):
                box.soak.broken(f"{box}: {result}", box)
            return
        box.soak.broken(f"{box}: {result}", box)


async def by_request(box, alone, method, **params):
    try:
        async with await Peer.connect(box) as peer:
            await peer.call(method, **params)
            await peer.closed
    except Gone:
        if alone and box.kind not in ("ttl", "timeout", "idle"):
            box.soak.broken(f"{box}: {method} was not answered", box)


async def stop(box, dice, alone):
    grace = dice.choice([0, 1, 2])
    if dice.random() < 0.5:
        await by_command(box, alone, "stop", "-t", str(grace))
    else:
        await by_request(box, alone, "stop", grace=grace)


async def end_by_kill(box, dice, alone):
    if dice.random() < 0.5:
        await by_command(box, alone, "kill")
    else:
        await by_request(box, alone, "kill")


async def remove(box, dice, alone):
    await by_command(box, alone, "rm", "-f")


async def terminate(box, dice, alone):
    box.supervisor.kill(signal.SIGTERM)


async def kill_supervisor(box, dice, alone):
    box.supervisor.kill()


async def kill_executor(box, dice, alone):
    box.executor.kill()


async def kill_both(box, dice, alone):
    box.supervisor.kill(signal.SIGSTOP)  # or the janitor would be quicker
    for janitor in box.janitors:
        janitor.kill()
    box.supervisor.kill()


async def use_memory(box, dice, alone):
    try:
        async with await Peer.connect(box) as peer:
            await peer.start(["sh", "-c", "head -c 400M /dev/zero | tail"])
            await peer.closed
    except (Gone, Refused):
        pass


WAYS = {
    "stop": stop, "kill": end_by_kill, "rm -f": remove, "SIGTERM": terminate,
    "supervisor killed": kill_supervisor, "executor killed": kill_executor,
    "supervisor and janitor killed": kill_both,
}


# --- who watches ------------------------------------------------------------------


async def witness(box):
    """A client that receives all events, and has requests that are answered at
    the sandbox's end."""
    soak, events = box.soak, []
    try:
        peer = await Peer.connect(box)
        peer.on_event = events.append
        await peer.call("events.subscribe", since=0)
        peer.send("logs", follow=True)
        started = peer.send("exec.start", argv=["sleep", "100000"], stdin=True)
        peer.send("act", action={"action": "run", "session": "witness", "timeout": 100000,
                                 "args": {"command": "sleep 100000", "blocking": True}})
        try:
            process = (await started)["process"]
            peer.send("exec.wait", process=process)
            if soak.dice(box.id).random() < 0.3:  # more than there is room for, so that it waits
                peer.send("exec.write", process=process, data="x" * (1 << 20))
                peer.send("exec.write", process=process, data="x" * (1 << 20))
        except Refused as e:
            if e.kind != "busy":  # somebody has paused it already
                raise
        await peer.call("info")
        await peer.closed
    except Gone:
        pass
    except Refused as e:
        if e.kind != "disconnected" or not box.may_end:
            soak.fail(f"{box}: the witness is told {e}", box)
    for before, event in zip([None, *events], events):
        if event["event"] == "dropped" or (before and before["event"] == "dropped"):
            continue
        if event["n"] != (before["n"] + 1 if before else 0):
            soak.fail(f"{box}: event {event} came behind {before}", box)
    box.told_record = next((event["record"] for event in events if event["event"] == "ended"), None)
    box.was_told, box.last_told = bool(events), events[-4:]
    # No process may be reported as started or as exited twice.
    for name in ("started", "exited"):
        numbers = [event["process"] for event in events if event["event"] == name]
        if len(numbers) != len(set(numbers)):
            soak.fail(f"{box}: {name} twice: {numbers}", box)


async def mourn(box):
    soak = box.soak
    status = await box.supervisor.end()
    box.end_seen = time.monotonic()
    box.look_at_clock()
    box.begin("gone")
    box.note("its supervisor has ended")
    if not box.may_end:
        soak.fail(f"{box} ended by itself", box)
    if status not in (None, (os.CLD_EXITED, 0)) and not (model.SUDDEN & set(box.causes)):
        soak.fail(f"{box}: its supervisor ended with {status}", box)
    box.gone.set_result(None)
    for process in [*box.janitors, box.executor]:
        await soak.patiently(process.end(), f"process {process.pid} of {box} to end", box)
    if "supervisor and janitor killed" in box.causes and not box.is_forgotten:
        # The next process that looks at the registry writes the record.  A process that
        # did so before may have been killed while it wrote.
        for _ in range(20):
            await soak.hutch("ps", "-q")
            if box.find_record():
                break
    if box.witness:
        await soak.patiently(box.witness, f"the witness of {box}", box)
    if wrong := box.judge_record():
        soak.broken(wrong, box)
    judge_told(box)
    if not box.is_forgotten:
        visits.check_log(box)
    box.note(f"ended: {box.record}")
    box.ended.set_result(None)


def judge_told(box):
    soak = box.soak
    if model.SUDDEN & set(box.causes):
        return
    if box.unanswered:
        soak.broken(f"{box} ended without an answer to {box.unanswered}", box)
    is_late = time.monotonic() < soak.lag + 5  # whoever does not read for two seconds is not waited for
    if box.witness and box.was_told and not box.told_record and not is_late:
        soak.broken(f"{box} ended, and who watched its events was not told, but {box.last_told}", box)
    if box.record and box.record["reason"] == "idle" and box.end_seen < box.last_asked + box.seconds:
        soak.broken(f"{box} was idle for {box.end_seen - box.last_asked:.3f} s only, not {box.seconds:.3f}", box)


# --- what one may use ------------------------------------------------------------------


def private_kib(box):
    """None with a sanitizer, which has most of the memory, and terabytes of
    addresses for its shadows."""
    with open(f"/proc/{box.supervisor.pid}/statm") as statm:
        if int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") > 1 << 40:
            return None
    with open(f"/proc/{box.supervisor.pid}/smaps_rollup") as rollup:
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_Dirty"))


def descriptors(box):
    """Returns the targets of its descriptors, without the numbers in them.  The
    log's files are left out: it opens them as needed."""
    folder, found = f"/proc/{box.supervisor.pid}/fd", []
    for fd in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed just now
            found.append(re.sub(r"[0-9]+", "", os.readlink(f"{folder}/{fd}")))
    return sorted(place for place in found if "/log/" not in place)


async def publish_once(box):
    """The descriptors that watch its ports stay open."""
    added = await box.soak.hutch("port", "add", box.name, "auto:9")
    removed = await box.soak.hutch("port", "rm", box.name, added.out.decode().strip())
    if added.code or removed.code:
        box.soak.broken(f"{box}: {added}; {removed}", box)


async def measure(box):
    """Measures the supervisor while no process runs and its stores hold only
    small entries."""
    await publish_once(box)
    async with await Peer.connect(box) as peer:
        sweep = await peer.start(["sh", "-c", "kill -9 -1"])
        await peer.exited(sweep)
        # Starts and ends as many processes as the supervisor remembers, and causes as
        # many events as it keeps, so that its memory is as large as it may get.
        for _ in range(9):
            processes = await asyncio.gather(*(peer.start(["true"]) for _ in range(64)))
            for process in processes:
                await peer.exited(process)
        running = [item for item in await peer.call("exec.list") if item["state"] == "running"]
        if running:
            box.soak.broken(f"{box}: when all was killed, {running} run", box)
        clients = descriptors(box)
    await box.soak.until(lambda: len(descriptors(box)) < len(clients), f"{box} to let its last client go", box)
    return private_kib(box), descriptors(box)


async def abandoned_end(box):
    """Processes whose clients have left end, too, some of them after a grace."""
    async with await Peer.connect(box) as peer:
        async def have_ended():
            return not any(item["state"] == "running" and not item["detached"] for item in await peer.call("exec.list"))
        await box.soak.until(have_ended, f"processes of clients that have gone to end in {box}", box)


async def compare(box, before):
    soak = box.soak
    await abandoned_end(box)
    kib, fds = await measure(box)
    print(f"# {box}: {before[0]} KiB of its own and {len(before[1])} descriptors before, {kib} and {len(fds)} after")
    # The supervisor may not yet have noticed that the last client left.
    await soak.until(lambda: len(descriptors(box)) <= len(before[1]),
                     f"{box} has {fds} open, before {before[1]}", box)
    # Freed memory lies between used blocks: some 3 MiB after five minutes.
    if kib is not None and kib > before[0] + GROWTH_KIB:
        soak.broken(f"{box} has {kib} KiB of its own, before {before[0]}", box)
