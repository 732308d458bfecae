#!/bin/bash
# Makes the packages of a release, for `make dist`:
#
#	packaging/dist.sh VERSION ARCH BUILD INSTALLED OUT
#
# BUILD has the libraries' copyrights and versions, for another processor also the sysroot, INSTALLED what `make install`
# has put below PREFIX=/usr, and OUT gets
#
#	hutch-VERSION-linux-ARCH.tar.gz		programs that run wherever they are unpacked
#	hutch_VERSION_DEBARCH.deb		the same for Debian and Ubuntu, with the AppArmor profile
#	hutch-VERSION-py3-none-linux_ARCH.whl	the Python package, with the programs in it
#
# The same programs give the same packages: all times are SOURCE_DATE_EPOCH, which is the time of the
# last commit unless it is set.
set -eu
version=$1 arch=$2 build=$3 installed=$4 out=$5
sysroot=$build/sysroot && [ -d "$sysroot" ] || sysroot=
top=$(realpath "$(dirname "$0")/..")
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct)}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
umask 022
mkdir -p "$out"

# settle DIR: gives all files below DIR the time of the release, and modes that do not depend on
# the umask of the clone.
settle() {
	chmod -R u=rwX,go=rX "$1"
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# notices DIR: the licences of the libraries that the programs contain.
notices() {
	local name
	mkdir -p "$1"
	cp "$build"/libraries/doc/*.copyright "$build/libraries/versions" "$top/LICENSE" "$1"
	for name in musl libcap-dev libvterm-dev libc-ares-dev libnl-3-dev libseccomp-dev libc6; do
		cp "$sysroot/usr/share/doc/$name/copyright" "$1/$name.copyright"
	done
}

tarball() {
	local name=hutch-$version-linux-$arch
	mkdir -p "$work/tar/$name"
	cp -a "$installed"/{bin,libexec} "$installed/share" "$work/tar/$name"
	notices "$work/tar/$name/share/doc/hutch"
	cp "$top/README.md" "$top/LICENSE" "$work/tar/$name"
	settle "$work/tar"
	tar -C "$work/tar" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
}

debian_arch() {
	case $arch in x86_64) echo amd64 ;; aarch64) echo arm64 ;; *) echo "$arch" ;; esac
}

# The programs find each other below /usr/libexec/hutch. Debian's zsh reads vendor-completions of
# /usr/share/zsh, and site-functions only of /usr/local.
deb() {
	local root=$work/deb
	mkdir -p "$root/DEBIAN" "$root/usr/share/hutch/apparmor" "$root/usr/share/doc/hutch"
	cp -a "$installed"/{bin,libexec,share} "$root/usr"
	mv "$root"/usr/share/zsh/{site-functions,vendor-completions}
	gzip -9n "$root"/usr/share/man/man*/*.[13]
	sed 's,@PREFIX@,/usr,' "$top/packaging/apparmor/hutch.in" >"$root/usr/share/hutch/apparmor/hutch"
	notices "$work/notices"
	{
		cat "$top/packaging/debian/copyright"
		for file in "$work"/notices/*.copyright; do
			printf '\n\n--- %s ---\n\n' "$(basename "$file" .copyright)"
			cat "$file"
		done
	} >"$root/usr/share/doc/hutch/copyright"
	cp "$work/notices/versions" "$root/usr/share/doc/hutch/libraries"
	sed "s/@VERSION@/$version/; s/@DATE@/$(date -uRd "@$SOURCE_DATE_EPOCH")/" \
		"$top/packaging/debian/changelog" | gzip -9n >"$root/usr/share/doc/hutch/changelog.gz"
	install -D -m 644 "$top/packaging/debian/lintian-overrides" "$root/usr/share/lintian/overrides/hutch"
	install -m 755 "$top"/packaging/debian/{postinst,prerm} "$root/DEBIAN"
	sed "s/@VERSION@/$version/; s/@ARCH@/$(debian_arch)/; s/@SIZE@/$(du -sk --apparent-size "$root/usr" | cut -f1)/" \
		"$top/packaging/debian/control" >"$root/DEBIAN/control"
	(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	settle "$root"
	dpkg-deb --root-owner-group -Zxz --build "$root" "$out/hutch_${version}_$(debian_arch).deb" >/dev/null
}

# A wheel's data/ and scripts/ are unpacked below the prefix of the Python that it is installed
# for, so that bin/hutch finds libexec/hutch/ there.
wheel() {
	local root=$work/wheel data=$work/wheel/hutch-$version.data info=$work/wheel/hutch-$version.dist-info
	mkdir -p "$data/scripts" "$data/data/libexec" "$data/data/share" "$info"
	cp -a "$top/sdk/python/hutch" "$root"
	find "$root" -name __pycache__ -prune -exec rm -r {} +
	cp -a "$installed/bin/hutch" "$data/scripts"
	cp -a "$installed/libexec/hutch" "$data/data/libexec"
	cp -a "$installed"/share/{man,hutch,bash-completion,zsh,fish} "$data/data/share"
	notices "$info/licenses"
	cat >"$info/WHEEL" <<-END
		Wheel-Version: 1.0
		Generator: packaging/dist.sh ($version)
		Root-Is-Purelib: false
		Tag: py3-none-linux_$arch
	END
	{
		/usr/bin/python3 - "$top/sdk/python/pyproject.toml" <<-'END'
			import sys, tomllib
			project = tomllib.load(open(sys.argv[1], "rb"))["project"]
			print("Metadata-Version: 2.1")
			for field, key in [("Name", "name"), ("Version", "version"), ("Summary", "description"),
			                   ("Requires-Python", "requires-python")]:
			    print(f"{field}: {project[key]}")
			for line in project["classifiers"]:
			    print(f"Classifier: {line}")
			for extra, needs in project["optional-dependencies"].items():
			    print(f"Provides-Extra: {extra}")
			    for need in needs:
			        need, _, when = need.partition("; ")
			        print(f"Requires-Dist: {need}; extra == '{extra}'" + (f" and {when}" if when else ""))
			print("Description-Content-Type: text/markdown")
			print()
		END
		cat "$top/sdk/python/README.md"
	} >"$info/METADATA"
	/usr/bin/python3 - "$top/sdk/python/pyproject.toml" >"$info/entry_points.txt" <<-'END'
		import sys, tomllib
		for group, points in tomllib.load(open(sys.argv[1], "rb"))["project"]["entry-points"].items():
		    print(f"[{group}]")
		    for name, value in points.items():
		        print(f"{name} = {value}")
	END
	settle "$root"
	/usr/bin/python3 -m wheel pack "$root" --dest-dir "$out" >/dev/null
}

tarball
deb
wheel
(cd "$out" && sha256sum hutch[-_]"$version"* >SHA256SUMS)
