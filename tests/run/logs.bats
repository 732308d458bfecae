#!/usr/bin/env bats
# A command whose observation leaves a part of its output out has all of it in a file inside
# (docs/actions.md, "The log").

load helpers

teardown() {
	remove_boxes
	end
}

@test "output that is shown whole has no log, and cut output has one with every byte" {
	acts '
o = run("seq 1 3000; ls -A /run/hutch/log")
assert o.hutch["log"] is None and o.content.endswith("3000") and o.meta["suffix"] == "\n[The command completed with exit code 0.]"
assert run("ls -A /run/hutch/log").content == ""
o = run("seq 1 8000")
assert o.hutch["log"] == "/run/hutch/log/main-1" and o.hutch["truncated_chars"] > 0
assert o.meta["suffix"] == "\n[The command completed with exit code 0.]\n[The whole output is in /run/hutch/log/main-1.]"
assert "\n[... Observation truncated due to length ...]\n" in o.content and len(o.content) == 30047
assert run("seq 1 8000 | cmp - <(tr -d \"\\r\" </run/hutch/log/main-1)").meta["exit_code"] == 0
# The output is longer than the part that is held in memory, but the observation is complete,
# since most bytes overwrite each other in the line; so the observation does not mention the log.
o = run("for i in {1..30}; do printf \"%4000s\\r\" x; done", hidden=True)
assert o.hutch["log"] == "/run/hutch/log/main-2" and "whole output" not in o.meta["suffix"]
assert run("wc -c </run/hutch/log/main-2").content == "120030"'
}

@test "a log is named after its session, and read by others while the command runs" {
	acts '
o = run("seq 1 9000; read x; seq 1 9000", session="../a b\n/\u00e9", timeout=1)
assert o.meta["exit_code"] == -1 and o.hutch["log"] == "/run/hutch/log/___a_b____-1", o.hutch
assert o.meta["suffix"].endswith(" for future commands.]\n[The whole output is in /run/hutch/log/___a_b____-1.]")
assert run("wc -l </run/hutch/log/___a_b____-1").content == "9000"
o = run("x", is_input=True, session="../a b\n/\u00e9")
assert o.hutch["log"] == "/run/hutch/log/___a_b____-1"
assert run("wc -l </run/hutch/log/___a_b____-1").content == "18000"
assert run("seq 1 9000", is_static=True).hutch["log"] == "/run/hutch/log/static-2"'
}

@test "commands read logs and can neither change nor remove them" {
	acts '
run("seq 1 9000")
for how in ("rm -f main-1", "echo x >>main-1", ": >main-1", "truncate -s 0 main-1", "mv main-1 y", "touch y", "chmod 777 .", "chmod 777 main-1", "ln main-1 y", "mkdir y", "touch -d 2000-01-01 main-1", "mount -o remount,rw /run/hutch/log", "rmdir ../log"):
    o = run("cd /run/hutch/log && " + how)
    assert o.meta["exit_code"] != 0 and not o.content.startswith("bash: cd"), how
assert run("wc -l </run/hutch/log/main-1; ls -A /run/hutch/log; stat -c %a /run/hutch/log/main-1").content == "9000\nmain-1\n644"
assert run("seq 1 9000").hutch["log"] == "/run/hutch/log/main-2"'
}

@test "a flood leaves its first and its last part, and takes no memory of the host beyond" {
	acts '
LINE, COUNT = "x" * 990, 70000
def kib(pid, key):
    return int([l for l in open(f"/proc/{pid}/smaps_rollup") if l.startswith(key)][0].split()[1])
def processes():
    import subprocess
    below = subprocess.run(["pgrep", "-P", str(act.pid)], capture_output=True, text=True).stdout.split()
    return [p for p in [str(act.pid)] + below if "Private_Dirty" in open(f"/proc/{p}/smaps_rollup").read()]
o = run("for ((i = 0; i < 70000; i++)); do printf \"%08d " + LINE + "\\n\" $i; done", timeout=100)
size = COUNT * (9 + 990 + 2)
assert o.meta["exit_code"] == 0 and o.hutch["log"] == "/run/hutch/log/main-1"
missing = size - (64 << 20)
assert o.meta["suffix"].endswith(f"\n[The output is in /run/hutch/log/main-1, but for {missing} bytes in its middle.]"), o.meta
assert run("stat -c %s /run/hutch/log/main-1; head -n 1 /run/hutch/log/main-1 | cut -c1-8; tail -n 1 /run/hutch/log/main-1 | cut -c1-8").content == f"{64 << 20}\n00000000\n00069999"
# The log lacks bytes in its middle; before and after the gap the output is in order.
o = run("grep -aoE \"^0[0-9]{7} \" /run/hutch/log/main-1 | sort -c && echo sorted")
assert o.content == "sorted", o.content
for pid in processes():
    assert kib(pid, "Private_Dirty") < 24 << 10 or has_shadows(pid), pid
assert run("df --output=used /tmp | tail -n 1 | awk \"{ print (\\$1 < 1024) }\"").content == "1"' --disk 8m
}

@test "logs are a part of memory, a quarter of them for one command, and the oldest goes" {
	acts '
LINE = "x" * 998
for i in range(1, 8):
    o = run("yes " + LINE + " | head -n 9000")
    assert o.hutch["log"] == f"/run/hutch/log/main-{i}"
    assert o.meta["suffix"].endswith(f" but for {9000 * 1000 - (8 << 20)} bytes in its middle.]"), o.meta
assert run("ls -1 /run/hutch/log").content == "main-4\nmain-5\nmain-6\nmain-7"
assert run("df --output=size -B1 /run/hutch/log | tail -n 1").content.strip() == "33554432"' --memory 256m --best-effort
}

@test "where something is mounted over them there are no logs, and nothing is made in it" {
	acts '
o = run("seq 1 9000")
assert o.hutch["log"] is None and o.hutch["truncated_chars"] > 0 and o.meta["suffix"] == "\n[The command completed with exit code 0.]"' --tmpfs /run
	room mine
	acts '
assert run("seq 1 9000").hutch["log"] is None
assert run("ls -A /run").content == ""' -v "$T/mine:/run"
	[[ -z $(ls -A mine) ]]
}

@test "named and read-only sandboxes keep logs too, and hutch run has no place for any" {
	"$HUTCH" create --read-only box
	"$HUTCH" act box >out <<<'{"action":"run","id":1,"args":{"command":"seq 1 9000"}}'
	grep -q '"log":"/run/hutch/log/main-1"' out
	[[ $("$HUTCH" exec box wc -l /run/hutch/log/main-1) == '9000 /run/hutch/log/main-1' ]]
	inside ls /run/hutch
	[[ $status == 2 ]]
}
