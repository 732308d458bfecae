#!/usr/bin/env bats
# Tests of protected files in a :rw folder while another process on the host changes the files.
# volumes.bats tests the protection against the inside.

load helpers

setup() {
	begin
	room w/.git/hooks
	echo '[core]' >w/.git/config
	mkfifo w/go
	give w
}

teardown() {
	remove_boxes
	end
}

protects=(--protect .git/hooks --protect .git/config)

# Shell code that writes to protected files from inside again and again, until the written text is
# found in one.
greedy='trap "" TERM HUP; until grep -q evil .git/config .git/hooks/evil; do echo evil >>.git/config; echo evil >.git/hooks/evil; done 2>/dev/null'
patient='echo ready; read x <go'

# loses SENTENCE COMMAND...: starts hutch run, runs COMMAND on the host, and checks that hutch run
# then ends with SENTENCE.
loses() {
	local sentence=$1
	shift
	start --timeout "${PATIENCE}s" --workspace "$T/w" "${protects[@]}" -- sh -c "$patient"
	said ready
	as_who "$@"
	ended 125
	mapfile -t stderr_lines <"$T/err"
	one_sentence "the sandbox was ended: $T/w/$sentence was replaced, moved or removed on the host, and --protect keeps it from the inside no longer"
	[[ ${stderr_lines[1]} == *':cow'* ]]
}

# again: makes the files that setup() has made once more.
again() {
	rm -rf w/.git
	mkdir -p w/.git/hooks
	echo '[core]' >w/.git/config
	give w
}

@test "a protected file that the host replaces ends hutch run, and it says which and why" {
	as_who cp w/.git/config w/.git/config.lock
	loses .git/config mv w/.git/config.lock w/.git/config
}

@test "removed, moved away and back, made anew: each is noticed" {
	loses .git/config rm w/.git/config
	again
	loses .git/config mv w/.git/config w/.git/other
	again
	loses .git/config sh -c 'ln w/.git/config w/kept && rm w/.git/config && mv w/kept w/.git/config'
	again
	loses .git/config sh -c 'rm w/.git/config && echo "[core]" >w/.git/config'
	again
	loses .git/hooks sh -c 'mv w/.git/hooks w/x && mkdir w/.git/hooks'
}

@test "the folder that leads to it, replaced by another, is noticed" {
	as_who cp -r w/.git w/new
	loses .git sh -c 'mv w/.git w/old && mv w/new w/.git'
}

@test "hutch act: what waits is told, and hutch ends with 125" {
	mkfifo in
	as_who cp w/.git/config w/.git/config.lock
	"$HUTCH" act --timeout "${PATIENCE}s" --workspace "$T/w" "${protects[@]}" <in >out 2>err 3>&- &
	pid=$!
	started+=("$pid")
	exec 8>in
	echo '{"action":"run","args":{"command":"touch began; sleep 1000"},"id":1}' >&8
	until_true test -e w/began
	as_who mv w/.git/config.lock w/.git/config
	rc=0
	wait "$pid" || rc=$?
	exec 8>&-
	[ "$rc" -eq 125 ]
	grep -q 'HUTCH$SANDBOX_ENDED' out
	grep -q "$T/w/.git/config was replaced" out err
}

@test "changes of the host in a protected file, and beside it, end nothing" {
	start --workspace "$T/w" "${protects[@]}" -- sh -c \
		"$patient"'; echo x >.git/index.lock; mv .git/index.lock .git/index; cat .git/config'
	said ready
	as_who sh -c 'echo more >>w/.git/config; touch w/.git/config w/.git/hooks/new; rm w/.git/hooks/new
		echo x >w/.git/HEAD.lock; mv w/.git/HEAD.lock w/.git/HEAD; chmod 600 w/.git/config; mkdir w/.git/CONFI
		echo >w/go'
	said '[core]'
	said more
	ended 0
}

@test "files that the inside makes beside a protected one are passed over, also when they are many" {
	bound=$(cat /proc/sys/fs/inotify/max_queued_events)
	inside --workspace "$T/w" "${protects[@]}" -- sh -c \
		"cd .git; for i in $bound 10; do seq \$i | xargs touch; seq \$i | xargs rm; touch é ~ a. CONFIG_ CONFIG2; rm é a. ~; done; echo done"
	[[ $status == 0 && $output == done ]]
}

@test "a guest that floods does not hide what the host does" {
	as_who cp w/.git/config w/.git/config.lock
	start --timeout "${PATIENCE}s" --workspace "$T/w" "${protects[@]}" -- sh -c \
		'cd .git; echo ready; while :; do seq 20000 | xargs touch; seq 20000 | xargs rm; done'
	said ready
	as_who mv w/.git/config.lock w/.git/config
	ended 125
	grep -q "$T/w/.git/config was replaced" err
}

