#!/usr/bin/env bats
# Tests of -u, --cap-add and --cap-drop, and of the user of the host that a sandbox runs for.

load helpers

setup() {
	begin
}

teardown() {
	end
}

caps() {
	box "$@" grep ^CapEff /proc/self/status | cut -f2
}

@test "-u agent, 1000 and 1000:1000 are the same" {
	for user in agent 1000 1000:1000 agent:agent; do
		inside -u "$user" id -u
		[ "$output" = 1000 ]
	done
}

@test "-u root is id 0 with its home, and with few capabilities" {
	inside -u root sh -c 'id; echo $HOME $USER $LOGNAME; touch ~/x && echo made'
	[ "${lines[*]}" = "uid=0(root) gid=0(root) groups=0(root) /root root root made" ]
	# The mask has CHOWN DAC_OVERRIDE FOWNER FSETID SETGID SETUID.
	[ "$(caps -u root)" = 00000000000000db ]
}

@test "-u root stands for the same id of the host as agent does" {
	room w
	box -u root -v "$T/w:/w" touch /w/file
	[ "$(stat -c %u w/file)" -eq "$who" ]
}

@test "-u with any number is the one id that is mapped, and stands for the caller" {
	room w
	inside -u 10001:7 -v "$T/w:/w" sh -c 'id; whoami; echo $HOME $USER; touch /w/file; cat /proc/self/uid_map'
	[ "${lines[0]}" = 'uid=10001(10001) gid=7(7) groups=7(7)' ]
	[[ ${lines[*]:1:2} == '10001 /tmp 10001' ]]
	[[ ${lines[3]} =~ ^\ *10001\ +"$who"\ +1$ ]]
	[ "$(stat -c %u w/file)" -eq "$who" ]
	[ "$(caps -u 10001)" = 0000000000000000 ]
	inside -u nobody id -u
	[ "$output" = 65534 ]
	inside -u 0:1000 id
	[ "$output" = 'uid=0(root) gid=1000(agent) groups=1000(agent)' ]
}

@test "-u NAME=UID is a user of that name with a home" {
	inside -u openhands=1000 sh -c 'id; whoami; echo $HOME $USER; touch ~/x && ls -ld ~ | cut -d" " -f3'
	[ "${lines[0]}" = 'uid=1000(openhands) gid=1000(openhands) groups=1000(openhands)' ]
	[[ ${lines[*]:1} == 'openhands /home/openhands openhands openhands' ]]
	inside -u build_er-2=12345:7 sh -c 'id; echo $HOME'
	[ "${lines[0]}" = 'uid=12345(build_er-2) gid=7(build_er-2) groups=7(build_er-2)' ]
	[ "${lines[1]}" = /home/build_er-2 ]
	[ "$(caps -u openhands=1000)" = 0000000000000000 ]
	for user in a= a=x a=1: a=2147483648; do
		refuses '-u takes NAME=UID.*, numbers up to' -u "$user" true
	done
	for user in =1 A=1 a:b=1 'a b=1' 1bob=5; do
		refuses "-u takes NAME=UID.* begins with a letter or '_'" -u "$user" true
	done
}

@test "-u NAME=UID gives no other ids to a name that hutch itself defines" {
	for user in root=5 root=0:5 agent=5 agent=1000:5 nobody=5; do
		refuses "-u $user: ${user%%=*} has the ids" -u "$user" true
	done
	for user in root=0 agent=1000 nobody=65534; do
		inside -u "$user" id -un
		[ "$output" = "${user%%=*}" ]
	done
}

@test "exec knows the user of -u NAME=UID by name and by number" {
	hutch create -u openhands=1000 box >/dev/null
	for user in openhands 1000 1000:1000; do
		[ "$("$HUTCH" exec -u "$user" box whoami)" = openhands ]
	done
	hutch exec -u openhands=1000 box true
	[ "$status" = 125 ]
	hutch exec -u root box true
	[ "$status" = 125 ]
	"$HUTCH" rm -f box
}

@test "-u with a name that is no user, or no number that can be one, is refused" {
	for user in ghost '' 2147483648 -1 1000: :1000 0x0 '1000 ' 99999999999999999999; do
		refuses '-u takes agent, root or a number' -u "$user" true
		[[ $stderr == *'NAME=UID, such as bob=1001, adds a user'* ]]
	done
}

@test "a folder that the user of the sandbox may not reach is an error that names the user" {
	mkdir -p shut/folder
	give shut
	chmod 0 shut
	refuses 'mount shut/folder: Permission denied' -v shut/folder:/folder true
	[[ ${stderr_lines[1]} == "hutch: hint: user $(id -u "$who") may not enter a folder on the way"* ]]
	chmod 700 shut
}

