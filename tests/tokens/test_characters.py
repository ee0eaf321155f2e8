"""Counting by characters alone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tokens import CharTokenCounter

EMOJI = [
    "🙂",
    "❤️",  # a sign that shall look like an emoji
    "⌚",
    "◾",
    "🀄",
    "🅰️",
    "👍🏽",  # with a skin tone
    "👩‍👩‍👧‍👦",  # four people, joined
    "🧑🏿‍🚀",  # joined, the first with a skin tone
    "🏳️‍🌈",
    "🏴‍☠️",
    "🙂‍↔️",  # joined to an arrow
    "👁️‍🗨️",
    "🇩🇪",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # the flag of a region
    "1️⃣",
    "#⃣",
    "*️⃣",
    "©️",
    "‼️",
    "↔️",
    "㊗️",
]
DENSE = ["你", "々", "\u3007", "㐀", "豈", "𠀀", "𱍐", "こ", "ー", "ン", "ｱ", "ㇰ", "안"]
PLAIN = ["a", "b ", "é", "ß", "я", "\n", "…", "、", "→", "─", "\u0301", "\ud800"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("hello", 2),
        ("morning", 2),
        ("你好世界", 4),
        ("こんにちは", 5),
        ("안녕하세요", 5),
        ("ab你", 2),
        ("🙂", 2),
        ("ab🙂cd", 3),
        ("ab🙂cd你e", 5),
        ("naïve café", 3),
        ("こんにちは, world! 🎉🎉", 12),
        ("🇩🇪🇫🇷", 4),
        ("🇩", 2),  # half a flag
        ("1️⃣2️⃣", 4),
        ("12", 1),
        ("👩‍👩‍👧‍👦 👍🏽", 5),
        ("क्‍ष", 1),  # a joiner between letters joins no emoji
    ],
)
def test_a_text_counts_by_its_script(text: str, tokens: int) -> None:
    """An ideograph, kana or hangul syllable is 1, an emoji 2, and 4 of all others are 1."""
    assert CharTokenCounter().count(text) == tokens


@pytest.mark.parametrize("emoji", EMOJI)
def test_what_looks_like_one_emoji_counts_as_one(emoji: str) -> None:
    """Flags, keycaps, skin tones and joined pictures are 2, as the plain ones are."""
    assert CharTokenCounter().count(emoji) == 2


@pytest.mark.parametrize("character", DENSE)
def test_characters_that_are_words_count_one_each(character: str) -> None:
    """Ideographs of every block, kana in full and half width, hangul syllables."""
    assert CharTokenCounter().count(character * 3) == 3


@given(
    st.lists(st.sampled_from(EMOJI)),
    st.lists(st.sampled_from(DENSE)),
    st.lists(st.sampled_from(PLAIN)),
    st.randoms(use_true_random=False),
)
def test_all_plain_characters_of_a_text_are_rounded_up_together(
    emoji: list[str], dense: list[str], plain: list[str], chance: Random
) -> None:
    """The kinds add up in any order, and rounding happens once a text."""
    pieces = [*emoji, *dense, *plain]
    chance.shuffle(pieces)

    tokens = CharTokenCounter().count("".join(pieces))

    plain_tokens = -(-len("".join(plain)) // 4)
    assert tokens == 2 * len(emoji) + len(dense) + plain_tokens


@given(st.text(), st.text())
def test_a_longer_text_never_counts_less(text: str, more: str) -> None:
    """No text is free, and one put behind another never costs less than nothing."""
    counter = CharTokenCounter()

    assert counter.count(text) <= counter.count(f"{text} {more}")
    assert (counter.count(text) == 0) == (text == "")


def test_it_says_what_it_is() -> None:
    """It names itself, and says that its counts are estimates."""
    counter = CharTokenCounter()

    assert (counter.name, counter.quality, repr(counter)) == (
        "characters",
        "estimate",
        "CharTokenCounter()",
    )
