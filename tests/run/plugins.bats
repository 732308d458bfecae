#!/usr/bin/env bats
# Tests of plugins: programs inside that answer actions (docs/plugins.md).

load helpers

teardown() {
	remove_boxes
	end
}

P=${BATS_TEST_DIRNAME%/*}/plugins

# acts CODE [OPTION...]: runs Python code with a hutch act that has the plugin `wild`, which does
# what its action says; wild(DO, ...) is such an action.
acts() {
	"$here/act.py" "$HUTCH" '
wild = lambda do, timeout=None, **args: a.action("wild", timeout=timeout, do=do, **args)
def fails(o, text):
    assert o.observation == "error" and o.extras["error_id"] == "HUTCH$PLUGIN", o
    assert text in o.content, o.content
    return o
def well():
    o = wild("echo")
    assert o.observation == "wild_one" and o.content == "{\"do\": \"echo\"}", o
'"$1" --plugin "$P/wild" "${@:2}"
}

@test "a plugin in bash, one in C and one in JavaScript answer actions" {
	command -v node >/dev/null || skip "this host has no node"
	cp -r "$P/count" "$T" && cc -O1 -o "$T/count/count" "$P/count/count.c"
	chmod -R a+rX "$T/count"
	"$here/act.py" "$HUTCH" '
do = lambda kind, **args: a.action(kind, **args)
assert do("count").content == "1" and do("count").content == "2"
assert ask({"action": "count"}).content == "3" and ask({"action": "count", "args": None}).content == "4"
o = do("sum", numbers=[1, 2, 39])
assert (o.content, o.extras) == ("The sum is 42.", {"sum": 42}), o
o = do("echo", text="hé \"x\"\n")
assert o.content == "hé \"x\"\n" and o.observation == "echo" and o.message == "The plugin answered.", o
assert o.extras == {"cwd": "/workspace", "count": 1, "is_it": True, "words": ["a", "b"], "none": None}, o
assert o.hutch["data"] == {"other": ""} and o.hutch["note"] == "from bash"
assert end() == (0, [])' --plugin "$T/count" --plugin "$P/script" --plugin "$P/echo"
}

@test "an answer has the parts of its schema, and others are opaque texts" {
	acts '
o = wild("parts")
png = "data:image/png;base64,iVBORw0KGgpwaWN0dXJl"
assert (o.observation, o.message, o.content) == ("wild_one", "It was done.", "all"), o
assert o.extras == {"picture": png, "pictures": [png, png], "words": [], "n": 2 ** 53, "yes": False}, o
assert o.hutch["data"] == {"svg": "<svg>\x07", "html": "<b>"} and o.hutch["note"] == "a note", o
o = wild("echo", lines={"a": [1, None, {"é": 1.5}]}, n=3, yes=True)
assert json.loads(o.content) == {"do": "echo", "lines": {"a": [1, None, {"é": 1.5}]}, "n": 3, "yes": True}
assert o.extras == {"picture": None, "pictures": None, "words": None, "n": None, "yes": None}'
}

@test "an argument that is missing, unknown or of another type is an error of the action" {
	acts '
for args, text in [({}, "args.do: it is missing"), ({"do": 1}, "args.do: a string was expected"),
                   ({"do": "echo", "more": 1}, "takes no \x27more\x27"),
                   ({"do": "echo", "n": "1"}, "args.n: a number was expected"),
                   ({"do": "echo", "yes": 1}, "args.yes: ")]:
    fails(a.action("wild", **args), text)
fails(ask({"action": "wild"}), "args.do: it is missing")
assert json.loads(wild("echo", n=None).content) == {"do": "echo", "n": None}
o = ask({"action": "wild", "args": [1]})
assert o.extras["error_id"] == "HUTCH$BAD_ACTION" and "args: an object was expected" in o.content
well()'
}

@test "it gets the directory of the session, the variables, and its own environment" {
	acts '
where = "/run/hutch/plugins/wild"
assert json.loads(wild("told").content) == ["/workspace", 120.0, "/workspace", [], where + "/here", "wild", where, None]
run("cd /tmp; export HELLO=1")
a.action("env", set={"HELLO": "2\n", "GONE": "x"})
a.action("env", unset=["GONE"])
told = [{"environment": {"HELLO": "2\n", "GONE": "x"}}, {"environment": {"GONE": None}}]
assert json.loads(wild("told", timeout=1.5).content) == ["/tmp", 1.5, "/workspace", told, where + "/here", "wild", where, None]
fails(wild("die"), "signal 9")
told = json.loads(wild("told").content)
assert told[7] == "2\n" and told[3] == [], told'
}

@test "its folder is read-only, and its programs and modules are found" {
	acts '
assert run("wild-tool x").content == "wild x"
assert run("python3 -c \"import wild_module; print(wild_module.NAME)\"").content == "wild"
assert run("touch /run/hutch/plugins/wild/x").meta["exit_code"] != 0
assert run("echo $PATH | cut -d: -f1; echo $PYTHONPATH").content.split() == [
    "/run/hutch/plugins/wild/bin", "/run/hutch/plugins/wild/modules"]'
}

@test "a line that is no message of the contract fails the action, and the plugin begins anew" {
	acts '
for text, error in [("nonsense", "no JSON (line 1, column 1: a value was expected); descriptor 2 is for other output"), ("[]", "an object was expected"), ("{}", "without ready"),
                    ("{\"call\":CALL}", "without output, answer or error"), ("{\"ready\":true}", "twice"),
                    ("{\"call\":99,\"answer\":{}}", "call 99, which is not under way"),
                    ("{\"call\":CALL,\"answer\":{\"other\":1}}", "its schema has no \x27other\x27"),
                    ("{\"call\":CALL,\"answer\":{\"n\":-1}}", "answer.n"), ("{\"call\":CALL,\"answer\":{\"yes\":1}}", "answer.yes"),
                    ("{\"call\":CALL,\"answer\":{\"words\":\"a\"}}", "an array was expected"),
                    ("{\"call\":CALL,\"answer\":{\"picture\":\"aGk=\"}}", "a PNG in base64 was expected"),
                    ("{\"call\":CALL,\"answer\":{},\"data\":{\"a b\":\"\"}}", "data: a name"),
                    ("{\"call\":CALL,\"answer\":{},\"more\":1}", "more"), ("{\"ask\":1}", "it asked for nothing"),
                    ("{\"ready\":true,\"more\":1}", "\x27more\x27"), ("{\"failed\":\"\",\"more\":1}", "\x27more\x27"),
                    ("{\"call\":CALL,\"output\":\"\",\"more\":1}", "\x27more\x27"), ("{\"call\":CALL,\"error\":\"\",\"more\":1}", "\x27more\x27"),
                    ("{\"ask\":1,\"more\":1}", "\x27more\x27"), ("{\"ask\":1,\"edit\":{\"more\":1}}", "\x27more\x27"),
                    ("{\"ask\":1,\"edit\":{\"path\":\"" + "a" * 4096 + "\"}}", "that is too long"),
                    ("{\"call\":CALL,\"answer\":{\"words\":[" + ",".join(["\"\""] * 300) + "]}}", "256 members")]:
    fails(wild("lines", lines=[text]), error)
    well()
assert run("echo on").content == "on"'
}

@test "an answer to no call, or a second one, ends the process and nothing else" {
	acts '
o = wild("lines", lines=["{\"call\":CALL,\"answer\":{\"content\":\"one\"}}", "{\"call\":CALL,\"answer\":{\"content\":\"two\"}}"])
assert o.content == "one"
# The process has the next action already, or has not, when its wrong line is read.
o = wild("echo")
assert o.observation == "wild_one" or "which is not under way" in o.content, o
well()
assert wild("lines", lines=["{\"call\":CALL,\"answer\":{}}", "{\"call\":0,\"answer\":{}}"]).observation == "wild_one"
o = wild("echo")
assert o.observation == "wild_one" or "call 0, which is not under way" in o.content, o
well()
assert wild("lines", lines=["{\"call\":CALL,\"error\":\"mine, and as it is\"}"]).content == "mine, and as it is"
well()'
}

@test "a process that dies, floods, hangs or is deaf fails its own action" {
	acts '
o = fails(wild("die"), "was ended by signal 9")
assert o.content.endswith("it wrote last:\nlast words"), o.content
well()
fails(wild("exit", n=7, lines=[97, 0, 98]), "has ended, with exit code 7; it wrote last:\na?b")
well()
fails(wild("flood"), "a line of more than 8388608 bytes")
well()
fails(wild("hang", timeout=0.3), "did not answer within 200 ms after its action\x27s time-out")
well()
assert wild("deaf").content == "deaf from now on"
fails(wild("echo", timeout=0.3), "did not answer")
well()
assert run("echo on").content == "on"'
}

@test "a time-out and a cancel ask for the answer first" {
	acts '
assert wild("slow", timeout=0.1).content == "timeout True"
send({"action": "wild", "args": {"do": "slow"}, "id": 77})
send({"action": "run", "args": {"command": "echo beside"}, "session": "other", "id": 78})
assert receive().cause == 78
send({"action": "cancel", "args": {"id": 77}})
assert [receive().observation, receive().content] == ["null", "cancelled True"]
send({"action": "wild", "args": {"do": "hang"}, "id": 79})
send({"action": "cancel", "args": {"id": 79}})
assert sorted((receive().extras or {}).get("error_id", "") for _ in range(2)) == ["", "HUTCH$CANCELLED"]
well()'
}

@test "a process that leaves others behind is ended with them" {
	acts '
pid = wild("fork").content
assert run(f"kill -0 {pid} && echo there").content == "there"
fails(wild("lines", lines=["nonsense"]), "a value was expected")
assert run(f"tail --pid={pid} -f /dev/null; echo gone").content == "gone"
well()
fails(wild("leave"), "has ended, with exit code 0")
assert run("tail --pid=$(cat /tmp/left) -f /dev/null; echo gone").content == "gone"
well()'
}

@test "daemons of a process are gone when it has ended, however it has ended" {
	mkdir "$T/daemons"
	cat >"$T/daemons/daemons.sh" <<-'SH'
		trap '' HUP
		echo '{"ready":true}'
		read -r line
		setsid sh -c 'setsid sleep 1000 & echo $! >/tmp/left'
		setsid sleep 1000 &
		echo $! >>/tmp/left
		case $line in
		*exits*) exit 4 ;;
		*dies*) kill -KILL $$ ;;
		*groups*) kill -TERM 0 ;;
		esac
		echo nonsense
		read -r line
	SH
	echo '{"name": "daemons", "version": "1", "command": ["bash", "${plugin}/daemons.sh"],
		"actions": {"daemons": {"args": {"how": "text"}}}}' >"$T/daemons/plugin.json"
	chmod -R a+rX "$T/daemons"
	"$here/act.py" "$HUTCH" '
for how, error in [("exits", "has ended, with exit code 4"), ("dies", "was ended by signal 9"),
                   ("groups", "was ended by signal 15"), ("babbles", "no JSON")]:
    o = a.action("daemons", how=how)
    assert error in o.content, o
    o = run("for pid in $(cat /tmp/left); do tail --pid=$pid -f /dev/null; done; wc -l </tmp/left")
    assert o.content == "2", o' --plugin "$T/daemons"
}

@test "a process that dies at each start is not started at once again" {
	acts '
run("touch /tmp/dies")
for _ in range(5):
    fails(wild("echo"), "has ended, with exit code 3")
o = wild("echo")
assert "It may be started again in " in o.content, o.content
run("rm /tmp/dies")
assert run("echo on").content == "on"'
}

@test "pictures up to the bound arrive, and larger answers fail" {
	acts '
o = wild("big", n=4 << 20)
assert len(o.extras["picture"]) == len("data:image/png;base64,") + 4 * ((8 + (4 << 20) + 2) // 3), o.message
fails(wild("big", n=8 << 20), "more than 8388608 bytes")
well()'
}

@test "a picture that ends within the signature of PNG is none" {
	acts '
full, short = ("{\"call\":CALL,\"answer\":{\"picture\":\"%s\"}}" % text for text in ("iVBORw0KGgo=", "iVBORw0KGg=="))
# The rest of the signature may stand in memory that the answers before had.
for _ in range(3):
    for _ in range(100):
        assert wild("lines", lines=[full]).extras["picture"].endswith(",iVBORw0KGgo=")
    fails(wild("lines", lines=[short]), "a PNG in base64 was expected")'
}

@test "a process that does not read is told 12 MiB, and no more" {
	acts '
assert wild("deaf").content == "deaf from now on"
huge = {"HUGE": "x" * 130000}
for n in range(100):
    assert a.action("env", set=huge).observation == "env"
fails(wild("echo", timeout=0.3, lines=[huge["HUGE"]]), "it does not read its lines")
a.action("env", unset=["HUGE"])
well()'
}

@test "a plugin that would take the last descriptors of the executor is not started" {
	local n options=()
	for n in {1..9}; do
		cp -r "$P/echo" "$T/p$n"
		jq --arg name "p$n" '.name = $name | .actions = {($name): .actions.echo}' "$P/echo/plugin.json" >"$T/p$n/plugin.json"
		options+=(--plugin "$T/p$n")
	done
	chmod -R a+rX "$T"
	# Each takes 4 of the 40, and 16 are kept for what the executor itself has open.
	ulimit -n 40
	"$here/act.py" "$HUTCH" '
said = [a.action(f"p{n}", text="on").content for n in range(1, 10)]
assert said[:6] == ["on"] * 6, said
assert all("it could not be started: Too many open files" in one for one in said[6:]), said
write("/tmp/x", "written")
assert read("/tmp/x").content.strip() == "written"' "${options[@]}"
}

@test "output comes while the action runs" {
	acts '
send({"action": "wild", "args": {"do": "stream"}, "id": 5})
events = [receive() for _ in range(6)]
states = [(e["name"], e["state"], e["error"]) for e in events if e.get("event") == "plugin"]
assert states == [("wild", "starting", None), ("wild", "ready", None)], events
assert "".join(e["data"] for e in events if e.get("event") == "output") == "0 1 2 ", events
assert events[-1].content == "done"
send({"action": "wild", "args": {"do": "exit", "n": 1}})
event, o = receive(), receive()
assert event["state"] == "failed" and "exit code 1" in event["error"], event
fails(o, "exit code 1")' --stream
}

@test "the executor's editor does what a process asks for" {
	acts '
write("/workspace/f", "one\ntwo")
edits = [{"command": "view", "path": "/workspace/f", "view_range": [1, 1]},
         {"command": "str_replace", "path": "/workspace/f", "old_str": "two", "new_str": "2"},
         {"command": "insert", "path": "/workspace/f", "insert_line": 0, "new_str": "0"},
         {"command": "view", "path": "/workspace/none"}]
told = json.loads(wild("edit", lines=edits).content)
assert [t["error"] for t in told] == [False, False, False, True], told
assert "1\tone" in told[0]["text"] and "two" not in told[0]["text"]
assert read("/workspace/f").content == "0\none\n2\n"
a.action("edit", command="undo_edit", path="/workspace/f")
assert read("/workspace/f").content == "one\n2\n"
# The last words of a process count, too.
fails(wild("leave", lines=[json.dumps({"ask": 1, "edit": {"command": "create", "path": "/workspace/last", "file_text": "1"}})]), "exit code 0")
assert read("/workspace/last").content == "1"
# Both lines come with one write, so the second one has not waited for the first one.
ask_for = json.dumps({"ask": 1, "edit": edits[3]})
fails(wild("lines", lines=[ask_for + "\n" + ask_for]), "it asked again before it had the answer")
well()'
}

@test "two sessions share a plugin, one action after the other" {
	acts '
run("cd /tmp", session="b")
for n in range(20):
    send({"action": "wild", "args": {"do": "told"}, "session": "ab"[n % 2], "id": 100 + n})
answers = {(o := receive()).cause: json.loads(o.content)[0] for _ in range(20)}
assert all(answers[100 + n] == ["/workspace", "/tmp"][n % 2] for n in range(20)), answers'
}

@test "a plugin without plugin.json, with a wrong one or without its programs fails for good" {
	for name in absent_json bad_json fifo long needs files own early late lost; do mkdir -p "$T/$name"; done
	echo '{"name": "bad_json", "version": "1", "command": ["x"], "nonsense": 1}' >"$T/bad_json/plugin.json"
	echo '{"name": "needs", "version": "1", "command": ["sh"], "requires": {"programs": ["no-such-thing"]},
		"actions": {"needy": {}}}' >"$T/needs/plugin.json"
	echo '{"name": "early", "version": "1", "command": ["echo", "{\"ask\":1}"], "actions": {"early": {}}}' \
		>"$T/early/plugin.json"
	echo '{"name": "late", "version": "1", "command": ["sleep", "1000"], "ready_s": 0.1, "timeout_s": 0.1, "grace_s": 0.1,
		"actions": {"late": {}}}' \
		>"$T/late/plugin.json"
	echo '{"name": "files", "version": "1", "command": ["sh"], "requires": {"files": ["/no-such-file"]}, "ready_s": 0.1,
		"actions": {"files": {}}}' >"$T/files/plugin.json"
	mkfifo "$T/fifo/plugin.json"
	head -c 65537 /dev/zero >"$T/long/plugin.json"
	echo '{"name": "lost", "version": "1", "command": ["no-such-program"], "actions": {"lost": {}}}' >"$T/lost/plugin.json"
	chmod -R a+rX "$T"
	bad fifo 'open .*/fifo/plugin.json: it is not a regular file'
	bad long 'read .*/long/plugin.json: larger than 65536 bytes'
	bad absent_json 'open .*/absent_json/plugin.json: No such file or directory'
	echo '{"name": "own", "version": "1", "command": ["cat"], "actions": {"run": {}}}' >"$T/own/plugin.json"
	bad own '.*/own: plugin.json.actions.run: an action that hutch does not do itself was expected'
	bad bad_json ".*/bad_json: plugin.json: unknown key 'nonsense'.*"
	"$here/act.py" "$HUTCH" '
o = a.action("early")
assert "its first line was neither \"ready\" nor \"failed\"" in o.content, o
assert "it was not ready within 100 ms" in a.action("late").content
o = a.action("files")
assert "requires \x27/no-such-file\x27, which is not in the sandbox" in o.content, o
o = a.action("needy")
assert "requires \x27no-such-thing\x27, which is not in the sandbox" in o.content, o
o = a.action("lost")
assert "\x27no-such-program\x27 could not be started: find the program: No such file" in o.content, o
assert run("echo on").content == "on"' --plugin "$T/needs" --plugin "$T/lost" --plugin "$T/early" \
		--plugin "$T/late" --plugin "$T/files"
}

