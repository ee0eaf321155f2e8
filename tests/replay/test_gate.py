"""Law 7: never dearer."""

from __future__ import annotations

import pytest

from trimtab.economy import Bill
from trimtab.replay.gate import Verdict, base_of, judge
from trimtab.replay.policies import CLIENT, DEFAULT, DIRECT
from trimtab.replay.results import Costs, PolicyResult, SessionResult


def costs(units: float) -> Costs:
    """A bill of so many dollars."""
    return Costs(Bill(cost=units), units)


def session(
    mine: float,
    nothing: float = 100.0,
    client: float = 100.0,
    *,
    name: str = "it",
    largest: int = 150,
    regret: float = 0.0,
    exchange: float = 0.0,
    over: int = 0,
    compactions: int = 1,
    changed: int = 1,
    invalid: int = 0,
    repairs: int = 0,
    requests: int = 10,
) -> SessionResult:
    """What a session came to."""
    each = {
        DIRECT: PolicyResult(DIRECT, requests, costs(nothing), over_limit=over),
        CLIENT: PolicyResult(CLIENT, requests, costs(client)),
        DEFAULT: PolicyResult(
            DEFAULT,
            requests,
            costs(mine),
            costs(regret),
            exchange=costs(exchange),
            compactions=compactions,
            changed=changed,
            made_invalid=invalid,
            repairs=repairs,
        ),
    }
    return SessionResult("file", "kind", name, each, trigger_tokens=100, largest_tokens=largest)


def test_it_competes_with_the_cheaper_of_nothing_and_the_client() -> None:
    """Where the provider would have taken every request; else with the client."""
    assert base_of(session(1, nothing=5, client=4)).policy == CLIENT
    assert base_of(session(1, nothing=4, client=5)).policy == DIRECT
    assert base_of(session(1, nothing=4, client=5, over=1)).policy == CLIENT


def test_sessions_that_are_cheaper_hold_the_law() -> None:
    """In numbers, those past the trigger at three exchanges a compaction as well."""
    verdict = judge([
        session(80, name="a", regret=5, exchange=2),
        session(100, name="b", largest=50, compactions=0, changed=0),
        session(0, name="empty", requests=0),
    ])  # fmt: skip

    assert verdict == Verdict(
        2, 1, verdict.saved, verdict.saved_past_trigger, verdict.worst, "b", ()
    )
    assert verdict.saved == pytest.approx(0.075)
    assert verdict.saved_past_trigger == pytest.approx(0.14)
    assert verdict.worst == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("sessions", "broken"),
    [
        ([session(70), session(103, name="b")], ["b: 3.0% dearer, more than 2%"]),
        ([session(70), session(90, name="b", regret=13)], ["b: 3.0% dearer, more than 2%"]),
        ([session(70), session(95, nothing=90, name="b")], ["b: 5.6% dearer, more than 2%"]),
        ([session(101)], ["in all: 1.0% dearer"]),
        ([session(100)], ["in all: 0.0% dearer"]),
        ([session(90, invalid=2)], ["it: 2 requests were made invalid"]),
        (
            [session(90, compactions=0)],
            ["it: never compacted, and yet not sent as it came"],
        ),
        ([session(90, compactions=0, repairs=1)], []),
        ([session(70), session(101.9, name="b")], []),
        ([session(100, largest=50, changed=0, compactions=0)], []),
        ([], []),
    ],
)
def test_where_it_is_dearer_the_law_is_broken(
    sessions: list[SessionResult], broken: list[str]
) -> None:
    """By more than 2 % in one session, at all in the sum, or where a request was made worse."""
    assert list(judge(sessions).broken) == broken
