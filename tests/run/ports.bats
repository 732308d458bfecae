#!/usr/bin/env bats
# Published ports: -p and hutch port.  ports.py is the server inside and the clients.

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

# A port that nobody listens at now, from those that `auto` and clients do not take.
free_port() {
	python3 -c '
import random, socket
while True:
    port = random.randrange(20000, 30000)
    try:
        socket.socket().bind(("127.0.0.1", port))
    except OSError:
        continue
    print(port)
    break'
}

# serves ARG...: hutch run with the server at port 8000 inside.
serves() {
	start -v "$T/ports.py:/ports.py" "$@" -- python3 -SE /ports.py serve 8000
	said ready
}

client() {
	python3 "$here/ports.py" "$@"
}

# The port that was found, from what hutch said of it.
found() {
	sed -n 's/.*note: 127\.0\.0\.1:\([0-9]*\) leads to port.*/\1/p' "$1"
}

# make ARG...: a sandbox that lives, with the server in it.
make() {
	"$HUTCH" create -v "$T/ports.py:/ports.py" "$@" box 2>"$T/err"
	"$HUTCH" exec -d box python3 -SE /ports.py serve 8000
	until_true serves_in_box
}

serves_in_box() {
	"$HUTCH" logs box | grep -q ready
}

# host HOST...: the ports of the box, one a line, sorted.
hosts() {
	"$HUTCH" port ls --json box | python3 -c '
import json, sys
for port in json.load(sys.stdin):
    print(port["host"], port["guest"])' | sort
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
	client up "$port" 200000001
	client down "$port" 200000001
	client both "$port" 100000001
}

@test "-p: a hundred connections at once each get their own bytes" {
	port=$(free_port)
	serves -p "$port:8000"
	client crowd "$port" 100 1000000
}

@test "-p: more than are let in at once wait, and all are served" {
	port=$(free_port)
	serves -p "$port:8000"
	client many "$port" 600
	python3 - "$port" <<-'END'
		import socket, sys
		port = int(sys.argv[1])
		all_ = []
		for n in range(300):
		    c = socket.create_connection(("127.0.0.1", port), 60)
		    c.sendall(b"e?")
		    all_.append(c)
		for n, c in enumerate(all_):  # the first ones end, so the last ones get in
		    assert c.recv(1) == b"?", n
		    c.close()
	END
}

