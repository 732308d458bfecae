#!/bin/bash
# user.sh: the part of run.sh that the ordinary user does: builds the image with $HUTCH, starts
# the servers, and runs clients.py, browser.py, editor.py, kernel.py and nesting.py.  $XDG_DATA_HOME
# has the store, and $BASE is a tar of Debian.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../patience.bash"
export PATIENCE HUTCH
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
trap 'exit 143' HUP INT TERM
mkdir -m 700 "$T/runtime"
export XDG_RUNTIME_DIR=$T/runtime HOME=$T WORLD=$T/world
export CLIENT_BOX="$HUTCH run -i --image clients"

box() {
	"$HUTCH" run -i --image clients "$@"
}

# mirror: prints the rule for the address of Debian's mirror, if the address is not a public one.
mirror() {
	python3 -SE -c 'if 1:
		import ipaddress, socket
		address = socket.getaddrinfo("deb.debian.org", 80, proto=socket.IPPROTO_TCP)[0][4][0]
		print("" if ipaddress.ip_address(address).is_global else address)'
}

# make_image: a step that was made before is taken again; the network is needed for the others.
make_image() {
	"$HUTCH" image exists clients-base || "$HUTCH" image import "$BASE" --name clients-base
	local flags=(--allow @debian) address
	address=$(mirror) && [ -n "$address" ] && flags+=(--allow "$address")
	"$HUTCH" image build -q "${flags[@]}" -t clients "$here"
}

make_repository() {
	git init -q --bare -b main "$WORLD/git/a.git"
	local tree commit
	tree=$(git -C "$WORLD/git/a.git" mktree </dev/null)
	commit=$(git -C "$WORLD/git/a.git" -c user.name=ada -c user.email=ada commit-tree -m first "$tree")
	git -C "$WORLD/git/a.git" update-ref refs/heads/main "$commit"
}

make_keys() {
	box -v "$WORLD/keys:/keys" -v "$WORLD/ssh:/ssh" -- sh -euc '
		ssh-keygen -q -t ed25519 -N "" -f /keys/user
		ssh-keygen -q -t ed25519 -N "" -f /ssh/host
		cp /keys/user.pub /ssh/authorized
		echo "example.org $(cat /ssh/host.pub)" >/keys/known
		printf "%s\n" "HostKey /ssh/host" "AuthorizedKeysFile /ssh/authorized" "UsePAM no" \
			"StrictModes no" "PidFile none" >/ssh/config'
}

# with_postgres COMMAND...: runs it while PostgreSQL serves, and says whether it succeeded.
with_postgres() {
	local server code=0 line
	# shellcheck disable=SC2016 # of the inner shell
	exec 5< <(exec "$HUTCH" run --image clients -v "$WORLD/postgres:/postgres" -- sh -euc '
		PATH=$PATH:/usr/lib/postgresql/15/bin
		initdb -A trust -D /tmp/data >/dev/null
		exec postgres -D /tmp/data -k /postgres -c listen_addresses= 2>&1')
	server=$!
	while read -r line <&5 && [[ $line != *'ready to accept connections'* ]]; do :; done
	"$@" || code=$?
	kill "$server"
	return $code
}

# number: gives each test its number.  The exit code is 1 if one failed.
number() {
	local line count=0 failed=0
	while IFS= read -r line; do
		case $line in
		"ok "*) line="ok $((++count))${line#ok}" ;;
		"not ok "*) line="not ok $((++count))${line#not ok}" failed=1 ;;
		esac
		echo "$line"
	done
	echo "1..$count"
	return $failed
}

clients() {
	make_image >"$T/image.log" 2>&1 || {
		echo "not ok - hutch builds the image of the clients"
		tail -n 20 "$T/image.log" | sed 's/^/# /'
		return 1
	}
	echo "ok - hutch builds the image of the clients"
	mkdir -p "$WORLD"/{git,keys,ssh,postgres}
	make_repository
	make_keys
	with_postgres env NET_SERVER="$here/server.py" "$here/../run/net_world.sh" "$here/clients.py" world
	"$here/clients.py" registries
	"$here/browser.py"
	"$here/editor.py"
	"$here/kernel.py"
	"$here/nesting.py"
}

set -o pipefail
clients | number
