#!/usr/bin/env bash
# demo.sh -- hutch builds and tests its own source tree in one of its sandboxes, and
# shows what the sandbox could see, and what it cost.
#
#	demo/demo.sh [HUTCH]		default build/hutch; `make demo` builds it first
#
# Exits with 0 only if the build and the tests inside succeeded and the sandbox saw
# nothing that it should not.
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

# --- the tree ----------------------------------------------------------------

# The owner of the tree may be another than who runs this (sudo make demo).
in_git() {
	git -c safe.directory='*' -C "$top" "$@" 2>/dev/null
}

tree() {
	if in_git rev-parse --verify -q HEAD >/dev/null; then
		in_git archive HEAD
	else
		tar -C "$top" --exclude=./build -cf - .
	fi
}

describe_tree() {
	local commit
	commit=$(in_git rev-parse --short HEAD) || commit=''
	if [[ -z $commit ]]; then
		echo "$top (not a git checkout: all but build/)"
	elif [[ -n $(in_git status --porcelain) ]]; then
		echo "commit $commit; changes that are not committed stay out"
	else
		echo "commit $commit"
	fi
}

# --- what the host has, to compare with --------------------------------------

interfaces() {
	tail -n +3 /proc/net/dev | cut -d: -f1 | xargs
}

count_entries() {
	ls -A -- "$1" 2>/dev/null | wc -l
}

# Is there a process whose arguments name `tag`?  The demo leaves one inside.
is_left() {
	local file
	for file in /proc/[0-9]*/cmdline; do
		grep -qaF -- "$1" "$file" 2>/dev/null && return
	done
	return 1
}

allowed() {
	if "$@"; then echo allowed; else echo 'Permission denied'; fi
}

look_around() {
	secret=$work/secret
	echo 'of the host' >"$secret"
	chmod 644 "$secret"
	host[home]="$(count_entries "$HOME") entries in $HOME"
	host[secret]=readable
	host[tree]="$(in_git ls-files | wc -l) files in git"
	host[processes]="$(printf '%s\n' /proc/[0-9]* | wc -l)"
	host[init]=$(cat /proc/1/comm 2>/dev/null || echo 'not visible')
	host[network]=$(interfaces)
	host[connect]='not tried'
	host[environment]="$(env | wc -l) variables"
	host[user]="uid $(id -u), $(id -G | wc -w) group(s)"
	host[usr]="$(printf '%s\n' /usr/bin/* | wc -l) programs"
	host[write]=$(allowed test -w /usr)
	host[kernel]=$(uname -r)
}

# --- the sandbox -------------------------------------------------------------

declare -A host=() title=(
	[home]='your home' [secret]="a file of the host's" [tree]='this tree on the host'
	[processes]='processes' [init]='process 1' [network]='network devices'
	[connect]='connect to 192.0.2.1' [environment]='environment' [user]='who am I'
	[usr]='/usr/bin' [write]='write to /usr' [kernel]='kernel (shared)'
)
bad=''

# A line of inside.sh's: "see KEY VERDICT TEXT" is a row of the table, anything else
# is progress.
show_line() {
	local word key verdict text
	IFS=$'\t' read -r word key verdict text <<<"$1"
	if [[ $word != see ]]; then
		printf '  %s\n' "$1"
		return
	fi
	printf '  %-21s %-27.27s %.28s\n' "${title[$key]}" "${host[$key]}" "$text"
	[[ $verdict == ok ]] || bad+="$key "
}

show() {
	local line is_table=''
	while IFS= read -r line; do
		if [[ $line == see* && -z $is_table ]]; then
			is_table=yes
			headline 'What it could and could not see'
			printf '  %-21s %-27s %s\n' '' 'here' 'inside'
		fi
		show_line "$line"
	done
	[[ -z $bad ]] || printf '\nseen, and should not have been: %s\n' "$bad"
	[[ -z $bad && -n $is_table ]]
}

# The archive is piped in: what of the host is mounted inside is /usr and bits of
# /etc, and no folder of the user's.
build_inside() {
	tree | "$hutch" run -i --json=3 --timeout 15m \
		-e DEMO_HOME="$HOME" -e DEMO_SECRET="$secret" -e DEMO_TREE="$top" \
		-e DEMO_TAG="$tag" \
		-- bash -c 'tar -xf - && exec bash demo/inside.sh' \
		3>"$work/result" 2>&1 | show
	local codes=("${PIPESTATUS[@]}")
	((codes[1] == 0)) || fail "what ran inside ended with exit code ${codes[1]}"
	((codes[0] == 0)) || fail "the tree could not be packed"
	((codes[2] == 0)) || fail "the sandbox saw what it should not, or did not look"
}

# --- what it cost ------------------------------------------------------------

# times COMMAND...: how long each of many launches took, in microseconds, sorted.
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

show_launches() {
	local row bare
	mapfile -t bare < <(times /bin/true)
	mapfile -t row < <(times "$hutch" run -- /bin/true)
	((${#row[@]} == launches)) || fail "not all launches of true succeeded"
	printf '  %-21s median %s, 19 of 20 within %s\n' "hutch run true, ${launches}x" \
		"$(ms "${row[launches / 2]}")" "$(ms "${row[launches * 95 / 100]}")"
	printf '  %-21s median %s\n' 'true without hutch' "$(ms "${bare[launches / 2]}")"
}

field() {
	sed -E "s/.*\"$1\":([^,}]*).*/\1/" "$work/result"
}

show_cost() {
	headline 'What it cost'
	printf '  %-21s %.1f s, CPU %.1f s user, %.1f s system\n' 'build and tests' \
		"$(field wall_s)" "$(field user_s)" "$(field sys_s)"
	show_launches
	is_left "$tag" && fail "a process that was left inside is still there"
	printf '  %-21s %s\n' 'left behind' 'nothing; a background process left inside is gone'
}

# --- the story ---------------------------------------------------------------

[[ -x $hutch ]] || fail "$hutch is not there; make builds it"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd / || exit 1

tag=86400.$$$RANDOM
look_around
headline 'hutch builds and tests hutch, in a sandbox'
printf '  %-21s %s\n' tree "$(describe_tree)"
stands_for=$("$hutch" run --dry-run -- true | sed -n 's/^uid .* is \([0-9]*\) .*/\1/p')
printf '  %-21s uid %s of this host%s\n' 'the sandbox is' "$stands_for" \
	"$( ((EUID == 0)) && echo ' (you are root; it never is)')"
echo
build_inside
show_cost
headline 'An agent does the same, action by action (hutch act)'
# A copy: root's sandbox stands for somebody who may not be able to reach this one.
mkdir "$work/tree" && tree | tar -C "$work/tree" -xf - || fail "the tree could not be copied"
"$top/demo/agent.py" "$hutch" "$work/tree" || fail "the agent's script did not succeed"
printf '\n%sBuilt, tested and gone.%s  hutch run --help, docs/hutch-run.md, docs/actions.md\n' "$bold" "$plain"
