#!/bin/bash
# run.sh DIST: the packages in the folder DIST, made by `make dist`, on machines without a
# compiler and without git: Debian's smallest installations, and one of busybox alone.
#
# Each machine is a chroot with pids, mounts and devices of its own.  An ordinary user unpacks or
# installs a package there, and runs its first command.  Needs root, debootstrap and a network.
# Prints TAP.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build
. "$top/tests/vm/image.sh"
. "$top/tests/machine.bash"
. "$top/tests/patience.bash"
dist=$(realpath -m "$1") arch=$(uname -m) user=ada

machine_needs dist
ls "$dist"/hutch-*-linux-"$arch".tar.gz >/dev/null || {
	echo "not ok 1 - make dist has made packages"
	exit 1
}

login() {
	machine su "$user" -c "ulimit -Sn 1024; cd; PATH=\$HOME/bin:\$PATH; $*"
}

# new_machine NAME: makes $root a copy of the installation $base, with the user and the packages.
new_machine() {
	root=$work/$1
	machine_new "$base" /bin/sh
	cp "$dist"/hutch*"$arch"* "$dist"/hutch_*_"$(dpkg --print-architecture)".deb "$root/home/$user/"
	machine chown -R "$user" "/home/$user"
	machine sh -c 'for name in gcc cc git make; do ! command -v $name || exit 1; done'
}

tarball() {
	login "tar -xzf hutch-*-linux-$arch.tar.gz && mv hutch-*-linux-$arch app && ./app/bin/hutch run -- true"
}

# works PROGRAM SHARE: the programs do what needs more than one of them, and a library in one.
works() {
	login "$1 run -- sh -c \"id -un\" | grep -qx agent &&
		$1 run --seccomp $2/hutch/seccomp/default.json --workspace . -- ls >/dev/null &&
		echo '{\"action\": \"run\", \"id\": 1, \"args\": {\"command\": \"echo done by an action\"}}' | $1 act | grep -q 'done by an action' &&
		$1 create box && $1 exec box true && $1 rm -f box"
}

# A moved installation finds its parts.
moved() {
	login "mkdir -p deep/er && mv app deep/er/hutch && deep/er/hutch/bin/hutch run -- true && mv deep/er/hutch app &&
		mkdir -p bin && ln -s ../app/bin/hutch bin/hutch && hutch run -- true && rm bin/hutch"
}

all_of_tarball() {
	check "$1: the tarball's hutch runs a command" tarball
	check "$1: it works" works ./app/bin/hutch app/share
	check "$1: a moved one, and a link to it, find their parts" moved
}

# registries: starts registries on loopback, one of them with TLS, for a certificate that no
# userland knows.  Sets $image to an image in that one.
registries() {
	local layout=$work/layout:made
	mkdir "$work/registries" && mkfifo "$work/ports" || return
	"$top/tests/run/registries.py" "$work/registries" >"$work/ports" 2>"$work/registries.err" </dev/null &
	server=$!
	read -r -t "$PATIENCE" line <"$work/ports" || { cat "$work/registries.err"; return 1; }
	# shellcheck disable=SC2163 # NAME=PORT, each
	for one in $line; do local "$one"; done
	image=127.0.0.1:$tls/public/tool:1
	umoci init --layout "$work/layout" && umoci new --image "$layout" &&
		umoci insert --image "$layout" /bin/busybox /bin/busybox &&
		skopeo copy -q --dest-tls-verify=false "oci:$layout" "docker://127.0.0.1:$direct/public/tool:1"
}

# refuses_tls HUTCH: the userland's certificates do not vouch for the registry.
refuses_tls() {
	! login "$1 image pull -q $image" 2>"$work/refused" && cat "$work/refused" &&
		grep -q 'its certificate is not trusted' "$work/refused"
}

# trusts_tls HUTCH: they do, and the image works.
trusts_tls() {
	login "$1 image pull -q $image && $1 run --image $image -- /bin/busybox true"
}

# no_certificates HUTCH: says how certificates are to be had.
no_certificates() {
	! login "$1 image pull -q $image" 2>"$work/refused" && cat "$work/refused" &&
		grep -q 'install ca-certificates' "$work/refused"
}

