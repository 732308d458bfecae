#!/usr/bin/env bats
# Tests of images of the store with --idmap ranges, where files have the owners that the image
# gives them.

load helpers

setup_file() {
	made=$(mktemp -d /tmp/hutch-made.XXXXXX) || return 1
	export made
	chmod 755 "$made"
	python3 "$BATS_TEST_DIRNAME/owners.py" "$made/owners.tar"
	python3 "$BATS_TEST_DIRNAME/owners.py" "$made/many.tar" 3000
}

teardown_file() {
	[[ -z ${made:-} ]] || rm -rf "$made"
}

setup() {
	begin
	[[ -x /bin/busybox ]] || skip "busybox-static is not installed"
	needs_static
	needs_range
	store=$HOME/.local/share/hutch/store
}

# Files of subordinate ids, which this user cannot remove, are removed by hutch, after all
# processes that make such files have ended.
teardown() {
	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	remove_boxes
	for name in $("$HUTCH" image ls -q 2>/dev/null); do
		"$HUTCH" image rm -f "$name" >/dev/null 2>&1
	done
	"$HUTCH" image gc >/dev/null 2>&1
	end
}

# imported [ARCHIVE]: imports the image ARCHIVE into the store.
imported() {
	"$HUTCH" image import "$made/${1:-owners}.tar" --name owners:1 >/dev/null
}

ranges() {
	inside --image owners:1 --idmap ranges "$@"
}

# copies: prints the number of complete copies of layers.
copies() {
	find "$store/ranged" -mindepth 2 -maxdepth 2 -name '[0-9a-f]*' 2>/dev/null | wc -l
}

# left: lists the copies that are incomplete, or being removed.
left() {
	find "$store/ranged" -mindepth 2 -maxdepth 2 -name '.*' 2>/dev/null | sort
}

# begin_ranges: starts a launch in the background, and waits until it has begun to copy a layer.
# If the launch ended before the test saw that, starts another one.
begin_ranges() {
	until_true ranges_begun
}

ranges_begun() {
	before=$(left)
	start --image owners:1 --idmap ranges true
	until_true begun_or_over
	has_begun && return
	forget_copies
	return 1
}

begun_or_over() {
	has_begun || all_gone "$pid"
}

# Incomplete copies that were there before this launch do not count.
has_begun() {
	[ -n "$(comm -13 <(echo "$before") <(left))" ]
}

# halfway COMMAND...: runs begin_ranges, and COMMAND before the copy is complete.  If the copy was
# complete before that, removes it and tries again.
halfway() {
	until_true comes_halfway "$@"
}

comes_halfway() {
	begin_ranges
	"$@" && (($(copies) < 4)) && return
	forget_copies
	return 1
}

forget_copies() {
	wait "$pid" || true
	exec 7<&-
	"$HUTCH" image rm -f owners:1 >/dev/null
	"$HUTCH" image gc >/dev/null
	imported many
}

look='cd / && stat -c "%n %u:%g %a %h" bin/busybox srv srv/page srv/twin home/agent home/agent/mine \
	bin/setuid bin/setgid beyond closed link pipe hidden hidden/above hidden/again top tmp'

