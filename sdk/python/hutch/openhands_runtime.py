"""OpenHands 0.62's runtime in a sandbox: HutchRuntime, chosen by its dotted name.

    runtime = "hutch.openhands_runtime.HutchRuntime"

in OpenHands' config.toml.  Its actions are those of hutch, so nothing of OpenHands runs in the
sandbox.  `import hutch` does not import this module, which needs openhands-ai (0.62.0 was tested)
and so Python 3.12.
"""
from __future__ import annotations

import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional

try:
    from openhands.core.exceptions import AgentRuntimeDisconnectedError, AgentRuntimeNotFoundError
    from openhands.events.action import Action, CmdRunAction, FileEditAction
    from openhands.events.event import FileEditSource
    from openhands.events.observation import ErrorObservation, Observation
    from openhands.events.serialization import event_to_dict, observation_from_dict
    from openhands.runtime.base import Runtime
    from openhands.runtime.runtime_status import RuntimeStatus
    from openhands.utils.async_utils import call_sync_from_async
except ImportError as e:
    raise ImportError(f"hutch.openhands_runtime needs openhands-ai: {e}; install it with `pip install "
                      "openhands-ai==0.62.0` for Python 3.12, or use the Python that has it", name=e.name) from e

from .errors import DisconnectedError, HutchError, NotFoundError
from .sandbox import Sandbox

PLUGINS = {"jupyter": "jupyter", "agent_skills": "agent_skills", "vscode": "vscode"}
# OpenHands' names of limits are those of docker's Python package.
LIMITS = {"mem_limit": "memory", "cpus": "cpus", "pids_limit": "pids_limit", "shm_size": None}


