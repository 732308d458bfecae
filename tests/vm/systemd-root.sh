#!/bin/bash
# Runs as a systemd unit of the machine: starts the manager of user tester, and runs the
# tests as services of that manager, and oci.sh as root, too.
user=tester
exec 2>&1
echo
echo "vm: begin"
useradd --create-home $user && loginctl enable-linger $user
uid=$(id -u $user)
# Starting the unit by hand ensures that the manager's bus is there when the
# command returns.
systemctl start "user@$uid.service"
runtime=/run/user/$uid
as_user() {
	setpriv --reuid "$uid" --regid "$uid" --init-groups --reset-env \
		env XDG_RUNTIME_DIR="$runtime" DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" \
		systemd-run --user --wait --pipe --quiet "$@"
}
as_user /hutch/tests/vm/systemd-user.sh
as_user /hutch/tests/vm/oci.sh user
/hutch/tests/vm/oci.sh system
echo "vm: end"
poweroff --force --force
