"""Differences of asynchronous and synchronous code: waiting, and work beside the caller's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

sleep = asyncio.sleep
Lock = asyncio.Lock


class Renewal:
    """Repeats `step` after as many seconds as it returns, until it returns None or `stop` is called."""

    def __init__(self, step: Callable[[], Awaitable[float | None]]) -> None:
        self._step = step
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while (seconds := await self._step()) is not None:  # noqa: ASYNC110 - the step says how long
            await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Returns when no step runs. A step that calls it ends by itself."""
        if self._task is asyncio.current_task():
            return
        self._task.cancel()
        await asyncio.wait([self._task])
