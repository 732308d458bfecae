# bash completion for hutch(1)

# The verbs, their flags and the flags' values stand in one place; tests/run/completion.bats
# compares them with the help of each verb.
_hutch_verbs='act run create start exec shell pool cp port net connect ps inspect logs events stats wait pause unpause
	update rename stop kill rm changes diff apply discard snapshot fork commit policy why audit image plugin docker bwrap apptainer oci mcp serve route doctor version help'
_hutch_flags='--policy --image --pull --entrypoint --upper -v --volume --workspace --name --protect --protect-missing --toolchain --tmpfs --read-only -e --env
	--env-file --secret --secret-file -w --workdir -u --user --hostname -i --interactive -t --tty --stdio --mcp
	--network --allow --deny --ask --add-host --network-join -p --publish --isolation --landlock --idmap --cap-add --cap-drop --nesting --seccomp -m --memory --cpus --pids-limit
	--disk --cgroup-parent --best-effort --ulimit --timeout --audit --json --learn --dry-run --rm -q --quiet -h --help'
_hutch_create_only='--keep --label --main --restart --stop-signal --stop-timeout --ttl --idle-timeout --sample --lease'
_hutch_not_create='--dry-run --name'
_hutch_not_fork='--image --pull'
_hutch_run_only='--learn -i --interactive -t --tty --stdio --mcp'
_hutch_run_create='--entrypoint --rm'
_hutch_why_only='-t --tty --rule'
_hutch_questions='read write exec connect syscall act'
_hutch_act_only='--stream --confirm'
_hutch_act_create='--rule --lint --plugin'
_hutch_shell_flags='-e --env --env-file --secret --secret-file -w --workdir -u --user --timeout -q --quiet -h --help'
_hutch_exec_flags="$_hutch_shell_flags -i --interactive -t --tty -d --detach"
# The flags of the verbs that take names and little else.
declare -gA _hutch_small_flags=([connect]='-d --descriptor' [ps]='-a --all --json -q --quiet --no-trunc --format --filter'
	[inspect]='' [logs]='-f --follow -n --tail --supervisor' [events]='-f --follow -a --all --json'
	[stats]='--json --no-stream' [wait]='-q --quiet' [pause]='-q --quiet' [unpause]='-f --force' [rename]=''
	[update]='-m --memory --cpus --pids-limit'
	[start]='-e --env --env-file --secret --secret-file --json -q --quiet'
	[stop]='-q --quiet -t --time' [kill]='' [rm]='-f --force -q --quiet' [diff]='--json -p --patch -q --quiet'
	[apply]='-f --force --include-protected --partial -i --interactive -y --yes --dry-run -q --quiet'
	[discard]='--all -y --yes' [changes]='--json -q --quiet --no-trunc' [snapshot]='-m --message -q --quiet'
	[commit]='-m --message')
_hutch_cp_flags='-L --follow-link -q --quiet --max-size --idle-timeout -h --help'
_hutch_serve_flags='--listen --socket --key-file --tls-cert --tls-key --url --host --origin --image -m --memory --cpus --name
	--idle-pause --connections --pod --max-sandboxes --drain -q --quiet -h --help'
_hutch_route_flags='--pod --service --listen --metrics --wait --connections -q --quiet -h --help'
_hutch_doctor_flags='--json -h --help'
_hutch_bwrap_flags='--help --version --args --argv0 --level-prefix --dry-run --unshare-all --share-net --unshare-user --unshare-user-try
	--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --unshare-cgroup-try --userns --userns2
	--disable-userns --assert-userns-disabled --pidns --uid --gid --hostname --chdir --clearenv --setenv --unsetenv
	--lock-file --sync-fd --bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --bind-fd --ro-bind-fd
	--remount-ro --overlay-src --overlay --tmp-overlay --ro-overlay --exec-label --file-label --proc --dev --tmpfs
	--mqueue --dir --file --bind-data --ro-bind-data --symlink --seccomp --add-seccomp-fd --block-fd --userns-block-fd
	--info-fd --json-status-fd --not-a-security-boundary --new-session --die-with-parent --as-pid-1 --cap-add --cap-drop --perms --size --chmod'
