#!/usr/bin/env -S python3 -SE
"""podman.py RUNTIME IMAGE: runs commands of podman with that runtime, in the current folder, and
prints their output and exit codes.  podman leaves processes behind: a monitor for each container,
and for an ordinary user one that keeps the user namespace.  This process adopts them, and ends
when all of them have ended.
"""
import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36
RUNTIME, IMAGE = sys.argv[1:]
HERE = pathlib.Path.cwd()
# The limits that podman asks for may be above those of a root without CAP_SYS_RESOURCE.
NEW = ["--network", "none", "--ulimit", "nofile=512:512", "--ulimit", "nproc=4096:4096",
       *([] if os.geteuid() else ["--cgroup-parent", "/" + HERE.name])]
WAITS = "trap 'exit 9' TERM; echo >/ready; sleep 1000 & wait"


def podman(*words):
    result = subprocess.run(
        ["podman", "--log-level", "error", "--storage-driver", "vfs", "--root", HERE / "root",
         "--runroot", HERE / "runroot", "--tmpdir", HERE / "tmp", "--cgroup-manager", "cgroupfs",
         "--events-backend", "file", "--runtime", RUNTIME, "--runtime-flag", f"root={HERE / 'state'}",
         *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    return result.stdout.strip(), result.returncode


def commands():
    yield podman("load", "-q", "-i", IMAGE)
    yield podman("run", "--rm", *NEW, "localhost/small:1", "sh", "-c", "echo $$ $(id -u); exit 7")
    os.mkfifo("ready")
    code = podman("run", "-d", "--name", "back", "-v", f"{HERE / 'ready'}:/ready", *NEW,
                  "localhost/small:1", "sh", "-c", WAITS)[1]
    yield code
    if code:
        return
    pathlib.Path("ready").read_text()
    yield podman("exec", "back", "grep", "^Seccomp:", "/proc/self/status")
    yield podman("inspect", "--format", "{{.OCIRuntime}}", "back")
    yield podman("stop", "-t", "60", "back")
    yield podman("wait", "back")
    yield podman("rm", "back")
    yield podman("rmi", "localhost/small:1")[1]


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for answer in commands():
        print(*answer if isinstance(answer, tuple) else [answer], flush=True)
    with contextlib.suppress(FileNotFoundError):
        os.kill(int((HERE / "tmp/pause.pid").read_text()), signal.SIGTERM)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


main()