@test "--cap-add gives agent a capability, in any spelling" {
	for cap in NET_RAW net_raw CAP_NET_RAW cap_net_raw; do
		[ "$(caps --cap-add "$cap")" = 0000000000002000 ]
	done
	[ "$(caps --cap-add NET_RAW --cap-add CHOWN)" = 0000000000002001 ]
}

@test "--cap-add of a capability does what it says, inside only" {
	read_it=(sh -c 'echo kept >f; chmod 000 f; cat f')
	inside --cap-add DAC_OVERRIDE "${read_it[@]}"
	[ "$output" = kept ]
	inside "${read_it[@]}"
	[[ $stderr == *"Permission denied"* ]]
}

@test "--cap-drop takes one from root, ALL takes all, and --cap-add adds to what is left" {
	[ "$(caps -u root --cap-drop CHOWN)" = 00000000000000da ]
	[ "$(caps -u root --cap-drop ALL)" = 0000000000000000 ]
	[ "$(caps -u root --cap-drop all --cap-add KILL)" = 0000000000000020 ]
	inside -u root --cap-drop ALL grep ^CapBnd /proc/self/status
	[ "$output" = $'CapBnd:\t0000000000000000' ]
}

@test "capabilities that would reach the executor, ALL and unknown ones are refused" {
	for cap in SYS_PTRACE SYS_ADMIN SYS_RESOURCE SYS_NICE; do
		refuses "--cap-add $cap is refused" --cap-add "$cap" true
	done
	refuses '--cap-add ALL is refused' --cap-add ALL true
	refuses "--cap-add: unknown capability 'NOPE'" --cap-add NOPE true
	refuses "--cap-drop: unknown capability ''" --cap-drop '' true
}

@test "the executor keeps nothing that it does not hand on" {
	start sleep 1000
	until_true executor_is_there
	grep -x $'CapEff:\t0000000000000000' "/proc/$executor/status"
	grep -x $'CapBnd:\t0000000000000000' "/proc/$executor/status"
}

executor_is_there() {
	executor=$(ps --ppid "$pid" -o pid= -o args= | awk '/hutch-executor/ {print $1}')
	[[ -n $executor ]]
}

@test "root's sandbox stands for SUDO_UID" {
	is_root || skip "needs root"
	mkdir w
	chown 4321:4322 w
	SUDO_UID=4321 SUDO_GID=4322 inside -v "$T/w:/w" touch /w/file
	[ "$(stat -c %u:%g w/file)" = 4321:4322 ]
}

@test "root's sandbox stands for the owner of the workspace" {
	is_root || skip "needs root"
	mkdir w
	chown 4321:4322 w
	inside --workspace "$T/w" touch file
	[ "$(stat -c %u:%g w/file)" = 4321:4322 ]
}

@test "the sandbox of root stands for user 65534 by default, and never for root" {
	is_root || skip "needs root"
	mkdir w
	for uid in '' 0 -1 x 4294967295 4294967296; do
		SUDO_UID=$uid SUDO_GID=0 inside --workspace "$T/w" cat /proc/self/uid_map /proc/self/gid_map
		[ "$(awk '{print $2}' <<<"$output" | xargs)" = "65534 65534" ]
	done
}

@test "root's sandbox has none of root's groups and hutch itself is root no longer" {
	is_root || skip "needs root"
	start sleep 1000
	until_true executor_is_there
	grep -x $'Uid:\t65534\t65534\t65534\t65534' "/proc/$pid/status"
	grep -x $'Groups:\t ' "/proc/$pid/status"
	grep -x $'CapPrm:\t0000000000000000' "/proc/$pid/status"
}

@test "a hutch that was made setuid refuses to work" {
	is_root || skip "needs root"
	cp -r "$HUTCH" "$BUILD/libexec" "$T/"
	chown 65534:65534 hutch
	chmod 6755 hutch
	HUTCH=$T/hutch refuses 'hutch must not be setuid' true
}

@test "core_pattern and other sysctls cannot be written by any user inside" {
	before=$(cat /proc/sys/kernel/core_pattern)
	for user in agent root; do
		inside -u "$user" sh -c 'for f in kernel/core_pattern kernel/modprobe vm/drop_caches \
			kernel/hostname kernel/msgmax fs/mqueue/msg_max; do
				v=$(cat /proc/sys/$f) && echo "$v" >/proc/sys/$f && echo $f; done
			echo b >/proc/sysrq-trigger && echo sysrq'
		[ -z "$output" ]
	done
	[ "$(cat /proc/sys/kernel/core_pattern)" = "$before" ]
}
