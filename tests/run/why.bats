#!/usr/bin/env bats
# hutch why tells whether an operation would be permitted, and the operation
# then behaves like that (docs/hutch-why.md).

load helpers

setup() {
	begin
	ask=$BUILD/tests/run/ask
}

teardown() {
	remove_boxes
	chmod -R u+rwX "$T"
	end
}

# agree FLAGS...: checks for each question on stdin, one on each line, that the answer of hutch
# why agrees with the result of the operation (ask.c).
agree() {
	local said
	said=$(HUTCH=$HUTCH ASK=$ask python3 "$here/why_agrees.py" "$@")
	printf '%s\n' "$said"
	[[ $said =~ ^[0-9]+" agree"$ ]]
}

# base DIR: makes a root file system with busybox in DIR.
base() {
	mkdir -p "$1/bin" "$1/etc" "$1/data"
	cp "$(command -v busybox)" "$1/bin/busybox"
	ln -s busybox "$1/bin/sh" && ln -s busybox "$1/bin/ls"
	printf 'root:x:0:0:root:/root:/bin/sh\n' >"$1/etc/passwd"
	echo x >"$1/data/file"
}

# things DIR: makes a folder with files of all kinds and modes in it, and links to them.
things() {
	room "$1"
	(
		cd "$1" || exit
		mkdir -p sub/deep closed shut unlisted
		echo 1 | tee file sub/file sub/deep/file closed/file shut/file unlisted/file none >mode000
		printf '#!/bin/sh\n' >script && printf '#!/nonesuch -x\n' >lost && printf '#!%s/script\n' "$T/$1" >far
		printf '#!../sub\n' >folder-script && printf '#! /bin/sh -e' >blank && : >empty
		cp /bin/true program && head -c 1000 /bin/true >cut && cp "$ask" still
		ln -s file link && ln -s sub/deep to-deep && ln -s nowhere/x dangling && ln -s new to-new
		ln -s loop loop && ln -s /etc/passwd out && ln -s ../../../../../../etc/shadow up
		ln -s "$PWD/file" host-path && ln -s closed/file to-closed && ln -s script to-script
		mkfifo fifo && python3 "$here/why.py" bind sock
		chmod 755 script lost far folder-script blank empty program cut still
		chmod 644 none && chmod 000 mode000 && chmod 444 file && chmod 600 closed shut && chmod 311 unlisted
		chmod 555 sub && chmod 111 still
	)
	give "$1"
}

# ask_all VERB DIR: prints the question "VERB PATH" for each file that things has made in DIR.
ask_all() {
	local name
	for name in file sub/file sub/deep/file closed/file shut/file unlisted/file none mode000 script lost far \
		folder-script blank empty program cut still link link/ to-deep to-deep/file to-deep/../file dangling to-new loop \
		out up host-path to-closed to-script fifo sock closed shut unlisted sub sub/deep sub/new unlisted/new closed/new \
		new new/new file/x . .. ./sub//deep; do
		echo "$1 $2/$name"
	done
}

@test "files of the host image" {
	{
		for path in / /etc /etc/passwd /etc/shadow /etc/hosts /etc/ssl/private /etc/localtime /usr /usr/bin /bin /bin/ls /lib64 /tmp \
			/tmp/x /var /var/tmp /var/tmp/x /var/run/x /var/lock /var/log /run /run/x /run/lock /home /home/agent /home/agent/.profile \
			/root /root/x /workspace /workspace/x x ../x /dev /dev/null /dev/zero /dev/full /dev/random /dev/shm /dev/shm/x \
			/dev/pts /dev/ptmx /dev/pts/ptmx /dev/tty /dev/kmsg /dev/mem /proc /proc/self \
			/proc/self/status /proc/self/environ /proc/self/mem /proc/self/comm /proc/1 /proc/1/environ /proc/4000000 /proc/cpuinfo /proc/kallsyms \
			/proc/keys /proc/kcore /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/uptime /proc/bus /proc/mounts \
			/sys /sys/kernel /boot /nonesuch /nonesuch/x /etc/passwd/ /etc/passwd/x; do
			echo "read $path"
			echo "write $path"
		done
		for name in sh ls env python3 nonesuch /bin/sh /bin /etc/passwd /dev/null /usr/bin/perl /proc/self/exe /tmp/x ./x; do
			echo "exec $name"
		done
	} | agree
}

