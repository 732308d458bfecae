#!/usr/bin/env -S python3 -SE
"""all.py [--build DIR] [--checked DIR] TIER...: runs tiers of tests and adds up what they print.

--build has gcc's build and --checked clang's with sanitizers, both below the
top of the tree.  TIERS below names the tiers; `ci` and `nightly` are lists of
them.  Each test runs once in `ci`, in the form that finds most: unit tests with
sanitizers, behaviour as an ordinary user, and the tests that concern root as
root.

Prints TAP.  The last line is "N passed, N failed", with ", N skipped" if there
were skips.  A skip has a reason, and with MUST_WORK=1 (CI sets it) a skip is a
failure, unless its reason has "this host has no".  Lines `flaky: NAME`
come before it, and stand in build/flaky.txt (runner.py).

Started by root, tests run as the ordinary user hutch-test, which this program
adds, from a copy of the tree that this user may read.
"""
import argparse
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from runner import Run, Suite  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent
USER = "hutch-test"
CORES = len(os.sched_getaffinity(0))

# Suites without a run under sanitizers, which would find nothing more: they compare
# texts, or kill programs.
NOT_SANITIZED = set("""agents apparmor completion demo docs doctor killed net_death pool sdk typed why
                    wrong_inputs""".split())
# Suites that `ci` runs only as an ordinary user, since what they test does not depend on the
# user that made the sandbox; `nightly` runs all suites as root (run-root).
NOT_AS_ROOT = set("""act agent_skills agents archive audit bash_texts broker codes completion control control_hostile
    cow cp create day demo docs doctor edit egress env environment errand file_viewer floods git grep hostile hosts
    image_build image_copied image_fuse image_hostile image_launch image_pull image_ranges
    image_runtime image_store image_upper input keep killed landlock landlock_root learn library
    limits log logs missing named allow net_attacks net_death net_live openhands policy pool ports processes refused
    results rules sdk seccomp secrets serve session session_rows snapshot static stdio stopped stream
    terminal typed update why window wrong_inputs""".split())
# Suites of NOT_AS_ROOT of which root runs only the cases whose names contain this text.
ONLY_AS_ROOT = {
    "cow": "a folder that its owner may not", "cp": "as root,", "doctor": "a root |root's",
    "hostile": "a file capability", "image_launch": "root is told",
    "image_store": "a full disk is", "landlock": "root becomes", "missing": "a link that another user",
    "pool": "waited for room", "serve": "that root starts", "results": "the descriptor of --json"}
# Unit tests that root runs, too.  All others do the same for every user.
UNITS_AS_ROOT = set("""all_processes apply archive_layer archive_pack archive_unpack caps
    changes channel checks confine copy copy_dest files folders host_user idmap image_copy jail
    janitor landlock landlock_filters landlock_root lease ledger listener mount_target mounts
    netns network overlay_upper peers plan pools processes program protect_watch registry registry_end
    rlimits root_fuse scope seccomp_kernel serve_confine shell spawn store supervise supervise_run trace
    tree_removal user volumes walk watchdog workers""".split())
# Tests that do not run inside a sandbox of hutch: they need something that a sandbox
# lacks, or take long and find nothing there.
NOT_INSIDE = set("""all_processes archive_pack archive_unpack bash_split cgroup changes
    compile_rules executor peers processes_many pump relay screen_hostile session walk""".split())
# These unit tests need cgroup controllers, which only the machines of the vm tiers have.
UNITS_OF_VM = {"cgroup"}
# The longest suites begin first, so that none of them is left for the end.
LONG = """agents act cow image_build landlock named session_rows day control control_hostile edit cp
    session errand learn pool image_store image_pull sdk library killed escape""".split()
