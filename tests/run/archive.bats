#!/usr/bin/env bats
# Compares the tars of hutch with those of other programs.  The program `archive` packs and
# unpacks as hutch cp does, but without a sandbox.

load helpers

setup() {
	begin
	A=$BUILD/tests/run/archive
	umask 022
	mkdir tree tree/folder tree/empty tree/shut
	echo text >tree/file
	head -c 300000 /dev/urandom >tree/folder/large
	: >tree/folder/nothing
	ln -s ../file tree/folder/link
	ln -s /nowhere/at/all tree/absolute
	ln tree/file tree/folder/hard
	echo x >tree/"$(printf 'n%.0s' {1..240})"
	ln -s "$(printf 'l%.0s' {1..150})" tree/long-link
	deep=tree/$(printf 'p%.0s' {1..90})/$(printf 'q%.0s' {1..90})/$(printf 'r%.0s' {1..90})
	mkdir -p "$deep"
	echo y >"$deep/file"
	echo z >tree/$'new\nline \xc3\xa4 \xff'
	chmod 640 tree/file
	chmod 711 tree/folder
	touch -d @1234567890.123456789 tree/file
	touch -d @-5 tree/folder/nothing
	touch -d @99999999999 tree/folder/large
	chmod 500 tree/shut
	mkdir out
}

teardown() {
	chmod 700 "$T"/*/shut "$T"/*/*/shut 2>/dev/null
	end
}

# looks TREE FORMAT: prints, for each file of TREE, everything that a tar keeps; FORMAT is the
# find(1) format for times: %Ts for whole seconds, %T@ for nanoseconds too.
looks() {
	(cd "$1" && find . -mindepth 1 -printf "%P %y %m ${2:-%T@} %n %l\n" |
		LC_ALL=C sed -E "${3:-}" | LC_ALL=C sort)
}
same() {
	diff -r --no-dereference tree "$1"
	diff <(looks tree "${2:-%T@}" "${3:-}") <(looks "$1" "${2:-%T@}" "${3:-}")
}
# This sed script cuts times to whole seconds, for programs that keep no more.
seconds='s/(^.* [fdl] [0-7]+ -?[0-9]+)\.[0-9]+/\1/'

has() {
	command -v "$1" >/dev/null || skip "this host has no $1"
}

@test "a tree that hutch packs is the same when hutch unpacks it" {
	"$A" pack tree tree | "$A" unpack out
	same out/tree
}

@test "a tree that hutch packs is the same when GNU tar unpacks it" {
	has tar
	"$A" pack tree tree | tar -C out -xpf -
	same out/tree
}

@test "GNU tar finds no difference between what is packed here and the tree" {
	has tar
	"$A" pack tree tree >tree.tar
	tar -df tree.tar
	# tar -d must also notice a changed file, or the check above shows nothing.
	echo other >tree/file
	never tar -df tree.tar
}

@test "a tree that GNU tar packs in any of its forms is the same when hutch unpacks it" {
	has tar
	local form
	for form in gnu posix; do
		rm -rf out/tree
		tar --format=$form -cf - tree | "$A" unpack out
		if [[ $form = posix ]]; then same out/tree; else same out/tree %T@ "$seconds"; fi
		chmod 700 out/tree/shut
	done
}

@test "old forms of GNU tar's are unpacked, with what they can say" {
	has tar
	local form
	rm -rf tree/p* tree/n* tree/long-link tree/folder/large tree/folder/nothing
	for form in v7 oldgnu ustar; do
		rm -rf out/tree
		tar --format=$form -cf - tree | "$A" unpack out
		same out/tree %T@ "$seconds"
		chmod 700 out/tree/shut
	done
}

@test "a sparse file of GNU tar's is refused, and it says how to have it" {
	has tar
	truncate -s 10M tree/disk
	local form
	for form in gnu posix; do
		tar --sparse --format=$form -cf - tree/disk >sparse.tar
		run "$A" unpack out <sparse.tar
		((status == 1))
		[[ $output == *unsupported:*"without --sparse"* ]]
		[[ ! -e out/tree/disk ]]
	done
}

@test "a tree that hutch packs is the same when Python unpacks it" {
	has python3
	"$A" pack tree tree >tree.tar
	"$here/archive.py" unpack
	# Python does not set the times of symbolic links.
	same out/tree %Ts 's/^(.* l 777) [0-9]+/\1/'
}

@test "a tree that Python packs in any of its forms is the same when hutch unpacks it" {
	has python3
	local form
	for form in GNU PAX; do
		rm -rf out/tree
		"$here/archive.py" pack $form
		"$A" unpack out <p.tar
		same out/tree %T@ "$seconds"
		chmod 700 out/tree/shut
	done
}

@test "a tree that hutch packs is the same when bsdtar unpacks it, and the other way round" {
	has bsdtar
	"$A" pack tree tree | bsdtar -C out -xpf -
	same out/tree
	chmod 700 out/tree/shut
	rm -rf out/tree
	bsdtar --format=pax -cf - tree | "$A" unpack out
	same out/tree
}

@test "a tree that hutch packs is the same when busybox unpacks it, and the other way round" {
	has busybox
	# busybox tar does not store times before 1970, or times in the far future.
	touch -d @5 tree/folder/nothing tree/folder/large
	"$A" pack tree tree | busybox tar -C out -xpf -
	# busybox tar does not set the times of symbolic links, and sets the times of folders
	# before it fills them.
	same out/tree %Ts 's/^(.* (l|d) [0-7]+) [0-9]+/\1/'
	chmod 700 out/tree/shut
	rm -rf out/tree
	busybox tar -cf - tree | "$A" unpack out
	same out/tree %T@ "$seconds"
}

@test "a hole in a file comes back as a hole" {
	truncate -s 60M tree/disk
	echo end >>tree/disk
	"$A" pack disk tree/disk | "$A" unpack out
	cmp tree/disk out/disk
	(($(stat -c %b out/disk) < 10000))
}

# The size of 9 GiB needs more digits than the header of a tar has.  To see it, reading the
# beginning of the tar is enough.
@test "a file of 9 GiB says its size to GNU tar, and GNU tar's to us" {
	has tar
	local form
	truncate -s 9G tree/disk
	"$A" pack disk tree/disk 2>/dev/null | head -c 10240 >head.tar
	tar -tvf head.tar 2>/dev/null | grep ' 9663676416 '
	for form in gnu posix; do
		tar --format=$form -cf - tree/disk | head -c 10240 >head.tar
		run "$A" unpack -b 9663676415 out <head.tar
		[[ $output == *limit:*"9663676415 bytes"* ]]
		run "$A" unpack -b 9663680000 out <head.tar
		[[ $output == *protocol:*"stops before its end"* ]]
	done
}
