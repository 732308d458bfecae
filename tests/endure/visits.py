"""Actions of clients in sandboxes that others use, pause, rename and end
meanwhile."""
import asyncio
import base64
import contextlib
import glob
import json
import random
import signal
import time

import contract
import embedders
import model
import pace
import programs
from peers import Gone, Peer, Refused

ABSENCES = ("no sandbox named", "has ended", "closed the connection", "connect to sandbox", "is ending",
            "the sandbox was ended", "no such process")


def is_absence(text):
    return any(words in text for words in ABSENCES)


class Visit:
    """One client at one sandbox: dice, a tag that no other client prints, and
    the judgement of answers."""

    def __init__(self, soak, box, look, dice):
        self.soak, self.box, self.look, self.dice = soak, box, look, dice
        self.tag = f"tag{dice.randrange(1 << 48):012x}"

    def broken(self, text):
        self.soak.broken(f"{self.box}: {text} (seen: {sorted(self.look.seen)})", self.box)

    async def hutch(self, *words, stdin=b""):
        result = await self.soak.hutch(*words, stdin=stdin, box=self.box)
        if result.code == 0 and words[0] in ("exec", "act"):  # others may look at files alone
            self.box.last_asked = max(self.box.last_asked, self.look.begun)
        return result

    @property
    def may_be_other(self):
        """The name may have led to another sandbox, or to none."""
        return self.look.may("ending", "gone", "renaming")

    def excuses(self, text):
        """Returns whether a refusal or failure with this text can be explained."""
        if is_absence(text) and self.may_be_other:
            return True
        if "is paused" in text and (self.look.may("paused") or self.may_be_other):
            return True
        # A supervisor that has killed its sandbox answers again only when all its
        # processes have ended; one of them may be in a long system call.
        is_busy = "is stopping" in text or "does not answer" in text
        return is_busy and self.look.may("ending")

    def judge(self, result, is_right, while_paused=True):
        """Judges a command's result: it is right, or there is an explanation."""
        if wrong := contract.said(result.err):
            self.broken(f"{wrong}: {result}")
        if is_right and self.look.is_paused and not while_paused:
            self.broken(f"was done in a paused sandbox: {result}")
        # If the sandbox ends meanwhile, its processes are killed by one of these signals.
        was_ended = self.look.may("ending", "gone") and result.code in (129, 137, 143)
        if not is_right and not was_ended and not (result.code in (125, 137, 124) and self.excuses(result.err)):
            self.broken(f"cannot be: {result}")
        return is_right

    def was_late(self):
        """This program itself has not read for a while."""
        return self.soak.lag >= self.look.begun

    def printed(self, got, wanted, what):
        """Accepts all of it, or only its beginning if the sandbox may have ended."""
        if got == wanted or (self.look.may("ending", "gone") and wanted.startswith(got)):
            return
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        self.broken(f"{what} are {len(got)} bytes, not {len(wanted)}; from byte {at} {got[at:at + 80]!r}, "
                    f"not {wanted[at:at + 80]!r}")


# --- by the command line -----------------------------------------------------------


async def exec_(v):
    p = programs.any_program(v.dice, v.tag)
    result = await v.hutch("exec", v.box.name, "--", *p.argv)
    if result.code == 125 or (result.code == 137 and p.code != 137):
        # hutch's own messages come after those of the command.
        at = result.err.rfind("hutch: sandbox")
        if not p.err.startswith(result.err[:max(at, 0)].encode()):
            v.broken(f"stderr is not that of the command: {result}")
        result.err = result.err[max(at, 0):]
        return v.judge(result, False)
    if v.look.is_paused:
        v.broken(f"was done in a paused sandbox: {result}")
    v.printed(result.out, p.out, "stdout")
    if not (v.look.may("ending", "gone") and "hutch: " in result.err):
        v.printed(result.err.encode(errors="replace"), p.err, "stderr")
    if result.code != p.code and not v.look.may("ending", "gone"):
        v.broken(f"ended with {result.code}, not {p.code}: {result}")


async def exec_stdin(v):
    text = v.dice.randbytes(v.dice.choice([0, 10, 5000, 300000]))
    result = await v.hutch("exec", "-i", v.box.name, "cat", stdin=text)
    if v.judge(result, result.code == 0, while_paused=False) or v.may_be_other:
        v.printed(result.out, text, "stdout") if result.code == 0 else None