# same_again: packages that are made of the same programs, in another folder, by a user with another
# umask and in another zone, have the same bytes.
same_again() (
	again=$work/again/in/another/folder
	umask 077
	mkdir -p "$again" "$work/first" && cp -r "$top"/{packaging,sdk,README.md,LICENSE} "$again" &&
		cp -r "$dist/$arch/root/usr" "$again/usr" &&
		tar -xzf "$dist"/hutch-*-linux-"$arch".tar.gz -C "$work/first" || return
	name=$(basename "$work"/first/hutch-*)
	name=${name%-linux-*}
	SOURCE_DATE_EPOCH=$(stat -c %Y "$work"/first/*/LICENSE) TZ=Asia/Kathmandu \
		"$again/packaging/dist.sh" "${name#hutch-}" "$arch" "$dist/$arch" "$again/usr" "$again/out" &&
		diff "$dist/SHA256SUMS" "$again/out/SHA256SUMS"
)

# --- Debian -----------------------------------------------------------------------

server= image=
trap 'exit 143' HUP INT TERM
work=$(mktemp -d "${TMPDIR:-/var/tmp}/hutch-dist.XXXXXX") || exit
trap '[ -z "$server" ] || kill "$server"; rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"
check "the packages are the same from another folder, umask and zone" same_again
check "a registry with TLS is there" registries

for suite in bullseye bookworm trixie; do
	image_base ca-certificates || { failed=1; continue; }
	new_machine $suite || { echo "not ok $((++count)) - $suite has no compiler"; failed=1; }
	all_of_tarball "Debian $suite"
	[ $suite = bullseye ] || {
		# Debian's smallest installation has no AppArmor; this file says that it is version 4.
		mkdir -p "$root/etc/apparmor.d/abi" && : >"$root/etc/apparmor.d/abi/4.0"
		check "Debian $suite: the deb installs without a question" machine sh -c "dpkg -i /home/$user/hutch_*.deb"
		check "Debian $suite: the installed hutch runs a command" login hutch run -- true
		check "Debian $suite: it works" works hutch /usr/share
		check "Debian $suite: a certificate that is not the distribution's is refused" refuses_tls hutch
		cp "$work/registries/cert.pem" "$root/usr/local/share/ca-certificates/tests.crt"
		machine update-ca-certificates >/dev/null 2>&1
		check "Debian $suite: hutch-image takes the distribution's certificates" trusts_tls hutch
		check "Debian $suite: the AppArmor profile is that of /usr" \
			grep -qF 'profile hutch /usr/{bin/' "$root/etc/apparmor.d/hutch"
		check "Debian $suite: the deb goes without a trace" machine sh -c 'dpkg -P hutch && ! find /usr /etc -xdev -name "*hutch*" ! -path "/usr/share/doc/*" | grep .'
	}
done

echo 'profile hutch /usr/local/{bin/' >"$root/etc/apparmor.d/hutch"
check "the profile of another hutch stays as it is" machine sh -c "dpkg -i /home/$user/hutch_*.deb && dpkg -P hutch &&
	grep -qxF 'profile hutch /usr/local/{bin/' /etc/apparmor.d/hutch"

suite=bookworm
image_base python3,python3-pip,python3-venv,ca-certificates && new_machine pip || failed=1
check "pip: hutch runs a command" login "python3 -m venv v && v/bin/pip install --no-index hutch-*.whl && v/bin/hutch run -- true"
check "pip: it works" works v/bin/hutch v/share
check "pip: the package starts a sandbox" login "v/bin/python -c '
import hutch
with hutch.Sandbox() as box:
    assert box.run(\"echo in it\").content == \"in it\"'"

# --- a userland with busybox and no C library ------------------------------------------

base=$work/busybox.base
mkdir -p "$base"/{bin,sbin,etc,home,proc,sys,dev,tmp,root,usr/bin,var}
cp /bin/busybox "$base/bin" && "$base/bin/busybox" --list | grep -vx busybox | while read -r name; do
	ln -sf busybox "$base/bin/$name"
done
printf 'root:x:0:0:root:/root:/bin/sh\n%s:x:1000:1000::/home/%s:/bin/sh\n' "$user" "$user" >"$base/etc/passwd"
printf 'root:x:0:\n%s:x:1000:\n' "$user" >"$base/etc/group"
mkdir "$base/home/$user"
new_machine busybox
check "a userland of busybox: the tarball's hutch runs a command" tarball # hutch act needs bash
check "a userland of busybox: a moved one, and a link to it, find their parts" moved

# The distributions have their certificates in different places.
check "a userland of busybox: without certificates no server is trusted" no_certificates ./app/bin/hutch
for place in ssl/certs/ca-certificates.crt pki/tls/certs/ca-bundle.crt ssl/ca-bundle.pem; do
	install -D -m 644 "$work/registries/cert.pem" "$root/etc/$place"
	check "a userland of busybox: the certificates in /etc/$place count" trusts_tls ./app/bin/hutch
	login "./app/bin/hutch image rm $image" >/dev/null 2>&1
	rm "$root/etc/$place"
done

echo "1..$count"
exit $failed
