#!/usr/bin/env bats
# Tests of hutch act, which reads actions and writes observations (docs/actions.md).

load helpers

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.  Adds
# helpers that ask a running command for its output until it has printed enough, so that no test
# depends on how fast the command runs.
acts() {
	"$here/act.py" "$HUTCH" '
import sys
sys.path.append(sys.path[0] + "/..")
from patience import PATIENCE, wait_until
squeezed = lambda text: "".join(text.split())
def until(o, holds):
    """Looks at a running command until holds() is true of all that it has shown
    since, or until the command has ended."""
    parts = [o.content]
    def has_come():
        nonlocal o
        if holds("".join(parts)) or o.meta["exit_code"] != -1:
            return True
        o = run("", timeout=0.1)
        parts.append(o.content)
    wait_until(has_come)
    o["content"] = "\n".join(part for part in parts if part)
    return o
def shown(o, text):
    return until(o, lambda seen: squeezed(text) in squeezed(seen))
def finished(o):
    return until(o, lambda seen: False)
def at_once(command, last):
    """Returns the observation whose content goes up to those words: the command
    gets more time until it has shown them."""
    seconds = 0.5
    def whole():
        nonlocal seconds
        o = run(command, timeout=seconds)
        if o.content.endswith(last):
            return o
        seconds *= 2
        run("C-c")
    return wait_until(whole)
'"$1" "${@:2}"
}

@test "a line that is no action gets an error, and the stream goes on" {
	acts '
for line in ("rubbish", "[]", "{}", "\x01", "{\"action\":\"run\"}", "{\"action\":\"fly\"}", "{\"action\":{}}"):
    o = ask(line)
    assert o.observation == "error" and o.extras["error_id"] == "HUTCH$BAD_ACTION", line
    assert o.content.startswith("ERROR: ") and o.message == o.content
send(b"\xff\xfe\n")
assert receive().extras["error_id"] == "HUTCH$BAD_ACTION"
send("")
send(b"x" * (33 << 20) + b"\n")
assert "33554432" in receive().content
assert run("echo still here").content == "still here"
assert end() == (0, [])
assert said() == ""'
}

@test "features that are off say so in the words that clients know" {
	acts '
assert ask({"action":"browse","args":{"url":"http://x"}}).content == "Browser functionality is not supported or disabled."
assert ask({"action":"browse_interactive"}).content == "Browser functionality is not supported or disabled."
assert "JupyterRequirement not found" in ask({"action":"run_ipython","args":{"code":"1"}}).content'
}

@test "a run gives the reference's observation, with all its keys" {
	acts '
o = run("echo hi")
assert list(o) == ["observation", "message", "content", "success", "extras", "cause", "hutch"]
assert (o.observation, o.message, o.content, o.success) == ("run", "Command `echo hi` executed with exit code 0.", "hi", True)
assert list(o.extras) == ["command", "hidden", "metadata"] and o.extras["command"] == "echo hi"
assert list(o.meta) == ["exit_code", "pid", "username", "hostname", "working_dir", "py_interpreter_path", "prefix", "suffix"]
assert o.meta["suffix"] == "\n[The command completed with exit code 0.]" and o.meta["prefix"] == ""
assert (o.meta["username"], o.meta["hostname"], o.meta["working_dir"]) == ("agent", "hutch", "/workspace")
assert o.meta["pid"] == -1
assert list(o.hutch) == ["log", "truncated_chars", "restarted", "previous", "refused", "took_ms"]
assert o.hutch["took_ms"] > 0
o = run("exit_with() { return $1; }; exit_with 3")
assert not o.success and o.meta["exit_code"] == 3'
}

@test "working directory, variables, functions, aliases and options last" {
	acts '
run("cd /tmp && x=\"a b\" && f() { echo \"f: $1\"; } && alias g=\"echo g\" && set -o nounset")
assert run("echo $x; f 1; g; pwd").content == "a b\nf: 1\ng\n/tmp"
assert run("echo $none").meta["exit_code"] != 0
assert run("echo still; set +o nounset").content == "still"
assert run("export E=1; bash -c \"echo \\$E\"").content == "1"'
}

