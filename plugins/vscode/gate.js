// gate.js PORT SOCKET PROGRAM ARGUMENT...: starts code-server, which listens at SOCKET, and serves it at
// PORT of the loopback to browsers that know the token.
//
// A browser brings the token once, in the address, and gets it as a cookie. Other users of the host
// can connect to the published port, and get 403.
const crypto = require("crypto");
const http = require("http");
const { spawn } = require("child_process");

const [port, socketPath, program, ...argv] = process.argv.slice(2);
const token = process.env.HUTCH_PLUGIN_TOKEN;
delete process.env.HUTCH_PLUGIN_TOKEN;

const digest = (text) => crypto.createHash("sha256").update(text).digest();
const isToken = (text) => crypto.timingSafeEqual(digest(text), digest(token));

// Browsers have one set of cookies for all ports of a host: each editor needs a name of its own.
const COOKIE = `hutch-vscode-${digest(token).toString("hex").slice(0, 8)}`;

// Returns the token in the address, "" if there is none, also where the address is not one.
const tokenOf = (request) => (URL.canParse(request.url, "http://x") &&
	new URL(request.url, "http://x").searchParams.get("tkn")) || "";

function hasCookie(request) {
	const cookies = (request.headers.cookie || "").split(/; */).map((pair) => pair.split("="));
	return cookies.some(([name, value]) => name === COOKIE && isToken(value || ""));
}

// A page of another origin must not use the cookie, which browsers send with WebSockets, too.
function isForeign(request) {
	const { origin, host } = request.headers;
	return origin !== undefined && origin !== `http://${host}`;
}

function welcome(request, response) {
	const url = new URL(request.url, "http://x");
	url.searchParams.delete("tkn");
	response.writeHead(302, {
		"Location": url.pathname + url.search,
		"Set-Cookie": `${COOKIE}=${token}; HttpOnly; SameSite=Strict; Path=/`,
	});
	response.end();
}

const target = (request) => ({
	socketPath, method: request.method, path: request.url, headers: request.headers,
});

const server = http.createServer((request, response) => {
	const brought = tokenOf(request);
	if (!isForeign(request) && brought && isToken(brought)) return welcome(request, response);
	if (isForeign(request) || !hasCookie(request)) {
		response.writeHead(403, { "Content-Type": "text/plain" });
		return response.end("The address with its token opens this editor: hutch plugin url NAME vscode\n");
	}
	const inner = http.request(target(request), (answer) => {
		response.writeHead(answer.statusCode, answer.rawHeaders);
		answer.pipe(response);
	});
	inner.on("error", () => response.destroy());
	response.on("close", () => inner.destroy());
	request.pipe(inner);
});

server.on("upgrade", (request, socket, head) => {
	if (isForeign(request) || !hasCookie(request)) return socket.destroy();
	const inner = http.request(target(request));
	// Node leaves the socket to this function, and ends the process for an error without listener.
	socket.on("error", () => socket.destroy());
	socket.on("close", () => inner.destroy());
	inner.on("upgrade", (answer, theirs, begun) => {
		const lines = [`HTTP/1.1 101 ${answer.statusMessage}`];
		for (let i = 0; i < answer.rawHeaders.length; i += 2)
			lines.push(`${answer.rawHeaders[i]}: ${answer.rawHeaders[i + 1]}`);
		socket.write(lines.join("\r\n") + "\r\n\r\n");
		socket.write(begun);
		theirs.write(head);
		theirs.pipe(socket).pipe(theirs);
		theirs.on("error", () => socket.destroy());
		socket.on("close", () => theirs.destroy());
	});
	inner.on("response", () => socket.destroy());
	inner.on("error", () => socket.destroy());
	inner.end();
});

const child = spawn(program, argv, { stdio: ["ignore", "pipe", "inherit"] });
child.on("exit", (code, signal) => process.exit(code === null ? 128 : code || 1));
child.on("error", (error) => (console.error(error.message), process.exit(1)));
child.stdout.setEncoding("utf8");
let seen = "";
child.stdout.on("data", (text) => {
	seen = (seen + text).slice(-4096);
	if (server.listening || !seen.includes("HTTP server listening")) return;
	server.listen(Number(port), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
});
