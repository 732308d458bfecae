#!/bin/bash
# leak.bash HUTCH: makes LAUNCHES (500) launches, and checks that the host is as before: mounts,
# processes, folders of hutch, open files of the kernel, and kernel memory.  Programs of other
# tests change these values, too; so the test fails only if each launch leaves almost one open
# file, or an eighth of a process, on average.
set -u
source "${BASH_SOURCE[0]%/*}/helpers.bash"
hutch=$1
# Other programs mount and unmount at any time.  So root's launches are in a mount namespace of
# their own; other users cannot mount anything here.
if is_root && [[ -z ${APART:-} ]]; then
	exec env APART=1 unshare -m "$0" "$@"
fi
launches=${LAUNCHES:-500}
at_once=8

# Values that must not change at all.
exact() {
	! is_root || cat /proc/self/mountinfo
	for folder in "$XDG_RUNTIME_DIR" "$HOME/.cache/hutch" "$HOME/.local/share/hutch"; do
		find "$folder" 2>/dev/null
	done
	pgrep -f "$mark"
}

# Values that other programs change, too: open files of the machine, processes,
# and the kernel's memory that is not reclaimed, in KiB.
about() {
	read -r files _ </proc/sys/fs/file-nr
	local all=(/proc/[0-9]*)
	tasks=${#all[@]}
	kernel=$(awk '/^(SUnreclaim|KernelStack|PageTables|Percpu):/ { n += $2 } END { print n }' /proc/meminfo)
}

launch_all() {
	local i
	for ((i = 0; i < $1; i += at_once)); do
		for ((j = 0; j < at_once; j++)); do
			"$hutch" run sh -c ": $mark" </dev/null >/dev/null 2>>"$errors" || echo failed >>"$errors" &
		done
		wait
	done
}

# This waits, since the kernel frees namespaces later, in work queues.
is_settled() {
	about
	((files <= files_before + launches * 4 / 5 && tasks <= tasks_before + launches / 8 &&
		kernel <= kernel_before + 65536))
}

mark=leak.$$
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
# The first launches fill caches, which is no leak.
launch_all 64
before=$(exact)
about
files_before=$files tasks_before=$tasks kernel_before=$kernel
launch_all "$launches"

if [[ -s $errors ]]; then
	echo "launches failed:"
	sort "$errors" | uniq -c | head -5
	exit 1
fi
if [[ $(exact) != "$before" ]]; then
	echo "mounts, folders or processes are not as before:"
	diff <(echo "$before") <(exact)
	exit 1
fi
if ! until_true is_settled; then
	echo "files $files_before -> $files, tasks $tasks_before -> $tasks, kernel memory" \
		"$kernel_before -> $kernel KiB"
	exit 1
fi
echo "$launches launches: files $files_before -> $files, tasks $tasks_before -> $tasks," \
	"kernel memory $kernel_before -> $kernel KiB"
