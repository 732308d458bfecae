#!/usr/bin/env bats
# Tests of the words that the completion for bash offers after hutch.

load helpers

setup() {
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	HUTCH=$(realpath "${HUTCH:-$top/build/hutch}")
	source "$top/completions/hutch.bash"
	unset -f hutch # completion runs what it completes
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p source/sub
	touch source/file profile.json
}

# complete_words WORD...: prints the words that are offered for the last WORD. As readline does,
# it splits each WORD at ":" and "=".
complete_words() {
	COMP_WORDS=() COMPREPLY=()
	local word part
	for word in "$@"; do
		while [[ $word =~ ^([^:=]*)([:=])(.*)$ ]]; do
			part=("${BASH_REMATCH[@]}")
			[[ -n ${part[1]} ]] && COMP_WORDS+=("${part[1]}")
			COMP_WORDS+=("${part[2]}")
			word=${part[3]}
			[[ -z $word ]] && continue 2
		done
		COMP_WORDS+=("$word")
	done
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_hutch || true
	offered=$(printf '%s\n' "${COMPREPLY[@]}" | sort | xargs)
}

offers_the_flags_of() {
	complete_words hutch "$1" -
	diff <(tr ' ' '\n' <<<"$offered" | sort) <(flags_of_help "$1")
}

@test "the verbs are completed, all that the help has" {
	complete_words hutch ''
	diff <(tr ' ' '\n' <<<"$offered") <("$HUTCH" help | grep -oE '^  [a-z]+ ' | tr -d ' ' | sort)
}

@test "the flags of each verb are completed, and no other" {
	for verb in create start exec shell cp connect ps inspect logs events stats wait pause unpause update \
		rename stop kill rm changes diff apply discard snapshot fork commit why; do
		offers_the_flags_of "$verb"
	done
}

@test "every flag of hutch run --help is completed, and no other" {
	offers_the_flags_of run
}

@test "every flag of hutch act --help is completed, and no other" {
	offers_the_flags_of act
	complete_words hutch act ''
	[ -z "$offered" ]
}

@test "every flag of hutch doctor --help is completed, and no other" {
	offers_the_flags_of doctor
}

@test "the flags that take a value are those that the help shows with one" {
	for flag in $("$HUTCH" run --help | grep -E '^ +(-[a-z] )?--[a-z-]+ [^ ]' |
		grep -oE -- '^ +(-[a-z] )?--[a-z-]+' | grep -oE -- '--?[a-z-]+'); do
		[[ $flag == $_hutch_with_value ]]
	done
	for flag in -i -t --tty --rm --read-only --dry-run --json --help; do
		[[ $flag != $_hutch_with_value ]]
	done
}

@test "behind hutch why come its questions, and paths behind some" {
	complete_words hutch why ''
	[ "$offered" = "act connect exec read syscall write" ]
	complete_words hutch why --read-only wr
	[ "$offered" = write ]
	complete_words hutch why write /etc/passw
	[[ " $offered " == *" /etc/passwd "* ]]
	complete_words hutch why syscall ''
	[ -z "$offered" ]
}

@test "values that are words are completed, behind a blank and behind =" {
	complete_words hutch run --network ''
	[ "$offered" = "host none" ]
	complete_words hutch run --network=h
	[ "$offered" = "host" ]
	complete_words hutch run --idmap ''
	[ "$offered" = "ranges single" ]
	complete_words hutch run -it -u r
	[ "$offered" = "root" ]
	complete_words hutch run --stdio ''
	[ "$offered" = "inherit" ]
}

@test "every offered capability and limit is one that hutch takes" {
	complete_words hutch run --cap-add ''
	[ "$(wc -w <<<"$offered")" -gt 30 ]
	for name in $offered; do
		"$HUTCH" run --dry-run --cap-add "$name" -- true >/dev/null
	done
	complete_words hutch run --cap-drop ''
	for name in $offered; do
		"$HUTCH" run --dry-run --cap-drop "$name" -- true >/dev/null
	done
	complete_words hutch run --ulimit ''
	[ "$(wc -w <<<"$offered")" -eq 16 ]
	for name in $offered; do
		"$HUTCH" run --dry-run --ulimit "${name}0" -- true >/dev/null
	done
}

