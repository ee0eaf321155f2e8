"""Briefings: what is asked of a summarising model, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from trimtab.usage import Usage

__all__ = ["Summarizer", "Summary", "SummaryRequest", "SummaryStats"]


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A span of a conversation that shall become a briefing.

    Attributes:
        system: What the summarising model is told it is.
        prompt: The rendered span with the instruction.
        max_tokens: Most output tokens it may use.
    """

    system: str = field(repr=False)
    prompt: str = field(repr=False)
    max_tokens: int


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


class Summarizer(Protocol):
    """Whatever can turn a span into a briefing."""

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer a request; raise whatever the transport raises."""
        ...
