#!/usr/bin/env bats
# Tests of --protect-missing: protected names that do not exist cannot be made in a :rw folder,
# and everything else works as without the option.

load helpers

setup() {
	begin
	needs_listener
	room w w/sub
	outside=(--workspace "$T/w" --protect .git/hooks --protect .bashrc)
	guarded=("${outside[@]}" --protect-missing)
}

teardown() {
	remove_boxes
	end
}

does() {
	python_inside missing_inside.py "$@"
}

# asked NAME...: tries to make each NAME by each system call that can make a file; prints the
# results.
asked() {
	inside "${guarded[@]}" -v "$here:/t:ro" -- /usr/bin/python3 /t/missing.py "$@"
	[ "$status" -eq 0 ] || { echo "$output" "$stderr"; return 1; }
}

# all_are OUTCOME: checks that each call had this outcome.
all_are() {
	never grep -v " $1\$" <<<"$output"
}

# broker_of PID: prints the pid of the broker: the child of PID that is in the same pid namespace
# as the supervisor, and in another user namespace.
broker_of() {
	local one
	pgrep -P "$1" | while read -r one; do
		[ "$(grep '^NSpid:' "/proc/$one/status" | wc -w)" -ne 2 ] ||
			[ "$(readlink "/proc/$one/ns/user")" = "$(readlink /proc/self/ns/user)" ] || echo "$one"
	done
}

is_paused() {
	"$HUTCH" inspect box | grep -q '"state": *"paused"'
}

@test "no call makes a name that is protected, however it is written" {
	asked .bashrc sub/.bashrc ./sub/../.bashrc sub//.bashrc .BASHRC $'.bashrc\xe2\x80\x8b' '.bashrc. '
	[ "$(wc -l <<<"$output")" -eq $((7 * 19)) ]
	# The exchange of two names (RENAME_EXCHANGE) fails with ENOENT, since one of them does
	# not exist.
	all_are '\(EROFS\|exchange .* ENOENT\)'
	[ "$(find w -iname '*bashrc*')" = '' ]
}

@test "the parent of a missing path can be an empty folder and nothing else" {
	asked .git
	grep -qx 'mkdir .git done' <<<"$output"
	[ "$(grep -c ' EROFS$' <<<"$output")" -eq 18 ]
	inside "${guarded[@]}" -- sh -c 'mkdir .git && mkdir .git/hooks; mkdir .git/info && echo x >.git/info/y'
	[[ $stderr == *"'.git/hooks'"*'Read-only file system'* || $stderr == *.git/hooks*Read-only* ]]
	[ "$(cd w && find .git | sort | xargs)" = '.git .git/info .git/info/y' ]
}

@test "by each call, what is not protected is made" {
	asked name sub/name
	grep -v '^exchange' <<<"$output" >made
	never grep -v ' done$' made
	[ "$(wc -l <made)" -eq $((2 * 18)) ]
}

@test "files that are made are the same as without" {
	cat >script <<-'END'
		umask 027; echo a >a; umask 0; echo b >b; mkdir -m 700 c; mkdir d; ln a e; ln -s a f; mkfifo g
		mv b h; cp -a d i; echo more >>a; echo new >f; touch -d @5 j; ln -sf nowhere k; echo l >k
		python3 -SE /p open_in_all_ways
		sh -c 'echo out >/dev/stdout; echo err >/dev/stderr; echo null >/dev/null; echo 7 >/proc/self/oom_score_adj; cat /proc/self/oom_score_adj' 2>&1
		find . -printf '%p %y %#m %n %l %s\n' | sort
	END
	inside "${outside[@]}" -v "$T/script:/s:ro" -v "$here/missing_inside.py:/p:ro" -- sh /s
	plain=$output
	[ "$status" -eq 0 ]
	rm -rf w && room w w/sub
	inside "${guarded[@]}" -v "$T/script:/s:ro" -v "$here/missing_inside.py:/p:ro" -- sh /s
	diff <(echo "$plain") <(echo "$output") >difference || { cat difference; return 1; }
}

@test "a FIFO is waited for, and by its own process alone" {
	inside --timeout "${PATIENCE}s" "${guarded[@]}" -- sh -c '
		for i in 1 2 3 4 5 6; do mkfifo f$i; echo $i >f$i & done
		echo beside >made; cat f6 f5 f4 f3 f2 f1 made; wait
		(cat f1 &); echo late >f1; (echo x >f2) & kill $!; mkdir after && echo after'
	[[ $status == 0 && $(xargs <<<"$output") == '6 5 4 3 2 1 beside late after' ||
	   $(xargs <<<"$output") == '6 5 4 3 2 1 beside after late' ]]
}

