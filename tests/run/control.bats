#!/usr/bin/env bats
# The control socket of a sandbox that has a name (docs/control.md).

load helpers

setup() {
	begin
	! is_root || skip "the socket is that of the user for whom root stands"
}

teardown() {
	end
}

# controls CODE [OPTION...]: runs the Python CODE as client c of a supervisor, as control.py
# describes.
controls() {
	"$here/control.py" "$HUTCH" "$@"
}

@test "a request gets its answer, and an unknown one an error" {
	controls '
assert call("info")["name"] == "box"
assert refused("nix", "invalid").code == -32601
assert refused("exec.wait", "not_found", process=7).code == -32000
p = start("sh", "-c", "exit 3")
assert wait(p)["exit_code"] == 3'
}

# --- what processes print ------------------------------------------------------

@test "the output of a process goes to the client that started it, each stream by itself" {
	controls '
p = start("sh", "-c", "echo out; echo err >&2")
wait(p)
assert (output(p), output(p, "stderr")) == (b"out\n", b"err\n")
assert all(list(o) == ["process", "stream", "data"] for o in outputs(p))
d = connect()
d.call("info")
assert d.notes == []'
}

@test "all that a process has printed is told before its end is, whatever it was" {
	controls '
call("events.subscribe", since=0)
for i in range(30):
    p = start("sh", "-c", "seq 1 20000; echo last >&2")
    id, seen = send("exec.wait", process=p), b""
    seen = {"stdout": b"", "stderr": b""}
    ends = []
    while len(ends) < 2:
        m = receive()
        if m.get("method") == "output":
            assert not ends, ends
            seen[m["params"]["stream"]] += bytes_of(m["params"])
        elif m.get("id") == id:
            ends.append("answer")
        elif m["params"]["event"] == "exited":
            ends.append("event")
    assert seen["stdout"] == b"".join(b"%d\n" % n for n in range(1, 20001)), len(seen["stdout"])
    assert seen["stderr"] == b"last\n"'
}

@test "the client that started a process is told of its end without asking for events" {
	controls '
p = start("sh", "-c", "echo hi; exit 4")
until(lambda: events("exited"))
assert output(p) == b"hi\n"
assert [(e["process"], e["exit_code"]) for e in events("exited")] == [(p, 4)]
call("events.subscribe", since=0)
call("info")
assert len(events("exited")) == 2
q = start("true")
wait(q)
call("info")
assert [e["process"] for e in events("exited")] == [p, p, q]'
}

@test "a pipe that is kept open by what a process leaves behind does not delay its end" {
	controls '
p = start("sh", "-c", "mkfifo /tmp/go; (read x </tmp/go; echo late) & echo early")
assert wait(p)["exit_code"] == 0
assert output(p) == b"early\n"
wait(start("sh", "-c", "echo >/tmp/go"))
until(lambda: output(p) == b"early\nlate\n")
d = connect()
d.call("exec.attach", process=p)
d.wait(p)
d.until(lambda: d.output(p) == b"early\nlate\n")
# Processes in the background that print for ever do not keep the end of the command from being
# reported.
d.close()
p = start("sh", "-c", "for i in 1 2 3; do yes & done; read x", stdin=True, detach=True)
until(lambda: len(outputs(p)) > 10)
call("exec.write", process=p, data="\n")
assert wait(p)["exit_code"] == 0'
}

