#!/usr/bin/env bats
# Tests of the editor of hutch act (docs/actions.md, "edit").

load helpers

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.  Adds
# edit(COMMAND, PATH, **args), view(PATH, ...), a function for the text before a view, and one
# that tells whether a content is an error.
acts() {
	"$here/act.py" "$HUTCH" '
edit = lambda command, path, **more: a.action("edit", command=command, path=path, **more)
view = lambda path, **more: read(path, impl_source="oh_aci", **more)
shown = lambda path: f"Here\x27s the result of running `cat -n` on {path}:\n"
failed = lambda o: o.content.startswith("ERROR:\n")
'"$1" "${@:2}"
}

@test "every sequence that was recorded from the reference agrees" {
	"$here/golden.py" "$HUTCH" "$here/golden/editor.json"
}

# TEXTS sets the number of random texts.
@test "the diff is that of Python's difflib, for random texts" {
	acts '
import difflib, random
seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
print("seed", seed)
random.seed(seed)
path = "/workspace/f"
ends = ["", " ", "\t", "\xa0", "\u3000", "\x1f", "\x85"]
def text():
    words = [random.choice(["", "a", "b", "long line", "\u20ac"]) + random.choice(ends) + ("" if i < 3 else str(i))
             for i in range(random.choice([1, 2, 3, 5, 20, 300]))]
    return "\n".join(random.choices(words, k=random.choice([0, 1, 2, 3, 7, 20, 60, 199, 200, 201, 400])))
def change(t):
    l = t.split("\n")
    for _ in range(random.randint(1, 6)):
        i, what = random.randrange(len(l) + 1), random.random()
        if what < 0.4: l[i:i + random.randrange(3)] = [random.choice(["new", "", "a"])]
        elif what < 0.7: del l[i:i + random.randint(1, 4)]
        else: j = random.randrange(len(l) + 1); l[i:i] = l[j:j + random.randint(1, 30)]
    return "\n".join(l)
# The editor refuses a file that is mostly control characters as binary, so such texts are not
# used.
is_binary = lambda t: t.count("\x1f") * 2 > len(t)
old = text()
while is_binary(old): old = text()
assert edit("create", path, file_text=old).content.startswith("File created")
for i in range(int(os.environ.get("TEXTS", "800"))):
    new = change(old) if random.random() < 0.7 else text()
    if new == old or is_binary(new): continue
    o = edit("str_replace", path, old_str=old, new_str=new)
    assert not failed(o), (seed, i, old, new)
    want = "\n".join(x.rstrip() for x in difflib.unified_diff(old.split("\n"), new.split("\n"), path, path, n=0))
    assert o.extras["diff"] == want, (seed, i, old, new, want)
    old = new
assert edit("view", path).extras["diff"] == ""'
}

@test "an edit keeps mode, owner, line ends, byte order mark and links" {
	acts '
run("printf \"\\xef\\xbb\\xbfone\\r\\ntwo\\r\\n\" >f; chmod 4751 f; ln -s f link")
before = run("stat -c %a:%u:%g f").content
assert view("/workspace/f").content == shown("/workspace/f") + "     1\tone\n     2\ttwo\n     3\t\n"
assert not failed(edit("str_replace", "/workspace/link", old_str="one\n", new_str="1\nand\n"))
assert not failed(edit("insert", "/workspace/f", insert_line=3, new_str="x"))
assert run("od -An -c f | tr -d \" \\n\"").content == "357273277" + "1\\r\\nand\\r\\ntwo\\r\\nx\\r\\n"
assert run("stat -c %a:%u:%g f; readlink link").content == before + "\nf"
for path in ("f", "link"):
    assert not failed(edit("undo_edit", "/workspace/" + path))
assert run("od -An -c f | tr -d \" \\n\"").content == "357273277one\\r\\ntwo\\r\\n"
assert run("stat -c %a:%u:%g f").content == before'
}

