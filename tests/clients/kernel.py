#!/usr/bin/env -S python3 -SE
"""kernel.py: the plugin `jupyter` with the ipykernel that `hutch plugin install` has made; prints TAP.
$HUTCH and $XDG_DATA_HOME as for user.sh."""
import subprocess

from browser import TOP, has_plugin
from clients import HUTCH, tell

from act import Act

RUN = TOP / "tests/run"


def golden():
    done = subprocess.run([RUN / "jupyter_golden.py", HUTCH, RUN / "golden/jupyter.json", "--plugin", "jupyter",
                           "-w", "/tmp"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    tell(done.returncode == 0, "a real kernel gives the recorded texts", done)


def output_comes_at_once():
    """What a cell prints and shows while it runs does not wait for its end."""
    box = Act(HUTCH, ["--stream", "--plugin", "jupyter"])
    box.send({"action": "run_ipython", "id": 1, "args": {
        "code": "import os\nos.path.exists('/tmp/seen') or os.mkfifo('/tmp/seen')\nprint('begins')\n"
                "display('is shown')\nopen('/tmp/seen').read()", "include_extra": False}})
    said, shown = [], ""
    while "is shown" not in shown:
        said.append(box.receive())
        shown += said[-1].get("data") or ""
    box.send({"action": "run", "id": 2, "args": {"command": "echo on >/tmp/seen"}, "session": "other"})
    while not (said[-1].observation == "run_ipython"):
        said.append(box.receive())
    done = subprocess.CompletedProcess([], 0, "\n".join(map(str, said)))
    tell("begins" in said[-1].content and said[-1].content.endswith("'on\\n'") and
         "kernel of ipykernel" in said[-1].hutch["note"], "output of a cell comes while it runs", done)
    box.end()


if __name__ == "__main__" and has_plugin("jupyter", "pypi.org"):
    golden()
    output_comes_at_once()
