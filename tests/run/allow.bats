#!/usr/bin/env bats
# Tests of hutch run --network allow: a sandbox reaches the names that rules allow, and no others.
# The internet is the test's own (net_world.sh).

load helpers

# world CMD...: runs CMD as the ordinary user in a network of the test's own.
world() {
	catch as_who env HUTCH="$HUTCH" "$here/net_world.sh" "$@"
}

# net NAME... -- CMD...: runs CMD in a sandbox for which rules allow these names; net.py is at /.
net() {
	local flags=(-v "$here/net.py:/net.py:ro" -e "PATIENCE=$PATIENCE" --network allow)
	while [[ $1 != -- ]]; do flags+=(--allow "$1") && shift; done
	world "$HUTCH" run "${flags[@]}" "$@"
}

@test "a name that a rule allows is reached, by HTTP and by TLS" {
	net example.org -- curl -sS http://example.org/x
	[[ $status == 0 && $output == "example.org /x" ]]
	net example.org -- curl -sSk https://example.org/y
	[[ $status == 0 && $output == "example.org /y" ]]
}

@test "another name is refused with the truth, and no resolver outside is asked for it" {
	world sh -c '"$HUTCH" run -i -e PATIENCE="$2" --network allow --allow example.org \
			python3 -SE - refused <"$1"
		grep other "$W/asked"' - "$here/net.py" "$PATIENCE"
	[[ $status == 1 && $output == "PermissionError" ]]
}

@test "a question for a service is no connection that was refused" {
	net example.org -- python3 -SE /net.py service
	[[ $output == $'code 0 answers 0\nPermissionError' ]]
	[[ $stderr == *"a connection to other.org was refused"* && $stderr != *_tcp* ]]
}

@test "a name that does not exist is told so, and an address is not reached" {
	net none.org -- python3 -SE /net.py absent
	[[ ${lines[0]} == *"Name or service not known" && ${lines[1]} == "ConnectionResetError" ]]
}

@test "a name that leads to a private address, to this host or to a metadata service is refused" {
	net private.org own.org metadata.org -- sh -c '
		for name in private own metadata; do
			curl -sS -o /dev/null -w "%{http_code}\n" http://$name.org/
		done'
	[[ $output == $'403\n403\n403' ]]
}

@test "a port that no rule names is refused at once, and UDP too" {
	net example.org -- python3 -SE /net.py ports
	[[ $output == $'ConnectionRefusedError\nConnectionRefusedError' ]]
}

@test "refused ports and datagrams are told, each with its reason" {
	net example.org -- sh -c 'curl -sS http://example.org/x; python3 -SE /net.py ports; exit 7'
	diff <(grep -v "^hutch: note" <<<"$stderr") - <<-END
		hutch: a connection to example.org:7000 was refused (network: no rule allows this port of the host)
		hutch: hint: --allow example.org:7000
		hutch: a connection to 93.184.216.34:443 was refused (network: no UDP leaves the sandbox)
		hutch: hint: hutch-net(1) says what is refused, and why
	END
	net example.org -- sh -c 'python3 -SE /net.py datagrams; exit 7'
	[[ $stderr =~ 93.184.216.34:443" was refused, "[0-9]+" times (network: no UDP leaves the sandbox)" ]]
	[[ $stderr =~ "[2606:2800:220:1::1]:443 was refused, "[0-9]+" times (network: no UDP leaves" ]]
	net 'example.org:*' -- sh -c 'python3 -SE /net.py datagrams; exit 7'
	[[ $stderr == *"[2606:2800:220:1::1]:443 was refused, "* ]]
}

@test "rules may be about each port, or many, and need nf_tables for that, which is named" {
	net 'example.org:*' -- python3 -SE /net.py each_port
	[[ $output == $'greetings\ngreetings\nConnectionResetError' ]]
	net example.org:1-7000 -- python3 -SE /net.py each_port
	[[ $output == $'greetings\ngreetings\nConnectionResetError' ]]
	world "$(tool forbid)" netfilter "$HUTCH" run --allow 'example.org:*' true
	[[ $status == 125 && $stderr == *"module nf_tables, which is not there"* ]]
	[[ $stderr == *"as root: modprobe nf_tables;"* ]]
	world "$(tool forbid)" netfilter "$HUTCH" run --allow 'example.org:7000' --deny '*:*' true
	[[ $status == 0 ]]
}

@test "a hundred datagrams are refused at once, of IPv4 and of IPv6" {
	net example.org -- python3 -SE /net.py datagrams
	[[ $output == $'ConnectionRefusedError\nConnectionRefusedError' ]]
}

@test "a server may speak first, and each end may end first" {
	net example.org:7000 -- python3 -SE /net.py speaks_first
	[[ $output == $'b\'greetings\\n\'\nb\'hello\'' ]]
}

@test "TLS for another name is refused, and HTTP for another host" {
	net example.org other.org -- sh -c '
		curl -sSk --connect-to other.org:443:example.org:443 https://other.org/; echo $?
		curl -sS -H "Host: other.org" http://example.org/
		exec python3 -SE /net.py smuggles'
	[[ ${lines[0]} == 35 && ${lines[1]} == *"refused: HTTP asked for another host"* ]]
	[[ ${lines[2]} == "[b'200']" && ${lines[3]} == ConnectionResetError ]]
}

@test "HTTP clients of Python and of Node fetch from the allowed name, and say that the other is denied" {
	net example.org -- python3 -SE /net.py fetches
	[[ $output == $'example.org /page\nPermission denied' ]]
	command -v node >/dev/null || skip "this host has no node"
	# shellcheck disable=SC2016 # of Node
	net example.org -- node --input-type=module -e 'for (const name of ["example", "other"])
		try { console.log((await (await fetch(`http://${name}.org/page`)).text()).trim()); }
		catch (error) { console.log(error.cause.code); }'
	[[ $output == $'example.org /page\nEACCES' ]]
}

