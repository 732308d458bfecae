# daemon.sh: a containerd of one's own; it is sourced by a script that runs within `apart` and has
# $work and $runtime.  The socket is $work/containerd.sock.
#
# shellcheck shell=bash disable=SC2154 # work, runtime, engines: from the sourcing script

# containerd_config: the default runtime of pods, and that of the class "tested", is $runtime; there is
# one more for each NAME=PATH in $runtimes.  The form is that of version 2, which containerd 1.6 and
# 2.2 both read.
containerd_config() {
	cat <<-X
		version = 2
		root = "$work/containerd"
		state = "/run/containerd"
		[grpc]
		address = "$work/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		sandbox_image = "localhost/pause:1"
		restrict_oom_score_adj = true
		disable_apparmor = true
		[plugins."io.containerd.grpc.v1.cri".cni]
		bin_dir = "/usr/lib/cni"
		conf_dir = "$work/cni"
		[plugins."io.containerd.grpc.v1.cri".containerd]
		snapshotter = "overlayfs"
		default_runtime_name = "tested"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.tested]
		runtime_type = "io.containerd.runc.v2"
		[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.tested.options]
		BinaryName = "$runtime"
	X
	local one
	for one in ${runtimes:-}; do
		cat <<-X
			[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${one%%=*}]
			runtime_type = "io.containerd.runc.v2"
			[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${one%%=*}.options]
			BinaryName = "${one#*=}"
		X
	done
}

cni_config() {
	cat <<-X
		{ "cniVersion": "0.4.0", "name": "pods", "plugins": [
		  { "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false,
		    "ipam": { "type": "host-local", "dataDir": "$work/addresses",
		              "ranges": [[{ "subnet": "10.88.0.0/16" }]],
		              "routes": [{ "dst": "0.0.0.0/0" }] } },
		  { "type": "portmap", "capabilities": { "portMappings": true } },
		  { "type": "loopback" } ] }
	X
}

# containerd_start BIN: starts the containerd of the folder BIN, whose shim is the first in PATH, and
# loads the images "small", "web" and "pause".
containerd_start() {
	PATH=$1:$PATH
	mkdir -p "$work/cni"
	cni_config >"$work/cni/10-pods.conflist"
	containerd_config >"$work/containerd.toml"
	containerd --config "$work/containerd.toml" >"$work/containerd.log" 2>&1 &
	until_true ctr -a "$work/containerd.sock" version || return
	image_load small:1 /bin/sh && image_load pause:1 /bin/sleep 1000000 &&
		image_load web:1 /bin/httpd -f -p 80 -h /www
}

image_load() {
	local name=$1
	shift
	"$engines/image.py" "$(command -v busybox)" "localhost/$name" "$@" >"$work/image.tar" &&
		ctr -a "$work/containerd.sock" -n k8s.io images import --no-unpack "$work/image.tar" >/dev/null &&
		ctr -a "$work/containerd.sock" images import "$work/image.tar" >/dev/null
}
