#!/usr/bin/env bats
# Tests of the files and MCP servers of the action server that hutch serve is for OpenHands' clients;
# its client itself is run by tests/clients/agents.

load helpers

setup() {
	begin
	url='' key='' server='' id='' box_key=''
	serve
	begun
}

teardown() {
	local pid
	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	remove_boxes
	end
}

# serve: starts a server as $server, and waits until it listens at $url.
serve() {
	mkfifo "$T/said"
	env --default-signal "$HUTCH" serve --listen 127.0.0.1:0 >"$T/said" 2>"$T/err" 3>&- </dev/null &
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

# begun: starts a runtime that is an action server; sets id and box_key.
begun() {
	local actions='["python","-m","openhands.runtime.action_execution_server","60000","--working-dir","/tmp","--no-enable-browser"]'
	curl -sS -m "$PATIENCE" -H "X-API-Key: $key" "$url/start" -o "$T/begun" \
		-d "{\"session_id\":\"first\",\"image\":\"\",\"command\":$actions}"
	id=$(jq -r .runtime_id "$T/begun") box_key=$(jq -r .session_api_key "$T/begun")
}

files() {
	"$here/serve_files.py" "$1" "${url#http://}" "$box_key" "$id"
}

mcp() {
	"$here/serve_mcp.py" "$1" "${url#http://}" "$box_key" "$id" "${@:2}"
}

@test "files and folders are uploaded, with their bits for execution" {
	files uploads
}

@test "no upload leads out of its folder, and a refused one leaves nothing behind" {
	files hostile_uploads
}

@test "a download has the files of a folder, and the contents of links to files" {
	files downloads
}

@test "MCP servers run inside, a set for each stream, and several are one" {
	mcp session
}

@test "a wrong request about MCP has the reference's answer" {
	mcp wrong
}

@test "a hostile MCP server harms no other, and forges no event" {
	mcp hostile
}

@test "an MCP server whose line has no end is killed" {
	mcp endless
}

@test "a client that reads nothing from an MCP server that never stops takes bounded memory" {
	mcp flood "$(pgrep -P "$server")"
}

@test "an MCP server ends with its stream, one that does not want to by SIGKILL" {
	pid=$(mcp leaves)
	# tail ends when that process has.
	timeout "$PATIENCE" "$HUTCH" exec "$id" tail --pid "$pid" -f /dev/null
}
