#!/usr/bin/env bats
# Tests that the report of hutch doctor is true.  Each check is tested in both states where this
# machine can have both; a feature is taken away from doctor alone, by namespaces or by a seccomp
# filter.

load helpers

setup() {
	begin
	# As root, the tests choose a user for the sandbox who has a range of ids in /etc/subuid.
	if is_root; then
		export SUDO_UID SUDO_GID
		SUDO_UID=$(id -u "$(cut -d: -f1 /etc/subuid | head -1)")
		SUDO_GID=$(id -g "$SUDO_UID")
		who=$SUDO_UID
		give home runtime
	fi
}

teardown() {
	end
}

# doctor COMMAND...: runs hutch doctor as an argument of COMMAND, which changes its environment.
doctor() {
	catch "$@" "$HUTCH" doctor
}

# says STATUS NAME PATTERN: checks that the last doctor has printed check NAME with STATUS and a
# text that matches.
says() {
	has "^$1 +$2 +$3"
}

# says_overlayfs: checks that doctor reports overlayfs as working, as far as a tmpfs of this
# kernel supports it.
says_overlayfs() {
	if python3 -c 'import os; os.setxattr(os.memfd_create("x"), "user.x", b"1")'; then
		says ok overlayfs
	else
		says limited overlayfs 'works; a tmpfs has no user'
	fi
}

# without_runtime COMMAND...: runs COMMAND where /run/user/UID does not exist.
without_runtime() {
	if [ -d "/run/user/$who" ]; then
		outer sh -c 'mount -t tmpfs none /run/user && exec "$@"' - "$@"
	else
		"$@"
	fi
}

# below NAME WORD PATTERN: checks the line that begins with WORD (means, remedy) below the line of
# check NAME.
below() {
	awk -v name="$1" -v word="$2" '
		/^[a-z]/ { at = $2 }
		at == name && $1 == word' <<<"$output" | grep -E -- "$3" || {
		echo "$1 has no $2 that matches $3"
		return 1
	}
}

# works, works_not: check the lines after the table and the exit code of doctor, which say whether
# hutch run works, and where to begin.
works() {
	[ "$status" -eq 0 ]
	has '^hutch run works here'
	[ "${lines[-2]}" = '  hutch run -- id' ]
	[ -z "$stderr" ]
}

works_not() {
	[ "$status" -eq 1 ]
	has '^hutch run does not work here'
	has_not '^Try first'
	[ -z "$stderr" ]
}

# mends_first NAME PATTERN: checks that doctor names this check and its remedy at the end.
mends_first() {
	[ "${lines[-2]}" = "First mend $1:" ]
	[[ ${lines[-1]} =~ ^'  '$2 ]]
}

# sysctl_of NAME VALUE COMMAND...: runs COMMAND where /proc/sys/kernel/NAME has VALUE, and where
# no user namespace can be made.
sysctl_of() {
	local name=$1 value=$2
	shift 2
	mkdir -p "$T/jail"
	outer sh -c "mount -t tmpfs none /proc/sys/kernel && echo $value >/proc/sys/kernel/$name &&
		mount --rbind / '$T/jail' && exec chroot '$T/jail' \"\$@\"" - "$@"
}

@test "this machine has what hutch run needs, and doctor says so" {
	doctor env
	works
	for name in user-namespaces namespaces network-namespace cgroup-namespace mounts proc \
		seccomp launch; do
		says ok $name
	done
	says ok network-rules 'gateway: ' || says limited network-rules '(gateway|single): '
	[ "$("$HUTCH" run echo ran)" = ran ]
	# The commands that doctor says to try.
	"$HUTCH" run -- id
	room project
	cd project
	script -qec "'$HUTCH' run --workspace . -it -- bash -c 'touch made'" /dev/null
	[ -e made ]
}

@test "this machine has the optional features, too" {
	doctor env
	says ok kernel "Linux $(uname -r)"
	says ok seccomp-notify
	says_overlayfs
	has '^(ok +landlock +ABI ([6-9]|[0-9]{2})|limited +landlock +ABI [1-5];)'
}

