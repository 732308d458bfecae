#!/usr/bin/env -S python3 -SE
"""editor.py: the plugin `vscode` as `hutch plugin install` makes it, and its editor in Chromium,
which the plugin `browser` drives from a second sandbox; prints TAP.

The first run compiles code-server, with this host's npm and compiler.  $HUTCH and
$XDG_DATA_HOME as for user.sh.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

from browser import Box, bid_of, has_plugin
from clients import HUTCH, tell

NAME = "editor-box"
NEEDS = ("npm", "python3", "make", "c++")


def hutch(*argv):
    return subprocess.run([HUTCH, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def url_of():
    """Returns the editor's address without the notes around it."""
    done = hutch("plugin", "url", NAME, "vscode")
    tell(done.returncode == 0 and "?tkn=" in done.stdout, "the plugin vscode serves an editor", done)
    return done.stdout.splitlines()[-1]


def opened(box, url):
    """Returns the observation of the page when the file is open in the editor."""
    o = box.browse(f'{url}&payload=[["openFile","vscode-remote:///workspace/hello.txt"]]')
    for _ in range(100):
        o = box.do("noop(100)")
        if "textbox 'hello.txt'" in o.content:
            break
    return o


def edited(url):
    """Types into the file in the editor, and waits until a command inside has seen the new text."""
    box = Box("--network", "host")
    o = opened(box, url)
    tell("treeitem 'hello.txt'" in o.content and "textbox 'hello.txt'" in o.content,
         "the editor shows the files of the workspace", subprocess.CompletedProcess([], 0, o.content))
    bid = bid_of(o, "textbox 'hello.txt'")
    o = box.do(*[f'press("{bid}", "{key}")' for key in ("Control+Home", *"typed", "Enter", "Control+s")])
    done = hutch("exec", NAME, "timeout", os.environ["PATIENCE"], "bash", "-c",
                 "grep -m1 '^typed$' < <(tail -n +1 -F hello.txt 2>&1)")
    tell(done.returncode == 0 and "typed" in done.stdout, "a file that is edited there is seen inside", done)
    box.end()


def main():
    absent = [name for name in NEEDS if not shutil.which(name)]
    if absent:
        print(f"ok - the plugin vscode # SKIP this host lacks {', '.join(absent)}")
        return
    if not has_plugin("browser", "pypi.org") or not has_plugin("vscode", "registry.npmjs.org"):
        return
    with tempfile.TemporaryDirectory() as project:
        (pathlib.Path(project) / "hello.txt").write_text("hello\n")
        done = hutch("create", "--plugin", "vscode", "--workspace", f"{project}:rw", NAME)
        if done.returncode != 0:
            tell(False, "a sandbox with the plugin vscode", done)
            return
        try:
            edited(url_of())
        finally:
            hutch("rm", "-f", NAME)


if __name__ == "__main__":
    main()
