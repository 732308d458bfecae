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
                     FolderError, ForkedError, HutchError, InternalError, InvalidActionError, InvalidError,
                     LimitError, NoSpaceError, NotAppliedError, NotFoundError, ProtocolError,
                     RefusedError, TimeoutError, UnavailableError, UnsupportedError)
from .git import AsyncGit, Git
from .microagents import Microagent
from .observations import (BrowserObservation, ChangesObservation, DiffObservation, EditObservation,
                           EnvObservation, ErrorObservation, GitChange, GitDiff, Hutch,
                           IPythonObservation, MicroagentsObservation,
                           MoveObservation, NamesObservation, NullObservation, Observation,
                           PathObservation, ReadObservation, Refusal, Repository,
                           RepositoryObservation, RunObservation, Stat, StatObservation)
from .net import AsyncNet, AsyncQuestions, Net, Questions
from .pool import AsyncPool, Pool
from .process import Process
from .program import Ssh
from .records import (Ask, Change, Completed, End, Event, Exit, Info, Limits, LogEntry, NetChange,
                      NetConnection, NetQuestion, NetRule, NetRules, Plugin, Port, ProcessInfo, Stats,
                      Status)
from .sandbox import Events, Sandbox

__version__ = "0.1.0"
__all__ = [
    "ActionCancelledError", "ActionEndedError", "ActionError", "ActionRefusedError",
    "ActionTooLargeError", "AgentRuntimeBuildError", "AgentRuntimeDisconnectedError",
    "AgentRuntimeError", "AgentRuntimeNotFoundError", "AgentRuntimeNotReadyError",
    "AgentRuntimeTimeoutError", "AgentRuntimeUnavailableError", "Ask", "AsyncEvents", "AsyncGit",
    "AsyncInput", "AsyncNet", "AsyncOutput", "AsyncPool", "AsyncProcess", "AsyncQuestions",
    "AsyncSandbox", "BrowserObservation", "BuildError", "BusyError", "CallbackError", "Change", "ChangesObservation",
    "CommandError", "Completed", "DiffObservation", "DisconnectedError", "EditObservation", "End",
    "EnvObservation", "ErrorObservation", "Event", "Events", "ExistsError", "Exit",
    "FileMissingError", "FolderError", "ForkedError", "Git", "GitChange", "GitDiff", "Hutch",
    "HutchError", "IPythonObservation", "Info", "InternalError", "InvalidActionError", "InvalidError", "LimitError",
    "Limits", "LogEntry", "Microagent", "MicroagentsObservation", "MoveObservation",
    "NamesObservation", "Net", "NetChange", "NetConnection", "NetQuestion", "NetRule", "NetRules",
    "NoSpaceError", "NotAppliedError", "NotFoundError", "NullObservation", "Observation", "PathObservation",
    "Plugin", "Pool", "Port", "Process", "ProcessInfo", "ProtocolError", "Questions", "ReadObservation",
    "Refusal", "RefusedError", "Repository", "RepositoryObservation", "RunObservation", "Sandbox",
    "Ssh", "Stat", "StatObservation", "Stats", "Status", "TimeoutError", "UnavailableError",
    "UnsupportedError",
]
