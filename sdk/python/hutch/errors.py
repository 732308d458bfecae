"""What goes wrong, as exceptions.

Each has a `kind`, one word of docs/control.md, and a `remedy`, what would help, or None.
The names of OpenHands' runtime stand beside ours, so that code which catches those goes
on catching:

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
    """Whatever hutch says no to, and whatever happens to it."""

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
    """What was waited for has not come in time."""

    kind = "timeout"


class UnavailableError(HutchError):
    """The sandbox, or something in it, cannot be had: now, or at all."""


class BusyError(UnavailableError):
    """It cannot be had just now: paused, not ready, another one is at it."""

    kind = "busy"


class DisconnectedError(UnavailableError, ConnectionError):
    """The sandbox has ended, or whoever saw to it."""

    kind = "disconnected"


class ProtocolError(DisconnectedError):
    """The other end said what no supervisor says, and the connection was given up."""


class NotFoundError(UnavailableError, LookupError):
    """No sandbox, process or program has that name."""

    kind = "not_found"


class ExistsError(HutchError):
    """Something has that name already."""

    kind = "exists"


class InvalidError(HutchError, ValueError):
    """It cannot be asked for like that."""

    kind = "invalid"


class RefusedError(HutchError, PermissionError):
    """It is not permitted; the remedy is what would permit it."""

    kind = "refused"


class UnsupportedError(HutchError):
    """This sandbox, or this version, cannot do it."""

    kind = "unsupported"


class LimitError(HutchError):
    """It is more than a bound allows."""

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
    """check() was asked of a command that ended with another code than 0."""

    kind = "failed"


class CallbackError(HutchError):
    """A callback has thrown; `__cause__` is what.  The action has been answered all
    the same: `observation` says how.  A question that threw was answered with no."""

    kind = "callback"
    observation: "Optional[Observation]" = None


class ActionError(HutchError):
    """An action was not done.  `observation` is what an agent is told of it."""

    kind = "failed"
    observation: "Optional[Observation]" = None


class InvalidActionError(ActionError, InvalidError):
    """The action's values are wrong; nothing was done."""

    kind = "invalid"


class ActionRefusedError(ActionError, RefusedError):
    """A rule of the sandbox, or whoever was asked, does not allow it."""

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
    """The same of what is copied, which is no action and has no observation."""


class FolderError(InvalidError, IsADirectoryError):
    """A file was meant, and there is a folder."""


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
