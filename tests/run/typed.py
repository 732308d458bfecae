#!/usr/bin/env -S python3 -SE
"""typed.py [--only MARK] HUTCH PAGE...: types the examples of these pages.

An example is a block of code that has lines which begin with "$ ".  Each such line is a
command for bash, which goes on in lines that begin with "> ".  The lines after it, up to the
next command, are its output, stdout and stderr as they come.  A command that shows no output
must succeed.  Lines after "$ cat >FILE" are typed into the file.  A line "^C" is that key,
typed when all above it was printed.  Variables of a line `export NAME=VALUE...` are those of the
example's commands from then on.

Each example has a fresh home with the files of FIXTURE in it, and begins in ~/work.
Comments in front of a block say more; with --only, only blocks with this comment are typed:

    goes on                 with the home of the page's example before
    first: COMMAND          is typed before the block, and not shown
    file NAME               the block is this file of the page's examples after it
    needs registry          the image debian:12 is in the store, since no test asks a registry
    needs cgroups           where limits cannot be had, `hutch run` gets --dry-run
    needs internet          `hutch run` gets --dry-run, since no test reaches the internet
    not compared: REASON    the commands must succeed, whatever they print
    not typed: REASON

Where a page cannot know a value that is printed, it has one of the same form (KINDS).  Names
and ids must be the same wherever the page has the same one, in later commands, too.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import pty
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE  # noqa: E402

# The files that examples assume.  A name that ends in / is a folder; a text that begins with
# #! is a program.  The project is in ~/project, in ~/work and in ~/work/project.
PROJECT = {
    "Makefile": ("BUILD ?= build\n"
                 "all:\n\t@true\n"
                 "test:\n\t@mkdir -p $(BUILD) 2>/dev/null && echo passed >$(BUILD)/report.html || true\n"
                 "fmt:\n\t@sed -i 's/{return 0;}/{ return 0; }/' src/main.c; echo formatted >.fmt-stamp\n"),
    "build.sh": "#!/bin/sh\necho built >$1/program\n",
    "notes": "old\n",
    "src/main.c": "int main(void) {return 0;}\n",
}
FIXTURE = {
    **{f"{folder}/{name}": text for folder in ("project", "work", "work/project")
       for name, text in PROJECT.items()},
    ".cache/tests/": "",
    ".cargo/bin/cargo": "#!/bin/sh\necho cargo 1.63.0\n",
    # It installs programs that do what an agent would, without a model.
    "../bin/npm": '#!/bin/sh\nmkdir -p "$3/node_modules/.bin"\n'
                  'cp ~/../agent "$3/node_modules/.bin/claude"\ncp ~/../agent "$3/node_modules/.bin/codex"\n',
    "../agent": "#!/bin/sh\nkey=$ANTHROPIC_API_KEY$CODEX_API_KEY\n"
                "[ -t 0 ] && echo '>' && read -r line || [ -n \"$key\" ] || exit 1\n"
                "echo '/* mended */' >>src/main.c\n",
}
# The image debian:12 is busybox with these files.
IMAGE = {
    "etc/debian_version": "12.11\n",
    "etc/passwd": "root:x:0:0::/root:/bin/sh\n",
    "root/": "",
    "tmp/": "",
    "srv/": "",
    "usr/bin/": "",
    "usr/share/doc": "doc\n",
    "bin/apt-get": "#!/bin/sh\nprintf '#!/bin/sh\\necho GNU Make 4.3\\n' >/usr/bin/make\n"
                   "chmod +x /usr/bin/make\n",
}
APPLETS = ("sh", "cat", "chmod", "echo", "id", "ls", "mkdir", "rm", "sleep", "true")

# The values that change from one run to the next: their form on a page, and in a run if that
# is another.  A value whose name begins with "the_" stays the same within an example.
KINDS = {
    "the_time": [r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"],
    "the_sum": [r"\b[0-9a-f]{64}\b"],
    "the_id": [r"\b[0-9a-f]{12}\b"],
    "the_run": [r"\brun-[0-9a-f]{6}\b"],
    "the_member": [r"\bci-[0-9a-f]{8}\b"],
    "the_address": [r"\b127\.0\.0\.1:5\d{4}\b", r"127\.0\.0\.1:\d+"],
    "age": [r"\b\d+ (?:second|minute|hour|day)s? ago\b"],
    # `hutch ps` knows neither the processes nor the memory where there is no cgroup.
    "usage": [r"\b\d+ +\d+\.\dMiB\b", r"(?:\d+ +[\d.]+[KM]iB|- +-)"],
    "bytes": [r"(?<=^[AMD]) +\d+(?= /)"],
    "size": [r"\b\d+(?:\.\d)?(?:B|[KMG]iB)\b"],
    "pause": [r"\b\d+(?:\.\d+)? ms\b"],
}
KIND = re.compile("|".join(f"(?P<{name}>{forms[0]})" for name, forms in KINDS.items()))

COUNTED = ("typed", "tried with --dry-run", "not compared", "not typed", "untrue")
Block = collections.namedtuple("Block", "line marks rows")
Command = collections.namedtuple("Command", "line text shown")


class Untrue(Exception):
    pass


# --- pages ---------------------------------------------------------------------------------


def blocks_of(text):
    """Yields the blocks of code of a page, each with the comments in front of it."""
    marks, rows = [], None
    for number, row in enumerate(text.splitlines(), 1):
        if row.startswith("```"):
            if rows is None:
                rows, start = [], number
            else:
                yield Block(start, marks, rows)
                marks, rows = [], None
        elif rows is not None:
            rows.append(row)
        elif mark := re.fullmatch(r"<!-- (.*) -->", row):
            marks.append(mark[1])
        elif row:
            marks = []


def commands_of(block):
    """Returns the commands of a block, each with the lines that it shows."""
    found = []
    for number, row in enumerate(block.rows, block.line + 1):
        if row.startswith("$ "):
            found.append(Command(number, row[2:], []))
        elif found and row.startswith("> ") and not found[-1].shown:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{row[2:]}")
        elif found:
            found[-1].shown.append(row)
    return found


# --- what is printed -----------------------------------------------------------------------


class Values:
    """Knows for which values of a page other ones stand in this run."""

    def __init__(self, known):
        self.known = known

    def told(self, text):
        """Returns a text of the page with the values of this run in it."""
        if not self.known:
            return text
        words = sorted(self.known, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, words)), lambda m: self.known[m[0]], text)

    def form_of(self, row):
        """Returns the pattern of a line, and the words that its groups stand for."""
        form, words, at = "", [], 0
        for found in KIND.finditer(row):
            form += literal(self.told(row[at:found.start()]))
            at = found.end()
            if found[0] in self.known:
                form += re.escape(self.known[found[0]])
            elif found.lastgroup.startswith("the_"):
                form += f"({KINDS[found.lastgroup][-1]})"
                words.append(found[0])
            else:
                form += f"(?:{KINDS[found.lastgroup][-1]})"
        return form + literal(self.told(row[at:])), words

    def fits(self, row, printed):
        form, words = self.form_of(row)
        found = re.fullmatch(form, printed)
        if found:
            self.known.update(zip(words, found.groups()))
        return bool(found)


def literal(text):
    """The columns of a table are as wide as what is in them, so two spaces stand for more."""
    return re.sub(r"(\\ ){2,}", " +", re.escape(text))


def compare(shown, printed, values):
    for want, have in zip(shown, printed):
        if not values.fits(want, have):
            raise Untrue(f"the page: {want}\n printed: {have}")
    if len(shown) != len(printed):
        raise Untrue("the page: " + "\n          ".join(shown or ["(nothing)"]) +
                     "\n printed: " + "\n          ".join(printed or ["(nothing)"]))


# --- typing --------------------------------------------------------------------------------


class Home:
    """The home of an example, and the folder for its sockets."""

    def __init__(self, hutch):
        self.folder = tempfile.mkdtemp(prefix="hutch-typed.", dir="/tmp")
        for name in ("home", "run", "bin"):
            os.mkdir(f"{self.folder}/{name}", 0o700)
        os.symlink(hutch, f"{self.folder}/bin/hutch")
        self.work = f"{self.folder}/home/work"
        put(f"{self.folder}/home", FIXTURE)
        self.environment = {
            "PATH": f"{self.folder}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": f"{self.folder}/home", "XDG_RUNTIME_DIR": f"{self.folder}/run",
            "LANG": "C.UTF-8", "TERM": "xterm"}
        self.values = Values({"/home/ada": f"{self.folder}/home", "8080": free_port(),
                              "/run/user/1000": f"{self.folder}/run"})
        self.has_image = False

    def type(self, text, given=b""):
        """Types a command; returns its exit code and the lines that it has printed."""
        try:
            done = subprocess.run(["bash", "-c", text], input=given, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, cwd=self.work,
                                  env=self.environment, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Untrue(f"it has not ended after {PATIENCE} s") from None
        return done.returncode, done.stdout.decode().splitlines()

    def add_image(self):
        if self.has_image:
            return
        folder = f"{self.folder}/image"
        put(folder, IMAGE)
        shutil.copy(shutil.which("busybox"), f"{folder}/bin/busybox")
        for name in APPLETS:
            os.symlink("busybox", f"{folder}/bin/{name}")
        code, printed = self.type(f"hutch image import {folder} --name debian:12")
        if code:
            raise Untrue("\n".join(printed))
        self.has_image = True

    def end(self):
        if os.path.isdir(f"{self.folder}/run/hutch"):
            self.type("hutch ps -aq | xargs -r hutch rm -f")
        self.type(f"chmod -R u+rwX {self.folder}; rm -rf {self.folder}")


def put(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def free_port():
    """Returns a port that the kernel gives to no other program meanwhile: it is below those
    that it chooses from, and those of `-p auto`."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return str(port)


