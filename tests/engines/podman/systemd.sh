#!/bin/bash
# systemd.sh: root's podman with a scope of systemd for each container, which the runtime asks for.
#
#	FOLDER=/a/folder RUNTIME=/path/to/a/runtime MANAGER=systemd systemd.sh
#
# FOLDER has a static busybox, expect.sh and image.sh.  Needs cgroup version 2 alone, and systemd as
# the first process.  Prints TAP.
set -u
. "$FOLDER/expect.sh"
. "$FOLDER/image.sh"

# property NAME: prints a property of the container's scope.
property() {
	systemctl show --value -p "$1" "$scope"
}
# inside FILE: prints a file of the scope's cgroup.
inside() {
	cat "/sys/fs/cgroup$(property ControlGroup)/$1"
}
# is_inside: whether the scope's cgroup has the container's process in it or below it.
is_inside() {
	local pid
	pid=$(podman inspect --format '{{.State.Pid}}' back) && ((pid > 1)) &&
		grep "^0::$(property ControlGroup)" "/proc/$pid/cgroup"
}

ends 0 "import makes an image" import
ends 0 "run -d with limits" podman run -d --name back --network none --memory 64m --pids-limit 50 --cpus 0.5 \
	--init=false $image sh -c 'trap "exit 9" TERM; sleep 1000 & wait'
scope=libpod-$(podman inspect --format '{{.Id}}' back).scope
prints active "systemctl shows the scope" systemctl is-active "$scope"
prints machine.slice "the scope is in the slice of machines" property Slice
prints yes "the scope is delegated" property Delegate
ends 0 "the container's process is in the scope" is_inside
prints 67108864 "--memory is the scope's MemoryMax" property MemoryMax
prints 50 "--pids-limit is its TasksMax" property TasksMax
prints 500ms "--cpus is its CPUQuota" property CPUQuotaPerSecUSec
prints 67108864 "the cgroup has the limit of memory" inside memory.max
prints 50 "the cgroup has the limit of processes" inside pids.max
ends 0 "systemd reloads its units" systemctl daemon-reload
prints 67108864 "the cgroup has the limit of memory after that" inside memory.max
prints 67108864 "exec is in the container's cgroup" podman exec back cat /sys/fs/cgroup/memory.max
ends 0 "update takes another limit of memory" podman update --memory 128m back
prints 134217728 "the other limit is the scope's" property MemoryMax
prints 134217728 "exec sees the other limit" podman exec back cat /sys/fs/cgroup/memory.max
ends 0 "pause stops it" podman pause back
ends 0 "unpause lets it go on" podman unpause back
ends 0 "stop ends it by SIGTERM" podman stop -t 20 back
prints 9 "inspect tells its exit code" podman inspect --format '{{.State.ExitCode}}' back
ends 0 "rm removes it" podman rm -f back
prints not-found "systemctl knows no such scope any more" property LoadState
prints 0 "no cgroup of the container is left" eval 'find /sys/fs/cgroup -type d -name "$scope" | wc -l'
echo "1..$count"
