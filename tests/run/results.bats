#!/usr/bin/env bats
# --json and --dry-run.

load helpers

setup() {
	begin
}

teardown() {
	end
}

# object TEXT EXPRESSION: checks that TEXT is one result object with all its keys and nothing
# else, and that the Python EXPRESSION about it, as `o`, is true.
object() {
	python3 "$here/results.py" "$1" "${2:-True}"
}

@test "the network and its form are in the result, and in the info of a sandbox with a name" {
	inside --json true
	object "$stderr" 'o["network"] == {"mode": "none", "form": None}'
	inside --json --allow example.org true
	object "$stderr" 'o["network"]["mode"] == "allow" and o["network"]["form"] in ("gateway", "single")'
	form=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["network"]["form"])' "$stderr")
	"$HUTCH" create --allow example.org box
	hutch inspect box
	"$HUTCH" rm -f box
	[[ $(tr -d ' \n' <<<"$output") == *'"network":{"mode":"allow","form":"'"$form"'","joins":[]}'* ]]
}

@test "--json is the last line of stderr, and only there" {
	inside --json sh -c 'echo out; echo err >&2; exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = out ]
	[ "${stderr_lines[0]}" = err ]
	[ "${#stderr_lines[@]}" -eq 2 ]
	object "${stderr_lines[1]}" 'o["status"] == "exited" and o["exit_code"] == 3 and o["signal"] is None'
}

@test "--json=FD goes to that descriptor, and the command does not have it" {
	"$HUTCH" run --json=5 sh -c 'ls /proc/self/fd; echo fake >&5' 5>result >out 2>err || true
	[ "$(wc -l <result)" -eq 1 ]
	object "$(cat result)" 'o["status"] == "exited" and o["error"] is None'
	[ "$(xargs <out)" = "0 1 2 3" ]
	grep -qi 'bad file descriptor' err
	[ "$(grep -c version err)" -eq 0 ]
}

@test "--json=1 comes after the command's output, and --json=2 is --json" {
	inside --json=1 echo out
	[ "${lines[0]}" = out ]
	object "${lines[1]}" 'o["exit_code"] == 0'
	inside --json=2 true
	object "$stderr"
}

@test "--json says which signal ended the command" {
	inside --json sh -c 'kill -SEGV $$'
	object "${stderr_lines[-1]}" \
		'o["status"] == "signaled" and o["signal"] == 11 and o["exit_code"] == 139'
}

@test "--json says that the time was up" {
	inside --json --timeout 0.2 sleep 1000
	object "${stderr_lines[-1]}" 'o["status"] == "timeout" and o["exit_code"] == 124 and
		o["wall_s"] >= 0.2 and o["error"] is None'
}

@test "--json explains what could not be set up, with its remedy" {
	inside --json -v /nonexistent:/x true
	object "${stderr_lines[-1]}" 'o["status"] == "setup-error" and o["exit_code"] == 125 and
		o["error"]["kind"] == "not_found" and "/nonexistent" in o["error"]["message"]'
	inside --json --memory 64 true
	object "${stderr_lines[-1]}" 'o["error"]["kind"] == "usage" and "512m" in o["error"]["remedy"]'
	inside --json nonexistent-command
	object "${stderr_lines[-1]}" 'o["exit_code"] == 127 and o["error"]["kind"] == "not_found"'
}

@test "--json is there for a wrong flag behind it" {
	inside --json --nonsense
	object "${stderr_lines[-1]}" 'o["exit_code"] == 125 and o["error"]["kind"] == "usage"'
}

@test "--json stays one line of valid JSON whatever the error quotes" {
	inside --json -v $'/no\n"\\\e\x7f\xff\xc3:/x' true
	object "${stderr_lines[-1]}"
	long=$(printf 'ä%.0s' {1..600})
	inside --json -v "/$long:/x" true
	object "${stderr_lines[-1]}"
	inside --json --image "$long" true
	object "${stderr_lines[-1]}"
}

@test "--json counts the time that the command used" {
	inside --json bash -c 'for ((i = 0; i < 300000; i++)); do :; done'
	object "${stderr_lines[-1]}" 'o["user_s"] + o["sys_s"] > 0.05'
}

@test "--json with a descriptor that is not open, or is no number, is an error" {
	refuses '--json=77: that descriptor is not open' --json=77 true
	refuses '--json: ' --json=x true
	refuses '--json: ' --json= true
	refuses '--json' --json=-1 true
	refuses '--json' --json=99999999999999999999 true
}

