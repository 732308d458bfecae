#!/usr/bin/env bats
# Tests of the verbs for sandboxes that have a name, with the real supervisor.

load helpers

teardown() {
	remove_boxes
	end
}

# make NAME [OPTION...]: creates the sandbox NAME.
make() {
	catch "$HUTCH" create "${@:2}" "$1"
	[[ $status == 0 && $output == "$1" ]]
}

# fails_with CODE PATTERN ARG...: checks like `fails` that hutch fails, for any verb.
fails_with() {
	local code=$1 pattern=$2
	shift 2
	hutch "$@"
	[[ $status == "$code" && -z $output ]]
	one_sentence "$pattern"
}

# value KEY: prints a value of the JSON in $output; KEY is an expression in Python such as
# [0]["pid"].
value() {
	python3 "$here/named.py" value "$output" "$1"
}

# --- exec ----------------------------------------------------------------------

@test "exec passes output, errors, the exit code and signals through" {
	make box
	hutch exec box -- sh -c 'echo out; echo err >&2; exit 7'
	[[ $status == 7 && $output == out && $stderr == err ]]
	hutch exec box sh -c 'kill -TERM $$'
	[[ $status == 143 ]]
	hutch exec box true
	[[ $status == 0 && -z $output$stderr ]]
}

@test "files that one command leaves are there for the next one" {
	make box
	"$HUTCH" exec box sh -c 'echo kept >/workspace/file'
	hutch exec box cat file
	[[ $output == kept ]]
}

@test "exec -i passes stdin on, to its end; without it there is none" {
	make box
	seq 100000 >numbers
	catch "$HUTCH" exec -i box sha256sum <numbers
	[[ $output == "$(sha256sum <numbers)" ]]
	catch "$HUTCH" exec box cat <numbers
	[[ $status == 0 && -z $output ]]
}

@test "all output arrives before the end, however slowly it is read" {
	make box
	# After the first line, the reader does other work before it reads the rest.
	"$HUTCH" exec box seq 300000 | {
		read -r first
		"$HUTCH" exec box true
		echo "$first"
		cat
	} >numbers
	seq 300000 | cmp - numbers
}

@test "exec does not wait for what a command leaves in the background" {
	make box
	hutch exec box sh -c 'sleep 1000 & echo done'
	[[ $status == 0 && $output == done ]]
}

@test "a client that runs last hears all that came at once" {
	# The client is bound to one processor, and with SCHED_IDLE runs there only when no other
	# process can run.
	cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	taskset -c "$cpu" "$HUTCH" create box
	for i in 1 2 3 4 5; do
		catch timeout "$PATIENCE" taskset -c "$cpu" chrt -i 0 "$HUTCH" exec box echo "$i"
		[[ $status == 0 && $output == "$i" ]]
	done
}

@test "-e, --env-file, -w and -u set the environment, folder and user of a command" {
	make box
	echo FROM=file >env
	hutch exec -e A=b --env-file env -w /tmp box sh -c 'echo "$A $FROM $PWD $USER"'
	[[ $output == "b file /tmp agent" ]]
	hutch exec -e "ODD=a\"b\\c$(printf '\t\303\251')" box printenv ODD
	[[ $output == "a\"b\\c$(printf '\t\303\251')" ]]
	fails_with 125 "sandbox 'box': .*/nowhere.*" exec -w /nowhere box true
}

@test "a command that cannot be run is 126 or 127, as in a shell" {
	make box
	fails_with 127 "no-such-program: command not found in sandbox 'box'" exec box no-such-program
	fails_with 126 "sandbox 'box': .*/etc/passwd.*" exec box /etc/passwd
}

@test "--timeout ends the command, and the sandbox lives on" {
	make box
	hutch exec --timeout 300ms box sleep 1000
	[[ $status == 124 && $stderr == "hutch: timed out after 0.3 s; the command was ended" ]]
	hutch exec box true
	[[ $status == 0 ]]
}

@test "an argument that is no UTF-8 is refused and not changed" {
	make box
	fails_with 125 "the argument '" exec box echo $'\xff'
	[[ $stderr == *"is not UTF-8, which is all that the control socket carries" ]]
}

@test "Ctrl-C reaches the command, and its exit code comes back" {
	make box
	mkfifo out
	env --default-signal "$HUTCH" exec box sh -c 'trap "echo caught; exit 9" INT; echo ready
		while :; do :; done' >out 3>&- </dev/null &
	pid=$!
	started+=("$pid")
	exec 7<out
	said ready
	kill -INT "$pid"
	said caught
	ended 9
}

