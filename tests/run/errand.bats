#!/usr/bin/env bats
# Tests of the actions list, glob, stat, move, remove and mkdir of hutch act (docs/actions.md,
# "Files and folders").

load helpers

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.  Adds
# a function for each action, and failed(OBSERVATION, WORDS).
acts() {
	"$here/act.py" "$HUTCH" '
do = lambda kind: lambda path=None, **more: a.action(kind, **({} if path is None else {"path": path}), **more)
ls, stat, move, remove, mkdir = (do(kind) for kind in ("list", "stat", "move", "remove", "mkdir"))
glob = lambda pattern, **more: a.action("glob", pattern=pattern, **more)
failed = lambda o, words: (o.observation, o.extras) == ("error", {"error_id": ""}) and words in o.content
lines = lambda o: o.content.split("\n") if o.content else []
'"$1" "${@:2}"
}

@test "a list: folders first, then the others, in order of the letters, the hidden and dangling too" {
	acts '
run("mkdir -p b/c Apple .git; touch .env B a.txt Zoo b/x b/c/y; ln -s nothing gone; ln -s b to-b; ln -s a.txt to-a; mkfifo pipe")
o = ls()
assert lines(o) == [".git/", "Apple/", "b/", "to-b/", ".env", "a.txt", "B", "gone", "pipe", "to-a", "Zoo"], o.content
assert list(o) == ["observation", "message", "content", "extras", "cause", "hutch"]
assert (o.observation, o.message, o.extras) == ("list", "I listed the folder /workspace.", {"path": "."})
for path in ("b", "b/", "./b", "/workspace/b", "to-b", "b/../b", "../workspace/b"):
    assert lines(ls(path)) == ["c/", "x"], path
assert lines(ls("b", depth=2)) == ["c/", "c/y", "x"]
assert ls(depth=4096).content.count("/y") == 1   # not through the link
assert ls("b/c", depth=1, limit=1).content == "y" and mkdir("empty").content == "" and ls("empty").content == ""
o = ls(limit=3)
assert o.content == ".git/\nApple/\nb/\n[9 more are not shown.]" and o.hutch["truncated_chars"] > 0, o.content
run("cd b")
assert lines(ls()) == ["c/", "x"] and lines(ls("..", limit=1))[0] == ".git/"
assert lines(a.action("list", session="other"))[0] == ".git/"   # there is no shell: where it all began'
}

@test "a list of what is none says what it is" {
	acts '
run("mkdir d; touch f; ln -s loop loop; mkfifo fifo; ln -s f link")
for path in ("f", "link", "fifo", "/dev/null", "/dev/zero", "/proc/cpuinfo"):
    o = ls(path)
    assert failed(o, "Not a directory"), (path, o.content)
for path in ("none", "f/x", "fifo/x", "d/none/x", "/none"):
    assert failed(ls(path), "File not found: /"), path
assert failed(ls("loop"), "Too many levels of symbolic links")
assert failed(ls("n" * 300), "File name too long") and failed(ls("d/" * 2040), "File name too long") == False
assert failed(ls("d/../" * 819), "File name too long")
if run("id -u").content != "0":
    run("mkdir -m 000 secret; mkdir -m 0311 deaf; touch deaf/x")
    assert failed(ls("secret"), "Permission denied") and failed(ls("deaf"), "Permission denied")
    assert lines(ls(depth=2))[-1] == "[2 folders could not be looked into: Permission denied.]"
assert run("echo still here").content == "still here"'
}

@test "no path tells of hutch's own processes" {
	acts '
for path in ("/proc/self", "/proc/self/", "/proc/thread-self", "/proc/self/fd", "/proc/self/task", "/proc/self/map_files", "/proc/self/ns", "/proc/self/net"):
    o = ls(path)
    assert o.observation == "error" and ("Permission denied" in o.content or "not found" in o.content), (path, o)
    o = glob("**", path=path)
    assert o.observation == "error", (path, o)
for path in ("/proc/self/exe", "/proc/self/environ", "/proc/self/fd/1", "/proc/self/cwd", "/proc/self/fd", "/proc/self/maps"):
    o = stat(path)
    assert o.observation == "error" and "Permission denied" in o.content, (path, o)
assert "cpuinfo" in lines(ls("/proc"))
o = ls("/proc", depth=3, limit=10000)
assert not any(x.split("/")[0].isdigit() and x.count("/") > 1 for x in lines(o)), o.content
assert "could not be looked into: Permission denied" in o.content
# /proc/self is the process that carries out the action, so a list cannot look into another
# process.
assert lines(ls("/proc/self/root/workspace")) == [] and lines(ls("/proc/self/cwd")) == lines(ls("/"))'
}

