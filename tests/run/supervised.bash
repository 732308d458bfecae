# supervised.bash -- starts a sandbox for clients of its control socket,
# $control; its pid 1 is $inner.  `load supervised` comes after `load helpers`.
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the files that load it

setup() {
	begin
	# In a runtime folder, since the path of a socket must be short.
	"$BUILD/libexec/hutch-supervise" box >out 3>&-
	control=$(find_control)
	inner=$(grep -o '"pid":[0-9]*' "${control%/*}/info" | cut -d: -f2)
}

# Root's sandbox belongs to the user that it stands for, and is in that user's
# state folder, which may have another "box".
find_control() {
	local folder
	for folder in "$XDG_RUNTIME_DIR/hutch" "/run/user/$who/hutch" "/tmp/hutch-$who"; do
		[[ ! -S $folder/box/control.sock ]] || { echo "$folder/box/control.sock" && return; }
	done
}

# The sandbox ends with its pid 1, even if it does not react to requests.
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
