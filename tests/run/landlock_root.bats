#!/usr/bin/env bats
# Tests of a second protection beside the mount namespace: a Landlock domain permits opening only
# files below the root of the sandbox, even if a link or descriptor leads elsewhere; below the
# root nothing changes (sandbox/kernel/landlock_root.h).

load helpers

setup() {
	begin
}

teardown() {
	remove_boxes
	end
}

python=/usr/bin/python3

needs_landlock_root() {
	"$HUTCH" run --dry-run true | grep -q '^landlock .*can be opened' ||
		skip "this host has no Landlock of ABI 2"
}

# make_given: makes the folder place/given, which a test hands over as stdin, and beside it a file
# that is not handed over.
make_given() {
	room place/given/under place/other
	echo given >place/given/under/file
	echo secret >place/secret
	give place
	chmod -R a+rwX place
}

# given COMMAND...: runs COMMAND in a sandbox that inherits the folder place/given as stdin.
given() {
	catch "$HUTCH" run ${flags:-} --stdio inherit "$@" <place/given
}

# --- what it keeps out ------------------------------------------------------------

@test "files above a folder that was handed over cannot be read" {
	needs_landlock_root
	make_given
	given cat /proc/self/fd/0/../secret
	[[ $status == 1 && $stderr == *'Permission denied' && $output != *secret* ]]
	given ls /proc/self/fd/0/..
	[[ $status == 2 && $stderr == *'Permission denied' && $output != *secret* ]]
	given cat "/proc/self/fd/0/../../../../../../../etc/passwd"
	[[ $status == 1 && $stderr == *'Permission denied' && -z $output ]]
}

