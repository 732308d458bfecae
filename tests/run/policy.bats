#!/usr/bin/env bats
# Tests of policies in files: they mean the same as flags, and an error is one sentence with its
# place.

load helpers

setup() {
	begin
}

teardown() {
	remove_boxes
	end
}

# policy NAME TEXT: writes the policy file NAME: "version": 1 and then TEXT.
policy() {
	mkdir -p "$(dirname "$1")"
	printf '{"version":1,%s}\n' "$2" >"$1"
	give "$1"
}

# wrong TEXT PATTERN: checks that a policy file with TEXT is refused with an error that matches.
wrong() {
	printf '%s' "$1" >p.json
	hutch policy check ./p.json
	[[ $status == 125 && -z $output ]] && one_sentence "./p.json: $2"
}

# wrong_key TEXT PATTERN: does the same as wrong, with "version": 1 before TEXT.
wrong_key() {
	wrong "{\"version\":1,$1}" "$2"
}

@test "a policy means the same as the flags" {
	policy p/one.json '"env":{"A":"1","B":"two words"},"user":"root","hostname":"box","workdir":"/tmp",
		"limits":{"ulimits":{"nofile":"100:200"},"timeout":"30s"},"tmpfs":["/var/x:size=1m"]'
	inside --policy p/one.json sh -c 'echo $A $B; id -u; hostname; pwd; ulimit -Sn; ulimit -Hn; df -k /var/x | tail -1 | tr -s " " | cut -d" " -f2'
	[[ $status == 0 && -z $stderr && $output == $'1 two words\n0\nbox\n/tmp\n100\n200\n1024' ]]
	"$HUTCH" run --policy p/one.json --dry-run true >by_policy
	"$HUTCH" run -e A=1 -e 'B=two words' -u root --hostname box -w /tmp --ulimit nofile=100:200 \
		--timeout 30s --tmpfs /var/x:size=1m --dry-run true >by_flags
	diff by_policy by_flags
}

@test "flags win, wherever they stand, and lists add up" {
	mkdir a b
	echo a >a/f; echo b >b/f
	give a b
	policy p.json '"env":{"A":"policy","B":"policy"},"mounts":["./a:/data"],"hostname":"policy"'
	inside -e A=flag --hostname flag --policy p.json -e C=flag sh -c 'echo $A $B $C; hostname; cat /data/f'
	[[ $output == $'flag policy flag\nflag\na' ]]
	inside --policy p.json -v "$T/b:/data" -v "$T/a:/more" cat /data/f /more/f
	[[ $output == $'b\na' ]]
	policy q.json '"hostname":"later"'
	inside --policy p.json --policy=q.json sh -c 'hostname; echo $A'
	[[ $output == $'later\npolicy' ]]
	# Several --policy flags form one policy; a later file also replaces switches and folders
	# of an earlier one.
	policy one.json '"read_only":true,"workspace":"a","limits":{"ulimits":{"nofile":"100"}}'
	policy two.json '"read_only":false,"workspace":"b","limits":{"ulimits":{"nofile":"90"}}'
	inside --policy one.json --policy two.json sh -c 'touch /tmp/x && cat f; ulimit -n'
	[[ $output == $'b\n90' ]]
	inside --policy two.json --policy one.json --workspace b sh -c 'touch /tmp/x 2>/dev/null || cat f; ulimit -n'
	[[ $output == $'b\n100' ]]
	inside --policy one.json --ulimit nofile=80 sh -c 'ulimit -n'
	[[ $output == 80 ]]
}

@test "a policy builds on others: later values win, arrays add up or begin anew" {
	mkdir -p base/data mine
	echo base >base/data/f; echo mine >mine/f
	give base mine
	policy base/base.json '"mounts":["data:/base"],"env":{"A":"base","B":"base"},"hostname":"base","read_only":true'
	policy top.json '"extends":"base/base.json","mounts":["mine:/mine"],"env":{"A":"top"},"read_only":false'
	inside --policy top.json sh -c 'cat /base/f /mine/f; echo $A $B; hostname; touch /tmp/x && echo written'
	[[ $output == $'base\nmine\ntop base\nbase\nwritten' ]]
	policy anew.json '"extends":["top.json"],"mounts":{"replace":["mine:/only"]}'
	inside --policy ./anew.json sh -c 'ls -d /base /mine /only'
	[[ $output == /only ]]
	hutch policy show anew.json
	[[ $status == 0 && -z $stderr ]]
	diff <(tr -s ' ' <<<"$output") - <<-EOF
		KEY VALUE FROM
		read_only false ./top.json
		mounts ./mine:/only anew.json
		env B=base ./base/base.json
		env A=top ./top.json
		hostname base ./base/base.json
	EOF
}

