"""Whether a cut pays."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.economy import (
    Cut,
    Prices,
    Rates,
    Verdict,
    best_step_tokens,
    least_ratio,
    rates_of,
    spent_so_far,
    turns_to_come,
    weigh,
    weigh_cut,
)

CLAUDE = Rates(0.1, 1.25, 5.0)

rates = st.builds(Rates, st.floats(0.01, 0.5), st.floats(1.0, 2.0), st.floats(1.0, 10.0))
sizes = st.integers(1, 500_000)


@given(sizes, sizes, st.integers(0, 1_000), rates)
def test_it_is_the_formula_that_is_often_told(
    removed: int, behind: int, turns: int, each: Rates
) -> None:
    """R newborn tokens removed, S cached ones behind the cut: it pays if R/S > (w-c)/(w+T*c)."""
    verdict = weigh_cut(Cut(removed + behind, behind, 0, behind), each, turns)

    ratio, least = removed / behind, least_ratio(each, turns)
    if abs(ratio - least) > 1e-9 * max(ratio, least):
        assert verdict.pays == (ratio > least)


@pytest.mark.parametrize(
    ("each", "turns"),
    [
        (Rates(0.1, 1.25, 5.0), 11.5),
        (Rates(0.1, 2.0, 5.0), 19.0),
        (Rates(0.025, 1.25, 5.0), 49.0),
        (Rates(0.1, 1.0, 6.0), 9.0),
    ],
)
def test_the_turns_are_those_of_the_price_lists(each: Rates, turns: float) -> None:
    """As many removed as stay, all of them cached: 11.5, 19, 49 and 9 turns by the wire rules."""
    verdict = weigh_cut(Cut(20_000, 10_000, 0, 20_000), each, turns)

    # All that was cached was read on this turn too, so that it pays a turn earlier.
    assert verdict.break_even_turns == pytest.approx(turns - 1)


@given(sizes, sizes, sizes, st.integers(0, 500), rates)
def test_a_cold_cut_always_pays(
    before: int, after: int, kept: int, turns: int, each: Rates
) -> None:
    """Where nothing is cached, less is less: on this turn and on every later one."""
    after = min(before, after)
    verdict = weigh_cut(Cut(before, after, min(kept, after), 0), each, turns)

    assert verdict.cost_now <= 0
    assert verdict.break_even_turns == 0
    assert verdict.pays == (after < before)


@given(sizes, sizes, sizes, sizes, st.integers(0, 500), rates)
def test_more_turns_never_make_it_worse(
    before: int, after: int, kept: int, cached: int, turns: int, each: Rates
) -> None:
    """A cut that pays goes on to pay, and it has paid at its break-even."""
    after = min(before, after)
    cut = Cut(before, after, min(kept, after), min(cached, before))

    now, later = weigh_cut(cut, each, turns), weigh_cut(cut, each, turns + 1)

    assert later.gain >= now.gain
    if now.break_even_turns < inf:
        at = weigh_cut(cut, each, now.break_even_turns)
        assert at.gain >= -1e-6 * max(1.0, abs(at.cost_now))


def test_a_cut_that_removes_nothing_never_pays() -> None:
    """It only rewrites."""
    verdict = weigh_cut(Cut(10_000, 10_000, 0, 10_000), CLAUDE, 1_000)

    assert (verdict.pays, verdict.break_even_turns) == (False, inf)


def test_what_stands_in_front_of_the_cut_costs_nothing() -> None:
    """The deeper in the history the cut begins, the less is rewritten."""
    early = weigh_cut(Cut(120_000, 48_000, 2_000, 118_000), CLAUDE, 50)
    late = weigh_cut(Cut(120_000, 48_000, 25_000, 118_000), CLAUDE, 50)

    assert early.cost_now - late.cost_now == pytest.approx(23_000 * (1.25 - 0.1))


def test_the_arithmetic_is_told_and_multiplies_out() -> None:
    """One line for people."""
    verdict = weigh_cut(Cut(120_000, 48_000, 20_000, 116_000), CLAUDE, 40, 10_000)

    told = Verdict(verdict.cost_now, verdict.saved_a_turn, 40, verdict.break_even_turns, 10_000)
    assert verdict == told
    assert verdict.cost_now == pytest.approx(20_400)
    assert verdict.saved_a_turn == pytest.approx(7_200)
    assert verdict.break_even_turns == pytest.approx(20_400 / 7_200)
    assert verdict.gain == pytest.approx(40 * 7_200 - 20_400)
    assert (verdict.pays, verdict.is_bearable) == (True, False)
    assert verdict.line == (
        "costs 20,400 more on its own turn and saves 7,200 on each later one, so it is even after "
        "2.8 more turns (in fresh input tokens); 40 more turns were expected"
    )


@pytest.mark.parametrize(
    ("cost", "saved", "words"),
    [
        (-3.0, 7.0, "saves 3 on its own turn and 7 on each later one, so it pays at once"),
        (0.0, 7.0, "saves 0 on its own turn and 7 on each later one, so it pays at once"),
        (0.4, 7.0, "saves 0 on its own turn and 7 on each later one, so it pays at once"),
        (3.0, 0.0, "costs 3 more on its own turn and saves 0 on each later one, so it never pays"),
    ],
)
def test_a_cost_below_nothing_is_told_as_a_saving(cost: float, saved: float, words: str) -> None:
    """And one that nothing makes up for as such."""
    told = weigh(cost, saved, 5)

    assert told.line == f"{words} (in fresh input tokens); 5 more turns were expected"


@pytest.mark.parametrize(
    ("model", "prices", "is_long", "expected"),
    [
        ("claude-opus-4-6", None, False, Rates(0.1, 1.25, 5.0)),
        ("claude-opus-4-6", None, True, Rates(0.1, 2.0, 5.0)),
        ("gpt-5.6-sol", None, False, Rates(0.1, 1.25, 8.0)),
        ("gpt-5", None, True, Rates(0.1, 1.0, 6.0)),
        ("claude-fable-5-1", Prices(10.0, 0.25, 12.5, 20.0, 50.0), False, Rates(0.025, 1.25, 5.0)),
        ("claude-fable-5-1", Prices(10.0, 0.25, 12.5, 20.0, 50.0), True, Rates(0.025, 2.0, 5.0)),
        ("gpt-5", Prices(1.25, 0.125, None, None, 10.0), True, Rates(0.1, 1.0, 8.0)),
        ("gpt-5", Prices(2.0, None), False, Rates(0.1, 1.0, 6.0)),
        ("gpt-5", Prices(None, 0.3), False, Rates(0.1, 1.0, 6.0)),
    ],
)
def test_rates_are_those_of_the_prices_or_the_usual_ones(
    model: str,
    prices: Prices | None,
    is_long: bool,  # noqa: FBT001
    expected: Rates,
) -> None:
    """What is not known is taken from the provider's usual ratios: a verdict needs no price list."""
    assert rates_of(model, prices, is_long=is_long) == expected


