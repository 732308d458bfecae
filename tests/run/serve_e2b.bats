#!/usr/bin/env bats
# Tests of what hutch serve answers to E2B's clients, on the wire (gateway/e2b.h); the SDKs
# themselves are clients of tests/clients/gateway.

load helpers

setup() {
	begin
	url='' key='' server='' id='' token=''
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
	key=$(<"$HOME/.local/share/hutch/serve/default.key")
}

stop_server() {
	kill -TERM "$server"
	wait "$server"
	exec 6<&-
}

# bare METHOD PATH [OPTION...]: a request without a key; sets code, body, and raw to a file with the
# body's bytes.
bare() {
	raw=$T/body.$BASHPID
	code=$(curl -sS -m "$PATIENCE" -o "$raw" -w '%{http_code}' -X "$1" "${@:3}" "$url$2") || true
	body=$(tr -d '\0' <"$raw")
	printf '%s %s: %s %s\n' "$1" "$2" "$code" "$(head -c 400 "$raw" | tr -cd '[:print:]')"
}

# api METHOD PATH [BODY [OPTION...]]: a call of the control API.
api() {
	bare "$1" "$2" -H "X-API-Key: $key" ${3:+-d "$3"} "${@:4}"
}

# envd PATH BODY [OPTION...]: a call of envd that has one answer.
envd() {
	bare POST "/$1" -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" -H 'Content-Type: application/json' \
		-d "$2" "${@:3}"
}

# stream PATH FILE [OPTION...]: a call of envd whose answer is a stream; sets code, and lines of the
# messages as connect.py shows them.
stream() {
	code=$(curl -sS -m "$PATIENCE" -o "$T/stream" -w '%{http_code}' -H "E2b-Sandbox-Id: $id" \
		-H "X-Access-Token: $token" -H 'Content-Type: application/connect+json' --data-binary "@$2" \
		"${@:3}" "$url/$1") || true
	catch "$here/connect.py" show <"$T/stream"
}

# call PATH JSON...: the same with messages of these texts.
call() {
	"$here/connect.py" send "${@:2}" >"$T/messages"
	stream "$1" "$T/messages"
}

# files METHOD QUERY [OPTION...]: a request about files.
files() {
	bare "$1" "/files?$2" -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" "${@:3}"
}

