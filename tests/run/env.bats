#!/usr/bin/env bats
# Tests of variables that are added while a sandbox lives (docs/actions.md, "env").

load helpers

teardown() {
	remove_boxes
	end
}

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.
acts() {
	"$here/act.py" "$HUTCH" "
def env(session=None, **args):
    return a.action('env', session=session, **args)
$1" "${@:2}"
}

# These are the cases of test_env_vars.py in OpenHands, the reference, and some that it leaves
# out.
@test "a variable that is set is there, whatever bytes it has" {
	acts '
for value in ("bar", "", "it'\''s", "\"quoted\"", "$HOME `id` $(id)", "a\nb\n", "\\", "*", "{\"json\": \"x\"}",
              "h\u00e9\u4e2d\U0001f407", "!!", "-n", "x" * 100000):
    o = env(set={"FOOBAR": value})
    assert o.observation == "env" and o.extras == {"set": ["FOOBAR"], "unset": [], "secret": []}, value[:20]
    assert value == "" or len(value) < 3 or value not in json.dumps(o)
    assert run("printf %s \"$FOOBAR\" > out; python3 -c \"import os; print(os.environ[\\\"FOOBAR\\\"], end=chr(46))\" | cmp - <(printf %s. \"$FOOBAR\") && echo same").content == "same"
    assert read("out").content == value
assert env(set={"FOOBAR": "x", "BAZ": "y"}).success is None
assert run("env | grep -E \"^(FOOBAR|BAZ)=\" | sort").content == "BAZ=y\nFOOBAR=x"
assert run("FOOBAR=mine; echo $FOOBAR").content == "mine"
assert run("echo $FOOBAR").content == "mine"
env(unset=["FOOBAR"])
assert run("echo ${FOOBAR-none} $BAZ").content == "none y"'
}

@test "every session has it with its next command, and what runs does not" {
	acts '
for s in ("main", "b"):
    assert run("x=kept; (exit 5)", session=s).meta["exit_code"] == 5
send({"action": "run", "session": "busy", "args": {"command": "read line; echo ${V-none}"}, "timeout": 1000})
assert run("echo started", session="b").content == "started"
env(session="aside", set={"V": "1"})
send({"action": "run", "session": "other", "args": {"command": "echo new $V"}})
assert receive().content == "new 1"
assert run("echo $? $V $x").content == "5 1 kept"
assert run("echo $? $V $x", session="b").content == "0 1 kept"
assert run("exit", session="b").meta["exit_code"] == 0
o = run("echo $V", session="b")
assert o.content == "1" and o.hutch["restarted"]'
}

@test "an env action goes over -e, and sets hutch's own variables and time-out" {
	acts '
assert run("echo $V").content == "first"
env(set={"V": "second", "PATH": "/none:/usr/bin:/bin", "HOME": "/tmp", "NO_CHANGE_TIMEOUT_SECONDS": "0.2"})
assert run("echo $V $PATH; cd; pwd").content == "second /none:/usr/bin:/bin\n/tmp"
o = run("sleep 1000")
assert o.meta["exit_code"] == -1 and "no new output after 0.2 seconds" in o.meta["suffix"]' -e V=first
}

@test "a session for one command has it too, and so have linters" {
	acts '
run("mkdir bin && printf \"#!/bin/sh\\necho stdin:1:1: E999 found by \\$WHO\\n\" >bin/flake8 && chmod +x bin/flake8")
def edit(old, new):
    return a.action("edit", command="str_replace", path="/workspace/a.py", old_str=old, new_str=new).content
write("a.py", "x = 1")
assert "found by" not in edit("1", "2")
env(set={"PATH": "/workspace/bin:/usr/bin:/bin", "WHO": "ours"})
assert run("echo $WHO", is_static=True).content == "ours"
assert "found by ours" in edit("2", "3"), a.last
env(set={"WHO": "another"})
assert "found by another" in edit("3", "4"), a.last
env(unset=["WHO", "PATH"])
assert run("echo ${WHO-none}", is_static=True).content == "none"' --lint
}

@test "a readonly variable stays, and the next command says so" {
	acts '
run("readonly R=1")
env(set={"R": "2", "S": "3"})
assert run("echo $R $S").content == "hutch: R is readonly in this shell and stays as it is\n1 3"
assert run("echo $R").content == "1"
assert run("echo $R", session="new").content == "2"'
}

@test "a wrong or too large request is refused, and nothing is changed" {
	acts '
env(set={"V": "1"})
for args, word in (({"set": {"A-B": ""}}, "A-B"), ({"set": {"": ""}}, "name"), ({"set": {"9": ""}}, "9"),
                   ({"set": {"A=B": ""}}, "A=B"), ({"set": {"V;id": ""}}, "V;id"), ({"set": {"__hutch_in": ""}}, "__hutch_in"),
                   ({"set": {"V": 1}}, "string"), ({"set": ["V"]}, "object"), ({"unset": "V"}, "array"),
                   ({"unset": ["V", "B C"]}, "B C"), ({"unset": [1]}, "string"), ({"more": 1}, "more"),
                   ({"set": {"V": "2", "W": "x" * 131072}}, "W"), ({"set": {"V": "x" * (1 << 20)}}, "V"),
                   ({"set": {"V": "2", "N" * 256: ""}}, "NNN"),
                   ({"set": dict(("X%d" % i, "") for i in range(1025))}, "1024"),
                   ({"set": dict(("X%d" % i, "x" * 100000) for i in range(11))}, "1048576")):
    o = env(**args)
    assert o.observation == "error" and o.extras["error_id"] == "HUTCH$BAD_ACTION" and word in o.content, (list(args), o)
send(b"{\"action\":\"env\",\"args\":{\"set\":{\"V\":\"a\\u0000b\"}}}\n")
assert receive().observation == "error"
send(b"{\"action\":\"env\",\"args\":{\"set\":{\"V\":\"a\xff\"}}}\n")
assert receive().observation == "error"
assert run("echo $V ${W-none} ${X0-none}").content == "1 none none"
assert env(set={"V": "x" * (131072 - 3)}).observation == "env"
assert run("sh -c \"echo \\${#V}\"").content == "131069"
env(set=dict(("Y%d" % i, "x" * 130000) for i in range(7)))
assert run("sh -c \"echo \\${#Y6}\"").content == "130000"'
}

@test "in a named sandbox, processes of every client have the variables, too" {
	"$HUTCH" create -e V=first -e W=w box >"$T/made"
	catch "$HUTCH" exec box sh -c 'echo $V'
	[[ $output == first ]]
	catch "$HUTCH" act box <<<'{"action":"env","args":{"set":{"V":"a \"b\" $c"},"unset":["W"]}}'
	[[ $output == *'"set":["V"],"unset":["W"],"secret":[]'* ]]
	catch "$HUTCH" exec box sh -c 'echo "$V ${W-none}"'
	[[ $output == 'a "b" $c none' ]]
	catch "$HUTCH" exec -u 1000 box sh -c 'echo "$V"'
	[[ $output == 'a "b" $c' ]]
	catch "$HUTCH" exec -e V=own box sh -c 'echo "$V"'
	[[ $output == own ]]
	catch "$HUTCH" act box <<<'{"action":"run","args":{"command":"echo $V ${W-none}"}}'
	[[ $output == *'"content":"a \"b\" $c none"'* ]]
}
