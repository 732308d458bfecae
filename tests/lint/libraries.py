#!/usr/bin/env -S python3 -SE
"""libraries.py: each library is included by one source, by no header, and explained.  Prints
TAP.

The Makefile lists a header of each library in HEADERS.  The page docs/dependencies.md says what
each is for and in which source it is.  Two programs that share no room but the lowest may each
have a source for a library: one in the folder `gateway`, one elsewhere.
"""
import re
import sys

import report

PAGE = "docs/dependencies.md"
INCLUDE = re.compile(r"^#include <([^>]+)>", re.M)
HEADERS = re.compile(r"^HEADERS :=(.*)$", re.M)
# Folders of sources that are no part of hutch.
OUTSIDE = ("tests/", "demo/")


def users(makefile, sources):
    """The files that include each header of a library, for texts by file."""
    found = {header: [] for line in HEADERS.findall(makefile.replace("\\\n", " "))
             for header in line.split()}
    for file, text in sources.items():
        for header in set(INCLUDE.findall(text)) & found.keys():
            found[header].append(file)
    return found


def shared(found):
    for header, files in found.items():
        parts = [file.startswith("gateway/") for file in files]
        if not parts or len(set(parts)) != len(parts):
            yield f"<{header}> is included by {', '.join(files) or 'no file'}: one has to"
        for file in files:
            if file.endswith(".h"):
                yield f"{file} includes <{header}>: no header may"


def unexplained(found, page):
    for header, files in found.items():
        for file in files:
            if f"`{file}`" not in page:
                yield f"{PAGE} does not name `{file}`, which includes <{header}>"


def checks(makefile, sources, page):
    found = users(makefile, sources)
    return [
        ("each library is in one source, and in no header", shared(found)),
        (f"{PAGE} names the source of each library", unexplained(found, page)),
    ]


def main():
    sources = {file: report.text_of(file) for file in report.files([], (".c", ".h"))
               if not file.startswith(OUTSIDE)}
    return report.tell(checks(report.text_of("Makefile"), sources, report.text_of(PAGE)))


if __name__ == "__main__":
    sys.exit(main())
