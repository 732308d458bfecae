#!/usr/bin/env bats
# Tests of --image dir:PATH, where a folder is the root, and writes go to a layer above it.

load helpers

setup() {
	begin
	image img
}

teardown() {
	end
}

# foreign: gives the folder img another owner and group, which makes it read-only for the sandbox.
foreign() {
	if is_root; then
		chown -R 4321:4321 img
	else
		skip "needs root: a folder that is somebody else's"
	fi
}

# users: gives the image img a user ada, 10001, and a group babbage.
users() {
	mkdir -p img/etc
	printf 'root:x:0:0::/root:/bin/sh\nada:x:10001:8::/home/ada:/bin/sh\n' >img/etc/passwd
	printf 'root:x:0:\nbabbage:x:9:ada\n' >img/etc/group
	give img
}

# in_users ARG...: prints the ids and the home of a command in that image.
in_users() {
	inside --image "dir:$T/img" -v /usr:/usr:ro "$@" -- sh -c 'echo $(id -u):$(id -g) $HOME $USER'
}

@test "dir: -u is looked up in the files of the folder, by name and by number" {
	users
	in_users -u ada
	[ "$output" = '10001:8 /home/ada ada' ]
	in_users -u 10001
	[ "$output" = '10001:8 /home/ada ada' ]
	in_users -u ada:babbage
	[ "$output" = '10001:9 /home/ada ada' ]
	in_users -u 700
	[ "$output" = '700:0 / 700' ]
	in_users -u agent
	[ "$output" = '1000:1000 /home/agent agent' ]
	in_users -u openhands=1000
	[ "$output" = '1000:1000 /home/openhands openhands' ]
	in_users -u ada=5
	[ "$output" = '10001:8 /home/ada ada' ]
	for form in "dir:$T/img:rw" --read-only; do
		[[ $form == --* ]] && form=("--image" "dir:$T/img" "$form") || form=(--image "$form")
		refuses "-u openhands=1000: the folder has no such user, and is shown as it is" \
			"${form[@]}" -u openhands=1000 true
	done
	in_users -u ada -e HOME=/x
	[ "$output" = '10001:8 /x ada' ]
	in_users
	[ "$output" = '0:0 /root root' ]
	refuses "the image has no user 'ghost' \\(-u\\)" --image "dir:$T/img" -u ghost true
	refuses "the image has no group 'ghost' \\(-u\\)" --image "dir:$T/img" -u ada:ghost true
	refuses 'open the image .*nosuch: No such file or directory' --image "dir:$T/nosuch" -u ada true
}

@test "dir: files of users that are hostile are no way out, and exec knows the sandbox's user" {
	users
	echo 'ada:x:7:7::/:/bin/sh' >other
	ln -sf "$T/other" img/etc/passwd # leads to no file below img
	refuses "the image has no user 'ada' \\(-u\\)" --image "dir:$T/img" -u ada true
	rm img/etc/passwd
	mkfifo img/etc/passwd
	give img
	refuses "the image has no user 'ada' \\(-u\\)" --image "dir:$T/img" -u ada true
	rm img/etc/passwd
	users
	hutch create --image "dir:$T/img" -v /usr:/usr:ro -u ada box
	for user in ada 10001 10001:8; do
		hutch exec -u $user box -- sh -c 'id -u'
		[ "$output" = 10001 ]
	done
	hutch exec -u root box -- true
	[ "$status" -eq 125 ]
	[[ $stderr == *'only one id is mapped, and in this sandbox it stands for ada (10001:8)'* ]]
	hutch rm -f box
}

@test "the folder is the root, the user is root, the working directory /workspace" {
	inside --image "dir:$T/img" -v /usr:/usr:ro sh -c 'id -u; pwd; cat /data/file; echo $HOME'
	[ "${lines[0]}" = 0 ]
	[ "${lines[2]}" = "of the image" ]
}

