#!/bin/bash
# commands.sh: jobs in containers and what each must print.  run.sh starts it within `apart`, with $work
# and $runtime.  Prints TAP.
set -u
engines=$(cd "$(dirname "$0")/.." && pwd)
. "$engines/expect.sh"

# Slurm puts the command of a job in place of the bundle's.
bundle_new() {
	mkdir -p "$bundle/rootfs/bin" "$bundle/rootfs/proc" "$bundle/rootfs/dev" "$bundle/rootfs/tmp"
	cp "$(command -v busybox)" "$bundle/rootfs/bin"
	busybox --list | grep -v '^busybox$' | while read -r name; do
		ln -s busybox "$bundle/rootfs/bin/$name"
	done
	jq -n '{
		ociVersion: "1.0.0", root: { path: "rootfs" }, hostname: "inside",
		process: { user: { uid: 0, gid: 0 }, cwd: "/", env: ["PATH=/bin"], args: ["/bin/sh"] },
		mounts: [ { destination: "/proc", type: "proc", source: "proc" },
			{ destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["mode=755"] } ],
		linux: { namespaces: [ { type: "pid" }, { type: "mount" }, { type: "ipc" }, { type: "uts" } ] } }' \
		>"$bundle/config.json"
}

slurm_config() {
	local host
	host=$(hostname -s)
	cat <<-X
		ClusterName=engines
		SlurmctldHost=$host(127.0.0.1)
		AuthType=auth/munge
		AuthInfo=socket=$work/munge/socket
		SlurmUser=root
		SlurmctldPort=36817
		SlurmdPort=36818
		StateSaveLocation=$work/state
		SlurmdSpoolDir=$work/spool
		SlurmctldPidFile=$work/slurmctld.pid
		SlurmdPidFile=$work/slurmd.pid
		SlurmctldLogFile=$work/slurmctld.log
		SlurmdLogFile=$work/slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		ReturnToService=2
		MpiDefault=none
		NodeName=$host NodeAddr=127.0.0.1 CPUs=2
		PartitionName=all Nodes=$host Default=YES State=UP
	X
}

# Slurm gives RunTimeRun to a shell, which `exec` replaces: a signal ends only the processes of the
# step, and the shell would be the one to end.
oci_config() {
	local id=%n.%u.%j.%s.%t
	cat <<-X
		CreateEnvFile=true
		RunTimeRun="exec $runtime --root $work/containers run --bundle %b $id"
		RunTimeQuery="$runtime --root $work/containers state $id"
		RunTimeKill="$runtime --root $work/containers kill $id KILL"
		RunTimeDelete="$runtime --root $work/containers delete --force $id"
	X
}

start() {
	export SLURM_CONF=$work/slurm.conf
	mkdir -p "$work/state" "$work/spool" "$work/munge" "$work/containers"
	head -c 1024 /dev/urandom >"$work/munge/key" && chmod 400 "$work/munge/key"
	chown -R munge: "$work/munge"
	slurm_config >"$SLURM_CONF" && oci_config >"$work/oci.conf"
	# getaddrinfo(3) takes a host without an address beside 127.0.0.1 for one without IPv4.
	ip link set lo up && ip address add 10.99.0.1/32 dev lo
	setpriv --reuid munge --regid munge --init-groups munged --key-file "$work/munge/key" \
		--socket "$work/munge/socket" --pid-file "$work/munge/pid" --log-file "$work/munge/log" \
		--seed-file "$work/munge/seed" && slurmctld && slurmd
}

job() {
	timeout $PATIENCE srun --immediate=30 "$@"
}

is_idle() {
	[ -z "$(squeue -h)" ]
}

inside() {
	job --container="$bundle" /bin/sh -c "$@"
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
prints 0 "no container is left in the runtime's folder" eval "ls '$work/containers' | wc -l"
echo "1..$count"
