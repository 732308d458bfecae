#!/bin/bash
# manifests.sh [COMMAND...]: the manifests of packaging/kubernetes on a cluster, and a conversation of
# OpenHands there, or in its place COMMAND.  run.sh starts it within `apart`, with $work, $runtime, $tools, $kubernetes, $network, $client
# and the images $hutch_image and $sandbox_image.  Prints TAP.
#
# kube-proxy and CoreDNS are those of a cluster.  Other parts have a stand-in here: the volumes are
# folders of the node, images are imported and not pulled, the bridge of CNI enforces no
# NetworkPolicy, and the client is a process of the node.
set -u
engines=$(cd "$(dirname "$0")/.." && pwd)
. "$engines/expect.sh"
. "$engines/containerd/daemon.sh"
. "$engines/kubernetes/daemons.sh"
pods="hutch-0 hutch-1 hutch-2"

# volume N: a persistent volume, which the claim of a pod finds by its size.
volume() {
	mkdir -p "$work/volumes/$1"
	kubectl apply -f - <<-X
		apiVersion: v1
		kind: PersistentVolume
		metadata: {name: volume-$1}
		spec:
		  capacity: {storage: 100Gi}
		  accessModes: [ReadWriteOnce]
		  local: {path: "$work/volumes/$1"}
		  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions:
		    [{key: kubernetes.io/hostname, operator: In, values: [node]}]}]}}
	X
}

# manifests: the steps of docs/kubernetes.md.
manifests() {
	cp -r "$engines/../../packaging/kubernetes" "$engines/kubernetes/overlay" "$work" && cd "$work/kubernetes" &&
		(umask 077 && head -c 24 /dev/urandom | base64 >key) &&
		sed -i 's|registry.example.org/hutch|localhost/hutch|' kustomization.yaml &&
		kubectl apply -k ../overlay
}

hutch_kubectl() {
	kubectl -n hutch "$@"
}

# in_pods COMMAND...: in each pod, with the sandboxes' image on its standard input.
in_pods() {
	local pod
	for pod in $pods; do
		hutch_kubectl exec -i "$pod" -- "$@" <"$sandbox_image" || return
	done
}

# conversation: its lines get their numbers here.
conversation() {
	local line
	while IFS= read -r line; do
		case $line in
		"ok "* | "not ok "*) count=$((count + 1)) && line=${line/ok/ok $count} ;;
		"#"*) ;;
		*) line="# $line" ;;
		esac
		echo "$line"
	done < <(cd "$work" && HOME=$work LOG_LEVEL=WARNING timeout 300 "$client/venv/bin/python" \
		"$engines/kubernetes/conversation.py" http://hutch.hutch.svc:7480 "$(cat "$work/kubernetes/key")" \
		"$kubernetes/kubectl" --kubeconfig "$work/client.yaml" -n hutch)
}

names=10.99.0.1
cluster_start && network_start "$network" || { echo "not ok 1 - the control plane starts"; echo "1..1"; exit 1; }
ends 0 "the node is ready" eval "until_true kubectl get node/node && kubectl wait --for=condition=Ready node/node --timeout ${PATIENCE}s"
until_true kubectl get serviceaccount/default
ends 0 "containerd loads the image of the Dockerfile" ctr -a "$work/containerd.sock" -n k8s.io images import "$hutch_image"
ends 0 "the cluster has volumes" eval 'volume 0 && volume 1 && volume 2'
ends 0 "the manifests are applied" manifests
ends 0 "the pods become ready" hutch_kubectl rollout status statefulset/hutch --timeout ${PATIENCE}s
ends 0 "the routers become ready" hutch_kubectl rollout status deployment/hutch-router --timeout ${PATIENCE}s
ends 0 "the sandboxes' image is imported into each pod" in_pods sh -c \
	'cat >/tmp/image.tar && hutch image import /tmp/image.tar --name debian:12 && rm /tmp/image.tar'
[ $# = 0 ] && set -- conversation
"$@"
echo "1..$count"
