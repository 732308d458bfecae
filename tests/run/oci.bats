#!/usr/bin/env bats
# Tests of `hutch oci`, an OCI runtime: verbs, errors, hooks, descriptors and hostile bundles.

load oci

status_of() {
	oci state box | jq -r .status
}

@test "run has the command's output and exit code, and leaves nothing" {
	runs 'echo out; echo err >&2; exit 7'
	((status == 7))
	[[ $output == out && $stderr == err ]]
	[[ $(oci list -q) == "" ]]
	created
	oci start box
	# shellcheck disable=SC2016 # of the shell inside
	run -137 oci exec box sh -c 'kill -9 $$'
}

@test "a hutch that is found as hutch-oci is the runtime, and so is hutch oci" {
	ln -s "$HUTCH" hutch-oci
	[[ $(./hutch-oci --version | head -n 1) == "hutch-oci version "* ]]
	[[ $("$HUTCH" oci --version | sed -n 3p) == "spec: 1.3.0" ]]
	[[ $("$HUTCH" oci --version | sed -n 4p) == "+SYSTEMD "* ]]
	"$HUTCH" oci features | jq -e '.ociVersionMax == "1.3.0" and .linux.seccomp.enabled and .linux.cgroup.rdma and
		.potentiallyUnsafeConfigAnnotations == ["run.oci.keep_original_groups"]'
}

@test "a container goes from created to running to stopped, with no process of hutch's beside it" {
	created
	[[ $(status_of) == created ]]
	pid=$(oci state box | jq .pid)
	[[ $(<"/proc/$pid/comm") != sleep ]]
	oci start box
	[[ $(<"/proc/$pid/comm") == sleep ]]
	[[ $(status_of) == running ]]
	run -1 oci start box
	[[ $output == *"it is running, not created"* ]]
	run -1 oci delete box
	oci kill box KILL
	gone "$pid"
	[[ $(status_of) == stopped ]]
	run -1 oci kill box TERM
	[[ $output == *"container not running"* ]]
	oci delete box
	run -1 oci state box
	[[ $output == *"container 'box' does not exist"* ]]
}

@test "the pid file and the state name the same process" {
	bundle '.process.args = ["sleep", "1000"]'
	oci create --pid-file pid box </dev/null >out 2>&1
	[[ $(<pid) == "$(oci state box | jq .pid)" ]]
	oci list --format json | jq -e '.[0].id == "box" and .[0].status == "created"'
}

