#!/bin/bash
# run.sh: a Kubernetes cluster of one node whose pods have a given runtime.
#
#	RUNTIME=/path/to/a/runtime tests/engines/kubernetes/run.sh
#
# RUNTIME (default: runc and the newest runc) is the program to test: pods name it by a RuntimeClass.
# Then packaging/kubernetes runs there, with OpenHands as its client; that needs build/hutch and the
# package of `make dist`.  etcd, the API server, the scheduler, the controller manager, the kubelet and
# containerd run with files and a network of their own.  Runs as root.  The first run builds Kubernetes from the Go
# module proxy, a quarter of an hour to an hour.  Prints TAP; all output is kept in LOGS (default:
# build/engines).
set -u
. "$(dirname "$0")/../engines.sh"
version=1.37.2 containerd=2.2.9 cri_tools=1.37.0 coredns=1.15.0 openhands=0.62.0
top=$(cd "$engines/../.." && pwd)
. "$top/tests/vm/image.sh"

# images: builds the image of packaging/kubernetes/Dockerfile as hutch's own builder does it for an
# ordinary user, and makes a tar for the sandboxes; both are of one Debian.
images() {
	local store=$work/store hutch=(as_user env XDG_DATA_HOME="$work/store" "$top/build/hutch" image)
	image_base adduser,ca-certificates,procps,python3 || return
	sandbox_image=$work/debian.tar hutch_image=$store/hutch.tar
	tar -C "$base" -cf "$sandbox_image" . && mkdir -p "$store/context" &&
		cp "$top"/build/dist/hutch_*_amd64.deb "$store/context" || return
	as_user true && chown -R "$(id -u hutch-test)" "$store" &&
		cp "$top/packaging/kubernetes/Dockerfile" "$store" &&
		"${hutch[@]}" import "$sandbox_image" --name debian:12-slim &&
		"${hutch[@]}" build -q -f "$store/Dockerfile" -t localhost/hutch:0.1.0 --network host "$store/context" &&
		"${hutch[@]}" export --format docker -o "$hutch_image" localhost/hutch:0.1.0
}

# suite SCRIPT NAME: runs the script on a cluster of its own, and counts its tests as those of NAME.
suite() {
	local log=$logs/kubernetes-$name-$2.log
	apart unshare --net --uts timeout -k 5 400 "$engines/kubernetes/$1" >"$log" 2>"$log.err" </dev/null
	mkdir -p "$log.daemons" && cp "$work"/*.log "$log.daemons"
	counted "kubernetes $version $2" "$name" "$(tally "$log")"
	sed -n "s/^not ok [0-9]* - /# $name, not: /p" "$log"
}

needs_root
needs_go
needs etcd etcd-server
needs busybox busybox-static
needs debootstrap debootstrap
needs iptables iptables
[ -x /usr/lib/cni/bridge ] ||
	give_up "the bridge of CNI is not installed: apt-get install containernetworking-plugins"
cached "kubernetes-$version" "$engines/kubernetes/build.sh" "$version" ||
	give_up "Kubernetes could not be built: see $cache/kubernetes-$version.log"
cached "containerd-$containerd" "$engines/containerd/build.sh" "$containerd" "$cri_tools" ||
	give_up "containerd could not be built: see $cache/containerd-$containerd.log"
cached "kubernetes-network-$version-$coredns" "$engines/kubernetes/build_network.sh" "$version" "$coredns" ||
	give_up "kube-proxy and CoreDNS could not be built: see $cache/kubernetes-network-$version-$coredns.log"
cached "openhands-$openhands" "$engines/kubernetes/build_client.sh" "$openhands" ||
	give_up "OpenHands could not be installed: see $cache/openhands-$openhands.log"
network=$cache/kubernetes-network-$version-$coredns client=$cache/openhands-$openhands
hutch_image='' sandbox_image=''
kubernetes=$cache/kubernetes-$version tools=$cache/containerd-$containerd
for program in $(references); do
	# containerd 2 sends a version of the specification that Debian's crun does not know.
	[ "$program" != crun ] || [ -n "${RUNTIME:-}" ] || continue
	runtime=$(program_path "$program") || give_up "$program is not installed"
	name=$(program_name "$runtime")
	work_new
	export work runtime tools kubernetes network client hutch_image sandbox_image
	suite commands.sh commands
	work_end
	# runc knows id-mapped mounts, which pods with hostUsers: false need, since 1.2.
	[[ $name != "runc 1.1."* ]] || continue
	work_new
	images >"$logs/kubernetes-images.log" 2>&1 ||
		give_up "the image of packaging/kubernetes is not built: see $logs/kubernetes-images.log"
	suite manifests.sh manifests
	work_end
done
plan
