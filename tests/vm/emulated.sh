# emulated.sh -- makes the installation of a machine whose processor is not this machine's.
#
# debootstrap unpacks it here, and its second half, which runs programs of that processor, runs in
# the emulated machine.  The kernel and its modules are unpacked beside it.
#
# shellcheck shell=bash disable=SC2154 # top, suite, vm: from image.sh, arch from the sourcing script

# emulated_base PACKAGE,...: installs Debian with these packages into $base, once per list.
emulated_base() {
	kernel=$vm/$arch.kernel
	base=$vm/$(sha256sum <<<"$suite $arch $1" | cut -c1-16)
	[ -e "$kernel/initrd" ] || emulated_kernel || {
		echo "not ok - the kernel for $arch could not be made"
		return 1
	}
	[ ! -d "$base" ] || return 0
	rm -rf --one-file-system "$base.part"* && emulated_install "$1" >"$vm/log" 2>&1 && return
	echo "not ok - debootstrap failed"
	tail -n 5 "$vm/log" "$base.part.console" | sed 's/^/# /'
	return 1
}

# emulated_kernel: has Debian's kernel in $kernel/vmlinuz, its modules in $kernel/lib/modules, and in
# $kernel/initrd a busybox that finds the disk.
emulated_kernel() {
	local version module root=$kernel/initrd.root
	"$top/packaging/sysroot.sh" "$kernel" "$arch" "linux-image-$debian_arch" busybox-static || return
	version=$(basename "$kernel"/lib/modules/*)
	cp "$kernel/boot/vmlinuz-$version" "$kernel/vmlinuz" && depmod -b "$kernel" "$version" || return
	mkdir -p "$root"/{bin,dev,proc,disk,modules} && cp "$kernel/bin/busybox" "$root/bin" || return
	for module in virtio_pci virtio_blk ext4; do
		modprobe -d "$kernel" -S "$version" --show-depends "$module" || return
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$root/list"
	while read -r module; do
		cp "$module" "$root/modules" && echo "insmod /modules/$(basename "$module")" || return
	done <"$root/list" >"$root/load"
	cat >"$root/init" <<-'END'
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		export PATH=/bin
		mount -t devtmpfs dev /dev
		mount -t proc proc /proc
		. /load
		read -r line </proc/cmdline
		init=/sbin/init
		for word in $line; do case $word in init=*) init=${word#init=} ;; esac; done
		mount -t ext4 /dev/vda /disk
		umount /proc
		exec switch_root /disk "$init"
	END
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$kernel/initrd.part" &&
		rm -r "$root" && mv "$kernel/initrd.part" "$kernel/initrd"
}

emulated_install() {
	local part=$base.part
	debootstrap --foreign --arch="$debian_arch" --variant=minbase --include="$1" $suite "$part" || return
	cat >"$part/second.sh" <<-'END'
		#!/bin/sh
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin
		# debootstrap mounts /proc and /sys, and unmounts them at its end; the disks are in /dev.
		/debootstrap/debootstrap --second-stage && rm -f /second.sh /var/cache/apt/archives/*.deb &&
			mount -t devtmpfs dev /dev && mount -t proc proc /proc &&
			tar --one-file-system --exclude=./lost+found -cf /dev/vdb -C / . && sync && echo "second: done"
		echo o >/proc/sysrq-trigger
		read -r forever
	END
	chmod 755 "$part/second.sh" && mke2fs -q -t ext4 -d "$part" "$part.disk" 3G && truncate -s 2G "$part.tar" || return
	timeout --kill-after=10 "${VM_SECONDS:-5400}" "${emulator[@]}" -append "console=$console panic=-1 init=/second.sh" \
		-drive file="$part.disk",if=virtio,format=raw,cache=unsafe \
		-drive file="$part.tar",if=virtio,format=raw,cache=unsafe \
		-serial file:"$part.console" </dev/null || return
	grep -q '^second: done' "$part.console" || return
	rm -rf --one-file-system "$part" && mkdir "$part" && tar -xf "$part.tar" -C "$part" &&
		cp -a "$kernel/lib/modules" "$part/usr/lib" && rm "$part".* && mv "$part" "$base"
}
