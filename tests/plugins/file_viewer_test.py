"""Tests of the server of plugins/file_viewer, without a sandbox."""
import http.client
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from unittest import mock

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "plugins/file_viewer"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


listen, viewer = loaded("listen"), loaded("viewer")


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with mock.patch.object(listen, "URL_FILE", self.folder + "/url"):
            self.server = viewer.Server(listen.listen().detach())
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.port = self.server.server_port

    def file(self, name, data=b"data"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def ask(self, target, method="GET", hosts=None, **headers):
        """Returns (status, headers, text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.putrequest(method, target, skip_host=True)
        for host in hosts if hosts is not None else [f"localhost:{self.port}"]:
            connection.putheader("Host", host)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        self.assertIn("default-src 'none'", response.headers["Content-Security-Policy"])
        self.assertEqual(response.headers["X-Content-Type-Options"], "nosniff")
        return response.status, response.headers, text

    def view(self, path, at="/view"):
        return self.ask(f"{at}?path={urllib.parse.quote(os.fsencode(path))}")


class Viewer(Base):
    def test_pictures(self):
        for name, kind in viewer.PICTURES.items():
            path = self.file("picture" + name.upper(), b"bytes")
            status, headers, text = self.view(path)
            self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            self.assertIn(f'<img src="/file?path={path}" alt="picture{name.upper()}">', text)
            self.assertNotIn("<script", text)
            status, headers, text = self.view(path, "/file")
            self.assertEqual((status, headers["Content-Type"], text), (200, kind, "bytes"))
            self.assertRegex(headers["Content-Security-Policy"], "; sandbox$")

    def test_pdf(self):
        path = self.file("a.pdf", b"%PDF")
        with mock.patch.object(viewer, "PDFJS", self.folder + "/none"):
            self.assertIn(f'<embed src="/file?path={path}" type="application/pdf">', self.view(path)[2])
            self.assertEqual(self.ask("/pdfjs/build/pdf.js")[0], 404)
        os.mkdir(self.folder + "/build")
        self.file("build/pdf.js", b"code")
        with mock.patch.object(viewer, "PDFJS", self.folder):
            text = self.view(path)[2]
            self.assertIn('<script src="/pdfjs/build/pdf.js">', text)
            self.assertIn(f'data-source="/file?path={path}"', text)
            status, headers, text = self.ask("/pdfjs/build/pdf.js")
            self.assertEqual((status, headers["Content-Type"], text), (200, "text/javascript", "code"))
            for name in "build/../a.pdf", "../a.pdf", "a.pdf", "build/pdf.js/../pdf.js", "build/other.js", "":
                self.assertEqual(self.ask("/pdfjs/" + name)[0], 404)
        self.assertEqual(self.view(path, "/file")[2], "%PDF")

    def test_its_own_files(self):
        self.assertEqual(self.ask("/")[2], '{"status": "File viewer server is running"}')
        self.assertEqual(self.ask("/viewer.js")[:1] + self.ask("/viewer.css")[:1], (200, 200))
        for target in "/viewer.py", "/plugin.json", "/nothing", "//viewer.js/..":
            self.assertEqual(self.ask(target)[0], 404)

    def test_text_is_escaped(self):
        name = "<b>\"'&é.png"
        text = self.view(self.file(name))[2]
        self.assertIn("<title>File Viewer - &lt;b&gt;&quot;&#x27;&amp;é.png</title>", text)
        self.assertNotIn("<b>", text)
        self.assertIn("/%3Cb%3E%22%27%26%C3%A9.png", text)
        path = os.fsdecode(os.fsencode(self.folder) + b"/\xff.png")
        open(path, "wb").close()
        self.assertIn("?.png", self.view(path)[2])
        self.assertEqual(self.view(path, "/file")[0], 200)
        self.assertIn("<p>/&lt;script&gt;</p>", self.view("/<script>")[2])

    def test_wrong_paths(self):
        os.symlink("loop.png", self.folder + "/loop.png")
        os.mkfifo(self.folder + "/pipe.png")
        for path, status, text in [
                ("a.png", 400, "<h1>Error: Path must be absolute</h1><p>a.png</p>"),
                ("/none.png", 404, "<h1>Error: File not found</h1><p>/none.png</p>"),
                (self.folder, 400, f"<h1>Error: Path is a directory</h1><p>{self.folder}</p>"),
                (self.folder + "/loop.png", 404, "File not found"), ("/a\0.png", 404, "File not found"),
                (self.folder + "/pipe.png", 403, "it is no regular file"), ("", 400, "Error: No path"),
                (self.file("a.txt"), 415, "Unsupported file extension: .txt. Supported extensions are: .pdf, .png")]:
            for at in "/view", "/file":
                answer = self.view(path, at)
                self.assertEqual(answer[0], status, path)
                self.assertIn(text, answer[2])
        self.assertEqual(self.ask("/view")[0], 400)
        self.assertEqual(self.ask("/view?" + "a=b&" * 20 + "path=/x.png")[0], 400)
        with mock.patch.object(viewer, "FILE_MAX", 3):
            self.assertEqual(self.view(self.file("large.png"))[0], 413)

    def test_other_origins(self):
        """A name that leads to 127.0.0.1, and pages elsewhere, get nothing."""
        path = f"/file?path={self.file('a.png')}"
        for hosts in (["evil.example"], [f"evil.example:{self.port}"], ["localhost"], [],
                      [f"localhost:{self.port}"] * 2, [f"localhost.evil.example:{self.port}"], [f"[::1]:{self.port}"]):
            self.assertEqual(self.ask(path, hosts=hosts)[0], 403, hosts)
        self.assertEqual(self.ask(path, hosts=[f"127.0.0.1:{self.port}"])[0], 200)
        for site, status in ("none", 200), ("same-origin", 200), ("same-site", 403), ("cross-site", 403):
            self.assertEqual(self.ask(path, Sec_Fetch_Site=site)[0], status, site)

    def test_other_methods(self):
        for method in "POST", "PUT", "DELETE", "OPTIONS", "NONSENSE":
            status, headers, _ = self.ask("/", method=method)
            self.assertEqual((status, headers["Allow"]), (405, "GET"))
        self.assertEqual(self.ask("/" + "x" * 70000)[0], 414)

    def test_it_listens_on_the_loopback_alone(self):
        self.assertEqual(self.server.server_address[0], "127.0.0.1")

    def test_the_address_replaces_a_link(self):
        target = self.file("target", b"keep")
        os.unlink(self.folder + "/url")
        os.symlink(target, self.folder + "/url")
        with mock.patch.object(listen, "URL_FILE", self.folder + "/url"):
            listen.write_url("http://localhost:1")
        self.assertFalse(os.path.islink(self.folder + "/url"))
        self.assertEqual(pathlib.Path(target).read_bytes(), b"keep")
        self.assertEqual(pathlib.Path(self.folder, "url").read_text(), "http://localhost:1")
        self.assertEqual(sorted(os.listdir(self.folder)), ["target", "url"])

    def test_next_to_nothing_is_imported_before_the_first_request(self):
        """Each sandbox with a browser has the process: http.server takes 50 ms of a processor."""
        names = subprocess.check_output([
            sys.executable, "-ISB", "-c", "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules); "
            "import listen; print(*sorted(set(sys.modules) - before))", FOLDER], text=True).split()
        self.assertIn("listen", names)
        self.assertLessEqual(set(names), {"_socket", "listen", "select"} | {"os", "stat", "posixpath", "genericpath",
                             "_stat", "_collections_abc", "os.path", "abc", "_abc"})


if __name__ == "__main__":
    unittest.main()
