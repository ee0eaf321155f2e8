"""One request in, one request out."""

from __future__ import annotations

import cProfile
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
    ReserveCut,
    Rewrite,
    Session,
    State,
    TokenCountError,
    UnknownFormatError,
    Usage,
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
    told = ContextCompacted("deterministic", 41, messages, before, after, None, "limit", before)
    assert result.events == (told,)
    assert abs(sum(getattr(e, "saved_tokens", 0) for e in result.plan) - (before - after)) <= 2


def test_a_trigger_below_the_limit_compacts_early() -> None:
    """Over the trigger and under the limit, it comes down to the target."""
    body = body_of(loop(8))

    result = rewrite(body, 100_000, trigger_tokens=3_000, target_tokens=2_000)

    assert result.outcome.status == "fits"
    assert result.outcome.tokens_after <= 2_000
    (told,) = result.events
    assert isinstance(told, ContextCompacted)
    assert (told.cause, told.foretold_tokens) == ("trigger", result.outcome.tokens_before)


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


# ------------------------------------------------------------- turn after turn


@pytest.mark.parametrize("size", range(2_000, 2_004))
def test_each_turn_weighs_what_goes_out(size: int) -> None:
    """To the token, also where a marker was joined to words, and after a fork."""
    session = Session(Policy(limit_tokens=3_000, target_tokens=1), CharTokenCounter())
    history, state = loop(8, size=size), None
    told: list[int] = []
    weighed: list[int] = []
    for number in range(6):
        request = [*history[:-2], *exchange("fork", "other")] if number == 4 else history
        result = session.rewrite(session.read(Call(body_of(request))), state)
        told.append(result.outcome.tokens_after)
        weighed.append(session.weigh(session.read(Call(result.body))).total_tokens)
        state = session.forwarded(result.ticket)
        history = [*history, *exchange(f"n{number}", "y" * 300)]
        assert result.plan

    assert told == weighed


def test_another_model_weighs_anew_what_is_known() -> None:
    """Weights that were found for one model are not those of the next."""
    session = Session(Policy(limit_tokens=100_000), CharTokenCounter())
    messages: list[Json] = [{"role": "user", "content": "go"}]
    state = None
    told: list[int] = []
    weighed: list[int] = []
    for number, model in enumerate(("claude-opus-4-5", "gpt-5.2", "gpt-5.2", "claude-opus-4-5")):
        call = {"name": "look", "arguments": "{}"}
        calls = [{"id": f"c{number}", "type": "function", "function": call}]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "found"},
        ]
        body = json.dumps({"model": model, "messages": messages}).encode()
        turn = session.read(Call(body), "openai-chat")
        result = session.rewrite(turn, state)
        told.append(result.outcome.tokens_after)
        weighed.append(session.weigh(turn).total_tokens)
        state = session.forwarded(result.ticket)

    assert told == weighed


# ------------------------------------------------------- faults that were found


def words(text: str, role: str = "user") -> Json:
    """A message of words alone."""
    return {"role": role, "content": text}


LONG = "x " * 400


def test_system_messages_in_a_row_stay_valid() -> None:
    """Two mid-conversation system messages whose neighbours go each keep words and an answer."""
    messages = [words("task"), words(LONG, "assistant"), words(LONG), words("S1", "system")]
    messages += [words(LONG, "assistant"), words(LONG), words("S2", "system")]
    messages += [words(LONG, "assistant"), words("now")]

    result = rewrite(body_of(messages, model="claude-opus-5"), 700)

    sent = json.loads(result.body)["messages"]
    assert check(result.body, "anthropic") == ()
    assert result.outcome.status == "fits"
    assert [message["content"] for message in sent if message["role"] == "system"] == ["S1", "S2"]