_hutch_with_value='@(--policy|--image|--pull|--entrypoint|--upper|-v|--volume|--workspace|--name|--protect|--rule|--toolchain|--tmpfs|-e|--env|--env-file|--secret|--secret-file|-w|--workdir|-u|--user|--hostname|--stdio|--network|--allow|--deny|--ask|--add-host|--network-join|-p|--publish|--isolation|--landlock|--idmap|--cap-add|--cap-drop|--seccomp|-m|--memory|--cpus|--pids-limit|--disk|--cgroup-parent|--ulimit|--timeout|--audit|--learn|--label|--plugin|--restart|--stop-signal|--stop-timeout|--ttl|--idle-timeout|--sample|--lease)'
_hutch_limits='as core cpu data fsize locks memlock msgqueue nice nofile nproc rss
	rtprio rttime sigpending stack'
_hutch_caps='CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK
	IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PACCT SYS_BOOT SYS_TIME
	SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
	MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF
	CHECKPOINT_RESTORE'
_hutch_refused_caps='SYS_PTRACE SYS_ADMIN SYS_NICE SYS_RESOURCE'

_hutch_words()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_hutch_paths() # file|directory
{
	mapfile -t COMPREPLY < <(compgen -A "$1" -- "$cur")
	compopt -o filenames 2>/dev/null
}

# readline splits SRC:DST:MODE at each ':'.
_hutch_volume() # the flag's words up to here
{
	case $1 in
	*:*:*) _hutch_words 'ro rw cow' ;;
	*:*) ;; # a path inside
	*) _hutch_paths file ;;
	esac
}

_hutch_workspace()
{
	case $1 in
	*:*) _hutch_words 'ro rw cow' ;;
	*) _hutch_paths directory ;;
	esac
}

# Prints the images in the store by their shortest names.
_hutch_stored()
{
	"${COMP_WORDS[0]}" image ls 2>/dev/null | awk 'NR > 1 && $2 != "<none>" { print $1 ":" $2 }'
}

_hutch_image()
{
	case $1 in
	dir:*) _hutch_paths directory ;;
	*:*) ;; # readline has split the name of an image, which is offered whole
	*) _hutch_words "host dir: $(_hutch_stored)" && [[ ${COMPREPLY[0]} == dir: ]] && compopt -o nospace 2>/dev/null ;;
	esac
}

# $1: the flag; $2: the part of its value before the cursor.
_hutch_value()
{
	case $1 in
	--pull) _hutch_words 'missing always never' ;;
	--network) _hutch_words 'none allow host ns:' ;;
	--isolation) _hutch_words 'auto namespaces landlock' ;;
	--landlock) _hutch_words 'auto on off' ;;
	--idmap) _hutch_words 'single ranges' ;;
	--stdio) _hutch_words inherit ;;
	--restart) _hutch_words 'no on-failure always unless-stopped' ;;
	--stop-signal) _hutch_words 'TERM INT QUIT HUP USR1 USR2 KILL' ;;
	--user | -u) _hutch_words 'agent root' ;;
	--cap-add) _hutch_words "$_hutch_caps" ;;
	--cap-drop) _hutch_words "ALL $_hutch_caps $_hutch_refused_caps" ;;
	--ulimit)
		[[ $2 == *=* ]] && return
		_hutch_words "$_hutch_limits"
		compopt -o nospace 2>/dev/null
		COMPREPLY=("${COMPREPLY[@]/%/=}")
		;;
	--env | -e | --secret)
		[[ $2 == *=* ]] && return
		mapfile -t COMPREPLY < <(compgen -e -- "$cur")
		;;
	--env-file | --secret-file | --seccomp | --learn) _hutch_paths file ;;
	--policy) _hutch_policies ;;
	--audit)
		_hutch_paths directory
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W 'on off' -- "$cur")
		;;
	--toolchain | --cgroup-parent | --upper) _hutch_paths directory ;;
	--volume | -v) _hutch_volume "$2" ;;
	--workspace) _hutch_workspace "$2" ;;
	--image) _hutch_image "$2" ;;
	esac
}

# Finds where the cursor is: _hutch_state is "flag", "command N" (N: the index of the
# command's first word), or "value FLAG TEXT".
_hutch_locate()
{
	local i=2 flag text
	while ((i < COMP_CWORD)); do
		flag=${COMP_WORDS[i]}
		if [[ $flag == -- ]]; then
			_hutch_state=("command" $((i + 1)))
			return
		elif [[ $flag != -?* ]]; then
			_hutch_state=("command" "$i")
			return
		fi
		i=$((i + 1))
		[[ $flag == $_hutch_with_value || ${COMP_WORDS[i]} == = ]] || continue
		[[ ${COMP_WORDS[i]} == = ]] && ((i < COMP_CWORD)) && i=$((i + 1))
		# readline splits a value at ':' and '=' into words; no blank stands between
		# these.
		text=${COMP_WORDS[i]}
		while ((i < COMP_CWORD)) &&
			[[ ${COMP_WORDS[i]} == *[:=] || ${COMP_WORDS[i + 1]} == [:=]* ]]; do
			i=$((i + 1))
			text+=${COMP_WORDS[i]}
		done
		if ((i >= COMP_CWORD)); then
			_hutch_state=("value" "$flag" "$text")
			return
		fi
		i=$((i + 1))
	done
	_hutch_state=("flag")
}

