"""Compares what hutch finds in texts for bash with what bash does with them.

    bash_texts.py generate SEED COUNT       prints texts that are made from bash's grammar
    bash_texts.py tried                     prints the texts of bash_tried.txt, each the work of an attacker
    bash_texts.py run HUTCH TOOL LIBRARY SHELL
                                            each program that SHELL executes for a text of stdin is found,
                                            or the text is one to ask about; SHELL is bash, or dash for
                                            texts that bash gives to `sh -c`
    bash_texts.py print TOOL                a text of stdin, and what bash --pretty-print makes of it, have
                                            the same tree
    bash_texts.py share TOOL                says which part of the texts of stdin is asked about, and why
    bash_texts.py inside LIBRARY SHELL      (in a sandbox) runs texts of stdin, and prints what was executed

TOOL is tests/run/commands_of, LIBRARY is tests/run/preload/no_exec.so.  A 0 byte follows each text and each
name.  Corpora of real commands are not part of this tree: jq -j '.command + "\\u0000"' makes stdin of one.
"""

import collections
import os
import pathlib
import random
import resource
import shlex
import subprocess
import sys
import tempfile

LOG = 198
PROGRAMS = 40
PLACES = "arguments expansions assignments redirections compounds builtins tricks".split()
# Processor seconds after which bash is ended, since a text may loop; bash ends by itself
# otherwise.
CPU = 1
HERE = pathlib.Path(__file__).resolve().parent
SECONDS_OF_A_TEXT = 5


# --- texts ----------------------------------------------------------------------


def read_forms():
    """Returns the lists of bash_forms.txt by their names."""
    forms, name = {}, None
    for line in pathlib.Path(HERE, "bash_forms.txt").read_text().splitlines():
        if line.startswith("## "):
            name = line[3:].split(":")[0]
            forms[name] = []
        elif name and line:
            forms[name].append(line)
    assert sorted(forms) == sorted(PLACES), sorted(forms)
    return forms


class Texts:
    """Makes texts from bash's grammar, spelled in unusual ways."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.forms = read_forms()
        self.documents = []

    def text(self):
        self.documents = []
        return "\n".join(self.closed(self.pick(1, 1, 2)) for _ in range(self.pick(1, 1, 1, 2)))

    def pick(self, *ways):
        return self.dice.choice(ways)

    def chance(self, share):
        return self.dice.random() < share

    # --- words ---

    def program(self):
        return f"p{self.dice.randrange(PROGRAMS)}"

    def name(self):
        """A program's name in some spelling that bash reads as the same."""
        word = self.program()
        left, right = word[:1], word[1:]
        octal = "".join(f"\\{ord(c):o}" for c in word)
        return self.pick(word, word, word, word, f'"{word}"', f"'{word}'", f"{left}\\{right}", f"{left}''{right}",
                         f"{left}\\\n{right}", f"$'{octal}'", f'{left}"{right}"', f"$'{word}'", f'$"{word}"',
                         f"/nowhere/{word}")

    def closed(self, depth):
        """A list with the lines of its here-documents."""
        outer, self.documents = self.documents, []
        text = self.list(depth)
        text += "\n" + "".join(self.documents) if self.documents else ""
        self.documents = outer
        return text

    def inner(self, depth):
        """A list inside brackets, in one of the forms that bash knows."""
        commands = self.closed(depth - 1) if depth > 0 else self.name()
        return self.pick(f"$({commands})", f"$( {commands} )", f"$(\n{commands}\n)",
                         f"`{self.backquoted(commands)}`")

    @staticmethod
    def backquoted(text):
        return text.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$")

    def quoted(self, text):
        """A word whose value is the text."""
        return self.pick(
            "'" + text.replace("'", "'\\''") + "'",
            '"' + "".join("\\" + c if c in '$`"\\' else c for c in text) + '"',
            "$'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'")

    def argument(self, depth):
        return self.form("expansions" if depth > 0 and self.chance(0.3) else "arguments", depth)

    def form(self, name, depth):
        return self.filled(self.pick(*self.forms[name]), depth)

    def filled(self, form, depth):
        """A form with texts in the places of its marks."""
        program = self.program()
        ways = {"L": lambda: self.list(depth - 1), "I": lambda: self.inner(depth), "J": lambda: self.inner(0),
                "N": self.name, "P": lambda: program, "A": lambda: self.argument(depth - 1),
                "S": lambda: self.closed(depth - 1), "T": lambda: self.quoted(self.closed(depth - 1)),
                "U": lambda: self.quoted(self.quoted(self.closed(depth - 1))), "n": lambda: "\n",
                "E": lambda: self.form("expansions", depth)}
        parts = form.split("%")
        return parts[0] + "".join(ways[part[0]]() + part[1:] for part in parts[1:])

    # --- commands ---

    def list(self, depth):
        text = self.pipeline(depth)
        for _ in range(self.pick(0, 0, 1, 2)):
            join = self.pick("; ", " && ", " || ", ";", "; " if self.documents else " &&\n", " & ", "&& \\\n")
            text += join + self.pipeline(depth)
        return text

    def pipeline(self, depth):
        text = self.pick("", "", "", "", "", "! ", "time ", "time -p ", "! ! ", "time -- ")
        return text + self.pick(" | ", "|", " |& ").join(self.command(depth) for _ in range(self.pick(1, 1, 1, 2)))

    def command(self, depth):
        if depth <= 0 or self.chance(0.5):
            return self.simple(depth)
        return self.form(self.pick("compounds", "compounds", "compounds", "builtins", "tricks"), depth)

    def simple(self, depth):
        words = []
        if self.chance(0.2):
            words.append(self.form("assignments", depth))
        if self.chance(0.1):
            words.append(self.redirection(depth))
        words.append(self.name())
        words += [self.argument(depth) for _ in range(self.pick(0, 1, 2))]
        if self.chance(0.2):
            words.append(self.redirection(depth))
        return self.pick(" ", "  ", "\t", " \\\n ").join(words)

    def redirection(self, depth):
        return self.document(depth) if self.chance(0.3) else self.form("redirections", depth)

    def document(self, depth):
        end = f"E{self.dice.randrange(100)}"
        tab = self.pick("", "", "\t")
        mark = self.pick(end, f"'{end}'", f'"{end}"', f"\\{end}")
        body = self.filled(self.pick("a\n", "a %I b\n", "%N\n", "$x 'it\n", "(\n", "", "\\%J\n", "a\\\nb\n"), depth - 1)
        self.documents.append("".join(tab + line + "\n" for line in (body + end).split("\n")))
        return f"{self.pick('', '3', '0')}<<{'-' if tab else ''}{self.pick('', ' ')}{mark}"


