#!/usr/bin/env bats
# Tests of the action grep of hutch act (docs/actions.md, "Files and folders").

load helpers

setup() {
	begin
}

teardown() {
	end
}

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.  Adds
# grep(), and failed(OBSERVATION, WORDS). $WITHOUT is a PATH that has no rg.
WITHOUT='PATH=/workspace/bin:/nowhere'
acts() {
	"$here/act.py" "$HUTCH" '
grep = lambda pattern, **more: a.action("grep", pattern=pattern, **more)
failed = lambda o, words: (o.observation, o.extras) == ("error", {"error_id": ""}) and words in o.content
lines = lambda o: o.content.split("\n") if o.content else []
run("export PATH=/usr/bin:/bin")   # the shell'"'"'s; what it was started with is what counts
def rg(script):
    """Installs this script as rg, for the PATH that has its folder first."""
    run("mkdir -p /workspace/bin; cat > /workspace/bin/rg <<\"EOF\"\n#!/bin/sh\nPATH=/usr/bin:/bin\n" + script + "\nEOF\nchmod +x /workspace/bin/rg")
'"$1" "${@:2}"
}

TREE='
run("mkdir -p t/src/deep t/.git t/.cfg; cd t; printf \"int main(void)\\r\\n\\n\\treturn 0;\\n\" > src/m.c; echo \"int x; // main\" > src/deep/x.h; "
    "echo \"*.h\" > .gitignore; echo int > .git/int; echo \"int = 1\" > .cfg/a; printf \"int\\0\" > bin.o; printf \"caf\\351 int\" > latin; ln -s src/m.c link; "
    "ln -s src dir; mkfifo fifo; echo Int > \"b c\"; echo int > \"$(printf \"n\\nl\")\"; echo int > src!; "
    "{ echo int; head -c 200000 /dev/zero | tr \"\\0\" z; printf \"\\0\"; } > .a.bin; cd ..")
'

@test "grep: lines as path, number and text, in the order of the paths" {
	acts "$TREE"'
o = grep("int", path="t")
assert lines(o) == ["t/.cfg/a:1:int = 1", "t/latin:1:caf\ufffd int", "$'"'"'t/n\\nl'"'"':1:int", "t/src/deep/x.h:1:int x; // main", "t/src/m.c:1:int main(void)", "t/src!:1:int"], o.content
assert grep("int", path="t", limit=6).content == o.content   # the lines of what turned out to be no text do not count
assert o.extras == {"path": "t", "pattern": "int", "include": None} and o.hutch["truncated_chars"] == 0
run("cd t")
assert lines(grep("^int main\\(void\\)$")) == ["src/m.c:1:int main(void)"]      # a carriage return is no text
assert lines(grep("INT", ignore_case=True, path="src/")) == ["src/deep/x.h:1:int x; // main", "src/m.c:1:int main(void)"]
assert lines(grep("int", include="*.{c,h}")) == ["src/deep/x.h:1:int x; // main", "src/m.c:1:int main(void)"]
assert lines(grep("int", include="src/*.?")) == ["src/m.c:1:int main(void)"]
assert lines(grep("int", include="**/*.h")) == ["src/deep/x.h:1:int x; // main"]
assert grep("int", include="*.py").content == "" == grep("nowhere").content
assert lines(grep(".*", path="/workspace/t/src/m.c")) == ["/workspace/t/src/m.c:1:int main(void)", "/workspace/t/src/m.c:2:", "/workspace/t/src/m.c:3:\treturn 0;"]
assert lines(grep("int", path="link")) == ["link:1:int main(void)"] and len(lines(grep("int", path="dir"))) == 2
assert lines(grep("int", path="src", limit=1)) == ["src/deep/x.h:1:int x; // main", "[There are more lines; these are the first 1.]"]
assert grep("int", path="src", limit=2).hutch["truncated_chars"] == 0 and grep("int", path="src", limit=1).hutch["truncated_chars"] > 0
assert "/bin/bash" in grep("^root:", path="/etc/passwd").content'
}

