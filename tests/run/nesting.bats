#!/usr/bin/env bats
# Tests of --nesting: commands make namespaces of their own, and no other wall gives way.  The
# escape tier runs all its probes with the flag, too.

load helpers

teardown() {
	remove_boxes
	end
}

@test "--nesting lets a command make namespaces, and mount in them alone" {
	inside --nesting sh -c 'unshare -Urpfmn sh -c "id -u && mount -t tmpfs none /tmp && touch /tmp/in" && ls /tmp'
	[ "$status" -eq 0 ]
	[ "$output" = 0 ]
}

@test "without --nesting no namespace can be made, and the refusal names the flag" {
	inside unshare -Ur true
	[ "$status" -ne 0 ]
	[[ $stderr == *"unshare(CLONE_NEWUSER) was refused (seccomp: the floor)"* ]]
	hutch why syscall unshare 0x10000000
	[ "$status" -eq 1 ]
	has '^  change  --nesting, which lets commands make namespaces$'
	hutch why --nesting syscall unshare 0x10000000
	[ "$status" -eq 0 ]
	has '^yes: unshare is let through$'
	hutch why --nesting syscall mount
	[ "$status" -eq 0 ]
}

@test "a sandbox of bubblewrap's runs inside one with --nesting" {
	inside --nesting bwrap --unshare-all --ro-bind / / --dev /dev --tmpfs /tmp sh -c 'echo $$'
	[ "$status" -eq 0 ]
	[ "$output" = 2 ]
}

@test "a command can mount over a file of the sandbox's own, too" {
	box true
	inside --nesting --hostname other unshare -Urm sh -c 'mount --bind /etc/passwd /etc/hosts && grep agent /etc/hosts'
	[ "$status" -eq 0 ]
}

@test "what /proc hides stays hidden from root of a nested namespace" {
	inside --nesting unshare -Urpfm sh -c '
		for file in /proc/kallsyms /proc/keys; do
			umount "$file" && echo "$file is uncovered"
			cat "$file" >/dev/null && echo "$file was read"
		done
		umount /proc/sys && echo "/proc/sys is uncovered"
		mount -t proc proc /tmp && echo "another /proc is mounted"
		mount --bind /proc /tmp && echo "/proc without its masks is mounted"
		mount -o remount,rw,bind /usr && echo "/usr is writable"
		kill -KILL 1
		true'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "the number of nested namespaces is bounded" {
	local kind
	python_inside nesting.py --nesting -- bounded user
	[[ $status == 0 && $output == "No space left on device 128" ]]
	# The sandbox's own namespace of each other kind counts, too.
	for kind in mount cgroup uts ipc pid net; do
		python_inside nesting.py --nesting -- bounded "$kind"
		[[ $status == 0 && $output == "No space left on device 127" ]]
	done
}

@test "a pause holds processes of nested namespaces, and the end ends them" {
	"$HUTCH" create --nesting box >/dev/null
	"$HUTCH" exec -d box -- unshare -Urpfm sh -c "sleep 1000; true" "$mark" >/dev/null
	until_true eval '[[ -n $(marked) ]]'
	hutch pause box
	[ "$status" -eq 0 ]
	local pid
	for pid in $(marked); do
		[[ $(awk '/^State:/ { print $2 }' "/proc/$pid/status") == [tT] ]] ||
			[[ $(cat "/proc/$pid/cgroup") == *hutch* ]]
	done
	hutch unpause box
	[ "$status" -eq 0 ]
	hutch rm -f box
	[ "$status" -eq 0 ]
	none_marked
}

@test "--nesting excludes the walls that a mount would get round" {
	refuses '--nesting and --landlock on exclude each other: .*' --nesting --landlock on true
	refuses '--nesting and --protect-missing exclude each other: .*' --nesting --protect .git \
		--protect-missing true
	refuses '.*--nesting.*' --nesting --isolation landlock true
	refuses '.*--nesting.*' --nesting --learn "$T/policy.json" true
}

@test "a profile sees CAP_SYS_ADMIN with --nesting alone, and the floor stays" {
	local profile=$top/policy/seccomp/default.json
	inside --nesting --seccomp "$profile" unshare -Urm mount -t tmpfs none /tmp
	[ "$status" -eq 0 ]
	inside --seccomp "$profile" unshare -Urm mount -t tmpfs none /tmp
	[ "$status" -ne 0 ]
	echo '{"defaultAction": "SCMP_ACT_ALLOW"}' >allow.json
	inside --nesting --seccomp allow.json unshare -Ur keyctl show
	[ "$status" -ne 0 ]
}

@test "the plan, the policy and the audit log tell of --nesting" {
	echo '{"version": 1, "nesting": true, "audit": "on"}' >nested.json
	inside --policy "$T/nested.json" --dry-run true
	has '^landlock  off, since --nesting lets commands mount$'
	has '^seccomp   commands may make namespaces, and mount in them$'
	inside --policy "$T/nested.json" unshare -U true
	[ "$status" -eq 0 ]
	hutch audit show --json
	[[ $output == *'"nesting":true'* ]]
}
