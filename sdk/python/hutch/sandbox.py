"""A sandbox, for threads.  aio.py has the same for asyncio; docs/python.md is the manual."""
from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
import warnings
from typing import (TYPE_CHECKING, Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Mapping,
                    Optional, Sequence, Tuple, Type, TypeVar, Union, cast)

from . import (actions, calls, fields, flags as flag_words, git as git_actions,
               net as net_rules, process as processes, tar)
from .calls import Call
from .errors import (BuildError, CallbackError, DisconnectedError, HutchError, InvalidError,
                     LimitError, NotAppliedError, NotFoundError)
from .fields import Object
from .link import Link
from .microagents import Microagent
from .notices import EventKind, Notices
from .observations import (BrowserObservation, EditObservation, EnvObservation, IPythonObservation,
                           MicroagentsObservation, MoveObservation, NamesObservation, Observation,
                           PathObservation, ReadObservation, RepositoryObservation, RunObservation,
                           StatObservation, observation, raise_if_not_done)
from .process import Process
from .program import Program, Words, parsed
from .protocol import Waiter
from .records import (Ask, Change, Completed, End, Event, Info, Limits, LogEntry, Port,
                      ProcessInfo, Stats, Status)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .flags import Flags, ForkFlags, StartFlags

T = TypeVar("T")
O = TypeVar("O", bound=Observation)
OnStatus = Callable[[int, Status, str], None]
OnAsk = Callable[[Ask], bool]

log = logging.getLogger("hutch")
log.addHandler(logging.NullHandler())
STOP_GRACE = 10.0
LEVELS = {Status.ERROR: logging.ERROR, Status.DISCONNECTED: logging.ERROR}


