#!/usr/bin/env bats
# The second wall: with Landlock nothing but the sandbox's root can be opened, whatever
# leads elsewhere; and what the root has is as it was (sandbox/fence.h).

load helpers

setup() {
	begin
}

teardown() {
	remove_boxes
	end
}

python=/usr/bin/python3

needs_fence() {
	"$HUTCH" run --dry-run true | grep -q '^landlock .*can be opened' ||
		skip "this host has no Landlock of ABI 2"
}

# A folder that is handed over, with something beside it that is not.
make_given() {
	room place/given/under place/other
	echo given >place/given/under/file
	echo secret >place/secret
	give place
	chmod -R a+rwX place
}

# given COMMAND...: with that folder as stdin.
given() {
	catch "$HUTCH" run ${flags:-} --stdio inherit "$@" <place/given
}

# --- what it keeps out ------------------------------------------------------------

@test "what is above a folder that was handed over cannot be read" {
	needs_fence
	make_given
	given cat /proc/self/fd/0/../secret
	[[ $status == 1 && $stderr == *'Permission denied' && $output != *secret* ]]
	given ls /proc/self/fd/0/..
	[[ $status == 2 && $stderr == *'Permission denied' && $output != *secret* ]]
	given cat "/proc/self/fd/0/../../../../../../../etc/passwd"
	[[ $status == 1 && $stderr == *'Permission denied' && -z $output ]]
}

