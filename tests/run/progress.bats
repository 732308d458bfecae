#!/usr/bin/env bats
# Tests of the line on a terminal that says what hutch waits for: it comes after two seconds, and
# is erased at the end.  tests/unit/test_wait_line.c has its times.

bats_require_minimum_version 1.5.0
load helpers

setup() {
	begin
	export TERM=xterm
	room w
}

teardown() {
	remove_boxes
	end
}

# drive STEP...: runs $command on a terminal of terminal.py, which does as the STEPs say.
drive() {
	printf '%s\n' "$@" >steps
	"$here/terminal.py" steps "${command[@]}"
}

# stubborn: creates box, with a process in it that ends only when the test says so, by a line in
# w/end.
stubborn() {
	mkfifo w/end && give w/end
	"$HUTCH" create -v "$T/w:/w" box
	"$HUTCH" exec -d box bash -c 'trap "" TERM HUP; : >/w/begun; read -r _ </w/end'
	until_true test -e w/begun
}

@test "stop says what it waits for, and erases that line" {
	stubborn
	command=("$HUTCH" stop -t 600 box)
	drive "expect hutch: waiting for sandbox 'box' to end \\([0-9]+ s\\)" "do echo >$T/w/end" \
		'expect \r\x1b\[K' 'expect box\r\n$' 'exit 0'
}

@test "wait says it too, and not with -q" {
	"$HUTCH" create box
	printf '%s\n' "expect hutch: waiting for sandbox 'box' to end" "do '$HUTCH' kill box" \
		'expect \r\x1b\[K' 'expect [0-9]+\r\n$' 'exit 0' >inner
	command=("$HUTCH" wait -q box)
	drive "do '$here/terminal.py' $T/inner '$HUTCH' wait box" 'exit 0' 'never waiting'
}

@test "a lock of the store that another process holds is named" {
	mkdir -p folder/etc
	mkfifo go gone
	"$HUTCH" image import folder --name one:1 >/dev/null
	exec 8>>"$HOME/.local/share/hutch/store/lock"
	flock 8
	command=("$HUTCH" image import folder --name two:1)
	{ read -r _ <go; flock -u 8; echo >gone; } 3>&- &
	drive 'expect hutch: waiting for another hutch, which is removing from the store \([0-9]+ s\)' \
		"do echo >$T/go; read -r _ <$T/gone" 'expect \r\x1b\[K' 'exit 0'
	wait
	exec 8>&-
}

@test "cp says how much was copied so far, until the end" {
	"$HUTCH" create -v "$T/w:/w" box
	mkfifo tar go
	command=(sh -c "exec '$HUTCH' cp - box:/tmp <$T/tar")
	mkdir folder && seq 100000 >folder/many
	# The tar comes in two parts; the second one when the line was seen.
	tar cf whole.tar folder
	{ head -c 65536 whole.tar; read -r _ <go; tail -c +65537 whole.tar; } >tar 3>&- &
	drive 'expect hutch: copying -: 64(\.0)?KiB \([0-9]+ s\)' "do echo >$T/go" 'expect \r\x1b\[K' 'exit 0'
	wait
	"$HUTCH" exec box cat /tmp/folder/many | diff - folder/many
}
