#!/usr/bin/env bats
# --network ns:PATH: a network namespace that exists already, with a server on its loopback.  Root's
# belongs to root; an ordinary user's belongs to a user namespace of theirs.

bats_require_minimum_version 1.5.0
load helpers
load busybox

setup() {
	begin
	hold tcp "$mark"
}

teardown() {
	remove_boxes
	end
}

# hold KIND MARK: starts a process in a network namespace of its own, which answers "reached";
# stores its address in $address and the namespace's path in $space.
hold() {
	local new=(-U -r -n)
	! is_root || new=(-n)
	mkfifo ready
	unshare "${new[@]}" sh -c 'ip link set lo up && exec /usr/bin/python3 -SE "$@"' - \
		"$here/network.py" "serve_$1" "$2" 3>&- >ready &
	started+=("$!")
	space=/proc/$!/ns/net
	read -r -t "$PATIENCE" address <ready
	rm ready
}

# reach [FLAG...] -- CASE [ARG...]: runs a case of network.py in a sandbox in $space.
reach() {
	python_inside network.py --network "ns:$space" "$@"
}

@test "the services of the namespace are in reach, the host's are not, and hutch says so" {
	reach -- reach_tcp "$address"
	[ "$output" = reached ]
	[[ $stderr == "hutch: --network ns:$space: the sandbox shares that network"* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ "$(python3 "$here/network.py" reach_tcp "$address")" = 'Connection refused' ]
	inside --network "ns:$space" readlink /proc/self/ns/net
	[ "$output" = "$(readlink "$space")" ]
}

@test "nothing can be changed in the namespace, as root inside neither" {
	reach -u root --cap-add NET_ADMIN --cap-add NET_RAW -- change_network
	[ "$output" = $'Operation not permitted\nrefused' ]
}

@test "abstract sockets in the namespace stay hidden" {
	hold abstract "$mark"
	reach -- reach_abstract "$address"
	[ "$output" != reached ]
	[[ $output == *"not permitted"* || $output == *"denied"* ]]
}

@test "the host's files are shown as ever, and the user inside is the same" {
	room work
	inside --network "ns:$space" --workspace work sh -c 'id -u; echo made >/workspace/it'
	[ "$output" = 1000 ]
	[ "$(stat -c %u work/it)" = "$who" ]
}

@test "a published port leads to the namespace's loopback" {
	start -p auto:"$address" --network "ns:$space" -- sh -c 'echo ready; exec sleep 1000'
	said ready
	run -0 python3 "$here/network.py" reach_tcp \
		"$(sed -n 's/.*note: 127\.0\.0\.1:\([0-9]*\) leads to port.*/\1/p' "$T/err")"
	[[ $output == reached* ]]
}

@test "the resolvers are the host's" {
	inside --network "ns:$space" cat /etc/resolv.conf
	[ "$output" = "$(cat /etc/resolv.conf)" ]
}

@test "a namespace of ip-netns(8) has resolvers of its own" {
	is_root || skip "only root can make one"
	cp -a /etc "$T/etc"
	mkdir -p "$T/etc/netns/x"
	echo 'nameserver 192.0.2.7' >"$T/etc/netns/x/resolv.conf"
	# a mount namespace of the test's own has the files, which go with it
	catch unshare -m --propagation private sh -ec '
		mount --bind "$1" /etc
		mount -t tmpfs none /run
		mkdir /run/netns
		touch /run/netns/x /run/netns/y
		mount --bind "$2" /run/netns/x
		mount --bind "$2" /run/netns/y
		"$3" run -q --network ns:/run/netns/x cat /etc/resolv.conf
		"$3" run -q --network ns:/run/netns/y cat /etc/resolv.conf' \
		- "$T/etc" "$space" "$HUTCH"
	[ "$output" = "$(echo 'nameserver 192.0.2.7' && cat /etc/resolv.conf)" ]
}

@test "an error about the namespace has no note before it that says what is shared" {
	local verb
	for verb in "run ns:$T/absent true" "create ns:$T/absent box" "act ns:$T/absent"; do
		set -- $verb
		catch "$HUTCH" "$1" --network "${@:2}" </dev/null
		[ "$status" -eq 125 ]
		[[ ${stderr_lines[0]} == "hutch: open the network namespace $T/absent: No such file"* ]]
	done
}

@test "the plan, the result object and why name the namespace" {
	inside --dry-run --network "ns:$space" true
	has "^network   that of $space\$"
	[[ $output != *"net "*uts* ]]
	inside --json=1 --network "ns:$space" true
	[ "$(jq -r .network.mode <<<"$output")" = "ns:$space" ]
	catch "$HUTCH" why --network "ns:$space" connect example.com:80
	[ "$status" -eq 0 ]
	has '^yes: example.com:80 is reached as from other programs in that network namespace$'
	has "^  line    --network ns:$space\$"
	catch "$HUTCH" why --network "ns:$space" connect unix:@x
	[ "$status" -eq 1 ]
}

@test "a policy names the namespace, by a path that begins at its folder" {
	mkdir policies
	ln -s "$space" policies/net
	echo '{"version": 1, "network": "ns:net"}' >policies/p.json
	python_inside network.py --policy policies/p.json -- reach_tcp "$address"
	[ "$output" = reached ]
}

@test "a sandbox with a name is in the namespace, and opens the path anew when it is started again" {
	room data
	export XDG_DATA_HOME=$T/data
	needs_data_attributes
	image img
	ln -s "$space" net
	hutch create -q --keep --image "dir:$T/img" -v /usr:/usr:ro --network ns:net box
	[ "$status" -eq 0 ]
	hutch exec box readlink /proc/self/ns/net
	[ "$output" = "$(readlink "$space")" ]
	[ "$("$HUTCH" inspect box | jq -r '.[].network.mode')" = ns:net ]
	catch "$HUTCH" why box --connect example.com:80
	has '^yes: example.com:80 is reached as from other programs in that network namespace$'
	has '^  line    --network ns:net$'
	hutch stop box
	hold tcp "$mark"
	ln -sfn "$space" net
	hutch start -q box
	[ "$status" -eq 0 ]
	hutch exec box readlink /proc/self/ns/net
	[ "$output" = "$(readlink "$space")" ]
	hutch stop box
	kill -KILL "${started[-1]}"
	wait "${started[-1]}" || true
	hutch start box
	[ "$status" -eq 125 ]
	[[ $output$stderr == *"open the network namespace $T/net: No such file or directory"* ]]
}

@test "a file that is no network namespace, and hutch's own, are refused" {
	refuses '.* is no network namespace .*' -q --network ns:/etc/passwd true
	refuses '.* is no network namespace .*' -q --network ns:/proc/self/ns/uts true
	mkfifo pipe
	refuses '.* is no network namespace .*' -q --network ns:pipe true
	refuses 'open the network namespace absent: No such file or directory .*' -q --network ns:absent true
	refuses '--network ns: names no file' --network ns: true
	refuses '/proc/self/ns/net is the network namespace that hutch itself is in .*' -q \
		--network ns:/proc/self/ns/net true
	[[ $stderr == *'hint: --network host'* ]]
	inside -q --dry-run --network ns:/etc/passwd true
	[ "$status" -eq 125 ]
}

@test "a namespace of another user's is refused" {
	is_root || skip "only root can make one"
	touch "$T/theirs"
	# a mount namespace of the test's own has the file, which goes with it
	catch unshare -m --propagation private sh -ec '
		mount --bind "$1" "$2"
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$3" run -q --network "ns:$2" true' \
		- "$space" "$T/theirs" "$HUTCH"
	[ "$status" -eq 125 ]
	[[ $stderr == *"belongs to root, so this user may not enter it"* ]]
	[[ $stderr == *"hint: start hutch as root"* ]]
}

@test "a namespace whose owner does not map the user is refused" {
	! is_root || skip "root needs no map"
	mkfifo ready
	unshare -U -n sh -c 'echo; exec sleep 1000' 3>&- >ready &
	started+=("$!")
	read -r -t "$PATIENCE" <ready
	refuses ".* does not map this user's own ids" -q --network "ns:/proc/$!/ns/net" true
}

@test "flags that the namespace cannot have are errors" {
	refuses 'rules about connections say nothing with --network ns:.*' --network "ns:$space" \
		--allow example.org true
	refuses '--network ns: needs namespaces.*' --isolation landlock --network "ns:$space" true
	is_root || refuses '--idmap ranges cannot be had.*' -q --idmap ranges --network "ns:$space" true
}
