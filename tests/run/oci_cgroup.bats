#!/usr/bin/env bats
# Tests of the cgroups of `hutch oci` against a container that may write to its own.

load oci

# has_cgroup: skips the test unless the container `box` has a cgroup.
has_cgroup() {
	cgroup=$(jq -r .cgroup state/box/state.json)
	[[ $cgroup == /* ]] || no_cgroup
}

# deepen FOLDER PID: makes 1,200 cgroups, each in the one before, as a container could that has
# its cgroup mounted, and moves a process to the deepest.
deepen() {
	command python3 -SE "$here/oci.py" deepen "$@"
}

# deep_holds: expects that the verbs reach the process in the deepest cgroup of `box`, and that
# nothing is left of it.
deep_holds() {
	local pid
	has_cgroup
	pid=$(oci state box | jq .pid)
	deepen "$cgroup" "$pid"
	ulimit -Sn 1024
	[[ $(oci ps --format json box) == "[$pid]" ]]
	oci kill --all box KILL
	gone "$pid"
	oci delete box
	[[ ! -e $cgroup && ! -e state/box ]]
}

@test "ps, kill and delete reach through cgroups that a container has made 1,200 levels deep" {
	created
	oci start box
	deep_holds
}

@test "delete --force kills and removes what is in cgroups below the container's" {
	created
	oci start box
	has_cgroup
	pid=$(oci state box | jq .pid)
	deepen "$cgroup" "$pid"
	oci delete --force box
	[[ ! -e $cgroup && ! -e /proc/$pid/root ]]
}

@test "exec --cgroup enters a cgroup that is below the container's, and no other" {
	local path
	created '.linux.namespaces -= [{"type": "cgroup"}]'
	oci start box
	if ! jq -e .cgroup state/box/state.json | grep -q /; then
		run -1 oci exec --cgroup below box true
		[[ $output == *"has no cgroup, which --cgroup needs"* ]]
	fi
	has_cgroup
	mkdir -p "$cgroup/below/deep"
	path=${cgroup#/sys/fs/cgroup}
	path=${path#/unified}
	[[ $(oci exec --cgroup /below/deep box grep ^0:: /proc/self/cgroup) == "0::$path/below/deep" ]]
	[[ $(oci exec --cgroup below box grep ^0:: /proc/self/cgroup) == "0::$path/below" ]]
	[[ $(oci exec box grep ^0:: /proc/self/cgroup) == "0::$path" ]]
	run -1 oci exec --cgroup /none box true
	[[ $output == *"--cgroup /none: "*"/none/cgroup.procs: No such file or directory"* ]]
	run -1 oci exec --cgroup below/../.. box true
	[[ $output == *"--cgroup: '..' leads out of it"* ]]
	oci delete --force box
	[[ ! -e $cgroup ]]
}

@test "exec --cgroup keeps the limits of cgroup v1, where that has no cgroup of the name" {
	local path
	created '.linux.resources.pids = {"limit": 77} | .linux.namespaces -= [{"type": "cgroup"}]' || no_cgroup
	oci start box
	has_cgroup
	path=$(jq -r '.cgroupV1' state/box/state.json)
	[[ -e /sys/fs/cgroup/pids$path ]] || skip "this host has no controller pids of cgroup v1"
	mkdir "$cgroup/below"
	oci exec --cgroup below box cat /proc/self/cgroup >seen
	grep -q ":pids:$path\$" seen
	mkdir "/sys/fs/cgroup/pids$path/below"
	oci exec --cgroup below box cat /proc/self/cgroup >seen
	grep -q ":pids:$path/below\$" seen
}

@test "events --stats tells memory and processes in either version of cgroups" {
	bundle '.process.args = ["sleep", "1000"] | .linux.resources |= {pids: {limit: 77}, memory: {limit: 67108864}}'
	catch oci create box </dev/null
	if ((status)); then
		[[ $stderr == *linux.resources.* ]]
		no_cgroup
	fi
	oci start box
	oci events --stats box | jq -e '.type == "stats" and .id == "box" and (.data |
		.pids == {current: 1, limit: 77} and .memory.usage.limit == 67108864 and .memory.usage.usage > 0)'
}

@test "an object of limits that has no members gives a cgroup of its own in hierarchies of v1" {
	is_root || skip "only root makes cgroups of v1"
	[[ -e /sys/fs/cgroup/cpuset/tasks ]] || skip "this host has no controller cpuset of cgroup v1"
	created '.linux.cgroupsPath = "/hutch-oci-test.empty" | .linux.resources = {cpu: {}}'
	grep -q ":[a-z,]*cpu[a-z,]*:/hutch-oci-test.empty\$" "/proc/$(jq .pid state/box/state.json)/cgroup"
	grep -q ':cpuset:/hutch-oci-test.empty$' "/proc/$(jq .pid state/box/state.json)/cgroup"
	run -1 grep ':memory:/hutch-oci-test.empty$' "/proc/$(jq .pid state/box/state.json)/cgroup"
	oci delete --force box
	[[ -z $(echo /sys/fs/cgroup/*/hutch-oci-test.empty | grep -v '\*') ]]
}

