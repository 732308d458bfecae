#!/usr/bin/env bats
# The audit log: which actions are recorded, that no record can be left out, and
# that a changed entry is found.

load helpers

setup() {
	begin
	log=$HOME/.local/share/hutch/audit/log.1
}

teardown() {
	remove_boxes
	end
}

# whole [N]: checks that the log is intact and has N entries.
whole() {
	hutch audit verify
	[[ $status == 0 && -z $stderr && $output == "whole: ${1:-}"* ]]
}

# broken PATTERN: checks that hutch finds the log changed, and that its message matches PATTERN,
# which names the place.
broken() {
	hutch audit verify "${@:2}"
	[[ $status == 1 && -z $output ]] && one_sentence "broken: $1"
}

# events: stores the kinds of the log entries, in order, in $output.
events() {
	hutch audit show --json
	[[ $status == 0 && -z $stderr ]]
	output=$(grep -oE '"event":"[a-z]+"' <<<"$output" | cut -d'"' -f4 | xargs)
}

# entry EVENT KEY...: prints the values of these keys in the first entry of kind EVENT, as JSON.
entry() {
	"$HUTCH" audit show --json | "$here/audit.py" entry "$@"
}

# edit COMMAND: changes the log with a sed COMMAND; the inode stays the same.
edit() {
	sed "$1" "$log" >copy
	cat copy >"$log"
}

three_runs() {
	for i in 1 2 3; do
		box --audit on -- true
	done
}

# recorded OPTION...: runs the actions on stdin with act.py and an audit log, until hutch act
# ends.
recorded() {
	acts "$(cat)"$'\nend()' --audit on "$@"
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

@test "the rules about connections are on record" {
	echo '{"version":1,"egress":{"rules":[{"deny":"b.org",
		"why":"no"}]}}' >p.json
	box --audit on --policy ./p.json --allow @pypi -- true
	whole '2 entries '
	[ "$(entry launch network)" = '"allow"' ]
	[[ $(entry launch policy) == *'"egress": [{"deny": "b.org", "why": "no"}, {"allow": "@pypi"}]'* ]]
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

@test "actions are on record before they are done, with what came of them" {
	recorded <<-'EOF'
		assert ask({"action": "run", "id": 7, "args": {"command": "sh -c 'exit 5'"}}).meta["exit_code"] == 5
		assert ask({"action": "write", "args": {"path": "/tmp/x", "content": "abc"}}).observation == "write"
		assert ask({"action": "read", "args": {"path": "/tmp/none"}}).observation == "error"
		assert ask({"action": "move", "args": {"path": "/tmp/x", "to": "/tmp/y"}}).observation == "move"
	EOF
	events
	[ "$output" = "launch action result action result action result action result end" ]
	[ "$(entry action kind id session verdict)" = '"run" 7 "main" "allow"' ]
	[ "$(entry result action result exit_code)" = '1 "completed" 5' ]
	hutch audit show
	has 'action action=2 kind="write" session="main" path="/tmp/x" content_bytes=3 content_sha256="ba7816bf8f01'
	has 'result action=3 result="not_found"'
	has 'action=4 kind="move" session="main" path="/tmp/x" to="/tmp/y" verdict="allow"'
	has 'end reason="closed" exit_code=0'
	whole '10 entries '
}

@test "refused and confirmed actions are on record with the rule" {
	recorded --confirm --rule '{"command":"no **","decision":"deny","reason":"never"}' \
		--rule '{"command":"true","decision":"ask","reason":"sure?"}' <<-'EOF'
		def command(text):
		    return ask({"action": "run", "args": {"command": text}})
		def answer(number, allow):
		    send({"action": "confirm", "args": {"ask": number, "allow": allow}})
		    return sorted(receive().observation for _ in range(2))
		assert command("no way").observation == "error"
		assert command("true")["event"] == "ask"
		assert answer(1, True) == ["null", "run"]
		assert command("true")["event"] == "ask"
		assert answer(2, False) == ["error", "null"]
	EOF
	events
	[ "$output" = "launch refused action result refused end" ]
	[[ $(entry refused kind command verdict why rule) == '"run" "no way" "deny" "never" '*'no **'* ]]
	[ "$(entry action verdict answer)" = '"ask" "yes"' ]
	hutch audit show
	has 'refused kind="run" session="main" command="true"'
	has 'verdict="ask" answer="no"'
	local digest
	digest=$(printf true | sha256sum)
	[ "$(entry action command_sha256)" = "\"${digest%% *}\"" ]
}

