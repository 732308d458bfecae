"""The speed of clients, programs and the soak itself: the only file of this
folder that sleeps.

A pause here sets a pace and no order: no check relies on a pause that was long
enough.
"""
import asyncio
import inspect


async def pause(seconds):
    """Pauses between a client's actions, or between the soak's looks."""
    await asyncio.sleep(seconds)


def pause_in_sandbox(seconds):
    """Returns the same pause for a program in a sandbox: a command of its shell."""
    return f"sleep {seconds}"


async def is_so(claim):
    """Polls until `claim()`, or what it awaits, is true.  The caller bounds the time."""
    while True:
        result = claim()
        if inspect.isawaitable(result):
            result = await result
        if result:
            return
        await asyncio.sleep(0.01)
