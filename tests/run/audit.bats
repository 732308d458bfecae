#!/usr/bin/env bats
# What is put on record, that it cannot be left out, and that a change of it is found.

load helpers

setup() {
	begin
	log=$HOME/.local/share/hutch/audit/log.1
}

teardown() {
	remove_boxes
	end
}

# whole [N]: the log is, and has N entries.
whole() {
	hutch audit verify
	[[ $status == 0 && -z $stderr && $output == "whole: ${1:-}"* ]]
}

# broken PATTERN: it is not, and the sentence says where.
broken() {
	hutch audit verify "${@:2}"
	[[ $status == 1 && -z $output ]] && one_sentence "broken: $1"
}

# events: the kinds of the entries, in order.
events() {
	hutch audit show --json
	[[ $status == 0 && -z $stderr ]]
	output=$(grep -oE '"event":"[a-z]+"' <<<"$output" | cut -d'"' -f4 | xargs)
}

# entry EVENT KEY...: the values of the first such entry, as JSON.
entry() {
	"$HUTCH" audit show --json | python3 -c '
import json, sys
for line in sys.stdin:
    x = json.loads(line)
    if x["event"] == sys.argv[1]:
        print(*(json.dumps(x.get(k)) for k in sys.argv[2:]))
        break' "$@"
}

# edit COMMAND: of sed, on the log, in the same file.
edit() {
	sed "$1" "$log" >copy
	cat copy >"$log"
}

three_runs() {
	for i in 1 2 3; do
		box --audit on -- true
	done
}

# --- what is on record ------------------------------------------------------------