@test "a command runs exactly as it is given" {
	acts '
assert run("echo \"a!b\" $((1+2)) !!").content == "a!b 3 !!"
assert run("printf \"%s\\n\" \"tab\there\" | cat -A").content == "tab^Ihere$"
assert run("cat <<END\nline 1\n  line 2 \\$x\nEND").content == "line 1\n  line 2 $x"
assert run("for i in 1 2\ndo\n  echo $i\ndone").content == "1\n2"
assert run("echo one \\\n two").content == "one two"
big = "x" * (1 << 20)
assert run("v=" + big + "; echo ${#v}").content == str(1 << 20)
assert run("echo \u00e9\u4e2d\U0001f407").content == "\u00e9\u4e2d\U0001f407"
assert run("find / -maxdepth 1 -name tmp -exec echo {} \\;").content == "/tmp"'
}

@test "several commands on lines of their own are refused, in the reference's words" {
	acts '
refusal = "ERROR: Cannot execute multiple commands at once.\nPlease run each command separately OR chain them into a single command via && or ;\nProvided commands:\n"
o = run("ls\npwd")
assert (o.observation, o.content, o.extras) == ("error", refusal + "(1) ls\n(2) pwd", {"error_id": ""}), o
o = run("# first\ntouch /tmp/x\n\ntouch /tmp/y # second\n")
assert o.content == refusal + "(1) # first\n(2) touch /tmp/x\n(3) touch /tmp/y # second", o
assert run("ls /tmp/x /tmp/y").meta["exit_code"] != 0
o = run("# where?\n# here:\npwd")
assert (o.content, o.extras["command"]) == ("/workspace", "# where?\n# here:\npwd")
# The refusal for several commands comes before the check whether the session is busy.
run("sleep 1000", timeout=0.1)
assert run("ls\npwd").content == refusal + "(1) ls\n(2) pwd"
assert run("C-c").meta["exit_code"] == 130
# Text that the Python parser bashlex cannot read is not refused as several commands: bash runs
# all of it.
assert run("a=(1 2)\necho ${a[1]}\n[[ x == x ]]\necho $((1+2))").content == "2\n3"
assert run("case x in\nx) echo a;;\nesac\necho b").content == "a\nb"
run("cat", timeout=0.1)
o = shown(run("one\ntwo", is_input=True, timeout=0.1), "one\ntwo")
assert o.content.startswith("one\ntwo"), o
assert run("C-d").meta["exit_code"] == 0'
}

@test "a syntax error, break, return and an open quote end no session" {
	acts '
for command in ("if true; then", "echo \"open", ")", "break", "continue", "return 3", "{", "case x in"):
    run(command)
    o = run("echo alive")
    assert (o.content, o.meta["exit_code"], o.hutch["restarted"]) == ("alive", 0, False), command'
}

@test "a shell that ended is a new one in the last working directory, and it is said" {
	acts '
for command, code in (("exit 3", 3), ("exec true", 0), ("set -e; false", 1), ("kill -9 $$", 137)):
    run("cd /tmp; x=1")
    o = run(command)
    assert o.meta["exit_code"] == code, command
    p = run("pwd; echo \"<$x>\"")
    assert p.content == "/tmp\n<>", command
    assert o.hutch["restarted"] or p.hutch["restarted"], command
    assert "shell had ended" in (o if o.hutch["restarted"] else p).meta["suffix"], command'
}

@test "time-outs, input and keys, in the reference's words" {
	acts '
o = shown(run("read -p \"Name? \" n; echo Hello $n; sleep 1000", timeout=0.1), "Name?")
assert (o.content, o.meta["exit_code"], o.meta["pid"], o.success) == ("Name?", -1, -1, False)
assert o.meta["username"] is None and o.meta["working_dir"] is None
assert o.meta["suffix"].startswith("\n[The command timed out after 0.1 seconds. You may wait longer to see")
o = run("ls", timeout=1000)
assert o.meta["suffix"].startswith("\n[Your command \"ls\" is NOT executed. The previous command is still running")
assert o.meta["prefix"] == "[Below is the output of the previous command.]\n"
o = shown(run("Ada", is_input=True, timeout=0.1), "Hello Ada")
assert o.content == "Hello Ada", o
o = run("", timeout=0.1)
assert o.content == "" and o.meta["exit_code"] == -1
o = run("C-c")
assert o.meta["exit_code"] == 130 and o.meta["suffix"] == "\n[The command completed with exit code 130. CTRL+C was sent.]"
assert run("").content == "ERROR: No previous running command to retrieve logs from."
assert run("x", is_input=True).content == "ERROR: No previous running command to interact with."
assert run("C-c").content == "ERROR: No previous running command to interact with."'
}

