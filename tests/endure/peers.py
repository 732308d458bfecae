"""A client of the control socket that trusts no answer.

It compares every message with the documented protocol; each request must get
one answer; the output of a process is put together in order, with the parts
that were reported as dropped.
"""
import asyncio
import collections
import contextlib
import json
import socket
import time

import contract
import programs

LOOKS = ("hello", "info", "stats")  # which use a sandbox for nothing


class Gone(Exception):
    """The connection has ended, or there is none."""


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.message = error["code"], error["message"]
        self.kind = (error.get("data") or {}).get("kind")
        self.exit_code = (error.get("data") or {}).get("exit_code")


class Peer:
    """Made by connect(), which checks that `box` is the sandbox that answers."""

    def __init__(self, box):
        self.box, self.soak = box, box.soak
        self.number, self.last_answered = 0, 0
        self.waiting = {}  # id: (method, future, when)
        self.outputs = collections.defaultdict(list)  # (process, stream): bytes, or how many are missing
        self.at_end = {}  # the same when the end of the process was told
        self.exits = {}  # process: future
        self.log, self.log_gaps = collections.defaultdict(list), 0
        self.on_event = None
        self.has_left = self.is_slow = False
        self.how_closed = "in order"
        self.is_ours = False  # it has said that it is the one
        self.connect_program = None
        self.closed = asyncio.get_running_loop().create_future()
        self.reads = asyncio.Event()  # cleared: nothing is read
        self.reads.set()

    # open and close

    @classmethod
    async def connect(cls, box, through_program=False):
        self = cls(box)
        if through_program or self.soak.is_root:
            await self.open_program()
        else:
            await self.open_socket()
        self.reader_task = self.soak.background(self.read_all())
        hello = await self.call("hello", protocol=1)
        if box.id is None:
            box.id = hello["id"]
        if hello["id"] != box.id:
            self.leave()
            raise Gone()
        self.is_ours = True
        return self

    async def open_socket(self):
        """Does not use asyncio's streams: these throw away data that was sent
        before a connection was reset."""
        loop, s = asyncio.get_running_loop(), socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            await loop.sock_connect(s, f"{self.soak.state}/{self.box.name}/control.sock")
        except OSError:
            s.close()
            raise Gone() from None
        self.socket, self.out = s, asyncio.Queue()
        self.read, self.write = lambda size: loop.sock_recv(s, size), self.out.put_nowait
        self.writer_task = self.soak.background(self.write_all())

    async def write_all(self):
        """A sandbox that has gone reads no more; its earlier answers still have
        to be read."""
        with contextlib.suppress(OSError):
            while True:
                await asyncio.get_running_loop().sock_sendall(self.socket, await self.out.get())

    async def open_program(self):
        self.connect_program = await self.soak.spawn("connect", self.box.name)
        self.read, self.write = self.connect_program.stdout.read, self.connect_program.stdin.write
        self.soak.background(self.connect_program.wait())
        self.soak.background(self.connect_program.stderr.read())

    def leave(self):
        """Leaves without a message, whatever requests are running."""
        self.has_left = True
        self.close()
        if self.connect_program and self.connect_program.returncode is None:
            self.connect_program.kill()
        self.reads.set()
        if not self.connect_program:
            self.reader_task.cancel()
            self.end()

    def close(self):
        if self.connect_program:
            self.connect_program.stdin.close()
        elif self.socket.fileno() >= 0:
            # The reader is removed before the close, since another socket may get the
            # descriptor's number at once.
            asyncio.get_running_loop().remove_reader(self.socket)
            asyncio.get_running_loop().remove_writer(self.socket)
            self.writer_task.cancel()
            self.socket.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.leave()

    # what comes

    async def read_all(self):
        rest = b""
        try:
            while True:
                await self.reads.wait()
                more = await self.read(1 << 17)
                if not more:
                    break
                *lines, rest = (rest + more).split(b"\n")
                for line in lines:
                    self.take(line)
        except OSError as e:
            self.how_closed = repr(e)
        except contract_broken as e:
            self.soak.fail(f"{self.box}: {e}", self.box)
        if rest and self.is_ours and not self.has_left and not self.box.may_end:
            self.soak.fail(f"{self.box}: the connection ended in the middle of a line: {rest[:200]!r}", self.box)
        self.end()

    def end(self):
        if not self.has_left:
            lost = [(method, number) for number, (method, _, _) in self.waiting.items()
                    if number < self.last_answered]
            # When the sandbox ends, the supervisor drops the answers for a client that
            # has not read for two seconds.
            is_late = self.is_slow or time.monotonic() < self.soak.lag + 3
            if lost and not is_late:
                self.box.unanswered.append(f"{lost} of {self.last_answered}; closed {self.how_closed}")
            if self.is_ours and not self.box.may_end and "gone" not in self.box.held:
                self.soak.fail(f"{self.box}: the connection was closed", self.box)
            self.close()
        for _, answer, _ in self.waiting.values():
            if not answer.done():
                answer.set_exception(Gone())
                answer.exception()  # nobody may be waiting
        for end in self.exits.values():
            if not end.done():
                end.set_exception(Gone())
                end.exception()
        if not self.closed.done():
            self.closed.set_result(None)

    def take(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            raise contract_broken(f"no JSON: {line[:200]!r}") from None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise contract_broken(f"no JSON-RPC: {line[:200]!r}")
        if "id" in message:
            self.take_answer(message)
        elif message.get("method") == "output":
            self.take_output(message["params"])
        elif message.get("method") == "event":
            self.take_event(message["params"])
        else:
            raise contract_broken(f"neither answer nor notification: {line[:200]!r}")

    def take_answer(self, message):
        if message["id"] not in self.waiting:
            raise contract_broken(f"an answer that nobody waits for: {str(message)[:300]}")
        method, answer, when = self.waiting.pop(message["id"])
        if isinstance(message["id"], int):
            self.last_answered = max(self.last_answered, message["id"])
        self.soak.answers += 1
        if ("result" in message) == ("error" in message):
            raise contract_broken(f"neither result nor error, or both: {str(message)[:300]}")
        if "error" in message:
            self.check(contract.error(message["error"]))
            refused = Refused(message["error"])
            is_late = refused.kind == "disconnected" and "the sandbox has ended" in refused.message
            if not is_late:
                self.used(method, when)
            if is_late and not self.box.may_end:
                self.soak.fail(f"{self.box}: {method} is told that it has ended", self.box)
            if not answer.done():
                answer.set_exception(Gone() if is_late else refused)
                answer.exception()
            return
        self.used(method, when)
        self.check(contract.result(method, message["result"]))
        if method == "exec.wait":
            self.keep_printed(message["result"]["process"])
        if not answer.done():
            answer.set_result(message["result"])

    def used(self, method, when):
        """A request that came after the sandbox's end gets no answer."""
        if method not in LOOKS:
            self.box.last_asked = max(self.box.last_asked, when)

    def take_output(self, params):
        if "session" in params:  # of an act with `stream`
            return self.check(contract.session_output(params))
        if "process" not in params:
            self.check(contract.keys("log output", params, {"dropped"}))
            self.log_gaps += params["dropped"]
            return
        self.check(contract.output(params))
        what = contract.bytes_of(params)
        place = params["process"], params["stream"]
        if "time" in params:
            self.log[place].append(what)
        else:
            self.outputs[place].append(what)

    def take_event(self, params):
        self.check(contract.event(params))
        if params["event"] == "exited" and not self.exit_of(params["process"]).done():
            self.exit_of(params["process"]).set_result(params)
            self.keep_printed(params["process"])
        if self.on_event:
            self.on_event(params)

    def keep_printed(self, process):
        """All output must be reported before the end of the process."""
        for stream in ("stdout", "stderr"):
            self.at_end[process, stream] = list(self.outputs[process, stream])

    def check(self, wrong):
        if wrong:
            raise contract_broken(wrong)

    # what is asked

    def send(self, method, **params):
        """Returns the future of the answer."""
        self.number += 1
        answer = asyncio.get_running_loop().create_future()
        if self.closed.done():
            answer.set_exception(Gone())
            answer.exception()
            return answer
        self.waiting[self.number] = method, answer, asyncio.get_running_loop().time()
        line = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.write(json.dumps(line).encode() + b"\n")
        return answer

    async def call(self, method, **params):
        answer = self.send(method, **params)
        if not (await asyncio.wait({answer}, timeout=1))[0]:
            self.send("info")  # whose answer shows that the other was taken, should the sandbox end now
        return await self.soak.patiently(answer, f"the answer to {method} of {self.box}", self.box)

    def exit_of(self, process):
        if process not in self.exits:
            self.exits[process] = asyncio.get_running_loop().create_future()
            if self.closed.done():
                self.exits[process].set_exception(Gone())
                self.exits[process].exception()
        return self.exits[process]

    async def start(self, argv, **params):
        return (await self.call("exec.start", argv=argv, **params))["process"]

    async def exited(self, process):
        return await self.soak.patiently(asyncio.shield(self.exit_of(process)),
                                         f"the end of process {process} of {self.box}", self.box)

    def printed(self, process, stream, text, start=0, is_whole=True):
        """Returns None, or the error in the received output."""
        parts = self.at_end.get((process, stream)) if is_whole else None
        return programs.covers(self.outputs[process, stream] if parts is None else parts, text, start, is_whole)

    def has_gaps(self, process):
        return any(isinstance(part, int) for stream in ("stdout", "stderr") for part in self.outputs[process, stream])


class contract_broken(Exception):
    pass
