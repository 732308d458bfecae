#!/usr/bin/env -S python3 -SE
"""doctor.py CASE: reads `hutch doctor --json` on stdin, for doctor.bats."""
import json
import sys


def checks():
    """Prints the status and the name of each check."""
    said = json.load(sys.stdin)
    assert list(said) == ["version", "works", "checks"], said
    assert said["version"] == 1 and said["works"] is True, said
    for check in said["checks"]:
        assert list(check) == ["name", "status", "detail", "means", "remedy"], check
        assert check["detail"], check
        assert (check["means"] is None) == (check["status"] == "ok"), check
        assert check["status"] != "ok" or check["remedy"] is None, check
        assert check["remedy"] != "", check
        print(check["status"], check["name"])


def utf8():
    json.loads(sys.stdin.buffer.read().decode("utf-8"))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
