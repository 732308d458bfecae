# no_overlay.bash -- functions for tests of images on a host without overlayfs, which a seccomp
# filter imitates. (tests/vm/plain.sh has a kernel without it.)

# needs_filter: skips the test if the filter cannot be used; from here on $REAL is hutch, and
# `without` makes $HUTCH a script that runs it behind the filter.
needs_filter() {
	needs_static
	command -v busybox >/dev/null || skip "busybox-static is not installed"
	tool forbid
	REAL=$HUTCH
}

# without MODE [FOLDER]: from now on $HUTCH runs behind the filter of that MODE (forbid.c).
# FOLDER comes first in PATH; `only` makes PATH empty, so that fuse-overlayfs is not found.
without() {
	local path="${2:-/nowhere}:$PATH"
	[ "${2-}" != only ] || path=/nowhere
	printf '#!/bin/sh\nPATH="%s"\nexec "%s" %s "%s" "$@"\n' "$path" "$BUILD/tests/run/forbid" \
		"$1" "$REAL" >"$T/hutch"
	chmod 755 "$T/hutch"
	HUTCH=$T/hutch
}

# base FOLDER: makes a root file system with busybox, and in /data a file with two names, a link
# and folders.
base() {
	local name
	mkdir -p "$1"/{bin,etc,data/sub/deep}
	cp "$(command -v busybox)" "$1/bin/busybox"
	for name in sh ls cat echo stat rm mkdir rmdir mv ln sleep readlink id test true find \
		touch chmod ps kill grep wc seq mount; do
		ln -s busybox "$1/bin/$name"
	done
	echo "of the image" >"$1/data/file"
	ln "$1/data/file" "$1/data/twin"
	ln -s file "$1/data/link"
	echo deep >"$1/data/sub/deep/file"
	echo "127.0.0.1 image" >"$1/etc/hosts"
	give "$1"
}

# says_so WHY: checks that stderr is exactly the note $note, with the reason WHY.
says_so() {
	[[ $stderr == "$note (mount an overlay: $1); "* ]] && ((${#stderr_lines[@]} == 1))
}

# left: lists the files that roots of sandboxes have left behind.
left() {
	find home runtime -name '.upper-*'
}

# until_gone COMMAND...: repeats COMMAND until it prints nothing.
until_gone() {
	until_true prints_nothing "$@"
}

prints_nothing() {
	[ -z "$("$@" 2>/dev/null)" ]
}
