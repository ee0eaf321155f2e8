"""What a compaction costs on its own turn, beside going on without it."""

from __future__ import annotations

import pytest

from trimtab.economy import Block, Cut, ProviderCache, Split
from trimtab.replay.cuts import (
    BillRates,
    Came,
    Made,
    Unread,
    Without,
    cut_of,
    made_words,
    unread_of,
    unread_words,
)
from trimtab.replay.views import Row
from trimtab.replay.weights import Said

CLAUDE, GPT = "claude-sonnet-4-5", "gpt-5.4"


def said(*words: str) -> list[Said]:
    """Messages of ten tokens, the user first."""
    return [
        Said(each.encode(), 10, 10, 1, "assistant" if place % 2 else "user", False)
        for place, each in enumerate(words)
    ]


def names(*words: str) -> list[bytes]:
    """What they are known by."""
    return [each.encode() for each in words]


def shown(rows: list[Row]) -> list[str]:
    """The words of some rows."""
    return [row.name.decode() for row in rows]


LEDGER = Row(b"ledger", 5, 1, "user", None, is_untouched=False)
CLIPPED = Row(b"clipped b", 5, 1, "user", 7, is_untouched=False, form_of=b"b")


@pytest.mark.parametrize(
    ("before", "now", "rows", "expected"),
    [
        ("a b c", "a b c d", said("a", "c"), "a c d"),
        ("", "a b", [], "a b"),
        ("a b c", "a c d", said("a", "c"), "a c d"),
        ("a b c", "a c d", said("a", "b", "c"), "a c d"),
        ("a b c d e", "a e f", said("a", "e"), "a e f"),
        ("a b a b", "a b x", said("a", "b", "a", "b"), "a b x"),
        ("a b a b", "a b a b a", said("a", "b"), "a b a"),
        ("a b c", "x y", said("a", "b", "c"), "x y"),
    ],
)
def test_a_policy_goes_on_with_what_it_sent_and_what_is_new(
    before: str, now: str, rows: list[Said], expected: str
) -> None:
    """Messages are known by what they say, wherever they stand; what went stays away."""
    came = Came.of(names(*before.split()), said(*now.split()))
    sent = [Row.of(each, place) for place, each in enumerate(rows)]

    assert shown(came.after(sent)) == expected.split()


def test_what_was_made_stays_and_a_shortened_form_goes_with_its_message() -> None:
    """A form has another name, and knows whose it is, wherever that now stands."""
    came = Came.of(names("a", "b", "c"), said("a", "c", "d"))
    sent = [LEDGER, CLIPPED, Row.of(said("c")[0], 2)]

    assert shown(came.after(sent)) == ["ledger", "c", "d"]
    more = Came.of(names("a", "b", "c"), said("a", "b", "c", "d"))
    assert shown(more.after(sent)) == ["ledger", "clipped b", "c", "d"]


def test_the_sizes_of_a_cut_are_those_of_the_two_requests() -> None:
    """And what stands in front of the first change is what both begin with."""
    stay = [Row.of(each, place) for place, each in enumerate(said("a", "b", "c", "d"))]
    head = Block(b"head", 100)

    assert cut_of(head, stay, [stay[0], LEDGER, stay[3]], 130) == Cut(140, 125, 110, 130)
    assert cut_of(head, stay, stay, 0) == Cut(140, 140, 140, 0)


@pytest.mark.parametrize(
    ("front", "read", "asked", "unread"),
    [
        (5_000, 5_000, [(CLAUDE, 0.0), (CLAUDE, 9_999.0)], ""),
        (5_000, 0, [(CLAUDE, 0.0)], "first"),
        (5_000, 0, [(GPT, 0.0), (CLAUDE, 1.0)], "model"),
        (5_000, 0, [(CLAUDE, 0.0), (CLAUDE, 301.0)], "idle"),
        (5_000, 0, [(CLAUDE, 0.0), (CLAUDE, 300.0)], "marker"),
        (5_000, 0, [(CLAUDE, None), (CLAUDE, 300.0)], "marker"),
        (5_000, 2_000, [(CLAUDE, 0.0), (CLAUDE, 301.0)], "marker"),
        (500, 0, [(CLAUDE, 0.0), (CLAUDE, 1.0)], "short"),
        (5_000, 4_992, [(GPT, 0.0), (GPT, 1.0)], "steps"),
        (5_000, 2_048, [(GPT, 0.0), (GPT, 1.0)], "marker"),
    ],
)
def test_why_less_is_read_than_could_be_is_told(
    front: int, read: int, asked: list[tuple[str, float | None]], unread: Unread
) -> None:
    """Each reason by itself, the surest first."""
    assert unread_of(front, read, asked, 300.0, is_cached=True) == unread
    expected = unread if read >= front else "uncached"
    assert unread_of(front, read, asked, 300.0, is_cached=False) == expected


def test_both_bills_of_a_turn_are_told_and_multiply_out() -> None:
    """At the rates that they were made with; what is nothing is left out."""
    stay = Split(fresh=1_000, read=100_000, written=2_000)
    without = Without([], ProviderCache(), [stay])
    made = Made(
        7, Cut(103_000, 40_000, 9_000, 100_000), Split(written_long=40_000), "idle", 660.0, without
    )

    assert made_words(made, BillRates(0.1, 1.25, 2.0)) == (
        "103,000 to 40,000 tokens, 9,000 in front of the first change; billed: 40,000 written for "
        "an hour at 2 (the session had been idle for 11 minutes, longer than the cache lives); "
        "without the cut: 100,000 read at 0.1 + 2,000 written at 1.25 + 1,000 fresh at 1"
    )
    assert unread_words("idle", None) == (
        "the session had been idle for longer than the cache lives"
    )
