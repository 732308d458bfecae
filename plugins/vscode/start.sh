#!/bin/sh
# start.sh: the program of the plugin vscode (docs/plugins.md): serves VS Code to a browser.
#
# The editor is openvscode-server, which knows tokens itself, or code-server behind gate.js, which
# checks the token for it: that of `hutch plugin install vscode`, or one on the PATH.
set -u
installed=${HUTCH_PLUGIN_VENV:-/nonexistent}/bin
port=8010

fail() {
	echo "{\"failed\":\"$1\"}"
	exit 1
}

# Says that the plugin is ready when the editor says that it listens, and keeps its words for the
# error that tells of its end.
follow() {
	while read -r line; do
		echo "$line" >&2
		case $line in
		*"Web UI available at"* | *"listening on"*) [ -n "${is_ready:-}" ] || echo '{"ready":true}' && is_ready=yes ;;
		esac
	done
	exit 1
}

find_program() {
	for program in "$installed/$1" "$(command -v "$1")"; do
		[ ! -x "$program" ] || return 0
	done
	return 1
}

state=$(mktemp -d "${TMPDIR:-/tmp}/vscode.XXXXXX") || fail "no folder for its state could be made"
cd /workspace 2>/dev/null || cd / || exit
if find_program openvscode-server; then
	(umask 077 && printf %s "$HUTCH_PLUGIN_TOKEN" >"$state/token")
	unset HUTCH_PLUGIN_TOKEN
	"$program" --host 127.0.0.1 --port "$port" --connection-token-file "$state/token" --disable-workspace-trust \
		--telemetry-level off --server-data-dir "$state" </dev/null 2>&1 | follow
elif find_program code-server; then
	server=$program
	find_program node || fail "code-server needs node, which is not on the PATH"
	"$program" "$HUTCH_PLUGIN_DIR/gate.js" "$port" "$state/socket" "$server" --auth none --disable-telemetry \
		--disable-update-check --disable-workspace-trust --disable-getting-started-override \
		--config "$state/config.yaml" --user-data-dir "$state/data" --extensions-dir "$state/extensions" \
		--socket "$state/socket" --socket-mode 600 </dev/null 2>&1 | follow
else
	fail "neither openvscode-server nor code-server is in the sandbox: hutch plugin install vscode"
fi
