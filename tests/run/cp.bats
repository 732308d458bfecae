#!/usr/bin/env bats
# Tests of hutch cp: it copies files into a sandbox, out of one, and from one to another.

load helpers

setup() {
	begin
	room mine
	cd mine || return 1
}

teardown() {
	remove_boxes
	chmod -R u+rwX "$T/mine" 2>/dev/null # a tree of our own, without mounts
	rm -rf "$T/mine"
	end
}

# make NAME [OPTION...]: creates a sandbox.
make() {
	catch "$HUTCH" create "${@:2}" "$1"
	[[ $status == 0 ]]
}

cp_() {
	catch "$HUTCH" cp "$@"
}

# copies ARG...: checks that hutch cp works, and prints nothing.
copies() {
	cp_ "$@"
	[[ $status == 0 && -z $output$stderr ]]
}

# cp_fails PATTERN ARG...: checks that hutch cp fails with a message that matches PATTERN.
cp_fails() {
	local pattern=$1
	shift
	cp_ "$@"
	[[ $status == 125 && -z $output ]] && one_sentence "$pattern"
}

inside_() {
	"$HUTCH" exec box "$@"
}

describe() {
	"$here/cp.py" describe "$1"
}

nothing_staged() {
	[[ -z $(find "$T" -name '.hutch-cp-*') ]]
}

# --- what is copied --------------------------------------------------------------

@test "a tree comes back as it went in: names, modes, times, links, holes" {
	make box
	"$here/cp.py" tree tree
	copies tree box:/tmp/there
	catch "$HUTCH" cp box:/tmp/there back
	[[ $status == 0 && -z $output ]]
	[[ $stderr == "hutch: note: 1 link leads out of the copied files: "* ]] || [[ -z $stderr ]]
	diff <(describe tree) <(describe back)
	[[ $(du -k back/holes | cut -f1) -lt 1000 ]]
	[[ $(stat -c %Y.%y tree) == "$(stat -c %Y.%y back)" ]]
	[[ $(inside_ du -k /tmp/there/holes | cut -f1) -lt 1000 ]]
	nothing_staged
}

@test "a file goes into a folder that is there, or gets a new name, or takes a file's place" {
	make box
	echo one >one
	copies one box:/tmp
	copies one box:/tmp/two
	copies one box:. # below the folder in which commands start
	[[ $(inside_ cat /tmp/one /tmp/two one) == $'one\none\none' ]]
	echo changed >one
	copies one box:/tmp/two
	[[ $(inside_ cat /tmp/two) == changed ]]
	mkdir folder
	copies box:/tmp/two folder
	copies box:/tmp/two new
	echo old >old
	ln old twin
	copies box:/tmp/two old
	[[ $(cat folder/two new old) == $'changed\nchanged\nchanged' && $(cat twin) == old ]]
	nothing_staged
}

@test "a folder goes below one that is there, or gets a new name; FOLDER/. is what is in it" {
	make box
	mkdir -p a/sub
	echo f >a/sub/f
	copies a box:/tmp
	copies a box:/tmp/new
	copies a box:/tmp/new
	copies a/. box:/tmp/content
	copies a/. box:/tmp
	[[ $(inside_ sh -c 'cd /tmp; ls a new new/a content; ls -d sub') == \
	   $'a:\nsub\n\ncontent:\nsub\n\nnew:\na\nsub\n\nnew/a:\nsub\nsub' ]]
	copies box:/tmp/a b
	copies box:/tmp/a b
	copies box:/tmp/a/. c
	copies box:/tmp/a/. c
	copies box:/tmp/a/ d
	[[ $(find b c d -type f | sort | xargs) == "b/a/sub/f b/sub/f c/sub/f d/sub/f" ]]
	nothing_staged
}

@test "files in a folder that exists already stay, and copied ones are added" {
	make box
	mkdir -p a/sub b/a/sub
	echo new >a/sub/f
	echo old >b/a/sub/f
	echo other >b/a/sub/g
	copies a box:/tmp
	copies box:/tmp/a b
	[[ $(cat b/a/sub/f b/a/sub/g) == $'new\nother' ]]
	copies b/a box:/tmp
	[[ $(inside_ cat /tmp/a/sub/f /tmp/a/sub/g) == $'new\nother' ]]
}

