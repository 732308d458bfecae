#!/usr/bin/env bats
# Tests of hutch mcp, a server of the Model Context Protocol (docs/hutch-mcp.md).

load helpers
load busybox

teardown() {
	remove_boxes
	end
}

# serves CASE [OPTION...]: runs the case of mcp.py with a running hutch mcp.
serves() {
	"$here/mcp.py" "$HUTCH" "$@"
}

# --- the protocol -------------------------------------------------------------------------

@test "initialize agrees on the revision of an older client, or on the newest of the old ones" {
	serves legacy_revisions
}

@test "a modern client needs no handshake, and every result says what it is" {
	serves modern_discovery
}

@test "a modern request that lacks what it has to say gets the codes of the protocol" {
	serves modern_codes
}

@test "a line that is no message gets an error, and the next one is read" {
	serves bad_lines
}

@test "an array of messages is of 2025-03-26 alone, and gets an array of answers" {
	serves batches
}

@test "the list of tools is the same in both eras, with schemas and hints" {
	serves tool_list
}

@test "wrong options are an error before anything is read" {
	hutch mcp --tools exec,greb </dev/null
	[[ $status == 125 && $stderr == *"there is no tool 'greb'"*"is it grep?"* && -z $output ]]
	hutch mcp --tools= </dev/null
	[[ $status == 125 && $stderr == *"--tools needs a value"* ]]
	hutch mcp --sandbox a/b </dev/null
	[[ $status == 125 && $stderr == *"--sandbox: 'a/b' is no name"* ]]
	hutch mcp --nosuch </dev/null
	[[ $status == 125 && $stderr == *--nosuch* && -z $output ]]
	hutch mcp -- server </dev/null
	[[ $status == 125 && $stderr == *"hutch run --mcp -- server"* ]]
	hutch mcp --main </dev/null
	[[ $status == 125 && $stderr == *"--main is no flag of hutch mcp"* ]]
	hutch mcp --memory 5 </dev/null
	[[ $status == 125 && $stderr == *--memory* ]]
	[ -z "$("$HUTCH" ps -aq)" ]
}

@test "a subscription is acknowledged, and answered when the input ends" {
	serves subscription
}

# --- commands ------------------------------------------------------------------------------

@test "exec gives output, exit code and errors of the command" {
	serves exec_results
}

@test "a wrong argument is a result that says why" {
	serves wrong_arguments
}

@test "long output keeps its beginning and its end, and bytes that are no text come as such" {
	serves long_output
}

@test "a background command goes on, and its output and end can be had" {
	serves background
}

@test "progress is told to a client that asks for it, with the last line" {
	serves progress
}

@test "a cancelled call gets no answer, and its command ends" {
	serves cancellation
}

@test "64 calls can be under way, and one id belongs to one call" {
	serves many_calls
}

# --- files -----------------------------------------------------------------------------------

@test "files are written, read, edited, listed and found" {
	serves files
}

@test "an image is read as an image, another binary file as a resource" {
	serves images
}

@test "run_code runs Python whose variables last" {
	serves cells --plugin jupyter
}

@test "the pictures of a cell are images" {
	mkdir pictures
	cat >pictures/plugin.json <<-'JSON'
		{"name": "pictures", "version": "1.0", "command": ["bash", "${plugin}/draw.sh"],
		 "actions": {"run_ipython": {"args": {"code": "text"}, "observation": "run_ipython",
		  "answer": {"content": "text", "code": "text", "image_urls": ["png"]}}}}
	JSON
	png=$(sed -n 's/^PNG = "\(.*\)"/\1/p' "$here/mcp.py")
	echo 'echo "{\"ready\":true}"; while read -r line; do
		[[ $line =~ \"call\":([0-9]+) ]] && echo "{\"call\":${BASH_REMATCH[1]},\"answer\":{\"content\":\"drawn\",
			\"code\":\"draw\",\"image_urls\":[\"'"$png"'\"]}}" | tr -d "\n\t"; echo
	done' >pictures/draw.sh
	chmod -R a+rX pictures
	serves pictures --tools run_code --plugin ./pictures
}

# --- sandboxes ---------------------------------------------------------------------------------

@test "sandboxes outlive the server, and no other server reaches them" {
	room one two
	serves outlive
}

@test "a server has 32 sandboxes at most" {
	serves many_sandboxes
}

@test "servers that begin at once have one default sandbox" {
	serves at_once
}

@test "--sandbox names the default sandbox, which may be there already" {
	"$HUTCH" create box >out
	"$HUTCH" exec box sh -c 'echo here >/tmp/a'
	serves given_name --sandbox box
}

@test "a sandbox that cannot be made is a result that says why" {
	serves cannot_make --workspace /none
	[ -z "$("$HUTCH" ps -q)" ]
}

@test "a snapshot keeps files, and forks begin with them; other images are out of reach" {
	needs_static
	own_store
	busybox_image
	serves forks --image bb:1
}

# --- questions to the user ------------------------------------------------------------------------

@test "a host is allowed when the user has said so, and by nothing else" {
	serves allow_legacy --network allow
}

@test "a modern client answers the question in its next call, once" {
	serves allow_modern --network allow
}

@test "a client that cannot ask its user is refused, and told so" {
	serves cannot_ask --network allow
	serves no_rules --tools allow_host,exec
}

@test "waiting changes are shown, and made on the host when the user has said so" {
	room project
	echo one >project/a.txt
	give project
	serves changes --workspace project:cow
}

@test "the default sandbox has another name while changes of an ended one wait" {
	room project
	serves waiting_changes --workspace project:cow
}

# --- its end -------------------------------------------------------------------------------------

@test "calls under way are finished when the input ends, and a question counts as refused" {
	serves finishes --network allow
	# The input may be a regular file.
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' >in
	[ "$("$HUTCH" mcp <in)" = '{"jsonrpc":"2.0","id":1,"result":{}}' ]
	"$HUTCH" mcp <in >out && [ "$(wc -l <out)" = 1 ]
}

@test "without a reader of its output the server ends, and so does its command" {
	serves no_reader
	serves no_peer
}

# --- other people's servers -----------------------------------------------------------------------

@test "hutch run --mcp passes messages on, and ends with the client's input" {
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' >in
	hutch run --mcp -- sh -c 'echo log >&2; while read -r line; do echo "got $line"; done' <in
	[[ $status == 0 && $output == 'got {"jsonrpc":"2.0","id":1,"method":"ping"}' && $stderr == log ]]
	# Without the flag a server has no input.
	hutch run -- cat <in
	[[ $status == 0 && -z $output ]]
}

@test "hutch run --mcp tells of a refused host while the server goes on" {
	serves refused
}
