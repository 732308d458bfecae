"""The protocol of the control socket (docs/control.md), without a socket.

A Channel encodes requests to lines and decodes lines; it does no I/O, waits for nothing, and
depends on neither threads nor event loops.  The link that carries the bytes (link.py with
threads, aio_link.py with asyncio) uses it so:

    waiter, line = channel.request("info", {})      the line is to be sent, whole
    channel.feed(bytes)                             with received bytes
    channel.end(error)                              no more bytes will come

The channel puts everything where it belongs: an answer and its notices into its Waiter, the
output of a process into its Running, and everything else into `channel.rest` if that was
requested.  Each of these has `wake`, which is called after something was put there.

All input is bounded and checked: the peer is a supervisor of the same user, but perhaps of
another version of hutch, and the path may lead to a foreign socket.
"""
from __future__ import annotations

import base64
import binascii
import json
import os
from collections import deque
from typing import Any, Callable, Deque, Dict, NoReturn, Optional, Tuple

from . import fields
from .errors import (DisconnectedError, HutchError, InvalidError, KINDS, ProtocolError,
                     UnsupportedError)
from .actions import CANCELLABLE
from .fields import Object
from .records import Exit

PROTOCOL = 1
LINE_MAX = 64 << 20
"""The longest line; a supervisor keeps no more than this for one client."""
HELD_MAX = 16 << 20
"""Bytes of one stream, or of one command, that are kept until this client reads them."""
NOTICE_COST = 256
"""The cost of each piece that is kept, beside its bytes."""
FIRST_ID = 1 << 40
"""The first number of a request: the numbers below are for the callers of act()."""
EXCERPT = 80
STARTING = ("exec.start", "copy.in", "copy.out")
"""The methods that start a process."""


