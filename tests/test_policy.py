"""Settings hold, or say why they cannot."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab import Budget, Limits, Policy, PolicyError


def test_defaults_are_filled_in() -> None:
    """The trigger is the limit, the target 0.4 of the trigger."""
    assert Policy(limit_tokens=1_000).limits() == Limits(1_000, 1_000, 400)
    assert Policy(limit_tokens=1_000, trigger_tokens=500).limits() == Limits(1_000, 500, 200)
    assert Policy(limit_tokens=1).limits() == Limits(1, 1, 1)


@pytest.mark.parametrize(
    ("policy", "limit", "growth", "limits"),
    [
        (Policy(), 100_000, None, Limits(100_000, 100_000, 40_000)),
        (Policy(), 900_000, None, Limits(900_000, 120_000, 48_000)),
        (Policy(limit_tokens=900_000), None, None, Limits(900_000, 120_000, 48_000)),
        (Policy(limit_tokens=900_000), 50_000, None, Limits(50_000, 50_000, 20_000)),
        (Policy(limit_tokens=50_000), 900_000, None, Limits(50_000, 50_000, 20_000)),
        (Policy(trigger_tokens=80_000), 50_000, None, Limits(50_000, 50_000, 20_000)),
        (Policy(target_tokens=80_000), 50_000, None, Limits(50_000, 50_000, 50_000)),
        (Policy(limit_tokens=100_000), None, 1, Limits(100_000, 100_000, 40_000)),
        (Policy(limit_tokens=100_000), None, 2_200, Limits(100_000, 100_000, 34_000)),
        (Policy(limit_tokens=100_000), None, 50_000, Limits(100_000, 100_000, 20_000)),
    ],
)
def test_the_smaller_limit_holds_and_fast_turns_get_more_room(
    policy: Policy, limit: int | None, growth: int | None, limits: Limits
) -> None:
    """30 turns of growth should fit, the target stays between 0.2 and 0.4 of the trigger."""
    assert policy.limits(limit, growth) == limits


def test_without_any_limit_it_says_so() -> None:
    """Nobody guesses a window."""
    with pytest.raises(PolicyError, match="limit_tokens is None; name the tokens"):
        Policy().limits()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"answer_tokens": -1}, "answer_tokens is -1; it must be a whole number of 0 or more"),
        ({"limit_tokens": 0}, "limit_tokens is 0; it must be a whole number of 1 or more"),
        ({"limit_tokens": -5}, "limit_tokens is -5; it must be a whole number of 1 or more"),
        (
            {"limit_tokens": 10, "trigger_tokens": 11},
            "trigger_tokens is 11; it must lie between 1 and the limit of 10",
        ),
        (
            {"limit_tokens": 10, "target_tokens": 11},
            "target_tokens is 11; it must lie between 1 and the trigger of 10",
        ),
        (
            {"limit_tokens": 10, "target_tokens": 0},
            "target_tokens is 0; it must be a whole number of 1 or more",
        ),
        (
            {"limit_tokens": 10, "keep_first": -1},
            "keep_first is -1; it must be a whole number of 0 or more",
        ),
        (
            {"limit_tokens": 10, "keep_recent": -1},
            "keep_recent is -1; it must be a whole number of 0 or more",
        ),
        (
            {"limit_tokens": 10, "tool_output_max_lines": 0},
            "tool_output_max_lines is 0; it must be a whole number of 1 or more",
        ),
        (
            {"limit_tokens": 10, "summary_min_gain": 1.0},
            "summary_min_gain is 1.0; it must be from 0 to below 1",
        ),
        (
            {"limit_tokens": 10, "tool_lines": {"read": -1}},
            "tool_lines['read'] is -1; it must be a whole number of 0 or more",
        ),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(settings: dict[str, Any], message: str) -> None:
    """The error names the setting, its value and what is allowed; nothing is clamped."""
    with pytest.raises(PolicyError) as caught:
        Policy(**settings)

    assert str(caught.value) == message
    assert caught.value.value == next(iter(list(settings.values())[-1:])) or "tool_lines" in message


def test_a_window_can_be_bound_by_tokens_rounds_or_both() -> None:
    """None is no bound."""
    assert Budget.tokens(4096) == Budget(4096, None)
    assert Budget.rounds(8) == Budget(None, 8)
    assert Budget.both(4096, 8) == Budget(4096, 8)
    assert Budget() == Budget(None, None)
