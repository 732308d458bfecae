#!/usr/bin/env bats
# Tests that system calls which the seccomp filter refuses are reported, and that they fail as
# without the report.

load helpers

setup() {
	begin
	# Arguments of hutch run: shown shows the file refused.py inside, python is the command
	# that runs it, and tried has both.
	shown=(-v "$here/refused.py:/refused.py:ro") python=(/usr/bin/python3 -SE /refused.py)
	tried=("${shown[@]}" -- "${python[@]}")
}

teardown() {
	remove_boxes
	end
}

# told: prints the refused calls that --json reports, one on each line.
told() {
	python3 "$here/refused.py" told "$stderr"
}

@test "a refused call answers what it answers without a listener" {
	needs_listener
	inside "${tried[@]}" calls
	with=$output
	# A process can have only one seccomp listener; if an outer process has it, hutch gets
	# none and reports nothing.
	catch "$(tool forbid)" listener sh -c '"$@"; exit $?' - "$HUTCH" run --json "${tried[@]}" calls
	[ "$status" -eq 0 ]
	[[ $stderr == *'"refused":[]'* ]]
	[ "$with" = "$output" ]
	for line in "mount EPERM" "unshare EPERM" "clone3 ENOSYS" "keyctl EPERM" "packet EAFNOSUPPORT" \
		"tiocsti EPERM" "pid 1 EPERM" "listener EPERM" "io_uring ENOSYS" "unknown ENOSYS"; do
		[[ $'\n'$with$'\n' == *$'\n'"$line"$'\n'* ]]
	done
}

@test "refused calls are in the object, with a count, and calls that programs only try are not" {
	needs_listener
	inside --json "${shown[@]}" sh -c '"$@" calls; "$@" storm 20' - "${python[@]}"
	[ "$status" -eq 0 ]
	told >told
	cat told
	grep -qx 'mount|21|the default profile' told
	grep -qx 'unshare(CLONE_NEWUSER)|1|the floor' told
	grep -qx 'socket(AF_PACKET)|1|the default profile' told
	grep -qx 'ioctl(TIOCSTI)|1|the floor' told
	never grep -Eq 'clone3|io_uring|ptrace|1000' told
	# Refused calls are printed on stderr only if the command fails, and this one has not.
	never grep -q 'was refused' <<<"$stderr"
}

@test "a command that failed says what was refused, and the remedy that it names answers" {
	needs_listener
	inside sh -c 'unshare -U true 2>/dev/null; exit 4'
	[ "$status" -eq 4 ]
	[ "${stderr_lines[0]}" = "hutch: unshare(CLONE_NEWUSER) was refused (seccomp: the floor)" ]
	[[ ${stderr_lines[1]} == 'hutch: hint: `hutch why syscall unshare 0x10000000` '* ]]
	hutch why syscall unshare 0x10000000
	[ "$status" -eq 1 ]
	[[ $output == *"the floor: unshare"* ]]
}

# hutch limits the rate of answers by a token bucket, however many refused calls are made, so that
# their cost is bounded.
@test "a storm of refused calls waits: no more are answered in a second than that" {
	needs_listener
	python3 "$here/refused.py" check_rate "$HUTCH" run --json "${shown[@]}" sh -c \
		'for i in 1 2 3 4; do "$@" storm -1 & done; echo on; "$@" storm 600; kill %1 %2 %3 %4' - \
		"${python[@]}"
}

@test "a launcher that stands still holds refused calls alone, and then they are refused" {
	needs_listener
	room out
	mkfifo out/go
	give out/go
	"$HUTCH" run -v "$T/out:/out" sh -c 'echo $$ >/out/there; read x </out/go
		(unshare -U true 2>/out/said; echo $? >/out/refused) &
		echo on >/out/others; wait' &
	started+=($!)
	until_true test -s out/there
	kill -STOP "${started[0]}"
	echo >out/go
	until_true test -s out/others
	[ ! -e out/refused ]
	kill -CONT "${started[0]}"
	until_true test -s out/refused
	[ "$(<out/refused)" = 1 ]
	grep -q "not permitted" out/said
	wait "${started[0]}"
}

@test "hutch that is killed while a call waits leaves nothing behind" {
	needs_listener
	room out
	"$HUTCH" run -v "$T/out:/out" "${shown[@]}" sh -c 'echo on >/out/there; exec "$@"' - \
		"${python[@]}" storm -1 "$mark" &
	started+=($!)
	until_true test -s out/there
	kill -KILL "${started[0]}"
	until_true none_marked
}

@test "with a profile of one's own nothing is told, and all is refused as ever" {
	needs_listener
	echo '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["chmod", "fchmodat", "fchmodat2"],
		"action": "SCMP_ACT_ERRNO", "errnoRet": 13}]}' >deny.json
	inside --json --seccomp deny.json sh -c 'touch f; chmod 600 f || unshare -U true || exit 5'
	[ "$status" -eq 5 ]
	[[ $stderr == *"Permission denied"*"not permitted"* ]]
	[ -z "$(told)" ]
}

@test "in an image whose changes of owners pretend, the floor is told as well" {
	needs_listener
	image img
	catch imaged img --json sh -c 'touch /tmp/f; chown 5:5 /tmp/f && ! unshare -U true && exit 6'
	[ "$status" -eq 6 ]
	told | grep -qx 'unshare(CLONE_NEWUSER)|1|the floor'
}

@test "an action has what it was refused, and no other has" {
	needs_listener
	{
		echo '{"action":"run","id":1,"args":{"command":"unshare -U true; unshare -U true"}}'
		echo '{"action":"run","id":2,"args":{"command":"true"}}'
		echo '{"action":"run","id":3,"args":{"command":"setsid -w unshare -n true; true"}}'
	} | "$HUTCH" act >out
	{
		# Two sessions run an action at the same time; each refused call must be reported
		# with the right one.
		echo '{"action":"run","id":4,"session":"a","args":{"command":"for i in 1 2 3; do unshare -U true; done; touch /tmp/done"}}'
		echo '{"action":"run","id":5,"session":"b","args":{"command":"until [ -e /tmp/done ]; do :; done"}}'
	} | "$HUTCH" act >>out
	python3 "$here/refused.py" check_actions out
}

@test "a sandbox with a name tells of it as an event, the first time and at powers of ten" {
	needs_listener
	"$HUTCH" create "${shown[@]}" box
	"$HUTCH" exec box "${python[@]}" storm 250
	hutch events --json box
	"$HUTCH" rm -f box
	python3 "$here/refused.py" check_events "$output"
}

@test "a refused call is on record" {
	needs_listener
	mkdir -m 700 log && give log
	"$HUTCH" run --audit "$T/log" "${tried[@]}" storm 3
	echo '{"action":"run","id":1,"args":{"command":"unshare -U true"}}' | "$HUTCH" act --audit "$T/log" >/dev/null
	hutch audit show --json "$T/log"
	python3 "$here/refused.py" check_record "$output"
}
