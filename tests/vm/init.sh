#!/bin/bash
# pid 1 of the machine in which the vm tier runs.  The root is the host's own file
# tree: nothing is written but to file systems that are mounted here.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export T=/run/home H=/run/hutch/hutch HOG=/run/hutch/tests/vm/hog

prepare() {
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t tmpfs tmpfs /run
	# As systemd mounts it.
	mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
	ip link set lo up
	# Where the user may read it, whatever the host's folders say.
	mkdir -p /run/hutch/tests /run/home /run/runtime
	cp -r "$HUTCH_BUILD/hutch" "$HUTCH_BUILD/libexec" /run/hutch/
	cp -r "$HUTCH_BUILD/tests/vm" "$HUTCH_BUILD/tests/unit" /run/hutch/tests/
	cp "$HUTCH_TOP"/tests/vm/*.sh "$HUTCH_TOP/tests/run/confined.py" /run/hutch/
	cp -r "$HUTCH_BUILD/bench" /run/hutch/
	cp -r "$HUTCH_TOP/tests/bench" /run/hutch/tests/
	chmod -R a+rX /run/hutch
	chown 1000:1000 /run/home /run/runtime
	chmod 700 /run/runtime
	# Last, since the tree may be in there.
	mount -t tmpfs -o mode=1777 tmpfs /tmp
}

exec 2>&1
prepare
cd / || exit
echo "vm: begin"
/run/hutch/delegated.sh
echo "vm: end"
halt -f
