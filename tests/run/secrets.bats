#!/usr/bin/env bats
# Tests of secrets: variables whose values no output contains (docs/hutch-run.md, --secret;
# docs/actions.md, "Secrets").

load helpers

setup() {
	begin
	export TOKEN='hunter-22/"\$x' KEY=$'-----BEGIN-----\n  bG9uZyBsaW5l\r\n}\n-----END-----\n'
	M='<secret-hidden>'
}

teardown() {
	remove_boxes
	end
}

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes; the
# function hidden checks that no output so far has the secret.
acts() {
	"$here/act.py" "$HUTCH" '
T, M = os.environ["TOKEN"], "<secret-hidden>"
import builtins
seen = []
real = a.receive
def receive():
    o = real()
    seen.append(json.dumps(o))
    assert json.dumps(T)[1:-1] not in seen[-1] and "bG9uZyBsaW5l" not in seen[-1], seen[-1]
    return o
a.receive = receive
'"$1" "${@:2}"
}

@test "inside it is there, and outside it is hidden in all that is told" {
	acts '
assert run("[ ${#TOKEN} = 14 ] && echo \"$TOKEN\"").content == M
o = run("echo " + "\x27" + T + "\x27 | tr -d h")
assert o.content == T[1:] and o.message.startswith("Command `echo \x27" + M) and o.extras["command"].count(M) == 1
o = run("cd \"$(mktemp -d)\" && mkdir -p \"$TOKEN\" && cd \"$TOKEN\"")
assert M in o.meta["working_dir"]
assert run("cd /workspace").content == ""
assert run("echo \"$KEY\"").content == M + "\n  " + M + "\n}\n" + M
assert write("f", "a " + T + " b").observation == "write"
assert read("f").content == "a " + M + " b\n"
assert run("stat -c %s f").content == str(5 + len(T))
assert M in read("none" + T).content
o = a.action("edit", command="create", path="/workspace/" + "e", file_text="x\n" + T + "\n")
o = a.action("edit", command="str_replace", path="/workspace/e", old_str=T, new_str="y" + T)
assert o.extras["old_content"] == M and o.extras["new_content"] == "y" + M and o.extras["diff"].count(M) == 2 and M in o.content
assert M in a.action("edit", command="str_replace", path="/workspace/e", old_str="z" + T, new_str="").content
o = run("read x", timeout=0.3)
assert M in run("echo " + T).meta["suffix"]
run("C-c")
o = a.action("run", command="echo a\necho \x27" + T + "\x27")
assert o.observation == "error" and M in o.content
assert M in a.action("fly" + T).content
# The command of the main session ends while no action waits for it.  Session b waits until the
# command has ended and the shell of the main session sleeps.
o = run("bash -c \x27echo $$ $PPID >/tmp/pid; until [ -e /tmp/go ]; do :; done; echo \"$TOKEN\"\x27", timeout=0.1)
o = run("until [ -s /tmp/pid ]; do :; done; read own shell </tmp/pid; touch /tmp/go; while kill -0 $own; do :; done 2>/dev/null; "
        "until grep -q \"^State:.S\" /proc/$shell/status; do :; done", session="b")
assert o.meta["exit_code"] == 0
assert run("true", session="b").meta["exit_code"] == 0
assert run("echo next").hutch["previous"].count(M) == 1
line = {"action": "run", "args": {"command": "echo $TOKEN"}, "id": 777, "timestamp": "2030"}
assert ask(line) == ask(line)' --secret TOKEN --secret KEY
}

@test "a secret is hidden in messages about files and folders" {
	acts '
name = T.replace("/", "-")
a.action("env", set={"NAME": name}, secret=True)
run("mkdir d && cd d && echo \"$NAME in it\" >\"$NAME\" && echo \"$TOKEN\" >plain && cd ..")
for o in (a.action("list", path="d"), a.action("glob", pattern="d/*"), a.action("grep", pattern="hunter", path="d"),
          a.action("stat", path="d/" + name), a.action("mkdir", path="d/" + name), a.action("move", path="d/" + name, to="d/" + name + "2"),
          a.action("remove", path="d/" + name + "3")):
    text = json.dumps(o)
    assert "hunter-22" not in text, text
assert M in json.dumps(a.action("list", path="d"))
run("printf \"%0995d%s\\n\" 0 \"$TOKEN\" >long")
assert a.action("grep", pattern="0", path="long").content == "long:1:" + "0" * 995 + M + "[... 9 more bytes]"' --secret TOKEN
}

