#!/usr/bin/env bats
# Tests of `hutch docker`, and of a hutch that is found as docker.

bats_require_minimum_version 1.5.0
load helpers
load busybox

teardown() {
	remove_boxes
	end
}

docker() {
	"$HUTCH" docker "$@"
}

# refuses TEXT WORD...: expects exit code 125 and an error with that text.
refuses() {
	local text=$1
	shift
	run -125 --separate-stderr docker "$@"
	[ -z "$output" ]
	[[ $stderr == *"$text"* ]]
}

@test "run has the command's output and exit code, by a link named docker too" {
	[ "$(docker run --rm host echo hello)" = hello ]
	run -7 docker run --rm host sh -c 'exit 7'
	run -127 docker run --rm host nosuchcommand
	ln -s "$HUTCH" docker
	[ "$(./docker run -e A=b host sh -c 'echo $A')" = b ]
	[ "$(echo typed | docker run -i host cat)" = typed ]
}

@test "run with a name, in the foreground, has output and exit code, and leaves nothing with --rm" {
	for code in 1 2 3; do
		run -$code --separate-stderr docker run --rm --name box host sh -c "echo out; echo err >&2; exit $code"
		[ "$output" = out ]
		[ "$stderr" = err ]
	done
	run -127 docker run --rm --name box host nosuchcommand
	[ "$(docker ps -aq)" = "" ]
	refuses 'with -d or --name' run -i --name box host cat
	refuses "'-x' is no name" run --name=-x host true
}

# attached FIFO ARG...: starts a container with the name box, whose first line comes through FIFO.
# $flood is what it does then, or it sleeps.
attached() {
	mkfifo "$1"
	"$HUTCH" docker run "${@:2}" --name box host sh -c "echo begun; ${flood:-exec sleep 1000}" >"$1" &
	exec 7<"$1"
	read -r line <&7
	[ "$line" = begun ]
}

# ended_with CODE: waits for the last process in the background.
ended_with() {
	local code=0
	wait "$!" || code=$?
	[ "$code" -eq "$1" ]
}

@test "kill, rm -f and SIGTERM end a run with a name, and its caller hears of it" {
	attached kill --rm
	[ "$(docker kill box)" = box ]
	ended_with 137
	attached remove --rm
	docker rm -f box
	ended_with 137
	attached term --rm
	kill "$!"
	ended_with 143
	[ "$(docker ps -aq)" = "" ]
}

@test "a run with a name goes on without its caller, and --rm still holds" {
	attached caller --rm
	kill -KILL "$!"
	wait "$!" || true
	[ "$(docker ps --format '{{.Names}}')" = box ]
	docker stop -t 0 box
	# The child that removes the record holds this end.
	read -r line <&7 || true
	[ "$(docker ps -aq)" = "" ]
}

# floods [ARG...]: starts a container with the name box that prints 41 MB once its first line was
# read, and then says so in w/all.
floods() {
	room w
	mkfifo w/go w/all
	give w
	flood='read -r _ </w/go; seq 5500000; exec echo all >>/w/all' attached floods -v "$T/w:/w" "$@"
	echo >w/go
}

@test "a run with a name waits for its reader, who loses nothing" {
	floods --rm
	exec 6<>w/all # so that the container need not wait for a reader there
	for ((i = 0; i < 20; i++)); do # meanwhile, others are served
		[ "$("$HUTCH" exec box echo served)" = served ]
	done
	[ "$(awk '/VmHWM/ { print $2 }' "/proc/$(supervisor_of box)/status")" -lt 32768 ]
	seq 5500000 | cmp - <(cat <&7)
	ended_with 0
	[ "$(docker ps -aq)" = "" ]
}

@test "a container that waits for its reader ends when it is removed" {
	floods
	docker rm -f box
	[ "$(docker ps -aq)" = "" ]
	exec 7<&-
	ended_with 137
}

@test "a container that waits for its reader goes on when its caller is killed" {
	floods --rm
	kill -KILL "$!"
	read -r all <w/all
	[ "$all" = all ]
	wait "$!" || true
	cat <&7 >rest # the child that removes the record holds this end
	[ "$(docker ps -aq)" = "" ]
}

