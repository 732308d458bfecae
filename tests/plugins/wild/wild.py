"""A plugin that does what its action says, for tests of what the executor makes of it."""
import base64
import json
import os
import signal
import subprocess
import sys
import time

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"picture").decode()
told = []


def say(line):
    os.write(1, line.encode() + b"\n")


def answer(call, content="", **more):
    say(json.dumps({"call": call, "answer": {"content": content, **more}}))


def do_echo(call, args, line):
    answer(call, json.dumps(line["args"]))


def do_lines(call, args, line):
    for text in args["lines"]:
        say(text.replace("CALL", str(call)))


def do_parts(call, args, line):
    say(json.dumps({"call": call, "note": "a note", "data": {"svg": "<svg>\u0007", "html": "<b>"}, "answer": {
        "content": "all", "picture": PNG, "pictures": [PNG, PNG], "words": [], "n": 2 ** 53, "yes": False}}))


def do_told(call, args, line):
    answer(call, json.dumps([line["cwd"], line["timeout"], os.getcwd(), told, os.environ.get("WHERE"),
                             os.environ["HUTCH_PLUGIN"], os.environ["HUTCH_PLUGIN_DIR"], os.environ.get("HELLO")]))


def do_die(call, args, line):
    print("last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), args.get("n") or signal.SIGKILL)


def do_exit(call, args, line):
    os.write(2, bytes(args.get("lines", [])))
    os._exit(args["n"])


def do_hang(call, args, line):
    while True:
        time.sleep(1000)


def do_slow(call, args, line):
    """Answers when it is cancelled."""
    cancel = json.loads(sys.stdin.readline())
    answer(call, f"{cancel['reason']} {cancel['cancel'] == call}")


def do_flood(call, args, line):
    block = b"x" * (1 << 20)
    while True:
        os.write(1, block)


def do_deaf(call, args, line):
    answer(call, "deaf from now on")
    time.sleep(1000)


def do_fork(call, args, line):
    """Leaves a process in a session of its own, with the plugin's descriptors."""
    child = subprocess.Popen(["sh", "-c", "echo $$ >&2; exec 2>&1; sleep 1000"], start_new_session=True,
                             stderr=subprocess.PIPE)
    answer(call, child.stderr.readline().decode().strip())


def do_leave(call, args, line):
    """Ends, and leaves a process behind in its session and group."""
    for text in args.get("lines", []):
        say(text)
    child = subprocess.Popen(["sleep", "1000"])
    with open("/tmp/left", "w") as left:
        print(child.pid, file=left)
    os._exit(0)


def do_stream(call, args, line):
    for n in range(3):
        say(json.dumps({"call": call, "output": f"{n} "}))
    answer(call, "done")


def do_edit(call, args, line):
    for n, edit in enumerate(args["lines"]):
        say(json.dumps({"ask": n, "edit": edit}))
        told.append(json.loads(sys.stdin.readline()))
    answer(call, json.dumps(told))


def do_big(call, args, line):
    big = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * args["n"]).decode()
    answer(call, "big", picture=big)


if os.path.exists("/tmp/dies"):
    sys.exit(3)
say('{"ready": true}')
for text in sys.stdin:
    line = json.loads(text)
    if "call" in line:
        globals()["do_" + line["args"]["do"]](line["call"], line["args"], line)
    else:
        told.append(line)
