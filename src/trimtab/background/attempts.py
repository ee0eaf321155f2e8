"""Ask a summarizer, with a time limit for each attempt.

Nothing it does holds this up: one that hangs is given up, one that does not
even let itself be cancelled is left behind, and what it answers later is still
accounted for.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from trimtab.background.retry import Retry, is_retryable, wait_asked
from trimtab.errors import SummaryError
from trimtab.events import SummaryGivenUpCause
from trimtab.summary import Summarizer, SummaryRequest

__all__ = ["Came", "Gone", "Late", "Outcome", "asked"]

_GRACE_SECONDS = 0.05
"""How long a cancelled attempt is given to end."""


@dataclass(frozen=True, slots=True)
class Came:
    """An answer came back.

    Attributes:
        summary: Whatever the summarizer returned.
        attempts: How often it was asked.
    """

    summary: object = field(repr=False)
    attempts: int


@dataclass(frozen=True, slots=True)
class Gone:
    """No answer came back.

    Attributes:
        cause: Why, in a word.
        reason: Why, in words for the user.
        attempts: How often the summarizer was asked.
    """

    cause: SummaryGivenUpCause
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Late:
    """An answer to an attempt that was given up.

    Attributes:
        summary: Whatever the summarizer returned.
    """

    summary: object = field(repr=False)


Outcome = Came | Gone | Late


async def asked(
    summarizer: Summarizer,
    make_request: Callable[[], SummaryRequest],
    timeout_seconds: float,
    retry: Retry,
    tell: Callable[[Outcome], None],
) -> None:
    """Ask until an answer comes, or it is time to give up; tell what came of it, once.

    Args:
        summarizer: Is asked.
        make_request: Renders the request: work, but no waiting.
        timeout_seconds: For each attempt.
        retry: When and how often it is asked again.
        tell: Takes the outcome, and late answers after it; from whatever thread this runs on.
    """
    attempts = 0
    outcome: Outcome | None = None
    try:
        request = await asyncio.to_thread(make_request)
        while outcome is None:
            attempts += 1
            outcome, error = await _attempt(summarizer, request, timeout_seconds, attempts, tell)
            if error is None or not is_retryable(error) or attempts > retry.retries:
                continue
            outcome = None
            await asyncio.sleep(
                retry.wait_seconds(attempts, wait_asked(error), random.random())  # noqa: S311 - no secret
            )
    except Exception as error:  # noqa: BLE001 - a request that cannot be rendered, a loop that ends
        outcome = Gone("failed", _told(error), attempts)
    finally:
        if outcome is None:
            outcome = Gone("cancelled", "the event loop ended before an answer came", attempts)
        tell(outcome)


async def _attempt(
    summarizer: Summarizer,
    request: SummaryRequest,
    timeout_seconds: float,
    number: int,
    tell: Callable[[Outcome], None],
) -> tuple[Outcome, BaseException | None]:
    """One attempt: what came of it, and the error where it failed."""
    task: asyncio.Future[object] = asyncio.ensure_future(_guarded(summarizer, request))
    try:
        await asyncio.wait({task}, timeout=timeout_seconds)
    finally:
        if not task.done():
            task.cancel()
            _left_behind(task, tell)
    if not task.done():
        await asyncio.wait({task}, timeout=_GRACE_SECONDS)
        reason = f"no answer within {timeout_seconds:g} s"
        return Gone("timed out", reason, number), TimeoutError(reason)
    if task.cancelled():
        return Gone("failed", "the summarizer cancelled itself", number), None
    error = task.exception()
    if error is None:
        return Came(task.result(), number), None
    return Gone("failed", _told(error), number), error


async def _guarded(summarizer: Summarizer, request: SummaryRequest) -> object:
    """Ask, and let nothing that is asked end the program."""
    try:
        return await summarizer.summarize(request)
    except SystemExit:
        raise SummaryError("SystemExit") from None


_left: set[asyncio.Future[object]] = set()
"""Attempts that were given up and have not ended: a task that nobody holds may vanish."""


def _left_behind(task: asyncio.Future[object], tell: Callable[[Outcome], None]) -> None:
    """Hold an attempt until it ends, and account for what it answers after all."""

    def ended(task: asyncio.Future[object]) -> None:
        _left.discard(task)
        if not task.cancelled() and task.exception() is None:
            tell(Late(task.result()))

    _left.add(task)
    task.add_done_callback(ended)


def _told(error: BaseException) -> str:
    """An error in words: our own say what they mean, others may quote the conversation."""
    return str(error) if isinstance(error, SummaryError) else type(error).__name__