class Sandbox:
    """The sandbox is made when the `with` begins, or with start(); it ends with the `with`, or
    with stop().

    Keyword arguments are the flags of `hutch create`.  `program` is the command that starts
    hutch.  `on_status(level, status, message)` is called for each new state; `on_ask(ask)`
    decides whether an action may be done that a rule asks about.  `keep`: the sandbox lives on
    after the `with`."""

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
        self._has_lease = False
        self._link: Optional[Link] = None
        self._watcher: Optional[_Watcher] = None

    # --- its life ---

    @classmethod
    def attach(cls, name: str, *, program: Optional[Words] = None,
               on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None) -> Sandbox:
        """Connects to a sandbox that lives already.  The end of a `with` only closes the
        handle."""
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=True)
        box._words = None
        return box.start()

    def start(self) -> Sandbox:
        """Makes the sandbox, and connects to it."""
        if self._link is not None:
            raise InvalidError(f"sandbox {self.name} was started already")
        is_made, opened = False, None
        try:
            if self._words is not None:
                self._tell(Status.BUILDING, f"hutch {self._verb} has begun")
                opened = self._make(self._words)
                is_made = True
            self._connect(opened)
        except HutchError as e:
            self._tell(Status.ERROR, str(e))
            if is_made:
                self._undo()
            raise
        except BaseException:  # end it only if it is surely this one
            if is_made or (self._words is not None and self._has_own_name):
                self._undo()
            raise
        return self

    def _make(self, given: flag_words.Words) -> Optional[socket.socket]:
        """Runs the program that makes it; gives the connection that is its lease, if it has one."""
        words = [*given.argv, *made_words(self._verb, self._source, self.name, given.command)]
        if not self._has_lease:
            self._program(self._verb, words, given, BuildError)
            return None
        ours, theirs = socket.socketpair()
        try:
            fd = theirs.fileno()
            self._program(self._verb, ["--lease", str(fd), *words], given, BuildError, fds=[fd])
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        return ours

    def _lease(self) -> None:
        """Has the sandbox end with this handle, and with this process, however that ends.  It must
        not have begun, and takes no `publish`: publish() can follow."""
        self.program.check_is_local("create")
        self._has_lease = True

    def _undo(self) -> None:
        with contextlib.suppress(HutchError):
            self._program("kill", ["--", self.name])

    def _use(self, opened: socket.socket) -> None:
        """Uses a connection that a pool has handed out."""
        self._words = None
        self._connect(opened)

    def _keep(self, release: Call[str]) -> None:
        """Releases the sandbox, so that it does not end with that connection."""
        self.name = self._ask(release)

    def _connect(self, opened: Optional[socket.socket] = None) -> None:
        link = Link(self.name, self.program, opened)
        try:
            self._tell(Status.STARTING, "its supervisor answers")
            self.id = link.call(calls.info()).id
            if self._on_status:
                self._watcher = _Watcher(self)
                self._watcher.begin()
        except BaseException:
            link.close()
            raise
        self._link = link

    def close(self) -> None:
        """Closes the handle; the sandbox lives on."""
        watcher, self._watcher = self._watcher, None
        try:
            if watcher:
                watcher.close()
        finally:
            if self._link:
                self._link.close()

    def stop(self, grace: float = STOP_GRACE) -> None:
        """Ends the sandbox: sends SIGTERM to everything inside, and ends it after at most
        `grace` seconds."""
        self._end(calls.stop(grace))

    def kill(self) -> None:
        """Ends the sandbox at once."""
        self._end(calls.kill())

    def _end(self, call: Call[None]) -> None:
        with contextlib.suppress(DisconnectedError):  # the sandbox may end before it has answered
            self._ask(call)
        self._is_ours = False
        if self._watcher:
            self._watcher.join()
        self.close()

    def _end_lost(self) -> None:
        """Ends the sandbox after its connection broke, by id: by now, another sandbox may have
        its name."""
        with contextlib.suppress(HutchError):
            link = Link(self.name, self.program)
            try:
                if link.call(calls.info()).id == self.id:
                    link.call(calls.kill())
            finally:
                link.close()

    def wait(self, timeout: Optional[float] = None) -> End:
        """Waits until the sandbox has ended, and says how."""
        if self._known() == self.id:
            with contextlib.suppress(InvalidError):  # the name is still held by its clean-up
                return self.end()
        self._program("wait", ["--", self.name], timeout=timeout)
        return self.end()

    def end(self) -> End:
        """Says how the sandbox has ended."""
        try:
            said = self._program("inspect", ["--", self.id or self.name])
        except NotFoundError:
            raise InvalidError(f"sandbox {self.name} has not ended", remedy="wait()") from None
        return end_of(said)

    def __enter__(self) -> Sandbox:
        return self if self._link is not None else self.start()

    def __exit__(self, *exc: object) -> None:
        try:
            self._leave(exc[0] is None)
        finally:  # stopping may be interrupted
            self.close()

    def _leave(self, is_well: bool) -> None:
        link = self._link
        if link is not None and self._is_ours and link.is_usable:
            if is_well:
                return self.stop()
            with contextlib.suppress(HutchError):  # report the first exception
                self.kill()
        elif link is not None and self._is_ours and link.is_lost:
            self._end_lost()

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        link = getattr(self, "_link", None)
        if link is not None and not link.is_closed and not sys.is_finalizing():
            warn(f"sandbox {self.name} was not closed", ResourceWarning, source=self)
            self.close()

    # --- actions: what an agent does ---

    def act(self, action: Mapping[str, Any]) -> Observation:
        """Sends any action as a JSON object, and gives its observation.  An error is an
        observation, too."""
        action = {"client": "act", **action}
        try:
            return self._act(action)
        except HutchError:
            raise
        except BaseException:
            self._take_back(action)
            raise

    def _take_back(self, action: Mapping[str, Any]) -> None:
        """Cancels an action whose caller does not wait any more."""
        taking_back = actions.cancel(action)
        if taking_back is not None and self._open().is_usable:
            self._open().send(calls.act(taking_back, False, False))

    def run(self, command: str, *, session: Optional[str] = None, timeout: Optional[float] = None,
            is_input: bool = False, blocking: bool = False, hidden: bool = False,
            is_static: bool = False, cwd: Optional[str] = None,
            on_output: Optional[Callable[[str], None]] = None) -> RunObservation:
        """Runs a command in a session's shell.  `on_output` gets its output as it comes."""
        return self._do(RunObservation, actions.run(
            command, session=session, timeout=timeout, is_input=is_input, blocking=blocking,
            hidden=hidden, is_static=is_static, cwd=cwd), on_output)

    def ipython(self, code: str, *, session: Optional[str] = None, timeout: Optional[float] = None,
                on_output: Optional[Callable[[str], None]] = None) -> IPythonObservation:
        """Runs a cell in the kernel of the plugin `jupyter`, which the sandbox must have."""
        return self._do(IPythonObservation, actions.ipython(
            code, session=session, timeout=timeout), on_output)

    def browse(self, url: str, *, session: Optional[str] = None,
               timeout: Optional[float] = None) -> BrowserObservation:
        """Opens a page in the browser of the plugin `browser`, which the sandbox must have."""
        return self._do(BrowserObservation, actions.browse(url, session=session, timeout=timeout))

    def browse_interactive(self, browser_actions: str, *, session: Optional[str] = None,
                           timeout: Optional[float] = None) -> BrowserObservation:
        """Does browser actions, such as `click('12')`, in that browser."""
        return self._do(BrowserObservation, actions.browse_interactive(
            browser_actions, session=session, timeout=timeout))

    def read(self, path: str, start: Optional[int] = None, end: Optional[int] = None, *,
             session: Optional[str] = None) -> str:
        """Reads a file's text, or its lines from `start` to before `end`."""
        return self._do(ReadObservation, actions.read(path, start, end, session)).content

    def view(self, path: str, view_range: Optional[Sequence[int]] = None, *,
             session: Optional[str] = None) -> str:
        """Shows a file or a folder in the way of an agent's editor."""
        return self._do(ReadObservation, actions.view(path, view_range, session)).content

    def write(self, path: str, content: str, start: Optional[int] = None,
              end: Optional[int] = None, *, session: Optional[str] = None) -> PathObservation:
        """Writes lines into a file; each gets its newline."""
        return self._do(PathObservation, actions.write(path, content, start, end, session))

    def edit(self, path: str, old: str, new: str = "", *,
             session: Optional[str] = None) -> EditObservation:
        """Replaces a text that occurs exactly once."""
        return self._do(EditObservation, actions.edit(path, "str_replace", old_str=old,
                                                      new_str=new, session=session))

    def insert(self, path: str, line: int, text: str, *,
               session: Optional[str] = None) -> EditObservation:
        """Inserts lines behind line number `line`, counted from 1."""
        return self._do(EditObservation, actions.edit(path, "insert", insert_line=line,
                                                      new_str=text, session=session))

    def create(self, path: str, text: str, *, session: Optional[str] = None) -> EditObservation:
        """Makes a new file with exactly this text; the file must not exist."""
        return self._do(EditObservation, actions.edit(path, "create", file_text=text,
                                                      session=session))

    def undo(self, path: str, *, session: Optional[str] = None) -> EditObservation:
        """Restores the file as it was before the last edit or insert."""
        return self._do(EditObservation, actions.edit(path, "undo_edit", session=session))

    def list(self, path: str = ".", *, depth: Optional[int] = None, limit: Optional[int] = None,
             session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Lists the names below a folder."""
        return self._do(NamesObservation, actions.action(
            "list", {"path": path, "depth": depth, "limit": limit}, session, timeout))

    def glob(self, pattern: str, path: Optional[str] = None, *, limit: Optional[int] = None,
             session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Finds files whose name matches."""
        return self._do(NamesObservation, actions.action(
            "glob", {"pattern": pattern, "path": path, "limit": limit}, session, timeout))

    def grep(self, pattern: str, path: Optional[str] = None, *, include: Optional[str] = None,
             ignore_case: Optional[bool] = None, limit: Optional[int] = None,
             session: Optional[str] = None, timeout: Optional[float] = None) -> NamesObservation:
        """Finds lines that match, as path:number:line."""
        return self._do(NamesObservation, actions.action(
            "grep", {"pattern": pattern, "path": path, "include": include,
                     "ignore_case": ignore_case, "limit": limit}, session, timeout))

    def stat(self, path: str, *, session: Optional[str] = None) -> StatObservation:
        """The type, size, mode, owner and time of a path."""
        return self._do(StatObservation, actions.action("stat", {"path": path}, session))

    def move(self, path: str, to: str, *, overwrite: Optional[bool] = None,
             session: Optional[str] = None) -> MoveObservation:
        """Moves a file or folder as a whole, or not at all."""
        return self._do(MoveObservation, actions.action(
            "move", {"path": path, "to": to, "overwrite": overwrite}, session))

    def remove(self, path: str, *, recursive: Optional[bool] = None,
               session: Optional[str] = None) -> PathObservation:
        """Removes a file or a folder."""
        return self._do(PathObservation, actions.action(
            "remove", {"path": path, "recursive": recursive}, session))

    def mkdir(self, path: str, *, session: Optional[str] = None) -> PathObservation:
        """Makes a folder, and the missing folders above it."""
        return self._do(PathObservation, actions.action("mkdir", {"path": path}, session))

    def env(self, set: Optional[Mapping[str, str]] = None, *,
            unset: Optional[Sequence[str]] = None,
            secret: Union[bool, Sequence[str], None] = None,
            session: Optional[str] = None) -> EnvObservation:
        """Sets variables from now on; the values of those in `secret` are masked."""
        return self._do(EnvObservation, actions.env(set, unset, secret, session))

    @property
    def git(self) -> git_actions.Git:
        """Clone, branch, changes, diff, by the git of the rootfs."""
        return git_actions.Git(self)

    @property
    def net(self) -> net_rules.Net:
        """The rules about connections, and their questions."""
        return net_rules.Net(self)

    def setup(self, path: Optional[str] = None, *, session: Optional[str] = None,
              timeout: Optional[float] = None,
              on_output: Optional[Callable[[str], None]] = None) -> RunObservation:
        """Runs a repository's own setup script in the session's shell, and then installs its
        git hook."""
        top = self.run("pwd", session=session).content  # the script may change the folder
        where = os.path.join(top, path or "")
        with self._setting_up(Status.SETTING_UP_WORKSPACE, git_actions.SCRIPT):
            done = self._do(RunObservation, git_actions.setup_script(where, session, timeout), on_output)
        self.git.install_hooks(where, session=session)
        return done

    def microagents(self, path: str = ".", *, org: Optional[str] = None,
                    token: Optional[str] = None, user: Optional[str] = None,
                    session: Optional[str] = None) -> List[Microagent]:
        """Reads the instructions for agents of a repository, or of the organisation whose
        repository `.openhands` has the URL `org`."""
        if org is None:
            return self._microagents(path, None, session)
        there = git_actions.org_folder()
        self._do(RepositoryObservation, git_actions.clone(org, there, token, user, None, 1, session, None))
        try:
            return self._microagents(there, git_actions.ORG_FOLDER, session)
        finally:
            self.remove(there, recursive=True)

    def _microagents(self, path: str, folder: Optional[str], session: Optional[str]) -> List[Microagent]:
        return whole(self._do(MicroagentsObservation, git_actions.microagents(path, folder, session)))

    @contextlib.contextmanager
    def _setting_up(self, status: Status, message: str) -> Iterator[None]:
        self._tell(status, message)
        try:
            yield
        finally:
            self._tell(Status.READY, git_actions.DONE)

    def _do(self, kind: Type[O], action: Object,
            on_output: Optional[Callable[[str], None]] = None) -> O:
        o = self._act(action, on_output)
        raise_if_not_done(o)
        if not isinstance(o, kind):
            raise HutchError(f"{action['action']} was answered by a {o.observation} observation")
        return o

    def _act(self, action: Mapping[str, Any],
             on_output: Optional[Callable[[str], None]] = None) -> Observation:
        call = calls.act(action, on_output is not None, self._on_ask is not None)
        if on_output is None and self._on_ask is None:
            return observation(self._ask(call))
        return self._act_with_callbacks(call, on_output)

    def _act_with_callbacks(self, call: Call[Object],
                            on_output: Optional[Callable[[str], None]]) -> Observation:
        """The thread that makes the call also runs the callbacks."""
        link, thrown = self._open(), None
        waiter = link.send(call)
        try:
            while True:
                link.wait(lambda: bool(waiter.notices) or waiter.is_done, waiter, None)
                notice = link.taking(waiter.take)
                if notice is None:
                    break
                try:
                    self._notice(notice, on_output if thrown is None else None)
                except Exception as e:
                    thrown = thrown or e
        except BaseException:
            link.forget(waiter)
            raise
        o = observation(call.parse(link.result(waiter, None)))
        if thrown is not None:
            error = CallbackError(f"a callback of {call.params['action']['action']} has thrown "
                                  f"{type(thrown).__name__}: {thrown}")
            error.observation = o
            raise error from thrown
        return o

    def _notice(self, notice: Object, on_output: Optional[Callable[[str], None]]) -> None:
        if "ask" not in notice:
            if on_output:
                on_output(said_of(notice))
            return
        ask, is_allowed = Ask.parse(notice), False
        try:
            is_allowed = self._on_ask is not None and self._on_ask(ask) is True
        finally:
            self._open().call(calls.act(actions.confirm(ask.ask, is_allowed), False, False))

    # --- processes ---

    def exec(self, argv: Sequence[str], *, input: Optional[bytes] = None,
             env: Optional[Mapping[str, str]] = None, secret: Optional[Sequence[str]] = None,
             cwd: Optional[str] = None, user: Optional[str] = None,
             timeout: Optional[float] = None,
             max_output: int = processes.OUTPUT_MAX) -> Completed:
        """Runs a program to its end, without a shell."""
        call = calls.start(argv, env=env, secret=secret, cwd=cwd, user=user, timeout=timeout)
        process = processes.start(self._open(), call, input is not None, False)
        try:
            return process.communicate(input, max_output)
        finally:
            process.close()

    def popen(self, argv: Sequence[str], *, stdin: bool = False, tty: bool = False,
              rows: Optional[int] = None, cols: Optional[int] = None,
              env: Optional[Mapping[str, str]] = None, secret: Optional[Sequence[str]] = None,
              cwd: Optional[str] = None, user: Optional[str] = None,
              timeout: Optional[float] = None, detach: bool = False) -> Process:
        """Starts a program, whose streams are files.  A detached program lives on without this
        handle, and its output is in logs()."""
        call = calls.start(argv, env=env, secret=secret, cwd=cwd, user=user, timeout=timeout,
                           tty=tty, rows=rows, cols=cols, detach=detach)
        started = processes.start(self._open(), call, stdin, detach)
        started.owner = self
        return started

    def process(self, number: int) -> Process:
        """Attaches to a process that another client has started, with all output of it that is
        kept."""
        attached = processes.attach(self._open(), number)
        attached.owner = self
        return attached

    def processes(self) -> List[ProcessInfo]:
        return self._ask(calls.processes())

    # --- files ---

    def read_bytes(self, path: str, most: int = tar.MOST) -> bytes:
        """Reads a file's bytes."""
        one = tar.OneFile(path, most)
        self._carry(calls.copy_out(path, True), None, one.put)
        return one.data()

    def write_bytes(self, path: str, data: bytes, mode: int = 0o644, *,
                    parents: bool = False) -> None:
        """Writes bytes to a file.  A file that is there is replaced if its user may write to
        it; with `parents`, missing folders are made."""
        call = calls.write_file(path, tar.place(path), parents)
        with tar.folder():
            self._carry(call, tar.pieces(tar.of_file(data, mode)), tar.nowhere)

    def copy_out(self, path: str, file: BinaryIO, *, follow: bool = False) -> Tuple[str, ...]:
        """Copies a file or tree out as a tar.  The tar comes from inside and may be hostile:
        unpack it with care.  Gives sentences about files that were left out."""
        return self._carry(calls.copy_out(path, follow), None,
                           lambda data: tar.write_all(file, data))

    def copy_in(self, file: BinaryIO, path: str, *, name: Optional[str] = None) -> Tuple[str, ...]:
        """Unpacks a tar in the sandbox."""
        return self._carry(calls.copy_in(path, name), tar.chunks(file), tar.nowhere)

    def download(self, path: str, to: "Union[str, os.PathLike[str]]", *, follow: bool = False) -> None:
        """Copies a file or tree to this host, as `hutch cp` does: a confined process, which can
        reach nothing else, unpacks it."""
        there = f"{self._known()}:{path}"
        self._copy([there, os.path.abspath(to) + with_slash(to)], follow)

    def upload(self, path: "Union[str, os.PathLike[str]]", to: str, *, follow: bool = False) -> None:
        """Copies a file or tree of this host into the sandbox."""
        there = f"{self._known()}:{to}"
        self._copy([os.path.abspath(path) + with_slash(path), there], follow)

    def _copy(self, words: Sequence[str], follow: bool) -> None:
        self.program.check_is_local("cp")
        self._program("cp", ["--quiet", *(["--follow-link"] if follow else []), "--", *words])

    def _carry(self, call: Call[Object], source: Optional[Iterable[bytes]],
               sink: Callable[[bytes], None]) -> Tuple[str, ...]:
        with tar.missing():
            return processes.copy(self._open(), call, source, sink)

    # --- what it has changed ---

    def diff(self, *paths: str) -> List[Change]:
        """Lists the changes compared with the host's files."""
        changes = parsed("diff", self._program("diff", ["--json", "--", self._known(), *paths]))
        return [Change.parse(one) for one in cast("List[object]", changes)]

    def patch(self, *paths: str) -> str:
        """The same changes in the form of `git diff`."""
        said = self._program("diff", ["--patch", "--", self._known(), *paths])
        return said.decode("utf-8", "surrogateescape")

    def apply(self, *paths: str, force: bool = False, include_protected: bool = False,
              partial: bool = False, dry_run: bool = False) -> List[str]:
        """Applies the changes in folders shown with :cow to the host: all or none of them or,
        with `partial`, those that can be applied.  Gives a line for each; NotAppliedError if a
        change was not applied."""
        switches = {"--force": force, "--include-protected": include_protected,
                    "--partial": partial, "--dry-run": dry_run}
        return self._apply(apply_words(self._known(), paths, switches))

    def _apply(self, words: Sequence[str]) -> List[str]:
        done = self._run_program("apply", words, None)
        return applied(self.program, done.returncode, done.stdout, done.stderr)

    def discard(self) -> None:
        """Discards the changes in such folders, after the sandbox has ended."""
        self._program("discard", ["--", self._known()])

    def snapshot(self, ref: Optional[str] = None, *, message: Optional[str] = None) -> str:
        """Makes an image of the sandbox's root with everything that was written to it, and
        gives its name."""
        words = [*message_words(message), "--", self._known(), *([ref] if ref else [])]
        return self._program("snapshot", words).decode().strip()

    def commit(self, ref: str, *, message: Optional[str] = None) -> str:
        """The same; the name is taken from an image that has it already."""
        words = [*message_words(message), "--", self._known(), ref]
        return self._program("commit", words).decode().strip()

    def fork(self, name: Optional[str] = None, *, keep: bool = False,
             **flags: "Unpack[ForkFlags]") -> Sandbox:
        """Makes a sandbox whose root begins as a copy of this one's."""
        return self.fork_of(self._known(), name, program=self.program.given, keep=keep,
                            on_status=self._on_status, on_ask=self._on_ask, **flags)

    @classmethod
    def fork_of(cls, source: str, name: Optional[str] = None, *, program: Optional[Words] = None,
                on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None,
                keep: bool = False, **flags: "Unpack[ForkFlags]") -> Sandbox:
        """Makes a sandbox whose root begins as a copy of that of a sandbox, snapshot or image."""
        words = flag_words.words(flags, flag_words.NOT_FORK)
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=keep)
        box._words, box._verb, box._source = words, "fork", (source,)
        return box.start()

    @classmethod
    def restart(cls, name: str, *, program: Optional[Words] = None,
                on_status: Optional[OnStatus] = None, on_ask: Optional[OnAsk] = None,
                keep: bool = False, **flags: "Unpack[StartFlags]") -> Sandbox:
        """Starts a sandbox again that was made with keep_files=True and has ended, with its
        options and files.  Its secrets must be given again."""
        box = cls(name, program=program, on_status=on_status, on_ask=on_ask, keep=keep)
        box._words = flag_words.words(flags, flag_words.NOT_START)
        box._verb = "start"
        return box.start()

    # --- watching and steering ---

    def info(self) -> Info:
        return self._ask(calls.info())

    def stats(self) -> Stats:
        return self._ask(calls.stats())

    def ports(self) -> List[Port]:
        """Lists the ports of the host that lead inside."""
        return self._ask(calls.ports())

    def publish(self, *ports: str) -> List[str]:
        """Makes ports of the host lead inside: "8080:80", "auto:80", "PATH:80".  Gives the
        address of each."""
        self.program.check_is_local("port")
        said = self._program("port", ["add", "--", self._known(), *ports])
        return said.decode("utf-8", "surrogateescape").splitlines()

    def unpublish(self, *hosts: str) -> None:
        """Closes these ports of the host, and resets their connections."""
        self.program.check_is_local("port")
        self._program("port", ["rm", "--", self._known(), *hosts])

    def update(self, *, memory: Union[int, str, None] = None, cpus: Optional[float] = None,
               pids_limit: Optional[int] = None) -> Limits:
        """Changes limits, in the form of the flags: 512 << 20 or "512m".  Gives all limits."""
        return self._ask(calls.update(memory, cpus, pids_limit))

    def pause(self) -> str:
        """Stops everything inside, and says by which means: "cgroup", "tracing" or "signals"."""
        return self._ask(calls.pause())

    def unpause(self, *, force: bool = False) -> str:
        return self._ask(calls.unpause(force))

    def rename(self, name: str) -> None:
        self._ask(calls.rename(name))
        self.name = name

    def events(self, since: int = 0, *, follow: bool = False,
               timeout: Optional[float] = None) -> Events:
        """The events so far and, with `follow`, further ones until the sandbox has ended."""
        return Events(self.name, self.program, since, follow, timeout)

    def logs(self, *, follow: bool = False, tail: Optional[int] = None) -> Iterator[LogEntry]:
        """The output of processes that run without descriptors."""
        link = Link(self.name, self.program)
        try:
            rest = link.rest()
            waiter = link.send(calls.logs(follow, tail))
            waiter.wake = rest.tell
            while True:
                link.wait(lambda: bool(rest.notices) or waiter.is_done, rest, None)
                notice = link.taking(lambda: rest.notices.popleft() if rest.notices else None)
                if notice is not None:
                    yield LogEntry.parse(notice[1])
                elif waiter.is_done:
                    return check_log(waiter)
        finally:
            link.close()

    # --- below ---

    def _open(self) -> Link:
        if self._link is None:
            raise InvalidError(f"sandbox {self.name} was not started", remedy="start(), or with")
        return self._link

    def _ask(self, call: Call[T]) -> T:
        return self._open().call(call)

    def _known(self) -> str:
        """The sandbox's name or id for the program: while the sandbox lives, its name, which is
        asked for, since another sandbox may have the old name by now; after that its id."""
        try:
            self.name = (self._ask(calls.info())).name
            return self.name
        except DisconnectedError:
            return self.id or self.name

    def _program(self, verb: str, args: Sequence[str], words: Optional[flag_words.Words] = None,
                 made: Type[HutchError] = HutchError, timeout: Optional[float] = None,
                 fds: Sequence[int] = ()) -> bytes:
        done = self._run_program(verb, args, words, timeout, fds)
        if done.returncode:
            raise self.program.failure(verb, done.returncode, done.stderr, made)
        note(done.stderr)
        return done.stdout

    def _run_program(self, verb: str, args: Sequence[str], words: Optional[flag_words.Words],
                     timeout: Optional[float] = None,
                     fds: Sequence[int] = ()) -> "subprocess.CompletedProcess[bytes]":
        environ, stdin = self.program.surroundings(words)
        with stdin:
            try:
                return subprocess.run(self.program.command(verb, *args), stdin=stdin, env=environ,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      timeout=timeout, pass_fds=fds)
            except subprocess.TimeoutExpired:
                raise calls.too_late("the end", timeout) from None
            except OSError as e:
                raise self.program.missing(e) from None

    def _tell(self, status: Status, message: str) -> None:
        tell_status(self._on_status, self.name, status, message)


