"""How far off the numbers are is told with what lies behind it."""

from __future__ import annotations

from dataclasses import replace

from tests.replay.report.pages import page_of
from tests.replay.report.told import ORIGIN, long_session, session
from trimtab.replay.report.page import Told, report


def off(told: Told, *, cache: dict[str, int], sizes: dict[str, int]) -> Told:
    """A session whose cache and sizes were foretold wrongly so often."""
    result = replace(
        told.result,
        cache_errors=(0.5,) * sum(cache.values()) + (0.0,),
        prediction_errors=(0.4,) * sum(sizes.values()) + (0.0,),
        cache_causes=cache,
        size_causes=sizes,
    )
    return replace(told, result=result)


def test_large_errors_are_counted_by_cause_and_placed() -> None:
    """In all sessions together, with the one that has most of them."""
    page = page_of(
        report(
            [
                off(long_session("b.jsonl"), cache={"shrunk": 3}, sizes={"first_requests": 1}),
                off(long_session("c.jsonl"), cache={"shrunk": 1, "more_read": 1}, sizes={}),
            ],
            ORIGIN,
        )
    )
    told = " ".join(page.texts["p"])
    causes = [each for each in page.texts["li"] if each[:2] in ("4:", "1:")]

    assert "5 were off by more than 10%, 3 of them in b.jsonl." in told
    assert "1 was off by more than 10%." in told
    assert [each.split(",")[0] for each in causes] == [
        "4: the client had made the request smaller in a way that the log does not show (such as clearing old results)",
        "1: the provider read more than this session is known to have written: another session had",
        "1: one of the first requests of a model: until some of its bills are known",
    ]


def test_sessions_whose_bills_are_not_known_are_named_with_what_is_lacking() -> None:
    """A request without a bill, one that was left out, or a price; many are counted."""
    bare = long_session("b.jsonl")
    turns = (replace(bare.story.turns[0], billed_tokens=None), *bare.story.turns[1:])
    lacking = replace(
        bare,
        story=replace(bare.story, turns=turns),
        result=replace(bare.result, billed_requests=59),
    )
    others = [session(f"{place}.jsonl", left_out=["why"] if place else []) for place in range(2)]
    told = " ".join(page_of(report([long_session(), lacking, *others], ORIGIN)).texts["p"])

    assert "3 sessions could not be held against what was billed as a whole: " in told
    for words in (
        "b.jsonl (1 of 60 requests lack a bill)",
        "0.jsonl (not every price or bill is known)",
        "1.jsonl (1 request left out)",
    ):
        assert words in told
    many = [long_session(), *(session(f"{place}.jsonl") for place in range(14))]
    assert " and 4 more.<" in report(many, ORIGIN)


def test_bills_that_were_not_checked_are_accounted_for() -> None:
    """Checked, first ones and those of sessions without a cache are all that there are."""
    told = long_session("b.jsonl")
    checked = replace(told, result=replace(told.result, cache_errors=(0.0,) * 59))
    uncached = replace(
        long_session("c.jsonl"),
        story=replace(told.story, is_cached=False),
        result=replace(told.result, name="c.jsonl", cache_errors=()),
    )
    words = " ".join(page_of(report([checked], ORIGIN)).texts["p"])
    both = " ".join(page_of(report([checked, uncached], ORIGIN)).texts["p"])

    first = "Not checked: 1 of the first request of a session, because another one may have written what it reads"
    assert f"These logs hold 60 bills. {first}." in words
    assert f"These logs hold 120 bills. {first}, and 60 of sessions that use no cache." in both
