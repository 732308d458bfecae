#!/usr/bin/env bats
# Tests of --seccomp FILE: a profile in the JSON of OCI or docker, which can permit nothing that
# hutch always refuses (the floor).

load helpers

setup() {
	begin
	if is_root; then
		# As root, hutch looks for the cache before it changes into the other user, so
		# root must own the folder.
		chown 0:0 home
	fi
	export XDG_CACHE_HOME=$T/home/cache
	mkdir "$XDG_CACHE_HOME"
	cat >deny-chmod.json <<-END
		{"defaultAction": "SCMP_ACT_ALLOW",
		 "syscalls": [{"names": ["chmod", "fchmod", "fchmodat", "fchmodat2"],
		               "action": "SCMP_ACT_ERRNO", "errnoRet": 13}]}
	END
	echo '{"defaultAction": "SCMP_ACT_ALLOW"}' >allow.json
}

teardown() {
	end
}

cached() {
	find "$XDG_CACHE_HOME/hutch/seccomp" -type f 2>/dev/null | wc -l
}

@test "a profile of one's own refuses what it says, with the error it says" {
	inside --seccomp deny-chmod.json sh -c 'touch f && chmod 600 f'
	[ "$status" -ne 0 ]
	[[ $stderr == *"Permission denied"* ]]
	inside sh -c 'touch f && chmod 600 f'
	[ "$status" -eq 0 ]
}

@test "docker's form, with names by architecture and capability, is understood" {
	cat >docker.json <<-END
		{"defaultAction": "SCMP_ACT_ALLOW",
		 "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
		             {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"]}],
		 "syscalls": [
		  {"names": ["chmod", "fchmod", "fchmodat", "fchmodat2"], "action": "SCMP_ACT_ERRNO", "args": [], "comment": "",
		   "includes": {}, "excludes": {"caps": ["CAP_FOWNER"]}, "errnoRet": 1},
		  {"names": ["sethostname"], "action": "SCMP_ACT_ERRNO", "includes": {"minKernel": "4.8"}, "errnoRet": 38}]}
	END
	inside --seccomp docker.json sh -c 'touch f && chmod 600 f'
	[[ $stderr == *"not permitted"* ]]
	inside --seccomp docker.json --cap-add FOWNER sh -c 'touch f && chmod 600 f'
	[ "$status" -eq 0 ]
}

@test "the default profile, given as a file, is as good as the built-in one" {
	default=$top/policy/seccomp/default.json
	[ -e "$default" ] || skip "no sources here"
	inside --seccomp "$default" /usr/bin/python3 -c 'print("ran")'
	[ "$output" = ran ]
}

@test "a profile is compiled once and then taken from the cache" {
	inside --seccomp deny-chmod.json true
	[ "$(cached)" -eq 1 ]
	stamp=$(find "$XDG_CACHE_HOME" -type f -printf '%i %T@\n')
	strace -f -e trace=execve -o trace "$HUTCH" run --seccomp deny-chmod.json true || skip "no strace"
	[ "$(find "$XDG_CACHE_HOME" -type f -printf '%i %T@\n')" = "$stamp" ]
	never grep hutch-seccomp trace
	inside --seccomp deny-chmod.json sh -c 'touch f && chmod 600 f'
	[ "$status" -ne 0 ]
}

@test "the cache goes by content, not by name" {
	box --seccomp deny-chmod.json true
	cp allow.json deny-chmod.json
	inside --seccomp deny-chmod.json sh -c 'touch f && chmod 600 f'
	[ "$status" -eq 0 ]
	[ "$(cached)" -eq 2 ]
}

@test "a cached program that was damaged, cut or replaced is compiled again" {
	box --seccomp deny-chmod.json true
	entry=$(find "$XDG_CACHE_HOME" -type f)
	size=$(stat -c %s "$entry")
	cp "$entry" good
	for damage in "truncate -s 10" "truncate -s $((size - 8))" "truncate -s 0" "rm" \
		"dd if=/dev/zero bs=1 seek=$((size - 16)) count=8 conv=notrunc status=none of="; do
		cp good "$entry"
		[[ $damage == dd* ]] && ${damage}$entry || $damage "$entry"
		inside --seccomp deny-chmod.json sh -c 'touch f && chmod 600 f'
		[ "$status" -ne 0 ]
		[[ $stderr == *"Permission denied"* ]]
	done
	chmod 666 "$entry"
	inside --seccomp deny-chmod.json true
	[ "$status" -eq 0 ]
}

@test "a cache that cannot be written to is no obstacle" {
	is_root && chown 4321 "$XDG_CACHE_HOME"
	chmod 500 "$XDG_CACHE_HOME"
	inside --seccomp deny-chmod.json echo ran
	chmod 700 "$XDG_CACHE_HOME"
	[ "$output" = ran ]
	rm -rf "$XDG_CACHE_HOME"
	touch "$XDG_CACHE_HOME"
	inside --seccomp deny-chmod.json echo ran
	[ "$output" = ran ]
}

# --- the floor ---------------------------------------------------------------------

@test "the floor stays under a profile that allows everything" {
	inside --seccomp allow.json -u root -i /usr/bin/python3 -SE - <"$here/seccomp.py"
	[ "$output" = tried ]
}

@test "the floor's refusal of TIOCSTI stays too" {
	printf '%s\n' 'expect refused' 'exit 0' 'never worked' >steps
	"$here/terminal.py" steps "$HUTCH" run --seccomp allow.json -it \
		-v "$here/terminal_inside.py:/terminal.py:ro" /usr/bin/python3 -SE /terminal.py type_for_others
}

@test "a profile that refuses everything ends the command, and does not hang" {
	needs_static
	echo '{"defaultAction": "SCMP_ACT_ERRNO"}' >none.json
	inside --timeout "$PATIENCE" --seccomp none.json true
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
	echo '{"defaultAction": "SCMP_ACT_KILL_PROCESS"}' >kill.json
	inside --timeout "$PATIENCE" --seccomp kill.json true
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
}

# --- wrong profiles ------------------------------------------------------------------

@test "profiles that are none are errors that name the file and what is wrong" {
	refuses '.*/nonexistent: No such file' --seccomp /nonexistent true
	refuses '.*not a regular file' --seccomp "$T" true
	mkfifo fifo
	refuses '.*not a regular file' --seccomp fifo true
	local text n=0
	for text in '' '{' '[]' 'null' '{}' '{"defaultAction": 5}' '{"defaultAction": "SCMP_ACT_NONE"}' \
		'{"defaultAction": "SCMP_ACT_ALLOW"} x' \
		'{"defaultAction": "SCMP_ACT_ALLOW", "defaultAction": "SCMP_ACT_ERRNO"}' \
		'{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": {}}' \
		'{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": [5], "action": "SCMP_ACT_ERRNO"}]}' \
		'{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["chmod"]}]}' \
		'{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["chmod"], "action": "SCMP_ACT_NOTIFY"}]}' \
		$'{"defaultAction": "SCMP_ACT_ALLOW\\u0000"}' $'{"a": "\xff"}'; do
		printf '%s' "$text" >"bad$n.json"
		refuses ".*bad$n.json" --seccomp "bad$n.json" true
		n=$((n + 1))
	done
	head -c 5000000 /dev/zero >big.json
	refuses '.*big.json' --seccomp big.json true
	[ "$(cached)" -eq 0 ]
}

@test "a profile that may not be read is an error" {
	is_root && skip "root reads everything"
	chmod 000 allow.json
	refuses '.*allow.json: Permission denied' --seccomp allow.json true
}
