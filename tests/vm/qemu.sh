#!/bin/bash
# The vm tier with the kernel that Debian ships: overlayfs, Landlock, AppArmor, yama,
# nftables and all cgroup controllers, in qemu.  The processor is emulated, so that it
# is the same machine everywhere, and needs nothing of the host.
#
#	tests/vm/qemu.sh [--arch x86_64|aarch64] [--build DIR]
#
# The programs in DIR are that processor's; without --arch it is this machine's.  For another
# processor's, DIR is what `make dist ARCH=aarch64` and `make foreign-tests` have made.
#
# QEMU_TIERS says what runs inside (qemu-root.sh has the list), HUTCH_ONLY which
# of the limits, LISTS which of podman's, PROGRAMS which of runtime-tools', QEMU_COMMAND a
# command of bash for the tier "command", and QEMU_KERNEL parameters of the kernel.  Needs
# root, debootstrap and qemu-system-ARCH; the installed system is kept in
# build-vm, by its list of packages.  Prints TAP.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build arch=$(uname -m)
while [ $# -gt 1 ]; do
	case $1 in
	--arch) arch=$2 ;;
	--build) build=$(cd "$2" && pwd) || exit ;;
	esac
	shift 2
done
packages=systemd,systemd-sysv,udev,dbus,dbus-user-session,libpam-systemd,procps,iproute2
packages+=,bats,curl,git,jq,openssl,python3,strace,uidmap,busybox-static
# The tiers engine:NAME run suites of tests/engines, which this machine has built (engines.sh there).
engines=
[[ " ${QEMU_TIERS:-}" != *" engine:"* ]] || engines=$(tr ' ' '\n' <<<"$QEMU_TIERS" | sed -n 's/^engine:\([^:]*\).*/\1/p' | sort -u)
[ -z "$engines" ] || packages+=,podman,netavark,crun,runc,bubblewrap,fuse-overlayfs,squashfs-tools,libcap2-bin,python3-seccomp
. "$top/tests/vm/image.sh"

missing() { # PROGRAM PACKAGE
	command -v "$1" >/dev/null && return 1
	echo "ok 1 - vm in qemu # SKIP $1 is not installed: apt-get install --no-install-recommends $2"
}
emulator=(qemu-system-"$arch" -accel "tcg,thread=multi" -smp 2 -m 2048 -nic none -display none -monitor none -no-reboot)
case $arch in
x86_64)
	debian_arch=amd64 console=ttyS0 results=ttyS1
	missing qemu-system-x86_64 qemu-system-x86 && exit
	emulator+=(-cpu max)
	;;
aarch64)
	# That processor has no pointer authentication, which takes most of the time where it is emulated.
	debian_arch=arm64 console=ttyAMA0 results=ttyS0
	missing qemu-system-aarch64 qemu-system-arm && exit
	emulator+=(-machine virt -cpu cortex-a76)
	;;
*)
	echo "ok 1 - vm in qemu # SKIP only x86-64 and aarch64 are emulated"
	exit 0
	;;
esac
missing debootstrap debootstrap && exit
missing mke2fs e2fsprogs && exit
[ "$(id -u)" = 0 ] || {
	echo "ok 1 - vm in qemu # SKIP debootstrap needs root"
	exit 0
}

# Copies the files of the tree that the tiers need besides the programs.
tree() {
	local to=$work/root/hutch/tree name
	mkdir -p "$to/build/tests" "$to/build/bench" || return
	for name in "$top"/*; do
		case ${name##*/} in build*) ;; *) cp -r "$name" "$to" || return ;; esac
	done
	cp -r "$build/hutch" "$build/libexec" "$to/build" &&
		cp -r "$build"/tests/{probe,listener,run} "$to/build/tests" &&
		mkdir "$work/root/hutch/tests/unit" &&
		{ [ ! -d "$build/bench/single" ] || cp -r "$build/bench/single" "$to/build/bench"; } &&
		suites &&
		{ [ "$arch" != "$(uname -m)" ] || cp "$build/tests/unit/cgroup" "$work/root/hutch/tests/unit"; } &&
		chmod -R a+rX "$work/root/hutch"
}
# suites: copies the suites that the engines' tests need, without what only their build needs.
suites() {
	local name kept
	for name in $engines; do
		kept=$(BUILD_ONLY=1 "$top/tests/engines/$name/run.sh" | sed -n 's/^# kept in //p')
		[ -n "$kept" ] || continue
		mkdir -p "$work/root/var/cache/hutch-tests" && cp -r "$kept" "$work/root/var/cache/hutch-tests" || return
	done
}
settings() {
	printf '%s="%s"\n' QEMU_TIERS "${QEMU_TIERS:-}" HUTCH_ONLY "${HUTCH_ONLY:-}" LISTS "${LISTS:-}" \
		PROGRAMS "${PROGRAMS:-}" \
		>"$work/root/hutch/settings"
	printf '%s\n' "${QEMU_COMMAND:-:}" >"$work/root/hutch/command"
	sed -i '/^ExecStart/i EnvironmentFile=/hutch/settings' \
		"$work/root/etc/systemd/system/hutch-test.service"
}

# same_processor: makes $base and the disk for programs of this machine's processor.
same_processor() {
	image_base "$packages,linux-image-$debian_arch,initramfs-tools,zstd,libcmocka0,libarchive13,libcurl4,apparmor" || exit
	emulator+=(-kernel "$base"/boot/vmlinuz-* -initrd "$base"/boot/initrd.img-*)
	image_root
}

# other_processor: the same for another's, whose programs are those of a release.
other_processor() {
	. "$top/tests/vm/emulated.sh"
	missing depmod kmod && exit
	missing cpio cpio && exit
	emulator+=(-kernel "$vm/$arch.kernel/vmlinuz" -initrd "$vm/$arch.kernel/initrd")
	emulated_base "$packages,kmod" || exit
	QEMU_TIERS=${QEMU_TIERS:-doctor escape escape-root run:codes run:create run:named run:seccomp run:refused run:landlock}
	image_scripts
}

mkdir -p "$vm"
work=$(mktemp -d -p "$vm") && out=$work/out
trap 'rm -rf "$work"' EXIT
if [ "$arch" = "$(uname -m)" ]; then same_processor; else other_processor; fi &&
	image_unit /hutch/tests/vm/qemu-root.sh $results && tree && settings && image_disk $([ "$engines" ] && echo 4G || echo 2G) || {
	echo "not ok - the disk could not be made"
	exit 1
}

# The first serial line carries the output of the kernel and systemd, the second
# the results.
second_line=(-serial file:"$work/lines")
[ "$arch" = x86_64 ] || second_line=(-chardev "file,id=lines,path=$work/lines" -device pci-serial,chardev=lines)
timeout --kill-after=10 "${VM_SECONDS:-5400}" "${emulator[@]}" \
	-append "root=/dev/vda rw console=$console loglevel=4 panic=-1 systemd.show_status=0 ${QEMU_KERNEL:-}" \
	-drive file="$work/disk",if=virtio,format=raw,cache=unsafe \
	-serial file:"$work/console" "${second_line[@]}" </dev/null 2>"$work/errors"
tr -d '\r' <"$work/lines" >"$out"
sed -n '/^vm: begin$/,/^vm: end$/{/^vm: /d;p}' "$out"
if ! grep -qx 'vm: end' "$out"; then
	echo "not ok - the machine did not come to its end"
	tail -n 40 "$work/errors" "$work/console" | sed 's/^/# /'
	exit 1
fi
! grep -q '^not ok' "$out"
