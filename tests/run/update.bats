#!/usr/bin/env bats
# Tests of hutch update, which changes the limits of a live sandbox. tests/vm/limits.sh tests the
# limits themselves, since the kernels of the vm tier let hutch have cgroups.

load helpers

teardown() {
	remove_boxes
	end
}

# refuses PATTERN REMEDY WORD...: checks that hutch update fails with an error and a remedy that
# match.
refuses() {
	hutch update "${@:3}"
	[[ $status == 125 && -z $output && ${#stderr_lines[@]} == 2 ]]
	[[ ${stderr_lines[0]} == "hutch: "*"$1"* ]]
	[[ ${stderr_lines[1]} == *"$2"* ]]
}

@test "a sandbox made without a limit has none to change" {
	"$HUTCH" create box
	"$HUTCH" create other
	hutch update --memory 64m --cpus 1.5 --pids-limit 20 box other
	[[ $status == 125 && -z $output ]]
	[ "$(grep -c 'made without a limit' <<<"$stderr")" = 2 ]
	[ "$(grep -c 'make another sandbox with --memory, --cpus or --pids-limit' <<<"$stderr")" = 2 ]
	"$HUTCH" inspect box | tr -d ' \n' | grep -q '"limits":{"memory":null,"cpus":null,"pids":null,"disk":null}'
	never has_event
	[ "$("$HUTCH" exec box echo lives)" = lives ]
}

has_event() {
	"$HUTCH" events box | grep ' update '
}

@test "limits of --best-effort stay as they are" {
	"$HUTCH" create --best-effort --pids-limit 50 --memory 512m box
	"$HUTCH" inspect box | tr -d ' \n' | grep -q '"degraded":\["memory","pids-limit"\]' ||
		skip "this host has cgroups to give"
	refuses 'those of --best-effort' 'hutch doctor' --memory 600m box
	"$HUTCH" inspect box | tr -d ' \n' | grep -q '"memory":536870912,"cpus":null,"pids":50'
	never has_event
}

@test "an impossible limit is an error before the sandbox is asked" {
	refuses 'needs a limit' '--pids-limit' nobody
	refuses '--disk is the size of folders' 'another sandbox' --disk 8m nobody
	refuses '--ulimit is given to processes as they start' 'another sandbox' --ulimit nofile=10 nobody
	refuses 'hutch update: NAME is missing' 'hutch update' --memory 64m
	refuses 'unknown flag --ttl' 'hutch update' --ttl 1 nobody
	while IFS='|' read -r flag value says; do
		hutch update "--$flag" "$value" nobody
		[[ $status == 125 && ${stderr_lines[0]} == "hutch: $says"* ]]
	done <<-'END'
		memory|5m|--memory takes 6m or more, not '5m'
		memory|0|--memory takes 6m or more, not '0'
		memory|9223372036854775808|--memory takes 6m or more, not '9223372036854775808'
		memory|-1|--memory: '-1' is not a size
		cpus|0|--cpus: '0' is not between 0.01 and 1000
		cpus|1001|--cpus: '1001' is not between 0.01 and 1000
		pids-limit|0|--pids-limit takes 1 or more, not '0'
		pids-limit|2147483648|--pids-limit takes 1 or more, not '2147483648'
	END
	hutch update --memory 64m nobody
	[[ $status == 125 && $stderr == *"no sandbox named 'nobody'"* ]]
}

@test "over the control socket each param has a type and bounds" {
	! is_root || skip "the socket is that of the user for whom root stands"
	timeout "$PATIENCE" "$here/confined.py" "$HUTCH" '
def refused(**params):
    send("update", **params)
    error = answer()["error"]
    return error["code"], error["message"], error.get("data", {}).get("kind")

for params, says in [
        ({}, "memory, cpus or pids was expected"),
        ({"memory": (6 << 20) - 1}, "params.memory: less than 6291456"),
        ({"memory": 1 << 53}, None), ({"memory": "64m"}, "string"), ({"memory": None}, "was expected"),
        ({"memory": 1e30}, "number"), ({"memory": -1}, "number"),
        ({"cpus": 0.009}, "from 0.01 to 1000"), ({"cpus": 1000.1}, "from 0.01 to 1000"), ({"cpus": "1"}, "string"),
        ({"pids": 0}, "params.pids: less than 1"), ({"pids": 1 << 31}, "params.pids: more than 2147483647"),
        ({"pids": 1.5}, "number"), ({"swap": 1}, "swap"), ({"cpus": 1, "ulimits": {}}, "ulimits")]:
    code, message, kind = refused(**params)
    print(params, code, message, kind)
    if says is None:
        assert (code, kind) == (-32000, "unsupported")
    else:
        assert code == -32602 and says in message
assert refused(disk=8 << 20)[2] == "unsupported" and "--disk" in refused(disk=8 << 20)[1]
assert "without a limit" in refused(pids=5)[1]
assert call("info")["limits"] == dict.fromkeys(["memory", "cpus", "pids", "disk"])
assert call("stats")["memory_limit"] is None'
}