@test "what is above it cannot be written, executed, made, removed, linked or renamed" {
	needs_fence
	make_given
	cp /usr/bin/true place/program
	given sh -c 'exec 9<&0 </dev/null "$@"' - "$python" -c 'if True:
		import errno, os
		up = "/proc/self/fd/9/../"
		tries = {
			"write": lambda: os.open(up + "secret", os.O_WRONLY),
			"truncate": lambda: os.open(up + "secret", os.O_WRONLY | os.O_TRUNC),
			"execute": lambda: os.execv(up + "program", ["program"]),
			"make": lambda: os.open(up + "new", os.O_WRONLY | os.O_CREAT),
			"folder": lambda: os.mkdir(up + "folder"),
			"symlink": lambda: os.symlink("x", up + "symlink"),
			"fifo": lambda: os.mkfifo(up + "fifo"),
			"remove": lambda: os.unlink(up + "secret"),
			"rmdir": lambda: os.rmdir(up + "other"),
			"tmpfile": lambda: os.open(up, os.O_TMPFILE | os.O_RDWR),
			"rename": lambda: os.rename(up + "secret", up + "renamed"),
			"link": lambda: os.link(up + "secret", up + "linked"),
			"out": lambda: os.rename("/proc/self/fd/9/under", up + "under"),
			"in": lambda: os.rename(up + "secret", "/proc/self/fd/9/secret"),
		}
		for name, attempt in tries.items():
			try:
				attempt()
				print(name, "done")
			except OSError as e:
				print(name, errno.errorcode[e.errno])'
	[[ $status == 0 && ${#lines[@]} == 14 ]]
	for line in "${lines[@]}"; do
		echo "$line"
		[[ $line == *' 'E@(ACCES|XDEV) ]]
	done
	[[ $(cat place/secret) == secret ]]
	[[ $(ls place) == given$'\n'other$'\n'program$'\n'secret ]]
}

@test "with --landlock off it can be read, which is what the wall is for" {
	make_given
	flags='--landlock off'
	given cat /proc/self/fd/0/../secret
	[[ $status == 0 && $output == secret ]]
}

# --- what it leaves ---------------------------------------------------------------

@test "of a folder that was handed over what is below is open" {
	make_given
	given cat /proc/self/fd/0/under/file
	[[ $status == 0 && $output == given ]]
}

# inherit COMMAND...: a shell's, as whom the inside stands for: what root has opened he may not.
inherit() {
	as_who "$HUTCH" run --stdio inherit sh -c "$@"
}

@test "what is handed over can be opened again: files, pipes, fifos, devices" {
	echo content >file && : >out && : >err && give file out err
	inherit 'cat /dev/stdin; echo said >>/dev/stdout; echo too >/dev/stderr' <file >out 2>err
	[[ $(cat out) == content$'\n'said && $(cat err) == too ]]
	as_who bash -c 'echo piped | "$0" run --stdio inherit sh -c "cat /dev/stdin; echo said >/dev/stdout" | cat' "$HUTCH" >got
	[[ $(cat got) == piped$'\n'said ]]
	inherit ': >/dev/stdout && echo opened >&2' >/dev/full 2>err
	[[ $(cat err) == opened ]]
	mkfifo fifo && give fifo
	timeout $PATIENCE cat fifo >got 3>&- &
	inherit 'echo said >/dev/stdout' >fifo
	wait $!
	[[ $(cat got) == said ]]
	[[ $(inherit 'cat /dev/stdin; echo $?' </dev/null) == 0 ]]
}

@test "a terminal that is handed over can be opened again" {
	is_root && skip "root's sandbox stands for somebody who may not open root's terminal"
	cat >steps <<-END
		expect (?m)^opened.*
		exit 0
	END
	"$here/terminal.py" steps "$HUTCH" run --stdio inherit sh -c \
		'stty -F /dev/stdin size >/dev/null && : </dev/stdin && echo opened >/dev/stdout'
}

@test "without -i stdin is /dev/null, and can be opened again, in a sandbox with a name too" {
	catch "$HUTCH" run sh -c 'cat /dev/stdin && cat </dev/null && echo x >/dev/null && echo ok'
	[[ $status == 0 && $output == ok ]]
	"$HUTCH" create box
	catch "$HUTCH" exec box sh -c 'cat /dev/stdin && echo ok'
	[[ $status == 0 && $output == ok ]]
	is_root || {
		catch "$HUTCH" exec -i box sh -c 'cat /dev/stdin && echo ok >/dev/stdout' <<<typed
		[[ $status == 0 && $output == typed$'\n'ok ]]
	}
}

@test "everything that can be done with files is as it was" {
	room shown shown/a shown/b
	catch "$HUTCH" run -v "$T/shown:/shown" --tmpfs /more "$python" -c 'if True:
		import fcntl, os, shutil, socket, struct, subprocess, sys, tempfile, termios
		for top in ("/shown", "/more", "/tmp", "/workspace", "/dev/shm"):
			os.makedirs(top + "/a/deep", exist_ok=True)
			os.makedirs(top + "/b", exist_ok=True)
			open(top + "/a/deep/f", "w").write("text")
			os.rename(top + "/a/deep/f", top + "/b/f")
			os.rename(top + "/a/deep", top + "/b/deep")
			os.link(top + "/b/f", top + "/a/linked")
			os.truncate(top + "/b/f", 2)
			fd = os.open(top + "/a", os.O_TMPFILE | os.O_RDWR, 0o600)
			os.write(fd, b"unnamed")
			os.link("/proc/self/fd/%d" % fd, top + "/b/named", src_dir_fd=fd, follow_symlinks=True)
			assert open(top + "/b/named").read() == "unnamed"
			assert open("/proc/self/fd/%d" % fd).read() == "unnamed"
			os.mkfifo(top + "/fifo")
			socket.socket(socket.AF_UNIX).bind(top + "/socket")
			shutil.copy("/usr/bin/true", top + "/true")
			if top != "/more" and not os.statvfs(top).f_flag & os.ST_NOEXEC:
				subprocess.run([top + "/true"], check=True)
			held = os.open(top + "/b", os.O_RDONLY)
			gone = os.open(top + "/b/f", os.O_RDWR)
			os.unlink(top + "/b/f")
			open("/proc/self/fd/%d" % gone, "r+").write("still")
			assert os.listdir("/proc/self/fd/%d" % held)
		master, slave = os.openpty()
		open(os.ttyname(slave), "w").write("x")
		fcntl.ioctl(os.open(os.ttyname(slave), os.O_RDWR | os.O_NOCTTY), termios.TIOCGWINSZ, b"8" * 8)
		m = os.memfd_create("m")
		open("/proc/self/fd/%d" % m, "w").write("memory")
		open("/proc/self/comm", "w").write("named")
		open("/proc/self/ns/mnt"), os.listdir("/proc/self/root/"), open("/proc/self/exe", "rb")
		child = subprocess.Popen(["sleep", "1000"])
		assert "usr" in os.listdir("/proc/%d/root/" % child.pid)
		assert "0" in os.listdir("/proc/%d/fd/" % child.pid)
		child.kill()
		print("all")'
	[[ $status == 0 && $output == all ]]
}

@test "message queues, semaphores and shared memory are as they were" {
	catch "$HUTCH" run "$python" -c 'if True:
		import ctypes, os
		from multiprocessing import Lock, shared_memory
		c = ctypes.CDLL(None, use_errno=True)
		made = c.mq_open(b"/queue", os.O_RDWR | os.O_CREAT, 0o600, None)
		again = c.mq_open(b"/queue", os.O_RDWR)
		sent = c.mq_send(made, b"said", 4, 1)
		text = ctypes.create_string_buffer(8192)
		print(made >= 0, again >= 0, sent, c.mq_receive(again, text, 8192, None), text.value)
		print(c.mq_unlink(b"/queue"), os.strerror(ctypes.get_errno()))
		with Lock():
			memory = shared_memory.SharedMemory(create=True, size=10)
			shared_memory.SharedMemory(memory.name).close()
			memory.unlink()'
	[[ $status == 0 && -z $stderr ]]
	[[ ${lines[0]} == "True True 0 4 b'said'" && ${lines[1]} == '0 '* ]]
}

@test "one command can look into another one's process, since one domain has both" {
	"$HUTCH" create box
	pid=$("$HUTCH" exec -d box sleep 1000)
	catch "$HUTCH" exec box sh -c 'cat /proc/[0-9]*/comm; for p in /proc/[0-9]*; do ls "$p/cwd/" >/dev/null || exit 3; done'
	[[ $status == 0 && $output == *sleep* ]]
}

@test "whoever confines himself inside still can, fifteen times" {
	needs_fence
	cat >confine.py <<-'END'
		import ctypes, struct
		call = ctypes.CDLL(None, use_errno=True).syscall
		attr = struct.pack("Q", 1 << 12)
		count = 0
		while True:
		    ruleset = call(444, attr, len(attr), 0)
		    assert ruleset >= 0
		    if call(446, ruleset, 0) != 0:
		        break
		    count += 1
		print(count)
	END
	catch "$HUTCH" run -i "$python" - <confine.py
	[[ $status == 0 && $output == 15 ]]
	catch "$HUTCH" run --landlock off -i "$python" - <confine.py
	[[ $status == 0 && $output == 16 ]]
}

# --- the flag ---------------------------------------------------------------------

@test "--landlock off: --dry-run says so, and a policy can" {
	catch "$HUTCH" run --dry-run --landlock off true
	has '^landlock  off$'
	echo '{"version":1,"landlock":"off"}' >p.json
	catch "$HUTCH" run --dry-run --policy ./p.json true
	has '^landlock  off$'
	catch "$HUTCH" run --dry-run --policy ./p.json --landlock auto true
	has_not '^landlock  off$'
}

@test "where the kernel has no Landlock nothing changes, and --landlock on is an error" {
	catch "$(tool forbid)" landlock "$HUTCH" run sh -c 'echo ran; cat /dev/stdin'
	[[ $status == 0 && $output == ran && -z $stderr ]]
	catch "$(tool forbid)" landlock "$HUTCH" run --json true
	[[ $output != *degraded*landlock* ]]
	catch "$(tool forbid)" landlock "$HUTCH" run --dry-run true
	has '^landlock  none in this kernel, or too old a one$'
	catch "$(tool forbid)" landlock "$HUTCH" run --landlock on true
	[[ $status == 125 ]]
	[[ ${stderr_lines[0]} == 'hutch: --landlock on: this kernel has no Landlock of ABI 2, or it is off' ]]
	[[ ${stderr_lines[1]} == *'--landlock auto'* ]]
}

@test "--landlock on stands where there is one" {
	needs_fence
	make_given
	flags='--landlock on'
	given cat /proc/self/fd/0/../secret
	[[ $status == 1 && $stderr == *'Permission denied' ]]
}

@test "--landlock takes one of three words" {
	catch "$HUTCH" run --landlock yes true
	[[ $status == 125 && $stderr == "hutch: --landlock takes auto, on or off, not 'yes'" ]]
}

@test "with --network host one domain keeps files and abstract sockets" {
	needs_fence
	make_given
	flags='--network host'
	given cat /proc/self/fd/0/../secret
	[[ $status == 1 && $stderr == *'Permission denied'* ]]
	catch "$HUTCH" run --network host sh -c 'cat /dev/stdin && echo ok'
	[[ $output == ok ]]
}
