"""network.py CASE [ARG...]: the operations of network.bats on the host, and
inside, where this file comes on stdin."""
import fcntl
import os
import socket
import struct
import sys


def serve(listener, address):
    print(address, flush=True)
    while True:
        connection, _ = listener.accept()
        connection.sendall(b"reached\n")
        connection.close()


def serve_tcp(_mark):
    listener = socket.create_server(("127.0.0.1", 0))
    serve(listener, listener.getsockname()[1])


def serve_abstract(mark):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0" + mark)
    listener.listen()
    serve(listener, mark)


def reach(family, address):
    try:
        connection = socket.socket(family)
        connection.connect(address)
        print(connection.makefile().readline())
    except OSError as e:
        print(e.strerror)


def reach_tcp(port):
    reach(socket.AF_INET, ("127.0.0.1", int(port)))


def reach_abstract(name):
    reach(socket.AF_UNIX, "\0" + name)


def reach_name(name, port):
    reach(socket.AF_INET, (name, int(port)))


def send_datagrams(patience):
    """Prints how many were refused, of each family."""
    for family, prefix in (socket.AF_INET, "1.2.3."), (socket.AF_INET6, "fd00:7::"):
        refused = 0
        for number in range(1, 101):
            with socket.socket(family, socket.SOCK_DGRAM) as sock:
                sock.settimeout(int(patience))
                try:
                    sock.connect((f"{prefix}{number}", 443))
                    sock.send(b"x")
                    sock.recv(1)
                except ConnectionRefusedError:
                    refused += 1
        print(refused)


def own_abstract():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0hutch-test-{os.getpid()}")
    listener.listen()
    socket.socket(socket.AF_UNIX).connect(listener.getsockname())
    print("connected")


def change_network():
    SIOCSIFFLAGS = 0x8914
    try:
        fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), SIOCSIFFLAGS,
                    struct.pack("16sh14s", b"lo", 0, b""))
        print("lo is down")
    except OSError as e:
        print(e.strerror)
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        print("packet socket")
    except OSError:
        print("refused")


def listen_low():
    listener = socket.create_server(("127.0.0.1", 25))
    print(os.getuid(), listener.getsockname()[1])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
