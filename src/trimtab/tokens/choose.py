"""Pick the best counter for a model that is installed and works offline."""

from __future__ import annotations

import re

from trimtab.tokens.bpe import BpeTokenCounter, is_bpe_installed
from trimtab.tokens.characters import CharTokenCounter
from trimtab.tokens.counter import ScaledTokenCounter, TokenCounter

__all__ = ["counter_for"]

_OPENAI = re.compile(
    r"(?:^|[/:.])(?:chatgpt-4o|gpt-4o|gpt-4\.[1-9]|gpt-[5-9]|gpt-oss|o[1-9])(?![a-z0-9])"
)
_OLDER_OPENAI = re.compile(r"(?:^|[/:.])gpt-(?:3\.5|35|4)(?![a-z0-9]|\.[1-9])")
_CLAUDE_BEFORE_4_7 = re.compile(
    # claude-3-5-sonnet, and claude-sonnet-4-5 or claude-4.5-sonnet: what follows
    # the 4 is a minor version of one or two digits, or a date of eight.
    r"claude-(?:[123]|instant)"
    r"|(?:claude|opus|sonnet|haiku)-4(?!\d|[-.](?:[7-9]|\d\d)(?!\d))"
)

CLAUDE_RATIO = 1.6
"""Tokens of Claude 4.7 and newer for one of o200k, on code; prose takes 1.35.

The higher one, because a count that is too low overflows the window. Source:
figures of the ctok package's author (code 1.62, prose 1.35, JSON 1.34).
"""

OLDER_CLAUDE_RATIO = 1.25
"""The same up to Claude 4.6: code 1.24, JSON 1.10, prose 1.07."""

CHARACTER_RATIO = 1.6
"""Tokens for one of CharTokenCounter where a Claude model must be guessed by
characters: 4 / 1.6 is 2.5 characters a token, as measured on code (2.56)."""

UNKNOWN_RATIO = 1.0
"""For a model whose vocabulary is not known; Llama and Qwen take 1.0 to 1.15 of o200k."""


def counter_for(model: str) -> TokenCounter:
    """Pick a counter for a model.

    Args:
        model: Its id, in any provider's spelling.

    Returns:
        For OpenAI's models their own vocabulary, if it is at hand
        (``quality`` is ``exact``); for Claude that vocabulary stretched by
        what was measured; else characters.
    """
    name = model.lower()
    is_claude = "claude" in name
    if _OLDER_OPENAI.search(name) and is_bpe_installed("cl100k_base"):
        return BpeTokenCounter("cl100k_base")
    if not is_bpe_installed():
        characters = CharTokenCounter()
        return ScaledTokenCounter(characters, CHARACTER_RATIO) if is_claude else characters
    if _OPENAI.search(name):
        return BpeTokenCounter()
    if is_claude:
        older = _CLAUDE_BEFORE_4_7.search(name)
        return ScaledTokenCounter(BpeTokenCounter(), OLDER_CLAUDE_RATIO if older else CLAUDE_RATIO)
    return ScaledTokenCounter(BpeTokenCounter(), UNKNOWN_RATIO)
