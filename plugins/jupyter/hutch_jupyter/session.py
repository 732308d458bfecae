"""session -- cells one after the other, and the kernel that runs them.

One thread waits in poll(2) for the executor, the kernel, its end, clients of the editor's socket
and deadlines.  A call is a list of steps: code that brings the kernel's environment and working
directory in step, then the cell.  A step is over when the kernel says that it is idle again.
"""
import os
import select
import signal
import time

from . import choice, process, wire
from .cell import CODE_MAX, NO_OUTPUT, Cell
from .editor import Editor

# An interrupted kernel that is not idle after so many seconds gets SIGINT again, and is killed.
AGAIN_S, KILL_S = 1.0, 2.5
START_S = 50.0
# The events that a cell takes.
TAKERS = {"text": "add_text", "errors": "add_errors", "error": "add_error", "gap": "add_gap", "bundle": "add_bundle",
          "result": "add_result", "left_out": "leave_out"}
NEW_KERNEL = "A new kernel takes its place: variables and imports are gone."


class Call:
    """A call under way."""

    def __init__(self, line, cell, now):
        self.number = line["call"]
        self.args = {name: value for name, value in line["args"].items() if value is not None}
        self.cwd = line.get("cwd")
        self.limit = float(line.get("timeout") or 120)
        self.deadline = now + self.limit
        self.cell = cell
        self.steps = None
        self.is_silent = False
        self.silent_text = ""
        self.reason = None
        self.again_at = self.kill_at = None


def preparation(cwd, environment):
    """Returns code that changes no variable of the cells."""
    lines = ["import os"]
    for name, value in environment.items():
        lines.append(f"os.environ.pop({name!r}, None)" if value is None else f"os.environ[{name!r}] = {value!r}")
    if cwd:
        lines.append(f"os.chdir({cwd!r})")
    code = "\n".join(lines)
    return f"exec({code!r}, {{}})"


