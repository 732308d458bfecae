"""git_server -- a real smart-HTTP git server on this host's loopback, for git.bats.

	server = Server(FOLDER, token=TOKEN)	serves its bare repositories, through git's own
						http-backend, at server.url + NAME
	/NAME		to every client
	/private/NAME	to clients with the token as password
	/moved/NAME	is at `server.elsewhere` + NAME
	/slow/NAME	never answers

`server.seen` has (path, Authorization or None) of each request.  `on_private`,
if set, is called while a request with the token waits for its answer.
"""
import base64
import http.server
import os
import subprocess
import threading

BACKEND = subprocess.run(["git", "--exec-path"], stdout=subprocess.PIPE, check=True,
                         universal_newlines=True).stdout.strip() + "/git-http-backend"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *args):
        pass

    def refuse(self, code, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def do_GET(self):
        server, (path, _, query) = self.server, self.path.partition("?")
        given = self.headers.get("Authorization")
        server.seen.append((self.path, given))
        if path.startswith("/slow/"):
            server.stop.wait()
            return None
        if path.startswith("/moved/"):
            return self.refuse(302, Location=server.elsewhere + self.path[len("/moved/"):])
        if path.startswith("/private/"):
            path = path[len("/private"):]
            if not given:
                return self.refuse(401, WWW_Authenticate='Basic realm="git"')
            user, _, password = base64.b64decode(given.split()[1]).decode().partition(":")
            if password != server.token:
                return self.refuse(401, WWW_Authenticate='Basic realm="git"')
            server.users.add(user)
            if server.on_private:
                server.on_private()
        return self.backend(path, query)

    do_POST = do_GET

    def backend(self, path, query):
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.server.folder,
               "GIT_HTTP_EXPORT_ALL": "1",
               "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "REMOTE_ADDR": "127.0.0.1",
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
               "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
               "GIT_CONFIG_VALUE_0": "*"}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        done = subprocess.run([BACKEND], env=env, input=body, stdout=subprocess.PIPE, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        headers.setdefault("Content-Length", str(len(content)))
        self.send_response(int(headers.pop("Status", "200 OK").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder, token=None, elsewhere=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.token, self.elsewhere = folder, token, elsewhere
        self.url = "http://127.0.0.1:%d/" % self.server_address[1]
        self.seen, self.users, self.on_private, self.stop = [], set(), None, threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()


def processes_with(text, told):
    """Returns the files in /proc of arguments and environments that contain
    `text`; `told` receives the names of the programs that were checked."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = open("/proc/%s/comm" % pid).read().strip()
            for file in ("cmdline", "environ"):
                if text.encode() in open("/proc/%s/%s" % (pid, file), "rb").read():
                    found.append("%s of %s" % (file, name))
            told.add(name)
        except OSError:
            pass
    return found


def files_with(text, *folders):
    """Returns the files that contain `text`, in any form that git may have
    written."""
    forms = [text.encode(), base64.b64encode(text.encode()).rstrip(b"=")[:-2]]
    found = []
    for folder in folders:
        for at, _, names in os.walk(folder):
            for name in names:
                try:
                    data = open(os.path.join(at, name), "rb").read()
                except OSError:
                    continue
                found += [os.path.join(at, name) for form in forms if form in data]
    return found
