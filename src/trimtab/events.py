"""What happened, told in the past tense. Values for logs, counters and displays: no prompt text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab.summary import SummaryStats

__all__ = ["CompactionMethod", "ContextCompacted", "Event", "HistoryRepaired", "PassedOn"]

CompactionMethod: TypeAlias = Literal["deterministic", "summarized"]
"""Whether a briefing was spliced in, or rules alone decided."""


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """A request that was over its budget was made smaller.

    Attributes:
        method: How.
        messages_before: Messages as they came.
        messages_after: Messages as they go out.
        tokens_before: The whole request as it came.
        tokens_after: The whole request as it goes out.
        summary: The briefing's share in it; None where none was made.
    """

    method: CompactionMethod
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    summary: SummaryStats | None = None


@dataclass(frozen=True, slots=True)
class HistoryRepaired:
    """A history that was broken on arrival was mended.

    Attributes:
        edits: How many edits that took.
    """

    edits: int


@dataclass(frozen=True, slots=True)
class PassedOn:
    """A request goes out as it came although an edit was wanted.

    Attributes:
        reason: Why, in words for the user.
    """

    reason: str


Event: TypeAlias = ContextCompacted | HistoryRepaired | PassedOn
"""Anything that is told."""
