#!/usr/bin/env bats
# --ulimit and --timeout.

bats_require_minimum_version 1.5.0
load helpers

setup() {
	begin
}

teardown() {
	remove_boxes
	end
}

does() {
	python_inside limits.py "$@"
}

# timed_out SCRIPT: runs the script until it is ended by --timeout, with a time-out that is long
# enough for the script to make /w/begun first.
timed_out() {
	local ms
	[[ -d w ]] || room w
	rm -f w/begun
	for ms in 200 1000 3000 10000 30000 100000; do
		inside --timeout "${ms}ms" -v "$T/w:/w" bash -c "$1"
		[[ ! -e w/begun ]] || break
	done
	[ -e w/begun ]
	[ "$status" -eq 124 ]
}

@test "--ulimit sets one limit, or a soft and a hard one" {
	inside --ulimit nofile=64:128 --ulimit=fsize=1024 bash -c 'ulimit -Sn; ulimit -Hn; ulimit -Sf; ulimit -Hf'
	[ "${lines[*]}" = "64 128 1 1" ]
	inside --ulimit cpu=unlimited --ulimit core=0 bash -c 'ulimit -t; ulimit -c'
	[ "${lines[*]}" = "unlimited 0" ]
}

@test "--ulimit fsize ends a command that writes more" {
	inside --ulimit fsize=4096 sh -c 'exec head -c 9999 /dev/zero >f'
	[ "$status" -eq 153 ] # SIGXFSZ
}

@test "--ulimit takes no other name, no number, no soft above hard, nothing above the host's" {
	refuses "unknown limit 'nope'" --ulimit nope=1 true
	refuses 'expected NAME=SOFT' --ulimit nofile true
	refuses "'' is not a number or unlimited" --ulimit nofile= true
	refuses "'x' is not a number or unlimited" --ulimit nofile=x true
	refuses "'x' is left over" --ulimit nofile=1x true
	refuses 'the soft limit is above' --ulimit nofile=5:4 true
	refuses "'99999999999999999999' is too large" --ulimit nofile=99999999999999999999 true
	ulimit -n 1000
	refuses 'nofile cannot be raised above 1000.*from --ulimit nofile=2000' --ulimit nofile=2000 true
	inside --ulimit nofile=1000 true
	[ "$status" -eq 0 ]
}

@test "the executor is not held by the command's limits" {
	inside --ulimit nofile=4 --ulimit fsize=0 --ulimit nproc=1 --ulimit cpu=1 true
	[ "$status" -eq 0 ]
}

@test "a fork bomb ends in EAGAIN and the user can still start programs" {
	does --ulimit nproc=64 -- fork_bomb 64
	[ "$output" = "refused after True" ]
	sh -c true
}

@test "--timeout ends the command with 124 and says so" {
	inside --timeout 0.2 sleep 1000
	[ "$status" -eq 124 ]
	one_sentence 'timed out after 0.2 s'
}

@test "--timeout ends what ignores signals, is stopped, or went to the background" {
	timed_out 'trap "" TERM INT HUP QUIT; : >/w/begun; while :; do :; done'
	timed_out 'sleep 1000 & : >/w/begun; kill -STOP $! $$; sleep 1000'
	timed_out "setsid bash -c 'trap \"\" TERM; : >/w/begun; exec -a $mark sleep 1000' & sleep 1000"
	none_marked
}

@test "--timeout takes s, m, h, ms, decimals and sums, and is not waited for" {
	for time in 1000 1000s 100m 1h30m 1.5h 1000000ms 1000.5; do
		inside --timeout "$time" sh -c 'exit 3'
		[ "$status" -eq 3 ]
	done
}

@test "--timeout takes nothing else" {
	for time in '' x -1 1d 1.x s 1h30 99999999999999999999 9999999999999h; do
		refuses "--timeout: " --timeout "$time" true
	done
	refuses '--timeout: a duration of 0' --timeout 0 true
	refuses '--timeout: a duration of 0' --timeout 0.0001s true
}

@test "output from before the timeout arrives" {
	timed_out 'echo before; : >/w/begun; sleep 1000'
	[ "$output" = before ]
}

# no_cgroup: skips the test if hutch can make a cgroup here; tests/vm tests limits in cgroups.
no_cgroup() {
	inside --pids-limit 9 true
	[ "$status" -eq 125 ] || skip "this host has no launch that lacks a cgroup"
}

