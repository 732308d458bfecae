#!/usr/bin/env bats
# Tests of -v, --workspace, --toolchain, --tmpfs, --read-only.

load helpers

setup() {
	begin
	room w
	echo "of the host" >w/file
	give w/file
}

teardown() {
	end
}

@test "a workspace that the user may not enter is an error that says so" {
	mkdir -m 0 shut
	refuses 'enter the working directory: /workspace: Permission denied' --workspace "$T/shut" true
	[[ $stderr == *'a folder of the host (--workspace, -v) must be one that you may enter yourself' ]]
}

@test "-v shows a folder, writable unless it says otherwise" {
	inside -v "$T/w:/data" sh -c 'cat /data/file; echo more >/data/new; stat -c %U:%G /data/new'
	[ "$output" = "of the host"$'\n'"agent:agent" ]
	[ "$(cat w/new)" = more ]
	[ "$(stat -c %u w/new)" -eq "$who" ]
}

@test "-v with :rw is writable, with :ro it is not" {
	box -v "$T/w:/data:rw" touch /data/new
	[ -e w/new ]
	inside -v "$T/w:/data:ro" sh -c 'cat /data/file; touch /data/x; echo x >/data/file; rm /data/new'
	[ "$output" = "of the host" ]
	[ "$(grep -c 'Read-only' <<<"$stderr")" -eq 3 ]
	[ "$(ls w | xargs)" = "file new" ]
}

@test "-v:ro holds for what is mounted below the folder too" {
	mkdir w/below
	give w
	catch outer sh -c "
		mount -t tmpfs -o mode=777 none '$T/w/below' && echo x >'$T/w/below/f' &&
		'$HUTCH' run -v '$T/w:/data:ro' sh -c 'cat /data/below/f; touch /data/below/y'"
	[ "$output" = x ]
	[[ $stderr == *Read-only* ]]
}

@test "-v shows a single file, and -v:ro protects it" {
	box -v "$T/w/file:/data/one" sh -c 'echo changed >/data/one'
	[ "$(cat w/file)" = changed ]
	inside -v "$T/w/file:/one:ro" sh -c 'cat /one; echo x >/one'
	[ "$output" = changed ]
	[[ $stderr == *Read-only* ]]
}

@test "-v as one word, a source with a colon in its name and one that is relative" {
	room a:b
	echo colon >a:b/f
	inside "-v$T/a:b:/data:ro" cat /data/f
	[ "$output" = colon ]
	inside "--volume=./w:/data" cat /data/file
	[ "$output" = "of the host" ]
}

@test "-v nests: a volume in a volume, in whatever order" {
	room outer inner
	echo deep >inner/f
	inside -v "$T/inner:/a/b/c" -v "$T/outer:/a" cat /a/b/c/f
	[ "$output" = deep ]
}

@test "-v shows through a link of the host, and one target path through links of the root" {
	ln -s w link
	inside -v "$T/link:/var/run/x" cat /run/x/file
	[ "$output" = "of the host" ]
}

@test "-v at a private folder of the sandbox hides what was there" {
	for target in /tmp /home/agent /run /workspace /mnt/deep/er; do
		inside -v "$T/w:$target" cat "$target/file"
		[ "$output" = "of the host" ]
	done
}

@test "a hundred volumes are all there" {
	local volumes=${VOLUMES:-100}
	args=()
	for ((i = 0; i < volumes; i++)); do
		args+=(-v "$T/w:/m/$i:ro")
	done
	inside "${args[@]}" sh -c 'cat /m/*/file | wc -l'
	[ "$output" = "$volumes" ]
}

@test "set-uid bits and devices in a volume have no effect" {
	inside -v "$T/w:/data" grep ' /data ' /proc/mounts
	[[ $output == *nosuid,nodev* ]]
}

@test "mounts made on the host later do not come in, and none of the sandbox's go out" {
	[ -z "$(mounts_of_test)" ]
	start -v "$T/w:/data" sh -c 'echo ready; read x <>/dev/zero; sleep 1000'
	said ready
	[ -z "$(mounts_of_test)" ]
	kill -TERM "$pid"
	ended 143
	[ -z "$(mounts_of_test)" ]
}

@test "--workspace is at /workspace and is the working directory" {
	inside --workspace "$T/w" sh -c 'pwd; cat file; touch made'
	[ "$output" = /workspace$'\n'"of the host" ]
	[ -e w/made ]
	inside --workspace "$T/w:ro" sh -c 'cat file; touch other'
	[ "$output" = "of the host" ]
	[ ! -e w/other ]
	[[ $stderr == *Read-only* ]]
	inside --workspace "$T/w:rw" touch third
	[ -e w/third ]
}

@test "--workspace . is the folder that one is in" {
	cd w
	inside --workspace . cat file
	[ "$output" = "of the host" ]
}

