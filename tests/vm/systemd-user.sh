#!/bin/bash
# Limits where systemd's user manager owns the cgroups.  The manager runs this
# script, as a service without delegation.
#
# shellcheck disable=SC2154 # from tap.sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
H=/hutch/hutch HOG=/hutch/tests/vm/hog T=$(mktemp -d)
. "${0%/*}/tap.sh"
manager=/sys/fs/cgroup/user.slice/user-$UID.slice/user@$UID.service
GROUP=$manager

scopes() {
	systemctl --user list-units --all --plain --no-legend 'hutch-*.scope'
}
gone() {
	nothing_left && [ -z "$(scopes)" ] && [ -z "$(find "$manager" -name 'hutch-*')" ]
}
group_of() {
	sed -n 's/^0:://p' "/proc/$1/cgroup"
}

limited() {
	hutch --memory 64m -- /hog heap
	[ $rc = 137 ] && is status '"oom"' && grep -q -e '(--memory)' "$T/err" && until_true gone
}
place() {
	"$H" run --memory 64m --pids-limit 9 -- sleep 1000 >/dev/null 2>&1 &
	local pid=$! result=0
	until_true pgrep -x sleep || return
	echo "$(group_of $pid) $(group_of "$(pgrep -x sleep)")"
	grep -q "/user@$UID.service/.*/hutch-$pid-.*\.scope/sup$" /proc/$pid/cgroup &&
		grep -q "/hutch-$pid-.*\.scope/hutch-$pid-.*/cmds$" \
			"/proc/$(pgrep -x sleep)/cgroup" || result=1
	kill $pid
	wait $pid
	until_true gone && [ $result = 0 ]
}
spinner() {
	"$H" run --cpus 0.5 -v "$HOG:/hog:ro" -- /hog spin 16 >/dev/null 2>&1 &
	local pid=$! result=0
	until_true is_throttled || return
	[ "$(find "$manager" -path '*/cmds/cpu.max' -exec cat {} +)" = '50000 100000' ] || result=1
	kill $pid
	wait $pid
	until_true gone && [ $result = 0 ]
}
no_limit() {
	"$H" run -- sleep 1000 >/dev/null 2>&1 &
	local pid=$! result=0
	until_true pgrep -x sleep || return
	[ "$(group_of $pid)" = "$(group_of $$)" ] && [ -z "$(scopes)" ] || result=1
	kill $pid
	wait $pid
	[ $result = 0 ]
}
killed() {
	"$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$!
	until_true pgrep -x sleep || return
	kill -KILL $pid
	wait $pid
	until_true gone
}
# New limits are requested from the scope.
updated() {
	local cmds result=0
	"$H" create --memory 64m box || return
	cmds=$(find "$manager" -path '*.scope/hutch-*/cmds' -type d)
	"$H" update --cpus 0.5 --pids-limit 30 --memory 96m box &&
		[ "$(cat "$cmds"/{cpu,pids,memory}.max | xargs)" = "50000 100000 30 $((96 << 20))" ] || result=1
	grep '' "$cmds"/{cpu,pids,memory}.max
	"$H" inspect box | grep confined
	"$H" rm -f box
	until_true gone && [ $result = 0 ]
}
# Runs the command that the error on a host without a bus recommends.  The user
# manager of systemd 252 does not mark delegated cgroups (user.delegate), so
# hutch may ask for another scope.
by_hand() {
	systemd-run --user --scope -p Delegate=yes --quiet --unit=by-hand \
		"$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$! result=0
	until_true pgrep -x sleep || return
	grep -q '\.scope/hutch-.*/cmds$' "/proc/$(pgrep -x sleep)/cgroup" || result=1
	kill $pid
	wait $pid
	until_true gone && [ $result = 0 ]
}
# hutch runs in a scope that is not delegated, where only systemd's manager may make
# cgroups. It asks the manager for a scope of its own.
not_marked() {
	systemd-run --user --scope --quiet --unit=plain \
		"$H" run --memory 64m -- sleep 1000 >/dev/null 2>&1 &
	local pid=$! result=0
	until_true pgrep -x sleep || return
	grep -q "/hutch-.*\.scope/hutch-.*/cmds$" "/proc/$(pgrep -x sleep)/cgroup" || result=1
	kill $pid
	wait $pid
	until_true gone && [ $result = 0 ]
}

try 'a limit is held in a scope that the user manager makes' limited
try 'hutch lives in its leaf, commands in theirs' place
try '--cpus holds there' spinner
try 'limits of the scope are changed, and limits that it did not have are added' updated
try 'no limit: no scope, and the bus is not asked' no_limit
try 'a launcher that is killed leaves no scope' killed
try 'limits hold in a scope that was delegated by hand' by_hand
try 'a scope that was not delegated is left alone' not_marked
rm -rf "$T"
echo "1..$count"
