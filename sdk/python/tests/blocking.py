"""AsyncSandbox with the interface of Sandbox, so that both are tested by the same tests."""
import asyncio
import inspect

from support import PATIENCE, hutch

OURS = (hutch.AsyncSandbox, hutch.AsyncProcess, hutch.AsyncOutput, hutch.AsyncInput, hutch.AsyncEvents,
        hutch.AsyncNet, hutch.AsyncQuestions)


class Blocking:
    """An event loop in which each call is run to its end."""

    def __init__(self, loop, inner):
        self.__dict__.update(_loop=loop, _inner=inner)

    def __getattr__(self, name):
        return self._wrap(getattr(self._inner, name))

    def _wrap(self, value):
        if inspect.isawaitable(value):
            value = self._loop.run_until_complete(asyncio.wait_for(value, PATIENCE))
        if isinstance(value, OURS) or inspect.isasyncgen(value):
            return Blocking(self._loop, value)
        if inspect.ismethod(value):
            return lambda *args, **more: self._wrap(value(*args, **more))
        return value

    def __enter__(self):
        return self._wrap(self._inner.__aenter__())

    def __exit__(self, *exc):
        return self._wrap(self._inner.__aexit__(*exc))

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._wrap(self._inner.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None