@test "a launch is on record with what is effective, and its end" {
	room work
	box --audit on --workspace work:ro -e A=value --memory 1g --best-effort -- sh -c 'exit 3' || [ $? = 3 ]
	whole '2 entries '
	[ "$(entry launch verb argv image image_digest network name)" = '"run" ["sh", "-c", "exit 3"] "host" null "none" null' ]
	[ "$(entry end reason exit_code signal error)" = '"exited" 3 null null' ]
	policy=$(entry launch policy)
	[[ $policy == *"\"workspace\": \"$T/work:ro\""* && $policy == *'"env": ["A"]'* && $policy == *'"memory": 1073741824'* ]]
	[[ $policy != *value* ]]
	[ "$(stat -c %a "$log" "${log%/*}" | xargs)" = "600 700" ]
	[ "$(entry launch uid)" = "$who" ]
	[ "$(entry launch policy_sha256)" = "\"$(tail -n +1 "$log" | head -1 | sed 's/.*"policy"://; s/}$//' | tr -d '\n' | sha256sum | cut -d' ' -f1)\"" ]
}

@test "without --audit, and with off, nothing is on record" {
	box -- true
	box --audit off -- true
	[ ! -e "${log%/*}" ]
	echo '{"version":1,"audit":"on"}' >p.json
	box --policy ./p.json --audit off -- true
	[ ! -e "${log%/*}" ]
	box --policy ./p.json -- true
	whole '2 entries '
	hutch audit verify ./none
	[[ $status == 125 ]]
	one_sentence 'open ./none'
}

@test "a launch that fails is on record" {
	refuses 'mount /nowhere' --audit on -v /nowhere:/x -- true
	inside --audit on -- no-such-program
	[[ $status == 127 ]]
	events
	[ "$output" = "refused launch end" ]
	[[ $(entry refused what kind why) == '"launch" "not_found" "mount /nowhere: '* ]]
	[ "$(entry end reason exit_code)" = '"setup-error" 127' ]
}

# --- what is not --------------------------------------------------------------------

@test "what would steer a terminal is shown and not obeyed" {
	box --audit on -- true $'\e]0;title\a\x9b1m' $'a\nb' $'\xc2\x9b2J'
	hutch audit show
	[[ $output != *$'\e'* && $output != *$'\a'* && $output != *$'\xc2\x9b'* && $output == *'\u001b]0;title\u0007'* ]]
	[ "${#lines[@]}" = 2 ]
	whole '2 entries '
}

# --- inside ---------------------------------------------------------------------------

@test "nobody inside can reach the log, wherever it is" {
	room work work/audit
	inside --audit work/audit -v "$T/work:/work" -- sh -c 'cat /work/audit/log.1 || echo "$?"; echo x >/work/audit/log.1 || mv /work/audit /work/other || rmdir /work/audit || echo safe'
	[[ $status == 0 && $output == $'1\nsafe' ]]
	refuses 'mount .*/work/audit: .*hutch.s own' --audit work/audit -v "$T/work/audit:/x" -- true
	hutch audit verify work/audit
	[[ $status == 0 && $output == "whole: 3 entries"* ]]
	inside --audit on -v "$HOME:/h:ro" -- sh -c 'cat /h/.local/share/hutch/audit/log.1 || echo safe'
	[[ $output == safe ]]
	whole '2 entries '
}

@test "a folder that is somebody else's, or no folder, is refused" {
	mkdir -m 777 open
	give open
	chmod 777 open
	refuses '--audit: .*others may write' --audit ./open -- true
	touch file
	give file
	refuses '--audit: .*file' --audit ./file -- true
	refuses '--audit takes on, off or a folder' --audit word -- true
	is_root || refuses '--audit: make /proc/audit' --audit /proc/audit -- true
}

@test "a policy says it by its key, and a folder of it is below the file" {
	room p
	echo '{"version":1,"audit":"./log"}' >p/p.json
	mkdir q && cd q
	box --policy ../p/p.json -- true
	hutch audit verify ../p/log
	[[ $status == 0 && $output == "whole: 2 entries"* ]]
	echo '{"version":1,"audit":"maybe"}' >wrong.json
	hutch policy check ./wrong.json
	[[ $status == 125 ]]
	one_sentence './wrong.json: .*--audit takes on, off or a folder'
}

# --- what cannot be put on record is not done --------------------------------------------

# full COMMAND...: with files of at most 4 KiB.
full() {
	(ulimit -f 4; "$@")
}

@test "without room a launch is refused, and what is there stays whole" {
	room out
	catch full "$HUTCH" run --audit on -- true
	[[ $status == 0 ]]
	for i in 1 2 3 4 5; do
		catch full "$HUTCH" run --audit on -v "$T/out:/out" -- sh -c 'echo x >>/out/done'
		[[ $status == 0 ]] || break
	done
	[[ $status == 125 ]]
	one_sentence 'it could not be put on record \(--audit\): write the audit log'
	catch full "$HUTCH" run --audit on -v "$T/out:/out" -- touch /out/wrong
	[[ $status == 125 && ! -e out/wrong ]]
	whole
	box --audit on -- true
	whole
}

@test "a log whose lock somebody keeps is waited for, and then the launch is refused" {
	box --audit on -- true
	flock --no-fork "${log%/*}" sleep 60 3>&- &
	started+=($!)
	until_true never flock -n "${log%/*}" true
	refuses '--audit: .*somebody else has held the lock of the audit log' --audit on -- true
}

# --- a change is found ------------------------------------------------------------------

@test "a changed byte, and lines that are missing, doubled or moved, are found" {
	three_runs
	whole '6 entries '
	cp "$log" good
	edit '2s/"exit_code":0/"exit_code":1/'
	broken 'log.1:3: it does not follow from entry 2'
	cat good >"$log"
	edit '4s/^./x/'
	broken 'log.1:4: it is no entry'
	cat good >"$log"
	edit 3d
	broken 'log.1:3: it does not follow from entry 2'
	cat good >"$log"
	edit 3p
	broken 'log.1:4: it does not follow'
	cat good >"$log"
	edit '3{h;d};4G'
	broken 'log.1:3: it does not follow'
	cat good >"$log"
	edit 1d
	broken 'log.1:1: the log begins with entry 2'
	cat good >"$log"
	whole '6 entries '
}

@test "an end that was cut off is found by a hash that was noted elsewhere" {
	three_runs
	anchor=$(tail -n 1 "$log" | sha256sum | cut -d' ' -f1)
	whole
	[[ $output == *" last $anchor" ]]
	box --audit on -- true
	hutch audit verify --anchor "$anchor"
	[[ $status == 0 ]]
	edit '6,$d'
	whole '5 entries '
	broken "no entry has the hash $anchor" --anchor "$anchor"
	hutch audit verify --anchor abc
	[[ $status == 125 ]]
}

@test "what the page says of checking it without hutch is so" {
	three_runs
	printf '{"v":1,"pre' >>"$log"
	box --audit on -- true
	top=$BATS_TEST_DIRNAME/../..
	awk '/^import hashlib/ { inside = 1 } /^```/ { inside = 0 } inside' "$top/docs/hutch-audit.md" >check.py
	last=$(python3 check.py <"$log")
	whole '9 entries '
	[[ ${lines[0]} == *" last $last" && $output == *$'\n'"writers that were killed"* ]]
	edit '2s/"exit_code":0/"exit_code":1/'
	never python3 check.py <"$log" 2>/dev/null
}

# --- writers ------------------------------------------------------------------------------

@test "a line that a killed writer has left is ended, told, and no change" {
	three_runs
	head -c -30 "$log" >copy && cat copy >"$log"
	hutch audit verify
	[[ $status == 0 && $output == "whole: 5 entries"*$'\n'"the last line is a part of one"* ]]
	box --audit on -- true
	hutch audit verify
	[[ $status == 0 && $output == "whole: 8 entries"*$'\n'"writers that were killed have left parts of lines in 1 places" ]]
	edit 's/<torn>$/<tarn>/'
	broken 'log.1:6: it is no entry'
}

@test "launches that are killed leave a log that is whole" {
	for i in $(seq 30); do
		"$HUTCH" run --audit on -- sleep 5 &
		started+=($!)
		read -r -t 0.00$((RANDOM % 10)) <> <(:) || true
		kill -KILL $! || true # it has not begun
	done 2>/dev/null
	wait || true
	box --audit on -- true
	whole
}

# --- show -----------------------------------------------------------------------------------

@test "show takes a time, and says what it does not know" {
	box --audit on -- true
	[ "$("$HUTCH" audit show --since 10m | wc -l)" = 2 ]
	[ "$("$HUTCH" audit show --since 2020-01-01 | wc -l)" = 2 ]
	[ "$("$HUTCH" audit show --since 2999 2>/dev/null | wc -l)" = 0 ]
	[ "$("$HUTCH" audit show --since 2999-01 | wc -l)" = 0 ]
	[ "$("$HUTCH" audit show --sandbox nobody | wc -l)" = 0 ]
	hutch audit show --since soon
	[[ $status == 125 ]]
	one_sentence '--since takes a time'
	diff <("$HUTCH" audit show --json) "$log"
	hutch audit
	[[ $status == 125 ]]
	one_sentence 'hutch audit takes a verb'
	hutch audit none
	[[ $status == 125 ]]
	one_sentence "'none' is no verb of hutch audit"
}