@test "no output for NO_CHANGE_TIMEOUT_SECONDS is reported, unless it blocks" {
	acts '
run("mkfifo /tmp/go /tmp/never")
o = run("echo a; read x </tmp/go; echo b")
assert "has no new output after 1 seconds" in o.meta["suffix"], o
assert shown(o, "a").content == "a"
run("echo >/tmp/go", session="b")
o = finished(run(""))
assert o.content == "b" and o.meta["exit_code"] == 0
# Action 900 has begun to wait before the command of session c lets it go on.
send({"action":"run","id":900,"timeout":1000,"args":{"command":"read x </tmp/go; echo c","blocking":True}})
assert "has no new output" in run("read x </tmp/never", session="b").meta["suffix"]
send({"action":"run","id":901,"session":"c","args":{"command":"echo >/tmp/go"}})
got = {o.cause: o.content for o in (receive(), receive())}
assert got == {900: "c", 901: ""}, got
a.id = 901
assert "no timeout set" in run("echo", blocking=True).content' -e NO_CHANGE_TIMEOUT_SECONDS=1
}

@test "output that a command prints while no action waits is not lost" {
	acts '
run("mkfifo /tmp/go")
def left(command):
    """Shows the output that comes after a command printed its last line while
    no action waited; shows nothing if the command had not ended by then."""
    shown(run("echo one; read x; read y </tmp/go; " + command, timeout=0.1), "one")
    run("word", is_input=True, timeout=0.1)
    run("echo >/tmp/go", session="b")
    o = run("echo own")
    if "NOT executed" in o.meta["suffix"]:
        finished(o)
        return None
    assert o.content == "own", o
    return o
o = wait_until(left, "echo two; exit_code() { return 5; }; exit_code")
assert o.hutch["previous"] == "two", o
assert wait_until(left, "echo rest").hutch["previous"] == "rest"
assert run("true").hutch["previous"] is None
shown(run("echo one; read y; echo late", timeout=0.1), "one")
assert finished(run("go", is_input=True)).content == "late"
assert run("true").hutch["previous"] is None'
}

@test "input that a command leaves unread is not run by the shell" {
	acts '
run("mkfifo /tmp/go")
run("read x </tmp/go", timeout=0.1)
o = run("echo leaked; touch /tmp/leaked", is_input=True, timeout=0.1)
assert o.meta["exit_code"] == -1, o
run("echo >/tmp/go", session="b")
finished(o)
assert run("ls /tmp/leaked").meta["exit_code"] != 0'
}

@test "a command in the background is told by its pid, and goes on" {
	acts '
o = run("sleep 1000 &")
assert o.meta["pid"] > 1
assert run("kill -0 %d && echo there" % o.meta["pid"]).content == "there"'
}

@test "sessions are independent and go side by side" {
	acts '
send({"action":"run","id":1001,"session":"a","args":{"command":"mkfifo /tmp/p; read x </tmp/p; echo got $x"}})
send({"action":"run","id":1002,"session":"b","args":{"command":"cd /usr; until [ -p /tmp/p ]; do :; done; echo word >/tmp/p; pwd"}})
both = {o.cause: o.content for o in (receive(), receive())}
assert both == {1001: "got word", 1002: "/usr"}
assert run("pwd", session="a").content == "/workspace"
for i in range(70):
    o = ask({"action":"read","session":"s%d" % i,"args":{"path":"/etc/passwd"}})
assert "64 sessions" in o.content'
}

