#!/bin/bash
# commands.sh: command lines of podman and what each must print.
#
#	FOLDER=/a/folder RUNTIME=/path/to/a/runtime commands.sh
#
# FOLDER has a static busybox, expect.sh and image.sh.  Prints TAP.
set -u
. "$FOLDER/expect.sh"
. "$FOLDER/image.sh"

run() {
	podman run --rm --network none "$@"
}

mkdir -p "$storage/shared" && echo shared >"$storage/shared/file"

ends 0 "build runs commands in the runtime" build
prints built "run prints a file that build has made" run $image cat /built
ends 7 "run ends with the command's exit code" run $image sh -c 'exit 7'
ends 127 "run ends with 127 if there is no such command" run $image /no/such
prints 'a b' "run -e sets variables" run -e ONE=a -e TWO=b $image sh -c 'echo $ONE $TWO'
prints 1000:1001 "run -u sets user and group" run -u 1000:1001 $image sh -c 'echo $(id -u):$(id -g)'
prints /work "run -w sets the folder" run -w /work $image pwd
prints name.example "run --hostname sets the name" run --hostname name.example $image hostname
prints shared "run -v binds a folder" run -v "$storage/shared:/shared" $image cat /shared/file
prints '*Read-only file system' "run -v :ro binds it read-only" \
	run -v "$storage/shared:/shared:ro" $image touch /shared/new
prints '*Read-only file system' "run --read-only" run --read-only $image touch /new
prints tmpfs "run --tmpfs mounts one" run --tmpfs /data $image sh -c "awk '\$2 == \"/data\" { print \$3 }' /proc/mounts"
prints 'CapEff:?0000000000000000' "run --cap-drop all" run --cap-drop all $image grep CapEff /proc/self/status
prints 'Seccomp:?2' "run has a seccomp filter" run $image grep ^Seccomp: /proc/self/status
prints 'Seccomp:?0' "run --security-opt seccomp=unconfined has none" \
	run --security-opt seccomp=unconfined $image grep ^Seccomp: /proc/self/status
prints 'NoNewPrivs:?1' "run --security-opt no-new-privileges" \
	run --security-opt no-new-privileges $image grep NoNewPrivs /proc/self/status
prints 256 "run --ulimit sets a limit" run --ulimit nofile=256:256 $image sh -c 'ulimit -n'
prints 4096 "run --sysctl sets a value" run --sysctl kernel.msgmax=4096 $image cat /proc/sys/kernel/msgmax
prints 0027 "run --umask sets the mask" run --umask 0027 $image sh -c umask
prints terminal "run -t has a terminal" run -t $image sh -c 'test -t 0 && echo terminal'
prints through "run -i reads its input" eval "echo through | podman run --rm -i --network none $image cat"
prints 1 "run has pids of its own" run $image sh -c 'echo $$'
prints "$(id -u)" "run --userns keep-id keeps the user" run --userns keep-id $image id -u
prints lo "run --network none has only lo" run $image ls /sys/class/net
ends 0 "run --network host shares the network" podman run --rm --network host $image \
	sh -c "ls /sys/class/net | grep -q ."
ends 0 "run -d starts in the background" podman run -d --name back --network none $image \
	sh -c 'echo from the log; trap "exit 9" TERM; sleep 1000 & wait'
prints 'Up*' "ps shows that it runs" podman ps --format '{{.Status}}'
prints "$RUNTIME" "inspect tells the runtime" podman inspect --format '{{.OCIRuntime}}' back
prints 'from the log' "logs prints its output" podman logs back
prints inside "exec runs a command in it" podman exec back echo inside
prints '1000 /work v' "exec -u -w -e sets user, folder and variable" \
	podman exec -u 1000 -w /work -e K=v back sh -c 'echo $(id -u) $PWD $K'
ends 5 "exec ends with the command's exit code" podman exec back sh -c 'exit 5'
prints terminal "exec -t has a terminal" podman exec -t back sh -c 'test -t 0 && echo terminal'
prints through "exec -i reads its input" eval 'echo through | podman exec -i back cat'
prints back "exec -d runs in the background" eval 'podman exec -d back sh -c "echo back >/tmp/d" &&
	podman exec back sh -c "until [ -s /tmp/d ]; do :; done; cat /tmp/d"'
ends 0 "cp copies a file into it" podman cp "$storage/shared/file" back:/tmp/copied
prints shared "exec sees the copied file" podman exec back cat /tmp/copied
prints '*sleep*' "top lists its processes" podman top back args
ends 0 "stop ends it by SIGTERM" podman stop -t 20 back
prints 9 "inspect tells its exit code" podman inspect --format '{{.State.ExitCode}}' back
ends 0 "start starts it again" podman start back
ends 0 "kill -s KILL ends it" podman kill -s KILL back
prints 137 "wait tells the signal" podman wait back
ends 0 "rm removes it" podman rm -f back
ends 0 "pod create" podman pod create --name both --network none --infra-image $image --infra-command '/bin/sleep 1000'
ends 0 "run --pod joins namespaces" podman run -d --pod both --name listens $image httpd -f -p 5000 -h /
prints built "two containers of a pod share a network" podman run --rm --pod both $image \
	sh -c 'until wget -qO - http://127.0.0.1:5000/built 2>/dev/null; do :; done'
ends 0 "pod rm removes both" podman pod rm -f -t 0 both
echo "1..$count"
