#!/usr/bin/env bash
# inside.sh -- the part of the demo that runs in the sandbox.  Prints lines "KEY VERDICT TEXT" with
# tabs between; a VERDICT other than ok means that something is visible that should be hidden.
set -uo pipefail

see() {
	printf '%s\t%s\t%s\n' "$@"
}

# ok_if COMMAND...: prints the verdict "ok" if the command succeeds.
ok_if() {
	if "$@"; then echo ok; else echo BAD; fi
}

# hidden KEY PATH: the path must not exist, or must not be readable.
hidden() {
	local said
	if said=$(ls -A -- "$2" 2>&1); then
		see "$1" BAD "$(wc -l <<<"$said") entries"
	else
		see "$1" ok "${said##*: }"
	fi
}

# If the sandbox's own home has the same path (/home/agent, /root), the path must be that home.
own_or_hidden() {
	if [[ $2 == "$HOME" ]]; then
		see "$1" "$(ok_if test -z "$(ls -A "$2")")" 'its own, empty'
	else
		hidden "$1" "$2"
	fi
}

processes() {
	local all=(/proc/[0-9]*)
	see processes "$(ok_if test ${#all[@]} -lt 10)" "${#all[@]}"
	hidden init /proc/1
}

network() {
	local devices said
	devices=$(tail -n +3 /proc/net/dev | cut -d: -f1 | xargs)
	see network "$(ok_if test "$devices" = lo)" "$devices"
	said=$({ : >/dev/tcp/192.0.2.1/80; } 2>&1) && see connect BAD connected && return
	said=${said##*: }
	see connect ok "$said"
}

programs() {
	local all=(/usr/bin/*) said
	see usr ok "${#all[@]} programs"
	said=$(touch /usr/demo 2>&1) && see write BAD 'it worked' && return
	see write ok "${said##*: }"
}

rights() {
	local caps
	caps=$(sed -n 's/^CapBnd:\t//p' /proc/self/status)
	see user "$(ok_if test "$((16#$caps))" -eq 0)" "$(id -un), no capabilities"
}

own_or_hidden home "$DEMO_HOME"
hidden secret "$DEMO_SECRET"
hidden tree "$DEMO_TREE"
processes
network
see environment ok "$(env | grep -vc '^DEMO_\|^_=\|^SHLVL=\|^PWD=\|^OLDPWD=') variables"
rights
programs
see kernel ok "$(uname -r)"
# The process outlives this script, but must not outlive the sandbox.
setsid sleep "$DEMO_TAG" &
