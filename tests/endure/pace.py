"""How fast clients, programs and the soak itself go: the only file of this folder that sleeps.

A pause here is the pace of somebody, and no order: nothing is asserted because one was long enough.
"""
import asyncio
import inspect


async def pause(seconds):
    """Between what a client does, or what the soak looks at."""
    await asyncio.sleep(seconds)


def pause_in_sandbox(seconds):
    """The same for a program in a sandbox: a command of its shell."""
    return f"sleep {seconds}"


async def is_so(claim):
    """Looks again and again until `claim()`, or what it gives to be awaited, is true.  The caller bounds it."""
    while True:
        result = claim()
        if inspect.isawaitable(result):
            result = await result
        if result:
            return
        await asyncio.sleep(0.01)
