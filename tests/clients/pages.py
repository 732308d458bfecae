#!/usr/bin/python3
"""pages.py: a server of pages at localhost:8000 inside a sandbox, for browser.py.  It returns when
a child of it listens."""
import http.server
import os

PAGES = {
    "/a": """<!doctype html><title>First</title><h1>Hello &amp; welcome</h1>
             <p>Some <b>text</b> with a <a href="/b">link to B</a>.</p>
             <input aria-label=Name value=bob><button onclick="this.textContent='Was clicked'">Press</button>""",
    "/b": "<title>Second</title><p>Page B</p>",
    "/tabs": "<title>Tabs</title><button onclick=\"for (let i = 0; i < 100; i++) window.open('/b')\">open</button>",
    "/large": "<title>Large</title><body><p>beginning<script>for (let i = 0; i < 50000; i++) "
              "document.body.append(document.createElement('i'))</script>",
    "/loop": "<title>Loop</title><button onclick='for (;;);'>loop</button>",
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/never":
            self.rfile.read()
            return
        is_file = self.path == "/file"
        body = b"%PDF-1.4\n" if is_file else PAGES.get(self.path, "<title>none</title>").encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream" if is_file else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
if os.fork() == 0:
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    server.serve_forever()
