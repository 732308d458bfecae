#!/usr/bin/env bats
# Images and folders that were prepared to mislead hutch, and attacks on files of hutch itself:
# numbers 7 to 10, 19, 20 and 23 of the checklist of escapes (tests/escape).

load helpers

setup() {
	begin
	image img
}

teardown() {
	end
}

@test "7: a target below a link in a volume is made inside, and nothing on the host" {
	room victim w
	ln -s "$T/victim" w/out
	ln -s /etc w/etc
	ln -s ../victim w/up
	give w
	before=$(state_of victim w)
	for link in out etc up; do
		catch box -v "$T/w:/w" -v "$T/img/data:/w/$link/sub" ls "/w/$link/sub/"
		[ "$status" -eq 125 ] || [ "$status" -eq 0 ] || [ "$status" -eq 2 ]
		[ "$(state_of victim w)" = "$before" ]
		catch box -v "$T/w:/w" --tmpfs "/w/$link/a/b/c" true
		[ "$(state_of victim w)" = "$before" ]
		catch box -v "$T/w:/w" -v "$T/img/data/file:/w/$link/new" true
		[ "$(state_of victim w)" = "$before" ]
	done
	[ ! -e /etc/sub ]
	[ ! -e /etc/new ]
}

@test "7: a target that is itself a link of a volume is not followed to the host" {
	room victim w
	echo precious >victim/file
	ln -s "$T/victim/file" w/file
	ln -s "$T/victim" w/folder
	give w victim
	catch box -v "$T/w:/w" -v "$T/img/data/file:/w/file" -v "$T/img/data:/w/folder" true
	[ "$(cat victim/file)" = precious ]
	[ "$(ls victim)" = file ]
}

# The root is a folder image, so writes go to a layer above it, as with every folder image.
@test "8: an image whose /dev, /proc, /sys or /tmp are links does not lead hutch outside" {
	room victim
	for name in dev proc sys tmp run workspace etc; do
		for target in "$T/victim" ../../../../victim /victim /nonexistent /proc/self/root; do
			rm -rf "img/$name"
			ln -s "$target" "img/$name"
			give img
			before=$(state_of victim img)
			inside --image "dir:$T/img" -v /usr:/usr:ro sh -c 'echo ran'
			[ "$status" -eq 125 ] || [ "$output" = ran ]
			[ "$status" -eq 0 ] || [[ $stderr == *"/$name"* ]]
			[ "$(state_of victim img)" = "$before" ]
			rm "img/$name"
		done
	done
}

@test "8: the same read-only, and with an image of another user" {
	room victim
	for name in dev proc sys tmp run workspace; do
		rm -rf "img/$name"
		ln -s "$T/victim" "img/$name"
		before=$(state_of victim img)
		inside --read-only --image "dir:$T/img" -v /usr:/usr:ro sh -c 'echo ran; ls -d /proc/self/fd'
		[ "$status" -eq 125 ] || [ "${lines[0]}" = ran ]
		[ "$(state_of victim img)" = "$before" ]
		rm "img/$name"
	done
}

@test "8: what looks like /proc inside is a procfs, and like /dev/null is that device" {
	room fake
	mkdir -p img/proc/self img/dev
	echo fake >img/proc/self/status
	echo fake >img/dev/null
	echo fake >img/dev/zero
	give img
	inside --image "dir:$T/img" -v /usr:/usr:ro sh -c 'stat -f -c %T /proc; stat -c %F:%t:%T /dev/null; grep -c ^Seccomp /proc/self/status'
	[ "${lines[*]}" = "proc character special file:1:3 2" ]
	[ "$(cat img/dev/null)" = fake ]
}

@test "9: targets work through an image's own ordinary links" {
	mkdir -p img/var img/run
	ln -s /run img/var/run
	ln -s ../run img/var/run2
	give img
	echo shown >img/data/shown
	for flags in '' --read-only; do
		inside $flags --image "dir:$T/img" -v /usr:/usr:ro -v "$T/img/data:/run/x" cat /run/x/shown
		[ "$output" = shown ]
	done
	for link in run run2; do
		inside --image "dir:$T/img" -v /usr:/usr:ro -v "$T/img/data:/var/$link/x" cat /run/x/shown
		[ "$output" = shown ]
	done
	[ -z "$(ls img/run)" ]
}

# Another process exchanges the target and a link as fast as it can during all ROUNDS launches.
@test "10: a target that is swapped with a link during the launch does not lead outside" {
	room victim w
	mkdir w/spot
	give w
	before=$(state_of victim)
	"$here/hostile.py" swap_target w 3>&- &
	swapper=$!
	started+=("$swapper")
	stopped=0
	until_true test -e w/begun
	for ((n = 0; n < ${ROUNDS:-40}; n++)); do
		box -v "$T/w:/w" -v "$T/img/data:/w/spot/new" -v "$T/img/data/file:/w/spot/f" true \
			2>/dev/null || stopped=$((stopped + 1))
		rm -rf w/*/new w/*/f || true
	done
	touch w/stop
	wait "$swapper"
	echo "$n launches, $stopped stopped"
	[ "$(state_of victim)" = "$before" ]
}