@test "--toolchain shows a folder at its own path, read-only" {
	mkdir -p "$T/home/tools/bin"
	printf '#!/bin/sh\necho tool\n' >"$T/home/tools/bin/tool"
	chmod +x "$T/home/tools/bin/tool"
	give home
	inside --toolchain "$T/home/tools" sh -c "'$T/home/tools/bin/tool'; touch '$T/home/tools/x'"
	[ "$output" = tool ]
	[[ $stderr == *Read-only* ]]
	inside --toolchain "$T/home/tools" -e "PATH=$T/home/tools/bin:/usr/bin" tool
	[ "$output" = tool ]
}

@test "--tmpfs makes an empty writable folder of the size asked for" {
	inside --tmpfs /scratch:size=1m sh -c 'ls -A /scratch; stat -f -c "%b %S" /scratch
		head -c 2000000 /dev/zero >/scratch/f; stat -c %s /scratch/f'
	read -r blocks size <<<"${lines[0]}"
	[ $((blocks * size)) -eq 1048576 ]
	[ "${lines[1]}" -le 1048576 ]
	[[ $stderr == *"No space left"* ]]
	inside --tmpfs /scratch sh -c 'touch /scratch/x && echo made'
	[ "$output" = made ]
}

@test "--tmpfs hides a part of a volume, and its host folder is left alone" {
	mkdir w/node_modules
	give w
	box --workspace "$T/w" --tmpfs /workspace/node_modules sh -c 'echo x >node_modules/f'
	[ -z "$(ls w/node_modules)" ]
}

@test "--read-only leaves /dev/shm and what is named writable" {
	room data
	inside --read-only --tmpfs /scratch -v "$T/data:/data" sh -c '
		for d in /dev/shm /scratch /data; do touch $d/x && echo $d; done
		for d in / /workspace /tmp /run /home/agent /var; do touch $d/x; done'
	[ "${lines[*]}" = "/dev/shm /scratch /data" ]
	[ "$(grep -c 'Read-only' <<<"$stderr")" -eq 6 ]
}

@test "private folders share one bound: they are one file system" {
	inside sh -c 'stat -c %d /tmp /workspace /home/agent /run /dev/shm | sort -u | wc -l'
	[ "$output" = 1 ]
}

@test "a file that may not be read on the host may not be read inside" {
	echo x >w/closed
	chmod 000 w/closed
	inside -v "$T/w:/data" cat /data/closed
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	inside -v /etc:/data:ro cat /data/shadow
	[ "$status" -ne 0 ]
	[ -z "$output" ]
}

@test "root's own files stay out of reach of a sandbox that root starts" {
	is_root || skip "needs root"
	echo x >w/closed
	chmod 600 w/closed
	chown 0:0 w/closed
	inside -u root -v "$T/w:/data" sh -c 'cat /data/closed; chmod 644 /data/closed'
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	inside -u root -v /:/h:ro cat /h/etc/shadow
	[ "$status" -ne 0 ]
	[ -z "$output" ]
}

# repository: makes a git repository with files of an editor beside it, such as .vscode.
repository() {
	mkdir -p w/.git/hooks w/.git/modules/m/hooks w/.vscode
	echo '[core]' >w/.git/config
	echo ref >w/.git/HEAD
	echo '#!/bin/sh' >w/.git/hooks/old
	echo '{}' >w/.vscode/tasks.json
	give w
}
protects=(--protect .git/hooks --protect .git/config --protect ".git/modules/**/hooks" --protect .vscode --protect .mcp.json)

@test "a protected file in a writable folder is read-only, and the rest is not" {
	repository
	inside --workspace "$T/w" "${protects[@]}" sh -c '
		for f in .git/hooks/new .git/hooks/old .git/config .git/modules/m/hooks/h .vscode/tasks.json .vscode/x; do
			echo x 2>/dev/null >>$f && echo "$f"; done
		rm -rf .git/hooks .vscode .git/config 2>/dev/null; ls -A .git/hooks .vscode
		echo new >.git/HEAD && echo x >.git/index.lock && mv .git/index.lock .git/index && cat .git/HEAD'
	[ "$output" = $'.git/hooks:\nold\n\n.vscode:\ntasks.json\nnew' ]
	[[ $(cat w/.git/config w/.git/index w/.git/hooks/old) == $'[core]\nx\n#!/bin/sh' ]]
}

@test "the parent of a protected path cannot be moved aside, nor a file put in its place" {
	repository
	find w -printf '%p %i\n' | sort >before
	inside --workspace "$T/w" "${protects[@]}" sh -c '
		mv .git .git2 || mv .vscode v || mv .git/hooks h || mv .git/config c || rm -rf .vscode || rmdir .git/hooks
		echo x >x; mv x .git/config || ln -sf x .git/config || ln .git/config link && echo x >>link
		mkdir -p a && mv a .git/hooks/ || mount -t tmpfs x .git/hooks || umount .git/hooks; rm -rf a c h v x; :'
	[[ $status == 0 && -z $output ]]
	[[ $stderr == *"'.git' to '.git2': Device or resource busy"* ]]
	find w -printf '%p %i\n' | sort | diff before -
	# A sandbox whose processes are killed leaves nothing in the folder either.
	box --workspace "$T/w" "${protects[@]}" sh -c 'kill -9 -1; kill -9 $$' || true
	find w -printf '%p %i\n' | sort | diff before -
}