def type_on_terminal(home, text, shown):
    """Types a command on a terminal: ^C once all that the page shows is there, or, if it shows
    nothing, `exit` to the prompt of a shell."""
    pid, terminal = pty.fork()
    if not pid:
        signal.alarm(PATIENCE)
        os.chdir(home.work)
        os.execvpe("bash", ["bash", "-c", text], home.environment)
    seen, lines, waits = "", [], True
    while chunk := read_terminal(terminal):
        seen += chunk
        lines = seen.replace("\r", "").split("\n")[:-1]
        if waits and len(lines) >= len(shown):
            waits = False
            os.write(terminal, b"\3" if shown else b"exit\r")
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, lines[:len(shown)]


def read_terminal(terminal):
    try:
        return os.read(terminal, 4096).decode(errors="replace")
    except OSError:  # the last process has closed the other side
        return ""


class Page:
    def __init__(self, hutch, path, only):
        self.hutch, self.path, self.only, self.home = hutch, path, only, None
        self.counts = collections.Counter()
        self.files = {}
        self.can_limit = None

    def type(self):
        with open(self.path) as f:
            blocks = list(blocks_of(f.read()))
        try:
            for block in blocks:
                self.try_block(block)
        finally:
            self.leave()

    def leave(self):
        if self.home:
            self.home.end()
        self.home = None

    def try_block(self, block):
        for mark in block.marks:
            if mark.startswith("file "):
                self.files[mark[5:]] = "\n".join(block.rows) + "\n"
        commands = commands_of(block)
        if not commands or self.only and self.only not in block.marks:
            return
        if any(mark.startswith("not typed: ") for mark in block.marks):
            self.counts["not typed"] += len(commands)
            return
        if "goes on" not in block.marks:
            self.leave()
            self.home = Home(self.hutch)
        if "needs registry" in block.marks:
            self.home.add_image()
        put(self.home.work, self.files)
        try:
            for mark in block.marks:
                if mark.startswith("first: "):
                    self.prepare(mark[7:])
            for command in commands:
                self.try_command(command, block.marks)
        except Untrue as e:
            self.counts["untrue"] += 1
            print(e, file=sys.stderr)

    def prepare(self, text):
        code, printed = self.home.type(self.home.values.told(text))
        if code:
            raise Untrue(f"{self.path}: first: {text}\n" + "\n".join(printed))

    def try_command(self, command, marks):
        text = self.home.values.told(command.text)
        try:
            if text.startswith("export "):
                self.counts["typed"] += 1
                self.home.environment.update(word.split("=", 1) for word in shlex.split(text)[1:])
                return
            if text.startswith("hutch run ") and self.lacks(marks):
                self.expect_dry(text)
                return
            if any(mark.startswith("not compared: ") for mark in marks):
                self.counts["not compared"] += 1
                self.expect_success(text)
                return
            self.counts["typed"] += 1
            self.expect(text, command.shown)
        except Untrue as e:
            raise Untrue(f"{self.path}:{command.line}: {command.text}\n{e}") from None

    def lacks(self, marks):
        return "needs internet" in marks or "needs cgroups" in marks and not self.limits()

    def limits(self):
        if self.can_limit is None:
            self.can_limit = self.home.type("hutch run --memory 512m -- true")[0] == 0
        return self.can_limit

    def expect_dry(self, text):
        self.counts["tried with --dry-run"] += 1
        self.expect_success(text.replace("hutch run ", "hutch run --dry-run ", 1))

    def expect_success(self, text):
        code, printed = type_on_terminal(self.home, text, []) if is_for_terminal(text) else self.home.type(text)
        if code:
            raise Untrue("\n".join(printed))

    def expect(self, text, shown):
        given = b""
        if re.fullmatch(r"cat >[~/\w.]+", text):
            given, shown = "".join(row + "\n" for row in shown).encode(), []
        if "^C" in shown:
            shown = shown[:shown.index("^C")]
            _, printed = type_on_terminal(self.home, text, shown)
            compare(shown, printed, self.home.values)
            return
        if is_for_terminal(text):
            code, printed = type_on_terminal(self.home, text, shown)
        else:
            code, printed = self.home.type(text, given)
        if code and not shown:
            raise Untrue(f"it ended with {code}, and printed: " + "\n".join(printed))
        compare(shown, printed, self.home.values)


def is_for_terminal(text):
    words = shlex.split(text)
    return "-it" in words or words[:2] == ["hutch", "shell"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="MARK", help="types the examples with this comment")
    parser.add_argument("hutch")
    parser.add_argument("page", nargs="+")
    given = parser.parse_args()
    counts = collections.Counter()
    for path in given.page:
        page = Page(os.path.realpath(given.hutch), path, given.only)
        page.type()
        counts += page.counts
    print(", ".join(f"{counts[name]} {name}" for name in COUNTED))
    sys.exit(counts["untrue"] > 0)


if __name__ == "__main__":
    main()
