#!/usr/bin/env -S python3 -SE
"""examples.py HUTCH PAGE: runs the examples marked <!-- act -->.

Each example is a fresh `hutch act`.  A line "> JSON" is sent; the lines "< KEY:
VALUE" after it are values of the observation: `content` with outer blanks cut,
a key of extras, or of its metadata.  Newlines and tabs in it are written as \\n
and \\t.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE  # noqa: E402


def value_of(o, key):
    if key == "content":
        return o["content"].strip()
    extras = o["extras"]
    return str(extras.get("metadata", extras).get(key, extras.get(key)))


def play(hutch, text):
    lines = text.strip().splitlines()
    actions = "\n".join(x[2:] for x in lines if x.startswith("> ")) + "\n"
    done = subprocess.run([hutch, "act"], input=actions, capture_output=True, text=True,
                          timeout=PATIENCE)
    observations = [json.loads(x) for x in done.stdout.splitlines()]
    at = -1
    for line in lines:
        if line.startswith("> "):
            at += 1
            continue
        key, _, want = line[2:].partition(":")
        got = value_of(observations[at], key).replace("\n", "\\n").replace("\t", "\\t")
        if got != want.strip():
            sys.exit(f"{line}\nis not so: {observations[at]}")
    return at + 1


def main():
    with open(sys.argv[2]) as f:
        examples = re.findall(r"<!-- act -->\n```\n(.*?)```", f.read(), re.S)
    count = sum(play(sys.argv[1], x) for x in examples)
    if not count:
        sys.exit("the page has no example")
    print(f"{len(examples)} examples, {count} actions")


main()
