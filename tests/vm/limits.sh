#!/bin/bash
# The limits, each tested by a program that uses up the limited resource.  Run
# as an ordinary user in a delegated cgroup; GROUP is its folder.
#
# shellcheck disable=SC2154 # from tap.sh and init.sh
. "${0%/*}/tap.sh"
at=${0%/tests/vm/*} # the programs; tests/ is beside them

# This shell moves to a leaf cgroup, as a service's shell does: only an inner cgroup
# without processes can have controllers.
mkdir "$GROUP/shell" && echo $$ >"$GROUP/shell/cgroup.procs" || exit

oom_by() { # SIZE HOG...; `over`: as many bytes more the kernel may count
	local size=$1 over=${over:-0}
	shift
	hutch --memory "$size" --timeout "${PATIENCE}s" -- /hog "$@"
	[ $rc = 137 ] && is status '"oom"' && is exit_code 137 && is signal 9 &&
		grep -q '"kind":"limit".*(--memory)' "$T/json" && grep -q -e --memory "$T/err" &&
		[ "$(value memory_peak_bytes)" -gt $((${size%m} << 19)) ] &&
		[ "$(value memory_peak_bytes)" -le $(((${size%m} << 20) + over)) ] && nothing_left
}
heap() { oom_by 16m heap; }
memfd() { oom_by 16m memfd; }
shm() { oom_by 16m shm; }
pipes() { oom_by 16m pipes; }
sockets() { oom_by 16m sockets; }
# The kernel lets a TCP connection that holds data exceed the limit a little, so one MiB
# more may be counted.
tcp() { over=$((1 << 20)) oom_by 32m tcp; }
maps() { oom_by 16m maps; }
queues() { oom_by 16m queues; }
# The sandbox gets a quarter of the caller's RLIMIT_MSGQUEUE.
posix_queues() {
	hutch --memory 32m -- sh -c '/hog posix-queues; /hog posix-queues'
	[ $rc = 0 ] && is error null && grep -qx '2 Too many open files 160 KiB' "$T/out" &&
		grep -qx '0 Too many open files 0 KiB' "$T/out"
}
files_and_heap() {
	hutch --memory 64m --timeout "${PATIENCE}s" -- sh -c '/hog file /tmp/a; /hog heap 20; /hog heap'
	[ $rc = 137 ] && is status '"oom"' && grep -q 'No space left' "$T/out"
}
everything_dies() {
	hutch --memory 64m --timeout "${PATIENCE}s" -- sh -c 'sleep 1000 & /hog heap; echo survived'
	[ $rc = 137 ] && is status '"oom"' && ! grep -q survived "$T/out"
}
files_alone() {
	hutch --memory 64m --tmpfs /x --timeout "${PATIENCE}s" -- sh -c '
		for d in /tmp /workspace /dev/shm /x; do /hog file $d/a; done
		cat /tmp/a >/dev/null && echo alive'
	[ $rc = 0 ] && [ "$(grep -c 'No space left' "$T/out")" = 4 ] && grep -qx alive "$T/out" &&
		[ "$(value memory_peak_bytes)" -lt $((40 << 20)) ]
}
many_files() {
	hutch --memory 16m --timeout "${PATIENCE}s" -- /hog files /tmp 10000000
	[ $rc = 0 ] && grep -q 'No space left' "$T/out"
}
enough_is_enough() {
	hutch --memory 64m -- /hog heap 40
	[ $rc = 0 ] && is status '"exited"' && is error null &&
		[ "$(value memory_peak_bytes)" -gt $((40 << 20)) ]
}

fork_limit() {
	hutch --pids-limit 32 -- /hog forks
	[ $rc = 0 ] && grep -qx '31 Resource temporarily unavailable' "$T/out" &&
		is pids_peak 32 && grep -q -e '--pids-limit) was reached' "$T/err"
}
fork_bomb() {
	hutch --pids-limit 32 --timeout 1s -- /hog bomb
	[ $rc = 124 ] && is status '"timeout"' && nothing_left
}
# limit FILE: prints that file of the commands' cgroup.
limit() {
	cat "$GROUP"/hutch-*/cmds/"$1"
}
is_refused_forks() {
	limit pids.events 2>/dev/null | grep '^max [1-9]'
}
# While the bomb forks, the user's own shell must be able to fork.  The bomb
# gets a part of the processor: this machine has only one, and the shell needs
# the rest.
fork_bomb_beside() {
	"$H" run --pids-limit 16 --cpus 0.3 --timeout "${PATIENCE}s" -v "$HOG:/hog:ro" -- /hog bomb >/dev/null 2>&1 &
	local pid=$! i
	until_true is_refused_forks || return
	for ((i = 0; i < 10; i++)); do
		[ "$(echo forked | cat)" = forked ] || return
	done
	kill -KILL $pid || return
	wait $pid
	until_true nothing_left
}
threads() {
	hutch --pids-limit 8 -- /hog spin 64
	[ $rc = 1 ] && is pids_peak 8
}

