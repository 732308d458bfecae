"""A sandbox, for asyncio: what sandbox.py is for threads."""
from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import socket
import subprocess
import sys
import warnings
from typing import (TYPE_CHECKING, Any, AsyncIterator, Awaitable, BinaryIO, Callable, Iterable, List,
                    Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union, cast)

from . import (actions, aio_process as processes, calls, flags as flag_words, git as git_actions,
               tar)
from .aio_link import AsyncLink
from .aio_process import AsyncProcess
from .calls import Call
from .errors import (BuildError, CallbackError, DisconnectedError, HutchError, InvalidError,
                     NotFoundError)
from .fields import Object
from .microagents import Microagent
from .observations import (EditObservation, EnvObservation, MicroagentsObservation, MoveObservation,
                           NamesObservation, Observation, PathObservation, ReadObservation,
                           RepositoryObservation, RunObservation, StatObservation, observation,
                           raise_if_not_done)
from .process import OUTPUT_MAX
from .program import Program, Words, parsed
from .records import (Ask, Change, Completed, End, Event, Info, Limits, LogEntry, Port,
                      ProcessInfo, Stats, Status)
from .sandbox import (STOP_GRACE, applied, apply_words, check_log, end_of, log_status, message_words,
                      new_name, note, said_of, status_of, whole, with_slash)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .flags import Flags, ForkFlags, StartFlags

T = TypeVar("T")
O = TypeVar("O", bound=Observation)
OnStatus = Callable[[int, Status, str], Union[None, Awaitable[None]]]
OnAsk = Callable[[Ask], Union[bool, Awaitable[bool]]]
OnOutput = Callable[[str], Union[None, Awaitable[None]]]

log = logging.getLogger("hutch")