# Larger numbers for `make nightly`: more kills at random instants, more launches, and
# sizes at which a cost that grows too fast shows.
NIGHTLY = {
    "act": {"LINES": 10000}, "audit": {"ROUNDS": 30}, "bash_texts": {"TEXTS": 4000},
    "control_hostile": {"ROUNDS": 200, "VISITS": 10000, "SIGNALS": 50, "LINE_MIB": 1024},
    "cow": {"ROUNDS": 40}, "cp": {"MANY": 100000, "MIB": 1024}, "broker": {"TRIES": 5000},
    "edit": {"TEXTS": 4000, "EDITS": 50}, "hostile": {"ROUNDS": 200}, "image_build": {"ROUNDS": 10},
    "image_pull": {"ROUNDS": 40}, "image_ranges": {"ROUNDS": 8},
    "image_store": {"ROUNDS": 60}, "keep": {"ROUNDS": 60},
    "killed": {"ROUNDS": 500, "LAUNCHES": 10000}, "learn": {"PATHS": 1000},
    "named": {"ROUNDS": 60}, "net_death": {"ROUNDS": 500}, "pool": {"ROUNDS": 60},
    "ports": {"BYTES": 200000001, "VISITS": 600},
    "processes": {"ORPHANS": 5000}, "snapshot": {"ROUNDS": 12, "FILES": 1500},
    "static": {"ACTIONS": 1200}, "volumes": {"VOLUMES": 1000}, "window": {"FLOOD": 5},
}


class Place:
    """Where tests run, and as which user: the tree, or a copy of it that the
    ordinary user may read."""

    def __init__(self, build, checked, stage):
        self.top, self.stage, self.is_root = stage or TOP, stage, os.getuid() == 0
        self.build = self.top / build
        self.checked = self.top / checked if checked else None
        self.in_memory = self.as_user = []
        if self.is_root:
            user = pwd.getpwnam(USER)
            keep = [f"{name}={os.environ[name]}" for name in ("PATH", "MUST_WORK", "CI", "SEED")
                    if name in os.environ]
            self.as_user = ["setpriv", "--reuid", user.pw_uid, "--regid", user.pw_gid,
                            "--init-groups", "--reset-env", "env", f"HOME={user.pw_dir}",
                            f"USER={USER}", f"LOGNAME={USER}", *keep]
            # The ordinary user has the disk's /tmp and root one in memory, so
            # that the tests use two file systems.
            if tmpfs_has_attributes():
                self.in_memory = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o mode=1777 "
                                  'tmpfs /tmp && exec "$@"', "-"]

    def tests(self, pattern):
        """Returns the names of files below tests/, as in run/*.bats, the
        longest suites first."""
        names = [path.stem for path in sorted((self.top / "tests").glob(pattern))]
        return sorted(names, key=lambda name: LONG.index(name) if name in LONG else len(LONG))


