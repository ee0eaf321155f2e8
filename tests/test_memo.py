"""What was emitted for a known prefix is emitted again, and nothing else is.

The compressor of these tests keeps the first sentence of each text and adds
how long the last message's text is, so that it makes something else of an old
message whenever a new one comes.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from trimtab import PolicyError, PrefixMemo

Json = dict[str, Any]
Compressor = Callable[[Json], Json]

SALT = "tenant/anthropic/first-sentence-1"
TTL = {"type": "ephemeral", "ttl": "1h"}
SHORT_TTL = {"type": "ephemeral"}


def text(number: int) -> str:
    """What a message says; its first sentence tells which it is."""
    return f"Sentence {number}. " + "And more of it. " * (number + 1)


def said(number: int) -> Json:
    """A message whose content is a string."""
    return {"role": ("user", "assistant")[number % 2], "content": text(number)}


def request(count: int, field: str = "messages") -> Json:
    """A request of some messages."""
    return {"model": "m", field: [said(number) for number in range(count)]}


def shortened(value: str, suffix: str) -> str:
    """The first sentence, and what the whole conversation adds to it."""
    return value.partition(". ")[0] + suffix


def _walk(value: Any, suffix: str) -> Any:
    match value:
        case str():
            return shortened(value, suffix)
        case list():
            return [_walk(each, suffix) for each in value]
        case dict():
            return {
                key: _walk(inner, suffix)
                if key in ("content", "text", "parts", "output", "arguments", "response")
                else inner
                for key, inner in value.items()
            }
        case _:
            return value


def _last_text(messages: Sequence[Any]) -> str:
    return json.dumps(messages[-1]) if messages else ""


def compress(body: Json) -> Json:
    """The compressor that the checks name."""
    body = copy.deepcopy(body)
    for field in ("messages", "input", "contents"):
        if isinstance(body.get(field), list):
            suffix = f" [{len(_last_text(body[field]))}]"
            body[field] = [_walk(message, suffix) for message in body[field]]
    return body


def turn(
    memo: PrefixMemo, body: Json, salt: str = SALT, compressor: Compressor = compress
) -> tuple[Json, int]:
    """Compress, replay, and record what came out."""
    sent, replayed = memo.replay(salt, body, compressor(body))
    memo.record(salt, body, sent)
    return sent, replayed


def dumped(value: object) -> bytes:
    """JSON as a client sends it."""
    return json.dumps(value, ensure_ascii=False).encode()


def items(body: bytes, field: str = "messages") -> list[str]:
    """The messages of a body, each as its own JSON text."""
    decoder = json.JSONDecoder()
    rest = body.decode().partition(f'"{field}": [')[2]
    found = []
    while not rest.startswith("]"):
        rest = rest.lstrip(", ")
        _, stop = decoder.raw_decode(rest)
        found.append(rest[:stop])
        rest = rest[stop:]
    return found


# --------------------------------------------------------------- 3.1 to 3.5


def test_3_1_two_turns_send_the_first_messages_as_they_were_sent() -> None:
    """Two are replayed byte for byte, and the third is this turn's own."""
    memo = PrefixMemo()
    first, second = dumped(request(2)), dumped(request(3))
    made = dumped(compress(request(3)))

    one, none = memo.replay(SALT, first, dumped(compress(request(2))))
    memo.record(SALT, first, one)
    two, replayed = memo.replay(SALT, second, made)

    assert (none, replayed) == (0, 2)
    assert items(two)[:2] == items(one)
    assert items(made)[:2] != items(one)
    assert items(two)[2] == items(made)[2]
    assert two.partition(b'"messages"')[0] == made.partition(b'"messages"')[0]


def test_3_1_bodies_keep_their_type_and_what_is_not_replayed() -> None:
    """Bytes, text and dicts come back as what they were, each from its own turn."""
    first, second = request(2), request(3)
    writers: list[Callable[[Json], Any]] = [dumped, lambda body: dumped(body).decode(), dict]
    for write in writers:
        memo = PrefixMemo()
        made = write(compress(second))
        memo.record(SALT, write(first), write(compress(first)))
        sent, replayed = memo.replay(SALT, write(second), made)
        expected = {**second, "messages": compress(first)["messages"]}
        expected["messages"] += compress(second)["messages"][2:]

        assert (type(sent), replayed) == (type(made), 2)
        assert (sent if isinstance(sent, dict) else json.loads(sent)) == expected


def test_3_2_a_third_turn_sends_what_both_sent_before() -> None:
    """Three are replayed: two of the first turn, one of the second."""
    memo = PrefixMemo()
    one, _ = turn(memo, request(2))
    two, _ = turn(memo, request(3))
    three, replayed = turn(memo, request(4))

    assert replayed == 3
    assert three["messages"][:3] == two["messages"]
    assert three["messages"][:2] == one["messages"]


def test_3_2_over_200_turns_each_replays_all_that_the_last_one_sent() -> None:
    """One fewer than there are messages, at every turn."""
    memo = PrefixMemo()
    before: list[Any] = []
    for count in range(1, 201):
        sent, replayed = turn(memo, request(count))
        assert replayed == count - 1
        assert sent["messages"][:-1] == before
        before = sent["messages"]


def test_3_3_another_salt_replays_nothing_and_takes_nothing_away() -> None:
    """The first salt still replays its two."""
    memo = PrefixMemo()
    turn(memo, request(2))
    other, replayed = turn(memo, request(3), salt="other")
    again, still = memo.replay(SALT, request(3), compress(request(3)))

    assert (replayed, still) == (0, 2)
    assert other == compress(request(3)) != again


