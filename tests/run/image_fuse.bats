#!/usr/bin/env bats
# Tests of images on a host without overlayfs where fuse-overlayfs is installed, which then serves
# the root of the sandbox.

load helpers
load no_overlay

setup() {
	begin
	needs_filter
	as_who sh -c ': <>/dev/fuse' 2>/dev/null || skip "this host has no /dev/fuse"
	command -v fuse-overlayfs >/dev/null || skip "fuse-overlayfs is not installed"
	without overlay
}

# The folders are left to the janitor, which can remove folders that their owner may not write to;
# rm cannot.
teardown() {
	remove_boxes
	((${#started[@]} == 0)) || kill -KILL "${started[@]}" 2>/dev/null || true
	until_gone left || true
	end
}

note='hutch: note: the root is served by /usr/bin/fuse-overlayfs, since there is no overlayfs here'

# server_of PID: prints the process that serves the root of the sandbox that
# this hutch has launched.
server_of() {
	local child
	for child in $(pgrep -P "$1"); do
		! tr '\0' ' ' <"/proc/$child/cmdline" | grep -q '^fuse-overlayfs -f ' || echo "$child"
	done
}

# command_of PID: prints the command that this hutch has launched, the only child of pid 1.
command_of() {
	pgrep -P "$(pgrep -P "$1" -f hutch-executor)"
}

# pid_of_one: prints the host's pid of pid 1 of the sandbox, from $output of hutch inspect.
pid_of_one() {
	grep -oE '"pid": ?[0-9]+' <<<"$output" | grep -oE '[0-9]+$'
}

# interrupt PID: sends SIGINT to the process, and prints PID unless the process has ended.
interrupt() {
	! kill -INT "$1" 2>/dev/null || lives "$1"
}

# lives PID: prints PID unless the process has ended.
lives() {
	[ ! -e "/proc/$1/stat" ] || echo "$1"
}

@test "a folder is served, and what is written is above it alone, and goes" {
	base img
	before=$(find img -printf '%p %y %m %s %T@ %n\n' | sort)
	for mode in overlay oldoverlay; do
		without $mode
		inside --image dir:img --json=3 sh -c 'cat /data/file /data/link /etc/hosts; echo x >/data/twin
			cat /data/twin; mkdir /new /workspace/new; id -u; stat -c %u:%g /data /new' 3>json
		[ "$status" -eq 0 ]
		[ "$output" = "of the image
of the image
127.0.0.1	localhost hutch
::1	localhost ip6-localhost ip6-loopback hutch
x
0
0:0
0:0" ]
		grep -q '"degraded":\["image"\]' json
		[ -z "$(left)" ]
		[ $mode = oldoverlay ] || says_so 'No such device'
	done
	says_so 'Operation not permitted'
	[ "$before" = "$(find img -printf '%p %y %m %s %T@ %n\n' | sort)" ]
}

@test "folders of the image are removed, made again and moved" {
	base img
	inside --image dir:img sh -ec '
		rm -r /data/sub; test ! -e /data/sub; mkdir /data/sub; ls -A /data/sub; touch /data/sub/new
		mv /data/link /data/moved; readlink /data/moved; test ! -L /data/link
		mkdir /data/a; touch /data/a/file; mv /data/a /data/b; ls /data/b
		ln /data/file /data/third; echo more >>/data/third; cat /data/file; test /data/file -ef /data/third && echo same
		rm /data/file; cat /data/third; ls -A /data /data/sub
		chmod 000 /data/third; cat /data/third; stat -c %a /data/third'
	[ "$status" -eq 0 ]
	[ "$output" = "file
file
of the image
more
same
of the image
more
/data:
b
moved
sub
third
twin

/data/sub:
new
of the image
more
0" ]
}

@test "the layers of an image are merged: what they delete is not there" {
	base one
	mkdir -p two/data two/etc
	echo new >two/data/new
	setfattr -n user.overlay.opaque -v y two/data 2>/dev/null || skip "$T has no user.* attributes"
	printf 'web:x:101:102::/srv:/bin/sh\n' >two/etc/passwd
	mknod two/etc/gone c 0 0 2>/dev/null || skip "no whiteout can be made here"
	echo x >one/etc/gone
	more=()
	for i in {1..20}; do
		mkdir -p "l$i/many"
		echo "$i" >"l$i/many/$i"
		echo "$i" >"l$i/many/last"
		more+=("l$i")
	done
	give one two "${more[@]}"
	"$here/store.py" img one two "${more[@]}" >/dev/null
	give home
	inside --image img -u web sh -c 'ls -A /data; id -u; test -e /etc/gone || echo gone; cat /etc/hostname
		echo x >/data/new && cat /data/new; cat /many/last; ls /many | wc -l'
	[ "$output" = "new
101
gone
hutch
x
20
21" ]
	says_so 'No such device'
	inside --image img --read-only sh -c 'echo x >/data/new'
	[ "$status" -eq 1 ]
	[[ $stderr == *"Read-only file system"* ]]
	[ "$(cat "$HOME"/.local/share/hutch/store/layers/*/fs/data/new)" = new ]
	[ -z "$(left)" ]
}

@test "the server of the root is confined, and has only the descriptors that it needs" {
	base img
	start --image dir:img sh -c 'echo there; exec sleep 1000'
	said there
	server=$(server_of "$pid")
	command=$(command_of "$pid")
	[ -n "$server" ]
	[ -n "$command" ]
	has_status() {
		grep -qE "^$1:	+$2$" "/proc/$server/status" || { grep "^$1" "/proc/$server/status"; return 1; }
	}
	has_status NoNewPrivs 1
	has_status Seccomp 2
	# The server of the root has one seccomp filter more than the process that ran hutch.
	has_status Seccomp_filters $(($(sed -n 's/^Seccomp_filters:\t//p' "/proc/$pid/status") + 1))
	# The mask has CHOWN, DAC_OVERRIDE, FOWNER and FSETID, in the user namespace of the
	# server.
	for set in CapPrm CapEff CapBnd; do
		has_status $set 000000000000001b
	done
	has_status NSpid "$server	1"
	for ns in user mnt pid net ipc uts cgroup; do
		for other in self "$pid" "$command"; do
			[ -e "/proc/$other/ns/$ns" ]
			[ "$(readlink "/proc/$server/ns/$ns")" != "$(readlink "/proc/$other/ns/$ns")" ]
		done
	done
	# Descriptor 3 was opened on a mount that was removed, so its path may lack /dev.
	readlink "/proc/$server"/fd/{0,1,2,3} | tr '\n' ' ' | grep -qE '^/dev/null /dev/null pipe:\[[0-9]+\] (/dev)?/fuse $'
	for fd in "/proc/$server/fd"/*; do
		((${fd##*/} < 4)) || readlink "$fd"
	done | grep -vE '^(pipe:.*|/layers/(0|none)(/.*)?|/disk/(upper|work/work))$' && return 1
	grep -qE '^Max core file size +1 +1 ' "/proc/$server/limits"
	grep -qE '^Max address space +1073741824 +1073741824 ' "/proc/$server/limits"
	[ -z "$(tr -d '\0' <"/proc/$server/environ")" ]
	ls "/proc/$server/root/" | grep -vE '^(disk|etc|layers|lib(x?32|64)?|proc|usr)$' && return 1
	# In the mount namespace of the server only the disk and a procfs are writable.
	awk '$6 ~ /^rw/ && $5 !~ "^/(disk|proc)$"' "/proc/$server/mountinfo" | grep . && return 1
	[ "$(ps -o sid= -p "$server" | tr -d ' ')" = "$server" ]
}

@test "the mount of the server is in the sandbox alone, and the inside does not see the server" {
	base img
	start --image dir:img sh -c 'echo there; exec sleep 1000'
	said there
	server=$(server_of "$pid")
	for who in self "$pid" "$server"; do
		never grep fuse-overlayfs "/proc/$who/mountinfo"
	done
	kill -TERM "$pid"
	inside --image dir:img sh -c 'ps; kill -0 '"$server"'; ls /proc; grep -c " - fuse[.]fuse.overlayfs " /proc/self/mountinfo'
	never grep -E 'fuse-over|^'"$server"'$' <<<"$output"
	[ "${lines[-1]}" = 1 ]
}

@test "the end of the server is the sandbox's, with a reason, and nothing waits" {
	base img
	for signal in KILL TERM; do
		start --image dir:img sh -c 'echo there; exec sleep 1000'
		said there
		kill -$signal "$(server_of "$pid")"
		ended 125
		grep -q "^hutch: .*fuse-overlayfs, which serves the sandbox's root, \(was ended by signal 9\|ended with code 1\)" "$T/err" ||
			{ cat "$T/err"; return 1; }
		[ -z "$(left)" ]
	done
}

@test "a server that is stopped does not keep the sandbox from ending" {
	base img
	start --image dir:img sh -c 'echo there; while :; do ls -R / >/dev/null; done'
	said there
	server=$(server_of "$pid")
	kill -STOP "$server"
	# The inside cannot react to the first two signals, since its root does not answer;
	# several pending signals may become one, so the test sends more.
	until_gone interrupt "$pid"
	rc=0
	wait "$pid" || rc=$?
	((rc > 128))
	until_gone lives "$server"
	until_gone left
}

# deaf FILE: compiles a program that takes one request of the kernel for a FUSE file system and
# never answers it.
deaf() {
	cc -x c -o "$1" - <<'C'
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char request[1 << 20];
int main(int argc, char **argv)
{
	struct { struct fuse_out_header header; struct fuse_init_out init; } answer = { 0 };
	(void)argc;
	if (!strcmp(argv[1], "--version"))
		return puts("fuse-overlayfs: version 1.13") < 0;
	if (read(3, request, sizeof(request)) < 0)
		return 1;
	answer.header.len = sizeof(answer);
	answer.header.unique = ((struct fuse_in_header *)request)->unique;
	answer.init.major = FUSE_KERNEL_VERSION;
	answer.init.minor = 31;
	answer.init.max_write = 4096;
	if (write(3, &answer, sizeof(answer)) < 0 || read(3, request, sizeof(request)) < 0)
		return 1;
	for (;;)
		pause();
}
C
}

@test "a server that never answers is ended at the time-out, although its call cannot be killed" {
	base img
	mkdir bin
	deaf bin/fuse-overlayfs
	without overlay "$T/bin"
	inside --timeout 1s --image dir:img true
	[ "$status" -eq 124 ]
	[ -z "$(left)" ]
}

@test "a launcher that is killed leaves neither it nor what was written, even if it stands still" {
	base img
	for state in CONT STOP; do
		start --image dir:img sh -c 'echo there; touch /new; sleep 1000'
		said there
		server=$(server_of "$pid")
		[ -n "$(left)" ]
		kill -$state "$server"
		kill -KILL "$pid"
		wait "$pid" || true
		until_gone lives "$server"
		until_gone left
	done
}

@test "the error of a server that cannot serve is printed, and nothing is left" {
	base img
	mkdir bin
	cc -x c -o bin/fuse-overlayfs - <<'C'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[1], "--version"))
		return puts("fuse-overlayfs: version 1.13") < 0;
	fprintf(stderr, "a line before\nthere is no \033 way\n");
	return 3;
}
C
	without overlay "$T/bin"
	inside --image dir:img true
	[ "$status" -eq 125 ]
	[[ ${stderr_lines[1]} == *"fuse-overlayfs, which serves the sandbox's root, ended with code 3: there is no "*" way"* ]]
	[[ $stderr != *$'\033'* ]]
	[ -z "$(left)" ]
}

