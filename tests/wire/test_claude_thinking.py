"""What a plan entails for signed thinking, and for system messages inside a conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Drop, Fold, Message, Plan, Replace, Text, ToolResult
from trimtab.plan import EnvelopeEdit, Forbidden, Keep, Ref
from trimtab.wire import Request, check, read, write

Json = dict[str, Any]

UNBOUND = "claude-opus-4-6"
BOUND = "claude-opus-5-5"
ADAPTIVE = {"thinking": {"type": "adaptive"}}

HOLE = "thinking before thinking that was removed"
COMMITTED = "its signature commits to what was edited before it"


def user(words: str = "go on") -> Json:
    """Words of the user."""
    return {"role": "user", "content": words}


def thought(number: int) -> Json:
    """A thinking block."""
    return {"type": "thinking", "thinking": "hm", "signature": f"sig{number}"}


def calls(number: int, *front: Json) -> Json:
    """An assistant message that thinks, if told so, and calls."""
    call = {"type": "tool_use", "id": f"c{number}", "name": "ls", "input": {}}
    return {"role": "assistant", "content": [*front, call]}


def answers(number: int) -> Json:
    """The result of a call."""
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "ok"}
    return {"role": "user", "content": [result]}


def exchange(number: int) -> list[Json]:
    """A thought, a call and its result."""
    return [calls(number, thought(number)), answers(number)]


def request(model: str, *messages: Json, **more: Any) -> Request:
    """A request to a model."""
    body = {
        "model": model,
        "max_tokens": 2048,
        "tools": [{"name": "ls", "input_schema": {}}],
        **more,
        "messages": list(messages),
    }
    return read(json.dumps(body).encode(), "anthropic")


def clip(message: int) -> Replace:
    """Shorten the result of a message."""
    number = (message - 1) // 2
    return Replace(message, 0, ToolResult(f"c{number}", (Text("k"),)), "shorter")


def complete(request: Request, *edits: Any, headers_settable: bool = True) -> Plan | Forbidden:
    """The format's last word on a plan."""
    return request.format.complete(request, Plan(edits), headers_settable=headers_settable)


# ------------------------------------------------------------------- unbound

CLOSED = (user(), *exchange(0), *exchange(1), *exchange(2), user())
"""Messages 1, 3 and 5 think; the loop is closed by words."""


@pytest.mark.parametrize(
    ("edits", "added"),
    [
        ((clip(2),), ()),
        ((Drop(Ref(1), ""), Drop(Ref(2), "")), ()),
        ((Drop(Ref(1, (0,)), ""),), ()),
        ((Drop(Ref(5), ""), Drop(Ref(6), "")), ()),
        ((Drop(Ref(1, (0,)), ""), Drop(Ref(5, (0,)), "")), ()),
        ((Drop(Ref(3), ""), Drop(Ref(4), "")), (Drop(Ref(1, (0,)), HOLE),)),
        ((Drop(Ref(3, (0,)), ""),), (Drop(Ref(1, (0,)), HOLE),)),
        (tuple(Drop(Ref(place, (0,)), "") for place in (1, 3, 5)), ()),
    ],
)
def test_a_chain_of_thinking_has_no_hole(edits: tuple[Any, ...], added: tuple[Drop, ...]) -> None:
    """Thinking may go from the front or the end; what stands before a hole goes too."""
    assert complete(request(UNBOUND, *CLOSED), *edits) == Plan((*edits, *added))


def test_redacted_thinking_is_part_of_the_chain() -> None:
    """What the provider shows no words of counts like any other, and so does more than one block."""
    redacted = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    first = [calls(0, thought(0), redacted), answers(0)]
    second = [calls(1, redacted), answers(1)]
    chain = request(UNBOUND, user(), *first, *second, *exchange(2), user())

    plan = complete(chain, Drop(Ref(3), ""), Drop(Ref(4), ""))

    assert plan == Plan((Drop(Ref(3), ""), Drop(Ref(4), ""), Drop(Ref(1, (0, 1)), HOLE)))


