#!/usr/bin/env bats
# Tests of stdin, stdout and stderr: which files are handed to the sandbox, and what a process
# inside can do to them.

load helpers

setup() {
	begin
	shown=(-v "$here/stdio.py:/stdio.py:ro")
}

teardown() {
	remove_boxes
	end
}

# This command runs stdio.py inside, where an option -v shows the file.
python=(/usr/bin/python3 -SE /stdio.py)

@test "without -i stdin is /dev/null, whatever the caller's is" {
	output=$(echo typed | box sh -c 'cat; readlink /proc/self/fd/0')
	[ "$output" = /dev/null ]
	output=$(box cat </etc/passwd)
	[ -z "$output" ]
}

@test "-i passes a pipe, a file and a here-document on" {
	[ "$(echo piped | box -i cat)" = piped ]
	echo filed >file
	[ "$(box -i cat <file)" = filed ]
	[ "$(box -i cat <<<'here')" = here ]
	[ "$(box --interactive cat </dev/null)" = "" ]
}

@test "-i passes a file on from where the caller had come to" {
	printf '%s\n' one two three >file
	{
		read -r first
		rest=$(box -i cat)
	} <file
	[ "$first" = one ]
	[ "$rest" = two$'\n'three ]
}

@test "50 MiB go in and come out byte for byte" {
	head -c $((50 << 20)) /dev/urandom >big
	sum=$(sha256sum <big)
	[ "$(box -i cat <big | sha256sum)" = "$sum" ]
	[ "$(cat big | box -i cat | sha256sum)" = "$sum" ]
	box -i cat <big >copy
	cmp big copy
	box -i sh -c 'cat >&2' <big 2>copy
	cmp big copy
	[ "$(box -i sha256sum <big)" = "$sum" ]
}

@test "the command sees the end of stdin, and an early end of its own does not hang" {
	[ "$(printf x | box -i sh -c 'wc -c; echo done')" = 1$'\n'done ]
	catch bash -c 'yes | "$0" run -i head -1' "$HUTCH"
	[ "$output" = y ]
	[ "$status" -eq 0 ]
	# Here the writer keeps stdin open, and writes nothing.
	mkfifo never
	exec 8<>never
	catch box -i true <&8
	exec 8<&-
	[ "$status" -eq 0 ]
}

@test "no descriptor inside is a terminal without -t" {
	cat >steps <<-END
		expect (?m)^no no no no
		exit 0
	END
	"$here/terminal.py" steps "$HUTCH" run -i sh -c \
		'for fd in 0 1 2; do test -t $fd && printf "yes " || printf "no "; done
		(: </dev/tty) 2>/dev/null && echo yes || echo no'
}

@test "stdout without a reader ends the command" {
	catch bash -c '"$0" run yes | head -1; echo "${PIPESTATUS[0]}"' "$HUTCH"
	[ "${lines[0]}" = y ]
	[ "${lines[1]}" -eq 141 ]
}

@test "2>&1 keeps the order of what is written" {
	for i in {1..20}; do
		output=$(box sh -c 'echo 1; echo 2 >&2; echo 3; echo 4 >&2; echo 5' 2>&1)
		[ "$(xargs <<<"$output")" = "1 2 3 4 5" ]
	done
	box sh -c 'echo 1; echo 2 >&2; echo 3' >file 2>&1
	[ "$(xargs <file)" = "1 2 3" ]
}

@test "stdout and stderr apart stay apart" {
	inside sh -c 'echo out; echo err >&2'
	[ "$output" = out ]
	[ "$stderr" = err ]
}

@test "/dev/full as stdout: the command is told, or hutch ends, but does not hang" {
	catch bash -c '"$0" run sh -c "echo x; echo y; exit 5" >/dev/full' "$HUTCH"
	[ "$status" -ne 124 ]
	catch timeout "$PATIENCE" bash -c '"$0" run yes >/dev/full' "$HUTCH"
	[ "$status" -ne 124 ]
	[ "$status" -ne 0 ]
}

