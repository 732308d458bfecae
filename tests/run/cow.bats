#!/usr/bin/env bats
# Tests of copy-on-write folders: the folder of the host stays unchanged, and the changes made
# inside are listed, applied or discarded.

load helpers

setup() {
	begin
	room project
	mkdir -p project/src project/old/sub
	echo hello >project/a
	echo code >project/src/main.c
	echo x >project/old/x
	echo y >project/old/sub/y
	ln -s a project/link
	seq 30 >project/n30
	room spare
	give project
}

teardown() {
	[[ -z ${has_theirs:-} ]] || not_theirs sh -c 'rm -rf -- *'
	remove_boxes
	for name in $("$HUTCH" ps -aq); do "$HUTCH" discard "$name" >/dev/null 2>&1; done
	end
}

# work COMMAND...: runs COMMAND in a sandbox with the project as a copy-on-write folder; sets
# $name to the name of the kept changes.
work() {
	"$HUTCH" run --workspace project:cow -- "$@" 2>err || return
	say_name
}

say_name() {
	name=$(sed -n 's/.*changes are kept as \([a-z0-9-]*\);.*/\1/p' err)
}

# work_python CASE: runs the function CASE of cow.py like work.
work_python() {
	"$HUTCH" run -i --workspace project:cow -- python3 -SE - "$1" <"$here/cow.py" 2>err || return
	say_name
}

# tree_of FOLDER: prints the names, types, modes and checksums of all files in a folder of the
# host.
tree_of() {
	(cd "$1" && find . -printf '%p %y %m %l\n' | sort && find . -type f -exec cksum {} + | sort -k3)
}

lines_of() {
	"$HUTCH" diff "$@" | sed -E 's/ +/ /g'
}

two_are_kept() {
	(($("$HUTCH" ps -aq | wc -l) == 2))
}

nothing_is_kept() {
	[[ -z $(as_who find "$T/home" "$T/runtime" -path "*changes/*" 2>/dev/null) ]]
}

changes='
M 11 /workspace/a
D - /workspace/link
A - /workspace/link2 -> a
M 86 /workspace/n30
A 4 /workspace/new
A - /workspace/new.d/
A - /workspace/new.d/e/
A 2 /workspace/new.d/e/f
A 2 /workspace/old/z
D - /workspace/old/sub/
D 2 /workspace/old/x
D 5 /workspace/src/main.c'
script='echo more >>a; mv link link2; sed -i s/^15$/fifteen/ n30; echo new >new
	mkdir -p new.d/e; echo f >new.d/e/f; rm -r old; mkdir old; echo z >old/z; rm src/main.c'

@test "changes made inside are listed, and the folder of the host stays as it is" {
	before=$(tree_of project)
	work sh -c "$script; cat a; ls"
	[[ $(tree_of project) == "$before" ]]
	diff <(lines_of "$name") <(tail -n +2 <<<"$changes")
}

@test "if nothing was changed nothing is said, and nothing is kept" {
	# As root, each touched file is listed as a change at first and compared with the host
	# only later, so root skips this command.
	is_root || work sh -c 'cat a >/dev/null; touch a; echo hello >a; chmod 600 a; chmod 644 a; >b; rm b'
	work sh -c 'cat a >/dev/null; >b; rm b'
	[[ ! -s err ]]
	nothing_is_kept
	"$HUTCH" act --workspace project:cow </dev/null 2>err
	[[ ! -s err ]]
	nothing_is_kept
}

@test "a launch that fails leaves nothing" {
	hutch run --workspace project:cow -- /no/such
	[[ $status == 127 ]]
	hutch run --workspace project:cow -w /no -- true
	[[ $status == 125 ]]
	nothing_is_kept
}

@test "apply makes the host's folder what the inside's was" {
	work sh -c "$script"
	hutch apply "$name"
	[[ $status == 0 ]]
	diff <(sed -E 's/ [0-9-]+ / /; s| ->.*||; s|/$||' <<<"$changes" | tail -n +2) <(echo "$output")
	cd project
	[[ $(cat a) == $'hello\nmore' && $(readlink link2) == a && ! -L link && ! -e src/main.c ]]
	[[ $(cat new new.d/e/f old/z) == $'new\nf\nz' && $(ls old) == z && $(sed -n 15p n30) == fifteen ]]
	[[ -z $(find . -name '.hutch*') ]]
	nothing_is_kept
	hutch diff "$name"
	[[ $status == 125 && $stderr == *"no changes are kept"* ]]
}

@test "changes that cannot be applied stay kept, and are not lost with the rest" {
	work_python socket_beside
	hutch apply "$name"
	[[ $status == 0 && $output == 'M /workspace/a' && ! -e project/s ]]
	[[ $stderr == 'hutch: note: 1 cannot be applied, such as s: '* ]]
	[[ $("$HUTCH" ps -aq) == "$name" && $(lines_of "$name") == '' ]]
	"$HUTCH" discard "$name"
	nothing_is_kept
}

@test "a part of it is applied, and the rest stays kept" {
	work sh -c "$script"
	hutch apply "$name" a /workspace/new.d/e
	[[ $status == 0 && $output == $'M /workspace/a\nA /workspace/new.d/e\nA /workspace/new.d/e/f' ]]
	[[ $(cat project/a) == $'hello\nmore' && -f project/new.d/e/f && -e project/old/x ]]
	[[ $(lines_of "$name" a new.d) == '' && $(lines_of "$name" src) == 'D 5 /workspace/src/main.c' ]]
	hutch apply "$name" /elsewhere
	[[ $status == 125 && $stderr == *"is in no folder that was shown"* ]]
	hutch apply "$name"
	[[ $status == 0 ]]
	nothing_is_kept
}

@test "discard with a name that is none, such as a path, discards nothing" {
	work sh -c "$script"
	hutch discard "$name" new
	[[ $status == 125 && -z $output && $stderr == "hutch: nothing was discarded: "*"'new'"* ]]
	[[ $stderr == *'hutch discard takes names of sandboxes'* ]]
	[[ $("$HUTCH" ps -aq) == "$name" ]]
}

@test "a path at which nothing is changed is told by diff and apply" {
	work sh -c "$script"
	hutch diff "$name" nothere
	[[ $status == 0 && -z $output && $stderr == 'hutch: note: nothing is changed there; '* ]]
	hutch apply "$name" nothere
	[[ $status == 0 && -z $output && $stderr == "hutch: note: nothing of '$name' is to be applied there; "* ]]
	hutch diff --json "$name" nothere
	[[ $output == '[]' && -z $stderr ]]
}

@test "discard throws it away, and once" {
	before=$(tree_of project)
	work sh -c "$script"
	hutch discard "$name"
	[[ $status == 0 && $output == "$name" ]]
	nothing_is_kept
	[[ $(tree_of project) == "$before" ]]
	hutch discard "$name"
	[[ $status == 125 ]]
}

@test "a dry run says the same and does nothing" {
	work sh -c "$script"
	before=$(tree_of project)
	said=$("$HUTCH" apply --dry-run "$name")
	[[ $(tree_of project) == "$before" ]]
	[[ $("$HUTCH" apply "$name") == "$said" ]]
}

