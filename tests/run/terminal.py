#!/usr/bin/env -S python3 -SE
"""terminal.py STEPS COMMAND...: drives a command on a terminal of its own.

STEPS is a file, one step a line.  A step that does not come true before the
command's end is printed, with all that the terminal showed, and the exit code
is 1.

	expect REGEX		the text after the last match has it
	never REGEX		nothing that was shown so far has it
	send TEXT		types TEXT (\\n, \\x03, ... as in Python)
	resize ROWS COLS	the terminal changes its size
	signal NAME		a signal to the command
	exit CODE		the command ends with it; -9 means by signal 9
	modes same|raw		the terminal's modes are those from the start, or raw
	nonblocking yes|no	O_NONBLOCK of the description that the command got
	kill-child NAME		SIGKILL to the command's child of that name
	hangup			the terminal is gone
	gone			the command has ended, however
	do COMMAND		a shell outside of the terminal runs this
"""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE, wait_until  # noqa: E402


class Failed(Exception):
    pass


class Terminal:
    def __init__(self, command):
        self.master, self.slave = pty.openpty()
        self.resize(24, 80)
        self.modes = termios.tcgetattr(self.slave)
        self.shown, self.seen = "", 0
        self.raw = b""
        self.code = None
        self.pid = os.fork()
        if self.pid == 0:
            self.be_command(command)
        self.end = os.pidfd_open(self.pid)

    def be_command(self, command):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(self.slave, fd)
        os.closerange(3, 64)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)

    def resize(self, rows, cols):
        size = struct.pack("HHHH", rows, cols, 0, 0)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)

    def is_readable(self):
        """When the command has ended, the kernel has all its output in the
        terminal: poll(2) of a terminal without data waits for output that is
        being processed (n_tty_poll)."""
        return bool(select.select([self.master], [], [], 0)[0])

    def read(self):
        """Adds the next output; returns False if the command has ended and all
        output was read."""
        if not select.select([self.master, self.end], [], [], PATIENCE)[0]:
            raise Failed("nothing is shown")
        if not self.is_readable():
            return False
        self.raw += os.read(self.master, 65536)
        self.shown = self.raw.decode("utf-8", "replace")
        return True

    def expect(self, regex):
        while not (match := re.compile(regex).search(self.shown, self.seen)):
            if not self.read():
                raise Failed("did not come: " + regex)
        self.seen = match.end()

    def exit(self, code):
        while self.read():
            pass
        self.wait_for_end()
        if self.code != code:
            raise Failed(f"ended with {self.code}")

    def wait_for_end(self):
        """Waits without a terminal to read from."""
        if not select.select([self.end], [], [], PATIENCE)[0]:
            raise Failed("did not end")
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def child(self, name):
        # /proc/PID/task/TID/children leaves out children while others of them end (proc(5)).
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == self.pid and (folder / "comm").read_text().strip() == name:
                    return int(folder.name)
        raise Failed("no such child")

    def has_modes(self, which):
        while self.is_readable():  # or the command waits for room
            self.read()
        now = termios.tcgetattr(self.slave)
        if which == "same":
            return now == self.modes
        return not now[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def is_nonblocking(self):
        return bool(fcntl.fcntl(self.slave, fcntl.F_GETFL) & os.O_NONBLOCK)

    def step(self, word, rest):
        if word == "expect":
            self.expect(rest)
        elif word == "never":
            if re.search(rest, self.shown):
                raise Failed("it was shown")
        elif word == "send":
            os.write(self.master, rest.encode().decode("unicode_escape").encode())
        elif word == "resize":
            self.resize(*map(int, rest.split()))
        elif word == "signal":
            os.kill(self.pid, getattr(signal, "SIG" + rest))
        elif word == "exit":
            self.exit(int(rest))
        elif word == "modes":
            wait_until(self.has_modes, rest)
        elif word == "nonblocking":
            if self.is_nonblocking() != (rest == "yes"):
                raise Failed("it is otherwise")
        elif word == "kill-child":
            os.kill(self.child(rest), signal.SIGKILL)
        elif word == "hangup":
            os.close(self.slave)
            os.close(self.master)
        elif word == "do":
            subprocess.run(["sh", "-c", rest], check=True, timeout=PATIENCE)
        elif word == "gone":
            self.wait_for_end()
        else:
            raise Failed("no such step")


def main():
    terminal = Terminal(sys.argv[2:])
    try:
        for line in open(sys.argv[1], encoding="utf-8"):
            word, _, rest = line.rstrip("\n").partition(" ")
            if not word:
                continue
            try:
                terminal.step(word, rest)
            except (Failed, AssertionError) as e:
                print(f"step '{line.strip()}': {e}; shown: {terminal.shown!r}")
                return 1
    finally:
        if terminal.code is None:
            try:
                os.kill(terminal.pid, signal.SIGKILL)
                os.waitpid(terminal.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
    return 0


sys.exit(main())