@test "names that are no text are told as bash reads them" {
	acts '
names = ["two\nlines", "a b", "tab\t", "\x27quoted\x27 \\ $x", "$\x27own\x27", "esc\x1b]0;x\x07", "\u00e9\u4e2d", "-rf", "*"]
for n in names: assert write(n, "x").observation == "write"
run("touch \"$(printf %b \"caf\\\\0351\")\" \"$(printf %b \"\\\\0377\\\\0376\")\"; mkdir $\x27d\\ne\x27")
o = ls()
assert len(lines(o)) == len(names) + 3, o.content
assert {"$\x27two\\nlines\x27", "a b", "$\x27tab\\t\x27", "\x27quoted\x27 \\ $x", "$\x27$\\\x27own\\\x27\x27", "$\x27esc\\033]0;x\\007\x27", "\u00e9\u4e2d",
        "$\x27caf\\351\x27", "$\x27\\377\\376\x27", "$\x27d\\ne\x27/"} <= set(lines(o)), o.content
# A name that is printed in the quotes of bash must be read back by bash as the same name.
for n in lines(o):
    if n.startswith("$"):
        assert run("[ -e " + n + " ]").meta["exit_code"] == 0, n
assert lines(glob("two*")) == ["$\x27two\\nlines\x27"] and len(lines(glob("caf?"))) == 1 and len(lines(glob("??"))) == 2
assert remove("two\nlines").observation == "remove" and stat("two\nlines").observation == "error"'
}

@test "a glob finds what bash finds, but folders" {
	acts '
run("mkdir -p a/b/c .h/x a/.h; touch x.py x.c y.PY a/x.py a/b/x.py a/b/c/z.py .h/x/x.py a/.h/x.py a/.x.py \"a/[x].py\" a/{1..12}.txt; ln -s a link; ln -s none gone.py")
table = ["*.py", "**/*.py", "*", "*/*", "**", "a/**", "a/**/x.py", "**/b/**/*.py", "?.py", "[xy].*", "[!x]*", "[^x]*", "*.[pP][yY]", "*.{py,c}", "{a/,}x.py", "a/{b,b/c}/*.py",
         ".*", ".h/**/*.py", "a/.*", "a/\\[x].py", "a/[[]x].py", "a/[1-4].txt", "a/*[0-9].txt", "{x,y}.{py,PY,c}", "a/b/c/z.py", "none", "**/none", "a/[]x].py", "x.{py", "{}", "{x.py}",
         "**/**/x.py", "a/?/x.py", "[a-z].py", "a/**/c/*", "*/**/*.py", "\\x.py", "a/*{0,2}.txt", "{a/{1,2},x}.{txt,py}"]
for pattern in table:
    o = glob(pattern, limit=10000)
    assert o.observation == "glob" and o.extras == {"path": ".", "pattern": pattern}, (pattern, o)
    want = run("shopt -s globstar nullglob extglob; for f in " + pattern + "; do [[ ( -d $f && ! -L $f ) || ! ( -e $f || -L $f ) ]] || echo \"$f\"; done | grep -v ^link/ | LC_ALL=C sort -u; shopt -u globstar nullglob extglob")
    assert sorted(lines(o), key=lambda x: x.encode()) == lines(want), (pattern, o.content, want.content)
assert lines(glob("*/")) == ["a/"] or sorted(lines(glob("*/"))) == ["a/"]
assert sorted(lines(glob("**/"))) == ["a/", "a/b/", "a/b/c/"] and lines(glob(".*/")) == [".h/"]'
}