# Completes the names of live sandboxes; with -a also those of ended ones.
_hutch_names() # [-a]
{
	_hutch_words "$("${COMP_WORDS[0]}" ps -q "$@" 2>/dev/null)"
}

# Completes the questions of `hutch why`, and the sandboxes that one is about.
_hutch_asked()
{
	_hutch_words "$_hutch_questions $("${COMP_WORDS[0]}" ps -q 2>/dev/null)"
}

# Completes the sources of a fork or an image: sandboxes and images.
_hutch_sources()
{
	local words
	_hutch_names
	words=("${COMPREPLY[@]}")
	_hutch_references
	COMPREPLY+=("${words[@]}")
}

# The flags of a verb that makes a sandbox.
_hutch_maker_flags() # VERB
{
	local not
	case $1 in
	run) not='' ;;
	act) not="$_hutch_run_only $_hutch_run_create --json" ;;
	why) not="$_hutch_run_only $_hutch_run_create $_hutch_not_create" ;;
	create) not="$_hutch_run_only $_hutch_not_create" ;;
	fork) not="$_hutch_run_only $_hutch_not_create $_hutch_not_fork" ;;
	esac
	grep -vxFf <(tr -s ' \n\t' '\n' <<<"$not") <(tr -s ' \n\t' '\n' <<<"$_hutch_flags")
	case $1 in
	act) echo "$_hutch_act_only $_hutch_act_create" ;;
	create | fork) echo "$_hutch_create_only $_hutch_act_create" ;;
	why) echo "$_hutch_why_only" ;;
	esac
}

_hutch_run()
{
	local _hutch_state=() verb=${COMP_WORDS[1]}
	_hutch_locate
	case ${_hutch_state[0]} in
	value) _hutch_value "${_hutch_state[1]}" "${_hutch_state[2]}" ;;
	flag)
		if [[ $cur == -* ]]; then
			_hutch_words "$(_hutch_maker_flags "$verb")"
		elif [[ $verb == act && $COMP_CWORD == 2 ]]; then
			_hutch_names
		elif [[ $verb == fork ]]; then
			_hutch_sources
		elif [[ $verb == why ]]; then
			_hutch_asked
		elif [[ $verb == run ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		fi
		;;
	command) _hutch_command "${_hutch_state[1]}" ;;
	esac
}

# $1: the index, in COMP_WORDS, of the word where the command inside begins.
_hutch_command()
{
	if [[ ${COMP_WORDS[1]} == act ]]; then
		_hutch_words "$_hutch_act_only" # behind a name
	elif [[ ${COMP_WORDS[1]} == create ]]; then
		: # a new name, and nothing behind it
	elif [[ ${COMP_WORDS[1]} == fork ]]; then
		(($1 < COMP_CWORD)) || _hutch_sources # and then a new name
	elif [[ ${COMP_WORDS[1]} == why ]]; then
		if (($1 == COMP_CWORD)); then
			_hutch_asked
		elif [[ ${COMP_WORDS[$1]} == @(read|write|exec) ]]; then
			_hutch_paths file
		elif (($1 + 1 == COMP_CWORD)) && [[ " $_hutch_questions " != *" ${COMP_WORDS[$1]} "* ]]; then
			_hutch_words "connect --connect" # behind a name
		fi
	elif (($1 == COMP_CWORD)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		_hutch_paths file
	fi
}

# These verbs take a sandbox's name before the command, or before the flags of a shell.
_hutch_exec()
{
	local _hutch_state=() flags=$_hutch_exec_flags first
	[[ ${COMP_WORDS[1]} == shell ]] && flags=$_hutch_shell_flags
	_hutch_locate
	first=${_hutch_state[1]}
	case ${_hutch_state[0]} in
	value) _hutch_value "${_hutch_state[1]}" "${_hutch_state[2]}" ;;
	flag)
		[[ $cur == -* ]] && _hutch_words "$flags" || _hutch_names
		;;
	command)
		if ((first == COMP_CWORD)); then
			_hutch_names
		elif [[ ${COMP_WORDS[1]} == shell ]]; then
			_hutch_words "$flags"
		else
			[[ ${COMP_WORDS[first + 1]} == -- ]] && first=$((first + 1))
			_hutch_command $((first + 1))
		fi
		;;
	esac
}