def test_only_what_stands_before_the_last_hole_is_stripped() -> None:
    """With holes and a loose end, one unbroken row of thinking stays."""
    chain = request(UNBOUND, user(), *exchange(0), *exchange(1), *exchange(2), *exchange(3), user())

    plan = complete(chain, Drop(Ref(3, (0,)), ""), Drop(Ref(7, (0,)), ""))

    assert plan == Plan((Drop(Ref(3, (0,)), ""), Drop(Ref(7, (0,)), ""), Drop(Ref(1, (0,)), HOLE)))


def test_an_empty_plan_is_given_back() -> None:
    """Where nothing changes, nothing is entailed; what only stays is no change."""
    keeps = Plan((Keep(Ref(1), "newest"),))
    chain = request(BOUND, *CLOSED)

    assert chain.format.complete(chain, keeps, headers_settable=False) is keeps


@st.composite
def _chains(draw: st.DrawFn, model: str) -> tuple[Request, list[int]]:
    """A conversation in which most answers think, and the exchanges that are to go."""
    count = draw(st.integers(1, 6))
    messages = [user()]
    exchanges = []
    for number in range(count):
        exchanges.append(len(messages))
        front = [thought(number)] if draw(st.integers(0, 3)) else []
        messages += [calls(number, *front), answers(number)]
        if draw(st.integers(0, 4)) == 0:
            messages += [{"role": "assistant", "content": "done"}, user(f"more {number}")]
    gone = draw(st.sets(st.sampled_from(exchanges)))
    return request(model, *messages, user("last"), **ADAPTIVE), sorted(gone)


