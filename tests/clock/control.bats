#!/usr/bin/env bats
# Promises of the control socket that are given in seconds, so that only a real
# clock can test them.

load ../run/helpers

setup() {
	begin
	! is_root || skip "the socket is that of the user for whom root stands"
}

teardown() {
	remove_boxes
	end
}

# controls CODE [OPTION...]: runs CODE as a client of a new sandbox's control socket;
# see tests/run/control.py.
controls() {
	"$top/tests/run/control.py" "$HUTCH" "$@"
}

# The supervisor waits one second (OUTPUTS_STUCK_MS) for a client that does not
# read.  Whether a client is read within that second depends on the machine's
# load, and no handshake helps.
@test "a client that reads more slowly than its process writes loses nothing" {
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

# Real time has to pass while every process inside is stopped.
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

# The number of samples in a second depends on real time, so that it is tested here;
# tests/run/create.bats tests when samples are sent and when not.
@test "--sample 100ms reports the usage ten times a second" {
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
