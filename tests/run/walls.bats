#!/usr/bin/env bats
# Each wall of --isolation landlock has a test that fails without it: a test of
# landlock.bats, run with a hutch that leaves the wall out (tests/walls.c).
# landlock_root.bats does the same for the second wall of namespaces.

load helpers

setup() {
	begin
	lame=$BUILD/hutch-lame
	[[ -x $lame ]] || {
		echo "$lame is not there: make tests"
		return 1
	}
	"$HUTCH" doctor --json | grep -q '"name":"landlock","status":"missing"' &&
		skip "this host has no Landlock"
	return 0
}

# with WALL TEST...: runs those tests of $file with a hutch without the wall.
with() {
	local wall=$1 pattern
	shift
	pattern=$(IFS='|' && echo "$*")
	HUTCH=$lame HUTCH_WITHOUT=$wall timeout "$PATIENCE" \
		bats --tap -f "$pattern" "$here/${file:-landlock}.bats" 3>&- >"$T/said" 2>&1
}

# held WALL TEST: that test alone passes with all walls, and fails without this one.
held() {
	with none "$2" || {
		cat "$T/said"
		return 1
	}
	grep -q '^ok 1 ' "$T/said"
	never with "$1" "$2"
	grep -q '^not ok 1 ' "$T/said"
}

@test "without Landlock, files that were not named are open" {
	held files 'files that were not named cannot be opened'
}

@test "without the filters, sockets and shared things are open" {
	held seccomp 'no unix socket, no datagram'
	held seccomp 'what shares something between'
	held seccomp 'limits and priorities of other processes'
}

@test "without the limits, a command has the caller's" {
	held limits "limits are a share of the caller's"
}

@test "without no_new_privs, nothing can be confined, and no process is ended for it" {
	started=("$(bash -c "exec -a $mark sleep 1000 >/dev/null 2>&1 3>&- & echo \$!")")
	held privileges 'no privilege is there'
	kill -0 "${started[0]}"
}

@test "without closing them, descriptors of the caller's are inside" {
	held descriptors "no descriptor of the caller's"
}

@test "without a new one, the caller's environment is inside" {
	held environment 'the environment is made anew'
}

@test "without the subreaper's end, what was left lives on" {
	held subreaper 'what it leaves running is ended'
}

@test "without the second wall, a folder that was handed over leads to all of the host" {
	"$HUTCH" run --dry-run true | grep -q '^landlock .*can be opened' ||
		skip "this host has no Landlock of ABI 2"
	local file=landlock_root
	held root 'what is above a folder that was handed over'
	held root 'cannot be written, executed, made'
	held root 'with --network host one domain'
}

@test "the hutch that is installed has no such switch" {
	never grep -q HUTCH_WITHOUT "$HUTCH"
	grep -q HUTCH_WITHOUT "$lame"
}
