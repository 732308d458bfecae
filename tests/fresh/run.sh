#!/bin/bash
# run.sh: the README's two commands on a fresh machine: Debian's smallest installation with git,
# make and sudo, an ordinary user and a login's usual limits.
#
#	FRESH_COMMANDS='demo test' FRESH_NICE=10 FRESH_LOAD=8 tests/fresh/run.sh
#
# FRESH_COMMANDS are the targets that are made; FRESH_NICE, 0 by default, is how nice that is, and
# FRESH_LOAD, 0 by default, how many loops run beside.  What is tested is the commit.
# Needs root and debootstrap.  Prints TAP; the output is kept in build-vm/fresh-TARGET.log.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/vm/image.sh"
user=ada count=0 failed=0 running=

command -v debootstrap >/dev/null || {
	echo "ok 1 - fresh # SKIP debootstrap is not installed"
	exit 0
}
[ "$(id -u)" = 0 ] || {
	echo "ok 1 - fresh # SKIP debootstrap needs root"
	exit 0
}

# check NAME COMMAND...
check() {
	local name=$1 said=ok
	shift
	"$@" || said='not ok' failed=1
	echo "$said $((++count)) - $name"
}

# machine COMMAND...: becomes root's command in there, with pids, mounts and /dev/shm of its own.
# In a chroot the kernel makes no user namespace, so the root is a mount of its own, too.
machine() {
	# shellcheck disable=SC2016 # of the inner shell
	exec unshare --mount --pid --fork sh -euc 'cd "$1"; shift
		mount --bind . . && cd "$PWD"
		mount -t proc proc proc; mount -t sysfs sysfs sys
		[ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup sys/fs/cgroup
		mount --rbind /dev dev; mount -t tmpfs -o mode=1777 tmpfs dev/shm
		pivot_root . . && umount -l . && cd /
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@"
	' - "$root" "$@" </dev/null
}

# login COMMAND...: the user's, who gets what a login gives: the soft limit is the kernel's.
login() {
	# shellcheck disable=SC2016
	machine setpriv --reuid $user --regid $user --init-groups --reset-env \
		env TERM=dumb bash -c 'ulimit -Sn 1024 && cd ~/hutch && umask 022 && "$@"' - "$@"
}

# under_load COMMAND...: its bash is pid 1 there, with whose end the loops end.
under_load() {
	# shellcheck disable=SC2016
	login nice -n "${FRESH_NICE:-0}" bash -c 'for ((i = 0; i < $1; i++)); do
			while :; do :; done &
		done
		shift; "$@"; exit' - "${FRESH_LOAD:-0}" "$@"
}

# All processes in there end with their pid 1, which is the child of unshare(1).  It does not hear
# of its parent's end: a process that changes its user is told of that no more (prctl(2)).
end_machine() {
	[ -n "$running" ] || return 0
	pkill -KILL -P "$running"
	kill -KILL "$running"
	wait
}

prepare() {
	cp -a "$base" "$root" && cp /etc/resolv.conf "$root/etc/resolv.conf" &&
		printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$root/etc/hosts" &&
		(machine useradd --create-home --shell /bin/bash $user) &&
		echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user" &&
		git -c safe.directory='*' clone --quiet --no-hardlinks "$top" "$root/home/$user/hutch" &&
		(machine chown -R $user: /home/$user/hutch)
}

# make_it TARGET: what it says goes into $log, and its code into $code.  A signal's trap runs
# while wait(1) waits, and not before a program in the foreground has ended.
make_it() {
	log=$vm/fresh-$1.log
	mkfifo "$work/said" || exit
	under_load make "$1" >"$work/said" 2>&1 &
	running=$!
	"$top/tests/fresh/silence.py" "$log" <"$work/said" &
	wait "$running"
	code=$?
	running=
	wait
	rm "$work/said"
	echo "# make $1 ended with $code; its first and last lines:"
	{ head -n 3 "$log"; echo ...; tail -n 5 "$log"; } | cut -c1-150 | sed 's/^/#   /'
}

ends_with() {
	tail -n 1 "$log" | grep -qE "$1"
}

# The first line is there before the first package is fetched, and before the first file is built.
begins_with() {
	head -n 1 "$log" | grep -qE "$1"
}

has_no() {
	! grep -qE "$1" "$log"
}

demo() {
	make_it demo
	check "make demo: the first line says what it is about to do" begins_with '^sudo: apt-get update'
	check "make demo succeeds" [ "$code" = 0 ]
	check "make demo runs none of hutch's own tests" has_no '^(not )?ok [0-9]'
	check "make demo ends with where to go on" ends_with '^README.md goes on from here'
}

# Of "not ok" and "flaky" the log has more.
run_tests() {
	make_it test
	grep -E '^(not ok|flaky:)' "$log" | head -n 50 | sed 's/^/# /'
	check "make test: the first line says what it is about to do" begins_with '^sudo: apt-get update'
	check "make test succeeds" [ "$code" = 0 ]
	check "make test ends with how many have passed, and none has failed" \
		ends_with '^[0-9]+ passed, 0 failed'
	check "make test: nothing passed only at the second time" has_no '^flaky:'
}

image_base git,make,sudo || exit
work=$(mktemp -d -p "$vm") && root=$work/root || exit
trap 'end_machine; rm -rf "$work"' EXIT
trap 'exit 143' HUP INT TERM
chmod 755 "$work"
prepare || {
	echo "not ok - the machine could not be made"
	exit 1
}
echo "# commit $(git -c safe.directory='*' -C "$top" rev-parse --short HEAD)"
for name in ${FRESH_COMMANDS:-demo test}; do
	case $name in
	demo) demo ;;
	test) run_tests ;;
	*) check "there is a command $name" false ;;
	esac
done
echo "1..$count"
exit $failed
