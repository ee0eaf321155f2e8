"""What a provider billed for one request."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens billed for one request, in one meaning for all providers.

    Attributes:
        fresh: Input tokens that were neither read from nor written to a cache.
        cache_read: Input tokens read from the provider's cache.
        cache_write: Input tokens written to it.
        output: Output tokens, reasoning included.
        reasoning: The part of ``output`` that was reasoning.
    """

    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def total_input(self) -> int:
        """The whole prompt: cached tokens counted once."""
        return self.fresh + self.cache_read + self.cache_write