def whole(o: MicroagentsObservation) -> List[Microagent]:
    """All microagents, or an error."""
    if o.is_cut or any(one.content is None for one in o.microagents):
        raise LimitError("microagents: there is more than is told: 128 KiB a file, 1 MiB in all",
                         remedy="act() with the action microagents gives those that are")
    return o.microagents


class Events(EventKind, Notices[Event]):
    """The events of a sandbox: iterate, or take next() one by one; close() it, or use `with`.
    It has a connection of its own."""

    def __init__(self, name: str, program: Program, since: int = 0, follow: bool = False,
                 timeout: Optional[float] = None) -> None:
        self._since, self._follows = since, follow
        super().__init__(name, program, timeout)

    def kept(self) -> Iterator[Event]:
        """The events from before the call of events()."""
        while self._kept > 0:
            event = self.next()
            if event is not None:
                yield event


class _Watcher:
    """Calls on_status for each new state of a sandbox, from a thread of its own."""

    def __init__(self, box: Sandbox) -> None:
        self._name, self._on_status = box.name, box._on_status
        self._events = Events(box.name, box.program, 0, True)
        self._thread = threading.Thread(target=self._watch, name=f"hutch {box.name}", daemon=True)
        self._is_closing = False

    def begin(self) -> None:
        """Reports the states up to now, in the caller's context."""
        try:
            for event in self._events.kept():
                self._tell(event)
        except BaseException:
            self._events.close()
            raise
        self._thread.start()

    def _watch(self) -> None:
        try:
            for event in self._events:
                self._tell(event)
        except HutchError as e:
            if not self._is_closing:
                tell_status(self._on_status, self._name, Status.DISCONNECTED, str(e))
        finally:
            self._events.close()

    def _tell(self, event: Event) -> None:
        told = status_of(self._name, event)
        if told:
            tell_status(self._on_status, self._name, *told)

    def join(self) -> None:
        """Waits until the end has been reported, after a stop."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(calls.PATIENCE)

    def close(self) -> None:
        self._is_closing = True
        self._events.close()
        self.join()


# --- shared by Sandbox and AsyncSandbox ---


def new_name() -> str:
    return f"py-{os.getpid()}-{secrets.token_hex(4)}"


def log_status(name: str, status: Status, message: str) -> int:
    """Logs a state, and gives its level."""
    level = LEVELS.get(status, logging.INFO)
    log.log(level, "%s is %s: %s", name, status.value, message)
    return level


def tell_status(on_status: Optional[OnStatus], name: str, status: Status, message: str) -> None:
    """Calls on_status; an exception of it is logged, and the sandbox goes on."""
    level = log_status(name, status, message)
    if on_status:
        try:
            on_status(level, status, message)
        except Exception:
            log.exception("%s: on_status has thrown at %s", name, status.value)


def status_of(name: str, event: Event) -> Optional[Tuple[Status, str]]:
    """The state and message of an event for on_status; some are only logged."""
    if event.event == "ended":
        end = End.parse(fields.an_object(event.raw.get("record"), "record"))
        return Status.ENDED, end.message or end.reason
    if event.status is not None:
        return event.status, f"it is {event.status.value}"
    if event.event in ("unprotected", "refused", "log"):
        log.warning("%s: %s: %s", name, event.event, event.raw)
    return None


def end_of(said: bytes) -> End:
    """Parses the output of `hutch inspect`."""
    records = fields.a_list(parsed("inspect", said), "records")
    return End.parse(fields.an_object(records[0] if records else None, "record").get("exit"))


def said_of(notice: Object) -> str:
    """The text of a session's output."""
    if "dropped" in notice:
        return f"[{notice['dropped']} bytes are missing here]"
    return str(notice.get("data", ""))


