"""source -- from a cell's text to code objects.

A line with a magic is found by the compiler: where it fails on a line that can be a magic, that
line becomes a call, and the compiler tries again.  So text in strings is left alone.
"""
import ast
import collections
import inspect
import linecache
import re
import sys
import warnings

AWAIT = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
KEPT = 500

MAGIC = re.compile(r"^(?P<indent>\s*)"
                   r"(?:(?P<target>[A-Za-z_][\w\s.,\[\]'\"]*?)\s*=\s*)?"
                   r"(?P<mark>!!?|%(?!%))(?P<rest>.*)$", re.S)
# Magics that IPython takes without the mark, where the line is no Python.
BARE = re.compile(r"^(?P<indent>\s*)(?P<rest>(?:pip|cd|pwd|ls|cat|mkdir|rm|cp|mv|conda)\s+[^=\s(].*)$", re.S)
HELP = re.compile(r"^(?P<indent>\s*)(?:\?{1,2}\s*(?P<before>[\w.]+)|(?P<name>[A-Za-z_][\w.]*)\s*\?{1,2})\s*$")
CELL_MAGIC = re.compile(r"^\s*%%(?P<name>\w+)[ \t]*(?P<line>[^\n]*)\n?(?P<body>.*)", re.S)


class Cells:
    """The texts of the last cells, which tracebacks and inspect find by linecache."""

    def __init__(self):
        self.names = collections.deque()
        self.count = 0

    def keep(self, text):
        """Returns the file name of a cell with this text."""
        self.count += 1
        name = f"<ipython-input-1-{self.count:x}>"
        linecache.cache[name] = (len(text), None, [line + "\n" for line in text.split("\n")], name)
        self.names.append(name)
        if len(self.names) > KEPT:
            linecache.cache.pop(self.names.popleft(), None)
        return name

    def is_cell(self, name):
        return name.startswith("<ipython-input-1-")

    def parse(self, text, names):
        """Returns the tree and the file name.  `names` are the cells' variables."""
        name = self.keep(text)
        magic = CELL_MAGIC.match(text)
        word = text.strip()
        if magic:
            text = f"get_ipython().run_cell_magic({magic['name']!r}, {magic['line']!r}, {magic['body']!r})"
        elif word in ("pwd", "ls", "cd") and word not in names:
            text = f"%{word}"
        tree, seen = parse_magics(text, name)
        linecache.cache[name] = (len(seen), None, [line + "\n" for line in seen.split("\n")], name)
        return tree, name


def parse_tree(text, name):
    with warnings.catch_warnings():
        # The compiler warns once more when the tree becomes code.
        warnings.simplefilter("ignore")
        return compile(text, name, "exec", ast.PyCF_ONLY_AST | AWAIT)


def parse_magics(text, name):
    """Returns the tree, and the text with calls in place of magics."""
    text = dedented(text)
    for _ in range(text.count("\n") + 2):
        try:
            return parse_tree(text, name), text
        except SyntaxError as e:
            changed = replaced(text, e.lineno)
            if changed is None:
                raise
            text = changed
    return parse_tree(text, name), text


def dedented(text):
    """Leading blanks that all lines have are no error, as in IPython."""
    first = text.lstrip("\n")
    indent = first[:len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return text
    lines = text.split("\n")
    if all(line.startswith(indent) or not line.strip() for line in lines):
        return "\n".join(line[len(indent):] for line in lines)
    return text


def replaced(text, number):
    """Returns the text with the magic of that line as a call, or None."""
    lines = text.split("\n")
    if not number or number > len(lines):
        return None
    first = last = number - 1
    help_line = HELP.match(lines[first])
    if help_line:
        name = help_line["before"] or help_line["name"]
        lines[first] = f"{help_line['indent']}get_ipython().run_line_magic('pinfo', {name!r})"
        return "\n".join(lines)
    match = MAGIC.match(lines[first]) or BARE.match(lines[first])
    if not match:
        return None
    while lines[last].endswith("\\") and last + 1 < len(lines):
        last += 1
    joined = " ".join(line.rstrip("\\").strip() if at else line.rstrip("\\")
                      for at, line in enumerate(lines[first:last + 1]))
    groups = (MAGIC.match(joined) or BARE.match(joined)).groupdict()
    call = call_of(groups.get("mark") or "%", groups["rest"].strip(), groups.get("target"))
    # Lines keep their numbers.
    lines[first:last + 1] = [groups["indent"] + call] + [""] * (last - first)
    return "\n".join(lines)


def call_of(mark, rest, target):
    if mark == "%":
        name, _, line = rest.partition(" ")
        call = f"get_ipython().run_line_magic({name!r}, {line.strip()!r})"
    elif target or mark == "!!":
        call = f"get_ipython().getoutput({rest!r})"
    else:
        call = f"get_ipython().system({rest!r})"
    return f"{target.strip()} = {call}" if target else call


def codes(tree, name):
    """Yields (code, whether its value is shown)."""
    body, last = tree.body, None
    if body and isinstance(body[-1], ast.Expr):
        last = ast.Expression(body[-1].value)
        body = body[:-1]
    if body:
        tree.body = body
        yield compile(tree, name, "exec", AWAIT), False
    if last:
        yield compile(last, name, "eval", AWAIT), True


def is_awaitable(code):
    return bool(code.co_flags & inspect.CO_COROUTINE)


class Watcher:
    """A finder that lets a module be imported as ever, and then calls a function with it."""

    def __init__(self, functions):
        self.functions = functions

    def find_spec(self, name, path=None, target=None):
        if name not in self.functions:
            return None
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                self.functions[name](module)
            spec.loader.exec_module = exec_module
        return spec


class StandIn:
    """A finder that comes last: `IPython.display`, where no IPython is installed."""

    def __init__(self, interpreter):
        self.interpreter = interpreter

    def find_spec(self, name, _path=None, _target=None):
        if name not in ("IPython", "IPython.display", "IPython.core", "IPython.core.display"):
            return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, self, is_package=name in ("IPython", "IPython.core"))

    def create_module(self, _spec):
        return None

    def exec_module(self, module):
        from hutch_jupyter import rich
        rich.fill(module, self.interpreter)


def watch_imports(interpreter, no_password):
    def pyplot(module):
        from hutch_jupyter import figures
        figures.take_over(module, interpreter)

    def getpass(module):
        module.getpass = no_password

    sys.meta_path.insert(0, Watcher({"matplotlib.pyplot": pyplot, "getpass": getpass}))
    sys.meta_path.append(StandIn(interpreter))
