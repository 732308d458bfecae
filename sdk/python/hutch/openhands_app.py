"""Sandboxes of hutch for OpenHands' app server: a SandboxService that its settings name.

docs/recipes/openhands-v1.md is the manual.  openhands-ai 1.11.0 was tested.  The app server makes
a service for each request, so what its sandboxes are is kept here, for as long as it runs.
"""
from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import dataclasses
import datetime
import secrets
from typing import Any, AsyncGenerator, Dict, List, Optional, Sequence

from .openhands import HutchWorkspace

try:
    from openhands.app_server.errors import SandboxError
    from openhands.app_server.sandbox.preset_sandbox_spec_service import PresetSandboxSpecService
    from openhands.app_server.sandbox.sandbox_models import (AGENT_SERVER, WORKER_1, WORKER_2, ExposedUrl, SandboxInfo,
                                                             SandboxPage, SandboxRecord, SandboxStatus)
    from openhands.app_server.sandbox.sandbox_service import SandboxService, SandboxServiceInjector
    from openhands.app_server.sandbox.sandbox_spec_models import SandboxSpecInfo
    from openhands.app_server.sandbox.sandbox_spec_service import (SandboxSpecServiceInjector, get_agent_server_env,
                                                                   resolve_sandbox_spec)
    from openhands.sdk.logger import get_logger
    from pydantic import Field
except ImportError as e:
    raise ImportError(f"hutch.openhands_app needs the app server of OpenHands: {e}; install it with "
                      "`pip install openhands-ai` for Python 3.12 or 3.13", name=e.name) from e

logger = get_logger(__name__)

HOST_USR = "host"
"""The spec whose server runs from the host's /usr and the app server's own venv."""
PORTS = {8000: AGENT_SERVER, 8011: WORKER_1, 8012: WORKER_2}


@dataclasses.dataclass
class _Box:
    """A sandbox that was asked for.  `start` ends when its server answers."""

    id: str
    user: Optional[str]
    spec: str
    start: "concurrent.futures.Future[HutchWorkspace]"
    created: datetime.datetime = dataclasses.field(
        default_factory=lambda: datetime.datetime.now(datetime.timezone.utc))
    is_paused: bool = False

    def workspace(self) -> Optional[HutchWorkspace]:
        """The workspace once its server answers; None if it does not yet, or never will."""
        is_there = self.start.done() and not self.start.cancelled() and self.start.exception() is None
        return self.start.result() if is_there else None

    def status(self) -> SandboxStatus:
        if not self.start.done():
            return SandboxStatus.STARTING
        if self.workspace() is None:
            return SandboxStatus.ERROR
        return SandboxStatus.PAUSED if self.is_paused else SandboxStatus.RUNNING

    def info(self) -> SandboxInfo:
        status, workspace = self.status(), self.workspace()
        urls: Optional[List[ExposedUrl]] = None
        if workspace is not None and status == SandboxStatus.RUNNING:
            try:
                urls = [ExposedUrl(name=PORTS[port.guest], url=f"http://{port.host}", port=port.guest)
                        for port in workspace.sandbox.ports() if port.guest in PORTS]
            except Exception as e:  # hutch's error: the sandbox has ended meanwhile
                logger.warning("sandbox %s: %s", self.id, e)
                status = SandboxStatus.ERROR
        return SandboxInfo(id=self.id, created_by_user_id=self.user, sandbox_spec_id=self.spec, status=status,
                           session_api_key=workspace.api_key if workspace and urls else None,
                           exposed_urls=urls, created_at=self.created)


_boxes: Dict[str, _Box] = {}
_starters = concurrent.futures.ThreadPoolExecutor(thread_name_prefix="hutch")


@atexit.register
def _end_all() -> None:
    """Ends the sandboxes at an exit.  Where the app server is killed, as uvicorn kills itself by the
    SIGTERM that it got, this is not called, and their leases end them."""
    for box in list(_boxes.values()):
        _end(box)


def _end(box: _Box) -> None:
    _boxes.pop(box.id, None)
    if not box.start.cancel():
        with contextlib.suppress(Exception):  # it was logged when it came
            box.start.result().cleanup()


