"""Failures: a supervisor that ends in the middle of a call, garbage from the socket, forks,
handles that are closed while a thread waits.  Nothing hangs, and no descriptor is left."""
import asyncio
import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import unittest
from unittest import mock

from support import (HUTCH, PATIENCE, Case, hutch, played, run, supervisor_of, wait_for_all_async, wait_until,
                     wait_until_led)

from hutch import aio_process, calls, process, program
from hutch.protocol import Rest

HELLO = {"protocol": 1, "version": "0", "name": "box", "id": "0" * 12, "state": "ready"}
INFO = {"name": "box", "id": "0" * 12, "image": "host", "state": "ready", "created": "", "isolation": "",
        "workspace": None, "limits": {}, "network": {"mode": "none", "form": None}, "pid": 1,
        "version": "0", "confined": "", "degraded": [], "unprotected": None, "plugins": []}

OBSERVED = {"observation": "write", "message": "", "content": "", "extras": {"path": "/workspace/file"},
            "hutch": {"log": None, "truncated_chars": 0, "restarted": False, "previous": None,
                      "refused": [], "took_ms": 1}}


class Wire:
    """The supervisor's end of a connection, played by a test."""

    def __init__(self, s):
        self.socket, self.lines = s, s.makefile("rb")

    def take(self):
        line = self.lines.readline()
        return json.loads(line) if line else None

    def answer(self, request, result):
        self.say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")

    def say(self, data):
        self.socket.sendall(data)

    def greet(self):
        """Answers until the handle is open."""
        self.answer(self.take(), HELLO)
        self.answer(self.take(), INFO)


def playing(then):
    """A supervisor that greets, and calls `then` with the next request."""
    def play(s):
        with contextlib.closing(s):
            wire = Wire(s)
            with wire.lines:
                wire.greet()
                request = wire.take()
                if request:
                    then(wire, request)
                    while wire.take():
                        pass
    return play


async def attached_async(ask):
    async with await hutch.AsyncSandbox.attach("box") as box:
        return await ask(box)


class Garbage(Case):
    GARBAGE = [b"hello\n", b"\xff\n", b'{"jsonrpc":"2.0","id":77,"result":{}}\n', b"[" * 50000 + b"\n"]

    def test_garbage_ends_the_connection_with_an_error_that_shows_it(self):
        for garbage in self.GARBAGE:
            with self.subTest(garbage[:20]), played(playing(lambda wire, request: wire.say(garbage))):
                with self.assertLogs("hutch", "ERROR"), hutch.Sandbox.attach("box") as box:
                    self.assertRaisesRegex(hutch.ProtocolError, "sandbox box", box.stats)
                    self.assertRaises(hutch.DisconnectedError, box.stats)

    def test_garbage_ends_an_asyncio_connection_with_an_error_that_shows_it(self):
        for garbage in self.GARBAGE:
            with self.subTest(garbage[:20]), played(playing(lambda wire, request: wire.say(garbage)),
                                                    "hutch.aio_link"):
                with self.assertLogs("hutch", "ERROR"), self.assertRaises(hutch.ProtocolError):
                    run(attached_async(lambda box: box.stats()))

    def test_a_line_without_an_end_does_not_fill_the_memory(self):
        def flood(wire, request):
            for _ in range(100):
                wire.say(b"x" * 65536)

        with mock.patch("hutch.protocol.LINE_MAX", 1 << 20), played(playing(flood)):
            with self.assertLogs("hutch", "ERROR"), hutch.Sandbox.attach("box") as box:
                self.assertRaisesRegex(hutch.ProtocolError, "a line of more than", box.stats)

    def test_a_result_of_another_type_is_an_error_of_that_call_alone(self):
        def play(wire, request):
            wire.answer(request, {"cpu_s": "much"})
            wire.answer(wire.take(), {"by": "signals"})

        with played(playing(play)), hutch.Sandbox.attach("box") as box:
            self.assertRaisesRegex(hutch.ProtocolError, "cpu_s", box.stats)
            self.assertEqual(box.pause(), "signals")

    def test_a_call_without_an_answer_times_out_and_a_late_answer_is_ignored(self):
        asked = threading.Event()

        def play(wire, request):
            asked.wait(PATIENCE)
            wire.answer(request, {"by": "late"})
            wire.answer(wire.take(), {"by": "signals"})

        slow = calls.Call("pause", {}, lambda r: r["by"], 0.05)
        with played(playing(play)), hutch.Sandbox.attach("box") as box:
            self.assertRaisesRegex(TimeoutError, "pause was not answered", box._ask, slow)
            asked.set()
            self.assertEqual(box.pause(), "signals")

    def test_a_supervisor_of_another_protocol_version_is_refused(self):
        def play(s):
            with s, s.makefile("rb") as lines:
                request = json.loads(lines.readline())
                s.sendall(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result":
                                      {**HELLO, "protocol": 2}}).encode() + b"\n")
                lines.readline()

        for way in ("hutch.link", "hutch.aio_link"):
            with played(play, way), self.assertRaises(hutch.ProtocolError):
                if way == "hutch.link":
                    hutch.Sandbox.attach("box")
                else:
                    run(hutch.AsyncSandbox.attach("box"))

    def test_the_reason_for_a_refused_connection_is_told(self):
        refusal = json.dumps({"jsonrpc": "2.0", "id": None, "error": {
            "code": -32000, "message": "too many clients", "data": {"kind": "limit", "remedy": None}}})

        def play(s):
            with s:
                s.sendall(refusal.encode() + b"\n")

        with played(play), self.assertRaisesRegex(hutch.LimitError, "too many clients"):
            hutch.Sandbox.attach("box")


