"""The exceptions of hutch.

Each has a `kind`, one word of docs/control.md, and a `remedy`, a sentence or None.  The names
of OpenHands' runtime are aliases, so that code which catches those works unchanged:

    HutchError                      AgentRuntimeError
      BuildError                    AgentRuntimeBuildError
      TimeoutError                  AgentRuntimeTimeoutError
      UnavailableError              AgentRuntimeUnavailableError
        BusyError                   AgentRuntimeNotReadyError
        DisconnectedError           AgentRuntimeDisconnectedError
        NotFoundError               AgentRuntimeNotFoundError

Where Python has a name for it (PermissionError, TimeoutError, FileNotFoundError,
ValueError), the exception is that, too.
"""
from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Dict, Optional, Tuple, Type

if TYPE_CHECKING:
    from .observations import Observation


class HutchError(Exception):
    """The base of all errors of hutch."""

    kind = "internal"
    exit_code: Optional[int] = None
    """Of what could not be started: 126 or 127, as a shell would have it."""

    def __init__(self, message: str, *, kind: Optional[str] = None,
                 remedy: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        if kind is not None:
            self.kind = kind

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class BuildError(HutchError):
    """A sandbox could not be made."""

    kind = "invalid"


class TimeoutError(HutchError, builtins.TimeoutError):  # noqa: A001
    """A time-out is over."""

    kind = "timeout"


class UnavailableError(HutchError):
    """The sandbox, or something in it, cannot be had: now, or at all."""


class BusyError(UnavailableError):
    """The sandbox cannot be used just now: it is paused, not ready, or busy."""

    kind = "busy"


class DisconnectedError(UnavailableError, ConnectionError):
    """The sandbox or its supervisor has ended."""

    kind = "disconnected"


class ProtocolError(DisconnectedError):
    """The other end broke the protocol, and the connection was closed."""


class NotFoundError(UnavailableError, LookupError):
    """No sandbox, process or program has that name."""

    kind = "not_found"


class ExistsError(HutchError):
    """The name is taken already."""

    kind = "exists"


class InvalidError(HutchError, ValueError):
    """An argument is wrong."""

    kind = "invalid"


class RefusedError(HutchError, PermissionError):
    """It is not permitted; the remedy says what would permit it."""

    kind = "refused"


class UnsupportedError(HutchError):
    """This sandbox, or this version, cannot do it."""

    kind = "unsupported"


class LimitError(HutchError):
    """A bound is exceeded."""

    kind = "limit"


class NoSpaceError(HutchError, OSError):
    """The disk is full."""

    kind = "no_space"


class InternalError(HutchError):
    """An error of hutch's own."""


class ForkedError(HutchError):
    """A handle was used in a child of the process that had opened it."""

    kind = "invalid"


class NotAppliedError(HutchError):
    """Not all changes were applied; `applied` are the lines of those that were."""

    kind = "refused"
    applied: Tuple[str, ...] = ()


class CommandError(HutchError):
    """check() was called for a command whose exit code is not 0."""

    kind = "failed"


class CallbackError(HutchError):
    """A callback raised the exception in `__cause__`.  The action has an answer all the same:
    `observation`.  If on_ask raised, the question was answered with no."""

    kind = "callback"
    observation: "Optional[Observation]" = None


class ActionError(HutchError):
    """An action was not done.  `observation` is the answer for the agent."""

    kind = "failed"
    observation: "Optional[Observation]" = None


class InvalidActionError(ActionError, InvalidError):
    """The action's values are wrong; nothing was done."""

    kind = "invalid"


class ActionRefusedError(ActionError, RefusedError):
    """A rule of the sandbox, or the answer to its question, does not allow the action."""

    kind = "refused"


class ActionCancelledError(ActionError):
    """cancel() has ended it."""

    kind = "cancelled"


class ActionEndedError(ActionError, DisconnectedError):
    """The sandbox ended meanwhile."""

    kind = "disconnected"


class ActionTooLargeError(ActionError, LimitError):
    """More than an action can carry."""

    kind = "limit"


class FileMissingError(ActionError, FileNotFoundError):
    """There is no such file inside."""

    kind = "not_found"


class CopyMissingError(FileMissingError, NotFoundError):
    """The same for a copy, which is no action and has no observation."""


class FolderError(InvalidError, IsADirectoryError):
    """A folder is in the place of a file."""


KINDS: Dict[str, Type[HutchError]] = {
    "not_found": NotFoundError, "exists": ExistsError, "busy": BusyError,
    "invalid": InvalidError, "refused": RefusedError, "unsupported": UnsupportedError,
    "timeout": TimeoutError, "disconnected": DisconnectedError, "limit": LimitError,
    "no_space": NoSpaceError, "internal": InternalError,
}

ERROR_IDS: Dict[str, Type[ActionError]] = {
    "HUTCH$BAD_ACTION": InvalidActionError, "HUTCH$CANCELLED": ActionCancelledError,
    "HUTCH$REFUSED": ActionRefusedError, "HUTCH$SANDBOX_ENDED": ActionEndedError,
    "HUTCH$TOO_LARGE": ActionTooLargeError,
}

AgentRuntimeError = HutchError
AgentRuntimeBuildError = BuildError
AgentRuntimeTimeoutError = TimeoutError
AgentRuntimeUnavailableError = UnavailableError
AgentRuntimeNotReadyError = BusyError
AgentRuntimeDisconnectedError = DisconnectedError
AgentRuntimeNotFoundError = NotFoundError
