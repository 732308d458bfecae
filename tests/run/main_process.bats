#!/usr/bin/env bats
# Tests of hutch create --main: the sandbox ends with one process (docs/hutch-create.md).

load helpers

teardown() {
	remove_boxes
	end
}

# ended NAME: waits for the end of sandbox NAME; prints the reason, exit code and limit of its record.
ended() {
	"$HUTCH" wait "$1" >/dev/null
	"$HUTCH" inspect "$1" | jq -r '.[].exit | "\(.reason) \(.exit_code) \(.limit)"'
}

# ready NAME: waits until the main process of NAME has written "ready".
ready() {
	[ "$("$HUTCH" logs -f "$1" | head -n 1)" = ready ]
}

@test "the sandbox ends with its main process, whose exit code and output are kept" {
	hutch create --main box -- sh -c 'echo out; echo err >&2; exit 3'
	[[ $status == 0 && $output == box && -z $stderr ]]
	[ "$(ended box)" = 'exited 3 null' ]
	hutch logs box
	[[ $output == out && $stderr == err ]]
	hutch create --main other sh -c 'kill -9 $$'
	[ "$(ended other)" = 'exited 137 null' ]
}

@test "all that stands in the pipes at its end is in the log" {
	hutch create --main box -- sh -c 'seq 1 200000'
	ended box
	[ "$("$HUTCH" logs box | cksum)" = "$(seq 1 200000 | cksum)" ]
}

@test "its end is the end of all other processes" {
	hutch create --main box -- sh -c 'sleep 1000 & mkfifo /tmp/f; echo ready; read line </tmp/f; exit 7'
	ready box
	hutch exec -d box sleep 1000
	hutch exec -d box sh -c 'echo >/tmp/f; exec sleep 1000'
	[ "$(ended box)" = 'exited 7 null' ]
}

@test "a command that is not there or cannot be run is create's error, and leaves nothing" {
	hutch create --main box nosuch
	[[ $status == 127 && $stderr == *'nosuch'* && -z $output ]]
	hutch create --main box /etc/passwd
	[[ $status == 126 && $stderr == *'/etc/passwd: Permission denied'* ]]
	[ -z "$("$HUTCH" ps -aq)" ]
	hutch create box
	[ "$status" = 0 ]
}

@test "stop sends SIGTERM to the main process alone, and ends the sandbox with it" {
	hutch create --main box -- sh -c 'trap "echo asked; exit 5" TERM; echo ready; sleep 1000 & wait'
	ready box
	hutch stop -t 1000 box
	[ "$(ended box)" = 'stopped 5 null' ]
	[ "$("$HUTCH" logs box)" = $'ready\nasked' ]
}

@test "a process that the main process has started does not get the SIGTERM of stop" {
	hutch create --main box -- sh -c '
		mkfifo /tmp/f; exec 3<>/tmp/f
		trap "echo go >&3; wait; exit 5" TERM
		(trap "told=yes" TERM; echo ready; read line <&3; echo "told: ${told:-no}") &
		wait'
	ready box
	hutch stop -t 1000 box
	[ "$(ended box)" = 'stopped 5 null' ]
	[ "$("$HUTCH" logs box)" = $'ready\ntold: no' ]
}

@test "a main process that does not end in time is killed" {
	hutch create --main box -- sh -c 'trap "" TERM; echo ready; exec sleep 1000'
	ready box
	hutch stop -t 0 box
	[ "$(ended box)" = 'stopped 137 null' ]
}

@test "a paused main process is stopped, too" {
	hutch create --main box -- sh -c 'trap "exit 6" TERM; echo ready; sleep 1000 & wait'
	ready box
	hutch pause box
	[ "$status" = 0 ] || skip "this host has no way to pause: $stderr"
	hutch stop -t 1000 box
	[ "$(ended box)" = 'stopped 6 null' ]
}

@test "--rm leaves no record and no log" {
	hutch create --main --rm box -- sh -c 'echo hi; exec sleep 1000'
	hutch stop box
	[ -z "$("$HUTCH" ps -aq)" ]
	hutch create --rm box
	hutch kill box
	[ -z "$("$HUTCH" ps -aq)" ]
	[ -z "$(find "$XDG_RUNTIME_DIR/hutch" -type f)" ]
}

@test "a sandbox that is kept runs the same words again, over the files that it has" {
	image img
	mkdir data
	give data
	export XDG_DATA_HOME=$T/data
	hutch create --main --keep --image dir:img -v /usr:/usr:ro box -- sh -c 'echo "$1" >>/f; cat /f; exit 3' - $'a\n b'
	[ "$status" = 0 ]
	[ "$(ended box)" = 'exited 3 null' ]
	hutch start box
	[ "$status" = 0 ]
	[ "$(ended box)" = 'exited 3 null' ]
	[ "$("$HUTCH" logs box)" = $'a\n b\na\n b' ]
	hutch rm box
	[ -z "$("$HUTCH" ps -aq)" ]
}

@test "the main process is no use of the sandbox" {
	hutch create --main --idle-timeout 10ms box -- sleep 1000
	[ "$(ended box)" = 'idle 0 idle-timeout' ]
}

@test "flags that exclude --main, and words that are missing, are named" {
	hutch create --main box
	[[ $status == 125 && $stderr == *'hutch create --main box -- CMD' ]]
	hutch create box true
	[[ $status == 125 && $stderr == *'or with it: hutch create --main box -- true' ]]
	hutch create --rm --keep --image dir:/ box
	[[ $status == 125 && $stderr == *'--keep and --rm exclude each other'* ]]
}
