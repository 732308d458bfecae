"""goals -- compares the measurements with the goals for a launch."""

HUTCH, BWRAP, FLOOR = "hutch run", "bwrap --unshare-all", "floor"
LIMITED = "  with limits"
IMAGE = "  of an image, {} layers"

MAX_OF_BWRAP = 0.65
MAX_PERSONALITY_OF_BWRAP = 0.75
MAX_OF_FLOOR = 1.1
MAX_1000_MOUNTS_MS = 15
MAX_LIMITS_MS = 1
MAX_IMAGE_OF_HOST, MAX_20_OF_1_LAYER = 1.05, 1.5
MAX_OF_IDEAL = 1.2
MAX_PRIVATE_KIB = 1536
MAX_RUN_P50_MS, MAX_RUN_P99_MS, MAX_READ_P50_MS = 0.15, 2, 0.08
MAX_OF_BASH, MAX_OF_PIPED_TAR = 1.15, 1.2
MAX_OF_FLOODED = 3
MAX_OF_SPAWN, MIN_A_SECOND, MAX_PS_MS = 2, 400, 50
MAX_OF_FLOOR_BESIDE, MAX_ALIVE_KIB = 1.15, 500
# The largest permitted ratio of hutch's time to a plain pipe or terminal: 1 /
# 0.8 and 1 / 0.5.
MAX_PIPE_OF_EXEC, MAX_TERMINAL_OF_SESSION = 1.25, 2
# A copy of 100 MiB at 1 GB/s takes 104.9 ms.
MAX_COPY_MS = 104.9
MAX_BUSY_PERCENT, MAX_PID1_KIB, MAX_SESSION_KIB = 5, 1024, 256
MAX_OF_RIPGREP, MAX_OF_GREP = 1.2, 3
MAX_JUDGE_US = 20
MAX_OF_TAR, MAX_OF_UMOCI, MAX_OF_SKOPEO = 1, 0.5, 1.2
MAX_SNAPSHOT_MS, MAX_MANY_MS, MAX_FORK_OF_PLAIN = 50, 200, 1.2
MAX_APPLY_OF_COPY = 0.8
MAX_OF_LOOPBACK, MAX_ADDED_MS = 2, 0.2
MAX_RELAY_OF_PORT, MAX_ECHO_OF_RELAY, MAX_ECHO_OF_LOOPBACK = 1 / 0.9, 1.5, 1.5
MAX_EGRESS_LAUNCH_MS, MAX_EGRESS_CONNECT_MS, MAX_RELAY_OF_EGRESS = 2.5, 1, 1 / 0.9
MAX_EGRESS_CPU_MS, MAX_200_RULES_MS = 3, 0.3
MAX_EGRESS_IDLE_MIB, MAX_EGRESS_MANY_MIB = 1.5, 64
# Memory is compared before and after many rounds: a page or two may be touched for the
# first time in the last rounds, which is no leak.
MAX_GROWTH_KIB = 64


def number(result, *keys):
    """Returns a figure by its keys in the result, or None if it was not measured."""
    for key in keys:
        if not isinstance(result, dict) or key not in result:
            return None
        result = result[key]
    return result


def ratio(a, b):
    return None if a is None or b is None else a / b


def limits_ms(result):
    """A launch with limits, less one without, both of the same turns."""
    limited = number(result, "launch", LIMITED, "p50")
    return None if limited is None else limited - number(result, "launch", HUTCH, "p50")


def added_by_alive(result, row):
    beside = number(result, "alive", "all", row, "p50")
    return None if beside is None else beside - number(result, "alive", "none", row, "p50")


def search_ratio(result, row, other):
    """Returns the worst of all patterns."""
    known = number(result, "search", "patterns")
    return max(times[row] / times[other] for times in known.values()) if known else None


def unpack_ratio(result, place, other):
    return ratio(number(result, "unpack", "seconds", place, "hutch"),
                 number(result, "unpack", "seconds", place, other))


def pull_ratio(result, place):
    return ratio(number(result, "pull", place, "hutch image pull"),
                 number(result, "pull", place, "skopeo copy, umoci unpack"))


def memory_total(result):
    processes = number(result, "memory", HUTCH, "processes")
    if processes is None:
        return None
    # The command's own memory does not count for the sandbox.
    ours = [process.get("private_kib") for process in processes
            if process["role"] != "command"]
    return None if None in ours else sum(ours)


