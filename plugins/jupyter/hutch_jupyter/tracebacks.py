"""tracebacks -- an exception as IPython 9 shows it: statements around each line, newest last."""
import ast
import builtins
import inspect
import linecache
import os
import traceback

RULE = "-" * 75
WIDTH = 75
NUMBERS = 7
AROUND, AROUND_OLDER = 2, 1
LINES_MAX = 6
ASYNCIO = f"{os.sep}asyncio{os.sep}"
HIDDEN = os.path.dirname(os.path.abspath(__file__)) + os.sep

CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def text_of(error, cells):
    if isinstance(error, SystemExit):
        return f"An exception has occurred, use %tb to see the full traceback.\n\nSystemExit: {error}\n"
    if isinstance(error, SyntaxError):
        return "\n".join([*way_to(error, cells), *syntax_lines(error, cells), ""])
    if isinstance(error, getattr(builtins, "BaseExceptionGroup", ())):
        return "".join(traceback.format_exception(type(error), error, visible(error.__traceback__)))
    parts = []
    for why, one in chain(error):
        if why:
            parts += ["", why, ""]
        parts += one_error(one, cells, AROUND if one is error else AROUND_OLDER)
    return "\n".join([RULE, *parts])


def chain(error):
    """Returns (why, error) of the errors that led to this one, oldest first."""
    links, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if error.__cause__ is not None:
            links.append((CAUSE, error))
            error = error.__cause__
        elif error.__context__ is not None and not error.__suppress_context__:
            links.append((CONTEXT, error))
            error = error.__context__
        else:
            links.append((None, error))
            break
    links.reverse()
    return links


def is_hidden(tb):
    """Our own frames, and those of the loop that runs a cell's await, are not the cell's."""
    name = tb.tb_frame.f_code.co_filename
    return name.startswith(HIDDEN) or (tb.tb_next is not None and ASYNCIO in name)


def visible(tb):
    while tb is not None and is_hidden(tb):
        tb = tb.tb_next
    return tb


def frames_of(tb):
    """Returns (frame, line number) from where the cell begins."""
    frames = []
    tb = visible(tb)
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(HIDDEN):
            frames.append((tb.tb_frame, tb.tb_lineno))
        tb = tb.tb_next
    return frames


def way_to(error, cells):
    """Returns the lines above those of a syntax error in what the cell imports or evaluates."""
    frames = frames_of(error.__traceback__)
    if not frames:
        return []
    lines = ["Traceback (most recent call last):", ""]
    for frame, number in frames:
        name = frame.f_code.co_filename
        if not name.startswith("<frozen"):
            lines += [f"  {place(name, number, cells)}", f"    {linecache.getline(name, number).strip()}", ""]
    return lines


def one_error(error, cells, around):
    name = type(error).__name__
    head = "Traceback (most recent call last)"
    lines = [name + " " * max(1, WIDTH - len(name) - len(head)) + head]
    records = list(merged(frames_of(error.__traceback__)))
    for record in records:
        lines += [record] if isinstance(record, str) else frame_lines(*record, cells, around)
        lines.append("")
    if not records:
        lines.append("")
    lines.append(f"{name}: {str_of(error)}")
    lines += [str(note) for note in getattr(error, "__notes__", None) or ()]
    return lines


def str_of(error):
    try:
        return str(error)
    except Exception:
        return "<unprintable>"


def merged(frames):
    """Yields the frames; of a recursion the first and last ones, and a line between them."""
    at = 0
    while at < len(frames):
        frame, number = frames[at]
        same = at
        while same + 1 < len(frames) and (frames[same + 1][0].f_code, frames[same + 1][1]) == (frame.f_code, number):
            same += 1
        yield frame, number
        if same - at > 2:
            yield frame, number
            yield (f"    [... skipping similar frames: {qualified_name(frame.f_code)} at line {number} "
                   f"({same - at - 2} times)]")
            yield frames[same]
            at = same + 1
        else:
            at += 1


def qualified_name(code):
    return getattr(code, "co_qualname", code.co_name)


def place(name, number, cells):
    if cells.is_cell(name):
        return f"Cell In[1], line {number}"
    home = os.path.expanduser("~")
    if home != "/" and name.startswith(home + os.sep):
        name = "~" + name[len(home):]
    return f"File {name}:{number}"


