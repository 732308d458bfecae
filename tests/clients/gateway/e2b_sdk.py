"""e2b_sdk.py [OPTION...]: stock SDKs of E2B with hutch serve; prints TAP.

Needs e2b and e2b-code-interpreter in the Python that runs it, HUTCH, and $NODE, a program beside which
node_modules has the packages e2b and @e2b/code-interpreter; without NODE the SDK of JavaScript is left out.
The options are those of `hutch create` for each sandbox.  With $NETWORK they have a network in which pip
finds its packages, and the figure is one of matplotlib's; else it is a PNG of the cell's own.
"""
import asyncio
import contextlib
import ipaddress
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import traceback
import urllib.request

PATIENCE = float(os.environ["PATIENCE"])
HERE = pathlib.Path(__file__).absolute().parent
PNG = r"""
import struct, zlib
def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + \
    chunk(b"IDAT", zlib.compress(b"\0abc")) + chunk(b"IEND", b"")
from IPython.display import Image
Image(data=png)
"""
FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.show()"


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


class Server:
    """hutch serve, and the variables by which the SDKs find it."""

    def __init__(self, options):
        self.options = options
        self.start()

    def start(self):
        command = [os.environ["HUTCH"], "serve", "--listen", "127.0.0.1:0", "--", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = self.process.stdout.readline().strip()
        home = pathlib.Path(os.environ.get("XDG_DATA_HOME", pathlib.Path.home() / ".local/share"))
        os.environ.update(E2B_API_URL=url, E2B_SANDBOX_URL=url,
                          E2B_API_KEY=(home / "hutch/serve/default.key").read_text().strip())

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)


def raises(kind, function, *args, **more):
    try:
        function(*args, **more)
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


def commands(sbx):
    from e2b import CommandExitException, InvalidArgumentException, PtySize, TimeoutException
    ran = sbx.commands.run("echo $FOO; echo err >&2; pwd")
    assert (ran.stdout, ran.stderr, ran.exit_code) == ("bar\n/workspace\n", "err\n", 0), ran
    failed = raises(CommandExitException, sbx.commands.run, "echo out; exit 3")
    assert (failed.exit_code, failed.stdout) == (3, "out\n"), failed
    assert sbx.commands.run("echo $X", envs={"X": "y z"}, cwd="/tmp", user="user").stdout == "y z\n"
    raises(InvalidArgumentException, sbx.commands.run, "pwd", cwd="/nowhere")
    handle = sbx.commands.run("cat", background=True, stdin=True)
    assert [p.pid for p in sbx.commands.list()] == [handle.pid]
    handle.send_stdin("one\n")
    sbx.commands.stream_input(handle.pid, ["two\n", b"three" * 100000])
    handle.close_stdin()
    assert len(handle.wait().stdout) == 8 + 500000
    handle = sbx.commands.run("echo first; sleep 1000", background=True)
    handle.disconnect()
    handle = sbx.commands.connect(handle.pid)
    assert handle.kill() and not sbx.commands.kill(99999)
    assert raises(CommandExitException, handle.wait).exit_code == -1
    raises(TimeoutException, sbx.commands.run, "sleep 1000", timeout=1)
    assert len(sbx.commands.run("head -c 20000000 /dev/zero | tr '\\0' a").stdout) == 20000000
    seen = []
    handle = sbx.pty.create(PtySize(rows=30, cols=100))
    sbx.pty.send_stdin(handle.pid, b"stty size; exit\n")
    handle.wait(on_pty=seen.append)
    assert b"30 100" in b"".join(seen)


def files(sbx):
    from e2b import FileNotFoundException
    data = bytes(range(256)) * 8000
    sbx.files.write("a/bytes", data)
    assert bytes(sbx.files.read("a/bytes", format="bytes")) == data
    assert b"".join(sbx.files.read("a/bytes", format="stream")) == data
    sbx.files.write("a/text", "é", use_octet_stream=True)
    assert sbx.files.read("/workspace/a/text") == "é"
    many = sbx.files.write_files([{"path": "m/1", "data": "one"}, {"path": "m/2", "data": ""}])
    assert [one.path for one in many] == ["/workspace/m/1", "/workspace/m/2"] and sbx.files.read("m/2") == ""
    assert [one.path for one in sbx.files.list("m")] == ["/workspace/m/1", "/workspace/m/2"]
    assert len(sbx.files.list(".", depth=2)) == 6
    assert sbx.files.make_dir("x/y") and not sbx.files.make_dir("x/y")
    assert sbx.files.rename("m/1", "x/one").path == "/workspace/x/one" and not sbx.files.exists("m/1")
    assert sbx.files.get_info("x/one").size == 3
    sbx.files.remove("x")
    assert not sbx.files.exists("x")
    raises(FileNotFoundException, sbx.files.read, "x")
    raises(FileNotFoundException, sbx.files.list, "x")
    url = sbx.download_url("m/2", use_signature_expiration=1000)
    assert urllib.request.urlopen(url, timeout=PATIENCE).read() == b""


def watching(sbx):
    from e2b import FilesystemEventType as Type
    sbx.files.make_dir("watched/sub")
    handle = sbx.files.watch_dir("watched", recursive=True)
    sbx.files.write("watched/sub/new", "x")
    seen = []
    while (("sub/new", Type.WRITE)) not in seen:
        seen += [(event.name, event.type) for event in handle.get_new_events()]
    assert ("sub/new", Type.CREATE) in seen
    handle.stop()