@pytest.mark.parametrize("limit", range(1_000, 9_500, 500))
def test_a_turn_that_began_with_manual_thinking_still_does(limit: int) -> None:
    """Steps without thinking of their own keep the answer that began their turn."""
    first = exchange("t0", "line\n" * 900, thinking=True)
    later = [m for n in range(1, 8) for m in exchange(f"t{n}", "line\n" * 900)]
    thinking = {"type": "enabled", "budget_tokens": 2_000}
    body = body_of(
        [words("task"), *first, *later],
        model="claude-sonnet-4-5",
        thinking=thinking,
        max_tokens=4_000,
    )

    result = rewrite(body, limit)

    assert check(result.body, "anthropic") == ()
    assert "would break" not in result.outcome.reason
    assert result.outcome.status == ("fits" if limit >= 2_500 else result.outcome.status)


def test_newest_results_are_clipped_where_older_edits_are_forbidden() -> None:
    """On a model that binds thinking, without headers, what was not sent yet may still be cut."""
    messages = [
        words("task"),
        *exchange("t0", "small", thinking=True),
        *exchange("t1", "word " * 5_000, thinking=True),
    ]
    body = body_of(messages, model="claude-fable-5-2", thinking={"type": "adaptive"})

    result = rewrite(body, 3_000, headers_settable=False)

    assert result.outcome.status == "fits"
    assert json.loads(result.body)["messages"][:-1] == messages[:-1]


