"""Runs of a line are counted, and the count tells all of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.squeeze.repeated_lines import repeated_lines

LINE = "waiting for the server to come up"
MARKED = re.compile(r"^(.*)\n\[trimtab: the line above comes (\d+) times in a row\]$", re.MULTILINE)


def unfolded(text: str) -> str:
    """The text that a folded one stands for."""
    return MARKED.sub(lambda found: "\n".join([found[1]] * int(found[2])), text)


def test_a_run_stands_once_with_its_count() -> None:
    """What stands before and behind it stays."""
    text = "\n".join(["start", *[LINE] * 40, "up", *[LINE] * 3, ""])

    assert repeated_lines(text) == (
        f"start\n{LINE}\n[trimtab: the line above comes 40 times in a row]\nup\n"
        f"{LINE}\n{LINE}\n{LINE}\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n" * 500,
        "  \n" * 500,
        "}\n" * 20,
        f"{LINE}\nother\n" * 40,
        f"{LINE}\n{LINE} \n" * 40,
        f"{LINE}\n" * 40 + "[trimtab: the line above comes 3 times in a row]",
    ],
)
def test_what_is_not_worth_a_marker_stays(text: str) -> None:
    """Empty lines, short runs, lines that differ, and texts that hold such a marker."""
    assert repeated_lines(text) == text


@given(st.lists(st.tuples(st.sampled_from(["", "a", LINE, "x" * 90]), st.integers(1, 9))))
def test_a_folded_text_tells_all_of_itself(runs: list[tuple[str, int]]) -> None:
    """The text can be written again from it, and folding it again changes nothing."""
    text = "\n".join(line for line, times in runs for _ in range(times))

    folded = repeated_lines(text)

    assert unfolded(folded) == text
    assert repeated_lines(folded) == folded
    assert len(folded) <= len(text)
