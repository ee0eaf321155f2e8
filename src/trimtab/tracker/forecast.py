"""One line of facts about the room that is left; nothing in it tells anybody what to do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Forecast"]

_LEAST_IN_THOUSANDS = 10_000
"""Limits below are told in tokens, and other numbers with a tenth: thousands would hide what is left."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """How full the context is, and how long it lasts at the pace of the last turns.

    Attributes:
        used: Tokens of the next request, without what the turn in progress adds: at least this much.
        limit: Tokens that it is held against.
        headroom: Tokens that are left; 0 where it is over.
        per_turn: Tokens that a turn added, on average over the turns that grew among the
            last ones; None where none did.
        turns_left: Whole turns at that pace; None without a pace.
    """

    used: int
    limit: int
    headroom: int
    per_turn: int | None
    turns_left: int | None

    @property
    def percent(self) -> int:
        """Used share of the limit in whole percent, half rounded up; 0 for a limit of 0."""
        return (200 * self.used + self.limit) // (2 * self.limit) if self.limit else 0

    @property
    def line(self) -> str:
        """All of it in words, such that cost times turns is never more than the room it tells."""
        used, limit, room = self._sizes()
        told = f"context: {used} of {limit} before compaction ({self.percent}%)"
        if self.per_turn is None or self.turns_left is None:
            return told
        cost = _told_of(self.per_turn) if self.per_turn >= 1000 else self.per_turn
        words = _thousands(cost) if self.per_turn >= 1000 else f"{cost} tokens"
        turns = min(self.turns_left, room // cost)
        return f"{told}; recent turns cost ~{words} each, so about {turns} more at this pace"

    def _sizes(self) -> tuple[str, str, int]:
        """Used and limit in words, and the room between what is told."""
        if self.limit < _LEAST_IN_THOUSANDS:
            return f"{self.used}", f"{self.limit} tokens", self.headroom
        used, limit = _told_of(self.used), _told_of(self.limit)
        return _thousands(used), _thousands(limit), max(0, limit - used)

    def __str__(self) -> str:
        return self.line


def _told_of(tokens: int) -> int:
    """What is told of a number in thousands, rounded down: below ten of them, in tenths."""
    step = 1000 if tokens >= _LEAST_IN_THOUSANDS else 100
    return tokens // step * step


def _thousands(tokens: int) -> str:
    """Such as ``98k``, and ``1.9k`` below ten thousand."""
    return f"{tokens // 1000}k" if tokens >= _LEAST_IN_THOUSANDS else f"{tokens / 1000:.1f}k"
