# machine.bash -- machines for tests: copies of installations of debootstrap, which chroot, pids,
# mounts and devices of their own make separate.  The folder $root is such a machine, and its
# ordinary user is $user.  A test is a line of TAP.
#
# shellcheck shell=bash disable=SC2154 # root, user, work: from the sourcing script
count=0 failed=0

# machine_needs NAME: ends the script with a skipped test where no machine can be made.
machine_needs() {
	local reason=
	[ "$(id -u)" = 0 ] || reason='debootstrap needs root'
	command -v debootstrap >/dev/null || reason='debootstrap is not installed'
	[ -n "$reason" ] || return 0
	echo "ok 1 - $1 # SKIP $reason"
	exit 0
}

# check NAME COMMAND...: a test; the last lines of the output are shown if it fails.
check() {
	local name=$1 said=ok
	shift
	"$@" >"$work/out" 2>&1 || said='not ok' failed=1
	echo "$said $((++count)) - $name"
	[ "$said" = ok ] || tail -n 20 "$work/out" | sed 's/^/# /'
}

# machine_exec COMMAND...: becomes that command as root inside $root.  The kernel makes no user
# namespace in a chroot, so the root is also a mount of its own.
machine_exec() {
	# shellcheck disable=SC2016 # of the inner shell
	exec unshare --mount --pid --fork sh -euc 'cd "$1"; shift
		mount --bind . . && cd "$PWD"
		mount -t proc proc proc; mount -t sysfs sysfs sys
		[ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup sys/fs/cgroup
		mount --rbind /dev dev; mount -t tmpfs -o mode=1777 tmpfs dev/shm
		mkdir -p .old && pivot_root . .old && umount -l /.old && cd /
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@"
	' - "$root" "$@" </dev/null
}

machine() {
	(machine_exec "$@")
}

# machine_new BASE SHELL: makes $root a copy of the installation in the folder BASE, with this
# machine's name and resolver, and with the user, whose login shell is SHELL.
machine_new() {
	cp -a "$1" "$root" && cp -L /etc/resolv.conf "$root/etc/resolv.conf" &&
		printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$root/etc/hosts" || return
	[ -d "$root/home/$user" ] || machine useradd --create-home --shell "$2" "$user"
}
