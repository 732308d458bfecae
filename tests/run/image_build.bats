#!/usr/bin/env bats
# Tests of hutch image build, which makes an image from a Dockerfile.

load helpers
load busybox

setup() {
	begin
	own_store
	needs_static
	busybox_image
	mkdir ctx
}

teardown() {
	end
}

# build [FLAG...]: builds the image t:1 from the folder ctx with the Dockerfile on stdin.
build() {
	cat >ctx/Dockerfile
	give ctx
	catch "$HUTCH" image build -t t:1 "$@" ctx
}

# built [FLAG...]: builds t:1 like build, and checks that this succeeds and prints only the digest
# on stdout.
built() {
	build "$@"
	[[ $status == 0 && ${#lines[@]} == 1 && $output =~ ^sha256:[0-9a-f]{64}$ ]]
}

# in_image COMMAND...: prints the output of a command in t:1.
in_image() {
	inside --image t:1 -- "$@"
}

# says PATTERN: checks that a line of the last stderr matches.
says() {
	grep -qE -- "$1" <<<"$stderr" || {
		printf 'no line of stderr matches %s\n' "$1"
		return 1
	}
}

# refused PATTERN: checks that the build failed with one sentence that matches.
refused() {
	[[ $status == 125 && -z $output ]] && says "^hutch: $1" &&
		[[ $(grep -v '^hutch: hint:' <<<"$stderr" | tail -1) == hutch:* ]]
}

@test "results of RUN, COPY and settings are in the image" {
	echo content >ctx/f
	built <<-'E'
		FROM bb:1
		ENV a=b PATH=/bin
		RUN echo hello $a >/out
		COPY f /data/
		WORKDIR /w/x
		WORKDIR ../y
		LABEL k="v w"
		EXPOSE 80 90-91/udp
		CMD ["cat", "/out", "/data/f"]
	E
	says '^\[1/5\] FROM bb:1$'
	says '^\[2/5\] RUN echo hello'
	inside --image t:1
	[ "$output" = $'hello b\ncontent' ]
	in_image sh -c 'pwd; echo $a; stat -c "%a %u:%g" /data /data/f /w/y'
	[ "$output" = $'/w/y\nb\n755 0:0\n644 0:0\n755 0:0' ]
}

@test "the output of a command is shown, and with -q it is not" {
	echo 'FROM bb:1
RUN echo out; echo err >&2' >ctx/Dockerfile
	catch "$HUTCH" image build ctx
	says '^out$'
	says '^err$'
	catch "$HUTCH" image build --no-cache -q ctx
	[[ $status == 0 && -z $stderr && $output == sha256:* ]]
}

@test "steps of builds are images that only ls -a shows, and that gc removes" {
	build <<<$'FROM bb:1\nRUN echo x >/x\nRUN false'
	refused
	built <<<$'FROM bb:1\nRUN echo x >/x\nRUN echo y >/y\nCMD ["sh"]'
	[ "$("$HUTCH" image ls | awk '{ print $1 }')" = $'REPOSITORY\nbb\nt' ]
	[ "$("$HUTCH" image ls -q | wc -l)" = 2 ]
	[ "$("$HUTCH" image ls --all | grep -c '^<none> ')" = 4 ] # two steps, two layers
	[[ $("$HUTCH" image gc --dry-run) == *': 2 images,'* ]]
	[[ $("$HUTCH" image gc) == *': 2 images,'* ]]
	[ "$("$HUTCH" image ls -a | grep -c '^<none> ')" = 2 ]
	[ -z "$(find "$XDG_DATA_HOME" -name 'build.invalid*step:*')" ]
	# steps that are there beside the layers are not counted as layers
	build --no-cache <<<$'FROM bb:1\nRUN echo x >/x\nRUN echo y >/y\nCMD ["sh"]'
	[ "$(find "$XDG_DATA_HOME" -name 'build.invalid*step:*' | wc -l)" = 2 ]
	local count
	count=$(find "$XDG_DATA_HOME" -name 'build.invalid*cache:*' | wc -l)
	[[ $("$HUTCH" image gc --build-cache) == "forgot $count layers of builds"* ]]
	[ "$("$HUTCH" image ls -a | grep -c '^<none> ')" = 0 ]
	in_image cat /x /y
	[ "$output" = $'x\ny' ]
}

@test "no other image takes the name of a build's layer, by its own text or by a flag" {
	built <<<$'FROM bb:1\nRUN echo good >/x'
	local name
	name=$(find "$XDG_DATA_HOME" -name "build.invalid*cache:*" -printf %f)
	name=${name/\%2F//}
	build -t evil:1 <<<$'FROM bb:1\nRUN echo evil >/x'
	"$HUTCH" image export evil:1 -o home/evil
	grep -q evil:1 home/evil/index.json
	sed -i "s,[^\"]*evil:1,$name," home/evil/index.json
	catch "$HUTCH" image import home/evil
	[[ $status == 125 && $stderr == *'it has no name in it'* ]]
	for words in "import home/evil --name $name" "tag bb:1 $name" "build -t $name ctx"; do
		# shellcheck disable=SC2086 # these are words
		catch "$HUTCH" image $words
		[[ $status == 125 && $stderr == *"'$name' is no name to give: hutch's builds have such"* ]]
	done
	built <<<$'FROM bb:1\nRUN echo good >/x'
	in_image cat /x
	[ "$output" = good ]
}

@test "an unchanged build is found whole, and has the same digest" {
	echo 1 >ctx/f
	local file=$'FROM bb:1\nRUN echo x >/x\nCOPY f /f\nRUN cat /f >/g'
	built <<<"$file"
	first=$output
	touch -d 2001-01-01 ctx/f
	built <<<"$file"
	[ "$output" = "$first" ]
	[ "$(grep -c CACHED <<<"$stderr")" = 3 ]
	built --no-cache <<<"$file"
	never says CACHED
}

@test "steps after a change are made anew, and steps before it are not" {
	local file=$'FROM bb:1\nRUN echo x >/x\nCOPY f /f\nRUN cat /f >/g'
	echo 1 >ctx/f
	built <<<"$file"
	echo 2 >ctx/f
	built <<<"$file"
	says '^\[2/4\] CACHED RUN'
	says '^\[3/4\] COPY'
	says '^\[4/4\] RUN'
	in_image cat /g
	[ "$output" = 2 ]
	chmod 700 ctx/f # a mode counts
	built <<<"$file"
	says '^\[3/4\] COPY'
	built <<<"${file/echo x/echo y}"
	says '^\[2/4\] RUN'
	says '^\[3/4\] COPY'
	built <<<$'FROM bb:1\nENV a=1\n'"${file#*$'\n'}"
	says '^\[2/4\] RUN'
}

@test "an ARG that changed makes anew what comes after it, and no more" {
	local file=$'FROM bb:1\nRUN echo before >/x\nARG v=1\nRUN echo $v >/v'
	built <<<"$file"
	built --build-arg v=2 <<<"$file"
	says '^\[2/3\] CACHED RUN'
	says '^\[3/3\] RUN'
	in_image cat /v
	[ "$output" = 2 ]
	built <<<"$file"
	[ "$(grep -c CACHED <<<"$stderr")" = 2 ]
	built --build-arg w=2 <<<"$file"
	says 'no ARG takes --build-arg w'
}

@test "variables are replaced where docker replaces them" {
	built --build-arg given=yes <<-'E'
		ARG tag=1
		FROM bb:${tag}
		ARG tag
		ARG given=no other=${given}-x none
		ENV env=e
		ARG env=a
		ENV abc=hello
		ENV abc=bye def=$abc
		ENV quoted="a b" single='$abc'
		ENV old style  value
		RUN echo "$tag|$given|$other|$none|$env|$abc|$def|$quoted|$single|$old" >/vars
		WORKDIR /a/$abc
		COPY <<EOF <<'RAW' ./
		$abc ${none:-none}
		EOF
		$abc
		RAW
		LABEL l=${TARGETOS}
	E
	in_image cat /vars /a/bye/EOF /a/bye/RAW
	[ "$output" = $'1|yes|yes-x||e|bye|hello|a b|$abc|style  value\nbye none\n$abc' ]
}

@test "heredocs are run by the shell" {
	built <<-'E'
		FROM bb:1
		RUN <<EOF
		echo one >/1
		false || echo two >/2
		EOF
		RUN cat <<A >/3 && cat <<-"B" >/4
		three $((1+2))
		A
			four $HOME
		B
	E
	in_image cat /1 /2 /3 /4
	[ "$output" = $'one\ntwo\nthree 3\nfour $HOME' ]
}

@test "stages: one begins with another or copies from it, and an unused one is not built" {
	built <<-'E'
		FROM bb:1 AS base
		RUN echo base >/base
		FROM bb:1 AS unneeded
		RUN false
		FROM base AS made
		RUN mkdir -p /d/e && echo made >/d/e/f && ln -s e /d/link && chmod 750 /d/e
		FROM base
		COPY --from=made /d /copied
		COPY --from=0 /base /again
		COPY --from=bb:1 /etc/passwd /passwd
	E
	says '^\[base 1/2\]'
	says '^\[made 2/2\] RUN'
	says '^\[stage-3 2/4\] COPY'
	never says unneeded
	in_image sh -c 'cat /base /copied/link/f /again; wc -l </passwd; stat -c %a /copied/e'
	[ "$output" = $'base\nmade\nbase\n2\n750' ]
	catch "$HUTCH" image build -t t:1 --target made ctx
	in_image cat /d/e/f
	[ "$output" = made ]
	build <<<$'FROM bb:1\nCOPY --from=127.0.0.1:1/none /x /y'
	refused 'Dockerfile:2: COPY: --from=127.0.0.1:1/none is no earlier stage, and as an image: '
	printf 'FROM bb:1 AS unneeded\nRUN false\n' >ctx/Dockerfile
	catch "$HUTCH" image build --target unneeded ctx
	[ "$status" = 125 ]
	catch "$HUTCH" image build --target none ctx
	refused "Dockerfile: there is no stage 'none' \(from --target\)"
}

@test "an image from scratch has what was copied, and nothing else" {
	needs_static
	cp "$(tool alone)" ctx/alone
	built <<-'E'
		FROM scratch
		COPY alone /
		ENTRYPOINT ["/alone"]
	E
	inside --image t:1
	[[ $output == "uid 0 gid 0 in /"*": "*alone* ]]
}

@test "a deleted file is gone, and a folder that was made anew is empty" {
	built <<-'E'
		FROM bb:1
		RUN mkdir /d && touch /d/a /d/b /e
		RUN rm /d/a /e
		RUN rm -r /d && mkdir /d && touch /d/c
	E
	in_image sh -c 'ls /d; ls /e'
	[ "$output" = c ]
	[ "$status" = 1 ]
}

@test "owners are kept as data, by number and by the image's own names" {
	mkdir ctx/sub
	echo x | tee ctx/f >ctx/sub/g
	built <<-'E'
		FROM bb:1
		COPY --chown=5:6 --chmod=4711 f /n
		COPY --chown=ada sub /u
		COPY --chown=ada:babbage sub /ug/
	E
	for blob in "$XDG_DATA_HOME"/hutch/store/blobs/*; do
		tar -tvf "$blob" --numeric-owner 2>/dev/null || true
	done >list
	grep -qE '^-rws--x--x 5/6 .* n$' list
	grep -qE '^drwx.* 7/8 .* u/$' list
	grep -qE '^-rw.* 7/9 .* ug/g$' list
	build <<<$'FROM bb:1\nCOPY --chown=nobody f /n'
	refused 'Dockerfile:2: COPY: there is no user nobody in the image.s /etc/passwd'
}

@test "links in the context lead nowhere outside of it" {
	ln -s /etc/passwd ctx/absolute
	ln -s ../../../../../../../../etc/passwd ctx/relative
	mkdir -p ctx/etc
	build <<<$'FROM bb:1\nCOPY absolute /x'
	refused "Dockerfile:2: COPY: 'absolute' is not in the context"
	echo inner >ctx/etc/passwd # where the links lead within the context
	built <<<$'FROM bb:1\nCOPY absolute /x\nCOPY relative /y'
	in_image cat /x /y
	[ "$output" = $'inner\ninner' ]
	ln -s / ctx/root
	build <<<$'FROM bb:1\nCOPY root/home /x'
	[ "$status" = 125 ]
	build <<<$'FROM bb:1\nCOPY ../bb /x'
	refused "Dockerfile:2: COPY: '../bb' is not in the context"
}

@test "a copy over a link of the image goes where the link leads within the image" {
	mkdir -p ctx/root/lib ctx/root/out ctx/etc
	echo x | tee ctx/root/lib/so ctx/root/out/o >ctx/f
	built <<-'E'
		FROM bb:1
		RUN ln -s /../../../../etc /out && ln -s /etc/new /dangling
		COPY root /
		COPY f /dangling
		COPY f /out/sub/
	E
	in_image sh -c 'ls -d /lib; stat -c %N /lib /out; cat /usr/lib/so /etc/o /etc/new /etc/sub/f'
	[[ ${lines[1]} == *usr/lib* && ${lines[2]} == *etc* ]]
	[ "$(grep -c '^x$' <<<"$output")" = 4 ]
	build <<<$'FROM bb:1\nCOPY f /etc/passwd/'
	refused 'Dockerfile:2: COPY: /etc/passwd is no folder in the image'
	mkdir -p ctx/x/etc/passwd
	build <<<$'FROM bb:1\nCOPY x /'
	refused 'Dockerfile:2: COPY: /etc/passwd is no folder in the image'
	mkdir -p ctx/y && touch ctx/y/etc
	build <<<$'FROM bb:1\nCOPY y /'
	refused 'Dockerfile:2: COPY: /etc is a folder in the image, and a file'
}

@test "a name that would delete another file is refused" {
	mkdir ctx/d
	touch ctx/d/.wh.passwd
	build <<<$'FROM bb:1\nCOPY d /etc/'
	refused 'Dockerfile:2: COPY: /d/.wh.passwd: in a layer a name with .wh. in front deletes'
	tar -C ctx/d -cf ctx/a.tar .wh.passwd
	build <<<$'FROM bb:1\nADD a.tar /etc/'
	[ "$status" = 125 ] && says '.wh.passwd'
}

@test "sources may be patterns, and a folder is its content" {
	mkdir -p ctx/a/b
	touch ctx/x.c ctx/y.c ctx/z.h ctx/a/b/c
	built <<-'E'
		FROM bb:1
		COPY *.c a/*/c /p/
		COPY a /q
		COPY ["z.h", "/r s"]
	E
	in_image sh -c 'ls /p; ls /q/b; ls -d "/r s"'
	[ "$output" = $'c\nx.c\ny.c\nc\n/r s' ]
	build <<<$'FROM bb:1\nCOPY *.c /p'
	refused 'Dockerfile:2: COPY: there are 2 sources, so the destination must end with a slash'
	build <<<$'FROM bb:1\nCOPY x.c y.c /p'
	refused 'Dockerfile:2: COPY: there are 2 sources'
	build <<<$'FROM bb:1\nCOPY *.none /p/'
	refused "Dockerfile:2: COPY: '\*.none' is not in the context"
}

@test "a .dockerignore that is a pipe is not waited for, and -f may be one" {
	room ctx
	printf 'FROM scratch\n' >ctx/Dockerfile
	mkfifo -m 644 given # root's hutch runs as another user, who may not open root's own pipes
	cat ctx/Dockerfile >given 3>&- &
	started+=("$!")
	hutch image build -f given ctx
	[[ $status == 0 ]]
	mkfifo -m 644 ctx/.dockerignore
	hutch image build ctx
	[[ $status == 125 && $stderr == *'.dockerignore: it is not a regular file'* ]]
}

@test ".dockerignore leaves out what it names" {
	mkdir -p ctx/d/e ctx/keep
	touch ctx/d/a.md ctx/d/README.md ctx/d/e/secret ctx/keep/x ctx/keep/y
	printf '# all\n**/*.md\n!d/README.md\nd/e\nkeep\n!keep/x\n' >ctx/.dockerignore
	built <<<$'FROM bb:1\nCOPY . /all/'
	in_image sh -c 'cd /all; find . ! -type d'
	[ "$(sort <<<"$output" | xargs)" = "./.dockerignore ./Dockerfile ./d/README.md ./keep/x" ]
	build <<<$'FROM bb:1\nCOPY d/a.md /x'
	refused "Dockerfile:2: COPY: 'd/a.md' is not in the context"
	says '.dockerignore leaves it out'
}

@test "ADD unpacks archives, with their owners, and copies what is none" {
	mkdir -p in/etc/sub
	echo new | tee in/etc/sub/f >in/etc/x
	ln in/etc/x in/etc/hard
	tar -C in -czf ctx/a.tgz --owner=5 --group=6 etc
	tar -C in -cf ctx/b.tar etc
	gzip -c in/etc/x >ctx/plain.gz
	built <<-'E'
		FROM bb:1
		ADD a.tgz /
		ADD b.tar plain.gz /sub/
	E
	in_image sh -c 'cat /etc/x /etc/sub/f /etc/hard /sub/etc/x; ls /sub; grep -c ada /etc/passwd'
	[ "$output" = $'new\nnew\nnew\nnew\netc\nplain.gz\n1' ]
	build <<<$'FROM bb:1\nADD https://example.org/x /x'
	refused "Dockerfile:2: ADD: ADD of an address is not supported"
	"$here/image_build.py" bzip2
	build <<<$'FROM bb:1\nADD b.bz2 /x/'
	refused 'Dockerfile:2: ADD: b.bz2 is compressed by bzip2'
	head -c 700 ctx/b.tar >ctx/cut.tar
	build <<<$'FROM bb:1\nADD cut.tar /x/'
	[ "$status" = 125 ] && says '^hutch: Dockerfile:2: ADD: '
}

@test "a hostile archive stays within the image" {
	"$here/image_build.py" hostile
	build <<<$'FROM bb:1\nADD up.tar /d/'
	[ "$status" = 125 ]
	says "'\.\.' leads out of it"
	build <<<$'FROM bb:1\nADD link.tar /d/\nRUN grep -q ada /etc/passwd'
	[ ! -e /tmp/hutch-evil ]
	[ "$status" = 125 ] || in_image grep -c ada /etc/passwd
}

# from_stdin [FLAG...]: builds t:1 from the context on stdin.
from_stdin() {
	catch "$HUTCH" image build -t t:1 "$@" -
}

# left: prints what is in tmp of the store but locks.
left() {
	find "$XDG_DATA_HOME/hutch/store/tmp" -mindepth 1 ! -name '*.lock' ! -name 'blob-*'
}

@test "a context comes on stdin as a tar, plain or compressed, from a file or a pipe" {
	printf 'FROM bb:1\nCOPY . /d/\n' >ctx/Dockerfile
	printf 'skipped\n' >ctx/.dockerignore
	mkdir -p ctx/sub ctx/skipped
	echo content >ctx/sub/f
	echo skipped >ctx/skipped/f
	ln -s sub/f ctx/link
	for how in '' -z --zstd -J; do
		tar $how -C ctx -cf ctx.tar .
		give ctx.tar
		from_stdin --no-cache <ctx.tar
		[[ $status == 0 && $output =~ ^sha256:[0-9a-f]{64}$ ]]
		in_image sh -c 'cat /d/link; ls /d'
		[ "$output" = $'content\nDockerfile\nlink\nsub' ]
		from_stdin -q < <(cat ctx.tar)
		[ "$status" = 0 ]
	done
	[ "$(left)" = '' ]
}

@test "-f names a file of the context that comes on stdin" {
	mkdir ctx/docker
	echo 'FRO x' >ctx/Dockerfile
	printf 'FROM bb:1\nCOPY a b /d/\n' >ctx/docker/other
	echo b >ctx/docker/other.dockerignore
	touch ctx/a ctx/b
	from_stdin -f docker/other < <(tar -C ctx -c .)
	refused "other:2: COPY: 'b' is not in the context"
	rm ctx/docker/other.dockerignore
	for path in ../Dockerfile docker/../../Dockerfile /../Dockerfile /docker/other "$T/ctx/docker/other"; do
		from_stdin -f "$path" < <(tar -C ctx -c .)
		refused "-f $path: it lies outside of the context"
	done
	from_stdin -f docker/../docker/other < <(tar -C ctx -c .)
	[ "$status" = 0 ]
	rm ctx/Dockerfile
	from_stdin < <(tar -C ctx -c .)
	refused 'open Dockerfile: No such file'
}

@test "a Dockerfile alone on stdin has an empty context" {
	from_stdin <<<$'FROM bb:1\nCMD ["echo", "alone"]'
	[ "$status" = 0 ]
	from_stdin <<<$'FROM bb:1\nCOPY . /d/'
	in_image ls -A /d
	[[ $status == 0 && $output == '' ]]
	from_stdin <<<$'FROM bb:1\nCOPY x /d/'
	refused "Dockerfile:2: COPY: 'x' is not in the context"
	from_stdin -f other <<<'FROM bb:1'
	refused '-f other: stdin is the Dockerfile already'
	from_stdin <<<$'RUNN x'
	refused "Dockerfile:1: 'RUNN' is no instruction"
	from_stdin < <(python3 -c 'import bz2,sys; sys.stdout.buffer.write(bz2.compress(b"root"))')
	refused 'build -: stdin: it is no Dockerfile, and no tar of a known kind'
	from_stdin </dev/null
	refused 'build -: stdin is empty'
	[ "$(left)" = '' ]
}

@test "a hostile context reads no file of the host, and writes none" {
	echo secret-of-the-host >secret
	give secret
	mkdir kept
	give kept
	for case in dockerfile_out ignore_out copy_out up absolute through_link hard_out; do
		"$here/image_build.py" context "$case" "$T" >hostile.tar
		from_stdin <hostile.tar
		[[ $status == 125 || $case == absolute ]] || {
			echo "$case: $status"
			return 1
		}
		[[ $stderr$output != *secret-of* ]]
	done
	[[ -z $(ls kept) && $(cat secret) == secret-of-the-host ]]
	[ ! -e /tmp/hutch-evil ]
	[ "$(left)" = '' ]
}

@test "a context that stops before its end is an error that says so" {
	printf 'FROM bb:1\n' >ctx/Dockerfile
	head -c 4096 /dev/urandom >ctx/file
	from_stdin < <(tar -C ctx -c . | head -c 3000)
	refused 'build -: stdin: the tar stops before its end'
	for how in -z -J; do
		from_stdin < <(tar $how -C ctx -c . | head -c 3000)
		refused 'build -: stdin: decompress the data: '
	done
	[ "$(left)" = '' ]
}

@test "devices of a context are left out, and said" {
	from_stdin < <("$here/image_build.py" context device "$T")
	[ "$status" = 0 ]
	says '^hutch: 1 left out of the context: devices, FIFOs or sockets'
	in_image ls /d
	[ "$output" = Dockerfile ]
}

@test "a context that grows beyond the store's quota is refused, and nothing of it stays" {
	"$HUTCH" image quota 48M >/dev/null
	for how in plain gzip; do
		from_stdin < <("$here/image_build.py" bomb "$how")
		[ "$status" = 125 ]
		says '^hutch: build -: stdin: there is no more room in the store, which may have 48.0MiB'
		[ "$(left)" = '' ]
	done
	from_stdin < <("$here/image_build.py" bomb cut)
	[ "$status" = 125 ]
	[ "$(left)" = '' ]
}

@test "errors name the line, and a failed command its code" {
	build <<<$'FROM bb:1\n\nRUN true\nRUN exit 3'
	[ "$status" = 125 ]
	says "^hutch: Dockerfile:4: RUN: 'RUN exit 3' ended with exit code 3$"
	says 'hint: a RUN has no network unless the build has --allow HOST, or --network host'
	build <<<$'FROM bb:1\nRUNN true'
	refused "Dockerfile:2: 'RUNN' is no instruction"
	build <<<$'FROM bb:1\nRUN --mount=type=cache,target=/x true'
	refused 'Dockerfile:2: --mount is not supported'
	catch "$HUTCH" image build -q ctx2
	refused 'open the context ctx2: No such file'
	catch "$HUTCH" image build -f none ctx
	refused 'open none: No such file'
	printf 'FROM bb:1\nRUN echo why; exit 4' >ctx/Dockerfile
	catch "$HUTCH" image build -q ctx
	[[ $status == 125 ]] && says '^why$' && says 'exit code 4'
}

@test "a RUN has no network, unless it is asked for" {
	build <<<$'FROM bb:1\nRUN ls /sys/class/net 2>/dev/null; cat /proc/net/dev | wc -l >/n'
	in_image cat /n
	[ "$output" = 3 ] # two lines of heading, and lo
	built --network host <<<$'FROM bb:1\nRUN cat /proc/net/dev | wc -l >/host'
	in_image cat /host
	[ "$output" = "$(wc -l </proc/net/dev)" ]
}

@test "a RUN is in the network namespace that --network ns:PATH names" {
	local pid space
	mkfifo ready
	as_who unshare -U -r -n sh -c 'echo $$ "$(readlink /proc/self/ns/net)"; exec sleep 1000' >ready 3>&- &
	started+=("$!")
	read -r -t "$PATIENCE" pid space <ready
	started+=("$pid")
	build -q --network "ns:/proc/$pid/ns/net" <<<$'FROM bb:1\nRUN readlink /proc/self/ns/net >/net'
	[ "$status" = 0 ]
	in_image cat /net
	[ "$output" = "$space" ]
}

@test "--add-host is a line of /etc/hosts in each RUN, and in no layer" {
	built --add-host db:10.0.0.5 --add-host 'six:[fd00::7]' <<<$'FROM bb:1\nRUN cat /etc/hosts >/seen\nRUN true'
	in_image grep -cE '^(10.0.0.5\s+db|fd00::7\s+six)$' /seen
	[ "$output" = 2 ]
	in_image cat /etc/hosts
	[[ $status == 0 && $output != *10.0.0.5* ]]
}

# in_world [FLAG...]: builds t:1 like build, where the network is one of this test's own.
in_world() {
	cat >ctx/Dockerfile
	give ctx
	catch as_who "$here/net_world.sh" "$HUTCH" image build -t t:1 "$@" ctx
}

@test "a RUN connects to the names that --allow has, and to no others" {
	in_world --allow example.org --allow '*.wild.org' <<-'E'
		FROM bb:1
		RUN busybox wget -qO- http://example.org/x >/got && busybox wget -qO- http://a.wild.org/ >>/got
		RUN ! busybox wget -qO- http://other.org/ 2>/refused
		RUN cat /etc/resolv.conf >/resolv
	E
	[ "$status" = 0 ]
	in_image cat /got /resolv
	[ "$output" = $'example.org /x\na.wild.org /\nnameserver 10.0.2.2' ]
	in_image grep -c 'Permission denied' /refused
	[ "$output" = 1 ]
	in_world --allow example.org <<<$'FROM bb:1\nRUN busybox wget -qO- http://other.org/'
	[ "$status" = 125 ]
	says 'hint: a RUN connects only to what --allow names'
	# the layer is there, so that the RUN needs no network now
	in_world <<<$'FROM bb:1\nRUN busybox wget -qO- http://example.org/x >/got && busybox wget -qO- http://a.wild.org/ >>/got'
	[ "$status" = 0 ]
}

@test "rules of --allow are checked before the first step" {
	local file=$'FROM bb:1\nRUN true'
	build --allow @debiann <<<"$file"
	refused "there is no preset '@debiann'"
	[[ $stderr != *'FROM bb:1'* ]]
	build --allow example.org --network host <<<"$file"
	refused 'rules about connections say nothing with --network host'
	build --allow example.org --network none <<<"$file"
	refused 'rules about connections say nothing with --network none'
	build --network alow <<<"$file"
	refused "--network takes none, allow, host or ns:PATH, not 'alow'"
	build --add-host db <<<"$file"
	refused "--add-host takes NAME:ADDRESS or NAME:host-gateway, not 'db'"
	build --add-host db:host-gateway <<<"$file"
	refused "--add-host db:host-gateway: no rule opens a port of this host's loopback"
	[[ $stderr != *'FROM bb:1'* ]]
	catch "$HUTCH" image runtime-build --allow 'a b' ctx
	refused '.*(from --allow a b)'
}

@test "with SOURCE_DATE_EPOCH what is built twice is the same" {
	export SOURCE_DATE_EPOCH=1000000000
	mkdir ctx/d
	echo x >ctx/d/f
	local file=$'FROM bb:1\nCOPY d /d/\nRUN echo y >/y; mkdir /z\nWORKDIR /new'
	built --no-cache <<<"$file"
	first=$output
	touch ctx/d/f
	built --no-cache <<<"$file"
	[ "$output" = "$first" ]
	in_image stat -c %Y /d/f /y /z /new
	[ "$(sort -u <<<"$output")" = 1000000000 ]
}

@test "Ctrl-C ends a build with its command" {
	printf 'FROM bb:1\nRUN echo begun; sleep 1000 # %s' "$mark" >ctx/Dockerfile
	env --default-signal "$HUTCH" image build -t t:1 ctx >/dev/null 2>err 3>&- &
	pid=$!
	started+=("$pid")
	until_true grep -q '^begun$' err
	kill -INT "$pid"
	wait "$pid" || status=$?
	[ "$status" = 130 ]
	until_true none_marked
	never "$HUTCH" image exists t:1
	"$HUTCH" image verify
}

@test "a build that is killed leaves nothing half-done" {
	local rounds=${ROUNDS:-3} i
	mkdir ctx/d
	for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/urandom >"ctx/d/$i"; done
	printf 'FROM bb:1\nCOPY d /d/\nRUN cat /d/* >/all\nADD d /e/\nRUN rm /d/1\n' >ctx/Dockerfile
	for ((i = 0; i < rounds; i++)); do
		"$here/killed_amid.py" "$XDG_DATA_HOME" $((RANDOM % 400 + 1)) \
			"$HUTCH" image build --no-cache -q -t t:1 ctx >/dev/null 2>&1 3>&- || true
	done
	"$HUTCH" image verify
	catch "$HUTCH" image build --no-cache -t t:1 ctx
	[ "$status" = 0 ]
	in_image sh -c 'ls /e | wc -l; ls /d | wc -l; cat /all | wc -c'
	[ "$output" = $'8\n7\n800000' ]
	until_true none_marked "$T/home/data"
}

@test "a built image is valid for other tools" {
	command -v umoci >/dev/null && command -v skopeo >/dev/null || skip "this host has no umoci and skopeo"
	echo x >ctx/f
	built <<-'E'
		FROM bb:1 AS base
		RUN mkdir /d && echo y >/d/y && rm /etc/group
		FROM base
		ENV A="b c"
		COPY --chown=3:4 f /d/f
		USER ada
		EXPOSE 80
		LABEL k=v
		ENTRYPOINT ["/bin/cat"]
		CMD cat /d/f
	E
	"$HUTCH" image export t:1 -o home/out
	skopeo inspect --config oci:home/out >config
	"$here/image_build.py" config <config
	tag=$("$here/image_build.py" tag <home/out/index.json)
	umoci unpack --rootless --image "home/out:$tag" bundle
	[ "$(cat bundle/rootfs/d/f bundle/rootfs/d/y)" = $'x\ny' ]
	[ ! -e bundle/rootfs/etc/group ]
}
