#!/usr/bin/env bats
# Tests that a sandbox which is reported as paused executes nothing, whatever its processes have
# done to be woken; waker.c lists these attempts.

load helpers

setup() {
	begin
	room w
	cp "$(tool waker)" w/waker
	give w
}

teardown() {
	remove_boxes
	end
}

# wakes MODE [OPTION...]: starts a sandbox that runs waker in MODE, and waits until waker counts.
wakes() {
	local mode=$1
	shift
	"$HUTCH" create --workspace "$T/w" "$@" box >/dev/null
	"$HUTCH" exec -d box /workspace/waker "$mode" /workspace >/dev/null
	until_true has_begun
}

has_begun() {
	[[ -n $(cat w/one w/child w/told 2>/dev/null) ]]
}

counts() {
	tail -n +1 w/one w/two w/three w/four w/child w/parent w/told 2>/dev/null || true
}

# threads: prints the folders /proc/PID/task/TID of all threads in the sandbox, except those of
# pid 1 and of the tracer.
threads() {
	local one init
	init=$("$HUTCH" inspect box | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | head -n 1)
	for one in $(descendants "$init"); do
		[[ $(cat "/proc/$one/comm") == hutch-executor ]] || printf '%s\n' "/proc/$one/task"/*
	done
}

# can_run FOLDER: true if the thread with this folder in /proc is in a state in which it executes
# instructions.
can_run() {
	local state
	state=$(sed -n 's/^State:\t\(.\).*/\1/p' "$1/status")
	case $state in
	t | Z) false ;;
	D) [[ $(cat "$1/wchan") != @(kernel_clone|wait_for_vfork_done) ]] ;; # in vfork(2)
	*) [[ $(cat "$1/../../cgroup") != *hutch-* ]] ;;			 # frozen by that
	esac
}

none_can_run() {
	local one count=0
	for one in $(threads); do
		count=$((count + 1))
		! can_run "$one" || {
			echo "$one can run: $(grep State "$one/status")"
			return 1
		}
	done
	((count > 0))
}

