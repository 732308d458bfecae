"""search -- the cost of a grep of a large tree through `hutch act`, beside
ripgrep and `grep -r` on the host, over the same files in the same turns.

The sandbox sees the tree as its workspace, so no other file system lies
between.  One kind of session has a PATH with rg, the other one without.  Each
row is asked once before anything is counted, so all read from the page cache.
The files have words of source code; every pattern is found in some files and
not in most.
"""

import os
import random
import shutil
import subprocess
import tempfile
import time

import actions

FOLDERS, FILES_EACH = 1000, 100
ROUNDS = 7
WORDS = ("static int struct return buffer length char void const if while for size err_set "
         "open close read write index count next table value name path line ( ) { } ; = == "
         "-> * & /* */ 0 1 42 0x7f \"text\" NULL true false").split()
PATTERNS = {"a word": ("needle_in_hay", r"needle_in_hay"),
            "a regex": (r"hay_[a-z]+\([0-9]{4}, *[a-z]+\)", "hay_stack(2026, x)")}


def make_tree(top):
    """Makes files of 3 KiB on average; one in a thousand has each of the texts."""
    draw = random.Random(1)
    lines = ["\t" * draw.randrange(3) + " ".join(draw.choices(WORDS, k=draw.randrange(1, 12)))
             for _ in range(5000)]
    found = [text for _, text in PATTERNS.values()]
    for folder in range(FOLDERS):
        path = os.path.join(top, f"d{folder // 30:02}", f"s{folder % 30:02}")
        os.makedirs(path)
        for number in range(FILES_EACH):
            text = draw.choices(lines, k=draw.randrange(10, 150))
            if number == folder % FILES_EACH and folder % 10 < 5:
                text[3:3] = found
            with open(os.path.join(path, f"f{number:02}.c"), "w", encoding="utf-8") as file:
                file.write("\n".join(text) + "\n")


class Session:
    """A session with this PATH; its shell runs before the first request."""

    def __init__(self, hutch, tree, *options):
        self.client = actions.Client([hutch, "act", "--workspace", tree + ":ro", *options])
        self.client.ask(actions.line("run", command=":"))

    def grep(self, pattern):
        answer, took = self.client.ask(actions.line("grep", pattern=pattern, limit=10000))
        return answer.count(b"\\n") + 1, took / 1e3


def program(*argv):
    """Sends the output to a pipe: if it went to /dev/null, grep would stop at
    the first match."""
    def ask(pattern):
        start = time.perf_counter()
        done = subprocess.run([*argv, "-e", pattern, "."], stdout=subprocess.PIPE, check=True)
        return done.stdout.count(b"\n"), (time.perf_counter() - start) * 1e3
    return ask


def turns(rows, pattern):
    """Returns the median of each row, in ms; all must find the same number of
    lines."""
    samples = {name: [] for name in rows}
    counts = set()
    for _ in range(ROUNDS + 1):
        for name, ask in rows.items():
            count, took = ask(pattern)
            counts.add(count)
            samples[name].append(took)
    if len(counts) != 1:
        raise RuntimeError(f"not as much is found by all: {counts}")
    return {name: round(sorted(took[1:])[ROUNDS // 2], 1) for name, took in samples.items()}


def measure_search(hutch):
    if not shutil.which("rg"):
        return {"why_not": "rg is not here"}
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="hutch-bench-tree-") as tree:
        os.chmod(tree, 0o755)  # as root the inside is another user
        make_tree(tree)
        sessions = Session(hutch, tree), Session(hutch, tree, "-e", "PATH=/nowhere")
        os.chdir(tree)
        try:
            rows = {"hutch, rg inside": sessions[0].grep, "rg": program("rg", "-n"),
                    "hutch, no rg": sessions[1].grep, "grep -r": program("grep", "-rnE")}
            result = {name: turns(rows, pattern) for name, (pattern, _) in PATTERNS.items()}
        finally:
            os.chdir(home)
            for session in sessions:
                session.client.close()
    return {"files": FOLDERS * FILES_EACH, "patterns": result}
