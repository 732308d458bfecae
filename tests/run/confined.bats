#!/usr/bin/env bats
# The privileges that the supervisor of a named sandbox gives up before it
# serves (supervisor/confine.h), and its work without them.

load helpers

setup() {
	begin
	! is_root || skip "the socket is that of the user for whom root stands"
}

teardown() {
	end
}

# controls CODE [OPTION...]: runs the Python CODE as a client of a supervisor, as confined.py
# describes.
controls() {
	timeout "$PATIENCE" "$here/confined.py" "$HUTCH" "$@"
}

# work: prints Python code that makes every request of the control protocol; a test appends code
# of its own.
work() {
	echo '
assert wait(start("sh", "-c", "exit 3")) == 3
assert wait(start("sleep", "1000", timeout=0.05)) == 137
assert wait(start("true", tty=True)) == 0
p = start("sleep", "1000")
call("exec.signal", process=p, signal=9)
assert wait(p) == 137 and len(call("exec.list")) == 4
run = call("act", action={"action": "run", "args": {"command": "echo here"}})
assert run["content"] == "here", run
call("stats")
call("events.subscribe", since=0)
call("rename", name="other")
assert call("info")["name"] == "other"
lines.close()
connect("other")
'
}

@test "a supervisor has no capability, gains none, and is under seccomp" {
	controls '
assert status("NoNewPrivs") == "1" and status("Seccomp") == "2"
assert {status("Cap" + s) for s in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}'
}

@test "the info of a supervisor says how it is confined" {
	controls 'assert info["confined"] in ("landlock+seccomp", "seccomp"), info'
}

# Without a cgroup the supervisor measures memory in the /proc of processes inside, which a
# Landlock domain does not permit.
@test "where it has to watch the memory inside itself, that is without Landlock" {
	controls 'assert info["confined"] == "seccomp", info
assert wait(start("true")) == 0' --memory 512m --best-effort
}

@test "the supervisor has only the descriptors open that it serves with" {
	controls '
import collections, re
paths = [os.readlink(f"/proc/{supervisor}/fd/{fd}") for fd in os.listdir(f"/proc/{supervisor}/fd")]
kinds = collections.Counter(re.sub(r"(socket|pipe):.*|(/\.prepared/).*", r"\1\2", path) for path in paths)
# The sockets are the listener, the channel to the executor, and this client; the pidfd is for the
# janitor; the rest are the folder of the state, its lock, its logs, the prepared /etc, whose lock it
# holds, and the listener for refused system calls.
assert kinds == {"/dev/null": 3, "socket": 3, "pipe": 1, "anon_inode:[signalfd]": 1,
                 "anon_inode:[pidfd]": 1, "anon_inode:seccomp notify": 1, state: 1, state + "/box": 2, state + "/box/lock": 1,
                 state + "/box/log": 2, state + "/.prepared/": 1}, paths'
}

@test "every request is answered, and a stop leaves its record" {
	controls "$(work)"'
send("stop")
assert ended()["reason"] == "stopped"'
	[ -z "$(ls "$XDG_RUNTIME_DIR/hutch")" ]
}

# The sandbox lives for one second, and on a slow machine it may end before the client has
# connected, so this is tried again.
timed_out() {
	rm -rf "$XDG_RUNTIME_DIR/hutch/.ended"
	controls 'assert ended()["reason"] == "timeout"' --timeout 1s
}

@test "an end by kill, by a limit of time, or of the executor leaves its record" {
	controls 'send("kill"); assert ended()["reason"] == "killed"'
	until_true timed_out
	rm -r "$XDG_RUNTIME_DIR/hutch/.ended"
	controls '
os.kill(info["pid"], 9)
record = ended()
assert record["reason"] == "killed" and "signal 9" in record["message"], record'
	[ -z "$(ls "$XDG_RUNTIME_DIR/hutch")" ]
}

@test "files written over an image are gone with the sandbox" {
	image root
	controls 'assert wait(start("sh", "-c", "echo x >/data/new; chmod 0 /data")) == 0
send("stop")
assert ended()["reason"] == "stopped"' --image "dir:$T/root" -v /usr:/usr:ro
	until_true [ -z "$(find "$T" -name '.upper-*')" ]
	[ ! -e "$T/root/data/new" ]
}

# A system call that the list of the filter lacks only returns ENOSYS, which a test may not
# notice, so strace looks for it.
@test "nothing that it does is missing from the list of its calls" {
	strace -o /dev/null true 2>/dev/null || skip "strace is not allowed here"
	UNDER="strace -f -Z -o $T/trace" controls "$(work)"'
with open("supervisor", "w") as file:
    file.write(str(supervisor))
send("stop")
ended()'
	pid=$(cat supervisor)
	grep -q "^$pid " "$T/trace"
	never grep -E "^$pid .*(ENOSYS|EPERM)" "$T/trace"
}
