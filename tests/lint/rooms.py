#!/usr/bin/env -S python3 -SE
"""rooms.py: a source includes only headers of its own room and of those that the Makefile lets
its room use.  Prints TAP.

A room is a folder of sources.  The Makefile lists the rooms in ROOMS, from the lowest up, the
sources of each in FILES_room, and the rooms whose headers it may include in USES_room.
"""
import os
import re
import sys

import report

INCLUDE = re.compile(r'^#include "(?:([^"]*)/)?[^"/]+"', re.M)
VARIABLE = re.compile(r"^(ROOMS|(?:FILES|USES)_[\w/-]+) :=(.*)$", re.M)
# Headers that the build makes, and those that the library's users see.
NO_ROOM = ("gen", "include")
# Folders of sources that are no part of hutch.
OUTSIDE = ("tests/", "demo/", "include/", "lib/examples/")
README_LINES = 15


def tables(makefile):
    """ROOMS as a list, and FILES and USES as sets by the names of rooms."""
    found = {name: words.split()
             for name, words in VARIABLE.findall(makefile.replace("\\\n", " "))}
    rooms = found.get("ROOMS", [])
    return (rooms, *({room: set(found.get(f"{kind}_{room}", ())) for room in rooms}
                     for kind in ("FILES", "USES")))


def includes(sources):
    """(file, its room, the room that it includes from) of each include, for texts by file."""
    for file, text in sources.items():
        for match in INCLUDE.finditer(text):
            if match[1] and match[1] not in NO_ROOM:
                yield file, os.path.dirname(file), match[1]


def upward(rooms, uses):
    for at, room in enumerate(rooms):
        for used in sorted(uses[room] - set(rooms[:at])):
            yield f"USES_{room}: {used} does not stand before it in ROOMS"


def refused(rooms, uses, sources):
    for file, room, used in includes(sources):
        if room in rooms and used != room and used not in uses[room]:
            yield f"{file} includes a header of {used}: USES_{room} does not name that room"


def needless(rooms, uses, sources):
    needed = {(room, used) for _, room, used in includes(sources)}
    for room in rooms:
        for used in sorted(uses[room]):
            if (room, used) not in needed:
                yield f"USES_{room}: no source of {room} includes a header of {used}"


def homeless(rooms, files, sources):
    for file in sources:
        if os.path.dirname(file) not in rooms:
            yield f"{file} is in no room: add its folder to ROOMS"
    for room in rooms:
        for name in sorted(files[room]):
            if f"{room}/{name}.c" not in sources:
                yield f"FILES_{room}: there is no {room}/{name}.c"


def checks(makefile, sources):
    rooms, files, uses = tables(makefile)
    return [
        ("each room uses only rooms that stand before it", upward(rooms, uses)),
        ("each include goes to a room that its room uses", refused(rooms, uses, sources)),
        ("each room that is named is used", needless(rooms, uses, sources)),
        ("each source is in a room, and each listed source is there",
         homeless(rooms, files, sources)),
    ]


def unexplained(rooms):
    for room in rooms:
        path = report.TOP / room / "README.md"
        lines = len(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else 0
        if not 0 < lines <= README_LINES:
            yield f"{room}/README.md has {lines} lines: say in 1 to {README_LINES} what the room is"


def missing(rooms):
    """Yields the files that a room's README names and that are neither in the
    room nor at that path: with *, there is one at least."""
    for room in rooms:
        top = report.TOP / room
        for name in re.findall(r"`([\w/*-]+\.[a-z]+)`", (top / "README.md").read_text(encoding="utf-8")):
            if not list(top.glob(name)) and not list(report.TOP.glob(name)):
                yield f"{room}/README.md: there is no {name}"


def main():
    makefile = report.text_of("Makefile")
    sources = {file: report.text_of(file) for file in report.files([], (".c", ".h"))
               if not file.startswith(OUTSIDE)}
    named = tables(makefile)[0]
    return report.tell([*checks(makefile, sources),
                        ("each room has a README", unexplained(named)),
                        ("each file that a README names is there", missing(named))])


if __name__ == "__main__":
    sys.exit(main())