def frame_lines(frame, number, cells, around):
    code = frame.f_code
    head = place(code.co_filename, number, cells)
    if code.co_name != "<module>":
        head += f", in {qualified_name(code)}{arguments(frame)}"
    lines = [line.rstrip("\n") for line in linecache.getlines(code.co_filename, frame.f_globals)]
    return [head, *shown(lines, number, around)] if lines else [head]


def arguments(frame):
    """Returns the names of a function's arguments."""
    try:
        names, more, keywords, _ = inspect.getargvalues(frame)
    except TypeError:
        return "()"
    if frame.f_code.co_name.startswith("<") and frame.f_code.co_name != "<lambda>":
        names = [name for name in names if not name.startswith(".")] or names
    names = [*names, *(["*" + more] if more else []), *(["**" + keywords] if keywords else [])]
    return f"({', '.join(names)})"


def shown(lines, number, around):
    """Returns the statements around a line, numbered, without the blanks that all have."""
    pieces = pieces_of(lines, number)
    at = next((at for at, (first, last) in enumerate(pieces) if first <= number <= last), None)
    if at is None:
        numbers = [number] if number <= len(lines) else []
    else:
        numbers = []
        for first, last in pieces[max(0, at - around):at + around + 1]:
            part = list(range(first, last + 1))
            numbers += part if first <= number <= last else shortened(part)
    texts = [lines[n - 1] for n in numbers if n and lines[n - 1].strip()]
    indent = min((len(text) - len(text.lstrip()) for text in texts), default=0)
    return [one_line(n, lines[n - 1][indent:], n == number) if n else "   (...)" for n in numbers]


def shortened(numbers):
    if len(numbers) <= LINES_MAX:
        return numbers
    return [*numbers[:3], None, *numbers[-2:]]


def one_line(number, text, is_current):
    if is_current:
        digits = str(number)
        return f"{'-' * max(0, NUMBERS - len(digits) - 2)}> {digits} {text}"
    return f"{number:{NUMBERS}} {text}"


def pieces_of(lines, number):
    """Returns (first, last) line of each statement's part within the function of that line: a
    header of a compound statement is a part of its own, and so are comments between statements."""
    try:
        tree = ast.parse("\n".join(lines) + "\n")
    except (SyntaxError, ValueError, RecursionError):
        try:
            tree = compile("\n".join(lines) + "\n", "", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except (SyntaxError, ValueError, RecursionError):
            return []
    first, last = 1, len(lines)
    bounds = {1, len(lines) + 1}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.stmt, ast.ExceptHandler, getattr(ast, "match_case", ast.ExceptHandler))):
            continue
        begin, end = range_of(node)
        bounds.update((begin, end + 1))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and begin <= number <= end and \
                number >= range_of(node.body[0])[0] and begin >= first:
            first, last = begin, end
    ordered = sorted(bounds)
    pieces = (stripped(lines, begin, end - 1) for begin, end in zip(ordered, ordered[1:]))
    return [(begin, end) for begin, end in pieces if begin <= end and first <= begin and end <= last]


def range_of(node):
    if isinstance(node, getattr(ast, "match_case", ())):
        return node.pattern.lineno, node.body[-1].end_lineno
    begin = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    return begin, node.end_lineno


def stripped(lines, begin, end):
    """Leaves blank lines at both ends out."""
    while begin <= end and not lines[begin - 1].strip():
        begin += 1
    while end >= begin and not lines[end - 1].strip():
        end -= 1
    return begin, end


def syntax_lines(error, cells):
    """Returns the place, the line and a mark below it."""
    lines = []
    if error.filename and error.lineno:
        lines.append(f"  {place(error.filename, error.lineno, cells)}")
        text = (error.text or linecache.getline(error.filename, error.lineno)).rstrip("\n")
        if text.strip():
            bare = text.strip()
            lines.append(f"    {bare}")
            if error.offset and error.offset > 0:
                column = max(0, error.offset - 1 - (len(text) - len(text.lstrip())))
                lines.append("    " + " " * column + "^")
    lines.append(f"{type(error).__name__}: {error.msg}")
    return lines
