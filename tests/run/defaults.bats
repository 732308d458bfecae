#!/usr/bin/env bats
# Tests of the environment that a command gets when no option is given.

load helpers

setup() {
	begin
}

teardown() {
	end
}

# inside_python CASE: runs the function CASE of defaults.py in a sandbox.
inside_python() {
	inside -i /usr/bin/python3 -SE - "$1" <"$here/defaults.py"
}

@test "the command is agent, uid and gid 1000, for a root caller too" {
	inside id
	[ "$output" = "uid=1000(agent) gid=1000(agent) groups=1000(agent)" ]
}

@test "one id is mapped, and it is not the host's root" {
	inside cat /proc/self/uid_map /proc/self/gid_map
	[ "${#lines[@]}" -eq 2 ]
	read -r in out count <<<"${lines[0]}"
	[ "$in $out $count" = "1000 $who 1" ]
	read -r in out count <<<"${lines[1]}"
	[ "$in $count" = "1000 1" ]
	[ "$out" -ne 0 ]
}

@test "setgroups is denied" {
	inside cat /proc/self/setgroups
	[ "$output" = deny ]
}

@test "the environment is exactly what the contract names" {
	export NOISE=1 LC_ALL=de_DE.UTF-8 MAIL=x OLDPWD=/
	TZ=Europe/Berlin inside env
	diff <(printf '%s\n' "${lines[@]}" | sort) - <<-END
		HOME=/home/agent
		LANG=C.UTF-8
		LOGNAME=agent
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		SHELL=/bin/bash
		TZ=Europe/Berlin
		USER=agent
	END
}

@test "TERM is in the environment with a terminal only" {
	inside sh -c 'echo "${TERM-none}"'
	[ "$output" = none ]
	TERM=vt100 inside -t sh -c 'echo "$TERM"'
	[ "${output%$'\r'}" = vt100 ]
}

@test "HOME exists, is empty and can be written to" {
	inside sh -c 'ls -A ~ && cd && echo x >f && cat f && echo "$PWD"'
	[ "$output" = x$'\n'/home/agent ]
}

@test "the working directory is /workspace, empty and writable" {
	inside sh -c 'pwd; ls -A; echo x >f && cat f; stat -c %U .'
	[ "$output" = /workspace$'\n'x$'\n'agent ]
}

@test "the hostname is hutch, and resolves to the loopback" {
	inside sh -c 'hostname; cat /etc/hostname; getent hosts hutch | cut -d" " -f1'
	[ "${lines[*]}" = "hutch hutch ::1" ] || [ "${lines[*]}" = "hutch hutch 127.0.0.1" ]
}

@test "nothing of one sandbox is in the next one" {
	box sh -c 'touch /workspace/f /tmp/f /home/agent/f /run/f /dev/shm/f'
	inside sh -c 'ls -A /workspace /tmp /home/agent /run /dev/shm | grep -v :$'
	[ -z "$output" ]
}

@test "there is a loopback, up, and no other interface" {
	inside cat /proc/net/dev
	[ "$(tail -n +3 <<<"$output" | cut -d: -f1 | xargs)" = lo ]
	inside_python loopback
	[ "$output" = connected ]
}

@test "any other address is unreachable at once, by name too" {
	inside_python elsewhere
	[ "${lines[*]}" = "ENETUNREACH ENETUNREACH ENETUNREACH ENETUNREACH no such name" ] ||
		[ "${lines[*]}" = "ENETUNREACH ENETUNREACH EADDRNOTAVAIL EADDRNOTAVAIL no such name" ]
}

@test "the root and the host's programs cannot be written to" {
	inside sh -c 'touch /x; touch /usr/x; touch /etc/x; touch /bin/x; mkdir /srv; true'
	[ "$(grep -c 'Read-only file system' <<<"$stderr")" -eq 5 ]
}

@test "no file of the user and no /etc of the host is inside" {
	echo secret >"$T/secret"
	inside sh -c "cat '$T/secret' /etc/shadow '$HOME'/x; ls /home /root /mnt /srv /boot /var/log"
	[ "${lines[*]}" = "/home: agent" ]
	inside cat /etc/passwd
	[ "$(cut -d: -f1 <<<"$output" | xargs)" = "root agent nobody" ]
}

