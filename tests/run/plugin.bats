#!/usr/bin/env bats
# Tests of hutch plugin (docs/hutch-plugin.md).

load helpers

teardown() {
	remove_boxes
	end
}

P=${BATS_TEST_DIRNAME%/*}/plugins

@test "ls tells which plugins there are, and what they answer" {
	hutch plugin ls
	[[ ${lines[0]} =~ ^NAME\ +VERSION\ +INSTALLED\ +ACTIONS$ ]]
	grep -qE '^jupyter +[0-9.]+ +no +run_ipython$' <<<"$output"
	hutch plugin ls --json
	jq -e '.[] | select(.name == "jupyter") | .actions == ["run_ipython"] and .needs_install and (.installed | not)' \
		<<<"$output"
}

@test "check reads a folder's plugin.json, and names the first fault" {
	hutch plugin check "$P/wild"
	[ "$output" = "wild 1.0: ok" ]
	mkdir bad && cd bad
	one 'plugin.json: No such file or directory'
	faulty '{"name": "bad"' 'plugin.json: line 1, column 15: '
	faulty '{"name": "good", "version": "1"}' "plugin.json.name: it is 'good', and the folder's name is 'bad'"
	faulty '{"name": "bad", "version": "1", "start": "now"}' 'plugin.json.start: lazy or launch was expected'
	faulty '{"name": "bad", "version": "1", "command": ["${plugin}/run"]}' 'bad: command\[0\]: run .*/bad/run: No such file'
	faulty '{"name": "bad", "version": "1", "command": ["${plugin}/."]}' 'bad: command\[0\]: run .*: it is no file'
	faulty '{"name": "bad", "version": "1", "install": {"program": "i.sh"}}' 'bad: install.program: run .*/bad/i.sh: No such file'
	faulty '{"name": "bad", "version": "1", "path": "bin"}' 'bad: path: find .*/bad/bin: No such file'
	faulty '{"name": "bad", "version": "1", "python_path": "lib"}' 'bad: python_path: find .*/bad/lib: No such file'
	hutch plugin check "$T/none"
	((status == 125))
	mkdir Name && echo '{}' >Name/plugin.json
	hutch plugin check Name
	((status == 125))
}

# faulty JSON PATTERN: checks that plugin.json with this text is refused for that reason.
faulty() {
	printf '%s' "$1" >plugin.json
	one "$2"
}

one() {
	hutch plugin check .
	((status == 125)) && [ -z "$output" ] && one_sentence ".*$1"
}

