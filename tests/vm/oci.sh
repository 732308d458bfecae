#!/bin/bash
# oci.sh user|system: the cgroups of hutch-oci where systemd makes them, by the manager of the
# user who runs this script, or by the system's for root.
#
# shellcheck disable=SC2154 # from tap.sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
which=$1 OCI=/hutch/libexec/hutch-oci T=$(mktemp -d)
manager=() root=/sys/fs/cgroup cpus='"shares": 512' has_cpuset=
[ "$which" = system ] || manager=(--user)
# A user's manager has no cpuset, and user-mode-linux has none at all.
if [ "$which" = system ] && grep -qw cpuset $root/cgroup.controllers; then
	cpus+=', "cpus": "0"' has_cpuset=yes
fi
. "${0%/*}/tap.sh"
trap 'rm -rf "$T"' EXIT
cd "$T" && mkdir -p rootfs/bin && cp /bin/busybox rootfs/bin && ln -s busybox rootfs/bin/sleep && ln -s busybox rootfs/bin/cat || exit

control() {
	systemctl "${manager[@]}" "$@"
}
oci() {
	"$OCI" --root "$T/state" --systemd-cgroup "$@" </dev/null
}
property() {
	control show --value -p "$1" hutch-test-box.scope
}
# equal FOUND EXPECTED
equal() {
	[ "$1" = "$2" ] || { echo "'$1' in place of '$2'"; return 1; }
}

# A bundle with limits.  Kernels of the vm tier may have no message queues, and no device rules.
limits="\"resources\": { \"memory\": { \"limit\": 67108864 }, \"pids\": { \"limit\": 77 },
	\"cpu\": { \"quota\": 50000, \"period\": 100000, $cpus } }"
"$OCI" spec && sed -i -e '/"resources"/d; /mqueue/,+1d' \
	-e 's/"terminal": true/"terminal": false/; s/\[ "sh" \]/[ "sleep", "1000" ]/' \
	-e "s|\"linux\": {|&\"cgroupsPath\": \"hutch-test.slice:hutch-test:box\", ${limits//$'\n'/ },|" \
	config.json || exit

created() {
	oci create box >out 2>&1 || { cat out; return 1; }
	oci start box
	known && [ "$cgroup" != $root ]
}
# known: sets pid and cgroup.  Each test runs in a shell of its own.
known() {
	pid=$(oci state box | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
	cgroup=$root$(property ControlGroup)
}
# gone: no scope is left, and no cgroup of it.
gone() {
	[ ! -e "$cgroup" ] && [ "$(property LoadState)" = not-found ]
}
ended() {
	known
	oci delete --force box && gone
}

made() {
	created || return
	equal "$(sed -n 's/^0:://p' "/proc/$pid/cgroup")" "$(property ControlGroup)" &&
		equal "$(property Slice)" hutch-test.slice && equal "$(property Delegate)" yes &&
		equal "$(cat "$cgroup"/{memory,pids,cpu}.max | xargs)" '67108864 77 50000 100000' &&
		equal "$(property MemoryMax) $(property TasksMax)" '67108864 77' &&
		equal "$(property CPUQuotaPerSecUSec) $(property CPUWeight)" \
			"500ms $(cat "$cgroup/cpu.weight")" || return
	[ -z $has_cpuset ] || equal "$(property AllowedCPUs) $(cat "$cgroup/cpuset.cpus")" '0 0'
}
reloaded() {
	known
	control daemon-reload &&
		equal "$(cat "$cgroup"/{memory,pids,cpu}.max | xargs)" '67108864 77 50000 100000' &&
		equal "$(cat "$cgroup/cgroup.procs")" "$pid"
}
updated() {
	known
	oci update --pids-limit 78 --memory 134217728 box && equal "$(property TasksMax)" 78 &&
		equal "$(property MemoryMax)" 134217728 && equal "$(cat "$cgroup/pids.max")" 78 || return
	# A later change of another property writes these again.
	control set-property --runtime hutch-test-box.scope CPUWeight=77 &&
		equal "$(cat "$cgroup"/{memory,pids}.max | xargs)" '134217728 78'
}
twice() {
	known
	! oci create second >out 2>&1 && grep -q hutch-test-box.scope out && [ ! -e state/second ] &&
		equal "$(cat "$cgroup/cgroup.procs")" "$pid"
}
paused() {
	oci pause box && grep -q '"paused"' <(oci state box) && oci resume box &&
		grep -q '"running"' <(oci state box)
}
entered() {
	oci exec --detach box sleep 999 >out 2>&1 && equal "$(oci ps box | wc -l)" 3
}
# A container that hands its controllers on, as systemd does inside, has no process in its own cgroup.
handed_on() {
	local process
	known
	mkdir "$cgroup/first" || return
	for process in $(<"$cgroup/cgroup.procs"); do
		echo "$process" >"$cgroup/first/cgroup.procs" || return
	done
	echo +pids >"$cgroup/cgroup.subtree_control" || return
	equal "$(oci exec box cat /proc/self/cgroup 2>&1)" "0::/first" &&
		mkdir "$cgroup/second" &&
		equal "$(oci exec --cgroup /second box cat /proc/self/cgroup)" "0::/second"
}
ended_alone() {
	created && oci kill box KILL && tail --pid="$pid" -f /dev/null && oci delete box && gone
}
failed() {
	cgroup=$root/none
	sed 's/"sleep", "1000"/"nosuch"/' config.json >broken
	! oci create --config broken box >out 2>&1 && grep -q nosuch out && gone && [ ! -e state/box ]
}

echo "# the $which manager of systemd"
try "a container is in a scope of its slice, with its limits, which are properties ($which)" made
try "limits are kept when systemd reloads its units ($which)" reloaded
try "update changes the limits and the properties ($which)" updated
try "a scope that exists is not taken ($which)" twice
try "pause and resume work in a scope ($which)" paused
try "exec enters the scope ($which)" entered
try "exec enters the first process's cgroup where the scope hands its controllers on ($which)" handed_on
try "delete --force leaves no scope and no cgroup ($which)" ended
try "a container that has ended is deleted ($which)" ended_alone
try "a create that fails leaves no scope ($which)" failed
echo "1..$count"
