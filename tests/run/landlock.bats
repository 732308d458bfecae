#!/usr/bin/env bats
# Tests of --isolation landlock: which accesses it permits and refuses, and that it leaves nothing
# behind.

load helpers

setup() {
	begin
	needs_landlock
}

# Kills processes whose end a failed test did not wait for.
teardown() {
	local one
	for one in $(marked); do
		kill -KILL "$one" 2>/dev/null || true
	done
	end
}

needs_landlock() {
	"$HUTCH" doctor --json | grep -q '"name":"landlock","status":"missing"' &&
		skip "this host has no Landlock"
	return 0
}

# abi N: true if the Landlock ABI of the kernel is at least N.
abi() {
	local have
	have=$("$HUTCH" run --isolation landlock --dry-run true | sed -n 's/^isolation landlock, ABI //p')
	((have >= $1))
}

# needs_signals: skips the test unless Landlock can keep signals in the sandbox, which it can from
# ABI 6 on.
needs_signals() {
	abi 6 || skip "this host has no Landlock ABI 6"
}

without_namespaces() {
	catch "$HUTCH" run --isolation landlock "$@"
}

# tries CASE [ARG...]: runs the function CASE of landlock.py inside.
tries() {
	tries_with -- "$@"
}

# tries_with FLAG... -- CASE [ARG...]: runs the function CASE of landlock.py inside, with these
# flags of hutch run.
tries_with() {
	local flags=()
	while [[ $1 != -- ]]; do
		flags+=("$1")
		shift
	done
	without_namespaces -i "${flags[@]}" python3 -SE - "${@:2}" <"$here/landlock.py"
}

