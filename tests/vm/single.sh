#!/bin/bash
# A network of rules on a kernel that has neither veth devices nor IPv6: its form is "single".
# Run as an ordinary user.
#
# shellcheck disable=SC2154 # from tap.sh and init.sh
. "${0%/*}/tap.sh"

serve='
import socket
server = socket.create_server(("127.0.0.1", 8000))
print("listens", flush=True)
while True:
    with server.accept()[0] as sock:
        sock.sendall(b"greetings\n")
'
connect='
import socket, sys
for port in sys.argv[2:]:
    try:
        with socket.create_connection((sys.argv[1], port)) as sock:
            print(sock.makefile().readline().strip())
    except OSError as error:
        print(error.strerror)
'
# connects WANTED HOST PORT...: checks what comes of connections from inside to these ports.
connects() {
	local wanted=$1
	shift
	hutch --allow @host:8000 --allow a.org -- python3 -SE -c "$connect" "$@"
	[ $rc = 0 ] && [ "$(<"$T/out")" = "$wanted" ] && grep -q '"form":"single"' "$T/json"
}
reached() {
	mkfifo "$T/said"
	python3 -SE -c "$serve" >"$T/said" &
	local pid=$!
	read -r _ <"$T/said" && connects $'greetings\nConnection refused' host.hutch.internal 8000 8001
	local result=$?
	kill $pid
	return $result
}
refused() { connects $'Permission denied\nPermission denied' other.org 80 8000; }
every_port() {
	hutch --allow 'a.org:*' -- true
	[ $rc = 125 ] && grep -q "need the kernel's module veth" "$T/err"
}
by_doctor() {
	"$H" doctor >"$T/doctor"
	grep -q '^limited *network-rules *single: ' "$T/doctor" || { cat "$T/doctor" && return 1; }
}

try 'single: the host that a rule names is reached, at its port alone' reached
try 'single: another name is refused with the truth' refused
try 'single: a rule for each port is an error that names the module' every_port
try 'single: hutch doctor says what is less in this form' by_doctor
echo "1..$count"
