"""readers -- prints what is in PDF, DOCX, PPTX and LaTeX files, by packages that know them.

A package is looked for when its function is called.  One that is missing, and a file that cannot
be read, is told as `ERROR: text`.
"""
from __future__ import annotations

import importlib
import os

from .files import Trouble, is_path, opened, printable, told

FILE_MAX = 256 << 20
LATEX_MAX = 8 << 20


def package(function, module, name, *others):
    """Returns the first of the modules that is there; `name` is the package as pip calls it."""
    for one in module, *others:
        try:
            return importlib.import_module(one)
        except ImportError:
            pass
    raise Trouble(f"{function} needs the Python package {name}, which cannot be imported; "
                  f"`%pip install {name}` installs it where the package index is reached.")


def check_file(path):
    if not is_path(path) or not os.path.isfile(path):
        raise Trouble(f"File {printable(path)} not found.")
    check_size(path)


def check_size(path):
    if os.path.getsize(path) > FILE_MAX:
        raise Trouble(f"File {printable(path)} has more than {FILE_MAX} bytes, which is too many.")


def read(kind, path, pieces):
    """Prints the text whose pieces a parser gives.  Parsers raise errors of many types."""
    check_file(path)
    try:
        text = "".join(pieces())
    except Exception as e:
        raise Trouble(f"File {printable(path)} cannot be read as {kind}: {str(e) or type(e).__name__}") from None
    print(text)


@told
def parse_pdf(file_path: str) -> None:
    """Prints the text of a PDF file, page by page.

    Args:
        file_path: str: The file.
    """
    print(f"[Reading PDF file from {printable(file_path)}]")
    pypdf = package("parse_pdf", "pypdf", "pypdf", "PyPDF2")

    def text():
        pages = pypdf.PdfReader(file_path).pages
        yield "".join(f"@@ Page {n} @@\n{page.extract_text()}\n\n" for n, page in enumerate(pages, 1)).strip()
    read("PDF", file_path, text)


@told
def parse_docx(file_path: str) -> None:
    """Prints the text of a DOCX file, paragraph by paragraph.

    Args:
        file_path: str: The file.
    """
    print(f"[Reading DOCX file from {printable(file_path)}]")
    docx = package("parse_docx", "docx", "python-docx")

    def text():
        for n, paragraph in enumerate(docx.Document(file_path).paragraphs, 1):
            yield f"@@ Page {n} @@\n{paragraph.text}\n\n"
    read("DOCX", file_path, text)


@told
def parse_latex(file_path: str) -> None:
    """Prints the text of a LaTex file without its commands.

    Args:
        file_path: str: The file.
    """
    print(f"[Reading LaTex file from {printable(file_path)}]")
    latex = package("parse_latex", "pylatexenc.latex2text", "pylatexenc")

    def text():
        with opened(file_path, "replace") as file:
            source = file.read(LATEX_MAX + 1)
        if len(source) > LATEX_MAX:
            raise ValueError(f"it has more than {LATEX_MAX} characters")
        yield latex.LatexNodes2Text().latex_to_text(source).strip()
    read("LaTex", file_path, text)


@told
def parse_pptx(file_path: str) -> None:
    """Prints the text of a PowerPoint file, slide by slide.

    Args:
        file_path: str: The file.
    """
    print(f"[Reading PowerPoint file from {printable(file_path)}]")
    pptx = package("parse_pptx", "pptx", "python-pptx")
    try:
        if os.path.isfile(file_path):
            check_size(file_path)
        lines = []
        for n, slide in enumerate(pptx.Presentation(str(file_path)).slides, 1):
            lines.append(f"@@ Slide {n} @@")
            lines += [shape.text for shape in slide.shapes if hasattr(shape, "text")]
        print("\n".join(lines))
    except Exception as e:
        print(f"Error reading PowerPoint file: {e}")
