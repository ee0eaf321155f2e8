"""Copilot CLI's events: one quirk a test."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay.readers.samples import asked, bodies, json_lines, only_requests, texts_of
from trimtab.errors import RequestError
from trimtab.replay.readers import copilot_cli
from trimtab.usage import Usage

Json = dict[str, Any]
CALL = {"toolCallId": "c1", "name": "ls", "arguments": {"path": "."}}


def event(kind: str, **data: Any) -> Json:
    """A line."""
    return {"type": kind, "timestamp": "2026-01-01T00:00:00Z", "data": data}


def user(text: str = "hi", **data: Any) -> Json:
    """What the user says."""
    return event("user.message", content=text, **data)


def answer(text: str = "hello", *calls: Any, **data: Any) -> Json:
    """What the model says."""
    return event("assistant.message", content=text, toolRequests=list(calls), **data)


def done(call_id: str = "c1", **data: Any) -> Json:
    """What a tool answers."""
    told = {"success": True, "result": {"content": "a.py", "detailedContent": "a.py!"}, **data}
    return event("tool.execution_complete", toolCallId=call_id, **told)


def test_each_answer_was_asked_for_with_all_before_it() -> None:
    """The system prompt stands above, and the user's words are those that were sent."""
    system = event("system.message", role="system", content="be brief")
    data = json_lines(
        event("session.model_change", newModel="claude-x"),
        system, user(transformedContent="<now/>hi"), answer("", CALL), done(), answer("done"),
    )  # fmt: skip

    first, second = only_requests(copilot_cli, data)

    assert first["messages"] == [
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "<now/>hi"}
    ]  # fmt: skip
    assert first["model"] == "claude-x"
    assert second["messages"][2]["tool_calls"][0]["function"] == {
        "name": "ls",
        "arguments": '{"path": "."}',
    }
    assert second["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "a.py"}


def test_a_request_tells_what_the_session_says_of_it() -> None:
    """The format is that which the service speaks; the model may be unknown."""
    (request,) = asked(copilot_cli, json_lines(user(), answer()))

    assert (request.format, request.model, request.at) == ("openai-chat", "", 1767225600)
    assert request.unrecorded == {"tools", "model"}


def test_totals_are_no_usage_of_a_request() -> None:
    """The note says so."""
    shutdown = event("session.shutdown", modelMetrics={"x": {"usage": {"inputTokens": 9}}})

    (recording,) = copilot_cli.read(json_lines(user(), answer(), shutdown), "s")

    assert recording.requests[0].usage is None
    assert recording.notes == ("usage is recorded as totals of the session alone: 1",)


def test_usage_that_was_kept_belongs_to_the_answer_before_it() -> None:
    """Then the totals say nothing new; usage of nobody is left out."""
    told = event("assistant.usage", inputTokens=10, cacheReadTokens=6, outputTokens=2)
    data = json_lines(told, user(), answer(), told, event("session.shutdown"))

    (recording,) = copilot_cli.read(data, "s")

    assert recording.requests[0].usage == Usage(fresh=4, cache_read=6, output=2)
    assert recording.notes == ()


def test_lines_of_one_request_are_one_request() -> None:
    """An answer may be written in several."""
    data = json_lines(
        user(), answer("a", requestId="r"), answer("b", requestId="r"), user(), answer("c")
    )

    assert [texts_of(body) for body in only_requests(copilot_cli, data)] == [
        ["hi"],
        ["hi", "a", "b", "hi"],
    ]


def test_a_sub_agent_is_a_recording_of_its_own() -> None:
    """Neither hears what the other says."""
    data = json_lines(
        user(), answer("", CALL), user("explore", parentToolCallId="c1"),
        answer("found", parentToolCallId="c1"), done(), answer("done"),
    )  # fmt: skip

    main, sub = copilot_cli.read(data, "s")

    assert (main.name, sub.name) == ("s", "s#c1")
    assert [texts_of(body) for body in bodies(main.requests)] == [["hi"], ["hi", "a.py"]]
    assert [texts_of(body) for body in bodies(sub.requests)] == [["explore"]]


def test_a_compaction_begins_anew_with_its_summary() -> None:
    """One that failed has none, and changes nothing; the system prompt stays."""
    failed = event("session.compaction_complete", success=False)
    compacted = event("session.compaction_complete", success=True, summaryContent="so far")
    system = event("system.message", content="be brief")
    data = json_lines(
        system, user(), answer("a"), failed, user("b"), answer("c"), compacted, user("d"), answer()
    )

    assert [texts_of(body) for body in only_requests(copilot_cli, data)][1:] == [
        ["be brief", "hi", "a", "b"], ["be brief", "so far", "d"]
    ]  # fmt: skip


def test_a_tool_that_failed_says_so() -> None:
    """Arguments may be JSON text already."""
    call = {**CALL, "arguments": '{"path": 1}'}
    failed = done(success=False, result=None, error={"message": "boom"})

    _, second = only_requests(copilot_cli, json_lines(user(), answer("", call), failed, answer()))

    assert second["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"path": 1}'
    assert second["messages"][2]["content"] == "Error: boom"


def test_a_session_without_an_answer_is_refused() -> None:
    """Events that cannot be read are passed over."""
    with pytest.raises(RequestError, match="in which nobody answers"):
        copilot_cli.read(json_lines(user(), {"type": "user.message"}), "s")