@test "bytes that are no text come as base64, and no character is torn" {
	controls '
p = start("sh", "-c", "printf \"a\\377b\"; printf \"\\303\" >&2")
wait(p)
assert [o.get("base64") for o in outputs(p)] == ["Yf9i", "ww=="]
p = start("sh", "-c", "printf \"a\\0b\"")
wait(p)
assert [o.get("base64") for o in outputs(p)] == ["YQBi"]
# The three bytes of a euro sign are printed one by one, and the client looks at the output after
# each.
p = start("sh", "-c", "for b in 342 202 254; do read x; printf \"\\\\$b\"; echo >&2; done", stdin=True)
for i in range(3):
    call("exec.write", process=p, data="\n")
    until(lambda: len(output(p, "stderr")) == i + 1)
    assert output(p) == (b"" if i < 2 else "€".encode()), i
wait(p)
assert [o["data"] for o in outputs(p) if o["stream"] == "stdout"] == ["€"]
# This prints 100,000 euro signs; a piece of output may end within a character, and the next must
# complete it.
p = start("sh", "-c", "printf x; yes € | head -n 100000 | tr -d \"\\n\"")
wait(p)
assert all("data" in o for o in outputs(p))
assert output(p) == b"x" + "€".encode() * 100000'
}

@test "a client that comes back gets what is kept and then what comes, and so does any other" {
	controls '
p = start("sh", "-c", "echo one; read x; echo $x; read x; echo $x", stdin=True, detach=True)
until(lambda: output(p) == b"one\n")
c.close()
d, e = connect(), connect()
assert d.call("exec.attach", process=p) == {"process": p, "kept": {"stdout": 4, "stderr": 0}, "lost": {"stdout": 0, "stderr": 0}}
e.call("exec.attach", process=p)
for k in (d, e):
    k.until(lambda: k.output(p) == b"one\n")
d.call("exec.write", process=p, data="two\n")
for k in (d, e):
    k.until(lambda: k.output(p) == b"one\ntwo\n")
e.close()
d.call("exec.write", process=p, data="three\n")
assert d.wait(p)["exit_code"] == 0
assert d.output(p) == b"one\ntwo\nthree\n"
f = connect()
f.call("exec.attach", process=p)
f.wait(p)
assert f.output(p) == b"one\ntwo\nthree\n"
d.refused("exec.attach", "exists", process=p)
d.refused("exec.attach", "not_found", process=p + 1)
r, w = os.pipe()
q = f.start("true", fds=[r, w, w])
d.refused("exec.attach", "invalid", process=q)'
}

@test "the last MiB of each stream is kept, and what is lost is counted to the byte" {
	controls '
all = b"".join(b"%d\n" % n for n in range(1, 400001))
p = start("sh", "-c", "seq 1 400000; seq 1 400000 | head -c 1048577 >&2")
wait(p)
d = connect()
lost = len(all) - (1 << 20)
assert d.call("exec.attach", process=p) == {"process": p, "kept": {"stdout": 1 << 20, "stderr": 1 << 20}, "lost": {"stdout": lost, "stderr": 1}}
d.wait(p)
assert d.output(p) == all[lost:]
assert d.output(p, "stderr") == all[1:1048577]'
}

@test "a client that does not read is told how much was dropped, and delays no other" {
	controls '
d = connect()
size = 24 << 20
p = start("sh", "-c", "read x; seq 1 20000000 | head -c %d" % size, stdin=True)
d.call("exec.attach", process=p)
call("exec.write", process=p, data="\n")
# Client c reads its output, client d reads none.
assert wait(p)["exit_code"] == 0
assert len(output(p)) == size
assert memory() < 16000, memory()
d.wait(p)
dropped = sum(o.get("dropped", 0) for o in d.outputs(p))
assert dropped > 0
assert dropped + len(d.output(p)) == size
assert output(p).endswith(d.output(p)[-1000000:])
# The supervisor does not wait for a client that does not read either if that client has started
# the process.
q = d.start("sh", "-c", "seq 1 20000000 | head -c %d; echo done >&2" % size)
call("exec.attach", process=q)
wait(q)
assert output(q, "stderr") == b"done\n"
d.wait(q)
assert sum(o.get("dropped", 0) for o in d.outputs(q)) + len(d.output(q)) == size'
}