async def exec_timeout(v):
    result = await v.hutch("exec", "--timeout", f"0.{v.dice.randrange(1, 4)}", v.box.name, "sleep", "1000")
    v.judge(result, result.code == 124 and "timed out" in result.err, while_paused=False)


async def exec_absent(v):
    words, code = v.dice.choice([(["nothing-of-this-name"], 127), (["/etc/passwd"], 126), (["/none/of/it"], 127)])
    result = await v.hutch("exec", v.box.name, *words)
    if v.box.kind == "image" and code == 126:
        code = 127  # it has no such file
    v.judge(result, result.code == code and len(result.err) > 10, while_paused=False)


async def exec_tty(v):
    result = await v.hutch("exec", "-t", v.box.name, "sh", "-c", f"test -t 0 && echo {v.tag}; exit 5")
    if v.judge(result, result.code == 5, while_paused=False):
        v.printed(result.out, f"{v.tag}\r\n".encode(), "the terminal")


async def exec_detached(v):
    """Other clients know its number and its output from then on."""
    p = programs.any_program(v.dice, v.tag)
    result = await v.hutch("exec", "-d", v.box.name, "--", *p.argv)
    if v.judge(result, result.code == 0, while_paused=False) and not v.may_be_other:
        v.box.processes[int(result.out)] = p
        v.box.note(f"process {int(result.out)} is {p.argv[:3]}, which prints {len(p.out)} and {len(p.err)} bytes")


async def exec_signalled(v):
    """A signal that hutch gets is passed on to the command."""
    program = await v.soak.spawn("exec", v.box.name, "sh", "-c",
                                 "trap 'exit 42' TERM; trap 'exit 43' INT; echo ready; sleep 1000 & wait; wait")
    ready = await v.soak.patiently(program.stdout.read(6), "exec to run", v.box)
    number, code = v.dice.choice([(signal.SIGTERM, 42), (signal.SIGINT, 43), (signal.SIGKILL, -9)])
    if ready and program.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            program.send_signal(number)
    _, err = await v.soak.patiently(program.communicate(), "exec that got a signal", v.box)
    if program.returncode != code and not v.may_be_other and not (not ready and v.look.may("paused")):
        v.broken(f"exec that got {number.name} ended with {program.returncode}: {err}")


async def exec_killed(v):
    """Kills hutch, so that nothing is told to the sandbox."""
    program = await v.soak.spawn("exec", v.box.name, "sh", "-c", v.dice.choice(["yes", "sleep 1000", "seq 100000"]))
    await pace.pause(v.dice.uniform(0, 0.05))
    if program.returncode is None:
        program.kill()
    await v.soak.patiently(program.communicate(), "exec that was killed", v.box)


ERRANDS = {
    "list": {"path": "/", "depth": 3},
    "glob": {"pattern": "/usr/b*/ba*"},
    "stat": {"path": "/usr"},
    "mkdir": {"path": "/tmp/many/folders"},
}


def act_line(v, session):
    kind = v.dice.choice(["run", "run", "write", v.dice.choice([*ERRANDS])])
    code = v.dice.choice([0, 1, 42])
    if kind in ERRANDS:
        return {"action": kind, "session": session, "args": ERRANDS[kind]}, None
    if kind == "write":
        return {"action": "write", "session": session, "args": {"path": f"/tmp/{v.tag}", "content": v.tag}}, None
    return {"action": "run", "session": session, "args": {"command": f"echo {v.tag}; (exit {code})"}}, code


def judge_observation(v, action, code, seen):
    if wrong := contract.observation(seen):
        v.broken(wrong)
    if seen["observation"] == "error":
        text = json.dumps(seen)
        is_end = "HUTCH$SANDBOX_ENDED" in text or (action["action"] in ERRANDS and "ended by a signal" in text)
        if not (is_end and v.look.may("ending", "gone")):
            v.broken(f"{action} -> {text[:700]}")
    elif action["action"] == "run":
        right = seen["content"] == v.tag and seen["extras"]["metadata"]["exit_code"] == code
        if not right and not v.look.may("ending", "gone"):
            v.broken(f"{action} -> {json.dumps(seen)[:900]}")
    elif seen["observation"] != action["action"]:
        v.broken(f"{action} -> {json.dumps(seen)[:900]}")


