// Prints what is at an address, by Node's own fetch.
try {
	process.stdout.write(await (await fetch(process.argv[2])).text());
} catch (error) {
	console.error(String(error.cause ?? error));
	process.exitCode = 1;
}
