#!/usr/bin/env -S python3 -SE
"""sdk.py HUTCH [ROUNDS]: the cost of an action through the Python SDK
(sdk/python), over a bare control socket in the same process, and over a `hutch
act NAME` that stays.

One process measures all of them, one after the other in each round, so that
other load of the machine affects them alike.  The figures are the median of
each, and the median of the differences within a round.  Run it as an ordinary
user: root's SDK goes through `hutch connect`.
"""
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../sdk/python"))
import hutch  # noqa: E402
from hutch.program import Program, connect  # noqa: E402

WARM = 200
RUN = {"action": "run", "args": {"command": "true"}}
READ = {"action": "read", "args": {"path": "page"}}


def exchange(into, out, line):
    os.write(into, line)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += os.read(out, 1 << 16)
    return answer


def over_act(act, action):
    line = json.dumps(action).encode() + b"\n"
    return lambda: exchange(act.stdin.fileno(), act.stdout.fileno(), line) and None


def over_socket(bare, action):
    line = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "act", "params": {"action": action}})
    line = line.encode() + b"\n"
    return lambda: exchange(bare.fileno(), bare.fileno(), line) and None


async def rounds(ways, count):
    samples = {name: [] for name in ways}
    for number in range(WARM + count):
        for name, way in ways.items():
            begun = time.perf_counter_ns()
            if (waits := way()) is not None:
                await waits
            if number >= WARM:
                samples[name].append((time.perf_counter_ns() - begun) / 1e3)
    return samples


def tell(what, samples):
    print(what)
    base = samples["hutch act"]
    for name, taken in samples.items():
        more = statistics.median(a - b for a, b in zip(taken, base))
        print(f"  {name:16} p50 {statistics.median(taken):7.1f} us   over hutch act {more:+7.1f} us")


async def main():
    hutch_path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    with hutch.Sandbox(program=hutch_path) as box:
        box.write("page", "x" * 4095)
        other = await hutch.AsyncSandbox.attach(box.name, program=hutch_path)
        act = subprocess.Popen([hutch_path, "act", box.name], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, bufsize=0)
        bare, _ = connect(box.name, Program(hutch_path))
        bare.setblocking(True)
        exchange(bare.fileno(), bare.fileno(), b'{"jsonrpc":"2.0","id":1,"method":"hello"}\n')
        for what, action, way, asynchronous in (
                ("run of true", RUN, lambda: box.run("true") and None, lambda: other.run("true")),
                ("read of 4 KiB", READ, lambda: box.read("page") and None,
                 lambda: other.read("page"))):
            tell(what, await rounds({
                "hutch act": over_act(act, action), "bare socket": over_socket(bare, action),
                "Sandbox": way, "AsyncSandbox": asynchronous}, count))
        act.stdin.close()
        act.wait()
        bare.close()
        await other.close()


asyncio.run(main())