# bad NAME PATTERN: hutch act with this plugin fails, and says that on one line.
bad() {
	hutch act --plugin "$T/$1" </dev/null
	((status == 125))
	grep -qE "^hutch: --plugin: $2\$" <<<"$stderr"
}

@test "a plugin that claims another's action, or the same name, is refused" {
	cp -r "$P/wild" "$T/other" && sed -i 's/"name": "wild"/"name": "other"/' "$T/other/plugin.json"
	chmod -R a+rX "$T/other"
	acts '
send({"action": "wild", "args": {"do": "echo"}, "id": 1})
lines = []
while not lines or "observation" not in lines[-1]:
    lines.append(receive())
failed = [e for e in lines if e.get("state") == "failed"]
assert [e["name"] for e in failed] == ["other"] and "is answered by the plugin \x27wild\x27" in failed[0]["error"], lines
assert lines[-1].content == "{\"do\": \"echo\"}"' --plugin "$T/other" --stream
	hutch act --plugin "$P/wild" --plugin "$P/wild" </dev/null
	((status == 125))
	[[ $stderr == *"'wild' is named twice"* ]]
}

@test "a secret is redacted in all that a plugin says" {
	export KEY=s3cr3t-value
	acts '
hidden = "<secret-hidden>"
lines = ["{\"call\":CALL,\"answer\":{\"content\":\"a s3cr3t-value\",\"words\":[\"s3cr3t-value\",\"b\"]},"
         "\"data\":{\"status\":\"s3cr3t-value\"},\"note\":\"s3cr3t-value\"}"]
send({"action": "wild", "args": {"do": "lines", "lines": lines}})
while (o := receive()).event: pass
assert (o.content, o.extras["words"]) == ("a " + hidden, [hidden, "b"]), o
assert o.hutch["data"] == {"status": hidden} and o.hutch["note"] == hidden, o
send({"action": "wild", "args": {"do": "exit", "n": 1, "lines": list(b"s3cr3t-value")}})
event, o = receive(), receive()
assert event["state"] == "failed" and event["error"].endswith(hidden), event
assert o.content.endswith(hidden), o' --stream --secret KEY
}