@test "10: a source that is swapped with a link to elsewhere is refused or what was meant" {
	room w
	mkdir w/source secret
	echo meant >w/source/f
	echo secret >secret/f
	chmod 755 secret
	give w secret
	"$here/hostile.py" swap_source w 3>&- &
	swapper=$!
	started+=("$swapper")
	until_true test -e w/begun
	for ((n = 0; n < ${ROUNDS:-40}; n++)); do
		catch box -v "$T/w/source:/x:ro" cat /x/f >/dev/null
		# The launch must see one of the two states of the host, at one instant; it must
		# not see a mixture of both and fail late.
		[ "$status" -eq 125 ] || [ "$output" = meant ] || [ "$output" = secret ]
	done
	touch w/stop
	wait "$swapper"
}

# --- hutch's own files -----------------------------------------------------------

programs() {
	sha256sum "$HUTCH" "$BUILD"/libexec/*
	stat -c '%n %a %u %g %s %Y' "$HUTCH" "$BUILD"/libexec/*
}

@test "19: neither program of hutch is written to through /proc, by any user inside" {
	before=$(programs)
	for user in agent root; do
		inside -u "$user" --cap-add DAC_OVERRIDE -i /usr/bin/python3 -SE - write_programs <"$here/hostile.py"
		[ -z "$output" ]
	done
	[ "$(programs)" = "$before" ]
}

@test "19: nor when the command waits for the executor's end to do it" {
	before=$(programs)
	for i in {1..20}; do
		box sh -c '(while :; do echo evil >/proc/1/exe; done 2>/dev/null) & exit 0' || true
	done
	[ "$(programs)" = "$before" ]
}

@test "20: a command that is #!/proc/self/exe gets no handle on a file of the host" {
	room w
	before=$(programs)
	printf '#!/proc/self/exe\n' >w/script
	ln -s /proc/self/exe w/link
	chmod +x w/script
	for command in /w/script /w/link /proc/self/exe /proc/1/exe; do
		inside --timeout "${PATIENCE}s" -v "$T/w:/w" "$command"
		[ "$status" -ne 0 ]
		[ "$status" -ne 124 ]
	done
	inside -v "$T/w:/w" sh -c '/w/script; /proc/self/exe -c "echo >/proc/self/exe"; echo end'
	[ "${lines[-1]}" = end ]
	[ "$(programs)" = "$before" ]
}

@test "19: the executor's file cannot be reached even where its folder is a volume" {
	as_who test -w "$BUILD/libexec/hutch-executor" || {
		cp -r "$HUTCH" "$BUILD/libexec" "$T/"
		give hutch libexec
		HUTCH=$T/hutch
	}
	folder=$(dirname "$HUTCH")
	sum=$(sha256sum <"$folder/libexec/hutch-executor")
	inside -v "$folder/libexec:/x:ro" sh -c 'echo evil >>/x/hutch-executor; echo evil >>/proc/1/exe'
	[ "$(sha256sum <"$folder/libexec/hutch-executor")" = "$sum" ]
}

# --- 23 --------------------------------------------------------------------------

@test "23: a set-uid program in a workspace runs without privilege" {
	room w
	cp "$(tool alone)" w/alone
	if is_root; then
		chown 0:0 w/alone
		chmod 4755 w/alone
	else
		chmod 6755 w/alone
	fi
	inside --workspace "$T/w" ./alone
	[[ $output == "uid 1000 gid 1000 "* ]]
	[ "$(box --workspace "$T/w" sh -c 'cp /workspace/alone /tmp/a && chmod 6755 /tmp/a && /tmp/a')" != '' ]
	inside -u root --workspace "$T/w" sh -c 'cp alone /tmp/a && chown 0:0 /tmp/a && chmod 4755 /tmp/a && /tmp/a'
	[[ $output == "uid 0 "* ]]
}

@test "23: a set-uid program of the host's /usr runs without privilege" {
	[ -u /usr/bin/su ] || skip "no set-uid su on this host"
	inside su -c 'id -u' root </dev/null
	[ "$status" -ne 0 ]
	has_not '^0$'
	inside sh -c 'newgrp 2>&1; mount -t tmpfs none /tmp 2>&1'
	[ "$status" -ne 0 ]
}

@test "23: a file capability has no effect" {
	is_root || skip "only root can set one"
	room w
	cp /usr/bin/cat w/cat
	setcap cap_dac_override,cap_dac_read_search+ep w/cat 2>/dev/null ||
		skip "no setcap, or no file capabilities here"
	inside --workspace "$T/w" sh -c './cat /proc/self/status | grep CapEff'
	[ "$status" -ne 0 ] || [ "$output" = $'CapEff:\t0000000000000000' ]
}
