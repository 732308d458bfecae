#!/usr/bin/env bats
# Tests of --idmap ranges, which maps 65536 ids by newuidmap(1).

load helpers

setup() {
	begin
	# As root, the tests choose a user for the sandbox who has a range in /etc/subuid.
	if is_root; then
		local name
		name=$(cut -d: -f1 /etc/subuid 2>/dev/null | while read -r n; do
			id -u "$n" >/dev/null 2>&1 && echo "$n" && break
		done)
		[[ -n $name ]] || skip "nobody has a range in /etc/subuid"
		SUDO_UID=$(id -u "$name")
		SUDO_GID=$(id -g "$name")
		export SUDO_UID SUDO_GID
		who=$SUDO_UID
		give home runtime
	else
		grep -q "^$(id -un):" /etc/subuid || skip "this user has no range in /etc/subuid"
	fi
	command -v newuidmap >/dev/null || skip "no newuidmap"
}

teardown() {
	remove_boxes
	end
}

ranges() {
	inside --idmap ranges "$@"
}

@test "all ids up to 65535 are there, and none is the host's root" {
	ranges cat /proc/self/uid_map
	awk '{ n += $3; if ($2 == 0) exit 1 } END { exit n != 65537 }' <<<"$output"
	awk -v who="$who" '$1 == 1000 && $2 != who { exit 1 }' <<<"$output"
}

@test "agent still stands for the caller" {
	room w
	ranges -v "$T/w:/w" sh -c 'id -u; touch /w/f'
	[ "$output" = 1000 ]
	[ "$(stat -c %u w/f)" -eq "$who" ]
}

@test "-u takes any id, and UID:GID" {
	ranges -u 5:7 id
	[[ $output == *uid=5* && $output == *gid=7* ]]
	ranges -u 65535 id -u
	[ "$output" = 65535 ]
	refuses '-u takes' --idmap ranges -u 65536 true
}

@test "the root folder is root's, and the agent's are the agent's" {
	ranges stat -c %U / /workspace /home/agent
	[ "${lines[*]}" = "root agent agent" ]
}

@test "root can give files away and become others" {
	ranges -u root sh -c 'touch f && chown 33:33 f && stat -c %u:%g f && setpriv --reuid 5 --clear-groups id -u'
	[ "${lines[*]}" = "33:33 5" ]
}

# sets OPTIONS...: prints the ids of a command in a sandbox, and its capability sets without the
# bounding set.
sets() {
	hutch exec "$@" sh -c 'echo "$(id -u):$(id -g) $(sed -n "s/^Cap\(Inh\|Prm\|Eff\|Amb\):\t0*//p" /proc/self/status | sed "s/^$/-/" | xargs)"'
}

@test "capabilities are a command's: root has the sandbox's, and others none" {
	"$HUTCH" create --idmap ranges -u root rooted
	"$HUTCH" create --idmap ranges box
	for name in rooted box; do
		for user in root 0 0:0; do
			sets -u $user $name
			[ "$output" = '0:0 - db db -' ]
		done
		for user in agent:1000:1000 33:33:33 33:44:33:44 nobody:65534:65534 root:tty:0:5; do
			case $user in
			33:44:*) sets -u 33:44 $name ;;
			root:*) sets -u root:tty $name ;;
			*) sets -u "${user%%:*}" $name ;;
			esac
			case $user in
			agent*) [ "$output" = '1000:1000 - - - -' ] ;;
			33:44:*) [ "$output" = '33:44 - - - -' ] ;;
			33*) [ "$output" = '33:33 - - - -' ] ;;
			nobody*) [ "$output" = '65534:65534 - - - -' ] ;;
			root*) [ "$output" = '0:5 - db db -' ] ;;
			esac
		done
		# Root inside may give the file to another user; another user may not read it.
		hutch exec -u root $name sh -c 'echo x >/workspace/f && chown 33:33 /workspace/f && chmod 600 /workspace/f'
		[ "$status" -eq 0 ]
		hutch exec -u 34 $name cat /workspace/f
		[ "$status" -eq 1 ]
		hutch exec -u root $name setpriv --reuid 33 --clear-groups grep CapEff /proc/self/status
		[[ $output == *0000000000000000 ]]
	done
	hutch exec rooted id -u
	[ "$output" = 0 ]
	hutch exec box id -u
	[ "$output" = 1000 ]
}

@test "--cap-add is for all, --cap-drop takes from root" {
	"$HUTCH" create --idmap ranges --cap-add NET_BIND_SERVICE --cap-drop CHOWN box
	sets -u root box
	[ "$output" = '0:0 - 4da 4da -' ]
	sets -u 33 box
	[ "$output" = '33:33 400 400 400 400' ]
	sets box
	[ "$output" = '1000:1000 400 400 400 400' ]
}

@test "actions of a sandbox made for the agent have none of what root may" {
	"$HUTCH" create --idmap ranges box
	"$HUTCH" exec -u root box sh -c 'mkdir /workspace/shut; echo x >/workspace/shut/f; chmod 700 /workspace/shut'
	printf '%s\n' '{"action":"read","args":{"path":"/workspace/shut/f"}}' \
		'{"action":"write","args":{"path":"/workspace/shut/g","content":"x"}}' \
		'{"action":"list","args":{"path":"/workspace/shut"}}' \
		'{"action":"run","args":{"command":"cat /workspace/shut/f; grep CapEff /proc/self/status"}}' | "$HUTCH" act box >said
	[ "$(grep -c 'ermission' said)" -eq 4 ]
	grep -q 'CapEff:[^0-9]*0000000000000000' said
	hutch cp box:/workspace/shut/f -
	[ "$status" -eq 125 ]
}