@test "an action that no plugin answers is an error, as without plugins" {
	acts '
o = a.action("fly")
assert o.extras["error_id"] == "HUTCH$BAD_ACTION" and "\x27fly\x27 is not defined" in o.content
assert o.content.endswith(", confirm, cancel, wild"), o.content
assert a.action("browse", url="x").content == "Browser functionality is not supported or disabled."
o = ask({"action": "wild", "args": {"do": "echo"}, "nonsense": 1})
well()'
}

@test "hutch events has a plugin's states, and no key twice" {
	cp -r "$P/echo" "$T" && chmod -R a+rX "$T/echo"
	hutch create --plugin "$T/echo" box
	"$HUTCH" act box <<<'{"action":"echo","args":{"text":"hi"}}' >said
	"$HUTCH" events box | grep -q ' box plugin name="echo" state="ready" error=null$'
	"$HUTCH" events --json box >events
	jq -ces 'map(select(.event == "plugin") | [.name, .plugin, .state, .error]) ==
		[["box", "echo", "starting", null], ["box", "echo", "ready", null]]' events
	jq -ces 'map(select(.event == "status") | .name) | unique == ["box"]' events
}

@test "rules judge the actions of plugins" {
	acts '
o = wild("echo")
assert o.extras["error_id"] == "HUTCH$REFUSED" and "no plugins here" in o.content, o
assert run("echo on").content == "on"' --rule '{"action":"plugin","decision":"deny","reason":"no plugins here"}'
}

