#!/bin/bash
# The vm tier with systemd: a machine of its own in user-mode-linux with Debian's
# systemd as pid 1, where a user's manager delegates cgroups.
#
#	tests/vm/systemd.sh [--build DIR]
#
# Needs root and debootstrap, once: the installed system is kept in build-vm, by its
# list of packages.  Prints TAP.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build
[ "${1:-}" = --build ] && build=$(cd "$2" && pwd)
packages=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,procps,busybox-static
. "$top/tests/vm/image.sh"
. "$top/tests/vm/uml.sh"

for program in linux.uml debootstrap mke2fs; do
	command -v $program >/dev/null && continue
	echo "ok 1 - vm with systemd # SKIP $program is not installed"
	exit 0
done
[ "$(id -u)" = 0 ] || {
	echo "ok 1 - vm with systemd # SKIP debootstrap needs root"
	exit 0
}

image_base $packages || exit
work=$(mktemp -d -p "$vm") && out=$work/out
trap 'rm -rf "$work"' EXIT
image_root && image_unit /hutch/tests/vm/systemd-root.sh tty0 && image_disk 1500M || {
	echo "not ok - the disk could not be made"
	exit 1
}

uml "${VM_SECONDS:-3600}" ubd0="$work/disk" root=/dev/ubda systemd.show_status=0 >"$out"
sed -n '/^vm: begin$/,/^vm: end$/{/^vm: /d;p}' "$out"
if ! grep -qx 'vm: end' "$out"; then
	echo "not ok - the machine did not come to its end"
	tail -n 40 "$out" | sed 's/^/# /'
	exit 1
fi
! grep -q '^not ok' "$out"