spinner() {
	"$H" run --cpus 0.5 -v "$HOG:/hog:ro" -- /hog spin 64 >/dev/null 2>&1 &
	local pid=$!
	until_true is_throttled && [ "$(limit cpu.max)" = '50000 100000' ] || return
	hutch -- true
	[ $rc = 0 ] && kill $pid || return
	wait $pid
	until_true nothing_left
}
unlimited_spinner() {
	hutch --cpus 64 -- sh -c '/hog spin 64 200; cat /sys/fs/cgroup/cpu.stat'
	[ $rc = 0 ] && grep -qx 'nr_throttled 0' "$T/out"
}

disk() {
	hutch --disk 8m --tmpfs /x -- sh -c '/hog file /tmp/a; /hog file /workspace/a; /hog file /x/a
		stat -c %s /tmp/a /x/a'
	[ $rc = 0 ] && [ "$(grep -c 'No space left' "$T/out")" = 3 ] && is memory_peak_bytes null &&
		! grep -qE '^[0-9]{8,}$' <(sed 's/^8388608$//' "$T/out")
}
inodes() {
	hutch --disk 8m -- /hog files /workspace 10000000
	[ $rc = 0 ] && grep -q 'No space left' "$T/out"
}
disk_shown() {
	hutch --disk 8m -v "$T:/t:rw" -- true
	[ $rc = 125 ] && is status '"setup-error"' && grep -q -e --best-effort "$T/err" || return
	hutch --disk 8m --best-effort -v "$T:/t:rw" -- true
	[ $rc = 0 ] && is degraded '["disk"]'
}

