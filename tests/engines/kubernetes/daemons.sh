# daemons.sh: the daemons of a cluster of one node; it is sourced by a script that runs within `apart`
# and has $work, $runtime, $tools and $kubernetes.
#
# shellcheck shell=bash disable=SC2154 # work, runtime, tools, kubernetes: from the sourcing script

# daemon NAME ARGUMENT...: starts a program with its log.
daemon() {
	local name=$1
	shift
	"$name" "$@" >"$work/${name##*/}.log" 2>&1 &
}

kubectl() {
	timeout "$PATIENCE" "$kubernetes/kubectl" --kubeconfig "$work/client.yaml" --cache-dir "$work/cache" "$@"
}

client_config() {
	cat <<-X
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "https://127.0.0.1:39443", insecure-skip-tls-verify: true}}]
		users: [{name: u, user: {token: engines}}]
		contexts: [{name: c, context: {cluster: c, user: u}}]
		current-context: c
	X
}

kubelet_config() {
	cat <<-X
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cgroupDriver: cgroupfs
		failCgroupV1: false
		failSwapOn: false
		authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
		authorization: {mode: AlwaysAllow}
		evictionHard: {}
		enforceNodeAllocatable: []
		cgroupsPerQOS: false
		makeIPTablesUtilChains: false
		clusterDNS: [${names:-}]
		clusterDomain: cluster.local
		imageGCHighThresholdPercent: 100
		resolvConf: ""
		podLogsDir: $work/pods
		containerRuntimeEndpoint: unix://$work/containerd.sock
	X
}

keys() {
	openssl genrsa -out "$work/sa.key" 2048 2>/dev/null &&
		openssl rsa -in "$work/sa.key" -pubout -out "$work/sa.pub" 2>/dev/null &&
		echo 'engines,admin,1,"system:masters"' >"$work/tokens.csv"
}

control_plane() {
	local client=(--kubeconfig "$work/client.yaml" --authentication-kubeconfig "$work/client.yaml"
		--authorization-kubeconfig "$work/client.yaml" --leader-elect=false)
	daemon etcd --data-dir "$work/etcd" --listen-client-urls http://127.0.0.1:39379 \
		--advertise-client-urls http://127.0.0.1:39379 --listen-peer-urls http://127.0.0.1:39380 \
		--initial-advertise-peer-urls http://127.0.0.1:39380 --initial-cluster default=http://127.0.0.1:39380
	daemon "$kubernetes/kube-apiserver" --etcd-servers=http://127.0.0.1:39379 --cert-dir="$work/certs" \
		--secure-port=39443 --bind-address=127.0.0.1 --advertise-address=10.99.0.1 \
		--service-account-issuer=https://engines.invalid --service-account-key-file="$work/sa.pub" \
		--service-account-signing-key-file="$work/sa.key" --token-auth-file="$work/tokens.csv" \
		--authorization-mode=AlwaysAllow --service-cluster-ip-range=10.96.0.0/16 \
		--disable-admission-plugins=ServiceAccount --endpoint-reconciler-type=none
	until_true kubectl get --raw /readyz || return
	daemon "$kubernetes/kube-scheduler" "${client[@]}" --secure-port=39259
	daemon "$kubernetes/kube-controller-manager" "${client[@]}" --secure-port=39257
}

# proxy_config, names_config: kube-proxy leads the address of a service to its pods, and CoreDNS knows
# the names of services and pods, at the node's own address.
proxy_config() {
	cat <<-X
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		mode: iptables
		clusterCIDR: 10.88.0.0/16
		clientConnection: {kubeconfig: "$work/client.yaml"}
		conntrack: {maxPerCore: 0}
		hostnameOverride: node
		bindAddress: 10.99.0.1
		healthzBindAddress: 127.0.0.1:39256
		metricsBindAddress: 127.0.0.1:39249
	X
}

names_config() {
	cat <<-X
		.:53 {
			errors
			kubernetes cluster.local in-addr.arpa {
				kubeconfig $work/client.yaml c
			}
		}
	X
}

# network_start NETWORK: what most clusters have beside the kubelet, of the folder NETWORK; this
# script itself looks names up there, too.
network_start() {
	proxy_config >"$work/proxy.yaml" && names_config >"$work/names" &&
		printf 'nameserver %s\nsearch cluster.local\noptions ndots:5\n' "$names" >"$work/resolv.conf" &&
		mount --bind "$work/resolv.conf" /etc/resolv.conf || return
	# The node has no other network, and a packet needs a route before kube-proxy's rules lead it on.
	ip route add 10.96.0.0/16 dev lo src 10.99.0.1 || return
	daemon "$1/kube-proxy" --config "$work/proxy.yaml"
	daemon "$1/coredns" -conf "$work/names"
}

# cluster_start: a node of the name `node`, on an address of this network alone.
cluster_start() {
	hostname node
	printf '127.0.0.1 localhost\n10.99.0.1 node\n' >"$work/hosts" && mount --bind "$work/hosts" /etc/hosts
	ip link set lo up && ip address add 10.99.0.1/32 dev lo
	mkdir -p "$work/pods" "$work/kubelet"
	keys && client_config >"$work/client.yaml" && kubelet_config >"$work/kubelet.yaml"
	containerd_start "$tools" && control_plane || return
	daemon "$kubernetes/kubelet" --config "$work/kubelet.yaml" --kubeconfig "$work/client.yaml" \
		--root-dir "$work/kubelet" --node-ip 10.99.0.1 --hostname-override node
}
