#!/usr/bin/env python3
"""oci.py -- the engine's side of hutch-oci's sockets, for oci.bats.

oci.py console RUNTIME [GLOBAL]...	creates and starts the bundle in this folder as `box`, and
					prints what comes out of its terminal
oci.py notify RUNTIME [GLOBAL]...	... with NOTIFY_SOCKET, and prints what that is told
oci.py listener RUNTIME [GLOBAL]...	runs it, and prints what its seccomp agent gets
oci.py deepen FOLDER PID		makes 1,200 cgroups, each in the one before, and moves a
					process to the deepest
oci.py gone PID				waits until that process has ended
"""
import os
import select
import socket
import subprocess
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from patience import PATIENCE  # noqa: E402


def read_master(master):
    """Reads until the terminal's last user has closed it, which is EIO (pty(7))."""
    parts = []
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)


def console(runtime):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("console")
        listener.listen()
        subprocess.run([*runtime, "create", "--console-socket", "console", "box"], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        connection, _ = listener.accept()
        with connection:
            _, fds, _, _ = socket.recv_fds(connection, 64, 1)
    subprocess.run([*runtime, "start", "box"], check=True)
    sys.stdout.buffer.write(read_master(fds[0]))


def notify(runtime):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as host:
        host.bind("notify")
        env = {**os.environ, "NOTIFY_SOCKET": os.path.abspath("notify")}
        for verb in "create", "start":
            subprocess.run([*runtime, verb, "box"], check=True, env=env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        print(host.recv(4096).decode())


def listener(runtime):
    """Closing the listener's descriptor lets the waiting call fail (seccomp_unotify(2))."""
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind("agent")
        agent.listen()
        with subprocess.Popen([*runtime, "run", "box"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL):
            connection, _ = agent.accept()
            with connection:
                text, fds, _, _ = socket.recv_fds(connection, 65536, 1)
            what = os.readlink(f"/proc/self/fd/{fds[0]}")
            os.close(fds[0])
        assert what == "anon_inode:seccomp notify", what
        print(text.decode())


def deepen(words):
    """A path of them all is longer than a path may be."""
    os.chdir(words[0])
    for _ in range(1200):
        os.mkdir("d" * 8)
        os.chdir("d" * 8)
    with open("cgroup.procs", "w", encoding="ascii") as procs:
        procs.write(words[1])


def gone(words):
    """The descriptor of a process can be read from when it has ended (pidfd_open(2))."""
    try:
        process = os.pidfd_open(int(words[0]))
    except ProcessLookupError:
        return
    assert select.select([process], [], [], PATIENCE)[0], f"process {words[0]} has not ended"


{"console": console, "notify": notify, "listener": listener, "deepen": deepen, "gone": gone}[sys.argv[1]](sys.argv[2:])