@test "-p: who does not read, on either side, keeps back nobody else" {
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

# says_and_ends COUNT LENGTH: lets so many in, says so much to each when it may, and ends.
says_and_ends() {
	port=$(free_port)
	mkdir -m 755 go
	start -v "$T/go:/go" -p "$port:8000" -- python3 -SEc '
import os, socket, sys, threading, time
s = socket.create_server(("127.0.0.1", 8000), backlog=128)
print("ready", flush=True)
all_ = [s.accept()[0] for _ in range(int(sys.argv[1]))]
print("accepted", flush=True)
while not os.path.exists("/go/on"):
    time.sleep(0.01)
said = [threading.Thread(target=c.sendall, args=[b"x" * int(sys.argv[2])]) for c in all_]
[t.start() for t in said]
[t.join() for t in said]' "$@"
	said ready
}

# More connections than the executor looks at in a turn, which it finds together with the
# end of the command, since it stands still meanwhile.
@test "-p: what a server said before it ended arrives, on each of a hundred connections" {
	says_and_ends 100 50000
	client goodbyes "$port" 100 50000 &
	other=$!
	said accepted
	executor=$(pgrep -P "$pid")
	kill -STOP "$executor"
	touch go/on
	until_true has_zombie "$executor"
	kill -CONT "$executor"
	wait "$other"
	ended 0
}

has_zombie() {
	grep -q 'State:.Z' "/proc/$(pgrep -P "$1")/status"
}

# More than pipes hold: sockets still have it when the server has ended.
@test "-p: what was said before the end arrives whole, and who takes none of it holds up nobody" {
	says_and_ends 4 2000000
	mkfifo "$T/gone"
	client unread "$port" 3 2000000 <"$T/gone" &
	other=$!
	exec 5>"$T/gone"
	said accepted
	touch go/on
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
	[ "$(ss -Hltn "sport = :$port" | awk '{ print $4 }')" = "127.0.0.1:$port" ]
}

@test "-p auto: as many as begin at once all have ports of their own, and the range can be used up" {
	# One that nobody else has connections from.
	local at=127.$((RANDOM % 200 + 10)).$((RANDOM % 250)).7
	for n in {1..30}; do
		env --default-signal "$HUTCH" run -p "$at:50100-50119:80" -- sleep 1000 2>"err.$n" 3>&- </dev/null &
		started+=("$!")
	done
	until_true all_told
	sed -n 's/.*:\([0-9]*\) leads to port 80 inside$/\1/p' err.* | sort >ports
	# Each of the twenty once; and who got none says so.
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
	refuses "'0' is no port" -p 0:80 -- true
	refuses '-p takes' -p 80 -- true
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
	hutch run -p auto:80 -- python3 -SEc '
import os, socket
for line in open("/proc/net/tcp").readlines()[1:]:
    print(line)
try:
    socket.create_connection(("127.0.0.1", '"$port"'), 5)
except ConnectionRefusedError:
    print("refused")'
	[ "$output" = refused ]
}

@test "hutch act has ports, too" {
	port=$(free_port)
	mkfifo in
	"$HUTCH" act -v "$T/ports.py:/ports.py" -p "$port:8000" <in >out &
	started+=($!)
	exec 8>in
	printf '%s\n' '{"action":"run","args":{"command":"python3 -SE /ports.py serve 8000 > /tmp/out & sleep 0.1; until grep -q ready /tmp/out; do sleep 0.05; done; echo there"}}' >&8
	until_true grep -q 'nthere"' out
	client echo "$port"
	client down "$port" 20000000
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
	client down "$T/sockets/s" 50000000
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
	says_of "-p takes" add box 80
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

# The parent of its pid 1.
supervisor_of() {
	awk '/^PPid:/ { print $2 }' "/proc/$("$HUTCH" inspect "$1" | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')/status"
}

@test "a connection is use of a sandbox that ends when idle, and a server is none" {
	port=$(free_port)
	"$HUTCH" create -v "$T/ports.py:/ports.py" --idle-timeout 2s -p "$port:8000" box
	"$HUTCH" exec box sh -c 'setsid python3 -SE /ports.py serve 8000 >/tmp/out 2>&1 </dev/null &
		until grep -q ready /tmp/out; do sleep 0.01; done'
	python3 - "$port" <<-'END'
		import socket, sys, time
		c = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
		c.sendall(b"e")
		time.sleep(4)  # twice as long
		c.sendall(b"?")
		assert c.recv(1) == b"?"
	END
	"$HUTCH" wait box
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
	client many "$port" 50
	until_true none_open
	before=$(descriptors)
	((before > 10))
	client many "$port" 300
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

# Of the supervisor.
descriptors() {
	find "/proc/$(supervisor_of box)/fd" -mindepth 1 | wc -l
}

# --- the socket ---------------------------------------------------------------------

@test "port.add takes a socket that listens and nothing else" {
	make
	as_who python3 - "$XDG_RUNTIME_DIR/hutch/box/control.sock" >port <<-'END'
		import array, json, socket, sys

		def call(method, params, fds=()):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    lines = s.makefile("r")
		    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"hello"}\n')
		    lines.readline()
		    text = json.dumps({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}) + "\n"
		    beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
		    s.sendmsg([text.encode()], beside)
		    return json.loads(lines.readline())

		def is_wrong(code, *args):
		    got = call(*args)
		    assert got.get("error", {}).get("code") == code, got

		listener = socket.create_server(("127.0.0.1", 0))
		silent = socket.socket()
		datagrams = socket.socket(type=socket.SOCK_DGRAM)
		is_wrong(-32602, "port.add", {"guest": 80})
		is_wrong(-32602, "port.add", {}, [listener.fileno()])
		is_wrong(-32602, "port.add", {"guest": 0}, [listener.fileno()])
		is_wrong(-32602, "port.add", {"guest": 65536}, [listener.fileno()])
		is_wrong(-32602, "port.add", {"guest": 80, "host": 1}, [listener.fileno()])
		is_wrong(-32602, "port.add", {"guest": 80}, [listener.fileno()] * 2)
		for fd in silent, datagrams, sys.stderr:
		    is_wrong(-32602, "port.add", {"guest": 80}, [fd.fileno()])
		is_wrong(-32602, "port.remove", {})
		is_wrong(-32000, "port.remove", {"host": "127.0.0.1:1"})
		assert call("port.list", {})["result"] == []
		got = call("port.add", {"guest": 8000}, [listener.fileno()])
		host = "127.0.0.1:%d" % listener.getsockname()[1]
		assert got["result"] == {"host": host, "guest": 8000}, got
		listener.close()
		for n in range(63):
		    one = socket.create_server(("127.0.0.1", 0))
		    assert "result" in call("port.add", {"guest": 8000}, [one.fileno()])
		one = socket.create_server(("127.0.0.1", 0))
		got = call("port.add", {"guest": 8000}, [one.fileno()])
		assert got["error"]["data"]["kind"] == "limit", got
		print(host.rpartition(":")[2])
	END
	client echo "$(cat port)"
}

# It shares the open file description, and with it O_NONBLOCK.
@test "port.add: a client that makes its socket block again, at any instant, holds up nobody" {
	make
	as_who python3 - "$XDG_RUNTIME_DIR/hutch/box/control.sock" <<-'END'
		import array, fcntl, json, os, signal, socket, sys

		control = socket.socket(socket.AF_UNIX)
		control.settimeout(10)
		control.connect(sys.argv[1])
		lines = control.makefile("r")

		def call(method, params, fds=()):
		    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		    beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
		    control.sendmsg([text.encode() + b"\n"], beside)
		    got = json.loads(lines.readline())
		    assert "result" in got, got

		listener = socket.create_server(("127.0.0.1", 0))
		flags = fcntl.fcntl(listener, fcntl.F_GETFL)

		def visit():
		    with socket.create_connection(listener.getsockname(), 10) as c:
		        c.sendall(b"e?")
		        assert c.recv(1) == b"?"

		call("hello", {})
		call("port.add", {"guest": 8000}, [listener.fileno()])
		assert fcntl.fcntl(listener, fcntl.F_GETFL) & os.O_NONBLOCK
		listener.settimeout(None)
		visit()
		call("port.list", {})
		again = os.fork()
		while again == 0:
		    fcntl.fcntl(listener, fcntl.F_SETFL, flags)
		try:
		    for n in range(300):
		        visit()
		    call("port.list", {})
		finally:
		    os.kill(again, signal.SIGKILL)
	END
}
