#!/usr/bin/env bats
# Tests of the image store: images are imported from folders and archives of other tools, listed,
# named, inspected, removed and exported.

bats_require_minimum_version 1.5.0
load helpers

# Makes a root file system, an OCI layout of umoci and an archive of skopeo,
# once for all tests.
setup_file() {
	made=$(mktemp -d /tmp/hutch-made.XXXXXX) || return 1
	export made
	local base=$made
	mkdir -p "$base/root/bin" "$base/root/etc" "$base/root/home/me"
	cp /bin/busybox "$base/root/bin"
	ln -s busybox "$base/root/bin/sh"
	ln -s busybox "$base/root/bin/cat"
	echo hello >"$base/root/etc/hello"
	echo second >"$base/second"
	tar -C "$base/root" --owner 0 --group 0 -cf "$base/root.tar" .
	cd "$base" || return 1
	umoci init --layout layout
	umoci new --image layout:one
	umoci unpack --rootless --image layout:one bundle
	cp -a root/. bundle/rootfs/
	umoci repack --image layout:one bundle
	umoci config --image layout:one --config.env A=b --config.cmd /bin/sh \
		--config.workingdir /home
	umoci insert --rootless --image layout:one --tag two second /etc/second
	tar -C layout -cf layout.tar .
	skopeo copy -q oci:layout:two docker-archive:saved.tar:me/tool:2
	chmod -R a+rX "$base"
}

teardown_file() {
	[[ -z ${made:-} ]] || rm -rf "$made"
}

setup() {
	begin
	store=$HOME/.local/share/hutch/store
}

image() {
	"$HUTCH" image "$@"
}

# field REF KEY: prints the value of KEY in hutch image inspect REF.
field() {
	image inspect "$1" | "$here/image_store.py" field "$2"
}

# nothing_is_left: checks that the store has no temporary files, such as those of a refused or
# failed import.
nothing_is_left() {
	[ -z "$(ls "$store/tmp")" ]
}

