"""Codex's rollouts: one quirk a test."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay.readers.samples import asked, bodies, json_lines, only_requests, texts_of
from trimtab.errors import RequestError
from trimtab.replay.readers import codex
from trimtab.usage import Usage

Json = dict[str, Any]


def item(kind: str, **members: Any) -> Json:
    """An item in its envelope."""
    return {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "response_item",
        "payload": {"type": kind, **members},
    }


def user(text: str = "hi") -> Json:
    """What the user says."""
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def answer(text: str = "hello", **members: Any) -> Json:
    """What the model says."""
    content = [{"type": "output_text", "text": text}]
    return item("message", role="assistant", content=content, **members)


def call(call_id: str = "c1", **members: Any) -> Json:
    """A call of the shell."""
    return item("function_call", call_id=call_id, name="shell", arguments="{}", **members)


def output(call_id: str = "c1", text: str = "a.py") -> Json:
    """What it answered."""
    return item("function_call_output", call_id=call_id, output=text)


def thought(text: str = "hm", **members: Any) -> Json:
    """Reasoning."""
    summary = [{"type": "summary_text", "text": text}]
    return item("reasoning", summary=summary, encrypted_content="xyz", **members)


def event(kind: str, **members: Any) -> Json:
    """A line for the screen."""
    return {"type": "event_msg", "payload": {"type": kind, **members}}


def count(total: int, **last: int) -> Json:
    """A count of tokens: of all so far, and of the last request."""
    told = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
    return event("token_count", info=told)


def turn(model: str = "gpt-x") -> Json:
    """The beginning of a turn."""
    return {"type": "turn_context", "payload": {"model": model}}


def kinds(body: Json) -> list[str]:
    """What a body is made of."""
    return [entry["type"] for entry in body["input"]]


def test_a_response_is_one_request_with_all_items_before_it() -> None:
    """Items keep their bytes; the envelope is what the client sends."""
    data = json_lines(turn(), user(), thought(), call(), output(), answer())

    first, second = only_requests(codex, data)

    assert first == {
        "model": "gpt-x",
        "tools": [{"type": "function", "name": "shell", "parameters": {"type": "object"}}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [user()["payload"]],
    }
    assert second["input"] == [each["payload"] for each in (user(), thought(), call(), output())]


def test_a_request_tells_what_the_log_says_of_it() -> None:
    """Time and model stand beside the body, and so does what is missing."""
    meta = {"type": "session_meta", "payload": {"base_instructions": {"text": "be brief"}}}
    (with_model,) = asked(codex, json_lines(meta, turn(), user(), answer()))
    (without,) = asked(codex, json_lines(user(), answer()))

    assert (with_model.format, with_model.model) == ("openai-responses", "gpt-x")
    assert with_model.at == 1767225600
    assert with_model.unrecorded == {"tools"}
    assert bodies([with_model])[0]["instructions"] == "be brief"
    assert (without.model, without.unrecorded) == (
        "",
        frozenset({"tools", "model", "instructions"}),
    )


def test_a_count_belongs_to_the_items_before_it() -> None:
    """Cached tokens are a part of the input; repetitions and empty counts say nothing."""
    last = {
        "input_tokens": 100,
        "cached_input_tokens": 60,
        "output_tokens": 9,
        "reasoning_output_tokens": 4,
    }
    data = json_lines(
        user(),
        event("token_count", info=None),
        call(),
        count(100, **last),
        count(100, **last),
        output(),
        answer(),
        count(250, input_tokens=150),
    )

    usages = [request.usage for request in asked(codex, data)]

    assert usages == [
        Usage(fresh=40, cache_read=60, output=9, reasoning=4),
        Usage(fresh=150),
    ]


def test_early_versions_count_before_the_items() -> None:
    """The first count has nothing in front of it, and each later one begins a turn."""
    data = json_lines(
        user(),
        turn(),
        count(10, input_tokens=10),
        call(),
        output(),
        turn(),
        count(10, input_tokens=10),
        count(30, input_tokens=20),
        answer(),
    )

    usages = [request.usage for request in asked(codex, data)]

    assert usages == [Usage(fresh=10), Usage(fresh=20)]


def test_a_count_behind_the_output_still_belongs_to_the_call() -> None:
    """Newer versions run tools before they count."""
    data = json_lines(user(), call(), output(), count(7, input_tokens=7), answer())

    assert [request.usage for request in asked(codex, data)] == [Usage(fresh=7), None]


def test_parallel_calls_are_one_response() -> None:
    """What follows the first output without a count is another one."""
    data = json_lines(user(), call("c1"), call("c2"), output("c1"), output("c2"), answer())

    assert [kinds(body) for body in only_requests(codex, data)] == [
        ["message"],
        ["message", *["function_call"] * 2, *["function_call_output"] * 2],
    ]


def test_reasoning_goes_when_the_next_turn_begins() -> None:
    """Within its turn it is sent back, later it is not."""
    data = json_lines(
        user(), thought("old"), answer(), user(), thought("new"), call(), output(), answer()
    )

    found = only_requests(codex, data)

    assert [texts_of(body) for body in found] == [
        ["hi"],
        ["hi", "hello", "hi"],
        ["hi", "hello", "hi", "new", "a.py"],
    ]
    assert asked(codex, data)[1].size_bytes < asked(codex, data)[2].size_bytes


def test_items_lose_the_ids_that_tie_them_to_reasoning() -> None:
    """The reasoning may be gone, and nothing is stored."""
    data = json_lines(user(), thought(id="rs_1"), answer(id="msg_1"), user(), answer())

    _, second = only_requests(codex, data)

    assert all("id" not in entry for entry in second["input"])


def test_a_call_that_was_stopped_is_answered_as_the_client_does() -> None:
    """A result whose call is not there is left out."""
    custom = item("custom_tool_call", call_id="c2", name="patch", input="x")
    data = json_lines(
        user(), call(), custom, output("c9"), user("stop"), answer(), user(), answer()
    )

    (recording,) = codex.read(data, "log")
    body = bodies(recording.requests)[1]

    assert recording.notes == (
        "tool results left out, whose calls are not in the log: 1",
        "tool calls without a result, answered as interrupted: 2",
    )
    assert [entry for entry in body["input"] if "output" in entry] == [
        {"type": "function_call_output", "call_id": "c1", "output": "aborted"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "aborted"},
    ]
    assert {tool["type"] for tool in body["tools"]} == {"function", "custom"}


def test_a_compaction_starts_anew_with_what_it_keeps() -> None:
    """The request that made the summary is not in the log, and its count is nobody's."""
    kept = [user("summary")["payload"], {"type": "ghost_snapshot"}, output("c7")["payload"]]
    compacted = {"type": "compacted", "payload": {"message": "", "replacement_history": kept}}
    data = json_lines(
        user(), answer(), count(5, input_tokens=5), count(9, input_tokens=4),
        compacted, user("go on"), answer()
    )  # fmt: skip

    requests = asked(codex, data)

    assert texts_of(bodies(requests)[1]) == ["summary", "go on"]
    assert requests[1].usage is None


