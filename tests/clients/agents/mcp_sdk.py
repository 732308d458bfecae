"""MCP's own client for Python with hutch mcp, in both eras of the protocol: tools are listed and called, each
result fits its schema, which the client checks, and a question reaches the user."""
import asyncio
import os

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitResult

PATIENCE = float(os.environ["PATIENCE"])


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - {name}", flush=True)
    if not is_good:
        print(f"# {told}", flush=True)


async def talk(mode, revision):
    asked, told = [], []

    async def answer(_, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    async def progress(_, total, message):
        told.append(message)

    server = StdioServerParameters(command=os.environ["HUTCH"], env=dict(os.environ),
                                   args=["mcp", "--network", "allow"])
    async with Client(stdio_client(server), mode=mode, elicitation_callback=answer) as client:
        say(client.session.protocol_version == revision, f"mcp: the client speaks {revision}")
        names = [tool.name for tool in (await client.list_tools()).tools]
        say("exec" in names and "allow_host" in names, "mcp: it lists tools", names)
        done = await client.call_tool("exec", {"command": "echo hi; echo no >&2; exit 3"}, progress_callback=progress)
        content = done.structured_content
        say((content["stdout"], content["stderr"], content["exit_code"]) == ("hi\n", "no\n", 3) and told,
            "mcp: a command gives output, exit code and progress", (content, told))
        await client.call_tool("write_file", {"path": "a.txt", "content": "one\ntwo"})
        await client.call_tool("edit_file", {"path": "a.txt", "old_str": "two", "new_str": "2"})
        read = await client.call_tool("read_file", {"path": "a.txt"})
        say(read.structured_content["content"] == "one\n2\n", "mcp: a file is written, edited and read", read)
        started = await client.call_tool("exec", {"command": "read x </dev/null; echo over", "background": True})
        ended = await client.call_tool("exec_output", {"exec_id": started.structured_content["exec_id"],
                                                       "wait": PATIENCE})
        say(ended.structured_content["stdout"] == "over\n", "mcp: a background command is waited for", ended)
        allowed = await client.call_tool("allow_host", {"host": "example.com"})
        say(not allowed.is_error and "example.com" in asked[0], "mcp: a host is allowed by the user", (allowed, asked))
        wrong = await client.call_tool("exec", {"comand": "x"})
        say(wrong.is_error, "mcp: a wrong argument is a result", wrong)
        ended = await client.call_tool("sandbox_end", {})
        say(not ended.is_error, "mcp: the sandbox ends", ended)


for way in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
    asyncio.run(talk(*way))