# is CODE [JQ [VALUE]]: checks the status of the last answer, and what jq makes of it.
is() {
	[[ $code == "$1" ]] || return 1
	(($# < 2)) || [[ $(jq -c "$2" <<<"$body") == "${3:-true}" ]] || {
		jq -c "$2" <<<"$body"
		return 1
	}
}

# sandbox [MEMBERS]: makes one, whose id and token are set.
sandbox() {
	api POST /v2/sandboxes "{\"templateID\":\"base\"${1:+,$1}}"
	is 201 || return 1
	id=$(jq -r .sandboxID <<<"$body") token=$(jq -r .envdAccessToken <<<"$body")
}

# start COMMAND: the message that starts a command by bash.
start() {
	jq -nc --arg c "$1" '{process: {cmd: "/bin/bash", args: ["-c", $c]}, stdin: false}'
}

@test "each call needs its key, and a sandbox's opens no other" {
	serve
	bare POST /v2/sandboxes -d '{"templateID":"base"}' && is 401 .code 401
	bare GET /v2/sandboxes -H 'X-API-Key: wrong' && is 401 .message '"Invalid API Key"'
	sandbox
	local first=$id first_token=$token
	[[ $(jq -r .trafficAccessToken <<<"$body") == "$token" && ${#token} == 64 ]]
	sandbox
	[[ $token != "$first_token" ]]
	envd process.Process/List '{}' && is 200 .processes '[]'
	token=$first_token
	envd process.Process/List '{}' && is 401
	call process.Process/Start "$(start 'echo no')"
	[[ $code == 401 ]]
	files GET path=/etc/hostname && is 401
	token=
	envd filesystem.Filesystem/Stat '{"path":"/"}' && is 401
	id=$first token=$first_token
	envd filesystem.Filesystem/Stat '{"path":"/"}' && is 200 .entry.type '"FILE_TYPE_DIRECTORY"'
	# A path that envd has not is told to those alone that have a key.
	envd process.Process/Fork '{}' -H "X-API-Key: $key" && is 404
	envd process.Process/Fork '{}' && [[ $code == 40[13] ]]
}

@test "sandboxes are made, listed by their metadata, and ended" {
	serve
	sandbox '"timeout":120,"metadata":{"a":"1 2","b":"é"},"envVars":{"FOO":"bar"}'
	local first=$id
	sandbox '"metadata":{"a":"other"}'
	api GET /v2/sandboxes && is 200 length 2
	api GET '/v2/sandboxes?metadata=a%3D1%25252B2' && is 200 length 0
	api GET '/v2/sandboxes?metadata=a%3D1%2525202%26b%3D%25C3%25A9' && is 200 'map(.sandboxID)' "[\"$first\"]"
	api GET '/v2/sandboxes?state=paused' && is 200 length 0
	api GET '/v2/sandboxes?limit=1' '' -D "$T/head" && is 200 length 1
	local next other=$body
	next=$(tr -d '\r' <"$T/head" | sed -n 's/^x-next-token: //ip')
	api GET "/v2/sandboxes?limit=1&nextToken=$next" '' -D "$T/head" && is 200 length 1
	[[ $body != "$other" ]] && ! grep -qi x-next-token "$T/head"
	api GET "/sandboxes/$first" && is 200 '[.state, .metadata.a, .templateID]' '["running","1 2","base"]'
	is 200 '(.endAt | fromdate) - (.startedAt | fromdate) | . >= 120 and . < 125'
	api POST "/sandboxes/$first/timeout" '{"timeout":1000}' && is 204
	api GET "/sandboxes/$first" && is 200 '(.endAt | fromdate) - (.startedAt | fromdate) >= 1000'
	api GET "/sandboxes/$first/metrics" && is 200 '.[0] | .memTotal > 0 and .cpuCount > 0'
	api DELETE "/sandboxes/$first" && is 204
	api DELETE "/sandboxes/$first" && is 404 .code 404
	api GET "/sandboxes/$first" && is 404
	api GET /v2/sandboxes && is 200 length 1
	api POST "/sandboxes/r0000000000000000/timeout" '{"timeout":1}' && is 404
}

@test "a request for what is the operator's is refused, and not ignored" {
	serve -- --network allow
	local member
	for member in '"network":{"denyOut":["1.1.1.1"]}' '"volumeMounts":[{"name":"a","path":"/a"}]' \
		'"mcp":{"x":{}}' '"allow_internet_access":false' '"timeout":-1' '"timeout":99999999' \
		'"metadata":{"a":1}' '"envVars":{"A":true}'; do
		api POST /v2/sandboxes "{\"templateID\":\"base\",$member}" && is 400 '.message | length > 0'
	done
	api POST /v2/sandboxes '[]' && is 400
	api POST /v2/sandboxes 'no JSON' && is 400
	api POST /v2/sandboxes '{"templateID":"dir:/etc"}' && is 500 && [[ $body == *'may only name images'* ]]
	[[ -z $("$HUTCH" ps -aq) ]]
	sandbox
	api POST "/sandboxes/$id/pause" '{"memory":false}' && is 400
	api POST "/sandboxes/$id/snapshots" '{}' && is 501
	api POST "/sandboxes/$id/fork" '{}' && is 501
	api PUT "/sandboxes/$id/network" '{}' && is 501
}

@test "a command's output comes in messages, and its end last" {
	serve
	sandbox '"envVars":{"FOO":"bar"}'
	call process.Process/Start "$(start 'echo $FOO; exec >&2; echo err; exit 3')"
	[[ $code == 200 && ${lines[0]} == '0 {"event":{"start":{"pid":'*'}}}' ]]
	[[ ${lines[1]} == '0 {"event":{"data":{"stdout":"bar\n"}}}' ]]
	[[ ${lines[2]} == '0 {"event":{"data":{"stderr":"err\n"}}}' ]]
	[[ ${lines[3]} == '0 {"event":{"end":{"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}}}' ]]
	[[ ${lines[4]} == '2 {}' && ${#lines[@]} == 5 ]]
	call process.Process/Start "$(start 'kill -KILL $$')"
	[[ ${lines[1]} == *'{"exitCode":-1,"exited":false,"status":"signal: killed","error":"signal: killed"}'* ]]
	call process.Process/Start '{"process":{"cmd":"pwd","args":[],"cwd":"/tmp","envs":{}}}'
	[[ ${lines[1]} == *'"/tmp\n"'* ]]
	call process.Process/Start '{"process":{"cmd":"tty"},"pty":{"size":{"cols":90,"rows":20}}}'
	[[ ${lines[1]} == *'{"pty":"/dev/pts/'* ]]
	call process.Process/Start "$(start 'head -c 3000000 /dev/zero')"
	[[ $(jq -s '[.[] | objects | .event.data.stdout // "" | length] | add' < <(sed 's/^. //' <<<"$output")) == 3000000 ]]
}

@test "a command that cannot be started is the stream's error" {
	serve
	sandbox
	call process.Process/Start '{"process":{"cmd":"no-such-program"}}'
	[[ $code == 200 && ${lines[0]} == '2 {"error":{"code":"invalid_argument","message":'*'no-such-program'* && ${#lines[@]} == 1 ]]
	call process.Process/Start '{"process":{"cmd":"pwd","cwd":"/nowhere"}}'
	[[ ${lines[0]} == '2 {"error":{"code":"invalid_argument"'*'/nowhere'* ]]
	local wrong
	for wrong in '{}' '[]' 'null' '{"process":{}}' '{"process":{"cmd":1}}' '{"process":{"cmd":"a","args":"b"}}' \
		'{"process":{"cmd":"a","args":[1]}}' '{"process":{"cmd":"a","envs":{"A=B":"c"}}}' \
		'{"process":{"cmd":"a"},"stdin":"yes"}'; do
		call process.Process/Start "$wrong"
		[[ $code == 200 && $output == '2 {"error":{"code":"invalid_argument"'* ]]
	done
	envd process.Process/List '{}' && is 200 .processes '[]'
}

@test "a stream that is no message of JSON is refused" {
	serve
	sandbox
	local whole='{"process":{"cmd":"true"}}'
	local good="\\0\\0\\0\\0\\032$whole"
	local -A wrong=([empty]='' [half]='\0\0\0' [compressed]="\\1${good:2}" [end]="\\2${good:2}"
		[long]="\\0\\0\\0\\0\\033$whole" [short]="\\0\\0\\0\\0\\031$whole" [huge]="\\0\\377\\377\\377\\377$whole"
		[two]="$good$good" [text]='\0\0\0\0\2{x' [bytes]='\0\0\0\0\2\377\376')
	printf '%b' "$good" >"$T/good"
	stream process.Process/Start "$T/good"
	[[ ${lines[0]} == '0 {"event":{"start"'* ]]
	local name
	for name in "${!wrong[@]}"; do
		echo "# $name"
		printf '%b' "${wrong[$name]}" >"$T/wrong"
		stream process.Process/Start "$T/wrong"
		[[ $code == 200 && $output == '2 {"error":{"code":"invalid_argument"'* ]]
	done
	bare POST /process.Process/Start -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" \
		-H 'Content-Type: application/connect+proto' -d "$whole" && is 415
	envd process.Process/List '{"a":' && is 400 .code '"invalid_argument"'
	head -c 5000000 /dev/zero >"$T/large"
	stream process.Process/Start "$T/large" || true
	[[ $code == 413 ]]
	call process.Process/Start "$(start 'echo still here')"
	[[ ${lines[1]} == *'still here'* ]]
}

# begin_cat FLAG: starts `cat` as a stream of its own, which goes to $T/cat, and sets pid to its pid.
begin_cat() {
	"$here/connect.py" send '{"process":{"cmd":"cat"},"stdin":true,"tag":"the cat"}' >"$T/messages"
	mkfifo "$T/cat.pipe"
	curl -sSN -m "$PATIENCE" -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" -o "$T/cat.pipe" \
		-H 'Content-Type: application/connect+json' --data-binary "@$T/messages" "$url/process.Process/Start" 3>&- &
	started+=($!)
	exec 7<"$T/cat.pipe"
	pid=$(dd bs=1 count=5 status=none <&7 | od -An -tu1 | awk '{ print $5 }')
	pid=$(dd bs=1 count="$pid" status=none <&7 | jq .event.start.pid)
}

@test "input goes to a command by its pid or tag, and its stdin can be closed" {
	serve
	sandbox
	begin_cat
	local by_pid="\"process\":{\"pid\":$pid}" one two
	envd process.Process/List '{}' && is 200 '.processes[0] | [.pid, .tag, .config.cmd]' "[$pid,\"the cat\",\"cat\"]"
	one=$(base64 <<<one) two=$(base64 <<<two)
	envd process.Process/SendInput "{$by_pid,\"input\":{\"stdin\":\"$one\"}}" && is 200 . '{}'
	envd process.Process/SendInput "{\"process\":{\"tag\":\"the cat\"},\"input\":{\"stdin\":\"$two\"}}" && is 200
	envd process.Process/SendInput "{$by_pid,\"input\":{\"stdin\":\"no base64!\"}}" && is 400
	envd process.Process/SendInput "{$by_pid}" && is 400
	envd process.Process/SendInput '{"process":{"pid":99999},"input":{"stdin":""}}' && is 404 .code '"not_found"'
	call process.Process/StreamInput "{\"start\":{$by_pid}}" '{"keepalive":{}}' \
		"{\"data\":{\"input\":{\"stdin\":\"$(base64 <<<three)\"}}}"
	[[ $output == $'0 {}\n2 {}' ]]
	call process.Process/StreamInput '{"data":{"input":{"stdin":""}}}'
	[[ $output == '2 {"error":{"code":"invalid_argument"'* ]]
	envd process.Process/Update "{$by_pid,\"pty\":{\"size\":{\"cols\":1,\"rows\":1}}}" && is 400
	envd process.Process/CloseStdin "{$by_pid}" && is 200
	catch "$here/connect.py" show <&7
	[[ $output == *'"one\n'* && $output == *'two\n'* && $output == *'three\n'* && ${lines[-1]} == '2 {}' ]]
	envd process.Process/SendSignal "{$by_pid,\"signal\":\"SIGNAL_SIGKILL\"}" && is 404
}

@test "a client can leave a command, connect to it again, and kill it" {
	serve
	sandbox
	begin_cat
	kill "${started[-1]}" && exec 7<&-
	"$here/connect.py" send "{\"process\":{\"pid\":$pid}}" >"$T/again"
	stream process.Process/Connect "$T/again" --max-time "$PATIENCE" &
	local reader=$!
	# The stream that begins now is the only one that can get the command's end.
	envd process.Process/SendSignal "{\"process\":{\"pid\":$pid},\"signal\":\"SIGNAL_SIGHUP\"}" && is 400
	envd process.Process/SendSignal "{\"process\":{\"pid\":$pid},\"signal\":15}" && is 200
	wait "$reader" || true
	call process.Process/Connect "{\"process\":{\"pid\":$pid}}"
	[[ $output == '2 {"error":{"code":"not_found"'* ]]
}

@test "files keep their bytes in both directions" {
	serve
	sandbox
	head -c 300000 /dev/urandom >"$T/bytes"
	: >"$T/none"
	files POST path=a/b/bytes -H 'Content-Type: application/octet-stream' --data-binary "@$T/bytes"
	is 200 . '[{"name":"bytes","type":"file","path":"/workspace/a/b/bytes"}]'
	files GET path=a/b/bytes && [[ $code == 200 ]] && cmp "$T/bytes" "$raw"
	files POST path=none -H 'Content-Type: application/octet-stream' --data-binary "@$T/none" && is 200
	files GET path=none && [[ $code == 200 && -z $body ]]
	files POST '' -F "file=@$T/bytes;filename=c/1" -F "file=@$T/none;filename=/tmp/2" && is 200 'map(.path)' \
		'["/workspace/c/1","/tmp/2"]'
	files GET path=/workspace/c/1 && cmp "$T/bytes" "$raw"
	files POST path=d -F "file=@$T/bytes;filename=else" && is 200 'map(.path)' '["/workspace/d"]'
	call process.Process/Start "$(start 'ln -s d link; stat -c %s link d')"
	files GET path=link && cmp "$T/bytes" "$raw"
}

@test "a file that is none has an error of its kind" {
	serve
	sandbox
	files GET path=none && is 404 .message "\"path 'none' does not exist\""
	files GET path=/etc && is 400
	files GET '' && is 400
	files GET path= && is 400
	files POST '' -H 'Content-Type: application/octet-stream' -d x && is 400
	files POST path=/tmp -H 'Content-Type: application/octet-stream' -d x && is 400
	files POST path=/proc/version -H 'Content-Type: application/octet-stream' -d x && is 400
	files POST path=a -F "file=one;filename=b" -F "file=two;filename=c" && is 400
	files POST path=a -H 'Content-Encoding: gzip' -d x && is 415
	files POST path=a -H 'Content-Type: multipart/form-data; boundary=x' -d 'no form' && is 422
	files GET path=a && is 404
}

# signed OPERATION PATH [EXPIRATION]: the query of a signed URL.
signed() {
	local digest
	digest=$(printf '%s:%s:%s:%s%s' "$2" "$1" '' "$token" "${3:+:$3}" | openssl dgst -sha256 -binary | base64)
	printf 'path=%s&signature=%s%s' "$2" "$(jq -rn --arg s "v1_${digest%=}" '$s | @uri')" \
		"${3:+&signature_expiration=$3}"
}

@test "a signed URL needs no key, and is for its path, its operation and its time alone" {
	serve
	sandbox
	local other=$token
	sandbox
	files POST path=a -H 'Content-Type: application/octet-stream' -d content && is 200
	bare GET "/files?$(signed read a)" && [[ $code == 200 && $body == content ]]
	bare GET "/files?$(signed read a 99999999999)" && [[ $code == 200 && $body == content ]]
	bare POST "/files?$(signed write b)" -F "file=new;filename=x" && is 200
	files GET path=b && [[ $body == new ]]
	bare GET "/files?$(signed read a 1)" && is 401
	bare GET "/files?$(signed write a)" && is 401
	bare POST "/files?$(signed read a)" -F "file=new;filename=x" && is 401
	bare GET "/files?$(signed read b | sed s/path=b/path=a/)" && is 401
	bare GET "/files?path=a&signature=v1_" && is 401
	bare GET "/files?path=a" && [[ $code == 403 ]]
	token=$other
	bare GET "/files?$(signed read a)" && is 404
}

@test "folders are listed, made, moved and removed as envd does" {
	serve
	sandbox
	envd filesystem.Filesystem/MakeDir '{"path":"a/b"}' && is 200 '[.entry.path, .entry.type, .entry.permissions]' \
		'["/workspace/a/b","FILE_TYPE_DIRECTORY","drwxr-xr-x"]'
	envd filesystem.Filesystem/MakeDir '{"path":"a/b"}' && is 409 .code '"already_exists"'
	files POST path=a/f -H 'Content-Type: application/octet-stream' -d content && is 200
	envd filesystem.Filesystem/MakeDir '{"path":"a/f"}' && is 400 .code '"invalid_argument"'
	envd filesystem.Filesystem/Stat '{"path":"a/f"}' && is 200 '.entry | [.name, .size, .mode, .owner == .group]' \
		'["f","7",420,true]'
	envd filesystem.Filesystem/ListDir '{"path":"a","depth":1}' && is 200 '.entries | map(.path)' \
		'["/workspace/a/b","/workspace/a/f"]'
	envd filesystem.Filesystem/ListDir '{"path":"","depth":2}' && is 200 '.entries | length' 3
	envd filesystem.Filesystem/ListDir '{"path":"none"}' && is 404
	envd filesystem.Filesystem/Move '{"source":"a/f","destination":"x/y/g"}' && is 200 .entry.path '"/workspace/x/y/g"'
	envd filesystem.Filesystem/Move '{"source":"a/f","destination":"z"}' && is 404
	envd filesystem.Filesystem/Remove '{"path":"a"}' && is 200 . '{}'
	envd filesystem.Filesystem/Remove '{"path":"a"}' && is 200
	envd filesystem.Filesystem/Stat '{"path":"a"}' && is 404 .code '"not_found"'
	call process.Process/Start "$(start 'ln -s x link')"
	envd filesystem.Filesystem/Stat '{"path":"link"}' && is 200 '.entry | [.type, .symlinkTarget]' '["FILE_TYPE_SYMLINK","x"]'
}

# next_message: reads a message of the stream at descriptor 7, to message.
next_message() {
	local size
	size=$(dd bs=1 count=5 status=none <&7 | od -An -tu1 | awk '{ print $4 * 256 + $5 }')
	message=$(dd bs=1 count="$size" status=none <&7)
	echo "$message"
}

@test "a folder is watched, by a stream and by a client that asks" {
	serve
	sandbox
	envd filesystem.Filesystem/MakeDir '{"path":"d/sub"}' && is 200
	envd filesystem.Filesystem/CreateWatcher '{"path":"d","recursive":true}' && is 200 '.watcherId | length' 16
	local watcher events=
	watcher=$(jq -r .watcherId <<<"$body")
	"$here/connect.py" send '{"path":"d"}' >"$T/messages"
	mkfifo "$T/watch"
	curl -sSN -m "$PATIENCE" -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" -o "$T/watch" \
		-H 'Content-Type: application/connect+json' --data-binary "@$T/messages" \
		"$url/filesystem.Filesystem/WatchDir" 3>&- &
	started+=($!)
	exec 7<"$T/watch"
	next_message && [[ $message == '{"start":{}}' ]]
	call process.Process/Start "$(start 'cd d; >sub/below; >"a b"; mv "a b" c; rm c')"
	local want
	for want in 'a b CREATE' 'a b RENAME' 'c CREATE' 'c REMOVE'; do
		next_message && [[ $message == "{\"filesystem\":{\"name\":\"${want% *}\",\"type\":\"EVENT_TYPE_${want##* }\"}}" ]]
	done
	# This call is there to be asked again.
	until [[ $events == *'"c","type":"EVENT_TYPE_REMOVE"'* ]]; do
		envd filesystem.Filesystem/GetWatcherEvents "{\"watcherId\":\"$watcher\"}" && is 200 || return 1
		events+=$body
	done
	[[ $events == '{"events":['*'"sub/below","type":"EVENT_TYPE_CREATE"'* ]]
	envd filesystem.Filesystem/RemoveWatcher "{\"watcherId\":\"$watcher\"}" && is 200 . '{}'
	envd filesystem.Filesystem/GetWatcherEvents "{\"watcherId\":\"$watcher\"}" && is 404
	envd filesystem.Filesystem/CreateWatcher '{"path":"none"}' && is 404 .code '"not_found"'
	envd filesystem.Filesystem/CreateWatcher '{"path":"/etc/hostname"}' && is 400
	local one
	for one in {1..16}; do
		envd filesystem.Filesystem/CreateWatcher '{"path":"d"}'
	done
	is 429 .code '"resource_exhausted"'
	envd process.Process/List '{}' && is 200 .processes '[]'
}

@test "a paused sandbox is gone for its clients until they connect to it" {
	serve
	sandbox
	call process.Process/Start "$(start 'echo kept >file')"
	api POST "/sandboxes/$id/resume" '{}' && is 409
	api POST "/sandboxes/$id/pause" '{}' && is 204
	api POST "/sandboxes/$id/pause" '{}' && is 409
	api GET '/v2/sandboxes?state=paused' && is 200 'map(.sandboxID)' "[\"$id\"]"
	api GET /sandboxes && is 200 length 0
	envd process.Process/List '{}' && is 502 .message '"The sandbox was not found"'
	files GET path=file && is 502
	bare GET /health -H "E2b-Sandbox-Id: $id" && is 502
	[[ $("$HUTCH" ps --format '{{.State}}') == paused ]]
	api POST "/v2/sandboxes/$id/connect" '{"timeout":60}' && is 201 .envdAccessToken "\"$token\""
	bare GET /health -H "E2b-Sandbox-Id: $id" && [[ $code == 204 ]]
	files GET path=file && [[ $code == 200 && $body == kept ]]
	api POST "/v2/sandboxes/$id/connect" '{"timeout":60}' && is 200
}

@test "a sandbox whose client asked for it goes on by a request" {
	serve
	sandbox '"autoPause":true,"autoResume":{"enabled":true}'
	api GET "/sandboxes/$id" && is 200 .lifecycle '{"onTimeout":"pause","autoResume":true}'
	api POST "/sandboxes/$id/pause" '{}' && is 204
	call process.Process/Start "$(start 'echo awake')"
	[[ $output == *awake* ]]
}

@test "a sandbox ends at its time, and its streams and calls say so" {
	serve
	sandbox
	begin_cat
	api POST "/sandboxes/$id/timeout" '{"timeout":0}' && is 204
	# The stream ends with the command or with the sandbox, whichever is told first.
	catch "$here/connect.py" show <&7
	[[ $output == *'signal: terminated'*$'\n''2 {}' || $output == '2 {"error":{"code":"unavailable"'* ]]
	envd process.Process/List '{}' && is 502 .message '"The sandbox was not found"'
	api POST "/v2/sandboxes/$id/connect" '{}' && is 404
	[[ $(api GET /v2/sandboxes) == *' []' ]]
}

@test "a server that starts again finds the sandboxes with their settings" {
	serve
	sandbox '"metadata":{"a":"b"},"timeout":1000'
	files POST path=file -H 'Content-Type: application/octet-stream' -d kept && is 200
	stop_server
	serve
	files GET path=file && [[ $code == 200 && $body == kept ]]
	api GET '/v2/sandboxes?metadata=a%3Db' && is 200 'map(.sandboxID)' "[\"$id\"]"
	api GET "/sandboxes/$id" && is 200 '(.endAt | fromdate) - (.startedAt | fromdate) | . >= 1000 and . < 1100'
}

@test "the Host can name the sandbox, where the operator has allowed its domain" {
	serve --host .e2b.example
	sandbox
	local options=(-H "X-Access-Token: $token" -H 'Content-Type: application/json' -d '{}')
	bare POST /process.Process/List -H "Host: 49983-$id.e2b.example" "${options[@]}" && is 200
	bare POST /process.Process/List -H "Host: 49983-r0000000000000000.e2b.example" "${options[@]}" && is 401
	bare POST /process.Process/List -H "Host: 49983-$id.foreign.example" "${options[@]}" && is 403
}

# execute JSON: runs a cell; sets code, and events to the lines of the answer without those that say
# nothing.
execute() {
	bare POST /execute -H "E2b-Sandbox-Id: $id" -H "E2B-Traffic-Access-Token: $token" \
		-H 'Content-Type: application/json' -d "$1"
	events=$(grep -v '"keepalive"' <<<"$body" | jq -c 'del(.timestamp)' 2>/dev/null) || true
}

# interpreter: makes a sandbox with the plugin.
interpreter() {
	api POST /v2/sandboxes '{"templateID":"code-interpreter-v1"}' && is 201
	id=$(jq -r .sandboxID <<<"$body") token=$(jq -r .envdAccessToken <<<"$body")
}

@test "a cell's events are lines of JSON" {
	serve
	interpreter
	execute '{"code":"print(1)\nx = 41; x + 1","context_id":null,"language":null,"env_vars":null}'
	[[ $code == 200 && $events == '{"type":"number_of_executions","execution_count":1}
{"type":"stdout","text":"1\n"}
{"type":"result","is_main_result":true,"text":"42"}
{"type":"end_of_execution"}' ]]
	execute '{"code":"import os; os.environ[\"A\"] + str(x)","env_vars":{"A":"it'\''s \""}}'
	[[ $(sed -n 2p <<<"$events" | jq -r .text) == *"it\\'s \"41"* ]]
	execute '{"code":"1/0"}'
	[[ $(sed -n 2p <<<"$events" | jq -c '[.type, .name, .value]') == '["error","ZeroDivisionError","division by zero"]' ]]
	execute '{"code":"from IPython.display import Image; Image(data=b\"\\x89PNG\\r\\n\\x1a\\n\")"}'
	[[ $(sed -n 2p <<<"$events" | jq -r .png) == iVBORw0KGgo= ]]
	execute '{"code":"1","language":"r"}' && is 501
	execute '{"code":"1","context_id":"other"}' && is 404
	execute 'no JSON' && is 400
	bare POST /contexts/default/restart -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" && is 200
	execute '{"code":"x"}'
	[[ $events == *NameError* ]]
	bare GET /contexts -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" && is 200 '.[0].id' '"default"'
}

@test "a client that goes away takes its cell with it" {
	serve
	interpreter
	curl -sSN -o "$T/endless" -H "E2b-Sandbox-Id: $id" -H "X-Access-Token: $token" -H 'Content-Type: application/json' \
		-d '{"code":"while True: pass"}' "$url/execute" 3>&- &
	local client=$!
	started+=("$client")
	until [[ -s $T/endless ]]; do kill -0 "$client" || return 1; done
	kill "$client"
	# The kernel has one cell at a time.
	execute '{"code":"40 + 2"}'
	[[ $events == *'"text":"42"'* ]]
}