@test "an object of limits that has no members is no error for a user who may make no cgroup" {
	runs 'echo ran' '.linux.resources = {cpu: {}, memory: {}, pids: {}}'
	[[ $output == ran ]]
}

@test "a limit of the kernel's memory is an error, or a warning where the kernel limits nothing" {
	runs 'echo ran' '.linux.resources = {memory: {kernel: 33554432}}'
	[[ $stderr == *linux.resources.memory.kernel* || $output == ran ]]
	if [[ $output != ran ]]; then
		((status == 1))
		[[ ! -e state/box ]]
	elif [[ ! $stderr ]]; then
		bundle '.process.args = ["sleep", "1000"] | .linux.resources = {memory: {kernel: 33554432}}'
		oci create box </dev/null >out 2>&1
		[[ $(cat "/sys/fs/cgroup/memory$(jq -r .cgroupV1 state/box/state.json)/memory.kmem.limit_in_bytes") == 33554432 ]]
	fi
}

# without_v2 FUNCTION: runs a function where only cgroup v1 is mounted.
without_v2() {
	is_root || skip "only root can hide the v2 hierarchy"
	[[ -e /sys/fs/cgroup/freezer/tasks ]] || skip "this host has no freezer of cgroup v1"
	export -f "$1" tells_place oci bundle created gone no_cgroup has_cgroup deepen deep_holds is_root
	export OCI BUILD T HOME here
	unshare -m bash -euo pipefail -c "
		while umount /sys/fs/cgroup/unified 2>/dev/null; do :; done
		$1"
}

deep_v1() {
	created
	oci start box
	deep_holds
}

frozen_v1() {
	local pid
	created
	oci start box
	has_cgroup
	pid=$(oci state box | jq .pid)
	mkdir "$cgroup/below"
	echo "$pid" >"$cgroup/below/cgroup.procs"
	echo FROZEN >"$cgroup/below/freezer.state"
	oci delete --force box
	[[ ! -e $cgroup ]]
}

@test "where only cgroup v1 is there, deep cgroups are no shelter either" {
	without_v2 deep_v1
}

@test "a container that has frozen itself in a cgroup of v1 is deleted" {
	without_v2 frozen_v1
}

# tells_place: expects that the cgroups of a process, as /proc/PID/cgroup has them, are $place in each
# hierarchy where that exists, and that it exists in one.
tells_place() {
	local controllers line count=0
	while IFS=: read -r _ controllers line; do
		[[ -e /sys/fs/cgroup/${controllers:-unified}$place || (! $controllers && -e /sys/fs/cgroup$place) ]] || continue
		[[ $line == "$place" ]]
		count=$((count + 1))
	done
	((count > 0))
}

# nowhere_moved: expects that the processes of `run` and of `exec` are in all cgroups of their
# container, and that no process opened a file by which it moves another one.
nowhere_moved() {
	local place folder limit=.
	strace -o /dev/null true 2>/dev/null || skip "strace is not allowed here"
	! is_root || limit='.linux.resources.pids = {"limit": 77}'
	limit+=' | .linux.namespaces -= [{"type": "cgroup"}]'
	created "$limit"
	has_cgroup
	oci start box
	place=$(jq -r .cgroupV1 state/box/state.json)
	tells_place <"/proc/$(jq .pid state/box/state.json)/cgroup"
	strace -f -e trace=open,openat -o trace.exec "$OCI" --root "$T/state" exec box cat /proc/self/cgroup >cgroups
	tells_place <cgroups
	place=/hutch-oci-test.$$/run
	bundle ".process.args = [\"cat\", \"/proc/self/cgroup\"] | .linux.cgroupsPath = \"$place\" | $limit"
	strace -f -e trace=open,openat -o trace.run "$OCI" --root "$T/state" run second >cgroups
	grep -q ":$place\$" cgroups
	[[ -z $(grep -h 'cgroup\.procs.*O_WRONLY' trace.exec trace.run) ]]
	rmdir /sys/fs/cgroup/{,*/}hutch-oci-test.$$ 2>/dev/null || true
	place=$(jq -r .cgroupV1 state/box/state.json)
	oci delete --force box
	for folder in /sys/fs/cgroup/{,*}"$place"; do
		[[ ! -e $folder ]]
	done
}

@test "a process is born in its cgroups or enters them itself, since moving another one is slow" {
	nowhere_moved
}

@test "where only cgroup v1 is there, a process enters its cgroups itself" {
	without_v2 nowhere_moved
}