@test "the patch is one that git applies" {
	work sh -c "$script; printf 'no newline' >src/n; rm -r old"
	"$HUTCH" diff --patch "$name" >patch
	cp -a project spare/copy
	(cd spare/copy && git init -q && git apply --unidiff-zero "$T/patch" 2>/dev/null || git apply "$T/patch")
	[[ $(cat spare/copy/a spare/copy/src/n) == $'hello\nmore\nno newline' && ! -e spare/copy/src/main.c ]]
	[[ $(readlink spare/copy/link2) == a && $(sed -n 15p spare/copy/n30) == fifteen ]]
}

@test "holes take no place of the disk when they are applied" {
	work sh -c 'echo first >holes; truncate -s 64M holes; echo last >>holes'
	"$HUTCH" apply "$name"
	cmp project/holes <(echo first; head -c "$(((64 << 20) - 6))" /dev/zero; echo last)
	[ "$(stat -c %b project/holes)" -lt 4096 ]
}

@test "the patch reads nothing of a file that is too large for it, such as one of holes" {
	work truncate -s 1T holes
	run timeout "$PATIENCE" "$HUTCH" diff --patch "$name"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "Binary files /dev/null and b/holes differ" ]]
}

@test "json has each change with its keys" {
	work sh -c "$script"; "$HUTCH" diff --json "$name" >json
	"$here/cow.py" diff <json
}

# --- what is protected --------------------------------------------------------------

# guarded COMMAND: runs COMMAND like work, in a project that has a git repository.
guarded() {
	mkdir -p project/.git/hooks project/.git/refs
	echo '[core]' >project/.git/config
	echo ref >project/.git/HEAD
	give project
	"$HUTCH" run --workspace project:cow --protect .git/hooks --protect .git/config --protect .mcp.json \
		--protect '.git/modules/**/config' -- sh -c "$1" 2>err || return
	name=$(sed -n 's/.*changes are kept as \([a-z0-9-]*\);.*/\1/p' err)
}

# not_applied PATH WHY: checks that hutch apply has refused PATH with the reason WHY.
not_applied() {
	grep -qF "hutch: not applied: /workspace/$1: $2" <<<"$stderr"
}

@test "changes of protected files are not applied, wherever they are, and the rest is" {
	guarded 'echo x >.git/hooks/pre-commit; echo x >>.git/config; echo {} >.mcp.json; echo c >.git/HEAD
		mkdir -p p/b/.git/hooks sub .git/modules/m; echo x >p/b/.git/hooks/h; echo {} >sub/.mcp.json
		echo o >p/b/.git/HEAD; echo x >.git/modules/m/config; echo h >.git/modules/m/HEAD; echo mine >>a.txt'
	hutch apply "$name"
	[[ $status == 125 && $stderr == *"6 of the changes"*"--include-protected"* && $stderr != *--force* ]]
	not_applied .git/hooks/pre-commit "is protected (.git/hooks)"
	not_applied .git/config "is protected (.git/config)"
	not_applied .mcp.json "is protected (.mcp.json)"
	not_applied sub/.mcp.json "is protected (.mcp.json)"
	not_applied p/b/.git/hooks "is protected (.git/hooks)"
	not_applied .git/modules/m/config "is protected (.git/modules/**/config)"
	[[ ! -e project/a.txt ]]
	# With --force and --partial the change of a.txt, which is not protected, is applied.
	hutch apply --force --partial "$name"
	[[ $status == 125 && $(cat project/a.txt) == mine && ! -e project/.mcp.json && ! -e project/p/b/.git/hooks ]]
	not_applied .git "config in it is protected (.git/config); a repository is applied whole or not at all"
	not_applied p/b/.git "hooks in it is protected (.git/hooks); a repository is applied whole or not at all"
	[[ $(cat project/.git/HEAD) == ref && $(cat project/.git/config) == '[core]' && -z $(find project/.git/hooks project/sub -type f) ]]
	# A path that is given as an argument is applied, although it is in a repository with
	# protected files.
	hutch apply "$name" .git/HEAD
	[[ $status == 0 && $(cat project/.git/HEAD) == c ]]
	hutch apply --include-protected "$name"
	[[ $status == 0 && -e project/.git/hooks/pre-commit && -e project/p/b/.git/hooks/h && -e project/.mcp.json &&
		$(cat project/p/b/.git/HEAD project/.git/modules/m/HEAD) == $'o\nh' ]]
	nothing_is_kept
}

@test "a dry run says what is protected as the apply does" {
	guarded 'echo x >.git/hooks/h; mkdir -p new/.git/hooks; echo x >new/.git/hooks/h; echo x >new/x; rm -r .git/refs; mv .git .git2'
	hutch apply --dry-run "$name"
	[[ $status == 125 && -z $output && $stderr == *"nothing would be applied"* ]]
	local said=$stderr
	hutch apply "$name"
	diff <(echo "${said/would be/was}") <(echo "$stderr")
	[[ ! -e project/new ]]
	hutch apply --dry-run --partial "$name"
	local done=$output
	said=$stderr
	hutch apply --partial "$name"
	diff <(grep ': not applied' <<<"$said") <(grep ': not applied' <<<"$stderr")
	[[ $output == "$done" && $(grep -c "^hutch: not applied" <<<"$said") == 2 && -e project/new/x && ! -e project/new/.git/hooks ]]
}

@test "a folder with what is protected is not moved away, removed or replaced" {
	guarded 'mv .git .git2; mkdir -p .git/hooks; echo x >.git/hooks/h'
	hutch apply "$name"
	[[ $status == 125 && $(cat project/.git/config) == '[core]' && ! -e project/.git/hooks/h && -d project/.git/hooks ]]
	"$HUTCH" discard "$name"
	guarded 'rm -r .git; ln -s /tmp .git; mkdir evil; echo x >evil/config; printf "gitdir: ../evil" >src/.git'
	hutch apply "$name"
	[[ $status == 125 && -f project/.git/config && ! -e project/src/.git ]]
	not_applied .git "is above a protected path (.git/hooks)"
	not_applied src/.git "is above a protected path (.git/hooks)"
	"$HUTCH" discard "$name"
	mkdir -p project/old/sub/.git/hooks
	guarded 'rm -r old; mkdir -p .git/modules; ln -s ../../src .git/modules/m'
	hutch apply "$name"
	[[ $status == 125 && -d project/old/sub/.git/hooks && ! -L project/.git/modules/m ]]
	not_applied old "sub/.git/hooks in it is protected"
	not_applied .git/modules/m "is a link in the place of a folder that may hold protected paths (.git/modules/**/config)"
}

@test "other names for what is protected are refused alike" {
	ln -s real-hooks spare/hooks
	mkdir -p project/real-hooks
	guarded 'rmdir .git/hooks'
	"$HUTCH" discard "$name"
	rmdir project/.git/hooks; ln -s ../real-hooks project/.git/hooks
	ln -s later project/.mcp.json; : >project/later
	give project
	guarded 'echo x >.git/hooks/h; echo x >real-hooks/i; mkdir .GIT; echo x >.GIT/Config; mkdir ".git./"; echo x >".git./config "
		echo x >>later; ln -s .git alias; echo x >>alias/config; rm -r real-hooks; mkdir s; ln -s ../real-hooks s/t' || true
	hutch apply --partial "$name"
	[[ $status == 125 && $(cat project/.git/config) == '[core]' && -d project/real-hooks && -z $(ls -A project/real-hooks) && ! -s project/later ]]
	[[ ! -e project/.GIT/Config && ! -e "project/.git./config " && -L project/s/t ]]
	not_applied later "is protected (.mcp.json)"
	not_applied .GIT/Config "is protected (.git/config)"
}