@test "files above that folder cannot be written, executed, made, removed, linked or renamed" {
	needs_landlock_root
	make_given
	cp /usr/bin/true place/program
	given -v "$here/landlock_root.py:/landlock_root.py:ro" -- sh -c 'exec 9<&0 </dev/null "$@"' - \
		"$python" -SE /landlock_root.py above
	[[ $status == 0 && ${#lines[@]} == 14 ]]
	for line in "${lines[@]}"; do
		echo "$line"
		[[ $line == *' 'E@(ACCES|XDEV) ]]
	done
	[[ $(cat place/secret) == secret ]]
	[[ $(ls place) == given$'\n'other$'\n'program$'\n'secret ]]
}

@test "with --landlock off it can be read, which is what the wall is for" {
	make_given
	flags='--landlock off'
	given cat /proc/self/fd/0/../secret
	[[ $status == 0 && $output == secret ]]
}

# --- what it leaves ---------------------------------------------------------------

@test "files below a folder that was handed over are open" {
	make_given
	given cat /proc/self/fd/0/under/file
	[[ $status == 0 && $output == given ]]
}

# inherit COMMAND...: runs COMMAND with --stdio inherit as the user $who, since that user may not
# use descriptors that root has opened.
inherit() {
	as_who "$HUTCH" run --stdio inherit sh -c "$@"
}

@test "a descriptor that was handed over can be opened again: files, pipes, fifos, devices" {
	echo content >file && : >out && : >err && give file out err
	inherit 'cat /dev/stdin; echo said >>/dev/stdout; echo too >/dev/stderr' <file >out 2>err
	[[ $(cat out) == content$'\n'said && $(cat err) == too ]]
	as_who bash -c 'echo piped | "$0" run --stdio inherit sh -c "cat /dev/stdin; echo said >/dev/stdout" | cat' "$HUTCH" >got
	[[ $(cat got) == piped$'\n'said ]]
	inherit ': >/dev/stdout && echo opened >&2' >/dev/full 2>err
	[[ $(cat err) == opened ]]
	mkfifo fifo && give fifo
	timeout $PATIENCE cat fifo >got 3>&- &
	inherit 'echo said >/dev/stdout' >fifo
	wait $!
	[[ $(cat got) == said ]]
	[[ $(inherit 'cat /dev/stdin; echo $?' </dev/null) == 0 ]]
}

@test "a terminal that is handed over can be opened again" {
	is_root && skip "root's sandbox stands for somebody who may not open root's terminal"
	cat >steps <<-END
		expect (?m)^opened.*
		exit 0
	END
	"$here/terminal.py" steps "$HUTCH" run --stdio inherit sh -c \
		'stty -F /dev/stdin size >/dev/null && : </dev/stdin && echo opened >/dev/stdout'
}

@test "without -i stdin is /dev/null, and can be opened again, in a sandbox with a name too" {
	catch "$HUTCH" run sh -c 'cat /dev/stdin && cat </dev/null && echo x >/dev/null && echo ok'
	[[ $status == 0 && $output == ok ]]
	"$HUTCH" create box
	catch "$HUTCH" exec box sh -c 'cat /dev/stdin && echo ok'
	[[ $status == 0 && $output == ok ]]
	is_root || {
		catch "$HUTCH" exec -i box sh -c 'cat /dev/stdin && echo ok >/dev/stdout' <<<typed
		[[ $status == 0 && $output == typed$'\n'ok ]]
	}
}

@test "everything that can be done with files is as it was" {
	room shown shown/a shown/b
	catch "$HUTCH" run -v "$T/shown:/shown" --tmpfs /more -i "$python" -SE - files <"$here/landlock_root.py"
	[[ $status == 0 && $output == all ]]
}

@test "message queues, semaphores and shared memory are as they were" {
	catch "$HUTCH" run -i "$python" -SE - ipc <"$here/landlock_root.py"
	[[ $status == 0 && -z $stderr ]]
	[[ ${lines[0]} == "True True 0 4 b'said'" && ${lines[1]} == '0 '* ]]
}

@test "one command can look into another one's process, since one domain has both" {
	"$HUTCH" create box
	pid=$("$HUTCH" exec -d box sleep 1000)
	catch "$HUTCH" exec box sh -c 'cat /proc/[0-9]*/comm; for p in /proc/[0-9]*; do ls "$p/cwd/" >/dev/null || exit 3; done'
	[[ $status == 0 && $output == *sleep* ]]
}

@test "a process inside can still confine itself with Landlock, fifteen times" {
	needs_landlock_root
	catch "$HUTCH" run -i "$python" -SE - confine <"$here/landlock_root.py"
	[[ $status == 0 && $output == 15 ]]
	catch "$HUTCH" run --landlock off -i "$python" -SE - confine <"$here/landlock_root.py"
	[[ $status == 0 && $output == 16 ]]
}

# --- the flag ---------------------------------------------------------------------

@test "--landlock off: --dry-run says so, and a policy can" {
	catch "$HUTCH" run --dry-run --landlock off true
	has '^landlock  off$'
	echo '{"version":1,"landlock":"off"}' >p.json
	catch "$HUTCH" run --dry-run --policy ./p.json true
	has '^landlock  off$'
	catch "$HUTCH" run --dry-run --policy ./p.json --landlock auto true
	has_not '^landlock  off$'
}

@test "where the kernel has no Landlock nothing changes, and --landlock on is an error" {
	catch "$(tool forbid)" landlock "$HUTCH" run sh -c 'echo ran; cat /dev/stdin'
	[[ $status == 0 && $output == ran && -z $stderr ]]
	catch "$(tool forbid)" landlock "$HUTCH" run --json true
	[[ $output != *degraded*landlock* ]]
	catch "$(tool forbid)" landlock "$HUTCH" run --dry-run true
	has '^landlock  none in this kernel, or too old a one$'
	catch "$(tool forbid)" landlock "$HUTCH" run --landlock on true
	[[ $status == 125 ]]
	[[ ${stderr_lines[0]} == 'hutch: --landlock on: this kernel has no Landlock of ABI 2, or it is off' ]]
	[[ ${stderr_lines[1]} == *'--landlock auto'* ]]
}

@test "--landlock on stands where there is one" {
	needs_landlock_root
	make_given
	flags='--landlock on'
	given cat /proc/self/fd/0/../secret
	[[ $status == 1 && $stderr == *'Permission denied' ]]
}

@test "--landlock takes one of three words" {
	catch "$HUTCH" run --landlock yes true
	[[ $status == 125 && $stderr == "hutch: --landlock takes auto, on or off, not 'yes'" ]]
}

@test "with --network host one domain keeps files and abstract sockets" {
	needs_landlock_root
	make_given
	flags='--network host'
	given cat /proc/self/fd/0/../secret
	[[ $status == 1 && $stderr == *'Permission denied'* ]]
	catch "$HUTCH" run --network host sh -c 'cat /dev/stdin && echo ok'
	[[ $output == ok ]]
}