def tmpfs_has_attributes():
    """Returns whether tmpfs has the attributes that layers of images need
    (Linux 6.6)."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file, contextlib.suppress(OSError):
        os.setxattr(file.name, "user.hutch", b"1")
        return True
    return False


# --- tiers ------------------------------------------------------------------------------

def units(place, build, label, before, names=None):
    for path in sorted((build / "tests/unit").iterdir()):
        if os.access(path, os.X_OK) and path.name not in UNITS_OF_VM and \
                (names is None or path.name in names):
            yield Suite(f"{label} {path.name}",
                        [*before, "env", "CMOCKA_MESSAGE_OUTPUT=TAP", path])


def unit(place):
    yield from units(place, place.checked, "unit", place.as_user)
    if place.is_root:
        yield from units(place, place.checked, "unit (root)", place.in_memory, UNITS_AS_ROOT)


def unit_gcc(place):
    yield from units(place, place.build, "unit (gcc)", place.as_user)
    if place.is_root:
        yield from units(place, place.build, "unit (gcc, root)", place.in_memory)


def inside(place):
    """Runs unit tests in a sandbox, which must have everything that they need."""
    for suite in units(place, place.build, "unit (inside)", []):
        *_, path = suite.argv
        if os.path.basename(path) not in NOT_INSIDE:
            yield Suite(suite.name, [
                *place.as_user, place.build / "hutch", "run", "--workspace", f"{place.top}:ro",
                "-e", "CMOCKA_MESSAGE_OUTPUT=TAP", "--", os.path.relpath(path, place.top)])


def bats(place, build, label, before, names, counts=None, folder="run", parts=None):
    """counts: variables of a suite by its name; parts: a part of the names of
    its cases."""
    for name in names:
        variables = (counts or {}).get(name, {})
        only = ["--filter", parts[name]] if parts else []
        yield Suite(f"{label} {name}", [
            *before, "env", f"HUTCH={build / 'hutch'}", f"BUILD={build}",
            *(f"{key}={value}" for key, value in variables.items()),
            "bats", "--tap", *only, place.top / "tests" / folder / f"{name}.bats"],
            alone=folder == "clock")


def run(place):
    names = place.tests("run/*.bats")
    yield from bats(place, place.build, "run", place.as_user, names)
    if place.is_root:
        yield from bats(place, place.build, "run (root)", place.in_memory,
                        [name for name in names if name not in NOT_AS_ROOT])
        yield from bats(place, place.build, "run (root)", place.in_memory, ONLY_AS_ROOT,
                        parts=ONLY_AS_ROOT)


def run_root(place):
    yield from bats(place, place.build, "run (root)", place.in_memory, place.tests("run/*.bats"))


def run_sanitized(place):
    yield from bats(place, place.checked, "run (sanitized)", [*place.in_memory, *place.as_user],
                    [name for name in place.tests("run/*.bats") if name not in NOT_SANITIZED])


def run_many(place):
    """Runs all of the run tier as the ordinary user, with the counts of NIGHTLY."""
    yield from bats(place, place.build, "run", place.as_user, place.tests("run/*.bats"), NIGHTLY)


def clock(place):
    """Runs the suites that must watch a real clock."""
    yield from bats(place, place.build, "clock", place.as_user, place.tests("clock/*.bats"),
                    folder="clock")


def probes(place, label, before, *command, alone=False):
    return Suite(label, [*before, "env", f"HUTCH={place.build / 'hutch'}",
                         f"PROBE={place.build / 'tests/probe'}",
                         f"LISTENER={place.build / 'tests/listener'}", *command], alone=alone)


def escape(place):
    script = place.top / "tests/escape/run.sh"
    yield probes(place, "escape", place.as_user, script, "check")
    if place.is_root:
        yield probes(place, "escape (root)", [], script, "check")


def escape_table(place):
    """Prints as comments, for readers, the same probes in hutch, in bwrap and
    outside.  They fill accounts that the kernel keeps for each user, such as
    pages of pipes, which `escape` compares; so both never run at a time."""
    yield probes(place, "escape table", place.as_user, "bash", "-o", "pipefail", "-c",
                 '"$1" table | sed "s/^/# /" && echo "ok 1 - drawn"', "-",
                 place.top / "tests/escape/run.sh", alone=True)


def fuzz_for(place, runs, seconds):
    for name in place.tests("fuzz/fuzz_*.c"):
        name = name.removeprefix("fuzz_")
        yield Suite(f"fuzz {name}", [place.top / "tests/fuzz/run.sh", place.checked / "fuzz" / name,
                                     place.top / "tests/fuzz/corpus" / name, runs, seconds])


def fuzz(place):
    return fuzz_for(place, 1000, 0)


def fuzz_long(place):
    return fuzz_for(place, -1, int(os.environ.get("FUZZ_SECONDS", 30)))


def endure_for(place, label, build, seconds, before):
    """Runs random clients with a pause between their actions, so that other
    suites can run at the same time."""
    yield Suite(label, [*before, "env", "PYTHONDONTWRITEBYTECODE=1", f"ENDURE_SECONDS={seconds}",
                        "ENDURE_PACE=0.7", "python3", place.top / "tests/endure/soak.py",
                        build / "hutch"], bound=seconds + 1800)


def endure(place):
    yield from endure_for(place, "endure", place.build, 1200, place.as_user)
    yield from endure_for(place, "endure (sanitized)", place.checked, 600, place.as_user)


def endure_short(place):
    """Shows that the soak still knows each answer's form."""
    yield from endure_for(place, "endure (short)", place.build, 5, place.as_user)


def soak(place):
    seconds = int(os.environ.get("ENDURE_SECONDS", 7200))
    yield from endure_for(place, "soak", place.build, seconds, place.as_user)


