#!/usr/bin/env bats
# Tests of -t: the sandbox gets a terminal of its own, and the modes of the caller's terminal are
# restored.

load helpers

setup() {
	begin
	export TERM=xterm
}

teardown() {
	remove_boxes
	end
}

inside=(-v "$BATS_TEST_DIRNAME/terminal_inside.py:/terminal.py:ro")

# drive STEP...: runs $command (hutch and its arguments) on a terminal of terminal.py, which sends
# and expects text as the STEPs say.
drive() {
	printf '%s\n' "$@" >steps
	"$here/terminal.py" steps "${command[@]}"
}

# Arguments for an interactive shell inside, whose prompt cannot be taken for the echo of a
# command.
shell=(-it -e 'PS1=<''$?''> ' bash --norc --noprofile)

@test "with -t there is a terminal, /dev/pts/0, and /dev/tty is the same" {
	command=("$HUTCH" run -it sh -c 'tty; test -t 0 && test -t 1 && test -t 2 && echo three
		echo direct >/dev/pts/0; echo mine >/dev/tty; stat -c %U:%a "$(tty)"')
	drive 'expect /dev/pts/0' 'expect three' 'expect direct' 'expect mine' \
		'expect agent:6[20]0' 'exit 0'
}

@test "the terminal is the sandbox's own: the host's is not to be seen" {
	command=("$HUTCH" run -it sh -c 'ls /dev/pts | xargs; stat -c %d:%i /dev/pts/0')
	drive 'expect (?m)^0 ptmx' 'exit 0'
	command=("$HUTCH" run -it "${inside[@]}" /usr/bin/python3 -SE /terminal.py second)
	drive 'expect second /dev/pts/1' 'exit 0'
}

@test "the prompt of bash and sh says that they are in a sandbox" {
	command=("$HUTCH" run -it bash)
	drive 'expect \(hutch\) agent:/workspace\$ $' 'send cd /tmp\n' 'expect \(hutch\) agent:/tmp\$ $' \
		'send exit 4\n' 'exit 4'
	command=("$HUTCH" run -it -u root bash)
	drive 'expect \(hutch\) root:/workspace# $' 'send exit 4\n' 'exit 4'
	command=("$HUTCH" run -it sh)
	drive 'expect \(hutch\) agent:/workspace\$ $' 'send exit 4\n' 'exit 4'
	command=("$HUTCH" run -it -e 'PS1=mine> ' bash)
	drive 'expect mine> $' 'never hutch' 'send exit 4\n' 'exit 4'
}

@test "a script has no prompt, and without a terminal the variable is not there" {
	# shellcheck disable=SC2016
	command=("$HUTCH" run -it bash -c 'echo "<${PS1-none}>"')
	drive 'expect <none>' 'exit 0'
	run "$HUTCH" run -- env
	[[ $output != *PS1* ]]
}

@test "the prompt in a sandbox with a name has the name that it has now" {
	"$HUTCH" create box
	"$HUTCH" create -e 'PS1=given> ' given
	command=("$HUTCH" shell box)
	drive 'expect \(hutch box\) agent:/workspace\$ $' 'send exit 4\n' 'exit 4'
	"$HUTCH" rename box crate
	command=("$HUTCH" exec -it crate bash)
	drive 'expect \(hutch crate\) agent:/workspace\$ $' 'send exit 4\n' 'exit 4'
	command=("$HUTCH" exec -it -e 'PS1=mine> ' crate sh)
	drive 'expect mine> $' 'send exit 4\n' 'exit 4'
	command=("$HUTCH" shell given)
	drive 'expect given> $' 'send exit 4\n' 'exit 4'
}

@test "the exit code comes through a terminal, and signals too" {
	command=("$HUTCH" run -it sh -c 'exit 9')
	drive 'exit 9'
	command=("$HUTCH" run -it sh -c 'kill -TERM $$')
	drive 'exit 143'
}

@test "all output arrives before the end, however much it is" {
	command=("$HUTCH" run -it seq 1 20000)
	drive 'expect (?s)19998\r+\n19999\r+\n20000' 'exit 0'
}

@test "the window has the caller's size, and follows it" {
	command=("$HUTCH" run "${inside[@]}" "${shell[@]}")
	drive 'expect <0> $' 'send exec /usr/bin/python3 -SE /terminal.py sizes\n' 'expect ready' \
		'resize 33 111' 'expect 111 33' 'resize 44 123' 'expect 123 44' 'exit 0'
	command=(sh -c "stty rows 17 cols 71; exec '$HUTCH' run -it stty size")
	drive 'expect 17 71' 'exit 0'
}

@test "Ctrl-C ends the command inside and not the shell, nor hutch" {
	command=("$HUTCH" run "${shell[@]}")
	drive 'expect <0> $' 'send sh -c "echo go; exec sleep 1000"\n' 'expect [\r\n]go\r' 'send \x03' \
		'expect <130> ' 'send exit 4\n' 'exit 4' 'modes same'
}

@test "Ctrl-Z stops, fg goes on, and jobs are listed" {
	command=("$HUTCH" run "${shell[@]}")
	drive 'expect <0> $' 'send sh -c "echo go; exec sleep 1000"\n' 'expect [\r\n]go\r' 'send \x1a' \
		'expect Stopped' 'expect <148> ' 'send jobs\n' 'expect Stopped +' 'expect sleep 1000' \
		'expect <0> ' 'send kill %1; fg >/dev/null 2>&1; exit 0\n' 'exit 0'
}

@test "Ctrl-D is the end of input" {
	command=("$HUTCH" run -it cat)
	drive 'modes raw' 'send typed\n' 'expect typed' 'expect typed' 'send \x04' 'exit 0'
}

@test "an editor's keys reach the command as they are" {
	command=("$HUTCH" run -it sh -c 'stty raw -echo; printf ready; head -c 5 | od -An -tx1')
	drive 'expect ready' 'send \x1b[A\x03\x1a' 'expect 1b 5b 41 03 1a' 'exit 0'
}

@test "the caller's terminal is raw meanwhile, and as it was after the end" {
	command=("$HUTCH" run -it sh -c 'echo ready; read x')
	drive 'expect ready' 'modes raw' 'send x\n' 'exit 0' 'modes same'
}

@test "the caller's terminal is restored after a failed launch" {
	command=("$HUTCH" run -it -w /nonexistent true)
	drive 'exit 125' 'modes same'
	command=("$HUTCH" run -it nonexistent)
	drive 'exit 127' 'modes same'
}

@test "the caller's terminal is restored when hutch is sent SIGTERM or SIGHUP" {
	for signal in TERM HUP; do
		command=("$HUTCH" run -it sh -c 'echo ready; exec sleep 1000')
		drive 'expect ready' 'modes raw' "signal $signal" \
			"exit $((128 + $(kill -l $signal)))" 'modes same'
	done
}

@test "the caller's terminal is restored when hutch is killed" {
	for i in 1 2; do
		command=("$HUTCH" run -it sh -c 'echo ready; exec sleep 1000')
		drive 'expect ready' 'modes raw' 'signal KILL' 'exit -9' 'modes same'
	done
}

@test "the caller's terminal is restored when its janitor was killed" {
	command=("$HUTCH" run -it sh -c 'echo ready; read x; exit 3')
	drive 'expect ready' 'modes raw' 'kill-child hutch-janitor' 'send x\n' 'exit 3' 'modes same'
}

@test "a terminal that hangs up ends everything" {
	command=("$HUTCH" run -it sh -c "echo ready; sleep 1000; : $mark")
	drive 'expect ready' 'hangup' 'gone'
	until_true none_marked
}

@test "-it without a terminal is an error that says what to leave out" {
	refuses '-t with -i needs a terminal as stdin' -it true </dev/null
	[[ ${stderr_lines[1]} == *-t* ]]
}

@test "-t alone gives a terminal whose output goes anywhere" {
	box -t sh -c 'test -t 1 && echo terminal' >out
	[ "$(tr -d '\r' <out)" = terminal ]
	[ "$(box -t sh -c 'stty size' | tr -d '\r')" = "24 80" ]
}

@test "-t alone reads nothing of the caller's terminal, and does not end for that" {
	command=("$HUTCH" run -t sh -c 'echo ready; exec cat')
	drive 'expect ready' 'modes same' 'send typed\n' 'expect typed' 'signal TERM' 'exit 143' \
		'never typed(?s:.*)typed'
}

@test "54: TIOCSTI and TIOCLINUX type nothing on the caller's terminal" {
	for flags in -i -it; do
		command=(sh -c "'$HUTCH' run $flags ${inside[*]} /usr/bin/python3 -SE /terminal.py type_for_others; echo then; cat")
		drive 'expect then' 'send x\n' 'expect x' 'never worked' 'never #'
	done
}

@test "a shell's prompt afterwards is readable: hutch leaves the foreground as it was" {
	command=(bash --norc --noprofile -i)
	drive "send PS1='<''\$?''> '\n" 'expect <0> $' "send '$HUTCH' run -it sh -c 'exit 6'\n" \
		'expect <6> ' "send '$HUTCH' run -i sed -u s/l/xy/\n" 'send line\n' 'expect xyine' 'send \x03' \
		'expect <130> ' 'send exit 0\n' 'exit 0'
}