def egress_connections(result):
    """Goals of a connection by rules, in either form."""
    for name, what in (("allow", "a connection by rules"), ("single", "  in the form without veth"),
                       ("rules", "  with 200 rules before its own")):
        way = ("egress", "connections", name)
        yield (f"{what}: added to it, p50 ms", MAX_EGRESS_CONNECT_MS,
               number(result, *way, "added_connect_ms"), False)
        for kind, word in (("down", "into the sandbox"), ("up", "out of it")):
            yield (f"    a relay by splice / it, {word}", MAX_RELAY_OF_EGRESS,
                   ratio(1, number(result, *way, kind + "_of_relay")), False)


def left_behind(result):
    """Values that 500 launches must not change at all.  The other values that
    are shown belong to the whole machine, which others use, too."""
    growth = number(result, "series", "growth") or {}
    return {what: growth[what] for what in ("mounts", "state folder entries")
            if growth.get(what, 0) > 0}


def bwrap_ratio(result, name):
    return ratio(number(result, "bwrap", name, "hutch-bwrap", "p50"),
                 number(result, "bwrap", name, "bwrap", "p50"))


def judge(result):
    """Returns a list of goals: description, bound, value (None: not measured),
    and whether --check fails on it."""
    hutch = number(result, "launch", HUTCH, "p50")
    found = [
        ("hutch / bwrap, median", MAX_OF_BWRAP,
         ratio(hutch, number(result, "launch", BWRAP, "p50")), True),
        ("hutch / floor, median", MAX_OF_FLOOR,
         ratio(hutch, number(result, "launch", FLOOR, "p50")), True),
        ("with limits, ms more", MAX_LIMITS_MS, limits_ms(result), False),
        ("an image / the host's, median", MAX_IMAGE_OF_HOST,
         ratio(number(result, "launch", IMAGE.format(1), "p50"), hutch), False),
        ("an image of 20 layers / of one, median", MAX_20_OF_1_LAYER,
         ratio(number(result, "launch", IMAGE.format(20), "p50"),
               number(result, "launch", IMAGE.format(1), "p50")), False),
        ("1000 mounts, ms more", MAX_1000_MOUNTS_MS,
         number(result, "volumes", HUTCH, "1000", "extra_ms"), True),
        ("100 at once / (100 x CPU of one / cores)", MAX_OF_IDEAL,
         number(result, "together", HUTCH, "100", "ratio"), False),
        ("  the same of floor itself", None,
         number(result, "together", FLOOR, "100", "ratio"), False),
        ("private memory of an idle sandbox, KiB", MAX_PRIVATE_KIB,
         memory_total(result), False),
        ("run of echo hi, p50 ms", MAX_RUN_P50_MS,
         number(result, "actions", "run of echo hi", "p50_ms"), False),
        ("run of echo hi, p99 ms", MAX_RUN_P99_MS,
         number(result, "actions", "run of echo hi", "p99_ms"), False),
        ("read of 4 KiB, p50 ms", MAX_READ_P50_MS,
         number(result, "actions", "read of 4 KiB", "p50_ms"), False),
        ("run of /bin/true / /bin/true in bash, p50", MAX_OF_BASH,
         ratio(number(result, "actions", "run of /bin/true", "p50_ms"),
               number(result, "actions", "/bin/true in bash", "p50_ms")), False),
        ("private memory of hutch act, idle, KiB", MAX_PRIVATE_KIB,
         number(result, "actions", "memory", "idle_kib"), False),
        ("  its growth over 100,000 actions, KiB", MAX_GROWTH_KIB,
         number(result, "actions", "memory", "growth_kib"), False),
        ("cat through a pipe / hutch exec", MAX_PIPE_OF_EXEC,
         ratio(number(result, "sessions", "output", "cat through a pipe"),
               number(result, "sessions", "output", "hutch exec")), False),
        ("cat on a terminal / hutch act", MAX_TERMINAL_OF_SESSION,
         ratio(number(result, "sessions", "output", "cat on a terminal"),
               number(result, "sessions", "output", "hutch act")), False),
        ("cat on a terminal / hutch act --stream", MAX_TERMINAL_OF_SESSION,
         ratio(number(result, "sessions", "output", "cat on a terminal"),
               number(result, "sessions", "output", "hutch act --stream")), False),
        ("hutch cp of 100 MiB in, ms", MAX_COPY_MS,
         number(result, "sessions", "copy", "in"), False),
        ("  the same out, ms", MAX_COPY_MS,
         number(result, "sessions", "copy", "out"), False),
        *(("hutch cp of 100,000 files " + way + " / tar through a pipe", MAX_OF_PIPED_TAR,
           ratio(number(result, "sessions", "copy of files", way + ", hutch cp"),
                 number(result, "sessions", "copy of files", way + ", tar")), False)
          for way in ("in", "out")),
        ("64 sessions, a command a second, % of a core", MAX_BUSY_PERCENT,
         number(result, "sessions", "many", "busy_percent"), False),
        ("private memory of pid 1, no session, KiB", MAX_PID1_KIB,
         number(result, "sessions", "many", "before_kib"), False),
        ("  for each idle session, KiB", MAX_SESSION_KIB,
         number(result, "sessions", "many", "kib_each"), False),
        ("hutch exec of true / true on the host", MAX_OF_SPAWN,
         ratio(number(result, "named", "exec", "in a sandbox", "p50"),
               number(result, "named", "exec", "on the host", "p50")), False),
        ("  beside 40 terminals that are cleared for ever", MAX_OF_FLOODED,
         number(result, "floods", "clears", "ratio"), False),
        ("  into which lines are inserted", MAX_OF_FLOODED,
         number(result, "floods", "inserts", "ratio"), False),
        ("ms for one create and its rm", 1000 / MIN_A_SECOND,
         ratio(1000, number(result, "named", "rate", "per_second")), False),
        ("private memory of one of 1,000, KiB", MAX_PRIVATE_KIB,
         number(result, "named", "many", "kib_each"), False),
        ("hutch ps of 1,000, p50 ms", MAX_PS_MS,
         number(result, "named", "many", "ps_ms"), False),
        ("a launch beside 1,000 that live / floor's there", MAX_OF_FLOOR_BESIDE,
         ratio(number(result, "alive", "all", HUTCH, "p50"),
               number(result, "alive", "all", FLOOR, "p50")), False),
        ("  added by the 1,000 / added to floor's", None,
         ratio(added_by_alive(result, HUTCH), added_by_alive(result, FLOOR)), False),
        ("memory of the machine for one of 1,000, KiB", MAX_ALIVE_KIB,
         number(result, "alive", "kib_each"), False),
        ("grep of 100,000 files, rg inside / rg", MAX_OF_RIPGREP,
         search_ratio(result, "hutch, rg inside", "rg"), False),
        ("  without rg / grep -r", MAX_OF_GREP,
         search_ratio(result, "hutch, no rg", "grep -r"), False),
        ("a command judged by 1,000 rules, us", MAX_JUDGE_US,
         number(result, "judge", "one_us"), False),
        ("a layer of 300 MiB onto the disk / tar -xzf", MAX_OF_TAR,
         unpack_ratio(result, "on the disk", "tar -xzf"), False),
        ("  / umoci", MAX_OF_UMOCI, unpack_ratio(result, "on the disk", "umoci"), False),
        ("  into memory / tar -xzf", MAX_OF_TAR,
         unpack_ratio(result, "in memory", "tar -xzf"), False),
        ("  / umoci", MAX_OF_UMOCI, unpack_ratio(result, "in memory", "umoci"), False),
        ("a pull from loopback onto the disk / skopeo, umoci", MAX_OF_SKOPEO,
         pull_ratio(result, "on the disk"), False),
        ("  into memory", MAX_OF_SKOPEO, pull_ratio(result, "in memory"), False),
        ("a snapshot of 1,000 files, on the disk, ms", MAX_SNAPSHOT_MS,
         number(result, "past", "snapshot_ms", "on the disk"), False),
        ("  in memory, ms", MAX_SNAPSHOT_MS,
         number(result, "past", "snapshot_ms", "in memory"), False),
        ("  of 10,000 files, in memory, ms", MAX_MANY_MS, number(result, "past", "many_ms"), False),
        ("a fork / a sandbox of the same image", MAX_FORK_OF_PLAIN,
         ratio(number(result, "past", "fork_ms"), number(result, "past", "plain_ms")), False),
        ("hutch apply of 20,000 new files / cp -a", MAX_APPLY_OF_COPY,
         number(result, "apply", "new", "ratio"), False),
        ("  of 20,000 changed files", MAX_APPLY_OF_COPY,
         number(result, "apply", "changed", "ratio"), False),
        ("hutch-bwrap / bwrap, mini-swe-agent's options", MAX_PERSONALITY_OF_BWRAP,
         bwrap_ratio(result, "mini-swe-agent"), False),
        ("  Codex's options", MAX_PERSONALITY_OF_BWRAP, bwrap_ratio(result, "Codex"), False),
        ("  a launch with 1,000 binds, ms", MAX_1000_MOUNTS_MS,
         number(result, "bwrap", "1,000 binds", "hutch-bwrap", "p50"), False),
        ("loopback / a published port, out of it", MAX_OF_LOOPBACK,
         number(result, "ports", "ratio", "down"), False),
        ("  into it", MAX_OF_LOOPBACK, number(result, "ports", "ratio", "up"), False),
        ("  a relay of as many hops / it, out of it", MAX_RELAY_OF_PORT,
         number(result, "ports", "relay_ratio", "down"), False),
        ("    into it", MAX_RELAY_OF_PORT, number(result, "ports", "relay_ratio", "up"), False),
        ("  an echo of one byte / such a relay's", MAX_ECHO_OF_RELAY,
         number(result, "ports", "relay_ratio", "echo"), False),
        ("    / loopback's", MAX_ECHO_OF_LOOPBACK,
         number(result, "ports", "ratio", "echo"), False),
        ("  added to an echo of one byte, p50 ms", MAX_ADDED_MS,
         number(result, "ports", "added_ms"), False),
        ("a network of rules: added to a launch, p50 ms", MAX_EGRESS_LAUNCH_MS,
         number(result, "egress", "added", "allow", "ms"), False),
        ("  in the form without veth", MAX_EGRESS_LAUNCH_MS,
         number(result, "egress", "added", "single", "ms"), False),
        ("  added to each of 100 launches at once, CPU ms", MAX_EGRESS_CPU_MS,
         number(result, "egress", "added", "allow", "together_cpu_ms"), False),
        ("  in the form without veth", MAX_EGRESS_CPU_MS,
         number(result, "egress", "added", "single", "together_cpu_ms"), False),
        ("  a launch with 200 rules, more than with one, p50 ms", MAX_200_RULES_MS,
         number(result, "egress", "added_rules", "ms"), False),
        *egress_connections(result),
        ("  both processes, idle, MiB", MAX_EGRESS_IDLE_MIB,
         number(result, "egress", "idle_mib"), False),
        ("  with 1,000 connections, MiB", MAX_EGRESS_MANY_MIB,
         number(result, "egress", "many_mib"), False),
    ]
    return [{"what": what, "at_most": bound,
             "value": None if value is None else round(value, 3),
             "met": None if None in (value, bound) else value <= bound,
             "checked": checked}
            for what, bound, value, checked in found]


