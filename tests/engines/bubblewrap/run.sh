#!/bin/bash
# run.sh: bubblewrap's own tests with the bwrap that they belong to, with Debian's, and with BWRAP.
#
#	BWRAP=/path/to/a/bwrap tests/engines/bubblewrap/run.sh
#
# BWRAP (default: Debian's and upstream's) is the program to test.  The tests are of the newest
# bubblewrap whose source the SUITE (default: trixie) of Debian has.  They run as the ordinary
# user.  Prints TAP; the whole output is kept in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"

suites="test-run.sh test-sandbox.py test-seccomp.py test-specifying-pidns.sh test-specifying-userns.sh"

build() {
	debian_source bubblewrap "$suite" "$1" &&
		meson setup "$1/build" "$1/source" -Dtests=true -Dman=disabled -Dselinux=disabled \
			-Dbash_completion=disabled -Dzsh_completion=disabled &&
		ninja -C "$1/build" -j2
}

# run_suites NAME BWRAP: test-run.sh ends at its first failure, the others do not.
run_suites() {
	local name=$1 log
	for file in $suites; do
		log=$logs/bubblewrap-$name-$file.log
		as_user env G_TEST_SRCDIR="$tests/source" G_TEST_BUILDDIR="$tests/build" BWRAP="$2" \
			BWRAP_MUST_WORK=1 timeout 300 "$(interpreter "$file")" "$tests/source/tests/$file" \
			>"$log" 2>"$log.err" </dev/null
		counted "bubblewrap $version $file" "$name" "$(tally "$log")"
	done
}

interpreter() {
	case $1 in
	*.py) echo /usr/bin/python3 ;;
	*) echo bash ;;
	esac
}

suite=${SUITE:-trixie}
is_kept "bubblewrap-$suite" || { needs meson meson && needs ninja ninja-build; }
cached "bubblewrap-$suite" build || give_up "bubblewrap's source could not be built: see $cache/bubblewrap-$suite.log"
built "bubblewrap-$suite"
work_new
tests=$cache/bubblewrap-$suite
version=$("$tests/build/bwrap" --version)
version=${version#bubblewrap }
if [ -n "${BWRAP:-}" ]; then
	run_suites "$(program_name "$BWRAP")" "$(program_path "$BWRAP")"
else
	needs bwrap bubblewrap
	run_suites "bwrap $version" "$tests/build/bwrap"
	debian=$(bwrap --version)
	run_suites "bwrap ${debian#bubblewrap }" "$(command -v bwrap)"
fi
plan
