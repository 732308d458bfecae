#!/bin/sh
# Installs hutch's AppArmor profile, for `make install`, or removes it, for `make uninstall`.
#
#	install.sh auto|yes|no|remove DESTDIR PREFIX
#
# remove: removes a profile of this PREFIX; one of another PREFIX stays.
# auto: installs if this host has AppArmor 4, which the script recognises by a file of that
# version.  An older version has no rule about user namespaces, and would refuse the profile at
# each boot.  The profile is not loaded, since the installation may be for another machine; the
# script prints how to load it.
set -eu
when=$1 destdir=$2 prefix=$3
folder=$destdir/etc/apparmor.d

case $when in
no) exit 0 ;;
remove)
	[ -n "$destdir" ] || prefix=$(realpath -m -- "$prefix")
	! grep -qsF "profile hutch $prefix/{bin/" "$folder/hutch" || rm -f "$folder/hutch"
	exit
	;;
yes) ;;
auto) [ -e "$folder/abi/4.0" ] || exit 0 ;;
*)
	echo "APPARMOR=$when: it is auto, yes or no" >&2
	exit 1
	;;
esac

# An ordinary user, who installs below a home, may not write profiles below /etc.
if [ "$when" = auto ] && [ ! -w "$folder" ]; then
	echo "note: $folder/hutch, the AppArmor profile, was not installed: that takes root"
	exit 0
fi

# AppArmor compares paths whose symbolic links are resolved, so the profile must name such a path.
[ -n "$destdir" ] || prefix=$(realpath -m -- "$prefix")
case $prefix in
*[!A-Za-z0-9/._+-]*)
	echo "PREFIX=$prefix: in an AppArmor profile such a path means another" >&2
	exit 1
	;;
esac

install -d "$folder"
sed "s,@PREFIX@,$prefix," "$(dirname "$0")/hutch.in" | install -m 644 /dev/stdin "$folder/hutch"
[ -n "$destdir" ] || echo "to load the AppArmor profile: sudo apparmor_parser -r $folder/hutch"