# --- what bash does, what hutch finds ---------------------------------------------


def in_pieces(texts):
    return "".join(text + "\0" for text in texts).encode(errors="surrogateescape")


def found(tool, texts):
    """Returns for each text why it hides commands, and the names of its programs."""
    out = subprocess.run([tool, "names"], input=in_pieces(texts), stdout=subprocess.PIPE, check=True).stdout
    fields = out.decode(errors="surrogateescape").split("\0")
    at, all_found = 0, []
    for _ in texts:
        stop = fields.index("", at + 1)
        all_found.append((fields[at], set(fields[at + 1:stop])))
        at = stop + 1
    return all_found


# bash reports a command that does not exist by command_not_found_handle; dash has no such hook,
# so there such a command is only missing in the log.
PRELUDES = {"dash": 'eval "$TEXT"', "bash": """
command_not_found_handle() { builtin printf '%s\\0' "$1" >&198; builtin return $((RANDOM % 2)); }
shopt -s expand_aliases
eval "$TEXT"
"""}
OPTIONS = {"dash": [], "bash": ["--norc", "--noprofile"]}


def executed(library, shell, text, folder):
    """Runs the text, in a folder of its own; returns the paths that the shell executed."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
        resource.setrlimit(resource.RLIMIT_NPROC, (300, 300))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), LOG)
        process = subprocess.Popen(
            [f"/bin/{shell}", *OPTIONS[shell], "-c", PRELUDES[shell]], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, preexec_fn=limit, pass_fds=[LOG],
            start_new_session=True,
            env={"PATH": str(folder), "LD_PRELOAD": library, "TEXT": text, "HOME": "/nowhere"})
        try:
            process.wait(SECONDS_OF_A_TEXT)  # a text may wait for an input that never comes
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.wait()
        log.seek(0)
        return log.read().decode(errors="surrogateescape").split("\0")[:-1]


def texts_of(stream):
    return stream.read().decode(errors="surrogateescape").split("\0")[:-1]


def inside(library, shell):
    for text in texts_of(sys.stdin.buffer):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(PROGRAMS):
                pathlib.Path(folder, f"p{i}").touch(mode=0o755)
            paths = executed(library, shell, text, folder)
        sys.stdout.buffer.write(in_pieces(path for path in paths if path) + b"\0")
    sys.stdout.flush()


def executed_in_sandbox(hutch, library, shell, texts):
    """Returns for each text the paths that the shell executes."""
    library = pathlib.Path(library).resolve()
    out = subprocess.run(
        [hutch, "run", "-i", "-v", f"{library.parent}:/library:ro", "-v", f"{HERE}:/here:ro", "--",
         "python3", "/here/bash_texts.py", "inside", f"/library/{library.name}", shell],
        input=in_pieces(texts), stdout=subprocess.PIPE, check=True).stdout
    all_paths = [[]]
    for path in out.decode(errors="surrogateescape").split("\0")[:-1]:
        if path:
            all_paths[-1].append(path)
        else:
            all_paths.append([])
    assert all_paths.pop() == [] and len(all_paths) == len(texts), (len(all_paths), len(texts))
    return all_paths


def run(hutch, tool, library, shell):
    texts = texts_of(sys.stdin.buffer)
    judged = [f"sh -c {shlex.quote(text)}" for text in texts] if shell == "dash" else texts
    known = [(text, names) for text, (why, names) in zip(texts, found(tool, judged)) if not why]
    wrong = programs = 0
    for (text, names), paths in zip(known, executed_in_sandbox(hutch, library, shell, [text for text, _ in known])):
        programs += len(paths)
        hidden = {path.rsplit("/", 1)[-1] for path in paths} - names
        if hidden:
            wrong += 1
            print(f"--- hidden: {hidden}; found: {names}\n{text}")
    print(f"{len(texts)} texts, {len(texts) - len(known)} asked about, the others run: {programs} programs executed, "
          f"{wrong} texts hide one")
    # If no text ran a program, or the user was asked about all texts, the test would prove
    # nothing.
    assert not wrong and programs > len(known) / 2 and len(known) > (0.05 if shell == "dash" else 0.1) * len(texts)


# --- structure --------------------------------------------------------------------


def trees(tool, texts):
    out = subprocess.run([tool, "tree"], input=in_pieces(texts), stdout=subprocess.PIPE, check=True).stdout
    # bash prints a newline where a list ends with ";", so such a ";" is removed before the
    # comparison.
    return [tree.replace("; }", "}") for tree in out.decode(errors="surrogateescape").split("\0")[:-1]]


def printed(text):
    """The text as bash prints it; None: bash does not read it, or not as one can print it."""
    bash = subprocess.run(["bash", "--norc", "--pretty-print", "/dev/stdin"],
                          input=text.encode(errors="surrogateescape"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return None if bash.returncode or bash.stderr else bash.stdout.decode(errors="surrogateescape")


# Texts with these words are not compared, since bash prints them in another form: as "2>&1 |",
# with `in "$@"`, [[ -n a ]], { ( ) }, COPROC and other blanks; and it prints here-documents in
# the head of a loop wrongly.
REPRINTED = ["|&", "elif ", "for i do", "f() if", "[[ a ]]", "f() (", "coproc ", "'a[",
             "<<E", "<<-", "<< ", "<<\\", "<<'", '<<"']


def print_and_compare(tool):
    texts = [text for text in texts_of(sys.stdin.buffer) if not any(part in text for part in REPRINTED)]
    both = [(text, again) for text, again in zip(texts, map(printed, texts)) if again is not None]
    compared = wrong = 0
    for (text, again), one, other in zip(both, trees(tool, [b[0] for b in both]), trees(tool, [b[1] for b in both])):
        if not one.startswith("{"):
            continue
        compared += 1
        if one != other:
            wrong += 1
            print(f"--- {one}\n    {other}\n{text}\n--- bash:\n{again}")
    print(f"{compared} trees compared, {wrong} differ")
    assert not wrong and compared > len(texts) / 4


def share(tool):
    texts = texts_of(sys.stdin.buffer)
    reasons = collections.Counter(why for why, _ in found(tool, texts))
    for why, count in reasons.most_common():
        print(f"{count:8} {100 * count / len(texts):7.2f} %  {why or 'all commands are found'}")


def tried():
    texts = pathlib.Path(HERE, "bash_tried.txt").read_text(errors="surrogateescape").split("\n%%%%\n")
    sys.stdout.buffer.write(in_pieces(texts))


def generate(seed, count):
    texts = Texts(int(seed))
    sys.stdout.buffer.write(in_pieces(texts.text() for _ in range(int(count))))


if __name__ == "__main__":
    modes = {"generate": generate, "tried": tried, "run": run, "print": print_and_compare, "share": share,
             "inside": inside}
    modes[sys.argv[1]](*sys.argv[2:])
