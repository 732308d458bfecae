#!/bin/bash
# run.sh BUILD STAGE COMMAND...: tests stock OpenHands and Inspect with hutch.openhands and
# hutch.inspect, OpenHands and E2B's SDKs with hutch serve, MCP's clients with hutch mcp, and
# OpenHands, mini-swe-agent and SWE-ReX with hutch as docker, OpenHands with hutch as apptainer, and
# sandbox-runtime with hutch as bwrap.  OpenHands needs a newer Python than Debian 12 has, so the
# /usr of these tests, on the host's side as inside, is that of a Debian 13, which root installs by
# debootstrap.  COMMAND... runs a program as the ordinary user, who installs the newest packages of
# PyPI and npm once.  Both stay in
# build-vm, so that a second run downloads nothing.  STAGE has the tests where that user can read
# them.  Prints TAP.
set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
build=$1 stage=$2
shift 2
. "$top/tests/vm/image.sh"
. "$top/tests/machine.bash"
machine_needs agents
# shellcheck disable=SC2034 # of image_base
suite=trixie
# hutch-serve, which was built for the host, needs two libraries.
image_base adduser,bubblewrap,ca-certificates,curl,git,jq,libarchive13t64,libmicrohttpd12t64,procps,python3-venv,ripgrep,socat,tmux,uidmap || exit
store=$base.agents
mkdir -p "$store" && chown "$("$@" id -u)" "$store" || exit
[ -e "$store/base.tar" ] || {
	tar -C "$base" -cf "$store/part" . && mv "$store/part" "$store/base.tar"
} || exit
mkdir -p "$stage/agent-store" || exit
export HUTCH=$build/hutch STORE=$stage/agent-store
# The image is imported with the host's own /usr, for which hutch-image was built.
# shellcheck disable=SC2016 # of the inner shell
exec unshare --mount sh -c 'mount --bind "$1" "$STORE" && cd "$3" || exit
	base=$2 user=$3/tests/clients/agents/user.sh
	shift 3
	"$@" "$user" import && mount --bind "$base/usr" /usr && hash -r && exec "$@" "$user" test' - \
	"$store" "$base" "$stage" "$@" env HUTCH="$HUTCH" STORE="$STORE"
