#!/usr/bin/env python3
"""bench -- the costs of hutch and of its peers, in one run on one machine.

    bench.py [--build DIR] [--rounds N] [--user NAME] [--as-root] [--json FILE] [--check]
             [--only PART[,PART...]] [--limits]

As root it becomes an ordinary user first (--user, else `hutch-test` if there is
one, else `nobody`) and, with --as-root, does everything once more as root.  A
time is never a failure, except with --check, which exits 1 where the goals of a
launch are missed.  Always failures are: no bwrap, since there would be nothing
to compare with; a floor that does not do the same as hutch; mounts or folders
that launches left behind.  --only names the
parts to measure.  With --limits the bench measures only the launch
with limits, as the calling user, and prints one line; a command that fails is a
failure.  README.md beside this file says what each figure means.
"""

import argparse
import contextlib
import ctypes
import json
import os
import platform
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the tree may be somebody else's, or read-only

import actions
import alive
import apply
import bwrap
import egress
import floods
import goals
import measure
import named
import past
import plan
import ports
import pull
import rows
import search
import serve
import sessions
import table
import unpack

HERE = os.path.dirname(os.path.abspath(__file__))
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
PR_SET_DUMPABLE = 4
USERS = ("hutch-test", "nobody")
UNIFIED = "/sys/fs/cgroup/unified"

# Number of additional mounts: number of rounds.  With 1000 mounts bwrap needs a second
# for each round.
VOLUMES = {10: 40, 100: 20, 1000: 5}
IN_A_ROW = 500
AT_ONCE = (100, 200)
ONE_BY_ONE = 200


