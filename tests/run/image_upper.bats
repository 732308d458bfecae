#!/usr/bin/env bats
# Tests of --upper DIR, which keeps the files that a sandbox writes over an image.

load helpers

setup() {
	begin
	image img
	room up
	needs_attributes
}

teardown() {
	end
}

# needs_attributes: skips the test if this file system has no user.* attributes.
needs_attributes() {
	setfattr -n user.probe up 2>/dev/null || python3 -c 'import os; os.setxattr("up", "user.probe", b"1")' ||
		skip "$T has no user.* attributes"
}

written() {
	find up/upper -mindepth 1 -printf '%P %y\n' | sort
}

@test "--upper: what the command wrote is in the folder, and nothing of hutch's own" {
	imaged img --upper up sh -c 'mkdir /new /data/sub; echo x >/data/sub/file; rm /data/other
		cat /etc/hosts /etc/resolv.conf /etc/hostname >/dev/null; ls /workspace /tmp /run'
	written
	[ "$(written)" = "data d
data/other c
data/sub d
data/sub/file f
new d
usr d" ] || [ "$(written)" = "data d
data/other c
data/sub d
data/sub/file f
new d" ]
	[ -e img/data/other ]
	rm -r up/work
}

@test "--upper: the next launch goes on from there" {
	imaged img --upper "$T/up" sh -c 'echo one >/data/file; rm /data/other'
	imaged img --upper "$T/up" sh -c 'echo two >>/data/file; rm -r /data'
	inside --image "dir:$T/img" -v /usr:/usr:ro --upper "$T/up" sh -c 'mkdir /data && ls -A /data | wc -l'
	[ "$output" = 0 ]
	[ "$(cat img/data/file)" = "of the image" ]
	[ "$(stat -c %F up/upper/data)" = directory ]
}

@test "--upper: it is kept after any end, and no other folder is made" {
	start --image "dir:$T/img" -v /usr:/usr:ro --upper "$T/up" sh -c 'echo x >/data/new; echo there; sleep 1000'
	said there
	kill -KILL "$pid"
	wait "$pid" || true
	exec 7<&-
	[ -d up/upper/data ]
	until_true imaged img --upper "$T/up" test -e /data/new
	[ -z "$(find "$T" -name '.upper-*')" ]
}

@test "--upper: one sandbox at a time" {
	start --image "dir:$T/img" -v /usr:/usr:ro --upper "$T/up" sh -c 'echo there; sleep 1000'
	said there
	refuses '--upper .*: another sandbox writes to it' --image "dir:$T/img" --upper "$T/up" true
	kill "$pid"
	ended 143
	imaged img --upper "$T/up" true
}

@test "--upper: what cannot be is an error" {
	refuses '--upper .*: No such file' --image "dir:$T/img" --upper "$T/none" true
	refuses '--upper keeps what is written over an image, and' --upper up true
	refuses '--upper keeps what is written, and --read-only' --image "dir:$T/img" --read-only --upper up true
	refuses '--upper names no folder' --image "dir:$T/img" --upper '' true
	refuses '--disk cannot bound' --image "dir:$T/img" --disk 10m --upper up true
	mkdir odd odd/work
	ln -s /etc odd/upper
	give odd
	refuses '--upper .*: upper in it is no folder' --image "dir:$T/img" --upper odd true
	touch file
	refuses '--upper .*: open it: Not a directory' --image "dir:$T/img" --upper file true
	if ! is_root; then
		refuses '--upper /: ' --image "dir:$T/img" --upper / true
	fi
}

@test "--upper: a sandbox with a name keeps it too" {
	hutch create --image "dir:$T/img" -v /usr:/usr:ro --upper up "$(basename "$T")"
	[ "$status" -eq 0 ]
	hutch exec "$(basename "$T")" -- sh -c 'echo x >/data/new'
	hutch rm -f "$(basename "$T")"
	rm -r up/work
	[ "$(cat up/upper/data/new)" = x ]
}