@pytest.mark.parametrize("changed", range(5))
def test_3_4_a_changed_byte_ends_the_run_at_its_message(changed: int) -> None:
    """Exactly the messages before it are replayed; from it on all are this turn's own."""
    memo = PrefixMemo()
    before, _ = turn(memo, request(5))
    edited = request(6)
    edited["messages"][changed]["content"] += "!"
    sent, replayed = turn(memo, edited)

    assert replayed == changed
    assert sent["messages"][:changed] == before["messages"][:changed]
    assert sent["messages"][changed:] == compress(edited)["messages"][changed:]


def test_3_5_a_known_message_behind_an_unknown_one_is_not_used() -> None:
    """The second is as before, and is still this turn's own."""
    memo = PrefixMemo()
    turn(memo, request(3))
    edited = request(4)
    edited["messages"][0]["content"] = "Something else."

    assert memo.replay(SALT, edited, made := compress(edited)) == (made, 0)


# --------------------------------------------------------------- 3.6 to 3.8


def test_3_6_a_capacity_holds_over_many_conversations() -> None:
    """Between one entry and four, at all times."""
    memo = PrefixMemo(max_entries=4)
    for number in range(1_000):
        turn(memo, {"messages": [{"role": "user", "content": f"Hello {number}. And more."}]})
        assert 1 <= len(memo) <= 4


def test_3_6_a_byte_cap_holds_and_a_larger_item_is_not_stored() -> None:
    """Neither many messages nor a large one pass it, and what is behind a gap is not kept."""
    memo = PrefixMemo(max_bytes=500)
    for number in range(300):
        turn(memo, {"messages": [{"role": "user", "content": f"Hello {number}. And more."}]})
        assert 0 < memo.bytes <= 500
    large = {"messages": [said(0), {"role": "user", "content": "x" * 500}, said(2)]}
    turn(memo, large)

    assert memo.replay(SALT, large, compress(large))[1] == 1
    assert memo.bytes <= 500


def test_3_6_what_is_kept_is_counted() -> None:
    """The bytes are those of the messages as they were sent."""
    memo = PrefixMemo()
    body = {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "bé"}]}
    memo.record(SALT, body, body)

    expected = sum(
        len(json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode())
        for each in body["messages"]
    )
    assert (len(memo), memo.bytes) == (2, expected)


def test_3_7_a_cap_takes_the_end_of_a_conversation() -> None:
    """Its front stays, however far it grows."""
    memo = PrefixMemo(max_entries=4)

    replayed = [turn(memo, request(count))[1] for count in range(1, 13)]

    assert replayed == [0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4]


def test_3_7_a_hit_keeps_a_conversation_and_another_goes() -> None:
    """What was replayed last is what stays."""
    memo = PrefixMemo(max_entries=4)
    for salt in ("a", "b"):
        memo.record(salt, request(2), request(2))
    memo.replay("a", request(2), request(2))
    memo.record("c", request(1), request(1))

    replayed = [memo.replay(salt, request(2), request(2))[1] for salt in ("a", "b", "c")]

    assert replayed == [2, 1, 1]


@pytest.mark.parametrize(("entries", "size"), [(0, 10_000), (10, 0)])
def test_3_8_a_capacity_of_nothing_reads_and_stores_nothing(entries: int, size: int) -> None:
    """Always 0 replayed and 0 kept."""
    memo = PrefixMemo(max_entries=entries, max_bytes=size)

    assert [turn(memo, request(count))[1] for count in (1, 2, 3)] == [0, 0, 0]
    assert (len(memo), memo.bytes) == (0, 0)


@pytest.mark.parametrize("caps", [{"max_entries": -1}, {"max_bytes": -1}])
def test_3_8_a_cap_below_nothing_is_refused(caps: dict[str, int]) -> None:
    """It is a mistake, and says which setting."""
    with pytest.raises(PolicyError, match=next(iter(caps))):
        PrefixMemo(**caps)


# -------------------------------------------------------------- 3.9 to 3.12


def led(body: Json, role: str = "system") -> Json:
    """The compressor, with a leading message of its own."""
    body = compress(body)
    body["messages"].insert(0, {"role": role, "content": "Answer briefly."})
    return body


@pytest.mark.parametrize("role", ["system", "developer"])
def test_3_9_a_leading_message_of_the_compressor_is_allowed_for(role: str) -> None:
    """Two are replayed behind it."""
    memo = PrefixMemo()
    one, _ = turn(memo, request(2), compressor=lambda body: led(body, role))
    two, replayed = turn(memo, request(3), compressor=lambda body: led(body, role))

    assert replayed == 2
    assert two["messages"][:3] == one["messages"]
    assert two["messages"][0] == {"role": role, "content": "Answer briefly."}


@pytest.mark.parametrize("write", [dumped, copy.deepcopy])
def test_3_9_an_addition_of_the_first_turn_alone_stays(write: Callable[[Json], Any]) -> None:
    """What only the first turn put in front is there on the later ones as well."""
    memo = PrefixMemo()
    one, _ = memo.replay(SALT, write(request(2)), write(led(request(2))))
    memo.record(SALT, write(request(2)), one)
    two, replayed = memo.replay(SALT, write(request(3)), write(compress(request(3))))
    memo.record(SALT, write(request(3)), two)
    three, more = memo.replay(SALT, write(request(4)), write(compress(request(4))))

    front, middle, back = (
        (each if isinstance(each, dict) else json.loads(each))["messages"]
        for each in (one, two, three)
    )
    assert (replayed, more) == (2, 3)
    assert middle[:3] == front
    assert back[:4] == middle


