#!/bin/bash
# pid 1 of the machine in which the vm tier runs.  The root is the host's own file
# tree: nothing is written but to file systems that are mounted here.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
user=1000 group=/sys/fs/cgroup/delegated
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
	chown $user:$user /run/home /run/runtime
	chmod 700 /run/runtime
	# Last, since the tree may be in there.
	mount -t tmpfs -o mode=1777 tmpfs /tmp
}

# What a service manager does for a unit with Delegate=yes.
delegate() {
	echo '+cpu +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
	mkdir "$1"
	chown $user:$user "$1" "$1"/cgroup.{procs,threads,subtree_control}
}

# as_user GROUP COMMAND...: a session of the user's, started in that group.
as_user() (
	echo 0 >"$1/cgroup.procs"
	shift
	exec setsid setpriv --reuid $user --regid $user --clear-groups --reset-env \
		env PATH="$PATH" HOME=/run/home XDG_RUNTIME_DIR=/run/runtime T=$T H=$H HOG=$HOG \
		GROUP=$group HUTCH_ONLY="${HUTCH_ONLY:-}" "$@" 2>&1
)

exec 2>&1
prepare && delegate $group && delegate /sys/fs/cgroup/alone
cd / || exit
echo "vm: begin"
as_user $group /run/hutch/limits.sh
mkdir /sys/fs/cgroup/foreign
as_user /sys/fs/cgroup/foreign /run/hutch/foreign.sh
/run/hutch/own.sh /sys/fs/cgroup/alone $user 2>&1
delegate /sys/fs/cgroup/sudo
/run/hutch/root.sh /sys/fs/cgroup/sudo $user 2>&1
echo "vm: end"
halt -f
