"""hutch: a safe place for an agent to act on this machine.

    with hutch.Sandbox(workspace=".:cow") as box:
        print(box.run("make").text)

docs/python.md is the manual.
"""
from .aio import AsyncEvents, AsyncSandbox
from .aio_process import AsyncInput, AsyncOutput, AsyncProcess
from .errors import (ActionCancelledError, ActionEndedError, ActionError, ActionRefusedError,
                     ActionTooLargeError, AgentRuntimeBuildError, AgentRuntimeDisconnectedError,
                     AgentRuntimeError, AgentRuntimeNotFoundError, AgentRuntimeNotReadyError,
                     AgentRuntimeTimeoutError, AgentRuntimeUnavailableError, BuildError, BusyError,
                     CallbackError, CommandError, DisconnectedError, ExistsError, FileMissingError,
                     ForkedError, HutchError, InternalError, InvalidActionError, InvalidError,
                     LimitError, NoSpaceError, NotAppliedError, NotFoundError, ProtocolError,
                     RefusedError, TimeoutError, UnavailableError, UnsupportedError)
from .observations import (EditObservation, EnvObservation, ErrorObservation, Hutch,
                           MoveObservation, NamesObservation, NullObservation, Observation,
                           PathObservation, ReadObservation, Refusal, RunObservation, Stat,
                           StatObservation)
from .process import Process
from .program import Ssh
from .records import (Ask, Change, Completed, End, Event, Exit, Info, Limits, LogEntry,
                      Port, ProcessInfo, Stats, Status)
from .sandbox import Events, Sandbox

__version__ = "0.1.0"
__all__ = [
    "ActionCancelledError", "ActionEndedError", "ActionError", "ActionRefusedError",
    "ActionTooLargeError", "AgentRuntimeBuildError", "AgentRuntimeDisconnectedError",
    "AgentRuntimeError", "AgentRuntimeNotFoundError", "AgentRuntimeNotReadyError",
    "AgentRuntimeTimeoutError", "AgentRuntimeUnavailableError", "Ask", "AsyncEvents",
    "AsyncInput", "AsyncOutput", "AsyncProcess", "AsyncSandbox", "BuildError", "BusyError",
    "CallbackError", "Change", "CommandError", "Completed", "DisconnectedError",
    "EditObservation", "End", "EnvObservation", "ErrorObservation", "Event", "Events",
    "ExistsError", "Exit", "FileMissingError", "ForkedError", "Hutch", "HutchError", "Info",
    "InternalError", "InvalidActionError", "InvalidError", "LimitError", "Limits", "LogEntry",
    "MoveObservation", "NamesObservation", "NoSpaceError", "NotAppliedError", "NotFoundError",
    "NullObservation", "Observation", "PathObservation", "Port", "Process", "ProcessInfo",
    "ProtocolError", "ReadObservation", "Refusal", "RefusedError", "RunObservation", "Sandbox",
    "Ssh", "Stat", "StatObservation", "Stats", "Status", "TimeoutError", "UnavailableError",
    "UnsupportedError",
]
