"""A warm pool: sandboxes that were made ahead, each handed out once (hutch-pool(1)).

AsyncPool waits in a thread, for one line of a socket or for a program.
"""
from __future__ import annotations

import array
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import time
from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple

from . import calls, fields, flags as flag_words
from .aio import AsyncSandbox, OnStatus as AsyncOnStatus
from .errors import (KINDS, BuildError, DisconnectedError, HutchError, InvalidError,
                     ProtocolError)
from .program import Program, Words, connect_at
from .protocol import PROTOCOL, error_of
from .sandbox import OnStatus, Sandbox, new_name, note

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .flags import Flags

LINE_MAX = 1 << 16
SPACE = socket.CMSG_SPACE(4 * 4)
PATIENCE = 30.0
"""Seconds in which a live keeper answers a request that need not wait for anything."""
LATE = 2.0
"""Seconds after the time-out of a take in which the keeper may still send its error."""


# A sandbox of a pool waits for its client, so no port and no command of its own is in it.
NOT_POOL = ("publish", "main", "restart", "stop_signal", "stop_timeout", "entrypoint", "rm")


class Pool:
    """The pool is made when the `with` begins, or with start(); it ends with the `with`, or
    with close(), and also with this process, however that ends.  Sandboxes that were taken live
    on.

    `size` sandboxes are kept ready; keyword arguments are the flags of `hutch create`."""

    def __init__(self, size: int = 4, *, program: Optional[Words] = None,
                 **flags: "Unpack[Flags]") -> None:
        self.name = new_name()
        self.program = Program(program)
        self._size = size
        self._words: Optional[flag_words.Words] = flag_words.words(flags, without=NOT_POOL)
        self._lease: Optional[int] = None
        self._pid = 0

    @classmethod
    def attach(cls, name: str, *, program: Optional[Words] = None) -> Pool:
        """Attaches to a pool that `hutch pool create` has made, which lives on after the
        `with`."""
        pool = cls(program=program)
        pool.name, pool._words = name, None
        return pool

    def start(self) -> Pool:
        """Makes the pool; its first sandbox is ready then."""
        if self._words is None:
            return self
        if self._lease is not None:
            raise InvalidError(f"pool {self.name} was started already")
        self.program.check_is_local("pool")
        held, self._lease = os.pipe()
        self._pid = os.getpid()
        try:
            self._run(["create", "--size", str(self._size), "--lease", str(held), self.name,
                       *self._words.argv], self._words, [held])
        except BaseException:
            self.close()
            raise
        finally:
            os.close(held)
        return self

    def close(self) -> None:
        """Ends the pool, and the sandboxes that wait in it.  In a child of the process that
        made it, only the child's descriptor is closed."""
        try:
            if self._lease is not None and os.getpid() == self._pid:
                with contextlib.suppress(HutchError):  # closing the lease then ends it
                    self._run(["rm", "--", self.name])
        finally:
            self._let_go()

    def take(self, timeout: Optional[float] = None, *, name: Optional[str] = None,
             keep: bool = False, on_status: Optional[OnStatus] = None) -> Sandbox:
        """Takes an unused sandbox and connects to it.  If none is ready, waits for at most
        `timeout` seconds.  The sandbox ends when its handle is closed or this process ends,
        unless `keep` is set."""
        taken, opened = self._take(timeout)
        box = Sandbox(taken, program=self.program.given, on_status=on_status, keep=keep)
        box._use(opened)
        try:
            if keep:
                box._keep(calls.release(name))
            elif name is not None:
                box.rename(name)
        except BaseException:
            _end(box, keep)
            raise
        return box

    def __enter__(self) -> Pool:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- below ---

    def _let_go(self) -> None:
        """Closes the lease: the pool then ends without being waited for."""
        lease, self._lease = self._lease, None
        if lease is not None:
            os.close(lease)

    def _take(self, timeout: Optional[float]) -> Tuple[str, socket.socket]:
        if self._words is not None and self._lease is None:
            raise InvalidError(f"pool {self.name} was not started", remedy="start(), or with")
        if timeout is not None and not 0 <= timeout <= 86400:
            raise InvalidError(f"timeout: {timeout!r} is not from 0 to 86400 seconds")
        if self.program.has_socket:
            return _by_socket(self.name, timeout)
        self.program.check_is_local("pool")
        return self._by_program(timeout)

    def _by_program(self, timeout: Optional[float]) -> Tuple[str, socket.socket]:
        """Takes by the program, as root must, since root's sandboxes belong to another user."""
        bound = [] if timeout is None else ["--timeout", f"{max(timeout, 0.001):.3f}s"]
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = self._start(["take", "-d", *bound, "--", self.name], theirs.fileno())
            with process:
                try:
                    line, fds = _read_line(ours, None)
                    said = process.communicate()[1]
                except BaseException:
                    process.kill()
                    raise
        if not line:
            raise self.program.failure("pool take", process.returncode, said)
        try:
            name = _told(line)
        except BaseException:
            _close(fds)
            raise
        return name, _only(fds)

    def _start(self, words: Sequence[str], stdout: int, environ: "Optional[dict[str, str]]" = None,
               stdin: int = subprocess.DEVNULL, fds: Sequence[int] = ()
               ) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(self.program.command("pool", *words), env=environ, stdin=stdin,
                                    stdout=stdout, stderr=subprocess.PIPE, pass_fds=fds)
        except OSError as e:
            raise self.program.missing(e) from None

    def _run(self, words: Sequence[str], more: Optional[flag_words.Words] = None,
             fds: Sequence[int] = ()) -> None:
        environ, stdin = self.program.surroundings(more)
        with stdin, self._start(words, subprocess.DEVNULL, environ, stdin.fileno(), fds) as process:
            said = process.communicate()[1]
        if process.returncode:
            raise self.program.failure("pool " + words[0], process.returncode, said, BuildError)
        note(said)


