#!/bin/bash
# run.sh: a Kubernetes cluster of one node whose pods have a given runtime.
#
#	RUNTIME=/path/to/a/runtime tests/engines/kubernetes/run.sh
#
# RUNTIME (default: runc and the newest runc) is the program to test: pods name it by a RuntimeClass.
# Then packaging/kubernetes runs there, with OpenHands as its client; that needs build/hutch and the
# package of `make dist`.  etcd, the API server, the scheduler, the controller manager, the kubelet
# and containerd run with files and a network of their own.  Runs as root.  The first run builds
# Kubernetes from the Go module proxy, a quarter of an hour to an hour.  Prints TAP; all output is
# kept in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"
. "$engines/kubernetes/parts.sh"

# suite SCRIPT NAME: runs the script on a cluster of its own, and counts its tests as those of NAME.
suite() {
	local log=$logs/kubernetes-$name-$2.log
	apart unshare --net --uts timeout -k 5 400 "$engines/kubernetes/$1" >"$log" 2>"$log.err" </dev/null
	mkdir -p "$log.daemons" && cp "$work"/*.log "$log.daemons"
	counted "kubernetes $version $2" "$name" "$(tally "$log")"
	sed -n "s/^not ok [0-9]* - /# $name, not: /p" "$log"
}

parts
for program in $(references); do
	# containerd 2 sends a version of the specification that Debian's crun does not know.
	[ "$program" != crun ] || [ -n "${RUNTIME:-}" ] || continue
	runtime=$(program_path "$program") || give_up "$program is not installed"
	name=$(program_name "$runtime")
	work_new
	export work runtime
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
