#!/usr/bin/env bats
# Tests of the files that a named sandbox writes over its image: they are listed (diff), kept as
# an image (snapshot), and another sandbox starts with them (fork).

bats_require_minimum_version 1.5.0
load helpers
load busybox

setup() {
	begin
	needs_static
	own_store
	busybox_image >/dev/null
}

teardown() {
	remove_boxes
	end
}

# made NAME [OPTION...]: creates the sandbox NAME from the image bb:1.
made() {
	"$HUTCH" create --image bb:1 "${@:2}" "$1" >/dev/null
}

# in_box NAME SCRIPT: runs a shell SCRIPT in the sandbox NAME.
in_box() {
	"$HUTCH" exec "$1" -- sh -c "$2"
}

works() {
	in_box "$1" 'echo new >/new; echo changed >/etc/passwd; mkdir -p /a/b; echo x >/a/b/c
		rm /bin/mv; ln -s x /link; rm -r /etc/group; mkdir /etc/group; echo y >/etc/group/y
		chmod 700 /usr'
}

changes='A - /a/
A - /a/b/
A 2 /a/b/c
D - /bin/mv
M - /etc/group/
A 2 /etc/group/y
M 8 /etc/passwd
A - /link -> x
A 4 /new
M - /usr/'

lines_of() {
	"$HUTCH" diff "$@" | sed -E 's/ +/ /g'
}

