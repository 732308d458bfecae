#!/usr/bin/env bats
# Tests that the pages agree with the program: verbs, flags, exit codes.  Examples are typed by
# typed.bats.

load helpers

setup() {
	stop_tracing
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	HUTCH=$(realpath "${HUTCH:-$top/build/hutch}")
	page=$top/docs/hutch-run.md
	cd "$BATS_TEST_TMPDIR" || return 1
}

# flags_of_page: prints the flags that the page describes; each description has the names of its
# flag as a heading.
flags_of_page() {
	grep -E '^### -' "$page" | grep -oE -- '(^### |, )--?[A-Za-z-]+' |
		grep -oE -- '--?[A-Za-z-]+$' | sort
}

# Prints the argument of each long flag: "volume SRC:DST[:ro|rw]".
arguments() {
	grep -oE -- '--[a-z-]+( [A-Z]+[^ ,]*| inherit|\[=FD\])?' | sort -u
}

@test "every flag of hutch run --help has its place in docs/hutch-run.md, and no other" {
	diff <(flags_of_help run) <(flags_of_page)
	[ "$(flags_of_help run | wc -l)" -gt 30 ]
}

@test "the page gives each flag the argument that the help gives it" {
	diff <("$HUTCH" run --help | grep -E '^ +(-[a-z] )?--' | cut -c1-36 | arguments) \
		<(grep -E '^### -' "$page" | arguments)
}

# section VERB: prints the part of the page about sandboxes that describes VERB.
section() {
	sed -n "/^## $1\$/,/^## /p" "$top/docs/hutch-sandboxes.md"
}

named='start exec shell act connect ps inspect logs events stats wait pause unpause update rename stop kill rm'

@test "each verb about sandboxes has a section with its flags, and the help says them so" {
	for verb in $named; do
		[ -n "$(section "$verb")" ]
		# The verb act has two forms; its flags for a fresh sandbox are described on
		# another page.
		[ "$verb" = act ] && continue
		diff <(flags_of_help "$verb" | grep -vx -e -h -e --help) <(section "$verb" |
			grep -E '^### -' | grep -oE -- '(^### |, )--?[a-z-]+' |
			grep -oE -- '--?[a-z-]+$' | sort)
		diff <("$HUTCH" "$verb" --help | grep -E '^ +(-[a-z] )?--' | grep -v -- --help |
			cut -c1-36 | arguments) <(section "$verb" | grep -E '^### -' | arguments)
		"$HUTCH" help "$verb" | diff - <("$HUTCH" "$verb" --help)
	done
	"$HUTCH" help image pull | diff - <("$HUTCH" image pull --help)
	"$HUTCH" help net allow | diff - <("$HUTCH" net box allow --help)
	"$HUTCH" help run --nosuch | diff - <("$HUTCH" run --help)
}

# image_section VERB: prints the part of the page about images that describes VERB.
image_section() {
	sed -n "/^## $1\$/,/^## /p" "$top/docs/hutch-image.md"
}

@test "each verb of hutch image has a section with its flags and their arguments" {
	for verb in $("$HUTCH" image help | grep -oE '^  [a-z-]+ '); do
		[ "$verb" = help ] && continue
		[ -n "$(image_section "$verb")" ]
		help=$("$HUTCH" image "$verb" --help)
		diff <(grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' <<<"$help" |
			grep -oE -- '--?[A-Za-z-]+' | grep -vx -e -h -e --help | sort) \
			<(image_section "$verb" | grep -E '^### -' |
				grep -oE -- '(^### |, )--?[A-Za-z-]+' |
				grep -oE -- '--?[A-Za-z-]+$' | sort)
		diff <(grep -E '^ +(-[a-z] )?--' <<<"$help" | grep -v -- --help | cut -c1-36 |
			arguments) <(image_section "$verb" | grep -E '^### -' | arguments)
	done
}

# page_of VERB...: prints the manual page that the help names at its end.
page_of() {
	"$HUTCH" "$@" --help | sed -n 's/.*More: man //p'
}

