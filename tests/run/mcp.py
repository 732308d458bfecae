#!/usr/bin/env -S python3 -SE
"""mcp.py HUTCH CASE [OPTION...]: is a client of `hutch mcp OPTION...`, in the way of one CASE, a
function below that gets the server.

	Server(OPTION...)	starts a server
	s.send(dict or bytes)	one line, as it is
	s.receive()		the next line, as a dict
	s.request(METHOD, PARAMS, modern=False)	a request with an id of its own; gives its id
	s.answer(ID)		its answer; messages before it are in s.others
	s.ask(METHOD, PARAMS, modern=False)	both; gives `result`, or the whole answer of an error
	s.initialize(REVISION, **capabilities)	the handshake; gives its result
	s.tool(NAME, **arguments)	calls a tool, legacy; gives the result
	s.modern(NAME, ARGUMENTS, **params)	calls it as 2026-07-28 does
	s.end()			closes stdin; gives the exit code and the lines that came still
	text(result)		all of its texts
"""
import json
import os
import re
import pathlib
import select
import socket
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from patience import PATIENCE, wait_until  # noqa: E402, F401

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


def meta(capabilities=None, version=MODERN, **more):
    return {PREFIX + "protocolVersion": version,
            PREFIX + "clientCapabilities": capabilities or {}, **more}


def text(result):
    return "".join(item.get("text", "") for item in result["content"])


