#!/usr/bin/env bats
# Tests of `hutch oci` against a container that leads the writes of exec to other files.

load oci

# The container claims that SELinux is active, and mounts a /proc whose self/attr/exec is the
# score of its first process.  Both are files of procfs.
@test "a container with CAP_SYS_ADMIN cannot lead the label of exec to another file of /proc" {
	local caps='.process.capabilities.bounding += ["CAP_SYS_ADMIN"] | .process.capabilities.effective += ["CAP_SYS_ADMIN"] | .process.capabilities.permitted += ["CAP_SYS_ADMIN"]'
	created "$caps | .process.args = [\"sh\", \"-c\", \"
		mkdir -p /fake/self/attr &&
		mount -t tmpfs t /sys && mkdir -p /sys/fs/selinux && echo 1 >/sys/fs/selinux/enforce &&
		echo >/fake/self/attr/exec && mount --bind /proc/1/oom_score_adj /fake/self/attr/exec &&
		mkdir -p /real && mount --rbind /proc /real && mount --rbind /fake /proc &&
		echo ready >/told; exec sleep 1000\"] | .process.oomScoreAdj = 100 | .linux.readonlyPaths = [] | .linux.maskedPaths = []"
	mkfifo rootfs/told
	exec 9<>rootfs/told
	oci start box
	read -r -t "$PATIENCE" line <&9
	[[ $line == ready ]]
	pid=$(oci state box | jq .pid)
	[[ $(<"/proc/$pid/oom_score_adj") == 100 ]]
	run -1 oci exec --process-label 900 box true
	[[ $output == *"open /proc: it is no root of a procfs"* ]]
	[[ $(<"/proc/$pid/oom_score_adj") == 100 ]]
}
