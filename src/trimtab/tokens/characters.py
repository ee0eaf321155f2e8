"""Count tokens by characters: no vocabulary, any model, always at hand."""

from __future__ import annotations

import re

from trimtab.tokens.counter import Quality

__all__ = ["CharTokenCounter"]

CHARACTERS_PER_TOKEN = 4
"""Characters that one token covers in English prose; the rule of thumb of OpenAI's
and Google's documentation. Code and JSON take fewer: see counter_for."""

_PICTURE = "[\u2300-\u23ff\u25fd\u25fe\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
"""The blocks in which emoji lie. Whatever else lies in them, a check mark or a
keyboard sign, takes as many tokens: 2.1 to 2.7 of o200k, by our count."""

_LOOK = "[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
"""What tells a picture how to look: as an emoji, in a skin tone, as the flag of a region."""

_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{1,2}"  # a flag: two letters
    "|[0-9#*]\ufe0f?\u20e3"  # a keycap
    f"|(?:{_PICTURE}|\\S\ufe0f){_LOOK}*"  # a picture, or a sign that shall look like one,
    f"(?:\u200d(?:{_PICTURE}|\\S\ufe0f){_LOOK}*)*"  # and what is joined to it
)
_DENSE = re.compile(
    "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # CJK ideographs
    "\u3041-\u309f\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\uac00-\ud7a3]"  # hangul syllables
)

_TOKENS_PER_EMOJI = 2
_TOKENS_PER_DENSE = 1


class CharTokenCounter:
    """Count 1 token for 4 characters, 1 for an ideograph, kana or hangul syllable, 2 for an emoji.

    Characters that are none of these are counted together and rounded up,
    once a text.
    """

    name = "characters"
    quality: Quality = "estimate"

    def count(self, text: str) -> int:
        """Count the tokens of a text; 0 for an empty one."""
        if text.isascii():
            return -(-len(text) // CHARACTERS_PER_TOKEN)
        rest, emoji = _EMOJI.subn("", text)
        rest, dense = _DENSE.subn("", rest)
        plain = -(-len(rest) // CHARACTERS_PER_TOKEN)
        return plain + dense * _TOKENS_PER_DENSE + emoji * _TOKENS_PER_EMOJI

    def __repr__(self) -> str:
        return "CharTokenCounter()"
