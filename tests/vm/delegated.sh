#!/bin/bash
# delegated.sh [limits] [owners]: the limits in cgroups that this script delegates as a service
# manager would, and whose cgroups hutch uses; without a word, both.
# Run by root where cgroup2 is mounted with all its controllers; T, H and HOG
# are set for tap.sh, and T belongs to the user LIMITS_UID (default 1000).
user=${LIMITS_UID:-1000} group=/sys/fs/cgroup/delegated

# Delegates a cgroup as a service manager does for a unit with Delegate=yes.
delegate() {
	echo '+cpu +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
	mkdir "$1"
	chown $user:$user "$1" "$1"/cgroup.{procs,threads,subtree_control}
}

# as_user GROUP COMMAND...: runs a command as the user, started in that group.
as_user() (
	echo 0 >"$1/cgroup.procs"
	shift
	exec setsid setpriv --reuid $user --regid $user --clear-groups --reset-env \
		env PATH="$PATH" HOME=/run/home XDG_RUNTIME_DIR=/run/runtime T="$T" H="$H" \
		HOG="$HOG" GROUP=$group HUTCH_ONLY="${HUTCH_ONLY:-}" \
		${ROUNDS:+ROUNDS="$ROUNDS"} "$@" 2>&1
)

here=${0%/*}
# whole COMMAND...: a script that ends before its last line must fail, since it
# does not report the tests that it left out.
whole() {
	"$@" 2>&1 || echo "not ok - ended with code $?: $*"
}
limits() {
	whole as_user $group "$here/limits.sh"
}
owners() {
	mkdir /sys/fs/cgroup/foreign
	whole as_user /sys/fs/cgroup/foreign "$here/foreign.sh"
	whole "$here/own.sh" /sys/fs/cgroup/alone $user
	delegate /sys/fs/cgroup/sudo
	whole "$here/root.sh" /sys/fs/cgroup/sudo $user
}
delegate $group && delegate /sys/fs/cgroup/alone ||
	{ echo "not ok - no group can be delegated" && exit 1; }
[ $# -gt 0 ] || set limits owners
for part; do
	$part
done
