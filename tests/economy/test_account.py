"""Bills add up, and a compaction is held to account."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.economy import NOTHING, Bill, Payback, Prices, Split, payback, priced

PRICES = Prices(2.0, 0.2, 2.5, 4.0, 10.0)


def test_a_request_is_priced_by_its_parts() -> None:
    """Input by how it is billed, and the answer."""
    bill = priced(Split(1_000_000, 500_000, 200_000, 100_000), 50_000, PRICES)

    assert bill == Bill(1_000_000, 500_000, 200_000, 100_000, 50_000, bill.cost)
    assert bill.cost == pytest.approx(3.5)
    assert bill.total_input == 1_800_000
    assert bill.cached_share == pytest.approx(5 / 18)
    assert NOTHING.cached_share == 0.0


@pytest.mark.parametrize("prices", [None, Prices(2.0, 0.2), Prices(None, 0.2, output=1.0)])
def test_one_price_that_is_not_known_leaves_the_tokens(prices: Prices | None) -> None:
    """And makes the money of all that it is added to unknown."""
    bill = priced(Split(10), 5, prices)

    assert bill == Bill(10, output=5, cost=None)
    assert (bill + priced(Split(1), 1, PRICES)) == Bill(11, output=6, cost=None)
    assert bill.times(3) == Bill(30, output=15, cost=None)


bills = st.builds(
    Bill,
    *[st.integers(0, 10**6)] * 5,
    st.one_of(st.none(), st.integers(0, 100).map(float)),
)


@given(st.lists(bills, max_size=5), st.integers(0, 4))
def test_bills_add_up(each: list[Bill], count: int) -> None:
    """In any order, and so many times is so many sums."""
    assert Bill.sum(each) == Bill.sum(reversed(each))
    assert Bill.sum(each * count) == Bill.sum(each).times(count) or not count


@pytest.mark.parametrize(
    ("spent", "savings", "expected"),
    [
        (100.0, [40.0, 40.0, 40.0, 40.0], Payback(100.0, 160.0, 3)),
        (100.0, [40.0, 40.0], Payback(100.0, 80.0, None)),
        (0.0, [], Payback(0.0, 0.0, 0)),
        (-5.0, [1.0], Payback(-5.0, 1.0, 0)),
        (10.0, [20.0, -30.0], Payback(10.0, -10.0, 1)),
    ],
)
def test_a_compaction_has_paid_when_the_sum_is_even(
    spent: float, savings: list[float], expected: Payback
) -> None:
    """The first turn counts; what it lost again later is in the sum."""
    account = payback(spent, savings)

    assert account == expected
    assert account.net == expected.saved - spent
