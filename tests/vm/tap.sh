# tap.sh -- what the scripts of the vm tier share.
#
# shellcheck shell=bash disable=SC2154 # H, HOG, GROUP, T: from init.sh

count=0 said=
. "${BASH_SOURCE[0]%/*}/../patience.bash"

# try NAME FUNCTION: one test.  Functions return what decides; what they print is
# shown when they fail.  HUTCH_ONLY=PATTERN, without a blank, leaves others out.
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

# value KEY: of the result object; texts with their quotes.
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

# finds STATUS TEXT: what `hutch doctor` says of cgroups.
finds() {
	"$H" doctor >"$T/doctor"
	found "$@"
}
found() {
	grep -q "^$1 *cgroup  *$2" "$T/doctor" || { cat "$T/doctor"; return 1; }
}

# until_true COMMAND...: waits for what no descriptor tells.  No other function of these
# scripts looks again and again.
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

# is_throttled: the kernel has stopped the commands of a sandbox in five periods or more.
# Which part of a second they get differs on a host that is busy.
is_throttled() {
	find "$GROUP" -path '*/cmds/cpu.stat' -exec grep -hE '^nr_throttled ([5-9]|[0-9]{2,})$' {} + |
		grep -q .
}

# Folders of sandboxes anywhere below the delegated one.
left_over() {
	find "$GROUP" -type d \( -name 'hutch-*' -o -name sup \)
}
nothing_left() {
	! pgrep -x 'hutch|hutch-executor|hutch-janitor|hog' && [ -z "$(left_over)" ]
}