@test "large bodies come whole, both ways" {
	net example.org -- sh -c 'curl -sS http://example.org/big/16777216 | md5sum
		curl -sSk https://example.org/big/16777216 | md5sum
		head -c 5000000 /dev/zero | curl -sS -w "%{http_code}" --data-binary @- http://example.org/'
	want=$(python3 -c 'import hashlib; print(hashlib.md5(b"0123456789abcdef" * (1 << 20)).hexdigest())')
	[[ $output == "$want  -"$'\n'"$want  -"$'\n204' ]]
}

@test "a wildcard is about names below" {
	net '*.wild.org' -- sh -c 'curl -sSk https://a.wild.org/; curl -sS http://wild.org/; echo $?'
	[[ ${lines[0]} == "a.wild.org /" && ${lines[-1]} == 7 ]]
}

@test "hutch-gate and hutch-egress end with the command" {
	world setsid -w sh -c 'mkfifo "$HOME/in" "$HOME/out"
		"$HUTCH" run -i --network allow --allow example.org sh -c "echo runs; read _" <"$HOME/in" >"$HOME/out" &
		exec 5>"$HOME/in" 6<"$HOME/out"
		read -r _ <&6
		pgrep -c -s 0 -x "hutch-gate|hutch-egress"
		exec 5>&-
		wait
		pgrep -c -s 0 -x "hutch-gate|hutch-egress"'
	[[ $output == $'2\n0' ]]
}

@test "hutch-gate has no privilege" {
	world setsid -w sh -c 'mkfifo "$HOME/in" "$HOME/out"
		"$HUTCH" run -i --network allow --allow example.org sh -c "echo runs; read _" <"$HOME/in" >"$HOME/out" &
		exec 5>"$HOME/in" 6<"$HOME/out"
		read -r _ <&6
		grep -E "^(Seccomp|NoNewPrivs|CapPrm|CapEff):" "/proc/$(pgrep -s 0 -x hutch-gate)/status"
		exec 5>&-
		wait'
	[[ $output == $'CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2' ]]
}

@test "each connection of a crowd is in the audit log, as a line or counted, with its bytes" {
	world sh -ec '"$HUTCH" run --audit "$W/audit" -v "$1:/net.py:ro" -e PATIENCE="$2" --allow example.org \
			python3 -SE /net.py crowd
		"$HUTCH" audit verify "$W/audit" >&2
		"$HUTCH" audit show --json "$W/audit" | jq -sc "[.[] | select(.event | startswith(\"net\"))] |
			[(map(.count // 1) | add), (map(.up // 0) | add), (map(.down // 0) | add)]"' - \
		"$here/net.py" "$PATIENCE"
	[[ $status == 0 && $output == "[300,8400,18900]" ]]
}

@test "each of 150 short actions tells the host that was refused to it, and no other" {
	world sh -ec 'for i in $(seq 150); do
			echo "{\"action\":\"run\",\"args\":{\"command\":\"getent ahostsv4 n$((i % 50)).org >n\"}}"
		done | "$HUTCH" act --allow example.org | jq -c ".hutch.refused | map(.what)" | sort | uniq -c'
	diff <(echo "$output" | sed 's/^ *//') <(printf '3 ["connect to n%d.org"]\n' {0..49} | sort)
}

# A signal to the group is that of timeout(1), and of Ctrl-C at a terminal.
@test "a signal to hutch's process group leaves the network to the command" {
	world setsid -w sh -c 'mkfifo "$HOME/in" "$HOME/out"
		trap : TERM
		"$HUTCH" run -i -e PATIENCE="$2" -v "$1:/net.py:ro" --network allow --allow example.org:7000 \
			python3 -SE /net.py interrupted <"$HOME/in" >"$HOME/out" &
		exec 5>"$HOME/in" 6<"$HOME/out"
		read -r _ <&6
		kill -TERM 0
		read -r word <&6
		echo "$word"
		echo >&5
		cat <&6' - "$here/net.py" "$PATIENCE"
	[[ $output == $'SIGTERM\nb\'g\'' ]]
}

# kills PROGRAM: kills it by SIGKILL while a sandbox has a connection, which then makes another.
kills() {
	world setsid -w sh -c 'mkfifo "$HOME/in" "$HOME/out"
		"$HUTCH" run -i -e PATIENCE="$3" -v "$2:/net.py:ro" --network allow --allow example.org:7000 \
			python3 -SE /net.py outlives <"$HOME/in" >"$HOME/out" &
		exec 5>"$HOME/in" 6<"$HOME/out"
		read -r _ <&6
		pkill -KILL -s 0 -x "$1" || echo "no $1"
		echo >&5
		cat <&6
		rm "$HOME/in" "$HOME/out"' - "$1" "$here/net.py" "$PATIENCE"
	[[ ${lines[0]} == "b''" || ${lines[0]} == ConnectionResetError ]]
	[[ ${lines[1]} == "no connection" || ${lines[1]} == "b''" ]] && ((${#lines[@]} == 2))
}

@test "a gate that is killed, or the process behind it, leaves no way to the network" {
	kills hutch-gate
	kills hutch-egress
}

@test "an internet of the test's own whose server cannot begin is an error at once" {
	room bin
	ln -s "$(type -P false)" bin/python3
	catch as_who env PATH="$T/bin:$PATH" "$here/net_world.sh" echo begun
	[[ $status == 1 && -z $output && $stderr == *'the server has ended'* ]]
}
