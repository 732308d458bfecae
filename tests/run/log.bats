#!/usr/bin/env bats
# Tests of --log-level and --log-format, for the messages that a supervisor logs about itself.

bats_require_minimum_version 1.5.0
load helpers

teardown() {
	remove_boxes
	end
}

# told LEVEL [OPTION...]: creates box with this log level.
told() {
	hutch --log-level "$1" create "${@:2}" box
	[ "$status" -eq 0 ]
}

@test "with nothing to tell there is no file, and hutch run has none at all" {
	told warn
	[ -z "$(ls -A runtime/hutch/box/log)" ]
	hutch logs --supervisor box
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	box true
	HUTCH_LOG_LEVEL=debug box true
	[ -z "$(find runtime home -name 'supervisor*')" ]
}

@test "each level has those before it, by the flag and by the variable" {
	told info
	hutch exec box true
	hutch logs --supervisor box
	has '^[0-9T:.-]+Z info  supervisor: status \{"status":"ready"\}$'
	has_not ' debug '
	hutch kill box
	HUTCH_LOG_LEVEL=debug hutch create box
	hutch exec box true
	hutch logs --supervisor box
	has ' debug launcher: made \{"version":'
	has ' debug supervisor: exited \{"process":1,"exit_code":0'
	hutch logs --supervisor -n 1 box
	[ "${#lines[@]}" -eq 1 ]
}

@test "a kill of the supervisor is logged, at any level, and is there afterwards" {
	told error
	kill -KILL "$(supervisor_of)"
	hutch wait box
	hutch logs --supervisor box
	[ "${#lines[@]}" -eq 1 ]
	has ' error janitor: the supervisor was killed'
	hutch --log-format json logs --supervisor box
	[[ $output == '{"time":"'*'","level":"error","sandbox":"box","component":"janitor","message":"'*'","fields":'*'}' ]]
}

@test "secrets are hidden in it, and bytes of the inside are escaped" {
	told debug --secret TOKEN=hunter-2222
	hutch exec box -- sh -c 'ln -s /usr/bin/true "$1"' - $'/tmp/\e[1m-hunter-2222'
	hutch exec box -- $'/tmp/\e[1m-hunter-2222'
	hutch exec -u nobody-hunter-2222 box true
	[ "$status" -ne 0 ]
	hutch kill box
	never grep -rq hunter- runtime
	never grep -rq --exclude-dir=.prepared $'\e' runtime # the host's ld.so.cache has any bytes
	hutch logs --supervisor box
	has 'supervisor: started .*secret-hidden'
	has 'supervisor: exec.start of .*secret-hidden'
}

@test "a client that follows the log gets each message as it comes, to the end" {
	told info
	"$HUTCH" logs --supervisor -f box >followed &
	local follower=$!
	until_true grep -q ready followed
	hutch kill box
	wait "$follower"
	grep -q ' info  supervisor: ended {"record":{"reason":"killed"' followed
}

@test "an unknown level or format is an error, and errors are objects if asked for" {
	local words
	for words in '--log-level loud' '--log-level=' '--log-format xml'; do
		# shellcheck disable=SC2086 # words
		hutch $words ps
		[ "$status" -eq 125 ]
		one_sentence '--log-'
	done
	hutch --log-format=json run $'--nope\xc2\x9b[2J'
	[[ $stderr == *'unknown flag --nope\u009b[2J"'* ]]
	hutch --log-format=json --log-level=error run --nope
	[ "$status" -eq 125 ]
	[[ ${stderr_lines[0]} == '{"time":"'*'","level":"error","sandbox":null,"component":"hutch","message":"unknown flag --nope'* ]]
	HUTCH_LOG_LEVEL=loud hutch ps
	[ "$status" -eq 125 ]
	one_sentence '--log-level and HUTCH_LOG_LEVEL take'
}
