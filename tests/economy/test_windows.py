"""How much a model takes, by its id."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.economy import Window, window_of


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-4-6", 1_000_000),
        ("claude-sonnet-4-6", 1_000_000),
        ("claude-opus-5-5", 1_000_000),
        ("claude-fable-5-2", 1_000_000),
        ("claude-mythos-5", 1_000_000),
        ("claude-haiku-4-5", 200_000),
        ("claude-opus-4-5", 200_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        # however the place spells it
        ("anthropic/claude-opus-4.6", 1_000_000),
        ("us.anthropic.claude-opus-4-6-v1:0", 1_000_000),
        ("CLAUDE-OPUS-4-6", 1_000_000),
        # and whether anybody has heard of it or not
        ("claude-haiku-9-9", 200_000),
        ("claude-opus-9-9", 1_000_000),
    ],
)
def test_a_claude_id_says_how_large_its_window_is(model: str, tokens: int) -> None:
    """By family and version."""
    window = window_of(model)

    assert window is not None
    assert window.tokens == tokens


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-5.2", Window(400_000)),
        ("gpt-4o", Window(128_000)),
        ("openai/gpt-4o", Window(128_000)),
        ("somebody/gpt-4o", Window(128_000)),
        ("gpt-5.4", Window(1_050_000, 272_000)),
        ("claude-sonnet-4-5", Window(200_000, 200_000)),
        # prices with their times: the last one holds
        ("claude-sonnet-4-6", Window(1_000_000)),
    ],
)
def test_other_models_are_looked_up_with_the_size_from_which_they_cost_more(
    model: str, window: Window
) -> None:
    """With or without the place in front of the id."""
    assert window_of(model) == window


@pytest.mark.parametrize(
    "model", ["", "nobody-knows", "claude", "claude-next", "a/b/c", "gemini-2.5-pro"]
)
def test_a_model_that_nobody_knows_has_no_window(model: str) -> None:
    """A guess would overflow it, or leave most of it empty."""
    assert window_of(model) is None


def test_without_prices_claude_ids_alone_say_something() -> None:
    """In a process in which ``genai-prices`` cannot be imported."""
    code = (
        "import sys; sys.modules['genai_prices'] = None\n"
        "from trimtab.economy import window_of\n"
        "print([window_of(m) for m in ('claude-sonnet-4-5', 'gpt-5.2', 'claude-next')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-"],
        input=code,
        check=True,
        capture_output=True,
        text=True,
    )

    assert done.stdout.strip() == str([Window(200_000), None, None])


# -------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("window", "answer_tokens", "limit"),
    [
        # what the request asks for
        (Window(200_000), 64_000, 136_000),
        (Window(200_000), 1, 199_999),
        (Window(200_000), 0, 200_000),
        # at most half, so that there is room for input
        (Window(200_000), 100_000, 100_000),
        (Window(200_000), 100_001, 100_000),
        (Window(200_000), 10**9, 100_000),
        (Window(3), 2, 2),
        (Window(1), 1, 1),
        # where nobody said: an eighth, at most 32,000
        (Window(200_000), None, 175_000),
        (Window(8_000), None, 7_000),
        (Window(256_000), None, 224_000),
        (Window(1_000_000), None, 968_000),
        # never a size from which on every token costs more
        (Window(1_050_000, 272_000), None, 272_000),
        (Window(1_050_000, 272_000), 128_000, 272_000),
        (Window(200_000, 200_000), None, 175_000),
        (Window(300_000, 200_000), 10**9, 150_000),
    ],
)
def test_the_limit_leaves_room_for_the_answer(
    window: Window, answer_tokens: int | None, limit: int
) -> None:
    """And no higher price is due."""
    assert window.limit_tokens(answer_tokens) == limit


@given(
    tokens=st.integers(2, 2_000_000),
    step=st.one_of(st.none(), st.integers(1, 2_000_000)),
    answer=st.one_of(st.none(), st.integers(0, 2_000_000)),
)
def test_the_limit_is_at_least_half_the_window_or_the_price_step(
    tokens: int, step: int | None, answer: int | None
) -> None:
    """And never more than either."""
    most = tokens if step is None else min(tokens, step)
    half = tokens - tokens // 2

    assert min(half, most) <= Window(tokens, step).limit_tokens(answer) <= most
