#!/bin/bash
# run.sh: the README's two commands on a fresh machine: Debian's smallest installation with git,
# make and sudo, an ordinary user and a login's usual limits.
#
#	FRESH_COMMANDS='demo test' FRESH_USER=root FRESH_NICE=10 FRESH_LOAD=8 tests/fresh/run.sh
#
# FRESH_COMMANDS are the make targets to run; FRESH_USER is root, or the default ada, an
# ordinary user; FRESH_NICE (default 0) is their nice value, and FRESH_LOAD (default 0) is the
# number of busy loops that run beside them.  The commit is tested, not the work tree.  Needs
# root and debootstrap.  Prints TAP; the output is kept in build-vm/fresh-TARGET.log.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/vm/image.sh"
. "$top/tests/machine.bash"
user=ada running= login=${FRESH_USER:-ada}

machine_needs fresh

# login COMMAND...: runs the command as the user with the limits of a login: the
# soft limit of descriptors is the kernel's default.
login() {
	# shellcheck disable=SC2016
	machine_exec setpriv --reuid "$login" --regid "$login" --init-groups --reset-env \
		env TERM=dumb bash -c 'ulimit -Sn 1024 && cd ~/hutch && umask 022 && "$@"' - "$@"
}

# under_load COMMAND...: its bash is pid 1 of the machine, so the loops end with it.
under_load() {
	# shellcheck disable=SC2016
	login nice -n "${FRESH_NICE:-0}" bash -c 'for ((i = 0; i < $1; i++)); do
			while :; do :; done &
		done
		shift; "$@"; exit' - "${FRESH_LOAD:-0}" "$@"
}

# Every process of the machine ends with its pid 1, which is the child of
# unshare(1).  Pid 1 is not told when its parent ends: a process that changes
# its user loses its parent-death signal (prctl(2)).
end_machine() {
	[ -n "$running" ] || return 0
	pkill -KILL -P "$running"
	kill -KILL "$running"
	wait
}

prepare() {
	machine_new "$base" /bin/bash &&
		echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user" &&
		git -c safe.directory='*' clone --quiet --no-hardlinks "$top" "$root/hutch" &&
		machine sh -euc 'chown -R "$1": /hutch; mv /hutch "$(getent passwd "$1" | cut -d: -f6)"' \
			- "$login"
}

# make_it TARGET: runs make, with its output in $log and its exit code in $code.  Runs
# it in the background, since bash runs a trap at once while it waits, but only after
# the end of a program in the foreground.
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

# begins_with: make must announce itself before it fetches the first package or
# builds the first file.
begins_with() {
	head -n 1 "$log" | grep -qE "$1"
}

has_no() {
	! grep -qE "$1" "$log"
}

demo() {
	make_it demo
	check "make demo: the first line says what it is about to do" begins_with '^(sudo: )?apt-get update'
	check "make demo succeeds" [ "$code" = 0 ]
	check "make demo runs none of hutch's own tests" has_no '^(not )?ok [0-9]'
	check "make demo ends with where to go on" ends_with '^README.md goes on from here'
}

# run_tests: prints only the first lines with "not ok" and "flaky", and the output of
# these tests, since the next run replaces the log, which has all of it.
run_tests() {
	make_it test
	grep -E '^(not ok|flaky:)' "$log" | head -n 50 | sed 's/^/# /'
	sed -n '/^# failed/,/^# failed, by name/p' "$log" | head -n 300 | sed 's/^/# /'
	check "make test: the first line says what it is about to do" begins_with '^(sudo: )?apt-get update'
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
