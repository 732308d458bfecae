#!/bin/bash
# run.sh BUILD STAGE COMMAND...: tests real clients in sandboxes with --network allow.  Root
# installs a base by debootstrap, and COMMAND... runs a program as the ordinary user, who builds
# the image from it by `hutch image build --allow @debian`.  Both stay in build-vm, so that a
# second run downloads nothing.  STAGE has the tests where that user can read them.  Prints TAP.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$1 stage=$2
shift 2
. "$top/tests/vm/image.sh"
. "$top/tests/machine.bash"
machine_needs clients
image_base adduser,ca-certificates || exit
store=$base.clients
mkdir -p "$store" && chown "$("$@" id -u)" "$store" || exit
[ -e "$store/base.tar" ] || {
	tar -C "$base" -cf "$store/part" . && mv "$store/part" "$store/base.tar"
} || exit
# The user may not be allowed to look into build-vm, but is into the mount of one folder of it.
mkdir -p "$stage/client-store" || exit
# shellcheck disable=SC2016 # of the inner shell
exec unshare --mount sh -c 'mount --bind "$1" "$2/client-store" && cd "$2" && shift 2 && exec "$@"' - \
	"$store" "$stage" "$@" env HUTCH="$build/hutch" XDG_DATA_HOME="$stage/client-store" \
	BASE="$stage/client-store/base.tar" "$stage/tests/clients/user.sh"