@test "a sandbox with a name tells the state of its plugins, and keeps them" {
	image img
	hutch create --keep --image "dir:$T/img" -v /usr:/usr:ro --plugin "$P/wild" box
	echo '{"action":"wild","args":{"do":"echo"}}' | "$HUTCH" act box | grep -q '"observation":"wild_one"'
	plugins
	hutch events box
	grep -q ' plugin name="wild" state="ready"' <<<"$output"
	hutch stop box
	hutch start box
	echo '{"action":"wild","args":{"do":"echo"}}' | "$HUTCH" act box | grep -q '"observation":"wild_one"'
	plugins
	hutch rm -f box
}

# plugins: checks that hutch inspect tells of the plugin in box.
plugins() {
	hutch inspect box
	[ "$(jq -c '.[0].plugins' <<<"$output")" = \
		'[{"name":"wild","state":"ready","error":null,"version":"1.0","url":null}]' ]
}

@test "plugins that fail with long words leave room for the rest of what is told of a sandbox" {
	cat >"$T/words" <<-'SH'
		for n in $(seq 80); do printf %s "$KEY"; done >&2
		head -c 3000 /dev/zero | tr '\0' '\1' >&2
		echo end >&2; exit 3
	SH
	names=(one two three four)
	for name in "${names[@]}"; do
		mkdir "$T/$name"
		cp "$T/words" "$T/$name/words"
		jq -n --arg name "$name" '{$name, version: "1", actions: {($name): {}}, command: ["sh", "${plugin}/words"]}' \
			>"$T/$name/plugin.json"
	done
	chmod -R a+rX "$T"
	KEY=s3cr3t-value hutch create --secret KEY "${names[@]/#/--plugin=$T/}" box
	for name in "${names[@]}"; do
		echo "{\"action\":\"$name\"}" | "$HUTCH" act box | grep -q 'exit code 3; it wrote last:.n<secret-hidden>.*end"'
	done
	hutch events box
	[[ $output == *"<secret-hidden>"* && $output != *s3cr3t* ]]
	hutch rename box other
	((status == 0))
	hutch inspect other
	[[ $output == *"<secret-hidden>"* && $output != *s3cr3t* ]]
	jq -e '.[0].plugins | length == 4 and all(.error | test("^the plugin .*exit code 3"))' <<<"$output"
}