@test "a file is edited in the encoding that it has, and no other byte changes" {
	acts '
p = "/workspace/f"
rows = [("windows-1252", "caf\u00e9\r\nend\r\n", "\u00e9", "e \u20ac\nx"), ("windows-1251", "# \u0444\u0430\u0439\u043b\nend\n", "\u0444", "\u0424"),
        ("koi8-r", "# \u0444\u0430\u0439\u043b\nend\n", "\u0444", "\u0424"), ("utf-16", "a\u20ac\r\nend", "a", "\U0001f600\nb"), ("utf-8-sig", "caf\u00e9\n", "\u00e9", "\u9f8d")]
put = lambda b: run("printf \x27" + "".join("\\%03o" % x for x in b) + "\x27 >f")
get = lambda: bytes.fromhex(run("od -An -v -tx1 f").content)
for name, text, old, new in rows:
    put(text.encode(name))
    seen = text.replace("\r\n", "\n")
    assert view(p).content == shown(p) + "".join(f"{i:6}\t{l}\n" for i, l in enumerate(seen.split("\n"), 1)), name
    o = edit("str_replace", p, old_str=old, new_str=new)
    assert not failed(o) and old in o.extras["diff"], (name, o.content)
    end = "\r\n" if "\r" in text else "\n"
    assert get() == text.replace(old, new.replace("\n", end), 1).encode(name), (name, get())
    assert not failed(edit("undo_edit", p)) and get() == text.encode(name)
put("caf\u00e9\n".encode("latin-1"))
o = edit("insert", p, insert_line=1, new_str="\u9f8d")
assert o.content == "ERROR:\nRan into U+9F8D, which windows-1252, the encoding of the file, does not have, while trying to write to /workspace/f", o.content
assert get() == b"caf\xe9\n" and failed(edit("undo_edit", p))
assert read(p).content == "File could not be decoded as utf-8: /workspace/f."'
}

@test "undo: nothing after a create, each step once, and not what failed" {
	acts '
p = "/workspace/f"
edit("create", p, file_text="one\n")
assert edit("undo_edit", p).content == "ERROR:\nNo edit history found for /workspace/f."
assert run("cat f").content == "one"
edit("str_replace", p, old_str="one", new_str="two")
assert failed(edit("str_replace", p, old_str="nothing", new_str="x"))
edit("insert", p, insert_line=0, new_str="zero")
o = edit("undo_edit", p)
assert o.content == "Last edit to /workspace/f undone successfully. " + shown(p) + "     1\ttwo\n     2\t\n"
assert o.extras["diff"].endswith("@@ -1 +0,0 @@\n-zero")
edit("undo_edit", p)
assert run("cat f").content == "one"
assert failed(edit("undo_edit", p))'
}

@test "insert behind a last line without a newline puts one between" {
	acts '
run("printf \"one\\ntwo\" >f")
o = edit("insert", "/workspace/f", insert_line=2, new_str="three")
assert run("od -An -c f | tr -d \" \\n\"").content == "one\\ntwo\\nthree\\n"
assert o.content.endswith("     3\tthree\n     4\t\nReview the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.")
o = edit("insert", "/workspace/f", insert_line="1", new_str="x")
assert not failed(o) and run("cat f").content == "one\nx\ntwo\nthree"
assert edit("insert", "/workspace/f", insert_line="x", new_str="y").content == "ERROR:\nInvalid insert_line value: \x27x\x27. Expected an integer."'
}

@test "an empty file has no impossible range" {
	acts '
run(">f")
assert view("/workspace/f").content == shown("/workspace/f") + "     1\t\n"
o = view("/workspace/f", view_range=[1, 1])
assert o.observation == "read" and failed(o) and "[1, 0]" not in o.content and "empty" in o.content'
}