# led HOST INSIDE: the commands HOST set up the project, and INSIDE tries to make a git hook
# appear on the host through other paths; checks that no hook was made.
led() {
	rm -rf project && mkdir project && (cd project && eval "$1")
	give project
	work sh -c "$2"
	hutch apply --partial "$name"
	[[ $status == 125 ]]
	never grep -q evil project/.git/hooks/pre-commit project/.mcp.json
	"$HUTCH" discard "$name"
}

@test "no link of the host's on the way to what is protected lets the inside lead it elsewhere" {
	work() { guarded_work "$@"; }
	led 'mkdir .git; ln -s ../shared .git/hooks' 'mkdir shared; echo evil >shared/pre-commit'
	led 'ln -s gd .git' 'mkdir -p gd/hooks; echo evil >gd/hooks/pre-commit'
	led 'mkdir .git real; ln -s ../h .git/hooks; ln -s real h' 'rm h; mkdir h; echo evil >h/pre-commit'
	led 'mkdir -p .git d/hk; ln -s ../l/hk .git/hooks; ln -s d l' 'rm l; mkdir -p l/hk; echo evil >l/hk/pre-commit'
	led 'mkdir gd hk; ln -s gd .git; ln -s ../hk gd/hooks' 'rm gd/hooks; mkdir gd/hooks; echo evil >gd/hooks/pre-commit'
	led 'mkdir .git; ln -s "$PWD/abs" .git/hooks' 'mkdir abs; echo evil >abs/pre-commit'
	led 'mkdir -p .git a; ln -s ../a/../b/./c .git/hooks' 'mkdir -p b/c; echo evil >b/c/pre-commit'
	led 'mkdir .git; ln -s "$PWD" ../around; ln -s "$T/around/abs" .git/hooks' 'mkdir abs; echo evil >abs/pre-commit'
	led 'mkdir .git; ln -s ../../project/up .git/hooks' 'mkdir up; echo evil >up/pre-commit'
	led 'mkdir .git; ln -s .git .mcp.json' 'rm .mcp.json; echo evil >.mcp.json'
}

guarded_work() {
	"$HUTCH" run --workspace project:cow --protect .git/hooks --protect .mcp.json -- "$@" 2>err || return
	name=$(sed -n 's/.*changes are kept as \([a-z0-9-]*\);.*/\1/p' err)
}

@test "permissions of folders above a protected file stay as they are" {
	guarded 'chmod 777 .git; chmod 700 src; echo c >.git/HEAD'
	hutch apply --partial "$name"
	[[ $status == 125 && $(stat -c %a project/.git project/src) == $'755\n700' && $(cat project/.git/HEAD) == ref ]]
	not_applied .git "is above a protected path (.git/hooks)"
}

@test "a protected file written with the same content is no change" {
	guarded 'cp .git/config x; cat x >.git/config; rm x; touch .git/config; echo n >n'
	hutch apply "$name"
	[[ $status == 0 && $output == 'A /workspace/n' && -z $stderr ]]
}

# --- what changed underneath --------------------------------------------------------

@test "files changed on the host meanwhile are not touched, and by default nothing is" {
	work sh -c "echo mine >>a; echo mine >>n30; rm src/main.c; rm -r old; echo new >new"
	echo host >>project/a
	echo host >project/src/main.c
	echo host >project/old/sub/fresh
	echo host >project/new
	before=$(tree_of project)
	hutch apply "$name"
	[[ $status == 125 && -z $output && $(tree_of project) == "$before" ]]
	[[ $stderr == *"nothing was applied: 4 of the changes of '$name' cannot be, and all files are as they were"*--partial*--force* ]]
	before=$(tree_of project | grep -v n30)
	hutch apply --partial "$name"
	[[ $status == 125 && $stderr == *"1 of the changes of '$name' was applied, and 4 were not: those files are as they were"* ]]
	for path in a src/main.c old new; do
		[[ $stderr == *"not applied: /workspace/$path: "* ]]
	done
	[[ $stderr == *"sub in it was changed on this host"* && $output == *"M /workspace/n30"* ]]
	[[ $(tree_of project | grep -v n30) == "$before" && $(tail -1 project/n30) == mine ]]
	hutch apply --force "$name"
	[[ $status == 0 && $(cat project/a) == $'hello\nmine' && ! -e project/old && ! -e project/src/main.c ]]
	nothing_is_kept
}

# repository: makes the project a git repository with one commit.
repository() {
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
	printf '[user]\n\tname = a\n\temail = a@b\n[commit]\n\tgpgsign = false\n' >home/.gitconfig
	git -C project init -q -b main
	git -C project add a src
	git -C project commit -qm one
	give project home
}

@test "a repository is applied whole or not at all, so that nothing is staged for reversal" {
	repository
	"$HUTCH" run -v "$PWD/home/.gitconfig:/root/.gitconfig:ro" -e HOME=/root --workspace project:cow -- \
		sh -c 'echo work >>a; echo x >b; git add .; git commit -qm two' 2>err
	say_name
	# git status rewrites the index of the repository on the host, which counts as a change on
	# the host.
	touch -d 2001-01-01 project/src/main.c
	git -C project status >/dev/null
	before=$(tree_of project)
	hutch apply "$name"
	[[ $status == 125 && -z $output && $(tree_of project) == "$before" ]]
	not_applied .git/index "was changed on this host since the sandbox began"
	hutch apply --partial "$name"
	[[ $status == 125 && $(cat project/b) == x && $output != *.git* ]]
	not_applied .git "index in it was changed on this host since the sandbox began; a repository is applied whole or not at all"
	[[ -z $(git -C project diff --cached --name-only) && $(git -C project log --format=%s) == one ]]
	hutch apply --force "$name"
	[[ $status == 0 ]]
	[[ $(git -C project log --format=%s) == $'two\none' && -z $(git -C project status --porcelain -- a b) ]]
}

@test "visible obstacles are found beforehand: rights, kinds and names, in new folders too" {
	work sh -c 'echo mine >a; mkdir -p m/n; mkfifo m/n/p; echo z >z'
	before=$(tree_of project)
	hutch apply "$name"
	[[ $status == 125 && $(tree_of project) == "$before" && $stderr == *"/workspace/m/n/p: is a FIFO"* ]]
	"$HUTCH" discard "$name"
	work sh -c 'echo mine >a; mkdir m; echo x >m/.hutch-apply-x; echo z >z'
	hutch apply "$name"
	[[ $status == 125 && $(tree_of project) == "$before" && $stderr == *"has a name of hutch's own"* ]]
	"$HUTCH" discard "$name"
	work sh -c 'echo mine >a; echo other >src/main.c; echo z >z'
	local own=outer
	! is_root || own='unshare -m'
	catch $own sh -c 'mount --bind project/src project/src && mount -o remount,bind,ro project/src && exec "$@"' - \
		"$HUTCH" apply "$name"
	[[ $status == 125 && $(tree_of project) == "$before" ]]
	not_applied src/main.c "write to the folder that it is in: Read-only file system"
	hutch apply "$name"
	[[ $status == 0 && $(cat project/z) == z ]]
}

@test "a folder that is opened by the same changes is no obstacle" {
	as_who chmod 555 project/src
	work sh -c 'chmod 755 src; echo other >src/main.c; mkdir src/d; echo x >src/d/x'
	hutch apply "$name"
	[[ $status == 0 && $(cat project/src/main.c project/src/d/x) == $'other\nx' ]]
}

