#!/usr/bin/env bats
# Tests that a sandbox never shows the folders of hutch itself (number 102 of the checklist of
# escapes, tests/escape), and that a sandbox of root uses no path that it must not use (103).

load helpers

setup() {
	begin
	own=(.local/share/hutch .cache/hutch .config/hutch)
}

teardown() {
	end
}

# look FLAG...: shows the home of the host at /h in a sandbox with these flags, and prints which
# folders of hutch a command there can list, write or read.
look() {
	inside "$@" sh -c 'for f in /h/.local/share/hutch /h/.cache/hutch /h/.config/hutch; do
		ls "$f" >/dev/null 2>&1 && echo "listed $f"
		touch "$f/x" 2>/dev/null && echo "wrote $f"
		cat "$f/secret" 2>/dev/null
		rmdir "$f" 2>/dev/null && echo "removed $f"
		mv "$f" "$f.old" 2>/dev/null && echo "moved $f"
	done
	for f in /h/.local /h/.local/share /h/.cache /h/.config; do
		mv "$f" "$f.old" 2>/dev/null && echo "moved $f"
		rm -rf "$f" 2>/dev/null && echo "removed $f"
	done
	ls /h/.cache/hutch 2>&1 | grep -o "Permission denied"'
}

@test "102: -v \$HOME masks the store, the cache and the configuration" {
	for folder in "${own[@]}"; do
		mkdir -p "home/$folder"
		echo secret >"home/$folder/secret"
	done
	echo mine >home/file
	give home
	for flags in '' '-u root' '--cap-add DAC_OVERRIDE' '-u root --cap-add DAC_READ_SEARCH'; do
		look -v "$HOME:/h" $flags
		[ "$output" = "Permission denied" ]
	done
	[ "$(cat home/file)" = mine ]
	for folder in "${own[@]}"; do
		[ "$(cat "home/$folder/secret")" = secret ]
	done
	inside -v "$HOME:/h" cat /h/file
	[ "$output" = mine ]
}

@test "102: the same where they did not exist before, and read-only" {
	for mode in rw ro; do
		look -v "$HOME:/h:$mode"
		[ "$output" = "Permission denied" ]
	done
}

@test "102: folders in the home beside them can be used as before" {
	mkdir -p home/.cache/other home/.local/share/other home/.config
	give home
	box -v "$HOME:/h" sh -c 'touch /h/.cache/other/f /h/.cache/new /h/.local/share/other/f /h/.config/f
		mv /h/.cache/new /h/.cache/newer; mkdir /h/.local/state'
	[ -e home/.cache/newer ]
	[ -e home/.local/share/other/f ]
	[ -d home/.local/state ]
}

@test "102: -v of a folder above the home, and of / , masks them too" {
	mkdir -p home/.cache/hutch
	echo secret >home/.cache/hutch/secret
	give home
	inside -v "$T:/h" sh -c 'cat /h/home/.cache/hutch/secret; ls /h/home/.cache/hutch'
	[ -z "$output" ]
	[[ $stderr == *"Permission denied"* ]]
	inside -v /:/h sh -c "cat /h$T/home/.cache/hutch/secret; ls /h$T/home/.cache/hutch"
	[ -z "$output" ]
	[[ $stderr == *"Permission denied"* ]]
}

@test "102: -v of the folder that they are in, one level up, masks them" {
	mkdir -p home/.cache/hutch home/.cache/other
	give home
	inside -v "$HOME/.cache:/c" sh -c 'ls /c; ls /c/hutch; mv /c/hutch /c/h2'
	[ "$(sort <<<"$output" | xargs)" = "hutch other" ]
	[ "$(grep -c 'Permission denied\|busy' <<<"$stderr")" -eq 2 ]
}

@test "102: -v \$XDG_RUNTIME_DIR masks the state folder" {
	mkdir -p runtime/hutch
	echo secret >runtime/hutch/secret
	echo socket >runtime/other
	give runtime
	chmod 700 runtime
	inside -v "$XDG_RUNTIME_DIR:/r" sh -c 'cat /r/other; cat /r/hutch/secret; ls /r/hutch; mv /r/hutch /r/h2'
	[ "$output" = socket ]
	[ "$(wc -l <<<"$stderr")" -eq 3 ]
	inside -u root --cap-add DAC_OVERRIDE -v "$XDG_RUNTIME_DIR:/r" ls /r/hutch
	[[ $stderr == *"Permission denied"* ]]
}

@test "102: other places for these folders are masked where the environment names them" {
	room x/data x/cache x/config
	for kind in DATA CACHE CONFIG; do
		export "XDG_${kind}_HOME=$T/x/${kind,,}"
		mkdir -p "x/${kind,,}/hutch"
	done
	give x
	inside -v "$T/x:/x" sh -c 'ls /x/data/hutch /x/cache/hutch /x/config/hutch'
	[ "$(grep -c 'Permission denied' <<<"$stderr")" -eq 3 ]
}

@test "102: through a link to the home they are masked too" {
	mkdir -p home/.cache/hutch
	give home
	ln -s home link
	inside -v "$T/link:/h" ls /h/.cache/hutch
	[[ $stderr == *"Permission denied"* ]]
	HOME=$T/link inside -v "$T/home:/h" ls /h/.cache/hutch
	[[ $stderr == *"Permission denied"* ]]
}