def vm(place, *variables):
    """Runs the parts of the tier on a machine each, since a machine has one processor."""
    for part in "limits", "owners", "copy", "fuse", "single":
        yield Suite(f"vm {part}", [*place.as_user, "env", f"PARTS={part}", *variables,
                                   place.top / "tests/vm/run.sh", "--build", place.build])


def vm_many(place):
    return vm(place, "ROUNDS=40")


def vm_systemd(place):
    yield Suite("vm with systemd", [TOP / "tests/vm/systemd.sh", "--build",
                                    TOP / place.build.relative_to(place.top)], alone=True)


def vm_qemu(place, *variables):
    yield Suite("vm in qemu", ["env", *variables, TOP / "tests/vm/qemu.sh", "--build",
                               TOP / place.build.relative_to(place.top)], alone=True, bound=7200)


def vm_qemu_few(place):
    """Runs those tiers in which only that kernel shows something: all of them take three quarters
    of an hour, since the processor is emulated."""
    return vm_qemu(place, "QEMU_TIERS=doctor apparmor escape escape-root run:learn run:images run-root:images"
                   " run:image_upper run:limits run:allow")


def vm_engines(place):
    """Runs suites with hutch-oci and hutch-bwrap beside the reference on one kernel with cgroup
    version 2, where their cases of limits run, and the validation of runtime-tools, which knows
    version 1 alone, with all hierarchies of that."""
    both = [f"engine:{{}}:{program}" for program in ("crun", "hutch-oci")]
    tiers = [tier.format(suite) for suite in ("crun", "podman") for tier in both]
    tiers += ["engine:bubblewrap:hutch-bwrap", "run:oci", "run-root:oci", "run:bwrap", "run-root:bwrap",
              "run:nesting", "run-root:nesting", "run:apptainer", "run-root:apptainer"]
    yield from vm_qemu(place, "QEMU_TIERS=" + " ".join(tiers))
    tiers = [tier.format("runtime-tools") for tier in both] + ["run-root:oci", "run-root:oci_cgroup"]
    yield from vm_qemu(place, "QEMU_KERNEL=systemd.unified_cgroup_hierarchy=0", "QEMU_TIERS=" + " ".join(tiers))


def packages(place):
    yield Suite("packages", [TOP / "tests/packages/run.sh", place.build, place.top,
                             *place.as_user])


def clients(place):
    """Runs real clients of the network in an image that hutch builds, and agents of PyPI, which
    takes minutes the first time."""
    yield Suite("clients", [TOP / "tests/clients/run.sh", place.build, place.top, *place.as_user],
                bound=3600)
    yield Suite("agents", [TOP / "tests/clients/agents/run.sh", place.build, place.top, *place.as_user],
                bound=3600)


def fresh(_place):
    """Runs the README's two commands, as a new user does; it builds both trees,
    and runs `ci`."""
    yield Suite("fresh", [TOP / "tests/fresh/run.sh"], alone=True, bound=7200)


def dist(_place):
    """Tries the packages that `make dist` has made."""
    yield Suite("dist", [TOP / "tests/dist/run.sh", TOP / "build/dist"], alone=True, bound=7200)


def layers(place):
    yield Suite("layers", [TOP / "tests/layers/run.sh", "--build",
                           TOP / place.build.relative_to(place.top)], alone=True, bound=7200)


def guard(place):
    """Compares the CPU time and memory of launches, lives and actions with an earlier build."""
    yield Suite("bench guard", [TOP / "tests/bench/guard.py", "--build", place.build], alone=True)


def lint(_place):
    """Runs the checks of the sources, in a tree where git knows the files."""
    for path in sorted((TOP / "tests/lint").glob("*.py")):
        if os.access(path, os.X_OK):
            yield Suite(f"lint {path.stem}", [path])


