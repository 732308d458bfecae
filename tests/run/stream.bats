#!/usr/bin/env bats
# A client that asks for streamed output and does not read it (stream.py).

load helpers

teardown() {
	remove_boxes
	end
}

streams() {
	"$here/stream.py" "$HUTCH" "$@"
}

@test "what nobody reads of hutch act --stream waits where it is printed, and nothing of it is lost" {
	streams act
}

@test "so it does in a sandbox that has a name" {
	streams named
}

@test "so it does for a client of the control socket" {
	! is_root || skip "the socket is that of the user whom root stands for"
	streams socket
}

@test "who does not read is waited for by its own command, and by nobody else's" {
	! is_root || skip "the socket is that of the user whom root stands for"
	streams many
}