@test "where it fails in the middle it ends there, and says what was done and what was not" {
	work sh -c 'echo mine >a; head -c 5000 /dev/zero >b; echo c >c; mkdir d; echo x >d/x; rm n30'
	catch eval "(trap '' XFSZ; ulimit -f 1; '$HUTCH' apply $name)"
	[[ $status == 125 && $output == 'M /workspace/a' && $(cat project/a) == mine ]]
	not_applied b "write it: File too large"
	not_applied c "was not tried, since another one failed"
	not_applied d "was not tried, since another one failed"
	not_applied n30 "was not tried, since another one failed"
	[[ $stderr == *"1 of the changes of '$name' was applied, and 4 were not: those files are as they were"*"goes on with that"* ]]
	[[ ! -e project/b && ! -e project/c && ! -e project/d && -e project/n30 && -z $(find project -name '.hutch*') ]]
	hutch apply "$name"
	[[ $status == 0 && $(stat -c %s project/b) == 5000 && -e project/d/x && ! -e project/n30 ]]
	nothing_is_kept
}

@test "a time that was set back does not hide a change" {
	work sh -c "echo mine >>a"
	echo hallo >project/a
	touch -d 2001-01-01 project/a
	hutch apply "$name"
	[[ $status == 125 && $(cat project/a) == hallo ]]
}

@test "a folder that has become another one is not applied to" {
	work sh -c "echo mine >>a"
	mv project project.was
	room project
	echo hello >project/a
	hutch apply "$name"
	[[ $status == 125 && $stderr == *"is another folder now"* && $(cat project/a) == hello ]]
}

@test "a link that takes a folder's place on the host leads nowhere" {
	work sh -c "echo evil >src/main.c; echo evil >src/new"
	mkdir spare/outside
	echo safe >spare/outside/main.c
	rm -r project/src
	ln -s ../spare/outside project/src
	hutch apply "$name"
	[[ $status == 125 && $(ls spare/outside) == main.c && $(cat spare/outside/main.c) == safe ]]
	[[ -L project/src ]]
}

# --- found by the folder, and asked about -------------------------------------------

# typed STEP... -- ARG...: runs hutch on a terminal of its own, with these steps of terminal.py.
typed() {
	local steps=()
	while [[ $1 != -- ]]; do
		steps+=("$1")
		shift
	done
	printf '%s\n' "${steps[@]}" >"$T/steps"
	"$here/terminal.py" "$T/steps" "$HUTCH" "${@:2}"
}

@test "without a name the changes are found by the current folder, or a folder above it" {
	work sh -c 'echo more >>a; echo b >b'
	for folder in project project/src; do
		cd "$T/$folder"
		[[ $(lines_of) == $'M 11 /workspace/a\nA 2 /workspace/b' ]]
		typed "expect hutch: note: changes of $name to $T/project\r" 'expect A +2 /workspace/b' 'exit 0' -- diff
	done
	hutch diff
	[[ -z $stderr ]]
	hutch apply
	[[ $status == 0 && $output == $'M /workspace/a\nA /workspace/b' ]]
	nothing_is_kept
	cd "$T"
	work rm b
	cd project
	hutch discard
	[[ $status == 0 && $output == "$name" && -e b ]]
	nothing_is_kept
}

@test "without a name it is an error if no changes are of the current folder, or several are" {
	work sh -c 'echo more >>a'
	local first=$name verb
	for folder in "$T" "$T/spare"; do
		cd "$folder"
		for verb in diff apply discard; do
			catch "$HUTCH" "$verb"
			[[ $status == 125 && -z $output ]]
			one_sentence "a name is missing: no changes are kept of $folder, nor of a folder above it"
			[[ $stderr == *'hutch changes lists the names'* ]]
		done
	done
	cd "$T"
	work sh -c 'echo b >b'
	cd project
	for verb in diff apply discard; do
		catch "$HUTCH" "$verb"
		[[ $status == 125 && -z $output ]]
		one_sentence "a name is missing: changes of 2 sandboxes are kept of this folder: $name, $first"
	done
	# The first operand is a name, also if it is that of a file.
	hutch apply a
	[[ $status == 125 && $(<a) == hello && $stderr == *"no changes are kept of a sandbox 'a'"* ]]
	[[ $("$HUTCH" changes -q) == "$name"$'\n'"$first" ]]
}

@test "on a terminal apply and discard say the folder, and ask about what hutch has named" {
	work sh -c 'echo more >>a; rm n30'
	local no
	for no in 'n\n' '\n' 'yess\n' '\x04' 'y but not at once, for the answer is a longer one\n'; do
		typed "expect ^apply 2 changes of $name to $T/project\? \[y/N\] $" "send $no" \
			'expect hutch: nothing was applied' 'exit 125' -- apply "$name"
		typed "expect ^discard 2 changes of $name to $T/project\? \[y/N\] $" "send $no" \
			'expect hutch: nothing was discarded' 'exit 125' -- discard "$name"
	done
	[[ $(<project/a) == hello && -e project/n30 ]]
	typed "expect ^apply 1 change of $name to " 'send y\n' 'expect M /workspace/a' 'exit 0' -- apply "$name" a
	[[ $(<project/a) == $'hello\nmore' && -e project/n30 ]]
	typed "expect ^discard 1 change of $name to " 'send YES\n' "expect $name" 'exit 0' -- discard "$name"
	nothing_is_kept
}

@test "changes that are found by the folder are asked about even if their user has named them" {
	"$HUTCH" run --name tidy --workspace project:cow -- sh -c 'echo more >>a'
	cd project
	typed "expect ^apply 1 change of tidy to $T/project\? " 'send n\n' 'exit 125' -- apply
	typed "expect ^discard 1 change of tidy to $T/project\? " 'send n\n' 'exit 125' -- discard
	typed 'exit 0' 'never y/N' -- apply tidy
	[[ $(<a) == $'hello\nmore' ]]
	nothing_is_kept
}

@test "nothing is asked with --yes, in a dry run, and where stdin or stderr is no terminal" {
	work sh -c 'echo more >>a; echo b >b; echo c >c; rm n30'
	typed 'exit 0' 'expect M /workspace/a' 'never y/N' -- apply --dry-run "$name"
	typed 'exit 0' 'expect M /workspace/a' 'never y/N' -- apply -y "$name" a
	"$here/terminal.py" <(printf '%s\n' 'exit 0' 'expect A /workspace/b' 'never y/N') \
		sh -c '"$0" apply "$1" b </dev/null' "$HUTCH" "$name"
	"$here/terminal.py" <(printf '%s\n' 'exit 0' 'expect A /workspace/c' 'never y/N') \
		sh -c '"$0" apply "$1" c 2>err2' "$HUTCH" "$name"
	[[ ! -s err2 ]]
	typed 'exit 0' 'never y/N' -- discard --yes "$name"
	nothing_is_kept
}

@test "discard of several says what each is, and asks once" {
	work sh -c 'echo more >>a'
	local first=$name
	"$HUTCH" run --name tidy --workspace project:cow -v spare:/s:cow -- sh -c 'echo b >b; echo c >/s/c'
	local no
	for no in --all "$first tidy"; do
		# shellcheck disable=SC2086 # several words are meant
		typed "expect (^|\n)tidy: 2 changes to ($T/project, $T/spare|$T/spare, $T/project)\r" \
			'expect \ndiscard the changes of these 2\? \[y/N\] $' 'send n\n' \
			"expect nothing was discarded" 'exit 125' -- discard $no
	done
	typed "expect $first: 1 change to $T/project\r" 'expect these 2\? ' 'send y\n' 'exit 0' -- discard "$first" tidy
	nothing_is_kept
}

