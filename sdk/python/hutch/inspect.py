"""Sandboxes of hutch for Inspect: `sandbox="hutch"`, or `("hutch", "compose.yaml")`.

docs/recipes/inspect_ai.md is the manual.  The entry point `inspect_ai` of this package names this
module, and inspect_ai imports it; `import hutch` does not.  Tested with inspect_ai 0.3.285.
"""
from __future__ import annotations

import errno
import json
import os
import secrets
import shlex
import subprocess
from typing import Any, Dict, List, Optional, Set, Union

try:
    from inspect_ai.util import (ComposeConfig, ComposeService, ExecResult, OutputLimitExceededError,
                                 SandboxConnection, SandboxEnvironment, SandboxEnvironmentLimits,
                                 SandboxUnavailableError, SandboxUserUnsupportedError, is_compose_yaml,
                                 parse_compose_yaml, sandboxenv)
    from pydantic import BaseModel, ConfigDict
except ImportError as e:
    raise ImportError(f"hutch.inspect needs inspect_ai 0.3.285 or later: {e}; `pip install inspect_ai`, "
                      "or use the Python that has it", name=e.name) from e

from .aio import AsyncSandbox
from .errors import (DisconnectedError, FolderError, HutchError, InvalidError, LimitError, NotFoundError,
                     UnsupportedError)
from .program import Program

PREFIX = "inspect-"
# Keys of a service that change nothing here: a sandbox waits for commands, and has an init.
WITHOUT_MEANING = {"command", "init", "x_default", "stop_grace_period", "stdin_open", "tty", "container_name"}
AS_FLAGS = {"image": "image", "working_dir": "workdir", "environment": "env", "user": "user",
            "env_file": "env_file", "hostname": "hostname", "read_only": "read_only", "cap_add": "cap_add",
            "cap_drop": "cap_drop", "tmpfs": "tmpfs", "mem_limit": "memory", "cpus": "cpus",
            "pids_limit": "pids_limit"}
NETWORKS = {None: "none", "none": "none", "host": "host"}


class HutchSandboxConfig(BaseModel, frozen=True):
    """The keyword arguments of hutch.Sandbox for each sandbox of a sample: `image`, `memory`, ..."""

    model_config = ConfigDict(extra="allow")

    def flags(self) -> Dict[str, Any]:
        return dict(self.model_extra or {})

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


Config = Union[BaseModel, str, None]


@sandboxenv(name="hutch")
class HutchSandboxEnvironment(SandboxEnvironment):
    """A sandbox of hutch.  Without a configuration, its root is the host's /usr, it has an empty
    /workspace, and no network."""

    _left: Set["HutchSandboxEnvironment"] = set()

    def __init__(self, box: AsyncSandbox) -> None:
        super().__init__()
        self.box = box

    # --- its life ---

    @classmethod
    def config_files(cls) -> List[str]:
        return ["compose.yaml", "compose.yml"]

    @classmethod
    def config_deserialize(cls, config: Dict[str, Any]) -> BaseModel:
        return HutchSandboxConfig(**config)

    @classmethod
    async def sample_init(cls, task_name: str, config: Config,
                          metadata: Dict[str, str]) -> Dict[str, SandboxEnvironment]:
        made: Dict[str, SandboxEnvironment] = {}
        try:
            for name, flags in sandboxes(config).items():
                box = AsyncSandbox(f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}", **flags)
                made[name] = env = cls(await box.start())
                cls._left.add(env)
        except BaseException:
            await cls._end(made)
            raise
        return made

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Config,
                             environments: Dict[str, SandboxEnvironment], interrupted: bool) -> None:
        if not interrupted:  # else task_cleanup() does it: this task may not wait any more
            await cls._end(environments)

    @classmethod
    async def task_cleanup(cls, task_name: str, config: Config, cleanup: bool) -> None:
        left = {env.box.name: env for env in cls._left}
        if cleanup:
            return await cls._end(left)
        for env in left.values():
            await env.box.close()
        cls._left.clear()
        if left:
            print("These sandboxes live on; `hutch kill NAME` ends one:", *left)

    @classmethod
    async def cli_cleanup(cls, id: Optional[str]) -> None:
        """`inspect sandbox cleanup hutch [NAME]`"""
        program = Program()
        said = subprocess.run(program.command("ps", "--json"), stdout=subprocess.PIPE, check=True).stdout
        names = [one["name"] for one in json.loads(said) if one["name"].startswith(PREFIX)]
        names = names if id is None else [name for name in names if name == id]
        if names:
            subprocess.run(program.command("kill", "--", *names), check=True)

    @classmethod
    async def _end(cls, environments: Dict[str, SandboxEnvironment]) -> None:
        for env in environments.values():
            if isinstance(env, cls):
                cls._left.discard(env)
                try:
                    await env.box.kill()
                except HutchError:  # it has ended already
                    pass
                finally:
                    await env.box.close()

    # --- what a sample does in it ---

    async def exec(self, cmd: List[str], input: Union[str, bytes, None] = None, cwd: Optional[str] = None,
                   env: Optional[Dict[str, str]] = None, user: Optional[str] = None,
                   timeout: Optional[int] = None, timeout_retry: bool = True,
                   concurrency: bool = True) -> ExecResult[str]:
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        try:
            done = await self.box.exec(cmd, input=input.encode() if isinstance(input, str) else input, cwd=cwd,
                                       env=env, user=user, timeout=timeout, max_output=most)
        except LimitError as e:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, None) from e
        except HutchError as e:
            return _not_started(e, user)
        if done.timed_out:
            raise TimeoutError(f"the command has not ended within {timeout} s")
        return ExecResult(done.exit_code == 0, done.exit_code, _text(done.stdout), _text(done.stderr))

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        data = contents.encode() if isinstance(contents, str) else contents
        try:
            await self.box.write_bytes(file, data, parents=True)
        except FolderError as e:
            raise _is_folder(file) from e

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:  # type: ignore[override]
        try:
            data = await self.box.read_bytes(file, SandboxEnvironmentLimits.MAX_READ_FILE_SIZE)
        except LimitError as e:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None) from e
        except FolderError as e:
            raise _is_folder(file) from e
        return data.decode("utf-8") if text else data

    async def connection(self, *, user: Optional[str] = None) -> SandboxConnection:
        as_user = [] if user is None else ["-u", user]
        words = self.box.program.command("exec", "-it", *as_user, self.box.name, "--", "bash", "-l")
        return SandboxConnection(type="hutch", command=shlex.join(words), container=self.box.name)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _is_folder(file: str) -> IsADirectoryError:
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)