# Completes a path of this host, or a sandbox's name with ":"; paths inside the sandbox cannot be
# completed.
_hutch_cp()
{
	local before=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ $cur == -* ]]; then
		_hutch_words "$_hutch_cp_flags"
	elif [[ $before == : || ${COMP_WORDS[COMP_CWORD]} == : || $before == --@(max-size|idle-timeout) ]]; then
		:
	else
		mapfile -t COMPREPLY < <(compgen -A file -- "$cur"
			compgen -S : -W "$("${COMP_WORDS[0]}" ps -q 2>/dev/null)" -- "$cur")
		compopt -o filenames -o nospace 2>/dev/null
	fi
}

# The verbs of `hutch image`, and the flags of each.
declare -gA _hutch_image_verbs=(
	[pull]='-q --quiet --platform --insecure --no-progress'
	[import]='-n --name'
	[build]='-f --file -t --tag --build-arg --target --no-cache --pull --network --allow
		--add-host -q --quiet'
	[runtime-build]='--base --repo --oh-version --extra-deps --setup --install --no-browser
		--force --dry-run --network --allow --add-host -q --quiet'
	[ls]='-a --all --digests --json -q --quiet --no-trunc'
	[inspect]=
	[exists]=
	[tag]=
	[rm]='-f --force'
	[gc]='--build-cache --dry-run'
	[export]='-o --output --format'
	[quota]=
	[verify]='--repair'
	[help]=
)

_hutch_references()
{
	_hutch_words "$(_hutch_stored)"
}

# Completes the word after WORD, for build and runtime-build: a flag's value, or the folder.
_hutch_building() # WORD
{
	case $1 in
	-f | --file) _hutch_paths file ;;
	-t | --tag | --base) _hutch_references ;;
	--network) _hutch_words 'none allow host ns:' ;;
	--build-arg) mapfile -t COMPREPLY < <(compgen -e -- "$cur") ;;
	--allow | --add-host | --target | --repo | --oh-version | --extra-deps | --setup | --install) ;;
	*) _hutch_paths directory ;;
	esac
}

_hutch_images()
{
	local verb=${COMP_WORDS[2]}
	if ((COMP_CWORD == 2)); then
		_hutch_words "${!_hutch_image_verbs[*]}"
	elif [[ $cur == -* && -v _hutch_image_verbs[$verb] && $verb != help ]]; then
		_hutch_words "${_hutch_image_verbs[$verb]} -h --help"
	elif [[ $verb:${COMP_WORDS[COMP_CWORD - 1]} == export:--format ]]; then
		_hutch_words 'oci docker dir'
	elif [[ $verb:${COMP_WORDS[COMP_CWORD - 1]} == export:@(-o|--output) ]]; then
		_hutch_paths file
	elif [[ $verb == @(build|runtime-build) ]]; then
		_hutch_building "${COMP_WORDS[COMP_CWORD - 1]}"
	elif [[ $verb == import && ${COMP_WORDS[COMP_CWORD - 1]} != -?(-)n?(ame) ]]; then
		_hutch_paths file
	elif [[ $verb == @(pull|inspect|exists|tag|rm|export) ]]; then
		_hutch_references
	fi
}

_hutch_policies()
{
	local names
	_hutch_paths file
	mapfile -t names < <(compgen -W "$(hutch policy list 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$cur")
	COMPREPLY+=("${names[@]}")
}

_hutch_policy()
{
	if ((COMP_CWORD == 2)); then
		_hutch_words 'list show check diff'
	elif [[ $cur == -* ]]; then
		_hutch_words '-h --help'
	elif [[ ${COMP_WORDS[2]} == @(show|check|diff) ]]; then
		_hutch_policies
	fi
}

_hutch_audit()
{
	if ((COMP_CWORD == 2)); then
		_hutch_words 'verify show'
	elif [[ $cur == -* && ${COMP_WORDS[2]} == verify ]]; then
		_hutch_words '--anchor -h --help'
	elif [[ $cur == -* ]]; then
		_hutch_words '--json --since --sandbox -h --help'
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --sandbox ]]; then
		_hutch_names -a
	else
		_hutch_paths directory
	fi
}

