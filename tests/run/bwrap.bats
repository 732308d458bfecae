#!/usr/bin/env bats
# Tests of `hutch bwrap`, bubblewrap's command line, and of a hutch that is found as bwrap.

bats_require_minimum_version 1.5.0
load helpers

bwrap() {
	"$HUTCH" bwrap "$@"
}

# on_host ARG...: runs bwrap with all files of this host, by catch.
on_host() {
	catch bwrap --dev-bind / / "$@"
}

# says CODE TEXT ARG...: expects the exit code, no output, and an error that begins with TEXT.
says() {
	local code=$1 text=$2
	shift 2
	catch bwrap "$@"
	[[ $status == "$code" && -z $output && ${stderr_lines[0]} == "bwrap: $text"* ]]
}

# bare ARG...: runs bwrap with only what programs of the host need, by catch.
bare() {
	catch bwrap --ro-bind /usr /usr --ro-bind /etc /etc --symlink usr/bin /bin --symlink usr/lib /lib \
		--symlink usr/lib64 /lib64 --symlink usr/sbin /sbin "$@"
}

# needs_procfs_inside: skips where a control in /proc is covered, which root alone may write to: the
# kernel mounts no procfs in a user namespace that cannot see all of another one
# (mount_namespaces(7)).  bubblewrap covers these controls, too.
needs_procfs_inside() {
	! is_root || [[ ! -w /proc/sysrq-trigger ]] ||
		skip "this host has no procfs for a sandbox in a sandbox of root's: /proc/sysrq-trigger is covered"
}

# closed: expects that nothing more comes on descriptor 7, and that no process holds it open.
closed() {
	local rc=0
	read -r -t "$PATIENCE" -N 1 <&7 || rc=$?
	((rc == 1))
}

# code_of CALL: prints a system call's number on this machine, in the bytes of a BPF operand.
code_of() {
	case $(uname -m).$1 in
	x86_64.chdir) printf '\x50\0\0\0' ;;
	x86_64.umask) printf '\x5f\0\0\0' ;;
	aarch64.chdir) printf '\x31\0\0\0' ;;
	aarch64.umask) printf '\xa6\0\0\0' ;;
	esac
}

# refusing CALL: prints a seccomp program by which CALL fails with EIO.
refusing() {
	printf '\x20\0\0\0\0\0\0\0' # load the call's number
	printf '\x15\0\0\x01'       # if it is CALL, return an error
	code_of "$1"
	printf '\x06\0\0\0\x05\0\x05\0'
	printf '\x06\0\0\0\0\0\xff\x7f'
}

@test "a command has its exit code, by a link named bwrap and by the program itself, too" {
	ln -s "$HUTCH" bwrap
	for program in "$HUTCH bwrap" ./bwrap "$BUILD/libexec/hutch-bwrap"; do
		run -7 --separate-stderr $program --dev-bind / / sh -c 'echo out; echo err >&2; exit 7'
		[[ $output == out && $stderr == err ]]
		run -137 $program --dev-bind / / sh -c 'kill -9 $$'
		run -137 $program --dev-bind / / --unshare-pid sh -c 'kill -9 $$'
		[ "$($program --version)" = "$($program --version | grep -E '^bubblewrap [0-9]+\.[0-9]+\.[0-9]+ \(hutch [0-9.]+\)$')" ]
	done
	[ "$(./bwrap --help | head -n 1)" = 'usage: ./bwrap [OPTIONS...] [--] COMMAND [ARGS...]' ]
	[ "$(bwrap --help | head -n 1)" = 'usage: hutch bwrap [OPTIONS...] [--] COMMAND [ARGS...]' ]
	catch bwrap
	[[ $status == 1 && -z $output && $stderr == usage:* ]]
}

@test "the page and the help list the same options" {
	diff <(bwrap --help | grep -oE '^ +--[a-z0-9-]+' | tr -d ' ' | sort) \
		<(grep -oE '^\| `--[a-z0-9-]+' "$top/docs/hutch-bwrap.md" | grep -oE -- '--.*' | sort)
}

