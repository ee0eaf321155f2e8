"""Numbers of sessions add up, and can be written down."""

from __future__ import annotations

import json

import pytest

from trimtab.economy import Bill
from trimtab.replay.results import Costs, PolicyResult, SessionResult, percentile, share_saved

BILL = Bill(1, 2, 3, 4, 5, 0.5)
POLICY = PolicyResult(
    "deterministic", 7, Costs(BILL, 10.0), Costs(BILL, 2.0), 1, 2, Costs(BILL, 3.0), 4, 5, 6, 800, 9, 1,
    2, (3, None),
)  # fmt: skip
SESSION = SessionResult(
    "file",
    "kind",
    "name",
    {"deterministic": POLICY, "nothing": PolicyResult("nothing", costs=Costs(BILL, 20.0))},
    120,
    150,
    1,
    Costs(Bill(cost=None), 4.0),
    Costs(Bill(cost=None), 5.0),
    6,
    (0.0, 0.25),
    (0.5,),
    is_cache_explicit=True,
    left_out=3,
    explained=("why",),
)


@pytest.mark.parametrize("recorded", [SESSION.recorded, None])
def test_a_session_is_read_back_as_it_was(recorded: Costs | None) -> None:
    """Through JSON."""
    session = SessionResult(**{
        name: getattr(SESSION, name) for name in SESSION.__dataclass_fields__
    } | {"recorded": recorded, "modelled": recorded})  # fmt: skip

    assert SessionResult.from_json(json.loads(json.dumps(session.to_json()))) == session


def test_what_is_no_session_is_refused() -> None:
    """Whoever reads a journal can tell."""
    with pytest.raises(KeyError):
        SessionResult.from_json({})
    with pytest.raises(TypeError):
        SessionResult.from_json({**SESSION.to_json(), "more": 1})


def test_policies_add_up() -> None:
    """Counts and costs are summed, the largest request is the largest."""
    both = PolicyResult.sum([POLICY, POLICY])

    assert both == PolicyResult(
        "deterministic", 14, Costs(BILL.times(2), 20.0), Costs(BILL.times(2), 4.0), 2, 4,
        Costs(BILL.times(2), 6.0), 8, 10, 12, 800, 18, 2, 4, (3, None, 3, None),
    )  # fmt: skip
    assert PolicyResult.sum([]) == PolicyResult("")


def test_extra_exchanges_cost_what_they_cost() -> None:
    """So many times each; none adds nothing."""
    assert POLICY.with_exchanges(0) == POLICY.costs
    assert POLICY.with_exchanges(3) == Costs(BILL.times(4), 19.0)
    assert POLICY.net == Costs(BILL.times(2), 12.0)


@pytest.mark.parametrize(
    ("mine", "base", "share"),
    [
        (Costs(Bill(cost=1.0), 9.0), Costs(Bill(cost=4.0), 9.0), 0.75),
        (Costs(Bill(cost=None), 3.0), Costs(Bill(cost=4.0), 4.0), 0.25),
        (Costs(Bill(cost=1.0), 3.0), Costs(Bill(cost=None), 2.0), -0.5),
        (Costs(), Costs(), 0.0),
    ],
)
def test_savings_are_told_in_money_where_it_is_known(
    mine: Costs, base: Costs, share: float
) -> None:
    """Else in tokens at their rates; of nothing, nothing is saved."""
    assert share_saved(mine, base) == pytest.approx(share)


def test_a_session_tells_what_a_policy_saves() -> None:
    """Net of what was missed, or at so many exchanges; and whether it passes the trigger."""
    assert SESSION.saved_share("deterministic", "nothing") == pytest.approx(-1.0)
    assert SESSION.saved_share("deterministic", "nothing", 0) == pytest.approx(0.0)
    assert SESSION.passes_trigger


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [((), 0.5, None), ((1.0, 3.0), 0.5, 2.0), (tuple(range(100)), 0.95, 95), ((7.0,), 0.95, 7.0)],
)
def test_a_percentile_is_a_value_that_so_many_do_not_pass(
    values: tuple[float, ...], share: float, expected: float | None
) -> None:
    """The middle is the median."""
    assert percentile(values, share) == expected