@test "no user namespaces by the sysctl: what it means and the command" {
	doctor outer sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' -
	works_not
	says missing user-namespaces '.*the bound user.max_user_namespaces is reached'
	below user-namespaces means 'hutch run fails'
	below user-namespaces remedy 'as root: sysctl -w user.max_user_namespaces='
	mends_first user-namespaces 'as root: sysctl -w user.max_user_namespaces='
	says missing mounts 'not tried: it needs a user namespace'
	says missing launch '.*user.max_user_namespaces'
	says ok seccomp
}

@test "without user namespaces Landlock isolation is named, with its price, and changes no exit code" {
	"$HUTCH" run --isolation landlock true 2>/dev/null || skip "this host has no Landlock"
	doctor env
	says 'ok|limited' landlock-launch '--isolation landlock works, ABI [0-9]+, in [0-9.]+ ms; it is weaker: the command is you'
	has_not '--isolation landlock works here'
	doctor outer sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' -
	works_not
	says 'ok|limited' landlock-launch
	has '^hutch run --isolation landlock works here, which is weaker\.$'
}

@test "none of the other namespaces: the check, and the command" {
	for kind in mnt pid ipc uts; do
		doctor outer sh -c "echo 0 >/proc/sys/user/max_${kind}_namespaces && exec \"\$@\"" -
		works_not
		says missing namespaces
		below namespaces remedy "sysctl -w user.max_${kind}_namespaces="
	done
	doctor outer sh -c "echo 0 >/proc/sys/user/max_cgroup_namespaces && exec \"\$@\"" -
	works_not
	says ok namespaces
	says missing cgroup-namespace
	below cgroup-namespace remedy "sysctl -w user.max_cgroup_namespaces="
}

@test "no network namespaces: what does without, and the command" {
	doctor outer sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' -
	works_not
	says ok user-namespaces
	says missing network-namespace
	below network-namespace means '--network host'
	below network-namespace remedy 'sysctl -w user.max_net_namespaces='
}

# The kernel counts a namespace for some time after its end, so that the checks after this one may
# not have the one that is left to them.
@test "no second network namespace: what a network of rules lacks, and the command" {
	doctor outer sh -c 'echo 1 >/proc/sys/user/max_net_namespaces && exec "$@"' -
	says missing network-rules "make a network namespace: No space left"
	below network-rules means '--network allow fails'
	below network-rules remedy 'as root: sysctl -w user.max_net_namespaces='
}

@test "no nf_tables: what a network of rules lacks, and the command" {
	doctor "$(tool forbid)" netfilter
	works
	says limited network-rules "gateway: .*module nf_tables, which is not there"
	below network-rules means '--allow HOST:\* fails'
	below network-rules remedy 'as root: modprobe nf_tables'
}

@test "a filter that refuses namespaces, as a container has, is named" {
	for mode in container eperm; do
		doctor "$(tool forbid)" $mode
		works_not
		says missing user-namespaces '.*seccomp filter'
		below user-namespaces remedy '--security-opt seccomp=unconfined'
	done
}

@test "the sysctl of Debian's old kernels is named" {
	catch sysctl_of unprivileged_userns_clone 0 "$HUTCH" doctor
	works_not
	says missing user-namespaces '.*kernel.unprivileged_userns_clone'
	below user-namespaces remedy 'as root: sysctl -w kernel.unprivileged_userns_clone=1'
	mends_first user-namespaces 'as root: sysctl -w kernel.unprivileged_userns_clone=1'
}

