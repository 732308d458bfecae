#!/usr/bin/env bats
# --network.

load helpers

setup() {
	begin
}

teardown() {
	remove_boxes
	end
}

# serve KIND: starts a server on the host that answers "reached"; stores its address in $address.
serve() {
	mkfifo ready
	/usr/bin/python3 -SE "$here/network.py" "serve_$1" "$mark" 3>&- >ready &
	started+=("$!")
	read -r -t "$PATIENCE" address <ready
	rm ready
}

# reach [FLAG...] -- CASE [ARG...]: runs a case of network.py inside.
reach() {
	local flags=()
	while [[ $1 != -- ]]; do
		flags+=("$1")
		shift
	done
	inside -i "${flags[@]}" /usr/bin/python3 -SE - "${@:2}" <"$here/network.py"
}

@test "none: a service on the host's loopback is out of reach, and refused at once" {
	serve tcp
	[ "$(python3 "$here/network.py" reach_tcp "$address")" = reached ]
	reach -- reach_tcp "$address"
	[ "$output" = "Connection refused" ]
	reach --network none -- reach_tcp "$address"
	[ "$output" = "Connection refused" ]
}

@test "none: an abstract socket of the host is out of reach" {
	serve abstract
	[ "$(python3 "$here/network.py" reach_abstract "$address")" = reached ]
	reach -- reach_abstract "$address"
	[ "$output" = "Connection refused" ]
}

@test "host: the host's services are in reach, and a warning says so" {
	serve tcp
	reach --network host -- reach_tcp "$address"
	[ "$output" = reached ]
	[[ $stderr == hutch:*"--network host"* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "host: abstract sockets stay hidden all the same" {
	serve abstract
	reach --network host -- reach_abstract "$address"
	[ "$output" != reached ]
	[[ $output == *"not permitted"* || $output == *"denied"* ]]
}

@test "host: abstract sockets of the sandbox's own work, where the kernel can tell them apart" {
	reach --network host -- own_abstract
	[ "$output" = connected ] || [[ $stderr == *"Permission denied"* ]]
}

@test "host: signals to the host's processes do not get through either" {
	sleep 1000 3>&- &
	other=$!
	started+=("$other")
	inside --network host sh -c "kill -9 $other"
	kill -0 "$other"
}

@test "host: names are resolved by the host's resolvers" {
	inside --network host cat /etc/resolv.conf 2>/dev/null
	[ "$output" = "$(cat /etc/resolv.conf)" ]
	inside cat /etc/resolv.conf
	has_not nameserver
}

@test "host: nothing can be changed in the host's network, as root inside neither" {
	reach --network host -u root --cap-add NET_ADMIN --cap-add NET_RAW -- change_network
	[ "${lines[0]}" = "Operation not permitted" ]
	[ "${lines[1]}" = refused ]
}

@test "allow: each datagram is refused at once, however many there are" {
	reach --allow example.org -- send_datagrams "$PATIENCE"
	[ "$output" = $'100\n100' ]
}

@test "allow: the sandbox's own network namespace has the settings that it has without rules" {
	inside cat /proc/sys/net/unix/max_dgram_qlen
	local without=$output
	inside --allow example.org cat /proc/sys/net/unix/max_dgram_qlen
	[ "$output" = "$without" ]
}

@test "none, allow: ports below 1024 can be listened at without a capability" {
	reach -- listen_low
	[ "$output" = "1000 25" ]
	reach --allow example.org -- listen_low
	[ "$output" = "1000 25" ]
}

@test "host: the host says which ports can be listened at" {
	local start=/proc/sys/net/ipv4/ip_unprivileged_port_start before
	before=$(<$start)
	inside --network host cat $start
	[ "$output" = "$before" ]
	inside cat $start
	[ "$output" = 0 ]
	[ "$(<$start)" = "$before" ]
}

@test "sockets of the host with a path are not inside" {
	inside sh -c 'ls -d /run/docker.sock /var/run/docker.sock /run/dbus /run/user /run/containerd \
		/tmp/.X11-unix 2>/dev/null'
	[ -z "$output" ]
	inside --network host sh -c 'ls -d /run/docker.sock /run/dbus /tmp/.X11-unix 2>/dev/null'
	[ -z "$output" ]
}

@test "rules beside --network none or host are refused in each order, and override a policy's none" {
	local network rule
	for network in none host; do
		for rule in --allow --deny --ask; do
			refuses "rules about connections say nothing with --network $network" \
				--network "$network" "$rule" example.org true
			refuses "rules about connections say nothing with --network $network" \
				"$rule" example.org --network "$network" true
		done
	done
	echo '{"version": 1, "network": "none"}' >none.json
	inside --policy ./none.json --allow example.org cat /etc/resolv.conf
	[ "$output" = 'nameserver 10.0.2.2' ]
	inside --dry-run --network none --network allow --allow example.org true
	has '^network   by rules alone; hutch doctor says its form$'
}

@test "--add-host: a name has an address inside, and host-gateway is this host's loopback" {
	serve tcp
	inside --add-host a.lan:10.1.2.3 --add-host 'b:[fd00::7]' cat /etc/hosts
	[ "${lines[2]}" = $'10.1.2.3\ta.lan' ]
	[ "${lines[3]}" = $'fd00::7\tb' ]
	[ "${#lines[@]}" = 4 ]
	reach --network host --add-host db:127.0.0.1 -- reach_name db "$address"
	[ "$output" = reached ]
	reach --allow "@host:$address" --add-host db:host-gateway -- reach_name db "$address"
	[ "$output" = reached ]
	reach --add-host db:host-gateway --allow "@host:$address" -- reach_name host.hutch.internal "$address"
	[ "$output" = reached ]
	reach --allow "@host:$address" -- reach_name db "$address"
	[ "$output" != reached ]
}

@test "--add-host: a policy, hutch net and a sandbox with a name have it" {
	serve tcp
	echo '{"version": 1, "add_hosts": ["db:host-gateway"], "egress": {"rules": [{"allow": "@host:'"$address"'"}]}}' >p.json
	hutch create -q --policy ./p.json box
	[ "$status" -eq 0 ]
	hutch exec box /usr/bin/python3 -SE -c "$(cat "$here/network.py")" reach_name db "$address"
	[ "$output" = reached ]
	hutch net box ls
	has "allow +@host:$address as db "
}

@test "--add-host: another form, and a name that leads nowhere, are refused" {
	refuses "--add-host takes NAME:ADDRESS or NAME:host-gateway, not 'db'" --add-host db true
	refuses '--add-host db:host-gateway: no rule opens a port' --add-host db:host-gateway true
	refuses '--add-host db:host-gateway: no rule opens a port' --allow example.org \
		--add-host db:host-gateway true
	refuses '--add-host needs namespaces' --isolation landlock --add-host db:10.0.0.5 true
}

@test "other modes are refused" {
	refuses "--network takes none, allow, host or ns:PATH, not 'bridge'" --network bridge true
	refuses "--network takes none, allow, host or ns:PATH, not ''" --network '' true
}