class Server:
    def __init__(self, *options, cwd=None):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([HUTCH, "mcp", *options], stdin=subprocess.PIPE, cwd=cwd,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.rest, self.id, self.others = b"", 0, []

    def send(self, line):
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def receive(self):
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise TimeoutError("no message came")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                self.errors.seek(0)
                raise EOFError("hutch mcp has ended: " + self.errors.read())
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        message = json.loads(line.decode())
        assert isinstance(message, list) or message["jsonrpc"] == "2.0", message
        return message

    def request(self, method, params=None, modern=False):
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method}
        if modern:
            params = {"_meta": meta(), **(params or {})}
        if params is not None:
            message["params"] = params
        self.send(message)
        return self.id

    def answer(self, number):
        def is_it(message):
            return message.get("id") == number and "method" not in message
        for message in filter(is_it, self.others):
            self.others.remove(message)
            return message
        while not is_it(message := self.receive()):
            self.others.append(message)
        return message

    def ask(self, method, params=None, modern=False):
        answer = self.answer(self.request(method, params, modern))
        return answer.get("result", answer)

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, revision="2025-11-25", **capabilities):
        result = self.ask("initialize", {"protocolVersion": revision, "capabilities": capabilities,
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized", {})
        return result

    def tool(self, name, /, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def modern(self, name, arguments, **params):
        return self.ask("tools/call", {"name": name, "arguments": arguments, **params}, True)

    def end(self):
        if self.process.stdin.closed:
            self.process.stdin = None
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, [json.loads(line) for line in (self.rest + out).splitlines()]


def legacy_revisions(s):
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        r = s.initialize(revision)
        assert r["protocolVersion"] == revision
        assert list(r) == ["protocolVersion", "capabilities", "instructions", "serverInfo"]
        assert r["capabilities"] == {"tools": {}} and r["serverInfo"]["name"] == "hutch"
    for revision in ("2026-07-28", "1999-01-01", ""):
        assert s.initialize(revision)["protocolVersion"] == "2025-11-25"
    assert s.ask("initialize", {})["error"]["code"] == -32602
    assert s.ask("ping") == {}
    assert s.end() == (0, [])


def modern_discovery(s):
    r = s.ask("server/discover", modern=True)
    assert r["resultType"] == "complete" and r["ttlMs"] > 0 and r["cacheScope"] == "private"
    assert r["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    assert r["capabilities"] == {"tools": {}} and r["_meta"][PREFIX + "serverInfo"]["name"] == "hutch"
    r = s.ask("tools/list", modern=True)
    assert r["resultType"] == "complete" and r["ttlMs"] > 0 and r["cacheScope"] == "private"
    r = s.modern("exec", {"command": "echo hi"})
    assert r["resultType"] == "complete" and r["isError"] is False and text(r) == "hi\n[exit code 0]"
    assert "resultType" not in s.initialize()
    assert "resultType" not in s.tool("exec", command="true")
    assert "ttlMs" not in s.ask("tools/list")
    assert s.modern("exec", {"command": "true"})["resultType"] == "complete"


def modern_codes(s):
    def code(method, params=None):
        return s.ask(method, params)["error"]["code"]
    r = s.ask("tools/list", {"_meta": meta(version="2027-01-01")})["error"]
    assert r["code"] == -32022 and r["data"]["requested"] == "2027-01-01"
    assert "2026-07-28" in r["data"]["supported"]
    lacking = meta()
    del lacking[PREFIX + "clientCapabilities"]
    assert code("tools/list", {"_meta": lacking}) == -32602
    assert code("server/discover", {"_meta": lacking}) == -32602
    assert code("tools/list") == -32602
    assert code("server/discover") == -32602
    for method in ("ping", "logging/setLevel", "resources/subscribe", "nothing"):
        assert code(method, {"_meta": meta()}) == -32601, method
    s.initialize()
    assert code("server/discover") == code("subscriptions/listen") == code("nothing") == -32601
    assert code("tools/call", {"name": "fly"}) == code("tools/call", {}) == -32602
    assert code("tools/list", {"cursor": "2"}) == -32602


def bad_lines(s):
    def code(line, number=None):
        s.send(line)
        r = s.receive()
        assert r["id"] == number, r
        return r["error"]["code"]
    for line in (b"rubbish", b"\xff\xfe", b"{", b"{\"a\":1,\"a\":2}", b"[" * 65 + b"]" * 65, b"1 2", b"\x00",
                 b"{\"x\":\"" + b"y" * (17 << 20) + b"\"}"):
        assert code(line) == -32700, line[:40]
    for line in (b"1", b"null", b"\"x\"", b"[]", b"{}", b"[1]", b"{\"jsonrpc\":\"2.0\"}",
                 b"{\"jsonrpc\":\"1.0\",\"method\":\"ping\"}",
                 b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
                 b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
                 b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
                 b"{\"jsonrpc\":\"2.0\",\"id\":\"" + b"x" * 300 + b"\",\"method\":\"ping\"}",
                 b"{\"jsonrpc\":\"2.0\",\"method\":5}"):
        assert code(line) == -32600, line[:80]
    assert code(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", 1) == -32600
    assert code(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":[]}", 2) == -32602
    s.send(b"")
    s.notify("notifications/cancelled", {"requestId": 99})
    s.notify("notifications/nothing", {"x": 1})
    s.send({"jsonrpc": "2.0", "id": "hutch-1", "result": {}})
    s.send(b"{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061b\",\"method\":\"ping\"}")
    assert s.receive() == {"jsonrpc": "2.0", "id": "ab", "result": {}}


def batches(s):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "exec", "arguments": {"command": "echo hi"}}}
    s.initialize()
    s.send([ping])
    assert s.receive()["error"]["code"] == -32600
    s.initialize("2025-03-26")
    s.send([call, {"jsonrpc": "2.0", "method": "notifications/nothing"}, ping, 5, [ping]])
    got = s.receive()
    assert sorted(str(a["id"]) for a in got) == ["1", "2", "None", "None"], got
    assert [a["error"]["code"] for a in got if "error" in a] == [-32600, -32600]
    for wrong in ([], [ping] * 257):
        s.send(wrong)
        assert s.receive()["error"]["code"] == -32600
    s.send([{"jsonrpc": "2.0", "method": "notifications/nothing"}])
    assert s.ask("ping") == {}


def tool_list(s):
    listed = s.ask("tools/list", modern=True)["tools"]
    s.initialize()
    assert s.ask("tools/list")["tools"] == listed == s.ask("tools/list")["tools"]
    names = [t["name"] for t in listed]
    assert names == ["sandbox_create", "sandbox_list", "sandbox_end", "exec", "exec_output", "exec_kill", "read_file",
                     "write_file", "edit_file", "list_dir", "search_files", "grep", "diff", "apply"]
    for t in listed:
        assert list(t) == ["name", "title", "description", "inputSchema", "outputSchema", "annotations"]
        assert t["inputSchema"]["type"] == t["outputSchema"]["type"] == "object"
        assert t["inputSchema"]["additionalProperties"] is False
        assert set(t["inputSchema"].get("required", [])) <= set(t["inputSchema"]["properties"])
        assert not (t["annotations"]["readOnlyHint"] and t["annotations"]["destructiveHint"])
    hints = {t["name"]: t["annotations"] for t in listed}
    assert hints["grep"]["readOnlyHint"] and not hints["exec"]["readOnlyHint"] and hints["apply"]["destructiveHint"]
    more = {t["name"] for t in Server("--network", "allow", "--image", "none:1", "--plugin", "jupyter").ask(
        "tools/list", modern=True)["tools"]}
    assert more - set(names) == {"allow_host", "snapshot", "fork", "run_code"}
    few = Server("--tools", "grep,exec").ask("tools/list", modern=True)["tools"]
    assert [t["name"] for t in few] == ["exec", "grep"]


def subscription(s):
    n = s.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, True)
    m = s.receive()
    assert m["method"] == "notifications/subscriptions/acknowledged" and m["params"]["notifications"] == {}
    assert m["params"]["_meta"] == {PREFIX + "subscriptionId": n}
    gone = s.request("subscriptions/listen", {"notifications": {}}, True)
    s.receive()
    s.notify("notifications/cancelled", {"requestId": gone})
    code, rest = s.end()
    assert code == 0 and [m["id"] for m in rest] == [n]
    assert rest[0]["result"] == {"resultType": "complete", "_meta": {PREFIX + "subscriptionId": n}}


def exec_results(s):
    s.initialize()
    r = s.tool("exec", command="echo out; echo err >&2; exit 3")
    assert r["isError"] is False and text(r) == "out\n[stderr]\nerr\n[exit code 3]"
    c = r["structuredContent"]
    assert (c["stdout"], c["stderr"], c["exit_code"]) == ("out\n", "err\n", 3)
    assert (c["timed_out"], c["running"]) == (False, False)
    assert text(s.tool("exec", argv=["printf", "%s|", "a b", "$x"])) == "a b|$x|\n[exit code 0]"
    assert text(s.tool("exec", command="echo $x; pwd", cwd="/tmp", env={"x": "a b"})).startswith("a b\n/tmp\n")
    assert text(s.tool("exec", command="wc -c", stdin="four")).startswith("4")
    assert text(s.tool("exec", argv=["true"], stdin="x" * 500000)) == "[exit code 0]"
    assert s.tool("exec", command="[[ x == x ]] && echo bash")["structuredContent"]["stdout"] == "bash\n"
    r = s.tool("exec", command="sleep 1000", timeout=0.2)
    assert text(r) == "[killed: its time was over]"
    assert r["structuredContent"]["timed_out"] and r["structuredContent"]["exit_code"] == 124
    r = s.tool("exec", argv=["/none"])
    assert r["isError"] and "/none" in text(r) and "structuredContent" not in r
    assert s.tool("exec", command="true", cwd="/none")["isError"]


def wrong_arguments(s):
    s.initialize()
    def wrong(name, /, **arguments):
        r = s.tool(name, **arguments)
        assert r["isError"] is True, r
        return text(r)
    assert "either command or argv" in wrong("exec")
    assert "either command or argv" in wrong("exec", command="true", argv=["true"])
    assert "comand" in wrong("exec", comand="true")
    assert "string" in wrong("exec", command=5)
    assert "empty" in wrong("exec", argv=[])
    assert "string" in wrong("exec", argv=["a", 5])
    assert "string" in wrong("exec", command="true", env={"a": 1})
    for timeout in (0, -1, 86401):
        assert "86400" in wrong("exec", command="true", timeout=timeout)
    assert "1 MiB" in wrong("exec", command="true", stdin="x" * 1048577)
    assert "path: it is missing" in wrong("read_file")
    assert wrong("read_file", path="a", offset=-1) and wrong("read_file", path="a", limit=1.5)
    assert wrong("sandbox_create", name="a/b") and wrong("sandbox_create", name="x" * 33)
    assert "TERM, INT or KILL" in wrong("exec_kill", exec_id=1, signal="9")
    r = s.ask("tools/call", {"name": "exec", "arguments": [1]})
    assert r["isError"]


def long_output(s):
    s.initialize()
    c = s.tool("exec", command="seq 1 100000")["structuredContent"]
    assert c["stdout"].startswith("1\n2\n") and c["stdout"].endswith("\n100000\n")
    assert len(c["stdout"]) < 66000 and c["left_out_bytes"] == 588895 - 65536
    assert f"[... {c['left_out_bytes']} bytes are left out ...]" in c["stdout"]
    c = s.tool("exec", command=r"printf 'a\377b\0\033[31m\342\200\250'")["structuredContent"]
    assert c["stdout"] == "a\ufffdb\0\x1b[31m\u2028", c


def background(s):
    s.initialize()
    r = s.tool("exec", command="read x; echo got $x; sleep 1000", background=True, stdin="it\n")["structuredContent"]
    number = r["exec_id"]
    assert r["running"] is True
    wait_until(lambda: s.tool("exec_output", exec_id=number)["structuredContent"]["stdout"] == "got it\n")
    c = s.tool("exec_output", exec_id=number)["structuredContent"]
    assert c["running"] and c["exit_code"] is None
    s.request("tools/call", {"name": "exec_output", "arguments": {"exec_id": number, "wait": 1000}})
    waiting = s.id
    assert not s.tool("exec_kill", exec_id=number)["isError"]
    c = s.answer(waiting)["result"]["structuredContent"]
    assert (c["running"], c["exit_code"], c["stdout"]) == (False, 137, "got it\n")
    other = Server()
    c = other.modern("exec_output", {"exec_id": number})["structuredContent"]
    assert (c["running"], c["exit_code"], c["stdout"]) == (False, 137, "got it\n")
    assert s.tool("exec_output", exec_id=999)["isError"] and s.tool("exec_kill", exec_id=999)["isError"]


def progress(s):
    s.initialize()
    n = s.request("tools/call", {"name": "exec", "arguments": {"command": "echo one; echo two; read x < /tmp/none"},
                                 "_meta": {"progressToken": "t"}})
    s.answer(n)
    p = [m["params"] for m in s.others if m.get("method") == "notifications/progress"]
    assert p and p[0]["progressToken"] == "t" and p[0]["progress"] > 0 and p[0]["message"]
    values = [m["progress"] for m in p]
    assert values == sorted(set(values))
    s.others.clear()
    s.tool("exec", command="echo one")
    assert s.others == []


def cancellation(s):
    s.initialize()
    s.tool("exec", command="mkfifo /tmp/fifo")
    command = "echo up > /tmp/fifo; sleep 1000; echo over"
    n = s.request("tools/call", {"name": "exec", "arguments": {"command": command}})
    assert "up" in text(s.tool("exec", command="cat /tmp/fifo"))
    s.notify("notifications/cancelled", {"requestId": n})
    names = "cat /proc/[0-9]*/comm"
    wait_until(lambda: "sleep" not in text(s.tool("exec", command=names)))
    assert n not in [m.get("id") for m in s.others]
    assert s.ask("ping") == {}


def many_sandboxes(s):
    s.initialize()
    s.tool("exec", command="true")
    for _ in range(31):
        s.request("tools/call", {"name": "sandbox_create", "arguments": {}})
    made = [s.answer(number)["result"] for number in range(s.id - 30, s.id + 1)]
    assert not any(r["isError"] for r in made), made
    assert "32 sandboxes" in text(s.tool("sandbox_create"))
    s.tool("sandbox_end", sandbox_id=made[0]["structuredContent"]["sandbox_id"])
    assert not s.tool("sandbox_create")["isError"]


def many_calls(s):
    s.initialize()
    s.tool("exec", command="true")
    call = {"name": "exec", "arguments": {"command": "sleep 1000"}}
    numbers = [s.request("tools/call", call) for _ in range(64)]
    assert "64 calls" in text(s.tool("exec", command="true"))
    s.send({"jsonrpc": "2.0", "id": numbers[0], "method": "ping"})
    assert s.receive()["error"]["code"] == -32600
    for n in numbers:
        s.notify("notifications/cancelled", {"requestId": n})
    assert text(s.tool("exec", command="echo hi")).startswith("hi")
    assert s.others == []


def files(s):
    s.initialize()
    def content(name, /, **arguments):
        r = s.tool(name, **arguments)
        assert not r["isError"], r
        assert r["structuredContent"]["content"] == text(r)
        return text(r)
    said = content("write_file", path="src/a.txt", content="one\ntwo\nthree")
    assert said == "I wrote to the file /workspace/src/a.txt."
    assert content("read_file", path="src/a.txt") == "one\ntwo\nthree\n"
    assert content("read_file", path="src/a.txt", offset=2, limit=1) == "two\n"
    assert content("read_file", path="/workspace/src/a.txt", offset=3) == "three\n"
    r = s.tool("edit_file", path="src/a.txt", old_str="two", new_str="2")
    assert r["structuredContent"]["diff"].endswith("-two\n+2") and "edited" in text(r)
    r = s.tool("edit_file", path="src/a.txt", old_str="none", new_str="2")
    assert r["isError"] and "did not appear" in text(r)
    assert content("list_dir") == "src/" and content("list_dir", path="src") == "a.txt"
    assert content("search_files", pattern="**/*.txt") == "src/a.txt"
    assert content("grep", pattern="t[h]ree", path="src") == "src/a.txt:3:three"
    assert content("grep", pattern="ONE", ignore_case=True, include="*.txt", limit=1) == "src/a.txt:1:one"
    r = s.tool("read_file", path="none")
    assert r["isError"] and "not found" in text(r)
    assert s.tool("grep", pattern="(")["isError"]


def images(s):
    s.initialize()
    s.tool("exec", command=f"echo {PNG} | base64 -d >a.png; cp a.png a.pdf")
    r = s.tool("read_file", path="a.png")
    assert r["content"] == [{"type": "image", "data": PNG, "mimeType": "image/png"}], r
    r = s.tool("read_file", path="a.pdf")["content"][0]
    assert r["type"] == "resource" and r["resource"]["blob"] == PNG and r["resource"]["mimeType"] == "application/pdf"
    assert r["resource"]["uri"] == "file:///a.pdf"


def cells(s):
    assert "run_code" in [tool["name"] for tool in s.ask("tools/list", modern=True)["tools"]]
    s.modern("run_code", {"code": "x = 6"})
    assert "42" in text(s.modern("run_code", {"code": "print(x * 7)"}))
    r = s.modern("run_code", {"code": "1 / 0"})
    assert "ZeroDivisionError" in text(r), r


def pictures(s):
    r = s.modern("run_code", {"code": "draw"})
    picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
    assert r["content"] == [{"type": "text", "text": "drawn"}, picture], r
    assert r["structuredContent"] == {"content": "drawn"}


def forks(s):
    s.initialize()
    s.tool("exec", command="echo one >/kept")
    snapshot = s.tool("snapshot")["structuredContent"]["snapshot"]
    s.tool("exec", command="echo two >/kept")
    first = s.tool("fork", snapshot=snapshot, name="first")["structuredContent"]["sandbox_id"]
    second = s.tool("fork")["structuredContent"]["sandbox_id"]
    assert text(s.tool("read_file", path="/kept", sandbox_id=first)) == "one\n"
    assert text(s.tool("read_file", path="/kept", sandbox_id=second)) == "two\n"
    assert "kept" in text(s.tool("diff"))
    for other in ("bb:1", "localhost/bb:1", snapshot.replace("localhost", "127.0.0.1"),
                  "localhost/mcp-0:1", "/etc", "--help", ""):
        r = s.tool("fork", snapshot=other)
        assert r["isError"] and "made no snapshot" in text(r), other
    assert s.tool("fork", name="first", snapshot=snapshot)["isError"]


def outlive(s):
    s.initialize()
    s.tool("write_file", path="a.txt", content="mine")
    further = s.tool("sandbox_create", name="more")["structuredContent"]["sandbox_id"]
    s.tool("write_file", path="a.txt", content="theirs", sandbox_id=further)
    boxes = s.tool("sandbox_list")["structuredContent"]["sandboxes"]
    default = boxes[0]["sandbox_id"]
    assert further == default + "-more" and [b["is_default"] for b in boxes] == [True, False]
    assert s.end() == (0, [])
    again = Server()
    assert text(again.modern("read_file", {"path": "a.txt"})) == "mine\n"
    assert text(again.modern("read_file", {"path": "a.txt", "sandbox_id": further})) == "theirs\n"
    assert len(again.modern("sandbox_list", {})["structuredContent"]["sandboxes"]) == 2
    stranger = Server("-e", "X=1", cwd="one")
    elsewhere = Server(cwd="two")
    for other in (stranger, elsewhere):
        r = other.modern("read_file", {"path": "a.txt", "sandbox_id": default})
        assert r["isError"] and "no sandbox of that name" in text(r)
        assert other.modern("sandbox_list", {})["structuredContent"]["sandboxes"] == []
    assert text(again.modern("sandbox_end", {"sandbox_id": further})) == further
    assert len(again.modern("sandbox_list", {})["structuredContent"]["sandboxes"]) == 1
    assert again.modern("read_file", {"path": "a.txt", "sandbox_id": further})["isError"]
    again.modern("sandbox_end", {})
    assert again.modern("sandbox_end", {})["isError"]
    assert again.modern("read_file", {"path": "a.txt"})["isError"]
    [o.process.kill() for o in (again, stranger, elsewhere)]


def at_once(s):
    others = [Server() for _ in range(5)]
    numbers = [o.request("tools/call", {"name": "exec", "arguments": {"command": "true"}}, True) for o in others]
    results = [o.answer(number)["result"] for o, number in zip(others, numbers)]
    assert len({r.get("structuredContent", {}).get("sandbox_id", text(r)) for r in results}) == 1, results
    for o in others:
        o.process.kill()


def given_name(s):
    assert text(s.modern("read_file", {"path": "/tmp/a"})) == "here\n"
    assert s.modern("exec", {"command": "true"})["structuredContent"]["sandbox_id"] == "box"
    assert text(s.modern("exec", {"command": "true", "sandbox_id": "box-2"})).startswith("sandbox_id:")


def cannot_make(s):
    r = s.modern("exec", {"command": "true"})
    assert r["isError"] and "/none" in text(r), r
    assert s.modern("sandbox_create", {})["isError"]
    assert s.modern("exec", {"command": "true"})["isError"]


def allow_legacy(s):
    def rules():
        default = s.modern("sandbox_list", {})["structuredContent"]["sandboxes"][0]["sandbox_id"]
        return subprocess.check_output([HUTCH, "net", default, "ls"], text=True)
    s.initialize("2025-11-25", elicitation={})
    def asks(answer):
        n = s.request("tools/call", {"name": "allow_host", "arguments": {"host": "example.com:8443"}})
        q = s.receive()
        assert q["method"] == "elicitation/create" and "example.com:8443" in q["params"]["message"], q
        assert q["params"]["requestedSchema"]["properties"]["allow"]["type"] == "boolean"
        s.send({"jsonrpc": "2.0", "id": q["id"], **answer})
        return s.answer(n)["result"]
    for no in ({"result": {"action": "decline"}}, {"result": {"action": "cancel"}}, {"result": {"action": "accept"}},
               {"result": {"action": "accept", "content": {"allow": False}}}, {"error": {"code": -1, "message": "no"}},
               {"result": {"action": "accept", "content": {"allow": "true"}}}):
        r = asks(no)
        assert r["isError"] and "not allowed" in text(r), no
    assert "example.com" not in rules()
    yes = {"result": {"action": "accept", "content": {"allow": True}}}
    r = asks(yes)
    assert r["isError"], r
    assert "listener" in text(r) or "port" in text(r)
    s.request("tools/call", {"name": "allow_host", "arguments": {"host": "example.com"}})
    q = s.receive()
    s.send({"jsonrpc": "2.0", "id": q["id"], **yes})
    assert not s.answer(s.id)["result"]["isError"]
    assert "example.com" in rules()
    for host, words in (("*", "every public host"), ("*.example.com", "all names"), ("@host:8080", "this very machine"),
                        ("192.0.2.0/24", "the addresses")):
        s.request("tools/call", {"name": "allow_host", "arguments": {"host": host}})
        q = s.receive()
        assert words in q["params"]["message"] and host in q["params"]["message"], q
        s.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "decline"}})
        s.answer(s.id)
    for wrong in ("example.com\nother", "", "@pypi x", "a b", "http://x"):
        assert s.tool("allow_host", host=wrong)["isError"], wrong


