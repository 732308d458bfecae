#!/bin/bash
# base.sh -- builds hutch of another commit, for guard.py, and prints the folder with its programs.
#
#	tests/bench/base.sh [COMMIT]
#
# COMMIT is by default the newest tag before HEAD or, without one, HEAD's twentieth ancestor.  The
# programs are kept by the commit's hash in /var/cache/hutch-tests for root, else in
# ~/.cache/hutch-tests, and so is the log of the build.  The exit status is 2 if there is no such
# commit, and 1 for any other failure.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/hutch-tests
[ "$(id -u)" != 0 ] || cache=/var/cache/hutch-tests

fail() {
	echo "bench-guard: $1" >&2
	exit "${2:-1}"
}

wanted=${1:-$(git -C "$top" describe --tags --abbrev=0 HEAD^ 2>/dev/null || echo HEAD~20)}
commit=$(git -C "$top" rev-parse --verify --quiet --end-of-options "$wanted^{commit}") ||
	fail "there is no commit $wanted here: name one, as in BASE=HEAD~5, or fetch more of the history" 2
kept=$cache/bench-$commit-$(uname -m)

# build FOLDER: the sources go again, since a build has 200 MB of objects.
build() {
	mkdir -p "$1/source" && git -C "$top" archive "$commit" | tar -x -C "$1/source" &&
		env -u MAKEFLAGS -u MAKELEVEL make -C "$1/source" -j2 all &&
		cp -r "$1/source/build/hutch" "$1/source/build/libexec" "$1" && rm -rf "$1/source" &&
		chmod -R a+rX "$1"
}

mkdir -p "$cache" || fail "the folder $cache for builds cannot be made"
exec 9>"$kept.lock" && flock 9 || fail "$kept.lock cannot be locked"
if [ ! -d "$kept" ]; then
	echo "# building $commit, once; the log is $kept.log" >&2
	rm -rf --one-file-system "$kept.part" && build "$kept.part" >"$kept.log" 2>&1 </dev/null 9>&- &&
		mv "$kept.part" "$kept" || fail "$commit could not be built: see $kept.log"
fi
echo "$kept"