@test "a file that is no text is refused in the form of the editor, without waiting" {
	acts '
run("mkfifo fifo; head -c 11M /dev/zero | tr \"\\0\" x >large; printf \"a\\0b\" >nul; printf \"\\377\\376a\" >odd; mkdir d; ln -s loop loop; (umask 777; >secret); cp nul nul.png; cp nul nul.pdf; head -c 11M /dev/zero >zeros")
words = {"fifo": "not a regular file", "large": "File is too large (11.0MB). Maximum allowed size is 10MB.",
         "nul": "appears to be binary", "odd": "not valid UTF-16LE (position 2)", "loop": "does not exist", "nul/x": "does not exist", "none": "does not exist"}
for name, word in words.items():
    for o in (edit("view", "/workspace/" + name), edit("str_replace", "/workspace/" + name, old_str="x", new_str="y"),
              edit("insert", "/workspace/" + name, insert_line=0, new_str="y"), edit("undo_edit", "/workspace/" + name)):
        assert o.observation == "edit" and failed(o) and word in o.content, name
        assert o.extras["diff"] == "" and o.content.count("/workspace/" + name) >= 1
for path in ("/dev/zero", "/dev/tty", "/dev/stdin", "/dev/full"):
    assert failed(edit("view", path)) and failed(edit("str_replace", path, old_str="", new_str="y"))
for path in ("/proc/self/environ", "/proc/1/maps", "/proc/self", "/proc/self/fd"):
    assert "Permission denied" in edit("view", path).content or "does not exist" in edit("view", path).content, path
assert "cpu" in edit("view", "/proc/stat").content
assert failed(edit("create", "/proc/none", file_text="x"))
assert failed(edit("create", "/workspace/fifo", file_text="x"))
# The action view of a binary file has the error ERROR_BINARY_FILE; for a picture it has the error
# of the editor.
for name in ("nul", "zeros"):
    o = view("/workspace/" + name)
    assert o.observation == "error" and o.content == "ERROR_BINARY_FILE"
assert view("/workspace/nul.png").content.startswith("ERROR:\nFile validation failed for /workspace/nul.png: File appears to be binary")
assert view("/workspace/nul.pdf").content.endswith("cannot be shown by this sandbox")
if run("id -u").content != "0":
    assert edit("view", "/workspace/secret").content.startswith("ERROR:\nRan into [Errno 13] Permission denied")
assert run("echo still here").content == "still here"'
}

@test "a file that others replace all the time is never torn" {
	acts '
run("for i in $(seq 200); do echo line $i; done >f; cp f g")
run("(while :; do cp g .t && mv .t f; done) >/dev/null 2>&1 & sub=$!; disown", session="w")
done = changed = i = 0
while i < 100 or not done:
    i += 1
    assert i < 10000, changed
    o = edit("str_replace", "/workspace/f", old_str="line 100\n", new_str="line one hundred\n")
    if failed(o):
        assert "another process" in o.content or "did not appear" in o.content or "does not exist" in o.content, o.content
        changed += 1
    else:
        done += 1
run("kill $sub; wait $sub 2>/dev/null", session="w")
assert run("wc -l <f").content == "200"
assert view("/workspace/f").content.count("\n") == 202'
}

@test "no space left: the file is as it was, and it is said" {
	acts '
run("head -c 700K /dev/urandom | base64 -w 60 >/x/f; sum=$(md5sum </x/f); head -c 1G /dev/zero >/x/rest 2>/dev/null")
line = run("head -n 1 /x/f").content
o = edit("str_replace", "/x/f", old_str=line, new_str=line + "\nmore")
assert failed(o) and "[Errno 28] No space left on device: \x27/x/f\x27 while trying to write to /x/f" in o.content, o.content
assert "No space left" in write("/x/f", "y" * (2 << 20)).content
assert "No space left" in edit("create", "/x/new", file_text="x" * 100000).content
assert run("[ \"$sum\" = \"$(md5sum </x/f)\" ] && ls -A /x | xargs").content == "f rest"
# A file with two hard links is overwritten in place, and only if the new text fits completely.
run("rm /x/rest; ln /x/f /x/g; head -c 1G /dev/zero >/x/rest 2>/dev/null")
o = edit("str_replace", "/x/f", old_str=line, new_str=line + "\nmore" * 3000)
assert failed(o) and "No space left" in o.content, o.content
assert run("[ \"$sum\" = \"$(md5sum </x/f)\" ] && echo same").content == "same"
assert failed(edit("undo_edit", "/x/f"))' --tmpfs /x:size=2m
}

@test "a file that may not be written says so, after any error in the request itself" {
	acts '
assert "[Errno 30] Read-only file system" in edit("create", "/usr/x", file_text="x").content or "Permission denied" in edit("create", "/usr/x", file_text="x").content
o = edit("str_replace", "/etc/passwd", old_str="no such user", new_str="x")
assert "did not appear verbatim" in o.content
o = edit("insert", "/usr/bin/ldd", insert_line=0, new_str="x")
assert o.content in ("ERROR:\nRan into [Errno 30] Read-only file system: \x27/usr/bin/ldd\x27 while trying to write to /usr/bin/ldd",
                     "ERROR:\nRan into [Errno 13] Permission denied: \x27/usr/bin/ldd\x27 while trying to write to /usr/bin/ldd"), o.content
# The editor must not replace a read-only file by a new one, although the mode of the folder would
# permit that.
run("echo one >f; chmod 400 f")
o = edit("str_replace", "/workspace/f", old_str="one", new_str="two")
assert o.content == "ERROR:\nRan into [Errno 13] Permission denied: \x27/workspace/f\x27 while trying to write to /workspace/f", o.content
assert run("cat f").content == "one"'
}