@test "several sources go into one folder, and one that fails does not hold up the others" {
	make box
	echo 1 >one
	echo 2 >two
	inside_ mkdir /tmp/to
	copies one two box:/tmp/to
	cp_ one nowhere two box:/tmp/to
	[[ $status == 125 ]]
	one_sentence 'copy nowhere: No such file'
	cp_ one two box:/tmp/nowhere
	[[ $status == 125 ]]
	mkdir to
	copies box:/tmp/to/one box:/tmp/to/two to
	[[ $(cat to/one to/two) == $'1\n2' ]]
	cp_ box:/tmp/to/one box:/tmp/to/two nowhere
	[[ $status == 125 && ! -e nowhere ]]
}

@test "a tar comes from stdin and goes to stdout" {
	make box
	mkdir a
	echo f >a/f
	tar c a | copies - box:/tmp/new
	[[ $(inside_ cat /tmp/new/a/f) == f ]]
	catch "$HUTCH" cp box:/tmp/new - >/dev/null
	"$HUTCH" cp box:/tmp/new - | tar x
	[[ $(cat new/a/f) == f ]]
	"$HUTCH" cp box:/tmp/new/. - | tar t | grep -qx 'a/f'
	"$HUTCH" cp box:/tmp/new - | copies - here
	[[ $(cat here/new/a/f) == f ]]
}

@test "from one sandbox to another" {
	make box
	make other
	inside_ sh -c 'mkdir -p a/b; echo f >a/b/f'
	copies box:a other:/tmp
	copies box:a other:/tmp/new
	copies box:a/. other:/tmp/new
	[[ $("$HUTCH" exec other sh -c 'cd /tmp; cat a/b/f new/b/f') == $'f\nf' ]]
	cp_fails "sandbox 'box': nowhere: No such file" box:nowhere other:/tmp
	cp_fails "sandbox 'other': .*No such file" box:a other:/nowhere/x
	cp_fails "no sandbox 'third'|.*third" box:a third:/tmp
}

@test "links are copied as links; with -L one that is named is followed" {
	make box
	echo f >f
	ln -s f link
	mkdir folder
	ln -s ../f folder/inner
	ln -s folder to-folder
	copies link box:/tmp/l1
	copies -L link box:/tmp/l2
	copies to-folder box:/tmp/l3
	copies to-folder/ box:/tmp/l4
	copies --follow-link to-folder box:/tmp/l5
	inside_ sh -c 'cd /tmp && [ -L l1 ] && [ -f l2 ] && ! [ -L l2 ] && [ -L l3 ] && [ -L l4/inner ] &&
		! [ -L l4 ] && [ -L l5/inner ]'
	inside_ ln -s l2 /tmp/again
	copies -L box:/tmp/again out
	[[ ! -L out && $(cat out) == f ]]
	cp_ box:/tmp/again out2
	[[ $status == 0 && $stderr == "hutch: note: 1 link leads out of the copied files: out2: l2" ]]
	[[ -L out2 && $(readlink out2) == l2 ]]
}

@test "links that lead out of the copied files are told in one line" {
	"$here/cp.py" tar links-out >tar
	catch "$HUTCH" cp - here <tar
	[[ $status == 0 ]]
	[[ $stderr == "hutch: note: 3 links lead out of the copied files: a: /etc/passwd, ..." ]]
}

# MIB MiB and three bytes.
@test "a large file goes in and comes out whole" {
	make box
	truncate -s "${MIB:=200}M" large
	printf end >>large
	copies large box:/tmp/large
	copies box:/tmp/large back
	[[ $(stat -c %s back) == $(((MIB << 20) + 3)) && $(tail -c 3 back) == end ]]
}

# --- what is not ------------------------------------------------------------------

@test "setuid bits and owners are kept by neither side" {
	make box
	touch s
	chmod 6755 s
	copies s box:/tmp/s
	[[ $(inside_ stat -c '%a %U' /tmp/s) == "755 agent" ]]
	inside_ chmod 6755 /tmp/s
	copies box:/tmp/s out
	[[ $(stat -c %a out) == 755 && $(stat -c %U out) == "$(stat -c %U .)" ]]
}

