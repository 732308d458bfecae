#!/bin/bash
# Tests hutch as the only process of a delegated cgroup, which is how
# `systemd-run --scope` starts it.  Run by root, outside of that cgroup; $1 is
# the cgroup's folder, $2 its user.
#
# shellcheck disable=SC2154 # from tap.sh
. "${0%/*}/tap.sh"
GROUP=$1 user=$2

# alone COMMAND...: becomes the command, in the cgroup.
alone() {
	echo 0 >"$GROUP/cgroup.procs"
	as_user "$@"
}
as_user() {
	exec setpriv --reuid "$user" --regid "$user" --clear-groups --reset-env env PATH="$PATH" \
		HOME=/run/home XDG_RUNTIME_DIR=/run/runtime "$@"
}
as_found() {
	nothing_left && [ -z "$(cat "$GROUP/cgroup.subtree_control")" ] &&
		[ -z "$(cat "$GROUP/cgroup.procs")" ]
}

# `hutch create` waits in the cgroup until the sandbox is ready.
named() {
	(alone "$H" create --memory 64m -v "$HOG:/hog:ro" box) || return
	[ -d "$GROUP/sup" ] && [ -z "$(cat "$GROUP/cgroup.procs")" ] || return
	(as_user "$H" exec box /hog heap)
	[ $? = 137 ] && (as_user "$H" exec box true) && (as_user "$H" rm -f box) &&
		until_true as_found
}

limited() {
	(alone "$H" run --memory 64m --cpus 0.5 -v "$HOG:/hog:ro" --json=3 -- /hog heap \
		2>"$T/err" 3>"$T/json")
	[ $? = 137 ] && is status '"oom"' && as_found
}
two() {
	local first second
	alone "$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	first=$!
	until_true pgrep -x sleep || return
	[ -d "$GROUP/sup" ] && [ -z "$(cat "$GROUP/cgroup.procs")" ] || return
	# The cgroup itself accepts no further process (cgroups(7): no internal
	# processes), so a second hutch is started in a leaf.
	mkdir "$GROUP/leaf" && chown -R "$user" "$GROUP/leaf"
	(GROUP=$GROUP/leaf && alone "$H" run --pids-limit 9 --memory 32m -- true)
	second=$?
	kill $first
	wait $first
	rmdir "$GROUP/leaf"
	[ $second = 0 ] && as_found
}
killed() {
	alone "$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$!
	until_true pgrep -x sleep || return
	[ -d "$GROUP/sup" ] && grep -q sup$ /proc/$pid/cgroup || return
	kill -KILL $pid
	wait $pid
	until_true as_found
}
# hutch itself has oom_score_adj -1000 here.  Its commands do not inherit that value,
# with which the kernel could not kill them.
spared() {
	(
		echo -1000 >/proc/$BASHPID/oom_score_adj
		alone "$H" run --memory 64m -v "$HOG:/hog:ro" --json=3 -- /hog heap \
			2>"$T/err" 3>"$T/json"
	)
	[ $? = 137 ] && is status '"oom"' && as_found
}
# hutch's shell lives in the cgroup, too; hutch does not move foreign processes.
shared() {
	# shellcheck disable=SC2016
	(alone sh -c '"$@"; exit $?' sh "$H" run --memory 64m -- true 2>"$T/err")
	[ $? = 125 ] && grep -q 'has other processes in it' "$T/err" &&
		grep -q 'hint: g=.*; mkdir -p $g/shell; for p in' "$T/err" && as_found
}
doctor() {
	(alone "$H" doctor) >"$T/doctor"
	found ok "$GROUP is delegated to user $user" || return
	# shellcheck disable=SC2016
	(alone sh -c '"$@"; exit $?' sh "$H" doctor) >"$T/doctor"
	found limited "$GROUP is delegated to user $user, but 1 other processes live in it" &&
		as_found
}

try 'alone in it: a sandbox with a name' named
try 'alone in a delegated cgroup hutch makes room, and goes back' limited
try 'a second hutch finds its place beside the first' two
try 'its janitor goes back too, when it was killed' killed
try 'a caller that the out-of-memory killer spares does not pass that on' spared
try 'a cgroup with others in it is not taken' shared
try 'hutch doctor reports the same in both cases' doctor
echo "1..$count"
