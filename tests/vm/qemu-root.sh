#!/bin/bash
# A unit of the machine in qemu: runs the tiers that QEMU_TIERS names, and turns the
# machine off.
#
#	doctor		what hutch doctor says, as comments
#	command		QEMU_COMMAND, as a user; what it prints, as comments
#	apparmor	apparmor.sh: with AppArmor of that kernel, and where it refuses
#	limits		limits.sh and its companions, in cgroups that are delegated here
#	systemd		limits where a user's manager has the say
#	escape		the escape tier, as a user	escape-root	and as root
#	run		all of tests/run, as a user	run-root	and as root
#	run:NAME	one file of it			run-root:NAME	and as root
PATH=/usr/sbin:/usr/bin:/sbin:/bin
tree=/hutch/tree
: "${QEMU_TIERS:=doctor apparmor limits systemd escape escape-root run:codes run:folders run:learn run:missing run:refused \
	run:images run:image_launch run:image_upper run:keep run:limits run:pool run:ports run:snapshot run:volumes run:stopped run:pause run-root:pause}"

exec 2>&1
stty raw <&1
echo
echo "vm: begin"
useradd --create-home --uid 1000 tester && loginctl enable-linger tester
# The manager is asked for, and its bus is there when it is up.
systemctl start user@1000.service

# An address of the host's and a way to the world, for who must not get there: what
# the escape tier sends comes to an end there.
ip link add outward type dummy && ip link set outward up &&
	ip address add 192.0.2.1/24 dev outward && ip route add default dev outward &&
	ip address add 2001:db8::1/64 dev outward nodad &&
	ip -6 route add default dev outward

# as_tester COMMAND...: a service of that user's manager.
as_tester() {
	setpriv --reuid 1000 --regid 1000 --init-groups --reset-env \
		env XDG_RUNTIME_DIR=/run/user/1000 \
		DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus \
		systemd-run --user --wait --pipe --quiet --working-directory=$tree \
		--setenv=PATH=$PATH "$@"
}

# part NAME COMMAND...: what prints TAP.  One that ends badly without having said so
# has failed, and so has one that ran nothing.
part() {
	local name=$1 rc said=/run/said
	shift
	echo "# $name"
	"$@" </dev/null 2>&1 | tee $said | sed -E "s/^((not )?ok [0-9]+)( - | )/\1 - $name: /"
	rc=${PIPESTATUS[0]}
	grep -q '^not ok' $said || ((rc == 0)) || echo "not ok - $name: ended with code $rc"
	grep -qE '^(not )?ok' $said || echo "not ok - $name: ran no test"
}

doctor() {
	as_tester $tree/build/hutch doctor 2>&1 | sed 's/^/# /'
}
command() {
	as_tester bash /hutch/command 2>&1 | sed 's/^/# /'
}
limits() {
	mkdir -p /run/hutch /run/home /run/runtime
	mount --bind /hutch /run/hutch
	chown 1001:1001 /run/home /run/runtime
	# Somebody who has no manager that would find another place.
	LIMITS_UID=1001 T=/run/home H=/run/hutch/hutch HOG=/run/hutch/tests/vm/hog /run/hutch/tests/vm/delegated.sh
	umount /run/hutch
}
escape() {
	"$@" $tree/tests/escape/run.sh check
}
# run NAME AS...: a file of tests/run, or all of them.
run() {
	local file
	for file in $tree/tests/run/${1:-*}.bats; do
		part "run $(basename "$file" .bats)${2:+ ($2)}" "${@:3}" bats --tap "$file"
	done
}

# A part is a process of its own.
export -f as_tester
export tree
echo "# Linux $(uname -rv)"
cd $tree || exit
for tier in $QEMU_TIERS; do
	case $tier in
	doctor) doctor ;;
	command) command ;;
	apparmor) part apparmor $tree/tests/vm/apparmor.sh as_tester ;;
	limits) part limits limits ;;
	systemd) part systemd as_tester /hutch/tests/vm/systemd-user.sh ;;
	escape) part escape escape as_tester ;;
	escape-root) part 'escape (root)' escape env ;;
	run | run:*) run "$(cut -sd: -f2 <<<"$tier")" '' as_tester ;;
	run-root | run-root:*) run "$(cut -sd: -f2 <<<"$tier")" root env ;;
	*) echo "not ok - unknown tier $tier" ;;
	esac
done
echo "vm: end"
# What the line still holds is sent before its settings change.
stty sane <&1
poweroff --force --force
