"""The one constant that bounds deadlocks in tests, in seconds (see patience.h),
and the one polling loop of Python tests, for states that no descriptor reports."""

import pathlib
import re
import time

PATIENCE = int(re.search(r"^#define PATIENCE_S (\d+)$",
                         pathlib.Path(__file__).with_suffix(".h").read_text(),
                         re.MULTILINE)[1])


def wait_until(claim, *args):
    """Calls `claim(*args)` until the result is true, and returns that result."""
    deadline = time.monotonic() + PATIENCE
    while not (result := claim(*args)):
        if time.monotonic() > deadline:
            told = ", ".join([getattr(claim, "__qualname__", repr(claim)), *map(repr, args)])
            raise AssertionError(f"waited {PATIENCE} s in vain for {told}")
        time.sleep(0.001)
    return result
