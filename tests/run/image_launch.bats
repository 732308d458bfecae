#!/usr/bin/env bats
# Tests of --image REF: an image of the store is the root of the sandbox, and its configuration
# gives settings.

load helpers

setup() {
	begin
	needs_static
	command -v busybox >/dev/null || skip "busybox-static is not installed"
}

teardown() {
	remove_boxes
	end
}

# layer NAME: makes a folder that will be a layer of an image; the layer called base has a shell.
layer() {
	mkdir -p "$1"
	[[ $1 != base ]] || base
	give "$1"
}

base() {
	mkdir -p base/bin base/etc base/root base/data
	cp "$(command -v busybox)" base/bin/busybox
	local name
	for name in sh ls cat id echo env pwd mkdir rm rmdir mv touch chown chmod stat tar wc \
		hostname mknod test true sleep readlink; do
		ln -s busybox "base/bin/$name"
	done
	printf 'root:x:0:0:root:/root:/bin/sh\nweb:x:101:102:Web:/srv/web:/bin/sh\n' >base/etc/passwd
	printf 'root:x:0:\nwheel:x:10:web\n' >base/etc/group
	echo "of the image" >base/data/file
}

# made REFERENCE ARG...: puts an image of layers into the store, as store.py describes.
made() {
	"$here/store.py" "$@" >/dev/null && give home
}

# from_image ARG...: runs hutch run with the image img, by catch.
from_image() {
	inside --image img "$@"
}

