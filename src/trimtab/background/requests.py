"""The requests of one conversation: start them, collect what came back, end them.

What came back lies in a queue until somebody collects it, so nothing is
changed behind the caller's back.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from trimtab.background.retry import Retry
from trimtab.summary import Summarizer, SummaryRequest

if TYPE_CHECKING:
    from trimtab.background.attempts import Outcome
    from trimtab.background.jobs import Job

__all__ = ["Flight", "Requests"]


@dataclass(slots=True, eq=False)
class Flight:
    """One request that is, or was, under way.

    Attributes:
        job: What asks; None before it does.
        is_over: Whether it is known what came of it.
    """

    job: Job | None = None
    is_over: bool = False


_Inbox: TypeAlias = "deque[tuple[Flight, Outcome]]"


class Requests:
    """Starts requests beside the caller.

    What runs holds no reference to this, so that dropping it ends what runs.

    Args:
        summarizer: Is asked.
        timeout_seconds: For each attempt.
        retry: When and how often a failed attempt is made again.

    Attributes:
        in_threads: Whether each request gets a thread although a loop runs: a loop that ended
            before its request did may end too early again.
    """

    def __init__(self, summarizer: Summarizer, timeout_seconds: float, retry: Retry) -> None:
        self.in_threads = False
        self._summarizer = summarizer
        self._timeout = timeout_seconds
        self._retry = retry
        self._running: list[Flight] = []
        self._inbox: _Inbox = deque()
        weakref.finalize(self, _cancel_all, self._running)

    def start(
        self, make_request: Callable[[], SummaryRequest], *, in_thread: bool = False
    ) -> Flight:
        """Ask, beside the caller.

        Args:
            make_request: Renders the request, where it is asked.
            in_thread: Whether to take a thread although a loop runs here.

        Raises:
            RuntimeError: If no thread can be had, or the interpreter is ending.
        """
        from trimtab.background import attempts, jobs  # noqa: PLC0415 - they bring asyncio

        flight = Flight()
        summarizer, timeout, retry, inbox = (
            self._summarizer,
            self._timeout,
            self._retry,
            self._inbox,
        )

        def tell(outcome: Outcome) -> None:
            inbox.append((flight, outcome))

        flight.job = jobs.start(
            lambda: attempts.asked(summarizer, make_request, timeout, retry, tell),
            in_thread=in_thread or self.in_threads,
        )
        self._running.append(flight)
        return flight

    def collect(self) -> Iterator[tuple[Flight, Outcome]]:
        """What came back since the last time; a request that is gone without a word, too."""
        from trimtab.background.attempts import Gone, Late  # noqa: PLC0415 - it brings asyncio

        over = [flight for flight in self._running if flight.job is None or flight.job.is_over]
        while self._inbox:
            flight, outcome = self._inbox.popleft()
            flight.is_over = flight.is_over or not isinstance(outcome, Late)
            self.in_threads = self.in_threads or _is_lost(outcome)
            yield flight, outcome
        for flight in over:
            if not flight.is_over:
                flight.is_over = self.in_threads = True
                yield flight, Gone("cancelled", "the event loop that it ran on is gone", 1)
            self._running.remove(flight)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing came back: then there is nothing to collect."""
        return not (self._running or self._inbox)

    def end(self, flight: Flight) -> None:
        """End a request; what it answers all the same is collected."""
        if flight.job is not None and not flight.job.is_over:
            flight.is_over = True
            flight.job.cancel()

    def forget(self) -> None:
        """Know of no request any more: they are another process's."""
        self._running.clear()
        self._inbox = deque()


def _is_lost(outcome: Outcome) -> bool:
    """Whether a request was ended from outside."""
    return getattr(outcome, "cause", "") == "cancelled"


def _cancel_all(running: Iterable[Flight]) -> None:
    for flight in list(running):
        if flight.job is not None:
            flight.job.cancel()
