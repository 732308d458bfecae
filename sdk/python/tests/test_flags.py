"""Keyword arguments are the flags of the command line, all of them and no other."""
import datetime
import inspect
import json
import re
import subprocess
import sys
import typing
import unittest
from unittest import mock

from support import HUTCH, hutch

from hutch import flags


def help_of(verb):
    """The long flags in the verb's help: a name, and whether it takes a value.  Flags that the
    SDK itself uses for output and descriptors are left out."""
    said = subprocess.run([HUTCH, verb, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = re.findall(r"^ +(?:-\w )?--([a-z-]+)( \S+)?", said, re.M)
    renamed = {hutchs: ours for ours, hutchs in flags.RENAMED.items()}
    return {renamed.get(name, name).replace("-", "_"): bool(argument) for name, argument in found
            if name not in ("help", "json", "lease", "quiet")}


def types():
    """Makes the classes that exist only for type checkers."""
    with mock.patch.object(typing, "TYPE_CHECKING", True), mock.patch.dict(
            sys.modules, {"typing_extensions": mock.Mock(TypedDict=typing.TypedDict)}):
        made = {"__name__": "hutch.flags", "__package__": "hutch"}
        exec(compile(inspect.getsource(flags), flags.__file__, "exec"), made)  # noqa: S102
    return made


class Flags(unittest.TestCase):
    def test_they_are_those_of_hutch_create(self):
        told = help_of("create")
        self.assertGreater(len(told), 30)
        self.assertEqual(set(flags.FLAGS), set(told))
        self.assertEqual({name for name, way in flags.FLAGS.items() if way in ("switch", "main")},
                         {name for name, takes in told.items() if not takes})

    def test_those_of_a_fork_are_those_of_hutch_fork(self):
        self.assertEqual(set(flags.FLAGS) - set(flags.NOT_FORK), set(help_of("fork")))

    def test_those_of_a_start_are_those_of_hutch_start(self):
        self.assertEqual(set(flags.FLAGS) - set(flags.NOT_START), set(help_of("start")))

    def test_type_checkers_are_told_the_same(self):
        made = types()
        self.assertEqual(set(made["StartFlags"].__annotations__), set(flags.FLAGS) - set(flags.NOT_START))
        self.assertEqual(set(made["Flags"].__annotations__), set(flags.FLAGS))
        self.assertEqual(set(made["ForkFlags"].__annotations__), set(flags.FLAGS) - set(flags.NOT_FORK))

    def test_values_become_words(self):
        for given, words in [
                ({"memory": "1g", "cpus": 1.5, "pids_limit": 7}, "--memory 1g --cpus 1.5 --pids-limit 7"),
                ({"volume": "a:/b"}, "--volume a:/b"), ({"volume": ["a:/b", "c:/d:ro"]},
                                                        "--volume a:/b --volume c:/d:ro"),
                ({"read_only": True, "lint": False, "image": None}, "--read-only"),
                ({"keep_files": True}, "--keep"),
                ({"main": True, "restart": "always", "rm": False}, "--main --restart always"),
                ({"env": {"A": "1", "B": None}}, "--env A=1 --env B"),
                ({"env": "A=1"}, "--env A=1"),
                ({"timeout": 1.5, "ttl": 90, "idle_timeout": datetime.timedelta(minutes=2)},
                 "--timeout 1.500s --ttl 90 --idle-timeout 120.000s"),
                ({"ulimit": {"nofile": "10:20", "core": 0}}, "--ulimit nofile=10:20 --ulimit core=0"),
                ({"label": {"team": "web", "on": ""}}, "--label team=web --label on="),
                ({"label": "on"}, "--label on"),
                ({"policy": ["strict", "./a.json"]}, "--policy strict --policy ./a.json"),
                ({"rule": '{"a":1}'}, '--rule {"a":1}')]:
            with self.subTest(given):
                self.assertEqual(" ".join(flags.words(given).argv), words)

    def test_the_words_of_a_main_process_come_behind_the_name(self):
        words = flags.words({"main": ["sh", "-c", "exit 3"]})
        self.assertEqual((words.argv, words.command), (["--main"], ["--", "sh", "-c", "exit 3"]))
        with self.assertRaisesRegex(hutch.InvalidError, "NUL"):
            flags.words({"main": ["a\0b"]})

    def test_a_rule_may_be_an_object(self):
        rule = {"command": "git push **", "decision": "deny", "reason": "no"}
        self.assertEqual(json.loads(flags.words({"rule": rule}).argv[1]), rule)
        self.assertEqual(len(flags.words({"rule": [rule, rule]}).argv), 4)

    def test_values_of_secrets_are_in_no_words(self):
        for given in [{"TOKEN": "hunter2"}, "TOKEN=hunter2", ["TOKEN=hunter2"]]:
            made = flags.words({"secret": given})
            self.assertEqual((made.argv, made.environ), (["--secret", "TOKEN"], {"TOKEN": "hunter2"}))
        for name in ["PATH", "XDG_RUNTIME_DIR", "LD_PRELOAD"]:
            with self.assertRaises(hutch.InvalidError):
                flags.words({"secret": {name: "x"}})

    def test_paths_of_a_policy_that_is_no_file_are_below_the_working_directory(self):
        policy = {"workspace": ".:ro", "mounts": {"replace": ["x:/y"]}, "extends": ["strict", "./p.json"],
                  "audit": "on", "image": "dir:root", "toolchains": ["~/t", "/abs"],
                  "limits": {"cgroup_parent": "g", "memory": "1g"}}
        self.assertEqual(flags.absolute(policy, "/base"), {
            "workspace": "/base/.:ro", "mounts": {"replace": ["/base/x:/y"]},
            "extends": ["strict", "/base/./p.json"], "audit": "on", "image": "dir:/base/root",
            "toolchains": ["~/t", "/abs"], "limits": {"cgroup_parent": "/base/g", "memory": "1g"}})

    def test_a_value_that_no_flag_takes_is_an_error_that_names_it(self):
        for given in [{"memory": True}, {"lint": "yes"}, {"hostname": b"x"}, {"workspace": ["a"]},
                      {"hostname": "a\0b"}, {"policy": {"x": {1}}}]:
            with self.subTest(given), self.assertRaisesRegex(hutch.InvalidError, next(iter(given))):
                flags.words(given)
        with self.assertRaisesRegex(TypeError, "there is no flag 'memroy'"):
            hutch.Sandbox(memroy="1g")


class Shells(unittest.TestCase):
    def test_both_have_the_same_methods_with_the_same_parameters(self):
        for one, other in [(hutch.Sandbox, hutch.AsyncSandbox), (hutch.Process, hutch.AsyncProcess),
                           (hutch.Events, hutch.AsyncEvents), (hutch.Net, hutch.AsyncNet),
                           (hutch.Questions, hutch.AsyncQuestions)]:
            mine, its = ({name: [(p.name, p.kind, p.default) for p in
                                 inspect.signature(value).parameters.values()]
                          for name, value in inspect.getmembers(kind, callable)
                          if not name.startswith("_")} for kind in (one, other))
            mine.pop("kept", None)
            its.pop("open", None)
            self.assertEqual(mine, its)
            self.assertGreater(len(mine), 1)


if __name__ == "__main__":
    unittest.main()
