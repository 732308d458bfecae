#!/usr/bin/env -S python3 -SE
"""audit.py CASE ARG...: reads and makes entries of an audit log, for audit.bats."""
import hashlib
import json
import sys


def entry(event, *keys):
    """Prints the values of the first such entry among those on stdin, as JSON."""
    for line in sys.stdin:
        one = json.loads(line)
        if one["event"] == event:
            print(*(json.dumps(one.get(key)) for key in keys))
            break


def nearly_full(path):
    """Makes a log that is 300 bytes short of full, as hutch could have written it."""
    last, size, full, number = "0" * 64, 0, (64 << 20) - 300, 0
    with open(path, "wb") as out:
        while size < full:
            number += 1
            head = (f'{{"v":1,"prev":"{last}","seq":{number},'
                    '"time":"2026-01-01T00:00:00.000000000Z","event":"x","a":"')
            left = full - size - len(head) - 3
            line = (head + "x" * (120000 if left > 130000 else left) + '"}\n').encode()
            out.write(line)
            size += len(line)
            last = hashlib.sha256(line).hexdigest()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
