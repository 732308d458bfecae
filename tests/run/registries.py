#!/usr/bin/env -S python3 -SE
"""Registries for the tests of `hutch image pull`.

    registries.py FOLDER

starts Debian's docker-registry three times over one storage in FOLDER, each on
a port that the kernel chose: `open` for all users, `basic` for one user with a
password, `token` for users with a token of a server that this program runs,
too.  In front of each is a proxy that applies FOLDER/faults, and logs the
requests to FOLDER/heard.  `tls` is `open` with a certificate that only
FOLDER/cert.pem vouches for, `cdn` a target of redirected blobs, `direct` the
registry without a proxy, for pushing.  Prints a line of NAME=PORT once all
answer.  It ends with its parent, and so does every process that it started.

FOLDER/faults is a JSON list of {"on": EXPRESSION over "METHOD PATH", "do": WHAT,
"at": BYTES, "times": N}; the first that fits and is not used up counts.
"""
import base64
import ctypes
import datetime
import http.client
import http.server
import json
import re
import signal
import ssl
import subprocess
import sys
import threading
import urllib.parse

USER, PASSWORD, IDENTITY = "me", "a secret password", "an-identity-token"
# HTPASSWD has the bcrypt hash of the password, with the lowest cost.
HTPASSWD = "me:$2b$04$abcdefghijklmnopqrstuu5x/8yBAitiMFpfcTC.R3ejqM2VJnVIW\n"
LEEWAY = 60  # seconds that docker-registry lets a token live on

folder = sys.argv[1]
lock = threading.Lock()


def log(line):
    with lock, open(f"{folder}/heard", "a") as f:
        f.write(line + "\n")


# --- faults ------------------------------------------------------------------


class Faults:
    text, rules = None, []

    def find(self, request):
        with lock:
            try:
                with open(f"{folder}/faults") as f:
                    text = f.read()
            except FileNotFoundError:
                text = "[]"
            if text != self.text:
                self.text, self.rules = text, json.loads(text or "[]")
            for rule in self.rules:
                if rule.get("times", 1 << 30) > 0 and re.search(rule["on"], request):
                    rule["times"] = rule.get("times", 1 << 30) - 1
                    return rule
        return {"do": "nothing"}


faults = Faults()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hear(self):
        who = (self.headers.get("Authorization") or "-").split()[0]
        span = self.headers.get("Range") or "-"
        log(f"{self.server.name} {self.command} {self.path} {who} {span}")


class Proxy(Handler):
    def do_GET(self):
        self.hear()
        fault = faults.find(f"{self.command} {self.path}")
        what = fault["do"]
        if what == "status":
            headers = fault.get("headers", {}).items()
            self.say(fault["status"], fault.get("body", "").encode(), headers)
        elif what == "redirect":
            self.say(307, b"", [("Location", fault["to"] + self.path)])
        elif what == "hang":
            self.rfile.read(1)
        elif what == "raw":  # these bytes, the last of them `at` times more
            self.wfile.write((fault["bytes"] + fault["bytes"][-1:] * fault.get("at", 0)).encode())
            self.close_connection = True
        else:
            self.pass_on(what, fault)

    do_HEAD = do_GET

    def do_POST(self):  # what fills a registry goes to it directly
        self.say(405)

    def pass_on(self, what, fault):
        up = http.client.HTTPConnection("127.0.0.1", self.server.upstream)
        headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
        if what == "expire":
            headers.pop("Authorization", None)
        if what in ("whole", "astray"):
            headers.pop("Range", None)
        up.request(self.command, self.path, headers=headers)
        answer = up.getresponse()
        if self.command == "HEAD" or answer.status >= 300:
            self.copy_head(answer, {})
            self.wfile.write(answer.read())
        else:
            self.answer(answer, what, fault)
        up.close()

    def copy_head(self, answer, changes):
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "date", "server"):
                value = changes.pop(name.lower(), value)
                if value is not None:
                    self.send_header(name, value)
        self.end_headers()

    def answer(self, answer, what, fault):
        body = answer.read()
        at = fault.get("at", 0)
        changes = {}
        if what == "long":  # says more than comes
            changes["content-length"] = str(len(body) + at)
        if what == "short":  # less, and stops there
            body = body[:-at]
            changes["content-length"] = str(len(body))
        if what == "more":  # more, and says so
            body += b"x" * at
            changes["content-length"] = str(len(body))
        if what == "unsaid":  # less, until the end of the connection
            body = body[:-at]
            changes["content-length"] = None
        if what == "flip":
            body = body[:at] + bytes([body[at] ^ 1]) + body[at + 1:]
        if what == "type":
            changes["content-type"] = fault["type"]
        if what == "astray":  # says that it is a part, but it is the first
            answer.status = 206
            answer.headers["Content-Range"] = f"bytes 0-{len(body) - 1}/{len(body)}"
        self.copy_head(answer, changes)
        if what in ("drop", "stall"):
            body = body[:at]
        self.wfile.write(body)
        self.wfile.flush()
        if what == "stall":
            self.rfile.read(1)  # until the other has had enough
        if what in ("drop", "stall", "long", "unsaid"):
            self.close_connection = True


