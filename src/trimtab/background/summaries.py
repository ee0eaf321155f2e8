"""Summaries for an engine: made beside its requests, collected at the next one.

::

    engine = Engine(Policy(summaries=True), summaries=BackgroundSummaries(model_summarizer(...)))

The engine says what it wants after a request has gone out, and looks at what
came back before the next one, of whatever conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from trimtab.background.requests import Flight, Requests
from trimtab.background.retry import Retry
from trimtab.background.wording import LEAST_RECORD_BYTES, Wording
from trimtab.errors import PolicyError
from trimtab.policy import require_whole
from trimtab.summarizer.prompt import INSTRUCTION, SYSTEM
from trimtab.summary import MadeSummary, Summarizer, SummaryRequest, WantedSummary

if TYPE_CHECKING:
    from trimtab.background.attempts import Outcome

__all__ = ["BackgroundSummaries"]

_LEAST_SUMMARY_TOKENS = 256


class BackgroundSummaries:
    """Makes the summaries that an engine wants, several at a time.

    Args:
        summarizer: Asks the model.
        max_summary_tokens: Most output tokens of a summary, 256 or more. After an answer that
            was cut at its length, and after another, it is twice as much.
        timeout_seconds: For each attempt, above 0.
        retry: When and how often a failed attempt is made again; None for the defaults.
        at_once: Summaries that are made at the same time, 1 or more; more are not asked for.
        system: What the model is told it is.
        instruction: What it is asked.
        record_bytes: UTF-8 bytes of the record that a request holds, 1,000 or more; None for as
            much as the model is known to read, at most 480,000.

    Raises:
        PolicyError: If a setting is out of its range.
    """

    def __init__(  # noqa: PLR0913 - settings, by name
        self,
        summarizer: Summarizer,
        *,
        max_summary_tokens: int = 2_000,
        timeout_seconds: float = 120.0,
        retry: Retry | None = None,
        at_once: int = 8,
        system: str = SYSTEM,
        instruction: str = INSTRUCTION,
        record_bytes: int | None = None,
    ) -> None:
        require_whole("max_summary_tokens", max_summary_tokens, _LEAST_SUMMARY_TOKENS)
        require_whole("at_once", at_once, 1)
        if record_bytes is not None:
            require_whole("record_bytes", record_bytes, LEAST_RECORD_BYTES)
        if not timeout_seconds > 0:
            raise PolicyError("timeout_seconds", timeout_seconds, "it must be above 0")
        self._retry = retry or Retry()
        self._timeout = timeout_seconds
        self._requests = Requests(summarizer, timeout_seconds, self._retry)
        self._wording = Wording(summarizer, system, instruction, max_summary_tokens, record_bytes)
        self._at_once = at_once
        self._wanted: dict[Flight, WantedSummary] = {}
        self._lock = Lock()

    @property
    def longest_seconds(self) -> float:
        """How long one may take in all, with every attempt and every wait."""
        tries = self._retry.retries + 1
        return tries * self._timeout + self._retry.retries * self._retry.most_seconds

    def start(self, wanted: WantedSummary) -> bool:
        """Begin to make a summary.

        Returns:
            False where so many are under way that this one is not made, or nothing can be
            begun beside the program.
        """
        with self._lock:
            if len(self._wanted) >= self._at_once:
                return False
            try:
                flight = self._requests.start(partial(self._request, wanted))
            except RuntimeError:  # no thread can be had, or the interpreter is ending
                return False
            self._wanted[flight] = wanted
            return True

    def collect(self) -> Iterator[MadeSummary]:
        """What came back since the last time, each once."""
        with self._lock:
            came = [] if self._requests.is_idle else list(self._requests.collect())
            made = [self._made(flight, outcome) for flight, outcome in came]
        yield from filter(None, made)

    def close(self) -> None:
        """End what is under way; what is wanted later is not made."""
        with self._lock:
            for flight in self._wanted:
                self._requests.end(flight)
            self._wanted.clear()
            self._at_once = 0

    def _request(self, wanted: WantedSummary) -> SummaryRequest:
        return self._wording.request(wanted.messages, wanted.start, wanted.cuts)

    def _made(self, flight: Flight, outcome: Outcome) -> MadeSummary | None:
        from trimtab.background.attempts import Came, Gone  # noqa: PLC0415 - it brings asyncio

        is_late = not isinstance(outcome, Came | Gone)
        wanted = self._wanted.get(flight) if is_late else self._wanted.pop(flight, None)
        if wanted is None:
            return None
        match outcome:
            case Came():
                return MadeSummary(wanted, outcome.summary, attempts=outcome.attempts)
            case Gone():
                return MadeSummary(wanted, None, outcome.cause, outcome.reason, outcome.attempts)
            case _:
                told = "an attempt was answered after it had been given up"
                return MadeSummary(wanted, outcome.summary, "timed out", told, is_over=False)

    def __repr__(self) -> str:
        return f"<BackgroundSummaries, {len(self._wanted)} under way>"
