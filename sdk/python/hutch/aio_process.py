"""Processes in a sandbox, for asyncio; process.py is the same for threads."""
from __future__ import annotations

import asyncio
import contextlib
import os
import warnings
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import calls
from .aio_link import AsyncLink
from .calls import Call
from .errors import DisconnectedError, HutchError, InvalidError, LimitError, TimeoutError
from .fields import Object
from .process import COMPLAINTS_MAX, OUTPUT_MAX, copy_error
from .protocol import Running
from .records import Completed, Exit
from .tar import PIECE, nowhere, pieces

AT_ONCE = 16
"""How many pieces are read before other tasks get a turn."""


class _End:
    """An end of a pipe.  All waiting tasks go on when it is ready, or closed."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._turns: List["asyncio.Future[None]"] = []
        self._loop = asyncio.get_running_loop()

    async def be_ready(self, is_to_write: bool) -> None:
        add = self._loop.add_writer if is_to_write else self._loop.add_reader
        turn = self._loop.create_future()
        self._turns.append(turn)
        add(self.fd, self._take_turns)
        try:
            await turn
        finally:
            self._turns.remove(turn)
            if not self._turns:
                self._listen_no_more()

    def close(self) -> None:
        self._listen_no_more()
        self._take_turns()
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        """No task waits for it, since the loop would then hold it."""
        fd, self.fd = getattr(self, "fd", -1), -1
        if fd >= 0:
            warnings.warn(f"unclosed end of a pipe, descriptor {fd}", ResourceWarning, source=self)
            os.close(fd)

    def _take_turns(self) -> None:
        for turn in self._turns:
            if not turn.done():
                turn.set_result(None)

    def _listen_no_more(self) -> None:
        if self.fd >= 0 and not self._loop.is_closed():
            self._loop.remove_reader(self.fd)
            self._loop.remove_writer(self.fd)


class AsyncOutput:
    """The output of a process: read(), readline(), or `async for` over its lines."""

    def __init__(self, fd: int = -1, link: Optional[AsyncLink] = None,
                 running: Optional[Running] = None, stream: str = "") -> None:
        self._end, self._link, self._running = _End(fd), link, running
        self._held = running.streams[stream] if running else None
        self._buffer = bytearray()
        self._is_over, self._at_once = False, 0

    async def chunk(self) -> bytes:
        """The bytes that are there; b"" at the end."""
        if self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            return data
        return await self._more()

    async def read(self, most: int = -1) -> bytes:
        """Reads `most` bytes, fewer only at the end; all bytes without a number."""
        while (most < 0 or len(self._buffer) < most) and (data := await self._more()):
            self._buffer += data
        return self._cut(len(self._buffer) if most < 0 else most)

    async def readline(self) -> bytes:
        """Reads a line with its newline, which a last line may lack."""
        seen = 0
        while (end := self._buffer.find(b"\n", seen)) < 0:
            seen = len(self._buffer)
            data = await self._more()
            if not data:
                return self._cut(len(self._buffer))
            self._buffer += data
        return self._cut(end + 1)

    def __aiter__(self) -> AsyncOutput:
        return self

    async def __anext__(self) -> bytes:
        line = await self.readline()
        if not line:
            raise StopAsyncIteration
        return line

    def close(self) -> None:
        self._is_over = True
        self._end.close()

    @property
    def is_piped(self) -> bool:
        return self._held is None

    def rest(self, sink: Callable[[bytes], None]) -> None:
        """Reads the bytes that are there, after the process has ended, without waiting for
        more."""
        if self._buffer:
            sink(self._cut(len(self._buffer)))
        with contextlib.suppress(BlockingIOError):
            while self._end.fd >= 0 and (data := os.read(self._end.fd, PIECE)):
                sink(data)

    def _cut(self, most: int) -> bytes:
        data = bytes(self._buffer[:most])
        del self._buffer[:most]
        return data

    async def _more(self) -> bytes:
        if self._is_over:
            return b""
        data = await (self._told() if self._held else self._piped())
        self._is_over = self._is_over or not data
        return data

    async def _piped(self) -> bytes:
        """Reads from the pipe; other tasks get turns, even if the process prints as fast as it
        is read."""
        self._at_once += 1
        if self._at_once > AT_ONCE:
            self._at_once = 0
            await asyncio.sleep(0)
        while self._end.fd >= 0:
            try:
                return os.read(self._end.fd, PIECE)
            except BlockingIOError:
                self._at_once = 0
                await self._end.be_ready(False)
        return b""

    async def _told(self) -> bytes:
        link, running, held = self._link, self._running, self._held
        assert link and running and held
        await link.wait(lambda: bool(held.size or held.is_over), running, None)
        data = held.take()
        if not data and running.error is not None:
            raise running.error
        return data


class AsyncInput:
    """The input of a process: write(), which waits for room, and close()."""

    def __init__(self, fd: int = -1, link: Optional[AsyncLink] = None, number: int = 0) -> None:
        self._end, self._link, self._number = _End(fd), link, number
        self._is_closed = False

    async def write(self, data: bytes) -> None:
        if self._is_closed:
            raise InvalidError("this stdin was closed")
        if self._link:
            for piece in pieces(data):
                await self._link.call(calls.write(self._number, piece, False))
            return
        view = memoryview(data)
        while view and self._end.fd >= 0:
            try:
                view = view[os.write(self._end.fd, view):]
            except BlockingIOError:
                await self._end.be_ready(True)

    async def close(self) -> None:
        if self._is_closed:
            return
        self.shut()
        if self._link:
            with contextlib.suppress(HutchError):  # stdin is closed if the process has ended
                await self._link.call(calls.write(self._number, b"", True))

    def shut(self) -> None:
        self._is_closed = True
        self._end.close()


class AsyncProcess:
    """A process that was started with popen(), or that this client has attached to."""

    def __init__(self, link: AsyncLink, running: Running, stdin: Optional[AsyncInput],
                 stdout: AsyncOutput, stderr: AsyncOutput) -> None:
        self._link, self._running = link, running
        self.owner: object = None
        """Whose link it is, and who would close that if nobody held it."""
        self.number, self.pid = running.number, running.pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr

    @property
    def dropped(self) -> int:
        """How many bytes of output were dropped because they were not read in time."""
        return sum(held.dropped for held in self._running.streams.values())

    def poll(self) -> Optional[Exit]:
        """How the process ended, or None if that is not known yet; does not wait."""
        return self._running.exit

    async def wait(self, timeout: Optional[float] = None) -> Exit:
        """Waits for the end and says how the process ended.  If it prints more than a pipe
        holds, it ends only if its output is read."""
        if not await self._link.wait(lambda: self._running.is_done, self._running, timeout):
            raise TimeoutError(f"process {self.number} has not ended within {timeout:g} s")
        if self._running.exit is None:
            raise self._running.error or InvalidError("no end")
        return self._running.exit

    async def signal(self, name: Union[str, int]) -> None:
        """Sends a signal to the process group: "TERM", "SIGTERM", or a number."""
        await self._link.call(calls.signal(self.number, int(name) if isinstance(name, int) else name))

    async def terminate(self) -> None:
        await self.signal("TERM")

    async def kill(self) -> None:
        await self.signal("KILL")

    async def resize(self, rows: int, cols: int) -> None:
        await self._link.call(calls.resize(self.number, rows, cols))

    async def communicate(self, input: Optional[bytes] = None,
                          max_output: int = OUTPUT_MAX) -> Completed:
        """Writes all of the input, reads all of the output, and waits."""
        out, err = _Sink(self, max_output), _Sink(self, max_output)
        ended = await self._carry(() if input is None else pieces(input), out.put, err.put)
        self.check_dropped()
        return Completed(ended, b"".join(out.pieces), b"".join(err.pieces))

    def check_dropped(self) -> None:
        if self.dropped:
            raise LimitError(f"process {self.number}: {self.dropped} bytes of its output "
                             "were lost, since they were read too slowly")

    def close(self) -> None:
        """Closes this side of the pipes.  If the process prints later, it gets EPIPE."""
        if self.stdin is not None:
            self.stdin.shut()
        self.stdout.close()
        self.stderr.close()
        self._link.drop(self._running)

    async def __aenter__(self) -> AsyncProcess:
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            if self.stdin is not None:
                await self.stdin.close()
            if exc[0] is None:
                await self._carry((), nowhere, nowhere)
        finally:
            self.close()

    async def _carry(self, source: Iterable[bytes], out: Callable[[bytes], None],
                     err: Callable[[bytes], None]) -> Exit:
        """Carries the streams until the process has ended, without later output of processes
        that it left in the background.  An exception of a sink ends the process."""
        works = {asyncio.ensure_future(work) for work in (
            self._feed(source), _drain(self.stdout, out), _drain(self.stderr, err))}
        end, left = asyncio.ensure_future(self.wait()), works
        try:
            while left and not end.done():
                done, left = await asyncio.wait(left | {end}, return_when=asyncio.FIRST_COMPLETED)
                left -= {end}
                for work in done - {end}:
                    work.result()
            ended = await end
            if self.stdout.is_piped:
                for error in await _cancel(left):
                    raise error
                self.stdout.rest(out)
                self.stderr.rest(err)
            else:
                await asyncio.gather(*left)
            return ended
        except BaseException:
            await _cancel(works | {end})
            with contextlib.suppress(HutchError):
                self._link.send(calls.signal(self.number, "KILL"))
            self.close()
            raise

    async def _feed(self, source: Iterable[bytes]) -> None:
        if self.stdin is None or self.stdin._is_closed:
            return
        with contextlib.suppress(BrokenPipeError, DisconnectedError):
            for piece in source:
                await self.stdin.write(piece)
        await self.stdin.close()


async def _cancel(works: "Iterable[asyncio.Future[Any]]") -> List[BaseException]:
    """Cancels the tasks, and gives the exceptions that they ended with instead."""
    for work in works:
        work.cancel()
    return [result for result in await asyncio.gather(*works, return_exceptions=True)
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError)]


async def _drain(stream: AsyncOutput, sink: Callable[[bytes], None]) -> None:
    while data := await stream.chunk():
        sink(data)


class _Sink:
    """Collects output up to a bound."""

    def __init__(self, process: AsyncProcess, most: int) -> None:
        self._process, self._left = process, most
        self.pieces: List[bytes] = []

    def put(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            raise LimitError(f"process {self._process.number} has printed more than max_output",
                             remedy="popen() reads it as it comes; a file inside holds it, too")
        self.pieces.append(data)


async def start(link: AsyncLink, call: Call[Object], has_stdin: bool, is_told: bool) -> AsyncProcess:
    """Starts a process with pipes, or with its output as notifications where that is required
    or no descriptor can be passed."""
    if is_told or not link.passes_descriptors:
        if has_stdin and call.method == "exec.start":
            call.params["stdin"] = True
        return _told(link, await _running(link, call, ()), has_stdin)
    theirs: List[int] = []
    ours: Dict[str, int] = {}
    try:
        for name in ("stdin", "stdout", "stderr"):
            if name == "stdin" and not has_stdin:
                theirs.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
                continue
            r, w = os.pipe2(os.O_CLOEXEC)
            theirs.append(r if name == "stdin" else w)
            ours[name] = w if name == "stdin" else r
            os.set_blocking(ours[name], False)
        running = await _running(link, call, theirs)
    except BaseException:
        for fd in ours.values():
            os.close(fd)
        raise
    finally:
        for fd in theirs:
            os.close(fd)
    return AsyncProcess(link, running, AsyncInput(ours["stdin"]) if has_stdin else None,
                        AsyncOutput(ours["stdout"]), AsyncOutput(ours["stderr"]))


def _told(link: AsyncLink, running: Running, has_stdin: bool) -> AsyncProcess:
    out, err = (AsyncOutput(-1, link, running, name) for name in ("stdout", "stderr"))
    return AsyncProcess(link, running, AsyncInput(-1, link, running.number) if has_stdin else None,
                        out, err)


async def _running(link: AsyncLink, call: Call[Object], fds: Sequence[int]) -> Running:
    waiter = link.send(call, fds)
    try:
        call.parse(await link.result(waiter, call.patience))
        if waiter.running is None:
            raise InvalidError(f"{call.method} starts nothing")
        return waiter.running
    except BaseException:
        link.forget(waiter)
        raise


async def attach(link: AsyncLink, number: int) -> AsyncProcess:
    running = await _running(link, calls.attach(number), ())
    link.send(calls.wait(number), (), running)
    return _told(link, running, False)


async def copy(link: AsyncLink, call: Call[Object], source: Optional[Iterable[bytes]],
               sink: Callable[[bytes], Any]) -> Tuple[str, ...]:
    """Carries a tar; gives the sentences about files that were left out."""
    said: List[bytes] = []

    def complain(data: bytes) -> None:
        if sum(map(len, said)) < COMPLAINTS_MAX:
            said.append(data)

    process = await start(link, call, source is not None, False)
    try:
        ended = await process._carry(source or (), sink, complain)
        process.check_dropped()
    finally:
        process.close()
    sentences = tuple(b"".join(said).decode("utf-8", "replace").splitlines())
    if ended.exit_code or ended.error:
        raise copy_error(call, ended, sentences)
    return sentences
