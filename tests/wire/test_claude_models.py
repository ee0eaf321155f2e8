"""Claude model ids in all spellings, and what each version takes."""

from __future__ import annotations

import pytest

from trimtab.wire.claude_models import ClaudeModel, claude_model

UNKNOWN = ClaudeModel("", (0, 0))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        # Anthropic's own ids, old order
        ("claude-3-opus-20240229", ClaudeModel("opus", (3, 0))),
        ("claude-3-haiku-20240307", ClaudeModel("haiku", (3, 0))),
        ("claude-3-5-sonnet-20241022", ClaudeModel("sonnet", (3, 5))),
        ("claude-3-5-sonnet-latest", ClaudeModel("sonnet", (3, 5))),
        ("claude-3-7-sonnet-20250219", ClaudeModel("sonnet", (3, 7))),
        ("claude-3.5-sonnet", ClaudeModel("sonnet", (3, 5))),
        ("claude-instant-1.2", ClaudeModel("instant", (1, 2))),
        # new order
        ("claude-opus-4-20250514", ClaudeModel("opus", (4, 0))),
        ("claude-opus-4-1-20250805", ClaudeModel("opus", (4, 1))),
        ("claude-sonnet-4-0", ClaudeModel("sonnet", (4, 0))),
        ("claude-sonnet-4-5-20250929", ClaudeModel("sonnet", (4, 5))),
        ("claude-haiku-4-5", ClaudeModel("haiku", (4, 5))),
        ("claude-opus-4-6", ClaudeModel("opus", (4, 6))),
        ("claude-opus-4-10", ClaudeModel("opus", (4, 10))),
        ("claude-opus-5", ClaudeModel("opus", (5, 0))),
        ("claude-fable-5.1", ClaudeModel("fable", (5, 1))),
        ("claude-mythos-5-2-20261001", ClaudeModel("mythos", (5, 2))),
        ("Claude-Opus-4-6", ClaudeModel("opus", (4, 6))),
        ("claude-sonnet-4-6[1m]", ClaudeModel("sonnet", (4, 6))),
        # routers
        ("anthropic/claude-opus-4.6", ClaudeModel("opus", (4, 6))),
        ("anthropic/claude-3.7-sonnet:thinking", ClaudeModel("sonnet", (3, 7))),
        ("openrouter/anthropic/claude-sonnet-4", ClaudeModel("sonnet", (4, 0))),
        ("vertex_ai/claude-sonnet-4-5@20250929", ClaudeModel("sonnet", (4, 5))),
        # clouds
        ("claude-3-5-sonnet-v2@20241022", ClaudeModel("sonnet", (3, 5))),
        ("claude-opus-4@20250514", ClaudeModel("opus", (4, 0))),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", ClaudeModel("sonnet", (3, 5))),
        ("us.anthropic.claude-haiku-4-5-v1:0", ClaudeModel("haiku", (4, 5))),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", ClaudeModel("haiku", (4, 5))),
        ("global.anthropic.claude-opus-5-5-v1", ClaudeModel("opus", (5, 5))),
        # Claude, and no more is known
        ("claude-next", UNKNOWN),
        ("claude-opus", UNKNOWN),
        ("claude-opus-latest", UNKNOWN),
        ("claude-opus-12", UNKNOWN),
        ("claude-20270101", UNKNOWN),
        ("anthropic.claude-v2:1", UNKNOWN),
        ("claude-2.1", UNKNOWN),
        # no Claude
        ("gpt-5.6", None),
        ("sonnet-4-5", None),
        ("", None),
    ],
)
def test_an_id_says_family_and_version(model: str, told: ClaudeModel | None) -> None:
    """Dates, vendors, places and separators around the version do not matter."""
    assert claude_model(model) == told


TRAITS = (
    "may_bind_thinking",
    "refuses_prefill",
    "refuses_manual_thinking",
    "refuses_adaptive_thinking",
    "refuses_disabled_thinking",
    "refuses_forced_tool",
    "refuses_mid_system",
    "has_small_window",
)


@pytest.mark.parametrize(
    ("model", "traits"),
    [
        (
            "claude-3-5-sonnet-20241022",
            {"refuses_adaptive_thinking", "refuses_mid_system", "has_small_window"},
        ),
        (
            "claude-opus-4-5",
            {"refuses_adaptive_thinking", "refuses_mid_system", "has_small_window"},
        ),
        (
            "claude-haiku-4-5",
            {"refuses_adaptive_thinking", "refuses_mid_system", "has_small_window"},
        ),
        ("claude-opus-4-6", {"refuses_prefill", "refuses_mid_system"}),
        ("claude-sonnet-4-6", {"refuses_prefill", "refuses_mid_system"}),
        ("claude-opus-4-7", {"refuses_prefill", "refuses_manual_thinking", "refuses_mid_system"}),
        ("claude-opus-4-8", {"refuses_prefill", "refuses_manual_thinking"}),
        ("claude-opus-5", {"refuses_prefill", "refuses_manual_thinking"}),
        ("claude-sonnet-5", {"refuses_prefill", "refuses_manual_thinking", "refuses_mid_system"}),
        (
            "claude-sonnet-5-5",
            {
                "may_bind_thinking",
                "refuses_prefill",
                "refuses_manual_thinking",
                "refuses_forced_tool",
            },
        ),
        (
            "claude-opus-5-5",
            {
                "may_bind_thinking",
                "refuses_prefill",
                "refuses_manual_thinking",
                "refuses_disabled_thinking",
                "refuses_forced_tool",
            },
        ),
        (
            "claude-haiku-5-5",
            {
                "may_bind_thinking",
                "refuses_prefill",
                "refuses_manual_thinking",
                "refuses_mid_system",
                "has_small_window",
            },
        ),
        (
            "claude-fable-5",
            {"refuses_prefill", "refuses_manual_thinking", "refuses_disabled_thinking"},
        ),
        (
            "claude-mythos-5-1",
            {
                "may_bind_thinking",
                "refuses_prefill",
                "refuses_manual_thinking",
                "refuses_disabled_thinking",
                "refuses_forced_tool",
            },
        ),
        ("claude-next", {"may_bind_thinking"}),
    ],
)
def test_a_version_says_what_it_takes(model: str, traits: set[str]) -> None:
    """What is not known refuses nothing, and may bind its thinking."""
    told = claude_model(model)

    assert {trait for trait in TRAITS if getattr(told, trait)} == traits
