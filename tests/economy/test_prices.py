"""What tokens cost, by the id of a model."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from trimtab.economy import Prices, Split, prices_of


@pytest.mark.parametrize(
    ("model", "prices"),
    [
        ("claude-sonnet-4-5", Prices(3.0, 0.3, 3.75, 6.0, 15.0)),
        ("anthropic/claude-sonnet-4.5", Prices(3.0, 0.3, 3.75, 6.0, 15.0)),
        ("claude-3-haiku-20240307", Prices(0.25, 0.03, 0.3, 0.5, 1.25)),
        ("gpt-5", Prices(1.25, 0.125, None, None, 10.0)),
        ("gpt-5.6-sol", Prices(4.0, 0.4, 5.0, None, 20.0)),
        ("gemini-2.5-pro", Prices(1.25, 0.125, None, None, 10.0)),
        ("nobody-knows-1", None),
        ("", None),
    ],
)
def test_a_model_has_prices_where_they_are_known(model: str, prices: Prices | None) -> None:
    """However the place spells it; a provider without a price for writing has none."""
    assert prices_of(model) == prices


def test_a_large_request_costs_more_where_the_provider_says_so() -> None:
    """From a size on, each of its tokens does."""
    assert prices_of("gemini-2.5-pro", input_tokens=200_000) == Prices(1.25, 0.125, output=10.0)
    assert prices_of("gemini-2.5-pro", input_tokens=200_001) == Prices(2.5, 0.25, output=15.0)


def test_the_prices_are_those_of_the_day() -> None:
    """What was billed in the past was billed at the prices of then."""
    then = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

    assert prices_of("claude-opus-4-6", then, 300_000) == Prices(10.0, 1.0, 12.5, 20.0, 37.5)
    assert prices_of("claude-opus-4-6", None, 300_000) == Prices(5.0, 0.5, 6.25, 10.0, 25.0)


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        (Prices(3.0, 0.3, 3.75), 3.45),
        (Prices(1.25, 0.125), 1.125),
        (Prices(1.0, 2.0), 0.0),
        (Prices(None, 0.3), None),
        (Prices(3.0, None), None),
    ],
)
def test_a_missed_cache_costs_the_difference(prices: Prices, cost: float | None) -> None:
    """Writing where that has a price, else fresh input, less reading; unknown stays unknown."""
    missed = prices.missed(1_000_000)

    assert missed == (None if cost is None else pytest.approx(cost))
    assert prices.missed(0) == (None if cost is None else 0.0)


def test_what_the_user_knows_better_counts() -> None:
    """By the id, with or without the place before it; all other models keep their prices."""
    mine = {"gpt-5": Prices(1.0, 0.5), "own/model": Prices(2.0, 1.0)}

    assert prices_of("gpt-5", overrides=mine) == Prices(1.0, 0.5)
    assert prices_of("openai/gpt-5", overrides=mine) == Prices(1.0, 0.5)
    assert prices_of("own/model", overrides=mine) == Prices(2.0, 1.0)
    assert prices_of("gpt-4o", overrides=mine) == prices_of("gpt-4o")


FULL = Prices(3.0, 0.3, 3.75, 6.0, 15.0)


@pytest.mark.parametrize(
    ("prices", "split", "cost"),
    [
        (FULL, Split(1_000_000), 3.0),
        (FULL, Split(1_000_000, 1_000_000, 1_000_000, 1_000_000), 13.05),
        (Prices(3.0, 0.3), Split(written=1_000_000), 3.0),
        (Prices(3.0, 0.3), Split(written_long=1_000_000), 6.0),
        (Prices(None, 0.3), Split(written_long=1_000_000), None),
        (Prices(3.0, None), Split(1_000_000), 3.0),
        (Prices(3.0, None), Split(1_000_000, 1), None),
        (Prices(None, 0.3), Split(1), None),
        (Prices(None, None), Split(), 0.0),
    ],
)
def test_an_input_costs_what_its_parts_cost(
    prices: Prices, split: Split, cost: float | None
) -> None:
    """A price that is needed and not known makes all of it unknown; one that is not needed does not."""
    assert prices.of_input(split) == (None if cost is None else pytest.approx(cost))


@pytest.mark.parametrize(
    ("prices", "tokens", "cost"), [(FULL, 2_000_000, 30.0), (Prices(3.0, 0.3), 1, None)]
)
def test_an_answer_costs_its_tokens(prices: Prices, tokens: int, cost: float | None) -> None:
    """Unknown stays unknown."""
    assert prices.of_output(tokens) == (None if cost is None else pytest.approx(cost))


def test_without_the_extra_no_price_is_known() -> None:
    """Nothing is guessed, and nothing fails."""
    script = (
        "import sys; sys.modules['genai_prices.data_snapshot'] = None; "
        "from trimtab.economy import prices_of; print(prices_of('gpt-5'))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
    )

    assert told.stdout == "None\n"
