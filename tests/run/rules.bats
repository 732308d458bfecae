#!/usr/bin/env bats
# Tests of the rules of a policy, which decide about actions before they are carried out
# (docs/hutch-policy.md).

load helpers

setup() {
	begin
	room w
	deny='{"command":"git push **","decision":"deny","reason":"a person pushes"}'
	ask='{"action":["write","remove"],"path":"kept","decision":"ask","reason":"it is kept","risk":"high"}'
}

teardown() {
	remove_boxes
	end
}

# run_of ID COMMAND, write_of ID PATH, answer_of ASK true|false: print an action as one line of
# JSON.
run_of() {
	printf '{"action":"run","id":%d,"args":{"command":"%s"}}\n' "$1" "$2"
}

write_of() {
	printf '{"action":"write","id":%d,"args":{"path":"%s","content":"x"}}\n' "$1" "$2"
}

answer_of() {
	printf '{"action":"confirm","args":{"ask":%d,"allow":%s}}\n' "$1" "$2"
}

# said PYTHON: checks a Python expression about the observations in the file out: `lines` has all,
# by[ID] the one of an action.
said() {
	python3 "$here/rules.py" said out "$1"
}

# talk PYTHON ARG...: runs PYTHON with a running `hutch act ARG...`, to which it talks by
# send(line), next() and ended().
talk() {
	python3 "$here/rules.py" talk "$1" "$HUTCH" act "${@:2}"
}

act() {
	timeout "$PATIENCE" "$HUTCH" act --workspace "$T/w" "$@" >out
}

@test "the text that runs is the text that was judged, whatever an earlier command left running" {
	local i
	{
		run_of 1 "(while :; do for p in /proc/[0-9]*/fd/61; do echo 'touch changed' 1<>\$p; done; done 2>/dev/null) &"
		for i in {2..60}; do
			run_of $i "echo judged > made$i"
		done
		run_of 61 "kill %1"
	} | act
	[ ! -e w/changed ]
	[ "$(find w -name 'made*' | wc -l)" = 59 ]
}

@test "a denied action is not done, with the reason, and the rest is" {
	{
		run_of 1 "touch before; echo \$(git push origin); touch after"
		run_of 2 "git status; echo fine"
		run_of 3 "bash -c 'sudo git push'"
		run_of 4 "ls"
	} | act --rule "$deny"
	said '
for n in (1, 3):
    o = by[n]
    assert o["observation"] == "error" and o["extras"]["error_id"] == "HUTCH$REFUSED", o
    refused, = o["hutch"]["refused"]
    assert refused["what"] == "run" and refused["layer"] == "rules" and refused["path"] is None and refused["remedy"]
    assert json.loads(refused["rule"])["reason"] == "a person pushes"
assert by[1]["content"] == "ERROR: This was not done: a rule of the policy refuses it: a person pushes (git push origin)", by[1]
assert by[2]["content"].endswith("fine") and by[2]["hutch"]["refused"] == []
assert by[4]["content"] == ""'
	[[ -z $(ls -A w) ]]
}

@test "input that is typed is judged as well, keys and waiting are not" {
	{
		printf '{"action":"run","id":1,"timeout":1,"args":{"command":"cat"}}\n'
		printf '{"action":"run","id":2,"timeout":1,"args":{"command":"git push","is_input":true}}\n'
		printf '{"action":"run","id":3,"timeout":1,"args":{"command":""}}\n'
		printf '{"action":"run","id":4,"args":{"command":"C-c","is_input":true}}\n'
	} | act --rule "$deny" --rule '{"action":"read","decision":"deny","reason":"r"}'
	said '
assert by[2]["extras"].get("error_id") == "HUTCH$REFUSED"
assert "git" not in by[3]["content"] and by[4]["extras"]["metadata"]["exit_code"] == 130, by'
}

@test "without anybody to ask it is a no" {
	{
		write_of 1 kept
		write_of 2 other
		printf '{"action":"edit","id":3,"args":{"path":"/workspace/other","command":"view"}}\n'
	} | act --rule "$ask" --rule '{"action":"edit","decision":"deny","reason":"r"}'
	said '
assert by[1]["content"] == "ERROR: This was not done: it is to be confirmed, and no client can be asked: it is kept", by[1]
assert by[1]["hutch"]["refused"][0]["path"] == "kept" and by[2]["observation"] == "write" and not asks
assert by[3]["observation"] in ("edit", "read"), by[3]'
	[[ $(ls -A w) == other ]]
}

