#!/bin/bash
# run.sh: rootless podman with a given runtime, a command line a test (commands.sh).
#
#	RUNTIME=/path/to/a/runtime tests/engines/podman/run.sh
#
# RUNTIME (default: crun, runc and the newest runc) is the program to test.  Root starts it, and
# podman runs as the ordinary user, with images and containers of its own.  Where cgroups are of
# version 2, limits.sh runs as that user, in a cgroup that is delegated to it, and as root; with
# LISTS=limits nothing else does.  Prints TAP; the output of each command is kept in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"

# limits_of_user, limits_of_root: run limits.sh within `apart`.
limits_of_user() {
	local group=/sys/fs/cgroup/user
	mkdir -p $group/suite && delegate $group && chown -R hutch-test $group &&
		echo $BASHPID >$group/suite/cgroup.procs || return
	as_user env FOLDER="$work" RUNTIME="$runtime" PARENT=/user "$work/limits.sh"
}
limits_of_root() {
	mkdir -p /sys/fs/cgroup/root "$work/root" && delegate /sys/fs/cgroup/root || return
	FOLDER=$work RUNTIME=$runtime PARENT=/root XDG_RUNTIME_DIR=$work/root "$work/limits.sh"
}

# list NAME COMMAND...: runs a list within `apart`, and counts.
list() {
	local list=$1 log=$logs/podman-$name-${1// /-}
	shift
	apart timeout -k 5 600 bash -c "$1" >"$log.log" 2>"$log.log.err" </dev/null
	counted "podman $version $list" "$name" "$(tally "$log.log")"
	sed -n "s/^not ok [0-9]* - /# $name, $list, not: /p" "$log.log"
}

needs_root
needs podman podman
needs busybox busybox-static
version=$(podman --version)
version=${version##* }
for program in $(references); do
	runtime=$(program_path "$program") || give_up "$program is not installed"
	name=$(program_name "$runtime")
	work_new
	cp "$engines"/podman/{commands,limits,image}.sh "$engines/expect.sh" "$(command -v busybox)" "$work"
	export work runtime
	export -f as_user delegate limits_of_user limits_of_root
	# shellcheck disable=SC2016 # expanded in the shell that it starts
	[ "${LISTS:-}" = limits ] ||
		list commands 'as_user env FOLDER="$work" RUNTIME="$runtime" "$work/commands.sh"'
	if [ -n "$on" ]; then
		list "limits as user" limits_of_user
		list "limits as root" limits_of_root
	fi
	work_end
done
plan