@test "a folder of the host's that is shown, in each way" {
	things w
	for how in rw ro cow; do
		for verb in read write exec; do
			ask_all $verb /workspace
		done | agree --workspace "$T/w:$how"
	done
	hutch why --workspace "$T/w" read closed/file
	[[ $status == 1 && $output == "no: /workspace/closed: its mode, 0600, and owner, uid $who of this host, do not let it be searched"*"layer   permissions"* ]]
	for verb in read write exec; do
		ask_all $verb /a/b
	done | agree -v "$T/w/sub:/a:rw" -v "$T/w:/a/b:ro" --tmpfs /a/b/sub
}

@test "why: read-only, private and protected files" {
	things w
	mkdir -p w/.git/hooks w/pkg/.vscode && echo x >w/.git/config && ln -s .git/config w/conf
	give w
	for path in /tmp /tmp/x /run/x /home/agent /workspace /workspace/x /dev/shm/x /dev/null /t /t/x /big/x; do
		echo "write $path"
	done >some
	agree --read-only --tmpfs /t <some
	agree --tmpfs /t --tmpfs /big:size=1m <some
	for path in .git .git/x .git/config .git/config/x .git/hooks .git/hooks/x conf pkg pkg/x pkg/.vscode pkg/.vscode/x .mcp.json .vscode new; do
		echo "write /workspace/$path"
		echo "read /workspace/$path"
	done >some
	for how in rw cow ro; do
		agree --workspace "$T/w:$how" --protect .git/hooks --protect .git/config --protect /pkg/.vscode <some
	done
	hutch why --workspace "$T/w" --protect .git/hooks write .git/hooks/pre-commit
	[[ $status == 1 && $output == "no: /workspace/.git/hooks is protected
  layer   mounts
  line    --protect .git/hooks
  change  show $T/w with :cow, or leave that out" ]]
	# Questions about the folders of hutch itself, which are not shown inside.
	mkdir -p home/.local/share/hutch home/.cache/hutch
	give home
	printf '%s /h/.local/share%s\n' read '' write '' read /hutch write /hutch read /hutch/x write /hutch/x write /new | agree -v "$T/home:/h:rw"
}

@test "why: protected names that do not exist" {
	needs_listener
	things w
	mkdir -p w/.git/info w/pkg
	give w
	for name in .git/hooks .git/hooks/x .git/config .git/info/x pkg/.git/config pkg/.GIT pkg/x .bashrc sub/.bashrc \
		new link to-deep/.bashrc to-new dangling w/none ../tmp/.bashrc; do
		printf 'write %s\n' "$name"
	done >some
	agree --workspace "$T/w" --protect .git/hooks --protect .git/config --protect .bashrc --protect-missing <some
}

@test "images: a folder, one of the store, and as root in it" {
	needs_static
	things img
	base img
	chmod u+x img/closed img/shut # else they are not seen from outside
	mkdir -p img/etc && ln -s ../data img/etc/data && ln -s /data/file img/link-file
	give img
	{
		for path in / /bin /bin/sh /bin/busybox /data /data/file /data/new /etc /etc/passwd /etc/shadow /etc/hosts /etc/hostname \
			/etc/data /etc/data/file /link-file /tmp /tmp/x /run/x /workspace /workspace/x /home /home/agent /root /root/x /dev/null /dev/shm/x \
			/proc/self/status /proc/kallsyms /sys /var /var/tmp /usr /file /none /mode000 /closed/file /shut /sub/new /new/x /etc/mtab; do
			echo "read $path"
			echo "write $path"
		done
		printf 'exec %s\n' sh ls python3 /data/file /script /program /still /lost /blank /nonesuch /bin
	} >some
	agree --image "dir:$T/img" <some
	agree --image "dir:$T/img" -u agent <some
	agree --image "dir:$T/img" --read-only <some
	agree --image "dir:$T/img" --cap-drop ALL <some
	rm img/sock img/mode000 img/none && chmod -R u+rwX img
	tar -C img --owner=0 --group=0 -cf base.tar .
	hutch image import base.tar --name one
	agree --image one <some
	agree --image one -u 1234:5678 <some
}

@test "an image of many layers: deleted, replaced and opaque" {
	needs_static
	base base
	mkdir -p base/opaque base/gone/x top/data top/opaque top/gone && echo below | tee base/opaque/below base/gone/x/y base/data/dead >base/turned
	mknod top/data/dead c 0 0
	echo new >top/data/new && ln -s /opaque/above top/data/link && echo above >top/opaque/above && mkdir top/turned && echo in >top/turned/x
	give base top
	as_who python3 -c 'import os; os.setxattr("top/opaque", "user.overlay.opaque", b"y")' || skip "this host has no user.* attributes here"
	"$here/store.py" layered base top cmd=sh >/dev/null
	give home
	for path in /data /data/file /data/new /data/dead /data/link /opaque /opaque/below /opaque/above /opaque/new /gone /gone/x /gone/x/y /turned /turned/x; do
		echo "read $path"
		echo "write $path"
	done >some
	agree --image layered <some
	agree --image layered --read-only <some
}

@test "sockets and networks" {
	room w
	(cd w && python3 "$here/why.py" bind sock shut && chmod 000 shut && echo x >file)
	give w
	mkfifo out
	exec 7<>out
	/usr/bin/python3 -SE "$here/why.py" listen "$mark" >out 3>&- &
	started+=($!)
	said there
	printf 'connect %s\n' unix:/workspace/sock unix:/workspace/shut unix:/workspace/file unix:/workspace/none unix:/nonesuch \
		"unix:@$mark" 127.0.0.1:1 localhost:65535 192.0.2.1:80 >some
	agree --workspace "$T/w" <some
	agree --workspace "$T/w:ro" <some
	agree --workspace "$T/w" --network host <some
}

# asks ANSWER TEXT LINE CHANGE WHERE FLAG...: checks what hutch why says to a connection; "-" for
# CHANGE: nothing would change it.
asks() {
	local change=
	[[ $4 == - ]] || change=$'\n  change  '$4
	hutch why "${@:6}" connect "$5"
	[[ $output == "$1: $2"$'\n  layer   network\n  line    '"$3$change" ]]
	[[ $status == $([[ $1 == yes ]] && echo 0 || echo 1) ]]
}

@test "connections that rules judge" {
	local none='there is no network but loopback' no='is refused: no rule allows it' port='rules are about other ports of it'
	asks no "a.org:443 cannot be reached: $none" '--network none' '--allow a.org' a.org:443
	asks no "a.org:22 cannot be reached: $none" '--network none' '--allow a.org:22' a.org:22
	asks no "[fd00::7]:22 cannot be reached: $none" '--network none' '--allow [fd00::7]:22' '[fd00::7]:22'
	asks no "[fe80::1]:80 cannot be reached: $none" '--network none' '--network host' '[fe80::1]:80'
	asks yes 'PyPI.org.:443 is allowed by a rule' '--allow @pypi' - PyPI.org.:443 --allow @pypi
	asks yes 'pypi.org:443 is allowed by a rule' '--allow @pypi' - pypi.org:443 --allow a.org --allow @pypi
	asks no "pypi.org:22: $port" '--allow @pypi' '--allow pypi.org:22' pypi.org:22 --allow @pypi
	asks no "b.org:443 $no" '--network allow' '--allow b.org' b.org:443 --allow a.org
	asks no "b.org:443 $no" '--network allow' '--allow b.org' b.org:443 --network allow
	asks yes '10.1.2.3:5432 is allowed by a rule' '--allow 10.0.0.0/8:5432' - 10.1.2.3:5432 --allow 10.0.0.0/8:5432
	asks no "192.0.2.1:80 $no" '--network allow' '--allow 192.0.2.1' 192.0.2.1:80 --allow '*'
	asks no "[fe80::1]:80 $no" '--network allow' - '[fe80::1]:80' --allow '*'
	asks no 'a..org:80 has no name that a rule allows: there is nothing between two dots' '--network allow' - a..org:80 --allow '*'
	asks yes "127.0.0.1:80 is the sandbox's own, where only what runs inside answers" '--network allow' - 127.0.0.1:80 --allow a.org
	asks yes '192.0.2.1:53 is hutch-gate, which answers questions for names (DNS)' '--network allow' - 192.0.2.1:53 --allow a.org
	hutch why --allow a.org connect "unix:@$mark"
	[[ $status == 1 && $output == *"layer   network"*"line    --network allow"* ]]
}

@test "connections that the rules of a policy judge" {
	local before='a rule that allows it, before that rule'
	cat >net.json <<-'JSON'
		{"version": 1, "network": "allow", "egress": {"rules": [
			{"deny": "a.org",
			"why": "it is slow"}, {"allow":"*.org"}, {"ask": "b.com"}]}}
	JSON
	asks no 'a.org:22 is refused by a rule: it is slow' './net.json: egress.rules ({"deny": "a.org", "why": "it is slow"})' "$before" \
		a.org:22 --policy ./net.json
	asks yes 'b.org:80 is allowed by a rule' './net.json: egress.rules (--allow *.org)' - b.org:80 --policy ./net.json
	asks no 'b.com:80 is asked about, and refused where no client answers' './net.json: egress.rules ({"ask": "b.com"})' \
		'a yes to the question: hutch net NAME answer' b.com:80 --policy ./net.json --allow b.com
	asks no 'd.org:80 is refused by a rule: it is late' '--deny d.org=it is late' "$before" d.org:80 --deny 'd.org=it is late' --allow '*'
	asks yes 'c.com:80 is allowed by a rule' '--allow c.com' - c.com:80 --policy ./net.json --allow c.com
}

@test "system calls: what the filter answers" {
	needs_static
	printf 'syscall %s\n' "mount 0 0 0 0 0" "umount2 0 0" "pivot_root 0 0" "chroot 0" "fsopen 0 0" "open_tree -1 0 0" "move_mount -1 0 -1 0 0" \
		"mount_setattr -1 0 0 0 0" "init_module 0 0 0" "finit_module -1 0 0" "delete_module 0 0" "kexec_load 0 0 0 0" "swapon 0 0" "swapoff 0" \
		"reboot 0 0 0 0" "acct 0" "quotactl 0 0 0 0" "bpf 0 0 0" "perf_event_open 0 0 0 0 0" "userfaultfd 0" "open_by_handle_at -1 0 0" \
		"fanotify_init 0 0" "fanotify_mark -1 0 0 0 0" "syslog 10 0 0" "iopl 3" "ioperm 0 1 1" "vhangup" "sethostname 0 0" "setdomainname 0 0" \
		"settimeofday 0 0" "clock_settime 0 0" "adjtimex 0" "clock_adjtime 0 0" "memfd_secret 0" "cachestat -1 0 0 0" "modify_ldt 0 0 0" \
		"io_uring_setup 1 0" "io_uring_enter -1 0 0 0 0 0" "io_setup 1 0" "io_destroy 0" "add_key 0 0 0 0 0" "keyctl 0 0 0 0 0" "request_key 0 0 0 0" \
		"clone3 0 0" "setns -1 0" "unshare 0x10000000" "unshare 0x20000" "unshare 0" "unshare 0x400" "clone 0x10000011 0 0 0 0" "ioctl -1 0x5412 0" \
		"ioctl -1 0x541c 0" "ioctl -1 0x100005412 0" "ioctl -1 0x5413 0" "fcntl -1 1031 0" "fcntl -1 1024 0" "fcntl -1 3 0" "prlimit64 1 0 0 0" \
		"prlimit64 0 99 0 0" "sched_setaffinity 1 0 0" "setpriority 2 0 0" "setpriority 0 1 0" "setpriority 9 0 0" "kcmp 1 1 0 0 0" "ioprio_set 3 0 0" \
		"seccomp 1 8 0" "seccomp 1 0 0" "personality 0x0040000" "personality 0xffffffff" "personality 5" "socket 1 1 0" "socket 2 1 6" "socket 2 1 132" \
		"socket 16 3 0" "socket 16 3 9" "socket 17 3 0" "socket 38 5 0" "socket 40 1 0" "socketpair 1 1 0 0" "openat -1 0 0 0" "read -1 0 0" "getpid" \
		"mknod 0 0 0" "ptrace 99 0 0 0" "process_vm_readv 0 0 0 0 0 0" "pidfd_open 0 0" "name_to_handle_at -1 0 0 0 0" "memfd_create 0 0" "time 0" \
		"uselib 0" "ustat 0 0" "sysfs 1 0" "lookup_dcookie 0 0 0" "vmsplice -1 0 0 0" "landlock_create_ruleset 0 0 1" "statx -1 0 0 0 0" >calls
	agree <calls
	echo '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getpriority","pidfd_open"],"action":"SCMP_ACT_ERRNO","errnoRet":95},
		{"names":["fcntl"],"action":"SCMP_ACT_ERRNO","errnoRet":75,"args":[{"index":1,"value":5,"op":"SCMP_CMP_GE"},{"index":2,"value":255,"valueTwo":3,"op":"SCMP_CMP_MASKED_EQ"}]},
		{"names":["fcntl"],"action":"SCMP_ACT_ERRNO","errnoRet":71,"args":[{"index":1,"value":9,"op":"SCMP_CMP_EQ"}]}]}' >profile.json
	printf 'syscall %s\n' "getpriority 0 0" "pidfd_open 0 0" "fcntl -1 5 3" "fcntl -1 4 3" "fcntl -1 9 0x103" "fcntl -1 9 4" "fcntl -1 1031 0" "unshare 0x10000000" \
		"setns -1 0" "read -1 0 0" "clone3 0 0" | agree --seccomp profile.json
	base img
	give img
	printf 'syscall %s\n' "chown 0 1 1" "setgroups 1 0" "mount 0 0 0 0 0" | agree --image "dir:$T/img"
	hutch why --image "dir:$T/img" syscall chown
	[[ $status == 0 && $output == "yes: chown says that it was done, and is not"* ]]
}

