#!/bin/bash
# sandbox_runtime.sh: Anthropic's sandbox-runtime, which Claude Code has in it, with hutch-bwrap.  NODE is
# a Node of version 22 or newer, MODULES a folder in which npm has installed the package, and HUTCH
# hutch.  Prints TAP lines without numbers.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
. "$top/tests/patience.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
mkdir shown hidden
touch hidden/secret
srt=$MODULES/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js

# run PROGRAM COMMAND: runs a command of a shell, with PROGRAM as the bwrap.
run() {
	jq -n --arg bwrap "$1" --arg work "$work" '{bwrapPath: $bwrap,
		network: {allowedDomains: [], deniedDomains: []},
		filesystem: {denyRead: [$work + "/hidden"], allowWrite: [$work + "/shown"], denyWrite: []}}' >settings.json
	(cd shown && timeout "$PATIENCE" "$NODE" "$srt" --settings ../settings.json -c "$2" 2>&1)
}

# The same words by both: what is written, read, seen of processes, reached, and made of sockets.
# The shell counts the processes before it makes others: `ls` may begin before or after `wc`.
commands='echo a >file && cat file; touch ../made; ls ../hidden; id -u; set -- /proc/[0-9]*; echo $#
grep -E "^(Cap|NoNew|Seccomp:)" /proc/self/status; exit 7'
ours=$(run "${HUTCH%/*}/libexec/hutch-bwrap" "$commands")
code=$?
theirs=$(run "$(command -v bwrap)" "$commands")
if [[ $code == 7 && $ours == a$'\n'* && -n $theirs && $ours == "$theirs" ]]; then
	echo "ok - sandbox-runtime's command sees by hutch-bwrap what it sees by bwrap"
else
	diff <(echo "$theirs") <(echo "$ours") | sed 's/^/# /'
	echo "not ok - sandbox-runtime's command sees by hutch-bwrap what it sees by bwrap ($code)"
fi

# Within a sandbox that has --nesting.  No fresh /proc can be mounted there, so sandbox-runtime needs the
# setting for containers that binds the one there is.
jq -n '{enableWeakerNestedSandbox: true, network: {allowedDomains: [], deniedDomains: []},
	filesystem: {denyRead: [], allowWrite: ["/workspace"], denyWrite: []}}' >shown/settings.json
# shellcheck disable=SC2016 # of the shell inside
within=$(timeout "$PATIENCE" "$HUTCH" run --nesting --workspace shown:rw \
	-v "$(realpath "$NODE"):/tmp/node:ro" -v "$MODULES:/modules:ro" -- \
	/tmp/node /modules/node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js --settings settings.json -c \
	'echo a >file && cat file; touch /usr/made 2>/dev/null || echo refused; awk "/^Seccomp_filters/ && \$2 > 1 { print \"filtered\" }" /proc/self/status
	python3 -c "import socket; socket.socket(socket.AF_UNIX)" 2>/dev/null || echo no socket; exit 7' 2>&1)
code=$?
if [[ $code == 7 && $within == $'a\nrefused\nfiltered\nno socket' ]]; then
	echo "ok - sandbox-runtime confines a command within a sandbox that has --nesting"
else
	sed 's/^/# /' <<<"$within"
	echo "not ok - sandbox-runtime confines a command within a sandbox that has --nesting ($code)"
fi