@test "everything that clients do with a named sandbox is on record" {
	hutch create --audit on box
	[[ $status == 0 ]]
	"$HUTCH" exec box sh -c 'exit 4' || [ $? = 4 ]
	"$HUTCH" exec box no-such 2>/dev/null || [ $? = 127 ]
	echo x >file
	"$HUTCH" cp file box:/tmp/
	echo '{"action":"run","args":{"command":"true"}}' | "$HUTCH" act box >/dev/null
	"$HUTCH" rename box other
	"$HUTCH" stop -t 1 other
	events
	[ "$output" = "launch exec exited exec exited copy exited action result request request end" ]
	[ "$(entry launch verb name argv)" = '"create" "box" []' ]
	[ "$(entry exec argv uid_inside tty)" = '["sh", "-c", "exit 4"] 1000 false' ]
	[ "$(entry exited process exit_code)" = '1 4' ]
	[ "$(entry copy method path as)" = '"copy.in" "/tmp/" "file"' ]
	[ "$(entry end name reason)" = '"other" "stopped"' ]
	id=$(entry launch sandbox | tr -d '"')
	[ "$("$HUTCH" audit show --sandbox "$id" | wc -l)" = 12 ]
	[ "$("$HUTCH" audit show --sandbox box | wc -l)" = 10 ]
	whole '12 entries '
}

@test "a named sandbox that could not be made is on record, too" {
	hutch create --audit on -v /nowhere:/x box
	[[ $status == 125 ]]
	events
	[ "$output" = refused ]
}

@test "operations on the host with its changes are on record, later too" {
	room work
	inside --audit on --workspace work:cow -- sh -c 'echo a >a; echo b >b'
	name=$("$HUTCH" ps -aq | head -1)
	id=$(entry launch sandbox)
	"$HUTCH" apply --dry-run "$name"
	"$HUTCH" apply "$name" a
	[ -e work/a ]
	"$HUTCH" discard "$name"
	events
	[ "$output" = "launch end apply applied discard" ]
	[ "$(entry apply sandbox folders paths forced)" = "$id [\"$T/work\"] [\"a\"] false" ]
	[ "$(entry applied done refused error)" = '1 0 null' ]
	whole '5 entries '
}

@test "without room nothing is applied or thrown away" {
	room work
	inside --audit on --workspace work:cow -- sh -c 'echo a >a'
	name=$("$HUTCH" ps -aq | head -1)
	catch eval "(trap '' XFSZ; ulimit -f 1; '$HUTCH' apply $name)"
	[[ $status == 125 && ! -e work/a ]]
	one_sentence 'it could not be put on record'
	catch eval "(trap '' XFSZ; ulimit -f 1; '$HUTCH' discard $name)"
	[[ $status == 125 ]]
	"$HUTCH" apply "$name"
	[ -e work/a ]
	whole
}

# --- what is not --------------------------------------------------------------------

@test "no secret is on record" {
	recorded --secret TOKEN=hush-hush-1 <<-'EOF'
		run("echo hush-hush-1")
		assert ask({"action": "env", "args": {"set": {"B": "hush-hush-2"}, "secret": ["B"]}}).observation == "env"
		write("/tmp/hush-hush-2", "hush-hush-1")
	EOF
	box --audit on --secret TOKEN=hush-hush-3 -- echo a hush-hush-3 >/dev/null
	"$HUTCH" create --audit on box
	"$HUTCH" exec --secret X=hush-hush-4 box echo hush-hush-4
	"$HUTCH" rm -f box
	never grep -r hush-hush "${log%/*}"
	[ "$(grep -o '<secret-hidden>' "$log" | wc -l)" = 4 ]
	whole
}

@test "bytes that would steer a terminal are shown and not obeyed" {
	box --audit on -- true $'\e]0;title\a\x9b1m' $'a\nb' $'\xc2\x9b2J'
	hutch audit show
	[[ $output != *$'\e'* && $output != *$'\a'* && $output != *$'\xc2\x9b'* && $output == *'\u001b]0;title\u0007'* ]]
	[ "${#lines[@]}" = 2 ]
	whole '2 entries '
}

@test "a long value is cut, and its digest is recorded" {
	text=$(head -c 100000 /dev/zero | tr '\0' x)
	recorded <<-EOF
		run(": $text")
	EOF
	box --audit on -- true "$text" more
	digest=$(printf ': %s' "$text" | sha256sum | cut -d' ' -f1)
	[ "$(entry action command_bytes command_sha256)" = "100002 \"$digest\"" ]
	[ "$(wc -L <"$log")" -lt 6000 ]
	digest=$(printf 'true\0%s\0more\0' "$text" | sha256sum | cut -d' ' -f1)
	grep -q "\"argv_bytes\":100011,\"argv_sha256\":\"$digest\"" "$log"
}

# --- inside ---------------------------------------------------------------------------