@test "the page that a help names is there and has the verb in it" {
	command -v go-md2man >/dev/null || skip "go-md2man is not installed"
	"$top/packaging/man.sh" "$PWD/man" 0
	for verb in $("$HUTCH" help | grep -oE '^  [a-z]+ '); do
		case $verb in image | version | help) continue ;; esac
		[ "$(page_of "$verb")" = "hutch-$verb" ]
		page=man/man1/hutch-$verb.1
		[[ $(<"$page") != .so\ * ]] || page=man/$(cut -d' ' -f2 "$page")
		grep -q "hutch $verb\\b" "$page"
	done
	for verb in $("$HUTCH" image help | grep -oE '^  [a-z-]+ '); do
		[ "$verb" = help ] || [ "$(page_of image "$verb")" = hutch-image ]
	done
}

# fits VERB...: prints the lines of a help that are wider than a terminal of 80 columns.
fits() {
	"$HUTCH" "$@" --help | awk -v verb="$*" 'length > 80 { print verb ": " $0; wide = 1 } END { exit wide }'
}

@test "each help fits a terminal of 80 columns" {
	fits
	for verb in $("$HUTCH" help | grep -oE '^  [a-z]+ '); do
		fits "$verb"
	done
	for verb in image pool port policy audit 'net box'; do
		# shellcheck disable=SC2086 # words
		for part in $("$HUTCH" $verb --help | grep -oE '^  [a-z-]+ '); do
			fits $verb "$part"
		done
	done
}

@test "the page of hutch cp has its flags with their arguments, and its exit codes" {
	page=$top/docs/hutch-cp.md
	diff <(flags_of_help cp | grep -vx -e -h -e --help) <(flags_of_page)
	diff <("$HUTCH" cp --help | grep -E '^ +(-[A-Za-z] )?--' | grep -v -- --help | cut -c1-36 |
		arguments) <(grep -E '^### -' "$page" | arguments)
	[ "$(sed -n '/^## Exit codes/,/^## /p' "$page" | grep -oE '^\| [0-9]+ \|' | xargs)" = '| 0 | | 125 |' ]
	"$HUTCH" help cp | diff - <("$HUTCH" cp --help)
}

@test "the page of hutch port has the flags of its verbs, and its exit codes" {
	page=$top/docs/hutch-port.md
	for verb in add rm ls; do
		section=$(sed -n "/^## $verb\$/,/^## /p" "$page")
		[ -n "$section" ]
		diff <("$HUTCH" port "$verb" --help | grep -E '^ +(-[a-z] )?--' | grep -v -- --help |
			cut -c1-36 | arguments) <(grep -E '^### -' <<<"$section" | arguments)
		grep -qF "**hutch port** **$verb**" "$page"
		[ "$(page_of port "$verb")" = hutch-port ]
	done
	[ "$(sed -n '/^## Exit codes/,/^## /p' "$page" | grep -oE '^\| [0-9]+ \|' | xargs)" = '| 0 | | 125 |' ]
}

