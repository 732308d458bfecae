#!/usr/bin/env bats
# Tests of wrong input: exit code 125, one sentence with the error and its place, at most one line
# of hint; nothing is run and nothing left behind.

load helpers

setup() {
	begin
	room w
	echo file >w/file
	ln -s loop w/loop
	give w
}

teardown() {
	end
}

# Each line has the arguments of hutch run, as a shell reads them, and a pattern for the sentence
# of the error. $T is the folder of the test; w/file is a file in it, w a folder.
cases() {
	cat <<'END'
--nonsense true | unknown flag --nonsense
--volumes /a:/b true | unknown flag --volumes; is it --volume\?
--memroy 1g true | unknown flag --memroy; is it --memory\?
--mem=1g true | unknown flag --mem; is it --memory\?
--name=x true | --name names the changes that are kept of folders shown with :cow, and there is no such
--name=a/b true | --name: 
--name=x --workspace w:ro true | --name names the changes that are kept
--gpus all true | hutch gives a sandbox no GPU
--privileged true | hutch has no --privileged
--mount type=bind true | hutch has no --mount
--policy agnet true | --policy: there is no policy 'agnet'; is it agent\?
-v w:relative true | -v: 'relative' is neither a path inside, which begins with /, nor a mode
--memory 0 true | --memory takes 6m or more, not '0'
--cpus=x true | --cpus: 'x' is not a number of CPUs such as 2 or 1.5
-x true | unknown flag -x
-ix true | unknown flag -x
--read-only=yes true | --read-only takes no value
--tty=1 true | --tty takes no value
-v | -v needs a value
--volume | --volume needs a value
--hostname | --hostname needs a value
-e -- true | -e needs a value: .*, and -- stands in its place
--workspace -- true | --workspace needs a value: .*, and -- stands in its place
-i | no command given
-- | no command given
'' | the command is an empty word
-- '' x | the command is an empty word
-v '' true | -v: expected SOURCE:TARGET
-v : true | -v: expected SOURCE:TARGET
-v /etc true | -v: expected SOURCE:TARGET
-v /etc: true | -v: expected SOURCE:TARGET
-v :/x true | -v: expected SOURCE:TARGET
-v /etc:x true | -v: 'x' is neither a path inside, .*from -v /etc:x
-v /etc:/x:rx true | -v: unknown mode 'rx'
-v /etc/passwd:/x:cow true | /etc/passwd is not a folder
-v /etc:/x/../y true | -v: target: '/x/../y' contains '..'
-v /nonexistent:/x true | mount /nonexistent: no such folder on the host \(from -v /nonexistent:/x\)
-v $T/w/file/x:/x true | mount .*/w/file/x
-v $T/w/loop:/x true | mount .*/w/loop: (Symbolic link loop|Too many levels of symbolic links)
-v nonexistent/relative:/x true | mount nonexistent/relative
-v /etc:/ true | nothing can be mounted at /
-v /etc:// true | nothing can be mounted at /
-v /etc:/dev true | nothing can be mounted at /dev
-v /etc:/proc true | nothing can be mounted at /proc
-v /etc:/proc/self true | nothing can be mounted at /proc/self: /proc is
-v /etc:/sys/x true | nothing can be mounted at /sys/x
-v /etc:/dev/pts/x true | nothing can be mounted at /dev/pts/x
-v /etc:/dev/shm true | nothing can be mounted at /dev/shm
-v /etc:/x -v /tmp:/x true | two mounts at /x \(from -v .*:/x and -v .*:/x\)
-v /etc:/x -v /tmp:/./x/ true | two mounts at /x
-v /etc:/x --tmpfs /x true | two mounts at /x
--workspace $T/w -v /etc:/workspace true | two mounts at /workspace
--workspace $T/w --workspace $T/w true | two mounts at /workspace
-v /etc:/usr/nonexistent true | make the folder /usr/nonexistent inside.*from -v
-v $T/w/file:/usr/bin true | /usr/bin is a folder inside, and a file is to be
-v $T/w:/etc/passwd true | /etc/passwd is a file inside, and a folder is to be
-v $T/w:/etc/passwd/x true | .*/etc/passwd.*Not a directory.*from -v
--workspace '' true | --workspace: expected DIR
--workspace /nonexistent true | mount /nonexistent: no such folder.*from --workspace /nonexistent
--workspace $T/w/file true | .*/w/file is not a folder \(from --workspace
--workspace $T/w:rx true | --workspace: unknown mode 'rx'
--toolchain tools true | --toolchain: 'tools' is not an absolute path
--toolchain /nonexistent true | mount /nonexistent: no such folder.*from --toolchain
--toolchain $T/w/file true | .*/w/file is not a folder \(from --toolchain
--tmpfs x true | --tmpfs: target: 'x' is not an absolute path
--tmpfs '' true | --tmpfs: target
--tmpfs /x:1m true | --tmpfs: expected TARGET
--tmpfs /x:size= true | --tmpfs: '' is not a size
--tmpfs /x:size=x true | --tmpfs: 'x' is not a size
--tmpfs /x:size=1q true | --tmpfs: '1q' is not a size
--tmpfs /x:size=0 true | --tmpfs: a size of 0
--tmpfs /x:size=99999999999t true | --tmpfs: '99999999999t' is too large
--tmpfs /proc true | nothing can be mounted at /proc
-e '' true | -e: '' is not KEY=VALUE
-e =x true | -e: '=x' is not KEY=VALUE
-e 'A B=x' true | -e: 'A B=x' is not KEY=VALUE
--env-file /nonexistent true | open /nonexistent: No such file.*from --env-file /nonexistent
--env-file $T/w true | .*/w: .*from --env-file
-w relative true | -w: 'relative' is not an absolute path
-w '' true | -w: '' is not an absolute path
-w /nonexistent true | enter the working directory: /nonexistent
-u ghost true | -u takes agent, root or a number up to 2147483647, not 'ghost'
--hostname a_b true | --hostname takes 1 to 63
--network vpn true | --network takes none, allow, host or ns:PATH, not 'vpn'
--idmap all true | --idmap takes single or ranges, not 'all'
--cap-add NOPE true | --cap-add: unknown capability 'NOPE'
--cap-drop NOPE true | --cap-drop: unknown capability 'NOPE'
--cap-add SYS_ADMIN true | --cap-add SYS_ADMIN is refused
--seccomp /nonexistent true | .*open seccomp profile /nonexistent: No such file
--ulimit x=1 true | unknown limit 'x' \(from --ulimit x=1\)
--ulimit nofile=x true | 'x' is not a number or unlimited
--timeout x true | --timeout: 'x' is not a duration
--timeout 0 true | --timeout: a duration of 0
--stdio pipe true | --stdio takes inherit
--stdio inherit -t true | -t makes a terminal
--mcp -t true | --mcp and -t exclude each other
--mcp --stdio inherit true | --mcp and --stdio inherit exclude each other
-it true | -t with -i needs a terminal
--json=x true | --json: 
--json=99 true | --json=99: that descriptor is not open
--image Nope true | --image: 'Nope' is no reference of an image
--image nope --pull never true | --image nope: there is no such image in the store
--image nope --pull often true | --pull takes missing, always or never
--image dir:/nonexistent true | open the image /nonexistent: No such file
--image dir:$T/w/file true | the image .*/w/file is not a directory
--image dir:$T/w/loop true | open the image .*loop
END
}

# refused_so ARGUMENTS PATTERN: checks exit code, sentence, hint and leftovers of hutch run with
# these arguments.
refused_so() {
	local -a args
	eval "args=($1)"
	catch box "${args[@]}" </dev/null >/dev/null
	[[ $status == 125 ]] || { echo "$1: exit code $status"; return 1; }
	[[ -z $output ]] || { echo "$1: prints $output"; return 1; }
	one_sentence "$2" || { echo "$1: says '$stderr', not '$2'"; return 1; }
	[[ $(state_of "$T") == "$before" ]] || { echo "$1: left something behind"; return 1; }
}

@test "every wrong flag, value, path and combination is one sentence and 125" {
	local case failed=0 count=0 before
	before=$(state_of "$T")
	while IFS= read -r case; do
		if ! problem=$(refused_so "${case%% | *}" "${case#* | }"); then
			echo "$problem"
			failed=$((failed + 1))
		fi
		count=$((count + 1))
	done < <(cases)
	echo "$count cases, $failed wrong"
	[ "$count" -gt 80 ]
	[ "$failed" -eq 0 ]
}

@test "wrong lines of an env-file are told with the file and their number" {
	local line
	for line in '=x' 'A B=x' ' A=x' $'A\tB'; do
		printf 'GOOD=1\n# comment\n%s\n' "$line" >vars
		refuses '.*vars: line 3: .*from --env-file vars' --env-file vars true
	done
	printf 'A=1\0 B=2\0' >vars
	refuses '.*vars: entry 2: .*from --env-file vars' --env-file vars true
	head -c 2000000 /dev/zero | tr '\0' 'A' >vars
	refuses '.*vars' --env-file vars true
	if ! is_root; then
		chmod 000 vars
		refuses 'open vars: Permission denied' --env-file vars true
	fi
}

@test "an env-file may be a pipe, as of a process substitution" {
	inside --env-file <(echo A=piped) sh -c 'echo $A'
	[ "$output" = piped ]
}

@test "a source that may not be read is named" {
	mkdir -p closed/inner
	touch closed/inner/file
	chmod 000 closed
	is_root && chown 0:0 closed
	refuses 'mount .*closed/inner: .*from -v' -v "$T/closed/inner:/x" true
	refuses 'mount .*closed/inner/file: .*from -v' -v "$T/closed/inner/file:/x" true
	chmod 700 closed
}

@test "a source that is a socket, a FIFO or a device is refused or shown, and does not hang" {
	room s
	mkfifo s/fifo
	/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s/socket")'
	give s
	for name in fifo socket; do
		inside --timeout "${PATIENCE}s" -v "$T/s/$name:/x" sh -c 'stat -c %F /x'
		[ "$status" -eq 0 ] || [ "$status" -eq 125 ]
	done
	inside -v /dev/null:/x sh -c 'echo y >/x'
	[ "$status" -ne 0 ]
}

@test "an argument of 1 MiB, and 5,000 arguments, arrive" {
	long=$(head -c 100000 /dev/zero | tr '\0' a)
	inside sh -c 'echo "$# ${#1}"' sh "$long" "$long" "$long" "$long" "$long" "$long" "$long" "$long" "$long" "$long"
	[ "$output" = "10 100000" ]
	inside sh -c 'echo $#' sh {1..5000}
	[ "$output" = 5000 ]
}

@test "as much as the kernel lets a program have arrives, or is one sentence" {
	ulimit -s unlimited || ulimit -s "$(ulimit -Hs)"
	catch "$here/input.py" much "$HUTCH"
	[ "$status" -ne 77 ] || skip "this kernel does not start hutch itself with so much"
	[[ $output == 55 ]] || {
		[[ $status == 125 || $status == 126 ]]
		one_sentence '.*'
	}
}

@test "an environment of 500,000 bytes arrives, one of 5 MiB is one sentence" {
	value=$(head -c 100000 /dev/zero | tr '\0' a)
	inside -e "A=$value" -e "B=$value" -e "C=$value" -e "D=$value" -e "E=$value" sh -c 'echo ${#A} ${#E}'
	[ "$output" = "100000 100000" ]
	for i in {1..9}; do
		echo "V$i=$value"
	done >vars
	inside --env-file vars sh -c 'echo ${#V9}'
	[ "$output" = 100000 ]
	args=()
	for i in {1..9}; do
		sed "s/^V/W${i}_/" vars >"vars$i"
		args+=(--env-file "vars$i")
	done
	inside "${args[@]}" true
	[[ $status == 125 || $status == 126 ]]
	one_sentence '.*'
}

@test "an argument longer than the kernel takes is one sentence" {
	head -c 200000 /dev/zero | tr '\0' a >long
	printf 'V=' | cat - long >vars
	inside --env-file vars true
	[[ $status == 125 ]]
	one_sentence 'vars: line 1: the value of V has 200000 bytes; no program could be started with more than 131071 in NAME=value'
	printf 'V=%0131070d\n' 1 >vars
	inside --env-file vars true
	[[ $status == 125 ]]
	printf 'V=%0131069d\n' 1 >vars
	inside --env-file vars true
	[[ $status == 0 ]]
}

@test "a path longer than the kernel takes is one sentence" {
	long=$(printf '/aaaaaaaaa%.0s' {1..500})
	refuses '' -v "/etc:$long" true
	refuses '' -v "$long:/x" true
	refuses '' -w "$long" true
	refuses '' --image "dir:$long" true
	refuses '' --env-file "$long" true
	name=$(printf 'a%.0s' {1..300})
	refuses '' -v "/etc:/$name" true
	deep=$(printf '/a%.0s' {1..600})
	catch box -v "/etc:$deep" true
	[[ $status == 0 || $status == 125 ]]
}

@test "17 limits, a thousand variables and a hundred tmpfs are no surprise" {
	args=()
	for i in {1..17}; do args+=(--ulimit nofile=10); done
	refuses '.*more than 16 limits' "${args[@]}" true
	args=()
	for i in {1..1000}; do args+=(-e "V$i=$i"); done
	inside "${args[@]}" sh -c 'echo $V1000'
	[ "$output" = 1000 ]
	args=()
	for i in {1..100}; do args+=(--tmpfs "/t/$i:size=64k"); done
	inside "${args[@]}" sh -c 'grep -c " /t/" /proc/mounts'
	[ "$output" = 100 ]
}

@test "a host that has run out of descriptors or processes gives one sentence" {
	needs_static
	inside true
	catch bash -c 'ulimit -n 5; exec "$0" run true' "$HUTCH"
	[[ $status == 0 || $status == 125 ]]
	[[ $status == 0 ]] || one_sentence '.*'
	if ! is_root; then
		catch bash -c 'ulimit -u 1; exec "$0" run true' "$HUTCH"
		[[ $status == 0 || $status == 125 ]]
		[[ $status == 0 ]] || one_sentence '.*'
	fi
}
