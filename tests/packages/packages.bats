#!/usr/bin/env bats
# Package managers in an image with one id: Debian from debootstrap; $DEBIAN is
# a tar of it.  `make image-test` runs it.

load ../run/helpers

setup_file() {
	export HOME=$BATS_FILE_TMPDIR/home
	mkdir "$HOME"
	"${HUTCH:?}" image import "${DEBIAN:?}" --name debian
	repository "$BATS_FILE_TMPDIR/repository"
}

setup() {
	begin
	export HOME=$BATS_FILE_TMPDIR/home
}

teardown() {
	end
}

# repository DIR: makes a package that adds a user when it is installed, and
# gives files to that user.
repository() {
	local at=$1/tree file
	mkdir -p "$at/DEBIAN" "$at/usr/share/hutch-probe"
	echo content >"$at/usr/share/hutch-probe/file"
	cat >"$at/DEBIAN/control" <<-'CONTROL'
		Package: hutch-probe
		Version: 1.0
		Architecture: all
		Maintainer: nobody <nobody@localhost>
		Depends: adduser
		Description: makes a user and gives him files
	CONTROL
	cat >"$at/DEBIAN/postinst" <<-'POSTINST'
		#!/bin/sh
		set -e
		adduser --system --group --home /var/lib/hutch-probe hutch-probe
		chown -R hutch-probe:hutch-probe /usr/share/hutch-probe
		install -d -o hutch-probe -g hutch-probe -m 2750 /var/lib/hutch-probe/data
		[ -e /dev/hutch-probe ] || mknod /run/hutch-probe c 1 3
		dpkg-statoverride --update --add hutch-probe root 4755 /usr/share/hutch-probe/file
	POSTINST
	chmod 755 "$at/DEBIAN/postinst"
	dpkg-deb --root-owner-group -b "$at" "$1/hutch-probe.deb" >/dev/null
	file=$1/hutch-probe.deb
	{
		cat "$at/DEBIAN/control"
		echo "Filename: ./hutch-probe.deb"
		echo "Size: $(stat -c %s "$file")"
		echo "SHA256: $(sha256sum <"$file" | cut -d' ' -f1)"
	} >"$1/Packages"
	echo "deb [trusted=yes] file:/repository ./" >"$1/sources.list"
}

# debian COMMAND: runs it in the image, with only that repository, and no network.
debian() {
	inside --image debian -v "$BATS_FILE_TMPDIR/repository:/repository:ro" \
		-v "$BATS_FILE_TMPDIR/repository/sources.list:/etc/apt/sources.list:ro" -- sh -ec "$1"
}

@test "apt-get installs a package that makes a user and gives him files" {
	debian 'apt-get -q update && apt-get -qy install hutch-probe
		grep "^hutch-probe:" /etc/passwd
		stat -c "%u %a" /usr/share/hutch-probe/file
		dpkg --audit && dpkg -s hutch-probe | grep Status'
	[ "$status" -eq 0 ]
	has '^hutch-probe:x:'
	has '^0 4755$'
	has '^Status: install ok installed$'
	[[ $stderr != *"Could not switch"* ]]
}

@test "apt-get removes it again, and reinstalls what the image has" {
	debian 'apt-get -q update && apt-get -qy install hutch-probe && apt-get -qy purge hutch-probe
		! dpkg -s hutch-probe && [ ! -e /usr/share/hutch-probe ] && echo gone'
	[ "$status" -eq 0 ]
	has '^gone$'
}

@test "without the calls that pretend it fails: they are what makes it work" {
	inside --image debian --seccomp "$top/policy/seccomp/default.json" \
		-v "$BATS_FILE_TMPDIR/repository:/repository:ro" \
		-- dpkg -i /repository/hutch-probe.deb
	[ "$status" -ne 0 ]
}

@test "adduser, chown and tar with owners work" {
	debian 'adduser --disabled-password --gecos "" joe >/dev/null && chown joe:joe /home/joe
		echo x >/tmp/file && tar --owner=joe --group=joe -C /tmp -cf /tmp/t.tar file
		mkdir /out && tar -C /out --same-owner -xpf /tmp/t.tar && cat /out/file
		chpasswd <<-END
			joe:secret
		END
		usermod -aG users joe && id -nG joe && userdel joe && echo done'
	[ "$status" -eq 0 ]
	has '^x$'
	has '^done$'
}

@test "of all that nothing is in the image" {
	debian 'ls /usr/share/hutch-probe; grep -c "^\(hutch-probe\|joe\):" /etc/passwd; id -u'
	[ "${lines[*]: -1}" = 0 ] || [ "$status" -ne 0 ]
	has_not '^file$'
}
