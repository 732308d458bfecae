# image.sh -- makes a disk with Debian and the tested programs, for the machines
# of the vm tier that have systemd.
#
# shellcheck shell=bash disable=SC2154 # top, build: from the sourcing script
suite=bookworm vm=$top/build-vm

# image_base PACKAGE,...: installs Debian with these packages into the folder
# $base, once per list of packages.
image_base() {
	base=$vm/$(sha256sum <<<"$suite $1" | cut -c1-16)
	[ ! -d "$base" ] || return 0
	mkdir -p "$vm" && rm -rf --one-file-system "$base.part" &&
		debootstrap --variant=minbase --include="$1" $suite "$base.part" \
			>"$vm/log" 2>&1 && rm -rf "$base.part"/var/cache/apt/archives/*.deb &&
		mv "$base.part" "$base" && return
	echo "not ok - debootstrap failed"
	tail -n 5 "$vm/log" | sed 's/^/# /'
	return 1
}

# image_scripts: makes $work/root, a copy of $base with the scripts of the tier under /hutch.
image_scripts() {
	cp -a "$base" "$work/root" && mkdir -p "$work/root"/hutch/tests/{run,vm} &&
		cp "$top"/tests/patience.* "$work/root/hutch/tests" &&
		cp "$top"/tests/vm/*.sh "$work/root/hutch/tests/vm" &&
		chmod -R a+rX "$work/root/hutch"
}

# image_root: the same with the programs under /hutch.
image_root() {
	image_scripts && cp -r "$build/hutch" "$build/libexec" "$work/root/hutch" &&
		cp -r "$build/tests/vm" "$work/root/hutch/tests" &&
		cp -r "$build/bench" "$work/root/hutch" &&
		cp -r "$top/tests/bench" "$work/root/hutch/tests" &&
		mkdir "$work/root/hutch/sdk" && # the bench imports it
		cp -r "$top/sdk/python" "$work/root/hutch/sdk" &&
		cp "$top/tests/run/confined.py" "$work/root/hutch/tests/run" &&
		chmod -R a+rX "$work/root/hutch"
}

# image_unit SCRIPT TTY: makes systemd start SCRIPT at boot, with its output on
# TTY.  The machine has no login prompts, and the boot does not wait for the
# serial device to appear.
image_unit() {
	local units=$work/root/etc/systemd/system name
	cat >"$units/hutch-test.service" <<-UNIT
		[Unit]
		After=systemd-user-sessions.service dbus.service
		[Service]
		Type=oneshot
		ExecStart=$1
		StandardOutput=tty
		StandardError=tty
		TTYPath=/dev/$2
		[Install]
		WantedBy=multi-user.target
	UNIT
	ln -s ../hutch-test.service "$units/multi-user.target.wants/hutch-test.service"
	for name in getty.target serial-getty@ttyS0.service dev-ttyS0.device \
		serial-getty@ttyAMA0.service dev-ttyAMA0.device; do
		ln -sf /dev/null "$units/$name"
	done
}

# image_disk SIZE: turns $work/root into the disk image $work/disk.
image_disk() {
	mke2fs -q -t ext4 -d "$work/root" "$work/disk" "$1" >/dev/null && rm -rf "$work/root"
}
