#!/bin/bash
# Images on a kernel that has no overlayfs: the root is a copy or, where BY is
# fuse, served by fuse-overlayfs.  Run as an ordinary user; SHARES, if set, is a
# folder of the user's on a file system with reflinks.
#
# shellcheck disable=SC2154 # from tap.sh and init.sh
. "${0%/*}/tap.sh"
if [ "${BY:-}" = fuse ]; then
	is_what='is served by /usr/bin/fuse-overlayfs'
	says='images are served by /usr/bin/fuse-overlayfs'
	does='is served'
else
	is_what='is a copy of the image'
	says='each sandbox gets a copy'
	does='is copied'
fi
note="^hutch: note: the root $is_what, since there is no overlayfs here"

image() {
	mkdir -p "$1"/{bin,etc,data}
	cp /bin/busybox "$1/bin/busybox"
	local name
	for name in sh cat rm sleep test id; do
		ln "$1/bin/busybox" "$1/bin/$name"
	done
	echo 'of the image' >"$1/data/file"
	echo '127.0.0.1 image' >"$1/etc/hosts"
}
none_left() {
	[ -z "$(find "$HOME" "$XDG_RUNTIME_DIR" ${SHARES:+"$SHARES"} -name '.upper-*')" ]
}
none_serves() {
	! pgrep -f '^fuse-overlayfs '
}
# written IMAGE: commands write to a copy of the image, and the copy is removed afterwards.
written() {
	hutch --image "$1" -- sh -c 'cat /data/file; echo x >/data/file; cat /data/file /etc/hosts
		rm -r /data; test -e /data || echo gone; id -u'
	[ $rc = 0 ] && is degraded '["image"]' && [ "$(grep -c "$note" "$T/err")" = 1 ] &&
		[ "$(cat "$T/out")" = "of the image
x
127.0.0.1	localhost hutch
::1	localhost ip6-localhost ip6-loopback hutch
gone
0" ] && none_left
}

no_overlayfs() {
	! grep -w overlay /proc/filesystems
}
doctor() {
	"$H" doctor >"$T/doctor"
	grep -q "^limited *overlayfs  *mount an overlay: No such device; $says" \
		"$T/doctor" || { cat "$T/doctor"; return 1; }
}
folder() {
	[ -e "$T/img" ] || image "$T/img"
	written "dir:$T/img" && [ "$(cat "$T/img/data/file")" = 'of the image' ]
}
of_the_store() {
	[ -e "$HOME/.local/share/hutch/store" ] || "$H" image import "$T/img" --name img || return
	written img && written img
}
killed() {
	"$H" run --image "dir:$T/img" -- sleep 1000 >/dev/null 2>&1 &
	local pid=$!
	until_true pgrep -x sleep || return
	! none_left && kill -KILL $pid
	wait $pid
	until_true none_left && until_true none_serves
}
# A copy of a 16 MiB file by reflink takes no space.
shared() {
	local before after
	image "$SHARES/img" && yes | head -c 16m >"$SHARES/img/data/large" || return
	sync -f "$SHARES"
	before=$(df --output=used -k "$SHARES" | tail -n 1)
	XDG_DATA_HOME=$SHARES "$H" doctor | grep 'whose content is shared' || return
	XDG_DATA_HOME=$SHARES "$H" run --image "dir:$SHARES/img" -- sleep 1000 2>/dev/null &
	local pid=$!
	until_true pgrep -x sleep || return
	sync -f "$SHARES"
	after=$(df --output=used -k "$SHARES" | tail -n 1)
	cmp "$SHARES/img/data/large" "$SHARES"/hutch/.upper-*/upper/data/large
	local same=$?
	kill $pid
	wait $pid
	echo "$before $after"
	[ $same = 0 ] && [ $((after - before)) -lt 4096 ] && none_left
}

try 'this kernel has no overlayfs' no_overlayfs
try 'hutch doctor says what an image does without' doctor
try "a folder $does" folder
try 'so is an image of the store, whose layers stay' of_the_store
try 'a launcher that is killed leaves nothing of it' killed
if [ "${BY:-}" = fuse ]; then
	: # nothing is copied
elif [ -n "${SHARES:-}" ]; then
	try 'where the file system shares content a copy takes no room' shared
elif [ -z "${HUTCH_ONLY:-}" ]; then
	count=$((count + 1))
	echo "ok $count - where the file system shares content # SKIP mkfs.btrfs is not installed"
fi
echo "1..$count"
