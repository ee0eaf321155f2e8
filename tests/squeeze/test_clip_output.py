"""Very long outputs keep both ends and their failures, and say how to get the rest."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab import CharTokenCounter
from trimtab.squeeze.clip_output import clip_output

COUNT = CharTokenCounter().count


def lines_of(count: int) -> list[str]:
    """Lines of some forty characters, none alike."""
    return [f"{number:06d} some words that fill up a line" for number in range(count)]


def test_a_long_output_keeps_its_ends_and_its_failures() -> None:
    """2,000 tokens of each end, and between them what tells of failures."""
    lines = lines_of(2_000)
    lines[1_000] = "E   AssertionError: 1 != 2"

    clipped = clip_output("\n".join(lines), "abc", COUNT).split("\n")

    marker = next(place for place, line in enumerate(clipped) if line.startswith("[trimtab: "))
    tail = len(clipped) - marker - 3
    left_out = 2_000 - marker - tail
    assert clipped[:marker] == lines[:marker]
    assert clipped[marker : marker + 3] == [
        f"[trimtab: {left_out} lines left out here, but for 1 that tell of failures; to be asked for by recall of abc]",
        "E   AssertionError: 1 != 2",
        "[trimtab: it ends with]",
    ]
    assert clipped[marker + 3 :] == lines[-tail:]
    assert COUNT("\n".join(lines[:marker])) == pytest.approx(2_000, rel=0.02)
    assert COUNT("\n".join(lines[-tail:])) == pytest.approx(2_000, rel=0.02)


def test_up_to_8000_tokens_it_stays() -> None:
    """The text itself comes back, also where it has more characters."""
    text = "\n".join(lines_of(840))

    assert 7_900 < COUNT(text) <= 8_000
    assert clip_output(text, "abc", COUNT) is text


def test_a_clipped_text_is_not_clipped_again() -> None:
    """Even where what stays is long."""
    text = f"[trimtab: 3 lines left out here; to be asked for by recall of abc]\n{'word ' * 40_000}"

    assert clip_output(text, "abc", COUNT) is text


def test_a_count_goes_with_the_line_that_it_counts() -> None:
    """A marker that tells of the line above it does not begin what stays."""
    marker = "[trimtab: the line above comes 9 times in a row]"
    text = "\n".join(f"{line}\n{marker}" for line in lines_of(1_500))

    clipped = clip_output(text, "abc", COUNT)

    _, _, tail = clipped.partition("recall of abc]\n")
    assert tail.startswith("00")


@pytest.mark.parametrize(
    "unit", ["\U0001f469\U0001f3fd\u200d\U0001f680", "e\u0301", "\\n", "\\\\", "\u65e5"]
)
def test_no_character_is_torn(unit: str) -> None:
    """A text without a break is cut between two characters that can stand alone."""
    for around in ("", "x", "xx", "xxx"):
        text = around + unit * 30_000 + around

        clipped = clip_output(text, "abc", COUNT)

        head, _, rest = clipped.partition("\n[trimtab: ")
        tail = rest.partition("]\n")[2]
        assert len(head) > 3 < len(tail)
        assert head == around + unit * ((len(head) - len(around)) // len(unit))
        assert tail == unit * ((len(tail) - len(around)) // len(unit)) + around


def test_a_payload_stays_or_goes_whole() -> None:
    """Half of a picture is none."""
    payload = "iVBORw0KGgo" * 4_000
    text = f"{'before ' * 900}{payload}{' after' * 900}"

    clipped = clip_output(text, "abc", COUNT)

    assert "iVBOR" not in clipped
    assert clipped.startswith("before before")
    assert clipped.endswith("after after")


@given(st.text(min_size=1, max_size=40), st.integers(9_000, 12_000))
@settings(max_examples=25)
def test_both_ends_are_ends_of_the_text(unit: str, count: int) -> None:
    """Nothing is put in but markers and lines of the text, and the ends are never combining."""
    text = unit * (count // len(unit) * 4)

    clipped = clip_output(text, "abc", lambda words: len(words) // 4)

    if clipped != text:
        head, _, rest = clipped.partition("\n[trimtab: ")
        tail = rest.rpartition("]\n")[2]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert not tail or not unicodedata.combining(tail[0])
        assert len(clipped) < len(text)
