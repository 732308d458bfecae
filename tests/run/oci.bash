# oci.bash -- makes bundles for tests of hutch-oci.

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

remove_containers() {
	local id
	for id in state/*; do
		[[ ! -d $id ]] || oci delete --force "${id##*/}" || true
	done
}
