"""When and how often a model is asked again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import PolicyError, SummaryError
from trimtab.background import Retry
from trimtab.background.retry import is_retryable, wait_asked


@pytest.mark.parametrize(
    ("attempt", "asked", "chance", "wait"),
    [
        (1, None, 0.5, 1.0),
        (2, None, 0.5, 2.0),
        (5, None, 0.5, 16.0),
        (6, None, 0.5, 30.0),
        (10_000, None, 0.5, 30.0),
        (1, None, 0.0, 0.8),
        (1, None, 1.0, 1.2),
        (1, 7.0, 0.5, 7.0),
        (3, 1.0, 0.5, 4.0),
        (1, 10_000.0, 0.5, 30.0),
    ],
)
def test_waits_grow_are_spread_and_are_cut(
    attempt: int, asked: float | None, chance: float, wait: float
) -> None:
    """The first wait is a second, also where the provider asks for hours it is 30 at most."""
    assert Retry().wait_seconds(attempt, asked, chance) == pytest.approx(wait)


@given(
    attempt=st.integers(1, 10**6),
    asked=st.none() | st.floats(0, 1e308),
    chance=st.floats(0, 1),
    factor=st.floats(1, 1e6),
)
def test_a_wait_is_never_nothing_and_never_too_long(
    attempt: int, asked: float | None, chance: float, factor: float
) -> None:
    """Whatever the numbers."""
    assert 0 < Retry(factor=factor).wait_seconds(attempt, asked, chance) <= 30


@pytest.mark.parametrize(
    "settings",
    [
        {"retries": -1},
        {"retries": 1.5},
        {"first_seconds": 0},
        {"most_seconds": float("inf")},
        {"factor": 0.9},
        {"factor": float("nan")},
        {"jitter": 1.0},
        {"jitter": -0.1},
    ],
)
def test_a_setting_that_cannot_hold_is_refused(settings: dict[str, Any]) -> None:
    """It is named."""
    with pytest.raises(PolicyError, match=next(iter(settings))):
        Retry(**settings)


@pytest.mark.parametrize(
    ("error", "again", "wait"),
    [
        (SummaryError("a"), False, None),
        (SummaryError("a", is_retryable=True, wait_seconds=3), True, 3),
        (SummaryError("a", is_retryable=True, wait_seconds=-3), True, None),
        (TimeoutError(), True, None),
        (ConnectionRefusedError(), True, None),
        (OSError(), False, None),
        (ValueError(), False, None),
    ],
)
def test_what_may_go_better_is_told_from_what_will_not(
    error: Exception,
    again: bool,  # noqa: FBT001 - what must come out
    wait: float | None,
) -> None:
    """By what it is."""
    assert (is_retryable(error), wait_asked(error)) == (again, wait)
