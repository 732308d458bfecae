#!/usr/bin/env bats
# Kills hutch-gate and hutch-egress, and the processes that started them, at random instants.
# ROUNDS is the number of kills.

load helpers

# kills CASE: plays the rounds of net_death.py in a network of the test's own.
kills() {
	as_who env PYTHONDONTWRITEBYTECODE=1 ROUNDS="${ROUNDS:-10}" \
		"$here/net_world.sh" "$here/net_death.py" "$HUTCH" "$T" "$1"
}

@test "after a kill of hutch-gate or hutch-egress nothing is let out, and nothing waits for ever" {
	kills network
}

@test "neither process outlives its launcher, or the supervisor of a named sandbox" {
	kills starter
}