@test "errors have bwrap's form and exit code, and name what is near" {
	says 1 'Unknown option --unshare-al; is it --unshare-all?' --unshare-al true
	says 1 '--bind takes two arguments' --bind /
	says 1 'Invalid fd: x' --sync-fd x true
	says 1 "Can't find source path /nowhere: No such file or directory" --bind /nowhere / true
	says 1 'execvp nosuchcommand: No such file or directory' --dev-bind / / nosuchcommand
	says 1 'execvp /: Permission denied' --dev-bind / / /
	says 1 "Can't chdir to /nowhere: " --dev-bind / / --chdir /nowhere true
	says 1 'Specifying --hostname requires --unshare-uts' --dev-bind / / --hostname a true
	says 1 'Specifying --as-pid-1 requires --unshare-pid' --dev-bind / / --as-pid-1 true
	says 1 '--userns-block-fd requires --info-fd' --unshare-user --userns-block-fd 0 true
	says 1 '--perms must be followed by an option that creates a file' --perms 0700 --bind / / true
	says 1 '--exec-label: labeling not supported on this system' --exec-label a true
	says 1 "Can't make symlink at /a: existing destination is b" --symlink b /a --symlink c /a true
	catch bwrap --level-prefix --chdir / --chdir / --bogus
	[[ $stderr == '<4>bwrap: Only the last --chdir option will take effect'$'\n<3>bwrap: Unknown option --bogus'* ]]
}

@test "message queues without an ipc namespace of their own are an error that names the flag" {
	mkdir queues
	give queues
	says 1 "Can't mount mqueue on /newroot" --unshare-user --dev-bind / / --mqueue "$T/queues" true
	[[ ${stderr_lines[1]} == 'bwrap: hint: add --unshare-ipc'* ]]
	on_host --unshare-user --unshare-ipc --mqueue "$T/queues" true
	[[ $status == 0 && $stderr == '' ]]
}

@test "operations are done in the order of the command line" {
	bare --dir /a/b --tmpfs /a --dir /a/c --symlink c /a/d --ro-bind /usr/share /a/d/e --remount-ro /a \
		sh -c 'ls /a; ls -d /a/c/e/man; mkdir /a/f'
	[[ $output == $'c\nd\n/a/c/e/man' && $stderr == *'Read-only file system'* ]]
	bare --tmpfs /a --dir /a/b --bind "$T" /a/b sh -c 'test -d /a/b/home && touch /a/b/new'
	[[ $status == 0 && -e new ]]
	bare --ro-bind "$T" /a --bind "$T/home" /a/home sh -c 'touch /a/home/new && ! touch /a/new2'
	[[ $status == 0 && -e home/new && ! -e new2 ]]
}

@test "a source that does not exist is left out by the -try forms alone" {
	bare --bind-try /nowhere /a --ro-bind-try /nowhere /b --dev-bind-try /nowhere /c ls -d /a /b /c
	[[ $status == 2 && -z $output ]]
	says 1 "Can't find source path" --ro-bind /nowhere /b true
	says 1 "Can't find source path" --overlay-src /nowhere --tmp-overlay /a true
}

@test "a hostile link in the way of a target leads nowhere outside of the new root" {
	room hostile
	mkdir outside
	ln -s "$T/outside" hostile/absolute
	ln -s ../../../../../../..$T/outside hostile/relative
	ln -s /proc/self/root hostile/magic
	touch empty
	for link in absolute relative; do
		bare --bind hostile /w --dir "$T/outside" --dir "/w/$link/folder" --file 7 "/w/$link/file" --bind-data 8 "/w/$link/data" \
			--symlink a "/w/$link/link" --tmpfs "/w/$link/tmpfs" ls "$T/outside" 7<empty 8<empty
		[[ $status == 0 && $output == $'data\nfile\nfolder\nlink\ntmpfs' ]]
		# The link leads to no place inside.
		bare --bind hostile /w --dir "/w/$link/folder" true
		[ "$status" = 1 ]
	done
	bare --proc /proc --bind hostile /w --dir "/w/magic$T/outside/folder" true
	[ "$status" = 1 ]
	[ -z "$(ls outside)" ]
	# A link to another place inside is followed.
	bare --dir /run --symlink ../run /var/run --dir /var/run/a ls /run
	[ "$output" = a ]
}

