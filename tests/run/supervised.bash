# supervised.bash -- setup() and teardown() of tests that need a running supervisor: starts the
# sandbox box; $control is its control socket, $inner its pid 1.  `load supervised` comes after
# `load helpers`.
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the files that load it

setup() {
	begin
	supervise
}

# supervise: starts the sandbox box, and sets control and inner.
supervise() {
	# The socket is in a runtime folder with a short path, since the path of a socket has a
	# limit.
	"$HUTCH" create box >out 3>&-
	control=$(find_control)
	inner=$(grep -o '"pid":[0-9]*' "${control%/*}/info" | cut -d: -f2)
}

# find_control: prints the path of the control socket.  As root, the sandbox belongs to the user
# $who, and the socket may be in one of three folders; only the new sandbox has a socket there.
find_control() {
	local folder
	for folder in "$XDG_RUNTIME_DIR/hutch" "/run/user/$who/hutch" "/tmp/hutch-$who"; do
		[[ ! -S $folder/box/control.sock ]] || { echo "$folder/box/control.sock" && return; }
	done
}

teardown() {
	stop_supervised
	end
}

# stop_supervised: ends the sandbox.  That happens when its pid 1 is killed, even if the supervisor
# does not react to requests.
stop_supervised() {
	if [[ -S $control ]]; then
		kill -KILL "$inner"
		until_true is_tidy
	fi
}

is_tidy() {
	[[ ! -e ${control%/*} && -z $(ls -A "${control%/*/*}/.tmp") ]]
}