@test "a flag that hutch cannot honour is an error that says why" {
	refuses 'GPUs are not supported' run --gpus all host true
	refuses 'it is refused' run --privileged host true
	refuses '--pid=host is refused' run --pid=host host true
	refuses 'is root on this host' run -v /var/run/docker.sock:/var/run/docker.sock host true
	refuses 'unknown flag: --frob' run --frob host true
	refuses 'emulates no other processor' run --platform linux/s390x host true
}

@test "a word behind -- is no flag" {
	run -1 --separate-stderr docker pull -- -q
	[[ $stderr == *"'-q' is no reference"* ]]
	docker run -d --name box host sleep 1000 >/dev/null
	run -1 --separate-stderr docker rename -- box -x
	[[ $stderr == *"'-x' is no name"* ]]
}

@test "a link to docker.sock under another name is refused, too" {
	touch docker.sock
	ln -s docker.sock other
	refuses 'is root on this host' run -v "$T/other:/s" host true
}

@test "a folder that shows the socket of an engine is refused, too" {
	mkdir -p sockets "$XDG_RUNTIME_DIR/podman"
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' sockets/docker.sock
	refuses "$T/sockets is refused: $T/sockets/docker.sock is below it, and" run -v "$T/sockets:/x:ro" host true
	ln -s sockets linked
	refuses 'is root on this host' run --mount "type=bind,src=$T/linked,dst=/x" host true
	rm sockets/docker.sock
	[ "$(docker run -v "$T/sockets:/x:ro" host ls /x)" = "" ]
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$XDG_RUNTIME_DIR/podman/podman.sock"
	refuses 'podman/podman.sock is below it' run -v "$T:/x:ro" host true
}

