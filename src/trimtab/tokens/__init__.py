"""Messages to tokens: estimates, exact BPE, media.

::

    characters   CharTokenCounter: one rule for every model, no vocabulary
    bpe          BpeTokenCounter: exact for models whose vocabulary is public
    choose       counter_for: the best that is installed and works offline
    cache        what was counted once is not counted again
    media        pixels and pages to tokens, by the provider's formula
    overhead     what a message, a call and a tool cost beside their words
    measure      Measure: the one place that says what a message weighs

Everything depends on the *model*, nothing on the wire format.
"""

from trimtab.tokens.bpe import BpeTokenCounter
from trimtab.tokens.cache import CachedCounter
from trimtab.tokens.characters import CharTokenCounter
from trimtab.tokens.choose import counter_for
from trimtab.tokens.counter import Quality, ScaledTokenCounter, TokenCounter
from trimtab.tokens.measure import Measure

__all__ = [
    "BpeTokenCounter",
    "CachedCounter",
    "CharTokenCounter",
    "Measure",
    "Quality",
    "ScaledTokenCounter",
    "TokenCounter",
    "counter_for",
]