@test "the restriction by AppArmor is named" {
	catch sysctl_of apparmor_restrict_unprivileged_userns 1 "$HUTCH" doctor
	works_not
	says missing user-namespaces '.*AppArmor refuses it to this program \(kernel.apparmor_restrict_unprivileged_userns is 1\)$'
	below user-namespaces remedy "in hutch's source, \`sudo make install\`, then \`sudo apparmor_parser -r /etc/apparmor.d/hutch\`; or, "
	below user-namespaces remedy 'every program of this machine, `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`$'
	catch sysctl_of apparmor_restrict_unprivileged_userns 1 "$HUTCH" run true
	[ "$status" -eq 125 ]
	one_sentence 'make a user namespace: AppArmor refuses it'
	[[ ${stderr_lines[1]} == *'sudo apparmor_parser -r /etc/apparmor.d/hutch'* ]]
	names_landlock
}

# names_landlock: checks that the hint of a failed launch names --isolation landlock, and the
# protections that it lacks.
names_landlock() {
	"$HUTCH" run --isolation landlock true 2>/dev/null || return 0
	[[ ${stderr_lines[1]} == *'; or --isolation landlock, where '*'bounded by your own limits alone' ]]
}

@test "the hutch that the profile is not about is told to load it, and which to run" {
	mkdir -p apparmor.d
	touch apparmor.d/hutch
	chmod -R a+rX apparmor.d
	[ -d /etc/apparmor.d ] || skip 'there is no /etc/apparmor.d here to put one in'
	catch sysctl_of apparmor_restrict_unprivileged_userns 1 sh -c \
		"mount --bind '$T/apparmor.d' /etc/apparmor.d; exec '$HUTCH' doctor"
	works_not
	below user-namespaces remedy "load hutch's profile: \`sudo apparmor_parser -r /etc/apparmor.d/hutch\`, and run the hutch that it names; or, "
}

@test "a user namespace without rights in it is none" {
	doctor "$(tool forbid)" rights
	says missing user-namespaces 'use a right in a user namespace: '
	mkdir kernel
	echo 1 >kernel/apparmor_restrict_unprivileged_userns
	chmod -R a+rX kernel
	doctor outer sh -c "mount --bind '$T/kernel' /proc/sys/kernel && exec \"\$@\"" - \
		"$(tool forbid)" rights
	says missing user-namespaces 'AppArmor lets this program make a user namespace but do nothing'
	below user-namespaces remedy 'sudo apparmor_parser -r /etc/apparmor.d/hutch'
	catch outer sh -c "mount --bind '$T/kernel' /proc/sys/kernel && exec \"\$@\"" - \
		"$(tool forbid)" mounts "$HUTCH" run true
	[ "$status" -eq 125 ]
	one_sentence 'AppArmor lets this program make a user namespace but do nothing in it'
	names_landlock
}

@test "a chroot is named where nothing else forbids user namespaces" {
	catch sysctl_of apparmor_restrict_unprivileged_userns 0 "$HUTCH" doctor
	works_not
	below user-namespaces remedy chroot
}

@test "a filter that refuses the mount calls is seen by what mounts, and not blamed on /proc" {
	for mode in mounts newcalls; do
		doctor "$(tool forbid)" $mode
		works_not
		says ok user-namespaces
		says missing mounts
		says missing proc
		below proc remedy seccomp
		has_not 'proc .*masked'
	done
}

@test "a masked /proc is told as one, by proc alone" {
	doctor masked
	works_not
	says ok mounts
	says_overlayfs
	says missing proc '.*masked'
	below proc remedy systempaths=unconfined
	mends_first proc '.*systempaths=unconfined'
}

@test "no overlayfs: hutch run works, an image is copied, and to where" {
	doctor env PATH=/nowhere "$(tool forbid)" overlay
	works
	says limited overlayfs 'mount an overlay: No such device; each sandbox gets a copy of its image in /.*/hutch'
	has 'fuse-overlayfs is not installed$'
	below overlayfs means 'hutch diff, hutch snapshot, --upper, :cow and RUN in hutch image build fail'
	below overlayfs remedy "modprobe overlay"
	below overlayfs remedy "or install fuse-overlayfs, 1.8 or newer"
	doctor env PATH=/nowhere "$(tool forbid)" oldoverlay
	works
	says limited overlayfs 'mount an overlay: Operation not permitted; '
}