# --- chosen one by one --------------------------------------------------------------

prompt='expect apply it\? \[y,n,a,d,q,p,\?\] $'

@test "apply -i asks about one change after the other, and shows a patch and what letters mean" {
	work sh -c 'echo more >>a; mkdir d; echo x >d/x; rm n30; echo new >new; ln -s new z'
	typed "expect ^hutch: note: changes of $name to $T/project\r" 'expect M +11 /workspace/a\r' \
		"$prompt" 'send p\n' 'expect \+\+\+ b/a\r\n.*\r\n hello\r\n\+more\r' \
		"$prompt" 'send ?\n' 'expect a: apply it and all others' \
		"$prompt" 'send yn\n' 'expect q: apply neither' \
		"$prompt" 'send y\n' 'expect A +- /workspace/d/\r' \
		"$prompt" 'send n\n' 'expect D +81 /workspace/n30' \
		"$prompt" 'send p\n' 'expect deleted file mode' \
		"$prompt" 'send n\n' 'expect A +4 /workspace/new\r' \
		"$prompt" 'send Y\n' 'expect A +- /workspace/z -> new\r' \
		"$prompt" 'send n\n' 'expect M /workspace/a\r\nA /workspace/new\r' 'exit 0' 'never d/x' -- apply -i "$name"
	[[ $(cat project/a project/new) == $'hello\nmore\nnew' && -e project/n30 && ! -e project/d && ! -L project/z ]]
	[[ $(lines_of "$name") == $'A - /workspace/d/\nA 2 /workspace/d/x\nD 81 /workspace/n30\nA - /workspace/z -> new' ]]
	typed "$prompt" 'send y\n' 'expect d/x' "$prompt" 'send a\n' 'expect A /workspace/z' 'exit 0' -- apply -i "$name"
	[[ $(<project/d/x) == x && ! -e project/n30 && -L project/z ]]
	nothing_is_kept
}

@test "apply -i ends at d and q with what was chosen, and at the end of input with nothing" {
	work sh -c 'echo 1 >1; echo 2 >2; echo 3 >3; echo 4 >4; echo 5 >5'
	typed "$prompt" 'send y\n' "$prompt" 'send \x04' 'expect hutch: nothing was applied' 'exit 125' -- apply -i "$name"
	[[ ! -e project/1 ]]
	typed "$prompt" 'send d\n' 'expect no change was chosen, and none is applied' 'exit 0' -- apply -i "$name"
	typed "$prompt" 'send y\n' "$prompt" 'send q\n' 'expect A /workspace/1' 'exit 0' -- apply -i "$name"
	typed "$prompt" 'send y\n' "$prompt" 'send d\n' 'expect A /workspace/2' 'exit 0' -- apply -i "$name"
	typed 'expect /workspace/4' "$prompt" 'send y\n' 'expect \nA /workspace/4' 'exit 0' 'never workspace/[35]' -- apply -i "$name" 4
	[[ $(ls project | head -3 | xargs) == '1 2 4' ]]
	typed "$prompt" 'send a\n' 'expect A /workspace/3' 'exit 0' -- apply -i --dry-run "$name"
	[[ $(lines_of "$name") == $'A 2 /workspace/3\nA 2 /workspace/5' ]]
}

@test "with apply -i only what is chosen is judged, and a repository is one thing" {
	guarded 'mkdir sub; mkdir sub/.git; echo x >sub/.git/HEAD; echo y >sub/.git/refs; echo c >.git/HEAD
		echo x >.git/hooks/h; echo more >>a; echo z >z'
	echo host >>project/a
	typed 'expect M +- /workspace/.git \(a git repository' "$prompt" 'send p\n' 'expect b/.git/hooks/h' \
		"$prompt" 'send n\n' 'expect M +11 /workspace/a' "$prompt" 'send n\n' \
		'expect A +- /workspace/sub/' "$prompt" 'send y\n' \
		'expect A +- /workspace/sub/.git \(a git repository' "$prompt" 'send y\n' \
		'expect A +2 /workspace/z' "$prompt" 'send y\n' \
		'expect A /workspace/sub/.git/refs' 'exit 0' -- apply -i "$name"
	[[ $(cat project/a project/.git/HEAD project/sub/.git/HEAD project/z) == $'hello\nhost\nref\nx\nz' ]]
	typed "$prompt" 'send y\n' "$prompt" 'send y\n' 'expect nothing was applied: 2 of the changes' 'exit 125' -- apply -i "$name"
	[[ $(cat project/a project/.git/HEAD) == $'hello\nhost\nref' ]]
}

@test "names that apply -i asks about are safe for the terminal, and it needs one" {
	work sh -c 'echo 2 >"$(printf "e\033]0;t\007")"; printf "\033]0;t\007" >f'
	typed 'expect A +2 /workspace/e\^\[\]0;t\^G\r' "$prompt" 'send p\n' "$prompt" 'send y\n' \
		'expect workspace/f' "$prompt" 'send p\n' 'expect \+\^\[\]0;t\^G' "$prompt" 'send n\n' 'exit 0' \
		'never \x1b|\x07' -- apply -i "$name"
	[[ -e project/$'e\033]0;t\007' ]]
	hutch apply -i "$name"
	[[ $status == 125 && $stderr == 'hutch: --interactive asks on a terminal, and stdin or stderr is none'* ]]
	hutch apply -i -y "$name"
	[[ $status == 125 && $stderr == 'hutch: --interactive asks, and --yes does not; choose one'*'hint: leave out --yes'* ]]
}

# --- changes with a name ------------------------------------------------------------

@test "run --name and act --name give the changes that are kept their name" {
	"$HUTCH" run --name tidy --workspace project:cow -- sh -c 'echo more >>a' 2>err
	[[ $(<err) == 'hutch: changes are kept as tidy; hutch diff|apply|discard tidy' ]]
	[[ $(lines_of tidy) == 'M 11 /workspace/a' ]]
	echo '{"action":"run","args":{"command":"echo b >b"}}' |
		"$HUTCH" act --name tidier --workspace project:cow 2>err
	[[ $(<err) == 'hutch: changes are kept as tidier; hutch diff|apply|discard tidier' ]]
	hutch changes -q
	[[ $output == $'tidier\ntidy' ]]
	"$HUTCH" apply tidy
	hutch run --name tidy --workspace project:cow -- true
	[[ $status == 0 && -z $stderr ]]
	"$HUTCH" discard tidier
	nothing_is_kept
}

@test "a name that is taken is an error, and nothing is run" {
	"$HUTCH" run --name tidy --workspace project:cow -- sh -c 'echo more >>a' 2>err
	hutch run --name tidy --workspace project:cow -v spare:/s -- touch /s/ran
	[[ $status == 125 && $stderr == "hutch: changes of an earlier sandbox 'tidy' are kept"$'\n'* ]]
	[[ $stderr == *'hutch diff tidy; then hutch apply tidy, or hutch discard tidy, or another name' ]]
	"$HUTCH" create box
	hutch run --name box --workspace project:cow -v spare:/s -- touch /s/ran
	[[ $status == 125 && $stderr == "hutch: a sandbox named 'box' is running"$'\n'* ]]
	hutch act --name box --workspace project:cow
	[[ $status == 125 && $stderr == "hutch: a sandbox named 'box' is running"$'\n'* ]]
	[[ ! -e spare/ran && $("$HUTCH" changes -q) == tidy ]]
}