@test "a client that can be asked is asked, and a confirmed action is done in its turn" {
	talk '
for n, path in (1, "kept"), (2, "kept2"), (3, "a/kept"):
    send("write", n, path=path, content="x")
ask = next()
assert ask == {"event": "ask", "ask": 1, "cause": 1, "session": "main", "action": "write", "about": "kept", "risk": "high",
               "reason": "it is kept"}, ask
send("confirm", ask=1, allow=True)
assert [next()["observation"], next()["cause"], next()["cause"]] == ["null", 1, 2]
assert next()["ask"] == 2
send("confirm", ask=1, allow=True)
assert error(next()) == "HUTCH$NOT_FOUND"
send("confirm", ask=2, allow=False)
assert next()["observation"] == "null"
no = next()
assert error(no) == "HUTCH$REFUSED" and no["cause"] == 3
assert no["content"] == "ERROR: This was not done: it was to be confirmed, and was not: it is kept", no
send("confirm", ask=2, allow=True)
assert error(next()) == "HUTCH$NOT_FOUND"
send("confirm", ask=2)
assert "args.allow is missing" in next()["content"]
ended()' --workspace "$T/w" --confirm --rule "$ask"
	[[ $(ls -A w) == $'kept\nkept2' ]]
}

@test "the end of the input is a no, and other sessions do not wait for an answer" {
	{
		write_of 1 kept
		printf '{"action":"run","id":2,"session":"other","args":{"command":"echo here"}}\n'
	} | act --confirm --rule "$ask"
	said 'assert by[2]["content"] == "here" and by[1]["extras"]["error_id"] == "HUTCH$REFUSED" and len(asks) == 1'
}

@test "a client that was asked and sends nothing more has said no" {
	"$HUTCH" create --workspace "$T/w" --rule "$ask" box
	local goes='
send("write", 1, path="kept", content="x")
assert next()["ask"] == 1
p.stdin.close()
assert error(next()) == "HUTCH$REFUSED" and p.wait() == 0'
	talk "$goes" --confirm --workspace "$T/w" --rule "$ask"
	talk "$goes" box --confirm
	[[ -z $(ls -A w) ]]
}

@test "all that is asked about is named, with the highest risk" {
	talk '
send("run", 1, command="true; echo a; rm b c")
q = next()
assert (q["about"], q["risk"], q["reason"]) == ("echo a\nrm b c", "high", "it removes"), q
send("confirm", ask=1, allow=True)
assert [next()["observation"], next()["cause"]] == ["null", 1]
send("run", 2, command="cat", timeout=1)
assert next()["hutch"]["refused"] == []
send("run", 3, command="x\x01\x04y", is_input=True, timeout=1)
assert next()["reason"] == "there are keys in it"
send("confirm", ask=2, allow=False)
assert [next()["observation"], error(next())] == ["null", "HUTCH$REFUSED"]
send("run", 4, command="true \x27")
q = next()
assert q["risk"] == "high" and "in the middle" in q["reason"], q
send("confirm", ask=3, allow=False)
assert [next()["observation"], error(next())] == ["null", "HUTCH$REFUSED"]
send("run", 5, command="C-c", is_input=True)
assert next()["extras"]["metadata"]["exit_code"] == 130
ended()' --confirm --rule '{"command":"echo **","decision":"ask","reason":"it says"}' \
		--rule '{"command":"rm **","decision":"ask","reason":"it removes","risk":"high"}'
}

@test "an action that a client was asked about can be cancelled" {
	{
		write_of 1 kept
		printf '{"action":"cancel","args":{"id":1}}\n'
		answer_of 1 true
	} | act --confirm --rule "$ask"
	said 'assert by[1]["extras"]["error_id"] == "HUTCH$CANCELLED", by'
	[[ -z $(ls -A w) ]]
}

