"""session.py: what a session with each stock client needs on the host, and the checks that are the same for all.

A session clones a repository inside, edits, builds and tests it, stops a long command, pauses and goes on, finds the
sandbox again when the server was killed, and ends it.  The repository is served on this host's loopback.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import traceback
import urllib.request

TESTS = pathlib.Path(__file__).absolute().parents[2]
sys.path += [str(TESTS), str(TESTS / "run")]
import git_server  # noqa: E402
from patience import PATIENCE, wait_until  # noqa: E402

HUTCH = os.environ["HUTCH"]
FILES = {
    "sums.py": "def add(a, b):\n    return a - b\n\n\ndef main():\n    print(add(1, 2))\n",
    "test_sums.py": "import unittest\n\nimport sums\n\n\nclass Test(unittest.TestCase):\n"
                    "    def test_add(self):\n        self.assertEqual(sums.add(1, 2), 3)\n",
}
FOLDER = "/workspace/project"
FILE, WRONG, RIGHT = f"{FOLDER}/sums.py", "a - b", "a + b"
EDITED = FILES["sums.py"].replace(WRONG, RIGHT)
# Each prints its last line alone.
BUILD = f"cd {FOLDER} && python3 -m zipapp . -o /tmp/sums.pyz -m sums:main && python3 /tmp/sums.pyz"
TEST = f"cd {FOLDER} && python3 -B -m unittest -q 2>&1 | tail -n 1"
LONG_ALONE = "sh -c 'echo $$ >/tmp/long; exec sleep 100000'"
# Another long command, the command that comes back when it has begun, and the one that tells whether it is there.
LONG = "sh -c 'echo $$ >/tmp/begun; exec sleep 100000'"
BEGUN = "cat /tmp/begun >/tmp/long"
IS_LONG = "kill -0 $(cat /tmp/long) 2>/dev/null && echo there || echo gone"


class Repository:
    """A repository with a mistake; `clone` is the command that fetches it inside."""

    def __init__(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir="."))
        work = folder / "work"
        work.mkdir()
        for name, text in FILES.items():
            (work / name).write_text(text, encoding="utf-8")
        git = ["git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "sums: begin"]):
            subprocess.run([*git, *words], check=True)
        subprocess.run(["git", "clone", "-q", "--bare", work, folder / "project"], check=True)
        port = git_server.Server(str(folder.absolute())).server_address[1]
        self.options = ["--network", "allow", "--allow", f"@host:{port}"]
        url = f"http://host.hutch.internal:{port}/project"
        self.clone = f"mkfifo /tmp/begun; git clone -q {url} {FOLDER} && ls {FOLDER}"


class Server:
    """`hutch serve`, which can be killed and comes again with the same address and key."""

    def __init__(self, *options):
        self.options, self.listen = options, "127.0.0.1:0"
        self.key_file = pathlib.Path(tempfile.mkdtemp(dir=".")) / "key"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [HUTCH, "serve", "-q", "--listen", self.listen, "--key-file", self.key_file, "--", *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        # The line comes when the server accepts connections.
        self.url = self.process.stdout.readline().strip()
        self.listen = self.url.removeprefix("http://")
        self.key = self.key_file.read_text(encoding="utf-8").strip()

    def end(self, signo=signal.SIGTERM):
        self.process.send_signal(signo)
        self.process.communicate()

    def restart(self):
        """Kills the server, and starts another one."""
        self.end(signal.SIGKILL)
        self.start()

    def runtime(self, session):
        """The runtime of a session of OpenHands', as the runtime API tells it."""
        asked = urllib.request.Request(f"{self.url}/sessions/{session}", headers={"X-API-Key": self.key})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return json.load(answer)


class Session:
    """The checks of one client's session, each a line of TAP."""

    def __init__(self, client):
        self.client = client

    def say(self, is_good, name, told=""):
        print(f"{'' if is_good else 'not '}ok - session, {self.client}: {name}", flush=True)
        if not is_good:
            print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)

    def cloned(self, out):
        self.say(out.split() == sorted(FILES), "a repository of the host's is cloned", out)

    def wrong(self, out):
        self.say("FAILED" in out, "its test fails before the edit", out)

    def built(self, out):
        self.say(out.strip() == "3", "the edited program is built, and runs", out)

    def tested(self, out):
        self.say(out.strip() == "OK", "its test passes", out)

    def stopped(self, out):
        self.say(out.strip() == "gone", "a long command is stopped", out)

    def read(self, text, way="killed"):
        self.say(text.strip() == EDITED.strip(), f"another client reads the file when the server was {way}", text)

    def ended(self, name):
        """The sandbox is gone, and so are the processes that have its name."""
        # The supervisor and the janitor end after the answer to the client.
        wait_until(lambda: not git_server.processes_with(name, set()))
        left = [word for word in hutch("ps", "--all", "--quiet").split() if word == name]
        self.say(name and not left, "nothing is left at its end", left)

    def run(self, function, *args):
        """Calls it; an exception of the client's is a failed check, and sandboxes that it has left are removed."""
        try:
            function(self, *args)
        except Exception:
            self.say(False, "the client has no errors", traceback.format_exc())
        for name in hutch("ps", "--quiet").split():
            hutch("rm", "--force", name)


def hutch(*words):
    return subprocess.run([HUTCH, *words], stdout=subprocess.PIPE, text=True, check=False).stdout
