// e2b_sdk.mjs: stock SDKs of E2B for JavaScript with a hutch serve, which E2B_API_URL and others name; prints
// TAP.  The packages e2b and @e2b/code-interpreter are in $MODULES.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const require = createRequire(`${process.env.MODULES}/`)
const { Sandbox, CommandExitError, FileNotFoundError } = require('e2b')
const { Sandbox: Interpreter } = require('@e2b/code-interpreter')

async function check(name, run) {
	try {
		await run()
		console.log(`ok - E2B's SDK for JavaScript: ${name}`)
	} catch (e) {
		console.log(`not ok - E2B's SDK for JavaScript: ${name}`)
		console.log(String(e.stack).replace(/^/gm, '# '))
	}
}

const sbx = await Sandbox.create({ metadata: { purpose: 'to try é' }, envs: { FOO: 'bar' } })

await check('commands', async () => {
	const ran = await sbx.commands.run('echo $FOO; echo err >&2')
	assert.deepEqual([ran.stdout, ran.stderr, ran.exitCode], ['bar\n', 'err\n', 0])
	await assert.rejects(sbx.commands.run('exit 3'), e => e instanceof CommandExitError && e.exitCode === 3)
	const cat = await sbx.commands.run('cat', { background: true, stdin: true })
	await sbx.commands.sendStdin(cat.pid, 'one\n')
	await sbx.commands.closeStdin(cat.pid)
	assert.equal((await cat.wait()).stdout, 'one\n')
	const sleep = await sbx.commands.run('sleep 1000', { background: true })
	await sleep.disconnect()
	const again = await sbx.commands.connect(sleep.pid)
	assert.equal(await again.kill(), true)
	await assert.rejects(again.wait(), CommandExitError)
	await assert.rejects(sbx.commands.run('sleep 1000', { timeoutMs: 500 }))
	let text = ''
	const pty = await sbx.pty.create({ cols: 90, rows: 20, onData: data => (text += new TextDecoder().decode(data)) })
	await sbx.pty.sendInput(pty.pid, new TextEncoder().encode('stty size; exit\n'))
	await pty.wait()
	assert.match(text, /20 90/)
})

await check('files', async () => {
	const bytes = new Uint8Array(2000000).map((_, i) => i % 251)
	await sbx.files.write('a/bytes', bytes.buffer)
	assert.deepEqual(new Uint8Array(await sbx.files.read('a/bytes', { format: 'bytes' })), bytes)
	await sbx.files.write([{ path: 'm/1', data: 'é' }, { path: 'm/2', data: 'two' }])
	assert.equal(await sbx.files.read('m/1'), 'é')
	assert.deepEqual((await sbx.files.list('m')).map(one => one.path), ['/workspace/m/1', '/workspace/m/2'])
	assert.equal(await sbx.files.makeDir('x/y'), true)
	assert.equal(await sbx.files.makeDir('x/y'), false)
	await sbx.files.rename('m/1', 'x/one')
	assert.equal(await sbx.files.exists('m/1'), false)
	await sbx.files.remove('x')
	await assert.rejects(sbx.files.read('x/one'), FileNotFoundError)
	const seen = []
	const found = new Promise(resolve => seen.push(resolve))
	const watcher = await sbx.files.watchDir('m', event => event.name === 'new' && seen[0](event.type))
	await sbx.files.write('m/new', 'x')
	assert.equal(await found, 'create')
	await watcher.stop()
	assert.equal(await (await fetch(await sbx.downloadUrl('m/2'))).text(), 'two')
})

await check('pause, connect, list and kill', async () => {
	const list = Sandbox.list({ query: { metadata: { purpose: 'to try é' } } })
	assert.deepEqual((await list.nextItems()).map(one => one.sandboxId), [sbx.sandboxId])
	await sbx.pause()
	assert.equal(await sbx.isRunning(), false)
	await assert.rejects(sbx.commands.run('true'))
	const again = await Sandbox.connect(sbx.sandboxId)
	assert.equal((await again.commands.run('echo again')).stdout, 'again\n')
	await sbx.setTimeout(1000000)
	assert.equal((await sbx.getInfo()).metadata.purpose, 'to try é')
	assert.equal(await sbx.kill(), true)
	assert.equal(await sbx.kill(), false)
})

await check('code interpreter', async () => {
	const interpreter = await Interpreter.create()
	try {
		const ran = await interpreter.runCode('print("a")\nx = 41\nx + 1')
		assert.deepEqual([ran.text, ran.logs.stdout], ['42', ['a\n']])
		assert.equal((await interpreter.runCode('x')).text, '41')
		assert.equal((await interpreter.runCode('1/0')).error.name, 'ZeroDivisionError')
	} finally {
		await interpreter.kill()
	}
})
