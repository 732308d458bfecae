"""OpenHands' agent-server in a sandbox: HutchWorkspace, a Workspace of openhands-sdk.

docs/recipes/openhands-v1.md is the manual.  `import hutch` does not import this module, which is
the only one with openhands-sdk (1.58.2 was tested), and so needs what that needs: Python 3.12.
"""
from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import json
import pathlib
import secrets
import sys
import threading
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union
from urllib.error import URLError
from urllib.request import Request, urlopen

try:
    from openhands.sdk.logger import get_logger
    from openhands.sdk.workspace import RemoteWorkspace
    from pydantic import Field, PrivateAttr, SecretStr
except ImportError as e:
    raise ImportError(f"hutch.openhands needs openhands-sdk: {e}; install it and its server with "
                      "`pip install openhands-sdk openhands-agent-server` for Python 3.12 or later, or use "
                      "the Python that has them", name=e.name) from e

from .errors import BuildError, DisconnectedError, HutchError, InvalidError, NotFoundError, TimeoutError
from .process import Process
from .program import Program
from .records import Change
from .sandbox import Sandbox

logger = get_logger(__name__)

PORT = 8000
# uvicorn logs this once the server listens.
LISTENS = b"Uvicorn running on"
LINES_KEPT = 40
LINE_MAX = 1 << 16
# The server would keep its records below /workspace, where they would be changes of the agent's.
STATE = "/tmp/.openhands"
SERVER_ENV = {"OH_CONVERSATIONS_PATH": f"{STATE}/conversations", "OH_BASH_EVENTS_DIR": f"{STATE}/bash_events",
              "OH_PERSISTENCE_DIR": f"{STATE}/settings", "LOG_LEVEL": "INFO",
              "LOG_JSON": "true"}  # a line that says that it listens is whole then