# Commands in a remedy of the doctor move the shell that has called hutch, so both callers are one
# shell.
@test "a limit without a cgroup is an error with the remedy that hutch doctor has" {
	no_cgroup
	# shellcheck disable=SC2016
	sh -c '"$1" run --json=3 --memory 64m true 3>run.json
		"$1" create --json=3 --memory 64m box 3>create.json
		"$1" doctor --json >doctor.json; exit 0' - "$HUTCH" 2>/dev/null
	/usr/bin/python3 "$here/limits.py" same_remedy doctor.json run.json create.json
	for limit in --memory=64m --cpus=1 --pids-limit=9; do
		inside --json $limit true
		[ "$status" -eq 125 ]
		grep -q '"kind":".*limits need a cgroup.*; or add --best-effort' <<<"$stderr"
	done
}

@test "a bus without an answer does not count, and a false one is reported" {
	no_cgroup
	# The socket of the D-Bus user bus exists here, but no process listens on it.
	as_who /usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \
		"$T/runtime/bus"
	inside --json --memory 64m true
	[ "$status" -eq 125 ]
	grep -q 'limits need a cgroup' <<<"$stderr"
	rm "$T/runtime/bus"
	# Now a process accepts connections to the bus and closes them.  The helper of hutch that
	# asks the bus must not get LD_PRELOAD from the environment.
	coproc BUS { exec 3>&-; as_who python3 "$here/limits.py" hang_up "$T/runtime/bus"; }
	read -r _ <&"${BUS[0]}"
	LD_PRELOAD=/nonesuch.so inside --json --memory 64m true
	pkill -KILL -P "$BUS_PID" python3 || kill "$BUS_PID"
	[ "$status" -eq 125 ]
	grep -q "ask the systemd user manager for a scope: " <<<"$stderr"
	[ "$(grep -c nonesuch <<<"$stderr")" -le "$(LD_PRELOAD=/nonesuch.so "$HUTCH" version 2>&1 | grep -c nonesuch)" ]
}

@test "--best-effort takes weaker ones and says which" {
	no_cgroup
	inside --best-effort --json --memory 64m --cpus 1 --pids-limit 9 sh -c 'ulimit -a | grep -i proc'
	[ "$status" -eq 0 ]
	has ' 10$'
	grep -q '"degraded":\["memory","cpus","pids-limit"\]' <<<"$stderr"
	# --memory limits used memory; a process may still reserve an address space of any size.
	inside --best-effort --memory 64m /usr/bin/python3 -c 'import mmap; mmap.mmap(-1, 1 << 36, flags=0x4022)'
	[ "$status" -eq 0 ]
}

@test "--best-effort ends what uses more memory than it may" {
	no_cgroup
	does --best-effort --json --memory 64m -- fill_memory $((200 << 20))
	[ "$status" -eq 137 ]
	grep -q '"status":"oom","exit_code":137,"signal":9' <<<"$stderr"
}

@test "--disk bounds all private folders, and needs no cgroup" {
	inside --disk 4m --tmpfs /x sh -c 'for d in /tmp /workspace /x; do
		head -c 8m /dev/zero >$d/f; stat -c %s $d/f; rm $d/f; done'
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 3 ]
	for size in "${lines[@]}"; do
		[ "$size" -le $((4 << 20)) ]
		[ "$size" -gt $((3 << 20)) ]
	done
	refuses '--disk cannot bound what is written to /t' --disk 4m -v "$T/home:/t" true
}

# under_few VERB ARG...: runs hutch with RLIMIT_NOFILE at 64.
under_few() {
	catch bash -c 'ulimit -n 64; exec "$@"' - "$HUTCH" "$@"
}

held_up() {
	[[ $status == 125 && $stderr == *'Too many references'* &&
		$stderr == *$'\nhutch: hint: '*'under way over unix sockets'* ]]
}

@test "where RLIMIT_DATA or RLIMIT_AS has no room for hutch, it is named, and no signal ends hutch" {
	needs_static
	for flag in d v; do
		run -125 bash -c "ulimit -$flag 8192; exec '$HUTCH' run true"
		[[ $output =~ RLIMIT_(DATA|AS)" is 8192 KiB" ]]
		[[ $output == *"ulimit -$flag unlimited"* ]]
		(ulimit -$flag 12288; exec "$HUTCH" run true)
	done
}

# This test holds only few descriptors in flight, since they count for tests of the same user that
# run at the same time.
@test "where the user has too many descriptors under way, run, create and exec say what helps" {
	"$HUTCH" create box
	as_who prlimit --pid "$(supervisor_of box)" --nofile=64:64
	coproc HELD { exec 3>&-; as_who python3 "$here/limits.py" hold; }
	read -r _ <&"${HELD[0]}"
	under_few run true
	held_up
	under_few create other
	held_up
	hutch exec box true # its supervisor cannot pass them on
	held_up
	exec {HELD[1]}>&- # the holder ends
}
