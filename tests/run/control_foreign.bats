#!/usr/bin/env bats
# Tests of clients of the control socket that run as another user.

load helpers
load supervised

@test "102: a client in another user namespace is refused" {
	as_who unshare -Ur "$here/control_hostile.py" foreign "$control"
	as_who unshare -U "$here/control_hostile.py" foreign "$control"
	as_who unshare -Urpf --mount-proc "$here/control_hostile.py" foreign "$control"
}

@test "another user is refused, and does not even come that far" {
	is_root || skip "started by an ordinary user"
	"$here/control_hostile.py" foreign "$control"
	run setpriv --reuid 12345 --clear-groups "$here/control_hostile.py" foreign "$control"
	[[ $status == 1 && $output == *PermissionError* ]]
	# Now the modes of the folders and the socket let every user connect.
	chmod 711 "$T/runtime" "$T/runtime/hutch" "$T/runtime/hutch/box"
	chmod 666 "$control"
	setpriv --reuid 12345 --clear-groups "$here/control_hostile.py" foreign "$control"
}
