#!/usr/bin/env -S python3 -SE
"""serve_files.py CASE ADDRESS KEY BOX: uploads and downloads of hutch serve, for serve_openhands.bats.

ADDRESS is HOST:PORT, KEY that of the sandbox BOX.  A case ends with 0, or with the line that failed.
"""
import io
import json
import os
import stat
import struct
import sys
import urllib.parse
import zipfile

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from serve_mcp import Box  # noqa: E402


class Files(Box):
    def upload(self, name, data, destination, recursive=False):
        body = (b'--limit\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n'
                b"Content-Type: application/octet-stream\r\n\r\n%b\r\n--limit--\r\n" % (name.encode(), data))
        query = urllib.parse.urlencode({"destination": destination, "recursive": str(recursive).lower()})
        status, text = self.ask("POST", f"/{self.box}/upload_file?{query}", body,
                                "Content-Type: multipart/form-data; boundary=limit")
        return status, json.loads(text)

    def download(self, path):
        """The files of the zip by their names, or the error."""
        status, head, data = self.fetch("GET", f"/{self.box}/download_files?{urllib.parse.urlencode({'path': path})}")
        if status != 200:
            return status, json.loads(data)["detail"]
        assert b"content-type: application/zip" in head.lower(), head
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            assert z.testzip() is None
            return {name: z.read(name) for name in z.namelist()}

    def run(self, command):
        status, text = self.ask("POST", f"/{self.box}/execute_action",
                                {"action": {"action": "run", "args": {"command": command}}})
        assert status == 200, text
        return json.loads(text)["content"]


def zip_of(*entries, method=zipfile.ZIP_DEFLATED):
    """A zip of entries: a name, the content, and the mode with the type."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data, mode in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, method
            z.writestr(info, data)
    return out.getvalue()


FILE, LINK = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777


def uploads(box):
    """Files and folders come where they are to, with their bits for execution."""
    assert box.upload("a b.txt", b"text", "/tmp/new/dir") == \
        (200, {"filename": "a b.txt", "destination": "/tmp/new/dir", "recursive": False})
    assert box.upload("a b.txt", b"", "/tmp/new/dir")[0] == 200
    tree = zip_of(("t/deep/gr\u00fcn", "green", FILE), ("t/run", "echo ran", stat.S_IFREG | 0o4755),
                  ("t/empty/", "", stat.S_IFDIR | 0o755))
    assert box.upload("t.zip", tree, "/tmp/up", True) == \
        (200, {"filename": "t.zip", "destination": "/tmp/up", "recursive": True})
    got = box.run("cd /tmp; stat -c '%n %s %A' new/dir/* up/t/* up/t/deep/*; up/t/run")
    assert got.split("\n") == ["new/dir/a b.txt 0 -rw-r--r--", "up/t/deep 60 drwxr-xr-x", "up/t/empty 40 drwxr-xr-x",
                               "up/t/run 8 -rwxr-xr-x", "up/t/deep/gr\u00fcn 5 -rw-r--r--", "ran"], got
    # The zip of an empty folder has no entry.
    assert box.upload("e.zip", zip_of(), "/tmp/up", True)[0] == 200


def hostile_uploads(box):
    """Neither a name nor a zip leads out of the folder, and what is refused leaves the sandbox as it was."""
    box.run("mkdir -p /tmp/safe && cd /tmp/safe && ln -s /etc out")
    for name in ("../x", "/tmp/x", "..", ".", "a/b"):
        assert box.upload(name, b"x", "/tmp/safe")[0] == 500, name
    lying = zip_of(("a", "text" * 9, FILE)).replace(struct.pack("<I", 36), struct.pack("<I", 1 << 31))
    for data, says in ((zip_of(("../x", "x", FILE)), "the zip's entry '../x'"),
                       (zip_of(("/tmp/x", "x", FILE)), "an absolute name"),
                       (zip_of(("to", "/etc/passwd", LINK)), "links and devices"),
                       (zip_of(("a/../../x", "x", FILE)), "'a/../../x'"),
                       (zip_of(("\x1b[2J/..", "x", FILE)), "'^[[2J/..'"),
                       (b"no zip", "read the zip"), (b"", "read the zip"),
                       (zip_of(("a", "text", FILE), method=zipfile.ZIP_LZMA), "another method than deflate"),
                       (lying, "too many bytes"), (zip_of(("out/x", "x", FILE)), "")):
        status, answer = box.upload("x.zip", data, "/tmp/safe", True)
        assert status == 500 and says in answer["detail"], (says, status, answer)
    for name, destination, recursive, says in (("x", "safe", False, "400: Destination must be an absolute path"),
                                               ("x", "/proc/x", False, ""), ("x", "/etc/passwd", False, "")):
        status, answer = box.upload(name, b"x", destination, recursive)
        assert status == 500 and says in answer["detail"], (destination, answer)
    got = box.run("cd /tmp; ls -A safe; ls -d x /etc/x 2>/dev/null")
    assert got == "out", got


def downloads(box):
    """A zip has the files of a folder, and their contents where the tree has links."""
    box.run("mkdir -p /tmp/d/deep/empty; cd /tmp/d; printf one >1; ln 1 hard; ln -s 1 soft; ln -s deep to; "
            "ln -s /nowhere gone; mkfifo pipe; printf two >deep/2; touch -d @0 deep/old; "
            "printf x >\"$(printf 'l\\nine \\377')\"; head -c 3000000 /dev/zero >zeros")
    got = box.download("/tmp/d")
    assert got == {"1": b"one", "hard": b"one", "soft": b"one", "deep/2": b"two", "deep/old": b"", "l\nine _": b"x",
                   "zeros": bytes(3000000)}, got.keys()
    assert box.download("/tmp/d/") == got
    assert box.download("/tmp/d/to") == box.download("/tmp/d/deep") == {"2": b"two", "old": b""}
    assert box.download("/tmp/d/deep/empty") == {}
    assert box.download("/nowhere") == (500, "404: File not found")
    assert box.download("tmp") == (500, "400: Path must be an absolute path")
    # The client goes in the middle; the process that packs ends, and others are served.
    with box.send("GET", f"/{box.box}/download_files?path=/tmp/d") as s:
        assert s.recv(1)
    assert box.run("pgrep -c 'copy' || true; echo alive").endswith("alive")


def main():
    globals()[sys.argv[1]](Files(*sys.argv[2:5]))


main()
