#!/usr/bin/env -S python3 -SE
"""early.py HUTCH: makes sandboxes until three times a client was early enough:
it has said hello and asked for a pause before the sandbox was ready.  The pause
is refused, and the maker of the sandbox is told."""
import subprocess
import sys

from control import PATIENCE, Client, Refused

ROUNDS, WANTED, early = 1000, 3, 0


def pause(maker):
    """Returns whether the pause was refused: otherwise the sandbox was ready,
    or could not be reached before."""
    while maker.poll() is None:
        try:
            client = Client("early", hello=False)
        except OSError:
            continue
        client.send("hello")
        try:
            client.call("pause")
            client.call("unpause")
        except Refused as e:
            assert e.kind == "busy", e
            return True
        return False
    return False


for number in range(ROUNDS):
    made = subprocess.Popen([sys.argv[1], "create", "early"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL)
    early += pause(made)
    if made.wait(PATIENCE) != 0:
        sys.exit("hutch create has failed")
    subprocess.run([sys.argv[1], "kill", "early"], check=True, stdout=subprocess.DEVNULL)
    if early == WANTED:
        sys.exit()
sys.exit(f"in {ROUNDS} rounds nobody came early enough {WANTED} times, but {early}")
