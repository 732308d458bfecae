#!/usr/bin/env python3
"""guard -- what a launch, a sandbox's life, an action and memory cost, beside an
earlier build.

    guard.py [--build DIR] [--base COMMIT] [--against DIR] [--blocks N]

Prints TAP: CPU time or memory that is more than 3 % worse than the earlier build's
is not ok; wall time is told in a comment, since a busy machine changes it.  Both
builds run in turn, in blocks of one to two seconds, and each block gives a ratio.
A figure is worse if the median of the ratios says so, and three blocks of four
agree that it is not better: a machine that others use, too, disturbs single
blocks, and both builds alike.  --base names the commit, which base.sh builds once;
without it the guard is skipped where the history is too short.  --against is a
folder with programs that are built already.  As root it becomes an ordinary user
first, as bench.py does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True

import actions
import bench
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
WORSE = 1.03
AGREE = 0.75
NO_COMMIT = 2  # base.sh's exit status
LAUNCHES, LIVES, ACTIONS = 40, 15, 100
ECHO = actions.line("run", command="echo hi")


class Command:
    """A row as the timer needs it."""

    def __init__(self, argv):
        self.argv = argv


class Side:
    """One of the two builds, with a client that stays connected."""

    def __init__(self, folder, name):
        self.hutch, self.name = os.path.join(folder, "hutch"), name
        self.client = actions.Client([self.hutch, "act"])

    def launch(self):
        return Command([self.hutch, "run", "/bin/true"])

    def life(self):
        box = "guard-" + self.name
        return [self.hutch, "create", box], [self.hutch, "rm", "-f", box]


def measure_launches(timer, sides):
    costs = timer.turns(LAUNCHES, [side.launch() for side in sides])
    return {"a launch, ms": [cost.p50 for cost in costs],
            "a launch, CPU ms": [cost.cpu for cost in costs]}


def measure_lives(timer, sides):
    """The timer's turns would wait for each supervisor, which its lanes do not."""
    costs = [timer.lanes(1, LIVES, side.life()) for side in sides]
    return {"create and rm, ms": [cost["wall"] / LIVES for cost in costs],
            "create and rm, CPU ms": [cost["cpu"] / LIVES for cost in costs]}


def measure_actions(sides):
    took = [[] for _ in sides]
    for _ in range(ACTIONS):
        for samples, side in zip(took, sides):
            answer, microseconds = side.client.ask(ECHO)
            if b'"content":"hi"' not in answer:
                raise RuntimeError(f"not what was asked for: {answer[:200]}")
            samples.append(microseconds / 1e3)
    return {"an action, ms": [statistics.median(samples) for samples in took]}


def named_kib(side):
    """The private memory of a sandbox with a name: its supervisor's and all below it."""
    create, remove = side.life()
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
    try:
        said = subprocess.run([side.hutch, "inspect", create[-1]], check=True,
                              capture_output=True, text=True).stdout
        pid = json.loads(said)[0]["pid"]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            supervisor = int(file.read().rsplit(")", 1)[1].split()[1])
        return sum(measure.private_kib(one)
                   for one in [supervisor, *measure.children_of(supervisor)])
    finally:
        subprocess.run(remove, check=True, stdout=subprocess.DEVNULL)


def act_kib(side):
    """The private memory of a new hutch act.  One client for all blocks would not do: its
    memory differs from another's by a page or two."""
    client = actions.Client([side.hutch, "act"])
    try:
        client.ask(ECHO)
        return actions.private_memory(client)
    finally:
        client.close()


def measure_memory(sides):
    return {"memory of hutch act, KiB": [act_kib(side) for side in sides],
            "memory of a sandbox with a name, KiB": [named_kib(side) for side in sides]}


def measure_blocks(build, sides, count):
    """Returns for each figure a list of pairs: the earlier build's, and this one's.  Every
    other block begins with this build."""
    timer, figures = measure.Timer(build), {}
    for block in range(count):
        order = sides if block % 2 == 0 else sides[::-1]
        for found in (measure_launches(timer, order), measure_lives(timer, order),
                      measure_actions(order), measure_memory(order)):
            for name, pair in found.items():
                figures.setdefault(name, []).append(pair if order is sides else pair[::-1])
    return figures


def is_worse(ratios):
    return statistics.median(ratios) > WORSE and \
        sum(ratio > 1 for ratio in ratios) >= AGREE * len(ratios)


def is_wall(name):
    return name.endswith(", ms")


def print_verdicts(figures):
    """Prints a line for each figure; returns how many of CPU time and memory are worse."""
    worse = number = 0
    for name, pairs in figures.items():
        ratios = [now / before for before, now in pairs]
        before, now = (statistics.median(values) for values in zip(*pairs))
        said = f"{name}: {now:.2f}, it was {before:.2f}: " \
            f"{(statistics.median(ratios) - 1) * 100:+.1f} %, more in " \
            f"{sum(ratio > 1 for ratio in ratios)} of {len(ratios)} blocks"
        if is_wall(name):
            print(f"# {said}")
            continue
        number += 1
        worse += is_worse(ratios)
        print(f"{'not ok' if is_worse(ratios) else 'ok'} {number} - {said}")
    print(f"1..{number}")
    return worse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"))
    parser.add_argument("--base", default="")
    parser.add_argument("--against", metavar="DIR")
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--user")
    options = parser.parse_args()
    options.build = os.path.realpath(options.build)
    return options


def main():
    options = parse_arguments()
    against = options.against
    if not against:
        found = subprocess.run([os.path.join(HERE, "base.sh"), *filter(None, [options.base])],
                               stdout=subprocess.PIPE, text=True)
        if found.returncode == NO_COMMIT and not options.base:
            print("1..1\nok 1 - the earlier build # skip this host has no commit to compare "
                  "with: no tag before HEAD, and no twentieth ancestor")
            return
        if found.returncode != 0:
            sys.exit("not ok 1 - there is no earlier build to compare with")
        against = found.stdout.strip()
    print(f"# against {against}, load {os.getloadavg()[0]:.2f} before", flush=True)
    user, = bench.passes_of(argparse.Namespace(user=options.user, as_root=False))
    if user:
        bench.become(user)
    with bench.folders() as (_, runtime):
        os.environ["XDG_RUNTIME_DIR"] = runtime
        sides = [Side(os.path.realpath(against), "before"), Side(options.build, "now")]
        try:
            figures = measure_blocks(options.build, sides, options.blocks)
        finally:
            for side in sides:
                side.client.close()
    sys.exit(1 if print_verdicts(figures) else 0)


if __name__ == "__main__":
    main()