async def act_by_command(v):
    actions = [act_line(v, f"s{v.dice.randrange(3)}") for _ in range(v.dice.randrange(1, 6))]
    for number, (action, _) in enumerate(actions):
        action["id"], action["timestamp"] = number, v.tag
    text = "".join(json.dumps(action) + "\n" for action, _ in actions).encode()
    streams = v.dice.choice([[], ["--stream"]])
    result = await v.hutch("act", v.box.name, *streams, stdin=text)
    seen = [json.loads(line) for line in result.out.splitlines()]
    seen = {item["cause"]: item for item in seen if "event" not in item}
    if v.judge(result, result.code == 0):
        if len(seen) != len(actions) and not v.may_be_other:
            v.broken(f"{len(actions)} actions, but {result}")
    for number, item in seen.items():
        judge_observation(v, *actions[number], item)


async def ps(v):
    if v.soak.quiet:  # it asks everybody, who then is not idle
        return
    everybody = [box for box in v.soak.boxes if not box.gone.done() and not box.may_end and not box.held["renaming"]]
    looks = [(box, box.look()) for box in everybody]
    opened = [(box, look.__enter__(), look) for box, look in looks]
    try:
        result = await v.hutch("ps", "--json", *v.dice.choice([[], ["-a"]]))
        if result.code or not isinstance(items := json.loads(result.out), list):
            v.broken(str(result))
        for item in items:
            if wrong := contract.keys("an item", item, contract.PS):
                v.broken(wrong)
            if item["state"] not in contract.STATES or (item["state"] == "ended") != (item["exit"] is not None):
                v.broken(f"hutch ps has {item}")
            if item["exit"] and (wrong := contract.record(item["exit"])):
                v.broken(f"hutch ps: {wrong}")
        found = {item["id"]: item for item in items}
        for box, look, _ in opened:
            if look.may("ending", "gone", "renaming"):
                continue
            item = found.get(box.id)
            states = {"paused"} if look.is_paused else {"paused", "ready"} if look.may("paused") else {"ready"}
            if not item or item["name"] != box.name or item["state"] not in states:
                v.broken(f"{box} is {item} in hutch ps, and should be {states}")
    finally:
        for _, _, manager in opened:
            manager.__exit__(None, None, None)


async def inspect(v):
    result = await v.hutch("inspect", v.box.name)
    if v.judge(result, result.code == 0) and not v.may_be_other:
        if json.loads(result.out)[0]["id"] != v.box.id:
            v.broken(str(result))


async def stats(v):
    result = await v.hutch("stats", "--json", v.box.name)
    if v.judge(result, result.code == 0) and not v.may_be_other:
        item = json.loads(result.out)[0]
        if item["name"] != v.box.name or item["cpu_s"] is None:
            v.broken(str(result))


async def events(v):
    result = await v.hutch("events", "--json", v.box.name)
    if v.judge(result, result.code == 0) and not v.may_be_other:
        last = -1
        for line in result.out.splitlines():
            event = json.loads(line)
            if event["event"] == "dropped":
                last += event["count"]
            elif event["n"] != last + 1 and last >= 0:
                v.broken(f"event {last} is followed by {event}")
            else:
                last = event["n"]


async def follow(v):
    """Follows until the sandbox ends, or until this client stops."""
    verb = v.dice.choice(["logs", "events"])
    program = await v.soak.spawn(verb, "-f", *(["--json"] if verb == "events" else []), v.box.name)
    work = asyncio.ensure_future(program.communicate())
    await asyncio.wait({work, v.box.gone}, timeout=v.dice.uniform(0.1, 3), return_when=asyncio.FIRST_COMPLETED)
    if not v.box.gone.done() or v.look.may("renaming"):
        if not work.done() and program.returncode is None:
            program.kill()
        await v.soak.patiently(work, f"{verb} -f that was killed", v.box)
        return
    # The program may have asked for the name only after the sandbox had ended, and
    # found the next sandbox of that name.
    await asyncio.wait({work}, timeout=5)
    if not work.done():
        program.kill()
    await v.soak.patiently(work, f"{verb} -f that was killed", v.box)


async def logs(v):
    result = await v.hutch("logs", *v.dice.choice([[], ["-n", "3"]]), v.box.name)
    # `hutch logs` copies the processes' stderr to its own, so only the exit code tells
    # whether it failed.
    if result.code and not v.excuses(result.err):
        v.broken(f"cannot be: {result}")


