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
    ("settings", "message"),
    [
        ({"limit_tokens": 0}, "limit_tokens is 0; it must be at least 1"),
        ({"limit_tokens": -5}, "limit_tokens is -5; it must be at least 1"),
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
            "target_tokens is 0; it must lie between 1 and the trigger of 10",
        ),
        ({"limit_tokens": 10, "keep_first": -1}, "keep_first is -1; it must be 0 or more"),
        ({"limit_tokens": 10, "keep_recent": -1}, "keep_recent is -1; it must be 0 or more"),
        (
            {"limit_tokens": 10, "tool_output_max_lines": 0},
            "tool_output_max_lines is 0; it must be 1 or more",
        ),
        (
            {"limit_tokens": 10, "tool_lines": {"read": -1}},
            "tool_lines['read'] is -1; it must be 0 (exempt) or more",
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
