#!/bin/bash
# run.sh: crun's own tests in Python with a given runtime.
#
#	RUNTIME=/path/to/a/runtime tests/engines/crun/run.sh
#
# RUNTIME (default: crun, then runc and the newest runc behind without_flags.sh) is the program to
# test.  The tests are of the crun whose source the SUITE (default: trixie) of Debian has.  Runs as root.  Prints TAP; the
# whole output is kept in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"

# Only the tests' own program is compiled; its config.h says which headers Debian has.
build() {
	debian_source crun "$suite" "$1" || return
	cd "$1/source/tests" &&
		printf '#define %s 1\n' HAVE_SECCOMP HAVE_LINUX_IOPRIO_H >config.h &&
		gcc -static -w -I. -o init init.c -lseccomp
}

test_runtime() {
	local name=$1 runtime=$2 folder=$logs/crun-$1 log
	rm -rf "$folder" && mkdir -p "$folder" || exit
	for file in "$tests"/test_*.py; do
		log=$folder/$(basename "$file" .py).log
		# A file that ends early leaves a folder behind, whose name it chooses by its pid.  The name
		# is short, since sockets are in it (unix(7)).
		(cd "$(mktemp -d -p "$work" XXX)" && apart env INIT="$tests/init" OCI_RUNTIME="$runtime" TMPDIR="$work" \
			PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
			timeout -k 5 120 /usr/bin/python3 "$file") >"$log" 2>"$log.err" </dev/null
	done
	cat "$folder"/*.log >"$folder.tap"
	counted "crun $version tests" "$name" "$(tally "$folder.tap")"
	sed -n "s/^not ok [0-9]* - /# $name, not: /p" "$folder.tap"
}

needs_root
suite=${SUITE:-trixie}
cached "crun-$suite" build || give_up "crun's tests could not be built: see $cache/crun-$suite.log"
built "crun-$suite"
work_new
tests=$cache/crun-$suite/source/tests
version=$(sed -n 's/^\* crun-//p' "$tests/../NEWS" | head -n 1)
if [ -n "${RUNTIME:-}" ]; then
	test_runtime "$(program_name "$RUNTIME")" "$(program_path "$RUNTIME")"
else
	test_runtime "$(program_name crun)" "$(command -v crun)"
	for runc in $(references); do
		[ "$runc" != crun ] || continue
		export WITHOUT=$runc
		test_runtime "$(program_name "$runc")" "$engines/crun/without_flags.sh"
	done
fi
plan
