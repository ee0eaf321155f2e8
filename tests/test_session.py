"""One request in, one request out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab import (
    Call,
    CharTokenCounter,
    ContextCompacted,
    HistoryRepaired,
    MalformedBodyError,
    PassedOn,
    Policy,
    Rewrite,
    Session,
    TokenCountError,
    UnknownFormatError,
)
from trimtab.wire import check

Json = dict[str, Any]
TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]
BETA = "thinking-binding-controls-2026-08-01"


def exchange(call_id: str, text: str, *, thinking: bool = False) -> list[Json]:
    """An answer with a call, and its result."""
    thought = (
        [{"type": "thinking", "thinking": "hm", "signature": f"sig{call_id}"}] if thinking else []
    )
    call = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return [
        {"role": "assistant", "content": [*thought, call]},
        {"role": "user", "content": [result]},
    ]


def body_of(messages: list[Json], **more: Any) -> bytes:
    """An Anthropic request."""
    base: Json = {"model": "claude-opus-4-6", "max_tokens": 64, "tools": TOOLS}
    return json.dumps({**base, **more, "messages": messages}).encode()


def loop(count: int, *, size: int = 2_000, thinking: bool = False) -> list[Json]:
    """One request of the user and a long tool loop."""
    messages: list[Json] = [{"role": "user", "content": "go"}]
    for number in range(count):
        messages += exchange(f"t{number}", "x" * size, thinking=thinking)
    return messages


def rewrite(body: bytes, limit: int, **settings: Any) -> Rewrite:
    """Cut a body to a limit, counting by characters."""
    headers = settings.pop("headers", {})
    settable = settings.pop("headers_settable", True)
    session = Session(
        Policy(limit_tokens=limit, **settings), CharTokenCounter(), headers_settable=settable
    )
    return session.rewrite(session.read(Call(body, headers)))


def test_a_request_that_fits_goes_out_as_it_came() -> None:
    """Below the trigger the very same bytes go out, and nothing is told."""
    body = body_of(loop(3))

    result = rewrite(body, 100_000)

    assert result.body is body
    assert result.outcome.status == "untouched"
    assert (result.plan.edits, result.events) == ((), ())


def test_a_request_that_is_too_large_comes_out_valid_and_small() -> None:
    """The outcome, the plan and the event tell the same figures."""
    body = body_of(loop(20))

    result = rewrite(body, 4_000)

    before, after = result.outcome.tokens_before, result.outcome.tokens_after
    assert result.outcome.status == "fits"
    assert after <= 1_600
    assert before > 4_000
    assert check(result.body, "anthropic") == ()
    messages = len(json.loads(result.body)["messages"])
    assert result.events == (ContextCompacted("deterministic", 41, messages, before, after),)
    assert abs(sum(getattr(e, "saved_tokens", 0) for e in result.plan) - (before - after)) <= 2


def test_a_trigger_below_the_limit_compacts_early() -> None:
    """Over the trigger and under the limit, it comes down to the target."""
    body = body_of(loop(8))

    result = rewrite(body, 100_000, trigger_tokens=3_000, target_tokens=2_000)

    assert result.outcome.status == "fits"
    assert result.outcome.tokens_after <= 2_000


def test_what_cannot_fit_says_what_it_needs() -> None:
    """The figure is what the smallest valid request weighs."""
    words = "please " * 2_000
    body = body_of([{"role": "user", "content": words}])

    result = rewrite(body, 1_000)

    assert result.outcome.status == "unsatisfiable"
    assert result.outcome.needed_tokens == result.outcome.tokens_after > 1_000
    assert result.body is body


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {"thread": {"type": "create"}},
            "part of the conversation lies on the provider's server (thread)",
        ),
        (
            {
                "context_management": {
                    "edits": [{"type": "compact_20260112"}, {"type": "clear_tool_uses_20250919"}]
                }
            },
            "the client leaves clearing and compaction to the provider",
        ),
    ],
)
def test_what_the_provider_manages_is_passed_on(more: Json, reason: str) -> None:
    """Over the limit, it is unmet, with the reason, and the bytes are those that came."""
    body = body_of(loop(20), **more)

    result = rewrite(body, 4_000)

    assert result.body is body
    assert (result.outcome.status, result.outcome.reason) == ("unmet", reason)
    assert result.events == (PassedOn(reason),)


def test_clearing_thinking_alone_switches_nothing_off() -> None:
    """What current agents send by default leaves our work to us."""
    edits = [{"type": "clear_thinking_20251015", "keep": "all"}]
    body = body_of(loop(20), context_management={"edits": edits})

    assert rewrite(body, 4_000).outcome.status == "fits"


def test_a_broken_history_is_mended_and_told() -> None:
    """A call without a result gets one, and an event says so."""
    broken = [*loop(1)[:2], {"role": "user", "content": "hello?"}]

    result = rewrite(body_of(broken), 100_000)

    assert check(result.body, "anthropic") == ()
    assert result.events == (HistoryRepaired(1),)


def test_a_broken_history_is_mended_and_cut() -> None:
    """Mending and cutting are one plan in places of the original."""
    broken = [*loop(12), *loop(1)[1:2], {"role": "user", "content": "hello?"}]
    broken[-2]["content"][0]["id"] = "lost"

    result = rewrite(body_of(broken), 2_000)

    assert check(result.body, "anthropic") == ()
    assert result.outcome.status == "fits"
    assert json.loads(result.body)["messages"][-1]["content"] == "hello?"


def test_bound_thinking_in_an_open_loop_needs_a_header() -> None:
    """Where headers go along, the provider is asked to drop what no longer fits."""
    body = body_of(loop(20, thinking=True), model="claude-fable-5-2", thinking={"type": "adaptive"})

    result = rewrite(body, 4_000, headers={"Anthropic-Beta": "one, two"})

    sent = json.loads(result.body)
    assert result.outcome.status == "fits"
    assert sent["thinking"] == {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert result.headers == {"Anthropic-Beta": f"one,two,{BETA}"}


def test_a_header_that_is_there_is_not_doubled() -> None:
    """Beta lists are appended to, and only once."""
    body = body_of(loop(20, thinking=True), model="claude-fable-5-2", thinking={"type": "adaptive"})

    assert rewrite(body, 4_000, headers={"anthropic-beta": BETA}).headers == {
        "anthropic-beta": BETA
    }


def test_bound_thinking_without_headers_is_unmet() -> None:
    """Where headers cannot be set, the request goes out as it came, with the size it could have."""
    body = body_of(loop(20, thinking=True), model="claude-fable-5-2", thinking={"type": "adaptive"})

    result = rewrite(body, 4_000, headers_settable=False)

    assert result.body is body
    assert result.outcome.status == "unmet"
    assert result.outcome.needed_tokens < 4_000
    assert "cannot be set" in result.outcome.reason


def test_a_request_without_messages_is_not_made_to_fit() -> None:
    """An empty history has nothing to give; the outcome tells what its surface weighs."""
    body = body_of([])

    result = rewrite(body, 10)

    assert result.body is body
    assert result.outcome.status == "unsatisfiable"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b"\x00\x01", b'{"messages": 7, "model": "gpt-5"}']
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    """A typed error, and no other."""
    with pytest.raises((MalformedBodyError, UnknownFormatError)):
        Session(Policy(limit_tokens=100)).read(Call(body))


def test_a_failing_counter_is_not_hidden() -> None:
    """Nothing falls back in silence."""

    class Broken:
        name = "broken"
        quality = "exact"

        def count(self, text: str) -> int:
            raise OSError(f"no vocabulary for {len(text)} characters")

    session = Session(Policy(limit_tokens=100), Broken())  # type: ignore[arg-type]

    with pytest.raises(TokenCountError, match="broken failed: OSError"):
        session.rewrite(session.read(Call(body_of(loop(1)))))


def test_representations_show_no_words_and_no_header_values() -> None:
    """What ends up in logs holds no prompt, no key."""
    body = body_of([{"role": "user", "content": "sesame"}])
    call = Call(body, {"x-api-key": "sk-secret"})
    session = Session(Policy(limit_tokens=10_000), CharTokenCounter())
    turn = session.read(call)

    told = repr(
        (
            call,
            turn,
            session.rewrite(turn),
            turn.request,
            turn.request.messages,
            session.weigh(turn),
        )
    )

    assert "sesame" not in told
    assert "sk-secret" not in told