@test "actions of one session are done in order, and all before the end" {
	acts '
for i in range(50):
    send({"action":"run","id":i,"args":{"command":"echo %d" % i}})
code, all = end()
assert code == 0 and [(o.cause, o.content) for o in all] == [(i, str(i)) for i in range(50)]'
}

@test "files are written and read as the reference does" {
	acts '
o = write("d/e/a.txt", "one\ntwo\nthree")
assert (o.observation, o.content, o.extras) == ("write", "", {"path": "/workspace/d/e/a.txt"})
assert run("cat -A d/e/a.txt; stat -c %a d/e/a.txt").content == "one$\ntwo$\nthree$\n664"
o = read("d/e/a.txt")
assert (o.observation, o.content, o.extras) == ("read", "one\ntwo\nthree\n", {"path": "/workspace/d/e/a.txt", "impl_source": "default"})
assert read("d/e/a.txt", start=1, end=2).content == "two\n"
write("d/e/a.txt", "TWO", start=1, end=2)
assert read("/workspace/d/e/a.txt").content == "one\nTWO\nthree\n"
run("cd d")
assert read("e/a.txt", start=2).content == "three\n"
assert read("none").content == "File not found: /workspace/d/none. Your current working directory is /workspace/d."
assert read("e").content == "Path is a directory: /workspace/d/e. You can only read files"
assert write("e", "x").content == "Path is a directory: /workspace/d/e. You can only write to files"
run("printf \"\\xff\\xfe\" >bin; printf \"a\\x00b\" >zero; mkfifo pipe; printf \"\\x89PNG\" >p.png")
assert read("zero").content == "ERROR_BINARY_FILE"
assert read("pipe").observation == "error"
assert read("p.png").content == "data:image/png;base64,iVBORw=="
assert read("/etc/shadow").observation == "error"
assert write("/usr/x", "x").observation == "error" and write("/usr/none/x", "x").content.startswith("/usr/none/x: Read-only file system\n[Refused by hutch: ")'
}

@test "reading and writing need no shell" {
	acts '
write("a", "x")
assert read("a").content == "x\n"
assert ask({"action":"run","session":"other","args":{"command":"pgrep -c bash"}}).content == "1"'
}

@test "--stream tells what is printed as it comes" {
	acts '
send({"action":"run","id":5,"args":{"command":"echo early; read x; echo late $x"},"timeout":1000})
o = receive()
assert o["event"] == "output" and o["cause"] == 5 and o["session"] == "main" and "observation" not in o
text = o["data"]
while "early" not in text:
    text += receive()["data"]
send({"action":"cancel","args":{"id":5}})
kinds = []
while "run" not in kinds:
    kinds.append(receive().get("observation"))
assert "null" in kinds' --stream
}

@test "cancel ends what runs and what waits" {
	acts '
a.id = 100
run("true")
send({"action":"run","id":1,"args":{"command":"trap \"\" INT; sleep 1000; sleep 1000"}})
assert ask({"action":"read","session":"b","args":{"path":"/etc/passwd"}}).observation == "read"
send({"action":"run","id":2,"args":{"command":"touch /tmp/done"}})
send({"action":"cancel","args":{"id":2},"id":10})
send({"action":"cancel","args":{"id":1},"id":11})
got = {o.cause: o for o in [receive() for i in range(4)]}
assert got[2].extras["error_id"] == "HUTCH$CANCELLED"
assert got[10].observation == got[11].observation == "null"
assert got[1].observation == "run" and "cancelled" in got[1].meta["suffix"]
assert run("ls /tmp/done").meta["exit_code"] == 2
assert ask({"action":"cancel","args":{"id":77}}).extras["error_id"] == "HUTCH$NOT_FOUND"'
}

@test "an action is done once, however often it is sent" {
	acts '
line = {"action":"run","id":1,"timestamp":"2026-01-01T00:00:00","args":{"command":"echo x >>/tmp/n; wc -l </tmp/n; read x </tmp/go"}}
run("mkfifo /tmp/go", session="b")
a.id = 100
send(line); send(line)
send({"action":"run","id":2,"session":"b","args":{"command":"echo >/tmp/go"}})
one, two = [o for o in (receive(), receive(), receive()) if o.cause == 1]
assert one == two and one.content == "1"
assert ask(line) == one
line["args"]["command"] = "echo other"
assert "before" in ask(line).content
line["timestamp"] = "2026-01-01T00:00:01"
assert ask(line).content == "other"'
}

