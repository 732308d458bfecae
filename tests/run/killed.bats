#!/usr/bin/env bats
# Kills hutch at random instants, and makes many launches: nothing is left behind.  ROUNDS is the
# number of kills, LAUNCHES that of launches.

load helpers

setup() {
	begin
	room w
	image img
}

teardown() {
	end
}

# A build with sanitizers is slow and gets fewer rounds, unless the caller has set ROUNDS and
# LAUNCHES, as make soak does.
setup_file() {
	HUTCH=${HUTCH:-build/hutch} BUILD=$(dirname "${HUTCH:-build/hutch}")
	! is_sanitized || export ROUNDS=${ROUNDS:-25} LAUNCHES=${LAUNCHES:-100}
}

@test "killed at a random instant, hutch leaves no process, mount, folder or terminal mode" {
	"$here/killer.py" "$HUTCH" "$T"
}

@test "after a kill of any process of a named sandbox its record is left and the name is free" {
	as_who env PYTHONDONTWRITEBYTECODE=1 ROUNDS="${ROUNDS:-40}" \
		"$here/killer_named.py" "$HUTCH" "$T"
}

@test "78: many launches leave mounts, folders, descriptors and memory as they were" {
	"$here/leak.bash" "$HUTCH"
}

@test "a hundred sandboxes at once all run" {
	seq 100 | xargs -P 100 -I{} "$HUTCH" run sh -c 'echo {}' >out 2>err
	cat err
	[ "$(sort -n out | xargs)" = "$(seq 100 | xargs)" ]
	[ ! -s err ]
}

# A process that has such a trigger (PSI, poll on /proc/pressure) ends some 10 ms later for each
# of them, and no signal shortens that.
@test "no trigger can be written to the host's pressure, which would hold up the end" {
	run "$HUTCH" run -- sh -c 'for f in cpu io memory; do
			(: <>"/proc/pressure/$f") 2>/dev/null && echo "$f"
		done
		true'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

# A stopped executor does not notice the end of its channel, so it cannot end by itself when hutch
# is killed.
@test "an executor that does not run ends with its hutch" {
	start sh -c 'echo there; exec sleep 1000'
	said there
	for one in $(descendants "$pid"); do
		[[ $(cat "/proc/$one/comm") != *executor* ]] || executor=$one
	done
	kill -STOP "$executor"
	kill -KILL "$pid"
	until_true all_gone "$executor"
}
