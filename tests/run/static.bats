#!/usr/bin/env bats
# Tests of run actions that have a session of their own (is_static; docs/actions.md), and of the
# limit on sessions.

load helpers

teardown() {
	remove_boxes
	end
}

@test "a static run begins in cwd or where the sandbox does, and shares nothing with a session" {
	acts '
run("cd /usr; x=1; f() { :; }")
o = run("pwd; echo ${x-unset}; type -t f; x=2; cd /", is_static=True)
assert o.content == "/workspace\nunset" and o.meta["working_dir"] == "/", o.content
assert run("pwd; echo $x").content == "/usr\n1"
for cwd, want in (("/tmp", "/tmp"), (None, "/workspace"), ("", "/workspace"), ("d", "/workspace/d"), ("../usr", "/usr"), ("/etc/../tmp", "/tmp")):
    run("mkdir -p /workspace/d", is_static=True)
    assert run("pwd", is_static=True, cwd=cwd).content == want, cwd
# Without is_static the argument cwd has no effect, as in OpenHands, the reference.
assert run("pwd", cwd="/tmp").content == "/usr"
assert run("echo $-", is_static=True, hidden=True).extras["hidden"] is True'
}

@test "a cwd that is none is an error with its reason, and nothing stays of it" {
	acts '
for cwd, why in (("none", "/workspace/none: No such file or directory"), ("/etc/passwd", "/etc/passwd: Not a directory"), ("x" * 300, "File name too long")):
    o = run("pwd", is_static=True, cwd=cwd)
    assert o.observation == "error" and o.extras["error_id"] == "HUTCH$NO_SHELL", o
    assert why in o.content and o.content.startswith("ERROR: no shell could be started: enter the working directory: "), o.content
o = ask({"action":"run","args":{"command":"x","is_static":True,"cwd":"x" * 4096}})
assert o.content == "ERROR: args.cwd: more than 4095 bytes"
for i in range(70):
    assert run("pwd", is_static=True, cwd="none").observation == "error"
assert run("echo on", is_static=True).content == "on"'
}

@test "a static run does not wait for its session, nor the session for it" {
	acts '
send({"action":"run","id":1001,"args":{"command":"mkfifo /tmp/p; read x </tmp/p; echo $x"}})
send({"action":"run","id":1002,"args":{"is_static":True,"command":"until [ -p /tmp/p ]; do :; done; echo word >/tmp/p; echo said"}})
both = {o.cause: o.content for o in (receive(), receive())}
assert both == {1001: "word", 1002: "said"}, both'
}

@test "processes of a static run end when it is answered, whatever they did to stay" {
	acts '
LEFT = "sleep 4242"
for how in (LEFT + " & true", LEFT + " & disown; true", "nohup " + LEFT + " >/dev/null 2>&1 & true",
            "setsid -f " + LEFT, "(setsid sh -c \"" + LEFT + " & exec " + LEFT + "\" &)",
            "trap \"\" HUP TERM INT; setsid -f setsid -f " + LEFT + "; " + LEFT + " & true",
            LEFT + " & kill -STOP $!; true",
            # In these cases the shell ends before the process that it leaves behind.
            LEFT + " & exit", "(" + LEFT + " &) ; exit 3", LEFT + " & kill -9 $$", LEFT + " & exec true"):
    o = run(how, is_static=True)
    assert o.observation == "run" and o.meta["exit_code"] >= 0, o
    assert run("while pgrep -f \"^sleep 4242\" >/dev/null; do :; done; echo gone").content == "gone", how'
}

@test "a static run that is not done when its time is over is ended, and the suffix says so" {
	acts '
for more in ({"timeout": 0.3}, {}):
    o = run("setsid -f sleep 4243; exec sleep 4243", is_static=True, **more)
    assert o.meta["exit_code"] == -1
    assert o.meta["suffix"].endswith("\n[It ran in a session of its own (is_static) and was ended: nothing can be sent to it any more.]"), o.meta
    assert run("while pgrep -f \"^sleep 4243\" >/dev/null; do :; done; echo gone").content == "gone"
o = run("", is_static=True)
assert o.content == "ERROR: No previous running command to retrieve logs from." and o.meta["suffix"] == ""
o = run("x", is_static=True, is_input=True)
assert o.content == "ERROR: No previous running command to interact with."' \
		-e NO_CHANGE_TIMEOUT_SECONDS=0.5
}

