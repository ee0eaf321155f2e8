"""What tokens of a model cost, by its id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trimtab.economy.cache import Split

__all__ = ["NO_PRICES", "Prices", "prices_of"]

_MILLION = 1_000_000

_LONG_WRITE = 2.0
"""What writing for an hour costs, as a multiple of fresh input, by Anthropic's documentation."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What tokens cost, in US dollars for a million; None for a price that is not known.

    Attributes:
        fresh: Input tokens that no cache holds.
        read: Input tokens read from the provider's cache.
        write: Input tokens written to it, for as long as is usual; None where that
            has no price of its own, and so is billed as fresh.
        write_long: The same for an hour; None where that is not listed: then it is twice
            the price of fresh input, as the one provider that offers it documents it.
        output: Output tokens, reasoning included.
    """

    fresh: float | None
    read: float | None
    write: float | None = None
    write_long: float | None = None
    output: float | None = None

    def missed(self, tokens: int) -> float | None:
        """What it costs, in US dollars, that tokens were paid again instead of read from the cache.

        Args:
            tokens: How many, 0 or more.

        Returns:
            0 or more; None where a price is not known.
        """
        again = self.written
        if again is None or self.read is None:
            return None
        return max(0.0, again - self.read) * tokens / _MILLION

    @property
    def written(self) -> float | None:
        """What a token costs that is sent for the first time and will be cached."""
        return self.fresh if self.write is None else self.write

    def of_input(self, split: Split) -> float | None:
        """What an input costs, in US dollars; None where a price that it needs is not known."""
        long = self.write_long
        if long is None and self.fresh is not None:
            long = _LONG_WRITE * self.fresh
        priced = (
            (split.fresh, self.fresh),
            (split.read, self.read),
            (split.written, self.written),
            (split.written_long, long),
        )
        return _sum(priced)

    def of_output(self, tokens: int) -> float | None:
        """What an answer costs, in US dollars; None where the price is not known."""
        return _sum(((tokens, self.output),))


NO_PRICES = Prices(None, None)
"""Of a model that nobody knows."""


def _sum(priced: tuple[tuple[int, float | None], ...]) -> float | None:
    """Add up; what is not there needs no price."""
    total = 0.0
    for tokens, price in priced:
        if not tokens:
            continue
        if price is None:
            return None
        total += tokens * price
    return total / _MILLION


def prices_of(
    model: str,
    at: float | None = None,
    input_tokens: int = 0,
    overrides: Mapping[str, Prices] | None = None,
) -> Prices | None:
    """Find out what a model's tokens cost.

    Args:
        model: Its id, as requests name it.
        at: Seconds since the epoch at which it is asked; None for today's prices.
        input_tokens: How large the request is, 0 or more: some cost more from a size on.
        overrides: What the user knows better, by id; the id alone or with a place before it.

    Returns:
        What is known; None for a model that is not, or where ``genai-prices``
        is not installed.
    """
    names = (model, model.rpartition("/")[2])
    told = (
        next((overrides[name] for name in names if name in overrides), None) if overrides else None
    )
    if told is not None:
        return told
    try:
        # An extra, and half a second to import: asked only where something is to be paid.
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415
    except ImportError:
        return None
    when = datetime.max.replace(tzinfo=UTC) if at is None else datetime.fromtimestamp(at, UTC)
    for name in names:
        try:
            _, found = get_snapshot().find_provider_model(name, None, None, None)
        except LookupError:
            continue
        known = found.get_prices(when)
        return Prices(
            _price(known.input_mtok, input_tokens),
            _price(known.cache_read_mtok, input_tokens),
            _price(known.cache_write_mtok, input_tokens),
            _price(getattr(known, "cache_write_1h_mtok", None), input_tokens),
            _price(known.output_mtok, input_tokens),
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