class AsyncPool:
    """The same for asyncio."""

    def __init__(self, size: int = 4, *, program: Optional[Words] = None,
                 **flags: "Unpack[Flags]") -> None:
        self._pool = Pool(size, program=program, **flags)

    @classmethod
    def attach(cls, name: str, *, program: Optional[Words] = None) -> AsyncPool:
        pool = cls(program=program)
        pool._pool = Pool.attach(name, program=program)
        return pool

    @property
    def name(self) -> str:
        return self._pool.name

    async def start(self) -> AsyncPool:
        starting = asyncio.get_running_loop().run_in_executor(None, self._pool.start)
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:  # a late result is closed
            starting.add_done_callback(lambda _: self._pool._let_go())
            raise
        return self

    async def close(self) -> None:
        await _in_thread(self._pool.close)

    async def take(self, timeout: Optional[float] = None, *, name: Optional[str] = None,
                   keep: bool = False, on_status: Optional[AsyncOnStatus] = None) -> AsyncSandbox:
        taking = asyncio.get_running_loop().run_in_executor(None, self._pool._take, timeout)
        try:
            taken, opened = await asyncio.shield(taking)
        except asyncio.CancelledError:  # a late result is closed
            taking.add_done_callback(_let_go)
            raise
        box = AsyncSandbox(taken, program=self._pool.program.given, on_status=on_status, keep=keep)
        await box._use(opened)
        try:
            if keep:
                await box._keep(calls.release(name))
            elif name is not None:
                await box.rename(name)
        except BaseException:
            await _end_async(box, keep)
            raise
        return box

    async def __aenter__(self) -> AsyncPool:
        return await self.start()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def _in_thread(work):  # type: ignore[no-untyped-def]
    return await asyncio.get_running_loop().run_in_executor(None, work)


def _end(box: Sandbox, keep: bool) -> None:
    """Ends a sandbox that no caller gets.  With `keep`, it may have been released from its
    connection."""
    try:
        if keep:
            with contextlib.suppress(HutchError):
                box.kill()
    finally:
        box.close()