@test "files written to the root are listed against the image" {
	made box
	[[ -z $(lines_of box) ]]
	works box
	diff <(lines_of box) - <<<"$changes"
	diff <(lines_of "$("$HUTCH" ps --json | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p')") - <<<"$changes"
	[[ $(lines_of box /a/b etc/passwd) == "A - /a/b/
A 2 /a/b/c
M 8 /etc/passwd" ]]
	diff <(lines_of box /) - <<<"$changes"
	[[ $("$HUTCH" diff --json box /new) == '[{"kind":"A","type":"file","path":"/new","size":4,"mode":"0644","link":null}]' ]]
	# hutch diff -p has the form of git diff, which patch(1) accepts.
	command -v patch >/dev/null || skip "this host has no patch"
	cp -r bb mine
	"$HUTCH" diff -p box /etc/passwd /new >p
	(cd mine && patch -s -p1 <../p)
	[[ $(cat mine/etc/passwd mine/new) == $'changed\nnew' ]]
}

@test "an unchanged file is no change, nor is a mount" {
	room work
	made box --workspace work -v "$T/work:/data/deep:rw"
	in_box box 'cp /etc/passwd /p; mv /p /etc/passwd; echo z >/bin/gone; rm /bin/gone; echo x >/workspace/f; echo y >/data/deep/g'
	# The mount point stays.
	changes=$(lines_of box)
	echo "$changes"
	[[ $changes == $'A - /data/\nA - /data/deep/' ]]
}

@test "a folder with :cow and the root are listed together, and each by its path" {
	room project
	echo hi >project/f
	give project
	made box --workspace project:cow
	in_box box 'echo more >>f; echo r >/r'
	[[ $(lines_of box) == $'M 8 /workspace/f\nA 2 /r' ]]
	[[ $(lines_of box f) == 'M 8 /workspace/f' ]]
	[[ $(lines_of box /r) == 'A 2 /r' ]]
	"$HUTCH" rm -f box >/dev/null 2>&1
	[[ $(lines_of box) == 'M 8 /workspace/f' ]]
	"$HUTCH" discard box >/dev/null
}

@test "a snapshot has all of it, and a fork begins with it and goes its own way" {
	made box
	works box
	hutch snapshot box
	[[ $output == localhost/box:1 ]]
	# The snapshot does not have changes that are made after it.
	in_box box 'echo later >/new; rm -r /a'
	hutch fork localhost/box:1 two
	[[ $output == two && -z $stderr ]]
	hutch exec two -- sh -c 'cat /new /etc/passwd /a/b/c /etc/group/y; ls /etc/group /bin/mv; stat -c %a /usr; readlink /link'
	[[ $output == $'new\nchanged\nx\ny\n/etc/group:\ny\n700\nx' ]]
	[[ $stderr == *"/bin/mv: No such"* ]]
	[[ -z $(lines_of two) ]]
	in_box two 'echo mine >/new'
	[[ $(in_box box 'cat /new') == later ]]
	[[ $(lines_of two) == 'M 5 /new' ]]
	run -0 "$HUTCH" image verify
}

@test "a fork can be forked, each over the one before" {
	local i
	made box0
	for i in 1 2 3 4 5; do
		in_box box$((i - 1)) "echo $i >/f$i; rm -f /f$((i - 2))"
		hutch fork box$((i - 1)) box$i
		[[ $status == 0 && $stderr == "hutch: the fork is made of the snapshot localhost/box$((i - 1)):1" ]]
	done
	[[ $(in_box box5 'echo /f*') == '/f4 /f5' ]]
	[[ -z $(lines_of box5) ]]
	in_box box5 'rm /f4; echo again >/f1'
	[[ $(lines_of box5) == $'A 6 /f1\nD 2 /f4' ]]
}

@test "snapshots are numbered, or called as one says, and of nothing new they are the same" {
	made box
	for n in 1 2; do
		hutch snapshot box
		[[ $output == localhost/box:$n ]]
	done
	[[ $("$HUTCH" image ls -q | sort -u | wc -l) == 1 ]]
	in_box box 'echo x >/x'
	hutch snapshot -m 'after x' box mine:good
	[[ $output == mine:good ]]
	hutch image inspect mine:good
	[[ $output == *"hutch snapshot: after x"* ]]
	hutch snapshot box
	[[ $output == localhost/box:3 ]]
	made Upper_Case
	hutch snapshot Upper_Case
	[[ $output == localhost/upper_case:1 ]]
}

@test "a commit is an image like others: of a sandbox, and of a snapshot" {
	made box
	works box
	hutch commit box me/tool:1
	[[ $output == me/tool:1 ]]
	inside --image me/tool:1 cat /new
	[[ $output == new ]]
	hutch snapshot box
	hutch commit localhost/box:1 me/tool:2
	[[ $output == me/tool:2 ]]
	# The image is exported to a tar, removed, and imported again.
	room work
	"$HUTCH" image export me/tool:2 >work/out.tar
	"$HUTCH" image rm me/tool:1 me/tool:2 localhost/box:1 >/dev/null
	"$HUTCH" image import work/out.tar --name again:1 >/dev/null
	inside --image again:1 -- sh -c 'cat /new; ls /bin/mv'
	[[ $output == new && $stderr == *"No such"* ]]
}

@test "the image's configuration stays, and a fork takes the options of create" {
	room work
	echo of-host >work/f
	made box -e INSIDE=1
	in_box box 'echo x >/x'
	hutch fork --workspace work:ro -e COLOUR=red --hostname here box two
	[[ $status == 0 ]]
	[[ $(in_box two 'cat f /x; echo $COLOUR$INSIDE; cat /etc/hostname') == $'of-host\nx\nred\nhere' ]]
}

# A process renames two files all the time, the second always after the first.  There are many
# files between the two in the order of reading, so a snapshot of a running sandbox would have the
# second rename without the first.
@test "everything stands still while a snapshot is taken" {
	made box
	in_box box 'mkdir /a /m /z; i=0; while [ $i -lt '"${FILES:-400}"' ]; do i=$((i+1)); echo $i >/m/$i; done
		echo 0 >/a/one; echo 0 >/z/two'
	"$HUTCH" exec -d box -- sh -c 'i=0; while :; do i=$((i+1))
		echo $i >/t1; mv /t1 /a/one; echo $i >/t2; mv /t2 /z/two; done'
	local n one two
	for n in 1 2 3; do
		hutch snapshot box
		[[ $status == 0 ]]
		inside --image "localhost/box:$n" cat /a/one /z/two
		one=${lines[0]} two=${lines[1]}
		((one == two || one == two + 1))
	done
	# The sandbox goes on.
	one=$(in_box box 'cat /a/one')
	goes_on() { (($(in_box box 'cat /a/one') > one)); }
	until_true goes_on
}

# A SIGSTOP alone does not hold waker.c, which gets SIGCONT from a timer.
@test "a timer with SIGCONT wakes no process while a snapshot is read" {
	! is_root || skip "as root, the control socket is another user's"
	"$here/control.py" "$HUTCH" '
import socket as s, sys
sys.path.insert(0, os.path.dirname(sys.path[0]))
from patience import wait_until
p = start("/waker", "alone", "/tmp")
wait(start("sh", "-c", "until [ -s /tmp/one ]; do :; done"))
ours, theirs = s.socketpair()
d = connect()
d.call("snapshot", fds=[theirs.fileno()])
init = call("info")["pid"]
def said(pid):
    try:
        lines = open("/proc/%s/status" % pid).read().splitlines()
    except OSError:
        return {"PPid": "", "Name": ""}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)
[waker] = [pid for pid in os.listdir("/proc") if pid.isdigit() and said(pid)["PPid"] == str(init)
           and said(pid)["Name"] == "waker"]
def is_woken():
    return int(said(waker)["ShdPnd"], 16) & 1 << 17
def ran():
    one = said(waker)
    return one["State"][0], one["voluntary_ctxt_switches"], one["nonvoluntary_ctxt_switches"]
before = ran()
assert before[0] == "t", before
wait_until(is_woken)
assert ran() == before, (ran(), before)' --image bb:1 -v "$(tool waker):/waker:ro"
}

@test "without a way to stop processes there is no snapshot, and no fork" {
	made box -v "$(tool waker):/waker:ro"
	"$HUTCH" exec -d box /waker traced /tmp
	in_box box 'until [ -s /tmp/one ]; do :; done'
	local verb
	for verb in "snapshot box" "fork box two"; do
		# shellcheck disable=SC2086 # words
		hutch $verb
		[[ $status == 125 && -z $output && $stderr == *"inside is traced by another one"* ]]
		hutch ps
		has '^box .* ready '
		has_not ' two '
	done
}

@test "a sandbox goes on when the reader has gone, and stays paused if it was" {
	! is_root || skip "as root, the control socket is another user's"
	"$here/control.py" "$HUTCH" '
import socket as s
def ask(client, method):
    ours, theirs = s.socketpair()
    answer = client.call(method, fds=[theirs.fileno()])
    theirs.close()
    return answer, s.recv_fds(ours, 1, 4)[1]
def state():
    return call("info")["state"]
import sys
sys.path.insert(0, os.path.dirname(sys.path[0]))
from patience import wait_until
def until(what):
    wait_until(lambda: state() == what)
answer, fds = ask(c, "diff")
assert answer["image"] == "bb:1" and len(answer["digest"]) == 64 and len(answer["lowers"]) == 1, answer
assert state() == "ready" and len(fds) == 1
d = connect()
answer, fds = ask(d, "snapshot")
assert state() == "paused" and len(fds) == 1
assert refused("exec.start", "busy", argv=["true"])
e = connect()
try:
    ask(e, "snapshot")
    assert False
except Refused as r:
    assert r.kind == "busy", r
d.socket.close()
until("ready")
# The folder of the snapshot that the client gets is read-only, and its parent is the folder
# itself.
wait(start("sh", "-c", "echo hello >/seen"))
assert open(os.open("seen", os.O_RDONLY, dir_fd=fds[0])).read() == "hello\n"
for path in "seen", "fresh":
    try:
        os.open(path, os.O_WRONLY | os.O_CREAT, dir_fd=fds[0])
        assert False
    except OSError as x:
        assert x.errno == 30, x
above = os.stat("..", dir_fd=fds[0])
assert (above.st_dev, above.st_ino) == (os.fstat(fds[0]).st_dev, os.fstat(fds[0]).st_ino)
# Another client pauses the sandbox before a snapshot, or during it; the sandbox stays paused
# after it.
call("pause")
d = connect()
ask(d, "snapshot")
d.socket.close()
assert state() == "paused"
call("unpause")
d = connect()
ask(d, "snapshot")
call("pause")
d.socket.close()
assert state() == "paused"
call("unpause")
assert state() == "ready"
# Another client ends the pause of a snapshot early.
d = connect()
ask(d, "snapshot")
call("unpause")
assert state() == "ready"
ask(d, "snapshot")
d.socket.close()
until("ready")
# These requests are refused during a snapshot.
for method in "diff", "snapshot":
    assert refused(method, "invalid").code == -32602
    assert refused(method, "invalid", x=1).code == -32602
    ours, theirs = s.socketpair()
    try:
        call(method, fds=[theirs.fileno(), ours.fileno()])
        assert False
    except Refused as r:
        assert r.code == -32602
    nothing = os.open("/dev/null", os.O_RDWR)
    try:
        call(method, fds=[nothing])
        assert False
    except Refused as r:
        assert r.code == -32000
    until("ready")
wait(start("true"))' --image bb:1
}

@test "a reader waits until all stand still, and a process stopped in a call goes on with it" {
	! is_root || skip "as root, the control socket is another user's"
	room w
	mkfifo w/go
	"$here/control.py" "$HUTCH" '
import socket as s
wait(start("/bin/ln", "-s", "usr/lib64", "/lib64"))
slow = start("/usr/bin/python3", "-SE", "/slow.py", tty=True)
c.until(lambda: b"in the middle" in output(slow))
start("/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i >/t; /bin/mv /t /one; done")
ours, theirs = s.socketpair()
call("diff", fds=[theirs.fileno()])
folder = s.recv_fds(ours, 1, 4)[1][0]
def look():
    try:
        return int(open(os.open("one", os.O_RDONLY, dir_fd=folder)).read())
    except FileNotFoundError:
        return 0
while look() < 3:
    pass
d = connect()
d.call("snapshot", fds=[theirs.fileno()])
then = look()
for _ in range(5000):
    assert look() == then
assert not os.path.exists("/proc/self/fd/%d/went" % folder)
d.socket.close()
os.close(os.open("w/go", os.O_WRONLY))
while not os.path.exists("/proc/self/fd/%d/went" % folder) or look() == then:
    pass' --image bb:1 -v /usr:/usr:ro -v "$T/w:/w" -v "$here/snapshot.py:/slow.py:ro"
}

@test "an impossible snapshot is an error with a remedy" {
	"$HUTCH" create host >/dev/null
	local verb
	for verb in "snapshot host" "commit host x:1" "fork host two" "diff host"; do
		hutch $verb
		[[ $status == 125 && -z $output && $stderr == *"'host': the root of this sandbox is not written over an image"*"--image REF"* ]]
	done
	"$HUTCH" create --image bb:1 --read-only shut >/dev/null
	[[ -z $(lines_of shut) ]]
	"$HUTCH" create --image "dir:$T/bb" folder >/dev/null
	in_box folder 'echo x >/x'
	[[ $(lines_of folder) == 'A 2 /x' ]]
	hutch snapshot folder
	[[ $status == 125 && $stderr == *"'folder' was made of a folder"*"hutch image import FOLDER"* ]]
	for verb in snapshot diff; do
		hutch $verb nobody
		[[ $status == 125 && $stderr == *"no sandbox"*"nobody"* ]]
	done
	for verb in "fork nobody two" "commit nobody x:1"; do
		hutch $verb
		[[ $status == 125 && $stderr == *"no sandbox 'nobody' runs"*"no image 'nobody'"* ]]
		((${#stderr_lines[@]} == 2))
	done
	hutch snapshot host 'NOT a name'
	[[ $status == 125 && $stderr == *"NOT a name"* ]]
	hutch fork shut host
	[[ $status == 125 && $stderr == *"'host' exists already"* ]]
	hutch fork --image bb:1 shut two
	[[ $status == 125 && $stderr == *"--image is no flag of hutch fork"* ]]
	hutch fork shut
	[[ $status == 125 && $stderr == *"hutch fork: NAME is missing"* ]]
	# The failed requests have made no image.
	[[ $("$HUTCH" image ls -q | wc -l) == 1 ]]
	hutch ps -q
	[[ $(sort <<<"$output") == $'folder\nhost\nshut' ]]
}

bytes_used() {
	"$HUTCH" image quota | cut -d' ' -f1 | numfmt --from=iec-i --suffix=B | tr -d B
}

@test "a snapshot counts once, and one that has no room is none" {
	made box
	in_box box 'head -c 2000000 /dev/zero >/large'
	used=$(bytes_used)
	# With this quota the tar of the snapshot fits into the store, but not the unpacked layer.
	"$HUTCH" image quota $((used + 3000000))
	hutch snapshot box
	[[ $status == 125 && $stderr == *"no more room in the store"*"hutch image gc or rm"* ]]
	"$HUTCH" image gc >/dev/null
	"$HUTCH" image quota $((used + 1000000))
	hutch snapshot box
	[[ $status == 125 && $stderr == *"no more room in the store"*"hutch image gc or rm"* ]]
	(($(bytes_used) < used + 500000))
	[[ $(in_box box 'echo on') == on ]]
	"$HUTCH" image quota $((used + 4500000))
	hutch snapshot box
	[[ $output == localhost/box:1 && -z $stderr ]]
}

@test "files of a hostile inside are kept, or named as left out" {
	made box
	in_box box 'mkdir /h; echo s >/h/.wh.x; echo n >"/h/$(printf "new\nline \377")"; mkfifo /h/fifo
		i=0; p=/h/d; while [ $i -lt 300 ]; do i=$((i+1)); p=$p/d; done; mkdir -p $p; echo deep >$p/f
		echo 0 >/h/shut; chmod 0 /h/shut; mkdir /h/dark; echo d >/h/dark/d; chmod 0 /h/dark
		ln /h/shut /h/hard; ln -s ../../../../../../../../etc/shadow /h/link; rm -r /usr; ln -s /h /usr
		for size in 64M 1000G 2000G; do truncate -s $size /h/hole$size; done'
	run -0 timeout "$PATIENCE" "$HUTCH" snapshot box hostile:1
	[[ $output == *"3 left out, such as h/.wh.x"* ]]
	inside --image hostile:1 -- sh -c 'cat /h/shut /h/hard /h/dark/d; stat -c %a /h/dark; readlink /h/link; readlink /usr
		p=/h/d; i=0; while [ $i -lt 300 ]; do i=$((i+1)); p=$p/d; done; cat $p/f; ls /h | wc -l; stat -c %s:%h /h/hole64M /h/hard; ls -d /h/hole*'
	[[ $output == "0
0
d
0
../../../../../../../../etc/shadow
/h
deep
8
67108864:1
2:2
/h/hole64M" ]]
	run -0 "$HUTCH" image verify
	# Folders without permissions, too.
	"$HUTCH" rm -f box >/dev/null
	"$HUTCH" image rm hostile:1 >/dev/null
}

@test "two that take one of the same sandbox, and many of several, get all of them" {
	local n
	made one
	made two
	in_box one 'echo 1 >/1'
	in_box two 'echo 2 >/2'
	for n in 1 2 3 4; do
		"$HUTCH" snapshot one >>"$T/out1" 2>>"$T/err1" &
		"$HUTCH" snapshot two >>"$T/out1" 2>>"$T/err1" &
	done
	wait
	# A request may also have failed because another client was taking a snapshot of the same
	# sandbox.
	(($(wc -l <out1) >= 2 && $(wc -l <out1) + $(wc -l <err1) == 8))
	never grep -v "another client takes a snapshot" err1
	(($(sort -u out1 | wc -l) == $(wc -l <out1)))
	run -0 "$HUTCH" image verify
	hutch ps
	has_not paused
}

@test "snapshots that are killed leave a store that works, and a sandbox that goes on" {
	local n pid
	made box
	in_box box 'mkdir /m; i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i >/m/$i; done'
	for ((n = 0; n < ${ROUNDS:-4}; n++)); do
		in_box box "echo $n >/n"
		setsid "$HUTCH" snapshot box last:1 >/dev/null 2>&1 3>&- &
		pid=$!
		# At a random instant.
		head -c $((RANDOM * 10000)) /dev/zero >/dev/null
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
		run -0 "$HUTCH" image verify
		goes_on() { in_box box true 2>/dev/null; }
		until_true goes_on
	done
	hutch snapshot box last:1
	[[ $status == 0 ]]
	inside --image last:1 cat /n
	((output == ${ROUNDS:-4} - 1))
	"$HUTCH" rm -f box >/dev/null
	"$HUTCH" image rm last:1 >/dev/null
	"$HUTCH" image gc >/dev/null
	[[ $("$HUTCH" image ls -q | wc -l) == 1 ]]
	[[ -z $(as_who find "$XDG_DATA_HOME/hutch/store/tmp" -mindepth 1) ]]
}

@test "a fork has what a plugin has written, and the plugin if it is named again" {
	mkdir tally
	cat >tally/tally.sh <<-'SH'
		echo '{"ready":true}'
		while IFS=:, read -r _ call _; do
			echo x >>/tally
			echo "{\"call\":$call,\"answer\":{\"content\":\"$$ $(wc -l </tally)\"}}"
		done
	SH
	echo '{"name": "tally", "version": "1", "command": ["sh", "${plugin}/tally.sh"],
		"actions": {"tally": {"answer": {"content": "text"}}}}' >tally/plugin.json
	chmod -R a+rX tally
	made box --plugin ./tally
	[[ $(tally box) == *" 1" && $(tally box) == *" 2" ]]
	first=$(tally box)
	[[ $("$HUTCH" fork -q --plugin ./tally box with 2>/dev/null) == with ]]
	[[ $(tally with) == *" 4" && $(tally box) == "${first% *} 4" ]]
	"$HUTCH" fork -q box without >/dev/null 2>&1
	[[ $(tally without) == *"'tally' is not defined"* && $(in_box without 'wc -l </tally') == 4 ]]
}

# tally NAME: prints the content of the action.
tally() {
	"$HUTCH" act "$1" <<<'{"action":"tally"}' | jq -r .content
}
