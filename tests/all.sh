#!/bin/bash
# Runs tiers of tests and adds up what they print.
#
#	tests/all.sh [--build DIR] [--sanitized DIR] TIER...
#
# Tiers: unit, inside (unit, in a sandbox), run, run-root (all of run, as whoever starts
# it), sanitized (run, of the build that --sanitized names), run-sanitized (with those that
# the former leaves out for their length), escape, endure, fuzz, vm,
# vm-systemd, vm-qemu and packages (for root), and soak: the long form of what run and
# endure do briefly.  Prints TAP; the last line is "N passed, N failed", with
# ", N skipped" where something was.  A skip says why, and
# with MUST_WORK=1 (set in CI) it is a failure, unless "this host has no" what it needs.
# Started by root, everything runs as an ordinary user first, whom this makes
# (hutch-test), and unit, escape and what of run is about launches once more as root.
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

stage='' log=$(mktemp) user='' whole='' as_user=() in_memory=()
cleanup() {
	rm -f "$log" "$log.done" "$log.skipped"
	[ -z "$stage" ] || rm -rf "$stage"
}
trap cleanup EXIT

# A test user, and a copy of the tree that it may read wherever ours is.
prepare_user() {
	user=hutch-test
	id $user >/dev/null 2>&1 || useradd --create-home $user || exit 1
	stage=$(mktemp -d /var/tmp/hutch-stage.XXXXXX) && chmod 755 "$stage"
	local parts=("${build#"$top"/}")
	(cd "$top" && {
		git ls-files --cached --others --exclude-standard 2>/dev/null || find . -path "./${parts[0]}" -prune -o -type f -print
		find "${parts[@]}" -type f ! -name '*.[od]'
	} | sort -u | tar -cf - -T - --ignore-failed-read 2>/dev/null) | tar -C "$stage" -xf -
	chmod -R a+rX "$stage"
	# With a clean environment and the user's own folders.
	as_user=(setpriv --reuid "$(id -u $user)" --regid "$(id -g $user)" --init-groups
		--reset-env env HOME="$(getent passwd $user | cut -d: -f6)" USER=$user
		LOGNAME=$user PATH="$PATH" MUST_WORK="${MUST_WORK:-}" CI="${CI:-}")
	# The first pass has the disk's /tmp; those of root and with sanitizers have one in
	# memory, so that two file systems are seen, and it is done sooner.
	! has_attributes || in_memory=(unshare --mount sh -c
		'mount -t tmpfs -o mode=1777 tmpfs /tmp && exec "$@"' -)
}

# Whether tmpfs can have what layers of images need (Linux 6.6).
has_attributes() {
	local file rc
	file=$(mktemp /dev/shm/hutch.XXXXXX) && setfattr -n user.hutch -v 1 "$file" 2>/dev/null
	rc=$?
	rm -f "$file"
	return $rc
}