@test "files have the owners and modes that the image says, over all layers" {
	imported
	ranges sh -c "$look"
	[ "$status" -eq 0 ]
	[ "$output" = "bin/busybox 0:0 755 1
srv 33:34 2750 2
srv/page 33:33 600 2
srv/twin 33:33 600 2
home/agent 1000:1000 700 2
home/agent/mine 1000:1000 644 1
bin/setuid 0:0 4755 1
bin/setgid 0:42 2755 1
beyond 65534:65534 644 1
closed 7:7 0 1
link 0:0 777 1
pipe 0:0 640 1
hidden 10:10 711 1
hidden/above 9:9 644 1
hidden/again 10:10 644 1
top 33:0 644 1
tmp 0:0 1777 2" ]
	[ -z "$stderr" ]
	ranges sh -c 'ls -A /gone /hidden; test -e /last || echo none'
	[ "$output" = "/gone:

/hidden:
above
again
none" ]
	[ "$(copies)" = 3 ]
	[ -z "$(left)" ]
}

@test "the same image with one id is as it was" {
	imported
	inside --image owners:1 sh -c "$look"
	one=$output
	ranges true
	[ "$status" -eq 0 ]
	inside --image owners:1 sh -c "$look"
	[ "$output" = "$one" ]
	has '^srv/page 0:0 600 2$'
	has '^bin/setuid 0:0 755 1$'
	hutch image verify
	[ "$status" -eq 0 ]
	has '^5 blobs, 3 layers, 1 images, 1 names: all right$'
}

@test "files of the sandbox itself belong to root, and the working folder to the command" {
	imported
	for user in 0:0 33:33; do
		ranges -u $user stat -c '%n %u:%g' / /etc /etc/hosts /proc /dev /dev/shm /run /workspace
		[ "$output" = "/ 0:0
/etc 0:0
/etc/hosts 0:0
/proc 65534:65534
/dev 0:0
/dev/shm 0:0
/run 0:0
/workspace $user" ]
	done
}

@test "a user of the image owns that user's files in the image, and no others" {
	imported
	ranges -u www-data sh -c 'id -u; cat /srv/page; cat /closed; cat /home/agent/mine; echo x >/etc/hosts
		touch /workspace/x && stat -c %u:%g /workspace/x'
	[ "$output" = "33
page
33:33" ]
	[ "$(grep -c 'ermission denied' <<<"$stderr")" = 3 ]
	ranges -u 1000 sh -c 'id -u; cat /home/agent/mine; cat /srv/page'
	[ "$output" = "1000
mine" ]
	ranges -u 65535 id -u
	[ "$output" = 65535 ]
}

@test "root gives files away, becomes others, and what is below is written over" {
	imported
	ranges sh -c 'cat /closed; chown 5:6 /srv/page && stat -c %u:%g /srv/page /srv/twin
		chmod 4711 /top && stat -c %a /top
		rm -r /hidden && mkdir /hidden && ls -A /hidden; mv /srv /moved && stat -c %u:%g /moved/page
		su -s /bin/sh www-data -c "id -u; touch /tmp/x" && stat -c %u /tmp/x'
	[ "$status" -eq 0 ]
	[ "$output" = "closed
5:6
33:33
4711
5:6
33
33" ]
	ranges sh -c "stat -c %u:%g /srv/page /hidden"
	[ "$output" = "33:33
10:10" ]
	inside --image owners:1 --idmap ranges --read-only touch /x
	[[ $stderr == *'Read-only file system'* ]]
}

@test "the second launch copies nothing" {
	imported
	ranges true
	before=$(stat -c '%n %i %z' "$store"/ranged/*/*)
	ranges true
	ranges -u 33:33 true
	[ "$before" = "$(stat -c '%n %i %z' "$store"/ranged/*/*)" ]
	# A second image that has the same layers, with one more, has only that one copied.
	"$HUTCH" image import "$made/many.tar" --name many:1 >/dev/null
	inside --image many:1 --idmap ranges stat -c %u /many/77
	[ "$output" = 77 ]
	[ "$(copies)" = 4 ]
	[[ $stderr == 'hutch: note: --idmap ranges: 1 layer of the image (3001 entries, '* ]]
	(( ${#stderr_lines[@]} == 1 ))
	[ "$before" = "$(stat -c '%n %i %z' "$store"/ranged/*/* | grep -F "$before")" ]
}

@test "several at once: one makes it, the others wait" {
	imported many
	for i in 1 2 3 4; do
		"$HUTCH" run --image owners:1 --idmap ranges stat -c %u /many/$i >"out$i" 2>"err$i" &
	done
	wait
	[ "$(cat out?)" = "1
2
3
4" ]
	[ "$(cat err? | wc -l)" = 1 ]
	[ "$(copies)" = 4 ]
	[ -z "$(left)" ]
}

killed() {
	kill -KILL "$pid"
	ended 137
}

# helper_killed: kills hutch-image, which copies the layer, but not the launcher; the process in
# the jail ends with hutch-image.
helper_killed() {
	kill -KILL "$(pgrep -P "$pid" -x hutch-image)"
	ended 125
}

told_to_end() {
	kill -TERM "$pid"
	ended 125
}

@test "a killed copy leaves a store that works, and the next launch makes the copy" {
	imported many
	for ((round = 0; round < ${ROUNDS:-2}; round++)); do
		halfway killed
		hutch image verify
		[ "$status" -eq 0 ]
	done
	halfway helper_killed
	grep -q 'hutch image ended without saying why, while layers were copied' err
	ranges stat -c %u:%g /many/123 /srv/page
	[ "$status" -eq 0 ]
	[ "$output" = "123:8
33:33" ]
	[ -z "$(left)" ]
	hutch image verify
	[ "$status" -eq 0 ]
}

@test "a signal while it is prepared ends the launch" {
	imported many
	halfway told_to_end
	grep -q 'ended by signal 15 while layers were copied for --idmap ranges' err
}

@test "gc and rm remove them, what was left over too, and not what is used" {
	imported
	ranges true
	hutch image gc
	[ "$(copies)" = 3 ]
	start --image owners:1 --idmap ranges sh -c 'echo there; sleep 1000'
	said there
	hutch image rm -f owners:1
	[ "$(copies)" = 3 ]
	kill -KILL "$pid"
	wait "$pid" || true
	no_copies() {
		"$HUTCH" image gc >/dev/null && [ "$(copies)" = 0 ]
	}
	until_true no_copies
	[ -z "$(find "$store/ranged" -mindepth 2)" ]
	imported many
	begin_ranges
	killed
	hutch image rm owners:1
	[ "$status" -eq 0 ]
	# The copying process ends a moment after the killed one that asked for the copy, so gc is
	# repeated.
	nothing_left() {
		"$HUTCH" image gc >/dev/null && [ -z "$(find "$store/ranged" -mindepth 2)" ]
	}
	until_true nothing_left
}

@test "--dry-run copies nothing, and says what would be mounted" {
	imported
	ranges --dry-run true
	[ "$status" -eq 0 ]
	has "$store/ranged/.*/fs"
	[ ! -e "$store/ranged" ]
}

@test "a user without a range gets an error before anything is copied" {
	imported
	echo somebody:100000:65536 >subids
	catch outer sh -c 'mount --bind "$0" /etc/subuid; exec "$@"' "$T/subids" \
		"$HUTCH" run --image owners:1 --idmap ranges true
	[ "$status" -eq 125 ]
	one_sentence '--idmap ranges: /etc/subuid grants no range'
	[ ! -e "$store/ranged" ]
	catch setpriv --no-new-privs "$HUTCH" run --image owners:1 --idmap ranges true
	[ "$status" -eq 125 ]
	[[ $stderr == *'--idmap ranges: no_new_privs is set on this process'* ]]
	[ "$(copies)$(left)" = 0 ]
}

@test "a process that may not remove the copies gets an error, and may try again" {
	imported
	ranges true
	catch setpriv --no-new-privs "$HUTCH" image rm owners:1
	[ "$status" -eq 125 ]
	[[ $stderr == *'remove a layer for --idmap ranges, whose files belong to subordinate ids: '*no_new_privs* ]]
	[ "$("$HUTCH" image ls -q)" = "" ]
	catch setpriv --no-new-privs "$HUTCH" image gc
	[ "$status" -eq 125 ]
	hutch image gc
	[ "$status" -eq 0 ]
	[ -z "$(find "$store/ranged" -mindepth 2)" ]
}

@test "a user whose id is not mapped is an error" {
	mkdir -p one/bin
	give one
	"$here/store.py" big one user=70000 >/dev/null
	give home
	refuses "user 70000:0 \(the image's User\) is not among the ids 0 to 65535" \
		--image big --idmap ranges true
	[ ! -e "$store/ranged" ]
}

@test "verify sees what has changed in one, and --repair has it made again" {
	imported
	ranges true
	about=$(find "$store/ranged" -name about | sort | head -1)
	as_who sed -i 's/^there_sum .*/there_sum 1/' "$about"
	hutch image verify
	[ "$status" -eq 1 ]
	has "^layer $(basename "$(dirname "$about")") for --idmap ranges \(.*\): names, modes, sizes or times"
	hutch image verify --repair
	[ "$status" -eq 0 ]
	[ "$(copies)" = 2 ]
	ranges stat -c %u:%g /srv/page
	[ "$output" = 33:33 ]
	hutch image verify
	[ "$status" -eq 0 ]
	catch setpriv --no-new-privs "$HUTCH" image verify
	[ "$status" -eq 0 ]
	[[ $stderr == *'for --idmap ranges'*'was not looked at: '* ]]
}

@test "they count for the quota, and a full store says so" {
	imported
	used=$("$HUTCH" image quota | cut -d' ' -f1)
	ranges true
	[ "$used" != "$("$HUTCH" image quota | cut -d' ' -f1)" ]
	"$HUTCH" image rm owners:1 >/dev/null
	imported
	"$HUTCH" image quota 5m
	refuses '--image owners:1: there is no more room in the store' --image owners:1 --idmap ranges true
	[ "$(copies)$(left)" = 0 ]
}

@test "a sandbox that lives is as one that is run" {
	imported
	hutch create --image owners:1 --idmap ranges rooted
	[ "$status" -eq 0 ]
	hutch exec rooted sh -c 'id -u; cat /closed'
	[ "${lines[*]}" = "0 closed" ]
	hutch exec -u 33:33 rooted sh -c 'id -u; cat /closed'
	[ "$output" = 33 ]
	[[ $stderr == *'Permission denied'* ]]
	hutch create --image owners:1 --idmap ranges -u www-data box
	hutch exec box sh -c 'id -u; cat /srv/page; echo new >/srv/page'
	[ "${lines[*]}" = "33 page" ]
	hutch exec -u root box sh -c 'id -u; cat /closed; chown 0:0 /srv/page && chown 33:33 /srv/page'
	[ "${lines[*]}" = "0 closed" ]
	hutch exec -u 34:34 box sh -c 'id -u; cat /srv/page'
	[ "$output" = 34 ]
	[[ $stderr == *'Permission denied'* ]]
	[ "$("$HUTCH" cp box:/srv/page - | tar -xO)" = new ]
}

# account [OPTIONS] NAME: prints the ids, the supplementary groups, HOME, USER and LOGNAME of a
# command in sandbox NAME.
account() {
	hutch exec "$@" sh -c 'while read -r key rest; do
			[ "$key" != Groups: ] || groups=$rest
		done </proc/self/status
		echo "$(id -u):$(id -g) [$groups] $HOME $USER $LOGNAME"'
}

# is WHAT [OPTIONS] NAME: checks that account prints WHAT.
is() {
	local wanted=$1
	shift
	account "$@"
	[ "$status" -eq 0 ]
	[ "$output" = "$wanted" ]
}

# nobody_called WORDS [OPTIONS] NAME: checks that hutch exec fails with an error that has WORDS,
# and with a remedy.
nobody_called() {
	local words=$1
	shift
	hutch exec "$@" true
	[ "$status" -eq 125 ]
	[[ ${stderr_lines[0]} == "hutch: "*"$words"* && ${stderr_lines[1]} == 'hutch: hint: '* ]]
	(( ${#stderr_lines[@]} == 2 ))
}

@test "exec -u looks names up inside, as docker does, with the groups that have the user" {
	imported
	"$HUTCH" create --image owners:1 --idmap ranges box
	is '33:33 [] /srv www-data www-data' -u www-data box
	is '700:701 [44 45] /srv/app app app' -u app box
	is '700:701 [44 45] /srv/app app app' -u 700 box
	is '700:33 [] /srv/app app app' -u app:www-data box
	is '700:44 [] /srv/app app app' -u 700:first box
	is '33:9999 [] /srv www-data www-data' -u www-data:9999 box
	is '34:0 [] / 34 34' -u 34 box
	is '34:7 [] / 34 34' -u 34:7 box
	is '65535:65535 [] / 65535 65535' -u 65535:65535 box
	is '0:0 [] /root root root' -u root box
	is '0:0 [] /root root root' -u 0 box
	is '0:701 [] /root root root' -u root:app box
	is '0:0 [] /root root root' box
	is '700:701 [44 45] /elsewhere app app' -u app -e HOME=/elsewhere box
	hutch exec -u app box sh -c 'cat /srv/page; grep -h CapPrm /proc/self/status'
	[[ $output == *0000000000000000 && $stderr == *'ermission denied'* ]]
	hutch exec -t -u app box sh -c 'stat -L -c %u:%g /proc/self/fd/0; echo "$HOME"'
	[ "${lines[*]}" = $'700:701\r /srv/app\r' ]
}

@test "exec -u finds users that were added since, and those of the image if the file is gone" {
	imported
	"$HUTCH" create --image owners:1 --idmap ranges box
	hutch exec box sh -c 'echo "late:x:71:72::/late:/bin/sh" >>/etc/passwd; echo "team:x:73:late" >>/etc/group'
	[ "$status" -eq 0 ]
	is '71:72 [73] /late late late' -u late box
	hutch exec box rm /etc/passwd /etc/group
	is '0:0 [] /root root root' -u root box
	is '33:0 [] / 33 33' -u 33 box
	nobody_called '-u www-data: unable to find user www-data: no matching entries in passwd file' -u www-data box
	hutch exec box mkdir /etc/passwd
	nobody_called 'no matching entries in passwd file' -u www-data box
	hutch exec box sh -c 'rmdir /etc/passwd; mkfifo /etc/passwd'
	nobody_called 'no matching entries in passwd file' -u www-data box
	hutch exec box sh -c 'rm /etc/passwd; ln -s /proc/self/environ /etc/passwd'
	nobody_called '-u www-data: look in /etc/passwd and /etc/group of the sandbox: Permission denied' -u www-data box
}

@test "exec -u names a user that is not there, and one that cannot be" {
	imported
	"$HUTCH" create --image owners:1 --idmap ranges box
	nobody_called '-u www: unable to find user www: no matching entries in passwd file' -u www box
	nobody_called '-u app:apps: unable to find group apps: no matching entries in group file' -u app:apps box
	nobody_called '-u -1: unable to find user -1: no matching entries in passwd file' -u -1 box
	nobody_called '-u 65536: 65536 is not among the ids 0 to 65535 that --idmap ranges maps' -u 65536 box
	nobody_called '-u 33:65537: 65537 is not among the ids' -u 33:65537 box
	nobody_called '-u far: 70000 is not among the ids' -u far box
	nobody_called '-u member: 70000 is not among the ids' -u member box
	nobody_called '-u bare: the user is in more than 64 groups' -u bare box
	for user in '' :33; do
		hutch exec -u "$user" box true
		[ "$status" -eq 125 ]
		[[ $stderr == *"-u takes USER or USER:GROUP, not '$user'"* ]]
	done
	# After these errors the sandbox still runs commands as other users.
	is '33:33 [] /srv www-data www-data' -u www-data box
	"$HUTCH" create --image owners:1 -u www-data one
	# A sandbox with only one id mapped cannot call setgroups(2), so the groups of the caller
	# stay.
	for user in www-data www-data:www-data 33:www-data 33; do
		account -u $user one
		[[ $status == 0 && $output == '33:33 ['*'] /srv www-data www-data' ]]
	done
	nobody_called '-u app: only one id is mapped, and in this sandbox it stands for www-data (33:33)' -u app one
	nobody_called '-u root: only one id is mapped, and in this sandbox it stands for www-data (33:33)' -u root one
	nobody_called '-u www: unable to find user www: no matching entries in passwd file' -u www one
}

@test "diff sees folders that other users have closed, and a snapshot keeps owners" {
	imported
	hutch create --image owners:1 --idmap ranges box
	hutch exec box sh -c 'cd /srv && echo more >>page && chown 34:35 twin && mkdir -m 700 shut &&
		echo secret >shut/x && chown -R 77:78 shut && chmod 4600 shut/x && rm -r /hidden &&
		mkdir -m 711 /hidden && echo new >/hidden/new && chown 9:9 /hidden && rm /closed &&
		ln -s x link && su -s /bin/sh agent -c "echo y >/home/agent/mine"'
	[ "$status" -eq 0 ]
	hutch diff box
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	has '^M +10 /srv/page$'
	has '^A +- /srv/shut/$'
	has '^A +7 /srv/shut/x$'
	has '^D +7 /closed$'
	has '^M +2 /home/agent/mine$'
	hutch diff --patch box
	has '^\+secret$'
	hutch snapshot box
	[ "$status" -eq 0 ]
	[ "$output" = localhost/box:1 ]
	[ -z "$stderr" ]
	look='cd / && stat -c "%n %u:%g %a" srv srv/page srv/shut srv/shut/x hidden hidden/new home/agent/mine
		cat srv/shut/x; ls -A hidden; test -e closed || echo gone'
	hutch fork --idmap ranges localhost/box:1 twice
	[ "$status" -eq 0 ]
	hutch exec twice sh -c "$look"
	[ "$output" = "srv 33:34 2750
srv/page 33:33 600
srv/shut 77:78 700
srv/shut/x 77:78 4600
hidden 9:9 711
hidden/new 0:0 644
home/agent/mine 1000:1000 644
secret
new
gone" ]
	# In a sandbox with only one id all files belong to its user.
	inside --image localhost/box:1 sh -c "$look"
	[ "$status" -eq 0 ]
	has '^srv/shut/x 0:0 600$'
	has '^secret$'
	catch setpriv --no-new-privs "$HUTCH" diff box
	[ "$status" -eq 125 ]
	[[ $stderr == *no_new_privs* ]]
}

@test "without overlayfs it is an error, and nothing is copied" {
	imported
	forbid=$(tool forbid)
	catch "$forbid" overlay "$HUTCH" run --image owners:1 --idmap ranges true
	[ "$status" -eq 125 ]
	one_sentence '--idmap ranges with an image takes overlayfs'
	[ ! -e "$store/ranged" ]
}
