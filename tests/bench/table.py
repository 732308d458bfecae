"""table -- the result as aligned text."""

import goals


def lines_of(rows):
    """Returns columns as wide as their widest cell; the first aligned left, the
    others right."""
    widths = [max(len(row[i]) for row in rows if i < len(row))
              for i in range(max(map(len, rows)))]
    for row in rows:
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        yield "  ".join(cells).rstrip()


def block(title, rows, notes=()):
    return [title, *("  " + line for line in lines_of(rows)), *notes, ""]


def figure(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def not_run(name, why):
    return f"  {name}: not run: {why}"


def launches(result):
    known = result["launch"]
    floor = goals.number(known, goals.FLOOR, "p50")
    bwrap = goals.number(known, goals.BWRAP, "p50")
    rows = [["", "p50 ms", "p95 ms", "CPU ms", "x floor", "x bwrap", "RSS MiB"]]
    notes = []
    for name in result["order"]:
        row = known[name]
        if "why_not" in row:
            notes.append(not_run(name, row["why_not"]))
            continue
        rows.append([name, figure(row["p50"]), figure(row["p95"]), figure(row["cpu"]),
                     figure(goals.ratio(row["p50"], floor)),
                     figure(goals.ratio(row["p50"], bwrap)),
                     figure(row["maxrss"] / 1024, 1)])
        if row["failed"]:
            notes.append(f"  {name}: {row['failed']} of {row['count']} failed")
    title = f"One launch of a static program ({result['rounds']} rounds, in turn)"
    return block(title, rows, notes)


def limits(result):
    """Returns one line, for a run that measured nothing else."""
    limited, plain = (result["launch"][name] for name in (goals.LIMITED, goals.HUTCH))
    if "why_not" in limited:
        return f"limits: not run: {limited['why_not']}"
    more = goals.limits_ms(result)
    return (f"limits: {more:+.2f} ms beside a launch of {plain['p50']:.2f} ms, "
            f"x {goals.ratio(limited['p50'], plain['p50']):.2f} "
            f"({plain['count']} rounds, in turn; goal: {goals.MAX_LIMITS_MS} ms more where a "
            f"launch takes 3)")


def keyed(title, table, columns, key):
    rows = [["", *columns]]
    notes = []
    for name, entries in table.items():
        why = next((entry["why_not"] for entry in entries.values()
                    if entry.get("why_not")), None)
        if why:
            notes.append(not_run(name, why))
        rows.append([name, *(key(entries[column]) for column in columns)])
    return block(title, rows, notes)


def volumes(result):
    return keyed("Mounts beside the usual ones, ms more than with none",
                 result["volumes"], ["10", "100", "1000"],
                 lambda entry: figure(entry.get("extra_ms")))


def together_cells(entry):
    return [figure(entry["all_done_ms"], 0),
            figure(entry["one_cpu_ms"]), figure(entry["ratio"]),
            figure(entry["one_machine_ms"]), figure(entry["machine_ratio"]),
            figure(entry["cpu_ms"], 0), figure(entry["machine_ms"], 0)]


def together(result):
    rows = [["", "at once", "all done ms", "CPU of one", "x ideal", "machine's",
             "x ideal", "CPU at once", "machine's"]]
    notes = []
    for name, entries in result["together"].items():
        why = next(iter(entries.values())).get("why_not")
        if why:
            notes.append(not_run(name, why))
            continue
        rows += [[name, count, *together_cells(entry)]
                 for count, entry in entries.items()]
        notes += [f"  {name}: {entry['failed']} of {count} failed"
                  for count, entry in entries.items() if entry["failed"]]
    return block("Started at once (ideal: N x CPU of one / cores)", rows, notes)


def series(result):
    known = result["series"]
    if "why_not" in known:
        return ["In a row", not_run(goals.HUTCH, known["why_not"]), ""]
    growth = ", ".join(f"{name} {value:+g}" for name, value in known["growth"].items())
    return [f"{known['count']} launches in a row",
            f"  total {known['total']:.0f} ms, each p50 {known['p50']:.2f} ms, "
            f"p95 {known['p95']:.2f} ms, slowest {known['slowest']:.2f} ms",
            f"  growth on the host: {growth}", ""]


def memory(result):
    lines = ["Private memory while the command sleeps, KiB"]
    for name, entry in result["memory"].items():
        if entry.get("why_not"):
            lines.append(not_run(name, entry["why_not"]))
            continue
        for process in entry["processes"]:
            known = (f"not run: {process['why_not']}" if "why_not" in process
                     else process["private_kib"])
            lines.append(f"  {name}, {process['role']} ({process['name']}): {known}")
    return lines + [""]


def action_rows(result):
    known = result["actions"]
    rows = [["", "p50 ms", "p99 ms"]]
    rows += [[name, figure(entry["p50_ms"], 3), figure(entry["p99_ms"], 3)]
             for name, entry in known.items() if "p50_ms" in entry]
    memory_of = known["memory"]
    return block("Actions through hutch act, one after the other", rows,
                 [f"  private memory idle {memory_of['idle_kib']} KiB, growth over "
                  f"{memory_of['actions']} actions {memory_of['growth_kib']:+d} KiB"])


def session_rows(result):
    known, many = result["sessions"]["output"], result["sessions"]["many"]
    rows = [["", "MB/s"]] + [[name, figure(rate, 0)] for name, rate in known.items()]
    copy = {way: (100 << 20) / 1e6 / ms for way, ms in result["sessions"]["copy"].items()}
    files = result["sessions"]["copy of files"]
    return block("Output of `cat` of a file of lines, to its reader", rows, [
        f"  hutch cp of 100 MiB: in {copy['in']:.2f} GB/s, out {copy['out']:.2f}",
        "  100,000 files, s: " + "; ".join(f"{way} {took:.2f}" for way, took in files.items()),
        f"  {many['sessions']} sessions in one sandbox, each a command a second: "
        f"{many['busy_percent']:.1f} % of a core",
        f"  private memory of pid 1 before the first {many['before_kib']} KiB, and "
        f"{many['kib_each']} KiB for each idle one"])


def named_rows(result):
    known = result["named"]
    rows = [["", "p50 ms", "p95 ms"]]
    rows += [["/bin/true " + name, figure(entry["p50"]), figure(entry["p95"])]
             for name, entry in known["exec"].items()]
    many = known["many"]
    return block("Sandboxes with a name", rows, [
        f"  {known['rate']['count']} created and removed, two at a time for each "
        f"core: {known['rate']['per_second']:.0f} a second, {known['rate']['cpu_ms']} ms of CPU each",
        f"  as many launches of bwrap in the same way: {figure(known['rate']['bwrap'], 0)} a second",
        f"  {many['count']} alive: created in {many['create_s']} s, a process in each in "
        f"{many['exec_s']} s, removed in {many['remove_s']} s",
        f"  private memory of each {many['kib_each']} KiB",
        f"  hutch ps {many['ps_ms']} ms, with the memory and the processes of {many['ps_told']}; "
        f"{many['ps_busy_ms']} ms if a process runs in each"])


def alive_rows(result):
    known = result["alive"]
    rows = [["", "none alive, p50 ms", "all alive, p50 ms", "CPU ms", "CPU ms"]]
    rows += [[name, figure(none["p50"]), figure(known["all"][name]["p50"]), figure(none["cpu"]),
              figure(known["all"][name]["cpu"])] for name, none in known["none"].items()]
    parts = ", ".join(f"{words} {kib}" for words, kib in known["parts"].items())
    return block(f"A launch beside {known['count']} sandboxes", rows, [
        f"  each takes {known['kib_each']} KiB of MemAvailable", f"  KiB each: {parts}"])


def flood_rows(result):
    words = {"clears": r"ESC [2J for ever", "inserts": "ESC [L and ESC [T, over a thousand rows"}
    rows = [["", "true on the host, ms", "hutch exec of true, ms", "ratio"]]
    rows += [[words[kind], figure(known["host_ms"], 2), figure(known["sandbox_ms"], 2),
              figure(known["ratio"], 2)] for kind, known in result["floods"].items()]
    return block("Beside 40 terminals: read on the host, drawn in a sandbox", rows)


def search_rows(result):
    known = result["search"]
    if "why_not" in known:
        return block("grep of a tree", [], [f"  not run: {known['why_not']}"])
    names = list(next(iter(known["patterns"].values())))
    rows = [["ms, in the middle of the turns"] + names]
    rows += [[pattern] + [figure(times[name], 1) for name in names]
             for pattern, times in known["patterns"].items()]
    return block(f"grep of {known['files']} files, all in the page cache", rows, [])


def judge_rows(result):
    known = result["judge"]
    return block(f"Judged by {known['rules']} rules", [
        ["us", "one command", "a line of four"],
        ["in the middle of the turns", figure(known["one_us"], 1), figure(known["four_us"], 1)]], [])


def seconds_rows(title, seconds):
    names = list(next(iter(seconds.values())))
    rows = [["s, in the middle of the turns"] + names]
    rows += [[place] + [figure(times[name], 2) for name in names]
             for place, times in seconds.items()]
    return block(title, rows, [])


def unpack_rows(result):
    known = result["unpack"]
    if "why_not" in known:
        return block("Unpacking a layer", [], [f"  not run: {known['why_not']}"])
    return seconds_rows(f"A layer of {known['mib']} MiB, compressed by gzip, unpacked",
                        known["seconds"])


def pull_rows(result):
    title = "The same out of a registry on loopback, and unpacked"
    known = result["pull"]
    if "why_not" in known:
        return block(title, [], [f"  not run: {known['why_not']}"])
    return seconds_rows(title, known)


def past_rows(result):
    known = result["past"]
    if "why_not" in known:
        return block("What a sandbox has written", [], [f"  not run: {known['why_not']}"])
    rows = [["", "ms"],
            *[[f"snapshot of {known['files']} files, {place}", figure(ms, 1)]
              for place, ms in known["snapshot_ms"].items()],
            *([["  of 10000, in memory", figure(known["many_ms"], 1)]] if known["many_ms"] else []),
            ["fork of it", figure(known["fork_ms"], 2)],
            ["create, without it", figure(known["plain_ms"], 2)]]
    return block("What a sandbox has written", rows)


def apply_rows(result):
    known = result["apply"]
    if "why_not" in known:
        return block("20000 files of 4000 bytes", [], [f"  not run: {known['why_not']}"])
    rows = [["", "hutch apply ms", "cp -a ms", "x cp -a"],
            *[[f"{kind} files", figure(entry["ms"], 0), figure(entry["cp_ms"], 0),
               figure(entry["ratio"], 2)] for kind, entry in known.items()]]
    return block("20000 files of 4000 bytes", rows)


def bwrap_cells(entry):
    if "why_not" in entry:
        return [f"not run: {entry['why_not']}"]
    theirs, ours = entry["bwrap"], entry["hutch-bwrap"]
    return [figure(theirs["p50"], 2), figure(ours["p50"], 2), figure(ours["p50"] / theirs["p50"], 2),
            figure(theirs["cpu"], 2), figure(ours["cpu"], 2)]


def bwrap_rows(result):
    rows = [["", "bwrap p50 ms", "hutch-bwrap", "ratio", "bwrap CPU ms", "hutch-bwrap"]]
    rows += [[name, *bwrap_cells(entry)] for name, entry in result["bwrap"].items()]
    return block("The command lines of programs that call bwrap", rows)


def port_rows(result):
    known = result["ports"]
    sizes, times = ("down", "up"), ("echo", "answer", "new")
    rows = [["", "out GB/s", "in GB/s", "echo ms", "50 KB ms", "new ms"],
            *[[what, *[figure(known[name][kind], 2) for kind in sizes],
               *[figure(known[name][kind], 3) for kind in times]]
              for name, what in (("plain", "loopback"), ("single", "a relay of one process"),
                                 ("relay", "a relay of two"), ("port", "hutch run -p"))],
            *[[what, *[figure(known[name][kind], 2) for kind in sizes + times]]
              for name, what in (("ratio", "as many times as long as loopback"),
                                 ("relay_ratio", "  as the relay of two"))]]
    return block("A connection to a server, of one port", rows)


EGRESS = (("plain", "loopback"), ("relay", "a relay by splice"), ("none", "hutch run"),
          ("allow", "hutch run --allow"), ("rules", "  with 200 rules"),
          ("single", "  without veth"))


def egress_rows(result):
    known = result["egress"]
    ways, starts = known["connections"], known["launches"]
    connections = [["", "connect ms", "in GB/s", "out GB/s"],
                   *[[what, figure(ways[name]["connect"], 3), figure(ways[name]["down"]),
                      figure(ways[name]["up"])] for name, what in EGRESS if name in ways]]
    launched = [["", "p50 ms", "CPU ms", "CPU of 100 at once, each", "of kernel threads"],
                *[[what, *[figure(starts[name][key]) for key in ("p50", "cpu", "processes", "kernel")]]
                  for name, what in EGRESS if name in starts]]
    return (block("A connection out of a sandbox, by rules", connections) +
            block("A launch with a network of rules", launched, [
                f"  memory of both processes with 1 connection {figure(known['idle_mib'])} MiB, "
                f"with 1,000 {figure(known['many_mib'])}"]))


def serve_rows(result):
    known = result["serve"]
    rows = [["", "ms"], ["execute_action of echo", figure(known["execute_ms"])],
            ["  the same by the SDK", figure(known["sdk_ms"])],
            ["start to alive", figure(known["start_ms"])]]
    return block("hutch serve, over loopback", rows, [
        f"  {known['sandboxes']} sandboxes: {known['actions_s']:.0f} actions a second, "
        f"{figure(known['empty_kib'] / 1024)} MiB and {known['kib_each']:.0f} KiB each"])


def verdicts(result):
    words = {None: "", True: "met", False: "NOT MET"}
    rows = [["", "at most", "measured", ""]]
    rows += [[goal["what"], figure(goal["at_most"]),
              "not measured" if goal["value"] is None else figure(goal["value"]),
              words[goal["met"]]] for goal in result["goals"]
             if goal["value"] is not None or not result["only"]]
    return block("Goals", rows) if len(rows) > 1 else []


def render(result):
    who = "root" if result["uid"] == 0 else f"uid {result['uid']}"
    head = [f"hutch bench: {who}, kernel {result['kernel']}, {result['machine']}, "
            f"{result['cores']} cores, load {result['load']:.2f} before", ""]
    return "\n".join(head + [line for part, rows in PARTS.items() if part in result
                             for line in rows(result)] + verdicts(result))


# By their keys in the result, of which a run with --only has few.
PARTS = {"launch": launches, "volumes": volumes, "series": series, "together": together,
         "memory": memory, "actions": action_rows, "sessions": session_rows, "floods": flood_rows,
         "named": named_rows, "alive": alive_rows, "search": search_rows, "judge": judge_rows,
         "unpack": unpack_rows, "pull": pull_rows, "past": past_rows, "apply": apply_rows,
         "bwrap": bwrap_rows, "ports": port_rows, "egress": egress_rows, "serve": serve_rows}