def test_a_conversation_is_taken_to_go_on_for_as_long_as_it_has() -> None:
    """The expected rest grows with what has passed."""
    assert [turns_to_come(turns) for turns in (0, 1, 40)] == [0.0, 1.0, 40.0]


def test_what_was_spent_is_about_what_an_even_growth_costs() -> None:
    """Half of the size read on each turn, all of it written once, and the answers."""
    each = CLAUDE
    turns, step = 100, 1_000
    exact = sum(step * turn * each.read + step * each.write for turn in range(turns))

    about = spent_so_far(turns, turns * step, 0, each)

    assert about == pytest.approx(exact, rel=0.02)
    assert spent_so_far(turns, 0, 10, each) == 50


@given(st.integers(1, 20_000), st.floats(1.0, 1e7), rates)
def test_the_best_step_costs_no_more_than_its_neighbours(
    growth: int, cost: float, each: Rates
) -> None:
    """A turn's share of the compaction and of the holding: nothing near it is cheaper."""

    def a_turn(step: float) -> float:
        return cost * growth / step + each.read * step / 2

    best = best_step_tokens(growth, cost, each)

    if best > 100:
        assert a_turn(best) <= a_turn(best * 1.1)
        assert a_turn(best) <= a_turn(best * 0.9)


@pytest.mark.parametrize(("growth", "cost"), [(0, 5.0), (5, 0.0), (5, -3.0)])
def test_without_growth_or_cost_there_is_no_step(growth: int, cost: float) -> None:
    """Whatever costs nothing can be done at once."""
    assert best_step_tokens(growth, cost, CLAUDE) == 0
