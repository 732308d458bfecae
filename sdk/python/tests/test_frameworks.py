"""The modules for packages of others where these are absent, and hutch with an older Python's os."""
import os
import subprocess
import sys
import unittest
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


if __name__ == "__main__":
    unittest.main()