@test "102: -v of hutch's own folder, or of one in it, is refused" {
	for folder in "${own[@]}"; do
		mkdir -p "home/$folder/deep"
	done
	mkdir -p runtime/hutch
	give home runtime
	for folder in "${own[@]}"; do
		refuses "mount $HOME/$folder: .*hutch's own" -v "$HOME/$folder:/x" true
		refuses "mount $HOME/$folder/deep: .*hutch's own" -v "$HOME/$folder/deep:/x:ro" true
	done
	refuses ".*hutch's own" -v "$XDG_RUNTIME_DIR/hutch:/x" true
	refuses ".*hutch's own" --workspace "$HOME/.cache/hutch" true
	refuses ".*hutch's own" --toolchain "$HOME/.cache/hutch" true
	ln -s "$HOME/.cache/hutch" link
	refuses ".*hutch's own" -v "$T/link:/x" true
}

@test "102: a file in hutch's own folder cannot be bound by itself either" {
	mkdir -p home/.cache/hutch
	echo secret >home/.cache/hutch/file
	give home
	refuses ".*hutch's own" -v "$HOME/.cache/hutch/file:/x" true
}

@test "102: an image that is hutch's own folder, or has it below, is refused or masked" {
	image home
	mkdir -p home/.cache/hutch
	echo secret >home/.cache/hutch/secret
	image home/.cache/hutch/img
	give home
	inside --image "dir:$HOME" -v /usr:/usr:ro cat /data/file
	[ "$output" = "of the image" ]
	for flags in '' --read-only; do
		inside $flags --image "dir:$HOME" -v /usr:/usr:ro cat /.cache/hutch/secret
		[ -z "$output" ]
		inside $flags --image "dir:$HOME/.cache/hutch/img" -v /usr:/usr:ro cat /data/file
		[ "$status" -eq 125 ]
	done
}

@test "103: the host's root is not mapped and its secrets are not read, with -v / at /h" {
	for user in agent root; do
		inside -u "$user" --cap-add DAC_READ_SEARCH -v /:/h sh -c '
			awk "\$2 == 0" /proc/self/uid_map
			cat /h/etc/shadow /h/proc/kcore /h/root/.bashrc 2>/dev/null | head -c 20
			for f in /h/proc/sys/kernel/core_pattern /h/etc/passwd /h/proc/sysrq-trigger; do
				echo x 2>/dev/null >>$f && echo "opened $f"
			done; true' 2>/dev/null
		if is_root || [ ! -r /etc/shadow ]; then
			[ -z "$output" ]
		fi
	done
}

@test "103: processes of the host are not reached through the host's own /proc" {
	sleep 1000 3>&- &
	other=$!
	started+=("$other")
	inside -v /:/h sh -c "cat /h/proc/$other/environ /h/proc/$other/mem /h/proc/$other/fd/2; ls /h/proc/$other/root/ /h/proc/$other/cwd/
		readlink /h/proc/$other/exe /h/proc/$other/fd/2"
	[ -z "$output" ]
}

# modes_of PATH...: prints the modes of these files, on one line.
modes_of() {
	stat -c %a "$@" | xargs
}

@test "an XDG folder that is named and not there is made, closed to others" {
	room new
	export XDG_RUNTIME_DIR=$T/new/a/run XDG_DATA_HOME=$T/new/b/data XDG_CACHE_HOME=$T/new/c/cache
	"$HUTCH" create --audit on box
	hutch ps
	[[ $status == 0 && $output == *box* ]]
	[ "$(modes_of new/a new/a/run new/a/run/hutch new/b new/b/data new/b/data/hutch)" = '700 700 700 700 700 700' ]
	"$HUTCH" rm -f box
	echo '{"defaultAction":"SCMP_ACT_ALLOW"}' >allow.json
	give allow.json
	inside --seccomp "$T/allow.json" true
	[ "$status" -eq 0 ]
	# As root, hutch compiles the profile before it changes into the user, and makes nothing
	# in a folder of that user.
	is_root || [ "$(modes_of new/c new/c/cache new/c/cache/hutch)" = '700 700 700' ]
	[ ! -e home/.local ]
}

@test "where an XDG folder cannot be made, the error says which variable names it" {
	XDG_RUNTIME_DIR=/proc/nonesuch catch "$HUTCH" create box
	[ "$status" -eq 125 ]
	one_sentence '.*make /proc/nonesuch'
	[[ ${stderr_lines[1]} == 'hutch: hint: '*XDG_RUNTIME_DIR* ]]
	XDG_DATA_HOME=/proc/nonesuch catch "$HUTCH" run --audit on true
	[ "$status" -eq 125 ]
	[[ $stderr == *'make /proc/nonesuch'*XDG_DATA_HOME* ]]
	# A launch that stores nothing in these folders does not need them.
	XDG_RUNTIME_DIR=/proc/nonesuch XDG_DATA_HOME=/proc/nonesuch inside echo ran
	[[ $status == 0 && $output == ran ]]
}

@test "nothing is made behind a link of another user" {
	is_root || skip "this host has no other user who could make a link for an ordinary one"
	room new
	ln -s new theirs && chown -h 4321 theirs
	XDG_RUNTIME_DIR=$T/theirs/run catch "$HUTCH" create box
	[ "$status" -eq 125 ]
	one_sentence '.*theirs.*another user'
	[ -z "$(ls new)" ]
}
