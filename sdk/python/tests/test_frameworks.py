"""The modules for packages of others where these are absent, and hutch with an older Python's os."""
import contextlib
import importlib
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

from support import Case, hutch

# A finder that knows no such package stands before the others, so that this says the same where
# they are installed.
WITHOUT = """
import importlib.abc, sys
class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("openhands", "inspect_ai"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
import hutch
print(sorted(name for name in sys.modules if name in ("hutch.openhands", "hutch.inspect", "pydantic")))
for module in "openhands", "openhands_runtime", "inspect":
    try:
        __import__("hutch." + module)
    except ImportError as e:
        print(e)
"""


class Frameworks(Case):
    def test_a_module_whose_package_is_absent_says_what_to_install(self):
        said = subprocess.run([sys.executable, "-c", WITHOUT], stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(hutch.__file__))})
        first, openhands, runtime, inspect = said.stdout.splitlines()
        self.assertEqual(first, "[]")
        self.assertIn("hutch.openhands needs openhands-sdk", openhands)
        self.assertIn("pip install openhands-sdk openhands-agent-server", openhands)
        self.assertIn("hutch.openhands_runtime needs openhands-ai", runtime)
        self.assertIn("hutch.inspect needs inspect_ai", inspect)

    def test_a_python_without_memfd_create_makes_sandboxes(self):
        with mock.patch.object(os, "memfd_create"):
            del os.memfd_create
            with hutch.Sandbox(policy={"env": {"WORD": "said"}}) as box:
                self.assertEqual(box.run("echo $WORD").content, "said")

    def test_what_openhands_copies_out_has_no_file_of_the_host(self):
        with self.runtime() as runtime, tempfile.TemporaryDirectory() as secret:
            open(os.path.join(secret, "key"), "w").close()

            def links(path, to, follow=False):
                os.symlink(secret, to)

            with hutch.Sandbox() as runtime.box:
                runtime.box.run("mkdir /tmp/tree; echo a >/tmp/tree/a; ln -s /etc /tmp/tree/etc; ln -s tree /tmp/link")
                self.assertEqual(names_in(runtime.copy_from("/tmp/tree")), ["a"])
                self.assertEqual(names_in(runtime.copy_from("/tmp/link")), ["a"])
                self.assertEqual(names_in(runtime.copy_from("/tmp/tree/a")), ["a"])
                with mock.patch.object(runtime.box, "download", links):
                    self.assertEqual(names_in(runtime.copy_from("/tmp/tree")), [])

    @contextlib.contextmanager
    def runtime(self):
        """Gives the runtime of OpenHands, whose modules have nothing in them but its base."""
        names = ("core.exceptions", "events.action", "events.event", "events.observation", "events.serialization",
                 "runtime.base", "runtime.runtime_status", "utils.async_utils")
        modules = {"openhands." + name: mock.MagicMock() for name in names}
        modules["openhands.runtime.base"].Runtime = object
        with mock.patch.dict(sys.modules, modules):
            yield importlib.import_module("hutch.openhands_runtime").HutchRuntime()
        sys.modules.pop("hutch.openhands_runtime", None)


def names_in(zipped):
    with zipfile.ZipFile(zipped) as archive:
        names = archive.namelist()
    os.unlink(zipped)
    return names


if __name__ == "__main__":
    unittest.main()