@test "nothing is mounted on a link or written through one, not even where it leads nowhere" {
	local option
	touch file
	for option in '--ro-bind / /l' '--tmpfs /l' '--proc /l' '--dev /l' '--bind-fd 7 /l' '--overlay-src /usr --tmp-overlay /l'; do
		says 1 "Can't mount on symlink destination /l" --dir /d --symlink d /l $option true 7<"$T"
	done
	says 1 "Can't mount on symlink destination /l" --symlink nowhere /l --ro-bind "$T/file" /l true
	for option in --file --bind-data; do
		says 1 "Can't mount on symlink destination /l" --symlink nowhere /l $option 7 /l true 7<file
		says 1 "Can't mount on symlink destination /l" --file 7 /f --symlink f /l $option 8 /l true 7<file 8<file
	done
	says 1 'Destination is not a directory /f' --file 7 /f --ro-bind / /f true 7<file
	says 1 'Destination is not a file /d' --dir /d --ro-bind "$T/file" /d true
}

@test "files have the bytes of descriptors, and their modes" {
	echo one >one
	bare --file 7 /a --perms 0640 --bind-data 8 /b --ro-bind-data 9 /c --chmod 0600 /a \
		sh -c 'cat /a /b /c; stat -c %a /a /b /c; ls /proc/self/fd 2>/dev/null; echo two >/b; echo two >/c' \
		7<one 8<<<two 9<<<three
	[[ $output == $'one\ntwo\nthree\n600\n640\n600' ]]
	if is_root; then
		[[ $stderr == *'/c: Read-only file system'* ]]
	fi
	bare --perms 1777 --size 1048576 --tmpfs /t --perms 0700 --dir /d/e stat -c '%a %n' /t /d /d/e
	[ "$output" = $'1777 /t\n700 /d\n700 /d/e' ]
	bare --size 1048576 --tmpfs /t sh -c 'df -k --output=size /t | tail -n 1'
	[ "${output// /}" = 1024 ]
}

@test "an overlay writes to its folder, to memory, or nowhere" {
	room lower upper work
	outer sh -c 'mkdir "$1/m" && mount -t overlay -o lowerdir="$1/lower,upperdir=$1/upper,workdir=$1/work",userxattr none "$1/m"' \
		- "$T/work" 2>/dev/null || true
	rm -rf work && room work
	echo lower >lower/file
	give lower
	bare --overlay-src lower --tmp-overlay /o sh -c 'cat /o/file; echo new >/o/file; cat /o/file'
	[[ $status == 0 && $output == $'lower\nnew' && $(cat lower/file) == lower ]]
	bare --overlay-src lower --overlay upper work /o sh -c 'echo new >/o/file'
	[[ $status == 0 && $(cat upper/file) == new ]]
	bare --overlay-src lower --overlay-src upper --ro-overlay /o sh -c 'cat /o/file; echo x >/o/file'
	[[ $output == new && $stderr == *'Read-only'* ]]
	says 1 '--ro-overlay requires at least two --overlay-src' --overlay-src lower --ro-overlay /o true
}

@test "only the namespaces that were asked for are new" {
	local name
	for name in ipc pid net uts cgroup; do
		on_host --unshare-$name readlink "/proc/self/ns/ipc" "/proc/self/ns/net" "/proc/self/ns/uts" "/proc/self/ns/cgroup"
		[ "$status" = 0 ]
		diff <(echo "$output") <(readlink /proc/self/ns/ipc /proc/self/ns/net /proc/self/ns/uts /proc/self/ns/cgroup) >changed || true
		case $name in
		pid) [ ! -s changed ] ;;
		*) [ "$(grep -c "^< $name:" changed)" = 1 ] && [ "$(grep -c '^<' changed)" = 1 ] ;;
		esac
	done
	on_host readlink /proc/self/ns/user
	if is_root; then
		[ "$output" = "$(readlink /proc/self/ns/user)" ]
	else
		[ "$output" != "$(readlink /proc/self/ns/user)" ]
	fi
	on_host --unshare-all --hostname box --proc /proc sh -c 'uname -n; ls -d /proc/[0-9]* | wc -l; cat /proc/net/dev | grep -c :'
	[[ ${lines[0]} == box && ${lines[1]} -le 4 && ${lines[2]} == 1 ]]
	on_host --unshare-all --share-net readlink /proc/self/ns/net
	[ "$output" = "$(readlink /proc/self/ns/net)" ]
}