class HutchWorkspace(RemoteWorkspace):
    """A sandbox of hutch with the stock agent-server in it; the sandbox ends with the `with`,
    with cleanup(), or with this program, however that ends.  Its root is the host's /usr with a
    `venv`, or an `image`, or the copy of a `snapshot` or a sandbox."""

    working_dir: str = Field(default="/workspace", description="Where the agent works, inside.")
    host: str = Field(default="", description="The server's address; set when it is there.")
    image: Optional[str] = Field(default=None, description="An image; None: the host's /usr.")
    snapshot: Optional[str] = Field(default=None, description="A snapshot, image or sandbox to copy.")
    venv: Union[str, pathlib.Path, None] = Field(
        default=None, description="A virtual environment with openhands-agent-server; for the host's "
        "/usr the default is this program's own.")
    server: Optional[List[str]] = Field(
        default=None, description="The server's command; the default is the venv's, or the image's.")
    workspace: Union[str, pathlib.Path, None] = Field(
        default=None, description='The host\'s folder for /workspace: "project:cow".')
    memory: Union[int, str, None] = Field(default=None, description="The most memory.")
    cpus: Optional[float] = Field(default=None, description="The most processors.")
    pids_limit: Optional[int] = Field(default=None, description="The most processes.")
    allow: List[str] = Field(default_factory=list, description="The hosts that it may reach: rules of hutch-net.")
    env: Dict[str, str] = Field(default_factory=dict, description="Variables of the server.")
    secret: Dict[str, SecretStr] = Field(default_factory=dict, description="The same, but secret.")
    sandbox_flags: Dict[str, Any] = Field(
        default_factory=dict, description="More keyword arguments of hutch.Sandbox.")
    health_check_timeout: float = Field(default=120.0, gt=0, description="Seconds until the server answers.")

    _box: Optional[Sandbox] = PrivateAttr(default=None)

    def model_post_init(self, context: Any) -> None:
        if self.image is not None and self.snapshot is not None:
            raise InvalidError("HutchWorkspace: image and snapshot are both given", remedy="give one of them")
        self.api_key = self.api_key or secrets.token_hex(32)
        try:
            self._start()
        except BaseException:
            self.cleanup()
            raise
        super().model_post_init(context)
        logger.info("sandbox %s: the agent-server answers at %s", self.sandbox.name, self.host)

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox itself: exec(), copies, net, stats(), logs(), ..."""
        if self._box is None:
            raise InvalidError("HutchWorkspace: its sandbox has ended", remedy="make another workspace")
        return self._box

    # --- its beginning ---

    def _start(self) -> None:
        venv = self._venv()
        box = self._make(self._flags(venv))
        argv = ["sh", "-c", 'exec "$@" 2>&1', "sh", *self._command(venv), "--host", "127.0.0.1",
                "--port", str(PORT)]
        # A connection of its own, since the supervisor would wait for one that does not read on.
        said: "collections.deque[bytes]" = collections.deque(maxlen=LINES_KEPT)
        with _deadline(box, self.health_check_timeout, said), \
                Sandbox.attach(box.name, program=box.program.given) as other:
            _await_line(other.popen(argv, cwd=self.working_dir, detach=True), said)
        self.host = "http://" + next(port.host for port in box.ports() if port.guest == PORT)
        self._check_health()

    def _make(self, flags: Dict[str, Any]) -> Sandbox:
        """Makes the sandbox.  It ends with this process, even by SIGKILL, unless its options do not
        go with a lease (hutch-create(1), --lease): a policy may publish ports."""
        if self.snapshot is not None:
            self._box = Sandbox.fork_of(self.snapshot, **flags)
            return self._box
        leases = (Program(flags.get("program")).is_local and not flags.get("keep_files")
                  and flags.get("policy") is None)
        ports = flags.pop("publish") if leases else ()
        box = self._box = Sandbox(image=self.image, **flags)
        if leases:
            box._lease()
        box.start()
        if ports:
            box.publish(*ports)
        return box

    def _flags(self, venv: Optional[pathlib.Path]) -> Dict[str, Any]:
        """Flags of hutch create; those of the caller's count."""
        flags = {"workspace": self.workspace, "memory": self.memory, "cpus": self.cpus,
                 "pids_limit": self.pids_limit, "allow": self.allow or None,
                 "ulimit": {"nofile": _most_files()}, **self.sandbox_flags}
        if venv is not None:
            flags["volume"] = [*_list(flags.get("volume")), *_mounts(venv)]
        flags["publish"] = [*_list(flags.get("publish")), f"auto:{PORT}"]
        flags["env"] = {**SERVER_ENV, **flags.get("env", {}), **self.env}
        flags["secret"] = {**flags.get("secret", {}), "OH_SESSION_API_KEYS_0": self.api_key,
                           **{name: value.get_secret_value() for name, value in self.secret.items()}}
        return flags

    def _venv(self) -> Optional[pathlib.Path]:
        if self.venv is not None:
            venv = pathlib.Path(self.venv).absolute()
        elif self.image is not None or self.snapshot is not None or self.server is not None:
            return None
        else:
            venv = pathlib.Path(sys.prefix)
        if not (venv / "bin/python").exists():
            raise NotFoundError(f"HutchWorkspace: {venv} is no virtual environment: it has no bin/python",
                                remedy="venv= names one with openhands-agent-server, image= an image")
        return venv

    def _command(self, venv: Optional[pathlib.Path]) -> List[str]:
        if self.server is not None:
            return self.server
        if venv is not None:
            return [str(venv / "bin/python"), "-m", "openhands.agent_server"]
        words = self._entrypoint()
        if not words:
            raise InvalidError(f"image {self.image or self.snapshot} has no ENTRYPOINT",
                               remedy='server=["python3", "-m", "openhands.agent_server"] names the command')
        return words

    def _entrypoint(self) -> List[str]:
        """The words with which an image of the agent-server begins, without arguments."""
        said = self.sandbox._program("image", ["inspect", "--", self.sandbox.info().image])
        return list(json.loads(said)[0]["entrypoint"])

    def _check_health(self) -> None:
        try:
            with urlopen(f"{self.host}/health", timeout=self.health_check_timeout) as answer:
                answer.read()
        except (URLError, OSError) as e:
            raise DisconnectedError(f"the agent-server in sandbox {self.sandbox.name} does not answer: {e}",
                                    remedy=f"hutch logs {self.sandbox.name} shows its output") from e

    # --- its life ---

    def pause(self) -> None:
        """Stops everything inside; connections stay."""
        self.sandbox.pause()

    def resume(self) -> None:
        self.sandbox.unpause()
        self._check_health()

    def fork(self, **changes: Any) -> "HutchWorkspace":
        """Makes another workspace, with a server of its own, whose root begins as a copy of this
        one's.  Only a sandbox of an image has such a root."""
        mine = {name: getattr(self, name) for name in self.model_fields_set & set(type(self).model_fields)}
        for name in ("image", "host", "api_key"):
            mine.pop(name, None)
        return type(self)(**{**mine, "snapshot": self.sandbox.name, **changes})

    def take_snapshot(self, ref: Optional[str] = None) -> str:
        """Makes an image of the root, which `snapshot=` takes, and gives its name."""
        return self.sandbox.snapshot(ref)

    def diff(self, *paths: str) -> List[Change]:
        """What was changed; for a `workspace` with :cow, compared with the host's folder."""
        return self.sandbox.diff(*paths)

    def apply(self, *paths: str, **switches: bool) -> List[str]:
        """Puts the changes into the host's folder, all or none of them."""
        return self.sandbox.apply(*paths, **switches)

    def cleanup(self) -> None:
        """Ends the sandbox.  Changes that were not applied are kept: hutch-diff(1)."""
        self.reset_client()
        box, self._box = self._box, None
        if box is not None and box._link is not None:
            with contextlib.suppress(HutchError):
                box.kill()
            box.close()

    def __exit__(self, *exc: Any) -> None:
        try:
            super().__exit__(*exc)
        finally:
            self.cleanup()

    def __del__(self) -> None:
        if getattr(self, "__pydantic_private__", None) is not None and not sys.is_finalizing():
            self.cleanup()