async def _end_async(box: AsyncSandbox, keep: bool) -> None:
    try:
        if keep:
            with contextlib.suppress(HutchError):
                await box.kill()
    finally:
        await box.close()


def _let_go(taking: "asyncio.Future[Tuple[str, socket.socket]]") -> None:
    if not taking.cancelled() and taking.exception() is None:
        taking.result()[1].close()


# --- the keeper's socket ---------------------------------------------------------------


def _by_socket(pool: str, timeout: Optional[float]) -> Tuple[str, socket.socket]:
    begin, bound = time.monotonic(), None if timeout is None else timeout + LATE
    with connect_at(f".pools/{pool}", "pool.sock", "pool", pool) as s:
        params = {} if timeout is None else {"timeout": timeout}
        s.setblocking(True)
        with contextlib.suppress(ConnectionError):  # the reason may be there to be read
            for number, (method, said) in enumerate((("hello", {"protocol": PROTOCOL}),
                                                     ("take", params))):
                s.sendall(json.dumps({"jsonrpc": "2.0", "id": number, "method": method,
                                      "params": said}).encode() + b"\n")
        _result(_read_line(s, PATIENCE if bound is None else min(bound, PATIENCE), begin), pool)
        line, fds = _read_line(s, bound, begin)
        try:
            sandbox = fields.text(fields.an_object(_result((line, fds), pool), "answer"), "sandbox")
        except BaseException:
            _close(fds)
            raise
        return sandbox, _only(fds)


def _told(line: bytes) -> str:
    """The name in the output of hutch pool take -d."""
    told = fields.an_object(_parsed(line), "output of hutch pool take")
    if told.get("error") is None:
        return fields.text(told, "sandbox")
    why = fields.an_object(told["error"], "error")
    kind = fields.text(why, "kind")
    raise KINDS.get(kind, HutchError)(fields.text(why, "message"), kind=kind,
                                      remedy=fields.text_or_none(why, "remedy"))


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError as e:
        raise ProtocolError(f"{line[:60]!r} is no JSON: {e}") from None


def _result(read: "Tuple[bytes, List[int]]", pool: str) -> object:
    if not read[0]:
        raise DisconnectedError(f"pool {pool} has ended")
    answer = fields.an_object(_parsed(read[0]), "answer")
    if "error" in answer:
        raise error_of(fields.an_object(answer["error"], "error"))
    return answer.get("result")


def _read_line(s: socket.socket, patience: Optional[float], begin: float = 0.0
               ) -> "Tuple[bytes, List[int]]":
    """Reads a line, and the descriptors that came beside it; b"": the socket was closed.  The
    patience counts from `begin`."""
    deadline = None if patience is None else begin + patience
    line, fds = b"", []  # type: bytes, List[int]
    try:
        while not line.endswith(b"\n"):
            s.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
            data, beside, _, _ = s.recvmsg(1, SPACE, socket.MSG_CMSG_CLOEXEC) if not line else (
                _peeked(s), (), 0, None)
            for _, _, part in beside:
                fds += array.array("i", part[:len(part) - len(part) % 4])
            if not data:
                raise ConnectionResetError
            line += data
            if len(line) > LINE_MAX:
                raise ProtocolError("the pool's keeper sent a line without an end")
        return line, fds
    except ConnectionError:
        _close(fds)
        return b"", []
    except socket.timeout:
        _close(fds)
        raise calls.too_late("the keeper's answer", patience) from None
    except BaseException:
        _close(fds)
        raise


def _peeked(s: socket.socket) -> bytes:
    """Peeks at the rest of the line, but not beyond, since the next line may have a descriptor."""
    seen = s.recv(4096, socket.MSG_PEEK)
    return s.recv(seen.find(b"\n") + 1 or len(seen)) if seen else b""


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def _only(fds: List[int]) -> socket.socket:
    if len(fds) != 1:
        _close(fds)
        raise ProtocolError(f"{len(fds)} descriptors came with a sandbox")
    s = socket.socket(fileno=fds[0])
    s.setblocking(False)
    return s