@test "a user that is not there is told which there are" {
	"$HUTCH" create --idmap ranges box
	for user in ghost www-data nogroup; do
		hutch exec -u $user box true
		[ "$status" -eq 125 ]
		[[ $stderr == *"-u $user: unable to find user $user: no matching entries in passwd file"*"the sandbox's own /etc/passwd"* ]]
	done
	hutch exec -u nobody:ghost box true
	[ "$status" -eq 125 ]
	[[ $stderr == *"-u nobody:ghost: unable to find group ghost: no matching entries in group file"*"the sandbox's own /etc/group"* ]]
	for user in 65536 100000; do
		hutch exec -u $user box true
		[ "$status" -eq 125 ]
		[[ $stderr == *"-u $user: $user is not among the ids 0 to 65535 that --idmap ranges maps"* ]]
	done
	"$HUTCH" create one
	for user in root 0; do
		hutch exec -u $user one true
		[ "$status" -eq 125 ]
		[[ $stderr == *"-u $user: only one id is mapped, and in this sandbox it stands for agent (1000:1000)"*"--idmap ranges"* ]]
	done
	hutch exec -u agent one id -u
	[ "$output" = 1000 ]
}

@test "the executor has an id of its own, out of the commands' reach" {
	start --idmap ranges -u root sh -c 'kill -9 1; echo ready; exec sleep 1000'
	said ready
	executor=$(ps --ppid "$pid" -o pid= -o args= | awk '/hutch-executor/ {print $1}')
	command=$(ps --ppid "$executor" -o pid= | tail -1)
	mine=$(awk '/^Uid/ {print $2}' "/proc/${executor// /}/status")
	theirs=$(awk '/^Uid/ {print $2}' "/proc/${command// /}/status")
	[ "$mine" -ne "$theirs" ]
	[ "$mine" -ne 0 ]
	kill -TERM "$pid"
	ended 143
}

@test "signals, timeouts and terminals work as with one id" {
	inside --idmap ranges --timeout 0.3 -u 5 sleep 1000
	[ "$status" -eq 124 ]
	inside --idmap ranges -t -u 5 sh -c 'tty && stat -c %u $(tty)'
	[[ ${lines[0]} == /dev/pts/0* ]]
	[[ ${lines[1]} == 5* ]]
}

@test "nothing is left behind" {
	inside --idmap ranges -u root bash -c "mkfifo -m 666 /tmp/up
		setsid setpriv --reuid 7 --clear-groups bash -c 'echo >/tmp/up; exec -a $mark sleep 1000' & read -r x </tmp/up"
	none_marked
}

@test "the environment does not decide which user's ranges are used" {
	local known=()
	! is_root || known=("SUDO_UID=$SUDO_UID" "SUDO_GID=$SUDO_GID")
	catch env -i "${known[@]}" "$HUTCH" run --idmap ranges cat /proc/self/uid_map
	[[ $status == 0 && ${#lines[@]} == 4 ]]
	plain=$output
	catch env USER=no-such-user LOGNAME=root SUDO_USER=root HOME=/root "$HUTCH" run --idmap ranges cat /proc/self/uid_map
	[[ $status == 0 && $output == "$plain" ]]
}

# with_subids LINE...: runs hutch in a mount namespace where /etc/subuid and /etc/subgid have only
# these lines.
with_subids() {
	printf '%s\n' "$@" >subids
	catch outer sh -c 'mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"' - \
		"$T/subids" "$HUTCH" run --idmap ranges true
	[ "$status" -eq 125 ]
}

@test "a user without a range is told which command gives one" {
	with_subids somebody:100000:65536
	one_sentence '--idmap ranges: /etc/subuid grants no range'
	[[ ${stderr_lines[1]} == *"usermod --add-subuids"*" $(id -un "$who")" ]]
	# A range that is given to the user by number suffices, so the next check fails instead:
	# hutch is in a user namespace already.
	with_subids "$who:100000:65536"
	[[ $stderr == *'hutch is in a user namespace already'* ]]
}

@test "the reason that takes the rights of the helpers away is reported" {
	# newuidmap prints an error of its own before that of hutch, so only parts of stderr are
	# compared.
	catch setpriv --no-new-privs "$HUTCH" run --idmap ranges true
	[ "$status" -eq 125 ]
	[[ $stderr == *'hutch: --idmap ranges: no_new_privs is set on this process'* ]]
	[[ $stderr == *'hutch: hint: '*NoNewPrivileges=* ]]
	catch outer "$HUTCH" run --idmap ranges true
	[ "$status" -eq 125 ]
	[[ $stderr == *'hutch: --idmap ranges: hutch is in a user namespace already'* ]]
}

@test "another --idmap is refused" {
	refuses '--idmap takes single or ranges' --idmap all true
}

# With --idmap ranges the executor has another user id than commands, and capabilities that
# commands do not get.
@test "files are searched and folders made as the user of the commands" {
	local id
	for id in 1000 1234 0; do
		"$here/act.py" "$HUTCH" '
o = a.action("mkdir", path="/tmp/mine")
assert o.observation == "mkdir", o
st = a.action("stat", path="/tmp/mine").hutch["stat"]
assert (str(st["uid"]), str(st["gid"])) == tuple(run("id -u; id -g").content.split()), st
if st["uid"]:
    run("mkdir -m 700 /tmp/mine/secret; echo x >/tmp/mine/secret/x")
    assert read("/tmp/mine/secret/x").content == "x\n"
    for kind, args in (("mkdir", {"path": "/usr/x"}), ("mkdir", {"path": "/root/x"}), ("remove", {"path": "/etc/passwd"})):
        o = a.action(kind, **args)
        assert o.observation == "error", (kind, args, o)' --idmap ranges -u "$id"
	done
}
