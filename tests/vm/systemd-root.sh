#!/bin/bash
# A unit of the machine with systemd: lets a user's manager start, and in it the
# tests.
user=tester
exec 2>&1
echo
echo "vm: begin"
useradd --create-home $user && loginctl enable-linger $user
uid=$(id -u $user)
# The manager is asked for, and its bus is there when it is up.
systemctl start "user@$uid.service"
runtime=/run/user/$uid
setpriv --reuid "$uid" --regid "$uid" --init-groups --reset-env \
	env XDG_RUNTIME_DIR="$runtime" DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" \
	systemd-run --user --wait --pipe --quiet /hutch/tests/vm/systemd-user.sh
echo "vm: end"
poweroff --force --force
