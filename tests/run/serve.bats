#!/usr/bin/env bats
# Tests of hutch serve (docs/hutch-serve.md).  Requests that curl cannot send are in serve.py.

load helpers

setup() {
	begin
	url='' key='' server='' sessions=0
}

teardown() {
	local pid
	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	remove_boxes
	end
}

# serve [OPTION...]: starts a server as $server, and waits until it listens at $url.
serve() {
	mkfifo "$T/said"
	env --default-signal "$HUTCH" serve --listen 127.0.0.1:0 "$@" >"$T/said" 2>"$T/err" 3>&- </dev/null &
	server=$!
	started+=("$server")
	exec 6<"$T/said"
	rm "$T/said"
	read -r -t "$PATIENCE" url <&6 || {
		echo "no URL; stderr: $(cat "$T/err")"
		return 1
	}
	key=$(<"${XDG_DATA_HOME:-$HOME/.local/share}/hutch/serve/default.key")
}

# served CODE: waits for the end of the server, and checks its exit code.
served() {
	local rc=0
	wait "$server" || rc=$?
	exec 6<&-
	[[ $rc == "$1" ]] || {
		echo "the server ended with $rc, not $1; stderr: $(cat "$T/err")"
		return 1
	}
}

stop_server() {
	kill -TERM "$server"
	served 0
}

# refused PATTERN OPTION...: checks that a server ends with one sentence, and serves nothing.
refused() {
	hutch serve "${@:2}"
	[[ $status == 125 && -z $output ]] && one_sentence "$1"
}

front() {
	pgrep -o -P "$server" # it may have children that run `hutch`, too
}

# bare METHOD PATH [OPTION...]: a request without a key; sets code and body.
bare() {
	local file=$T/body.$BASHPID # cases have requests in the background, too
	code=$(curl -sS -m "$PATIENCE" -o "$file" -w '%{http_code}' -X "$1" "${@:3}" "$url$2") || true
	body=$(<"$file")
	printf '%s %s: %s %s\n' "$1" "$2" "$code" "$body"
}

# ask METHOD PATH [OPTION...]: the same with the server's key.
ask() {
	bare "$1" "$2" -H "X-API-Key: $key" "${@:3}"
}

# by KEY METHOD PATH [OPTION...]: the same with a sandbox's key.
by() {
	bare "$2" "$3" -H "X-Session-API-Key: $1" "${@:4}"
}

