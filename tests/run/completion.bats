#!/usr/bin/env bats
# Tests of the words that the completions for bash, zsh and fish offer after hutch.

load helpers

setup() {
	stop_tracing
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

@test "every option of hutch bwrap --help is completed, and no other" {
	complete_words hutch bwrap -
	diff <(tr ' ' '\n' <<<"$offered") <("$HUTCH" bwrap --help | grep -oE '^ +--[a-z0-9-]+' | tr -d ' ' | sort)
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

@test "behind hutch apptainer come its verbs, all that its help has, and then files" {
	complete_words hutch apptainer ''
	diff <(tr ' ' '\n' <<<"$offered") <("$HUTCH" apptainer --help | grep -oE '^  [a-z]+ ' | tr -d ' ' | sort)
	complete_words hutch apptainer instance s
	[ "$offered" = "start stop" ]
	complete_words hutch apptainer cache ''
	[ "$offered" = "clean list" ]
	complete_words hutch apptainer exec sou
	[ "$offered" = source ]
}

@test "behind hutch oci come its verbs, the flags of each, and paths" {
	local verb
	mkdir bin && ln -s "$HUTCH" bin/hutch
	PATH=$PWD/bin:$PATH
	complete_words hutch oci ''
	diff <(tr ' ' '\n' <<<"$offered") <("$HUTCH" oci --help | grep -oE '^  [a-z]+ ' | tr -d ' ' | sort)
	for verb in '' run exec update; do
		complete_words hutch oci $verb -
		diff <(tr ' ' '\n' <<<"$offered" | sort) <("$HUTCH" oci $verb --help |
			grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' | grep -oE -- '--?[A-Za-z-]+' | sort)
	done
	complete_words hutch oci run --bundle sou
	[ "$offered" = source ]
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
	complete_words hutch why box ''
	[ "$offered" = "--connect connect" ]
}

@test "values that are words are completed, behind a blank and behind =" {
	complete_words hutch run --network ''
	[ "$offered" = "allow host none ns:" ]
	complete_words hutch run --network=h
	[ "$offered" = "host" ]
	complete_words hutch run --idmap ''
	[ "$offered" = "ranges single" ]
	complete_words hutch run -it -u r
	[ "$offered" = "root" ]
	complete_words hutch run --stdio ''
	[ "$offered" = "inherit" ]
}

@test "names of images are completed, and those of ended sandboxes for verbs that take them" {
	mkdir bin
	printf '%s\n' '#!/bin/sh' 'case "$*" in' '"image ls") printf "%s\n" "REPOSITORY TAG" "local/a 1" "b <none>" ;;' \
		'"ps -q -a") printf "%s\n" ended live ;;' '"ps -q") echo live ;;' 'esac' >bin/hutch
	chmod +x bin/hutch
	PATH=$PWD/bin:$PATH
	complete_words hutch run --image ''
	[ "$offered" = "dir: host local/a:1" ]
	complete_words hutch create --image=lo
	[ "$offered" = "local/a:1" ]
	complete_words hutch image rm ''
	[ "$offered" = "local/a:1" ]
	for verb in inspect logs rm discard; do
		complete_words hutch "$verb" ''
		[ "$offered" = "ended live" ]
	done
	complete_words hutch exec ''
	[ "$offered" = live ]
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

@test "the verbs of hutch net are completed behind a name, the flags of each, and answers" {
	local verbs='allow answer ask deny log ls rm'
	complete_words hutch net box ''
	[ "$offered" = "$verbs" ]
	for verb in $verbs; do
		complete_words hutch net box "$verb" -
		diff <(tr ' ' '\n' <<<"$offered" | sort) <("$HUTCH" net box "$verb" --help |
			grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' | grep -oE -- '--?[A-Za-z-]+' | sort)
	done
	complete_words hutch net box answer 1 ''
	[ "$offered" = "no yes" ]
	complete_words hutch net box answer --for ''
	[ "$offered" = "once sandbox" ]
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

# offers_of SHELL TEXT...: sets offers to a line for each TEXT: the words that zsh or fish offer for
# its last word. The hutch in ./bin is asked. Sets also edited, the lines as zsh has changed them.
offers_of() {
	local shell=$1 text
	shift
	command -v "$shell" >/dev/null || skip "$shell is not installed"
	[[ -e bin/hutch ]] || { mkdir -p bin && ln -s "$HUTCH" bin/hutch; }
	rm -f offers
	if [[ $shell == fish ]]; then
		PATH=$PWD/bin:$PATH HOME=$PWD fish --no-config -c 'source $argv[1]
			for text in $argv[2..]
				echo $text\t(complete -C $text | string replace -r "\t.*" "" | string join " ")
			end' "$top/completions/hutch.fish" "$@" >offers
	else
		{
			printf 'send . %s %s %s\\n\nexpect ready%%\n' "$top/tests/run/offers.zsh" "$top/completions" "$PWD/offers"
			printf 'send %s\\t\\x14\n' "$@"
			printf 'send exit\\n\nexit 0\n'
		} >steps
		PATH=$PWD/bin:$PATH HOME=$PWD "$top/tests/run/terminal.py" steps zsh -f -i
	fi
	mapfile -t edited < <(cut -f1 offers)
	mapfile -t offers < <(cut -f2 offers | while read -ra words; do
		printf '%s\n' "${words[@]%/}" | sort -u | paste -sd ' '
	done)
	[ "${#offers[@]}" -eq $# ]
}

# verbs_of_help [VERB]: prints the verbs that the help lists.
verbs_of_help() {
	"$HUTCH" "$@" --help | grep -oE '^  [a-z][a-z-]* ' | tr -d ' ' | sort | paste -sd ' '
}

# other_shells TEXT WORDS...: checks that zsh and fish offer WORDS for the last word of TEXT.
other_shells() {
	local shell texts=() expected=() i last
	while (($#)); do
		texts+=("$1") expected+=("$2")
		shift 2
	done
	for shell in zsh fish; do
		offers_of "$shell" "${texts[@]}"
		for i in "${!texts[@]}"; do
			last=${texts[i]##* } # fish offers a value with its --flag=
			[[ ${offers[i]//"${last%"${last##*=}"}"/} == "${expected[i]}" ]] || {
				printf '%s offers for "%s": %s\ninstead of: %s\n' \
					"$shell" "${texts[i]}" "${offers[i]}" "${expected[i]}"
				return 1
			}
		done
	done
}

@test "zsh and fish complete the verbs, all that the help has" {
	other_shells 'hutch ' "$(verbs_of_help)" 'hutch im' image 'hutch help un' unpause \
		'hutch image ' "$(verbs_of_help image)" 'hutch pool ' "$(verbs_of_help pool)" \
		'hutch port ' "$(verbs_of_help port)" 'hutch audit ' "$(verbs_of_help audit)" \
		'hutch net box ' "$(verbs_of_help net)" 'hutch net box log --' '--follow --help --json' \
		'hutch policy ' "$(verbs_of_help policy)" \
		'hutch oci ' "$(verbs_of_help oci)"
	offers_of zsh 'hutch im'
	[ "${edited[0]}" = 'hutch image ' ]
}

@test "zsh and fish complete the flags of each verb, and no other" {
	local asked=() verb
	# Options of bwrap, whose values are several words, are bash's alone.
	for verb in $(verbs_of_help) 'image build' 'pool take' 'audit show' 'oci run' 'oci update'; do
		[[ " bwrap image pool port net audit policy version help " == *" $verb "* ]] ||
			asked+=("hutch $verb -" "$("$HUTCH" $verb --help | grep -oE '^ +(-[A-Za-z] )?--[a-z-]+' |
				grep -oE -- '--?[A-Za-z-]+' | sort | paste -sd ' ')")
	done
	other_shells "${asked[@]}"
}

@test "zsh and fish say what verbs and flags do, as the help does" {
	offers_of fish 'hutch versi'
	[ "$(PATH=$PWD/bin:$PATH HOME=$PWD fish --no-config -c "source $top/completions/hutch.fish
		complete -C 'hutch versi'; complete -C 'hutch run --read-o'")" = \
		"version	print the version"$'\n'"--read-only	only named folders are writable" ]
	printf '%s\n' "send . $top/tests/run/offers.zsh $top/completions offers\\n" 'expect ready%' \
		'send hutch u\t' 'expect -- let it go on' 'send \x15hutch run --read-only -\t' \
		'expect -- only named folders are writable' 'send \x15exit\n' 'exit 0' >steps
	PATH=$PWD/bin:$PATH HOME=$PWD "$top/tests/run/terminal.py" steps zsh -f -i
}

@test "zsh and fish complete values that are words" {
	other_shells 'hutch run --network ' 'allow host none' 'hutch run --pull ' 'always missing never' \
		'hutch run --idmap ' 'ranges single' 'hutch run -it -u r' root 'hutch run --landlock ' 'auto off on' \
		'hutch run --stdio ' inherit 'hutch image export x --format ' 'dir docker oci' \
		'hutch run --hostname ' '' 'hutch run -w ' '' \
		'hutch run --network=h' host 'hutch why ' 'act connect exec read syscall write'
}

@test "zsh and fish complete paths of the host, and the mode behind them" {
	other_shells 'hutch run -v sou' source 'hutch run -v source:/x' '' 'hutch run --seccomp pro' profile.json \
		'hutch cp sou' source 'hutch cp box:' '' 'hutch run --seccomp=pro' profile.json
	offers_of zsh 'hutch run -v source:/x:' 'hutch run --workspace source:r'
	[ "${offers[*]}" = 'cow ro rw ro rw' ]
	offers_of fish 'hutch run -v source:/x:' 'hutch run --workspace source:r'
	[ "${offers[*]}" = 'source:/x:cow source:/x:ro source:/x:rw source:ro source:rw' ]
}

@test "zsh and fish complete a command inside as a command of its own" {
	other_shells 'hutch run -v source:/x:ro --rm basena' basename 'hutch run cat sou' source \
		'hutch run -- cat --network pro' profile.json 'hutch exec -e A box basena' basename \
		'hutch exec box -- cat sou' source
}

# The names are those of a hutch that knows sandboxes, images and pools with these names.
@test "zsh and fish complete names, and evaluate none" {
	local evil='$(touch${IFS}evil) `touch${IFS}evil` ;touch${IFS}evil x$(touch${IFS}evil)' all
	mkdir bin
	cat >bin/hutch <<-END
		#!/bin/sh
		case "\$*" in
		"ps -q") printf '%s\n' live '${evil// /\' \'}' ;;
		"ps -q -a") printf '%s\n' ended live ;;
		"pool ls -q") echo ready ;;
		"image ls") printf '%s\n' 'REPOSITORY TAG' 'local/a 1' 'b <none>' '${evil%% *} 2' ;;
		*) exec '$HUTCH' "\$@" ;;
		esac
	END
	chmod +x bin/hutch
	all=$(printf '%s\n' live $evil | sort | paste -sd ' ')
	other_shells 'hutch exec ' "$all" 'hutch kill live ' "$all" 'hutch port add ' "$all" 'hutch net ' "$all" 'hutch rm ' 'ended live' 'hutch logs ' 'ended live' 'hutch diff e' ended \
		'hutch audit show --sandbox ' 'ended live' 'hutch pool take ' ready \
		'hutch image rm l' local/a:1 'hutch run --image ho' host 'hutch policy check str' strict
	other_shells 'hutch image rm ' "$(printf '%s\n' local/a:1 "${evil%% *}:2" | sort | paste -sd ' ')"
	offers_of zsh 'hutch cp li' 'hutch kill x'
	[ "${edited[*]}" = 'hutch cp live: hutch kill x\$\(touch\$\{IFS\}evil\) ' ]
	offers_of fish 'hutch cp li'
	[ "${offers[0]}" = live: ]
	[ ! -e evil ]
}
