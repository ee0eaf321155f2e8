"""What holds of every tracker, whatever was billed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from trimtab import ContextTracker

TOKENS = some.integers(0, 2_000_000)
SIZES = some.integers(0, 8_000_000)
MAYBE = some.none() | SIZES


class Turn(NamedTuple):
    """What may be told of a turn."""

    tokens: int
    bytes: int
    counted: int | None
    output: int | None
    reasoning: int
    answer: int | None
    answer_counted: int | None
    is_rewritten: bool


TURNS = some.lists(
    some.builds(Turn, TOKENS, SIZES, MAYBE, MAYBE, TOKENS, MAYBE, MAYBE, some.booleans()),
    min_size=1,
    max_size=8,
)
ALONE = some.lists(some.tuples(TOKENS, SIZES), min_size=1, max_size=8)


def fed(turns: list[Turn]) -> ContextTracker:
    """A tracker after some turns."""
    tracker = ContextTracker()
    for turn in turns:
        tracker.observe(
            turn.tokens,
            turn.bytes,
            output_tokens=turn.output,
            reasoning_tokens=turn.reasoning,
            counted=turn.counted,
        )
        if turn.answer is not None:
            tracker.answered(turn.answer, counted=turn.answer_counted)
        if turn.is_rewritten:
            tracker.invalidate()
    return tracker


def law_monotone(tracker: ContextTracker, size: int, counted: int | None, limit: int) -> None:
    """Where the reported size reaches a limit, the tracker says so."""
    if tracker.reported is not None and tracker.reported >= limit:
        assert tracker.over(limit, size, counted=counted)


def law_bounded(tracker: ContextTracker, last: tuple[int, int], size: int) -> None:
    """By bytes alone, a prediction moves by a token a byte at most."""
    predicted = tracker.predict(size)
    assert predicted is not None
    assert abs(predicted - last[0]) <= abs(size - last[1]) + 1
    assert predicted >= 0


@given(turns=TURNS, size=SIZES, counted=MAYBE, limit=TOKENS)
@settings(max_examples=100)
def test_a_prediction_only_adds_a_reason(
    turns: list[Turn], size: int, counted: int | None, limit: int
) -> None:
    """However much is told, and whatever was billed."""
    tracker = fed(turns)

    law_monotone(tracker, size, counted, limit)
    if turns[-1].is_rewritten:
        assert tracker.reported is None


@given(series=ALONE, size=SIZES, is_rewritten=some.booleans())
@settings(max_examples=100)
def test_the_change_in_bytes_bounds_the_predicted_change(
    series: list[tuple[int, int]], size: int, *, is_rewritten: bool
) -> None:
    """After a rewrite too."""
    tracker = ContextTracker()
    for tokens, observed in series:
        tracker.observe(tokens, observed)
    if is_rewritten:
        tracker.invalidate()

    law_bounded(tracker, series[-1], size)


@given(turns=TURNS, size=SIZES, counted=MAYBE, limit=TOKENS)
@settings(max_examples=100)
def test_all_numbers_are_whole_and_hold_together(
    turns: list[Turn], size: int, counted: int | None, limit: int
) -> None:
    """No fraction, nothing below 0, a bound is never below what it bounds."""
    tracker = fed(turns)
    predicted = tracker.predict(size, counted=counted)
    bounds = [
        tracker.upper(size, counted=counted, confidence=confidence)
        for confidence in (0.5, 0.8, 0.95, 0.99)
    ]
    afforded = tracker.affordable_output_bytes(limit, size, counted=counted)
    forecast = tracker.forecast(limit, size, counted=counted)

    assert forecast is not None
    numbers: list[Any] = [predicted, *bounds, afforded, forecast.used, forecast.headroom]
    assert [type(number) for number in numbers] == [int] * 8
    assert min(numbers) >= 0
    assert numbers[:5] == sorted(numbers[:5])
    assert forecast.used == predicted
    assert forecast.headroom == max(0, limit - forecast.used)
    assert (forecast.per_turn is None) == (forecast.turns_left is None)
    if forecast.per_turn is not None and forecast.turns_left is not None:
        assert forecast.per_turn * forecast.turns_left <= forecast.headroom


@given(turns=TURNS, more=TURNS, size=SIZES, counted=MAYBE)
@settings(max_examples=100)
def test_copies_and_what_is_read_back_go_on_alike_and_apart(
    turns: list[Turn], more: list[Turn], size: int, counted: int | None
) -> None:
    """A copy knows the same, through JSON too; what it learns is its own."""
    tracker = fed(turns)
    before = tracker.to_fields()
    copies = [tracker.copy(), ContextTracker.from_fields(json.loads(json.dumps(before)))]
    for copied in copies:
        for turn in more:
            copied.observe(turn.tokens, turn.bytes, counted=turn.counted)

    assert tracker.to_fields() == before
    whole = fed(turns)
    for turn in more:
        whole.observe(turn.tokens, turn.bytes, counted=turn.counted)
    for copied in copies:
        assert copied == whole
        assert copied.upper(size, counted=counted) == whole.upper(size, counted=counted)


@given(turns=some.lists(TURNS, min_size=20, max_size=40))
@settings(max_examples=5)
def test_a_tracker_stays_small(turns: list[list[Turn]]) -> None:
    """It holds a few numbers, however many turns there were."""
    assert len(json.dumps(fed([turn for part in turns for turn in part]).to_fields())) < 500


# --------------------------------------------------------------- planted faults


def forgets_what_was_reported(tracker: ContextTracker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracker that believes its prediction alone."""
    alone: Callable[..., bool] = lambda _, limit, size, counted=None: (  # noqa: E731 - it is planted
        (tracker.predict(size, counted=counted) or 0) >= limit
    )
    monkeypatch.setattr(ContextTracker, "over", alone)


def believes_any_rate(tracker: ContextTracker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracker whose rate has no bounds."""
    del tracker
    monkeypatch.setattr(ContextTracker, "_rate_by_bytes", lambda _: (30_000, 1_000))


def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each law fails on a tracker that breaks it."""
    tracker = ContextTracker()
    tracker.observe(20_000, 100_000)
    tracker.observe(50_000, 101_000)
    law_monotone(tracker, 60_000, None, 50_000)
    law_bounded(tracker, (50_000, 101_000), 99_000)

    with monkeypatch.context() as planted:
        forgets_what_was_reported(tracker, planted)
        with pytest.raises(AssertionError):
            law_monotone(tracker, 60_000, None, 50_000)
    with monkeypatch.context() as planted:
        believes_any_rate(tracker, planted)
        with pytest.raises(AssertionError):
            law_bounded(tracker, (50_000, 101_000), 99_000)
