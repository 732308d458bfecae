"""Tests in a real sandbox: with threads and with asyncio, over the socket and through `hutch
connect`.  (Root cannot use the socket, so as root all tests go through `hutch connect`.)"""
import asyncio
import gc
import io
import os
import select
import shutil
import signal
import tarfile
import tempfile
import threading
import unittest
from unittest import mock

from blocking import Blocking
from support import (
    HUTCH,
    PATIENCE,
    Case,
    descriptors,
    hutch,
    wait_for_all,
    wait_for_all_async,
    wait_until,
    wait_until_led,
)

ROOT = os.geteuid() == 0


class Doing:
    """The tests; the classes that make the sandbox are below."""

    program = None

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="hutch-sdk.")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    def box(self, **flags):
        return self.made(program=self.program, **flags)

    def host(self, *names):
        """Makes folders of the host that the inside may write to."""
        for name in names:
            os.mkdir(f"{self.folder}/{name}")
            if ROOT:
                os.chown(f"{self.folder}/{name}", 65534, 65534)
        return f"{self.folder}/{names[0]}"

    # --- actions ---

    def test_a_command_has_an_observation(self):
        with self.box(env={"WORD": "a b"}, hostname="there") as box:
            o = box.run("cd /tmp; echo $WORD; hostname; false")
            self.assertEqual((o.content, o.exit_code, o.working_dir), ("a b\nthere", 1, "/tmp"))
            self.assertIn("exit code 1", o.text)
            self.assertEqual(box.run("pwd", session="other").content, "/workspace")
            with self.assertRaises(hutch.CommandError) as caught:
                o.check()
            self.assertEqual(caught.exception.exit_code, 1)
            self.assertIs(box.run("true").check().exit_code, 0)
            self.assertEqual(box.run("pwd", is_static=True, cwd="/usr").content, "/usr")

    def test_a_command_can_be_typed_to_and_ended(self):
        with self.box() as box:
            o = box.run("read -p 'Name? ' name; echo Hello $name", timeout=1)
            self.assertTrue(o.is_running)
            said = [o.content]
            wait_until(lambda: "Name?" in "".join(said) or said.append(box.run("", is_input=True, timeout=1).content))
            self.assertEqual(box.run("Ada", is_input=True).content, "Hello Ada")
            self.assertTrue(box.run("sleep 1000", timeout=1).is_running)
            self.assertEqual(box.run("C-c").exit_code, 130)
            with self.assertRaises(hutch.InvalidError):
                box.run("true", blocking=True)

    def test_output_of_a_command_comes_as_it_prints(self):
        """The command ends when its output has been received."""
        host, said = self.host("shared"), []
        os.mkfifo(host + "/go")
        os.chmod(host + "/go", 0o666)
        go = os.open(host + "/go", os.O_RDWR)
        self.addCleanup(os.close, go)

        def hear(text):
            said.append(text)
            os.write(go, b"\n")

        with self.box(volume=host + ":/shared") as box:
            o = box.run("echo one; read x </shared/go", blocking=True, timeout=PATIENCE, on_output=hear)
            self.assertEqual(o.exit_code, 0)
            self.assertEqual("".join(said), "one\r\n")
            box.run("echo unheard", session="other")
            self.assertEqual("".join(said), "one\r\n")

    def test_a_failed_action_raises_and_act_gives_an_observation(self):
        with self.box() as box:
            with self.assertRaises(hutch.ActionError) as caught:
                box.run("cd /\npwd")
            self.assertIn("Cannot execute multiple commands", caught.exception.observation.content)
            with self.assertRaises(FileNotFoundError):
                box.read("none")
            with self.assertRaisesRegex(hutch.ActionError, "did not appear"):
                box.write("file", "one")
                box.edit("/workspace/file", "two", "three")
            with self.assertRaises(ValueError):
                box.mkdir(path=7)
            o = box.act({"action": "read", "args": {"path": "none"}, "id": 1})
            self.assertIsInstance(o, hutch.ErrorObservation)
            self.assertEqual((o.cause, o.raw["observation"]), (1, "error"))
            self.assertIsInstance(box.act({"action": "nothing"}), hutch.ErrorObservation)

    def test_a_missing_file_raises_the_exception_that_python_raises(self):
        with self.box() as box:
            for call in (box.view, box.undo, lambda path: box.edit(path, "a", "b"),
                         lambda path: box.insert(path, 0, "a"), box.read_bytes,
                         lambda path: box.copy_out(path, io.BytesIO())):
                for path in "/workspace/none", "/workspace/no. The path /workspace/no is":
                    with self.assertRaises(hutch.FileMissingError) as caught:
                        call(path)
                    self.assertIsInstance(caught.exception, FileNotFoundError)
            with self.assertRaises(hutch.ActionError) as caught:
                box.edit("/workspace", "a", "b")
            self.assertNotIsInstance(caught.exception, FileNotFoundError)

    def test_files_are_written_edited_found_and_moved(self):
        with self.box() as box:
            self.assertEqual(box.write("src/a.c", "one\ntwo").path, "/workspace/src/a.c")
            self.assertEqual((box.read("src/a.c"), box.read("src/a.c", 1, 2)), ("one\ntwo\n", "two\n"))
            self.assertIn("\n-two\n+2", box.edit("/workspace/src/a.c", "two", "2").diff)
            box.insert("/workspace/src/a.c", 0, "zero")
            self.assertIn("     1\tzero", box.view("/workspace/src/a.c"))
            box.undo("/workspace/src/a.c")
            box.create("/workspace/b", "no newline")
            self.assertEqual(box.read("b"), "no newline")
            self.assertEqual(box.list(depth=2).lines, ["src/", "b", "src/a.c"])
            self.assertEqual(box.glob("**/*.c").lines, ["src/a.c"])
            self.assertEqual(box.grep("ON[E]", ignore_case=True).lines, ["src/a.c:1:one"])
            self.assertEqual(box.move("b", "c").to, "c")
            self.assertEqual((box.stat("c").stat.type, box.stat("c").stat.size), ("file", 10))
            box.mkdir("d/e")
            box.remove("d", recursive=True)
            self.assertEqual(box.glob("nothing").lines, [])

    def test_variables_and_secrets_are_set(self):
        with self.box() as box:
            o = box.env({"TOKEN": "hunter2", "A": "1"}, unset=["TZ"], secret=["TOKEN"])
            self.assertEqual((o.set, o.unset, o.secret), (["TOKEN", "A"], ["TZ"], ["TOKEN"]))
            self.assertEqual(box.run("echo $TOKEN $A").content, "<secret-hidden> 1")

    # --- rules and callbacks ---

    RULE = {"command": "touch **", "decision": "ask", "reason": "it makes a file"}

    def test_the_answer_to_a_question_decides(self):
        asked = []

        def on_ask(ask):
            asked.append(ask)
            return ask.about != "touch no"

        with self.box(rule=self.RULE, on_ask=on_ask) as box:
            self.assertEqual(box.run("touch yes").exit_code, 0)
            with self.assertRaises(PermissionError) as caught:
                box.run("touch no")
            self.assertEqual(caught.exception.observation.refused[0].layer, "rules")
            self.assertEqual(box.list().lines, ["yes"])
        self.assertEqual([(a.about, a.reason, a.risk) for a in asked],
                         [("touch yes", "it makes a file", "medium"), ("touch no", "it makes a file", "medium")])
        with self.box(rule=self.RULE) as box, self.assertRaises(hutch.ActionRefusedError):
            box.run("touch x")

    def test_a_callback_that_throws_is_a_no_and_is_told(self):
        def on_ask(ask):
            raise KeyError(ask.about)

        with self.box(rule=self.RULE, on_ask=on_ask) as box:
            with self.assertRaises(hutch.CallbackError) as caught:
                box.run("touch x")
            self.assertIsInstance(caught.exception.__cause__, KeyError)
            self.assertEqual(caught.exception.observation.error_id, "HUTCH$REFUSED")
            self.assertEqual(box.list().lines, [])

    def test_an_answer_other_than_yes_is_a_no(self):
        with self.box(rule=self.RULE, on_ask=lambda ask: "yes") as box:
            self.assertRaises(PermissionError, box.run, "touch x")

    def test_output_whose_callback_throws_goes_on_and_is_told(self):
        def throw(text):
            raise OSError("full")

        with self.box() as box:
            with self.assertRaises(hutch.CallbackError) as caught:
                box.run("echo one; touch file", on_output=throw)
            self.assertEqual(caught.exception.observation.content, "one")
            self.assertEqual(box.list().lines, ["file"])

    # --- processes ---

    def test_a_program_has_streams_and_an_end(self):
        with self.box() as box:
            done = box.exec(["sh", "-c", "cat; echo err >&2; pwd; exit 3"], input=b"in\0\xff\n", cwd="/usr",
                            env={"A": "1"})
            self.assertEqual((done.exit_code, done.stdout, done.stderr), (3, b"in\0\xff\n/usr\n", b"err\n"))
            self.assertRaises(hutch.CommandError, done.check)
            self.assertEqual(box.exec(["printenv", "A"], env={"A": "é"}).text, "é\n")
            with mock.patch.dict(os.environ, A="theirs"):
                self.assertEqual(box.exec(["printenv", "A"], env=os.environ).text, "theirs\n")
            self.assertEqual(box.exec(["cat"]).stdout, b"")
            self.assertTrue(box.exec(["sleep", "1000"], timeout=0.1).timed_out)
            with self.assertRaises(hutch.NotFoundError) as caught:
                box.exec(["no-such-program"])
            self.assertEqual(caught.exception.exit_code, 127)

    def test_a_failed_start_leaves_no_descriptor(self):
        with self.box() as box:
            box.exec(["true"])
            before = descriptors()
            try:
                box.exec(["no-such-program"], input=b"x")
            except hutch.NotFoundError:  # the exception is still held here
                self.assertEqual(descriptors(), before)
            else:
                self.fail("it was started")

    def test_much_goes_in_and_out_at_once(self):
        data = os.urandom(1 << 16) * 48
        with self.box() as box:
            done = box.exec(["sh", "-c", "tee /dev/stderr"], input=data)
            self.assertTrue(done.stdout == data and done.stderr == data)

    def test_a_program_that_prints_without_end_is_ended(self):
        with self.box() as box:
            with self.assertRaises(hutch.LimitError):
                box.exec(["sh", "-c", "trap '' PIPE; while :; do echo more; done"], max_output=1 << 16)
            wait_for_all(box)

    def test_a_program_that_does_not_read_its_input_is_no_error(self):
        with self.box() as box:
            self.assertEqual(box.exec(["true"], input=b"x" * 3000000).exit_code, 0)

    def test_a_job_that_is_left_in_the_background_delays_no_call(self):
        """The background process holds the ends of the pipes, too."""
        with self.box() as box:
            done = box.exec(["sh", "-c", "sleep 1000 & echo now; echo err >&2; exit 3"])
            self.assertEqual((done.exit_code, done.stdout, done.stderr), (3, b"now\n", b"err\n"))
            with box.popen(["sh", "-c", "sleep 1000 &"], stdin=True) as p:
                pass
            self.assertEqual(p.poll().exit_code, 0)
            done = box.exec(["sh", "-c", "sleep 1000 & seq 100000"])
            self.assertEqual(len(done.stdout), 588895)

    def test_the_end_is_told_though_the_streams_were_closed(self):
        with self.box() as box:
            p = box.popen(["sleep", "1000"])
            p.close()
            p.kill()
            self.assertEqual(p.wait(PATIENCE).signal, 9)

    def test_a_process_is_talked_to(self):
        with self.box() as box:
            with box.popen(["sh", "-c", "while read x; do echo got $x; done"], stdin=True) as p:
                for word in b"one", b"two":
                    p.stdin.write(word + b"\n")
                    self.assertEqual(p.stdout.readline(), b"got " + word + b"\n")
                self.assertIsNone(p.poll())
                self.assertEqual([one.process for one in box.processes()], [p.number])
            self.assertEqual(p.poll().exit_code, 0)
            with box.popen(["wc", "-c"], stdin=True) as p:
                p.stdin.write(bytearray(1000000))
                p.stdin.close()
                self.assertEqual(p.stdout.read(), b"1000000\n")
            with box.popen(["seq", "3"]) as p:
                self.assertEqual(list(p.stdout), [b"1\n", b"2\n", b"3\n"])

    def test_a_process_is_signalled_and_waited_for(self):
        with self.box() as box:
            p = box.popen(["sleep", "1000"])
            self.assertRaises(TimeoutError, p.wait, 0.05)
            p.terminate()
            self.assertEqual((p.wait().exit_code, p.wait().signal), (143, 15))
            self.assertEqual(p.stdout.read(), b"")
            p.close()
            with self.assertRaises(hutch.HutchError):
                p.signal("NONSENSE")
            with box.popen(["sh", "-c", "trap 'kill $!; echo usr1; exit 7' USR1; sleep 1000 & echo up; wait"]) as p:
                self.assertEqual(p.stdout.readline(), b"up\n")
                p.signal(10)
            self.assertEqual(p.poll().exit_code, 7)

    def test_a_terminal_has_a_size(self):
        with self.box() as box:
            with box.popen(["sh", "-c", "trap 'stty size; kill $!; exit' WINCH; sleep 1000 & read x; stty size; wait"],
                           stdin=True, tty=True, rows=10, cols=20) as p:
                p.stdin.write(b"\n")
                self.assertEqual([p.stdout.readline() for _ in range(2)], [b"\r\n", b"10 20\r\n"])
                p.resize(40, 120)
                self.assertEqual(p.stdout.readline(), b"40 120\r\n")

    def test_a_detached_process_is_logged_and_can_be_attached_to(self):
        with self.box() as box:
            box.run("mkfifo go")
            p = box.popen(["sh", "-c", "echo kept; read x <go; echo late >&2; exit 5"], detach=True)
            with self.attached(box.name, program=self.program) as other:
                q = other.process(p.number)
                self.assertEqual(q.stdout.readline(), b"kept\n")
                box.run("echo >go")
                self.assertEqual((q.stderr.read(), q.wait().exit_code, q.dropped), (b"late\n", 5, 0))
                q.close()
            p.wait()
            self.assertEqual([(e.stream, e.data) for e in box.logs()],
                             [("stdout", b"kept\n"), ("stderr", b"late\n")])
            self.assertEqual([e.data for e in box.logs(tail=1)], [b"late\n"])
            self.assertRaises(hutch.NotFoundError, box.process, 99)

    # --- files ---

    def test_bytes_go_in_and_out(self):
        data = bytes(range(256)) * 3
        with self.box() as box:
            box.write_bytes("/workspace/b", data, mode=0o750)
            self.assertEqual((box.read_bytes("b"), box.stat("b").stat.mode), (data, 0o750))
            box.write_bytes("b", b"")
            self.assertEqual(box.read_bytes("/workspace/b"), b"")
            box.run("ln -s b link; mkdir d; truncate -s 1M large; touch " + "n" * 200)
            self.assertEqual(box.read_bytes("link"), b"")
            self.assertEqual(box.read_bytes("n" * 200), b"")
            self.assertEqual(len(box.read_bytes("large")), 1 << 20)
            self.assertRaises(hutch.LimitError, box.read_bytes, "large", 1000)
            self.assertRaises(hutch.NotFoundError, box.read_bytes, "none")

    def test_a_folder_in_the_place_of_a_file_is_told_as_python_tells_it(self):
        with self.box() as box:
            box.run("mkdir d")
            for path in "d", "/workspace/d", "d/", ".", "/":
                self.assertRaises(IsADirectoryError, box.write_bytes, path, b"")
                self.assertRaises(hutch.FolderError, box.read_bytes, path)
            self.assertRaises(IsADirectoryError, box.write_bytes, "d", b"", parents=True)
            self.assertRaises(hutch.InvalidError, box.write_bytes, "", b"")
            self.assertFalse(box.list("d").lines)

    def test_parents_are_made_where_that_was_asked_for(self):
        with self.box() as box:
            self.assertRaises(FileNotFoundError, box.write_bytes, "a/b/c", b"x")
            box.write_bytes("a/b/c", b"x", parents=True)
            box.write_bytes("/workspace/a/b/c", b"y", parents=True)
            box.write_bytes("here", b"z", parents=True)
            self.assertEqual((box.read_bytes("a/b/c"), box.read_bytes("here")), (b"y", b"z"))
            self.assertRaises(hutch.HutchError, box.write_bytes, "here/b", b"", parents=True)

    def test_a_file_that_its_user_may_not_write_to_is_not_replaced(self):
        with self.box() as box:
            box.run("echo mine >shut; chmod 444 shut; ln -s shut link; ln -s none dangling")
            for path in "shut", "link", "/etc/passwd":
                with self.assertRaises(PermissionError) as caught:
                    box.write_bytes(path, b"")
                self.assertIsInstance(caught.exception, hutch.RefusedError)
            self.assertEqual(box.read_bytes("shut"), b"mine\n")
            box.write_bytes("dangling", b"new")
            self.assertEqual(box.read_bytes("dangling"), b"new")
            box.run("chmod 644 shut")
            box.write_bytes("shut", b"open")
            self.assertEqual(box.read_bytes("shut"), b"open")

    def test_a_relative_path_begins_at_the_working_folder_in_all_methods(self):
        with self.box() as box:
            box.write_bytes("file", b"one\ntwo\n")
            box.edit("file", "two", "three")
            box.insert("file", 0, "zero")
            box.undo("file")
            self.assertIn("three", box.view("file"))
            box.create("./new", "text")
            self.assertEqual(box.read_bytes("/workspace/new"), b"text")
            self.assertEqual(box.read("file"), "one\nthree\n")
            self.assertRaises(hutch.FileMissingError, box.edit, "none", "a", "b")
            # After a session has changed its working folder, relative paths begin at the new
            # folder.
            box.run("mkdir d; cd d")
            box.create("in", "a")
            box.edit("in", "a", "b")
            self.assertEqual((box.read("in"), box.read_bytes("d/in")), ("b", b"b"))
            self.assertEqual(box.stat("in").stat.size, 1)

    def test_relative_paths_begin_at_the_sessions_folder_and_without_one_at_the_sandboxs(self):
        with self.box() as box:
            box.run("mkdir -p d/e; cd d && echo session >where; echo sandbox >../where")
            # Actions of the session start in the folder that it has changed to.
            for told in (box.read("where"), box.view("where"), box.run("cat where").content,
                         box.grep("session").content):
                self.assertIn("session", told)
            self.assertEqual(box.stat("where").stat.size, 8)
            self.assertEqual(box.list().content, "e/\nwhere")
            self.assertEqual(box.glob("wh*").content, "where")
            box.mkdir("f")
            box.move("f", "g")
            box.write("g/x", "x")
            box.remove("g", recursive=True)
            self.assertEqual(box.list().content, "e/\nwhere")
            # Actions of another session start in the sandbox's own folder.
            self.assertEqual(box.read("where", session="other"), "sandbox\n")
            self.assertEqual(box.run("cat where", is_static=True, cwd="d/e/..").content, "session")
            # Calls without a session start in the sandbox's own folder, too.
            self.assertEqual(box.read_bytes("where"), b"sandbox\n")
            box.write_bytes("h/x", b"x", parents=True)
            self.assertEqual(box.read("/workspace/h/x"), "x")
            self.assertEqual(box.exec(["cat", "where"]).stdout, b"sandbox\n")
            self.assertEqual(box.exec(["cat", "where"], cwd="d").stdout, b"session\n")
            self.assertEqual(box.exec(["pwd"], cwd="./d/e").stdout, b"/workspace/d/e\n")
            self.assertRaises(hutch.HutchError, box.exec, ["pwd"], cwd="nowhere")
            self.assertRaises(hutch.InvalidError, box.exec, ["pwd"], cwd="")
            out = io.BytesIO()
            box.copy_out("where", out)
            out.seek(0)
            box.copy_in(out, "h")
            with tempfile.TemporaryDirectory() as folder:
                box.download("h/where", folder)
                with open(os.path.join(folder, "where"), "rb") as file:
                    self.assertEqual(file.read(), b"sandbox\n")
                box.upload(os.path.join(folder, "where"), "i")
            self.assertEqual(box.read("/workspace/i"), "sandbox\n")

    def test_trees_go_in_and_out_as_tars(self):
        with self.box() as box:
            box.run("mkdir -p tree/sub; echo x >tree/sub/file; ln -s file tree/sub/link; mkfifo tree/pipe")
            out = io.BytesIO()
            self.assertIn("pipe", " ".join(box.copy_out("tree", out)))
            out.seek(0)
            with tarfile.open(fileobj=out) as tar:
                self.assertEqual(sorted(tar.getnames()), ["tree", "tree/sub", "tree/sub/file", "tree/sub/link"])
            out.seek(0)
            box.copy_in(out, "again", name="tree")
            self.assertEqual(box.run("cat again/sub/link").content, "x")
            with self.assertRaises(hutch.HutchError):
                box.copy_in(io.BytesIO(b"no tar" * 1000), "nowhere")

    # --- steering ---

    def test_a_sandbox_tells_its_properties_and_its_use(self):
        with self.box(pids_limit=None, hostname="there") as box:
            info, stats = box.info(), box.stats()
            self.assertEqual((info.name, info.id, info.state), (box.name, box.id, hutch.Status.READY))
            self.assertIn(stats.by, ("cgroup", "processes"))
            self.assertIn("ready", [e.raw.get("status") for e in box.events()])

    def test_a_sandbox_stands_still_and_goes_on(self):
        with self.box() as box:
            self.assertIn(box.pause(), ("cgroup", "tracing"))
            with self.assertRaises(hutch.BusyError) as caught:
                box.run("true")
            self.assertIsInstance(caught.exception, hutch.AgentRuntimeNotReadyError)
            box.unpause()
            self.assertEqual(box.run("echo on").content, "on")

    def test_limits_are_changed_where_there_are_some(self):
        with self.box() as box:
            with self.assertRaisesRegex(hutch.UnsupportedError, "without a cgroup"):
                box.update(memory="512m", cpus=1.5, pids_limit=20)
            for wrong, said in (({"memory": "1q"}, "'1q' is not a size"), ({"cpus": 0}, "cpus"),
                                ({}, "expected"), ({"memory": "5MiB"}, "memory")):
                with self.subTest(wrong), self.assertRaisesRegex(hutch.InvalidError, said):
                    box.update(**wrong)

    def test_a_sandbox_has_a_name_and_an_end(self):
        with self.box(keep=True) as box:
            self.assertRaises(hutch.ExistsError, self.box(name=box.name).start)
            with self.assertRaisesRegex(hutch.InvalidError, "has not ended"):
                box.end()
            box.rename(box.name + "-2")
        with self.attached(box.name, program=self.program) as other:
            self.assertEqual(other.id, box.id)
            other.kill()
        self.assertEqual((other.end().reason, box.wait().exit_code), ("killed", 137))
        self.assertRaises(hutch.AgentRuntimeNotFoundError, self.attached, box.name, program=self.program)
        self.assertRaises(hutch.NotFoundError, self.attached, "../x", program=self.program)
        self.assertRaises(hutch.HutchError, box.run, "true")

    def test_a_sandbox_ends_with_its_main_process(self):
        with self.box(main=["sleep", "1000"]) as box:
            box.stop()
        self.assertEqual((box.end().reason, box.end().exit_code), ("stopped", 143))

    def test_an_exception_in_the_block_ends_it_and_is_told(self):
        with self.assertRaises(ZeroDivisionError):
            with self.box() as box:
                raise ZeroDivisionError
        self.assertEqual(box.end().reason, "killed")

    def test_the_end_is_waited_for(self):
        with self.box() as box:
            self.assertRaises(TimeoutError, box.wait, 0.01)
            with self.attached(box.name, program=self.program) as other:
                other.stop()
            self.assertEqual((box.wait().reason, box.wait().limit), ("stopped", None))

    def test_states_are_told_as_they_come(self):
        told = []

        def on_status(level, status, message):
            told.append((status.value, status.runtime_status))
            if status is hutch.Status.PAUSED:
                raise ValueError("a callback that throws")

        with self.assertLogs("hutch", "INFO") as logged:
            with self.box(on_status=on_status) as box:
                self.assertEqual([one for one, _ in told], ["building", "starting", "started", "ready"])
                self.assertEqual(told[-1][1], "STATUS$READY")
                box.pause()
                box.unpause()
            self.assertEqual([one for one, _ in told][4:], ["paused", "ready", "stopping", "ended"])
        self.assertIn("on_status has thrown", "".join(logged.output))

    def test_a_sandbox_that_cannot_be_made_says_why(self):
        told = []
        with self.assertRaises(hutch.AgentRuntimeBuildError) as caught:
            self.box(memory="1q", on_status=lambda *status: told.append(status[1].value)).start()
        self.assertIn("'1q' is not a size", str(caught.exception))
        self.assertEqual(told, ["building", "error"])
        with self.assertRaisesRegex(hutch.NotFoundError, "/no/such"):
            self.made(program="/no/such").start()

    def test_a_policy_is_a_dict_or_a_file(self):
        with open(f"{self.folder}/p.json", "w", encoding="ascii") as file:
            file.write('{"version":1,"hostname":"filed"}')
        for policy, name in [({"hostname": "given"}, "given"), (f"{self.folder}/p.json", "filed"),
                             ("default", "hutch")]:
            with self.box(policy=policy) as box:
                self.assertEqual(box.run("hostname").content, name)

    # --- what it has changed ---

    def test_changes_are_listed_applied_and_thrown_away(self):
        host = self.host("project")
        with self.box(workspace=host + ":cow") as box:
            box.run("echo 1 >a; echo 2 >b; mkdir c; echo 3 >c/d")
            self.assertEqual([(c.kind, c.path, c.size) for c in box.diff()],
                             [("A", "/workspace/a", 2), ("A", "/workspace/b", 2),
                              ("A", "/workspace/c", None), ("A", "/workspace/c/d", 2)])
            self.assertEqual(len(box.diff("c")), 2)
            self.assertIn("+++ b/a\n@@ -0,0 +1 @@\n+1\n", box.patch("a"))
            self.assertEqual(box.apply("a", dry_run=True), ["A /workspace/a"])
            self.assertEqual((os.listdir(host), box.apply("a")), ([], ["A /workspace/a"]))
            with open(host + "/b", "w", encoding="ascii"):
                pass
            with self.assertRaisesRegex(hutch.NotAppliedError, "nothing was applied") as caught:
                box.apply()
            self.assertEqual((caught.exception.applied, sorted(os.listdir(host))), ((), ["a", "b"]))
            with self.assertRaises(hutch.NotAppliedError) as caught:
                box.apply(partial=True)
            self.assertEqual(len(caught.exception.applied), 2)
        self.assertEqual([c.path for c in box.diff()], ["/workspace/b"])
        box.discard()
        self.assertEqual(sorted(os.listdir(host)), ["a", "b", "c"])

    def test_a_path_that_looks_like_an_option_is_a_path(self):
        host = self.host("project")
        with self.box(workspace=host + ":cow") as box:
            box.run("echo 1 >both; echo 1 >--force; echo 1 >-h")
            with open(host + "/both", "w", encoding="ascii") as file:
                file.write("host")
            names = box.list().lines
            self.assertEqual([c.path for c in box.diff("--force")], ["/workspace/--force"])
            self.assertIn("+++ b/--force\n", box.patch("--force"))
            self.assertEqual(box.apply(*(name for name in names if name.startswith("-"))),
                             ["A /workspace/--force", "A /workspace/-h"])
            with open(host + "/both", encoding="ascii") as file:
                self.assertEqual(file.read(), "host")
            for verb in (box.publish, box.unpublish, box.snapshot, box.commit):
                self.assertRaisesRegex(hutch.HutchError, "--help", verb, "--help")

    def test_an_image_is_made_of_it_and_branched_from(self):
        if not os.path.exists("/bin/busybox") or ROOT:
            self.skipTest("an ordinary user does it")
        root = self.host("root", "root/bin")
        shutil.copy("/bin/busybox", root + "/bin/busybox")
        os.symlink("busybox", root + "/bin/sh")
        with tarfile.open(self.folder + "/image.tar", "w") as tar:
            tar.add(root, ".")
        os.spawnv(os.P_WAIT, HUTCH, [HUTCH, "image", "import", self.folder + "/image.tar", "--name", "sdk:1"])
        with self.box(image="sdk:1") as box:
            box.exec(["busybox", "touch", "/new"]).check()
            self.assertEqual([c.path for c in box.diff()], ["/new"])
            ref = box.snapshot(message="as it is")
            with box.fork(hostname="branch") as other:
                other.exec(["busybox", "test", "-e", "/new"]).check()
            self.assertEqual(box.commit("sdk:2"), "localhost/sdk:2" if "localhost" in box.commit("sdk:2") else "sdk:2")
        self.assertTrue(ref.startswith("localhost/"))


    def test_a_sandbox_that_has_ended_is_started_again_with_its_files(self):
        root = self.host("image", "image/usr", "image/etc")
        for name in ("bin", "sbin", "lib", "lib64"):
            os.symlink("usr/" + name, f"{root}/{name}")
        data = self.host("data")
        try:
            os.setxattr(data, "user.probe", b"1")
        except OSError:
            self.skipTest(f"{data} has no user.* attributes")
        more = {"program": self.program} if self.program else {}
        with mock.patch.dict(os.environ, XDG_DATA_HOME=data):
            name = self.kept(root, data, more)
            with self.restarted(name, secret={"TOKEN": "hunter-3333"}, env={"A": "c"}, keep=True, **more) as box:
                self.assertEqual(box.run("cat /new; echo $A $B; test $TOKEN = hunter-3333").content, "one\nc d")
                self.assertRaisesRegex(hutch.BuildError, "is running", self.restarted, name, **more)
                box.kill()
            self.assertRaisesRegex(hutch.BuildError, "no value: TOKEN", self.restarted, name, **more)
            with self.restarted(name, secret={"TOKEN": "x" * 9}, **more) as box:
                self.assertEqual(box.exec(["cat", "/new"]).check().stdout, b"one\n")
            self.assertEqual(os.spawnv(os.P_WAIT, HUTCH, [HUTCH, "rm", name]), 0)
            self.assertRaisesRegex(hutch.NotFoundError, "is kept", self.restarted, name, **more)
            self.assertEqual(os.listdir(data + "/hutch/kept"), [])

    def kept(self, root, data, more):
        """Makes a sandbox with a file, ends it, and gives its name."""
        flags = {"image": "dir:" + root, "volume": "/usr:/usr:ro", "env": {"A": "b", "B": "d"}}
        with self.made(keep_files=True, secret={"TOKEN": "hunter-2222"}, **flags, **more) as box:
            box.run("echo one >/new").check()
        for folder, _, names in os.walk(data):
            for one in names:
                with open(f"{folder}/{one}", "rb") as file:
                    self.assertNotIn(b"hunter", file.read())
        return box.name