@test "output of any size is cut in the middle, and says how much" {
	acts '
o = run("seq 1000000")
notice = "\n[... Observation truncated due to length ...]\n"
lines = 1000001 - int(o.content.split("\n")[0])
assert 10001 <= lines <= 11360 and o.content.endswith("\n1000000")
assert len(o.content) == 30047 and o.content[15000:].startswith(notice)
assert o.meta["prefix"] == "[Previous command outputs are truncated. Showing the last %d lines of the output below.]\n" % lines
assert o.hutch["truncated_chars"] == 6888895 - 30000
o = run("seq 5000", hidden=True)
assert o.content == "\n".join(map(str, range(1, 5001))) and not o.meta["prefix"] and not o.hutch["truncated_chars"]
o = run("seq 6000")
assert o.content.startswith("1\n2\n") and o.content.endswith("\n6000") and notice not in o.content
o = run("seq 9000")
assert o.content.startswith("1\n2\n") and o.content.endswith("\n9000") and notice in o.content and not o.meta["prefix"]
o = at_once("seq 50000; read x; seq 100000", "\n50000")
assert o.meta["prefix"].startswith("[Previous command outputs are truncated.")
o = run("", timeout=0.1)
assert (o.content, o.meta["prefix"]) == ("", "[Below is the output of the previous command.]\n")
o = run("x", is_input=True, timeout=1000)
assert o.meta["prefix"].startswith("[Previous command outputs are truncated.") and o.content.endswith("\n100000")
o = run("printf \"\\033[31mred\\033[0m\\r\\n\\x80\"")
assert o.content == "red\n\ufffd", repr(o.content)'
}

@test "an agent reads the text that a terminal shows" {
	acts '
assert run("printf \"10%%\\r20%%\\n\"").content == "20%"
assert run("printf \"   x\\n\\ty\\n\"").content == "x\n        y"
assert run("printf %01200d 7").content == "0" * 1199 + "7"
assert run("echo old; printf \"\\033[H\\033[2J\\033[3J\"; echo new").content == "new"
assert run("echo one; printf \"\\033[?1049h\\033[Hmenu\\033[?1049l\"; echo two").content == "one\ntwo"
assert run("echo $TERM").content in ("tmux-256color", "xterm-256color")
assert run("echo $COLUMNS $LINES; stty size").content.endswith("1000 1000")
o = at_once("printf \"\\033[?1049h\\033[2;3Hmenu\"; read x", "menu")
assert o.content == "menu"
assert run("C-c").content == "^C"
assert run("stty -icanon; printf \"\\033[6n\"; read -d R x; echo \"${x#*[}\"").content == "1;1"'
}

@test "a Python, an editor and a pager are driven as a person does" {
	acts '
import shutil
have = lambda name: run("type -P " + name).content != ""
if have("python3"):
    o = shown(run("python3 -q", timeout=0.1), ">>>")
    if o.meta["exit_code"] == -1:
        assert o.content == ">>>", o
        assert shown(run("1+1", is_input=True, timeout=0.1), "2\n>>>").content == "2\n>>>"
        assert shown(run("print(\"x\"*3)", is_input=True, timeout=0.1), "xxx\n>>>").content == "xxx\n>>>"
        assert finished(run("exit()", is_input=True)).content == ""
if have("vi"):
    run("printf \"first\\nsecond\\n\" >f")
    o = shown(run("vi f", timeout=0.1), "first\nsecond\n~\n~")
    assert "first\nsecond\n~\n~" in o.content, o
    shown(run("ihello", is_input=True, timeout=0.1), "hello")
    run("Escape", is_input=True, timeout=0.1)
    o = finished(run(":wq", is_input=True))
    assert o.meta["exit_code"] == 0, o
    assert run("head -n 2 f").content == "hello\nfirst"
if have("less"):
    o = shown(run("seq 3000 | less", timeout=0.1), "999")
    assert o.content.startswith("1\n2\n") and "\n999" in o.content, o
    assert finished(run("q", is_input=True)).meta["exit_code"] == 0'
}