@test "a folder is listed two levels deep, and hidden names are counted" {
	acts '
run("mkdir -p b/c/d .git; >b/c/f; >a; >.env; >b/.x; ln -s b l")
o = view("/workspace")
assert o.content == ("Here\x27s the files and directories up to 2 levels deep in /workspace, excluding hidden items:\n/workspace/\n/workspace/a\n/workspace/b/\n/workspace/b/c/\n/workspace/l/\n/workspace/l/c/\n\n"
    "2 hidden files/directories in this directory are excluded. You can use \x27ls -la /workspace\x27 to see them."), o.content
run("mkdir many hidden; (cd many; seq 3000 | xargs touch); cd hidden; seq -f .%g 70000 | xargs touch; cd ..", blocking=True, timeout=1000)
o = edit("view", "/workspace/many/")
assert o.content.count("/workspace/many/") < 1000 and "part of this directory" in o.content and o.hutch["truncated_chars"] > 0
# The editor reads at most 65,536 names of a folder.
o = edit("view", "/workspace/hidden")
assert "65536 hidden files" in o.content and "part of this directory" in o.content, o.content
assert edit("view", "/").content.startswith("Here\x27s the files and directories up to 2 levels deep in /, excluding hidden items:\n/\n/bin")'
}

@test "long views are clipped at 16,000 characters, before they are numbered" {
	acts '
run("yes \"Line 1\" | head -n 16000 >large")
o = view("/workspace/large")
assert len(o.content) == len(shown("/workspace/large")) + 32253
assert "Due to the max output limit, only part of this file has been shown to you." in o.content
assert o.hutch["truncated_chars"] == 16000 * 7 - 16000
assert "clipped" not in view("/workspace/large", view_range=[15000, -1]).content'
}

@test "wrong types are errors of the line, and the sandbox goes on" {
	acts '
for args in ({"command":7}, {"old_str":[]}, {"insert_line":{}}, {"view_range":[1,2]}, {"impl_source":"llm_based_edit"},
             {"enable_linting":True}, {"path":""}, {"path":"x" * 5000}, {"path":None}):
    o = ask({"action":"edit","args":{"path":"/workspace/f","command":"view"} | args})
    assert o.observation == "error" and o.extras["error_id"] == "HUTCH$BAD_ACTION", args
o = ask({"action":"edit","args":{"path":"/workspace/f","command":"create","file_text":"x" * (9 << 20)}})
assert o.extras["error_id"] == "HUTCH$BAD_ACTION" and "more than" in o.content
assert view("/workspace/none", view_range=[1, "a"]).content.startswith("ERROR:\nInvalid `path`")
run("echo x >f")
assert view("/workspace/f", view_range=[1, "a"]).content == "ERROR:\nInvalid `view_range` parameter: [1, \x27a\x27]. It should be a list of two integers."
assert run("echo still here").content == "still here"'
}

@test "pictures, PDF and video are data URLs, and the binary rule is about the others" {
	acts '
import base64
types = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "bmp": "image/bmp", "gif": "image/gif",
         "pdf": "application/pdf", "mp4": "video/mp4", "webm": "video/webm", "ogg": "video/ogg", "PNG": "image/png"}
run("head -c 5000 /dev/urandom >bytes")
data = base64.b64decode(run("base64 -w 0 bytes").content)
assert len(data) == 5000
for ending, kind in types.items():
    run(f"cp bytes /workspace/f.{ending}")
    for path in (f"f.{ending}", f"/workspace/f.{ending}"):
        o = read(path)
        assert o.observation == "read" and o.content == f"data:{kind};base64," + base64.b64encode(data).decode(), path
assert read("bytes").content == "ERROR_BINARY_FILE" and read("/workspace/bytes").observation == "error"
rows = {"": "", "a\\0b": None, "\\177ELF\\2\\1\\1\\0": None, "a\\377": None,
        "\\1\\2\\3\\4": None, "\\1\\2\\3ab": "\x01\x02\x03ab", "\\303\\251t\\303\\251\\n": "\u00e9t\u00e9\n",
        "\\377\\376a\\0": "not utf-8", "caf\\351 au lait\\n": "not utf-8", "plain\\ttext\\r\\n": "plain\ttext\r\n"}
