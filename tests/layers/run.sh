#!/bin/bash
# run.sh -- checks that each wall is tested: it leaves out one wall at a time,
# and the test that is named with the wall must fail.
#
#	run.sh [--build DIR] [LAYER...]
#
# The rows of layers.tsv say which text of a source is replaced in a copy of the
# tree, which is then built.  Walls stand behind one another, so many tests
# check that a wall is there, and not that an attack gets through without it.
# Prints TAP; the last line is "N passed, N failed".  As root the tests run as
# the ordinary user hutch-test.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build
[ "${1:-}" != --build ] || { build=$(cd "$2" && pwd) && shift 2; }
place=$(mktemp -d /var/tmp/hutch-layers.XXXXXX)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"

as_user=()
if [ "$(id -u)" = 0 ]; then
	id hutch-test >/dev/null 2>&1 || useradd --create-home hutch-test || exit 1
	as_user=(setpriv --reuid hutch-test --regid hutch-test --init-groups --reset-env
		env HOME="$(getent passwd hutch-test | cut -d: -f6)" USER=hutch-test LOGNAME=hutch-test)
fi

# copy_tree: copies the build, too, so that up-to-date objects are not built again.
copy_tree() {
	(cd "$top" && git ls-files -z --cached --others --exclude-standard | tar -cf - --null -T -) |
		tar -C "$place" -xf - && cp -a "$build" "$place/build"
}

# replaced FILE OLD NEW: replaces OLD, which must occur exactly once.
replaced() {
	python3 - "$@" <<-'END'
		import sys
		path, old, new = (arg.encode().decode("unicode_escape") for arg in sys.argv[1:])
		text = open(path).read()
		if text.count(old) != 1:
		    sys.exit(f"{path}: {text.count(old)} times: {old}")
		open(path, "w").write(text.replace(old, new))
	END
}

built() {
	make -s -C "$place" -j"$(nproc)" all "${@:-all}" >"$place/make.log" 2>&1 && chmod -R a+rX "$place"
}

# test_of NAME: "escape:A PART OF ITS NAME", "unit/NAME", or "run/FILE:A PART OF
# ITS NAME"; with "root:" before it, the test runs as the user who started
# run.sh, else as hutch-test.
test_of() {
	local file=${1#*/} as_user=("${as_user[@]}")
	[[ $1 != root:* ]] || as_user=()
	case ${1#root:} in
	escape:*) "${as_user[@]}" env HUTCH="$place/build/hutch" PROBE="$place/build/tests/probe" \
		LISTENER="$place/build/tests/listener" "$place/tests/escape/run.sh" check |
		grep -e " ${1#escape:}" ;;
	unit/*) "${as_user[@]}" env CMOCKA_MESSAGE_OUTPUT=TAP "$place/build/tests/unit/$file" ;;
	run/*) "${as_user[@]}" env HUTCH="$place/build/hutch" BUILD="$place/build" \
		timeout 600 bats --tap -f "${file#*:}" "$place/tests/run/${file%%:*}.bats" ;;
	esac 2>&1 </dev/null
}

# Without a wall a sandbox can outlive its test.  Its processes are found by
# their executor: no process outside of this copy of the tree runs it.
end_what_is_left() {
	local process
	for process in /proc/[0-9]*; do
		[[ ! $process/exe -ef $place/build/libexec/hutch-executor ]] || kill -KILL "${process#/proc/}"
	done
}

# red TEST: prints the name of the first test that fails.
red() {
	local target=''
	case $1 in unit/*) target=build/tests/$1 ;; esac
	built $target || { echo "it is not built: $(grep -m 1 error "$place/make.log")"; return 1; }
	(cd "$place" && test_of "$1") | grep '^not ok' | grep -v '# SKIP' | head -n 1 | grep .
}

copy_tree && built || { cat "$place/make.log"; exit 1; }
number=0 passed=0 failed=0
while IFS=$'\t' read -r layer file old new test; do
	[[ $layer != '#'* && -n $layer ]] || continue
	[ $# -eq 0 ] || [[ " $* " == *" $layer "* ]] || continue
	number=$((number + 1))
	cp -p "$place/$file" "$place/kept"
	if replaced "$place/$file" "$old" "$new" && told=$(red "$test"); then
		echo "ok $number - without $layer: ${told#not }"
		passed=$((passed + 1))
	else
		echo "not ok $number - without $layer no test of $test fails ${told:-}"
		failed=$((failed + 1))
	fi
	end_what_is_left
	cp "$place/kept" "$place/$file"
done <"$top/tests/layers/layers.tsv"
echo "1..$number"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
