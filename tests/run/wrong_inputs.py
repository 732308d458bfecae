#!/usr/bin/env -S python3 -SE
"""wrong_inputs.py HUTCH FILE [--record]: types the inputs of FILE and compares the answers.

FILE has, for each input, a line "$ INPUT", as a shell reads it, then the lines that hutch prints
on stderr and stdout, then "[N]" if the exit code is not 125.  The folder in which the inputs are
typed is written DIR.  Lines that begin with '#' say what follows.

With --record, FILE is written anew with the answers that came; a developer has to read them as
their user does.
"""
import difflib
import os
import subprocess
import sys

# No answer of hutch takes as long; an input that waits for something never ends.
HUNG_S = 300


def read(path):
    """Returns the parts of the file: comments, each a str, and pairs of an input and its lines."""
    parts = []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("$ "):
                parts.append((line[2:], []))
            elif line.startswith("#") or not line:
                parts.append(line)
            else:
                parts[-1][1].append(line)
    return parts


def answer(hutch, text):
    """Types the input and returns the lines of the answer."""
    shell = f'hutch() {{ "$HUTCH" "$@"; }}\n{text}'
    done = subprocess.run(["bash", "-c", shell], stdin=subprocess.DEVNULL, text=True, timeout=HUNG_S,
                          capture_output=True, env={**os.environ, "HUTCH": hutch}, check=False)
    said = (done.stderr + done.stdout).replace(os.getcwd(), "DIR").splitlines()
    return said + ([] if done.returncode == 125 else [f"[{done.returncode}]"])


def main(hutch, path, *flags):
    parts = read(path)
    inputs = [part for part in parts if isinstance(part, tuple)]
    answers = [answer(hutch, text) for text, _ in inputs]
    if flags:
        came = iter(answers)
        lines = [line for part in parts
                 for line in ([f"$ {part[0]}", *next(came)] if isinstance(part, tuple) else [part])]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return 0
    wrong = 0
    for (text, expected), came in zip(inputs, answers):
        if came == expected:
            continue
        wrong += 1
        print(f"$ {text}", *difflib.ndiff(expected, came), sep="\n")
    print(f"{wrong} of {len(inputs)} inputs have another answer")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
