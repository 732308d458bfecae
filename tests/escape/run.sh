#!/usr/bin/env bash
# run.sh -- the escape tier: the probe inside a sandbox, and its controls outside.
#
#	run.sh check	compare with expect.tsv, as TAP; exit 1 if anything differs
#	run.sh table	the same probes in hutch, in bwrap and outside, side by side
#
# Environment: HUTCH (default build/hutch), PROBE (build/tests/probe), LISTENER
# (build/tests/listener), PROBE_USER (uid of the ordinary user that root's run
# takes for the controls; default SUDO_UID, else 65534).
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath -m "$here/../../build")
hutch=$(realpath -m "${HUTCH:-$build/hutch}")
probe=$(realpath -m "${PROBE:-$build/tests/probe}")
listener=$(realpath -m "${LISTENER:-$build/tests/listener}")
# PATIENCE: how long one probe may hang.
. "$here/../patience.bash"
# shellcheck source=place.bash
. "$here/place.bash"

number=0 passed=0 failed=0 skipped=0
declare -A table_inside table_kind table_outside table_lacking table_number
declare -A table_as_root table_landlock table_nesting
declare -A flags_of result detail
table_names=() as_user=() secrets=() setting=()

fail_setup()
{
	echo "Bail out! $1" >&2
	exit 1
}

# --- what is compared -------------------------------------------------------

# is_foreign NAME: whether the calls of that probe are another processor's than this machine's.
is_foreign()
{
	[[ $HOSTTYPE != x86_64 && $1 == @(ia32-*|x32-*|iopl|ioperm) ]]
}

read_table()
{
	local num name inside kind outside lacking as_root
	while IFS=$'\t' read -r num name inside kind outside lacking as_root; do
		[[ $num == '#'* || -z $num ]] && continue
		is_foreign "$name" && continue
		[[ -n $as_root ]] || fail_setup "expect.tsv: $name has too few columns"
		table_names+=("$name")
		table_number[$name]=$num table_inside[$name]=$inside
		table_kind[$name]=$kind table_outside[$name]=$outside
		table_lacking[$name]=$lacking
		[[ $as_root == - ]] && as_root=$inside
		table_as_root[$name]=$as_root
	done <"$here/expect.tsv"
	while IFS=$'\t' read -r num name inside lacking; do
		[[ $num == '#'* || -z $num ]] && continue
		[[ -n $lacking && -n ${table_inside[$name]:-} ]] ||
			fail_setup "expect-landlock.tsv: $name has no reason, or no row in expect.tsv"
		table_landlock[$name]=$inside
	done <"$here/expect-landlock.tsv"
	while IFS=$'\t' read -r num name inside lacking; do
		[[ $num == '#'* || -z $num ]] && continue
		[[ -n $lacking && -n ${table_inside[$name]:-} ]] ||
			fail_setup "expect-nesting.tsv: $name has no reason, or no row in expect.tsv"
		table_nesting[$name]=$inside
	done <"$here/expect-nesting.tsv"
	while IFS=$'\t' read -r num name kind; do
		flags_of[$name]=$kind
	done < <("$probe" --list)
}

# names FLAG [CONTROL]: prints the probes with that flag and that kind of control.
names()
{
	local name
	for name in "${table_names[@]}"; do
		[[ ${flags_of[$name]:-} == "$1" ]] || continue
		[[ -z ${2:-} || ${table_kind[$name]} == "$2" ]] && echo "$name"
	done
}

# take WHERE: reads the probe's lines into the arrays result and detail.
take()
{
	local num name res text
	while IFS=$'\t' read -r num name res text; do
		result[$1:$name]=$res
		detail[$1:$name]=$text
	done
}

say()
{
	number=$((number + 1))
	case $1 in
	ok) passed=$((passed + 1)) && echo "ok $number - $2" ;;
	skip) skipped=$((skipped + 1)) && echo "ok $number - $2" ;;
	*) failed=$((failed + 1)) && echo "not ok $number - $2" ;;
	esac
}

matches()
{
	[[ $1 =~ ^($2)$ ]]
}

# --- where the probe runs ---------------------------------------------------

