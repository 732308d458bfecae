# bash completion for hutch(1)

# The words, and those of each flag, in one place; tests/run/completion.bats holds
# them against `hutch run --help` and `hutch doctor --help`.
_hutch_verbs='act run doctor version help'
_hutch_flags='--image -v --volume --workspace --toolchain --tmpfs --read-only -e --env
	--env-file -w --workdir -u --user --hostname -i --interactive -t --tty --stdio
	--network --idmap --cap-add --cap-drop --seccomp -m --memory --cpus --pids-limit
	--disk --cgroup-parent --best-effort --ulimit --timeout --json --dry-run --rm -h --help'
_hutch_run_only='-i --interactive -t --tty --stdio --json --rm'
_hutch_act_only='--stream'
_hutch_doctor_flags='--json -h --help'
_hutch_with_value='@(--image|-v|--volume|--workspace|--toolchain|--tmpfs|-e|--env|--env-file|-w|--workdir|-u|--user|--hostname|--stdio|--network|--idmap|--cap-add|--cap-drop|--seccomp|-m|--memory|--cpus|--pids-limit|--disk|--cgroup-parent|--ulimit|--timeout)'
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

# SRC:DST:MODE arrives as words of its own, since ':' separates words for readline.
_hutch_volume() # the flag's words up to here
{
	case $1 in
	*:*:*) _hutch_words 'ro rw' ;;
	*:*) ;; # a path inside
	*) _hutch_paths file ;;
	esac
}

_hutch_workspace()
{
	case $1 in
	*:*) _hutch_words 'ro rw' ;;
	*) _hutch_paths directory ;;
	esac
}

_hutch_image()
{
	case $1 in
	dir:*) _hutch_paths directory ;;
	*) _hutch_words 'host dir:' && [[ ${COMPREPLY[0]} == dir: ]] && compopt -o nospace 2>/dev/null ;;
	esac
}

# $1: the flag; $2: its value up to the cursor.
_hutch_value()
{
	case $1 in
	--network) _hutch_words 'none host' ;;
	--idmap) _hutch_words 'single ranges' ;;
	--stdio) _hutch_words inherit ;;
	--user | -u) _hutch_words 'agent root' ;;
	--cap-add) _hutch_words "$_hutch_caps" ;;
	--cap-drop) _hutch_words "ALL $_hutch_caps $_hutch_refused_caps" ;;
	--ulimit)
		[[ $2 == *=* ]] && return
		_hutch_words "$_hutch_limits"
		compopt -o nospace 2>/dev/null
		COMPREPLY=("${COMPREPLY[@]/%/=}")
		;;
	--env | -e)
		[[ $2 == *=* ]] && return
		mapfile -t COMPREPLY < <(compgen -e -- "$cur")
		;;
	--env-file | --seccomp) _hutch_paths file ;;
	--toolchain | --cgroup-parent) _hutch_paths directory ;;
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
		# Words that ':' and '=' cut a value into have no blank before them.
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

_hutch_run()
{
	local _hutch_state=()
	_hutch_locate
	case ${_hutch_state[0]} in
	value) _hutch_value "${_hutch_state[1]}" "${_hutch_state[2]}" ;;
	flag)
		if [[ $cur == -* && ${COMP_WORDS[1]} == act ]]; then
			_hutch_words "$(grep -vxFf <(tr -s ' \n\t' '\n' <<<"$_hutch_run_only") \
				<(tr -s ' \n\t' '\n' <<<"$_hutch_flags")) $_hutch_act_only"
		elif [[ ${COMP_WORDS[1]} == act ]]; then
			: # it takes no command
		elif [[ $cur == -* ]]; then
			_hutch_words "$_hutch_flags"
		else
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		fi
		;;
	command)
		if ((_hutch_state[1] == COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		else
			_hutch_paths file
		fi
		;;
	esac
}

_hutch()
{
	local cur=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	[[ $cur == [:=] ]] && cur=''
	if ((COMP_CWORD == 1)); then
		_hutch_words "$_hutch_verbs"
	elif [[ ${COMP_WORDS[1]} == @(run|act) ]]; then
		_hutch_run
	elif [[ ${COMP_WORDS[1]} == doctor ]]; then
		_hutch_words "$_hutch_doctor_flags"
	elif [[ ${COMP_WORDS[1]} == help ]]; then
		_hutch_words "$_hutch_verbs"
	fi
}

complete -F _hutch hutch
