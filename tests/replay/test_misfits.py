"""What lies behind a prediction that was far off the bill."""

from __future__ import annotations

import pytest

from trimtab.replay.misfits import CacheCause, SizeCause, cache_cause, size_cause


@pytest.mark.parametrize(
    ("modelled", "read", "excess", "cause"),
    [
        (10_000, 0, 0, "nothing_read"),
        (10_000, 2_000, 0, "less_read"),
        (10_000, 2_000, 3_999, "less_read"),
        (10_000, 2_000, 4_000, "shrunk"),
        (10_000, 30_000, 0, "more_read"),
        (0, 30_000, 9_000, "more_read"),
    ],
)
def test_a_cache_that_was_read_otherwise_is_told_by_how(
    modelled: int, read: int, excess: int, cause: CacheCause
) -> None:
    """Nothing at all, less than lay there, less because less was sent, or more."""
    assert cache_cause(modelled, read, excess) == cause


@pytest.mark.parametrize(
    ("bills", "foretold", "billed", "before", "cause"),
    [
        (0, 9_000, 20_000, 0, "first_requests"),
        (2, 9_000, 20_000, 8_000, "first_requests"),
        (3, 30_000, 20_000, 28_000, "shrunk"),
        (3, 30_000, 20_000, 18_000, "new_messages"),
        (3, 10_000, 20_000, 28_000, "new_messages"),
    ],
)
def test_a_size_that_was_foretold_wrongly_is_told_by_its_cause(
    bills: int, foretold: int, billed: int, before: int, cause: SizeCause
) -> None:
    """Too little was known, the context had shrunk, or what came weighs otherwise."""
    assert size_cause(bills, foretold, billed, before) == cause
