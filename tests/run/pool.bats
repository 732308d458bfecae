#!/usr/bin/env bats
# Tests of hutch pool, which makes sandboxes in advance (docs/hutch-pool.md).

load helpers

teardown() {
	local name
	for name in $("$HUTCH" pool ls -q 2>/dev/null); do
		timeout "$PATIENCE" "$HUTCH" pool rm "$name" >/dev/null 2>&1 || true
	done
	remove_boxes
	end
}

# pool NAME [OPTION...]: creates the pool NAME, and waits until it is full.
pool() {
	hutch pool create "$@"
	[[ $status == 0 && $output == "$1" && -z $stderr ]]
	until_true full "$1"
}

# of NAME KEY: prints a value of pool NAME from `hutch pool ls --json`.  The shell itself parses
# the JSON, since this runs often.
of() {
	[[ $("$HUTCH" pool ls --json) =~ \"name\":\"$1\"[^}]*\"$2\":\"?([^,\"}]*) ]] &&
		echo "${BASH_REMATCH[1]}"
}

full() {
	[[ $("$HUTCH" pool ls --json) =~ \"name\":\"$1\",\"size\":([0-9]+),\"ready\":([0-9]+), ]] &&
		[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
}

count_is() { # NUMBER COMMAND...
	[[ $("${@:2}" | wc -l) == "$1" ]]
}

# asks CODE: see pool.py.
asks() {
	as_who env PYTHONDONTWRITEBYTECODE=1 "$here/pool.py" "$1"
}

@test "a sandbox of a pool is handed out by name, used once, and another takes its place" {
	pool p --size 2
	[ -z "$("$HUTCH" ps -q)" ] # nobody's are not shown
	count_is 2 "$HUTCH" ps -aq
	"$HUTCH" ps -a | grep -qE '^p-[0-9a-f]{8} .* ready \(in a pool\)'
	hutch pool take p
	[[ $status == 0 && $output =~ ^p-[0-9a-f]{8}$ && -z $stderr ]]
	[ "$("$HUTCH" ps -q)" = "$output" ] # nor what is being made
	[ "$("$HUTCH" exec "$output" echo lives)" = lives ]
	hutch pool take --name box p
	[ "$output" = box ]
	[ "$("$HUTCH" exec box echo lives)" = lives ]
	[ "$("$HUTCH" inspect box | grep -c '"lease": null')" = 1 ]
	[ "$(of p taken)" = 2 ]
	until_true full p
	count_is 2 "$HUTCH" ps -q
}

@test "a sandbox of a pool has the pool's rules about connections, and its own network" {
	pool p --size 1 --allow @host:9 --deny a.org
	hutch pool take --name box p
	[ "$output" = box ]
	[ "$("$HUTCH" net box ls --json | jq -c .rules)" = '[{"allow":"@host:9"},{"deny":"a.org"}]' ]
	[[ $("$HUTCH" inspect box | jq -r '.[].network.mode') == allow ]]
	hutch exec box bash -c 'exec 3<>/dev/tcp/a.org/80'
	[[ $status == 1 && $output$stderr == *'Permission denied'* ]]
	"$HUTCH" net box allow a.org >/dev/null
	until_true full p
	hutch pool take --name other p
	[ "$("$HUTCH" net other ls --json | jq -c .rules)" = '[{"allow":"@host:9"},{"deny":"a.org"}]' ]
}

@test "sandboxes that are being made for a pool are hidden like those that wait" {
	local size=${ROUNDS:-8}
	"$HUTCH" pool create p --size "$size" >/dev/null
	for ((i = 0; i < size * 2; i++)); do
		[ -z "$("$HUTCH" ps -q)" ]
	done
}

# The supervisor of the sandbox that gets the name is confined, and could not remove the leftovers
# itself.
@test "take --name tidies up what a dead sandbox left by that name" {
	pool p --size 1
	"$HUTCH" create box >/dev/null
	inner=$("$HUTCH" inspect box | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')
	supervisor=$(awk '/^PPid:/ { print $2 }' "/proc/$inner/status")
	mapfile -t all < <(echo "$supervisor"; pgrep -P "$supervisor")
	kill -STOP "${all[@]}" # nobody sees another one's end
	kill -KILL "${all[@]}"
	until_true all_gone "${all[@]}"
	hutch pool take --name box p
	[[ $status == 0 && $output == box ]]
}

@test "a waiting sandbox has no holder: it can be inspected and ended, and no more" {
	pool p --size 1
	name=$("$HUTCH" ps -aq)
	hutch exec "$name" true
	[ "$status" = 125 ]
	one_sentence "sandbox '$name': it waits to be handed out"
	[[ $stderr == *'hutch pool take'* ]]
	hutch rename "$name" other
	[ "$status" = 125 ]
	hutch pause "$name"
	[ "$status" = 125 ]
	"$HUTCH" inspect "$name" | grep -q '"lease": "waiting"'
	"$HUTCH" stats --no-stream "$name" >/dev/null
}

@test "a command in a sandbox of a pool has its exit code, and the sandbox ends with it" {
	pool p --size 1 --workspace "$T/home:ro" -e WORD=seen
	hutch pool exec -i p -- sh -c 'cat; echo $WORD; exit 7' <<<typed
	[[ $status == 7 && $output == typed$'\n'seen ]]
	until_true count_is 0 "$HUTCH" ps -q
	"$HUTCH" ps -a | grep -qE 'ended \(stopped\)'
	hutch pool exec p -- /no/such
	[ "$status" = 127 ]
	hutch pool exec -d p -- true
	[ "$status" = 125 ]
	one_sentence '-d makes no sense'
}

@test "a sandbox whose name cannot be printed is not left behind" {
	pool p --size 1
	sh -c '"$1" pool take --name box p >/dev/full' sh "$HUTCH" 2>err && false
	grep -q "the name of sandbox 'box'" err
	until_true count_is 0 "$HUTCH" ps -q
}

@test "a sandbox whose name is not read any more is not left behind" {
	pool p --size 1
	mkfifo names
	exec {reader}<>names {writer}>names {reader}<&-
	"$HUTCH" pool take --name box p >&$writer 2>err && false
	grep -q "the name of sandbox 'box'" err
	until_true count_is 0 "$HUTCH" ps -q
}

@test "a sandbox whose taker is killed before the name is told is not left behind" {
	pool p --size 1
	asks 'untold()'
	until_true count_is 0 "$HUTCH" ps -q
}

@test "fifty takers at once get a sandbox each, and none twice" {
	pool p --size 4
	asks 'takers(50)'
	[ "$(of p taken)" = 50 ]
}

@test "a take waits at an empty pool, for as long as it was told" {
	pool p --size 1 --timeout 1h
	asks 'patience()'
	for name in a b c d; do
		"$HUTCH" pool take --name "$name" p
	done
	hutch pool take --timeout 1000 nobody
	[ "$status" = 125 ]
	one_sentence "no pool is named 'nobody'"
	[[ $stderr == *'hutch pool ls'* ]]
}

@test "a sandbox that cannot be handed out is not taken" {
	pool p --size 1
	hutch pool take -d p
	[ "$status" = 125 ]
	one_sentence '-d .* stdout, which must be a unix socket'
	[[ $output == '{"error":{"kind":"usage",'* ]]
	"$HUTCH" create box
	hutch pool take --name box p
	[ "$status" = 125 ]
	one_sentence "a sandbox named 'box' is"
	[[ $(of p taken) == 0 && $(of p made) == 1 ]]
	asks 'deaf_stdouts()'
	hutch pool take -d --name other p
	[ "$status" = 125 ]
	one_sentence '-d and --name exclude each other'
}

@test "a keeper that is killed takes with it what waits, and nothing that was taken" {
	pool p --size 3
	"$HUTCH" pool take --name box p
	until_true full p
	kill -KILL "$(of p pid)"
	until_true count_is 1 "$HUTCH" ps -aq
	[ "$("$HUTCH" exec box echo lives)" = lives ]
	hutch pool take p
	[ "$status" = 125 ]
	one_sentence "no pool is named 'p'"
	[ -z "$("$HUTCH" pool ls -q)" ]
	never ls "$T/runtime/hutch/.pools/p"
	pool p --size 1 # the name is free
}

@test "a sandbox that dies while it waits is replaced, and never handed out" {
	pool p --size 2
	dead=$("$HUTCH" ps -aq | head -n 1)
	# Only the supervisor and the janitor of a sandbox have its name in their arguments, so
	# this kills both.
	kill -KILL $(pgrep -u "$who" -f "^hutch-supervise .* $dead\$")
	until_true lost_one
	until_true full p
	never grep -x "$dead" <("$HUTCH" ps -aq)
	"$HUTCH" pool take --name box p
	"$HUTCH" pool take --name other p
	[ "$("$HUTCH" exec box echo lives)" = lives ]
	[ "$("$HUTCH" exec other echo lives)" = lives ]
}

lost_one() {
	[[ $(of p lost) == 1 ]]
}

@test "a pool whose sandboxes cannot be made gives the reason, and is not made" {
	hutch pool create p --workspace /no/such
	[[ $status == 125 && -z $output ]]
	one_sentence '.*/no/such'
	[ -z "$("$HUTCH" pool ls -q)" ]
	room w
	pool p --size 1 --workspace "$T/w"
	mv w gone
	"$HUTCH" pool take --name box p
	hutch pool take p
	[ "$status" = 125 ]
	one_sentence "pool 'p': make a sandbox for pool 'p': .*$T/w"
	"$HUTCH" pool ls | grep -q "$T/w"
	[ "$(of p ready)" = 0 ]
	mv gone w # and it goes on
	hutch pool take --name other --timeout "$PATIENCE" p
	until_true taken_one_more
}

taken_one_more() {
	[ "$("$HUTCH" exec other echo lives 2>/dev/null)" = lives ] || "$HUTCH" pool take --name other p
}

# starves POOL: makes a pool whose sandboxes, except the first, cannot read their options: one
# option file is a FIFO without a writer. $maker is the process that makes a sandbox and waits for
# the FIFO.
starves() {
	rm -f env
	echo A=1 >env
	pool "$1" --size 1 --env-file "$T/env"
	rm env && mkfifo -m 644 env
	hutch pool take "$1"
	"$HUTCH" rm -f "$output"
	until_true is_made "$1"
}

is_made() { # POOL
	maker=$(pgrep -P "$(of "$1" pid)" -f '^hutch-supervise ')
}

has_ended() { # PID, of which nothing is left but its number
	[[ -z $(tr -d '\0' 2>/dev/null <"/proc/$1/cmdline") ]]
} 2>/dev/null

@test "a maker that cannot even read its options is given up, and the pool gives the reason" {
	starves p
	catch timeout "$PATIENCE" "$HUTCH" pool take p
	[ "$status" = 125 ]
	one_sentence "pool 'p': make a sandbox for pool 'p': hutch create was still reading its options after 30 s"
	[[ ${stderr_lines[1]} == *FIFO* ]]
	until_true has_ended "$maker" # the pool does not wait for what it killed
	"$HUTCH" pool ls | grep -q 'still reading its options'
	[[ $(of p failed) == 1 && $(of p ready) == 0 ]]
	# The pool goes on after that error: the process that makes the next sandbox waits for the
	# same FIFO, and now gets its text.
	timeout "$PATIENCE" sh -c 'echo A=2 >env'
	hutch pool take --name other --timeout "$PATIENCE" p
	[ "$status" = 0 ]
	[ "$("$HUTCH" exec other sh -c 'echo $A')" = 2 ]
	[ "$(of p error)" = null ]
}

@test "a maker that cannot even read its options ends with its pool, however the pool ends" {
	starves p
	hutch pool rm p
	[ "$status" -eq 0 ]
	until_true has_ended "$maker"
	starves p
	kill -KILL "$(of p pid)"
	until_true has_ended "$maker"
	"$HUTCH" pool create q --env-file env &
	pid=$!
	started+=("$pid")
	until_true is_made q
	kill -KILL "$pid" # who waited for the first one
	until_true has_ended "$maker"
	until_true count_is 0 "$HUTCH" pool ls -q
}

@test "hutch create reports that it has read its options before it pulls an image" {
	asks 'pulls()'
}

@test "times count from when a sandbox is taken" {
	pool p --size 1 --ttl 1500ms --idle-timeout 20
	pool q --size 1 --idle-timeout 1
	# These two sandboxes are made later, without a pool, with the same limits; when they have
	# ended, those of the pool would have ended, too, if their time had begun before the take.
	"$HUTCH" create --ttl 1500ms old
	"$HUTCH" create --idle-timeout 1 idle
	hutch wait old idle
	[ "$output" = $'124\n0' ]
	[ "$(of p lost)" = 0 ]
	[ "$(of q lost)" = 0 ]
	"$HUTCH" pool take --name box p
	"$HUTCH" pool take --name other q
	hutch wait box other
	[ "$output" = $'124\n0' ]
}

@test "an end of the pool is the end of what waits in it, and is awaited" {
	for ((i = 0; i < ${ROUNDS:-3}; i++)); do # of what is being made, too
		pool p --size 3
		"$HUTCH" pool take --name box p
		hutch pool rm p
		[[ $status == 0 && $output == p ]]
		[ "$("$HUTCH" ps -aq)" = box ]
		"$HUTCH" rm -f box
	done
	"$HUTCH" create box
	hutch pool rm p
	[ "$status" = 125 ]
	one_sentence "no pool is named 'p'"
	pool p --size 1
	kill "$(of p pid)"
	until_true count_is 0 "$HUTCH" pool ls -q
	until_true count_is 1 "$HUTCH" ps -aq
}

@test "a keeper that does not answer is told of, and the other pools are listed" {
	pool p --size 1
	pool q --size 1
	pid=$(of p pid)
	kill -STOP "$pid"
	hutch pool ls
	kill -CONT "$pid"
	[ "$status" = 125 ]
	[[ $stderr == *"the keeper of pool 'p' does not answer"* ]]
	grep -q '^q ' <<<"$output"
	hutch pool ls
	[ "$status" = 0 ]
}

@test "an impossible pool is an error" {
	words_are_refused 'hutch pool create: NAME is missing'
	words_are_refused 'the name of the pool comes before .--image.' --image host p
	words_are_refused '--size takes 1 to 512, not .0.' p --size 0
	words_are_refused '--size takes 1 to 512, not .513.' p --size=513
	words_are_refused 'a value is missing behind .--size.' p --size
	words_are_refused '-p makes no sense for a pool' p -p 80:80
	words_are_refused '.a b. is no name of a pool: 1 to 54 of' 'a b'
	words_are_refused '.* is too long for the name of a pool' "$(printf 'x%.0s' {1..55})"
	words_are_refused 'unknown flag --no-such' p --no-such
	pool p --size 1
	words_are_refused "a pool named 'p' is there already" p
}

@test "a take is over when its time is, whatever the keeper does" {
	echo A=1 >env
	pool p --size 1 --env-file "$T/env"
	rm env && mkfifo -m 644 env # a sandbox that is never ready
	asks 'frozen()'
	exec 8<>env # its maker goes on
}

@test "words that hutch pool create takes otherwise are told how it takes them" {
	words_are_refused 'the name of the pool comes before .--env.' --env A=1 p
	hint_is 'hutch pool create NAME --env ...'
	for words in '-- --env A=1' '--size 2 -- --env A=1'; do
		# shellcheck disable=SC2086 # words
		words_are_refused "hutch pool create takes no '--'" p $words
		hint_is 'leave it out: hutch pool create p [--size N] --env ...'
	done
	words_are_refused "hutch pool create takes no '--'" -- p
	hint_is 'hutch pool create NAME [--size N] [OPTIONS OF hutch create]'
	for words in '-- true' 'true' '--size 2 true' '--memory 64m -- true'; do
		# shellcheck disable=SC2086 # words
		words_are_refused "hutch pool create takes one name and no command, but got also 'true'" p $words
		hint_is 'hutch pool exec p true runs it, when the pool is there'
	done
	# hutch pool create does not know which options take a value, so a word after an option is
	# checked by the process that makes the sandbox.
	words_are_refused "hutch create takes one name, but got 'true' and 'p-" p --memory 64m true
	words_are_refused '--keep makes no sense for a pool' p --keep
	hint_is 'hutch snapshot keeps what was written in a sandbox that was taken'
	[ -z "$("$HUTCH" pool ls -q)" ]
}

hint_is() { # TEXT
	[[ ${stderr_lines[1]} == "hutch: hint: $1" ]]
}

@test "a verb that gets the name of a pool for a sandbox says that it is a pool" {
	pool p --size 1
	hutch exec p true
	[ "$status" = 125 ]
	one_sentence "no sandbox named 'p' is running"
	hint_is "'p' is a pool: hutch pool exec p runs a command in one of its sandboxes, hutch pool take p hands one out"
	"$HUTCH" pool rm p
	hutch stop p
	hint_is 'hutch ps -a lists those that run and those that have ended'
}

@test "errors of the other verbs name the pool, and their help its page" {
	hutch pool exec
	one_sentence 'hutch pool exec: POOL is missing'
	hint_is 'hutch pool exec [OPTIONS] POOL [--] CMD [ARG...]'
	hutch pool exec p
	one_sentence 'hutch pool exec: CMD is missing'
	hutch pool take 'a b'
	one_sentence "'a b' is no name of a pool: 1 to 54 of"
	hutch pool take p q
	one_sentence "too many words: 'q'"
	for verb in create ls take rm; do
		"$HUTCH" pool "$verb" --help | grep -x 'More: man hutch-pool'
	done
}

words_are_refused() { # PATTERN WORD...
	hutch pool create "${@:2}"
	[[ $status == 125 && -z $output ]]
	one_sentence "$1"
}

@test "a pool ends with the connection that it was leased to" {
	asks 'leased()'
	until_true count_is 0 "$HUTCH" ps -q
}

@test "the socket of a pool takes garbage, long lines and slow clients, and goes on" {
	pool p --size 1
	asks 'hostile()'
	hutch pool take --timeout "$PATIENCE" p
	[ "$status" = 0 ]
}

@test "a thousand requests in one piece are all answered" {
	pool p --size 1
	asks 'pipelined()'
}

@test "answers that waited for room are sent when there is some, however quickly that came" {
	is_root || skip "this host has no socket of 32 MiB that a user other than root could make"
	env PYTHONDONTWRITEBYTECODE=1 "$here/pool.py" 'wide()'
}

@test "a lease ends the sandbox with its connection, until it is released" {
	asks 'lease()'
}

@test "a taker that dies with its answer unread leaves nothing behind" {
	pool p --size 2
	asks 'unread()'
	until_true full p
	until_true count_is 2 "$HUTCH" ps -aq
}

@test "after a kill of any process at a random instant, taken sandboxes live, and the pool leaves nothing" {
	as_who env PYTHONDONTWRITEBYTECODE=1 ROUNDS="${ROUNDS:-8}" "$here/killer_pool.py" "$HUTCH" "$T"
}

@test "sandboxes of a pool have its plugins, but none with a port" {
	cp -r "${here%/run}/plugins/echo" "$T" && chmod -R a+rX "$T/echo"
	pool p --size 1 --plugin ./echo
	mkdir elsewhere && cd elsewhere
	hutch pool take --name box p
	echo '{"action":"echo","args":{"text":"from the pool"}}' | "$HUTCH" act box >"$T/said"
	grep -q '"content":"from the pool"' "$T/said"
	hutch pool create q --size 1 --plugin vscode
	((status == 125))
	[[ $stderr == *"--plugin vscode makes no sense for a pool"* ]]
}

@test "a plugin that starts with its sandbox is ready before a pool hands the sandbox out" {
	cp -r "${here%/run}/plugins/echo" "$T"
	jq '.start = "launch"' "${here%/run}/plugins/echo/plugin.json" >echo/plugin.json
	chmod -R a+rX echo
	pool p --size 1 --plugin ./echo
	name=$("$HUTCH" ps -aq)
	ready() { [ "$("$HUTCH" inspect "$name" | jq -c '.[0].plugins | map([.name, .state])')" = '[["echo","ready"]]' ]; }
	until_true ready
	"$HUTCH" pool take --name box p
	"$HUTCH" act box <<<'{"action":"echo","args":{"text":"hi"}}' | grep -q '"content":"hi"'
	"$HUTCH" events --json box >events
	[ "$(jq -r 'select(.event == "plugin").state' events)" = starting$'\n'ready ]
}
