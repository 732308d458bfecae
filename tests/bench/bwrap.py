#!/usr/bin/env python3
"""bwrap -- the command lines of programs that start commands by bwrap, by bubblewrap and by
hutch-bwrap in turns.

Alone: tests/bench/bwrap.py [BUILD [ROUNDS]].
"""

import os
import sys
import tempfile

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import measure
import rows

MANY = 1000
MANY_ROUNDS = 5

# As minisweagent/environments/extra/bubblewrap.py has it.
MINI_SWE_AGENT = ["--unshare-user-try", "--ro-bind", "/usr", "/usr", "--ro-bind", "/bin", "/bin",
                  "--ro-bind", "/lib", "/lib", "--ro-bind", "/lib64", "/lib64",
                  "--ro-bind", "/etc", "/etc", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev",
                  "--new-session", "--setenv", "PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/bin"]
CODEX = ["--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
CODEX_NAMESPACES = ["--unshare-user", "--unshare-pid", "--unshare-net", "--proc", "/proc"]


def command_lines(nothing, work):
    """The options of each, and the command; `nothing` is a path that both show."""
    mine = ["--bind", work, work, "--chdir", work]
    many = [word for number in range(MANY) for word in ("--ro-bind", "/usr/lib", f"/many/{number}")]
    return {"mini-swe-agent": MINI_SWE_AGENT + mine + ["--ro-bind", nothing, rows.COMMAND, rows.COMMAND],
            "Codex": CODEX + ["--bind", work, work] + CODEX_NAMESPACES + ["--", nothing],
            f"{MANY:,} binds": many + ["--ro-bind", nothing, rows.COMMAND, rows.COMMAND]}


def pair(build, options):
    return [rows.Row("bwrap", ["bwrap", *options]).probe(),
            rows.Row("hutch-bwrap", [os.path.join(build, "libexec/hutch-bwrap"), *options]).probe()]


def measure_bwrap(timer, build, nothing, work, rounds):
    result = {}
    for name, options in command_lines(nothing, work).items():
        both = pair(build, options)
        why_not = both[0].why_not or both[1].why_not
        if why_not:
            result[name] = {"why_not": why_not}
            continue
        figures = timer.turns(MANY_ROUNDS if name.endswith("binds") else rounds, both)
        result[name] = {row.name: {"p50": round(cost.p50, 3), "cpu": round(cost.cpu, 3)}
                        for row, cost in zip(both, figures)}
    return result


def main():
    build = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "build")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory(prefix="hutch-bench-") as work:
        found = measure_bwrap(measure.Timer(build), build, os.path.join(build, "bench", "nothing"),
                              work, rounds)
    for name, entry in found.items():
        if "why_not" in entry:
            print(f"{name}: not run: {entry['why_not']}")
            continue
        theirs, ours = entry["bwrap"], entry["hutch-bwrap"]
        print(f"{name}: p50 {theirs['p50']:.2f} and {ours['p50']:.2f} ms, {ours['p50'] / theirs['p50']:.2f}; "
              f"CPU {theirs['cpu']:.2f} and {ours['cpu']:.2f} ms, {ours['cpu'] / theirs['cpu']:.2f}")


if __name__ == "__main__":
    main()