@test "a verb that is none is answered as docker answers" {
	run -1 --separate-stderr docker frobnicate x
	[ "$stderr" = "docker: 'frobnicate' is not a docker command.
See 'docker --help'" ]
	refuses 'no flag of one' -H x ps
}

@test "a number of words that is wrong ends with 1, and a wrong flag with 125, as docker does" {
	for words in run 'run -i' exec 'exec box' rm stop start kill wait logs inspect 'cp box:/x' 'rename box' \
		'tag x' rmi pull build 'ps x' 'images x y' 'port a b c'; do
		# shellcheck disable=SC2086 # words
		run -1 --separate-stderr docker $words
		[[ $stderr == "\"docker ${words%% *}\" "*" argument"*"See 'docker ${words%% *} --help'." ]]
	done
	for verb in run exec ps rm images pull build; do
		run -125 docker "$verb" --frob x y
		run -0 docker "$verb" --help
		[[ $output == "hutch docker $verb "* ]]
	done
}

@test "--version is one line, for programs that ask" {
	[[ $(docker --version) =~ ^Docker\ version\ [0-9]+\.[0-9]+\.[0-9]+,\ build\ [^\ ]+$ ]]
	[ "$(docker -v)" = "$(docker --version)" ]
}

@test "start of a container that runs changes nothing" {
	docker run -d --name box host sleep 1000
	id=$(docker ps -q)
	[ "$(docker start box)" = box ]
	[ "$(docker ps -q)" = "$id" ]
}

@test "inspect and ps tell the command" {
	docker run -d --name box -v "$T/home:/h:ro" host sh -c 'echo "a b"; exec sleep 1000'
	[ "$(docker inspect -f '{{.Path}} {{json .Args}}' box)" = 'sh ["-c","echo \"a b\"; exec sleep 1000"]' ]
	docker inspect box | jq -e '.[0] | .Config.Cmd == [.Path] + .Args and (.Config.Env | index("PATH") >= 0)'
	[ "$(docker inspect box | wc -l)" = 3 ] # brackets, and an object on a line
	[ "$(docker ps --format '{{.Command}} {{.Mounts}} {{.Networks}}')" = '"sh -c echo \"a b\"; e…" '"$T/home none" ]
	[ "$(docker ps --no-trunc --format '{{.Command}}')" = '"sh -c echo \"a b\"; exec sleep 1000"' ]
	docker ps | grep -q '^CONTAINER ID *IMAGE *COMMAND *CREATED *STATUS *PORTS *NAMES$'
}

@test "images are found by name, by filter and by id" {
	needs_static
	own_store
	busybox_image
	"$HUTCH" image tag bb:1 other:2
	[ "$(docker images --format '{{.Repository}}:{{.Tag}}' bb)" = bb:1 ]
	[ "$(docker images --format '{{.Tag}}' docker.io/library/bb:1)" = 1 ]
	docker images other | grep -q '^other  *2 '
	for words in bb:2 b nosuch; do
		[ "$(docker images -q "$words")" = '' ]
	done
	[ "$(docker images -q --filter reference=other:2)" = "$(docker images -q bb:1)" ]
	[ "$(docker images -q --filter dangling=true)" = '' ]
	[ "$(docker images --filter dangling=false | wc -l)" = 3 ]
	refuses 'there are reference and dangling' images --filter before=bb
	id=$(docker images -q bb:1)
	for word in "$id" "sha256:$id" "$(docker inspect -f '{{.Id}}' bb:1)"; do
		[ "$(docker run --rm "$word" echo by id)" = 'by id' ]
	done
	[ "$(docker run -d --name box "$id" busybox sleep 1000 | wc -l)" = 1 ]
}

@test "a Dockerfile on stdin is built, and run by the id that build prints" {
	needs_static
	own_store
	busybox_image
	room tmp
	export TMPDIR=$T/tmp
	id=$(printf 'ARG BASE\nFROM $BASE\nCMD ["echo", "built"]\n' | docker build -q --build-arg BASE=bb:1 -)
	[[ $id == sha256:* ]]
	[ "$(docker run --rm "$id")" = built ]
	[ "$(docker images -q --filter dangling=true | wc -l)" = 1 ]
	mkdir home/stdin
	printf 'FROM bb:1\nCOPY word /word\n' >home/stdin/Dockerfile
	echo context >home/stdin/word
	docker build -q -t given:1 - < <(tar -C home/stdin -cz .)
	[ "$(docker run --rm given:1 cat /word)" = context ]
	run -1 --separate-stderr docker build - < <(python3 -c 'import bz2,sys; sys.stdout.buffer.write(bz2.compress(b"root"))')
	[[ $stderr == *'no tar of a known kind'* ]]
	run -1 docker build - <<<'FROB x'
	refuses 'emulates no other processor' build --platform linux/s390x -
	[ "$(ls tmp)" = '' ]
}

@test "a name and a port that are taken are errors, and nothing is left of the second container" {
	docker run -d --name box -p 127.0.0.1::80 host sleep 1000
	id=$(docker ps -q)
	port=$(docker port box 80)
	for words in -d '--rm' ''; do
		# shellcheck disable=SC2086 # words
		refuses "a sandbox named 'box' is running" run $words --name box host true
	done
	refuses "listen at $port: Address already in use" run -d --name other -p "$port:80" host true
	refuses "listen at $port: Address already in use" run --rm -p "$port:80" host true
	[ "$(docker ps -aq)" = "$id" ]
	[ "$(docker rename box box2 && docker ps --format '{{.Names}}')" = box2 ]
	docker run -d --name third host sleep 1000
	run -1 --separate-stderr docker rename third box2
	[[ $stderr == *"a sandbox named 'box2' is running"* ]]
}

@test "an entrypoint that is missing is 127, and nothing is left" {
	needs_static
	own_store
	busybox_image
	mkdir home/build
	printf 'FROM bb:1\nENTRYPOINT ["/absent"]\n' >home/build/Dockerfile
	docker build -q -t absent:1 home/build
	for words in '--rm absent:1' '-d absent:1' '--name box absent:1 x' '-d --rm --name box absent:1' \
		'--entrypoint /absent bb:1' '-d --name box bb:1 absent'; do
		# shellcheck disable=SC2086 # words
		run -127 --separate-stderr docker run $words
		[ -z "$output" ]
		[[ $stderr == *'absent: command not found in the image'* ]]
		[ -z "$(docker ps -aq)" ]
	done
	run -126 docker run -d --entrypoint /etc bb:1
	[ -z "$(docker ps -aq)" ]
}

@test "a main process that dies at once has its exit code and its output, or leaves nothing with --rm" {
	id=$(docker run -d --name box host sh -c 'echo last; echo words >&2; exit 4')
	[ "$(docker wait "$id")" = 4 ]
	[ "$(docker logs box 2>&1)" = 'last
words' ]
	[ "$(docker inspect -f '{{.State.Status}} {{.State.ExitCode}} {{.State.Running}}' "$id")" = 'exited 4 false' ]
	run -1 --separate-stderr docker exec box true
	[[ $stderr == *'is not running' ]]
	docker rm box
	mkfifo alive
	docker run -d --rm --name gone host sh -c 'kill -9 $$' >alive &
	read -r name <alive
	[ -n "$name" ]
	wait "$!"
	docker wait gone || [ "$?" -eq 1 ]
	[ -z "$(docker ps -aq)" ]
}

@test "a state folder without space is an error, and nothing is left" {
	cat >full <<-'END'
		head -c 100000 /dev/zero >"$XDG_RUNTIME_DIR/ballast"
		for words in -d '-d --rm' --rm; do
			"$HUTCH" docker run $words --name box host true
			echo "$?"
		done
		rm "$XDG_RUNTIME_DIR/ballast"
		"$HUTCH" docker ps -aq
		find "$XDG_RUNTIME_DIR" -type f -size +0
		"$HUTCH" docker run --rm --name box host echo space
	END
	export HUTCH
	# A supervisor takes no client with more capabilities than its own.
	run -0 --separate-stderr outer sh -c 'mount -t tmpfs -o size=64k,mode=700 tmpfs "$XDG_RUNTIME_DIR" &&
		exec setpriv --ambient-caps -all --inh-caps -all sh full'
	[ "$output" = '125
125
125
space' ]
	[ "$(grep -c 'No space left on device' <<<"$stderr")" -ge 3 ]
}

@test "kill sends any signal to the main process alone" {
	room w
	mkfifo w/got
	give w
	docker run -d --name box -v "$T/w:/w" host \
		sh -c 'trap "echo usr1 >/w/got" USR1; trap "exit 5" TERM; trap "" HUP; echo ready >/w/got; while :; do sleep 1000 & wait; done'
	read -r line <w/got
	[ "$line" = ready ]
	[ "$(docker kill -s hup box)" = box ]
	[ "$(docker kill --signal SIGUSR1 box)" = box ]
	read -r line <w/got
	[ "$line" = usr1 ]
	run -1 --separate-stderr docker kill -s FROB box
	[ "$stderr" = 'Error response from daemon: Invalid signal: FROB' ]
	docker kill -s 15 box nosuch || [ "$?" -eq 1 ]
	[ "$(docker wait box)" = 5 ]
	run -1 --separate-stderr docker kill -s TERM box
	[[ $stderr == *'cannot kill container: box: container '*' is not running' ]]
}

@test "a range of ports is that many ports" {
	docker run -d --name box -p 80-81 -p 127.0.0.1::82-82 host sleep 1000
	[ "$(docker port box | cut -d ' ' -f 1 | sort)" = '80/tcp
81/tcp
82/tcp' ]
}

@test "without --network there is none, and host-gateway opens nothing" {
	run -0 docker run --add-host gate:host-gateway host getent hosts gate
	[[ $output == 127.0.0.1* ]]
	[ "$(docker run host sh -c 'ls /sys/class/net 2>/dev/null | grep -vc ^lo$ || true')" = 0 ]
}

@test "the policy docker of the user counts, and a flag wins over it" {
	export XDG_CONFIG_HOME=$T/config # the caller's, for root too
	mkdir -p config/hutch
	echo '{"version":1,"env":{"FROM":"policy"},"hostname":"named"}' >config/hutch/docker.json
	[ "$(docker run host sh -c 'echo $FROM; hostname')" = "policy
named" ]
	[ "$(docker run -h other host hostname)" = other ]
}

@test "a policy docker that cannot be read is an error" {
	export XDG_CONFIG_HOME=$T/config
	mkdir -p config/hutch
	ln -s nosuch config/hutch/docker.json
	refuses 'open the policy' run host true
}

@test "containers are found by name, id, and the first digits of an id" {
	"$HUTCH" create -q box
	id=$(docker ps -q)
	[[ $id =~ ^[0-9a-f]{12}$ ]]
	for word in box /box "$id" "${id:0:6}"; do
		[ "$(docker inspect -f '{{.Name}} {{.State.Running}}' "$word")" = '/box true' ]
	done
	[ "$(docker exec -w / "${id:0:6}" pwd)" = / ]
	run -1 --separate-stderr docker exec nosuch true
	[ "$stderr" = 'Error response from daemon: No such container: nosuch' ]
	run -1 --separate-stderr docker inspect nosuch
	[ "$output" = '[]' ]
	[ "$stderr" = 'Error: No such object: nosuch' ]
	run -64 docker inspect -f '{{.Id' box
}

@test "digits that several ids begin with are an error" {
	for i in {1..17}; do
		"$HUTCH" create -q "box$i"
	done
	digit=$(docker ps -q | cut -c1 | sort | uniq -d | head -1)
	run -1 --separate-stderr docker inspect -f '{{.Id}}' "$digit"
	[[ $stderr == *"multiple IDs found with provided prefix: $digit"* ]]
	run -1 --separate-stderr docker stop "$digit"
	[[ $stderr == *'multiple IDs found'* ]]
}

@test "ports are printed as docker prints them" {
	"$HUTCH" create -q -p auto:8000 box
	port=$(docker port box 8000/tcp)
	[[ $port == 127.0.0.1:5* ]]
	[ "$(docker port box)" = "8000/tcp -> $port" ]
	[ "$(docker inspect -f '{{(index (index .NetworkSettings.Ports "8000/tcp") 0).HostPort}}' box)" = "${port#*:}" ]
	run -1 docker port box 9
}

@test "ps filters and formats" {
	"$HUTCH" create -q one
	"$HUTCH" create -q two
	[ "$(docker ps --format '{{.Names}}\t{{.State}}' --filter name=^/one$)" = 'one	running' ]
	[ -z "$(docker ps -q --filter name=three)" ]
	[ "$(docker ps --format json --filter name=two | jq -r .Names)" = two ]
	docker stop -t 0 one
	[ "$(docker ps --format '{{.Names}}')" = two ]
	[ "$(docker ps -a --filter status=exited --format '{{.Names}}')" = one ]
	# Filters of one key are alternatives; one for a status looks at all containers.
	[ "$(docker ps --filter status=exited --format '{{.Names}}')" = one ]
	[ "$(docker ps --filter name=one --filter name=tw --format '{{.Names}}')" = two ]
	[ "$(docker ps -a --filter name=one --filter name=tw --filter status=exited --filter status=paused \
		--format '{{.Names}}')" = one ]
	run -1 docker ps --filter 'name=one|two'
	run -1 docker ps --filter status=frob
	refuses 'bad format of filter' ps --filter name
}

# fake TEXT: makes ./docker a docker whose hutch is the script TEXT.
fake() {
	mkdir -p bin libexec/hutch
	cp "$BUILD/libexec/hutch-docker" libexec/hutch/docker
	printf '#!/bin/sh\n%s\n' "$1" >bin/hutch
	chmod +x bin/hutch
	ln -s libexec/hutch/docker docker
}

@test "ps and images print tables by a template" {
	"$HUTCH" create -q one
	"$HUTCH" create -q a-long-name
	docker ps --format 'table {{.Names}}\t{{.State}}\t{{upper .Image}}' >out
	diff out - <<-'TABLE'
		NAMES         STATE     IMAGE
		a-long-name   running   HOST
		one           running   HOST
	TABLE
	[ "$(docker ps --filter name=none --format 'table {{.ID}}\t{{.Label "x"}}|')" = 'CONTAINER ID   |' ]
	run -1 --separate-stderr docker ps --format 'table {{.Nosuch}}'
	[[ $stderr == *'map has no entry for key "Nosuch"'* ]]
	mkdir layer
	tar -C layer -cf layer.tar .
	"$HUTCH" image import layer.tar --name img >/dev/null
	docker images --format 'table {{.Repository}}\t{{.Tag}}\t{{len .ID}}|{{.Size}}' >out
	grep -qE '^REPOSITORY +TAG +8\|SIZE$' out
	grep -qE '^img +latest +12\|[0-9.]+[kM]?B$' out
	[ "$(docker images --no-trunc --format '{{printf "%.7s" .ID}} {{.Repository}}')" = 'sha256: img' ]
	docker images --format json | jq -e '.Repository == "img"'
	run -1 docker images --format '{{.ID'
	run -1 docker images --format '{{.Nosuch}}'
	run -1 docker ps --format '{{.ID'
	run -64 docker version --format '{{.Nosuch}}'
	run -125 docker images --nosuch
}

@test "ps lists the others where a container has gone meanwhile" {
	fake 'case $1 in
	ps) echo "[{\"name\":\"one\",\"image\":\"host\"},{\"name\":\"two\",\"image\":\"host\"}]" ;;
	inspect) echo "[{\"name\":\"two\",\"id\":\"012345678901\",\"state\":\"ready\"}]"; exit 125 ;;
	esac'
	[ "$(./docker ps -q)" = 012345678901 ]
}

@test "a hutch that prints without end is stopped" {
	fake 'yes'
	run -1 --separate-stderr ./docker ps
	[[ $stderr == *'hutch ps failed'* ]]
}

@test "a store that cannot be read is no image that is missing" {
	fake 'exit 125'
	run -1 --separate-stderr ./docker inspect --type image debian
	[[ $stderr == *'hutch image exists failed'* ]]
}

@test "labels: of the flags and of a file, in ps and in inspect" {
	printf '# of a file\n\n  tier=2\nteam=file\n' >labels
	docker run -d --name one --label-file labels --label team=web -l a.b host sleep 1000
	docker run -d --name two -l team=db host sleep 1000
	[ "$(docker ps -q --filter label=team=web)" = "$(docker ps -q --filter name=^/one$)" ]
	[ "$(docker ps --filter label=team --format '{{.Names}}:{{.Label "team"}}:{{.Label "no"}}:')" = $'one:web::\ntwo:db::' ]
	[ "$(docker ps --filter name=one --format '{{.Labels}}')" = tier=2,team=web,a.b= ]
	[ "$(docker ps --filter name=two --format json | jq -c '[.Labels, .Label]')" = '["team=db",null]' ]
	[ "$(docker inspect -f '{{json .Config.Labels}}' one)" = '{"tier":"2","team":"web","a.b":""}' ]
	[ "$(docker inspect -f '{{index .Config.Labels "team"}}' two)" = db ]
	run -125 docker run -d -l 'a b=c' host true
}

@test "labels of the image stand below those of the flags" {
	needs_static
	own_store
	busybox_image
	mkdir home/build
	printf 'FROM bb:1\nLABEL team=image kind="a b"\n' >home/build/Dockerfile
	docker build -q -t labelled:1 home/build
	docker run -d --rm --name one -l team=web labelled:1 busybox sleep 1000
	docker inspect one | jq -c '.[0].Config.Labels' >all
	[ "$(cat all)" = '{"kind":"a b","team":"web"}' ]
	[ "$(docker inspect -f '{{.Config.Labels.kind}}' one)" = 'a b' ]
	docker rmi -f labelled:1
	[ "$(docker inspect -f '{{json .Config.Labels}}' one)" = '{"team":"web"}' ]
}

@test "a container is paused, stopped and removed, and each word is printed" {
	"$HUTCH" create -q box
	[ "$(docker pause box)" = box ]
	[ "$(docker inspect -f '{{.State.Status}}' box)" = paused ]
	docker unpause box
	run -1 --separate-stderr docker rm box
	[[ $stderr == *'container is running'* ]]
	[ "$(docker stop -t 0 box)" = box ]
	[ "$(docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' box)" = 'exited 0' ]
	run -1 docker exec box true
	[ "$(docker wait box)" = 0 ]
	docker rm box
	docker rm -f box 2>/dev/null
	run -1 docker rm box
	refuses 'invalid argument "1s" for "-t, --time" flag' stop -t 1s box
}

@test "files are copied in and out" {
	"$HUTCH" create -q box
	room out
	echo text >file
	docker cp file box:/tmp/file
	docker cp box:tmp/file out/back
	diff file out/back
}

@test "a volume keeps files from one run to the next" {
	! is_root || skip "root's volumes are below root's home"
	docker run -v data:/d host sh -c 'echo kept >/d/file'
	[ "$(docker run -v data:/d:ro host cat /d/file)" = kept ]
	[ "$(docker volume ls -q)" = data ]
	[ -d "$(docker volume inspect data | jq -r '.[0].Mountpoint')" ]
	[ -e "$(docker volume inspect -f '{{.Mountpoint}}' data)/file" ]
	[ "$(docker volume rm data)" = data ]
	run -1 docker volume rm data
	run -1 docker volume create ../x
}

@test "version and info are for programs that ask" {
	[[ $(docker version --format '{{.Server.Version}}') =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
	docker version --format json | jq -e .Server.Version
	docker info --format '{{json .}}' | jq -e .ServerVersion
	docker version >/dev/null
}

@test "run --restart starts the main process again, and wait and inspect tell of it" {
	docker run -d --name box --restart always host sh -c 'exit 5' >/dev/null
	[ "$(timeout "$PATIENCE" "$HUTCH" docker wait box)" = 5 ]
	[ "$(docker inspect -f '{{.HostConfig.RestartPolicy.Name}} {{.State.Running}}' box)" = 'always true' ]
	[ "$(docker inspect -f '{{.RestartCount}}' box)" -ge 1 ]
	docker rm -f box
	[ -z "$(docker ps -aq)" ]
	docker run -d --name box --restart on-failure:1 host sh -c 'exit 6' >/dev/null
	[ "$("$HUTCH" wait box)" = 6 ]
	[ "$(docker inspect -f '{{.RestartCount}} {{.State.ExitCode}} {{.State.Status}}' box)" = '1 6 exited' ]
	[ "$(docker wait box)" = 6 ]
	refuses 'needs -d or --name' run --restart always host true
}

@test "run --stop-signal is the signal of stop" {
	room w
	mkfifo w/go
	give w
	docker run -d --name box --stop-signal SIGUSR1 -v "$T/w:/w" host \
		sh -c 'trap "exit 8" USR1; echo up >/w/go; while :; do read -r x </w/go; done' >/dev/null
	read -r up <w/go
	docker stop box
	[ "$(docker wait box)" = 8 ]
	refuses "not 'NONE'" run -d --stop-signal NONE host true
	refuses 'needs -d or --name' run --stop-signal TERM host true
	refuses 'needs -d or --name' run --stop-timeout 1 host true
}

@test "run --stop-timeout is how long stop waits" {
	# It does not end by itself; with a time of 10 s and more this test would take as long.
	docker run -d --name box --stop-timeout 0 host sh -c 'trap "" TERM; while :; do sleep 1000; done'
	[ "$(docker stop box)" = box ]
	[ "$(docker wait box)" = 137 ]
	refuses '86400 seconds' run -d --stop-timeout 86401 host true
	refuses 'it is in seconds: --stop-timeout 30' run -d --stop-timeout 5s host true
	run -125 --separate-stderr "$HUTCH" create --stop-timeout 1 plain
	[[ $stderr == *'--stop-timeout is for a main process'* ]]
}

@test "exec ends with 137 if the container ends" {
	room w
	mkfifo w/go
	give w
	docker run -d --name box -v "$T/w:/w" host sh -c 'read -r code </w/go; exit "$code"' >/dev/null
	run -137 docker exec box sh -c 'echo 4 >/w/go; exec sleep 1000'
	[ "$(docker wait box)" = 4 ]
}
