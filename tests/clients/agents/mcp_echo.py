#!/usr/bin/env python3
"""mcp_echo.py NAME: an MCP server on stdio with one tool, echo; Python's standard library is enough."""
import json
import os
import sys

TOOL = {"name": "echo", "description": "says a text", "inputSchema": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}


def result_of(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": sys.argv[1], "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = f"{sys.argv[1]} in {os.uname().nodename}: {params['arguments']['text']} {os.environ.get('GIVEN', '')}"
        return {"content": [{"type": "text", "text": text}]}
    return {}


print("this line is no message", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"],
                          "result": result_of(asked["method"], asked.get("params"))}), flush=True)
