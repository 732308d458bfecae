#!/usr/bin/env python3
"""agent.py PROJECT: an agent at work on a project, with hutch's package for Python.

The steps are written down here; a model would choose them.  The project is shown copy-on-write:
it stays as it is until apply().  The exit code is 0 only if a test failed before and all pass after.
"""
import sys

import hutch

BROKEN = "return year % 4 == 0"
WHOLE = "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)"
TESTS = "python3 -B -m unittest"
RULE = {"command": "git push **", "decision": "deny", "reason": "a person pushes"}


def tell(what, took_ms, lines=()):
    print(f"  {what:<54.54} {took_ms:>7.1f} ms", flush=True)
    for line in lines:
        print(f"      {line}", flush=True)


def expect(claim, said):
    if not claim:
        sys.exit(f"the agent did not expect this:\n{said}")


def run(box, command, pick):
    """Runs a command, and prints those of its lines that begin with a word of `pick`."""
    done = box.run(command)
    tell(f"$ {command}", done.hutch.took_ms,
         [line.partition(" (test_")[0] for line in done.content.splitlines() if line.startswith(pick)])
    return done


def mend(box):
    tests = run(box, TESTS, ("FAIL:", "AssertionError", "FAILED"))
    expect(tests.exit_code == 1 and "century" in tests.content, tests.content)
    found = box.grep("def is_leap", include="*.py")
    tell("grep 'def is_leap'", found.hutch.took_ms, found.lines)
    mended = box.edit("/workspace/dates.py", BROKEN, WHOLE)
    tell("edit dates.py", mended.hutch.took_ms)
    tests = run(box, TESTS, ("Ran", "OK"))
    expect(tests.exit_code == 0, tests.content)


def reach_out(box):
    """Tries a command that a rule denies, and prints the answer."""
    try:
        pushed = box.run("git push origin main")
    except PermissionError as e:
        tell("$ git push origin main", e.observation.hutch.took_ms, e.observation.content.splitlines())
    else:
        expect(False, pushed.content)


def work(project):
    with hutch.Sandbox(workspace=f"{project}:cow", rule=RULE) as box:
        mend(box)
        reach_out(box)
    with open(f"{project}/dates.py", encoding="utf-8") as file:
        expect(BROKEN in file.read(), "the project was changed before apply()")
    return box


def main():
    box = work(sys.argv[1])
    print("\n  The sandbox has ended, and the project is as it was.  What the agent would change:\n")
    for line in box.patch().splitlines():
        if not line.startswith(("diff ", "index ")):
            print(f"      {line}")
    print("\n  Applied:", *box.apply())


if __name__ == "__main__":
    main()