@test "no process inside can reach the log, wherever it is" {
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

@test "a folder of another user, or a file, is refused as the log's folder" {
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

# full COMMAND...: runs COMMAND with a limit of 4 KiB on the size of files (ulimit -f).
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

@test "without room an action is not done, and says so" {
	printf '{"action":"run","id":%d,"args":{"command":"echo %01500d > /tmp/a%d; true"}}\n' 1 0 1 2 0 2 3 0 3 >in
	echo '{"action":"run","args":{"command":"ls /tmp"}}' >>in
	catch full "$HUTCH" act --audit on <in
	never grep -q '"content":"a1\\na2\\na3' <<<"$output"
	[[ $output == *'HUTCH$NOT_RECORDED'* && $output == *'This was not done: it could not be put on record'* ]]
	[[ $status == 125 || $status == 0 ]]
	whole
	box --audit on -- true
	whole
}

@test "a result of an action that could not be written is counted by the next entry" {
	# As root, hutch changes into the user $who, so prlimit runs as that user, too.
	export AS=''
	! is_root || AS="setpriv --reuid $who --regid $who --clear-groups"
	recorded <<-'EOF'
		log = os.environ["HOME"] + "/.local/share/hutch/audit/log.1"
		def limit(size):
		    assert os.system(f"{os.environ['AS']} prlimit --pid {act.pid} --fsize={size}:") == 0
		run("true " + 900 * "x")
		lines = open(log).read().splitlines()
		# With this limit the entry about the action still fits into the log, but not the
		# entry about its result.
		limit(os.stat(log).st_size + len(lines[-2]) + 50)
		assert run("true " + 900 * "x").meta["exit_code"] == 0
		limit("unlimited")
		run("true")
	EOF
	events
	[ "$output" = "launch action result action action result end" ]
	[ "$(grep -c '"lost":1}' "$log")" = 1 ]
	[[ $(sed -n 5p "$log") == *'"lost":1}' ]]
	whole '7 entries '
}

@test "without room a process is not started, and the sandbox can still be ended" {
	full "$HUTCH" create --audit on box
	for i in 1 2 3 4 5 6; do
		hutch exec box echo "$(printf %01000d 0)"
		[[ $status == 0 ]] || break
	done
	[[ $status == 125 && -z $output ]]
	one_sentence ".*it could not be put on record"
	hutch kill box
	[[ $status == 0 ]]
	whole
}

@test "a launch waits for a locked log, and is refused if the lock stays" {
	box --audit on -- true
	flock --no-fork "${log%/*}" sleep 1000 3>&- &
	started+=($!)
	until_true never flock -n "${log%/*}" true
	refuses '--audit: .*another process has held the lock of the audit log' --audit on -- true
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

@test "the log can be checked without hutch as the page says" {
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

# Makes ROUNDS launches, each of which is killed at another step of writing the log.
@test "launches that are killed leave a log that is whole" {
	local i
	for ((i = 0; i < ${ROUNDS:-12}; i++)); do
		"$here/killed_amid.py" "$HOME" $((RANDOM % 3 + 1)) "$HUTCH" run --audit on -- true || true
	done
	box --audit on -- true
	whole
}

@test "eight writers at once make one chain" {
	for i in $(seq 100); do
		echo '{"action":"stat","args":{"path":"/"}}'
	done >actions
	for i in 1 2 3 4 5 6 7 8; do
		"$HUTCH" act --audit on <actions >/dev/null &
	done
	for i in 1 2 3 4 5; do
		box --audit on -- true
	done
	wait
	whole '1626 entries '
}

# --- files ----------------------------------------------------------------------------------

nearly_full() {
	room long
	chmod 700 long
	"$here/audit.py" nearly_full long/log.1
	chmod 600 long/log.1
	give long/log.1
}

@test "a full file is followed by another, which a confined supervisor makes" {
	nearly_full
	"$HUTCH" create --audit ./long box
	[ ! -e long/log.2 ]
	"$HUTCH" exec box true
	"$HUTCH" kill box
	[ "$(wc -l <long/log.2)" = 4 ]
	[ "$(stat -c %a long/log.2)" = 600 ]
	hutch audit verify ./long
	[[ $status == 0 && $output == "whole: "* ]]
	# The owner of the log may move its first file elsewhere: verify accepts the rest if it is
	# given the hash of that file's last line (--anchor).
	last=$(tail -n 1 long/log.1 | sha256sum | cut -d' ' -f1)
	mv long/log.1 .
	broken 'log.2:1: the log begins with entry' ./long
	hutch audit verify --anchor "$last" ./long
	[[ $status == 0 && $output == "whole: 4 entries"*$'\n'*" entries before them are not here" ]]
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
	one_sentence 'hutch audit: a verb is missing'
	hutch audit none
	[[ $status == 125 ]]
	one_sentence "'none' is no verb of hutch audit"
}
