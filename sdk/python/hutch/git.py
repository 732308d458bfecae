"""git in a sandbox: docs/actions.md, "git".  `git` of a Sandbox, and of an AsyncSandbox."""
from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Optional

from . import actions
from .fields import Object
from .observations import (ChangesObservation, DiffObservation, PathObservation,
                           RepositoryObservation)
from .records import Status

if TYPE_CHECKING:
    from .aio import AsyncSandbox
    from .sandbox import Sandbox

ORG_FOLDER = "microagents"
CLONING, HOOKS = "the repository is cloned", "git's hooks are installed"
SCRIPT, DONE = "the setup script is run", "it is set up"


def clone(url: str, path: Optional[str], token: Optional[str], user: Optional[str],
          branch: Optional[str], depth: Optional[int], session: Optional[str],
          timeout: Optional[float]) -> Object:
    return actions.action("git_clone", {"url": url, "path": path, "token": token, "user": user,
                                        "branch": branch, "depth": depth}, session, timeout)


def org_folder() -> str:
    """A name for the folder where an organisation's repository is cloned temporarily."""
    return "/tmp/hutch-org-" + secrets.token_hex(8)


def microagents(path: str, folder: Optional[str], session: Optional[str]) -> Object:
    return actions.action("microagents", {"path": path, "folder": folder}, session)


def setup_script(path: Optional[str], session: Optional[str], timeout: Optional[float]) -> Object:
    return actions.action("run_setup_script", {"path": path}, session, timeout)


def install_hooks(path: Optional[str], session: Optional[str]) -> Object:
    return actions.action("install_git_hooks", {"path": path}, session)


def _branch(name: str, path: Optional[str], create: bool, session: Optional[str]) -> Object:
    return actions.action("git_branch", {"name": name, "path": path, "create": create or None}, session)


def _changes(path: Optional[str], ref: Optional[str], limit: Optional[int],
             session: Optional[str], timeout: Optional[float]) -> Object:
    return actions.action("git_changes", {"path": path, "ref": ref, "limit": limit}, session, timeout)


def _diff(path: str, ref: Optional[str], session: Optional[str]) -> Object:
    return actions.action("git_diff", {"path": path, "ref": ref}, session)


def _setup(path: Optional[str], name: Optional[str], email: Optional[str], init: bool,
           session: Optional[str]) -> Object:
    return actions.action("git_setup", {"path": path, "name": name, "email": email,
                                        "init": init or None}, session)


class Git:
    """The git actions of a Sandbox."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box

    def clone(self, url: str, path: Optional[str] = None, *, token: Optional[str] = None,
              user: Optional[str] = None, branch: Optional[str] = None, depth: Optional[int] = None,
              session: Optional[str] = None, timeout: Optional[float] = None) -> RepositoryObservation:
        """Clones into a folder that does not exist or is empty; the token is sent to that
        server only and stored nowhere."""
        with self._box._setting_up(Status.SETTING_UP_WORKSPACE, CLONING):
            return self._box._do(RepositoryObservation, clone(url, path, token, user, branch, depth,
                                                              session, timeout))

    def branch(self, name: str, path: Optional[str] = None, *, create: bool = False,
               session: Optional[str] = None) -> RepositoryObservation:
        """Switches to a branch; nothing is fetched or merged."""
        return self._box._do(RepositoryObservation, _branch(name, path, create, session))

    def changes(self, path: Optional[str] = None, *, ref: Optional[str] = None,
                limit: Optional[int] = None, session: Optional[str] = None,
                timeout: Optional[float] = None) -> ChangesObservation:
        """Lists the differences from `ref`, or from where the branch began."""
        return self._box._do(ChangesObservation, _changes(path, ref, limit, session, timeout))

    def diff(self, path: str, *, ref: Optional[str] = None,
             session: Optional[str] = None) -> DiffObservation:
        """Gives a file as it is, and as it was."""
        return self._box._do(DiffObservation, _diff(path, ref, session))

    def setup(self, path: Optional[str] = None, *, name: Optional[str] = None,
              email: Optional[str] = None, init: bool = False,
              session: Optional[str] = None) -> PathObservation:
        """Sets safe.directory and the committer, and makes a repository if there is none."""
        return self._box._do(PathObservation, _setup(path, name, email, init, session))

    def install_hooks(self, path: Optional[str] = None, *,
                      session: Optional[str] = None) -> PathObservation:
        """Installs the repository's own check before each commit."""
        with self._box._setting_up(Status.SETTING_UP_GIT_HOOKS, HOOKS):
            return self._box._do(PathObservation, install_hooks(path, session))


class AsyncGit:
    """The git actions of an AsyncSandbox."""

    def __init__(self, box: AsyncSandbox) -> None:
        self._box = box

    async def clone(self, url: str, path: Optional[str] = None, *, token: Optional[str] = None,
                    user: Optional[str] = None, branch: Optional[str] = None,
                    depth: Optional[int] = None, session: Optional[str] = None,
                    timeout: Optional[float] = None) -> RepositoryObservation:
        """Clones into a folder that does not exist or is empty; the token is sent to that
        server only and stored nowhere."""
        async with self._box._setting_up(Status.SETTING_UP_WORKSPACE, CLONING):
            return await self._box._do(RepositoryObservation, clone(
                url, path, token, user, branch, depth, session, timeout))

    async def branch(self, name: str, path: Optional[str] = None, *, create: bool = False,
                     session: Optional[str] = None) -> RepositoryObservation:
        """Switches to a branch; nothing is fetched or merged."""
        return await self._box._do(RepositoryObservation, _branch(name, path, create, session))

    async def changes(self, path: Optional[str] = None, *, ref: Optional[str] = None,
                      limit: Optional[int] = None, session: Optional[str] = None,
                      timeout: Optional[float] = None) -> ChangesObservation:
        """Lists the differences from `ref`, or from where the branch began."""
        return await self._box._do(ChangesObservation, _changes(path, ref, limit, session, timeout))

    async def diff(self, path: str, *, ref: Optional[str] = None,
                   session: Optional[str] = None) -> DiffObservation:
        """Gives a file as it is, and as it was."""
        return await self._box._do(DiffObservation, _diff(path, ref, session))

    async def setup(self, path: Optional[str] = None, *, name: Optional[str] = None,
                    email: Optional[str] = None, init: bool = False,
                    session: Optional[str] = None) -> PathObservation:
        """Sets safe.directory and the committer, and makes a repository if there is none."""
        return await self._box._do(PathObservation, _setup(path, name, email, init, session))

    async def install_hooks(self, path: Optional[str] = None, *,
                            session: Optional[str] = None) -> PathObservation:
        """Installs the repository's own check before each commit."""
        async with self._box._setting_up(Status.SETTING_UP_GIT_HOOKS, HOOKS):
            return await self._box._do(PathObservation, install_hooks(path, session))
