#!/usr/bin/env bats
# Tests of the plugin vscode (docs/plugins.md). They put a small server in the place of the editor.

load helpers

teardown() {
	remove_boxes
	end
}

V=${BATS_TEST_DIRNAME%/*/*}/plugins/vscode

@test "without an editor the plugin says which one is missing, and the sandbox goes on" {
	acts '
states = []
send({"action": "run", "args": {"command": "echo on"}, "id": 1})
while True:
    line = receive()
    if line.observation:
        assert line.content == "on", line
    if line.get("event") == "plugin":
        states.append(line)
    if states and states[-1]["state"] == "failed":
        break
assert "neither openvscode-server nor code-server is in the sandbox" in states[-1]["error"], states' \
		--stream --plugin vscode
}

# The stand-in has openvscode-server's options, and refuses others; it says what it has got.
@test "openvscode-server on the PATH gets the token in a file, and is reached at the published port" {
	mkdir bin
	cat >bin/openvscode-server <<-'PY'
		#!/usr/bin/python3
		import argparse, http.server, os
		options = argparse.ArgumentParser(allow_abbrev=False)
		for name in ("host", "port", "connection-token-file", "telemetry-level", "server-data-dir"):
		    options.add_argument(f"--{name}", required=True)
		options.add_argument("--disable-workspace-trust", action="store_true")
		got = options.parse_args()
		with open(got.connection_token_file) as file:
		    token, mode = file.read(), os.fstat(file.fileno()).st_mode & 0o777
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        said = f"{self.path == '/?tkn=' + token + '&folder=/workspace'} {mode:o} {os.getcwd()} "
		        said += f"{os.environ.get('HUTCH_PLUGIN_TOKEN')} {os.path.isdir(got.server_data_dir)}"
		        self.send_response(200)
		        self.end_headers()
		        self.wfile.write(said.encode())
		    def log_message(self, *_):
		        pass
		server = http.server.HTTPServer((got.host, int(got.port)), Handler)
		print("Web UI available at http://localhost/", flush=True)
		server.serve_forever()
	PY
	chmod -R a+rX bin && chmod 755 bin/openvscode-server
	hutch create --plugin vscode -v "$T/bin:/opt/bin:ro" -e PATH=/opt/bin:/usr/bin:/bin box
	((status == 0))
	ready() { [ "$("$HUTCH" inspect box | jq -r '.[0].plugins[0].state')" = ready ]; }
	until_true ready
	[ "$(curl -s "$("$HUTCH" plugin url box vscode)")" = "True 600 /workspace None True" ]
}

# gate: starts the plugin's gate before a server of the test's own, which says what it is asked.
gate() {
	command -v node >/dev/null || skip "this host has no node"
	cat >server.js <<-'JS'
		#!/usr/bin/env node
		const fs = require("fs"), http = require("http");
		const socket = process.argv[process.argv.indexOf("--socket") + 1];
		const tell = (what) => fs.writeFileSync(what, `${what}\n`);
		const server = http.createServer((request, response) => {
			if (request.url === "/break") return request.socket.destroy();
			if (request.url !== "/hang") return response.end(`inner ${request.method} ${request.url}`);
			response.on("close", () => tell("closed"));
			tell("asked");
		});
		server.on("upgrade", (request, socket, head) => {
			if (request.url === "/no") return socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
			if (request.url.endsWith("hang")) socket.on("end", () => tell("closed")).resume();
			if (request.url === "/hang") return tell("asked");
			socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
			if (request.url === "/upgraded-hang") return tell("asked");
			if (request.url === "/break") return socket.once("readable", () => socket.destroy());
			if (request.url === "/echo") return socket.unshift(head), socket.pipe(socket);
			socket.end(`upgraded ${request.url}`);
		});
		fs.writeFileSync("token", String(process.env.HUTCH_PLUGIN_TOKEN));
		fs.writeFileSync("server.pid", `${process.pid}\n`);
		server.listen(socket, () => console.log("HTTP server listening on " + socket));
	JS
	chmod 755 server.js
	mkfifo lines
	HUTCH_PLUGIN_TOKEN=secret node "$V/gate.js" 0 "$T/socket" "$T/server.js" --socket "$T/socket" >lines &
	started+=($!)
	port=$(sed -n '/^listening on /{s///p;q}' lines)
	started+=("$(<server.pid)")
	url=http://127.0.0.1:$port
	name=hutch-vscode-$(printf secret | sha256sum | head -c 8)
}

@test "the gate lets in who brings the token, once, and no page of another origin" {
	gate
	[ "$(curl -so said -w '%{http_code}' "$url/x")" = 403 ] && grep -q 'hutch plugin url' said
	[ "$(curl -so said -w '%{http_code}' "$url/x?tkn=wrong")" = 403 ]
	[ "$(curl -so said -w '%{http_code}' -H "Cookie: $name=wrong" "$url/x")" = 403 ]
	[ "$(curl -so said -w '%{http_code}' -H "Cookie: other=secret" "$url/x")" = 403 ]
	[ "$(<token)" = undefined ]
	if curl -so said "http://127.0.0.2:$port/x"; then false; fi
	[ "$(curl -so said -D headers -w '%{http_code} %{redirect_url}' -c jar "$url/x?tkn=secret&folder=/w")" = \
		"302 $url/x?folder=%2Fw" ]
	grep -qi '^set-cookie:.*; SameSite=Strict' headers
	grep -q "#HttpOnly_127.0.0.1.*$name" jar
	[ "$(curl -sb jar "$url/x?folder=/w")" = "inner GET /x?folder=/w" ]
	[ "$(curl -sb jar -X POST -d data "$url/y")" = "inner POST /y" ]
	[ "$(curl -so said -w '%{http_code}' -b jar -H 'Origin: http://evil.example' "$url/x")" = 403 ]
	[ "$(curl -so said -w '%{http_code}' -H 'Origin: http://evil.example' "$url/x?tkn=secret")" = 403 ]
}

@test "the gate upgrades a connection that has the cookie, and no other" {
	gate
	upgrade "Cookie: $name=secret" 'X: y'
	grep -q '101 Switching' said && grep -q 'upgraded /ws' said
	upgrade 'X: y' 'X: y'
	[ ! -s said ]
	upgrade "Cookie: $name=secret" 'Origin: http://evil.example'
	[ ! -s said ]
}

# upgrade HEADER HEADER: asks for an upgrade with these headers; the answer is in the file said.
upgrade() {
	exec 7<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: Upgrade\r\nUpgrade: x\r\n%s\r\n%s\r\n\r\n' \
		"${path:-/ws}" "$port" "$1" "$2" >&7
	code=0
	(trap '' PIPE; ${after:-true} >&7 2>/dev/null) || true
	timeout "$PATIENCE" cat <&7 >said || code=$?
	((code != 124))
	exec 7>&-
}

@test "the gate goes on after an address that is none, and a client that is gone" {
	gate
	[ "$(curl -so said -w '%{http_code}' "$url//")" = 403 ]
	mkfifo asked closed
	cat >gone.js <<-JS
		const socket = require("net").connect($port, "127.0.0.1", () => socket.write("GET " + process.argv[2] + " HTTP/1.1\r\n" +
			"Host: 127.0.0.1:$port\r\nCookie: $name=secret\r\n" + process.argv[3] + "\r\n"));
		require("fs").readFile("asked", () => socket.resetAndDestroy());
	JS
	upgrades='Connection: Upgrade\r\nUpgrade: x\r\n'
	gone /hang ''
	gone /hang "$(printf '%b.' "$upgrades")"
	gone /upgraded-hang "$(printf '%b.' "$upgrades")"
	serves
}

# gone PATH HEADERS: the client's connection is reset, and the server sees the end of its own.
gone() {
	timeout "$PATIENCE" node gone.js "$1" "${2%.}"
	[ "$(timeout "$PATIENCE" cat closed)" = closed ]
}

# serves: checks that the gate still serves.
serves() {
	[ "$(curl -sH "Cookie: $name=secret" "$url/x")" = "inner GET /x" ]
}

@test "the gate goes on after a server that breaks off, and passes on a refusal" {
	gate
	code=0
	curl -sH "Cookie: $name=secret" "$url/break" || code=$?
	((code == 52))
	serves
	path=/no upgrade "Cookie: $name=secret" 'X: y'
	serves
	# More than fits between the two: some of it is on the way when the server breaks off.
	path=/break after='head -c 4000000 /dev/zero' upgrade "Cookie: $name=secret" 'X: y'
	serves
}

@test "the gate passes on what a client sends together with its upgrade" {
	gate
	exec 7<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET /echo HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n%s\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly\n' \
		"$port" "Cookie: $name=secret" >&7
	timeout "$PATIENCE" grep -m1 early <&7
	exec 7>&-
}

@test "the gate ends with its server, and says why there is none" {
	gate
	kill "$(<server.pid)"
	timeout "$PATIENCE" tail --pid="${started[0]}" -f /dev/null
	code=0
	wait "${started[0]}" || code=$?
	((code == 128))
	never env HUTCH_PLUGIN_TOKEN=secret timeout "$PATIENCE" node "$V/gate.js" 0 "$T/socket" "$T/none" 2>said
	[ "$(<said)" = "spawn $T/none ENOENT" ]
}
