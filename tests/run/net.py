"""net.py CASE: what a program sees of a network of names; each case prints lines."""
import os
import signal
import socket
import sys
import urllib.error
import urllib.request


def connect(host, port):
    """Prints what became of a connection, by the name of its exception."""
    try:
        with socket.create_connection((host, port)) as sock:
            print(sock.recv(1))
    except OSError as error:
        print(type(error).__name__)


def refused():
    connect("other.org", 443)


def service():
    """Asks for the service of a host, as apt does, and connects to another host."""
    name = b"".join(bytes([len(label)]) + label for label in (b"_http", b"_tcp", b"example", b"org", b""))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("10.0.2.2", 53))
        sock.send(b"\0\1\1\0\0\1\0\0\0\0\0\0" + name + b"\0\x21\0\1")
        reply = sock.recv(512)
    print("code", reply[3] & 15, "answers", reply[7])
    refused()
    sys.exit(1)


def absent():
    try:
        socket.getaddrinfo("none.org", 80)
    except OSError as error:
        print(error)
    connect("93.184.216.34", 80)


def send_datagram(host, family=socket.AF_INET):
    """Returns what became of a datagram, by the name of its exception."""
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect((host, 443))
        sock.send(b"x")
        try:
            return sock.recv(1)
        except OSError as error:
            return type(error).__name__


def ports():
    connect("example.org", 7000)
    print(send_datagram("93.184.216.34"))


def each_port():
    """The last one has no server."""
    for port in 22, 7000, 7001:
        try:
            with socket.create_connection(("example.org", port)) as sock, sock.makefile("r") as file:
                print(file.readline().strip())
        except OSError as error:
            print(type(error).__name__)


def datagrams():
    """More datagrams than the kernel's limit of errors lets through."""
    for family, host in (socket.AF_INET, "93.184.216.34"), (socket.AF_INET6, "2606:2800:220:1::1"):
        print(*{send_datagram(host, family) for _ in range(100)})


def outlives():
    """Connects to an address that was good, when stdin says that the network has been killed."""
    address = socket.gethostbyname("example.org")
    with socket.create_connection((address, 7000)) as sock, sock.makefile("rb") as file:
        print(file.readline(), flush=True)
        sys.stdin.readline()
        try:
            print(file.read())
        except OSError as error:
            print(type(error).__name__)
    try:
        with socket.create_connection((address, 7000)) as sock:
            print(sock.recv(10))
    except TimeoutError:
        print("hangs")
    except OSError:
        print("no connection")


def interrupted():
    """Connects after SIGTERM has come, and stdin says that all of the group have had it."""
    signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"SIGTERM\n"))
    print("runs", flush=True)
    sys.stdin.readline()
    connect("example.org", 7000)


def speaks_first():
    with socket.create_connection(("example.org", 7000)) as sock, sock.makefile("rb") as file:
        print(file.readline())
        sock.sendall(b"hello")
        sock.shutdown(socket.SHUT_WR)
        print(file.read())


def crowd():
    """Makes 150 connections, one after another."""
    for _ in range(150):
        with socket.create_connection(("example.org", 80)) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nConnection: close\r\nHost: example.org\r\n\r\n")
            while sock.recv(4096):
                pass


def fetches():
    for name in "example.org", "other.org":
        try:
            with urllib.request.urlopen(f"http://{name}/page") as answer:
                print(answer.read().decode().strip())
        except urllib.error.URLError as error:
            print(error.reason.strerror)


def smuggles():
    """Sends a second request, for another host, on a connection that is kept."""
    with socket.create_connection(("example.org", 80)) as sock, sock.makefile("rb") as file:
        for host in ("example.org", "other.org"):
            sock.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            try:
                print(file.readline().split()[1:2])
            except OSError as error:
                print(type(error).__name__)
                return
            while file.readline().strip():
                pass
            file.read(len("example.org /\n"))


socket.setdefaulttimeout(float(os.environ["PATIENCE"]))
globals()[sys.argv[1]]()
