#!/bin/bash
# limits.sh: podman's containers with limits, and what cgroup version 2 must say of each.
#
#	FOLDER=/a/folder RUNTIME=/path/to/a/runtime PARENT=/cgroup limits.sh
#
# FOLDER has a static busybox, expect.sh and image.sh.  PARENT is a cgroup of this user's, whose
# controllers are given to those below it.  Prints TAP.
set -u
. "$FOLDER/expect.sh"
. "$FOLDER/image.sh"

run() {
	podman run --rm --network none --cgroup-parent "$PARENT" "$@"
}

# limit FILE VALUE OPTION...: one line of TAP: with the options the container's FILE has that value.
limit() {
	local file=$1 value=$2
	shift 2
	prints "$value" "run $* sets $file" run "$@" $image cat "/sys/fs/cgroup/$file"
}

ends 0 "import makes an image" import
limit memory.max 67108864 --memory 64m
limit memory.swap.max 33554432 --memory 64m --memory-swap 96m
limit memory.low 33554432 --memory-reservation 32m
limit pids.max 33 --pids-limit 33
limit cpu.max '50000 100000' --cpus 0.5
limit cpu.weight 20 --cpu-shares 512
limit cpuset.cpus 0 --cpuset-cpus 0
limit memory.max max --pids-limit 50
ends 137 "run --memory ends what takes more" run --memory 32m --memory-swap 32m $image \
	sh -c 'exec tail /dev/zero'
prints '*fork*' "run --pids-limit refuses more processes" run --pids-limit 5 $image \
	sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done'
ends 0 "run -d with limits" podman run -d --name back --network none --cgroup-parent "$PARENT" --memory 64m \
	--pids-limit 40 --init=false $image sh -c 'trap "exit 9" TERM; sleep 1000 & wait'
prints 67108864 "exec is in the container's cgroup" podman exec back cat /sys/fs/cgroup/memory.max
ends 0 "update takes another limit of memory" podman update --memory 128m back
prints 134217728 "exec sees the other limit" podman exec back cat /sys/fs/cgroup/memory.max
prints '[1-9]*' "stats counts the processes" podman stats --no-stream --format '{{.PIDs}}' back
ends 0 "pause stops it" podman pause back
prints paused "inspect tells that it stands still" podman inspect --format '{{.State.Status}}' back
ends 0 "unpause lets it go on" podman unpause back
prints inside "exec runs a command in it after that" podman exec back echo inside
ends 0 "stop ends it by SIGTERM" podman stop -t 20 back
prints 9 "inspect tells its exit code" podman inspect --format '{{.State.ExitCode}}' back
ends 0 "rm removes it" podman rm -f back
prints 0 "no cgroup of a container is left" eval 'find "/sys/fs/cgroup$PARENT" -mindepth 1 -type d -name "libpod-*" ! -name "*conmon*" | wc -l'
echo "1..$count"
