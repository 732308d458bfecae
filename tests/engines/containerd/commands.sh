#!/bin/bash
# commands.sh BIN: command lines of ctr and of crictl and what each must print, for the containerd of
# the folder BIN.  run.sh starts it within `apart`, with $work, $runtime and $tools.  Prints TAP.
set -u
engines=$(cd "$(dirname "$0")/.." && pwd)
. "$engines/expect.sh"
. "$engines/containerd/daemon.sh"

c() {
	timeout "$PATIENCE" ctr -a "$work/containerd.sock" "$@"
}

run() {
	c run --rm --runc-binary "$runtime" "$@"
}

cri() {
	timeout "$PATIENCE" "$tools/crictl" -r "unix://$work/containerd.sock" -i "unix://$work/containerd.sock" "$@"
}

prints_line() {
	"${@:2}" | grep -q "$1"
}

ctr_commands() {
	local image=localhost/small:1
	prints hi "ctr run prints" run $image one echo hi
	ends 7 "ctr run ends with the command's exit code" run $image two sh -c 'exit 7'
	prints a "ctr run --env" run --env V=a $image three sh -c 'echo $V'
	prints /tmp "ctr run --cwd" run --cwd /tmp $image four pwd
	prints '*Read-only file system' "ctr run --read-only" run --read-only $image six touch /new
	prints seven "ctr run --mount" run --mount "type=bind,src=$work/mounted,dst=/data,options=rbind:ro" $image \
		seven cat /data/file
	prints 'Seccomp:?2' "ctr run --seccomp" run --seccomp $image eight grep ^Seccomp: /proc/self/status
	prints "CapEff:?$(sed -n 's/^CapBnd:.//p' /proc/self/status)" "ctr run --privileged" \
		run --privileged $image nine grep CapEff /proc/self/status
	prints "*$(readlink /proc/self/ns/net | tr -dc 0-9)*" "ctr run --net-host" run --net-host $image ten readlink /proc/self/ns/net
	ends 0 "ctr run -d" c run -d --runc-binary "$runtime" $image back sh -c 'sleep 1000 & wait'
	prints '*RUNNING*' "ctr task ls shows that it runs" c task ls
	prints inside "ctr task exec" c task exec --exec-id e1 back echo inside
	ends 5 "ctr task exec ends with the command's exit code" c task exec --exec-id e2 back sh -c 'exit 5'
	ends 0 "ctr task ps" c task ps back
	ends 0 "ctr task metrics" c task metrics back
	ends 0 "ctr task pause" c task pause back
	prints '*PAUSED*' "ctr task ls shows that it is paused" c task ls
	ends 0 "ctr task resume" c task resume back
	ends 0 "ctr task kill" c task kill -s KILL back
	prints 137 "ctr task delete tells the signal" eval 'until_true prints_line STOPPED c task ls
		{ c task delete back 2>&1; echo "ended with $?"; } | grep -o 137 | head -n 1'
	ends 0 "ctr container delete" c container delete back
}

pod_json() {
	cat <<-X
		{ "metadata": { "name": "$1", "uid": "$1", "namespace": "tests" }, "log_directory": "$work/logs",
		  "linux": { "cgroup_parent": "engines-$1" } }
	X
}

container_json() {
	cat <<-X
		{ "metadata": { "name": "one" }, "image": { "image": "localhost/small:1" }, "log_path": "one.log",
		  "command": ["sh", "-c", "echo logged; exec sleep 1000"],
		  "linux": { "resources": { "memory_limit_in_bytes": 67108864 } } }
	X
}

crictl_commands() {
	local pod container
	pod_json pod >"$work/pod.json" && container_json >"$work/container.json"
	ends 0 "crictl runp makes a pod" eval 'cri runp "$work/pod.json" >"$work/pod"'
	pod=$(cat "$work/pod")
	ends 0 "crictl create" eval "cri create $pod '$work/container.json' '$work/pod.json' >'$work/container'"
	container=$(cat "$work/container")
	ends 0 "crictl start" cri start "$container"
	prints '*Running*' "crictl ps shows that it runs" cri ps
	prints logged "crictl logs prints its output" eval "until_true prints_line logged cri logs $container; cri logs $container"
	prints inside "crictl exec -s" cri exec -s "$container" echo inside
	prints inside "crictl exec by a stream" cri exec "$container" echo inside
	prints eth0 "the pod has an interface of the CNI" eval "cri exec -s $container ls /sys/class/net | head -n 1"
	ends 0 "crictl stats" cri stats "$container"
	ends 0 "crictl stop" cri stop -t 0 "$container"
	ends 0 "crictl rm" cri rm "$container"
	ends 0 "crictl stopp" cri stopp "$pod"
	ends 0 "crictl rmp" cri rmp "$pod"
}

mkdir -p "$work/mounted" "$work/logs" && echo seven >"$work/mounted/file"
ip link set lo up
containerd_start "$1" || { echo "not ok 1 - containerd starts"; echo "1..1"; exit 1; }
if [ -n "${CRITEST:-}" ]; then
	exec "$tools/critest" --runtime-endpoint "unix://$work/containerd.sock" \
		--test-images-file "$work/images.yaml" --ginkgo.no-color --report-dir "$work/report" \
		--ginkgo.skip "$CRITEST_SKIP" --ginkgo.timeout 15m
fi
ctr_commands
crictl_commands
echo "1..$count"
