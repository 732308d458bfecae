// session_e2b.mjs: a session with E2B's SDK for JavaScript; session_e2b.py has started the server, kills it when
// this program asks for that, and has given the commands as variables.  Prints TAP without numbers.
import { createRequire } from "node:module";
import process from "node:process";
import readline from "node:readline";

const given = process.env;
const require = createRequire(`${given.MODULES}/`);
const { Sandbox } = require("e2b");

const say = (isGood, name, told) => {
	console.log(`${isGood ? "" : "not "}ok - session, E2B's SDK for JavaScript: ${name}`);
	if (!isGood) console.log(`# ${JSON.stringify(told)}`);
};
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function restart(id) {
	console.log(`restart ${id}`);
	await lines.next();
}

const sandbox = await Sandbox.create({ timeoutMs: 3600000 });
const out = async (command, box = sandbox) => (await box.commands.run(command)).stdout;

const cloned = await out(given.CLONE);
say(cloned === "sums.py\ntest_sums.py\n", "a repository of the host's is cloned", cloned);
const wrong = await out(given.TEST);
say(wrong.includes("FAILED"), "its test fails before the edit", wrong);
const text = await sandbox.files.read(given.FILE);
await sandbox.files.write(given.FILE, text.replace(given.WRONG, given.RIGHT));
const built = await out(given.BUILD);
say(built === "3\n", "the edited program is built, and runs", built);
const tested = await out(given.TEST);
say(tested === "OK\n", "its test passes", tested);

const long = await sandbox.commands.run(given.LONG, { background: true });
await out(given.BEGUN);
await long.kill();
await long.wait().catch(() => {}); // the exit code is that of a signal
const stopped = await out(given.IS_LONG);
say(stopped === "gone\n", "a long command is stopped", stopped);

await sandbox.commands.run(given.LONG, { background: true });
await out(given.BEGUN);
await sandbox.pause();
say(!(await sandbox.isRunning()), "it is paused");
const resumed = await Sandbox.connect(sandbox.sandboxId);
const there = await out(given.IS_LONG, resumed);
say(there === "there\n", "it goes on with its processes", there);

await restart(sandbox.sandboxId);
const again = await Sandbox.connect(sandbox.sandboxId);
const read = await again.files.read(given.FILE);
say(read === given.EDITED, "another client reads the file when the server was killed", read);
say((await again.kill()) && !(await again.isRunning()), "it is ended");
process.exit();
