"""A request of its own, or the conversation with one more message: which costs less.

::

    standalone   the rendered span, to a model of its own: fresh input, a cheap model's output
    warm         the conversation as it was sent, to its own model, with the instruction behind
                 it: the provider's cache holds the input, the output is at that model's price
    auto         whichever is expected to cost less

Warm looks cheaper than it is: the briefing is billed at the price of the
conversation's model, and a request that finds no cache pays for the whole
prefix anew. Both are in the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab.economy.prices import Prices

__all__ = ["CacheRecord", "Route", "cheaper_route"]

Route: TypeAlias = Literal["standalone", "warm", "auto"]
"""How a summary is asked for."""


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """How often warm requests found the provider's cache.

    Attributes:
        hits: Requests most of whose input came from the cache.
        misses: Requests of which it did not.
    """

    hits: int = 0
    misses: int = 0

    def after(self, input_tokens: int, read_tokens: int) -> CacheRecord:
        """The same with one more request."""
        if 2 * read_tokens > input_tokens:
            return CacheRecord(self.hits + 1, self.misses)
        return CacheRecord(self.hits, self.misses + 1)

    @property
    def miss_share(self) -> float:
        """The share of misses to be expected: Laplace's rule of succession, a half before any."""
        return (self.misses + 1) / (self.hits + self.misses + 2)


def cheaper_route(
    span_tokens: int,
    prefix_tokens: int,
    output_tokens: int,
    own: Prices | None,
    loop: Prices | None,
    record: CacheRecord,
) -> Literal["standalone", "warm"]:
    """Pick the route that is expected to cost less.

    Args:
        span_tokens: What the rendered span weighs.
        prefix_tokens: What the conversation up to the end of the span weighs.
        output_tokens: What the briefing may weigh.
        own: Prices of the model that sums up; None where they are not known.
        loop: Prices of the conversation's model; None where they are not known.
        record: How often warm requests have hit so far.

    Returns:
        ``standalone`` where a price is not known: its cost is bounded.
    """
    standalone = _cost(span_tokens, None if own is None else own.fresh, output_tokens, own)
    hit = _cost(prefix_tokens, None if loop is None else loop.read, output_tokens, loop)
    miss = _cost(prefix_tokens, None if loop is None else loop.written, output_tokens, loop)
    if standalone is None or hit is None or miss is None:
        return "standalone"
    warm = (1 - record.miss_share) * hit + record.miss_share * miss
    return "warm" if warm < standalone else "standalone"


def _cost(
    input_tokens: int, price: float | None, output_tokens: int, prices: Prices | None
) -> float | None:
    """What a request costs, in millionths of a US dollar; None where a price is not known."""
    if price is None or prices is None or prices.output is None:
        return None
    return input_tokens * price + output_tokens * prices.output