# --- tokens ------------------------------------------------------------------


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(claims):
    with open(f"{folder}/cert.der", "rb") as f:
        cert = base64.b64encode(f.read()).decode()
    head = {"typ": "JWT", "alg": "RS256", "x5c": [cert]}
    text = ".".join(b64(json.dumps(x).encode()) for x in (head, claims))
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", f"{folder}/key.pem"],
                          input=text.encode(), stdout=subprocess.PIPE, check=True)
    return f"{text}.{b64(made.stdout)}"


class Tokens(Handler):
    """Every user gets repositories below public/, and one user gets all."""

    def give(self, query, is_known):
        fault = faults.find(f"TOKEN {self.path}")
        if fault["do"] == "status":
            return self.say(fault["status"], fault.get("body", "").encode())
        scope = query.get("scope", [""])[0]
        kind, name, actions = (scope.split(":") + ["", ""])[:3]
        may = is_known or name.startswith("public/")
        now = int(datetime.datetime.now().timestamp())  # the registry has the same calendar
        claims = {"iss": "tests", "sub": USER if is_known else "", "aud": "registry",
                  "nbf": now - 120, "iat": now - 120, "jti": str(now),
                  # the token has expired already, but the registry accepts it for LEEWAY seconds
                  # more
                  "exp": now - LEEWAY + 20,
                  "access": [{"type": kind, "name": name, "actions": actions.split(",")}]
                  if may else []}
        body = json.dumps({"token": sign(claims), "expires_in": 1}).encode()
        return self.say(200, body, [("Content-Type", "application/json")])

    def do_GET(self):
        self.hear()
        said = self.headers.get("Authorization")
        right = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if said and said != right:
            return self.say(401, b'{"details":"incorrect username or password"}')
        return self.give(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query),
                         bool(said))

    def do_POST(self):
        self.hear()
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"]))
                                     .decode())
        if form.get("refresh_token") != [IDENTITY]:
            return self.say(401)
        return self.give(form, True)


# --- what runs ---------------------------------------------------------------

ports = {}


def serve(name, handler, upstream=None, has_tls=False):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if has_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    server.daemon_threads = True
    server.name, server.upstream = name, upstream
    ports[name] = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def registry(name, auth):
    """Starts one, and waits until it prints its address."""
    with open(f"{folder}/{name}.yml", "w") as f:
        f.write("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\n"
                f"storage: {{filesystem: {{rootdirectory: {folder}/storage}}}}\n"
                "http: {addr: '127.0.0.1:0'}\n" + auth)
    started = subprocess.Popen(["docker-registry", "serve", f"{folder}/{name}.yml"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, preexec_fn=end_with_parent, text=True)
    for line in started.stderr:
        found = re.search(r"listening on 127\.0\.0\.1:(\d+)", line)
        if found:
            threading.Thread(target=started.stderr.read, daemon=True).start()
            return int(found.group(1))
    raise SystemExit("docker-registry does not start")


def main():
    end_with_parent()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", f"{folder}/key.pem",
                    "-out", f"{folder}/cert.pem"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["openssl", "x509", "-in", f"{folder}/cert.pem", "-outform", "DER",
                    "-out", f"{folder}/cert.der"], check=True)
    with open(f"{folder}/htpasswd", "w") as f:
        f.write(HTPASSWD)
    serve("tokens", Tokens)
    ports["direct"] = registry("open", "")
    serve("open", Proxy, ports["direct"])
    serve("cdn", Proxy, ports["direct"])
    serve("tls", Proxy, ports["direct"], has_tls=True)
    serve("basic", Proxy, registry(
        "basic", f"auth: {{htpasswd: {{realm: tests, path: {folder}/htpasswd}}}}\n"))
    serve("token", Proxy, registry(
        "token", f"auth: {{token: {{realm: 'http://127.0.0.1:{ports['tokens']}/token', "
        f"service: registry, issuer: tests, rootcertbundle: {folder}/cert.pem}}}}\n"))
    print(" ".join(f"{name}={port}" for name, port in ports.items()), flush=True)
    sys.stdout.close()
    signal.pause()


main()