# suite NAME COMMAND...: a program that prints TAP.  Suites start in the order in which
# they are named, as many at a time as there are places: two for each core, since they
# wait half of their time, and three where they wait most of it.  What they said is told
# in the same order.
names=() outs=() told=0 places=0 aside=()
suite() {
	while [ "$(running)" -ge "$places" ]; do
		wait -n
		tell_ended
	done
	begin "$@"
}
# In no place of the others: it waits most of its time, or is to be beside all that comes.
suite_aside() {
	begin "$@"
	aside+=($!)
}
running() {
	jobs -rp | grep -cvxFf <(printf '%s\n' "${aside[@]:-none}")
}
begin() {
	local out
	out=$(mktemp)
	names+=("$1") outs+=("$out")
	shift
	run_suite "$out" "$@" &
}
run_suite() {
	local out=$1 TIMEFORMAT='%0R %0U %0S'
	shift
	{ time "$@" >"$out" 2>&1 </dev/null; } 2>"$out.ending"
	echo "$?" >>"$out.ending"
	mv "$out.ending" "$out.end"
}
tell_ended() {
	while [ "$told" -lt ${#outs[@]} ] && [ -e "${outs[told]}.end" ]; do
		tell_suite "${names[told]}" "${outs[told]}"
		told=$((told + 1))
	done
}

# One that ends badly without having said so has failed once more.
tell_suite() {
	local name=$1 out=$2 rc took user system
	{ read -r took user system && read -r rc; } < <(tail -n 2 "$out.end")
	echo "# $name"
	head -n -2 "$out.end" | sed 's/^/# /' # what the shell says of one that was killed
	# cmocka marks what it skips as "not ok N # SKIP test".
	sed -e 's/^not \(ok [0-9]*\) # SKIP \(.*\)/\1 - \2 # SKIP/' "$out" |
		sed -E "s/^((not )?ok [0-9]+)( - | )/\1 - $name: /" | tee -a "$log"
	if [ "$rc" -ne 0 ] && ! grep '^not ok' "$out" | grep -qv '# SKIP'; then
		echo "not ok - $name: ended with code $rc" | tee -a "$log"
	fi
	if [ "$rc" -eq 0 ] && ! grep -qE '^(ok|not ok .*# SKIP)' "$out"; then
		echo "not ok - $name: ran no test" | tee -a "$log"
	fi
	((took < 10)) || echo "# $name took $took s, $user in programs and $system in the kernel"
	rm -f "$out" "$out.end"
}

unit() {
	local dir=$1 label=$2 t how
	shift 2
	for t in "$dir"/tests/unit/*; do
		# What needs a kernel with cgroup controllers is run by the vm tier.
		[ -x "$t" ] && [ "$(basename "$t")" != cgroup ] || continue
		# These only reckon, whoever does it.
		case $label:$(basename "$t") in
		*root*:compile_rules | *root*:editor | *root*:inflate | *root*:learn_paths | \
			*root*:screen_hostile | *root*:split) continue ;;
		esac
		how=suite
		case $(basename "$t") in everyone | session) how=suite_aside ;; esac # they wait
		$how "$label $(basename "$t")" "$@" env CMOCKA_MESSAGE_OUTPUT=TAP "$t"
	done
}

# In a sandbox, as make demo has them: whatever they need must be there too.  Left out are
# those that take longest and have nothing to find there.
inside() {
	local t
	for t in "$built"/tests/unit/*; do
		case $(basename "$t") in
		archive_pack | archive_unpack | cgroup | changes | compile_rules | everyone | executor | \
			processes_many | relay | screen_hostile | session | split | walk) continue ;;
		esac
		[ -x "$t" ] || continue
		suite "unit (inside) $(basename "$t")" "${as_user[@]}" "$built/hutch" run \
			--workspace "$base:ro" -e CMOCKA_MESSAGE_OUTPUT=TAP -- "${t#"$base"/}"
	done
}

run() {
	local dir=$1 label=$2 t how
	shift 2
	for t in "$base"/tests/run/*.bats; do
		how=suite
		case $label$whole:$(basename "$t" .bats) in
		# What sanitizers see is not in texts, and not when it is ended.
		*sanitized*:apparmor | *sanitized*:completion | *sanitized*:docs | \
			*sanitized*:doctor | *sanitized*:killed | *sanitized*:walls | \
			*sanitized*:pool | *sanitized*:sdk | *sanitized*:why) continue ;;
		# Long, and mostly of code that others run, too.
		*sanitized*\):cp | *sanitized*\):edit | *sanitized*\):errand | \
			*sanitized*\):image_pull | *sanitized*\):image_store | \
			*sanitized*\):learn | *sanitized*\):volumes) continue ;;
		# How one talks to the inside is the same whoever has started it.
		*root*\):act | *root*\):completion | *root*\):control | *root*\):control_hostile | \
			*root*\):day | *root*\):docs | *root*\):edit | *root*\):errand | *root*\):git | *root*\):grep | \
			*root*\):image_pull | *root*\):log | *root*\):logs | *root*\):ports | *root*\):processes | \
			*root*\):session | \
			*root*\):session_rows | *root*\):stream | *root*\):terminal | \
			*root*\):walls | *root*\):window) continue ;;
		# These wait more than they do anything.
		*:control | *:control_hostile | *:day | *:edit | *:errand | *:learn | *:session)
			how=suite_aside ;;
		esac
		$how "$label $(basename "$t" .bats)" "$@" env HUTCH="$dir/hutch" \
			BUILD="$dir" bats --tap "$t"
	done
}

# The tests that repeat, as often as it takes to trust them.
soak() {
	local dir=$1 label=$2
	shift 2
	suite "$label" "$@" env HUTCH="$dir/hutch" BUILD="$dir" ROUNDS=500 LAUNCHES=10000 \
		bats --tap "$base/tests/run/killed.bats"
	suite "$label endure" endure_for "${ENDURE_SECONDS:-900}" 0.05 "$dir" "$@"
}

# Random clients at a dozen sandboxes, for a time, each with a pause of so many seconds
# between what it does.
endure_for() {
	local seconds=$1 pace=$2 dir=$3
	shift 3
	"$@" env PYTHONDONTWRITEBYTECODE=1 ENDURE_SECONDS="$seconds" ENDURE_PACE="$pace" ${SEED:+SEED="$SEED"} \
		python3 "$base/tests/endure/soak.py" "$dir/hutch"
}

escape() {
	local dir=$1 label=$2
	shift 2
	suite "$label" "$@" env HUTCH="$dir/hutch" PROBE="$dir/tests/probe" \
		LISTENER="$dir/tests/listener" "$base/tests/escape/run.sh" check
}

# For who reads: the same probes in hutch, in bwrap and outside.
escape_table() {
	local table rc
	table=$("$@" env HUTCH="$built/hutch" PROBE="$built/tests/probe" \
		LISTENER="$built/tests/listener" "$base/tests/escape/run.sh" table)
	rc=$?
	[ $rc -ne 0 ] || echo "ok 1 - drawn"
	sed 's/^/# /' <<<"$table"
	return $rc
}

fuzz() {
	local t name seconds
	for t in "$top"/tests/fuzz/fuzz_*.c; do
		name=$(basename "$t" .c) name=${name#fuzz_}
		# What an agent says gets longer; FUZZ_SECONDS=3600 is for a night.
		seconds=1
		[ "$name" != action ] || seconds=15
		suite "fuzz $name" fuzz_one "$name" "${FUZZ_SECONDS:-$seconds}"
	done
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

# Debian is installed once, by root, and kept by the list of its packages; the user gets
# a tar of it.
packages() {
	. "$top/tests/vm/image.sh"
	image_base adduser && tar -C "$base" -cf "$stage/debian.tar" . || return
	cd "$stage" || return
	"${as_user[@]}" env HUTCH="$built/hutch" BUILD="$built" DEBIAN="$stage/debian.tar" \
		bats --tap "$stage/tests/packages/packages.bats"
}

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
	vm-* | soak) places=1 ;; # these take all there is
	unit | inside) places=$(($(nproc) * 3)) ;;
	*) places=$(($(nproc) * 2)) ;;
	esac
	case $tier in
	unit)
		unit "$built" unit "${as_user[@]}"
		[ -z "$user" ] || unit "$built" "unit (root)" "${in_memory[@]}"
		[ -z "$sanitized" ] || unit "$clean" "unit (sanitized)" "${in_memory[@]}" "${as_user[@]}"
		;;
	inside) inside ;;
	run)
		run "$built" run "${as_user[@]}"
		[ -z "$user" ] || run "$built" "run (root)" "${in_memory[@]}"
		;;
	run-root) whole=,all run "$built" "run (root)" "${in_memory[@]}" ;;
	run-sanitized)
		whole=,all run "$clean" "run (sanitized)" "${in_memory[@]}" "${as_user[@]}"
		;;
	sanitized) run "$clean" "run (sanitized)" "${in_memory[@]}" "${as_user[@]}" ;;
	escape)
		escape "$built" escape "${as_user[@]}"
		[ -z "$user" ] || escape "$built" "escape (root)"
		suite "escape table" escape_table "${as_user[@]}"
		;;
	endure)
		suite_aside endure endure_for "${ENDURE_SECONDS:-300}" 0.7 "$built" "${as_user[@]}"
		[ -z "$sanitized" ] || suite_aside "endure (sanitized)" \
			endure_for "${ENDURE_SECONDS:-30}" 0.05 "$clean" "${as_user[@]}"
		;;
	fuzz) fuzz ;;
	vm-systemd) suite "vm with systemd" "$top/tests/vm/systemd.sh" --build "$build" ;;
	vm-qemu) suite "vm in qemu" "$top/tests/vm/qemu.sh" --build "$build" ;;
	packages)
		[ -n "$user" ] || {
			echo "packages: debootstrap needs root" >&2
			exit 2
		}
		suite packages packages
		;;
	vm) suite vm "${as_user[@]}" tests/vm/run.sh --build "$built" ;;
	soak)
		soak "$built" soak "${as_user[@]}"
		[ -z "$user" ] || soak "$built" "soak (root)"
		;;
	*) echo "unknown tier $tier" >&2; exit 2 ;;
	esac
done

wait
tell_ended

# What one pass skips and another one does, as root or with other ids, is done.
key() {
	sed -e 's/^ok [0-9]* - //' -e 's/ (root)//; s/ (sanitized)//; s/ (inside)//' -e 's/ # [Ss][Kk][Ii][Pp].*//'
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
# What failed comes last, with the beginning of what it said, and then by name only: that
# is what a reader looks for, who may have no more than the end of it.
if grep -q '^not ok' "$log"; then
	echo "# failed:"
	sed -n '/^not ok/,/^\(ok\|1\.\.\)/{/^\(ok\|1\.\.\)/d;s/^/# /;p}' "$log" |
		awk '/^# not ok/ { said = 0 } said++ < 30' | cut -c1-300
	grep '^not ok' "$log" | cut -c1-300 | sed 's/^/# /'
fi
if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