cgroup_files() {
	hutch --memory 64m --pids-limit 50 --cpus 1 -- sh -c '
		cat /proc/self/cgroup /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max
		for f in cgroup.procs memory.max pids.max cgroup.subtree_control cgroup.kill; do
			echo 1 2>/dev/null >/sys/fs/cgroup/$f && echo wrote $f
		done
		mkdir /sys/fs/cgroup/x && echo made
		mkdir /tmp/c && mount -t cgroup2 none /tmp/c && echo mounted
		mount -o remount,rw /sys/fs/cgroup && echo remounted
		chmod 777 /sys/fs/cgroup && echo changed
		ls /sys'
	[ $rc = 0 ] && [ "$(grep -v '^fs$' "$T/out")" = "0::/
67108864
100000 100000" ]
}
root_cgroup_files() {
	hutch --memory 64m -u root -- sh -c '
		mount -t cgroup2 none /tmp && echo mounted
		mkdir /sys/fs/cgroup/x && echo made
		echo max 2>/dev/null >/sys/fs/cgroup/memory.max && echo wrote; true'
	[ $rc = 0 ] && [ ! -s "$T/out" ]
}

# The sandbox's cgroup is hutch's own.
no_limit() {
	"$H" run -- sleep 1000 >/dev/null 2>&1 &
	local pid=$! child
	until_true pgrep -x -P $pid hutch-executor || return
	child=$(pgrep -x -P $pid hutch-executor)
	[ "$(cat /proc/$pid/cgroup)" = "$(cat "/proc/$child/cgroup")" ] && [ -z "$(left_over)" ]
	local result=$?
	kill $pid
	wait $pid
	hutch -- sh -c 'ls /sys/fs/cgroup 2>&1'
	[ $result = 0 ] && [ $rc = 2 ] && is memory_peak_bytes null && is pids_peak null
}
limited_place() {
	"$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$! result=0
	until_true pgrep -x sleep || return
	[ "$(left_over | wc -l)" = 1 ] &&
		grep -q '/delegated/hutch-.*/cmds$' "/proc/$(pgrep -x sleep)/cgroup" &&
		grep -qx '0::/delegated/shell' /proc/$pid/cgroup || result=1
	kill $pid
	wait $pid
	[ $result = 0 ] && nothing_left
}

killed() {
	"$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$!
	until_true pgrep -x sleep || return
	kill -KILL $pid
	wait $pid
	until_true nothing_left
}
killed_at_any_moment() {
	local i pid n
	for ((i = 0; i < ${ROUNDS:-10}; i++)); do
		"$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
		pid=$!
		for ((n = i % 10 * 200; n > 0; n--)); do :; done # until some moment
		kill -KILL $pid
		wait $pid
	done 2>/dev/null
	until_true nothing_left
}
# The next launch removes the leftovers.
killed_with_its_janitor() {
	"$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$!
	until_true pgrep -x sleep || return
	kill -KILL "$(pgrep -x hutch-janitor)" $pid
	wait $pid
	until_true sh -c '! pgrep -x sleep' >/dev/null
	[ "$(left_over | wc -l)" = 1 ] || return
	hutch --pids-limit 20 -- true
	[ $rc = 0 ] && nothing_left
}

# The caller's shell lives in the cgroup, too: making room would mean moving it,
# and hutch does not move foreign processes.
shared_group() {
	mkdir "$GROUP/shared" || return
	(
		echo $BASHPID >"$GROUP/shared/cgroup.procs"
		hutch --cgroup-parent "$GROUP/shared" --memory 64m -- true
		[ $rc = 125 ] && grep -q 'has other processes in it' "$T/err"
	)
	local result=$?
	rmdir "$GROUP/shared"
	return $result
}
named_group() {
	mkdir "$GROUP/named" || return
	"$H" run --cgroup-parent "$GROUP/named" --pids-limit 20 -- sleep 1000 >/dev/null 2>&1 &
	local pid=$! result=0
	until_true pgrep -x sleep || return
	grep -q '/delegated/named/hutch-.*/cmds$' "/proc/$(pgrep -x sleep)/cgroup" || result=1
	kill $pid
	wait $pid
	rmdir "$GROUP/named" && [ $result = 0 ]
}
wrong_group() {
	hutch --cgroup-parent /tmp --memory 64m -- true
	[ $rc = 125 ] && grep -q 'no folder of a cgroup' "$T/err" || return
	hutch --cgroup-parent /sys/fs/cgroup --memory 64m -- true
	[ $rc = 125 ] && grep -q 'not delegated to you' "$T/err" || return
	hutch --cgroup-parent /nonesuch --memory 64m -- true
	[ $rc = 125 ] && grep -q 'No such file' "$T/err"
}

# `hutch doctor` reports what a launch would do. foreign.sh, own.sh and root.sh have the
# other cases.
doctor() {
	finds ok "$GROUP, above our own, is delegated to user $UID"
}

# Runs the unit test `cgroup`: an executor that lives on when its commands have ended.
next_command() {
	"$at/tests/unit/cgroup"
}

# acts OPTION... <<<LINES: runs hutch act; observations are in $T/out.
acts() {
	"$H" act -v "$HOG:/hog:ro" "$@" >"$T/out" 2>"$T/err"
	rc=$?
	cat "$T/out" "$T/err"
	[ $rc = 0 ]
}
# The kernel kills the shell with its command (memory.oom.group), and the
# session gets a new shell.  Files and System V objects that outlived their
# makers are removed, so that there is memory for the next command.
next_action() {
	local what
	for what in heap memfd shm queues posix-queues sockets 'file /dev/shm/f'; do
		acts --memory 24m -e NO_CHANGE_TIMEOUT_SECONDS=1000 <<-END || return
			{"action":"run","id":1,"timeout":$PATIENCE,"args":{"command":"cd /tmp"}}
			{"action":"run","id":2,"timeout":$PATIENCE,"args":{"command":"/hog $what; /hog heap"}}
			{"action":"run","id":3,"timeout":$PATIENCE,"args":{"command":"/hog heap 12 && echo still in \$PWD"}}
		END
		grep -q '"exit_code":137.*Out of memory: everything that ran was killed at the limit of 24 MiB.*"cause":2' \
			"$T/out" && grep -q '"content":"still in /tmp".*"cause":3' "$T/out" || return
	done
}
# The shell, hog and the five that the first action has left make 7 of 20.  The last action is a
# builtin, since the shell can start nothing any more.
actions_share() {
	acts --pids-limit 20 <<-END
		{"action":"run","id":1,"args":{"command":"for i in 1 2 3 4 5; do sleep 1000 & done"}}
		{"action":"run","id":2,"args":{"command":"/hog forks"}}
		{"action":"run","id":3,"args":{"command":"read -r most </sys/fs/cgroup/pids.max; echo \$most"}}
	END
	[ $? = 0 ] && grep -q '"content":"13 Resource temporarily unavailable"' "$T/out" &&
		grep -q '"content":"20"' "$T/out" && until_true nothing_left
}
# A supervisor that has confined itself (seccomp, Landlock) can still open the files of its cgroup.
confined() {
	"$at/tests/run/confined.py" "$H" '
print(info["confined"])
assert status("Seccomp") == "2" and status("NoNewPrivs") == "1"
assert wait(start("true")) == 0
assert call("stats")["by"] == "cgroup"
send("stop")
assert ended()["reason"] == "stopped"' --memory 64m --pids-limit 50 || return
	until_true nothing_left
}
killed_act() {
	local in pid result=0
	mkfifo "$T/in"
	"$H" act --memory 64m <"$T/in" >"$T/out" 2>&1 &
	pid=$!
	exec {in}>"$T/in"
	echo '{"action":"run","args":{"command":"sleep 1000 & sleep 1000"}}' >&$in
	until_true pgrep -x sleep && [ "$(left_over | wc -l)" = 1 ] || result=1
	kill -KILL $pid
	wait $pid
	exec {in}>&-
	rm "$T/in"
	until_true nothing_left && [ $result = 0 ] && ! pgrep -x sleep
}

try 'E71: a heap that grows is killed at --memory, and the result says so' heap
try 'E71: a memfd too' memfd
try 'E71: SysV shared memory too' shm
try 'E71: buffers of pipes too' pipes
try 'E71: buffers of unix sockets too' sockets
try 'E71: and of connections' tcp
try 'E71: and files that are mapped, and take no descriptor' maps
try 'E71: SysV queues too' queues
try 'E71: POSIX queues are at their end long before' posix_queues
try 'E71: files in memory are at their end before the limit, programs are not' files_and_heap
try 'all private folders together stay under half of --memory' files_alone
try 'the number of files in private folders is bounded, too' many_files
try 'an out-of-memory kill ends all processes of the sandbox' everything_dies
try 'a command that stays under the limit is left alone, and its peak is reported' enough_is_enough
try 'E70: fork says EAGAIN at --pids-limit' fork_limit
try 'E70: a fork bomb lasts until the time-out and leaves nothing' fork_bomb
try 'E70: beside a fork bomb the shell of its user forks' fork_bomb_beside
try 'threads count as processes' threads
try 'E72: 64 spinning threads are stopped at --cpus, and another sandbox starts beside them' spinner
try 'E72: with a limit that is more than the machine has they are not' unlimited_spinner
# In a named sandbox the limits hold for each command that enters it, and `hutch pause`
# stops it by the cgroup's freezer.
named() {
	local supervisor
	"$H" create --memory 64m --pids-limit 50 -v "$HOG:/hog:ro" "box" || return
	"$H" exec "box" /hog heap
	[ $? = 137 ] || { echo "the hog was not killed"; return 1; }
	[ "$("$H" exec "box" echo goes on)" = 'goes on' ] || return
	"$H" stats --json --no-stream "box" >"$T/stats"
	cat "$T/stats"
	grep -q '"memory_limit": *67108864' "$T/stats" || return
	"$H" inspect box | grep -q "\"cgroup\": *\"$GROUP/hutch-.*/cmds\"" || return
	supervisor=$(ps -o ppid= -p "$("$H" inspect box | grep -o '"pid": *[0-9]*' | grep -o '[0-9]*$')")
	"$H" exec -d box sleep 1000 >/dev/null && kill -STOP $supervisor &&
		"$H" ps --json >"$T/ps" && kill -CONT $supervisor || return
	grep -q '"memory_bytes":[1-9][0-9]*,"pids":1,' "$T/ps" || { cat "$T/ps"; return 1; }
	"$H" exec -d "box" /hog spin 4 >/dev/null
	"$H" pause "box" || return
	grep -qx 'frozen 1' "$GROUP"/hutch-*/cmds/cgroup.events || return
	"$H" unpause "box" && "$H" rm -f "box" && nothing_left
}
try 'a sandbox with a name has its limits, lives on after an out-of-memory, and freezes' named
updated() {
	"$H" create --memory 64m --audit on -v "$HOG:/hog:ro" box || return
	"$H" exec box /hog heap 80
	[ $? = 137 ] || return
	"$H" update --memory 128m box && "$H" exec box /hog heap 80 || return
	[ "$(limit memory.max)" = $((128 << 20)) ] && [ "$(limit memory.high)" = max ] || return
	[ "$("$H" exec box cat /sys/fs/cgroup/memory.max)" = $((128 << 20)) ] || return
	"$H" stats --json box | tee "$T/stats"
	grep -q "\"memory_limit\":$((128 << 20))" "$T/stats" || return
	"$H" update -m 64m box && "$H" exec box /hog heap 80
	[ $? = 137 ] && [ "$("$H" exec box echo goes on)" = 'goes on' ] || return
	"$H" events --json box | grep '"event":"update"' | tail -n 1 | tee "$T/event"
	grep -q "\"limits\":{\"memory\":$((64 << 20)),\"cpus\":null,\"pids\":null," "$T/event" || return
	"$H" audit show --json | grep '"method":"update"' | tee "$T/audit"
	[ "$(grep -c . "$T/audit")" = 2 ] && grep -q "\"memory\":$((128 << 20))" "$T/audit" || return
	"$H" rm -f box && nothing_left
}
try 'a limit of memory is raised and lowered while the sandbox lives' updated
# Adds limits whose controllers were not enabled when the sandbox was made.  This works
# only if the sandbox's own cgroup holds no process (cgroups(7), no internal processes).
updated_with_more() {
	echo '-cpu' >"$GROUP/cgroup.subtree_control"
	"$H" create --memory 64m -v "$HOG:/hog:ro" box || return
	[ -z "$(limit cpu.max 2>/dev/null)" ] || { echo 'it has cpu.max already'; return 1; }
	"$H" pause box && "$H" update --cpus 0.5 --pids-limit 10 box && "$H" unpause box || return
	[ "$(limit cpu.max)" = '50000 100000' ] && [ "$(limit pids.max)" = 10 ] &&
		[ "$(limit memory.max)" = $((64 << 20)) ] || return
	"$H" exec box /hog forks | tee "$T/out"
	grep -qx '9 Resource temporarily unavailable' "$T/out" || return
	"$H" update --pids-limit 20 box && "$H" exec box /hog forks | tee "$T/out"
	# The nine processes of the first command may still be there.
	grep -qxE '1[0-9] Resource temporarily unavailable' "$T/out" &&
		[ "$(limit pids.max)" = 20 ] || return
	"$H" inspect box | tr -d ' \n' | tee "$T/info"
	grep -q "\"limits\":{\"memory\":$((64 << 20)),\"cpus\":0.500,\"pids\":20," "$T/info" || return
	id=$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' "$T/info")
	"$H" kill box && "$H" inspect "$id" | tr -d ' \n' | tee "$T/info"
	# `hutch kill` returns before the janitor has removed the cgroup.
	grep -q '"cpus":0.500,"pids":20,' "$T/info" && until_true nothing_left
}
try 'limits of controllers that the sandbox did not have are added' updated_with_more
# A memory limit below the memory in use is refused: the kernel cannot reclaim files in
# a tmpfs, and no process is killed for them.  Then no other limit of the same call is
# changed.
update_below() {
	"$H" create --pids-limit 50 -v "$HOG:/hog:ro" box || return
	"$H" exec box sh -c 'head -c 40m /dev/zero >/tmp/a; sleep 1000 & echo $! >/tmp/pid' || return
	"$H" update --memory 16m --pids-limit 40 --cpus 1 box 2>"$T/err"
	rc=$?
	cat "$T/err"
	[ $rc = 125 ] && grep -q 'KiB of memory are in use, and with a limit of 16384 KiB' "$T/err" || return
	[ "$(limit memory.max)" = max ] && [ "$(limit memory.high)" = max ] &&
		[ "$(limit memory.oom.group)" = 0 ] && [ "$(limit pids.max)" = 50 ] &&
		[ "$(limit cpu.max)" = 'max 100000' ] || return
	grep '' "$GROUP"/hutch-*/cmds/memory.swap.max | grep -v '^max$' && return 1
	"$H" events box | grep ' update ' && return 1
	"$H" exec box sh -c 'kill -0 $(cat /tmp/pid) && rm /tmp/a' || return
	"$H" update --memory 16m box && [ "$(limit memory.oom.group)" = 1 ] || return
	"$H" exec box sh -c 'kill $(cat /tmp/pid)' && "$H" rm -f box && nothing_left
}
try 'a limit below the memory in use is refused, and kills no process' update_below
# Cached files do not count as memory in use.  In this machine files are cached
# while they are open.
update_caches() {
	"$H" create --memory 128m "box" || return
	"$H" exec -d box bash -c 'for file in $(find /usr/lib -type f -size +500k | head -n 100); do
			exec {fd}<"$file"; cat <&$fd; [ $((total += $(stat -c %s "$file"))) -lt 40000000 ] || break
		done >/dev/null; touch /tmp/ready; sleep 1000' >/dev/null || return
	until_true "$H" exec box test -e /tmp/ready || return
	"$H" exec box cat /sys/fs/cgroup/memory.current | tee "$T/used"
	[ "$(cat "$T/used")" -gt $((24 << 20)) ] || { echo 'nothing is cached'; return 1; }
	"$H" update --memory 16m box && [ "$("$H" exec box echo goes on)" = 'goes on' ] || return
	"$H" exec box cat /sys/fs/cgroup/memory.events | tee "$T/events"
	grep -qx 'oom_kill 0' "$T/events" && "$H" exec box pgrep -x sleep || return
	"$H" rm -f box && nothing_left
}
try 'caches are reclaimed for a lower limit' update_caches
# A frozen command goes on where it was, and a sandbox that is stopped while
# frozen gets its whole grace period.  The shell spins rather than forks: a
# child between fork and exec would catch the signal as the shell does, and live
# on. (control.bats tests that time-outs do not run meanwhile.)
goes_on() {
	mkdir -p "$T/t" && mkfifo "$T/t/ready" && chmod 666 "$T/t/ready" || return
	"$at/tests/run/confined.py" "$H" '
call("act", action={"action": "run", "id": 1, "args": {"command": "mkfifo /tmp/began /tmp/go /tmp/run"}})
p = start("sh", "-c", "read x </tmp/run; exit 3")
send("act", action={"action": "run", "id": 2, "timeout": 1000, "args": {"command": "echo >/tmp/began; read x </tmp/go; echo went"}})
action = number
assert wait(start("sh", "-c", "read x </tmp/began")) == 0
assert call("pause") == {"by": "cgroup"}
call("unpause")
send("exec.start", argv=["sh", "-c", "echo >/tmp/go; echo >/tmp/run"])
while (got := answer())["id" if "id" in got else "method"] != action:
    pass
print(got["result"])
assert got["result"]["content"] == "went"
assert got["result"]["extras"]["metadata"]["exit_code"] == 0
assert wait(p) == 3
p = start("sh", "-c", "trap : HUP; trap \"echo asked >/t/asked; exit\" TERM; echo >/t/ready; while :; do :; done")
with open(os.environ["T"] + "/t/ready") as ready:
    assert ready.read() == "\n"
call("pause")
send("stop", grace=1000)
assert ended()["reason"] == "stopped"
assert os.path.exists(os.environ["T"] + "/t/asked")' --memory 64m -v "$T/t:/t:rw" || return
	until_true nothing_left
}
try 'a frozen command goes on, and has its grace when the sandbox is stopped' goes_on
try 'E73: --disk is the end of what can be written, in each private folder' disk
try 'E73: --disk bounds the number of files, too' inodes
try '--disk with a folder of the host is an error, or degraded' disk_shown
try 'E77: the cgroup can be read inside, and not changed' cgroup_files
try 'E77: root inside cannot change the cgroup either' root_cgroup_files
try 'no limit, no cgroup' no_limit
try 'with a limit the commands live in a cgroup, and hutch does not' limited_place
try 'a launcher that is killed leaves no cgroup' killed
try 'a launcher that is killed at any moment leaves no cgroup' killed_at_any_moment
try 'the next launch tidies up after one that was killed with its janitor' killed_with_its_janitor
try 'a cgroup with others in it is not taken' shared_group
try '--cgroup-parent is where it is made' named_group
try 'a --cgroup-parent that is no delegated cgroup is an error' wrong_group
try 'hutch doctor says where the cgroups are made' doctor
try 'E104: after an out-of-memory the next command of the sandbox runs' next_command
try 'E104: the next action runs, too, whatever used the memory up' next_action
try 'actions and the processes that they left running share one limit' actions_share
try 'a hutch act that is killed leaves no cgroup' killed_act
try 'a confined supervisor leaves no cgroup either' confined
# Where there are no cgroups, tests/run/typed.bats types these examples with --dry-run.
pages() {
	"$at/tests/run/typed.py" --only 'needs cgroups' "$H" "$at"/pages/*.md >"$T/out" 2>"$T/err" &&
		grep -q '^[2-9] typed, 0 tried with --dry-run' "$T/out" || { cat "$T/out" "$T/err"; return 1; }
}
[ ! -d "$at/pages" ] || try 'the examples of pages that need limits do as the pages say' pages
# A bad ratio is no failure: this machine is slow, and may be busy.
timed() {
	"$at/tests/bench/bench.py" --build "$at" --limits --rounds "$ROUNDS" >"$T/bench" || return
	cat "$T/bench"
	grep -q ' beside a launch of .*x [0-9.]* ' "$T/bench"
}

if [ -n "${ROUNDS:-}" ]; then # `make nightly`
	try 'a launch with limits is timed beside one without' timed
	[ ! -f "$T/bench" ] || sed 's/^/# /' "$T/bench"
fi
try 'no cgroup is left after all tests' nothing_left
echo "1..$count"
