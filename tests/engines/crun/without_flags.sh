#!/bin/bash
# without_flags.sh ARGUMENT...: runs the runtime $WITHOUT without the two flags that only crun has and
# that its tests give every time: --cgroup-manager MANAGER, and --config config.json.
arguments=()
while [ $# -gt 0 ]; do
	case $1 in
	--cgroup-manager) shift ;;
	--config) [ "$2" = config.json ] && shift || arguments+=("$1") ;;
	*) arguments+=("$1") ;;
	esac
	shift
done
exec "${WITHOUT:?}" "${arguments[@]}"
