#!/usr/bin/env bats
# Killed at any instant, and launched many times: nothing is left.
# ROUNDS and LAUNCHES say how often.

load helpers

setup() {
	begin
	room w
	image img
}

teardown() {
	end
}

# Fewer of a build that is slow; make soak has as many as it says.
setup_file() {
	HUTCH=${HUTCH:-build/hutch} BUILD=$(dirname "${HUTCH:-build/hutch}")
	! is_sanitized || export ROUNDS=${ROUNDS:-25} LAUNCHES=${LAUNCHES:-100}
}

@test "killed at a random instant, hutch leaves no process, mount, folder or terminal mode" {
	"$here/killer.py" "$HUTCH" "$T"
}

@test "whoever is killed of a sandbox with a name, its record is left and the name is free" {
	as_who env PYTHONDONTWRITEBYTECODE=1 ROUNDS="${ROUNDS:-100}" \
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

# Its end is not its own doing: one that is stopped reads no end of a channel.
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
