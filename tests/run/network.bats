#!/usr/bin/env bats
# --network.

load helpers

setup() {
	begin
}

teardown() {
	end
}

# serve KIND: something on the host that answers "reached", its address in $address.
serve() {
	mkfifo ready
	/usr/bin/python3 - "$1" "$mark" 3>&- >ready <<-'END' &
		import socket, sys
		if sys.argv[1] == "tcp":
		    s = socket.create_server(("127.0.0.1", 0))
		    print(s.getsockname()[1], flush=True)
		else:
		    s = socket.socket(socket.AF_UNIX)
		    s.bind("\0" + sys.argv[2])
		    s.listen()
		    print(sys.argv[2], flush=True)
		while True:
		    c, _ = s.accept()
		    c.sendall(b"reached\n")
		    c.close()
	END
	started+=("$!")
	read -r -t "$PATIENCE" address <ready
	rm ready
}

tcp='import socket, sys
try:
	print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).makefile().readline())
except OSError as e:
	print(e.strerror)'

abstract='import socket, sys
try:
	s = socket.socket(socket.AF_UNIX)
	s.connect("\0" + sys.argv[1])
	print(s.makefile().readline())
except OSError as e:
	print(e.strerror)'

@test "none: a service on the host's loopback is out of reach, and refused at once" {
	serve tcp
	[ "$(/usr/bin/python3 -c "$tcp" "$address")" = reached ]
	inside /usr/bin/python3 -c "$tcp" "$address"
	[ "$output" = "Connection refused" ]
	inside --network none /usr/bin/python3 -c "$tcp" "$address"
	[ "$output" = "Connection refused" ]
}

@test "none: an abstract socket of the host is out of reach" {
	serve abstract
	[ "$(/usr/bin/python3 -c "$abstract" "$address")" = reached ]
	inside /usr/bin/python3 -c "$abstract" "$address"
	[ "$output" = "Connection refused" ]
}

@test "host: the host's services are in reach, and a warning says so" {
	serve tcp
	inside --network host /usr/bin/python3 -c "$tcp" "$address"
	[ "$output" = reached ]
	[[ $stderr == hutch:*"--network host"* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "host: abstract sockets stay hidden all the same" {
	serve abstract
	inside --network host /usr/bin/python3 -c "$abstract" "$address"
	[ "$output" != reached ]
	[[ $output == *"not permitted"* || $output == *"denied"* ]]
}

@test "host: abstract sockets of the sandbox's own work, where the kernel can tell them apart" {
	inside --network host /usr/bin/python3 -c 'if True:
		import socket, os
		s = socket.socket(socket.AF_UNIX); s.bind("\0hutch-test-%d" % os.getpid()); s.listen()
		c = socket.socket(socket.AF_UNIX); c.connect(s.getsockname()); print("connected")'
	[ "$output" = connected ] || [[ $stderr == *"Permission denied"* ]]
}

@test "host: signals to the host's processes do not get through either" {
	sleep 1000 3>&- &
	other=$!
	started+=("$other")
	inside --network host sh -c "kill -9 $other"
	kill -0 "$other"
}

@test "host: names are resolved by the host's resolvers" {
	inside --network host cat /etc/resolv.conf 2>/dev/null
	[ "$output" = "$(cat /etc/resolv.conf)" ]
	inside cat /etc/resolv.conf
	has_not nameserver
}

@test "host: nothing can be changed in the host's network, as root inside neither" {
	inside --network host -u root --cap-add NET_ADMIN --cap-add NET_RAW /usr/bin/python3 -c 'if True:
		import fcntl, socket, struct
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		try:
			fcntl.ioctl(s, 0x8914, struct.pack("16sh14s", b"lo", 0, b""))
			print("lo is down")
		except OSError as e:
			print(e.strerror)
		try:
			socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
			print("packet socket")
		except OSError:
			print("refused")'
	[ "${lines[0]}" = "Operation not permitted" ]
	[ "${lines[1]}" = refused ]
}

@test "sockets of the host with a path are not inside" {
	inside sh -c 'ls -d /run/docker.sock /var/run/docker.sock /run/dbus /run/user /run/containerd \
		/tmp/.X11-unix 2>/dev/null'
	[ -z "$output" ]
	inside --network host sh -c 'ls -d /run/docker.sock /run/dbus /tmp/.X11-unix 2>/dev/null'
	[ -z "$output" ]
}

@test "other modes are refused" {
	refuses "--network takes none or host, not 'bridge'" --network bridge true
	refuses "--network takes none or host, not ''" --network '' true
}
