#!/usr/bin/env -S python3 -SE
"""jupyter_golden.py HUTCH FILE [OPTION...]: runs the cells of FILE by `hutch act OPTION...`, and
holds their texts to those that OpenHands' Jupyter plugin gave.

A cell whose `text` is null has a text that is this machine's own.  `own` is our text where
OpenHands' is a defect, and `why` says which.
"""
import json
import subprocess
import sys


def actions(cells):
    for number, cell in enumerate(cells):
        yield json.dumps({"action": "run_ipython", "id": number, "timeout": cell.get("timeout", 120),
                          "args": {"code": cell["code"], "include_extra": False}})


def main():
    hutch, file, *options = sys.argv[1:]
    with open(file, encoding="utf-8") as golden:
        cells = json.load(golden)
    done = subprocess.run([hutch, "act", *options], input="\n".join(actions(cells)) + "\n", check=True,
                          stdout=subprocess.PIPE, text=True)
    observations = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(observations) == len(cells), done.stdout
    failed = 0
    for cell, observation in zip(cells, observations):
        wanted = cell.get("own", cell["text"])
        if wanted is not None and observation["content"] != wanted.rstrip():
            failed += 1
            print(f"{cell['code']!r}\n  wanted {wanted.rstrip()!r}\n  got    {observation['content']!r}")
    sys.exit(failed > 0)


main()
