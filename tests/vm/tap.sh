# tap.sh -- what the scripts of the vm tier share.
#
# shellcheck shell=bash disable=SC2154 # H, HOG, GROUP, T: from init.sh

count=0 said=
# How long anything is waited for that has to happen, in tenths of a second; an
# emulated machine is slower.
PATIENCE=$((200 * ${PATIENCE_TIMES:-1}))

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
	sed -n "s/.*\"$1\":\(\"[^\"]*\"\|\[[^]]*\]\|[^,}]*\).*/\1/p" "$T/json"
}

is() { # KEY VALUE
	[ "$(value "$1")" = "$2" ] || { echo "$1 is $(value "$1"), not $2"; return 1; }
}

# finds STATUS TEXT: what `hutch doctor` says of cgroups.
finds() {
	"$H" doctor >"$T/doctor"
	found "$@"
}
found() {
	grep -q "^$1 *cgroup  *$2" "$T/doctor" || { cat "$T/doctor"; return 1; }
}

# until_true COMMAND...: waits for something that no descriptor tells of.
until_true() {
	local i
	for ((i = 0; i < PATIENCE; i++)); do
		"$@" >/dev/null && return
		sleep 0.1
	done
	echo "waited in vain for: $*"
	return 1
}

# Folders of sandboxes anywhere below the delegated one.
left_over() {
	find "$GROUP" -type d \( -name 'hutch-*' -o -name sup \)
}
nothing_left() {
	local name
	for name in hutch hutch-executor hutch-janitor hog; do
		pgrep -x $name && return 1
	done
	[ -z "$(left_over)" ]
}
