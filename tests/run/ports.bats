#!/usr/bin/env bats
# Tests of published ports: -p and hutch port.  ports.py has the server that runs inside, and the
# clients.

load helpers

setup() {
	begin
	cp "$here/ports.py" "$T/ports.py"
	chmod 755 "$T/ports.py"
}

teardown() {
	remove_boxes
	end
}

# free_port: prints a port that no process listens on, outside of the ranges that `auto` and
# clients use.
free_port() {
	more free_port
}

# serves ARG...: runs hutch run with ARG, and with the server of ports.py inside, at port 8000.
serves() {
	start -v "$T/ports.py:/ports.py" "$@" -- python3 -SE /ports.py serve 8000
	said ready
}

client() {
	python3 "$here/ports.py" "$@"
}

# more CASE [ARG...]: runs a case of ports_more.py.
more() {
	python3 "$here/ports_more.py" "$@"
}

# found: prints the port that `auto` has chosen, from the note of hutch.
found() {
	sed -n 's/.*note: 127\.0\.0\.1:\([0-9]*\) leads to port.*/\1/p' "$1"
}

# make ARG...: creates the sandbox box with the server of ports.py in it.
make() {
	"$HUTCH" create -v "$T/ports.py:/ports.py" "$@" box 2>"$T/err"
	"$HUTCH" exec -d box python3 -SE /ports.py serve 8000
	until_true serves_in_box
}

serves_in_box() {
	"$HUTCH" logs box | grep -q ready
}

# hosts HOST...: prints the address on the host of each port of box, one on each line, sorted.
hosts() {
	"$HUTCH" port ls --json box | more hosts | sort
}

@test "docker's forms of any free port find one, which hutch port ls tells" {
	make -p 8000 -p 0:8000 -p 127.0.0.1:0:8000 -p 127.0.0.1::8000/tcp
	hosts >found
	[ "$(sort -u found | wc -l)" -eq 4 ]
	while read -r host guest; do
		[ "$guest" = 8000 ]
		[[ $host == 127.0.0.1:5[0-9][0-9][0-9][0-9] ]]
		client echo "${host##*:}"
	done <found
}

# --- what is carried ----------------------------------------------------------------

@test "-p: a client on the host talks to a server inside, which has no network" {
	port=$(free_port)
	serves -p "$port:8000"
	client echo "$port"
	kill "$pid"
	ended 143
	never client echo "$port"
}

@test "-p: a web server of Python's serves files to curl" {
	port=$(free_port)
	head -c 3000000 /dev/urandom >big
	start -v "$T/big:/www/big" -w /www -p "$port:8000" -- python3 -u -m http.server -b 127.0.0.1 8000
	said 'Serving HTTP on 127.0.0.1 port 8000 (http://127.0.0.1:8000/) ...'
	curl -sS --noproxy '*' "http://127.0.0.1:$port/big" | cmp - big
	[ "$(curl -s --noproxy '*' -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/none")" = 404 ]
}

@test "-p: large transfers arrive whole, up, down and both ways at once" {
	port=$(free_port)
	serves -p "$port:8000"
	local bytes=${BYTES:-20000001}
	client up "$port" "$bytes"
	client down "$port" "$bytes"
	client both "$port" "$bytes"
}

@test "-p: a hundred connections at once each get their own bytes" {
	port=$(free_port)
	serves -p "$port:8000"
	client crowd "$port" 100 $((${BYTES:-20000001} / 100))
}

@test "-p: more than are let in at once wait, and all are served" {
	port=$(free_port)
	serves -p "$port:8000"
	client many "$port" "${VISITS:-100}"
	more hold_many "$port" 300 "$PATIENCE"
}

@test "-p: a side that does not read delays no other connection" {
	port=$(free_port)
	serves -p "$port:8000"
	client slow "$port"
}

@test "-p: one half of a connection ends, and the other goes on" {
	port=$(free_port)
	serves -p "$port:8000"
	client half "$port"
	said 'heard 100000'
}

@test "-p: a reset inside is one outside, behind the answer that was sent before it" {
	port=$(free_port)
	serves -p "$port:8000"
	client reset_inside "$port"
}

@test "-p: a reset outside is one inside" {
	port=$(free_port)
	serves -p "$port:8000"
	client reset_me "$port"
	said reset
}

@test "-p: what is refused inside is reset outside" {
	port=$(free_port)
	serves -p "$port:8001"
	client refused "$port"
	client refused "$port"
}

@test "-p: a server at ::1 alone is found" {
	[[ -e /proc/net/if_inet6 ]] || skip "this kernel has no IPv6"
	port=$(free_port)
	start -v "$T/ports.py:/ports.py" -p "$port:8000" -- python3 -SE /ports.py serve 8000 6
	said ready
	client echo "$port"
}