async def wrong_name(v):
    name = v.dice.choice([f"none-{v.tag}", "../x", "-rf", "x" * 64, "a\nb", "x" * 4096, ".ended", ""])
    verb = v.dice.choice([["exec"], ["act"], ["inspect"], ["logs"], ["events"], ["stats", "--json"],
                          ["pause"], ["unpause"], ["stop"], ["kill"], ["rm"], ["rm", "-f"], ["wait"],
                          ["connect"], ["rename"]])
    more = {"exec": ["true"], "rename": [f"other-{v.tag}"]}.get(verb[0], [])
    result = await v.hutch(*verb, *([] if name != "-rf" else ["--"]), name, *more)
    if result.code != 125 or result.out not in (b"", b"[]\n") or contract.said(result.err) or len(result.err) > 1000:
        v.broken(str(result))


async def pause(v):
    """One client at a time pauses and resumes; a request that changes nothing
    gets an error."""
    box, dice = v.box, v.dice
    async with box.steering:
        if box.may_end or box.gone.done():
            return
        with box.look() as look, box.holding("paused"):
            v.look = look
            asked = await asyncio.gather(*(steer(v, "pause") for _ in range(dice.choice([1, 1, 2]))))
            if asked.count("done") != 1 and not v.look.may("ending", "gone"):
                v.broken(f"pause was answered {asked}")
            if "done" not in asked:
                return
            box.note("paused")
            box.set_paused(not v.look.may("ending", "gone"))
            try:
                await asyncio.wait({box.gone}, timeout=dice.uniform(0, 0.6))
                if dice.random() < 0.3 and await steer(v, "pause") == "done" and not v.look.may("ending"):
                    v.broken("was paused twice")
            finally:
                box.set_paused(False)
            asked = await asyncio.gather(*(steer(v, "unpause") for _ in range(dice.choice([1, 1, 2]))))
            if asked.count("done") != 1 and not v.look.may("ending", "gone"):
                v.broken(f"unpause was answered {asked}")
            box.note("unpaused")


async def steer(v, verb):
    so_already = {"pause": ["is paused already", "is being paused"], "unpause": ["is not paused"]}[verb]
    if v.dice.random() < 0.5:
        result = await v.hutch(verb, v.box.name)
        if result.code == 0 and result.out.decode() == v.box.name + "\n":
            return "done"
        text = result.err
    else:
        try:
            async with await Peer.connect(v.box) as peer:
                await peer.call(verb)
                return "done"
        except Refused as e:
            text = e.message
        except Gone:
            text = "has ended"
    if not any(words in text for words in so_already) and not v.excuses(text):
        v.broken(f"{verb} is told {text!r}")
    return text


# --- at the socket -----------------------------------------------------------------


async def connect(v):
    try:
        return await Peer.connect(v.box, through_program=v.dice.random() < 0.25)
    except Gone:
        if not v.may_be_other:
            v.broken("is not to be reached")
        raise


def refusal(v, e):
    """Accepts an error of a request that would succeed if no other client
    changed the sandbox."""
    if not v.excuses(e.message) and not (e.kind == "disconnected" and v.look.may("ending", "gone")):
        v.broken(f"is told {e.kind}: {e}")


async def run(v, peer, p, is_patient=True, **params):
    """Runs one program from start to end, and checks all of its output."""
    process = await peer.start(p.argv, **params)
    if v.look.is_paused:
        v.broken(f"process {process} was started in a paused sandbox")
    if not is_patient:
        peer.is_slow = True
        peer.reads.clear()
        await pace.pause(v.dice.choice([0.1, 0.5, 1.5]))  # what it does is not to read
        peer.reads.set()
    how = await peer.exited(process)
    judge_end(v, peer, process, p, how, may_drop=not is_patient)
    peer.is_slow = False


