#!/usr/bin/env bats
# The control socket of a sandbox that has a name (docs/control.md).

load helpers

setup() {
	begin
	! is_root || skip "as root, sandboxes with names are not finished"
}

teardown() {
	end
}

# controls CODE [OPTION...]: see control.py.
controls() {
	"$here/control.py" "$HUTCH" "$@"
}

@test "what is asked for gets its answer, and what is not known an error" {
	controls '
assert call("info")["name"] == "box"
assert refused("nix", "invalid").code == -32601
assert refused("exec.wait", "not_found", process=7).code == -32000
p = start("sh", "-c", "exit 3")
assert wait(p)["exit_code"] == 3'
}