is_in_state() { # NAME STATE
	"$HUTCH" ps -a | awk -v name="$1" -v state="$2" '$1 == name { found = $4 == state }
		END { exit !found }'
}

# box_that_lost: makes box, in which a command tries to write all the time; replaces a protected
# file on the host, and waits until hutch has paused box.
box_that_lost() {
	as_who cp w/.git/config w/.git/config.lock
	"$HUTCH" create --workspace "$T/w" "${protects[@]}" box
	"$HUTCH" exec -d box sh -c "$greedy" >/dev/null
	as_who mv w/.git/config.lock w/.git/config
	until_true is_in_state box paused
}

@test "a sandbox with a name is paused, and says why where it is asked" {
	box_that_lost
	hutch inspect box
	[[ $output == *"\"unprotected\":"*"$T/w/.git/config was replaced, moved or removed on the host"* ]]
	hutch events box
	has "^[^ ]+ box unprotected message=\"$T/w/.git/config was replaced"
	has '^[^ ]+ box status status="paused"'
	hutch exec box true
	[ "$status" -eq 125 ]
	one_sentence "sandbox 'box': the sandbox is paused"
}

@test "only unpause --force lets it go on, and then that name is not watched any more" {
	box_that_lost
	hutch unpause box
	[ "$status" -eq 125 ]
	one_sentence "sandbox 'box': $T/w/.git/config was replaced.*, where nothing can be mounted from outside"
	[[ ${stderr_lines[1]} == *'hutch unpause --force' ]]
	is_in_state box paused
	hutch unpause --force box
	[ "$status" -eq 0 ]
	is_in_state box ready
	until_true grep -q evil w/.git/config
	as_who sh -c 'cp w/.git/config w/c && mv w/c w/.git/config'
	"$HUTCH" exec box true
	# The folder .git/hooks is still protected.
	as_who mv w/.git/hooks w/gone
	until_true is_in_state box paused
	hutch inspect box
	[[ $output == *"$T/w/.git/hooks was replaced"* ]]
}

@test "a stop gives it no moment to write in" {
	box_that_lost
	cp w/.git/config before
	hutch stop box
	[ "$status" -eq 0 ]
	cmp before w/.git/config
	[ ! -e w/.git/hooks/evil ]
}

@test "a sandbox that was paused before the loss stays paused, and a plain unpause is refused" {
	as_who cp w/.git/config w/.git/config.lock
	"$HUTCH" create --workspace "$T/w" "${protects[@]}" box
	"$HUTCH" pause box 2>/dev/null
	as_who mv w/.git/config.lock w/.git/config
	said_why() { "$HUTCH" inspect box | grep -q 'config was replaced'; }
	until_true said_why
	hutch unpause box
	[ "$status" -eq 125 ]
	is_in_state box paused
}

@test "nothing is watched without a need, and with :cow nothing is lost" {
	inside --workspace "$T/w:cow" "${protects[@]}" -- sh -c 'echo x >>.git/config; cat .git/config'
	[[ $status == 0 && $output == $'[core]\nx' ]]
	for args in "--workspace $T/w:cow ${protects[*]}" "--workspace $T/w:ro ${protects[*]}" "--workspace $T/w"; do
		# shellcheck disable=SC2086 # words
		outer sh -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$@"' - \
			"$HUTCH" run $args -- true 2>err || { cat err; return 1; }
	done
}

@test "a user without inotify instances gets an error, or with --best-effort the sandbox" {
	for bound in instances watches; do
		catch outer sh -c "echo 0 >/proc/sys/user/max_inotify_$bound; exec \"\$@\"" - \
			"$HUTCH" run --workspace "$T/w" "${protects[@]}" -- true
		[ "$status" -eq 125 ]
		one_sentence "--protect: watch .* on the host for changes of protected files: "
		[[ ${stderr_lines[1]} == *"sysctl -w fs.inotify.max_user_$bound="*"--best-effort"* ]]
	done
	catch outer sh -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$@"' - \
		"$HUTCH" run --best-effort --json --workspace "$T/w" "${protects[@]}" -- true
	[[ $status == 0 && $stderr == *'"degraded":["protect"]'* ]]
	catch outer sh -c 'echo 0 >/proc/sys/user/max_inotify_watches; exec "$@"' - \
		"$HUTCH" act --best-effort --workspace "$T/w" "${protects[@]}"
	[ "$status" -eq 0 ]
	[ "$stderr" = 'hutch: note: weaker here than asked for (--best-effort): --protect' ]
}