def _bounded(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_decode_bounded = json.JSONDecoder(parse_int=_bounded, parse_constant=_no_constant).decode
_decode_plain = json.JSONDecoder(parse_constant=_no_constant).decode
_DIGITS = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_TOO_LONG = b"0" * 21


def _decode(line: bytes) -> Any:
    """Parses JSON.  If no number can be too long, no function is called for each number, which
    halves the time."""
    has_long = _TOO_LONG in line.translate(_DIGITS)
    return (_decode_bounded if has_long else _decode_plain)(line.decode("utf-8"))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Waiter:
    """A request under way, and everything that has come for it."""

    __slots__ = ("id", "method", "is_done", "result", "error", "notices", "held",
                 "running", "wake")

    def __init__(self, id: int, method: str) -> None:
        self.id, self.method = id, method
        self.is_done = False
        self.result: Any = None
        self.error: Optional[HutchError] = None
        self.notices: Deque[Object] = deque()
        """What is printed (`data`) and asked (`ask`) meanwhile, for those that want it."""
        self.held = 0
        self.running: Optional[Running] = None
        """What was started, or is waited for."""
        self.wake: Optional[Callable[[], None]] = None

    def put(self, notice: Object) -> None:
        """Keeps up to HELD_MAX of output; beyond that it only counts, with one notice for each
        gap."""
        if self.held + _cost(notice) > HELD_MAX:
            notice = {"dropped": len(notice["data"])}
        if "dropped" in notice and self.notices and "dropped" in self.notices[-1]:
            notice = {"dropped": self.notices.pop()["dropped"] + notice["dropped"]}
        self.notices.append(notice)
        self.held += _cost(notice)
        if self.wake:
            self.wake()

    def take(self) -> Optional[Object]:
        notice = self.notices.popleft() if self.notices else None
        self.held -= _cost(notice) if notice else 0
        return notice

    def finish(self, result: Any, error: Optional[HutchError]) -> None:
        self.is_done, self.result, self.error = True, result, error
        if self.wake:
            self.wake()


def _cost(notice: Object) -> int:
    return len(notice["data"]) + NOTICE_COST if "data" in notice else 0


class Held:
    """Unread output of a process, up to HELD_MAX."""

    __slots__ = ("chunks", "size", "dropped", "is_over")

    def __init__(self) -> None:
        self.chunks: Deque[bytes] = deque()
        self.size = self.dropped = 0
        self.is_over = False

    def put(self, data: bytes) -> None:
        self.chunks.append(data)
        self.size += len(data)
        while self.size > HELD_MAX:
            self.dropped += len(self.chunks[0])
            self.size -= len(self.chunks.popleft())

    def take(self, most: int = -1) -> bytes:
        if 0 <= most < self.size:
            taken, left = b"", most
            while left and self.chunks:
                first = self.chunks.popleft()
                taken += first[:left]
                if len(first) > left:
                    self.chunks.appendleft(first[left:])
                left = most - len(taken)
        else:
            taken = b"".join(self.chunks)
            self.chunks.clear()
        self.size -= len(taken)
        return taken


class Running:
    """A process that this client has started or attached to."""

    __slots__ = ("number", "pid", "streams", "exit", "error", "is_dropped", "wake")

    def __init__(self, number: int, pid: int) -> None:
        self.number, self.pid = number, pid
        self.streams = {"stdout": Held(), "stderr": Held()}
        self.exit: Optional[Exit] = None
        self.error: Optional[HutchError] = None
        self.is_dropped = False
        """Nobody reads what it prints any more; how it ends may still be asked."""
        self.wake: Optional[Callable[[], None]] = None

    @property
    def is_done(self) -> bool:
        return self.exit is not None or self.error is not None

    def drop(self) -> None:
        self.is_dropped = True
        for held in self.streams.values():
            held.take()
            held.is_over = True
        self.tell()

    def revive(self) -> None:
        """Prepares for output after a new attach."""
        self.is_dropped = False
        for held in self.streams.values():
            held.is_over = self.is_done

    def end(self, ended: Optional[Exit], error: Optional[HutchError]) -> None:
        self.exit, self.error = ended, error
        for held in self.streams.values():
            held.is_over = True
        self.tell()

    def tell(self) -> None:
        if self.wake:
            self.wake()


class Rest:
    """Notifications of a connection that has no other use: events, or a log."""

    def __init__(self) -> None:
        self.notices: Deque[Tuple[str, Object]] = deque()
        self.error: Optional[HutchError] = None
        self.wake: Optional[Callable[[], None]] = None

    @property
    def is_done(self) -> bool:
        return self.error is not None

    def tell(self) -> None:
        if self.wake:
            self.wake()


class Channel:
    """The state of one connection; see the head of this file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pid = os.getpid()
        self.failure: Optional[HutchError] = None
        """Why there is no connection any more."""
        self.rest: Optional[Rest] = None
        self._buffer = bytearray()
        self._last_id = FIRST_ID
        self._waiters: Dict[int, Waiter] = {}
        self._abandoned: Dict[int, str] = {}
        self.owed: Deque[bytes] = deque()
        """Lines that nobody has asked for: they end what was asked for by who has left."""
        self._running: Dict[int, Running] = {}

    # --- requests ---

    def request(self, method: str, params: Object) -> Tuple[Waiter, bytes]:
        """Makes a request; its line must be sent whole, before that of any later request."""
        if self.failure is not None:
            raise again(self.failure)
        self._last_id += 1
        waiter = Waiter(self._last_id, method)
        if method == "act" and params["action"].get("id") == CANCELLABLE:
            params = {**params, "action": {**params["action"], "id": waiter.id}}
        line = {"jsonrpc": "2.0", "id": waiter.id, "method": method, "params": params}
        try:
            encoded = _encode(line).encode("utf-8")
        except (TypeError, ValueError, RecursionError) as e:  # a surrogate, NaN, a set
            raise InvalidError(f"{method}: the arguments cannot be sent as JSON: {e}") from e
        if len(encoded) >= 32 << 20:
            raise KINDS["limit"](f"{method}: a request of {len(encoded)} bytes; 32 MiB are the "
                                 "most", remedy="copy_in() takes any amount")
        self._waiters[waiter.id] = waiter
        return waiter, encoded + b"\n"

    def withdraw(self, waiter: Waiter) -> bool:
        """Removes a request that will not be sent.  Gives whether it was under way."""
        return self._waiters.pop(waiter.id, None) is not None

    def forget(self, waiter: Waiter) -> None:
        """The caller gives up, and the answer will be ignored.  An action is cancelled, and a
        process that it starts is killed as soon as its number is known."""
        if not self.withdraw(waiter):
            if waiter.method in STARTING and waiter.running is not None:
                waiter.running.drop()
                self._kill(waiter.running.number)
            return
        self._abandoned[waiter.id] = waiter.method
        if waiter.method == "act":
            self._owe("cancel", {"id": waiter.id})

    def _owe(self, method: str, params: Object) -> None:
        waiter, line = self.request(method, params)
        self.owed.append(line)
        self.forget(waiter)

    def _kill(self, number: int) -> None:
        self._owe("exec.signal", {"process": number, "signal": "KILL"})

    def check_process(self) -> None:
        """Refuses the use in a forked child: both processes would read each other's answers."""
        if os.getpid() != self.pid:
            from .errors import ForkedError
            raise ForkedError(
                f"sandbox {self.name}: this handle was opened by process {self.pid}, of which "
                "this one is a child", remedy="open one here: hutch.Sandbox.attach"
                f"({self.name!r})")

    # --- input ---

    def feed(self, data: bytes) -> None:
        """Handles received bytes.  After a ProtocolError the connection cannot be trusted any
        more."""
        if b"\n" not in data:
            self._buffer += data
        else:
            *lines, rest = data.split(b"\n")
            if self._buffer:
                lines[0] = bytes(self._buffer) + lines[0]
            self._buffer = bytearray(rest)
            for line in lines:
                self._take(line)
        if len(self._buffer) > LINE_MAX:
            raise ProtocolError(f"sandbox {self.name}: a line of more than {LINE_MAX} bytes came")

    def end(self, error: HutchError) -> None:
        """Ends all requests under way, and all later ones, with this error."""
        if self.failure is not None:
            return
        self.failure = error
        self._buffer.clear()
        waiters, running = list(self._waiters.values()), list(self._running.values())
        self._waiters.clear()
        self._running.clear()
        for waiter in waiters:
            waiter.finish(None, again(error))
        for one in running:
            one.end(None, again(error))
        if self.rest:
            self.rest.error = again(error)
            self.rest.tell()

    def ended(self) -> DisconnectedError:
        """The error for a connection that was closed."""
        return DisconnectedError(f"sandbox {self.name}: the connection has ended",
                                 remedy=f"hutch inspect {self.name} says how a sandbox ended")

    def _take(self, line: bytes) -> None:
        try:
            message = _decode(line)
        except (ValueError, RecursionError) as e:
            raise ProtocolError(f"sandbox {self.name}: a line is not JSON "
                                f"({type(e).__name__}): {line[:EXCERPT]!r}") from None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise self._strange(line)
        if "method" in message:
            self._notice(message["method"], fields.an_object(message.get("params"), "params"))
        elif ("result" in message) != ("error" in message) and "id" in message:
            self._answer(message, line)
        else:
            raise self._strange(line)

    def _strange(self, line: bytes) -> ProtocolError:
        return ProtocolError(f"sandbox {self.name}: a line is no answer of a supervisor: "
                             f"{line[:EXCERPT]!r}")

    def _answer(self, message: Object, line: bytes) -> None:
        id, error = message["id"], None
        if "error" in message:
            error = error_of(fields.an_object(message["error"], "error"))
        if id is None and error is not None:
            raise error  # about the connection, or a line that could not be read
        waiter = self._waiters.pop(id, None) if type(id) is int else None
        if waiter is None:
            if type(id) is int and id in self._abandoned:
                method = self._abandoned.pop(id)
                if error is None and method in STARTING:
                    result = fields.an_object(message.get("result"), method)
                    self._kill(fields.whole(result, "process"))
                return
            raise self._strange(line)
        result = message.get("result")
        if error is None and waiter.method in (*STARTING, "exec.attach"):
            self._started(waiter, result)
        if waiter.method == "exec.wait" and waiter.running is not None:
            self._running.pop(waiter.running.number, None)
            waiter.running.end(Exit.parse(fields.an_object(result, "exit")) if error is None
                               else None, error)
        waiter.finish(result, error)

    def _started(self, waiter: Waiter, result: object) -> None:
        """Registers a process at once, since its output may be in the same piece."""
        o = fields.an_object(result, waiter.method)
        number = fields.whole(o, "process")
        waiter.running = self._running.get(number) or Running(
            number, fields.whole_or_none(o, "pid") or 0)
        waiter.running.revive()
        self._running[number] = waiter.running

    def _notice(self, method: object, params: Object) -> None:
        if self.rest is not None:
            self.rest.notices.append((str(method), params))
            self.rest.tell()
        elif method == "output":
            self._output(params)
        elif method == "event":
            self._event(params)
        # Notifications that this version does not know come from a newer hutch, and are ignored.

    def _output(self, params: Object) -> None:
        if "process" in params:
            running = self._running.get(fields.whole(params, "process"))
            if running is not None:
                put_output(running, params)
        elif "cause" in params:
            said: Object = ({"dropped": fields.whole(params, "dropped")} if "dropped" in params
                            else {"data": fields.text(params, "data")})
            self._hand_over(params["cause"], said)

    def _event(self, params: Object) -> None:
        event = fields.text(params, "event")
        if event == "exited":
            running = self._running.pop(fields.whole(params, "process"), None)
            if running is not None:
                running.end(Exit.parse(params), None)
        elif event == "ask":
            fields.whole(params, "ask")
            self._hand_over(params.get("request"), {key: value for key, value in params.items()
                                                    if key not in ("data", "dropped")})

    def _hand_over(self, id: object, params: Object) -> None:
        waiter = self._waiters.get(id) if type(id) is int else None
        if waiter is not None:
            waiter.put(params)


def put_output(running: Running, params: Object) -> None:
    held = running.streams.get(fields.text(params, "stream"))
    if held is None:
        raise fields.wrong("stream", params["stream"])
    if running.is_dropped:
        return
    if "dropped" in params:
        held.dropped += fields.whole(params, "dropped")
    else:
        held.put(bytes_of(params))
    running.tell()


def bytes_of(params: Object) -> bytes:
    """The bytes of an output notification."""
    if "base64" not in params:
        return fields.text(params, "data").encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(fields.text(params, "base64"), validate=True)
    except (binascii.Error, ValueError):
        raise fields.wrong("base64", params["base64"]) from None


def again(error: HutchError) -> HutchError:
    """A copy of an error for each caller, since a raised exception keeps its traceback."""
    copy = type(error)(error.message, kind=error.kind, remedy=error.remedy)
    copy.exit_code = error.exit_code
    copy.__cause__ = error.__cause__
    return copy


def error_of(o: Object) -> HutchError:
    message, code = fields.text(o, "message"), fields.whole(o, "code")
    if code == -32601:
        return UnsupportedError(message)
    if code != -32000:
        return InvalidError(message)
    data = fields.an_object(o.get("data"), "data")
    kind = fields.text(data, "kind")
    error = KINDS.get(kind, HutchError)(message, kind=kind, remedy=fields.text_or_none(data, "remedy"))
    error.exit_code = fields.whole_or_none(data, "exit_code")
    return error
