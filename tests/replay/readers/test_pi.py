"""pi's sessions: lists, trees, compactions and providers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay.readers.samples import asked, bodies, json_lines, only_requests, texts_of, valid
from trimtab.errors import RequestError
from trimtab.replay.readers import pi
from trimtab.usage import Usage

Json = dict[str, Any]
HEAD = {"type": "session", "id": "s", "cwd": "/"}
CALL = {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {"path": "."}}


def entry(role: str, content: Any, **members: Any) -> Json:
    """A message in its entry."""
    return {"type": "message", "message": {"role": role, "content": content, **members}}


def user(text: str = "hi") -> Json:
    """What the user says."""
    return entry("user", [{"type": "text", "text": text}])


def answer(*blocks: Any, api: str | None = "anthropic-messages", **members: Any) -> Json:
    """What the model says."""
    said = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    return entry("assistant", said, **{"api": api, "model": "claude-x", **members})


def result(text: str = "a.py", **members: Any) -> Json:
    """What a tool answers."""
    told = {"toolCallId": "c1", "toolName": "ls", "isError": False, **members}
    return entry("toolResult", [{"type": "text", "text": text}], **told)


def linked(*entries: tuple[str, str | None, Json]) -> bytes:
    """A tree: each entry with its id and what it continues."""
    lines = [{**line, "id": key, "parentId": parent} for key, parent, line in entries]
    return json_lines(HEAD, *lines)


def test_each_answer_was_asked_for_with_all_before_it() -> None:
    """Calls and results are those of the provider."""
    data = json_lines(HEAD, user(), answer("look:", CALL), result(), answer("done"))

    first, second = only_requests(pi, data)

    assert texts_of(first) == ["hi"]
    assert second["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "look:"},
                {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "a.py"}],
                }
            ],
        },
    ]


def test_a_request_tells_what_the_session_says_of_it() -> None:
    """The input excludes what was read from the cache and written to it."""
    told = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    stamp = {"timestamp": "2026-01-01T00:00:00Z"}

    first, second = asked(
        pi,
        json_lines(
            HEAD, user(), {**answer("a", usage=told), **stamp}, user(), answer("b", usage=nothing)
        ),
    )

    assert first.usage == Usage(fresh=1, cache_read=3, cache_write=4, output=2)
    assert (first.model, first.at, second.usage) == ("claude-x", 1767225600, None)


@pytest.mark.parametrize(
    ("api", "wire_format"),
    [
        ("anthropic-messages", "anthropic"),
        ("openai-responses", "openai-responses"),
        ("openai-codex-responses", "openai-responses"),
        ("google-generative-ai", "gemini"),
        ("openai-completions", "openai-chat"),
        (None, "openai-chat"),
    ],
)
def test_the_answer_says_how_the_provider_was_spoken_to(api: str | None, wire_format: str) -> None:
    """A history with calls is valid in each format."""
    data = json_lines(HEAD, user(), answer(CALL, api=api), result(), answer("done", api=api))

    requests = asked(pi, data)

    assert {request.format for request in requests} == {wire_format}
    assert valid(requests)


def test_reasoning_goes_back_to_who_signed_it() -> None:
    """Another provider does not get it."""
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    hidden = {"type": "thinking", "thinking": "", "thinkingSignature": "xyz", "redacted": True}
    data = json_lines(
        HEAD, user(), answer(thought, hidden, "a"), user(), answer("b"), user(),
        answer("c", api="openai-completions"),
    )  # fmt: skip

    _, same, other = bodies(asked(pi, data))

    assert same["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "a"},
    ]
    assert texts_of(other) == ["hi", "a", "hi", "b", "hi"]


def test_an_answer_that_failed_is_a_request_and_is_not_sent_back() -> None:
    """The tools that it called went with it."""
    data = json_lines(
        HEAD, user("a"), answer("x", CALL, stopReason="aborted"), result(), user("b"), answer("c")
    )

    (recording,) = pi.read(data, "s")

    assert texts_of(bodies(recording.requests)[1]) == ["a", "b"]
    assert recording.notes == ("tool results left out, whose calls are not in the log: 1",)


@pytest.mark.parametrize("by_place", [True, False])
def test_a_compaction_keeps_what_it_names_behind_its_summary(by_place: bool) -> None:  # noqa: FBT001 - a case
    """By id, or by the place of the line in early versions."""
    kept = {"firstKeptEntryIndex": 3} if by_place else {"firstKeptEntryId": "3"}
    compaction = {"type": "compaction", "summary": "so far", **kept}
    data = linked(
        ("1", None, user("a")), ("2", "1", answer("b")), ("3", "2", user("c")), ("4", "3", answer("d")),
        ("5", "4", compaction), ("6", "5", user("e")), ("7", "6", answer("f")),
    )  # fmt: skip

    third = only_requests(pi, data)[2]

    summary, *rest = texts_of(third)
    assert "<summary>\nso far\n</summary>" in summary
    assert rest == ["c", "d", "e"]


def test_a_compaction_that_keeps_nothing_is_its_summary() -> None:
    """Later ones do not bring earlier ones back."""
    first = {"type": "compaction", "summary": "one"}
    second = {"type": "compaction", "summary": "two", "firstKeptEntryIndex": 0}
    data = json_lines(
        HEAD, user("a"), answer("b"), first, user("c"), answer("d"), second, user("e"), answer("f")
    )

    found = [texts_of(body) for body in only_requests(pi, data)]

    assert len(found[1]) == 2
    assert found[2][1:] == ["a", "b", "c", "d", "e"]


def test_a_branch_goes_on_from_where_it_names() -> None:
    """What was said on the other way is not sent."""
    back = {"type": "branch_summary", "summary": "tried it"}
    data = linked(
        ("1", None, user("a")), ("2", "1", answer("b")), ("3", "2", user("c")), ("4", "3", answer("d")),
        ("5", "2", user("e")), ("6", "5", answer("f")), ("7", "4", back), ("8", "7", user("g")),
        ("9", "8", answer("h")),
    )  # fmt: skip

    *_, other, again = [texts_of(body) for body in only_requests(pi, data)]

    assert other == ["a", "b", "e"]
    assert again[:4] == ["a", "b", "c", "d"]
    assert again[4].endswith("tried it")


def test_what_the_user_ran_and_what_extensions_say_is_sent() -> None:
    """But for what the user kept out."""
    ran = {"command": "ls", "output": "a.py"}
    data = json_lines(
        HEAD,
        entry("bashExecution", None, **ran),
        entry("bashExecution", None, command="secret", output="", excludeFromContext=True),
        entry("branchSummary", None, summary="before"),
        {"type": "custom_message", "content": "custom"},
        entry("hookMessage", "hook"),
        {"type": "label"},
        answer("a"),
    )

    texts = texts_of(only_requests(pi, data)[0])

    assert texts[0] == "Ran `ls`\n```\na.py\n```"
    assert "before" in texts[1]
    assert texts[2:] == ["custom", "hook"]


def test_images_are_sent_in_results_too() -> None:
    """Blocks that nobody knows are not."""
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    told = entry("toolResult", [image, {"type": "new"}], toolCallId="c1", isError=True)
    data = json_lines(HEAD, entry("user", [image]), answer(CALL), told, answer("done"))

    second = only_requests(pi, data)[1]

    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert second["messages"][0]["content"] == [{"type": "image", "source": source}]
    assert second["messages"][2]["content"][0]["is_error"] is True


def test_text_that_no_encoding_holds_comes_through() -> None:
    """A lone surrogate is a part of the word that it stands in."""
    data = json_lines(HEAD, user("a\ud800b"), answer("c"))

    assert b"a\\ud800b" in asked(pi, data)[0].build()


def test_an_answer_that_follows_an_answer_gets_a_stand_in() -> None:
    """Something was said in between that is not in the session."""
    (recording,) = pi.read(json_lines(HEAD, user(), answer("a"), answer("b", model=None)), "s")

    assert recording.notes == ("messages that are not in the log, for which a text stands in: 1",)
    assert "model" in recording.requests[1].unrecorded


def test_a_session_without_an_answer_is_refused() -> None:
    """It shows no request."""
    with pytest.raises(RequestError, match="in which nobody answers"):
        pi.read(json_lines(HEAD, user()), "s")


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (json_lines(HEAD, user()), True),
        (json_lines(HEAD), False),
        (json_lines({"type": "session"}, user()), False),
        (json_lines({"type": "other", "is": "session", "cwd": "/"}, user()), False),
    ],
)
def test_a_session_is_known_by_its_head(data: bytes, is_one: bool) -> None:  # noqa: FBT001 - a case
    """A first line that is a session in a folder, and entries behind it."""
    assert pi.recognises(data) == is_one