def allow_modern(s):
    def call(host, capabilities={"elicitation": {}}, **params):
        return s.ask("tools/call", {"name": "allow_host", "arguments": {"host": host},
                                    "_meta": meta(capabilities), **params})
    def yes(r):
        answer = {"action": "accept", "content": {"allow": True}}
        return {"inputResponses": {"allow": answer}, "requestState": r["requestState"]}
    r = call("example.com")
    assert r["resultType"] == "input_required" and list(r["inputRequests"]) == ["allow"]
    q = r["inputRequests"]["allow"]
    assert q["method"] == "elicitation/create" and "example.com" in q["params"]["message"]
    assert call("example.org", **yes(r))["resultType"] == "input_required"
    answers = yes(r)["inputResponses"]
    assert call("example.com", inputResponses=answers)["resultType"] == "input_required"
    assert call("example.com", inputResponses=answers, requestState="")["resultType"] == "input_required"
    done = call("example.com", **yes(r))
    assert done["resultType"] == "complete" and done["isError"] is False, done
    assert call("example.com", **yes(r))["resultType"] == "input_required"
    r = call("example.com")
    no = call("example.com", **{**yes(r), "inputResponses": {"allow": {"action": "decline"}}})
    assert no["isError"] and "not allowed" in text(no)
    for capabilities in ({}, {"elicitation": {"url": {}}}):
        e = call("example.com", capabilities)["error"]
        assert e["code"] == -32021 and e["data"] == {"requiredCapabilities": {"elicitation": {}}}


