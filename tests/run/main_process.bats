#!/usr/bin/env bats
# Tests of hutch create --main: the sandbox lives as long as its main process
# (docs/hutch-create.md).

bats_require_minimum_version 1.5.0
load helpers
load busybox

setup() {
	begin
	room w
	mkfifo w/go
	give w
}

teardown() {
	remove_boxes
	end
}

# main [OPTION...] -- ARG...: makes box with that main process.
main() {
	local options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	hutch create --main -v "$T/w:/w" "${options[@]}" box "$@"
	[[ $status == 0 && $output == box ]]
}

# waiting [OPTION...] -- SCRIPT: makes box with a shell whose last step is to read a line of /w/go,
# and to end with it as its code.
waiting() {
	local options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	main "${options[@]}" -- sh -c "$2"'; read -r code </w/go; exit "$code"'
}

# ends CODE REASON: waits for the end of box, and checks how it ended.
ends() {
	hutch wait box
	[ "$output" = "$1" ]
	[ "$("$HUTCH" inspect box | jq -r '.[0].exit | "\(.exit_code) \(.reason)"')" = "$1 $2" ]
}

# of_main FILTER: prints a member of what inspect says of the main process.
of_main() {
	"$HUTCH" inspect box | jq -c ".[0].main$1"
}

# image_with KEY=VALUE...: puts the image img into the store, which has a shell.
image_with() {
	needs_static
	command -v busybox >/dev/null || skip "busybox-static is not installed"
	mkdir -p base/bin base/etc base/root
	cp "$(command -v busybox)" base/bin/busybox
	local name
	for name in sh echo cat kill; do
		ln -s busybox "base/bin/$name"
	done
	printf 'root:x:0:0:root:/root:/bin/sh\n' >base/etc/passwd
	give base
	"$here/store.py" img base "$@" >/dev/null
	give home
}

# nothing_of_box: checks that there is no trace of box.
nothing_of_box() {
	[ -z "$("$HUTCH" ps -aq)" ]
	hutch logs box
	[ "$status" -eq 125 ]
}

@test "the end of the main process is the end of the sandbox, with its exit code and its output" {
	main -- sh -c 'echo out; echo err >&2; exit 3'
	ends 3 exited
	hutch logs box
	[ "$output" = out ]
	[ "$stderr" = err ]
	"$HUTCH" rm box
	main -- sh -c 'kill -KILL $$'
	ends 137 exited
}

@test "all output that the main process has written before its end is in the log" {
	main -- seq 1 5000
	ends 0 exited
	[ "$("$HUTCH" logs box)" = "$(seq 1 5000)" ]
}