class Blocked(Case):
    """Data that does not fit into the socket or the memory."""

    def test_bytes_that_cannot_be_sent_at_once_are_sent_by_the_leader(self):
        """One thread waits and leads; another one sends more than the socket takes."""
        text, got, is_led = "x" * (4 << 20), [], threading.Event()

        def play(wire, request):
            is_led.set()  # the first thread waits for its answer now
            other = wire.take()
            got.append(len(other["params"]["action"]["args"]["content"]))
            wire.answer(other, OBSERVED)
            wire.answer(request, {"by": "signals"})

        with played(playing(play)), hutch.Sandbox.attach("box") as box:
            first = threading.Thread(target=box.pause)
            first.start()
            is_led.wait(PATIENCE)
            second = threading.Thread(target=box.write, args=("file", text), daemon=True)
            second.start()
            for thread in (first, second):
                thread.join(PATIENCE)
                self.assertFalse(thread.is_alive())
        self.assertEqual(got, [len(text)])

    def slow(self, heard, go):
        """A supervisor that reads nothing until `go` is set."""
        def play(s):
            wire = Wire(s)
            with wire.lines:
                wire.greet()
                go.wait(PATIENCE)
                while request := wire.take():
                    heard.append(request["method"])
                    wire.answer(request, {"by": "signals"})
        return play

    LARGE = calls.act({"action": "x" * (4 << 20)}, False, False)

    def test_an_unsent_request_whose_caller_left_is_never_sent(self):
        """The numbers of its descriptors may belong to other files by then."""
        heard, go = [], threading.Event()
        start = dataclasses.replace(calls.start(["true"]), patience=0.05)
        with played(self.slow(heard, go)), hutch.Sandbox.attach("box") as box:
            box._link.send(self.LARGE)
            self.assertRaises(TimeoutError, process.start, box._link, start, False, False)
            go.set()
            self.assertEqual(box.pause(), "signals")
        self.assertEqual(heard, ["act", "pause"])

    def test_an_unsent_request_is_not_sent_with_asyncio_either(self):
        heard, go = [], threading.Event()

        async def leave(box):
            box._link.send(self.LARGE)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(box.exec(["true"]), 0.05)
            go.set()
            return await box.pause()
        with played(self.slow(heard, go), "hutch.aio_link"):
            self.assertEqual(run(attached_async(leave)), "signals")
        self.assertEqual(heard, ["act", "pause"])

    def test_a_request_that_waits_for_room_has_copies_of_its_descriptors(self):
        """The caller may have closed its own by then, if a signal's handler has raised."""
        went, go = [], threading.Event()

        def play(s):
            wire = Wire(s)
            with wire.lines:
                wire.greet()
                go.wait(PATIENCE)
                fds = []
                while not fds:
                    fds = socket.recv_fds(s, 1 << 20, 3)[1]
                for fd in fds:
                    went.append(os.fstat(fd).st_ino)
                    os.close(fd)
        with played(play), hutch.Sandbox.attach("box") as box:
            r, w = os.pipe()
            own = os.fstat(r).st_ino
            box._link.send(self.LARGE)
            box._link.send(calls.start(["true"]), [r, w, w])
            os.close(r)
            os.close(w)
            go.set()
            self.assertRaises(hutch.DisconnectedError, box._link.wait, lambda: False, Rest(), PATIENCE)
        self.assertEqual(went, [own] * 3)

    def test_a_thread_that_is_interrupted_as_it_sends_sends_nothing_twice(self):
        heard = []

        def play(wire, request):
            heard.append(request["method"])

        def interrupted(s, line, fds):
            program.send(s, line, fds)
            raise KeyboardInterrupt
        for way, ask in (("hutch.link", None), ("hutch.aio_link", lambda box: box.pause())):
            with played(playing(play), way):
                if ask is None:
                    with hutch.Sandbox.attach("box") as box:
                        with mock.patch("hutch.outgoing.send", interrupted):
                            self.assertRaises(KeyboardInterrupt, box.pause)
                        self.assertRaisesRegex(hutch.DisconnectedError, "interrupted", box.pause)
                else:
                    async def day(box):
                        with mock.patch("hutch.outgoing.send", interrupted), self.assertRaises(KeyboardInterrupt):
                            await box.pause()
                        with self.assertRaisesRegex(hutch.DisconnectedError, "interrupted"):
                            await box.pause()
                    run(attached_async(day))
        self.assertEqual(heard, ["pause"] * 2)

    def test_output_that_has_come_is_seen_without_waiting(self):
        go = threading.Event()

        def play(wire, request):
            wire.answer(request, {"process": 1, "pid": 2})
            go.wait(PATIENCE)
            wire.say(json.dumps({"jsonrpc": "2.0", "method": "event", "params": {
                "event": "exited", "process": 1, "exit_code": 4, "signal": None, "timed_out": False,
                "user_s": 0, "sys_s": 0}}).encode() + b"\n")
        for look in (lambda p: p.poll(), lambda p: p.wait(0)):
            go.clear()
            with played(playing(play)), hutch.Sandbox.attach("box") as box:
                p = box.popen(["true"])
                self.assertIsNone(p.poll())
                self.assertRaises(TimeoutError, p.wait, 0)
                go.set()
                select.select([box._link._fd], [], [], PATIENCE)
                self.assertEqual(look(p).exit_code, 4)
                p.close()

    def test_a_request_that_the_kernel_does_not_send_fails_alone(self):
        def play(wire, request):
            wire.answer(request, {"by": "signals"})
        closed = 999
        with played(playing(play)), hutch.Sandbox.attach("box") as box:
            waiter = box._link.send(calls.start(["true"]), [closed])
            self.assertRaisesRegex(hutch.HutchError, "could not be sent", box._link.result, waiter, 1)
            self.assertEqual(box.pause(), "signals")

        async def ask(box):
            waiter = box._link.send(calls.start(["true"]), [closed])
            with self.assertRaisesRegex(hutch.HutchError, "could not be sent"):
                await box._link.result(waiter, 1)
            return await box.pause()
        with played(playing(play), "hutch.aio_link"):
            self.assertEqual(run(attached_async(ask)), "signals")

    def test_output_that_was_lost_is_told(self):
        def play(wire, request):
            wire.answer(request, {"process": 1, "pid": 2})
            for params in [{"stream": "stdout", "data": "some"}, {"stream": "stdout", "dropped": 5}]:
                wire.say(json.dumps({"jsonrpc": "2.0", "method": "output", "params":
                                     {"process": 1, **params}}).encode() + b"\n")
            wire.say(json.dumps({"jsonrpc": "2.0", "method": "event", "params": {
                "event": "exited", "process": 1, "exit_code": 0, "signal": None, "timed_out": False,
                "user_s": 0, "sys_s": 0}}).encode() + b"\n")

        with played(playing(play)), hutch.Sandbox.attach("box") as box:
            box._link.passes_descriptors = False
            self.assertRaisesRegex(hutch.LimitError, "5 bytes", box.exec, ["true"])

        async def lost(box):
            box._link.passes_descriptors = False
            with self.assertRaisesRegex(hutch.LimitError, "5 bytes"):
                await box.exec(["true"])
        with played(playing(play), "hutch.aio_link"):
            run(attached_async(lost))

    def test_the_link_stops_reading_when_events_are_not_taken(self):
        event = json.dumps({"jsonrpc": "2.0", "method": "event", "params": {
            "event": "client", "n": 0, "time": "", "pad": "x" * 1000}}).encode() + b"\n"
        said, is_full = [], threading.Event()

        def flood(s):
            """Sends 20 MB, and notes when the socket has no room."""
            for _ in range(20000):
                if not select.select([], [s], [], 0)[1]:
                    is_full.set()
                s.sendall(event)
                said.append(len(event))

        def play(s):
            wire = Wire(s)
            with wire.lines:
                wire.answer(wire.take(), HELLO)
                wire.answer(wire.take(), {"next": 0})
                try:
                    flood(s)
                finally:
                    is_full.set()

        async def follow():
            events = hutch.AsyncEvents("box", program.Program(HUTCH), follow=True)
            await events.next()
            while not is_full.is_set():
                await asyncio.sleep(0)
            for _ in range(1000):  # enough turns to read more
                await asyncio.sleep(0)
            taken = len(events._rest.notices)
            await events.close()
            return taken

        with played(play, "hutch.aio_link"):
            self.assertLess(run(follow()), 2000)
        self.assertLess(sum(said), 5 << 20)

    def test_a_process_that_prints_without_end_leaves_the_event_loop_to_others(self):
        taken = []

        def sink(data):
            taken.append(len(data))
            if len(taken) > 10000:
                raise AssertionError("nobody else had a turn")

        async def drain():
            zero = aio_process.AsyncOutput(os.open("/dev/zero", os.O_RDONLY))
            draining = asyncio.ensure_future(aio_process._drain(zero, sink))
            while not taken:
                await asyncio.sleep(0)
            for _ in range(3):
                await asyncio.sleep(0)
            draining.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await draining
            zero.close()
        run(drain())

    def test_tasks_that_read_the_same_output_all_go_on(self):
        async def share():
            outside, inside = os.pipe()
            os.set_blocking(outside, False)
            output = aio_process.AsyncOutput(outside)
            tasks = [asyncio.ensure_future(output.chunk()) for _ in range(3)]
            await asyncio.sleep(0)
            tasks.pop().cancel()
            for data in (b"one", b"two"):
                os.write(inside, data)
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                self.assertEqual([task.result() for task in done], [data])
            last = [asyncio.ensure_future(output.chunk()) for _ in range(2)]
            await asyncio.sleep(0)
            os.close(inside)
            self.assertEqual(await asyncio.gather(*last), [b"", b""])
            output.close()
        run(share())


