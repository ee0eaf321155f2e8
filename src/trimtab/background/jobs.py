"""Run something beside the caller: a task on the loop that runs, or a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

__all__ = ["Job", "TaskJob", "ThreadJob", "start"]


class Job(Protocol):
    """Something that runs beside the caller."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or can never go on."""
        ...

    def cancel(self) -> None:
        """End it soon; from any thread, and without waiting."""
        ...


class TaskJob:
    """A task on a loop that runs.

    Args:
        work: Makes what runs.
        loop: The loop.
    """

    def __init__(
        self, work: Callable[[], Coroutine[Any, Any, None]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.task = loop.create_task(work(), name="trimtab summary")
        self._loop = loop

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or its loop was closed under it."""
        return self.task.done() or self._loop.is_closed()

    def cancel(self) -> None:
        """End it at the loop's next turn."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.task.cancel)


class ThreadJob:
    """A daemon thread with a loop of its own: the interpreter does not wait for it.

    Args:
        work: Makes what runs.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = False
        self.thread = threading.Thread(target=self._run, name="trimtab summary", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(self._work())
        if self._is_cancelled:  # before there was anything to cancel
            self._task.cancel()
        await self._task

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return not self.thread.is_alive()

    def cancel(self) -> None:
        """End it at its loop's next turn."""
        self._is_cancelled = True
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
                loop.call_soon_threadsafe(task.cancel)


def start(work: Callable[[], Coroutine[Any, Any, None]], *, in_thread: bool = False) -> Job:
    """Run something beside the caller.

    Args:
        work: Makes what runs; called where it runs.
        in_thread: Whether to take a thread although a loop runs here.
    """
    if not in_thread:
        with contextlib.suppress(RuntimeError):  # no loop runs here
            return TaskJob(work, asyncio.get_running_loop())
    return ThreadJob(work)