@test "a kept sandbox starts again when its plugin was installed or has moved" {
	is_root && skip "root's sandboxes see no installation"
	image img
	mkdir data && ln -s data link && export XDG_DATA_HOME=$T/link
	hutch create --keep --image "dir:$T/img" -v /usr:/usr:ro --plugin file_viewer box
	((status == 0))
	hutch stop box
	mkdir -p data/hutch/plugins/file_viewer/venv && echo made >data/hutch/plugins/file_viewer/venv/made
	cp -r "$BUILD/hutch" "$BUILD/libexec" "$T" && chmod -R a+rX libexec
	HUTCH=$T/hutch hutch start box
	((status == 0))
	hutch exec box cat /run/hutch/plugins/file_viewer.venv/made /run/hutch/plugins/file_viewer/plugin.json
	[[ $output == made* && $output == *'"name": "file_viewer"'* ]]
	hutch rm -f box
}

@test "a folder of hutch's own is no plugin" {
	mkdir -p "$HOME/.local/share/hutch/x" && cp -r "$P/echo" "$HOME/.local/share/hutch/x" && give "$HOME/.local"
	hutch act --plugin "$HOME/.local/share/hutch/x/echo" </dev/null
	((status == 125))
	[[ $stderr == *"is hutch's own and never inside"* ]]
}