def cannot_ask(s):
    for revision, capabilities in (("2025-11-25", {}), ("2025-03-26", {"elicitation": {}})):
        s.initialize(revision, **capabilities)
        r = s.tool("allow_host", host="example.com")
        assert r["isError"] and "elicitation" in text(r)
        assert re.search("by `hutch net mcp-[0-9a-f]{12} allow HOST`", text(r)), text(r)


def no_rules(s):
    s.initialize("2025-11-25", elicitation={})
    r = s.tool("allow_host", host="example.com")
    assert r["isError"] and "no rules" in text(r), r


def changes(s):
    s.initialize("2025-11-25", elicitation={"form": {}})
    s.tool("exec", command="echo two >a.txt; echo new >b.txt")
    assert "M" in text(s.tool("diff")) and "b.txt" in text(s.tool("diff"))
    assert "+two" in text(s.tool("diff", patch=True)) and "b.txt" not in text(s.tool("diff", paths=["a.txt"]))
    def apply(allow, **arguments):
        n = s.request("tools/call", {"name": "apply", "arguments": arguments})
        q = s.receive()
        assert q["method"] == "elicitation/create", q
        s.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "accept", "content": {"allow": allow}}})
        return q["params"]["message"], s.answer(n)["result"]
    read = lambda name: open("project/" + name).read()
    q, r = apply(False)
    assert r["isError"] and read("a.txt") == "one\n"
    q, r = apply(True, paths=["b.txt"])
    assert "\"b.txt\"" in q and not r["isError"], r
    assert read("b.txt") == "new\n" and read("a.txt") == "one\n"
    q, r = apply(True)
    assert not r["isError"] and read("a.txt") == "two\n"
    s.tool("exec", command="echo three >a.txt")
    for flag in ("--force", "-y", "--"):
        apply(True, paths=[flag])
        assert read("a.txt") == "two\n", flag


