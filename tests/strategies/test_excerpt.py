"""Texts are shortened to their two ends, and nothing in them is torn."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import CharTokenCounter
from trimtab.strategies.excerpt import clip_lines, clip_tokens

COUNT = CharTokenCounter().count


def test_lines_beyond_the_limit_leave_a_marker_in_the_middle() -> None:
    """400 lines at a limit of 200 are exactly 200: 98 first, the marker's three, 99 last."""
    text = "\n".join(str(number) for number in range(400))

    clipped = clip_lines(text, 200).split("\n")

    assert len(clipped) == 200
    assert clipped[:98] == [str(number) for number in range(98)]
    assert clipped[98:101] == ["", "[trimtab: 203 lines removed]", ""]
    assert clipped[101:] == [str(number) for number in range(301, 400)]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_up_to_four_lines_there_is_no_room_for_a_marker(limit: int) -> None:
    """Of a long text the first lines stay alone."""
    assert clip_lines("a\nb\nc\nd\ne\nf", limit) == "\n".join("abcdef"[:limit])


def test_a_line_break_at_the_end_is_kept_and_is_no_line() -> None:
    """Three lines with a break at the end are three lines."""
    assert clip_lines("a\nb\nc\n", 3) == "a\nb\nc\n"
    assert clip_lines("a\nb\nc\nd\n", 3) == "a\nb\nc\n"


@given(st.lists(st.sampled_from(["", "a", "bb"])), st.integers(1, 12), st.booleans())
def test_clipping_lines_twice_is_clipping_once(
    rows: list[str],
    limit: int,
    trail: bool,  # noqa: FBT001 - drawn
) -> None:
    """What was clipped has exactly the limit's lines and is not clipped again."""
    text = "\n".join(rows) + ("\n" if trail else "")

    once = clip_lines(text, limit)

    assert clip_lines(once, limit) == once
    assert once.removesuffix("\n").count("\n") + 1 <= max(limit, 1)


def test_a_long_text_keeps_both_ends_within_its_tokens() -> None:
    """The marker says how much went, and the whole is within the room."""
    text = "begin " + "x" * 4_000 + " end"

    clipped = clip_tokens(text, 100, COUNT)

    assert COUNT(clipped) <= 100
    assert clipped.startswith("begin x")
    assert clipped.endswith("x end")
    assert "characters removed]" in clipped


def test_a_text_that_fits_is_the_same_object() -> None:
    """Nothing is done where nothing is wanted."""
    text = "short " * 3

    assert clip_tokens(text, 100, COUNT) is text


def test_without_room_the_marker_alone_is_left() -> None:
    """Where not even the marker fits, it says at least that something was there."""
    assert clip_tokens("x" * 100, 1, COUNT) == "[trimtab: 100 characters removed]"


@given(
    st.text(st.sampled_from('ab\n\\"é\u0301\u200d👩🏽\u0308日'), min_size=200, max_size=400),
    st.integers(12, 60),
)
def test_no_character_is_torn(text: str, room: int) -> None:
    """Neither end begins or ends inside a grapheme."""
    clipped = clip_tokens(text, room, COUNT)
    if clipped == text or clipped.startswith("[trimtab"):
        return
    head, _, rest = clipped.partition("\n[trimtab: ")
    tail = rest.partition("]\n")[2]
    after_head = text[len(head) : len(head) + 1] if head else ""

    assert text.startswith(head)
    assert text.endswith(tail)
    for behind in (after_head, tail[:1]):
        assert not behind or (unicodedata.combining(behind) == 0 and behind != "\u200d")


@given(st.integers(20, 300))
def test_no_escape_is_torn(room: int) -> None:
    """JSON inside a text, and colours of a terminal, are cut between escapes."""
    text = json.dumps({"text": 'é "quoted"\n\\ and \u2028' * 60}) + "\x1b[31;1mred\x1b[0m" * 60

    clipped = clip_tokens(text, room, COUNT)
    head, _, rest = clipped.partition("\n[trimtab: ")
    tail = rest.partition("]\n")[2]

    for end in (head,):
        backslashes = len(end) - len(end.rstrip("\\"))
        assert backslashes % 2 == 0
        assert "\x1b" not in end[-3:] or end.endswith("m")
    assert not tail.startswith(("[31", "31;1m", "0m")) or not tail


def test_a_payload_is_kept_or_dropped_whole() -> None:
    """A data URL in a text is not cut in its middle."""
    url = "data:image/png;base64," + "QUJD" * 400
    text = f"{'before ' * 100}{url}{' after' * 100}"

    for room in range(60, 700, 37):
        clipped = clip_tokens(text, room, COUNT)

        assert ("base64," in clipped) == (url in clipped)
