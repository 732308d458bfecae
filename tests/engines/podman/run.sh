#!/bin/bash
# run.sh: rootless podman with a given runtime, a command line a test (commands.sh).
#
#	RUNTIME=/path/to/a/runtime tests/engines/podman/run.sh
#
# RUNTIME (default: crun, runc and the newest runc) is the program to test.  Root starts it, and
# podman runs as the ordinary user, with images and containers of its own.  Where cgroups are of
# version 2, limits.sh runs as that user, in a cgroup that is delegated to it, and as root.  LISTS (default:
# "commands limits") says which lists run; "systemd" is systemd.sh as root, with the systemd of this
# machine.  Prints TAP; the output of each command is kept in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"

# limits_of_user, limits_of_root: run limits.sh within `apart`.
limits_of_user() {
	local group=/sys/fs/cgroup/user
	# The first call adds the user.
	as_user true && mkdir -p $group/suite && delegate $group && chown -R hutch-test $group &&
		echo $BASHPID >$group/suite/cgroup.procs || return
	as_user env FOLDER="$work" RUNTIME="$runtime" PARENT=/user "$work/limits.sh"
}
limits_of_root() {
	mkdir -p /sys/fs/cgroup/root "$work/root" && delegate /sys/fs/cgroup/root || return
	FOLDER=$work RUNTIME=$runtime PARENT=/root XDG_RUNTIME_DIR=$work/root "$work/limits.sh"
}

# with_systemd: runs systemd.sh, whose containers are of this machine's systemd; the mounts of podman
# end with the namespace that they are made in.
with_systemd() {
	mkdir -p "$work/root" || return
	FOLDER=$work RUNTIME=$runtime MANAGER=systemd XDG_RUNTIME_DIR=$work/root "$work/systemd.sh"
}

# list NAME COMMAND WHERE...: runs a list by the words WHERE, and counts.
list() {
	local list=$1 command=$2 log=$logs/podman-$name-${1// /-}
	shift 2
	"$@" timeout -k 5 600 bash -c "$command" >"$log.log" 2>"$log.log.err" </dev/null
	counted "podman $version $list" "$name" "$(tally "$log.log")"
	sed -n -e "s/^not ok [0-9]* - /# $name, $list, not: /p" -e '/^#   /p' "$log.log"
	[ -s "$log.log" ] || tail -n 5 "$log.log.err" | sed 's/^/#   /'
}
# wanted NAME: whether LISTS has that word.
wanted() {
	[[ " ${LISTS:-commands limits} " == *" $1 "* ]]
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
	cp "$engines"/podman/{commands,limits,systemd,image}.sh "$engines/expect.sh" "$(command -v busybox)" "$work"
	export work runtime
	export -f as_user delegate limits_of_user limits_of_root with_systemd
	# shellcheck disable=SC2016 # expanded in the shell that it starts
	! wanted commands ||
		list commands 'as_user env FOLDER="$work" RUNTIME="$runtime" "$work/commands.sh"' apart
	if [ "$on" = ", cgroup v2" ] && wanted limits; then
		list "limits as user" limits_of_user apart
		list "limits as root" limits_of_root apart
	fi
	! wanted systemd || list "systemd as root" with_systemd unshare --mount
	work_end
done
plan