class Session:
    def __init__(self):
        self.wire = wire.Wire()
        self.call = None
        self.queue = []
        self.changes = {}
        self.has_been_ready = False
        self.previous_end = None
        self.is_leaving = False
        self.start_error = None
        self.folder = process.private_folder()
        self.editor = Editor(self.folder, self.wire.send) if self.folder else None
        if self.editor:
            os.environ["HUTCH_EDITOR"] = self.editor.path
        self.wake = self.watch_children()
        self.choice = choice.Choice(self.folder)
        self.form = None
        self.new_form(time.monotonic(), is_replacement=False)

    def watch_children(self):
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        return reader

    def new_form(self, now, is_replacement):
        if self.form:
            self.form.close()
        self.form = self.choice.new_form()
        self.form.is_replacement = is_replacement
        self.form.cwd = self.form.why_killed = None
        self.is_leaving = False
        self.form.start_deadline = now + START_S
        self.changes = {}
        self.form.start(now)

    def run(self):
        while not self.wire.has_ended:
            self.turn()
        self.form.close()
        if self.folder:
            process.remove_folder(self.folder)

    def turn(self):
        poller = self.form.new_poller()
        poller.register(self.wire.reader, select.POLLIN)
        poller.register(self.wake, select.POLLIN)
        if self.editor:
            self.editor.register(poller)
        self.form.register(poller)
        ready = {descriptor for descriptor, _ in poller.poll(self.wait_ms(time.monotonic()))}
        now = time.monotonic()
        if self.wire.reader in ready:
            for line in self.wire.receive():
                self.take_line(line, now)
        for event in self.form.events(ready, now):
            self.take_event(event)
        if self.wake in ready:
            os.read(self.wake, 512)
            self.look_at_kernel(now)
        if self.editor:
            self.editor.serve(ready, self.call is not None)
        self.look_at_clock(now)
        self.go_on(now)

    def wait_ms(self, now):
        call = self.call
        times = [self.form.due()]
        if call:
            times += [call.again_at, call.kill_at] if call.reason else [call.deadline]
        if not self.form.is_up:
            times.append(self.form.start_deadline)
        times = [at for at in times if at is not None]
        return max(0, int((min(times) - now) * 1000) + 1) if times else None

    # The executor's lines

    def take_line(self, line, now):
        if "call" in line:
            self.queue.append((line, now))
        elif "environment" in line:
            for name, value in line["environment"].items():
                self.changes[name] = value
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        elif "cancel" in line:
            if self.call and self.call.number == line["cancel"]:
                self.stop(line.get("reason", "cancelled"), now)
        elif "answer" in line and self.editor:
            self.editor.answered(line, self.call is not None)

    # Steps of a call

    def go_on(self, now):
        """Begins the next call or the next step, where that can be."""
        if self.is_leaving and not self.form.is_busy:
            self.previous_end = "as exit() asked"
            self.new_form(now, is_replacement=True)
        while self.queue and not self.call:
            line, came = self.queue.pop(0)
            self.begin_call(line, came, now)
        call = self.call
        if not call or call.reason or not self.form.is_up or self.form.is_busy:
            return
        if call.steps is None:
            call.steps = self.steps_of(call)
        call.is_silent, code = call.steps.pop(0)
        call.silent_text = ""
        self.form.begin(code, call.is_silent)

    def begin_call(self, line, came, now):
        number, code = line["call"], line["args"]["code"]
        if len(wire.packed(code)) > CODE_MAX:
            self.wire.send({"call": number, "error": f"a cell of more than {CODE_MAX} bytes is too long"})
            return
        keeps_events = line["args"].get("events") is True
        cell = Cell(code, lambda text: self.wire.send({"call": number, "output": text}), keeps_events)
        self.call = Call(line, cell, came)
        if self.previous_end:
            cell.add_text(f"[The kernel ended {self.previous_end} after an earlier cell. {NEW_KERNEL}]\n")
            self.previous_end = None
        if self.start_error:
            self.start_error = None
            self.new_form(now, is_replacement=True)

    def steps_of(self, call):
        """Returns (is_silent, code) of each step.  A cell's own chdir lasts until the shell goes
        elsewhere, so the kernel is told of changes alone."""
        form, steps = self.form, []
        cwd = call.cwd if call.cwd != form.cwd else None
        if form.is_python and (cwd or self.changes):
            steps.append((True, preparation(cwd, self.changes)))
        form.cwd, self.changes = call.cwd, {}
        init = call.args.get("kernel_init_code")
        if form.is_replacement and init:
            steps.append((True, init))
            form.is_replacement = False
        return [*steps, (False, call.args["code"])]

    def take_event(self, event):
        kind, value = event
        call = self.call
        if kind == "up":
            self.tell_ready()
        elif kind == "leaving":
            self.is_leaving = True
        elif kind == "done":
            if call and call.steps is not None:
                self.step_done()
        elif call and call.is_silent:
            if kind in ("text", "errors", "error"):
                text = value["traceback"] if kind == "error" else value
                call.silent_text = (call.silent_text + text)[-2000:]
        elif call and call.steps is not None:
            getattr(call.cell, TAKERS[kind])(value)

    def tell_ready(self):
        if not self.has_been_ready:
            self.has_been_ready = True
            self.wire.send({"ready": True})

    def step_done(self):
        call = self.call
        if call.is_silent and call.silent_text.strip():
            last = call.silent_text.strip().split("\n")[-1]
            call.cell.note(f"before the cell: {last}")
        if call.reason:
            self.answer_stopped("")
        elif not call.steps:
            cell = call.cell
            self.answer(cell.content() or ("" if cell.pictures or cell.data else NO_OUTPUT), cell.pictures)

    # Answers

    def answer(self, content, pictures):
        call, self.call = self.call, None
        if call.cell.events is not None:
            content = ""
        elif call.args.get("include_extra", True):
            lines = [content] if content else []
            content = "\n".join([*lines, f"[Jupyter current working directory: {call.cwd}]",
                                 f"[Jupyter Python interpreter: {self.form.executable}]"])
        answer = {"content": content, "code": call.args["code"]}
        if pictures:
            answer["image_urls"] = pictures
        notes = "; ".join([self.form.note, *call.cell.notes])
        line = {"call": call.number, "answer": answer, "note": wire.printable(notes)[:4000]}
        if call.cell.events is not None:
            call.cell.end_events()
        if call.cell.data:
            line["data"] = call.cell.data
        self.wire.send(line)

    def answer_stopped(self, more):
        """Answers a call that was stopped.  After a time-out the text is the sentence alone, as
        the reference has it, and the output so far is in `data`."""
        call = self.call
        printed = call.cell.content()
        more = f"\n[{more}]" if more else ""
        if call.reason != "timeout":
            self.answer(f"{printed}{printed and chr(10)}[The cell was cancelled.]{more}", call.cell.pictures)
            return
        if printed:
            call.cell.add_data("output", printed)
        self.answer(f"[Execution timed out ({call.limit} seconds).]{more}", [])

    # Time, and kernels that end

    def stop(self, reason, now):
        """Interrupts the kernel; its step is done when the kernel is idle again."""
        call = self.call
        if call.reason:
            return
        call.reason = reason
        if not self.form.is_busy:
            self.answer_stopped("The kernel had not started." if not self.form.is_up else "")
            return
        self.form.interrupt()
        call.again_at, call.kill_at = now + AGAIN_S, now + KILL_S

    def look_at_clock(self, now):
        call = self.call
        if not self.form.is_up and not self.start_error and now >= self.form.start_deadline:
            self.form.why_killed = f"because it had not begun after {START_S:.0f} seconds"
            process.signal_group(self.form.pid, signal.SIGKILL)
            self.form.start_deadline = now + START_S
        if not call:
            return
        if not call.reason:
            if now >= call.deadline:
                self.stop("timeout", now)
        elif now >= call.kill_at:
            self.new_form(now, is_replacement=True)
            self.answer_stopped(f"The kernel did not stop when it was interrupted. {NEW_KERNEL}")
        elif call.again_at and now >= call.again_at:
            call.again_at = None
            self.form.interrupt()

    def look_at_kernel(self, now):
        """Finds out whether the kernel has ended."""
        how = process.reap(self.form.pid, self.form.why_killed) if self.form.pid else None
        if how is None:
            return
        was_up = self.form.is_up
        for event in self.form.last_events(now):
            self.take_event(event)
        self.form.pid = None
        if not was_up:
            self.start_failed(how, now)
        else:
            self.kernel_ended(how, now)

    def kernel_ended(self, how, now):
        call = self.call
        if not call or call.steps is None or not self.form.is_busy:
            self.previous_end = how
        elif call.reason:
            self.answer_stopped(f"The kernel ended {how}. {NEW_KERNEL}")
        else:
            content = call.cell.content()
            self.answer(f"{content}{content and chr(10)}[The kernel ended {how} while the cell ran. {NEW_KERNEL}]",
                        call.cell.pictures)
        self.new_form(now, is_replacement=True)

    def start_failed(self, how, now):
        """A kernel that never began: Python's own interpreter is there for the first start, and
        a later call tries it once more."""
        why = wire.printable(f"the kernel could not be started; it ended {how}{self.form.last_words()}")
        if not self.has_been_ready and self.choice.fall_back(why):
            self.new_form(now, is_replacement=False)
        elif not self.has_been_ready:
            self.wire.send({"failed": why})
            raise SystemExit(1)
        else:
            self.start_error = why
            if self.call:
                self.wire.send({"call": self.call.number, "error": why})
                self.call = None
