"""What differs between asynchronous and synchronous code: waiting, and work beside the caller's."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Lock, Thread

__all__ = ["Lock", "Renewal", "sleep"]

sleep = time.sleep


class Renewal:
    """Repeats `step` after as many seconds as it returns, until it returns None or `stop` is called. Keeps no process alive."""

    def __init__(self, step: Callable[[], float | None]) -> None:
        self._step = step
        self._stopped = Event()
        Thread(target=self._run, name="omicron-browser renewal", daemon=True).start()

    def _run(self) -> None:
        while not self._stopped.is_set() and (seconds := self._step()) is not None:
            self._stopped.wait(seconds)

    def stop(self) -> None:
        """No step begins after it; one that runs ends by itself."""
        self._stopped.set()