@test "no overlayfs, but fuse-overlayfs: which one serves images, and what it cannot" {
	as_who sh -c ': <>/dev/fuse' 2>/dev/null || skip "this host has no /dev/fuse"
	doctor "$(tool forbid)" overlay
	works
	says limited overlayfs 'mount an overlay: No such device; images are served by /usr/bin/fuse-overlayfs, version 1\.[0-9]+, and what is written to one is kept in /.*/hutch'
	below overlayfs means 'hutch diff, hutch snapshot, --upper, :cow and RUN in hutch image build fail'
	below overlayfs remedy "modprobe overlay"
	printf 'int main(void) { return 0; }' | cc -x c -o fuse-overlayfs -
	doctor env PATH="$T" "$(tool forbid)" overlay
	works
	says limited overlayfs '.*gets a copy of its image in .*/fuse-overlayfs does not tell its version'
}

@test "an overlay that is mounted and does not work is seen" {
	doctor "$(tool forbid)" rename
	works
	says missing overlayfs 'change what is in an overlay: '
}

@test "no user attributes anywhere: a writable image has no place, and what gives one" {
	doctor "$(tool forbid)" xattr
	works
	says missing overlayfs '.*needs a place with user.\* attributes'
	below overlayfs remedy XDG_DATA_HOME
}

@test "no Landlock: what it means, and how to enable it" {
	doctor "$(tool forbid)" landlock
	works
	says missing landlock 'the kernel has it, and did not enable it'
	below landlock means '--network host'
	below landlock remedy 'lsm=landlock,'
}

@test "no seccomp: hutch run fails" {
	doctor "$(tool forbid)" seccomp
	works_not
	says missing seccomp "install the seccomp filter of [0-9]+ instructions: "
	says missing seccomp-notify
}

@test "a listener of an outer sandbox leaves no room for another" {
	doctor "$(tool forbid)" listener
	works
	says missing seccomp-notify '.*has a listener already'
	says ok seccomp
	doctor "$(tool forbid)" none
	says ok seccomp-notify
}

@test "a range of ids, and none: the recommended command gives an unused one" {
	doctor env
	says ok id-ranges '65536 ids from [0-9]+ on'
	USER=no-such-user SUDO_USER=no-such-user doctor env
	says ok id-ranges '65536 ids from [0-9]+ on'
	echo somebody:100000:65536 >subids
	doctor outer sh -c 'mount --bind "$0" /etc/subuid; exec "$@"' "$T/subids"
	says missing id-ranges ".*/etc/subuid grants no range of 65536 ids to $(id -un "$who")"
	below id-ranges means '--idmap ranges fails'
	below id-ranges remedy "as root: usermod --add-subuids [0-9]+-[0-9]+ .* $(id -un "$who")"
}

@test "helpers that are not there, not setuid, or without rights" {
	doctor setpriv --no-new-privs
	works
	says missing id-ranges 'no_new_privs is set'
	# outer runs doctor in a user namespace, where a setuid helper gets no privileges of the
	# host.
	doctor outer
	says missing id-ranges 'hutch is in a user namespace already'
	doctor outer sh -c \
		'mount -t tmpfs none /usr/local/bin && for f in /usr/bin/new?idmap; do
			mount --bind /nowhere $f 2>/dev/null || mount --bind /dev/null $f; done; exec "$@"' -
	says missing id-ranges
}

@test "an old kernel is limited, and not taken for what it has" {
	doctor setarch --uname-2.6
	works
	says limited kernel 'Linux 2\.6\.[0-9]+.* is older than 5.14'
	below kernel remedy newer
	catch setarch --uname-2.6 "$(tool forbid)" newcalls "$HUTCH" run true
	[[ $status == 125 && $stderr == *'hint: hutch needs Linux 5.14 or newer, and this is 2.6.'* ]]
}

