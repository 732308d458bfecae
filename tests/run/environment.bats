#!/usr/bin/env bats
# Tests of -e, --env-file, -w and --hostname, and of the variables of the caller that a sandbox
# does not get.

load helpers

setup() {
	begin
}

teardown() {
	end
}

@test "-e sets a variable, the last one counts, and a value may be empty or have =" {
	inside -e A=1 --env B= -e C=x=y -e A=2 -eD=4 --env=E=5 sh -c 'echo "$A|${B-unset}|$C|$D|$E"'
	[ "$output" = "2||x=y|4|5" ]
}

@test "-e KEY passes the caller's value on, and nothing when there is none" {
	PASSED='a b' inside -e PASSED -e NOT_SET sh -c 'echo "$PASSED|${NOT_SET-unset}"'
	[ "$output" = "a b|unset" ]
}

@test "-e can change what hutch sets itself" {
	inside -e HOME=/tmp -e PATH=/usr/bin -e TERM=dumb env
	has '^HOME=/tmp$'
	has '^PATH=/usr/bin$'
	has '^TERM=dumb$'
	[ "$(sort -u <<<"${output//=*/}" | wc -l)" -eq "$(wc -l <<<"${output//=*/}")" ]
}

@test "-e takes newlines and bytes that are no UTF-8" {
	inside -e $'A=x\ny' -e $'B=\xff' sh -c 'printf "%s|%s" "$A" "$B" | od -An -c | tr -d " \n"'
	[ "$output" = 'x\ny|377' ]
}

@test "--env-file has comments, empty lines, values with quotes and names passed on" {
	printf '%s\n' '# comment' '' 'A=1' 'B="quoted" #no comment' 'PASSED' 'C=' $'D=crlf\r' >vars
	printf 'E=no newline' >>vars
	PASSED=yes inside --env-file vars sh -c 'echo "$A|$B|$PASSED|$C|$D|$E"'
	[ "$output" = '1|"quoted" #no comment|yes||crlf|no newline' ]
}

@test "--env-file with NULs is read as /proc/PID/environ is written" {
	env -i $'A=two\nlines' '#B=kept' C= cat /proc/self/environ >vars
	inside --env-file vars env
	[[ "$output" == *$'A=two\nlines\n#B=kept\nC='* ]]
}

@test "flags and files are taken in order" {
	echo A=file >vars
	inside -e A=flag --env-file vars sh -c 'echo $A'
	[ "$output" = file ]
	inside --env-file vars -e A=flag sh -c 'echo $A'
	[ "$output" = flag ]
}

@test "secrets and traps in the caller's environment stay outside" {
	export AWS_SECRET_ACCESS_KEY=s GITHUB_TOKEN=s NPM_TOKEN=s BASH_ENV=/nonexistent \
		ENV=/nonexistent GIT_DIR=/ GIT_SSH_COMMAND=x SSH_AUTH_SOCK=/x DBUS_SESSION_BUS_ADDRESS=x \
		XDG_RUNTIME_DIR PYTHONPATH=/x IFS=x PROMPT_COMMAND=x LD_LIBRARY_PATH=/x \
		HUTCH_POLICY=x HTTPS_PROXY=http://u:p@x
	inside sh -c 'env; tr "\0" "\n" </proc/self/environ'
	has_not 'AWS|TOKEN|BASH_ENV|^ENV=|GIT|SSH|DBUS|XDG|PYTHON|PROMPT|LD_|HUTCH|PROXY'
	[ "$(wc -l <<<"$output")" -le 18 ]
}

@test "LD_PRELOAD of the caller does not come in" {
	catch env LD_PRELOAD=/nonexistent/evil.so "$HUTCH" run env
	has_not LD_PRELOAD
	[[ $stderr != *evil* ]] || [[ $stderr == *"from LD_PRELOAD cannot be preloaded"* ]]
}

@test "-w is the working directory, in any form of its path" {
	for dir in /tmp //tmp/ /tmp/. /./tmp; do
		inside -w "$dir" pwd
		[ "$output" = /tmp ]
	done
	inside --workdir=/usr/lib pwd
	[ "$output" = /usr/lib ]
	room w
	mkdir w/sub
	inside --workspace "$T/w" -w /workspace/sub pwd
	[ "$output" = /workspace/sub ]
}

@test "-w to what is not there, or no folder, or with .., is an error that names it" {
	refuses 'enter the working directory: /nonexistent: No such file' -w /nonexistent true
	refuses 'enter the working directory: /etc/passwd: Not a directory' -w /etc/passwd true
	refuses "-w: '/tmp/../etc' contains '..'" -w /tmp/../etc true
	refuses "-w: 'tmp' is not an absolute path" -w tmp true
}

@test "--hostname is what hostname, /etc/hostname and /etc/hosts say" {
	inside --hostname web-1.example sh -c 'hostname; cat /etc/hostname; getent hosts web-1.example'
	[ "${lines[0]}" = web-1.example ]
	[ "${lines[1]}" = web-1.example ]
	[[ ${lines[2]} == *web-1.example* ]]
}

@test "a hostname that is none is refused, whatever it tries" {
	long=$(printf 'a%.0s' {1..64})
	for name in '' '../x' $'a\nb' '-rf' 'a b' "$long" 'a_b' '.a' 'a.' 'ä' $'\e]0;x\a'; do
		refuses '--hostname takes 1 to 63' --hostname "$name" true
		[[ $stderr != *$'\e'* ]]
	done
	inside --hostname "${long:1}" hostname
	[ "$output" = "${long:1}" ]
}