def _not_started(error: HutchError, user: Optional[str]) -> ExecResult[str]:
    """What inspect_ai expects of a command that could not be started."""
    if error.exit_code == 126:
        raise PermissionError(str(error)) from error
    if error.exit_code == 127:
        return ExecResult(False, 127, "", str(error))
    if isinstance(error, DisconnectedError):
        raise SandboxUnavailableError(str(error)) from error
    if user is not None and isinstance(error, (InvalidError, UnsupportedError, NotFoundError)):
        raise SandboxUserUnsupportedError(str(error)) from error
    raise error


# --- configurations ---


def sandboxes(config: Config) -> Dict[str, Dict[str, Any]]:
    """The flags of each sandbox of a sample, the default one first."""
    if isinstance(config, str) and is_compose_yaml(config):
        folder = os.path.dirname(os.path.abspath(config))
        return _services(parse_compose_yaml(config), folder)
    if isinstance(config, ComposeConfig):
        return _services(config, os.getcwd())
    if isinstance(config, HutchSandboxConfig):
        return {"default": config.flags()}
    if isinstance(config, str):
        return {"default": {"image": config}}
    if config is None:
        return {"default": {}}
    raise InvalidError(f"sandbox hutch: a {type(config).__name__} is no configuration of it",
                       remedy="compose.yaml, an image, or a HutchSandboxConfig")


def _services(compose: ComposeConfig, folder: str) -> Dict[str, Dict[str, Any]]:
    names = sorted(compose.services, key=lambda name: not _is_default(name, compose.services[name]))
    if not names:
        raise InvalidError("sandbox hutch: the compose file has no service")
    made = {name: flags_of(name, compose.services[name], folder) for name in names}
    return {"default" if name == names[0] else name: flags for name, flags in made.items()}


def _is_default(name: str, service: ComposeService) -> bool:
    return bool(service.x_default) or name == "default"


def flags_of(name: str, service: ComposeService, folder: str) -> Dict[str, Any]:
    """The flags for a service; what hutch cannot do is an error, never left out in silence."""
    given = {key: value for key, value in service.model_dump(exclude_none=True).items() if not key.startswith("x-")}
    flags: Dict[str, Any] = {AS_FLAGS[key]: given.pop(key) for key in list(given) if key in AS_FLAGS}
    network = given.pop("network_mode", None)
    if network not in NETWORKS:
        raise InvalidError(f"service {name}: network_mode: {network} is not one of hutch's",
                           remedy='none, or x-hutch: {allow: ["example.org"]}')
    flags["network"] = NETWORKS[network]
    for key, flag in ("memory", "memory"), ("cpus", "cpus"):
        limits = ((given.get("deploy") or {}).get("resources") or {}).get("limits") or {}
        if key in limits:
            flags[flag] = limits[key]
    given.pop("deploy", None)
    if "volumes" in given:
        flags["volume"] = [_volume(name, one, folder) for one in given.pop("volumes")]
    ours = (service.extensions or {}).get("x-hutch") or {}
    if "allow" in ours and network is None:
        del flags["network"]
    cannot = sorted(set(given) - WITHOUT_MEANING)
    if cannot:
        raise InvalidError(f"service {name}: hutch cannot do {', '.join(cannot)} of a compose file",
                           remedy="take it out; x-hutch: has flags of hutch create")
    return {**flags, **ours}


def _volume(name: str, volume: Any, folder: str) -> str:
    if not isinstance(volume, str) or not volume.startswith((".", "/", "~")):
        raise InvalidError(f"service {name}: volume {volume!r} is no folder of this host",
                           remedy='write it as "./data:/data:ro"')
    source, colon, rest = volume.partition(":")
    return os.path.join(folder, os.path.expanduser(source)) + colon + rest