@test "settings for one command alone are ignored by the others" {
	policy p.json '"limits":{"ttl":"1h","idle_timeout":"1h"},"entrypoint":"x"'
	inside --policy p.json true
	[[ $status == 125 && $stderr == *"--entrypoint"* ]]
	policy p.json '"limits":{"ttl":"1h","idle_timeout":"1h"},"lint":true'
	inside --policy p.json echo done
	[[ $status == 0 && $output == done ]]
	hutch create --policy p.json box
	[[ $status == 0 ]]
	hutch exec box echo there
	[[ $output == there ]]
	hutch exec --policy p.json box true
	[[ $status == 125 && $stderr == *'--policy is no flag of hutch exec'* ]]
}

@test "nothing in a project is used unless it is named" {
	mkdir project
	for name in hutch.json .hutch.json policy.json .hutch/policy.json default.json default; do
		policy "project/$name" '"hostname":"project"'
	done
	give project
	cd project
	inside --workspace . hostname
	[[ $output == hutch ]]
	inside --workspace . --policy default hostname
	[[ $output == hutch ]]
	inside --policy ./default.json hostname
	[[ $output == project ]]
}

@test "an error is one sentence, with the file and the place in it" {
	wrong '' '.*line 1, column 1'
	wrong '{"version":1,}' '.*line 1, column 14'
	wrong $'{"version":1,\n "hostname":tru}' '.*line 2, column'
	wrong '[]' 'policy: an object was expected, not an array'
	wrong '{}' 'policy: "version": 1 is missing'
	wrong '{"version":2}' 'policy.version: this hutch reads version 1, not 2'
	wrong '{"version":"1"}' 'policy.version: a number was expected, not a string'
	wrong_key '"hostnam":"x"' "policy: unknown key 'hostnam'"
	wrong_key '"limits":{"memroy":"1g"}' "policy.limits: unknown key 'memroy'"
	wrong_key '"limits.memory":"1g"' "policy: unknown key 'limits.memory'"
	wrong_key '"limits":[]' 'policy.limits: an object was expected, not an array'
	wrong_key '"hostname":1' 'policy.hostname: a string was expected, not a number'
	wrong_key '"hostname":"a","hostname":"b"' "the key 'hostname' stands twice"
	wrong_key '"read_only":"yes"' 'policy.read_only: true or false was expected'
	wrong_key '"mounts":"/a:/b"' 'policy.mounts: an array was expected'
	wrong_key '"mounts":[1]' 'policy.mounts\[0\]: a string was expected'
	wrong_key '"mounts":{"add":[]}' "policy.mounts: unknown key 'add'"
	wrong_key '"env":["A"]' 'policy.env: an object was expected'
	wrong_key '"env":{"A=B":"c"}' "policy.env: 'A=B' is no name"
	wrong_key '"env":{"A":1}' 'policy.env.A: a string was expected'
	wrong_key '"secrets":["A=b"]' 'policy.secrets\[0\]: the name of a variable was expected, without its value'
	wrong_key '"why":{"hostname":"x"}' "policy.why.hostname: there is no 'hostname' in this file"
	wrong_key '"extends":"nonesuch"' "policy.extends: there is no policy 'nonesuch'"
	wrong_key '"extends":"./nonesuch.json"' 'policy.extends: ./nonesuch.json: open the policy: No such file'
	wrong_key '"extends":"p.json"' 'policy.extends: ./p.json: it extends itself'
}