# --- checklist 96 to 101 ------------------------------------------------------

@test "96: a file that is stdin cannot be opened again for writing" {
	echo content >file
	give file
	catch box -i sh -c 'for how in ">" ">>" "<>"; do
		eval "echo evil $how/proc/self/fd/0" 2>/dev/null; done
		exec 9</proc/self/fd/0; truncate -s 0 /proc/self/fd/0; cat' <file
	[ "$(cat file)" = content ]
	sum=$(sha256sum file)
	catch box -i "${shown[@]}" "${python[@]}" write_to_stdin <file
	[ "$(sha256sum file)" = "$sum" ]
	[ "$(stat -c %a file)" != 777 ]
}

@test "97: a folder as stdin or stdout is refused" {
	refuses 'stdin is a folder' -i true </etc
	catch bash -c '"$0" run true 1</etc' "$HUTCH"
	[ "$status" -eq 125 ]
	# Without -i stdin is not handed over, so it may be any file.
	catch box ls -A . </etc
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "97: an O_PATH descriptor as stdin, stdout or stderr is not inside" {
	for fd in 0 1 2; do
		catch python3 "$here/stdio.py" with_path "$fd" "$HUTCH" run -i sh -c \
			'for fd in 0 1 2; do cat /proc/self/fd/$fd/passwd /proc/self/fd/$fd/../etc/shadow; done 2>/dev/null
			exit 0'
		[[ $output$stderr != *daemon* ]]
	done
}

@test "97: a socket as stdin, stdout and stderr is pumped, and not inside" {
	catch python3 "$here/stdio.py" with_pair "$HUTCH" run -i sh -c 'cat; readlink /proc/self/fd/0 /proc/self/fd/1'
	[ "${lines[0]}" = typed ]
	[[ ${lines[1]} == pipe:* && ${lines[2]} == pipe:* ]]
}

@test "98: a connected socket of the host's network is never inside" {
	catch python3 "$here/stdio.py" with_network "$HUTCH" run sh -c 'readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2'
	[ "$status" -eq 0 ]
	[[ $output == *pipe:* && $output != *socket:* ]]
}

@test "99: a file bound :ro cannot be written to by any way around" {
	room w
	echo content >w/file
	give w
	catch box "${shown[@]}" -v "$T/w/file:/file:ro" "${python[@]}" write_to_read_only
	[ -z "$output" ]
	[ "$(cat w/file)" = content ]
}

@test "100: what is written into stdin reaches no other reader of the caller's pipe" {
	mkfifo pipe
	exec 8<>pipe
	echo for-the-sandbox >&8
	box -i sh -c 'read x; echo evil >/proc/self/fd/0; echo evil >&0; true' <&8 2>/dev/null
	echo end >&8
	# Bytes that hutch has read for the sandbox are lost to other readers; bytes that were
	# written later are not.
	read -r line <&8
	exec 8<&-
	[ "$line" = end ]
}

@test "100: a pipe that is stdout cannot be read back" {
	mkfifo pipe
	exec 8<>pipe
	echo secret >&8
	# Both commands read without blocking, so that they end although no bytes come.
	box sh -c 'dd if=/proc/self/fd/1 iflag=nonblock of=/tmp/got; dd iflag=nonblock <&1 >>/tmp/got; cat /tmp/got >&2' \
		>&8 2>got || true
	exec 8<&-
	[ -z "$(grep secret got)" ]
}

@test "101: stdout is '>> file': what was there before stays" {
	echo earlier >file
	give file
	box "${shown[@]}" "${python[@]}" append >>file
	[ "$(cat file)" = earlier$'\n'later ]
}

@test "101: '> file' behind a header of the caller's keeps the header" {
	{
		echo header
		box sh -c 'truncate -s 0 /proc/self/fd/1; echo body'
		echo footer
	} >file 2>/dev/null
	[ "$(xargs <file)" = "header body footer" ]
}

@test "many that share one output file overwrite nothing of each other" {
	seq 16 | xargs -P 16 -I{} "$HUTCH" run \
		sh -c 'i=0; while [ $i -lt 3000 ]; do echo {}; i=$((i + 1)); done' >out 2>err
	[ ! -s err ]
	[ "$(wc -l <out)" -eq 48000 ]
}

@test "101: O_NONBLOCK that is set inside does not reach the caller's descriptors" {
	for what in pipe file; do
		python3 "$here/stdio.py" with_own_flags "$what" "$HUTCH" run "${shown[@]}" \
			"${python[@]}" set_flags "$what"
	done
}

@test "hutch itself leaves no O_NONBLOCK on a terminal it was given" {
	cat >steps <<-END
		expect ready
		nonblocking no
		send x\n
		exit 0
		nonblocking no
	END
	"$here/terminal.py" steps "$HUTCH" run -i sh -c 'echo ready; read x'
}

# --- --stdio inherit ------------------------------------------------------------

@test "--stdio inherit hands all three over as they are" {
	echo content >file
	catch box --stdio inherit sh -c 'cat; stat -L -c %i /proc/self/fd/1' <file
	[ "${lines[0]}" = content ]
	echo typed | box --stdio inherit cat >out
	[ "$(cat out)" = typed ]
	echo first >out
	box --stdio inherit sh -c 'i=$(stat -L -c %i /proc/$$/fd/1); echo $i >&2' >>out 2>inode
	[ "$(cat inode)" = "$(stat -c %i out)" ]
}

@test "a datagram socket, which leads to all others of the host's, is not handed over" {
	local kind fd
	for kind in namespaces landlock; do
		for fd in 0 1; do
			catch /usr/bin/python3 -SE "$here/stdio.py" begin_with_datagrams "$fd" "$HUTCH" run --isolation "$kind" --stdio inherit true
			[ "$status" -eq 125 ]
			one_sentence 'hand std(in|out) over \(--stdio inherit\): it is a datagram socket'
		done
	done
	# Without --stdio inherit the command gets pipes of hutch, through which it cannot send to
	# the socket.
	box true
	/usr/bin/python3 -SE "$here/stdio.py" begin_with_datagrams 1 "$HUTCH" run true
}

@test "--stdio takes nothing else, and no -t with it" {
	refuses "--stdio takes inherit, not 'pipe'" --stdio pipe true
	refuses '-t makes a terminal' --stdio inherit -t true
}

# --- text for terminals ----------------------------------------------------------

@test "85: escape sequences are shown, not obeyed, where stdout is a terminal" {
	printf '%s\n' 'expect \^\[\]0;evil\^G\^\[\[31mred\^\[\[0m' 'exit 0' 'never \x1b' >steps
	"$here/terminal.py" steps "$HUTCH" run printf '\033]0;evil\007\033[31mred\033[0m\n'
	"$here/terminal.py" steps "$HUTCH" run sh -c 'printf "\033]0;evil\007\033[31mred\033[0m\n" >&2'
	printf '%s\n' 'expect M-\^\]52;c;' 'exit 0' 'never \xc2\x9d' >steps
	"$here/terminal.py" steps "$HUTCH" run printf '\302\2350;52;c;x\n' || {
		printf '%s\n' 'expect M-\^\]' 'exit 0' 'never \xc2\x9d' >steps
		"$here/terminal.py" steps "$HUTCH" run printf '\302\235x\n'
	}
}

@test "85: a lone carriage return cannot overwrite a line of the terminal" {
	printf '%s\n' 'expect safe\^Mevil' 'exit 0' >steps
	"$here/terminal.py" steps "$HUTCH" run printf 'safe\revil\n'
	printf '%s\n' 'expect (?m)^one\r+$' 'expect tw.*' 'exit 0' 'never \^M' >steps
	"$here/terminal.py" steps "$HUTCH" run printf 'one\r\ntwo\n'
}

@test "85: text, tabs and UTF-8 arrive on a terminal as they are" {
	printf '%s\n' 'expect a\tb äöü 漢字 😀' 'exit 0' >steps
	"$here/terminal.py" steps "$HUTCH" run printf 'a\tb äöü 漢字 😀\n'
}

@test "85: a pipe or a file gets every byte as it is" {
	box printf '\033]0;x\007\r\0\377' >out
	[ "$(od -An -tx1 out | tr -d ' \n')" = 1b5d303b78070d00ff ]
}

@test "85: with -t the terminal is the command's, and gets everything" {
	printf '%s\n' 'expect \x1b\]0;title\x07' 'exit 0' >steps
	"$here/terminal.py" steps "$HUTCH" run -t printf '\033]0;title\007'
}

@test "85: escape sequences in messages of hutch itself are shown" {
	refuses '' -v $'/\e]0;evil\a:/x' true
	[[ $stderr == *'^[]0;evil^G'* ]]
	fails 127 '' $'\e[2J'
	[[ $stderr == *'^[[2J'* ]]
	refuses '' --env-file $'/\e[31m' true
	refuses '' --image $'\e[31m' true
	refuses '' --$'\e[31m'
	[[ $stderr != *$'\e'* ]]
	refuses '' $'-\e' true
	[[ $stderr != *$'\e'* ]]
	inside --dry-run -v "$T:"$'/a\nb' true
	[[ $output == *'/a^Jb'* ]]
}

@test "85: what a name inside makes hutch say is one line" {
	room w
	fails 127 '.*\^J.*' --workspace "$T/w" $'a\nhutch: all is well'
	[[ ${#stderr_lines[@]} == 2 && ${stderr_lines[1]} == "hutch: hint: the quotes "* ]]
}

# --- what cannot be written ---------------------------------------------------------

# onto_full WORD...: runs hutch with /dev/full as stdout, where each write fails with ENOSPC.
onto_full() {
	"$HUTCH" "$@" >/dev/full </dev/null
}
full() {
	catch onto_full "$@"
}

# told [NAME CODE]: checks that hutch, or the program NAME, has reported the failed write in one
# sentence and ended with the code.
told() {
	[[ $status == "${2:-125}" && $stderr == "${1:-hutch}: write to stdout: "* && ${#stderr_lines[@]} == 1 ]]
}

@test "a command whose output cannot be written has not ended well, but for its own failure" {
	full run echo hi
	told
	full run sh -c 'echo hi; exit 3'
	[[ $status == 3 && $stderr == 'hutch: write to stdout: No space left on device' ]]
	full run true
	[[ $status == 0 && -z $stderr ]]
	catch eval '"$HUTCH" run sh -c "echo hi >&2" 2>/dev/full'
	[[ $status == 0 ]]
	catch eval '"$HUTCH" run echo hi >/dev/full 2>&1'
	[[ $status == 125 ]]
	catch eval '"$HUTCH" run --json=3 echo hi 3>object >/dev/full'
	[[ $status == 125 && $(cat object) == *'"exit_code":125'*'No space left on device'* ]]
	catch eval '"$HUTCH" run --json=3 true 3>/dev/full'
	[[ $status == 125 && $stderr == 'hutch: write the object of --json to descriptor 3: No space left on device' ]]
	full run --isolation landlock echo hi
	[[ $status == 125 && $stderr == *'hutch: write to stdout: No space left on device' ]]
}

@test "neither has one in a sandbox with a name, nor have actions there" {
	"$HUTCH" create box
	full exec box echo hi
	told
	full exec box sh -c 'echo hi; exit 3'
	[[ $status == 3 && $stderr == 'hutch: write to stdout: No space left on device' ]]
	full exec -d box true
	told
	catch eval 'echo "{\"action\":\"run\",\"args\":{\"command\":\"echo hi\"}}" | "$HUTCH" act box >/dev/full'
	told
	catch eval 'echo "{\"action\":\"run\",\"args\":{\"command\":\"echo hi\"}}" | "$HUTCH" act >/dev/full'
	[[ $status == 125 && $stderr == 'hutch: write an observation: No space left on device' ]]
	catch eval 'echo "{}" | "$HUTCH" connect box >/dev/full'
	told
	catch eval '"$HUTCH" create --json=3 crate 3>/dev/full'
	[[ $status == 125 && $output == crate && $stderr == 'hutch: write the object of --json to descriptor 3: '* ]]
	for words in ps 'ps -q' 'ps --json' 'inspect box' 'stats --no-stream box' 'port ls box' 'cp box:/etc/passwd -' 'rm -f crate' 'stop box'; do
		full $words
		[[ $status == 125 && ${stderr_lines[-1]} == 'hutch: '*': '* ]]
	done
}

# all_told WORDS...: runs hutch with each of the WORDS and /dev/full as stdout, and checks that it
# ends with the sentence about the failed write.
all_told() {
	local words
	for words; do
		full $words
		[[ $status == 125 && ${stderr_lines[-1]} == 'hutch: write to stdout: No space left on device' &&
			$(grep -c 'write to stdout' <<<"$stderr") == 1 ]] || {
			echo "$words"
			return 1
		}
	done
}

@test "every verb that prints says what kept it from that, in the same words, and ends with 125" {
	all_told --version version --help help 'run --help' 'exec --help' 'create --help' 'fork --help' 'act --help' 'cp --help' 'image --help' 'image help' 'image ls --help' \
		'policy --help' 'pool --help' 'audit --help' 'policy list' 'policy show default' \
		'why read /usr' 'why read /nowhere' 'why syscall mount' 'why --json read /usr' doctor 'doctor --json' \
		'run --dry-run true' 'image ls' 'image ls --json' 'image quota' 'image verify' ps 'ps --json' \
		'pool ls' 'pool ls --json'
}

@test "so does each that tells of a sandbox, and those that wait for more end" {
	room w
	echo old >w/old
	give w
	"$HUTCH" create --workspace w:cow --audit on box
	"$HUTCH" create other
	"$HUTCH" exec -d box sh -c 'echo one; echo two'
	"$HUTCH" exec box sh -c 'echo new >old; for i in $(seq 400); do echo x >"f$i"; done'
	until_true logged two
	all_told ps 'ps -q' 'ps --json' 'ps --format json' changes 'changes --json' 'inspect box' 'stats --no-stream box' 'stats --json box' 'port ls box' 'port add box auto:80' \
		'logs box' 'logs -f box' 'events box' 'events -f box' 'events -f --json box' \
		'diff box' 'diff --json box' 'diff --patch box' 'apply --dry-run box' 'exec -d box true' 'pause box' 'unpause box' \
		'stop box' 'wait box' 'audit verify' 'audit show' 'rm -f box other'
	[ -z "$("$HUTCH" ps -q)" ]
}

logged() {
	"$HUTCH" logs box | grep -qx "$1"
}

@test "a reader that goes away ends the command as in any pipe, and is no failure of its own" {
	set +o pipefail
	"$HUTCH" run sh -c 'trap "" PIPE; yes 2>/dev/null; exit 0' 2>err | head -n 1
	[[ ${PIPESTATUS[0]} == 0 && ! -s err ]]
	"$HUTCH" run yes 2>err | head -n 1
	[[ ${PIPESTATUS[0]} == 141 && ! -s err ]]
}

@test "no text or list ends with 0 where it could not be written" {
	local verb words
	for verb in $("$HUTCH" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		full "$verb" --help
		case $verb in
		bwrap) told bwrap 1 ;;
		oci) told hutch-oci 1 ;;
		*) told ;;
		esac
	done
	for verb in $("$HUTCH" image --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		full image "$verb" --help
		told
	done
	for words in --help --version version 'help run' 'image --help' 'image ls --help' 'pool ls' 'pool --help' 'port --help' 'policy list' \
		'policy show agent' 'policy show --json agent' doctor 'doctor --json' 'run --dry-run true' 'act --dry-run' 'run --isolation landlock --dry-run true'; do
		full $words
		[[ $status == 125 && ${stderr_lines[-1]} == 'hutch: write to stdout: '* ]] || { [[ $words == *json* && $stderr == *'unknown flag'* ]]; }
	done
}
