#!/usr/bin/env -S python3 -SE
"""net_live.py HUTCH CASE: rules and questions of a sandbox that lives, by its control socket.  Runs in
net_world.sh, whose internet has example.org and a.wild.org.  Inside, an allowed name has an address in
198.18.0.0/16, and a refused one in 198.19.0.0/16."""
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from control import PATIENCE, Client, Sandbox  # noqa: E402

HUTCH = os.path.abspath(sys.argv[1])

DOWNLOAD = """import socket, sys
with socket.create_connection((sys.argv[1], 80)) as s:
    s.sendall(b"GET /big/67108864 HTTP/1.1\\r\\nHost: " + sys.argv[1].encode() + b"\\r\\n\\r\\n")
    size = len(s.recv(65536))
    print("open", flush=True)
    sys.stdin.readline()
    try:
        while got := len(s.recv(65536)):
            size += got
            if size >= 67108864:
                break
    except ConnectionResetError:
        pass
    print("whole" if size >= 67108864 else "cut")
"""
CONNECT = """import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
        s.sendall(b"GET / HTTP/1.1\\r\\nConnection: close\\r\\nHost: " + sys.argv[1].encode() + b"\\r\\n\\r\\n")
        print(s.makefile("rb").read().split()[1].decode())
except OSError as e:
    print(type(e).__name__)
"""
GREET = """import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
        print(s.makefile().readline().strip())
except OSError as e:
    print(type(e).__name__)
"""


def run(c, *argv):
    """Runs a command inside; returns what it prints."""
    process = c.start(*argv)
    c.wait(process)
    return c.output(process).decode().strip()


def pool(c, name):
    """Returns the pool of addresses from which the name has one: 18 or 19."""
    first, second, *_ = run(c, "getent", "ahostsv4", name).split(".")
    assert first == "198"
    return int(second)


def visit(c, name, port=80):
    """Returns the process of a visit, whose output is the status of HTTP, or an error."""
    return c.start("python3", "-SE", "-c", CONNECT, name, str(port))


def ended(c, process):
    c.wait(process)
    return c.output(process).decode().strip()


def changes(c, _):
    assert c.call("net.list") == {"rules": [{"allow": "example.org"}], "questions": [], "ports": [80, 443],
                                  "open": 0, "connections": []}
    assert [pool(c, "example.org"), pool(c, "a.wild.org")] == [18, 19]
    # A new rule stands before all others.
    assert c.call("net.add", rule={"allow": "a.wild.org"}) == {
        "index": 1, "rule": {"allow": "a.wild.org"}, "cut": 0}
    assert pool(c, "a.wild.org") == 18
    assert ended(c, visit(c, "a.wild.org")) == "200"
    c.call("net.add", rule={"why": "no more", "deny": "example.org"})
    assert pool(c, "example.org") == 19
    rules = [{"deny": "example.org", "why": "no more"}, {"allow": "a.wild.org"}, {"allow": "example.org"}]
    assert c.call("net.list")["rules"] == rules
    assert c.call("info")["egress"] == rules
    # The first of two rules with one target goes.
    assert c.call("net.remove", rule="Example.org") == {"index": 1, "rule": rules[0], "cut": 0}
    assert pool(c, "example.org") == 18
    assert c.call("net.remove", rule=1)["rule"] == {"allow": "a.wild.org"}
    assert pool(c, "a.wild.org") == 19
    c.call("net.add", rule={"allow": "third.org"}, at=2)
    assert c.call("net.list")["rules"] == [{"allow": "example.org"}, {"allow": "third.org"}]
    assert c.call("net.set", rules=[{"allow": "a.wild.org"}]) == {"cut": 0}
    assert [pool(c, "example.org"), pool(c, "a.wild.org")] == [19, 18]
    c.call("net.set", rules=[])
    assert [pool(c, "example.org"), pool(c, "a.wild.org")] == [19, 19]


