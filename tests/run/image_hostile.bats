#!/usr/bin/env bats
# Tests of hostile layers, which try to write outside of their folder, or to use up resources:
# nothing outside changes, and a refused layer is removed.  The program `layer` unpacks a layer as
# hutch image does; layers.py makes the layers.  The numbers in the names of tests are those in
# the list of known escapes.

bats_require_minimum_version 1.5.0
load helpers

setup() {
	begin
	L=$BUILD/tests/run/layer
	export XDG_DATA_HOME=$T/data
	mkdir -m 700 data
	store=$T/data/hutch/store
	mkdir outside
	echo "as it was" >outside/kept
	before=$(stat_outside)
}

teardown() {
	chmod -R u+rwx "$T/data" 2>/dev/null
	end
}

stat_outside() {
	(cd "$T" && find outside -printf '%p %y %m %n %s %T@ %i\n' | sort; getfattr -dR -m- outside 2>/dev/null)
	cat "$T/outside/kept"
}

untouched() {
	diff <(echo "$before") <(stat_outside) && [ ! -e "$T/escaped" ] &&
		[ -z "$(find "$T" -name escaped)" ]
}

make_layer() {
	python3 "$here/layers.py" "$1" "$T/outside" >"$1.tar"
}

# layer CASE [ARG...]: makes the layer CASE and unpacks it; $fs is the folder, $left_out the
# number of entries that were left out.
layer() {
	local name=$1
	shift
	make_layer "$name"
	run -0 "$L" "$name.tar" "$@"
	untouched
	fs=$store/layers/${output#sha256:}
	fs=${fs%% *}/fs
	read -r _ _ _ left_out hides_all <<<"$output"
	nothing_half
}

# refused CASE KIND TEXT [ARG...]: checks that the layer CASE is refused with that error, and that
# no part of it is left.
refused() {
	local name=$1 kind=$2 text=$3
	shift 3
	[[ -e $name.tar ]] || make_layer "$name"
	run -1 "$L" "$name.tar" "$@"
	[[ $output == "$kind: "*"$text"* ]] || { echo "$name: $output"; return 1; }
	untouched
	nothing_half
	[ -z "$(ls "$store/layers")" ]
}

nothing_half() {
	[ -z "$(ls -A "$store/tmp")" ]
}

@test "90 control: tar, when it is told to believe, is led out" {
	make_layer up
	mkdir -p in/in
	(cd in/in && tar -xPf "$T/up.tar")
	[ -e in/escaped ]
	rm in/escaped
	make_layer link_then_below
	(cd in && tar -xPf "$T/link_then_below.tar")
	[ "$(cat outside/kept)" = changed ]
}

@test "90 control: a layer that is well is unpacked" {
	layer folder
	[ "$(cat "$fs/a/kept")" = mine ]
}

@test "90 names that go up are refused" {
	refused up protocol ".."
	refused up_deep protocol ".."
}

@test "90 an absolute name is one below the root" {
	layer absolute
	[ "$(cat "$fs$T/outside/kept")" = changed ]
}

@test "90 a link is never followed, it makes way" {
	local case
	for case in link_then_below link_up_then_below; do
		layer "$case"
		[ ! -L "$fs/link" ]
		[ "$(cat "$fs/link/kept")" = changed ]
	done
	layer links_in_a_row
	[ "$(cat "$fs/a/kept")" = changed ]
	[ -L "$fs/b" ]
	layer link_to_self
	[ "$(cat "$fs/a/b")" = x ]
	layer link_then_folder
	[ "$(stat -c %F:%a "$fs/link")" = directory:777 ]
	layer link_then_file
	[ "$(cat "$fs/link")" = changed ]
	[ ! -L "$fs/link" ]
}

@test "90 a hard link is to what the layer has" {
	refused hard_outside protocol "has not made"
	refused hard_up protocol ".."
	refused hard_through_link protocol "has not made"
	layer hard_to_link
	[ "$(readlink "$fs/link")" = "$T/outside/kept" ]
	[ "$(cat "$fs/hard")" = changed ]
}

@test "90 the root is no link" {
	refused root_is_link protocol "without a name"
	refused root_is_link_too protocol "without a name"
}

@test "90 devices are left out and counted" {
	layer devices
	[ "$left_out" = 3 ]
	[ "$(ls "$fs")" = file ]
}

@test "90 setuid and setgid bits are data, a FIFO is one" {
	layer bits
	[ "$(cd "$fs" && stat -c %n:%a ./* | tr '\n' ' ')" = "./mail:775 ./sg:755 ./su:755 ./tmp:1777 " ]
	[ "$(getfattr -n user.hutch.stat --only-values "$fs/su")" = "0 0 4755" ]
	[ "$(getfattr -n user.hutch.stat --only-values "$fs/mail")" = "0 8 2775" ]
	layer fifo
	[ "$(stat -c %F:%a "$fs/pipe")" = fifo:620 ]
}

@test "91 whiteouts hide, and delete nothing" {
	layer whiteouts
	[ "$(stat -c %F:%t:%T "$fs/etc/passwd" "$fs/etc/..a")" = "$(printf 'character special file:0:0\n%.0s' 1 2)" ]
	[ "$(getfattr -n user.overlay.opaque --only-values "$fs/dir")" = y ]
	[ "$(cd "$fs" && find . | sort | tr '\n' ' ')" = ". ./dir ./dir/new ./etc ./etc/..a ./etc/passwd " ]
}

@test "91 whiteouts of what is no name are refused" {
	local case
	for case in whiteout_of_nothing whiteout_of_here whiteout_of_up whiteout_of_root; do
		refused "$case" protocol "something without a name"
	done
	refused whiteout_with_content protocol "lies in a whiteout, which can have no content"
	refused whiteout_up protocol ".."
}

@test "91 a whiteout behind a link is below the root" {
	layer whiteout_behind_link
	[ "$(stat -c %F "$fs/link/kept")" = "character special file" ]
	layer opaque_behind_link
	[ ! -L "$fs/link" ]
}

@test "92 what is large only when it is unpacked ends at a bound" {
	python3 "$here/layers.py" gzip_bomb $((10 << 30)) $((10 << 30)) >says_so.tar
	(($(stat -c %s says_so.tar) < 11 << 20))
	refused says_so limit "the tar has more than 67108864 bytes" - 0 $((64 << 20))
	python3 "$here/layers.py" gzip_bomb $((10 << 30)) 0 >says_nothing.tar
	refused says_nothing limit "more than 67108864 bytes when it is decompressed" - 0 $((64 << 20))
	gzip -c says_so.tar >twice.tar
	refused twice protocol "compressed more than once"
}

@test "92 without being told, a layer is no more than 200 times its blob and 1 GiB" {
	local size=$((11 * 100 << 20)) bound
	head -c $((100 << 20)) /dev/zero | zstd -q >zeros
	{
		python3 "$here/layers.py" head 0 | zstd -q
		for _ in {1..11}; do cat zeros; done
	} >big.tar
	bound=$(($(stat -c %s big.tar) * 200 + (1 << 30)))
	((bound < size))
	refused big limit "more than $bound bytes when it is decompressed"
}

@test "92 entries are counted" {
	refused files limit "more than 1000 entries" - 1000
	layer files - 3001
	[ "$(find "$fs" -type f | wc -l)" = 3000 ]
}

@test "92 4,096 folders in each other are enough" {
	layer deep_enough
	refused_after=$(ls "$store/layers")
	make_layer too_deep
	run -1 "$L" too_deep.tar
	[[ $output == "limit: "*"deeper than 4096"* ]]
	nothing_half
	[ "$(ls "$store/layers")" = "$refused_after" ]
	# The tree is too deep for some versions of find(1) and rm(1).
	rm -rf "$store/layers/"*
}

@test "92 names and headers that are too long are refused, long ones are not" {
	refused long_name protocol "too long"
	refused pax_of_1g limit "too long"
	refused pax_wrong protocol "pax record"
	refused pax_in_a_row limit "too long"
	layer long_path
}

@test "92 numbers that are none are refused" {
	local case
	for case in negative_size negative_pax_size size_of_2_63 odd_size wrong_sum; do
		refused "$case" protocol "no tar, or a damaged one"
	done
	refused size_of_1e limit "bytes"
	refused cut protocol "stops before its end"
}

@test "92 sparse files that cannot be read are said to be so" {
	refused sparse_old unsupported "sparse"
	refused sparse_pax unsupported "sparse"
}

@test "93 another digest than the image says is refused" {
	refused folder refused "its digest (diff_id) must be sha256:$(printf '0%.0s' {1..64})" \
		"sha256:$(printf '0%.0s' {1..64})"
	layer folder "sha256:$(sha256sum <folder.tar | cut -d' ' -f1)"
}

@test "93 a blob that was cut is refused" {
	make_layer files
	gzip -c files.tar >whole
	head -c 5000 whole >cut_gzip.tar
	refused cut_gzip protocol "decompress"
	xz -c files.tar >whole
	head -c 1000 whole >cut_xz.tar
	refused cut_xz protocol "decompress"
}

@test "94 layers are unpacked beside each other, so that none leads into another" {
	layer folder
	first=$fs
	layer folder_is_link
	layer below
	[ "$(cat "$first/a/kept")" = mine ]
	[ "$(cat "$fs/a/kept")" = changed ]
}

@test "94 a folder that becomes a link and a folder again is one of its own" {
	layer folder_then_link
	[ "$(stat -c %F:%a "$fs/a")" = directory:700 ]
	[ ! -e "$fs/a/x" ]
	[ "$(cat "$fs/a/kept")" = changed ]
	[ "$(getfattr -n user.overlay.opaque --only-values "$fs/a")" = y ]
}

@test "95 owners are data, and owners out of range are counted" {
	layer owners
	[ "$(stat -c %u "$fs"/* | sort -u)" = "$(id -u)" ]
	[ "$(getfattr -n user.hutch.stat --only-values "$fs/agent")" = "1000 1000 0640" ]
	[ "$(getfattr -n user.hutch.stat --only-values "$fs/high")" = "4294967294 4294967294 0644" ]
	[ -z "$(getfattr -m- "$fs/far")" ]
	[ "$left_out" = 1 ]
}

@test "95 of attributes only a user's own come in" {
	layer xattrs
	[ "$(getfattr -d -m- --absolute-names "$fs/file" | grep -v '^#\|^$')" = 'user.kept="1"' ]
	[ -z "$(getfattr -m- "$fs/d")" ]
	[ "$left_out" = 6 ]
}
