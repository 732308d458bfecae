"""fetch.py URL: prints what is at an address, by aiohttp, or for ws the answer of a websocket."""
import asyncio
import sys

import aiohttp
import websockets


async def fetch(url):
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()


async def echo(url):
    async with websockets.connect(url) as socket:
        await socket.send("echo")
        return await socket.recv()


url = sys.argv[1]
print(asyncio.run(echo(url) if url.startswith("ws") else fetch(url)).strip())