@test "an image runs: its root, its command, its variables" {
	layer base
	made img base cmd=echo cmd=ran 'env=PATH=/bin' 'env=COLOUR=blue green'
	from_image
	[ "$output" = ran ]
	from_image -- sh -c 'id -u; pwd; echo "$COLOUR $HOME $USER"; cat /data/file'
	[ "$output" = "0
/workspace
blue green /root root
of the image" ]
	from_image -e COLOUR=red -e HOME=/elsewhere -- sh -c 'echo "$COLOUR $HOME"'
	[ "$output" = "red /elsewhere" ]
}

@test "Entrypoint, Cmd and --entrypoint go together as docker has them" {
	layer base
	made img base entrypoint=echo entrypoint=entry cmd=of cmd=image
	from_image
	[ "$output" = "entry of image" ]
	from_image of caller
	[ "$output" = "entry of caller" ]
	from_image --entrypoint pwd
	[ "$output" = /workspace ]
	from_image --entrypoint echo -- a b
	[ "$output" = "a b" ]
	from_image --entrypoint '' -- echo c
	[ "$output" = c ]
	refuses 'no command given, and the image img names none' --image img --entrypoint ''
}

@test "an image imported from a tar runs, and one id is enough for it" {
	layer base
	tar -C base --owner=34 --group=65534 --mode=u+rwX -cf base.tar .
	hutch image import base.tar --name imported
	[ "$status" -eq 0 ]
	inside --image imported -- sh -c 'stat -c %u:%g /data/file; chown 34 /data/file && cat /data/file; id -u'
	[ "$output" = "0:0
of the image
0" ]
}

@test "an image without a command needs one, and says how" {
	layer base
	made img base
	refuses 'no command given, and the image img names none' --image img
	[[ $stderr == *"hutch run -it --image img sh"* ]]
}

@test "WorkingDir / and -w / are the root, for exec too" {
	layer base
	made img base workdir=/
	from_image pwd
	[ "$output" = / ]
	from_image -w / -- pwd
	[ "$output" = / ]
	hutch create --image img box
	hutch exec box -- pwd
	[ "$output" = / ]
	hutch rm -f box
}

@test "WorkingDir is made where the image has none; -w and --workspace come first" {
	layer base
	made img base workdir=/srv/app
	from_image pwd
	[ "$output" = /srv/app ]
	from_image -w /made/here -- sh -c 'pwd; ls -ld /made/here'
	[[ $output == /made/here*drwxr-xr-x* ]]
	room project
	from_image --workspace project pwd
	[ "$output" = /workspace ]
}

@test "-u NAME=UID adds a user that the image lacks, and is the image's user of that name where it has one" {
	layer base
	made img base
	look='echo $(id -un):$(id -gn) $(id -u):$(id -g) $HOME'
	from_image -u openhands=1000 -- sh -c "$look; echo x >~/x && cat ~/x; stat -c '%U %a' ~; cat /etc/passwd"
	[ "${lines[*]:0:3}" = 'openhands:openhands 1000:1000 /home/openhands x openhands 755' ]
	[ "${lines[3]}" = 'openhands:x:1000:1000:openhands:/home/openhands:/bin/sh' ]
	[ "${lines[*]:4}" = 'root:x:0:0:root:/root:/bin/sh web:x:101:102:Web:/srv/web:/bin/sh' ]
	from_image -u other=101 -- sh -c "$look" # the image has another name for this id
	[ "$output" = 'other:other 101:101 /home/other' ]
	from_image -u web=1000 -- sh -c "$look" 2>/dev/null
	[[ $output == 'web:'*' 101:102 /srv/web' ]]
	inside --image img -u agent=7 id -un # the image has no agent
	[ "$output" = agent ]
	refuses '-u root=5: root has the ids 0:0' --image img -u root=5 id -u
	hutch create --image img -u openhands=1000 box
	[ "$("$HUTCH" exec -u openhands box id -un)" = openhands ]
	# The files are the sandbox's own, as if the image had them.
	inside --image img -u openhands=1000 sh -c 'echo y:x:9:9::/: >>/etc/passwd && mv /etc/passwd /p && cat /p | wc -l'
	[ "$output" = 4 ]
}

@test "a hostile image leads -u NAME=UID to no file of the host" {
	echo secret-of-the-host >secret
	give secret
	for word in passwd group; do
		layer base
		ln -sf "$T/secret" "base/etc/$word"
		"$HUTCH" image import base --name "link:$word"
		hutch run --image "link:$word" -u openhands=1000 cat "/etc/$word"
		[[ $status == 0 && $output$stderr != *secret-of* ]]
		rm "base/etc/$word"
		mkdir "base/etc/$word"
		"$HUTCH" image import base --name "folder:$word"
		hutch run --image "folder:$word" -u openhands=1000 cat "/etc/$word"
		[[ $status == 125 && $stderr == *"/etc/$word of the image is no file"* ]]
		rm -r base
	done
}

@test "User sets the ids of the command, by name, number, and with a group" {
	layer base
	made img base user=web
	from_image -- sh -c 'id; echo "$HOME $USER $LOGNAME"'
	[[ ${lines[0]} == "uid=101(web) gid=102"* ]]
	[ "${lines[1]}" = "/srv/web web web" ]
	from_image -u web:wheel id
	[[ $output == "uid=101(web) gid=10(wheel)"* ]]
	from_image -u 101 -- sh -c 'id -u; id -g; echo $HOME'
	[ "${lines[*]}" = "101 102 /srv/web" ]
	from_image -u 4000 -- sh -c 'id -u; id -g; echo $HOME'
	[ "${lines[*]}" = "4000 0 /" ]
	from_image -u 1000:7 -- sh -c 'id -u; id -g; echo "$USER"'
	[ "${lines[*]}" = "1000 7 1000" ]
	from_image -u root -- id -u
	[ "$output" = 0 ]
}

@test "a user or group that the image has not is an error" {
	layer base
	made img base user=ghost
	refuses "the image has no user 'ghost' \(its configuration's User\)" --image img id
	refuses "the image has no user 'other' \(-u\)" --image img -u other id
	refuses "the image has no group 'other' \(-u\)" --image img -u web:other id
}

@test "a passwd that is no file, is a link out of the image, or is odd, tells nothing" {
	layer base
	layer upper
	mkdir upper/etc
	ln -s "$T/secret" upper/etc/passwd
	ln -s "$T/secret" upper/etc/group
	printf 'root:x:0:0::/:\ntop:x:4:4::/:\n' >secret
	give upper
	made img base upper
	refuses "the image has no group 'top'" --image img -u 1:top id
	refuses "the image has no user 'top'" --image img -u top id

	mkdir -p odd/etc
	{
		head -c 100000 /dev/zero | tr '\0' x
		printf '\nweb:x:99999999999:1::/:\nweb:x:-1:1::/:\nweb:x:7:8:a:/ho\033me:/bin/sh\n'
	} >odd/etc/passwd
	give odd
	layer base
	made odd base odd
	inside --image odd -u web id
	[ "$status" -eq 125 ]
	[[ $stderr == *"its line is not that of an account"* ]]
}

@test "layers lie over each other: deleted, replaced and opaque" {
	layer base
	layer second
	mkdir -p second/data second/etc
	mknod second/data/file c 0 0
	echo new >second/data/new
	mkdir -p base/opaque second/opaque
	touch base/opaque/below second/opaque/above
	give base second
	as_who python3 -c 'import os; os.setxattr("second/opaque", "user.overlay.opaque", b"y")' ||
		skip "$T has no user.* attributes"
	made img base second
	from_image -- sh -c 'ls /data /opaque'
	[ "$output" = "/data:
new

/opaque:
above" ]
}

@test "writes go over the image, and the next sandbox does not find them" {
	layer base
	made img base
	from_image -- sh -c 'rm -r /data && mkdir /data && echo x >/data/x && mv /data /moved && rm -r /moved && mkdir /data && rmdir /data && echo done'
	[ "$output" = "done" ]
	from_image -- cat /data/file
	[ "$output" = "of the image" ]
}

@test "--read-only: nothing but /dev/shm can be written" {
	layer base
	made img base
	from_image --read-only -- sh -c '
		touch /x /tmp/x /workspace/x /data/x; rm /data/file; touch /dev/shm/x && echo shm'
	[ "$output" = shm ]
	[ "$(grep -c 'Read-only' <<<"$stderr")" -eq 5 ]
}

@test "120 layers are no more to say than one" {
	layer base
	local names=(base) i
	for i in {1..119}; do
		mkdir -p "layer$i/many"
		touch "layer$i/many/$i"
		names+=("layer$i")
	done
	give "${names[@]}"
	made img "${names[@]}"
	from_image -- sh -c 'ls /many | wc -l'
	[ "$output" -eq 119 ]
}

@test "an image of no layers is an empty root, and one static program is enough" {
	made empty
	inside --image empty -- /bin/sh
	[ "$status" -eq 127 ]
	one_sentence '/bin/sh: command not found in the image empty'
	mkdir one
	cp "$(tool alone)" one/alone
	give one
	made scratch one entrypoint=/alone
	inside --image scratch
	[[ $output == "uid 0 gid 0 in /workspace:"*" alone "* ]]
}

@test "nothing is above the root, and /etc/hosts, resolv.conf and hostname are there" {
	layer base
	made img base
	from_image --hostname mine -- sh -c '
		[ "$(stat -c %d:%i /..)" = "$(stat -c %d:%i /)" ] && echo top
		hostname; cat /etc/hostname; cat /etc/hosts; cat /etc/resolv.conf >/dev/null && echo resolv
		stat -c "%a %n" /tmp /run /workspace; readlink /etc/mtab'
	[ "${lines[0]}" = top ]
	[ "${lines[1]} ${lines[2]}" = "mine mine" ]
	has '127.0.0.1.*mine'
	has '^resolv$'
	has '^1777 /tmp$'
	has '^/proc/mounts$'
}

@test "folders that the image has stay as they are: modes, links, content" {
	layer base
	mkdir -p base/tmp base/var/run base/etc/apt
	chmod 1770 base/tmp
	chmod 750 base/etc
	ln -s var/run base/run
	echo x >base/tmp/mine
	give base
	made img base
	from_image -- sh -c 'stat -c "%a" /tmp /etc; readlink /run; cat /tmp/mine; ls /etc/apt/apt.conf.d; ls /etc/passwd'
	[ "$output" = "1770
750
var/run
x
zz-hutch
/etc/passwd" ]
}

@test "with one id, an image's root is told that owners and ids were changed" {
	layer base
	made img base
	from_image -- sh -c '
		chown 5:6 /data/file && stat -c "%u:%g" /data/file
		mknod /null c 1 3 && [ ! -e /null ] && echo no device
		mknod /pipe p && test -p /pipe && echo pipe
		busybox setuidgid web true 2>/dev/null; echo "$(id -u)"
		busybox tar -C /data -cf /t.tar file && busybox tar -C /tmp -xf /t.tar && echo tar'
	[ "$output" = "0:0
no device
pipe
0
tar" ]
}

@test "no other launch is told so: another user of an image, the host's image, a profile" {
	layer base
	made img base
	from_image -u web -- sh -c 'chown 5:6 /data/file'
	[ "$status" -ne 0 ]
	inside -u root -- chown 5:6 /tmp
	[ "$status" -ne 0 ]
	inside --image img --seccomp "$top/policy/seccomp/default.json" -- sh -c 'chown 5:6 /data/file'
	[ "$status" -ne 0 ]
}

@test "--dry-run tells of the layers, the user, and that calls pretend" {
	layer base
	layer two
	made img base two cmd=ls
	inside --dry-run --image img
	has '^overlay .*layers/.*layers/'
	has '^seccomp +changes of owners and ids pretend'
	has '^run +ls$'
	inside --dry-run --image none ls
	[ "$status" -eq 125 ]
	one_sentence '--image none: there is no such image in the store'
}

@test "an image that is not in the store is fetched, unless --pull never" {
	layer base
	made img base
	refuses '--image none: there is no such image in the store, and --pull never' \
		--image none --pull never true
	refuses '--image igm: .*; is it img[?]' --image igm --pull never true
	refuses 'pull localhost:1/none: .*no server answers' --image localhost:1/none true
	refuses 'pull localhost:1/none: .*no server answers' --pull always --image localhost:1/none true
	inside --json=5 --image localhost:1/none true 5>result
	grep -q '"message":"pull localhost:1/none: .*no server answers' result
	inside --pull never --image img true
	[ "$status" -eq 0 ]
	refuses '--pull takes missing, always or never' --pull sometimes --image img true
}

@test "--entrypoint without an image is an error, unless it says that there is none" {
	refuses '--entrypoint is for an image' --entrypoint ls true
	inside --entrypoint '' echo here
	[ "$output" = here ]
}

@test "an image is in use as long as its sandbox lives, and not longer" {
	layer base
	made img base
	held=$(echo home/.local/share/hutch/store/images/*)
	start --image img -- sh -c 'echo there; sleep 1000'
	said there
	never as_who flock -n -x "$held" true
	kill "$pid"
	ended 143
	as_who flock -n -x "$held" true
}

@test "an image is in use by a sandbox with a name, too" {
	layer base
	made img base env=COLOUR=blue user=web
	name=$(basename "$T" | tr . -)
	held=$(echo home/.local/share/hutch/store/images/*)
	hutch create --image img "$name"
	[ "$status" -eq 0 ]
	never as_who flock -n -x "$held" true
	hutch exec "$name" -- sh -c 'echo "$COLOUR $(id -u)"'
	[ "$output" = "blue 101" ]
	hutch exec -u web "$name" -- id -u
	[ "$output" = 101 ]
	hutch exec -u root "$name" -- id -u
	[[ $stderr == *"only one id is mapped"* ]]
	hutch inspect "$name"
	[[ $output == *'"image": "img"'* ]] || [[ $output == *'"image":"img"'* ]]
	hutch rm -f "$name"
	# The lock is released when the supervisor ends, which may be a moment
	# after its last answer.
	as_who flock -w "$PATIENCE" -x "$held" true
}

# All sandboxes read the same files in the store, so they share the page cache.
@test "sandboxes of one image share its pages" {
	layer base
	head -c 32M /dev/urandom >base/data/large
	give base
	made img base
	large=$(find "$HOME" -name large -path '*/layers/*')
	pages_of() { fincore -nbo PAGES "$large" | tr -d ' '; }
	# If the kernel is short of memory it may drop some pages of the file, so the file is read
	# once more.
	all_there() {
		(($(pages_of) == 32 << 20 >> 12)) && return
		from_image -- sh -c 'cat /data/large | wc -c'
		return 1
	}
	sync "$large"
	dd if="$large" iflag=nocache count=0 status=none
	(($(pages_of) < 100)) || skip "this host has no file system below /tmp that lets go of pages"
	for n in 1 2 3; do
		from_image -- sh -c 'cat /data/large | wc -c'
		[ "$output" = $((32 << 20)) ]
		# The pages are counted in the file of the store: if the sandbox read a copy, none
		# would be there.
		until_true all_there
	done
}

# The kernel divides each shared page by the number of processes that map it (proc(5), Pss).  The
# text of the program is never written, so the shares of all processes must add up to one copy.
@test "sandboxes that live at once share the pages of what they run" {
	local count=${SHARERS:-20} seconds=$((1000000 + $$)) n
	layer base
	made img base
	for ((n = 0; n < count; n++)); do
		"$HUTCH" create --image img "share$n" >/dev/null
		"$HUTCH" exec -d "share$n" -- sleep "$seconds" >/dev/null
	done
	# holders is the number of processes that map the text of busybox; mapped is the sum of
	# their mappings in KiB, and shared the sum of their shares.
	read -r holders mapped shares < <(for n in $(pgrep -fx "sleep $seconds"); do
		cat "/proc/$n/smaps"
	done | awk '
		/^[0-9a-f]+-[0-9a-f]+ / { is_text = $2 ~ /x/ && /busybox$/; holders += is_text }
		is_text && $1 == "Rss:" { mapped += $2 }
		is_text && $1 == "Pss:" { shares += $2 }
		END { print holders, mapped, shares }')
	echo "$holders have mapped $mapped KiB, and there are $shares"
	((holders == count && mapped > 100 * count && shares * count < mapped * 12 / 10))
}