def test_3_9_the_first_of_two_additions_counts() -> None:
    """A leading text that changes with each turn is sent as it was first sent."""
    memo = PrefixMemo()

    def counting(body: Json) -> Json:
        made = led(body)
        made["messages"][0]["content"] = f"There are {len(body['messages'])} messages."
        return made

    turn(memo, request(2), compressor=counting)
    sent, _ = turn(memo, request(3), compressor=counting)

    assert sent["messages"][0]["content"] == "There are 2 messages."


ADDED_TOOL = {"name": "recall", "input_schema": {"type": "object"}}
OWN_TOOL = {"name": "grep", "input_schema": {"type": "object"}}

SURFACES: dict[str, tuple[Json, Json]] = {
    "no system": ({}, {"system": "Be brief."}),
    "a text": ({"system": "You help."}, {"system": "You help.\n\nBe brief."}),
    "an empty text": ({"system": ""}, {"system": "Be brief."}),
    "a text in front": ({"system": "Be brief."}, {"system": "Now then. Be brief."}),
    "blocks": (
        {"system": [{"type": "text", "text": "You help."}]},
        {"system": [{"type": "text", "text": "You help."}, {"type": "text", "text": "Be brief."}]},
    ),
    "blocks for a text": (
        {"system": "You help."},
        {"system": [{"type": "text", "text": "You help."}, {"type": "text", "text": "Be brief."}]},
    ),
    "instructions": ({"instructions": "You help."}, {"instructions": "You help. Be brief."}),
    "parts": (
        {"systemInstruction": {"parts": [{"text": "You help."}], "role": "user"}},
        {"systemInstruction": {"parts": [{"text": "You help."}, {"text": "Be brief."}]}},
    ),
    "no tools": ({}, {"tools": [ADDED_TOOL]}),
    "tools": ({"tools": [OWN_TOOL]}, {"tools": [ADDED_TOOL, OWN_TOOL]}),
}
"""What the client says itself, and what the compressor makes of it on the first turn."""


@pytest.mark.parametrize("write", [dumped, copy.deepcopy])
@pytest.mark.parametrize("name", SURFACES)
def test_3_9_additions_to_system_and_tools_stay(name: str, write: Callable[[Json], Any]) -> None:
    """What only the first turn added to them is there whenever something is replayed."""
    own, grown = SURFACES[name]
    grown = {**own, **grown}
    if name == "parts":
        grown["systemInstruction"]["role"] = "user"
    memo = PrefixMemo()
    first, second = {**request(2), **own}, {**request(3), **own}
    memo.record(SALT, write(first), write({**compress(first), **grown}))
    sent, replayed = memo.replay(SALT, write(second), write(compress(second)))

    sent = sent if isinstance(sent, dict) else json.loads(sent)
    assert replayed == 2
    assert {key: sent[key] for key in grown} == grown


@pytest.mark.parametrize(
    ("own", "sent", "later"),
    [
        ({"system": "You help."}, {"system": "Help!"}, {"system": "You help."}),
        ({"system": ["a"]}, {"system": "Be brief."}, {"system": ["a"]}),
        ({"system": 5}, {"system": [5, 6]}, {"system": 5}),
        ({"tools": [OWN_TOOL]}, {"tools": [{"name": "g"}]}, {"tools": [OWN_TOOL]}),
        ({"tools": [OWN_TOOL]}, {"tools": []}, {"tools": [OWN_TOOL]}),
        ({"tools": [OWN_TOOL]}, {"tools": [{"name": "g"}, ADDED_TOOL]}, {"tools": [OWN_TOOL]}),
        ({}, {"system": "Be brief."}, {"system": "I say this myself."}),
        ({"system": "You help."}, {"system": "You help. Briefly."}, {"system": "You are gone."}),
        ({}, {"system": "Be brief."}, {"tools": [OWN_TOOL]}),
    ],
)
def test_3_9_what_the_client_says_itself_is_never_replaced(
    own: Json, sent: Json, later: Json
) -> None:
    """Neither where the compressor shortened it, nor where the client says something else by now."""
    memo = PrefixMemo()
    first, second = {**request(2), **own}, {**request(3), **later}
    memo.record(SALT, first, {**compress(first), **sent})
    got, replayed = memo.replay(SALT, second, compress(second))

    assert replayed == 2
    assert {**got, "messages": None} == {**second, "messages": None}


def test_3_9_additions_take_no_marker_with_them_and_leave_the_clients() -> None:
    """Markers on system and tools are those of the request at hand."""
    memo = PrefixMemo()
    mine = {"type": "text", "text": "You help."}
    first = {**request(2), "system": [{**mine, "cache_control": TTL}]}
    added = {"type": "text", "text": "Be brief.", "cache_control": SHORT_TTL}
    tool = {**ADDED_TOOL, "cache_control": SHORT_TTL}
    memo.record(
        SALT, first, {**compress(first), "system": [*first["system"], added], "tools": [tool]}
    )
    second = {**request(3), "system": [{**mine, "cache_control": SHORT_TTL}]}
    sent, replayed = memo.replay(SALT, second, compress(second))

    assert replayed == 2
    assert sent["system"] == [*second["system"], {"type": "text", "text": "Be brief."}]
    assert sent["tools"] == [ADDED_TOOL]


