"""What a request costs beside the words in it."""

from __future__ import annotations

import pytest

from trimtab.tokens.overhead import Overhead, overhead_for


@pytest.mark.parametrize(
    ("model", "tools"),
    [
        ("claude-opus-5", 286),
        ("claude-opus-5-5", 286),
        ("claude-opus-4-8", 290),
        ("claude-opus-4.8", 290),
        ("claude-opus-4-7", 675),
        ("claude-opus-4-6", 497),
        ("claude-opus-4-5-20251101", 497),  # 496 by the table
        ("claude-sonnet-5", 354),
        ("claude-sonnet-4-6", 497),
        ("claude-sonnet-4-5", 497),
        ("claude-haiku-4-5", 497),
        ("us.anthropic.CLAUDE-opus-4-8-v1:0", 290),
        ("claude-next", 497),
    ],
)
def test_tools_cost_what_anthropic_says(model: str, tools: int) -> None:
    """The prompt that switches tools on is a model's own, by Anthropic's table."""
    assert overhead_for(model) == Overhead(7, 4, 8, 8, 4, tools)


@pytest.mark.parametrize("model", ["", "gpt-5.6", "o3", "llama-3.3", "unknown"])
def test_all_others_cost_what_the_cookbook_says(model: str) -> None:
    """3 and a name a message, 3 for the answer, 8 a function; no prompt for tools."""
    assert overhead_for(model) == Overhead(3, 4, 8, 4, 8, 0)
