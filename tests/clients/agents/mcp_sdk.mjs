// MCP's own clients for JavaScript with hutch mcp: the older one by the handshake (legacy), the newer one
// without (modern).  node runs it in the folder of the packages.  Prints TAP without numbers.
import process from "node:process";

const way = process.argv[2];
const tap = (isGood, name, told) => {
	console.log(`${isGood ? "" : "not "}ok - npm's client, ${way}: ${name}`);
	if (!isGood) console.log(`# ${JSON.stringify(told)}`);
};
const asked = [];
const answer = async (request) => {
	asked.push(request.params.message);
	return { action: "accept", content: { allow: true } };
};
const server = { command: process.env.HUTCH, args: ["mcp", "--network", "allow"], env: process.env };
const capabilities = { elicitation: {} };

async function connectLegacy() {
	const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
	const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
	const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
	const client = new Client({ name: "test", version: "1" }, { capabilities });
	client.setRequestHandler(ElicitRequestSchema, answer);
	await client.connect(new StdioClientTransport(server));
	return [client, (tool) => client.callTool(tool)];
}

async function connectModern() {
	const { Client } = await import("@modelcontextprotocol/client");
	const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
	const client = new Client({ name: "test", version: "1" },
		{ capabilities, versionNegotiation: { mode: "auto" } });
	client.setRequestHandler("elicitation/create", answer);
	await client.connect(new StdioClientTransport(server));
	tap(client.getNegotiatedProtocolVersion() === "2026-07-28", "it speaks 2026-07-28");
	return [client, (tool) => client.callTool(tool)];
}

const [client, call] = await (way === "modern" ? connectModern() : connectLegacy());
const { tools } = await client.listTools();
tap(tools.some((tool) => tool.name === "exec"), "tools are listed", tools);
const done = await call({ name: "exec", arguments: { command: "echo hi" } });
tap(done.structuredContent.stdout === "hi\n", "a command is run", done);
const allowed = await call({ name: "allow_host", arguments: { host: "example.com" } });
tap(!allowed.isError && asked[0].includes("example.com"), "a host is allowed by the user", [allowed, asked]);
await call({ name: "sandbox_end", arguments: {} });
await client.close();
