# oci.bash -- what all tests of hutch-oci load: it makes bundles, and removes what is left.
# shellcheck shell=bash disable=SC2154 # `status`, `stderr` and `here` are of helpers.bash

bats_require_minimum_version 1.5.0
load helpers

teardown() {
	[[ -z ${OCI:-} ]] || remove_containers
	end
}

# bundle [FILTER]: makes a bundle in the folder $T with busybox in its root.  Its config.json is
# that of `hutch-oci spec`, without a terminal and writable, changed by a jq FILTER.
bundle() {
	local tool
	command -v busybox >/dev/null || skip "this host has no busybox"
	command -v jq >/dev/null || skip "this host has no jq"
	OCI=$BUILD/libexec/hutch-oci
	export XDG_CACHE_HOME=$T/home/cache
	if [[ ! -d rootfs ]]; then
		mkdir -p rootfs/bin rootfs/etc
		cp "$(command -v busybox)" rootfs/bin/busybox
		for tool in sh ls cat echo sleep id env mount touch readlink stty tty kill umask grep true wc mkdir mknod cut head; do
			ln -s busybox "rootfs/bin/$tool"
		done
	fi
	rm -f config.json
	oci spec
	jq ".process.terminal = false | .root.readonly = false | ${1:-.}" config.json >config.new
	mv config.new config.json
}

# oci WORD...: runs hutch-oci with a state folder of the test's own.
oci() {
	"$OCI" --root "$T/state" "$@"
}

# runs SCRIPT [FILTER]: makes a bundle that runs the script, and runs it by catch.
runs() {
	bundle ".process.args = [\"sh\", \"-c\", $(jq -Rs . <<<"$1")] | ${2:-.}"
	catch oci run box
}

# created [FILTER]: creates the container `box`, which sleeps, from a bundle.
created() {
	bundle ".process.args = [\"sleep\", \"1000\"] | ${1:-.}"
	oci create box </dev/null >out 2>&1
}

# refused TEXT FILTER: expects that a bundle is refused with that text, and leaves nothing.
refused() {
	bundle ".process.args = [\"true\"] | $2"
	catch oci run box
	((status == 1))
	[[ $stderr == *"$1"* ]]
	[[ ! -e state/box ]]
}

# gone PID: waits until the process has ended.
gone() {
	command python3 -SE "$here/oci.py" gone "$1"
}

# no_cgroup: ends a test whose container could have no cgroup, which is a failure for root.
no_cgroup() {
	! is_root || false
	skip "this host has no cgroup that this user may write to"
}

remove_containers() {
	local id
	for id in state/*; do
		[[ ! -d $id ]] || oci delete --force "${id##*/}" || true
	done
}
