"""Every recorded session, request by request through one engine, at 20k, 60k and the default policy."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.conformance.test_sessions import chat, claude_code
from trimtab import Call, Engine, Policy, PrefixBroken, SyncEngine
from trimtab.economy import window_of
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire import check, read

POLICIES = {
    "20k": Policy(limit_tokens=20_000),
    "60k": Policy(limit_tokens=60_000),
    "default": Policy(),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", sorted(claude_code()))
def test_a_claude_code_session_goes_through(name: str, policy: str) -> None:
    """Each request valid, within its limit or with numbers, extending the one before it."""
    replay(claude_code()[name], POLICIES[policy])


@pytest.mark.parametrize("policy", POLICIES)
def test_every_chat_session_goes_through(policy: str) -> None:
    """Each request valid, within its limit or with numbers, extending the one before it."""
    for recording in chat().values():
        replay(recording, POLICIES[policy])


def replay(recording: Recording, policy: Policy) -> None:
    """Run a session through an engine, and look at every request."""
    model = next((request.model for request in recording.requests if request.model), "")
    if policy.limit_tokens is None and window_of(model) is None:
        policy = Policy(limit_tokens=128_000)  # the log names no model that anybody knows
    engine = Engine(policy).sync
    before = Exchanged([], [])
    for recorded in recording.requests:
        before = send(engine, recorded, before)


@dataclass(frozen=True)
class Exchanged:
    """The canonical messages of a request, as they came and as they went out."""

    came: list[bytes]
    sent: list[bytes]


def send(engine: SyncEngine, recorded: RecordedRequest, before: Exchanged) -> Exchanged:
    """Send one request."""
    body = recorded.build()
    wire_format = recorded.format or read(body).format.name
    call = Call(body, model=recorded.model, now=recorded.at or 0.0)

    rewrite = engine.rewrite(call, wire_format)

    outcome = rewrite.outcome
    broken = check(rewrite.body, wire_format, unrecorded=recorded.unrecorded)
    assert broken == check(body, wire_format, unrecorded=recorded.unrecorded) == ()
    if outcome.status in ("untouched", "fits"):
        assert outcome.tokens_after <= outcome.limit_tokens
    else:
        assert outcome.needed_tokens > outcome.limit_tokens
        assert outcome.reason
    if not rewrite.plan:
        assert rewrite.body is body
    now = Exchanged(forms(body, wire_format), forms(rewrite.body, wire_format))
    is_declared = any(isinstance(event, PrefixBroken) for event in rewrite.events)
    goes_on = now.came[: len(before.came)] == before.came  # else it went back, or began anew
    if goes_on and not is_declared:
        assert now.sent[: len(before.sent)] == before.sent
    engine.forwarded(rewrite.ticket)
    return now


def forms(body: bytes, wire_format: str) -> list[bytes]:
    """The canonical messages of a body."""
    request = read(body, wire_format)
    return [request.form(place) for place in range(len(request.spans))]
