#!/bin/bash
# venv.sh FILE: makes the virtual environment of the clients that tests/run/agents.bats drives, with
# the packages of smoke.txt, and writes its folder into FILE, or "none: " and the reason why there
# is none.  It is made once for each smoke.txt and Python, in a folder that outlives the build.
#
# OpenHands needs Python 3.12 or later.  Where the host's own is older, a Python of pyenv's will do,
# and without one OpenHands is left out.  Root's is copied if the ordinary user may not read it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" = 0 ]; then
	cache=/var/cache/hutch-tests
else
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/hutch-tests
fi

# find_python: prints the path of the Python to use.
find_python() {
	local one
	for one in python3 python3.13 python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[23].*/bin/python3; do
		"$one" -c 'import sys; sys.version_info < (3, 12) and sys.exit(1); print(sys.executable)' \
			2>/dev/null && return
	done
	PATH=/usr/local/bin:/usr/bin:/bin command -v python3
}

# copied_python PYTHON FOLDER: prints the path of a Python that every user may read: PYTHON, or a
# copy of it in FOLDER.
copied_python() {
	local base name
	base=$("$1" -c 'import sys; print(sys.base_prefix)') &&
		name=$("$1" -c 'import sys; print("python%d.%d" % sys.version_info[:2])') || return
	if [ "$(id -u)" != 0 ] || setpriv --reuid 65534 --clear-groups test -r "$base/lib/$name/os.py"; then
		echo "$1"
		return
	fi
	mkdir -p "$2/bin" "$2/lib" &&
		cp "$base/bin/$name" "$2/bin" &&
		{ [ ! -e "$base/lib/lib$name.so.1.0" ] || cp "$base/lib/lib$name.so.1.0" "$2/lib"; } &&
		tar -C "$base/lib" --exclude=site-packages --exclude=test --exclude='config-*' -c "$name" |
		tar -C "$2/lib" -x &&
		"$1" -c "$find_beside" "$base" "$2/bin/$name" &&
		echo "$2/bin/$name"
}

# The program has the folder of its library in it, which is now the one beside it.
find_beside='
import pathlib, sys
old, file = sys.argv[1].encode() + b"/lib\0", pathlib.Path(sys.argv[2])
file.write_bytes(file.read_bytes().replace(old, b"$ORIGIN/../lib".ljust(len(old), b"\0")))'

# make FOLDER PYTHON: uv finds and unpacks packages in a fraction of pip's time.
make() {
	local python
	rm -rf "$1" && mkdir -p "$1" &&
		python=$(copied_python "$2" "$1/python") &&
		"$python" -m venv "$1/venv" &&
		"$1/venv/bin/pip" install -q --disable-pip-version-check "$(grep '^uv==' "$here/smoke.txt")" &&
		"$1/venv/bin/uv" pip install -q --no-deps --no-cache --compile-bytecode \
			--python "$1/venv/bin/python" -r "$here/smoke.txt" &&
		chmod -R a+rX "$1" && : >"$1/made"
}

python=$(find_python)
mkdir -p "$cache"
key=$({ cat "$here/smoke.txt" "$0" && "$python" -VV && echo "$python"; } | sha256sum | cut -c1-16)
exec 9>"$cache/lock"
flock 9
folder=$cache/agents-$key
if [ -e "$folder/made" ] || make "$folder" "$python" >"$cache/log" 2>&1; then
	touch "$folder"
	find "$cache" -maxdepth 1 -name 'agents-*' -mtime +30 -exec rm -rf {} +
	echo "$folder/venv" >"$1"
else
	echo "none: $(tail -n 1 "$cache/log")" >"$1"
fi
