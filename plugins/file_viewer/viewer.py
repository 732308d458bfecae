"""viewer.py -- shows PDF files and pictures of the sandbox to its browser (docs/plugins.md).

It takes over the socket of listen.py, on the sandbox's own 127.0.0.1, whose address the file
/tmp/oh-server-url has, as in OpenHands.  GET /view?path=/ABSOLUTE/PATH is a page with the file.  It
runs as the sandbox's user and so reads what that user may read; a page of another origin gets nothing
from it.

Python 3.9 and its standard library are enough.
"""
import html
import http
import http.server
import json
import os
import re
import socket
import stat
import sys
import threading
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
PDFJS = "/usr/share/javascript/pdf"  # Debian's package libjs-pdf
FILE_MAX = 64 << 20
CHUNK = 1 << 16
CLIENTS_MAX = 16
# A client that is silent for so many seconds is let go.
SILENCE_S = 10

PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
            ".webp": "image/webp", ".svg": "image/svg+xml"}
TYPES = {".pdf": "application/pdf", **PICTURES}
OWN = {"/viewer.css": "text/css", "/viewer.js": "text/javascript"}
PDFJS_NAME = re.compile(r"/pdfjs/(build/pdf(\.worker)?\.js|web/(cmaps|standard_fonts)/[A-Za-z0-9_-]+\.(bcmap|pfb|ttf))")

# A page runs our script and pdf.js, and nothing that a file brings.
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PAGE_POLICY = (NOTHING + "; script-src 'self'; worker-src 'self'; connect-src 'self'; img-src 'self'; "
               "style-src 'self'; object-src 'self'")
# A picture is shown by a page.  If a browser opens an SVG itself, its scripts must not run.
PICTURE_POLICY = NOTHING + "; style-src 'unsafe-inline'; sandbox"
PDF_POLICY = NOTHING.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
HEADERS = {"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
           "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
           "X-Content-Type-Options": "nosniff"}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1.0">
