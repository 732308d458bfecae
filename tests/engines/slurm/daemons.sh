# daemons.sh: munged, slurmctld and slurmd on one node of one's own; it is sourced by a script that runs
# within `apart`, in a network of its own, and has $work and $runtime.
#
# shellcheck shell=bash disable=SC2154 # work, runtime, bundle: from the sourcing script
containers=/run/containers bundles=/run/bundles

# bundle_new [UID]: makes $bundle.  With an id it is that ordinary user's, and has a user namespace.
# Slurm puts the command of a job in place of the bundle's.
bundle_new() {
	local gid
	mkdir -p "$bundle/rootfs/bin" "$bundle/rootfs/proc" "$bundle/rootfs/dev" "$bundle/rootfs/tmp"
	cp "$(command -v busybox)" "$bundle/rootfs/bin"
	busybox --list | grep -v '^busybox$' | while read -r name; do
		ln -s busybox "$bundle/rootfs/bin/$name"
	done
	[ -z "${1:-}" ] || { chown -R "$1" "$bundle" && gid=$(id -g "$1"); } || return
	jq -n --argjson uid "${1:-null}" --argjson gid "${gid:-null}" '{
		ociVersion: "1.0.0", root: { path: "rootfs" }, hostname: "inside",
		process: { user: { uid: 0, gid: 0 }, cwd: "/", env: ["PATH=/bin"], args: ["/bin/sh"] },
		mounts: [ { destination: "/proc", type: "proc", source: "proc" },
			{ destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["mode=755"] } ],
		linux: { namespaces: [ { type: "pid" }, { type: "mount" }, { type: "ipc" }, { type: "uts" } ] } }
		| if $uid then .linux.namespaces += [ { type: "user" } ]
			| .linux.uidMappings = [ { containerID: 0, hostID: $uid, size: 1 } ]
			| .linux.gidMappings = [ { containerID: 0, hostID: $gid, size: 1 } ] else . end' \
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

# Slurm gives the commands to a shell, which `exec` replaces: a signal ends only the processes of the
# step, and the shell would be the one to end.  The bundles that Slurm makes and the runtime's state are
# in memory: Slurm calls fsync(2) for each bundle, and a folder on a disk may wait for the journal.  An
# environment file would stay behind: Slurm 22.05 does not remove it, and so not the bundle's folder.
#
# Slurm runs the first command as the user of the job, and the other three as root, which has to become
# that user: the files of the state say which hooks run.
oci_config() {
	local id=%n.%u.%j.%s.%t program="$runtime --root $containers/%u"
	local as="exec runuser -u %u --"
	cat <<-X
		ContainerPath="$bundles/job.%n.%j.%s"
		RunTimeRun="exec $program run --bundle %b $id"
		RunTimeQuery="$as $program state $id"
		RunTimeKill="$as $program kill $id KILL"
		RunTimeDelete="$as $program delete --force $id"
	X
}

# Slurm cleans up after a job has ended for srun.
is_idle() {
	[ -z "$(squeue -h)" ] && ! pgrep -x slurmstepd
}

start() {
	export SLURM_CONF=$work/slurm.conf
	mkdir -p "$work/state" "$work/spool" "$work/munge" "$containers" "$bundles"
	chmod 1777 "$containers"
	head -c 1024 /dev/urandom >"$work/munge/key" && chmod 400 "$work/munge/key"
	chown -R munge: "$work/munge"
	slurm_config >"$SLURM_CONF" && oci_config >"$work/oci.conf"
	# getaddrinfo(3) takes a host without an address beside 127.0.0.1 for one without IPv4.
	ip link set lo up && ip address add 10.99.0.1/32 dev lo
	setpriv --reuid munge --regid munge --init-groups munged --key-file "$work/munge/key" \
		--socket "$work/munge/socket" --pid-file "$work/munge/pid" --log-file "$work/munge/log" \
		--seed-file "$work/munge/seed" && slurmctld && slurmd
}
