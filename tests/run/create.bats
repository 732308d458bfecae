#!/usr/bin/env bats
# Tests of hutch create: the sandbox lives on after the command, and ends by itself at its limits
# (docs/hutch-create.md).

load helpers

teardown() {
	remove_boxes
	end
}

make() {
	hutch create "$@"
	[[ $status == 0 ]]
}

# reason NAME REASON CODE [LIMIT]: waits for the end of sandbox NAME, and checks its exit code,
# the recorded reason, and the limit that was reached.
reason() {
	hutch wait "$1"
	[ "$output" = "$3" ]
	hutch inspect "$1"
	grep -q "\"reason\": \"$2\"" <<<"$output"
	[ -z "${4:-}" ] || grep -q "\"limit\": \"$4\"" <<<"$output"
}

@test "create prints the name when the sandbox is ready, and then ends" {
	make box
	[ "$output" = box ]
	[ -z "$stderr" ]
	hutch exec box echo hi
	[ "$output" = hi ]
}

@test "--json writes an object when the sandbox is ready or failed, and closes the descriptor" {
	exec 8>"$T/object"
	make --json=8 box
	exec 8>&-
	[ "$output" = box ]
	[ "$(cat "$T/object")" = '{"version":1,"name":"box","error":null}' ]
	hutch create --json=9 box 9>"$T/object"
	[ "$status" -eq 125 ]
	grep -qE '^\{"version":1,"name":"box","error":\{"kind":"exists","message":"[^"]+","remedy":.*\}\}$' "$T/object"
	# The supervisor lives on but must close descriptor 9, or this command substitution would
	# not end.
	[ "$({ "$HUTCH" create --json=9 other 9>&3 >/dev/null; } 3>&1 | cut -c1-28)" = '{"version":1,"name":"other",' ]
	hutch create --json --no-such-flag box
	[[ ${stderr_lines[-1]} == '{"version":1,"name":null,"error":{"kind":"usage",'* ]]
}

@test "a client that comes before the sandbox is ready cannot pause it" {
	as_who env PYTHONDONTWRITEBYTECODE=1 "$here/early.py" "$HUTCH"
}

@test "a sandbox outlives the terminal and the session that it was made in" {
	script -qec "'$HUTCH' create box; kill -HUP 0" /dev/null </dev/null >/dev/null || true
	hutch exec box echo hi
	[ "$output" = hi ]
}

@test "a supervisor is called hutch, and holds nothing of the caller's" {
	cd "$T"
	make box
	local pid folder
	hutch inspect box
	pid=$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' <<<"$output")
	supervisor=$(ps -o ppid= -p "$pid" | tr -d ' ')
	[ "$(ps -o comm= -p "$supervisor")" = hutch ]
	[ "$(ps -o tty= -p "$supervisor" | tr -d ' ')" = '?' ]
	[ "$(ps -o sid= -p "$supervisor" | tr -d ' ')" = "$supervisor" ]
	is_root || [ "$(readlink "/proc/$supervisor/cwd")" = / ]
}

# The page that brk(2) adds would take three more of page tables (base/lean.h).
@test "no process that lives as long as a sandbox has a heap of brk(2)" {
	needs_static
	make box
	local supervisor pid
	supervisor=$(supervisor_of box)
	for pid in "$supervisor" $(pgrep -P "$supervisor"); do
		[ "$(grep -cF "[stack]" "/proc/$pid/maps")" -eq 1 ]
		[ "$(grep -cF "[heap]" "/proc/$pid/maps")" -eq 0 ]
	done
}

@test "--ttl, --timeout and --idle-timeout end it, and the record says which" {
	make --ttl 200ms one
	make --timeout 200ms two
	make --idle-timeout 200ms three
	reason one timeout 124 ttl
	reason two timeout 124 timeout
	reason three idle 0 idle-timeout
}

# used_in_time: makes box and starts a command in it; fails if box was idle for one second before,
# as on a busy machine.
used_in_time() {
	make --idle-timeout 1s -v "$T/w:/w" box
	"$HUTCH" exec -d box sh -c 'read x </w/go' && return
	reason box idle 0 idle-timeout
	"$HUTCH" rm box
	return 1
}

@test "a sandbox that is used is not idle" {
	room w
	mkfifo w/go
	give w
	until_true used_in_time
	# A second sandbox, made later, ends after one idle second; box would have ended before it
	# if it were idle.
	make --idle-timeout 1s later
	reason later idle 0 idle-timeout
	[ "$("$HUTCH" ps -q)" = box ]
	echo >w/go
	reason box idle 0 idle-timeout
}

