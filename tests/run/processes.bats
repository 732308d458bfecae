#!/usr/bin/env bats
# Tests that no process of a sandbox survives it, and that no process inside reaches one outside.

load helpers

setup() {
	begin
}

teardown() {
	end
}

does() {
	python_inside processes.py "$@"
}

# Starts a sandbox with processes of every kind: in sessions of their own, without a living
# parent, ignoring signals, stopped.  It waits until no parent is about to end, since a process
# whose parent ends while descendants() looks is missing there.
crowd="exec -a $mark sleep 1000 &
	setsid bash -c 'trap \"\" TERM HUP INT; exec -a MARK sleep 1000' &
	(setsid bash -c '(exec -a MARK sleep 1000) & (exec -a MARK sleep 1000) &' &)
	(exec -a MARK sleep 1000) & kill -STOP \$!
	until [ \$(grep -l MARK /proc/[0-9]*/cmdline 2>/dev/null | wc -l) -ge 6 ] &&
		! grep -qsvE \"\) . (0|1|\$\$) \" /proc/[0-9]*/stat; do :; done"

crowd_script() {
	printf '%s' "${crowd//MARK/$mark}" | sed "s/exec -a  sleep/exec -a $mark sleep/"
}

@test "39: SIGKILL of hutch leaves no process of the sandbox" {
	start bash -c "$(crowd_script); echo ready; wait; exec sleep 1000"
	said ready
	below=$(descendants "$pid")
	[ "$(wc -l <<<"$below")" -ge 6 ]
	kill -KILL "$pid"
	ended 137
	until_true all_gone $below
	none_marked
}

@test "39: a stopped hutch that is killed leaves no process of the sandbox" {
	start -v "$T:/t:ro" bash -c "$(crowd_script); echo ready; exec sleep 1000"
	said ready
	below=$(descendants "$pid")
	kill -STOP "$pid"
	kill -KILL "$pid"
	ended 137
	until_true all_gone $below
	none_marked
}

# left_by_hutch: lists only folders of this test, since other programs use /tmp, too.
left_by_hutch() {
	state_of "$T"
	find "/tmp/hutch-$who" 2>/dev/null || true # there may be none
	mounts_of_test
}

@test "39: SIGKILL of hutch leaves no mount, folder or file" {
	image img
	# This launch makes the state folder, which stays once it exists; before kernel 6.6 it is
	# needed for writes over an image.
	imaged img true
	before=$(left_by_hutch)
	start --image "dir:$T/img" -v /usr:/usr:ro bash -c 'echo x >/data/file; echo ready; exec sleep 1000'
	said ready
	below=$(descendants "$pid")
	kill -KILL "$pid"
	ended 137
	until_true all_gone $below
	rm -f "$T/err"
	diff <(echo "$before") <(left_by_hutch)
}

@test "40: daemons die with the command" {
	inside bash -c "$(crowd_script); echo said; exit 5"
	[ "$status" -eq 5 ]
	[ "$output" = said ]
	none_marked
}

@test "40: a daemon that holds stdout does not keep hutch" {
	inside bash -c "setsid bash -c 'trap \"\" TERM; exec -a $mark sleep 1000' & echo said"
	[ "$output" = said ]
	none_marked
}

@test "40: a daemon that writes all the time does not keep hutch" {
	catch bash -c '"$0" run sh -c "setsid yes & exit 3" >/dev/null; exit $?' "$HUTCH"
	[ "$status" -eq 3 ]
}

@test "41: orphans are reaped" {
	does -- orphans "${ORPHANS:-500}"
	[ "$output" = "none is left" ]
}

@test "38: kill -1 inside kills processes of the sandbox and no others" {
	sleep 1000 3>&- &
	other=$!
	started+=("$other")
	start bash -c "exec -a $mark sleep 1000 & echo ready; read x <>/dev/zero; exec sleep 1000"
	said ready
	inside bash -c 'kill -9 -1; echo alive'
	[ "$output" = alive ]
	inside -u root --cap-add KILL sh -c 'kill -9 -1; exit 4'
	[ "$status" -eq 4 ] || [ "$status" -eq 137 ]
	kill -0 "$other"
	kill -0 "$pid"
	[ "$(marked | wc -l)" -ge 1 ]
}