def unsuccessful(result):
    """Returns the commands that did not exit with 0, of rows whose figures are
    quoted."""
    places = {f"{name}, in turn": number(result, "launch", name)
              for name in (FLOOR, HUTCH, LIMITED, BWRAP)}
    places["hutch, in a row"] = number(result, "series")
    for count, entry in (number(result, "together", HUTCH) or {}).items():
        places[f"hutch, {count} at once"] = entry
    return {place: number(entry, "failed") for place, entry in places.items()
            if number(entry, "failed")}


def failures(result, check):
    wrong = [f"{place}: {count} failed" for place, count in unsuccessful(result).items()]
    if "launch" in result and number(result, "launch", BWRAP, "p50") is None:
        why = number(result, "launch", BWRAP, "why_not")
        wrong.append(f"there is no bwrap to compare with: {why}")
    wrong += [f"floor is not what hutch does: {line}" for line in result["differences"]]
    wrong += [f"{result['series']['count']} launches left {what} behind: {left:g} more"
              for what, left in left_behind(result).items()]
    if check:
        wrong += [f"goal missed: {goal['what']} is {goal['value']}, "
                  f"at most {goal['at_most']} is asked"
                  for goal in result["goals"] if goal["checked"] and not goal["met"] and
                  not (result["only"] and goal["value"] is None)]
    return wrong