def _signatures(body: bytes) -> list[str]:
    return [
        block["signature"]
        for message in json.loads(body)["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "thinking"
    ]


@given(drawn=_chains(UNBOUND))
def test_what_is_left_of_a_chain_has_no_hole(drawn: tuple[Request, list[int]]) -> None:
    """Whichever exchanges go, the thinking that stays is an unbroken row of what there was."""
    chain, gone = drawn
    plan = complete(chain, *(Drop(Ref(place + way), "") for place in gone for way in (0, 1)))
    assert isinstance(plan, Plan)

    body = write(chain, plan)

    before, after = _signatures(chain.body), _signatures(body)
    start = before.index(after[0]) if after else 0
    assert after == before[start : start + len(after)]
    assert check(body, "anthropic") == ()


# --------------------------------------------------------------------- bound


@pytest.mark.parametrize("model", [BOUND, "claude-fable-5.1", "claude-haiku-5-5", "claude-next"])
def test_no_thinking_stays_behind_an_edit(model: str) -> None:
    """Where signatures commit to the prefix, an edit takes all thinking behind it along."""
    plan = complete(request(model, *CLOSED), clip(2), headers_settable=False)

    assert plan == Plan((clip(2), Drop(Ref(3, (0,)), COMMITTED), Drop(Ref(5, (0,)), COMMITTED)))


def test_thinking_before_an_edit_stays() -> None:
    """The prefix of the first thoughts is what it was."""
    plan = complete(request(BOUND, *CLOSED), clip(4))

    assert plan == Plan((clip(4), Drop(Ref(5, (0,)), COMMITTED)))


@pytest.mark.parametrize(
    "edits", [(clip(6),), (Replace(7, 0, Text("shorter"), ""),), (Drop(Ref(7), ""),)]
)
def test_an_edit_behind_all_thinking_entails_nothing(edits: tuple[Any, ...]) -> None:
    """What no thought has seen yet can change freely."""
    assert complete(request(BOUND, *CLOSED), *edits) == Plan(edits)


def test_what_never_thought_is_edited_freely() -> None:
    """Without thinking in the history there is nothing to break."""
    plain = request(BOUND, user(), calls(0), answers(0), user())

    assert complete(plain, clip(2), headers_settable=False) == Plan((clip(2),))


def test_a_made_message_in_front_is_an_edit_too() -> None:
    """A marker put in changes the prefix of everything behind it."""
    marker = Fold((), 1, Message.user("[gone]", origin="marker"), "")

    plan = complete(request(BOUND, *CLOSED), marker)

    assert plan == Plan((marker, *(Drop(Ref(place, (0,)), COMMITTED) for place in (1, 3, 5))))


def test_other_models_bind_nothing() -> None:
    """A model that is no Claude keeps its thinking behind an edit."""
    assert complete(request("kimi-k2", *CLOSED), clip(2)) == Plan((clip(2),))


OPEN = CLOSED[:-1]
"""The same, and the last word is a result."""

BETA = "thinking-binding-controls-2026-08-01"
REFUSED = "thinking in the open tool loop is bound to what would be edited"


def dropping() -> EnvelopeEdit:
    """The wish that the provider drops what does not fit."""
    return EnvelopeEdit(
        ("thinking", "block_binding", "prefix_mismatch_behavior"),
        '"drop_block"',
        "the provider drops thinking that is bound to what was edited",
        header="anthropic-beta",
        header_value=BETA,
    )


@pytest.mark.parametrize(
    ("thinking", "wish"),
    [
        (
            {"type": "adaptive"},
            '{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}',
        ),
        (
            {"block_binding": {"prefix_mismatch_behavior": "error", "n": 1}, "type": "adaptive"},
            '{"block_binding":{"prefix_mismatch_behavior":"drop_block","n":1},"type":"adaptive"}',
        ),
        (
            {"type": "adaptive", "block_binding": None},
            '{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}',
        ),
        (
            {"type": "adaptive", "block_binding": "drop"},
            '{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}',
        ),
    ],
)
def test_in_an_open_loop_the_provider_drops_it(thinking: Json, wish: str) -> None:
    """Nobody may strip thinking by hand there, so the provider is asked, with the beta it needs."""
    chain = request(BOUND, *OPEN, thinking=thinking)

    plan = complete(chain, clip(2))

    assert plan == Plan((clip(2),), (dropping(),))
    assert json.loads(write(chain, plan))["thinking"] == json.loads(wish)


def test_the_wish_is_written_over_the_parameter() -> None:
    """Only the parameter and the edited result have other bytes."""
    chain = request(BOUND, *OPEN, **ADAPTIVE)
    plan = complete(chain, clip(2))
    assert isinstance(plan, Plan)

    body = write(chain, plan)

    assert body == chain.body.replace(
        b'"thinking": {"type": "adaptive"}',
        b'"thinking": {"type": "adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}',
    ).replace(b'"c0", "content": "ok"', b'"c0", "content": "k"')


@pytest.mark.parametrize(
    ("parameters", "headers_settable", "reason"),
    [
        (
            ADAPTIVE,
            False,
            f"{REFUSED}, and the header that lets the provider drop it ({BETA}) cannot be set",
        ),
        ({}, True, REFUSED),
        (
            {"thinking": None},
            True,
            REFUSED,
        ),
    ],
)
def test_where_it_cannot_be_asked_the_edit_is_refused(
    parameters: Json,
    headers_settable: bool,  # noqa: FBT001 - a column of the table
    reason: str,
) -> None:
    """Without the header, or a parameter to carry the wish, the provider would refuse the request."""
    chain = request(BOUND, *OPEN, **parameters)

    assert complete(chain, clip(2), headers_settable=headers_settable) == Forbidden(reason)


def test_at_birth_everything_may_be_edited() -> None:
    """The newest result has no thinking behind it, open loop or not."""
    assert complete(request(BOUND, *OPEN), clip(6), headers_settable=False) == Plan((clip(6),))


def test_a_marker_in_front_begins_the_loop_anew() -> None:
    """Thinking that the open loop holds is not stripped because its round lost the user's words."""
    fold = Fold((Ref(0), Ref(1), Ref(2)), 0, Message.user("[gone]", origin="marker"), "")

    plan = complete(request(BOUND, *OPEN, **ADAPTIVE), fold)

    assert plan == Plan((fold,), (dropping(),))


def test_a_loop_that_nobody_asked_for_is_open_too() -> None:
    """Without any words of a user, all that was done is one open loop."""
    chain = request(BOUND, *OPEN[1:])

    plan = complete(chain, Replace(1, 0, ToolResult("c0", (Text("k"),)), ""))

    assert plan == Forbidden(REFUSED)


def test_words_put_behind_the_thinking_close_its_loop() -> None:
    """What stands in front of the last words is no open loop any more, and can be stripped."""
    chain = request(BOUND, *OPEN, **ADAPTIVE)
    marker = Fold((), 7, Message.user("[gone]", origin="marker"), "")

    plan = complete(chain, clip(2), marker, headers_settable=False)

    drops = (Drop(Ref(3, (0,)), COMMITTED), Drop(Ref(5, (0,)), COMMITTED))
    assert plan == Plan((clip(2), marker, *drops))


@given(drawn=_chains(BOUND), clipped=st.integers(0, 5))
def test_thinking_stays_only_behind_its_own_prefix(
    drawn: tuple[Request, list[int]], clipped: int
) -> None:
    """Every thought that goes out has in front of it exactly what it had when it was signed."""
    chain, gone = drawn
    edits: list[Any] = [Drop(Ref(place + way), "") for place in gone for way in (0, 1)]
    results = [p for p, outline in enumerate(chain.outlines) if outline.result_ids]
    place = results[clipped % len(results)]
    if place - 1 not in gone:
        (call_id,) = chain.outlines[place].result_ids
        edits.append(Replace(place, 0, ToolResult(call_id, (Text("k"),)), ""))
    plan = complete(chain, *edits, headers_settable=False)
    assert isinstance(plan, Plan)

    body = write(chain, plan)

    assert _prefixes(body) <= _prefixes(chain.body)
    assert check(body, "anthropic") == ()


def _prefixes(body: bytes) -> set[str]:
    """All that stands in front of each thinking block, with the block."""
    seen = []
    prefixes = set()
    for message in json.loads(body)["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else [message]:
            seen.append(json.dumps([message["role"], block]))
            if block.get("type") == "thinking":
                prefixes.add("".join(seen))
    return prefixes


# ----------------------------------------------------------- system messages

HURRY = {"role": "system", "content": "hurry"}
DONE = {"role": "assistant", "content": "done"}
MIDDLE = (user("a"), HURRY, DONE, user("b"), DONE, user("c"))


def filler(before: int) -> Fold:
    """The answer that a system message needs."""
    return Fold(
        (),
        before,
        Message.assistant("Understood.", origin="filler"),
        "a system message stands between words and an answer",
    )


def test_a_system_message_keeps_an_answer_behind_it() -> None:
    """Where its answer goes, a short one is put in."""
    middle = request("claude-opus-4-8", *MIDDLE)

    plan = complete(middle, Drop(Ref(2), ""))

    assert plan == Plan((filler(2), Drop(Ref(2), "")))
    assert check(write(middle, Plan(plan.edits)), "anthropic") == ()


def test_the_answer_stands_in_front_of_a_marker() -> None:
    """What was made for the same place comes behind it."""
    middle = request("claude-opus-4-8", *MIDDLE)
    fold = Fold((Ref(2), Ref(3)), 2, Message.user("[gone]", origin="marker"), "")
    plan = complete(middle, fold)
    assert plan == Plan((filler(2), fold))

    body = write(middle, plan)

    assert [(message["role"], message["content"]) for message in json.loads(body)["messages"]] == [
        ("user", "a"),
        ("system", "hurry"),
        ("assistant", [{"type": "text", "text": "Understood."}]),
        ("user", [{"type": "text", "text": "[gone]"}]),
        ("assistant", "done"),
        ("user", "c"),
    ]
    assert check(body, "anthropic") == ()


@pytest.mark.parametrize(
    ("messages", "edit"),
    [
        # an answer stays behind it
        (MIDDLE, Drop(Ref(3), "")),
        # it is the last word
        ((user("a"), user("b"), HURRY), Drop(Ref(0), "")),
        # it goes itself
        (MIDDLE, Drop(Ref(1), "")),
        # the client left it without one
        ((user("a"), HURRY, user("b"), DONE, user("c")), Drop(Ref(3), "")),
        # it stands in front, where the request was broken on arrival
        ((HURRY, DONE, user("b")), Drop(Ref(1), "")),
    ],
)
def test_no_answer_is_made_where_none_is_needed(messages: tuple[Json, ...], edit: Drop) -> None:
    """The plan stays as it was."""
    assert complete(request("claude-opus-4-8", *messages), edit) == Plan((edit,))