class HutchPool:
    """Workspaces whose servers listen already, each handed out once.  `size` are kept ready, with
    these arguments of HutchWorkspace.  The pool ends with the `with`, or with close(); workspaces
    that were taken live on."""

    def __init__(self, size: int = 2, **arguments: Any) -> None:
        if size < 1:
            raise InvalidError(f"HutchPool: size is {size}", remedy="a pool keeps at least one ready")
        # The server waits for POST /api/init before it makes anything that depends on its variables.
        self._arguments = {**arguments, "env": {**arguments.get("env", {}), "OH_DEFERRED_INIT": "true"}}
        self._threads = concurrent.futures.ThreadPoolExecutor(thread_name_prefix="hutch-pool")
        self._waiting = collections.deque(self._begin() for _ in range(size))

    def _begin(self) -> "concurrent.futures.Future[HutchWorkspace]":
        return self._threads.submit(lambda: HutchWorkspace(**self._arguments))

    def take(self, env: Optional[Dict[str, str]] = None) -> HutchWorkspace:
        """Hands out a workspace, whose server gets these variables as well; if none is ready,
        waits for one.  The pool makes another in its place."""
        failed: Optional[OSError] = None
        for _ in range(len(self._waiting) + 1):
            self._waiting.append(self._begin())
            workspace = self._waiting.popleft().result()
            try:
                _initialize(workspace, env or {})
                return workspace
            except OSError as e:  # its sandbox may have ended while it waited
                failed = e
                workspace.cleanup()
        raise DisconnectedError(f"no agent-server of the pool can be initialized: {failed}",
                                remedy="openhands-agent-server 1.34 and later can be") from failed

    def close(self) -> None:
        """Ends what waits."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for start in self._waiting:
            with contextlib.suppress(Exception, concurrent.futures.CancelledError):
                start.result().cleanup()
        self._waiting.clear()

    def __enter__(self) -> "HutchPool":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


def _initialize(workspace: HutchWorkspace, env: Dict[str, str]) -> None:
    """Ends the waiting of a server that has begun with OH_DEFERRED_INIT.  Its key of a session is
    that of the initialization, too, unless OH_SECRET_KEY is set."""
    key = workspace.env.get("OH_SECRET_KEY") or workspace.api_key or ""
    asked = Request(f"{workspace.host}/api/init", data=json.dumps({"env": env}).encode(), method="POST",
                    headers={"Content-Type": "application/json", "X-Init-API-Key": key})
    with urlopen(asked, timeout=workspace.health_check_timeout) as answer:
        answer.read()


def _list(value: Any) -> List[Any]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _most_files() -> str:
    """As many descriptors as OpenHands asks docker for, or what this host has."""
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return str(65536 if hard == resource.RLIM_INFINITY else min(hard, 65536))


def _mounts(venv: pathlib.Path) -> List[str]:
    """The venv and the Python that it was made of, which need not be below /usr."""
    folders = [venv]
    with contextlib.suppress(OSError):
        for line in (venv / "pyvenv.cfg").read_text().splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "home":
                folders.append(pathlib.Path(value.strip()).parent)
    folders.append((venv / "bin/python").resolve().parent.parent)
    made = dict.fromkeys(str(folder) for folder in folders)
    return [f"{path}:{path}:ro" for path in made if path != "/usr" and not path.startswith("/usr/")]


@contextlib.contextmanager
def _deadline(box: Sandbox, seconds: float, said: "collections.deque[bytes]") -> Iterator[None]:
    """Ends the sandbox if the block takes longer, so that nothing in the block waits any more."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        box._undo()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield
    except HutchError:
        if is_late.is_set():
            raise TimeoutError(f"the agent-server did not listen within {seconds:g} s: {_text(said)}",
                               remedy="health_check_timeout= gives it more") from None
        raise
    finally:
        timer.cancel()


def _text(said: "collections.deque[bytes]") -> str:
    return b"".join(said).decode("utf-8", "replace").strip()


def _await_line(process: Process, said: "collections.deque[bytes]") -> None:
    """Reads the server's output until it listens; its end is an error with its last lines."""
    for line in iter(lambda: process.stdout.readline(LINE_MAX), b""):
        if LISTENS in line:
            return
        said.append(line)
    ended, text = process.wait(), _text(said)
    raise BuildError(f"the agent-server ended with code {ended.exit_code} before it listened: {text}",
                     remedy="its Python needs openhands-agent-server" if "openhands" in text else None)


__all__: Sequence[str] = ["HutchPool", "HutchWorkspace"]
