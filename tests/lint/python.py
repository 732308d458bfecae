#!/usr/bin/env -S python3 -SE
"""python.py: the Python of tests/, sdk/ and demo/, and what of it is in bats files.

Each file compiles, imports nothing and names nothing that it does not use, and has at most 120
columns.  pyflakes3 says more of that where it is installed.  A bats file has no Python of more
than one statement: that is a file of its own, which linters and people can read.
"""
import ast
import re
import shutil
import subprocess
import sys

from report import TOP, files, tell, text_of

FOLDERS = ("tests", "sdk", "demo")
COLUMNS = 120
HERE_TEXT = re.compile(r"^(?P<line>.*\bpython3?\b[^|;&\n]* -(?: [^|;&\n]*)?<<(?P<tabs>-?)[\"'\\]?"
                       r"(?P<end>\w+)[\"']?.*)\n(?P<text>(?:.*\n)*?)[ \t]*(?P=end)$", re.M)
COMMAND = re.compile(r"\bpython3?(?:\s+-\w+)*?\s+-\w*c\s+(?P<quote>['\"])")


def tree_of(name, text):
    return ast.parse(text, name)


def does_not_compile(name, text):
    try:
        tree_of(name, text)
    except SyntaxError as e:
        yield e.lineno, f"{e.msg}: mend it"


def used_words(tree):
    """Yields the names that are read, and strings, which may be names in
    __all__ or an annotation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value) if len(node.value) < 200 else ()


def unused_imports(name, text):
    tree = tree_of(name, text)
    used = set(used_words(tree))
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or \
                getattr(node, "module", "") == "__future__":
            continue
        for alias in node.names:
            word = (alias.asname or alias.name).split(".")[0]
            if word not in used and alias.asname != alias.name:
                yield node.lineno, f"{word} is imported and not used: leave the import out"


def unused_names(name, text):
    """Yields the local names of functions that are only assigned, never read."""
    for function in ast.walk(tree_of(name, text)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        used = set(used_words(function))
        for node in ast.walk(function):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                used.update(node.names)
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if isinstance(target, ast.Name) and target.id not in used and \
                        not target.id.startswith("_"):
                    yield node.lineno, f"{target.id} is assigned and not used: leave it out"


def long_lines(_, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns: have at most {COLUMNS}"


def is_of_more(text):
    """Judges text that is no Python by itself, since the shell inserts
    something, line by line."""
    try:
        return len(ast.parse(text).body) > 1 or \
            any(hasattr(node, "body") for node in ast.parse(text).body)
    except (SyntaxError, ValueError):
        return ";" in text or "\n" in text.strip()


def quoted(text, start, quote):
    """Returns the text from after a quote up to the one that closes it."""
    end = start
    while end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" and quote == '"' else 1
    return text[start:end]


def python_within(_, text):
    instead = "put Python of more than an import and a statement into a .py file beside this one"
    for match in HERE_TEXT.finditer(text):
        body = re.sub(r"^\t+", "", match["text"], flags=re.M) if match["tabs"] else match["text"]
        if is_of_more(body):
            yield text.count("\n", 0, match.start()) + 1, instead
    for match in COMMAND.finditer(text):
        body = quoted(text, match.end(), match["quote"])
        if "\n" in body or re.sub(r"^import [\w, ]+; ", "", body).count(";"):
            yield text.count("\n", 0, match.start()) + 1, instead


def findings(rule, name, text):
    for number, sentence in rule(name, text):
        yield f"{name}:{number} {sentence}"


def pyflakes(names):
    """Runs pyflakes3; yields its findings as FILE:LINE:COLUMN: MESSAGE."""
    said = subprocess.run(["pyflakes3", *names], cwd=TOP, capture_output=True, text=True)
    noted = {f"{name}:{number}" for name in names
             for number, line in enumerate(text_of(name).split("\n"), 1) if "# noqa" in line}
    for line in said.stdout.splitlines() + said.stderr.splitlines():
        if not any(line.startswith(place + ":") for place in noted):
            yield line


PYTHON_RULES = [
    (unused_imports, "no Python file imports what it does not use"),
    (unused_names, "no function assigns what it does not use"),
    (long_lines, f"no line of Python has more than {COLUMNS} columns"),
]


def checks(python, bats):
    """Runs all checks. python and bats map names to texts."""
    broken = [f for name, text in python.items() for f in findings(does_not_compile, name, text)]
    yield "each Python file compiles", broken
    if broken:
        return
    for rule, sentence in PYTHON_RULES:
        yield sentence, [f for name, text in python.items() for f in findings(rule, name, text)]
    yield ("no bats file has Python of more than one statement",
           [f for name, text in bats.items() for f in findings(python_within, name, text)])


def main():
    python, bats = ({name: text_of(name) for name in files(FOLDERS, (ending,))}
                    for ending in (".py", ".bats"))
    all_checks = list(checks(python, bats))
    if shutil.which("pyflakes3"):
        all_checks.append(("pyflakes3 finds nothing", pyflakes(list(python))))
    return tell(all_checks)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