@test "streamed secrets are hidden, in whatever pieces they come, and no other output waits" {
	acts '
def events():
    text, o = "", receive()
    while o.event:
        text, o = text + o.data, receive()
    return text, o
send({"action": "run", "args": {"command": "for i in $(seq 0 13); do printf %s \"${TOKEN:$i:1}\"; /bin/true; done; echo; printf \"${TOKEN:0:7}\"; /bin/true; echo; printf hunt"}})
text, o = events()
assert text == M + "\r\nhunter-\r\nhunt", text
assert o.content == M + "\nhunter-\nhunt"
send({"action": "run", "timeout": 0.3, "args": {"command": "printf \"Name of the h\"; read x"}})
text, o = events()
assert text == "Name of the h" and o.meta["exit_code"] == -1
send({"action": "run", "args": {"command": "x", "is_input": True}})
text, o = events()
assert o.meta["exit_code"] == 0
send({"action": "run", "args": {"command": "yes \"$TOKEN\" | head -n 20000"}, "timeout": 100})
text, o = events()
assert text.count(M) == 20000
for i in range(3):
    send({"action": "run", "args": {"command": "echo \"$TOKEN\"; printf hunt", "is_static": True}})
    text, o = events()
    assert text == M + "\r\nhunt" and o.content == M + "\nhunt"' --stream --secret TOKEN
}

@test "an action can say that its values are secrets, or that a variable is one" {
	acts '
o = a.action("env", set={"A": "value of a", "B": "xyz"}, secret=True)
assert o.extras == {"set": ["A", "B"], "unset": [], "secret": ["A"]}
assert o.content == "The value of B is shorter than 4 bytes, and is not hidden.\n"
assert run("echo $A $B $P").content == M + " xyz plain value"
assert a.action("env", secret=["P"]).extras["secret"] == ["P"]
assert run("echo $A $B $P").content == M + " xyz " + M
a.action("env", unset=["A"])
assert run("echo ${A-none} value of a").content == "none " + M
for secret, word in ((["NONE"], "NONE"), ("A", "array"), (["A B"], "A B"), ([1], "string")):
    o = a.action("env", secret=secret)
    assert o.observation == "error" and word in o.content, o
o = a.action("env", set=dict(("S%d" % i, str(i) * 20000) for i in range(10, 20)), secret=True)
assert o.observation == "error" and "262144" in o.content
assert run("echo ${S10-none}").content == "none"' -e P='plain value'
}