def note(stderr: bytes) -> None:
    """Logs the notes of hutch, such as limits that it could not set."""
    for line in stderr.decode("utf-8", "replace").splitlines():
        log.warning("%s", line)


def applied(program: Program, code: int, out: bytes, stderr: bytes) -> List[str]:
    lines = out.decode("utf-8", "surrogateescape").splitlines()
    if code:
        error = program.failure("apply", code, stderr, NotAppliedError)
        if isinstance(error, NotAppliedError):
            error.applied = tuple(lines)
        raise error
    return lines


def apply_words(name: str, paths: Sequence[str], switches: Dict[str, bool]) -> List[str]:
    return [*(word for word, is_on in switches.items() if is_on), "--", name, *paths]


def made_words(verb: str, source: Tuple[str, ...], name: str, command: List[str]) -> List[str]:
    """The words behind the flags of a verb that makes a sandbox.  hutch create takes a "--" only
    behind the name, where the command of its main process stands."""
    if verb != "create":
        return ["--", *source, name, *command]
    if name.startswith("-"):
        raise InvalidError(f"{name!r} is no name of a sandbox")
    return [name, *command]


def message_words(message: Optional[str]) -> List[str]:
    return [] if message is None else ["--message", message]


def with_slash(path: "Union[str, os.PathLike[str]]") -> str:
    """The absolute path, with the final "/" or "/." that abspath() would remove and that has a
    meaning."""
    text = os.fspath(path)
    return "/." if text.endswith("/.") or text == "." else "/" if text.endswith("/") else ""


def check_log(waiter: Waiter) -> None:
    if waiter.error is not None and not isinstance(waiter.error, DisconnectedError):
        raise waiter.error