@test "a fuse-overlayfs that others can write, or of another version, is not used: a copy is" {
	base img
	mkdir bin
	for version in 1.7.1 2.0 ''; do
		cc -x c -o bin/fuse-overlayfs - <<<"int puts(const char *); int main(void) { return puts(\"fuse-overlayfs: version $version\") < 0; }"
		without overlay "$T/bin"
		inside --image dir:img true
		[ "$status" -eq 0 ]
		[[ $stderr == *'the root is a copy of the image'* ]]
	done
	cp "$(command -v fuse-overlayfs)" bin/fuse-overlayfs
	chmod 755 bin/fuse-overlayfs
	inside --image dir:img true
	[[ $stderr == *"the root is served by $T/bin/fuse-overlayfs"* ]]
	chmod g+w bin/fuse-overlayfs
	inside --image dir:img true
	[ "$status" -eq 0 ]
	[[ $stderr == *'the root is a copy of the image'* ]]
}

# hutch masks its own folders by mounts, but when fuse-overlayfs drops a name with a mount on it,
# the mount goes, too; so such an image is copied or refused.
@test "an image with a folder of hutch's own in it is not served" {
	base home
	refuses 'the image .*home has hutch.s own folders in it' --image "dir:$HOME" true
	base runtime
	inside --image "dir:$XDG_RUNTIME_DIR" true
	[ "$status" -eq 0 ]
	[[ $stderr == *'the root is a copy of the image'* ]]
	[ -z "$(left)" ]
}