@test "a value that occurs in keys of hutch leaves the line as it is" {
	acts '
o = run("echo run content observation main n123; printf \"\\n123\"; echo {}:,")
assert o.observation == "run" and o.extras["metadata"]["exit_code"] == 0
assert o.content == "run " + M + " " + M + " " + M + " " + M + "\n\n123{}:,"' --secret A=content --secret B=observation \
		--secret C=main --secret D=n123 --secret E='"extras"' --secret F='null' --secret G='run ' --secret H=':{"'
}

@test "secrets of a named sandbox are not shown, kept or written either" {
	"$HUTCH" create --secret TOKEN box >"$T/made"
	catch "$HUTCH" act box <<<'{"action":"run","args":{"command":"echo \"$TOKEN\""}}'
	[[ $output == *"\"content\":\"$M\""* ]]
	as_who true
	"$HUTCH" exec -d box sh -c 'echo "out $TOKEN"; printf "%s" "${TOKEN%?}"; /bin/true; printf "%s\n" "${TOKEN#?????????????}"; echo end'
	until_true told 'end'
	[[ $output == "out $M"$'\n'"$M"$'\n'end ]]
	catch "$HUTCH" exec -d box "/bin/$TOKEN"
	[[ $status != 0 && $stderr == *"$M"* && $stderr != *hunter* ]]
	catch "$HUTCH" exec box sh -c 'printf "%s" "$TOKEN"' # the caller's own descriptors
	[[ $output == "$TOKEN" ]]
	catch "$HUTCH" exec --secret OTHER='other secret' -d box sh -c 'echo $OTHER; echo other end'
	until_true told 'other end'
	[[ $output == *$'\n'"$M"$'\nother end' ]]
	catch "$HUTCH" inspect box
	"$HUTCH" stop -t 0 box
	catch grep -rlE 'hunter|other secret' "$XDG_RUNTIME_DIR"
	[[ $status == 1 && -z $output ]]
}

told() {
	catch "$HUTCH" logs box
	has "^$1$"
}

@test "text that only looks like a secret is told all the same, and a tar as it is" {
	! is_root || skip "the test's client of the control socket is for ordinary users"
	"$here/control.py" "$HUTCH" '
T, M = os.environ["TOKEN"], b"<secret-hidden>"
p = start("sh", "-c", "printf \"Name of the h\"; read -r x; echo \"$x\"; printf hunt; sleep 1000 & exit 0", stdin=True)
c.until(lambda: output(p) == b"Name of the h")
call("exec.write", process=p, data=T + "\n")
assert wait(p)["exit_code"] == 0
assert output(p) == b"Name of the h" + M + b"\nhunt", output(p)
d = connect()
d.call("exec.attach", process=p)
d.until(lambda: d.output(p) == output(p))
# If a value is printed in two parts with a pause between, its first part is shown, and only the
# rest is hidden.
p = start("sh", "-c", "printf hunter-; read -r x; echo \"${TOKEN#hunter-}\"", stdin=True)
c.until(lambda: output(p) == b"hunter-")
call("exec.write", process=p, data="\n")
wait(p)
assert output(p) == b"hunter-" + M + b"\n", output(p)
wait(start("sh", "-c", "echo \"$TOKEN\" >/workspace/file"))
p = call("copy.out", path="/workspace/file")["process"]
wait(p)
assert T.encode() in output(p)
assert refused("exec.start", "invalid", argv=["true"], secret=["NONE"]).message.count("NONE") == 1
assert T not in refused("exec.start", "invalid", argv=["true"], env={T + "=": ""}).message
assert T not in json.dumps(refused("rename", "invalid", name=T).message)
wait(start("sh", "-c", "echo $A value", env={"A": "a value"}, secret=["A"]))
p = start("sh", "-c", "echo a value")
wait(p)
assert output(p) == M + b"\n"' --secret TOKEN
}

# The helper supervisor_of finds the supervisor as the parent of pid 1.
@test "words of a process do not have it, and no core file would" {
	"$HUTCH" create --secret "WORD=a word of $mark" box >"$T/made"
	none_marked
	supervisor=$(supervisor_of box)
	[[ $(stat -c %U "/proc/$supervisor/environ") == root ]]
	"$HUTCH" create plain >"$T/made"
	catch "$HUTCH" act plain <<<'{"action":"env","args":{"set":{"A":"value"},"secret":true}}'
	[[ $output == *'"secret":["A"]'* ]]
	supervisor=$(supervisor_of plain)
	[[ $(stat -c %U "/proc/$supervisor/environ") == root ]]
}

@test "one that is no UTF-8 is hidden as it is told" {
	TOKEN=$'p\xe4ssword-\xe2\x82-22'
	"$here/act.py" "$HUTCH" '
for o in (run("echo \"$TOKEN\""), run("mkdir -p \"d/$TOKEN\"; cd \"d/$TOKEN\"")):
    assert "<secret-hidden>" in json.dumps(o) and "ssword" not in json.dumps(o), o' --secret TOKEN
}

@test "run hides it in its plan and its errors" {
	catch box --dry-run --secret TOKEN -- "$TOKEN"
	[[ $output == *"TOKEN=$M"* && $output == *"run       $M" ]]
	catch box --json --secret TOKEN -- "/bin/$TOKEN"
	[[ $status == 127 && $stderr == *"/bin/$M: command not found"* && $stderr != *hunter* ]]
	inside --secret TOKEN -- sh -c 'printf %s "$TOKEN"'
	[[ $output == "$TOKEN" ]]
}

@test "a secret that is none is said to be" {
	unset NONE
	refuses '--secret: NONE: the caller.s environment has none$' --secret NONE -- true
	refuses "--secret: '' is no name of a variable$" --secret =value -- true
	refuses "--secret: 'A B' is no name of a variable$" --secret 'A B=value' -- true
	refuses '--secret: the values of secrets have more than 262144 bytes together, each line counted again$' \
		--secret A="$(printf %0100000d 1)" --secret B="$(printf %0100000d 2)" -- true
	catch box --secret A=abc -- true
	[[ $status == 0 && $stderr == "hutch: note: the value of A is shorter than 4 bytes, and is not hidden" ]]
	printf '# two\nONE=first value\n\nTOKEN\r\n' >"$T/secrets"
	catch box --dry-run --secret-file "$T/secrets" -- true
	[[ $output == *"ONE=$M"*"TOKEN=$M"* ]]
	printf 'ONE=1234\n=rest of it\n' >"$T/secrets"
	refuses ".*line 2: '' is no name of a variable .from --secret-file $T/secrets.$" --secret-file "$T/secrets" -- true
}

@test "a file of secrets can be a pipe that the caller has open" {
	catch box --dry-run --secret-file <(echo PIPE=from-a-pipe) -- true
	[[ $status == 0 && $output == *"PIPE=$M"* ]]
	catch "$HUTCH" act --dry-run --secret-file <(echo PIPE=from-a-pipe)
	[[ $status == 0 && $output == *"PIPE=$M"* ]]
	hutch create --secret-file <(echo PIPE=from-a-pipe) box
	[[ $status == 0 ]]
	hutch exec box sh -c 'echo $PIPE'
	[[ $output == from-a-pipe ]]
}