@test "loopback is up in a new network namespace" {
	on_host --unshare-net /usr/bin/python3 -SE "$here/bwrap.py" loopback
	[ "$output" = connected ]
}

@test "the ids inside may be any" {
	on_host --unshare-user --uid 4711 --gid 815 id -u -n
	[ "$(bwrap --dev-bind / / --unshare-user --uid 4711 --gid 815 id -u)" = 4711 ]
	[ "$(bwrap --dev-bind / / --unshare-user --uid 4711 --gid 815 id -g)" = 815 ]
	[ "$(bwrap --dev-bind / / --unshare-user --uid 0 --gid 0 id -u)" = 0 ]
	[ "$(bwrap --dev-bind / / id -u)" = "$EUID" ]
	is_root || return 0
	says 1 'Specifying --uid requires --unshare-user or --userns' --dev-bind / / --uid 5 true
}

@test "an ordinary user's command has only the capabilities that were added, and root's those it had" {
	local caps
	caps() { bwrap --dev-bind / / "$@" sed -n 's/^CapEff:\t//p' /proc/self/status; }
	if is_root; then
		[ "$(caps)" = "$(sed -n 's/^CapEff:\t//p' /proc/self/status)" ]
		((!(0x$(caps --cap-drop CAP_KILL) & 1 << 5)))
	else
		((!0x$(caps)))
		[ "$(bwrap --dev-bind / / sed -n 's/^CapBnd:\t//p' /proc/self/status)" = 0000000000000000 ]
		((0x$(caps --uid 0 --cap-add CAP_KILL) == 1 << 5))
		((0x$(caps --cap-add kill --cap-add CAP_CHOWN --cap-drop KILL) == 1))
	fi
	((!0x$(caps --cap-drop ALL)))
	((!0x$(caps --unshare-user --cap-drop ALL)))
	[ "$(bwrap --dev-bind / / sed -n 's/^NoNewPrivs:\t//p' /proc/self/status)" = 1 ]
	says 1 'unknown cap: CAP_NONE' --cap-add CAP_NONE true
}

@test "a sandbox can be made inside, with maps, a procfs and network of its own" {
	needs_procfs_inside
	bare --unshare-user --uid 4711 --gid 4711 --unshare-pid --unshare-net --proc /proc --dev /dev --cap-drop ALL \
		unshare -Urmpfn --mount-proc sh -c 'id -u; echo $$; cat /proc/self/setgroups; mount -t tmpfs none /mnt 2>/dev/null; ls -d /proc/[0-9]* | wc -l'
	[[ $status == 0 && ${lines[0]} == 0 && ${lines[1]} == 1 && ${lines[2]} == deny && ${lines[3]} -le 4 ]]
	# hutch's bwrap in hutch's bwrap, and hutch's own sandbox in it
	on_host --unshare-user --uid 4711 --unshare-pid --proc /proc "$BUILD/libexec/hutch-bwrap" --dev-bind / / --unshare-all --proc /proc \
		sh -c 'echo $$'
	[[ $status == 0 && $output == 2 ]]
	is_root || on_host --unshare-user --unshare-pid --proc /proc "$HUTCH" run echo inner
	is_root || [[ $status == 0 && $output == inner ]]
}

@test "the command lines of Codex and of sandbox-runtime work" {
	room work
	mkdir work/.git
	give work
	local outer=(--new-session --die-with-parent --ro-bind / / --dev /dev --bind "$T/work" "$T/work" --ro-bind "$T/work/.git" "$T/work/.git"
		--ro-bind /dev/null "$T/work/.codex" --unshare-user --unshare-pid --unshare-net --proc /proc --argv0 codex-linux-sandbox)
	is_root || catch bwrap "${outer[@]}" -- bash -c 'echo $0; echo a >"$1/file"; touch "$1/.git/file"; echo >>"$1/.codex"; touch "/usr/made"' codex "$T/work"
	is_root || [[ $output == codex && -e work/file && ! -e work/.git/file && $(grep -c 'Read-only file system' <<<"$stderr") == 2 && $stderr == *'.codex: Permission denied'* ]]
	needs_procfs_inside
	catch bwrap --new-session --die-with-parent --setenv SANDBOX_RUNTIME 1 --unshare-net --ro-bind / / --bind "$T/work" "$T/work" \
		--tmpfs "$T/home" --dev /dev --unshare-pid --unshare-user --uid 4711 --cap-drop ALL --proc /proc -- /bin/bash -c \
		'unshare -Urmpf --mount-proc /bin/bash -c "ls -d /proc/[0-9]*; ls -A $HOME"'
	[[ $status == 0 && $output == /proc/1 ]]
}