@test "a flood is bounded in memory and on disk, and delays no client" {
	controls '
d = connect()
# All floods are started first and released together, since otherwise starting them would be most
# of the work.
floods = [d.start("sh", "-c", "read x; exec yes %d" % n, stdin=True, detach=True) for n in range(24)]
for p in floods:
    d.call("exec.write", process=p, data="\n")
def flooded(p):
    e = connect()
    told = e.call("exec.attach", process=p)
    e.close()
    return told["kept"]["stdout"] + told["lost"]["stdout"]
begun = [flooded(p) for p in floods]
for i in range(10):
    p = start("echo", "hi")
    wait(p)
    assert output(p) == b"hi\n"
# Measures how many bytes of each flood are read during one request, a number that does not depend
# on the load of the machine.
turns = [(flooded(p) - b) / 10 for p, b in zip(floods, begun)]
assert 0 < min(turns) and max(turns) < 1 << 19, turns
assert memory() < 64000, memory()
assert sum(os.path.getsize(f"{folder}/log/{f}") for f in os.listdir(folder + "/log")) <= 16 << 20
# The end of a command is reported, too, if it leaves processes behind that print without end.
p = start("sh", "-c", "for i in 1 2 3; do yes & done; read x", stdin=True, detach=True)
until(lambda: outputs(p))
call("exec.write", process=p, data="\n")
assert wait(p)["exit_code"] == 0
for p in floods:
    call("exec.signal", process=p, signal=9)
for p in floods:
    assert wait(p)["exit_code"] == 137'
}

@test "the kept output of all processes together is bounded, and the last ones have theirs" {
	controls '
d = connect()
for i in range(40):
    p = start("sh", "-c", "seq 1 300000 | head -c 1048576; seq 1 300000 | head -c 1048576 >&2", detach=True)
    wait(p)
assert memory() < 96000, memory()
assert d.call("exec.attach", process=p)["lost"] == {"stdout": 0, "stderr": 0}
assert d.call("exec.attach", process=p - 38)["lost"] == {"stdout": 1 << 20, "stderr": 1 << 20}
d.wait(p)
assert len(d.output(p)) == 1 << 20
# The supervisor keeps less output in memory for processes that still run; the log on disk has all
# of it.
for i in range(50):
    p = start("sh", "-c", "seq 1 300000 | head -c 1048576; seq 1 300000 | head -c 1048576 >&2; read x; echo end", stdin=True)
    came = sum(len(bytes_of(o)) for o in outputs(p))
    while came < 2 << 20:
        c.notes.clear()
        take()
        came += sum(len(bytes_of(o)) for o in outputs(p))
    c.notes.clear()
assert memory() < 96000, memory()
call("exec.write", process=p, eof=True)
wait(p)
assert output(p) == b"end\n"
kept = d.call("exec.attach", process=p)
assert kept["kept"]["stdout"] == 128 << 10 and kept["lost"]["stdout"] == (1 << 20) + 4 - (128 << 10)'
}

# --- input ---------------------------------------------------------------------

@test "input written to a process arrives, byte for byte, and eof ends it" {
	controls '
p = start("cat", stdin=True)
call("exec.write", process=p, data="text €\n")
call("exec.write", process=p, base64=base64.b64encode(bytes(range(256))).decode())
call("exec.write", process=p, eof=True)
assert wait(p)["exit_code"] == 0
assert output(p) == "text €\n".encode() + bytes(range(256))
refused("exec.write", "invalid", process=p, data="more")
p = start("cat")
assert wait(p)["exit_code"] == 0 and output(p) == b""
refused("exec.write", "invalid", process=p, data="x")
p = start("cat", stdin=True)
for wrong in ({"base64": "x"}, {"base64": "Zm9v\n"}, {"base64": "Zg==", "data": "f"}, {"data": 1}, {"eof": 1}, {"text": ""}):
    assert refused("exec.write", "invalid", process=p, **wrong).code == -32602
call("exec.write", process=p, data="still there", eof=True)
wait(p)
assert output(p) == b"still there"
refused("exec.write", "not_found", process=99)
r, w = os.pipe()
refused("exec.start", "invalid", fds=[r, w, w], argv=["cat"], stdin=True)'
}