@test "without a folder that changes are kept of, --name is an error that leads to create" {
	hutch run --name tidy -v spare:/s -- touch /s/ran
	[[ $status == 125 && ! -e spare/ran && $stderr == *'there is no such folder'*'hutch create tidy '* ]]
	hutch act --name tidy
	[[ $status == 125 && $stderr == *'hutch create tidy '* ]]
	hutch run --learn file --name tidy --workspace project:cow -- true
	[[ $status == 125 && $stderr == *'--learn with --name: what is written is dropped'* ]]
	hutch create --name tidy box
	[[ $status == 125 && $stderr == *'hutch create takes the name as its last word'* ]]
	hutch exec --name tidy box true
	[[ $status == 125 && $stderr == *'--name is a flag of hutch run and hutch act'* ]]
}

# --- sandboxes with a name ----------------------------------------------------------

@test "the changes of a sandbox with a name are its own, live and after its end" {
	"$HUTCH" create --workspace project:cow box
	"$HUTCH" exec box -- sh -c 'echo more >>a'
	[[ $(lines_of box) == 'M 11 /workspace/a' ]]
	hutch discard box
	[[ $status == 125 && $stderr == *"has not ended"* ]]
	"$HUTCH" apply box
	[[ $(cat project/a) == $'hello\nmore' && $(lines_of box) == '' ]]
	"$HUTCH" exec box -- sh -c 'echo yet more >>a; echo b >b'
	[[ $(lines_of box) == $'M 20 /workspace/a\nA 2 /workspace/b' ]]
	"$HUTCH" apply box a
	[[ $(tail -1 project/a) == 'yet more' ]]
	"$HUTCH" rename box crate
	[[ $(lines_of crate) == 'A 2 /workspace/b' ]]
	"$HUTCH" stop crate
	[[ $(lines_of crate) == 'A 2 /workspace/b' ]]
	hutch rm crate
	[[ $status == 0 && $output == crate ]]
	[[ $stderr == 'hutch: changes are kept as box; hutch diff|apply|discard box' ]]
	hutch ps -a
	[[ $output == *"box "*" 2B"* ]]
	hutch create --workspace project:cow box
	[[ $status == 125 && $stderr == *"changes of an earlier sandbox 'box' are kept"* ]]
	"$HUTCH" discard box
	nothing_is_kept
}

@test "rm says what is kept of one that it ends, and nothing where nothing was changed" {
	"$HUTCH" create --workspace project:cow box
	"$HUTCH" exec box -- sh -c 'echo more >>a'
	hutch rm -f box
	[[ $status == 0 && $output == box ]]
	[[ $stderr == 'hutch: changes are kept as box; hutch diff|apply|discard box' ]]
	"$HUTCH" discard box
	for change in true 'echo >b'; do
		"$HUTCH" create --workspace project:cow box
		"$HUTCH" exec box -- sh -c "$change"
		"$HUTCH" kill box
		"$HUTCH" wait box
		hutch rm box
		[[ $status == 0 && $stderr == "${kept:-}" ]]
		kept='hutch: changes are kept as box; hutch diff|apply|discard box'
	done
	"$HUTCH" discard box
	nothing_is_kept
}

@test "changes lists all that is kept, with the folder, and discard --all keeps those of a live sandbox" {
	hutch changes
	[[ $(wc -l <<<"$output") == 1 ]]
	work sh -c 'head -c 3000 /dev/zero >zeros; rm a'
	"$HUTCH" create -v spare:/s:cow -v project:/p:cow box
	hutch changes
	[[ ${lines[0]} =~ ^NAME\ +FOLDER\ +STARTED\ +CHANGES\ +SIZE$ ]]
	[[ ${lines[1]} =~ ^box\ +$T/project\ and\ 1\ more\ .*\ sandbox\ lives\ +-$ ]]
	[[ ${lines[2]} =~ ^$name\ +$T/project\ .*\ ago\ +2\ +2\.9KiB$ ]]
	hutch changes -q
	[[ $output == "box"$'\n'"$name" ]]
	hutch changes --json
	[[ $output == '[{"name":"box",'*'"state":"live","started":"'*'Z","changes":null,"bytes":null,"folders":[{"source":"'"$T/project"'","target":"/p"},{"source":"'"$T/spare"'","target":"/s"}]},{"name":"'"$name"'",'*'"state":"ended",'*'"changes":2,"bytes":3000,"folders":[{"source":"'"$T/project"'","target":"/workspace"}]}]' ]]
	catch "$HUTCH" discard --all "$name"
	[[ $status == 125 ]]
	hutch discard --all
	[[ $output == "$name" ]]
	hutch changes -q
	[[ $output == box ]]
	"$HUTCH" rm -f box
	hutch discard --all
	hutch changes -q
	[[ -z $output ]]
	nothing_is_kept
}

@test "ps -a lists what is kept with its size, and of a launch that was killed too" {
	work sh -c 'head -c 3000 /dev/zero >zeros'
	"$HUTCH" run --workspace project:cow -- sh -c 'echo 12345 >b; echo up; sleep 1000' >out &
	pid=$!
	started+=("$pid")
	until_true test -s out
	[[ $("$HUTCH" ps -aq) == "$name" ]]
	kill -KILL "$pid"
	wait "$pid" || true
	until_true two_are_kept
	"$HUTCH" ps -a --json | "$here/cow.py" kept
	[[ $("$HUTCH" ps -a | awk 'NR > 1 { print $(NF - 1) }' | sort | xargs) == "2.9KiB 6B" ]]
	[[ $("$HUTCH" ps -a | awk 'NR > 1 { print $NF }' | sort -u) == "$T/project" ]]
	# On a terminal of 80 columns each line fits, with the end of the folder; --no-trunc writes
	# all of it, and without a terminal only the home is shorter.
	for verb in 'ps -a' changes; do
		script -qec "stty cols 80; '$HUTCH' $verb" /dev/null </dev/null | tr -d '\r' >screen
		[[ $(wc -l <screen) == 3 && $(grep -c '/project' screen) == 2 ]]
		awk 'length > 80 { print; wide = 1 } END { exit wide }' screen
		script -qec "stty cols 80; '$HUTCH' $verb --no-trunc" /dev/null </dev/null | grep -F "$T/project"
	done
	data=${XDG_DATA_HOME:-$HOME/.local/share}
	[[ $(HOME=$T XDG_DATA_HOME=$data "$HUTCH" changes | awk 'NR > 1 { print $2 }' | sort -u) == '~/project' ]]
	for name in $("$HUTCH" ps -aq); do "$HUTCH" discard "$name"; done
	nothing_is_kept
}

@test "several folders are each their own, and one in another is the inner one's" {
	mkdir spare/data
	give spare
	"$HUTCH" run --workspace project:cow -v spare/data:/workspace/old/sub:cow -v spare:/s:cow -- \
		sh -c 'echo 1 >a; echo 2 >old/sub/two; echo 3 >/s/three' 2>err
	name=$(sed -n 's/.*kept as \([a-z0-9-]*\);.*/\1/p' err)
	[[ $(lines_of "$name" | sort -k3) == $'A 2 /s/three\nM 2 /workspace/a\nA 2 /workspace/old/sub/two' ]]
	"$HUTCH" apply "$name" /workspace/old/sub
	[[ $(cat spare/data/two) == 2 && $(cat project/a) == hello && ! -e project/old/sub/two ]]
	"$HUTCH" apply "$name"
	[[ $(cat spare/three) == 3 && $(cat project/a) == 1 ]]
}

