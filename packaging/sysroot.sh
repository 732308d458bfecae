#!/bin/bash
# Unpacks Debian's packages for another processor, with those that they depend on, so that a
# compiler for that processor finds headers and libraries there.
#
#	packaging/sysroot.sh DIR ARCH PACKAGE...
#
# No package is installed: this machine has no second architecture afterwards, and no program of
# the packages runs.  ARCH is aarch64 or x86_64.
set -eu
dir=$(realpath -m "$1") arch=$2
shift 2
. "$(dirname "$0")/apt.sh"
case $arch in
aarch64) debian_arch=arm64 ;;
x86_64) debian_arch=amd64 ;;
*) echo "$0: $arch: aarch64 or x86_64 was expected" >&2; exit 1 ;;
esac

rm -rf "$dir"
mkdir -p "$dir/apt"
# apt takes this machine's compiler, which musl-dev needs, for installed.
cat >"$dir/apt/status" <<-END
	Package: gcc-$arch-linux-gnu
	Version: 99
	Architecture: $debian_arch
	Status: install ok installed
	Maintainer: none
	Description: the compiler of this machine
END
apt_in "$dir/apt" deb -o "Dir::State::status=$dir/apt/status" -o "APT::Architecture=$debian_arch" \
	-o "APT::Architectures=$debian_arch" -o Debug::NoLocking=true
apt-get "${apt[@]}" install --yes --no-install-recommends --download-only "$@"
for package in "$dir"/apt/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$dir"
done
# Packages have files in /lib and in /usr/lib, which are one folder in an installation.
cp -a "$dir/lib/." "$dir/usr/lib"
rm -r "$dir/lib"
ln -s usr/lib "$dir/lib"
rm -rf "$dir/apt"
: >"$dir/made"
