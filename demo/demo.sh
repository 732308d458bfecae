#!/usr/bin/env bash
# demo.sh -- the view from inside a sandbox of hutch, its cost, and an agent at work in one.
#
#	demo/demo.sh [HUTCH]		default build/hutch; `make demo` builds it first
#
# The exit code is 0 only if the sandbox saw nothing that should be hidden, nothing was left
# behind, and the agent's work was done.
set -uo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
hutch=$(realpath -m "${1:-$top/build/hutch}")
launches=100

bold='' plain=''
[[ -t 1 ]] && bold=$(printf '\033[1m') plain=$(printf '\033[0m')

headline() {
	printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}

fail() {
	printf '\ndemo failed: %s\n' "$1" >&2
	exit 1
}

# --- what a sandbox sees -----------------------------------------------------

declare -A host=() title=(
	[home]='your home' [secret]="a file of the host's" [tree]="hutch's source"
	[processes]='processes' [init]='process 1' [network]='network devices'
	[connect]='connect to 192.0.2.1' [environment]='environment' [user]='who am I'
	[usr]='/usr/bin' [write]='write to /usr' [kernel]='kernel (shared)'
)

count_entries() {
	ls -A -- "$1" 2>/dev/null | wc -l
}

allowed() {
	if "$@"; then echo allowed; else echo 'Permission denied'; fi
}

look_around() {
	host[home]="$(count_entries "$HOME") entries"
	host[secret]=readable
	host[tree]="$(count_entries "$top") entries"
	host[processes]="$(printf '%s\n' /proc/[0-9]* | wc -l)"
	host[init]=$(cat /proc/1/comm 2>/dev/null || echo 'not visible')
	host[network]=$(tail -n +3 /proc/net/dev | cut -d: -f1 | xargs)
	host[connect]='not tried'
	host[environment]="$(env | wc -l) variables"
	host[user]="$(id -un), uid $(id -u)"
	host[usr]="$(printf '%s\n' /usr/bin/* | wc -l) programs"
	host[write]=$(allowed test -w /usr)
	host[kernel]=$(uname -r)
}

# Prints the lines of inside.sh as a table.
show_table() {
	local key verdict text bad='' rows=0
	printf '  %-21s %-27s %s\n' '' 'here' 'in the sandbox'
	while IFS=$'\t' read -r key verdict text; do
		printf '  %-21s %-27.27s %.28s\n' "${title[$key]}" "${host[$key]}" "$text"
		[[ $verdict == ok ]] || bad+=" $key"
		((++rows))
	done
	[[ -z $bad ]] || printf '\nseen, and should not have been:%s\n' "$bad"
	[[ -z $bad && $rows -eq ${#title[@]} ]]
}

show_sight() {
	headline 'What a sandbox sees: hutch run -- bash'
	echo 'of the host' >"$work/secret"
	chmod 644 "$work/secret"
	look_around
	"$hutch" run -i -e DEMO_HOME="$HOME" -e DEMO_SECRET="$work/secret" -e DEMO_TREE="$top" \
		-e DEMO_TAG="$tag" -- bash -s <"$top/demo/inside.sh" 2>&1 | show_table
	local codes=("${PIPESTATUS[@]}")
	((codes[0] == 0)) || fail "what ran inside ended with exit code ${codes[0]}"
	((codes[1] == 0)) || fail 'the sandbox saw what it should not, or did not look'
}

# --- what it costs -----------------------------------------------------------

# times COMMAND...: prints the durations of many launches, in microseconds, sorted.
times() {
	local start i
	for ((i = 0; i < launches; i++)); do
		start=${EPOCHREALTIME/[.,]/}
		"$@" || return
		echo $((${EPOCHREALTIME/[.,]/} - start))
	done | sort -n
}

ms() {
	printf '%d.%02d ms' $(($1 / 1000)) $(($1 % 1000 / 10))
}

# Returns whether a process is left whose arguments contain $1; inside.sh starts one with `tag`.
is_left() {
	local file
	for file in /proc/[0-9]*/cmdline; do
		grep -qaF -- "$1" "$file" 2>/dev/null && return
	done
	return 1
}

show_cost() {
	local row bare
	headline "What it costs: $launches sandboxes, one after the other"
	mapfile -t bare < <(times /bin/true)
	mapfile -t row < <(times "$hutch" run -- /bin/true)
	((${#row[@]} == launches)) || fail 'not all launches of true succeeded'
	printf '  %-21s median %s\n' 'true, without it' "$(ms "${bare[launches / 2]}")"
	printf '  %-21s median %s, 19 of 20 within %s\n' 'hutch run true' \
		"$(ms "${row[launches / 2]}")" "$(ms "${row[launches * 95 / 100]}")"
	is_left "$tag" && fail 'a process that was left inside is still there'
	printf '  %-21s %s\n' 'left behind' 'nothing; what ran in the background inside is gone'
}

# --- an agent ----------------------------------------------------------------

# Root's sandboxes run for another user, which must own the project.
give_project() {
	local ids
	ids=$("$hutch" run --dry-run -- true | sed -n 's/^[ug]id .* is \([0-9]*\) .*/\1/p')
	chown -R "${ids/$'\n'/:}" "$work/project"
}

# The agent works on a copy of the project; hutch keeps its data in a folder beside the copy.
show_agent() {
	headline 'An agent at work: demo/agent.py mends demo/project'
	cp -r "$top/demo/project" "$work/project" && chmod -R a+rX "$work/project" &&
		mkdir -m 700 "$work/data" || fail 'the project could not be copied'
	((EUID != 0)) || give_project || fail 'the project could not be given to the sandbox'
	HUTCH=$hutch XDG_DATA_HOME=$work/data PYTHONPATH=$top/sdk/python PYTHONDONTWRITEBYTECODE=1 \
		python3 "$top/demo/agent.py" "$work/project" || fail "the agent's script did not succeed"
	(cd "$work/project" && python3 -B -m unittest -q 2>/dev/null) ||
		fail 'the tests of the project do not pass'
	printf '  %s\n' 'Its tests pass here, too.'
}

[[ -x $hutch ]] || fail "$hutch is not there; make builds it"
# hutch keeps copy-on-write changes in this folder; some file systems in memory do not support
# that.
work=$(mktemp -d -p "${TMPDIR:-/var/tmp}") || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd / || exit 1

tag=86400.$$$RANDOM
show_sight
show_cost
show_agent
shown=${hutch#"$top/"}
cat <<END

${bold}Try it:${plain}
  $shown run -it -- bash                      look around yourself
  $shown run --workspace DIR:cow -- COMMAND   let it work on DIR, and see what it did
  $shown doctor                               what works on this machine, and what not
README.md goes on from here.
END
