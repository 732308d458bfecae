"""The program hutch: how it is started, here or on another machine, and how its output is read.

It makes sandboxes, and handles foreign trees (diff, apply, cp, snapshot), since it does that in
processes that can reach nothing else.
"""
from __future__ import annotations

import array
import json
import os
import shlex
import socket
import stat
import struct
import subprocess
import sysconfig
import tempfile
from typing import BinaryIO, Callable, Dict, List, Optional, Sequence, Tuple, Type, Union, cast

from . import flags
from .errors import (DisconnectedError, ExistsError, HutchError, NotFoundError,
                     RefusedError, UnsupportedError)

Words = Union[str, "os.PathLike[str]", Sequence[str], "Ssh"]

ADDRESS_MAX = 107  # of a unix socket, unix(7)


class Ssh:
    """hutch on a machine that ssh reaches: `Ssh("build.example", "-p", "2222")`."""

    def __init__(self, host: str, *options: str, hutch: str = "hutch",
                 ssh: Sequence[str] = ("ssh", "-T", "-o", "BatchMode=yes")) -> None:
        if host.startswith("-"):
            raise ValueError(f"{host!r} is no host")
        self.words = [*ssh, *options, "--", host]
        self.hutch = hutch

    def command(self, args: Sequence[str]) -> List[str]:
        return [*self.words, shlex.join([self.hutch, *args])]


def _installed() -> Optional[str]:
    """Returns the path of the hutch that a wheel has installed with this package: a Python that is
    started by its path, as that of a virtual environment, need not have it on PATH."""
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")):
        path = os.path.join(folder, "hutch")
        if os.access(path, os.X_OK) and os.path.isdir(f"{folder}/../libexec/hutch"):
            return path
    return None


def _nameless() -> BinaryIO:
    """Opens a file without a name.  Pythons that were built for an old C library, as uv's are, have
    no memfd_create()."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("stdin", os.MFD_CLOEXEC), "w+b")
    return cast(BinaryIO, tempfile.TemporaryFile())


class Program:
    """The way to start hutch: a path or name; words that come before hutch's own, such as those
    of `kubectl exec`; or an Ssh.  The default is HUTCH in the environment, else the program that
    was installed with this package, else `hutch` on PATH."""

    def __init__(self, words: Optional[Words] = None) -> None:
        self.given = words
        words = words or os.environ.get("HUTCH") or _installed() or "hutch"
        self.ssh = words if isinstance(words, Ssh) else None
        self.is_local = isinstance(words, (str, os.PathLike))
        if isinstance(words, (str, os.PathLike)):
            self.words = [os.fspath(words)]
        else:
            self.words = [] if isinstance(words, Ssh) else list(words)

    @property
    def has_socket(self) -> bool:
        """Whether this process can open the sandboxes' sockets.  Root's sandboxes belong to
        another user."""
        return self.is_local and os.geteuid() != 0

    def command(self, *args: str) -> List[str]:
        return self.ssh.command(args) if self.ssh else [*self.words, *args]

    def surroundings(self, words: "Optional[flags.Words]") -> Tuple[Dict[str, str], BinaryIO]:
        """The environment and the stdin for the program.  The stdin is a file, since some
        versions of asyncio would make a socket, which a path such as /dev/stdin cannot open."""
        added = words.environ if words else {}
        if added and not self.is_local:
            raise UnsupportedError("secret: the environment does not get to another machine",
                                   remedy="set it in the sandbox, with env(..., secret=True)")
        stdin = _nameless()
        stdin.write(words.stdin or b"" if words else b"")
        stdin.seek(0)
        return {**os.environ, **added}, stdin

    def check_is_local(self, verb: str) -> None:
        if not self.is_local:
            raise UnsupportedError(f"{verb} would find the files of the machine on which hutch runs",
                                   remedy="copy_in() and copy_out() carry a tar")

    def missing(self, error: OSError) -> HutchError:
        word = self.command()[0]
        return NotFoundError(f"start {word}: {error.strerror}",
                             remedy="install it, name it with program=, or set HUTCH")

    def failure(self, what: str, code: int, stderr: bytes,
                made: Type[HutchError] = HutchError) -> HutchError:
        """The error that the program printed on stderr."""
        lines = stderr.decode("utf-8", "replace").strip().splitlines()
        hints = [line[13:] for line in lines if line.startswith("hutch: hint: ")]
        said = [line[7:] if line.startswith("hutch: ") else line for line in lines
                if not line.startswith("hutch: hint: ")]
        message = "; ".join(said[-4:]) or f"it ended with code {code} and said nothing"
        kind = made
        if message.startswith("no sandbox named "):
            kind = NotFoundError
        elif message.startswith("a sandbox named ") and "is running" in message:
            kind = ExistsError
        error = kind(f"{what}: {message}", remedy=hints[0] if hints else None)
        error.exit_code = code
        return error


def parsed(what: str, out: bytes) -> object:
    """Parses the output of a verb with --json."""
    try:
        return json.loads(out)
    except (ValueError, RecursionError) as e:
        raise HutchError(f"{what}: its output is not JSON: {e}") from None


def connect(name: str, program: Program) -> Tuple[socket.socket, "Optional[subprocess.Popen[bytes]]"]:
    """A socket to the sandbox's supervisor: the control socket, or a socket pair to a `hutch connect`."""
    if "/" in name or name in ("", ".", "..") or "\0" in name:
        raise NotFoundError(f"{name!r} is no name of a sandbox")
    if program.has_socket:
        return _connect_here(name), None
    ours, theirs = socket.socketpair()
    try:
        process = subprocess.Popen(program.command("connect", "--", name), stdin=theirs.fileno(),
                                   stdout=theirs.fileno(), stderr=subprocess.PIPE)
    except OSError as e:
        ours.close()
        raise program.missing(e) from None
    finally:
        theirs.close()
    ours.setblocking(False)
    return ours, process


