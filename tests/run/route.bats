#!/usr/bin/env bats
# Tests of hutch route (docs/hutch-route.md), with three servers of hutch serve --pod on loopback
# as pods, each with a state of its own.

load helpers

setup() {
	begin
	# The router's filter ends the thread by which LeakSanitizer looks, and which it waits for.
	export ASAN_OPTIONS=detect_leaks=0
	image img
	url='' inner='' router=''
	pids=() ports=()
	key=0123456789abcdef
	printf '%s\n' "$key" >key
	chmod 600 key
	give key
	for i in 0 1 2; do
		mkdir -m 700 "pod$i" "pod$i/run"
		give "pod$i"
	done
}

teardown() {
	local pid i
	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	for i in 0 1 2; do
		as_pod "$i" remove_boxes
	done
	end
}

# as_pod N COMMAND...: runs it with the state of pod N.
as_pod() {
	local -x XDG_DATA_HOME=$T/pod$1 XDG_RUNTIME_DIR=$T/pod$1/run
	"${@:2}"
}

# pod N [OPTION...] [-- OPTION...]: starts pod N, at the port that it had before, and waits until
# it listens.
pod() {
	local line
	mkfifo "said$1"
	env --default-signal XDG_DATA_HOME="$T/pod$1" XDG_RUNTIME_DIR="$T/pod$1/run" "$HUTCH" serve --listen "127.0.0.1:${ports[$1]:-0}" --pod "hutch-$1" \
		--key-file "$T/key" --host .front.test --image "dir:$T/img" "${@:2}" -- -v /usr:/usr:ro \
		>"said$1" 2>"err$1" 3>&- </dev/null &
	pids[$1]=$!
	started+=("$!")
	exec 6<"said$1"
	rm "said$1"
	read -r -t "$PATIENCE" line <&6 || {
		echo "pod $1 did not start: $(cat "err$1")"
		return 1
	}
	exec 6<&-
	ports[$1]=${line##*:}
}

# kill_pod N: kills the server of pod N and all its sandboxes, as the loss of its machine would.
kill_pod() {
	local name
	kill -KILL "${pids[$1]}"
	wait "${pids[$1]}" || true
	for name in $(as_pod "$1" "$HUTCH" ps -q); do
		as_pod "$1" "$HUTCH" kill "$name" >/dev/null
	done
}

# route [OPTION...]: starts the router as $router, at $url and with /metrics at $inner.
route() {
	mkfifo said
	env --default-signal "$HUTCH" route --listen 127.0.0.1:0 --metrics 127.0.0.1:0 \
		--pod "hutch-0=127.0.0.1:${ports[0]}" --pod "hutch-1=127.0.0.1:${ports[1]}" \
		--pod "hutch-2=127.0.0.1:${ports[2]}" "$@" >said 2>err 3>&- </dev/null &
	router=$!
	started+=("$!")
	exec 6<said
	rm said
	read -r -t "$PATIENCE" url <&6 && read -r -t "$PATIENCE" inner <&6 || {
		echo "the router did not start: $(cat err)"
		return 1
	}
	inner=${inner#metrics: }
	exec 6<&-
}

# all [OPTION...]: starts three pods and the router.
all() {
	pod 0
	pod 1
	pod 2
	route "$@"
}

# ask METHOD PATH [OPTION...]: a request to the router with the key; sets code, body and the
# head's file.
ask() {
	local file=$T/body.$BASHPID
	code=$(curl -sS -m "$PATIENCE" -o "$file" -D "$T/head" -w '%{http_code}' -X "$1" -H "X-API-Key: $key" \
		"${@:3}" "$url$2") || true
	body=$(<"$file")
	printf '%s %s: %s %s\n' "$1" "$2" "$code" "$body"
}

# is CODE [JQ [VALUE]]: checks the status of the last answer, and what jq makes of it.
is() {
	[[ $code == "$1" ]] || return 1
	(($# < 2)) || [[ $(jq -r "$2" <<<"$body") == "${3-true}" ]]
}

of() {
	jq -r "$1" <<<"$body"
}

actions='["python","-m","openhands.runtime.action_execution_server","60000","--working-dir","/data","--no-enable-browser"]'

# begun SESSION: starts a runtime that is an action server; sets id, box_key and at, its pod.
begun() {
	ask POST /start -d "{\"session_id\":\"$1\",\"image\":\"\",\"command\":$actions}"
	is 200 .status running
	id=$(of .runtime_id) box_key=$(of .session_api_key)
	at=${id#hutch-} at=${at%%-*}
	[[ $id =~ ^hutch-[012]-r[0-9a-f]{16}$ ]]
}

# runs COMMAND [OPTION...]: runs the action `run` in sandbox $id, with its own key.
runs() {
	ask POST "/$id/execute_action" -H "X-Session-API-Key: $box_key" \
		-d "$(jq -nc --arg c "$1" '{action: {action: "run", args: {command: $c}}}')" "${@:2}"
}

# refused PATTERN OPTION...: checks that a router ends with one sentence, and serves nothing.
refused() {
	hutch route "${@:2}"
	[[ $status == 125 && -z $output ]] && one_sentence "$1"
}

@test "sandboxes spread over the pods, and each request finds its own by the id" {
	local ids=() keys=() i
	all
	for i in 0 1 2; do
		begun "s$i"
		ids+=("$id") keys+=("$box_key")
		runs "echo $i >mine"
		is 200 .extras.metadata.exit_code 0
	done
	[ "$(printf '%s\n' "${ids[@]}" | cut -d- -f2 | sort -u | wc -l)" = 3 ]
	for i in 0 1 2; do
		id=${ids[i]} box_key=${keys[i]}
		runs 'cat mine'
		is 200 .content "$i"
		ask GET "/sessions/s$i"
		is 200 .runtime_id "$id"
		ask GET "/runtime/$id"
		is 200 .pod_status ready
		ask POST /pause -d "{\"runtime_id\":\"$id\"}"
		is 200 .status paused
		ask POST /resume -d "{\"runtime_id\":\"$id\"}"
		is 200 .status running
	done
	ask GET /list
	is 200 '[.runtimes[].runtime_id] | sort | join(" ")' "$(printf '%s\n' "${ids[@]}" | sort | paste -sd' ')"
	ask GET '/sessions/batch?ids=s0&ids=s2'
	is 200 '[.[].session_id] | sort | join(" ")' 's0 s2'
	ask POST /start -d "{\"session_id\":\"s1\",\"image\":\"\",\"command\":$actions}"
	is 409
	ask POST /stop -d "{\"runtime_id\":\"${ids[1]}\"}"
	is 200 .status stopped
	ask GET /sessions/s1
	is 404
}

@test "uploads and downloads of 20 MB pass whole, by length and in chunks" {
	all
	begun big
	head -c 20000000 /dev/urandom >sent
	ask POST "/$id/upload_file?destination=/data" -H "X-Session-API-Key: $box_key" -F file=@sent
	is 200
	runs 'sha256sum <sent'
	is 200 .content "$(sha256sum <sent)"
	ask POST "/$id/upload_file?destination=/data/again" -H "X-Session-API-Key: $box_key" \
		-H 'Transfer-Encoding: chunked' -F file=@sent
	is 200
	curl -sS -m "$PATIENCE" -H "X-Session-API-Key: $box_key" -o got.zip \
		"$url/$id/download_files?path=/data/again"
	python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile("got.zip").read("sent"))' | cmp - sent
}

@test "a stream of events passes while the command that writes it still runs" {
	all
	ask POST /v1/sandboxes -d '{}'
	is 201 .state running
	id=$(of .id)
	mkfifo events
	curl -sN -m "$PATIENCE" -H "X-API-Key: $key" -d '{"argv":["sh","-c","echo one; read x; echo two"],"stdin":true}' \
		"$url/v1/sandboxes/$id/exec" >events 3>&- &
	started+=("$!")
	exec 6<events
	local line process=
	until [[ $line == *'"one\n"'* ]]; do
		read -r -t "$PATIENCE" line <&6
		[[ $line != *'"process":'* ]] || process=$(grep -o '"process":[0-9]*' <<<"$line")
	done
	ask POST "/v1/sandboxes/$id/exec.write" -d "{$process,\"data\":\"go\\n\"}"
	is 200
	until [[ $line == *'"two\n"'* ]]; do
		read -r -t "$PATIENCE" line <&6
	done
	until [[ $line == *'"exit_code":0'* ]]; do
		read -r -t "$PATIENCE" line <&6
	done
	exec 6<&-
}

@test "native lists and those of E2B have the sandboxes of all pods" {
	local i
	all
	for i in 0 1 2; do
		ask POST /v1/sandboxes -d '{}'
		is 201
		ask POST /sandboxes -d '{"templateID":"base"}'
		is 201
	done
	ask GET /v1/sandboxes
	is 200 '[.sandboxes[].id] | unique | length' 6
	ask GET /v2/sandboxes
	is 200 '[.[].sandboxID] | unique | length' 3
	id=$(of '.[0].sandboxID')
	ask GET "/sandboxes/$id"
	is 200 .sandboxID "$id"
	ask GET /health -H "E2b-Sandbox-Id: $id"
	is 204
	ask GET /health -H "Host: 49983-$id.front.test"
	is 204
	ask DELETE "/sandboxes/$id"
	is 204
}

@test "when a pod is lost, others notice nothing, and its sandboxes go on with their files once it is back" {
	local lost other=() live
	all
	begun lost
	lost=("$id" "$box_key" "$at")
	runs 'echo kept >file'
	is 200
	begun other
	other=("$id" "$box_key")
	kill_pod "${lost[2]}"

	runs 'echo still here'
	is 200 .content 'still here'
	ask GET /list
	is 200 '[.runtimes[].session_id] | join(" ")' other
	grep -q "^Hutch-Missing: hutch-${lost[2]}" head
	begun third
	[[ $at != "${lost[2]}" ]]

	# Requests that come meanwhile wait for the pod.
	id=${lost[0]} box_key=${lost[1]}
	curl -sS -m "$PATIENCE" -H "X-API-Key: $key" "$url/sessions/lost" >found 3>&- &
	live=$!
	pod "${lost[2]}"
	wait "$live"
	[ "$(jq -r .runtime_id found)" = "$id" ]
	[ "$(jq -r .status found)" = paused ]
	runs 'cat file'
	is 200 .content kept
	id=${other[0]} box_key=${other[1]}
	runs 'echo and here'
	is 200 .content 'and here'
}

@test "a server that is killed alone leaves its sandboxes alive, with their processes" {
	all
	begun one
	runs 'sleep 1000 & echo $! >pid'
	is 200
	kill -KILL "${pids[$at]}"
	wait "${pids[$at]}" || true
	pod "$at"
	runs 'kill -0 $(cat pid) && echo alive'
	is 200 .content alive
}

@test "a request for a pod that stays away is refused by its name, and so is a session that may be there" {
	all --wait 1ms
	begun one
	kill -KILL "${pids[$at]}"
	wait "${pids[$at]}" || true
	runs true
	is 502 .detail "Pod hutch-$at does not answer: it may be starting anew"
	ask GET /sessions/one
	is 503
	ask GET /sessions/never
	is 503
	ask POST /resume -d "{\"runtime_id\":\"$id\"}"
	is 503
	grep -qi '^Retry-After: [0-9]' head
	[ "$(curl -sS -m "$PATIENCE" "$inner/metrics" | grep "pod=\"hutch-$at\"")" = "hutch_route_pod_up{pod=\"hutch-$at\"} 0" ]
}

@test "a pod at its bound gets no further sandbox, and when all are full the answer is 503" {
	pod 0 --max-sandboxes 1
	pod 1 --max-sandboxes 2
	pod 2 --max-sandboxes 1
	route
	local i
	for i in 1 2 3 4; do
		begun "s$i"
	done
	ask POST /start -d "{\"session_id\":\"s5\",\"image\":\"\",\"command\":$actions}"
	is 503 .detail 'All pods are full'
	grep -qi '^Retry-After: [0-9]' head
	ask POST /stop -d "{\"runtime_id\":\"$id\"}"
	is 200
	until_true session_gone s4
	begun s5
}

session_gone() {
	ask GET "/sessions/$1"
	[[ $code == 404 ]]
}

# drained [paused]: drains the pod of a sandbox, which may be paused, and uses it afterwards.
drained() {
	pod 0 --drain
	pod 1 --drain
	pod 2 --drain
	route
	begun one
	runs 'echo kept | tee file >/workspace/file; sleep 1000 & echo $! >pid'
	is 200
	[[ -z ${1-} ]] || ask POST /pause -d "{\"runtime_id\":\"$id\"}"
	kill -TERM "${pids[$at]}"
	wait "${pids[$at]}"
	[ "$(as_pod "$at" "$HUTCH" ps -a --format '{{.Name}} {{.State}}')" = "$id ended (stopped), kept" ]
	pod "$at" --drain
	ask GET /sessions/one
	is 200 .status paused
	ask POST /resume -d "{\"runtime_id\":\"$id\"}"
	is 200 .status running
	box_key=$(of .session_api_key)
	runs 'cat file /workspace/file; kill -0 $(cat pid) || echo no process'
	is 200
	[[ $(of .content) == kept$'\n'kept*'no process' ]]
}

@test "a pod that is drained stops its sandboxes, and a call starts them again from their files" {
	drained
}

@test "a pod that is drained stops a sandbox that is paused, too" {
	drained paused
}

@test "a pod decides about keys and Hosts, and the router passes its refusals on" {
	local path
	all
	begun one
	for path in /list /sessions/one "/runtime/$id" /v1/sandboxes; do
		[ "$(curl -sS -m "$PATIENCE" -o body -w '%{http_code}' -H 'X-API-Key: wrong0123456789a' "$url$path")" = 403 ]
		[ "$(curl -sS -m "$PATIENCE" -o body -w '%{http_code}' -H "X-API-Key: $key" -H 'Host: evil.test' "$url$path")" = 403 ]
	done
	[ "$(curl -sS -m "$PATIENCE" -o body -w '%{http_code}' -d "{\"session_id\":\"x\"}" "$url/start")" = 403 ]
	[ "$(curl -sS -m "$PATIENCE" -o body -w '%{http_code}' -H "X-Session-API-Key: wrong" -d '{}' "$url/$id/execute_action")" = 403 ]
}

@test "ids of no pod, builds and unknown paths are answered by the router" {
	all
	ask GET /runtime/hutch-7-r0123456789abcdef
	is 404 .detail 'No pod of this router has such a sandbox'
	ask GET /r0123456789abcdef/alive
	is 404 .detail 'Not Found'
	ask GET /sandboxes/hutch-7-r0123456789abcdef
	is 502 .code 502
	ask POST /build -F context=x
	is 501
	ask GET /etc/passwd
	is 404
	ask GET /metrics
	is 404
	ask GET /health
	is 200 .status ok
	curl -sS -m "$PATIENCE" "$inner/metrics" | grep -q '^hutch_route_requests_total 8$'
	ask GET '/image_exists?image=none:1'
	is 200 .exists false
}

@test "SIGTERM lets a request that is under way end, and then the router ends" {
	all
	begun one
	mkfifo "pod$at/hold" && give "pod$at/hold"
	curl -sN -m "$PATIENCE" -H "X-API-Key: $key" -d '{"argv":["sh","-c","echo up; read x; echo end"],"stdin":true}' \
		"$url/v1/sandboxes/$id/exec" >events 3>&- &
	local client=$! rc=0
	started+=("$client")
	until_true grep -q 'up\\n' events
	kill -TERM "$router"
	curl -sS -m "$PATIENCE" -o /dev/null -H "X-API-Key: $key" -d '{"process":1,"data":"go\n"}' \
		"http://127.0.0.1:${ports[$at]}/v1/sandboxes/$id/exec.write"
	wait "$client"
	grep -q 'end\\n' events
	wait "$router" || rc=$?
	[ "$rc" = 0 ]
}

@test "wrong words are refused before the router listens" {
	refused 'no pod is named'
	refused "--pod: pod 'A'" --pod A=127.0.0.1:1
	refused "--pod: pod 'a' has no address" --pod a
	refused "--pod: pod 'a' is named twice" --pod a=127.0.0.1:1 --pod a=127.0.0.1:2
	refused "--pod: '127.0.0.1': HOST:PORT was expected" --pod a=127.0.0.1
	refused "--pod: 'a-3..1': from a lower number" --service x:1 --pod a-3..1
	refused "--pod: 'a-0..2=127.0.0.1:1': several pods cannot have one address" --pod a-0..2=127.0.0.1:1
	refused "--pod: '127.0.0.1:65536': a port is a number from 1 to 65535" --pod a=127.0.0.1:65536
	refused "--service: 'x': HOST:PORT was expected" --service x --pod a-0..2
	refused "--service: 'x:99999': a port is a number" --service x:99999 --pod a
	refused "--listen: 'foo': ADDRESS:PORT was expected" --pod a=127.0.0.1:1 --listen foo
	refused "--metrics: 'foo': ADDRESS:PORT was expected" --pod a=127.0.0.1:1 --listen 127.0.0.1:0 --metrics foo
	refused "--metrics: '127.0.0.1:70000': a port is a number" --pod a=127.0.0.1:1 --listen 127.0.0.1:0 --metrics 127.0.0.1:70000
	refused '--connections takes' --pod a=127.0.0.1:1 --connections 0
}

# --- hostile clients and pods ---------------------------------------------------------

@test "heads that two readers could read differently reach no pod" {
	"$here/route.py" ambiguous "$HUTCH"
}

@test "bytes behind a request reach no pod" {
	"$here/route.py" pipelined "$HUTCH"
}

@test "a request passes byte by byte, and its answer while it is still being sent" {
	"$here/route.py" in_pieces "$HUTCH"
	"$here/route.py" both_ways "$HUTCH"
}

@test "a client that half-closes its connection half-closes the pod's" {
	"$here/route.py" half_closed "$HUTCH"
}

@test "the connection to a pod ends with that of a client that breaks off" {
	"$here/route.py" gone_clients "$HUTCH"
}

@test "a client learns that its pod has broken off" {
	"$here/route.py" broken_pods "$HUTCH"
}

@test "a pod whose answer is no list is left out, and named" {
	"$here/route.py" odd_lists "$HUTCH"
}

@test "two requests that start one session take turns, and the second one is refused by the session's pod" {
	"$here/route.py" turns "$HUTCH"
}

@test "a client waits for its turn at a session no longer than --wait says" {
	"$here/route.py" turn_that_does_not_come "$HUTCH"
}

@test "a client that breaks off, or is refused, gives its turn at a session to the next one" {
	"$here/route.py" turn_of_a_gone_client "$HUTCH"
}

@test "a client whose turn comes while too many questions are under way is refused once, for good" {
	"$here/route.py" turn_without_a_question "$HUTCH"
}

@test "connections beyond the bound wait for their turn" {
	"$here/route.py" many "$HUTCH"
}

@test "connections are told to be fewer where the limit of open files is too low for them" {
	"$here/route.py" few_files "$HUTCH"
}

@test "both processes are confined" {
	"$here/route.py" confined "$HUTCH"
}

@test "a pod whose address is a name is looked up, and reached" {
	"$here/route.py" by_name "$HUTCH"
}
