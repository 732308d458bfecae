#!/usr/bin/env bats
# Tests of podman with hutch-oci, as an ordinary user and as root.  tests/engines has many more
# commands, and further engines.

bats_require_minimum_version 1.5.0
load helpers

# The commands make their cgroups below one of the folder's name.
teardown() {
	local path
	! is_root || for path in /sys/fs/cgroup /sys/fs/cgroup/*; do
		[[ ! -d $path/${T##*/} ]] || find "$path/${T##*/}" -depth -type d -exec rmdir {} +
	done
	end
}

@test "podman runs, execs into and stops containers with hutch-oci" {
	command -v podman >/dev/null || skip "this host has no podman"
	command -v busybox >/dev/null || skip "this host has no busybox"
	is_root || needs_range
	"$top/tests/engines/image.py" "$(command -v busybox)" localhost/small:1 /bin/sh >image.tar
	catch timeout "$PATIENCE" "$here/podman.py" "$BUILD/libexec/hutch-oci" image.tar
	[[ $output == "Loaded image: localhost/small:1 0
1 0 7
0
Seccomp:"?"2 0
$BUILD/libexec/hutch-oci 0
back 0
9 0
back 0
0" ]]
}
