#!/usr/bin/env bats
# Tests of hutch run --learn: the policy that it writes permits the same command, and while hutch
# learns the command can change and reach nothing.

load helpers

setup() {
	begin
	room out work
	# The tests put a program into a folder of the host that no sandbox shows by default.
	tools=/opt/hutch-learn.${T##*.}
	if is_root; then
		mkdir -m 755 "$tools"
	else
		tools=$T/work/tools
		mkdir "$tools"
	fi
	printf '#!/bin/sh\necho tool\n' >"$tools/tool"
	chmod 755 "$tools/tool"
	mkdir "$HOME/.ssh"
	echo secret >"$HOME/.ssh/id"
	echo read >"$HOME/read"
	echo old >"$HOME/written"
	mkdir "$HOME/made"
	give "$HOME" "$T/work"
	needs_listener
}

teardown() {
	[[ ${tools:-} != /opt/hutch-learn.* ]] || rm -rf "$tools"
	end
}

# learns ARG...: runs hutch run --learn, which writes the policy $T/out/p.json.
learns() {
	inside --learn "$T/out/p.json" "$@"
}

# applied ARG...: runs hutch run with the policy that learns has written.
applied() {
	inside --policy "$T/out/p.json" "$@"
}

mounts() {
	python3 "$here/learn.py" mounts "$T/out/p.json"
}

# tells PATTERN: checks that a line of the summary on stderr matches.
tells() {
	grep -qE -- "$1" <<<"$stderr"
}

script='cat "$1/read" && echo new >"$1/written" && "$2/tool" && echo x >"$1/made/file" && cat "$1/written"
	echo >/dev/tcp/192.0.2.1/443
	mount -t tmpfs none /tmp || true'

@test "the learned policy lets the same command through, and nothing less does" {
	learns bash -c "$script" - "$HOME" "$tools"
	[ "$status" -eq 0 ]
	[ "$output" = $'read\ntool\nnew' ]
	[ "$(stat -c %a out/p.json)" = 600 ]
	hutch policy check "$T/out/p.json"
	[ "$status" -eq 0 ]
	mounts | sort >got
	sort >want <<-END
		$HOME/made:$HOME/made:rw
		$HOME/read:$HOME/read:ro
		$HOME/written:$HOME/written:rw
		$(is_root && echo "$tools/tool:$tools/tool:ro" || echo "$T/work/tools/tool:$T/work/tools/tool:ro")
	END
	diff got want
	applied bash -c "$script" - "$HOME" "$tools"
	[ "$status" -eq 0 ]
	[ "$output" = $'read\ntool\nnew' ]
	[ "$(<"$HOME/written")" = new ]
	inside bash -c "$script" - "$HOME" "$tools"
	[ "$output" = "" ]
}

@test "learning changes nothing on the host, whatever the flags show" {
	echo mine >work/mine
	give work
	box -v "$HOME:/h" true # makes hutch's own folders, which are hidden
	state_of "$HOME" work >before
	learns -v "$T/work:/w" bash -c 'echo a >"$1/written"; rm "$1/read"; mkdir "$1/new"; mv "$1/.ssh" "$1/gone"
		echo b >/w/mine; echo c >/w/other; cat /w/mine' - "$HOME"
	[ "$output" = b ]
	state_of "$HOME" work >after
	diff before after
	upper_is_gone
	mounts | grep -qx "$T/work:/w:rw"
	never hutch_has_changes
}

hutch_has_changes() {
	"$HUTCH" ps -aq | grep .
}

@test "addresses and refused calls are told, and are not in the policy" {
	learns bash -c "$script" - "$HOME" "$tools"
	tells 'tried to connect to 192\.0\.2\.1:443: it is not in the policy; --allow 192\.0\.2\.1:443 would let it'
	tells 'mount was refused'
	grep -q '"network": "none"' out/p.json
	never grep -q seccomp out/p.json
}

@test "the rules about connections are in the policy, and what they refused is told by its name alone" {
	learns --allow pypi.org --allow 10.1.2.3:22 bash -c 'echo >/dev/tcp/a.org/443; echo >/dev/tcp/192.0.2.1/443'
	never tells 'connect to 19[0-9]\.1[89]|10\.0\.2\.2'
	tells 'tried to connect to 192\.0\.2\.1:443'
	grep -q '"network": "allow"' out/p.json
	[ "$(jq -c .egress.rules out/p.json)" = '[{"allow":"pypi.org"},{"allow":"10.1.2.3:22"}]' ]
	hutch policy check "$T/out/p.json"
	[ "$status" -eq 0 ]
}

@test "a network of sandboxes is in the policy, and its rule once" {
	learns --network-join db-net:8000 true
	[ "$(jq -c '[.network_join, .egress.rules]' out/p.json)" = '[["db-net"],[{"allow":"*.db-net.hutch.internal:8000"}]]' ]
	hutch policy check "$T/out/p.json"
	[ "$status" -eq 0 ]
}

@test "a secret is listed by itself and told; its folder, and home, are never shown whole" {
	learns bash -c 'ls "$1" "$1/.ssh" >/dev/null; cat "$1/.ssh/id"; echo x >"$1/.ssh/new"; echo y >"$1/new"' - "$HOME"
	tells "$HOME/.ssh/id, which may be a secret"
	tells "$HOME/.ssh is not in the policy"
	tells "$HOME is not in the policy"
	[ "$(mounts)" = "$HOME/.ssh/id:$HOME/.ssh/id:ro" ]
}

@test "hutch's own folders are hidden while it learns, and are not learned" {
	mkdir -p "$HOME/.local/share/hutch"
	echo own >"$HOME/.local/share/hutch/own"
	give "$HOME/.local"
	learns bash -c 'cat "$1/.local/share/hutch/own"' - "$HOME"
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	never grep -q share/hutch out/p.json
}

@test "more than 8 files of a folder become the folder, with thousands of paths too" {
	local paths=${PATHS:-100} # of each of ten folders
	as_who mkdir -p home/few home/many/{1,2,3,4,5,6,7,8,9,10}
	as_who touch home/few/{1,2,3,4,5,6,7,8}
	(cd home/many && as_who bash -c 'for d in *; do for ((i = 0; i < $1; i++)); do : >$d/$i; done; done' - "$paths")
	learns bash -c 'cd "$1" && for i in {1..8}; do : <few/$i; done
		for d in {1..10}; do for ((i = 0; i < $2; i++)); do : <many/$d/$i; done; done' - "$HOME" "$paths"
	[ "$status" -eq 0 ]
	diff <(mounts) <(for i in 1 2 3 4 5 6 7 8; do echo "$HOME/few/$i:$HOME/few/$i:ro"; done
		echo "$HOME/many:$HOME/many:ro")
}

@test "names of any kind are noted, and those that no policy can say are told" {
	as_who bash -c 'echo q >"$1"/home/'"'quo\"te'"'; echo n >"$1/home/new"$'"'\\n'"'line; echo c >"$1/home/co:lon"' - "$T"
	learns bash -c 'cd "$1"; cat "quo\"te" "co:lon" "new"$'"'\\n'"'line
		long=$(printf "x%.0s" {1..5000}); cat "$long" "/$long/$long"' - "$HOME"
	[ "$output" = $'q\nc\nn' ]
	[ "$(mounts)" = "$HOME/quo\"te:$HOME/quo\"te:ro" ]
	tells 'co:lon is not in the policy'
	tells 'new\^Jline is not in the policy'
}

@test "a storm of opens ends, and its bound is told" {
	learns bash -c 'for p in 1 2 3 4; do
		(for ((i = 0; i < 16500; i++)); do [[ -e /no/$p/$i ]]; done) & done; wait'
	[ "$status" -eq 0 ]
	tells 'more paths than the 65536'
}

@test "a socket of the host's is not reached while it learns, nor is a FIFO" {
	mkfifo up hold
	as_who /usr/bin/python3 -SE "$here/learn.py" listen "$HOME/socket" <hold >up 3>&- &
	exec 6>hold 7<>up
	said up
	as_who mkfifo home/fifo
	exec 8<>home/fifo # somebody who reads
	learns -v "$here/learn.py:/learn.py:ro" python3 -SE /learn.py reach "$HOME/socket" "$HOME/fifo"
	[ "$status" -eq 0 ]
	never read -r -t 0 <&7
	never read -r -t 0 <&8
	tells 'tried to connect to unix:.*/home/socket'
	tells 'fifo is not in the policy'
}

@test "an existing policy file is not overwritten, and one that the command may write is refused" {
	echo mine >out/p.json
	refuses ".*p\.json: it is there already" --learn "$T/out/p.json" true
	[ "$(<out/p.json)" = mine ]
	refuses ".*would be in a folder" --learn "$T/work/p.json" -v "$T/work:/w" true
	refuses ".*open its folder" --learn "$T/none/p.json" true
	refuses ".*names no file" --learn "$T/out/" true
	ln -s /nowhere out/link
	refuses ".*there already" --learn "$T/out/link" true
}

@test "a file that came to be there meanwhile is not written over" {
	local code=0
	mkfifo go
	"$HUTCH" run --learn "$T/out/p.json" -i sh -c 'echo on; read -r x' <>go >there 2>err &
	started+=($!)
	until_true test -s there
	echo mine >out/p.json
	echo >go
	wait "${started[0]}" || code=$?
	[ "$code" -eq 125 ]
	grep -q 'it is there already' err
	[ "$(<out/p.json)" = mine ]
}

@test "a command that cannot be learned from is an error that says why" {
	echo '{"defaultAction": "SCMP_ACT_ALLOW"}' >all.json
	mkdir img
	refuses "--learn with --dry-run" --learn "$T/out/p.json" --dry-run true
	refuses "--learn with --isolation landlock" --learn "$T/out/p.json" --isolation landlock true
	refuses "--learn with --seccomp" --learn "$T/out/p.json" --seccomp all.json true
	refuses "--learn with --image" --learn "$T/out/p.json" --image "dir:$T/img" true
	refuses "--learn with --idmap ranges" --learn "$T/out/p.json" --idmap ranges true
	[ ! -e out/p.json ]
}

@test "flags are in the policy as they were given, and no value of a secret" {
	export TOKEN=hush-hush
	learns -e 'A="b' --secret TOKEN -w /tmp --hostname box --cap-drop ALL --timeout 90s \
		--ulimit nofile=100:200 --tmpfs /scratch:size=1m --workspace "$T/work:ro" true
	[ "$status" -eq 0 ]
	never grep -q hush out/p.json
	python3 "$here/learn.py" check_flags "$T"
	applied sh -c 'hostname; pwd; echo "$A$TOKEN"'
	[ "$output" = $'box\n/tmp\n"bhush-hush' ]
}

@test "hutch that is killed while it learns leaves no file and no process" {
	"$HUTCH" run --learn "$T/out/p.json" sh -c "echo on; while :; do ls /opt >/dev/null; done; : $mark" >there &
	started+=($!)
	until_true test -s there
	kill -KILL "${started[0]}"
	until_true none_marked
	until_true upper_is_gone
	[ -z "$(ls -A out)" ]
}

upper_is_gone() {
	[[ -z $(find "$T/runtime" "$T/home" -name '.upper-*' -o -path '*/changes/*' -o -path '*/.changes/*') ]]
}

@test "a command that fails is learned from as far as it got, and its code is ours" {
	learns bash -c 'cat "$1/read"; exit 7' - "$HOME"
	[ "$status" -eq 7 ]
	tells 'ended with 7'
	[ "$(mounts)" = "$HOME/read:$HOME/read:ro" ]
	inside --learn "$T/out/none.json" no-such-program
	[ "$status" -eq 127 ]
	[ ! -e out/none.json ]
}

@test "where there can be no listener nothing is run, and why is said" {
	catch "$(tool forbid)" listener sh -c '"$@"; exit $?' - "$HUTCH" run --learn "$T/out/p.json" echo ran
	[ "$status" -eq 125 ]
	[ -z "$output" ]
	tells '--learn: .*has a listener already'
	[ ! -e out/p.json ]
}

@test "another verb has no --learn" {
	hutch act --learn out/p.json
	[ "$status" -eq 125 ]
}

# Inside, the /sys of the host is not shown, so a policy cannot name files in it.
@test "a command that only looked at the kernel's folders is learned from" {
	learns bash -c 'for at in /sys /sys/fs/cgroup /dev/shm/x /proc/sys; do [[ ! -e $at ]] || :; done; : <"$1/read"' - "$HOME"
	[[ $status == 0 && $(mounts) == "$HOME/read:$HOME/read:ro" ]]
	tells 'note: /sys is not in the policy: no sandbox shows'
	(($(grep -c /sys <<<"$stderr") == 1))
	applied cat "$HOME/read"
	[[ $output == read ]]
}

@test "writable files that run later are told as such, and a project's hooks are" {
	echo old >"$HOME/.bashrc"
	mkdir -p work/p/.git/hooks
	give home work
	learns sh -c 'echo new >>"$1/.bashrc"; cat "$1/read"; echo x >"$2/p/new"' - "$HOME" "$T/work"
	[[ $status == 0 ]]
	mounts | grep -qx "$HOME/.bashrc:$HOME/.bashrc:rw"
	tells "note: $HOME/.bashrc, which runs or is obeyed outside of the sandbox later, can be written to with the policy: make it \":ro\""
	tells "note: $T/work/p/.git/hooks, which runs"
	never tells "note: $HOME/read, which"
}