def waiting_changes(s):
    s.initialize()
    first = s.tool("exec", command="echo one >b.txt")["structuredContent"]["sandbox_id"]
    s.tool("sandbox_end")
    numbers = [s.request("tools/call", {"name": "exec", "arguments": {"command": "ls b.txt"}}) for _ in range(3)]
    answers = [s.answer(number)["result"] for number in numbers]
    assert all("structuredContent" in a for a in answers), answers
    results = [a["structuredContent"] for a in answers]
    assert {r["exit_code"] for r in results} == {2}, results
    assert {r["sandbox_id"] for r in results} == {first + "-r2"}, results
    again = Server("--workspace", "project:cow")
    assert again.modern("exec", {"command": "true"})["structuredContent"]["sandbox_id"] == first + "-r2"
    again.process.kill()
    assert "b.txt" in text(s.tool("diff", sandbox_id=first))
    assert s.tool("exec", command="true", sandbox_id=first)["isError"]
    subprocess.run([HUTCH, "discard", "--yes", first], check=True, stdout=subprocess.DEVNULL)


def finishes(s):
    s.initialize("2025-11-25", elicitation={})
    s.tool("exec", command="mkfifo /tmp/go")
    n = s.request("tools/call", {"name": "exec", "arguments": {"command": "read x </tmp/go; echo over"}})
    m = s.request("tools/call", {"name": "allow_host", "arguments": {"host": "example.com"}})
    s.receive()
    s.process.stdin.close()
    Server("--network", "allow").modern("exec", {"command": "echo >/tmp/go"})
    code, rest = s.end()
    assert code == 0
    got = {r["id"]: text(r["result"]) for r in rest}
    assert got[n].startswith("over\n") and "not allowed" in got[m]


