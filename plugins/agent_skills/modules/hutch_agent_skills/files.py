"""files -- looks at a file a window at a time, and searches in files.

The functions print.  Their texts are those of OpenHands 0.62.  A file that is no regular file, or
that cannot be opened, is an error or is passed over, so that no pipe or device is waited for.
"""
from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import re
import stat

WINDOW = 100
CURRENT_FILE: str | None = None
CURRENT_LINE = 1

# A file is shown up to so many characters; a search reads so many of one file and of one line, and
# prints so many.
SHOWN_MAX = 64 << 20
SEARCHED_MAX = 1 << 30
LINE_MAX = 16 << 20
PRINTED_MAX = 8 << 20
MATCHED_FILES_MAX = 100
# str.splitlines ends a line at each of these; "\r" is none of them in a file opened as text.
BREAKS = "\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
LINE = re.compile(f"[^{BREAKS}]*[{BREAKS}]")
SCROLL_HINT = "\n[Use `scroll_down` to view the next 100 lines of the file!]"


class Trouble(Exception):
    """An error that is told as `ERROR: text`."""


def told(function):
    """Makes a function print its Trouble."""
    @functools.wraps(function)
    def wrapper(*args, **named):
        try:
            function(*args, **named)
        except Trouble as e:
            print(f"ERROR: {e}")
    return wrapper


def is_path(path):
    return isinstance(path, (str, os.PathLike)) and "\0" not in str(path)


def printable(text):
    """Returns a path as text that can be printed: a byte that is no UTF-8 becomes ?"""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def opened_bytes(path):
    """Opens a regular file."""
    # O_NONBLOCK: a file may have become a pipe since it was looked at.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("it is no regular file")
    return open(file, "rb")


def opened(path, errors):
    """Opens a regular file as text."""
    return io.TextIOWrapper(opened_bytes(path), encoding="utf-8", errors=errors)


def content_of(path):
    """Returns the text of a file, with a newline at its end, and the number of its lines."""
    try:
        with opened(path, "replace") as file:
            text = file.read(SHOWN_MAX + 1)
    except OSError as e:
        raise Trouble(f"File {printable(path)} cannot be read: {e.strerror or e}.") from None
    if "\0" in text[:8192]:
        raise Trouble(f"File {printable(path)} is a binary file.")
    if len(text) > SHOWN_MAX:
        raise Trouble(f"File {printable(path)} has more than {SHOWN_MAX} characters, which is too many.")
    if not text.endswith("\n"):
        text += "\n"
    return text, text.count("\n")


def is_number_of(line, total):
    return isinstance(line, int) and 1 <= line <= total