def judge_end(v, peer, process, p, how, may_drop=False, lost=None):
    ends = v.look.may("ending", "gone")
    signal_told = str(p.signal) if p.signal and isinstance(how["signal"], str) else p.signal
    if (how["exit_code"], how["signal"]) != (p.code, signal_told) and not ends:
        v.broken(f"process {process}, {p.argv[:3]}, ended as {how}, not with {p.code}")
    for stream, text in p.streams().items():
        start = (lost or {}).get(stream, 0)
        is_whole = how["exit_code"] == p.code or not ends
        if wrong := peer.printed(process, stream, text, start, is_whole):
            if not (ends and peer.printed(process, stream, text, start, False) is None):
                v.broken(f"{stream} of process {process}, {p.argv[:3]}: {wrong}")
    if peer.has_gaps(process) and not may_drop and not v.was_late():
        v.broken(f"process {process}, {p.argv[:3]}: some was dropped, though all was read")
    v.soak.outputs += 1


async def exec_at_socket(v):
    async with await connect(v) as peer:
        for _ in range(v.dice.randrange(1, 4)):
            await run(v, peer, programs.any_program(v.dice, v.tag), v.dice.random() < 0.8)


async def burst(v):
    """Sends many requests at once; answers come in any order."""
    async with await connect(v) as peer:
        asked = []
        for _ in range(v.dice.randrange(5, 120)):
            method, params = v.dice.choice([
                ("info", {}), ("stats", {}), ("exec.list", {}), ("exec.start", {"argv": ["true"]}),
                ("exec.wait", {"process": 4000000000}), ("exec.signal", {"process": 4000000001, "signal": "TERM"}),
                ("nothing", {}), ("info", {"what": 1}), ("exec.start", {"argv": []}), ("update", {}),
                ("events.subscribe", {"since": 0}), ("logs", {"tail": 1}), ("cancel", {"id": 1}),
            ])
            asked.append((method, params, peer.send(method, **params)))
        for method, params, answer in asked:
            await judge_burst(v, method, params, answer)


async def judge_burst(v, method, params, answer):
    expected = {"exec.wait": "not_found", "exec.signal": "not_found", "cancel": "not_found"}
    try:
        await v.soak.patiently(answer, f"the answer to {method}", v.box)
        kind = code = None
    except Refused as e:
        kind, code = e.kind, e.code
    if kind == "disconnected" and v.look.may("ending", "gone"):
        is_right = True
    elif method == "nothing":
        is_right = code == -32601
    elif method == "update":  # of no limit at all
        is_right = code == -32602
    elif params == {"what": 1} or params == {"argv": []}:
        is_right = code == -32602 or (kind == "busy" and v.look.may("paused", "ending"))
    elif method == "exec.start":
        is_right = code is None or (kind == "busy" and v.look.may("paused")) or v.look.may("ending")
    else:
        is_right = kind == expected.get(method)
    if not is_right:
        v.broken(f"{method} {params} was answered with {code} {kind}")


async def attach(v):
    """Sends requests about processes of other clients, some of which have ended."""
    async with await connect(v) as peer:
        if v.dice.random() < 0.5:
            p = programs.any_program(v.dice, v.tag)
            v.box.processes[await peer.start(p.argv, detach=True)] = p
    known = list(v.box.processes.items())
    async with await connect(v) as peer:  # another: the one that started it is told anyhow
        for process, p in v.dice.sample(known, min(len(known), 3)):
            try:
                at = await peer.call("exec.attach", process=process)
                if v.dice.random() < 0.2:
                    return  # in the middle
                how = await peer.call("exec.wait", process=process)
            except Refused as e:
                if e.kind != "not_found":
                    raise
                await judge_forgotten(v, peer, process)
                continue
            judge_end(v, peer, process, p, how, may_drop=True, lost=at["lost"])


async def judge_forgotten(v, peer, process):
    """256 others have ended since, and as many records are kept."""
    v.box.processes.pop(process, None)
    newest = await peer.start(["true"])
    if newest - process <= 256:
        v.broken(f"process {process} is forgotten, and the newest is {newest}")


async def write_flood(v):
    """Writes side by side: each is done as a whole, or refused."""
    async with await connect(v) as peer:
        process = await peer.start(["cat"], stdin=True)
        taken, asked = b"", []
        for _ in range(v.dice.randrange(1, 8)):
            data = v.dice.randbytes(v.dice.choice([0, 1, 1000, 200000, 700000]))
            asked.append((data, peer.send("exec.write", process=process, base64=base64.b64encode(data).decode())))
            if v.dice.random() < 0.5:
                taken += await written(v, *asked.pop(0)) if len(asked) == 1 else b""
        for data, answer in asked:
            taken += await written(v, data, answer)
        await peer.call("exec.write", process=process, eof=True)
        how = await peer.exited(process)
        judge_end(v, peer, process, programs.Program(["cat"], taken), how)