# A lower limit for the processes of a sandbox.  The kernel counts them for the user,
# too: at the usual limit, one probe could use up all 4,096 that the user's other
# sandboxes without a user namespace may have together.
bounded=(--ulimit nproc=600)

# Starts a command with an extra descriptor, a key in its session keyring and
# secrets in its environment.
tainted()
{
	"${secrets[@]}" "$probe" --role=with-key hutch-probe-host "$@" \
		9<"$base" </dev/null 2>>"$base/errors"
}

in_hutch()
{
	tainted "$hutch" run "${bounded[@]}" -v "$base/in/ro:/probe:ro" -v "$base/in/single:/single:ro" \
		"${extra[@]}" -- /probe/probe "${setting[@]}" "$@" ||
		echo "hutch run ${extra[*]}: exit status $?" >>"$base/ends"
}

# Runs the probe without namespaces: on the host's own paths, of a copy whose
# modes and times may change.  Another process of the user stands for pid 1. The
# scratch folder is the sandbox's private TMPDIR.
in_landlock()
{
	local at=$base/landlock
	tainted "$hutch" run --isolation landlock -v "$at/ro:$at/ro:ro" -v "$at/single:$at/single:ro" \
		-- sh -c 'at=$TMPDIR; unset TMPDIR PWD; exec "$@" --scratch "$at"' - \
		"$at/ro/probe" "${setting[@]}" --readonly "$at/ro" --single "$at/single" \
		--prefix "" --target "$host_pid" "$@" ||
		echo "hutch run --isolation landlock: exit status $?" >>"$base/ends"
}

in_bwrap()
{
	tainted "${as_user[@]}" bwrap --unshare-all --ro-bind /usr /usr --symlink usr/bin /bin \
		--symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc \
		--dev /dev --tmpfs /tmp --ro-bind "$base/in/ro" /probe \
		--ro-bind "$base/in/single" /single --chdir / \
		"${extra[@]}" -- /probe/probe "${setting[@]}" "$@"
}

# outside KIND NAME...: runs the control outside a sandbox; it changes only a
# copy made for it.
outside()
{
	local kind=$1 dir="$base/out-$1" who=()
	shift
	rm -rf "$dir"
	fixture "$dir"
	case $kind in
	user | rooted) who=("${as_user[@]}" setsid -w) ;;
	root) who=(unshare -m --propagation private setsid -w) ;;
	userns) who=("${as_user[@]}" unshare -Urpfmn --mount-proc --keep-caps) ;;
	esac
	(cd "$dir/scratch" && "${who[@]}" "${secrets[@]}" \
		"$dir/ro/probe" --role=with-key hutch-probe-host "$dir/ro/probe" \
		"${setting[@]}" --own-target --readonly "$dir/ro" \
		--single "$dir/single" --scratch "$dir/scratch" --prefix "" "$@" \
		9<"$base" </dev/null 2>>"$base/errors")
}

# everywhere RUN WHERE [OPTION...]: runs the probes that may run together, then
# the others one by one.
everywhere()
{
	local name extra=("${@:3}")
	take "$2" < <("$1")
	for name in $(names alone); do
		[[ $2 == landlock && ${table_landlock[$name]:-} == none:* ]] || take "$2" < <("$1" "$name")
	done
}

run_inside()
{
	local wide extra
	mapfile -t wide < <(names wide)
	extra=(-v /:/h)
	take inside < <(in_hutch "${wide[@]}")
	everywhere in_hutch inside
	extra=(-v /:/h -u root)
	take as_root < <(in_hutch "${wide[@]}")
	everywhere in_hutch as_root -u root
}

# With --nesting commands make namespaces; all that is not about those is as without.
run_nesting()
{
	local wide extra
	mapfile -t wide < <(names wide)
	extra=(-v /:/h --nesting)
	take nesting < <(in_hutch "${wide[@]}")
	everywhere in_hutch nesting --nesting
}