@test "nothing is above the root, and no mount of this host is listed" {
	for options in "--image=dir:$T/img" "--image=dir:$T/img --read-only"; do
		# shellcheck disable=SC2086 # words
		inside $options -v /usr:/usr:ro sh -c '
			[ "$(stat -c %d:%i /..)" = "$(stat -c %d:%i /)" ] && echo top
			cd /usr && [ "$(stat -c %d:%i ../../..)" = "$(stat -c %d:%i /)" ] && echo top
			[ ! -e "/..$0" ] && echo hidden
			while read -r _ _ _ _ at _; do
				[ "$at" != / ] || echo mount
			done </proc/self/mountinfo' "$T/img"
		[ "$output" = "top
top
hidden
mount" ]
	done
}

@test "a program that needs nothing runs in an image that has nothing else" {
	needs_static
	mkdir empty
	cp "$(tool alone)" empty/alone
	give empty
	inside --image "dir:$T/empty" /alone
	[[ $output == "uid 0 gid 0 in /workspace:"*" alone "*"proc"* ]]
	inside --read-only --image "dir:$T/empty" -u agent /alone
	[[ $output == "uid 1000 gid 1000 in /workspace:"*" alone "* ]]
	[ "$(ls empty)" = alone ]
}

@test "all ways to write succeed inside and change nothing in the folder" {
	before=$(state_of img)
	inside --image "dir:$T/img" -v /usr:/usr:ro -i /usr/bin/python3 -SE - write <"$here/images.py"
	echo "$stderr"
	[ "$status" -eq 0 ]
	[ "$output" = "truncated
OF
['file', 'renamed']
['renamed']
[] ['renamed']" ]
	[ "$(state_of img)" = "$before" ]
}

@test "copy_file_range and FICLONE into the image change nothing in the folder" {
	before=$(state_of img)
	inside --image "dir:$T/img" -v /usr:/usr:ro -i /usr/bin/python3 -SE - clone <"$here/images.py"
	[ "$(state_of img)" = "$before" ]
}

@test "files that one sandbox wrote are not in the next one" {
	imaged img sh -c 'echo x >/data/new; rm /data/file'
	inside --image "dir:$T/img" -v /usr:/usr:ro ls /data
	[ "${lines[*]}" = "file other" ]
}

@test "a folder of another user can be read and not written to" {
	foreign
	chmod -R a+rX img
	inside --image "dir:$T/img" -v /usr:/usr:ro sh -c 'cat /data/file; echo x >/data/file; rm /data/file; touch /data/x'
	[ "$output" = "of the image" ]
	[ "$(grep -c 'Read-only' <<<"$stderr")" -eq 3 ]
	inside --image "dir:$T/img" -v /usr:/usr:ro sh -c 'touch /tmp/x /workspace/x /run/x && echo scratch'
	[ "$output" = scratch ]
}

@test "an ordinary user's image that is the host's own root can be read and not written to" {
	inside --image dir:/ -u agent sh -c 'echo ran; touch /usr/x; echo x >>/etc/passwd'
	[ "$output" = ran ]
	[ "$(grep -ci 'read-only\|denied' <<<"$stderr")" -eq 2 ]
}

@test "--read-only: nothing of the image can be written, nor changed" {
	before=$(state_of img)
	inside --read-only --image "dir:$T/img" -v /usr:/usr:ro sh -c '
		cat /data/file; echo x >/data/file; rm /data/file; touch /data/x /x /tmp/x /workspace/x
		touch /dev/shm/x && echo shm'
	[ "${lines[*]}" = "of the image shm" ]
	[ "$(grep -c 'Read-only' <<<"$stderr")" -eq 6 ]
	[ "$(state_of img)" = "$before" ]
}

@test "/etc/hostname, hosts and resolv.conf are the sandbox's, and the image's own stay" {
	echo theirs >img/etc/hosts
	ln -s /data/file img/etc/resolv.conf
	give img
	inside --image "dir:$T/img" -v /usr:/usr:ro --hostname mine sh -c 'hostname; cat /etc/hostname /etc/hosts'
	has '^mine$'
	has '127.0.0.1.*mine'
	has_not theirs
	[ "$(cat img/etc/hosts)" = theirs ]
	[ "$(cat img/data/file)" = "of the image" ]
}

@test "an image with device nodes, set-uid files and odd names does no harm" {
	is_root && mknod img/data/null c 1 3
	mkfifo img/data/fifo
	touch "img/a:b,c=d" $'img/new\nline'
	give img
	inside --image "dir:$T/img" -v /usr:/usr:ro sh -c 'ls / | wc -l; echo x >/data/null; echo $?'
	[ "$status" -eq 0 ]
	is_root && [[ $stderr == *denied* ]]
	inside --read-only --image "dir:$T/img" -v /usr:/usr:ro sh -c 'echo ran'
	[ "$output" = ran ]
}

@test "a path with a colon, a comma, a backslash or a newline is an image like any other" {
	for name in 'a:b' 'a,b' 'a\b' $'a\nb' 'a b' "$(printf 'long%.0s' {1..60})"; do
		cp -a img "$name"
		inside --image "dir:$T/$name" -v /usr:/usr:ro cat /data/file
		[ "$output" = "of the image" ]
	done
}

@test "dir:PATH:rw writes to the folder itself, below its entries" {
	mkdir img/home && ln -s data/file img/alias
	echo kept >img/pin
	give img
	inside --image "dir:$T/img:rw" -v /usr:/usr:ro -- sh -c 'echo x >/data/new; rm /data/other; ln -s / /home/out; cat /alias; touch /top /home/out/top'
	[ "$output" = 'of the image' ]
	[ "$(grep -c 'Read-only' <<<"$stderr")" -eq 2 ]
	[ "$(cat img/data/new)" = x ]
	[ ! -e img/data/other ]
	[ "$(ls img)" = "$(printf '%s\n' alias bin data etc home lib lib64 pin sbin usr)" ]
	inside --image "dir:$T/img:rw" -v /usr:/usr:ro --protect 'data/fi*' --protect pin -- sh -c 'echo y >/data/file; echo y >/pin; cat /data/new'
	[ "$output" = x ]
	[ "$(cat img/pin)" = kept ]
	[ "$(cat img/data/file)" = 'of the image' ]
	hutch create --image "dir:$T/img:rw" -v /usr:/usr:ro box
	hutch inspect box
	[ "$(jq -r '.[0].image' <<<"$output")" = "dir:$T/img:rw" ]
	hutch rm -f box
}

@test "dir:PATH:rw is refused for a folder of another user, and where writes are to be kept apart" {
	refuses '--image dir:/usr:rw: the folder belongs to user 0' --image dir:/usr:rw true
	for flag in --read-only --protect-missing "--upper $T/u" '--disk 10m' '--idmap ranges'; do
		# shellcheck disable=SC2086 # words
		refuses "${flag%% [/1]*} and --image dir:PATH:rw exclude each other" --image "dir:$T/img:rw" $flag true
	done
	refuses '--image dir: names no folder' --image dir::rw true
	mkdir -p img/own/hutch
	chmod 700 img/own/hutch
	give img
	XDG_DATA_HOME=$T/img/own refuses "mount .*own/hutch is hutch's own and never inside" --image "dir:$T/img/own:rw" true
}

@test "dir: with a relative path and through a link" {
	ln -s img link
	for ref in dir:img dir:./img dir:link; do
		inside --image "$ref" -v /usr:/usr:ro cat /data/file
		[ "$output" = "of the image" ]
	done
}

@test "the upper folder, where there is one, is gone after any end" {
	imaged img true
	imaged img sh -c 'mkdir -p /data/a/b/c && chmod 000 /data/a/b && exit 3' || true
	inside --timeout 0.2 --image "dir:$T/img" -v /usr:/usr:ro sleep 1000
	[ "$status" -eq 124 ]
	inside --image "dir:$T/img" -v /usr:/usr:ro -w /nonexistent true
	[ "$status" -eq 125 ]
	[ -z "$(find "$T" -name '.upper-*')" ]
}

@test "images that are absent, files, unreadable or of an unknown kind are errors" {
	refuses 'open the image .*/nonexistent: No such file' --image "dir:$T/nonexistent" true
	refuses 'the image .*/file is not a directory' --image "dir:$T/img/data/file" true
	refuses "--image: .*'UPPER'" --image UPPER true
	refuses "--image: " --image '' true
	refuses '--image dir: names no folder' --image dir: true
	ln -s loop loop
	refuses 'open the image .*loop' --image "dir:$T/loop" true
	mkdir -m 0 shut
	refuses "read the image $T/shut: Permission denied" --image "dir:$T/shut" true
	[[ $stderr == *'must be able to list that folder and to enter it' ]]
}

@test "a command that the image has not is 127" {
	needs_static
	mkdir none
	give none
	inside --image "dir:$T/none" /bin/sh
	[ "$status" -eq 127 ]
	one_sentence '/bin/sh: '
}