@test "a value that the flag would refuse is refused with its key" {
	wrong_key '"limits":{"memory":"lots"}' ".*lots.*\(from ./p.json: limits.memory\)"
	wrong_key '"limits":{"cpus":-1}' '.*\(from ./p.json: limits.cpus\)'
	wrong_key '"capabilities":{"add":["SYS_NONE"]}' '.*SYS_NONE.*\(from ./p.json: capabilities.add\)'
	wrong_key '"network":"some"' '.*some.*\(from ./p.json: network\)'
	wrong_key '"mounts":["/a:relative"]' '.*\(from ./p.json: mounts\)'
	wrong_key '"mounts":["/a:/x","/b:/x"]' '.*/x'
	policy top.json '"extends":"p.json"'
	printf '{"version":1,"idmap":"both"}' >p.json
	hutch policy check ./top.json
	[[ $status == 125 && $stderr == *'(from ./p.json: idmap)'* ]]
}

@test "hostile files are refused, and cost nothing" {
	head -c 2000000 /dev/zero | tr '\0' ' ' >p.json
	hutch policy check ./p.json
	[[ $status == 125 ]]
	one_sentence '.*1048576'
	wrong "$(printf '[%.0s' {1..10000})" '.*deep'
	wrong '{"version":1,"hostname":"a\u0000b"}' '.*line 1'
	ln -s loop.json loop.json
	hutch policy check ./loop.json
	[[ $status == 125 ]]
	one_sentence '.*Too many levels of symbolic links'
	hutch policy check .
	[[ $status == 125 ]]
	one_sentence '.*'
	for i in {1..18}; do policy "$i.json" "\"extends\":\"$((i + 1)).json\""; done
	policy 19.json '"hostname":"x"'
	hutch policy check ./1.json
	[[ $status == 125 && $stderr == *'more than 16 policies extend one another'* ]]
	for i in {1..9}; do policy "$i.json" "\"extends\":[\"$((i + 1)).json\",\"$((i + 1)).json\"]"; done
	policy 10.json '"hostname":"x"'
	hutch policy check ./1.json
	[[ $status == 125 && $stderr == *'a policy is made of more than 256 files'* ]]
	policy many.json "\"env\":{$(seq -f '"V%g":"x",' -s '' 9000)\"LAST\":\"x\"}"
	hutch policy check ./many.json
	[[ $status == 125 && $stderr == *'a policy has more than 8192 settings'* ]]
	policy a.json '"extends":"b.json"'
	policy b.json '"extends":"a.json"'
	hutch policy check ./a.json
	[[ $status == 125 && $stderr == *'it extends itself'* ]]
	printf '{"version":1,"about":"\033[31m","env":{"\033[31m":1}}' >p.json
	hutch policy check ./p.json
	[[ $status == 125 && $stderr != *$'\033'* ]]
}