class OverTheSocket:
    def test_files_are_copied_from_and_to_the_host(self):
        host = self.host("there")
        with open(host + "/a:b", "wb") as file:
            file.write(b"text")
        with self.box() as box:
            box.mkdir("here")
            box.upload(host, "here/")
            box.upload(host + "/.", "flat")
            self.assertEqual((box.read("here/there/a:b"), box.read("flat/a:b")), ("text", "text"))
            box.download("here/there", self.folder + "/back")
            self.assertEqual(os.listdir(self.folder + "/back"), ["a:b"])
            self.assertRaisesRegex(hutch.HutchError, "no such|No such", box.download, "none", self.folder)

    def test_a_secret_is_hidden(self):
        with self.box(secret={"TOKEN": "hunter2"}) as box:
            self.assertEqual(box.run("echo $TOKEN").content, "<secret-hidden>")


class Threads(Doing, OverTheSocket, Case):
    made, attached, restarted = hutch.Sandbox, staticmethod(hutch.Sandbox.attach), staticmethod(hutch.Sandbox.restart)

    def test_each_thread_has_its_own_answers(self):
        wrong, rounds = [], 40

        def work(number):
            for turn in range(rounds):
                word = f"{number}-{turn}"
                if number % 2:
                    got = box.run(f"echo {word}", session=f"s{number}").content
                else:
                    got = box.exec(["echo", word]).text.strip() if turn % 8 == 0 else box.act(
                        {"action": "stat", "args": {"path": "/" + word}}).content.split("/")[1].split(".")[0]
                if got != word:
                    wrong.append((word, got))

        with self.box() as box:
            threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def in_handler(self, box, what):
        """The exception that `what` raises in a signal's handler, while this thread waits for
        `box`."""
        raised = []

        def handler(*_):
            try:
                what()
            except hutch.HutchError as e:
                raised.append(e)
        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        main = threading.get_ident()

        def interrupt():
            wait_until_led(box, main)
            signal.pthread_kill(main, signal.SIGALRM)
        threading.Thread(target=interrupt).start()
        return raised

    def test_a_handler_that_asks_what_its_thread_waits_for_is_told_so(self):
        with self.box() as box:
            box.run("mkfifo go")
            with box.popen(["sh", "-c", "read x </workspace/go"]) as p:
                raised = self.in_handler(box, box.info)

                def go_on():
                    wait_until(lambda: raised)
                    box.run("echo >go")
                threading.Thread(target=go_on).start()
                self.assertEqual(p.wait(PATIENCE).exit_code, 0)
            self.assertIsInstance(raised[0], hutch.BusyError)
            self.assertEqual(box.exec(["echo", "on"]).text, "on\n")

    def test_a_handler_may_close_what_its_thread_waits_for(self):
        with self.box() as box, self.attached(box.name) as other:
            p = other.popen(["sleep", "1000"])
            self.in_handler(other, other.close)
            self.assertRaisesRegex(hutch.DisconnectedError, "was closed", p.wait, PATIENCE)
            p.close()

    def test_much_is_said_by_all_at_once(self):
        """The threads send more than the sockets hold, so one of them must read while others
        send."""
        text, got = "x" * 1023 + "\n", []  # a write adds a newline of its own

        def work(number):
            box.write(f"f{number}", text * 4000, session=f"s{number}")
            got.append(len(box.read(f"f{number}", session=f"s{number}")))

        with self.box() as box:
            threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(got, [len(text) * 4000 + 1] * 6)


