"""refused.py CASE [ARG...]: the operations of refused.bats inside, where this
file comes on stdin or by -v, and checks of its output."""
import ctypes
import errno
import json
import platform
import subprocess
import sys

x86 = platform.machine() == "x86_64"


def calls():
    """Returns the answers of these calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    for name, nr, *args in [
            ("mount", 165 if x86 else 40, 0, 0, 0, 0, 0), ("umount2", 166 if x86 else 39, 0, 0),
            ("unshare", 272 if x86 else 97, 0x10000000), ("setns", 308 if x86 else 268, -1, 0),
            ("clone", 56 if x86 else 220, 0x20000 | 17, 0, 0, 0, 0), ("clone3", 435, 0, 0),
            ("keyctl", 250 if x86 else 219, 9999),
            ("add_key", 248 if x86 else 217, 0, 0, 0, 0, 0),
            ("packet", 41 if x86 else 198, 17, 3, 0), ("alg", 41 if x86 else 198, 38, 5, 0),
            ("sctp", 41 if x86 else 198, 2, 1, 132), ("audit", 41 if x86 else 198, 16, 3, 9),
            ("tiocsti", 16 if x86 else 29, 0, 0x5412, 0),
            ("setpipe", 72 if x86 else 25, 0, 1031, 4096),
            ("ptrace", 101 if x86 else 117, 16, 999999, 0, 0),
            ("pid 1", 302 if x86 else 261, 1, 0, 0, 0),
            ("listener", 317 if x86 else 277, 1, 8, 0), ("io_uring", 425, 1, 0),
            ("bpf", 321 if x86 else 280, 0, 0, 0), ("unknown", 1000)]:
        ctypes.set_errno(0)
        libc.syscall(*[ctypes.c_long(a) for a in (nr, *args)])
        print(name, errno.errorcode.get(ctypes.get_errno(), 0))


def storm(count, _mark=None):
    """Calls mount(2) that often; for ever if the count is negative."""
    libc = ctypes.CDLL(None)
    left = int(count)
    while left:
        libc.syscall(165 if x86 else 40, 0, 0, 0, 0, 0)
        left -= 1


def told(text):
    """Prints the refusals that --json reports, one a line."""
    for r in json.loads(text.splitlines()[-1])["refused"]:
        assert list(r) == ["what", "path", "layer", "rule", "remedy", "count"], r
        assert r["path"] is None and r["layer"] == "seccomp", r
        print(r["what"], r["count"], r["rule"], sep="|")


def check_rate(*command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as run:
        assert run.stdout.readline() == "on\n"
        result = json.loads(run.communicate()[1].splitlines()[-1])
    count = sum(r["count"] for r in result["refused"])
    print(count, "calls in", result["wall_s"], "s")
    assert 500 < count <= 500 + 500 * result["wall_s"] + 5, result


def check_actions(path):
    with open(path) as file:
        by = {o["cause"]: o for o in map(json.loads, file)}

    def refused(number):
        return [(r["what"], r["layer"], r["rule"], r["count"])
                for r in by[number]["hutch"]["refused"]]

    def suffix(number):
        return by[number]["extras"]["metadata"]["suffix"]

    assert refused(1) == [("unshare(CLONE_NEWUSER)", "seccomp", "the floor", 2)], by[1]
    assert suffix(1).endswith("\n[The sandbox refused system calls that no process in it may make: "
                              "unshare(CLONE_NEWUSER).]"), by[1]
    assert refused(2) == [] and "refused" not in suffix(2), by[2]
    assert refused(3) == [("unshare(CLONE_NEWNET)", "seccomp", "the floor", 1)], by[3]
    assert "refused" not in suffix(3), by[3]
    assert refused(4) == [("unshare(CLONE_NEWUSER)", "seccomp", "the floor", 3)], by[4]
    assert refused(5) == [], by[5]


def refused_events(text):
    return [e for e in map(json.loads, text.splitlines()) if e["event"] == "refused"]


def check_events(text):
    events = refused_events(text)
    assert [e["count"] for e in events] == [1, 10, 100], events
    for e in events:
        assert (e["what"], e["path"], e["layer"], e["rule"]) == (
            "mount", None, "seccomp", "the default profile"), e
        assert "hutch why syscall mount" in e["remedy"], e


def check_record(text):
    events = refused_events(text)
    assert [(e["what"], e["layer"], e["rule"], e["count"]) for e in events] == [
        ("mount", "seccomp", "the default profile", 3),
        ("unshare(CLONE_NEWUSER)", "seccomp", "the floor", 1)], events


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
