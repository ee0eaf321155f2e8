"""Bare lists of OpenAI-chat messages, as benchmarks and agents keep them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab.errors import RequestError
from trimtab.replay.readers import chat_messages

SYSTEM = {"role": "system", "content": "be brief"}
USER = {"role": "user", "content": "what is here?"}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
        {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "a.py"}]}


def as_array(*messages: Any) -> bytes:
    """A list as one JSON array."""
    return json.dumps(messages, indent=1).encode()


def as_lines(*messages: Any) -> bytes:
    """A list as JSON lines."""
    return "\n".join(json.dumps(message) for message in messages).encode()


def asked(data: bytes) -> list[list[Any]]:
    """The messages of each request."""
    requests = chat_messages.read(data, "list")[0].requests
    return [json.loads(request.build())["messages"] for request in requests]


@pytest.mark.parametrize("write", [as_array, as_lines])
def test_each_assistant_message_answered_all_messages_before_it(write: Any) -> None:
    """An assistant message stands for one request; the last one has nothing behind it."""
    data = write(SYSTEM, USER, CALLING, RESULT, ANSWER)

    assert asked(data) == [[SYSTEM, USER], [SYSTEM, USER, CALLING, RESULT]]


def test_a_list_that_nobody_answered_is_itself_a_request() -> None:
    """The last message was sent, though its answer is not there."""
    data = as_array(USER, ANSWER, USER)

    assert asked(data) == [[USER], [USER, ANSWER, USER]]


def test_a_greeting_answers_nothing() -> None:
    """An assistant message that opens the list was asked for by nobody."""
    assert asked(as_array(ANSWER, USER, ANSWER)) == [[ANSWER, USER]]


def test_a_body_names_the_tools_that_are_called() -> None:
    """Model and tools are stand-ins, and the request says so."""
    data = as_lines(USER, CALLING, {"role": "assistant", "function_call": {"name": "old"}})

    (recording,) = chat_messages.read(data, "list.jsonl")
    first = recording.requests[0]

    assert (recording.kind, recording.name, recording.notes) == (
        "openai-chat-messages",
        "list.jsonl",
        (),
    )
    assert (first.format, first.model, first.usage, first.at) == ("openai-chat", "", None, None)
    assert first.unrecorded == {"model", "tools"}
    assert json.loads(first.build()) == {
        "model": "unknown",
        "tools": [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in ("ls", "shell", "old")
        ],
        "messages": [USER],
    }


def test_a_list_without_calls_gets_no_tools() -> None:
    """A stub is there for a call, and only for one."""
    (request,) = chat_messages.read(as_array(USER), "list")[0].requests

    assert json.loads(request.build()) == {"model": "unknown", "messages": [USER]}


def test_messages_keep_their_bytes_and_their_size_is_known() -> None:
    """Numbers, escapes and spaces come through; the size is that of the body."""
    message = r'{"role" : "user", "content": "caf\u00e9 \ud83d", "seed": 1.0}'
    data = f"[ {message} ,\n{message}]".encode()

    (request,) = chat_messages.read(data, "list")[0].requests

    body = f'{{"model":"unknown","messages":[{message},{message}]}}'.encode()
    assert (request.build(), request.size_bytes, request.message_count) == (body, len(body), 2)


def test_lines_that_are_cut_off_are_named_and_skipped() -> None:
    """Half a line costs nothing but itself."""
    (recording,) = chat_messages.read(as_lines(USER, ANSWER) + b'\n{"role":"us', "list")

    assert len(recording.requests) == 1
    assert recording.notes == ("skipped lines that are cut off or no JSON objects: 3",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (as_array(ANSWER), "in which nobody asks anything"),
        (as_array(), "is no list of chat messages"),
        (b"[1,", "is no list of chat messages"),
    ],
)
def test_what_holds_no_request_is_refused(data: bytes, reason: str) -> None:
    """The error says what is wrong with it."""
    with pytest.raises(RequestError, match=reason):
        chat_messages.read(data, "list")


RECOGNISED: list[tuple[bytes, bool]] = [
    (as_array(SYSTEM, USER, CALLING, RESULT, ANSWER), True),
    (as_lines(USER), True),
    (as_lines({"role": "developer", "content": "x"}, {"role": "function", "name": "f"}), True),
    (b"", False),
    (b"[]", False),
    (b"[", False),
    (as_array(USER, "text"), False),
    (as_array({"role": "model", "parts": []}), False),
    (as_array({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}), False),
    (as_lines({"model": "m", "messages": [USER]}), False),
    (as_lines(USER, {"type": "event"}), False),
    (as_array(as_lines(USER).decode()), False),
]


@pytest.mark.parametrize(("data", "is_one"), RECOGNISED)
def test_a_list_is_known_by_the_roles_of_all_its_messages(
    data: bytes,
    is_one: bool,  # noqa: FBT001 - a case
) -> None:
    """Every element has a role of OpenAI chat, and no block that only another provider has."""
    assert chat_messages.recognises(data) == is_one