def test_3_9_an_addition_that_comes_later_joins_the_ones_before() -> None:
    """A turn that adds something new keeps it, and what is there stays as it is."""
    memo = PrefixMemo()
    turn(memo, request(2), compressor=led)
    turn(memo, request(3), compressor=lambda body: {**compress(body), "tools": [ADDED_TOOL]})
    sent, _ = turn(memo, request(4))

    assert sent["tools"] == [ADDED_TOOL]
    assert sent["messages"][0] == {"role": "system", "content": "Answer briefly."}


def test_3_9_without_its_addition_nothing_of_a_conversation_is_kept() -> None:
    """Where the addition does not fit, a replay would break the prefix at its front."""
    memo = PrefixMemo(max_bytes=200)
    long = {"role": "system", "content": "x" * 300}
    memo.record(SALT, request(1), {"messages": [long, *request(1)["messages"]]})

    assert len(memo) == 0


def test_3_10_a_system_message_before_one_of_the_clients_own_does_not_align() -> None:
    """0, unchanged, and nothing recorded."""
    memo = PrefixMemo()
    body = {"messages": [{"role": "system", "content": "You help."}, said(0)]}
    memo.record(SALT, body, body)
    grown = {"messages": [*body["messages"], said(1)]}
    made = led(grown)
    memo.record(SALT, grown, made)

    assert memo.replay(SALT, grown, made) == (made, 0)
    assert len(memo) == 2


SHAPELESS: list[Any] = [
    {"model": "m"},
    {"input": "Just a text."},
    {"messages": None},
    {"messages": None, "input": [said(0)]},
    {"messages": {"role": "user"}},
    {"messages": []},
    {"contents": 5},
    {},
    [],
    None,
    5,
    "not JSON",
    b"not JSON",
    b"[]",
    b"",
    b'{"messages":[1,2',
    b"\xff\xfe{",
    '{"messages": "text"}',
]


@pytest.mark.parametrize("body", SHAPELESS, ids=str)
def test_3_11_what_has_no_list_of_messages_goes_out_unchanged(body: Any) -> None:
    """No exception, 0, and nothing recorded."""
    memo = PrefixMemo()
    memo.record(SALT, body, body)

    assert memo.replay(SALT, body, body) == (body, 0)
    assert len(memo) == 0


def test_3_11_two_lists_under_different_keys_do_not_align() -> None:
    """The same messages under another key are another format's."""
    memo = PrefixMemo()
    body, other = request(2), request(2, "input")
    memo.record(SALT, body, body)
    memo.record(SALT, body, other)

    assert memo.replay(SALT, body, other) == (other, 0)
    assert memo.replay(SALT, other, other) == (other, 0)


def test_3_11_an_empty_list_takes_no_leading_message() -> None:
    """There is no first message that would tell which conversation it is."""
    memo = PrefixMemo()
    made = {"messages": [{"role": "system", "content": "Be brief."}]}
    memo.record(SALT, {"messages": []}, made)

    assert memo.replay(SALT, {"messages": []}, made) == (made, 0)
    assert memo.replay(SALT, made, {"messages": []}) == ({"messages": []}, 0)
    assert len(memo) == 0


@pytest.mark.parametrize(
    "made",
    [
        {"messages": [said(0)]},
        {"messages": [said(4), said(5), said(0), said(1)]},
        {"messages": [{"role": "system", "content": "s"}, said(4), said(0), said(1)]},
        {"messages": [said(4), said(0), said(1)]},
        {"messages": [said(0), said(1), {"role": "system", "content": "s"}]},
        {"messages": [5, said(0), said(1)]},
        {"messages": [{1, 2}, said(0), said(1)]},
        {"messages": []},
    ],
    ids=[
        *("one shorter", "two longer", "two longer, led", "led by a user", "behind"),
        *("a number", "a set", "none"),
    ],
)
def test_3_12_lists_that_do_not_align_go_out_unchanged(made: Json) -> None:
    """0, unchanged, and nothing recorded."""
    memo = PrefixMemo()
    memo.record(SALT, request(2), made)
    assert len(memo) == 0
    memo.record(SALT, request(2), request(2))

    assert memo.replay(SALT, request(2), made) == (made, 0)
    assert len(memo) == 2


# ------------------------------------------------------------- 3.13 to 3.15

ITEMS: list[Json] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text(0)}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"},
    {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"a": 1}. and more'},
    {"type": "function_call_output", "call_id": "c1", "output": text(1)},
    {"role": "assistant", "content": text(2)},
]

