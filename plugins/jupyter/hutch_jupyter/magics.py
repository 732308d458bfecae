"""magics -- `%pip`, `!command`, `%%bash` and their like, with IPython's texts."""
import importlib
import os
import re
import shlex
import signal
import subprocess
import sys

NAME = re.compile(r"\$\$|\$(?P<name>[A-Za-z_]\w*)|\{(?P<value>[^{}]+)\}")
READ_BYTES = 1 << 16
UNITS = ((1, "s", 1), (1e-3, "ms", 1e3), (1e-6, "μs", 1e6), (0, "ns", 1e9))
PROGRAMS = ("ls", "cat", "cp", "mv", "rm", "mkdir", "rmdir", "conda", "mamba", "micromamba", "uv")


class UsageError(Exception):
    pass


class Lines(list):
    """The lines that a command printed; `n` and `s` are they as one text."""

    @property
    def n(self):
        return "\n".join(self)

    @property
    def s(self):
        return " ".join(self)


def shell_path():
    for path in ("/bin/bash", "/usr/bin/bash"):
        if os.access(path, os.X_OK):
            return path
    return "/bin/sh"


def duration(seconds):
    for least, unit, factor in UNITS:
        if seconds >= least:
            return f"{seconds * factor:.3g} {unit}"
    return "0 ns"


def run_on_terminal(command):
    """Runs a command on a terminal of its own, as IPython does, and returns its wait status."""
    import codecs
    import pty
    pid, terminal = pty.fork()
    if not pid:
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execv(shell_path(), [shell_path(), "-c", command])
        finally:
            os._exit(127)
    try:
        set_size(terminal)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                data = os.read(terminal, READ_BYTES)
            except OSError:
                data = b""  # EIO: the other side of the terminal is closed (pty(7))
            sys.stdout.write(decoder.decode(data, not data))
            sys.stdout.flush()
            if not data:
                break
        return os.waitpid(pid, 0)[1]
    except KeyboardInterrupt:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)


def set_size(terminal):
    import fcntl
    import struct
    import termios
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))


