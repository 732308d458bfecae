#!/usr/bin/env bats
# Plays the actions of a day of work one by one, and compares every observation with the recorded
# one (day.py, golden/day.jsonl).

load helpers

setup() {
	begin
}

teardown() {
	end
}

@test "a recorded day has the same observations again" {
	! is_root || skip "it is another user's day, who plays it"
	"$here/day.py" "$HUTCH" "$here/golden/day.jsonl"
}

@test "a day in which one observation is another is no longer the same" {
	# In the first file, rows have agnet in place of agent; each file of the loop has one
	# member that is wrong.  The player must report all of them.
	sed -n '1,3s/agent/agnet/p' "$here/golden/day.jsonl" >short
	run "$here/day.py" "$HUTCH" short
	[ "$status" -eq 1 ]
	[[ $output == *"content: 'agent' and not 'agnet'"* ]]
	for text in '"exit_code": 1' '"content": "b"' '"prefix": "x"' '"pid": "PID"' '"restarted": true' \
		'"previous": "x"' '"suffix": "x"' '"told": "busy"' '"truncated_chars": 1'; do
		echo '{"do": {"action": "run", "args": {"command": "echo a"}}, "see": {"content": "a"}}' >short
		"$here/day.py" "$HUTCH" short
		sed "s/\"see\": {/&$text, /" short | tee changed
		[[ $text != *content* ]] || sed -i 's/, "content": "a"//' changed
		run "$here/day.py" "$HUTCH" changed
		[ "$status" -eq 1 ]
	done
}