def life(sbx):
    from e2b import Sandbox, SandboxException, SandboxNotRunningException, SandboxQuery, SandboxState
    query = SandboxQuery(metadata={"purpose": "to try é"})
    assert [one.sandbox_id for one in Sandbox.list(query=query).next_items()] == [sbx.sandbox_id]
    assert sbx.is_running() and sbx.get_info().metadata == {"purpose": "to try é"}
    sbx.set_timeout(1000)
    assert (sbx.get_info().end_at - sbx.get_info().started_at).seconds >= 1000
    assert sbx.get_metrics()[0].mem_total > 0
    handle = sbx.commands.run("sleep 1000", background=True)
    sbx.pause()
    assert Sandbox.list(query=SandboxQuery(state=[SandboxState.PAUSED])).next_items()
    assert not sbx.is_running()
    raises(SandboxNotRunningException, sbx.commands.run, "true")
    again = Sandbox.connect(sbx.sandbox_id)
    assert again.commands.run("echo again").stdout == "again\n" and sbx.is_running()
    assert [p.pid for p in again.commands.list()] == [handle.pid]
    raises(SandboxException, Sandbox.create, allow_internet_access=False, network={"deny_out": ["1.1.1.1"]})


def interpreter(_):
    from e2b import TimeoutException
    from e2b_code_interpreter import Sandbox
    with Sandbox.create() as sbx:
        seen = []
        ran = sbx.run_code("import sys\nprint('a'); print('b', file=sys.stderr)\nx = 41\nx + 1",
                           on_stdout=lambda message: seen.append(message.line))
        assert (ran.text, ran.logs.stdout, ran.logs.stderr, seen) == ("42", ["a\n"], ["b\n"], ["a\n"]), ran
        assert sbx.run_code("x").text == "41"
        error = sbx.run_code("1/0").error
        assert error.name == "ZeroDivisionError" and "1/0" in error.traceback, error
        assert sbx.run_code("import os; os.environ['A']", envs={"A": "b"}).text == "'b'"
        raises(TimeoutException, sbx.run_code, "while True: pass", timeout=1)
        assert sbx.run_code("6 * 7").text == "42"
        if os.environ.get("NETWORK"):
            sbx.commands.run("python3 -m pip install -q --user --break-system-packages matplotlib", timeout=600)
            sbx.restart_code_context("default")
        shown = sbx.run_code(FIGURE if os.environ.get("NETWORK") else PNG)
        assert any((one.png or "").startswith("iVBORw0KGgo") for one in shown.results), shown
        assert [context.id for context in sbx.list_code_contexts()] == ["default"]


async def all_asynchronous():
    from e2b import AsyncSandbox
    sbx = await AsyncSandbox.create()
    try:
        events = queue.Queue()
        await sbx.files.make_dir("d")
        handle = await sbx.files.watch_dir("d", on_event=events.put)
        ran = await asyncio.gather(*(sbx.commands.run(f"echo {i} >d/{i}; cat d/{i}") for i in range(20)))
        assert [one.stdout for one in ran] == [f"{i}\n" for i in range(20)]
        while events.empty():
            await asyncio.sleep(0)
        await handle.stop()
        assert await sbx.files.read("d/7") == "7\n"
    finally:
        assert await sbx.kill()


def restarted(server):
    """The sandbox of a server that is killed is there for the next one."""
    from e2b import Sandbox
    sbx = Sandbox.create(metadata={"a": "b"})
    sbx.files.write("kept", "kept")
    server.end(signal.SIGKILL)
    server.start()
    again = Sandbox.connect(sbx.sandbox_id)
    assert again.files.read("kept") == "kept" and again.get_info().metadata == {"a": "b"}
    assert again.commands.run("echo here").stdout == "here\n"
    assert again.kill() and not again.is_running()


def expired(_):
    from e2b import Sandbox
    sbx = Sandbox.create()
    handle = sbx.commands.run("sleep 1000", background=True)
    sbx.set_timeout(1)
    with contextlib.suppress(Exception):
        handle.wait()
    assert not sbx.is_running() and not sbx.kill()


def check(name, function, *args):
    try:
        function(*args)
        say(True, name)
    except Exception:
        say(False, name, traceback.format_exc())


def network():
    """The options of a network in which pip finds PyPI, whose mirror may have a private address."""
    if not os.environ.get("NETWORK"):
        return []
    address = socket.getaddrinfo("pypi.org", 443, proto=socket.IPPROTO_TCP)[0][4][0]
    rules = ["--network", "allow", "--allow", "@pypi"]
    return rules if ipaddress.ip_address(address).is_global else [*rules, "--allow", address]


def main():
    server = Server([*network(), *sys.argv[1:]])
    from e2b import Sandbox
    sbx = Sandbox.create(metadata={"purpose": "to try é"}, envs={"FOO": "bar"}, timeout=600)
    for function in (commands, files, watching, life):
        check(f"E2B's SDK for Python: {function.__name__}", function, sbx)
    check("E2B's SDK for Python: a sandbox ends once", lambda: [sbx.kill(), not sbx.kill()] == [True, True] or 1 / 0)
    check("E2B's code interpreter for Python", interpreter, None)
    check("E2B's SDK for Python, asynchronous", lambda: asyncio.run(all_asynchronous()))
    check("E2B's SDK for Python: a sandbox ends at its time", expired, None)
    check("E2B's SDK for Python: a server that was killed", restarted, server)
    if os.environ.get("NODE"):
        subprocess.run([os.environ["NODE"], HERE / "e2b_sdk.mjs"], check=False)
    server.end()


main()
