"""terminal_inside.py CASE: operations on a terminal inside, for terminal.bats
and seccomp.bats."""
import fcntl
import os
import pty
import signal
import sys


def sizes():
    """Waits for SIGWINCH in Python: bash may fail to handle one in $()."""
    changed = {signal.SIGWINCH}
    signal.pthread_sigmask(signal.SIG_BLOCK, changed)
    print("ready", flush=True)
    for _ in range(2):
        signal.sigwait(changed)
        print(*os.get_terminal_size(), flush=True)


def second():
    _, slave = pty.openpty()
    print("second", os.ttyname(slave))


def type_for_others():
    try:
        os.dup2(os.open("/dev/tty", os.O_RDWR), 3)
    except OSError:
        pass
    for fd in 0, 1, 2, 3:
        # The requests are TIOCSTI, TIOCLINUX, and TIOCSTI with an upper bit that the kernel
        # ignores.
        for request in 0x5412, 0x541C, 0x5412 + (1 << 31):
            try:
                fcntl.ioctl(fd, request, b"#")
                print("worked")
            except OSError:
                print("refused")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
