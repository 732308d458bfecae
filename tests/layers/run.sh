#!/bin/bash
# run.sh -- checks that each layer is tested: it leaves out one layer at a time,
# and each test that is named with the layer must fail.
#
#	run.sh [--build DIR] [LAYER...]
#
# README.md says what a layer is.  The sources are changed in a copy of the tree,
# which is built anew for each.  A test that fails with all layers in place would
# show nothing, so the tests must first pass.  Prints TAP; the last line is
# "N passed, N failed".  As root the tests run as the ordinary user hutch-test.
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

# copy_tree: copies the tree and also its build, so that up-to-date objects are not built again.
copy_tree() {
	(cd "$top" && git ls-files -z --cached --others --exclude-standard | tar -cf - --null -T -) |
		tar -C "$place" -xf - && cp -a "$build" "$place/build"
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

# end_what_is_left: kills the sandboxes that outlived their tests, as may happen where a
# layer is left out.  They are found by their executor, which is the file in this copy
# of the tree.
end_what_is_left() {
	local process
	for process in /proc/[0-9]*; do
		[[ ! $process/exe -ef $place/build/libexec/hutch-executor ]] || kill -KILL "${process#/proc/}"
	done
}

# results TEST: builds what the test needs, and prints the lines of those that ran.
results() {
	local target=''
	case $1 in unit/*) target=build/tests/$1 ;; esac
	built $target || { echo "# not built: $(grep -m 1 error "$place/make.log")" >&2; return 1; }
	(cd "$place" && test_of "$1") | grep -E '^(not )?ok' | grep -vi '# skip'
}

passes() {
	local lines
	lines=$(results "$1") && ! grep -m 1 '^not ok' <<<"$lines"
}

fails() {
	local lines
	lines=$(results "$1") && grep -m 1 '^not ok' <<<"$lines"
}

# judged CLAIM COMMAND...: prints whether the claim holds, and the test that the command printed.
judged() {
	local verdict=ok said
	said=$("${@:2}") || { verdict='not ok' && failed=$((failed + 1)); }
	number=$((number + 1))
	echo "$verdict $number - $1${said:+: ${said#not ok * }}"
}

# selected [LAYER...]: prints the rows of these layers, or of all.
selected() {
	local layer rest
	while IFS=$'\t' read -r layer rest; do
		[[ $layer != '#'* ]] || continue
		[ $# -eq 0 ] || [[ " $* " == *" $layer "* ]] || continue
		printf '%s\t%s\n' "$layer" "$rest"
	done <"$top/tests/layers/layers.tsv"
}

# without LAYER TEXT TEST...
without() {
	local file test
	file=$(cd "$top" && git grep --untracked -lE "layer: $1( \*/|\",)" -- '*.[ch]' '*.json' ':!tests')
	cp -p "$place/$file" "$place/kept"
	python3 -SE "$top/tests/layers/patch.py" "$place/$file" "$1" "$2"
	for test in "${@:3}"; do
		judged "without $1 $test fails" fails "$test"
		end_what_is_left
	done
	cp "$place/kept" "$place/$file"
}

copy_tree && built || { cat "$place/make.log"; exit 1; }
number=0 failed=0
mapfile -t tests < <(selected "$@" | cut -f 3- | tr '\t' '\n' | sort -u)
for test in "${tests[@]}"; do
	judged "with all layers $test passes" passes "$test"
done
mapfile -t rows < <(selected "$@")
for row in "${rows[@]}"; do
	IFS=$'\t' read -ra fields <<<"$row"
	without "${fields[@]}"
done
echo "1..$number"
echo "$((number - failed)) passed, $failed failed"
[ "$number" -gt 0 ] && [ "$failed" = 0 ]