<title>File Viewer - {name}</title>
<link rel="stylesheet" href="/viewer.css">
{scripts}</head>
<body>
<div id="viewer-container">{body}</div>
</body>
</html>
"""
PDFJS_SCRIPTS = '<script src="/pdfjs/build/pdf.js"></script>\n<script src="/viewer.js"></script>\n'


class Refusal(Exception):
    """An answer that is no file: a status, a headline and lines below it."""

    def __init__(self, status, headline, *lines):
        super().__init__(headline)
        self.status, self.headline, self.lines = status, headline, lines


def printable(path):
    """Returns the path as text: a byte that is no UTF-8 becomes ?"""
    return path.encode("utf-8", "replace").decode("utf-8")


def escaped(path):
    return html.escape(printable(path))


def opened(path):
    """Opens a regular file, and returns it with its size."""
    # O_NONBLOCK: a file may have become a pipe since it was looked at.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    state = os.fstat(file)
    if not stat.S_ISREG(state.st_mode):
        os.close(file)
        raise OSError("it is no regular file")
    return open(file, "rb"), state.st_size


def asked_path(query):
    """Returns the path that a query asks for, if a file is there, or raises Refusal."""
    try:
        path = urllib.parse.parse_qs(query, errors="surrogateescape", max_num_fields=8)["path"][0]
    except (KeyError, ValueError):
        raise Refusal(400, "Error: No path", "The address is /view?path=/ABSOLUTE/PATH") from None
    if not os.path.isabs(path):
        raise Refusal(400, "Error: Path must be absolute", path)
    if "\0" in path or not os.path.exists(path):
        raise Refusal(404, "Error: File not found", path)
    if os.path.isdir(path):
        raise Refusal(400, "Error: Path is a directory", path)
    return path


def file_of(path):
    """Returns (file, its size, its type), or raises Refusal."""
    extension = os.path.splitext(path)[1].lower()
    headline = "Error viewing file"
    if extension not in TYPES:
        raise Refusal(415, headline, path, f"Unsupported file extension: {extension}. Supported extensions are: "
                      + ", ".join(TYPES))
    try:
        file, size = opened(path)
    except OSError as e:
        raise Refusal(403, headline, path, e.strerror or str(e)) from None
    if size > FILE_MAX:
        file.close()
        raise Refusal(413, headline, path, f"It has {size} bytes; at most {FILE_MAX} are shown.")
    return file, size, TYPES[extension]


def page_of(path):
    """Returns the page that shows a file."""
    file, _, kind = file_of(path)
    file.close()
    source = html.escape("/file?path=" + urllib.parse.quote(os.fsencode(path)))
    name, scripts = escaped(os.path.basename(path)), ""
    if kind != "application/pdf":
        body = f'<img src="{source}" alt="{name}">'
    elif os.path.exists(PDFJS + "/build/pdf.js"):
        scripts, body = PDFJS_SCRIPTS, f'<div id="pages" data-source="{source}"></div>'
    else:
        body = f'<embed src="{source}" type="application/pdf">'
    return PAGE.format(name=name, scripts=scripts, body=body).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = SILENCE_S
    server_version, sys_version = "hutch", ""

    def do_GET(self):
        try:
            self.check_origin()
            self.answer(urllib.parse.urlsplit(self.path))
        except Refusal as e:
            self.refuse(e)

    def check_origin(self):
        """A page elsewhere must not read files by a name that it has made lead to 127.0.0.1, nor
        use a file as a picture or a script of its own."""
        port = self.server.server_address[1]
        if self.headers.get_all("Host") not in ([f"localhost:{port}"], [f"127.0.0.1:{port}"]):
            raise Refusal(403, "Access Denied", "This endpoint is only accessible from localhost")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refusal(403, "Access Denied", "Another site has asked for this page")

    def answer(self, url):
        if url.path == "/":
            self.send_bytes(200, "application/json", json.dumps({"status": "File viewer server is running"}).encode())
        elif url.path == "/view":
            self.send_bytes(200, "text/html; charset=utf-8", page_of(asked_path(url.query)), PAGE_POLICY)
        elif url.path == "/file":
            file, size, kind = file_of(asked_path(url.query))
            with file:
                self.send_file(file, size, kind, PDF_POLICY if kind == "application/pdf" else PICTURE_POLICY)
        elif url.path in OWN:
            self.send_fixed(HERE + url.path, OWN[url.path])
        elif PDFJS_NAME.fullmatch(url.path):
            is_script = url.path.endswith(".js")
            self.send_fixed(PDFJS + url.path[len("/pdfjs"):],
                            "text/javascript" if is_script else "application/octet-stream")
        else:
            raise Refusal(404, "Error: Not found", "The address is /view?path=/ABSOLUTE/PATH")

    def send_fixed(self, path, kind):
        """Sends a file of ours or of pdf.js."""
        try:
            file, size = opened(path)
        except OSError:
            raise Refusal(404, "Error: File not found", path) from None
        with file:
            # The worker of pdf.js has a policy of its own, and reads nothing by itself but these.
            self.send_file(file, size, kind, NOTHING + "; connect-src 'self'")

    def send_head(self, status, kind, size, policy):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(size), "Content-Security-Policy": policy,
                            **HEADERS}.items():
            self.send_header(name, value)
        if status == 405:
            self.send_header("Allow", "GET")
        self.end_headers()

    def send_bytes(self, status, kind, data, policy=NOTHING):
        self.send_head(status, kind, len(data), policy)
        self.wfile.write(data)

    def send_file(self, file, size, kind, policy):
        self.send_head(200, kind, size, policy)
        while size > 0:
            data = file.read(min(size, CHUNK))
            if not data:  # the file became shorter
                break
            self.wfile.write(data)
            size -= len(data)

    def refuse(self, refusal):
        lines = "".join(f"<p>{escaped(line)}</p>" for line in refusal.lines)
        self.send_bytes(refusal.status, "text/html; charset=utf-8",
                        f"<!DOCTYPE html>\n<h1>{escaped(refusal.headline)}</h1>{lines}\n".encode())

    def send_error(self, code, message=None, explain=None):
        """Is called for requests that http.server refuses.  501 is its word for another method."""
        code = 405 if code == 501 else int(code)
        self.refuse(Refusal(code, f"Error: {http.HTTPStatus(code).phrase}"))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """At most CLIENTS_MAX requests are answered at a time; others wait to be accepted."""

    def __init__(self, listener):
        super().__init__(None, Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.socket(fileno=listener)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "localhost", self.server_address[1]
        self.places = threading.BoundedSemaphore(CLIENTS_MAX)

    def process_request(self, request, client_address):
        self.places.acquire()
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.places.release()
            raise

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request, client_address):
        """A client that goes away, or that is silent, is no matter."""


def serve(listener):
    """Answers the requests that come to the listening descriptor, until the standard input ends."""
    threading.Thread(target=Server(listener).serve_forever, daemon=True).start()
    while sys.stdin.buffer.readline():
        pass
