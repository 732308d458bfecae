#!/usr/bin/env bats
# Tests of exit codes, and of signals that are sent to hutch.

load helpers

setup() {
	begin
}

teardown() {
	end
}

# This perl script catches signals, since bash can lose a signal that comes just before its wait.
catches='use POSIX; $| = 1;
	my ($name, $word, $end) = @ARGV;
	my $all = POSIX::SigSet->new;
	$all->fillset;
	sigprocmask(SIG_BLOCK, $all);
	$SIG{$name} = sub { print "$word\n"; exit $end if $end };
	print "ready\n";
	sigsuspend(POSIX::SigSet->new) while 1'

# starts_to_catch SIGNAL WORD [CODE [ARG...]]: starts a command that prints WORD at each SIGNAL
# and, if CODE is given, then exits with CODE.
starts_to_catch() {
	start perl -e "$catches" "$@"
	said ready
}

# A command that calls PTRACE_TRACEME makes pid 1, its parent, its tracer; pid 1 must not take the
# stops of the command for its end.
@test "a command that asks to be traced has its signals, its program and its exit code" {
	traceme='use POSIX; syscall((uname)[4] eq "x86_64" ? 101 : 117, 0, 0, 0, 0) == 0 or exit 99;'
	inside perl -e "$traceme"' $| = 1; $SIG{USR1} = sub { print "usr\n" }; kill "USR1", $$; exit 3'
	[[ $status == 3 && $output == usr ]]
	inside perl -e "$traceme"' exec "sh", "-c", "echo hi; exit 4"'
	[[ $status == 4 && $output == hi ]]
	inside perl -e "$traceme"' kill "TERM", $$; exit 5'
	[[ $status == 143 ]]
}

@test "the exit code is the command's own, whatever it is" {
	for code in 0 1 2 42 124 125 126 127 128 137 254 255; do
		inside sh -c "exit $code"
		[ "$status" -eq "$code" ]
		[ -z "$stderr" ]
	done
}

@test "a command that a signal ended gives 128+N" {
	for signal in 1 2 3 4 6 8 9 10 11 13 14 15 31; do
		inside sh -c "kill -$signal \$\$"
		[ "$status" -eq $((128 + signal)) ]
		[ -z "$stderr" ]
	done
	inside /usr/bin/python3 -c 'import os; os.kill(os.getpid(), 64)'
	[ "$status" -eq 192 ]
}

@test "126: found but not run" {
	room w
	touch w/plain
	printf 'garbage' >w/garbage
	chmod +x w/garbage
	fails 126 '.*/workspace/plain.*Permission denied' --workspace "$T/w" /workspace/plain
	fails 126 '.*/workspace.*' --workspace "$T/w" /workspace
	fails 126 '.*/workspace/garbage.*Exec format' --workspace "$T/w" /workspace/garbage
	fails 126 '.*plain.*Permission denied' --workspace "$T/w" -e PATH=/workspace plain
}

@test "126: a script whose interpreter is not there, and the hint says so" {
	room w
	printf '#!/nonexistent/interpreter\n' >w/script
	chmod +x w/script
	fails 126 '.*/workspace/script.*' --workspace "$T/w" /workspace/script
	[[ $stderr == *interpreter* ]]
}

@test "127: not found by name" {
	fails 127 'nonexistent: .*not found inside' nonexistent
	fails 127 'ubuntu: .*not found inside' ubuntu true
	[[ $stderr == *'hutch run --image ubuntu CMD'* ]]
}

@test "127: not found by path" {
	fails 127 '/nonexistent/program: .*not found' /nonexistent/program
	fails 127 '.*program.*' ./program
	fails 127 '.*passwd/x.*' /etc/passwd/x
}