# The test sends LINES random lines, twice.
@test "random lines, half of them malformed, neither stop it nor grow it" {
	needs_static
	acts '
import random
chance = random.Random(int(os.environ.get("SEED", "1")))
def random_line(i):
    kind = chance.randrange(8)
    args = {"command": chance.choice(["true", "echo %d" % i, "cd /tmp", "x=%d" % i, "false", "(exit 7)"])}
    if kind < 2:
        line = {"action": "run", "args": args, "session": chance.choice("ab")}
    elif kind == 2:
        line = {"action": "read", "args": {"path": chance.choice(["f", "/etc/passwd", "none", "/"])}}
    elif kind == 3:
        line = {"action": "write", "args": {"path": "f", "content": "x" * chance.randrange(1000)}}
    else:
        text = bytearray(json.dumps({"action": "run", "id": i, "args": args}).encode())
        for _ in range(chance.randrange(1, 4)):
            text[chance.randrange(len(text))] = chance.choice(b"\"{}[]:,\\x\x00\xff\x1b0")
        return bytes(text).replace(b"\n", b" ") + b"\n"
    return json.dumps(line).encode() + b"\n"
def memory():
    # Counts dirty pages only: a clean page becomes private, and would be counted, when the last
    # other process that maps the program ends.
    pids = [act.pid] + [int(p) for p in open("/proc/%d/task/%d/children" % (act.pid, act.pid)).read().split()]
    return sum(int(l.split()[1]) for p in pids for l in open("/proc/%d/smaps_rollup" % p) if l.startswith("Private_Dirty"))
def play(count):
    # At most 32 actions wait in each round, so that buffers have their full size after the first
    # round.
    for first in range(0, count, 32):
        send(b"".join(random_line(i) for i in range(first, first + 32)))
        for _ in range(32):
            receive()
count = int(os.environ.get("LINES", "3008"))
play(count)
before = memory() # with buffers and what is remembered at their most
play(count)
grown = memory() - before
a.id = 1000000
assert grown < 128, "grown by %d KiB" % grown
# The check uses a new session, since one of the random lines may have started an editor in the
# old ones.
assert run("echo alive", session="fresh").content == "alive"
assert end() == (0, [])'
}

@test "a client that reads late loses nothing, and memory does not grow with what waits" {
	acts '
write("/tmp/large", "x" * (1 << 20))
for i in range(40):
    send({"action":"read","args":{"path":"/tmp/large"},"id":1000 + i,"session":"s%d" % (i % 8)})
seen = set()
for i in range(40):
    o = receive()
    assert len(o.content) == (1 << 20) + 1
    seen.add(o.cause)
assert seen == set(range(1000, 1040))
peak = int([l for l in open("/proc/%d/status" % act.pid) if l.startswith("VmHWM")][0].split()[1])
assert peak < 32 << 10 or has_shadows(act.pid), "%d KiB" % peak
a.id = 2000
assert run("echo on").content == "on"
assert end() == (0, [])'
}

@test "thousands of lines at once are all answered" {
	acts '
send(b"".join(b"{\"action\":\"browse\",\"id\":%d}\n" % i for i in range(3000)))
assert [receive().cause for i in range(3000)] == list(range(3000))
assert end() == (0, [])'
}

@test "limits weaker than asked for, and the shared network, are reported on stderr" {
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] || skip "this host has no lack of cgroups"
	acts '
assert run("echo hi").content == "hi"
assert end() == (0, [])
assert "hutch: note: weaker here than asked for (--best-effort): --memory --cpus\n" in said()
assert "shares this host" in said()' --best-effort --memory 1g --cpus 1 --network host
}

