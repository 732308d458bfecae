// Prints the answer of a websocket that echoes.
import { createRequire } from 'node:module';
const { WebSocket } = createRequire('/usr/share/nodejs/')('ws');
const socket = new WebSocket(process.argv[2]);
socket.on('open', () => socket.send('echo'));
socket.on('message', (data) => { console.log(String(data)); socket.close(); });
socket.on('error', (error) => { console.error(String(error)); process.exitCode = 1; });
