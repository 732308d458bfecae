#!/usr/bin/env python3
"""day.py PROJECT: an agent's day.  The project stays as it is until its work is applied."""
import logging
import sys
import hutch

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
RULE = {"command": "git push **", "decision": "ask", "reason": "others see it"}


def on_ask(ask):
    print(f"may it {ask.about}?  No: {ask.reason}")
    return False


with hutch.Sandbox(workspace=f"{sys.argv[1]}:cow", rule=RULE, on_ask=on_ask) as box:
    print("found:", *box.grep("-", include="*.sh").lines)
    print("the test says:", box.run("sh ./test.sh").content)
    print(box.edit("/workspace/sum.sh", "$1 - $2", "$1 + $2").diff)
    print("the test says:", box.run("sh ./test.sh").check().content)
    try:
        box.run("git push origin")
    except PermissionError as refused:
        print("refused:", refused.kind)
    print("wrote", box.exec(["wc", "-c"], input=box.read_bytes("sum.sh")).text.strip(), "bytes")
    box.write("notes.txt", "a draft that nobody needs")
    print("changed:", *(f"{change.kind} {change.path}" for change in box.diff()))
    print("applied:", *box.apply("sum.sh"))
box.discard()
print("ended:", box.end().reason)
