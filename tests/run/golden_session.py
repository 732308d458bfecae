#!/usr/bin/env -S python3 -SE
"""golden_session.py HUTCH FILE: replays requests to the reference's session,
and compares.

FILE is a list of sequences, each with its `actions` and the `observations` that
they gave, null where the reference does not report it.  Each sequence has a
sandbox of its own, and several go side by side: most of their time is a soft
time-out.  Only numbers of processes may differ; the recording has none of the
reference's errors.  Late output is joined to the output that came in time, and
a row begins when the sandbox is at rest: see session.py.
"""
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from session import Act, Observation, goes_on  # noqa: E402


def plain(key, value):
    """Replaces the process ids that the shell prints for its jobs."""
    if key != "content" or value is None:
        return value
    return re.sub(r"^(\[\d+\]) \d+$", r"\1 PID", value, flags=re.M)


def sent(action):
    action = dict(action)
    line = {"action": "run", "args": action}
    if "timeout" in action:
        line["timeout"] = action.pop("timeout")
    return line


def is_content_of(want):
    text = plain("content", (want or {}).get("content"))
    return lambda content: text is None or plain("content", content) == text


def play(hutch, sequence):
    """Returns the differences, a line each."""
    act = Act(hutch, ["-e", f"NO_CHANGE_TIMEOUT_SECONDS={sequence['no_change_timeout']}"])
    wrong = []
    try:
        for action, want in zip(sequence["actions"], sequence["observations"], strict=True):
            line = sent(action)
            answer = act.whole(act.send(line), line, want, is_content_of(want))
            if goes_on(answer):
                act.rest()
            got = Observation(answer)
            for key, value in want.items():
                has = getattr(got, key, None)
                if plain(key, has) != plain(key, value):
                    wrong.append(f"{sequence['name']}, {action}, {key}: {has!r}, not {value!r}")
    finally:
        act.end()
    return wrong


def main():
    with open(sys.argv[2]) as f:
        sequences = json.load(f)
    assert sequences
    with ThreadPoolExecutor(9) as pool:
        wrong = sum(pool.map(lambda s: play(sys.argv[1], s), sequences), [])
    if wrong:
        sys.exit("\n".join(wrong))
    print(len(sequences), "sequences")


main()
