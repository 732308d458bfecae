"""Rules about connections and their questions, with both kinds of handles."""
import asyncio
import socket
import unittest

from blocking import Blocking
from support import PATIENCE, Case, hutch
from hutch.records import NetChange, NetRules


class Doing:
    def test_rules_are_added_listed_removed_and_replaced(self):
        with self.made(network="allow", allow="example.org:8080") as box:
            self.assertEqual(self.listed(box), [("allow", "example.org:8080")])
            added = box.net.deny("a.example.org", why="not today")
            self.assertEqual((added.index, added.rule.why, added.cut), (1, "not today", 0))
            box.net.ask("b.example.org")
            self.assertEqual(box.net.allow("c.example.org:8080").index, 1)
            self.assertEqual(box.net.add({"allow": "@pypi"}, at=5).index, 5)
            rules = box.net.list()
            self.assertEqual([(rule.verdict, rule.target) for rule in rules.rules], [
                ("allow", "c.example.org:8080"), ("ask", "b.example.org"), ("deny", "a.example.org"),
                ("allow", "example.org:8080"), ("allow", "@pypi")])
            self.assertEqual((rules.questions, rules.ports, rules.open, rules.connections),
                             ((), (8080, 80, 443), 0, ()))
            removed = box.net.remove("b.example.org"), box.net.remove(1)
            self.assertEqual([(one.index, one.rule.verdict) for one in removed], [(2, "ask"), (1, "allow")])
            self.assertEqual(box.net.set([rules.rules[4], {"deny": "*"}]), 0)
            self.assertEqual(self.listed(box), [("allow", "@pypi"), ("deny", "*")])
            for error, wrong in ((hutch.InvalidError, lambda: box.net.allow("not a name")),
                                 (hutch.NotFoundError, lambda: box.net.remove("none.example.org")),
                                 (hutch.NotFoundError, lambda: box.net.answer(7, True)),
                                 (hutch.UnsupportedError, lambda: box.net.allow("a.org:9"))):
                self.assertRaises(error, wrong)
        with self.made() as box:
            self.assertRaises(hutch.UnsupportedError, box.net.list)

    def listed(self, box):
        return [(rule.verdict, rule.target) for rule in box.net.list().rules]

    def test_a_question_is_answered_and_its_connection_goes_on_or_not(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            visit = ["bash", "-c", f"exec 3<>/dev/tcp/host.hutch.internal/{port} && read -r line <&3; echo $line"]
            with self.made(network="allow", ask=f"@host:{port}") as box:
                # No client answers questions.
                self.assertEqual(box.exec(visit).text, "\n")
                with box.net.questions(PATIENCE) as questions:
                    with box.popen(visit) as process:
                        question = next(questions)
                        self.assertEqual((question.name, question.port), ("host.hutch.internal", port))
                        self.assertEqual(box.net.list().questions, (question,))
                        box.net.answer(question, True)
                        with server.accept()[0] as connection:
                            connection.sendall(b"welcome\n")
                            self.assertEqual(process.stdout.readline(), b"welcome\n")
                    with box.popen(visit) as process:
                        box.net.answer(next(questions).id, False, remember=True)
                        self.assertEqual(process.stdout.readline(), b"\n")
                    self.assertEqual(box.exec(visit).text, "\n")
                    box.kill()
                    self.assertIsNone(questions.next(PATIENCE))
                    self.assertIsNone(questions.next())

    def test_a_question_that_does_not_come_is_a_time_out(self):
        with self.made(network="allow", ask="example.org") as box, box.net.questions() as questions:
            box.run("true")
            self.assertRaises(hutch.TimeoutError, questions.next, 0)


class Threads(Doing, Case):
    def made(self, **given):
        return hutch.Sandbox(**given)


class Tasks(Doing, Case):
    def setUp(self):
        super().setUp()
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.close_loop)

    def close_loop(self):
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def made(self, **given):
        return Blocking(self.loop, hutch.AsyncSandbox(**given))


class Answers(unittest.TestCase):
    def test_connections_are_read(self):
        row = {"id": 3, "name": None, "address": "192.0.2.1", "port": 443, "since": "2026-11-28T00:00:00.000Z",
               "up": 5, "down": 6, "new": 7}
        rules = NetRules.parse({"rules": [], "questions": [], "ports": None, "open": 300,
                                "connections": [row, {**row, "name": "a.org", "address": None}]})
        self.assertEqual((rules.ports, rules.open), (None, 300))
        self.assertEqual([(c.name, c.address, c.up, c.down) for c in rules.connections],
                         [(None, "192.0.2.1", 5, 6), ("a.org", None, 5, 6)])

    def test_answers_of_another_form_are_refused(self):
        rule = {"allow": "a.org"}
        self.assertEqual(NetChange.parse({"index": 1, "rule": rule, "cut": 0, "new": 1}).rule.target, "a.org")
        for parse, value in ((NetChange.parse, {"index": 1, "rule": {"permit": "a.org"}, "cut": 0}),
                             (NetChange.parse, {"index": 1, "rule": {"allow": 1}, "cut": 0}),
                             (NetChange.parse, {"rule": rule, "cut": 0}), (NetRules.parse, {"rules": [rule]}),
                             (NetRules.parse, {"rules": [], "questions": [{"id": "1", "name": "a", "port": 1}]})):
            with self.assertRaises(hutch.ProtocolError, msg=value):
                parse(value)


if __name__ == "__main__":
    unittest.main()