@test "with overlayfs no server is started, filter or not" {
	base img
	without none
	inside --image dir:img --json=3 true 3>json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	grep -q '"degraded":\[\]' json
	[ ! -e home/.local ]
}

@test "an option that needs an upper layer is refused, in a sentence with a remedy" {
	base img
	room up
	refuses '--upper takes overlayfs, which is not here: mount an overlay: No such device' \
		--image dir:img --upper up true
	refuses '--disk cannot bound what is written to the root: it is a folder on disk, above the image' \
		--image dir:img --disk 1m true
	[ -z "$(left)" ]
	inside --image dir:img --disk 1m --best-effort --json=3 true 3>json
	[ "$status" -eq 0 ]
	grep -q '"degraded":\["disk","image"\]' json
}

@test "a sandbox with a name: commands and copies work, diff and snapshot say what it is" {
	base img
	hutch create --image "dir:$T/img" box
	[ "$status" -eq 0 ]
	says_so 'No such device'
	hutch exec box sh -c 'echo x >/data/new && cat /data/file'
	[ "$output" = "of the image" ]
	for verb in diff snapshot; do
		hutch $verb box
		[ "$status" -eq 125 ]
		[ -z "$output" ]
		one_sentence '.*the root of this sandbox is served by fuse-overlayfs'
	done
	hutch cp box:/data/new -
	[ "$status" -eq 0 ]
	[ -n "$(left)" ]
	# The confined supervisor must end the sandbox without waiting for a server that is
	# stopped.
	hutch inspect box
	server=$(server_of "$(ps -o ppid= -p "$(pid_of_one)" | tr -d ' ')")
	kill -STOP "$server"
	hutch rm -f box
	[ "$status" -eq 0 ]
	until_gone lives "$server"
	until_gone left
}

