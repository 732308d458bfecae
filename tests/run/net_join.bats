#!/usr/bin/env bats
# Tests of sandboxes that reach each other by name: --network-join (net_join.py).

load helpers

# joined CASE: plays a case of net_join.py.
joined() {
	catch as_who timeout "$PATIENCE" "$here/net_join.py" "$HUTCH" "$1"
	[[ $status == 0 && $output == well ]] || { echo "$output" && false; }
}

@test "a sandbox reaches another one of its network by name, at the ports that it named" {
	joined reach
}

@test "the ports of HTTP and TLS of another sandbox carry any bytes" {
	joined any_bytes
}

@test "a sandbox that comes later, or again under its name, is reached; one that has gone is not there" {
	joined later
}

@test "a name outside of the network is not there, and no resolver is asked for it" {
	joined strangers
}

@test "a deny rule, and a removed rule, keep a sandbox from another, and cut its connections" {
	joined rules
}

@test "what listens nowhere inside, and a sandbox that is killed, is a reset and no end" {
	joined resets
}

@test "a hundred connections at once all carry their own bytes" {
	joined many
}

@test "the supervisor of the other sandbox checks the network, the port and the descriptor itself" {
	joined target
}

@test "connections that others ask for in a flood are in the audit log as a number" {
	joined flood
}

@test "without the process that connects sandboxes, names are not there, and nothing hangs" {
	joined lost
}

@test "hutch run reaches a sandbox of a network, too" {
	joined single
}

@test "hutch why knows the networks of a sandbox, and which sandboxes are in them" {
	hutch create --network-join db-net:8000 one
	hutch create --network-join other two
	hutch create --network-join db-net db
	for name in db db.db-net.hutch.internal; do
		hutch why one --connect "$name:8000"
		[[ $output == "yes: db.db-net.hutch.internal:8000 is allowed by a rule"* ]]
	done
	# The sandbox `two` lives, and is in another network.
	for name in two two.db-net.hutch.internal nobody; do
		catch "$HUTCH" why one --connect "$name:8000"
		[[ $status == 1 && $output == "no: the rules allow ${name%%.*}.db-net.hutch.internal, but"* ]]
		[[ $output == *"hutch create --network-join db-net ${name%%.*}" ]]
	done
	catch "$HUTCH" why db --connect one:8000
	[[ $status == 1 && $output == "no: one.db-net.hutch.internal:8000 is refused: no rule"* ]]
	# A launch has joined nothing yet: its rules alone are asked.
	hutch why --network-join db-net:8000 connect nobody:8000
	[[ $output == "yes: nobody.db-net.hutch.internal:8000 is allowed by a rule"* ]]
	hutch rm -f one two db
}

@test "a wrong name of a network, too many of them, and a name that none could reach are errors" {
	local x
	for x in A a.b -a a- '' "$(printf 'a%.0s' {1..33})"; do
		catch hutch run --network-join "$x" true
		[[ $status == 125 && $output == *"is no name of a network"* ]]
	done
	catch hutch run --network-join a:0 true
	[[ $status == 125 && $output == *"--network-join a:0"* ]]
	catch hutch run --network-join a --network host true
	[[ $status == 125 && $output == *"--network-join needs a network of rules"* ]]
	catch hutch run --network-join a --network-join b --network-join c --network-join d --network-join e true
	[[ $status == 125 && $output == *"at most 4 networks"* ]]
	for x in Pg p.g; do
		catch hutch create --network-join a "$x"
		[[ $status == 125 && $output == *"could reach the name '$x'"* ]]
	done
}
