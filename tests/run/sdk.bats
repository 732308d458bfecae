#!/usr/bin/env bats
# Runs the tests of the Python SDK (sdk/python) with the oldest Python of this host, from 3.9 on,
# and with the newest.  The site-packages of the host are not used.

load helpers

setup() {
	begin
	export XDG_DATA_HOME=$T/home/data PYTHONDONTWRITEBYTECODE=1 HUTCH
	room home/data
	sdk=$top/sdk/python
}

teardown() {
	remove_boxes
	end
}

# pythons: lists the Python interpreters of this host, and those of this user in pyenv, sorted by
# version.
pythons() {
	local home python
	home=$(getent passwd "$EUID" | cut -d: -f6)
	for python in /usr/bin/python3 /usr/bin/python3.[0-9]* /usr/local/bin/python3.[0-9]* "$home"/.pyenv/versions/3.*/bin/python3; do
		[[ -x $python && $python != *-config ]] || continue
		"$python" -SE "$here/sdk.py" 2>/dev/null
	done | sort -n | uniq | cut -d' ' -f2
}

tests_with() {
	(cd "$sdk/tests" && "$@" -SE -W error::ResourceWarning -m unittest discover)
}

# as_ordinary PYTHON: runs the tests as the user $who.  If PYTHON is below root's home, which that
# user may not read, it is mounted elsewhere.
# shellcheck disable=SC2016 # what is quoted is the inner shell's
as_ordinary() {
	local python=$1
	if is_root && [[ $python == */.pyenv/* ]]; then
		mkdir "$T/python"
		tests_with unshare --mount sh -c 'mount --bind "$1" "$2/python" && shift 2 && exec "$@"' - \
			"${python%/bin/*}" "$T" setpriv --reuid "$who" --regid "$who" --clear-groups \
			env LD_LIBRARY_PATH="$T/python/lib" "$T/python/bin/${python##*/}"
	else
		tests_with as_who "$python"
	fi
}

@test "the SDK does what its tests say, on the newest Python of this host" {
	tests_with "$(pythons | tail -n 1)"
}

@test "the SDK does what its tests say to an ordinary user, on the oldest Python of this host" {
	local oldest
	oldest=$(pythons | head -n 1)
	is_root || [[ $oldest != "$(pythons | tail -n 1)" ]] || skip "this host has no other Python than $oldest"
	as_ordinary "$oldest"
}
