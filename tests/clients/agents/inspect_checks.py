"""inspect_checks.py: the fixture that inspect_ai's own checks of a sandbox provider ask for, as a
plugin of pytest: hutch.inspect.

IMAGE is an image of the store with adduser.  All ids are mapped, since a check makes a user; and
the sandbox's own is not root, since others are about files that it may not read.  Without IMAGE
the root is the host's /usr, where the check that makes a user fails."""
import os

import pytest_asyncio
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv

FLAGS = {"image": os.environ["IMAGE"], "idmap": "ranges", "user": "1000"} if os.environ.get("IMAGE") else {}


@pytest_asyncio.fixture
async def sandbox_env():
    kind = registry_find_sandboxenv("hutch")
    config = kind.config_deserialize(FLAGS)
    made = await kind.sample_init("check", config, {})
    yield made["default"]
    await kind.sample_cleanup("check", config, made, False)
