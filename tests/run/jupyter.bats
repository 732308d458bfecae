#!/usr/bin/env bats
# Tests of the plugin jupyter, with Python's own interpreter: the rootfs here has no ipykernel.
# A cell's texts are OpenHands' and IPython's own (tests/run/golden/jupyter.json).

load helpers

teardown() {
	remove_boxes
	end
}

# acts CODE [OPTION...]: runs Python code with a hutch act that has the plugin.  cell(TEXT) is an
# observation; text(TEXT) its content without the two lines behind it.
acts() {
	"$here/act.py" "$HUTCH" '
def cell(code, timeout=None, **args):
    o = a.action("run_ipython", timeout=timeout, code=code, **args)
    assert o.observation == "run_ipython" and o.extras["code"] == code, o
    return o
def text(code, timeout=None, **args):
    return cell(code, timeout, include_extra=False, **args).content
'"$1" --plugin jupyter "${@:2}"
}

@test "cells share variables, and give texts as OpenHands does" {
	acts '
o = cell("x = 41; print(\"a\")\nx + 1")
assert o.message == "Code executed in IPython cell." and o.extras["image_urls"] is None, o
first, directory, program = o.content.split("\n[")
assert first == "a\n42" and directory == "Jupyter current working directory: /workspace]", o
assert program.startswith("Jupyter Python interpreter: /") and "python" in program, o
assert "own interpreter; ipykernel is not installed" in o.hutch["note"], o
assert text("x = 1") == "[Code executed successfully with no output]"
assert text("x") == "1"
assert text("import sys; print(\"e\", file=sys.stderr); print(\"o\")") == "o\ne"
assert end() == (0, [])'
}

@test "a caller that asks for events gets each piece of what a cell did" {
	acts '
import json
def events(code):
    o = cell(code, events=True)
    assert o.content == "" and list(o.hutch["data"]) == ["events"], o
    return json.loads(o.hutch["data"]["events"])
assert events("import sys\nprint(\"o\"); print(\"e\", file=sys.stderr)\n5") == [
    {"type": "stdout", "text": "o\n"}, {"type": "stderr", "text": "e\n"},
    {"type": "result", "is_main_result": True, "text": "5"}]
(error,) = events("1/0")
assert (error["type"], error["name"], error["value"]) == ("error", "ZeroDivisionError", "division by zero"), error
assert error["traceback"].endswith("ZeroDivisionError: division by zero"), error
shown = events("from IPython.display import HTML, Image, display\ndisplay(HTML(\"<b>\"))\n"
               "Image(data=b\"\\x89PNG\\r\\n\\x1a\\n\")")
assert [(s["is_main_result"], s.get("html"), s.get("png")) for s in shown] == [(False, "<b>", None), (True, None, 0)]
assert events("print(\"\\0\")") == [{"type": "stdout", "text": "\ufffd\n"}]
many = events("print(\"x\" * (5 << 20))")
assert sum(len(m["text"]) for m in many) < 3 << 20 and "left out" in many[-1]["text"]
class_of = "class E(Exception):\n    def __str__(self): raise OSError\nraise E"
assert "it has no text: OSError" in events(class_of)[0]["value"]
assert events("x = 1") == []'
}

@test "the recorded cells of OpenHands give the same texts" {
	"$here/jupyter_golden.py" "$HUTCH" "$here/golden/jupyter.json" --plugin jupyter -w /tmp
}

@test "an error is shown as IPython shows it" {
	acts '
lines = text("def f(n):\n    if n:\n        f(n - 1)\n    raise KeyError(n)\n\nf(1)").split("\n")
assert lines[0] == 75 * "-" and lines[1] == "KeyError" + 34 * " " + "Traceback (most recent call last)", lines
assert lines[2:6] == ["Cell In[1], line 6", "      3         f(n - 1)", "      4     raise KeyError(n)", "----> 6 f(1)"], lines
assert "Cell In[1], line 3, in f(n)" in lines and "----> 3         f(n - 1)" in lines and lines[-1] == "KeyError: 0", lines
said = text("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError(2) from e")
assert "The above exception was the direct cause of the following exception:" in said
assert said.endswith("\n\nValueError: 2"), said
assert text("x = (1,\ny = 2").endswith("SyntaxError: \x27(\x27 was never closed")
assert "frontend does not support input requests." in text("input()")'
}

@test "a cell has magics, shell commands, await and rich displays" {
	acts '
assert text("%cd /tmp\n%pwd") == "/tmp\n\x27/tmp\x27"
assert text("a = !echo one; echo two\na") == "[\x27one\x27, \x27two\x27]"
assert text("if True:\n    !echo {1 + 1} $HOME") == "2 /home/agent"
assert text("%%bash\necho hi; cd /; pwd") == "hi\n/"
assert text("\x27\x27\x27\n!no command\n\x27\x27\x27") == "\x27\\n!no command\\n\x27"
assert text("async def seven(): return 7\nawait seven()") == "7"
assert text("%nonsense") == "UsageError: Line magic function `%nonsense` not found."
o = cell("class P:\n  def _repr_html_(self): return \"<b>p</b>\"\n  def _repr_png_(self): return b\"\\x89PNG\\r\\n\\x1a\\n\"\n"
         "  def __repr__(self): return \"P\"\nP()")
assert o.content.startswith("P\n[") and o.hutch["data"] == {"html": "<b>p</b>"}, o
assert o.extras["image_urls"] == ["data:image/png;base64,iVBORw0KGgo="], o'
}

