"""What a session cost, and what a compaction has brought.

A bill adds up tokens by how they are billed, and money where prices are known;
one price that is not known makes the money unknown and leaves the tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.economy.cache import Split
from trimtab.economy.prices import NO_PRICES, Prices

__all__ = ["NOTHING", "Bill", "Payback", "payback", "priced"]


@dataclass(frozen=True, slots=True)
class Bill:
    """What was paid for, in tokens and in US dollars.

    Attributes:
        fresh: Input tokens neither read from a cache nor written to one.
        read: Input tokens read from a cache.
        written: Input tokens written to one.
        written_long: The same for an hour.
        output: Output tokens.
        cost: All of it in US dollars; None where a price is not known.
    """

    fresh: int = 0
    read: int = 0
    written: int = 0
    written_long: int = 0
    output: int = 0
    cost: float | None = 0.0

    @property
    def total_input(self) -> int:
        """All input."""
        return self.fresh + self.read + self.written + self.written_long

    @property
    def cached_share(self) -> float:
        """What of the input was read from a cache, 0 to 1."""
        return self.read / self.total_input if self.total_input else 0.0

    def __add__(self, other: Bill) -> Bill:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Bill(
            self.fresh + other.fresh,
            self.read + other.read,
            self.written + other.written,
            self.written_long + other.written_long,
            self.output + other.output,
            cost,
        )

    def times(self, count: int) -> Bill:
        """So many times the same."""
        return Bill(
            self.fresh * count,
            self.read * count,
            self.written * count,
            self.written_long * count,
            self.output * count,
            None if self.cost is None else self.cost * count,
        )

    @staticmethod
    def sum(bills: Iterable[Bill]) -> Bill:
        """Add bills up."""
        return sum(bills, NOTHING)


NOTHING = Bill()
"""Nothing was paid."""


def priced(split: Split, output: int, prices: Prices | None) -> Bill:
    """Make a bill of one request.

    Args:
        split: How its input is billed.
        output: Tokens of the answer.
        prices: What they cost; None where nobody knows.
    """
    known = prices or NO_PRICES
    inside, outside = known.of_input(split), known.of_output(output)
    cost = None if inside is None or outside is None else inside + outside
    return Bill(split.fresh, split.read, split.written, split.written_long, output, cost)


@dataclass(frozen=True, slots=True)
class Payback:
    """What a compaction has brought so far, told afterwards.

    Attributes:
        spent: What it cost on its own turn beyond what staying would have, and for its summary.
        saved: What the turns since have saved.
        paid_after: Turns after it on which the sum first came out even; None where it has not.
    """

    spent: float
    saved: float
    paid_after: int | None

    @property
    def net(self) -> float:
        """What it has brought; negative while it has not paid."""
        return self.saved - self.spent


def payback(spent: float, savings: Sequence[float]) -> Payback:
    """Hold what a compaction cost against what each turn since has saved.

    Args:
        spent: On its own turn, in any unit; at most 0 where it saved at once.
        savings: For each turn after it, in the same unit.
    """
    total = 0.0
    paid_after = 0 if spent <= 0 else None
    for turn, saved in enumerate(savings, 1):
        total += saved
        if paid_after is None and total >= spent:
            paid_after = turn
    return Payback(spent, total, paid_after)