@test "38: pids of the host mean nothing inside" {
	sleep 1000 3>&- &
	other=$!
	started+=("$other")
	does -- kill_all_pids 33000
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	kill -0 "$other"
}

@test "36: the executor cannot be killed, stopped or limited from inside" {
	for user in agent root; do
		does -u "$user" --cap-add KILL -- attack_pid_1
		[ "$output" = "still here" ]
		[ "$status" -eq 0 ]
	done
}

# executor_of PID: prints the pid of the executor below process PID: the first process of its pid
# namespace.  A lower pid may belong to a later process, since pids wrap around.
executor_of() {
	local one ids
	for one in $(descendants "$1"); do
		ids=$(grep ^NSpid: "/proc/$one/status") || continue
		[[ $ids != *$'\t'*$'\t1' ]] || echo "$one"
	done
}

@test "42: an executor that is killed ends everything, with 137" {
	start bash -c "echo ready; exec -a $mark sleep 1000"
	said ready
	kill -KILL "$(executor_of "$pid")"
	ended 137
	none_marked
}

@test "42: an executor that does not answer keeps neither a timeout nor a signal from ending it" {
	# The time-out is doubled until the machine is quick enough to stop the executor before
	# it.
	local seconds=1
	until stopped_in_time "$seconds"; do
		((seconds *= 2, seconds < PATIENCE))
	done
	ended 124
	none_marked
	start bash -c "echo ready; exec -a $mark sleep 1000"
	said ready
	kill -STOP "$(executor_of "$pid")"
	for i in 1 2 3; do
		kill -INT "$pid"
		until_true took_signal "$i"
	done
	ended 130
	none_marked
}

# stopped_in_time SECONDS: starts a command with this time-out and stops its executor; fails if
# the time-out came first.
stopped_in_time() {
	start --timeout "${1}s" bash -c "echo ready; exec -a $mark sleep 1000"
	read -r -u 7 && kill -STOP "$(executor_of "$pid")" && return 0
	ended 124
	return 1
}

# took_signal: true if hutch has received the last signal.  Pending signals of one kind become
# one, so the next is sent only then.
took_signal() {
	! [[ -e /proc/$pid/status ]] || grep -qx $'ShdPnd:\t0000000000000000' "/proc/$pid/status"
}

@test "6: a descriptor that the caller leaks is not inside" {
	catch bash -c 'exec 9</etc 8<>"$1" 250</etc/passwd; "$0" run sh -c "ls /proc/self/fd; cat <&9; ls /proc/self/fd/9/"' \
		"$HUTCH" "$T/file"
	[ "$(grep -cE '^[0-9]+$' <<<"$output")" -eq 4 ]
	[[ $stderr == *"9"* ]]
}

@test "87: what names a process, a folder or a variable cannot become an option or a path" {
	inside -w /tmp -- sh -c 'echo "$0 $1"' -rf ../../etc
	[ "$output" = "-rf ../../etc" ]
	refuses '' -w ../.. true
	refuses '' -w $'/a\nb' true
	[ "${#stderr_lines[@]}" -le 2 ]
	refuses '' -e =x true
	refuses '' -e '' true
	refuses '' -e $'A\nB=1' true
}

@test "89: a crash inside makes no core dump" {
	room w
	for limit in '' unlimited; do
		ulimit -c ${limit:-0} 2>/dev/null || true
		inside --workspace "$T/w" sh -c 'ulimit -c; kill -SEGV $$'
		[ "$status" -eq 139 ]
		inside --workspace "$T/w" /usr/bin/python3 -c 'import ctypes; ctypes.string_at(0)'
		[ "$status" -eq 139 ]
	done
	[ -z "$(ls w)" ]
}

@test "8: memory of the launcher stays bounded while output floods" {
	start sh -c 'exec yes'
	read -r -t "$PATIENCE" line <&7
	head -c 200000000 <&7 >/dev/null
	peak=$(awk '/^VmHWM/ {print $2}' "/proc/$pid/status")
	echo "peak $peak KiB"
	[ "$peak" -lt 16384 ] || grep -q asan <<<"$HUTCH"
	kill -KILL "$pid"
	exec 7<&-
}