@test "--disable-userns refuses sandboxes inside" {
	on_host --unshare-user --disable-userns unshare -U true
	[ "$status" != 0 ]
	on_host --unshare-user --disable-userns sh -c 'echo 9 >/proc/sys/user/max_user_namespaces; unshare -U true'
	[ "$status" != 0 ]
	says 1 'creation of new user namespaces was not disabled' --unshare-user --assert-userns-disabled --dev-bind / / true
	on_host --unshare-user --disable-userns --assert-userns-disabled id -u
	[[ $status == 0 && $output == "$EUID" ]]
	says 1 '--disable-userns requires --unshare-user' --disable-userns true
}

@test "old controls in /proc are read-only, and nothing of it is masked" {
	on_host --unshare-all --uid 0 --proc /proc sh -c '
		for name in sys sysrq-trigger irq bus; do
			[ ! -e "/proc/$name" ] || [ ! -w "/proc/$name" ] || echo "$name"
		done
		head -c 1 /proc/version /proc/self/mountinfo >/dev/null && ls -d /proc/1'
	[ "$output" = /proc/1 ]
}

@test "/dev has the usual devices and links, and a terminal of its own" {
	bare --unshare-user --dev /dev --proc /proc sh -c 'ls /dev; echo a >/dev/null; head -c 2 /dev/zero | wc -c; readlink /dev/ptmx /dev/stdin; test -c /dev/pts/ptmx'
	[ "$status" = 0 ]
	[ "${lines[*]}" = "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero 2 pts/ptmx /proc/self/fd/0" ]
	# A device on a mount without devices does not open.
	bare --bind /dev /dev sh -c 'echo >/dev/null'
	[ "$status" != 0 ]
}

@test "stdio and other descriptors of the caller's are the command's" {
	[ "$(echo typed | bwrap --dev-bind / / --unshare-pid cat)" = typed ]
	echo kept >kept
	[ "$(bwrap --dev-bind / / --unshare-pid cat /proc/self/fd/7 7<kept)" = kept ]
	# Descriptors that are meant for bwrap are not.
	sh -c 'ls /proc/$$/fd' >without 7<&- 8<&- 9<&-
	bwrap --dev-bind / / --unshare-pid --proc /proc --info-fd 7 --json-status-fd 8 --sync-fd 9 \
		sh -c 'ls /proc/$$/fd' >with 7>info 8>status 9<kept
	diff without with
}

@test "--bind-fd shows a folder by its descriptor, and not one that took its path" {
	mkdir folder
	touch folder/file
	bare --bind-fd 7 /a --ro-bind-fd 8 /b sh -c 'ls /a /b; touch /a/new; touch /b/new2' 7<folder 8<folder
	[[ $output == $'/a:\nfile\n\n/b:\nfile' && $stderr == *'Read-only'* ]]
	exec 7<folder
	mv folder away
	mkdir folder
	bare --bind-fd 7 /a ls /a
	[[ $status == 0 && $output == $'file\nnew' ]]
	rm -r folder
	ln -s /etc folder
	bare --bind-fd 7 /a ls -d /a/passwd
	[ "$output" = '' ]
	exec 7<&-
}

@test "the environment is the caller's, with changes in order" {
	export A=b
	[ "$(bwrap --dev-bind / / sh -c 'echo $A')" = b ]
	[ "$(bwrap --dev-bind / / --setenv A c --setenv D e --unsetenv A sh -c 'echo $A$D')" = e ]
	[ "$(bwrap --dev-bind / / --clearenv --setenv X y /usr/bin/env | sort | tr '\n' ' ')" = "PWD=$T X=y " ]
	[ "$(bwrap --dev-bind / / --setenv PATH "$T" sh -c true 2>&1)" = 'bwrap: execvp sh: No such file or directory' ]
}

