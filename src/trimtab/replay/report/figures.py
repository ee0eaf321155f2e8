"""How numbers, money and shares are written in the report."""

from __future__ import annotations

from datetime import UTC, datetime

from trimtab.replay.report.story import Cost, cost_of
from trimtab.replay.results import Costs

__all__ = [
    "counted",
    "day",
    "difference",
    "money",
    "number",
    "price",
    "share",
    "signed_share",
    "spent",
]

_LEAST_DOLLARS = 0.01


def number(value: int) -> str:
    """A whole number with its thousands set apart."""
    return f"{value:,}"


def counted(count: int, thing: str) -> str:
    """Such as ``3 requests``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def money(costs: Costs) -> str:
    """What something costs: in dollars, or in fresh input tokens where prices are not known."""
    return spent(cost_of(costs))


def spent(cost: Cost) -> str:
    """What one request, or some, cost."""
    if cost.dollars is None:
        return f"{cost.units:,.0f} tok"
    if not cost.dollars:
        return "$0.00"
    places = 2 if abs(cost.dollars) >= 1 else 4 if abs(cost.dollars) >= _LEAST_DOLLARS else 6
    return f"${cost.dollars:,.{places}f}"


def difference(cost: Cost) -> str:
    """What something brings, with its sign: ``+$1.20`` saves, ``-$0.30`` costs."""
    amount = cost.units if cost.dollars is None else cost.dollars
    return (
        f"{'-' if amount < 0 else '+'}{spent(cost if amount >= 0 else -cost)}"
        if amount
        else spent(cost)
    )


def share(value: float) -> str:
    """A share in percent, one place behind the point; never ``-0.0%``."""
    return f"{round(value * 100, 1) + 0.0:.1f}%"


def signed_share(value: float) -> str:
    """A saving as what it does to the bill: ``12.0% less``, ``0.4% more``, ``the same``."""
    if not round(value, 3):
        return "the same"
    return f"{share(abs(value))} {'less' if value > 0 else 'more'}"


def price(value: float | None) -> str:
    """A price for a million tokens."""
    return "none" if value is None else f"${value:,.4g}"


def day(at: float | None) -> str:
    """The day of a moment, in UTC."""
    return "unknown" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