class Gone(Case):
    def test_a_sandbox_whose_connection_broke_ends_with_its_block(self):
        def names():
            return subprocess.run([HUTCH, "ps", "-q"], stdout=subprocess.PIPE, check=True).stdout.decode().split()

        with hutch.Sandbox() as box:
            box._link._socket.shutdown(socket.SHUT_RDWR)
            self.assertRaises(hutch.DisconnectedError, box.info)
            self.assertIn(box.name, names())
        self.assertNotIn(box.name, names())

        async def leave():
            async with hutch.AsyncSandbox() as box:
                box._link._socket.shutdown(socket.SHUT_RDWR)
                with self.assertRaises(hutch.DisconnectedError):
                    await box.info()
            return box.name
        self.assertNotIn(run(leave()), names())

    def test_all_calls_end_when_the_supervisor_is_killed(self):
        ended = []

        def call(what):
            try:
                ended.append(what())
            except Exception as e:
                ended.append(e)

        lost = threading.Event()
        box = hutch.Sandbox(on_status=lambda level, status, message:
                            lost.set() if status is hutch.Status.DISCONNECTED else None).start()
        process = box.popen(["sleep", "1000"])
        up = threading.Semaphore(0)
        whats = [lambda n=n: box.run("echo up; sleep 1000", session=f"s{n}",
                                     on_output=lambda text: up.release()) for n in range(3)]
        whats += [process.wait, process.stdout.read, lambda: box.exec(["sleep", "1000"]).check(), box.wait]
        pid = supervisor_of(box.info())
        threads = [threading.Thread(target=call, args=(what,)) for what in whats]
        for thread in threads:
            thread.start()
        for _ in range(3):
            self.assertTrue(up.acquire(timeout=PATIENCE))
        os.kill(pid, signal.SIGKILL)
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive())
        # The thread that reads a pipe, and the thread in box.wait(), end without an error.
        last = "DisconnectedError" if os.geteuid() == 0 else "bytes"  # root's processes have no pipe
        self.assertEqual(sorted(type(e).__name__ for e in ended),
                         ["DisconnectedError"] * 5 + sorted(["End", last]))
        self.assertRaises(hutch.DisconnectedError, box.info)
        self.assertTrue(lost.wait(PATIENCE))
        process.close()
        box.close()
        self.assertEqual(box.end().reason, "killed")

    def test_all_asyncio_calls_end_when_the_supervisor_is_killed(self):
        async def day():
            box = await hutch.AsyncSandbox().start()
            process = await box.popen(["sleep", "1000"])
            tasks = [asyncio.ensure_future(what) for what in (
                box.run("sleep 1000", session="a"), box.run("sleep 1000", session="b"), process.wait(),
                box.exec(["sleep", "1000"]))]
            pid = supervisor_of(await box.info())
            await box.exec(["true"])
            os.kill(pid, signal.SIGKILL)
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                self.assertIsInstance(ended, hutch.DisconnectedError)
            process.close()
            await box.close()
        run(day())

    def test_a_process_whose_caller_has_left_is_ended(self):
        heard, left = [], threading.Event()

        def play(wire, request):
            left.wait(PATIENCE)
            wire.answer(request, {"process": 7, "pid": 8})
            while asked := wire.take():
                heard.append((asked["method"], asked["params"]))
                wire.answer(asked, {"by": "signals"})
        start = dataclasses.replace(calls.start(["sleep", "1000"]), patience=0.05)
        with played(playing(play)), hutch.Sandbox.attach("box") as box:
            self.assertRaises(TimeoutError, process.start, box._link, start, False, False)
            left.set()
            self.assertEqual((box.pause(), box.pause()), ("signals", "signals"))
        self.assertIn(("exec.signal", {"process": 7, "signal": "KILL"}), heard)

    def test_a_task_that_is_cancelled_ends_its_process(self):
        """This holds when the process begins, and when it has closed all its streams."""
        quiet = ["sh", "-c", "exec >&- 2>&-; echo >/workspace/closed; exec sleep 1000"]

        async def leave(box, task):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await wait_for_all_async(box)

        async def day():
            async with hutch.AsyncSandbox() as box:
                await box.run("mkfifo closed")
                task = asyncio.ensure_future(box.exec(["sleep", "1000"]))
                await asyncio.sleep(0)
                await leave(box, task)
                task = asyncio.ensure_future(box.exec(quiet))
                await box.run("read x <closed", blocking=True, timeout=PATIENCE)
                await leave(box, task)
        run(day())

    def test_a_cancelled_task_cancels_its_request(self):
        """It cancels by the number of the request, or by the id that the caller has given."""
        heard = []

        def play(wire, request):
            while request:
                heard.append((request["id"], request["method"], request["params"]))
                request = wire.take()

        async def leave(box):
            for asked in (box.glob("**"), box.act({"action": "glob", "args": {}, "id": 77})):
                task = asyncio.ensure_future(asked)
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        with played(playing(play), "hutch.aio_link"):
            run(attached_async(leave))
        number = heard[0][0]
        self.assertEqual(heard[0][2]["action"]["id"], number)
        self.assertEqual(heard[1][1:], ("cancel", {"id": number}))
        self.assertEqual(heard[-1][1:], ("act", {"action": {
            "action": "cancel", "client": "act", "args": {"id": 77}}}))

    def test_a_sandbox_that_ends_while_it_is_used_says_so(self):
        with hutch.Sandbox() as box:
            with hutch.Sandbox.attach(box.name) as other:
                other.kill()
            self.assertRaises(hutch.AgentRuntimeDisconnectedError, box.run, "true")

    def test_a_handle_that_is_closed_ends_what_waits(self):
        errors = []
        with hutch.Sandbox() as box:
            other = hutch.Sandbox.attach(box.name)
            up = threading.Event()

            def wait(number):
                try:
                    other.run("echo up; sleep 1000", session=f"s{number}", on_output=lambda text: up.set())
                except hutch.DisconnectedError as e:
                    errors.append(str(e))
            threads = [threading.Thread(target=wait, args=(n,)) for n in range(3)]
            for thread in threads:
                thread.start()
            up.wait(PATIENCE)
            other.close()
            for thread in threads:
                thread.join(PATIENCE)
        self.assertEqual(len(errors), 3)
        self.assertIn("was closed", errors[0])

    def test_a_sandbox_that_is_made_and_cannot_be_reached_is_ended(self):
        def names():
            said = subprocess.run([HUTCH, "ps", "-q"], stdout=subprocess.PIPE, check=True).stdout
            return said.decode().split()

        with mock.patch("hutch.sandbox.Link", side_effect=KeyboardInterrupt), \
                self.assertRaises(KeyboardInterrupt):
            hutch.Sandbox("unreached").start()
        self.assertNotIn("unreached", names())
        with mock.patch("hutch.aio.AsyncLink.open", side_effect=hutch.TimeoutError("no")), \
                self.assertRaises(hutch.TimeoutError):
            run(hutch.AsyncSandbox("unreached").start())
        self.assertNotIn("unreached", names())

    def test_an_end_that_is_interrupted_closes_the_handle(self):
        def play(wire, request):  # a supervisor that reads on and never answers
            told.release()
        told = threading.Semaphore(0)
        late = dataclasses.replace(calls.stop(0), patience=0.05)
        with played(playing(play)), mock.patch("hutch.calls.stop", return_value=late):
            box = hutch.Sandbox.attach("box")
            box._is_ours = True
            self.assertRaises(hutch.TimeoutError, box.__exit__, None, None, None)
            self.assertTrue(box._link.is_closed)

        async def leave():
            box = await hutch.AsyncSandbox.attach("box")
            box._is_ours = True
            end = asyncio.ensure_future(box.__aexit__(None, None, None))
            await asyncio.get_running_loop().run_in_executor(None, told.acquire)
            end.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await end
            return box._link.is_closed
        told = threading.Semaphore(0)
        with played(playing(play), "hutch.aio_link"):
            self.assertTrue(run(leave()))

    def test_a_close_that_is_interrupted_closes_it_all_the_same(self):
        with hutch.Sandbox() as box:
            other = hutch.Sandbox.attach(box.name)
            other._watcher = mock.Mock(close=mock.Mock(side_effect=KeyboardInterrupt))
            self.assertRaises(KeyboardInterrupt, other.close)
            self.assertTrue(other._link.is_closed)

            async def leave():
                another = await hutch.AsyncSandbox.attach(box.name)
                another._watcher = mock.Mock(close=mock.AsyncMock(side_effect=asyncio.CancelledError))
                with self.assertRaises(asyncio.CancelledError):
                    await another.close()
                return another._link.is_closed
            self.assertTrue(run(leave()))

    def test_an_interrupted_leader_hands_the_lead_on(self):
        """An interrupt in the leading thread hands the lead to another one."""
        with hutch.Sandbox() as box:
            got, main = [], threading.get_ident()
            box.run("mkfifo go")
            thread = threading.Thread(target=lambda: got.append(box.run("read x <go; echo on", session="b").content))

            def interrupt():
                """Interrupts the main thread while it leads and the other thread sleeps."""
                wait_until_led(box, main)
                thread.start()
                wait_until(lambda: box._link._sleepers)
                signal.pthread_kill(main, signal.SIGINT)
            other = threading.Thread(target=interrupt)
            with self.assertRaises(KeyboardInterrupt):
                other.start()
                box.run("sleep 1000", session="a")
            other.join(PATIENCE)
            box.run("echo >go", session="c")
            thread.join(PATIENCE)
            self.assertEqual(got, ["on"])
            self.assertEqual(box.run("echo next", session="a").content, "next")


