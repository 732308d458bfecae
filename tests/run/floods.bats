#!/usr/bin/env bats
# Tests of sessions whose output takes a thousand times as long to process as other output of the
# same length (docs/actions.md, "What the content is").  Such a session waits for its own
# terminal, and requests of other sessions do not wait for it.

load helpers

setup() {
	begin
}

teardown() {
	remove_boxes
	end
}

# floods CODE [COUNT]: runs the Python CODE as act.py describes, with COUNT sessions (40) that print
# for ever, each in one of four ways.
floods() {
	"$HUTCH" create floods >floods
	"$here/act.py" "$HUTCH" '
import subprocess, sys
hutch = sys.argv[1]
deep = r"printf \"\e[1000;1Hx\e[H\";"
for_ever = r"while :; do printf %s \"$s\"; done"
def again(text):
    return "s=$(printf \"" + text + "%.0s\" {1..500});" + for_ever
ways = [deep + again(r"\e[2J"), deep + again(r"\e[L\e[T"),
        deep + r"printf \"\e[1;999r\e[999;1H\"; yes \"\"",
        "s=$(printf \"%1000s\" \"\"); for i in {1..999}; do printf %s \"$s\"; done;" + again(r"\ec")]
for i in range('"${2:-40}"'):
    send({"action": "run", "session": f"s{i}", "timeout": 0.1,
          "args": {"command": ways[i % len(ways)]}})
for i in range('"${2:-40}"'):
    o = receive()
    assert o.meta["exit_code"] == -1, "it goes on"
'"$1" floods
}

@test "beside forty floods a command is executed, and the sandbox lives" {
	floods '
for i in range(5):
    done = subprocess.run([hutch, "exec", "floods", "echo", "here"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "here\n", ""), done
assert "ready" in subprocess.run([hutch, "ps"], capture_output=True, text=True).stdout
'
}

@test "beside forty floods other sessions work, and files are read and written" {
	floods '
for i in range(5):
    o = run("echo a line", session="quiet")
    assert (o.content, o.meta["exit_code"]) == ("a line", 0)
write("/tmp/file", "some text")
assert read("/tmp/file").content == "some text\n"
'
}

# Each flood costs the executor's time, so this waits for four of them, and not beside forty.
@test "a flood is cancelled, and its session goes on" {
	floods '
for i in range(4):
    o = run("C-c", session=f"s{i}", is_input=True, timeout=60)
    assert o.meta["exit_code"] == 130, "it has ended"
    o = run("printf \"\\ec\"; echo a line", session=f"s{i}")
    assert o.content.endswith("a line") and o.meta["exit_code"] == 0
' 4
}