@test "the runtime folder: of the user, of another, unset, closed" {
	doctor env
	says ok runtime-dir "$XDG_RUNTIME_DIR$"
	doctor without_runtime env XDG_RUNTIME_DIR=/
	says limited runtime-dir "XDG_RUNTIME_DIR=/ is no folder of user $who: /"
	room new
	doctor env "XDG_RUNTIME_DIR=$T/new/run/time"
	works
	says ok runtime-dir "$T/new/run/time, which is made when it is needed"
	[ -z "$(ls new)" ]
	doctor env XDG_RUNTIME_DIR=/proc/nonesuch
	says missing runtime-dir '/proc cannot be written to'
	doctor env -u XDG_RUNTIME_DIR
	[ -d "/run/user/$who" ] || says limited runtime-dir 'XDG_RUNTIME_DIR is not set: '
	works
	chmod 500 runtime
	doctor env
	works
	says missing runtime-dir "$XDG_RUNTIME_DIR cannot be written to"
	below runtime-dir remedy "chmod u\+rwx $XDG_RUNTIME_DIR"
	chmod 700 runtime
	mkdir -m 777 runtime/hutch
	chmod 777 runtime/hutch
	give runtime
	doctor env
	says missing runtime-dir '.*others may write to it'
	below runtime-dir remedy 'chmod 700'
}

@test "cgroups: version 1 has the controllers, or none is mounted" {
	[ -d /sys/fs/cgroup/unified ] || skip "this host has no hybrid cgroups"
	doctor env
	works
	says missing cgroup 'cgroup v2 is at /sys/fs/cgroup/unified, but memory, cpu and pids are bound to v1'
	below cgroup means '--memory, --cpus and --pids-limit fail'
	below cgroup remedy systemd.unified_cgroup_hierarchy=1
	doctor outer sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' -
	says missing cgroup 'cgroup v2 is not mounted'
	below cgroup remedy 'mount -t cgroup2'
}

@test "in a sandbox of hutch no user namespace can be made, and doctor says so" {
	inside -v "$BUILD:/b:ro" /b/hutch doctor
	# Drops the messages of the outer hutch about system calls that its filter has refused.
	stderr=$(grep -v '^hutch: \(seccomp\|unshare\|clone\|mount\|hint: .hutch why syscall\)' <<<"$stderr" || true)
	works_not
	says missing user-namespaces '.*seccomp filter'
	says ok seccomp
	says missing cgroup 'cgroup v2 is not mounted'
	below cgroup remedy 'outer container'
}

@test "a hutch without its other programs: the launch is what is missing" {
	cp "$HUTCH" "$T/hutch"
	HUTCH=$T/hutch doctor env
	works_not
	says missing launch 'hutch-executor is neither at'
	[ "$(grep -c '^missing .* not tried' <<<"$output")" -eq 0 ]
}

@test "a root of a namespace with one id is told why" {
	doctor as_who unshare -Ur
	[ "$status" -eq 0 ] || says missing launch '.*no such id is mapped'
}

@test "the verdict is that of hutch run" {
	for wrap in "$(tool forbid) none" "$(tool forbid) eperm" "$(tool forbid) mounts" \
		"$(tool forbid) overlay" "outer" "setpriv --no-new-privs"; do
		code=0
		$wrap "$HUTCH" run true 2>/dev/null || code=$?
		doctor $wrap
		((code == 0)) && works || works_not
	done
}

@test "the lines are aligned: status, name, what was found" {
	doctor "$(tool forbid)" mounts
	has '^$'
	sed '/^$/,$d' <<<"$output" | while IFS= read -r line; do
		[[ $line =~ ^((ok|limited|missing)\ +|\ {9})[^\ ]* ]]
		[ "${line:8:1}" = ' ' ]
		[ "${line:27:1}" = ' ' ]
		[ "${line:28:1}" != ' ' ]
	done
}

