#!/usr/bin/env bats
# Tests of a client that asks for streamed output and does not read it (stream.py).

load helpers

teardown() {
	remove_boxes
	end
}

streams() {
	"$here/stream.py" "$HUTCH" "$@"
}

@test "unread output of hutch act --stream waits where it is printed, and none is lost" {
	streams act
}

@test "unread output waits in a named sandbox, too" {
	streams named
}

@test "unread output waits for a client of the control socket, too" {
	! is_root || skip "the socket is that of the user whom root stands for"
	streams socket
}

@test "a client that does not read delays its own command, and no other" {
	! is_root || skip "the socket is that of the user whom root stands for"
	streams many
}
