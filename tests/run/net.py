"""net.py CASE: what a program sees of a network of names; each case prints lines."""
import socket
import sys


def connect(host, port):
    """Prints what became of a connection, by the name of its exception."""
    try:
        with socket.create_connection((host, port)) as sock:
            print(sock.recv(1))
    except OSError as error:
        print(type(error).__name__)


def refused():
    connect("other.org", 443)


def absent():
    try:
        socket.getaddrinfo("none.org", 80)
    except OSError as error:
        print(error)
    connect("93.184.216.34", 80)


def ports():
    connect("example.org", 7000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("93.184.216.34", 443))
        sock.send(b"x")
        try:
            sock.recv(1)
        except OSError as error:
            print(type(error).__name__)


def speaks_first():
    with socket.create_connection(("example.org", 7000)) as sock, sock.makefile("rb") as file:
        print(file.readline())
        sock.sendall(b"hello")
        sock.shutdown(socket.SHUT_WR)
        print(file.read())


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


globals()[sys.argv[1]]()
