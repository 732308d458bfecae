"""process -- programs that are started, watched and ended; folders that are ours alone."""
import fcntl
import os
import signal

# The kernel is the one to go when memory is short, not the driver that would tell about it.
OOM_SCORE = b"500"


def spawn(argv, environment, descriptors):
    """Starts a program in a session of its own and returns its process id.  `descriptors` are
    what it has as 0, 1, 2 and so on; all others are close-on-exec."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in descriptors]
        for number, descriptor in enumerate(moved):
            os.dup2(descriptor, number, inheritable=True)
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        make_first_to_go()
        os.execvpe(argv[0], argv, environment)
    except OSError as e:
        os.write(2, f"{argv[0]}: {e.strerror}\n".encode())
    finally:
        os._exit(127)


def make_first_to_go():
    try:
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(OOM_SCORE)
    except OSError:
        pass  # a sandbox without /proc, or one that hides it


def signal_group(pid, number):
    """Sends a signal to the program and to what it has started in its group."""
    for send in (os.killpg, os.kill):
        try:
            send(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def reap(pid, why_killed=None):
    """Returns how the program has ended, in words, or None.  `why_killed` is told where the
    SIGKILL was ours."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return "in an unknown way"
    if not ended:
        return None
    if os.WIFEXITED(status):
        return f"with exit code {os.WEXITSTATUS(status)}"
    number = os.WTERMSIG(status)
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    if number == signal.SIGKILL:
        return why_killed or f"by signal {name} (a memory limit ends programs in this way, too)"
    return f"by signal {name}"


def end(pid):
    """Kills the program and its group, and waits for it."""
    signal_group(pid, signal.SIGKILL)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def private_folder():
    """Makes a folder that other users cannot enter, and returns its path, or None."""
    for place in (os.environ.get("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"):
        # A socket's address has room for 107 bytes (unix(7)).
        if not place or len(os.fsencode(place)) > 60:
            continue
        path = os.path.join(place, f"hutch-jupyter-{os.urandom(8).hex()}")
        try:
            os.mkdir(path, 0o700)
            return path
        except OSError:
            continue
    return None


def remove_folder(path):
    for name in os.listdir(path):
        os.unlink(os.path.join(path, name))
    os.rmdir(path)