# is_woken: true if SIGCONT of a timer is pending for a process of the paused sandbox.
is_woken() {
	local one pending
	for one in $(threads); do
		pending=$(sed -n 's/^ShdPnd:\t//p' "$one/status")
		((16#$pending & 1 << 17)) && return
	done
	return 1
}

# stands: checks that no counter changes any more, although timers have sent SIGCONT.
stands() {
	local before
	before=$(counts)
	none_can_run
	until_true is_woken
	none_can_run
	[[ $(counts) == "$before" ]]
}

went_on() {
	[[ $(counts) != "$before" ]]
}

# holds MODE: checks that the sandbox can be paused while waker counts in MODE, stands still, and
# goes on afterwards.
holds() {
	wakes "$1"
	hutch pause box
	[[ $status == 0 && $output == box && -z $stderr ]]
	stands
	before=$(counts)
	"$HUTCH" unpause box
	until_true went_on
}

@test "a timer with SIGCONT wakes no paused process" {
	holds alone
	# And a second time.
	"$HUTCH" pause box
	stands
	"$HUTCH" rm -f box
}

@test "a timer with SIGCONT wakes no thread of many either" {
	holds threads
}

@test "a timer with SIGCONT wakes no undumpable process either" {
	holds hidden
}

# pauses MODE COUNT: checks that so many pauses in a row hold processes that fork all the time; each
# pause has to find the present one among those that have just ended.
pauses() {
	local i
	wakes "$1"
	for ((i = 0; i < $2; i++)); do
		hutch pause box
		[[ $status == 0 && -z $stderr ]]
		before=$(counts)
		none_can_run
		[[ $(counts) == "$before" ]]
		"$HUTCH" unpause box
		until_true went_on
	done
}

@test "a timer with SIGCONT wakes no process that goes on as its own child all the time" {
	pauses forks 2
}

@test "no process escapes a pause by going on as its own child" {
	pauses quick 10
}

@test "a timer with SIGCONT wakes no child of vfork, and its parent goes on, too" {
	holds vfork
	[ ! -e w/parent ]
	touch w/go
	give w
	until_true test -s w/parent
	until_true test -s w/one
}

# tracer: prints the pid of the process that holds the paused sandbox by ptrace(2); nothing if a
# cgroup freezes it.
tracer() {
	local init one
	init=$("$HUTCH" inspect box | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | head -n 1)
	for one in $(descendants "$init"); do
		[[ $(cat "/proc/$one/comm") != hutch-executor ]] || echo "$one"
	done
}

@test "no signal that a process inside may send ends the process that holds a paused sandbox" {
	local blocked one pid
	wakes alone
	"$HUTCH" pause box
	pid=$(tracer)
	[[ -n $pid ]] || none_can_run
	for one in $pid; do
		blocked=$(sed -n 's/^SigBlk:\t//p' "/proc/$one/status")
		# The mask has all signals from 1 to 31 but SIGKILL and SIGSTOP, which cannot be
		# blocked.
		[[ $((16#$blocked & 16#7fffffff)) == $((16#7ffbfeff)) ]]
	done
}

@test "a process that was stopped before a pause is so after it, and its parent is told of neither" {
	wakes job
	is_told() { [[ $(cat w/told) == 0000000001 ]]; }
	until_true is_told
	hutch pause box
	[[ $status == 0 ]]
	none_can_run
	"$HUTCH" unpause box
	child=$(marked waker | tail -n 1)
	is_stopped() { grep -q '^State:.T' "/proc/$child/status"; }
	until_true is_stopped
	"$HUTCH" exec box true
	is_told
	[ ! -e w/never ]
}

@test "a process that another one traces is an error that says so, and all go on" {
	wakes traced
	hutch pause box
	[[ $status == 125 && -z $output ]]
	one_sentence "sandbox 'box': process [0-9]+ inside is traced by another one, and only one can stop it"
	[[ ${stderr_lines[1]} == *"end its debugger or strace"*--best-effort* ]]
	hutch ps
	has '^box .* ready '
	before=$(counts)
	until_true went_on
	hutch exec box echo here
	[[ $output == here ]]
	"$HUTCH" inspect box | grep -q '"degraded": *\[\]'
}

# When a process executes a file that it may not read, the kernel (would_dump()) lets only a
# tracer with rights over the owner of the file attach to the process.
@test "a program that its user may not read is paused, too" {
	is_root || skip "the file is to be of another user's"
	wakes alone
	rm w/one
	install -m 0111 "$(tool waker)" w/closed
	"$HUTCH" exec -d box /workspace/closed alone /workspace >/dev/null
	until_true has_begun
	hutch pause box
	[[ $status == 125 && -z $output ]]
	one_sentence "sandbox 'box': the kernel lets no process trace process [0-9]+ inside, which would stop it"
	[[ ${stderr_lines[1]} == *ptrace_scope* ]]
	before=$(counts)
	until_true went_on
}

# In a process with threads an execve(2) waits until the tracer reaps the threads that have ended,
# and a tracer that wants to trace the process waits for the execve.
@test "a process that is in execve with many threads all the time is paused" {
	wakes execs
	for _ in {1..10}; do
		"$HUTCH" pause box
		none_can_run
		before=$(counts)
		[[ $(counts) == "$before" ]]
		"$HUTCH" unpause box
		until_true went_on
	done
}

@test "with --best-effort it is paused by signals, which is said" {
	wakes traced --best-effort
	hutch pause box
	[[ $status == 0 && $output == box ]]
	one_sentence "note: sandbox 'box' is paused by signals.*"
	"$HUTCH" inspect box | grep -A1 '"degraded"' | grep -q '"pause"'
	"$HUTCH" unpause box
	"$HUTCH" exec box true
}

@test "a stop ends paused processes" {
	wakes alone
	"$HUTCH" pause box
	hutch stop -t 0 box
	[[ $status == 0 ]]
	"$HUTCH" rm box
	wakes alone
	"$HUTCH" pause box
	hutch stop box
	[[ $status == 0 ]]
}

# --- what was protected ---------------------------------------------------------

# loses MODE [OPTION...]: starts waker in MODE, and replaces a protected file in its folder on the
# host.
loses() {
	mkdir -p w/.git/hooks
	give w
	wakes "$1" --protect .git/hooks "${@:2}"
	as_who sh -c 'mv w/.git/hooks w/x && mkdir w/.git/hooks'
}

is_in_state() { # STATE
	"$HUTCH" ps -a | awk -v state="$1" '$1 == "box" { found = $4 == state } END { exit !found }'
}

# The kernel closes the descriptors of pid 1 before it kills the processes of
# its namespace.
@test "the death of pid 1 gives no paused process a moment" {
	local n
	for ((n = 0; n < 8; n++)); do
		wakes threads
		"$HUTCH" exec -d box /workspace/waker vfork /workspace >/dev/null
		has_two() { [[ -n $(cat w/one) && -n $(cat w/child) ]]; }
		until_true has_two
		hutch pause box
		[[ $status == 0 ]]
		before=$(counts)
		hutch kill box
		hutch wait box
		[[ $(counts) == "$before" ]]
		rm -f w/one w/two w/three w/four w/child w/parent
	done
}

@test "a timer with SIGCONT gives no process a moment to write to a file replaced on the host" {
	loses alone
	until_true is_in_state paused
	stands
	hutch unpause box
	[[ $status == 125 && $stderr == *"was replaced"* ]]
}

@test "a sandbox that cannot be paused ends where something protected was replaced" {
	for option in '' --best-effort; do
		rm -rf w/.git w/x w/one
		# shellcheck disable=SC2086 # none, or one word
		loses traced $option
		until_true is_in_state ended
		hutch inspect box
		[[ $output == *"$T/w/.git/hooks was replaced"* ]]
		"$HUTCH" rm box
	done
}

@test "one that is paused by signals ends then, too" {
	mkdir -p w/.git/hooks
	give w
	wakes traced --protect .git/hooks --best-effort
	"$HUTCH" pause box 2>/dev/null
	as_who sh -c 'mv w/.git/hooks w/x && mkdir w/.git/hooks'
	until_true is_in_state ended
}
