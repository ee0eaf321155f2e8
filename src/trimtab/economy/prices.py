"""What input tokens of a model cost, by its id."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["Prices", "prices_of"]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """What input tokens cost, in US dollars for a million; None for a price that is not known.

    Attributes:
        fresh: Tokens that no cache holds.
        read: Tokens read from the provider's cache.
        write: Tokens written to it, for five minutes; None where that has no price of its own.
    """

    fresh: float | None
    read: float | None
    write: float | None = None

    def missed(self, tokens: int) -> float | None:
        """What it costs, in US dollars, that tokens were paid again instead of read from the cache.

        Args:
            tokens: How many, 0 or more.

        Returns:
            0 or more; None where a price is not known.
        """
        again = self.fresh if self.write is None else self.write
        if again is None or self.read is None:
            return None
        return max(0.0, again - self.read) * tokens / _MILLION


def prices_of(model: str, at: float | None = None, input_tokens: int = 0) -> Prices | None:
    """Find out what a model's input costs.

    Args:
        model: Its id, as requests name it.
        at: Seconds since the epoch at which it is asked; None for today's prices.
        input_tokens: How large the request is, 0 or more: some cost more from a size on.

    Returns:
        What is known; None for a model that is not, or where ``genai-prices``
        is not installed.
    """
    try:
        # An extra, and half a second to import: asked only where something is to be paid.
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415
    except ImportError:
        return None
    when = datetime.max.replace(tzinfo=UTC) if at is None else datetime.fromtimestamp(at, UTC)
    for name in (model, model.rpartition("/")[2]):
        try:
            _, found = get_snapshot().find_provider_model(name, None, None, None)
        except LookupError:
            continue
        known = found.get_prices(when)
        return Prices(
            _price(known.input_mtok, input_tokens),
            _price(known.cache_read_mtok, input_tokens),
            _price(known.cache_write_mtok, input_tokens),
        )
    return None


def _price(told: Any, input_tokens: int) -> float | None:  # noqa: ANN401 - a number, or one for each size
    if told is None:
        return None
    price = getattr(told, "base", told)
    for tier in sorted(getattr(told, "tiers", ()), key=lambda tier: tier.start):
        if input_tokens > tier.start:
            price = tier.price
    return float(price)
