# place.bash -- sets up the surroundings that run.sh needs: an ordinary user,
# files to bind, secrets to look for, sockets to connect to.  Sourced;
# make_place makes all of it and clean_up removes it.
#
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with run.sh

find_user()
{
	uid=$(id -u) gid=$(id -g)
	if ((uid == 0)); then
		uid=${PROBE_USER:-${SUDO_UID:-65534}}
		gid=$(id -g "$uid" 2>/dev/null || echo "$uid")
		as_user=(setpriv "--reuid=$uid" "--regid=$gid" --clear-groups)
		# If root runs hutch, the sandbox's processes have the rights of this user.
		export SUDO_UID=$uid SUDO_GID=$gid
	fi
}

# fixture DIR: makes the folder that the sandbox binds read-only, and a scratch
# folder.
fixture()
{
	local file
	mkdir -p "$1/ro" "$1/scratch"
	for file in marker victim removable; do
		echo "$file of the host" >"$1/ro/$file"
	done
	echo 'one file of the host' >"$1/single"
	cp "$probe" "$1/ro/probe"
	cp "$probe" "$1/ro/second"
	chmod a+x "$1"/ro/{probe,second}
	mkdir -p "$1/image/lower"
	cp "$1"/ro/* "$1/image/lower"
	cp "$probe" "$1/image/self"
	chmod -R a+rwX "$1"
	((EUID == 0)) || return 0
	cp "$probe" "$1/ro/setuid"
	cp "$probe" "$1/ro/capable"
	chown -R "$uid:$gid" "$1"
	chown 0:0 "$1"/ro/{setuid,capable}
	chmod 4755 "$1/ro/setuid"
	chmod 755 "$1/ro/capable"
	"$probe" --role=capable "$1/ro/capable"
	mknod -m 666 "$1/ro/node-null" c 1 3
}

# Puts a marker into a folder that all users of the host share.
plant()
{
	local dir
	for dir in "$@"; do
		if [[ -d $dir && -w $dir ]]; then
			echo "of the host" >"$dir/hutch-escape-$$"
			chmod 644 "$dir/hutch-escape-$$"
			echo "$dir/hutch-escape-$$"
			return
		fi
	done
	echo "$1/hutch-escape-none"
}

address()
{
	local one
	for one in $(hostname -I 2>/dev/null); do
		[[ $one == *"$1"* ]] && echo "$one" && return
	done
	echo "$2"
}

start_listener()
{
	coproc LISTEN { exec "$listener" "hutch-probe-$$" "$base/socket"; }
	read -r -t "$PATIENCE" port <&"${LISTEN[0]}" || fail_setup "$listener does not listen"
}

start_host_process()
{
	"${as_user[@]}" env HUTCH_HOST_PROCESS=1 sleep infinity </dev/null >/dev/null 2>&1 &
	host_pid=$!
	disown
}

make_place()
{
	base=$(mktemp -d "${TMPDIR:-/tmp}/hutch-escape.XXXXXX") || exit 1
	trap clean_up EXIT
	trap 'exit 1' INT TERM HUP
	chmod 755 "$base"
	echo 'a secret of the host' >"$base/secret"
	# On a file system without extended attributes this fails, and the control runs report that.
	setfattr -n user.probe -v known "$base/secret" 2>/dev/null
	fixture "$base/in"
	start_listener
	start_host_process
	shm=$(plant /dev/shm)
	run=$(plant "/run/user/$uid" /run /run/lock)
	setting=(--secret "$base/secret" --shm "$shm" --run "$run"
		--host-pid "$host_pid" --tcp "$port" --abstract "hutch-probe-$$"
		--socket "$base/socket" --address "$(address . 192.0.2.77)"
		--address6 "$(address : 2001:db8::77)" --source "$here/run.sh"
		--watches "$(cat /proc/sys/user/max_inotify_watches)"
		--seconds "$PATIENCE")
	secrets=(env "HUTCH_TEST_TOKEN=secret" "AWS_SECRET_ACCESS_KEY=secret"
		"LD_PRELOAD=$base/none.so" "BASH_ENV=/dev/null" "GIT_DIR=$base"
		"SSH_AUTH_SOCK=$base/socket")
}

clean_up()
{
	kill "$host_pid" 2>/dev/null
	[[ -n ${LISTEN_PID:-} ]] && kill "$LISTEN_PID" 2>/dev/null
	[[ -z ${port:-} ]] || ipcrm -M "$((0x68750000 | port))" 2>/dev/null
	rm -f "$shm" "$run"
	rm -rf "$base"
}
