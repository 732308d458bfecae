"""Processes in a sandbox, for threads.

If descriptors can be passed, the process has pipes to this client, and slow reading loses
nothing: the process waits.  Otherwise, through `hutch connect` and for an attached process, the
supervisor sends the output; it waits for no client longer than a second, and lost output is
counted in `dropped`.
"""
from __future__ import annotations

import contextlib
import io
import os
import selectors
from typing import (Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple,
                    Union, cast)

from . import calls
from .calls import Call
from .errors import HutchError, InvalidError, KINDS, LimitError, TimeoutError
from .fields import Object
from .link import Link
from .protocol import Held, Running
from .records import Completed, Exit
from .tar import PIECE, nowhere, pieces

COMPLAINTS_MAX = 1 << 16
OUTPUT_MAX = 64 << 20


class _Told(io.RawIOBase):
    """The output of a process as the supervisor sends it."""

    def __init__(self, link: Link, running: Running, stream: str) -> None:
        self._link, self._running, self._held = link, running, running.streams[stream]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        held = self._held
        self._link.wait(lambda: bool(held.size or held.is_over), self._running, None)
        data = self._link.taking(lambda: held.take(len(buffer)))
        buffer[:len(data)] = data
        if not data and self._running.error is not None:
            raise self._running.error
        return len(data)