@test "a policy names plugins, folders from its own folder on" {
	mkdir policies && cp -r "$P/wild" policies && chmod -R a+rX policies
	echo '{"version": 1, "plugins": ["./wild"]}' >policies/p.json
	echo '{"action":"wild","args":{"do":"echo"}}' | "$HUTCH" act --policy ./policies/p.json >said
	grep -q '"observation":"wild_one"' said
}

@test "an image brings a plugin of its own, of which the host reads nothing" {
	needs_static
	mkdir -p img/usr/share/hutch/plugins img/bin img/etc && cp -r "$P/count" img/usr/share/hutch/plugins
	cc -static -O1 -o img/usr/share/hutch/plugins/count/count "$P/count/count.c"
	chmod -R a+rX img
	"$here/act.py" "$HUTCH" '
assert a.action("count").content == "1"
assert end() == (0, [])' --plugin count --image "dir:$T/img"
	for wrong in '{' '{"name":"count","version":"1","command":["x"],"actions":{"count":{"observation":"a b"}}}'; do
		echo "$wrong" >img/usr/share/hutch/plugins/count/plugin.json
		"$here/act.py" "$HUTCH" '
o = a.action("count")
assert "plugin.json" in o.content and o.extras["error_id"] == "HUTCH$PLUGIN", o' --plugin count --image "dir:$T/img"
	done
	# A file that is too long is told as such; a pipe is not waited for.
	{ cat "$P/count/plugin.json"; head -c 65537 /dev/zero | tr '\0' ' '; } >img/usr/share/hutch/plugins/count/plugin.json
	unread 'larger than 65536 bytes'
	rm img/usr/share/hutch/plugins/count/plugin.json
	mkfifo -m 644 img/usr/share/hutch/plugins/count/plugin.json
	unread 'it is not a regular file'
}

