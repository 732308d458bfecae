#!/usr/bin/env bats
# Calls that the filter refuses are told, and are refused as ever.

load helpers

# Prints, for each of these calls, what it answers.
calls=$(cat <<'END'
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
for name, nr, *args in [
    ("mount", 165 if x86 else 40, 0, 0, 0, 0, 0), ("umount2", 166 if x86 else 39, 0, 0),
    ("unshare", 272 if x86 else 97, 0x10000000), ("setns", 308 if x86 else 268, -1, 0),
    ("clone", 56 if x86 else 220, 0x20000 | 17, 0, 0, 0, 0), ("clone3", 435, 0, 0),
    ("keyctl", 250 if x86 else 219, 9999), ("add_key", 248 if x86 else 217, 0, 0, 0, 0, 0),
    ("packet", 41 if x86 else 198, 17, 3, 0), ("alg", 41 if x86 else 198, 38, 5, 0),
    ("sctp", 41 if x86 else 198, 2, 1, 132), ("audit", 41 if x86 else 198, 16, 3, 9),
    ("tiocsti", 16 if x86 else 29, 0, 0x5412, 0), ("setpipe", 72 if x86 else 25, 0, 1031, 4096),
    ("ptrace", 101 if x86 else 117, 16, 999999, 0, 0), ("pid 1", 302 if x86 else 261, 1, 0, 0, 0),
    ("listener", 317 if x86 else 277, 1, 8, 0), ("io_uring", 425, 1, 0),
    ("bpf", 321 if x86 else 280, 0, 0, 0), ("unknown", 1000)]:
    ctypes.set_errno(0)
    libc.syscall(*[ctypes.c_long(a) for a in (nr, *args)])
    print(name, errno.errorcode.get(ctypes.get_errno(), 0))
END
)

# A refused call, as often as said.
storm='import ctypes, sys
libc = ctypes.CDLL(None)
n = int(sys.argv[1])
while n:
    libc.syscall(165, 0, 0, 0, 0, 0) if sys.maxsize else 0
    n -= 1'

setup() {
	begin
	[[ $(uname -m) == x86_64 ]] || storm=${storm/165/40}
}

teardown() {
	remove_boxes
	end
}

# told: what --json says was refused, one a line.
told() {
	python3 -c 'import json, sys
for r in json.loads(sys.argv[1].splitlines()[-1])["refused"]:
    assert list(r) == ["what", "path", "layer", "rule", "remedy", "count"], r
    assert r["path"] is None and r["layer"] == "seccomp", r
    print(r["what"], r["count"], r["rule"], sep="|")' "$stderr"
}

@test "a refused call answers what it answers without a listener" {
	needs_listener
	inside /usr/bin/python3 -c "$calls"
	with=$output
	# Whoever has the other listener keeps it.
	catch "$(tool forbid)" listener sh -c '"$@"; exit $?' - "$HUTCH" run --json /usr/bin/python3 -c "$calls"
	[ "$status" -eq 0 ]
	[[ $stderr == *'"refused":[]'* ]]
	[ "$with" = "$output" ]
	for line in "mount EPERM" "unshare EPERM" "clone3 ENOSYS" "keyctl EPERM" "packet EAFNOSUPPORT" \
		"tiocsti EPERM" "pid 1 EPERM" "listener EPERM" "io_uring ENOSYS" "unknown ENOSYS"; do
		[[ $'\n'$with$'\n' == *$'\n'"$line"$'\n'* ]]
	done
}