@test "sockets, fifos and devices are left out, and told; what cannot be read, too" {
	make box
	mkdir a
	mkfifo a/fifo
	touch a/f
	cp_ a box:/tmp
	[[ $status == 0 && $stderr == "hutch: note: 1 is left out or not whole: a/fifo: "* ]]
	[[ $(inside_ ls /tmp/a) == f ]]
	inside_ sh -c 'cd /tmp/a && mkfifo fifo && touch closed && chmod 0 closed'
	cp_ box:/tmp/a b
	[[ $status == 0 && ${#stderr_lines[@]} == 2 && $(ls b) == f ]]
	[[ $stderr == *"hutch: note: sandbox 'box': left out a/fifo: "* ]]
	[[ $stderr == *"hutch: note: sandbox 'box': left out a/closed: "* ]]
}

@test "messages of the inside are made safe for a terminal, and bounded" {
	make box
	inside_ sh -c 'mkdir a; for i in $(seq 100); do mkfifo "a/$i$(printf "\033]0;x\007")"; done'
	cp_ box:a b
	[[ $status == 0 && ${#stderr_lines[@]} == 11 ]]
	[[ $stderr != *$'\033'* && $stderr == *'^[]0;x^G'* ]]
	[[ ${stderr_lines[10]} == "hutch: note: sandbox 'box': 90 more" ]]
}

@test "a folder never takes the place of a file, nor the other way round" {
	make box
	mkdir folder
	touch file
	inside_ sh -c 'mkdir /tmp/folder; touch /tmp/file'
	cp_fails "sandbox 'box': .*" folder box:/tmp/file
	cp_ file box:/tmp/folder/
	[[ $status == 0 ]]
	mkdir to to/file
	touch to/folder
	cp_fails '.*' box:/tmp/file to
	cp_fails '.*' box:/tmp/folder to
	[[ -d to/file && -f to/folder ]]
	nothing_staged
}

# --- errors -----------------------------------------------------------------------

@test "a missing file is reported, at either end, and nothing is made" {
	make box
	cp_fails 'copy nowhere: No such file' nowhere box:/tmp
	cp_fails "sandbox 'box': /tmp/nowhere: No such file" box:/tmp/nowhere here
	cp_fails "sandbox 'box': .*/tmp/nowhere" box:/tmp/nowhere/x here
	[[ ! -e here ]]
	touch f
	cp_fails "sandbox 'box': open the folder /nowhere: No such file" f box:/nowhere/x
	cp_fails 'open the folder nowhere: No such file' box:/etc/passwd nowhere/x
	cp_fails "no sandbox 'third'|.*third" f third:/tmp
	cp_fails "sandbox 'box': .*Permission denied|sandbox 'box': .*Read-only" f box:/usr/f
	inside_ sh -c 'mkdir /tmp/closed && chmod 0 /tmp/closed'
	cp_fails "sandbox 'box': /tmp/closed/x: Permission denied" box:/tmp/closed/x here
	cp_fails "sandbox 'box': .*Permission denied" f box:/tmp/closed/x
	nothing_staged
}

@test "words that make no sense are refused before anything is done" {
	touch f
	cp_fails 'neither path is in a sandbox' f g
	cp_fails 'neither path is in a sandbox' f -
	cp_fails 'from stdin to stdout' - -
	cp_fails 'a tar on stdin or stdout is one copy' box:/a box:/b -
	cp_fails 'neither path is in a sandbox' box:/a f g
	cp_fails "no path behind 'box:'" f box:
	cp_fails '--max-size' --max-size 1x box:/a b
	cp_fails 'hutch cp: DST is missing' f
	cp_fails 'hutch cp: SRC is missing'
	[[ ! -e g ]]
	catch script -qec "$HUTCH cp box:/a -" /dev/null </dev/null
	[[ $output == *"a tar is nothing for a terminal"* ]]
}

@test "a paused sandbox copies nothing" {
	make box
	touch f
	"$HUTCH" pause box 2>/dev/null
	cp_fails "sandbox 'box': the sandbox is paused" f box:/tmp
	cp_fails "sandbox 'box': the sandbox is paused" box:/etc/passwd here
	"$HUTCH" unpause box
	copies f box:/tmp
}

@test "a full disk inside is told, and the file that did not fit is not there" {
	make box --tmpfs /small:size=1m
	head -c 4M /dev/urandom >large
	cp_fails "sandbox 'box': .*No space left" large box:/small/large
	[[ -z $(inside_ ls /small) ]]
}

@test "a full disk outside is told, and nothing is left of the copy" {
	head -c 4M /dev/urandom >large
	tar c large >tar
	mkdir small
	chmod 755 .
	catch outer sh -c "mount -t tmpfs -o size=1m none small && cd small && mkdir folder &&
		{ \"$HUTCH\" cp - new <../tar; echo \$?; \"$HUTCH\" cp - folder <../tar; echo \$?; find .; }"
	[[ $output == $'125\n125\n.\n./folder' && $stderr == *"No space left"* ]]
}

@test "more than --max-size does not come out" {
	make box
	inside_ truncate -s 3M /tmp/large
	copies --max-size 4m box:/tmp/large three
	cp_fails '.*' --max-size 2m box:/tmp/large here
	[[ ! -e here ]]
	nothing_staged
}

# --- ends ---------------------------------------------------------------------------

# begin_slow: starts a hutch cp that takes long in the background; its pid is $pid.
begin_slow() {
	inside_ truncate -s 200G /tmp/slow
	env --default-signal "$HUTCH" cp --max-size 300g box:/tmp/slow "$@" >/dev/null 2>"$T/err" 3>&- &
	pid=$!
	started+=("$pid")
	until_true is_staged
}

is_staged() {
	compgen -G '.hutch-cp-*/slow' >/dev/null || compgen -G '.hutch-cp-*/here' >/dev/null
}

slow_ended() {
	local rc=0
	wait "$pid" || rc=$?
	[[ $rc == "$1" ]]
}

@test "Ctrl-C leaves nothing of a copy, nor a process of it" {
	make box
	begin_slow here
	local all=$(descendants "$pid")
	[[ $(wc -w <<<"$all") == 3 ]] # a copy request, a copy worker, and the jail below that
	kill -INT "$pid"
	slow_ended 130
	until_true all_gone $all # their descriptors, which are waited for, go a moment before them
	[[ ! -e here ]]
	nothing_staged
	[[ ! -s $T/err ]]
}

@test "a hutch cp that is killed leaves no process, here or inside" {
	make box
	begin_slow here
	local all=$(descendants "$pid")
	[[ $(wc -w <<<"$all") == 3 ]]
	kill -KILL "$pid"
	slow_ended 137
	until_true all_gone $all
	until_true copy_is_over
	[[ ! -e here ]]
}

copy_is_over() {
	ps -e -o comm= | never grep -x hutch-copy
}

@test "a sandbox that is killed ends its copies, with an error" {
	make box
	begin_slow here
	"$HUTCH" kill box
	slow_ended 125
	grep -q "^hutch: sandbox 'box'" "$T/err"
	[[ ! -e here ]]
	nothing_staged
}

# --- who reads a tar from inside ------------------------------------------------------

# unpack KIND: unpacks a hostile tar into the folder `here`, which contains a file.
unpack() {
	mkdir -p here
	echo victim >victim
	echo old >here/old
	ln -s ../victim here/link 2>/dev/null || true
	"$here/cp.py" tar "$1" >tar
	catch "$HUTCH" cp - here <tar
	[[ $(cat victim) == victim && ! -e evil && ! -e ../evil && ! -e /tmp/hutch-cp-evil ]] || return 1
	[[ $(stat -c %h victim) == 1 ]]
}

@test "no name in a tar leads out of the folder" {
	local kind
	for kind in dots dots-below; do
		unpack "$kind"
		[[ $status == 125 ]]
		one_sentence '.*\.\.'
	done
	unpack absolute && [[ $status == 0 && -f here/tmp/hutch-cp-evil ]]
}

@test "no name in a tar goes through a link that the tar, or anybody, made" {
	unpack through-link
	[[ $status == 125 ]]
	unpack through-dots
	[[ $status == 125 ]]
	unpack over-link && [[ $status == 0 && ! -L here/l && $(cat here/l) == evil ]]
}

@test "a hard link in a tar is to something of this tar, or an error" {
	local kind
	for kind in hard-out hard-absolute hard-through hard-old; do
		unpack "$kind"
		[[ $status == 125 && ! -e here/h ]]
	done
}

@test "devices, fifos, setuid bits do not come out of a tar" {
	unpack devices
	[[ $status == 0 ]]
	[[ $(find here -newer tar ! -type d -printf '%f ' ; true) != *null* && -f here/good ]]
	[[ ! -e here/null && ! -e here/disk && ! -e here/fifo ]]
	unpack setuid && [[ $status == 0 && $(stat -c %a here/s here/d) == $'755\n777' ]]
}

@test "a tar that lies, is cut, or is none, is an error" {
	local kind
	for kind in bomb cut noise empty; do
		unpack "$kind"
		[[ $status == 125 ]]
		[[ ! -e here/$kind ]]
	done
	unpack large
	[[ $status == 0 ]]
	catch "$HUTCH" cp --max-size 1m - here <tar
	[[ $status == 125 ]]
}

# MANY files.
@test "many thousand files are unpacked" {
	export MANY=${MANY:-2000}
	unpack many
	[[ $status == 0 && $(find here -type f | wc -l) == $((MANY + 1)) ]]
}

# This test looks at the process that unpacks a tar while the tar is still being read.
@test "the process that reads a tar can reach the folder and nothing else" {
	mkfifo slow
	mkdir here
	env --default-signal "$HUTCH" cp - here <slow >/dev/null 2>&1 3>&- &
	pid=$!
	started+=("$pid")
	exec 8>slow
	until_true is_jailed
	local jailed=$(jailed_pid)
	[[ $(find "/proc/$jailed/fd" -type l -printf '%l\n' | tr -d 0-9 | sort -u | xargs) == \
	   "/ /dev/null pipe:[]" ]]
	[[ $(sed -n 's/^CapPrm:\t//p; s/^CapEff:\t//p' "/proc/$jailed/status" | sort -u) == 0000000000000000 ]]
	grep -qx $'NoNewPrivs:\t1' "/proc/$jailed/status"
	grep -qx $'Seccomp:\t2' "/proc/$jailed/status"
	[[ $(readlink "/proc/$jailed/root") == / && $(wc -l <"/proc/$jailed/mountinfo") == 1 ]]
	[[ $(awk '{ print $4 }' "/proc/$jailed/mountinfo") == *"/here" ]]
	local space
	for space in user mnt pid net ipc uts; do
		[[ $(readlink "/proc/$jailed/ns/$space") != "$(readlink "/proc/self/ns/$space")" ]]
	done
	exec 8>&-
	slow_ended 125
}

jailed_pid() {
	descendants "$pid" | while read -r one; do
		grep -qx $'Seccomp:\t2' "/proc/$one/status" && echo "$one"
	done
}

is_jailed() {
	[[ -n $(jailed_pid) ]]
}

@test "as root, copies belong to the user that owns the target folder" {
	is_root || skip "takes root"
	unset SUDO_UID
	make box
	inside_ sh -c 'mkdir a; echo f >a/f'
	mkdir theirs ours
	chown 1234:1235 theirs
	chown 0:0 ours
	copies box:a theirs
	copies box:a/. theirs/new
	copies box:a ours
	[[ $(find theirs/a theirs/new -printf '%U:%G ') == "1234:1235 1234:1235 1234:1235 1234:1235 " ]]
	[[ $(find ours -printf '%U:%G ') == "0:0 0:0 0:0 " ]]
	# The process that unpacks has the rights of the user 1234, so it cannot write into a
	# folder of root that only root may open.
	mkdir theirs/closed
	chmod 700 theirs/closed
	ln -s closed theirs/link
	cp_ box:a theirs/a/f/x
	[[ $status == 125 ]]
	nothing_staged
}

# --- the process inside ---------------------------------------------------------------

# stalled: starts a copy out of box in the background whose tar is not read, so that the copy
# cannot go on.
stalled() {
	inside_ sh -c 'head -c 4M /dev/urandom >large'
	mkfifo to
	env --default-signal "$HUTCH" cp box:large - >to 2>"$T/err" 3>&- &
	pid=$!
	started+=("$pid")
	exec 8<to
	until_true packs
}

packs() {
	[[ -n $(packer) ]]
}

# packer: prints the pid, on the host, of the process that packs files inside box; the process is
# a descendant of the supervisor.
packer() {
	ps -e -o pid=,ppid=,comm= | awk '$3 == "hutch-copy" { print $1 }' | while read -r one; do
		descendants "$("$HUTCH" inspect box | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["pid"])')" |
			grep -x "$one" || true
	done
}

@test "cp reads and writes what a command of the same user can: root inside has its capabilities" {
	make box -u 0
	inside_ sh -c 'cd /tmp && echo f >f && chmod 0 f && mkdir d && chmod 0555 d'
	[[ $(inside_ cat /tmp/f) == f ]]
	copies box:/tmp/f f
	chmod 600 f
	copies f box:/tmp/d
	[[ $(inside_ stat -c %u /tmp/d/f) == 0 ]]
	make agents
	"$HUTCH" exec agents sh -c 'cd /tmp && echo f >f && chmod 0 f && mkdir d && chmod 0555 d'
	cp_fails "sandbox 'agents': .*Permission denied" agents:/tmp/f g
	cp_fails "sandbox 'agents': .*Permission denied" f agents:/tmp/d
}

@test "the process that packs is a command in all but its program, and closed to the others" {
	make box
	stalled
	local one=$(packer) command
	"$HUTCH" exec -d box sleep 1000 >/dev/null
	command=$(pgrep -x sleep -P "$(ps -o ppid= -p "$one" | tr -d ' ')" | tail -1)
	diff <(grep -E '^(Uid|Gid|Cap|NoNewPrivs|Seccomp:|Groups)' "/proc/$one/status") \
		<(grep -E '^(Uid|Gid|Cap|NoNewPrivs|Seccomp:|Groups)' "/proc/$command/status")
	diff <(cat "/proc/$one/limits") <(cat "/proc/$command/limits")
	[[ $(sed -n 's/^NSpid:.*\t//p' "/proc/$one/status") -gt 1 ]]
	if is_root; then
		[[ $(readlink "/proc/$one/fd/0") == /dev/null ]]
		[[ $(find "/proc/$one/fd" -type l -printf '%l\n' | grep -c pipe:) == 2 ]]
		find "/proc/$one/fd" -type l -printf '%l\n' | never grep -E 'socket:|anon_inode:'
	else
		never ls "/proc/$one/fd" 2>/dev/null # not even its owner, outside
	fi
	local pid_inside=$(sed -n 's/^NSpid:.*\t//p' "/proc/$one/status")
	inside_ sh -c "! [ -e /proc/$pid_inside ] && kill -0 $pid_inside"
	exec 8<&-
	slow_ended 125
}

# --- the control socket ---------------------------------------------------------------

# controls CODE [OPTION...]: runs the Python CODE as a client of a supervisor, as control.py
# describes.
controls() {
	! is_root || skip "the control socket is its owner's"
	"$here/control.py" "$HUTCH" "$@"
}

@test "copy.out without descriptors: a tar as output, an end as of any process, and no log" {
	controls '
import io, tarfile
wait(start("sh", "-c", "cd /tmp; mkdir a; head -c 300000 /dev/urandom >a/f; echo x >a/x; ln -s a to"))
def names(**params):
    p = call("copy.out", **params)["process"]
    end = wait(p)
    assert (end["exit_code"], end["error"]) == (0, None), end
    return [m.name for m in tarfile.open(fileobj=io.BytesIO(output(p)))]
assert names(path="/tmp/a") == names(path="/tmp/a/")
assert sorted(names(path="/tmp/to/")) == ["to", "to/f", "to/x"]
assert sorted(names(path="/tmp/a")) == ["a", "a/f", "a/x"]
assert sorted(names(path="/tmp/a/.")) == ["f", "x"]
assert names(path="/tmp/to") == ["to"]
assert sorted(names(path="/tmp/to", follow=True)) == ["to", "to/f", "to/x"]
wait(start("sh", "-c", "cd /tmp/a; ln f hard; ln -s f soft; ln -s .. up; ln -s gone dangling"))
p = call("copy.out", path="/tmp/a/.", contents=True)["process"]
assert wait(p)["error"] is None
members = tarfile.open(fileobj=io.BytesIO(output(p))).getmembers()
assert all(m.isreg() for m in members), members
assert sorted((m.name, m.size) for m in members) == [("f", 300000), ("hard", 300000), ("soft", 300000), ("x", 2)]
wait(start("sh", "-c", "cd /tmp/a; rm hard soft up dangling"))
p = call("copy.out", path="/tmp/a")["process"]
wait(p)
assert [x["program"] for x in call("exec.list") if x["process"] == p] == ["copy.out"]
# The output of other processes is logged, but the tar of a copy is not.
wait(start("echo", "logged"))
log = open(folder + "/log/output").read()
assert "logged" in log and len(log) < 1000, log[:1000]
'
}

@test "copy.in without descriptors: a tar by exec.write, with and without a name" {
	controls '
import base64, io, tarfile
def tar(*names):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 2
            t.addfile(info, io.BytesIO(b"f\n"))
    return out.getvalue()
def copy(data, **params):
    p = call("copy.in", **params)["process"]
    try:
        call("exec.write", process=p, base64=base64.b64encode(data).decode(), eof=True)
    except Refused as e:
        assert e.kind == "disconnected", e # it has failed already
    return wait(p)["error"]
def holds(path):
    p = start("cat", path)
    wait(p)
    return output(p) == b"f\n"
assert copy(tar("a/b"), path="/tmp") is None and holds("/tmp/a/b")
assert copy(tar("a/b"), path="/tmp/new") is None and holds("/tmp/new/a/b")
assert copy(tar("a/b"), path="/tmp/new", name="x") is None and holds("/tmp/new/x/b")
assert copy(tar("a"), path="/tmp/other", name="x") is None and holds("/tmp/other")
assert copy(tar("a"), path="here", name="x") is None and holds("/workspace/here")
assert copy(tar("a"), path="/tmp/absent/", name="x") == "not_found"
assert copy(tar("a"), path="/tmp/absent/b", name="x") == "not_found"
assert copy(tar("a"), path="/usr", name="x") == "refused"
assert copy(tar("../a"), path="/tmp") == "invalid"
assert copy(b"noise" * 1000, path="/tmp") == "invalid"
assert copy(tar("a")[:700], path="/tmp/cut") == "invalid"
assert copy(tar("new"), path="/tmp") == "exists"
assert copy(tar("a"), path="/tmp", name="..") == copy(tar("a"), path="/tmp", name="x/y") == "invalid"
'
}

@test "copies take the params that are theirs, and no other" {
	controls '
def wrong(method, **params):
    try:
        call(method, **params)
    except Refused as e:
        return e.code == -32602
assert wrong("copy.out") and wrong("copy.in", path="") and wrong("copy.out", path=7)
assert wrong("copy.out", path="/tmp", contents=1) and wrong("copy.in", path="/tmp", contents=True)
assert wrong("copy.out", path="/tmp", name="x") and wrong("copy.in", path="/tmp", follow=True)
def end(**params):
    return wait(call("copy.out", **params)["process"])["error"]
assert end(path="/nowhere") == "not_found"
assert end(path="/etc/passwd/") == "not_found"
wait(start("sh", "-c", "mkdir -p /tmp/closed/x; chmod 0 /tmp/closed"))
assert end(path="/tmp/closed/x") == "refused"
call("pause")
assert refused("copy.out", "busy", path="/tmp") and refused("copy.in", "busy", path="/tmp")
call("unpause")
'
}

@test "a copy is ended by exec.signal, and when its client goes" {
	controls '
p = call("copy.in", path="/tmp/a")["process"]
call("exec.signal", process=p, signal="TERM")
end = wait(p)
assert (end["signal"], end["error"]) == (15, "internal"), end
d = connect()
p = d.call("copy.in", path="/tmp/a")["process"]
d.socket.close()
assert wait(p)["error"] == "internal"
r, w = os.pipe()
null = os.open("/dev/null", os.O_RDWR)
wait(start("sh", "-c", "head -c 1M /dev/zero >/tmp/large"))
p = answer(send("copy.out", fds=(null, w, null), path="/tmp/large"))["process"]
os.close(w)
assert b"ustar" in os.read(r, 512)
os.close(r)
assert wait(p)["error"] == "disconnected"
# This process keeps the sandbox in its stopping state, so that the client that waits for a copy
# is told of its end.
stays = start("sh", "-c", "trap \"\" TERM HUP; echo trapped; sleep 1000")
while output(stays) != b"trapped\n":
    c.take()
p = call("copy.in", path="/tmp/a")["process"]
waiting = send("exec.wait", process=p)
connect().send("stop", grace=5)
end = answer(waiting)
assert (end["signal"], end["error"]) == (15, "disconnected"), end
'
}