@test "input that waits for a process is bounded: a write waits for room, and a second one fails" {
	controls '
size, total = 1 << 20, 0
wait(start("mkfifo", "/tmp/go"))
p = start("sh", "-c", "read x </tmp/go; cat | wc -c", stdin=True)
refused("exec.write", "limit", process=p, data="x" * (size + 1))
waiting = None
for i in range(4):
    id = send("exec.write", process=p, data="x" * size)
    call("info")
    total += size
    if id not in c.answers:
        waiting = id
        break
    answer(id)
assert waiting and i in (1, 2), i
d = connect()
d.refused("exec.write", "busy", process=p, data="x")
wait(start("sh", "-c", "echo go >/tmp/go"))
assert answer(waiting) == {}
call("exec.write", process=p, data="", eof=True)
wait(p)
assert output(p) == b"%d\n" % total'
}

@test "a write to a process that reads no more gets an error" {
	controls '
wait(start("mkfifo", "/tmp/go"))
p = start("sh", "-c", "exec <&-; echo closed; read x </tmp/go", stdin=True)
until(lambda: output(p) == b"closed\n")
refused("exec.write", "disconnected", process=p, data="x")
refused("exec.write", "disconnected", process=p, data="x")
q = start("sh", "-c", "echo ready; read x </tmp/go", stdin=True)
until(lambda: output(q))
ids = [send("exec.write", process=q, data="x" * (1 << 20)) for i in range(2)]
call("info")
assert ids[0] in c.answers and ids[1] not in c.answers
call("exec.signal", process=q, signal=9)
try:
    answer(ids[1])
    assert False
except Refused as e:
    assert e.kind == "disconnected"
wait(q)
refused("exec.write", "disconnected", process=q, data="x")
# The result is the same if a background process holds the pipe of stdin open.
q = start("sh", "-c", "exec 3<&0; setsid sleep 1000 & echo ready; read x </tmp/go", stdin=True)
until(lambda: output(q))
ids = [send("exec.write", process=q, data="x" * (1 << 20)) for i in range(2)]
call("info")
call("exec.signal", process=q, signal=9)
try:
    answer(ids[1])
    assert False
except Refused as e:
    assert e.kind == "disconnected"'
}

@test "a process may have a terminal: one stream, a size, and an end of what is typed" {
	controls '
p = start("sh", "-c", "tty; stty size; tty <&2; cat", tty=True, stdin=True, rows=30, cols=100)
until(lambda: output(p).count(b"\r\n") == 3)
assert output(p) == b"/dev/pts/0\r\n30 100\r\n/dev/pts/0\r\n"
call("exec.write", process=p, data="typed\n")
until(lambda: output(p).endswith(b"typed\r\ntyped\r\n"))
call("exec.write", process=p, eof=True)
assert wait(p)["exit_code"] == 0
assert output(p, "stderr") == b""
p = start("cat", tty=True)
assert wait(p)["exit_code"] == 0
p = start("sh", "-c", "seq 1 30000", tty=True)
wait(p)
assert output(p) == b"".join(b"%d\r\n" % n for n in range(1, 30001))'
}

# The client and the supervisor share the open file description, so the client can clear its
# O_NONBLOCK; the supervisor must not block then.
@test "a terminal whose output is not read delays no other, whatever its client does" {
	controls '
null = os.open("/dev/null", os.O_RDWR)
def carry(r, w):
    p = start("yes", tty=True, fds=[null, w, null])
    os.set_blocking(w, True)
    got = 0
    while got < 1 << 18:
        got += len(os.read(r, 1 << 16))
    for _ in range(20): # while what was read is filled up again
        assert wait(start("true"))["exit_code"] == 0
    call("exec.signal", process=p, signal=9)
ends = [s.detach() for s in socket.socketpair()]
carry(*ends)
r, w = os.pipe()
carry(r, w)
# The supervisor does not set O_NONBLOCK on the descriptor of a client.
r, w = os.pipe()
p = start("cat", tty=True, fds=[r, null, null])
assert os.get_blocking(r)
os.close(w)
assert wait(p)["exit_code"] == 0'
}

