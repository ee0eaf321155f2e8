"""Idle, in flight, ready: what follows from what.

::

    idle ──asked──> in flight ──accepted──> ready ──used──> idle
                        │                     │
                        └───── given up ──────┴───────────> idle, and a wait

Values: each step gives another one, so that it can be stored, and tried
without a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from trimtab.briefing.spans import Span

__all__ = ["BackOff", "Phase", "Progress"]

Phase: TypeAlias = Literal["idle", "in flight", "ready"]
"""``idle``: nothing is under way. ``in flight``: a model was asked. ``ready``: it has answered well."""

_MOST_WAITS = 31
"""Calls that pass without another request, at most."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long nobody is asked after a summary came to nothing.

    Attributes:
        failures: How many in a row came to nothing, size aside.
        waits: Calls that pass before the next request: 1, 3, 7, 15 and then always 31.
        needed_tokens: What a span must weigh before the next request; 0 for any.
        cuts: How many of the failures were answers that were cut at their length.
    """

    failures: int = 0
    waits: int = 0
    needed_tokens: int = 0
    cuts: int = 0

    def failed(self, *, is_cut: bool = False) -> BackOff:
        """After something that may go better another time."""
        failures = self.failures + 1
        waits = min(2**failures - 1, _MOST_WAITS)
        return replace(self, failures=failures, waits=waits, cuts=self.cuts + is_cut)

    def too_large(self, needed_tokens: int) -> BackOff:
        """After an answer that only a larger span is worth."""
        return replace(self, needed_tokens=max(needed_tokens, self.needed_tokens + 1))

    def passed(self) -> BackOff:
        """After a call on which a request would have been made."""
        return replace(self, waits=max(0, self.waits - 1))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the making of one briefing is.

    Attributes:
        phase: In a word.
        span: What it stands for; None where nothing is under way.
        text: What the model wrote, once it is ready.
        back_off: When the next may be asked for.
    """

    phase: Phase = "idle"
    span: Span | None = None
    text: str = field(default="", repr=False)
    back_off: BackOff = BackOff()

    def may_ask(self, span: Span) -> bool:
        """Whether a briefing for a span may be asked for now."""
        is_open = self.back_off.waits == 0 and span.tokens >= self.back_off.needed_tokens
        return self.phase == "idle" and is_open

    def passed(self) -> Progress:
        """After a call on which it had to wait."""
        return replace(self, back_off=self.back_off.passed())

    def asked(self, span: Span) -> Progress:
        """After a model was asked."""
        return replace(self, phase="in flight", span=span)

    def accepted(self, text: str) -> Progress:
        """After it has answered well."""
        return replace(self, phase="ready", text=text)

    def moved(self, span: Span) -> Progress:
        """After an edit of ours moved the messages that it stands for."""
        return replace(self, span=span)

    def failed(self, *, is_cut: bool = False) -> Progress:
        """After it came to nothing, and may go better another time."""
        return Progress(back_off=self.back_off.failed(is_cut=is_cut))

    def too_large(self, needed_tokens: int) -> Progress:
        """After an answer that only a larger span is worth."""
        return Progress(back_off=self.back_off.too_large(needed_tokens))

    def dropped(self) -> Progress:
        """After it became useless through nobody's fault: the messages changed."""
        return Progress(back_off=self.back_off)

    def used(self) -> Progress:
        """After it was put in place."""
        return Progress()