@test "with --partial a change that cannot be applied keeps back none of another folder" {
	echo old >spare/x
	give spare
	for conflict in project/a spare/x; do
		"$HUTCH" run --workspace project:cow -v spare:/s:cow -- sh -c 'echo in >a; echo in >/s/x' 2>err
		name=$(sed -n 's/.*kept as \([a-z0-9-]*\);.*/\1/p' err)
		echo host >"$conflict"
		hutch apply --partial "$name"
		[[ $status == 125 && $(cat "$conflict") == host ]]
		[[ $(cat project/a spare/x | sort | xargs) == 'host in' && $stderr != *'was not tried'* ]]
		"$HUTCH" discard "$name"
	done
}

# theirs COMMAND...: runs COMMAND in the project as user 5 of a sandbox, who is another user on
# the host, neither the owner of the project nor root.
theirs() {
	has_theirs=1
	"$HUTCH" run --idmap ranges -u 5:5 -v "$T/project:/p" -w /p -- "$@"
}

# not_theirs COMMAND...: runs COMMAND in the project as root of a sandbox; hutch apply may not
# remove the files of that other user.
not_theirs() {
	"$HUTCH" run --idmap ranges -u root -v "$T/project:/p" -w /p -- "$@"
}

@test "a folder in which another user's keep theirs is not removed in part: nothing is applied" {
	needs_range
	give project
	work sh -c 'echo mine >>a; rm -r old; echo new >new; rm -r src; echo file >src'
	chmod 777 project/old project/old/sub project/src
	theirs sh -c 'mkdir old/sub/theirs src/theirs; echo x >old/sub/theirs/f; echo x >src/theirs/f'
	chmod 755 project/old project/old/sub project/src
	before=$(tree_of project)
	hutch apply --force "$name"
	[[ $status == 125 && -z $output && $(tree_of project) == "$before" ]]
	[[ $stderr == *'not applied: /workspace/old: sub/theirs/f in it cannot be removed from a folder of another user'* ]]
	[[ $stderr == *'not applied: /workspace/src: theirs/f in it cannot be removed from a folder of another user'* ]]
	[[ $stderr == *"nothing was applied: 2 of the changes of '$name' cannot be, and all files are as they were"* ]]
	hutch apply --force --partial "$name"
	[[ $status == 125 && $(sort <<<"$output") == $'A /workspace/new\nM /workspace/a' ]]
	[[ -f project/old/sub/theirs/f && -f project/old/x && -f project/src/main.c ]]
	[ -z "$(find project -name '.hutch-*')" ]
	# Now that the files of the other user are gone, the folder is empty and is removed with
	# its parent folder.
	not_theirs sh -c 'rm old/sub/theirs/f src/theirs/f'
	hutch apply --force "$name"
	[[ $status == 0 && ! -e project/old && $(cat project/src) == file ]]
}

@test "files of another user in a folder with the sticky bit are found beforehand, too" {
	needs_range
	give project
	chmod 777 project
	theirs sh -c 'mkdir -m 1777 shared; echo x >shared/f; chmod 666 shared/f'
	chmod 755 project
	"$HUTCH" run --workspace project:cow -v "$T/project/shared:/s:cow" -- sh -c 'echo mine >>a; rm /s/f; echo new >/s/new' 2>err
	name=$(sed -n 's/.*kept as \([a-z0-9-]*\);.*/\1/p' err)
	before=$(tree_of project)
	hutch apply "$name"
	[[ $status == 125 && -z $output && $(tree_of project) == "$before" ]]
	[[ $stderr == *'not applied: /s/f: belongs to another user, and the folder that it is in has the sticky bit'* ]]
	hutch apply --partial "$name"
	[[ $status == 125 && $(sort <<<"$output") == $'A /s/new\nM /workspace/a' && $(cat project/shared/f) == x ]]
}

@test "a mount in a folder that is to be removed stays, and so does the folder" {
	work sh -c 'echo mine >>a; rm -r old; rm -r src; echo file >src'
	as_who mkdir project/old/sub/mnt
	# shellcheck disable=SC2016 # what is quoted is the inner shell's
	catch outer sh -c 'mount -t tmpfs none project/old/sub/mnt && mount -t tmpfs none project/src && echo precious >project/old/sub/mnt/f &&
		echo precious >project/src/f || exit 1
		"$0" apply --force "$1"; code=$?; cat project/old/sub/mnt/f project/src/f project/old/x project/a; exit $code' "$HUTCH" "$name"
	[[ $status == 125 && $output == $'precious\nprecious\nx\nhello' ]]
	[[ $stderr == *'not applied: /workspace/old: sub/mnt in it is a mount on this host, whose content the sandbox has not seen'* ]]
	[[ $stderr == *'not applied: /workspace/src: is a mount on this host'* && $stderr == *'nothing was applied: 2 of'* ]]
	hutch apply --force "$name"
	[[ $status == 0 && ! -e project/old && $(cat project/src) == file ]]
}

@test "files that no user may change are found beforehand" {
	work sh -c 'echo mine >>a; rm -r old; echo more >>src/main.c; rm n30; echo new >src/new'
	# Only root can set the flags i and a of chattr(1), and not every file system has them.
	is_root && chattr +i project/old/x project/n30 2>/dev/null && chattr +a project/src || return 0
	before=$(tree_of project)
	hutch apply --force "$name"
	local told=$stderr after
	after=$(tree_of project)
	chattr -ia project/old/x project/src project/n30
	[[ $status == 125 && -z $output && $after == "$before" && $told == *'nothing was applied: 4 of'* ]]
	[[ $told == *'/workspace/old: x in it cannot be changed (lsattr(1): i or a)'* ]]
	[[ $told == *'/workspace/n30: cannot be changed (lsattr(1): i or a)'* ]]
	[[ $told == *'/workspace/src/main.c: is in a folder that cannot be changed (lsattr(1): i or a)'* ]]
	[[ $told == *'/workspace/src/new: is in a folder that cannot be changed (lsattr(1): i or a)'* ]]
}

# --- hostile ones -------------------------------------------------------------------

@test "hutch's own folders are masked in a copy too, and never applied to" {
	mkdir -p home/p
	give home
	"$HUTCH" run --workspace "$T/home:cow" -- sh -c 'cd .local/share
		ls hutch || echo kept; echo >hutch/x || echo kept; mv hutch y || echo kept; echo ok >../../p/f' >out 2>err
	[[ $(cat out) == $'kept\nkept\nkept' ]]
	name=$(sed -n 's/.*kept as \([a-z0-9-]*\);.*/\1/p' err)
	[[ $(lines_of "$name") == 'A 3 /workspace/p/f' ]]
}

@test "names with newlines, escapes and .wh. are listed safely and applied as they are" {
	work sh -c 'echo 1 >"$(printf "n\nl")"; echo 2 >"$(printf "e\033]0;t\007")"; echo 3 >.wh.a; mkdir .wh..wh..opq'
	[[ $(lines_of "$name") == $'A - /workspace/.wh..wh..opq/\nA 2 /workspace/.wh.a\nA 2 /workspace/e^[]0;t^G\nA 2 /workspace/n^Jl' ]]
	"$HUTCH" apply "$name"
	[[ $(cat project/$'n\nl') == 1 && $(cat project/.wh.a) == 3 && -e project/a && -d project/.wh..wh..opq ]]
}

