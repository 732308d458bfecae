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

@test "import, verify and snapshot say what they do, and not with -q" {
	mkdir -p folder/etc
	ln -s usr/bin usr/lib usr/lib64 folder
	mkfifo hold quiet
	give hold quiet
	local library as=()
	library=$(tool preload/hold_digest.so)
	! is_root || as=(setpriv --reuid "$who" --regid "$who" --clear-groups) # root's verbs pass no LD_PRELOAD on
	# held TEXT ARG...: the verb says TEXT on its terminal, where hold_digest.so holds it.
	held() {
		local text=$1
		shift
		command=("${as[@]}" env LD_PRELOAD="$library" HOLD_FIFO="$T/hold" "$HUTCH" "$@")
		drive "expect hutch: $text \\([0-9]+ s\\)" "do : >$T/hold" 'expect \r\x1b\[K' 'exit 0'
	}
	held "importing $T/folder" image import "$T/folder" --name one:1
	held 'verifying the store' image verify
	"$HUTCH" create --image one:1 -v /usr:/usr:ro box
	"$HUTCH" exec box touch /etc/new
	held "taking a snapshot of sandbox 'box'" snapshot box
	# The quiet snapshot has waited longer than the verify that has its line.
	printf '%s\n' 'expect hutch: verifying' "do : >$T/hold" 'exit 0' >inner
	command=("${as[@]}" env LD_PRELOAD="$library" HOLD_FIFO="$T/quiet" "$HUTCH" snapshot -q box)
	drive "do LD_PRELOAD=$library HOLD_FIFO=$T/hold ${as[*]} '$here/terminal.py' $T/inner '$HUTCH' image verify" \
		"do : >$T/quiet" \
		'expect localhost/box:2' 'exit 0' 'never taking'
}

@test "export says what it writes, while its reader takes its time" {
	mkdir -p folder/etc
	seq 100000 >folder/etc/many # more than a pipe takes
	mkfifo hold
	"$HUTCH" image import folder --name one:1 >/dev/null
	command=(bash -c "'$HUTCH' image export one:1 | { read -r _ <'$T/hold'; cat >'$T/tar'; }")
	drive 'expect hutch: exporting one:1 \([0-9]+ s\)' "do echo >$T/hold" 'expect \r\x1b\[K' 'exit 0'
	tar tf tar | grep -qx index.json
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
