#!/bin/bash
# measure.sh: prints figures, for a quiet machine: how long a pod of a runtime takes to start, and how
# long a sandbox of `hutch serve` in a pod does.
#
#	tests/engines/kubernetes/measure.sh
#
# ROUNDS (20) is the number of pods of each runtime, in turns: hutch-oci, crun of Debian's trixie, and
# the newest runc.  A pod is `crictl run`: a pause container and a container, on the node's network.
# SANDBOXES (300) is the number of sandboxes in one pod of packaging/kubernetes.  It needs what run.sh
# has made.  Runs as root.
set -u
. "$(dirname "$0")/../engines.sh"
here=$engines/kubernetes
rounds=${ROUNDS:-20} sandboxes=${SANDBOXES:-300}

build_crun() {
	debian_source crun trixie "$1" && cd "$1/source" && ./configure --disable-systemd --enable-embedded-yajl &&
		nice -n 19 make -j 2 && cp crun "$1"
}

# median: of the numbers on standard input.
median() {
	sort -n | awk '{ n[NR] = $1 } END { print NR % 2 ? n[(NR + 1) / 2] : (n[NR / 2] + n[NR / 2 + 1]) / 2 }'
}

crictl() {
	timeout "$PATIENCE" "$tools/crictl" -r "unix://$work/containerd.sock" "$@"
}

# one_pod NAME: appends the milliseconds of a pod's start to the file of the runtime.
one_pod() {
	local begun ended id
	begun=$(date +%s%N)
	id=$(crictl run --no-pull --runtime "$1" "$work/container.json" "$work/pod.json" 2>"$work/crictl.log") ||
		{ tail -n 1 "$work/crictl.log"; return 1; }
	ended=$(date +%s%N)
	echo $(((ended - begun) / 1000)) >>"$work/$1.us"
	id=$(crictl inspect "$id" | jq -r .info.sandboxID) && crictl rmp -f "$id" >/dev/null
}

pods() {
	. "$engines/expect.sh"
	. "$engines/containerd/daemon.sh"
	ip link set lo up && containerd_start "$tools" || exit
	echo '{"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "linux": {"security_context":
		{"namespace_options": {"network": 2}}}}' >"$work/pod.json"
	echo '{"metadata": {"name": "c"}, "image": {"image": "localhost/small:1"}, "command": ["sleep", "1000"]}' \
		>"$work/container.json"
	local round one
	for ((round = 0; round < rounds; round++)); do
		for one in $runtimes; do
			one_pod "${one%%=*}" || echo "# ${one%%=*}: no pod"
		done
	done
	for one in $runtimes; do
		echo "# pods of ${one%%=*}: p50 $(median <"$work/${one%%=*}.us") us of $(wc -l <"$work/${one%%=*}.us")"
	done
}

# starts: it is a command of manifests.sh.
starts() {
	local kubectl=("$kubernetes/kubectl" --kubeconfig "$work/client.yaml" -n hutch)
	"${kubectl[@]}" patch statefulset hutch --type json -p \
		'[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--max-sandboxes=1000"},
		  {"op": "replace", "path": "/spec/replicas", "value": 1}]' &&
		"${kubectl[@]}" rollout status statefulset/hutch --timeout "${PATIENCE}s" >&2 &&
		python3 "$here/starts.py" "http://$("${kubectl[@]}" get pod hutch-0 -o 'jsonpath={.status.podIP}'):7478" \
			"$(cat "$work/kubernetes/key")" "$sandboxes"
}

case ${1:-} in
pods | starts)
	"$1"
	exit
	;;
esac
. "$here/parts.sh"
parts
needs jq jq
cached crun-1.21 build_crun || give_up "crun could not be built: see $cache/crun-1.21.log"
cached "runc-$runc_version" runc_new || give_up "runc could not be built: see $cache/runc-$runc_version.log"
runtime=$top/build/libexec/hutch-oci
runtimes="hutch=$runtime crun=$cache/crun-1.21/crun runc=$cache/runc-$runc_version/runc"
work_new
export work runtime runtimes
apart unshare --net --uts "$here/measure.sh" pods 2>"$logs/measure.log" </dev/null
work_end
work_new
images >"$logs/kubernetes-images.log" 2>&1 ||
	give_up "the image of packaging/kubernetes is not built: see $logs/kubernetes-images.log"
apart unshare --net --uts "$here/manifests.sh" "$here/measure.sh" starts 2>>"$logs/measure.log" </dev/null
