#!/bin/bash
# pid 1 of the machine in which the vm tier runs.  The root is the host's own file
# tree: nothing is written but to file systems that are mounted here.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
user=1000 group=/sys/fs/cgroup/delegated
export T=/tmp/home H=/tmp/hutch/hutch HOG=/tmp/hutch/tests/vm/hog

prepare() {
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	mount -t tmpfs tmpfs /run
	# As systemd mounts it.
	mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
	ip link set lo up
	# Where the user may read it, whatever the host's folders say.
	mkdir -p /tmp/hutch/tests /tmp/home /tmp/runtime
	cp -r "$HUTCH_BUILD/hutch" "$HUTCH_BUILD/libexec" /tmp/hutch/
	cp -r "$HUTCH_BUILD/tests/vm" "$HUTCH_BUILD/tests/unit" /tmp/hutch/tests/
	cp "$HUTCH_TOP"/tests/vm/*.sh /tmp/hutch/
	chmod -R a+rX /tmp/hutch
	chown $user:$user /tmp/home /tmp/runtime
	chmod 700 /tmp/runtime
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
		env PATH="$PATH" HOME=/tmp/home XDG_RUNTIME_DIR=/tmp/runtime T=$T H=$H HOG=$HOG \
		GROUP=$group "$@" 2>&1
)

exec 2>&1
prepare && delegate $group && delegate /sys/fs/cgroup/alone
cd / || exit
echo "vm: begin"
as_user $group /tmp/hutch/limits.sh
mkdir /sys/fs/cgroup/foreign
as_user /sys/fs/cgroup/foreign /tmp/hutch/foreign.sh
/tmp/hutch/own.sh /sys/fs/cgroup/alone $user 2>&1
echo "vm: end"
halt -f
