"""why.py CASE ARG...: makes sockets for why.bats, and checks answers."""
import json
import socket
import sys
import time


def bind(*paths):
    for path in paths:
        socket.socket(socket.AF_UNIX).bind(path)


def listen(name):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0" + name)
    listener.listen()
    print("there", flush=True)
    time.sleep(1000)


def check_answer(text):
    assert json.loads(text) == {
        "version": 1, "answer": "no", "layer": "network",
        "text": "192.0.2.1:80 cannot be reached: there is no network but loopback",
        "line": "./mine.json: network (--network none)", "change": "--allow 192.0.2.1"}


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
