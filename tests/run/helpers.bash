# helpers.bash -- functions for the .bats files of this folder; each has `load helpers`.  A file
# whose setup() and teardown() must do more than `begin` and `end` defines its own, which call
# these. (completion.bats and docs.bats only compare texts, and use the folder that bats makes.)
#
# Every test has a folder of its own, $T, with a home and runtime folder of its own in it, so that
# nothing depends on, or touches, those of the user.  Root's hutch runs sandboxes for another user
# ($who), who owns the folders that `room` makes.
#
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the files that load it

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# shellcheck source=tests/patience.bash
source "${BASH_SOURCE[0]%/*}/../patience.bash"

# T and started are set here, not taken from the environment: end() removes the folder $T and
# kills the processes in started, even if begin() never ran.
T='' started=()

setup() {
	begin
}

teardown() {
	end
}

# stop_tracing: makes bats look for the line of a command when one has failed, with the ERR trap.
# bats runs a function before each command, which takes 0.2 ms, more than most commands of a shell;
# it is for older shells than bash 5, whose ERR trap does not have the line.  A case that ends by
# `exit` or by an unset variable is reported without a line.
stop_tracing() {
	trap - DEBUG
	BATS_DEBUG_LAST_STACK_TRACE=() BATS_DEBUG_LASTLAST_STACK_TRACE=()
}

# This is bats's function of this name, for a shell without that trap.
bats_error_trap() {
	bats_check_status_from_trap
	[[ -z $BATS_DEBUG_LAST_STACK_TRACE_IS_VALID ]] || return 0
	bats_capture_stack_trace
	BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
}