@test "a glob tells the newest first, as paths that can be asked for" {
	acts '
run("mkdir -p d/e; for i in 3 1 2; do touch -d 2001-01-0$i d/e/$i; done; touch -d 2000-01-01T00:00:00.2 d/b; touch -d 2000-01-01T00:00:00.1 d/a d/c")
assert lines(glob("**", path="d")) == ["d/e/3", "d/e/2", "d/e/1", "d/b", "d/a", "d/c"]
for path, before in ((".", "d/"), ("d", "d/"), ("d/", "d/"), ("/workspace/d", "/workspace/d/"), ("./d//", "./d/"), ("/", "/workspace/d/")):
    pattern = {".": "d/*", "/": "workspace/d/*"}.get(path, "*")
    assert lines(glob(pattern, path=path)) == [before + x for x in "bac"], path
assert lines(glob("/workspace/d/*", path="/etc")) == ["/workspace/d/b", "/workspace/d/a", "/workspace/d/c"]
assert lines(glob("//workspace/d/a")) == ["/workspace/d/a"] and lines(glob("/work*/d/a")) == ["/workspace/d/a"]
o = glob("**", limit=2)
assert o.content == "d/e/3\nd/e/2\n[4 more are not shown.]" and o.hutch["truncated_chars"] == len("d/e/1d/bd/ad/c")
for pattern, words in (("../*", "no parts"), ("a/./b", "no parts"), ("{" + "a," * 300 + "b}", "too many"), ("{a,b}" * 12, "too many"), ("{,a}", "empty"), ("{/x,y}", "slash")):
    assert failed(glob(pattern), words), pattern
# The longest patterns are matched in bounded time.
assert glob("*a" * 2000 + "b", timeout=1000).content == "" and glob("**/" * 1300 + "x", timeout=1000).content == ""
assert failed(glob("*", path="d/a"), "Not a directory")'
}

@test "a stat tells what is there, and does not follow a link" {
	acts '
run("echo hello >f; chmod 6751 f; touch -d 2001-02-03T04:05:06.5Z f; ln -s none link; mkdir -m 1777 d; mkfifo -m 600 p; truncate -s 5G big; touch -d 1960-01-01T00:00:00Z old; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind(\x27s\x27)\"")
o = stat("f")
uid, gid = (int(x) for x in run("stat -c \"%u %g\" f").content.split())
assert o.hutch["stat"] == {"type": "file", "size": 6, "mode": 0o6751, "uid": uid, "gid": gid, "mtime": 981173106.5, "target": None}, o
assert o.content == f"/workspace/f: file, 6 bytes, mode 6751 (rwsr-s--x), owner {uid}:{gid}, changed 2001-02-03T04:05:06Z", o.content
assert list(o.hutch)[-2:] == ["stat", "took_ms"] and o.message == "I looked at /workspace/f." and o.extras == {"path": "f"}
for path, kind in (("d", "folder"), ("p", "pipe"), ("link", "link"), ("/dev/null", "character device"), (".", "folder"), ("s", "socket"), ("/proc/cpuinfo", "file")):
    o = stat(path)
    assert o.hutch["stat"]["type"] == kind, (path, o)
assert stat("link").hutch["stat"]["target"] == "none" and " link to none," in stat("link").content
assert stat("d").hutch["stat"]["mode"] == 0o1777 and "(rwxrwxrwt)" in stat("d").content
assert stat("big").hutch["stat"]["size"] == 5 << 30 and stat("old").hutch["stat"]["mtime"] == -315619200
assert failed(stat("none"), "File not found: /workspace/none. Your current working directory is /workspace.")
assert "stat" not in ls().hutch and failed(stat("f/"), "File not found")'
}

