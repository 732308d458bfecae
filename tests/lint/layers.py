#!/usr/bin/env -S python3 -SE
"""layers.py: each marker of a layer in the code has its row in tests/layers/layers.tsv, and each
row fits the marked line.  Prints TAP.

tests/layers/README.md says what a layer is.  Only tests/layers/run.sh, which builds the tree for
each, sees that a test fails without it; this check sees lines and tests that got other words.
"""
import collections
import re
import sys

import report

sys.path.append(str(report.TOP / "tests/layers"))
import patch  # noqa: E402

TABLE = "tests/layers/layers.tsv"
# Words of the language, which a file need not have otherwise.
C_WORDS = set("const false for if int NULL return size_t sizeof struct true UINT64_MAX void".split())
# Kind of test: the file that has it, and the text before its name in that file.
TESTS = {"run": ("tests/run/{}.bats", '@test "'), "unit": ("tests/unit/test_{}.c", ""),
         "escape": ("tests/escape/expect.tsv", "")}


def marked(sources):
    """Yields each layer of the sources, and its line without the marker."""
    for text in sources.values():
        lines = [patch.MARKER.sub("", line).strip(" \t\\") for line in text.splitlines()] + [""]
        for layer, number in patch.layers(text):
            yield layer, lines[number]


def unmatched(table, sources):
    named = collections.Counter(layer for layer, _, _ in patch.rows(table))
    found = collections.Counter(layer for layer, _ in marked(sources))
    for layer in sorted(named | found):
        if named[layer] != 1 or found[layer] != 1:
            yield f"{layer}: {found[layer]} markers in the code, {named[layer]} rows in {TABLE}"


def still_open(text):
    """How many brackets of each kind a line leaves open, or closes if that is negative; and a comment."""
    return [text.count(left) - text.count(right) for left, right in ("()", "[]", "{}", ("/*", "*/"))]


def is_broken(line, instead):
    """Whether only one of the two ends a statement."""
    return instead.endswith(";") != line.endswith(";") and instead not in ("", "-", ";")


def unfit(table, sources):
    """A text that leaves other brackets open than its line: the line was broken in two, or
    joined with another."""
    lines = dict(marked(sources))
    for layer, instead, _ in patch.rows(table):
        line = lines.get(layer)
        if line in ("", instead):
            yield f"{layer}: '{instead}' changes nothing"
        elif line and still_open(line) != still_open(instead):
            yield f"{layer}: '{instead}' has other brackets than '{line}'"
        elif line and is_broken(line, instead):
            yield f"{layer}: '{instead}' and '{line}' do not both end a statement"


def unknown_words(table, sources):
    """A text with a word that is neither its file's nor a function of a header: a name was changed
    in the code, and the row would not compile."""
    functions = set(re.findall(r"(\w+)\(", "".join(
        text for file, text in sources.items() if file.endswith(".h"))))
    files = {layer: text for text in sources.values() for layer, _ in patch.layers(text)}
    for layer, instead, _ in patch.rows(table):
        words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", instead))) - C_WORDS
        known = functions | set(re.findall(r"[A-Za-z_]\w*", files.get(layer, "")))
        if layer in files and words - known:
            yield f"{layer}: '{instead}' has words that its file has not: {', '.join(sorted(words - known))}"


def untested(table, tests):
    for layer, _, names in patch.rows(table):
        if not names:
            yield f"{layer}: its row names no test"
        for name in names:
            place, _, part = name.removeprefix("root:").partition(":")
            kind, _, file = place.partition("/")
            path, begin = TESTS.get(kind, (None, None))
            lines = tests.get(path and path.format(file), "").replace("\t", " ").splitlines()
            if not any(line.startswith(begin) and part in line for line in lines):
                yield f"{layer}: there is no test {name}"


def checks(table, sources, tests):
    return [
        ("each marker has one row, and each row has one marker", unmatched(table, sources)),
        ("each row's text changes its line and fits there", unfit(table, sources)),
        ("each row's text has the words of its file", unknown_words(table, sources)),
        ("each row names tests that are there", untested(table, tests)),
    ]


def main():
    sources = {file: report.text_of(file) for file in report.files([], (".c", ".h", ".json"))
               if not file.startswith("tests/")}
    tests = {file: report.text_of(file) for file in report.files(["tests"], (".bats", ".c", ".tsv"))}
    return report.tell(checks(report.text_of(TABLE), sources, tests))


if __name__ == "__main__":
    sys.exit(main())
