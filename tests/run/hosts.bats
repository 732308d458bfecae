#!/usr/bin/env bats
# Tests of hosts that forbid what hutch needs: the error names the cause and the command that
# would change it.  Each test uses a user namespace of its own, so that nothing on this host is
# changed.

load helpers

setup() {
	begin
}

teardown() {
	end
}

# bounded NAME: runs hutch in a user namespace where /proc/sys/user/NAME is 0.
bounded() {
	catch outer sh -c "echo 0 >/proc/sys/user/$1 && exec \"\$@\"" - "$HUTCH" run echo ran
}

behind() {
	catch "$(tool forbid)" "$1" "$HUTCH" run echo ran
}

@test "a filter that allows everything is no obstacle" {
	behind none
	[ "$output" = ran ]
}

@test "hutch works in an outer container that forbids nothing" {
	catch outer unshare -mpf --mount-proc "$HUTCH" run echo ran
	[ "$output" = ran ]
}

@test "no user namespaces: the sysctl is named with its command" {
	bounded max_user_namespaces
	[ "$status" -eq 125 ]
	one_sentence 'make a user namespace: the bound user.max_user_namespaces is reached'
	[[ ${stderr_lines[1]} == *'sysctl -w user.max_user_namespaces='* ]]
}

@test "no network namespaces: the sysctl is named, and what does without" {
	bounded max_net_namespaces
	[ "$status" -eq 125 ]
	one_sentence 'make a network namespace: '
	[[ $stderr == *'sysctl -w user.max_net_namespaces='* ]]
}

@test "none of the other namespaces: the sysctl is named with its command" {
	for kind in mnt pid ipc uts cgroup; do
		bounded "max_${kind}_namespaces"
		[ "$status" -eq 125 ]
		one_sentence 'make an? '
		[[ ${stderr_lines[1]} == *"sysctl -w user.max_${kind}_namespaces="* ]]
	done
}

@test "an outer filter that refuses namespaces with EPERM is named" {
	behind eperm
	[ "$status" -eq 125 ]
	one_sentence 'make a user namespace: refused by a seccomp filter'
	[[ ${stderr_lines[1]} == *'--security-opt seccomp=unconfined'* ]]
}

@test "docker's default filter, where clone3 is ENOSYS, is named" {
	behind container
	[ "$status" -eq 125 ]
	one_sentence 'make a user namespace: refused by a seccomp filter'
	[[ ${stderr_lines[1]} == *'--security-opt seccomp=unconfined'* ]]
}

@test "an outer filter that refuses the mount calls, with EPERM or ENOSYS, is named" {
	for mode in mounts newcalls; do
		behind "$mode"
		[ "$status" -eq 125 ]
		[[ ${stderr_lines[1]} == *'seccomp'* ]]
	done
}

@test "a masked /proc of an outer container is named, and how to start that" {
	catch masked "$HUTCH" run echo ran
	[ "$status" -eq 125 ]
	one_sentence "mount a fresh /proc: .*parts of this host's own /proc are masked"
	[[ ${stderr_lines[1]} == *'systempaths=unconfined'* ]]
}

@test "a /proc with a folder masked by a tmpfs, as docker does, is the same" {
	catch outer unshare -mpf --mount-proc sh -c \
		'mount -t tmpfs -o ro none /proc/sys && exec "$@"' - "$HUTCH" run echo ran
	[ "$status" -eq 125 ]
	[[ $stderr == *'/proc'* ]]
}

@test "a root of a namespace with one id, as a rootless container has, is served or told why" {
	catch as_who unshare -Ur "$HUTCH" run id -u
	[ "$output" = 1000 ] || {
		one_sentence '.*'
		[[ $stderr == *'no such id is mapped'* ]]
	}
}

@test "a chroot that forbids user namespaces is an error that says so" {
	mkdir jail
	catch outer sh -c "
		mount --rbind / jail && exec chroot jail '$HUTCH' run echo ran"
	[ "$status" -eq 125 ]
	one_sentence 'make a user namespace'
	[[ ${stderr_lines[1]} == *chroot* ]]
}

@test "without its other programs hutch says what is missing and what puts it there" {
	cp "$HUTCH" "$T/hutch"
	HUTCH=$T/hutch refuses 'hutch-executor is neither at .*' true
	[[ ${stderr_lines[1]} == *'make install'* ]]
}