# Results inside an image that differ from those on the host's root: the image has no
# /root, and the filter pretends that calls that change owners and ids succeed
# (policy/seccomp/pretend.json).
declare -A of_image=([list-root-home]=absent [mknod-mem]=allowed [mknod-kmsg]=allowed
	[mknod-sda]=allowed [setgroups]=allowed [raise-ambient]=refused:EPERM)

# Runs the probe in an image that is a folder of the user, as its root.  The
# same writes must work there, in the overlay's upper, and all other results are
# as with the host's root.
run_image()
{
	local wide extra
	mapfile -t wide < <(names wide)
	extra=(-v /:/h --image "dir:$base/in/image")
	take in_image < <(in_hutch "${wide[@]}")
	everywhere in_hutch in_image --image "dir:$base/in/image"
	take image < <(tainted "$hutch" run "${bounded[@]}" --image "dir:$base/in/image" -- /self \
		--readonly /lower --single /lower/marker A20 A24 A30 H99)
}

# Checks for Landlock.  The host's root cannot be bound in this mode, so the
# probes that need it (PROBE_WIDE) do not run.
has_landlock()
{
	"$hutch" run --isolation landlock --dry-run true >/dev/null 2>&1
}

run_landlock()
{
	has_landlock || return 0
	fixture "$base/landlock"
	of_landlock=$(content_of_landlock)
	everywhere in_landlock landlock
}