@test "a command that was not detached ends with the hutch that started it" {
	make box
	"$HUTCH" exec box sh -c 'sleep 1000; :' 3>&- >/dev/null 2>&1 </dev/null &
	pid=$!
	started+=("$pid")
	until_true "$HUTCH" exec box pgrep sleep
	kill -KILL "$pid"
	none_sleeps() { ! "$HUTCH" exec box pgrep sleep; }
	until_true none_sleeps
}

@test "exec -d prints a number and leaves the command behind" {
	make box
	hutch exec -d box sh -c 'echo >/workspace/was-here; sleep 1000'
	[[ $status == 0 && $output =~ ^[0-9]+$ ]]
	until_true "$HUTCH" exec box test -e /workspace/was-here
	fails_with 125 '-d and -i exclude each other' exec -d -i box true
}

# --- a terminal -----------------------------------------------------------------

drive() {
	printf '%s\n' "$@" >steps
	TERM=xterm "$here/terminal.py" steps "${command[@]}"
}

@test "exec -it has a terminal of its size, and the caller's is as it was" {
	make box
	command=("$HUTCH" exec -it -e 'PS1=<''$?''> ' box bash --norc --noprofile)
	drive 'expect <0> $' 'modes raw' 'send tty; stty size; echo $TERM\n' 'expect /dev/pts/' \
		'expect xterm' 'send sh -c "echo g''o; exec sleep 1000"\n' 'expect [\r\n]go\r' 'send \x03' 'expect <130> ' 'send exit 5\n' \
		'exit 5' 'modes same'
}

@test "shell is a shell on a terminal, and reads its commands where there is none" {
	make box
	command=("$HUTCH" shell box -e 'PS1=<''$?''> ')
	drive 'expect \$|>' 'send echo $((6*7)); exit 4\n' 'expect 42' 'exit 4' 'modes same'
	catch "$HUTCH" shell box <<<'echo $0; exit 3'
	[[ $status == 3 && $output == /bin/bash ]]
}

@test "a hutch that is killed leaves the terminal as it was" {
	make box
	command=(sh -c '"$0" exec -it box sleep 1000; echo "code $?"' "$HUTCH")
	drive 'modes raw' 'kill-child hutch' 'expect code 137' 'exit 0' 'modes same'
}

# --- act and connect ------------------------------------------------------------

@test "act does actions in the sandbox, and its session lasts" {
	make box
	catch "$HUTCH" act box <<<'{"action":"run","id":1,"args":{"command":"X=kept; cd /tmp"}}'
	[[ $status == 0 && $(value '["cause"]') == 1 ]]
	catch "$HUTCH" act box <<<'{"action":"run","id":2,"args":{"command":"echo $X $PWD"}}'
	[[ $status == 0 && $(value '["content"]') == '"kept /tmp"' ]]
}

@test "with create --lint the sandbox's linter is asked about what act edits" {
	make box --lint
	catch "$HUTCH" act box <<-'END'
		{"action":"write","id":1,"args":{"path":"/workspace/a.sh","content":"true"}}
		{"action":"edit","id":2,"args":{"command":"insert","path":"/workspace/a.sh","insert_line":1,"new_str":"fi"}}
	END
	[[ $status == 0 ]]
	grep -q 'Linting issues found in the changes:\\n- Line 2, Column 1: syntax error' <<<"$output"
}

@test "act ends with 125 when the sandbox does" {
	make box
	mkfifo in
	"$HUTCH" act box <in >out 2>err 3>&- &
	pid=$!
	started+=("$pid")
	exec 8>in
	echo '{"action":"run","id":1,"args":{"command":"echo up"}}' >&8
	until_true grep -q '"up"' out
	"$HUTCH" kill box
	code=0
	wait "$pid" || code=$?
	exec 8>&-
	[[ $code == 125 ]]
	grep -q "^hutch: sandbox 'box'" err
}

# handed NAME: prints the output of `hutch connect --descriptor NAME`, and checks the descriptor
# that it passes.
handed() {
	python3 "$here/named.py" handed "$HUTCH" "$1"
}

@test "connect --descriptor hands over the connection itself, greeted, to root too" {
	"$HUTCH" create box
	[ "$(handed box)" = $'0 None 1\nbox' ]
	[ "$(handed nobox)" = '125 not_found 0' ]
	catch "$HUTCH" connect -d box </dev/null
	[ "$status" -eq 125 ]
	one_sentence 'hand the connection over to stdout, which takes a unix socket'
}

