#!/usr/bin/env bats
# Tests of rules about connections that change while a sandbox lives, and of questions (net_live.py).

load helpers

# live CASE: plays a case of net_live.py in a network of the test's own.
live() {
	catch as_who env HUTCH="$HUTCH" "$here/net_world.sh" "$here/net_live.py" "$HUTCH" "$1"
	[[ $status == 0 && $output == well ]]
}

@test "rules are added, removed and replaced, and names are answered by those in force" {
	live changes
}

@test "open connections are listed with their bytes, the newest first, until they end" {
	room audit
	live connections
}

@test "a sandbox that was made without a rule gets its first one" {
	live first_rule
}

@test "requests of several clients are done in their order, and undo nothing of each other" {
	live in_order
}

@test "a rule that is none, or has a port without a listener, is refused and changes nothing" {
	live refused
}

@test "with a rule for each port, rules about any port are added, and decide" {
	live each_port
}

@test "a removed rule cuts a download in its middle, and no other connection" {
	live cut
}

@test "a question is answered yes or no, once or for the sandbox, and is no without a client" {
	live questions
}

@test "when hutch-egress has ended, rules do not change, and a request says so" {
	live lost
}

@test "hutch net lists, adds and removes rules, prints what was refused, and answers" {
	live verbs
}

@test "net log -f ends when no process reads it any more" {
	catch as_who env HUTCH="$HUTCH" "$here/net_world.sh" bash -c '
		mkdir -p "$W/img/usr"
		ln -s usr/lib usr/lib64 "$W/img"
		"$HUTCH" create -q --image "dir:$W/img" -v /usr:/usr:ro --allow example.org box
		env --default-signal=PIPE "$HUTCH" net box log -f | true
		echo "${PIPESTATUS[0]}"
		"$HUTCH" rm -q -f box >/dev/null'
	[[ $status == 0 && $output == $'box\n141' ]]
}

@test "a sandbox that is started again has the rules that it was made with; the audit log has all" {
	catch as_who env HUTCH="$HUTCH" "$here/net_world.sh" sh -ec '
		mkdir -p "$W/img/usr"
		ln -s usr/lib usr/lib64 "$W/img"
		trap "\"$HUTCH\" rm -q -f box >/dev/null" EXIT
		"$HUTCH" create -q --keep --image "dir:$W/img" -v /usr:/usr:ro --audit "$W/audit" \
			--network allow --allow example.org box
		"$HUTCH" net box allow other.org
		"$HUTCH" net rm box 2
		"$HUTCH" inspect box | jq -c ".[].egress"
		"$HUTCH" stop -q box
		"$HUTCH" start -q box
		"$HUTCH" net box ls --json
		"$HUTCH" audit show --json "$W/audit" | jq -r "select(.params) | .method, .params"'
	diff <(echo "$output") - <<-END
		box
		allow other.org
		allow example.org
		[{"allow":"other.org"}]
		box
		box
		{"rules":[{"allow":"example.org"}],"questions":[],"ports":[80,443],"open":0,"connections":[]}
		net.add
		{"rule":{"allow":"other.org"},"at":1}
		net.remove
		{"rule":2}
	END
}

@test "hutch why says by which rule in force a sandbox may connect, and connects nothing" {
	live why
	live why_none
}

@test "a sandbox without rules says so" {
	live no_rules
}