@test "a static run that forks without end is ended with the others going on" {
	acts '
send({"action":"run","id":1001,"args":{"command":"read x; echo $x"}})
o = ask({"action":"run","timeout":0.5,"args":{"is_static":True,"command":"f() { f & f; }; f 2>/dev/null"}})
assert o.meta["exit_code"] == -1, o
o = ask({"action":"run","id":1002,"session":"b","args":{"command":"until (exec true) 2>/dev/null; do :; done; echo there"}})
assert o.content.endswith("there"), o.content' --ulimit nproc=200
}

@test "a static run can be cancelled, before it has begun and behind it" {
	acts '
send({"action":"run","id":1001,"args":{"command":"sleep 4244","is_static":True}})
send({"action":"cancel","id":1002,"args":{"id":1001}})
got = {o.cause: o for o in (receive(), receive())}
assert got[1002].observation == "null", got
assert got[1001].extras.get("error_id") == "HUTCH$CANCELLED" or "cancelled" in got[1001].meta["suffix"], got
send({"action":"run","id":1003,"args":{"command":"touch /tmp/there; sleep 4244","is_static":True}})
run("until [ -e /tmp/there ]; do :; done")
send({"action":"cancel","id":1004,"args":{"id":1003}})
got = {o.cause: o for o in (receive(), receive())}
assert "cancelled" in got[1003].meta["suffix"]
assert run("while pgrep -f \"^sleep 4244\" >/dev/null; do :; done; echo gone").content == "gone"'
}

@test "any number of static runs is done, sixteen at a time, beside sessions that stay" {
	acts '
for i in range(48):
    run("true", session="s%d" % i)
for i in range(100):
    send({"action":"run","id":2000+i,"args":{"command":"echo %d" % i,"is_static":True}})
got = [receive() for i in range(100)]
assert sorted(o.cause for o in got) == list(range(2000, 2100))
for o in got:
    assert o.content == "%d" % (o.cause - 2000), o.content'
}

@test "where 64 sessions are, a further one is refused with a sentence, static or named" {
	acts '
for i in range(64):
    assert run("true", session="s%d" % i).meta["exit_code"] == 0
for more in ({"session": "more"}, {"is_static": True}, {"is_static": True, "session": "s1"}):
    o = run("true", **more)
    assert o.observation == "error" and o.extras["error_id"] == "HUTCH$BAD_ACTION", o
    assert o.content.startswith("ERROR: more than 64 sessions: ") and "name one of these" in o.content
assert run("echo on", session="s63").content == "on"'
}

@test "static runs in a sandbox that has a name end with their trees too" {
	"$HUTCH" create box
	"$HUTCH" act box >out <<'LINES'
{"action":"run","id":1,"args":{"command":"setsid -f sleep 4245; pwd","is_static":true,"cwd":"/tmp"}}
LINES
	grep -q '"content":"/tmp"' out
	"$HUTCH" exec box -- sh -c 'while pgrep -f "^sleep 4245"; do :; done'
	"$HUTCH" rm -f box
}

# make nightly sets ACTIONS=1200.
@test "many actions and many sessions leave nothing in pid 1, whose idle sessions are small" {
	acts '
import subprocess
def kib():
    pid = subprocess.run(["pgrep", "-P", str(act.pid), "hutch-executor"], capture_output=True, text=True).stdout.split()[0]
    if has_shadows(pid):
        return 0
    return sum(int(l.split()[1]) for l in open(f"/proc/{pid}/smaps_rollup") if l.startswith("Private_Dirty"))
def work(count):
    for i in range(count):
        run("echo hi")
        if i % 20 == 0:
            run("seq 1 9000", is_static=True)
read("/etc/hostname")
before = kib()
assert before < 1024, before
for i in range(40):
    run("true", session="s%d" % i)
assert (kib() - before) / 40 < 256, (before, kib())
count = int(os.environ.get("ACTIONS", 300))
work(min(count, 300))
warm = kib()
work(count)
assert kib() - warm <= 64, (warm, kib())'
}