@test "grep: what is no pattern says where and why, and what is no text or file what it is" {
	acts "$TREE"'
assert failed(grep("a(b"), "the pattern at character 2, `(b`: it is not closed by a )")
assert failed(grep("(?=x)"), "there is no looking ahead")
assert failed(grep("((a{1000}){1000}){1000}"), "the pattern is too large")
assert failed(grep("x", include="{a,b}" * 9), "ERROR: include: The pattern has too many alternatives.")
assert failed(grep("x", include="/workspace/t/*"), "include: The pattern begins with a slash, or one of its braces does") and failed(grep("x", include="src/"), "include: With a slash at its end it is of folders")
assert failed(grep("x", path="none"), "File not found: /workspace/none.")
assert failed(grep("x", path="t/src/m.c/x"), "File not found")
assert failed(grep("int", path="t/bin.o"), "t/bin.o is not a text file")
for path in ("t/fifo", "/dev/zero", "/dev/null"):
    assert failed(grep("x", path=path), "Not a regular file: /"), path
assert grep("x", path="/proc", timeout=1000).observation == "error" or not grep("x", path="/proc").content
assert failed(grep("x", path="/proc/self"), "Permission denied") and grep("x", path="/proc/self/status").observation == "error"
assert lines(grep("zzz", path="/proc/sys", timeout=1000)) == []
run("head -c 3000 /dev/zero | tr \"\\0\" x > long; printf \"\\nshort\\n\" >> long")
o = grep("x", path="long")
assert o.content == "long:1:" + "x" * 1000 + "[... 2000 more bytes]", o.content
run("yes $(printf %0200d) | head -n 9000 > many")
o = grep("0", path="many", limit=10000)
assert len(o.content) <= 1 << 20 and o.hutch["truncated_chars"] > 0
assert lines(o)[-1] == "[There are more lines; these are the first %d.]" % (len(lines(o)) - 1), lines(o)[-1]'
}

@test "grep: with ripgrep and without, the same is told" {
	acts "$TREE"'
rg("echo asked >> /workspace/asked; exec /usr/bin/rg \"$@\"")
asks = [dict(pattern=p, path=w, **more) for p in ("int", "^int|x$", "\\bmain\\b", ".", "^$", "[^a-z]$", "\\d", "caf.", "\\(", "a{", "no such", "[^\\s\\S]")
        for w, more in (("t", {}), ("./t", {"ignore_case": True}), ("t/src", {"include": "*.c"}), ("t", {"limit": 2}), ("t", {"include": "src/**"}))]
run("echo int > t/\u00e9.q; echo int > t/{a}.q; echo int > t/x.q")
asks += [dict(pattern="int", path="t", include=i) for i in ("?.q", "{a}.q", "x.q{,y}", "{x,{a}}.q", "*.{q,c}")]
if run("id -u").content != "0":
    run("mkdir -m 0 t/closed")
told = []
for script in ("echo asked >> /workspace/asked; exec /usr/bin/rg \"$@\"", "exit 7", "echo no such option >&2; exit 2", "kill -SEGV $$"):
    rg(script)
    told.append([grep(**ask).content for ask in asks])
if run("/usr/bin/rg --version >/dev/null 2>&1; echo $?").content == "0":
    for i, ask in enumerate(asks):
            assert len({t[i] for t in told}) == 1, (ask, [t[i] for t in told])
    assert len(run("cat asked").content.split()) >= 50   # all but the ones that cannot be said to it
rg("exec sleep 1000")
o = grep("int", path="t", timeout=0.3)
assert "[The search took too long" in o.content, o.content
rg("printf \"./src/m.c\\0\"; exec sleep 1000 >&- 2>&-")
def until_found(seconds=0.3):
    """Repeats with more time, until the search has found something in time."""
    o = grep("int", path="t", timeout=seconds)
    assert "[The search took too long" in o.content, o.content
    return o if "m.c" in lines(o)[0] else until_found(2 * seconds)
assert lines(until_found())[0] == "t/src/m.c:1:int main(void)"
run("mkdir -p other; echo int outside > other/passwd")
rg("while :; do printf \"./src/m.c\\0./../other/passwd\\0../../etc/passwd\\0/etc/passwd\\0\"; done")
assert "passwd" not in grep("int|root", path="t", timeout=0.3).content
import sys
sys.path.append(sys.path[0] + "/..")
from patience import wait_until
wait_until(lambda: run("pgrep -x sleep; pgrep rg").content == "")   # none is left' -e "$WITHOUT"
}

@test "grep: ripgrep is a command as any other, and ends with its errand" {
	acts "$TREE"'
what = "grep -E \"^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Seccomp_filters|Cap)\" /proc/self/status; cat /proc/self/limits; ls -l /proc/self/fd | grep -c ^l; env | grep -v ^_= | sort | grep -E \"^(HOME|USER)\""
rg("{ " + what + "; } > /workspace/seen 2>&1; pwd > /workspace/where")
grep("x", path="t")
as_command = run("bash -c '"'"'" + what.replace("$", "\\$") + "'"'"' > mine 2>&1; diff mine seen && cat where")
assert as_command.content == "/workspace/t", as_command.content
rg("echo $$ > /workspace/pid; exec sleep 1000")
send({"action": "grep", "args": {"pattern": "x", "path": "t"}, "id": 1001})
run("until [ -s pid ]; do :; done", session="two")
send({"action": "cancel", "args": {"id": 1001}})
assert {receive().observation, receive().observation} == {"error", "null"}
assert run("while kill -0 $(<pid) 2>/dev/null; do :; done; echo gone", session="two").content == "gone"' -e "$WITHOUT"
}