@test "connect carries the socket's bytes both ways" {
	make box
	printf '{"jsonrpc":"2.0","id":%s,"method":"%s"}\n' 1 hello 2 info >in
	catch "$HUTCH" connect box <in
	[[ $status == 0 && ${#lines[@]} == 2 ]]
	output=${lines[1]}
	[[ $(value '["result"]["name"]') == '"box"' ]]
}

# --- watching -------------------------------------------------------------------

@test "ps has a row each, by name, and its JSON exactly the keys that are promised" {
	make two
	make one
	hutch ps
	[[ ${lines[0]} =~ ^NAME\ +ID\ +IMAGE\ +STATE\ +CREATED\ +PIDS\ +MEMORY$ ]]
	[[ ${lines[1]} =~ ^one\ +[0-9a-f]{12}\ +host\ +ready ]]
	[[ ${lines[2]} == two\ * && ${#lines[@]} == 3 ]]
	hutch ps --json
	[[ $(value '[0].keys().__iter__().__length_hint__()') == 11 ]]
	[[ $(value '.__class__([" ".join(o) for o in x][:1])') == \
		'["name id image state created cpu_s memory_bytes pids isolation workspace exit"]' ]]
	[[ $(value '[1]["name"]') == '"two"' && $(value '[1]["exit"]') == null ]]
	hutch ps -q
	[[ $output == $'one\ntwo' ]]
}

@test "ps takes a format and filters, as docker's does" {
	make box
	make other
	hutch ps --format '{{.Name}}:{{ .State }}\t{{.Image}} {x} {{.Changes}}'
	[[ $output == $'box:ready\thost {x} -\nother:ready\thost {x} -' ]]
	hutch ps --format json --filter name=ox
	[[ $output == '{"name":"box",'*'}' ]]
	hutch ps --filter name=b --filter state=ready -q
	[ "$output" = box ]
	hutch ps --filter name=b --filter name=the --filter status=ended -q
	[ -z "$output" ]
	hutch ps --filter name=b --filter name=the -q
	[ "$output" = $'box\nother' ]
	catch "$HUTCH" ps --format '{{.Nmae}}'
	[[ $status == 125 && $stderr == *'no column is called {{.Nmae}}'* ]]
	catch "$HUTCH" ps --filter size=1
	[[ $status == 125 && $stderr == *"'size=1' is no filter"* ]]
}

@test "labels: ps filters by them and prints them, inspect has them, also after the end" {
	make box --label team=web --label 'a.b=x y' --label on
	make other --label team=db
	make third
	hutch ps -q --filter label=team
	[ "$output" = $'box\nother' ]
	hutch ps -q --filter label=team=web --filter label=on
	[ "$output" = box ]
	hutch ps -q --filter label=team=web --filter label=team=db
	[ -z "$output" ]
	hutch ps -q --filter label=tea
	[ -z "$output" ]
	hutch ps --format '{{.Name}} {{.Labels}} {{.Label "a.b"}}|{{ .Label "nosuch" }}|'
	[ "$output" = $'box team=web,a.b=x y,on= x y||\nother team=db ||\nthird  ||' ]
	hutch inspect box
	[ "$(jq -c '.[0].labels' <<<"$output")" = '{"team":"web","a.b":"x y","on":""}' ]
	"$HUTCH" kill box
	hutch ps -aq --filter label=on
	[ "$output" = "$("$HUTCH" ps -aq --filter name=box)" ]
	hutch inspect third
	[ "$(jq -c '.[0].labels' <<<"$output")" = '{}' ]
}

@test "labels: control characters do not reach a terminal, and too many are refused" {
	make box --label $'a=1\n\e[1m'
	hutch ps --format '{{.Label "a"}}{{.Labels}}'
	never grep $'\e' <<<"$output"
	[ "${#lines[@]}" = 1 ]
	hutch inspect box
	never grep $'\e' <<<"$output"
	catch "$HUTCH" create --label $'a=\xff' other
	[[ $status == 125 && $stderr == *'a label is UTF-8'* ]]
	many=()
	for i in {1..129}; do
		many+=(--label "k$i")
	done
	catch "$HUTCH" create "${many[@]}" other
	[[ $status == 125 && $stderr == *'128 labels are the most'* ]]
	catch "$HUTCH" ps --format '{{.Label}}'
	[[ $status == 125 && $stderr == *'no column is called {{.Label}}'* ]]
}

@test "those that have ended are in ps -a with their reason, and rm takes them away" {
	make box
	"$HUTCH" stop box
	hutch ps -q
	[[ -z $output ]]
	hutch ps -a
	has '^box .* ended \(stopped\)'
	hutch ps -a --json
	[[ $(value '[0]["state"]') == '"ended"' && $(value '[0]["exit"]["reason"]') == '"stopped"' ]]
	hutch rm "$("$HUTCH" ps -aq)"
	[[ $status == 0 ]]
	hutch ps -aq
	[[ -z $output ]]
}

# narrow: prints hutch ps -a as on a terminal of 80 columns.
narrow() {
	script -qec "stty cols 80; '$HUTCH' ps -a" /dev/null </dev/null | tr -d '\r'
}

@test "ps -a leaves out ids on a narrow terminal, unless two sandboxes have one name" {
	local long=a-folder/whose-path/is-wider/than-what-is-left-of-the-line
	mkdir -p "$long"
	make box --workspace "$long"
	"$HUTCH" stop box
	[[ $(narrow | head -n 1) =~ ^NAME\ +STATE ]]
	make box --workspace "$long"
	"$HUTCH" stop box
	[[ $(narrow | head -n 1) =~ ^NAME\ +ID\ +STATE\ +CREATED\ +FOLDER ]]
	narrow | awk 'length > 80 { print; wide = 1 } END { exit wide }'
	[[ $(narrow | awk 'NR > 1 { print $2 }' | sort) == "$("$HUTCH" ps -aq | sort)" ]]
}

@test "inspect tells all, of the living and the dead, and what is missing is an error" {
	make box
	hutch inspect box
	[[ $(value '[0]["state"]') == '"ready"' && $(value '[0]["exit"]') == null ]]
	[[ $(value '[0]["limits"]["memory"]') == null ]]
	"$HUTCH" kill box
	hutch inspect box nobody
	[[ $status == 125 && $(value '[0]["state"]') == '"ended"' ]]
	[[ $(value '[0]["exit"]["reason"]') == '"killed"' && $(value '.__len__()') == 1 ]]
}

@test "inspect tells of a run whose changes alone are kept, and other verbs say what is kept" {
	mkdir p
	catch "$HUTCH" run --name tidy --workspace p:cow -- touch new
	id=$("$HUTCH" changes --json | jq -r '.[0].id')
	for word in tidy "$id"; do
		hutch inspect "$word"
		[[ $status == 0 && $(value '[0]["name"]') == '"tidy"' && $(value '[0]["id"]') == "\"$id\"" ]]
		[[ $(value '[0]["state"]') == '"ended"' && $(value '[0]["workspace"]') == "\"$T/p\"" ]]
		[[ $(value '[0]["mounts"]') == "[{\"source\": \"$T/p\", \"target\": \"/workspace\", \"mode\": \"cow\"}]" ]]
	done
	for words in 'rm tidy' 'logs tidy' 'wait tidy' 'exec tidy true' 'rename tidy other'; do
		# shellcheck disable=SC2086 # several words
		hutch $words
		[[ $status == 125 && $stderr == *"sandbox 'tidy' has ended, and only its changes are kept"* ]]
		[[ $stderr == *'hutch discard tidy removes them'* ]]
	done
	[ "$("$HUTCH" diff tidy)" ]
	hutch discard tidy
	fails_with 125 "no sandbox named 'tidy' exists" rm tidy
}

@test "inspect has mounts, ports, names of variables and the user; folders are absolute" {
	mkdir p data
	make box --workspace p:cow -v data:/etc/alternatives -v data:/data:ro --tmpfs /out -e "KEY=a secret" -p auto:80 -u 0
	hutch inspect box
	[[ $(value '[0]["workspace"]') == "\"$T/p\"" && $(value '[0]["user"]') == '"0:0"' ]]
	[[ $(value '[0]["mounts"]') == "[{\"source\": \"$T/p\", \"target\": \"/workspace\", \"mode\": \"cow\"},"* ]]
	[[ $(value '[0]["mounts"]') == *"{\"source\": \"$T/data\", \"target\": \"/etc/alternatives\", "* ]]
	[[ $(value '[0]["mounts"][2:]') == *"\"$T/data\", \"target\": \"/data\", \"mode\": \"ro\"}, {\"source\": null,"* ]]
	[[ $(value '[0]["ports"]') == '[{"host": "127.0.0.1:'[0-9]*'", "guest": 80}]' ]]
	[[ $(value '[0]["env"]') == *'"KEY"'* && $output != *'a secret'* ]]
	hutch ps --json
	[[ $(value '[0]["workspace"]') == "\"$T/p\"" ]]
}

@test "ps tells what a sandbox uses without its supervisor, which is stopped meanwhile" {
	make box
	"$HUTCH" exec -d box sh -c 'sleep 1000 & exec sleep 1000' >started
	hutch inspect box
	supervisor=$(ps -o ppid= -p "$(value '[0]["pid"]')")
	kill -STOP $supervisor
	hutch ps --json
	kill -CONT $supervisor
	((status == 0))
	# The shell may not have made its child yet.
	[[ $(value '[0]["pids"]') == [12] && $(value '[0]["cpu_s"]') =~ ^[0-9.]+$ ]]
	(($(value '[0]["memory_bytes"]') > 0))
}

@test "ps measures no process by a number that is no pid" {
	local info
	make box
	hutch inspect box
	pid=$(value '[0]["pid"]')
	supervisor=$(ps -o ppid= -p "$pid")
	info=$(find "$XDG_RUNTIME_DIR" -path '*/box/info')
	sed -i -e 's/"cgroup":"[^"]*"/"cgroup":null/' -e "s/\"pid\":$pid\\b/\"pid\":$((pid + (1 << 32)))/" "$info"
	kill -STOP $supervisor
	hutch ps --json
	kill -CONT $supervisor
	[[ $status == 0 && $(value '[0]["pids"]') == null ]]
}

@test "stats and events tell what is used and what has happened" {
	make box
	"$HUTCH" exec box true
	hutch stats --json box
	[[ $(value '[0]["name"]') == '"box"' && $(value '[0]["pids"]') =~ ^[0-9]+$ ]]
	hutch stats
	has '^box '
	hutch events --json box
	grep -q '"event":"exited"' <<<"$output"
	hutch events
	has '^[0-9TZ:.-]+ box status status="ready"'
	never has ' box client '
	hutch events -a box
	has ' box client clients=1$'
	fails_with 125 "no sandbox named 'nobody'" stats nobody
	fails_with 125 "no sandbox named 'nobody'" events nobody
}

@test "stats on a terminal looks again and again, at those that come too, until ^C" {
	make one
	"$HUTCH" exec -d one sleep 1000
	cat >steps <<-'STEPS'
		expect NAME +CPU +CPU TIME +MEMORY +PIDS
		expect one +- +[0-9.]+s +[0-9.]+[KM]iB +1\b
		expect one +[0-9.]+% +[0-9.]+s +[0-9.]+[KM]iB +1\b
		expect one +[0-9.]+%
		expect two +
		send \x03
		exit -2
	STEPS
	"$here/terminal.py" steps "$HUTCH" stats 3>&- &
	pid=$!
	started+=("$pid")
	make two
	wait "$pid"
}

@test "events -f without a name follows sandboxes that come, under their new names" {
	make first
	"$HUTCH" events -f >out 3>&- &
	pid=$!
	started+=("$pid")
	until_true grep -q ' first status status="ready"' out
	"$HUTCH" create second
	until_true grep -q ' second status status="ready"' out
	"$HUTCH" rename second third
	"$HUTCH" exec third true
	until_true grep -q ' third exited ' out
	"$HUTCH" rm -f third
	until_true grep -q ' ended ' out
	# No event is printed twice, and hutch events goes on after all sandboxes have ended.
	"$HUTCH" rm -f first
	"$HUTCH" create second
	until_true eval '[[ $(grep -c " second status status=.ready." out) == 2 ]]'
	[[ $(grep -c ' first status status="ready"' out) == 1 ]]
	[[ $(grep -c ' ended ' out) == 2 ]]
	kill "$pid"
}

@test "events -f goes on until the sandbox ends" {
	make box
	"$HUTCH" events -f box >out 3>&- &
	pid=$!
	started+=("$pid")
	until_true grep -q ready out
	"$HUTCH" stop -t 0 box
	wait "$pid"
	grep -q ' box ended ' out
}

# --- steering -------------------------------------------------------------------

@test "a paused sandbox takes no command, and goes on where it stood" {
	make box
	hutch pause box
	[[ $status == 0 && $output == box ]]
	hutch ps
	has '^box .* paused '
	fails_with 125 "sandbox 'box': the sandbox is paused" exec box true
	hutch unpause box
	hutch exec box true
	[[ $status == 0 ]]
}

@test "rename gives another name, and the old one is free" {
	make one
	"$HUTCH" rename one two
	hutch ps -q
	[[ $output == two ]]
	make one
	fails_with 125 ".*'two'.*" rename one two
	fails_with 125 "'-rf' is no name" rename one -- -rf
}

# A confined supervisor may not look into the leftovers of the dead sandbox, so another process
# removes them.
@test "rename takes the name of one that was killed with its janitor" {
	make one
	make two
	inner=$(output=$("$HUTCH" inspect two) && value '[0]["pid"]')
	supervisor=$(awk '/^PPid:/ { print $2 }' "/proc/$inner/status")
	mapfile -t all < <(echo "$supervisor"; pgrep -P "$supervisor")
	kill -STOP "${all[@]}" # nobody sees another one's end
	kill -KILL "${all[@]}"
	until_true all_gone "${all[@]}"
	"$HUTCH" rename one two
	hutch ps -a --json
	[[ $(value '[0]["name"]') == '"two"' && $(value '[0]["exit"]') == null ]]
	[[ $(value '[1]["name"]') == '"two"' && $(value '[1]["exit"]["reason"]') == '"host_gone"' ]]
}

@test "stop waits for processes that end by themselves, several at once" {
	# Each process reports SIGTERM, and ends when the test lets it.  It ignores SIGHUP, which
	# would end it earlier.
	room w
	make one -v "$T/w:/w"
	make two -v "$T/w:/w"
	for name in one two; do
		mkfifo "w/$name.asked" "w/$name.go"
		give "w/$name.asked" "w/$name.go"
		"$HUTCH" exec -d "$name" sh -c 'trap "" HUP; trap "echo >/w/$1.asked; read x </w/$1.go; touch /w/$1.done; exit" TERM
			touch "/w/$1.there"; while :; do :; done' - "$name"
		until_true test -e "w/$name.there"
	done
	"$HUTCH" stop -t 1000 one two >out 3>&- &
	pid=$!
	started+=("$pid")
	for name in one two; do
		read -r -t "$PATIENCE" <>"w/$name.asked"
		[ "$("$HUTCH" ps -q | wc -l)" -eq 2 ]
	done
	for name in one two; do
		echo >"w/$name.go"
	done
	wait "$pid"
	[[ $(cat out) == $'one\ntwo' && -e w/one.done && -e w/two.done ]]
	hutch ps -q
	[[ -z $output ]]
}

@test "wait prints the exit code of each when it has ended" {
	make one
	make two
	"$HUTCH" wait one two >out 3>&- &
	pid=$!
	started+=("$pid")
	"$HUTCH" stop -t 0 one
	"$HUTCH" kill two
	wait "$pid"
	[[ $(cat out) == $'0\n137' ]]
	hutch wait two
	[[ $output == 137 ]]
}

@test "rm refuses one that lives, and rm -f ends it" {
	make box
	fails_with 125 "sandbox 'box' has not ended" rm box
	hutch rm -f box
	[[ $status == 0 ]]
	hutch ps -aq
	[[ -z $output ]]
	make box
}

@test "a supervisor that is stuck is told, and rm -f ends its sandbox" {
	make box
	inner=$(output=$("$HUTCH" inspect box) && value '[0]["pid"]')
	supervisor=$(awk '/^PPid:/ { print $2 }' "/proc/$inner/status")
	kill -STOP "$supervisor"
	fails_with 125 "sandbox 'box' does not answer" exec box true
	[[ ${stderr_lines[1]} == "hutch: hint: hutch rm -f box ends it" ]]
	hutch rm -f box
	[[ $status == 0 ]]
	until_true all_gone "$supervisor" "$inner"
	make box
}

# find_processes NAME: sets inner, supervisor and janitor to the pids of these processes of the sandbox.
find_processes() {
	inner=$(output=$("$HUTCH" inspect "$1") && value '[0]["pid"]')
	supervisor=$(awk '/^PPid:/ { print $2 }' "/proc/$inner/status")
	janitor=$(pgrep -x -P "$supervisor" hutch-janitor)
}

@test "rm -f ends a sandbox whose supervisor and janitor were stopped" {
	make box
	find_processes box
	kill -STOP "$janitor" "$supervisor"
	hutch rm -f box
	[[ $status == 0 ]]
	until_true all_gone "$supervisor" "$janitor" "$inner"
	make box
	# A supervisor that was killed leaves no rm that waits without end, either.
	find_processes box
	kill -STOP "$janitor"
	kill -KILL "$supervisor"
	until_true all_gone "$supervisor"
	hutch rm -f box
	[[ $status == 0 ]]
	until_true all_gone "$janitor"
	make box
}

# The kernel releases a record lock when its process closes any descriptor of the file
# (fcntl(2)), so the supervisor must open its own lock file only once.
@test "the supervisor and its janitor are found by their locks, whatever the sandbox was asked" {
	make one
	find_processes one
	"$HUTCH" rename one two
	"$HUTCH" exec two true
	"$HUTCH" pause two
	"$HUTCH" unpause two
	"$HUTCH" stats two >/dev/null
	"$HUTCH" ps >/dev/null
	fails_with 125 ".*'two'.*" rename two two
	fails_with 125 ".*'one'.*" exec one true
	inode=$(stat -c %i "$(find "$XDG_RUNTIME_DIR" -path '*/two/lock')")
	grep -Eq "POSIX +ADVISORY +WRITE $supervisor [0-9a-f:]*:$inode 0 0$" /proc/locks
	grep -Eq "POSIX +ADVISORY +WRITE $janitor [0-9a-f:]*:$inode 1 1$" /proc/locks
}

# strace sends SIGSTOP to the first process that binds a socket: the supervisor, which makes its
# control socket.
@test "rm -f ends a sandbox whose supervisor was stopped before it had a socket" {
	strace -o /dev/null true 2>/dev/null || skip "strace is not allowed here"
	strace -f -qq -e trace=bind -e inject=bind:signal=SIGSTOP:when=1 -o trace "$HUTCH" create box 2>err &
	pid=$!
	started+=("$pid")
	until_true grep -q 'stopped by SIGSTOP' trace
	fails_with 125 "connect to sandbox 'box'" exec box true
	hutch rm -f box
	[[ $status == 0 ]]
	code=0
	wait "$pid" || code=$?
	[[ $code == 125 ]]
	grep -q '^hutch: the supervisor ended before the sandbox was ready' err
	hutch ps -aq
	[[ -z $output ]]
	make box
}

@test "a sandbox whose supervisor is killed ends a command with 137" {
	make box
	"$HUTCH" exec box sh -c 'echo up; sleep 1000' >out 2>err 3>&- &
	pid=$!
	started+=("$pid")
	until_true grep -q up out
	"$HUTCH" kill box
	code=0
	wait "$pid" || code=$?
	[[ $code == 137 ]]
	grep -q "^hutch: sandbox 'box' has ended (killed)" err
}

@test "a command ends with 137, too, when the kernel or the owner kills the supervisor" {
	for n in 1 2; do
		make "box$n"
		inner=$(output=$("$HUTCH" inspect "box$n") && value '[0]["pid"]')
		supervisor=$(awk '/^PPid:/ { print $2 }' "/proc/$inner/status")
		rm -f out
		"$HUTCH" exec "box$n" sh -c 'echo up; sleep 1000' >out 2>err 3>&- &
		pid=$!
		started+=("$pid")
		until_true grep -q up out
		kill -KILL "$supervisor"
		code=0
		wait "$pid" || code=$?
		[[ $code == 137 ]]
		grep -q "^hutch: sandbox 'box$n' has ended (killed)" err
	done
}

# --- names ----------------------------------------------------------------------

@test "the name of one that could not be made is free when that is told" {
	: >file
	for ((i = 0; i < ${ROUNDS:-12}; i++)); do
		fails_with 125 "make the file /dev/null/x inside: Not a directory .*" \
			create -v "$T/file:/dev/null/x" box
	done
}

@test "a record that its janitor wrote is as whole as any" {
	make box
	inner=$(output=$("$HUTCH" inspect box) && value '[0]["pid"]')
	kill -KILL "$(awk '/^PPid:/ { print $2 }' "/proc/$inner/status")"
	hutch wait box
	[[ $status == 0 && $output == 137 ]]
	hutch ps -a --json
	[[ $(value '[0]["exit"].keys() ^ {"reason", "exit_code", "limit", "message", "remedy", "ended"} == set()') == true ]]
}

@test "an invalid or unknown name is one clear sentence for each verb" {
	long=$(printf 'x%.0s' {1..4096})
	for verb in exec shell connect inspect logs events stats wait pause unpause stop kill rm; do
		for name in ../x $'a\nb' "$long" .hidden ''; do
			command=("$verb" "$name")
			[[ $verb == exec ]] && command+=(true)
			fails_with_any "no name of a sandbox" "${command[@]}"
		done
		command=("$verb" nobody)
		[[ $verb == exec ]] && command+=(true)
		fails_with_any "no sandbox named 'nobody'" "${command[@]}"
	done
}

# fails_with_any PATTERN ARG...: checks that hutch fails with a message that matches; stdout may
# have any output, such as the empty array of inspect.
fails_with_any() {
	hutch "${@:2}" </dev/null
	[[ $status == 125 && ${stderr_lines[0]} == "hutch: "*"$1"* ]]
	((${#stderr_lines[@]} <= 2))
}

@test "a sandbox that has ended is told from one that never was" {
	make box
	"$HUTCH" kill box
	fails_with 125 "sandbox 'box' has ended \(killed\)" exec box true
}

@test "missing and wrong words are one clear sentence" {
	fails_with 125 "hutch exec: NAME is missing" exec
	fails_with 125 "hutch exec: CMD is missing" exec box --
	fails_with 125 "--image is no flag of hutch exec" exec --image host box true
	fails_with 125 "unknown flag --frob" ps --frob
	fails_with 125 "hutch stop: NAME is missing" stop
	fails_with 125 "too many words" ps box
	fails_with 125 "--time: .*" stop -t soon box
	fails_with 125 "--tail: .*" logs --tail x box
}

@test "logs tells what detached processes printed, of the living and the dead" {
	make box
	"$HUTCH" exec box mkfifo done
	for words in 'echo one; echo two >&2' 'echo three'; do
		"$HUTCH" exec -d box sh -c "$words; echo >done"
		"$HUTCH" exec box cat done
	done
	hutch stop box
	hutch logs box
	[[ $status == 0 && $output == $'one\nthree' && $stderr == two ]]
	hutch logs -n 1 box
	[[ $output == three && -z $stderr ]]
	hutch logs nobody
	[[ $status == 125 ]] && one_sentence "no sandbox named 'nobody'"
}

@test "logs of one whose supervisor was killed while it wrote are its whole entries" {
	make box
	# Each word becomes an entry of its own, since the next word is printed only after the log
	# has the one before.
	for word in one two three; do
		"$HUTCH" exec -d box echo "$word"
		until_true logged "$word"
	done
	hutch kill box
	local log=("$XDG_RUNTIME_DIR"/hutch/.ended/*/log/output)
	[[ -f ${log[0]} && $(wc -l <"${log[0]}") == 3 ]]
	truncate -s -5 "${log[0]}"
	hutch logs box
	[[ $status == 0 && $output == $'one\ntwo' && -z $stderr ]]
	hutch logs -n 1 box
	[[ $output == two ]]
}

@test "logs and events that follow end when no process reads them any more" {
	make box
	"$HUTCH" exec -d box echo one
	until_true logged one
	for verb in logs events; do
		# Nothing is printed while the verb waits, so no write fails.
		{ env --default-signal=PIPE "$HUTCH" "$verb" -f box || echo $? >"$verb.code"; } 3>&- |
			head -1 >line &
		until_true test -s "$verb.code"
		[[ -s line && $(cat "$verb.code") == 141 ]] # SIGPIPE, as with other programs
	done
	(trap '' PIPE; "$HUTCH" logs -f box 2>err || echo $? >code) | head -1 >line
	[[ $(cat code) == 125 && $(cat err) == 'hutch: write to stdout: Broken pipe' ]]
}

logged() {
	"$HUTCH" logs box | grep -qx "$1"
}

@test "output that cannot be written is an error: stdout on a full disk" {
	full() { catch bash -c '"$0" "$@" >/dev/full' "$HUTCH" "$@" && [ "$status" = 125 ] && one_sentence "$sentence"; }
	sentence="write the name of sandbox 'box', which is there: No space left" full create box
	[[ ${stderr_lines[1]} == 'hutch: hint: hutch rm -f box'* ]]
	sentence="write the name of pool 'p', which is there: No space left" full pool create p --size 1
	"$HUTCH" pool rm p
	sentence='write to stdout: No space left on device'
	full ps
	full ps -q
	full inspect box
	full stats --no-stream box
	full port add box auto:80
	full --version
	full rm -f box
	[ -z "$("$HUTCH" ps -q)" ]
}