@test "/dev has the usual devices and nothing else" {
	inside ls /dev
	[ "${lines[*]}" = "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero" ]
	inside sh -c 'echo x >/dev/null && head -c 3 /dev/zero | od -An -tx1 && head -c 1 /dev/urandom |
		wc -c; cat /etc/passwd >/dev/full'
	[ "${lines[0]} ${lines[1]}" = " 00 00 00 1" ]
	[[ $stderr == *"No space left"* ]]
}

@test "the command's processes are all that /proc shows, pid 1 is not to be seen" {
	inside sh -c 'ls -d /proc/[0-9]* | wc -l; ls /proc/1'
	[ "${lines[0]}" -le 3 ]
	[[ $stderr == *"/proc/1"* ]]
}

@test "the command leads a session of its own, with no signal blocked or ignored" {
	(
		trap '' USR1 TERM PIPE
		box cat /proc/self/status
	) >status
	grep -qx $'SigIgn:\t0000000000000000' status
	grep -qx $'SigBlk:\t0000000000000000' status
	inside sh -c 'cut -d" " -f1,6 /proc/self/stat; echo $$'
	[ "${lines[0]##* }" -eq "${lines[1]}" ]
}

@test "no capability, no new privileges, a filter" {
	inside cat /proc/self/status
	for set in Inh Prm Eff Bnd Amb; do
		has "^Cap$set:.0000000000000000$"
	done
	has '^NoNewPrivs:.1$'
	has '^Seccomp:.2$'
}

@test "the umask is 022 and the limits are not the host's" {
	inside sh -c 'umask; ulimit -c'
	[ "${lines[*]}" = "0022 0" ]
	inside bash -c 'ulimit -u'
	[ "$output" -le 4096 ]
}

@test "only 0, 1 and 2 are open" {
	inside_python descriptors
	[ "$output" = "[0, 1, 2]" ]
}

# etc_of_everything NAME...: makes an /etc like that of a host on which many packages are
# installed, with these files.
etc_of_everything() {
	local name
	for name in "$@"; do
		mkdir -p "etc/$(dirname "$name")"
		echo "of $name" >"etc/$name"
	done
	cp -P /etc/passwd /etc/group /etc/ld.so.cache etc/
	chmod -R a+rX etc
}

@test "entries of programs in the /etc of the host are inside, and those that may hold secrets are not" {
	local shown=(chromium.d/default-flags matplotlibrc R/ldpaths R/Renviron maven/m2.conf texmf/web2c/texmf.cnf
		OpenCL/vendors/x.icd vulkan/icd.d/x.json glvnd/egl_vendor.d/x.json gtk-3.0/settings.ini vim/vimrc xml/catalog
		ImageMagick-6/delegates.xml X11/app-defaults/XTerm dpkg/origins/default timezone locale.alias mailcap java-99/x)
	local kept=(npmrc pip.conf gitconfig wgetrc curlrc environment profile bash.bashrc networks krb5.conf fstab machine-id
		R/Renviron.site R/Rprofile.site maven/settings.xml ImageMagick-6/policy.xml ssh/ssh_config apt/sources.list
		chromium/policies/x.json X11/xdm/xdm-config xdg/pip/pip.conf odbc.ini mysql/my.cnf openmpi/openmpi-default-hostfile)
	etc_of_everything "${shown[@]}" "${kept[@]}"
	catch outer sh -c 'mount --bind "$1" /etc && shift && exec "$@"' - "$T/etc" \
		"$HUTCH" run sh -c 'cd /etc && cat "$@"' - "${shown[@]}"
	[ "$status" -eq 0 ]
	[ "$output" = "$(printf 'of %s\n' "${shown[@]}")" ]
	catch outer sh -c 'mount --bind "$1" /etc && shift && exec "$@"' - "$T/etc" \
		"$HUTCH" run sh -c 'cd /etc && for one; do [ ! -e "$one" ] || echo "$one"; done' - "${kept[@]}"
	[[ $status == 0 && -z $output ]]
}