@test "a move is all or nothing, and replaces only what it was told to" {
	acts '
run("echo one >f; echo two >g; mkdir -p d/sub e full/x; ln -s none link")
o = move("f", to="h")
assert (o.observation, o.content, o.extras) == ("move", "", {"path": "f", "to": "h"}) and o.message == "I moved /workspace/f."
assert failed(move("h", to="g"), "/workspace/g: it is there already; with \"overwrite\": true it is replaced, but a folder only by one and if it is empty.") and run("cat g h").content == "two\none"
assert failed(move("h", to="link"), "/workspace/link: it is there already")
assert move("h", to="g", overwrite=True).observation == "move" and run("cat g; ls").content.split() == ["one", "d", "e", "full", "g", "link"]
assert move("d", to="e", overwrite=True).observation == "move" and ls("e").content == "sub/"
assert failed(move("e", to="full", overwrite=True), "/workspace/full: ") and failed(move("g", to="e", overwrite=True), "/workspace/e: it is a folder, which no file replaces; \"to\" is the new path itself")
assert failed(move("none", to="x"), "File not found: /workspace/none.") and failed(move("g", to="none/x"), "File not found: /workspace/none.")
assert failed(move("full", to="full/x/y"), "/workspace/full: a folder cannot be moved into itself.") and failed(move("g", to="/dev/shm/g"), "another mount")
assert move("link", to="/workspace/full/link").observation == "move" and stat("full/link").hutch["stat"]["target"] == "none"
assert move("g", to="g2", overwrite=False).observation == "move" and failed(move("g2", to="/usr/bin/g2"), "/workspace/g2: ")
assert move("g2", to="g2", overwrite=True).observation == "move" and run("cat g2").content == "one"
# The error names the path at which the action failed, which may be the second one.
assert failed(move("full", to="g2", overwrite=True), "/workspace/g2: Not a directory.") and failed(move("g2", to="p/q/x"), "/workspace/p/q.")
assert failed(move("full", to="g2/x"), "/workspace/g2: Not a directory.") and failed(move("g2/x", to="y"), "File not found: /workspace/g2/x.")
assert failed(move("g2", to="x" * 256), "/workspace/" + "x" * 256 + ": File name too long.") and failed(move("full/..", to="y"), "/workspace/full/..: it is a mount, or no name.")
run("ln -s loop loop; ln -s full to-full; mkdir ro; chmod 555 ro")
assert failed(move("g2", to="loop/x"), "/workspace/loop/x: Too many levels") and move("to-full/", to="to").hutch and stat("to").hutch["stat"]["type"] == "link"
if run("id -u").content != "0":
    assert failed(move("g2", to="ro/x"), "/workspace/ro: Permission denied.")
assert run("cat g2").content == "one"'
}

@test "a remove takes what it was told to and nothing else" {
	acts '
run("mkdir -p d/e/f keep; touch d/a d/e/b keep/me keep/you; ln -s /workspace/keep d/link; ln -s keep to-keep; ln -s /workspace/keep d/e/f/link; mkfifo d/p; touch plain")
assert failed(remove("d"), "/workspace/d: the folder is not empty; with \"recursive\": true")
assert failed(remove("d/e/"), "not empty") and remove("plain").content == "" and stat("plain").observation == "error"
assert remove("to-keep/").observation == "remove" and remove("d", recursive=True).extras == {"path": "d"}
assert lines(ls(depth=3)) == ["keep/", "keep/me", "keep/you"]
assert failed(remove("none"), "File not found") and failed(remove("none", recursive=True), "File not found") and failed(remove("keep/me/x"), "File not found")
run("mkdir -p sub/d; touch sub/x; cd sub/d")
for path in ("..", ".", "/", "../..", "/workspace/sub/d/..", "/workspace/.", "/tmp", "/dev/shm", "/proc"):
    assert failed(remove(path, recursive=True), ": "), path
assert run("ls /workspace /workspace/sub | xargs").content == "/workspace: keep sub /workspace/sub: d x"
assert mkdir("../e").observation == "mkdir" and remove("../e").observation == "remove" and remove("../x").observation == "remove"
if run("id -u").content != "0":
    run("cd /workspace; mkdir -p r/deep/ro; touch r/deep/ro/f; chmod 555 r/deep/ro")
    o = remove("r", recursive=True)
    assert failed(o, "/workspace/r/deep/ro/f: Permission denied"), o.content
    run("chmod 755 r/deep/ro; mkdir r/closed; chmod 0 r/closed")
    assert remove("r", recursive=True).observation == "remove"'
}

@test "trees a thousand folders deep, and wide ones, are listed, found in and removed" {
	acts '
run("p=$(printf \"d/%.0s\" $(seq 1000)); mkdir -p $p; touch $p/bottom; mkdir w; cd w; seq 20000 | xargs touch; seq -f s%g 3000 | xargs mkdir; cd ..", blocking=True, timeout=1000)
o = ls(depth=4096, limit=10000)
# The text of a list is at most 1 MiB; the names that do not fit are counted.
last = lines(o)[-1].split()
assert last[1:] == "more are not shown.]".split() and int(last[0][1:]) == 24002 - (len(lines(o)) - 1), (len(lines(o)), lines(o)[-2:])
assert (1 << 20) - 8192 < len(o.content) <= 1 << 20 and o.hutch["truncated_chars"] > 0
assert lines(glob("**/bottom")) == ["d/" * 1000 + "bottom"]
assert lines(glob("w/s29[0-3]?/"))[-1] == "w/s2939/" or len(lines(glob("w/s29[0-3]?/"))) == 40
assert remove("d", recursive=True).observation == "remove" and remove("w", recursive=True).observation == "remove"
assert ls().content == ""'
}

