// session_mcp.mjs: a session with MCP's client for JavaScript and hutch mcp; session_mcp.py has given the commands
// as variables.  node runs it in the folder of the packages.  Prints TAP without numbers.
import process from "node:process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const given = process.env;
const say = (isGood, name, told) => {
	console.log(`${isGood ? "" : "not "}ok - session, MCP's client for JavaScript: ${name}`);
	if (!isGood) console.log(`# ${JSON.stringify(told)}`);
};

async function connect() {
	const client = new Client({ name: "session", version: "1" });
	const transport = new StdioClientTransport(
		{ command: given.HUTCH, args: ["mcp", ...given.OPTIONS.split("\n")], env: given });
	await client.connect(transport);
	const call = async (name, words) => {
		const done = await client.callTool({ name, arguments: words });
		if (done.isError) throw new Error(JSON.stringify(done));
		return done.structuredContent;
	};
	const run = async (command) => (await call("exec", { command })).stdout;
	return { client, transport, call, run };
}

const { client, transport, call, run } = await connect();
const cloned = await run(given.CLONE);
say(cloned === "sums.py\ntest_sums.py\n", "a repository of the host's is cloned", cloned);
const wrong = await run(given.TEST);
say(wrong.includes("FAILED"), "its test fails before the edit", wrong);
await call("edit_file", { path: given.FILE, old_str: given.WRONG, new_str: given.RIGHT });
const built = await run(given.BUILD);
say(built === "3\n", "the edited program is built, and runs", built);
const tested = await run(given.TEST);
say(tested === "OK\n", "its test passes", tested);

const long = await call("exec", { command: given.LONG, background: true });
await run(given.BEGUN);
await call("exec_kill", { exec_id: long.exec_id, signal: "INT" });
await call("exec_output", { exec_id: long.exec_id, wait: Number(given.PATIENCE) });
const stopped = await run(given.IS_LONG);
say(stopped === "gone\n", "a long command is stopped", stopped);

const closed = new Promise((resolve) => (client.onclose = resolve));
process.kill(transport.pid, "SIGKILL");
await closed;
const again = await connect();
const read = await again.call("read_file", { path: given.FILE });
say(read.content === given.EDITED, "another client reads the file when the server was killed", read);
const ended = await again.call("sandbox_end", {});
console.log(`sandbox ${ended.sandbox_id}`);
await again.client.close();