@test "rules are asked as they judge an action" {
	hutch why --policy agent act 'cd x && git push --force'
	[[ $status == 1 && $output == "no: git push --force: "* && $output == *"layer   rules"*"line    agent: rules"*"change  a yes"* ]]
	hutch why --rule '{"command":"rm **","decision":"deny","reason":"kept"}' act 'echo rm; ls'
	[[ $status == 0 && $output == "yes: echo rm; ls may be done"* ]]
	hutch why --rule '{"command":"rm **","decision":"deny","reason":"kept"}' act 'echo $(rm x)'
	[[ $status == 1 && $output == "no: rm x: kept"* ]]
	hutch why act 'rm -rf /'
	[[ $status == 0 && $output == "yes: there are no rules"* ]]
}

@test "the line of a policy is told, as JSON too" {
	room w
	echo "{\"version\":1,\"extends\":\"strict\",\"mounts\":[\"$T/w:/w:ro\"],\"network\":\"none\"}" >mine.json
	hutch why --policy ./mine.json write /w/x
	[[ $status == 1 && $output == "no: /w is read-only
  layer   mounts
  line    ./mine.json: mounts (-v $T/w:/w:ro)
  change  -v $T/w:/w:rw" ]]
	hutch why --policy ./mine.json --json connect 192.0.2.1:80
	[[ $status == 1 ]]
	python3 "$here/why.py" check_answer "$output"
	hutch why --policy ./mine.json write /tmp/x
	[[ $status == 1 && $output == *"strict: read_only"* ]]
}

@test "an invalid question, or one without an answer, is one sentence" {
	hutch why
	[[ $status == 125 ]]
	one_sentence "hutch why: a question is missing"
	hutch why eat x
	[[ $status == 125 ]]
	one_sentence "'eat' is no question of hutch why"
	hutch why read
	[[ $status == 125 ]]
	one_sentence "hutch why read: PATH is missing"
	hutch why connect somewhere
	[[ $status == 125 ]]
	one_sentence "connect 'somewhere': it takes HOST:PORT"
	hutch why --connect
	[[ $status == 125 ]]
	hutch why syscall connect 3
	[[ $status == 0 && $output == "yes: connect is let through"* ]]
	hutch why syscall nonesuch
	[[ $status == 125 ]]
	one_sentence "no system call 'nonesuch'"
	hutch why syscall read x
	[[ $status == 125 ]]
	one_sentence "x: a number was expected"
	hutch why -v /nonesuch:/x read /x
	[[ $status == 125 ]]
	one_sentence "mount /nonesuch: no such folder"
	hutch why --seccomp nonesuch syscall read
	[[ $status == 125 ]]
	one_sentence "open seccomp profile nonesuch"
	hutch why --dry-run read /
	[[ $status == 125 ]]
	hutch why --isolation landlock read /
	[[ $status == 125 ]]
	one_sentence "hutch why needs namespaces"
}

@test "nothing is started, and nothing is made" {
	find . ! -name trace ! -name before ! -name after | sort >before
	strace -f -e trace=clone,clone3,fork,vfork,unshare,mkdir,mkdirat,mount -o trace "$HUTCH" why read /etc/passwd
	never grep -vE 'exited|SIG' trace
	find . ! -name trace ! -name before ! -name after | sort >after
	diff before after
}