@dataclasses.dataclass
class HutchSandboxService(SandboxService):
    """The sandboxes of the app server's users, each a HutchWorkspace."""

    user_id: Optional[str]
    sandbox_spec_service: Any
    settings: "HutchSandboxServiceInjector"
    default_sandbox_spec_id: Optional[str] = None

    async def search_sandboxes(self, page_id: Optional[str] = None, limit: int = 100) -> SandboxPage:
        boxes = sorted(_boxes.values(), key=lambda box: box.created, reverse=True)
        start = int(page_id) if page_id and page_id.isdigit() else 0
        infos = await asyncio.to_thread(lambda: [box.info() for box in boxes[start:start + limit]])
        more = str(start + limit) if start + limit < len(boxes) else None
        return SandboxPage(items=infos, next_page_id=more)

    async def get_sandbox(self, sandbox_id: str) -> Optional[SandboxInfo]:
        box = _boxes.get(sandbox_id)
        return await asyncio.to_thread(box.info) if box else None

    async def get_sandbox_by_session_api_key(self, session_api_key: str) -> Optional[SandboxInfo]:
        box = _with_key(session_api_key)
        return await asyncio.to_thread(box.info) if box else None

    async def get_sandbox_record_by_session_api_key(self, session_api_key: str) -> Optional[SandboxRecord]:
        box = _with_key(session_api_key)
        return SandboxRecord(id=box.id, created_by_user_id=box.user) if box else None

    async def start_sandbox(self, sandbox_spec_id: Optional[str] = None,
                            sandbox_id: Optional[str] = None) -> SandboxInfo:
        await self.pause_old_sandboxes(self.settings.max_num_sandboxes - 1)
        spec = await resolve_sandbox_spec(sandbox_spec_id, self.default_sandbox_spec_id,
                                          self.sandbox_spec_service, logger)
        name = sandbox_id or secrets.token_hex(16)
        if name in _boxes:
            raise SandboxError(f"sandbox {name} is there already")
        start = _starters.submit(self._start, name, spec)
        box = _boxes[name] = _Box(name, self.user_id, spec.id, start)
        return box.info()

    def _start(self, name: str, spec: SandboxSpecInfo) -> HutchWorkspace:
        try:
            return HutchWorkspace(**self.settings.arguments(spec))
        except Exception as e:
            logger.error("sandbox %s did not start: %s", name, e)
            raise

    async def pause_sandbox(self, sandbox_id: str) -> bool:
        return await self._set_paused(sandbox_id, True)

    async def resume_sandbox(self, sandbox_id: str) -> bool:
        return await self._set_paused(sandbox_id, False)

    async def _set_paused(self, sandbox_id: str, is_paused: bool) -> bool:
        box = _boxes.get(sandbox_id)
        workspace = box.workspace() if box else None
        if box is None or workspace is None:
            return box is not None
        if box.is_paused != is_paused:
            await asyncio.to_thread(workspace.pause if is_paused else workspace.resume)
            box.is_paused = is_paused
        return True

    async def delete_sandbox(self, sandbox_id: str) -> bool:
        box = _boxes.get(sandbox_id)
        if box is None:
            return False
        await asyncio.to_thread(_end, box)
        return True


def _with_key(key: str) -> Optional[_Box]:
    for box in list(_boxes.values()):
        workspace = box.workspace()
        if workspace is not None and secrets.compare_digest(workspace.api_key or "", key):
            return box
    return None


class HutchSandboxServiceInjector(SandboxServiceInjector):
    """The app server's setting: OH_SANDBOX_KIND=hutch.openhands_app.HutchSandboxServiceInjector.
    Each field is a variable, too: OH_SANDBOX_MEMORY=4g."""

    host_port: int = Field(default=3000, description="The app server's own port, which the sandboxes report to.")
    max_num_sandboxes: int = Field(default=5, ge=2, description="The most that run at a time; the oldest is paused.")
    allow: List[str] = Field(default_factory=list, description="The hosts that they may reach: rules of hutch-net.")
    venv: Optional[str] = Field(default=None, description="As of HutchWorkspace.")
    workspace: Optional[str] = Field(default=None, description="The host's folder for /workspace, of all of them.")
    memory: Optional[str] = Field(default=None, description="The most memory of each.")
    cpus: Optional[float] = Field(default=None, description="The most processors of each.")
    pids_limit: Optional[int] = Field(default=None, description="The most processes of each.")
    health_check_timeout: float = Field(default=120.0, gt=0, description="Seconds until a server answers.")

    def arguments(self, spec: SandboxSpecInfo) -> Dict[str, Any]:
        """Those of the HutchWorkspace of a sandbox."""
        env = {**spec.initial_env,
               "OH_WEBHOOKS_0_BASE_URL": f"http://host.hutch.internal:{self.host_port}/api/v1/webhooks",
               **{name: str(port) for port, name in PORTS.items()}}
        ports = [f"auto:{port}" for port in PORTS if port != 8000]
        return {"image": None if spec.id == HOST_USR else spec.id, "env": env, "workspace": self.workspace,
                "venv": self.venv, "memory": self.memory, "cpus": self.cpus, "pids_limit": self.pids_limit,
                "health_check_timeout": self.health_check_timeout,
                "allow": [f"@host:{self.host_port}", *self.allow], "sandbox_flags": {"publish": ports}}

    async def inject(self, state: Any, request: Any = None) -> AsyncGenerator[SandboxService, None]:
        from openhands.app_server.config import get_sandbox_spec_service, get_user_context
        async with get_sandbox_spec_service(state, request) as specs, get_user_context(state, request) as user:
            yield HutchSandboxService(await user.get_user_id(), specs, self,
                                      await user.get_default_sandbox_spec_id())


class HutchSandboxSpecServiceInjector(SandboxSpecServiceInjector):
    """OH_SANDBOX_SPEC_KIND=hutch.openhands_app.HutchSandboxSpecServiceInjector: the images to
    choose from; the first is the default.  Without any: the host's /usr."""

    images: List[str] = Field(default_factory=list, description="Images of the agent-server.")

    async def inject(self, state: Any, request: Any = None) -> AsyncGenerator[PresetSandboxSpecService, None]:
        yield PresetSandboxSpecService(specs=[
            SandboxSpecInfo(id=name, command=None, initial_env=get_agent_server_env(),
                            working_dir="/workspace/project") for name in self.images or [HOST_USR]])


__all__: Sequence[str] = ["HutchSandboxService", "HutchSandboxServiceInjector", "HutchSandboxSpecServiceInjector"]
