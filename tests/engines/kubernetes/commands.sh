#!/bin/bash
# commands.sh: command lines of kubectl and what each must print.  run.sh starts it within `apart`, with
# $work, $runtime, $tools and $kubernetes.  Prints TAP.
set -u
engines=$(cd "$(dirname "$0")/.." && pwd)
. "$engines/expect.sh"
. "$engines/containerd/daemon.sh"
. "$engines/kubernetes/daemons.sh"

# pod NAME COMMAND [LINES]: LINES are of the container, in YAML's short form.
pod() {
	kubectl apply -f - <<-X
		apiVersion: v1
		kind: Pod
		metadata: {name: $1}
		spec:
		  runtimeClassName: tested
		  automountServiceAccountToken: false
		  enableServiceLinks: false
		  terminationGracePeriodSeconds: 0
		  restartPolicy: Never
		  containers:
		  - {name: c, image: "localhost/small:1", imagePullPolicy: Never, command: [sh, -c, '$2']${3:+, $3}}
	X
}

class() {
	kubectl apply -f - <<-X
		apiVersion: node.k8s.io/v1
		kind: RuntimeClass
		metadata: {name: tested}
		handler: tested
	X
}

deployment() {
	kubectl apply -f - <<-X
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
		spec:
		  replicas: 2
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      runtimeClassName: tested
		      automountServiceAccountToken: false
		      terminationGracePeriodSeconds: 0
		      containers: [{name: web, image: "localhost/web:1", imagePullPolicy: Never,
		        readinessProbe: {exec: {command: [wget, -qO, /dev/null, "http://127.0.0.1"]}, periodSeconds: 1}}]
	X
}

phase() {
	kubectl wait --for="jsonpath={.status.phase}=$2" "pod/$1" --timeout ${PATIENCE}s
}

# prints_log EXPECTED NAME POD COMMAND [LINES]: runs a pod to its end.
prints_log() {
	local expected=$1 name=$2
	shift 2
	prints "$expected" "$name" eval "$(printf '%q ' pod "$@") && phase $1 Succeeded && kubectl logs $1"
}

cluster_start || { echo "not ok 1 - the control plane starts"; echo "1..1"; exit 1; }
ends 0 "the node is ready" eval "until_true kubectl get node/node && kubectl wait --for=condition=Ready node/node --timeout ${PATIENCE}s"
until_true kubectl get serviceaccount/default
ends 0 "a RuntimeClass names the runtime" class
ends 0 "a pod runs" eval "pod one 'echo logged; exec sleep 1000' && phase one Running"
phase one Running >/dev/null 2>&1 || { kubectl describe pod/one | tail -n 5; exit 1; }
prints logged "kubectl logs prints its output" kubectl logs one
prints inside "kubectl exec runs a command in it" kubectl exec one -- echo inside
ends 5 "kubectl exec ends with the command's exit code" kubectl exec one -- sh -c 'exit 5'
prints through "kubectl exec -i reads its input" eval "echo through | kubectl exec -i one -- cat"
prints eth0 "the pod has an interface of the CNI" eval "kubectl exec one -- ls /sys/class/net | head -n 1"
prints 'sleep 1000' "the pod's command is pid 1" kubectl exec one -- sh -c 'tr "\0" " " </proc/1/cmdline | sed "s/ $//"'
prints copied "kubectl cp copies a file into it" eval "echo copied >'$work/file' &&
	kubectl cp '$work/file' one:/tmp/file && kubectl exec one -- cat /tmp/file"
ends 0 "kubectl delete ends it" kubectl delete pod/one --timeout ${PATIENCE}s
prints_log '1000:1001' "runAsUser and runAsGroup" user 'echo $(id -u):$(id -g)' \
	'securityContext: {runAsUser: 1000, runAsGroup: 1001}'
prints_log 'Seccomp:?2' "seccompProfile RuntimeDefault" filter 'grep ^Seccomp: /proc/self/status' \
	'securityContext: {seccompProfile: {type: RuntimeDefault}}'
prints_log 'NoNewPrivs:?1' "allowPrivilegeEscalation: false" nnp 'grep NoNewPrivs /proc/self/status' \
	'securityContext: {allowPrivilegeEscalation: false}'
prints_log '*Read-only file system' "readOnlyRootFilesystem" readonly 'touch /new 2>&1; true' \
	'securityContext: {readOnlyRootFilesystem: true}'
prints_log 67108864 "a limit of memory" memory 'cat /sys/fs/cgroup/memory/memory.limit_in_bytes || cat /sys/fs/cgroup/memory.max' \
	'resources: {limits: {memory: 64Mi}}'
prints_log 'one two' "env" variables 'echo $A $B' 'env: [{name: A, value: one}, {name: B, value: two}]'
ends 0 "a deployment of two pods becomes ready" eval \
	"deployment && kubectl rollout status deployment/web --timeout ${PATIENCE}s"
prints small "a pod of it answers by HTTP" eval "
	address=\$(kubectl get pod -l app=web -o 'jsonpath={.items[0].status.podIP}')
	busybox wget -qO - http://\$address/index.html"
ends 0 "the deployment is deleted with its pods" eval "kubectl delete deployment/web --timeout ${PATIENCE}s &&
	kubectl wait --for=delete pod -l app=web --timeout ${PATIENCE}s"
echo "1..$count"
