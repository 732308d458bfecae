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
packages=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,procps
suite=bookworm vm=$top/build-vm

for program in linux.uml debootstrap mke2fs; do
	command -v $program >/dev/null && continue
	echo "ok 1 - vm with systemd # SKIP $program is not installed"
	exit 0
done
[ "$(id -u)" = 0 ] || {
	echo "ok 1 - vm with systemd # SKIP debootstrap needs root"
	exit 0
}

base=$vm/$(sha256sum <<<"$suite $packages" | cut -c1-16)
if [ ! -d "$base" ]; then
	mkdir -p "$vm" && rm -rf "$base.part" &&
		debootstrap --variant=minbase --include=$packages $suite "$base.part" \
			>"$vm/log" 2>&1 && rm -rf "$base.part"/var/cache/apt/archives/*.deb &&
		mv "$base.part" "$base" || {
		echo "not ok - debootstrap failed"
		tail -n 5 "$vm/log" | sed 's/^/# /'
		exit 1
	}
fi

work=$(mktemp -d -p "$vm") && out=$work/out
trap 'rm -rf "$work"' EXIT

# The system, and beside it what is tested.
assemble() {
	cp -a "$base" "$work/root" && mkdir -p "$work/root/hutch/tests" &&
		cp -r "$build/hutch" "$build/libexec" "$work/root/hutch" &&
		cp -r "$build/tests/vm" "$work/root/hutch/tests" &&
		cp "$top"/tests/vm/*.sh "$work/root/hutch" &&
		chmod -R a+rX "$work/root/hutch" || return
	cat >"$work/root/etc/systemd/system/hutch-test.service" <<-'UNIT'
		[Unit]
		After=systemd-user-sessions.service dbus.service
		[Service]
		Type=oneshot
		ExecStart=/hutch/systemd-root.sh
		StandardOutput=tty
		StandardError=tty
		TTYPath=/dev/tty0
		[Install]
		WantedBy=multi-user.target
	UNIT
	ln -s ../hutch-test.service \
		"$work/root/etc/systemd/system/multi-user.target.wants/hutch-test.service"
	# The hosts' time is UTC; nobody logs in.
	ln -sf /dev/null "$work/root/etc/systemd/system/getty.target"
	mke2fs -q -t ext4 -d "$work/root" "$work/disk" 1500M >/dev/null && rm -rf "$work/root"
}
assemble || {
	echo "not ok - the disk could not be made"
	exit 1
}

TMPDIR=$work timeout --kill-after=10 "${VM_SECONDS:-300}" linux.uml mem=1024M \
	ubd0="$work/disk" root=/dev/ubda rw con=null con0=fd:0,fd:1 loglevel=1 \
	systemd.show_status=0 </dev/null 2>/dev/null | tr -d '\r' >"$out"
sed -n '/^vm: begin$/,/^vm: end$/{/^vm: /d;p}' "$out"
if ! grep -qx 'vm: end' "$out"; then
	echo "not ok - the machine did not come to its end"
	tail -n 40 "$out" | sed 's/^/# /'
	exit 1
fi
! grep -q '^not ok' "$out"
