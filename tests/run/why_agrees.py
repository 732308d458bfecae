"""Asks hutch why, and then does it.

    why_agrees.py FLAG... < QUESTIONS

Prints "N agree", or each question whose answer differs from the result.
"""
import json
import os
import shlex
import subprocess
import sys

HUTCH, ASK = os.environ["HUTCH"], os.environ["ASK"]
FLAGS = ["-v", ASK + ":/ask:ro"] + sys.argv[1:]

# Numbers of system calls that older headers lack; they are the same on all architectures.
numbers = {"__NR_cachestat": "451"}


def number(name):
    """Returns the number of a system call in the headers of this machine."""
    if len(numbers) == 1:
        text = subprocess.run(["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-"],
                              input="", capture_output=True, text=True, check=True).stdout
        numbers.update(line.split()[1:3] for line in text.splitlines()
                       if line.startswith("#define __NR_") and len(line.split()) == 3)
    return numbers["__NR_" + name]


def said(question):
    """Returns (yes or no, the object)."""
    why = subprocess.run([HUTCH, "why", "--json", *FLAGS, "--", *shlex.split(question)],
                         capture_output=True, text=True)
    if why.returncode not in (0, 1):
        return "?", {"text": why.stderr}
    answer = json.loads(why.stdout)
    assert answer["answer"] == ("yes", "no")[why.returncode], answer
    return answer["answer"], answer


def to_ask(question):
    words = question.split(" ")
    if words[0] == "syscall":
        words.insert(1, number(words[1]))
    return " ".join(words)


def agrees(question, answer, happened):
    """If a filter answers, the reason must name it; the kernel's own answers
    are not checked."""
    yes, what = answer
    if not question.startswith("syscall"):
        return happened.split()[0] == yes
    if yes == "no":
        return what["text"].split(" answers ")[1].split()[0] == happened.split()[-1]
    return happened not in ("no EPERM", "no ENOSYS", "no EAFNOSUPPORT")


questions = [line.strip() for line in sys.stdin if line.strip()]
run = subprocess.run([HUTCH, "run", "-i", *FLAGS, "--", "/ask"],
                     input="".join(to_ask(q) + "\n" for q in questions),
                     capture_output=True, text=True)
happened = run.stdout.splitlines()
if len(happened) != len(questions):
    sys.exit(f"{len(happened)} of {len(questions)} were done: {run.stderr}")
wrong = 0
for question, what in zip(questions, happened):
    answer = said(question)
    if not agrees(question, answer, what):
        wrong += 1
        print(f"{question}: {answer[0]}, {answer[1]['text']}, and then {what}")
if not wrong:
    print(len(questions), "agree")
