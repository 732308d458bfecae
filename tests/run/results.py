"""results.py TEXT EXPRESSION: TEXT is one result object with all its keys and nothing else, and
the expression about it, `o`, is true."""
import json
import sys


def no_twice(pairs):
    assert len(dict(pairs)) == len(pairs), "a key is there twice"
    return dict(pairs)


o = json.loads(sys.argv[1], object_pairs_hook=no_twice)
keys = ["version", "status", "exit_code", "signal", "wall_s", "user_s", "sys_s",
        "memory_peak_bytes", "pids_peak", "degraded", "refused", "network", "error"]
assert list(o) == keys, list(o)
assert o["version"] == 1
assert list(o["network"]) == ["mode", "form"]
assert o["error"] is None or list(o["error"]) == ["kind", "message", "remedy"]
assert isinstance(o["wall_s"], float) and o["wall_s"] >= 0
assert eval("(" + sys.argv[2] + ")"), o
