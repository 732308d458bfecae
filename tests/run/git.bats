#!/usr/bin/env bats
# Tests of the git actions of hutch act, and of the setup script, hooks and microagents of a
# repository (docs/actions.md, "git"), with a real git server on the loopback.

load helpers

# The token is written in reverse here and turned around in the tests, so that no program but the
# tested one has the real token in its arguments.
token=elpats-yrettab-esroh-tcerroc

# repository NAME [COMMANDS]: makes a bare repository $T/srv/NAME.git of one commit; COMMANDS run
# in its work tree before the commit.
repository() {
	local name=$1 extra=${2:-:}
	mkdir -p "$T/srv"
	git init -q -b main "$T/make.$name"
	(cd "$T/make.$name" && printf 'one\ntwo\n' >a.txt && printf 'x\n' >b.txt && eval "$extra" &&
		git add -A && git -c user.name=A -c user.email=a@b -c protocol.file.allow=always commit -qm first)
	git clone -q --bare "$T/make.$name" "$T/srv/$name.git"
	give "$T/srv"
}

setup() {
	begin
	export GIT_CONFIG_NOSYSTEM=1
	room w audit
}

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.  Adds
# a function for each action, and failed(OBSERVATION, WORDS).
acts() {
	TOKEN=$token T=$T "$here/act.py" "$HUTCH" '
import os, sys
sys.path.append(sys.path[0] + "/..")
from patience import wait_until
from git_server import Server, processes_with, files_with
T, token = os.environ["T"], os.environ["TOKEN"][::-1]
do = lambda kind: lambda **args: a.action(kind, **args)
clone, branch, changes, diff, setup, hooks, script, agents = (do(kind) for kind in (
    "git_clone", "git_branch", "git_changes", "git_diff", "git_setup", "install_git_hooks", "run_setup_script", "microagents"))
def ok(o):
    assert o.observation != "error", o.content
    return o
def failed(o, *words):
    assert (o.observation, o.extras) == ("error", {"error_id": ""}), o
    for word in words:
        assert word in o.content, (word, o.content)
    return True
pairs = lambda o: [(c["status"], c["path"]) for c in ok(o).hutch["changes"]]
sides = lambda o: (ok(o).hutch["diff"]["original"], o.hutch["diff"]["modified"])
def sh(command):
    o = run(command)
    assert o.meta["exit_code"] == 0, o.content
    return o.content
commit = "git add -A; git -c user.name=A -c user.email=a@b commit -qm more"
'"$1" "${@:2}"
}