@test "a link that is protected is refused with a way out, and :ro and files need no protection" {
	mkdir w/real
	ln -s real w/.vscode
	give w
	hutch run --workspace "$T/w" "${protects[@]}" -- true
	[[ $status == 125 && $stderr == *".vscode is protected (.vscode) and a link"*"(from --workspace $T/w)"*":cow"* ]]
	box --workspace "$T/w:ro" "${protects[@]}" true
	echo x >w/.mcp.json
	give w
	box -v "$T/w/.mcp.json:/x" "${protects[@]}" true
}

@test "a protected file has no other side: hard links, other volumes, a file in place of a folder" {
	repository
	hutch run --workspace "$T/w" -v "$T:/all" "${protects[@]}" -- sh -c 'echo x >/all/w/.git/hooks/old'
	[[ $status != 0 && $stderr == *"Read-only file system"* ]]
	hutch run --workspace "$T/w" -v "$T/w/.git:/g" "${protects[@]}" -- sh -c 'echo x >/g/hooks/new; echo x >/g/HEAD'
	[[ $status == 0 && $stderr == *"Read-only file system"* && $(cat w/.git/HEAD) == x && ! -e w/.git/hooks/new ]]
	hutch run --workspace "$T/w" -v "$T/w/.git/hooks:/g" "${protects[@]}" -- true
	[[ $status == 125 ]]
	one_sentence ".*w/.git/hooks is protected, in a folder that is shown too"
	ln w/.git/config w/other
	hutch run --workspace "$T/w" "${protects[@]}" -- true
	[[ $status == 125 ]]
	one_sentence ".git/config is protected \\(.git/config\\) and has other names"
	rm -r w/.git w/other
	echo 'gitdir: /nowhere' >w/.git
	give w
	inside --workspace "$T/w" "${protects[@]}" sh -c 'rm -f .git; echo "gitdir: evil" >.git; ls -A'
	[[ $output == $'.git\n.vscode\nfile' && $(cat w/.git) == 'gitdir: /nowhere' ]]
}

@test "the whole tree of the host has none of the mounts that a launch makes in it" {
	hutch run -q -v /:/host:ro -- cat /proc/self/mountinfo
	[[ $status == 0 && $output == *' /host '* ]]
	[[ $output != *hutch-executor* && $output != *mqueue* && $output != */host/proc/* ]]
}

@test "a note says that the whole home is shown, once, and only then" {
	hutch run --workspace "$HOME" -v /:/host:ro -- true
	[ "$status" -eq 0 ]
	[ "$stderr" = "hutch: note: --workspace $HOME shows your whole home, .ssh and .aws with it; a folder of it is safer, or :ro, :cow" ]
	hutch run -v "$T:/t:ro" -- true
	[ "$stderr" = "hutch: note: -v $T:/t:ro shows your whole home, .ssh and .aws with it; a folder of it is safer" ]
	room home/project
	hutch run --workspace "$HOME/project" -- true
	[ -z "$stderr" ]
	hutch run --isolation landlock --workspace "$HOME:ro" -- true
	[[ $stderr == *"$HOME:ro shows your whole home"* || $status == 125 ]]
	hutch create --workspace "$HOME:ro" box
	[ "$stderr" = "hutch: note: --workspace $HOME:ro shows your whole home, .ssh and .aws with it; a folder of it is safer" ]
	hutch rm -f box
	hutch run --dry-run --workspace "$HOME" -- true
	[ -z "$stderr" ]
}

@test "a folder with more than can be looked through is one sentence" {
	room w/many
	(cd w/many && seq -w 65536 | xargs touch)
	give w/many
	hutch run --workspace "$T/w" --protect '/many/**/hooks' -- true
	[[ $status == 125 ]]
	one_sentence ".*more than 65536 files would have to be looked at for what is protected \\(/many/\*\*/hooks\\)"
	rm w/many/00001
	hutch run --workspace "$T/w" --protect '/many/**/hooks' -- true
	[[ $status == 0 ]]
}

@test "a folder that may not be looked at is no way around" {
	repository
	chmod 444 w/.git
	give w
	as_who test ! -x w/.git || skip "it may look at everything"
	hutch run --workspace "$T/w" "${protects[@]}" -- true
	[[ $status == 125 ]]
	one_sentence "look at .git/.*Permission denied"
	chmod 755 w/.git
}

@test "the plan has what is protected, and a pattern that is none is one sentence" {
	repository
	hutch run --dry-run --workspace "$T/w" "${protects[@]}" -- true
	[[ $(grep -cE "bind +/workspace/\.(git/hooks|git/config|vscode|git/modules/m/hooks) .*ro" <<<"$output") == 4 ]]
	hutch run --protect a/../b -- true
	[[ $status == 125 ]]
	one_sentence "--protect: 'a/../b' has '.' or '..' in it"
	hutch run --protect "**" -- true
	[[ $status == 125 ]] && one_sentence "--protect: '\*\*' names nothing"
}
