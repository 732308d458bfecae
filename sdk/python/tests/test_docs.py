"""Runs the examples of docs/python.md and examples/day.py, and compares their output."""
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from support import HUTCH, TOP, Case, hutch

ROOT = os.geteuid() == 0
SDK = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def text_of(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


class Docs(Case):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="hutch-sdk.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.give(self.folder)

    def give(self, path):
        os.chmod(path, 0o755)
        if ROOT:  # root's sandboxes run as this user
            os.chown(path, 65534, 65534)

    @contextlib.contextmanager
    def folders_of_whom_it_stands_for(self):
        make = os.mkdir

        def mkdir(path, *more, **named):
            make(path, *more, **named)
            self.give(path)

        with mock.patch("os.mkdir", mkdir):
            yield

    def test_the_examples_print_what_the_page_says(self):
        examples = re.findall(r"```python\n(.*?)```", text_of("docs/python.md"), re.S)
        self.assertGreater(len(examples), 8)
        for number, example in enumerate(examples):
            with self.subTest(example):
                os.mkdir(str(number))
                self.give(str(number))
                os.chdir(str(number))
                wanted = [line[3:] for line in example.splitlines() if line.startswith("#> ")]
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed), self.folders_of_whom_it_stands_for():
                    exec(compile(example, f"example {number}", "exec"), {})  # noqa: S102
                self.assertEqual(printed.getvalue().splitlines(), wanted)
                self.assertTrue(wanted)
                os.chdir(self.folder)

    def test_a_day_is_thirty_lines_and_what_it_should_be(self):
        program = os.path.join(SDK, "examples/day.py")
        self.assertLessEqual(len(text_of(program).splitlines()), 30)
        os.mkdir("project")
        for name, text in [("sum.sh", "echo $(($1 - $2))\n"), ("test.sh", "[ $(sh sum.sh 2 2) = 4 ] && echo good\n")]:
            with open("project/" + name, "w", encoding="ascii") as file:
                file.write(text)
            self.give("project/" + name)
        self.give("project")
        done = subprocess.run([sys.executable, "-S", program, "project"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SDK})
        self.assertEqual((done.returncode, done.stdout.decode().splitlines()), (0, [
            "found: sum.sh:1:echo $(($1 - $2))", "the test says: ", "--- /workspace/sum.sh", "+++ /workspace/sum.sh",
            "@@ -1 +1 @@", "-echo $(($1 - $2))", "+echo $(($1 + $2))", "the test says: good",
            "may it git push origin?  No: others see it", "refused: refused", "wrote 18 bytes",
            "changed: A /workspace/notes.txt M /workspace/sum.sh", "applied: M /workspace/sum.sh",
            "ended: stopped"]), done.stderr.decode())
        self.assertIn(b"INFO:hutch:", done.stderr)
        with open("project/sum.sh", encoding="ascii") as file:
            self.assertEqual(file.read(), "echo $(($1 + $2))\n")
        self.assertEqual(sorted(os.listdir("project")), ["sum.sh", "test.sh"])

    def test_each_exception_has_its_line(self):
        table = text_of("docs/python.md").split("## Errors")[1].split("```")[0]
        for name, value in vars(hutch).items():
            if isinstance(value, type) and issubclass(value, hutch.HutchError) and name != "InternalError":
                self.assertIn(f"`{name}`", table)

    def test_each_method_is_named(self):
        page = text_of("docs/python.md")
        for kind in (hutch.Sandbox, hutch.Process):
            for name in dir(kind):
                if not name.startswith("_") and callable(getattr(kind, name)) and name not in ("check_dropped",):
                    self.assertRegex(page, rf"\b{name}\(", name)

        for name in (name for name in vars(hutch.Net) if not name.startswith("_")):
            self.assertIn(f"`net.{name}(", page)

    def test_the_version_is_that_of_hutch(self):
        said = subprocess.run([HUTCH, "version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertIn(hutch.__version__, said)
        self.assertIn(f'version = "{hutch.__version__}"', text_of("sdk/python/pyproject.toml"))


if __name__ == "__main__":
    unittest.main()
