"""A thread that does one thing after another for coroutines that wait for it.

Why not call SQLite in the event loop: most calls take a tenth of a millisecond,
but one that meets another process's lock, a checkpoint or a slow disk takes as
long as it takes, and nobody could stop waiting for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

__all__ = ["Worker"]

Result = TypeVar("Result")


class _Job(Generic[Result]):
    """Something to do, and who waits for it."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Result] = self._loop.create_future()

    def run(self) -> None:
        """Do it, if somebody still waits."""
        if self.future.cancelled():
            return
        result: Any = None
        error: BaseException | None = None
        try:
            result = self._work()
        except Exception as raised:  # noqa: BLE001 - it reaches whoever waits
            error = raised
        try:
            self._loop.call_soon_threadsafe(self._answer, result, error)
        except RuntimeError:
            return  # the loop is closed, so nobody waits any more

    def _answer(self, result: Result, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Worker:
    """Runs work in one thread, in order. The thread keeps no program from ending.

    Args:
        name: The name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], Result]) -> Result:
        """Have something done; what is no longer waited for when its turn comes is left out."""
        job = _Job(work)
        self._jobs.put(job)
        return await job.future

    def stop(self) -> None:
        """Let the thread end when all is done that was asked for."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