@test "paths of the host are no syntax: colons, commas and backslashes in them" {
	base 'im:a,b\c'
	base one
	mkdir top && give top
	"$here/store.py" img one top >/dev/null
	export XDG_DATA_HOME="$T/data:x,y\\z"
	mv home/.local/share "$XDG_DATA_HOME"
	give "$XDG_DATA_HOME"
	for image in 'dir:im:a,b\c' img; do
		inside --image "$image" sh -c 'cat /data/file; echo new >/data/file; cat /data/file'
		[ "$output" = "of the image
new" ]
		says_so 'No such device'
	done
}

@test "a named sandbox whose server has gone ends, and its record gives the reason" {
	base img
	hutch create --image "dir:$T/img" box
	[ "$status" -eq 0 ]
	hutch inspect box
	one=$(pid_of_one)
	supervisor=$(ps -o ppid= -p "$one" | tr -d ' ')
	server=$(server_of "$supervisor")
	# The supervisor is confined by now, and still ends the sandbox when the server is killed.
	kill -KILL "$server"
	until_gone lives "$one"
	until_gone left
	until_gone sh -c "'$HUTCH' ps -q"
	hutch ps -a
	[[ $output == *box* ]]
	hutch inspect box
	[[ $output == *'fuse-overlayfs, which serves the sandbox'* ]]
}
