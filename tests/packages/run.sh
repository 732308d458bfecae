#!/bin/bash
# run.sh BUILD STAGE COMMAND...: tests package managers in an image of Debian,
# which debootstrap installs once, as root; the cache names it by its list of
# packages.  STAGE has the tests where the ordinary user can read them, and
# COMMAND... runs a program as that user.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$1 stage=$2
shift 2
. "$top/tests/vm/image.sh"
image_base adduser && tar -C "$base" -cf "$stage/debian.tar" . || exit
cd "$stage" || exit
"$@" env HUTCH="$build/hutch" BUILD="$build" DEBIAN="$stage/debian.tar" \
	bats --tap "$stage/tests/packages/packages.bats"
