"""The channel without a socket: requests, valid input, and invalid input."""
import base64
import json
import time
import unittest
from unittest import mock

from support import hutch

from hutch import calls, protocol, sandbox, tar
from hutch.protocol import Channel


def line(**o):
    return json.dumps({"jsonrpc": "2.0", **o}).encode() + b"\n"


def note(method, **params):
    return line(method=method, params=params)


def output(**params):
    return note("output", process=3, stream="stdout", **params)


EXITED = {"process": 3, "exit_code": 0, "signal": None, "timed_out": False, "user_s": 0, "sys_s": 0.5}


class Channels(unittest.TestCase):
    def setUp(self):
        self.channel = Channel("box")

    def ask(self, method="info", **params):
        return self.channel.request(method, params)[0]

    def start(self):
        waiter = self.ask("exec.start", argv=["true"])
        self.channel.feed(line(id=waiter.id, result={"process": 3, "pid": 17}))
        return waiter.running

    def test_a_request_is_one_line(self):
        waiter, sent = self.channel.request("info", {"text": "two\nlines \u2028 é"})
        self.assertEqual(sent.count(b"\n"), 1)
        self.assertEqual(json.loads(sent), {"jsonrpc": "2.0", "id": waiter.id, "method": "info",
                                            "params": {"text": "two\nlines \u2028 é"}})

    def test_answers_find_their_requests_in_any_order_and_any_pieces(self):
        one, two = self.ask(), self.ask()
        for byte in line(id=two.id, result=2) + line(id=one.id, result={"é": 1}):
            self.channel.feed(bytes([byte]))
        self.assertEqual((one.result, two.result), ({"é": 1}, 2))

    def test_output_of_an_action_with_a_number_of_its_callers_is_not_anothers(self):
        waiter = self.ask("act", action={"id": -2})
        for number in range(10):
            self.channel.feed(note("output", session="main", cause=number, data="other"))
        self.assertIsNone(waiter.take())

    def test_several_lines_in_one_piece(self):
        waiters = [self.ask() for _ in range(3)]
        data = b"".join(line(id=w.id, result=n + 1) for n, w in enumerate(waiters))
        self.channel.feed(data[:-5])
        self.assertEqual([w.is_done for w in waiters], [True, True, False])
        self.channel.feed(data[-5:])
        self.assertEqual(waiters[2].result, 3)

    def test_output_that_comes_with_the_answer_of_a_start_is_kept(self):
        waiter = self.ask("exec.start")
        self.channel.feed(line(id=waiter.id, result={"process": 3, "pid": 17}) + output(data="é\n")
                          + output(base64=base64.b64encode(b"\xff\0").decode())
                          + note("event", event="exited", **EXITED))
        self.assertEqual(waiter.running.streams["stdout"].take(), "é\n".encode() + b"\xff\0")
        self.assertEqual(waiter.running.exit.sys_s, 0.5)

    def test_unread_output_is_bounded_and_counted(self):
        running = self.start()
        with mock.patch.object(protocol, "HELD_MAX", 10):
            for _ in range(5):
                self.channel.feed(output(data="1234"))
            self.channel.feed(output(dropped=7))
        held = running.streams["stdout"]
        self.assertEqual((held.take(3), held.take(), held.dropped), (b"123", b"41234", 12 + 7))

    def test_output_of_a_command_is_bounded_and_counted_too(self):
        waiter = self.ask("act", action={"id": -2})
        with mock.patch.object(protocol, "HELD_MAX", 2 * (5 + protocol.NOTICE_COST)):
            for data in "12345", "67890", "123", "45":
                self.channel.feed(note("output", session="main", cause=waiter.id, data=data))
            self.channel.feed(note("event", event="ask", request=waiter.id, ask=1))
            self.assertEqual(waiter.take()["data"], "12345")
            self.channel.feed(note("output", session="main", cause=waiter.id, data="after"))
        told = [waiter.take() for _ in range(5)]
        self.assertEqual([(o or {}).get("data") or (o or {}).get("dropped") or (o or {}).get("ask") for o in told],
                         ["67890", 5, 1, "after", None])

    def test_a_gap_in_the_output_is_one_notice(self):
        waiter = self.ask("act", action={"id": -2})
        for missing in 3, 4:
            self.channel.feed(note("output", session="main", cause=waiter.id, dropped=missing))
        with mock.patch.object(protocol, "HELD_MAX", 0):
            self.channel.feed(note("output", session="main", cause=waiter.id, data="12345"))
        self.assertEqual([waiter.take(), waiter.take()], [{"dropped": 12}, None])

    def test_notifications_that_are_not_known_are_passed_over(self):
        self.channel.feed(note("news", x=1) + note("event", event="news")
                          + note("output", process=99, stream="stdout", data="x"))
        self.assertIsNone(self.channel.failure)

    def test_the_answer_of_a_forgotten_request_is_ignored_once(self):
        waiter = self.ask()
        self.channel.forget(waiter)
        self.channel.feed(line(id=waiter.id, result={}))
        with self.assertRaises(hutch.ProtocolError):
            self.channel.feed(line(id=waiter.id, result={}))

    def test_a_line_outside_of_the_protocol_is_an_error(self):
        self.start()
        self.ask("exec.start")
        self.ask()
        for garbage in [
                b"\n", b"hello\n", b"\0\n", b"[]\n", b"7\n", b"{}\n", b'{"jsonrpc":"2.0"}\n',
                b'{"jsonrpc":"1.0","id":2,"result":1}\n', b"\xff\xfe\n", b"[" * 100000 + b"\n",
                b'{"jsonrpc":"2.0","id":' + b"9" * 30 + b',"result":1}\n',
                b'{"jsonrpc":"2.0","id":NaN,"result":1}\n', b'{"jsonrpc":"2.0","id":3,"result":Infinity}\n',
                b'{"jsonrpc":"2.0","id":3,"result":[' + b"9" * 30 + b"]}\n",
                line(id=99, result=1), line(id="2", result=1), line(id=None, result=1),
                line(id=True, result=1), line(id=2), line(id=2, result=1, error={}),
                line(id=2, error="no"), line(id=2, error={"code": 1, "message": 7}),
                line(id=2, error={"code": -32000, "message": "no"}),
                line(id=2, result={"process": "3"}), line(id=2, result=[]),
                line(method="output"), line(method="output", params=[]), output(data=7),
                output(base64="!"), output(base64="YQ=\n="), output(), output(dropped="7"),
                note("output", process=3, stream="stdin", data="x"),
                note("output", process="3", data="x"), note("output", session="main", cause=1, data=7),
                note("output", cause=3, dropped="7"), note("output", cause=3, dropped="7", data=7),
                note("event", event="ask", request=3, ask="7"),
                line(id=2, result={"process": 4, "pid": "17"}),
                note("event"),
                note("event", event="exited", process=3)]:
            with self.subTest(garbage[:60]):
                with self.assertRaises(hutch.ProtocolError) as caught:
                    self.channel.feed(garbage)
                self.assertLess(len(str(caught.exception)), 400)
                self.setUp()
                self.start()
                self.ask("exec.start")
                self.ask()

    def test_further_members_of_a_question_are_not_taken_for_output(self):
        waiter = self.ask()
        self.channel.feed(note("event", event="ask", request=waiter.id, ask=7, data=7, dropped="x"))
        self.channel.feed(note("output", cause=waiter.id, data="said"))
        self.assertEqual([waiter.take()["ask"], waiter.take()["data"], waiter.take()], [7, "said", None])

    def test_a_line_without_an_end_is_bounded(self):
        with mock.patch.object(protocol, "LINE_MAX", 100):
            self.channel.feed(b"x" * 100)
            with self.assertRaises(hutch.ProtocolError):
                self.channel.feed(b"x")

    def test_an_error_has_its_kind_as_class_and_its_remedy(self):
        for kind, kind_of in [("not_found", LookupError), ("refused", PermissionError),
                              ("timeout", TimeoutError), ("disconnected", ConnectionError),
                              ("invalid", ValueError), ("busy", hutch.AgentRuntimeNotReadyError),
                              ("no_space", OSError), ("limit", hutch.LimitError)]:
            waiter = self.ask()
            self.channel.feed(line(id=waiter.id, error={"code": -32000, "message": "a word", "data": {
                "kind": kind, "remedy": "do this", "exit_code": 127}}))
            self.assertIsInstance(waiter.error, kind_of)
            self.assertIsInstance(waiter.error, hutch.AgentRuntimeError)
            self.assertEqual((waiter.error.kind, waiter.error.remedy, waiter.error.exit_code),
                             (kind, "do this", 127))
            self.assertEqual(str(waiter.error), "a word (do this)")
        waiter = self.ask()
        self.channel.feed(line(id=waiter.id, error={"code": -32601, "message": "nix"}))
        self.assertIsInstance(waiter.error, hutch.UnsupportedError)

    def test_an_error_about_the_connection_is_raised(self):
        with self.assertRaisesRegex(hutch.RefusedError, "another user"):
            self.channel.feed(line(id=None, error={"code": -32000, "message": "the peer is another user",
                                                   "data": {"kind": "refused", "remedy": None}}))

    def test_the_end_is_everybodys(self):
        running, waiter = self.start(), self.ask()
        self.channel.end(self.channel.ended())
        self.assertIsInstance(waiter.error, hutch.DisconnectedError)
        self.assertIsInstance(running.error, hutch.DisconnectedError)
        self.assertTrue(running.streams["stdout"].is_over)
        self.assertIsNot(waiter.error, running.error)
        with self.assertRaises(hutch.DisconnectedError):
            self.ask()

    def test_a_value_that_json_cannot_hold_is_not_sent(self):
        for params in [{"x": float("nan")}, {"x": {1}}, {"x": "\ud800"}]:
            with self.subTest(params), self.assertRaises(ValueError):
                self.channel.request("info", params)
        with self.assertRaises(hutch.LimitError):
            self.channel.request("info", {"x": "x" * (32 << 20)})
        self.assertEqual(len(self.channel._waiters), 0)

    def test_words_are_no_command(self):
        with self.assertRaises(ValueError):
            calls.start("ls -l")