def connections(c, _):
    """Open connections are listed, the newest first, until they end."""
    def net(*words):
        return subprocess.run([HUTCH, "net", "box", *words], capture_output=True, text=True, timeout=PATIENCE,
                              check=True).stdout

    processes = []
    for name in ("example.org", "a.wild.org"):
        process = c.start("python3", "-SE", "-c", DOWNLOAD, name, stdin=True)
        c.until(lambda: b"open" in c.output(process))
        processes.append(process)
    found = json.loads(net("ls", "--json"))
    assert found["open"] == 2 and found["ports"] == [80, 443]
    newest, oldest = found["connections"]
    assert [(x["name"], x["address"], x["port"]) for x in (newest, oldest)] == [
        ("a.wild.org", "93.184.216.34", 80), ("example.org", "93.184.216.34", 80)], found
    assert newest["id"] != oldest["id"] and newest["since"] >= oldest["since"]
    request = "GET /big/67108864 HTTP/1.1\r\nHost: \r\n\r\n"
    for x in newest, oldest:
        assert x["up"] == len(request) + len(x["name"]) and 0 < x["down"] < 67108864, x
    table = [line.split()[:4] for line in net("ls").splitlines()[-3:]]
    assert table == [["CONNECTION", "NAME", "PORT", "ADDRESS"],
                     *([str(x["id"]), x["name"], "80", x["address"]] for x in (newest, oldest))], table
    for process in processes:
        c.call("exec.write", process=process, data="\n")
        ended(c, process)
    # hutch-egress tells the end of a connection, which is recorded, and forgets it in one step.
    with subprocess.Popen(["tail", "-n", "+1", "-f", "audit/log.1"], stdout=subprocess.PIPE, text=True) as log:
        ends = (line for line in log.stdout if '"verdict":"end"' in line)
        assert {json.loads(next(ends))["host"], json.loads(next(ends))["host"]} == {"example.org", "a.wild.org"}
        log.kill()
    found = c.call("net.list")
    assert (found["open"], found["connections"]) == (0, [])


def first_rule(c, _):
    """A sandbox that was made without a rule listens at the ports of most rules."""
    assert ended(c, visit(c, "example.org")) == "PermissionError"
    c.call("net.add", rule={"allow": "example.org"})
    assert ended(c, visit(c, "example.org")) == "200"


def in_order(c, _):
    """Requests of two clients, none of which awaits an answer, undo nothing of each other."""
    other = Client()
    sent = [(d, d.send("net.add", rule={"allow": f"n{i}.org"})) for i in range(4) for d in (c, other)]
    for client, id in sent:
        client.answer(id)
    names = [rule["allow"] for rule in c.call("net.list")["rules"]]
    assert sorted(names) == sorted(["example.org", *(f"n{i}.org" for i in range(4) for _ in range(2))]), names
    # Beyond 16 that wait a request is busy; all others are done.
    sent = [c.send("net.remove", rule=1) for _ in range(9)]
    for id in sent:
        c.answer(id)
    assert c.call("net.list")["rules"] == []


def refused(c, _):
    def no(kind, method, **params):
        return c.refused(method, kind, **params)

    no("invalid", "net.add")
    no("invalid", "net.add", rule="example.org")
    no("invalid", "net.add", rule={"allow": "a b"})
    no("invalid", "net.add", rule={"allow": "a.org", "deny": "a.org"})
    no("not_found", "net.add", rule={"allow": "@nonesuch"})
    no("invalid", "net.add", rule={"allow": "a.org"}, at=0)
    no("invalid", "net.add", rule={"allow": "a.org"}, at=3)
    no("invalid", "net.set", rules=[{"allow": "a.org"}, {}])
    no("not_found", "net.remove", rule="a.wild.org")
    no("not_found", "net.remove", rule=2)
    no("not_found", "net.remove", rule=0)
    no("not_found", "net.answer", id=1, verdict="allow")
    no("invalid", "net.answer", id=1, verdict="yes")
    no("limit", "net.set", rules=[{"allow": f"n{i}.org"} for i in range(1025)])
    port = no("unsupported", "net.add", rule={"allow": "example.org:7001"})
    assert "port 7001 has no listener" in port.message and "--allow HOST:PORT" in port.data["remedy"]
    ports = no("unsupported", "net.add", rule={"allow": "example.org:*"})
    assert "a port of the rule has no listener" in ports.message and "--allow HOST:*" in ports.data["remedy"]
    # A port that is denied needs no listener.
    c.call("net.add", rule={"deny": "example.org:7001"})
    c.call("net.remove", rule=1)
    assert c.call("net.list")["rules"] == [{"allow": "example.org"}]


def each_port(c, _):
    """A sandbox with a rule for each port takes rules for any, and goes on to do so without that rule."""
    assert run(c, "python3", "-SE", "-c", GREET, "example.org", "22") == "greetings"
    assert c.call("net.list")["ports"] is None
    done = subprocess.run([HUTCH, "why", "box", "connect", "b.org:22"], capture_output=True, text=True)
    assert "change  hutch net box allow b.org:22\n" in done.stdout, done
    c.call("net.remove", rule="example.org:*")
    c.call("net.add", rule={"allow": "example.org:7000"})
    assert run(c, "python3", "-SE", "-c", GREET, "example.org", "7000") == "greetings"
    assert run(c, "python3", "-SE", "-c", GREET, "example.org", "22") == "ConnectionResetError"
    c.call("net.set", rules=[{"deny": "example.org:7000"}, {"allow": "example.org:*"}])
    assert run(c, "python3", "-SE", "-c", GREET, "example.org", "7000") == "ConnectionResetError"
    assert run(c, "python3", "-SE", "-c", GREET, "example.org", "853") == "greetings"


