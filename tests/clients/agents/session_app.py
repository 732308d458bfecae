"""session_app.py: a session with the app server of OpenHands V1 and RUNTIME=remote, with hutch serve; prints TAP.

Needs openhands-ai in the Python that runs it, HUTCH, PATIENCE and IMAGE.  The app server is the stock one, in a
process of its own, and this program is its client, as the web page is: it starts, pauses, resumes and deletes
sandboxes by the app server's address, and reaches the agent-server inside by the URL and key that the app server
tells; and it has a conversation, with a scripted model."""
import os
import subprocess
import sys

import httpx
from model import Model
from session import (BEGUN, BUILD, FILE, FOLDER, IS_LONG, LONG, LONG_ALONE, PATIENCE, RIGHT, TEST, WRONG,
                     Repository, Server, Session, hutch)

STARTS = """
import socket, sys, uvicorn
from openhands.app_server.app import app
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.run(app, fd=listener.fileno(), log_level="warning")
"""


class App:
    """The app server, which has its settings by variables."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [sys.executable, "-c", STARTS], stdout=subprocess.PIPE, text=True, env={
                **os.environ, "RUNTIME": "remote", "SANDBOX_API_KEY": server.key,
                "SANDBOX_REMOTE_RUNTIME_API_URL": server.url, "OH_PERSISTENCE_DIR": os.path.abspath("app"),
                "AGENT_SERVER_IMAGE_REPOSITORY": os.environ["IMAGE"] + "-server", "AGENT_SERVER_IMAGE_TAG": "latest"})
        port = self.process.stdout.readline().strip()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)

    def ask(self, method, path="", what="sandboxes", **more):
        answer = self.client.request(method, f"/api/v1/{what}{path}", **more)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json()

    def state(self, name):
        return self.ask("GET", params={"id": name})[0]

    def wait_until_running(self, name):
        while (found := self.state(name))["status"] == "STARTING":
            pass
        return found

    def end(self):
        self.process.terminate()
        self.process.communicate()


class Agent:
    """The agent-server of a sandbox."""

    def __init__(self, found):
        url = next(one["url"] for one in found["exposed_urls"] if one["name"] == "AGENT_SERVER")
        self.client = httpx.Client(base_url=url, timeout=PATIENCE,
                                   headers={"X-Session-API-Key": found["session_api_key"]})
        # The app server tells that a sandbox runs before the server inside listens, and asks for /alive then.
        while not self.is_alive():
            pass

    def is_alive(self):
        try:
            return self.client.get("/alive").is_success
        except httpx.TransportError:
            return False

    def ask(self, path, **body):
        answer = self.client.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    def run(self, command):
        return self.ask("/api/bash/execute_bash_command", command=command, cwd="/workspace")["stdout"] or ""

    def read(self):
        return self.client.get("/api/file/download", params={"path": FILE}).text

    def write(self, text):
        self.client.post("/api/file/upload", params={"path": FILE}, files={"file": text}).raise_for_status()


def work(session, server, app, repository):
    name = app.ask("POST")["id"]
    agent = Agent(app.wait_until_running(name))
    session.cloned(agent.run(repository.clone))
    session.wrong(agent.run(TEST))
    agent.write(agent.read().replace(WRONG, RIGHT))
    session.built(agent.run(BUILD))
    session.tested(agent.run(TEST))
    # The agent-server that the app server needs (1.34) has no other call that stops a command.
    agent.ask("/api/bash/execute_bash_command", command=LONG_ALONE, cwd="/workspace", timeout=1)
    session.stopped(agent.run(IS_LONG))
    agent.ask("/api/bash/start_bash_command", command=LONG, cwd="/workspace", timeout=3600)
    agent.run(BEGUN)
    app.ask("POST", f"/{name}/pause")
    session.say(app.state(name)["status"] == "PAUSED", "it is paused", app.state(name))
    app.ask("POST", f"/{name}/resume")
    agent = Agent(app.wait_until_running(name))
    there = agent.run(IS_LONG)
    session.say(there == "there\n", "it goes on with its processes", there)
    server.restart()
    found = app.ask("GET", "/search")["items"]
    session.say([(one["id"], one["status"]) for one in found] == [(name, "RUNNING")],
                "the app server finds it when hutch serve was killed", found)
    session.read(Agent(found[0]).read())
    runtime = server.runtime(name)["runtime_id"]
    app.ask("DELETE", f"/{name}", params={"sandbox_id": name})  # the stock route wants the name twice
    left = app.ask("GET", "/search")["items"]
    session.say(left == [], "it is ended", left)
    session.ended(runtime)


SCRIPT = [
    [("terminal", {"command": "echo $((6 * 7)); pwd"})],
    [("file_editor", {"command": "create", "path": f"{FOLDER}/made", "file_text": "by an agent"})],
    [("terminal", {"command": f"cat {FOLDER}/made"})],
    [("finish", {"message": "done"})],
]


def conversation(session, server, app, model):
    """A conversation as the web page begins it, with a sandbox that the app server starts for it."""
    def conversations(method, path="", **more):
        return app.ask(method, path, what="app-conversations", **more)
    url = f"http://host.hutch.internal:{model.port}/v1"
    app.ask("POST", what="settings", json={
        "agent_settings_diff": {"llm": {"model": "openai/scripted", "base_url": url, "api_key": "none"}}})
    message = {"role": "user", "content": [{"type": "text", "text": "make a file"}], "run": True}
    number = conversations("POST", json={"initial_message": message})["id"]
    while not (task := conversations("GET", "/start-tasks", params={"ids": number})[0]) \
            or task["status"] not in ("READY", "ERROR"):
        pass
    session.say(task["status"] == "READY", "a conversation begins", task)
    talk = task["app_conversation_id"]
    while (found := conversations("GET", params={"ids": talk})[0])["execution_status"] in ("idle", "running", None):
        pass
    seen, expected = model.results(), (f"42\n{FOLDER}", "created successfully", "by an agent")
    session.say(found["execution_status"] == "finished" and len(seen) == len(expected)
                and all(map(str.__contains__, seen, expected)), "its agent comes to its end", (found, seen))
    runtime = server.runtime(found["sandbox_id"])["runtime_id"]
    conversations("DELETE", f"/{talk}")
    hutch("wait", runtime)  # the app server deletes the sandbox behind its answer
    session.ended(runtime)


def main():
    repository = Repository()
    with Model(SCRIPT) as model:
        server = Server(*repository.options, "--allow", f"@host:{model.port}", "-v",
                        f"{sys.prefix}:{sys.prefix}:ro", "-e", f"VENV={sys.prefix}")
        app = App(server)
        try:
            session = Session("app server with RUNTIME=remote")
            session.run(work, server, app, repository)
            session.run(conversation, server, app, model)
        finally:
            app.end()
            server.end()


main()