class AsyncSandbox:
    """Made when the `async with` begins, or with start(); ended with that, or stop().

    Keyword arguments are the flags of `hutch create`.  `program` is what hutch is started
    as.  `on_status(level, status, message)` is told of each state; `on_ask(ask)` says
    whether an action may be done that a rule asks about; both may be coroutines.  `keep`:
    it lives on behind the `async with`."""

    def __init__(self, name: Optional[str] = None, *, program: Optional[Words] = None,
                 on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None,
                 keep: bool = False, **flags: "Unpack[Flags]") -> None:
        self.name = name or new_name()
        self.id: Optional[str] = None
        self.program = Program(program)
        self._words: Optional[flag_words.Words] = flag_words.words(flags)
        self._verb, self._source = "create", ()  # type: Tuple[str, Tuple[str, ...]]
        self._has_own_name = name is None
        self._on_status, self._on_ask = on_status, on_ask
        self._is_ours = not keep
        self._link: Optional[AsyncLink] = None
        self._watcher: Optional[_AsyncWatcher] = None

    # --- its life ---

    @classmethod
    async def attach(cls, name: str, *, program: Optional[Words] = None,
                     on_status: Optional[OnStatus] = None,
                     on_ask: Optional[OnAsk] = None) -> AsyncSandbox:
        """One that lives already.  The end of a `with` only closes the handle."""
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=True)
        box._words = None
        return await box.start()

    async def start(self) -> AsyncSandbox:
        """Makes it, and connects."""
        if self._link is not None:
            raise InvalidError(f"sandbox {self.name} was started already")
        is_made = False
        try:
            if self._words is not None:
                await self._tell(Status.BUILDING, f"hutch {self._verb} has begun")
                await self._program(self._verb, [*self._words.argv, "--", *self._source, self.name],
                                    self._words, BuildError)
                is_made = True
            await self._connect()
        except HutchError as e:
            await self._tell(Status.ERROR, str(e))
            if is_made:
                await self._undo()
            raise
        except BaseException:  # it may be there or not; one of another's must not be ended
            if is_made or (self._words is not None and self._has_own_name):
                await self._undo()
            raise
        return self

    async def _undo(self) -> None:
        with contextlib.suppress(HutchError):
            await self._program("kill", ["--", self.name])

    async def _use(self, opened: socket.socket) -> None:
        """A connection that a pool has handed out."""
        self._words = None
        await self._connect(opened)

    async def _keep(self, release: Call[str]) -> None:
        """It is held by that connection no more."""
        self.name = await self._ask(release)

    async def _connect(self, opened: Optional[socket.socket] = None) -> None:
        link = await AsyncLink.open(self.name, self.program, opened)
        try:
            await self._tell(Status.STARTING, "its supervisor answers")
            self.id = (await link.call(calls.info())).id
            if self._on_status:
                self._watcher = _AsyncWatcher(self)
                await self._watcher.begin()
        except BaseException:
            await link.close()
            raise
        self._link = link

    async def close(self) -> None:
        """Closes the handle; the sandbox lives on."""
        watcher, self._watcher = self._watcher, None
        try:
            if watcher:
                await watcher.close()
        finally:
            if self._link:
                await self._link.close()

    async def stop(self, grace: float = STOP_GRACE) -> None:
        """Ends it: SIGTERM to all inside, and after so many seconds the end."""
        await self._end(calls.stop(grace))

    async def kill(self) -> None:
        """Ends it at once."""
        await self._end(calls.kill())

    async def _end(self, call: Call[None]) -> None:
        with contextlib.suppress(DisconnectedError):  # the answer may not get out any more
            await self._ask(call)
        self._is_ours = False
        if self._watcher:
            await self._watcher.join()
        await self.close()

    async def _end_lost(self) -> None:
        """The connection broke, and it may live on; by now its name may be another's."""
        with contextlib.suppress(HutchError):
            link = await AsyncLink.open(self.name, self.program)
            try:
                if (await link.call(calls.info())).id == self.id:
                    await link.call(calls.kill())
            finally:
                await link.close()

    async def wait(self, timeout: Optional[float] = None) -> End:
        """Until it has ended; how."""
        if await self._known() == self.id:
            with contextlib.suppress(InvalidError):  # somebody tidies up, and has the name still
                return await self.end()
        await self._program("wait", ["--", self.name], timeout=timeout)
        return await self.end()

    async def end(self) -> End:
        """How it ended, when it has."""
        try:
            said = await self._program("inspect", ["--", self.id or self.name])
        except NotFoundError:
            raise InvalidError(f"sandbox {self.name} has not ended", remedy="wait()") from None
        return end_of(said)

    async def __aenter__(self) -> AsyncSandbox:
        return self if self._link is not None else await self.start()

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self._leave(exc[0] is None)
        finally:  # that may be interrupted
            await self.close()

    async def _leave(self, is_well: bool) -> None:
        link = self._link
        if link is not None and self._is_ours and link.is_usable:
            if is_well:
                return await self.stop()
            with contextlib.suppress(HutchError):  # what was thrown is what is told
                await self.kill()
        elif link is not None and self._is_ours and link.is_lost:
            await self._end_lost()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        link = getattr(self, "_link", None)
        if link is not None and not link.is_closed and not sys.is_finalizing():
            link.shut()
            if self._watcher:
                self._watcher.shut()
            warn(f"sandbox {self.name} was not closed", ResourceWarning, source=self)

    # --- actions: what an agent does ---

    async def act(self, action: Mapping[str, Any]) -> Observation:
        """Any action as its object, and what came of it.  An error is an observation, too."""
        action = {"client": "act", **action}
        try:
            return await self._act(action)
        except asyncio.CancelledError:
            self._take_back(action)
            raise

    def _take_back(self, action: Mapping[str, Any]) -> None:
        """Who has asked is gone.  The answer is nobody's."""
        taking_back = actions.cancel(action)
        if taking_back is not None and self._open().is_usable:
            self._open().send(calls.act(taking_back, False, False))

    async def run(self, command: str, *, session: Optional[str] = None, timeout: Optional[float] = None,
                  is_input: bool = False, blocking: bool = False, hidden: bool = False,
                  is_static: bool = False, cwd: Optional[str] = None,
                  on_output: Optional[OnOutput] = None) -> RunObservation:
        """A command for a session's shell.  `on_output` gets what it prints as it comes."""
        return await self._do(RunObservation, actions.run(
            command, session=session, timeout=timeout, is_input=is_input, blocking=blocking,
            hidden=hidden, is_static=is_static, cwd=cwd), on_output)

    async def read(self, path: str, start: Optional[int] = None, end: Optional[int] = None, *,
                   session: Optional[str] = None) -> str:
        """A file's text, or its lines from `start` to before `end`."""
        return (await self._do(ReadObservation, actions.read(path, start, end, session))).content

    async def view(self, path: str, view_range: Optional[Sequence[int]] = None, *,
                   session: Optional[str] = None) -> str:
        """A file, or a folder, as an agent's editor shows it."""
        return (await self._do(ReadObservation, actions.view(path, view_range, session))).content

    async def write(self, path: str, content: str, start: Optional[int] = None,
                    end: Optional[int] = None, *, session: Optional[str] = None) -> PathObservation:
        """Lines into a file; each gets its newline."""
        return await self._do(PathObservation, actions.write(path, content, start, end, session))

    async def edit(self, path: str, old: str, new: str = "", *,
                   session: Optional[str] = None) -> EditObservation:
        """Replaces what is there exactly once."""
        return await self._do(EditObservation, actions.edit(path, "str_replace", old_str=old,
                                                            new_str=new, session=session))

    async def insert(self, path: str, line: int, text: str, *,
                     session: Optional[str] = None) -> EditObservation:
        """Lines behind that line, of which the first is 1."""
        return await self._do(EditObservation, actions.edit(path, "insert", insert_line=line,
                                                            new_str=text, session=session))

    async def create(self, path: str, text: str, *, session: Optional[str] = None) -> EditObservation:
        """A new file, byte for byte; none may be there."""
        return await self._do(EditObservation, actions.edit(path, "create", file_text=text,
                                                            session=session))

    async def undo(self, path: str, *, session: Optional[str] = None) -> EditObservation:
        """The file as it was before the last edit or insert."""
        return await self._do(EditObservation, actions.edit(path, "undo_edit", session=session))

    async def list(self, path: str = ".", *, depth: Optional[int] = None, limit: Optional[int] = None,
                   session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Names below a folder."""
        return await self._do(NamesObservation, actions.action(
            "list", {"path": path, "depth": depth, "limit": limit}, session, timeout))

    async def glob(self, pattern: str, path: Optional[str] = None, *, limit: Optional[int] = None,
                   session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Files whose name matches."""
        return await self._do(NamesObservation, actions.action(
            "glob", {"pattern": pattern, "path": path, "limit": limit}, session, timeout))

    async def grep(self, pattern: str, path: Optional[str] = None, *, include: Optional[str] = None,
                   ignore_case: Optional[bool] = None, limit: Optional[int] = None,
                   session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Lines that match, as path:number:line."""
        return await self._do(NamesObservation, actions.action(
            "grep", {"pattern": pattern, "path": path, "include": include,
                     "ignore_case": ignore_case, "limit": limit}, session, timeout))

    async def stat(self, path: str, *, session: Optional[str] = None) -> StatObservation:
        """What a path is."""
        return await self._do(StatObservation, actions.action("stat", {"path": path}, session))

    async def move(self, path: str, to: str, *, overwrite: Optional[bool] = None,
                   session: Optional[str] = None) -> MoveObservation:
        """All at once, or not at all."""
        return await self._do(MoveObservation, actions.action(
            "move", {"path": path, "to": to, "overwrite": overwrite}, session))

    async def remove(self, path: str, *, recursive: Optional[bool] = None,
                     session: Optional[str] = None) -> PathObservation:
        """A file, or a folder."""
        return await self._do(PathObservation, actions.action(
            "remove", {"path": path, "recursive": recursive}, session))

    async def mkdir(self, path: str, *, session: Optional[str] = None) -> PathObservation:
        """A folder, with those above it."""
        return await self._do(PathObservation, actions.action("mkdir", {"path": path}, session))

    async def env(self, set: Optional[Mapping[str, str]] = None, *,
                  unset: Optional[Sequence[str]] = None,
                  secret: Union[bool, Sequence[str], None] = None,
                  session: Optional[str] = None) -> EnvObservation:
        """Variables, from now on; `secret` are those whose values are hidden."""
        return await self._do(EnvObservation, actions.env(set, unset, secret, session))

    @property
    def git(self) -> git_actions.AsyncGit:
        """Clone, branch, changes, diff: of the rootfs' own git."""
        return git_actions.AsyncGit(self)

    async def setup(self, path: Optional[str] = None, *, session: Optional[str] = None,
              timeout: Optional[float] = None,
              on_output: Optional[OnOutput] = None) -> RunObservation:
        """A repository's own setup script in the session's shell, and then its git hook."""
        top = (await self.run("pwd", session=session)).content  # the script may go elsewhere
        where = os.path.join(top, path or "")
        async with self._setting_up(Status.SETTING_UP_WORKSPACE, git_actions.SCRIPT):
            done = await self._do(RunObservation, git_actions.setup_script(where, session, timeout), on_output)
        await self.git.install_hooks(where, session=session)
        return done

    async def microagents(self, path: str = ".", *, org: Optional[str] = None,
                    token: Optional[str] = None, user: Optional[str] = None,
                    session: Optional[str] = None) -> List[Microagent]:
        """A repository's instructions for agents; or those of an organisation, whose
        repository `.openhands` has the URL `org`."""
        if org is None:
            return await self._microagents(path, None, session)
        there = git_actions.org_folder()
        await self._do(RepositoryObservation, git_actions.clone(org, there, token, user, None, 1, session, None))
        try:
            return await self._microagents(there, git_actions.ORG_FOLDER, session)
        finally:
            await self.remove(there, recursive=True)

    async def _microagents(self, path: str, folder: Optional[str], session: Optional[str]) -> List[Microagent]:
        return whole(await self._do(MicroagentsObservation, git_actions.microagents(path, folder, session)))

    @contextlib.asynccontextmanager
    async def _setting_up(self, status: Status, message: str) -> AsyncIterator[None]:
        await self._tell(status, message)
        try:
            yield
        finally:
            await self._tell(Status.READY, git_actions.DONE)

    async def _do(self, kind: Type[O], action: Object,
                  on_output: Optional[OnOutput] = None) -> O:
        o = await self._act(action, on_output)
        raise_if_not_done(o)
        if not isinstance(o, kind):
            raise HutchError(f"{action['action']} was answered by a {o.observation} observation")
        return o

    async def _act(self, action: Mapping[str, Any],
                   on_output: Optional[OnOutput] = None) -> Observation:
        call = calls.act(action, on_output is not None, self._on_ask is not None)
        if on_output is None and self._on_ask is None:
            answer = await self._ask(call)
            return observation(answer)
        return await self._act_with_callbacks(call, on_output)

    async def _act_with_callbacks(self, call: Call[Object],
                                  on_output: Optional[OnOutput]) -> Observation:
        """Callbacks are called here, by the task that has asked."""
        link, thrown = self._open(), None
        waiter = link.send(call)
        try:
            while True:
                await link.wait(lambda: bool(waiter.notices) or waiter.is_done, waiter, None)
                notice = waiter.take()
                if notice is None:
                    break
                try:
                    await self._notice(notice, on_output if thrown is None else None)
                except Exception as e:
                    thrown = thrown or e
        except BaseException:
            link.forget(waiter)
            raise
        o = observation(call.parse(await link.result(waiter, None)))
        if thrown is not None:
            error = CallbackError(f"a callback of {call.params['action']['action']} has thrown "
                                  f"{type(thrown).__name__}: {thrown}")
            error.observation = o
            raise error from thrown
        return o

    async def _notice(self, notice: Object, on_output: Optional[OnOutput]) -> None:
        if "ask" not in notice:
            if on_output:
                await _whatever(on_output(said_of(notice)))
            return
        ask, is_allowed = Ask.parse(notice), False
        try:
            is_allowed = self._on_ask is not None and await _whatever(self._on_ask(ask)) is True
        finally:
            self._open().send(calls.act(actions.confirm(ask.ask, is_allowed), False, False))

    # --- processes ---

    async def exec(self, argv: Sequence[str], *, input: Optional[bytes] = None,
                   env: Optional[Mapping[str, str]] = None, secret: Optional[Sequence[str]] = None,
                   cwd: Optional[str] = None, user: Optional[str] = None,
                   timeout: Optional[float] = None,
                   max_output: int = OUTPUT_MAX) -> Completed:
        """Runs a program, not a shell's command, to its end."""
        call = calls.start(argv, env=env, secret=secret, cwd=cwd, user=user, timeout=timeout)
        process = await processes.start(self._open(), call, input is not None, False)
        try:
            return await process.communicate(input, max_output)
        finally:
            process.close()

    async def popen(self, argv: Sequence[str], *, stdin: bool = False, tty: bool = False,
                    rows: Optional[int] = None, cols: Optional[int] = None,
                    env: Optional[Mapping[str, str]] = None, secret: Optional[Sequence[str]] = None,
                    cwd: Optional[str] = None, user: Optional[str] = None,
                    timeout: Optional[float] = None, detach: bool = False) -> AsyncProcess:
        """Starts a program; its streams are files.  A detached one lives on without us, and
        what it prints is in logs()."""
        call = calls.start(argv, env=env, secret=secret, cwd=cwd, user=user, timeout=timeout,
                           tty=tty, rows=rows, cols=cols, detach=detach)
        started = await processes.start(self._open(), call, stdin, detach)
        started.owner = self
        return started

    async def process(self, number: int) -> AsyncProcess:
        """One that somebody else has started, with all that is kept of its output."""
        attached = await processes.attach(self._open(), number)
        attached.owner = self
        return attached

    async def processes(self) -> List[ProcessInfo]:
        return await self._ask(calls.processes())

    # --- files ---

    async def read_bytes(self, path: str, most: int = tar.MOST) -> bytes:
        """A file, byte for byte."""
        one = tar.OneFile(path, most)
        await self._carry(calls.copy_out(path, True), None, one.put)
        return one.data()

    async def write_bytes(self, path: str, data: bytes, mode: int = 0o644, *,
                          parents: bool = False) -> None:
        """A file, byte for byte, in place of one that is there and may be written to;
        with `parents` in folders that are made."""
        call = calls.write_file(path, tar.place(path), parents)
        with tar.folder():
            await self._carry(call, tar.pieces(tar.of_file(data, mode)), tar.nowhere)

    async def copy_out(self, path: str, file: BinaryIO, *, follow: bool = False) -> Tuple[str, ...]:
        """A file or tree as a tar.  It is the inside's word: unpack it as such.  Gives
        sentences about what was left out."""
        return await self._carry(calls.copy_out(path, follow), None,
                                 lambda data: tar.write_all(file, data))

    async def copy_in(self, file: BinaryIO, path: str, *,
                      name: Optional[str] = None) -> Tuple[str, ...]:
        """A tar, unpacked in the sandbox."""
        return await self._carry(calls.copy_in(path, name), tar.chunks(file), tar.nowhere)

    async def download(self, path: str, to: "Union[str, os.PathLike[str]]", *,
                       follow: bool = False) -> None:
        """A file or tree to this host, as `hutch cp` does it: what comes is unpacked by a
        process that can reach nothing else."""
        there = f"{await self._known()}:{path}"
        await self._copy([there, os.path.abspath(to) + with_slash(to)], follow)

    async def upload(self, path: "Union[str, os.PathLike[str]]", to: str, *,
                     follow: bool = False) -> None:
        """A file or tree of this host into the sandbox."""
        there = f"{await self._known()}:{to}"
        await self._copy([os.path.abspath(path) + with_slash(path), there], follow)

    async def _copy(self, words: Sequence[str], follow: bool) -> None:
        self.program.check_is_local("cp")
        await self._program("cp", ["--quiet", *(["--follow-link"] if follow else []), "--", *words])

    async def _carry(self, call: Call[Object], source: Optional[Iterable[bytes]],
                     sink: Callable[[bytes], None]) -> Tuple[str, ...]:
        with tar.missing():
            return await processes.copy(self._open(), call, source, sink)

    # --- what it has changed ---

    async def diff(self, *paths: str) -> List[Change]:
        """What is other than on the host."""
        words = ["--json", "--", await self._known(), *paths]
        changes = parsed("diff", await self._program("diff", words))
        return [Change.parse(one) for one in cast("List[object]", changes)]

    async def patch(self, *paths: str) -> str:
        """The same as `git diff` writes it."""
        said = await self._program("diff", ["--patch", "--", await self._known(), *paths])
        return said.decode("utf-8", "surrogateescape")

    async def apply(self, *paths: str, force: bool = False, include_protected: bool = False,
                    partial: bool = False, dry_run: bool = False) -> List[str]:
        """Does on the host what was done in folders shown with :cow: all of it or nothing,
        or what can be done of it.  Gives a line for each; NotAppliedError if something was
        not applied."""
        switches = {"--force": force, "--include-protected": include_protected,
                    "--partial": partial, "--dry-run": dry_run}
        return await self._apply(apply_words(await self._known(), paths, switches))

    async def _apply(self, words: Sequence[str]) -> List[str]:
        done = await self._run_program("apply", words, None)
        return applied(self.program, done.returncode, done.stdout, done.stderr)

    async def discard(self) -> None:
        """Throws away what was changed in such folders, when it has ended."""
        await self._program("discard", ["--", await self._known()])

    async def snapshot(self, ref: Optional[str] = None, *, message: Optional[str] = None) -> str:
        """An image of what it was made of and has written to its root; what it is called."""
        words = [*message_words(message), "--", await self._known(), *([ref] if ref else [])]
        return (await self._program("snapshot", words)).decode().strip()

    async def commit(self, ref: str, *, message: Optional[str] = None) -> str:
        """The same, with a name in place of what had it."""
        words = [*message_words(message), "--", await self._known(), ref]
        return (await self._program("commit", words)).decode().strip()

    async def fork(self, name: Optional[str] = None, *, keep: bool = False,
                   **flags: "Unpack[ForkFlags]") -> AsyncSandbox:
        """A sandbox whose root begins as this one's is now."""
        return await self.fork_of(await self._known(), name, program=self.program.given, keep=keep,
                                  on_status=self._on_status, on_ask=self._on_ask, **flags)

    @classmethod
    async def fork_of(cls, source: str, name: Optional[str] = None, *, program: Optional[Words] = None,
                      on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None,
                      keep: bool = False, **flags: "Unpack[ForkFlags]") -> AsyncSandbox:
        """A sandbox whose root begins as that sandbox, snapshot or image has it."""
        words = flag_words.words(flags, flag_words.NOT_FORK)
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=keep)
        box._words, box._verb, box._source = words, "fork", (source,)
        return await box.start()

    @classmethod
    async def restart(cls, name: str, *, program: Optional[Words] = None,
                      on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None,
                      keep: bool = False, **flags: "Unpack[StartFlags]") -> AsyncSandbox:
        """One that was made with keep_files=True and has ended, once more: with its options
        and files.  Its secrets are given again."""
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=keep)
        box._words = flag_words.words(flags, flag_words.NOT_START)
        box._verb = "start"
        return await box.start()

    # --- watching and steering ---

    async def info(self) -> Info:
        return await self._ask(calls.info())

    async def stats(self) -> Stats:
        return await self._ask(calls.stats())

    async def ports(self) -> List[Port]:
        """Those of the host that lead inside."""
        return await self._ask(calls.ports())

    async def publish(self, *ports: str) -> List[str]:
        """Has ports of the host lead inside: "8080:80", "auto:80", "PATH:80".  Gives where
        each can be reached."""
        self.program.check_is_local("port")
        said = await self._program("port", ["add", "--", await self._known(), *ports])
        return said.decode("utf-8", "surrogateescape").splitlines()

    async def unpublish(self, *hosts: str) -> None:
        """Lets nobody in there any more, and resets their connections."""
        self.program.check_is_local("port")
        await self._program("port", ["rm", "--", await self._known(), *hosts])

    async def update(self, *, memory: Union[int, str, None] = None,
                     cpus: Optional[float] = None, pids_limit: Optional[int] = None) -> Limits:
        """Changes what it may use; as the flags take it, 512 << 20 or "512m".  Gives all."""
        return await self._ask(calls.update(memory, cpus, pids_limit))

    async def pause(self) -> str:
        """Stops everything inside where it stands; by what: "cgroup", "tracing" or "signals"."""
        return await self._ask(calls.pause())

    async def unpause(self, *, force: bool = False) -> str:
        return await self._ask(calls.unpause(force))

    async def rename(self, name: str) -> None:
        await self._ask(calls.rename(name))
        self.name = name

    def events(self, since: int = 0, *, follow: bool = False,
               timeout: Optional[float] = None) -> AsyncEvents:
        """What has happened, and with `follow` what happens, until it has ended."""
        return AsyncEvents(self.name, self.program, since, follow, timeout)

    async def logs(self, *, follow: bool = False,
                   tail: Optional[int] = None) -> AsyncIterator[LogEntry]:
        """What processes without descriptors have printed."""
        link = await AsyncLink.open(self.name, self.program)
        try:
            rest = link.rest()
            waiter = link.send(calls.logs(follow, tail))
            waiter.wake = rest.tell
            while True:
                await link.wait(lambda: bool(rest.notices) or waiter.is_done, rest, None)
                notice = link.take(rest)
                if notice is not None:
                    yield LogEntry.parse(notice[1])
                elif waiter.is_done:
                    check_log(waiter)
                    return
        finally:
            await link.close()

    # --- below ---

    def _open(self) -> AsyncLink:
        if self._link is None:
            raise InvalidError(f"sandbox {self.name} was not started", remedy="start(), or with")
        return self._link

    async def _ask(self, call: Call[T]) -> T:
        return await self._open().call(call)

    async def _known(self) -> str:
        """What the program knows it by: its name while it lives, which is asked, since that
        may be another's by now; then its id."""
        try:
            self.name = (await self._ask(calls.info())).name
            return self.name
        except DisconnectedError:
            return self.id or self.name

    async def _program(self, verb: str, args: Sequence[str], words: Optional[flag_words.Words] = None,
                       made: Type[HutchError] = HutchError,
                       timeout: Optional[float] = None) -> bytes:
        done = await self._run_program(verb, args, words, timeout)
        if done.returncode:
            raise self.program.failure(verb, done.returncode, done.stderr, made)
        note(done.stderr)
        return done.stdout

    async def _run_program(self, verb: str, args: Sequence[str],
                           words: Optional[flag_words.Words], timeout: Optional[float] = None
                           ) -> "subprocess.CompletedProcess[bytes]":
        environ, stdin = self.program.surroundings(words)
        with stdin:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self.program.command(verb, *args), env=environ, stdin=stdin,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            except OSError as e:
                raise self.program.missing(e) from None
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout)
        except asyncio.TimeoutError:
            await _end_program(process)
            raise calls.too_late("the end", timeout) from None
        except BaseException:
            await _end_program(process)
            raise
        return subprocess.CompletedProcess((), process.returncode or 0, out, err)

    async def _tell(self, status: Status, message: str) -> None:
        await _tell_status(self._on_status, self.name, status, message)


