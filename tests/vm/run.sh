#!/bin/bash
# Runs the vm tier in user-mode-linux: a Linux kernel as an ordinary process, with
# this machine's file tree as its root and cgroup v2 with all its controllers.
#
#	tests/vm/run.sh [--build DIR]
#
# PARTS=copy,fuse,limits,owners,single are the parts of the tier; without it, all of them run.
# Prints TAP.  The output of the machine ends with a fixed line; if that is
# missing, the machine stopped early, which is a failure.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build
[ "${1:-}" = --build ] && build=$(cd "$2" && pwd)
. "$top/tests/vm/uml.sh"
command -v linux.uml >/dev/null || {
	echo "ok 1 - vm # SKIP user-mode-linux is not installed"
	exit 0
}

work=$(mktemp -d) && out=$work/out
trap 'rm -rf "$work"' EXIT
# A disk for the tests of reflinks, if the tool to make it is installed.
disk=
if mkfs=$(PATH=$PATH:/usr/sbin:/sbin command -v mkfs.btrfs); then
	disk=$work/disk
	truncate -s 512M "$disk" && "$mkfs" -q "$disk" >/dev/null 2>&1 || exit
fi
# The kernel passes unknown words of its command line on to init.
uml "${VM_SECONDS:-3600}" root=/dev/root rootfstype=hostfs rootflags=/ \
	init="$top/tests/vm/init.sh" HUTCH_TOP="$top" HUTCH_BUILD="$build" \
	${HUTCH_ONLY:+HUTCH_ONLY="$HUTCH_ONLY"} ${PARTS:+PARTS="$PARTS"} ${ROUNDS:+ROUNDS="$ROUNDS"} ${disk:+ubd0="$disk" HUTCH_DISK=yes} >"$out"
sed -n '/^vm: begin$/,/^vm: end$/{/^vm: /d;p}' "$out"
if ! grep -qx 'vm: end' "$out"; then
	echo "not ok - the machine did not come to its end"
	tail -n 40 "$out" | sed 's/^/# /'
	exit 1
fi
! grep -q '^not ok' "$out"
