"""What a counter is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

__all__ = ["Quality", "ScaledTokenCounter", "TokenCounter", "most_tokens"]

Quality: TypeAlias = Literal["exact", "calibrated", "estimate"]
"""How far a count can be trusted.

``exact`` is the model's own vocabulary, ``calibrated`` an estimate corrected
by what was billed, ``estimate`` neither.
"""


class TokenCounter(Protocol):
    """Whatever can say how many tokens a text has.

    Attributes:
        name: What it is, for people.
        quality: How far its counts can be trusted.
    """

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    @property
    def quality(self) -> Quality:
        """How far its counts can be trusted."""
        ...

    def count(self, text: str) -> int:
        """Count the tokens of a text: 0 or more, the same for the same text."""
        ...


class ScaledTokenCounter:
    """Another vocabulary's count, stretched to a model whose own is not public.

    Args:
        inner: Counts in the other vocabulary.
        ratio: Tokens of this model for one of those, above 0.
    """

    quality: Quality = "estimate"

    def __init__(self, inner: TokenCounter, ratio: float) -> None:
        self.name = f"{inner.name} x {ratio:g}"
        self._inner = inner
        self._ratio = ratio

    def count(self, text: str) -> int:
        """Count the tokens of a text, rounded up."""
        # Through tenths of a percent, so that 10 x 1.1 is 11 and not 12.
        return -(-self._inner.count(text) * round(self._ratio * 1000) // 1000)

    def most(self, text: str) -> int | None:
        """As many as there can be; None where the inner counter cannot tell."""
        most = most_tokens(self._inner, text)
        return None if most is None else -(-most * round(self._ratio * 1000) // 1000)

    def __repr__(self) -> str:
        return f"ScaledTokenCounter({self.name})"


def most_tokens(counter: TokenCounter, text: str) -> int | None:
    """As many tokens as a text can have, told without counting it.

    Args:
        counter: Whatever counts. One that can tell has a method ``most``.
        text: Any text.

    Returns:
        At least what ``count`` would say; None where the counter cannot tell.
    """
    most: Callable[[str], int | None] | None = getattr(counter, "most", None)
    return None if most is None else most(text)