def test_a_cache_marker_is_not_moved_in_front_of_a_longer_one() -> None:
    """A marker that stood behind a message that stays is not put before it."""
    kept = {"type": "text", "text": "keep", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    gone = {"type": "text", "text": LONG, "cache_control": {"type": "ephemeral", "ttl": "5m"}}
    messages = [
        words("task"),
        words(LONG, "assistant"),
        {"role": "user", "content": [{"type": "hologram"}, kept]},
        words(LONG, "assistant"),
        {"role": "user", "content": [gone]},
        words(LONG, "assistant"),
        words("now"),
    ]

    result = rewrite(body_of(messages), 900)

    assert check(result.body, "anthropic") == ()
    assert "would break" not in result.outcome.reason
    assert result.outcome.status == "fits"


def test_roles_alternate_after_a_second_compaction_too() -> None:
    """Behind an earlier marker, two users in a row get an answer between them as well."""
    messages = [words("task"), words(LONG, "assistant"), words("q"), words("ok", "assistant")]
    first = rewrite(body_of([*messages, words("now")]), 800, trigger_tokens=500, target_tokens=1)
    later = [*json.loads(first.body)["messages"], words(LONG, "assistant"), words("later")]

    second = rewrite(body_of(later), 900, trigger_tokens=500, target_tokens=1)

    roles = [message["role"] for message in json.loads(second.body)["messages"]]
    assert roles == ["user", "assistant", "user"]
    assert second.body.count(b"earlier messages were removed") == 1


def test_words_that_look_like_a_marker_are_still_the_users() -> None:
    """A user who quotes our marker is protected like any other."""
    asked = "[trimtab: 5 lines removed] what does this mean?"
    messages = [words("task"), words(LONG, "assistant"), words(LONG), words(LONG, "assistant")]

    result = rewrite(body_of([*messages, words(asked), *exchange("t", LONG)]), 900)

    assert words(asked) in json.loads(result.body)["messages"]


def test_a_result_that_is_moved_keeps_its_blocks() -> None:
    """Blocks that are not decoded go along as they came."""
    found = {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": "hi"}],
    }
    late = {"type": "tool_result", "tool_use_id": "t", "content": [found]}
    call = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    messages = [
        words("task"),
        {"role": "assistant", "content": [call]},
        words("next"),
        words("ok", "assistant"),
        {"role": "user", "content": [late, {"type": "text", "text": "now"}]},
    ]

    result = rewrite(body_of(messages), 100_000)

    assert json.loads(result.body)["messages"][2]["content"] == [late]


def test_a_clip_never_leaves_blanks_alone() -> None:
    """A result whose first lines are empty is not cut down to them."""
    result = {
        "type": "tool_result",
        "tool_use_id": "t0",
        "content": [{"type": "text", "text": "\n\n" + "foo\n" * 300}],
    }
    call = {"type": "tool_use", "id": "t0", "name": "look", "input": {}}
    messages = [
        words("task"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        words("ok", "assistant"),
        words("q"),
        *exchange("t1", "r"),
    ]

    done = rewrite(body_of(messages), 700, tool_output_max_lines=1, keep_first=10)

    assert check(done.body, "anthropic") == ()
    assert "would break" not in done.outcome.reason


def test_what_is_needed_is_what_a_smaller_budget_reaches() -> None:
    """A budget that is told to be needed is no larger than one that fits."""
    messages = [words("task"), words("hm", "assistant"), words("q"), *exchange("t1", "w " * 2_000)]
    body = body_of(messages)
    sizes = {limit: rewrite(body, limit).outcome for limit in range(560, 700, 4)}

    fitting = [limit for limit, outcome in sizes.items() if outcome.fits]
    needed = [outcome.needed_tokens for outcome in sizes.values() if not outcome.fits]
    assert fitting
    assert needed
    assert all(tokens <= min(fitting) for tokens in needed)


def test_many_parallel_results_take_no_longer_than_their_number() -> None:
    """Four times the results are looked at about four times, not sixteen."""
    looks = []
    for count in (50, 200):
        ids = [f"t{number}" for number in range(count)]
        calls = [{"type": "tool_use", "id": i, "name": "look", "input": {}} for i in ids]
        answers = [{"type": "tool_result", "tool_use_id": i, "content": "w " * 300} for i in ids]
        body = body_of(
            [
                words("task"),
                {"role": "assistant", "content": calls},
                {"role": "user", "content": answers},
            ]
        )
        profile = cProfile.Profile()
        profile.enable()
        assert rewrite(body, 60 * count).outcome.status == "fits"
        profile.disable()
        looks.append(sum(entry.callcount for entry in profile.getstats()))

    assert looks[1] < 6 * looks[0]


# ------------------------------------------------------ room for the answer


def test_an_answer_as_large_as_the_window_leaves_half_of_it_and_says_so_once() -> None:
    """On the first turn; where half of the window is enough nothing is told."""
    session = Session(Policy(), CharTokenCounter())

    def sent(answer_tokens: int, state: State | None = None) -> Rewrite:
        messages = [{"role": "user", "content": "go"}]
        body = {"model": "claude-opus-4-5", "max_tokens": answer_tokens, "messages": messages}
        return session.rewrite(session.read(Call(json.dumps(body).encode())), state)

    first = sent(200_000)

    assert first.events == (ReserveCut(200_000, 100_000),)
    assert first.outcome.limit_tokens == 100_000
    assert sent(200_000, session.forwarded(first.ticket)).events == ()
    assert sent(64_000).events == ()


# ------------------------------------------------------------ what was billed


def billed_turns(share: float, *, turns: int = 4, limit: int = 4_000) -> list[Rewrite]:
    """Turns of a conversation that grows, each billed at so much of what it was counted at."""
    session = Session(Policy(limit_tokens=limit), CharTokenCounter())
    messages: list[Json] = []
    state, sent = None, []
    for number in range(turns):
        messages += [
            {"role": "user", "content": f"step {number} " + "w " * 500},
            {"role": "assistant", "content": "done " * 100},
        ]
        body = json.dumps({"model": "gpt-5.2", "messages": messages[:-1]}).encode()
        rewrite = session.rewrite(session.read(Call(body), "openai-chat"), state)
        counted = rewrite.ticket.becomes.view_tokens + rewrite.ticket.becomes.surface.tokens
        state = session.observed(rewrite.ticket, Usage(fresh=int(counted * share), output=130))
        state = State.from_bytes(state.to_bytes(), state.forms())
        sent.append(rewrite)
    return sent


def test_a_count_is_corrected_by_what_was_billed() -> None:
    """Sizes are told as the provider bills them, near enough once a step was seen."""
    exact, twice = billed_turns(1.0), billed_turns(2.0)

    assert twice[0].outcome == exact[0].outcome
    assert (exact[0].quality, twice[1].quality) == ("estimate", "calibrated")
    for ours, theirs in zip(twice[2:], exact[2:], strict=True):
        assert theirs.outcome.tokens_after * 1.5 < ours.outcome.tokens_after
        assert ours.outcome.tokens_after < theirs.outcome.tokens_after * 2.6


def test_a_bill_that_is_higher_than_the_count_compacts_earlier() -> None:
    """The limit is the provider's, so it is held on the provider's bill."""
    plain, dear = (
        [bool(rewrite.plan) for rewrite in billed_turns(share, turns=14)] for share in (1.0, 2.5)
    )

    assert dear.index(True) < plain.index(True)
    assert all(rewrite.outcome.fits for rewrite in billed_turns(2.5, turns=14))


@pytest.mark.parametrize("share", [0.01, 9.0])
def test_a_bill_that_is_of_something_else_decides_nothing(share: float) -> None:
    """A count is never that far off: a side call, or a sum over calls."""
    assert [rewrite.outcome for rewrite in billed_turns(share)] == [
        rewrite.outcome for rewrite in billed_turns(0.0)
    ]


def test_a_compaction_leaves_no_reported_size_behind() -> None:
    """What was reported before it is no longer the size of the conversation."""
    compacted = next(rewrite for rewrite in billed_turns(1.0, turns=14) if rewrite.plan)

    began, becomes = compacted.ticket.began, compacted.ticket.becomes
    assert began is not None
    assert began.tracker.reported is not None
    assert becomes.tracker.reported is None


# ------------------------------------------------------------------- break-even


def grown(
    worker: Session, turns: int, size: int, state: State | None, **more: Any
) -> tuple[list[Any], State]:
    """A conversation that grows by so many words a turn."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    rewrites = []
    for number in range(turns):
        messages.append({"role": "assistant", "content": f"{number} " + "so " * size})
        messages.append({"role": "user", "content": "go on"})
        body = json.dumps(
            {"model": "claude-opus-4-6", "max_tokens": 99, **more, "messages": messages}
        )
        rewrite = worker.rewrite(worker.read(Call(body.encode())), state)
        state = worker.forwarded(rewrite.ticket)
        rewrites.append(rewrite)
    assert state is not None
    return rewrites, state


def compacted(rewrites: list[Any]) -> list[int]:
    """The turns on which it was made smaller."""
    return [
        turn
        for turn, rewrite in enumerate(rewrites)
        if any(isinstance(event, ContextCompacted) for event in rewrite.events)
    ]


def test_the_default_trigger_waits_until_the_turns_to_come_pay_for_a_cut() -> None:
    """As many are taken to come as there were: after a few large turns a shallow cut is left alone."""
    policy = Policy(target_tokens=100_000)
    few, _ = grown(Session(policy, CharTokenCounter()), 9, 20_000, None)
    many, _ = grown(Session(policy, CharTokenCounter()), 170, 1_000, None)

    assert few[-1].outcome.tokens_after > 120_000
    assert compacted(few) == []
    assert compacted(many) != []


def test_a_trigger_that_the_user_sets_is_used_always() -> None:
    """Whether it pays or not."""
    policy = Policy(target_tokens=100_000, trigger_tokens=120_000)
    few, _ = grown(Session(policy, CharTokenCounter()), 9, 20_000, None)

    assert compacted(few) != []


def test_a_cut_waits_longer_where_writing_for_an_hour_costs_more() -> None:
    """Its price is that of the markers in the request."""
    policy = Policy(target_tokens=100_000)
    first = [
        compacted(
            grown(Session(policy, CharTokenCounter()), 24, 10_000, None, cache_control=each)[0]
        )[0]
        for each in ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"})
    ]

    assert first == [19, 22]
