"""How much a model takes, by its id. Here and in ``prices`` alone ``genai-prices`` is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from trimtab.wire.claude_models import claude_model

__all__ = ["Window", "knows_models", "window_of"]

_MOST_ANSWER_TOKENS = 32_000
"""Kept free for an answer whose size nobody said, in a large window."""

_ANSWER_SHARE = 8
"""The same in a small one: the window divided by this."""

_SMALL_CLAUDE, _LARGE_CLAUDE = 200_000, 1_000_000
"""Windows of Claude models, by their documentation."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a model takes.

    Attributes:
        tokens: Input and answer together.
        price_step_tokens: Input from which on every token costs more; None for no such size.
    """

    tokens: int
    price_step_tokens: int | None = None

    def limit_tokens(self, answer_tokens: int | None) -> int:
        """What a request may weigh, so that the answer fits and no higher price is due.

        Args:
            answer_tokens: Kept free for the answer; None where nobody said. At
                most half of the window is, so that there is always room for input.
        """
        room = self.tokens - self.reserve_tokens(answer_tokens)
        return min(room, self.price_step_tokens or room)

    def reserve_tokens(self, answer_tokens: int | None) -> int:
        """What is kept free for an answer; at most half of the window.

        Args:
            answer_tokens: What is asked for; None where nobody said.
        """
        if answer_tokens is None:
            return min(_MOST_ANSWER_TOKENS, self.tokens // _ANSWER_SHARE)
        return min(answer_tokens, self.tokens // 2)


@cache
def window_of(model: str) -> Window | None:
    """Find out how much a model takes.

    Args:
        model: Its id, as requests name it.

    Returns:
        What is known; None for a model that is not, or where ``genai-prices``
        is not installed and the id alone does not say.
    """
    known = _look_up(model)
    claude = claude_model(model)
    if claude is not None and claude.is_known:
        tokens = _SMALL_CLAUDE if claude.has_small_window else _LARGE_CLAUDE
        return Window(tokens, None if known is None else known.price_step_tokens)
    return known


def knows_models() -> bool:
    """Whether ``genai-prices`` is installed, so that no more is known by installing it."""
    return find_spec("genai_prices") is not None


def _look_up(model: str) -> Window | None:
    try:
        # An extra, and half a second to import: asked only where nobody named a limit.
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415
    except ImportError:
        return None
    for name in (model, model.rpartition("/")[2]):
        try:
            _, found = get_snapshot().find_provider_model(name, None, None, None)
        except LookupError:
            continue
        if found.context_window:
            return Window(found.context_window, _price_step(found.prices))
    return None


def _price_step(prices: Any) -> int | None:  # noqa: ANN401 - prices, or a list of them with their times
    if isinstance(prices, list):
        prices = prices[-1].prices
    tiers = getattr(prices.input_mtok, "tiers", ())
    return min((tier.start for tier in tiers), default=None)
