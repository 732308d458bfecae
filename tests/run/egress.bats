#!/usr/bin/env bats
# hutch-egress alone (egress/upstream.h), as an ordinary user, in a network of the test's own:
# egress.py plays hutch-gate, the supervisor and the internet.

load helpers

setup() {
	begin
	! is_root || skip "root has its own way to a network"
}

# plays CASE: runs a case of egress.py.
plays() {
	ASAN_OPTIONS=detect_leaks=0 timeout "$PATIENCE" unshare -Urnm --kill-child \
		"$here/egress.py" "$BUILD/libexec/hutch-egress" "$1" "$T"
}

@test "names that a rule allows are resolved, connected and handed over" {
	plays allowed
}

@test "names, ports and addresses without a rule are refused, and nothing is looked up" {
	plays denied
}

@test "a name that leads to a private, metadata or own address is refused" {
	plays addresses
}

@test "a question for a name leaves the host only if a rule has exactly this name" {
	plays questions
}

@test "a wildcard's rule brings 64 new names a minute" {
	plays wildcards
}

@test "an upstream that refuses, resets or does not answer is told" {
	plays upstream
}

@test "the name in TLS has to be the connection's" {
	plays tls
}

@test "a rule for @host reaches that port of the host's loopback, and no other" {
	plays loopback
}

@test "another sandbox is asked of one process, whose replies are held to what was asked" {
	plays peers
}

@test "connections end when their rule is removed" {
	plays removed
}

@test "when the supervisor is told that rules are in force, hutch-gate has them" {
	strace -o /dev/null true 2>/dev/null || skip "strace is not allowed here"
	plays in_force
}

@test "a rule that asks waits for the answer, and none is a refusal" {
	plays ask
}

@test "rules are read when the gate or the supervisor needs them, and not before" {
	plays lazy
}

@test "all that the gate has said before its end is told" {
	plays last_words
}

@test "it ends with the gate and with the supervisor" {
	plays ends
}

@test "a malformed frame or line ends it or is refused" {
	plays malformed
}

@test "of 2,000 connections at once 1,024 are made, and the others refused" {
	plays flood
}

@test "with few descriptors there are fewer connections" {
	plays few_descriptors
}

@test "a supervisor that does not read loses lines, and no connection" {
	plays unread
}

@test "the newest 256 open connections are listed, with the bytes of each" {
	plays listing
}

@test "a question whether all is told is answered behind what the gate had sent" {
	plays synced
}

@test "it has no privilege, and no file" {
	plays confined
}

@test "nothing that it does is missing from the list of its calls" {
	strace -o /dev/null true 2>/dev/null || skip "strace is not allowed here"
	plays calls
}