def send(s: socket.socket, line: memoryview, fds: Sequence[int]) -> int:
    """Sends a part of the line and says how much; the descriptors go with its first byte."""
    if not fds:
        return s.send(line)
    return s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])


def reap(helper: "subprocess.Popen[bytes]") -> Tuple[int, bytes]:
    """Waits for the program that carried the bytes, which ends at the end of its stdin; gives
    its exit code and stderr."""
    try:
        said = helper.communicate(timeout=5)[1]
    except subprocess.TimeoutExpired:
        helper.kill()
        said = helper.communicate()[1]
    return helper.returncode, said


def state_folder() -> str:
    """The state folder by the rules of docs/control.md.  A variable left over from sudo names
    another user's folder: a variable counts only if its folder is ours, or does not exist, and
    hutch will make it."""
    uid, runtime = os.geteuid(), os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and (_is_absent(runtime) or _is_folder_of(uid, os.stat, runtime)):
        return f"{runtime}/hutch"
    if _is_folder_of(uid, os.lstat, f"/run/user/{uid}"):
        return f"/run/user/{uid}/hutch"
    return f"/tmp/hutch-{uid}"


def _is_absent(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _is_folder_of(uid: int, look: Callable[[str], os.stat_result], path: str) -> bool:
    try:
        st = look(path)
    except OSError:
        return False
    return stat.S_ISDIR(st.st_mode) and st.st_uid == uid


def _connect_here(name: str) -> socket.socket:
    return connect_at(name, "control.sock", "sandbox", name)


def connect_at(place: str, file: str, what: str, name: str) -> socket.socket:
    """Connects to a socket of ours in a folder of the state folder."""
    state = state_folder()
    try:
        folder = os.open(state, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _absent(what, name) from None
    except OSError as e:
        raise RefusedError(f"open {state}: {e.strerror}") from None
    try:
        st = os.fstat(folder)
        if st.st_uid != os.geteuid() or stat.S_IMODE(st.st_mode) != 0o700:
            raise RefusedError(f"{state} is another user's, or open to others",
                               remedy="set XDG_RUNTIME_DIR to a folder of yours with mode 0700")
        return _connect_in(folder, f"{state}/{place}/{file}", f"{place}/{file}")
    except FileNotFoundError:
        raise _absent(what, name) from None
    finally:
        os.close(folder)


def _connect_in(folder: int, path: str, below: str) -> socket.socket:
    if len(os.fsencode(path)) > ADDRESS_MAX:
        path = f"/proc/self/fd/{folder}/{below}"
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.connect(path)
        who = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("iII", who)[1] != os.geteuid():
            raise RefusedError(f"{path}: another user listens there")
        s.setblocking(False)
        return s
    except HutchError:
        s.close()
        raise
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        s.close()
        raise FileNotFoundError(path) from None
    except OSError as e:
        s.close()
        raise DisconnectedError(f"connect to {path}: {e.strerror or e}") from None


def _absent(what: str, name: str) -> HutchError:
    verb = "ps" if what == "sandbox" else "pool ls"
    return NotFoundError(f"no {what} named {name!r} is running",
                         remedy=f"hutch {verb} lists the {what}{'es' if what == 'sandbox' else 's'}")
