#!/usr/bin/env -S python3 -SE
"""golden.py HUTCH FILE: replays requests to the reference's editor, and
compares.

FILE is a list of sequences, each with `actions` and the `observations` that they gave.
Each sequence is done in a sandbox of its own, once by `edit` and, where a view has a
range, by `read` with impl_source oh_aci; views without one are done by both.
"""
import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE  # noqa: E402


def lines_of(actions):
    for a in actions:
        args = dict(a)
        if a["command"] != "view" or "view_range" not in a:
            yield {"action": "edit", "args": args}
        if a["command"] == "view":
            yield {"action": "read", "args": {k: v for k, v in args.items() if k != "command"}
                   | {"impl_source": "oh_aci"}}


def check(sent, got, want):
    args = sent["args"]
    assert got["observation"] == sent["action"], got
    assert got["content"] == want["content"], (got["content"], want["content"])
    extras = {"path": args["path"], "impl_source": "oh_aci"}
    if sent["action"] == "edit":
        extras |= {"prev_exist": False, "old_content": args.get("old_str"),
                   "new_content": args.get("new_str"), "diff": want["diff"], "_diff_cache": None}
    assert got["extras"] == extras, (got["extras"], extras)
    did = "edited" if sent["action"] == "edit" else "read"
    assert got["message"] == f"I {did} the file {args['path']}.", got["message"]


def play(hutch, sequence):
    sent, wanted = [], []
    for action, observation in zip(sequence["actions"], sequence["observations"], strict=True):
        some = list(lines_of([action]))
        sent += some
        wanted += [observation] * len(some)
    text = "".join(json.dumps(x) + "\n" for x in sent)
    done = subprocess.run([hutch, "act"], input=text, capture_output=True, text=True,
                          timeout=PATIENCE)
    got = [json.loads(x) for x in done.stdout.splitlines()]
    assert len(got) == len(sent), done.stderr
    for one in zip(sent, got, wanted):
        check(*one)
    return len(sent)


def main():
    with open(sys.argv[2]) as f:
        sequences = json.load(f)
    assert sequences
    for s in sequences:
        try:
            print(s["name"], play(sys.argv[1], s))
        except AssertionError as e:
            sys.exit(f"{s['name']}: {e}")


main()