class Tasks(Doing, OverTheSocket, Case):
    def setUp(self):
        super().setUp()
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.close_loop)

    def close_loop(self):
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def made(self, **given):
        return Blocking(self.loop, hutch.AsyncSandbox(**given))

    def attached(self, *words, **given):
        return Blocking(self.loop, None)._wrap(hutch.AsyncSandbox.attach(*words, **given))

    def restarted(self, *words, **given):
        return Blocking(self.loop, None)._wrap(hutch.AsyncSandbox.restart(*words, **given))

    def test_tasks_go_side_by_side_and_a_cancelled_one_ends_its_command(self):
        async def day():
            async with hutch.AsyncSandbox() as box:
                echoes = await asyncio.gather(*(box.run(f"echo {n}", session=f"s{n % 3}") for n in range(30)))
                self.assertEqual([o.content for o in echoes], [str(n) for n in range(30)])
                up = asyncio.Event()
                late = asyncio.ensure_future(box.run("echo up; sleep 1000", on_output=lambda text: up.set()))
                await up.wait()
                late.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await late
                o = await box.run("echo next")
                self.assertEqual((o.content, o.raw["hutch"]["restarted"]), ("next", False))
        self.loop.run_until_complete(asyncio.wait_for(day(), PATIENCE))

    def test_one_cancelled_as_its_answer_comes_ends_its_process(self):
        async def day():
            async with hutch.AsyncSandbox() as box:
                task = asyncio.ensure_future(box.exec(["sleep", "1000"]))
                await asyncio.sleep(0)
                select.select([box._link._socket], [], [], PATIENCE)  # the answer has come
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await wait_for_all_async(box)
        self.loop.run_until_complete(asyncio.wait_for(day(), PATIENCE))

    @unittest.skipIf(ROOT, "root is told what a process prints, without a pipe")
    def test_pipes_without_a_reference_are_closed(self):
        async def day():
            async with hutch.AsyncSandbox() as box:
                before = descriptors()
                p = await box.popen(["true"], stdin=True)
                await p.wait()
                with self.assertWarns(ResourceWarning):
                    del p
                    gc.collect()
                self.assertEqual(descriptors(), before)
        self.loop.run_until_complete(day())

    def test_a_waiting_action_is_not_begun_when_its_task_is_cancelled(self):
        async def day():
            async with hutch.AsyncSandbox() as box:
                await box.run("mkfifo go; echo a >there")
                busy = asyncio.ensure_future(box.run("read x <go"))
                late = [asyncio.ensure_future(what) for what in (
                    box.write("file", "x"), box.mkdir("folder"), box.edit("/workspace/there", "a", "b"),
                    box.act({"action": "mkdir", "args": {"path": "act"}, "id": 7}))]
                await asyncio.sleep(0)  # a turn in which all are sent
                for task in late:
                    task.cancel()
                await asyncio.gather(*late, return_exceptions=True)
                await box.run("echo >go", session="other")
                await busy
                self.assertEqual((await box.list()).lines, ["go", "there"])
                self.assertEqual(await box.read("there"), "a\n")
        self.loop.run_until_complete(day())

    def test_events_without_a_reference_are_closed(self):
        async def day():
            async with hutch.AsyncSandbox() as box:
                before = descriptors()
                with self.assertWarnsRegex(ResourceWarning, "events of sandbox " + box.name):
                    async for _ in box.events():
                        break
                gc.collect()  # the link is part of a cycle
                self.assertEqual(descriptors(), before)
        self.loop.run_until_complete(day())

    def test_a_handle_without_a_reference_is_closed_with_its_watcher(self):
        async def day():
            async with hutch.AsyncSandbox() as box:
                before = descriptors()
                other = await hutch.AsyncSandbox.attach(box.name, on_status=lambda *_: None)
                watching = other._watcher._task
                with self.assertWarnsRegex(ResourceWarning, "was not closed"):
                    del other
                await watching
                del watching
                gc.collect()
                self.assertEqual(descriptors(), before)
        self.loop.run_until_complete(asyncio.wait_for(day(), PATIENCE))

    def test_callbacks_may_be_coroutines(self):
        async def on_ask(ask):
            await asyncio.sleep(0)
            return True

        with self.box(rule=self.RULE, on_ask=on_ask) as box:
            self.assertEqual(box.run("touch x").exit_code, 0)

    def test_a_handle_is_of_one_loop(self):
        with self.box() as box:
            with self.assertRaisesRegex(hutch.InvalidError, "another event loop"):
                asyncio.run(box._inner.info())


class Through:
    """Those tests for which it matters that no descriptor can be passed."""

    program = [HUTCH]
    KEEP = ("process", "program", "bytes", "trees", "much", "terminal", "prints", "input", "name",
            "answer_to_a_question")

    def test_a_secret_does_not_get_to_another_machine(self):
        with self.assertRaises(hutch.UnsupportedError):
            self.box(secret={"TOKEN": "x"}).start()
        with self.box() as box, self.assertRaises(hutch.UnsupportedError):
            box.download("x", "y")


def through(kind):
    """The case `kind` by way of `hutch connect`; root uses that way already."""
    left_out = {name: None for name in dir(kind) if name.startswith("test") and
                not any(word in name for word in Through.KEEP) and not hasattr(Through, name)}
    return type(kind.__name__ + "Through", (Through, kind), left_out)


if not ROOT:
    ThreadsThrough, TasksThrough = through(Threads), through(Tasks)

if __name__ == "__main__":
    unittest.main()