@test "it has the environment, folder and user of the sandbox, and nothing to read" {
	main -e A=b -w /tmp -- sh -c 'echo "$A"; pwd; id -u; read -r x || echo nothing; echo "$0 $*"' a 'b c'
	ends 0 exited
	[ "$("$HUTCH" logs box)" = 'b
/tmp
1000
nothing
a b c' ]
}

@test "the end of the main process ends everything else in the sandbox" {
	waiting -- :
	hutch exec box sh -c 'echo 4 >/w/go; exec sleep 1000'
	[ "$status" -eq 137 ]
	ends 4 exited
}

@test "the image's entrypoint is the main process, followed by the arguments or the image's Cmd" {
	image_with entrypoint=echo entrypoint=entry cmd=of cmd=image
	local rows=('entry of image|'
		'entry of caller|-- of caller'
		'of caller|--entrypoint echo -- of caller'
		'shell|--entrypoint= -- sh -c "echo shell"')
	local row
	for row in "${rows[@]}"; do
		eval "set -- ${row#*|}"
		local options=()
		while [[ $# != 0 && $1 != -- ]]; do
			options+=("$1")
			shift
		done
		hutch create --main --image img "${options[@]}" box "$@"
		[ "$status" -eq 0 ]
		ends 0 exited
		[ "$("$HUTCH" logs box)" = "${row%%|*}" ]
		"$HUTCH" rm box
	done
}

@test "a command that is not there is an error with 127 that says so, and leaves nothing" {
	hutch create --main box -- "no-$mark"
	[ "$status" -eq 127 ]
	[[ $stderr == "hutch: no-$mark: command not found inside, nor on this host's PATH"* ]]
	nothing_of_box
	image_with entrypoint=/absent
	hutch create --main --image img box
	[ "$status" -eq 127 ]
	[[ $stderr == 'hutch: /absent: command not found in the image img'* ]]
	nothing_of_box
	hutch create --json=9 --main box -- /etc 9>object
	[ "$status" -eq 126 ]
	[ "$(jq -r .error.kind object)" = refused ]
	nothing_of_box
}

@test "a command that is not there leaves nothing kept" {
	needs_static
	export XDG_DATA_HOME=$T/data
	room data
	needs_data_attributes
	image image
	hutch create --keep --main --image "dir:$T/image" box -- /absent
	[ "$status" -eq 127 ]
	nothing_of_box
	[ -z "$(ls data/hutch/kept)" ]
}

@test "words behind -- need --main, and its flags do too" {
	refuses_to_create() {
		hutch create "${@:2}"
		[ "$status" -eq 125 ]
		[[ $stderr == *"$1"* ]]
		[ -z "$("$HUTCH" ps -aq)" ]
	}
	refuses_to_create 'hutch create --main box -- sh' box -- sh -c true
	refuses_to_create '--main' --restart always box
	refuses_to_create '--main' --entrypoint sh --image x box
	refuses_to_create 'hutch create --main box -- CMD' --main box
	refuses_to_create 'hutch create --main box -- sh' --main box sh
	refuses_to_create '--restart and --rm' --main --rm --restart always box -- true
	refuses_to_create '--keep and --rm' --keep --rm --image x box
	refuses_to_create 'on-failure[:N]' --main --restart sometimes box -- true
}

@test "stop sends SIGTERM to the main process alone, and its exit code is the sandbox's" {
	# The shell beside it would write into the log.
	main -- sh -c 'trap "echo main; exit 7" TERM; (trap "echo other" TERM; echo up >/w/go; while :; do read -r x </w/go; done) & while :; do wait; done'
	read -r up <w/go
	[ "$up" = up ]
	hutch stop box
	[ "$status" -eq 0 ]
	ends 7 stopped
	[ "$("$HUTCH" logs box)" = main ]
}

@test "stop ends a main process that goes on when the time has passed" {
	main -- sh -c 'trap "" TERM; echo up >/w/go; while :; do read -r x </w/go; done'
	read -r up <w/go
	hutch stop -t 0 box
	ends 137 stopped
}

@test "stop lets a paused main process go on, so that it can end" {
	main -- sh -c 'trap "exit 7" TERM; echo up >/w/go; while :; do read -r x </w/go; done'
	read -r up <w/go
	hutch pause box
	[ "$status" -eq 0 ]
	hutch stop box
	ends 7 stopped
}

@test "stop sends the StopSignal of the image" {
	image_with stop-signal=SIGUSR1
	main --image img -- sh -c 'trap "exit 8" USR1; echo up >/w/go; while :; do read -r x </w/go; done'
	read -r up <w/go
	hutch stop box
	ends 8 stopped
	"$HUTCH" rm box
	"$here/store.py" other base stop-signal=SIGNONE >/dev/null
	give home
	hutch create --main --image other box -- sh
	[ "$status" -eq 125 ]
	[[ $stderr == *"StopSignal of the image other is 'SIGNONE'"* ]]
	nothing_of_box
}

@test "--stop-signal wins over the signal of the image, and is kept" {
	export XDG_DATA_HOME=$T/data
	room data
	needs_data_attributes
	image image
	main --keep --image "dir:$T/image" -v /usr:/usr:ro --stop-signal USR2 -- \
		sh -c 'trap "exit 8" USR2; echo up >/w/go; while :; do read -r x </w/go; done'
	for _ in made started; do
		read -r up <w/go
		hutch stop box
		ends 8 stopped
		hutch start box
		[ "$status" -eq 0 ]
	done
	hutch create --stop-signal TERM plain
	[ "$status" -eq 125 ]
	[[ $stderr == *'--stop-signal is for a main process'* ]]
	hutch create --main --stop-signal NONE plain -- true
	[ "$status" -eq 125 ]
	[[ $stderr == *"not 'NONE'"* ]]
}

@test "a signal of exec.signal reaches the main process alone" {
	main -- sh -c 'trap "exit 9" HUP; (trap "echo other" HUP; echo up >/w/go; while :; do read -r x </w/go; done) & while :; do wait; done'
	read -r up <w/go
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"hello"}' \
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"exec.signal\",\"params\":{\"process\":$(of_main .process),\"signal\":\"HUP\"}}" \
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"exec.wait\",\"params\":{\"process\":$(of_main .process)}}" |
		"$HUTCH" connect box >answers
	[ "$(jq -s -c '.[] | select(.id == 3) | .result.exit_code' answers)" = 9 ]
	ends 9 exited
	[ -z "$("$HUTCH" logs box)" ]
}

@test "inspect tells of the main process, also after its end" {
	waiting -- :
	[ "$(of_main .argv[0])" = '"sh"' ]
	[ "$(of_main '|[.state,.exit_code,.restart,.restarts]')" = '["running",null,"no",0]' ]
	local process
	process=$(of_main .process)
	echo 5 >w/go
	ends 5 exited
	[ "$(of_main '|[.state,.exit_code,.restart,.restarts]')" = '["exited",5,"no",0]' ]
	[ "$(of_main .process)" = "$process" ]
	hutch create plain
	[ "$("$HUTCH" inspect plain | jq -c '.[0].main')" = null ]
}

@test "inspect tells of a command that is long as much as there is room for" {
	local long
	long=$(printf '%0100000d' 0)
	main -- sh -c 'echo "${#1}"' - "$long" end
	ends 0 exited
	[ "$("$HUTCH" logs box)" = 100000 ]
	[ "$(of_main .argv)" = '["sh","-c","echo \"${#1}\"","-"]' ]
	"$HUTCH" rm box
	main --label "key=$(printf '%032000d' 0)" -- sh -c 'echo "${#1}"' - "$(printf '%08000d' 0 | tr 0 '\001')"
	ends 0 exited
	[ "$("$HUTCH" logs box)" = 8000 ]
	[ "$(of_main '.argv|length')" = 4 ]
}

@test "a main process does not keep the sandbox from being idle" {
	main --idle-timeout 200ms -- sleep 1000
	ends 0 idle
}

@test "--rm leaves no record and no log, whatever the end" {
	waiting --rm -- 'echo hi'
	echo 3 >w/go
	hutch wait box
	nothing_of_box
	hutch create --rm box
	"$HUTCH" stop -t 0 box
	nothing_of_box
	hutch create --rm box
	"$HUTCH" rm -f box
	nothing_of_box
	hutch create --rm box
	kill -KILL "$(ps -o ppid= -p "$("$HUTCH" inspect box | jq '.[0].pid')")"
	hutch wait box
	nothing_of_box
}

@test "a waiting client gets the exit code of a sandbox with --rm" {
	waiting --rm -- :
	"$HUTCH" wait box >code 2>err &
	local waiter=$!
	until_true waits "$waiter"
	echo 3 >w/go
	wait "$waiter"
	[ "$(cat code)" = 3 ]
}

# waits PID: true if the process waits for a lock.
waits() {
	grep -q "FLOCK.* $1 " /proc/locks
}

# counts SCRIPT: a script that appends a line to /workspace/runs, and then does SCRIPT in the third
# run.
counts() {
	echo 'echo run >>/workspace/runs; [ "$(wc -l </workspace/runs)" -lt 3 ] || { '"$1; }; exit 6"
}

@test "--restart starts the main process again, in the same sandbox, as often as it says" {
	main --restart on-failure:2 -- sh -c "$(counts 'echo third')"
	ends 6 exited
	[ "$("$HUTCH" logs box)" = third ]
	[ "$(of_main '|[.restart,.restarts]')" = '["on-failure:2",2]' ]
	"$HUTCH" rm box
	main --restart on-failure -- sh -c "$(counts 'exit 0')"
	ends 0 exited
	[ "$(of_main .restarts)" = 2 ]
	"$HUTCH" rm box
	main --restart no -- sh -c "$(counts :)"
	ends 6 exited
	[ "$(of_main .restarts)" = 0 ]
}

@test "a restart is an event, and the process has another number" {
	main --restart always -- sh -c "$(counts 'echo up >/w/go; read -r x </w/go')"
	read -r up <w/go
	"$HUTCH" events --json box | jq -c 'select(.event == "restart") | [.exit_code,.restarts,.delay_s]' >restarts
	[ "$(cat restarts)" = '[6,1,0.1]
[6,2,0.2]' ]
	[ "$(of_main .restarts)" = 2 ]
	[ "$(of_main .state)" = '"running"' ]
	[ "$(of_main .process)" -gt 1 ]
	hutch kill box
	ends 137 killed
}

@test "a restart ends all other processes first" {
	main --restart always -- sh -c '[ -e /workspace/old ] || { sleep 1000 & touch /workspace/old; read -r x </w/go; exit 1; }
		echo up >/w/go; read -r x </w/go'
	catch timeout "$PATIENCE" "$HUTCH" exec box sh -c 'echo go >/w/go; exec sleep 1000'
	[ "$status" -eq 137 ]
	read -r up <w/go
	hutch exec box sh -c 'for p in /proc/[0-9]*; do cat $p/comm; done'
	has '^sh$'
	has_not sleep
}

@test "stop ends a main process for good, also while it waits for its restart" {
	main --restart always -- sh -c 'trap "exit 7" TERM; echo up >/w/go; while :; do read -r x </w/go; done'
	read -r up <w/go
	hutch stop box
	ends 7 stopped
	"$HUTCH" rm box
	main --restart unless-stopped -- false
	"$HUTCH" events -f box | grep -m 1 'restarts=3'
	timeout "$PATIENCE" "$HUTCH" stop -t 86400 box
	"$HUTCH" inspect box | jq -r '.[0].exit.reason' | grep -qx stopped
}

@test "a sandbox that is paused starts its main process when it goes on" {
	main --restart always -- sh -c '[ -e /workspace/old ] || { touch /workspace/old; read -r x </w/go; exit 1; }
		echo up >/w/go; read -r x </w/go'
	echo go >w/go
	hutch pause box
	[ "$status" -eq 0 ]
	hutch unpause box
	read -r up <w/go
	[ "$up" = up ]
	[ "$(of_main .restarts)" = 1 ]
}

@test "hutch start starts the main process of a kept sandbox again" {
	export XDG_DATA_HOME=$T/data
	room data
	needs_data_attributes
	image image
	mkfifo w/go{1,2,3}
	give w
	main --keep --image "dir:$T/image" -v /usr:/usr:ro --restart on-failure:1 -- \
		sh -c 'echo run >>/runs; read -r code </w/go$(wc -l </runs); exit "$code"' 'a b' "it's"
	echo 0 >w/go1
	ends 0 exited
	hutch start box
	[ "$status" -eq 0 ]
	[ "$(of_main '|[.argv[3],.argv[4],.restart,.restarts]')" = '["a b","it'"'"'s","on-failure:1",0]' ]
	echo 1 >w/go2
	echo 2 >w/go3
	ends 2 exited
	[ "$(of_main .restarts)" = 1 ]
}

@test "--keep refuses words of the main process that have a secret in them" {
	export XDG_DATA_HOME=$T/data
	room data
	needs_data_attributes
	image image
	hutch create --keep --main --secret A=hidden-word --image "dir:$T/image" box -- echo hidden-word
	[ "$status" -eq 125 ]
	[[ $stderr == *'stands in the words of the main process'* && $stderr != *hidden-word* ]]
	nothing_of_box
}

@test "a policy says main and restart, and hutch run ignores both" {
	echo '{"version":1,"main":true,"restart":"on-failure:1"}' >p.json
	hutch create --policy ./p.json -v "$T/w:/w" box -- sh -c "$(counts :)"
	ends 6 exited
	[ "$(of_main .restarts)" = 1 ]
	inside --policy ./p.json echo done
	[ "$output" = done ]
}
