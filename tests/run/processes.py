"""processes.py CASE [ARG...]: the operations of processes.bats inside, where
this file comes on stdin."""
import os
import resource
import sys


def zombies():
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    count += stat.read().rsplit(")")[1].split()[0] == "Z"
            except OSError:
                pass  # it is gone
    return count


def orphans(count):
    for _ in range(int(count)):
        pid = os.fork()
        if pid == 0:
            os.fork()
            os._exit(0)
        os.waitpid(pid, 0)
    while zombies():
        pass
    print("none is left")


def kill_all_pids(last):
    for pid in range(2, int(last)):
        if pid != os.getpid():
            try:
                os.kill(pid, 9)
                print("killed", pid)
            except ProcessLookupError:
                pass


def attack_pid_1():
    for signo in range(1, 65):
        try:
            os.kill(1, signo)
        except OSError:
            pass
    for call in (lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)),
                 lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)),
                 lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
                 lambda: os.sched_setaffinity(1, {0})):
        try:
            call()
            print("worked")
        except OSError:
            pass
    print("still here")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
