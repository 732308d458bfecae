#!/usr/bin/env bats
# Tests of images on a host that has neither overlayfs nor fuse-overlayfs: the root of the sandbox
# is a copy of the image.

load helpers
load no_overlay

setup() {
	begin
	needs_filter
	without overlay only
}

teardown() {
	remove_boxes
	end
}

note='hutch: note: the root is a copy of the image, since there is no overlayfs here'

@test "a folder is copied, and what is written is in the copy alone, which goes" {
	base img
	before=$(find img -printf '%p %y %m %s %T@ %n\n' | sort)
	for mode in overlay oldoverlay; do
		without $mode only
		inside --image dir:img --json=3 sh -c 'cat /data/file /etc/hosts; echo x >/data/twin
			cat /data/file; rm -r /data/sub; mkdir /new /workspace/new; id -u' 3>json
		[ "$status" -eq 0 ]
		[ "$output" = "of the image
127.0.0.1	localhost hutch
::1	localhost ip6-localhost ip6-loopback hutch
x
0" ]
		grep -q '"degraded":\["image"\]' json
		[ -z "$(left)" ]
		[ $mode = oldoverlay ] || says_so 'No such device'
	done
	says_so 'Operation not permitted'
	[ "$before" = "$(find img -printf '%p %y %m %s %T@ %n\n' | sort)" ]
}

@test "the layers of an image are merged: what they delete is not there" {
	base one
	mkdir -p two/data two/etc
	echo new >two/data/new
	setfattr -n user.overlay.opaque -v y two/data 2>/dev/null || skip "$T has no user.* attributes"
	printf 'web:x:101:102::/srv:/bin/sh\n' >two/etc/passwd
	mknod two/etc/gone c 0 0 2>/dev/null || skip "no whiteout can be made here"
	echo x >one/etc/gone
	give one two
	"$here/store.py" img one two >/dev/null
	give home
	inside --image img -u web sh -c 'ls -A /data; id -u; test -e /etc/gone || echo gone; cat /etc/hostname
		echo x >/data/new && cat /data/new'
	[ "$output" = "new
101
gone
hutch
x" ]
	says_so 'No such device'
	inside --image img --read-only sh -c 'echo x >/data/new'
	[ "$status" -eq 1 ]
	[[ $stderr == *"Read-only file system"* ]]
	[ "$(cat "$HOME"/.local/share/hutch/store/layers/*/fs/data/new)" = new ]
	[ -z "$(left)" ]
}

@test "where there is overlayfs nothing is copied, filter or not" {
	base img
	without none only
	inside --image dir:img --json=3 true 3>json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	grep -q '"degraded":\[\]' json
	[ ! -e home/.local ]
}

@test "--dry-run copies nothing" {
	base img
	inside --image dir:img --dry-run true
	[ "$status" -eq 0 ]
	[ -z "$(left)$stderr" ]
}

@test "an option that needs an upper layer is refused, in a sentence with a remedy" {
	base img
	room up
	refuses '--upper takes overlayfs, which is not here: mount an overlay: No such device' \
		--image dir:img --upper up true
	[[ ${stderr_lines[1]} == *'modprobe overlay'* ]]
	refuses '--disk cannot bound what is written to the root' --image dir:img --disk 1m true
	[ -z "$(left)" ]
	inside --image dir:img --disk 1m --best-effort --json=3 true 3>json
	[ "$status" -eq 0 ]
	grep -q '"degraded":\["disk","image"\]' json
}

@test "hutch diff and snapshot of such a sandbox say what it is; the rest works" {
	base img
	hutch create --image "dir:$T/img" box
	[ "$status" -eq 0 ]
	says_so 'No such device'
	hutch exec box sh -c 'echo x >/data/new && cat /data/file'
	[ "$output" = "of the image" ]
	for verb in diff snapshot; do
		hutch $verb box
		[ "$status" -eq 125 ]
		[ -z "$output" ]
		one_sentence '.*the root of this sandbox is a copy of the image'
	done
	hutch cp box:/data/new -
	[ "$status" -eq 0 ]
	[ -n "$(left)" ]
	hutch rm -f box
	[ "$status" -eq 0 ]
	until_gone left
}

@test "a launcher that is killed leaves no copy, nor does it with its janitor" {
	base img
	start --image dir:img sh -c 'echo there; sleep 1000'
	said there
	kill -KILL "$pid"
	wait "$pid" || true
	until_gone left
	# These leftovers have no lock; the next launch removes them.
	as_who mkdir -p home/.local/share/hutch/.upper-abcdef/upper/data
	inside --image dir:img true
	[ "$status" -eq 0 ]
	[ -z "$(left)" ]
}

# ended_halfway: starts a launch and sends SIGTERM while the image is being copied; if the copy
# was complete before that, the test passes all the same.
ended_halfway() {
	start --image dir:img true
	until_true begun_or_over
	kill -TERM "$pid"
	! wait "$pid"
}

begun_or_over() {
	[ -n "$(find home -path '*/upper/many/*' -print -quit)" ] || all_gone "$pid"
}

@test "a signal while it is copied ends the launch, and nothing is left" {
	base img
	as_who sh -c 'mkdir img/many; i=0; while [ $i -lt 20000 ]; do : >img/many/$i; i=$((i + 1)); done'
	until_true ended_halfway
	grep -q 'ended by signal 15 while the image was copied' "$T/err"
	[ -z "$(left)" ]
}

# The copying process ends with an error while a process that it has started in the background can
# still write to the copy.
@test "a copy that failed is removed when no process writes to it any more" {
	base img
	mkdir -p moved/libexec
	cp "$REAL" moved/hutch
	ln -s "$BUILD"/libexec/* moved/libexec
	rm moved/libexec/hutch-image
	cat >moved/libexec/hutch-image <<-EOF
		#!/bin/sh
		(read x <"$T/go"; cd "$T"/home/.local/share/hutch/.upper-* && echo there >"$T/home/late") &
		echo \$\$ >"$T/home/copier"
		exit 3
	EOF
	chmod 755 moved moved/libexec moved/libexec/hutch-image
	mkfifo go
	give go
	exec 8<>go
	REAL=$T/moved/hutch
	without overlay only
	start --image dir:img true
	until_true test -s home/copier
	until_true all_gone "$(cat home/copier)"
	echo >&8
	ended 125
	grep -q 'the image could not be copied' "$T/err"
	# The file proves that the copy was not removed before the last process that could write
	# to it had ended.
	[ -s home/late ]
	[ -z "$(left)" ]
}

@test "a disk that gets full is said so, and nothing is left" {
	base img
	mkdir -p home/.local/share/hutch
	give home
	catch outer sh -c 'mount -t tmpfs -o size=1m,mode=700 none "$1" || exit 9
		"$2" run --image "$3" true; echo $?; ls -A "$1"' - "$HOME/.local/share/hutch" "$HUTCH" "dir:$T/img"
	[ "${lines[*]}" = 125 ]
	[[ $stderr == *'copy /bin/busybox: No space left on device'*XDG_DATA_HOME* ]]
}

@test "an image with hutch's own folders in it is not copied into itself" {
	base home
	refuses 'the image .*home has hutch.s own folders in it' --image "dir:$HOME" true
	[ -z "$(left)" ]
}

@test "files of an image that cannot be copied are counted, and the rest is there" {
	base img
	as_who "$here/image_copied.py" odd
	inside --image dir:img sh -c 'ls /data; cat /data/closed'
	[ "$status" -eq 0 ]
	[[ $output == *closed*closed ]]
	[[ ${stderr_lines[1]} == 'hutch: note: 1 of the image cannot be copied and is not in it, such as /data/socket' ]]
}
