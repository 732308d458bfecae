#!/bin/bash
# Limits where no cgroup is delegated to the user.
#
# shellcheck disable=SC2154 # from tap.sh and init.sh
. "${0%/*}/tap.sh"

refused() {
	hutch --memory 64m -- true
	[ $rc = 125 ] && is status '"setup-error"' && grep -q 'not delegated to you' "$T/err" &&
		grep -q 'hint: as root: .*; or add --best-effort' "$T/err"
}
# The cgroup exists and is delegated to the user, but hutch runs outside of it, so the
# kernel refuses to move processes there.
elsewhere() {
	hutch --cgroup-parent "$GROUP" --memory 64m -- true
	[ $rc = 125 ] && grep -q 'must live in the same delegated cgroup' "$T/err" && nothing_left
}
watched() {
	hutch --best-effort --memory 64m -- /hog heap 400
	[ $rc = 137 ] && is status '"oom"' && is degraded '["memory"]' &&
		grep -q 'when hutch looked' "$T/err"
}
spared() {
	# The hog reserves far more than it uses, and shares its pages with its
	# children.
	hutch --best-effort --memory 64m -- sh -c 'ulimit -v unlimited; /hog heap 30; /hog heap 30'
	[ $rc = 0 ] && is degraded '["memory"]'
}
counted() {
	hutch --best-effort --pids-limit 16 --cpus 1 -- /hog forks
	[ $rc = 0 ] && grep -qx '15 Resource temporarily unavailable' "$T/out" &&
		is degraded '["cpus","pids-limit"]'
}
bounded_files() {
	hutch --best-effort --memory 64m --disk 4m -- /hog file /tmp/a
	[ $rc = 0 ] && grep -q 'No space left' "$T/out" && is degraded '["memory"]'
}
disk_alone() {
	hutch --disk 4m -- /hog file /tmp/a
	[ $rc = 0 ] && is degraded '[]'
}
doctor() {
	finds missing "/sys/fs/cgroup/foreign is not delegated to user $UID, and no user manager"
}

try 'a limit without a delegated cgroup is an error with its remedy' refused
try 'so is a limit in a delegated cgroup that hutch does not live below' elsewhere
try '--best-effort: memory is watched' watched
try '--best-effort: a command under the limit is left alone' spared
try '--best-effort: processes are counted' counted
try '--best-effort: files in memory are bounded' bounded_files
try '--disk alone needs no cgroup' disk_alone
try 'hutch doctor says that no limit can be had' doctor
echo "1..$count"
