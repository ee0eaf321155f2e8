"""Briefings: what is asked of a summarising model, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from trimtab.messages import Message
from trimtab.usage import Usage

__all__ = [
    "KeptSummary",
    "MadeSummary",
    "Summarizer",
    "Summary",
    "SummaryMaker",
    "SummaryRequest",
    "SummaryStats",
    "SummaryTotals",
    "WantedSummary",
]


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A span of a conversation that shall become a briefing.

    Attributes:
        system: What the summarising model is told it is.
        prompt: The rendered span with the instruction. With ``system`` it is all that
            a request of its own needs.
        max_tokens: Most output tokens it may use.
        instruction: What is asked, without the span: for a summarizer that sends the
            conversation itself, so that the provider's cache is hit; empty where that
            is not wanted.
        messages: The conversation up to the end of the span, for the same.
    """

    system: str = field(repr=False)
    prompt: str = field(repr=False)
    max_tokens: int
    instruction: str = field(default="", repr=False)
    messages: tuple[Message, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summarising model answered, accepted or not.

    Attributes:
        text: The briefing.
        stop_reason: Why it stopped, in the provider's word; empty where it does not say.
        usage: What it was billed; None where that is not known.
        cost: In US dollars; None where the price is not known.
        model: Which model answered.
        tool_calls: Tool calls in the answer; a briefing has none.
    """

    text: str = field(repr=False)
    stop_reason: str = ""
    usage: Usage | None = None
    cost: float | None = None
    model: str = ""
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class SummaryStats:
    """What a briefing that was made stands for and cost.

    Attributes:
        span_messages: Messages that it covers; 0 where it was not used.
        usage: What was billed.
        cost: In US dollars; None where the price is not known.
    """

    span_messages: int
    usage: Usage | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class SummaryTotals:
    """What background summaries came to so far.

    Attributes:
        requests: Briefings that were asked for; each may have taken several attempts.
        answers: Answers that came back, all of them billed.
        spliced: Briefings that stand, or stood, in a conversation.
        usage: What was billed, as far as answers say.
        cost: In US dollars; None from the first answer on whose price is not known.
    """

    requests: int = 0
    answers: int = 0
    spliced: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0

    def asked(self) -> SummaryTotals:
        """The same with one more request."""
        return replace(self, requests=self.requests + 1)

    def answered(self, summary: Summary) -> SummaryTotals:
        """The same with one more answer, used or not."""
        usage = self.usage if summary.usage is None else _sum(self.usage, summary.usage)
        is_known = self.cost is not None and summary.cost is not None
        cost = (self.cost or 0.0) + (summary.cost or 0.0) if is_known else None
        return replace(self, answers=self.answers + 1, usage=usage, cost=cost)

    def with_splice(self) -> SummaryTotals:
        """The same with one more briefing put in place."""
        return replace(self, spliced=self.spliced + 1)


def _sum(one: Usage, other: Usage) -> Usage:
    """What two requests were billed together; no size of a context."""
    return Usage(*(getattr(one, kind.name) + getattr(other, kind.name) for kind in fields(Usage)))


@dataclass(frozen=True, slots=True)
class WantedSummary:
    """A part of a conversation that it would be good to have a summary of.

    Attributes:
        key: The chain value of the last message that it covers: whoever has the same
            messages wants the same summary.
        head: The first message of the history that it stands for.
        cut: The first behind it.
        tokens: What it would stand for weighs as it is sent.
        messages: What is sent up to its end, oldest first.
        start: The first of ``messages`` that it stands for.
        model: Whose tokens were counted.
        cuts: Answers since the last good one that were cut at their length.
    """

    key: bytes
    head: int
    cut: int
    tokens: int
    messages: tuple[Message, ...] = field(repr=False)
    start: int
    model: str = ""
    cuts: int = 0


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """A summary that may stand for messages of a history.

    Attributes:
        text: What the model wrote.
        head: The first message of the history that it stands for.
        cut: The first behind it.
        stats: What it was billed.
    """

    text: str = field(repr=False)
    head: int
    cut: int
    stats: SummaryStats


@dataclass(frozen=True, slots=True)
class MadeSummary:
    """What came of a summary that was wanted.

    Attributes:
        wanted: The summary.
        answer: What the model has answered, good or not; None where no answer came.
        cause: Why it came to nothing, in a word; empty where it did not.
        reason: The same in words for the user.
        attempts: How often the model was asked.
        is_over: Whether nothing more will come of it; False for an answer to an attempt
            that had been given up, which was billed all the same.
    """

    wanted: WantedSummary
    answer: object = field(default=None, repr=False)
    cause: str = ""
    reason: str = ""
    attempts: int = 1
    is_over: bool = True


class Summarizer(Protocol):
    """Whatever can turn a span into a briefing."""

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer a request.

        Raises:
            SummaryError: It says whether asking again helps; so do a ``TimeoutError`` and
                a ``ConnectionError``. Whatever else is raised is final.
        """
        ...


class SummaryMaker(Protocol):
    """Whatever makes summaries beside the requests of an engine."""

    @property
    def longest_seconds(self) -> float:
        """How long one may take in all."""
        ...

    def start(self, wanted: WantedSummary) -> bool:
        """Begin to make a summary; False where it is not made. Never waits."""
        ...

    def collect(self) -> Iterator[MadeSummary]:
        """What came back since the last time, each once. Never waits."""
        ...
