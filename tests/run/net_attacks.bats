#!/usr/bin/env bats
# Ways past the rules of --network allow: net_attacks.py has the table, in groups.

load helpers

# plays GROUP [FLAG...]: tries the ways of a group in a sandbox, and on the host where they have to
# lead somewhere.
plays() {
	local tries=$'^[1-9][0-9]* tries inside\n[0-9]+ tries on the host$'
	catch as_who "$here/net_world.sh" "$here/net_attacks.py" play "$1" "$HUTCH" "$PATIENCE" "${@:2}"
	[[ $status == 0 && $output =~ $tries ]]
}

@test "addresses in every form lead nowhere, and names that a rule allows do" {
	plays addresses
}

@test "names that lead to private, metadata or own addresses are refused" {
	plays names
}

@test "ports that no rule names, and other protocols than TCP, are refused at once" {
	plays ports
}

@test "a rule for each port of a host opens no other host, address or protocol" {
	ulimit -Sn 4096 || skip "4,096 descriptors are needed"
	plays every --allow 'example.org:*'
	plays every -u root --allow 'example.org:*'
}

@test "odd questions for names are refused, and carry nothing out" {
	plays dns
}

@test "a hello of TLS that does not name the host is refused" {
	plays tls
}

@test "HTTP for another host is refused, however it is put" {
	plays http
}

@test "a second look finds no way either" {
	plays second
}

@test "neither the gate nor the host's services are to be seen inside" {
	plays inside
}

@test "root inside sees no more, and leads no further" {
	plays inside -u root
	plays addresses -u root
	plays ports -u root
	plays second -u root
}

@test "the form without veth devices leads no further" {
	local group HUTCH=$BUILD/bench/single/hutch
	[[ -x $HUTCH ]] || skip "$HUTCH is not there: make tests"
	for group in addresses names ports dns inside second; do
		plays "$group"
	done
}

@test "rights over its own network give a sandbox no other" {
	plays rights -u root --cap-add NET_ADMIN --cap-add NET_RAW
}

@test "floods of connections and questions leave the others unharmed" {
	ulimit -Sn 4096 || skip "4,096 descriptors are needed"
	plays floods
}
