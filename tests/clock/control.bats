#!/usr/bin/env bats
# What the control socket promises in seconds, where only a real clock can tell.

load ../run/helpers

setup() {
	begin
	! is_root || skip "the socket is that of the user for whom root stands"
}

teardown() {
	remove_boxes
	end
}

# controls CODE [OPTION...]: see control.py.
controls() {
	"$top/tests/run/control.py" "$HUTCH" "$@"
}

# The supervisor waits a second (OUTPUTS_STUCK_MS) for a client that does not read: whether
# it was read within that second is up to the load of the machine, and no handshake helps.
@test "who started a process loses nothing by being slower than it" {
	controls '
size = 24 << 20
want = b"".join(b"%d\n" % n for n in range(1, 4000000))[:size]
p = start("sh", "-c", "seq 1 10000000 | head -c %d" % size)
for i in range(20):
    time.sleep(0.05)
    take()
wait(p)
assert all("dropped" not in o for o in outputs(p))
assert output(p) == want'
}

# Time has to pass while everything inside stands still.
@test "in a pause no time passes for a process, nor for an action" {
	controls '
call("act", action={"action": "run", "id": 1, "args": {"command": "mkfifo /tmp/go /tmp/run"}})
p = start("sh", "-c", "printf .; read x </tmp/run; exit 3", timeout=2)
until(lambda: output(p))
a = send("act", action={"action": "run", "id": 2, "timeout": 2, "args": {"command": "touch /tmp/began; read x </tmp/go; echo went"}})
wait(start("sh", "-c", "until [ -e /tmp/began ]; do :; done"))
assert call("pause") == {"by": "tracing"}
time.sleep(3)
call("unpause")
wait(start("sh", "-c", "echo >/tmp/go; echo >/tmp/run"))
assert wait(p)["exit_code"] == 3
assert answer(a)["content"] == "went"'
}

# How many come in a second is a rate; that they come, and when not, is in create.bats.
@test "--sample 100ms tells what is used ten times a second" {
	"$HUTCH" create --sample 100ms box
	"$HUTCH" events -f --json box >events &
	started+=($!)
	"$HUTCH" exec box sleep 1
	"$HUTCH" rm -f box
	wait "${started[@]}"
	samples=$(grep -c '"event":"sample"' events)
	echo "$samples samples"
	((samples >= 5 && samples <= 12))
}