@test "colours come on a terminal only, and not with NO_COLOR" {
	esc=$'\e'
	doctor env
	[[ $output != *"$esc"* ]]
	lacking="'$(tool forbid)' mounts '$HUTCH' doctor"
	catch script -qec "$lacking" /dev/null
	[[ $output == *"$esc[1;31mmissing"*"$esc[m"* ]]
	NO_COLOR=1 catch script -qec "$lacking" /dev/null
	[[ $output == *missing* ]]
	[[ $output != *"$esc["* ]]
	NO_COLOR='' catch script -qec "$lacking" /dev/null
	[[ $output == *"$esc[1;31mmissing"* ]]
}

@test "names that a user chose cannot steer the terminal" {
	room new
	doctor env "XDG_RUNTIME_DIR=$T/new/"$'\e]0;title\a'
	[[ $output != *$'\e'* ]]
	has '\^\[\]0;title'
}

@test "--json: the same, as one object with every key" {
	doctor "$(tool forbid)" overlay
	lines_of=$(grep -oE '^(ok|limited|missing) +[a-z-]+' <<<"$output" | tr -s ' ')
	catch "$(tool forbid)" overlay "$HUTCH" doctor --json
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 1 ]
	diff <(echo "$lines_of") <("$here/doctor.py" checks <<<"$output")
	catch "$(tool forbid)" eperm "$HUTCH" doctor --json
	[ "$status" -eq 1 ]
	[[ $output == '{"version":1,"works":false,'*'"detail":"not tried: it needs a user namespace","means":null,"remedy":null}'* ]]
}

@test "--json: what is no UTF-8 in a name does not break it" {
	XDG_RUNTIME_DIR=$'/\xff"\\\n' catch "$HUTCH" doctor --json
	"$here/doctor.py" utf8 <<<"$output"
}

@test "flags that it does not have are refused; its help lists those it has" {
	catch "$HUTCH" doctor --jsn
	[ "$status" -eq 125 ]
	[ -z "$output" ]
	one_sentence "hutch doctor does not know '--jsn'"
	catch "$HUTCH" doctor extra
	[ "$status" -eq 125 ]
	catch "$HUTCH" help doctor
	[ "$status" -eq 0 ]
	has '--json'
	catch "$HUTCH" doctor -h
	has '--json'
}

@test "a report that cannot be printed is an error" {
	[ -e /dev/full ]
	catch sh -c "'$HUTCH' doctor >/dev/full"
	[ "$status" -eq 125 ]
	one_sentence 'write to stdout'
	catch sh -c "{ '$HUTCH' doctor; echo \$? >'$T/code'; } | :"
	code=$(cat "$T/code")
	[[ $code == 125 || $code == 0 ]]
}

@test "doctor works with closed descriptors, few of them, and with SIGCHLD ignored" {
	needs_static
	catch sh -c "'$HUTCH' doctor <&- 2>&-"
	works
	catch env --ignore-signal=CHLD "$HUTCH" doctor
	works
	catch sh -c "ulimit -Sn 5; '$HUTCH' run true && '$HUTCH' doctor"
	works
	says ok mounts
	says ok network-namespace
}

# apart: starts a process that holds a mount namespace, in which /tmp/hutch-UID is a folder of the
# test's own and /run/user is empty.  Sets `apart` to the command that runs another one there.
apart() {
	local id make=(outer) enter=(-U --preserve-credentials)
	if is_root; then
		make=(unshare -m) enter=()
	fi
	for id in "$EUID" "$who"; do
		mkdir -p -m 700 "$T/tmp-$id"
		[ -d "/tmp/hutch-$id" ] || mkdir -m 700 "/tmp/hutch-$id"
	done
	if is_root; then
		chown "$who:$who" "/tmp/hutch-$who" "$T/tmp-$who"
	fi
	mkfifo ready
	"${make[@]}" sh -c 'T=$1
		for id in "$2" "$3"; do mount --bind "$T/tmp-$id" "/tmp/hutch-$id" || exit; done
		[ ! -d /run/user ] || mount -t tmpfs none /run/user || exit
		echo; exec sleep 1000' - "$T" "$EUID" "$who" 3>&- >ready &
	started+=("$!")
	read -r -t "$PATIENCE" <ready
	apart=(nsenter -t "$!" "${enter[@]}" -m)
}