@test "each verb prints its usage, and a word that is nearly right is named" {
	local verb
	bundle
	for verb in $(oci --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
		[[ $verb == checkpoint || $verb == restore ]] || [[ $(oci "$verb" --help) == "hutch oci $verb"* ]]
	done
	[[ $(oci exec -h) == *"--cwd PATH "* ]]
	run -1 oci strat box
	[[ $output == *"unknown verb 'strat'; is it start?"* ]]
	run -1 oci run --bundel x box
	[[ $output == *"unknown flag --bundel; is it --bundle?"* ]]
	run -1 oci exec none true --help
	[[ $output == *"does not exist"* ]]
}

@test "a folder without a config.json and an unknown form of the log are errors that say the fix" {
	bundle
	mkdir empty
	run -1 oci run --bundle empty box
	[[ $output == *"/empty/config.json: No such file or directory (--bundle DIR names the bundle's folder; hutch-oci spec writes a config.json)" ]]
	run -1 oci --log-format xml list
	[[ $output == *"--log-format: text or json was expected"* ]]
}

@test "errors go to the log as lines of JSON" {
	bundle
	run -1 oci --log log --log-format json state none
	jq -e '.level == "error" and (.msg | contains("does not exist")) and (.time | test("Z$"))' log
}

@test "a container whose folder another process removes at the same time counts as deleted" {
	created ".hooks.poststop = [{path: \"$(command -v rm)\", args: [\"rm\", \"-r\", \"$T/state/box\"]}]"
	oci delete box
	[[ ! -e state/box ]]
}

@test "ids that leave the state folder are refused" {
	bundle
	for id in ../x . .. a/b '' .x "$(printf 'a\nb')"; do
		run -1 oci create "$id"
		[[ $output == *"invalid container id"* ]]
	done
}

@test "delete --regex removes all containers that match, and warns of each that it cannot remove" {
	local id
	bundle '.process.args = ["sleep", "1000"]'
	for id in test-1 test-22 other atest-; do
		oci create "$id" </dev/null >out 2>&1
	done
	oci start test-22
	run -0 oci delete --regex '^test-[0-9]+$'
	[[ $output == *"cannot delete container 'test-22': it is running"* ]]
	[[ $(oci list -q) == $'atest-\nother\ntest-22' ]]
	run -0 oci delete --regex none
	run -0 oci delete -f -r 'test-*'
	[[ -z $output && $(oci list -q) == other ]]
	run -1 oci delete --regex '('
	[[ $output == *"invalid regular expression '('"* ]]
	run -1 oci delete 'o*'
	[[ $output == *"invalid container id 'o*'"* ]]
	oci delete -f -r .
	[[ -z $(oci list -q) ]]
}

@test "letters of flags share a word, of which the last may take a value" {
	created
	oci start box
	[[ $(oci exec -eA=1 box sh -c 'echo $A') == 1 ]]
	[[ $(oci exec -u=0 box id -u) == 0 ]]
	run -1 oci delete -fx box
	[[ $output == *"unknown flag -fx"* ]]
	run -1 oci delete -f=maybe box
	[[ $output == *"-f=maybe: true or false was expected"* ]]
	run -0 oci delete -rf=false box
	[[ $output == *"it is running"* ]]
	[[ $(oci list -q) == box ]]
	run -0 oci delete -fr 'b.x'
	[[ -z $output && -z $(oci list -q) ]]
}

@test "an id is given once" {
	created
	run -1 oci create box
	[[ $output == *"already exists"* ]]
	[[ $(status_of) == created ]]
}

@test "exec enters the container's namespaces, environment and folder, and has the exit code" {
	created '.process.env += ["FROM=config"]'
	oci start box
	[[ $(oci exec --env MORE=1 --cwd /etc box sh -c 'echo $FROM $MORE; readlink /proc/self/cwd') == "config 1"*/etc ]]
	for name in mnt pid uts ipc; do
		[[ $(oci exec box readlink "/proc/self/ns/$name") == "$(oci exec box readlink "/proc/1/ns/$name")" ]]
		[[ $(oci exec box readlink "/proc/1/ns/$name") != "$(readlink "/proc/self/ns/$name")" ]]
	done
	run -9 oci exec box sh -c 'exit 9'
	run -1 oci exec box nosuchcommand
	[[ $output == *"executable file 'nosuchcommand' not found in \$PATH"* ]]
}

@test "exec takes a process from a file" {
	created
	oci start box
	jq '.process | .args = ["sh", "-c", "umask"] | .user.umask = 23' config.json >process.json
	[[ $(oci exec --process process.json box) == 0027 ]]
}

@test "a command that does not exist is the error of create, in the words that engines look for" {
	refused "executable file 'nosuch' not found in \$PATH" '.process.args = ["nosuch"]'
	refused "open executable '/nosuch': No such file or directory" '.process.args = ["/nosuch"]'
	refused "open executable '/etc': permission denied" '.process.args = ["/etc"]'
}

@test "capabilities, no_new_privs, umask and limits are those of the bundle" {
	runs 'grep -E "^(Cap|NoNew)" /proc/self/status; umask; ulimit -n' '.process.user.umask = 63'
	((status == 0))
	for set in CapPrm CapEff CapBnd; do
		[[ $output == *"$set:	0000000020000420"* ]]
	done
	[[ $output == *"CapInh:	0000000000000000"* && $output == *"CapAmb:	0000000000000000"* ]]
	[[ $output == *"NoNewPrivs:	1"* && $output == *0077* && $output == *1024 ]]
}

@test "an unknown capability is passed over with a warning, as in the bundle so for exec" {
	runs 'grep CapEff /proc/self/status' '.process.capabilities |= map_values(. + ["CAP_MOON"])'
	[[ $output == *0000000020000420 && $stderr == *"process.capabilities: passed over, since unknown: 'CAP_MOON'"* ]]
	created
	oci start box
	jq '.process | .args = ["true"] | .capabilities.bounding += ["CAP_MOON"]' config.json >process.json
	for flags in "--cap CAP_MOON box true" "--process process.json box"; do
		catch oci exec $flags
		[[ $status == 0 && $stderr == *"passed over, since unknown: 'CAP_MOON'"* ]]
	done
}

@test "the command has the umask of the caller unless the bundle has one" {
	umask 027
	runs 'umask; touch /x; ls -l /x | cut -c1-10'
	[[ $output == $'0027\n-rw-r-----' ]]
}

@test "--no-pivot makes a root, too" {
	bundle '.process.args = ["ls", "/"]'
	catch oci run --no-pivot box
	[[ $output == *bin* && $output != *home* ]]
}

@test "a container joins the namespaces of another one by their paths" {
	created
	oci start box
	pid=$(oci state box | jq .pid)
	bundle ".process.args = [\"sh\", \"-c\", \"readlink /proc/self/ns/net; readlink /proc/self/ns/ipc\"] |
		.linux.namespaces |= map(if .type == \"network\" then .path = \"/proc/$pid/ns/net\" elif .type == \"ipc\" then .path = \"/proc/$pid/ns/ipc\" elif .type == \"user\" then .path = \"/proc/$pid/ns/user\" else . end) |
		del(.linux.uidMappings) | del(.linux.gidMappings)"
	theirs="$(readlink "/proc/$pid/ns/net")"$'\n'"$(readlink "/proc/$pid/ns/ipc")"
	catch oci run second
	[[ $output == "$theirs" ]]
}

@test "the score for the lack of memory is set, also in a user namespace, and a listed ptmx does no harm" {
	runs 'cat /proc/self/oom_score_adj; readlink /dev/ptmx' '.process.oomScoreAdj = 321 | .linux.devices = [{path: "/dev/ptmx", type: "c", major: 5, minor: 2}]'
	[[ $output == $'321\npts/ptmx' ]]
	created '.process.oomScoreAdj = 322'
	oci start box
	jq '.process | .args = ["cat", "/proc/self/oom_score_adj"] | .oomScoreAdj = 333' config.json >process.json
	[[ $(oci exec --process process.json box) == 333 ]]
}

@test "the caller's groups stay where the annotation of podman's keep-groups asks for them" {
	local show='["grep", "^Groups", "/proc/self/status"]'
	is_root || skip "other groups take root of the host"
	bundle ".process.args = $show"
	[[ $(setpriv --groups 5,6 "$OCI" --root "$T/state" run box) != *6* ]]
	bundle ".process.args = $show | .process.user.additionalGids = [8] | .annotations = {\"run.oci.keep_original_groups\": \"1\"}"
	[[ $(setpriv --groups 5,6 "$OCI" --root "$T/state" run box) == *$'\t5 6'* ]]
	created '.annotations = {"run.oci.keep_original_groups": "1"}'
	oci start box
	jq ".process | .args = $show | .user.additionalGids = [8]" config.json >process.json
	[[ $(setpriv --groups 5,6 "$OCI" --root "$T/state" exec --process process.json box) == *$'\t5 6'* ]]
}

@test "a time namespace has the offsets of the bundle" {
	is_root || skip "a time namespace with offsets takes root of the host"
	runs 'cut -d. -f1 /proc/uptime; cat /proc/self/timens_offsets' '.linux.namespaces += [{type: "time"}] | .linux.timeOffsets = {boottime: {secs: 1000000}, monotonic: {secs: 7, nanosecs: 8}}'
	[[ ${lines[0]} -ge 1000000 ]]
	[[ $output == *monotonic*7*8* ]]
	refused 'unknown clock' '.linux.namespaces += [{type: "time"}] | .linux.timeOffsets = {moon: {secs: 1}}'
	refused 'they take a new time namespace' '.linux.timeOffsets = {boottime: {secs: 1}}'
}

@test "a bind may show files with other owners, also to a container with a user namespace" {
	is_root || skip "id-mapped mounts take root of the host"
	bundle
	mkdir data && touch data/file && chown 5000:5000 data/file
	mapped='.mounts += [{destination: "/data", type: "bind", source: "'$T'/data", options: ["rbind", "idmap"]}] | .process.args = ["sh", "-c", "ls -ln /data/file | tr -s \" \" | cut -d\" \" -f3,4"]'
	ln -s busybox rootfs/bin/tr
	maps='[{containerID: 5000, hostID: 0, size: 65536}]'
	bundle "$mapped | .mounts[-1].uidMappings = $maps | .mounts[-1].gidMappings = $maps"
	catch oci run box
	[[ $output == "0 0" ]]
	chown -hR 100000:100000 rootfs
	chmod 711 "$T"
	maps='[{containerID: 0, hostID: 100000, size: 65536}]'
	bundle "$mapped | .linux.namespaces += [{type: \"user\"}] | .linux.uidMappings = $maps | .linux.gidMappings = $maps"
	catch oci run box
	[[ $output == "5000 5000" ]]
}

@test "a bind shows a file that root of a new or joined user namespace cannot reach outside" {
	is_root || skip "such a file takes root of the host"
	bundle
	mkdir -m 700 closed && mkdir closed/data && echo reached >closed/data/file
	chown -hR 100000:100000 rootfs
	chmod 711 "$T"
	maps='[{containerID: 0, hostID: 100000, size: 65536}]'
	bundle ".linux.namespaces += [{type: \"user\"}] | .linux.uidMappings = $maps | .linux.gidMappings = $maps
		| .mounts += [{destination: \"/data\", type: \"bind\", source: \"$T/closed/data\", options: [\"rbind\", \"ro\"]}]
		| .process.args = [\"sh\", \"-c\", \"cat /data/file; touch /data/new || echo refused\"]"
	catch oci run box
	[[ $output == $'reached\nrefused' ]]
	jq '.process.args = ["sleep", "1000"]' config.json >new && mv new config.json
	oci create box </dev/null >out 2>&1
	jq ".linux.namespaces[-1].path = \"/proc/$(oci state box | jq .pid)/ns/user\" | del(.linux.uidMappings, .linux.gidMappings)
		| .process.args = [\"cat\", \"/data/file\"]" config.json >new && mv new config.json
	[[ $(oci run second) == reached ]]
}

@test "a shared bind hands mounts on to the host, and no other mount leaves the container" {
	is_root || skip "a mount that is shared takes root of the host"
	bundle ".linux.rootfsPropagation = \"rshared\"
		| .process.capabilities |= map_values(. + [\"CAP_SYS_ADMIN\"])
		| .mounts += [{destination: \"/shared\", type: \"bind\", source: \"$T/shared\", options: [\"rbind\", \"rshared\"]}]
		| .process.args = [\"sh\", \"-c\", \"mount -t tmpfs inside /shared/mounted; mount -t tmpfs inside /bin\"]"
	mkdir -p shared/mounted shared/before
	# shellcheck disable=SC2016 # of the shell inside
	catch unshare -m --propagation private bash -c 'mount --bind shared shared && mount --make-shared shared && mount -t tmpfs outside shared/before
		"$0" --root state run box; echo $?; awk "/ - tmpfs (in|out)side / { print \$5 }" /proc/self/mountinfo' "$OCI"
	[[ $output == "0"$'\n'"$T/shared/before"$'\n'"$T/shared/mounted" ]]
}

@test "the root may be read-only, and masked and read-only paths hold against root inside" {
	runs 'touch /x 2>/dev/null && echo written; cat /proc/keys; echo 1 >/proc/sys/kernel/hostname' '.root.readonly = true'
	[[ $output == "" ]]
	[[ $stderr == *"Read-only file system"* ]]
}

@test "a seccomp profile of the bundle is the whole filter" {
	local block='{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 95}]}'
	runs '/bin/busybox mkdir /tmp2; grep Seccomp: /proc/self/status' ".linux.seccomp = $block"
	[[ $stderr == *"not supported"* ]]
	[[ $output == "Seccomp:	2" ]]
	refused 'unknown action' ".linux.seccomp = {\"defaultAction\": \"SCMP_ACT_NONE\"}"
	refused 'takes a listenerPath' ".linux.seccomp = {\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"mkdir\"], \"action\": \"SCMP_ACT_NOTIFY\"}]}"
}

@test "hooks run in their order, with the state on stdin, and their failure ends the container" {
	bundle '.process.args = ["true"]'
	# shellcheck disable=SC2016 # of the hook's shell
	printf '#!/bin/sh\necho "$1 $(sed "s/.*\\"status\\":\\"\\([a-z]*\\)\\".*/\\1/;q")" >>%s/hooks\n' "$T" >hook
	chmod +x hook
	hooks=$(for point in prestart createRuntime createContainer poststart poststop; do
		jq -n --arg p "$point" --arg h "$T/hook" '{($p): [{path: $h, args: ["hook", $p], env: ["PATH=/usr/bin:/bin"]}]}'
	done | jq -s add)
	jq ".hooks = $hooks" config.json >new && mv new config.json
	oci run box
	[[ $(cat hooks) == $'prestart created\ncreateRuntime created\ncreateContainer created\npoststart running\npoststop stopped' ]]
	jq '.hooks = {startContainer: [{path: "/bin/sh", args: ["sh", "-c", "env >/env"]}]}' config.json >new && mv new config.json
	HUTCH_SECRET=hush oci run box
	[[ $(<rootfs/env) != *hush* ]]
	jq 'del(.hooks)' config.json >new && mv new config.json
	refused 'createRuntime hook: /bin/false: exit status 1' '.hooks.createRuntime = [{"path": "/bin/false"}]'
	refused 'poststart hook: /bin/false: exit status 1' '.hooks.poststart = [{"path": "/bin/false"}]'
	bundle '.process.args = ["sleep", "1000"] | .hooks.poststart = [{"path": "/bin/false"}]'
	oci create box </dev/null >out 2>&1
	catch oci start box
	[[ $status == 1 && $(oci state box | jq -r .status) == stopped ]]
	oci delete box
	rm hooks
	bundle ".ociVersion = \"1.2.0\" | .process.args = [\"true\"] | .hooks.poststart = [{path: \"/bin/false\"}, {path: \"$T/hook\", args: [\"hook\", \"second\"]}]"
	catch oci run box
	[[ $status == 0 && $stderr == *"poststart hook: /bin/false: exit status 1"* && $(<hooks) == "second running" ]]
	refused 'startContainer hook' '.hooks.startContainer = [{"path": "/bin/nosuch"}]'
	refused 'not done after 1 s' '.hooks.prestart = [{"path": "/bin/sleep", "args": ["sleep", "1000"], "timeout": 1}]'
}

@test "only the descriptors that are named reach the command" {
	bundle '.process.args = ["sh", "-c", "ls /proc/self/fd | wc -l; cat <&4 || echo closed"]'
	printf kept >file
	[[ $(oci run --preserve-fds 2 box 3</dev/null 4<file) == *kept ]]
	[[ $(oci run box 3</dev/null 4<file 2>/dev/null) == *closed ]]
	[[ $(oci run --preserve-fds 9 box 3</dev/null 4<file) == *kept ]]
	run -1 oci run --preserve-fds 9999 box
	[[ $output == *"a number up to 1024"* ]]
}

@test "a terminal's master goes over the console socket" {
	bundle '.process.terminal = true | .process.consoleSize = {"height": 33, "width": 44} | .process.args = ["sh", "-c", "tty; stty size"]'
	run -1 oci create box
	[[ $output == *"takes --console-socket"* ]]
	command python3 -SE "$here/oci.py" console "$OCI" --root "$T/state" >master
	grep -q /dev/pts/0 master
	grep -q '33 44' master
}

@test "a folder of --root that another user could write to is refused by each verb" {
	local words
	bundle '.process.args = ["true"]'
	mkdir -m 777 open
	mkdir -m 700 mine
	ln -s mine link
	for words in list 'state box' 'create box' 'run box' 'delete --force box' 'kill box' 'start box'; do
		# shellcheck disable=SC2086 # several words
		run -1 "$OCI" --root "$T/open" $words
		[[ $output == *"--root $T/open: the folder is another user's, or others may write to it"* ]]
		# shellcheck disable=SC2086 # several words
		run -1 "$OCI" --root "$T/link" $words
	done
	"$OCI" --root "$T/mine" run box
	! is_root || chown 12345 mine
	! is_root || run -1 "$OCI" --root "$T/mine" list
}

@test "what a container tells by sd_notify reaches the service manager" {
	bundle '.process.args = ["sh", "-c", "echo x >$(dirname $NOTIFY_SOCKET)/made; exec /bin/notify"]'
	cp "$(tool oci_notify)" rootfs/bin/notify
	command python3 -SE "$here/oci.py" notify "$OCI" --root "$T/state" >told
	[[ $(cat told) == $'READY=1\nMAINPID='* ]]
	oci delete --force box
	[[ ! -e state/box ]]
}

@test "what a container with a user namespace tells by sd_notify reaches the service manager" {
	is_root || skip "ids that may not look into the state take root of the host"
	local maps='[{containerID: 0, hostID: 100000, size: 65536}]'
	bundle ".process.args = [\"/bin/notify\"] | .linux.namespaces += [{type: \"user\"}] | .linux.uidMappings = $maps | .linux.gidMappings = $maps"
	cp "$(tool oci_notify)" rootfs/bin/notify
	chown -hR 100000:100000 rootfs
	chmod 711 "$T"
	command python3 -SE "$here/oci.py" notify "$OCI" --root "$T/state" >told
	[[ $(cat told) == $'READY=1\nMAINPID='* ]]
}

@test "a seccomp listener goes to its agent with the state of the container" {
	bundle '.process.args = ["mkdir", "/x"] | .linux.seccomp = {defaultAction: "SCMP_ACT_ALLOW", listenerPath: "agent", listenerMetadata: "meta", syscalls: [{names: ["mkdir", "mkdirat"], action: "SCMP_ACT_NOTIFY"}]}'
	command python3 -SE "$here/oci.py" listener "$OCI" --root "$T/state" >told
	jq -e '.metadata == "meta" and .fds == ["seccompFd"] and .state.id == "box" and .pid == .state.pid' told
}

@test "mounts are made in order, below the root, whatever links the image has" {
	bundle
	mkdir -p outside data
	echo host >outside/file
	echo data >data/file
	ln -s "$T/outside" rootfs/link
	mkdir -p "rootfs$T/outside"
	ln -s ../../../../../../.. rootfs/up
	mounts="[{destination: \"/link/in\", type: \"bind\", source: \"$T/data\", options: [\"rbind\", \"ro\"]},
		{destination: \"/up/etc/x\", type: \"tmpfs\", source: \"t\", options: [\"size=1m\"]}]"
	jq ".mounts += $mounts | .process.args = [\"sh\", \"-c\", \"cat /link/in/file; touch /link/in/y; mount | grep -c /etc/x\"]" config.json >new
	mv new config.json
	catch oci run box
	[[ $output == $'data\n1' ]]
	[[ $stderr == *"Read-only"* ]]
	[[ $(ls outside) == file ]]
	[[ ! -e /etc/x ]]
}

@test "a tmpfs may begin with the files of the image, and no link leads the copy out" {
	bundle
	mkdir -p rootfs/full/deep
	echo inner >rootfs/full/deep/file
	chmod 640 rootfs/full/deep/file
	ln -s "$T/secret" rootfs/full/link
	echo secret >secret
	jq '.mounts += [{destination: "/full", type: "tmpfs", source: "t", options: ["tmpcopyup"]}] |
		.process.args = ["sh", "-c", "cat /full/deep/file; ls -l /full/deep/file | cut -c1-10; readlink /full/link; echo new >/full/deep/file; mount | grep -c \" /full \""]' config.json >new
	mv new config.json
	catch oci run box
	[[ $output == $'inner\n-rw-r-----\n'$T/secret$'\n1' ]]
	[[ $(<rootfs/full/deep/file) == inner && $(<secret) == secret ]]
}

@test "a cgroup with processes below it is not taken, since delete would kill them" {
	local root
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	mkdir -p "$root/hutch-$mark/below" 2>/dev/null || skip "this host has no cgroup of v2 to write to"
	sleep 1000 &
	started+=($!)
	echo $! >"$root/hutch-$mark/below/cgroup.procs"
	bundle ".linux.cgroupsPath = \"/hutch-$mark\" | .process.args = [\"true\"]"
	catch oci run box
	kill -0 "${started[0]}"
	kill -KILL "${started[0]}"
	wait "${started[0]}" || true
	rmdir "$root/hutch-$mark/below" "$root/hutch-$mark"
	[[ $status == 1 && $stderr == *"has processes already"* ]]
}

@test "the last of two variables of one name counts" {
	bundle '.process.args = ["env"] | .process.env = ["PATH=/bin", "HOME=/first", "WORD=here", "HOME=/last"]'
	catch oci run box
	[[ $(grep -c ^HOME= <<<"$output") == 1 && $output == *HOME=/last* && $output == *WORD=here* ]]
}

@test "words of mounts that would be lost are refused" {
	refused "unknown options 'moon'" ".mounts += [{destination: \"/m\", type: \"bind\", source: \"$T\", options: [\"rbind\", \"moon\"]}]"
	refused "unknown options 'size=1m'" '.mounts += [{destination: "/dev", options: ["remount", "size=1m"]}]'
	runs 'cat /m/file' ".mounts += [{destination: \"/m\", type: \"bind\", source: \"$T\", options: [\"rbind\", \"size=1m\"]}]"
	[[ $stderr == *"No such file"* ]]
	refused 'a bind takes a source' '.mounts += [{destination: "/m", type: "bind"}]'
	ln -s /etc rootfs/to
	refused 'is a link inside' ".mounts += [{destination: \"/to\", type: \"bind\", source: \"$T\", options: [\"dest-nofollow\"]}]"
}

@test "limits go to the controllers of either version of cgroups, or are refused by name" {
	bundle '.linux.resources.pids = {"limit": 77} | .linux.cgroupsPath = "/hutch-oci-test.'"$$"'/box" | .process.args = ["sleep", "1000"]'
	catch oci create box </dev/null
	if ((status)); then
		[[ $stderr == *linux.resources.pids.limit* ]]
		[[ ! -e state/box ]]
		no_cgroup
	fi
	[[ $(cat /sys/fs/cgroup/{,pids/}hutch-oci-test.$$/box/pids.max 2>/dev/null) == 77 ]]
	oci update --pids-limit 78 box
	[[ $(cat /sys/fs/cgroup/{,pids/}hutch-oci-test.$$/box/pids.max 2>/dev/null) == 78 ]]
	oci update -r - box <<<'{"memory":{"useHierarchy":false}}' 2>warned
	grep -q 'useHierarchy: false is passed over' warned
	oci delete --force box
	[[ ! -e /sys/fs/cgroup/pids/hutch-oci-test.$$/box && ! -e /sys/fs/cgroup/unified/hutch-oci-test.$$/box ]]
	rmdir /sys/fs/cgroup/{,*/}hutch-oci-test.$$ 2>/dev/null || true
}

@test "limits that cgroup version 1 alone has are set there, or are refused by name" {
	local path=/hutch-oci-test.$$/box row controller file value filter
	for row in 'memory memory.swappiness 7 .memory.swappiness=7' 'net_cls net_cls.classid 255 .network.classID=255' \
		'net_prio net_prio.ifpriomap 9 .network.priorities=[{name:"lo",priority:9}]' \
		'hugetlb hugetlb.2MB.limit_in_bytes 4194304 .hugepageLimits=[{pageSize:"2MB",limit:4194304}]'; do
		read -r controller file value filter <<<"$row"
		bundle ".linux.resources |= ($filter) | .linux.cgroupsPath = \"$path\" | .process.args = [\"sleep\", \"1000\"]"
		catch oci create box </dev/null
		if ((status)); then
			[[ $stderr == *linux.resources.* ]]
			[[ ! -e state/box ]]
			! is_root || [[ ! -e /sys/fs/cgroup/$controller ]]
			continue
		fi
		grep -qE "^(lo )?$value\$" "/sys/fs/cgroup/$controller$path/$file" ||
			grep -qx "$value" /sys/fs/cgroup/{,unified}"$path/hugetlb.2MB.max" 2>/dev/null
		oci delete --force box
		[[ ! -e /sys/fs/cgroup/$controller$path ]]
	done
	rmdir /sys/fs/cgroup/{,*/}hutch-oci-test.$$ 2>/dev/null || true
}

@test "a container sees its own cgroups below /sys/fs/cgroup, and no cgroup of its engine" {
	local seen='.linux.resources.pids = {"limit": 77} | .linux.namespaces -= [{"type": "cgroup"}] |
		.mounts |= map(select(.type != "cgroup" and .type != "cgroup2")) + [{destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup", options: ["nosuid", "noexec", "nodev", "ro"]}]'
	local script='cd /sys/fs/cgroup; cat pids/pids.max 2>/dev/null || cat pids.max; mkdir new 2>/dev/null && echo made; mkdir pids/new 2>/dev/null && echo made
		for part in memory cpuset; do [ ! -e $part ] || echo $part of the engine; done
		for part in . unified; do [ ! -e $part/cgroup.procs ] || cat $part/cgroup.procs; done | grep -c -x 0'
	local filter
	for filter in "$seen" "$seen | .linux.namespaces += [{\"type\": \"cgroup\"}]"; do
		runs "$script" "$filter"
		if ((status == 1)) && [[ $stderr == *linux.resources.pids.limit* ]]; then
			no_cgroup
		fi
		[[ $output == $'77\n0' ]]
	done
}

@test "a file of unified that cgroup version 2 lacks is refused by name, and why" {
	refused 'the specified key has not the form CONTROLLER.VALUE `moon`' '.linux.resources.unified = {"moon": "1"}'
	created
	[[ $(jq -r .cgroup state/box/state.json) == /* ]] || no_cgroup
	oci delete --force box
	refused 'unified.foo.bar: the requested cgroup controller `foo` is not available' \
		'.linux.resources.unified = {"foo.bar": "1"}'
	! is_root || [[ ! -e /sys/fs/cgroup/cgroup.controllers ]] || refused 'open memory.moon: No such file or directory' \
		'.linux.resources.unified = {"memory.moon": "1"}'
}

@test "two containers of one id below two roots have two cgroups, and one cgroup holds one container" {
	created
	[[ $(jq -r .cgroup state/box/state.json) == /* ]] || no_cgroup
	oci start box
	"$OCI" --root "$T/other" create box </dev/null >out 2>&1
	"$OCI" --root "$T/other" delete --force box
	[[ $(status_of) == running ]]
	path=$(jq -r .cgroup state/box/state.json)
	path=${path#/sys/fs/cgroup}
	bundle ".linux.cgroupsPath = \"${path#/unified}\""
	run -1 oci run second
	[[ $output == *"has processes already"* ]]
}

# mapped_bundle: makes a bundle whose files belong to the first id of $mapped, which is an edit of its
# config.json: a user namespace with ids of its own.
mapped_bundle() {
	local maps='[{containerID: 0, hostID: 100000, size: 65536}]'
	mapped=".linux.namespaces += [{type: \"user\"}] | .linux.uidMappings = $maps | .linux.gidMappings = $maps"
	bundle
	ln -s busybox rootfs/bin/stat
	chown -hR 100000:100000 rootfs
	chmod 711 "$T"
}

@test "a container with a user namespace has devices that the host lacks, with the owner and mode of the bundle" {
	is_root || skip "device files take root of the host"
	mapped_bundle
	runs 'stat -c "%u:%g %a %t:%T" /dev/own /dev/pipe /dev/other; head -c 3 /dev/own | wc -c; mknod /dev/more c 1 5 || echo none' "
		$mapped
		| .linux.devices = [{path: \"/dev/own\", type: \"c\", major: 1, minor: 5, uid: 10, gid: 11, fileMode: 438},
			{path: \"/dev/pipe\", type: \"p\", uid: 0, gid: 0},
			{path: \"/dev/other\", type: \"c\", major: 1, minor: 3, uid: 0, gid: 0, fileMode: 384}]"
	[[ $output == $'10:11 666 1:5\n0:0 666 0:0\n0:0 600 1:3\n3\nnone' ]]
	refused "make the device /dev/own (c 1:5): the id maps have no host id for its owner; show the host's file: mount /dev/own: No such file" "$mapped
		| .linux.devices = [{path: \"/dev/own\", type: \"c\", major: 1, minor: 5, uid: 70000, gid: 0}]"
}

@test "a container with a user namespace has all of several hundred devices" {
	is_root || skip "device files take root of the host"
	mapped_bundle
	runs 'ls /dev | grep -c ^own; stat -c "%u:%g %a %t:%T" /dev/own0 /dev/own599' "
		$mapped
		| .linux.devices = [range(600) | {path: \"/dev/own\(.)\", type: \"c\", major: 1, minor: 5, uid: 10, gid: 11, fileMode: 384}]"
	[[ $output == $'600\n10:11 600 1:5\n10:11 600 1:5' ]]
}

@test "device rules hold against root inside that may make device files" {
	is_root || skip "only root's containers have device files of their own"
	runs 'mknod /x b 7 0 && cat /x; mknod /n c 1 3 && echo ok >/n && echo null' '.process.capabilities.bounding += ["CAP_MKNOD"] | .process.capabilities.effective += ["CAP_MKNOD"] | .process.capabilities.permitted += ["CAP_MKNOD"]'
	[[ $output == null ]]
	[[ $stderr == *"Operation not permitted"* ]]
}

@test "what the runtime lacks is an error that names it, and leaves nothing" {
	refused 'linux.memoryPolicy: hutch-oci does not have it' '.linux.memoryPolicy = {"mode": "MPOL_BIND"}'
	refused 'unknown namespace' '.linux.namespaces += [{"type": "moon"}]'
	refused 'belongs to no namespace' '.linux.sysctl = {"kernel.core_pattern": "|/bin/x"}'
	refused "'kernel.hostname' is set by the member hostname" '.linux.sysctl = {"kernel.hostname": "x"}'
	refused "'..' leads out of it" '.linux.cgroupsPath = "/../../x"'
	refused 'stands there twice' '.linux.namespaces += [{"type": "mount"}]'
	refused 'a user namespace takes one of type mount, too' '.linux.namespaces = [{"type": "user"}] | del(.hostname)'
	is_root || refused 'make a mount namespace to set up the root in' '.linux.namespaces = [] | .linux.uidMappings = [] | .linux.gidMappings = [] | del(.hostname)'
	refused 'an absolute path was expected' '.process.cwd = "x"'
	refused 'root.path' '.root.path = "nosuch"'
	refused 'unknown word' '.process.rlimits[0].type = "RLIMIT_MOON"'
}

@test "without a mount namespace of its own a container has its mounts, and the host has none of them" {
	local pid
	is_root || skip "only root makes containers without a user namespace"
	mkdir keep
	echo kept >keep/file
	bundle
	mkdir rootfs/hidden
	echo secret >rootfs/hidden/file
	created '.linux.namespaces = [] | del(.hostname) | .linux.maskedPaths += ["/hidden"] | .mounts += [
		{destination: "/data", type: "tmpfs", source: "tmpfs"},
		{destination: "/keep", type: "bind", source: "'"$T"'/keep", options: ["bind", "ro"]}]'
	pid=$(oci state box | jq .pid)
	[[ $(readlink "/proc/$pid/ns/mnt") == "$(readlink /proc/self/ns/mnt)" ]]
	run -1 grep -F "$T" /proc/self/mountinfo
	oci start box
	[[ $(oci exec box sh -c 'echo x >/data/new; cat /data/new /keep/file; ls /hidden; id -u') == $'x\nkept\n0' ]]
	run -1 oci exec box touch /keep/file
	[[ $output == *"Read-only file system"* ]]
	# From another mount namespace, too, exec enters the container's root and not the host's.
	[[ $(unshare --mount "$OCI" --root "$T/state" exec box cat /keep/file /data/new) == $'kept\nx' ]]
	[[ ! -e rootfs/data/new ]]
	# Nothing is above that root, for a process that changes its own root once more.
	[[ -e /proc/$pid/root/../bin/busybox && ! -e /proc/$pid/root/../config.json ]]
	oci kill box KILL
	gone "$pid"
	rm -r rootfs
	oci delete box
	[[ $(cat keep/file) == kept ]]
	run -1 grep -F "$T" /proc/self/mountinfo
}

@test "a root that is used again has its devices, and another file in the place of one is refused" {
	local no_dev='.mounts |= map(select(.destination | startswith("/dev") | not))'
	is_root || skip "only root makes device files"
	runs 'echo x >/dev/null; echo first' "$no_dev"
	[[ $output == first ]]
	catch oci run box
	[[ $output == first && $status == 0 ]]
	rm rootfs/dev/null
	echo theirs >rootfs/dev/null
	catch oci run box
	[[ $status == 1 && $stderr == *"make the device /dev/null: another file is there"* ]]
	[[ $(cat rootfs/dev/null) == theirs ]]
}

@test "a label for mounts is passed over with a warning, and refused where SELinux is active" {
	if grep -q selinuxfs /proc/filesystems; then
		refused 'hutch-oci sets no labels of SELinux' '.linux.mountLabel = "system_u:object_r:x_t:s0"'
		return
	fi
	runs 'echo ran' '.linux.mountLabel = "system_u:object_r:x_t:s0"'
	[[ $output == ran && $stderr == *"linux.mountLabel: passed over, since SELinux is not active"* ]]
	is_root || return 0
	printf 'nodev\tselinuxfs\n' >filesystems
	run -1 unshare --mount sh -c 'mount --bind filesystems /proc/filesystems && exec "$@"' - "$OCI" --root "$T/state" run box
	[[ $output == *"linux.mountLabel: hutch-oci sets no labels of SELinux"* ]]
	[[ ! -e state/box ]]
}

@test "without a systemd to ask, a container that wants a scope is refused, and leaves nothing" {
	local hide=()
	bundle '.process.args = ["true"]'
	# Root asks the bus of the host, and an ordinary user that of the user manager, which cannot be hidden.
	! is_root || [[ ! -d /run/dbus ]] || hide=(unshare --mount sh -c 'mount -t tmpfs tmpfs /run/dbus && exec "$@"' -)
	if is_root || [[ ! -S /run/user/$EUID/bus ]]; then
		run -1 "${hide[@]}" "$OCI" --root "$T/state" --systemd-cgroup run box
		[[ $output == *"ask "*"systemd"*"for a scope"*"(or use the cgroupfs manager: "* || $output == *"no systemd user manager"* ]]
	fi
	[[ ! -e state/box ]]
	run -1 oci --cgroup-manager moon run box
	refused 'this is the form of the systemd cgroup manager' '.linux.cgroupsPath = "a.slice:b:c"'
	bundle '.process.args = ["true"] | .linux.cgroupsPath = "/a/b"'
	run -1 oci --systemd-cgroup run box
	[[ $output == *"SLICE:PREFIX:NAME was expected"* ]]
}

@test "a process inside cannot write to the runtime's own program" {
	bundle '.process.args = ["sleep", "1000"]'
	cp "$OCI" hutch-oci
	OCI=$T/hutch-oci
	oci create box </dev/null >out 2>&1
	pid=$(oci state box | jq .pid)
	if ! is_root; then
		# The process is closed to others of its user, and so to those inside.
		run ! cat "/proc/$pid/exe"
		return
	fi
	# A program that runs cannot be written in any case, so the write comes after its end.
	exec 9<"/proc/$pid/exe"
	oci delete --force box
	run ! sh -c 'echo written >>/proc/self/fd/9'
	exec 9<&-
	cmp "$OCI" "$BUILD/libexec/hutch-oci"
}

@test "a container that waits for its start holds no descriptor of the caller or of the host" {
	bundle '.process.args = ["sleep", "1000"]'
	oci create box </dev/null >out 2>&1 8<"$T"
	pid=$(oci state box | jq .pid)
	if ! is_root; then
		run ! ls "/proc/$pid/fd"
		return
	fi
	for fd in /proc/"$pid"/fd/*; do
		[[ $(readlink "$fd") == /dev/null || $(readlink "$fd") == "$T/out" || $(readlink "$fd") == socket:* ]]
	done
}

@test "pause stops and resume continues, where the container has a cgroup" {
	created
	oci start box
	if ! jq -e .cgroup state/box/state.json | grep -q /; then
		run -1 oci pause box
		[[ $output == *"has no cgroup"* ]]
		return
	fi
	oci pause box
	[[ $(status_of) == paused ]]
	run -1 oci exec box true
	[[ $output == *paused* ]]
	oci resume box
	[[ $(status_of) == running ]]
}