@test "the page of hutch net lists the presets, as they tell about themselves" {
	diff <(for file in "$top"/policy/egress/presets/*.json; do
		echo "| \`@$(basename "$file" .json)\` | $(jq -r .about "$file") |"
	done) <(sed -n '/^## Presets$/,/^## What/p' "$top/docs/hutch-net.md" | grep '^| `@')
}

@test "the page of hutch net has the flags of its verbs" {
	page=$top/docs/hutch-net.md
	for verb in $("$HUTCH" net --help | grep -oE '^  [a-z]+ '); do
		synopsis=$(grep -F "**hutch net** *NAME* **$verb**" "$page")
		diff <("$HUTCH" net box "$verb" --help | grep -oE -- '--[a-z]+' | grep -vx -e --help | sort -u) \
			<(grep -oE -- '--[a-z]+' <<<"$synopsis")
		[ "$(page_of net box "$verb")" = hutch-net ]
	done
}

@test "the page of hutch pool has the flags of its verbs" {
	page=$top/docs/hutch-pool.md
	for verb in create ls take rm; do
		section=$(sed -n "/^## $verb\$/,/^## /p" "$page")
		[ -n "$section" ]
		diff <("$HUTCH" pool "$verb" --help | grep -E '^ +(-[a-z] )?--' | grep -v -- --help |
			cut -c1-36 | arguments) <(grep -E '^### -' <<<"$section" | arguments)
	done
	for verb in create ls take exec rm; do
		grep -qF "**hutch pool** **$verb**" "$page"
	done
}

@test "the pages of hutch serve and hutch route have their flags with their arguments" {
	for verb in serve route; do
		diff <("$HUTCH" "$verb" --help | grep -E '^ +(-[a-z] )?--' | grep -v -- --help | cut -c1-36 | arguments) \
			<(grep -E '^### -' "$top/docs/hutch-$verb.md" | arguments)
	done
}

@test "the manifests of Kubernetes have flags that hutch serve and hutch route have" {
	local file verb flag
	while read -r file verb; do
		for flag in $(grep -oE '^ +- --[a-z-]+=?' "$top/packaging/kubernetes/$file" | grep -oE -- '--[a-z-]+'); do
			flags_of_help "$verb" | grep -qx -- "$flag"
		done
	done <<<$'statefulset.yaml serve\nrouter.yaml route'
}

# Compares the flags and exit codes in the page about the audit log with the help; that page also
# describes the members of entries.
@test "the page of hutch audit has the flags of its verbs, and its exit codes" {
	page=$top/docs/hutch-audit.md
	for verb in verify show; do
		section=$(sed -n "/^## $verb\$/,/^## /p" "$page")
		diff <("$HUTCH" audit "$verb" --help | grep -E '^ +(-[a-z] )?--' | grep -v -- --help |
			cut -c1-36 | arguments) <(grep -E '^### -' <<<"$section" | arguments)
	done
	[ "$(sed -n '/^## Exit codes/,/^## /p' "$page" | grep -oE '^\| [0-9]+ \|' | xargs)" = '| 0 | | 1 | | 125 |' ]
}

@test "the page names each verb's form in its synopsis" {
	for verb in $named; do
		sed -n '/^## Synopsis/,/^## /p' "$top/docs/hutch-sandboxes.md" |
			grep -qE "(hutch |\*\*)$verb\*\*"
	done
}

@test "the page names every limit that --ulimit takes" {
	names=$(sed -n '/^### --ulimit/,/^###* -/p' "$page" | tr '\n' ' ' |
		sed 's/.*one of: //; s/\..*//; s/,//g')
	[ "$(wc -w <<<"$names")" -eq 16 ]
	for name in $names; do
		run "$HUTCH" run --dry-run --ulimit "$name=0" -- true
		[ "$status" -eq 0 ]
	done
}

# ends_with CODE ARGUMENT...: checks that hutch run exits with CODE.
ends_with() {
	local code=0
	"$HUTCH" run "${@:2}" || code=$?
	[ "$code" -eq "$1" ]
}

# Checks each row of the table of exit codes that starts with a number.
@test "the table of exit codes is the one that the program has" {
	codes=$(sed -n '/^## Exit codes/,/^## /p' "$page" | grep -oE '^\| [0-9]+ ' | tr -dc '0-9\n')
	[ "$codes" = $'124\n125\n126\n127' ]
	for code in $codes; do
		"$HUTCH" run --help | grep -qE "(^|[ ;])$code "
	done
	ends_with 3 -- sh -c 'exit 3'
	ends_with $((128 + 15)) -- sh -c 'kill -TERM $$'
	ends_with 124 --timeout 100ms -- sleep 1000
	ends_with 125 --no-such-flag -- true
	ends_with 126 -- /etc/passwd
	ends_with 127 -- no-such-program
}

@test "the table of the result object has exactly its keys" {
	diff <("$HUTCH" run --json -- true 2>&1 | jq -r 'keys[]' | sort) \
		<(sed -n '/^## Result object/,/^## /p' "$page" | grep -E '^\| [a-z]' |
			cut -d'|' -f2 | tr -d ' ' | tr ',' '\n' | grep -vx key | sort)
}

@test "the variables that the page lists are those that a command gets" {
	diff <("$HUTCH" run -- env | cut -d= -f1 | sort) \
		<(sed -n '/^The environment is exactly/,/^Nothing else/p' "$page" |
			grep -E '^\| [A-Z]' | cut -d'|' -f2 | tr -d ' ' | tr ',' '\n' | sort)
}

# names_of HEADING: prints the first cells of the table, or the terms of the list, that follows
# HEADING in the page of hutch doctor.
names_of() {
	sed -n "/^## $1/,/^## /p" "$top/docs/hutch-doctor.md" | grep -E '^[|-] [a-z0-9]' |
		cut -d'|' -f2 | sed 's/^- //; s/:.*//' | tr -d ' '
}

@test "the page of hutch doctor has its flags, its checks in order, and its keys" {
	doctor=$top/docs/hutch-doctor.md
	diff <(flags_of_help doctor) <(page=$doctor && flags_of_page)
	"$HUTCH" doctor --json >object || true
	diff <(grep -oE '"name":"[^"]+"' object | cut -d'"' -f4) <(names_of Checks | grep -vx check)
	diff <(grep -oE '"[a-z]+":' object | tr -d '":' | sort -u) \
		<(names_of 'Result object' | grep -vx key | sort)
	[ "$(names_of 'Exit codes' | grep -vx code | xargs)" = "0 1 125" ]
	[ "$(names_of Status | grep -vx status | xargs)" = "ok limited missing" ]
}

@test "the pages become man pages without a complaint, one for each verb" {
	command -v go-md2man >/dev/null || skip "go-md2man is not installed"
	command -v groff >/dev/null || skip "groff is not installed"
	"$top/packaging/man.sh" "$PWD/man" 0
	for page in "$PWD"/man/man1/*.1 "$PWD"/man/man3/*.3; do
		name=$(basename "$page" ".${page: -1}")
		[[ $(<"$page") == .so\ * ]] || grep -q "^.TH \"*$(tr a-z A-Z <<<"$name")\"* \"*${page: -1}" "$page"
		(cd man && groff -man -Tutf8 -ww -z -s "$page") >complaint 2>&1
		cat complaint
		[[ ! -s complaint ]]
	done
	for verb in $("$HUTCH" help | grep -oE '^  [a-z]+ '); do
		case $verb in version | help) continue ;; esac
		[ -s "man/man1/hutch-$verb.1" ]
	done
	# A verb with a section of its own has a page that is about it alone.
	sed -n 's/^## \([a-z]*\)$/\1/p' "$top/docs/hutch-sandboxes.md" | grep -vx act >verbs
	[ "$(wc -l <verbs)" -ge 15 ]
	while read -r verb; do
		grep -q "^hutch-$verb - [a-z]" "man/man1/hutch-$verb.1"
		[ "$(grep -oE '^.fBhutch [a-z]+' "man/man1/hutch-$verb.1" | sort -u)" = "\\fBhutch $verb" ]
	done <verbs
}

@test "the verbs, flags and targets of make that pages name in passing are ones" {
	run "$top/tests/run/claims.py" "$HUTCH" "$top/Makefile" "$top"/{README,CONTRIBUTING}.md "$top"/docs/*.md
	[ "$status" -eq 0 ]
	[ "${output%% *}" -ge 300 ]
	cat >page.md <<-'PAGE'
		`hutch run --no-such-flag -- x --other` and `hutch nosuch|run`, `hutch image nosuch`,
		`hutch act
		--nosuch`, `hutch VERB --help`

		```
		make test nosuch   and more
		```
	PAGE
	run "$top/tests/run/claims.py" "$HUTCH" "$top/Makefile" page.md
	[ "$status" -eq 1 ]
	[ "${lines[-1]}" = "6 commands, 5 untrue" ]
	[[ $output == *'--other: there is no --no-such-flag'*'there is no nosuch'* ]]
}

@test "links between the documents lead somewhere" {
	cd "$top"
	for file in README.md CONTRIBUTING.md docs/*.md; do
		grep -oE '\]\([^)#]+' "$file" | cut -c3- | grep -v '^https\?:' | while read -r link; do
			[ -e "$(dirname "$file")/$link" ] || { echo "$file: $link" && exit 1; }
		done
	done
}

# `set -e` ignores a failed command before && or after !, unless it is the last command, so a test
# must not check anything in that way.
@test "no test claims what its shell passes over" {
	claim='(\[\[ .* \]\]|\[ .* \]|(says|one_sentence|never) .*[^&])'
	passed_over="^\\t+($claim && $claim|! [^|]*[^|\x27])\$"
	run awk -v re="$passed_over" '
		was && !/^\t*}/ { print was }
		{ was = $0 ~ re ? FILENAME ": " $0 : "" }
		END { print NR " lines" }' "$top"/tests/run/*.bats
	[[ $output =~ ^[0-9]{4,}" lines"$ ]]
}
