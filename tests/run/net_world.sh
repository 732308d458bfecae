#!/bin/bash
# net_world.sh CMD...: runs CMD where the network is one of this test's own.
#
# Two network namespaces, which a pair of devices joins: the "host", in which CMD runs as the
# caller, without capabilities, and the "internet", in which net_server.py answers names and
# connections at every address.  /etc/resolv.conf is the test's.  NET_SERVER is another server.
set -eu
here=$(dirname "$(realpath "$0")")

outer() {
	W=$(mktemp -d)
	export W
	trap 'rm -rf "$W"' EXIT
	mkfifo "$W/go"
	echo 'nameserver 10.9.0.2' >"$W/resolv.conf"
	unshare -U --map-current-user --keep-caps -n -m "$0" --inside "$@"
}

# internet: becomes the server, when its devices are there.
internet() {
	echo up
	read -r _ <&4
	exec python3 -SE "${NET_SERVER:-$here/net_server.py}" 3>&1 >&2 4<&-
}

# hear: reads a line of the server.  The pipe has no other writer, so a dead server is its end.
hear() {
	read -r _ <&3 && return 0
	echo "net_world.sh: the server has ended" >&2
	return 1
}

inside() {
	mount --bind "$W/resolv.conf" /etc/resolv.conf
	ip link set lo up
	ip link add host0 type veth peer name net0
	exec 4<>"$W/go"
	exec 3< <(exec unshare -n "$0" --internet </dev/null)
	server=$!
	trap 'kill "$server"' EXIT
	hear
	ip link set net0 netns "$server"
	ip addr add 10.9.0.1/24 dev host0
	ip -6 addr add fd00:9::1/64 dev host0 nodad
	ip link set host0 up
	ip route add default via 10.9.0.2
	ip -6 route add default via fd00:9::2
	nsenter -t "$server" -n sh -ec 'ip link set lo up; ip addr add 10.9.0.2/24 dev net0
		ip -6 addr add fd00:9::2/64 dev net0 nodad; ip link set net0 up
		ip route add local default dev lo table main
		ip -6 route add local default dev lo table main'
	echo go >&4
	hear
	setpriv --ambient-caps -all --inh-caps -all "$@" 3<&- 4<&-
}

case $1 in
--inside) shift && inside "$@" ;;
--internet) internet ;;
*) outer "$@" ;;
esac
