#!/usr/bin/env bats
# Tests of `hutch apptainer`, and of a hutch that is found as apptainer or singularity.

bats_require_minimum_version 1.5.0
load helpers
load busybox

setup() {
	begin
	own_store
	room w
}

teardown() {
	remove_boxes
	end
}

# The notes are about what Apptainer shares and hutch does not; one test has them.
apptainer() {
	"$HUTCH" apptainer --quiet "$@"
}

# app_image: makes the image app of the store, whose configuration has something of all.
app_image() {
	busybox_image
	mkdir -p context
	cat >context/Dockerfile <<-'END'
		FROM bb:1
		ENV WORD="two w'ords" OTHER=1
		LABEL kind=test
		WORKDIR /srv
		ENTRYPOINT ["/bin/echo", "entry"]
		CMD ["cmd"]
	END
	give context
	"$HUTCH" image build -q -t app context
	cd w
}

# sandbox: makes the folder sb of that image.
sandbox() {
	app_image
	apptainer build --sandbox sb docker-daemon:app
}

# refuses TEXT WORD...: expects exit code 255 and an error with that text, which comes before all
# notes.
refuses() {
	local text=$1
	shift
	run -255 --separate-stderr "$HUTCH" apptainer "$@"
	[ -z "$output" ]
	[[ $stderr == "FATAL:   "*"$text"* ]]
}

# misreads TEXT WORD...: expects the exit code and the form of Apptainer's errors about words.
misreads() {
	local text=$1
	shift
	run -1 --separate-stderr "$HUTCH" apptainer "$@"
	[ -z "$output" ]
	[[ $stderr == 'Error for command "'*"$text"* ]]
}

