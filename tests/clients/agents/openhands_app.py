"""openhands_app.py: the stock app server's configuration with hutch.openhands_app; prints TAP.

Needs the package openhands-ai in the Python that runs it, tmux and git on the host, and HUTCH.  The
settings are variables, as a user gives them to the app server."""
import asyncio
import json
import os
import signal
import subprocess
import sys
import traceback

os.environ.update({
    "OH_PERSISTENCE_DIR": os.path.abspath("app"),
    "OH_SANDBOX_KIND": "hutch.openhands_app.HutchSandboxServiceInjector",
    "OH_SANDBOX_SPEC_KIND": "hutch.openhands_app.HutchSandboxSpecServiceInjector",
    "OH_SANDBOX_HOST_PORT": "3999",
    "OH_SANDBOX_ALLOW": '["@host:3998"]',
    "OH_SANDBOX_MAX_NUM_SANDBOXES": "2",
    "OH_SANDBOX_HEALTH_CHECK_TIMEOUT": os.environ["PATIENCE"],
})

import httpx  # noqa: E402
from openhands.app_server.config import get_global_config, get_sandbox_service  # noqa: E402
from openhands.app_server.sandbox.sandbox_models import AGENT_SERVER, SandboxStatus  # noqa: E402
from openhands.app_server.services.injector import InjectorState  # noqa: E402
from openhands.app_server.user.specifiy_user_context import ADMIN, USER_CONTEXT_ATTR  # noqa: E402


def say(is_good, name, told=""):
    print(f"{'' if is_good else 'not '}ok - {name}", flush=True)
    if not is_good:
        print("\n".join(f"# {line}" for line in str(told).splitlines()[-30:]), flush=True)


def ps():
    return subprocess.run([os.environ["HUTCH"], "ps", "--json"], stdout=subprocess.PIPE, text=True).stdout.strip()


async def life(service, client):
    begun = await service.start_sandbox(sandbox_id="first")
    say((begun.id, begun.status, begun.session_api_key) == ("first", SandboxStatus.STARTING, None),
        "openhands: the app server starts a sandbox", begun)
    info = await service.wait_for_sandbox_running("first", timeout=int(os.environ["PATIENCE"]), httpx_client=client)
    url = next(url.url for url in info.exposed_urls if url.name == AGENT_SERVER)
    answer = await client.post(f"{url}/api/bash/execute_bash_command", timeout=float(os.environ["PATIENCE"]),
                               headers={"X-Session-API-Key": info.session_api_key},
                               json={"command": "id -un; echo $OH_WEBHOOKS_0_BASE_URL; ls /root", "cwd": "/workspace"})
    out = answer.json()
    say(out["stdout"] == "agent\nhttp://host.hutch.internal:3999/api/v1/webhooks\n" and out["exit_code"] == 2,
        "openhands: its server runs commands inside, and knows the way back", answer.text)
    found = [(await service.get_sandbox_by_session_api_key(key),
              await service.get_sandbox_record_by_session_api_key(key)) for key in (info.session_api_key, "another")]
    say([one and one.id for pair in found for one in pair] == ["first", "first", None, None],
        "openhands: a sandbox is found by its key alone", found)
    paused = await service.pause_sandbox("first"), (await service.get_sandbox("first")).status
    resumed = await service.resume_sandbox("first"), (await service.get_sandbox("first")).status
    say((paused, resumed) == ((True, SandboxStatus.PAUSED), (True, SandboxStatus.RUNNING)),
        "openhands: the app server pauses and resumes it", (paused, resumed))
    for name in "second", "third":
        await service.start_sandbox(sandbox_id=name)
        await service.wait_for_sandbox_running(name, timeout=int(os.environ["PATIENCE"]), httpx_client=client)
    page = await service.search_sandboxes(limit=2)
    rest = await service.search_sandboxes(page.next_page_id, limit=2)
    seen = [(one.id, one.status.value) for one in page.items + rest.items]
    say(seen == [("third", "RUNNING"), ("second", "RUNNING"), ("first", "PAUSED")] and rest.next_page_id is None,
        "openhands: beyond the most sandboxes the oldest is paused", seen)
    gone = [await service.delete_sandbox(name) for name in ("third", "second", "first", "first")]
    nothing = [await service.get_sandbox("first"), await service.pause_sandbox("first"), ps()]
    say(gone == [True, True, True, False] and nothing == [None, False, "[]"],
        "openhands: deleted sandboxes have ended", (gone, nothing))


async def errors(service, client):
    service.settings.venv = "/usr/share"
    await service.start_sandbox(sandbox_id="bad")
    try:
        told = await service.wait_for_sandbox_running("bad", timeout=int(os.environ["PATIENCE"]))
    except Exception as e:
        told = str(e)
    say("error state" in str(told), "openhands: a sandbox that cannot be made is an error", told)
    say(await service.delete_sandbox("bad") and ps() == "[]", "openhands: the error leaves nothing behind", ps())


def admin():
    state = InjectorState()
    setattr(state, USER_CONTEXT_ATTR, ADMIN)
    return state


async def leave(service):
    """Starts a sandbox and is killed, in a program of its own."""
    await service.start_sandbox(sandbox_id="left")
    await service.wait_for_sandbox_running("left", timeout=int(os.environ["PATIENCE"]))
    print(*(one["name"] for one in json.loads(ps())), flush=True)
    os.kill(os.getpid(), int(sys.argv[1]))


def killed():
    for number in signal.SIGTERM, signal.SIGKILL:
        done = subprocess.run([sys.executable, __file__, str(int(number))], stdout=subprocess.PIPE, text=True)
        name = done.stdout.split()[-1:]
        ended = subprocess.run([os.environ["HUTCH"], "wait", "--", *name], stdout=subprocess.PIPE)
        say((done.returncode, ended.returncode, ps()) == (-number, 0, "[]"),
            f"openhands: an app server that {number.name} ends leaves no sandbox", (done, ended, ps()))


async def main():
    if sys.argv[1:]:
        async with get_sandbox_service(admin()) as service:
            await leave(service)
    say("hutch" in type(get_global_config().sandbox).__module__ and
        get_global_config().sandbox.allow == ["@host:3998"],
        "openhands: the app server finds the service by its dotted name", get_global_config().sandbox)
    async with httpx.AsyncClient() as client, get_sandbox_service(admin()) as service:
        for part in (life, errors):
            try:
                await part(service, client)
            except Exception:
                say(False, f"openhands: {part.__name__}", traceback.format_exc())


asyncio.run(main())
killed()