@test "what was refused is in the object, with a count, and what programs only try is not" {
	needs_listener
	inside --json sh -c "/usr/bin/python3 -c '${calls//\'/}'; /usr/bin/python3 -c '$storm' 20"
	[ "$status" -eq 0 ]
	told >told
	cat told
	grep -qx 'mount|21|the default profile' told
	grep -qx 'unshare(CLONE_NEWUSER)|1|the floor' told
	grep -qx 'socket(AF_PACKET)|1|the default profile' told
	grep -qx 'ioctl(TIOCSTI)|1|the floor' told
	never grep -Eq 'clone3|io_uring|ptrace|1000' told
	# It has not failed: nobody reads about it.
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

# As many are answered as there are tokens for, however many are made, so that what they cost
# is bounded.
@test "a storm of refused calls waits: no more are answered in a second than that" {
	needs_listener
	/usr/bin/python3 -c 'import json, subprocess, sys
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
assert run.stdout.readline() == "on\n"
told = json.loads(run.communicate()[1].splitlines()[-1])
count = sum(r["count"] for r in told["refused"])
print(count, "calls in", told["wall_s"], "s")
assert 500 < count <= 500 + 500 * told["wall_s"] + 5, told' \
		"$HUTCH" run --json sh -c "for i in 1 2 3 4; do /usr/bin/python3 -c '$storm' -1 & done
			echo on; /usr/bin/python3 -c '$storm' 600; kill %1 %2 %3 %4"
}

@test "a launcher that stands still holds refused calls alone, and then they are refused" {
	needs_listener
	room out
	"$HUTCH" run -v "$T/out:/out" sh -c 'echo $$ >/out/there
		while ! [ -e /out/go ]; do sleep 0.05; done
		(unshare -U true 2>/out/said; echo $? >/out/refused) &
		echo on >/out/others; wait' &
	started+=($!)
	until_true test -s out/there
	kill -STOP "${started[0]}"
	as_who touch out/go
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
	"$HUTCH" run -v "$T/out:/out" sh -c "echo on >/out/there; exec /usr/bin/python3 -c '$storm' -1 $mark" &
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
		# Beside an action of another session, whose it could be.
		echo '{"action":"run","id":4,"session":"a","args":{"command":"for i in 1 2 3; do unshare -U true; done; touch /tmp/done"}}'
		echo '{"action":"run","id":5,"session":"b","args":{"command":"until [ -e /tmp/done ]; do sleep 0.02; done"}}'
	} | "$HUTCH" act >>out
	python3 - <<-'END'
		import json
		by = {o["cause"]: o for o in map(json.loads, open("out"))}
		def refused(id):
		    return [(r["what"], r["layer"], r["rule"], r["count"]) for r in by[id]["hutch"]["refused"]]
		def suffix(id):
		    return by[id]["extras"]["metadata"]["suffix"]
		assert refused(1) == [("unshare(CLONE_NEWUSER)", "seccomp", "the floor", 2)], by[1]
		assert suffix(1).endswith("\n[The sandbox refused system calls that nobody in it may make: unshare(CLONE_NEWUSER).]"), by[1]
		assert refused(2) == [] and "refused" not in suffix(2), by[2]
		assert refused(3) == [("unshare(CLONE_NEWNET)", "seccomp", "the floor", 1)], by[3]
		assert "refused" not in suffix(3), by[3]
		assert refused(4) == [("unshare(CLONE_NEWUSER)", "seccomp", "the floor", 3)], by[4]
		assert refused(5) == [], by[5]
	END
}

@test "a sandbox with a name tells of it as an event, the first time and at powers of ten" {
	needs_listener
	"$HUTCH" create box
	"$HUTCH" exec box /usr/bin/python3 -c "$storm" 250
	hutch events --json box
	"$HUTCH" rm -f box
	python3 - "$output" <<-'END'
		import json, sys
		told = [e for e in map(json.loads, sys.argv[1].splitlines()) if e["event"] == "refused"]
		assert [e["count"] for e in told] == [1, 10, 100], told
		for e in told:
		    assert (e["what"], e["path"], e["layer"], e["rule"]) == ("mount", None, "seccomp", "the default profile"), e
		    assert "hutch why syscall mount" in e["remedy"], e
	END
}

@test "it is on record" {
	needs_listener
	mkdir -m 700 log && give log
	"$HUTCH" run --audit "$T/log" /usr/bin/python3 -c "$storm" 3
	echo '{"action":"run","id":1,"args":{"command":"unshare -U true"}}' | "$HUTCH" act --audit "$T/log" >/dev/null
	hutch audit show --json "$T/log"
	python3 - "$output" <<-'END'
		import json, sys
		told = [e for e in map(json.loads, sys.argv[1].splitlines()) if e["event"] == "refused"]
		assert [(e["what"], e["layer"], e["rule"], e["count"]) for e in told] == [
		    ("mount", "seccomp", "the default profile", 3),
		    ("unshare(CLONE_NEWUSER)", "seccomp", "the floor", 1)], told
	END
}