def test_an_early_compaction_holds_its_summary_alone() -> None:
    """It becomes a message of the user's."""
    compacted = {"type": "compacted", "payload": {"message": "so far"}}

    found = only_requests(codex, json_lines(user(), answer(), compacted, user("go on"), answer()))

    assert texts_of(found[1]) == ["so far", "go on"]


def test_turns_that_were_taken_back_are_not_sent() -> None:
    """Requests that were made before stay as they were."""
    back = event("thread_rolled_back", num_turns=1)
    data = json_lines(
        user("a"), answer("b"), user("c"), thought(), answer("d"), back, user("e"), answer()
    )

    assert [texts_of(body) for body in only_requests(codex, data)] == [
        ["a"], ["a", "b", "c"], ["a", "b", "e"]
    ]  # fmt: skip


def test_more_turns_than_there_were_are_all() -> None:
    """The note says that it does not fit."""
    back = event("thread_rolled_back", num_turns=3)

    (recording,) = codex.read(json_lines(user("a"), answer(), back, user("b"), answer()), "log")

    assert texts_of(bodies(recording.requests)[1]) == ["b"]
    assert recording.notes == ("times that more turns were taken back than there were: 1",)


def test_events_repeat_what_items_say_and_are_not_sent() -> None:
    """Neither are snapshots of the client's."""
    data = json_lines(
        user(),
        event("user_message", message="hi"),
        item("ghost_snapshot"),
        answer(),
        user(),
        answer(),
    )

    assert kinds(only_requests(codex, data)[1]) == ["message"] * 3


def test_tools_of_the_provider_are_named_by_their_type() -> None:
    """What they answered is in their own items."""
    data = json_lines(
        user(),
        item("web_search_call", status="completed", action={"type": "search", "query": "x"}),
        item(
            "local_shell_call",
            call_id="c3",
            status="completed",
            action={"type": "exec", "command": []},
        ),
        output("c3"),
        item("image_generation_call", id="ig", status="completed", result=""),
        user(),
        answer(),
    )

    assert {tool["type"] for tool in bodies(asked(codex, data))[0]["tools"]} == {
        "web_search", "local_shell", "image_generation"
    }  # fmt: skip


def test_early_versions_wrote_items_without_an_envelope() -> None:
    """The first line has the instructions."""
    data = json_lines(
        {"id": "s", "timestamp": "2025-01-01T00:00:00Z", "instructions": "be brief"},
        user()["payload"],
        {"record_type": "state"},
        answer()["payload"],
    )

    (body,) = only_requests(codex, data)

    assert codex.recognises(data)
    assert (body["instructions"], kinds(body)) == ("be brief", ["message"])


def test_a_rollout_without_a_response_is_refused() -> None:
    """Nobody asked a model anything."""
    with pytest.raises(RequestError, match="without a response in it"):
        codex.read(json_lines(turn(), user()), "log")


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (turn(), True),
        ({"record_type": "state"}, True),
        ({"id": "s", "instructions": None}, True),
        ({"type": "other", "payload": {}}, False),
        ({"instructions": "x"}, False),
        ({"a": 1}, False),
    ],
)
def test_a_rollout_is_known_by_its_lines(line: Json, is_one: bool) -> None:  # noqa: FBT001 - a case
    """Envelopes, or a bare beginning."""
    assert codex.recognises(json_lines(line)) == is_one