@test "the working directory is --chdir, or the caller's, or the home, or /" {
	[ "$(bwrap --dev-bind / / --chdir /usr sh -c 'pwd; echo $PWD' | tr '\n' ' ')" = '/usr /usr ' ]
	[ "$(bwrap --dev-bind / / pwd)" = "$T" ]
	HOME=/etc bare pwd
	[ "$output" = /etc ]
	HOME=/nowhere bare pwd
	[ "$output" = / ]
}

@test "--argv0 names the command, and a script without #! is run by sh" {
	[ "$(bwrap --dev-bind / / --argv0 other sh -c 'echo $0')" = other ]
	echo 'echo script $1' >script
	chmod +x script
	[ "$(bwrap --dev-bind / / ./script a)" = 'script a' ]
	[ "$(PATH=$T:$PATH bwrap --dev-bind / / script a)" = 'script a' ]
}

@test "--args reads options, in the place of the words" {
	bare --args 7 --args 8 ls /a <&- 7< <(printf '%s\0' --dir /a --dir /a/b) 8< <(printf -- '--dir\0/a/c')
	[ "$output" = $'b\nc' ]
	says 1 '--args not supported in arguments file' --args 7 true 7< <(printf -- '--args\0008\0')
	says 1 "Can't read --args data: Bad file descriptor" --args 77 true
	says 1 'Exceeded maximum number of arguments 9000' --args 7 true 7< <(yes a | head -n 9000 | tr '\n' '\0')
}

@test "--info-fd and --json-status-fd tell of the sandbox in bwrap's words" {
	run -3 bwrap --dev-bind / / --unshare-all --info-fd 7 --json-status-fd 8 \
		sh -c 'stat -Lc %i /proc/self/ns/ipc /proc/self/ns/mnt /proc/self/ns/net /proc/self/ns/uts; exit 3' 7>info 8>status
	local ipc mnt net uts
	{ read -r ipc; read -r mnt; read -r net; read -r uts; } <<<"$output"
	[ "$(jq -c 'del(.["child-pid"], .["pid-namespace"], .["cgroup-namespace"])' info)" = \
		"{\"ipc-namespace\":$ipc,\"mnt-namespace\":$mnt,\"net-namespace\":$net,\"uts-namespace\":$uts}" ]
	[ "$(head -n 2 info | tr -d 0-9)" = $'{\n    "child-pid": ,' ]
	[ "$(jq -s '.[0]' status | jq -S .)" = "$(jq -S . info)" ]
	[ "$(tail -n 1 status)" = '{ "exit-code": 3 }' ]
	[ "$(wc -l <status)" = 2 ]
	run -137 bwrap --dev-bind / / --unshare-pid --json-status-fd 8 sh -c 'kill -9 $$' 8>status
	[ "$(tail -n 1 status)" = '{ "exit-code": 137, "signal": 9 }' ]
}

@test "--json-status-fd tells why a command was not started, and then no exit code" {
	run -1 bwrap --dev-bind / / --json-status-fd 8 nosuchcommand 8>status
	[ "$(tail -n 1 status | jq -c .)" = '{"error":{"kind":"not_found","text":"execvp nosuchcommand: No such file or directory","remedy":null}}' ]
	run -1 bwrap --bind /nowhere / --json-status-fd 8 true 8>status
	[ "$(tail -n 1 status | jq -r .error.kind)" = not_found ]
	run -1 bwrap --json-status-fd 8 --bogus true 8>status
	[ "$(jq -r .error.kind status)" = usage ]
	! grep exit-code status
}