async def written(v, data, answer):
    try:
        await v.soak.patiently(answer, "an answer to exec.write", v.box)
        return data
    except Refused as e:
        if e.kind not in ("busy", "limit") and not (e.kind == "disconnected" and v.look.may("ending")):
            v.broken(f"exec.write is told {e.kind}: {e}")
        return b""


async def signal_at_socket(v):
    async with await connect(v) as peer:
        process = await peer.start(["sh", "-c", "trap 'exit 9' USR1; echo ready; sleep 1000 & wait"])
        await v.soak.until(lambda: peer.outputs[process, "stdout"] or peer.closed.done(), "it to be ready", v.box)
        await peer.call("exec.signal", process=process, signal=v.dice.choice(["USR1", "SIGUSR1", 10]))
        how = await peer.exited(process)
        judge_end(v, peer, process, programs.Program(["trap"], b"ready\n", code=9), how)


async def timeout_at_socket(v):
    async with await connect(v) as peer:
        process = await peer.start(["sh", "-c", "sleep 1000; sleep 1000"], timeout=v.dice.uniform(0.01, 0.5))
        how = await peer.exited(process)
        if not (how["timed_out"] and how["exit_code"] == 137) and not v.look.may("ending"):
            v.broken(f"with a time-out it ended as {how}")


async def terminal_at_socket(v):
    async with await connect(v) as peer:
        process = await peer.start(["cat"], tty=True, stdin=True, rows=30, cols=100)
        await peer.call("exec.resize", process=process, rows=10, cols=20)
        await peer.call("exec.write", process=process, data=f"{v.tag}\n", eof=True)
        how = await peer.exited(process)
        judge_end(v, peer, process, programs.Program(["cat"], f"{v.tag}\r\n{v.tag}\r\n".encode()), how)


async def act_at_socket(v):
    """Uses several sessions at once."""
    async with await connect(v) as peer:
        asked = []
        for _ in range(v.dice.randrange(1, 6)):
            action, code = act_line(v, f"s{v.dice.randrange(3)}")
            asked.append((action, code, peer.send("act", action=action, stream=v.dice.random() < 0.3)))
        for action, code, answer in asked:
            try:
                seen = await v.soak.patiently(answer, f"the observation of {action}", v.box)
            except Refused as e:
                refusal(v, e)
                continue
            judge_observation(v, action, code, seen)


async def act_and_cancel(v):
    """Uses a session that no other client uses meanwhile."""
    session = f"u{v.dice.randrange(3)}"
    async with v.box.sessions[session]:
        async with await connect(v) as peer:
            answer = peer.send("act", action={"action": "run", "session": session, "id": 5, "timestamp": v.tag,
                                              "args": {"command": f"echo {v.tag}; sleep 1000; echo not this"}})
            if v.dice.random() < 0.3:  # and leave
                await peer.call("info")
                return
            cancelled = peer.send("cancel", id=5)
            try:
                # The command may have ended or been refused before the cancel, for
                # example because another client had left input for it.
                with contextlib.suppress(Refused):
                    await v.soak.patiently(cancelled, "the answer to cancel", v.box)
                seen = await v.soak.patiently(answer, "the observation of what was cancelled", v.box)
            except Refused as e:
                refusal(v, e)
                return
            text = json.dumps(seen)
            if "not this" in seen["content"] and "sleep" not in seen["content"]:
                v.broken(f"what was cancelled went on: {text[:600]}")


async def flood_and_leave(v):
    """Leaves in the middle of a message, after a complete line or not."""
    async with await connect(v) as peer:
        await peer.start(["sh", "-c", v.dice.choice(["yes", "sleep 1000", "seq 200000"])])
        if v.dice.random() < 0.5:
            peer.reads.clear()
        for _ in range(v.dice.randrange(30)):
            peer.send("exec.list")
        if v.dice.random() < 0.5:
            peer.write(b'{"jsonrpc":"2.0","id":77,"meth')
        await pace.pause(v.dice.uniform(0, 0.3))


