"""editor -- edits, by the executor's editor.

The plugin jupyter listens at the socket that HUTCH_EDITOR names: it takes a line of JSON, and
answers with one, {"text": "...", "error": false}.
"""
from __future__ import annotations

import contextlib
import json
import os
import socket
import uuid
from pathlib import PurePosixPath

from .files import opened_bytes

# The plugin jupyter, and the executor's reader of its lines, take no more than this.
REQUEST_MAX = 4 << 20
PATH_MAX = 4096
COMMAND_MAX = 64
# The editor reads no larger file.
CONTENT_MAX = 10 << 20
ANSWER_MAX = 64 << 20
CHANGES = "str_replace", "insert", "undo_edit"


class EditError(Exception):
    """A request that is not sent."""


def file_editor(command: str, path: str, file_text: str | None = None, view_range: list[int] | None = None,
                old_str: str | None = None, new_str: str | None = None, insert_line: int | None = None,
                enable_linting: bool = False) -> str:
    """Views, creates and edits a file, as the action `edit` of docs/actions.md does.

    Args:
        command: str: view, create, str_replace, insert or undo_edit.
        path: str: The absolute path of the file or folder.
        file_text: The text of the file, for create.
        view_range: The first line and the last one, for view.
        old_str: The text that str_replace replaces.
        new_str: The text in its place, or the lines that insert puts into the file.
        insert_line: insert puts them behind this line.
        enable_linting: It changes nothing: the sandbox's option --lint does.
    """
    edit = {"command": command, "path": path, "file_text": file_text, "view_range": view_range,
            "old_str": old_str, "new_str": new_str, "insert_line": insert_line}
    before = after = None
    try:
        line = line_of(edit)
        if command in CHANGES:
            before = content_of(path)
        text, is_error = ask(line)
    except EditError as e:
        text, is_error = f"ERROR:\n{e}", True
    if is_error:
        return marked({"output": None, "error": text[len("ERROR:\n"):] if text.startswith("ERROR:\n") else text}, text)
    if command == "create":
        after = file_text
    elif command in CHANGES:
        after = content_of(path)
    # The reference has what find(1) said as the error of a folder's list.
    error = "" if command == "view" and os.path.isdir(path) else None
    return marked({"output": text, "error": error, "path": str(PurePosixPath(path)), "prev_exist": command != "create",
                   "old_content": before, "new_content": after}, text)


def marked(members, text):
    """Returns the form in which the reference has the result."""
    mark = f"oh_aci_output_{uuid.uuid4().hex}"
    inner = ",".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in members.items())
    return f'<{mark}>\n{{{inner}, "formatted_output_and_error": {json.dumps(text)}}}\n</{mark}>'


def line_of(edit):
    """Returns the request as a line, or raises EditError: the executor ends a plugin that sends
    something of another form."""
    for name in "command", "path", "file_text", "old_str", "new_str":
        check_text(name, edit[name], is_needed=name in ("command", "path"))
    if len(os.fsencode(edit["path"])) >= PATH_MAX:
        raise EditError("Invalid `path` parameter: it is too long.")
    if len(edit["command"].encode()) > COMMAND_MAX:
        raise EditError("Invalid `command` parameter: it is too long.")
    if not isinstance(edit["insert_line"], (int, type(None))):
        raise EditError(f"Invalid `insert_line` parameter: {edit['insert_line']!r}. It should be a whole number.")
    lines = edit["view_range"]
    if lines is not None and not (isinstance(lines, (list, tuple)) and all(isinstance(n, int) for n in lines)):
        raise EditError(f"Invalid `view_range` parameter: {lines!r}. It should be a list of two integers.")
    line = json.dumps(edit, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    if len(line) > REQUEST_MAX:
        raise EditError(f"The edit has more than {REQUEST_MAX} bytes, which is too many.")
    return line


def check_text(name, value, is_needed):
    if value is None and not is_needed:
        return
    if not isinstance(value, str):
        raise EditError(f"Invalid `{name}` parameter: {value!r}. It should be a text.")
    if "\0" in value:
        raise EditError(f"Invalid `{name}` parameter: it has the character NUL.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EditError(f"Invalid `{name}` parameter: it has a lone surrogate, which is no character.") from None


def ask(line):
    """Returns the editor's text, and whether it is an error."""
    address = os.environ.get("HUTCH_EDITOR")
    if not address:
        raise EditError("file_editor works in cells of hutch's plugin jupyter: HUTCH_EDITOR is not set.")
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(address)
            s.sendall(line)
            data = bytearray()
            while not data.endswith(b"\n") and len(data) <= ANSWER_MAX:
                more = s.recv(1 << 16)
                if not more:
                    raise EditError("The editor gave no answer.")
                data += more
        answer = json.loads(data)
        return answer["text"], answer["error"]
    except (OSError, ValueError, LookupError, TypeError) as e:
        raise EditError(f"The editor at {address} cannot be asked: {e}") from None


def content_of(path):
    """Returns the text of a file as the editor has it, with \\n at the end of each line, and None
    where that is not known: the editor knows more encodings."""
    with contextlib.suppress(OSError, ValueError):
        with opened_bytes(path) as file:
            data = file.read(CONTENT_MAX + 1)
        is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        if len(data) <= CONTENT_MAX:
            return data.decode("utf-16" if is_wide else "utf-8").replace("\r\n", "\n").replace("\r", "\n")
    return None
