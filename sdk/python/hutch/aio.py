"""A sandbox, for asyncio; sandbox.py is the same for threads."""
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
               net as net_rules, tar)
from .aio_link import AsyncLink
from .aio_process import AsyncProcess
from .calls import Call
from .errors import (BuildError, CallbackError, DisconnectedError, HutchError, InvalidError,
                     NotFoundError)
from .fields import Object
from .microagents import Microagent
from .notices import AsyncNotices, EventKind
from .observations import (BrowserObservation, EditObservation, EnvObservation, IPythonObservation,
                           MicroagentsObservation, MoveObservation, NamesObservation, Observation,
                           PathObservation, ReadObservation, RepositoryObservation, RunObservation,
                           StatObservation, observation, raise_if_not_done)
from .process import OUTPUT_MAX
from .program import Program, Words, parsed
from .records import (Ask, Change, Completed, End, Event, Info, Limits, LogEntry, Port,
                      ProcessInfo, Stats, Status)
from .sandbox import (STOP_GRACE, applied, apply_words, check_log, end_of, log_status, made_words, message_words,
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
    """The sandbox is made when the `async with` begins, or with start(); it ends with the
    `async with`, or with stop().

    Keyword arguments are the flags of `hutch create`.  `program` is the command that starts
    hutch.  `on_status(level, status, message)` is called for each new state; `on_ask(ask)`
    decides whether an action may be done that a rule asks about; both may be coroutines.
    `keep`: the sandbox lives on after the `async with`."""

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
        """Connects to a sandbox that lives already.  The end of a `with` only closes the
        handle."""
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=True)
        box._words = None
        return await box.start()

    async def start(self) -> AsyncSandbox:
        """Makes the sandbox, and connects to it."""
        if self._link is not None:
            raise InvalidError(f"sandbox {self.name} was started already")
        is_made = False
        try:
            if self._words is not None:
                await self._tell(Status.BUILDING, f"hutch {self._verb} has begun")
                await self._program(
                    self._verb, [*self._words.argv,
                                 *made_words(self._verb, self._source, self.name, self._words.command)],
                    self._words, BuildError)
                is_made = True
            await self._connect()
        except HutchError as e:
            await self._tell(Status.ERROR, str(e))
            if is_made:
                await self._undo()
            raise
        except BaseException:  # end it only if it is surely this one
            if is_made or (self._words is not None and self._has_own_name):
                await self._undo()
            raise
        return self

    async def _undo(self) -> None:
        with contextlib.suppress(HutchError):
            await self._program("kill", ["--", self.name])

    async def _use(self, opened: socket.socket) -> None:
        """Uses a connection that a pool has handed out."""
        self._words = None
        await self._connect(opened)

    async def _keep(self, release: Call[str]) -> None:
        """Releases the sandbox, so that it does not end with that connection."""
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
        """Ends the sandbox: sends SIGTERM to everything inside, and ends it after at most
        `grace` seconds."""
        await self._end(calls.stop(grace))

    async def kill(self) -> None:
        """Ends the sandbox at once."""
        await self._end(calls.kill())

    async def _end(self, call: Call[None]) -> None:
        with contextlib.suppress(DisconnectedError):  # the sandbox may end before it has answered
            await self._ask(call)
        self._is_ours = False
        if self._watcher:
            await self._watcher.join()
        await self.close()

    async def _end_lost(self) -> None:
        """Ends the sandbox after its connection broke, by id: by now, another sandbox may have
        its name."""
        with contextlib.suppress(HutchError):
            link = await AsyncLink.open(self.name, self.program)
            try:
                if (await link.call(calls.info())).id == self.id:
                    await link.call(calls.kill())
            finally:
                await link.close()

    async def wait(self, timeout: Optional[float] = None) -> End:
        """Waits until the sandbox has ended, and says how."""
        if await self._known() == self.id:
            with contextlib.suppress(InvalidError):  # the name is still held by its clean-up
                return await self.end()
        await self._program("wait", ["--", self.name], timeout=timeout)
        return await self.end()

    async def end(self) -> End:
        """Says how the sandbox has ended."""
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
        finally:  # stopping may be interrupted
            await self.close()

    async def _leave(self, is_well: bool) -> None:
        link = self._link
        if link is not None and self._is_ours and link.is_usable:
            if is_well:
                return await self.stop()
            with contextlib.suppress(HutchError):  # report the first exception
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
        """Sends any action as a JSON object, and gives its observation.  An error is an
        observation, too."""
        action = {"client": "act", **action}
        try:
            return await self._act(action)
        except asyncio.CancelledError:
            self._take_back(action)
            raise

    def _take_back(self, action: Mapping[str, Any]) -> None:
        """Cancels an action whose caller does not wait any more."""
        taking_back = actions.cancel(action)
        if taking_back is not None and self._open().is_usable:
            self._open().send(calls.act(taking_back, False, False))

    async def run(self, command: str, *, session: Optional[str] = None, timeout: Optional[float] = None,
                  is_input: bool = False, blocking: bool = False, hidden: bool = False,
                  is_static: bool = False, cwd: Optional[str] = None,
                  on_output: Optional[OnOutput] = None) -> RunObservation:
        """Runs a command in a session's shell.  `on_output` gets its output as it comes."""
        return await self._do(RunObservation, actions.run(
            command, session=session, timeout=timeout, is_input=is_input, blocking=blocking,
            hidden=hidden, is_static=is_static, cwd=cwd), on_output)

    async def ipython(self, code: str, *, session: Optional[str] = None,
                      timeout: Optional[float] = None,
                      on_output: Optional[OnOutput] = None) -> IPythonObservation:
        """Runs a cell in the kernel of the plugin `jupyter`, which the sandbox must have."""
        return await self._do(IPythonObservation, actions.ipython(
            code, session=session, timeout=timeout), on_output)

    async def browse(self, url: str, *, session: Optional[str] = None,
                     timeout: Optional[float] = None) -> BrowserObservation:
        """Opens a page in the browser of the plugin `browser`, which the sandbox must have."""
        return await self._do(BrowserObservation, actions.browse(url, session=session, timeout=timeout))

    async def browse_interactive(self, browser_actions: str, *, session: Optional[str] = None,
                                 timeout: Optional[float] = None) -> BrowserObservation:
        """Does browser actions, such as `click('12')`, in that browser."""
        return await self._do(BrowserObservation, actions.browse_interactive(
            browser_actions, session=session, timeout=timeout))

    async def read(self, path: str, start: Optional[int] = None, end: Optional[int] = None, *,
                   session: Optional[str] = None) -> str:
        """Reads a file's text, or its lines from `start` to before `end`."""
        return (await self._do(ReadObservation, actions.read(path, start, end, session))).content

    async def view(self, path: str, view_range: Optional[Sequence[int]] = None, *,
                   session: Optional[str] = None) -> str:
        """Shows a file or a folder in the way of an agent's editor."""
        return (await self._do(ReadObservation, actions.view(path, view_range, session))).content

    async def write(self, path: str, content: str, start: Optional[int] = None,
                    end: Optional[int] = None, *, session: Optional[str] = None) -> PathObservation:
        """Writes lines into a file; each gets its newline."""
        return await self._do(PathObservation, actions.write(path, content, start, end, session))

    async def edit(self, path: str, old: str, new: str = "", *,
                   session: Optional[str] = None) -> EditObservation:
        """Replaces a text that occurs exactly once."""
        return await self._do(EditObservation, actions.edit(path, "str_replace", old_str=old,
                                                            new_str=new, session=session))

    async def insert(self, path: str, line: int, text: str, *,
                     session: Optional[str] = None) -> EditObservation:
        """Inserts lines behind line number `line`, counted from 1."""
        return await self._do(EditObservation, actions.edit(path, "insert", insert_line=line,
                                                            new_str=text, session=session))

    async def create(self, path: str, text: str, *, session: Optional[str] = None) -> EditObservation:
        """Makes a new file with exactly this text; the file must not exist."""
        return await self._do(EditObservation, actions.edit(path, "create", file_text=text,
                                                            session=session))

    async def undo(self, path: str, *, session: Optional[str] = None) -> EditObservation:
        """Restores the file as it was before the last edit or insert."""
        return await self._do(EditObservation, actions.edit(path, "undo_edit", session=session))

    async def list(self, path: str = ".", *, depth: Optional[int] = None, limit: Optional[int] = None,
                   session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Lists the names below a folder."""
        return await self._do(NamesObservation, actions.action(
            "list", {"path": path, "depth": depth, "limit": limit}, session, timeout))

    async def glob(self, pattern: str, path: Optional[str] = None, *, limit: Optional[int] = None,
                   session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Finds files whose name matches."""
        return await self._do(NamesObservation, actions.action(
            "glob", {"pattern": pattern, "path": path, "limit": limit}, session, timeout))

    async def grep(self, pattern: str, path: Optional[str] = None, *, include: Optional[str] = None,
                   ignore_case: Optional[bool] = None, limit: Optional[int] = None,
                   session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Finds lines that match, as path:number:line."""
        return await self._do(NamesObservation, actions.action(
            "grep", {"pattern": pattern, "path": path, "include": include,
                     "ignore_case": ignore_case, "limit": limit}, session, timeout))

    async def stat(self, path: str, *, session: Optional[str] = None) -> StatObservation:
        """The type, size, mode, owner and time of a path."""
        return await self._do(StatObservation, actions.action("stat", {"path": path}, session))

    async def move(self, path: str, to: str, *, overwrite: Optional[bool] = None,
                   session: Optional[str] = None) -> MoveObservation:
        """Moves a file or folder as a whole, or not at all."""
        return await self._do(MoveObservation, actions.action(
            "move", {"path": path, "to": to, "overwrite": overwrite}, session))

    async def remove(self, path: str, *, recursive: Optional[bool] = None,
                     session: Optional[str] = None) -> PathObservation:
        """Removes a file or a folder."""
        return await self._do(PathObservation, actions.action(
            "remove", {"path": path, "recursive": recursive}, session))

    async def mkdir(self, path: str, *, session: Optional[str] = None) -> PathObservation:
        """Makes a folder, and the missing folders above it."""
        return await self._do(PathObservation, actions.action("mkdir", {"path": path}, session))

    async def env(self, set: Optional[Mapping[str, str]] = None, *,
                  unset: Optional[Sequence[str]] = None,
                  secret: Union[bool, Sequence[str], None] = None,
                  session: Optional[str] = None) -> EnvObservation:
        """Sets variables from now on; the values of those in `secret` are masked."""
        return await self._do(EnvObservation, actions.env(set, unset, secret, session))

    @property
    def git(self) -> git_actions.AsyncGit:
        """Clone, branch, changes, diff, by the git of the rootfs."""
        return git_actions.AsyncGit(self)

    @property
    def net(self) -> net_rules.AsyncNet:
        """The rules about connections, and their questions."""
        return net_rules.AsyncNet(self)

    async def setup(self, path: Optional[str] = None, *, session: Optional[str] = None,
              timeout: Optional[float] = None,
              on_output: Optional[OnOutput] = None) -> RunObservation:
        """Runs a repository's own setup script in the session's shell, and then installs its
        git hook."""
        top = (await self.run("pwd", session=session)).content  # the script may change the folder
        where = os.path.join(top, path or "")
        async with self._setting_up(Status.SETTING_UP_WORKSPACE, git_actions.SCRIPT):
            done = await self._do(RunObservation, git_actions.setup_script(where, session, timeout), on_output)
        await self.git.install_hooks(where, session=session)
        return done

    async def microagents(self, path: str = ".", *, org: Optional[str] = None,
                    token: Optional[str] = None, user: Optional[str] = None,
                    session: Optional[str] = None) -> List[Microagent]:
        """Reads the instructions for agents of a repository, or of the organisation whose
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
        """The task that makes the call also runs the callbacks."""
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
        """Runs a program to its end, without a shell."""
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
        """Starts a program, whose streams are files.  A detached program lives on without this
        handle, and its output is in logs()."""
        call = calls.start(argv, env=env, secret=secret, cwd=cwd, user=user, timeout=timeout,
                           tty=tty, rows=rows, cols=cols, detach=detach)
        started = await processes.start(self._open(), call, stdin, detach)
        started.owner = self
        return started

    async def process(self, number: int) -> AsyncProcess:
        """Attaches to a process that another client has started, with all output of it that is
        kept."""
        attached = await processes.attach(self._open(), number)
        attached.owner = self
        return attached

    async def processes(self) -> List[ProcessInfo]:
        return await self._ask(calls.processes())

    # --- files ---

    async def read_bytes(self, path: str, most: int = tar.MOST) -> bytes:
        """Reads a file's bytes."""
        one = tar.OneFile(path, most)
        await self._carry(calls.copy_out(path, True), None, one.put)
        return one.data()

    async def write_bytes(self, path: str, data: bytes, mode: int = 0o644, *,
                          parents: bool = False) -> None:
        """Writes bytes to a file.  A file that is there is replaced if its user may write to
        it; with `parents`, missing folders are made."""
        call = calls.write_file(path, tar.place(path), parents)
        with tar.folder():
            await self._carry(call, tar.pieces(tar.of_file(data, mode)), tar.nowhere)

    async def copy_out(self, path: str, file: BinaryIO, *, follow: bool = False) -> Tuple[str, ...]:
        """Copies a file or tree out as a tar.  The tar comes from inside and may be hostile:
        unpack it with care.  Gives sentences about files that were left out."""
        return await self._carry(calls.copy_out(path, follow), None,
                                 lambda data: tar.write_all(file, data))

    async def copy_in(self, file: BinaryIO, path: str, *,
                      name: Optional[str] = None) -> Tuple[str, ...]:
        """Unpacks a tar in the sandbox."""
        return await self._carry(calls.copy_in(path, name), tar.chunks(file), tar.nowhere)

    async def download(self, path: str, to: "Union[str, os.PathLike[str]]", *,
                       follow: bool = False) -> None:
        """Copies a file or tree to this host, as `hutch cp` does: a confined process, which can
        reach nothing else, unpacks it."""
        there = f"{await self._known()}:{path}"
        await self._copy([there, os.path.abspath(to) + with_slash(to)], follow)

    async def upload(self, path: "Union[str, os.PathLike[str]]", to: str, *,
                     follow: bool = False) -> None:
        """Copies a file or tree of this host into the sandbox."""
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
        """Lists the changes compared with the host's files."""
        words = ["--json", "--", await self._known(), *paths]
        changes = parsed("diff", await self._program("diff", words))
        return [Change.parse(one) for one in cast("List[object]", changes)]

    async def patch(self, *paths: str) -> str:
        """The same changes in the form of `git diff`."""
        said = await self._program("diff", ["--patch", "--", await self._known(), *paths])
        return said.decode("utf-8", "surrogateescape")

    async def apply(self, *paths: str, force: bool = False, include_protected: bool = False,
                    partial: bool = False, dry_run: bool = False) -> List[str]:
        """Applies the changes in folders shown with :cow to the host: all or none of them or,
        with `partial`, those that can be applied.  Gives a line for each; NotAppliedError if a
        change was not applied."""
        switches = {"--force": force, "--include-protected": include_protected,
                    "--partial": partial, "--dry-run": dry_run}
        return await self._apply(apply_words(await self._known(), paths, switches))

    async def _apply(self, words: Sequence[str]) -> List[str]:
        done = await self._run_program("apply", words, None)
        return applied(self.program, done.returncode, done.stdout, done.stderr)

    async def discard(self) -> None:
        """Discards the changes in such folders, after the sandbox has ended."""
        await self._program("discard", ["--", await self._known()])

    async def snapshot(self, ref: Optional[str] = None, *, message: Optional[str] = None) -> str:
        """Makes an image of the sandbox's root with everything that was written to it, and
        gives its name."""
        words = [*message_words(message), "--", await self._known(), *([ref] if ref else [])]
        return (await self._program("snapshot", words)).decode().strip()

    async def commit(self, ref: str, *, message: Optional[str] = None) -> str:
        """The same; the name is taken from an image that has it already."""
        words = [*message_words(message), "--", await self._known(), ref]
        return (await self._program("commit", words)).decode().strip()

    async def fork(self, name: Optional[str] = None, *, keep: bool = False,
                   **flags: "Unpack[ForkFlags]") -> AsyncSandbox:
        """Makes a sandbox whose root begins as a copy of this one's."""
        return await self.fork_of(await self._known(), name, program=self.program.given, keep=keep,
                                  on_status=self._on_status, on_ask=self._on_ask, **flags)

    @classmethod
    async def fork_of(cls, source: str, name: Optional[str] = None, *, program: Optional[Words] = None,
                      on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None,
                      keep: bool = False, **flags: "Unpack[ForkFlags]") -> AsyncSandbox:
        """Makes a sandbox whose root begins as a copy of that of a sandbox, snapshot or image."""
        words = flag_words.words(flags, flag_words.NOT_FORK)
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=keep)
        box._words, box._verb, box._source = words, "fork", (source,)
        return await box.start()

    @classmethod
    async def restart(cls, name: str, *, program: Optional[Words] = None,
                      on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None,
                      keep: bool = False, **flags: "Unpack[StartFlags]") -> AsyncSandbox:
        """Starts a sandbox again that was made with keep_files=True and has ended, with its
        options and files.  Its secrets must be given again."""
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
        """Lists the ports of the host that lead inside."""
        return await self._ask(calls.ports())

    async def publish(self, *ports: str) -> List[str]:
        """Makes ports of the host lead inside: "8080:80", "auto:80", "PATH:80".  Gives the
        address of each."""
        self.program.check_is_local("port")
        said = await self._program("port", ["add", "--", await self._known(), *ports])
        return said.decode("utf-8", "surrogateescape").splitlines()

    async def unpublish(self, *hosts: str) -> None:
        """Closes these ports of the host, and resets their connections."""
        self.program.check_is_local("port")
        await self._program("port", ["rm", "--", await self._known(), *hosts])

    async def update(self, *, memory: Union[int, str, None] = None,
                     cpus: Optional[float] = None, pids_limit: Optional[int] = None) -> Limits:
        """Changes limits, in the form of the flags: 512 << 20 or "512m".  Gives all limits."""
        return await self._ask(calls.update(memory, cpus, pids_limit))

    async def pause(self) -> str:
        """Stops everything inside, and says by which means: "cgroup", "tracing" or "signals"."""
        return await self._ask(calls.pause())

    async def unpause(self, *, force: bool = False) -> str:
        return await self._ask(calls.unpause(force))

    async def rename(self, name: str) -> None:
        await self._ask(calls.rename(name))
        self.name = name

    def events(self, since: int = 0, *, follow: bool = False,
               timeout: Optional[float] = None) -> AsyncEvents:
        """The events so far and, with `follow`, further ones until the sandbox has ended."""
        return AsyncEvents(self.name, self.program, since, follow, timeout)

    async def logs(self, *, follow: bool = False,
                   tail: Optional[int] = None) -> AsyncIterator[LogEntry]:
        """The output of processes that run without descriptors."""
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
        """The sandbox's name or id for the program: while the sandbox lives, its name, which is
        asked for, since another sandbox may have the old name by now; after that its id."""
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


class AsyncEvents(EventKind, AsyncNotices[Event]):
    """The events of a sandbox: use `async for`, or await next() one by one; close() it, or use
    `async with`.  It has a connection of its own, which is made for the first event."""

    def __init__(self, name: str, program: Program, since: int = 0, follow: bool = False,
                 timeout: Optional[float] = None) -> None:
        self._since, self._follows = since, follow
        super().__init__(name, program, timeout)

    @property
    def has_kept(self) -> bool:
        """Whether an event from before the call of events() is still to come."""
        return self._kept > 0


class _AsyncWatcher:
    """Calls on_status for each new state of a sandbox, from a task of its own."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._name, self._on_status = box.name, box._on_status
        self._events = AsyncEvents(box.name, box.program, 0, True)
        self._task: Optional["asyncio.Task[None]"] = None
        self._is_closing = False

    async def begin(self) -> None:
        """Reports the states up to now, in the caller's context."""
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
        """Waits until the end has been reported, after a stop."""
        if self._task and self._task is not asyncio.current_task():
            await asyncio.wait({self._task}, timeout=calls.PATIENCE)

    def shut(self) -> None:
        """The part of close() that does not wait."""
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