@test "sockets are bound as without, wherever they are" {
	does "${outside[@]}" -- bind
	plain=$output
	[[ $status == 0 && $plain == *EADDRINUSE* ]]
	rm -f w/sub/s w/x*
	does "${guarded[@]}" -- bind
	diff <(sed "s/b'.x00[0-9a-f]*'/autobound/" <<<"$plain") <(sed "s/b'.x00[0-9a-f]*'/autobound/" <<<"$output")
}

@test "calls of many threads are done, each once" {
	does --timeout "${PATIENCE}s" "${guarded[@]}" -- threads
	[[ $status == 0 && $output == 2000 ]]
}

@test "a signal does not make it be done twice" {
	does --timeout "${PATIENCE}s" "${guarded[@]}" -- signals 1500
	[[ $status == 0 && $output == '1500 True' ]]
}

@test "a folder that is shown twice, or lies in another, has no open side" {
	room w/sub/deep
	inside --workspace "$T/w" -v "$T/w/sub:/a" -v "$T/w:/tmp/b" --protect /sub/deep/name --protect .git/hooks --protect-missing -- sh -c '
		for p in sub /a /tmp/b/sub /workspace/sub; do echo >$p/deep/name; mkdir $p/.git; mkdir $p/.git/hooks; done
		mv /tmp/b/sub/deep /tmp/b/sub/deeper && mkdir /a/x && touch /a/x/name && mv /a/x /a/deep; ls /a' 2>err
	[ "$(cd w && find . -name name -o -name hooks | xargs)" = ./sub/x/name ]
	[ "$output" = $'deeper\nx' ]
}

@test "nothing is made in a folder whose descriptor is handed over" {
	room other
	catch "$HUTCH" run --stdio inherit -v "$here/missing_inside.py:/p:ro" "${guarded[@]}" -- \
		sh -c 'exec 3<&0 </dev/null python3 -SE /p make_by_descriptor' <other
	[ "$output" = $'EACCES\nEACCES' ]
	[ "$(ls other)" = '' ]
	# A file that was handed over as stdout can be opened again through /dev and /proc.
	: >out
	give out
	"$HUTCH" run --stdio inherit "${guarded[@]}" -- sh -c 'echo a >/dev/stdout; echo b >>/dev/fd/1' >out
	[ "$(cat out)" = $'a\nb' ]
}

@test "a process that has given up its capabilities makes no more names than it could itself" {
	does -u root "${guarded[@]}" -- give_up_capabilities
	chmod 755 w/sub/closed
	[[ $status == 0 && $output == refused ]]
}

@test "a link that another user has put where all may write is not followed" {
	is_root || skip "this host has no other user for whom an ordinary one could make a link"
	mkdir -m 1777 w/all && chmod 1777 w/all
	ln -s ../sub/target w/all/theirs && chown -h 4321 w/all/theirs
	ln -s ../sub/target w/all/own && chown -h "$who" w/all/own
	inside "${guarded[@]}" -- sh -c 'echo x >all/own; echo y >all/theirs; cat sub/target'
	[[ $output == x && $stderr == *'Permission denied'* ]]
}

@test "the broker, which makes the names, can do little else" {
	start "${guarded[@]}" -- sh -c 'echo ready; exec sleep 1000'
	said ready
	grep -E '^(CapPrm|NoNewPrivs|Seccomp):' "/proc/$(broker_of "$pid")/status" | xargs >is
	# The only capability is CAP_SYS_PTRACE, in the user namespace of the sandbox.
	[ "$(cat is)" = 'CapPrm: 0000000000080000 NoNewPrivs: 1 Seccomp: 2' ]
	# The same is checked for the opener, the child of the broker that opens files of /proc.
	# It is in no pid namespace of the sandbox.
	opener=$(pgrep -P "$(broker_of "$pid")")
	grep -E '^(CapPrm|NoNewPrivs|Seccomp):' "/proc/$opener/status" | xargs >is
	[ "$(cat is)" = 'CapPrm: 0000000000080000 NoNewPrivs: 1 Seccomp: 2' ]
	[ "$(grep '^NSpid:' "/proc/$opener/status" | wc -w)" -eq 2 ]
	# The environ files belong to root: other processes of the user may not look into the
	# broker and its opener.
	[ "$(stat -c %U "/proc/$(broker_of "$pid")/environ" "/proc/$opener/environ" | xargs)" = 'root root' ]
}