@test "a clone with a token: nothing has the token but git's memory and its server" {
	repository p
	acts '
server, names, found = Server(T + "/srv", token), set(), []
server.on_private = lambda: found.extend(processes_with(token, names))
sh("git config --global credential.helper store")
o = ok(clone(url=server.url + "private/p.git", token=token))
assert (o.observation, o.extras) == ("git_clone", {"path": "p", "url": server.url + "private/p.git", "branch": None}), o
assert o.message == "I cloned into /workspace/p." and o.content.startswith("Branch main, at "), o.content
state = o.hutch["git"]
assert (state["branch"], state["upstream"], state["ahead"], state["behind"]) == ("main", "origin/main", 0, 0), state
assert sh("(cd p && git rev-parse HEAD && cat a.txt)") == state["commit"] + "\none\ntwo"
assert server.users == {"x-access-token"} and any(given for _, given in server.seen) and server.seen[0][1] is None
assert any("git-remote-http" in name for name in names), names   # that was looked at, while it waited
assert not found, found
assert sh("git -C p config remote.origin.url") == server.url + "private/p.git"
assert not run("git -C p config --local --get-regexp credential").content
assert sh("ls /proc/self/fd | wc -l") <= "5"
assert not files_with(token, T + "/w", T + "/home", T + "/runtime", T + "/audit"), files_with(token, T)
assert open(T + "/w/p/a.txt").read() and os.listdir(T + "/audit")
assert sh("grep -rs %s... /tmp /home /run ~ | wc -l" % token[:4]) == "0"
o = run("echo " + token)
assert o.content == "<secret-hidden>" and token not in str(o)
assert failed(clone(url=server.url + "private/p.git", token=token, path="p"), "already exists and is not an empty directory")
# This clone gives another user name, a branch, and a depth of 1.
o = ok(clone(url=server.url + "private/p.git", token=token, user="oauth2", branch="main", depth=1, path="q/r"))
assert server.users == {"x-access-token", "oauth2"} and o.extras["path"] == "q/r"
assert sh("cat q/r/a.txt ../workspace/q/r/b.txt").endswith("x")' --network host --workspace "$T/w" --audit "$T/audit"
	never grep -rqs "$(rev <<<"$token")" "$T/audit" "$T/home" "$T/runtime"
	grep -q git_clone "$T"/audit/*
}

@test "a wrong token, none, a name that is not there: an error, and nothing is left" {
	repository p
	acts '
server = Server(T + "/srv", token)
sh("printf \"#!/bin/sh\\necho ran >>/tmp/ran\\n\" >/tmp/evil; chmod +x /tmp/evil; git config --global credential.helper /tmp/evil; git config --global core.askPass /tmp/evil")
for more, words in (({"token": "wrong-" + token}, "the server refused this token"), ({}, "the server requires a token"),):
    assert failed(clone(url=server.url + "private/p.git", **more), "git cannot clone", words), more
    assert sh("ls -A") == ""
a.action("env", set={"GIT_ASKPASS": "/tmp/evil", "SSH_ASKPASS": "/tmp/evil"})
assert failed(clone(url=server.url + "private/p.git"), "requires a token") and "not found" in a.action("stat", path="/tmp/ran").content
assert failed(clone(url=server.url + "private/none.git", token=token), "no repository of this name")
assert failed(clone(url=server.url + "p.git", branch="none"), "none not found")
assert failed(clone(url="/none.git"), "does not exist")
assert failed(clone(url="http://127.0.0.1:1/x.git"), "--network host")
assert sh("ls -A") == ""
o = a.action("git_clone", timeout=0.4, url=server.url + "slow/p.git")
assert failed(o, "/workspace/p: it was not done within 0.4 seconds") and sh("ls -A") == ""
# A clone that is cancelled removes its partial result, too.
send({"action": "git_clone", "args": {"url": server.url + "slow/p.git"}, "id": 900})
wait_until(lambda: run("test -e p/.git", session="other").meta["exit_code"] == 0)
send({"action": "cancel", "args": {"id": 900}, "id": 901})
got = {o["cause"]: o for o in (receive(), receive())}
a.id = 901
assert got[900].extras["error_id"] == "HUTCH$CANCELLED" and got[901].observation == "null", got
assert sh("ls -A") == ""
server.stop.set()
assert ok(clone(url=server.url + "p.git", path=".")).hutch["git"]["branch"] == "main" and sh("cat b.txt") == "x"' --network host
}

@test "a redirect gets no token, and without one it is followed" {
	repository p
	acts '
other = Server(T + "/srv")
server = Server(T + "/srv", token, elsewhere=other.url)
assert failed(clone(url=server.url + "moved/p.git", token=token), "a token is not sent there")
assert other.seen == [], other.seen
assert ok(clone(url=server.url + "moved/p.git")) and other.seen and not any(given for _, given in other.seen)
# The token is not sent to the other server even if that server asks for it.
other.token = token
server.elsewhere = other.url + "private/"
other.seen.clear()
assert failed(clone(url=server.url + "moved/p.git", token=token, path="q"), "not sent there") and other.seen == []
# The token is not sent either if the git configuration replaces the URL by that of the other
# server.
sh("git config --global url.%sprivate/.insteadOf %s" % (other.url, server.url))
assert failed(clone(url=server.url + "p.git", token=token, path="q"), "requires a token") and other.seen
assert not any(given for _, given in other.seen), other.seen' --network host
}

@test "a value that is no URL, would give a token away, or is invalid, is refused" {
	acts '
bad = lambda kind, **args: a.action(kind, **args).extras == {"error_id": "HUTCH$BAD_ACTION"}
for url in ("", "-x", "ext::sh -c id", "ext::id", "x", "p/q", "file://host/x", "http:", "https://", "ftp://h/x", "https://h/ x", "https://u:secret@h/x", "https://h/\nx", "../x", "https://h/" + "x" * 2000):
    assert bad("git_clone", url=url), url
for url in ("http://example.org/x", "git://h/x", "/srv/x", "ssh://h/x", "h:x", "https://h=x/y", "https://h\"/y"):
    assert bad("git_clone", url=url, token="t" * 8), url
for more in ({"token": "a b"}, {"token": ""}, {"token": "a\nb"}, {"token": "x" * 2001}, {"token": 1}, {"user": "a b", "token": "xxxx"}, {"branch": "-b"}, {"branch": "a b"}, {"depth": 0}, {"depth": -1}, {"path": ""}, {"nosuch": 1}):
    assert bad("git_clone", url="https://localhost:1/x.git", **more), more
for kind, args in (("git_branch", {}), ("git_branch", {"name": ""}), ("git_branch", {"name": "-d"}), ("git_branch", {"name": "x", "create": 1}), ("git_changes", {"ref": "--output=x"}), ("git_changes", {"limit": 0}),
                   ("git_diff", {}), ("git_setup", {"name": "a\nb"}), ("microagents", {"folder": ""}), ("install_git_hooks", {"x": 1}), ("run_setup_script", {"path": 1}), ("git_clone", {})):
    assert bad(kind, **args), (kind, args)
assert failed(branch(name="@{-1}"), "not a valid branch name")
assert "secret" not in a.action("git_clone", url="https://u:secret@h/x").content'
}

@test "no repository, and no git inside, is said" {
	acts '
assert failed(changes(), "not a git repository", "git_setup")
assert failed(branch(name="x"), "not a git repository")
assert failed(diff(path="x"), "not a git repository")
assert "Not a directory" in changes(path="/etc/hostname").content and "not found" in changes(path="none").content
o = ok(setup(name="Ada L", email="ada@example.org", init=True))
assert o.content == "safe.directory /workspace\nuser.name Ada L\nuser.email ada@example.org\ninit /workspace", o.content
assert ok(setup(init=True)).content == "safe.directory /workspace" and sh("git config --get-all safe.directory") == "/workspace"
assert changes().content == ""   # no commit yet
sh("echo 1 >f")
assert pairs(changes()) == [("A", "f")] and sides(diff(path="f")) == (None, "1\n")
assert sh("git add f && git commit -qm one && git log --format=%an:%ae") == "Ada L:ada@example.org"
a.action("env", set={"PATH": "/nowhere"})
for o in (changes(), diff(path="f"), branch(name="x"), clone(url="/workspace", path="/tmp/c"), setup()):
    assert failed(o, "there is no git on the session")'
}

@test "changes and diff, in the shapes of the reference" {
	acts '
sh("git init -q -b main; seq 9 >keep; seq 9 >gone; seq 99 >old; ln -s keep link; printf a\\\\0b >bin; mkdir d; touch d/f; echo x >kind; echo \"*.o\" >.gitignore; " + commit)
sh("echo 10 >>keep; rm gone; mv old new; git add -A; ln -sf gone link; echo more >d/g; touch x.o; printf a\\\\0c >bin; rm kind; ln -s d kind")
sh("touch \"a b\" $'"'"'two\\nlines'"'"' $'"'"'\\377'"'"' -- -x; git init -q sub; echo s >sub/s")
expected = [("A", r"$'"'"'\377'"'"'"), ("A", "-x"), ("A", "a b"), ("A", "d/g"), ("A", "new"), ("A", "sub/s"), ("A", r"$'"'"'two\nlines'"'"'"),
            ("D", "gone"), ("D", "old"), ("M", "bin"), ("M", "keep"), ("M", "kind"), ("M", "link")]
o = changes()
assert sorted(pairs(o)) == sorted(expected), pairs(o)
assert (o.observation, o.extras, o.message) == ("git_changes", {"path": ".", "ref": None}, "I looked for changes in /workspace.")
assert o.content.split("\n") == [s + " " + p for s, p in pairs(o)]
o = changes(limit=2)
assert len(pairs(o)) == 2 and o.content.endswith("\n[11 more are not shown.]") and o.hutch["truncated_chars"] > 0
assert pairs(changes(path="d")) == [("A", "g")]
lines = lambda n: "".join("%d\n" % i for i in range(1, n + 1))
o = diff(path="keep")
assert sides(o) == (lines(9), lines(10)) and (o.observation, o.extras, o.content) == ("git_diff", {"path": "keep", "ref": None}, "The file was changed.")
assert sides(diff(path="gone")) == (lines(9), None) and sides(diff(path="new")) == (None, lines(99))
assert sides(diff(path="link")) == ("keep", "gone") and sides(diff(path="/workspace/d/f")) == ("", "") and sides(diff(path="sub/s")) == (None, "s\n")
assert sides(diff(path="kind")) == ("x\n", "d")
sh("rm -r d"); assert sides(diff(path="d/f")) == ("", None)
assert failed(diff(path="none"), "File not found") and diff(path="bin").content == "ERROR_BINARY_FILE" and "directory" in diff(path="sub").content
sh("head -c 1048577 /dev/zero | tr \\\\0 x >large")
assert failed(diff(path="large"), "file_to_large")
sh("head -c 1048576 large >most")
assert len(sides(diff(path="most"))[1]) == 1 << 20
sh("mkfifo pipe"); assert failed(diff(path="pipe"), "Not a regular file")
# Changes relative to an earlier commit include files that were committed since.
sh("rm pipe; rm -r sub; " + commit)
assert pairs(changes()) == [] and ("D", "gone") in pairs(changes(ref="HEAD~1")) and sides(diff(path="keep", ref="HEAD~1"))[0] == lines(9)
assert failed(changes(ref="none"), "there is no commit none")
# A file with a merge conflict is listed once, as unmerged.
sh("git switch -qc other; echo other >keep; " + commit + "; git switch -q main; echo main >keep; " + commit + "; git -c user.name=A -c user.email=a@b merge -q other; true")
assert pairs(changes()) == [("U", "keep")]'
}

@test "the base is what origin has of the branch, and for a new one where it left origin's own" {
	repository p
	acts '
ok(clone(url="/srv/p.git"))
sh("cd p; echo 3 >>a.txt; " + commit)
assert pairs(changes(path="..")) == [("M", "p/a.txt")] and pairs(changes()) == [("M", "a.txt")]
o = ok(branch(name="work/x", create=True))
assert o.content.startswith("Branch work/x, at ") and o.hutch["git"]["upstream"] is None
assert pairs(changes()) == [("M", "a.txt")] and sides(diff(path="a.txt"))[0] == "one\ntwo\n"
assert failed(branch(name="work/x", create=True), "already exists") and failed(branch(name="none"), "invalid reference")
sh("echo 4 >>a.txt; " + commit + "; git switch -q main; git reset -q --hard origin/main; echo mine >>a.txt")
assert failed(branch(name="work/x"), "nothing was changed") and sh("tail -n 1 a.txt") == "mine"
# The local and the remote branch have diverged: the result says so, and nothing is merged.
sh(commit + "; cd ..; git clone -q /srv/p.git other; cd other; echo theirs >>b.txt; " + commit + "; git push -q /workspace/p HEAD:refs/remotes/origin/main; cd ../p")
sh("git switch -q work/x")
o = ok(branch(name="main"))
assert (o.hutch["git"]["ahead"], o.hutch["git"]["behind"]) == (1, 1) and "they have diverged, and nothing was merged" in o.content, o.content
assert sh("tail -n 1 a.txt b.txt").split()[3] == "mine" and sh("git status --porcelain") == ""
sh("git switch -q --detach"); assert pairs(changes()) and sh("git rev-parse HEAD") == o.hutch["git"]["commit"]' -v "$T/srv:/srv:ro"
}

@test "nothing of a hostile repository is run by the actions that look at it" {
	repository h 'mkdir m && printf "*.txt diff=x filter=x\n" >.gitattributes &&
		printf "[submodule \"s\"]\n\tpath = s\n\turl = ./sub\n" >.gitmodules && git init -q s && git -C s -c user.name=A -c user.email=a@b commit -q --allow-empty -m s'
	acts '
sh("printf \"#!/bin/sh\\necho ran >>/tmp/ran\\n\" >/tmp/evil; chmod +x /tmp/evil")
ok(clone(url="/srv/h.git"))
assert sh("cd h; ls -A s | wc -l") == "0"
sh("for k in core.fsmonitor core.editor core.pager diff.external diff.x.command diff.x.textconv credential.helper core.askPass gpg.program uploadpack.packObjectsHook alias.diff alias.rev-parse; do git config $k \"/tmp/evil\"; done")
sh("git config core.hooksPath /tmp/hooks; mkdir /tmp/hooks; for h in post-checkout pre-commit reference-transaction post-index-change fsmonitor-watchman; do ln -s /tmp/evil /tmp/hooks/$h; done")
quiet = lambda: "File not found" in a.action("stat", path="/tmp/ran").content
sh("echo 3 >>a.txt; rm -f /tmp/ran")
assert pairs(changes()) == [("M", "a.txt")] and sides(diff(path="a.txt")) == ("one\ntwo\n", "one\ntwo\n3\n")
assert quiet(), "something of the repository was run, to look at it"
sh("git -c core.hooksPath=/dev/null -c core.fsmonitor= checkout -q a.txt; rm -f /tmp/ran")
ok(branch(name="y", create=True)); ok(setup(name="x")); ok(clone(url="/workspace/h", path="/tmp/again"))
assert quiet(), "something of the repository was run, to go to a branch"
sh("git switch -q main"); assert run("cat /tmp/ran").content.startswith("ran")   # it would be, by hand
# git executes no program as a transport (ext::), even if its configuration permits that.
sh("rm -f /tmp/ran; git config --global protocol.ext.allow always; git config --global \"url.ext::/tmp/evil .insteadOf\" https://evil.invalid/")
assert failed(clone(url="https://evil.invalid/x"), "not allowed") and quiet()
# Objects that a partial clone lacks are not fetched, since that would run a program.
sh("cd /workspace; git init -q -b main lazy; cd lazy; echo 1 >a.txt; " + commit + "; echo 2 >a.txt; rm -f /tmp/ran; o=$(git rev-parse HEAD:a.txt); rm -f .git/objects/${o:0:2}/${o:2}")
sh("git config core.repositoryFormatVersion 1; git config extensions.partialClone x; git config remote.x.promisor true; git config remote.x.url file:///workspace/h; git config remote.x.uploadpack /tmp/evil")
assert failed(diff(path="a.txt"), "git cannot read what was committed: ") and quiet(), "something of the repository was run, to fetch"
assert failed(diff(path="a.txt", ref="HEAD"), ": a read-only action fetches nothing") and failed(changes(), ": a read-only action fetches nothing") and quiet()
# An older git, which ignores GIT_NO_LAZY_FETCH, does not fetch the missing objects either.
sh("mkdir /tmp/old; printf \"#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec $(type -P git) \\\"\$@\\\"\n\" >/tmp/old/git; chmod +x /tmp/old/git")
path = sh("echo $PATH")
a.action("env", set={"PATH": "/tmp/old:" + path})
assert failed(diff(path="a.txt"), ": a read-only action fetches nothing") and failed(changes(), ": a read-only action fetches nothing") and quiet(), "an old git was made to fetch"
a.action("env", set={"PATH": path})
sh("git diff; true"); assert run("cat /tmp/ran").content.startswith("ran")
sh("cd ../h; rm -f /tmp/ran")
# A symbolic link or a path into /proc does not lead to files of the process of hutch.
sh("cd /workspace; git init -q l; cd l; ln -s /proc/self p; ln -s /proc/self/maps m")
for path in ("p/maps", "p/environ", "/proc/self/maps"):
    assert diff(path=path).observation == "error", path
assert sides(diff(path="m")) == (None, "/proc/self/maps")
# These variables could redirect git to another repository, or run programs; the actions ignore
# them.
a.action("env", set={"GIT_DIR": "/nowhere", "GIT_TRACE": "/tmp/trace", "GIT_EXTERNAL_DIFF": "/tmp/evil", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "/tmp/evil"})
run("rm -f /tmp/ran"); assert pairs(changes())[0] == ("A", "m") and quiet() and "File not found" in a.action("stat", path="/tmp/trace").content' -v "$T/srv:/srv:ro"
}

@test "the setup script is the session's, and the hook runs the repository's check and the one before" {
	acts '
o = script()
assert (o.observation, o.content, o.meta["exit_code"]) == ("run", "There is no .openhands/setup.sh here.", 0)
sh("git init -q -b main; git config user.name A; git config user.email a@b; mkdir -p .openhands \"x '"'"'y\"/.openhands; echo \"export READY=yes; echo hello; cd /tmp\" >.openhands/setup.sh; echo \"pwd; return 3\" >\"x '"'"'y\"/.openhands/setup.sh")
assert script().content == "hello" and sh("echo $READY $PWD") == "yes /tmp"
o = script(path="/workspace/x '"'"'y")
assert o.content == "/workspace/x '"'"'y" and o.meta["exit_code"] == 3 and sh("pwd") == "/workspace/x '"'"'y"
sh("cd /workspace")
assert ok(hooks()).content == "There is no .openhands/pre-commit.sh: nothing was installed."
sh("echo \"echo checked; test ! -e bad\" >.openhands/pre-commit.sh; printf \"#!/bin/sh\\necho before\\n\" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit")
o = ok(hooks())
assert (o.content, o.extras) == ("/workspace/.git/hooks/pre-commit", {"path": "."}), o.content
assert ok(hooks()).content == "/workspace/.git/hooks/pre-commit" and sh("cat .git/hooks/pre-commit.local") == "#!/bin/sh\necho before"
assert run("git add -A; git commit -qm one").content == "checked\nbefore"
o = run("touch bad; git add -A; git commit -qm two")
assert (o.content, o.meta["exit_code"]) == ("checked", 1) and sh("git log --oneline | wc -l") == "1"
sh("echo other >.git/hooks/pre-commit")
assert failed(hooks(), "nothing was changed") and sh("cat .git/hooks/pre-commit .git/hooks/pre-commit.local").startswith("other\n")
sh("rm .openhands/pre-commit.sh; ln -s /etc/passwd .openhands/pre-commit.sh"); assert hooks().observation == "error"'
}

@test "microagents of a repository, and of an organisation" {
	repository .openhands 'mkdir microagents && echo org >microagents/org.md'
	acts '
assert ok(agents()).hutch["microagents"] == [] and agents().content == ""
sh("mkdir -p .openhands/microagents/deep; cd .openhands/microagents; printf -- \"---\\nname: k\\n---\\nbody\" >k.md; echo d >deep/d.md; echo no >README.md; echo no >x.txt; ln -s k.md link.md; mkdir dir.md; cd ../..; printf rules >.cursorrules; echo \"legacy\" >.openhands_instructions")
o = ok(agents())
assert o.hutch["microagents"] == [{"path": ".openhands/microagents/deep/d.md", "content": "d\n"}, {"path": ".openhands/microagents/k.md", "content": "---\nname: k\n---\nbody"},
    {"path": ".openhands_instructions", "content": "legacy\n"}, {"path": ".cursorrules", "content": "rules"}], o.hutch
assert o.content.split("\n")[0] == ".openhands/microagents/deep/d.md" and o.extras == {"path": ".", "folder": ".openhands/microagents"}
sh("head -c 131073 /dev/zero | tr \\\\0 x >.openhands/microagents/large.md; mkdir many; for i in $(seq 12); do head -c 131072 .openhands/microagents/large.md >many/$i.md; done")
assert [m["content"] for m in agents().hutch["microagents"] if "large" in m["path"]] == [None]
o = agents(folder="many"); assert len(o.hutch["microagents"]) == 7 and o.hutch["truncated_chars"] > 5 << 17
ok(clone(url="/srv/.openhands.git", path="/tmp/org"))
assert agents(path="/tmp/org", folder="microagents").hutch["microagents"] == [{"path": "microagents/org.md", "content": "org\n"}]
assert agents(path="none").observation == "error"' -v "$T/srv:/srv:ro"
}

@test "a clone for which there is no room leaves nothing" {
	repository big 'head -c 3000000 /dev/urandom >noise'
	acts '
assert failed(clone(url="/srv/big.git", path="/small/big"), "there is no room left"), ""
assert sh("ls -A /small") == "" and ok(clone(url="/srv/big.git", path="/tmp/big")) and sh("wc -c </tmp/big/noise") == "3000000"' -v "$T/srv:/srv:ro" --tmpfs /small:size=1m
}

@test "rules judge them, by their names, their paths and the commands that do the same" {
	acts '
layer = lambda o: (o.extras, o.hutch["refused"] and o.hutch["refused"][0]["layer"]) == ({"error_id": "HUTCH$REFUSED"}, "rules")
assert layer(clone(url="/srv/p.git")) and not layer(clone(url="/none/p.git"))
assert layer(branch(name="main")) and not layer(branch(name="other"))
assert layer(diff(path="secret/x")) and not layer(diff(path="x")) and layer(changes(path="deep")) and not layer(changes())
assert layer(agents(path="secret")) and layer(script())' --rule '{"command":"git clone /srv/** **","decision":"deny","reason":"r"}' \
		--rule '{"command":"git switch main","decision":"deny","reason":"r"}' --rule '{"action":"read","path":"/workspace/secret","decision":"deny","reason":"r"}' \
		--rule '{"action":"git_changes","path":"/workspace/deep","decision":"deny","reason":"r"}' --rule '{"command":". ./.openhands/setup.sh","decision":"deny","reason":"r"}'
}