run_controls()
{
	local kind name together
	for kind in user userns root rooted; do
		[[ $kind == root* ]] && ((EUID != 0)) && continue
		mapfile -t together < <(names - "$kind" && names wide "$kind")
		((${#together[@]})) && take outside < <(outside "$kind" "${together[@]}")
		for name in $(names alone "$kind"); do
			take outside < <(outside "$kind" "$name")
		done
	done
}

# --- check ------------------------------------------------------------------

check_landlock()
{
	[[ ${flags_of[$1]:-} == wide ]] && return
	if [[ ${table_landlock[$1]:-} == none:* ]]; then
		echo "# $1 is not tried with --isolation landlock: ${table_landlock[$1]#none:}"
	elif has_landlock; then
		check_inside landlock "$1" "${table_landlock[$1]:-${table_inside[$1]}}" \
			" (--isolation landlock)"
	else
		say skip "${table_number[$1]} $1 (--isolation landlock) # SKIP this host has no Landlock"
	fi
}

# check_inside WHERE NAME REGEX [SUFFIX]: prints whether the result of probe NAME in WHERE matches.
check_inside()
{
	local got=${result[$1:$2]:-nothing} label="${table_number[$2]} $2${4:-}"
	if matches "$got" "$3"; then
		say ok "$label: $got"
	else
		say no "$label: $got, not $3"
		echo "# inside: ${detail[$1:$2]:-}"
	fi
}

check_control()
{
	local kind=${table_kind[$1]} got=${result[outside:$1]:-nothing}
	local label="control ${table_number[$1]} $1"
	if [[ $kind == none:* ]]; then
		echo "# no control of $1: ${kind#none:}"
	elif [[ $kind == root* ]] && ((EUID != 0)); then
		left_to_root=$((left_to_root + 1))
	elif matches "$got" "${table_outside[$1]}"; then
		say ok "$label ($kind): $got"
	elif matches "$got" "${table_lacking[$1]}"; then
		say skip "$label ($kind): $got # SKIP this host has no such thing"
	else
		say no "$label ($kind): $got, not ${table_outside[$1]}"
		echo "# outside: ${detail[outside:$1]:-}"
	fi
}

check_names()
{
	local name strange=0
	for name in "${!flags_of[@]}"; do
		[[ -n ${table_number[$name]:-} ]] && continue
		say no "probe $name has no row in expect.tsv"
		strange=1
	done
	((strange)) || say ok "every probe has a row, ${#table_names[@]} of them"
}

# Prints the state that sandboxes must not have changed: names, contents, modes,
# times.
state_of_host()
{
	(cd "$base/in" && find . -type f -exec sha256sum {} + | sort
		find . -exec stat -c '%n %a %u %g %s %Y' {} + | sort)
}

# The same for the files of the Landlock run, whose modes and times may change.
content_of_landlock()
{
	(cd "$base/landlock" && find . -type f -exec sha256sum {} + | sort
		find . -exec stat -c '%n %u %g %s' {} + | sort)
}

# Checks that the host is unchanged after all sandboxes.
check_host()
{
	local name written=0
	for name in lower-write lower-truncate lower-unlink lower-mmap-shared; do
		[[ ${result[image:$name]:-} == allowed ]] && written=$((written + 1))
	done
	say "$( ((written == 4)) && echo ok)" \
		"A30 an image's files can be written: $written of 4"
	say "$([[ $(state_of_host) == "$before" ]] && echo ok)" \
		"A30 and the host's files are what they were"
	[[ -z $of_landlock ]] || say "$([[ $(content_of_landlock) == "$of_landlock" ]] && echo ok)" \
		"A30 and so is what they hold without namespaces"
	say "$([[ ! -e $base/ends ]] && echo ok)" "B36 every sandbox ended well"
	[[ -e $base/ends ]] && sed 's/^/# /' "$base/ends"
	say "$(kill -0 "$host_pid" 2>/dev/null && echo ok)" "B38 the host's processes live"
}

check()
{
	local name before left_to_root=0
	[[ -x $hutch ]] || fail_setup "$hutch is not there: make it, or set HUTCH"
	before=$(state_of_host)
	run_inside
	run_nesting
	run_image
	run_landlock
	run_controls
	check_names
	for name in "${table_names[@]}"; do
		check_inside inside "$name" "${table_inside[$name]}"
		check_inside as_root "$name" "${table_as_root[$name]}" " (-u root)"
		check_inside nesting "$name" "${table_nesting[$name]:-${table_inside[$name]}}" \
			" (--nesting)"
		check_inside in_image "$name" "${of_image[$name]:-${table_as_root[$name]}}" \
			" (--image)"
		check_landlock "$name"
		check_control "$name"
	done
	check_host
	((left_to_root)) && echo "# $left_to_root controls need root: run this as root too"
	((failed)) && sed 's/^/# stderr: /' "$base/errors" | sort | uniq -c | head -20
	echo "1..$number"
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0))
}

# --- table ------------------------------------------------------------------

cell()
{
	printf '%s' "${result[$1:$2]:--}"
}

side_by_side()
{
	local name
	take outside < <(outside user)
	if [[ -x $hutch ]]; then
		everywhere in_hutch inside
		run_landlock
	else
		echo "not run: hutch: $hutch is not there"
	fi
	if command -v bwrap >/dev/null; then
		everywhere in_bwrap bwrap
	else
		echo "not run: bwrap: not installed"
	fi
	printf '%-5s %-30s %-22s %-22s %-22s %s\n' no probe hutch "hutch (landlock)" bwrap "outside (user)"
	for name in "${table_names[@]}"; do
		[[ ${flags_of[$name]:-} == wide ]] && continue
		printf '%-5s %-30s %-22s %-22s %-22s %s\n' "${table_number[$name]}" "$name" \
			"$(cell inside "$name")" "$(cell landlock "$name")" "$(cell bwrap "$name")" \
			"$(cell outside "$name")"
	done
	tally inside hutch
	tally landlock "hutch (landlock)"
	tally bwrap bwrap
	tally outside outside
}

# tally: counts the results that the table permits inside a sandbox.
tally()
{
	local name got all=0 held=0
	for name in "${table_names[@]}"; do
		got=${result[$1:$name]:-}
		[[ -z $got ]] && continue
		all=$((all + 1))
		matches "$got" "${table_inside[$name]}" && held=$((held + 1))
	done
	((all)) && echo "$2: $held of $all as expect.tsv wants them inside"
	return 0
}

base=/nonexistent host_pid=0 shm=/nonexistent run=/nonexistent extra=() of_landlock=""
[[ -x $probe ]] || fail_setup "$probe is not there: make it, or set PROBE"
[[ -x $listener ]] || fail_setup "$listener is not there: make it, or set LISTENER"
case ${1:-} in
check | table) ;;
*) fail_setup "usage: run.sh check|table" ;;
esac
read_table
find_user
make_place
case $1 in
check) check ;;
table) side_by_side ;;
esac
