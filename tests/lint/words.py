#!/usr/bin/env -S python3 -SE
"""words.py: sentences of comments and pages that have no plain subject.  Prints TAP.

A sentence is refused that begins with a word of STARTS, or calls a process by a word of PERSONS:
a reader who does not see the code cannot tell which thing it speaks of.  CEILING is how many
there may be, and may only fall.

    words.py [--list]
"""
import re
import sys

import report

CEILING = 0

STARTS = ("What", "Who", "Whoever", "Whose", "Whom", "Of", "So many", "So much", "One that",
          "One who", "One which")
PERSONS = ("somebody", "nobody", "everybody", "whoever", "whom")

BEGINS = re.compile(rf"(?:{'|'.join(STARTS)})\b")
PERSON = re.compile(rf"\b(?:{'|'.join(PERSONS)})\b", re.I)
# A sentence ends with a mark and a blank; the next one begins with a capital or a quotation.
SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`\"'(])")
# A comment, or a string or character in which a comment's marks mean nothing.
C_COMMENT = re.compile(r'''"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|/\*(.*?)\*/''', re.S)
CODE = re.compile(r"`[^`]*`?")
HASH = re.compile(r"[ \t]*#(?!!) ?(.*)")


def c_comments(text):
    for match in C_COMMENT.finditer(text):
        if match[1] is None:
            continue
        lines = [re.sub(r"^\s*\* ?", "", line) for line in match[1].split("\n")]
        yield text.count("\n", 0, match.start()) + 1, "\n".join(lines)


def hash_comments(text):
    """Lines of comment that stand together are one text."""
    block, first = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        match = HASH.fullmatch(line)
        if match:
            first = first or number
            block.append(match[1])
        elif block:
            yield first, "\n".join(block)
            block, first = [], 0


def pages(text):
    """Paragraphs, list items and cells of tables; no code."""
    is_code = False
    block, first = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.startswith("```"):
            is_code = not is_code
            line = ""
        is_item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if block and (is_code or is_item or not line.strip() or line[0] in "|#"):
            yield first, "\n".join(block)
            block = []
        if is_code or not line.strip() or line.startswith(("#", "    ")):
            continue
        if line.startswith("|"):
            yield from ((number, cell.strip()) for cell in line.strip("|").split("|"))
            continue
        first = first if block else number
        block.append(line[is_item.end():] if is_item else line)


KINDS = {(".c", ".h"): c_comments, (".md",): pages,
         (".py", ".sh", ".bash", ".bats", "Makefile"): hash_comments}


def refused(name, text):
    """(line, sentence) of each."""
    read = next(kind for endings, kind in KINDS.items() if name.endswith(endings))
    for line, body in read(text):
        for paragraph in re.split(r"\n\s*\n", body):
            words = re.sub(r"^\w+ -- ", "", " ".join(paragraph.split()))
            for sentence in (part.strip(" -*\"'`(") for part in SENTENCE.split(words)):
                prose = CODE.sub("", sentence)  # where `nobody` is the name of a user
                if not sentence.endswith("?") and (BEGINS.match(sentence) or PERSON.search(prose)):
                    yield line, sentence


def main():
    found = [f"{name}:{line}: {sentence[:160]}"
             for name in report.files([], tuple(end for ends in KINDS for end in ends))
             for line, sentence in refused(name, report.text_of(name))]
    if sys.argv[1:] == ["--list"]:
        print("\n".join(found))
        return 0
    over = [f"{len(found)} sentences, {CEILING} are allowed: words.py --list shows them"]
    under = [f"{len(found)} sentences: let CEILING fall to that"]
    return report.tell([
        (f"at most {CEILING} sentences have no plain subject", over if len(found) > CEILING else []),
        ("the ceiling is no higher than it has to be", under if len(found) < CEILING else []),
    ])


if __name__ == "__main__":
    sys.exit(main())
