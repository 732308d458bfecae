#!/usr/bin/env -S python3 -SE
"""act.py HUTCH CODE [OPTION...]: runs Python code that talks to `hutch act OPTION...`.

The code has these names:

	send(dict or text)	one line, as it is; ids are not added
	receive()		the next line of output, as a dict
	ask(dict or text)	both
	run(COMMAND, timeout=, **args), read(PATH, **args), write(PATH, CONTENT, **args)
				an action with an id of its own; gives its observation
	end()			closes stdin; gives the exit code and all that came out still
	act			the process, with act.stderr as a file

An observation's keys are attributes, `meta` is extras.metadata.  A failed
assert is printed with the last observation.
"""
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import traceback

from shadows import has_shadows

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE  # noqa: E402


class Observation(dict):
    def __getattr__(self, name):
        return self["extras"]["metadata"] if name == "meta" else self.get(name)


class Act:
    def __init__(self, hutch, options):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([hutch, "act", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.rest, self.id, self.last = b"", 0, None

    def send(self, line):
        if isinstance(line, dict):
            line = json.dumps(line)
        data = line if isinstance(line, bytes) else line.encode() + b"\n"
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self):
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise TimeoutError("no observation came")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise EOFError("hutch act has ended: " + self.said())
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        self.last = Observation(json.loads(line.decode()))
        return self.last

    def ask(self, line):
        self.send(line)
        return self.receive()

    def action(self, kind, timeout=None, session=None, **args):
        self.id += 1
        line = {"action": kind, "args": args, "id": self.id}
        if timeout is not None:
            line["timeout"] = timeout
        if session is not None:
            line["session"] = session
        answer = self.ask(line)
        assert answer.cause == self.id, "the answer is about another action"
        return answer

    def run(self, command, **more):
        return self.action("run", command=command, **more)

    def read(self, path, **more):
        return self.action("read", path=path, **more)

    def write(self, path, content, **more):
        return self.action("write", path=path, content=content, **more)

    def end(self):
        self.process.stdin.close()
        out = self.rest + self.process.stdout.read()
        self.rest = b""
        return self.process.wait(PATIENCE), [Observation(json.loads(x)) for x in out.splitlines()]

    def said(self):
        self.errors.seek(0)
        return self.errors.read()


def main():
    a = Act(sys.argv[1], sys.argv[3:])
    names = {"act": a.process, "a": a, "json": json, "os": os, "has_shadows": has_shadows}
    for name in ("send", "receive", "ask", "run", "read", "write", "end", "said"):
        names[name] = getattr(a, name)
    try:
        exec(compile(sys.argv[2], "test", "exec"), names)
    except BaseException:
        lines = sys.argv[2].splitlines()
        frame = [f for f in traceback.extract_tb(sys.exc_info()[2]) if f.filename == "test"]
        at = lines[frame[-1].lineno - 1].strip() if frame else ""
        print(f"{at}\n{traceback.format_exc(limit=0)}last: {json.dumps(a.last)[:1500]}\nstderr: "
              f"{a.said()}")
        sys.exit(1)
    finally:
        a.process.kill()
        a.process.wait()


if __name__ == "__main__":
    main()
