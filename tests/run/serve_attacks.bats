#!/usr/bin/env bats
# Attacks on `hutch serve`: clients with a key and without one, and a front that was taken over
# (serve_attacks.py has the cases).

load helpers

attack() {
	as_who env BUILD="$BUILD" timeout "$PATIENCE" "$here/serve_attacks.py" "$HUTCH" "$1"
}

@test "a head that two programs could read differently is refused" {
	attack ambiguous_heads
}

@test "a path that only looks like one of the server's is not found" {
	attack odd_paths
}

@test "many stops of one runtime at once end it once" {
	attack stop_at_once
}

@test "a request whose body comes after its sandbox is gone is answered" {
	attack body_outlives
}

@test "a runtime that is stopped while it starts does not come to life" {
	attack stop_while_starting
}

@test "each action of a sandbox that is stopped is answered" {
	attack stop_amid_actions
}

@test "clients that are gone amid an upload leave the server well" {
	attack clients_gone
}

@test "an upload holds one file, whose name is one name" {
	attack odd_uploads
}

@test "a factor beyond the bounds is refused, and the server goes on" {
	attack odd_factors
}

@test "the key of a sandbox changes neither its limits nor its rules" {
	attack own_key
}

@test "a client's image does not replace the one among the operator's options" {
	attack operators_options
}

@test "a front that was taken over reaches no sandbox of another server" {
	attack others_sandboxes
}

@test "a front that was taken over makes no sandbox that a request could not" {
	attack more_than_allowed
}

@test "descriptors that a front sends along are closed" {
	attack descriptors
}

@test "a front that was taken over builds no image of another name, and of nothing but a file" {
	attack builds
}

@test "an answer longer than a packet ends neither the spawner nor the front" {
	attack long_answers
}

@test "a front signals, limits and starts nothing, and opens no file" {
	attack confined
}

@test "a flood of packets without a reader takes nothing, and does not keep the server from its end" {
	attack flood
}

@test "an executor that is killed amid actions is told to each client" {
	attack executor_killed
}

@test "ten thousand idle connections leave the server well" {
	attack idle_connections
}

@test "a false socket in a sandbox's place leaves the server well" {
	attack fake_sockets
}

@test "another user of this machine reaches nothing of the server" {
	is_root || skip "started by an ordinary user"
	BUILD=$BUILD timeout "$PATIENCE" "$here/serve_attacks.py" "$HUTCH" stranger
}