@test "--seccomp and --add-seccomp-fd put the command under the caller's programs, and no other" {
	refusing chdir >one
	refusing umask >two
	on_host sh -c 'cd /' 
	[ "$status" = 0 ]
	on_host --unshare-pid --seccomp 7 sh -c 'cd /usr' 7<one
	[[ $status != 0 && $stderr == *"can't cd"* ]]
	on_host --unshare-pid --add-seccomp-fd 7 --add-seccomp-fd 8 sh -c 'cd /usr; grep ^Seccomp_filters: /proc/self/status' 7<one 8<two
	[[ $stderr == *"can't cd"* ]]
	has $'^Seccomp_filters:\t2$'
	on_host grep ^Seccomp: /proc/self/status
	[ "$output" = "$(grep ^Seccomp: /proc/self/status)" ]
	says 1 'Invalid seccomp data, must be multiple of 8' --dev-bind / / --seccomp 7 true 7< <(printf abc)
	says 1 "Can't read seccomp data: Bad file descriptor" --dev-bind / / --add-seccomp-fd 7 --add-seccomp-fd 7 true 7<one
	says 1 'Unable to set up system call filtering' --dev-bind / / --seccomp 7 true 7< <(printf 'abcdefgh')
	says 1 "Can't read seccomp data: more than 4096" --dev-bind / / --seccomp 7 true 7< <(head -c 40000 /dev/zero)
	says 1 '--seccomp cannot be combined with --add-seccomp-fd' --add-seccomp-fd 7 --seccomp 8 true 7<one 8<two
}

@test "--block-fd holds the command back until it is readable" {
	mkfifo go
	exec 7<>go
	"$HUTCH" bwrap --dev-bind / / --block-fd 8 --info-fd 9 sh -c 'echo ran >ran' 8<go 9>info &
	local pid=$!
	started+=("$pid")
	until_true test -s info
	[ ! -e ran ]
	echo >&7
	wait "$pid"
	[ "$(cat ran)" = ran ]
}

@test "--userns-block-fd lets the caller map the ids" {
	! is_root || skip 'root has no need of it'
	mkfifo go told
	exec 7<>go
	"$HUTCH" bwrap --dev-bind / / --unshare-user --userns-block-fd 8 --info-fd 9 id -u 8<go 9>told >out &
	local child pid=$!
	started+=("$pid")
	child=$(jq '.["child-pid"]' told)
	echo deny >"/proc/$child/setgroups"
	echo "77 $EUID 1" >"/proc/$child/uid_map"
	echo "77 $(id -g) 1" >"/proc/$child/gid_map"
	echo >&7
	wait "$pid"
	[ "$(cat out)" = 77 ]
}

@test "--userns and --pidns enter the namespaces of another sandbox" {
	# LeakSanitizer waits for a thread that does not begin in another pid namespace.
	export ASAN_OPTIONS=detect_leaks=0
	mkfifo go
	exec 7<>go
	"$HUTCH" bwrap --dev-bind / / --unshare-user --unshare-pid --proc /proc --info-fd 9 \
		sh -c 'readlink /proc/self/ns/user /proc/self/ns/pid >first; read -r _' <go 9>info &
	local child pid=$!
	started+=("$pid")
	until_true test -s first
	child=$(jq '.["child-pid"]' info)
	on_host --userns 8 --pidns 9 --proc /proc sh -c 'readlink /proc/self/ns/user /proc/self/ns/pid' 8<"/proc/$child/ns/user" 9<"/proc/$child/ns/pid"
	[ "$output" = "$(cat first)" ]
	# a new pid namespace below the other one
	on_host --userns 8 --pidns 9 --unshare-pid --proc /proc --json-status-fd 10 sh -c 'echo $$; exit 4' \
		8<"/proc/$child/ns/user" 9<"/proc/$child/ns/pid" 10>status
	[[ $status == 4 && $output == 2 ]]
	[ "$(tail -n 1 status)" = '{ "exit-code": 4 }' ]
	says 1 'Joining the specified user namespace failed' --userns 8 true 8</proc/self/ns/user
	echo >&7
	wait "$pid"
}

@test "pid 1 is a reaper, or the command itself with --as-pid-1" {
	[ "$(bwrap --dev-bind / / --unshare-pid sh -c 'echo $$')" = 2 ]
	[ "$(bwrap --dev-bind / / --unshare-pid --as-pid-1 sh -c 'echo $$')" = 1 ]
	# Orphans of the command have no zombie left behind, and bwrap ends with its command.
	[ "$(bwrap --dev-bind / / --unshare-pid --proc /proc sh -c '(sh -c "exit 3" &); until [ $(ls -d /proc/[0-9]* | wc -l) -le 4 ]; do :; done; echo reaped')" = reaped ]
}