@test "a client that asks for the end is answered, however much output waits before that" {
	controls '
d = connect()
p = start("yes", detach=True)
d.call("exec.attach", process=p)
d.until(lambda: len(d.outputs(p)) > 400)
# Meanwhile client c has read nothing.
id = send("kill")
while d.receive() is not None:
    pass
assert answer(id) == {}
assert len(output(p)) > 1 << 19'
}

@test "requests after the end get an error, and none is left without an answer" {
	controls '
for i in range(200):
    wait(start("true"))
# The supervisor buffers at most 4 MiB for a client that does not read; it makes further answers
# later.
lists = [send("exec.list") for i in range(200)]
for i in range(20):
    connect().call("info")
# The supervisor reads none of these requests before client c has read its answers.
behind = [send("exec.start", argv=["true"]), send("act", action={"action": "run", "args": {"command": "true"}}),
          send("rename", name="other"), send("stop"), send("kill")]
assert connect().call("kill") == {}
assert len(answer(lists[0])) >= 200
def kind_of(id):
    try:
        return answer(id)
    except Refused as e:
        return e.kind
assert [kind_of(id) for id in lists[-1:] + behind[:3]] == ["disconnected"] * 4
assert [answer(id) for id in behind[3:]] == [{}, {}]'
}

@test "a client that still gets output when the sandbox ends gets one answer to its wait" {
	controls '
p = start("sh", "-c", "yes | head -c 1000000; yes | head -c 1000000 >&2; exit 3", detach=True)
wait(p)
d = connect()
d.send("exec.attach", process=p)
id = d.send("exec.wait", process=p)
gone = send("kill")
answers = []
while (message := d.receive()) is not None:
    answers += [message] if message.get("id") == id else []
assert [a.get("result", a)["exit_code"] for a in answers] == [3], answers
assert answer(gone) == {}'
}

# The supervisor reads 4 KiB of a request at once, so it has read the kill before the waits.
@test "a wait that is read after the end of the sandbox has the exit code of a process that had ended" {
	controls '
import signal
p, q = start("sh", "-c", "exit 3"), start("sleep", "1000")
wait(p)
d = connect()
os.kill(pid, signal.SIGSTOP)
send("x" * 5000)
late, never = send("exec.wait", process=p), send("exec.wait", process=q)
d.send("kill")
os.kill(pid, signal.SIGCONT)
assert answer(late)["exit_code"] == 3
try:
    raise AssertionError(answer(never))
except Refused as e:
    assert (e.kind, e.message) == ("disconnected", "the sandbox has ended"), e'
}

# --- trees, and time -----------------------------------------------------------

# In these tests each process of a process tree holds the writing end of a pipe as its stdout, and
# prints a dot: the end of the pipe shows that all processes have ended.
trees='
import select, sys
sys.path.append(sys.path[0] + "/..")
from patience import PATIENCE
inside = open(sys.path[0] + "/control_inside.py").read()
null = os.open("/dev/null", os.O_RDWR)
say = "printf .; "
stay = say + "exec sleep 1000"
class Tree:
    def __init__(self, count, *argv, c=c, **params):
        self.count, self.argv = count, argv
        self.pipe, w = os.pipe()
        self.p = c.start(*argv, fds=[null, w, null], **params)
        os.close(w)
    def up(self):
        """Waits until all processes of the tree exist."""
        for i in range(self.count):
            assert os.read(self.pipe, 1) == b".", (self.argv, i)
        return self
    def said(self):
        """Returns the output up to the end of the pipe."""
        text = b""
        while True:
            assert select.select([self.pipe], [], [], PATIENCE)[0], "somebody is left"
            more = os.read(self.pipe, 65536)
            if not more:
                return text
            text += more
    def lives(self):
        """Returns whether a process holds the pipe and prints no more."""
        return not select.select([self.pipe], [], [], 0)[0]