class HutchRuntime(Runtime):
    """A sandbox of hutch for one conversation.  `sandbox.runtime_container_image` is its image;
    without one its root is the host's /usr."""

    box: Optional[Sandbox] = None

    @property
    def action_execution_server_url(self) -> str:
        return ""

    # --- its life ---

    async def connect(self) -> None:
        self.set_runtime_status(RuntimeStatus.STARTING_RUNTIME)
        await call_sync_from_async(self._connect)
        self._runtime_initialized = True
        self.set_runtime_status(RuntimeStatus.READY)

    def _connect(self) -> None:
        name = name_of(self.sid)
        if self.attach_to_existing:
            try:
                self.box = Sandbox.attach(name)
            except NotFoundError as e:
                raise AgentRuntimeNotFoundError(str(e)) from e
            return
        self.box = Sandbox(name, **self._flags()).start()
        self.setup_initial_env()

    def _flags(self) -> Dict[str, Any]:
        sandbox = self.config.sandbox
        inside = self.config.workspace_mount_path_in_sandbox
        flags: Dict[str, Any] = {"plugin": self._plugins(), "network": "host" if sandbox.use_host_network else "none",
                                 "workdir": inside, "volume": self._volumes(inside),
                                 "env": dict(sandbox.runtime_startup_env_vars or {})}
        if sandbox.runtime_container_image:
            flags["image"] = sandbox.runtime_container_image
        if sandbox.enable_auto_lint:
            flags["lint"] = True
        if not self.config.run_as_openhands:
            flags["user"] = "root"
        for key, flag in LIMITS.items():
            if flag and key in (sandbox.docker_runtime_kwargs or {}):
                flags[flag] = sandbox.docker_runtime_kwargs[key]
        return flags

    def _plugins(self) -> List[str]:
        names = [PLUGINS[p.name] for p in self.plugins if p.name in PLUGINS]
        return names + (["browser"] if self.config.enable_browser else [])

    def _volumes(self, inside: str) -> List[str]:
        """The folders of `sandbox.volumes`, HOST:INSIDE[:MODE], and of the workspace."""
        words = [w for w in (self.config.sandbox.volumes or "").split(",") if w]
        made = [":".join((w + ":rw").split(":")[:3]).replace(":overlay", ":cow") for w in words]
        if self.config.workspace_mount_path and not any(w.split(":")[1] == inside for w in made):
            made.append(f"{self.config.workspace_mount_path}:{inside}")
        return made

    def close(self) -> None:
        box, self.box = self.box, None
        if box is None:
            return
        if self.config.sandbox.keep_runtime_alive or self.attach_to_existing:
            box.close()
        else:
            box.stop(0)

    def pause(self) -> None:
        self._box().pause()

    def resume(self) -> None:
        self._box().unpause()

    @classmethod
    async def delete(cls, conversation_id: str) -> None:
        try:
            box = Sandbox.attach(name_of(conversation_id))
        except HutchError:
            return
        await call_sync_from_async(box.stop, 0)

    def _box(self) -> Sandbox:
        if self.box is None:
            raise AgentRuntimeDisconnectedError("The sandbox is not connected.")
        return self.box

    # --- actions ---

    def _do(self, action: Action) -> Observation:
        if action.timeout is None:
            action.set_hard_timeout(self.config.sandbox.timeout, blocking=False)
        try:
            done = self._box().act(event_to_dict(action)).raw
        except DisconnectedError as e:
            raise AgentRuntimeDisconnectedError(str(e)) from e
        observation = observation_from_dict(done)
        observation._cause = action.id
        return observation

    def run(self, action: CmdRunAction) -> Observation:
        if action.blocking and action.timeout is None:
            raise RuntimeError("Blocking command with no timeout set")
        return self._do(action)

    run_ipython = read = write = browse = browse_interactive = _do

    def edit(self, action: FileEditAction) -> Observation:
        if action.impl_source == FileEditSource.LLM_BASED_EDIT:
            return self.llm_based_edit(action)
        return self._do(action)

    def get_mcp_config(self, extra_stdio_servers: Any = None) -> Any:
        """The configured servers that have an address.  OpenHands would start the command of a stdio
        server on this host, outside of the sandbox, and a microagent of the repository that the
        agent works on may name such a server (`extra_stdio_servers`)."""
        return self.config.mcp.model_copy(update={"stdio_servers": []})

    async def call_tool_mcp(self, action: Any) -> Observation:
        from openhands.mcp.utils import call_tool_mcp, create_mcp_clients
        mcp = self.get_mcp_config()
        clients = await create_mcp_clients(mcp.sse_servers, mcp.shttp_servers, self.sid)
        if not clients:
            return ErrorObservation("No MCP server is configured, or none could be reached.")
        return await call_tool_mcp(clients, action)

    # --- files ---

    def list_files(self, path: Optional[str] = None) -> List[str]:
        try:
            o = self._box().list(path or ".")
        except HutchError:
            return []
        return sorted(o.lines, key=lambda name: (not name.endswith("/"), name.lower()))

    def copy_to(self, host_src: str, sandbox_dest: str, recursive: bool = False) -> None:
        if not os.path.exists(host_src):
            raise FileNotFoundError(f"Source file {host_src} does not exist")
        self._box().mkdir(sandbox_dest)
        self._box().upload(host_src, sandbox_dest.rstrip("/") + "/")

    def copy_from(self, path: str) -> Path:
        """Copies out a file or a folder, and gives the path of a zip archive with it.  A link at `path`
        is followed inside.  Links in the copy would lead to files of this host, and are left out."""
        zipped = tempfile.NamedTemporaryFile(suffix=".zip", delete=False)
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            copy = os.path.join(folder, "copy")
            self._box().download(path, copy, follow=True)
            is_folder = os.path.isdir(copy) and not os.path.islink(copy)
            for file in sorted(Path(copy).rglob("*")) if is_folder else [Path(copy)]:
                if not file.is_symlink():
                    archive.write(file, file.relative_to(copy) if is_folder else os.path.basename(path))
        return Path(zipped.name)

    # --- others ---

    @property
    def vscode_url(self) -> Optional[str]:
        """The address of the editor, with its token; None: the plugin is not there, or not ready."""
        if not self.vscode_enabled or self.box is None:
            return None
        for plugin in self.box.info().plugins:
            if plugin.name == "vscode" and plugin.state == "ready":
                return plugin.url
        return None

    @property
    def web_hosts(self) -> Dict[str, int]:
        return {}


def name_of(sid: str) -> str:
    """The name of the sandbox of a conversation."""
    return "openhands-" + re.sub(r"[^A-Za-z0-9_.-]", "-", sid)[:50]
