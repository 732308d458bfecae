#!/usr/bin/env python3
"""agent.py HUTCH TREE: an agent's script, done by `hutch act`, with what each step cost.

It clones the tree into a sandbox's workspace, builds it, runs a module's unit tests,
finds the one that was broken on purpose, mends it with a write, and runs them again.
Ends with 0 only if it was broken before and whole after.
"""
import json
import re
import subprocess
import sys

MODULE, BROKEN = "list", 's/strcspn(key_value, "=")/strcspn(key_value, ":")/'


class Agent:
    def __init__(self, hutch, tree):
        argv = [hutch, "act", "-v", f"{tree}:/tree:ro"]
        self.act = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what, kind, **args):
        """One action, told with its cost.  A command may take as long as it needs."""
        action = {"action": kind, "args": args}
        if kind == "run":
            action["args"]["blocking"] = True
            action["timeout"] = 900
        self.act.stdin.write(json.dumps(action) + "\n")
        self.act.stdin.flush()
        line = self.act.stdout.readline()
        if not line:
            sys.exit("hutch act has ended")
        answer = json.loads(line)
        print(f"  {what:<44.44} {answer['hutch']['took_ms']:>10,.2f} ms", flush=True)
        if answer["observation"] == "error":
            sys.exit(f"{what}: {answer['content']}")
        return answer

    def run(self, what, command, expect=0):
        answer = self.ask(what, "run", command=command)
        code = answer["extras"]["metadata"]["exit_code"]
        if expect is not None and (code == 0) != (expect == 0):
            sys.exit(f"{what}: exit code {code}\n{answer['content'][-2000:]}")
        return answer["content"]


def play(agent):
    source, program = f"base/{MODULE}.c", f"build/tests/unit/{MODULE}"
    test = f"make -s {program} >/dev/null && ./{program} 2>&1"
    agent.run("clone the tree", "git config --global safe.directory '*'; if [ -e /tree/.git ]; then "
              "git clone -q /tree hutch; else mkdir hutch && tar -C /tree --exclude=./build -cf - . | "
              "tar -C hutch -xf -; fi")
    agent.run("cd hutch", "cd hutch")
    agent.run("make", "make -s -j$(nproc) all")
    agent.run(f"somebody breaks {source}", f"sed -i '{BROKEN}' {source} && ! git diff --quiet 2>/dev/null "
              f"|| grep -q 'key_value, \":\"' {source}")
    said = agent.run(f"the unit tests of {MODULE}: one fails", test, expect=1)
    failed = re.findall(r"FAILED.*?(test_\w+)", said)
    at = re.search(rf"tests/unit/test_{MODULE}\.c:\d+", said)
    if not failed:
        sys.exit("no test says what is broken:\n" + said)
    print(f"    {failed[0]}, {at.group() if at else 'without a line'}")
    text = agent.ask(f"read {source}", "read", path=source)["content"]
    agent.ask(f"write {source}, mended", "write", path=source,
              content=text.replace('key_value, ":"', 'key_value, "="').removesuffix("\n"))
    agent.run("the same tests again: all pass", test)
    agent.run("echo hi", "echo hi")


def main():
    agent = Agent(sys.argv[1], sys.argv[2])
    play(agent)
    agent.act.stdin.close()
    sys.exit(agent.act.wait())


main()
