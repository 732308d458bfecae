"""rich -- objects in the forms in which they can be shown, and a stand-in for IPython.display."""
import base64
import json
import sys

from . import figures, pretty

METHODS = {"_repr_html_": "text/html", "_repr_markdown_": "text/markdown", "_repr_svg_": "image/svg+xml",
           "_repr_png_": "image/png", "_repr_jpeg_": "image/jpeg", "_repr_latex_": "text/latex",
           "_repr_json_": "application/json", "_repr_javascript_": "application/javascript"}


def method(value, name):
    """Returns a method of the value's class; a class itself has none of its own."""
    if isinstance(value, type) or not hasattr(type(value), name):
        return None
    found = getattr(value, name)
    return found if callable(found) else None


def in_text(data):
    return base64.b64encode(data).decode() if isinstance(data, bytes) else data


def bundle_of(value):
    bundle = {}
    own = method(value, "_repr_mimebundle_")
    if own:
        data = own(include=None, exclude=None)
        data = data[0] if isinstance(data, tuple) else data
        bundle.update({kind: in_text(one) for kind, one in (data or {}).items()})
    for name, kind in METHODS.items():
        own = kind not in bundle and method(value, name)
        data = own() if own else None
        data = data[0] if isinstance(data, tuple) else data
        if data is not None:
            bundle[kind] = in_text(data)
    figure = sys.modules.get("matplotlib.figure")
    if figure and isinstance(value, figure.Figure):
        bundle["image/png"] = figures.png_of(value)
    if "text/plain" not in bundle:
        bundle["text/plain"] = pretty.text_of(value)
    return bundle


def data_of(data, path):
    """Returns the data of a display object, which may be given as a file."""
    if path is None:
        return data
    with open(path, "rb") as file:
        return file.read()


class Shown:
    """The base of IPython.display's classes."""

    kind = None

    def __init__(self, data=None, url=None, filename=None, **_):
        self.data = data_of(data, filename)
        self.url = url

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = self.data
        if isinstance(data, bytes) and not self.kind.startswith("image/p"):
            data = data.decode("utf-8", "replace")
        return {self.kind: data}


def display_class(name, kind):
    return type(name, (Shown,), {"kind": kind, "__module__": "IPython.core.display"})


def fill(module, interpreter):
    """Gives the stand-in module its names."""
    if module.__name__ in ("IPython.display", "IPython.core.display"):
        for name, kind in (("HTML", "text/html"), ("SVG", "image/svg+xml"), ("JSON", "application/json"),
                           ("Markdown", "text/markdown"), ("Latex", "text/latex"), ("Math", "text/latex"),
                           ("Javascript", "application/javascript"), ("Image", "image/png"),
                           ("Pretty", "text/plain")):
            setattr(module, name, display_class(name, kind))
        module.clear_output = lambda wait=False: None
        module.display = interpreter.display
        for kind, name in (("text/html", "display_html"), ("text/markdown", "display_markdown")):
            setattr(module, name, shower(interpreter, kind))
    if module.__name__ == "IPython":
        # Programs take a shell for a terminal's or notebook's own; there is none of IPython's here.
        module.get_ipython = lambda: None
        module.version_info = (0, 0, 0, "")
        module.__version__ = "0.0.0"


def shower(interpreter, kind):
    def show(*values, raw=False, **_):
        for value in values:
            interpreter.display({kind: value} if raw else value, raw=raw)
    return show


def is_json(value):
    try:
        json.dumps(value)
        return True
    except (TypeError, ValueError):
        return False


def strings(bundle):
    """Returns the bundle with nothing in it that is no JSON."""
    return {str(kind): value if is_json(value) else str(value) for kind, value in bundle.items()}