@test "--die-with-parent leaves nothing when bwrap is killed" {
	local form line pid
	for form in '' --unshare-pid '--unshare-pid --as-pid-1'; do
		rm -f alive
		mkfifo alive
		"$HUTCH" bwrap --die-with-parent $form --dev-bind / / sh -c '
			[ -z "$1" ] || sleep 1000 &
			echo begun
			exec sleep 1000' - "$form" >alive 3>&- &
		pid=$!
		exec 7<alive
		read -r line <&7
		[ "$line" = begun ]
		kill -KILL "$pid"
		wait "$pid" || true
		closed
		exec 7<&-
	done
}

@test "bwrap dies with the process that started it, if it is asked to" {
	mkfifo alive
	sh -c '"$1" bwrap --die-with-parent --unshare-pid --dev-bind / / sh -c "echo begun; exec sleep 1000"; :' - "$HUTCH" >alive 3>&- &
	local pid=$!
	exec 7<alive
	read -r line <&7
	kill -KILL "$pid"
	wait "$pid" || true
	closed
	exec 7<&-
}

@test "--sync-fd and --lock-file are held as long as any process inside lives" {
	mkfifo held go
	touch locked
	exec 8<>go
	"$HUTCH" bwrap --dev-bind / / --unshare-pid --sync-fd 9 --lock-file "$T/locked" sh -c '(read -r _ <&7; :) & echo begun' 7<go 9>held >out &
	exec 7<held
	wait $!
	[ "$(cat out)" = begun ]
	[ "$(python3 "$here/bwrap.py" lock locked)" = held ]
	echo >&8
	closed
	[ "$(python3 "$here/bwrap.py" lock locked)" = free ]
	says 1 'Unable to open lock file /nowhere' --dev-bind / / --lock-file /nowhere true
}

@test "--new-session parts the command from the terminal" {
	[ "$(bwrap --dev-bind / / --new-session sh -c 'ps -o sid= -p $$; echo $$' | tr -d ' ' | uniq | wc -l)" = 1 ]
	[ "$(bwrap --dev-bind / / sh -c 'ps -o sid= -p $$; echo $$' | tr -d ' ' | uniq | wc -l)" = 2 ]
}

@test "the end of children that the caller ignores is seen all the same" {
	[ "$(sh -c 'trap "" CHLD; "$1" bwrap --dev-bind / / --unshare-pid sh -c "exit 5"; echo $?' - "$HUTCH")" = 5 ]
}

@test "--dry-run prints the plan and says whose walls they are, and does nothing" {
	catch bwrap --dry-run --ro-bind /usr /usr --dir "$T/made" --proc /proc --unshare-pid touch "$T/made"
	[[ $status == 0 && ${lines[0]} == 'raw: walls only from the command line' && ! -e made ]]
	has '^bind +/usr <- /usr ro nosuid nodev$'
	has '^mount +/proc proc nosuid nodev noexec$'
	has '^readonly +/proc/sys'
	says 1 "Can't find source path" --dry-run --bind /nowhere / true
}

@test "the root may be shown by any of its names" {
	local name
	for name in / // /. /..; do
		catch bwrap --ro-bind "$name" / --tmpfs /tmp sh -c 'ls /tmp; ls -d /usr'
		[[ $status == 0 && $output == /usr ]]
	done
	ln -s / root
	bare --bind root /r sh -c 'ls -d /r/usr'
	[ "$output" = /r/usr ]
}

@test "a mount that the host makes later in a shown folder appears inside" {
	room w
	mkfifo go back && give go back
	mkdir w/later && give w/later
	# shellcheck disable=SC2016 # of the inner shell
	catch outer sh -c '
		mount --make-rshared /
		"$1" bwrap --bind / / sh -c "echo >back; read -r x <go; cat w/later/file" &
		read -r x <back
		mount -t tmpfs none w/later && echo seen >w/later/file
		echo >go
		wait $!' - "$HUTCH"
	[[ $status == 0 && $output == seen ]]
}

@test "no mount of the inside reaches mounts of the host that are shared" {
	local root=outer
	! is_root || root='unshare --mount'
	# shellcheck disable=SC2016 # of the inner shell
	catch $root sh -c '
		mount --make-rshared / && before=$(wc -l </proc/self/mountinfo)
		"$1" bwrap --bind / / --dev /dev --tmpfs /mnt true
		echo $(($(wc -l </proc/self/mountinfo) - before))' - "$HUTCH"
	[[ $status == 0 && $output == 0 ]]
}
