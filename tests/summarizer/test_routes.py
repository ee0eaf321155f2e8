"""Which route costs less: in the sum of what is hit and what is missed."""

from __future__ import annotations

import pytest

from trimtab.economy.prices import Prices
from trimtab.summarizer.routes import CacheRecord, cheaper_route

CHEAP = Prices(fresh=1.0, read=0.1, write=1.25, output=5.0)
DEAR = Prices(fresh=15.0, read=1.5, write=18.75, output=75.0)
ALWAYS = CacheRecord(hits=98)
NEVER = CacheRecord(misses=98)


@pytest.mark.parametrize(
    ("own", "loop", "record", "route"),
    [
        (CHEAP, CHEAP, ALWAYS, "warm"),
        (CHEAP, CHEAP, NEVER, "standalone"),
        (CHEAP, CHEAP, CacheRecord(), "standalone"),  # a miss pays for all of it
        (CHEAP, DEAR, ALWAYS, "standalone"),  # the output is at the dear price
        (DEAR, CHEAP, CacheRecord(), "warm"),
        (None, CHEAP, ALWAYS, "standalone"),
        (CHEAP, None, ALWAYS, "standalone"),
        (CHEAP, Prices(1.0, None, output=1.0), ALWAYS, "standalone"),
        (CHEAP, Prices(1.0, 0.1), ALWAYS, "standalone"),
    ],
)
def test_the_route_is_the_one_that_is_expected_to_cost_less(
    own: Prices | None, loop: Prices | None, record: CacheRecord, route: str
) -> None:
    """8,000 tokens to sum up of a prefix of 12,000, 1,000 out; unknown prices decide nothing."""
    assert cheaper_route(8_000, 12_000, 1_000, own, loop, record) == route


def test_misses_are_expected_as_they_were_seen() -> None:
    """A half before any; most of the input must have been read."""
    record = CacheRecord()
    assert record.miss_share == 0.5
    record = record.after(1_000, 501).after(1_000, 500)
    assert (record, record.miss_share) == (CacheRecord(1, 1), 0.5)
    assert ALWAYS.miss_share == 0.01
