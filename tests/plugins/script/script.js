// A plugin in JavaScript: adds numbers.
const lines = require("readline").createInterface({ input: process.stdin });
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

lines.on("line", (text) => {
	const line = JSON.parse(text);
	if (!("call" in line)) return;
	const sum = line.args.numbers.reduce((a, b) => a + b, 0);
	say({ call: line.call, answer: { content: `The sum is ${sum}.`, sum } });
});
say({ ready: true });
