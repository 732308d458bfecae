#!/bin/bash
# A unit of the machine in qemu: runs the tiers that QEMU_TIERS names, and turns the
# machine off.
#
#	doctor		output of hutch doctor, as comments
#	command		QEMU_COMMAND, as a user; what it prints, as comments
#	apparmor	apparmor.sh: with AppArmor of that kernel, and where it refuses
#	limits		limits.sh and its companions, in cgroups that delegated.sh makes
#	systemd		limits in scopes of a user's systemd
#	oci		containers of hutch-oci in scopes of a user's systemd and of the system's
#	escape		the escape tier, as a user	escape-root	and as root
#	run		all of tests/run, as a user	run-root	and as root
#	run:NAME	one file of it			run-root:NAME	and as root
#	engine:NAME:PROGRAM	a suite of tests/engines with hutch-oci, hutch-bwrap or another program
PATH=/usr/sbin:/usr/bin:/sbin:/bin
tree=/hutch/tree
: "${QEMU_TIERS:=doctor apparmor limits systemd oci escape escape-root run:codes run:folders run:learn run:missing run:refused \
	run:images run:image_launch run:image_upper run:keep run:limits run:pool run:ports run:snapshot run:volumes run:stopped run:pause run-root:pause \
	run:allow run:net_attacks run-root:net_attacks}"

exec 2>&1
stty raw <&1
echo
echo "vm: begin"
useradd --create-home --uid 1000 tester && loginctl enable-linger tester
# Starting the unit by hand ensures that the manager's bus is there when the
# command returns.
systemctl start user@1000.service

# An address of the host and a default route, which a sandbox must not reach.
# The dummy device drops the packets of the escape tier.
ip link add outward type dummy && ip link set outward up &&
	ip address add 192.0.2.1/24 dev outward && ip route add default dev outward &&
	ip address add 2001:db8::1/64 dev outward nodad &&
	ip -6 route add default dev outward

# as_tester COMMAND...: runs the command as a service of the user tester's systemd manager.
as_tester() {
	setpriv --reuid 1000 --regid 1000 --init-groups --reset-env \
		env XDG_RUNTIME_DIR=/run/user/1000 \
		DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus \
		systemd-run --user --wait --pipe --quiet --working-directory=$tree \
		--setenv=PATH=$PATH "$@"
}

# part NAME COMMAND...: runs a command that prints TAP.  A command that exits
# with an error but reports no failed test counts as failed, and so does one
# that ran no test.
part() {
	local name=$1 rc said=/run/said
	shift
	echo "# $name"
	"$@" </dev/null 2>&1 | tee $said | sed -uE "s/^((not )?ok [0-9]+)( - | )/\1 - $name: /"
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
	# User 1001 has no systemd manager, from which hutch could get another cgroup.
	LIMITS_UID=1001 T=/run/home H=/run/hutch/hutch HOG=/run/hutch/tests/vm/hog /run/hutch/tests/vm/delegated.sh
	umount /run/hutch
}
escape() {
	"$@" $tree/tests/escape/run.sh check
}
# run NAME AS...: runs one file of tests/run, or all of them.
run() {
	local file
	for file in $tree/tests/run/${1:-*}.bats; do
		part "run $(basename "$file" .bats)${2:+ ($2)}" "${@:3}" bats --tap "$file"
	done
}

# engine NAME PROGRAM: as root, which becomes an ordinary user where the suite says so.  LISTS
# (default: "limits systemd") says which lists of podman run: the other takes half an hour.
engine() {
	local program=$2
	[ ! -x "$tree/build/libexec/$2" ] || program=$tree/build/libexec/$2
	part "engine $1 ($2)" env HOME=/root LOGS=/var/tmp/engines RUNTIME="$program" BWRAP="$program" \
		LISTS="${LISTS:-limits systemd}" STORAGE_DRIVER=overlay "$tree/tests/engines/$1/run.sh"
}

# Each part runs in a bash of its own, which needs this function and variable.
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
	oci)
		part 'oci (user)' as_tester /hutch/tests/vm/oci.sh user
		part 'oci (system)' /hutch/tests/vm/oci.sh system
		;;
	escape) part escape escape as_tester ;;
	escape-root) part 'escape (root)' escape env ;;
	run | run:*) run "$(cut -sd: -f2 <<<"$tier")" '' as_tester ;;
	run-root | run-root:*) run "$(cut -sd: -f2 <<<"$tier")" root env ;;
	engine:*:*) engine "$(cut -d: -f2 <<<"$tier")" "$(cut -d: -f3 <<<"$tier")" ;;
	*) echo "not ok - unknown tier $tier" ;;
	esac
done
echo "vm: end"
# Changing the settings of the serial line first waits until all output has been sent.
stty sane <&1
poweroff --force --force