# noted: checks that hutch has printed no error, and only the note about weaker isolation.
noted() {
	[[ ${#stderr_lines[@]} == 1 && $stderr == 'hutch: note: --isolation landlock is weaker than namespaces: '* ]]
}

refused() {
	local pattern=$1
	shift
	without_namespaces "$@"
	[[ $status == 125 && -z $output ]] && one_sentence "$pattern"
}

# left: lists leftovers of sandboxes in the folders of hutch.
left() {
	find "$T/home" "$T/runtime" "/tmp/hutch-$who" -name '.upper-*' 2>/dev/null
}

@test "a command runs, its exit code is hutch's, and it is said that this is weaker" {
	without_namespaces sh -c 'echo out; exit 7'
	[[ $status == 7 && $output == out ]]
	noted
	without_namespaces sh -c 'ulimit -c 0; kill -s KILL 0'
	[[ $status == 137 ]]
	noted
	[ -z "$(left)" ]
}

@test "a command that is not there, or cannot be run, is told as ever" {
	without_namespaces no-such-command
	[[ $status == 127 && $stderr == *'find the program: no-such-command'* ]]
	without_namespaces /etc/passwd
	[[ $status == 126 ]]
	printf '#!/no/such/interpreter\n' >script
	chmod 755 script
	give script
	without_namespaces -v "$T/script:$T/script:ro" "$T/script"
	[[ $status == 126 && $stderr == *interpreter* ]]
	# A program that Landlock does not permit to be executed fails like a file without an
	# execute bit.
	cp /bin/true "$T/true"
	without_namespaces "$T/true"
	[[ $status == 126 ]]
	[ -z "$(left)" ]
}

@test "files that were not named cannot be opened, made, moved or removed" {
	room work other
	echo secret >other/file
	give other
	without_namespaces --workspace work sh -c "
		cat $T/other/file; ls $T/other; true >$T/other/new; rm $T/other/file
		mv $T/other/file .; ln $T/other/file .; mkdir $T/other/dir; rmdir $T/other
		ln -s $T/other/file link; cat link; truncate -s 0 $T/other/file
		echo mine >own; mv own $T/other/
		ls / /tmp /root /home; cat /etc/shadow; echo done"
	[[ $status == 0 && $output == done ]]
	[[ $(cat other/file) == secret && $(ls -A other) == file ]]
}

@test "owners and attributes of the user's own files stay as they are, and unread, wherever these are" {
	echo x >file
	setfattr -n user.probe -v secret file 2>/dev/null || true # where the file system has them
	give file
	tries owners_and_attributes "$T/file"
	[[ $status == 0 && $output == done ]]
}

@test "the workspace is where it is, and is written to there" {
	room work
	without_namespaces --workspace work sh -c 'pwd; mkdir a && echo x >a/f && mv a/f b && cat b && chmod 700 b'
	[[ $status == 0 && $output == "$T/work"$'\nx' ]]
	[[ $(cat work/b) == x ]]
	without_namespaces --workspace work:ro sh -c 'cat b; echo no >c; rm b; echo done'
	[[ $output == $'x\ndone' && ! -e work/c && -e work/b ]]
}

@test "without a workspace there is a private folder, which is gone afterwards" {
	without_namespaces sh -c 'pwd; echo $HOME; echo $TMPDIR; ls -A; for d in . ~ "$TMPDIR"; do : >$d/f && cat $d/f || exit 1; done'
	[[ $status == 0 && ${#lines[@]} == 3 ]]
	for line in "${lines[@]}"; do
		[ ! -e "$line" ]
	done
	[ -z "$(left)" ]
}

@test "a folder is shown at its own path, read-only or not, and nowhere else" {
	room data
	echo x >data/f
	give data
	without_namespaces -v "$T/data:$T/data:ro" sh -c "cat $T/data/f; echo y >$T/data/f"
	[[ $output == x && $(cat data/f) == x ]]
	without_namespaces -v "$T/data:$T/data" sh -c "echo y >$T/data/f"
	[[ $status == 0 && $(cat data/f) == y ]]
	without_namespaces -v "$T/data/f:$T/data/f" sh -c "cat $T/data/f && echo z >$T/data/f; : >$T/data/g"
	[[ $output == y && $(cat data/f) == z && ! -e data/g ]]
	without_namespaces --toolchain "$T/data" cat "$T/data/f"
	[[ $output == z ]]
	refused 'mount data at /data: another path than its own needs namespaces \(from -v data:/data\)' -v data:/data true
	refused 'mount .*/none: no such folder on the host' -v "$T/none:$T/none" true
	# -v accepts regular files and folders only, and no path that leads to a device or a pipe.
	refused 'mount /dev/null: Invalid argument' -v /dev/null:/dev/null true
	mkfifo pipe
	refused 'mount .*/pipe: Invalid argument' -v "$T/pipe:$T/pipe" true
	mkdir data/inner
	give data
	refused 'mount .*: a path in a writable folder can be read-only only where there are namespaces' \
		--workspace data -v "$T/data/inner:$T/data/inner:ro" true
}

@test "an option that needs namespaces is an error that says so" {
	room work
	for flags in '--image dir:/' '-u root' '--hostname x' '-t' '--read-only' '--idmap ranges' \
		'--cap-add NET_BIND_SERVICE' '--memory 64m' '--cpus 1' '--pids-limit 9' '--disk 9m' \
		'--cgroup-parent /sys/fs/cgroup' '--tmpfs /x' '--workspace work:cow' '--memory 64m --best-effort'; do
		refused '.* needs namespaces, which --isolation landlock does without' $flags true
		[[ ${stderr_lines[1]} == 'hutch: hint: leave it out, or leave --isolation landlock out' ]]
	done
	refused '--audit is not there for --isolation landlock' --audit on true
	refused '--protect needs namespaces' --workspace work --protect .git true
	without_namespaces --workspace work:ro --protect .git true
	[[ $status == 0 ]]
	for verb in act 'create box'; do
		hutch ${verb%% *} --isolation landlock ${verb#* }
		[[ $status == 125 ]]
		one_sentence 'hutch (act|create) needs namespaces: --isolation landlock is for hutch run'
	done
	refused "--isolation takes auto, namespaces or landlock, not 'none'" --isolation none true
}

@test "hutch's own folders, and /proc and /sys, are in nothing that is shown" {
	mkdir -p "$T/home/.cache/hutch" "$T/home/project"
	give "$T/home"
	refused ".*/home/.*hutch is in it, and can only be hidden where there are namespaces" --workspace "$T/home" true
	refused ".*hutch's own and never inside" -v "$T/home/.cache/hutch:$T/home/.cache/hutch:ro" true
	refused 'mount /sys/kernel: /sys cannot be shown without namespaces' --workspace /sys/kernel:ro true
	refused 'mount /proc/self: /proc cannot be shown' --workspace /proc/self:ro true
	without_namespaces --workspace "$T/home/project" pwd
	[[ $status == 0 && $output == "$T/home/project" ]]
}

@test "the environment is made anew" {
	without_namespaces -e A=1 env -u TZ
	[[ $status == 0 ]]
	[[ $(cut -d= -f1 <<<"$output" | sort | xargs) == 'A HOME LANG LOGNAME PATH SHELL TMPDIR USER' ]]
	without_namespaces -e HOME=/x -e TMPDIR=/y sh -c 'echo $HOME $TMPDIR'
	[[ $output == '/x /y' ]]
}

@test "no descriptor of the caller's is inside" {
	without_namespaces -i sh -c 'for n in 3 4 5 6 7 8 9; do { true <&$n; } 2>/dev/null && echo "$n is open"; done; readlink /proc/self/fd/0' 7<"$T/home" 8</etc/passwd 9>"$T/x" <<<input
	[[ $status == 0 && $output == pipe:* && ${#lines[@]} == 1 ]]
}

@test "the descriptor of --json is hutch's, and not the command's" {
	catch "$HUTCH" run --isolation landlock --json=5 sh -c '{ true >&5; } 2>/dev/null && echo open; echo there' 5>"$T/json"
	[[ $status == 0 && $output == there ]]
	grep -q '"exit_code":0' "$T/json"
}

@test "stdin, stdout and stderr are carried" {
	catch sh -c "printf 'b\na\n' | '$HUTCH' run --isolation landlock -i -- sort"
	[[ $output == $'a\nb' ]]
	without_namespaces sh -c 'cat; echo err >&2'
	[[ -z $output && ${stderr_lines[1]} == err ]]
	without_namespaces head -c 3000000 /dev/zero
	[[ $status == 0 && $(stat -c %s "$BATS_TEST_TMPDIR/caught.out") == 3000000 ]]
}

@test "no privilege is there, and none can be gained" {
	# Under Landlock setpriv cannot open /proc/self/status, so it may fail.
	without_namespaces setpriv -d
	[[ $status == 0 || $stderr == *'ermission denied'* ]]
	tries privileges
	[[ $status == 0 && ${lines[0]} == 1\ * ]]
	without_namespaces unshare -U true
	[[ $status == 1 && $stderr == *'Operation not permitted'* ]]
}

@test "limits are a share of the caller's, and --ulimit sets others" {
	ulimit -Sn 400
	without_namespaces sh -c 'ulimit -n; ulimit -c; ulimit -u'
	[[ ${lines[0]} == 146 && ${lines[1]} -le 1 && ${lines[2]} -le 4096 ]]
	without_namespaces --ulimit nofile=50 sh -c 'ulimit -n'
	[[ $output == 50 ]]
}

# sleeps: starts a process of the user $who outside of the sandbox; $sleeper is its pid.
sleeps() {
	as_who env SECRET=1 bash -c "exec -a $mark sleep 1000" 3>&- &
	started+=($!)
	until_true asleep 1
	sleeper=$(pgrep -f "^$mark 1000\$") # $! is the shell that runs the function
	started+=("$sleeper")
}

@test "other processes of the user are out of reach" {
	sleeps
	tries other_process "$sleeper"
	[[ $status == 0 && $output == done ]]
	kill -0 "$sleeper"
}

@test "limits and priorities of other processes cannot be changed" {
	sleeps
	tries limits_of "$sleeper"
	[[ $status == 0 && $output == done ]]
}

@test "a command cannot signal its subreaper or hutch, or look into them" {
	without_namespaces sh -c 'kill -9 $PPID; kill -STOP $PPID; cat /proc/$PPID/environ /proc/$PPID/cmdline; echo done'
	[[ $status == 0 && $output == done ]]
}

@test "a command's own processes can be signalled" {
	needs_signals
	without_namespaces sh -c 'sleep 1000 & kill $!; wait $!; echo $?'
	[[ $output == 143 ]]
	without_namespaces timeout 0.1 sleep 1000
	[[ $status == 124 ]]
}

@test "no unix socket, no datagram; a pair of sockets is there" {
	tries no_sockets
	[[ $output == True ]]
}

# listens: makes datagram sockets of the user outside, at ./there/socket and @$mark.
listens() {
	room there
	mkfifo hold heard
	as_who /usr/bin/python3 -SE "$here/landlock.py" listen "$T/there/socket" "$mark" <hold >heard 3>&- &
	started+=($!)
	exec 6>hold 7<heard
	read -r -t "$PATIENCE" -u 7 line
	[[ $line == listens ]]
}

@test "a pair of sockets reaches no datagram socket of the host's" {
	listens
	tries datagrams "$T/there/socket" "$mark"
	exec 6>&-
	[[ $status == 0 && $output == 1 ]]
	read -r -t "$PATIENCE" -u 7 line
	[[ $line == '0 came' ]]
}

@test "--network host is TCP alone" {
	mkfifo hold port
	/usr/bin/python3 -SE "$here/landlock.py" greet <hold >port 3>&- &
	started+=($!)
	exec 6<>hold
	read -r -t "$PATIENCE" address <>port
	tries_with --network host -- tcp_alone "$address"
	exec 6>&-
	[[ $status == 0 && $output == "b'hello' use-vc" ]]
	[[ $stderr == *'shares this host'* ]]
}

@test "calls that share state between the user's programs are refused: keys, IPC, watches" {
	tries shared_things
	[[ $status == 0 && -z $output ]]
}

@test "processes that a command leaves running are ended with it" {
	tries leave_running "$mark"
	[[ $status == 0 && $output == left ]]
	none_marked
	[ -z "$(left)" ]
}

@test "a process that forks as fast as it can is ended with the sandbox" {
	needs_signals
	# RLIMIT_NPROC counts all tasks of the user, including those of other tests; the limit is
	# 300 above the present number.
	start --isolation landlock --ulimit nproc=$(($(ps -L -U "$who" -o lwp= | wc -l) + 300)) \
		-v "$here/landlock.py:$here/landlock.py:ro" \
		python3 -SE "$here/landlock.py" fork_without_end "$mark"
	said full
	kill -TERM "$pid"
	ended 143
	none_marked
	[ -z "$(left)" ]
}

@test "--timeout ends everything, and hutch exits with 124" {
	room work
	# The time-out is increased while the machine is too busy for the command to leave a file
	# before it.
	local ms
	for ms in 300 1000 3000 10000 30000 100000; do
		without_namespaces --timeout "${ms}ms" --workspace work \
			bash -c "(exec -a $mark sleep 1000) & echo begun; : >begun; wait"
		[[ ! -e work/begun ]] || break
	done
	[[ $status == 124 && $output == begun && $stderr == *'timed out after '*' s; everything was ended' ]]
	none_marked
	[ -z "$(left)" ]
}

@test "signals to hutch go to the command's group" {
	start --isolation landlock sh -c 'trap "echo got; exit 3" TERM; echo ready; while :; do :; done'
	said ready
	kill -TERM "$pid"
	said got
	ended 3
	start --isolation landlock sh -c 'echo ready; exec sleep 1000'
	said ready
	kill -INT "$pid"
	ended 130
	start --isolation landlock sh -c 'trap : USR1
		(trap "echo child; exit" USR1; echo ready; while :; do :; done) & wait; wait; exit 4'
	said ready
	kill -USR1 "$pid"
	said child
	ended 4
}

# asleep COUNT: true if exactly COUNT processes have the mark in their arguments.
asleep() {
	[[ $(pgrep -cf "^$mark 1000\$") == "$1" ]]
}

@test "killed by SIGKILL, hutch leaves no process and no folder" {
	start --isolation landlock bash -c "for n in 1 2; do setsid bash -c 'exec -a $mark sleep 1000' & done; echo ready; exec -a $mark sleep 1000"
	said ready
	until_true asleep 3
	[ -n "$(left)" ]
	kill -KILL "$pid"
	ended 137
	until_true none_marked
	gone() { [[ -z $(left) ]]; }
	until_true gone
}

@test "a killed subreaper is an error, and leaves nothing either" {
	start --isolation landlock bash -c "setsid bash -c 'exec -a $mark sleep 1000' & echo ready; exec -a $mark sleep 1000"
	said ready
	until_true asleep 2
	kill -KILL "$(pgrep -P "$pid" hutch-keeper)"
	ended 125
	grep -q 'the subreaper of the command was killed' "$T/err"
	none_marked
	[ -z "$(left)" ]
}

@test "the subreaper is closed to the user's other processes, and the command ends with it whatever hutch does" {
	start --isolation landlock bash -c "echo ready; exec -a $mark sleep 1000"
	said ready
	until_true asleep 1
	subreaper=$(pgrep -P "$pid" hutch-keeper)
	[ "$(stat -c %U "/proc/$subreaper/environ")" = root ]
	kill -STOP "$pid"
	kill -KILL "$subreaper"
	only_hutch() { [[ $(marked) == "$pid" ]]; } # in whose words the mark is, too
	until_true only_hutch
	kill -CONT "$pid"
	ended 125
}

@test "children that hutch had before are not ended" {
	# The shell starts a process and then executes hutch, so that hutch has a child that it
	# did not start itself.
	bash -c 'sleep 1000 >/dev/null 2>&1 3>&- & echo $! >beside; exec "$@"' - \
		"$HUTCH" run --isolation landlock true
	started+=("$(cat beside)")
	kill -0 "$(cat beside)"
	mkfifo out
	bash -c 'sleep 1000 >/dev/null 2>&1 3>&- & echo $! >beside2; exec "$@"' - \
		"$HUTCH" run --isolation landlock bash -c "echo ready; exec -a $mark sleep 1000" >out 3>&- &
	pid=$!
	started+=("$pid")
	exec 7<out
	said ready
	subreaper=$(pgrep -P "$pid" hutch-keeper)
	kill -KILL "$subreaper"
	ended 125
	started+=("$(cat beside2)")
	kill -0 "$(cat beside2)"
}

@test "--json tells that the isolation is weaker" {
	without_namespaces --json=3 true 3>json
	[[ $(cat json) == *'"status":"exited","exit_code":0,'*'"degraded":["isolation"],'* ]]
	without_namespaces --json=3 --timeout 100ms sleep 1000 3>json
	[[ $(cat json) == *'"status":"timeout","exit_code":124,'*'"degraded":["isolation"],'* ]]
	without_namespaces --json=3 -v none:/none true 3>json
	[[ $(cat json) == *'"status":"setup-error"'*'"kind":"not_found"'* ]]
}

@test "--dry-run prints what may be opened, and makes nothing" {
	room work
	without_namespaces --workspace work --dry-run true
	[[ $status == 0 && -z $stderr ]]
	has '^isolation landlock, ABI [0-9]'
	has '^read +/usr$'
	has "^write +$T/work$"
	has '^network +none$'
	never has '^(read|write) +/(etc|proc|tmp|home|dev)?$'
	[ -z "$(left)" ]
}

@test "a policy can say it, and a flag wins" {
	echo '{"version":1,"isolation":"landlock"}' >p.json
	give p.json
	inside --policy ./p.json sh -c 'echo $TMPDIR'
	[[ -n $output ]]
	noted
	hutch create --policy ./p.json box
	[[ $status == 125 ]]
	one_sentence 'hutch create needs namespaces'
}

@test "--seccomp takes the place of the default profile, and of nothing else" {
	echo '{"defaultAction":"SCMP_ACT_ALLOW"}' >allow.json
	give allow.json
	without_namespaces --seccomp "$T/allow.json" python3 -SEc 'import socket; (socket.socketpair(), socket.socket(socket.AF_UNIX))'
	[[ $status == 1 && $stderr == *'Permission denied'* ]]
}

@test "a host without user namespaces: the error names Landlock isolation and its price; it works" {
	catch outer sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' - "$HUTCH" run echo ran
	[[ $status == 125 && -z $output ]]
	one_sentence 'make a user namespace: '
	[[ ${stderr_lines[1]} == *'; or --isolation landlock, where the command is you, '* ]]
	catch outer sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' - "$HUTCH" run --isolation namespaces echo ran
	[[ $status == 125 && $stderr != *landlock* ]]
	catch outer sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' - "$HUTCH" run --isolation landlock echo ran
	[[ $status == 0 && $output == ran ]]
}

@test "an outer filter that refuses user namespaces leaves room for the hint" {
	catch "$(tool forbid)" eperm "$HUTCH" run echo ran
	[[ $status == 125 ]]
	[[ ${stderr_lines[1]} == *'seccomp=unconfined'*'--isolation landlock, where'*'alone' ]]
	catch "$(tool forbid)" eperm "$HUTCH" run --isolation landlock echo ran
	[[ $status == 0 && $output == ran ]]
}

@test "root becomes the user that its sandboxes stand for" {
	is_root || skip "this host has no root here"
	without_namespaces id -u
	[[ $output == 65534 ]]
	mkdir -p owned
	chown 4321:4321 owned
	without_namespaces --workspace owned id -u
	[[ $status == 0 && $output == 4321 ]]
	without_namespaces cat /etc/shadow
	[[ $status == 1 && $stderr == *'Permission denied'* ]]
}