@test "a time-out interrupts the cell, and the next one runs with its variables" {
	acts '
o = cell("x = 5; print(\"before\")\nwhile True: pass", timeout=0.5, include_extra=False)
assert o.content == "[Execution timed out (0.5 seconds).]" and o.hutch["data"]["output"].startswith("before\n"), o
assert text("x") == "5"'
}

@test "output comes while a cell runs, and a cancel ends it" {
	"$here/act.py" "$HUTCH" '
def begin(number, code):
    send({"action": "run_ipython", "args": {"code": code, "include_extra": False}, "id": number})
def observation(number):
    while True:
        o = receive()
        if "observation" in o and o.cause == number:
            return o
begin(1, "x = 5; print(1)\nwhile True: pass")
while receive().data != "1\n":
    pass
send({"action": "cancel", "args": {"id": 1}, "id": 2})
content = observation(1).content
assert content.startswith("1\n---") and content.endswith("KeyboardInterrupt:\n[The cell was cancelled.]"), content
begin(3, "x")
assert observation(3).content == "5"' --plugin jupyter --stream
}

@test "a kernel that is deaf or ends is seen at once, and another one runs the next cell" {
	acts '
gone = "A new kernel takes its place: variables and imports are gone.]"
o = text("import signal\nx = 1\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", timeout=0.2)
assert o == "[Execution timed out (0.2 seconds).]\n[The kernel did not stop when it was interrupted. " + gone, o
assert text("x").endswith("NameError: name \x27x\x27 is not defined")
for code, how in (("print(1, flush=True); import os; os._exit(3)", "with exit code 3"),
                  ("print(1, flush=True); import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "by signal SIGSEGV"),
                  ("print(1); import os, signal; os.closerange(0, 4096); signal.pause()", "because its pipe to the driver was closed")):
    o = text(code)
    assert o == f"1\n[The kernel ended {how} while the cell ran. {gone}", o
    assert text("6 * 7") == "42"
text("exit()")
assert text("6 * 7") == f"[The kernel ended as exit() asked after an earlier cell. {gone}\n42"
assert text("y + 1", kernel_init_code="y = 1") == "2"'
}

@test "a process that a cell leaves behind takes nothing of the next cells" {
	acts '
pid = int(text("import os, time\npid = os.fork()\nif not pid:\n    time.sleep(1000)\npid"))
assert text("print(2)") == "2"
assert run(f"kill {pid}").meta["exit_code"] == 0
assert text("p = os.fork()\nif p: os.waitpid(p, 0)\nelse: os.write(1, b\"child \")\np > 0") == "child True"
for n in range(20):
    assert text(f"p > 0, {n}") == f"(True, {n})"'
}

@test "what is too long for an answer is left out, and the answer says so" {
	acts '
o = text("print(\"x\" * 200_000_000)")
assert len(o) < 600_000 and "characters of the output are left out here" in o, o[-100:]
o = text("for n in range(200_000): print(n)")
assert o.startswith("0\n1\n") and o.endswith("199998\n199999"), o[-100:]
o = cell("display({\"text/plain\": \"big\", \"image/png\": \"iVBORw0KGgoA\" * 20_000_000}, raw=True)", include_extra=False)
assert o.content == "big\n[Left out of this answer, which has room for 8 MiB: 1 x image/png (240000000 bytes)]", o.content[:200]
assert o.extras["image_urls"] is None
o = cell("for n in range(300): display({\"image/png\": \"iVBORw0KGgo=\"}, raw=True)", include_extra=False)
assert len(o.extras["image_urls"]) == 100 and "200 x image/png" in o.content
o = cell("display({\"image/png\": \"iVBORw0KGgo!\", \"text/latex\": \"$a\\0$\"}, raw=True)", include_extra=False)
assert o.hutch["data"] == {"latex": "$a\ufffd$"}, o
o = a.action("run_ipython", code="#" * (2 << 20))
assert o.observation == "error" and "a cell of more than 2097152 bytes is too long" in o.content, o.content
assert text("\"\\x1b[31mred\\x1b[0m \\0 \\ud800\"; print(_, end=\"\")") != "", a.last
assert text("5") == "5"'
}

@test "what a cell writes to each of its descriptors is its own output at most" {
	acts '
o = text("import os\nfor n in range(200):\n  try: os.write(n, b\"{\\\"call\\\":1,\\\"error\\\":\\\"x\\\"}\\n\")\n  except OSError: pass")
assert "\"call\":1" in o, o
assert text("6") == "6"
assert text("import sys; sys.stdout = None") == "[Code executed successfully with no output]"
assert text("sys.stdout = open(\"/dev/null\", \"w\"); sys.stderr.close(); 7") == "7"'
}

@test "a cell that forges messages to the driver spoils its own answer at most" {
	acts '
for body in (b"[" * 100_000, b"{\"image/png\": 5, \"text/plain\": [1]}", b"5", b"\xff\xfe", b""):
    for kind in b"dxlefA":
        o = text(f"from hutch_jupyter import frames\nimport os\n"
                 f"token = bytes.fromhex(open(\"/proc/self/cmdline\").read().split(chr(0))[3])\n"
                 f"for piece in frames.pieces(token, {bytes([kind])}, {body}): os.write(1, piece)")
        assert text("8") == "8", (kind, body, o)
o = text("os.write(1, b\"\".join(frames.pieces(token, b\"d\", bytes(9 << 20)))); 9")
assert "1 x display (9437184 bytes)" in o, o
assert text("os.write(1, token + b\"d\" + bytes([3, 255, 255]) + bytes(9))\n10") is not None
assert text("11") is not None and text("12") == "12"
asks = [b"[" * 100_000, b"5", b"{}", json.dumps({"command": "view", "path": "\0"}).encode(),
        json.dumps({"command": "insert", "path": "/x", "insert_line": 2 ** 60, "new_str": ""}).encode()]
o = text("import socket\n" + f"for line in {asks}:" + """
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["HUTCH_EDITOR"])
    s.sendall(line + b"\\n")
    print(json.loads(s.makefile().read())["error"])""".replace("json.", "__import__(\"json\")."))
assert o == "True\n" * 4 + "True", o'
}

@test "the kernel is where the shell is, and has its variables" {
	acts '
where = "import os; os.getcwd()"
assert text(where) == "\x27/workspace\x27"
run("mkdir sub && cd sub")
assert text(where) == "\x27/workspace/sub\x27"
assert text("os.chdir(\"/tmp\")\nos.getcwd()") == "\x27/tmp\x27" and text(where) == "\x27/tmp\x27"
o = cell(where)
assert "[Jupyter current working directory: /workspace/sub]" in o.content, o
run("cd /usr")
assert text(where) == "\x27/usr\x27"
a.action("env", set={"HELLO": "\x27 \\ é\n", "GONE": "1"})
a.action("env", unset=["GONE"])
assert text("os.environ[\"HELLO\"], \"GONE\" in os.environ") == repr(("\x27 \\ é\n", False))
text("os._exit(0)")
assert text("import os; os.getcwd(), os.environ[\"HELLO\"]") == repr(("/usr", "\x27 \\ é\n"))
o = a.action("run_ipython", session="other", code=where, include_extra=False)
assert o.content == "\x27/workspace\x27", o'
}

@test "a cell asks the executor's editor for edits" {
	acts '
write("/workspace/f", "one")
ask = """import json, os, socket
def edit(**edit):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["HUTCH_EDITOR"])
    s.sendall((edit.pop("line", None) or json.dumps(edit)).encode() + b"\\n")
    return json.loads(s.makefile().read())
"""
text(ask)
code = "r = edit(command=\"str_replace\", path=\"/workspace/f\", old_str=\"one\", new_str=\"1\"); r[\"error\"], r[\"text\"][:8]"
assert text(code) == "(False, \x27The file\x27)", a.last
assert read("/workspace/f").content == "1\n"
assert text("edit(command=\"view\", path=\"/none\")[\"error\"]") == "True"
assert "an edit has no nonsense" in text("edit(command=\"view\", nonsense=1)[\"text\"]")
assert text("edit(line=\"rubbish\")[\"error\"]") == "True"
assert text("oct(os.stat(os.environ[\"HUTCH_EDITOR\"]).st_mode)[-3:], "
            "oct(os.stat(os.path.dirname(os.environ[\"HUTCH_EDITOR\"])).st_mode)[-3:]") == "(\x27600\x27, \x27700\x27)"
assert text("s = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"HUTCH_EDITOR\"]); 8") == "8"
assert text("[edit(command=\"view\", path=\"/workspace/f\")[\"error\"] for n in range(5)]") == repr([False] * 5)'
}

@test "the memory of the driver and of cells stays as it is over many cells" {
	acts '
pages = "int(open(f\"/proc/{os.getppid()}/statm\").read().split()[1])"
text("import os")
for n in range(200):
    cell(f"print({n}); {n}")
before = int(text(pages))
for n in range(2000):
    assert cell(f"print({n}); {n}").content.startswith(f"{n}\n{n}")
assert int(text(pages)) <= before + 64, (before, a.last)
assert text("import linecache; len([n for n in linecache.cache if n.startswith(\"<ipython\")]) <= 501") == "True"'
}

@test "what a kernelspec asks for and is not there is said in the note" {
	acts '
o = cell("1")
assert "there is no kernel ir" in o.hutch["note"] and o.content.startswith("1\n"), o' -e HUTCH_JUPYTER_KERNEL=ir
}