@test "more than can wait behind a question makes it a no" {
	{
		write_of 1 kept
		for n in {2..1100}; do run_of "$n" ":"; done
		answer_of 1 true
	} | timeout "$PATIENCE" "$HUTCH" act --workspace "$T/w" --confirm --rule "$ask" >out
	said 'assert by[1]["extras"]["error_id"] == "HUTCH$REFUSED" and by[1100]["extras"]["metadata"]["exit_code"] == 0'
}

@test "a secret is hidden in what is asked" {
	write_of 1 kept/s3cr3t-value | act --confirm --rule "$ask" --secret KEY=s3cr3t-value
	never grep -q s3cr3t out
	said 'assert "<secret-hidden>" in asks[0]["about"], asks'
}

@test "a named sandbox has the rules that it was made with, and asks the sender of the action" {
	"$HUTCH" create --workspace "$T/w" --rule "$deny" --rule "$ask" box
	talk '
send("run", 1, command="git push")
assert error(next()) == "HUTCH$REFUSED"
send("write", 2, path="kept", content="x")
assert next()["ask"] == 1
send("confirm", ask=1, allow=True)
assert [next()["observation"], next()["observation"]] == ["null", "write"]
ended()' box --confirm
	write_of 1 kept | "$HUTCH" act box >out
	said 'assert by[1]["extras"]["error_id"] == "HUTCH$REFUSED" and not asks'
	# Rules do not decide about commands that a user runs by a verb such as exec.
	"$HUTCH" exec -w /workspace box sh -c 'echo by hand >kept'
	[[ $(cat w/kept) == "by hand" ]]
}

@test "at the control socket the question is a notification, and only the asked client can answer" {
	! is_root || skip "the socket is that of the user for whom root stands"
	"$HUTCH" create --workspace "$T/w" --rule "$ask" box
	python3 "$here/rules.py" ask_at_the_socket "$XDG_RUNTIME_DIR/hutch/box/control.sock" "$PATIENCE"
}

@test "rules stand in a policy, and what is none is one sentence with its place" {
	echo '{"version":1,"extends":"agent","rules":[{"command":"make **","decision":"deny","reason":"not here"},
		{"command":"make test","decision":"allow"}]}' >mine.json
	hutch policy show ./mine.json
	[[ $status == 0 && $output == *'"git push **"'*agent*'"make **"'*./mine.json* ]]
	{
		run_of 1 "make"
		run_of 2 "make test; make"
		run_of 3 "make test"
	} | act --policy ./mine.json
	said '
assert by[1]["extras"]["error_id"] == by[2]["extras"]["error_id"] == "HUTCH$REFUSED", by
assert by[3]["observation"] == "run"'
	echo '{"version":1,"rules":[{"command":"make"}]}' >mine.json
	hutch policy check ./mine.json
	[[ $status == 125 ]]
	one_sentence './mine.json: --rule \{"command":"make"\}: rule: there is no .decision.: .*mine.json: rules'
	echo '{"version":1,"rules":["make"]}' >mine.json
	hutch policy check ./mine.json
	[[ $status == 125 ]]
	one_sentence "./mine.json.*rules\[0\]: an object was expected"
	hutch act --rule '{"decision":"deny"}'
	[[ $status == 125 ]] && one_sentence '--rule \{"decision":"deny"\}: rule: there is no .reason.'
}

# judged ARG...: sends the commands of golden/judged.jsonl as actions to hutch act, each with the name of a new file in place of "@"; prints how many of these files were made.
judged() {
	rm -rf w/* && python3 "$here/rules.py" judged "$here/golden/judged.jsonl" >in
	timeout "$PATIENCE" "$HUTCH" act --workspace "$T/w" "$@" <in >out 2>/dev/null
	find w -name 'm*' | wc -l
}

@test "however a command is written, it is seen where bash runs it" {
	touch='{"command":"touch **","decision":"deny","reason":"r"}'
	[[ $(judged --rule "$touch") == 0 ]]
	local least=$(($(wc -l <in) - 1))
	((least > 250))
	said "assert len(by) > $least and "'all(o["extras"]["error_id"] == "HUTCH$REFUSED" for o in by.values()), by'
	# Without the rule bash runs these commands, so the rule has refused real ones.  Builds
	# with sanitizers skip this, to save time.
	[[ $BUILD == */asan ]] || (($(judged) > least - 3))
}
