#!/bin/bash
# run.sh: Slurm's containers (srun --container, oci.conf) with a given runtime.
#
#	RUNTIME=/path/to/a/runtime tests/engines/slurm/run.sh
#
# RUNTIME (default: crun, runc and the newest runc) is the program to test.  Debian's munged, slurmctld
# and slurmd run on one node, with files and a network of their own.  Runs as root.  Prints TAP; all output is kept
# in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"

needs_root
needs munged munge
needs slurmctld slurmctld
needs slurmd slurmd
needs srun slurm-client
needs busybox busybox-static
needs runuser util-linux
export -f as_user
version=$(slurmctld -V)
version=${version##* }
for program in $(references); do
	runtime=$(program_path "$program") || give_up "$program is not installed"
	name=$(program_name "$runtime")
	log=$logs/slurm-$name.log
	work_new
	export work runtime
	apart unshare --net timeout -k 5 600 "$engines/slurm/commands.sh" >"$log" 2>"$log.err" </dev/null
	cp "$work"/*.log "$logs"
	counted "slurm $version commands" "$name" "$(tally "$log")"
	sed -n "s/^not ok [0-9]* - /# $name, not: /p" "$log"
	work_end
done
plan