async def nonsense(v):
    """Sends invalid lines on a separate connection: their errors have no id."""
    line, code = v.dice.choice([
        (b"nonsense", -32700), (b"{" * 70, -32700), (b'{"a":1,"a":2}', -32700), (b"[]", -32600), (b"{}", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"info","params":{}}', -32600), (b'"' + b"x" * (33 << 20), -32600),
        (b'{"jsonrpc":"2.0","method":"hello"}', -32600),
    ])
    if v.soak.is_root:
        return
    try:
        reader, writer = await asyncio.open_unix_connection(f"{v.soak.state}/{v.box.name}/control.sock")
    except OSError:
        if not v.may_be_other:
            v.broken("is not to be reached")
        return
    try:
        writer.write(line + b"\n")
        said = await v.soak.patiently(reader.readline(), "an answer to nonsense", v.box)
        if said and json.loads(said)["error"]["code"] != code:
            v.broken(f"{line[:60]} is told {said[:300]}")
        if not said and not v.may_be_other:
            v.broken(f"{line[:60]} is told nothing")
    except OSError:
        if not v.may_be_other:
            v.broken("closed the connection")
    finally:
        writer.transport.abort()


async def read_log(v):
    """Reads the output of detached processes so far."""
    async with await connect(v) as peer:
        known = dict(v.box.processes)
        await peer.call("logs")
        if not peer.log_gaps:
            judge_log(v.box, known, peer.log)


def judge_log(box, known, log):
    """The log keeps a part of the output of each process, without a gap."""
    for (process, stream), parts in log.items():
        p = known.get(process)
        if not p:
            continue
        text, got = p.streams()[stream], b"".join(parts)
        if got not in text:
            box.soak.broken(f"{box}: the log has {len(got)} bytes of {stream} of process {process} "
                            f"({p.argv[:3]}), which are no part of it: {got[:80]!r}", box)


def check_log(box):
    """Reads the log that a sandbox has left after its end."""
    log, found = {}, glob.glob(f"{box.soak.state}/.ended/*-{box.id}-*/log")
    for name in ("output.1", "output"):
        try:
            with open(f"{found[0]}/{name}") as f:
                lines = f.readlines()
        except (IndexError, FileNotFoundError):  # there is none, or it is being removed
            continue
        for line in lines:
            # A supervisor that is killed while it writes leaves an incomplete line.
            if not line.endswith("\n") and name == "output" and model.SUDDEN & set(box.causes):
                continue
            entry = json.loads(line)
            if wrong := contract.output(entry):
                box.soak.broken(f"{box}: in the log, {wrong}", box)
            log.setdefault((entry["process"], entry["stream"]), []).append(contract.bytes_of(entry))
    judge_log(box, box.processes, log)


# --- who comes ------------------------------------------------------------------------

VISITS = {
    exec_: 12, exec_stdin: 4, exec_timeout: 2, exec_absent: 2, exec_tty: 2, exec_detached: 6, exec_signalled: 3,
    exec_killed: 4, act_by_command: 5, ps: 4, inspect: 2, stats: 2, events: 2, follow: 3, logs: 2, wrong_name: 3,
    pause: 5, exec_at_socket: 10, burst: 5, attach: 8, write_flood: 4, signal_at_socket: 3, timeout_at_socket: 3,
    terminal_at_socket: 2, act_at_socket: 5, act_and_cancel: 3, flood_and_leave: 4, nonsense: 2, read_log: 3,
    embedders.through_port: 5, embedders.by_asyncio: 5, embedders.by_threads: 2,
}
ONE_AT_A_TIME = {pause}


async def visitor(soak, slots, number):
    dice = soak.dice(f"visitor {number}")
    while not soak.is_over.is_set():
        # The random choices do not depend on which sandboxes exist, so that a seed
        # gives the same plan again.
        slot, what = dice.choice(slots), dice.choices(list(VISITS), VISITS.values())[0]
        own = random.Random(dice.random())
        await pace.pause(dice.expovariate(1 / soak.pace))
        if slot.box and not slot.is_quiet and not slot.box.gone.done():
            await visit(soak, slot.box, what, own)


async def visit(soak, box, what, dice):
    with box.look() as look:
        v = Visit(soak, box, look, dice)
        try:
            await what(v)
        except Gone:
            if not v.may_be_other:
                v.broken(f"the connection ended during {what.__name__}")
        except Refused as e:
            refusal(v, e)
        soak.done[what.__name__] += 1
        box.note(f"{time.monotonic() - look.begun:.3f} s of {what.__name__}, {v.tag}")