def window_of(text, line, size, is_start):
    """Returns the lines around `line`, or from `line` on."""
    total = sum(text.count(end) for end in BREAKS)
    half = max(1, size // 2)
    first, last = (line, line + size) if is_start else (line - half, line + half)
    first, last = max(1, first), min(total, last)
    if first == 1:
        last = min(total, size)
    if last == total:
        first = max(1, last - size + 1)
    found = itertools.islice(LINE.finditer(text), first - 1, last)
    lines = [f"{n}|{one.group()}" for n, one in enumerate(found, first)]
    above = f"({first - 1} more lines above)" if first > 1 else "(this is the beginning of the file)"
    below = f"({total - last} more lines below)" if last < total else "(this is the end of the file)"
    return "\n".join([above, *(line[:-1] if line.endswith("\n") else line for line in lines), below])


def show(path, text, total, size=WINDOW, is_start=False):
    """Returns the header and the window at CURRENT_LINE."""
    return f"[File: {printable(os.path.abspath(path))} ({total} lines total)]\n" + window_of(
        text, CURRENT_LINE, size, is_start)


def current_content():
    if not CURRENT_FILE or not os.path.isfile(CURRENT_FILE):
        raise Trouble("No file open. Use the open_file function first.")
    return content_of(CURRENT_FILE)


@told
def open_file(path: str, line_number: int | None = 1, context_lines: int | None = WINDOW) -> None:
    """Opens a file and shows the lines around one of its lines.

    It shows a window of the file; scroll_down and scroll_up show the others.

    Args:
        path: The file, best as an absolute path.
        line_number: The line in the middle of the window, from 1 on. The default is 1.
        context_lines: How many lines are shown, at most 100. The default is 100.
    """
    global CURRENT_FILE, CURRENT_LINE
    if not is_path(path) or not os.path.isfile(path):
        raise Trouble(f"File {printable(path)} not found.")
    if not isinstance(context_lines, (int, type(None))):
        raise Trouble("context_lines must be a number of lines")
    text, total = content_of(path)
    CURRENT_FILE = os.path.abspath(path)
    if not is_number_of(line_number, total):
        raise Trouble(f"Line number must be between 1 and {total}")
    CURRENT_LINE = line_number
    size = context_lines if context_lines and context_lines >= 1 else WINDOW
    output = show(CURRENT_FILE, text, total, min(size, 100))
    print(output + SCROLL_HINT if output.endswith("more lines below)") else output)


@told
def goto_line(line_number: int) -> None:
    """Moves the window of the open file to a line.

    Args:
        line_number: int: The line in the middle of the window.
    """
    global CURRENT_LINE
    text, total = current_content()
    if not is_number_of(line_number, total):
        raise Trouble(f"Line number must be between 1 and {total}.")
    CURRENT_LINE = line_number
    print(show(CURRENT_FILE, text, total))


def scroll(lines):
    global CURRENT_LINE
    text, total = current_content()
    CURRENT_LINE = min(max(CURRENT_LINE + lines, 1), total)
    print(show(CURRENT_FILE, text, total, is_start=True))


@told
def scroll_down() -> None:
    """Moves the window of the open file down, by 100 lines.

    Args:
        None
    """
    scroll(WINDOW)


@told
def scroll_up() -> None:
    """Moves the window of the open file up, by 100 lines.

    Args:
        None
    """
    scroll(-WINDOW)


class Matches:
    """Lines or names with a term: all are counted, and those that are printed are kept."""

    def __init__(self, term):
        self.term = term
        self.count = self.files = self.size = 0
        self.kept, self.notes = [], []

    def add(self, text):
        self.count += 1
        self.size += len(text)
        if self.size <= PRINTED_MAX:
            self.kept.append(text)

    def search(self, path, errors, form):
        """Adds the lines of a file that have the term, each as `form` has its number and text."""
        before, number, size, is_new = self.count, 0, 0, True
        with opened(path, errors) as file:
            while size < SEARCHED_MAX:
                line = file.readline(LINE_MAX)
                if not line:
                    break
                size += len(line)
                number += is_new
                if is_new and self.term in line:
                    self.add(form % (number, line.strip()))
                is_new = line.endswith("\n")
            else:
                self.notes.append(f"(only the first {SEARCHED_MAX} characters of {printable(path)} were searched)")
        self.files += self.count > before

    def print(self, place, none):
        term, left_out = self.term, self.count - len(self.kept)
        if left_out:
            self.notes.append(f"({left_out} more matches are too much text to be printed)")
        if not self.count:
            print("\n".join([none, *self.notes]))
            return
        print(f'[Found {self.count} matches for "{term}" in {place}]')
        print("\n".join([*self.kept, *self.notes]))
        print(f'[End of matches for "{term}" in {place}]')


def is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:  # such as a link that leads to itself
        return False


def folders_of(top):
    """Yields (folder, names of its files) in the order of os.walk, which recurses in older
    Pythons.  A link to a folder is not followed."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        names, folders = [], []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not is_folder(entry):
                        names.append(entry.name)
                    elif not entry.is_symlink():
                        folders.append(os.path.join(folder, entry.name))
        except OSError:
            continue  # a folder without permission has no files for us
        yield folder, names
        waiting.extend(reversed(folders))


def check_term(term, name):
    if not isinstance(term, str):
        raise Trouble(f"{name} must be a text")


def check_folder(path):
    if not is_path(path) or not os.path.isdir(path):
        raise Trouble(f"Directory {printable(path)} not found")


@told
def search_dir(search_term: str, dir_path: str = './') -> None:
    """Looks for a text in all files of a folder and of the folders in it.

    Args:
        search_term: str: The text, which is no pattern.
        dir_path: str: The folder; without it the current one.
    """
    check_folder(dir_path)
    check_term(search_term, "search_term")
    matches, place = Matches(search_term), printable(dir_path)
    for folder, names in folders_of(dir_path):
        for name in names:
            path = os.path.join(folder, name)
            # A link to nothing, or a file without permission, ends no search.
            with contextlib.suppress(OSError):
                if not name.startswith("."):
                    matches.search(path, "ignore", printable(path).replace("%", "%%") + " (Line %d): %s")
    if matches.files > MATCHED_FILES_MAX:
        print(f'More than {matches.files} files matched for "{search_term}" in {place}. Please narrow your search.')
    else:
        matches.print(place, f'No matches found for "{search_term}" in {place}')


@told
def search_file(search_term: str, file_path: str | None = None) -> None:
    """Looks for a text in a file.

    Args:
        search_term: The text, which is no pattern.
        file_path: The file; without it the open one.
    """
    path = CURRENT_FILE if file_path is None else file_path
    if path is None:
        raise Trouble("No file specified or open. Use the open_file function first.")
    shown = printable(path)
    if not is_path(path) or not os.path.isfile(path):
        raise Trouble(f"File {shown} not found.")
    check_term(search_term, "search_term")
    matches = Matches(search_term)
    try:
        matches.search(path, "replace", "Line %d: %s")
    except OSError as e:
        raise Trouble(f"File {shown} cannot be read: {e.strerror or e}.") from None
    matches.print(shown, f'[No matches found for "{search_term}" in {shown}]')


@told
def find_file(file_name: str, dir_path: str = './') -> None:
    """Looks for files whose names have a text in them, in a folder and the folders in it.

    Args:
        file_name: str: The text in the names.
        dir_path: str: The folder; without it the current one.
    """
    check_folder(dir_path)
    check_term(file_name, "file_name")
    matches, place = Matches(file_name), printable(dir_path)
    for folder, names in folders_of(dir_path):
        for name in names:
            if file_name in name:
                matches.add(printable(os.path.join(folder, name)))
    matches.print(place, f'[No matches found for "{file_name}" in {place}]')