class AsyncEvents:
    """What happens in a sandbox: `async for`, or await next() one by one; close() it, or
    use `async with`.  Over a connection of its own, which begins with the first."""

    def __init__(self, name: str, program: Program, since: int = 0, follow: bool = False,
                 timeout: Optional[float] = None) -> None:
        self._name, self._program, self._since = name, program, since
        self._timeout, self._follows, self._kept = timeout, follow, 0
        self._link: Optional[AsyncLink] = None

    async def open(self) -> AsyncEvents:
        if self._link is None:
            self._link = await AsyncLink.open(self._name, self._program)
            try:
                self._rest = self._link.rest()
                after = await self._link.call(calls.events(self._since))
            except BaseException:
                await self._link.close()
                raise
            self._kept = after if after > self._since else 0
        return self

    def __aiter__(self) -> AsyncEvents:
        return self

    async def __anext__(self) -> Event:
        event = await self.next(self._timeout)
        if event is None:
            raise StopAsyncIteration
        return event

    async def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next one; None: there is no more.  The end of the sandbox is an event, so
        DisconnectedError means that its supervisor is gone."""
        await self.open()
        assert self._link is not None
        rest = self._rest
        while self._follows or self._kept > 0:
            if not await self._link.wait(lambda: bool(rest.notices), rest, timeout):
                raise calls.too_late("an event", timeout)
            method, params = self._link.take(rest)
            if method == "event":
                event = Event.parse(params)
                self._kept = 0 if event.n is not None and event.n + 1 >= self._kept else self._kept
                self._follows = self._follows and event.event != "ended"
                return event
        await self.close()
        return None

    @property
    def has_kept(self) -> bool:
        """Whether of what had happened before something is still to come."""
        return self._kept > 0

    async def close(self) -> None:
        if self._link:
            await self._link.close()

    def _shut(self) -> None:
        if self._link:
            self._link.shut()

    async def __aenter__(self) -> AsyncEvents:
        return await self.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        """The event loop holds the link, which reads, and nobody but us knows of it."""
        link = getattr(self, "_link", None)
        if link is not None and not link.is_closed and not sys.is_finalizing():
            link.shut()
            warn(f"events of sandbox {self._name} were not closed", ResourceWarning, source=self)


class _AsyncWatcher:
    """Tells on_status what becomes of a sandbox, from a task of its own."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._name, self._on_status = box.name, box._on_status
        self._events = AsyncEvents(box.name, box.program, 0, True)
        self._task: Optional["asyncio.Task[None]"] = None
        self._is_closing = False

    async def begin(self) -> None:
        """What has happened up to now is told by who asks."""
        try:
            await self._events.open()
            while self._events.has_kept:
                await self._tell(await self._events.next())
        except BaseException:
            await self._events.close()
            raise
        self._task = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        try:
            async for event in self._events:
                await self._tell(event)
        except HutchError as e:
            if not self._is_closing:
                await _tell_status(self._on_status, self._name, Status.DISCONNECTED, str(e))
        finally:
            await self._events.close()

    async def _tell(self, event: Optional[Event]) -> None:
        told = status_of(self._name, event) if event else None
        if told:
            await _tell_status(self._on_status, self._name, *told)

    async def join(self) -> None:
        """Until the end has been told, after a stop."""
        if self._task and self._task is not asyncio.current_task():
            await asyncio.wait({self._task}, timeout=calls.PATIENCE)

    def shut(self) -> None:
        """All of close() that has not to be waited for."""
        self._is_closing = True
        self._events._shut()

    async def close(self) -> None:
        self._is_closing = True
        await self._events.close()
        await self.join()


async def _end_program(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def _whatever(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _tell_status(on_status: Optional[OnStatus], name: str, status: Status,
                       message: str) -> None:
    level = log_status(name, status, message)
    if on_status:
        try:
            await _whatever(on_status(level, status, message))
        except Exception:
            log.exception("%s: on_status has thrown at %s", name, status.value)