class Shell:
    """The object that get_ipython() returns."""

    def __init__(self, interpreter):
        self.interpreter = interpreter
        self.user_ns = interpreter.names
        self.kernel = None

    def run_line_magic(self, name, line, _depth=1):
        method = getattr(self, f"line_{name}", None)
        if name in PROGRAMS:
            return self.system(f"{name} {line}")
        if not method:
            return self.usage_error(f"Line magic function `%{name}` not found.")
        try:
            return method(self.expanded(line))
        except UsageError as e:
            return self.usage_error(e)

    def run_cell_magic(self, name, line, body):
        method = getattr(self, f"cell_{name}", None)
        if not method:
            return self.usage_error(f"Cell magic `%%{name}` not found.")
        try:
            return method(line, body)
        except UsageError as e:
            return self.usage_error(e)

    def magic(self, text):
        name, _, line = text.partition(" ")
        return self.run_line_magic(name.lstrip("%"), line)

    def usage_error(self, text):
        print(f"UsageError: {text}", file=sys.stderr)

    def expanded(self, text):
        """Puts values in place of {expression} and $name, where there are such."""
        def value(match):
            if match[0] == "$$":
                return "$"
            if match["name"]:
                return str(self.user_ns[match["name"]]) if match["name"] in self.user_ns else match[0]
            try:
                return str(eval(match["value"], self.user_ns))
            except Exception:
                return match[0]
        return NAME.sub(value, text)

    def system(self, command):
        status = run_on_terminal(self.expanded(command))
        self.user_ns["_exit_code"] = os.waitstatus_to_exitcode(status)

    def getoutput(self, command):
        done = subprocess.run([shell_path(), "-c", self.expanded(command)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.user_ns["_exit_code"] = done.returncode
        return Lines(done.stdout.decode("utf-8", "replace").splitlines())

    # Lines

    def line_pip(self, line):
        self.system(f"{shlex.quote(sys.executable)} -m pip {line}")
        importlib.invalidate_caches()
        self.add_user_site()
        print("Note: you may need to restart the kernel to use updated packages.")

    def add_user_site(self):
        """pip may just have made the folder of the user's packages."""
        import site
        folder = site.getusersitepackages()
        if site.ENABLE_USER_SITE and os.path.isdir(folder) and folder not in sys.path:
            site.addsitedir(folder)

    def line_cd(self, line):
        folder = os.path.expanduser(line.strip().strip("'\"") or "~")
        try:
            os.chdir(folder)
        except OSError as e:
            print(e)
        print(os.getcwd())

    def line_pwd(self, _line):
        return os.getcwd()

    def line_env(self, line):
        name, separator, value = line.partition("=") if "=" in line else line.partition(" ")
        if not line.strip():
            return dict(os.environ)
        if separator:
            os.environ[name.strip()] = value.strip()
            print(f"env: {name.strip()}={value.strip()}")
            return None
        if name not in os.environ:
            raise UsageError(f"Environment does not have key: {name}")
        return os.environ[name]

    line_set_env = line_env

    def line_nothing(self, _line):
        """A magic that changes nothing here."""

    line_colors = line_matplotlib = line_config = line_autosave = line_xmode = line_nothing

    def line_pinfo(self, name):
        """`name?`: the signature and the text of help()."""
        import inspect
        try:
            value = eval(name, self.user_ns)
        except Exception:
            print(f"Object `{name}` not found.")
            return
        try:
            print(f"Signature: {name}{inspect.signature(value)}")
        except (TypeError, ValueError):
            pass  # a value that is not called, or a builtin without a signature
        print(f"Type:      {type(value).__name__}")
        print(f"Docstring: {inspect.getdoc(value) or '<no docstring>'}")

    line_pinfo2 = line_pinfo

    def line_run(self, line):
        import runpy
        words = shlex.split(line)
        if not words:
            raise UsageError("%run: a file is missing")
        before, sys.argv = sys.argv, words
        try:
            self.user_ns.update({name: value for name, value in runpy.run_path(words[0], run_name="__main__").items()
                                 if not name.startswith("__")})
        except SystemExit as e:
            if e.code:
                raise
        finally:
            sys.argv = before

    def line_time(self, line):
        return self.timed(line)

    def line_timeit(self, line):
        self.time_loops(line)

    def line_reset(self, _line):
        for name in [name for name in self.user_ns if not name.startswith("__")]:
            del self.user_ns[name]

    def line_who(self, _line):
        names = sorted(name for name in self.user_ns if not name.startswith("_"))
        print("\t ".join(names) if names else "Interactive namespace is empty.")

    # Cells

    def cell_bash(self, line, body):
        self.run_script(shlex.split(line), shell_path(), body)

    def cell_sh(self, line, body):
        self.run_script(shlex.split(line), "/bin/sh", body)

    def cell_script(self, line, body):
        words = shlex.split(line)
        if not words:
            raise UsageError("%%script: a program is missing")
        self.run_script(words[1:], words[0], body)

    def run_script(self, words, program, body):
        """Runs a program with the cell as its input, and shows what it prints as it comes."""
        argv = [program, *words]
        script = subprocess.Popen(argv, stdin=subprocess.PIPE)
        try:
            try:
                script.stdin.write(body.encode())
                script.stdin.close()
            except BrokenPipeError:
                pass  # a script may end before it has read all
            status = script.wait()
        except KeyboardInterrupt:
            script.kill()
            script.wait()
            raise
        if status:
            raise subprocess.CalledProcessError(status, body.encode())

    def cell_writefile(self, line, body):
        words = shlex.split(line)
        mode = "a" if "-a" in words or "--append" in words else "w"
        paths = [os.path.expanduser(word) for word in words if not word.startswith("-")]
        if len(paths) != 1:
            raise UsageError("%%writefile: one file is to be named")
        there = os.path.exists(paths[0])
        print(f"{('Appending to' if mode == 'a' else 'Overwriting') if there else 'Writing'} {paths[0]}")
        with open(paths[0], mode, encoding="utf-8") as file:
            file.write(body)

    def cell_time(self, line, body):
        return self.timed(f"{line}\n{body}")

    def cell_timeit(self, line, body):
        self.time_loops(line, body)

    def cell_capture(self, line, body):
        """Runs the cell without its output, or with it in the variable that the line names."""
        import contextlib
        import io
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            sys.displayhook(self.run_code(body))
        if line.strip().isidentifier():
            captured = type("CapturedIO", (), {"stdout": out.getvalue(), "stderr": err.getvalue(),
                                               "__str__": lambda self: self.stdout})()
            self.user_ns[line.strip()] = captured

    def cell_html(self, _line, body):
        self.interpreter.send_bundle({"text/plain": "<IPython.core.display.HTML object>", "text/html": body}, None)

    # Code

    def run_code(self, text):
        return self.interpreter.value_of(*self.interpreter.cells.parse(text, self.user_ns))

    def timed(self, text):
        import time
        wall, before = time.perf_counter(), os.times()
        value = self.run_code(text)
        wall, after = time.perf_counter() - wall, os.times()
        user, system = after.user - before.user, after.system - before.system
        print(f"CPU times: user {duration(user)}, sys: {duration(system)}, total: {duration(user + system)}")
        print(f"Wall time: {duration(wall)}")
        return value

    def time_loops(self, line, body=None):
        import timeit
        options = dict(re.findall(r"-(n|r)\s*(\d+)", line.split("--")[0]))
        statement = re.sub(r"^(?:\s*-[nr]\s*\d+)+\s*", "", line)
        setup, statement = (statement, body) if body is not None else ("pass", statement)
        timer = timeit.Timer(statement, setup or "pass", globals=self.user_ns)
        repeat = int(options.get("r", 7))
        loops = int(options["n"]) if "n" in options else timer.autorange()[0]
        each = [took / loops for took in timer.repeat(repeat, loops)]
        mean = sum(each) / repeat
        deviation = (sum((took - mean) ** 2 for took in each) / repeat) ** 0.5
        print(f"{duration(mean)} ± {duration(deviation)} per loop (mean ± std. dev. of {repeat} "
              f"run{'s' * (repeat != 1)}, {loops:,} loop{'s' * (loops != 1)} each)")
