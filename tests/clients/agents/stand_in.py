"""stand_in.py --host HOST --port PORT: the calls of OpenHands' agent-server that one command needs.

The stock server takes ten seconds of a processor to start, which a smoke test has no time for."""
import http.server
import json
import subprocess
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    done = None

    def do_GET(self):
        page = {"items": [Handler.done], "next_page_id": None} if "/bash_events/" in self.path else {}
        self.answer(page)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ended = subprocess.run(asked["command"], shell=True, capture_output=True, text=True)
        Handler.done = {"kind": "BashOutput", "id": "output", "order": 0, "exit_code": ended.returncode,
                        "stdout": ended.stdout, "stderr": ended.stderr}
        self.answer({"id": "command"})

    def answer(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
server = http.server.ThreadingHTTPServer((options["--host"], int(options["--port"])), Handler)
print("Uvicorn running on", server.server_address, flush=True)  # hutch.openhands waits for this line
server.serve_forever()