@test "a compiler, which is a link into /etc/alternatives, works" {
	[ -e /etc/alternatives/cc ] || skip "no C compiler on this host"
	inside sh -c 'echo "int main(void){return 42;}" >a.c && cc a.c && ./a.out; echo $?'
	[ "$output" = 42 ]
}

@test "a launch that asks for nothing makes nothing in the user's folders but a prepared /etc" {
	before=$(state_of "$HOME")
	box true
	[ "$(state_of "$HOME")" = "$before" ]
	[ "$(echo "$XDG_RUNTIME_DIR"/* "$XDG_RUNTIME_DIR"/hutch/.[!.]*)" = \
		"$XDG_RUNTIME_DIR/hutch $XDG_RUNTIME_DIR/hutch/.prepared" ]
	box true # keeps the names of /etc, since there is a folder for them now
	[ "$(echo "$XDG_RUNTIME_DIR"/hutch/.[!.]*)" = \
		"$XDG_RUNTIME_DIR/hutch/.etc-names $XDG_RUNTIME_DIR/hutch/.prepared" ]
	before=$(state_of "$XDG_RUNTIME_DIR")
	box true
	[ "$(state_of "$XDG_RUNTIME_DIR")" = "$before" ]
}

# mounts_of_etc OPTIONS...: prints the paths of the mounts in /etc.
mounts_of_etc() {
	box "$@" /bin/sh -c 'while read -r _ _ _ _ path _; do
		case $path in /etc*) echo "$path" ;; esac; done </proc/self/mountinfo'
}

@test "single files of /etc need no mount of their own, unless the sandbox has its own" {
	box true # makes the folder, and another one for sandboxes with a name
	box --hostname first true
	mounts_of_etc >plain
	grep -x /etc plain
	[ "$(grep -cE '^/etc/(services|passwd|hostname|ld.so.cache)$' plain)" = 0 ]
	mounts_of_etc --hostname other >named
	[ "$(comm -13 <(sort plain) <(sort named))" = "/etc/hostname
/etc/hosts" ]
	inside --hostname other cat /etc/hostname
	[ "$output" = other ]
}

@test "the files of /etc are the same whether or not the caller mounts something there" {
	list='cd /etc; for f in $(ls); do [ ! -f $f ] || echo $(stat -c %a $f) $(sha256sum $f); done'
	box true
	box sh -c "$list" >prepared
	touch mine
	box -v "$PWD/mine:/etc/mine:ro" sh -c "$list" >made
	diff prepared <(grep -v ' mine$' made)
	grep ' passwd$' prepared
}

@test "a sandbox with a name keeps its /etc while many others are prepared" {
	hutch create kept
	hutch exec kept ls -R /etc
	before=$output
	for i in {1..17}; do
		box --add-host "other$i:10.0.0.1" true
	done
	[ "$(ls "$XDG_RUNTIME_DIR/hutch/.prepared" | wc -l)" -le 16 ]
	hutch exec kept ls -R /etc
	[ "$output" = "$before" ]
	hutch exec kept grep agent /etc/passwd
	[ "$status" -eq 0 ]
	hutch rm -f kept
}

@test "no process inside can change a prepared file" {
	box true
	mounts_of_etc | grep -x /etc
	box sh -c 'chmod 666 /etc/passwd; echo x >>/etc/passwd; touch /etc/services; rm /etc/group' \
		2>errors || true
	[ "$(grep -c 'Read-only file system' errors)" -eq 4 ]
}

@test "hutch works without a home, without an environment and in a folder that is gone" {
	mkdir gone
	cd gone
	rmdir ../gone
	catch env -i "$HUTCH" run pwd
	[ "$output" = /workspace ]
}

@test "hutch works with stdin, stdout and stderr closed" {
	status=0
	"$HUTCH" run sh -c 'exit 3' <&- >&- 2>&- || status=$?
	[ "$status" -eq 3 ]
}

@test "hutch works where SIGCHLD is ignored and every signal is blocked" {
	"$here/defaults.py" deaf "$HUTCH" run sh -c 'exit 4' || rc=$?
	[ "$rc" -eq 4 ]
}
