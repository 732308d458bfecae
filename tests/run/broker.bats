#!/usr/bin/env bats
# Tests of the broker, a process that creates files for processes inside a sandbox
# (--protect-missing).  The broker must give them no file that the sandbox does not have, and none
# that the kernel would have refused to them.  TRIES is the number of attempts in some tests.

load helpers

setup() {
	begin
	needs_listener
	room w
	guarded=(--workspace "$T/w" --protect .git/hooks --protect .bashrc --protect-missing)
	install -m 755 "$(tool broker_ask)" w/ask
}

teardown() {
	end
}

@test "a link of /proc that changes behind the look gives no terminal of the host's" {
	printf '%s\n' 'expect terminals: 0' 'exit 0' >steps
	"$here/terminal.py" steps "$HUTCH" run "${guarded[@]}" -- ./ask terminal "${TRIES:-1000}"
}

@test "Ctrl-C on the terminal reaches the inside, and does not end the broker" {
	printf '%s\n' 'expect ready' 'send \x03' 'expect kept 1' 'exit 7' >steps
	# This uses sigsuspend(2) in perl, since a shell can lose a signal that arrives just
	# before its wait.
	"$here/terminal.py" steps "$HUTCH" run "${guarded[@]}" -- perl -MPOSIX -e '
		sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGINT));
		$SIG{INT} = sub { system("echo 1 >made; echo kept \$(cat made)"); exit 7 };
		$| = 1; print "ready\n"; sigsuspend(POSIX::SigSet->new) while 1;'
}

@test "a closed file is open nowhere: a program can run at once, a lock is free" {
	inside "${guarded[@]}" -- sh -c './ask left $0 & (cd /tmp && /workspace/ask left $0) & wait %1 && wait %2' "${TRIES:-300}"
	[[ $output == $'busy: 0\nheld: 0\nbusy: 0\nheld: 0' ]]
}

@test "files of /proc that depend on their opener show the sandbox, not the host" {
	id=$(ipcmk -M 4096 | grep -o '[0-9]*$')
	inside "${guarded[@]}" -- ./ask read /proc/sysvipc/shm
	ipcrm -m "$id"
	[[ $status == 0 && ${#lines[@]} == 1 && $output == *shmid* ]]
	device=$(ls /sys/class/net | grep -vx lo | head -n 1)
	[[ -n $device ]] || skip "this host has no network"
	test -e "/proc/sys/net/ipv4/conf/$device/forwarding"
	inside "${guarded[@]}" -- ./ask read "/proc/sys/net/ipv4/conf/$device/forwarding"
	[[ $output == 'No such file or directory: 1' ]]
}

@test "files of /proc read the same with O_CREAT as without, and process numbers are the sandbox's" {
	inside "${guarded[@]}" -i -- python3 -SE - proc <"$here/broker.py"
	[[ $status == 0 && $output == 'True True' ]]
	# stdin of the sandbox is the host's /dev/null, which must be opened again.
	inside "${guarded[@]}" -- sh -c ': >/dev/stdin && : >>/proc/self/fd/0 && echo opened'
	[[ $status == 0 && $output == opened ]]
}

@test "many files of /proc are opened, in threads, and the broker is visible nowhere" {
	inside --timeout "${PATIENCE}s" "${guarded[@]}" -- bash -c '
		for i in 1 2 3 4; do (for j in {1..200}; do echo 7 >/proc/self/oom_score_adj || exit 1; done) & pids+=($!); done
		for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
		seen=$(ls /proc); grep -c "^[0-9]" <<<"$seen"'
	# Two processes are seen in /proc: the shell, and ls, which has ended when grep begins.
	[[ $status == 0 && $output == 2 ]]
}

@test "the process that opens files of /proc for the inside cannot be stopped in it" {
	inside --timeout "${PATIENCE}s" "${guarded[@]}" -i -- python3 -SE - stopped <"$here/broker.py"
	[[ $status == 0 && $output == answered ]]
}

@test "the flags beside O_CREAT work as without it, and a thread has its own folders" {
	inside "${guarded[@]}" -- ./ask flags
	[[ $status == 0 && -z $output ]]
	inside "${guarded[@]}" -- ./ask thread
	[[ $status == 0 && $output == 'elsewhere: 0' ]]
}

@test "in a folder below one that was closed a name can be made" {
	inside "${guarded[@]}" -- sh -c 'mkdir -p a/b && cd a/b && chmod 0 .. && echo x >new && mkdir d; cat new; chmod 700 ..'
	[[ $status == 0 && $output == x ]]
	inside "${guarded[@]}" -- sh -c 'mkdir -p a/b && cd a/b && chmod 0 .. && echo x >.bashrc; chmod 700 ..; ls -A'
	[[ $stderr == *'Read-only file system'* && $output != *bashrc* ]]
}

@test "a netlink socket that asks for any port gets its own process's, as everywhere, and then another" {
	inside "${guarded[@]}" -i -- python3 -SE - netlink <"$here/broker.py"
	[[ $status == 0 && $output == ok ]]
}
