# helpers.bash -- shared by the files of the run tier; each has `load helpers`.
# A file whose setup() and teardown() must do more than `begin` and `end` has
# its own, which call these. (The two about texts, completion.bats and
# docs.bats, have the folder that bats gives.)
#
# Every test has a folder of its own, $T, with a home and runtime folder of its
# own in it, so that nothing depends on, or touches, those of the user.  Root's
# hutch stands for another user ($who), who owns the folders that `room` makes.
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the files that load it

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# shellcheck source=tests/patience.bash
source "${BASH_SOURCE[0]%/*}/../patience.bash"

# Set here, not from the environment: end() removes the folder and kills the
# processes, even if begin() never ran.
T='' started=()

setup() {
	begin
}

teardown() {
	end
}

begin() {
	# Starts as few programs as possible: this runs some thousand times.
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
	# The mark in the arguments by which the processes of this test are found.
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

# remove_boxes: called before `end` where sandboxes live on.
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

# give PATH...: gives files to the user that the inside stands for.
give() {
	! is_root || chown -hR "$who:$who" "$@"
}

# needs_range: skips the test unless the user that the sandbox stands for has a
# range of ids (idmap.bats).
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

# as_who COMMAND...: runs it as the user that the inside stands for.
as_who() {
	if is_root; then
		setpriv --reuid "$who" --regid "$who" --clear-groups "$@"
	else
		"$@"
	fi
}

# outer COMMAND...: runs it as that user, with all capabilities in a user
# namespace and mounts of its own, like an outer container.
outer() {
	as_who unshare -Uc --keep-caps -m "$@"
}

# masked COMMAND...: runs it in an outer container whose /proc has a mask.
# Every other procfs that this host has mounted, perhaps in a chroot, is masked
# as well: the kernel accepts any complete one.
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

# Runs Python with the standard library only; importing the site-packages of a
# host may take longer than the tests themselves.
python3() {
	command python3 -SE "$@"
}

box() {
	"$HUTCH" run "$@"
}

# supervisor_of [NAME]: prints its process id.
supervisor_of() {
	awk '/^PPid:/ { print $2 }' \
		"/proc/$("$HUTCH" inspect "${1:-box}" | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')/status"
}

# catch COMMAND...: sets status, output, lines, stderr and stderr_lines, and
# prints them if the test fails.
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

# hutch VERB ARG...: runs any verb by catch.
hutch() {
	catch "$HUTCH" "$@"
}

# acts CODE [OPTION...]: see act.py.
acts() {
	"$here/act.py" "$HUTCH" "$@"
}

# inside ARG...: prints the output of the sandbox.
inside() {
	catch box "$@"
}

# python_inside FILE [FLAG...] -- CASE [ARG...]: runs a function of a Python
# file of this folder in a sandbox, which reads the file on its stdin.
python_inside() {
	local file=$here/$1 flags=()
	shift
	while [[ $1 != -- ]]; do
		flags+=("$1")
		shift
	done
	inside -i "${flags[@]}" /usr/bin/python3 -SE - "${@:2}" <"$file"
}

# fails CODE PATTERN ARG...: hutch run ends with that code, prints nothing, and
# gives one sentence that matches, at most with one line of hint.
fails() {
	local code=$1 pattern=$2
	shift 2
	inside "$@"
	[[ $status == "$code" ]] && [[ -z $output ]] && one_sentence "$pattern"
}

# never COMMAND...: the command must fail. (After `!`, and before the last `&&`,
# `set -e` ignores the status of a command, so a test must not claim anything in
# that way.)
never() {
	! "$@"
}

one_sentence() {
	# One expression: a caller that is part of a condition has no `set -e`.
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

# has PATTERN: the last output has a line that matches the extended expression.
has() {
	grep -qE -- "$1" <<<"$output" || {
		printf 'no line of the output matches %s:\n%s\n' "$1" "$output"
		return 1
	}
}

has_not() {
	! grep -E -- "$1" <<<"$output"
}

# until_true COMMAND...: waits for a state that no file descriptor reports, such
# as one in /proc.  It is the only polling loop of these tests.
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

# start ARG...: runs hutch in the background as $pid, with its output on
# descriptor 7 and its errors in $T/err.  It has the signals of a foreground
# program, since a shell starts a background one with SIGINT and SIGQUIT
# ignored.  Until it has printed something it may not be hutch yet.
start() {
	mkfifo "$T/out"
	env --default-signal "$HUTCH" run "$@" >"$T/out" 2>"$T/err" 3>&- </dev/null &
	pid=$!
	started+=("$pid")
	exec 7<"$T/out"
	rm "$T/out"
}

# said WORD: compares the next line that the command in the background prints.
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

# ended CODE: waits for hutch in the background, and compares its code.
ended() {
	local rc=0
	wait "$pid" || rc=$?
	exec 7<&-
	[[ $rc == "$1" ]] || {
		echo "ended with $rc, not $1; stderr: $(cat "$T/err")"
		return 1
	}
}

# marked [MARK]: prints the processes of this machine with the mark in their
# arguments.
marked() {
	pgrep -f -- "${1:-$mark}" || true
}

none_marked() {
	[[ -z $(marked "$@") ]]
}

# descendants PID: prints all processes below it, as far as the parents are alive.
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

# state_of DIR...: prints the content of these folders, to compare before and after.
state_of() {
	find "$@" -printf '%p %y %m %u %g %l %s\n' | sort
	find "$@" -type f -exec sha256sum {} + | sort
}

# needs_static: skips the test for a program with sanitizers, which is dynamic:
# it runs only where its libraries are, and where the calls that the sanitizer
# needs are permitted.
needs_static() {
	! is_sanitized || skip "this build of hutch is not static"
}

# needs_listener: skips the test unless refused calls are reported (denials.h).
needs_listener() {
	inside --json sh -c 'unshare -U true; exit 3'
	[[ $stderr == *'was refused'* ]] || skip "a filter around this process has the one listener"
}

# is_sanitized: a sanitized build takes several times as long.
is_sanitized() {
	readelf -d "$BUILD/libexec/hutch-executor" 2>/dev/null | grep -q NEEDED
}

# image NAME: makes a folder that is a root once the host's /usr is mounted in
# it, with a file and a folder for tests of writing.
image() {
	mkdir -p "$T/$1"/{usr,etc,data}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$T/$1"
	echo "of the image" >"$T/$1/data/file"
	echo "of the image too" >"$T/$1/data/other"
	give "$T/$1"
}

# imaged NAME ARG...: runs hutch run in it.
imaged() {
	box --image "dir:$T/$1" -v /usr:/usr:ro "${@:2}"
}
