#!/usr/bin/env bats
# Tests of --keep and hutch start: a sandbox ends, and is later started again with its files.

bats_require_minimum_version 1.5.0
load helpers
load busybox

setup() {
	begin
	image img
	mkdir data
	give data
	export XDG_DATA_HOME=$T/data
	needs_data_attributes
}

teardown() {
	remove_boxes
	end
}

# kept [OPTION...]: creates box with --keep from the folder image img.
kept() {
	hutch create --keep --image "dir:$T/img" -v /usr:/usr:ro "$@" box
	[ "$status" -eq 0 ]
}

again() {
	hutch start "$@" box
	[ "$status" -eq 0 ]
	[ "$output" = box ]
}

in_box() {
	hutch exec box -- sh -c "$1"
	[ "$status" -eq 0 ]
}

ended_box() {
	hutch "$@" box
	[ "$status" -eq 0 ]
}

# says CODE PATTERN VERB ARG...: checks that the verb ends with CODE and prints one sentence that
# matches, and no more.
says() {
	local code=$1 pattern=$2
	shift 2
	hutch "$@"
	[ "$status" -eq "$code" ]
	one_sentence "$pattern"
}

@test "a kept sandbox goes on with its files, options and name after any end, and rm removes all of it" {
	kept -e A=b --hostname there -w /data
	in_box 'echo one >new; rm other; echo $A; hostname; pwd'
	local first=$output id end
	id=$("$HUTCH" ps -a --json | grep -o '"id":"[^"]*"')
	for end in 'stop -t 0' kill; do
		# shellcheck disable=SC2086 # words
		ended_box $end
		hutch ps
		has_not box
		hutch ps -a
		has '^box .*ended .*, kept'
		again
		in_box 'echo more >>new; echo $A; hostname; pwd'
		[ "$output" = "$first" ]
	done
	[ "$("$HUTCH" ps -a --json | grep -o '"id":"[^"]*"')" = "$id" ]
	kill -KILL "$(supervisor_of)"
	hutch wait box
	again
	in_box 'cat new; ls; ls /tmp'
	[ "$output" = $'one\nmore\nmore\nfile\nnew' ]
	hutch rm box
	[ "$status" -eq 125 ]
	ended_box rm -f
	[ -z "$(ls -A data/hutch/kept)" ]
	says 125 "no sandbox named 'box' is kept" start box
	hutch ps -a
	has_not box
}

@test "the rules about connections are kept" {
	kept --deny b.org=no --allow pypi.org
	ended_box stop -t 0
	again
	in_box 'cat /etc/resolv.conf; bash -c "echo >/dev/tcp/a.org/80" 2>&1 || true'
	[[ $output == 'nameserver 10.0.2.2'*'Permission denied'* ]]
	ended_box stop -t 0
	[ "$(jq -c .egress data/hutch/kept/*/policy.json)" = '{"rules":[{"deny":"b.org","why":"no"},{"allow":"pypi.org"}]}' ]
}

@test "labels stay over ends, starts and a reboot" {
	local labels='.[0].labels | tojson'
	kept --label team=web --label 'note=a b'
	ended_box stop -t 0
	again
	[ "$("$HUTCH" inspect box | jq -r "$labels")" = '{"team":"web","note":"a b"}' ]
	ended_box kill
	rm -rf runtime/hutch
	[ "$("$HUTCH" ps -a --filter label=team=web --format '{{.Name}} {{.Labels}}')" = 'box team=web,note=a b' ]
	[ "$("$HUTCH" inspect box | jq -r "$labels")" = '{"team":"web","note":"a b"}' ]
}

@test "a reboot takes the state folder, and no more" {
	kept
	in_box 'echo x >/data/new'
	ended_box stop -t 0
	rm -rf runtime/hutch
	hutch ps -a
	has '^box .*dir:|^box .*ended, kept'
	hutch inspect box
	has '"state": "ended"'
	again
	in_box 'cat /data/new'
	[ "$output" = x ]
	ended_box kill
	rm -rf runtime/hutch
	ended_box rm
	[ -z "$(ls -A data/hutch/kept)" ]
}

@test "the name is taken as long as it is kept, and starting one that lives says so" {
	kept
	says 125 "sandbox 'box' is running" start box
	ended_box kill
	says 125 "a sandbox named 'box' has ended and is kept" create box
	hutch create other
	says 125 "sandbox 'other': a sandbox named 'box' has ended and is kept" rename other box
	says 125 "sandbox 'other' has ended, and nothing of it is kept" start "$(
		"$HUTCH" kill other)"
	again
	hutch rename box bix
	[ "$status" -eq 0 ]
	hutch kill bix
	says 125 "sandbox 'box' has ended, and nothing of it is kept" start box
	hutch start bix
	[ "$status" -eq 0 ]
}

@test "a client that is told of the end can start it again, and of two at once one succeeds" {
	kept
	local round
	for round in 1 2 3 4 5 6 7 8; do
		ended_box kill
		again
	done
	ended_box kill
	local i said=() codes=()
	for i in 1 2 3 4; do
		"$HUTCH" start box >"out.$i" 2>"err.$i" &
		said+=($!)
	done
	for i in "${said[@]}"; do
		wait "$i" && codes+=(0) || codes+=($?)
	done
	[ "$(printf '%s\n' "${codes[@]}" | sort | xargs)" = "0 125 125 125" ]
	[ "$(cat err.* | grep -cE "box' (is running|is being)")" -eq 3 ]
	in_box true
}

@test "many that are made at once are all made" {
	local i
	for i in {1..24}; do
		"$HUTCH" create --keep --image "dir:$T/img" -v /usr:/usr:ro "p$i" >>out 2>>err &
	done
	wait
	cat err
	[ ! -s err ]
	[ "$(wc -l <out)" -eq 24 ]
	[ -z "$(ls -A data/hutch/kept | grep '^\.')" ]
	"$HUTCH" rm -f p{1..24} >/dev/null
	[ -z "$(ls -A data/hutch/kept)" ]
}

@test "secrets are not on disk, and a start needs them again" {
	kept --secret TOKEN=hunter-2222 --secret OTHER=hunter-3333
	in_box 'echo $TOKEN'
	never grep -rq hunter- data
	ended_box kill
	never grep -rq hunter- data runtime
	says 125 'secrets are not kept, and these have no value: TOKEN, OTHER$' start box
	OTHER=hunter-4444 again -e TOKEN=hunter-5555
	in_box 'test $OTHER$TOKEN = hunter-4444hunter-5555'
	never grep -rq hunter- data runtime
	says 125 '--keep would write the value of a secret to disk: it stands in env' \
		create --keep --image "dir:$T/img" --secret A=hunter-6666 -e B=x-hunter-6666 two
	[ ! -e data/hutch/kept/two ]
}

@test "changes in folders with :cow are kept, too, until they are applied" {
	room ws
	kept -v ws:/ws:cow
	in_box 'echo one >/ws/new'
	ended_box kill
	again
	in_box 'echo two >>/ws/new'
	ended_box stop -t 0
	[ ! -e ws/new ]
	hutch apply box
	[ "$(cat ws/new)" = $'one\ntwo' ]
	again
	in_box 'echo three >>/ws/new; cat /ws/new'
	[ "$output" = $'one\ntwo\nthree' ]
	ended_box kill
	mv ws moved
	room ws
	says 125 "changes of sandbox 'box' are kept, and the folders" start box
	hutch ps -a
	has '^box .*, kept'
}

@test "a shown folder leads where it led, also if the inside put a link there" {
	room ws ws/sub other
	echo theirs >other/theirs
	ln -s ws link
	kept -v "$T/ws:/ws" -v ws/sub:/sub -v link:/link:ro
	in_box "rm -d /ws/sub; ln -s $T/other /ws/sub"
	ended_box kill
	says 125 "a path that the sandbox shows leads elsewhere than when the sandbox was made: \"/sub\" \"$T/other\"" start box
	rm ws/sub
	mkdir ws/sub
	give ws/sub
	ln -sfn other link
	says 125 "a path that the sandbox shows leads elsewhere .*: \"/link\" \"$T/other\"" start box
	ln -sfn ws link
	again
	in_box 'ls /sub /link'
	ended_box kill
	rm data/hutch/kept/box/places
	says 125 '.*kept/box/places: open it' start box
}

# swapped A B...: exchanges the two names of each pair again and again, until the test ends.  A
# second sandbox that may write to their parent folder could do the same.
swapped() {
	mkfifo up
	"$here/keep.py" swap "$@" 3>&- &
	started+=("$!")
	read -r <up
}

# started_often COMMAND: starts box at least ROUNDS times, and until one start was refused; checks
# that COMMAND prints nothing in each box that started.
started_often() {
	local refused=0 n
	for ((n = 0; n < ${ROUNDS:-15} || refused == 0; n++)); do
		((n < 10000))
		hutch start box
		if [ "$status" -ne 0 ]; then
			refused=$((refused + 1))
			continue
		fi
		in_box "$1"
		[ -z "$output" ]
		ended_box kill
	done
}

@test "a link that comes and goes while it starts is never shown" {
	room ws ws/sub other
	echo theirs >other/theirs
	ln -s "$T/other" ws/link
	kept -v "$T/ws:/ws" -v ws/sub:/sub
	ended_box kill
	swapped ws/sub ws/link
	started_often 'ls /sub'
}

@test "a unix socket is published where it was, whatever link was put there from inside" {
	room ws ws/d other
	kept -v "$T/ws:/ws" -v other:/other:ro -p "$T/ws/d/box.sock:80"
	in_box 'mv /ws/d /ws/link; ln -s ../other /ws/d'
	ended_box kill
	says 125 "a path that the sandbox shows leads elsewhere .*: \"-p $T/ws/d/box.sock:80\" \"$T/other\"" start box
	swapped ws/d ws/link
	started_often 'ls -A /other'
	kill "${started[-1]}"
	wait "${started[-1]}" || true
	[ ! -L ws/d ] || { rm ws/d && mv ws/link ws/d; }
	again
	[ -S ws/d/box.sock ]
	[ "$("$HUTCH" port rm box "$T/ws/d/box.sock")" = "$T/ws/d/box.sock" ]
	[ ! -e ws/d/box.sock ]
}

# is_settled: true when hutch has paused box for a replaced file, or does not watch files in box.
is_settled() {
	local told
	told=$("$HUTCH" inspect box)
	[[ $told == *'"state": "paused"'* || $told == *'"protect"'* ]]
}

# With --protect, hutch watches the folder, and so notices if a link takes the folder's place
# during the start.
@test "a link in the place of a protected folder is not followed" {
	room ws ws/sub other
	echo theirs >other/theirs
	ln -s "$T/other" ws/link
	mkdir -p "img$T/other" # so that it leads somewhere inside, too
	kept -v "$T/ws:/ws" --best-effort --protect sub
	ended_box kill
	swapped ws/sub ws/link
	local started=0 n
	for ((n = 0; n < ${ROUNDS:-20} || started == 0; n++)); do
		((n < 10000))
		hutch start box
		[ "$status" -eq 0 ] || continue
		started=$((started + 1))
		# This waits for the pause, since hutch does not pause box again after unpause
		# --force; a box in which hutch does not watch files is never paused.
		until_true is_settled
		hutch unpause --force box
		[ "$status" -eq 0 ] || [[ $stderr == *'is not paused'* ]]
		hutch exec box -- sh -c "cat $T/other/theirs /ws/sub/theirs /ws/link/theirs"
		[[ $output != *theirs* ]]
		ended_box kill
	done
}

@test "a link in the place of the folder of --upper, or of the two in it, is not followed" {
	room ws ws/up other other/upper other/work
	echo theirs >other/upper/theirs
	kept -v "$T/ws:/ws:ro" --upper ws/up
	ended_box kill
	ln -s "$T/other" ws/link
	swapped ws/up ws/link
	started_often 'ls /theirs 2>/dev/null; true'
	kill "${started[-1]}"
	wait "${started[-1]}" || true
	rm up
	[ ! -L ws/up ] || { rm ws/up && mv ws/link ws/up; }
	ln -s "$T/other/upper" ws/up/a
	ln -s "$T/other/work" ws/up/b
	swapped ws/up/upper ws/up/a ws/up/work ws/up/b
	started_often 'ls /theirs 2>/dev/null; true'
	[ "$(find other | sort | xargs)" = "other other/upper other/upper/theirs other/work" ]
}

@test "a link in the folder of --upper at its end is not followed" {
	room ws ws/up other
	kept --upper ws/up
	mv ws/up/work/work ws/up/work/old
	ln -s "$T/other" ws/up/work/work
	chmod 755 other
	ended_box kill
	hutch wait box
	until_true released
	[ "$(stat -c %a other)" -eq 755 ]
	rm ws/up/work/work
	mv ws/up/work/old ws/up/work/work
	again
	ended_box kill
	until_true released
	[ "$(stat -c %a ws/up/work/work)" -eq 700 ]
}

# released: true when the janitor has ended, and the lock on ws/up is free.
released() {
	flock -n ws/up true
}

@test "the filter of a kept sandbox is the one that it was made with, whatever is in the file by now" {
	room ws
	echo '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}' >ws/filter.json
	give ws
	kept --workspace ws --seccomp ws/filter.json
	hutch exec box mkdir /tmp/new
	[ "$status" -ne 0 ]
	in_box 'echo "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[]}" >/workspace/filter.json'
	ended_box kill
	again
	hutch exec box mkdir /tmp/new
	[ "$status" -ne 0 ]
	ended_box kill
	rm ws/filter.json
	hutch start box
	[ "$status" -eq 0 ]
	hutch exec box mkdir /tmp/new
	[ "$status" -ne 0 ]
}

@test "a path that was relative is below the folder that it was made in" {
	room cg ws
	kept --cgroup-parent cg --best-effort --workspace ws
	grep -q "\"cgroup_parent\":\"$T/cg\"" data/hutch/kept/box/policy.json
	grep -q "\"workspace\":\"$T/ws\"" data/hutch/kept/box/policy.json
}

@test "a kept sandbox goes on with its own files, also where another one is called as its id is" {
	kept
	in_box 'echo one >/data/new'
	ended_box kill
	local id
	id=$("$HUTCH" ps -aq)
	hutch create --keep --image "dir:$T/img" -v /usr:/usr:ro "$id"
	hutch exec "$id" -- sh -c 'echo other >/data/new'
	hutch kill "$id"
	again
	in_box 'cat /data/new'
	[ "$output" = one ]
	ended_box rm -f
	[ "$(ls -A data/hutch/kept)" = "$id" ]
}

@test "a sandbox that cannot be kept is an error, and so is one kept by another version" {
	says 125 '--keep keeps what is written over an image' create --keep box
	says 125 '--keep keeps what is written, and --read-only' create --keep --read-only --image "dir:$T/img" box
	says 125 '--keep is a flag of hutch create' run --keep true
	says 125 '--memory is no flag of hutch start' start --memory 1g box
	BAD=$'\xff' says 125 '--keep keeps only UTF-8 text, and the value of env is not' create --keep --image "dir:$T/img" -e BAD box
	for i in 1 2; do awk -v n=$i 'BEGIN { for (i = 0; i < 1500; i++) printf "V%d_%d=%0400d\n", n, i, 0 }' >"many.$i"; done
	says 125 '--keep keeps options of up to 1048576 bytes' create --keep --image "dir:$T/img" --env-file many.1 --env-file many.2 box
	[ -z "$(ls -A data/hutch/kept 2>/dev/null)" ]
	kept
	ended_box kill
	sed -i 's/"version":1,"image"/"version":1,"env_files":["many.1"],"image"/' data/hutch/kept/box/policy.json
	says 125 "the kept options of sandbox 'box' have env-file, which is never kept in that form" start box
	sed -i 's/"env_files":\["many.1"\],//' data/hutch/kept/box/policy.json
	chmod 755 data/hutch/kept/box
	says 125 '.*kept/box/about: it is open to others, or not yours' start box
	chmod 700 data/hutch/kept/box
	sed -i 's/"version":1/"version":2/' data/hutch/kept/box/about
	says 125 '.*kept/box/about: it is of another version' start box
	sed -i 's/"version":2/"version":1,"more":1/' data/hutch/kept/box/about
	says 125 ".*about: .*'more'" start box
	sed -i 's/,"more":1//' data/hutch/kept/box/about
	sed -i 's/"keep"/"kep"/' data/hutch/kept/box/policy.json
	says 125 ".*policy.json: policy: unknown key 'kep'" start box
}

@test "with --upper the files are there, and stay there" {
	room up
	kept --upper up
	in_box 'echo x >/data/new'
	ended_box kill
	[ "$(cat up/upper/data/new)" = x ]
	again
	in_box 'cat /data/new'
	[ "$output" = x ]
	ended_box rm -f
	[ "$(cat up/upper/data/new)" = x ]
}

@test "a kept sandbox is of the image that it was made of, whatever has that name now" {
	needs_static
	own_store
	busybox_image >/dev/null
	kept_of_store
	in_box 'echo x >/new'
	ended_box kill
	hutch image import img --name bb:1
	[ "$status" -eq 0 ]
	again
	in_box 'cat /new; test -x /bin/busybox'
	hutch ps
	has '^box .*bb:1 '
	ended_box kill
	hutch image rm bb:1
	hutch image gc
	says 125 "the image that sandbox 'box' was made of is gone: .*bb:1, with the digest sha256:" start box
	hutch ps -a
	has '^box .*, kept'
}

kept_of_store() {
	hutch create --keep --image bb:1 box
	[ "$status" -eq 0 ]
}

@test "after a kill of any process at a random instant the sandbox lives or is kept, and goes on" {
	as_who env PYTHONDONTWRITEBYTECODE=1 ROUNDS="${ROUNDS:-25}" "$here/killer_kept.py" "$HUTCH" "$T/img"
}

@test "rules over a policy's network none, and --add-host, are the same after a start" {
	echo '{"version": 1, "network": "none"}' >none.json
	kept --policy ./none.json --allow @host:8080 --add-host db:host-gateway --add-host a.lan:10.1.2.3
	ended_box stop
	again
	hutch net box ls --json
	[ "$(jq -c .rules <<<"$output")" = '[{"allow":"@host:8080"},{"allow":"@host:8080","as":"db"}]' ]
	in_box 'cat /etc/hosts'
	[ "${lines[2]}" = $'10.1.2.3\ta.lan' ]
}
