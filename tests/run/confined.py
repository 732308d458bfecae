#!/usr/bin/env -S python3 -SE
"""confined.py HUTCH CODE [OPTION...]: makes a sandbox named `box` with these options and runs
Python code that talks to its control socket (docs/control.md).  $UNDER are words before the
command.

	call(METHOD, **PARAMS)	the result
	start(WORD...)		a process; wait(PROCESS) is its exit code
	ended()			the record of how it ended, when it has
	info, supervisor	of the sandbox; the supervisor's pid
"""
import glob
import json
import os
import shlex
import socket
import subprocess
import sys

state = os.environ["XDG_RUNTIME_DIR"] + "/hutch"
lines = None
number = 0


def connect(name):
    global lines
    client = socket.socket(socket.AF_UNIX)
    client.connect(f"{state}/{name}/control.sock")
    lines = client.makefile("rwb")
    call("hello", protocol=1)
    # SO_PEERCRED (17) gives the pid of the process that listens, the supervisor
    return int.from_bytes(client.getsockopt(socket.SOL_SOCKET, 17, 12)[:4], "little")


def answer():
    line = lines.readline()
    return json.loads(line) if line else None


def send(method, **params):
    global number
    number += 1
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    lines.write(json.dumps(request).encode() + b"\n")
    lines.flush()


def call(method, **params):
    send(method, **params)
    while (got := answer()) and got.get("id") != number:
        pass
    assert got and "result" in got, got
    return got["result"]


def start(*argv, **params):
    return call("exec.start", argv=argv, **params)["process"]


def wait(process):
    return call("exec.wait", process=process)["exit_code"]


def ended():
    while answer():
        pass
    (path,) = glob.glob(f"{state}/.ended/*{info['id']}*/end")
    with open(path) as file:
        return json.load(file)


def status(key):
    with open(f"/proc/{supervisor}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file)[key]


hutch, code, options = sys.argv[1], sys.argv[2], sys.argv[3:]
under = shlex.split(os.environ.get("UNDER", ""))
maker = subprocess.Popen([*under, hutch, "create", *options, "box"], stdout=subprocess.PIPE)
assert maker.stdout.readline() == b"box\n"
supervisor = connect("box")
try:
    info = call("info")
    exec(code)
finally:
    try:
        send("kill")
        ended()
    except (OSError, ValueError):
        pass
    maker.wait()