OURS = {"log": None, "truncated_chars": 0, "restarted": False, "previous": None, "refused": [],
        "took_ms": 0.1}


def observation(kind, extras, content="", **more):
    return hutch.observations.observation({"observation": kind, "message": "m", "content": content,
                                           "extras": extras, "hutch": {**OURS, **more}})


class Observations(unittest.TestCase):
    def test_a_refusal_has_types(self):
        o = observation("write", {"path": "/x"}, refused=[{
            "what": "write", "path": "/x", "layer": "rules", "rule": "r", "remedy": None}])
        self.assertEqual(o.refused, [hutch.Refusal("write", "/x", "rules", "r", None)])

    def test_a_kind_that_is_not_known_is_an_observation(self):
        self.assertIs(type(observation("fly", {"url": "u"})), hutch.Observation)

    def test_the_observations_of_plugins_have_types(self):
        o = observation("run_ipython", {"code": "1", "image_urls": None}, "1", data={"svg": "<svg/>"},
                        note="n")
        self.assertEqual((type(o), o.code, o.image_urls, o.hutch.data, o.hutch.note),
                         (hutch.IPythonObservation, "1", [], {"svg": "<svg/>"}, "n"))
        o = observation("browse", {"url": "u", "error": True, "open_pages_urls": ["u", "v"], "active_page_index": 1})
        self.assertEqual((type(o), o.url, o.error, o.open_pages_urls, o.active_page_index, o.screenshot),
                         (hutch.BrowserObservation, "u", True, ["u", "v"], 1, ""))

    def test_a_wrong_type_is_an_error(self):
        for kind, extras, more in [("run_ipython", {"code": 1}, {}), ("browse", {"url": 1}, {}),
                                   ("read", {"path": ""}, {"data": [1]}), ("read", {}, {}),
                                   ("read", {"path": 1}, {}), ("read", [], {}),
                                   ("run", {"command": "x"}, {}), ("stat", {"path": "/x"}, {}),
                                   ("error", {}, {}), ("read", {"path": ""}, {"took_ms": "1"}),
                                   ("read", {"path": ""}, {"refused": [1]}),
                                   ("read", {"path": ""}, {"truncated_chars": True})]:
            with self.subTest(kind), self.assertRaises(hutch.ProtocolError):
                observation(kind, extras, **more)

    def test_a_failed_action_raises_and_a_file_with_the_same_text_does_not(self):
        said = hutch.observations.raise_if_not_done
        said(observation("read", {"path": "/x", "impl_source": "default"}, "ERROR:\nin a file"))
        for error_id, kind in [("HUTCH$REFUSED", PermissionError), ("HUTCH$BAD_ACTION", ValueError),
                               ("HUTCH$SANDBOX_ENDED", hutch.DisconnectedError),
                               ("HUTCH$CANCELLED", hutch.ActionCancelledError),
                               ("HUTCH$TOO_LARGE", hutch.LimitError), ("", hutch.ActionError)]:
            with self.subTest(error_id), self.assertRaises(kind) as caught:
                said(observation("error", {"error_id": error_id}, "ERROR: no"))
            self.assertEqual((caught.exception.message, caught.exception.observation.content),
                             ("no", "ERROR: no"))


