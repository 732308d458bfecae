#!/usr/bin/env -S python3 -SE
"""syscalls.py: a system call that base/kernel.h has a function of is made by that function alone.
Prints TAP.

syscall(2) takes any arguments: the function's types are the check that they are the kernel's.
tests/escape/ and tests/run/ make system calls as an attacker and another program do, by number;
so may a unit test of a filter or a tracer, whose subject is the number.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True

TOP = pathlib.Path(__file__).resolve().parents[2]
OWN = TOP / "base/kernel.h"
RAW = ("build", "tests")
CALL = re.compile(r"\bsyscall\(\s*((?:SYS|KERNEL_SYS)_\w+)")


def calls(text):
    """Yields each system call by number: its line, and its number's name."""
    for match in CALL.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def findings():
    have = {name for _, name in calls(OWN.read_text(encoding="utf-8"))}
    for path in sorted(TOP.rglob("*.[ch]")):
        place = path.relative_to(TOP)
        if path == OWN or place.parts[0] in RAW or not path.is_file():
            continue
        for line, name in calls(path.read_text(encoding="utf-8", errors="replace")):
            if name in have:
                own = name.removeprefix("KERNEL_").lower()
                yield f"{place}:{line}: use {own}() of base/kernel.h"


def main():
    print("1..2")
    seen = list(calls("x = (int)syscall(SYS_a, 1);\ny = syscall(\n\tKERNEL_SYS_B);\nsyscall(n);\n"))
    is_well = seen == [(1, "SYS_a"), (2, "KERNEL_SYS_B")]
    print("ok 1 - calls by number are found" if is_well else f"not ok 1 - found: {seen}")
    refused = list(findings())
    print("not " * bool(refused) + "ok 2 - a call that has a function is made by it")
    for line in refused:
        print(f"# {line}")
    return 0 if is_well and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