for octal, want in rows.items():
    run(f"printf \x27{octal}\x27 >x".replace("\\\\", "\\"))
    o = read("x")
    if want is None:
        assert o.content == "ERROR_BINARY_FILE" and o.observation == "error", octal
    elif want == "not utf-8":
        assert o.content == "File could not be decoded as utf-8: /workspace/x.", octal
    else:
        assert o.observation == "read" and o.content == want, (octal, o)'
}

@test "--lint says what a linter inside finds, and other sessions go on meanwhile" {
	acts '
edit("create", "/workspace/a.py", file_text="def f():\n    return 1\n")
o = edit("str_replace", "/workspace/a.py", old_str="return 1", new_str="return )")
assert o.content == ("The file /workspace/a.py has been edited. Here\x27s the result of running `cat -n` on a snippet of /workspace/a.py:\n     1\tdef f():\n     2\t    return )\n     3\t\n"
    "\nLinting issues found in the changes:\n- Line 2, Column 12: unmatched \x27)\x27\n\nReview the changes and make sure they are as expected. Edit the file again if necessary."), o.content
o = edit("insert", "/workspace/a.py", insert_line=0, new_str="import os")
assert "\n\nNo linting issues found in the changes.\nReview the changes and make sure they are as expected (correct" in o.content, o.content
assert "inting issues" not in edit("undo_edit", "/workspace/a.py").content
run("printf \"# x\\n\" >f")
assert "inting issues" not in edit("str_replace", "/workspace/f", old_str="x", new_str="y").content
# The linter runs as the user of the session, in the cgroup of commands; it is found by the PATH
# of the session.
run("mkdir /tmp/bin; printf \x27#!/bin/sh\\necho \"stdin:1: $(id -u) $(readlink /proc/self/cwd)\"\\n\x27 >/tmp/bin/flake8; chmod +x /tmp/bin/flake8; mkfifo /tmp/go")
o = edit("insert", "/workspace/a.py", insert_line=0, new_str="import os")
assert "- Line 1, Column 1: " + run("id -u").content + " /\n" in o.content, o.content
# The linter also gets variables that an env action has added.
a.action("env", set={"ADDED": "later"})
run("printf \x27#!/bin/sh\\necho \"stdin:1: added $ADDED\"\\n\x27 >/tmp/bin/flake8")
o = edit("insert", "/workspace/a.py", insert_line=0, new_str="import sys")
assert "- Line 1, Column 1: added later\n" in o.content, o.content
run("printf \x27#!/bin/sh\\nmkdir /tmp/once || exit 0; read x </tmp/go; echo \"stdin:1: it $x\"\\n\x27 >/tmp/bin/flake8")
a.send({"action":"edit","id":900,"args":{"command":"insert","path":"/workspace/a.py","insert_line":0,"new_str":"x"}})
o = ask({"action":"run","id":901,"session":"other","args":{"command":"echo went on >/tmp/go; echo here"}})
first, second = sorted((o, receive()), key=lambda x: x.cause)
assert second.content == "here" and "- Line 1, Column 1: it went on\n" in first.content, first
assert a.run("echo still here").content == "still here"' --lint -e PATH=/tmp/bin:/usr/bin:/bin
}

# EDITS sets how often a large file is edited.
@test "hostile texts neither stop it nor grow it" {
	acts '
p = "/workspace/f"
write("f", "a\n" * 2000000)
for old, new in (("a\n" * 1900000, "b\n" * 1900000), ("b", "c")):
    o = edit("str_replace", p, old_str=old, new_str=new)
    assert len(o.extras["diff"]) <= 4 << 20 and len(o.content) < 9 << 20
write("f", "\n".join(str(i % 101) for i in range(100000)))
o = edit("insert", p, insert_line=50000, new_str="x")
assert o.extras["diff"] == "--- /workspace/f\n+++ /workspace/f\n@@ -50000,0 +50001 @@\n+x"
for i in range(int(os.environ.get("EDITS", "12"))):
    edit("insert", p, insert_line=0, new_str="y" * 1000)
assert a.run("echo still here").content == "still here"'
}
