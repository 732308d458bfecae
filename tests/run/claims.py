#!/usr/bin/env -S python3 -SE
"""claims.py HUTCH MAKEFILE PAGE...: checks the commands that pages name in passing.

Looked at are the texts in backquotes, and the lines of blocks of code that are no example
(typed.py): each verb and each long flag of hutch must be in its help, and each target of make
in the Makefile.
"""
import functools
import re
import subprocess
import sys

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
GROUPS = ("audit", "image", "plugin", "policy", "pool", "port")


class Hutch:
    def __init__(self, path):
        self.path = path

    @functools.lru_cache(None)
    def help(self, *words):
        done = subprocess.run([self.path, *words, "--help"], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    @functools.lru_cache(None)
    def verbs(self, group=None):
        text = subprocess.run([self.path, *filter(None, [group]), "help"],
                              capture_output=True, text=True).stdout
        return set(re.findall(r"^  ([a-z-]+)\b", text, re.M))

    @functools.lru_cache(None)
    def flags(self, *words):
        return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", self.help(*words)))

    def untrue(self, words):
        """Yields the words of a command that are no verb and no flag."""
        verbs, rest = alternatives(words, 0), words[1:]
        if not verbs:
            return
        for verb in verbs:
            if verb not in self.verbs() | {"help"}:
                yield verb
                continue
            name = [verb]
            if verb in GROUPS and (subs := alternatives(rest, 0)):
                bad = [sub for sub in subs if not self.help(verb, sub) and sub != "help"]
                yield from bad
                if bad or len(subs) > 1:
                    continue
                name.append(subs[0])
            for flag in flags_of(rest):
                if flag not in self.flags(*name):
                    yield flag


def alternatives(words, at):
    """Returns the verbs at that place: `run|act` is two; a placeholder such as VERB is none."""
    if len(words) <= at or not re.fullmatch(r"[a-z-]+(\|[a-z-]+)*", words[at]) or words[at][0] == "-":
        return []
    return words[at].split("|")


def flags_of(words):
    own = words[:words.index("--")] if "--" in words else words
    return re.findall(r"(?:^|[ \[])(--[a-z][a-z-]*)", " ".join(own))


def commands_of(text):
    """Yields each command that a page names, as words."""
    for block in FENCE.findall(text):
        if not re.search(r"^\$ ", block, re.M):
            # Two blanks are in front of an explanation.
            yield from (re.split("  +", line)[0].split() for line in block.splitlines())
    for _, span in SPAN.findall(FENCE.sub("", text)):
        yield span.split()


def targets_of(path):
    with open(path) as f:
        heads = re.findall(r"^([\w -]+):(?!=)", f.read(), re.M)
    return {name for head in heads for name in head.split()}


def claims(hutch, targets, text):
    for words in commands_of(text):
        if words[:1] == ["sudo"]:
            words = words[1:]
        if words[:1] == ["hutch"]:
            yield words, list(hutch.untrue(words[1:]))
        elif words[:1] == ["make"]:
            asked = [word for word in words[1:] if re.fullmatch("[a-z][a-z-]*", word)]
            yield words, [word for word in asked if word not in targets]


def main():
    hutch, targets = Hutch(sys.argv[1]), targets_of(sys.argv[2])
    count = failures = 0
    for path in sys.argv[3:]:
        with open(path) as f:
            text = f.read()
        for words, bad in claims(hutch, targets, text):
            count += 1
            if bad:
                failures += 1
                print(f"{path}: {' '.join(words)}: there is no {' '.join(bad)}", file=sys.stderr)
    print(f"{count} commands, {failures} untrue")
    sys.exit(failures > 0)


main()