class Forks(Case):
    def child(self, work):
        """The exit code of a forked child that runs `work`: 0 if that ends without an
        exception."""
        pid = os.fork()
        if pid == 0:
            try:
                os._exit(work() or 0)
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(99)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_a_child_is_told_and_its_parent_goes_on(self):
        with hutch.Sandbox() as box:
            process = box.popen(["cat"], stdin=True)

            def work():
                for what in (lambda: box.run("true"), box.info, process.wait, box.stop):
                    try:
                        what()
                        return 1
                    except hutch.ForkedError as e:
                        if "hutch.Sandbox.attach" not in str(e):
                            return 2
                before = len(os.listdir("/proc/self/fd"))
                box.close()
                if len(os.listdir("/proc/self/fd")) >= before:
                    return 3
                with hutch.Sandbox.attach(box.name) as mine:
                    return mine.run("exit 0").exit_code
            self.assertEqual(self.child(work), 0)
            self.assertEqual(box.run("echo on").content, "on")
            process.stdin.write(b"x\n")
            self.assertEqual(process.stdout.readline(), b"x\n")
            process.stdin.close()
            process.wait()
            process.close()

    def test_a_child_that_leaves_the_block_ends_nothing(self):
        with hutch.Sandbox() as box:
            self.assertEqual(self.child(lambda: box.__exit__(None, None, None)), 0)
            self.assertEqual(box.run("echo on").content, "on")

    def test_a_lock_that_another_thread_had_is_not_waited_for(self):
        with hutch.Sandbox() as box, box.popen(["cat"], stdin=True) as process:
            def work():
                signal.alarm(PATIENCE)
                process.close()
                box.close()
            with box._open()._lock:
                self.assertEqual(self.child(work), 0)

    def test_a_child_is_told_by_asyncio(self):
        async def day():
            async with hutch.AsyncSandbox() as box:
                def work():
                    try:
                        box._open().send(calls.info())
                    except hutch.ForkedError:
                        return 0
                    return 1
                self.assertEqual(self.child(work), 0)
                self.assertEqual((await box.run("echo on")).content, "on")
        run(day())