# unread WORDS: the executor cannot read the plugin.json of the image, for this reason.
unread() {
	"$here/act.py" "$HUTCH" "
o = a.action('count')
assert 'plugin.json: $1' in o.content, o" --plugin count --image "dir:$T/img"
}

@test "a plugin that cannot be told of its environment fails, and no action waits for it" {
	local files=()
	for n in {1..9}; do
		for k in {1..10}; do printf 'V%s_%s=%0100000d\n' "$n" "$k" 0; done >"env$n"
		files+=(--env-file "env$n")
	done
	chmod a+r env*
	acts '
fails(wild("echo"), "the plugin \x27wild\x27: a message is too large to send")
write("/workspace/f", "one")
assert read("/workspace/f").content == "one\n"' "${files[@]}"
}

@test "wrong plugins are errors that help" {
	hutch act --plugin jupiter </dev/null
	((status == 125))
	[[ $stderr == *"--plugin: there is no plugin 'jupiter'; is it jupyter?"* ]]
	hutch act --plugin ./none </dev/null
	((status == 125))
	[[ $stderr == *"--plugin ./none: No such file or directory"* ]]
	hutch act --plugin /usr/share/doc/Bad </dev/null
	((status == 125))
	hutch act --plugin '' </dev/null
	((status == 125))
	hutch run --plugin "$P/wild" true
	((status == 125))
	[[ $stderr == *"--plugin is a flag of hutch act and hutch create"* ]]
	for n in {1..17}; do
		cp -r "$P/echo" "$T/p$n" && sed -i "s/\"name\": \"echo\"/\"name\": \"p$n\"/" "$T/p$n/plugin.json"
	done
	chmod -R a+rX "$T"
	hutch act $(printf -- "--plugin $T/p%s " {1..17}) </dev/null
	((status == 125))
	[[ $stderr == *"16 plugins are the most"* ]]
}
