#!/bin/bash
# measure.sh [ROUNDS]: how much longer a job of Slurm takes in a container, and a container of podman by
# one runtime than by another.
#
#	RUNTIME=/path/to/hutch-oci tests/engines/slurm/measure.sh 40
#
# Jobs of `true` run in turn: plain, and in a bundle by RUNTIME, by crun, and by true(1) in place of a
# runtime, which shows what Slurm itself does for a container.  Slurm cleans up after a job has ended for
# srun, which is awaited before the next job.  Then podman runs a container by both as root, with a file
# system that copies (vfs).  Prints the medians in ms, with the differences and ratios of this run, which
# are the figures to compare: the times are of the machine.  Needs what run.sh and podman's run.sh need,
# and BUILD (default: build) with bench/timer.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../engines.sh"
. "$here/../expect.sh"
. "$here/daemons.sh"
build=$(realpath "${BUILD:-$here/../../../build}")

# bundle_of NAME RUNTIME: a bundle whose root has a link to the runtime.  Slurm puts the path of the root
# for %r in oci.conf, and so one configuration serves both.
bundle_of() {
	bundle=$work/$1
	bundle_new && ln -s "$2" "$bundle/rootfs/runtime"
}

# medians NAME...: reads the timer's samples; the first name is what the others are compared with.  A
# command that failed is an error, and "-" is the name of one that is not to be told.
medians() {
	sort -k1,1n -k3,3n | awk -v names="$*" '
		BEGIN { count = split(names, name, " ") }
		name[$1 + 1] == "-" { next }
		$7 != 0 { print "a command of " name[$1 + 1] " ended with " $7; code = 1 }
		{ wall[$1, ++seen[$1]] = $3 / 1000 }
		END {
			for (i = 0; !code && i < count; i++) {
				if (name[i + 1] == "-")
					continue
				n = seen[i]
				p50 = n % 2 ? wall[i, (n + 1) / 2] : (wall[i, n / 2] + wall[i, n / 2 + 1]) / 2
				if (i == 0)
					first = p50
				printf "%-12s %8.2f ms  %+7.2f ms  x %.2f\n", name[i + 1], p50, p50 - first, p50 / first
			}
			exit code
		}'
}

jobs_in_turn() {
	local run=(srun --immediate=30) pause=(bash -c 'until_true is_idle')
	export -f until_true is_idle
	bundle_of ours "$ours" && bundle_of crun "$crun" && bundle_of none "$(type -P true)" &&
		runtime=%r/runtime start || return
	until_true srun --immediate=30 true || return
	echo "a job of Slurm, $rounds rounds"
	"$build/bench/timer" turns "$rounds" "${run[@]}" /bin/true :: "${pause[@]}" :: \
		"${run[@]}" --container="$work/none" /bin/true :: "${pause[@]}" :: \
		"${run[@]}" --container="$work/ours" /bin/true :: "${pause[@]}" :: \
		"${run[@]}" --container="$work/crun" /bin/true :: "${pause[@]}" |
		medians plain - none - hutch-oci - crun -
}

podman_in_turn() {
	local podman=(podman --log-level error --storage-driver vfs --root "$work/podman" --runroot "$work/runroot"
		--tmpdir "$work/tmp" --cgroup-manager cgroupfs --events-backend file)
	local run=(run --rm --network none --ulimit nofile=512:512 --ulimit nproc=4096:4096 localhost/small:1 true)
	"$here/../image.py" "$(command -v busybox)" localhost/small:1 /bin/sh >"$work/image.tar" &&
		"${podman[@]}" load -q -i "$work/image.tar" >/dev/null || return
	echo "podman run, $rounds rounds"
	"$build/bench/timer" turns "$rounds" "${podman[@]}" --runtime "$crun" "${run[@]}" :: \
		"${podman[@]}" --runtime "$ours" "${run[@]}" | medians crun hutch-oci
}

if [ "${1:-}" = inside ]; then
	rounds=$2
	jobs_in_turn && podman_in_turn
	exit
fi
needs_root
needs slurmctld slurmctld
needs podman podman
needs crun crun
needs busybox busybox-static
[ -x "$build/bench/timer" ] || give_up "$build/bench/timer is not built: run make bench-programs"
ours=$(program_path "${RUNTIME:-$build/libexec/hutch-oci}") && crun=$(program_path crun) || give_up "a runtime is missing"
work_new
export work ours crun BUILD="$build" LOGS="$logs"
apart unshare --net "$0" inside "${1:-40}"