class _Typed(io.RawIOBase):
    """The input of a process, written with exec.write: each piece when there is room."""

    def __init__(self, link: Link, number: int) -> None:
        self._link, self._number = link, number

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Writes all bytes, as programs expect of a pipe."""
        view = memoryview(data).cast("B")
        for piece in pieces(view):
            self._link.call(calls.write(self._number, bytes(piece), False))
        return len(view)

    def __del__(self) -> None:
        """Sends nothing, since this may run in the middle of any other code."""

    def close(self) -> None:
        if not self.closed:
            super().close()
            with contextlib.suppress(HutchError):  # stdin is closed if the process has ended
                self._link.call(calls.write(self._number, b"", True))


class _Piped(io.FileIO):
    """The input of a process through a pipe; writes all bytes, even if a signal interrupts a
    write."""

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        length = len(view)
        while view:
            view = view[super().write(view) or 0:]
        return length


class Process:
    """A process that was started with popen(), or that this client has attached to."""

    def __init__(self, link: Link, running: Running, ends: Optional[Dict[str, BinaryIO]],
                 has_stdin: bool) -> None:
        self._link, self._running = link, running
        self.owner: object = None
        """Whose link it is, and who would close that if nobody held it."""
        self.number, self.pid = running.number, running.pid
        if ends is None:
            ends = {name: io.BufferedReader(_Told(link, running, name))
                    for name in ("stdout", "stderr")}
            if has_stdin:
                ends["stdin"] = _Typed(link, running.number)  # type: ignore[assignment]
            self._is_piped = False
        else:
            self._is_piped = True
        self.stdin: Optional[BinaryIO] = ends.get("stdin")
        self.stdout: BinaryIO = ends["stdout"]
        self.stderr: BinaryIO = ends["stderr"]

    @property
    def dropped(self) -> int:
        """How many bytes of output were dropped because they were not read in time."""
        return sum(held.dropped for held in self._running.streams.values())

    def poll(self) -> Optional[Exit]:
        """How the process ended, or None if that is not known yet; does not wait."""
        with contextlib.suppress(HutchError):
            self._link.wait(lambda: self._running.is_done, self._running, 0)
        return self._running.exit

    def wait(self, timeout: Optional[float] = None) -> Exit:
        """Waits for the end and says how the process ended.  If it prints more than a pipe
        holds, it ends only if its output is read."""
        if not self._link.wait(lambda: self._running.is_done, self._running, timeout):
            raise TimeoutError(f"process {self.number} has not ended within {timeout:g} s")
        if self._running.exit is None:
            raise self._running.error or InvalidError("no end")
        return self._running.exit

    def signal(self, name: Union[str, int]) -> None:
        """Sends a signal to the process group: "TERM", "SIGTERM", or a number."""
        self._link.call(calls.signal(self.number, int(name) if isinstance(name, int) else name))

    def terminate(self) -> None:
        self.signal("TERM")

    def kill(self) -> None:
        self.signal("KILL")

    def resize(self, rows: int, cols: int) -> None:
        self._link.call(calls.resize(self.number, rows, cols))

    def communicate(self, input: Optional[bytes] = None, max_output: int = OUTPUT_MAX) -> Completed:
        """Writes all of the input, reads all of the output, and waits."""
        out, err = _Sink(self, max_output), _Sink(self, max_output)
        ended = self._carry(() if input is None else pieces(input),
                            {"stdout": out.put, "stderr": err.put})
        self.check_dropped()
        return Completed(ended, out.bytes(), err.bytes())

    def check_dropped(self) -> None:
        if self.dropped:
            raise LimitError(f"process {self.number}: {self.dropped} bytes of its output "
                             "were lost, since they were read too slowly")

    def close(self) -> None:
        """Closes this side of the pipes.  If the process prints later, it gets EPIPE."""
        for end in (self.stdin, self.stdout, self.stderr):
            if end is not None:
                with contextlib.suppress(OSError, HutchError):
                    end.close()
        self._link.drop(self._running)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.stdin is not None:
            with contextlib.suppress(OSError, HutchError):
                self.stdin.close()
        try:
            if exc[0] is None:
                self._carry((), {"stdout": nowhere, "stderr": nowhere})
        finally:
            self.close()

    # --- carrying: stdin, stdout and stderr at once ---

    def _carry(self, source: Iterable[bytes], sinks: Dict[str, Callable[[bytes], None]]) -> Exit:
        """Carries the streams until the process has ended, without later output of processes
        that it left in the background.  An exception of a sink ends the process."""
        try:
            if self._is_piped:
                self._carry_pipes(iter(source), sinks)
            else:
                self._carry_told(iter(source), sinks)
            return self.wait()
        except BaseException:
            with contextlib.suppress(HutchError):
                self.kill()
            self.close()
            raise

    def _carry_pipes(self, source: Iterator[bytes], sinks: Dict[str, Callable[[bytes], None]]) -> None:
        piece = b""
        with selectors.DefaultSelector() as selector, self._link.noticing(self._running) as bell:
            for fd in bell.fds:
                selector.register(fd, selectors.EVENT_READ, bell)
            for name in sinks:
                end = getattr(self, name)
                if not end.closed:
                    os.set_blocking(end.fileno(), False)
                    selector.register(end, selectors.EVENT_READ, sinks[name])
            if self.stdin is not None and not self.stdin.closed:
                os.set_blocking(self.stdin.fileno(), False)
                selector.register(self.stdin, selectors.EVENT_WRITE)
            has_ended = False
            while len(selector.get_map()) > len(bell.fds) and not has_ended:
                for key, _ in selector.select():
                    if key.data is bell:
                        bell.hush()
                        self.poll()
                        has_ended = self._running.is_done
                    elif key.data is None:
                        end = cast(BinaryIO, key.fileobj)
                        piece = self._feed(selector, end, piece or next(source, b""))
                    elif not self._read(key):
                        selector.unregister(key.fileobj)
            for key in list(selector.get_map().values()):
                while key.data is not bell and key.data is not None and self._read(key):
                    pass

    def _read(self, key: selectors.SelectorKey) -> bool:
        """Reads a piece; False: the stream has ended, or nothing is there now."""
        data = cast(io.BufferedReader, key.fileobj).read1(PIECE)
        if data:
            key.data(data)
        return bool(data)

    def _feed(self, selector: selectors.BaseSelector, end: BinaryIO, piece: bytes) -> bytes:
        """Writes the piece and gives the rest of it; after the last piece the end is closed."""
        try:
            if piece:
                return piece[os.write(end.fileno(), piece):]
        except BlockingIOError:
            return piece
        except BrokenPipeError:
            pass
        selector.unregister(end)
        end.close()
        return b""

    def _carry_told(self, source: Iterator[bytes], sinks: Dict[str, Callable[[bytes], None]]) -> None:
        running, link, writing = self._running, self._link, None
        streams = [(held, sinks[name]) for name, held in running.streams.items()]
        is_fed = self.stdin is None or self.stdin.closed
        while True:
            if not is_fed and writing is None:
                piece = next(source, b"")
                writing = link.send(calls.write(self.number, piece, not piece))
                writing.wake, is_fed = running.tell, not piece
            here = writing
            link.wait(lambda: running.is_done or any(held.size for held, _ in streams)
                      or (here is not None and here.is_done), running, None)
            for held, sink in streams:
                data = link.taking(held.take)
                if data:
                    sink(data)
            if writing is not None and writing.is_done:
                is_fed, writing = is_fed or writing.error is not None, None
            if running.is_done and not any(held.size for held, _ in streams):
                return


class _Sink:
    """Collects output up to a bound."""

    def __init__(self, process: Process, most: int) -> None:
        self._process, self._left = process, most
        self._pieces: List[bytes] = []

    def put(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise LimitError(f"process {self._process.number} has printed more than max_output",
                             remedy="popen() reads it as it comes; a file inside holds it, too")
        self._pieces.append(data)

    def bytes(self) -> bytes:
        return b"".join(self._pieces)


def start(link: Link, call: Call[Object], has_stdin: bool, is_told: bool) -> Process:
    """Starts a process with pipes, or with its output as notifications where that is required
    or no descriptor can be passed."""
    if is_told or not link.passes_descriptors:
        if has_stdin and call.method == "exec.start":
            call.params["stdin"] = True
        return Process(link, _running(link, call, ()), None, has_stdin)
    theirs: List[int] = []
    ours: Dict[str, BinaryIO] = {}
    try:
        for name in ("stdin", "stdout", "stderr"):
            if name == "stdin" and not has_stdin:
                theirs.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
                continue
            r, w = os.pipe2(os.O_CLOEXEC)
            theirs.append(r if name == "stdin" else w)
            ours[name] = cast(BinaryIO, _Piped(w, "wb") if name == "stdin" else os.fdopen(r, "rb"))
        return Process(link, _running(link, call, theirs), ours, has_stdin)
    except BaseException:
        for end in ours.values():
            end.close()
        raise
    finally:
        for fd in theirs:
            os.close(fd)


def _running(link: Link, call: Call[Object], fds: Sequence[int]) -> Running:
    waiter = link.send(call, fds)
    try:
        call.parse(link.result(waiter, call.patience))
        if waiter.running is None:
            raise InvalidError(f"{call.method} starts nothing")
        return waiter.running
    except BaseException:
        link.forget(waiter)
        raise


def attach(link: Link, number: int) -> Process:
    running = _running(link, calls.attach(number), ())
    link.send(calls.wait(number), (), running)
    return Process(link, running, None, False)


def copy(link: Link, call: Call[Object], source: Optional[Iterable[bytes]],
         sink: Callable[[bytes], None]) -> Tuple[str, ...]:
    """Carries a tar; gives the sentences about files that were left out."""
    said: List[bytes] = []

    def complain(data: bytes) -> None:
        if sum(map(len, said)) < COMPLAINTS_MAX:
            said.append(data)

    process = start(link, call, source is not None, False)
    try:
        ended = process._carry(source or (), {"stdout": sink, "stderr": complain})
        process.check_dropped()
    finally:
        process.close()
    sentences = tuple(b"".join(said).decode("utf-8", "replace").splitlines())
    if ended.exit_code or ended.error:
        raise copy_error(call, ended, sentences)
    return sentences


def copy_error(call: Call[Object], ended: Exit, sentences: Sequence[str]) -> HutchError:
    kind = ended.error or "internal"
    what = "; ".join(sentences[-3:]) or (
        "it was cut off" if kind == "disconnected" else f"it ended with code {ended.exit_code}")
    return KINDS.get(kind, HutchError)(f"{call.method} {call.params['path']}: {what}", kind=kind)


__all__ = ["Held", "Process"]
