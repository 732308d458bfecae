#!/usr/bin/env bats
# A command has the same uid as the processes that copy and search files in its
# sandbox, and can stop each of them.  A client that waits for one still gets an
# answer.

load helpers

setup() {
	begin
	room mine
	cd mine || return 1
}

teardown() {
	remove_boxes
	rm -rf "$T/mine"
	end
}

# make NAME: creates the sandbox NAME with a sparse file of 7 TiB, so large that no copy of it
# ends.
make() {
	"$HUTCH" create "$1" >/dev/null
	"$HUTCH" exec "$1" truncate -s 7t /tmp/endless
}

# stop_all NAME: from here on a command in the sandbox sends SIGSTOP to all processes in it again
# and again.
stop_all() {
	local line loop
	exec {loop}< <("$HUTCH" exec "$1" bash -c 'echo on; while :; do kill -STOP -1; done 2>/dev/null')
	read -r line <&"$loop"
	[[ $line == on ]]
}

# copies_late SRC DST FILE: checks that hutch cp fails, with an error in FILE that says that the
# copying process was kept stopped.
copies_late() {
	local code=0
	timeout "$PATIENCE" "$HUTCH" cp --max-size 16t "$1" "$2" 2>"$3" >/dev/null || code=$?
	[[ $code == 125 ]] && grep -qE "^hutch: sandbox 'box': commands in it kept the process that copied .* stopped, so it was ended" "$3" || { cat "$3"; return 1; }
}

@test "a copy that the inside keeps stopped ends, out of the sandbox, into it, and between two" {
	make box
	make other
	truncate -s 7t endless
	stop_all box
	copies_late box:/tmp/endless - out &
	local out=$!
	copies_late endless box:/tmp/in in &
	local in=$!
	copies_late other:/tmp/endless box:/tmp/over over &
	local over=$!
	wait "$out" && wait "$in" && wait "$over"
}

# copies_idle PATTERN SRC DST FILE: checks that hutch cp ends because of --idle-timeout, with an
# error in FILE that names the sandbox.
copies_idle() {
	local code=0
	timeout "$PATIENCE" "$HUTCH" cp --idle-timeout 100ms --max-size 16t "$2" "$3" 2>"$4" >/dev/null || code=$?
	[[ $code == 125 ]] && grep -qE "^hutch: sandbox $1 nothing of the copy of .* for 0.1 seconds" "$4" &&
		grep -q '^hutch: hint: --idle-timeout' "$4"
}

@test "hutch cp has a time-out of its own for a sandbox that lets it wait, and it leaves nothing" {
	make box
	make other
	truncate -s 7t endless
	mkdir folder
	stop_all box
	copies_idle "'box' has sent" box:/tmp/endless - out
	copies_idle "'box' has sent" box:/tmp/endless folder folder.err
	copies_idle "'box' has taken" endless box:/tmp/in in
	# On a busy machine the other sandbox may exceed its time limit first, so the error may
	# name either.
	copies_idle "'(box|other)' has (sent|taken)" box:/tmp/endless other:/tmp/over from
	copies_idle "'(box|other)' has (sent|taken)" other:/tmp/endless box:/tmp/over over
	[[ -z $(ls -A folder) ]]
}

@test "list, grep and git are answered when their time is over, and not when a later time-out is" {
	acts '
run("true", session="clock")
send({"action": "run", "args": {"command": "touch on; while :; do kill -STOP -1; done 2>/dev/null", "blocking": True}, "timeout": 1000, "id": 10**6, "session": "w"})
while read("on").observation == "error":
    pass
send({"action": "run", "args": {"command": "sleep 1000", "blocking": True}, "timeout": 8, "id": 10**6 + 1, "session": "clock"})
asked = {2: ("list", {"path": "/", "depth": 4096}), 3: ("grep", {"path": "/usr", "pattern": "zz*yx"}),
         4: ("git_changes", {"path": "/tmp"}), 5: ("git_clone", {"url": "/nonesuch"})}
for number, (action, args) in asked.items():
    send({"action": action, "args": args, "timeout": 1, "id": 10**6 + number, "session": f"s{number}"})
got = [receive() for i in range(len(asked) + 1)]
causes = [o.cause - 10**6 for o in got]
assert causes[-1] == 1, (causes, got)'
}
