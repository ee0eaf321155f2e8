"""When the provider's cache is taken for lost: by its own life, and by the client's markers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab import Call, CharTokenCounter, ContextCompacted, Policy, Session
from trimtab.economy import life_seconds

Json = dict[str, Any]
CLAUDE, GPT, OLD_GPT = "claude-opus-4-6", "gpt-5.6-sol", "gpt-5.4"
SHORT, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
MINUTE = 60.0


def anthropic(texts: Sequence[str], model: str) -> Json:
    """A conversation whose texts are blocks."""
    messages = [
        {
            "role": "assistant" if place % 2 else "user",
            "content": [{"type": "text", "text": text}],
        }
        for place, text in enumerate(texts)
    ]
    return {"model": model, "max_tokens": 64, "messages": messages}


def chat(texts: Sequence[str], model: str) -> Json:
    """The same for OpenAI."""
    messages = [
        {"role": "assistant" if place % 2 else "user", "content": text}
        for place, text in enumerate(texts)
    ]
    return {"model": model, "messages": messages}


def unmarked(body: Json) -> Json:
    """As it is."""
    return body


def on_last(marker: Json) -> Callable[[Json], Json]:
    """Mark the last message."""

    def mark(body: Json) -> Json:
        body["messages"][-1]["content"][-1]["cache_control"] = marker
        return body

    return mark


def automatic(marker: Json | None) -> Callable[[Json], Json]:
    """Mark the whole request."""
    return lambda body: {**body, "cache_control": marker}


def on_system(marker: Json) -> Callable[[Json], Json]:
    """Mark the system prompt alone."""
    return lambda body: {
        **body,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": marker}],
    }


def quoted(body: Json) -> Json:
    """Words that look like a marker."""
    body["messages"][0]["content"][0]["text"] += ' "cache_control": {"ttl": "1h"}'
    return body


def is_cut_after(
    idle: float,
    model: str,
    mark: Callable[[Json], Json] = unmarked,
    policy: Policy | None = None,
    make: Callable[[Sequence[str], str], Json] = anthropic,
) -> bool:
    """Whether a request of three quarters of the trigger is cut after so long a pause, and says why."""
    policy = policy or Policy(limit_tokens=20_000, trigger_tokens=10_000)
    session = Session(policy, CharTokenCounter())
    texts = [f"{place} " + "so " * 1_000 for place in range(9)]

    def call(count: int, now: float) -> Call:
        return Call(json.dumps(mark(make(texts[:count], model))).encode(), now=now)

    first = session.rewrite(session.read(call(7, 1_000.0)))
    state = session.forwarded(first.ticket)
    then = session.rewrite(session.read(call(9, 1_000.0 + idle)), state)
    cuts = [event for event in then.events if isinstance(event, ContextCompacted)]
    assert all(cut.cause == "cold" for cut in cuts)
    assert all(5_000 < cut.foretold_tokens == cut.tokens_before <= 10_000 for cut in cuts)
    return bool(cuts)


@pytest.mark.parametrize(
    ("model", "mark", "make", "minutes"),
    [
        (CLAUDE, unmarked, anthropic, 5),
        (CLAUDE, on_last(SHORT), anthropic, 5),
        (CLAUDE, on_last(LONG), anthropic, 60),
        (CLAUDE, automatic(LONG), anthropic, 60),
        (CLAUDE, automatic(SHORT), anthropic, 5),
        (CLAUDE, automatic(None), anthropic, 5),
        (CLAUDE, on_system(LONG), anthropic, 5),
        (CLAUDE, quoted, anthropic, 5),
        (GPT, unmarked, chat, 30),
        (OLD_GPT, unmarked, chat, 60),
    ],
)
def test_a_cache_is_lost_after_its_life(
    model: str,
    mark: Callable[[Json], Json],
    make: Callable[[Sequence[str], str], Json],
    minutes: int,
) -> None:
    """A marker that keeps messages for an hour counts; one on the system prompt alone keeps none."""
    cut = [is_cut_after(idle, model, mark, make=make) for idle in (0.0, minutes * MINUTE)]

    assert cut == [False, False]
    assert is_cut_after(minutes * MINUTE + 1, model, mark, make=make)


def test_markers_that_are_set_for_the_client_count_too() -> None:
    """Where the policy asks for an hour, and the client set none of its own."""
    policy = Policy(limit_tokens=20_000, trigger_tokens=10_000, cache_markers="1h")

    assert not is_cut_after(59 * MINUTE, CLAUDE, policy=policy)
    assert is_cut_after(61 * MINUTE, CLAUDE, policy=policy)
    assert is_cut_after(6 * MINUTE, CLAUDE, on_last(SHORT), policy)


@settings(max_examples=30, deadline=None)
@given(
    idle=st.floats(1.0, 8_000.0),
    model=st.sampled_from([CLAUDE, "claude-haiku-4-5", GPT, OLD_GPT, "gemini-3-pro"]),
    is_long=st.booleans(),
)
def test_a_moment_is_cold_exactly_when_the_bill_says_so(
    idle: float,
    model: str,
    is_long: bool,  # noqa: FBT001 - a case
) -> None:
    """The engine and the model of the cache have one life."""
    is_claude = model.startswith("claude")
    mark = on_last(LONG) if is_long and is_claude else unmarked
    make = anthropic if is_claude else chat

    assert is_cut_after(idle, model, mark, make=make) == (
        idle > life_seconds(model, has_long_marker=is_long)
    )
