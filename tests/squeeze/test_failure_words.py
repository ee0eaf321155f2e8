"""Failures are known by their words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.squeeze.failure_words import failure_lines, tells_of_failure


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        ("TypeError: x is not a function", True),
        ("--- FAIL: TestSum (0.00s)", True),
        ("warning: unused variable", True),
        ("bash: foo: command not found", True),
        ("\u2717 adds two numbers", True),
        ("request timed out after 30s", True),
        ("INFO worker 3 finished job 17", False),
        ("\u2713 adds two numbers", False),
        ("", False),
    ],
)
def test_a_line_tells_of_a_failure(line: str, tells: bool) -> None:  # noqa: FBT001 - a table
    """Whatever the case of its letters."""
    assert tells_of_failure(line) is tells
    assert tells_of_failure(line.upper()) is tells


@given(
    st.lists(st.sampled_from(["", "fine", "ERROR: error", "a warning", "\u0130 failed"])),
    st.integers(1, 4),
)
def test_the_first_lines_that_tell_are_found(lines: list[str], most: int) -> None:
    """Each line once, in order, as it stands; some letters get longer in lower case."""
    expected = [line for line in lines if tells_of_failure(line)][:most]

    assert failure_lines("\n".join(lines), most) == expected
