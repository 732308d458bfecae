#!/usr/bin/env -S python3 -SE
"""create.py CASE: checks the events of a sandbox, on stdin, for create.bats."""
import json
import sys


def samples():
    events = [json.loads(line) for line in sys.stdin]
    names = [e["event"] for e in events]
    told = [e for e in events if e["event"] == "sample"]
    assert len(told) >= 3, names
    for e in told:
        assert set(e) == {"name", "time", "event", "memory_bytes", "cpu_s", "pids"}, e
    assert max(e["pids"] for e in told) >= 2 and max(e["memory_bytes"] for e in told) > 0
    where = [i for i, name in enumerate(names) if name == "sample"]
    # The first sample may come before the event about the start.
    assert names.index("started") < where[1], names
    assert where[-1] < names.index("exited") < names.index("ended"), names


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