@test "if the sandbox dies every action is told so, and hutch ends with 125" {
	acts '
run("true")
send({"action":"run","id":50,"args":{"command":"sleep 1000"}})
send({"action":"run","id":51,"args":{"command":"true"}})
import subprocess, signal
children = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(act.pid)], capture_output=True, text=True).stdout
pid = [int(l.split()[0]) for l in children.splitlines() if "executor" in l][0]
os.kill(pid, signal.SIGKILL)
for id in (50, 51):
    o = receive()
    assert o.cause == id and o.extras["error_id"] == "HUTCH$SANDBOX_ENDED"
assert act.wait(PATIENCE) == 125 and "signal 9" in said()'
}

@test "--timeout ends the sandbox, and hutch with 124" {
	acts '
o = run("sleep 1000")
assert o.extras["error_id"] == "HUTCH$SANDBOX_ENDED" and "time-out" in o.content
assert act.wait(PATIENCE) == 124' --timeout 1s
}

@test "signals end it with 128+N, and leave no process" {
	acts '
import signal
run("true")
mark = "sleep 987." + str(act.pid)
send({"action":"run","args":{"command":mark}})
act.send_signal(signal.SIGTERM)
assert act.wait(PATIENCE) == 143
import subprocess
assert subprocess.run(["pgrep", "-f", mark]).returncode == 1'
}

@test "a client that closes its end ends it" {
	acts '
act.stdout.close()
send({"action":"run","args":{"command":"echo hi"}})
assert act.wait(PATIENCE) == 125'
}

@test "options are those of hutch run, but for what makes no sense" {
	catch "$HUTCH" act -t
	[ "$status" -eq 125 ]
	one_sentence '--tty makes no sense'
	catch "$HUTCH" act -i
	one_sentence '--interactive makes no sense'
	catch "$HUTCH" act echo hi
	one_sentence 'too many words'
	room w
	acts 'write("f", "x"); run("echo y >>f")' --workspace "$T/w"
	[ "$(cat w/f)" = $'x\ny' ]
	acts 'assert run("id -u").content == "0"' -u root
	acts 'assert run("echo $A").content == "b"' -e A=b
}

@test "an image without bash says so" {
	needs_static
	mkdir none
	give none
	acts '
o = ask({"action":"run","args":{"command":"true"}})
assert o.extras["error_id"] == "HUTCH$NO_SHELL" and "/bin/bash" in o.content
assert ask({"action":"write","args":{"path":"/tmp/x","content":"y"}}).observation == "write"' --image "dir:$T/none"
}

@test "the examples of docs/actions.md are what happens" {
	"$here/examples.py" "$HUTCH" "$top/docs/actions.md"
}

@test "--idmap ranges: actions are done as the user that -u names, and files belong to that user" {
	needs_range
	acts '
run("cd /tmp")
assert run("id -u; id -g").content == "5\n7"
assert write("made", "x").observation == write("/tmp/d/f", "y").observation == "write"
assert read("/tmp/d/f").content.strip() == "y"
assert run("stat -c %u:%g made d d/f").content == "5:7\n5:7\n5:7"
# The working directory belongs to the user agent, so user 5 may not write there.
assert "Permission denied" in write("/workspace/f", "z").content
assert write("/etc/x", "z").observation == "error"
assert run("chown 8 made").meta["exit_code"] == 1' --idmap ranges -u 5:7
}

@test "--idmap ranges: the editor also runs as the user that -u names" {
	needs_range
	acts '
edit = lambda command, path, **more: a.action("edit", command=command, path=path, **more)
assert edit("create", "/tmp/f", file_text="x\n").content.startswith("File created")
run("chmod 640 /tmp/f")
assert "has been edited" in edit("str_replace", "/tmp/f", old_str="x", new_str="y").content
assert run("stat -c %u:%g:%a /tmp/f; cat /tmp/f").content == "5:7:640\ny"
# The working directory belongs to the user agent.
assert "[Errno 13] Permission denied" in edit("create", "/workspace/f", file_text="x").content' --idmap ranges -u 5:7
}