_hutch_port()
{
	if ((COMP_CWORD == 2)); then
		_hutch_words 'add rm ls'
	elif [[ $cur == -* && ${COMP_WORDS[2]} == ls ]]; then
		_hutch_words '--json -h --help'
	elif [[ $cur == -* ]]; then
		_hutch_words '-h --help'
	elif ((COMP_CWORD == 3)) || [[ ${COMP_WORDS[2]} == ls ]]; then
		_hutch_names
	elif [[ ${COMP_WORDS[2]} == rm ]]; then
		_hutch_words "$("${COMP_WORDS[0]}" port ls "${COMP_WORDS[3]}" 2>/dev/null |
			awk 'NR > 1 { sub(/^127\.0\.0\.1:/, "", $1); print $1 }')"
	fi
}

_hutch_plugin()
{
	if ((COMP_CWORD == 2)); then
		_hutch_words 'ls check install url'
	elif [[ $cur == -* ]]; then
		case ${COMP_WORDS[2]} in
		ls) _hutch_words '--json -h --help' ;;
		install) _hutch_words '--allow -h --help' ;;
		*) _hutch_words '-h --help' ;;
		esac
	elif [[ ${COMP_WORDS[2]} == check ]]; then
		_hutch_paths directory
	elif [[ ${COMP_WORDS[2]} == url ]] && ((COMP_CWORD == 3)); then
		_hutch_names
	elif [[ ${COMP_WORDS[2]} == @(install|url) ]]; then
		_hutch_words "$("${COMP_WORDS[0]}" plugin ls 2>/dev/null | awk 'NR > 1 { print $1 }')"
	fi
}

_hutch_net()
{
	local words="${COMP_WORDS[3]} $cur"
	if ((COMP_CWORD == 2)); then
		_hutch_names
	elif ((COMP_CWORD == 3)); then
		_hutch_words 'ls allow deny ask rm log answer'
	else
		case $words in
		'ls -'*) _hutch_words '--json -h --help' ;;
		'log -'*) _hutch_words '-f --follow --json -h --help' ;;
		'answer -'*) _hutch_words '--for -h --help' ;;
		[ad]*' -'*) _hutch_words '--why -h --help' ;;
		'rm -'*) _hutch_words '-h --help' ;;
		answer\ *)
			[[ ${COMP_WORDS[COMP_CWORD - 1]} != --for ]] || _hutch_words 'once sandbox'
			[[ ${COMP_WORDS[COMP_CWORD - 1]} != +([0-9]) ]] || _hutch_words 'yes no'
			;;
		rm\ *)
			_hutch_words "$("${COMP_WORDS[0]}" net "${COMP_WORDS[2]}" ls 2>/dev/null |
				awk '!NF { exit } NR > 1 { print $3 }')"
			;;
		esac
	fi
}

# After the pool's name, `hutch pool create` takes the flags of `hutch create`.
_hutch_pool()
{
	case $COMP_CWORD:${COMP_WORDS[2]}:$cur in
	2:*) _hutch_words 'create ls take exec rm' ;;
	*:create:-*) _hutch_words "--size $(_hutch_maker_flags create | grep -vx -e -p -e --publish)" ;;
	*:ls:-*) _hutch_words '--json -q --quiet -h --help' ;;
	*:take:-*) _hutch_words '--name --timeout -d --descriptor -h --help' ;;
	*:exec:-*) _hutch_words "$(grep -vxFf <(printf '%s\n' -d --detach) <(tr ' ' '\n' <<<"$_hutch_exec_flags"))" ;;
	*:rm:-*) _hutch_words '-h --help' ;;
	*:take:* | *:exec:* | *:rm:*)
		[[ ${COMP_WORDS[COMP_CWORD - 1]} == @(--name|--timeout|--) ]] ||
			_hutch_words "$("${COMP_WORDS[0]}" pool ls -q 2>/dev/null)"
		;;
	esac
}

# The words behind -- are flags of `hutch create`.
_hutch_serve()
{
	local before=" ${COMP_WORDS[*]:2:COMP_CWORD-2} "
	if [[ $before == *' -- '* ]]; then
		[[ $cur != -* ]] || _hutch_words "$(_hutch_maker_flags create)"
		return
	fi
	case $cur:${COMP_WORDS[COMP_CWORD - 1]} in
	-*) _hutch_words "$_hutch_serve_flags" ;;
	*:--socket | *:--key-file | *:--tls-cert | *:--tls-key) _hutch_paths file ;;
	*:--image) _hutch_words "$(_hutch_stored)" ;;
	esac
}

