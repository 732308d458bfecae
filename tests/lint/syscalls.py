#!/usr/bin/env -S python3 -SE
"""syscalls.py: a system call that base/kernel.h has a function of is made by that function alone.
Prints TAP.

syscall(2) takes any arguments: the function's types are the check that they are the kernel's.
tests/escape/ and tests/run/ make system calls as an attacker and another program do, by number;
so may a unit test of a filter or a tracer, whose subject is the number.
"""
import re
import sys

sys.dont_write_bytecode = True

from report import files, tell, text_of  # noqa: E402

OWN = "base/kernel.h"
RAW = "tests/"
CALL = re.compile(r"\bsyscall\(\s*((?:SYS|KERNEL_SYS)_\w+)")


def calls(text):
    """Yields each system call by number: its line, and its number's name."""
    for match in CALL.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def own_faults():
    seen = list(calls("x = (int)syscall(SYS_a, 1);\ny = syscall(\n\tKERNEL_SYS_B);\nsyscall(n);\n"))
    if seen != [(1, "SYS_a"), (2, "KERNEL_SYS_B")]:
        yield f"calls by number are found: {seen}"


def findings():
    have = {name for _, name in calls(text_of(OWN))}
    for path in files(["."], (".c", ".h")):
        if path == OWN or path.startswith(RAW):
            continue
        for line, name in calls(text_of(path)):
            if name in have:
                own = name.removeprefix("KERNEL_").lower()
                yield f"{path}:{line}: use {own}() of {OWN}"


if __name__ == "__main__":
    sys.exit(tell([("calls by number are found", own_faults()),
                   ("a call that has a function is made by it", findings())]))
