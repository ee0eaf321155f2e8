"""The rows of a session: what is told of each turn, and which are shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.replay.report.told import long_session, request, turn
from trimtab.replay.report.story import Cost, MissStory, Story
from trimtab.replay.report.turns import Row, cause_words, events_of, rows_of, thinned


def rows(turns: int = 60, cut_at: int = 40) -> list[Row]:
    """The rows of a long session."""
    told = long_session(turns=turns, cut_at=cut_at)
    return rows_of(told.report.requests, told.story)


def test_bills_add_up_over_the_turns() -> None:
    """Ours, nothing and the client, each by itself; one unknown price makes the sum unknown."""
    first, second = turn(1_000), turn(2_000, 5_000)
    unknown = Story((first, second, turn(0)))
    story = Story((*unknown.turns[:2], turn(3_000)))
    told = rows_of([request(1), request(2), request(3)], story)

    assert [row.bills[0].units for row in told] == [1_000.0, 3_000.0, 6_000.0]
    assert [row.bills[1].units for row in told] == [1_000.0, 6_000.0, 9_000.0]
    assert told[-1].bills[2] == told[-1].bills[1]


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    """And stays so."""
    story = long_session(turns=3, cut_at=99).story
    lost = story.turns[1]
    nameless = type(lost)(
        **{**{name: getattr(lost, name) for name in lost.__slots__}, "cost": Cost(1.0, None)}
    )
    told = rows_of([request(1)] * 3, Story((story.turns[0], nameless, story.turns[2])))

    assert [row.bills[0].dollars is None for row in told] == [False, True, True]
    assert all(row.bills[1].dollars is not None for row in told)


def test_a_turn_says_what_happened_on_it() -> None:
    """In a few words, and nothing where nothing did."""
    told = rows()

    assert [events_of(row) for row in told if events_of(row)] == [
        "client edited, model changed",
        "cache not read",
        "compacted",
        "answer missed something",
    ]
    assert [row.place for row in told if row.is_telling] == [6, 10, 41, 59]


def test_a_lost_cache_is_told_only_where_there_was_something_to_lose() -> None:
    """Not of a short request, not of a break, and not where the provider caches nothing."""
    requests = [request(1), request(2, breaks=["tools_changed"]), request(3), request(4)]
    turns = (turn(3_000), turn(9_000), turn(9_500), turn(9_600, read=9_500))

    told = [row.is_cold for row in rows_of(requests, Story(turns))]
    assert told == [False, False, True, False]
    assert not any(row.is_cold for row in rows_of(requests, Story(turns, is_cached=False)))


def test_forecasts_begin_anew_at_a_compaction() -> None:
    """The fall is no turn that cost nothing."""
    told = rows()

    assert told[39].forecast is not None
    assert told[39].forecast.turns_left == 0
    assert told[-1].forecast is not None
    assert (told[-1].forecast.per_turn, told[-1].forecast.turns_left) == (2_900, 5)


def test_a_request_without_a_bill_says_nothing_of_the_pace() -> None:
    """As in ``trimtab inspect --forecast``; where no bill is known at all, every request does."""
    sizes = (10_000, 30_000, 31_000)

    def told(*billed: int | None) -> list[tuple[int | None, int | None]]:
        turns = [turn(sent, billed=bill) for sent, bill in zip(sizes, billed, strict=True)]
        each = [row.forecast for row in rows_of([request(1)] * 3, Story(tuple(turns)))]
        return [(one.per_turn, one.turns_left) for one in each if one is not None]

    assert told(10_000, 30_000, None) == [(None, None), (20_000, 4), (20_000, 4)]
    assert told(10_000, 30_000, 31_000) == [(None, None), (20_000, 4), (10_500, 8)]
    assert told(None, None, None) == [(None, None), (20_000, 4), (10_500, 8)]


def test_a_session_without_a_story_has_no_rows() -> None:
    """Its bills are all that is known."""
    assert rows_of([request(1)], Story()) == []


@given(st.integers(2, 80), st.integers(1, 200), st.sets(st.integers(0, 199)))
def test_turns_are_left_out_evenly_and_what_happened_stays_first(
    most: int, count: int, telling: set[int]
) -> None:
    """Never more than asked for, in order, with both ends, and with every event where half holds them."""
    misses = tuple(MissStory(place, 1, {}) for place in telling)
    told = rows_of([request(1)] * count, Story((turn(5),) * count, misses=misses))
    shown = thinned(told, most)

    assert len(shown) == min(most, count)
    places = [row.place for row in shown]
    assert places == sorted(set(places))
    assert places[0] == 1
    assert count <= most or places[-1] == count
    happened = {row.place for row in told if row.is_telling}
    if count > most and len(happened) <= most // 2 and most - 2 >= len(happened):
        assert happened <= set(places)


def test_a_cause_that_nobody_knows_is_told_by_its_name() -> None:
    """So that a new one is never left out."""
    assert cause_words("something_new") == "something new"
    assert cause_words("budget_raised").startswith("the limit was raised")