@test "paths of the host are completed, and the mode behind them" {
	complete_words hutch run -v sou
	[ "$offered" = "source" ]
	complete_words hutch run -v source:/x:
	[ "$offered" = "cow ro rw" ]
	complete_words hutch run --volume=source:/x:r
	[ "$offered" = "ro rw" ]
	complete_words hutch run -v source:/x
	[ "$offered" = "" ]
	complete_words hutch run --workspace source/
	[ "$offered" = "source/sub" ]
	complete_words hutch run --workspace source:
	[ "$offered" = "cow ro rw" ]
	complete_words hutch run --image dir:sou
	[ "$offered" = "source" ]
	complete_words hutch run --seccomp pro
	[ "$offered" = "profile.json" ]
}

@test "behind pool come its verbs, and the flags of each" {
	complete_words hutch pool ''
	diff <(tr ' ' '\n' <<<"$offered") <("$HUTCH" pool --help | grep -oE '^  [a-z]+ ' | tr -d ' ' | sort)
	for verb in ls take rm; do
		complete_words hutch pool "$verb" -
		diff <(tr ' ' '\n' <<<"$offered" | sort) <("$HUTCH" pool "$verb" --help |
			grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' | grep -oE -- '--?[A-Za-z-]+' | sort)
	done
	complete_words hutch pool create p -
	[[ " $offered " == *' --size '*' --ttl '* ]]
	[[ " $offered " != *' --publish '* ]]
}

@test "behind cp come paths of the host, and nothing behind NAME:" {
	complete_words hutch cp sou
	[ "$offered" = "source" ]
	complete_words hutch cp source/
	[ "$offered" = "source/file source/sub" ]
	complete_words hutch cp box:
	[ -z "$offered" ]
	complete_words hutch cp box:sou
	[ -z "$offered" ]
	complete_words hutch cp box:/x sou
	[ "$offered" = "source" ]
}

@test "behind the flags comes a command, and files behind that" {
	complete_words hutch run -v source:/x:ro -e A=b --json=3 --rm bash
	[[ " $offered " == *" bash "* ]]
	complete_words hutch run -v source:/x:ro -- cat sou
	[ "$offered" = "source" ]
	complete_words hutch run cat --network ''
	[[ " $offered " == *" source "* ]]
}

@test "the verbs of hutch audit are completed, and the flags of each" {
	complete_words hutch audit ''
	[ "$offered" = "show verify" ]
	for verb in show verify; do
		complete_words hutch audit "$verb" -
		diff <(tr ' ' '\n' <<<"$offered" | sort) <("$HUTCH" audit "$verb" --help |
			grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' | grep -oE -- '--?[A-Za-z-]+' | sort)
	done
	complete_words hutch run --audit o
	[ "$offered" = "off on" ]
}

@test "the verbs of hutch port are completed, the flags of each, and the ports of a sandbox" {
	complete_words hutch port ''
	[ "$offered" = "add ls rm" ]
	for verb in add ls rm; do
		complete_words hutch port "$verb" -
		diff <(tr ' ' '\n' <<<"$offered" | sort) <("$HUTCH" port "$verb" --help |
			grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' | grep -oE -- '--?[A-Za-z-]+' | sort)
	done
}

@test "the verbs of hutch image are completed, and the flags of each" {
	complete_words hutch image ''
	diff <(tr ' ' '\n' <<<"$offered") <("$HUTCH" image help | grep -oE '^  [a-z-]+ ' |
		tr -d ' ' | sort)
	for verb in $offered; do
		[ "$verb" = help ] && continue
		complete_words hutch image "$verb" -
		diff <(tr ' ' '\n' <<<"$offered" | sort) <("$HUTCH" image "$verb" --help |
			grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' | grep -oE -- '--?[A-Za-z-]+' | sort)
	done
}
