#!/bin/bash
# The vm tier with the kernel that Debian ships: overlayfs, Landlock, AppArmor, yama,
# nftables and all cgroup controllers, in qemu.  The processor is emulated, so that it
# is the same machine everywhere, and needs nothing of the host.
#
#	tests/vm/qemu.sh [--build DIR]
#
# QEMU_TIERS says what runs inside (qemu-root.sh has the list), HUTCH_ONLY which
# of the limits, QEMU_COMMAND a command of bash for the tier "command".  Needs
# root, debootstrap and qemu-system-x86_64; the installed system is kept in
# build-vm, by its list of packages.  Prints TAP.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build
[ "${1:-}" = --build ] && build=$(cd "$2" && pwd)
packages=systemd,systemd-sysv,udev,dbus,dbus-user-session,libpam-systemd,procps,iproute2
packages+=,linux-image-amd64,initramfs-tools,zstd
packages+=,bats,curl,git,python3,strace,uidmap,libcmocka0,busybox-static,libarchive13,libcurl4,apparmor
. "$top/tests/vm/image.sh"

missing() { # PROGRAM PACKAGE
	command -v "$1" >/dev/null && return 1
	echo "ok 1 - vm in qemu # SKIP $1 is not installed: apt-get install --no-install-recommends $2"
}
[ "$(uname -m)" = x86_64 ] || {
	echo "ok 1 - vm in qemu # SKIP only x86-64 is emulated so far"
	exit 0
}
missing qemu-system-x86_64 qemu-system-x86 && exit
missing debootstrap debootstrap && exit
missing mke2fs e2fsprogs && exit
[ "$(id -u)" = 0 ] || {
	echo "ok 1 - vm in qemu # SKIP debootstrap needs root"
	exit 0
}

# Copies the files of the tree that the tiers need besides the programs.
tree() {
	local to=$work/root/hutch/tree name
	mkdir -p "$to/build/tests" || return
	for name in "$top"/*; do
		case ${name##*/} in build*) ;; *) cp -r "$name" "$to" || return ;; esac
	done
	cp -r "$build/hutch" "$build/libexec" "$to/build" &&
		cp -r "$build"/tests/{probe,listener,run} "$to/build/tests" &&
		mkdir "$work/root/hutch/tests/unit" &&
		cp "$build/tests/unit/cgroup" "$work/root/hutch/tests/unit" &&
		chmod -R a+rX "$work/root/hutch"
}
settings() {
	printf '%s="%s"\n' QEMU_TIERS "${QEMU_TIERS:-}" HUTCH_ONLY "${HUTCH_ONLY:-}" \
		>"$work/root/hutch/settings"
	printf '%s\n' "${QEMU_COMMAND:-:}" >"$work/root/hutch/command"
	sed -i '/^ExecStart/i EnvironmentFile=/hutch/settings' \
		"$work/root/etc/systemd/system/hutch-test.service"
}

image_base $packages || exit
work=$(mktemp -d -p "$vm") && out=$work/out
trap 'rm -rf "$work"' EXIT
image_root && image_unit /hutch/tests/vm/qemu-root.sh ttyS1 && tree && settings && image_disk 2G || {
	echo "not ok - the disk could not be made"
	exit 1
}

# The first serial line carries the output of the kernel and systemd, the second
# the results.
timeout --kill-after=10 "${VM_SECONDS:-5400}" qemu-system-x86_64 \
	-accel tcg,thread=multi -cpu max -smp 2 -m 2048 \
	-kernel "$base"/boot/vmlinuz-* -initrd "$base"/boot/initrd.img-* \
	-append "root=/dev/vda rw console=ttyS0 loglevel=4 panic=-1 systemd.show_status=0" \
	-drive file="$work/disk",if=virtio,format=raw,cache=unsafe -nic none \
	-display none -monitor none -no-reboot \
	-serial file:"$work/console" -serial file:"$work/lines" </dev/null 2>"$work/errors"
tr -d '\r' <"$work/lines" >"$out"
sed -n '/^vm: begin$/,/^vm: end$/{/^vm: /d;p}' "$out"
if ! grep -qx 'vm: end' "$out"; then
	echo "not ok - the machine did not come to its end"
	tail -n 40 "$work/errors" "$work/console" | sed 's/^/# /'
	exit 1
fi
! grep -q '^not ok' "$out"