@test "--idmap ranges: root gives files away, and others keep them from the rest" {
	needs_range
	acts '
write("mine", "secret")
run("chmod 600 mine; cp mine theirs; chown 33:33 theirs; chmod 600 theirs")
assert run("stat -c %u:%g:%a mine theirs").content == "0:0:600\n33:33:600"
assert run("setpriv --reuid 33 --clear-groups cat mine").meta["exit_code"] == 1
assert run("setpriv --reuid 33 --clear-groups cat theirs").content == "secret"
assert read("theirs").content.strip() == "secret"
write("theirs", "changed")
assert run("stat -c %u:%g:%a theirs; cat theirs").content == "33:33:600\nchanged"' --idmap ranges -u root
}

@test "--idmap ranges: agent is the caller in a folder of the host" {
	needs_range
	room w
	acts '
write("/w/f", "x")
assert run("id -u; stat -c %u /w/f; cd /w && echo y >g && rm f").content == "1000\n1000"' --idmap ranges -v "$T/w:/w:rw"
	[ "$(stat -c %u w/g)" -eq "$who" ]
	[ ! -e w/f ]
}

@test "--best-effort: memory that is watched ends the sandbox, and every action is told" {
	local tried=0
	"$HUTCH" run --memory 64m true 2>/dev/null || tried=$?
	((tried == 125)) || skip "this host has no launch that lacks a cgroup"
	acts '
assert run("echo hi").content == "hi"
send({"action":"run","id":50,"args":{"command":"head -c 300M /dev/zero | tail | sleep 1000"}})
send({"action":"run","id":51,"args":{"command":"echo never"}})
for id in (50, 51):
    o = receive()
    assert o.cause == id and o.observation == "error" and o.extras["error_id"] == "HUTCH$SANDBOX_ENDED"
    assert "out of memory" in o.content and "more than 64 MiB (--memory) when hutch looked" in o.content
assert act.wait(PATIENCE) == 125
assert said().count("out of memory") == 1' --best-effort --memory 64m --tmpfs /x
}

@test "a file action that a wall refuses says so, with the flag and a remedy" {
	room w r r/sub
	echo x >r/file && give r
	{
		for path in /usr/bin/x /bin/x /proc/kallsyms /r/file /p/file /etc/passwd; do
			printf '{"action":"write","id":"%s","args":{"path":"%s","content":"x"}}\n' "$((++n))" "$path"
		done | sed 's/"id":"\([0-9]*\)"/"id":\1/'
		echo '{"action":"read","id":11,"args":{"path":"/etc/shadow"}}'
		echo '{"action":"read","id":12,"args":{"path":"/w/none"}}'
		echo '{"action":"remove","id":13,"args":{"path":"/r/sub"}}'
		echo '{"action":"mkdir","id":14,"args":{"path":"/w/closed/x"}}'
		echo '{"action":"write","id":15,"args":{"path":"/w/fine","content":"x"}}'
		echo '{"action":"read","id":16,"args":{"path":"/x:/x $(touch gone)"}}'
	} >in
	mkdir w/closed p && chmod 555 w/closed && echo x >p/file && give w p
	as_who env HOME="$HOME" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" "$HUTCH" act -v "$T/r:/r:ro" -v "$T/w:/w" -v "$T/p:/p" --protect /file <in >out
	chmod 755 w/closed
	"$here/act_cases.py" file_actions "$T"
}

@test "a refusal that a failed command prints is reported with the flag" {
	mkdir -p r w && echo x >r/file && give r w
	say() { # ID COMMAND
		printf '{"action":"run","id":%d,"args":{"command":"%s"}}\n' "$1" "$2"
	}
	{
		say 1 'touch /r/new /usr/bin/x'
		say 2 'echo x >/r/file'
		say 3 'cd /r && touch new'
		say 4 'cat /proc/kallsyms'
		say 5 'touch /r/new; true'
		say 6 'cat /data/x'
		say 7 'touch /w/fine && cat /w/none'
		say 8 'cd /w; cp /etc/passwd /r/y'
		say 9 'for i in 1 2 3 4 5 6 7 8 9; do touch /r/$i; done; false'
	} >in
	as_who env HOME="$HOME" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" "$HUTCH" act -v "$T/r:/r:ro" -v "$T/w:/w" <in >out
	"$here/act_cases.py" commands "$T"
}
