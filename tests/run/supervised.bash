# supervised.bash -- a sandbox for clients of its control socket, $control, whose pid 1 is
# $inner.  `load supervised` behind `load helpers`.
#
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the files that load it

setup() {
	begin
	# In a runtime folder, since the path of a socket is short.
	"$BUILD/libexec/hutch-supervise" box >out 3>&-
	control=$(find_control)
	inner=$(grep -o '"pid":[0-9]*' "${control%/*}/info" | cut -d: -f2)
}

# Root's sandbox is that of whom it stands for, in whose state folder it is.  The user may have
# another "box" in there.
find_control() {
	local folder
	for folder in "$XDG_RUNTIME_DIR/hutch" "/run/user/$who/hutch" "/tmp/hutch-$who"; do
		[[ ! -S $folder/box/control.sock ]] || { echo "$folder/box/control.sock" && return; }
	done
}

# With its pid 1 it ends, also one that does not listen.
teardown() {
	if [[ -S $control ]]; then
		kill -KILL "$inner"
		until_true is_tidy
	fi
	end
}

is_tidy() {
	[[ ! -e ${control%/*} && -z $(ls -A "${control%/*/*}/.tmp") ]]
}
