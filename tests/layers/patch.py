#!/usr/bin/env -S python3 -SE
"""patch.py FILE LAYER TEXT: puts TEXT in the place of the line that LAYER's marker names.

README.md has the rules.  As a module it serves tests/lint/layers.py, too.
"""
import pathlib
import re
import sys

# A marker as a comment in C, or as a member "comment" in JSON, which has no comments.
MARKER = re.compile(r'(?:/\* |"comment": ")layer: (?P<name>[a-z0-9-]+)(?: \*/|",)')


def layers(text):
    """Yields the layers of a source: the name, and the number of the line from 0."""
    for number, line in enumerate(text.splitlines()):
        if match := MARKER.search(line):
            yield match["name"], number + (not line[:match.start()].strip())


def left_out(text, layer, instead):
    """Returns the source without the layer: with `instead`, which is "-" for no line, in the
    place of its line."""
    lines = text.splitlines(keepends=True)
    [number] = [number for name, number in layers(text) if name == layer]
    indent = re.match(r"[ \t]*", lines[number])[0]
    lines[number] = "" if instead == "-" else f"{indent}{instead}\n"
    return "".join(lines)


def rows(table):
    """Yields the rows of layers.tsv: the name, the text, the tests."""
    for line in table.splitlines():
        if line and not line.startswith("#"):
            name, instead, *tests = line.split("\t")
            yield name, instead, tests


def main(path, layer, instead):
    file = pathlib.Path(path)
    file.write_text(left_out(file.read_text(encoding="utf-8"), layer, instead), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
