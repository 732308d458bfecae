#!/bin/bash
# commands.sh: jobs in containers and what each must print.  run.sh starts it within `apart`, with $work
# and $runtime.  Prints TAP.
set -u
engines=$(cd "$(dirname "$0")/.." && pwd)
. "$engines/expect.sh"
. "$engines/slurm/daemons.sh"

job() {
	timeout $PATIENCE srun --immediate=30 "$@"
}

inside() {
	job --container="$bundle" /bin/sh -c "$@"
}

# by_user COMMAND...: runs a client of Slurm as an ordinary user.
by_user() {
	as_user env SLURM_CONF="$SLURM_CONF" timeout $PATIENCE "$@"
}

by_user_inside() {
	by_user srun --immediate=30 --container="$bundle" /bin/sh -c "$@"
}

# left PATTERN: the number of processes with that command line, and of all containers and bundles.
left() {
	echo $(($(pgrep -fc "$1") + $(find "$containers" "$bundles" -mindepth 2 | wc -l)))
}

bundle=$work/bundle
bundle_new
start
ends 0 "slurmd takes jobs" job true
prints 'hello from inside' "srun --container runs a command in a bundle" inside 'echo hello from $(hostname)'
ends 7 "srun --container ends with the command's exit code" inside 'exit 7'
prints 'job [0-9]*' "the container has the variables of its job" inside 'echo job $SLURM_JOB_ID'
prints 'one two' "the container has srun's arguments" inside 'echo $1 $2' - one two
prints through "the container reads srun's input" \
	eval "echo through | timeout $PATIENCE srun --container='$bundle' /bin/cat"
prints 1 "the container has pids of its own" inside 'echo $$'
prints 'hello from inside' "sbatch --container runs its script in a bundle" eval "
	timeout $PATIENCE sbatch --wait -o '$work/batch' --container='$bundle' --wrap='echo hello from \$(hostname)' >&2
	cat '$work/batch'; grep hello '$work/batch'"
prints "*Killed*" "scancel --signal=KILL ends a container" eval "
	job --job-name=long --container='$bundle' /bin/sh -c 'touch /started; exec sleep 1000' & job=\$!
	until [ -e '$bundle/rootfs/started' ]; do kill -0 \$job || break; done
	scancel --signal=KILL --name=long; wait \$job
	until_true is_idle"
prints 0 "no process of that container is left" eval "pgrep -fc '^sleep 1000'"
prints "terminated" "scancel's SIGTERM comes to the command in the container" eval "
	job --job-name=asked --container='$bundle' /bin/sh -c \
		'trap \"echo terminated; exit\" TERM; touch /waiting; sleep 1000 & wait' >'$work/asked' 2>/dev/null & job=\$!
	until [ -e '$bundle/rootfs/waiting' ]; do kill -0 \$job || break; done
	scancel --name=asked; wait \$job
	until_true is_idle; cat '$work/asked'"
# The runtime has not deleted the container, and Slurm asks for it by the other commands of oci.conf.
prints 0 "a container whose runtime was killed is deleted by Slurm" eval "
	job --job-name=lost --container='$bundle' /bin/sh -c 'touch /running; exec sleep 1001' & job=\$!
	until [ -e '$bundle/rootfs/running' ]; do kill -0 \$job || break; done
	pkill -KILL -f '^$runtime .* run '; wait \$job
	until_true is_idle
	echo \$((\$(pgrep -fc '^sleep 1001') + \$(ls -d '$containers'/*/* 2>/dev/null | wc -l)))"
# The rest is of jobs of an ordinary user, whose runtime keeps its state in a folder of that user's.
# Slurm waits a minute for the end of a job's output, so the command that is left has none.
bundle=$work/bundle.user
as_user mkdir -p "$work/run" && bundle_new "$(as_user id -u)"
prints 'uid 0 by [1-9]*' "an ordinary user's job runs in a bundle" \
	by_user_inside 'echo uid $(id -u) by $SLURM_JOB_UID'
ends 7 "an ordinary user's job ends with the command's exit code" by_user_inside 'exit 7'
prints 0 "an ordinary user's container whose runtime was killed is deleted by Slurm" eval "
	by_user_inside 'touch /running; exec sleep 1002 >/dev/null 2>&1 </dev/null' & job=\$!
	until [ -e '$bundle/rootfs/running' ]; do kill -0 \$job || break; done
	pkill -KILL -f '^$runtime .* run '; wait \$job
	until_true is_idle; left '^sleep 1002'"
# Slurm sends SIGTERM, which the first process of a pid namespace does not get (pid_namespaces(7)),
# and then SIGKILL.
prints 0 "nothing is left of an ordinary user's job that passes its time limit" eval "
	by_user_inside 'touch /late; exec sleep 1003' & job=\$!
	until [ -e '$bundle/rootfs/late' ]; do kill -0 \$job || break; done
	scontrol update jobid=\$(squeue -h -o %A) endtime=now+5; wait \$job
	until_true is_idle; left '^sleep 1003'"
prints 0 "no container is left in the runtime's folder" eval "ls -d '$containers'/*/* 2>/dev/null | wc -l"
prints 0 "no bundle of a job is left in Slurm's folders" eval "ls -d '$bundles'/* '$work'/spool/oci-job* 2>/dev/null | wc -l"
prints 0 "no cgroup of a container is left" eval "find /sys/fs/cgroup -type d -path '*hutch-oci/*' -o -type d -path '*/crun-*' | wc -l"
echo "1..$count"
