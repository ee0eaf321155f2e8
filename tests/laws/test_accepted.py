"""Law 1: if what came in is acceptable to the provider, what goes out is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.conversations import (
    BINDING_MODELS,
    FORMATS,
    WRITERS,
    Story,
    bodies,
    history_of,
    role_of,
    stories,
)
from tests.laws.rewriters import Rewriter, policy_for, tail_only, trimtab
from trimtab import CharTokenCounter, Session
from trimtab.wire import Call, check

FILLER_TOKENS = 20
"""An answer that keeps roles alternating, with what a message adds."""

LIMITS = st.sampled_from([40, 120, 300, 800, 2_000, 6_000, 100_000])


def assert_accepted(body: bytes, format: str, limit: int, rewriter: Rewriter) -> None:  # noqa: A002 - the word for it
    """What goes out breaks no rule, and no guard had to step in."""
    assert check(body, format) == ()

    rewritten = rewriter(body, format, limit)

    assert check(rewritten.body, format) == ()
    assert "would break rule" not in rewritten.outcome.reason
    if not _neighbours(history_of(json.loads(body))):
        # Some servers demand that roles alternate; what has no room for it gives it up last.
        has_room = rewritten.outcome.tokens_after + FILLER_TOKENS <= limit
        is_lost = not rewritten.outcome.fits
        if has_room or is_lost:
            assert _neighbours(history_of(json.loads(rewritten.body))) == set()


def _neighbours(messages: Sequence[Any]) -> set[str]:
    roles = [role for m in messages if (role := role_of(m)) not in ("system", "developer")]
    return {role for role, behind in pairwise(roles) if role == behind != "tool"}


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data(), limit=LIMITS)
def test_what_goes_out_is_accepted(data: st.DataObject, limit: int, format: str) -> None:  # noqa: A002 - the word for it
    """A valid request stays valid at every limit."""
    assert_accepted(data.draw(bodies(format)), format, limit, trimtab)


@pytest.mark.parametrize("format", FORMATS)
def test_the_law_fails_on_a_tail_that_parts_calls_from_results(format: str) -> None:  # noqa: A002 - the word for it
    """The law finds a rewriter that keeps the newest messages and asks nobody."""

    @settings(report_multiple_bugs=False)
    @given(body=bodies(format))
    def law(body: bytes) -> None:
        assert_accepted(body, format, 500, tail_only)

    with pytest.raises(AssertionError):
        law()


# --------------------------------------------------------- broken on arrival


def _break(story: Story, format: str, place: int, kind: str) -> bytes:  # noqa: A002 - the word for it
    body = json.loads(WRITERS[format](story))
    messages = history_of(body)
    place %= len(messages)
    if kind == "lose":
        del messages[place]
    elif kind == "double":
        messages.insert(place, messages[place])
    else:
        messages.append(messages.pop(place))
    return json.dumps(body).encode()


@pytest.mark.parametrize("format", FORMATS)
@given(
    story=stories(max_rounds=3),
    place=st.integers(0, 99),
    kind=st.sampled_from(["lose", "double", "move"]),
    limit=LIMITS,
    repair=st.booleans(),
)
def test_what_is_broken_never_gets_worse(
    story: Story,
    place: int,
    kind: str,
    limit: int,
    repair: bool,  # noqa: FBT001 - drawn
    format: str,  # noqa: A002 - the word for it
) -> None:
    """A broken request breaks no rule more often than it did, repaired or not."""
    body = _break(story, format, place, kind)
    session = Session(policy_for(limit, repair=repair), CharTokenCounter())

    rewrite = session.rewrite(session.read(Call(body), format))

    before = [problem.rule for problem in check(body, format)]
    after = [problem.rule for problem in check(rewrite.body, format)]
    assert all(after.count(rule) <= before.count(rule) for rule in after)


PAIRING = {"A2", "A3", "A4", "A7", "C1", "C2", "G2", "G3", "G5", "R1", "R2"}


@pytest.mark.parametrize("format", FORMATS)
@given(story=stories(max_rounds=3), place=st.integers(0, 99), limit=LIMITS)
def test_a_lost_message_is_repaired(story: Story, place: int, limit: int, format: str) -> None:  # noqa: A002 - the word for it
    """With repair on, calls and results that lost each other are mended, the same way each time."""
    body = _break(story, format, place, "lose")

    once = trimtab(body, format, limit)
    again = trimtab(body, format, limit)

    assert {p.rule for p in check(once.body, format)} & PAIRING == set()
    assert once.body == again.body


# ---------------------------------------------------------- signed thinking

Json = dict[str, Any]
BETA = "thinking-binding-controls-2026-08-01"


def _thoughts(messages: Sequence[Json]) -> list[tuple[int, Json]]:
    return [
        (place, block)
        for place, message in enumerate(messages)
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "thinking"
    ]


@given(body=bodies("anthropic"), limit=LIMITS)
def test_thinking_stays_as_it_came_or_goes_and_leaves_no_hole(body: bytes, limit: int) -> None:
    """What is left of the chain of thinking is its end, block by block as it came."""
    before = [block for _, block in _thoughts(json.loads(body)["messages"])]

    rewritten = trimtab(body, "anthropic", limit)

    after = [block for _, block in _thoughts(json.loads(rewritten.body)["messages"])]
    assert after == (before[-len(after) :] if after else [])


@pytest.mark.parametrize("headers_settable", [True, False])
@given(data=st.data(), limit=LIMITS, model=st.sampled_from(BINDING_MODELS))
def test_bound_thinking_follows_nothing_that_was_edited(
    data: st.DataObject,
    limit: int,
    model: str,
    headers_settable: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """On models that bind thinking, a block behind an edit goes, or the provider is asked to drop it."""
    body = data.draw(bodies("anthropic", model=model))
    session = Session(policy_for(limit), CharTokenCounter(), headers_settable=headers_settable)

    rewrite = session.rewrite(session.read(Call(body), "anthropic"))

    assert check(rewrite.body, "anthropic") == ()
    before, after = json.loads(body), json.loads(rewrite.body)
    binding = after["thinking"].get("block_binding", {})
    if binding.get("prefix_mismatch_behavior") == "drop_block":
        assert headers_settable
        assert rewrite.headers["anthropic-beta"] == BETA
        return
    original = {block["signature"]: place for place, block in _thoughts(before["messages"])}
    for place, block in _thoughts(after["messages"]):
        assert place == original[block["signature"]]
        assert after["messages"][:place] == before["messages"][:place]
    if not headers_settable and not rewrite.outcome.fits:
        assert rewrite.outcome.status in ("unmet", "unsatisfiable")