@test "each plugin that hutch ships is one" {
	for folder in "$BUILD"/libexec/plugins/*/; do
		hutch plugin check "$folder"
		((status == 0))
	done
}

# shipped NAME: lets hutch ship the folder NAME, with copies of its programs.
shipped() {
	cp -r "$BUILD/hutch" "$BUILD/libexec" "$T" && cp -r "$T/$1" "$T/libexec/plugins"
	chmod -R a+rX "$T/libexec" "$T/hutch"
	HUTCH=$T/hutch
}

# needy PROGRAM: makes the plugin `needy`, whose installation runs this program of a shell.
needy() {
	mkdir needy
	printf '#!/bin/sh\n%s\n' "$1" >needy/install.sh
	chmod 755 needy/install.sh
	echo '{"name": "needy", "version": "1", "command": ["sh", "-c", "echo {\\\"ready\\\":true}; read line"],
		"actions": {"needy": {}}, "install": {"program": "install.sh", "allow": ["example.org"]}}' >needy/plugin.json
	shipped needy
}

@test "install runs the plugin's program in a sandbox, and sandboxes see the result read-only" {
	is_root && skip "root's sandboxes see no installation"
	needy 'id -un >who; pwd >>who; echo "$HUTCH_PLUGIN_VENV" >>who; ls /run/hutch/plugins/needy >>who
		touch /run/hutch/plugins/needy/x 2>>who || true'
	hutch plugin install needy
	((status == 0))
	[ "$(cat "$HOME/.local/share/hutch/plugins/needy/venv/who")" = "agent
/run/hutch/plugins/needy.venv
/run/hutch/plugins/needy.venv
install.sh
plugin.json
touch: cannot touch '/run/hutch/plugins/needy/x': Read-only file system" ]
	hutch plugin ls
	grep -qE '^needy +1 +yes +needy$' <<<"$output"
	echo '{"action":"run","args":{"command":"cat /run/hutch/plugins/needy.venv/who | head -1; touch /run/hutch/plugins/needy.venv/x"}}' |
		"$HUTCH" act --plugin needy >said
	grep -q 'agent.*Read-only file system' said
}

@test "an installation takes the place of the one before, which sandboxes that live keep" {
	is_root && skip "root's sandboxes see no installation"
	needy 'echo first >which'
	hutch plugin install needy
	hutch create --plugin needy box
	sed -i 's/first/second/' libexec/plugins/needy/install.sh
	hutch plugin install needy
	((status == 0))
	[ "$("$HUTCH" exec box cat /run/hutch/plugins/needy.venv/which)" = first ]
	[ "$(cat "$HOME/.local/share/hutch/plugins/needy/venv/which")" = second ]
	hutch plugin install needy
	((status == 0))
	[ "$(cat "$HOME/.local/share/hutch/plugins/needy/before/which")" = second ]
	nothing_left $'before\nvenv'
}

# nothing_left: checks that no folder of an installation is left.
nothing_left() {
	[ "$(ls -A "$HOME/.local/share")" = hutch ] && [ "$(ls "$HOME/.local/share/hutch/plugins/needy")" = "${1-venv}" ]
}

@test "an installation that fails leaves nothing and changes nothing" {
	is_root && skip "root's sandboxes see no installation"
	needy 'echo half >half; echo "it is broken" >&2; exit 3'
	hutch plugin install needy
	((status == 125))
	[[ $stderr == *"it is broken"*"the plugin 'needy' was not installed: its program has ended with exit code 3"* ]]
	nothing_left ''
	never env --ignore-signal=CHLD "$HUTCH" plugin install needy
	nothing_left ''
}

# begun PROGRAM: begins an installation, whose program runs this after it has said so, and leaves the
# end of its stderr at descriptor 5.
begun() {
	needy "echo half >half; echo begun >&2; $1"
	mkfifo begun libexec/plugins/needy/go
	"$HUTCH" plugin install needy 2>begun 5<&- &
	started+=($!)
	exec 5<begun
	read -r line <&5
	[ "$line" = begun ]
}

@test "an installation that is ended leaves nothing, and one that is killed no sandbox" {
	is_root && skip "root's sandboxes see no installation"
	begun 'exec sleep 1000'
	kill -TERM "${started[0]}"
	never wait "${started[0]}"
	grep -q "'needy' was not installed: its program has ended with exit code 143" <&5
	nothing_left ''
	"$HUTCH" plugin install needy 2>begun &
	started+=($!)
	exec 5<begun
	read -r line <&5
	kill -KILL "${started[1]}"
	# All processes of the sandbox's have ended when none holds its stderr.
	timeout "$PATIENCE" cat <&5
	printf '#!/bin/sh\necho whole >whole\n' >libexec/plugins/needy/install.sh
	hutch plugin install needy
	((status == 0)) && [ "$(ls "$HOME/.local/share/hutch/plugins/needy/venv")" = whole ]
	nothing_left
}

@test "a second installation at the same time is refused, and the first one goes on" {
	is_root && skip "root's sandboxes see no installation"
	begun 'read -r go <"${0%/*}/go"; cat half >whole'
	hutch plugin install needy
	((status == 125)) && [[ $stderr == *"'needy' is being installed by another process"* ]]
	echo go >libexec/plugins/needy/go
	wait "${started[0]}"
	[ "$(cat "$HOME/.local/share/hutch/plugins/needy/venv/whole")" = half ]
	nothing_left
}

@test "the program of an installation reaches the hosts that it names, and no other" {
	is_root && skip "root's sandboxes see no installation"
	needy 'curl -s http://example.org; exec curl -s http://example.com'
	hutch plugin install needy
	((status == 125))
	[[ $stderr == *"a connection to example.com was refused (network: no rule allows this host)"* ]]
	[[ $stderr != *"example.org was refused (network: no rule"* ]]
}

@test "wrong words are errors that help" {
	hutch plugin
	((status == 125))
	hutch plugin install
	((status == 125)) && one_sentence '.*NAME is missing'
	hutch plugin install jupiter
	((status == 125)) && one_sentence "there is no plugin 'jupiter'; is it jupyter?"
	hutch plugin install ../plugins/jupyter
	((status == 125)) && one_sentence "there is no plugin '../plugins/jupyter'"
	[[ ${stderr_lines[1]} == *'no others can be installed'* ]]
	HOME=/nonexistent hutch plugin install jupyter
	((status == 125)) && one_sentence "there is no folder to install to: neither HOME nor XDG_DATA_HOME names one of user [0-9]*'s"
	is_root || { hutch plugin install --allow 'a rule' jupyter &&
		[[ $status == 125 && $stderr == *"'a rule' is no name"*"the plugin 'jupyter' was not installed" ]]; }
	hutch plugin install file-viewer
	((status == 125)) && one_sentence "there is no plugin 'file-viewer'"
	hutch plugin url nobox jupyter
	((status == 125)) && one_sentence "no sandbox named 'nobox' exists"
	hutch create box
	hutch plugin url box jupyter
	((status == 125)) && one_sentence "the sandbox has no plugin 'jupyter'"
}

@test "url prints the address of a published port with its token" {
	mkdir web
	cat >web/plugin.json <<-'JSON'
		{"name": "web", "version": "1", "port": {"inside": 8123}, "url": "/?t=${token}", "start": "launch",
		 "command": ["python3", "-SE", "${plugin}/web.py"]}
	JSON
	cat >web/web.py <<-'PYTHON'
		import http.server, os
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        is_ours = self.path == "/?t=" + os.environ["HUTCH_PLUGIN_TOKEN"]
		        self.send_response(200 if is_ours else 403)
		        self.end_headers()
		server = http.server.HTTPServer(("127.0.0.1", 8123), Handler)
		os.write(1, b'{"ready":true}\n')
		server.serve_forever()
	PYTHON
	chmod -R a+rX web
	hutch create --plugin ./web box
	((status == 0))
	hutch plugin url box web
	[[ $output =~ ^http://127\.0\.0\.1:[0-9]+/\?t=[0-9a-f]{32}$ ]]
	curl -fsS --retry 9 --retry-all-errors "$output"
	never curl -fsS "${output%?t=*}"
}

@test "url tells why a plugin has failed, and prints no address then" {
	mkdir web
	cat >web/plugin.json <<-'JSON'
		{"name": "web", "version": "1", "port": {"inside": 8123}, "command": ["bash", "${plugin}/web.sh"],
		 "actions": {"web": {}}}
	JSON
	cat >web/web.sh <<-'BASH'
		echo '{"failed":"no server \u001b[2J is here"}'
		cat
	BASH
	chmod -R a+rX web
	hutch create --plugin ./web box
	"$HUTCH" act box <<<'{"action":"web"}' >said
	grep -qF 'HUTCH$PLUGIN' said
	hutch plugin url box web
	((status == 125)) && [ -z "$output" ]
	one_sentence "the plugin 'web': no server .*is here"
	never grep -qF $'\e' <<<"$stderr"
}