def quoted(s):
    return "\x27" + s.replace("\x27", "\x27\\\x27\x27") + "\x27"
def sh(s):
    return "sh -c " + quoted(s)
'

# If the time-out came before all processes of the tree had started, the tree is started again
# with twice the time.
@test "a time-out ends the whole tree, whatever sessions and groups it has made, and no other process" {
	controls "$trees"'
beside = Tree(2, "sh", "-c", "setsid " + sh(stay) + " & " + stay, timeout=100000).up()
kinds = [
    (2, "sh", "-c", "setsid " + sh(stay) + " & " + say + "wait"),
    (2, "sh", "-c", "(setsid " + sh("(" + stay + ") & exit") + " &); " + stay),
    (2, "sh", "-c", "nohup " + sh(stay) + " & " + say + "wait"),
    (3, "bash", "-mc", "(%s) & (%s) | (%s) & %s wait" % (stay, stay, stay, say)),
    (2, "sh", "-c", "trap : TERM; setsid " + sh("trap \"\" TERM HUP INT; " + stay) + " & " + say + "while :; do wait; done"),
    (2, "sh", "-c", "setsid " + sh("while :; do " + sh(stay) + "; done") + " & " + say + "wait"),
    # The first of these trees has processes that pid 1 cannot see in the /proc inside.
    (2, "python3", "-c", inside, "hidden"),
    (200, "python3", "-c", inside, "many")]
nested = "unshare -Urpf "
if wait(start("sh", "-c", nested + "true"))["exit_code"] == 0:
    kinds.append((3, "sh", "-c", nested + sh("setsid " + sh(stay) + " & " + say + "wait") + " & " + say + "wait"))
seconds = 1
while kinds:
    trees = [Tree(*kind, timeout=seconds) for kind in kinds]
    for t in trees:
        end = wait(t.p)
        assert (end["timed_out"], end["signal"]) == (True, 9), end
    kinds = [kind for kind, t in zip(kinds, trees) if len(t.said()) < kind[0]]
    seconds *= 2
assert beside.lives()
assert [p["process"] for p in call("exec.list") if p["state"] == "running"] == [beside.p]'
}

@test "a process whose client has gone gets a SIGHUP, and is ended with its tree after the grace" {
	controls "$trees"'
d = connect()
t = Tree(3, "sh", "-c", "trap \"printf h\" HUP; setsid " + sh(stay) + " & (" + sh(stay) + " &); " + say + "while :; do wait; done", c=d).up()
d.close()
assert b"h" in t.said()
end = wait(t.p)
assert (end["timed_out"], end["signal"]) == (False, 9), end'
}

@test "processes that a process leaves behind when it ends by itself stay" {
	controls "$trees"'
def left():
    t = Tree(1, "sh", "-c", "(setsid " + sh(stay) + " &)", timeout=1)
    end = wait(t.p)
    return None if end["timed_out"] else t
while not (t := left()): # it was slower than its time
    pass
# When the time-out of this process has come, that of the earlier process would have come, too.
assert wait(start("sleep", "1000", timeout=1))["timed_out"]
assert t.up().lives()'
}

@test "an action waits for output as long as the environment inside says, and is one command" {
	controls '
a = call("act", action={"action": "run", "args": {"command": "read x"}})
assert "no new output after 1 seconds" in a["extras"]["metadata"]["suffix"]
a = call("act", action={"action": "run", "args": {"command": "ls\npwd"}})
assert a["observation"] == "error" and a["content"].endswith("\n(1) ls\n(2) pwd")' -e NO_CHANGE_TIMEOUT_SECONDS=1
}

