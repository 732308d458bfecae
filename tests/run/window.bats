#!/usr/bin/env bats
# Tests how much of the output of a command is kept, and what that costs (docs/actions.md).

load helpers

# acts CODE [OPTION...]: runs the Python CODE with a running hutch act, as act.py describes.  Adds
# flood(TEXT, COUNT), which runs a hidden command that prints the Python expression TEXT COUNT
# times, and returns the lines of the observation; the first line may lack its beginning.  FLOOD
# (1; 5 by make nightly) multiplies the amount.
acts() {
	"$here/act.py" "$HUTCH" '
import re, subprocess
scale = int(os.environ.get("FLOOD", 1))
def flood(text, count):
    o = run(f"python3 -c \"for i in range({count}): print({text})\"", hidden=True, blocking=True, timeout=100)
    assert o.meta["exit_code"] == 0 and "\ufffd" not in o.content
    assert len(o.content.encode()) <= 4 << 20
    lines = o.content.split("\n")
    assert re.search(r"the last (\d+) lines", o.meta["prefix"])[1] == str(len(lines)), o.meta["prefix"]
    return lines
'"$1" "${@:2}"
}

@test "one endless line: its end is there, 2 MiB and what is on the screen" {
	acts '
[line] = flood(f"\x27x\x27 * {10000000 * scale}", 1)
assert set(line) == {"x"} and 2 << 20 < len(line) + (1 << 20) < 4 << 20
[line] = flood(f"\x27\u0449\x27 * {3000000 * scale}", 1)
assert set(line) == {"\u0449"} and len(line) > 1 << 20
[line] = flood(f"\x27\u6f22\u5b57\x27 * {1000000 * scale}", 1)
assert line.strip("\u6f22\u5b57") == "" and "\u6f22\u6f22" not in line and len(line) > 1 << 19'
}

@test "lines of 100 KB: the last ones are whole, and no character is broken" {
	acts '
for letter, least in (("y", 20), ("\u0436", 20), ("\u6f22", 10)):
    lines = flood(f"\x27%06d\x27 % i + \x27{letter}\x27 * {100000 // len(letter.encode())}", 100 * scale)
    size = 6 + 100000 // len(letter.encode())
    assert len(lines) >= least
    for i, line in enumerate(reversed(lines[1:])):
        assert line == "%06d" % (100 * scale - 1 - i) + letter * (size - 6), (i, line[:20])
    assert set(lines[0][6:]) == {letter} and len(lines[0]) <= size'
}

@test "the memory of a session is bounded, and freed with the report" {
	[[ $BUILD != */asan ]] || skip "the sanitizers take memory of their own"
	acts '
pid = subprocess.run(["pgrep", "-P", str(act.pid), "hutch-executor"], capture_output=True, text=True).stdout.split()[0] \
    if run("true") else None
def kib(key):
    return int([l for l in open(f"/proc/{pid}/status") if l.startswith(key)][0].split()[1])
# The log is in memory here, so output beyond its limit counts as memory of the process, too.
for text, count in (("\x27\u0436\x27 * 50000", 600), ("\x27\u6f22\u5b57\x27 * 15000", 600),
        ("(chr(0x2500) + chr(0x20d0) + chr(0x20d1)) * 999", 2100), ("\x27z\x27 * 80000", 600)):
    flood(text, count)
    assert kib("VmRSS") < 1 << 10, kib("VmRSS")
assert 8 << 10 < kib("VmHWM") < 18 << 10, kib("VmHWM")'
}
