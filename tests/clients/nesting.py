#!/usr/bin/env -S python3 -SE
"""nesting.py: Chromium with its own sandbox in a sandbox that has --nesting; prints TAP.

Chromium ends unless it can make its sandbox, so a page that was shown is the proof of it.
$CLIENT_BOX starts a command in the image of the clients, after further words of `hutch run`."""
import os
import shlex
import subprocess

from clients import tell

BOX = shlex.split(os.environ["CLIENT_BOX"])
PAGE = "data:text/html,<p id=a>not</p><script>document.getElementById('a').textContent='r'+'an'</script>"


def show(*flags):
    return subprocess.run([*BOX, *flags, "--", "/usr/lib/chromium/chromium", "--headless", "--disable-gpu",
                           "--dump-dom", PAGE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def main():
    done = show("--nesting")
    tell(done.returncode == 0 and '<p id="a">ran</p>' in done.stdout,
         "Chromium shows a page in a sandbox of its own with --nesting", done)
    done = show()
    tell(done.returncode != 0 and "No usable sandbox" in done.stdout,
         "Chromium refuses to begin without --nesting, since it can make no sandbox", done)


main()
