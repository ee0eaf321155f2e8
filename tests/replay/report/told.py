"""Replayed sessions, made for these tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab.economy import Bill, Prices
from trimtab.plan import Outcome
from trimtab.replay.driver import Break, LeftOut, ReplayedRequest, SessionReport
from trimtab.replay.policies import CLIENT, DEFAULT, DIRECT
from trimtab.replay.report.page import Origin, Told
from trimtab.replay.report.story import (
    Cost,
    CutAccount,
    CutStory,
    Loss,
    MissStory,
    PricedModel,
    Story,
    TurnStory,
)
from trimtab.replay.results import Costs, PolicyResult, SessionResult

__all__ = [
    "LIMIT",
    "ORIGIN",
    "PRICES",
    "TRIGGER",
    "costs",
    "cut",
    "long_session",
    "request",
    "session",
    "turn",
]

ORIGIN = Origin("1.2.3", "trimtab replay a.jsonl --html FILE", "genai-prices 9.9")
PRICES = Prices(3.0, 0.3, 3.75, 6.0, 15.0)
LIMIT, TRIGGER = 200_000, 120_000


def costs(units: float, dollars: float | None = None) -> Costs:
    """A bill."""
    return Costs(Bill(fresh=10, read=90, cost=dollars), units)


def turn(
    sent: int, whole: int | None = None, *, billed: int | None = None, read: int = 0
) -> TurnStory:
    """A turn that costs a dollar for a million tokens, and a tenth of that for what is read."""
    whole = sent if whole is None else whole
    cost = Cost(sent - 0.9 * read, (sent - 0.9 * read) / 1e6)
    full = Cost(float(whole), whole / 1e6)
    return TurnStory(sent, whole, billed, TRIGGER, read, sent - read, 0, 500, cost, full, full)


def request(
    tokens: int, *, is_compacted: bool = False, breaks: Sequence[Break] = ()
) -> ReplayedRequest:
    """A request that was replayed."""
    outcome = Outcome("fits" if is_compacted else "untouched", LIMIT, tokens, tokens)
    return ReplayedRequest(
        outcome, "chars (estimate)", is_compacted, is_compacted, tuple(breaks), True, True, 0.0
    )


def cut(turn: int, before: int = 121_000, after: int = 48_000) -> CutStory:
    """A compaction."""
    return CutStory(
        turn,
        before,
        after,
        3_000,
        3_000,
        118_000,
        "",
        (Loss("results of tools", 40, 70_000), Loss("frames of messages", 0, 4_000)),
        (Loss("old turn told in a line", 40, 70_000), Loss("frames of messages", 0, 4_000)),
        1_000,
        30,
        40_000,
        3,
        60,
        10,
        5,
        4,
        {"files": 7},
        "trigger",
        121_400,
        60.0,
        CutAccount(Cost(50_000.0, 0.05), Cost(150_000.0, 0.15), 19, 1, Cost(20_000.0, 0.02), 9),
    )


def session(
    name: str = "a.jsonl",
    *,
    mine: float = 80.0,
    nothing: float = 100.0,
    client: float = 100.0,
    regret: float = 0.0,
    misses: int = 0,
    invalid: int = 0,
    is_money: bool = True,
    requests: Sequence[ReplayedRequest] = (),
    story: Story | None = None,
    left_out: Sequence[str] = (),
    count: int | None = None,
) -> Told:
    """A session, by its bills."""
    count = max(1, len(requests)) if count is None else count
    cuts = sum(each.is_compacted for each in requests)

    def bill(units: float) -> Costs:
        return costs(units, units / 10 if is_money else None)

    policies = {
        DIRECT: PolicyResult(DIRECT, count, bill(nothing)),
        CLIENT: PolicyResult(CLIENT, count, bill(client)),
        DEFAULT: PolicyResult(
            DEFAULT,
            count,
            bill(mine),
            bill(regret),
            misses,
            3 if cuts else 0,
            bill(1.0) if cuts else Costs(),
            cuts,
            changed=cuts,
            made_invalid=invalid,
            payback_turns=(2,) * cuts,
        ),
    }
    result = SessionResult(
        f"/home/somebody/logs/{name}",
        "claude-code",
        name,
        policies,
        TRIGGER,
        max((each.outcome.tokens_before for each in requests), default=0),
        explained=tuple(f"line {place}" for place in range(cuts)),
    )
    report = SessionReport(
        "claude-code",
        name,
        tuple(requests),
        tuple(map(LeftOut, left_out)),
        frozenset({"tools"}),
        ("a line was torn",),
    )
    return Told(result, report, Story() if story is None else story)


def long_session(
    name: str = "a.jsonl",
    turns: int = 60,
    *,
    cut_at: int = 40,
    mine: float = 80.0,
    is_money: bool = True,
) -> Told:
    """A session with a compaction, a miss, a break of the client's and a pause."""
    requests, stories = [], []
    sent = 3_000
    for place in range(turns):
        sent = 48_000 if place == cut_at else sent + 2_900
        whole = 3_000 + 2_900 * (place + 1)
        breaks: tuple[Break, ...] = ("compaction",) if place == cut_at else ()
        if place == 5:
            breaks = ("client_edited", "model_changed")
        is_lost = place in (0, 5, 9, cut_at)
        requests.append(request(sent, is_compacted=place == cut_at, breaks=breaks))
        stories.append(turn(sent, whole, billed=whole - 10, read=0 if is_lost else sent - 2_900))
    story = Story(
        tuple(stories),
        (cut(cut_at),) if cut_at < turns else (),
        (MissStory(turns - 2, 300, {"paths": 2, "settings": 1}),),
        (
            PricedModel(
                "claude-sonnet-4-5", turns, PRICES, 1_700_000_000.0, 1_700_100_000.0, False
            ),
            PricedModel("somebody's model", 1, None, None, None, False),
        ),
        True,
        300.0,
    )
    bare = session(
        name,
        mine=mine,
        is_money=is_money,
        requests=requests,
        story=story,
        misses=1,
        regret=1.0,
    )
    result = replace(
        bare.result,
        recorded=costs(99.0, 9.9),
        modelled=costs(100.0, 10.0),
        billed_requests=len(requests),
        cache_errors=(0.0, 0.01),
        prediction_errors=(0.001, 0.02),
        is_cache_explicit=True,
    )
    return replace(bare, result=result)
