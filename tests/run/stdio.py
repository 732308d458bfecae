"""stdio.py CASE [ARG...]: starts hutch in special ways for stdio.bats, and
makes attempts inside, where this file is shown by -v."""
import fcntl
import mmap
import os
import socket
import subprocess
import sys


def try_all(calls):
    """Makes the calls; refused ones are ignored."""
    for n, call in enumerate(calls):
        try:
            call()
            print("tried", n, "and it worked")
        except OSError:
            pass


# --- inside -----------------------------------------------------------------------

def write_to_stdin():
    def again(flags):
        os.pwrite(os.open("/proc/self/fd/0", flags | os.O_NONBLOCK), b"evil", 0)

    try_all([lambda: again(os.O_RDWR), lambda: again(os.O_WRONLY),
             lambda: again(os.O_RDWR | os.O_TRUNC), lambda: os.ftruncate(0, 0),
             lambda: os.write(0, b"evil"), lambda: os.fchmod(0, 0o777)])


def write_to_read_only():
    fd = os.open("/file", os.O_RDONLY)

    def again(flags):
        os.write(os.open(f"/proc/self/fd/{fd}", flags), b"evil")

    try_all([lambda: again(os.O_WRONLY), lambda: again(os.O_RDWR | os.O_TRUNC),
             lambda: os.truncate("/file", 0), lambda: os.ftruncate(fd, 0),
             lambda: mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
             lambda: os.rename("/file", "/file2"), lambda: os.unlink("/file"),
             lambda: os.link("/file", "/tmp/link"), lambda: os.chmod("/file", 0o777),
             lambda: os.utime("/file"), lambda: os.setxattr("/file", "user.x", b"1")])


def append():
    for call in (lambda: os.ftruncate(1, 0), lambda: os.lseek(1, 0, 0),
                 lambda: os.open("/proc/self/fd/1", os.O_WRONLY | os.O_TRUNC),
                 lambda: os.truncate("/proc/self/fd/1", 0), lambda: os.pwrite(1, b"evil", 0)):
        try:
            call()
        except OSError:
            pass
    os.write(1, b"later\n")


def set_flags(_what):
    for fd in range(3):
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)


# --- outside ----------------------------------------------------------------------

def with_path(place, *command):
    """Makes an O_PATH descriptor at that number."""
    os.dup2(os.open("/etc", os.O_PATH | os.O_DIRECTORY), int(place))
    os.execv(command[0], command)


def with_pair(*command):
    """Uses a socket as stdin and stdout."""
    mine, theirs = socket.socketpair()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs):
        theirs.close()
        mine.sendall(b"typed\n")
        mine.shutdown(socket.SHUT_WR)
        got = b""
        while chunk := mine.recv(4096):
            got += chunk
    sys.stdout.write(got.decode())


def with_network(*command):
    """Uses a connected socket of the host's network as stdin and stdout."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    peer, _ = server.accept()
    subprocess.run(command, stdin=client, stdout=client, check=True)
    client.close()
    print(peer.makefile().read(), end="")


def with_own_flags(what, *command):
    """Changes of descriptor flags inside must not show in the caller's
    descriptors."""
    reads, writes = os.pipe()
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    subprocess.run(command, stdin=reads if what == "pipe" else file, stdout=writes, stderr=file,
                   check=True)
    for fd in reads, writes, file:
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        assert not flags & (os.O_NONBLOCK | os.O_APPEND | os.O_ASYNC)


def begin_with_datagrams(number, *argv):
    """One of a pair of datagram sockets is the descriptor of that number."""
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    os.dup2(pair[0].fileno(), int(number))
    os.execv(argv[0], argv)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
