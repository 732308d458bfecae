"""Tests of the functions of plugins/agent_skills, without a sandbox.

The texts are those of OpenHands 0.62, whose own functions printed the same for the same files.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

MODULES = str(pathlib.Path(__file__).resolve().parents[2] / "plugins/agent_skills/modules")
sys.path.insert(0, MODULES)
from hutch_agent_skills import editor, files, models, readers  # noqa: E402
from openhands.runtime.plugins.agent_skills import agentskills  # noqa: E402

NAMES = """open_file goto_line scroll_down scroll_up search_dir search_file find_file parse_pdf parse_docx
    parse_latex parse_pptx file_editor""".split()
SIGNATURES = """open_file(path: str, line_number: int | None = 1, context_lines: int | None = 100) -> None:
goto_line(line_number: int) -> None:
scroll_down() -> None:
scroll_up() -> None:
search_dir(search_term: str, dir_path: str = './') -> None:
search_file(search_term: str, file_path: str | None = None) -> None:
find_file(file_name: str, dir_path: str = './') -> None:
parse_pdf(file_path: str) -> None:
parse_docx(file_path: str) -> None:
parse_latex(file_path: str) -> None:
parse_pptx(file_path: str) -> None:"""
BEGINNING, END = "(this is the beginning of the file)\n", "(this is the end of the file)"
NOT_OPEN = "ERROR: No file open. Use the open_file function first.\n"
HINT = "[Use `scroll_down` to view the next 100 lines of the file!]\n"


def said(function, *args, **named):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert function(*args, **named) is None
    return out.getvalue()


def numbered(first, last):
    return "".join(f"{n}|line {n}\n" for n in range(first, last + 1))


class Base(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.folder = os.path.realpath(folder.name)
        os.chdir(self.folder)
        files.CURRENT_FILE, files.CURRENT_LINE = None, 1

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def says(self, text, function, *args, **named):
        self.assertEqual(text, said(function, *args, **named))

    def long(self, lines=250):
        return self.file("long", "".join(f"line {n}\n" for n in range(1, lines + 1)))


class Windows(Base):
    def window(self, first, last, total=250):
        above = BEGINNING if first == 1 else f"({first - 1} more lines above)\n"
        below = END if last == total else f"({total - last} more lines below)"
        return f"[File: {self.folder}/long ({total} lines total)]\n{above}{numbered(first, last)}{below}\n"

    def test_opened(self):
        path = self.long()
        self.says(self.window(1, 100) + HINT, files.open_file, "long")
        self.says(self.window(1, 100) + HINT, files.open_file, path, 51)
        self.says(self.window(2, 102) + HINT, files.open_file, path, 52)
        self.says(self.window(95, 105) + HINT, files.open_file, path, 100, 10)
        self.says(self.window(1, 5) + HINT, files.open_file, path, 3, 5)
        self.says(self.window(99, 101) + HINT, files.open_file, path, 100, 1)
        self.says(self.window(151, 250), files.open_file, path, 250, 1000)
        for size in None, 0, -5:
            self.says(self.window(1, 100) + HINT, files.open_file, path, 1, size)

    def test_short_files(self):
        for text, lines in ("", "1|\n"), ("x", "1|x\n"), ("\n", "1|\n"), ("é", "1|é\n"), ("a\r\n", "1|a\n"):
            self.file("f", text)
            self.says(f"[File: {self.folder}/f (1 lines total)]\n{BEGINNING}{lines}{END}\n", files.open_file, "f")

    def test_the_window_ends_lines_where_splitlines_does(self):
        self.file("f", "a\fb\n\u2028c")
        self.says(f"[File: {self.folder}/f (2 lines total)]\n{BEGINNING}1|a\f\n2|b\n3|\u2028\n4|c\n{END}\n",
                  files.open_file, "f")

    def test_wrong_lines(self):
        path = self.long()
        for line in 0, -1, 251, "5", 2.0, None, [1], 10 ** 30:
            self.says("ERROR: Line number must be between 1 and 250\n", files.open_file, path, line)
            self.says("ERROR: Line number must be between 1 and 250.\n", files.goto_line, line)
        self.says("ERROR: context_lines must be a number of lines\n", files.open_file, path, 1, "9")

    def test_wrong_files(self):
        for path in "none", "", self.folder, "a\0b", "\udcff\ud800":
            shown = path.replace("\udcff\ud800", "??")
            self.says(f"ERROR: File {shown} not found.\n", files.open_file, path)
        self.says("ERROR: File 5 not found.\n", files.open_file, 5)
        os.mkfifo("pipe")
        self.says("ERROR: File pipe not found.\n", files.open_file, "pipe")
        os.symlink("loop", "loop")
        self.says("ERROR: File loop not found.\n", files.open_file, "loop")

    def test_binary_and_huge_files(self):
        path = self.file("b", b"\x7fELF\0\0")
        self.says(f"ERROR: File {path} is a binary file.\n".replace(self.folder + "/", ""), files.open_file, "b")
        self.file("c", b"caf\xe9\n")
        self.assertIn("1|caf\ufffd\n", said(files.open_file, "c"))
        with mock.patch.object(files, "SHOWN_MAX", 10):
            self.file("f", "x" * 11)
            self.says("ERROR: File f has more than 10 characters, which is too many.\n", files.open_file, "f")

    def test_moved(self):
        for function in files.scroll_down, files.scroll_up:
            self.says(NOT_OPEN, function)
        self.says(NOT_OPEN, files.goto_line, 1)
        path = self.long()
        said(files.open_file, path)
        self.says(self.window(101, 201), files.scroll_down)
        self.says(self.window(151, 250), files.scroll_down)
        self.says(self.window(150, 250).replace("(149 more", "(150 more").replace("150|line 150\n", ""),
                  files.scroll_down)
        self.says(self.window(150, 250).replace("(149 more", "(150 more").replace("150|line 150\n", ""),
                  files.scroll_up)
        self.says(self.window(1, 100), files.goto_line, 3)
        self.says(self.window(101, 201), files.goto_line, 151)
        os.unlink(path)
        self.says(NOT_OPEN, files.scroll_up)


class Searches(Base):
    def test_a_file(self):
        self.says("ERROR: No file specified or open. Use the open_file function first.\n", files.search_file, "x")
        self.says("ERROR: File none not found.\n", files.search_file, "x", "none")
        path = self.file("f", "  a.*b [\t\nnothing\n\n(a.*b\r\nlast a.*b")
        self.says(f'[Found 3 matches for "a.*b" in {path}]\nLine 1: a.*b [\nLine 4: (a.*b\nLine 5: last a.*b\n'
                  f'[End of matches for "a.*b" in {path}]\n', files.search_file, "a.*b", path)
        self.says(f'[No matches found for "A" in {path}]\n', files.search_file, "A", path)
        said(files.open_file, path)
        self.assertIn('[Found 1 matches for "[" in', said(files.search_file, "["))
        self.says("ERROR: search_term must be a text\n", files.search_file, 5)

    def test_a_folder(self):
        for name in "f", ".hidden", ".git/config", "sub/deep/g":
            self.file("d/" + name, f"{name}\n  needle \n")
        self.file("d/latin", b"caf\xe9 needle")
        lines = said(files.search_dir, "needle", "d").splitlines()
        self.assertEqual(lines[0], '[Found 4 matches for "needle" in d]')
        self.assertEqual(sorted(lines[1:-1]), ["d/.git/config (Line 2): needle", "d/f (Line 2): needle",
                                               "d/latin (Line 1): caf needle", "d/sub/deep/g (Line 2): needle"])
        self.assertEqual(lines[-1], '[End of matches for "needle" in d]')
        self.says('No matches found for "nothing" in d\n', files.search_dir, "nothing", "d")
        self.says("ERROR: Directory none not found\n", files.search_dir, "x", "none")
        self.says("ERROR: Directory d/f not found\n", files.search_dir, "x", "d/f")
        self.says("ERROR: Directory 5 not found\n", files.search_dir, "x", 5)
        self.says("ERROR: search_term must be a text\n", files.search_dir, None, "d")
        os.chdir("d/sub")
        self.says('[Found 1 matches for "needle" in ./]\n./deep/g (Line 2): needle\n'
                  '[End of matches for "needle" in ./]\n', files.search_dir, "needle")

    def test_many_files(self):
        for n in range(101):
            self.file(f"d/{n}", "needle\nneedle\n")
        self.says('More than 101 files matched for "needle" in d. Please narrow your search.\n',
                  files.search_dir, "needle", "d")
        os.unlink("d/5")
        self.assertTrue(said(files.search_dir, "needle", "d").startswith('[Found 200 matches for "needle" in d]\n'))

    def test_names(self):
        for name in "d/name.py", "d/.name", "d/sub/other_name", "d/sub/x":
            self.file(name, "")
        lines = said(files.find_file, "name", "d").splitlines()
        self.assertEqual([lines[0], *sorted(lines[1:-1]), lines[-1]], [
            '[Found 3 matches for "name" in d]', "d/.name", "d/name.py", "d/sub/other_name",
            '[End of matches for "name" in d]'])
        self.says('[No matches found for "n.me" in d]\n', files.find_file, "n.me", "d")
        self.says("ERROR: Directory none not found\n", files.find_file, "x", "none")
        self.says("ERROR: file_name must be a text\n", files.find_file, b"x", "d")

    def test_hostile_trees(self):
        os.makedirs("d/deep")
        os.symlink("..", "d/deep/up")
        os.symlink("loop", "d/loop")
        os.symlink("none", "d/dangling")
        os.mkfifo("d/pipe")
        self.file("d/f", "needle")
        open(os.path.join(os.fsencode(self.folder), b"d/\xff"), "wb").close()
        self.says('[Found 1 matches for "needle" in d]\nd/f (Line 1): needle\n[End of matches for "needle" in d]\n',
                  files.search_dir, "needle", "d")
        lines = said(files.find_file, "", "d").splitlines()
        self.assertEqual(sorted(lines[1:-1]), ["d/?", "d/dangling", "d/f", "d/loop", "d/pipe"])

    def test_a_tree_deeper_than_a_recursion(self):
        os.mkdir("d")
        here = os.getcwd()
        os.chdir("d")
        for _ in range(300):
            os.mkdir("a")
            os.chdir("a")
        os.chdir(here)
        self.file("d/a/a/f", "needle")
        limit = sys.getrecursionlimit()
        self.addCleanup(sys.setrecursionlimit, limit)
        sys.setrecursionlimit(200)
        found = said(files.search_dir, "needle", "d")
        sys.setrecursionlimit(limit)
        self.assertIn("d/a/a/f (Line 1)", found)

    def test_bounds(self):
        self.file("d/f", "needle\n" * 100)
        with mock.patch.object(files, "PRINTED_MAX", 50):
            lines = said(files.search_file, "needle", "d/f").splitlines()
            self.assertEqual(lines[0], '[Found 100 matches for "needle" in d/f]')
            self.assertEqual(lines[-2], "(97 more matches are too much text to be printed)")
            self.assertEqual(len(lines), 6)
        with mock.patch.object(files, "SEARCHED_MAX", 21):
            self.assertIn("(only the first 21 characters of d/f were searched)", said(files.search_file, "x", "d/f"))
            self.assertTrue(said(files.search_file, "needle", "d/f").startswith("[Found 3 "))
        with mock.patch.object(files, "LINE_MAX", 8):
            self.file("d/f", "needle..needle\nneedle\n")
            self.says('[Found 2 matches for "needle" in d/f]\nLine 1: needle..\nLine 2: needle\n'
                      '[End of matches for "needle" in d/f]\n', files.search_file, "needle", "d/f")


class Readers(Base):
    """The packages are stubs here: they are not on every host."""

    def module(self, name, **members):
        module = types.ModuleType(name)
        vars(module).update(members)
        self.enterContext(mock.patch.dict(sys.modules, {name: module}))

    def enterContext(self, context):  # unittest has it from Python 3.11 on
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def test_pages(self):
        page = lambda text: types.SimpleNamespace(extract_text=lambda: text)
        self.module("pypdf", PdfReader=lambda path: types.SimpleNamespace(pages=[page("one "), page("two\n")]))
        self.file("f", "")
        self.says("[Reading PDF file from f]\n@@ Page 1 @@\none \n\n@@ Page 2 @@\ntwo\n", readers.parse_pdf, "f")

    def test_paragraphs(self):
        paragraphs = [types.SimpleNamespace(text=text) for text in ("one", "")]
        self.module("docx", Document=lambda path: types.SimpleNamespace(paragraphs=paragraphs))
        self.file("f", "")
        self.says("[Reading DOCX file from f]\n@@ Page 1 @@\none\n\n@@ Page 2 @@\n\n\n\n", readers.parse_docx, "f")

    def test_latex(self):
        self.module("pylatexenc")
        self.module("pylatexenc.latex2text", LatexNodes2Text=lambda: types.SimpleNamespace(
            latex_to_text=lambda source: f" <{source}> "))
        self.file("f", "x")
        self.says("[Reading LaTex file from f]\n<x>\n", readers.parse_latex, "f")

    def test_slides(self):
        slides = [types.SimpleNamespace(shapes=[types.SimpleNamespace(text="T"), object()])] * 2

        def presentation(path):
            if path == "bad":
                raise ValueError("no zip")
            return types.SimpleNamespace(slides=slides)
        self.module("pptx", Presentation=presentation)
        self.says("[Reading PowerPoint file from f]\n@@ Slide 1 @@\nT\n@@ Slide 2 @@\nT\n", readers.parse_pptx, "f")
        self.says("[Reading PowerPoint file from bad]\nError reading PowerPoint file: no zip\n",
                  readers.parse_pptx, "bad")

    def test_a_missing_package_is_named(self):
        for function, head, name, modules in [
                (readers.parse_pdf, "PDF", "pypdf", ("pypdf", "PyPDF2")),
                (readers.parse_docx, "DOCX", "python-docx", ("docx",)),
                (readers.parse_latex, "LaTex", "pylatexenc", ("pylatexenc", "pylatexenc.latex2text")),
                (readers.parse_pptx, "PowerPoint", "python-pptx", ("pptx",))]:
            with mock.patch.dict(sys.modules, dict.fromkeys(modules)):
                self.says(f"[Reading {head} file from f]\nERROR: {function.__name__} needs the Python package {name}, "
                          f"which cannot be imported; `%pip install {name}` installs it where the package index is "
                          "reached.\n", function, "f")

    def test_files_that_are_none(self):
        def broken(path):
            raise KeyError
        self.module("pypdf", PdfReader=broken)
        self.says("[Reading PDF file from none]\nERROR: File none not found.\n", readers.parse_pdf, "none")
        self.file("f", "x")
        self.says("[Reading PDF file from f]\nERROR: File f cannot be read as PDF: KeyError\n", readers.parse_pdf, "f")
        with mock.patch.object(readers, "FILE_MAX", 0):
            self.says("[Reading PDF file from f]\nERROR: File f has more than 0 bytes, which is too many.\n",
                      readers.parse_pdf, "f")

    def test_models(self):
        asked = []
        answer = types.SimpleNamespace(choices=[types.SimpleNamespace(message=types.SimpleNamespace(content="a cat"))])
        client = mock.Mock()
        client.chat.completions.create = lambda **more: asked.append(more) or answer
        client.audio.translations.create.return_value = types.SimpleNamespace(text="hello")
        self.module("openai", OpenAI=lambda **more: asked.append(more) or client)
        self.file("f.png", b"png")
        with mock.patch.dict(os.environ, {"OPENAI_API_KEY": "k", "MAX_TOKEN": "7"}, clear=True):
            self.says("[Reading image file from f.png]\na cat\n", models.parse_image, "f.png")
            self.says("[Transcribing audio file from f.png]\nhello\n", models.parse_audio, "f.png")
        self.assertEqual(asked[0], {"api_key": "k", "base_url": "https://api.openai.com/v1"})
        self.assertEqual((asked[1]["model"], asked[1]["max_tokens"]), ("gpt-4o", 7))
        self.assertEqual(asked[1]["messages"][0]["content"], [
            {"type": "text", "text": "Describe this image as detail as possible."},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,cG5n"}}])
        none = "[Errno 2] No such file or directory: 'none'"
        self.says(f"[Reading image file from none]\nError with the request: {none}\n", models.parse_image, "none")
        self.says(f"[Transcribing audio file from none]\nError transcribing audio file: {none}\n",
                  models.parse_audio, "none")

    def test_frames(self):
        frames = [b"%d" % n for n in range(100)]
        with mock.patch.object(models, "frames_of", lambda path, step: frames), \
                mock.patch.object(models, "describe", lambda task, frame: frame.decode()):
            lines = said(models.parse_video, "v", frame_interval=50).splitlines()
            self.assertEqual(lines, ["[Processing video file from v with frame interval 50]",
                                     "Totally 2 would be analyze...", "",
                                     "Process the v, current No. 50 frame...", "Frame 1's content: 0", "",
                                     "Process the v, current No. 100 frame...", "Frame 2's content: 50", ""])
            self.assertIn("Totally 34 would be", said(models.parse_video, "v", frame_interval=1))
            self.assertIn("Error reading video file: slice step", said(models.parse_video, "v", frame_interval=0))


class Editor(Base):
    """A thread answers at the socket, as the plugin jupyter does."""

    def answered(self, answer, *args, during=None, **named):
        """Returns (the request, the members of file_editor's result)."""
        path = os.path.join(self.folder, "socket")
        requests = []
        with socket.socket(socket.AF_UNIX) as s, mock.patch.dict(os.environ, {"HUTCH_EDITOR": path}):
            s.bind(path)
            s.listen()

            def serve():
                connection = s.accept()[0]
                with connection, connection.makefile("rwb") as f:
                    requests.append(json.loads(f.readline()))
                    if during:
                        during()
                    f.write(answer)
            server = threading.Thread(target=serve)
            server.start()
            result = editor.file_editor(*args, **named)
            server.join()
        os.unlink(path)
        return requests[0], self.members(result)

    def members(self, result):
        found = re.fullmatch(r"<(oh_aci_output_[0-9a-f]{32})>\n(\{.*\})\n</\1>", result)
        return list(json.loads(found[2]).items())

    def says_text(self, text, is_error=False):
        return json.dumps({"text": text, "error": is_error}).encode() + b"\n"

    def test_the_form(self):
        with mock.patch.object(editor, "line_of", lambda edit: b""), \
                mock.patch.object(editor, "ask", lambda line: ('"é"\n', False)):
            text = editor.file_editor("view", "/a//b/")
        self.assertEqual(re.sub("[0-9a-f]{32}", "HEX", text), (
            '<oh_aci_output_HEX>\n{"output": "\\"\\u00e9\\"\\n","error": null,"path": "/a/b","prev_exist": true,'
            '"old_content": null,"new_content": null, "formatted_output_and_error": "\\"\\u00e9\\"\\n"}\n'
            '</oh_aci_output_HEX>'))

    def test_create(self):
        request, members = self.answered(self.says_text("made"), "create", "/x/y", "é\n")
        self.assertEqual(request, {"command": "create", "path": "/x/y", "file_text": "é\n", "view_range": None,
                                   "old_str": None, "new_str": None, "insert_line": None})
        self.assertEqual(members, [("output", "made"), ("error", None), ("path", "/x/y"), ("prev_exist", False),
                                   ("old_content", None), ("new_content", "é\n"),
                                   ("formatted_output_and_error", "made")])

    def test_a_change_has_the_texts_before_and_after(self):
        path = self.file("f", "one\r\ntwo")
        request, members = self.answered(self.says_text("done"), "str_replace", path, old_str="one", new_str="1",
                                         during=lambda: self.file("f", "1\r\ntwo"))
        self.assertEqual((request["old_str"], request["new_str"]), ("one", "1"))
        self.assertEqual(dict(members)["old_content"], "one\ntwo")
        self.assertEqual(dict(members)["new_content"], "1\ntwo")
        self.assertIs(dict(members)["prev_exist"], True)
        for data, text in (b"caf\xe9", None), ("é".encode("utf-16"), "é"), (b"\xef\xbb\xbfx", "\ufeffx"):
            self.file("f", data)
            self.assertEqual(dict(self.answered(self.says_text(""), "undo_edit", path)[1])["new_content"], text)
        with mock.patch.object(editor, "CONTENT_MAX", 1):
            self.file("f", "xx")
            self.assertIsNone(dict(self.answered(self.says_text(""), "undo_edit", path)[1])["old_content"])

    def test_a_folder_has_an_empty_error(self):
        _, members = self.answered(self.says_text("list"), "view", self.folder)
        self.assertEqual(members[:2], [("output", "list"), ("error", "")])

    def test_an_error_has_three_members(self):
        _, members = self.answered(self.says_text("ERROR:\nno", True), "view", "/x", view_range=[1, 2])
        self.assertEqual(members, [("output", None), ("error", "no"), ("formatted_output_and_error", "ERROR:\nno")])

    def refused(self, text, *args, **named):
        members = dict(self.members(editor.file_editor(*args, **named)))
        self.assertEqual(members["output"], None)
        self.assertIn(text, members["error"])
        self.assertEqual(members["formatted_output_and_error"], "ERROR:\n" + members["error"])

    def test_without_an_editor(self):
        with mock.patch.dict(os.environ, clear=True):
            self.refused("HUTCH_EDITOR is not set", "view", "/x")
        with mock.patch.dict(os.environ, {"HUTCH_EDITOR": self.folder + "/none"}):
            self.refused("cannot be asked: [Errno 2]", "view", "/x")
        for answer in b"", b"half", b"[]\n", b"{}\n", b"\xff\n":
            _, members = self.answered(answer, "view", "/x")
            self.assertRegex(dict(members)["error"], "gave no answer|cannot be asked")

    def test_wrong_arguments_reach_no_editor(self):
        with mock.patch.object(editor, "ask", lambda line: self.fail("it was sent")):
            for text, args, named in [
                    ("`path` parameter: 5", ("view", 5), {}), ("`path` parameter: None", ("view", None), {}),
                    ("`command` parameter", (None, "/x"), {}), ("`command` parameter: it is too", ("x" * 65, "/x"), {}),
                    ("NUL", ("view", "/x\0"), {}), ("surrogate", ("create", "/x", "\ud800"), {}),
                    ("`path` parameter: it is too long", ("view", "/" + "x" * 4095), {}),
                    ("`file_text` parameter: b", ("create", "/x", b""), {}),
                    ("`insert_line` parameter: '1'", ("insert", "/x"), {"insert_line": "1"}),
                    ("`view_range` parameter: 5", ("view", "/x"), {"view_range": 5}),
                    ("`view_range` parameter: [1, 'a']", ("view", "/x"), {"view_range": [1, "a"]}),
                    ("more than 4194304 bytes", ("create", "/x", "x" * (4 << 20)), {})]:
                self.refused(text, *args, **named)


class Module(Base):
    """The name that OpenHands' start cell imports."""

    def python(self, code, *path, **environment):
        done = subprocess.run([sys.executable, "-SB", "-c", code], capture_output=True, text=True, cwd="/", env={
            "PYTHONPATH": os.pathsep.join([MODULES, *path]), "PYTHONIOENCODING": "utf-8", **environment})
        self.assertEqual(done.stderr, "")
        return done.stdout.strip()

    def names(self, *path, **environment):
        return self.python("from openhands.runtime.plugins.agent_skills.agentskills import *\n"
                           "print(*(n for n in dir() if n[0] != '_'))", *path, **environment).split()

    def test_names(self):
        self.assertEqual(agentskills.__all__, NAMES)
        self.assertEqual(self.names(), sorted(NAMES))
        with_key = [*NAMES, "parse_audio", "parse_video", "parse_image"]
        for name in "OPENAI_API_KEY", "SANDBOX_ENV_OPENAI_API_KEY":
            self.assertEqual(self.names(**{name: "k"}), sorted(with_key))
        self.assertEqual(self.names(OPENAI_API_KEY="k", OPENAI_BASE_URL=""), sorted(NAMES))
        self.assertEqual(self.names(OPENAI_API_KEY=""), sorted(NAMES))

    def test_documentation(self):
        heads = [line for line in agentskills.DOCUMENTATION.splitlines() if line and line[0] != " "]
        self.assertEqual("\n".join(heads), SIGNATURES)
        for part in agentskills.DOCUMENTATION[:-2].split("\n\n"):
            self.assertRegex(part, r"^\w+\(.*\) -> None:\n(    \S.*\n)+    \S.*$")

    def test_repository_functions(self):
        names = ["get_entity_contents", "search_code_snippets", "explore_tree_structure"]
        for folder in "openhands_aci", "openhands_aci/indexing", "openhands_aci/indexing/locagent":
            self.file(f"{folder}/__init__.py", "")
        self.file("openhands_aci/indexing/locagent/tools.py", "\n".join(f"def {n}(a: int): 'Doc.'" for n in names))
        self.assertEqual(self.names(self.folder), sorted(NAMES + names))
        self.file("openhands_aci/indexing/locagent/tools.py", "raise OSError")
        self.assertEqual(self.names(self.folder), sorted(NAMES))

    def test_beside_an_installed_openhands(self):
        """The hidden packages run when a name of theirs is asked for, and not for ours."""
        for package, text in [
                ("openhands", "import os\n__version__ = '9'\nwhere = os.path.basename(os.path.dirname(__file__))\n"),
                ("openhands/core", "x = 1\n"), ("openhands/runtime", "from openhands.runtime.plugins import Needs\n"),
                ("openhands/runtime/plugins", "from openhands.runtime.plugins.agent_skills import Needs\n"
                                              "print('plugins run')\n"),
                ("openhands/runtime/plugins/agent_skills",
                 "from openhands.runtime.plugins.agent_skills import agentskills\n"
                 "class Needs:\n    documentation = agentskills.DOCUMENTATION\n"),
                ("openhands/runtime/impl", "y = 2\n")]:
            self.file(f"{package}/__init__.py", text)
        self.file("openhands/runtime/plugins/agent_skills/agentskills.py", "raise OSError('hidden')\n")
        self.assertEqual(self.names(self.folder), sorted(NAMES))
        self.assertEqual(self.python(
            "import openhands, openhands.core, openhands.runtime.impl\n"
            "from openhands.runtime.plugins.agent_skills import agentskills\n"
            "print(openhands.__version__, openhands.where, openhands.core.x, openhands.runtime.impl.y)\n"
            "print(hasattr(openhands.runtime.plugins, '__wrapped__'), hasattr(openhands, 'none'))\n"
            "from openhands.runtime import Needs\n"
            "print(Needs.documentation == agentskills.DOCUMENTATION)", self.folder),
            "9 openhands 1 2\nFalse False\nplugins run\nTrue")

    def test_a_hidden_package_that_fails_says_so_each_time(self):
        self.file("openhands/__init__.py", "import no_such_module\n")
        self.assertEqual(self.names(self.folder), sorted(NAMES))
        self.assertEqual(self.python(
            "import openhands\nfor _ in range(2):\n    try: openhands.x\n    except ImportError as e: print(e)",
            self.folder), "\n".join(["No module named 'no_such_module'"] * 2))

    def test_beside_a_namespace_package(self):
        self.file("openhands/sdk/__init__.py", "z = 3\n")
        self.assertEqual(self.names(self.folder), sorted(NAMES))
        self.assertEqual(self.python("import openhands, openhands.sdk\nprint(openhands.sdk.z, hasattr(openhands, 'q'))",
                                     self.folder), "3 False")


if __name__ == "__main__":
    unittest.main()