CONTENTS: list[Json] = [
    {"role": "user", "parts": [{"text": text(0)}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"cache_control": 1}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": text(1)}}}]},
    {"role": "model", "parts": [{"text": text(2), "thoughtSignature": "opaque"}]},
]


@pytest.mark.parametrize("write", [dumped, copy.deepcopy])
@pytest.mark.parametrize(("field", "row"), [("input", ITEMS), ("contents", CONTENTS)])
def test_3_13_items_and_contents_are_replayed_whole(
    field: str, row: list[Json], write: Callable[[Json], Any]
) -> None:
    """Calls, results and reasoning too, which have no content."""
    memo = PrefixMemo()
    before: Any = None
    for count in range(1, len(row) + 1):
        body = {"model": "m", field: row[:count]}
        made = write(compress(body))
        sent, replayed = memo.replay(SALT, write(body), made)
        memo.record(SALT, write(body), sent)
        now = sent[field] if isinstance(sent, dict) else items(sent, field)
        own = made[field] if isinstance(made, dict) else items(made, field)
        assert replayed == count - 1
        if before is not None:
            assert now[:-1] == before
        assert now[-1] == own[-1]
        before = now


def test_3_14_arguments_are_not_modified() -> None:
    """Neither by a replay nor by a record, also where everything is replaced."""
    memo = PrefixMemo()
    own, grown = SURFACES["blocks"]
    memo.record(SALT, {**request(2), **own}, {**led({**request(2), **own}), **grown})
    body = {**request(3), **own}
    body["messages"][1] = {"role": "assistant", "content": [block(text(1), TTL)]}
    made = compress(body)
    before = copy.deepcopy((body, made))
    sent, replayed = memo.replay(SALT, body, made)
    after_replay = copy.deepcopy(sent)
    memo.record(SALT, body, sent)
    sent["messages"][1]["content"] = "changed by whoever got it"
    again, _ = memo.replay(SALT, body, made)

    assert (body, made) == before
    assert replayed == 2
    assert again == after_replay != sent


def block(words: str, marker: Json | None = None) -> Json:
    """A text block, with a cache marker or without."""
    plain = {"type": "text", "text": words}
    return plain if marker is None else {**plain, "cache_control": marker}


def marked_request(count: int, marked: dict[int, Json]) -> Json:
    """Messages of two blocks each, markers on the last block of some."""
    body = request(count)
    for number, message in enumerate(body["messages"]):
        message["content"] = [
            block(message["content"]),
            block(f"Tail {number}. More.", marked.get(number)),
        ]
    return body


def places_of_markers(body: Json) -> dict[tuple[int, int], Json]:
    """Where the markers of a body are, by message and block."""
    return {
        (place, number): each["cache_control"]
        for place, message in enumerate(body["messages"])
        if isinstance(message["content"], list)
        for number, each in enumerate(message["content"])
        if "cache_control" in each
    }


def without_markers(message: Json) -> Json:
    """A message without its markers."""
    content = [
        {key: value for key, value in each.items() if key != "cache_control"}
        for each in message["content"]
    ]
    return {**message, "content": content}


@pytest.mark.parametrize("write", [dumped, copy.deepcopy])
def test_3_15_a_moved_marker_breaks_nothing_and_none_stays_behind(
    write: Callable[[Json], Any],
) -> None:
    """All earlier ones are replayed, and the markers are where the client has them now."""
    memo = PrefixMemo()
    first = marked_request(4, {0: TTL, 3: SHORT_TTL})
    second = marked_request(6, {0: TTL, 5: SHORT_TTL})
    third = marked_request(6, {0: TTL, 3: SHORT_TTL, 5: SHORT_TTL})
    one = compress(first)
    memo.record(SALT, write(first), write(one))
    for body in (second, third):
        sent, replayed = memo.replay(SALT, write(body), write(compress(body)))
        sent = sent if isinstance(sent, dict) else json.loads(sent)

        assert replayed == 4
        assert places_of_markers(sent) == places_of_markers(body)
        plain = [without_markers(message) for message in sent["messages"][:4]]
        assert plain == [without_markers(message) for message in one["messages"]]


def first_blocks(body: Json) -> Json:
    """The compressor, of whose messages only the first block survives, with the marker."""
    made = compress(body)
    for message in made["messages"]:
        marker = message["content"][-1].get("cache_control")
        message["content"] = [block(message["content"][0]["text"], marker)]
    return made


def last_blocks(body: Json) -> Json:
    """The compressor, of whose messages only the last block survives."""
    made = compress(body)
    for message in made["messages"]:
        del message["content"][:-1]
    return made


def test_3_15_the_marker_of_a_vanished_part_stands_on_the_nearest_before_it() -> None:
    """On its message, on the last part that survived; its life is unchanged."""
    memo = PrefixMemo()
    turn(memo, marked_request(4, {3: TTL}), compressor=first_blocks)
    sent, replayed = turn(memo, marked_request(6, {1: TTL, 5: SHORT_TTL}), compressor=first_blocks)

    assert replayed == 4
    assert places_of_markers(sent) == {(1, 0): TTL, (5, 0): SHORT_TTL}


@pytest.mark.parametrize("write", [dumped, copy.deepcopy])
def test_3_15_parts_are_known_again_where_one_in_the_middle_is_gone(
    write: Callable[[Json], Any],
) -> None:
    """A marker goes onto the part before the gap, not onto the one behind it."""
    memo = PrefixMemo()
    three = {"messages": [{"role": "user", "content": [block("a"), block("b"), block("c")]}]}
    memo.record(SALT, write(three), write({"messages": [user_of(block("a"), block("c"))]}))
    marked = {"messages": [user_of(block("a"), block("b", TTL), block("c"))]}
    sent, replayed = memo.replay(SALT, write(marked), write(marked))

    sent = sent if isinstance(sent, dict) else json.loads(sent)
    assert replayed == 1
    assert sent == {"messages": [user_of(block("a", TTL), block("c"))]}


def user_of(*blocks: Json) -> Json:
    """A user message of some blocks."""
    return {"role": "user", "content": list(blocks)}


def result(words: str, marker: Json | None = None, *, inside: Json | None = None) -> Json:
    """A tool result, with markers on it or on the block inside."""
    plain = {"type": "tool_result", "tool_use_id": words, "content": [block(words, inside)]}
    return plain if marker is None else {**plain, "cache_control": marker}


@pytest.mark.parametrize(
    ("kept", "marked", "expected"),
    [
        pytest.param(
            [block("a")], [block("a"), block("b", TTL)], [block("a", TTL)], id="the last is gone"
        ),
        pytest.param(
            [block("b")], [block("a", TTL), block("b")], [block("b", TTL)], id="none before it"
        ),
        pytest.param(
            [block("a"), block("c")],
            [block("a", TTL), block("b", SHORT_TTL), block("c")],
            [block("a", SHORT_TTL), block("c")],
            id="two for one place",
        ),
        pytest.param(
            [{"type": "thinking", "thinking": "", "signature": "s"}, block("")],
            [{"type": "thinking", "thinking": "", "signature": "s"}, block("b", TTL)],
            [{"type": "thinking", "thinking": "", "signature": "s"}, block("")],
            id="nothing can hold it",
        ),
        pytest.param("a", [block("a", TTL)], [block("a", TTL)], id="a bare string"),
        pytest.param("", [block("a", TTL)], "", id="an empty string"),
        pytest.param(
            [result("x"), result("y")],
            [result("x", inside=TTL), result("y", SHORT_TTL)],
            [result("x", inside=TTL), result("y", SHORT_TTL)],
            id="inside a result",
        ),
        pytest.param(
            [result("y")],
            [result("x"), result("y", SHORT_TTL)],
            [result("y", SHORT_TTL)],
            id="a result by its call",
        ),
        pytest.param(
            [{"type": "tool_result", "tool_use_id": "x", "content": "cut"}],
            [result("x", inside=TTL)],
            [{"type": "tool_result", "tool_use_id": "x", "content": "cut", "cache_control": TTL}],
            id="a result that became a string",
        ),
        pytest.param(None, [block("a", TTL)], None, id="no content left"),
        pytest.param(["a"], [block("a", TTL)], ["a"], id="no block left"),
    ],
)
def test_3_15_a_marker_finds_its_place(kept: Any, marked: Any, expected: Any) -> None:
    """On what its part became, or the nearest that can hold it; never a second on one part."""
    memo = PrefixMemo()
    body = {"messages": [{"role": "user", "content": marked}]}
    memo.record(SALT, body, {"messages": [{"role": "user", "content": kept}]})
    sent, replayed = memo.replay(SALT, body, body)

    assert replayed == 1
    assert sent == {"messages": [{"role": "user", "content": expected}]}


def test_3_15_a_marker_without_a_place_in_its_message_stands_before_it() -> None:
    """On the last part of the message before, so that none is lost."""
    memo = PrefixMemo()
    body = {"messages": [said(0), {"role": "assistant", "content": [block("a", TTL)]}]}
    memo.record(SALT, body, {"messages": [said(0), {"role": "assistant", "content": ""}]})
    sent, replayed = memo.replay(SALT, body, body)

    assert replayed == 2
    assert places_of_markers(sent) == {(0, 0): TTL}
    assert sent["messages"][0]["content"] == [block(text(0), TTL)]


def test_3_15_a_message_that_only_names_a_marker_has_none() -> None:
    """It may be a bare string, which no block lies in."""
    memo = PrefixMemo()
    body = {"messages": ["cache_control", user_of(block("a", TTL)), '"cache_control"']}
    memo.record(SALT, body, body)

    assert memo.replay(SALT, body, body) == (body, 3)
    assert memo.replay(SALT, dumped(body), dumped(body))[1] == 0


def test_3_15_markers_never_become_more() -> None:
    """A compressor that moves a marker behind the known prefix has moved it."""
    memo = PrefixMemo()
    memo.record(SALT, marked_request(2, {}), compress(marked_request(2, {})))
    body = marked_request(3, {0: SHORT_TTL, 1: TTL})
    for moved, left in (({2: TTL}, {(1, 1): TTL}), ({1: TTL, 2: TTL}, {(1, 1): TTL})):
        made = compress(marked_request(3, moved))
        sent, replayed = memo.replay(SALT, body, made)

        assert replayed == 2
        assert places_of_markers(sent) == {**left, (2, 1): TTL}


def test_3_15_breakpoints_of_responses_stand_on_input_alone() -> None:
    """A string that a marker comes onto becomes a block of input; answers take none."""
    memo = PrefixMemo()
    mark = {"mode": "explicit"}
    words = {"type": "input_text", "text": text(0)}
    plain = [{"role": "user", "content": [words]}, {"role": "assistant", "content": "Yes. Sure."}]
    output = {"type": "function_call_output", "call_id": "c", "output": [words]}
    body: Json = {"input": [*plain, output]}
    made = {"input": [{"role": "user", "content": "cut"}, plain[1], {**output, "output": "cut"}]}
    memo.record(SALT, body, made)
    marked = copy.deepcopy(body)
    for place, key in ((0, "content"), (2, "output")):
        marked["input"][place][key] = [{**words, "prompt_cache_breakpoint": mark}]
    sent, replayed = memo.replay(SALT, marked, compress(marked))

    held = [{"type": "input_text", "text": "cut", "prompt_cache_breakpoint": mark}]
    assert replayed == 3
    assert sent == {
        "input": [{"role": "user", "content": held}, plain[1], {**output, "output": held}]
    }


def test_3_15_a_tool_argument_named_like_a_marker_is_data() -> None:
    """Calls that differ only there are different, and it is sent."""
    memo = PrefixMemo()

    def calling(value: str) -> Json:
        use = {"type": "tool_use", "id": "t", "name": "set", "input": {"cache_control": value}}
        return {"messages": [said(0), {"role": "assistant", "content": [use]}, said(2)]}

    turn(memo, calling("a"))
    sent, replayed = turn(memo, calling("b"))
    again, all_of_it = turn(memo, calling("a"))

    assert (replayed, all_of_it) == (1, 3)
    assert sent["messages"][1] == calling("b")["messages"][1]
    assert again["messages"][1] == calling("a")["messages"][1]


# ------------------------------------------------------------- 3.16 to 3.22


def test_3_16_the_first_write_wins() -> None:
    """A second compression that is recorded for the same prefix changes nothing."""
    memo = PrefixMemo()
    one, _ = turn(memo, request(2))
    size = memo.bytes
    memo.record(SALT, request(2), request(2))
    two, replayed = memo.replay(SALT, request(2), request(2))

    assert (two, replayed, memo.bytes) == (one, 2, size)


def test_3_17_a_replay_that_was_not_recorded_leaves_no_trace() -> None:
    """The next turn is as if it had not been."""
    memo, other = PrefixMemo(), PrefixMemo()
    for each in (memo, other):
        turn(each, request(2))
    memo.replay(SALT, request(3), compress(request(3)))

    assert turn(memo, request(4)) == turn(other, request(4))
    assert turn(memo, request(4))[0]["messages"][2] == compress(request(4))["messages"][2]


def test_3_18_a_compressor_with_a_legend_replays_and_records_nothing() -> None:
    """What only a legend over the whole conversation explains is never used without it."""
    memo = PrefixMemo()
    memo.record(SALT, request(2), request(2), has_legend=True)
    assert len(memo) == 0
    memo.record(SALT, request(2), request(2))
    made = compress(request(3))

    assert memo.replay(SALT, request(3), made, has_legend=True) == (made, 0)
    assert memo.replay(SALT, request(3), made)[1] == 2


def test_3_19_a_replayed_form_stays_though_the_fresh_one_is_shorter() -> None:
    """Fewer bytes are dearer than bytes that the cache knows."""
    memo = PrefixMemo()
    memo.record(SALT, request(2), request(2))
    sent, replayed = memo.replay(SALT, request(3), compress(request(3)))

    assert replayed == 2
    assert sent["messages"][:2] == request(2)["messages"]
    assert len(dumped(sent)) > len(dumped(compress(request(3))))


@pytest.mark.parametrize("write", [dumped, copy.deepcopy])
def test_3_20_where_messages_end_is_part_of_what_is_known(write: Callable[[Json], Any]) -> None:
    """Two lists that read the same when put together share nothing."""
    memo = PrefixMemo()
    one, two = write({"messages": ["ab", "c"]}), write({"messages": ["a", "bc"]})
    memo.record(SALT, one, one)

    assert memo.replay(SALT, two, two)[1] == 0
    assert memo.replay(SALT, one, one)[1] == 2


KEYS = """
import json, sys
from trimtab import PrefixMemo
memo = PrefixMemo()
body = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
memo.record("s", body, {**body, "system": "Be brief."})
memo.record("s", json.dumps(body), json.dumps(body))
print(*(key.hex() for key in memo._entries))
"""


def test_3_20_keys_are_the_same_in_every_process() -> None:
    """Whatever Python's hashes of strings are there."""
    found = {
        subprocess.run(
            [sys.executable, "-c", KEYS],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }

    assert len(found) == 1
    assert len(set(found.pop().split())) == 5


def test_3_20_two_tenants_never_share() -> None:
    """However alike their salts and their messages are."""
    memo = PrefixMemo()
    salts: list[str | bytes] = ["a", "ab", "a\0b", "", "\ud800", b"\xff"]
    body = {"messages": [{"role": "user", "content": "the same"}]}
    for salt in salts:
        assert memo.replay(salt, body, body)[1] == 0
        memo.record(salt, body, {"messages": [{"role": "user", "content": repr(salt)}]})

    for salt in salts:
        sent, replayed = memo.replay(salt, body, body)
        assert (sent["messages"][0]["content"], replayed) == (repr(salt), 1)
    assert memo.replay(None, body, body) == (body, 0)  # type: ignore[arg-type]


def test_3_20_objects_and_json_share_nothing() -> None:
    """What was kept of JSON may be more than an object can hold."""
    memo = PrefixMemo()
    written = b'{"messages":[{"content":1e999}]}'
    memo.record(SALT, written, written)
    decoded = {"messages": [{"content": "1e999"}]}

    assert memo.replay(SALT, decoded, decoded)[1] == 0
    assert memo.replay(SALT, written, written) == (written, 1)


def test_3_20_the_keys_of_an_object_have_no_order() -> None:
    """In JSON they have, for a client sends the same bytes again."""
    memo = PrefixMemo()
    one = {"messages": [{"role": "user", "content": "a"}]}
    two = {"messages": [{"content": "a", "role": "user"}]}
    memo.record(SALT, one, one)
    memo.record(SALT, dumped(one), dumped(one))

    assert memo.replay(SALT, two, two) == (one, 1)
    assert memo.replay(SALT, dumped(two), dumped(two)) == (dumped(two), 0)


def test_3_21_threads_share_a_memo() -> None:
    """No exception, and each replayed item was recorded for exactly that prefix."""
    memo = PrefixMemo(max_entries=150, max_bytes=20_000)
    wrong: list[object] = []

    def talk(worker: int) -> None:
        for number in range(40):
            conversation = f"c{number % 7}"
            messages = [
                {"role": "user", "content": f"{conversation}/{place}"} for place in range(6)
            ]
            body = {"messages": messages[: 1 + number % 6]}
            made = {
                "messages": [
                    {"role": "user", "content": f"{each['content']} by {worker}"}
                    for each in body["messages"]
                ]
            }
            sent, replayed = memo.replay(SALT, body, made)
            memo.record(SALT, body, sent)
            for place, message in enumerate(sent["messages"]):
                known, _, who = message["content"].partition(" by ")
                is_own = place < replayed or who == str(worker)
                if known != f"{conversation}/{place}" or not is_own:
                    wrong.append(message)
            if len(memo) > 150 or memo.bytes > 20_000:
                wrong.append((len(memo), memo.bytes))

    threads = [threading.Thread(target=talk, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert 0 < len(memo) <= 42


def test_3_22_nothing_shows_what_people_wrote() -> None:
    """Only counts are in its repr, and it can neither be pickled nor copied."""
    memo = PrefixMemo(max_bytes=1_000)
    body = {"messages": [{"role": "user", "content": "a secret"}]}
    memo.record("my-salt", body, body)

    assert repr(memo) == f"<PrefixMemo, 1 entries, {memo.bytes} of 1000 bytes>"
    for spread in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"^a PrefixMemo stays in its process: [^:]*$"):
            spread(memo)


WATCHED = """
import logging, sys
from trimtab import PrefixMemo
logging.basicConfig(level=0, stream=sys.stdout)
memo = PrefixMemo(max_bytes=300)
sys.addaudithook(lambda event, _: print(event))
for body in (
    {"messages": [{"role": "user", "content": "a secret"}]},
    {"messages": [{"role": "user", "content": {"a secret"}}]},
    {"messages": [{"role": "user", "content": "a secret" * 100}]},
    '{"messages":[{"role":"user","content":"a secret"}]}',
    b'{"messages":[{"role":"user","content":"a sec',
):
    memo.replay("s", body, body)
    memo.record("s", body, body)
    memo.replay("s", body, body)
"""


def test_3_22_nothing_is_written_anywhere() -> None:
    """No file is opened, no word is logged, and nothing else happens that Python audits."""
    # What measures coverage opens files itself.
    plain = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True, env=plain
    )

    assert "secret" not in done.stdout + done.stderr
    assert set(done.stdout.split()) <= {"object.__getattr__", "sys._getframe"}


# ------------------------------------------------- what is no JSON ends the run


@pytest.mark.parametrize(
    "strange",
    [{1, 2}, b"bytes", object(), float("nan"), "\ud83d\ude00"],
    ids=["a set", "bytes", "an object", "not a number", "two halves of a character"],
)
def test_a_message_that_is_no_json_ends_the_run(strange: object) -> None:
    """It never counts as empty, and what is before it is replayed."""
    memo = PrefixMemo()
    body = {"messages": [said(0), {"role": "user", "content": strange}, said(2)]}
    memo.record(SALT, body, body)
    sent, replayed = memo.replay(SALT, body, compress(body))
    empty = {"messages": [said(0), {"role": "user", "content": None}, said(2)]}

    assert replayed == len(memo) == 1
    assert sent["messages"][0] == said(0)
    assert memo.replay(SALT, empty, empty)[1] == 1


def test_a_message_that_cannot_be_written_does_not_touch_those_before_it() -> None:
    """Not even where there are markers, and one of them is on it."""
    memo = PrefixMemo()
    body = {"messages": [user_of(block("a", TTL)), user_of(block("\ud83d\ude00", TTL))]}
    memo.record(SALT, body, body)

    assert memo.replay(SALT, body, body) == (body, 1)


def test_a_tuple_is_a_list_on_the_wire() -> None:
    """It is known again as one, and what cannot be given back as it was is not kept."""
    memo = PrefixMemo()
    row, pair = {"messages": [{"content": ["a", "b"]}]}, {"messages": [{"content": ("a", "b")}]}
    memo.record(SALT, row, pair)
    assert len(memo) == 0
    memo.record(SALT, pair, row)

    assert memo.replay(SALT, pair, pair) == (row, 1)


def test_a_message_that_goes_round_in_a_circle_ends_the_run() -> None:
    """Nor does one that is nested too deeply to be written."""
    memo = PrefixMemo()
    circle: Json = {"role": "user"}
    circle["content"] = [circle]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for strange in (circle, {"role": "user", "content": deep}):
        body = {"messages": [said(0), strange]}
        memo.record(SALT, body, body)
        assert memo.replay(SALT, body, body)[1] == 1


def test_a_system_that_is_no_json_replays_nothing() -> None:
    """Whether it is the same one cannot be told."""
    memo = PrefixMemo()
    body = {**request(2), "tools": [print]}
    memo.record(SALT, body, body)

    assert memo.replay(SALT, body, body) == (body, 0)
    assert len(memo) == 0