@test "-p: a sandbox that is killed leaves no part that passes for the whole" {
	port=$(free_port)
	serves -p "$port:8000"
	client killed "$port" >begun 2>wrong &
	other=$!
	until_true grep -q begun begun
	kill -KILL "$pid"
	wait "$other"
	[ ! -s wrong ]
}

# says_and_ends COUNT LENGTH: runs a server that accepts COUNT clients, sends LENGTH bytes to each
# when the test lets it, and ends.
says_and_ends() {
	port=$(free_port)
	mkdir -m 755 go
	mkfifo go/on
	give go
	start -v "$T/go:/go" -v "$here/ports_more.py:/more.py:ro" -p "$port:8000" -- \
		python3 -SE /more.py say_and_end "$@"
	said ready
}

# These are more connections than the executor serves at once.  The executor is stopped while the
# server sends and ends, so that it finds the data and the end together.
@test "-p: what a server said before it ended arrives, on each of a hundred connections" {
	says_and_ends 100 50000
	client goodbyes "$port" 100 50000 &
	other=$!
	said accepted
	executor=$(pgrep -P "$pid")
	kill -STOP "$executor"
	echo >go/on
	until_true has_zombie "$executor"
	kill -CONT "$executor"
	wait "$other"
	ended 0
}

has_zombie() {
	grep -q 'State:.Z' "/proc/$(pgrep -P "$1")/status"
}

# This is more data than pipes hold, so sockets still hold some of it when the server has ended.
@test "-p: data sent before the end arrives whole, and a client that reads none delays no other" {
	says_and_ends 4 2000000
	mkfifo "$T/gone"
	client unread "$port" 3 2000000 <"$T/gone" &
	other=$!
	exec 5>"$T/gone"
	said accepted
	echo >go/on
	ended 0
	exec 5>&-
	wait "$other"
}

# --- the host's side ----------------------------------------------------------------

@test "-p auto: a free port is found and told, and only on the loopback" {
	serves -p auto:8000
	port=$(found "$T/err")
	((port >= 50000 && port <= 59999))
	client echo "$port"
	# In /proc/net/tcp (proc(5)) state 0A is a listener, and 127.0.0.1 is a
	# little-endian number.
	printf -v hex %04X "$port"
	[ "$(awk -v port=":$hex" '$4 == "0A" && index($2, port) { print $2 }' /proc/net/tcp{,6})" = "0100007F:$hex" ]
}

@test "-p auto: as many as begin at once all have ports of their own, and the range can be used up" {
	# The test uses an address to which no other process connects.
	local at=127.$((RANDOM % 200 + 10)).$((RANDOM % 250)).7
	for n in {1..30}; do
		env --default-signal "$HUTCH" run -p "$at:50100-50119:80" -- sleep 1000 2>"err.$n" 3>&- </dev/null &
		started+=("$!")
	done
	until_true all_told
	sed -n 's/.*:\([0-9]*\) leads to port 80 inside$/\1/p' err.* | sort >ports
	# Each of the twenty ports is used once; the ten sandboxes that get none fail with an
	# error.
	diff ports <(seq 50100 50119)
	[ "$(cat err.* | grep -cxF "hutch: no port from 50100 to 50119 is free at $at (from -p $at:50100-50119:80)")" = 10 ]
}

all_told() {
	[ "$(cat err.* | grep -c 'leads to\|no port')" = 30 ]
}

@test "-p: a port that is taken is an error before anything begins, and names the flag" {
	port=$(free_port)
	serves -p "$port:8000"
	refuses "listen at 127\.0\.0\.1:$port: Address already in use \(from -p $port:80\)" -p "$port:80" -- touch "$T/ran"
	client echo "$port"
}

@test "-p: a port can be had again as soon as its sandbox has ended" {
	port=$(free_port)
	for n in 1 2 3; do
		serves -p "$port:8000"
		client echo "$port"
		kill "$pid"
		ended 143
	done
}

@test "-p: an address of its own" {
	port=$(free_port)
	serves -p "127.1.2.3:$port:8000"
	client echo "127.1.2.3:$port"
	never client echo "127.0.0.1:$port"
}

@test "-p PATH: a unix socket, for its owner alone, which is gone afterwards" {
	room sockets
	serves -p "$T/sockets/s:8000"
	[ "$(stat -c '%a %u' sockets/s)" = "600 $who" ]
	client echo "$T/sockets/s"
	client both "$T/sockets/s" 10000001
	client half "$T/sockets/s"
	kill "$pid"
	ended 143
	[ ! -e sockets/s ]
}

@test "-p PATH: one that is left by a kill is removed by the janitor" {
	room sockets
	serves -p "$T/sockets/s:8000"
	kill -KILL "$pid"
	until_true [ ! -e sockets/s ]
}