class Doors(Case):
    """The place and the owner of the socket."""

    def test_a_folder_of_another_user_is_refused(self):
        if os.geteuid() == 0:
            self.skipTest("root goes through hutch connect")
        state = os.environ["XDG_RUNTIME_DIR"] + "/open"
        os.makedirs(state + "/hutch/box", exist_ok=True)
        os.chmod(state + "/hutch", 0o711)
        with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=state):
            self.assertRaisesRegex(PermissionError, "open to others", hutch.Sandbox.attach, "box")
            os.chmod(state + "/hutch", 0o700)
            self.assertRaises(hutch.NotFoundError, hutch.Sandbox.attach, "box")

    def test_a_runtime_folder_that_is_not_ours_does_not_count(self):
        ours = os.environ["XDG_RUNTIME_DIR"]
        uid = os.stat(ours).st_uid
        default = r"^(/run/user/\d+/hutch|/tmp/hutch-\d+)$"
        for named in ours, ours + "/none":
            with mock.patch("os.geteuid", return_value=uid), \
                    mock.patch.dict(os.environ, XDG_RUNTIME_DIR=named):
                self.assertEqual(program.state_folder(), named + "/hutch")
        for named, user in (ours, uid + 1), ("relative", uid), ("", uid):
            with mock.patch("os.geteuid", return_value=user), \
                    mock.patch.dict(os.environ, XDG_RUNTIME_DIR=named):
                self.assertRegex(program.state_folder(), default)

    def test_a_long_path_is_no_hindrance(self):
        if os.geteuid() == 0:
            self.skipTest("root goes through hutch connect")
        state = os.environ["XDG_RUNTIME_DIR"] + "/" + "long" * 30
        os.makedirs(state + "/hutch/box", exist_ok=True)
        os.chmod(state + "/hutch", 0o700)
        with socket.socket(socket.AF_UNIX) as s, mock.patch.dict(os.environ, XDG_RUNTIME_DIR=state):
            there = os.open(state + "/hutch/box", os.O_RDONLY)
            s.bind(f"/proc/self/fd/{there}/control.sock")
            os.close(there)
            s.listen()
            ours, _ = program.connect("box", program.Program(HUTCH))
            ours.close()
            somebody = struct.pack("iII", 1, os.geteuid() + 1, 1)
            with mock.patch.object(socket.socket, "getsockopt", lambda *what: somebody):
                self.assertRaisesRegex(PermissionError, "another user listens", program.connect, "box",
                                       program.Program(HUTCH))
            os.unlink(state + "/hutch/box/control.sock")

    def test_ssh_gets_words_that_its_shell_reads_back(self):
        made = program.Program(hutch.Ssh("host", "-p", "22", ssh=["ssh"]))
        self.assertEqual(made.command("exec", "a b", "$x"), ["ssh", "-p", "22", "--", "host", "hutch exec 'a b' '$x'"])
        self.assertRaises(ValueError, hutch.Ssh, "-oProxyCommand=x")

    def test_a_flag_is_no_name_of_a_sandbox(self):
        self.assertRaisesRegex(hutch.InvalidError, "'--keep' is no name of a sandbox",
                               hutch.Sandbox("--keep").start)

    def test_through_ssh_all_works_that_needs_no_file_of_this_host(self):
        """A shell takes the place of ssh: it gets one argument, as the remote shell would."""
        far = hutch.Ssh("far", hutch=HUTCH, ssh=["sh", "-c", 'eval "$2"'])
        with hutch.Sandbox(program=far, env={"A": "a  'b'"}, policy={"hostname": "far"}) as box:
            self.assertEqual(box.run('echo "$A"; hostname').content, "a  'b'\nfar")
            box.write_bytes("x", b"\0")
            self.assertEqual((box.read_bytes("x"), box.exec(["cat"], input=b"in").stdout), (b"\0", b"in"))
            self.assertRaises(hutch.UnsupportedError, box.upload, "/etc/passwd", "x")
        self.assertRaisesRegex(hutch.NotFoundError, "no sandbox named 'none'",
                               hutch.Sandbox.attach, "none", program=far)


if __name__ == "__main__":
    unittest.main()