def no_reader(s):
    s.initialize()
    s.tool("exec", command="true")
    s.request("tools/call", {"name": "exec", "arguments": {"command": "sleep 1000"}})
    s.process.stdout.close()
    assert s.process.wait(PATIENCE) == 0
    other = Server()
    wait_until(lambda: "sleep" not in text(other.modern("exec", {"command": "cat /proc/[0-9]*/comm"})))
    other.process.kill()


def no_peer(s):
    ours, theirs = socket.socketpair()
    server = subprocess.Popen([HUTCH, "mcp"], stdin=theirs, stdout=theirs)
    theirs.close()
    call = {"name": "exec", "arguments": {"command": "echo up; sleep 1000"}, "_meta": meta(progressToken=1)}
    ours.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode() + b"\n")
    ours.settimeout(PATIENCE)
    assert b"notifications/progress" in ours.recv(1 << 16)
    ours.close()
    assert server.wait(PATIENCE) == 0


def refused(_):
    server = subprocess.Popen([HUTCH, "run", "--mcp", "--allow", "example.org", "--", "sh", "-c",
                               "curl -s http://example.com; read line; exit 0"],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "a connection to example.com was refused" in server.stderr.readline()
    assert "hint: --allow example.com" in server.stderr.readline()
    assert server.poll() is None
    assert server.communicate("", PATIENCE)[1] == "" and server.returncode == 0


if __name__ == "__main__":
    HUTCH = sys.argv[1]
    with_options = Server(*sys.argv[3:])
    globals()[sys.argv[2]](with_options)
    with_options.process.kill()