def chosen_parts(text):
    wanted = [name for name in text.split(",") if name]
    for name in wanted:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"'{name}' is no part; parts are {' '.join(PARTS)}")
    return wanted


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--user")
    parser.add_argument("--as-root", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", metavar="PART[,PART...]", type=chosen_parts, default=[])
    parser.add_argument("--limits", action="store_true")
    options = parser.parse_args()
    options.build = os.path.realpath(options.build)
    return options


def measure_launches(bench, result):
    measure_rows(bench, result, bench.rows.all())


def measure_rows(bench, result, rows_wanted):
    kinds = [row.probe() for row in rows_wanted]
    runnable = [row for row in kinds if not row.why_not]
    figures = bench.timer.turns(bench.rounds, runnable)
    result["launch"] = {
        row.name: {"why_not": row.why_not} for row in kinds if row.why_not}
    result["launch"].update(
        {row.name: cost.as_dict() for row, cost in zip(runnable, figures)})
    result["order"] = [row.name for row in kinds]


def measure_volumes(bench, result):
    """A launch with N more mounts, less one without them, both in the same run."""
    result["volumes"] = {}
    for count, rounds in VOLUMES.items():
        pairs = bench.volumes(count)
        for make in (bench.rows.hutch, bench.rows.bwrap):
            without, with_them = make().probe(), make(pairs).probe()
            entry = {"why_not": without.why_not or with_them.why_not}
            if not entry["why_not"]:
                none, many = bench.timer.turns(rounds, [without, with_them])
                entry = {"extra_ms": round(many.p50 - none.p50, 3),
                         "p50": round(many.p50, 3)}
            result["volumes"].setdefault(without.name, {})[str(count)] = entry


def measure_series(bench, result):
    """Many launches in a row.  The host is examined right after a launch both
    times, so that both times the kernel is still taking down something in the
    background."""
    row = bench.rows.hutch().probe()
    if row.why_not:
        result["series"] = {"why_not": row.why_not}
        return
    bench.timer.turns(IN_A_ROW // 5, [row])
    before = measure.host_state(bench.state)
    cost = bench.timer.turns(IN_A_ROW, [row])[0]
    after = measure.host_state(bench.state)
    result["series"] = cost.as_dict()
    result["series"]["growth"] = {
        key: round(after[key] - before[key], 1) for key in after}


def cpu_of_one(bench, row):
    """One launch, by its own account and by the whole machine's: the kernel
    takes down namespaces in threads of its own, which count for no process."""
    before = measure.machine_cpu()
    cost = bench.timer.turns(ONE_BY_ONE, [row])[0]
    # timer.turns() runs one round more than it reports.
    return cost.cpu, (measure.machine_cpu() - before) / (ONE_BY_ONE + 1)


def start_once(bench, row, count):
    before = measure.machine_cpu()
    cost = bench.timer.together(count, row)
    return cost, measure.machine_cpu() - before


def start_together(bench, row, count, one, one_machine):
    """Returns the middle one of three tries."""
    tries = [start_once(bench, row, count) for _ in range(3)]
    cost, machine = sorted(tries, key=lambda found: found[0].slowest)[1]
    shared = count / os.cpu_count()
    return {"all_done_ms": round(cost.slowest, 2), "failed": cost.failed,
            "one_cpu_ms": round(one, 3), "one_machine_ms": round(one_machine, 3),
            "ratio": round(cost.slowest / (shared * one), 3),
            "machine_ratio": round(cost.slowest / (shared * one_machine), 3),
            "cpu_ms": round(cost.cpu_total, 2), "machine_ms": round(machine, 2)}


def measure_together(bench, result):
    result["together"] = {}
    for row in (bench.rows.floor(), bench.rows.floor("--beside"), bench.rows.hutch(),
                bench.rows.bwrap()):
        row.probe()
        known = result["together"].setdefault(row.name, {})
        one = None if row.why_not else cpu_of_one(bench, row)
        for count in AT_ONCE:
            known[str(count)] = ({"why_not": row.why_not} if row.why_not
                                 else start_together(bench, row, count, *one))


def measure_memory(bench, result):
    hutch, bwrap = bench.rows.hutch().probe(), bench.rows.bwrap().probe()
    result["memory"] = {}
    for row, argv in ((hutch, hutch.argv[:-1]), (bwrap, bwrap.argv[:-1])):
        result["memory"][row.name] = ({"why_not": row.why_not} if row.why_not
                                      else measure.memory_of(argv))


def measure_actions(bench, result):
    result["actions"] = actions.measure_actions(bench.rows.hutch_path)


def measure_sessions(bench, result):
    result["sessions"] = sessions.measure_sessions(bench.rows.hutch_path, bench.work)


def measure_floods(bench, result):
    result["floods"] = floods.measure_floods(bench.rows.hutch_path)


def measure_named(bench, result):
    result["named"] = named.measure_named(bench.timer, bench.rows.hutch_path,
                                          bench.rows.bwrap().probe(), bench.rounds)


def measure_alive(bench, result):
    wanted = [bench.rows.floor(), bench.rows.floor("--beside"), bench.rows.hutch(),
              bench.rows.bwrap()]
    result["alive"] = alive.measure_alive(bench.timer, bench.rows.hutch_path,
                                          [row.probe() for row in wanted], bench.rounds)


def measure_search(bench, result):
    result["search"] = search.measure_search(bench.rows.hutch_path)


def measure_judge(bench, result):
    said = subprocess.run([os.path.join(bench.rows.bench, "judge")], capture_output=True, text=True,
                          check=True)
    count, one, four = said.stdout.split()
    result["judge"] = {"rules": int(count), "one_us": float(one), "four_us": float(four)}


def measure_unpack(bench, result):
    if not shutil.which("umoci"):
        result["unpack"] = result["pull"] = {"why_not": "umoci is not here"}
        return
    driver = os.path.join(os.path.dirname(bench.rows.hutch_path), "tests", "run", "layer")
    image, places = unpack.make_image(bench.work), unpack.all_places()
    result["unpack"] = unpack.measure_unpack(driver, image, places)
    result["pull"] = pull.measure_pull(bench.rows.hutch_path, image, places, bench.work)


def measure_past(bench, result):
    result["past"] = past.measure_past(bench.rows.hutch_path, unpack.all_places(),
                                       bench.work)


def measure_apply(bench, result):
    result["apply"] = apply.measure_apply(bench.rows.hutch_path)


def measure_bwrap(bench, result):
    build = os.path.dirname(bench.rows.hutch_path)
    result["bwrap"] = bwrap.measure_bwrap(bench.timer, build, bench.rows.nothing, bench.work,
                                          bench.rounds)


def measure_ports(bench, result):
    result["ports"] = ports.measure_ports(bench.rows.hutch_path)


def measure_egress(bench, result):
    result["egress"] = egress.measure_egress(bench.rows.hutch_path)


def measure_serve(bench, result):
    result["serve"] = serve.measure_serve(bench.rows.hutch_path)


PARTS = {
    "launch": measure_launches, "volumes": measure_volumes, "series": measure_series,
    "together": measure_together, "memory": measure_memory, "actions": measure_actions,
    "sessions": measure_sessions, "floods": measure_floods, "named": measure_named,
    "alive": measure_alive,
    "search": measure_search, "judge": measure_judge, "unpack": measure_unpack,
    "past": measure_past, "apply": measure_apply, "bwrap": measure_bwrap, "ports": measure_ports,
    "egress": measure_egress, "serve": measure_serve,
}


@contextlib.contextmanager
def folders():
    """A folder for scratch files and XDG_RUNTIME_DIR.  A login makes the latter
    in memory, so this one is in memory, too, if there is a tmpfs that every
    user may write to."""
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hutch-bench-") as work, \
            tempfile.TemporaryDirectory(prefix="hutch-bench-", dir=shared) as runtime:
        yield work, runtime


class Bench:
    """Shared by the measurements: programs, scratch folders, the timer."""

    def __init__(self, options, work, runtime):
        self.rounds, self.only = options.rounds, options.only
        self.rows = rows.Rows(options.build, work)
        self.timer = measure.Timer(options.build)
        self.work = work
        self.state = runtime
        os.environ["XDG_RUNTIME_DIR"] = runtime

    def volumes(self, count):
        pairs = []
        for number in range(count):
            source = os.path.join(self.work, f"v{number:04}")
            os.makedirs(source, exist_ok=True)
            pairs.append((source, f"/v/{number:04}"))
        return pairs

    def run(self):
        result = {"uid": os.getuid(), "kernel": platform.release(),
                  "machine": platform.machine(), "cores": os.cpu_count(),
                  "rounds": self.rounds, "load": os.getloadavg()[0], "only": self.only}
        self.rows.write_table()
        result["differences"] = self.rows.differences()
        for name, measure_part in PARTS.items():
            if name in self.only or not self.only:
                measure_part(self, result)
        result["goals"] = goals.judge(result)
        return result


def print_limits(options):
    result = {}
    with folders() as (work, runtime):
        bench = Bench(options, work, runtime)
        measure_rows(bench, result, [bench.rows.hutch(), bench.rows.limited()])
    print(table.limits(result))
    return sum(row.get("failed", 0) for row in result["launch"].values())


def call(libc, name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def show_unified_cgroups():
    """crun refuses a hybrid hierarchy even if it is to use no cgroup.  In the
    bench's own mount namespace every row sees only the unified part."""
    if os.getuid() != 0 or not os.path.isdir(UNIFIED):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    call(libc, "unshare", CLONE_NEWNS)
    call(libc, "mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    call(libc, "mount", UNIFIED.encode(), b"/sys/fs/cgroup", None, MS_BIND, None)


def become(name):
    user = pwd.getpwnam(name)
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    # The change of ids gave our own /proc/self to root (proc(5)).
    call(ctypes.CDLL(None, use_errno=True), "prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
    os.environ.update(HOME=user.pw_dir, USER=name, LOGNAME=name)


def copy_programs(build, work):
    """Copies the programs, as an installation does.  The page cache has a file that the linker
    has just written in smaller pages, and such a program starts slower."""
    to = os.path.join(work, "build")
    os.mkdir(to)
    subprocess.run(["cp", "-r", *(os.path.join(build, name) for name in ("hutch", "libexec", "bench")),
                    to], check=True)
    return to


def measure_all(options):
    with folders() as (work, runtime):
        options.build = copy_programs(options.build, work)
        # When root starts the benchmark, the launches become another user, which has to
        # read the plan's table in this folder.
        os.chmod(work, 0o755)
        try:
            return Bench(options, work, runtime).run()
        except plan.NotUnderstood as problem:
            return {"problem": str(problem)}


def run_as(name, options):
    """Runs one pass in a separate process, since there is no way back from
    setuid(2)."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ends[0])
        if name is not None:
            become(name)
        with os.fdopen(ends[1], "w") as out:
            json.dump(measure_all(options), out)
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0]) as answer:
        text = answer.read()
    if os.waitpid(child, 0)[1] != 0 or not text:
        sys.exit("bench: the measurements did not finish")
    result = json.loads(text)
    if "problem" in result:
        sys.exit(f"bench: {result['problem']}")
    return result


def passes_of(options):
    if os.getuid() != 0:
        return [None]
    known = {entry.pw_name for entry in pwd.getpwall()}
    user = options.user or next(name for name in USERS if name in known)
    return [user, None] if options.as_root else [user]


def main():
    options = parse_arguments()
    if options.limits:
        sys.exit(1 if print_limits(options) else 0)
    show_unified_cgroups()
    results = [run_as(name, options) for name in passes_of(options)]
    for result in results:
        print(table.render(result))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    wrong = [line for result in results
             for line in goals.failures(result, options.check)]
    for line in wrong:
        print(f"bench: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