@test "127 names the command's place on the host, and the flags that show it" {
	mkdir bin
	printf '#!/bin/sh\necho shown\n' >bin/mine
	chmod 755 bin/mine
	PATH=$T/bin:$PATH fails 127 "mine: command not found inside; on this host it is $T/bin/mine" mine
	remedy=${stderr_lines[1]#hutch: hint: }
	flags=${remedy% shows it}
	inside $flags mine
	[ "$output" = shown ]
}

@test "127 for a program of the folder that one is in names the flag, too" {
	printf '#!/bin/sh\necho shown\n' >mine
	chmod 755 mine
	give mine
	fails 127 './mine: command not found inside; on this host it is there' ./mine
	flags=${stderr_lines[1]#hutch: hint: }
	inside ${flags% shows*} ./mine
	[ "$output" = shown ]
}

@test "127 for a path that is on the host names the flag that shows it" {
	mkdir bin
	cp /bin/true bin/mine
	fails 127 "$T/bin/mine: .*not found inside.*" "$T/bin/mine"
	remedy=${stderr_lines[1]#hutch: hint: }
	inside ${remedy% shows it} "$T/bin/mine"
	[ "$status" -eq 0 ]
}

@test "a relative command is found from the working directory, as shells do" {
	room w
	printf '#!/bin/sh\necho relative\n' >w/relative
	chmod +x w/relative
	inside --workspace "$T/w" ./relative
	[ "$output" = relative ]
	inside --workspace "$T/w" relative
	[ "$status" -eq 127 ]
}

@test "a command that begins with - or looks like a flag goes behind --" {
	inside -- echo -v --help
	[ "$output" = "-v --help" ]
	inside echo --read-only -- x
	[ "$output" = "--read-only -- x" ]
	fails 127 '-x: command not found' -- -x
}

# --- signals ----------------------------------------------------------------

# The command prints when it is ready and which signal came.
report='for s in INT TERM HUP QUIT USR1 USR2; do trap "echo got $s; exit 7" $s; done
	echo ready; while :; do sleep 1000 & wait; done'

@test "a signal to hutch is one for the command" {
	for signal in INT TERM HUP QUIT USR1 USR2; do
		start bash -c "$report"
		said ready
		kill "-$signal" "$pid"
		said "got $signal"
		ended 7
	done
}

@test "a command that dies of the signal gives 128+N" {
	for signal in INT:130 TERM:143 HUP:129 QUIT:131 USR1:138; do
		start sh -c 'echo ready; exec sleep 1000'
		said ready
		kill "-${signal%:*}" "$pid"
		ended "${signal#*:}"
	done
}

@test "the signal reaches the command's whole process group" {
	start bash -c "exec -a $mark sleep 1000 & echo ready; wait"
	said ready
	until_true some_marked
	kill -TERM "$pid"
	ended 143
	until_true none_marked
}

some_marked() {
	[[ -n $(marked) ]]
}

@test "the third Ctrl-C ends a command that ignores it" {
	starts_to_catch INT int
	kill -INT "$pid"
	said int
	kill -INT "$pid"
	said int
	kill -INT "$pid"
	ended 130
}

@test "SIGTERM gives a grace of ten seconds, then everything is killed" {
	starts_to_catch TERM term 0 "$mark"
	kill -TERM "$pid"
	said term
	kill -0 "$pid"
	ended 137
	until_true none_marked
}

@test "hutch under nohup lives on when its terminal hangs up" {
	mkfifo out
	(
		trap '' HUP
		exec "$HUTCH" run bash -c 'trap "echo usr; exit 9" USR1; echo ready
			while :; do sleep 1000 & wait; done'
	) >out 2>err 3>&- </dev/null &
	pid=$!
	started+=("$pid")
	exec 7<out
	said ready
	kill -HUP "$pid"
	kill -USR1 "$pid"
	said usr
	ended 9
}

@test "a stopped hutch goes on when it is continued" {
	starts_to_catch USR1 usr 9
	kill -STOP "$pid"
	kill -USR1 "$pid"
	kill -CONT "$pid"
	said usr
	ended 9
}
