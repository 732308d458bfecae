#!/usr/bin/env -S python3 -SE
"""act_cases.py CASE FOLDER: checks the observations in the file `out`, which
report the refusals of the walls, for act.bats, whose $T is FOLDER."""
import json
import sys


def observations():
    with open("out") as out:
        return {o["cause"]: o for o in map(json.loads, out)}


def file_actions(folder):
    by = observations()

    def refused(number, path, rule, remedy, sentence):
        o = by[number]
        told = o["hutch"]["refused"]
        assert [(r["path"], r["layer"], r["rule"]) for r in told] == [(path, "mounts", rule)], o
        assert remedy is None or remedy in told[0]["remedy"], o
        if sentence:
            assert o["content"].endswith(f"[Refused by hutch: {sentence}]"), o
        else:
            assert "[" not in o["content"], o

    read_only = f"-v {folder}/r:/r:ro"
    refused(1, "/usr/bin/x", "--image host", "image of the store",
            "/usr/bin/x is read-only (--image host)")
    refused(2, "/bin/x", "--image host", None, "/usr/bin/x is read-only (--image host)")
    refused(3, "/proc/kallsyms", None, None,
            "/proc/kallsyms is hidden, since it tells of the host")
    refused(4, "/r/file", read_only, f"-v {folder}/r:/r:rw",
            f"/r/file is read-only ({read_only})")
    refused(5, "/p/file", "--protect /file", f"show {folder}/p with :cow",
            "/p/file is protected (--protect /file)")
    refused(6, "/etc/passwd", "--image host", "-v FILE:/etc/passwd:rw",
            "/etc/passwd is read-only (--image host)")
    refused(11, "/etc/shadow", "--image host", "-v /etc/shadow:/etc/shadow:ro", None)
    refused(13, "/r/sub", read_only, None, f"/r/sub is read-only ({read_only})")
    # The refusal must suggest no command: a user could paste one in which the inside has chosen
    # the words.
    assert by[16]["hutch"]["refused"][0]["remedy"] is None, by[16]
    for number in 12, 14, 15:
        assert by[number]["hutch"]["refused"] == [], by[number]


def commands(folder):
    by = observations()
    flag = f"-v {folder}/r:/r:ro"

    def suffix(number):
        return by[number]["extras"]["metadata"]["suffix"]

    def refused(number, *paths):
        told = by[number]["hutch"]["refused"]
        assert [(r["what"], r["path"], r["layer"], r["rule"]) for r in told] == \
            [("run", p, "mounts", flag if p.startswith("/r") else "--image host")
             for p in paths], by[number]
        for path in paths:
            assert f"\n[Refused by hutch: {path} is " in suffix(number), by[number]

    refused(1, "/usr/bin/x", "/r/new")
    refused(2, "/r/file")
    refused(3, "/r/new")
    assert suffix(4).endswith(
        "[Refused by hutch: /proc/kallsyms is hidden, since it tells of the host]"), by[4]
    assert by[1]["hutch"]["refused"][1]["remedy"] == f"-v {folder}/r:/r:rw", by[1]
    refused(8, "/r/y")
    refused(9, "/r/9", "/r/8", "/r/7", "/r/6")
    for number in 5, 6, 7:
        assert by[number]["hutch"]["refused"] == [], by[number]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
