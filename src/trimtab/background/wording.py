"""How a request for a summary is worded, for lists and for engines alike."""

from __future__ import annotations

from dataclasses import dataclass, field

from trimtab.background.retry import roomier
from trimtab.messages import Message
from trimtab.summarizer.prompt import prompt_for
from trimtab.summarizer.rendering import MOST_BYTES, render_span
from trimtab.summary import Summarizer, SummaryRequest

__all__ = ["LEAST_RECORD_BYTES", "Wording"]

LEAST_RECORD_BYTES = 1_000
"""In less there is hardly a message."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What all requests to one summarizer have in common.

    Attributes:
        summarizer: Who is asked. Where it has a method ``record_bytes``, that says how long a
            record its model can read beside an answer of so many tokens.
        system: What the model is told it is.
        instruction: What is asked, behind the record.
        max_tokens: Most output tokens of the first request.
        record_bytes: UTF-8 bytes that a record may have; None for what the summarizer says.
    """

    summarizer: Summarizer = field(repr=False)
    system: str = field(repr=False)
    instruction: str = field(repr=False)
    max_tokens: int
    record_bytes: int | None = None

    def request(self, messages: tuple[Message, ...], start: int, cuts: int) -> SummaryRequest:
        """Render a request: work, but no waiting.

        Args:
            messages: The conversation up to the end of the span.
            start: The first of them that is to be summed up.
            cuts: Answers since the last good one that were cut at their length.
        """
        most = roomier(self.max_tokens, cuts)
        record = render_span(messages[start:], self._record_bytes(most))
        prompt = prompt_for(record, self.instruction)
        return SummaryRequest(self.system, prompt, most, self.instruction, messages)

    def _record_bytes(self, max_tokens: int) -> int:
        if self.record_bytes is not None:
            return self.record_bytes
        told = getattr(self.summarizer, "record_bytes", None)
        return MOST_BYTES if told is None else min(MOST_BYTES, told(max_tokens))