# is CODE [JQ [VALUE]]: checks the status of the last answer, and what jq makes of it.
is() {
	[[ $code == "$1" ]] || return 1
	(($# < 2)) || [[ $(jq -r "$2" <<<"$body") == "${3-true}" ]]
}

of() {
	jq -r "$1" <<<"$body"
}

actions='["python","-m","openhands.runtime.action_execution_server","60000","--working-dir","/tmp","--no-enable-browser"]'

# begun SESSION: starts a runtime that is an action server; sets id and box_key.
begun() {
	ask POST /start -d "{\"session_id\":\"$1\",\"image\":\"\",\"command\":$actions}"
	is 200 .status running
	id=$(of .runtime_id) box_key=$(of .session_api_key)
}

# made [BODY]: makes a sandbox by the native API; sets id and box_key.
made() {
	ask POST /v1/sandboxes -d "${1:-{\}}"
	is 201 .state running
	id=$(of .id) box_key=$(of .key)
}

# method NAME BODY [OPTION...]: calls a method of sandbox $id.
method() {
	ask POST "/v1/sandboxes/$id/$1" -d "$2" "${@:3}"
}

# runs COMMAND [MEMBERS]: runs the action `run`, with further members of the action.
runs() {
	ask POST "/$id/execute_action" \
		-d "$(jq -nc --arg c "$1" --argjson m "${2:-{\}}" '{action: ({action: "run", args: {command: $c}} + $m)}')"
}

# does COMMAND: runs a shell in sandbox $id, to its end, by a stream.
does() {
	method exec "$(jq -nc --arg c "$1" '{argv: ["sh", "-c", $c]}')"
	is 200
	grep -q '"exit_code":0' <<<"$body"
}

raw() {
	"$here/serve.py" "$1" "${url#http://}" "$key" "${@:2}"
}

# --- who is answered ---------------------------------------------------------------

@test "the URL is printed when the server listens, and /health needs no key" {
	serve
	[[ $url =~ ^http://127\.0\.0\.1:[0-9]+$ ]]
	bare GET /health
	is 200 .status ok
	grep -q "^hutch: clients send the key in $HOME/.local/share/hutch/serve/default.key as X-API-Key$" "$T/err"
	stop_server
	[ "$(wc -l <"$T/err")" = 1 ]
}

@test "a key is made for its owner alone, and kept" {
	serve
	local file=$HOME/.local/share/hutch/serve/default.key
	[ "$(stat -c %a "$file")" = 600 ]
	[[ $key =~ ^[0-9a-f]{64}$ ]]
	stop_server
	local before=$key
	serve
	[ "$key" = "$before" ]
}

@test "a key file that others may read, or that holds no key, is refused" {
	echo 0123456789abcdef >key
	chmod 640 key
	give key
	refused "key file $T/key: other users may read it" --key-file "$T/key"
	[[ ${stderr_lines[1]} == "hutch: hint: chmod 600 $T/key" ]]
	chmod 600 key
	ln -s key link
	refused "open key file $T/link" --key-file "$T/link"
	mkfifo pipe
	refused "open key file $T/pipe: it is not a regular file" --key-file "$T/pipe"
	echo short >key
	refused "key file $T/key: the key must have 16 to 128 characters" --key-file "$T/key"
}

@test "without a key, or with a wrong one, each path is refused alike" {
	serve
	for path in /list /none /start /v1/sandboxes /metrics /openapi.json /runtime/r0123456789abcdef; do
		bare GET "$path"
		is 403 '.detail // .error.message' 'Invalid API Key'
		bare GET "$path" -H "X-API-Key: ${key%?}x"
		is 403
		bare GET "$path" -H 'X-API-Key;'
		is 403
		bare GET "$path" -H "Authorization: Basic $key"
		is 403
	done
	ask GET /none
	is 404 .detail 'Not Found'
	ask GET /start
	is 405 .detail 'Method Not Allowed'
	bare GET /list -H "Authorization: Bearer $key"
	is 200 '.runtimes | length' 0
}

@test "the key of a sandbox opens that sandbox alone" {
	serve
	begun one
	local first=$id first_key=$box_key
	begun two
	by "$first_key" POST "/$first/list_files" -d '{}'
	is 200
	bare POST "/$first/list_files" -d '{}' -H "Authorization: Bearer $first_key"
	is 200
	by "$first_key" GET "/v1/sandboxes/$first"
	is 200 .id "$first"
	for path in "/v1/sandboxes/$id" /v1/sandboxes /list "/runtime/$first" "/$first/none"; do
		by "$first_key" GET "$path"
		is 403
	done
	by "$first_key" POST "/$id/execute_action" -d '{}'
	is 403
	bare POST "/$id/execute_action" -d '{}' -H "X-API-Key: $box_key" # it is not the server's
	is 403
}

@test "a request for another Host, or from a web page, is refused" {
	serve --host app.example --host .below.example --origin https://page.example
	for host in evil.example app.example.evil below.example 127.0.0.1.evil 127.0.0.1:80:80 "$(printf '%300s' | tr ' ' x)"; do
		ask GET /list -H "Host: $host"
		is 403
	done
	for host in localhost 127.0.0.1:9 '[::1]:9' app.example APP.example:9 a.below.example; do
		ask GET /list -H "Host: $host"
		is 200
	done
	ask GET /list -H 'Host:' # none at all
	[[ $code == 400 || $code == 403 ]]
	for origin in https://evil.example null http://page.example https://page.example:8443; do
		ask GET /list -H "Origin: $origin"
		is 403
	done
	ask GET /list -H 'Origin: https://page.example'
	is 200
}

@test "a body that is too large, that nobody wants, or that is not JSON is refused" {
	serve
	head -c 5000 /dev/zero | tr '\0' ' ' >large
	ask POST /pause --data-binary @large
	is 413
	ask GET /list -d x
	is 413
	for text in '' '[]' '{' '{"a":1,"a":2}' $'{"a":"\x01"}'; do
		ask POST /start -d "$text"
		is 422
	done
	begun one
	for text in '' '[]' '{' '{"action":[]}' '{}'; do
		ask POST "/$id/execute_action" -d "$text"
		is 422
	done
	ask GET /list
	is 200
}

@test "a body whose length is ambiguous is refused" {
	serve
	raw lengths
}

@test "a head that is too large, or none, is refused" {
	serve
	raw heads
}

@test "requests in one piece, or byte by byte, are answered in order" {
	serve
	raw pipelined
}

@test "requests that stop in the middle hold nobody up" {
	serve
	raw halves
	stop_server
}

@test "2,000 connections take little memory" {
	serve --connections 2500
	raw many "$(front)" 2000
	stop_server
}

@test "a connection beyond --connections waits for another one's end" {
	serve --connections 20
	raw beyond 20
}

@test "one sandbox's clients do not take all connections" {
	serve
	made
	method exec.start '{"argv":["sleep","1000"]}'
	raw crowd "$id" "$box_key" "$(jq -r .process <<<"$body")"
}

# --- the runtime API ------------------------------------------------------------------

@test "a runtime is started, found, paused, resumed with another key, and ended" {
	serve
	begun one
	local url_of=$url
	is 200 .url "$url/$id"
	is 200 .pod_status ready
	ask POST /start -d "{\"session_id\":\"one\",\"image\":\"\",\"command\":$actions}"
	is 409
	ask GET /sessions/one
	is 200 .runtime_id "$id"
	ask GET /sessions/none
	is 404
	begun two
	ask GET '/sessions/batch?ids=one&ids=none&ids=two'
	is 200 'map(.session_id) | join(" ")' 'one two'
	ask GET /list
	is 200 '.runtimes | map(.session_id) | sort | join(" ")' 'one two'
	ask POST /pause -d "{\"runtime_id\":\"$id\"}"
	is 200 .status paused
	is 200 .pod_status paused
	ask GET /list # has those that run
	is 200 '.runtimes | map(.session_id) | join(" ")' one
	ask POST /pause -d "{\"runtime_id\":\"$id\"}"
	is 200 .status paused
	ask POST /resume -d "{\"runtime_id\":\"$id\"}"
	is 200 .status running
	local other; other=$(of .session_api_key)
	[ "$other" != "$box_key" ]
	by "$box_key" POST "/$id/list_files" -d '{}'
	is 403
	by "$other" POST "/$id/list_files" -d '{}'
	is 200
	ask POST /stop -d "{\"runtime_id\":\"$id\"}"
	is 200
	ask GET "/runtime/$id"
	is 404
	bare GET "/$id/alive"
	is 404
	ask POST /stop -d "{\"runtime_id\":\"$id\"}"
	is 404
	[ "$("$HUTCH" ps -q | wc -l)" = 1 ]
}

@test "a paused runtime goes on when an action comes" {
	serve
	begun one
	ask POST /pause -d "{\"runtime_id\":\"$id\"}"
	is 200 .status paused
	runs 'echo awake'
	is 200 .content awake
	ask GET "/runtime/$id"
	is 200 .status running
}

@test "a runtime that cannot be made says why" {
	serve
	for image in dir:/ /etc -v; do
		ask POST /start -d "{\"session_id\":\"s$image\",\"image\":\"$image\",\"command\":$actions}"
		is 500
		grep -q 'a client may only name images of registries' <<<"$body"
	done
	for session in '' 'a b' $'a\tb' "$(printf '%129s' | tr ' ' x)"; do
		ask POST /start -d "$(jq -nc --arg s "$session" --argjson c "$actions" '{session_id: $s, command: $c}')"
		is 422
	done
	[ -z "$("$HUTCH" ps -q)" ]
}

# --- the action server ------------------------------------------------------------

@test "actions, files and figures of an action server have the reference's forms" {
	serve
	begun one
	bare GET "/$id/alive"
	is 200 .status ok
	runs 'echo hi; exit 3'
	is 200 .observation run
	ask POST "/$id/execute_action" -d '{"action":{"action":"none","args":{}}}'
	is 500
	[[ $(of .detail) == 'Internal server error: '* ]]
	does 'mkdir /tmp/d; touch /tmp/f'
	ask POST "/$id/list_files" -d '{"path":"/tmp"}'
	is 200 '. | index("d/") != null and index("f") != null'
	ask POST "/$id/list_files" -d '{"path":"/none"}'
	is 200 length 0
	bare GET "/$id/server_info"
	is 200 '.resources.memory.rss >= 0'
	ask GET "/$id/vscode/connection_token"
	is 200 .token null
}

@test "/alive and file calls are answered while an action runs" {
	serve
	begun one
	does 'mkfifo /tmp/begun /tmp/end'
	runs 'echo >/tmp/begun; read line </tmp/end; echo "$line"' >"$T/answer" &
	local asked=$!
	does 'read line </tmp/begun'
	bare GET "/$id/alive"
	is 200 .status ok
	ask POST "/$id/list_files" -d '{"path":"/tmp"}'
	is 200
	does 'echo over >/tmp/end'
	wait "$asked"
	grep -q '200 .*"content":"over"' "$T/answer"
}

@test "a retried action runs once" {
	serve
	begun one
	local stamp='{"id":7,"timestamp":"2026-01-01T12:00:00"}'
	runs 'echo x >>/tmp/log; wc -l </tmp/log' "$stamp"
	is 200 .content 1
	runs 'echo x >>/tmp/log; wc -l </tmp/log' "$stamp"
	is 200 .content 1
	runs 'echo x >>/tmp/log; wc -l </tmp/log' '{"id":8,"timestamp":"2026-01-01T12:00:01"}'
	is 200 .content 2
	runs 'echo x >>/tmp/log; wc -l </tmp/log' # without both it is another action
	is 200 .content 3
}

@test "an action that is retried while it runs gets the answer of the first" {
	serve
	begun one
	local stamp='{"id":7,"timestamp":"2026-01-01T12:00:00"}' command='echo x >>/tmp/log; echo >/tmp/begun; read l </tmp/end; wc -l </tmp/log'
	does 'mkfifo /tmp/begun /tmp/end'
	runs "$command" "$stamp" >"$T/first" &
	local first=$!
	does 'read line </tmp/begun'
	runs "$command" "$stamp" >"$T/second" &
	local second=$! questions=0
	until_true came 5 # /start, `does` twice, and both actions
	does 'echo >/tmp/end'
	wait "$first" "$second"
	grep -q '200 .*"content":"1"' "$T/first"
	grep -q '200 .*"content":"1"' "$T/second"
}

# came NUMBER: so many requests have come so far, besides the questions of this function, which it
# counts in $questions.
came() {
	ask GET /metrics
	((++questions))
	(($(sed -n 's/^hutch_requests_total //p' <<<"$body") - questions >= $1))
}

# --- the native API ---------------------------------------------------------------

@test "a sandbox is made, listed and ended by the native API" {
	serve
	made '{"env":{"A":"b c"},"workdir":"/tmp"}'
	does '[ "$A" = "b c" ] && [ "$PWD" = /tmp ]'
	ask GET /v1/sandboxes
	is 200 '.sandboxes[0].id' "$id"
	ask DELETE "/v1/sandboxes/$id"
	is 200
	ask GET "/v1/sandboxes/$id"
	is 404
	ask GET /v1/sandboxes
	is 200 '.sandboxes | length' 0
	[ -z "$("$HUTCH" ps -q)" ]
}

@test "a sandbox with a command lives as long as its main process, and publishes ports" {
	serve
	made '{"command":["sleep","1000"],"ports":[8000]}'
	method info '{}'
	is 200 '.ports[0].guest' 8000
	is 200 '.main.argv | join(" ")' 'sleep 1000'
	method exec.signal '{"process":1,"signal":"KILL"}'
	is 200
	until_true stopped
	ask DELETE "/v1/sandboxes/$id"
	is 200
}

stopped() {
	ask GET "/v1/sandboxes/$id"
	is 200 .state stopped
}

@test "the command of a runtime stands for the Entrypoint of its image" {
	image root
	"$HUTCH" image import root --name root >/dev/null
	mkdir context
	printf 'FROM root\nENTRYPOINT ["/usr/bin/sleep"]\nCMD ["1000"]\n' >context/Dockerfile
	"$HUTCH" image build -q -t sleeps context >/dev/null
	serve -- --volume /usr:/usr:ro
	ask POST /start -d '{"session_id":"one","image":"sleeps","command":"/usr/bin/sleep 2000"}'
	is 200 .status running
	id=$(of .runtime_id)
	method info '{}'
	is 200 '.main.argv | join(" ")' '/usr/bin/sleep 2000'
	ask POST /start -d '{"session_id":"two","image":"sleeps"}'
	is 200 .status running
	id=$(of .runtime_id)
	method info '{}'
	is 200 '.main.argv | join(" ")' '/usr/bin/sleep 1000'
}

@test "a server that was killed tells the ports of its runtimes as before" {
	serve
	ask POST /start -d '{"session_id":"one","image":"","command":["sleep","1000"]}'
	is 200 '.url | startswith("http://127.0.0.1:")'
	local before; before=$(of .url)
	kill -KILL "$server"
	served 137
	serve
	ask GET /list
	is 200 '.runtimes[0].url' "$before"
	kill -KILL "$server"
	served 137
	serve
	ask GET '/sessions/batch?ids=one&ids=none'
	is 200 'map(.url) | join(" ")' "$before"
}

@test "a wrong request for a sandbox is refused with its reason" {
	serve
	for text in '{"imag":"x"}' '{"env":[]}' '{"env":{"A":1}}' '{"ports":[0]}' '{"ports":["80"]}' '{"command":"true"}' \
		'{"ports":[1,2,3,4,5,6,7,8,9]}' '[]' '{"plugins":[1]}' '{"workdir":7}' '{"factor":0}' '{"factor":1e300}' '{"factor":"1"}'; do
		ask POST /v1/sandboxes -d "$text"
		is 422 .error.kind invalid
	done
	ask POST /v1/sandboxes -d '{"image":"dir:/"}'
	is 403 .error.kind refused
	ask POST /v1/sandboxes -d '{"plugins":["../x"]}'
	is 404 .error.kind not_found
	ask GET /v1/sandboxes
	is 200 '.sandboxes | length' 0
}

@test "methods of the control socket are called, or refused with a sentence" {
	serve
	made
	method stats ''
	is 200 '.pids >= 0'
	method exec.start '{"argv":["cat"],"stdin":true}'
	is 200 .process 1
	method exec.write '{"process":1,"data":"x","eof":true}'
	is 200
	method exec.wait '{"process":1}'
	is 200 .exit_code 0
	method act '{"action":{"action":"run","args":{"command":"echo hi"}}}'
	is 200 .content hi
	method exec.wait '{"process":99}'
	is 404 .error.kind not_found
	method stats '{"x":1}'
	is 422 .error.kind invalid
	method stats $'{\n\n}\n'
	is 200
	method stats '{}{}'
	is 422
	method none '{}'
	is 404 .error.kind not_found
	for name in hello act.stream release rename diff snapshot port.add net.connect; do
		method "$name" '{}'
		is 501 .error.kind unsupported
	done
	for name in logs exec.attach copy.out events.subscribe; do
		method "$name" '{}'
		is 422 .error.kind invalid
	done
	method stats '{}' -H 'Accept: text/event-stream'
	is 422 .error.kind invalid
	method act '{"action":{"action":"run","args":{"command":"true"}},"stream":true}'
	is 422 .error.kind invalid
	method pause '{}'
	is 200
	ask GET "/v1/sandboxes/$id"
	is 200 .state paused
	method unpause '{}'
	is 200
	ask GET "/v1/sandboxes/$id"
	is 200 .state running
}

@test "a process is run by a stream of its output and its end" {
	serve
	made
	method exec '{"argv":["sh","-c","echo out; echo err >&2; exit 3"]}'
	is 200
	[[ $(curl -sS -o /dev/null -w '%{content_type}' -H "X-API-Key: $key" -d '{"argv":["true"]}' "$url/v1/sandboxes/$id/exec") == text/event-stream ]]
	[[ $(grep -o '^event: .*' <<<"$body" | tr -d '\n') == 'event: resultevent: outputevent: outputevent: exit' ]]
	grep -qx 'data: {"process":1,"stream":"stdout","data":"out\\n"}' <<<"$body"
	grep -q '^data: {"process":1,"exit_code":3,' <<<"$body"
	method exec '{"argv":["/none"]}'
	is 404 .error.kind not_found
	method exec '{}'
	is 422 .error.kind invalid
}

@test "a process ends when the client of its stream goes" {
	serve
	made
	mkfifo "$T/stream"
	curl -sSN -H "X-API-Key: $key" -d '{"argv":["sh","-c","echo here; exec sleep 1000"]}' \
		"$url/v1/sandboxes/$id/exec" >"$T/stream" &
	local client=$!
	{
		until read -r -t "$PATIENCE" line && [[ $line == *here* ]]; do [[ -n $line ]] || :; done
		kill "$client"
	} <"$T/stream"
	method exec.wait '{"process":1}'
	is 200 .exit_code 129
	method exec.list '{}'
	is 200 '.[0].state' exited
}

@test "a client that reads nothing makes its own process wait, and no other" {
	serve
	made
	mkfifo "$T/stream"
	exec 8<>"$T/stream"
	curl -sSN -H "X-API-Key: $key" -d '{"argv":["sh","-c","yes | head -c 100000000"]}' \
		"$url/v1/sandboxes/$id/exec" >&8 &
	started+=("$!")
	read -r -t "$PATIENCE" line <&8
	runs 'echo others go on'
	is 200 .content 'others go on'
	# The front holds a bounded part of what the process writes.
	(($(awk '/^VmRSS:/ { print $2 }' "/proc/$(front)/status") < 60000))
	kill "${started[-1]}"
	exec 8<&-
	stop_server
}

@test "events are streamed from the number that is asked for, until the sandbox ends" {
	serve
	made
	mkfifo "$T/stream"
	curl -sSN -H "X-API-Key: $key" "$url/v1/sandboxes/$id/events?since=1" >"$T/stream" &
	exec 8<"$T/stream"
	read -r -t "$PATIENCE" line <&8
	[ "$line" = 'event: result' ]
	does true
	ask DELETE "/v1/sandboxes/$id"
	is 200
	body=$(cat <&8)
	exec 8<&-
	grep -qx 'id: 1' <<<"$body"
	never grep -qx 'id: 0' <<<"$body"
	grep -q '"event":"started".*"program":"sh"\|"event":"started"' <<<"$body"
	grep -A1 '^event: error' <<<"$body" | grep -q '"kind":"disconnected"'
	made
	for since in x -1 1x 99999999999999999999; do
		ask GET "/v1/sandboxes/$id/events?since=$since"
		is 422
	done
	ask GET "/v1/sandboxes/$id/events" -H 'Last-Event-ID: x'
	is 422
}

@test "figures and the document of all requests are there" {
	serve
	made
	ask GET /metrics
	is 200
	grep -qx 'hutch_sandboxes{state="running"} 1' <<<"$body"
	ask GET /openapi.json
	is 200 .openapi 3.1.0
}

@test "a client that is gone amid an action keeps no connection, and the action goes on" {
	serve --connections 1
	begun one
	does 'mkfifo /tmp/fifo'
	raw gone_amid "$id"
	stop_server
}

@test "a burst of uploads waits, or is told to come again, and none fails" {
	serve
	begun one
	raw many_uploads "$id" "$server"
	does '[ "$(ls /tmp/up | wc -l)" = 300 ]'
}

@test "all bodies together have a bound" {
	refused "--body-memory takes 40m or more, not '39m'" --body-memory 39m
	serve --body-memory 40m
	begun one
	raw much_memory "$id"
	stop_server
}

# as NAME ID [IMAGE]: starts an action server whose command line names that user; sets id and box_key.
as() {
	((++sessions))
	ask POST /start -d "$(jq -nc --arg s "$sessions" --arg i "${3-}" --argjson c "$actions" --arg n "$1" --arg u "$2" \
		'{session_id: $s, image: $i, command: ($c + ["--username", $n, "--user-id", $u])}')"
	is "${code_of_start-200}"
	id=$(of .runtime_id)
}

@test "the user of a runtime has the name and id that its command line says" {
	can_build
	serve
	as openhands 1000
	runs 'whoami; id -u; echo $HOME; cd; touch made && echo made'
	is 200 .content $'openhands\n1000\n/home/openhands\nmade'
	is 200 .extras.metadata.username openhands
	as root 0
	runs 'whoami; id -u; echo $HOME'
	is 200 .content $'root\n0\n/root'
	while read -r name number is; do
		as "$name" "$number" bb:1 # has no bash for an action
		[ "$("$HUTCH" exec "$id" sh -c 'echo $(id -u) $HOME')" = "$is" ]
	done <<-'E'
		openhands 1000 1000 /home/openhands
		root 0 0 /root
		ada 1000 7 /
	E
	code_of_start=500
	for name in 'a b' -x 'a:b' ''; do
		as "$name" 1000
		[[ $(of .detail) == *'-u takes NAME=UID'* ]]
	done
	as openhands 1e3
	stop_server
}

@test "the operator's user wins over the one of a command line" {
	serve -- -u root
	as openhands 1000
	runs 'id -u'
	is 200 .content 0
}

# --- the log ---------------------------------------------------------------------

# logged JQ: prints the result of a jq program for each line of the log, which must be an object with all members.
logged() {
	grep -v '^hutch: clients send the key' "$T/err" | jq -e -c -a "
		if (keys == [\"component\", \"fields\", \"level\", \"message\", \"sandbox\", \"time\"] and
			(.fields | keys == [\"duration_ms\", \"method\", \"path\", \"status\"]) and .component == \"serve\" and
			(.time | test(\"^[0-9-]{10}T[0-9:]{8}[.][0-9]{3}Z$\")) and (.fields.duration_ms | type == \"number\"))
		then $1 else error(\"\\(.)\") end"
}

@test "the log has one object a line about each request" {
	export HUTCH_LOG_LEVEL=info HUTCH_LOG_FORMAT=json
	serve
	ask GET '/health?key=secret'
	ask GET /none
	bare GET /list
	begun one
	runs true
	ask POST "/$id/execute_action" -d '{"action":{"action":"none"}}'
	ask GET $'/a%0a%1b%22%e2%80%a8%ff'
	raw gone "$id"
	stop_server
	[ "$(logged '[.level, .fields.method, .fields.path, .fields.status, .sandbox]' | head -7)" = "$(
		cat <<-E
			["info","GET","/health",200,null]
			["info","GET","/none",404,null]
			["info","GET","/list",403,null]
			["info","POST","/start",200,null]
			["info","POST","/$id/execute_action",200,"$id"]
			["warn","POST","/$id/execute_action",500,"$id"]
			["info","GET","/a\\n\\u001b\\"\\u2028\\u00ff",404,null]
		E
	)" ]
	[[ $(<"$T/err") != *secret* && $(<"$T/err") != *"$key"* ]]
	(($(logged '.fields.status' | wc -l) > 7))
}

@test "a log that nobody reads holds no request up, and the next line says what is lost" {
	export HUTCH_LOG_LEVEL=info HUTCH_LOG_FORMAT=json
	mkfifo "$T/err"
	exec 7<>"$T/err"
	serve
	for _ in {1..300}; do # of half a KiB each, where the pipe has room for 64
		printf 'url = "%s/%0400d"\noutput = /dev/null\n' "$url" 0
	done >urls
	curl -sS -m "$PATIENCE" -K urls
	ask GET /health
	is 200
	for _ in {1..50}; do
		read -r -t "$PATIENCE" line <&7
	done
	ask GET /health
	until [[ $line == *'"status":200,'*'"lost":'* ]]; do
		read -r -t "$PATIENCE" line <&7
	done
	exec 7>&-
}

# --- builds of images ---------------------------------------------------------------

# context FILE...: writes the context of files in the folder ctx to ctx.b64, as OpenHands sends it.
context() {
	tar -C ctx -cz "${@:-.}" | base64 -w 0 >ctx.b64
}

# build [OPTION...]: sends ctx.b64 to be built as an image.
build() {
	ask POST /build -F 'context=@ctx.b64;filename=context.tar.gz' "$@"
}

# ends_as STATUS: waits for the end of the build of the last answer.
ends_as() {
	local build
	build=$(of .build_id)
	body='{"status":"WORKING"}'
	while [[ $(of .status) == WORKING ]]; do # each answer waits for the end of the build
		ask GET "/build_status?build_id=$build"
	done
	is 200 .status "$1"
}

image=localhost/hutch/runtime:1

can_build() {
	load busybox
	own_store
	needs_static
	busybox_image
	mkdir ctx
}

@test "an image is built of a context that a client sends, and runtimes start from it" {
	can_build
	serve
	printf 'FROM bb:1\nCOPY word /word\nRUN cat /word >/ran\n' >ctx/Dockerfile
	head -c 300000 /dev/urandom >ctx/word
	context
	build -F "target_image=$image" -F tags=localhost/hutch/runtime:2 -F tags=localhost/hutch/runtime:3
	is 200 '.build_id | length' 32
	ends_as SUCCESS
	is 200 .image "$image"
	for name in "$image" localhost/hutch/runtime:2 localhost/hutch/runtime:3; do
		ask GET "/image_exists?image=$name"
		is 200 .exists
		[ "$("$HUTCH" run --image "$name" cat /ran | cksum)" = "$(cksum <ctx/word)" ]
	done
	ask POST /start -d "{\"session_id\":\"built\",\"image\":\"$image\",\"command\":$actions}"
	is 200 .status running
	stop_server
}

@test "a build that fails says why, and one of a hostile context tells nothing of this host" {
	can_build
	serve
	printf 'FROM bb:1\nRUN echo why; exit 3\n' >ctx/Dockerfile
	context
	build -F "target_image=$image"
	ends_as FAILURE
	[[ $(of .error) == *why*'Dockerfile:2: RUN:'*'exit code 3'* ]]
	echo secret-of-the-host >secret
	give secret
	ln -sf "$T/secret" ctx/Dockerfile
	context
	build -F "target_image=$image"
	ends_as FAILURE
	[[ $body != *secret-of* ]]
	printf 'no tar' | base64 -w 0 >ctx.b64
	build -F "target_image=$image"
	ends_as FAILURE
	ask GET "/image_exists?image=$image"
	is 200 .exists false
	[ -z "$(find "$XDG_DATA_HOME/hutch/store/tmp" -name 'stage-*')" ]
}

@test "a build needs a context and names of the server's own" {
	can_build
	serve
	ask GET /registry_prefix
	is 200 .registry_prefix localhost/hutch
	for names in '' target_image=debian:12 target_image=localhost/hutchx:1 \
		"target_image=$image tags=debian:12" "target_image=$(printf 'localhost/hutch/%0600d' 1)"; do
		options=()
		for word in $names; do
			options+=(-F "$word")
		done
		printf eA== >ctx.b64
		build "${options[@]}"
		is 422
	done
	for text in '' 'eA=' 'eA==eA==' 'e A=' 'eA==x' '____'; do
		printf %s "$text" >ctx.b64
		build -F "target_image=$image"
		is 422
	done
	ask POST /build -F "target_image=$image"
	is 422
	ask POST /build -d '{}'
	is 400
	ask POST /build -d '{}' -H 'Content-Type: application/json'
	is 422
	bare POST /build -F "target_image=$image"
	is 403
	ask GET /build_status?build_id=none
	is 404
	ask GET /build_status
	is 404
}

@test "a RUN of a build has the network that the operator gives to builds" {
	can_build
	refused "--build-allow: 'a b' is no name.*" --build-allow 'a b'
	[[ $stderr != *' --allow'* ]]
	refused '--build-allow says nothing with --build-network host' --build-allow a.test --build-network host
	[[ $stderr != *' --allow'* && $stderr != *' --network'* ]]
	refused '--build-allow says nothing with --build-network none' --build-network none --build-allow a.test
	refused "--build-network takes none, allow, host or ns:PATH, not 'everything'" --build-network everything
	[[ ${stderr_lines[1]} == *--build-allow* && ${stderr_lines[1]} != *' --network'* ]]
	printf 'FROM bb:1\nRUN ls -l /proc/self/ns/net >/net\n' >ctx/Dockerfile
	context
	for word in none host; do
		serve --build-network "$word"
		build -F "target_image=localhost/hutch/net:$word"
		ends_as SUCCESS
		stop_server
		"$HUTCH" run --image "localhost/hutch/net:$word" cat /net >"net.$word"
		[[ $word == host ]] || never grep -qF "$(readlink /proc/self/ns/net)" "net.$word"
		"$HUTCH" image gc --build-cache >/dev/null
	done
	grep -qF "$(readlink /proc/self/ns/net)" net.host
}

@test "a further build is told to come later, and room is made by an end" {
	can_build
	serve
	raw builds_held
}

@test "a build ends with the server" {
	can_build
	serve
	printf 'FROM bb:1\nRUN kill -STOP $$\n' >ctx/Dockerfile
	context
	build -F "target_image=$image"
	is 200
	ask GET "/image_exists?image=$image" # the spawner answers it behind the start of the build
	is 200
	pid=$(pgrep -P "$server" -f 'image build')
	kill -0 "$pid"
	stop_server
	never kill -0 "$pid"
}

# --- ends -------------------------------------------------------------------------

@test "sandboxes are found again after a restart, with their keys and states" {
	serve
	begun one
	local first=$id first_key=$box_key
	begun two
	ask POST /pause -d "{\"runtime_id\":\"$id\"}"
	ask POST /resume -d "{\"runtime_id\":\"$id\"}"
	box_key=$(of .session_api_key)
	ask POST /pause -d "{\"runtime_id\":\"$id\"}"
	is 200
	stop_server
	serve
	by "$first_key" POST "/$first/list_files" -d '{}'
	is 200
	ask GET /sessions/two
	is 200 .status paused
	is 200 .session_api_key "$box_key"
	ask GET /sessions/one
	is 200 .status running
}

@test "when the front is killed the server ends and says so, and its sandboxes live on" {
	serve
	begun one
	kill -KILL "$(front)"
	served 125
	grep -q '^hutch: the front was ended by signal 9$' "$T/err"
	[ "$("$HUTCH" ps -q)" = "$id" ]
	serve
	id=$id runs 'echo lives'
	is 200 .content lives
}

@test "when the spawner is killed the front ends, and its sandboxes live on" {
	serve
	begun one
	local front; front=$(front)
	kill -KILL "$server"
	wait "$server" || true
	until_true all_gone "$front"
	serve
	runs 'echo lives'
	is 200 .content lives
}

@test "a stop waits for the requests that are under way, and a second signal does not" {
	serve
	begun one
	does 'mkfifo /tmp/begun /tmp/end'
	runs 'echo >/tmp/begun; read line </tmp/end; echo "$line"' >"$T/answer" &
	local asked=$!
	does 'read line </tmp/begun'
	kill -TERM "$server"
	until_true never curl -s -m "$PATIENCE" -o /dev/null "$url/health"
	"$HUTCH" exec "$id" sh -c 'echo over >/tmp/end'
	wait "$asked"
	grep -q '200 .*"content":"over"' "$T/answer"
	served 0
	serve
	runs 'echo >/tmp/begun; read line </tmp/end' >"$T/answer" &
	asked=$!
	does 'read line </tmp/begun'
	kill -TERM "$server"
	until_true never curl -s -m "$PATIENCE" -o /dev/null "$url/health"
	kill -INT "$server"
	served 0
	wait "$asked" || true # without an answer
}

@test "a stop ends the streams of events" {
	serve
	made
	mkfifo "$T/stream"
	curl -sSN -H "X-API-Key: $key" "$url/v1/sandboxes/$id/events" >"$T/stream" &
	local client=$!
	exec 8<"$T/stream"
	read -r -t "$PATIENCE" line <&8
	stop_server
	wait "$client"
	exec 8<&-
}

@test "a server of another name does not see these sandboxes" {
	serve
	begun one
	local first=$server
	cp "$HOME/.local/share/hutch/serve/default.key" key
	give key
	serve --name other --key-file "$T/key"
	ask GET /list
	is 200 '.runtimes | length' 0
	ask GET "/runtime/$id"
	is 404
	runs true
	is 404
	server=$first
	stop_server
}

@test "a sandbox that dies in the middle of an action is told to its client" {
	serve
	begun one
	does 'mkfifo /tmp/begun'
	runs 'echo >/tmp/begun; sleep 1000' >"$T/answer" &
	local asked=$!
	does 'read line </tmp/begun'
	kill -KILL "$(supervisor_of "$id")"
	wait "$asked"
	grep -q '404 .*detail' "$T/answer"
	bare GET "/$id/alive"
	is 404
	ask GET "/runtime/$id"
	is 200 .status stopped
	ask POST /stop -d "{\"runtime_id\":\"$id\"}"
	is 200
	ask GET "/runtime/$id"
	is 404
}

@test "a sandbox that is ended in the middle of actions and streams answers each" {
	serve
	begun one
	does 'mkfifo /tmp/begun'
	local asked=()
	runs 'echo >/tmp/begun; sleep 1000' >"$T/action" &
	asked+=("$!")
	does 'read line </tmp/begun'
	curl -sSN -H "X-API-Key: $key" -d '{"argv":["sh","-c","echo >/tmp/begun; sleep 1000"]}' \
		"$url/v1/sandboxes/$id/exec" >"$T/exec" &
	asked+=("$!")
	does 'read line </tmp/begun'
	ask DELETE "/v1/sandboxes/$id"
	is 200
	wait "${asked[@]}"
	# It may have ended by the sandbox's SIGTERM first, and is an observation then.
	grep -q '404 .*detail\|200 .*observation' "$T/action"
	grep -q '^event: \(error\|exit\)' "$T/exec"
	ask GET /list
	is 200 '.runtimes | length' 0
}

@test "clients that go in the middle leave the sandbox unharmed" {
	serve
	begun one
	raw gone "$id"
	runs 'echo well'
	is 200 .content well
	stop_server
}

# --- sockets and keys of the host --------------------------------------------------

@test "a unix socket is its owner's, and goes with the server" {
	room room
	serve --socket "$T/room/sock"
	read -r -t "$PATIENCE" line <&6
	[ "$line" = "unix:$T/room/sock" ]
	[ "$(stat -c %a "$T/room/sock")" = 600 ]
	url=http://localhost
	ask GET /list --unix-socket "$T/room/sock"
	is 200
	bare GET /list --unix-socket "$T/room/sock"
	is 403
	refused "--socket $T/room/sock: a process listens there already" --socket "$T/room/sock"
	[ -S "$T/room/sock" ]
	stop_server
	[ ! -e "$T/room/sock" ]
}

@test "a socket that a killed server left is replaced, and a file is not" {
	room room
	serve --socket "$T/room/sock"
	kill -KILL "$server"
	wait "$server" || true
	until_true never pgrep -P "$server"
	[ -S "$T/room/sock" ]
	serve --socket "$T/room/sock"
	stop_server
	echo mine >"$T/room/file"
	refused "--socket $T/room/file: a file is there already" --socket "$T/room/file"
	[ "$(<"$T/room/file")" = mine ]
	refused '--socket: a path of at most 107 bytes' --socket "/tmp/$(printf '%120s' | tr ' ' x)"
}

@test "a server that root starts is the user's for whom root's sandboxes run" {
	is_root || skip "this is about root's server"
	serve
	local pid
	for pid in "$server" "$(front)"; do
		[ "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$pid/status")" = "$who $who $who $who" ]
	done
	[ "$(stat -c %u "$HOME/.local/share/hutch/serve/default.key")" = "$who" ]
	made
	does true
	[ "$("$HUTCH" ps -q)" = "$id" ]
}

@test "TLS is served with a certificate, and refused without its key" {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout tls.key -out tls.crt \
		-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -days 2 2>/dev/null
	openssl ecparam -genkey -name prime256v1 -noout -out other.key
	give tls.key tls.crt other.key
	refused '--tls-cert and --tls-key belong together' --tls-cert "$T/tls.crt"
	refused "--tls-cert $T/none: No such file or directory" --tls-cert "$T/none" --tls-key "$T/tls.key"
	serve --tls-cert "$T/tls.crt" --tls-key "$T/tls.key"
	[[ $url == https://127.0.0.1:* ]]
	ask GET /list --cacert tls.crt
	is 200
	never curl -s -m "$PATIENCE" "${url/https/http}/health"
	made_over_tls
	stop_server
}

made_over_tls() {
	ask POST /v1/sandboxes --cacert tls.crt -d '{}'
	is 201
	id=$(of .id)
	method exec '{"argv":["echo","hi"]}' --cacert tls.crt
	is 200
	grep -q '^event: exit' <<<"$body"
}

@test "an address that is taken or is none is refused" {
	serve
	refused "listen on ${url#http://}: Address already in use" --listen "${url#http://}"
	[[ ${stderr_lines[1]} == 'hutch: hint: --listen 127.0.0.1:0 takes a free port' ]]
	for address in localhost:1 127.0.0.1 127.0.0.1:x 127.0.0.1:65536 '' ::1:1; do
		refused "--listen: '$address'" --listen "$address"
	done
	refused '--connections takes 1 to 100000' --connections 0
	refused '--name' --name ../x
	refused "--image: 'a b' is no reference" --image 'a b'
}

@test "a Host or an Origin that no request can have is refused" {
	local word
	for word in '' . https://a.test a.test/x a.test:80 '*.a.test' 'a b'; do
		refused "--host '.*' is the Host of no request" --host "$word"
	done
	for word in '' a.test https://a.test/ https://a.test/x https://A.test HTTPS://a.test \
		https://a.test:443 http://a.test:80 'https://*' https://u@a.test; do
		refused "--origin '.*' is the Origin of no request" --origin "$word"
	done
	serve --host a.test --host .b_c.test --origin null --origin https://a.test:80 --origin http://[::1]:8080
}

@test "the words behind -- are options of each sandbox, and one that is wrong is told" {
	room shared
	echo here >shared/file
	serve -- -v "$T/shared:/shared"
	made
	does '[ "$(cat /shared/file)" = here ]'
	stop_server
	refused 'behind --: unknown flag --none' -- --none
	refused "behind --: 'name' is no option of hutch create" -- --keep name
	refused "behind --: '--' is no option" -- --keep --
	refused 'behind --: --memory' -- --memory 1x
	refused 'behind --: --help, --main and --lease make no sense' -- --main
	refused "behind --: mount $T/none: no such folder on the host.*" -- -v "$T/none:/x"
	refused "behind --: mount $T/shared/file/x: Not a directory.*" -- --workspace "$T/shared/file/x"
}

# --- confinement ------------------------------------------------------------------

@test "the front has no capability, no file, and a filter of its own" {
	serve
	local pid status
	pid=$(front)
	status=$(<"/proc/$pid/status")
	[[ $status =~ NoNewPrivs:.1 && $status =~ Seccomp:.2 && $status =~ CapEff:.0000000000000000 ]]
}
