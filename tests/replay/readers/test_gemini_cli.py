"""Gemini CLI's chats: one quirk a test."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.replay.readers.samples import asked, bodies, json_lines, only_requests
from trimtab.errors import RequestError
from trimtab.replay.readers import gemini_cli
from trimtab.usage import Usage

Json = dict[str, Any]
HEAD = {"sessionId": "s", "projectHash": "p"}
RESPONSE = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a.py"}}}
CALL = {"id": "c1", "name": "ls", "args": {"path": "."}, "result": [RESPONSE]}


def user(message_id: str, content: Any = "hi") -> Json:
    """What the user says."""
    return {"id": message_id, "type": "user", "content": content}


def model(message_id: str, content: Any = "hello", *calls: Json, **members: Any) -> Json:
    """What the model says."""
    said = {"id": message_id, "type": "gemini", "content": content, "model": "gemini-x"}
    return {**said, "toolCalls": list(calls), **members}


def document(*messages: Json) -> bytes:
    """A chat as one document."""
    return json.dumps({**HEAD, "messages": list(messages)}, indent=2).encode()


def log(*messages: Json | str) -> bytes:
    """A chat as lines."""
    return json_lines(HEAD, *messages)


def said(body: Json) -> list[list[Any]]:
    """Role and parts of each message."""
    return [[content["role"], *content["parts"]] for content in body["contents"]]


def test_messages_of_a_document_that_cannot_be_read_are_left_out() -> None:
    """The others are read all the same."""
    data = json.dumps({**HEAD, "messages": [7, user("1"), model("2")]}, indent=1).encode()

    assert len(only_requests(gemini_cli, data)) == 1


@pytest.mark.parametrize("write", [document, log])
def test_a_call_and_its_result_are_two_messages(write: Any) -> None:
    """Results keep their bytes, calls bear the signature that stands in for theirs."""
    data = write(user("1"), model("2", "look:", CALL), model("3"))

    first, second = only_requests(gemini_cli, data)

    assert said(first) == [["user", {"text": "hi"}]]
    assert said(second)[1:] == [
        [
            "model",
            {"text": "look:"},
            {
                "functionCall": {"id": "c1", "name": "ls", "args": {"path": "."}},
                "thoughtSignature": "skip_thought_signature_validator",
            },
        ],
        ["user", RESPONSE],
    ]
    assert first["tools"] == [{"functionDeclarations": [{"name": "ls"}]}]


def test_a_request_tells_what_the_chat_says_of_it() -> None:
    """Thoughts are output, and cached tokens are a part of the input."""
    told = {"input": 100, "cached": 60, "output": 5, "thoughts": 7, "tool": 0, "total": 112}
    stamp = "2026-01-01T00:00:00Z"

    first, second = asked(
        gemini_cli, log(user("1"), model("2", tokens=told, timestamp=stamp), user("3"), model("4"))
    )

    assert first.usage == Usage(fresh=40, cache_read=60, output=12, reasoning=7)
    assert (first.format, first.model, first.at) == ("gemini", "gemini-x", 1767225600)
    assert first.unrecorded == {"tools", "systemInstruction"}
    assert second.usage is None


def test_a_message_that_grows_is_taken_as_it_was_last() -> None:
    """It is written again under its id; between two that begin nothing changes its place."""
    data = log(
        user("1"), model("2", ""), {"$set": {"lastUpdated": "x"}}, model("2", "", CALL), model("3")
    )

    found = only_requests(gemini_cli, data)

    assert [len(body["contents"]) for body in found] == [1, 3]


def test_what_was_taken_back_is_not_sent_later() -> None:
    """The requests that were made of it stay."""
    data = log(
        user("1", "a"), model("2", "b"), user("3", "c"), model("4", "d"),
        {"$rewindTo": "3"}, user("5", "e"), model("6", "f"),
    )  # fmt: skip

    found = only_requests(gemini_cli, data)

    texts = [
        [part["text"] for content in body["contents"] for part in content["parts"]]
        for body in found
    ]
    assert texts == [["a"], ["a", "b", "c"], ["a", "b", "e"]]


def test_parts_of_the_user_are_sent_as_they_are() -> None:
    """Strings among them are texts; blank ones and thoughts are refused, so they are not sent."""
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    parts = [{"text": "a"}, "b", {"text": " "}, {"text": "x", "thought": True}, image, 7]

    (body,) = only_requests(gemini_cli, log(user("1", parts), model("2")))
    (other,) = only_requests(gemini_cli, log(user("1", {"text": "a"}), model("2")))

    assert said(body) == [["user", {"text": "a"}, {"text": "b"}, image]]
    assert said(other) == [["user", {"text": "a"}]]


def test_parallel_results_come_together_and_images_behind_them() -> None:
    """As many responses as calls, in one message; what is missing gets a stand-in."""
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    lost = {"name": "cat", "args": None, "status": "cancelled", "result": [{"text": " "}]}
    data = log(user("1"), model("2", "", {**CALL, "result": [RESPONSE, image]}, lost), model("3"))

    (recording,) = gemini_cli.read(data, "chat")
    calls, results = said(bodies(recording.requests)[1])[1:]

    assert recording.notes == ("tool calls without a result, answered as interrupted: 1",)
    assert len(calls) == len(results) - 1 == 3
    assert results[1] == RESPONSE
    assert results[2]["functionResponse"]["name"] == "cat"
    assert results[3] == image
    assert "thoughtSignature" not in calls[2]


def test_an_answer_that_nobody_asked_for_gets_a_stand_in() -> None:
    """The format demands a user before the model."""
    (recording,) = gemini_cli.read(log(model("1"), {"type": "info", "content": "x"}), "chat")

    assert recording.notes == ("messages that are not in the log, for which a text stands in: 1",)


def test_a_chat_without_an_answer_is_refused() -> None:
    """Nothing shows that the model was asked."""
    with pytest.raises(RequestError, match="the model answers nothing"):
        gemini_cli.read(log(user("1")), "chat")