@test "a sandbox is not idle before it is ready" {
	make --idle-timeout 1ms box
	reason box idle 0 idle-timeout
}

@test "a client that only reads the state does not keep the sandbox from being idle" {
	make --idle-timeout 500ms box
	while "$HUTCH" stats box >/dev/null 2>&1 && "$HUTCH" ps | grep -q '^box'; do
		((++looks < 1000))
	done
	reason box idle 0 idle-timeout
}

# events_until_its_end: records the events of box into the file events, in the background.
events_until_its_end() {
	"$HUTCH" events -f --json box >events &
	started+=($!)
}

has_samples() {
	[ "$(grep -c '"event":"sample"' events)" -ge 5 ]
}

@test "--sample reports the usage while a command runs, and only then" {
	room w
	mkfifo w/go
	give w
	make --sample 100ms -v "$T/w:/w" box
	events_until_its_end
	"$HUTCH" exec -d box sh -c 'cat /w/go; :'
	until_true has_samples
	echo >w/go
	until_true grep -q '"event":"exited"' events
	"$HUTCH" events box >kept
	"$HUTCH" rm -f box
	wait "${started[@]}"
	"$here/create.py" samples <events
	never grep sample kept
}

@test "without --sample nothing is told of what is used" {
	room w
	mkfifo w/go
	give w
	make -v "$T/w:/w" box
	events_until_its_end
	"$HUTCH" exec -d box sh -c 'cat /w/go; :'
	# The second sandbox has samples: when they come, enough time has passed for the first one
	# to have sent some, too.
	make --sample 100ms -v "$T/w:/w" other
	"$HUTCH" events -f --json other >other_events &
	started+=($!)
	"$HUTCH" exec -d other sleep 1000
	until_true grep -q '"event":"sample"' other_events
	echo >w/go
	until_true grep -q '"event":"exited"' events
	"$HUTCH" rm -f box other
	wait "${started[@]}"
	never grep sample events
}

@test "--sample takes an interval that is no load" {
	for value in 99ms 0 x ''; do
		hutch create --sample "$value" box
		[[ $status == 125 && ${stderr_lines[0]} == "hutch: --sample"* ]]
	done
}

@test "a sandbox that cannot be made leaves no name and no record" {
	hutch create --workspace /nowhere box
	[ "$status" -eq 125 ]
	one_sentence 'mount /nowhere: no such folder on the host'
	hutch create --image dir:/nowhere box
	[ "$status" -eq 125 ]
	hutch ps -a -q
	[ -z "$output" ]
}

@test "a name that is taken is told, and free as soon as the sandbox has ended" {
	make box
	hutch create box
	[ "$status" -eq 125 ]
	one_sentence "a sandbox named 'box' is running"
	hutch stop box
	make box
}

@test "flags of a single command make no sense for it" {
	for flag in -i -t --dry-run; do
		hutch create $flag box
		[ "$status" -eq 125 ]
		grep -q 'makes no sense for hutch create' <<<"$stderr"
	done
	hutch create
	one_sentence 'hutch create: NAME is missing'
	hutch create a b
	one_sentence "hutch create takes one name, but got 'a' and 'b'"
	grep -q 'hutch create a, then hutch exec a b' <<<"$stderr"
	hutch create -- true
	one_sentence "hutch create runs no command, but 'true' stands behind '--'"
	grep -q 'hutch create NAME, then hutch exec NAME true' <<<"$stderr"
	hutch create a --memory 1g
	one_sentence "hutch create takes its options before the name, but got '--memory' behind 'a'"
	hutch ps -a -q
	[ -z "$output" ]
	hutch run --ttl 3s true
	one_sentence '--ttl is a flag of hutch create'
	hutch run --lint true
	one_sentence '--lint is a flag of hutch act and hutch create'
	hutch act --lint box
	one_sentence "hutch act takes no command, but got 'box'" && grep -q 'hutch act NAME' <<<"$stderr"
}

# The process that reads a FIFO sees the end of file only when no process holds the FIFO open for
# writing.
@test "a descriptor of the caller's is held neither by a supervisor nor by hutch act" {
	mkfifo leak words
	timeout "$PATIENCE" cat leak &
	started+=($!)
	local reader=$!
	make box 9>leak
	wait "$reader"
	timeout "$PATIENCE" cat leak &
	started+=($!)
	reader=$!
	"$HUTCH" act <words >said 9>leak 3>&- &
	started+=($!)
	exec 7>words
	echo '{"action":"run","args":{"command":"echo here"}}' >&7
	wait "$reader"
	exec 7>&-
	wait $!
}