class Records(unittest.TestCase):
    def test_an_end_says_which_limit_it_was(self):
        said = {"reason": "timeout", "exit_code": 124, "limit": "ttl", "message": None, "remedy": None, "ended": ""}
        end = sandbox.end_of(json.dumps([{"exit": said}]).encode())
        self.assertEqual((end.reason, end.exit_code, end.limit), ("timeout", 124, "ttl"))


class Tars(unittest.TestCase):
    """The tars that read_bytes() gets, which an attacker may have written."""

    def data(self, sent, most=1000):
        one = tar.OneFile("/x", most)
        for at in range(0, len(sent), 100):
            one.put(sent[at:at + 100])
        return one.data()

    def test_a_file_comes_out_as_it_went_in(self):
        for data in b"", b"x", bytes(range(256)) * 3, b"y" * 1000:
            self.assertEqual(self.data(tar.of_file(data, 0o644)), data)

    def test_a_long_name_and_a_size_may_be_in_a_header_of_their_own(self):
        made = tar.of_file(b"data", 0o644)
        records = b"12 path=abc\n9 size=3\n"
        header = bytearray(made[:512])
        header[156:157], header[124:135] = b"x", b"%011o" % len(records)
        self.assertEqual(self.data(bytes(header) + records.ljust(512, b"\0") + made), b"dat")

    def test_a_header_of_many_records_is_read_in_one_go(self):
        records = b"5 a=\n" * (1 << 19)
        header = bytearray(tar.of_file(b"", 0o644)[:512])
        header[156:157], header[124:135] = b"x", b"%011o" % len(records)
        one = tar.OneFile("/x", 1 << 23)
        one.put(bytes(header) + records + b"\0" * (-len(records) % 512) + tar.of_file(b"data", 0o644))
        began = time.thread_time()
        self.assertEqual(one.data(), b"data")
        self.assertLess(time.thread_time() - began, 5)

    def test_a_tar_that_is_too_large_is_not_taken(self):
        made = tar.of_file(b"y" * 1001, 0o644)
        self.assertRaises(hutch.LimitError, self.data, made)
        with self.assertRaises(hutch.LimitError):
            one = tar.OneFile("/x", 1000)
            for _ in range(100):
                one.put(b"\0" * 1000)

    def test_bytes_that_are_no_tar_of_a_file_are_an_error(self):
        made = tar.of_file(b"data", 0o644)

        def with_header(at, said):
            return made[:at] + said + made[at + len(said):]

        endless = with_header(156, b"x")

        def extended(records):
            return (endless[:124] + b"%011o" % len(records) + endless[135:512]
                    + records.ljust(512, b"\0") + made)

        for sent in [b"", b"x" * 511, b"x" * 5000, made[:514], with_header(124, b"77777777777"),
                     with_header(124, b"-0000000004"), with_header(124, b"           "),
                     with_header(156, b"5"), with_header(156, b"L"), with_header(257, b"USTAR"),
                     endless, (endless[:124] + b"0" * 11 + endless[135:512]) * 50,
                     extended(b"11 size=-1\n"), extended(b"0 size=1\n"), extended(b"-5 a=b\n"),
                     extended(b"99 size=1\n"), extended(b"9 size=1 "), extended(b"size=1\n")]:
            with self.subTest(sent[:20]), self.assertRaises(hutch.HutchError):
                self.data(sent)


if __name__ == "__main__":
    unittest.main()
