#!/usr/bin/env bats
# The AppArmor profile: where `make install` puts it, and whether AppArmor
# accepts it. doctor.bats tests the messages of hutch where AppArmor refuses.

load helpers

# profile_for ARG...: runs install.sh, which installs the profile.
profile_for() {
	catch "$top/packaging/apparmor/install.sh" "$@"
}

# knows VERSION: makes the folder of a host whose AppArmor has the rules of that version.
knows() {
	mkdir -p "host/etc/apparmor.d/abi"
	touch "host/etc/apparmor.d/abi/$1"
}

# parses FILE: checks that AppArmor can compile the profile in FILE; nothing is loaded or kept.
parses() {
	catch apparmor_parser --skip-kernel-load --skip-cache --skip-read-cache --quiet "$1"
	[ "$status" -eq 0 ]
}

@test "make install puts the profile where AppArmor 4 is, for the prefix, and nowhere else" {
	knows 4.0
	profile_for auto host /opt/hutch-1.0
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
	grep -qxF 'profile hutch /opt/hutch-1.0/{bin/hutch,libexec/hutch/hutch-{act,bwrap,image,supervise}} flags=(unconfined) {' \
		host/etc/apparmor.d/hutch
	[ "$(stat -c %a host/etc/apparmor.d/hutch)" = 644 ]
	# A second installation for another prefix replaces the first.
	profile_for auto host /usr
	grep -qF 'profile hutch /usr/{bin/hutch,' host/etc/apparmor.d/hutch
	never grep -q @PREFIX@ host/etc/apparmor.d/hutch
	[ "$(ls host/etc/apparmor.d)" = $'abi\nhutch' ]
}

@test "make uninstall removes the profile of its prefix, and leaves that of another one" {
	knows 4.0
	profile_for remove host /opt/a
	[[ $status == 0 && -z $output$stderr ]]
	profile_for auto host /opt/a
	profile_for remove host /opt
	[[ $status == 0 && -f host/etc/apparmor.d/hutch ]]
	profile_for remove host /opt/a
	[[ $status == 0 && -z $output$stderr && ! -e host/etc/apparmor.d/hutch ]]
}

@test "an older AppArmor, which would refuse it at each boot, gets none unless it is asked for" {
	mkdir none
	profile_for auto none /usr
	[[ $status == 0 && -z $output$stderr && -z $(ls -A none) ]]
	knows 3.0
	profile_for auto host /usr
	[[ $status == 0 && -z $output$stderr && $(ls host/etc/apparmor.d) == abi ]]
	profile_for yes host /usr
	[[ $status == 0 && -f host/etc/apparmor.d/hutch ]]
	rm host/etc/apparmor.d/hutch
	knows 4.0
	profile_for no host /usr
	[[ $status == 0 && ! -e host/etc/apparmor.d/hutch ]]
}

@test "a path that AppArmor would read as a pattern, and a word that is none, are refused" {
	knows 4.0
	for prefix in '/opt/*' '/opt/a b' '/opt/{a,b}' '/opt/@{HOME}' '/opt/a"b' '/o,p,'; do
		profile_for auto host "$prefix"
		[[ $status == 1 && $stderr == *"PREFIX=$prefix: in an AppArmor profile"* ]]
	done
	profile_for maybe host /usr
	[[ $status == 1 && $stderr == "APPARMOR=maybe: it is auto, yes or no" ]]
	[ ! -e host/etc/apparmor.d/hutch ]
}

@test "the profile names each program that makes namespaces, as they are installed" {
	profile_for yes host /usr
	for name in act image supervise; do
		[ -x "$BUILD/libexec/hutch-$name" ]
		grep -qE "^profile .*hutch-\{.*$name.*\}" host/etc/apparmor.d/hutch
	done
	make -C "$top" -n install B="$BUILD" DESTDIR=/d PREFIX=/p 2>/dev/null |
		grep -qxF "packaging/apparmor/install.sh 'auto' '/d' '/p'"
}

@test "AppArmor's own compiler takes the profile" {
	command -v apparmor_parser >/dev/null || skip "apparmor_parser is not installed"
	profile_for yes host /usr/local
	if [ -e /etc/apparmor.d/abi/4.0 ]; then
		parses host/etc/apparmor.d/hutch
		return
	fi
	# This host's AppArmor is older: it accepts the part of the profile whose rules it knows,
	# but not the whole profile.
	never parses host/etc/apparmor.d/hutch
	sed -e s,abi/4.0,abi/3.0, -e '/^  userns,$/d' host/etc/apparmor.d/hutch >old
	[ "$(diff host/etc/apparmor.d/hutch old | grep -c '^[<>]')" -eq 3 ]
	parses old
	sed 's/{act/{{act/' old >broken
	never parses broken
}
