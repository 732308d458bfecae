#!/bin/bash
# run.sh: a Kubernetes cluster of one node whose pods have a given runtime.
#
#	RUNTIME=/path/to/a/runtime tests/engines/kubernetes/run.sh
#
# RUNTIME (default: runc and the newest runc) is the program to test: pods name it by a RuntimeClass.
# etcd, the API server, the scheduler, the controller manager, the kubelet and containerd run with
# files and a network of their own.  Runs as root.  The first run builds Kubernetes from the Go
# module proxy, a quarter of an hour to an hour.  Prints TAP; all output is kept in LOGS (default:
# build/engines).
set -u
. "$(dirname "$0")/../engines.sh"
version=1.37.2 containerd=2.2.9 cri_tools=1.37.0

needs_root
needs_go
needs etcd etcd-server
needs busybox busybox-static
[ -x /usr/lib/cni/bridge ] ||
	give_up "the bridge of CNI is not installed: apt-get install containernetworking-plugins"
cached "kubernetes-$version" "$engines/kubernetes/build.sh" "$version" ||
	give_up "Kubernetes could not be built: see $cache/kubernetes-$version.log"
cached "containerd-$containerd" "$engines/containerd/build.sh" "$containerd" "$cri_tools" ||
	give_up "containerd could not be built: see $cache/containerd-$containerd.log"
kubernetes=$cache/kubernetes-$version tools=$cache/containerd-$containerd
for program in $(references); do
	# containerd 2 sends a version of the specification that Debian's crun does not know.
	[ "$program" != crun ] || [ -n "${RUNTIME:-}" ] || continue
	runtime=$(program_path "$program") || give_up "$program is not installed"
	name=$(program_name "$runtime")
	log=$logs/kubernetes-$name.log
	work_new
	export work runtime tools kubernetes
	apart unshare --net --uts timeout -k 5 400 "$engines/kubernetes/commands.sh" >"$log" 2>"$log.err" </dev/null
	mkdir -p "$log.daemons" && cp "$work"/*.log "$log.daemons"
	counted "kubernetes $version commands" "$name" "$(tally "$log")"
	sed -n "s/^not ok [0-9]* - /# $name, not: /p" "$log"
	work_end
done
plan
