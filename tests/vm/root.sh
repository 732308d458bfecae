#!/bin/bash
# Limits where root starts hutch, which then becomes user $2 or, without
# SUDO_UID, user 65534.  Run by root in the root cgroup; $1 is a folder that was
# delegated to user $2.
#
# shellcheck disable=SC2154 # from tap.sh and init.sh
. "${0%/*}/tap.sh"
GROUP=$1 user=$2 nobody=65534
by_hand=/sys/fs/cgroup/hutch-$nobody
export XDG_RUNTIME_DIR=/run/root-runtime HOME=/run
mkdir -p $XDG_RUNTIME_DIR

# below FOLDER COMMAND...: runs it as root in a leaf of that folder.
below() {
	mkdir "$1/leaf" || return
	(
		echo $BASHPID >"$1/leaf/cgroup.procs"
		shift
		"$@"
	)
	local result=$?
	rmdir "$1/leaf" && return $result
}

refused() {
	hutch --memory 64m -- true
	[ $rc = 125 ] && is status '"setup-error"' &&
		grep -q "as user $nobody, for whom root's sandboxes stand (nobody): limits need a cgroup" "$T/err" &&
		grep -q "hint: as root: .*$nobody.*; or add --best-effort" "$T/err"
}
# The user can make folders there, but the kernel moves a process only for a
# user that may write to the common ancestor, too.
elsewhere() {
	SUDO_UID=$user SUDO_GID=$user hutch --cgroup-parent "$GROUP" --memory 64m -- true
	[ $rc = 125 ] && grep -q 'must live in the same delegated cgroup' "$T/err" && nothing_left
}
weaker() {
	hutch --best-effort --memory 64m --pids-limit 16 -- /hog forks
	[ $rc = 0 ] && is degraded '["memory","pids-limit"]' &&
		grep -q '15 Resource temporarily unavailable' "$T/out"
}
# Like `sudo hutch` in a cgroup that was delegated to the user.
oom() {
	SUDO_UID=$user SUDO_GID=$user hutch --memory 64m --pids-limit 32 -- /hog heap
	[ $rc = 137 ] && is status '"oom"' && is degraded '[]' && nothing_left
}
limited() { below "$GROUP" oom; }
killed() {
	SUDO_UID=$user SUDO_GID=$user "$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$!
	until_true pgrep -x sleep || return
	[ "$(left_over | wc -l)" = 1 ] && kill -KILL $pid
	wait $pid
	until_true nothing_left
}
tidied() { below "$GROUP" killed; }
# hutch does not use a cgroup that was delegated to another user.
others_group() {
	hutch --memory 64m -- true
	[ $rc = 125 ] && grep -q "is not delegated to you" "$T/err"
}
others() { below "$GROUP" others_group; }

# Runs the very command that `hutch doctor` prints as a remedy, in a new shell.
told() {
	"$H" doctor >"$T/doctor"
	found missing "/sys/fs/cgroup.* is not delegated to user $nobody" || return
	sed -n '/^missing *cgroup /,/^[a-z]/s/^ *remedy  *as root: //p' "$T/doctor" >"$T/remedy"
	cat "$T/remedy"
	(eval "$(cat "$T/remedy")") || return
	# The delegation by this command takes effect a moment after the command has started.
	until_true finds ok || { cat "$T/doctor" && return 1; }
	hutch --memory 64m -- /hog heap
	[ $rc = 137 ] && is status '"oom"' || return
	[ ! -d $by_hand ] || found ok "$by_hand, above our own, is delegated to user $nobody"
}
by_doctor() {
	told
	local result=$?
	if [ -d $by_hand ]; then # this shell was moved, which calls hutch
		echo $BASHPID >/sys/fs/cgroup/cgroup.procs
		rmdir $by_hand/shell $by_hand || return
	else
		loginctl disable-linger $nobody || return
	fi
	return $result
}

try 'root: a limit is an error, which names the user and the remedy' refused
try 'root: so it is with a folder that the user has elsewhere' elsewhere
try 'root: --best-effort takes weaker limits' weaker
try 'root: below a folder of the user that root becomes limits hold' limited
try 'root: a launcher that is killed leaves no cgroup' tidied
try 'root: a folder of another user is not taken' others
try 'root: what hutch doctor tells root to do makes limits hold' by_doctor
echo "1..$count"
