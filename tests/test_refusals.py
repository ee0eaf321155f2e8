"""What a session does when the provider refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.laws.agents import Agent
from trimtab import (
    Call,
    CharTokenCounter,
    EditsQuarantined,
    LimitLearned,
    Policy,
    PrefixBroken,
    Refusal,
    Rewrite,
    Session,
    State,
)

LIMIT = 2_000


def session(**settings: Any) -> Session:
    """A session that counts by characters."""
    return Session(Policy(limit_tokens=LIMIT), CharTokenCounter(), **settings)


def conversation(steps: int, agent: Agent | None = None) -> tuple[bytes, str]:
    """A request after some steps of about 240 tokens, and its format."""
    agent = agent or Agent("openai-chat", "gpt-5.2")
    branch = agent.start("go")
    for _ in range(steps):
        agent.step(branch, "next", ["line\n" * 180])
    return agent.body(branch), agent.format


def rewritten(body: bytes, state: State | None = None) -> Rewrite:
    """What goes out for it."""
    worker = session()
    return worker.rewrite(worker.read(Call(body), "openai-chat"), state)


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ({}, 1_240),
        ({"limit_tokens": 1_000}, 1_000),
        ({"limit_tokens": 1_000, "sent_tokens": 2_000}, 775),
        ({"limit_tokens": 9_000}, 1_240),
    ],
)
def test_an_overflow_teaches_a_limit_in_our_own_tokens(told: dict[str, Any], limit: int) -> None:
    """What the provider counted is scaled; what it did not say is taken to be 0.8 of what was sent."""
    first = rewritten(conversation(6)[0])
    assert first.outcome.tokens_after == 1_551

    second = session().refused(first.ticket, Refusal(kind="overflow", **told))

    assert isinstance(second, Rewrite)
    assert second.events[0] == LimitLearned(limit)
    assert second.outcome.limit_tokens == limit
    assert second.outcome.fits
    assert second.ticket.becomes.limit_tokens == limit


def test_a_learned_limit_holds_on_later_turns_of_the_same_model() -> None:
    """Another model has another window."""
    worker = session()
    body, _ = conversation(6)
    again = worker.refused(rewritten(body).ticket, Refusal(kind="overflow", limit_tokens=1_000))
    assert isinstance(again, Rewrite)
    state = worker.forwarded(again.ticket)
    other = body.replace(b"gpt-5.2", b"gpt-5.1")

    assert rewritten(body, state).outcome.limit_tokens == 1_000
    assert rewritten(other, state).outcome.limit_tokens == LIMIT


@pytest.mark.parametrize("kind", ["rate limit", "quota", "overloaded", "auth", "other", "state"])
def test_what_no_other_form_mends_is_passed_on(kind: Any) -> None:
    """Nothing is sent again."""
    assert session().refused(rewritten(conversation(9)[0]).ticket, Refusal(kind=kind)) is None


def test_a_request_that_cannot_be_smaller_is_passed_on() -> None:
    """A user message alone in the window is nobody's to cut."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 400}]}).encode()

    assert session().refused(rewritten(body).ticket, Refusal(kind="overflow")) is None


def test_an_untouched_request_is_not_ours_to_mend() -> None:
    """A signature or a structure that does not fit was the client's."""
    first = rewritten(conversation(2)[0])

    assert not first.plan
    assert session().refused(first.ticket, Refusal(kind="structure")) is None
    assert session().refused(first.ticket, Refusal(kind="signature")) is None


def test_an_error_behind_the_start_only_teaches() -> None:
    """The answer has begun, so nothing can be sent again."""
    first = rewritten(conversation(6)[0])

    state = session().refused(first.ticket, Refusal(kind="overflow", is_after_start=True))

    assert isinstance(state, State)
    assert state.limit_tokens == 1_240
    late = Refusal(kind="structure", is_after_start=True)
    assert session().refused(first.ticket, late) is None


def test_refused_edits_give_way_to_what_was_sent_before() -> None:
    """They are quarantined, and the next compaction waits until there is more to gain."""
    worker = session()
    before = rewritten(conversation(6)[0])
    state = worker.forwarded(before.ticket)
    cut = rewritten(conversation(9)[0], state)
    assert cut.plan

    second = worker.refused(cut.ticket, Refusal(kind="structure"))

    assert isinstance(second, Rewrite)
    assert second.body == conversation(9)[0]
    assert second.events[0] == EditsQuarantined(len(cut.plan.edits))
    assert second.outcome.status == "unsatisfiable"
    assert len(second.ticket.becomes.refused) == 1
    assert worker.refused(second.ticket, Refusal(kind="structure")) is None


def test_on_a_model_that_binds_thinking_refused_edits_go_out_with_drop_block() -> None:
    """Once an edit was sent, the original is no way back."""
    agent = Agent("anthropic", "claude-opus-5-5", thinks=True)
    branch = agent.start("go")
    worker = Session(Policy(limit_tokens=LIMIT), CharTokenCounter())
    for _ in range(8):
        agent.step(branch, "next", ["line\n" * 180])
        agent.answer(branch, "done")
        branch.history.append(agent.user("go on"))
    cut = worker.rewrite(worker.read(Call(agent.body(branch)), agent.format))
    state = worker.forwarded(cut.ticket)
    agent.answer(branch, "well")
    branch.history.append(agent.user("and now"))
    later = worker.rewrite(worker.read(Call(agent.body(branch)), agent.format), state)
    assert later.plan.edits == cut.plan.edits
    assert not later.plan.envelope

    second = worker.refused(later.ticket, Refusal(kind="signature"))

    assert isinstance(second, Rewrite)
    assert second.plan.edits == cut.plan.edits
    thinking = json.loads(second.body)["thinking"]
    assert thinking["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert "thinking-binding-controls" in second.headers["anthropic-beta"]
    assert PrefixBroken("refused") not in second.events
    helpless = Session(Policy(limit_tokens=LIMIT), CharTokenCounter(), headers_settable=False)
    assert helpless.refused(later.ticket, Refusal(kind="signature")) is None