# --- the log -------------------------------------------------------------------

@test "the log has all output with its time and process, and only the end if asked for that" {
	controls '
p = start("sh", "-c", "echo out; echo err >&2; printf \"\\377\"")
wait(p)
q = start("echo", "second")
wait(q)
c.notes.clear()
assert call("logs") == {}
entries = outputs()
assert all(list(e)[:3] == ["time", "process", "stream"] for e in entries)
assert output(p) == b"out\n\xff" and output(p, "stderr") == b"err\n" and output(q) == b"second\n"
assert entries == [json.loads(line) for line in open(folder + "/log/output")]
for tail in (0, 1, 2, 100):
    c.notes.clear()
    call("logs", tail=tail)
    assert outputs() == entries[len(entries) - min(tail, len(entries)):], tail
refused("logs", "invalid", tail=-1)
r, w = os.pipe()
wait(start("echo", "not logged", fds=[r, w, w]))
c.notes.clear()
call("logs")
assert outputs() == entries'
}

@test "a client that follows the log gets new output, and an answer when the sandbox ends" {
	controls '
wait(start("echo", "before"))
d = connect()
id = d.send("logs", follow=True)
d.until(lambda: [bytes_of(o) for o in d.outputs()] == [b"before\n"])
wait(start("echo", "after"))
d.until(lambda: [bytes_of(o) for o in d.outputs()] == [b"before\n", b"after\n"])
assert id not in d.answers
e = connect()
sleeper = e.start("sh", "-c", "trap \"\" TERM; printf last; exec sleep 1000")
d.until(lambda: len(d.outputs()) == 3)
call("kill")
assert d.answer(id) == {}
assert bytes_of(d.outputs()[2]) == b"last"
ended = os.path.dirname(folder) + "/.ended"
(one,) = os.listdir(ended)
lines = [json.loads(l) for l in open(f"{ended}/{one}/log/output")]
assert [bytes_of(l) for l in lines] == [b"before\n", b"after\n", b"last"]'
}

@test "the log keeps 16 MiB, in whole entries, and a reader that is late is told" {
	controls '
d = connect()
id = d.send("logs", follow=True)
p = start("sh", "-c", "seq 1 4000000")
wait(p)
text = output(p)
sizes = {f: os.path.getsize(f"{folder}/log/{f}") for f in os.listdir(folder + "/log")}
assert sorted(sizes) == ["output", "output.1"] and max(sizes.values()) <= 8 << 20, sizes
c.notes.clear()
call("logs")
assert text.endswith(output(p)) and len(output(p)) > 7 << 20
whole = [json.loads(l) for f in ("output.1", "output") for l in open(f"{folder}/log/{f}")]
assert outputs() == whole
c.notes.clear()
call("logs", tail=700)
assert outputs() == whole[-700:]
d.until(lambda: d.outputs(p) and bytes_of(d.outputs(p)[-1]).endswith(b"\n4000000\n"))
assert sum(o["dropped"] for o in d.outputs() if "process" not in o) > 0
assert text.endswith(d.output(p)[-1000000:])'
}

# --- what runs short -----------------------------------------------------------

# on_small_disk CODE: runs CODE like controls, but with a state folder of only 1 MiB.
on_small_disk() {
	# The capabilities that mounting needed are dropped: the supervisor refuses a client with
	# more capabilities than its own, since it may not look at that process.
	cat >"$T/full" <<-'END'
		mount -t tmpfs -o size=1m,mode=700 tmpfs "$XDG_RUNTIME_DIR" &&
			exec setpriv --ambient-caps -all --inh-caps -all "$@"
	END
	outer sh "$T/full" "$here/control.py" "$HUTCH" "$1"
}

