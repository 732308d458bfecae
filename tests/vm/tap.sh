# tap.sh -- shared by the scripts of the vm tier.
#
# shellcheck shell=bash disable=SC2154 # H, HOG, GROUP, T: from init.sh

count=0 said=
. "${BASH_SOURCE[0]%/*}/../patience.bash"

# try NAME FUNCTION: runs one test.  The function's status decides; its output
# is shown if it fails.  HUTCH_ONLY=PATTERN (no blanks) leaves other tests out.
try() {
	[[ $1 =~ ${HUTCH_ONLY:-} ]] || return 0
	count=$((count + 1))
	if said=$(set +e; "$2" 2>&1); then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		[ -z "$said" ] || sed 's/^/# /' <<<"$said"
	fi
}

# hutch ARG...: `hutch run` with the hog inside; its stdout is in $T/out, its
# stderr in $T/err, its result object in $T/json, its code in $rc.
hutch() {
	"$H" run -v "$HOG:/hog:ro" --json=3 "$@" >"$T/out" 2>"$T/err" 3>"$T/json"
	rc=$?
	cat "$T/json" "$T/out" "$T/err"
}

# value KEY: prints a value of the result object; strings keep their quotes.
value() {
	local json pattern=".*\"$1\":(\"[^\"]*\"|\\[[^]]*\\]|[^,}]*)"
	json=$(<"$T/json")
	[[ $json =~ $pattern ]] && echo "${BASH_REMATCH[1]}"
}

is() { # KEY VALUE
	local found
	found=$(value "$1")
	[ "$found" = "$2" ] || { echo "$1 is $found, not $2"; return 1; }
}

# finds STATUS TEXT: checks the line of `hutch doctor` about cgroups.
finds() {
	"$H" doctor >"$T/doctor"
	found "$@"
}
found() {
	grep -q "^$1 *cgroup  *$2" "$T/doctor" || { cat "$T/doctor"; return 1; }
}

# until_true COMMAND...: waits for a state that no descriptor reports.  It is
# the only polling loop of these scripts.
until_true() {
	local deadline=$((SECONDS + PATIENCE))
	until "$@" >/dev/null; do
		if ((SECONDS >= deadline)); then
			echo "waited in vain for: $*"
			return 1
		fi
		sleep 0.1
	done
}

# is_throttled: true if the kernel has stopped the commands of a sandbox in five
# periods or more.  Their share of a second depends on how busy the host is.
is_throttled() {
	find "$GROUP" -path '*/cmds/cpu.stat' -exec grep -hE '^nr_throttled ([5-9]|[0-9]{2,})$' {} + |
		grep -q .
}

# left_over: prints the folders of sandboxes anywhere below the delegated one.
left_over() {
	find "$GROUP" -type d \( -name 'hutch-*' -o -name sup \)
}
nothing_left() {
	! pgrep -x 'hutch|hutch-executor|hutch-janitor|hog' && [ -z "$(left_over)" ]
}