# For each folder that is opened, Landlock looks at all folders above it, so that a tree of this
# depth takes twenty times as long with it.
@test "a tree that is deeper than the limit is no hang: the result says so" {
	acts '
run("perl -e \x27mkdir(\"e\"), chdir(\"e\") for 1..4200\x27", blocking=True, timeout=1000)
o = glob("**/none", timeout=1000)
assert o.content.startswith("[1 folder could not be looked into: ") and "too long" in o.content, o.content
assert "too long" in remove("e", recursive=True, timeout=1000).content' --landlock off
}

@test "a tree that changes while it is walked ends no session and finds what stays" {
	acts '
run("mkdir -p stay/a t; touch stay/a/x; (cd t; mkdir $(seq 300); while :; do for i in $(seq 300); do [ ! -e ../stop ] || exit; mkdir -p $i/a/b; mv $i x; mv x/a .; rm -rf x a; mkdir $i; done; done) >/dev/null 2>&1 & sub=$!", session="w")
for i in range(60):
    o = glob("**/x", limit=10000)
    assert o.observation == "glob" and "stay/a/x" in lines(o), o.content
    o = ls(depth=9, limit=10000)
    assert o.observation == "list" and "stay/a/x" in lines(o), o.content[-300:]
run("touch stop; wait $sub", session="w")
o = remove("t", recursive=True)
assert o.observation == "remove", o.content'
}

@test "mkdir makes what is above, too, and minds no folder that is there" {
	acts '
o = mkdir("a/b/c/")
assert (o.observation, o.content, o.extras, o.message) == ("mkdir", "", {"path": "a/b/c/"}, "I made the folder /workspace/a/b/c.")
assert mkdir("a/b").observation == "mkdir" and mkdir("/").observation == "mkdir" and mkdir(".").observation == "mkdir" and mkdir("/usr/bin").observation == "mkdir"
assert stat("a/b/c").hutch["stat"]["mode"] == 0o755
run("touch f; ln -s a link; ln -s none gone")
assert mkdir("link").observation == "mkdir" and mkdir("link/new").observation == "mkdir" and ls("a").content == "b/\nnew/"
assert failed(mkdir("f"), "/workspace/f: it is there, and is no folder") and failed(mkdir("gone"), "is no folder")
assert failed(mkdir("f/x/y"), "/workspace/f: it is there, and is no folder") and failed(mkdir("x" * 256), "File name too long")
assert failed(mkdir("/proc/x"), "File not found") and failed(mkdir("/usr/new/x"), "/usr/new: Read-only file system.")
run("mkdir ro; chmod 555 ro")
if run("id -u").content != "0":
    assert failed(mkdir("ro/x/y"), "/workspace/ro/x: Permission denied.")
assert mkdir("ro").observation == "mkdir"'
}

@test "a full file system can be emptied, and a read-only one says so" {
	mkdir "$T/ro" "$T/rw" && touch "$T/ro/f" "$T/rw/keep" && give "$T/ro" "$T/rw"
	acts '
run("head -c 4M /dev/zero >/x/full 2>/dev/null")
assert failed(mkdir("/ro/x"), "/ro/x: Read-only file system.") and failed(remove("/ro/f"), "/ro/f: Read-only file system.")
assert failed(move("/ro/f", to="/ro/g"), "Read-only file system") and failed(remove("/ro", recursive=True), "Read-only file system")
# A mount in a folder is not removed, and no file in the mount is.
run("mkdir -p m/a; touch m/a/x")
assert failed(remove("/workspace/m/in", recursive=True), "/workspace/m/in: it is a mount")
assert failed(remove("m", recursive=True), "/workspace/m/in: it is a mount") and ls("m/in").content == "keep"
assert ls("/ro").content == "f" and remove("/x/full").observation == "remove"' --tmpfs /x:size=1m -v "$T/ro:/ro:ro" -v "$T/rw:/workspace/m/in:rw"
	[[ -e $T/rw/keep ]] && [[ -e $T/ro/f ]]
}