@test "the policies that hutch has can be listed, shown, checked and used" {
	hutch policy list
	[[ $status == 0 && ${lines[0]} == NAME*ABOUT ]]
	for name in agent ci default dev strict; do
		has "^$name +[a-z]"
		"$HUTCH" policy check "$name"
		"$HUTCH" policy show "$name" >shown
		grep -qE '^network +none +default$' shown
	done
	((${#lines[@]} == 6))
	hutch policy diff default ci
	[[ $output == $'+ env CI=true\n+ limits.timeout 1h' ]]
	hutch policy diff ci ci
	[[ $status == 0 && -z $output ]]
	inside --policy ci sh -c 'echo $CI'
	[[ $output == true ]]
	inside --policy strict --best-effort sh -c 'touch /x; grep CapBnd /proc/self/status'
	[[ $status == 0 && $stderr == *"/x"* && $output == *0000000000000000 ]]
	TERM=xterm-hutch inside --policy dev sh -c 'echo $TERM; ulimit -Sn'
	if [[ $(ulimit -Hn) == unlimited ]] || (($(ulimit -Hn) >= 4096)); then
		[[ $output == $'xterm-hutch\n4096' ]]
	else # what the caller may not have is an error
		[[ $status == 125 ]]
	fi
	hutch policy nonesuch
	[[ $status == 125 ]]
	one_sentence "'nonesuch' is no verb of hutch policy"
	inside --policy nonesuch true
	[[ $status == 125 ]]
	one_sentence "--policy: there is no policy 'nonesuch'"
	inside --json=3 --policy nonesuch true 3>json
	[[ $status == 125 ]] && grep -q '"kind":"not_found"' json
}

@test "the changes of an agent are kept apart until a user applies them" {
	mkdir project
	echo before >project/f
	give project
	cd project
	inside --policy agent sh -c 'echo after >f; cat f'
	[[ $status == 0 && $output == after && $(cat f) == before ]] || skip "${stderr_lines[0]}"
	[[ $stderr == *"changes are kept as"* ]]
	"$HUTCH" discard "$(grep -o 'run-[0-9a-f]*' <<<"$stderr" | head -1)"
	# hutch apply leaves out protected names, since programs of the host would execute such
	# files.
	inside --policy agent sh -c 'mkdir .vscode; echo x >.vscode/tasks.json; echo x >p.code-workspace; echo x >x'
	hutch apply --partial "$(grep -o 'run-[0-9a-f]*' <<<"$stderr" | head -1)"
	[[ $status == 125 && $(ls -A) == $'f\nx' && $stderr == *".vscode: is protected"*"p.code-workspace: is protected"* ]]
	"$HUTCH" discard "$(grep -o 'run-[0-9a-f]*' <<<"$stderr" | head -1)"
}

@test "show says where names that are not there are not protected" {
	echo '{"version":1,"extends":"agent","workspace":".:rw","mounts":["/srv:/srv:ro"]}' >mine.json
	hutch policy show ./mine.json
	[[ $status == 0 && $output == *"protected "*".git/hooks "*"agent"* ]]
	[[ $stderr == "hutch: note: /workspace is shown :rw, where names that are not there yet are not protected; :cow protects them, and --protect-missing does, more slowly" ]]
	hutch policy show agent
	[[ $status == 0 && -z $stderr ]]
}

@test "check notes rules about connections that are never asked, however many there are" {
	jq -n '{version: 1, network: "allow", egress: {rules: ([range(100) | {allow: "h\(.).org"}] +
		[{deny: "a.org"}, {allow: "a.org"}])}}' >p.json
	hutch policy check p.json
	[[ $status == 0 && $stderr == *'rule 102, allow a.org, is never asked: an earlier rule decides otherwise: rule 101, deny a.org' ]]
	inside --policy ./p.json true
	[[ $status == 0 && -z $stderr ]]
}

@test "check and a launch note a preset without its @, and all names below a top-level domain" {
	local preset='allow pypi, is a name without a dot, which no public host has; is it the preset @pypi?'
	local top='allow *.com, allows each name below that domain, where anyone can register one'
	jq -n '{version: 1, network: "allow", egress: {rules: [{allow: "pypi"}, {allow: "*.com"}]}}' >p.json
	hutch policy check p.json
	[[ $status == 0 && $stderr == "hutch: note: rule 1, $preset"$'\n'"hutch: note: rule 2, $top" ]]
	inside --allow '*.com' --allow pypi true
	[[ $status == 0 && $stderr == "hutch: note: rule 1, $top"$'\n'"hutch: note: rule 2, $preset" ]]
	inside --allow @pypi --allow intranet --allow '*.a.com' --allow '*.github.io' true
	[[ $status == 0 && -z $stderr ]]
	# The host's list of publicsuffix.org has this one.
	if [ -e /usr/share/publicsuffix/public_suffix_list.dat ]; then
		inside --allow '*.co.uk' true
		[[ $status == 0 && $stderr == "hutch: note: rule 1, ${top/com/co.uk}" ]]
	fi
}

# The schema, the table of the manual page and the code must have the same keys.  The flags must
# correspond to them, except flags about how one command is run; --deny and --ask have the key
# of --allow.
@test "schema, manual page, flags and code say the same" {
	top=$BATS_TEST_DIRNAME/../..
	python3 "$here/policy.py" "$top" >keys
	flags_of() { "$HUTCH" "$1" --help | grep -oE -- ' --[a-z-]+' | tr -d ' -' | sort -u; }
	diff <(tr -d - <keys | sort) <(sort -u <(flags_of create) <(flags_of run) | grep -vxE \
		'help|deny|ask|policy|interactive|tty|stdio|json|learn|dryrun|rm|detach|stream|lease|name|quiet|mcp')
}