TIERS = {
    "vm": vm, "unit": unit, "run": run, "escape": escape, "fuzz": fuzz, "lint": lint,
    "clock": clock, "escape-table": escape_table, "unit-gcc": unit_gcc, "inside": inside, "run-root": run_root,
    "run-sanitized": run_sanitized, "run-many": run_many, "fuzz-long": fuzz_long,
    "endure": endure, "endure-short": endure_short, "soak": soak, "vm-many": vm_many,
    "vm-systemd": vm_systemd, "vm-qemu": vm_qemu, "vm-qemu-few": vm_qemu_few, "vm-engines": vm_engines,
    "packages": packages,
    "clients": clients, "layers": layers, "fresh": fresh, "dist": dist,
    "guard": guard,
}
LISTS = {
    "ci": "vm run endure-short escape unit fuzz lint clock",
    "nightly": "endure vm-many run-many run-root run-sanitized packages clients escape unit unit-gcc"
               " inside fuzz-long lint clock escape-table vm-systemd vm-qemu-few vm-engines layers dist fresh guard",
}
OF_ROOT = {"vm-systemd", "vm-qemu", "vm-qemu-few", "vm-engines", "packages", "clients", "run-root", "dist", "fresh"}


# --- what the ordinary user may read ----------------------------------------------------

def add_user():
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(USER)
    subprocess.run(["useradd", "--create-home", USER], check=True)
    return pwd.getpwnam(USER)


def copy_tree(stage, builds):
    """Copies the tree as git has it, and the programs of the builds, without
    objects and archives."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=TOP, capture_output=True, check=True)
    files = {pathlib.Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name}
    # Packages of a release, which no suite in the copy needs, are left out.
    # A set has each file once: the folder of the build with sanitizers lies in the
    # folder of the other build.
    for build in builds:
        files |= {path.relative_to(TOP) for path in (TOP / build).rglob("*")
                  if path.suffix not in {".o", ".d"} and path.parent.name != "host"
                  and not path.is_relative_to(TOP / build / "dist") and path.is_file()}
    for file in files:
        if os.path.lexists(TOP / file):
            (stage / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / file, stage / file, follow_symlinks=False)
    subprocess.run(["chmod", "-R", "a+rX", stage], check=True)


@contextlib.contextmanager
def staged(builds):
    if os.getuid() != 0:
        yield None
        return
    add_user()
    with tempfile.TemporaryDirectory(prefix="hutch-stage.", dir="/var/tmp") as stage:
        copy_tree(pathlib.Path(stage), builds)
        yield pathlib.Path(stage)


def below_top(folder):
    path = pathlib.Path(folder).resolve()
    if not path.is_relative_to(TOP):
        raise argparse.ArgumentTypeError(f"{folder} is not below {TOP}")
    return path.relative_to(TOP)


def main():
    options = argparse.ArgumentParser(description="Runs tiers of tests.")
    options.add_argument("--build", type=below_top, default=below_top(TOP / "build"))
    options.add_argument("--checked", type=below_top)
    options.add_argument("tiers", nargs="+", choices=[*TIERS, *LISTS], metavar="TIER")
    given = options.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")
    tiers = [tier for word in given.tiers for tier in LISTS.get(word, word).split()]
    if os.getuid() != 0:
        for tier in OF_ROOT.intersection(tiers):
            print(f"# {tier} needs root, and is left out", flush=True)
        tiers = [tier for tier in tiers if tier not in OF_ROOT]
    if not tiers:
        sys.exit("no tier is left")
    # Removes the file of an earlier run, in case this one stops early.
    flaky = TOP / given.build / "flaky.txt"
    flaky.unlink(missing_ok=True)
    builds = [given.build, *([given.checked] if given.checked else [])]
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    with staged(builds) as stage, Run() as tests:
        place = Place(given.build, given.checked, stage)
        os.chdir(place.top)
        suites = {tier: list(TIERS[tier](place)) for tier in tiers}
        if empty := [tier for tier in tiers if not suites[tier]]:
            sys.exit(f"no test is in {', '.join(empty)}")
        tests.suites([suite for tier in suites for suite in suites[tier]], CORES * 6)
        tests.again()
        return tests.sum_up(os.environ.get("MUST_WORK") == "1", flaky)


if __name__ == "__main__":
    sys.exit(main())