def cut(c, _):
    """A removed rule cuts a download in its middle; another one goes on."""
    first, second = (c.start("python3", "-SE", "-c", DOWNLOAD, name, stdin=True)
                     for name in ("example.org", "a.wild.org"))
    c.until(lambda: b"open" in c.output(first) and b"open" in c.output(second))
    assert c.call("net.remove", rule="example.org")["cut"] == 1
    for process, outcome in ((first, "cut"), (second, "whole")):
        c.call("exec.write", process=process, data="\n")
        assert ended(c, process).endswith(outcome), outcome


def questions(c, _):
    # No client answers questions: they are refused at once.
    assert ended(c, visit(c, "a.wild.org")) == "403"
    asked = Client()
    asked.call("events.subscribe", asks=True)

    def question():
        asked.until(lambda: [n for n in asked.notes if n["method"] == "net.ask"])
        params = next(n for n in asked.notes if n["method"] == "net.ask")["params"]
        asked.notes.clear()
        return params

    process = visit(c, "a.wild.org")
    q = question()
    assert (q["name"], q["port"]) == ("a.wild.org", 80)
    assert c.call("net.list")["questions"] == [q]
    assert asked.call("net.answer", id=q["id"], verdict="allow") == {}
    assert ended(c, process) == "200"
    assert c.call("net.list")["questions"] == []
    c.refused("net.answer", "not_found", id=q["id"], verdict="allow")
    # Another client may answer, too.
    process = visit(c, "a.wild.org")
    c.call("net.answer", id=question()["id"], verdict="deny")
    assert ended(c, process) == "403"
    process = visit(c, "a.wild.org")
    c.call("net.answer", id=question()["id"], verdict="allow", remember=True)
    assert [ended(c, process), ended(c, visit(c, "a.wild.org"))] == ["200", "200"]
    # The last client that answers questions leaves while one waits.
    c.call("events.subscribe")
    process = visit(c, "example.org")
    id = question()["id"]
    asked.close()
    c.until(lambda: [e for e in c.events("client") if e["clients"] == 1])
    c.refused("net.answer", "not_found", id=id, verdict="allow")
    assert ended(c, process) == "403"


