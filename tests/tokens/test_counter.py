"""What holds for every counter, and stretching one to another model."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tokens import (
    BpeTokenCounter,
    CachedCounter,
    CharTokenCounter,
    ScaledTokenCounter,
    TokenCounter,
)

COUNTERS: list[TokenCounter] = [
    CharTokenCounter(),
    BpeTokenCounter(),
    BpeTokenCounter("cl100k_base"),
    ScaledTokenCounter(BpeTokenCounter(), 1.6),
    CachedCounter(CharTokenCounter()),
]

EXTREMES = {
    "special tokens": "<|endoftext|><|im_start|>" * 1_000,
    "lone surrogates": "\ud800a\udfff" * 1_000,
    "letters": "a" * 1_000_000,
    "blanks": " " * 1_000_000,
    "dashes": "-" * 300_000,
    "ideographs": "漢" * 300_000,
    "emoji": "🙂" * 300_000,
    "one emoji of a million": "👩" + "\u200d👩" * 500_000,
    "joiners": "\u200d\ufe0f" * 500_000,
    "marks": "e" + "\u0301" * 300_000,
    "zeros": "\0" * 300_000,
}


@pytest.mark.parametrize("text", EXTREMES.values(), ids=EXTREMES.keys())
@pytest.mark.parametrize("counter", COUNTERS, ids=repr)
def test_no_text_is_too_strange(counter: TokenCounter, text: str) -> None:
    """Whatever the text, a counter answers, soon, and the same each time."""
    began = time.perf_counter()
    tokens = counter.count(text)
    seconds = time.perf_counter() - began

    assert 0 < tokens <= 4 * len(text)
    assert (
        seconds < 20
    )  # a million of the worst take 2 seconds here; a machine may be ten times slower
    assert counter.count(text[:1_000]) == counter.count(text[:1_000])


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_counts(text: str) -> None:
    """There is no text, lone surrogates included, that a counter refuses."""
    assert [counter.count(text) >= 0 for counter in COUNTERS] == [True] * len(COUNTERS)


@given(st.text(max_size=400), st.integers(min_value=1, max_value=5_000))
def test_stretched_counts_are_rounded_up(text: str, thousandths: int) -> None:
    """A ratio of up to three places is taken as it is written: 10 x 1.1 is 11."""
    inner = CharTokenCounter()

    stretched = ScaledTokenCounter(inner, thousandths / 1000).count(text)

    assert stretched == -(-Fraction(inner.count(text) * thousandths, 1000) // 1)


def test_a_stretched_counter_says_what_it_is() -> None:
    """It names the counter inside and the ratio, and is an estimate even if that one is exact."""
    counter = ScaledTokenCounter(BpeTokenCounter(), 1.25)

    assert (counter.name, counter.quality) == ("o200k_base x 1.25", "estimate")
    assert repr(counter) == "ScaledTokenCounter(o200k_base x 1.25)"
