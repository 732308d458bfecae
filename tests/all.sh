#!/bin/bash
# Runs tiers of tests and adds up what they print.
#
#	tests/all.sh [--build DIR] [--sanitized DIR] TIER...
#
# Tiers: unit run sanitized (what of run reads a stranger's bytes, with --sanitized) escape endure fuzz vm,
# vm-systemd and vm-qemu (for root), and soak: the long form of what run and endure do briefly.
# Prints TAP; the last line is "N passed, N failed"
# with ", N skipped" where something was.  A skip says why, and with MUST_WORK=1
# (set in CI) it is a failure, unless "this host has no" what it needs.  Started by root, everything runs as an ordinary
# user first, whom this makes (hutch-test), and then once more as root.
set -u
# Started in the background by some shell or service, SIGINT may be ignored, and what
# is ignored stays so in everything below; a test of Ctrl-C could not work.
[ -n "${DEFAULT_SIGNALS:-}" ] || DEFAULT_SIGNALS=1 exec env --default-signal "$0" "$@"
top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build sanitized='' tiers=()
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(cd "$2" && pwd); shift ;;
	--sanitized) sanitized=$2; shift ;;
	*) tiers+=("$1") ;;
	esac
	shift
done
[ -z "$sanitized" ] || sanitized=$(cd "$sanitized" && pwd)
case $build in "$top"/*) ;; *) echo "--build must be inside the tree" >&2; exit 2 ;; esac

stage='' log=$(mktemp) user=''
cleanup() {
	rm -f "$log" "$log.done" "$log.skipped"
	[ -z "$stage" ] || rm -rf "$stage"
}
trap cleanup EXIT

# A test user, and a copy of the tree that it may read wherever ours is.
prepare_user() {
	user=hutch-test
	id $user >/dev/null 2>&1 || useradd --create-home $user || exit 1
	stage=$(mktemp -d /tmp/hutch-stage.XXXXXX) && chmod 755 "$stage"
	local parts=("${build#"$top"/}")
	(cd "$top" && {
		git ls-files --cached --others --exclude-standard 2>/dev/null || find . -path "./${parts[0]}" -prune -o -type f -print
		find "${parts[@]}" -type f ! -name '*.[od]'
	} | sort -u | tar -cf - -T - --ignore-failed-read 2>/dev/null) | tar -C "$stage" -xf -
	chmod -R a+rX "$stage"
}

# as_user COMMAND...: with a clean environment and the user's own folders.
as_user() {
	if [ -z "$user" ]; then
		"$@"
		return
	fi
	local home uid
	home=$(getent passwd $user | cut -d: -f6) uid=$(id -u $user)
	setpriv --reuid "$uid" --regid "$(id -g $user)" --init-groups --reset-env \
		env HOME="$home" USER=$user LOGNAME=$user PATH="$PATH" \
		MUST_WORK="${MUST_WORK:-}" CI="${CI:-}" "${exports[@]}" "$@"
}

# suite NAME COMMAND...: one program that prints TAP.  One that ends badly without
# having said so has failed once more.
suite() {
	local name=$1 out
	shift
	out=$(mktemp)
	run_suite "$out" "$@"
	tell_suite "$name" "$out"
}

# As many at a time as there are places; what each said is told in order.
names=() outs=() pids=() places=$(nproc)
late_names=() late_outs=() late_pids=()
late_running() {
	local pid count=0
	for pid in "${late_pids[@]}"; do
		! kill -0 "$pid" 2>/dev/null || count=$((count + 1))
	done
	echo $count
}
suite_beside() {
	local out
	out=$(mktemp)
	names+=("$1") outs+=("$out")
	shift
	while [ "$(jobs -rp | wc -l)" -ge $((places + $(late_running))) ]; do wait -n; done
	run_suite "$out" "$@" &
	pids+=("$!")
}
# In no other's place: it waits for half of its time.
suite_aside() {
	places=$((places + 1))
	suite_beside "$@"
}
tell_beside() {
	local i
	[ ${#pids[@]} -eq 0 ] || wait "${pids[@]}"
	places=$(nproc)
	for i in "${!names[@]}"; do
		tell_suite "${names[i]}" "${outs[i]}"
	done
	names=() outs=() pids=()
}
# Beside all that comes, in no place, and told at the end.
suite_late() {
	local out
	out=$(mktemp)
	late_names+=("$1") late_outs+=("$out")
	shift
	run_suite "$out" "$@" &
	late_pids+=("$!")
}
tell_late() {
	names=("${late_names[@]}") outs=("${late_outs[@]}") pids=("${late_pids[@]}")
	tell_beside
}

run_suite() {
	local out=$1 begun=$SECONDS
	shift
	"$@" >"$out" 2>&1 </dev/null
	echo "$? $((SECONDS - begun))" >"$out.end"
}

tell_suite() {
	local name=$1 out=$2 rc took
	read -r rc took <"$out.end"
	echo "# $name"
	# cmocka marks what it skips as "not ok N # SKIP test".
	sed -e 's/^not \(ok [0-9]*\) # SKIP \(.*\)/\1 - \2 # SKIP/' "$out" |
		sed -E "s/^((not )?ok [0-9]+)( - | )/\1 - $name: /" | tee -a "$log"
	if [ "$rc" -ne 0 ] && ! grep '^not ok' "$out" | grep -qv '# SKIP'; then
		echo "not ok - $name: ended with code $rc" | tee -a "$log"
	fi
	if [ "$rc" -eq 0 ] && ! grep -qE '^(ok|not ok .*# SKIP)' "$out"; then
		echo "not ok - $name: ran no test" | tee -a "$log"
	fi
	((took < 10)) || echo "# $name took $took s"
	rm -f "$out" "$out.end"
}

unit() {
	local dir=$1 label=$2 t
	shift 2
	for t in "$dir"/tests/unit/*; do
		# What needs a kernel with cgroup controllers is run by the vm tier.
		[ -x "$t" ] && [ "$(basename "$t")" != cgroup ] || continue
		suite_beside "$label $(basename "$t")" "$@" env CMOCKA_MESSAGE_OUTPUT=TAP "$t"
	done
	tell_beside
}

# Nothing of a stranger's is read in these: the sanitizers need not watch.
unwatched=' codes completion defaults docs doctor environment folders hosts identity images network results stdio volumes '
# These wait most of the time, for time-outs and for ends: two for each core.
run() {
	local dir=$1 label=$2 t
	shift 2
	places=$(($(nproc) * 2))
	for t in "$base"/tests/run/*.bats; do
		[[ $dir != "$clean" || $unwatched != *" $(basename "$t" .bats) "* ]] || continue
		local how=suite_beside
		# A recorded day waits more than it does anything.
		[ "$(basename "$t")" != day.bats ] || how=suite_aside
		$how "$label $(basename "$t" .bats)" "$@" env HUTCH="$dir/hutch" \
			BUILD="$dir" bats --tap "$t"
	done
	tell_beside
}

# The tests that repeat, as often as it takes to trust them.
soak() {
	local dir=$1 label=$2
	shift 2
	suite "$label" "$@" env HUTCH="$dir/hutch" BUILD="$dir" ROUNDS=500 LAUNCHES=10000 \
		bats --tap "$base/tests/run/killed.bats"
	suite "$label endure" endure_for "${ENDURE_SECONDS:-900}" "$dir" "$@"
}

# Random clients at a dozen sandboxes, for a time.
endure_for() {
	local seconds=$1 dir=$2
	shift 2
	"$@" env PYTHONDONTWRITEBYTECODE=1 ENDURE_SECONDS="$seconds" ${SEED:+SEED="$SEED"} \
		python3 "$base/tests/endure/soak.py" "$dir/hutch"
}

escape() {
	local dir=$1 label=$2
	shift 2
	suite "$label" "$@" env HUTCH="$dir/hutch" PROBE="$dir/tests/probe" \
		LISTENER="$dir/tests/listener" "$base/tests/escape/run.sh" check
}

fuzz() {
	local t name seconds
	places=$(($(nproc) * 2))
	for t in "$top"/tests/fuzz/fuzz_*.c; do
		name=$(basename "$t" .c) name=${name#fuzz_}
		# What an agent says gets its minute; FUZZ_SECONDS=3600 is for a night.
		seconds=10
		[ "$name" != action ] || seconds=60
		suite_beside "fuzz $name" fuzz_one "$name" "${FUZZ_SECONDS:-$seconds}"
	done
	tell_beside
}

fuzz_one() {
	local work
	work=$(mktemp -d)
	cp "$top/tests/fuzz/corpus/$1"/* "$work"/
	if (cd "$work" && "$build/fuzz/$1" -max_total_time="$2" -rss_limit_mb=2048 \
		-print_final_stats=1 "$work"); then
		echo "ok 1 - nothing found in $2 s"
	else
		echo "not ok 1 - a crash, a leak or a hang"
	fi
	rm -rf "$work"
}

exports=()
base=$top
if [ "$(id -u)" = 0 ]; then
	prepare_user
	base=$stage
fi
built=$base/${build#"$top"/}
clean=$base/${sanitized#"$top"/}
cd "$base" || exit 1

for tier in "${tiers[@]}"; do
	case $tier in
	unit)
		unit "$built" unit as_user
		[ -z "$user" ] || unit "$built" "unit (root)"
		[ -z "$sanitized" ] || unit "$clean" "unit (sanitized)" as_user
		;;
	run)
		run "$built" run as_user
		[ -z "$user" ] || run "$built" "run (root)"
		;;
	sanitized) run "$clean" "run (sanitized)" as_user ;;
	escape)
		escape "$built" escape as_user
		[ -z "$user" ] || escape "$built" "escape (root)"
		as_user env HUTCH="$built/hutch" PROBE="$built/tests/probe" \
			LISTENER="$built/tests/listener" tests/escape/run.sh table
		;;
	# Beside the tiers behind it.
	endure)
		suite_late endure endure_for "${ENDURE_SECONDS:-300}" "$built" as_user
		[ -z "$sanitized" ] || suite_late "endure (sanitized)" \
			endure_for "${ENDURE_SECONDS:-60}" "$clean" as_user
		;;
	fuzz) fuzz ;;
	vm-systemd) suite "vm with systemd" "$top/tests/vm/systemd.sh" --build "$build" ;;
	vm-qemu) suite "vm in qemu" "$top/tests/vm/qemu.sh" --build "$build" ;;
	# One core is enough for it; the tier behind it has the others.
	vm) suite_beside vm as_user tests/vm/run.sh --build "$built" ;;
	soak)
		soak "$built" soak as_user
		[ -z "$user" ] || soak "$built" "soak (root)"
		;;
	*) echo "unknown tier $tier" >&2; exit 2 ;;
	esac
done

tell_beside
tell_late

# What one pass skips and another one does, as root or with other ids, is done.
key() {
	sed -e 's/^ok [0-9]* - //' -e 's/ (root)//; s/ (sanitized)//' -e 's/ # [Ss][Kk][Ii][Pp].*//'
}
left_out() {
	grep -v '# [Ss][Kk][Ii][Pp]' "$log" | grep '^ok' | key | sort -u >"$log.done"
	grep '^ok.*# [Ss][Kk][Ii][Pp]' "$log" | while IFS= read -r line; do
		key <<<"$line" | grep -qxFf - "$log.done" || printf '%s\n' "$line"
	done
}
left_out >"$log.skipped"
passed=$(grep '^ok' "$log" | grep -vic '# skip')
failed=$(grep -c '^not ok' "$log")
skipped=$(wc -l <"$log.skipped")
if [ "$skipped" -gt 0 ]; then
	echo "# skipped:"
	sed 's/^/# /' "$log.skipped"
	# What the machine itself cannot do, such as a control that needs a kernel
	# feature it has not, stays a skip.
	avoidable=$(grep -vc 'this host has no' "$log.skipped")
	if [ "${MUST_WORK:-}" = 1 ] && [ "$avoidable" -gt 0 ]; then
		failed=$((failed + avoidable)) skipped=$((skipped - avoidable))
		echo "# MUST_WORK=1: $avoidable of these count as failed"
	fi
fi
# What failed comes last, with what it said: that is what a reader looks for.
if grep -q '^not ok' "$log"; then
	echo "# failed:"
	sed -n '/^not ok/,/^\(ok\|1\.\.\)/{/^\(ok\|1\.\.\)/d;s/^/# /;p}' "$log"
fi
if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
