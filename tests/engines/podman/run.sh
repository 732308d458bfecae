#!/bin/bash
# run.sh: rootless podman with a given runtime, a command line a test (commands.sh).
#
#	RUNTIME=/path/to/a/runtime tests/engines/podman/run.sh
#
# RUNTIME (default: crun, runc and the newest runc) is the program to test.  Root starts it, and
# podman runs as the ordinary user, with images and containers of its own.  Prints TAP; the output of each command is
# kept in LOGS (default: build/engines).
set -u
. "$(dirname "$0")/../engines.sh"

needs_root
needs podman podman
needs busybox busybox-static
version=$(podman --version)
version=${version##* }
for program in $(references); do
	runtime=$(program_path "$program") || give_up "$program is not installed"
	name=$(program_name "$runtime")
	log=$logs/podman-$name
	work_new
	cp "$engines/podman/commands.sh" "$engines/expect.sh" "$(command -v busybox)" "$work"
	export work runtime
	export -f as_user
	apart timeout -k 5 600 bash -c 'as_user env FOLDER="$work" RUNTIME="$runtime" "$work/commands.sh"' \
		>"$log.log" 2>"$log.log.err" </dev/null
	counted "podman $version commands" "$name" "$(tally "$log.log")"
	sed -n "s/^not ok [0-9]* - /# $name, not: /p" "$log.log"
	work_end
done
plan