@test "a FIFO in the place of a file is listed and not made, and apply does not hang" {
	work sh -c 'rm a; mkfifo a; rm -r old; mkfifo old'
	hutch diff "$name"
	[[ $output == $'M            - /workspace/a\nM            - /workspace/old' ]]
	hutch apply "$name"
	[[ $status == 125 && $stderr == *"/workspace/a: is a FIFO"* && $(cat project/a) == hello ]]
	hutch diff --patch "$name"
	[[ $status == 0 ]]
	"$HUTCH" discard "$name"
}

@test "kinds take each other's place: file, folder, link" {
	work sh -c 'rm a; mkdir a; echo in >a/b; rm -r old; echo file >old; rm link; mkdir link; rm -r src; ln -s /etc src'
	"$HUTCH" apply "$name"
	[[ $(cat project/a/b) == in && $(cat project/old) == file && -d project/link && ! -L project/link ]]
	[[ $(readlink project/src) == /etc ]]
	nothing_is_kept
}

@test "a folder that its owner may not write to is applied with what is in it" {
	work sh -c 'mkdir -p shut/in; echo x >shut/in/f; chmod 555 shut/in; chmod 0 shut; echo y >no; chmod 0 no'
	"$HUTCH" apply "$name"
	[[ $(stat -c %a project/shut project/no) == $'0\n0' ]]
	as_who chmod 755 project/shut
	[[ $(stat -c %a project/shut/in) == 555 && $(cat project/shut/in/f) == x ]]
	as_who chmod -R u+rwX project
}

@test "a tree that is very deep is listed and applied as far as folders go" {
	work_python deep
	# The output is 16 MB long, so it goes to a file.
	"$HUTCH" diff "$name" >told 2>why
	(($(wc -l <told) > 4000))
	grep -q '1 is not shown, such as d/d.*is too deep' why
	"$HUTCH" apply "$name" z
	[[ $(cat project/z) == z ]]
	"$HUTCH" discard "$name"
}

@test "a folder that cannot be shown copy-on-write is an error that says why" {
	hutch run -v /etc/passwd:/x:cow true
	[[ $status == 125 && $stderr == *"/etc/passwd is not a folder"* ]]
	hutch run --disk 1m --workspace project:cow true
	[[ $status == 125 && $stderr == *"--disk cannot bound"*"--workspace project:cow"* ]]
}

# --- killed -------------------------------------------------------------------------

# Kills hutch apply ROUNDS times, each time at another change in the folder, or the process
# that makes files for it.
@test "a kill in the middle of an apply leaves each file old or new, and a second one goes on" {
	mkdir project/many
	for i in {1..200}; do echo "old $i" >"project/many/$i"; done
	give project
	work sh -c 'for i in many/*; do echo "new ${i#many/}" >"$i"; done; echo new 0 >many/0; rm many/200; mkdir many/200; echo n >many/200/n'
	cp -a project spare/first
	for ((round = 0; round < ${ROUNDS:-4}; round++)); do
		child=()
		((round % 2)) && child=(--child)
		"$here/killed_amid.py" "${child[@]}" project $((RANDOM % 1200 + 1)) "$HUTCH" apply "$name" >out 2>err && code=0 || code=$?
		cat err
		# The process that makes files may have had none to make when it was killed; early
		# in an apply, the last child is the one that reads the changes.
		[[ -z ${child[*]} || $code == 0 || $(cat err) == *"the process that makes files was ended by signal 9"* || $(cat err) == *"the process that reads the changes"* ]]
		for i in {1..199}; do
			read -r text <"project/many/$i"
			[[ $text == "old $i" || $text == "new $i" ]]
		done
		[[ -d project/many/200 || $(cat project/many/200) == 'old 200' ]]
		[[ -z ${child[*]} || -z $(find project -name '.hutch*') ]]
		[[ -n $("$HUTCH" ps -aq) ]] || break
	done
	if [[ -n $("$HUTCH" ps -aq) ]]; then
		hutch apply "$name"
		[[ $status == 0 ]]
	fi
	for i in {0..199}; do
		read -r text <"project/many/$i"
		[[ $text == "new $i" ]]
	done
	[[ $(cat project/many/200/n) == n && -z $(find project -name '.hutch*') ]]
	nothing_is_kept
}

# The kill is played: the folder has the name under which an apply removes it, and the file that
# an apply makes and removes is there.
@test "a folder that a killed apply was removing stands in no later one's way" {
	local kept
	mkdir -p project/d/old
	touch project/d/old/file
	give project
	work sh -c 'rm -r d; mkdir d; echo new >d/new'
	kept=$(as_who find "$T/home" "$T/runtime" -path '*changes/*/about' 2>/dev/null) || true
	kept=${kept%/about}
	as_who touch "$kept/applying"
	as_who mv project/d/old "project/d/.hutch-apply-${kept##*/}"
	hutch apply "$name"
	[[ $status == 0 && $(ls -A project/d) == new ]]
	nothing_is_kept
}

# The disk has room for 20 files more than the 150 that there are.
@test "a disk that is nearly full has room to apply many changed files" {
	# shellcheck disable=SC2016 # what is quoted is the inner shell's
	catch outer sh -c 'mount -t tmpfs -o size=1360k none project || exit
		for i in $(seq 150); do yes old | head -c 8192 >project/$i; done
		"$0" run --name full --workspace project:cow -- sh -c "for i in *; do yes new | head -c 8192 >\$i; done" &&
			"$0" apply full >/dev/null && ls -A project && sort -u project/*' "$HUTCH"
	[[ $status == 0 && ${#lines[@]} == 151 && ${lines[-1]} == new ]]
	nothing_is_kept
}

# The kill is played: the file that an apply makes and removes is there.
@test "an apply in one folder also removes what a killed apply left in another one" {
	local kept
	"$HUTCH" run --workspace project:cow -v spare:/s:cow -- sh -c 'echo b >a; echo c >/s/c' 2>err
	say_name
	kept=$(as_who find "$T/home" "$T/runtime" -path '*changes/*/about' 2>/dev/null) || true
	kept=${kept%/about}
	as_who touch "$kept/applying" "spare/.hutch-apply-${kept##*/}-5"
	hutch apply "$name" /workspace
	[[ $status == 0 && $(cat project/a) == b && -z $(ls -A spare) ]]
	hutch apply "$name"
	[[ $status == 0 && $(ls -A spare) == c ]]
	nothing_is_kept
}

@test "over an image, and with a secret, it is the same" {
	image root
	imaged root -v project:/w:cow -- /bin/sh -c 'echo more >>/w/a; echo x >/x' 2>err
	name=$(sed -n 's/.*kept as \([a-z0-9-]*\);.*/\1/p' err)
	[[ $(lines_of "$name") == 'M 11 /w/a' ]]
	"$HUTCH" discard "$name"
	TOKEN=very-secret "$HUTCH" run --secret TOKEN --workspace project:cow -- sh -c 'echo more >>a' 2>err
	name=$(sed -n 's/.*kept as \([a-z0-9-]*\);.*/\1/p' err)
	[[ $(lines_of "$name") == 'M 11 /workspace/a' ]]
	"$HUTCH" run --secret TOKEN=very-secret --workspace project:cow -- true 2>err
	"$HUTCH" discard "$name"
	nothing_is_kept
}