begin() {
	stop_tracing
	# begin() starts as few programs as possible, since it runs some thousand times.
	here=$BATS_TEST_DIRNAME top=${BATS_TEST_DIRNAME%/*/*}
	HUTCH=${HUTCH:-$top/build/hutch}
	[[ $HUTCH == /* && ! -L $HUTCH ]] || HUTCH=$(realpath "$HUTCH")
	BUILD=${HUTCH%/*}
	unset SUDO_UID SUDO_GID
	who=$EUID
	((who)) || who=65534
	T=/tmp/hutch-run.$SRANDOM
	mkdir -m 755 "$T" "$T/home" && mkdir -m 700 "$T/runtime" || return 1
	give "$T/home" "$T/runtime"
	export HOME=$T/home XDG_RUNTIME_DIR=$T/runtime
	unset XDG_CACHE_HOME XDG_DATA_HOME XDG_CONFIG_HOME
	# Commands of a test have this mark in their arguments, so that their processes can be
	# found.
	mark=mark.${T##*.}.$$
	started=()
	cd "$T" || return 1
}

end() {
	local pid
	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	[[ -z ${T:-} ]] || rm -rf "$T"
}

# remove_boxes: removes all sandboxes; called before `end` in tests whose sandboxes live on.
remove_boxes() {
	local name
	for name in $("$HUTCH" ps -q 2>/dev/null); do
		"$HUTCH" rm -f "$name" >/dev/null 2>&1
	done
}

is_root() {
	((EUID == 0))
}

# room NAME...: makes a folder below $T that the inside may write to.
room() {
	local name
	for name in "$@"; do
		mkdir -p "$T/$name"
		give "$T/$name"
	done
}

# give PATH...: makes $who, the user that the sandbox runs for, the owner of these files.
give() {
	! is_root || chown -hR "$who:$who" "$@"
}

# needs_range: skips the test unless the user that the sandbox runs for has a range of ids in
# /etc/subuid (idmap.bats).
needs_range() {
	local name
	name=$(cut -d: -f1 /etc/subuid 2>/dev/null | while read -r name; do
		id -u "$name" >/dev/null 2>&1 && { is_root || [ "$name" = "$(id -un)" ]; } &&
			echo "$name" && break
	done) || true
	[[ -n $name ]] && command -v newuidmap >/dev/null || skip "this host has no range of ids to give"
	who=$(id -u "$name")
	! is_root || export SUDO_UID=$who SUDO_GID=$(id -g "$name")
	give home runtime
}

# as_who COMMAND...: runs COMMAND as $who, the user that the sandbox runs for.
as_who() {
	if is_root; then
		setpriv --reuid "$who" --regid "$who" --clear-groups "$@"
	else
		"$@"
	fi
}

# outer COMMAND...: runs COMMAND as the user $who, with all capabilities in a user namespace and
# mounts of its own, like an outer container.
outer() {
	as_who unshare -Uc --keep-caps -m "$@"
}

# masked COMMAND...: runs COMMAND in an outer container in whose /proc a mount hides a file.
# Every other procfs that this host has mounted, perhaps in a chroot, is masked in the same way:
# the kernel lets a user namespace mount a new procfs if any mounted one is complete.
masked() {
	outer unshare -mpf --mount-proc sh -c '
		while read -r _ _ _ _ at rest; do
			case $rest in
			*" - proc "*) mount --bind /dev/null "$at/kallsyms" ;;
			esac
		done </proc/self/mountinfo
		exec "$@"' - "$@"
}

# tool NAME: prints the path of a program that was built for these tests.
tool() {
	[[ -x $BUILD/tests/run/$1 ]] || {
		echo "$BUILD/tests/run/$1 is not there: make tests" >&2
		return 1
	}
	echo "$BUILD/tests/run/$1"
}

# Runs Python with the standard library only; importing the site-packages of the host may take
# longer than the test itself.
python3() {
	command python3 -SE "$@"
}

box() {
	"$HUTCH" run "$@"
}

# supervisor_of [NAME]: prints the process id of the supervisor of sandbox NAME (box), the parent
# of its pid 1.
supervisor_of() {
	awk '/^PPid:/ { print $2 }' \
		"/proc/$("$HUTCH" inspect "${1:-box}" | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')/status"
}

# catch COMMAND...: runs COMMAND; sets status, output, lines, stderr and stderr_lines, and prints
# them so that bats shows them if the test fails.
catch() {
	local caught=$BATS_TEST_TMPDIR/caught
	status=0
	"$@" >"$caught.out" 2>"$caught.err" || status=$?
	{ # the shell leaves NULs out, and says so
		output=$(<"$caught.out")
		stderr=$(<"$caught.err")
	} 2>/dev/null
	mapfile -t lines <<<"$output"
	mapfile -t stderr_lines <<<"$stderr"
	printf 'status %s\nstdout: %s\nstderr: %s\n' "$status" "$output" "$stderr"
}

# hutch VERB ARG...: runs hutch by catch.
hutch() {
	catch "$HUTCH" "$@"
}

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.
acts() {
	"$here/act.py" "$HUTCH" "$@"
}

# inside ARG...: runs hutch run by catch.
inside() {
	catch box "$@"
}

# python_inside FILE [FLAG...] -- CASE [ARG...]: runs the function CASE of a Python FILE of this
# folder in a sandbox; python3 reads the file from stdin.
python_inside() {
	local file=$here/$1 flags=()
	shift
	while [[ $1 != -- ]]; do
		flags+=("$1")
		shift
	done
	inside -i "${flags[@]}" /usr/bin/python3 -SE - "${@:2}" <"$file"
}

# fails CODE PATTERN ARG...: checks that hutch run ends with CODE, prints nothing on stdout, and
# prints one sentence that matches PATTERN on stderr, with at most one hint.
fails() {
	local code=$1 pattern=$2
	shift 2
	inside "$@"
	[[ $status == "$code" ]] && [[ -z $output ]] && one_sentence "$pattern"
}

# never COMMAND...: checks that COMMAND fails. (`set -e` ignores the status of a command after `!`
# and before the last `&&`, so `! COMMAND` in a test checks nothing.)
never() {
	! "$@"
}

one_sentence() {
	# This is one expression, since `set -e` has no effect in a function that is called as a
	# part of a condition.
	[[ ${stderr_lines[0]} =~ ^hutch:\ $1 ]] && ((${#stderr_lines[@]} <= 2)) &&
		[[ ${#stderr_lines[@]} == 1 || ${stderr_lines[1]} == 'hutch: hint: '?* ]]
}

refuses() {
	fails 125 "$@"
}

# flags_of_help VERB: prints the flags that its help lists, short and long.
flags_of_help() {
	"$HUTCH" "$1" --help | grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' |
		grep -oE -- '--?[A-Za-z-]+' | sort
}

# has PATTERN: checks that a line of $output matches the extended regular expression.
has() {
	grep -qE -- "$1" <<<"$output" || {
		printf 'no line of the output matches %s:\n%s\n' "$1" "$output"
		return 1
	}
}

has_not() {
	! grep -E -- "$1" <<<"$output"
}

# until_true COMMAND...: repeats COMMAND until it succeeds, to wait for a state that no file
# descriptor reports, such as one in /proc.  It is the only polling loop of these tests.
until_true() {
	local deadline=$((SECONDS + PATIENCE))
	until "$@"; do
		if ((SECONDS >= deadline)); then
			echo "waited in vain for: $*"
			return 1
		fi
		read -r -t 0.02 <> <(:) || true
	done
}

# start ARG...: runs hutch in the background as $pid, with its output on descriptor 7 and its
# errors in $T/err.  SIGINT and SIGQUIT, which a shell ignores for background programs, have their
# default action.  Before hutch has printed its first line, $pid may still be the shell.
start() {
	mkfifo "$T/out"
	env --default-signal "$HUTCH" run "$@" >"$T/out" 2>"$T/err" 3>&- </dev/null &
	pid=$!
	started+=("$pid")
	exec 7<"$T/out"
	rm "$T/out"
}

# said WORD: reads the next line that the hutch in the background prints, and checks that it is
# WORD.
said() {
	local line
	read -r -t "$PATIENCE" line <&7 || {
		echo "nothing came; stderr: $(cat "$T/err")"
		return 1
	}
	[[ $line == "$1" ]] || {
		echo "expected '$1', got '$line'"
		return 1
	}
}

# ended CODE: waits for the end of the hutch in the background, and checks its exit code.
ended() {
	local rc=0
	wait "$pid" || rc=$?
	exec 7<&-
	[[ $rc == "$1" ]] || {
		echo "ended with $rc, not $1; stderr: $(cat "$T/err")"
		return 1
	}
}

# marked [MARK]: prints the pids of all processes with the mark in their arguments.
marked() {
	pgrep -f -- "${1:-$mark}" || true
}

none_marked() {
	[[ -z $(marked "$@") ]]
}

# descendants PID: prints the pids of all descendants of process PID whose ancestors up to PID are
# alive.
descendants() {
	ps -e -o pid=,ppid= | awk -v top="$1" '
		{ parent[$1] = $2 }
		END {
			for (p in parent) {
				for (at = p; at in parent && at != top; at = parent[at]) {}
				if (at == top && p != top)
					print p
			}
		}'
}

all_gone() {
	local one
	for one in "$@"; do
		# A zombie counts as gone; another process may have to reap it.
		[[ $(ps -o state= -p "$one") =~ ^(Z|)$ ]] || return 1
	done
}

# state_of DIR...: prints the content of these folders, so that a test can compare it before and
# after.
state_of() {
	find "$@" -printf '%p %y %m %u %g %l %s\n' | sort
	find "$@" -type f -exec sha256sum {} + | sort
}

# mounts_of_test: prints the host's mounts that have $T in their paths or options.  Other programs
# mount and unmount at any time.
mounts_of_test() {
	grep -F "$T" /proc/self/mountinfo || true
}

# needs_static: skips the test for a program with sanitizers, which is dynamic:
# it runs only where its libraries are, and where the calls that the sanitizer
# needs are permitted.
needs_static() {
	! is_sanitized || skip "this build of hutch is not static"
}

# needs_listener: skips the test unless hutch can have a seccomp listener, which reports refused
# system calls (denials.h).
needs_listener() {
	inside --json sh -c 'unshare -U true; exit 3'
	[[ $stderr == *'was refused'* ]] || skip "a filter around this process has the one listener"
}

# is_sanitized: true for a build with sanitizers, which takes several times as long.
is_sanitized() {
	readelf -d "$BUILD/libexec/hutch-executor" 2>/dev/null | grep -q NEEDED
}

# image NAME: makes a folder that is a root file system once the host's /usr is mounted in it,
# with a file and a folder for tests that write.
image() {
	mkdir -p "$T/$1"/{usr,etc,data}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$T/$1"
	echo "of the image" >"$T/$1/data/file"
	echo "of the image too" >"$T/$1/data/other"
	give "$T/$1"
}

# imaged NAME ARG...: runs hutch run with the folder that `image NAME` has made as its root.
imaged() {
	box --image "dir:$T/$1" -v /usr:/usr:ro "${@:2}"
}