@test "a root file system becomes an image, as a folder and as a tar of any form" {
	gzip -k <"$made/root.tar" >gz.tgz
	zstd -q <"$made/root.tar" >zst
	xz <"$made/root.tar" >xz
	for from in "$made/root" "$made/root.tar" gz.tgz zst xz; do
		run -0 image import "$from" --name some/root:1
		[ "$output" = some/root:1 ]
		layer=$(field some/root:1 layers | grep -oE '"diff_id": "sha256:[0-9a-f]+' | cut -d: -f3)
		cmp "$store/layers/$layer/fs/bin/busybox" /bin/busybox
		[ "$(cat "$store/layers/$layer/fs/etc/hello")" = hello ]
		[ "$(readlink "$store/layers/$layer/fs/bin/sh")" = busybox ]
		[ -d "$store/layers/$layer/fs/home/me" ]
	done
	# The tars have the same bytes, so they are unpacked only once.
	[ "$(find "$store/layers" -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]
	nothing_is_left
}

@test "an OCI layout and what docker save writes become the same image" {
	cp "$made/layout.tar" "$made/saved.tar" .
	gzip -k saved.tar
	gzip -k layout.tar
	for from in "$made/layout:two" layout.tar:two layout.tar.gz:two saved.tar saved.tar:2 \
		saved.tar.gz:me/tool:2; do
		rm -rf "$store"
		run -0 image import "$from" --name x
		[ "$output" = x ]
		echo "$(field x id) $(field x env) $(field x cmd) $(field x working_dir)" >>said
		[ "$(field x layers | grep -o diff_id | wc -l)" = 2 ]
	done
	[ "$(sort -u said | wc -l)" = 1 ]
	grep -qF '["A=b"] ["/bin/sh"] /home' said
	# An image that is imported with its manifest keeps its digest.
	[ "$(field x digest)" != '' ]
}

@test "the name in an archive is its name, if none is given" {
	run -0 image import "$made/saved.tar"
	[ "$output" = me/tool:2 ]
	run -125 image import "$made/layout:one"
	has "has no name in it"
	run -125 image import "$made/root.tar"
	has "has no name in it"
}

@test "one of several images in a layout is selected by name" {
	run -125 image import "$made/layout" --name x
	has "several images: one, two"
	run -125 image import "$made/layout:three" --name x
	has "no image 'three', but: one, two"
	run -125 image import "$made/saved.tar:3" --name x
	has "no image '3'"
	run -0 image import "$made/layout:one" --name x
}

@test "a file that is no image is refused in a sentence, and nothing is left of it" {
	echo no tar >text
	mkfifo pipe
	head -c 100000 "$made/root.tar" >cut.tar
	gzip <"$made/root.tar" | head -c 100000 >cut.tgz
	for from in text pipe nonesuch cut.tar cut.tgz; do
		run -125 image import "$from" --name x
		[ "$(grep -vc hint <<<"$output")" = 1 ]
	done
	run -125 image exists X/Y
	run -1 image exists x
	nothing_is_left
	[ -z "$(ls "$store/layers" "$store/images" "$store/names" | grep -v :)" ]
}

@test "a damaged layout is refused: bytes, sizes, kinds" {
	cp -a "$made/layout" bad
	chmod -R u+w bad
	manifest=$(grep -oE 'sha256:[0-9a-f]+' bad/index.json | tail -1 | cut -d: -f2)
	layer=$(grep -oE 'tar.gzip","digest":"sha256:[0-9a-f]+' "bad/blobs/sha256/$manifest" |
		tail -1 | cut -d: -f3)
	printf x | dd of="bad/blobs/sha256/$layer" conv=notrunc status=none
	run -125 image import bad:two --name x
	has "have the digest sha256:"
	cp "$made/layout/blobs/sha256/$layer" "bad/blobs/sha256/$layer"
	echo more >>"bad/blobs/sha256/$layer"
	run -125 image import bad:two --name x
	has "bytes, but .* were announced"
	rm "bad/blobs/sha256/$layer"
	run -125 image import bad:two --name x
	has "$layer is not in it"
	ln -s /etc/passwd "bad/blobs/sha256/$layer"
	run -125 image import bad:two --name x
	has "$layer"
	sed -i 's/image.manifest.v1/image.index.v1/' bad/index.json
	run -125 image import bad:one --name x
	has "is a manifest, and its media type says otherwise"
	run -1 image exists x
}

@test "a manifest whose configuration has other layers is refused" {
	cp -a "$made/layout" bad
	chmod -R u+w bad
	"$here/image_store.py" mismatch
	run -125 image import bad:one --name x
	has "manifest has 0 layers, and the image's configuration 1"
	run -125 image import bad:two --name x
	has "layer 1 of 2.*diff_id"
	run -1 image exists x
	nothing_is_left
}

@test "images are listed, for people and for programs" {
	run -0 image ls
	[ "$output" = "$(printf '%s   ' REPOSITORY TAG 'IMAGE ID' CREATED)SIZE" ]
	[ "$(image ls --json)" = '[]' ]
	image import "$made/layout:one" --name b/one:1
	image import "$made/layout:two" --name a
	image tag a localhost:5000/a/b:2
	run -0 image ls
	[ "${#lines[@]}" = 4 ]
	has '^a +latest +[0-9a-f]{12} +.* ago +[0-9.]+MiB$'
	has '^localhost:5000/a/b +2 +[0-9a-f]{12} '
	[ "$(image ls -q | wc -l)" = 2 ]
	[ "$(image ls -q --no-trunc | grep -cE '^sha256:[0-9a-f]{64}$')" = 2 ]
	image ls --digests | grep -qF "$(field a digest)"
	image ls --json | "$here/image_store.py" rows
}

@test "an image can have several names, and exists while it has one" {
	image import "$made/root.tar" --name a
	image tag a b:2
	image rm a
	run -1 image exists a
	run -0 image exists b:2
	id=$(image ls -q)
	run -0 image exists "$id"
	run -0 image exists "${id:0:4}"
	run -1 image exists "${id:0:3}"
	image tag "$id" c
	run -125 image rm "$id"
	has "has 2 names"
	image rm -f "$id"
	run -1 image exists b:2
	run -125 image rm c
	run -0 image rm -f c
	run -125 image tag nonesuch x
	run -125 image tag c 'x@sha256:0123'
}

@test "a name that is nearly that of an image is told so" {
	image import "$made/root.tar" --name tool:2
	for verb in 'image rm' 'image inspect' 'run --pull never --image'; do
		# shellcheck disable=SC2086 # several words
		run -125 --separate-stderr "$HUTCH" $verb tolo true
		[[ $stderr == *"tolo"*"in the store"*"; is it tool:2?"* ]]
	done
}

@test "with the last name goes all that only this image has, and nothing else" {
	image import "$made/layout:one" --name one
	du -a "$store" | awk '{print $2}' | sort >before
	image import "$made/layout:two" --name two
	image rm two
	du -a "$store" | awk '{print $2}' | sort | diff before -
	image rm one
	[ -z "$(find "$store"/{blobs,layers,images,names,tmp} -mindepth 1)" ]
	run -0 image gc
	[[ $output == "freed 0B: 0 images, "* ]]
}

@test "gc says what it would do, and does it" {
	image import "$made/layout:one" --name x
	image import "$made/layout:two" --name x
	: >"$store/tmp/new-0123456789abcdef"
	echo part >"$store/tmp/blob-$(printf '%064d' 7)"
	give "$store/tmp"
	run -0 image gc --dry-run
	has '^would free .*: 1 images, 0 layers, 2 blobs, 1 parts'
	run -0 image gc
	has '^freed .*: 1 images, 0 layers, 2 blobs, 1 parts'
	nothing_is_left
	run -0 image gc
	has '^freed 0B'
	run -0 image inspect x
}

# hold_shared FILE...: takes shared locks on these files until descriptor $release is closed.
hold_shared() {
	exec {release}<"$1"
	flock -s "$release"
}

@test "an image that is used stays, and its layers and blobs with it" {
	image import "$made/root.tar" --name x
	hold_shared "$store"/images/*
	run -125 image rm x
	has 'is used by a sandbox'
	run -0 image rm -f x
	[ -n "$(ls "$store/layers")" ]
	run -0 image gc
	has '1 images without a name are used'
	[ -n "$(ls "$store/blobs")" ]
	exec {release}<&-
	run -0 image gc
	has 'freed .*: 1 images, 1 layers, 3 blobs'
	[ -z "$(find "$store"/{blobs,layers,images} -mindepth 1)" ]
}

@test "nothing is removed during an import, and rm does not wait for it" {
	image import "$made/root.tar" --name x
	hold_shared "$store/lock"
	run -0 image rm x
	[ -n "$(ls "$store/images")" ]
	exec {release}<&-
	run -0 image gc
	has '1 images, 1 layers'
}

# finds PATTERN...: checks that hutch image verify prints one line that matches each pattern.
finds() {
	run -1 image verify
	for wanted in "$@"; do
		has "$wanted"
	done
	has ": $# broken$"
}

@test "a store that is whole is verified, and what is broken is told and removed" {
	run -0 image verify
	has '^0 blobs, 0 layers, 0 images, 0 names: all right$'
	image import "$made/layout:two" --name x
	image import "$made/root.tar" --name y
	run -0 image verify
	has '^7 blobs, 3 layers, 2 images, 2 names: all right$'
	layer=$(field y layers | grep -oE '"diff_id": "sha256:[0-9a-f]+' | cut -d: -f3)
	blob=$(field x layers | grep -oE '"digest": "sha256:[0-9a-f]+' | tail -1 | cut -d: -f3)
	chmod u+w "$store/blobs/$blob"
	printf x | dd of="$store/blobs/$blob" conv=notrunc status=none
	touch "$store/layers/$layer/fs/bin/busybox"
	finds "^blob $blob: its bytes have another digest" "^layer $layer: names, modes"
	rm "$store/layers/$layer/fs/bin/busybox"
	finds "^blob $blob" "^layer $layer: .* entries with"
	hold_shared "$store/images/$(field y digest | cut -d: -f2)"
	run -1 image verify --repair
	has 'not all of them removed'
	exec {release}<&-
	run -0 image verify --repair
	run -0 image verify
	has ' 0 images, 0 names: all right$'
	run -0 image gc
	image import "$made/layout:two" --name x
	run -0 image verify
	has ' 2 layers, 1 images, 1 names: all right$'
}

@test "an image without a layer, a recipe that is none, and a name of nothing are told" {
	image import "$made/layout:two" --name x
	image import "$made/root.tar" --name y
	x=$(field x digest | cut -d: -f2) y=$(field y digest | cut -d: -f2)
	layer=$(field y layers | grep -oE '"diff_id": "sha256:[0-9a-f]+' | cut -d: -f3)
	rm -r "$store/layers/$layer"
	ln -s "$(printf '%064d' 7)" "$store/names/docker.io%2Flibrary%2Fz:1"
	rm -f "$store/images/$x"
	printf 'hutch-image 1\0colour=red\0' >"$store/images/$x"
	give "$store/names" "$store/images"
	finds "^image $x: its recipe is not" "^image $y: its layer $layer is not there" \
		"^name docker.io/library/z:1: there is no image 0000"
	run -0 image verify --repair
	run -0 image verify
	has ' 0 images, 0 names: all right$'
}

# A developer can run this test with ROUNDS=200.
@test "a killed process leaves a store that works" {
	gzip -k <"$made/root.tar" >gz.tgz
	run -0 python3 "$here/killer_store.py" "$HUTCH" "${ROUNDS:-12}" "$made/layout:two" \
		"$made/saved.tar" "$made/root" gz.tgz
	has "${ROUNDS:-12} rounds, [0-9]+ killed"
}

@test "an export is read by other tools, imported again, and the same every time" {
	room work
	cd work
	image import "$made/layout:two" --name me/x:2
	image export me/x:2 -o out
	image export me/x:2 -o out.tar
	image export me/x:2 --format docker -o docker.tar
	image export me/x:2 >"$T/stdout.tar"
	cmp out.tar "$T/stdout.tar"
	image export me/x:2 --format docker --output again.tar
	cmp docker.tar again.tar
	room work/same
	image export me/x:2 -o same
	diff -r out same
	[ -z "$(ls -d -- *.part 2>/dev/null)" ]
	id=$(field me/x:2 id) digest=$(field me/x:2 digest)
	[ "$(skopeo inspect --format '{{.Digest}}' oci:out)" = "$digest" ]
	skopeo copy -q oci-archive:out.tar dir:one
	skopeo copy -q docker-archive:docker.tar dir:two
	for from in out out.tar docker.tar; do
		image rm me/x:2
		run -0 image import "$from"
		[ "$output" = me/x:2 ]
		[ "$(field me/x:2 id) $(field me/x:2 digest)" = "$id $digest" ]
	done
	umoci unpack --rootless --image out:2 bundle
	[ "$(cat bundle/rootfs/etc/second)" = second ]
}

@test "an export as a folder has the files of all layers, which belong to the caller" {
	needs_static
	room work
	cd work
	image import "$made/layout:two" --name x
	image export x --format dir -o out
	[ "$(cat out/etc/hello out/etc/second)" = "$(printf 'hello\nsecond')" ]
	[ "$(readlink out/bin/sh)" = busybox ]
	[ -z "$(find out ! -uid "$who" -o -name '.wh.*')" ]
	[ "$(stat -c %a out)" = 755 ]
	[ "$("$HUTCH" run --image "dir:$T/work/out" cat /etc/second)" = second ]
	room work/there
	touch -d @1234567 there/file
	image import there --name y
	image export y --format dir -o copy
	[ "$(stat -c %Y copy/file)" = 1234567 ]
	run -125 image export x --format dir -o there
	has 'hint: -o takes a folder that is empty, or a new name'
	run -125 image export x --format dir -o y.tar
	has 'is a folder'
	run -125 image export x --format dir
	[ "$(ls | xargs)" = 'copy out there' ]
}

@test "an export that cannot be done leaves nothing" {
	room work work/full
	cd work
	image import "$made/root.tar" --name x
	touch full/file
	run -125 image export x -o full
	run -125 image export nonesuch -o y
	run -125 image export x --format docker -o y
	run -125 image export x --format zip -o y.tar
	blob=$(field x layers | grep -oE '"digest": "sha256:[0-9a-f]+' | cut -d: -f3)
	chmod u+w "$store/blobs/$blob"
	printf x | dd of="$store/blobs/$blob" conv=notrunc status=none
	run -125 image export x -o y.tar
	has "blob ${blob:0:12} in the store is damaged"
	[ "$(ls)" = full ]
}

@test "the store does not become larger than it may, and what came is not lost" {
	run -0 image quota
	has '^0B used, no bound$'
	run -0 image quota 1m
	has '^0B of 1.0MiB used$'
	run -125 image import "$made/layout:two" --name x
	has 'no more room in the store, which may have 1.0MiB'
	[ -z "$(ls "$store/tmp" | grep -v ^blob-)" ]
	run -1 image exists x
	# With this quota the store has room for the compressed layer, but not for the unpacked
	# one.
	image quota 2m
	run -125 image import "$made/layout:two" --name x
	has 'no more room in the store, which may have 2.0MiB'
	run -0 image verify
	image quota 20m
	run -0 image import "$made/layout:two" --name x
	image quota none
	run -125 image quota much
	run -0 image quota
	has 'MiB used, no bound$'
}

# Mounts a file system of three megabytes at data, in a mount namespace of its own.
@test "a full disk is told, and the next try goes on" {
	is_root || skip "mounting a small tmpfs takes root"
	mkdir data
	export HUTCH T made PATIENCE
	head -c 4000000 /dev/urandom >big
	tar -cf - big | xz -0 >big.xz
	# shellcheck disable=SC2016 # for the other shell
	unshare -m bash -c '
		mount -t tmpfs -o size=2m,uid='"$who"',mode=700 none data
		export XDG_DATA_HOME=$T/data
		"$HUTCH" image import "$made/layout:two" --name x && exit 1
		timeout "$PATIENCE" "$HUTCH" image import "$made/root" --name x && exit 1
		timeout "$PATIENCE" "$HUTCH" image import "$T/big.xz" --name x
		(($? == 125)) || exit 1
		mount -o remount,size=20m data
		"$HUTCH" image verify || exit 1
		"$HUTCH" image import "$made/layout:two" --name x && "$HUTCH" image verify
	' >said 2>&1
	grep -q "No space left on device" said
	grep -q "1 images, 1 names: all right" said
}