# own_cgroup: makes a cgroup of the test's own, if this user can move a process to one, and sets
# `cgroup` to its folder.  Without it, doctor cannot make a cgroup either.
own_cgroup() {
	local root at
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	at=$(sed -n 's/^0:://p' /proc/self/cgroup)
	cgroup=$root${at%/}/hutch-$mark
	[ -n "$root" ] && mkdir "$cgroup" 2>/dev/null || {
		cgroup=
		return 0
	}
	give "$cgroup"
}

# Other tests mount, and change /tmp/hutch-UID and cgroups, at any time.  So this doctor gets
# folders, mounts and a cgroup that no other program changes.
@test "nothing is left: no process, mount, file or cgroup" {
	local apart cgroup
	apart
	own_cgroup
	if [ -n "$cgroup" ]; then
		apart=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "${apart[@]}")
	fi
	look() {
		"${apart[@]}" cat /proc/self/mountinfo
		# A launch keeps the names of /etc in a state folder that is there (etc_names.h).
		find "$T/home" "$T/runtime" "$T"/tmp-* ! -name .etc-names | sort
		[ -z "$cgroup" ] || find "$cgroup" -type d
	}
	before=$(look)
	doctor "${apart[@]}" env -u XDG_RUNTIME_DIR
	doctor "${apart[@]}" env
	doctor "${apart[@]}" "$(tool forbid)" xattr
	doctor "${apart[@]}" "$(tool forbid)" mounts
	# An ordinary user's doctor is not in a user namespace, as a rule.
	is_root || doctor env
	after=$(look)
	[ -z "$cgroup" ] || find "$cgroup" -depth -type d -exec rmdir {} +
	diff <(echo "$before") <(echo "$after")
}

@test "nothing is left: its processes are gone when it ends" {
	# doctor runs in a pid namespace of its own, so that /proc shows only the processes of
	# this test.
	catch outer unshare -pf --mount-proc sh -c \
		'"$@" >/dev/null; for p in /proc/[0-9]*; do echo "$p"; done' - "$HUTCH" doctor
	[ "$output" = /proc/1 ]
}

# stuck: runs doctor in the background, with a check that hangs, since /etc/subuid is a FIFO
# without a writer.
stuck() {
	mkfifo "$T/subuid"
	chmod 644 "$T/subuid"
	outer bash -c "mount --bind '$T/subuid' /etc/subuid && exec -a $mark '$HUTCH' doctor" \
		>"$T/said" 2>&1 3>&- &
	pid=$!
	started+=("$pid")
}

@test "a check that hangs is given up, told, and ended" {
	stuck
	wait "$pid"
	output=$(cat "$T/said")
	says missing id-ranges 'the trial did not end within 10 s'
	says ok launch
	says limited\|missing\|ok cgroup
	none_marked
}

@test "killed, it leaves no process" {
	stuck
	# Opening the FIFO for writing returns when the check has opened it for reading; the check
	# then waits for data that never comes.
	exec 8>"$T/subuid"
	all=$(marked)
	[ "$(wc -l <<<"$all")" -eq 2 ]
	# Two processes run: doctor, and the child that makes the check.  Finds the parent and
	# kills it; both must end.
	for one in $all; do
		parent=$(ps -o ppid= -p "$one" | tr -d ' ')
		! grep -qx "$parent" <<<"$all" || break
	done
	kill -KILL "$parent"
	until_true none_marked
	exec 8>&-
}

@test "root's own folders and ids are not what it looks at" {
	is_root || skip "this host has no root here"
	doctor env
	says ok user-namespaces "can be made by user $who, for whom root's sandboxes stand"
	doctor env -u SUDO_UID -u SUDO_GID
	says ok user-namespaces 'can be made by user 65534, '
	says limited runtime-dir '.*no folder of user 65534'
	below runtime-dir remedy 'ordinary user'
	works
}