_hutch_small() # VERB
{
	if [[ $cur == -* ]]; then
		_hutch_words "${_hutch_small_flags[$1]} -h --help"
		return
	fi
	case $1:${COMP_WORDS[COMP_CWORD - 1]} in
	start:--env-file | start:--secret-file) _hutch_paths file ;;
	start:-e | start:--env | start:--secret) ;;
	update:-m | update:--memory | update:--cpus | update:--pids-limit | stop:-t | stop:--time | logs:-n | logs:--tail | snapshot:-m | commit:-m | *:--message | ps:* | changes:*) ;;
	commit:*) _hutch_sources ;;
	rm:* | start:* | inspect:* | logs:* | wait:* | diff:* | apply:* | discard:*) _hutch_names -a ;;
	*) _hutch_names ;;
	esac
}

# Images are files and folders, but for those of registries.
_hutch_apptainer()
{
	if ((COMP_CWORD == 2)); then
		_hutch_words 'exec run shell build pull instance inspect cache version'
	elif ((COMP_CWORD == 3)) && [[ ${COMP_WORDS[2]} == instance ]]; then
		_hutch_words 'start list stop'
	elif ((COMP_CWORD == 3)) && [[ ${COMP_WORDS[2]} == cache ]]; then
		_hutch_words 'clean list'
	else
		_hutch_paths file
	fi
}

# Flags come from the verb's help.
_hutch_oci()
{
	local verb
	((COMP_CWORD < 3)) || verb=${COMP_WORDS[2]}
	if [[ $cur == -* ]]; then
		_hutch_words "$(hutch oci $verb --help 2>/dev/null | sed -nE 's/^ +(-[A-Za-z] )?(--[a-z-]+) .*/\1\2/p')"
	elif [[ ! -v verb ]]; then
		_hutch_words "$(hutch oci --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p')"
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --@(bundle|root) ]]; then
		_hutch_paths directory
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --@(config|log|pid-file|process|resources|console-socket) ]]; then
		_hutch_paths file
	elif [[ $verb != @(create|run|list|features|spec) ]]; then
		_hutch_words "$(hutch oci list -q 2>/dev/null)"
	fi
}

_hutch()
{
	local cur=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	[[ $cur == [:=] ]] && cur=''
	if ((COMP_CWORD == 1)); then
		_hutch_words "$_hutch_verbs"
	elif [[ ${COMP_WORDS[1]} == @(run|act|create|fork|why) ]]; then
		_hutch_run
	elif [[ ${COMP_WORDS[1]} == @(exec|shell) ]]; then
		_hutch_exec
	elif [[ ${COMP_WORDS[1]} == mcp && $cur == -* ]]; then
		_hutch_words "--tools --sandbox $(_hutch_maker_flags create)"
	elif [[ ${COMP_WORDS[1]} == cp ]]; then
		_hutch_cp
	elif [[ -v _hutch_small_flags[${COMP_WORDS[1]}] ]]; then
		_hutch_small "${COMP_WORDS[1]}"
	elif [[ ${COMP_WORDS[1]} == image ]]; then
		_hutch_images
	elif [[ ${COMP_WORDS[1]} == policy ]]; then
		_hutch_policy
	elif [[ ${COMP_WORDS[1]} == audit ]]; then
		_hutch_audit
	elif [[ ${COMP_WORDS[1]} == port ]]; then
		_hutch_port
	elif [[ ${COMP_WORDS[1]} == net ]]; then
		_hutch_net
	elif [[ ${COMP_WORDS[1]} == plugin ]]; then
		_hutch_plugin
	elif [[ ${COMP_WORDS[1]} == pool ]]; then
		_hutch_pool
	elif [[ ${COMP_WORDS[1]} == serve ]]; then
		_hutch_serve
	elif [[ ${COMP_WORDS[1]} == route && $cur == -* ]]; then
		_hutch_words "$_hutch_route_flags"
	elif [[ ${COMP_WORDS[1]} == doctor ]]; then
		_hutch_words "$_hutch_doctor_flags"
	elif [[ ${COMP_WORDS[1]} == bwrap && $cur == -* ]]; then
		_hutch_words "$_hutch_bwrap_flags"
	elif [[ ${COMP_WORDS[1]} == apptainer ]]; then
		_hutch_apptainer
	elif [[ ${COMP_WORDS[1]} == oci ]]; then
		_hutch_oci
	elif [[ ${COMP_WORDS[1]} == help ]]; then
		_hutch_words "$_hutch_verbs"
	fi
}

complete -F _hutch hutch
