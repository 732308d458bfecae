# expect.sh: tests that are a command line and what it must print; it is sourced.  Each prints a line of
# TAP, and the output of a command that does not print what it must as comments.
#
# PATIENCE (tests/patience.h) bounds what never comes; engines.sh exports it.
#
# shellcheck shell=bash
count=0

# until_true COMMAND...: repeats the command until it succeeds, for what no descriptor reports.  It is
# the only polling loop of these tests.
until_true() {
	local deadline=$((SECONDS + PATIENCE))
	until "$@" >/dev/null 2>&1; do
		((SECONDS < deadline)) || { echo "waited in vain for: $*"; return 1; }
		read -r -t 0.02 <> <(:) || true
	done
}

# prints EXPECTED NAME COMMAND...: the last line of the output must match the pattern EXPECTED.
prints() {
	local expected=$1 name=$2 output last verdict=ok
	shift 2
	count=$((count + 1))
	output=$("$@" 2>&1 </dev/null)
	last=$(tail -n 1 <<<"$output" | tr -d '\r')
	# shellcheck disable=SC2053 # a pattern
	[[ $last == $expected ]] || verdict="not ok"
	echo "$verdict $count - $name"
	[ "$verdict" = ok ] || tail -n 5 <<<"$output" | sed 's/^/#   /'
}

# ends CODE NAME COMMAND...: the exit code must be CODE.
ends() {
	local code=$1 name=$2
	shift 2
	prints "ended with $code" "$name" eval "$(printf '%q ' "$@"); echo ended with \$?"
}