@test "on a full disk the log stops and says so, and nothing else breaks" {
	on_small_disk '
call("events.subscribe", since=0)
d = connect()
id = d.send("logs", follow=True)
p = start("sh", "-c", "seq 1 300000")
wait(p)
text = b"".join(b"%d\n" % n for n in range(1, 300001))
assert output(p) == text
until(lambda: events("log"))
(said,) = events("log")
assert said["state"] == "stopped" and "No space left" in said["message"], said
call("logs")
# When the disk is full, the log ends with a complete entry.
size = os.path.getsize(folder + "/log/output")
got = b"".join(bytes_of(json.loads(l)) for l in open(folder + "/log/output"))
assert 100000 < len(got) < len(text) and text.startswith(got)
d.until(lambda: d.output(p) == got)
q = start("sh", "-c", "read x; echo $x", stdin=True)
call("exec.write", process=q, data="goes on\n")
wait(q)
assert output(q) == b"goes on\n"
assert call("info")["state"] == "ready"
assert os.path.getsize(folder + "/log/output") == size and len(events("log")) == 1'
}

@test "on a full disk a rename fails and leaves the name as it was" {
	on_small_disk '
ballast = os.path.dirname(os.path.dirname(folder)) + "/ballast"
with open(ballast, "wb", 0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
refused("rename", "no_space", name="other")
assert call("info")["name"] == "box"
assert os.path.isdir(folder) and not os.path.lexists(os.path.dirname(folder) + "/other")
os.unlink(ballast)
for name in "other", "box": # the one that is killed at the end
    call("rename", name=name)
    assert call("info")["name"] == name'
}

@test "a limit on the size of files stops the log and not the sandbox" {
	(ulimit -f 100 && controls '
call("events.subscribe", since=0)
p = start("sh", "-c", "seq 1 100000")
wait(p)
assert output(p).endswith(b"\n100000\n")
until(lambda: events("log"))
assert "File too large" in events("log")[0]["message"], events("log")
wait(start("true"))')
}

@test "descriptors that are under way elsewhere keep a process from starting, and end nothing" {
	(ulimit -n 128 && controls '
import array, errno
a, b = socket.socketpair()
def sends():
    try:
        return a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 100))])
    except OSError as e: # of tests beside this one, too
        assert e.errno == errno.ETOOMANYREFS, e
for i in range(2): # the kernel looks at what is there before each
    while not sends():
        call("info")
e = refused("exec.start", "limit", argv=["true"])
assert "too many references" in e.message.lower(), e
a.close()
b.close()
while True:
    try:
        assert wait(start("true"))["exit_code"] == 0
        break
    except Refused as e: # of tests beside this one
        assert e.kind == "limit", e')
}

@test "processes take no more descriptors than there are, and those that have ended none that are needed" {
	(ulimit -n 128 && controls '
def open_files():
    return len(os.listdir(f"/proc/{pid}/fd"))
ps = []
while True:
    try:
        ps.append(start("cat", stdin=True))
    except Refused as e:
        if "references" in e.message: # others of this user have too many under way
            continue
        assert e.kind == "limit" and "ulimit -n" in e.data["remedy"], e
        break
assert len(ps) > 15 and open_files() < 128, (len(ps), open_files())
# Although no descriptors are left for new processes, other clients are still served.
d = connect()
d.call("exec.attach", process=ps[0])
call("exec.write", process=ps[0], data="hi\n")
d.until(lambda: d.output(ps[0]) == b"hi\n")
for p in ps:
    call("exec.write", process=p, eof=True)
    assert wait(p)["exit_code"] == 0
# While a background process holds the pipe of an ended command open, the supervisor keeps its own
# end, too, until it needs the descriptor for another process.
before = open_files()
left = 100
while left:
    try:
        wait(start("sh", "-c", "sleep 1000 & echo $!"))
        left -= 1
    except Refused as e:
        assert e.kind == "limit" and "references" in e.message, e
assert open_files() < 128
p = start("echo", "fine")
wait(p)
assert output(p) == b"fine\n"')
}
