# parts.sh: the programs and images of a cluster, built once; it is sourced by a script that has sourced
# engines.sh.
#
# shellcheck shell=bash disable=SC2034,SC2154 # variables for, and from, the sourcing script
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

# parts: builds what is missing, or gives up.
parts() {
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
	export kubernetes tools network client hutch_image sandbox_image
}
