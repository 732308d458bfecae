#!/bin/bash
# run.sh: containerd with a given runtime: command lines of ctr and crictl (commands.sh), and critest.
#
#	RUNTIME=/path/to/a/runtime tests/engines/containerd/run.sh
#
# RUNTIME (default: crun, runc and the newest runc) is the program to test.  Debian's containerd and
# the newer one of the Go module proxy run in turn, in namespaces of their own, with three small
# images that need no registry.  Runs as root.  Prints TAP; all output is kept in LOGS (default:
# build/engines).
set -u
. "$(dirname "$0")/../engines.sh"
version=2.2.9 cri_tools=1.37.0
# These need a registry, or servers that no small image has.
export CRITEST_SKIP='Image (Manager|Volume|Consistency|Identifier)|should support port mapping|portforward|port-forward|AppArmor|SELinux|OOM'

# images: critest takes the small images in place of those of its registry.
images() {
	local name
	for name in defaultTestContainerImage webServerTestImage websitesTestImage; do
		echo "$name: localhost/small:1"
	done
}

# start BIN LOG COMMAND...: the commands get a network of their own, too.
start() {
	local bin=$1 log=$2
	shift 2
	work_new
	images >"$work/images.yaml"
	export work runtime tools
	apart unshare --net timeout -k 5 1200 "$@" "$engines/containerd/commands.sh" "$bin" >"$log" 2>"$log.err" </dev/null
	cp "$work/containerd.log" "$log.containerd"
	work_end
}

# specs FILE: the counts in ginkgo's last line.
specs() {
	local passed failed skipped
	read -r passed failed skipped < <(sed 's/\x1b\[[0-9;]*m//g' "$1" |
		sed -n 's/.*-- \([0-9]*\) Passed | \([0-9]*\) Failed.* \([0-9]*\) Skipped.*/\1 \2 \3/p')
	echo "${passed:-0} ok, ${skipped:-0} skipped, ${failed:-1} not"
}

needs_root
needs_go
needs containerd containerd
needs busybox busybox-static
[ -x /usr/lib/cni/bridge ] || give_up "the bridge of CNI is not installed: apt-get install containernetworking-plugins"
cached "containerd-$version" "$engines/containerd/build.sh" "$version" "$cri_tools" ||
	give_up "containerd could not be built: see $cache/containerd-$version.log"
tools=$cache/containerd-$version
for program in $(references); do
	runtime=$(program_path "$program") || give_up "$program is not installed"
	name=$(program_name "$runtime")
	for bin in /usr/bin "$tools"; do
		containerd=$("$bin/containerd" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
		log=$logs/containerd-$containerd-$name.log
		start "$bin" "$log" env
		counted "containerd $containerd commands" "$name" "$(tally "$log")"
		sed -n "s/^not ok [0-9]* - /# $name, not: /p" "$log"
	done
	log=$logs/critest-$name.log
	start "$tools" "$log" env CRITEST=1
	counted "critest $cri_tools, containerd $version" "$name" "$(specs "$log")"
done
plan
