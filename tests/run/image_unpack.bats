#!/usr/bin/env bats
# Tests of valid layers: hutch unpacks them as other programs do, and an overlay of several layers
# equals the folder that umoci makes of them.

bats_require_minimum_version 1.5.0
load helpers

setup() {
	begin
	L=$BUILD/tests/run/layer
	export XDG_DATA_HOME=$T/data
	mkdir -m 700 data
	layers=data/hutch/store/layers
}

teardown() {
	chmod -R u+rwx "$T" 2>/dev/null
	end
}

# merged OVERLAY CMD...: runs CMD in a user namespace with an overlay mounted at merged; OVERLAY
# lists the layers as lower directories.
merged() {
	local lowers=$1
	shift
	mkdir -p merged
	unshare -Urm sh -c 'mount -t overlay -o "userxattr,lowerdir=$1" none merged && shift && exec "$@"' \
		sh "$lowers" "$@"
}

@test "three layers over each other are what umoci makes of them, file by file" {
	local blob id lowers=
	python3 "$here/trees.py" layers .
	umoci init --layout oci
	umoci new --image oci:t
	for i in 1 2 3; do umoci raw add-layer --image oci:t $i.tar; done
	umoci raw unpack --rootless --image oci:t umoci
	python3 "$here/trees.py" blobs oci t >blobs
	[ "$(wc -l <blobs)" = 3 ]
	while read -r blob id; do
		"$L" "$blob" "$id"
		lowers=$layers/${id#sha256:}/fs${lowers:+:$lowers}
	done <blobs
	run -0 merged "$lowers" python3 "$here/trees.py" compare merged umoci
	[ "$output" = "42 compared" ]
	# The comparison must notice that a layer is missing, or the check above shows nothing.
	run -1 merged "${lowers%:*}" python3 "$here/trees.py" compare merged umoci
	[[ $output == *"'usr/noted': only umoci has it"* ]]
}

@test "a layer is the same in each form that it may have" {
	python3 "$here/trees.py" layers .
	id=sha256:$(sha256sum <1.tar | cut -d' ' -f1)
	gzip -c 1.tar >gzip
	zstd -q -c 1.tar >zstd
	xz -c 1.tar >xz
	head -c 100000 1.tar | gzip -c >members
	tail -c +100001 1.tar | gzip -c >>members
	for form in 1.tar gzip zstd xz members; do
		run -0 "$L" "$form" "$id"
		[[ $output == "$id "* ]]
		rm -rf first
		mv "$layers/${id#sha256:}" "$form.d"
		python3 "$here/trees.py" compare 1.tar.d/fs "$form.d/fs"
	done
}

@test "a layer compressed by bzip2 is refused, and nothing is left of it" {
	python3 -c 'import bz2,sys; sys.stdout.buffer.write(bz2.compress(__import__("os").urandom(10240)))' >bzip2
	run -1 "$L" bzip2
	[[ $output == "protocol: "*"no tar"* ]]
	[ -z "$(find "$layers" data/hutch/store/tmp -mindepth 1)" ]
}