@test "-p PATH: what is in its place stays; a dead socket is replaced" {
	room sockets
	echo mine >sockets/file
	give sockets/file
	refuses "listen at $T/sockets/file: Address already in use" -p "$T/sockets/file:80" -- true
	[ "$(cat sockets/file)" = mine ]
	as_who python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/sockets/dead"
	"$HUTCH" run -p "$T/sockets/dead:80" -- true
	[ ! -e sockets/dead ]
}

@test "-p is an error where it can do nothing" {
	refuses 'a port is published .*--network host.*\(from -p 80:80\)' --network host -p 80:80 -- true
	refuses '-p needs namespaces' --isolation landlock -p 8080:80 -- true
	refuses "'0' is no port" -p 80:0 -- true
	refuses '-p takes' -p http -- true
	refuses '.*TCP alone' -p 53:53/udp -- true
}

@test "-p: ports below 1024 are root's" {
	[[ $(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) == 1024 ]] || skip "they are everybody's here"
	if is_root; then
		"$HUTCH" run -p 127.9.9.9:81:80 -- true
	else
		refuses 'listen at 127.9.9.9:81: Permission denied' -p 127.9.9.9:81:80 -- true
	fi
}

@test "a policy publishes ports, and flags add some" {
	one=$(free_port) two=$(free_port)
	printf '{"version": 1, "publish": ["%s:8000"]}' "$one" >p.json
	serves --policy ./p.json -p "$two:8000"
	client echo "$one"
	client echo "$two"
	"$HUTCH" policy show ./p.json | grep -q "$one:8000"
	"$HUTCH" run --policy ./p.json --dry-run -- true | grep -qx "publish   $one:8000"
}

@test "no socket of the host's is inside, nor is a port of it in reach" {
	port=$(free_port)
	serves -p "$port:8000"
	client echo "$port"
	hutch run -i -p auto:80 -- python3 -SE - host_is_out_of_reach "$port" <"$here/ports_more.py"
	[ "$output" = refused ]
}

@test "hutch act has ports, too" {
	port=$(free_port)
	mkfifo in
	"$HUTCH" act -v "$T/ports.py:/ports.py" -p "$port:8000" <in >out &
	started+=($!)
	exec 8>in
	printf '%s\n' '{"action":"run","args":{"command":"mkfifo /tmp/out; exec 9<>/tmp/out; python3 -SE /ports.py serve 8000 >&9 & read -r x <&9; echo there"}}' >&8
	until_true grep -q 'there"' out
	client echo "$port"
	client down "$port" "${BYTES:-20000001}"
	exec 8>&-
}

# --- hutch port ---------------------------------------------------------------------

@test "hutch create -p and hutch port: add, ls, rm" {
	one=$(free_port) two=$(free_port)
	room sockets
	make -p "$one:8000" -p auto:8000
	found=$(found err)
	client echo "$one"
	client echo "$found"
	diff <(hosts) <(sort <<<"127.0.0.1:$one 8000"$'\n'"127.0.0.1:$found 8000")
	[ "$("$HUTCH" port add box "$two:8000" "$T/sockets/s:8000")" = "127.0.0.1:$two"$'\n'"$T/sockets/s" ]
	client echo "$two"
	client echo "$T/sockets/s"
	client crowd "$two" 50 200000
	client down "$T/sockets/s" "${BYTES:-20000001}"
	[ "$("$HUTCH" port rm box "$two" "$T/sockets/s")" = "127.0.0.1:$two"$'\n'"$T/sockets/s" ]
	[ ! -e sockets/s ]
	never client echo "$two"
	client echo "$one"
	diff <(hosts) <(sort <<<"127.0.0.1:$one 8000"$'\n'"127.0.0.1:$found 8000")
}

@test "hutch port: what cannot be is one sentence" {
	port=$(free_port)
	make -p "$port:8000"
	says_of() {
		hutch port "${@:2}"
		[[ $status == 125 ]] && one_sentence "$1"
	}
	says_of ".*127\.0\.0\.1:$port: Address already in use" add box "$port:80"
	says_of ".*127\.0\.0\.1:1 is not published" rm box 1
	says_of "no sandbox named 'none'" add none auto:80
	says_of "no sandbox named 'none'" ls none
	says_of "-p takes" add box http
	says_of "'nothing' is no verb" nothing
	[ "$("$HUTCH" port ls box | wc -l)" = 2 ]
}

@test "hutch port rm resets the connections of that port and of no other" {
	one=$(free_port) two=$(free_port)
	make -p "$one:8000" -p "$two:8000"
	client killed "$one" >begun 2>wrong &
	other=$!
	until_true grep -q begun begun
	[ "$("$HUTCH" port ls --json box | grep -o '"connections":1' | wc -l)" = 1 ]
	"$HUTCH" port rm box "$one"
	wait "$other"
	[ ! -s wrong ]
	client echo "$two"
}

