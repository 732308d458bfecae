"""landlock.py CASE [ARG...]: the attempts of landlock.bats with --isolation
landlock, mostly inside, where the file comes on stdin.  Each case prints the
operations that should have been refused."""
import ctypes
import os
import platform
import resource
import signal
import socket
import sys


def is_done(call):
    """Returns whether the call was permitted."""
    try:
        call()
    except OSError:
        return False
    return True


def changes_stream_done(calls):
    for name, call in calls.items():
        if is_done(call):
            print(name)


def owners_and_attributes(path):
    uid, gid = os.getuid(), os.getgid()
    folder, name = os.path.split(path)
    changes_stream_done({
        "chown": lambda: os.chown(path, uid, gid),
        "lchown": lambda: os.lchown(path, uid, gid),
        "at": lambda: os.chown(name, uid, gid, dir_fd=os.open(folder, os.O_PATH)),
        "setxattr": lambda: os.setxattr(path, "user.x", b"1"),
        "lsetxattr": lambda: os.setxattr(path, "user.x", b"1", follow_symlinks=False),
        "list": lambda: os.listxattr(path),
        "llist": lambda: os.listxattr(path, follow_symlinks=False),
        "get": lambda: os.getxattr(path, "user.probe"),
        "lget": lambda: os.getxattr(path, "user.probe", follow_symlinks=False),
    })
    new_attributes(path)
    print("done")


def new_attributes(path):
    """Calls that kernels have from 6.13 on, with sizes that each of them
    rejects: a call that gets as far as that was not refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    for number in 463, 464, 465, 466, 468, 469, 457, 458:
        libc.syscall(number, -100, path.encode(), 0, 0, 1, 1)
        if ctypes.get_errno() not in (1, 38, 95):
            print(number, os.strerror(ctypes.get_errno()))


def other_process(pid):
    files = "environ", "cmdline", "status", "maps", "mem", "cwd", "fd", "exe", "oom_score_adj"
    changes_stream_done({name: lambda name=name: os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
               for name in files})
    changes_stream_done({
        "kill": lambda: os.kill(int(pid), 0),
        "oom": lambda: os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY),
        "list": lambda: os.listdir("/proc"),
    })
    print("done")


def limits_of(pid):
    pid = int(pid)
    changes_stream_done({
        "limit": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE),
        "affinity": lambda: os.sched_setaffinity(pid, {0}),
        "scheduler": lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, 1),
        "group": lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(pid), 1),
        "user": lambda: os.setpriority(os.PRIO_USER, os.getuid(), 1),
    })
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    # All tests may run under nice(1), and an ordinary user may only raise the nice value, so the
    # present value is read first.
    own = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, min(own + 1, 19))
    print("done")


def privileges():
    """Prints PR_GET_NO_NEW_PRIVS, and PR_CAPBSET_READ of CAP_SYS_ADMIN."""
    libc = ctypes.CDLL(None)
    print(libc.prctl(39, 0, 0, 0, 0), libc.prctl(23, 21))


def no_sockets():
    unix, four, six = socket.AF_UNIX, socket.AF_INET, socket.AF_INET6
    changes_stream_done({kind: lambda kind=kind: socket.socket(*kind) for kind in (
        (unix, socket.SOCK_STREAM), (four, socket.SOCK_STREAM), (six, socket.SOCK_STREAM),
        (four, socket.SOCK_DGRAM), (16, 3))})
    a, b = socket.socketpair()
    a.send(b"x")
    print(b.recv(1) == b"x")


def datagrams(path, abstract):
    """Sends to a socket of the host by path, with its descriptors and ours, and
    to an abstract one."""
    for kind in socket.SOCK_DGRAM, socket.SOCK_RAW:
        try:
            sender, _ = socket.socketpair(socket.AF_UNIX, kind)
        except PermissionError:
            continue
        changes_stream_done({
            "path": lambda: sender.sendto(b"x", path),
            "abstract": lambda: sender.sendto(b"x", "\0" + abstract),
            "rights": lambda: socket.send_fds(sender, [b"x"], [0], 0, path),
            "bind": lambda: sender.bind("")})
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(a, [b"x"], [0])
    print(len(socket.recv_fds(b, 1, 1)[1]))
    # An abstract socket name belongs to the network namespace of the host, so a process inside
    # that binds it could take the name of a service.
    changes_stream_done({"name": lambda: a.bind("\0" + abstract + "-mine")})


def listen(path, abstract):
    """On the host: makes two datagram sockets, until stdin ends; prints how
    much has come."""
    ours = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    ours[0].bind(path)
    os.chmod(path, 0o666)
    ours[1].bind("\0" + abstract)
    print("listens", flush=True)
    sys.stdin.read()
    for one in ours:
        one.setblocking(False)
    print(sum(is_done(lambda one=one: one.recv(1)) for one in ours), "came", flush=True)


def greet():
    """On the host: a server for one client, until stdin ends."""
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    server.accept()[0].send(b"hello")
    sys.stdin.read()


def tcp_alone(port):
    greeting = socket.create_connection(("127.0.0.1", int(port))).recv(5)
    print(greeting, os.environ["RES_OPTIONS"])
    changes_stream_done({kind: lambda kind=kind: socket.socket(*kind) for kind in (
        (socket.AF_UNIX, 1, 0), (socket.AF_INET, 2, 0), (socket.AF_INET6, 2, 17),
        (socket.AF_INET, 3, 1), (socket.AF_INET, 1, 132), (socket.AF_INET, 1, 262),
        (16, 3, 0), (17, 3, 0))})


def shared_things():
    libc = ctypes.CDLL(None, use_errno=True)
    for name, arguments in (
            ("shmget", (0, 4096, 0o1600)), ("semget", (0, 1, 0o1600)), ("msgget", (0, 0o1600)),
            ("mq_open", (b"/x", 0o102, 0o600, None)), ("inotify_init1", (0,)),
            ("chown", (b".", -1, -1)), ("lchown", (b".", -1, -1)),
            ("setxattr", (b".", b"user.x", b"", 0, 0))):
        try:
            call = getattr(libc, name)
        except AttributeError:
            call = getattr(ctypes.CDLL("librt.so.1", use_errno=True), name)
        if call(*arguments) >= 0:
            print(name)
    # add_key, request_key, keyctl, io_uring_setup
    numbers = {"x86_64": (248, 249, 250, 425), "aarch64": (217, 218, 219, 425)}
    for number in numbers[platform.machine()]:
        if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38):
            print(number, ctypes.get_errno())


def leave_running(mark):
    """Makes twenty orphans in sessions of their own that ignore SIGTERM.  Each
    has a pipe that its execve() closes: when the pipe ends all of them sleep."""
    reads, writes = os.pipe()
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0:
                os.execvp("sleep", [mark, "1000"])
            os._exit(0)
    os.close(writes)
    os.read(reads, 1)
    print("left", flush=True)


def fork_without_end(_mark):
    """Prints a line at the first fork that is refused, and goes on."""
    is_full = False
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError:
            if not is_full and os.getpid() == FIRST:
                print("full", flush=True)
                is_full = True


FIRST = os.getpid()

if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