@test "a file that the broker could not hold is refused to every process inside" {
	does "${guarded[@]}" -- calls_that_go_around
	[ "$(xargs <<<"$output")" = 'openat2 ENOSYS io_uring_setup EPERM chroot EPERM landlock_create_ruleset ENOTSUP btrfs EPERM' ]
}

@test "a file that the host makes in a missing place ends the sandbox" {
	start --timeout "${PATIENCE}s" "${guarded[@]}" -- sh -c 'echo ready; exec sleep 1000'
	said ready
	as_who touch w/.bashrc
	ended 125
	grep -q "$T/w/.bashrc was made, and --protect-missing keeps it from the inside no longer" err
}

@test "a sandbox with a name holds to it, and is paused where it cannot" {
	"$HUTCH" create "${guarded[@]}" box
	hutch exec box sh -c 'echo x >.bashrc'
	[[ $status != 0 && ! -e w/.bashrc ]]
	hutch act box <<<'{"action":"write","args":{"path":".bashrc","content":"x"},"id":1}'
	[[ $output == *'Read-only file system'*'"rule":"--protect-missing"'* ]]
	hutch act box <<<'{"action":"write","args":{"path":"sub/file","content":"x"},"id":2}'
	[[ $output == *'I wrote to the file'* && $(cat w/sub/file) == x ]]
	echo y >.bashrc
	hutch cp .bashrc box:/workspace/.bashrc
	[[ $status != 0 && ! -e w/.bashrc ]]
	hutch cp .bashrc box:/workspace/sub/other
	[[ $status == 0 && $(cat w/sub/other) == y ]]
	as_who touch w/.bashrc
	until_true is_paused
	hutch inspect box
	[[ $output == *"\"unprotected\":"*"$T/w/.bashrc was made"* ]]
}

@test "when the broker ends, so does the sandbox, and hutch says why" {
	start --timeout "${PATIENCE}s" "${guarded[@]}" -- sh -c 'echo ready; exec sleep 1000'
	said ready
	broker=$(broker_of "$pid")
	kill -KILL "$broker"
	ended 125
	grep -q '^hutch: --protect-missing: the process that makes names for the inside was ended by signal 9' err
}

@test "killed, hutch leaves none of it behind" {
	start "${guarded[@]}" -- sh -c 'mkfifo f; echo ready; echo x >f'
	said ready
	# The list has the children of hutch, and the opener, which is a child of the broker.
	mapfile -t all < <(pgrep -P "$pid" && pgrep -P "$(broker_of "$pid")")
	kill -KILL "$pid"
	gone() { ! kill -0 "${all[@]}" 2>/dev/null; }
	until_true gone
}

@test "--protect-missing says which condition of it is missing" {
	bare() { catch "$HUTCH" run "$@" true; [ "$status" -eq 125 ]; }
	bare --workspace "$T/w" --protect-missing
	one_sentence '--protect-missing says nothing without --protect'
	bare "${guarded[@]}" --idmap ranges
	one_sentence '--protect-missing is for one mapped id, and not for --idmap ranges'
	catch "$(tool forbid)" listener sh -c '"$@"; exit $?' - "$HUTCH" run "${guarded[@]}" -- echo ran
	[ "$status" -eq 125 ]
	one_sentence '--protect-missing: the filter around this process has a listener already'
}

@test "without a :rw folder no broker is asked" {
	inside --dry-run --workspace "$T/w:cow" --protect .bashrc --protect-missing -- true
	never grep -q 'names are made' <<<"$output"
	inside --dry-run "${guarded[@]}" -- true
	grep -q 'names are made by another process' <<<"$output"
}

@test "why knows it, and policy show does not warn" {
	hutch why "${guarded[@]}" -- write /workspace/.bashrc
	[ "$status" -eq 1 ]
	[[ ${lines[0]} == 'no: /workspace/.bashrc is protected, and not to be made' ]]
	[[ $output == *'--protect-missing'* ]]
	hutch why "${guarded[@]}" -- write /workspace/sub/x
	[ "$status" -eq 0 ]
	echo '{"version":1,"workspace":"w","protected":[".bashrc"],"protect_missing":true}' >p.json
	hutch policy show p.json
	[[ $output == *'protect_missing'*'true'* && $stderr != *'not there yet'* ]]
	echo '{"version":1,"workspace":"w","protected":[".bashrc"]}' >p.json
	hutch policy show p.json
	[[ $stderr == *'--protect-missing'* ]]
}