@test "--dry-run prints the plan and runs nothing" {
	room w
	inside --dry-run -v "$T/w:/data:ro" --workspace "$T/w" --tmpfs /scratch:size=1m -e A=b \
		--hostname plan touch /workspace/ran
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ ! -e w/ran ]
	has '^new .*user mount pid net ipc uts cgroup$'
	has "^uid +1000 inside is $who on this host$"
	has "^bind +/data <- $T/w ro,nodev .*-v $T/w:/data:ro"
	has "^bind +/workspace <- $T/w rw,nodev"
	has '^tmpfs +/scratch .*1048576'
	has '^hostname +plan$'
	has '^env +A=b$'
	has '^mask +/proc/kallsyms$'
	has '^caps +none$'
	has '^run +touch /workspace/ran$'
}

@test "--dry-run creates no process, folder or file" {
	room img
	before=$(state_of "$T")
	inside --dry-run --image "dir:$T/img" -v "$HOME:/h" -u root true
	[ "$status" -eq 0 ]
	[ "$(state_of "$T")" = "$before" ]
	strace -f -e trace=clone,clone3,fork,vfork,unshare,mkdir,mkdirat -o trace \
		"$HUTCH" run --dry-run true >/dev/null 2>&1 || skip "no strace"
	never grep -vE 'exited|^[0-9]+ +(---|\+\+\+)' trace
}

@test "--dry-run fails as the launch would, and says the same" {
	refuses 'mount /nonexistent: no such folder' --dry-run -v /nonexistent:/x true
	refuses 'unknown flag' --dry-run --nonsense true
	refuses 'no command given' --dry-run
	refuses 'open seccomp profile' --dry-run --seccomp /nonexistent true
}

@test "--dry-run shows control characters" {
	inside --dry-run -e $'A=\e]0;x\a' $'a\nb'
	[[ $output != *$'\e'* ]]
	has '\^\[\]0;x\^G'
	has '^run +a\^Jb$'
}

@test "--dry-run says what --network host and a seccomp profile change" {
	inside --dry-run --network host true
	has "^network +this host's$"
	has '^(landlock|seccomp) .*(abstract|AF_UNIX)'
	has_not '^new .* net'
}

@test "--help prints every flag, and runs nothing" {
	inside --help
	[ "$status" -eq 0 ]
	has '--volume'
	inside -h false
	[ "$status" -eq 0 ]
	catch "$HUTCH" help run
	has '--volume'
}

@test "hutch without a verb, with a wrong one, and its version" {
	catch "$HUTCH"
	[ "$status" -eq 125 ]
	catch "$HUTCH" frobnicate
	[ "$status" -eq 125 ]
	one_sentence "'frobnicate' is not a hutch command"
	catch "$HUTCH" insepct box
	one_sentence "'insepct' is not a hutch command; is it hutch inspect?"
	catch "$HUTCH" images
	one_sentence "'images' is not a hutch command; is it hutch image ls?"
	catch "$HUTCH" help nosuch
	[ "$status" -eq 125 ]
	one_sentence "'nosuch' is not a hutch command"
	catch "$HUTCH" image pul x
	one_sentence "'pul' is not a verb of hutch image; is it pull?"
	catch "$HUTCH" policy lst
	one_sentence "'lst' is no verb of hutch policy; is it list?"
	catch "$HUTCH" ps --jsn
	one_sentence 'unknown flag --jsn; is it --json?'
	catch "$HUTCH" --version
	[[ $output =~ ^hutch\ [0-9]+\.[0-9]+ ]]
	[ "$status" -eq 0 ]
}

@test "hutch holds none of the caller's descriptors" {
	start sh -c 'echo there; exec sleep 1000' 8>"$T/kept"
	said there
	[[ $(readlink "/proc/$pid/fd/2") == "$T/err" && -z $(find "/proc/$pid/fd" -lname "$T/kept") ]]
	kill -TERM "$pid"
	ended 143
}

@test "the descriptor of --json is hutch's, and the executor has none but its own" {
	is_root || skip "this host has no way to look at an executor but as root"
	mkfifo "$T/out"
	"$HUTCH" run --json=9 sh -c 'echo there; exec sleep 1000' >"$T/out" 9>"$T/json" 3>&- </dev/null &
	pid=$! && started+=("$pid")
	exec 7<"$T/out"
	said there
	for one in $(descendants "$pid"); do
		[[ $(cat "/proc/$one/comm") != *executor* ]] || executor=$one
	done
	never grep -vE '^(/null|/dev/null|socket:.*|anon_inode:.*)$' < <(readlink "/proc/$executor/fd/"*)
	kill -TERM "$pid"
}