@test "a sandbox with a name ends: its ports and unix sockets are free" {
	port=$(free_port)
	room sockets
	make -p "$port:8000" -p "$T/sockets/one:8000"
	"$HUTCH" port add box "$T/sockets/two:8000"
	client echo "$T/sockets/two"
	"$HUTCH" stop -t 0 box
	never client echo "$port"
	until_true no_sockets
	make -p "$port:8000"
	client echo "$port"
}

no_sockets() {
	[ -z "$(ls sockets)" ]
}

@test "a supervisor that is killed leaves no unix socket" {
	room sockets
	make -p "$T/sockets/one:8000"
	"$HUTCH" port add box "$T/sockets/two:8000"
	kill -KILL "$(supervisor_of box)"
	until_true no_sockets
}

# The helper supervisor_of finds the supervisor as the parent of pid 1.
@test "a connection is use of a sandbox that ends when idle, and a server is none" {
	port=$(free_port)
	# The idle time is doubled until the machine is quick enough to use the sandbox before it
	# is over.
	local idle=2
	until serves_until_told "$idle"; do
		((idle *= 2, idle < PATIENCE))
	done
	mkfifo heard go
	exec 7<>heard 9<>go
	more stay "$port" >heard <go 3>&- 7>&- 8>&- 9>&- &
	started+=("$!")
	said heard
	exec 8>&- # from here on the connection is all that it is used for
	wait "$pid"
	"$HUTCH" create --idle-timeout "${idle}s" unused
	"$HUTCH" wait unused
	echo >&9
	said heard
	exec 9>&-
	"$HUTCH" wait box
}

# serves_until_told IDLE: creates box with a server, and a command in it that runs until
# descriptor 8 is closed; fails if box was idle for IDLE seconds before that.
serves_until_told() {
	rm -f hold there
	mkfifo hold
	exec 8<>hold
	"$HUTCH" create -v "$T/ports.py:/ports.py" --idle-timeout "${1}s" -p "$port:8000" box
	"$HUTCH" exec -i box sh -c 'setsid python3 -SE /ports.py serve 8000 >/tmp/out 2>&1 </dev/null &
		until grep -q ready /tmp/out; do :; done; echo there; cat' <hold >there 8>&- 3>&- &
	pid=$!
	started+=("$pid")
	until_true there_or_gone
	[[ -s there ]] || ! "$HUTCH" rm -f box
}

there_or_gone() {
	[[ -s there ]] || ! kill -0 "$pid" 2>/dev/null
}

@test "a paused sandbox lets connections in and answers when it goes on" {
	port=$(free_port)
	make -p "$port:8000"
	"$HUTCH" pause box
	client echo "$port" &
	other=$!
	until_true eval '"$HUTCH" port ls --json box | grep -q "\"connections\":1"'
	"$HUTCH" unpause box
	wait "$other"
}

@test "nothing is left of many connections: descriptors, visits" {
	port=$(free_port)
	make -p "$port:8000"
	client many "$port" 20
	until_true none_open
	before=$(descriptors)
	((before > 10))
	client many "$port" "${VISITS:-100}"
	client crowd "$port" 60 100000
	client reset_me "$port"
	client refused "$("$HUTCH" port add box auto:1)"
	until_true none_open
	[ "$(descriptors)" -le $((before + 1)) ]
}

@test "visitors leave the supervisor's clients and processes their descriptors" {
	port=$(free_port)
	(ulimit -n 256 && make -p "$port:8000")
	mkfifo hold
	client hold "$port" 120 <hold &
	holder=$!
	exec 5>hold
	until_true are_there 20 # of 3 descriptors each: a quarter of what it has
	"$HUTCH" port ls box >/dev/null
	[ "$("$HUTCH" exec box echo inside)" = inside ]
	exec 5>&-
	wait "$holder"
	client echo "$port"
}

are_there() {
	"$HUTCH" port ls --json box | grep -q "\"connections\":$1\b"
}

none_open() {
	[ -z "$("$HUTCH" port ls --json box | grep -E '"connections":[1-9]')" ]
}

# descriptors: prints how many descriptors the supervisor has open.
descriptors() {
	find "/proc/$(supervisor_of box)/fd" -mindepth 1 | wc -l
}

# --- the socket ---------------------------------------------------------------------

@test "port.add takes a socket that listens and nothing else" {
	make
	as_who python3 "$here/ports_more.py" add_sockets "$XDG_RUNTIME_DIR/hutch/box/control.sock" >port
	client echo "$(cat port)"
}

@test "port.add: a client that makes its socket blocking again, at any instant, delays no other" {
	make
	as_who python3 "$here/ports_more.py" block_again "$XDG_RUNTIME_DIR/hutch/box/control.sock" \
		"${VISITS:-100}" "$PATIENCE"
}