@test "it tells a version in Apptainer's form, by links named apptainer and singularity too" {
	[[ $(apptainer version) =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
	for name in apptainer singularity; do
		ln -s "$HUTCH" $name
		[ "$(./$name --version)" = "apptainer version $(./$name version)" ]
	done
}

@test "a folder of build --sandbox has the image's files, and is the caller's" {
	sandbox
	[ -z "$(find sb ! -uid "$who")" ]
	[ "$(cat sb/etc/passwd)" = "$(cat ../bb/etc/passwd)" ]
	[ "$(ls -A sb/.singularity.d | xargs)" = 'env labels.json runscript' ]
	[ "$(cat sb/.singularity.d/labels.json)" = '{"kind":"test"}' ]
	# The scripts are of a kind that any shell reads.
	[ "$(sh -c '. sb/.singularity.d/env/10-docker2singularity.sh; echo "$WORD"')" = "two w'ords" ]
	refuses 'will not overwrite' build --sandbox sb docker-daemon:app
	touch sb/old
	apptainer build --force --sandbox --fakeroot sb docker-daemon:app
	[ ! -e sb/old ]
	[ "$(ls -A)" = sb ]
}

@test "exec as mini-swe-agent calls it writes into the folder, and has the exit code" {
	needs_static
	sandbox
	exec_in=(exec --contain --cleanenv --fakeroot)
	run -3 --separate-stderr apptainer "${exec_in[@]}" --pwd /srv --env A=1 --env B=x,y --writable sb \
		sh -c 'pwd; echo "$WORD $OTHER $A $B"; id -u; echo err >&2; echo made >/etc/made; exit 3'
	[ "$output" = "$(printf "%s\n" /srv "two w'ords 1 1 x,y" 0)" ]
	[ "$stderr" = err ]
	[ "$(apptainer "${exec_in[@]}" --writable sb cat /etc/made)" = made ]
	[ "$(cat sb/etc/made)" = made ]
	[ -z "$(find sb ! -uid "$who")" ]
	run -127 apptainer exec -c sb nosuchcommand
	[ "$(echo typed | apptainer exec -c sb cat)" = typed ]
}

@test "run does what the image says, of a folder and of a file" {
	needs_static
	sandbox
	apptainer build app.sif docker-daemon:app
	cp app.sif copy.sif
	give copy.sif
	for image in sb app.sif oci-archive:copy.sif; do
		[ "$(apptainer run -c "$image")" = 'entry cmd' ]
		[ "$(apptainer run -c "$image" a 'b c')" = 'entry a b c' ]
		[ "$(apptainer exec -c "$image" sh -c 'echo "$WORD"')" = "two w'ords" ]
		[ "$(apptainer exec -c --env WORD=mine "$image" sh -c 'echo "$WORD"')" = mine ]
	done
	[ "$(echo 'echo shell $0' | apptainer shell -c app.sif)" = 'shell /bin/sh' ]
	refuses 'no runscript' run "$T/bb"
	# The shell inside is looked for as the inside would.
	mv sb/bin sb/programs
	ln -s /programs sb/bin
	[ "$(apptainer exec -c sb sh -c 'echo "$WORD"')" = "two w'ords" ]
}

@test "a file of build is an OCI archive that holds all of the image" {
	needs_static
	sandbox
	apptainer build app.sif docker-daemon:app
	"$HUTCH" image rm -f app bb:1
	apptainer cache clean
	[ "$("$HUTCH" image ls -q)" = "" ]
	[ "$(apptainer run -c app.sif)" = 'entry cmd' ]
	[ "$("$HUTCH" image ls -q | wc -l)" -eq 1 ]
	apptainer inspect app.sif | grep -qx 'kind: test'
	[ "$(apptainer inspect --json app.sif)" = \
		'{"data":{"attributes":{"labels":{"kind":"test"}}},"type":"container"}' ]
	[ "$(ls)" = "$(printf '%s\n' app.sif sb)" ]
}

@test "a folder becomes a file and a folder again, with all that was written" {
	needs_static
	sandbox
	apptainer exec -c -w sb sh -c 'echo made >/etc/made'
	apptainer build of.sif sb
	[ "$(apptainer run -c of.sif)" = 'entry cmd' ]
	[ "$(apptainer exec -c of.sif cat /etc/made)" = made ]
	apptainer build --sandbox again of.sif
	diff -r sb again
	[ "$("$HUTCH" image ls -q | wc -l)" -eq 3 ] # bb:1, app, and that of of.sif
}

@test "an image that Apptainer made is unpacked by unsquashfs, once" {
	needs_static
	command -v mksquashfs >/dev/null || skip "this host has no squashfs-tools"
	sandbox
	mksquashfs sb bare.squashfs -quiet -no-progress -all-root
	"$here/sif.py" bare.squashfs real.sif
	give .
	for image in real.sif bare.squashfs; do
		[ "$(apptainer run -c $image a)" = 'entry a' ]
		[ "$(apptainer exec -c $image sh -c 'echo "$WORD"; cat /etc/passwd')" = \
			"$(printf '%s\n' "two w'ords" "$(cat sb/etc/passwd)")" ]
	done
	apptainer build --sandbox again real.sif
	diff -r sb again
	[ "$("$HUTCH" image ls | grep -c apptainer.local)" -eq 2 ]
	[ -z "$(compgen -G '/tmp/hutch-sif.*')" ]
	head -c 33000 real.sif >cut.sif
	give .
	run -255 apptainer exec -c cut.sif true
	[[ $output == *'FATAL:   could not unpack'* ]]
	[ -z "$(compgen -G '/tmp/hutch-sif.*')" ]
}

@test "without a flag nothing can be written but folders in memory, and --writable-tmpfs is lost" {
	needs_static
	sandbox
	for image in sb docker-daemon:app; do
		run -1 apptainer exec -c "$image" touch /etc/x
		[[ $output == *'Read-only file system'* ]]
		apptainer exec -C "$image" sh -c 'cd && touch /tmp/x /var/tmp/x x'
		apptainer exec --compat "$image" sh -c 'touch /etc/x && cat /etc/x'
		run -1 apptainer exec --writable-tmpfs -c "$image" cat /etc/x
	done
	refuses 'is no folder' exec --writable docker-daemon:app true
	room w/over
	apptainer exec -c --overlay over docker-daemon:app sh -c 'echo kept >/etc/kept'
	[ "$(apptainer exec -c --overlay over docker-daemon:app cat /etc/kept)" = kept ]
}

@test "the current folder is shown, the home and folders that hold it are not" {
	needs_static
	sandbox
	room w/project
	cd project
	[ "$(apptainer exec ../sb sh -c 'echo text >file; pwd')" = "$T/w/project" ]
	[ "$(cat file)" = text ]
	run -1 apptainer exec -c ../sb ls "$T/w/project"
	run -1 apptainer exec --no-mount cwd ../sb ls "$T/w/project"
	[ "$(cd /usr && apptainer exec "$T/w/sb" sh -c 'ls /usr; pwd')" = "$(printf '%s\n' lib /root)" ]
	mkdir "$T/w/home"
	touch "$T/w/home/secret"
	give "$T/w/home"
	for folder in home .; do
		cd "$T/w/$folder"
		HOME=$T/w/home run -1 "$HUTCH" apptainer exec "$T/w/sb" ls "$T/w"
		[[ $output == *'not shown inside, since it is, or holds, your home'* ]]
	done
	HOME=$T/w/home run -0 apptainer exec -c --home "$T/w/home:/h" "$T/w/sb" sh -c 'echo $HOME; pwd; ls'
	[ "$output" = "$(printf '%s\n' /h /h secret)" ]
	run -0 apptainer exec --writable-tmpfs --no-mount home,cwd --home /root docker-daemon:app sh -c 'echo $HOME; pwd; ls'
	[ "$output" = "$(printf '%s\n' /root /root)" ]
}

@test "--bind shows what it names, and nothing else" {
	needs_static
	sandbox
	room w/a w/b
	echo a >a/file
	apptainer exec -c -B "$T/w/a:/a:ro,b:/b" --bind "$T/w/a" sb sh -c "cat /a/file $T/w/a/file; echo b >/b/file"
	[ "$(cat b/file)" = b ]
	run -1 apptainer exec -c --mount "type=bind,src=$T/w/a,dst=/a,ro" sb touch /a/x
	[ ! -e a/x ]
	refuses 'is root on this host' exec -B /var/run/docker.sock:/s sb true
	refuses 'No such file or directory' exec -B "$T/none:/none" sb true
}

@test "variables come from --env, --env-file and APPTAINERENV_, and no others of the caller's" {
	needs_static
	sandbox
	printf "A='one \"1\"'\nexport B=two\\\\ 2 # and\nC=file\n" >vars
	export APPTAINERENV_D=four SINGULARITYENV_E=five STRAY=six C=caller
	run -0 apptainer exec -c --no-eval --env-file vars --env C=flag sb sh -c 'echo "$A|$B|$C|$D|$E|$STRAY"'
	[ "$output" = 'one "1"|two 2|flag|four|five|' ]
	# shellcheck disable=SC2016 # it is not to be expanded
	echo 'A=$(id)' >vars
	refuses 'expands no $' exec --env-file vars sb true
}

@test "what a sandbox writes into /.singularity.d is read inside alone" {
	needs_static
	sandbox
	echo secret >secret
	chmod 600 secret
	apptainer exec -c -w sb sh -c "rm -r /.singularity.d/env /.singularity.d/labels.json
		ln -s $T/w /.singularity.d/env
		ln -s $T/w/secret /.singularity.d/labels.json"
	run -0 apptainer exec -c sb sh -c 'cat /.singularity.d/labels.json || ls /.singularity.d/env/ || echo none'
	[[ $output == *none ]]
	[[ $output != *secret$ ]]
	# A new image does not go through a link either.
	ln -s "$T/w" "$T/bb/.singularity.d"
	give "$T/bb"
	refuses 'in the place of' build --sandbox other "$T/bb"
	[ "$(ls)" = "$(printf '%s\n' sb secret)" ]
}

@test "an instance lives on under its name, and exec works in it" {
	needs_static
	app_image
	room w/stage
	printf 'FROM_START=1\n' >vars
	apptainer build app.sif docker-daemon:app
	apptainer instance start --bind "$T/w/stage:/sandbox" --no-eval --env-file vars app.sif box
	run -4 apptainer exec --fakeroot --pwd /sandbox --env A=1 instance://box \
		sh -c 'echo "$A $WORD $FROM_START"; echo in >up; exit 4'
	[ "$output" = "1 two w'ords 1" ]
	[ "$(cat stage/up)" = in ]
	[ "$(echo typed | apptainer exec instance://box cat)" = typed ]
	run -0 apptainer instance list --json
	[[ $output =~ ^'{"instances":[{"instance":"box","pid":'([0-9]+)',"img":"'$T'/w/app.sif","ip":"",'.*'}]}'$ ]]
	[ -e "/proc/${BASH_REMATCH[1]}" ]
	[[ $(apptainer instance list) == 'INSTANCE NAME '*box*app.sif* ]]
	"$HUTCH" create other
	refuses 'no instance found with name other' exec instance://other true
	refuses 'from `instance start`' exec --memory 1g instance://box true
	apptainer instance stop box
	[ "$(apptainer instance list --json)" = '{"instances":[]}' ]
	refuses 'no instance found with name box' exec instance://box true
	refuses 'no instance found with name box' instance stop box
	[ "$("$HUTCH" ps -aq)" = other ]
}

@test "an instance of a folder writes into the folder, and has its variables" {
	needs_static
	sandbox
	apptainer instance start --contain --writable sb one
	apptainer instance start -c sb two
	[ "$(apptainer exec instance://one sh -c 'echo more >/etc/more; echo "$WORD"')" = "two w'ords" ]
	[ "$(apptainer run instance://two)" = 'entry cmd' ]
	[ "$(cat sb/etc/more)" = more ]
	apptainer instance stop --all
	[ "$("$HUTCH" ps -aq)" = "" ]
}

@test "the network is none, the policy's, or the one that a flag names" {
	needs_static
	sandbox
	devices='cat /proc/net/dev | grep -c :'
	[ "$(apptainer exec -c sb sh -c "$devices")" -eq 1 ]
	all=$(grep -c : /proc/net/dev)
	[ "$(apptainer exec -c --network host sb sh -c "$devices")" -eq "$all" ]
	cmp <(apptainer exec -c --network host sb cat /etc/resolv.conf) /etc/resolv.conf
	run -0 --separate-stderr "$HUTCH" apptainer exec -c sb true
	[[ $stderr == *'has no network'*apptainer.json* ]]
	export XDG_CONFIG_HOME=$T/config # the caller's, for root too
	mkdir -p "$T/config/hutch"
	echo '{"version":1,"network":"host"}' >"$T/config/hutch/apptainer.json"
	[ "$(apptainer exec -c sb sh -c "$devices")" -eq "$all" ]
	[ "$(apptainer exec -c --net --network none sb sh -c "$devices")" -eq 1 ]
	echo '{' >"$T/config/hutch/apptainer.json"
	run -125 apptainer exec -c sb true
}

@test "what hutch does not read is an error that says what to do" {
	room w/d
	printf '#!/usr/bin/env run-singularity\n\0SIF_MAGIC\000002' >w/cut.sif
	printf 'Bootstrap: docker\nFrom: alpine\n' >w/x.def
	cd w
	refuses 'the SIF has no root file system' exec cut.sif true
	refuses 'definition file' build x.sif x.def
	[[ $stderr == *Dockerfile* ]]
	refuses 'docker:// alone' exec library://alpine true
	refuses 'could not open image none.sif' exec none.sif true
	misreads 'is it --writable?' exec --writeable x true
	misreads 'flag needs an argument: --bind' exec --bind
	misreads 'is it exec?' exce x true
	misreads 'unknown flag: -s' exec -s /bin/sh d true
	refuses 'pushes nothing' push x
	misreads 'unknown flag: --frob' --frob exec x true
	misreads 'one name, or a pattern, or --all' instance stop
	misreads 'one name, or a pattern' instance list a b
	misreads 'the verb of instance is missing' instance
	misreads 'clean and list' cache
	misreads 'takes no words' cache clean x
	refuses 'own filter of system calls' exec --security seccomp:x d true
	refuses "--timeout: 'x' is not a whole number" instance stop --all --timeout x
	for verb in exec run shell 'instance start' 'instance list' 'instance stop' build pull inspect 'cache clean'; do
		# shellcheck disable=SC2086 # a verb may be two words
		refuses '--quiet: it stands before the verb' $verb --quiet d true
	done
	misreads 'requires 2 arg(s), received 1' exec d
	misreads 'apptainer instance start --help' instance start d
	[ "$(ls)" = "$(printf '%s\n' cut.sif d x.def)" ]
}

@test "an error names the words that were given, and the way out" {
	room w/d
	cd w
	hint="HINT:    hutch image ls lists"
	for words in 'build x.sif' 'build --sandbox x' pull exec run 'instance start' inspect; do
		after=()
		[[ $words != exec && $words != instance* ]] || after=(one)
		# shellcheck disable=SC2086 # a verb may have words
		refuses 'could not open image docker-daemon:none:' $words docker-daemon:none "${after[@]}"
		[[ $stderr == *"$hint"* ]]
	done
	refuses '--overlay none: No such file or directory' exec --overlay none d true
	refuses "--overlay: nothing is written over this host's own /usr" exec --overlay d host true
	refuses "--writable: nothing is written over this host's own /usr" exec -w host true
	refuses 'host has no runscript' run host
	for word in docker://host docker-daemon:dir:d docker://dir:d; do
		refuses 'is no image to hutch' exec $word true
	done
	refuses 'has no labels' inspect host
	refuses 'apptainer pull FILE docker://none' inspect docker://none
	refuses "--memory: 'x' is not a size" exec --memory x d true
	refuses '--add-caps: unknown capability' exec --add-caps none d true
	[ "$(ls)" = d ]
}
