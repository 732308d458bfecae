#!/bin/bash
# hutch where AppArmor is in the kernel, and where it refuses.  As root:
#
#	apparmor.sh AS...	AS runs a command as an ordinary user
#
# Debian's AppArmor 3 has no rule about user namespaces, and its kernel no
# apparmor_restrict_unprivileged_userns.  So the profile is loaded without its
# newer rules, user namespaces are refused by Debian's own sysctl, and a user
# namespace without rights comes from a profile that grants none, with a copy of
# Ubuntu's sysctl beside it.
#
# shellcheck disable=SC2016,SC2034,SC2154 # for another shell; from tap.sh
top=$(cd "${0%/*}/../.." && pwd)
. "$top/tests/vm/tap.sh"
as=("$@")
at=/opt/hutch
T=$(mktemp -d)
mkdir -p "$at/bin" "$at/libexec/hutch" "$T/sysctl"
cp "$top/build/hutch" "$at/bin"
cp "$top"/build/libexec/hutch-* "$at/libexec/hutch"
echo 1 >"$T/sysctl/apparmor_restrict_unprivileged_userns"
chmod -R a+rX "$T" "$at"

# hutch ARG...: runs hutch as the user; its output is in $T/out, its exit code in $rc.
hutch() {
	"${as[@]}" "$at/bin/hutch" "$@" >"$T/out" 2>&1
	rc=$?
	cat "$T/out"
}
says() {
	grep -qE -- "$1" "$T/out" || { echo "nothing matches $1"; return 1; }
}
# load FILE: replaces the loaded profile of the same name.
load() {
	apparmor_parser -r -T -W "$1"
}
unload() {
	apparmor_parser -R "$1"
}
# old: prints the part of the profile that AppArmor 3 understands.
old() {
	"$top/packaging/apparmor/install.sh" yes "$T" "$at" &&
		sed -e s,abi/4.0,abi/3.0, -e '/^  userns,$/d' "$T/etc/apparmor.d/hutch" >"$T/hutch"
}

has_apparmor() {
	[ "$(cat /sys/module/apparmor/parameters/enabled)" = Y ]
}
works_with_profile() {
	old && load "$T/hutch" || return
	hutch run -- cat /proc/self/attr/current && [ $rc = 0 ] && says '^hutch \(unconfined\)$' &&
		hutch doctor && [ $rc = 0 ] && says '^ok +launch '
	local passed=$?
	unload "$T/hutch"
	return $passed
}
# Uses Debian's own sysctl.
refused() {
	sysctl -q kernel.unprivileged_userns_clone=0
	hutch doctor
	[ $rc = 1 ] && says '^missing +user-namespaces .*kernel.unprivileged_userns_clone' &&
		says 'remedy +as root: sysctl -w kernel.unprivileged_userns_clone=1' &&
		says '^hutch run --isolation landlock works here, which is weaker' &&
		hutch run true && [ $rc = 125 ] && says 'make a user namespace: refused by the sysctl' &&
		says 'hint: .*; or --isolation landlock, where the command is you' &&
		hutch run --isolation landlock echo ran && [ $rc = 0 ] && says '^ran$'
	local passed=$?
	sysctl -q kernel.unprivileged_userns_clone=1
	return $passed
}
# A profile with everything but capabilities, so that a new user namespace has
# none either.
powerless() {
	old && sed -e 's/flags=(unconfined)//' \
		-e '/^}/i file, network, unix, signal, ptrace, dbus, mount, umount, remount, pivot_root,' \
		"$T/hutch" >"$T/powerless" && load "$T/powerless" || return
	mount --bind "$T/sysctl" /proc/sys/kernel
	hutch doctor
	[ $rc = 1 ] && says '^missing +user-namespaces +AppArmor lets this program make a user namespace but do nothing in it' &&
		says 'remedy .*sudo apparmor_parser -r /etc/apparmor.d/hutch' &&
		hutch run true && [ $rc = 125 ] && says '^hutch: AppArmor lets this program make' &&
		says 'hint: .*apparmor_parser.*; or --isolation landlock, where the command is you'
	local passed=$?
	umount /proc/sys/kernel
	unload "$T/powerless"
	return $passed
}

try "the kernel has AppArmor, and it is on" has_apparmor
try "hutch works under its profile, and the inside has that too" works_with_profile
try "where user namespaces are refused --isolation landlock is named, and works" refused
try "a user namespace without rights is reported as AppArmor's doing, with a remedy" powerless
rm -rf "$T" "$at"
echo "1..$count"
