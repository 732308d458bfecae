#!/bin/bash
# pid 1 of the machine in which the vm tier runs.  The root is the host's own
# file tree: this script writes only to file systems that it mounts.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export T=/run/home H=/run/hutch/hutch HOG=/run/hutch/tests/vm/hog

prepare() {
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t tmpfs tmpfs /run
	# systemd mounts cgroup2 with the same options.
	mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
	busybox ip link set lo up
	# Copies the programs, since the user may not be able to read the host's folders.
	mkdir -p /run/hutch/tests/{run,unit} /run/home /run/runtime
	cp -r "$HUTCH_BUILD/hutch" "$HUTCH_BUILD/libexec" /run/hutch/
	cp -r "$HUTCH_BUILD/tests/vm" /run/hutch/tests/
	cp "$HUTCH_BUILD/tests/unit/cgroup" /run/hutch/tests/unit/ # all would fill the memory
	cp "$HUTCH_TOP"/tests/patience.* /run/hutch/tests/
	cp "$HUTCH_TOP"/tests/vm/*.sh /run/hutch/tests/vm/
	cp "$HUTCH_TOP"/tests/run/{confined,typed}.py /run/hutch/tests/run/
	mkdir /run/hutch/pages
	cp "$HUTCH_TOP/README.md" "$HUTCH_TOP/docs/hutch-policy.md" /run/hutch/pages/
	cp -r "$HUTCH_BUILD/bench" /run/hutch/
	cp -r "$HUTCH_TOP/tests/bench" /run/hutch/tests/
	mkdir /run/hutch/sdk
	cp -r "$HUTCH_TOP/sdk/python" /run/hutch/sdk/ # the bench imports it
	chmod -R a+rX /run/hutch
	chown 1000:1000 /run/home /run/runtime
	chmod 700 /run/runtime
	# Mounted last, since the tree may be in /tmp.
	mount -t tmpfs -o mode=1777 tmpfs /tmp
}

# Mounts the disk with btrfs, if run.sh has made one.
mount_disk() {
	mknod /run/disk b 98 0
	mkdir /run/shares
	mount -t btrfs /run/disk /run/shares || return
	chown 1000:1000 /run/shares
	export SHARES=/run/shares
}

# as_user SCRIPT VARIABLE...: runs a script of the tier as an ordinary user.
as_user() {
	local script=$1
	shift
	setpriv --reuid 1000 --regid 1000 --clear-groups --reset-env \
		env PATH="$PATH" HOME=/run/home XDG_RUNTIME_DIR=/run/runtime T="$T" H="$H" \
		HOG="$HOG" GROUP=/nonexistent HUTCH_ONLY="${HUTCH_ONLY:-}" "$@" "/run/hutch/tests/vm/$script"
}

# plain BY: runs the tests of images without overlayfs.  Unlike the kernels in qemu,
# this kernel has no overlayfs; it has FUSE as a module.
plain() {
	as_user plain.sh SHARES="${SHARES:-}" BY="$1"
}

served() {
	if [ ! -x /usr/bin/fuse-overlayfs ]; then
		echo 'ok 1 - a root is served # SKIP fuse-overlayfs is not installed'
	elif ! insmod "/usr/lib/uml/modules/$(uname -r)/kernel/fs/fuse/fuse.ko"; then
		echo 'not ok 1 - a root is served: this kernel has no FUSE'
	elif ! mountpoint -q /dev || ! chmod 666 /dev/fuse; then
		echo 'ok 1 - a root is served # SKIP this host has no /dev/fuse'
	else
		plain fuse
		return
	fi
	echo '1..1'
}

exec 2>&1
prepare
cd / || exit
echo "vm: begin"
[ -z "${HUTCH_DISK:-}" ] || mount_disk
for part in $(tr , " " <<<"${PARTS:-copy,fuse,limits,owners,single}"); do
	case $part in
	copy) plain copy ;;
	fuse) served ;;
	single) as_user single.sh ;;
	limits | owners) /run/hutch/tests/vm/delegated.sh "$part" ;;
	*) echo "not ok - there is no part $part" ;;
	esac
done
echo "vm: end"
halt -f