def lost(c, box):
    """hutch-egress ends: a request that would change rules says so."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/status") as status:
                if comm.read() == "hutch-egress\n" and f"\nPPid:\t{box.pid}\n" in status.read():
                    os.kill(int(pid), 9)
        except (FileNotFoundError, ProcessLookupError):
            pass
    c.call("events.subscribe", since=0)
    c.until(lambda: c.events("egress-lost"))
    c.refused("net.add", "disconnected", rule={"allow": "a.org"})
    assert c.call("net.list")["rules"] == [{"allow": "example.org"}]


def verbs(c, box):
    """The same by `hutch net`."""
    def net(*words, code=0):
        done = subprocess.run([HUTCH, "net", "box", *words], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code, done
        return done.stderr if code else done.stdout

    assert net("allow", "a.wild.org", "@pypi") == "allow a.wild.org\nallow @pypi\n"
    assert net("deny", "--why", "no more", "example.org") == "deny example.org\n"
    assert net("ls").splitlines() == [
        "NUMBER   VERDICT   RULE          WHY", "1        deny      example.org   no more",
        "2        allow     a.wild.org    -", "3        allow     @pypi         -",
        "4        allow     example.org   -"]
    assert json.loads(net("ls", "--json")) == c.call("net.list")
    assert [pool(c, "example.org"), pool(c, "a.wild.org")] == [19, 18]
    assert ended(c, visit(c, "example.org")) == "PermissionError"
    assert net("rm", "1", "3", "a.wild.org") == "deny example.org\nallow @pypi\nallow a.wild.org\n"
    assert "no rule has the target 'x.org'" in net("rm", "x.org", code=125)
    assert "there is no rule 7" in net("rm", "7", code=125)
    assert "port 81 has no listener" in net("allow", "example.org:81", code=125)
    log = net("log")
    assert "refused: connect to example.org" in log and "the rule deny example.org" in log
    assert "rules: 1; connections that were cut: 0" in log.splitlines()[-1]
    assert net("ask", "*") == "ask *\n"
    follower = subprocess.Popen([HUTCH, "net", "box", "log", "-f"], stdout=subprocess.PIPE, text=True)
    try:
        follow(c, net, follower.stdout)
    finally:
        follower.kill()
        follower.communicate()


def why(c, _):
    """hutch why answers by the rules in force, and connects nothing."""
    def asks(where, *lines, name="box"):
        done = subprocess.run([HUTCH, "why", name, "connect", where], capture_output=True, text=True,
                              timeout=PATIENCE)
        assert done.stdout.splitlines() == [lines[0], *(f"  {line}" for line in lines[1:])], done
        assert done.returncode == (0 if lines[0].startswith("yes") else 1), done

    def fails(*words):
        done = subprocess.run([HUTCH, "why", *words], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 125 and not done.stdout, done
        return done.stderr

    allowed = ("layer   network", "line    rule 1 of hutch net box ls (--allow example.org)")
    asks("example.org:443", "yes: example.org:443 is allowed by a rule", *allowed)
    asks("x.org:80", "no: x.org:80 is refused: no rule allows it", "layer   network", "line    --network allow",
         "change  hutch net box allow x.org")
    asks("x.org:81", "no: x.org:81 is refused: no rule allows it", "layer   network", "line    --network allow",
         "change  another sandbox, made with --allow x.org:81")
    c.call("net.add", rule={"deny": "example.org", "why": "no more"})
    asks("example.org:80", "no: example.org:80 is refused by a rule: no more", "layer   network",
         "line    rule 1 of hutch net box ls (--deny example.org=no more)", "change  hutch net box allow example.org")
    c.call("net.remove", rule=1)
    asks("example.org:80", "yes: example.org:80 is allowed by a rule", *allowed)
    assert c.call("net.list")["open"] == 0
    found = json.loads(subprocess.run([HUTCH, "why", "--json", "box", "--connect", "example.org:80"],
                                      capture_output=True, timeout=PATIENCE, check=True).stdout)
    assert found["answer"] == "yes" and found["line"].startswith("rule 1 of"), found
    assert "takes no option but --json" in fails("--allow", "x.org", "box", "connect", "x.org:80")
    assert "it takes HOST:PORT" in fails("box", "connect", "unix:/run/x")
    assert "it takes HOST:PORT" in fails("box", "connect", "example.org")
    assert "no sandbox" in fails("nonesuch", "connect", "example.org:80")


def why_none(c, _):
    done = subprocess.run([HUTCH, "why", "box", "connect", "x.org:80"], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 1 and done.stdout.splitlines() == [
        "no: x.org:80 cannot be reached: there is no network but loopback", "  layer   network",
        "  line    --network none", "  change  another sandbox, made with --allow x.org"], done


def follow(c, net, log):
    while "rules: 2" not in log.readline():
        pass
    process = visit(c, "a.wild.org")
    while not (line := log.readline()).startswith("question"):
        pass
    number = line.split()[1].rstrip(":")
    assert line == f"question {number}: a.wild.org port 80 (hutch net box answer {number} yes|no)\n"
    assert net("ls").splitlines()[-2:] == ["QUESTION   NAME         PORT", f"{number}          a.wild.org   80"]
    assert net("answer", number, "yes", "--for", "sandbox") == ""
    assert [ended(c, process), ended(c, visit(c, "a.wild.org"))] == ["200", "200"]
    assert f"no question {number} waits" in net("answer", number, "no", code=125)


def no_rules(c, _):
    for method in ("net.list", "net.add"):
        error = c.refused(method, "unsupported")
        assert "--network none" in error.message and "--network allow" in error.data["remedy"]
    assert c.call("info")["egress"] is None


ALLOW = ("--network", "allow", "--allow", "example.org")
CASES = {
    "changes": (changes, ALLOW),
    "connections": (connections, (*ALLOW, "--allow", "a.wild.org", "--audit", os.path.abspath("audit"))),
    "first_rule": (first_rule, ("--network", "allow")),
    "in_order": (in_order, ALLOW),
    "refused": (refused, ALLOW),
    "each_port": (each_port, ("--network", "allow", "--allow", "example.org:*")),
    "cut": (cut, (*ALLOW, "--allow", "a.wild.org")),
    "questions": (questions, ("--network", "allow", "--allow", '{"ask":"*"}')),
    "lost": (lost, ALLOW),
    "verbs": (verbs, ALLOW),
    "why": (why, ALLOW),
    "why_none": (why_none, ("--network", "none")),
    "no_rules": (no_rules, ("--network", "none")),
}

if __name__ == "__main__":
    play, options = CASES[sys.argv[2]]
    box = Sandbox(HUTCH, options)
    try:
        play(Client(), box)
        print("well")
    finally:
        box.end()
