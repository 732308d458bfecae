#!/usr/bin/env bash
# build.sh MAKE ARGUMENT...: runs make, and shows its progress on one line.
#
# Errors and warnings of make and of the compilers go to stderr unchanged.
set -uo pipefail

# The form in which the Makefile announces a file that it is about to make; a dry run shows the
# commands that print these lines.
announced='^ +(CC|GEN|LINK|AR) '
announcing="printf '  %-5s %s.n' (CC|GEN|LINK|AR) "

# Where the output is no terminal, lines cannot be overwritten, so only every 25th file is shown.
step=25
[[ -t 1 ]] && step=1

show() {
	local line count=0
	while IFS= read -r line; do
		[[ $line =~ $announced ]] || continue
		((++count % step == 0)) || continue
		if [[ -t 1 ]]; then
			printf '\r  file %d of %d' "$count" "$total"
		else
			printf '  file %d of %d\n' "$count" "$total"
		fi
	done
	[[ ! -t 1 || $count -eq 0 ]] || echo
}

echo 'Building hutch'
total=$("$@" V=0 -n 2>/dev/null | grep -cE "$announcing")
[[ $total -gt 0 ]] || echo '  all is built already'
"$@" V=0 -s | show