@test "wrong values are errors of the line, and the sandbox goes on" {
	acts '
for kind, args in (("list", {"path": ""}), ("list", {"path": 7}), ("list", {"depth": 0}), ("list", {"depth": 4097}), ("list", {"depth": "1"}), ("list", {"limit": 10001}), ("list", {"limit": 1.5}),
                   ("list", {"recursive": True}), ("list", {"path": "x" * 4096}), ("glob", {}), ("glob", {"pattern": ""}), ("glob", {"pattern": None}), ("glob", {"pattern": "x" * 4096}),
                   ("glob", {"pattern": "*", "limit": -1}), ("stat", {}), ("stat", {"path": "a", "follow": True}), ("move", {"path": "a"}), ("move", {"to": "a"}), ("move", {"path": "a", "to": ""}),
                   ("move", {"path": "a", "to": "b", "overwrite": 1}), ("remove", {}), ("remove", {"path": "a", "recursive": "yes"}), ("mkdir", {"path": []}), ("mkdir", {}), ("grep", {}),
                   ("grep", {"pattern": "x", "include": 1}), ("grep", {"pattern": "x", "context": 1}), ("copy_to", {"path": "a"}), ("copy_from", {"path": "a"})):
    o = ask({"action": kind, "args": args})
    assert o.observation == "error" and o.extras["error_id"] == "HUTCH$BAD_ACTION", (kind, args, o)
for line in ("{\"action\":\"stat\",\"args\":{\"path\":\"a\\u0000b\"}}", "{\"action\":\"stat\",\"args\":{\"path\":\"\\ud800\"}}"):
    assert ask(line).extras["error_id"] == "HUTCH$BAD_ACTION", line
assert ask(b"{\"action\":\"stat\",\"args\":{\"path\":\"\xff\"}}\n".decode("latin1").encode("latin1").decode("latin1")).observation == "error"
assert ls(thought="hm", security_risk=1).observation == "list" and run("echo still here").content == "still here"'
}

@test "an errand that hangs keeps no other action waiting; cancel and its time-out end it" {
	acts '
# A command of the same user stops all processes that it can signal.  A process that the command
# does not see in /proc is one that carries out an action, or a shell that is just being started.
run("true", session="three")
run("(base=$BASHPID; while :; do for ((p = base; p < base + 500; p++)); do [[ -e /proc/$p ]] || kill -STOP $p 2>/dev/null; done; done) & sub=$!", session="w")
send({"action": "list", "args": {"path": "/", "depth": 4096}, "id": 1001, "session": "one"})
send({"action": "list", "args": {"path": "/", "depth": 4096}, "id": 1002, "session": "two", "timeout": 2})
send({"action": "run", "args": {"command": "echo hi"}, "id": 1003, "session": "three"})
send({"action": "read", "args": {"path": "/etc/passwd"}, "id": 1004})
got = {}
while not {1003, 1004} <= got.keys():
    o = receive()
    got[o.cause] = o
assert got[1003].content == "hi" and got[1004].observation == "read" and 1001 not in got, got
send({"action": "cancel", "args": {"id": 1001}, "id": 1005})
while len(got) < 5:
    o = receive()
    got[o.cause] = o
a.id = 1005
assert got[1005].observation == "null" and got[1001].extras == {"error_id": "HUTCH$CANCELLED"}, got
o = got[1002]
assert o.observation == "error" and o.content == "ERROR: /: it was not done within 2 seconds.", o
run("kill $sub; wait $sub 2>/dev/null", session="w")
assert ls().observation == "list" and run("echo still here").content == "still here"'
}

@test "entries found before the time-out are returned" {
	acts '
def until_found(look, seconds=0.02):
    """Repeats with more time, until the search has begun in time."""
    o = look(seconds)
    return until_found(look, 2 * seconds) if "it was not done within" in o.content else o
o = until_found(lambda t: ls("/", depth=4096, timeout=t))
assert o.observation == "list" and "[Reading took too long, and was ended after " in lines(o)[-1], o.content[-300:]
o = until_found(lambda t: glob("**", path="/usr", timeout=t))
assert o.observation == "glob" and "[Reading took too long" in lines(o)[-1], o.content[-300:]
assert ls().content == ""'
}

@test "more errands than may go wait for their turn" {
	acts '
run("mkdir w; cd w; for i in $(seq 50); do mkdir $i; done")
for i in range(60):
    send({"action": "list", "args": {"path": "/workspace/w"}, "id": i, "session": f"s{i}"})
got = sorted(receive().cause for i in range(60))
assert got == list(range(60))'
}
